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

use crate::sys::{self, Mask};

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
        // Acquire: pairs with the release in `drop`.
        while self.held.swap(true, Ordering::Acquire) {
            sys::yield_now();
        }
        SetupGuard { lock: self, mask }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<SetupGuard<'_, T>> {
        let mask = sys::set_mask(Mask::ALL);
        // Acquire: as in `lock`.
        if self.held.swap(true, Ordering::Acquire) {
            sys::set_mask(mask);
            return None;
        }
        Some(SetupGuard { lock: self, mask })
    }
}

/// Access to the value while the lock is held.
#[derive(Debug)]
pub struct SetupGuard<'a, T> {
    lock: &'a SetupLock<T>,
    /// The thread's signal mask before.
    mask: Mask,
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
        // Release: pairs with the acquire in `lock`.
        self.lock.held.store(false, Ordering::Release);
        sys::set_mask(self.mask);
    }
}
