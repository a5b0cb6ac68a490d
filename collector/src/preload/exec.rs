//! Replacing the program: every form of exec, one wrapper per name, since the C library's own
//! forms reach execve without passing through ours.
//!
//! Signals that are pending survive exec, handlers do not: a profiling signal on its way would
//! kill the new program. So sampling ends before, and begins again if exec fails. Not in the child
//! of a vfork, which must not touch the memory it borrows (`process::active()` knows); its timers
//! are not inherited, so no signal is on its way. The same is true of the children in which
//! posix_spawn, system and popen execute.
//!
//! The variadic forms are stubs: Rust cannot define variadic functions. They lay the argument
//! list out as the vector that execv takes, and go on there.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::{c_char, c_int};

use super::program::File;
use super::reach::Start;
use super::real::{self, Strings, functions, no_call};
use super::signals::inherit;
use crate::{arch, c_library, lifecycle, process};

/// Looks at the program that is started, if the kernel can.
///
/// # Safety
/// Path and environment must be as the call that is about to be made takes them.
unsafe fn start<'f>(
    path: *const c_char,
    envp: Strings,
    file: impl FnOnce() -> Option<File<'f>>,
) -> Start {
    if Start::can_look_at(path, envp) {
        // SAFETY: by contract.
        unsafe { Start::with(envp, file()) }
    } else {
        Start::unseen()
    }
}

/// Runs `exec` with sampling off, and on again if it returns.
pub(super) fn replacing(start: Start, exec: impl FnOnce(Option<Strings>) -> c_int) -> c_int {
    let sampled = process::active();
    if sampled {
        lifecycle::before_exec();
    }
    let told = inherit::tell();
    let result = exec(start.environment());
    let errno = real::errno();
    told.take_back();
    start.failed();
    if sampled {
        lifecycle::exec_failed();
    }
    real::set_errno(errno);
    result
}

functions! {
    fn execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int, else no_call();
    fn execv(path: *const c_char, argv: Strings) -> c_int, else no_call();
    fn execvp(file: *const c_char, argv: Strings) -> c_int, else no_call();
    fn execvpe(file: *const c_char, argv: Strings, envp: Strings) -> c_int, else no_call();
    fn fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int, else no_call();
    fn execveat(fd: c_int, path: *const c_char, argv: Strings, envp: Strings, flags: c_int) -> c_int, else no_call();
}

/// execve(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: the program's own arguments, passed on; or an environment made of its own.
    unsafe {
        replacing(start(path, envp, || File::at(path)), |new| {
            execve::real(path, argv, new.unwrap_or(envp))
        })
    }
}

/// execv(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execv(path: *const c_char, argv: Strings) -> c_int {
    let environment = c_library::environment();
    let start = if Start::can_look_at(path, environment) {
        // SAFETY: it can be read.
        Start::with_own(unsafe { File::at(path) })
    } else {
        Start::unseen()
    };
    // SAFETY: the program's own arguments, passed on; or an environment made of its own.
    replacing(start, |new| unsafe {
        match new {
            Some(envp) => execve::real(path, argv, envp),
            None => execv::real(path, argv),
        }
    })
}

/// execvp(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execvp(file: *const c_char, argv: Strings) -> c_int {
    // SAFETY: the program's own arguments, passed on; or an environment made of its own.
    replacing(Start::with_own(unsafe { File::named(file) }), |new| unsafe {
        match new {
            Some(envp) => execvpe::real(file, argv, envp),
            None => execvp::real(file, argv),
        }
    })
}

/// execvpe(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execvpe(
    file: *const c_char,
    argv: Strings,
    envp: Strings,
) -> c_int {
    // SAFETY: the program's own arguments, passed on; or an environment made of its own.
    unsafe {
        replacing(start(file, envp, || File::named(file)), |new| {
            execvpe::real(file, argv, new.unwrap_or(envp))
        })
    }
}

/// fexecve(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: the program's own arguments, passed on; or an environment made of its own.
    unsafe {
        replacing(start(c"".as_ptr(), envp, || File::below(fd, c"".as_ptr())), |new| {
            fexecve::real(fd, argv, new.unwrap_or(envp))
        })
    }
}

/// execveat(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execveat(
    fd: c_int,
    path: *const c_char,
    argv: Strings,
    envp: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: the program's own arguments, passed on; or an environment made of its own.
    unsafe {
        replacing(start(path, envp, || File::below(fd, path)), |new| {
            execveat::real(fd, path, argv, new.unwrap_or(envp), flags)
        })
    }
}

/// execle: the environment follows the null pointer that ends the arguments.
unsafe extern "C" fn gathered_with_environment(path: *const c_char, argv: Strings) -> c_int {
    let mut end = argv;
    // SAFETY: the stub copied the arguments, their null pointer, and the word after it.
    let envp = unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        end.add(1).cast::<Strings>().read()
    };
    // SAFETY: a vector with its null pointer, and the program's own environment.
    unsafe { execve(path, argv, envp) }
}

arch::gathering_stub! {
    /// execl(3).
    #[unsafe(no_mangle)]
    execl = execv
}
arch::gathering_stub! {
    /// execlp(3).
    #[unsafe(no_mangle)]
    execlp = execvp
}
arch::gathering_stub! {
    /// execle(3).
    #[unsafe(no_mangle)]
    execle = gathered_with_environment
}
