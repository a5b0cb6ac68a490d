//! The return trampoline: edge counts, and samples that unwind only what is new.
//!
//! ICS'05 sections 2.3 and 2.4. At most one return address per thread is replaced by the address
//! of that thread's entry ([`entry`]). When the activation returns, the entry counts the return
//! on the activation's node and moves itself one frame up. A sample that finds the replaced slot
//! while unwinding knows everything above it already.
//!
//! The cached path is an array of [`Entry`]s, outermost first, behind a sentinel with slot 0.
//! Each stands for one activation: the slot of its return address, the address that belongs
//! there, and the node whose edge count its return adds to.
//!
//! Invariants: a slot holds an entry's address only while the record says so (`armed_slot`); all
//! writers are the thread itself: its handler, its trampoline, or setup code with the profiling
//! signal blocked. A handler that interrupted the trampoline changes nothing.

#![expect(unsafe_code, reason = "stack slots and the record shared with assembly")]

use alloc::vec::Vec;
mod entry;
pub mod rules;

use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence};

use entry::Place;
pub use entry::{is_entry, is_trampoline_code};

use crate::sys;

/// Threads that can have a trampoline at the same time.
pub const RECORDS: usize = 2048;

/// What the entry code knows about its thread. Written by that thread only.
#[derive(Debug)]
#[repr(C)]
pub struct Record {
    /// Address of the slot that holds the entry's address; 0 if none does.
    pub armed_slot: u64,
    /// The return address that belongs into the armed slot.
    pub real: u64,
    /// The armed activation; the sentinel if none.
    pub armed: *const Entry,
    /// The innermost cached activation whose return is not counted yet.
    pub inner: *const Entry,
    /// Thread pointer (`fs:0`) of the owner.
    pub owner: u64,
    /// Address of this record's entry.
    pub entry_address: u64,
    /// The thread's counter of returns, in the arena.
    pub returns: *mut u64,
    /// The last slots that were armed by the handler and what belonged there.
    recent: [Armed; RECENT],
    recent_next: u32,
    suspended: Suspended,
}

/// Whether the trampoline was armed until the code that runs now was called: what that leaves on
/// the stack is then known, and may be armed again. Else returns may have gone unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Suspended {
    /// No, or it is armed.
    No,
    /// Yes.
    Yes,
    /// Yes, and the code may call more that suspends.
    Outer,
}

/// A slot that was armed and what belonged there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Armed {
    slot: u64,
    real: u64,
}

const RECENT: usize = 4;

const _: () = assert!(size_of::<Record>() == 128);

/// One activation of the cached path.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Entry {
    /// Where its return address is; 0 for the sentinel and where the place is not known.
    pub slot: u64,
    /// The return address that belongs there.
    pub real: u64,
    /// Edge count of the node that represents the activation; of lost returns, where its end cannot
    /// be seen.
    pub edge: *mut u64,
    /// Distance in bytes, negative, to the entry to arm when this one has returned.
    pub next: i64,
    /// The node that represents the activation.
    pub node: u32,
    /// Whether its return address may be replaced (1) or not (0); [`SENTINEL`] for the sentinel.
    pub safe: u32,
}

const _: () = assert!(size_of::<Entry>() == 40);

/// [`Entry::safe`] of the sentinel.
pub const SENTINEL: u32 = 2;

impl Entry {
    /// What the path stands on: armed when nothing is.
    #[must_use]
    pub const fn sentinel() -> Self {
        Self { slot: 0, real: 0, edge: core::ptr::null_mut(), next: 0, node: 0, safe: SENTINEL }
    }
}

/// Which records are taken, one bit each.
static TAKEN: [AtomicU64; RECORDS / 64] = [const { AtomicU64::new(0) }; RECORDS / 64];

/// Where the search for a free record begins.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// A thread's claim on a record.
#[derive(Debug)]
pub struct Trampoline {
    number: usize,
}

impl Trampoline {
    /// Takes a free record for the calling thread; `None` if all are taken. Setup side.
    pub fn claim(returns: *mut u64) -> Option<Self> {
        let first = FIRST.load(Ordering::Relaxed);
        let number = (0..RECORDS).map(|number| (first + number) % RECORDS).find(|number| {
            let bit = 1 << (number % 64);
            let word = &TAKEN[number / 64];
            // Looked at first, for where threads are many most are taken. Acquire: pairs with the release in
            // `release`; the record's last owner is done.
            word.load(Ordering::Relaxed) & bit == 0
                && word.fetch_or(bit, Ordering::Acquire) & bit == 0
        })?;
        let record = Record {
            armed_slot: 0,
            real: 0,
            armed: core::ptr::null(),
            inner: core::ptr::null(),
            owner: thread_pointer(),
            entry_address: entry::entry_address(number),
            returns,
            recent: [Armed { slot: 0, real: 0 }; RECENT],
            recent_next: 0,
            suspended: Suspended::No,
        };
        // SAFETY: the record is ours since the exchange above, and not armed anywhere.
        unsafe { entry::record(number).write(record) };
        Some(Self { number })
    }

    /// The record.
    #[inline]
    pub fn record(&mut self) -> &mut Record {
        // SAFETY: claimed by this thread; the assembly runs in this thread too, but never
        // while this code does.
        unsafe { &mut *entry::record(self.number) }
    }

    /// Gives the record back. The trampoline must be disarmed. Setup side.
    pub fn release(mut self) {
        // The path goes to another thread.
        self.record().inner = core::ptr::null();
        let (word, bit) = (&TAKEN[self.number / 64], 1 << (self.number % 64));
        // Release: pairs with the acquire in `claim`.
        word.fetch_and(!bit, Ordering::Release);
    }

    /// After a fork, in the child, disarmed: gives all records back but this one, with which the
    /// trampoline may be busy: the fork was made by a handler that interrupted it. It comes to its
    /// end without arming anything; path and counts must stay mapped.
    pub fn abandon(mut self) {
        for word in &TAKEN {
            word.store(0, Ordering::Relaxed);
        }
        TAKEN[self.number / 64].store(1 << (self.number % 64), Ordering::Relaxed);
        // A handler may fork again in the child, on the same interrupted return: not this record
        // next, nor the one after it.
        FIRST.store(self.number + 1, Ordering::Relaxed);
        let record = self.record();
        record.suspended = Suspended::No;
        let mut entry = record.inner.max(record.armed).cast_mut();
        let mut entries: Vec<*mut Entry> = Vec::new();
        // SAFETY: points into the path, which begins with a sentinel.
        while !entry.is_null() && unsafe { (*entry).safe } != SENTINEL {
            entries.push(entry);
            // SAFETY: a non-sentinel has a predecessor.
            entry = unsafe { entry.sub(1) };
        }
        for (distance, &entry) in entries.iter().rev().enumerate() {
            // SAFETY: in the path, of which nobody else holds a reference; the body of the
            // trampoline goes on when this is done.
            unsafe { (*entry).next = -((distance as i64 + 1) * size_of::<Entry>() as i64) };
        }
    }
}

impl Record {
    /// Where the return leads that the trampoline is busy with, when it is interrupted at `pc` with
    /// the stack pointer `sp`: the entry of the caller, and the real return address. `None` if it
    /// is none of this record's.
    #[must_use]
    pub fn returning_to(&self, pc: u64, sp: u64) -> Option<(*const Entry, u64)> {
        let place = Place::at(pc, sp)?;
        if self.inner.is_null() {
            return None;
        }
        let returning = if place.moved { self.inner.wrapping_add(1) } else { self.armed };
        // SAFETY: both point into the path; where the trampoline has moved on, it has just popped
        // the entry behind `inner`, and nothing was written there since.
        let entry = unsafe { *returning };
        (entry.slot == place.slot && entry.safe != SENTINEL)
            .then(|| (returning.wrapping_sub(1), entry.real))
    }

    /// Puts the real return address back, if it is still replaced; whether it was. If it was not,
    /// the activation is gone, or is returning right now and was interrupted by a handler of the
    /// program: the record stays as it is.
    ///
    /// `stack` is the range of addresses that are certainly mapped stack of this thread. A slot
    /// elsewhere is looked at through the kernel first.
    pub fn disarm(&mut self, stack: Range<u64>) -> bool {
        let slot = self.armed_slot;
        self.suspended = Suspended::No;
        if slot == 0 {
            return false;
        }
        // Forgotten only after it was put right: a sample that comes in between walks on.
        let was_armed = (stack.contains(&slot) || sys::probe(slot) == Some(self.entry_address))
            && {
                // SAFETY: inside the live stack, or just found to be mapped and to hold our address.
                unsafe { sys::swap_word(slot, self.entry_address, self.real) }
            };
        if was_armed {
            forget_after(&mut self.armed_slot);
        }
        was_armed
    }

    /// Disarms until [`Record::cut`] says where the code that is about to run has led, or
    /// [`Record::resume`] that it is over.
    pub fn suspend(&mut self, stack: Range<u64>, how: Suspended) {
        let inside = self.suspended == Suspended::Outer;
        if self.disarm(stack) || inside {
            self.suspended = how;
        }
    }

    /// The thread is about to go on with the stack pointer `sp`, further out than here, without
    /// returning: forgets the cached activations inside, and arms the innermost safe one that is
    /// left. Returns how many activations are forgotten.
    ///
    /// `stack` as for [`Record::disarm`]; `sp` is in the thread's own stack. It may be interrupted
    /// at any point, by a sample too, which arms nothing while this library is on the stack.
    pub fn cut(&mut self, sp: u64, stack: Range<u64>) -> u64 {
        if self.inner.is_null() {
            return 0;
        }
        // SAFETY: points into the path, which is mapped as long as its thread lives.
        let innermost = unsafe { *self.inner };
        if self.armed_slot != 0 && innermost.slot >= sp {
            return 0;
        }
        let (inner, left) = self.innermost_outside(sp);
        let known = self.suspended != Suspended::No || self.disarm(stack);
        self.armed_slot = 0;
        self.inner = inner;
        if known {
            // SAFETY: `inner` points into the path. What is left of it is as it was when it was
            // armed: since then no activation but those inside has been left.
            unsafe {
                let entry = *inner;
                let armed =
                    if entry.safe == 1 { inner } else { inner.byte_offset(entry.next as isize) };
                self.arm(armed, inner);
            }
        }
        left
    }

    /// Arms what was armed when the record was suspended, in the same call.
    pub fn resume(&mut self) {
        if self.suspended != Suspended::No {
            // SAFETY: as it was before, for no activation was left since.
            unsafe { self.arm(self.armed, self.inner) };
        }
    }

    /// Arms what was armed before the last [`Record::disarm`], if nothing is, for an unwinder that
    /// has read the slot before that.
    pub fn arm_again(&mut self, stack: Range<u64>) {
        // SAFETY: points into the path, as `inner` does, which is not null when something is cached.
        let slot = unsafe { (*self.armed).slot };
        if self.armed_slot == 0 && stack.contains(&slot) {
            // SAFETY: in live stack; if the activation is not there any more, the slot holds
            // something else, and stays as it is.
            unsafe { self.arm(self.armed, self.inner) };
        }
    }

    /// How many cached activations are not there any more, at the end of a thread that is
    /// disarmed. `stack` is what is in use of its stack.
    #[must_use]
    pub fn left_at_end(&self, stack: Range<u64>) -> u64 {
        let mut entry = self.inner;
        let mut left = 0;
        while !entry.is_null() {
            // SAFETY: points into the path, which begins with a sentinel.
            let seen = unsafe { *entry };
            if seen.safe == SENTINEL {
                break;
            }
            let there = stack.contains(&seen.slot) && {
                // SAFETY: inside the live stack.
                let word = unsafe {
                    core::ptr::with_exposed_provenance::<u64>(seen.slot as usize).read_volatile()
                };
                word == seen.real
            };
            left += u64::from(seen.slot != 0 && !there);
            // SAFETY: a non-sentinel has a predecessor.
            entry = unsafe { entry.sub(1) };
        }
        left
    }

    /// The innermost cached activation whose slot is not below `sp`, else the outermost of all; and
    /// how many with a slot lie inside it.
    fn innermost_outside(&self, sp: u64) -> (*const Entry, u64) {
        let mut entry = self.inner;
        let mut left = 0;
        loop {
            // SAFETY: points into the path, which begins with a sentinel; the walk stops there at
            // the latest.
            let (seen, outer) =
                unsafe { (*entry, *entry.sub(usize::from((*entry).safe != SENTINEL))) };
            if seen.slot >= sp || seen.safe == SENTINEL || outer.safe == SENTINEL {
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
        let word = if stack.contains(&self.armed_slot) {
            // SAFETY: inside the live stack, by contract.
            Some(unsafe {
                core::ptr::with_exposed_provenance::<u64>(self.armed_slot as usize).read_volatile()
            })
        } else {
            sys::probe(self.armed_slot)
        };
        word == Some(self.entry_address)
    }

    /// Replaces the return address of the activation `armed`, whose slot must be in live stack of
    /// this thread; `inner` is the innermost cached activation. With the sentinel as `armed`,
    /// nothing is replaced. The trampoline must be disarmed.
    ///
    /// # Safety
    /// Both must point into the thread's path, `armed` not inside `inner`, and everything from
    /// the sentinel to `inner` must describe the stack as it is.
    pub unsafe fn arm(&mut self, armed: *const Entry, inner: *const Entry) {
        // SAFETY: points into the path, by contract.
        let target = unsafe { *armed };
        self.suspended = Suspended::No;
        self.real = target.real;
        self.armed = armed;
        self.inner = inner;
        // Said before it is done: a sample that comes in between finds the slot as it was.
        before(&mut self.armed_slot, target.slot);
        if target.slot == 0 {
            return;
        }
        // SAFETY: the slot was read when the path was walked and lies in live stack, by contract.
        if unsafe { sys::swap_word(target.slot, target.real, self.entry_address) } {
            self.recent[self.recent_next as usize % RECENT] =
                Armed { slot: target.slot, real: target.real };
            self.recent_next = self.recent_next.wrapping_add(1);
        } else {
            self.armed_slot = 0;
        }
    }
}

/// Clears a word of the record, after all that comes before it.
fn forget_after(word: &mut u64) {
    // A fence for this thread's own handler, in which the record is read.
    compiler_fence(Ordering::SeqCst);
    // SAFETY: a live word.
    unsafe { core::ptr::from_mut(word).write_volatile(0) };
}

/// Sets a word of the record, before all that comes after it.
fn before(word: &mut u64, value: u64) {
    // SAFETY: a live word.
    unsafe { core::ptr::from_mut(word).write_volatile(value) };
    compiler_fence(Ordering::SeqCst);
}

/// The thread pointer, which glibc keeps at `fs:0` (psABI TLS supplement, variant II).
#[must_use]
pub fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: reads one word of the thread control block.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}

/// Finds the real address for a return that landed in an entry against the record.
///
/// Called by the entry code, all registers saved. It happens when a return address was copied
/// while it was replaced, or when a stack moved to another thread. Another thread's record is
/// only read.
extern "C" fn lost(record: *const Record, slot: u64) -> u64 {
    // SAFETY: records are static. If the owner runs at the same time, a torn answer is possible
    // only for a slot that the owner changes right now, which cannot also be returning here.
    let record = unsafe { &*record };
    if record.armed_slot == slot {
        return record.real;
    }
    if let Some(armed) = record.recent.iter().find(|armed| armed.slot == slot) {
        return armed.real;
    }
    let mut entry = record.inner;
    while !entry.is_null() {
        // SAFETY: the path is mapped as long as its thread lives, and ends in a sentinel.
        let seen = unsafe { *entry };
        if seen.slot == slot {
            return seen.real;
        }
        if seen.safe == SENTINEL {
            break;
        }
        // SAFETY: a non-sentinel has a predecessor.
        entry = unsafe { entry.sub(1) };
    }
    crate::report::inert("a replaced return address was copied and cannot be put right");
    // There is no address to return to; ending here is the defined way out.
    sys::abort()
}
