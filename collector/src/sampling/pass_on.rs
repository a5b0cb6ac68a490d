//! The profiling signal that is no sample: from the program's own timers, from raise or kill. It goes on
//! to the program's handler, on the stack that the handler of samples had and with the mask that the
//! program asked for, as if the kernel had called it.

#![expect(unsafe_code, reason = "a handler in assembly, and who is called by it")]

use core::arch::naked_asm;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::on_signal;

/// Says which handler of the program's is to be called for a signal that is no sample, if any, and
/// sets the mask for it.
pub type Chooser = extern "C" fn(&libc::siginfo_t, &mut libc::ucontext_t) -> *mut c_void;

/// The [`Chooser`]; null before the collector has started.
static CHOOSER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Sets who chooses.
pub fn set_chooser(chooser: Chooser) {
    // Relaxed: set before the handler is.
    CHOOSER.store(chooser as *mut c_void, Ordering::Relaxed);
}

/// The handler of [`SIGNAL`](super::SIGNAL): takes what is a sample, and jumps on with the rest.
///
/// # Safety
/// To be called by the kernel only, with its three arguments.
#[unsafe(naked)]
pub unsafe extern "C" fn on_profile(
    _: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "call {on_signal}",
        "test al, al",
        "jnz 2f",
        "mov r11, qword ptr [rip + {chooser}]",
        "test r11, r11",
        "jz 2f",
        "mov rdi, [rsp + 8]",
        "mov rsi, [rsp]",
        "call r11",
        "test rax, rax",
        "jz 2f",
        "mov r11, rax",
        ".cfi_remember_state",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp r11",
        ".cfi_restore_state",
        "2:",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        on_signal = sym on_signal,
        chooser = sym CHOOSER,
    )
}
