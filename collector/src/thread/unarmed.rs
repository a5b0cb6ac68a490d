//! The real return address back in its place, for code that looks at the stack, and what is left
//! without returning.
//!
//! No signal is blocked, for exceptions come here for each cleanup; so a sample may come at any
//! point, and its handler holds the thread's state exclusively. What both use is [`Shared`], and
//! lies apart from it: nobody here touches anything else.

#![expect(unsafe_code, reason = "what the calling thread shares with its handler")]

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use super::own_stack::thread_stack_in_use;
use crate::modules::{Reading, foreign};
use crate::process;
use crate::sampler::Shared;
use crate::sealed::sealed;
use crate::trampoline::{Record, Suspended};
use crate::unwind::validate::StackBounds;

/// Puts the real return address back in the calling thread, for code that is about to look at the
/// stack or to leave it by other means than returning. Async-signal-safe, and no system call if the
/// thread is on its own stack: exceptions come here for each cleanup.
///
/// Says `how` it is suspended; with [`Suspended::No`], nobody will tell where the code has led.
pub fn disarm_here(how: Suspended) {
    with_trampoline(|record, live, _| {
        record.suspend(live, how);
        0
    });
}

/// Puts the real return address back, for code that asks where call frame information is, in
/// `caller`, and may be an unwinder. As [`disarm_here`]; but with a glibc before 2.35, where
/// unwinders take the loader's lock to ask, so may this.
///
/// Its own return address it has read before it asks for anything. Where that may be a replaced
/// one, the slot stays as it is, for the unwinder goes on by the trampoline's own call frame
/// information, which reads it: in libgcc's shared library, which the C library enters for
/// cancellation by a jump from functions that are not known as unwinders. So it does where it does
/// not say what it asks for (libgcc before version 12, `pc` is 0).
pub fn disarm_for_lookup(caller: u64, pc: u64) {
    let Some(shared) = Shared::here() else { return };
    match asks(caller) {
        Asks::Shared => return,
        Asks::Static if pc == 0 => return,
        Asks::Static => {}
        Asks::Unknown => shared.suspect.ask(caller),
    }
    with_trampoline(|record, live, _| {
        if record.armed_slot() != 0 {
            // What is suspended already stays so.
            record.disarm(live);
        }
        0
    });
}

/// What asks for call frame information.
enum Asks {
    /// A library that is an unwinder.
    Shared,
    /// An unwinder in a program or library that was linked with it.
    Static,
    /// Whatever it is.
    Unknown,
}

fn asks(pc: u64) -> Asks {
    let known = Reading::begin().and_then(|reading| {
        reading.map().find(pc).map(|stretch| match stretch {
            stretch if stretch.code.rules.unwinder => Asks::Shared,
            stretch if stretch.unwinds(pc) => Asks::Static,
            _ => Asks::Unknown,
        })
    });
    // The C library loads libgcc's by itself; it comes into the load map when a sample has met it.
    known.unwrap_or_else(|| match foreign::is_of_unwinder(pc) {
        true => Asks::Shared,
        false => Asks::Unknown,
    })
}

/// The calling thread is about to go on at the stack pointer `sp` without returning there: what was
/// called from there is left. Async-signal-safe; a system call only if the thread stands on another
/// stack.
pub fn left_to(sp: u64) {
    with_trampoline(|record, live, thread_stack| {
        // A jump to another stack leaves nothing, and nobody jumps inwards.
        let outwards = thread_stack.contains_word(sp) && (live.is_empty() || live.contains(&sp));
        if outwards { record.cut(sp, live) } else { 0 }
    });
}

/// Calls `change` with the record of the calling thread's trampoline, the part of its own stack
/// that is in use, and all of it; counts the lost returns that it returns.
fn with_trampoline(change: impl FnOnce(&Record, Range<u64>, StackBounds) -> u64) {
    let Some(shared) = Shared::here() else { return };
    let (record, live) = (&shared.record, thread_stack_in_use(shared.stack));
    let slot = record.armed_slot();
    // Nothing is cached; or the armed slot must be asked for, and no system call is allowed any
    // more, but no sample comes either.
    if record.inner().is_null() || sealed() && slot != 0 && !live.contains(&slot) {
        return;
    }
    let lost = change(record, live, shared.stack);
    // In the child of a fork by hand, the count would be the parent's.
    if lost > 0 && process::current().is_some() {
        // SAFETY: a counter in the thread's arena, which is mapped as long as the thread is
        // sampled; its handler may count in between.
        unsafe { AtomicU64::from_ptr(shared.lost_returns) }.fetch_add(lost, Ordering::Relaxed);
    }
}
