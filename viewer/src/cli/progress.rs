//! One line on standard error that says how far a long step is, for people: only on a terminal,
//! only after a second, and gone when the step is done.

use std::time::{Duration, Instant};

use crate::print;

/// How long a step takes before it is worth a line, and how often the line changes.
const PATIENCE: Duration = Duration::from_secs(1);
const REFRESH: Duration = Duration::from_millis(100);

/// The progress of one step.
#[derive(Debug)]
pub(super) struct Progress {
    what: &'static str,
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// A step that does `what` ("resolving symbols").
    #[must_use]
    pub(super) fn new(what: &'static str) -> Self {
        let next = print::is_watched().then(|| Instant::now() + PATIENCE);
        Self { what, next, shown: false }
    }

    /// Tells that `done` of `total` are done.
    pub(super) fn report(&mut self, done: usize, total: usize) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            let percent = (done * 100).checked_div(total).unwrap_or(100);
            print::passing(&format!("{} {percent} %", self.what));
            self.next = Some(now + REFRESH);
            self.shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            print::passed();
        }
    }
}
