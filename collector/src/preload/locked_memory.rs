//! A program that has the kernel lock its memory (mlockall(2)).
//!
//! With `MCL_FUTURE` that is also what the collector maps from then on. It would count against what
//! the program may lock (RLIMIT_MEMLOCK), and the program's own mappings would fail earlier than
//! alone: so the collector unlocks what it maps. `MCL_CURRENT` locks what there is, the collector's
//! with it.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_void};

use super::real::Real;
use super::stub::{self, wrappers};
use crate::arch::Call;
use crate::sys;

extern "C" fn before_mlockall(call: &mut Call, real: &Real) -> *mut c_void {
    // Each call says anew what becomes of mappings to come. One that fails changes nothing: what is
    // unlocked then was not locked, or is the collector's alone.
    if call.arguments[0] as c_int & libc::MCL_FUTURE != 0 {
        sys::note_locking();
    }
    stub::target(real)
}

wrappers! {
    /// mlockall(2).
    jump mlockall: before_mlockall;
}
