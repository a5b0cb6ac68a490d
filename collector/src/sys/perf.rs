//! The software event `task-clock` with a signal at each overflow: perf_event_open(2).

use super::Errno;
use super::call::call;
use super::file::{close_number, out_of_the_way};

/// An open `task-clock` event of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfTaskClock {
    fd: i32,
    signal: i32,
}

/// Why the event could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfError(pub Errno);

/// `struct perf_event_attr`, first published size (PERF_ATTR_SIZE_VER0, 64 bytes).
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
}

const _: () = assert!(size_of::<Attributes>() == 64);

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
const FLAG_DISABLED: u64 = 1;
const FLAG_EXCLUDE_HV: u64 = 1 << 6;
const PERF_FLAG_FD_CLOEXEC: usize = 8;
const PERF_EVENT_IOC_ENABLE: usize = 0x2400;
const PERF_EVENT_IOC_DISABLE: usize = 0x2401;
const F_SETSIG: usize = 10;
const F_GETSIG: usize = 11;
const F_SETOWN_EX: usize = 15;
const F_OWNER_TID: i32 = 0;

impl PerfTaskClock {
    /// Opens the event for the calling thread `tid`, stopped; each `period_ns` of its CPU time
    /// sends it `signal`.
    ///
    /// Kernel time is included: leaving it out drops about a quarter of the samples of programs
    /// that make system calls. A kernel that forbids that to users is asked for user time only.
    pub fn open(period_ns: u64, signal: i32, tid: u32) -> Result<Self, PerfError> {
        const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
        let fd = Self::open_with(period_ns, FLAG_DISABLED | FLAG_EXCLUDE_HV)
            .or_else(|_| {
                Self::open_with(period_ns, FLAG_DISABLED | FLAG_EXCLUDE_HV | FLAG_EXCLUDE_KERNEL)
            })
            .map_err(PerfError)?;
        let owner = [F_OWNER_TID, tid as i32];
        let fcntl = |command: usize, argument: usize| {
            // SAFETY: F_SETOWN_EX reads the two live integers of `owner`; the others take
            // numbers.
            unsafe { call(libc::SYS_fcntl, [fd as usize, command, argument, 0, 0, 0]) }
        };
        let event = Self { fd, signal };
        fcntl(F_SETOWN_EX, (&raw const owner).addr())
            .and_then(|_| fcntl(F_SETSIG, signal as usize))
            .and_then(|_| {
                fcntl(libc::F_SETFL as usize, (libc::O_ASYNC | libc::O_NONBLOCK) as usize)
            })
            .map(|_| event)
            .map_err(|errno| {
                close_number(fd);
                PerfError(errno)
            })
    }

    fn open_with(period_ns: u64, flags: u64) -> Result<i32, Errno> {
        let attributes = Attributes {
            kind: PERF_TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: PERF_COUNT_SW_TASK_CLOCK,
            sample_period: period_ns,
            sample_type: 0,
            read_format: 0,
            flags,
            wakeup_events: 1,
            breakpoint_type: 0,
            config1: 0,
        };
        out_of_the_way(|| {
            // SAFETY: `attributes` is live and says its own size. This thread (0), any CPU (-1), no
            // group (-1).
            unsafe {
                call(
                    libc::SYS_perf_event_open,
                    [
                        (&raw const attributes).addr(),
                        0,
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
