//! What a wrapper counts once the real function has returned: how long it took, and amounts.
//!
//! The last words of a call's room, of which [`hold`](super::signals::hold) has the first, as have
//! arguments that are passed on the stack.

use csprof_format::launch::SourceKind;

use crate::arch::{Call, Route};
use crate::control;
use crate::sampling::call::{on_call, on_time};
use crate::sealed::{SAMPLES_OF_CALLS, sealed};
use crate::sources::metric_of;
use crate::sys;

/// Where the room has the time at which the real function was called; 0: not known.
const BEGAN: usize = 14;
/// Where it has whether the call is counted.
const COUNTS: usize = 15;

/// How to go on with a call that was asked to be counted, or not: then it must be called.
pub(super) const fn counting(route: Route, counts: bool) -> Route {
    Route { calls: if counts { 1 } else { route.calls }, ..route }
}

/// The call is not counted.
pub(super) fn leave_out(call: &mut Call) {
    call.room[COUNTS] = 0;
}

/// The call is counted when it has returned; its time, if `timed` is a source in use.
pub(super) fn begin(call: &mut Call, timed: SourceKind) {
    call.room[COUNTS] = 1;
    call.room[BEGAN] = metric_of(timed).map_or(0, |_| now_ns());
}

/// Counts the time of a call that has begun; whether it had.
pub(super) fn end(call: &Call, timed: SourceKind) -> bool {
    let counts = call.room[COUNTS] != 0;
    let began_ns = call.room[BEGAN];
    if counts && began_ns > 0 {
        let time_ns = now_ns().saturating_sub(began_ns);
        if time_ns > 0
            && let Some(metric) = metric_of(timed)
        {
            on_time(metric, time_ns, || call.caller_registers());
        }
    }
    counts
}

/// Counts an amount that the call was about, which has returned.
pub(super) fn add(call: &Call, kind: SourceKind, amount: u64) {
    if amount > 0
        && let Some(metric) = metric_of(kind)
    {
        on_call(metric, amount, || call.caller_registers());
    }
}

/// Elapsed time, without pauses of the run; 0 where the process has given up system calls.
fn now_ns() -> u64 {
    let counted = (!sealed()).then(|| SAMPLES_OF_CALLS.enter());
    let time_ns = if sealed() { 0 } else { control::running_ns(sys::elapsed_ns()) };
    drop(counted);
    time_ns
}
