//! Waiting for files: poll, select, epoll_wait.
//!
//! The kernel never goes on with these after a handler has run, whatever its flags (signal(7)), so
//! a sample that comes while the thread enters or leaves the wait would end it with `EINTR`. The
//! CPU timers signal at the kernel's tick, which does not meet that moment; SIGTRAP waits for the
//! end of the system call. `task-clock` without SIGTRAP does meet it, in one wait of fifty at 5000
//! samples per second, and `realtime` meets every wait that is longer than its period. There each
//! of these functions is its [relative](super::relatives) that waits with a mask: the thread's own,
//! with the profiling signal. The sample comes right after the wait, and stands for all of it.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::{c_int, c_void};

use libc::{timespec, timeval};

use super::interruption::{after_relative_or_held, hold_met, own_mask};
use super::relatives::relative_of;
use crate::arch::{self, Call, Route};
use crate::preload::readable::read;
use crate::preload::real::Real;
use crate::preload::stub::{self, UNBLOCKS, waits};
use crate::preload::under_way::Waits;
use crate::preload::view::sampled;
use crate::sys::{self, Clock};

/// What a call is given in place of its own arguments.
#[repr(C)]
struct Room {
    /// What the stub is to unblock.
    held: u64,
    /// The kernel reads one word of a mask.
    mask: u64,
    time: timespec,
    began_ns: u64,
    /// The program's own argument of select(2), where that was replaced.
    timeout: *mut timeval,
}

const _: () = assert!(size_of::<Room>() <= size_of::<crate::arch::Room>());

/// The room of a call, filled with `mask` and `time`.
fn filled(call: &mut Call, mask: u64, time: timespec) -> &mut Room {
    let room = call.room.as_mut_ptr().cast::<Room>();
    // SAFETY: large enough, see above, and aligned as words are.
    unsafe {
        room.write(Room { held: 0, mask, time, began_ns: 0, timeout: core::ptr::null_mut() });
        &mut *room
    }
}

/// How to call a relative, with a mask.
fn through(call: &Call, relative: *mut c_void) -> Route {
    Waits::enter(call);
    Route { target: relative, calls: 1 }
}

/// Without a relative the signal is held back, as in [`hold`](super::hold).
fn without_relative(call: &mut Call, real: &Real) -> Route {
    filled(call, 0, timespec { tv_sec: 0, tv_nsec: 0 });
    hold_met(call, stub::target(real))
}

/// Goes on as if there were no wrapper.
fn as_it_is(real: &Real) -> Route {
    Route { target: stub::target(real), calls: 0 }
}

pub(in crate::preload) extern "C" fn before_poll(call: &mut Call, real: &Real) -> Route {
    poll_with_mask(call, real, usize::MAX)
}

/// The fourth argument is the size of the array, as far as the compiler knew it.
extern "C" fn before_checked_poll(call: &mut Call, real: &Real) -> Route {
    poll_with_mask(call, real, call.arguments[3])
}

/// Makes it a call of ppoll, if the array of files has `bytes` enough.
fn poll_with_mask(call: &mut Call, real: &Real, bytes: usize) -> Route {
    let [_, count, timeout_ms, ..] = call.arguments;
    if bytes / size_of::<libc::pollfd>() < count {
        return as_it_is(real);
    }
    let Some(mask) = own_mask(call) else { return as_it_is(real) };
    let Some(ppoll) = relative_of(real) else { return without_relative(call, real) };
    let timeout_ms = i64::from(timeout_ms as c_int);
    let limit = timeout_ms.max(0);
    let time = timespec { tv_sec: limit / 1000, tv_nsec: limit % 1000 * 1_000_000 };
    let room = filled(call, mask, time);
    let time = if timeout_ms < 0 { 0 } else { (&raw const room.time).expose_provenance() };
    let mask = (&raw const room.mask).expose_provenance();
    call.arguments[2] = time;
    call.arguments[3] = mask;
    through(call, ppoll)
}

/// Makes it a call of pselect.
pub(in crate::preload) extern "C" fn before_select(call: &mut Call, real: &Real) -> Route {
    if !sampled() {
        return as_it_is(real);
    }
    let timeout = core::ptr::with_exposed_provenance_mut::<timeval>(call.arguments[4]);
    let asked = read::<[i64; 2]>(call.arguments[4]);
    if asked.is_none() && !timeout.is_null() {
        return as_it_is(real);
    }
    let [seconds, microseconds] = asked.unwrap_or_default();
    let Some(tv_sec) = seconds.checked_add(microseconds / 1_000_000) else {
        return as_it_is(real);
    };
    if seconds < 0 || microseconds < 0 {
        return as_it_is(real);
    }
    let Some(mask) = own_mask(call) else { return as_it_is(real) };
    let Some(pselect) = relative_of(real) else { return without_relative(call, real) };
    let time = timespec { tv_sec, tv_nsec: microseconds % 1_000_000 * 1000 };
    let room = filled(call, mask, time);
    room.began_ns = sys::now_ns(Clock::Monotonic);
    room.timeout = timeout;
    let mask = (&raw const room.mask).expose_provenance();
    let time = (&raw const room.time).expose_provenance();
    if !timeout.is_null() {
        call.arguments[4] = time;
    }
    call.arguments[5] = mask;
    through(call, pselect)
}

/// Tells the program how much of its time is left, as select(2) does on Linux and pselect does not.
pub(in crate::preload) extern "C" fn after_select(call: &mut Call) {
    after_relative_or_held(call);
    // SAFETY: filled before the call.
    let room = unsafe { &*call.room.as_ptr().cast::<Room>() };
    // SAFETY: null or the program's.
    let Some(timeout) = (unsafe { room.timeout.as_mut() }) else { return };
    let passed = sys::now_ns(Clock::Monotonic).saturating_sub(room.began_ns);
    let asked = room.time.tv_sec.saturating_mul(1_000_000_000).saturating_add(room.time.tv_nsec);
    let left = asked.saturating_sub(i64::try_from(passed).unwrap_or(i64::MAX)).max(0);
    *timeout = timeval { tv_sec: left / 1_000_000_000, tv_usec: left % 1_000_000_000 / 1000 };
}

/// Makes it a call of epoll_pwait: the mask alone makes the difference.
extern "C" fn before_epoll(call: &mut Call, real: &Real) -> Route {
    let Some(mask) = own_mask(call) else { return as_it_is(real) };
    let Some(epoll_pwait) = relative_of(real) else { return without_relative(call, real) };
    let room = filled(call, mask, timespec { tv_sec: 0, tv_nsec: 0 });
    call.arguments[4] = (&raw const room.mask).expose_provenance();
    through(call, epoll_pwait)
}

waits! {
    /// poll(2).
    hold poll in arch::POLL: before_poll, UNBLOCKS, after_relative_or_held;
    /// poll(2) as programs built with `_FORTIFY_SOURCE` call it.
    hold __poll_chk in arch::POLL: before_checked_poll, UNBLOCKS, after_relative_or_held;
    /// select(2).
    hold select in arch::SELECT: before_select, UNBLOCKS, after_select;
    /// epoll_wait(2).
    hold epoll_wait in arch::EPOLL_WAIT: before_epoll, UNBLOCKS, after_relative_or_held;
}
