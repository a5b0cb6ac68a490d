//! Waiting for time, semaphores, messages, sockets, terminals and asynchronous I/O, and reserving
//! space in files, where samples could end it.
//!
//! After a handler has run, the kernel does not go on with these, whatever the handler's flags
//! (signal(7)): a sample would end the wait with `EINTR`, and sleep(3) of a second would take one
//! sampling period. They have no relatives that wait with a mask, as [`poll`](super::poll) has. So
//! the profiling signal is held back meanwhile, by two system calls. The timer counts on; the
//! sample comes right after the wait, in the function that waited, and stands for all of it.
//!
//! Only where samples [meet waits](super::interruption::samples_meet_waits): those of `cputime`
//! come at the kernel's tick, and those by SIGTRAP when the call is over, but for io_uring_enter(2)
//! ([`ending`]). `read`, `write` and their kind are in [`io`], which counts them, too: there the
//! signal is held back where it would [cut them short](super::transfers).
//!
//! Waits by syscall(2) are held in [its wrapper](crate::preload::sandbox). libaio and liburing make
//! their system calls by instructions of their own, and are not held: an exported name of theirs
//! would be found by programs that ask whether the library is there, and would come before the
//! library where that is loaded for one other library alone, out of reach from here.

#![expect(unsafe_code, reason = "exported C functions, a system call")]

use core::ffi::{c_int, c_long};

use super::interruption::{hold_met, holding, samples_meet_waits};
use super::transfers;
use super::{BIT, kept};
use crate::arch::{Call, ENDED_CALLS, Route};
use crate::preload::counted::counting;
use crate::preload::real::Real;
use crate::preload::stub::{self, UNBLOCKS, waits};
use crate::preload::{io, locks};
use crate::sources::loan;
use crate::sys;

/// Calls `real` with the profiling signal held back, if that could end its wait.
extern "C" fn hold(call: &mut Call, real: &Real) -> Route {
    hold_met(call, stub::target(real))
}

/// The same of a call that may be [counted](io).
extern "C" fn hold_io(call: &mut Call, real: &Real) -> Route {
    counting(hold(call, real), io::begin(call))
}

/// The same of a call with seven arguments: its caller's room has a length beside it
/// (bits/socket2.h).
extern "C" fn hold_checked_recvfrom(call: &mut Call, real: &Real) -> Route {
    // SAFETY: as said above.
    unsafe { call.pass_seventh_argument() };
    hold_io(call, real)
}

/// The same of a request for random bytes.
extern "C" fn hold_random(call: &mut Call, real: &Real) -> Route {
    if transfers::is_long_random(call.arguments[1]) {
        hold(call, real)
    } else {
        Route { target: stub::target(real), calls: 0 }
    }
}

/// The same of a wait that may be [counted](locks).
extern "C" fn hold_lock(call: &mut Call, real: &Real) -> Route {
    counting(hold(call, real), locks::begin(call))
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

/// The system calls that a handler ends. Of futex(2) and ioctl(2), and of those that wait with a
/// mask of their own, [`is_wait`] asks further.
pub(in crate::preload) const CALLS: [c_long; 25] = [
    libc::SYS_nanosleep,
    libc::SYS_connect,
    libc::SYS_accept,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_semop,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_futex,
    libc::SYS_io_getevents,
    libc::SYS_semtimedop,
    libc::SYS_clock_nanosleep,
    libc::SYS_accept4,
    libc::SYS_recvmmsg,
    libc::SYS_sendmmsg,
    libc::SYS_io_uring_enter,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_fallocate,
    libc::SYS_ioctl,
];

/// The requests of ioctl(2) that wait for a terminal's output, and are not made again
/// (ioctl_tty(2)).
const TERMINAL_WAITS: [u32; 2] = [libc::TCSBRK as u32, libc::TCSBRKP as u32];

/// Holds back what would end this call of syscall(2): one of which [`is_met`] says that samples
/// may.
pub(in crate::preload) fn hold_syscall(call: &mut Call, real: &Real, number: c_long) -> Route {
    // SAFETY: syscall(2) takes the number and six arguments.
    unsafe { call.pass_seventh_argument() };
    holding(call, stub::target(real), ending(number))
}

/// Whether a sample may end this call of syscall(2), or cut it short.
pub(in crate::preload) fn is_met(call: &Call) -> bool {
    let [number, arguments @ ..] = call.arguments;
    let number = number as c_long;
    ending(number) != 0 && (is_wait(number, call) || transfers::is_short(number, arguments))
}

/// Whether it is one of [`CALLS`] or [`ENDED_CALLS`]; of futex(2) a wait with a time limit, for the
/// kernel goes on with others; and of those that may have a mask of their own, one without.
fn is_wait(number: c_long, call: &Call) -> bool {
    let commands = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
    let [_, _, second, _, fourth, fifth] = call.arguments;
    match number {
        libc::SYS_futex => {
            let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET];
            waits.contains(&(second as c_int & !commands)) && fourth != 0
        }
        libc::SYS_ppoll => fourth == 0,
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => fifth == 0,
        libc::SYS_ioctl => TERMINAL_WAITS.contains(&(second as u32)),
        libc::SYS_pselect6 => {
            // SAFETY: syscall(2) takes the number and six arguments.
            let place = unsafe { call.seventh_argument() };
            // A structure of the mask's address and its size.
            place == 0 || sys::probe(place) == Some(0)
        }
        _ => CALLS.contains(&number) || ENDED_CALLS.contains(&number),
    }
}

waits! {
    /// sleep(3).
    hold sleep in libc::SYS_clock_nanosleep: hold, UNBLOCKS;
    /// usleep(3).
    hold usleep in libc::SYS_clock_nanosleep: hold, UNBLOCKS;
    /// nanosleep(2).
    hold nanosleep in libc::SYS_clock_nanosleep: hold, UNBLOCKS;
    /// nanosleep(2) under the name that old libraries use.
    hold __nanosleep in libc::SYS_clock_nanosleep: hold, UNBLOCKS;
    /// clock_nanosleep(2).
    hold clock_nanosleep in libc::SYS_clock_nanosleep: hold, UNBLOCKS;
    /// thrd_sleep(3).
    hold thrd_sleep in libc::SYS_clock_nanosleep: hold, UNBLOCKS;
    /// sem_timedwait(3).
    hold sem_timedwait in libc::SYS_futex: hold_lock, UNBLOCKS, locks::after;
    /// sem_clockwait(3).
    hold sem_clockwait in libc::SYS_futex: hold_lock, UNBLOCKS, locks::after;
    /// semop(2).
    hold semop in libc::SYS_semtimedop: hold, UNBLOCKS;
    /// semtimedop(2).
    hold semtimedop in libc::SYS_semtimedop: hold, UNBLOCKS;
    /// msgsnd(2).
    hold msgsnd in libc::SYS_msgsnd: hold, UNBLOCKS;
    /// msgrcv(2).
    hold msgrcv in libc::SYS_msgrcv: hold, UNBLOCKS;
    /// recv(2), which may have a time limit (SO_RCVTIMEO, socket(7)); and so the next ones.
    hold recv in libc::SYS_recvfrom: hold_io, UNBLOCKS, io::after_read;
    /// recvfrom(2).
    hold recvfrom in libc::SYS_recvfrom: hold_io, UNBLOCKS, io::after_read;
    /// recvmsg(2).
    hold recvmsg in libc::SYS_recvmsg: hold_io, UNBLOCKS, io::after_read;
    /// recvmmsg(2).
    hold recvmmsg in libc::SYS_recvmmsg: hold_io, UNBLOCKS, io::after_messages_read;
    /// recv(2) as programs built with `_FORTIFY_SOURCE` call it.
    hold __recv_chk in libc::SYS_recvfrom: hold_io, UNBLOCKS, io::after_read;
    /// recvfrom(2) as programs built with `_FORTIFY_SOURCE` call it.
    hold __recvfrom_chk in libc::SYS_recvfrom: hold_checked_recvfrom, UNBLOCKS, io::after_read;
    /// send(2), which may have a time limit (SO_SNDTIMEO, socket(7)); and so the next ones.
    hold send: hold_io, UNBLOCKS, io::after_write;
    /// sendto(2).
    hold sendto: hold_io, UNBLOCKS, io::after_write;
    /// sendmsg(2).
    hold sendmsg: hold_io, UNBLOCKS, io::after_write;
    /// sendmmsg(2).
    hold sendmmsg: hold_io, UNBLOCKS, io::after_messages_written;
    /// connect(2).
    hold connect in libc::SYS_connect: hold, UNBLOCKS;
    /// getrandom(2).
    hold getrandom: hold_random, UNBLOCKS;
    /// accept(2).
    hold accept in libc::SYS_accept: hold, UNBLOCKS;
    /// accept4(2).
    hold accept4 in libc::SYS_accept4: hold, UNBLOCKS;
    /// aio_suspend(3).
    hold aio_suspend in libc::SYS_futex: hold, UNBLOCKS;
    /// aio_suspend(3) where files are large.
    hold aio_suspend64 in libc::SYS_futex: hold, UNBLOCKS;
    /// lio_listio(3).
    hold lio_listio: hold, UNBLOCKS;
    /// lio_listio(3) where files are large.
    hold lio_listio64: hold, UNBLOCKS;
    /// gai_suspend(3).
    hold gai_suspend in libc::SYS_futex: hold, UNBLOCKS;
    /// fallocate(2), which a handler may end, as of memory file systems by older kernels.
    hold fallocate: hold, UNBLOCKS;
    /// fallocate(2) where files are large.
    hold fallocate64: hold, UNBLOCKS;
    /// posix_fallocate(3).
    hold posix_fallocate: hold, UNBLOCKS;
    /// posix_fallocate(3) where files are large.
    hold posix_fallocate64: hold, UNBLOCKS;
    /// tcdrain(3).
    hold tcdrain in libc::SYS_ioctl: hold, UNBLOCKS;
    /// tcsendbreak(3).
    hold tcsendbreak in libc::SYS_ioctl: hold, UNBLOCKS;
}
