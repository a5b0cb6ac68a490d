//! A lock that nobody waits for. Either side: who does not get it does without.

#![expect(unsafe_code, reason = "one reference at a time")]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that one at a time may use, for a moment. If a thread has it while another one forks,
/// nobody has it in the child any more: it is for what can be done without.
#[derive(Debug)]
pub struct TryLock<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `with` gives one reference at a time.
unsafe impl<T: Send> Sync for TryLock<T> {}

impl<T> TryLock<T> {
    /// With a first value.
    pub const fn new(value: T) -> Self {
        Self { is_taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// What `use_it` returns; `None` if somebody has the value, who may be a caller of this one.
    #[inline]
    pub fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> Option<R> {
        // Acquire: pairs with the release below.
        if self.is_taken.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: taken just now, and until it is given back.
        let result = use_it(unsafe { &mut *self.value.get() });
        self.is_taken.store(false, Ordering::Release);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::TryLock;

    #[test]
    fn one_at_a_time_has_the_value() {
        let lock = TryLock::new(1);
        assert_eq!(lock.with(|value| (*value, lock.with(|_| ()))), Some((1, None)));
        assert_eq!(lock.with(|value| *value += 1), Some(()));
        assert_eq!(lock.with(|value| *value), Some(2));
    }
}
