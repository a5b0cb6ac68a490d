//! Refining beside the screen: keys go on working while a large profile is refined.
//!
//! The newest request wins. A request that has not begun is replaced by a newer one of its kind;
//! one that has begun is ended by it, between two stretches of nodes, and is not answered. What is
//! to be shown ends everything that is made of what was shown before, and the user can end all.
//! Counting what sets of frames mean takes longest and is wanted least: it gives way to whatever
//! else is asked for, and begins again when there is nothing else to do.
//!
//! What takes long enough to be waited for tells how far it is.

use std::cell::Cell;
use std::mem::discriminant;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::effect::{Purpose, Request};
use super::forest::{Forest, Refusal, Unmade, refine};
use super::language::complete;
use super::message::Message;
use crate::profile::Profile;
use crate::refine::{Cancelled, Refined, Watch};
use crate::views::search::Search;
use crate::views::sets::set_rows;
use crate::views::shown_of_sides;

/// Profiles with fewer nodes are refined at once: it takes less than painting a screen.
pub const AT_ONCE: usize = 100_000;

/// How long a request takes before it tells how far it is, and between two such words. Less would
/// only flicker.
pub(super) const TELL_EVERY: Duration = Duration::from_millis(100);

/// Requests on their way to the worker.
#[derive(Default)]
pub(super) struct Requests {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// At most one of each kind, the oldest first.
    requests: Vec<Request>,
    /// What is being done, and whether it is to end.
    running: Option<(Request, Arc<AtomicBool>)>,
    closed: bool,
    /// What requests are about, where it is no longer what the worker began with.
    base: Option<Refined>,
}

impl Waiting {
    /// Puts a request in the place of an older one of its kind.
    fn put(&mut self, request: Request) {
        self.requests.retain(|other| !is_same_kind(&other.purpose, &request.purpose));
        self.requests.push(request);
    }
}

impl Requests {
    /// Asks for something.
    pub(super) fn ask(&self, request: Request) {
        let mut waiting = self.lock();
        let is_shown = request.purpose == Purpose::Show;
        let mut put_off = None;
        if let Some((Request { purpose, .. }, cancelled)) = &waiting.running {
            let is_same = is_same_kind(purpose, &request.purpose);
            let is_ended = cancelled.load(Ordering::Relaxed);
            let gives_way = *purpose == Purpose::Sets && !is_ended;
            if is_same || gives_way || (is_shown && is_of_what_was_shown(purpose)) {
                // Relaxed: nothing else is told by it.
                cancelled.store(true, Ordering::Relaxed);
            }
            if gives_way {
                put_off = waiting.running.as_ref().map(|(request, _)| request.clone());
            }
        }
        if let Some(put_off) = put_off {
            waiting.put(put_off);
        }
        if is_shown {
            waiting.requests.retain(|other| !is_of_what_was_shown(&other.purpose));
        }
        waiting.put(request);
        self.changed.notify_one();
    }

    /// Ends the request of this number, or all, whether it is being done or waits, unanswered.
    pub(super) fn cancel(&self, only: Option<u64>) {
        let mut waiting = self.lock();
        let is_meant = |request: &Request| only.is_none_or(|ticket| request.ticket == ticket);
        if let Some((_, cancelled)) = waiting.running.as_ref().filter(|(it, _)| is_meant(it)) {
            cancelled.store(true, Ordering::Relaxed);
        }
        waiting.requests.retain(|request| !is_meant(request));
    }

    /// Lets whatever is asked for from now on be about another profile. What was asked for ends.
    pub(super) fn rebase(&self, base: Refined) {
        self.cancel(None);
        self.lock().base = Some(base);
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
            let first = (0..waiting.requests.len())
                .min_by_key(|&at| urgency(&waiting.requests[at].purpose));
            let next = first.map(|at| waiting.requests.remove(at));
            if let Some(request) = next {
                let cancelled = Arc::new(AtomicBool::new(false));
                waiting.running = Some((request.clone(), Arc::clone(&cancelled)));
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

/// Whether a newer request takes the place of an older one.
fn is_same_kind(one: &Purpose, other: &Purpose) -> bool {
    match (one, other) {
        (Purpose::View(one), Purpose::View(other)) => one.kind == other.kind,
        _ => discriminant(one) == discriminant(other),
    }
}

/// What is done first: the lowest of those that wait.
fn urgency(purpose: &Purpose) -> u8 {
    match purpose {
        Purpose::Show => 0,
        Purpose::View(_) => 1,
        Purpose::Complete { .. } => 2,
        Purpose::Search { .. } => 3,
        Purpose::Try => 4,
        Purpose::Sets => 5,
    }
}

/// Whether a request is about what is shown, and of no use when that changes.
fn is_of_what_was_shown(purpose: &Purpose) -> bool {
    match purpose {
        Purpose::View(_) | Purpose::Search { .. } | Purpose::Try => true,
        Purpose::Show | Purpose::Sets | Purpose::Complete { .. } => false,
    }
}

/// Answers requests on a profile until they are closed. What takes longer than `tell_every` tells
/// how far it is.
pub(super) fn work(
    base: &Refined,
    requests: &Requests,
    tell_every: Duration,
    answer: impl Fn(Message),
) {
    // Nobody waits for it now.
    base.prepare_names();
    while let Some((request, cancelled)) = requests.next() {
        let ticket = request.ticket;
        let told = Cell::new(Instant::now());
        let report = |done: f64| {
            if told.get().elapsed() >= tell_every {
                told.set(Instant::now());
                answer(Message::Progress { ticket, done });
            }
        };
        let newer = requests.lock().base.clone();
        let base = newer.as_ref().unwrap_or(base);
        if let Ok(message) = make(base, request, &Watch::until(&cancelled).reporting(&report)) {
            answer(message);
        }
    }
}

/// Does what is asked, on a profile without stages.
pub fn perform(base: &Refined, request: Request) -> Message {
    let ticket = request.ticket;
    make(base, request, &Watch::none()).unwrap_or_else(|Cancelled| {
        // Nobody asked for it.
        let refusal = Refusal { cause: "the refinement was ended".to_owned(), part: None };
        Message::Refused { ticket, refusal }
    })
}

/// Does what is asked on a profile that was read again, to take the place of `before`.
pub fn replace(before: &Refined, read: Result<Profile, String>, mut request: Request) -> Message {
    let profile = match read {
        Ok(profile) => profile,
        Err(cause) => {
            let (ticket, cause) = (request.ticket, format!("not read again: {cause}"));
            return Message::Refused { ticket, refusal: Refusal { cause, part: None } };
        }
    };
    let source = &before.source_of(request.metric).source;
    request.metric = profile.metric_of(source).unwrap_or_default();
    let base = Box::new(Refined::base(&profile));
    match perform(&base, request) {
        Message::Refined { ticket, forest } => Message::Reloaded { ticket, base, forest },
        other => other,
    }
}

/// Whether there is a row, if only one without samples of the metric that is looked at.
fn shows_anything(refined: &Refined) -> bool {
    refined.node_count() > 0 && refined.is_shown(0)
}

/// Does what is asked, unless it is ended before it is done.
fn make(base: &Refined, request: Request, watch: &Watch<'_>) -> Result<Message, Cancelled> {
    let Request { ticket, purpose, stages, sets, metric } = request;
    // What is made of the refined profile takes about as long as a stage.
    let passes = stages.active().count();
    watch.parts(0..passes, passes + 1);
    let refined = match refine(base, &stages, &sets, watch) {
        Ok(refined) => refined.looking_at(metric),
        Err(Unmade::Refused(refusal)) => return Ok(Message::Refused { ticket, refusal }),
        Err(Unmade::Cancelled) => return Err(Cancelled),
    };
    watch.parts(passes..passes + 1, passes + 1);
    Ok(match purpose {
        // A screen without rows would tell less than the one there is.
        Purpose::Show if !shows_anything(&refined) && shows_anything(base) => {
            let cause = "no call path would be left; nothing was changed".to_owned();
            Message::Refused { ticket, refusal: Refusal { cause, part: None } }
        }
        Purpose::Show => Message::Refined { ticket, forest: Box::new(Forest::of(refined, watch)?) },
        Purpose::View(wanted) => match wanted.make(&refined, watch) {
            Ok(made) => Message::Made { ticket, made },
            Err(Unmade::Refused(refusal)) => Message::Refused { ticket, refusal },
            Err(Unmade::Cancelled) => return Err(Cancelled),
        },
        Purpose::Complete { text, cursor } => {
            let (word, completions) = complete(&refined, &sets, &text, cursor, true);
            Message::Completed { ticket, word, completions }
        }
        Purpose::Search { pattern, without_loops } => {
            let refined = if without_loops { refined.without_loops(watch)? } else { refined };
            let search = Search::new(&refined, &pattern, watch)?;
            Message::Searched { ticket, search: Box::new(search) }
        }
        Purpose::Sets => {
            let rows = set_rows(&refined, &sets, watch)?;
            Message::SetsCounted { ticket, rows }
        }
        Purpose::Try => Message::Tried {
            ticket,
            shown: refined.shown,
            out: refined.out,
            of_sides: shown_of_sides(&refined),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::stages::Stages;
    use super::super::views::{callers, flat, tables};
    use super::*;
    use crate::profile::{MetricRef, NodesBuilder, Profile, from_outline};
    use crate::refine::{Grain, Sets};
    use crate::views::hall::{Reach, Way};
    use crate::views::search::NamePattern;

    fn request(ticket: u64, purpose: Purpose, stage: &str) -> Request {
        let mut stages = Stages::default();
        if !stage.is_empty() {
            stages.push(stage.to_owned());
        }
        let metric = MetricRef::FIRST;
        Request { ticket, purpose, stages, sets: Arc::new(Sets::default()), metric }
    }

    #[test]
    fn a_newer_request_ends_the_one_under_way() {
        let requests = Requests::default();
        let is_ended = |cancelled: &AtomicBool| cancelled.load(Ordering::Relaxed);

        requests.ask(request(1, Purpose::Try, "hide a"));
        let (tried, trying) = requests.next().unwrap();
        requests.ask(request(2, Purpose::View(callers::wanted(false)), "hide a"));
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
        assert!(make(&base, asked(), &Watch::until(&cancelled)).is_err());
        cancelled.store(false, Ordering::Relaxed);
        let message = make(&base, asked(), &Watch::until(&cancelled));
        assert!(matches!(message, Ok(Message::Tried { ticket: 1, shown: 3, out: 0, .. })));
    }

    /// Three hundred thousand nodes, each below one of the last hundred.
    fn large() -> Profile {
        let mut profile = from_outline("f0 1\n  f1 1\nf2 1\n").unwrap();
        let mut nodes = NodesBuilder::from(&profile.nodes);
        for node in 4..300_000_u32 {
            let parent = node - 1 - node * 7 % node.min(100);
            nodes.push(parent, nodes.frame[1 + node as usize % 3], 1, 1);
        }
        profile.nodes = nodes.finish();
        profile.streams[0].nodes.end = 300_000;
        profile
    }

    #[test]
    fn counting_sets_gives_way_and_goes_on_later() {
        let profile = large();
        let requests = Requests::default();
        let answered = RefCell::new(Vec::new());
        requests.ask(request(1, Purpose::Sets, ""));
        work(&Refined::base(&profile), &requests, Duration::ZERO, |message| match message {
            Message::Progress { ticket: 1, .. } if answered.borrow().is_empty() => {
                requests.ask(request(2, Purpose::Show, "hide f2"));
            }
            Message::Refined { ticket, .. } => answered.borrow_mut().push(ticket),
            Message::SetsCounted { ticket, .. } => {
                answered.borrow_mut().push(ticket);
                requests.close();
            }
            _ => {}
        });
        assert_eq!(answered.into_inner(), [2, 1]);
    }

    /// The worker tells how far it is, and another thread asks for something else, or ends it, at
    /// the first such word: then the old request is not answered, wherever it was.
    #[test]
    fn progress_is_told_and_every_request_can_be_ended_on_its_way() {
        let profile = large();
        let path = || match crate::refine::parse("f0").unwrap().stages.pop() {
            Some(crate::refine::Stage::Where(crate::refine::Predicate::Through(path))) => path,
            _ => unreachable!("a bare frame is a path"),
        };
        let table = |way| Purpose::View(tables::table_wanted(Some(path()), way, Reach::Extended));
        for (purpose, stage) in [
            (Purpose::Show, "hide f1"),
            (Purpose::Show, ""),
            (Purpose::View(callers::wanted(false)), ""),
            (Purpose::View(flat::places_wanted(Grain::Module)), ""),
            (table(Way::Down), ""),
            (table(Way::Up), ""),
            (
                Purpose::Search { pattern: NamePattern::new("f1").unwrap(), without_loops: false },
                "",
            ),
            (Purpose::Try, "hide f1"),
        ] {
            for by_key in [true, false] {
                let requests = Requests::default();
                let told = Cell::new(0_u32);
                requests.ask(request(1, purpose.clone(), stage));
                work(
                    &Refined::base(&profile),
                    &requests,
                    Duration::ZERO,
                    |message| match message {
                        Message::Progress { ticket: 1, done } => {
                            assert!((0.0..1.0).contains(&done), "{done}");
                            told.set(told.get() + 1);
                            if by_key {
                                requests.cancel(None);
                            }
                            requests.ask(request(2, Purpose::Show, "hide f2"));
                        }
                        Message::Progress { ticket: 2, .. } => {}
                        Message::Refined { ticket: 2, .. } => requests.close(),
                        other => panic!("{purpose:?} was answered: {other:?}"),
                    },
                );
                assert_eq!(told.get(), 1, "{purpose:?}");
            }
        }
    }
}
