//! Call sites, each with an entry of its own.
//!
//! An entry of the trampoline belongs to a return address, in the whole process and for ever. So a
//! return that lands in an entry always has an answer, whoever armed the slot it came through, and
//! whoever has copied, moved or restored that stack since: entry `n` returns to what [`SITES`] has
//! at `n`. A number is written once and never changed. That a library was unloaded changes nothing:
//! an address is only a number, and what is mapped there next has the same entry for it.
//!
//! The table is a hash table without removal. A claim is one exchange, so that handlers of all
//! threads may claim at once, and one may interrupt another.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::arch::STRIDE;

/// Call sites that can have an entry. A program that returns to more of them, and is sampled there,
/// has activations whose return is seen when their caller returns.
pub const SITES: usize = 1 << SITE_BITS;
const SITE_BITS: u32 = 14;

/// Places in which an address is looked for: a few lines of the processor's caches.
const PROBES: usize = 16;

/// A call site.
#[derive(Debug)]
#[repr(C)]
pub struct Site {
    /// The return address; 0 where there is none yet.
    pub(super) real: AtomicU64,
    /// What was found out about the call, and of which load map: see [`Number::verdict`].
    verdict: AtomicU64,
}

const _: () = assert!(size_of::<Site>() == STRIDE);

/// All sites. The assembly reads the return addresses.
pub(super) static TABLE: [Site; SITES] =
    [const { Site { real: AtomicU64::new(0), verdict: AtomicU64::new(0) } }; SITES];

/// Whether a site found no place.
static FULL: AtomicBool = AtomicBool::new(false);

/// The number of a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(usize);

impl Number {
    /// That of the site to which `real` returns, claimed if nobody has met it; `None` if there is
    /// no place left for it. Signal side.
    #[must_use]
    pub fn of(real: u64) -> Option<Self> {
        // Fibonacci hashing, as in the cache of recipes.
        let first = (real.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SITE_BITS)) as usize;
        for probe in 0..PROBES {
            let number = (first + probe) % SITES;
            let known = &TABLE.get(number)?.real;
            // Acquire and release: whoever finds an address arms it, and who returns reads it.
            match known.load(Ordering::Acquire) {
                0 => match known.compare_exchange(0, real, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return Some(Self(number)),
                    Err(other) if other == real => return Some(Self(number)),
                    Err(_) => {}
                },
                other if other == real => return Some(Self(number)),
                _ => {}
            }
        }
        FULL.store(true, Ordering::Relaxed);
        None
    }

    /// What `find` says of the call, asked once for each generation of the load map: other code may
    /// lie there in the next. Signal side.
    #[inline]
    pub fn verdict(self, generation: u32, find: impl FnOnce() -> bool) -> bool {
        let Some(Site { verdict, .. }) = TABLE.get(self.0) else { return false };
        let known = verdict.load(Ordering::Relaxed);
        if known >> 1 == u64::from(generation) {
            return known & 1 == 1;
        }
        let found = find();
        verdict.store(u64::from(generation) << 1 | u64::from(found), Ordering::Relaxed);
        found
    }

    /// The same in the form in which [`Activation`](super::Activation) keeps it.
    #[must_use]
    pub const fn mark(self) -> u32 {
        ((self.0 + 1) * STRIDE) as u32
    }
}

/// Whether there was no place for a site.
#[must_use]
pub fn were_full() -> bool {
    FULL.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::arming;
    use super::super::entry;
    use super::*;
    use crate::arch::trampoline_start;

    /// Whoever asks, in whichever thread: one site, one number, one entry.
    #[test]
    fn a_site_has_one_entry_for_ever() {
        let ask = || (0x7000_0000..0x7000_0400).map(|real| Number::of(real).unwrap());
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(move || ask().collect::<Vec<_>>())).collect();
        let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        for (at, real) in (0x7000_0000..0x7000_0400).enumerate() {
            let number = answers[0][at];
            assert!(answers.iter().all(|answer| answer[at] == number));
            assert_eq!(arming::real(entry::address(number.mark())), real);
        }
        assert!(!were_full());
    }

    #[test]
    fn a_word_that_is_no_entry_stands_for_itself() {
        let first = trampoline_start();
        for word in [0, 1, first - 1, first + 1, first + (SITES * STRIDE) as u64, u64::MAX] {
            assert_eq!(arming::real(word), word);
        }
    }

    #[test]
    fn a_verdict_holds_for_its_generation() {
        let number = Number::of(0x7100_0000).unwrap();
        assert!(number.verdict(1, || true));
        assert!(number.verdict(1, || unreachable!()));
        assert!(!number.verdict(2, || false));
        assert!(!number.verdict(2, || unreachable!()));
    }
}
