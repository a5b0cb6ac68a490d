//! Unwinders that the program starts must find real return addresses.
//!
//! An exception, a forced unwind or a backtrace walks the stack, and the trampoline is in one of
//! its slots. Each entry of the unwinder that is reachable by name puts the real address back and
//! jumps on: the unwinder looks at its own return address and at the registers of its caller, so
//! the stub leaves both as they were. ICS'05 section 2.5.3 does the same with two functions.
//!
//! What calls an unwinder without going through these names (the C library on thread
//! cancellation, programs linked with -static-libgcc) relies on the trampoline's own unwind
//! information.
//!
//! The collector is linked with libgcc_s (Rust's standard library needs it), so there is an unwinder
//! in the global scope of every program that is sampled, found at start: not at the first throw,
//! when another thread may hold the loader's lock and wait for the one that throws. A program that
//! brings another unwinder, LLVM's for one, has it earlier in the scope, and gets it.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use super::real::{self, Real, slots};
use super::stub::{ENGAGED, drop_frame, fast_path, restore_arguments, save_arguments};
use crate::thread;

/// Makes the stack true and returns where to jump.
extern "C" fn prepare(real: &Real) -> *mut c_void {
    let errno = real::errno();
    thread::disarm_here();
    let target = real.address();
    real::set_errno(errno);
    if !target.is_null() {
        target
    } else if core::ptr::eq(real, &raw const slots::_Unwind_Resume) {
        // It cannot return: no code was written to return to.
        libc::abort as *mut c_void
    } else {
        no_unwinder as *mut c_void
    }
}

/// What an unwinder answers on a stack without a handler. The C++ ABI asks callers to terminate
/// then; a caller of `_Unwind_Backtrace` sees no frames.
extern "C" fn no_unwinder() -> c_int {
    const URC_END_OF_STACK: c_int = 5;
    URC_END_OF_STACK
}

/// Defines functions that prepare and jump.
macro_rules! unwinders {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                fast_path!(),
                save_arguments!(),
                "lea rdi, [rip + {real}]",
                "call {prepare}",
                "mov r11, rax",
                restore_arguments!(),
                drop_frame!(),
                "jmp r11",
                ".cfi_endproc",
                real = sym slots::$name,
                engaged = sym ENGAGED,
                prepare = sym prepare,
            )
        }
    )*};
}

unwinders! {
    /// Begins to throw: Itanium C++ ABI, Exception Handling, 1.3.
    _Unwind_RaiseException;
    /// Goes on after a cleanup.
    _Unwind_Resume;
    /// Goes on, or throws again.
    _Unwind_Resume_or_Rethrow;
    /// Unwinds without an exception.
    _Unwind_ForcedUnwind;
    /// Reports each frame.
    _Unwind_Backtrace;
    /// backtrace(3).
    backtrace;
}
