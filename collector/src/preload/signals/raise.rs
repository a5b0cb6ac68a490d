//! Signals that a thread sends itself, and that are not to be merged with its samples.
//!
//! A standard signal that is sent to a thread while a sample waits there to come by the same signal
//! is dropped (signal(7)). A sample waits where it came due in the very call that sends; where it
//! came due on another processor, until that has interrupted this one; and where the signal is
//! blocked.
//!
//! Where the signal is open, what was sent comes before the call returns, and so does what it was
//! merged with: a sample that comes right behind the call, with nothing that the program sent
//! before it, [has taken its place](Sending). The functions are [stubs](stub), so that a backtrace
//! in the handler has the frames that it would have alone.
//!
//! By kill(2) the signal is sent to the process, where no sample waits. Of what pthread_kill(3) and
//! its kind send to another thread the sender hears nothing; so it is left alone.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_long, c_void};

use super::mask::open_held;
use super::{BIT, SIGNAL, trap};
use crate::arch::{self, Call};
use crate::preload::real::{self, Real};
use crate::preload::stub::{self, wrappers};
use crate::preload::view::sampled;
use crate::sampling::pass_on::{Sending, SentValue};
use crate::sources::loan::TRAP;
use crate::sources::may_be_own;
use crate::sys::{self, Mask};
use crate::thread;

wrappers! {
    /// raise(3).
    jump raise: before_raise;
    /// raise(3) under the name of 4.2BSD.
    jump gsignal: before_raise;
    /// pthread_kill(3).
    jump pthread_kill: before_pthread_kill;
    /// pthread_sigqueue(3).
    jump pthread_sigqueue: before_pthread_sigqueue;
    /// tgkill(2).
    jump tgkill: before_tgkill;
}

/// The calls that send a thread a signal, by number.
pub(in crate::preload) const CALLS: [c_long; 2] = [libc::SYS_tgkill, libc::SYS_tkill];

extern "C" fn before_raise(call: &mut Call, real: &Real) -> *mut c_void {
    let signal = call.arguments[0];
    to_itself(call, signal, || true).unwrap_or_else(|| stub::target(real))
}

extern "C" fn before_pthread_kill(call: &mut Call, real: &Real) -> *mut c_void {
    let [thread, signal, ..] = call.arguments;
    to_itself(call, signal, || is_self(thread)).unwrap_or_else(|| stub::target(real))
}

extern "C" fn before_tgkill(call: &mut Call, real: &Real) -> *mut c_void {
    let [process, thread, signal, ..] = call.arguments;
    to_itself(call, signal, || are_own(process, thread)).unwrap_or_else(|| stub::target(real))
}

extern "C" fn before_pthread_sigqueue(call: &mut Call, real: &Real) -> *mut c_void {
    let [thread, signal, value, ..] = call.arguments;
    let is_sent = is_met(signal, || is_self(thread)) && send(libc::SI_QUEUE, value as u64);
    if is_sent { nothing_failed as *mut c_void } else { stub::target(real) }
}

/// Before one of the [`CALLS`] by syscall(2): where to go on, if it is for the calling thread.
pub(in crate::preload) fn before_number(call: &mut Call) -> Option<*mut c_void> {
    let [number, first, second, third, ..] = call.arguments;
    match number as c_long {
        libc::SYS_tgkill => to_itself(call, third, || are_own(first, second)),
        libc::SYS_tkill => to_itself(call, second, || first as u32 == sys::tid()),
        _ => None,
    }
}

/// Whether the C library has this for the calling thread.
fn is_self(thread: usize) -> bool {
    thread as u64 == arch::thread_pointer()
}

/// Whether the kernel has these numbers for the calling thread and its process.
fn are_own(process: usize, thread: usize) -> bool {
    thread as u32 == sys::tid() && process as u32 == sys::pid()
}

/// Whether this is a signal for the calling thread that samples come by, which is asked in that
/// order.
fn is_met(signal: usize, is_here: impl Fn() -> bool) -> bool {
    let signal = signal as c_int;
    if signal == TRAP && sampled() && is_here() {
        // A sample by SIGTRAP would be merged with it just so, and is given another signal.
        trap::give_back("the program sends itself SIGTRAP");
    }
    signal == SIGNAL && sampled() && is_here()
}

/// Where a call that sends such a signal goes on.
fn to_itself(call: &mut Call, signal: usize, is_here: impl Fn() -> bool) -> Option<*mut c_void> {
    if !is_met(signal, is_here) {
        return None;
    }
    if send(libc::SI_TKILL, 0) {
        return Some(nothing_failed as *mut c_void);
    }
    let own = [sys::pid() as usize, sys::tid() as usize, SIGNAL as usize];
    call.arguments[..own.len()].copy_from_slice(&own);
    Some(arch::send_signal as *mut c_void)
}

/// Sends the thread the signal where the kernel has it blocked, so that it waits: whether it has.
/// Else notes what the thread is about to send.
fn send(code: c_int, value: u64) -> bool {
    let errno = real::errno();
    open_held();
    let is_blocked = sys::block(Mask(0)).0 & BIT != 0;
    if is_blocked {
        let mask = sys::set_mask(Mask::ALL);
        thread::without_timers(|| {
            sys::drop_samples(SIGNAL, may_be_own);
            sys::send_again(&sys::sent_by_itself(SIGNAL, code, value), false);
        });
        sys::set_mask(mask);
    } else {
        SentValue::set(value);
        Sending::set(u64::from(code.cast_unsigned()));
    }
    real::set_errno(errno);
    is_blocked
}

extern "C" fn nothing_failed() -> c_long {
    0
}
