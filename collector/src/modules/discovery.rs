//! What the loader has loaded, read from memory: dl_iterate_phdr(3).
//!
//! Setup side. What each module says of itself is told by [`elf`](super::elf).

#![expect(unsafe_code, reason = "callbacks of the loader")]

use crate::c_library;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::code::{Code, Codes};
use super::elf::{Identity, LoaderModule, Names, describe, layout};
use super::namespaces;
use crate::messages::{self, Warning};
use crate::sealed::sealed;
use crate::sys;

/// The loader's counts of loads and unloads so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    adds: u64,
    subs: u64,
}

impl Counts {
    /// Before the first look.
    pub(super) const NONE: Self = Self { adds: 0, subs: 0 };

    /// How many modules have come so far.
    pub(super) fn loads(self) -> u64 {
        self.adds
    }

    /// How many modules have gone so far.
    pub(super) fn unloads(self) -> u64 {
        self.subs
    }

    /// Whether no module has come between the two.
    fn has_same_loads(self, other: Self) -> bool {
        self.adds == other.adds
    }

    /// Whether no module has gone between the two.
    pub(super) fn has_same_unloads(self, other: Self) -> bool {
        self.subs == other.subs
    }
}

/// Calls `work` with the loader's lock, which this thread may take again: no module comes or goes
/// meanwhile. `None` where the loader cannot be asked. All signals are blocked.
pub(super) fn in_loader<T>(work: impl FnOnce() -> T) -> Option<T> {
    extern "C" fn first(_: *mut libc::dl_phdr_info, _: usize, work: *mut c_void) -> c_int {
        // SAFETY: the caller's local, to which it has no other reference.
        (unsafe { &mut *work.cast::<&mut dyn FnMut()>() })();
        1
    }
    let (mut work, mut result) = (Some(work), None);
    let mut once = || result = work.take().map(|work| work());
    let mut once: &mut dyn FnMut() = &mut once;
    // SAFETY: the callback matches what dl_iterate_phdr calls, and outlives the call.
    unsafe { c_library::dl_iterate_phdr(first, (&raw mut once).cast()) };
    result
}

/// The loader's counts now: cheap, looks at one module.
pub(super) fn counts() -> Counts {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, counts: *mut c_void) -> c_int {
        // SAFETY: the loader passes a live structure; `counts` is the caller's local.
        unsafe {
            *counts.cast::<Counts>() = Counts { adds: (*info).dlpi_adds, subs: (*info).dlpi_subs };
        }
        1
    }
    let mut counts = Counts::NONE;
    // SAFETY: the callback matches what dl_iterate_phdr calls, and outlives the call.
    unsafe { c_library::dl_iterate_phdr(first, (&raw mut counts).cast()) };
    counts
}

/// The runtime address of the first function of this name behind this library, in the order of
/// loading; null if there is none. Not dlsym(3), which knows of what was loaded for one library
/// alone only if it is asked on behalf of that one, and leaves its complaint on the program's heap.
pub fn function_behind(name: &CStr) -> *mut c_void {
    function(name, Side::Behind)
}

/// The same before this library: the program's own. Not dlsym(3), for which a function of a library
/// whose address the program takes may be the program's.
pub fn function_before(name: &CStr) -> *mut c_void {
    function(name, Side::Before)
}

/// Whether the program has ThreadSanitizer, in itself or as a library.
#[must_use]
pub fn has_thread_sanitizer() -> bool {
    let name = c"__tsan_init";
    !function_before(name).is_null() || !function_behind(name).is_null()
}

/// Shows the C library: before glibc 2.34 that of threads is a part of it, and has some functions
/// once more.
pub fn each_of_c_library(mut show: impl FnMut(&LoaderModule)) {
    each_loaded(0, |_, module| {
        // No other library has this one.
        if module.address_of(c"__errno_location").is_some() {
            show(module);
        }
    });
}

/// This library; null before it has begun.
static OWN: AtomicPtr<LoaderModule> = AtomicPtr::new(core::ptr::null_mut());

/// To be called once, before [`function_of_own`].
pub fn remember_own() {
    each_until(|side, module| {
        if side == Side::Own {
            // Relaxed: read by threads that are made later.
            OWN.store(Box::into_raw(Box::new(module.clone())), Ordering::Relaxed);
        }
        side == Side::Own
    });
}

/// The runtime address of what this library offers by this name; `None` if it does not. Without the
/// loader, which another thread may hold while it waits for this one.
pub fn function_of_own(name: &CStr) -> Option<u64> {
    // SAFETY: null, or a leaked box.
    unsafe { OWN.load(Ordering::Relaxed).as_ref() }?.address_of(name)
}

/// Of this library, in the order of loading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Own,
    Behind,
}

fn function(name: &CStr, wanted: Side) -> *mut c_void {
    let mut found = None;
    each_until(|side, module| {
        if side == wanted {
            found = module.address_of(name);
        }
        found.is_some() || side != Side::Before && wanted == Side::Before
    });
    core::ptr::with_exposed_provenance_mut(found.unwrap_or(0) as usize)
}

/// Shows the modules that are loaded behind this library and before it, but not itself, with their
/// numbers in the loader's list, but for the first so many; how many are in the list.
pub fn each_loaded(known: usize, mut show: impl FnMut(usize, &LoaderModule)) -> usize {
    search(known, |side, number, module| {
        if side != Side::Own {
            show(number, module);
        }
        false
    })
}

/// Shows the modules that are loaded behind this library.
pub fn each_behind(mut show: impl FnMut(&LoaderModule)) {
    each_until(|side, module| {
        if side == Side::Behind {
            show(module);
        }
        false
    });
}

/// Shows the modules that are loaded, and on which side of this library, until `is_enough` says so.
fn each_until(mut is_enough: impl FnMut(Side, &LoaderModule) -> bool) {
    search(0, |side, _, module| is_enough(side, module));
}

/// The same with their numbers in the loader's list, but for the first so many, of which nothing is
/// read; how many were gone by.
fn search<F: FnMut(Side, usize, &LoaderModule) -> bool>(known: usize, is_enough: F) -> usize {
    struct Search<F> {
        at: Side,
        number: usize,
        known: usize,
        is_enough: F,
    }
    extern "C" fn each<F: FnMut(Side, usize, &LoaderModule) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a live structure; `search` is the caller's local.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<F>>()) };
        search.number += 1;
        if search.number <= search.known {
            return 0;
        }
        // One whose file was made empty has nothing to show. A sealed process may not ask.
        if !sealed() && !sys::is_readable(info.dlpi_phdr.addr() as u64) {
            return 0;
        }
        // SAFETY: the loader holds its list.
        let Some(module) = (unsafe { layout(info) }) else { return 0 };
        let own = function as *const () as u64;
        if module.code.iter().any(|code| code.contains(&own)) {
            search.at = Side::Behind;
            return c_int::from((search.is_enough)(Side::Own, search.number, &module));
        }
        c_int::from((search.is_enough)(search.at, search.number, &module))
    }
    let mut search = Search { at: Side::Before, number: 0, known, is_enough };
    // SAFETY: the callback matches what dl_iterate_phdr calls, and outlives the call.
    unsafe { c_library::dl_iterate_phdr(each::<F>, (&raw mut search).cast()) };
    search.number
}

/// Stands for the code of a module for whose recipes there is no memory.
static NO_CODE: Code = Code::UNKNOWN;

/// The loader's list at one moment.
pub(super) struct Seen {
    /// The counts that go with it.
    pub(super) counts: Counts,
    /// All modules and their code.
    pub(super) modules: Vec<WithCode>,
    /// Code that nobody had built before.
    pub(super) built: Codes,
}

/// A module, and what was built of its code.
pub(super) type WithCode = (Arc<LoaderModule>, &'static Code);

/// All modules now. Code that is not in `known` is built. `loaded` are those that were there when
/// the loader's counts were `before`.
pub(super) fn loaded_modules(known: &Codes, loaded: &[WithCode], before: Counts) -> Seen {
    struct Looking<'a> {
        known: &'a Codes,
        loaded: &'a [WithCode],
        /// Their headers, ascending, and their places.
        headers: Vec<(u64, u32)>,
        before: Counts,
        /// Biases of modules that stay loaded for ever.
        staying: Vec<u64>,
        /// Of other namespaces.
        apart: Vec<WithCode>,
        all_apart: bool,
        seen: Seen,
    }
    impl Looking<'_> {
        /// The module whose headers were there at the last look, if its code was read.
        fn at_place_of(&self, headers: u64) -> Option<&WithCode> {
            let found = self.headers.binary_search_by_key(&headers, |(known, _)| *known);
            let (_, place) = self.headers.get(found.ok()?)?;
            let known = self.loaded.get(*place as usize);
            known.filter(|(_, code)| !core::ptr::eq(*code, &raw const NO_CODE))
        }

        /// Notes what the file of a module is that has no build id, as it was when it was loaded.
        fn note_file(&self, module: &mut LoaderModule) {
            if !module.identity.build_id.is_empty() {
                return;
            }
            let known = self.at_place_of(module.headers).map(|(known, _)| &known.identity);
            let is_it = |known: &&Identity| {
                **known == Identity { file: known.file, ..module.identity.clone() }
            };
            match known.filter(is_it) {
                Some(known) => module.identity.file = known.file,
                None => module.note_file(),
            }
        }

        /// The code of a module that is loaded during this call.
        fn code(&mut self, module: &LoaderModule) -> &'static Code {
            let known = self.at_place_of(module.headers);
            if let Some((_, code)) = known.filter(|(known, _)| module.is_same_load(known)) {
                return code;
            }
            let mut codes = self.known.iter().chain(&self.seen.built);
            if let Some(code) = codes.find(|code| code.0 == module.identity) {
                return &code.1;
            }
            let stays = self.staying.contains(&module.bias);
            // SAFETY: loaded during this call, and for ever if it was found to be.
            let Ok(code) = (unsafe { Code::of(module, stays) }) else {
                messages::warn_once(
                    Warning::RecipesRefused,
                    "memory for a library's unwind recipes was refused: paths through it are \
                     partial",
                );
                return &NO_CODE;
            };
            let built: &'static (Identity, Code) =
                Box::leak(Box::new((module.identity.clone(), code)));
            self.seen.built.push(built);
            &built.1
        }
    }
    extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, looking: *mut c_void) -> c_int {
        // SAFETY: the loader passes a live structure; `looking` is the caller's local.
        let (info, looking) = unsafe { (&*info, &mut *looking.cast::<Looking<'_>>()) };
        if looking.seen.counts == Counts::NONE {
            let each_apart = |info: &libc::dl_phdr_info| {
                // SAFETY: as below.
                if let Some(mut module) = unsafe { describe(info, false) } {
                    module.identity.apart = true;
                    looking.note_file(&mut module);
                    let code = looking.code(&module);
                    looking.apart.push((Arc::new(module), code));
                }
            };
            // SAFETY: this is the callback.
            looking.all_apart = unsafe { namespaces::visit(each_apart) };
        }
        looking.seen.counts = Counts { adds: info.dlpi_adds, subs: info.dlpi_subs };
        // Where nothing was unloaded since, or nothing loaded, what is there is what was there.
        let counts = (looking.before, looking.seen.counts);
        let stays = counts.0.has_same_unloads(counts.1) || counts.0.has_same_loads(counts.1);
        let known = looking.at_place_of(info.dlpi_phdr.addr() as u64);
        // SAFETY: the loader holds its lock, so the module stays loaded during this call.
        let is_same = |module: &LoaderModule| stays || unsafe { module.is_still(info) };
        if let Some(known) = known.filter(|(module, _)| is_same(module)) {
            let known = known.clone();
            looking.seen.modules.push(known);
            return 0;
        }
        // SAFETY: as above.
        if let Some(mut module) = unsafe { describe(info, looking.seen.modules.is_empty()) } {
            looking.note_file(&mut module);
            let code = looking.code(&module);
            looking.seen.modules.push((Arc::new(module), code));
        }
        0
    }
    let seen = Seen { counts: Counts::NONE, modules: Vec::new(), built: Vec::new() };
    // At the first look, only.
    let staying = if known.is_empty() { staying_modules() } else { Vec::new() };
    let (apart, all_apart) = (Vec::new(), true);
    // Of thousands each is looked for at each load.
    let mut headers: Vec<(u64, u32)> =
        (0..).zip(loaded).map(|(place, (known, _))| (known.headers, place)).collect();
    headers.sort_unstable();
    let mut looking = Looking { known, loaded, headers, before, staying, apart, all_apart, seen };
    // SAFETY: as in `counts`.
    unsafe { c_library::dl_iterate_phdr(each, (&raw mut looking).cast()) };
    let Looking { apart, all_apart, mut seen, .. } = looking;
    seen.modules.extend(apart);
    if !all_apart {
        // Somebody is loading one: the next look finds it.
        seen.counts = Counts::NONE;
    }
    seen
}

/// Biases of the modules that the program was started with, and the loader therefore never
/// unloads: the program, this library, and what they need. What a constructor opened before this
/// library's ran may be in the list, too, and go again; so might other preloaded libraries, by this
/// reckoning.
fn staying_modules() -> Vec<u64> {
    extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> c_int {
        // SAFETY: the loader passes a live structure; `list` is the caller's local.
        let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<(LoaderModule, Names)>>()) };
        // SAFETY: the loader holds its lock, so the module stays loaded during this call.
        if let Some(module) = unsafe { describe(info, list.is_empty()) } {
            let names = module.names();
            list.push((module, names));
        }
        0
    }
    let mut list: Vec<(LoaderModule, Names)> = Vec::new();
    // SAFETY: as in `counts`.
    unsafe { c_library::dl_iterate_phdr(each, (&raw mut list).cast()) };
    let this_library = (staying_modules as *const ()).expose_provenance() as u64;
    let is_root =
        |place: usize, module: &LoaderModule| place == 0 || module.text().contains(&this_library);
    let places = 0..list.len();
    let mut unseen: Vec<usize> =
        places.clone().filter(|&place| is_root(place, &list[place].0)).collect();
    let mut found = vec![false; list.len()];
    while let Some(place) = unseen.pop() {
        if !core::mem::replace(&mut found[place], true) {
            let needed = &list[place].1.needed;
            let is_needed = |own: &Vec<u8>| needed.contains(own);
            let own = |other: usize| list[other].1.own.as_ref();
            unseen.extend(places.clone().filter(|&other| own(other).is_some_and(is_needed)));
        }
    }
    places.filter(|&place| found[place]).map(|place| list[place].0.bias).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;
    use crate::modules::frames::{self, Recipes};
    use crate::modules::tests::LOOKS;

    #[test]
    fn this_program_is_in_the_list_with_its_own_code() {
        let here = this_program_is_in_the_list_with_its_own_code as *const () as u64;
        let _alone = LOOKS.lock();
        let Seen { counts, modules, built } = loaded_modules(&Vec::new(), &[], Counts::NONE);
        assert_ne!(counts, Counts::NONE);
        let (own, code) = modules.iter().find(|(module, _)| module.text().contains(&here)).unwrap();
        assert_eq!(own.identity.path, std::env::current_exe().unwrap().into_os_string().into_vec());
        assert!(code.recipes().is_some());
        assert!(frames::table(own).is_some_and(|built| built.table.rows() > 1000));
        let again = loaded_modules(&built, &[], Counts::NONE).built;
        assert!(again.iter().all(|(identity, _)| *identity != own.identity), "built once");
    }

    /// Of one without a build id nobody can say whether it is still the same one.
    #[test]
    fn what_is_known_is_looked_at_only_if_some_went_and_some_came() {
        let _alone = LOOKS.lock();
        let Seen { counts, modules, built } = loaded_modules(&Vec::new(), &[], Counts::NONE);
        let nameless = |(module, code): &WithCode| {
            let mut module = (**module).clone();
            module.identity.build_id.clear();
            (Arc::new(module), *code)
        };
        let known: Vec<WithCode> = modules.iter().map(nameless).collect();
        let kept = |adds: u64, subs: u64| {
            let before = Counts { adds: counts.adds - adds, subs: counts.subs.wrapping_sub(subs) };
            let seen = loaded_modules(&built, &known, before).modules;
            let is_known =
                |(module, _): &&WithCode| known.iter().any(|(known, _)| Arc::ptr_eq(known, module));
            seen.iter().filter(is_known).count()
        };
        assert_eq!([kept(0, 0), kept(1, 0), kept(0, 1)], [known.len(); 3]);
        assert_eq!(kept(1, 1), 0);
    }

    #[test]
    fn the_c_library_stays_and_what_was_opened_may_go() {
        let _alone = LOOKS.lock();
        // SAFETY: a library of the C library's own, which runs no code of its own.
        let opened = unsafe { libc::dlopen(c"libutil.so.1".as_ptr(), libc::RTLD_NOW) };
        assert!(!opened.is_null());
        let modules = loaded_modules(&Vec::new(), &[], Counts::NONE).modules;
        let read_in_place = |name: &[u8]| {
            let (_, code) = modules.iter().find(|m| m.0.identity.path.ends_with(name)).unwrap();
            matches!(code.recipes, Recipes::InPlace(_))
        };
        assert!(matches!(modules[0].1.recipes, Recipes::InPlace(_)));
        assert!(read_in_place(b"/libc.so.6") && read_in_place(b"/libgcc_s.so.1"));
        assert!(!read_in_place(b"/libutil.so.1"));
    }
}
