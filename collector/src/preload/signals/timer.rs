//! Timers that would send the profiling signal: setitimer(2) and timer_create(2).

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicI64, Ordering};

use libc::{itimerval, sigevent, timer_t, timeval};

use super::{SIGNAL, warning};
use crate::preload::real;
use crate::preload::view::sampled;

const ITIMER_PROF: c_uint = libc::ITIMER_PROF as c_uint;

/// The profiling timer as the program last set it; it never runs. Separate atomics for the reason
/// given at [`action`](super::action).
struct Remembered {
    interval: Time,
    value: Time,
}

struct Time {
    seconds: AtomicI64,
    microseconds: AtomicI64,
}

impl Time {
    const fn zero() -> Self {
        Self { seconds: AtomicI64::new(0), microseconds: AtomicI64::new(0) }
    }

    fn get(&self) -> timeval {
        timeval {
            tv_sec: self.seconds.load(Ordering::Relaxed),
            tv_usec: self.microseconds.load(Ordering::Relaxed),
        }
    }

    fn set(&self, time: timeval) {
        self.seconds.store(time.tv_sec, Ordering::Relaxed);
        self.microseconds.store(time.tv_usec, Ordering::Relaxed);
    }
}

const STOP: timeval = timeval { tv_sec: 0, tv_usec: 0 };

static ASKED: Remembered = Remembered { interval: Time::zero(), value: Time::zero() };

/// What the kernel asks of a time: setitimer(2), EINVAL.
fn valid(time: timeval) -> bool {
    time.tv_sec >= 0 && (0..1_000_000).contains(&time.tv_usec)
}

/// setitimer(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn setitimer(
    which: c_uint,
    new: *const itimerval,
    old: *mut itimerval,
) -> c_int {
    if which != ITIMER_PROF || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { real::setitimer(which, new, old) };
    }
    // A null pointer stops the timer on Linux: setitimer(2), BUGS.
    let wanted = if new.is_null() {
        itimerval { it_interval: STOP, it_value: STOP }
    } else {
        // SAFETY: not null, so the program points to a value.
        unsafe { new.read() }
    };
    if !valid(wanted.it_interval) || !valid(wanted.it_value) {
        real::set_errno(libc::EINVAL);
        return -1;
    }
    if wanted.it_value.tv_sec != 0 || wanted.it_value.tv_usec != 0 {
        crate::report::warn_once(
            warning::INTERVAL_TIMER,
            "the program's ITIMER_PROF does not run: csprof uses its signal",
        );
    }
    if !old.is_null() {
        // SAFETY: not null, so the program points to room for a value.
        unsafe { old.write(remembered()) };
    }
    ASKED.interval.set(wanted.it_interval);
    ASKED.value.set(wanted.it_value);
    0
}

fn remembered() -> itimerval {
    itimerval { it_interval: ASKED.interval.get(), it_value: ASKED.value.get() }
}

/// getitimer(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn getitimer(which: c_uint, value: *mut itimerval) -> c_int {
    if which != ITIMER_PROF || !sampled() || value.is_null() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { real::getitimer(which, value) };
    }
    // SAFETY: not null, so the program points to room for a value.
    unsafe { value.write(remembered()) };
    0
}

/// timer_create(2). A timer that would send the profiling signal is made to send none; it runs,
/// and can be read and deleted.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn timer_create(
    clock: c_int,
    event: *mut sigevent,
    timer: *mut timer_t,
) -> c_int {
    // SAFETY: not null, so the program points to an event; only the two fields that every kind of
    // event has are read.
    let ours = !event.is_null()
        && unsafe { (*event).sigev_signo } == SIGNAL
        && matches!(unsafe { (*event).sigev_notify }, libc::SIGEV_SIGNAL | libc::SIGEV_THREAD_ID);
    if !ours || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { real::timer_create(clock, event, timer) };
    }
    crate::report::warn_once(
        warning::POSIX_TIMER,
        "a timer of the program that sends SIGPROF is silent: csprof uses this signal",
    );
    // SAFETY: as above; the whole structure is plain data.
    let mut silent = unsafe { event.read() };
    silent.sigev_notify = libc::SIGEV_NONE;
    // SAFETY: `silent` lives until the call has returned; the rest is the program's.
    unsafe { real::timer_create(clock, &raw mut silent, timer) }
}

/// A child of fork has no interval timers: fork(2).
pub(in crate::preload) fn after_fork_child() {
    ASKED.interval.set(STOP);
    ASKED.value.set(STOP);
}
