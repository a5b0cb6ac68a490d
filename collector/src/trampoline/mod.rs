//! The return trampoline: edge counts, and samples that unwind only what is new.
//!
//! ICS'05 sections 2.3 and 2.4. At most one return address per thread is *armed*: replaced by the
//! address of its call site's entry ([`sites`], [`entry`]). When the activation returns, the entry
//! counts the return on the activation's node, arms the next one outward, and goes on to the
//! address that it stands for. A sample that finds the armed slot while unwinding knows everything
//! above it already.
//!
//! The cached path is an array of [`Activation`]s, outermost first, behind a sentinel with slot 0.
//! Each stands for one activation: the slot of its return address, the address that belongs
//! there, and the node whose edge count its return adds to.
//!
//! Invariants: an entry says by itself where it returns to, so a slot that holds one is never
//! wrong, wherever it was copied to; and whoever reads a return address reads it through
//! [`arming::real`]. A thread's record and path are written by the thread itself: its handler, its
//! trampoline, or setup code. A handler that interrupted the trampoline changes nothing.

#![expect(unsafe_code, reason = "stack slots and the record shared with assembly")]

pub mod arming;
pub mod entry;
pub mod path;
pub mod sites;
pub mod walked;

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::arch;

/// What the entry code knows about its thread.
///
/// Written by that thread only, but by its handler, too, at any moment: so all of it is read and
/// written word by word through shared references, and nobody ever holds an exclusive one.
#[derive(Debug)]
#[repr(C)]
pub struct Record {
    /// Address of the slot that is armed; 0 if none is.
    armed_slot: AtomicU64,
    /// The return address that belongs into the armed slot.
    real: AtomicU64,
    /// The armed activation; the sentinel if none.
    armed: AtomicPtr<Activation>,
    /// The innermost cached activation whose return is not counted yet.
    inner: AtomicPtr<Activation>,
    /// The thread's counter of returns, in the arena.
    returns: *mut u64,
    /// One of [`Suspended`].
    suspended: AtomicU8,
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

/// One activation of the cached path.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Activation {
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
    /// The [mark](sites::Number::mark) of its call site where its return address may be replaced,
    /// and 0 where not; [`SENTINEL`] for the sentinel.
    pub site: u32,
}

const _: () = assert!(size_of::<Activation>() == 40);

/// [`Activation::site`] of the sentinel.
pub const SENTINEL: u32 = 1;

impl Activation {
    /// What the path stands on: armed when nothing is.
    #[must_use]
    pub const fn sentinel() -> Self {
        Self { slot: 0, real: 0, edge: core::ptr::null_mut(), next: 0, node: 0, site: SENTINEL }
    }

    /// Whether its return address may be replaced.
    #[must_use]
    pub const fn is_safe(&self) -> bool {
        self.site > SENTINEL
    }
}

arch::thread_word! {
    /// The record of the calling thread; null where there is none.
    RecordOfThread: *const Record = "csprof_record"
}

/// The record of the calling thread; null where there is none. Either side.
#[inline]
pub fn current() -> *const Record {
    RecordOfThread::get()
}

/// Sets the record of the calling thread. All signals are blocked.
///
/// # Safety
/// It is null, or stays there until another one is set.
pub unsafe fn set_current(record: *const Record) {
    RecordOfThread::set(record);
}

// Relaxed throughout: one thread, and its handlers. What must be in order for a handler that comes
// in between is kept so by fences for this thread.
impl Record {
    /// That of a thread of which nothing is cached. `returns` counts its returns.
    #[must_use]
    pub const fn new(returns: *mut u64) -> Self {
        Self {
            armed_slot: AtomicU64::new(0),
            real: AtomicU64::new(0),
            armed: AtomicPtr::new(core::ptr::null_mut()),
            inner: AtomicPtr::new(core::ptr::null_mut()),
            returns,
            suspended: AtomicU8::new(Suspended::No as u8),
        }
    }

    /// Address of the armed slot; 0 if none is.
    #[must_use]
    #[inline]
    pub fn armed_slot(&self) -> u64 {
        self.armed_slot.load(Ordering::Relaxed)
    }

    /// Returns that it has counted.
    #[must_use]
    #[inline]
    pub fn returns(&self) -> u64 {
        // SAFETY: a word of the thread's arena, which is mapped as long as the record is used.
        unsafe { self.returns.read_volatile() }
    }

    /// The armed activation; the sentinel if none is, null if nothing is cached.
    #[must_use]
    #[inline]
    pub fn armed(&self) -> *const Activation {
        self.armed.load(Ordering::Relaxed)
    }

    /// The innermost cached activation whose return is not counted yet; null if nothing is cached.
    #[must_use]
    #[inline]
    pub fn inner(&self) -> *const Activation {
        self.inner.load(Ordering::Relaxed)
    }

    /// Sets both, with nothing armed.
    pub fn rest(&self, armed: *const Activation, inner: *const Activation) {
        self.armed.store(armed.cast_mut(), Ordering::Relaxed);
        self.inner.store(inner.cast_mut(), Ordering::Relaxed);
    }
}
