//! Calls that the program makes: a wrapper counts them, or the amounts that they are about, and the
//! thread that makes the one with which a period ends takes a sample. No kernel object stands
//! behind it, and no signal.

use core::sync::atomic::{AtomicU8, Ordering};

use csprof_format::launch::{SampleSource, SourceKind};

use super::due::random_below;
use super::flag;
use super::requests::{self, REQUESTS_COUNT};
use crate::process;
use crate::sampler::Shared;

/// One more than the metric of the source of each kind that is in use, by number of the kind; 0
/// where there is none. Where a kind has labels, that of the first.
static METRICS: [AtomicU8; SourceKind::COUNT] = [const { AtomicU8::new(0) }; SourceKind::COUNT];

/// The metric of the source of this kind, if one is in use. Either side.
#[must_use]
#[inline]
pub fn metric_of(kind: SourceKind) -> Option<usize> {
    // Relaxed, here and below: each thread has set it itself, or sees it early or late.
    Some(usize::from(METRICS[kind as usize].load(Ordering::Relaxed).checked_sub(1)?))
}

/// The metric of the resource that the program calls by this name, if it is a source. Either side.
#[must_use]
pub fn metric_of_resource(name: &[u8]) -> Option<usize> {
    process::current()?.config.sources.labelled(name)
}

/// The calling thread counts the calls of this source from now on. Setup side.
pub(super) fn begin(source: SampleSource, metric: usize) {
    let Some(shared) = Shared::here() else { return };
    let Some(counter) = shared.counter(metric) else { return };
    // The first period has begun before: as a source of time.
    counter.begin(source.period, random_below(source.period));
    let place = &METRICS[source.kind as usize];
    let _ = place.compare_exchange(0, metric as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
    if REQUESTS_COUNT.is_of(source.kind) {
        requests::begin();
    }
    flag::set(source.kind);
}
