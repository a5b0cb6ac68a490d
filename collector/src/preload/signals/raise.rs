//! Signals that a thread sends itself, and that are not to be merged with its samples.
//!
//! A standard signal that is sent to a thread while a sample waits there to come by the same signal
//! is dropped (signal(7)). A sample waits where it came due in the very call that sends; where it
//! came due on another processor, until that has interrupted this one; and where the signal is
//! blocked.
//!
//! By kill(2) the signal is sent to the process, where no sample waits. By pthread_kill(3) it may
//! be sent to any thread, of which its sender hears nothing; so it is left alone.

#![expect(unsafe_code, reason = "exported C functions")]

use core::ffi::c_int;

use super::mask::open_held;
use super::{BIT, SIGNAL, trap};
use crate::preload::real;
use crate::preload::view::sampled;
use crate::sampling::pass_on::{Samples, SentHere};
use crate::sources::loan::TRAP;
use crate::sources::may_be_own;
use crate::sys::{self, Mask};
use crate::thread;

/// How often the profiling signal is sent at most. Each time a sample must have come due anew for
/// it to be dropped.
const TIMES: usize = 4;

/// Has `send` send the calling thread a signal.
fn send(signal: c_int, send: impl Fn() -> c_int) -> c_int {
    if signal == TRAP && sampled() {
        // A sample by SIGTRAP would be merged with it just so, and is given another signal.
        trap::give_back("the program sends itself SIGTRAP");
    }
    if signal != SIGNAL || !sampled() {
        return send();
    }
    open_held();
    if sys::block(Mask(0)).0 & BIT != 0 {
        return send_blocked(send);
    }
    for _ in 0..TIMES {
        let (samples, sent) = (Samples::get(), SentHere::get());
        let result = send();
        // What is not blocked comes before the call returns: so does what it was merged with.
        if result != 0 || SentHere::get() != sent || Samples::get() == samples {
            return result;
        }
    }
    0
}

/// The same where the kernel has the profiling signal blocked, so that it waits.
fn send_blocked(send: impl Fn() -> c_int) -> c_int {
    let mut result = 0;
    let mask = sys::set_mask(Mask::ALL);
    thread::without_timers(|| {
        sys::drop_samples(SIGNAL, may_be_own);
        result = send();
    });
    sys::set_mask(mask);
    result
}

/// raise(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn raise(signal: c_int) -> c_int {
    // SAFETY: the program's own argument, passed on. A handler that leaves by an exception, or by
    // pthread_exit(3), passes through frames that have nothing to clean up.
    send(signal, || unsafe { real::raise(signal) })
}

/// raise(3) under the name of 4.2BSD.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn gsignal(signal: c_int) -> c_int {
    // SAFETY: as in `raise`.
    send(signal, || unsafe { real::gsignal(signal) })
}
