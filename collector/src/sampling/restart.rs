//! A system call that another signal has interrupted.
//!
//! SIGTRAP comes before all other signals (kernel/signal.c, `dequeue_synchronous_signal`). So where a
//! signal of the program ends a wait and a sample is due at the same moment, it is the collector's
//! handler for which the kernel decides whether the call fails with EINTR or is made again
//! (signal(7), SA_RESTART), and it must be decided as for the program's.

#![expect(unsafe_code, reason = "reads the instruction that comes next")]

use super::trap::{TRAP, bit};
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
/// have let it fail. To be called first of all: what arrives later did not end the wait.
pub(super) fn decide_for_next_signal(context: &mut libc::ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    let next = registers[libc::REG_RIP as usize];
    let number = registers[libc::REG_RAX as usize];
    // The page of vsyscalls, in the upper half, cannot be read.
    if next < 0 || !CALLS.contains(&number) {
        return;
    }
    if code_at(next.cast_unsigned()).is_none_or(|code| !code.starts_with(&SYSCALL)) {
        return;
    }
    // SAFETY: plain data: the mask to return to, of which the kernel has one word.
    let blocked = unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() };
    let coming = sys::pending() & !blocked & !bit(TRAP);
    if coming != 0 && sys::interrupts(coming.trailing_zeros() as i32 + 1) {
        let registers = &mut context.uc_mcontext.gregs;
        registers[libc::REG_RAX as usize] = -i64::from(libc::EINTR);
        registers[libc::REG_RIP as usize] = next + SYSCALL.len() as i64;
    }
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
