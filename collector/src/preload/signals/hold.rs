//! Waiting for time, semaphores, messages, sockets and asynchronous I/O, where samples could end it.
//!
//! After a handler has run, the kernel does not go on with these, whatever the handler's flags (signal(7)):
//! a sample would end the wait with `EINTR`, and sleep(3) of a second would take one sampling period.
//! They have no relatives that wait with a mask, as [`poll`](super::poll) has. So the profiling signal is
//! held back meanwhile, by two system calls. The timer counts on; the sample comes right after the
//! wait, in the function that waited, and stands for all of it.
//!
//! Only where samples [meet waits](super::interruption::samples_meet_waits): those of `cputime` come at the kernel's tick, and those
//! by SIGTRAP when the call is over. Not here are `read` and `write`, which end early only on sockets
//! with a time limit of their own.
//!
//! Waits by syscall(2) are held in [its wrapper](crate::preload::sandbox). libaio and liburing make their
//! system calls by instructions of their own, and are not held: an exported name of theirs would be found by
//! programs that ask whether the library is there, and would come before the library where that is loaded
//! for one other library alone, out of reach from here.

#![expect(unsafe_code, reason = "exported C functions, a system call")]

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_void};

use super::interruption::samples_meet_waits;
use super::{BIT, kept};
use crate::preload::real::{Real, slots};
use crate::preload::stub::{
    self, ENGAGED, drop_frame, fast_path, jump_on, restore_arguments, save_arguments,
};
use crate::preload::view::{Belief, sampled};
use crate::sources::loan;
use crate::sys;

/// What a stub does: the function to call, and whether the signal is to be let through afterwards.
#[repr(C)]
struct Held {
    target: *mut c_void,
    is_held: usize,
}

/// Holds the signal back, if it could end a wait. `inner` is to be called instead of the real
/// function, or null.
extern "C" fn hold(real: &Real, inner: *mut c_void) -> Held {
    let target = if inner.is_null() { stub::target(real) } else { inner };
    let meeting = if samples_meet_waits() { BIT } else { 0 };
    Held { target, is_held: usize::from(block(meeting) != 0) }
}

/// Blocks signals for the time of a wait; returns those that are to be let through afterwards.
fn block(signals: u64) -> u64 {
    if signals == 0 || !sampled() {
        return 0;
    }
    let before = sys::block(sys::Mask(signals));
    // A wait that was left by an exception has not let them through.
    let others = if Belief::Waited.get() { 0 } else { before.0 };
    Belief::Waited.set(true);
    signals & !others
}

/// The signals of samples that would end this call of syscall(2): the profiling signal, where it
/// [meets waits](samples_meet_waits); and of io_uring_enter(2) SIGTRAP, which in that call the
/// kernel has the thread send itself, and ends it (io_run_task_work, io_uring/io_uring.h).
fn ending(number: c_long) -> u64 {
    match number {
        libc::SYS_io_uring_enter if loan::on_loan() => kept(),
        _ if samples_meet_waits() => BIT,
        _ => 0,
    }
}

/// The system calls that a handler ends, but for those whose purpose is to wait with a mask of their own; of
/// futex(2), [`is_wait`] asks further.
pub(in crate::preload) const CALLS: [c_long; 19] = [
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_nanosleep,
    libc::SYS_accept,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_semop,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_futex,
    libc::SYS_io_getevents,
    libc::SYS_semtimedop,
    libc::SYS_clock_nanosleep,
    libc::SYS_epoll_wait,
    libc::SYS_accept4,
    libc::SYS_recvmmsg,
    libc::SYS_io_uring_enter,
];

/// Whether a sample may end this call of syscall(2).
pub(in crate::preload) fn is_met(number: c_long, operation: c_int, limit: *const c_void) -> bool {
    ending(number) != 0 && is_wait(number, operation, limit)
}

/// Whether it is one of [`CALLS`]; and of futex(2) a wait with a time limit, for the kernel goes on with others.
fn is_wait(number: c_long, operation: c_int, limit: *const c_void) -> bool {
    let commands = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
    match number {
        libc::SYS_futex => {
            let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET];
            waits.contains(&(operation & !commands)) && !limit.is_null()
        }
        _ => CALLS.contains(&number),
    }
}

/// Holds back what would end this call of syscall(2). Returns the signals that are to be let through afterwards.
pub(in crate::preload) extern "C" fn hold_syscall(number: c_long) -> u64 {
    block(ending(number))
}

/// The kernel's answer as syscall(2) gives it.
pub(in crate::preload) extern "C" fn answer(result: isize) -> isize {
    if !(-4095..0).contains(&result) {
        return result;
    }
    crate::preload::real::set_errno(-result as c_int);
    -1
}

/// Defines exported functions that call the real one with the signal held back.
macro_rules! waits {
    ($($(#[$doc:meta])* $name:ident $(= $inner:path)?;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "csprof_waits")]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                fast_path!(),
                save_arguments!(),
                "lea rdi, [rip + {real}]",
                waits!(@inner $($inner)?),
                "call {hold}",
                "test rdx, rdx",
                "jz 6f",
                "mov r11, rax",
                restore_arguments!(),
                "call r11",
                "mov [rbp - 8], rax",
                // Another thread may have entered a sandbox meanwhile, where system calls can be deadly.
                "cmp byte ptr [rip + {engaged}], 0",
                "je 5f",
                "mov qword ptr [rsp], {signal}",
                "mov edi, {unblock}",
                "mov rsi, rsp",
                "xor edx, edx",
                "mov r10d, 8",
                "mov eax, {sigprocmask}",
                // The sample comes here.
                "syscall",
                "5:",
                "mov rax, [rbp - 8]",
                ".cfi_remember_state",
                drop_frame!(),
                "ret",
                ".cfi_restore_state",
                "6:",
                jump_on!(),
                real = sym slots::$name,
                engaged = sym ENGAGED,
                hold = sym hold,
                signal = const BIT,
                unblock = const libc::SIG_UNBLOCK,
                sigprocmask = const libc::SYS_rt_sigprocmask,
                $(inner = sym $inner,)?
            )
        }
    )*};
    (@inner) => { "xor esi, esi" };
    (@inner $inner:path) => { "lea rsi, [rip + {inner}]" };
}

waits! {
    /// sleep(3).
    sleep;
    /// usleep(3).
    usleep;
    /// nanosleep(2).
    nanosleep;
    /// nanosleep(2) under the name that old libraries use.
    __nanosleep;
    /// clock_nanosleep(2).
    clock_nanosleep;
    /// thrd_sleep(3).
    thrd_sleep;
    /// sem_timedwait(3).
    sem_timedwait;
    /// sem_clockwait(3).
    sem_clockwait;
    /// semop(2).
    semop;
    /// semtimedop(2).
    semtimedop;
    /// msgsnd(2).
    msgsnd;
    /// msgrcv(2).
    msgrcv;
    /// recv(2), which may have a time limit (SO_RCVTIMEO, socket(7)); and so the next ones.
    recv;
    /// recvfrom(2).
    recvfrom;
    /// recvmsg(2).
    recvmsg;
    /// recvmmsg(2).
    recvmmsg;
    /// recv(2) as programs built with `_FORTIFY_SOURCE` call it.
    __recv_chk;
    /// recvfrom(2) as programs built with `_FORTIFY_SOURCE` call it.
    __recvfrom_chk;
    /// send(2), which may have a time limit (SO_SNDTIMEO, socket(7)); and so the next ones.
    send;
    /// sendto(2).
    sendto;
    /// sendmsg(2).
    sendmsg;
    /// sendmmsg(2).
    sendmmsg;
    /// connect(2).
    connect;
    /// accept(2).
    accept;
    /// accept4(2).
    accept4;
    /// aio_suspend(3).
    aio_suspend;
    /// aio_suspend(3) where files are large.
    aio_suspend64;
    /// lio_listio(3).
    lio_listio;
    /// lio_listio(3) where files are large.
    lio_listio64;
    /// gai_suspend(3).
    gai_suspend;
    /// sigwaitinfo(2).
    sigwaitinfo = super::wait::filtered_sigwaitinfo;
    /// sigtimedwait(2).
    sigtimedwait = super::wait::filtered_sigtimedwait;
}
