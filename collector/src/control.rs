//! What the run is told while it goes on: the [control page](csprof_format::launch::control).
//!
//! Nobody tells a thread of a change. A signal from outside would end its wait, and a thread of the
//! collector's own would be one that the program does not know. So each looks when its next sample
//! is due, and what was due in a pause is dropped there.

#![expect(unsafe_code, reason = "a page that is shared with csprof control")]

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use csprof_format::launch::control::{
    CONTROL_BYTES, CONTROL_MAGIC, ControlPage, FIRST_ASKED_PHASE, RunClock,
};

use crate::sys::{self, Folder};

/// The page; null where there is none: never paused, and a sample in each period.
static PAGE: AtomicPtr<ControlPage> = AtomicPtr::new(null_mut());

/// Maps the page at `path` in the run folder, if it is there. It stays mapped, in forked children,
/// too. The process has no other thread yet. Setup side.
pub fn begin(folder: &Folder, path: &CStr) {
    const { assert!(CONTROL_BYTES == crate::arch::PAGE_SIZE) };
    let Some(page) = sys::map_to_read(folder, path, CONTROL_BYTES) else { return };
    let page = page.cast::<ControlPage>().as_ptr();
    // SAFETY: mapped just now, of this size.
    if unsafe { (&raw const (*page).magic).read() } == CONTROL_MAGIC {
        // Release: pairs with the acquire in `page`.
        PAGE.store(page, Ordering::Release);
    }
}

#[inline]
fn page() -> Option<&'static ControlPage> {
    // SAFETY: null, or a mapping that stays, of words that are read one by one.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

/// Whether nothing is sampled at present. Either side.
#[inline]
#[must_use]
pub fn is_paused() -> bool {
    Setting::of(0).is_paused
}

/// The time of the run at `now_ns` of the monotonic clock, in nanoseconds: without pauses. Either
/// side.
#[must_use]
pub fn running_ns(now_ns: u64) -> u64 {
    page().map_or(now_ns, |page| page.clock().0.at(now_ns))
}

/// Whether nobody has ever asked for samples of this run, and nobody gathers it at its end. Either
/// side.
#[must_use]
pub fn is_unasked() -> bool {
    page().is_some_and(|page| {
        page.prepared.load(Ordering::Relaxed) != 0 && page.begun.load(Ordering::Relaxed) == 0
    })
}

/// Number of the phase that the run is told to be in, a slice of time or what `csprof control`
/// began; 0 if in none. Either side.
#[inline]
#[must_use]
pub fn phase() -> u32 {
    // Relaxed: each thread finds it soon.
    page().map_or(0, |page| page.phase.load(Ordering::Relaxed))
}

/// Whether the run has slices of time, in the place of the program's phases. Either side.
#[must_use]
pub fn is_sliced() -> bool {
    (1..FIRST_ASKED_PHASE).contains(&phase())
}

/// How a source is to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    clock: RunClock,
    /// Whether not at all, at present.
    pub is_paused: bool,
    /// Periods from one sample to the next. At least 1.
    pub every: u64,
}

impl Setting {
    /// The present one of the source of this metric. Either side.
    #[must_use]
    #[inline]
    pub fn of(metric: usize) -> Self {
        let Some(page) = page() else {
            return Self { clock: RunClock::NEVER_PAUSED, is_paused: false, every: 1 };
        };
        let (clock, holds) = page.clock();
        Self { clock, is_paused: clock.is_paused() || !holds, every: page.every(metric) }
    }

    /// Whether there was no pause between an earlier one and this.
    #[must_use]
    #[inline]
    pub fn is_steady_since(self, before: Self) -> bool {
        self.clock == before.clock && !self.is_paused && !before.is_paused
    }
}

/// Nanoseconds since sampling was last resumed or paused. Either side.
#[must_use]
pub fn unchanged_for_ns(now_ns: u64) -> u64 {
    page().map_or(u64::MAX, |page| now_ns.saturating_sub(page.changed_ns.load(Ordering::Relaxed)))
}
