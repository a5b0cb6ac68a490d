//! Return addresses replaced and put back: what a thread's [`Record`] does to its stack.

#![expect(unsafe_code, reason = "stack slots")]

use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{Ordering, compiler_fence};

use super::entry;
use super::sites::{SITES, TABLE};
use super::{Activation, Record, SENTINEL, Suspended};
use crate::arch::{InterruptedReturn, STRIDE, trampoline_start};
use crate::sys;

/// The return address for which `word` stands: that of the site if it is an entry, else the word
/// itself. Either side.
#[must_use]
#[inline]
pub fn real(word: u64) -> u64 {
    let offset = word.wrapping_sub(trampoline_start());
    if offset >= (SITES * STRIDE) as u64 || !offset.is_multiple_of(STRIDE as u64) {
        return word;
    }
    TABLE.get(offset as usize / STRIDE).map_or(word, |site| site.real.load(Ordering::Acquire))
}

// Relaxed, as in the record itself.
impl Record {
    fn suspended(&self) -> bool {
        self.suspended.load(Ordering::Relaxed) != Suspended::No as u8
    }

    fn set_suspended(&self, how: Suspended) {
        self.suspended.store(how as u8, Ordering::Relaxed);
    }

    /// What stands in the armed slot, while one is armed.
    fn entry_address(&self) -> u64 {
        // SAFETY: points into the path while something is armed.
        let mark = unsafe { (*self.armed()).site };
        entry::address(mark)
    }

    /// Where the return leads that the trampoline is busy with, when it is interrupted at `pc` with
    /// the stack pointer `sp`: the entry of the caller, and the real return address. `None` if it
    /// is none of this record's.
    #[must_use]
    pub fn returning_to(&self, pc: u64, sp: u64) -> Option<(*const Activation, u64)> {
        let place = InterruptedReturn::at(pc, sp)?;
        if self.inner().is_null() {
            return None;
        }
        let returning = if place.moved { self.inner().wrapping_add(1) } else { self.armed() };
        // SAFETY: both point into the path; where the trampoline has moved on, it has just popped
        // the entry behind `inner`, and nothing was written there since.
        let entry = unsafe { *returning };
        (entry.slot == place.slot && entry.site != SENTINEL)
            .then(|| (returning.wrapping_sub(1), entry.real))
    }

    /// Puts the real return address back, if it is still replaced; whether it was. If it was not,
    /// the activation is gone, or is returning right now and was interrupted by a handler of the
    /// program: the record stays as it is.
    ///
    /// `stack` is the range of addresses that are certainly mapped stack of this thread. A slot
    /// elsewhere is looked at through the kernel first.
    pub fn disarm(&self, stack: Range<u64>) -> bool {
        let slot = self.armed_slot();
        self.set_suspended(Suspended::No);
        if slot == 0 {
            return false;
        }
        let (entry, real) = (self.entry_address(), self.real.load(Ordering::Relaxed));
        // Forgotten only after it was put right: a sample that comes in between walks on.
        let was_armed = (stack.contains(&slot) || sys::probe(slot) == Some(entry)) && {
            // SAFETY: inside the live stack, or just found to be mapped and to hold our address.
            unsafe { sys::swap_word(slot, entry, real) }
        };
        if was_armed {
            compiler_fence(Ordering::SeqCst);
            self.armed_slot.store(0, Ordering::Relaxed);
        }
        was_armed
    }

    /// Disarms until [`Record::cut`] says where the code that is about to run has led, or
    /// [`Record::resume`] that it is over.
    pub fn suspend(&self, stack: Range<u64>, how: Suspended) {
        let inside = self.suspended.load(Ordering::Relaxed) == Suspended::Outer as u8;
        if self.disarm(stack) || inside {
            self.set_suspended(how);
        }
    }

    /// The thread is about to go on with the stack pointer `sp`, further out than here, without
    /// returning: forgets the cached activations inside, and arms the innermost safe one that is
    /// left. Returns how many activations are forgotten.
    ///
    /// `stack` as for [`Record::disarm`]; `sp` is in the thread's own stack. It may be interrupted
    /// at any point, by a sample too, which arms nothing while this library is on the stack.
    pub fn cut(&self, sp: u64, stack: Range<u64>) -> u64 {
        if self.inner().is_null() {
            return 0;
        }
        // SAFETY: points into the path, which is mapped as long as its thread lives.
        let innermost = unsafe { *self.inner() };
        if self.armed_slot() != 0 && innermost.slot >= sp {
            return 0;
        }
        let (inner, left) = self.innermost_outside(sp);
        let known = self.suspended() || self.disarm(stack);
        self.armed_slot.store(0, Ordering::Relaxed);
        self.inner.store(inner.cast_mut(), Ordering::Relaxed);
        if known {
            // SAFETY: `inner` points into the path. What is left of it is as it was when it was
            // armed: since then no activation but those inside has been left.
            unsafe {
                let entry = *inner;
                let armed =
                    if entry.is_safe() { inner } else { inner.byte_offset(entry.next as isize) };
                self.arm(armed, inner);
            }
        }
        left
    }

    /// Arms what was armed when the record was suspended, in the same call.
    pub fn resume(&self) {
        if self.suspended() {
            // SAFETY: as it was before, for no activation was left since.
            unsafe { self.arm(self.armed(), self.inner()) };
        }
    }

    /// How many cached activations are not there any more, at the end of a thread that is
    /// disarmed. `stack` is what is in use of its stack.
    #[must_use]
    pub fn left_at_end(&self, stack: Range<u64>) -> u64 {
        let mut entry = self.inner();
        let mut left = 0;
        while !entry.is_null() {
            // SAFETY: points into the path, which begins with a sentinel.
            let seen = unsafe { *entry };
            if seen.site == SENTINEL {
                break;
            }
            let there = stack.contains(&seen.slot) && {
                // SAFETY: inside the live stack.
                let word = unsafe {
                    core::ptr::with_exposed_provenance::<u64>(seen.slot as usize).read_volatile()
                };
                real(word) == seen.real
            };
            left += u64::from(seen.slot != 0 && !there);
            // SAFETY: a non-sentinel has a predecessor.
            entry = unsafe { entry.sub(1) };
        }
        left
    }

    /// The innermost cached activation whose slot is not below `sp`, else the outermost of all; and
    /// how many with a slot lie inside it.
    fn innermost_outside(&self, sp: u64) -> (*const Activation, u64) {
        let mut entry = self.inner();
        let mut left = 0;
        loop {
            // SAFETY: points into the path, which begins with a sentinel; the walk stops there at
            // the latest.
            let (seen, outer) =
                unsafe { (*entry, *entry.sub(usize::from((*entry).site != SENTINEL))) };
            if seen.slot >= sp || seen.site == SENTINEL || outer.site == SENTINEL {
                return (entry, left);
            }
            left += u64::from(seen.slot != 0);
            // SAFETY: it has a predecessor, seen above.
            entry = unsafe { entry.sub(1) };
        }
    }

    /// Whether the armed slot still holds the trampoline. It does not after its activation was
    /// left by a jump (longjmp, an exception that could not be seen): its place on the stack has
    /// then become free or another activation's.
    ///
    /// `stack` is what is in use of this thread's own stack. A slot elsewhere is looked at through
    /// the kernel.
    #[must_use]
    pub fn is_in_place(&self, stack: Range<u64>) -> bool {
        let slot = self.armed_slot();
        if slot == 0 {
            return false;
        }
        let word = if stack.contains(&slot) {
            // SAFETY: inside the live stack, by contract.
            Some(unsafe {
                core::ptr::with_exposed_provenance::<u64>(slot as usize).read_volatile()
            })
        } else {
            sys::probe(slot)
        };
        word == Some(self.entry_address())
    }

    /// Replaces the return address of the activation `armed`, whose slot must be in live stack of
    /// this thread; `inner` is the innermost cached activation. With the sentinel as `armed`,
    /// nothing is replaced. The trampoline must be disarmed.
    ///
    /// # Safety
    /// Both must point into the thread's path, `armed` not inside `inner`, and everything from
    /// the sentinel to `inner` must describe the stack as it is.
    pub unsafe fn arm(&self, armed: *const Activation, inner: *const Activation) {
        // SAFETY: points into the path, by contract.
        let target = unsafe { *armed };
        self.set_suspended(Suspended::No);
        self.real.store(target.real, Ordering::Relaxed);
        self.rest(armed, inner);
        // Said before it is done: a sample that comes in between finds the slot as it was.
        self.armed_slot.store(target.slot, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if target.slot == 0 {
            return;
        }
        // SAFETY: the slot was read when the path was walked and lies in live stack, by contract.
        let is_armed = unsafe {
            let entry = entry::address(target.site);
            // A copy of the stack may have brought an entry back that had been put right.
            sys::swap_word(target.slot, target.real, entry)
                || sys::swap_word(target.slot, entry, entry)
        };
        if !is_armed {
            self.armed_slot.store(0, Ordering::Relaxed);
        }
    }

    /// After a fork, in the child, disarmed: the trampoline may be busy with the record, if the
    /// fork was made by a handler that interrupted it. It comes to its end without arming anything;
    /// record, path and counts must stay where they are.
    pub fn abandon(&self) {
        self.set_suspended(Suspended::No);
        let mut entry = self.inner().max(self.armed()).cast_mut();
        let mut entries: Vec<*mut Activation> = Vec::new();
        // SAFETY: points into the path, which begins with a sentinel.
        while !entry.is_null() && unsafe { (*entry).site } != SENTINEL {
            entries.push(entry);
            // SAFETY: a non-sentinel has a predecessor.
            entry = unsafe { entry.sub(1) };
        }
        for (distance, &entry) in entries.iter().rev().enumerate() {
            // SAFETY: in the path, of which nobody else holds a reference; the body of the
            // trampoline goes on when this is done.
            unsafe { (*entry).next = -((distance as i64 + 1) * size_of::<Activation>() as i64) };
        }
    }
}
