//! Signal masks: the signals of samples are never blocked, and the thread reads back that they are.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::c_int;

use libc::sigset_t;

use super::words::{first_word, mask_of};
use super::{SIGNAL, kept};
use crate::preload::real;
use crate::preload::view::{Belief, sampled};
use crate::sources::loan::{TRAP, bit};
use crate::sys::{self, Mask};

/// Either of the two functions that set a mask; they differ in how they return an error.
type SetMask = unsafe fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// Which signals of samples the thread has blocked, it thinks, as a mask.
pub(in crate::preload) fn believed() -> u64 {
    let of = |belief: Belief, signal| if belief.get() { bit(signal) } else { 0 };
    of(Belief::SignalBlocked, SIGNAL) | of(Belief::TrapBlocked, TRAP)
}

/// Sets what the thread thinks.
pub(in crate::preload) fn believe(word: u64) {
    Belief::SignalBlocked.set(word & bit(SIGNAL) != 0);
    Belief::TrapBlocked.set(word & bit(TRAP) != 0);
}

/// What is no signal of samples any more is blocked as the thread thinks.
pub(super) fn settle() {
    settle_but(kept());
}

/// All is blocked as the thread thinks.
pub(super) fn settle_all() {
    settle_but(0);
}

fn settle_but(kept: u64) {
    let open = believed() & !kept;
    if open != 0 {
        sys::block(Mask(open));
        believe(believed() & kept);
    }
}

/// Of the signals of samples those that the kernel has blocked: while a handler of the program's
/// for one of them runs. What is changed there ends with the handler, so it is the kernel's to
/// remember.
pub(in crate::preload) fn really_blocked() -> u64 {
    sys::block(Mask(0)).0 & kept()
}

/// Those of `named` for which the thread's own view is to be changed. Asks the kernel only if there
/// are any.
fn not_really_blocked(named: u64) -> u64 {
    if named == 0 { 0 } else { named & !really_blocked() }
}

/// Changes the mask without the signals of samples and keeps the thread's own view of them.
unsafe fn change(set_mask: SetMask, how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    if !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { set_mask(how, new, old) };
    }
    settle();
    let before = believed();
    let mut after = before;
    let mut passed = new;
    let filtered;
    if !new.is_null() {
        // SAFETY: not null, so the program points to a mask.
        let word = unsafe { first_word(new) };
        let named = word & kept();
        after = match how {
            libc::SIG_UNBLOCK => before & !named,
            libc::SIG_BLOCK => before | not_really_blocked(named),
            _ => not_really_blocked(named),
        };
        if how != libc::SIG_UNBLOCK && named & after != 0 {
            filtered = mask_of(word & !(named & after));
            passed = &raw const filtered;
        }
    }
    // Before the call: what it unblocks is delivered before it returns.
    believe(after);
    // SAFETY: `passed` is the program's mask or a copy without the signals.
    let result = unsafe { set_mask(how, passed, old) };
    if result != 0 {
        believe(before);
    } else if !old.is_null() && before != 0 {
        // SAFETY: the call succeeded, so it wrote the first word of `old`.
        unsafe { old.cast::<u64>().write_unaligned(first_word(old) | before) };
    }
    result
}

/// Blocks or unblocks one signal; returns whether the thread thought that it was blocked.
pub(super) fn change_one(signal: c_int, how: c_int) -> bool {
    let set = mask_of(bit(signal));
    let mut before = mask_of(0);
    // SAFETY: live locals.
    unsafe { change(real::sigprocmask, how, &raw const set, &raw mut before) };
    // SAFETY: a live local.
    unsafe { first_word(&raw const before) & bit(signal) != 0 }
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

/// Changes a mask of 4.2BSD, an `int`, by `set_mask`; `how` says what that does.
fn change_bsd(set_mask: unsafe fn(c_int) -> c_int, how: c_int, mask: c_int) -> c_int {
    if !sampled() {
        // SAFETY: takes no pointers.
        return unsafe { set_mask(mask) };
    }
    settle();
    let before = believed();
    let named = u64::from(mask.cast_unsigned()) & kept();
    let thought = not_really_blocked(named);
    believe(if how == libc::SIG_BLOCK { before | thought } else { thought });
    // SAFETY: takes no pointers.
    unsafe { set_mask(mask & !(thought as c_int)) | before as c_int }
}

/// sigblock(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigblock(mask: c_int) -> c_int {
    change_bsd(real::sigblock, libc::SIG_BLOCK, mask)
}

/// sigsetmask(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigsetmask(mask: c_int) -> c_int {
    change_bsd(real::sigsetmask, libc::SIG_SETMASK, mask)
}

/// siggetmask(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn siggetmask() -> c_int {
    let before = if sampled() { believed() } else { 0 };
    // SAFETY: takes nothing.
    unsafe { real::siggetmask() | before as c_int }
}

/// sighold(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sighold(signal: c_int) -> c_int {
    if sampled() && (signal == SIGNAL || signal == TRAP) {
        change_one(signal, libc::SIG_BLOCK);
        return 0;
    }
    // SAFETY: takes no pointers.
    unsafe { real::sighold(signal) }
}

/// sigrelse(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigrelse(signal: c_int) -> c_int {
    if sampled() && (signal == SIGNAL || signal == TRAP) {
        change_one(signal, libc::SIG_UNBLOCK);
        return 0;
    }
    // SAFETY: takes no pointers.
    unsafe { real::sigrelse(signal) }
}
