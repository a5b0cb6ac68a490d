//! Refining beside the screen: keys go on working while a large profile is refined.
//!
//! The newest request wins. A request that has not begun is replaced by a newer one of its kind;
//! one that has begun is finished, and its answer is ignored by its number.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::effect::{Purpose, Request};
use super::forest::{Forest, callers, refine, table};
use super::message::Message;
use crate::profile::Profile;
use crate::views::sets::set_rows;

/// Profiles with fewer nodes are refined at once: it takes less than painting a screen.
pub(super) const AT_ONCE: usize = 100_000;

/// Requests on their way to the worker.
#[derive(Default)]
pub(super) struct Requests {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    show: Option<Request>,
    callers: Option<Request>,
    table: Option<Request>,
    attempt: Option<Request>,
    closed: bool,
}

impl Requests {
    /// Asks for something.
    pub(super) fn ask(&self, request: Request) {
        let mut waiting = self.lock();
        match request.purpose {
            Purpose::Show => waiting.show = Some(request),
            Purpose::Callers => waiting.callers = Some(request),
            Purpose::Table { .. } => waiting.table = Some(request),
            Purpose::Try | Purpose::Sets => waiting.attempt = Some(request),
        }
        self.changed.notify_one();
    }

    /// Lets the worker end.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// The next request; waits for one. `None` when there will be no more.
    fn next(&self) -> Option<Request> {
        let mut waiting = self.lock();
        loop {
            if waiting.closed {
                return None;
            }
            let Waiting { show, callers, table, attempt, .. } = &mut *waiting;
            if let Some(request) =
                [show, callers, table, attempt].into_iter().find_map(Option::take)
            {
                return Some(request);
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The data are whole at every moment, so a panic of the other side does not make them wrong.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers requests until they are closed.
pub(super) fn work<'p>(profile: &'p Profile, requests: &Requests, answer: impl Fn(Message<'p>)) {
    while let Some(request) = requests.next() {
        answer(perform(profile, request));
    }
}

/// Does what is asked.
pub fn perform(profile: &Profile, request: Request) -> Message<'_> {
    let Request { ticket, purpose, stages, sets } = request;
    let answer = match purpose {
        Purpose::Show => Forest::new(profile, &stages, &sets)
            .map(|forest| Message::Refined { ticket, forest: Box::new(forest) }),
        Purpose::Callers => callers(profile, &stages, &sets)
            .map(|callers| Message::Inverted { ticket, callers: Box::new(callers) }),
        Purpose::Table { path, way, reach } => {
            table(profile, &stages, &sets, path.as_ref(), way, reach)
                .map(|table| Message::Tabled { ticket, table })
        }
        Purpose::Sets => refine(profile, &stages, &sets)
            .map(|refined| Message::SetsCounted { ticket, rows: set_rows(&refined, &sets) }),
        Purpose::Try => refine(profile, &stages, &sets).map(|refined| Message::Tried {
            ticket,
            shown: refined.shown,
            out: refined.out,
        }),
    };
    answer.unwrap_or_else(|refusal| Message::Refused { ticket, refusal })
}
