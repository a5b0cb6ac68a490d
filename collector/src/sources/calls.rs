//! Calls that the program makes: a wrapper counts them, or the amounts that they are about, and the
//! thread that makes the one with which a period ends takes a sample. No kernel object stands
//! behind it, and no signal.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use csprof_format::launch::{SampleSource, SourceKind};

use super::due::random_below;
use super::requests::{self, BLOCKS_FOLLOWED, REQUESTS_COUNT};
use crate::process;
use crate::sampler::Shared;

/// Whether calls of sched_yield(2) are counted: else their wrapper does not look at them. So for
/// each of these flags, which only ever become true.
pub static YIELDS_COUNT: AtomicBool = AtomicBool::new(false);
/// Whether amounts that the program names are counted.
pub static RESOURCES_COUNT: AtomicBool = AtomicBool::new(false);
/// Whether what is read and written is counted, or the time of it.
pub static IO_COUNTS: AtomicBool = AtomicBool::new(false);
/// Whether the time is counted in which threads wait for each other.
pub static LOCKS_COUNT: AtomicBool = AtomicBool::new(false);

/// Whether calls of MPI are counted: their time, or the bytes that they are about.
pub static MPI_COUNTS: AtomicBool = AtomicBool::new(false);

/// Whether what the program maps is counted.
pub static MAPPINGS_COUNT: AtomicBool = AtomicBool::new(false);

/// One more than the metric of the source of each kind that is in use, by number of the kind; 0
/// where there is none. Where a kind has labels, that of the first.
static METRICS: [AtomicU8; SourceKind::COUNT] = [const { AtomicU8::new(0) }; SourceKind::COUNT];

/// What the wrappers of a kind look at first.
const fn flag(kind: SourceKind) -> &'static AtomicBool {
    match kind {
        SourceKind::Resource => &RESOURCES_COUNT,
        SourceKind::Alloc | SourceKind::AllocCalls => &REQUESTS_COUNT,
        SourceKind::Leak | SourceKind::PhaseLeak => &BLOCKS_FOLLOWED,
        SourceKind::IoRead | SourceKind::IoWrite | SourceKind::IoTime => &IO_COUNTS,
        SourceKind::Lock => &LOCKS_COUNT,
        SourceKind::Mpi | SourceKind::MpiBytes => &MPI_COUNTS,
        SourceKind::Mmap => &MAPPINGS_COUNT,
        _ => &YIELDS_COUNT,
    }
}

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
    let is_of_requests = matches!(source.kind, SourceKind::Alloc | SourceKind::AllocCalls);
    if is_of_requests || source.kind.follows_blocks() {
        requests::begin();
        REQUESTS_COUNT.store(true, Ordering::Relaxed);
    }
    flag(source.kind).store(true, Ordering::Relaxed);
}
