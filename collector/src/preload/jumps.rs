//! Jumps out of frames: longjmp(3).
//!
//! A jump leaves frames without returning from them. It is looked at before it happens, for
//! afterwards the same functions may have been called again, from the same places, and look the
//! same: what lies inside the target is counted as lost returns, and the trampoline takes the
//! innermost frame that remains.
//!
//! The target is in the `jmp_buf`: the seventh of eight words is the stack pointer (glibc,
//! sysdeps/x86_64/jmpbuf-offsets.h), mangled by the thread's pointer guard at `fs:0x30`
//! (sysdeps/x86_64/nptl/pointer_guard.h). A word that is not a place of the thread's own stack,
//! further out than here, is not believed; then the next sample finds out what is left, as it
//! does for jumps that are not made by these functions (`__builtin_longjmp`, a program's own
//! context switch).

#![expect(unsafe_code, reason = "stubs in front of C functions, a jmp_buf")]

use core::arch::{asm, naked_asm};
use core::ffi::c_void;

use super::real::{self, Real, slots};
use super::stub::{self, ENGAGED, fast_path, jump_on, save_arguments};
use super::view::{Belief, sampled};
use crate::sources::loan;
use crate::{sys, thread};

/// Position of the stack pointer in a `jmp_buf`.
const STACK_POINTER: usize = 6;

/// Counts what the jump leaves. Returns where to jump.
extern "C" fn prepare(buffer: *const u64, real: &Real) -> *mut c_void {
    let errno = real::errno();
    // SAFETY: the program's own argument, which the real function is about to read.
    let mangled = unsafe { buffer.add(STACK_POINTER).read_unaligned() };
    thread::unarmed::left_to(demangled(mangled));
    // Out of a handler that interrupted a wait: the wait's mask would stay.
    if Belief::Waited.get() && sampled() {
        Belief::Waited.set(false);
        sys::unblock(loan::signals());
    }
    real::set_errno(errno);
    stub::target(real)
}

fn demangled(word: u64) -> u64 {
    let guard: u64;
    // SAFETY: reads a word of the thread control block.
    unsafe {
        asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, readonly, preserves_flags));
    }
    word.rotate_right(0x11) ^ guard
}

/// Defines functions that prepare and jump.
macro_rules! jumps {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                fast_path!(),
                save_arguments!(),
                "lea rsi, [rip + {real}]",
                "call {prepare}",
                jump_on!(),
                real = sym slots::$name,
                engaged = sym ENGAGED,
                prepare = sym prepare,
            )
        }
    )*};
}

jumps! {
    /// longjmp(3).
    longjmp;
    /// longjmp(3), signal mask as it is.
    _longjmp;
    /// siglongjmp(3).
    siglongjmp;
    /// longjmp(3) of a program that was compiled with `_FORTIFY_SOURCE`.
    __longjmp_chk;
}
