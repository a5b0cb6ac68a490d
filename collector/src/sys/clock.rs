//! Clocks.

use super::call::call;

/// A clock of clock_gettime(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Elapsed time, steady.
    Monotonic,
    /// Wall-clock time since 1970.
    Realtime,
    /// CPU time of the calling thread.
    ThreadCpu,
    /// CPU time of all threads of the process, also of those that have ended.
    ProcessCpu,
}

impl Clock {
    pub(super) const fn id(self) -> i32 {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::ThreadCpu => libc::CLOCK_THREAD_CPUTIME_ID,
            Self::ProcessCpu => libc::CLOCK_PROCESS_CPUTIME_ID,
        }
    }
}

/// The clock's time, in nanoseconds.
#[must_use]
pub fn now_ns(clock: Clock) -> u64 {
    read(clock.id())
}

/// CPU time of another thread of this process, in nanoseconds; 0 if there is none of that id.
#[must_use]
pub fn thread_cpu_ns(tid: u32) -> u64 {
    // The number of such a clock (include/linux/posix-timers_types.h): the id's complement above
    // three bits, CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED.
    read((!(tid as i32)) << 3 | 4 | 2)
}

fn read(clock: i32) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec, which clock_gettime fills.
    let done = unsafe {
        call(libc::SYS_clock_gettime, [clock as usize, (&raw mut time).addr(), 0, 0, 0, 0])
    };
    if done.is_err() {
        return 0;
    }
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
