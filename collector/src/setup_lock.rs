//! A lock for the setup side.
//!
//! Not a futex and not libc's mutex: those may be interposed, and a fork must be able to hold the
//! lock across and leave both processes with a free one. Held for microseconds; waiting yields.
//! The signal side never takes it.
//!
//! Invariant: while a thread holds a lock it takes no signal. A handler of the program that ran in
//! between might fork, create a thread or load a library, and would wait for its own thread; or it
//! might leave by longjmp, and the lock would never be free again. Guards are dropped in the
//! reverse order of their making, since each restores the mask that it found.

#![expect(unsafe_code, reason = "a lock gives access through a shared reference")]

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys::{self, Clock, Mask};

/// A value that one thread at a time may use.
#[derive(Debug)]
pub struct SetupLock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the flag admits one thread at a time, so sharing the lock moves the value between
// threads, which `Send` allows.
unsafe impl<T: Send> Sync for SetupLock<T> {}

impl<T> SetupLock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> SetupGuard<'_, T> {
        let mask = sys::set_mask(Mask::ALL);
        self.enter(Some(mask))
    }

    /// The same in a thread that has blocked all signals already.
    pub fn lock_blocked(&self) -> SetupGuard<'_, T> {
        self.enter(None)
    }

    fn enter(&self, mask: Option<Mask>) -> SetupGuard<'_, T> {
        // Acquire: pairs with the release in `drop`.
        while self.held.swap(true, Ordering::Acquire) {
            sys::yield_now();
        }
        SetupGuard { lock: self, mask }
    }

    /// Waits for the lock, but for this many nanoseconds at most; 0 takes it only if it is free.
    pub fn lock_within(&self, ns: u64) -> Option<SetupGuard<'_, T>> {
        let mask = sys::set_mask(Mask::ALL);
        let start = (ns > 0).then(|| sys::now_ns(Clock::Monotonic));
        // Acquire: as in `enter`.
        while self.held.swap(true, Ordering::Acquire) {
            if start.is_none_or(|start| sys::now_ns(Clock::Monotonic).saturating_sub(start) > ns) {
                sys::set_mask(mask);
                return None;
            }
            sys::yield_now();
        }
        Some(SetupGuard { lock: self, mask: Some(mask) })
    }
}

impl SetupLock<()> {
    /// Frees the lock in a forked child, where the thread that held it does not exist. There must
    /// be no other thread yet, and no value that could be half changed.
    pub fn free_in_child(&self) {
        self.held.store(false, Ordering::Release);
    }
}

/// Access to the value while the lock is held.
#[derive(Debug)]
pub struct SetupGuard<'a, T> {
    lock: &'a SetupLock<T>,
    /// The thread's signal mask before, to be set again.
    mask: Option<Mask>,
}

impl<T> Deref for SetupGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the flag.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for SetupGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the flag, and is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for SetupGuard<'_, T> {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `enter`.
        self.lock.held.store(false, Ordering::Release);
        if let Some(mask) = self.mask {
            sys::set_mask(mask);
        }
    }
}
