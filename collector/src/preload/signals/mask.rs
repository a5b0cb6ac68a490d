//! Signal masks: the profiling signal is never blocked, and the thread reads back that it is.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::c_int;

use libc::sigset_t;

use super::action::{first_word, mask_of};
use super::{BIT, SIGNAL};
use crate::preload::real;
use crate::preload::view::{Belief, sampled};

/// The profiling signal in the `int` masks of 4.2BSD.
const BSD_BIT: c_int = 1 << (SIGNAL - 1);

/// Either of the two functions that set a mask; they differ in how they return an error.
type SetMask = unsafe fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// Changes the mask without the profiling signal and keeps the thread's own view of it.
unsafe fn change(set_mask: SetMask, how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    if !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { set_mask(how, new, old) };
    }
    let blocked = Belief::SignalBlocked;
    let before = blocked.get();
    let mut after = before;
    let mut passed = new;
    let filtered;
    if !new.is_null() {
        // SAFETY: not null, so the program points to a mask.
        let word = unsafe { first_word(new) };
        let named = word & BIT != 0;
        after = match how {
            libc::SIG_BLOCK => before || named,
            libc::SIG_UNBLOCK => before && !named,
            _ => named,
        };
        if named && how != libc::SIG_UNBLOCK {
            filtered = mask_of(word & !BIT);
            passed = &raw const filtered;
        }
    }
    // SAFETY: `passed` is the program's mask or a copy without the signal.
    let result = unsafe { set_mask(how, passed, old) };
    if result == 0 {
        blocked.set(after);
        if !old.is_null() && before {
            // SAFETY: the call succeeded, so it wrote the first word of `old`.
            unsafe { old.cast::<u64>().write_unaligned(first_word(old) | BIT) };
        }
    }
    result
}

/// sigprocmask(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { change(real::sigprocmask, how, new, old) }
}

/// pthread_sigmask(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { change(real::pthread_sigmask, how, new, old) }
}

/// An `int` mask from the C library, as the thread expects to see it.
fn seen(mask: c_int, blocked: bool) -> c_int {
    if blocked { mask | BSD_BIT } else { mask }
}

/// sigblock(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigblock(mask: c_int) -> c_int {
    if !sampled() {
        // SAFETY: takes no pointers.
        return unsafe { real::sigblock(mask) };
    }
    let before = Belief::SignalBlocked.get();
    Belief::SignalBlocked.set(before || mask & BSD_BIT != 0);
    // SAFETY: takes no pointers.
    seen(unsafe { real::sigblock(mask & !BSD_BIT) }, before)
}

/// sigsetmask(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigsetmask(mask: c_int) -> c_int {
    if !sampled() {
        // SAFETY: takes no pointers.
        return unsafe { real::sigsetmask(mask) };
    }
    let before = Belief::SignalBlocked.replace(mask & BSD_BIT != 0);
    // SAFETY: takes no pointers.
    seen(unsafe { real::sigsetmask(mask & !BSD_BIT) }, before)
}

/// siggetmask(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn siggetmask() -> c_int {
    let blocked = sampled() && Belief::SignalBlocked.get();
    // SAFETY: takes nothing.
    seen(unsafe { real::siggetmask() }, blocked)
}

/// sighold(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sighold(signal: c_int) -> c_int {
    if signal == SIGNAL && sampled() {
        Belief::SignalBlocked.set(true);
        return 0;
    }
    // SAFETY: takes no pointers.
    unsafe { real::sighold(signal) }
}

/// sigrelse(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigrelse(signal: c_int) -> c_int {
    if signal == SIGNAL && sampled() {
        Belief::SignalBlocked.set(false);
        return 0;
    }
    // SAFETY: takes no pointers.
    unsafe { real::sigrelse(signal) }
}
