//! Clocks.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

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

/// clock_gettime(2) as code of the kernel's in the process itself (vdso(7)); null where it is not
/// known.
static WITHOUT_CALL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Has [`elapsed_ns`] call this function.
///
/// # Safety
/// It is the vdso's clock_gettime.
pub unsafe fn read_elapsed_by(function: *mut c_void) {
    if !IS_FORBIDDEN.load(Ordering::Relaxed) {
        WITHOUT_CALL.store(function, Ordering::Relaxed);
    }
}

/// Whether reading the processor's clock is a fault, as the kernel's code in the process does.
static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// From here on [`elapsed_ns`] makes a system call.
pub fn read_elapsed_by_call() {
    IS_FORBIDDEN.store(true, Ordering::Relaxed);
    WITHOUT_CALL.store(null_mut(), Ordering::Relaxed);
}

/// The time of [`Clock::Monotonic`], in nanoseconds, most often without a system call.
#[must_use]
pub fn elapsed_ns() -> u64 {
    // Relaxed: code that is there as long as the process.
    let function = WITHOUT_CALL.load(Ordering::Relaxed);
    if function.is_null() {
        return now_ns(Clock::Monotonic);
    }
    type ClockGettime = unsafe extern "C" fn(i32, *mut libc::timespec) -> i32;
    // SAFETY: only ever the address of this function (`read_elapsed_by`).
    let function = unsafe { core::mem::transmute::<*mut c_void, ClockGettime>(function) };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec.
    if unsafe { function(Clock::Monotonic.id(), &raw mut time) } != 0 {
        return 0;
    }
    in_ns(time)
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
    in_ns(time)
}

const fn in_ns(time: libc::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
