//! Signal masks: the signals of samples are never blocked, and the thread reads back that they are.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::c_int;

use libc::sigset_t;

use super::words::{first_word, mask_of};
use super::{BIT, SIGNAL, kept};
use crate::preload::real::{functions, no_call};
use crate::preload::stub;
use crate::preload::under_way::Waits;
use crate::preload::view::{Belief, BlockedSince, SettledChild, sampled};
use crate::sealed::sealed;
use crate::sources::loan::{TRAP, bit};
use crate::sys::{self, Mask};

/// Either of the two functions that set a mask; they differ in how they return an error.
type SetMask = unsafe fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// Which signals of samples the thread has blocked, it thinks, as a mask.
pub(in crate::preload) fn believed() -> u64 {
    believed_with(|| sys::block(Mask(0)).0)
}

/// The same of a thread that was interrupted. Signal side.
pub(super) fn believed_in(context: &libc::ucontext_t) -> u64 {
    // SAFETY: the mask to return to, of which the kernel has one word.
    believed_with(|| unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() })
}

/// The same where the kernel has `mask`, which it puts back when a handler of the program's
/// returns: what was blocked in one is open again then. In a wait the mask is another for its time.
fn believed_with(mask: impl FnOnce() -> u64) -> u64 {
    let of = |belief: Belief, signal| if belief.get() { bit(signal) } else { 0 };
    let believed = of(Belief::SignalBlocked, SIGNAL) | of(Belief::TrapBlocked, TRAP);
    let since = BlockedSince::get();
    if believed == 0 || since == 0 || !sampled() || Waits::any() {
        return believed;
    }
    let mask = mask();
    if since & !mask == 0 || mask & believed != 0 {
        return believed;
    }
    believe(0);
    0
}

/// Sets what the thread thinks.
pub(in crate::preload) fn believe(word: u64) {
    Belief::SignalBlocked.set(word & bit(SIGNAL) != 0);
    Belief::TrapBlocked.set(word & bit(TRAP) != 0);
    BlockedSince::set(0);
}

/// Calls sigset(3) or sigrelse(3) of the C library, which may open this other signal.
pub(super) fn opening<T>(signal: c_int, call: impl FnOnce() -> T) -> T {
    let result = call();
    if (1..=64).contains(&signal) {
        BlockedSince::set(BlockedSince::get() & !bit(signal));
    }
    result
}

/// What is no signal of samples any more is blocked as the thread thinks.
pub(super) fn settle() {
    settle_but(kept());
}

/// All is blocked as the thread thinks.
pub(super) fn settle_all() {
    settle_but(0);
}

/// In a handler that has interrupted a held call: the kernel is given the mask that the program
/// knows of, until the handler returns; or for good, if it leaves the call.
pub(in crate::preload) fn open_held() {
    if Waits::hold() {
        sys::unblock(Mask(kept() & !believed()));
    }
}

/// In a child on this memory all is blocked as its parent thinks: the child has the thread's own
/// view in common with it. From here on its mask is the kernel's.
pub(super) fn settle_child() {
    let child = sys::pid().into();
    if SettledChild::get() != child {
        SettledChild::set(child);
        sys::block(Mask(believed()));
    }
}

fn settle_but(kept: u64) {
    let open = believed() & !kept;
    if open != 0 {
        sys::block(Mask(open));
        believe(believed() & kept);
    }
}

/// Of the signals of samples those that the kernel has blocked for the program: while a handler of
/// the program's for one of them runs. What is changed there ends with the handler, so it is the
/// kernel's to remember.
pub(in crate::preload) fn really_blocked() -> u64 {
    if Waits::hold() { 0 } else { sys::block(Mask(0)).0 & kept() }
}

/// Those of `named`, which the program blocks, that the kernel is not to hear of: all that it has
/// not blocked for the program. Asks the kernel only if there are any. In a handler that has
/// interrupted a held call they are left to the kernel, which forgets them when the handler
/// returns.
fn not_for_kernel(named: u64, before: u64, held: Held) -> u64 {
    match (named, held) {
        (0, _) => 0,
        (_, Held::InHandler) => named & before,
        _ => named & !really_blocked(),
    }
}

/// Whether the mask of a held call is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    No,
    /// In a handler that has interrupted the call.
    InHandler,
    /// In the call itself, which a library in front of the C library has: it goes on to wait.
    InCall,
}

impl Held {
    fn now() -> Self {
        let here = 0_u64;
        if !Waits::hold() {
            Self::No
        } else if Waits::are_innermost_at((&raw const here).addr() as u64) {
            Self::InCall
        } else {
            Self::InHandler
        }
    }
}

/// In a handler that has interrupted a held call: whether the mask for its time, which has been
/// changed by this, is the program's or csprof's. As long as it is open it does not matter.
fn note_holder(how: c_int, word: u64, after: u64) {
    let blocks = how != libc::SIG_UNBLOCK;
    if blocks && word & kept() & !after != 0 {
        Waits::take_over();
    } else if how == libc::SIG_SETMASK || !blocks && word & BIT != 0 {
        Waits::give_back();
    }
}

/// Changes the mask without the signals of samples and keeps the thread's own view of them.
pub(super) unsafe fn change(
    set_mask: SetMask,
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    if !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { change_for_good(set_mask, how, new, old) };
    }
    settle();
    let held = Held::now();
    let before = believed();
    let mut after = before;
    let mut passed = new;
    let filtered;
    // SAFETY: if not null, the program points to a mask.
    let word = (!new.is_null()).then(|| unsafe { first_word(new) });
    if let Some(word) = word {
        let named = word & kept();
        after = match how {
            libc::SIG_UNBLOCK => before & !named,
            libc::SIG_BLOCK => before | not_for_kernel(named, before, held),
            _ => not_for_kernel(named, before, held),
        };
        // What is blocked of them in the call stays so, for what waits in it.
        let stays = match (held, how) {
            (Held::InCall, libc::SIG_SETMASK) => sys::block(Mask(0)).0 & kept(),
            _ => 0,
        };
        let hidden = match (held, how) {
            (Held::InCall, _) => named,
            (_, libc::SIG_UNBLOCK) => 0,
            _ => named & after,
        };
        if hidden != 0 || stays != 0 {
            filtered = mask_of(word & !hidden | stays);
            passed = &raw const filtered;
        }
    }
    let since = BlockedSince::get();
    if word.is_some() {
        // Before the call: what it unblocks is delivered before it returns.
        believe(after);
    }
    // SAFETY: `passed` is the program's mask or a copy without the signals.
    let result = unsafe { set_mask(how, passed, old) };
    if result != 0 {
        believe(before);
        BlockedSince::set(since);
        return result;
    }
    if let Some(word) = word {
        if after != 0 {
            let mask = sys::block(Mask(0)).0 & !kept();
            BlockedSince::set(if before == 0 { mask } else { since & mask });
        }
        if held != Held::InCall {
            note_holder(how, word, after);
        }
    }
    if !old.is_null() && (before != 0 || held != Held::No) {
        let held = if held == Held::No { 0 } else { kept() };
        // SAFETY: the call succeeded, so it wrote the first word of `old`.
        unsafe { old.cast::<u64>().write_unaligned(first_word(old) & !held | before) };
    }
    result
}

/// The same where nothing is sampled any more. What the thread still thinks that it has blocked
/// goes to the kernel by the program's own call: of another one a filter may know nothing.
unsafe fn change_for_good(
    set_mask: SetMask,
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    let before = if stub::engaged() {
        settle_child();
        0
    } else {
        believed()
    };
    if before == 0 {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { set_mask(how, new, old) };
    }
    // SAFETY: if not null, the program points to a mask.
    let word = if new.is_null() { 0 } else { unsafe { first_word(new) } };
    let adds = new.is_null() || how == libc::SIG_BLOCK;
    let added = mask_of(word | before);
    let (how, passed) = if adds { (libc::SIG_BLOCK, &raw const added) } else { (how, new) };
    if !adds {
        // Before the call: what it unblocks is delivered before it returns.
        believe(if how == libc::SIG_UNBLOCK { before & !word } else { 0 });
    }
    // SAFETY: `passed` is the program's mask or a live local.
    let result = unsafe { set_mask(how, passed, old) };
    if result != 0 {
        believe(before);
        return result;
    }
    if adds {
        believe(0);
    }
    if !old.is_null() {
        // SAFETY: the call succeeded, so it wrote the first word of `old`.
        unsafe { old.cast::<u64>().write_unaligned(first_word(old) | before) };
    }
    result
}

/// In a handler, of a thread that thinks that it has blocked this signal of samples: what was
/// interrupted has blocked it from here on. After a seal, nothing else does that for it.
pub(super) fn block_interrupted(signal: c_int, context: &mut libc::ucontext_t) {
    // SAFETY: the mask to return to, of which the kernel has one word.
    unsafe { *(&raw mut context.uc_sigmask).cast::<u64>() |= bit(signal) };
    if sealed() {
        believe(believed_in(context) & !bit(signal));
    }
}

/// The kernel is about to hear of this signal by another call: the thread's own view of it ends,
/// where nothing is sampled any more. Returns whether the thread thought that it was blocked.
pub(super) fn forget(signal: c_int) -> bool {
    let thought = !stub::engaged() && believed() & bit(signal) != 0;
    if thought {
        believe(believed() & !bit(signal));
    }
    thought
}

/// Blocks or unblocks one signal; returns whether the thread thought that it was blocked.
pub(super) fn change_one(signal: c_int, how: c_int) -> bool {
    let set = mask_of(bit(signal));
    let mut before = mask_of(0);
    // SAFETY: live locals.
    unsafe { change(sigprocmask::real, how, &raw const set, &raw mut before) };
    // SAFETY: a live local.
    unsafe { first_word(&raw const before) & bit(signal) != 0 }
}

functions! {
    fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int, else no_call();
    fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int, else libc::ENOSYS;
    fn sighold(signal: c_int) -> c_int, else no_call();
    fn sigrelse(signal: c_int) -> c_int, else no_call();
}

/// sigprocmask(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { change(sigprocmask::real, how, new, old) }
}

/// pthread_sigmask(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { change(pthread_sigmask::real, how, new, old) }
}

/// Changes the mask as 4.2BSD did, where one is an `int`; returns the one before.
fn change_bsd(how: c_int, mask: c_int) -> c_int {
    let set = mask_of(u64::from(mask.cast_unsigned()));
    let mut before = mask_of(0);
    // SAFETY: live locals.
    unsafe { change(sigprocmask::real, how, &raw const set, &raw mut before) };
    // SAFETY: a live local.
    unsafe { first_word(&raw const before) as c_int }
}

/// sigblock(3).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sigblock(mask: c_int) -> c_int {
    change_bsd(libc::SIG_BLOCK, mask)
}

/// sigsetmask(3).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sigsetmask(mask: c_int) -> c_int {
    change_bsd(libc::SIG_SETMASK, mask)
}

/// siggetmask(3).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn siggetmask() -> c_int {
    change_bsd(libc::SIG_BLOCK, 0)
}

/// sighold(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sighold(signal: c_int) -> c_int {
    if signal == SIGNAL || signal == TRAP {
        change_one(signal, libc::SIG_BLOCK);
        return 0;
    }
    // SAFETY: takes no pointers.
    unsafe { sighold::real(signal) }
}

/// sigrelse(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigrelse(signal: c_int) -> c_int {
    if signal == SIGNAL || signal == TRAP {
        change_one(signal, libc::SIG_UNBLOCK);
        return 0;
    }
    // SAFETY: takes no pointers.
    opening(signal, || unsafe { sigrelse::real(signal) })
}
