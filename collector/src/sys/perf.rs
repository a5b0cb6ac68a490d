//! The software event `task-clock` with a signal at each overflow: perf_event_open(2).
//!
//! There are two ways to be told, see [`Delivery`]. The event's file has the signal of the second one
//! set in both: nobody else's event has, so it tells whether a file number still means this event.

use super::Errno;
use super::call::call;
use super::file::{close_number, out_of_the_way};

/// An open `task-clock` event of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfTaskClock {
    fd: i32,
    signal: i32,
}

/// How the thread is told that a period has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// By SIGTRAP, which the thread sends itself when it next returns to user mode, with this word
    /// as `si_perf_data` (`attr.sigtrap`).
    Synchronous(u64),
    /// By a signal from the interrupt, through the event's file (F_SETSIG, fcntl(2)).
    Asynchronous,
}

/// Why the event could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfError(pub Errno);

/// `struct perf_event_attr` as of Linux 5.13 (PERF_ATTR_SIZE_VER7, 128 bytes). An older kernel takes it
/// as long as what it does not know is 0.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    unused: [u64; 6],
    sig_data: u64,
}

const _: () = assert!(size_of::<Attributes>() == 128);

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
const FLAG_DISABLED: u64 = 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HV: u64 = 1 << 6;
const FLAG_REMOVE_ON_EXEC: u64 = 1 << 36;
const FLAG_SIGTRAP: u64 = 1 << 37;
const PERF_FLAG_FD_CLOEXEC: usize = 8;
const PERF_EVENT_IOC_ENABLE: usize = 0x2400;
const PERF_EVENT_IOC_DISABLE: usize = 0x2401;
const F_SETSIG: usize = 10;
const F_GETSIG: usize = 11;
const F_SETOWN_EX: usize = 15;
const F_OWNER_TID: i32 = 0;

impl PerfTaskClock {
    /// Opens the event for thread `tid` of this process, stopped; each `period_ns` of its CPU time
    /// sends it a signal: `signal`, if by `Delivery::Asynchronous`.
    ///
    /// Kernel time is included: leaving it out drops about a quarter of the samples of programs
    /// that make system calls. A kernel that forbids that to users is asked for user time only.
    pub fn open(
        period_ns: u64,
        signal: i32,
        tid: u32,
        delivery: Delivery,
    ) -> Result<Self, PerfError> {
        let fd = open_event(period_ns, tid, delivery, 0)
            .or_else(|_| open_event(period_ns, tid, delivery, FLAG_EXCLUDE_KERNEL))
            .map_err(PerfError)?;
        let event = Self { fd, signal };
        let owner = [F_OWNER_TID, tid as i32];
        event
            .control(F_SETOWN_EX, (&raw const owner).addr())
            .and_then(|()| event.control(F_SETSIG, signal as usize))
            .and_then(|()| match delivery {
                Delivery::Synchronous(_) => Ok(()),
                Delivery::Asynchronous => event.signal_through_file(),
            })
            .map(|()| event)
            .map_err(|errno| {
                close_number(fd);
                PerfError(errno)
            })
    }

    /// Puts an event that signals asynchronously in the place of this one, under the same number and
    /// stopped.
    pub fn make_asynchronous(self, period_ns: u64, tid: u32) -> Result<(), PerfError> {
        if !self.is_ours() {
            return Ok(());
        }
        let new = Self::open(period_ns, self.signal, tid, Delivery::Asynchronous)?;
        // SAFETY: duplicating a file number touches no memory.
        let moved = unsafe {
            let flags = libc::O_CLOEXEC as usize;
            call(libc::SYS_dup3, [new.fd as usize, self.fd as usize, flags, 0, 0, 0])
        };
        close_number(new.fd);
        // Off and on again: the kernel puts the number through which it was switched on into the signal.
        moved
            .and_then(|_| self.control(libc::F_SETFL as usize, libc::O_NONBLOCK as usize))
            .and_then(|()| self.signal_through_file())
            .map_err(PerfError)
    }

    fn signal_through_file(self) -> Result<(), Errno> {
        self.control(libc::F_SETFL as usize, (libc::O_ASYNC | libc::O_NONBLOCK) as usize)
    }

    fn control(self, command: usize, argument: usize) -> Result<(), Errno> {
        // SAFETY: F_SETOWN_EX reads the two integers that its caller has; the others take numbers.
        unsafe { call(libc::SYS_fcntl, [self.fd as usize, command, argument, 0, 0, 0]) }.map(drop)
    }

    /// The file number, which the kernel puts into the signal's `si_fd`.
    #[must_use]
    pub const fn fd(self) -> i32 {
        self.fd
    }

    /// Starts or stops the event.
    pub fn enable(self, on: bool) {
        if !self.is_ours() {
            return;
        }
        let request = if on { PERF_EVENT_IOC_ENABLE } else { PERF_EVENT_IOC_DISABLE };
        // SAFETY: these requests take no argument.
        let _ = unsafe { call(libc::SYS_ioctl, [self.fd as usize, request, 0, 0, 0, 0]) };
    }

    /// Whether the number still means an event of a profiling signal: a program that closes all files
    /// it knows nothing about may have given the number to one of its own.
    #[must_use]
    pub fn is_ours(self) -> bool {
        // SAFETY: asks for a number; files that are no events of ours have no or another signal.
        let signal = unsafe { call(libc::SYS_fcntl, [self.fd as usize, F_GETSIG, 0, 0, 0, 0]) };
        signal == Ok(self.signal as usize)
    }

    /// Closes the event.
    pub fn close(self) {
        if !self.is_ours() {
            return;
        }
        close_number(self.fd);
    }
}

fn open_event(period_ns: u64, tid: u32, delivery: Delivery, more: u64) -> Result<i32, Errno> {
    let (how, sig_data) = match delivery {
        Delivery::Synchronous(data) => (FLAG_SIGTRAP | FLAG_REMOVE_ON_EXEC, data),
        Delivery::Asynchronous => (0, 0),
    };
    let attributes = Attributes {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: PERF_COUNT_SW_TASK_CLOCK,
        sample_period: period_ns,
        sample_type: 0,
        read_format: 0,
        flags: FLAG_DISABLED | FLAG_EXCLUDE_HV | how | more,
        wakeup_events: 1,
        breakpoint_type: 0,
        config1: 0,
        config2: 0,
        unused: [0; 6],
        sig_data,
    };
    out_of_the_way(|| {
        // SAFETY: `attributes` is live and says its own size. Any CPU (-1), no group (-1).
        unsafe {
            call(
                libc::SYS_perf_event_open,
                [
                    (&raw const attributes).addr(),
                    tid as usize,
                    usize::MAX,
                    usize::MAX,
                    PERF_FLAG_FD_CLOEXEC,
                    0,
                ],
            )
        }
        .map(|number| number as i32)
    })
}
