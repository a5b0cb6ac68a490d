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
//! signal blocked. The handler leaves when it interrupted the trampoline.

#![expect(unsafe_code, reason = "stack slots and the record shared with assembly")]

mod entry;
pub mod rules;

use core::sync::atomic::{AtomicU64, Ordering};

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
    recent_next: u64,
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
    /// Edge count of the node that represents the activation.
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

/// A thread's claim on a record.
#[derive(Debug)]
pub struct Trampoline {
    number: usize,
}

impl Trampoline {
    /// Takes a free record for the calling thread; `None` if all are taken. Setup side.
    pub fn claim(returns: *mut u64) -> Option<Self> {
        let number = TAKEN.iter().enumerate().find_map(|(index, word)| {
            let mut seen = word.load(Ordering::Relaxed);
            while seen != u64::MAX {
                let bit = seen.trailing_ones();
                // Acquire: pairs with the release in `release`; the record's last owner is done.
                match word.compare_exchange_weak(
                    seen,
                    seen | (1 << bit),
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return Some(index * 64 + bit as usize),
                    Err(now) => seen = now,
                }
            }
            None
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
    pub fn release(self) {
        let (word, bit) = (&TAKEN[self.number / 64], 1 << (self.number % 64));
        // Release: pairs with the acquire in `claim`.
        word.fetch_and(!bit, Ordering::Release);
    }
}

impl Record {
    /// Puts the real return address back, if it is still replaced; whether it was.
    ///
    /// `stack` is the range of addresses that are certainly mapped stack of this thread. A slot
    /// elsewhere is looked at through the kernel first.
    pub fn disarm(&mut self, stack: core::ops::Range<u64>) -> bool {
        let slot = core::mem::take(&mut self.armed_slot);
        if slot == 0 {
            return false;
        }
        if !stack.contains(&slot) && sys::probe(slot) != Some(self.entry_address) {
            return false;
        }
        // SAFETY: inside the live stack, or just found to be mapped and to hold our address.
        unsafe { sys::swap_word(slot, self.entry_address, self.real) }
    }

    /// Whether the armed slot still holds the trampoline. It does not after its activation was
    /// left by a jump (longjmp, an exception that could not be seen): its place on the stack has
    /// then become free or another activation's.
    ///
    /// `stack` is what is in use of this thread's own stack. A slot elsewhere is looked at through
    /// the kernel.
    #[must_use]
    pub fn is_in_place(&self, stack: core::ops::Range<u64>) -> bool {
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
    /// this thread; `inner` is the innermost cached activation.
    ///
    /// # Safety
    /// Both must point into the thread's path, `armed` not inside `inner`, and everything from
    /// the sentinel to `inner` must describe the stack as it is.
    pub unsafe fn arm(&mut self, armed: *const Entry, inner: *const Entry) {
        // SAFETY: points into the path, by contract.
        let target = unsafe { *armed };
        self.real = target.real;
        self.armed = armed;
        self.inner = inner;
        // SAFETY: the slot was read during this sample's walk and lies above the stack pointer.
        if unsafe { sys::swap_word(target.slot, target.real, self.entry_address) } {
            self.armed_slot = target.slot;
            self.recent[self.recent_next as usize % RECENT] =
                Armed { slot: target.slot, real: target.real };
            self.recent_next = self.recent_next.wrapping_add(1);
        } else {
            self.armed_slot = 0;
        }
    }
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
    // SAFETY: there is no address to return to; ending here is the defined way out.
    unsafe { libc::abort() }
}
