//! A system call that a sample interrupts at the moment when a signal of the program's arrives.
//!
//! The kernel decides once whether an interrupted call fails with EINTR or is made again: for the handler that it
//! calls first (signal(7), SA_RESTART). That is the collector's where SIGTRAP, which comes before all other
//! signals (kernel/signal.c, `dequeue_synchronous_signal`), meets a signal of the program's that has ended the
//! wait; and where that signal arrives while the handler of a sample by elapsed time runs. It must be
//! decided as for the program's, which would have found the thread in the call. A signal that arrives after
//! [`decide_for_next_signal`] and before the call is made again, a few hundred nanoseconds later, finds it
//! about to begin.

#![expect(unsafe_code, reason = "reads the instruction that comes next")]

use crate::sources::loan::{TRAP, bit};
use crate::sys;

/// The calls that a handler without SA_RESTART ends and one with it does not. Those that no
/// handler ends, or every one, the kernel has treated rightly already.
const CALLS: [i64; 27] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_ioctl,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_futex,
    libc::SYS_getrandom,
];

/// The instruction `syscall`.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// Lets the call fail that the thread is about to make again, if the signal that comes next would
/// have let it fail. To be called last of all.
pub(super) fn decide_for_next_signal(context: &mut libc::ucontext_t) {
    if !is_to_be_made_again(&context.uc_mcontext.gregs) {
        return;
    }
    // SAFETY: plain data: the mask to return to, of which the kernel has one word.
    let blocked = unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() };
    let coming = sys::pending() & !blocked & !bit(TRAP);
    if coming != 0 && sys::interrupts(coming.trailing_zeros() as i32 + 1) {
        fail(context);
    }
}

/// Lets the call fail that the thread is about to make again, for a handler of the program's that the
/// kernel does not know to be without SA_RESTART.
pub fn fail_interrupted_call(context: &mut libc::ucontext_t) {
    if is_to_be_made_again(&context.uc_mcontext.gregs) {
        fail(context);
    }
}

/// Whether the thread was in one of [`CALLS`] and is about to make it again.
fn is_to_be_made_again(registers: &[libc::greg_t; 23]) -> bool {
    let next = registers[libc::REG_RIP as usize];
    // The instruction has left the address after it in rcx, where the thread was in the call already. The
    // page of vsyscalls, in the upper half, cannot be read.
    next >= 0
        && registers[libc::REG_RCX as usize] == next + SYSCALL.len() as i64
        && CALLS.contains(&registers[libc::REG_RAX as usize])
        && code_at(next.cast_unsigned()).is_some_and(|code| code.starts_with(&SYSCALL))
}

/// Makes the call that is to be made again one that has failed.
fn fail(context: &mut libc::ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RAX as usize] = -i64::from(libc::EINTR);
    registers[libc::REG_RIP as usize] += SYSCALL.len() as i64;
}

/// The instructions at `pc`, if they can be read: the thread may be about to find out that they are not there.
fn code_at(pc: u64) -> Option<[u8; 8]> {
    let word = sys::probe(pc).or_else(|| {
        // A filter of system calls may forbid to look at any.
        let is_forbidden = sys::probe((&raw const SYSCALL_WORD).addr() as u64).is_none();
        // SAFETY: the thread is about to execute what is there. All protection keys are allowed, so on x86-64
        // it can be read.
        is_forbidden.then(|| unsafe {
            core::ptr::with_exposed_provenance::<u64>(pc as usize).read_unaligned()
        })
    })?;
    Some(word.to_le_bytes())
}

/// Memory that can be read.
static SYSCALL_WORD: u64 = 0x050f;
