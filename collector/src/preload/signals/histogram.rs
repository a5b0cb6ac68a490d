//! The C library's own profiler: programs built with `-pg`, and profil(3).
//!
//! It takes SIGPROF and `ITIMER_PROF` inside the C library, where no wrapper is asked; a program
//! built for gprof would leave csprof without a sample. So what starts it is wrapped, and the
//! signal is taken back at once. The histogram stays empty, and the user is told; gprof's call
//! counts do not come from the signal and are as they would be.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::{c_int, c_uint, c_ulong, c_ushort, c_void};

use libc::{itimerval, timeval};

use super::BIT;
use crate::messages::{self, Warning};
use crate::preload::real::{functions, no_call, nothing};
use crate::preload::view::sampled;
use crate::{lifecycle, sys};

functions! {
    fn setitimer(which: c_uint, new: *const itimerval, old: *mut itimerval) -> c_int, else no_call();
    fn __monstartup(low: c_ulong, high: c_ulong) -> (), else nothing();
    fn monstartup(low: c_ulong, high: c_ulong) -> (), else nothing();
    fn moncontrol(mode: c_int) -> (), else nothing();
    fn profil(buffer: *mut c_ushort, size: usize, offset: usize, scale: c_uint) -> c_int, else no_call();
    fn sprofil(regions: *mut c_void, count: c_int, period: *mut timeval, flags: c_uint) -> c_int, else no_call();
}

/// Runs `start`, which may start the histogram, and stops it.
fn without_histogram(start: impl FnOnce()) {
    if !sampled() {
        return start();
    }
    // A sample that comes in between waits for the right handler.
    let mask = sys::block(sys::Mask(BIT));
    start();
    const ZERO: timeval = timeval { tv_sec: 0, tv_usec: 0 };
    let stop = itimerval { it_interval: ZERO, it_value: ZERO };
    // SAFETY: a live value; no old one is asked for.
    unsafe { setitimer::real(libc::ITIMER_PROF as c_uint, &raw const stop, core::ptr::null_mut()) };
    let _ = lifecycle::take_signals();
    sys::set_mask(mask);
    warn();
}

fn warn() {
    messages::warn_once(
        Warning::Histogram,
        "gprof's and profil's histogram stays empty: csprof uses their signal",
    );
}

/// Called by the start-up code of programs built with `-pg`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __monstartup(low: c_ulong, high: c_ulong) {
    // SAFETY: the program's own arguments, passed on.
    without_histogram(|| unsafe { __monstartup::real(low, high) });
}

/// `__monstartup` under its public name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn monstartup(low: c_ulong, high: c_ulong) {
    // SAFETY: the program's own arguments, passed on.
    without_histogram(|| unsafe { monstartup::real(low, high) });
}

/// Starts or stops gprof: BSD's moncontrol(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn moncontrol(mode: c_int) {
    // SAFETY: takes no pointers.
    without_histogram(|| unsafe { moncontrol::real(mode) });
}

/// profil(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn profil(
    buffer: *mut c_ushort,
    size: usize,
    offset: usize,
    scale: c_uint,
) -> c_int {
    if !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { profil::real(buffer, size, offset, scale) };
    }
    if !buffer.is_null() {
        warn();
    }
    0
}

/// The form of profil(3) with several regions: `<sys/profil.h>`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sprofil(
    regions: *mut c_void,
    count: c_int,
    period: *mut timeval,
    flags: c_uint,
) -> c_int {
    if !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { sprofil::real(regions, count, period, flags) };
    }
    if !period.is_null() {
        // SAFETY: not null, so the program points to room for the time between two ticks. glibc
        // says the clock's, 100 Hz.
        unsafe { period.write(timeval { tv_sec: 0, tv_usec: 10_000 }) };
    }
    if count > 0 {
        warn();
    }
    0
}
