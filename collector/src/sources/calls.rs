//! Calls that the program makes: a wrapper counts them, and the last one of a period is sampled by
//! the thread that makes it, before it is passed on. No kernel object stands behind it, and no
//! signal.

use core::sync::atomic::{AtomicBool, Ordering};

use csprof_format::launch::SampleSource;

use super::due::random_below;
use crate::sampler::Shared;

/// Whether a source of this kind was ever in use: else wrappers leave calls alone.
pub static CALLS_COUNT: AtomicBool = AtomicBool::new(false);

/// The calling thread counts the calls of this source from now on. Setup side.
pub(super) fn begin(source: SampleSource, metric: usize) {
    if let Some(shared) = Shared::here() {
        // The first period has begun before: as a source of time.
        shared.counter(source.kind).begin(metric, source.period, random_below(source.period));
        CALLS_COUNT.store(true, Ordering::Relaxed);
    }
}
