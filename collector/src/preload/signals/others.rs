//! Actions of the signals that no samples come by.

#![expect(unsafe_code, reason = "actions of the program")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use super::kept;
use super::words::{as_kernel_keeps, first_word, mask_of};
use crate::modules;
use crate::preload::real::{functions, no_call};
use crate::preload::stub;
use crate::sampling::entry::{on_handled, on_trap};
use crate::sampling::pass_on::{handler_of, set_handler_of};
use crate::thread::handler_stack;

/// A signal's handler as signal(2) takes and returns it.
pub(in crate::preload) type Handler = libc::sighandler_t;

/// By signal: what its handler was to run with blocked, of the signals that samples come by.
static MASKED_BY: [AtomicU64; 65] = [const { AtomicU64::new(0) }; 65];

/// The function that sets an action, by the name that was called.
pub(super) type SetAction = unsafe fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

functions! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int, else no_call();
}

/// Another signal's action, without the signals of samples in its mask: programs that switch
/// contexts in a handler would keep them blocked for good.
///
/// A handler on an alternate stack is called by [`on_handled`], for the kernel takes the thread's
/// handler stack for the alternate one.
pub(super) unsafe fn others(
    set_action: SetAction,
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let mut masked = 0;
    let mut wanted = core::mem::MaybeUninit::<libc::sigaction>::uninit();
    let mut passed = new;
    let handler_before = handler_of(signal);
    if !new.is_null() {
        // SAFETY: not null, so the program points to an action.
        let mut action = unsafe { new.read() };
        let moves = moves(&action);
        if moves {
            // First, for a signal may come as soon as the call is made. One that comes before meets
            // this handler, too, if the last one was called in the same way.
            set_handler_of(signal, action.sa_sigaction);
            action.sa_sigaction = on_handled as *const () as usize;
        }
        // SAFETY: a live local.
        let mask = unsafe { first_word(&raw const action.sa_mask) };
        let on_small_stack =
            action.sa_flags & libc::SA_ONSTACK != 0 && modules::asks_kernel_for_stacks();
        masked = if on_small_stack || !stub::engaged() { 0 } else { mask & kept() };
        if moves || masked != 0 {
            action.sa_mask = mask_of(mask & !masked);
            passed = wanted.write(action);
        }
    }
    // SAFETY: `passed` is the program's action or a copy of it, with another handler and a smaller
    // mask.
    let result = unsafe { set_action(signal, passed, old) };
    if result != 0 {
        set_handler_of(signal, handler_before);
        return result;
    }
    // SAFETY: the call succeeded, so `old` holds an action, if it is not null.
    unsafe { tell(handler_before, old) };
    // SAFETY: as above.
    unsafe { tell_masked(signal, old) };
    if let (false, Some(remembered)) = (new.is_null(), masked_by(signal))
        && remembered.load(Ordering::Relaxed) != masked
    {
        remembered.store(masked, Ordering::Relaxed);
    }
    result
}

fn masked_by(signal: c_int) -> Option<&'static AtomicU64> {
    usize::try_from(signal).ok().and_then(|number| MASKED_BY.get(number))
}

/// Puts what the signal's handler was to run with blocked into an answer of the kernel's.
///
/// # Safety
/// `old` must be null or hold an action.
pub(super) unsafe fn tell_masked(signal: c_int, old: *mut libc::sigaction) {
    let before = masked_by(signal).map_or(0, |masked| masked.load(Ordering::Relaxed));
    if !old.is_null() && before != 0 {
        // SAFETY: by contract.
        unsafe {
            let mask = first_word(&raw const (*old).sa_mask);
            (&raw mut (*old).sa_mask).cast::<u64>().write_unaligned(mask | before);
        }
    }
}

/// Gives the kernel the masks of handlers as the program asked for them.
pub(super) fn settle_masks() {
    for (signal, masked) in (0..).zip(&MASKED_BY) {
        if masked.load(Ordering::Relaxed) != 0 {
            replace(signal, |mut action| {
                let masked = masked.swap(0, Ordering::Relaxed);
                // SAFETY: a live local.
                let mask = unsafe { first_word(&raw const action.sa_mask) };
                action.sa_mask = mask_of(mask | masked);
                action
            });
        }
    }
}

/// Gives the kernel another action, made of the one that it has. One that another thread sets in
/// between is not lost: the next one is made of that.
pub(super) fn replace(signal: c_int, make: impl Fn(libc::sigaction) -> libc::sigaction) {
    // SAFETY: all zeros is the default action.
    let mut there: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: only asks; the result is a live local.
    if unsafe { sigaction::real(signal, core::ptr::null(), &raw mut there) } != 0 {
        return;
    }
    let mut next = make(there);
    loop {
        let mut displaced = there;
        // SAFETY: live locals; an action of the kernel's, or one that the caller answers for.
        let result = unsafe { sigaction::real(signal, &raw const next, &raw mut displaced) };
        if result != 0 || is_same(&displaced, &there) {
            return;
        }
        there = next;
        next = make(displaced);
    }
}

/// Whether two actions are one, but for what the C library adds.
fn is_same(one: &libc::sigaction, other: &libc::sigaction) -> bool {
    let word = |action: &libc::sigaction| {
        // SAFETY: a live action.
        let mask = unsafe { first_word(&raw const action.sa_mask) };
        as_kernel_keeps(action.sa_flags, mask)
    };
    one.sa_sigaction == other.sa_sigaction && word(one) == word(other)
}

/// Whether the kernel is to call [`on_handled`] for this action: the handler asks for the alternate
/// stack, and the kernel has another one than the program thinks.
fn moves(action: &libc::sigaction) -> bool {
    let handler = action.sa_sigaction;
    action.sa_flags & libc::SA_ONSTACK != 0
        && ![libc::SIG_DFL, libc::SIG_IGN, on_trap as *const () as usize].contains(&handler)
        && handler_stack::is_known()
        && !modules::asks_kernel_for_stacks()
}

/// Puts the program's handler, which was `handler`, into an answer of the kernel's.
///
/// # Safety
/// `old` must be null or hold an action.
pub(super) unsafe fn tell(handler: Handler, old: *mut libc::sigaction) {
    if !old.is_null() {
        // SAFETY: by contract.
        unsafe { (*old).sa_sigaction = told((*old).sa_sigaction, handler) };
    }
}

/// The program's handler, which was `handler`, where the kernel says that it is [`on_handled`].
pub(super) fn told(kernels: Handler, handler: Handler) -> Handler {
    if kernels == on_handled as *const () as usize { handler } else { kernels }
}
