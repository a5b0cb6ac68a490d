//! Signals that a thread sends itself, and that are not to be merged with its samples.
//!
//! A standard signal that is sent while a sample waits to come by the same signal is dropped
//! (signal(7)). A sample waits when its timer ends in the very call that sends; and, where the
//! timer ends on another processor, until that has interrupted this one.
//!
//! By kill(2) the signal is sent to the process, where no sample waits. By pthread_kill(3) it may
//! be sent to any thread, of which its sender hears nothing; so it is left alone.

#![expect(unsafe_code, reason = "exported C functions")]

use core::ffi::c_int;

use super::mask::open_held;
use super::{SIGNAL, trap};
use crate::preload::real;
use crate::preload::view::{PassedOn, sampled};
use crate::sources::loan::TRAP;

/// How often the profiling signal is sent, at most, for one of the program's to come: where the
/// first was dropped, the sample has come. Where the program has it blocked it does not come, and
/// those behind the first are merged with that.
const TIMES: usize = 4;

/// Sends the calling thread a signal by `send`.
fn send(signal: c_int, send: impl Fn() -> c_int) -> c_int {
    if signal == TRAP && sampled() {
        trap::give_back("the program sends itself SIGTRAP");
    }
    if signal != SIGNAL || !sampled() {
        return send();
    }
    // It comes before the call returns.
    open_held();
    let before = PassedOn::get();
    let mut result = send();
    for _ in 1..TIMES {
        if result != 0 || PassedOn::get() != before {
            break;
        }
        result = send();
    }
    result
}

/// raise(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn raise(signal: c_int) -> c_int {
    // SAFETY: the program's own argument, passed on.
    send(signal, || unsafe { real::raise(signal) })
}

/// raise(3) under the name of 4.2BSD.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn gsignal(signal: c_int) -> c_int {
    // SAFETY: the program's own argument, passed on.
    send(signal, || unsafe { real::gsignal(signal) })
}
