//! The `syscall` instruction, and a call of the kernel that a signal has interrupted.

use core::arch::asm;

use libc::ucontext_t;

/// Calls the kernel with six arguments; unused ones are 0. Returns its answer: an error number is
/// negative, from −4095 on (psABI, A.2.1).
///
/// # Safety
/// The arguments must be valid for call `number`, as its manual page says: pointers to live
/// memory of the right size, and no effect that breaks what Rust relies on.
#[inline]
pub(crate) unsafe fn system_call(number: i64, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 only and writes no memory but what the arguments
    // point to, for which the caller vouches.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0],
            in("rsi") a[1],
            in("rdx") a[2],
            in("r10") a[3],
            in("r8") a[4],
            in("r9") a[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// The instruction `syscall`.
pub(crate) const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];

/// The call of the kernel that the interrupted thread makes next, if registers say that it was in
/// it already and is to make it again: number, and address of the instruction. That [`SYSTEM_CALL`]
/// is there is still to be seen.
pub(crate) fn repeated_call(context: &ucontext_t) -> Option<(i64, u64)> {
    let registers = &context.uc_mcontext.gregs;
    let next = registers[libc::REG_RIP as usize];
    // The instruction has left the address after it in rcx. The page of vsyscalls, in the upper
    // half, cannot be read.
    let was_in_it =
        next >= 0 && registers[libc::REG_RCX as usize] == next + SYSTEM_CALL.len() as i64;
    was_in_it.then(|| (registers[libc::REG_RAX as usize], next.cast_unsigned()))
}

/// Makes the [`repeated_call`] one that has failed with `error`.
pub(crate) fn fail_repeated_call(context: &mut ucontext_t, error: i32) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RAX as usize] = -i64::from(error);
    registers[libc::REG_RIP as usize] += SYSTEM_CALL.len() as i64;
}

/// Calls of the kernel that new architectures do not have, whose C library makes others in their
/// place: those that a handler ends unless it was set with SA_RESTART.
pub(crate) const RESTARTED_CALLS: [i64; 1] = [libc::SYS_open];

/// The same: those that every handler ends.
pub(crate) const ENDED_CALLS: [i64; 3] = [libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait];

/// The same: those that make a process.
pub(crate) const FORK_CALLS: [i64; 1] = [libc::SYS_fork];
