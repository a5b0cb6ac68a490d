//! The way back from a handler.

use core::arch::global_asm;

/// The flag of rt_sigaction(2) that says that a way back is given
/// (arch/x86/include/uapi/asm/signal.h).
pub(crate) const SA_RESTORER: u64 = 0x0400_0000;

// The kernel requires the way back from a handler (rt_sigreturn) to be given. These are the bytes
// by which debuggers recognize it, gdb's amd64_linux_sigtramp_code, and the name that gdb asks for.
//
// A handler of the program may be what returns here, so the call frame information says where the
// kernel has saved the registers: DW_CFA_expression (0x10) with DW_OP_breg7 (0x77, rsp) and the
// offset in `ucontext_t` as two bytes of SLEB128; DWARF's numbers of registers (psABI, figure
// 3.36). It begins a byte early, for unwinders that look a return address up in the instruction
// before it.
global_asm!(
    ".macro csprof_saved register, at",
    ".cfi_escape 0x10, \\register, 3, 0x77, (\\at & 0x7f) | 0x80, \\at >> 7",
    ".endm",
    ".pushsection .text.csprof_restorer,\"ax\",@progbits",
    ".balign 16",
    ".cfi_startproc",
    ".cfi_signal_frame",
    // The CFA is the saved rsp: DW_CFA_def_cfa_expression (0x0f), and DW_OP_deref (0x06).
    ".cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06",
    "csprof_saved 8, 40",
    "csprof_saved 9, 48",
    "csprof_saved 10, 56",
    "csprof_saved 11, 64",
    "csprof_saved 12, 72",
    "csprof_saved 13, 80",
    "csprof_saved 14, 88",
    "csprof_saved 15, 96",
    "csprof_saved 5, 104",
    "csprof_saved 4, 112",
    "csprof_saved 6, 120",
    "csprof_saved 3, 128",
    "csprof_saved 1, 136",
    "csprof_saved 0, 144",
    "csprof_saved 2, 152",
    "csprof_saved 7, 160",
    "csprof_saved 16, 168",
    "nop",
    // Hidden, not local: the assembly and its caller may lie in different object files.
    ".globl __restore_rt",
    ".hidden __restore_rt",
    ".type __restore_rt, @function",
    "__restore_rt:",
    "mov rax, {number}",
    "syscall",
    "ud2",
    ".size __restore_rt, . - __restore_rt",
    ".cfi_endproc",
    ".popsection",
    ".purgem csprof_saved",
    number = const libc::SYS_rt_sigreturn,
);

unsafe extern "C" {
    #[link_name = "__restore_rt"]
    fn csprof_restorer();
}

/// The address of what a handler of the collector's returns to. It makes the system call
/// rt_sigreturn(2).
pub(crate) fn signal_return() -> usize {
    (csprof_restorer as *const ()).expose_provenance()
}
