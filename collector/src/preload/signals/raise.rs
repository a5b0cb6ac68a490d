//! Signals that a thread sends itself, and that are not to be merged with its samples.
//!
//! A standard signal that is sent to a thread while a sample waits there to come by the same signal
//! is dropped (signal(7)). A sample waits where it came due in the very call that sends; where it
//! came due on another processor, until that has interrupted this one; and where the signal is
//! blocked.
//!
//! Where the signal is open, what was sent comes before the call returns, and so does what it was
//! merged with: a sample that comes right behind the call, with nothing that the thread sent before
//! it, has taken its place, [and stands for it](about_to_send). The functions are [stubs](stub), so
//! that a backtrace in the handler has no frames more. Where the signal is blocked, it is sent with
//! timers paused.
//!
//! A signal that an instruction of the program's own sends, or rt_tgsigqueueinfo(2) by its number,
//! is not noted; nor is one whose note a handler has replaced that came before the call.
//!
//! By kill(2) the signal is sent to the process, where no sample waits. Of what is sent to another
//! thread the sender hears nothing, so that is left alone. So is pthread_kill(3): glibc has two of
//! that name, which differ for threads that have ended, and a name of csprof's would stand for
//! both.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_long, c_void};

use super::mask::open_held;
use super::{BIT, SIGNAL, trap};
use crate::arch::{self, Call};
use crate::preload::real::{self, Real, behind};
use crate::preload::stub::{self, wrappers};
use crate::preload::view::sampled;
use crate::sampling::pass_on::about_to_send;
use crate::sources::loan::TRAP;
use crate::sources::may_be_own;
use crate::sys::{self, Mask, Sender, SignalStatus};
use crate::thread;

wrappers! {
    /// raise(3).
    jump raise: before_raise;
    /// raise(3) under the name of 4.2BSD.
    jump gsignal: before_raise;
    /// pthread_sigqueue(3).
    jump pthread_sigqueue: before_pthread_sigqueue;
    /// tgkill(2).
    jump tgkill: before_tgkill;
}

/// The calls that send a thread a signal, by number.
pub(in crate::preload) const CALLS: [c_long; 2] = [libc::SYS_tgkill, libc::SYS_tkill];

extern "C" fn before_raise(call: &mut Call, real: &Real) -> *mut c_void {
    let signal = call.arguments[0];
    match to_itself(signal, || true, None) {
        Some(Sent::Already) => nothing_failed as *mut c_void,
        // glibc before 2.34 blocks all signals around the call, so by number.
        Some(Sent::Noted(sender)) => by_number(call, sender.process, sender.thread, signal),
        None => stub::target(real),
    }
}

extern "C" fn before_pthread_sigqueue(call: &mut Call, real: &Real) -> *mut c_void {
    let [thread, signal, value, ..] = call.arguments;
    target(to_itself(signal, || is_self(thread), Some(value as u64)), real)
}

extern "C" fn before_tgkill(call: &mut Call, real: &Real) -> *mut c_void {
    let [process, thread, signal, ..] = call.arguments;
    let sent = to_itself(signal, || are_own(process, thread), None);
    if real.address().is_null() && sent != Some(Sent::Already) {
        // glibc before 2.30 has none.
        return by_number(call, process as u32, thread as u32, signal);
    }
    target(sent, real)
}

/// Before one of the [`CALLS`] by syscall(2): where to go on, if it was sent already.
pub(in crate::preload) fn before_number(call: &Call) -> Option<*mut c_void> {
    let [number, first, second, third, ..] = call.arguments;
    let sent = match number as c_long {
        libc::SYS_tgkill => to_itself(third, || are_own(first, second), None),
        libc::SYS_tkill => to_itself(second, || first as u32 == sys::tid(), None),
        _ => None,
    };
    (sent == Some(Sent::Already)).then_some(nothing_failed as *mut c_void)
}

/// Whether the C library has this for the calling thread.
fn is_self(thread: usize) -> bool {
    thread as u64 == arch::thread_pointer()
}

/// Whether the kernel has these numbers for the calling thread and its process.
fn are_own(process: usize, thread: usize) -> bool {
    thread as u32 == sys::tid() && process as u32 == sys::pid()
}

// Its wrapper is the [sandbox](crate::preload::sandbox)'s.
behind!(syscall);

/// Has tgkill(2) made by syscall(2).
fn by_number(call: &mut Call, process: u32, thread: u32, signal: usize) -> *mut c_void {
    let [process, thread] = [process as usize, thread as usize];
    call.arguments[..4].copy_from_slice(&[libc::SYS_tgkill as usize, process, thread, signal]);
    stub::target(&syscall::REAL)
}

/// A signal that the calling thread sends itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// It waits, for it is blocked.
    Already,
    /// It is [noted](about_to_send), and the program's call is to send it.
    Noted(Sender),
}

/// Where the program's call goes on.
fn target(sent: Option<Sent>, real: &Real) -> *mut c_void {
    if sent == Some(Sent::Already) { nothing_failed as *mut c_void } else { stub::target(real) }
}

extern "C" fn nothing_failed() -> c_long {
    0
}

/// Before a signal is sent, with a value or without: whether it is for the calling thread is asked
/// where samples come by it. `None`: it is the program's alone.
fn to_itself(signal: usize, is_here: impl Fn() -> bool, value: Option<u64>) -> Option<Sent> {
    let signal = signal as c_int;
    if (signal != TRAP && signal != SIGNAL) || !sampled() || !is_here() {
        return None;
    }
    if signal == TRAP {
        // A sample by SIGTRAP would be merged with it just so, and is given another signal.
        trap::give_back("the program sends itself SIGTRAP");
        return None;
    }
    let errno = real::errno();
    let sent = send(value);
    real::set_errno(errno);
    sent
}

/// The same for the profiling signal. `None`: it was refused, as it will be again.
fn send(value: Option<u64>) -> Option<Sent> {
    open_held();
    let sender = Sender::here();
    if sys::block(Mask(0)).0 & BIT == 0 {
        let code = if value.is_some() { libc::SI_QUEUE } else { libc::SI_TKILL };
        about_to_send(sender, code, value.unwrap_or(0));
        return Some(Sent::Noted(sender));
    }
    let mut result = Ok(());
    let mask = sys::set_mask(Mask::ALL);
    thread::without_timers(|| {
        // What the program sent the thread before is what this one is to be merged with.
        let waits_here = || SignalStatus::read().pending.map(|Mask(mask)| mask & BIT != 0);
        let waits = sys::pending() & BIT != 0;
        if waits && waits_here().is_none() {
            sys::drop_samples(SIGNAL, may_be_own);
        } else if waits {
            sys::drop_samples_here(SIGNAL, || waits_here() == Some(true), may_be_own);
        }
        result = sys::send_here(sender, SIGNAL, value);
    });
    sys::set_mask(mask);
    result.ok().map(|()| Sent::Already)
}
