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

/// Whether the thread was interrupted behind a system call that has failed with `error`.
pub(crate) fn has_failed(context: &ucontext_t, error: i32) -> bool {
    let registers = &context.uc_mcontext.gregs;
    // As above.
    registers[libc::REG_RCX as usize] == registers[libc::REG_RIP as usize]
        && registers[libc::REG_RAX as usize] == -i64::from(error)
}

/// Makes the [`repeated_call`] one that has failed with `error`.
pub(crate) fn fail_repeated_call(context: &mut ucontext_t, error: i32) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RAX as usize] = -i64::from(error);
    registers[libc::REG_RIP as usize] += SYSTEM_CALL.len() as i64;
}

/// No system call has this number.
pub(crate) const NO_CALL: u32 = u32::MAX;

/// Whether the last thing that the thread did was a system call: its instruction has left the
/// address after it in rcx.
pub(crate) fn has_returned(context: &ucontext_t) -> bool {
    let registers = &context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] == registers[libc::REG_RCX as usize]
}

/// Whether the last thing that the thread did was to send itself `signal`: by tgkill(2) or
/// rt_tgsigqueueinfo(2), which take process, thread and signal, or by tkill(2), which takes thread
/// and signal.
pub(crate) fn has_sent(context: &ucontext_t, process: u32, thread: u32, signal: i32) -> bool {
    let registers = &context.uc_mcontext.gregs;
    let word = |register: i32| registers[register as usize] as u32;
    let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX].map(word);
    let signal = signal.cast_unsigned();
    has_returned(context)
        && registers[libc::REG_RAX as usize] == 0
        && (arguments == [process, thread, signal] || arguments[..2] == [thread, signal])
}

/// Whether the call that has returned has failed with `EINTR`.
pub(crate) fn was_broken_off(context: &ucontext_t) -> bool {
    context.uc_mcontext.gregs[libc::REG_RAX as usize] == -i64::from(libc::EINTR)
}

/// The system call in which a wrapper of shape `hold` has waited, that has just let samples
/// through. The thread was interrupted in one.
pub(crate) fn held_wait(context: &ucontext_t) -> Option<u32> {
    let number = context.uc_mcontext.gregs[libc::REG_R8 as usize] as u32;
    (has_returned(context) && number != NO_CALL).then_some(number)
}

/// How far before the end of [`SYSTEM_CALL`] its number is looked for.
const NUMBERED_CALL: usize = 24;

/// The number of the system call from which the thread has just returned, if an instruction shortly
/// before has loaded it. `code` reads the bytes before the interrupted address.
pub(crate) fn returned_call(
    context: &ucontext_t,
    code: impl FnOnce(u64) -> Option<[u8; NUMBERED_CALL]>,
) -> Option<u32> {
    if !has_returned(context) {
        return None;
    }
    let end = context.uc_mcontext.gregs[libc::REG_RIP as usize].cast_unsigned();
    number_before(&code(end.checked_sub(NUMBERED_CALL as u64)?)?)
}

/// The number that the last `mov eax, imm32` loads in code that ends with [`SYSTEM_CALL`].
fn number_before(code: &[u8]) -> Option<u32> {
    /// `mov eax, imm32`.
    const MOVE: u8 = 0xb8;
    /// No call has so great a number, so what looks like the instruction is not one.
    const MOST: u32 = 1024;
    let before = code.strip_suffix(&SYSTEM_CALL)?;
    let number = |bytes: &[u8]| match *bytes {
        [MOVE, a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d])).filter(|&found| found < MOST),
        _ => None,
    };
    before.windows(5).rev().find_map(number)
}

/// EFLAGS.RF.
const RESUME: i64 = 1 << 16;

/// Most bytes of an instruction that repeats, from its first prefix to its operation: one of each
/// group of prefixes, REX, and the operation.
const REPEATED: usize = 6;

/// Whether an instruction of the thread has faulted, of which it is on its way back, or has been
/// called to the handler while it waited for what it needs. `code` reads the bytes at the
/// interrupted address.
///
/// The processor sets the resume flag in what it saves for a fault, and clears it after each
/// instruction. It also sets it where it is interrupted between two rounds of a string instruction
/// that repeats (Intel SDM, volume 3, 19.3.1.1 "Instruction-Breakpoint Exception Condition"), so
/// of these it is not known. Nor is it of those that lock the bus: where they may not, as across
/// two cache lines, the kernel makes the thread sleep in that fault, for no page.
pub(crate) fn has_faulted(
    context: &ucontext_t,
    code: impl FnOnce(u64) -> Option<[u8; REPEATED]>,
) -> bool {
    let registers = &context.uc_mcontext.gregs;
    registers[libc::REG_EFL as usize] & RESUME != 0
        && code(registers[libc::REG_RIP as usize].cast_unsigned())
            .is_some_and(|code| !may_repeat_or_lock(&code))
}

/// Whether code begins with an instruction for strings, one that may lock the bus, or more prefixes
/// than are looked at.
fn may_repeat_or_lock(code: &[u8]) -> bool {
    /// `lock`.
    const LOCK: u8 = 0xf0;
    let is_prefix = |byte: u8| {
        let is_of_segment = matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65);
        let is_rex = byte & 0xf0 == 0x40;
        is_of_segment || is_rex || matches!(byte, 0x66 | 0x67 | LOCK | 0xf2 | 0xf3)
    };
    let prefixes = code.iter().take_while(|&&byte| is_prefix(byte));
    let locks = prefixes.clone().any(|&byte| byte == LOCK);
    let operation = code.get(prefixes.count());
    // `xchg` locks without the prefix.
    locks
        || operation
            .is_none_or(|byte| matches!(byte, 0x6c..0x70 | 0x86 | 0x87 | 0xa4..0xa8 | 0xaa..0xb0))
}

/// Calls of the kernel that new architectures do not have, whose C library makes others in their
/// place: that of poll(2).
pub(crate) const POLL: i64 = libc::SYS_poll;
/// That of select(2).
pub(crate) const SELECT: i64 = libc::SYS_select;
/// That of epoll_wait(2).
pub(crate) const EPOLL_WAIT: i64 = libc::SYS_epoll_wait;

/// The same: those that a handler ends unless it was set with SA_RESTART.
pub(crate) const RESTARTED_CALLS: [i64; 1] = [libc::SYS_open];

/// The same: those that every handler ends.
pub(crate) const ENDED_CALLS: [i64; 4] = [POLL, SELECT, EPOLL_WAIT, libc::SYS_pause];

/// The same: those that make a process.
pub(crate) const FORK_CALLS: [i64; 1] = [libc::SYS_fork];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sending_a_signal_is_known_by_its_registers() {
        let sent = |values: [i64; 6]| {
            // SAFETY: plain data.
            let mut context: ucontext_t = unsafe { core::mem::zeroed() };
            let names = [
                libc::REG_RIP,
                libc::REG_RCX,
                libc::REG_RAX,
                libc::REG_RDI,
                libc::REG_RSI,
                libc::REG_RDX,
            ];
            for (name, value) in names.into_iter().zip(values) {
                context.uc_mcontext.gregs[name as usize] = value;
            }
            has_sent(&context, 41, 42, libc::SIGPROF)
        };
        let signal = i64::from(libc::SIGPROF);
        assert!(sent([7, 7, 0, 41, 42, signal]));
        assert!(sent([7, 7, 0, 42, signal, 0]), "by tkill");
        assert!(!sent([7, 5, 0, 41, 42, signal]), "not made yet");
        assert!(!sent([7, 7, -1, 41, 42, signal]), "refused");
        assert!(!sent([7, 7, 0, 41, 43, signal]), "another thread");
        assert!(!sent([7, 7, 0, 41, 42, 5]), "another signal");
    }

    #[test]
    fn the_number_of_a_call_is_the_one_that_was_loaded_last() {
        // As in glibc 2.36: ppoll, and epoll_pwait of a program with threads.
        let direct = [0xb8, 0x0e, 1, 0, 0, 0xb8, 0x0f, 1, 0, 0, 0x0f, 0x05];
        assert_eq!(number_before(&direct), Some(271));
        let apart = [0xb8, 0x19, 1, 0, 0, 0x8b, 0x7c, 0x24, 4, 0x0f, 0x05];
        assert_eq!(number_before(&apart), Some(281));
        assert_eq!(number_before(&[0xb8, 0x0f, 1, 0, 9, 0x0f, 0x05]), None);
        assert_eq!(number_before(&direct[..10]), None);
    }

    #[test]
    fn only_the_resume_flag_says_that_an_instruction_has_faulted() {
        // SAFETY: plain data.
        let mut context: ucontext_t = unsafe { core::mem::zeroed() };
        // `mov eax, [rdi]`; `movdqu xmm0, [rdi]`, which has the prefix of those that repeat.
        let load = [0x8b, 0x07, 0xc3, 0, 0, 0];
        let moves = [0xf3, 0x0f, 0x6f, 0x07, 0xc3, 0];
        assert!(!has_faulted(&context, |_| Some(load)));
        context.uc_mcontext.gregs[libc::REG_EFL as usize] = RESUME | 0x246;
        assert!(has_faulted(&context, |_| Some(load)));
        assert!(has_faulted(&context, |_| Some(moves)));
        assert!(!has_faulted(&context, |_| None));
        // `rep movsb`, `rep stosq`, `rep movsb es:[edi], fs:[esi]` with an operand size.
        for code in [[0xf3, 0xa4, 0, 0, 0, 0], [0xf3, 0x48, 0xab, 0, 0, 0]] {
            assert!(!has_faulted(&context, |_| Some(code)), "{code:x?}");
        }
        assert!(!has_faulted(&context, |_| Some([0x66, 0x64, 0x67, 0xf3, 0x48, 0xa4])));
        // `lock add [rdi], eax`, the same of fs, `xchg [rdi], rax`.
        for code in [
            [0xf0, 0x01, 0x07, 0, 0, 0],
            [0x64, 0xf0, 0x01, 0x07, 0, 0],
            [0x48, 0x87, 0x07, 0, 0, 0],
        ] {
            assert!(!has_faulted(&context, |_| Some(code)), "{code:x?}");
        }
    }
}
