//! What a loaded module says of itself, read from its own memory: program headers, notes, the
//! dynamic section.
//!
//! Setup side, but for [`build_id`]. Paths and build ids come from the mapped segments, not from
//! files: the file at a path may be another one by now.

#![expect(unsafe_code, reason = "reads the program headers and notes of loaded modules")]

use crate::arch::{self, PAGE_SIZE};
use crate::c_library;
use crate::sys;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::ops::Range;

use csprof_format::file_identity::FileIdentity;

/// What makes two loads the same code: path and build id, or file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Path as the loader knows it; `[vdso]` for the vdso.
    pub path: Vec<u8>,
    /// GNU build id, empty if none.
    pub build_id: Vec<u8>,
    /// Bytes of code, which tells most files without a build id apart.
    pub code_bytes: u64,
    /// Whether it is in another namespace than the program ([`namespaces`](super::namespaces)).
    pub apart: bool,
    /// Its file when it was loaded, if it has no build id and the file could be asked.
    pub file: Option<FileIdentity>,
}

/// A module in the loader's list.
#[derive(Clone, Debug)]
pub struct LoaderModule {
    /// What it is.
    pub identity: Identity,
    /// As the loader has it: relative to a folder in which the process is no more, perhaps.
    pub(super) name: Vec<u8>,
    /// Runtime address minus ELF virtual address. Wraps.
    pub bias: u64,
    /// Runtime address of its program headers, which no other one has that is loaded.
    pub(super) headers: u64,
    /// Runtime addresses of its executable segments.
    pub code: Vec<Range<u64>>,
    /// Runtime addresses of its readable segments, as far as they are backed by the file.
    pub(super) readable: Vec<Range<u64>>,
    /// Those of them that nobody writes, and whether they are code.
    pub(super) unwritten: Vec<(Range<u64>, bool)>,
    /// Runtime address and size of `.eh_frame_hdr`.
    pub(super) eh_frame_header: Option<Range<u64>>,
    /// Runtime addresses of its notes.
    pub(super) notes: Vec<Range<u64>>,
    /// Whether Go's linker made it.
    pub is_go: bool,
    /// Runtime addresses of the dynamic section.
    pub(super) dynamic: Option<Range<u64>>,
}

impl LoaderModule {
    /// From the first to the last byte of code.
    #[must_use]
    pub fn text(&self) -> Range<u64> {
        let start = self.code.iter().map(|range| range.start).min().unwrap_or(0);
        let end = self.code.iter().map(|range| range.end).max().unwrap_or(0);
        start..end
    }

    /// Where what can be read of a stretch of its code ends; its start if nothing can.
    pub(super) fn readable_end(&self, code: &Range<u64>) -> u64 {
        let segment = self.readable.iter().find(|segment| segment.contains(&code.start));
        segment.map_or(code.start, |segment| segment.end.min(code.end))
    }

    /// Whether what the loader describes now, at the same place, is this module: the same build of
    /// the same name. Of one without a build id nobody knows.
    ///
    /// # Safety
    /// `info` must describe a module that is loaded now and stays so.
    pub(super) unsafe fn is_still(&self, info: &libc::dl_phdr_info) -> bool {
        // SAFETY: by contract.
        let has_its_name = || unsafe { name(info) }.to_bytes() == self.name;
        let mut probe = Probe::default();
        let notes = || self.notes.iter().filter_map(|notes| bytes(&self.readable, notes.clone()));
        // A relative name may lead elsewhere by now.
        let is_certain = matches!(self.name.first(), None | Some(b'/'));
        is_certain
            && self.bias == info.dlpi_addr
            && !self.identity.build_id.is_empty()
            && has_its_name()
            && self.notes.iter().all(|notes| probe.is_there(notes))
            && notes().find_map(build_id) == Some(&self.identity.build_id)
    }

    /// Whether both are the same module at the same place.
    #[must_use]
    pub fn is_same_load(&self, other: &Self) -> bool {
        self.bias == other.bias && self.identity == other.identity
    }
}

/// The loader's table of a module's program headers.
///
/// # Safety
/// `info` must describe a module that is loaded now and stays so.
unsafe fn headers(info: &libc::dl_phdr_info) -> &'static [libc::Elf64_Phdr] {
    if info.dlpi_phdr.is_null() {
        return &[];
    }
    // SAFETY: the loader's own table, as long as the module is there.
    unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

/// Where a module lies, but not what it is: no system call is made. `None` if it has no code.
///
/// # Safety
/// As of [`headers`].
pub(super) unsafe fn layout(info: &libc::dl_phdr_info) -> Option<LoaderModule> {
    // SAFETY: by contract.
    let headers = unsafe { headers(info) };
    let range = |header: &libc::Elf64_Phdr, size: u64| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start.wrapping_add(size)
    };
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let all_of = |kind: u32| {
        let of_kind = headers.iter().filter(move |header| header.p_type == kind);
        of_kind.map(|header| range(header, header.p_memsz))
    };
    let code: Vec<_> = loads()
        .filter(|header| header.p_flags & libc::PF_X != 0)
        .map(|header| range(header, header.p_memsz))
        .collect();
    if code.is_empty() {
        return None;
    }
    let readable = loads()
        .filter(|header| header.p_flags & libc::PF_R != 0)
        .map(|header| range(header, header.p_filesz))
        .collect();
    let unwritten = loads()
        .filter(|header| header.p_flags & (libc::PF_R | libc::PF_W) == libc::PF_R)
        .map(|header| (range(header, header.p_filesz), header.p_flags & libc::PF_X != 0))
        .filter(|(range, _)| range.start < range.end)
        .collect();
    let code_bytes = code.iter().map(|range| range.end - range.start).sum();
    Some(LoaderModule {
        identity: Identity { code_bytes, ..Identity::default() },
        name: Vec::new(),
        bias: info.dlpi_addr,
        headers: info.dlpi_phdr.addr() as u64,
        code,
        readable,
        unwritten,
        eh_frame_header: all_of(libc::PT_GNU_EH_FRAME).next(),
        notes: all_of(libc::PT_NOTE).collect(),
        is_go: false,
        dynamic: all_of(libc::PT_DYNAMIC).next(),
    })
}

/// Where a module lies, and what it is.
///
/// # Safety
/// As of [`headers`].
pub(super) unsafe fn describe(info: &libc::dl_phdr_info, is_program: bool) -> Option<LoaderModule> {
    let start = info.dlpi_phdr.addr() as u64;
    let size = usize::from(info.dlpi_phnum) * size_of::<libc::Elf64_Phdr>();
    // Where somebody has made its file shorter, there is nothing to know of it, nor code to run.
    let mut probe = Probe::default();
    if !probe.is_there(&(start..start + size as u64)) {
        return None;
    }
    // SAFETY: by contract.
    let mut module = unsafe { layout(info) }?;
    if !module.notes.iter().all(|notes| probe.is_there(notes)) {
        return None;
    }
    let notes = || module.notes.iter().filter_map(|notes| bytes(&module.readable, notes.clone()));
    module.identity.build_id = notes().find_map(build_id).map(<[u8]>::to_vec).unwrap_or_default();
    module.is_go = notes().any(|notes| note(notes, GO_BUILD_ID).is_some());
    // SAFETY: by contract.
    let name = unsafe { name(info) };
    module.name = name.to_bytes().to_vec();
    module.identity.path = path(name, is_program.then_some(start), &module);
    Some(module)
}

/// The loader's name of a module.
///
/// # Safety
/// As of [`headers`].
unsafe fn name(info: &libc::dl_phdr_info) -> &CStr {
    // SAFETY: null, or a C string of the loader's.
    if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } }
}

/// Looks at the ends of ranges that may not be there. The page that it has seen last is.
#[derive(Default)]
struct Probe {
    page: Option<u64>,
}

impl Probe {
    fn is_there(&mut self, range: &Range<u64>) -> bool {
        [range.start, range.end.saturating_sub(1).max(range.start)].into_iter().all(|address| {
            let page = Some(address / PAGE_SIZE as u64);
            let is_there = page == self.page || sys::is_readable(address);
            self.page = if is_there { page } else { self.page };
            is_there
        })
    }
}

/// What a module is called and what it asks for (ELF gABI, dynamic section).
pub(super) struct Names {
    pub(super) own: Option<Vec<u8>>,
    pub(super) needed: Vec<Vec<u8>>,
}

/// Tag in the dynamic section, as the two below.
pub(super) const STRING_TABLE: u64 = 5;
pub(super) const SYMBOL_TABLE: u64 = 6;
/// The hash table with which glibc's loader finds symbols (elf/dl-lookup.c). Four words: buckets,
/// the first symbol that it knows, and two on a filter. Then the filter, of 64-bit words, and the
/// buckets.
pub(super) const GNU_HASH: u64 = 0x6fff_fef5;
/// Tags of the tables of relocations and of their sizes, in bytes (ELF gABI).
const RELOCATIONS: [(u64, u64); 2] = [(23, 2), (7, 8)];

/// Whether a library of this file name is an unwinder.
#[must_use]
pub(super) fn is_unwinder(name: &[u8]) -> bool {
    name.starts_with(b"libgcc_s") || name.starts_with(b"libunwind")
}

impl LoaderModule {
    /// Whether it is linked with a shared unwinder, and so has none of its own: gcc links libgcc
    /// one way or the other (gcc manual, -static-libgcc). If both were true, its unwinder would
    /// still be heard of when it asks the loader for its first frame.
    pub(super) fn shares_unwinder(&self) -> bool {
        self.names().needed.iter().any(|name| is_unwinder(name))
    }

    /// What its dynamic section has of names.
    pub(super) fn names(&self) -> Names {
        const NEEDED: u64 = 1;
        const OWN_NAME: u64 = 14;
        let mut names = Names { own: None, needed: Vec::new() };
        let Some(strings) = self.dynamic_table(STRING_TABLE) else { return names };
        let name = |offset: u64| {
            let rest = strings.get(usize::try_from(offset).ok()?..)?;
            rest.split(|byte| *byte == 0).next().map(<[u8]>::to_vec)
        };
        for (tag, value) in self.dynamic_entries() {
            match tag {
                NEEDED => names.needed.extend(name(value)),
                OWN_NAME => names.own = name(value),
                _ => {}
            }
        }
        names
    }

    /// Tags and values of the dynamic section.
    fn dynamic_entries(&self) -> impl Iterator<Item = (u64, u64)> {
        let section = self.dynamic.clone().and_then(|range| bytes(&self.readable, range));
        let (words, _) = section.unwrap_or_default().as_chunks::<8>();
        let (entries, _) = words.as_chunks::<2>();
        let entry =
            |[tag, value]: &[[u8; 8]; 2]| (u64::from_le_bytes(*tag), u64::from_le_bytes(*value));
        entries.iter().map(entry).take_while(|(tag, _)| *tag != 0)
    }

    /// The table to which an entry of the dynamic section points, up to the end of its segment.
    fn dynamic_table(&self, wanted: u64) -> Option<&'static [u8]> {
        let (_, start) = self.dynamic_entries().find(|(tag, _)| *tag == wanted)?;
        let segment_of = |start| self.readable.iter().find(|segment| segment.contains(&start));
        // The loader has made addresses of what the file says, but for the vdso.
        let (start, segment) = match segment_of(start) {
            Some(segment) => (start, segment),
            None => {
                let start = start.wrapping_add(self.bias);
                (start, segment_of(start)?)
            }
        };
        bytes(&self.readable, start..segment.end)
    }

    /// The size of the function `name` that begins at the runtime address `address`, as the
    /// module's symbols have it; `None` if they do not have it.
    #[must_use]
    pub fn size_of_function(&self, name: &CStr, address: u64) -> Option<u64> {
        self.find_symbol(name, |symbol| symbol.address == address).map(|symbol| symbol.size)
    }

    /// The runtime address of what the module defines under this name.
    #[must_use]
    pub fn address_of(&self, name: &CStr) -> Option<u64> {
        self.find_symbol(name, |symbol| symbol.is_defined).map(|symbol| symbol.address)
    }

    /// Whether the module asks for a symbol of this name: what it asks for stands before what it
    /// offers.
    #[must_use]
    pub fn imports(&self, name: &CStr) -> bool {
        let asked = || {
            let (words, _) = self.dynamic_table(GNU_HASH)?.as_chunks::<4>();
            let first = u32::from_le_bytes(*words.get(1)?) as usize;
            let (symbols, _) = self.dynamic_table(SYMBOL_TABLE)?.as_chunks::<24>();
            Some((symbols.get(..first)?, self.dynamic_table(STRING_TABLE)?))
        };
        let Some((symbols, strings)) = asked() else { return false };
        symbols.iter().any(|[a, b, c, d, ..]| {
            let place = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            let name = name.to_bytes_with_nul();
            strings.get(place..).is_some_and(|rest| rest.starts_with(name))
        })
    }

    /// Tells the names of functions that the module has asked other modules for, and where the
    /// loader has written their addresses.
    pub fn each_import(&self, mut tell: impl FnMut(&[u8], u64)) {
        let value = |wanted| self.dynamic_entries().find(|(tag, _)| *tag == wanted);
        let strings = self.dynamic_table(STRING_TABLE).unwrap_or_default();
        let (symbols, _) = self.dynamic_table(SYMBOL_TABLE).unwrap_or_default().as_chunks::<24>();
        for (table, size) in RELOCATIONS {
            let size = value(size).map_or(0, |(_, size)| size as usize);
            let table = self.dynamic_table(table).and_then(|table| table.get(..size));
            let (entries, _) = table.unwrap_or_default().as_chunks::<24>();
            for entry in entries {
                // Offset, symbol and kind, addend (ELF gABI, relocation).
                let [offset, info, _] = entry.as_chunks::<8>().0 else { continue };
                let (offset, info) = (u64::from_le_bytes(*offset), u64::from_le_bytes(*info));
                let Some([a, b, c, d, ..]) = symbols.get((info >> 32) as usize) else { continue };
                let is_import = arch::IMPORTS.contains(&(info as u32));
                let name = strings.get(u32::from_le_bytes([*a, *b, *c, *d]) as usize..);
                if let (true, Some(name)) = (is_import, name) {
                    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                    tell(name, self.bias.wrapping_add(offset));
                }
            }
        }
    }

    /// The first symbol of this name that is wanted.
    ///
    /// By [`GNU_HASH`], whose buckets are followed by hashes parallel to the symbols, of which the
    /// last one of a bucket has its lowest bit set. dladdr1(3) tells the same by a look at each
    /// symbol of the C library.
    fn find_symbol(&self, name: &CStr, is_wanted: impl Fn(&Symbol) -> bool) -> Option<Symbol> {
        let (words, _) = self.dynamic_table(GNU_HASH)?.as_chunks::<4>();
        let word = |at: usize| words.get(at).map(|word| u32::from_le_bytes(*word));
        let (buckets, first, filter) = (word(0)?, word(1)?, word(2)? as usize);
        let (symbols, _) = self.dynamic_table(SYMBOL_TABLE)?.as_chunks::<8>();
        let strings = self.dynamic_table(STRING_TABLE)?;
        let hash = name
            .to_bytes()
            .iter()
            .fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()));
        let hashes = 4 + 2 * filter + buckets as usize;
        let mut number = word(4 + 2 * filter + hash.checked_rem(buckets)? as usize)?;
        loop {
            let of_symbol = word(hashes + number.checked_sub(first)? as usize)?;
            if of_symbol | 1 == hash | 1 {
                // Name, kind and section in one word; value; size (ELF gABI, symbol table).
                let [head, value, size] = *symbols.as_chunks().0.get(number as usize)?;
                let [at @ .., _, _, low, high] = head;
                let symbol = Symbol {
                    address: self.bias.wrapping_add(u64::from_le_bytes(value)),
                    size: u64::from_le_bytes(size),
                    is_defined: [low, high] != [0, 0],
                };
                let has_name = strings
                    .get(u32::from_le_bytes(at) as usize..)
                    .is_some_and(|rest| rest.starts_with(name.to_bytes_with_nul()));
                if has_name && is_wanted(&symbol) {
                    return Some(symbol);
                }
            }
            if of_symbol & 1 == 1 {
                return None;
            }
            number = number.checked_add(1)?;
        }
    }
}

impl LoaderModule {
    /// Notes what its file is, if it has no build id. Of one that has lost its name only device and
    /// inode are known, by which nobody takes another for it.
    pub(super) fn note_file(&mut self) {
        let Some((segment, _)) = self.unwritten.first() else { return };
        let path = |bytes: &[u8]| CString::new(bytes).ok();
        let mapped = sys::mapped_path(segment).map(named);
        self.identity.file = match mapped {
            Some((_, true)) => sys::mapped_file(segment.start).map(|file| FileIdentity {
                device: file.device,
                inode: file.inode,
                ..FileIdentity::default()
            }),
            Some((mapped, false)) => path(&mapped).and_then(|mapped| sys::file_at(&mapped)),
            // Without /proc: as it was opened a moment ago.
            None => path(&self.identity.path).and_then(|path| sys::file_at(&path)),
        };
    }
}

/// A symbol of a module.
struct Symbol {
    /// Runtime address.
    address: u64,
    /// In bytes.
    size: u64,
    is_defined: bool,
}

/// `program` is an address in the module if it is the program.
fn path(name: &CStr, program: Option<u64>, module: &LoaderModule) -> Vec<u8> {
    match name.to_bytes() {
        // The program itself has no name in the list, nor is it what was executed if that was the
        // loader (`/lib64/ld-linux-x86-64.so.2 PROG`): then the kernel has loaded no other one.
        b"" if let Some(address) = program => {
            // SAFETY: takes a number.
            let is_loaded_by_loader = unsafe { c_library::getauxval(libc::AT_BASE) } == 0;
            is_loaded_by_loader
                .then(|| sys::mapped_file(address).map(|file| file.path))
                .flatten()
                .or_else(|| sys::read_link(c"/proc/self/exe"))
                .map_or_else(executed_as, |mapped| named(mapped).0)
        }
        b"linux-vdso.so.1" => b"[vdso]".to_vec(),
        bytes if bytes.first() == Some(&b'/') && !means_another_elsewhere(bytes) => bytes.to_vec(),
        bytes => {
            let segment = module.unwritten.first().map(|(segment, _)| segment);
            let mapped = segment.and_then(sys::mapped_path).map(|mapped| named(mapped).0);
            mapped.or_else(|| sys::absolute(name)).unwrap_or_else(|| bytes.to_vec())
        }
    }
}

/// Whether a path leads to another file in another process. (A relative one does in another
/// folder, in which this process may be by now.)
fn means_another_elsewhere(path: &[u8]) -> bool {
    path.starts_with(b"/proc/") || path.starts_with(b"/dev/fd/")
}

/// The name that a mapped file has or had, from what the kernel says of it, and whether that leads
/// to it no more.
pub(super) fn named(mut mapped: Vec<u8>) -> (Vec<u8>, bool) {
    const GONE: &[u8] = b" (deleted)";
    let is_gone = mapped.ends_with(GONE);
    if is_gone {
        mapped.truncate(mapped.len() - GONE.len());
    }
    (mapped, is_gone)
}

/// The name by which the program was executed: where /proc is not mounted, in a chroot for
/// instance, it is all that is known of its path.
fn executed_as() -> Vec<u8> {
    // SAFETY: takes a number; the answer is 0, or a C string of the kernel's (getauxval(3)).
    let name = unsafe { c_library::getauxval(libc::AT_EXECFN) };
    let name: *const libc::c_char = core::ptr::with_exposed_provenance(name as usize);
    // SAFETY: as above.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    match name.to_bytes() {
        bytes if bytes.first() == Some(&b'/') => bytes.to_vec(),
        bytes => sys::absolute(name).unwrap_or_else(|| bytes.to_vec()),
    }
}

/// The bytes of a runtime range, if it lies in one of the module's readable segments.
pub(super) fn bytes(readable: &[Range<u64>], wanted: Range<u64>) -> Option<&'static [u8]> {
    let segment = readable
        .iter()
        .find(|segment| segment.start <= wanted.start && wanted.end <= segment.end)?;
    debug_assert!(segment.start <= wanted.start);
    let length = usize::try_from(wanted.end.checked_sub(wanted.start)?).ok()?;
    // SAFETY: a readable segment of a loaded module, backed by the file. 'static overstates it:
    // callers use the bytes while the module is loaded, or know that it stays so.
    Some(unsafe {
        core::slice::from_raw_parts(
            core::ptr::with_exposed_provenance(wanted.start as usize),
            length,
        )
    })
}

/// The bytes from a runtime address to the end of the module's readable segment that it lies in.
pub(super) fn bytes_from(readable: &[Range<u64>], address: u64) -> Option<&'static [u8]> {
    let segment = readable.iter().find(|segment| segment.contains(&address))?;
    bytes(readable, address..segment.end)
}

/// Owner and type of the note with a GNU build id.
const GNU_BUILD_ID: (&[u8; 4], u32) = (b"GNU\0", 3);
/// That of Go's linker, whose own build id it holds (`ELF_NOTE_GOBUILDID_TAG`).
const GO_BUILD_ID: (&[u8; 4], u32) = (b"Go\0\0", 4);

/// The GNU build id in a note segment. Either side.
pub(super) fn build_id(notes: &[u8]) -> Option<&[u8]> {
    note(notes, GNU_BUILD_ID)
}

/// What the first note of this owner and type holds (ELF gABI, note section).
fn note<'a>(mut notes: &'a [u8], (owner, wanted): (&[u8; 4], u32)) -> Option<&'a [u8]> {
    let word = |bytes: &[u8], at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    loop {
        let (name_size, size, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let name_end = 12 + name_size as usize;
        let start = name_end.next_multiple_of(4);
        let end = start.checked_add(size as usize)?;
        if kind == wanted && notes.get(12..name_end) == Some(owner) {
            return notes.get(start..end);
        }
        notes = notes.get(end.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::c_int;

    use super::*;
    use crate::modules::discovery::WithCode;
    use crate::modules::tests::loaded_modules;

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        let mut note = |name: &[u8], kind: u32, value: &[u8]| {
            notes.extend_from_slice(&(name.len() as u32).to_le_bytes());
            notes.extend_from_slice(&(value.len() as u32).to_le_bytes());
            notes.extend_from_slice(&kind.to_le_bytes());
            notes.extend_from_slice(name);
            notes.resize(notes.len().next_multiple_of(4), 0);
            notes.extend_from_slice(value);
            notes.resize(notes.len().next_multiple_of(4), 0);
        };
        note(b"stapsdt\0", 3, b"xyz");
        note(b"GNU\0", 5, b"1234");
        note(b"GNU\0", 3, &[0xab, 0xcd, 0xef]);
        assert_eq!(build_id(&notes), Some(&[0xab, 0xcd, 0xef][..]));
        assert_eq!(build_id(&notes[..20]), None);
    }

    /// Of all that the C library has under one name, the one at the address.
    #[test]
    fn sizes_of_functions_are_as_the_loader_tells() {
        let modules = loaded_modules();
        let is_libc = |module: &&WithCode| module.0.identity.path.ends_with(b"/libc.so.6");
        let libc = &modules.iter().find(is_libc).unwrap().0;
        let address = |name: &CStr| {
            // SAFETY: a C string.
            unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }.expose_provenance() as u64
        };
        for name in [c"setjmp", c"__sigsetjmp", c"vfork", c"fork", c"clone", c"dlsym", c"malloc"] {
            let found = libc.size_of_function(name, address(name));
            assert_eq!(found, Some(size_by_dladdr1(address(name))), "{name:?}");
        }
        assert_eq!(libc.size_of_function(c"fork", address(c"setjmp")), None);
        assert!(libc.imports(c"_dl_find_dso_for_object") && !libc.imports(c"malloc"));
        assert_eq!(libc.size_of_function(c"no_such_function", address(c"setjmp")), None);
    }

    fn size_by_dladdr1(address: u64) -> u64 {
        unsafe extern "C" {
            fn dladdr1(
                at: u64,
                info: *mut libc::Dl_info,
                symbol: *mut *const u64,
                flags: c_int,
            ) -> c_int;
        }
        const RTLD_DL_SYMENT: c_int = 1;
        let mut info = core::mem::MaybeUninit::uninit();
        let mut symbol = core::ptr::null();
        // SAFETY: dladdr1(3) fills both results; a symbol is three words, the last of them its
        // size.
        unsafe {
            assert_ne!(dladdr1(address, info.as_mut_ptr(), &raw mut symbol, RTLD_DL_SYMENT), 0);
            *symbol.add(2)
        }
    }
}
