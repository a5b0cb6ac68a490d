//! Second names: the C library has some of the functions that are wrapped under several, and calls
//! by each must come here. `tests/preload.rs` looks for such names in the C library that is
//! installed. Some stand beside the first ones.
//!
//! Each goes on to the C library's function of its own name. A library that stands before the
//! first name may call the C library by the second: led on to the first, it would call itself
//! without end. Its calls by the second name are part of one by the first, which is counted.
//!
//! Not `__read`, `__close` and the like, by which such libraries are known to call.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::c_void;

use super::calls::YIELDS_COUNT;
use super::locks::LOCKS_COUNT;
use super::real::{Real, behind};
use super::signals::interruption::after_relative_or_held;
use super::signals::{inherit, poll, wait};
use super::stub::{self, UNBLOCKS, waits, wrappers};
use super::{alloc, calls, locks, reach};
use crate::arch::{self, Call, Route};
use crate::sampler::blocks::{FACTOR, FILTER};
use crate::sources::requests::BLOCKS_FOLLOWED;

waits! {
    /// sigsuspend(2).
    call __sigsuspend: wait::with_signal::<0>, wait::after;
    /// poll(2).
    hold __poll in arch::POLL: poll::before_poll, UNBLOCKS, after_relative_or_held;
    /// select(2).
    hold __select in arch::SELECT: poll::before_select, UNBLOCKS, poll::after_select;
}

wrappers! {
    /// popen(3).
    hold _IO_popen: reach::before_shell, UNBLOCKS, inherit::spawned;
}

behind!(old cfree);
arch::stub! {
    /// free(3), of old programs.
    #[unsafe(no_mangle)]
    {argument 0 times FACTOR, in FILTER}
    jump cfree = cfree::REAL, BLOCKS_FOLLOWED, alloc::give_back
}

/// Whether both names lead to one function: no library stands before the first.
pub(super) fn is_one(first: &Real, second: &Real) -> bool {
    core::ptr::eq(first.address(), second.address())
}

extern "C" fn before_yield(call: &mut Call, real: &Real) -> *mut c_void {
    if is_one(&calls::sched_yield::REAL, real) {
        calls::count_yield(call, real)
    } else {
        stub::target(real)
    }
}

wrappers! {
    /// sched_yield(2).
    jump __sched_yield where YIELDS_COUNT: before_yield;
}

macro_rules! locks {
    ($($(#[$attribute:meta])* $name:ident = $first:ident: $before:path;)*) => {$(
        behind!(old $name);
        const _: () = {
            extern "C" fn before(call: &mut Call, real: &Real) -> Route {
                if is_one(&locks::$first::REAL, real) {
                    $before(call, real)
                } else {
                    Route { target: stub::target(real), calls: 0 }
                }
            }

            arch::stub! {
                $(#[$attribute])*
                #[unsafe(no_mangle)]
                #[unsafe(link_section = "csprof_waits")]
                {} call $name = $name::REAL, LOCKS_COUNT, before, locks::after
            }
        };
    )*};
}

locks! {
    /// pthread_mutex_lock(3).
    __pthread_mutex_lock = pthread_mutex_lock: locks::before_mutex;
    /// pthread_rwlock_rdlock(3).
    __pthread_rwlock_rdlock = pthread_rwlock_rdlock: locks::before_read_lock;
    /// pthread_rwlock_wrlock(3).
    __pthread_rwlock_wrlock = pthread_rwlock_wrlock: locks::before_write_lock;
}
