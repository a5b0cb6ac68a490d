//! The real functions behind the exported names.
//!
//! Each [`Real`] is found behind the collector in the loader's search order, so that other
//! preloaded libraries keep their place in the chain. The constructor finds all of them at once; a
//! call that comes earlier, from the constructor of another library, finds its own.
//!
//! Invariant: inside the collector an exported name means the collector's own wrapper, whatever
//! the program defines: the library is linked with `-Bsymbolic`. Code that wants the real function
//! calls it through this module or [`c_library`](crate::c_library) (setup side), or makes the
//! system call (`crate::sys`, either side).

#![expect(unsafe_code, reason = "functions found by name are called through their address")]
#![expect(non_snake_case, reason = "named like the C functions they stand for")]

use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_ushort, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use libc::{itimerval, pid_t, pthread_attr_t, sigset_t, stack_t, timeval};

pub(super) use crate::c_library::{Real, Strings, errno, set_errno};
use crate::modules;

/// Declares the real functions: one static each in `slots`, their list, and for those that Rust
/// code calls a function with the signature of the manual page. Where an old C library lacks the
/// function, the call answers with what stands after `else`: with `errno` only where the manual
/// page says so.
macro_rules! real_functions {
    (
        called { $(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty, else $missing:expr;)* }
        jumped_to { $($stub:ident),* $(,)? }
        unknown_to_dlsym { $($old:ident),* $(,)? }
        of_unwinder { $($unwinder:ident),* $(,)? }
    ) => {
        /// The real functions by name.
        #[expect(non_upper_case_globals, reason = "named like the function they stand for")]
        pub(super) mod slots {
            use super::{CStr, Real};

            /// The name as a C string.
            const fn c_name(text: &'static str) -> &'static CStr {
                match CStr::from_bytes_with_nul(text.as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("concat! below ends each name with one 0"),
                }
            }

            $(pub(in crate::preload) static $name: Real =
                Real::new(c_name(concat!(stringify!($name), "\0")));)*
            $(pub(in crate::preload) static $stub: Real =
                Real::new(c_name(concat!(stringify!($stub), "\0")));)*
            $(pub(in crate::preload) static $old: Real = Real::found_by(
                crate::modules::function_behind,
                c_name(concat!(stringify!($old), "\0")),
            );)*
            $(pub(in crate::preload) static $unwinder: Real = Real::found_by(
                crate::modules::function_behind,
                c_name(concat!(stringify!($unwinder), "\0")),
            );)*
        }

        /// All of them, for the constructor, but those of unwinders, which may come later.
        static ALL: &[&Real] =
            &[$(&slots::$name,)* $(&slots::$stub,)* $(&slots::$old,)*];

        /// Those of unwinders.
        pub(super) static OF_UNWINDER: &[&Real] = &[$(&slots::$unwinder,)*];

        $(
            /// The real function of this name.
            ///
            /// # Safety
            /// The arguments must be what its manual page asks for.
            pub(super) unsafe fn $name($($arg: $type),*) -> $result {
                let address = slots::$name.address();
                if address.is_null() {
                    return $missing;
                }
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                // SAFETY: the address belongs to the function of this name, whose C signature,
                // from its manual page, is the one given here.
                let function = unsafe { core::mem::transmute::<*mut c_void, Function>(address) };
                // SAFETY: the caller vouches for the arguments.
                unsafe { function($($arg),*) }
            }
        )*
    };
}

/// Finds all functions that some library behind this one has. What none has is not asked for: the
/// C library would write its complaint to the program's heap, and the program has not begun.
pub(super) fn find_all() {
    let mut missing: Vec<&Real> = ALL.to_vec();
    let mut look = |module: &modules::LoaderModule| {
        missing.retain(|real| module.address_of(real.name()).is_none());
    };
    // It has nearly all.
    modules::each_of_c_library(&mut look);
    modules::each_behind(&mut look);
    let is_there = |real: &&&Real| !missing.iter().any(|missing| core::ptr::eq(*missing, **real));
    ALL.iter().filter(is_there).for_each(|real| _ = real.address());
}

/// Finds the functions of an unwinder, if one is loaded.
pub(super) fn find_unwinder() {
    let mut all = OF_UNWINDER.iter();
    while all.next().is_some_and(|real| !real.address().is_null()) {}
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
        modules::each_loaded(|module| {
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

/// Says that there is no such call.
fn no_call() -> c_int {
    set_errno(libc::ENOSYS);
    -1
}

/// The same, of a function that returns a handler.
fn no_handler() -> Handler {
    set_errno(libc::ENOSYS);
    libc::SIG_ERR
}

/// A signal's handler as signal(2) takes and returns it.
pub(super) type Handler = libc::sighandler_t;
/// What a C function of type `void` returns.
type Nothing = ();
const NOTHING: Nothing = ();

real_functions! {
    called {
        fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int, else no_call();
        fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int, else no_call();
        fn signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
        fn bsd_signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
        fn ssignal(signal: c_int, handler: Handler) -> Handler, else no_handler();
        fn sysv_signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
        fn __sysv_signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
        fn sigset(signal: c_int, handler: Handler) -> Handler, else no_handler();
        fn sigignore(signal: c_int) -> c_int, else no_call();
        fn siginterrupt(signal: c_int, flag: c_int) -> c_int, else no_call();
        fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int, else no_call();
        fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int, else libc::ENOSYS;
        fn pthread_attr_setsigmask_np(attributes: *mut pthread_attr_t, mask: *const sigset_t) -> c_int, else libc::ENOSYS;
        fn pthread_attr_getsigmask_np(attributes: *const pthread_attr_t, mask: *mut sigset_t) -> c_int, else libc::ENOSYS;
        fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int, else no_call();
        fn sighold(signal: c_int) -> c_int, else no_call();
        fn sigrelse(signal: c_int) -> c_int, else no_call();
        fn signalfd(fd: c_int, mask: *const sigset_t, flags: c_int) -> c_int, else no_call();
        fn setitimer(which: c_uint, new: *const itimerval, old: *mut itimerval) -> c_int, else no_call();
        fn __monstartup(low: c_ulong, high: c_ulong) -> Nothing, else NOTHING;
        fn monstartup(low: c_ulong, high: c_ulong) -> Nothing, else NOTHING;
        fn moncontrol(mode: c_int) -> Nothing, else NOTHING;
        fn profil(buffer: *mut c_ushort, size: usize, offset: usize, scale: c_uint) -> c_int, else no_call();
        fn sprofil(regions: *mut c_void, count: c_int, period: *mut timeval, flags: c_uint) -> c_int, else no_call();
        fn execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int, else no_call();
        fn execv(path: *const c_char, argv: Strings) -> c_int, else no_call();
        fn execvp(file: *const c_char, argv: Strings) -> c_int, else no_call();
        fn execvpe(file: *const c_char, argv: Strings, envp: Strings) -> c_int, else no_call();
        fn fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int, else no_call();
        fn execveat(fd: c_int, path: *const c_char, argv: Strings, envp: Strings, flags: c_int) -> c_int, else no_call();
        fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int, else no_call();
        fn closefrom(low: c_int) -> Nothing, else NOTHING;
        fn _Fork() -> pid_t, else no_call();
        fn malloc_usable_size(block: *mut c_void) -> usize, else 0;
        fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int, else libc::ENOSYS;
        fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int, else libc::ENOSYS;
        fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int, else libc::ENOSYS;
        fn mtx_trylock(mutex: *mut c_void) -> c_int, else 2;
    }
    jumped_to {
        raise, gsignal, pthread_sigqueue, tgkill, pthread_create, thrd_create,
        sigsuspend, ppoll, __ppoll_chk, pselect, epoll_pwait, epoll_pwait2, pause, sigpause, __xpg_sigpause, __sigpause,
        sigwait, sigwaitinfo, sigtimedwait, poll, __poll_chk, select, epoll_wait,
        sleep, usleep, nanosleep, __nanosleep, clock_nanosleep, thrd_sleep, sem_timedwait, sem_clockwait,
        semop, semtimedop, msgsnd, msgrcv, recv, recvfrom, recvmsg, recvmmsg, accept, accept4,
        __recv_chk, __recvfrom_chk, send, sendto, sendmsg, sendmmsg, connect,
        aio_suspend, aio_suspend64, lio_listio, lio_listio64, gai_suspend, getrandom,
        fallocate, fallocate64, posix_fallocate, posix_fallocate64, tcdrain, tcsendbreak,
        close, dup2, dup3, posix_spawn, posix_spawnp, system, popen,
        vfork, dlopen, dlmopen, dlclose, dlsym,
        backtrace, _dl_find_object, dl_iterate_phdr,
        longjmp, _longjmp, siglongjmp, __longjmp_chk,
        __sigsetjmp, setjmp, getcontext, setcontext, swapcontext,
        prctl, syscall, clone, ptrace, sched_yield, mlockall,
        chroot, pivot_root, setns, unshare,
        mmap, mmap64, mremap,
        malloc, calloc, realloc, posix_memalign, aligned_alloc, memalign, valloc, pvalloc, free,
        read, __read_chk, pread, pread64, __pread_chk, __pread64_chk, readv,
        preadv, preadv64, preadv2, preadv64v2,
        write, pwrite, pwrite64, writev, pwritev, pwritev64, pwritev2, pwritev64v2,
        sendfile, sendfile64, splice, copy_file_range,
        _IO_file_read, _IO_file_write,
        fsync, fdatasync, sync_file_range, msync, sync, syncfs,
        pthread_mutex_lock, pthread_mutex_timedlock, pthread_mutex_clocklock,
        pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
        pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock,
        mtx_lock, mtx_timedlock, pthread_cond_wait, pthread_cond_timedwait, pthread_cond_clockwait,
        cnd_wait, cnd_timedwait, sem_wait, pthread_barrier_wait,
        pthread_join, pthread_timedjoin_np, pthread_clockjoin_np, thrd_join,
        __sigsuspend, __poll, __select, __vfork, _IO_popen, __backtrace, __clone, __sched_yield,
    }
    unknown_to_dlsym {
        cfree, __pthread_mutex_lock, __pthread_rwlock_rdlock, __pthread_rwlock_wrlock,
    }
    of_unwinder {
        _Unwind_RaiseException, _Unwind_Resume, _Unwind_Resume_or_Rethrow,
        _Unwind_ForcedUnwind, _Unwind_Backtrace, _Unwind_SetIP, _Unwind_GetCFA,
    }
}

#[cfg(test)]
mod tests {
    #![expect(dead_code, reason = "lists of functions that nobody asks for here")]

    use super::*;

    real_functions! {
        called {
            fn csprof_none(signal: c_int) -> c_int, else no_call();
            fn pthread_csprof_none(signal: c_int) -> c_int, else libc::ENOSYS;
        }
        jumped_to {}
        unknown_to_dlsym {}
        of_unwinder {}
    }

    /// Of pthread_create(3), which asks for a mask in attributes, no program expects another errno.
    #[test]
    fn who_returns_error_numbers_leaves_errno_as_it_is() {
        set_errno(libc::EXDEV);
        // SAFETY: there are no such functions.
        assert_eq!(unsafe { pthread_csprof_none(1) }, libc::ENOSYS);
        assert_eq!(errno(), libc::EXDEV);
        // SAFETY: as above.
        assert_eq!(unsafe { csprof_none(1) }, -1);
        assert_eq!(errno(), libc::ENOSYS);
    }
}
