//! A system call that a sample interrupts at the moment when a signal of the program's arrives.
//!
//! The kernel decides once whether an interrupted call fails with EINTR or is made again: for the
//! handler that it calls first (signal(7), SA_RESTART). That is the collector's where SIGTRAP,
//! which comes before all other signals (kernel/signal.c, `dequeue_synchronous_signal`), meets a
//! signal of the program's that has ended the wait; and where that signal arrives while the handler
//! of a sample by elapsed time runs. It must be decided as for the program's, which would have
//! found the thread in the call. A signal that arrives after [`decide_for_next_signal`] and before
//! the call is made again, a few hundred nanoseconds later, finds it about to begin.

#![expect(unsafe_code, reason = "reads the mask of the signal frame, and code")]

use crate::arch::{RESTARTED_CALLS, SYSTEM_CALL, fail_repeated_call, repeated_call};
use crate::modules::rules;
use crate::sources::loan::{TRAP, bit};
use crate::sys;

/// The calls that a handler without SA_RESTART ends and one with it does not. Those that no
/// handler ends, or every one, the kernel has treated rightly already.
const CALLS: [i64; 35] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_ioctl,
    libc::SYS_openat,
    libc::SYS_openat2,
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
    libc::SYS_sendmmsg,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_getrandom,
];

/// Lets the call fail that the thread is about to make again, if the signal that comes next would
/// have let it fail. To be called last of all.
// Not inlined: samples, which come before, would have room for it above them.
#[inline(never)]
pub(super) fn decide_for_next_signal(context: &mut libc::ucontext_t) {
    if call_to_be_made_again(context).is_none() {
        return;
    }
    // SAFETY: plain data: the mask to return to, of which the kernel has one word.
    let blocked = unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() };
    let coming = sys::pending() & !blocked & !bit(TRAP);
    if coming != 0 && sys::interrupts(coming.trailing_zeros() as i32 + 1) {
        fail_repeated_call(context, libc::EINTR);
    }
}

/// Lets the call fail that the thread is about to make again, for a handler of the program's that
/// the kernel does not know to be without SA_RESTART.
pub fn fail_interrupted_call(context: &mut libc::ucontext_t) {
    if call_to_be_made_again(context).is_some() {
        fail_repeated_call(context, libc::EINTR);
    }
}

/// The number of the system call in which the thread waited, if it was one of [`CALLS`] or
/// [`RESTARTED_CALLS`] and the thread is about to make it again: the kernel breaks these off for a
/// signal where they wait, and nowhere else.
pub(super) fn call_to_be_made_again(context: &libc::ucontext_t) -> Option<i64> {
    let (number, pc) = repeated_call(context)?;
    let is_one = CALLS.contains(&number) || RESTARTED_CALLS.contains(&number);
    // SAFETY: the thread goes on there, with a system call's instruction if it was in a call.
    let is_repeated = || unsafe { rules::code_at(pc) } == Some(SYSTEM_CALL);
    (is_one && is_repeated()).then_some(number)
}
