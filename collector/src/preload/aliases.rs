//! Second names: the C library has some of the functions that are wrapped under several, and calls
//! by each must come here. `tests/preload.rs` looks for such names in the C library that is
//! installed.
//!
//! Not `__read`, `__close` and the like: libraries that stand before the plain names call the real
//! functions by these, and would come back here and to themselves without end.

#![expect(unsafe_code, reason = "exported C functions")]

use super::signals::{poll, trap, wait};
use super::{alloc, calls, exceptions, fork, locks, reach, sandbox};
use crate::arch;

macro_rules! aliases {
    ($($name:ident = $stub:path;)*) => {$(
        arch::alias_stub! {
            #[doc = concat!("The same as `", stringify!($stub), "`.")]
            #[unsafe(no_mangle)]
            $name = $stub
        }
    )*};
}

aliases! {
    __sigsuspend = wait::sigsuspend;
    __poll = poll::poll;
    __select = poll::select;
    __vfork = fork::vfork;
    __clone = sandbox::clone;
    _IO_popen = reach::popen;
    gsignal = trap::raise;
    cfree = alloc::free;
    __backtrace = exceptions::backtrace;
    __sched_yield = calls::sched_yield;
    __pthread_mutex_lock = locks::pthread_mutex_lock;
    __pthread_rwlock_rdlock = locks::pthread_rwlock_rdlock;
    __pthread_rwlock_wrlock = locks::pthread_rwlock_wrlock;
}
