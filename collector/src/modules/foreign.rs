//! Code that is loaded and not yet in the load map: constructors of a library run before dlopen
//! returns, and the library may be gone again by then.
//!
//! Signal side, but for a few functions. glibc (since 2.35) tells which module contains
//! an address by `_dl_find_object`, which neither locks nor allocates and was made for unwinders in
//! signal handlers; a module is there before its first constructor runs. The program headers in
//! the module's own memory say where its call frame information is.
//!
//! Nothing found here is kept. The module may be unmapped, and another one mapped in its place,
//! without anything that the collector would notice; the next sample asks again. That costs some
//! 0.3 us per frame and 1.3 us per sample, measured in a VM, where samples are rare.
//!
//! A new library often takes the place of one that was unloaded in the present epoch, where its
//! addresses would be read as that one's. The next look will find so and begin an epoch; the sample
//! belongs to that one already ([`Foreign::displaces`], [`await_epoch`]).
//!
//! Invariant: memory is read only inside segments that the module's program headers declare, after
//! the kernel has shown that the headers can be read, while a return address into the module is on
//! the stack. A program that unmaps such code crashes by itself.

#![expect(unsafe_code, reason = "asks the loader, and reads a module's memory")]

use crate::c_library;
use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_ulonglong, c_void};
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use libc::{Elf64_Ehdr, Elf64_Phdr, dl_phdr_info};

use super::elf::{self, LoaderModule};
use crate::arch::PAGE_SIZE;
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};
use crate::sys;
use crate::unwind::cfi::direct;

/// `struct dl_find_object` of dlfcn.h, where the two conditional members are absent.
#[repr(C)]
struct Found {
    flags: c_ulonglong,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *mut c_void,
    eh_frame: *mut c_void,
    reserved: [c_ulonglong; 7],
}

/// `struct link_map` of link.h: its first public members.
#[repr(C)]
pub(super) struct LinkMap {
    pub(super) bias: u64,
    /// The path under which the loader has loaded it.
    pub(super) name: *const c_char,
    pub(super) dynamic: *const c_void,
    pub(super) next: *const LinkMap,
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int;

/// glibc's `_dl_find_object`; null in an older one.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Whether a sample met foreign code since somebody asked.
static SEEN: AtomicBool = AtomicBool::new(false);

/// Whether a sample met code that is in no module at all.
static OUTSIDE_MET: AtomicBool = AtomicBool::new(false);

/// Notes that a sample met code that is in no module. Signal side.
pub fn note_outside() {
    // Relaxed: nothing else is told by it.
    if !OUTSIDE_MET.load(Ordering::Relaxed) {
        OUTSIDE_MET.store(true, Ordering::Relaxed);
    }
}

/// Whether a sample met code that is in no module: generated while the program ran.
pub fn was_outside_met() -> bool {
    OUTSIDE_MET.load(Ordering::Relaxed)
}

/// The number of an epoch that trees have and the log not yet; 0 if there is none.
static AWAITED_EPOCH: AtomicU32 = AtomicU32::new(0);

/// To be called before a sample is counted in an epoch that the load map has not reached.
pub fn await_epoch(number: u32) {
    // Relaxed: read under the lock of the tables, later or at a later look.
    AWAITED_EPOCH.fetch_max(number, Ordering::Relaxed);
}

/// Whether an epoch must begin after `present`. Setup side.
pub(super) fn awaits_epoch_after(present: u32) -> bool {
    AWAITED_EPOCH.load(Ordering::Relaxed) > present
}

/// In a forked child, where epochs begin anew. Setup side.
pub(super) fn start_again() {
    AWAITED_EPOCH.store(0, Ordering::Relaxed);
}

/// Takes the loader's function, or null. Setup side.
pub(super) fn start(found: *mut c_void) {
    // Relaxed: an address of code that was mapped before this library.
    FIND_OBJECT.store(found, Ordering::Relaxed);
}

/// Whether a sample met foreign code since this was asked last. Setup side.
pub(super) fn was_seen() -> bool {
    // Relaxed, both: a hint, and the loader's list has locks of its own.
    SEEN.load(Ordering::Relaxed) && SEEN.swap(false, Ordering::Relaxed)
}

/// Puts the note back: it was not acted on. Setup side.
pub(super) fn see_again() {
    SEEN.store(true, Ordering::Relaxed);
}

/// What the loader says of the module at `address`.
fn find(address: u64) -> Option<Found> {
    let function = FIND_OBJECT.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    // SAFETY: the address is that of the function of this name, whose signature in dlfcn.h is the
    // one given here.
    let find = unsafe { core::mem::transmute::<*mut c_void, FindObject>(function) };
    let mut found = Found {
        flags: 0,
        map_start: null_mut(),
        map_end: null_mut(),
        link_map: null_mut(),
        eh_frame: null_mut(),
        reserved: [0; 7],
    };
    let address = core::ptr::without_provenance_mut(address as usize);
    // SAFETY: takes any address, and writes the structure. It is async-signal-safe (glibc manual,
    // "Dynamic Linker Introspection").
    (unsafe { find(address, &raw mut found) } == 0).then_some(found)
}

/// Where the module around an address lies; `None` if the loader knows none, or has no function
/// that says so.
#[must_use]
pub fn range_of(address: u64) -> Option<Range<u64>> {
    find(address).map(|found| found.map_start.addr() as u64..found.map_end.addr() as u64)
}

/// Whether the loader knows a module at `pc`, of which nothing is read.
#[must_use]
pub fn is_loaded(pc: u64) -> bool {
    find(pc).is_some()
}

/// The name of the module whose code is at `pc`, in the loader's list: for a glibc that
/// has no `_dl_find_object`.
fn name_in_list(pc: u64) -> Option<*const c_char> {
    struct Search {
        pc: u64,
        found: Option<*const c_char>,
    }
    extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader passes a live structure; `search` is the caller's local.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the loader's own table.
        let headers =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let holds = |header: &libc::Elf64_Phdr| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            header.p_type == libc::PT_LOAD && search.pc.wrapping_sub(start) < header.p_memsz
        };
        if headers.iter().any(holds) {
            search.found = Some(info.dlpi_name);
        }
        c_int::from(search.found.is_some())
    }
    let mut search = Search { pc, found: None };
    // SAFETY: the callback matches what dl_iterate_phdr calls, and outlives the call.
    unsafe { c_library::dl_iterate_phdr(each, (&raw mut search).cast()) };
    search.found
}

/// The name under which the loader has loaded the module at `pc`, which is loaded and stays so;
/// `None` if it knows none there. Either side, but with a glibc before 2.35 only where its lock may
/// be taken.
fn name_at<T>(pc: u64, look: impl FnOnce(&CStr) -> T) -> Option<T> {
    let name = if FIND_OBJECT.load(Ordering::Relaxed).is_null() {
        name_in_list(pc)?
    } else {
        // SAFETY: of a module that is loaded, by the loader's answer.
        unsafe { (*find(pc)?.link_map.cast::<LinkMap>()).name }
    };
    if name.is_null() {
        return None;
    }
    // SAFETY: the loader's own, as long as the module is loaded.
    Some(look(unsafe { CStr::from_ptr(name) }))
}

/// Whether the code at `pc`, which is loaded and stays so, is a shared library's that is an
/// unwinder. As [`name_at`].
#[must_use]
pub fn is_of_unwinder(pc: u64) -> bool {
    name_at(pc, is_path_of_unwinder).unwrap_or(false)
}

fn is_path_of_unwinder(path: &CStr) -> bool {
    let file = path.to_bytes().rsplit(|&byte| byte == b'/').next();
    file.is_some_and(elf::is_unwinder)
}

/// A module by its program headers, which lie in its own memory.
#[derive(Debug)]
pub struct Foreign<'a> {
    /// Runtime address minus ELF virtual address. Wraps.
    bias: u64,
    headers: &'a [Elf64_Phdr],
}

impl<'a> Foreign<'a> {
    /// The module at `pc`, if the loader knows one. Leaves the note.
    ///
    /// `readable` belongs to one walk, and is 0 at first: the start of a module whose headers can
    /// be read, so that the kernel is asked once for all its frames.
    #[must_use]
    pub fn containing(pc: u64, readable: &Cell<u64>) -> Option<Self> {
        let found = find(pc)?;
        // SAFETY: the loader's answer: a module begins there.
        let module = unsafe { Self::mapped_at(found.map_start.addr() as u64, readable) }?;
        SEEN.store(true, Ordering::Relaxed);
        Some(module)
    }

    /// The link map of the module at `address`, which is loaded and stays so, and the module if its
    /// headers can be read. `None` if the loader has not made one known there. Setup side.
    pub(super) fn with_owner(address: u64) -> Option<(u64, Option<Self>)> {
        let found = find(address)?;
        // SAFETY: as in `containing`.
        let module = unsafe { Self::mapped_at(found.map_start.addr() as u64, &Cell::new(0)) };
        Some((found.link_map.addr() as u64, module))
    }

    /// As dl_iterate_phdr(3) would describe it, under this name. Setup side.
    pub(super) fn described(&self, name: *const c_char) -> dl_phdr_info {
        // SAFETY: plain numbers and pointers, of which nobody looks at the rest.
        let mut info: dl_phdr_info = unsafe { core::mem::zeroed() };
        info.dlpi_addr = self.bias;
        info.dlpi_name = name;
        info.dlpi_phdr = self.headers.as_ptr();
        info.dlpi_phnum = self.headers.len() as u16;
        info
    }

    /// The recipe for the code at `pc`.
    #[must_use]
    pub fn recipe_at(&self, pc: u64) -> (Recipe, CalleeSaved) {
        let found = self.segment(libc::PT_GNU_EH_FRAME).and_then(|header| {
            let bytes = self.bytes(&header)?;
            let rest = |address| self.rest_of_segment(address);
            Some(direct::recipe_at(bytes, header.start, rest, self.text(), pc))
        });
        found.unwrap_or((Recipe::NoCfi, CalleeSaved::LOST))
    }

    /// Whether some of its code lies where `other` had code, and it is not the same module again.
    #[must_use]
    pub fn displaces(&self, other: &LoaderModule) -> bool {
        let overlaps = |code: &Range<u64>| {
            let mut old = other.code.iter();
            old.any(|old| old.start < code.end && code.start < old.end)
        };
        let again = || {
            let notes = self.segment(libc::PT_NOTE).and_then(|notes| self.bytes(&notes));
            let build_id = notes.and_then(elf::build_id);
            self.bias == other.bias && build_id == Some(&other.identity.build_id)
        };
        self.code().any(|code| overlaps(&code)) && !again()
    }

    /// The module whose first segment lies at `start` and begins, as linkers have it, with the ELF
    /// header and the program headers. `None` if it does not, or cannot be read.
    ///
    /// # Safety
    /// `start` must be page-aligned and stay mapped, if it is, as long as the value lives.
    unsafe fn mapped_at(start: u64, readable: &Cell<u64>) -> Option<Self> {
        const MAGIC: u64 = u32::from_le_bytes(*b"\x7fELF") as u64;
        if readable.get() != start {
            sys::probe(start).filter(|word| word & 0xffff_ffff == MAGIC)?;
            readable.set(start);
        }
        let start_pointer = core::ptr::with_exposed_provenance::<u8>(start as usize);
        // SAFETY: the page could be read a moment ago, and holds plain numbers.
        let header = unsafe { &*start_pointer.cast::<Elf64_Ehdr>() };
        let offset = usize::try_from(header.e_phoff).ok()?;
        let count = usize::from(header.e_phnum);
        let end = count.checked_mul(size_of::<Elf64_Phdr>())?.checked_add(offset)?;
        let sized = usize::from(header.e_phentsize) == size_of::<Elf64_Phdr>();
        if !sized || end > PAGE_SIZE || !offset.is_multiple_of(align_of::<Elf64_Phdr>()) {
            return None;
        }
        // SAFETY: within the same page, which begins at `start`.
        let first = unsafe { start_pointer.add(offset) }.cast::<Elf64_Phdr>();
        // SAFETY: `count` entries end within the page, and are aligned.
        let headers = unsafe { core::slice::from_raw_parts(first, count) };
        let load = headers.iter().find(|header| header.p_type == libc::PT_LOAD)?;
        (load.p_offset == 0).then_some(Self { bias: start.wrapping_sub(load.p_vaddr), headers })
    }

    fn range(&self, header: &Elf64_Phdr, size: u64) -> Range<u64> {
        let start = self.bias.wrapping_add(header.p_vaddr);
        start..start.saturating_add(size)
    }

    fn loads(&self, flag: u32) -> impl Iterator<Item = &Elf64_Phdr> {
        let wanted = move |header: &&Elf64_Phdr| header.p_flags & flag != 0;
        self.headers.iter().filter(|header| header.p_type == libc::PT_LOAD).filter(wanted)
    }

    /// The executable segments.
    fn code(&self) -> impl Iterator<Item = Range<u64>> {
        self.loads(libc::PF_X).map(|header| self.range(header, header.p_memsz))
    }

    /// From the first to the last byte of code.
    fn text(&self) -> Range<u64> {
        self.code().reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default()
    }

    /// Runtime addresses of the code around `pc`, as far as it can be read.
    #[must_use]
    pub fn readable_code_around(&self, pc: u64) -> Option<Range<u64>> {
        let mut code = self.loads(libc::PF_X).filter(|header| header.p_flags & libc::PF_R != 0);
        let found = code.find(|header| self.range(header, header.p_filesz).contains(&pc))?;
        Some(self.range(found, found.p_filesz))
    }

    /// The first segment of this type.
    fn segment(&self, kind: u32) -> Option<Range<u64>> {
        let found = self.headers.iter().find(|header| header.p_type == kind)?;
        Some(self.range(found, found.p_memsz))
    }

    /// The bytes of a range, if it lies in a readable segment.
    fn bytes(&self, range: &Range<u64>) -> Option<&'a [u8]> {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        self.rest_of_segment(range.start)?.get(..length)
    }

    /// The bytes from `address` to the end of its readable segment, as far as the file backs it.
    fn rest_of_segment(&self, address: u64) -> Option<&'a [u8]> {
        let mut segments = self.loads(libc::PF_R).map(|header| self.range(header, header.p_filesz));
        let segment = segments.find(|segment| segment.contains(&address))?;
        let length = usize::try_from(segment.end.checked_sub(address)?).ok()?;
        let start = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: a readable segment of a module that is loaded: see the file's head. Notes and
        // call frame information are never written.
        Some(unsafe { core::slice::from_raw_parts(start, length) })
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;
    use crate::modules::frames;
    use crate::modules::tests::{LOOKS, loaded_modules};

    /// No other test of this file leaves a note, or takes one, while this is held. There is none
    /// at first.
    fn without_note() -> MutexGuard<'static, ()> {
        static NOTES: Mutex<()> = Mutex::new(());
        let alone = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
        was_seen();
        alone
    }

    #[test]
    fn memory_that_belongs_to_no_module() {
        start(crate::modules::function_behind(c"_dl_find_object"));
        let _alone = without_note();
        let on_the_heap = Box::new(0_u8);
        assert!(Foreign::containing(&raw const *on_the_heap as u64, &Cell::new(0)).is_none());
        assert!(!was_seen());
    }

    /// Every loaded module as if it were foreign: at every address the answer of its table.
    #[test]
    fn the_same_recipe_as_from_the_table() {
        start(crate::modules::function_behind(c"_dl_find_object"));
        let _alone = without_note();
        let modules = loaded_modules();
        let (mut rows, readable) = (0, Cell::new(0));
        // The vdso is in no list of the loader that `_dl_find_object` looks at.
        let listed = modules.iter().map(|(module, _)| module);
        for module in listed.filter(|module| module.identity.path != b"[vdso]") {
            let Some(built) = frames::table(module) else { continue };
            let text = module.text();
            for pc in text.clone() {
                let offset = u32::try_from(pc - text.start).unwrap();
                let expected = built.table.lookup_all(offset);
                let before = offset.checked_sub(1).map(|before| built.table.lookup_all(before));
                // Where a row begins, and one byte before.
                if before == Some(expected) {
                    continue;
                }
                rows += 1;
                let name = String::from_utf8_lossy(&module.identity.path);
                let foreign = Foreign::containing(pc, &readable).unwrap();
                assert_eq!(foreign.recipe_at(pc), expected, "{name} at {offset:#x}");
                if let Some(before) = before {
                    assert_eq!(foreign.recipe_at(pc - 1), before, "{name} before {offset:#x}");
                }
            }
        }
        assert!(rows > 10_000, "{rows} rows");
        assert!(was_seen());
        assert!(!was_seen(), "told once");
    }

    /// As for a library that the C library has loaded by itself and no sample has met.
    #[test]
    fn an_unwinder_is_known_by_its_name() {
        let unwinder = c_library::next(c"_Unwind_Backtrace").addr() as u64;
        let here = an_unwinder_is_known_by_its_name as *const () as u64;
        start(crate::modules::function_behind(c"_dl_find_object"));
        assert_eq!([unwinder, here, 8].map(is_of_unwinder), [true, false, false]);
        // With an older glibc:
        let _alone = LOOKS.lock();
        // SAFETY: the loader's own, of a library that stays.
        let name = unsafe { CStr::from_ptr(name_in_list(unwinder).unwrap()) };
        assert!(is_path_of_unwinder(name));
        assert_eq!(name_in_list(8), None);
    }

    #[test]
    fn what_takes_the_place_of_something_else() {
        start(crate::modules::function_behind(c"_dl_find_object"));
        let _alone = without_note();
        let here = what_takes_the_place_of_something_else as *const () as u64;
        let foreign = Foreign::containing(here, &Cell::new(0)).unwrap();
        let modules = loaded_modules();
        let (own, _) = modules.iter().find(|(module, _)| module.text().contains(&here)).unwrap();
        assert!(!foreign.displaces(own), "the same again");
        let mut another = (**own).clone();
        another.identity.build_id = vec![1];
        assert!(foreign.displaces(&another));
        another.code.iter_mut().for_each(|code| *code = 0x1000..0x2000);
        assert!(!foreign.displaces(&another), "elsewhere");
    }
}
