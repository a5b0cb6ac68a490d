//! Calls that are counted by a synchronous source. The wrapper looks at the call, and jumps on to
//! the real function.
//!
//! Counted are calls by name, from the program and its libraries: not those inside the C library,
//! nor system calls by hand.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::c_void;

use csprof_format::launch::SourceKind;

use super::real::Real;
use super::stub::{self, wrappers};
use super::view::sampled;
use crate::arch::Call;
use crate::sampling::call::on_call;
use crate::sources::flag::flag;
use crate::sources::metric_of;

flag! {
    /// Whether calls of sched_yield(2) are counted.
    pub(super) YIELDS_COUNT: Yields
}

/// Counts one call of `yields`. Returns where to jump.
pub(super) extern "C" fn count_yield(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled()
        && let Some(metric) = metric_of(SourceKind::Yields)
    {
        on_call(metric, 1, || call.caller_registers());
    }
    stub::target(real)
}

wrappers! {
    /// sched_yield(2). Unless such a source is in use, nothing but its flag is looked at.
    jump sched_yield where YIELDS_COUNT: count_yield;
}
