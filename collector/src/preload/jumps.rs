//! Jumps out of frames: longjmp(3).
//!
//! A jump leaves frames without returning from them. It is looked at before it happens, for
//! afterwards the same functions may have been called again, from the same places, and look the
//! same: what lies inside the target is counted as lost returns, and the trampoline takes the
//! innermost frame that remains.
//!
//! The target is in the `jmp_buf` ([`arch::jump_target`]). A word that is not a place of the
//! thread's own stack, further out than here, is not believed; then the next sample finds out what
//! is left, as it does for jumps that are not made by these functions (`__builtin_longjmp`, a
//! program's own context switch).

#![expect(unsafe_code, reason = "stubs in front of C functions, a jmp_buf")]

use core::ffi::c_void;

use super::real::{self, Real};
use super::signals::{interruption, saved_mask};
use super::stub::{self, wrappers};
use crate::arch::{self, Call};
use crate::thread;

/// Counts what the jump leaves. Returns where to jump.
extern "C" fn prepare(call: &mut Call, real: &Real) -> *mut c_void {
    let errno = real::errno();
    let buffer = core::ptr::with_exposed_provenance::<u64>(call.arguments[0]);
    // SAFETY: the program's own argument, which the real function is about to read.
    let target = unsafe { arch::jump_target(buffer) };
    thread::unarmed::left_to(target);
    interruption::leave_to(target);
    // SAFETY: as above.
    unsafe { saved_mask::jump(buffer.cast()) };
    real::set_errno(errno);
    stub::target(real)
}

wrappers! {
    /// longjmp(3).
    jump longjmp: prepare;
    /// longjmp(3), signal mask as it is.
    jump _longjmp: prepare;
    /// siglongjmp(3).
    jump siglongjmp: prepare;
    /// longjmp(3) of a program that was compiled with `_FORTIFY_SOURCE`.
    jump __longjmp_chk: prepare;
}
