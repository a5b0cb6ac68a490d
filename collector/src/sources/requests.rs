//! What the program asks its allocator for: bytes and calls, counted by the stubs in front of
//! malloc(3) and its relatives.
//!
//! These come a hundred million times a second. So a stub only subtracts from what is left of the
//! present *stretch*, which ends where the next period of one of the sources ends; then the
//! thread's counters are told what the stretch had, and the next one begins. A stretch that is
//! exceeded is settled by the call that exceeds it, with all signals blocked.

#![expect(unsafe_code, reason = "words of thread-local storage")]

use csprof_format::launch::SourceKind;

use crate::arch;
use crate::sampler::Shared;
use crate::sources::flag::flag;

flag! {
    /// Whether requests are counted.
    pub REQUESTS_COUNT: Alloc, AllocCalls, Leak, PhaseLeak
}
flag! {
    /// Whether sampled blocks are followed to their end.
    pub BLOCKS_FOLLOWED: Leak, PhaseLeak
}

/// Most bytes of a request that a stub subtracts before it is granted. Larger ones are counted when
/// they are: programs ask for more than there is.
pub const MOST_AHEAD: u64 = 64 << 10;

arch::thread_words! {
    /// What is left of the thread's stretch, in bytes and in calls, and how long that was. The
    /// assembly of the stubs has the first two.
    Stretch: [i64; 4] = "csprof_stretch"
}

const LEFT: [usize; 2] = [BYTES, CALLS];
const BYTES: usize = 0;
const CALLS: usize = 1;
/// From what is left to how long it was.
const LENGTH: usize = 2;

/// Longer than any thread lives.
const ENDLESS: i64 = i64::MAX / 2;

/// Counts a request for so many bytes.
#[inline]
pub fn count(bytes: u64) {
    Stretch::subtract(CALLS, 1);
    Stretch::subtract(BYTES, clamped(bytes));
}

/// A request that was counted was not granted.
#[inline]
pub fn take_back(bytes: u64) {
    Stretch::subtract(CALLS, -1);
    Stretch::subtract(BYTES, -clamped(bytes));
}

fn clamped(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(ENDLESS).min(ENDLESS)
}

/// Whether the stretch is exceeded.
#[must_use]
#[inline]
pub fn is_exceeded() -> bool {
    LEFT.iter().any(|&unit| Stretch::get(unit) < 0)
}

/// Begins a first stretch, which the next request exceeds.
pub(super) fn begin() {
    (0..4).for_each(|word| Stretch::set(word, 0));
}

/// Counts no further requests of the calling thread, unless a source [begins](begin).
pub fn stop() {
    LEFT.iter().for_each(|&unit| begin_stretch(unit, ENDLESS));
}

fn begin_stretch(unit: usize, length: i64) {
    Stretch::set(unit, length);
    Stretch::set(unit + LENGTH, length);
}

/// Counts what the stretch had, for the sources that have a metric, and begins the next one.
/// Returns for each of which a period ended: its kind, its metric, and how many periods. All
/// signals are blocked.
#[must_use]
pub fn settle(
    shared: &Shared,
    metric_of: impl Fn(SourceKind) -> Option<usize>,
) -> [Option<(SourceKind, usize, u64)>; 4] {
    let mut lengths = [ENDLESS; 2];
    let had = LEFT.map(|unit| Stretch::get(unit + LENGTH) - Stretch::get(unit));
    let kinds = [
        (SourceKind::Alloc, BYTES),
        (SourceKind::AllocCalls, CALLS),
        (SourceKind::Leak, BYTES),
        (SourceKind::PhaseLeak, BYTES),
    ];
    let ended = kinds.map(|(kind, unit)| {
        let metric = metric_of(kind)?;
        let counter = shared.counter(metric)?;
        // Less than nothing, if a handler settled between a request and its refusal.
        let had = had.get(unit).copied().and_then(|had| u64::try_from(had).ok()).unwrap_or(0);
        let periods = counter.add(had);
        // One less, so that what is left is below zero when the period ends.
        let length = counter.until_next().map_or(ENDLESS, |next| clamped(next - 1));
        if let Some(shortest) = lengths.get_mut(unit) {
            *shortest = length.min(*shortest);
        }
        (periods > 0).then_some((kind, metric, periods))
    });
    LEFT.iter().zip(lengths).for_each(|(&unit, length)| begin_stretch(unit, length));
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_request_exceeds_the_stretch() {
        begin();
        assert!(!is_exceeded());
        count(0);
        assert!(is_exceeded());
        take_back(0);
        assert!(!is_exceeded());
        stop();
        count(u64::MAX);
        assert!(!is_exceeded());
        begin();
    }
}
