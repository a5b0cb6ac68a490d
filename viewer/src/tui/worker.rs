//! Refining beside the screen: keys go on working while a large profile is refined.
//!
//! The newest request wins. A request that has not begun is replaced by a newer one of its kind;
//! one that has begun is ended by it, between two stretches of nodes, and is not answered. What is
//! tried out is ended by what is to be shown, too: the prompt has been left.

use std::mem::discriminant;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::effect::{Purpose, Request};
use super::forest::{Forest, Refusal, Unmade, refine};
use super::language::complete;
use super::message::Message;
use crate::profile::Profile;
use crate::refine::{Refined, Watch};
use crate::views::callers::Callers;
use crate::views::hall::HallTable;
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
    completion: Option<Request>,
    attempt: Option<Request>,
    /// What is being done, and whether it is to end.
    running: Option<(Purpose, Arc<AtomicBool>)>,
    closed: bool,
}

impl Requests {
    /// Asks for something.
    pub(super) fn ask(&self, request: Request) {
        let mut waiting = self.lock();
        if let Some((running, cancelled)) = &waiting.running {
            let is_same = discriminant(running) == discriminant(&request.purpose);
            if is_same || (*running == Purpose::Try && request.purpose == Purpose::Show) {
                // Relaxed: nothing else is told by it.
                cancelled.store(true, Ordering::Relaxed);
            }
        }
        match request.purpose {
            Purpose::Show => waiting.show = Some(request),
            Purpose::Callers => waiting.callers = Some(request),
            Purpose::Complete { .. } => waiting.completion = Some(request),
            Purpose::Table { .. } => waiting.table = Some(request),
            Purpose::Try | Purpose::Sets => waiting.attempt = Some(request),
        }
        self.changed.notify_one();
    }

    /// Lets the worker end.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        if let Some((_, cancelled)) = &waiting.running {
            cancelled.store(true, Ordering::Relaxed);
        }
        self.changed.notify_one();
    }

    /// The next request, and whether it is to end; waits for one. `None` when there will be no
    /// more.
    fn next(&self) -> Option<(Request, Arc<AtomicBool>)> {
        let mut waiting = self.lock();
        waiting.running = None;
        loop {
            if waiting.closed {
                return None;
            }
            let Waiting { show, callers, table, completion, attempt, .. } = &mut *waiting;
            let slots = [show, callers, table, completion, attempt];
            let next = slots.into_iter().find_map(Option::take);
            if let Some(request) = next {
                let cancelled = Arc::new(AtomicBool::new(false));
                waiting.running = Some((request.purpose.clone(), Arc::clone(&cancelled)));
                return Some((request, cancelled));
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
    // Made once: its sums are what every refinement begins with.
    let mut base = None;
    while let Some((request, cancelled)) = requests.next() {
        let base = base.get_or_insert_with(|| Refined::base(profile));
        if let Some(message) = make(base, request, &Watch::until(&cancelled)) {
            answer(message);
        }
    }
}

/// Does what is asked.
pub fn perform(profile: &Profile, request: Request) -> Message<'_> {
    let ticket = request.ticket;
    make(&Refined::base(profile), request, &Watch::none()).unwrap_or_else(|| {
        // Nobody asked for it.
        let refusal = Refusal { cause: "the refinement was ended".to_owned(), part: None };
        Message::Refused { ticket, refusal }
    })
}

/// Does what is asked, unless it is ended before it is done.
fn make<'p>(base: &Refined<'p>, request: Request, watch: &Watch<'_>) -> Option<Message<'p>> {
    let Request { ticket, purpose, stages, sets } = request;
    let refined = match refine(base, &stages, &sets, watch) {
        Ok(refined) => refined,
        Err(Unmade::Refused(refusal)) => return Some(Message::Refused { ticket, refusal }),
        Err(Unmade::Cancelled) => return None,
    };
    Some(match purpose {
        Purpose::Show => Message::Refined { ticket, forest: Box::new(Forest::of(refined)) },
        Purpose::Callers => Message::Inverted { ticket, callers: Box::new(Callers::new(&refined)) },
        Purpose::Complete { text, cursor } => {
            let (word, completions) = complete(refined.profile, &sets, &text, cursor, true);
            Message::Completed { ticket, word, completions }
        }
        Purpose::Table { path, way, reach } => {
            let index = refined.children();
            match HallTable::new(&refined, index, path.as_ref(), way, reach) {
                Ok(table) => Message::Tabled { ticket, table },
                Err(error) => {
                    let refusal = Refusal { cause: error.to_string(), part: Some(error.part) };
                    Message::Refused { ticket, refusal }
                }
            }
        }
        Purpose::Sets => Message::SetsCounted { ticket, rows: set_rows(&refined, &sets) },
        Purpose::Try => Message::Tried { ticket, shown: refined.shown, out: refined.out },
    })
}

#[cfg(test)]
mod tests {
    use super::super::stages::Stages;
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::Sets;

    fn request(ticket: u64, purpose: Purpose, stage: &str) -> Request {
        let mut stages = Stages::default();
        stages.push(stage.to_owned());
        Request { ticket, purpose, stages, sets: Arc::new(Sets::default()) }
    }

    #[test]
    fn a_newer_request_ends_the_one_under_way() {
        let requests = Requests::default();
        let is_ended = |cancelled: &AtomicBool| cancelled.load(Ordering::Relaxed);

        requests.ask(request(1, Purpose::Try, "hide a"));
        let (tried, trying) = requests.next().unwrap();
        requests.ask(request(2, Purpose::Callers, "hide a"));
        assert!(tried.ticket == 1 && !is_ended(&trying), "another question needs an answer, too");
        requests.ask(request(3, Purpose::Try, "hide ab"));
        assert!(is_ended(&trying), "the line has changed");

        requests.ask(request(4, Purpose::Show, "hide ab"));
        let (shown, showing) = requests.next().unwrap();
        requests.ask(request(5, Purpose::Try, "hide b"));
        assert!(shown.ticket == 4 && !is_ended(&showing));
        requests.ask(request(6, Purpose::Show, "hide abc"));
        assert!(is_ended(&showing));
        let (shown, showing) = requests.next().unwrap();
        assert!(shown.ticket == 6 && !is_ended(&showing));
        requests.close();
        assert!(is_ended(&showing), "the viewer ends");
        assert!(requests.next().is_none());
    }

    #[test]
    fn what_was_ended_is_not_answered() {
        let profile = from_outline("a 1\n  b 2\n").unwrap();
        let base = Refined::base(&profile);
        let asked = || request(1, Purpose::Try, "hide a");
        let cancelled = AtomicBool::new(true);
        assert!(make(&base, asked(), &Watch::until(&cancelled)).is_none());
        cancelled.store(false, Ordering::Relaxed);
        let message = make(&base, asked(), &Watch::until(&cancelled));
        assert!(matches!(message, Some(Message::Tried { ticket: 1, shown: 3, out: 0 })));
    }
}
