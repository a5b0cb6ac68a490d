//! Around a fork: the thread that calls it is not sampled until both processes know who they are.

#![expect(unsafe_code, reason = "the state of the calling thread")]

use super::own_stack::thread_stack_in_use;
use super::spare::Spare;
use super::{Thread, begin, current, handler_stack, registry, set_current};
use crate::process;
use crate::sys::{self, Mask};
use crate::trampoline::{self, Suspended};
use alloc::boxed::Box;

/// Before a fork: the calling thread must not be sampled, nor have a replaced return address,
/// until both processes know who they are.
pub fn pause_here() {
    let thread = current();
    if thread.is_null() {
        return;
    }
    let mask = sys::set_mask(Mask::ALL);
    // SAFETY: this thread's state, with the signal blocked.
    let thread = unsafe { &mut *thread };
    let live = thread_stack_in_use(thread.stack.bounds);
    thread.sampler.shared().record.suspend(live, Suspended::Yes);
    thread.paused_mask = Some(mask);
}

/// After a fork, in the parent.
pub fn resume_here() {
    let thread = current();
    if thread.is_null() {
        return;
    }
    // SAFETY: this thread's state; the signal is still blocked from `pause_here`.
    let thread = unsafe { &mut *thread };
    thread.sampler.shared().record.resume();
    if let Some(mask) = thread.paused_mask.take() {
        sys::set_mask(mask);
    }
}

/// After a fork, in the child: only this thread exists, and its tree begins anew.
pub fn restart_after_fork() {
    let (old, mask) = take_after_fork();
    if let (Some(process), Some(old)) = (process::current(), old) {
        // All signals are blocked since `pause_here`.
        let (stack, place) = handler_stack::with_room(|| {
            let Thread { sampler, stack, .. } = *old;
            let (buffers, place) = sampler.leave_to_child();
            if let Some(buffers) = buffers {
                registry::leave_spare(Spare { buffers, handlers: None });
            }
            (stack, place)
        });
        begin(process, stack, None, place);
    }
    if let Some(mask) = mask {
        sys::set_mask(mask);
    }
}

/// Does `work`, which takes much of the stack, where there is room, if the calling thread was
/// paused, in the child, too.
pub fn with_room<T>(work: impl FnOnce() -> T) -> T {
    let thread = current();
    // SAFETY: this thread's state, if it has one; where it was paused, all signals are blocked.
    match unsafe { thread.as_ref() } {
        Some(thread) if thread.is_paused() => handler_stack::with_room(work),
        _ => work(),
    }
}

/// After a fork, in a child that cannot be profiled.
pub fn drop_after_fork() {
    let (old, mask) = take_after_fork();
    if let Some(mut old) = old {
        old.sampler.keep();
    }
    if let Some(mask) = mask {
        sys::set_mask(mask);
    }
}

fn take_after_fork() -> (Option<Box<Thread>>, Option<Mask>) {
    registry::forget_all();
    let thread = current();
    if thread.is_null() {
        return (None, None);
    }
    set_current(core::ptr::null_mut());
    // SAFETY: null. The old record stays, or its place is used again.
    unsafe { trampoline::set_current(core::ptr::null()) };
    // SAFETY: this thread's state, now found by nobody else; `pause_here` blocked the signal and
    // disarmed the trampoline.
    let mut thread = unsafe { Box::from_raw(thread) };
    let mask = thread.paused_mask.take();
    (Some(thread), mask)
}
