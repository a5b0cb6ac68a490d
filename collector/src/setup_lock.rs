//! A lock for the setup side.
//!
//! Made of the kernel's futex with priority inheritance, and not of libc's mutex, which may be
//! interposed: a real-time thread that waits lends its priority to the holder, which would else not
//! run before it. Where the kernel has no such futex, and in a process that has given up system
//! calls, waiting yields or spins. In such a process the lock is freed without a system call, of
//! which a waiter in the kernel does not hear: a wait there ends now and then, and looks at the
//! word again. The signal side never waits for the lock: it takes a
//! free one, or does without.
//!
//! A fork must be able to hold the lock across and leave both processes with a free one: the word
//! says who holds it, so the guard that the child has drops what is not the child's without asking
//! the kernel.
//!
//! Invariant: while a thread holds a lock it takes no signal. A handler of the program that ran in
//! between might fork, create a thread or load a library, and would wait for its own thread; or it
//! might leave by longjmp, and the lock would never be free again. Guards are dropped in the
//! reverse order of their making, since each restores the mask that it found.

#![expect(unsafe_code, reason = "a lock gives access through a shared reference")]

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::sealed::sealed;
use crate::sys::{self, Clock, Mask};

/// How long the first wait in the kernel lasts at most, in nanoseconds, and how long any does. Each
/// that follows lasts twice as long. Where thousands of threads begin at once each waits for half a
/// second; when all of them looked again after 10 ms, and after 20, most of the time went to that.
const LOOK_AGAIN_NS: u64 = 200_000_000;
const LOOK_SELDOM_NS: u64 = 1_000_000_000;

/// A thread's wait for a lock.
struct Wait {
    /// How long its next part in the kernel may last, in nanoseconds.
    look_again_ns: u64,
}

impl Wait {
    const NEW: Self = Self { look_again_ns: LOOK_AGAIN_NS };
}

/// A value that one thread at a time may use.
#[derive(Debug)]
pub struct SetupLock<T> {
    /// The holder's thread id, 0 while the lock is free; with the kernel's mark if others wait
    /// (futex(2)).
    holder: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the flag admits one thread at a time, so sharing the lock moves the value between
// threads, which `Send` allows.
unsafe impl<T: Send> Sync for SetupLock<T> {}

impl<T> SetupLock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { holder: AtomicU32::new(0), value: UnsafeCell::new(value) }
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

    /// Takes the lock if it is free, in a thread that has blocked all signals already. Also on the
    /// signal side: it waits for nobody.
    pub fn try_lock_blocked(&self) -> Option<SetupGuard<'_, T>> {
        let me = sys::tid();
        self.try_take(me).then_some(SetupGuard { lock: self, mask: None, me })
    }

    fn enter(&self, mask: Option<Mask>) -> SetupGuard<'_, T> {
        let me = sys::tid();
        let mut wait = Wait::NEW;
        while !self.try_take(me) {
            if self.wait(&mut wait, None) {
                break;
            }
        }
        SetupGuard { lock: self, mask, me }
    }

    /// Takes the lock if it is free.
    fn try_take(&self, me: u32) -> bool {
        // Acquire: pairs with the release in `drop`.
        self.holder.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits until the lock is this thread's, or until a time of the monotonic clock; `false` if it
    /// is not.
    fn wait(&self, wait: &mut Wait, until_ns: Option<u64>) -> bool {
        if sealed() {
            core::hint::spin_loop();
            return false;
        }
        let soon = sys::now_ns(Clock::Monotonic).saturating_add(wait.look_again_ns);
        wait.look_again_ns = (2 * wait.look_again_ns).min(LOOK_SELDOM_NS);
        match sys::lock_pi(&self.holder, until_ns.map_or(soon, |until| until.min(soon))) {
            Ok(()) => true,
            // A kernel without it; or the word and the kernel's list of waiters do not agree, since
            // the lock was freed without a system call.
            Err(errno) if errno.0 != libc::ETIMEDOUT => {
                sys::yield_now();
                false
            }
            Err(_) => false,
        }
    }

    /// Waits for the lock, but for this many nanoseconds at most; 0 takes it only if it is free.
    pub fn lock_within(&self, ns: u64) -> Option<SetupGuard<'_, T>> {
        let mask = sys::set_mask(Mask::ALL);
        let (me, mut end) = (sys::tid(), None);
        let mut wait = Wait::NEW;
        while !self.try_take(me) {
            let now = sys::now_ns(Clock::Monotonic);
            let end = *end.get_or_insert(now.saturating_add(ns));
            if ns == 0 || now >= end {
                sys::set_mask(mask);
                return None;
            }
            if self.wait(&mut wait, Some(end)) {
                break;
            }
        }
        Some(SetupGuard { lock: self, mask: Some(mask), me })
    }
}

/// Access to the value while the lock is held.
#[derive(Debug)]
pub struct SetupGuard<'a, T> {
    lock: &'a SetupLock<T>,
    /// The thread's signal mask before, to be set again.
    mask: Option<Mask>,
    /// The holder's thread id.
    me: u32,
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
        let word = &self.lock.holder;
        // Release: pairs with the acquire in `try_take`.
        if word.compare_exchange(self.me, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            // Somebody waits; or this is the child of a fork, in which nobody can.
            if sealed() || sys::tid() != self.me || sys::unlock_pi(word).is_err() {
                word.store(0, Ordering::Release);
            }
        }
        if let Some(mask) = self.mask {
            sys::set_mask(mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SetupLock;

    #[test]
    fn one_thread_at_a_time() {
        let lock = SetupLock::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut both = lock.lock();
                        both.0 += 1;
                        both.1 += 1;
                        assert_eq!(both.0, both.1);
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), (80_000, 80_000));
    }

    /// As in a process that gives up system calls while somebody waits.
    #[test]
    fn who_waits_in_the_kernel_notices_a_lock_that_was_freed_without_it() {
        use core::sync::atomic::Ordering;
        let lock = SetupLock::new(());
        let held = lock.lock();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| drop(lock.lock()));
            // The kernel's mark: it has the waiter in its list.
            while lock.holder.load(Ordering::Relaxed) == held.me {
                std::thread::yield_now();
            }
            lock.holder.store(0, Ordering::Release);
            assert!(waiter.join().is_ok());
        });
        drop(held);
        assert!(lock.lock_within(0).is_some());
    }

    #[test]
    fn a_wait_with_a_limit_ends() {
        let lock = SetupLock::new(());
        let held = lock.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(lock.lock_within(0).is_none());
                assert!(lock.lock_within(1_000_000).is_none());
            });
        });
        drop(held);
        assert!(lock.lock_within(0).is_some());
    }
}
