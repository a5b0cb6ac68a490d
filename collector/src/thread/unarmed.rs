//! The real return address back in its place, for code that looks at the stack, and what is left without
//! returning.
//!
//! No signal is blocked: see [`Record::cut`].

#![expect(unsafe_code, reason = "the state of the calling thread")]

use core::ops::Range;

use super::current;
use super::stack::thread_stack_in_use;
use crate::modules::Reading;
use crate::process;
use crate::sampling::Suspect;
use crate::trampoline::{Record, Suspended, is_trampoline_code};
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

/// Puts the real return address back, for an unwinder in which `caller` asks for the function at `pc`
/// before it reads the return addresses outside; or for code that may be one. As [`disarm_here`].
///
/// Its own return address it has read before it asks for anything. If that was the replaced one, it
/// asks for the trampoline, and finds the slot as the trampoline's call frame information has it. Where
/// it does not say what it asks for (libgcc before version 12, `pc` is 0), the slot stays as it is.
pub fn disarm_for_lookup(caller: u64, pc: u64) {
    // SAFETY: null or this thread's state; a sample that comes in between reads a whole word.
    let Some(thread) = (unsafe { current().as_mut() }) else { return };
    if !is_known_unwinder(caller) {
        thread.suspect = Suspect::new(caller);
    } else if pc == 0 {
        return;
    }
    // A return address is looked up in the call before it.
    let is_trampoline = is_trampoline_code(pc) || is_trampoline_code(pc.wrapping_add(1));
    with_trampoline(|record, live, _| {
        if is_trampoline {
            record.arm_again(live);
        } else if record.armed_slot != 0 {
            // What is suspended already stays so.
            record.disarm(live);
        }
        0
    });
}

fn is_known_unwinder(pc: u64) -> bool {
    Reading::begin()
        .is_some_and(|reading| reading.map().find(pc).is_some_and(|code| code.unwinds(pc)))
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

/// Calls `change` with the record of the calling thread's trampoline, the part of its own stack that
/// is in use, and all of it; counts the lost returns that it returns. No signal is blocked:
/// see [`Record::cut`].
fn with_trampoline(change: impl FnOnce(&mut Record, Range<u64>, StackBounds) -> u64) {
    let thread = current();
    if thread.is_null() {
        return;
    }
    // SAFETY: this thread's state. A sample that comes in between reads of it only what is changed
    // one word at a time, and changes what is not used here.
    let thread = unsafe { &mut *thread };
    let live = thread_stack_in_use(thread.stack.bounds);
    let Some(trampoline) = &mut thread.trampoline else { return };
    let record = trampoline.record();
    // Nothing is cached; or the armed slot must be asked for, and no system call is allowed any
    // more, but no sample comes either.
    if record.inner.is_null()
        || process::sealed() && record.armed_slot != 0 && !live.contains(&record.armed_slot)
    {
        return;
    }
    let lost = change(record, live, thread.stack.bounds);
    // In the child of a fork by hand, the count would be the parent's.
    if lost > 0 && process::current().is_some() {
        thread.arena.record_mut().lost_returns += lost;
    }
}
