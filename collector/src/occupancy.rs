//! How many handlers or threads are inside a stretch of code that somebody has to wait for.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::sys;

/// A count that a fork forgets: in the child, none of the parent's threads is inside. The low 32
/// bits count, the others number the forks.
#[derive(Default)]
pub struct Occupancy(AtomicU64);

/// Somebody inside, until it is dropped. One that is never dropped, for a handler of the program
/// came in between and left for elsewhere, lets each later wait take as long as it may.
pub struct Occupant {
    of: &'static Occupancy,
    forks: u64,
}

impl Occupancy {
    /// Nobody is inside.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Somebody is, from now on.
    #[must_use]
    pub fn enter(&'static self) -> Occupant {
        // Sequentially consistent, here and below: either who enters is counted before somebody
        // looks, or it sees what was changed before that look.
        Occupant { of: self, forks: self.0.fetch_add(1, Ordering::SeqCst) >> 32 }
    }

    /// In a forked child, which has one thread of all that may have been inside; whether any was.
    pub fn forget(&self) -> bool {
        let before = self.0.load(Ordering::SeqCst);
        self.0.store(((before >> 32) + 1) << 32, Ordering::SeqCst);
        before as u32 != 0
    }

    /// Waits a little for a moment in which nobody is inside; whether there was one.
    pub fn wait_briefly(&self) -> bool {
        self.is_empty_within(100, sys::yield_now)
    }

    /// Waits for a moment in which nobody is inside: then all have left that were before. That
    /// takes microseconds, but a thread may have lost the processor in it; a second is the most
    /// that this waits.
    pub fn outwait(&self) {
        if !self.wait_briefly() {
            self.is_empty_within(1000, || sys::sleep_ns(1_000_000));
        }
    }

    fn is_empty_within(&self, rounds: u32, pause: impl Fn()) -> bool {
        for _ in 0..rounds {
            if self.0.load(Ordering::SeqCst) as u32 == 0 {
                return true;
            }
            pause();
        }
        false
    }
}

impl Drop for Occupant {
    fn drop(&mut self) {
        // A fork since it was made has forgotten it.
        let leave = |state: u64| (state >> 32 == self.forks).then(|| state - 1);
        let _ = self.of.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, leave);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_forgets_who_was_inside() {
        static INSIDE: Occupancy = Occupancy::new();
        let before = INSIDE.enter();
        assert!(!INSIDE.wait_briefly());
        assert!(INSIDE.forget() && !INSIDE.forget());
        assert!(INSIDE.wait_briefly());
        let after = INSIDE.enter();
        // It takes nobody else's place with it.
        drop(before);
        assert!(!INSIDE.wait_briefly());
        drop(after);
        assert!(INSIDE.wait_briefly());
    }
}
