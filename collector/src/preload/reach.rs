//! Programs that this one starts where csprof does not reach.
//!
//! A program with a cleared environment is not sampled, and must not be: what is in an environment is
//! for the program to say. One that is started in another root, or with other mounts, may find
//! csprof's variables but not its files; the dynamic linker would complain about that on the
//! program's standard error, so the variables are taken out of its environment.
//!
//! Either way somebody has to know. The count is in the arena, which the child of a vfork, too, has
//! mapped, and `csprof record` tells.
//!
//! Programs that are started behind the C library's back go uncounted; so do static ones, and those that
//! run with other privileges, for which the dynamic linker ignores the environment.

#![expect(unsafe_code, reason = "environments of the program, and stubs in front of C functions")]

use crate::c_library;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use csprof_format::arena::LeftOut;
use csprof_format::launch::{LD_PRELOAD, RUN_DIR};

use super::real::{Real, Strings, slots};
use super::stub::{self, ENGAGED, fast_path, jump_on, save_arguments};
use crate::process::{self, Process};
use crate::sys;

/// This library's path, as it was preloaded. Null until [`remember`].
static LIBRARY: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Notes under which name this library was preloaded.
pub(super) fn remember() {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut found: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: an address in this library, and a live local.
    let known = unsafe { c_library::dladdr((remember as *const ()).cast(), &raw mut found) } != 0;
    // The loader's string, which lives as long as this library: for ever.
    LIBRARY.store(
        if known { found.dli_fname.cast_mut() } else { core::ptr::null_mut() },
        Ordering::Relaxed,
    );
}

/// A program that is about to be started.
pub(super) struct Start {
    /// What to give it in place of its environment.
    replaced: Option<Environment>,
    counted: Option<(&'static Process, LeftOut)>,
}

/// An environment without csprof's variables.
struct Environment {
    pointers: Vec<*const c_char>,
    /// The changed `LD_PRELOAD`, if anything is left of it.
    _preloaded: Option<CString>,
}

impl Start {
    /// Looks at the environment of a program that this process, or its vfork child, starts now.
    ///
    /// # Safety
    /// `envp` is null or the vector of an environment.
    pub(super) unsafe fn with(envp: Strings) -> Self {
        let mut start = Self { replaced: None, counted: None };
        let (Some(process), false) = (process::current(), process::sealed()) else { return start };
        let library = LIBRARY.load(Ordering::Relaxed);
        if library.is_null() {
            return start;
        }
        // SAFETY: the loader's string, see `remember`.
        let library = unsafe { CStr::from_ptr(library) };
        // SAFETY: as the caller promises.
        let variables = unsafe { Variables::of(envp) };
        let reason = if !variables.lead_here(library) {
            LeftOut::Environment
        } else if !sys::exists(library) || !sys::exists(process.folder.path()) {
            // SAFETY: as the caller promises.
            start.replaced = Some(unsafe { without_csprof(envp, library) });
            LeftOut::OutOfReach
        } else {
            return start;
        };
        process.arena.count_left_out(reason, 1);
        start.counted = Some((process, reason));
        start
    }

    /// The environment of this process, looked at. Where csprof is out of reach, it is out of reach
    /// for good: the process, if it is no vfork child, gets an environment that does not lead
    /// there, for whatever the C library starts with it.
    pub(super) fn with_own() -> Self {
        // SAFETY: the C library keeps it as a vector.
        let mut start = unsafe { Self::with(c_library::environment()) };
        if process::active()
            && let Some(replaced) = start.replaced.take()
        {
            // SAFETY: the old vector stays as it is for whoever is reading it.
            unsafe { c_library::set_environment(Box::leak(Box::new(replaced)).pointers.as_ptr()) };
        }
        start
    }

    /// What to start the program with in place of `envp`, if anything.
    pub(super) fn environment(&self) -> Option<Strings> {
        self.replaced.as_ref().map(|replaced| replaced.pointers.as_ptr())
    }

    /// It was not started.
    pub(super) fn failed(self) {
        if let Some((process, reason)) = self.counted {
            process.arena.count_left_out(reason, -1);
        }
    }
}

/// The values of csprof's variables in an environment.
struct Variables<'a> {
    preloaded: &'a [u8],
    run_dir: &'a [u8],
}

impl<'a> Variables<'a> {
    /// # Safety
    /// `envp` is null or the vector of an environment, which stays as it is for `'a`.
    unsafe fn of(envp: Strings) -> Self {
        let mut found = Self { preloaded: b"", run_dir: b"" };
        // SAFETY: as the caller promises.
        for variable in unsafe { c_library::strings(envp) } {
            // SAFETY: as the caller promises.
            let variable = unsafe { CStr::from_ptr(variable) }.to_bytes();
            if let Some(value) = value_of(variable, LD_PRELOAD) {
                found.preloaded = value;
            } else if let Some(value) = value_of(variable, RUN_DIR) {
                found.run_dir = value;
            }
        }
        found
    }

    fn lead_here(&self, library: &CStr) -> bool {
        !self.run_dir.is_empty() && parts(self.preloaded).any(|part| part == library.to_bytes())
    }
}

/// The libraries in `LD_PRELOAD` (ld.so(8)).
fn parts(preloaded: &[u8]) -> impl Iterator<Item = &[u8]> {
    preloaded.split(|&byte| byte == b':' || byte == b' ')
}

fn value_of<'a>(variable: &'a [u8], name: &str) -> Option<&'a [u8]> {
    variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// # Safety
/// `envp` is null or the vector of an environment.
unsafe fn without_csprof(envp: Strings, library: &CStr) -> Environment {
    let mut left = None;
    let mut pointers = Vec::new();
    // SAFETY: as the caller promises.
    for string in unsafe { c_library::strings(envp) } {
        // SAFETY: as the caller promises.
        let variable = unsafe { CStr::from_ptr(string) }.to_bytes();
        if value_of(variable, RUN_DIR).is_some() {
            continue;
        }
        let Some(preloaded) = value_of(variable, LD_PRELOAD) else {
            pointers.push(string);
            continue;
        };
        let others: Vec<&[u8]> =
            parts(preloaded).filter(|part| *part != library.to_bytes()).collect();
        let others = others.join(&b':');
        if !others.is_empty() {
            let text = [LD_PRELOAD.as_bytes(), b"=", &others].concat();
            left = CString::new(text).ok();
            pointers.extend(left.as_ref().map(|left| left.as_ptr()));
        }
    }
    pointers.push(core::ptr::null());
    Environment { pointers, _preloaded: left }
}

/// Before a program is started with the environment at `envp`.
unsafe extern "C" fn before_spawn(envp: &mut Strings, real: &Real) -> *mut c_void {
    if *envp == c_library::environment() {
        Start::with_own();
        *envp = c_library::environment();
    } else {
        // SAFETY: the program's own argument.
        let start = unsafe { Start::with(*envp) };
        if let Some(environment) = start.environment() {
            *envp = environment;
            // The program's copy of it: it is needed until the function returns.
            core::mem::forget(start);
        }
    }
    stub::target(real)
}

/// Before the C library starts a shell with this process's environment.
unsafe extern "C" fn before_shell(_: &mut Strings, real: &Real) -> *mut c_void {
    Start::with_own();
    stub::target(real)
}

/// Defines functions that look and jump. The sixth argument is where `before` may change it.
macro_rules! starters {
    ($($(#[$doc:meta])* $name:ident = $before:path;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                fast_path!(),
                save_arguments!(),
                "lea rdi, [rbp - 48]",
                "lea rsi, [rip + {real}]",
                "call {before}",
                jump_on!(),
                real = sym slots::$name,
                engaged = sym ENGAGED,
                before = sym $before,
            )
        }
    )*};
}

starters! {
    /// posix_spawn(3).
    posix_spawn = before_spawn;
    /// posix_spawnp(3).
    posix_spawnp = before_spawn;
    /// system(3).
    system = before_shell;
    /// popen(3).
    popen = before_shell;
}
