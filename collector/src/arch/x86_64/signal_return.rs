//! The way back from a handler.

use core::arch::global_asm;
use core::mem::offset_of;

use libc::{stack_t, ucontext_t};

/// The flag of rt_sigaction(2) that says that a way back is given
/// (arch/x86/include/uapi/asm/signal.h).
pub(crate) const SA_RESTORER: u64 = 0x0400_0000;

/// The flags of an alternate stack of csprof's own, for the kernel, which takes them for 0, keeps
/// them in frames, and does not tell them (`do_sigaltstack`, kernel/signal.c). With one of
/// [`STACK_SIZES`] a frame has them of no other stack.
pub(crate) const STACK_FLAGS: i32 = libc::SS_ONSTACK;

/// The sizes that such stacks have for the kernel: 16 bytes apart, the last one included.
pub(crate) const STACK_SIZES: (usize, usize) = ((52 << 10) - 63 * 16, 52 << 10);

// A handler of the program may have switched contexts, and return in another thread than it was
// called in. Its frame has the alternate stack of that one, which is csprof's and no other thread
// may have: two would handle signals in one place. The kernel leaves a thread's setting alone where
// the frame has flags that are none (`restore_altstack`), as it does where the thread had never had
// an alternate stack.
//
// The kernel requires the way back from a handler (rt_sigreturn) to be given. Debuggers and
// unwinders know it by its call frame information, which says that this is a signal's frame, and
// gdb by the name, too. It does not begin with the bytes that they look for where there is neither.
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
    "cmp dword ptr [rsp + {flags}], {own_flags}",
    "jne 2f",
    "mov rcx, [rsp + {size}]",
    "mov rdx, rcx",
    "sub rdx, {smallest}",
    "cmp rdx, {largest} - {smallest}",
    "ja 2f",
    "add rcx, [rsp + {start}]",
    "mov rax, qword ptr [rip + csprof_handler_stack@GOTTPOFF]",
    "cmp rcx, fs:[rax]",
    "je 2f",
    "mov dword ptr [rsp + {flags}], {no_flags}",
    "2:",
    "mov rax, {number}",
    "syscall",
    "ud2",
    ".size __restore_rt, . - __restore_rt",
    ".cfi_endproc",
    ".popsection",
    ".purgem csprof_saved",
    number = const libc::SYS_rt_sigreturn,
    start = const STACK + offset_of!(stack_t, ss_sp),
    flags = const STACK + offset_of!(stack_t, ss_flags),
    size = const STACK + offset_of!(stack_t, ss_size),
    own_flags = const STACK_FLAGS,
    no_flags = const libc::SS_ONSTACK | libc::SS_DISABLE,
    smallest = const STACK_SIZES.0,
    largest = const STACK_SIZES.1,
);

/// Where the alternate stack is in a frame behind its return address, which the handler has taken.
const STACK: usize = offset_of!(ucontext_t, uc_stack);

unsafe extern "C" {
    #[link_name = "__restore_rt"]
    fn csprof_restorer();
}

/// The address of what a handler of the collector's returns to. It makes the system call
/// rt_sigreturn(2).
pub(crate) fn signal_return() -> usize {
    (csprof_restorer as *const ()).expose_provenance()
}
