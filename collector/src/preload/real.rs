//! The real functions behind the exported names.
//!
//! A wrapper declares its own ([`behind`], [`functions`]), and the linker [gathers](gathered) them.
//! Each [`Real`] is found behind the collector in the loader's search order, so that other
//! preloaded libraries keep their place in the chain. The constructor finds all of them at once; a
//! call that comes earlier, from the constructor of another library, finds its own.
//!
//! Invariant: inside the collector an exported name means the collector's own wrapper, whatever
//! the program defines: the library is linked with `-Bsymbolic`. Code that wants the real function
//! calls it through this module or [`c_library`](crate::c_library) (setup side), or makes the
//! system call (`crate::sys`, either side).

#![expect(unsafe_code, reason = "functions found by name are called through their address")]

use alloc::vec::Vec;
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU64, Ordering};

pub(super) use crate::c_library::{Real, Strings, errno, set_errno};
use crate::gathered::gathered;
use crate::modules;

/// Declares what is behind a name, in a module of that name: the static `REAL`. Where dlsym(3) does
/// not know the name, for it is of an old version of the C library, `old` stands before it; and
/// `unwinder` before a function of an unwinder, which may come late.
macro_rules! behind {
    (old $name:ident) => {
        $crate::preload::real::behind!(
            @ $name, "csprof_reals", $crate::modules::function_behind
        );
    };
    (unwinder $name:ident) => {
        $crate::preload::real::behind!(
            @ $name, "csprof_unwinder", $crate::modules::function_behind
        );
    };
    ($name:ident) => {
        $crate::preload::real::behind!(@ $name, "csprof_reals", $crate::c_library::next);
    };
    (@ $name:ident, $section:literal, $find:path) => {
        #[allow(non_snake_case, reason = "named like the C function")]
        #[allow(clippy::module_inception, reason = "as above: `poll` of `poll`")]
        pub(in crate::preload) mod $name {
            $crate::preload::real::behind!(static $name, $section, $find);
        }
    };
    // `used`: else the compiler may take it apart.
    (static $name:ident, $section:literal, $find:path) => {
        /// The function behind this name.
        #[used]
        #[unsafe(link_section = $section)]
        pub(in crate::preload) static REAL: $crate::c_library::Real =
            $crate::c_library::Real::found_by(
                $find,
                $crate::c_library::c_name(concat!(stringify!($name), "\0")),
            );
    };
}

/// Declares what is behind names, and for Rust code that calls it the function `real` beside it,
/// with the signature of the manual page. Where an old C library lacks the function, the call
/// answers with what stands after `else`: with `errno` only where the manual page says so.
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty, else $missing:expr;)*) => {$(
        #[allow(non_snake_case, reason = "named like the C function")]
        #[allow(clippy::module_inception, reason = "as above")]
        pub(in crate::preload) mod $name {
            #[allow(unused_imports, reason = "where the signature has no type of the file's")]
            use super::*;

            $crate::preload::real::behind!(
                static $name, "csprof_reals", $crate::c_library::next
            );

            /// The real function of this name.
            ///
            /// # Safety
            /// The arguments must be what its manual page asks for.
            pub(in crate::preload) unsafe fn real($($arg: $type),*) -> $result {
                let address = REAL.address();
                if address.is_null() {
                    return $missing;
                }
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                // SAFETY: the address belongs to the function of this name, whose C signature,
                // from its manual page, is the one given here.
                let function = unsafe {
                    core::mem::transmute::<*mut core::ffi::c_void, Function>(address)
                };
                // SAFETY: the caller vouches for the arguments.
                unsafe { function($($arg),*) }
            }
        }
    )*};
}

pub(super) use {behind, functions};

gathered! {
    /// All that are [declared](behind), but those of unwinders.
    fn all() -> [Real] from "__start_csprof_reals" to "__stop_csprof_reals"
}

gathered! {
    /// Those of unwinders.
    pub(super) fn of_unwinder() -> [Real] from "__start_csprof_unwinder" to "__stop_csprof_unwinder"
}

/// The one of this name.
pub(super) fn named(name: &CStr) -> Option<&'static Real> {
    all().iter().find(|real| real.name() == name)
}

/// Finds all functions that some library behind this one has. What none has is not asked for: the
/// C library would write its complaint to the program's heap, and the program has not begun.
pub(super) fn find_all() {
    let mut missing: Vec<&Real> = all().iter().collect();
    let mut look = |module: &modules::LoaderModule| {
        missing.retain(|real| module.address_of(real.name()).is_none());
    };
    // It has nearly all.
    modules::each_of_c_library(&mut look);
    modules::each_behind(&mut look);
    let is_there = |real: &&Real| !missing.iter().any(|missing| core::ptr::eq(*missing, *real));
    all().iter().filter(is_there).for_each(|real| _ = real.address());
}

/// Finds the functions of an unwinder, if one is loaded.
pub(super) fn find_unwinder() {
    let throws = |real: &&Real| real.name() == c"_Unwind_RaiseException";
    // Where there is none of this name, there is no unwinder.
    if of_unwinder().iter().find(throws).is_some_and(|real| !real.address().is_null()) {
        of_unwinder().iter().for_each(|real| _ = real.address());
    }
}

/// Modules that had gone when functions were last looked for.
static UNLOADS: AtomicU64 = AtomicU64::new(u64::MAX);

/// To be called when libraries may have gone, or come: of these functions, those are looked for
/// anew that are not where they were found. Theirs may have come again, at another place.
pub(super) fn look_again<'a>(functions: impl Iterator<Item = &'a Real>) {
    let found = functions.filter_map(|real| real.found().map(|(name, at)| (real, name, at)));
    let mut moved: Vec<(&Real, &CStr, u64)> = found.collect();
    if moved.is_empty() {
        return;
    }
    let forget =
        |moved: &[(&Real, &CStr, u64)]| moved.iter().for_each(|(real, _, at)| real.forget(*at));
    let is_known = modules::with_loader(|| {
        let unloads = modules::unloads();
        // Relaxed: the loader's lock is held.
        if UNLOADS.swap(unloads, Ordering::Relaxed) == unloads {
            return;
        }
        modules::each_loaded(0, |_, module| {
            let has = |at: u64| module.code.iter().any(|code| code.contains(&at));
            moved.retain(|&(_, name, at)| !has(at) || module.address_of(name) != Some(at));
        });
        // Before another thread finds that there is nothing to be done.
        forget(&moved);
    });
    // Where the loader cannot be asked now, all are looked for when they are called.
    if !is_known {
        forget(&moved);
    }
}

/// For functions that return nothing.
pub(super) const fn nothing() {}

/// Says that there is no such call.
pub(super) fn no_call() -> c_int {
    set_errno(libc::ENOSYS);
    -1
}

#[cfg(test)]
mod tests {
    use super::*;

    functions! {
        fn csprof_none(signal: c_int) -> c_int, else no_call();
        fn pthread_csprof_none(signal: c_int) -> c_int, else libc::ENOSYS;
    }

    /// Of pthread_create(3), which asks for a mask in attributes, no program expects another errno.
    #[test]
    fn who_returns_error_numbers_leaves_errno_as_it_is() {
        set_errno(libc::EXDEV);
        // SAFETY: there are no such functions.
        assert_eq!(unsafe { pthread_csprof_none::real(1) }, libc::ENOSYS);
        assert_eq!(errno(), libc::EXDEV);
        // SAFETY: as above.
        assert_eq!(unsafe { csprof_none::real(1) }, -1);
        assert_eq!(errno(), libc::ENOSYS);
    }

    /// What lies between them would be called.
    #[test]
    fn all_are_gathered_and_nothing_else() {
        let names = |reals: &'static [Real]| reals.iter().map(|real| real.name().to_str().unwrap());
        let mut all: Vec<&str> = names(all()).collect();
        for name in ["csprof_none", "malloc", "sigaction", "cfree", "execve", "__poll"] {
            assert!(all.contains(&name), "{name}");
        }
        all.extend(names(of_unwinder()));
        assert!(all.contains(&"_Unwind_GetCFA"));
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        assert!(all.iter().all(|name| !name.is_empty() && name.bytes().all(is_part)), "{all:?}");
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
        assert!(named(c"csprof_none").is_some() && named(c"csprof_nobody").is_none());
    }
}
