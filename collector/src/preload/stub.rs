//! Entries written in assembly, for functions that must not notice a wrapper.
//!
//! Three reasons call for one: the real function looks at its return address (dlopen, dlsym and
//! the unwinder do), a cancellation or an exception unwinds through the wrapper (Rust frames with
//! the C ABI must not be unwound), or the arguments are variadic.
//!
//! Each stub begins with [`fast_path!`]: where nothing is sampled it jumps on, so that the real
//! function sees exactly the call that the program made. Names that the fragments use:
//! `{real}` = the [`Real`], `{engaged}` = [`ENGAGED`]. `r11` is the one register
//! that a caller cannot count on and that carries no argument (psABI, figure 3.4).
//!
//! Invariant: at every instruction the call frame information of a stub is right, and the return
//! address is where the call put it, so an unwinder or a sample may come at any time.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

use super::real::{self, Real};

/// Begins with whether the collector samples, or sampled, in this process.
///
/// Cheaper than `process::active()`, which must recognize the child of a vfork; the slow path asks
/// it. Written by the constructor and in forked children.
pub(super) use crate::process::OF_THIS_PROCESS as ENGAGED;

/// Whether the collector sampled, here or in the process that this one was forked from by hand. What
/// leads into a sandbox is looked at in such a child, too, for exec(3) makes system calls there.
pub(super) static WATCHING: AtomicBool = AtomicBool::new(false);

/// Lets the stubs take the slow path.
pub(super) fn engage() {
    WATCHING.store(true, Ordering::Relaxed);
    ENGAGED.engaged.store(true, Ordering::Relaxed);
}

/// Nothing is looked at any more: the process is sealed.
pub(super) fn stop_watching() {
    WATCHING.store(false, Ordering::Relaxed);
}

/// Whether the slow path is on.
#[inline]
pub(super) fn engaged() -> bool {
    ENGAGED.engaged.load(Ordering::Relaxed)
}

/// Turns the slow path off: the process is not sampled any more.
pub(super) fn disengage() {
    ENGAGED.engaged.store(false, Ordering::Relaxed);
}

/// Jumps to the real function if it is known and nothing is sampled; else goes on at `2:`.
macro_rules! fast_path {
    () => {
        "endbr64
         mov r11, qword ptr [rip + {real}]
         test r11, r11
         jz 2f
         cmp byte ptr [rip + {engaged}], 0
         jne 2f
         jmp r11
         2:"
    };
}

/// Makes a frame and keeps the six integer arguments in it, from `rbp − 8` down to `rbp − 48`.
/// `rsp` is 16-byte aligned afterwards, and 128 bytes above it are free.
macro_rules! save_arguments {
    () => {
        "push rbp
         .cfi_def_cfa_offset 16
         .cfi_offset rbp, -16
         mov rbp, rsp
         .cfi_def_cfa_register rbp
         sub rsp, 176
         mov [rbp - 8], rdi
         mov [rbp - 16], rsi
         mov [rbp - 24], rdx
         mov [rbp - 32], rcx
         mov [rbp - 40], r8
         mov [rbp - 48], r9"
    };
}

/// Puts the arguments back, with the frame still there.
macro_rules! restore_arguments {
    () => {
        "mov rdi, [rbp - 8]
         mov rsi, [rbp - 16]
         mov rdx, [rbp - 24]
         mov rcx, [rbp - 32]
         mov r8, [rbp - 40]
         mov r9, [rbp - 48]"
    };
}

/// Takes the frame away. The state before it is remembered for code that follows a jump.
macro_rules! drop_frame {
    () => {
        "leave
         .cfi_def_cfa rsp, 8
         .cfi_restore rbp"
    };
}

/// The end of a stub that jumps where a call has answered: the arguments are as they were, and so is the stack.
macro_rules! jump_on {
    () => {
        concat!(
            "mov r11, rax\n",
            $crate::preload::stub::restore_arguments!(),
            "\n",
            $crate::preload::stub::drop_frame!(),
            "\njmp r11\n.cfi_endproc"
        )
    };
}

pub(super) use {drop_frame, fast_path, jump_on, restore_arguments, save_arguments};

/// Where to jump for `real`: the function, or one that answers "not implemented" as an old C
/// library would, had it been asked.
pub(super) fn target(real: &Real) -> *mut c_void {
    let address = real.address();
    if address.is_null() { not_implemented as *mut c_void } else { address }
}

extern "C" fn not_implemented() -> isize {
    real::set_errno(libc::ENOSYS);
    -1
}
