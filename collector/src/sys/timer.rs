//! POSIX timers that signal one thread: timer_create(2), SIGEV_THREAD_ID.

use super::Errno;
use super::call::call;
use super::clock::Clock;

/// A timer of the kernel. Must be deleted; a timer does not end with its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer(i32);

/// A timer that was [stopped](Timer::pause), and what was left of its interval.
#[derive(Clone, Copy, Debug)]
pub struct PausedTimer {
    timer: Timer,
    left: libc::itimerspec,
}

impl PausedTimer {
    /// Has it go on where it was.
    pub fn go_on(self) {
        let _ = self.timer.exchange(&self.left);
    }
}

/// That of a timer that does not run.
const STOPPED: libc::itimerspec = {
    let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    libc::itimerspec { it_interval: zero, it_value: zero }
};

/// `struct sigevent` as the kernel reads it (64 bytes; include/uapi/asm-generic/siginfo.h).
#[repr(C)]
struct SigEvent {
    value: usize,
    signal: i32,
    notify: i32,
    thread: i32,
    pad: [i32; 11],
}

const _: () = assert!(size_of::<SigEvent>() == 64);

impl Timer {
    /// A timer on `clock` that sends `signal` to thread `tid`, with `cookie` as its value.
    pub fn create(clock: Clock, signal: i32, tid: u32, cookie: usize) -> Result<Self, Errno> {
        let event = SigEvent {
            value: cookie,
            signal,
            notify: libc::SIGEV_THREAD_ID,
            thread: tid as i32,
            pad: [0; 11],
        };
        let mut id = 0_i32;
        // SAFETY: `event` and `id` are live and of the sizes the kernel expects.
        unsafe {
            call(
                libc::SYS_timer_create,
                [clock.id() as usize, (&raw const event).addr(), (&raw mut id).addr(), 0, 0, 0],
            )
        }?;
        Ok(Self(id))
    }

    /// Fires after `first_ns` and then every `period_ns`; a `first_ns` of 0 stops it.
    pub fn set(self, first_ns: u64, period_ns: u64) -> Result<(), Errno> {
        let time = |ns: u64| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as i64,
        };
        let spec = libc::itimerspec { it_interval: time(period_ns), it_value: time(first_ns) };
        self.exchange(&spec).map(drop)
    }

    /// Stops it; a signal that is pending is dropped by some kernels.
    pub fn pause(self) -> Option<PausedTimer> {
        // Of one that has come due, without a tick since, the exchange tells of the next period.
        let is_due = self.left_ns() == 1;
        let mut before = self.exchange(&STOPPED).ok()?;
        let runs = before.it_value.tv_sec != 0 || before.it_value.tv_nsec != 0;
        if runs && is_due {
            before.it_value = libc::timespec { tv_sec: 0, tv_nsec: 1 };
        }
        runs.then_some(PausedTimer { timer: self, left: before })
    }

    /// Sets it, and returns how it was set.
    fn exchange(self, new: &libc::itimerspec) -> Result<libc::itimerspec, Errno> {
        let (mut before, new) = (STOPPED, core::ptr::from_ref(new).addr());
        let old = (&raw mut before).addr();
        // SAFETY: both structures are live, and of the kernel's layout.
        unsafe { call(libc::SYS_timer_settime, [self.0 as usize, 0, new, old, 0, 0]) }?;
        Ok(before)
    }

    /// What is left until it fires next, in nanoseconds.
    #[must_use]
    pub fn left_ns(self) -> u64 {
        let mut setting = STOPPED;
        let place = (&raw mut setting).addr();
        // SAFETY: the structure is live, and of the kernel's layout.
        let _ = unsafe { call(libc::SYS_timer_gettime, [self.0 as usize, place, 0, 0, 0, 0]) };
        let libc::timespec { tv_sec, tv_nsec } = setting.it_value;
        (tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(tv_nsec as u64)
    }

    /// Deletes the timer; its pending signal is dropped with it.
    pub fn delete(self) {
        // SAFETY: no pointers are passed; a timer that is gone already is an error we ignore.
        let _ = unsafe { call(libc::SYS_timer_delete, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}
