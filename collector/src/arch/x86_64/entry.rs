//! The instructions by which handlers begin.
//!
//! The kernel clears DF, TF and RF and gives a handler the initial state of x87, MXCSR and vectors
//! (`handle_signal` and `fpu__clear_user_states`, arch/x86/kernel); rt_sigreturn(2) puts back what
//! the interrupted code had. Two things are left to do:
//!
//! - EFLAGS.AC stays set, and Rust code makes unaligned accesses. It is cleared.
//! - PKRU denies all protection keys but 0. The handler reads code and stacks that may have others
//!   (V8's code has one), and on processors with protection keys memory that may only be executed
//!   has one (pkeys(7)). All keys are allowed until the handler returns.
//!
//! A handler of the program gets both as the kernel had set them.
//!
//! The registers belong to a handler's first instructions, for rt_sigreturn restores them all.

use core::sync::atomic::{AtomicBool, Ordering};

use super::processor::has_protection_keys;

/// Whether PKRU is there.
pub(crate) static HAS_KEYS: AtomicBool = AtomicBool::new(false);

/// To be called before the first handler is set.
pub(crate) fn prepare_handlers() {
    // Relaxed: read by this process's handlers, which are set afterwards.
    HAS_KEYS.store(has_protection_keys(), Ordering::Relaxed);
}

/// Calls `work` as handlers are called: without EFLAGS.AC, and with all protection keys allowed.
pub(crate) fn as_in_handler(work: impl FnOnce()) {
    let flags: u64;
    // SAFETY: reads them.
    unsafe { core::arch::asm!("pushfq", "pop {flags}", flags = out(reg) flags) };
    if flags & ALIGNMENT_CHECK as u64 == 0 {
        return with_all_keys(work);
    }
    // SAFETY: AC alone is changed, which is put back below.
    unsafe {
        core::arch::asm!("pushfq", "and dword ptr [rsp], {aligned}", "popfq",
            aligned = const !ALIGNMENT_CHECK);
    }
    with_all_keys(work);
    // SAFETY: as it was.
    unsafe { core::arch::asm!("push {flags}", "popfq", flags = in(reg) flags) }
}

fn with_all_keys(work: impl FnOnce()) {
    if !HAS_KEYS.load(Ordering::Relaxed) {
        return work();
    }
    let allowed: u32;
    // SAFETY: the processor has keys. What may not be reached now is put back below; memory that
    // may be reached meanwhile is what `work` could reach in a handler.
    unsafe {
        core::arch::asm!("rdpkru", in("ecx") 0, out("eax") allowed, out("edx") _, options(nostack));
        core::arch::asm!("wrpkru", in("eax") 0, in("ecx") 0, in("edx") 0, options(nostack));
    }
    work();
    // SAFETY: as it was.
    unsafe {
        core::arch::asm!("wrpkru", in("eax") allowed, in("ecx") 0, in("edx") 0, options(nostack));
    }
}

/// Defines handlers. Each asks a function with the three arguments of the kernel, the address of
/// the kernel's frame, and room for an `$onward` to say where to go on; it returns whether to. The
/// first ones change to the thread's handler stack before, of `$size` bytes, whose top is the
/// [`thread_word`](super::thread_local::thread_word) `csprof_handler_stack`, where that is not 0;
/// the others stay where the kernel has called them.
macro_rules! handlers {
    (@ $onward:ty, $size:expr, $change:literal, $($(#[$doc:meta])* $name:ident = $answer:path;)*) => {$(
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
            core::arch::naked_asm!(
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
                // Written where AC is set only: under a debugger that steps, the kernel takes
                // the trap flag for the program's own from a popf on, and leaves it when that
                // has gone (arch/x86/kernel/step.c).
                "pushfq",
                "pop r12",
                "test r12d, {alignment}",
                "jz 9f",
                "push r12",
                "and dword ptr [rsp], {aligned}",
                "popfq",
                "9:",
                "mov rdx, r15",
                "mov rcx, rbx",
                "mov r8, rsp",
                "call {answer}",
                "test al, al",
                "jnz 4f",
                "mov rsp, rbx",
                "ret",

                // On with the program's handler, from another place on the stack if need be. All
                // that stands on the handler stack is read before the stack is left: from there on
                // another signal may be handled in the same place. But for the mask: where it is
                // set, no signal comes before.
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
                has_keys = sym $crate::arch::x86_64::entry::HAS_KEYS,
                size = const $size,
                room = const size_of::<$onward>(),
                alignment = const $crate::arch::x86_64::entry::ALIGNMENT_CHECK,
                aligned = const !$crate::arch::x86_64::entry::ALIGNMENT_CHECK,
                answer = sym $answer,
                frame = const core::mem::offset_of!($onward, frame),
                sets_stack = const core::mem::offset_of!($onward, sets_stack),
                setting = const core::mem::offset_of!($onward, setting),
                info = const core::mem::offset_of!($onward, info),
                context = const core::mem::offset_of!($onward, context),
                handler = const core::mem::offset_of!($onward, handler),
                sets_mask = const core::mem::offset_of!($onward, sets_mask),
                mask = const core::mem::offset_of!($onward, mask),
                sigaltstack = const libc::SYS_sigaltstack,
                sigprocmask = const libc::SYS_rt_sigprocmask,
                set_mask = const libc::SIG_SETMASK,
            )
        }
    )*};
    (
        $onward:ty, $size:expr;
        change { $($first:tt)* }
        stay { $($other:tt)* }
    ) => {
        $crate::arch::handlers!(@ $onward, $size, "cmova rsp, rax", $($first)*);
        $crate::arch::handlers!(@ $onward, $size, "", $($other)*);
        // The stack pointer is a multiple of 16 at the call.
        const _: () = assert!(size_of::<$onward>().is_multiple_of(16));
    };
}

/// EFLAGS.AC.
pub(crate) const ALIGNMENT_CHECK: i32 = 1 << 18;

pub(crate) use handlers;

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> u64 {
        let flags;
        // SAFETY: reads them.
        unsafe { core::arch::asm!("pushfq", "pop {}", out(reg) flags) };
        flags
    }

    #[test]
    fn work_is_done_as_in_a_handler() {
        let check = ALIGNMENT_CHECK as u64;
        let mut inside = 0;
        // SAFETY: nothing unaligned is accessed until it is cleared again.
        unsafe { core::arch::asm!("pushfq", "or qword ptr [rsp], {}", "popfq", in(reg) check) };
        as_in_handler(|| inside = flags());
        let after = flags();
        // SAFETY: as it was.
        unsafe { core::arch::asm!("pushfq", "and qword ptr [rsp], {}", "popfq", in(reg) !check) };
        assert_eq!((inside & check, after & check), (0, check));
    }
}
