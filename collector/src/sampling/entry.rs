//! Where the kernel enters: stubs that make the processor's state what Rust code may rely on, change
//! to the thread's [handler stack](crate::thread::handler_stack), and ask a function what the signal is.
//! It is a sample, and they return; or it is the program's, and they go on with its handler as if
//! the kernel had called that one ([`pass_on`](super::pass_on)).
//!
//! State. The kernel clears DF, TF and RF and gives a handler the initial state of x87, MXCSR and vectors
//! (`handle_signal` and `fpu__clear_user_states`, arch/x86/kernel); rt_sigreturn(2) puts back what the
//! interrupted code had. Two things are left to do:
//!
//! - EFLAGS.AC stays set, and Rust code makes unaligned accesses. It is cleared.
//! - PKRU denies all protection keys but 0. The handler reads code and stacks that may have others (V8's
//!   code has one), and on processors with protection keys memory that may only be executed has one
//!   (pkeys(7)). All keys are allowed until the handler returns.
//!
//! A handler of the program gets both as the kernel had set them.
//!
//! Stack. On the stack that the kernel chose, a stub writes nothing where the thread has a handler stack and
//! stands elsewhere: the kernel's own frame is all that the program's stack must hold. The registers belong to
//! the stubs, for rt_sigreturn restores them all.

#![expect(unsafe_code, reason = "assembly")]

use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, Ordering};

use super::pass_on::{Onward, on_handled_signal, on_profiling_signal, on_trap_signal};
use crate::sys;
use crate::thread::handler_stack;

/// Whether PKRU is there.
static HAS_KEYS: AtomicBool = AtomicBool::new(false);

/// To be called before the first handler is set.
pub fn prepare() {
    // Relaxed: read by this process's handlers, which are set afterwards.
    HAS_KEYS.store(sys::has_protection_keys(), Ordering::Relaxed);
}

/// Defines a handler that asks `answer`: a function with the three arguments of the kernel, the address
/// of the kernel's frame, and room to say where to go on. It returns whether to. The literal is the instruction
/// that changes to the handler stack, or none.
macro_rules! entries {
    ($($(#[$doc:meta])* $name:ident = $answer:path, $change:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// To be called by the kernel only, with its three arguments.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(
            _: i32,
            info: *mut libc::siginfo_t,
            context: *mut libc::ucontext_t,
        ) {
            naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "mov ebp, edi",
                "mov r14, rsi",
                "mov r15, rdx",
                // No memory is touched before the keys are allowed: the stack may have one.
                "cmp byte ptr [rip + {has_keys}], 0",
                "je 2f",
                "xor ecx, ecx",
                "rdpkru",
                "mov r13d, eax",
                "xor eax, eax",
                "wrpkru",
                "2:",
                "mov rbx, rsp",
                ".cfi_def_cfa_register rbx",
                // Above the top, or further below it than the stack is large: on another stack.
                "mov rax, qword ptr [rip + csprof_handler_stack@GOTTPOFF]",
                "mov rax, fs:[rax]",
                "test rax, rax",
                "jz 3f",
                "mov rcx, rax",
                "sub rcx, rsp",
                "cmp rcx, {size}",
                $change,
                "3:",
                "and rsp, -16",
                "sub rsp, {room}",
                "pushfq",
                "mov r12, [rsp]",
                "and dword ptr [rsp], {aligned}",
                "popfq",
                "mov rdx, r15",
                "mov rcx, rbx",
                "mov r8, rsp",
                "call {answer}",
                "test al, al",
                "jnz 4f",
                "mov rsp, rbx",
                "ret",

                // On with the program's handler, from another place on the stack if need be. All that stands on
                // the handler stack is read before the stack is left: from there on another signal may be
                // handled in the same place. But for the mask: where it is set, no signal comes before.
                "4:",
                "mov rbx, rsp",
                "mov r14, [rbx + {info}]",
                "mov r15, [rbx + {context}]",
                "mov r9, [rbx + {handler}]",
                "mov rdx, [rbx + {sets_mask}]",
                "mov rsi, [rbx + {sets_stack}]",
                "mov rax, [rbx + {setting}]",
                "mov rcx, [rbx + {setting} + 8]",
                "mov rdi, [rbx + {setting} + 16]",
                "mov rsp, [rbx + {frame}]",
                ".cfi_def_cfa rsp, 8",
                "test rsi, rsi",
                "jz 5f",
                "push rdi",
                "push rcx",
                "push rax",
                ".cfi_adjust_cfa_offset 24",
                "mov rdi, rsp",
                "xor esi, esi",
                "mov eax, {sigaltstack}",
                "syscall",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "5:",
                "test rdx, rdx",
                "jz 6f",
                "mov edi, {set_mask}",
                "lea rsi, [rbx + {mask}]",
                "xor edx, edx",
                "mov r10d, 8",
                "mov eax, {sigprocmask}",
                "syscall",
                "6:",
                "cmp byte ptr [rip + {has_keys}], 0",
                "je 7f",
                "mov eax, r13d",
                "xor ecx, ecx",
                "xor edx, edx",
                "wrpkru",
                "7:",
                "test r12d, {alignment}",
                "jz 8f",
                "pushfq",
                "or dword ptr [rsp], {alignment}",
                "popfq",
                "8:",
                "mov edi, ebp",
                "mov rsi, r14",
                "mov rdx, r15",
                "xor eax, eax",
                "jmp r9",
                ".cfi_endproc",
                has_keys = sym HAS_KEYS,
                size = const handler_stack::SIZE,
                room = const size_of::<Onward>(),
                alignment = const ALIGNMENT_CHECK,
                aligned = const !ALIGNMENT_CHECK,
                answer = sym $answer,
                frame = const offset_of!(Onward, frame),
                sets_stack = const offset_of!(Onward, sets_stack),
                setting = const offset_of!(Onward, setting),
                info = const offset_of!(Onward, info),
                context = const offset_of!(Onward, context),
                handler = const offset_of!(Onward, handler),
                sets_mask = const offset_of!(Onward, sets_mask),
                mask = const offset_of!(Onward, mask),
                sigaltstack = const libc::SYS_sigaltstack,
                sigprocmask = const libc::SYS_rt_sigprocmask,
                set_mask = const libc::SIG_SETMASK,
            )
        }
    )*};
}

/// EFLAGS.AC.
const ALIGNMENT_CHECK: i32 = 1 << 18;

// The stack pointer is a multiple of 16 at the call.
const _: () = assert!(size_of::<Onward>().is_multiple_of(16));

entries! {
    /// The handler of the profiling signal.
    on_profile = on_profiling_signal, "cmova rsp, rax";
    /// The handler of [`TRAP`](crate::sources::loan::TRAP), from the first loan on.
    on_trap = on_trap_signal, "cmova rsp, rax";
    /// What the kernel calls for a handler of the program that asks for the alternate stack. No signal is blocked
    /// for it, so it stays on the stack that the kernel knows: on one that others use, too (threads by clone(2)
    /// with their creator's thread-local storage), or that the kernel does not know (where the program has set
    /// an alternate stack by a system call of its own), the next signal's frame would overwrite this one's.
    on_handled = on_handled_signal, "";
}
