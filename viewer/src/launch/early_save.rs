//! Saving what a run has sampled so far, while it goes on.
//!
//! On a thread of its own: a disk that is slow, or does not answer, must stop neither what is
//! planned for the run (slices, pauses) nor making room for its samples.

use std::thread::ScopedJoinHandle;
use std::time::Instant;

/// Saves of one run, one at a time.
#[derive(Default)]
pub(super) struct EarlySaves<'s> {
    /// For which order to terminate it was saved last.
    saved: Option<Instant>,
    saving: Option<ScopedJoinHandle<'s, ()>>,
}

impl<'s> EarlySaves<'s> {
    /// Begins one by `spawn`, if the run was told to terminate, and this was not saved yet. While
    /// one is under way that waits; never the caller.
    pub(super) fn begin(
        &mut self,
        told: Option<Instant>,
        spawn: impl FnOnce() -> ScopedJoinHandle<'s, ()>,
    ) {
        let is_idle = self.saving.as_ref().is_none_or(ScopedJoinHandle::is_finished);
        if told.is_some() && told != self.saved && is_idle {
            self.saved = told;
            self.saving = Some(spawn());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::surroundings::comes_true;

    #[test]
    fn a_save_that_does_not_end_stops_nobody_and_none_runs_beside_it() {
        let first = Instant::now();
        let second = first + Duration::from_nanos(1);
        let begun = AtomicU32::new(0);
        thread::scope(|scope| {
            let (end, ended) = channel::<()>();
            let mut early = EarlySaves::default();
            let mut begin = |told, wait: Option<std::sync::mpsc::Receiver<()>>| {
                early.begin(told, || {
                    begun.fetch_add(1, Ordering::Relaxed);
                    scope.spawn(move || {
                        let _ = wait.map(|wait| wait.recv());
                    })
                });
                begun.load(Ordering::Relaxed)
            };
            assert_eq!(begin(None, None), 0);
            assert_eq!(begin(Some(first), Some(ended)), 1);
            assert_eq!(begin(Some(first), None), 1);
            assert_eq!(begin(Some(second), None), 1);
            end.send(()).unwrap();
            assert!(comes_true(|| begin(Some(second), None) != 1));
            assert_eq!(begin(Some(second), None), 2);
        });
    }
}
