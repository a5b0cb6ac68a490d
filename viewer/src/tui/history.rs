//! What the screen was before, for undo and redo.
//!
//! A step is whatever changes which rows there are and how they are shown: stages, view, metric,
//! order, what is open, what is searched for, what percentages are of. Moving about is none, but
//! going back leads to where the cursor was when the step was made.

use super::message::ViewId;
use super::scene::PercentOf;
use super::stages::Stages;
use super::view::Memory;
use crate::profile::MetricRef;
use crate::views::search::NamePattern;

/// Steps that can be taken back.
const MOST_STEPS: usize = 200;

/// Rows that the moments may name in all, of some 40 bytes each. A row in a deep recursion is named
/// by all that it is in.
const MOST_ROWS: usize = 2_000_000;

/// A screen of the past or, after undo, of the future. As large as what is open, and what did not
/// change is shared with its neighbors; never as large as the profile.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The stages that were asked for.
    pub stages: Stages,
    /// The view.
    pub view: ViewId,
    /// The metric that was looked at.
    pub metric: MetricRef,
    /// What percentages were of.
    pub percent_of: PercentOf,
    /// What was searched for.
    pub search: Option<NamePattern>,
    /// What each view looked like.
    pub views: Vec<Memory>,
}

impl Moment {
    /// How many rows it names that the moment before it does not.
    fn rows_besides(&self, before: Option<&Self>) -> usize {
        let rows = |(at, memory): (usize, &Memory)| {
            memory.rows_besides(before.and_then(|before| before.views.get(at)))
        };
        self.views.iter().enumerate().map(rows).sum()
    }

    /// What differs from another moment, in words: nothing, if only the cursor does.
    pub(super) fn differs_by(&self, other: &Self) -> Option<&'static str> {
        let views = || self.views.iter().zip(&other.views);
        let subjects = views().map(|(one, other)| one.subject.as_ref().zip(other.subject.as_ref()));
        let mut other_subject = subjects.flatten().filter(|(one, other)| one.text != other.text);
        let looks = || views().flat_map(|(one, other)| one.looks_of_both(other));
        if self.stages != other.stages {
            Some("the stages")
        } else if self.view != other.view {
            Some("the view")
        } else if let Some((subject, _)) = other_subject.next() {
            Some(subject.what)
        } else if self.metric != other.metric {
            Some("the metric")
        } else if looks().any(|(a, b)| a.sort() != b.sort())
            || views().any(|(one, other)| one.sort != other.sort)
        {
            Some("the order of rows")
        } else if looks().any(|(a, b)| !a.has_same_open(b)) {
            Some("which rows are open")
        } else if self.percent_of != other.percent_of {
            Some("what percentages are of")
        } else {
            (self.search != other.search).then_some("the search")
        }
    }
}

/// How many of the oldest moments are to be forgotten, by the rows that each names; never the last
/// one.
fn too_many(rows: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator) -> usize {
    let all = rows.len();
    let mut named = 0_usize;
    let kept = rows.rev().take_while(|rows| {
        named = named.saturating_add(*rows);
        named <= MOST_ROWS
    });
    all - kept.count().clamp(1, MOST_STEPS)
}

/// The screens before and after the present one.
///
/// The present screen has a place among them but is not kept while it is present. It may not be
/// there yet: refining a large profile takes a moment. `settled` is the place of what is shown.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// All moments; that of the present, if there is one after it, is out of date.
    moments: Vec<Moment>,
    now: usize,
    settled: usize,
    /// Whether the last step was a search, which goes on with each row found.
    searching: bool,
}

impl History {
    /// How many steps can be taken back: the place of the present.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.now
    }

    /// A step was made. What had been taken back is forgotten.
    pub(super) fn step(&mut self, before: Moment, is_search: bool) {
        let goes_on = is_search && self.searching && self.now == self.moments.len();
        self.searching = is_search;
        if goes_on && self.now > 0 {
            return;
        }
        self.moments.truncate(self.now);
        self.moments.push(before);
        let before = |at: usize| at.checked_sub(1).map(|before| &self.moments[before]);
        let rows = |(at, moment): (usize, &Moment)| moment.rows_besides(before(at));
        // What is shown stays, also while a change is under way.
        let too_many = too_many(self.moments.iter().enumerate().map(rows)).min(self.settled);
        self.moments.drain(..too_many);
        self.settled = self.settled.saturating_sub(too_many);
        self.now = self.moments.len();
        // What was taken back and is still shown comes after what it was taken back to.
        self.settled = self.settled.min(self.now);
    }

    /// Goes to the moment before the present one, or after it.
    pub(super) fn go(&mut self, forward: bool, present: Moment) -> Option<Moment> {
        let to = if forward { self.now + 1 } else { self.now.checked_sub(1)? };
        let moment = self.moments.get(to)?.clone();
        self.searching = false;
        if self.now == self.moments.len() {
            self.moments.push(present);
        } else if self.settled == self.now {
            self.moments[self.now] = present;
        }
        self.now = to;
        Some(moment)
    }

    /// What is wanted is shown.
    pub(super) fn settle(&mut self) {
        self.settled = self.now;
    }

    /// The change that led to these stages is refused: it was no step, and steps after it were made
    /// under the stages before it, which are returned. `None` if no step led to these stages.
    pub(super) fn without_change(&mut self, refused: &Stages) -> Option<Stages> {
        let at = self.moments[..self.now].iter().rposition(|moment| moment.stages != *refused)?;
        let before = self.moments.remove(at).stages;
        self.now -= 1;
        self.settled -= usize::from(self.settled > at);
        for later in &mut self.moments[at..self.now] {
            later.stages.clone_from(&before);
        }
        Some(before)
    }

    /// What is wanted will not be shown: back to what is. A change is forgotten altogether.
    pub(super) fn back_to_settled(&mut self, forget: bool) -> Option<Moment> {
        self.now = self.settled;
        let settled = self.moments.get(self.now).cloned();
        if forget {
            self.moments.truncate(self.now);
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_moments_are_forgotten_when_they_name_too_many_rows() {
        assert_eq!(too_many([10; 5].into_iter()), 0);
        assert_eq!(too_many([10; MOST_STEPS + 3].into_iter()), 3);
        assert_eq!(too_many([MOST_ROWS, 1, MOST_ROWS / 2, MOST_ROWS / 2].into_iter()), 2);
        assert_eq!(too_many([MOST_ROWS, 1, MOST_ROWS / 2, MOST_ROWS / 2 + 1].into_iter()), 3);
        // The last one stays, however large.
        assert_eq!(too_many([1, 2 * MOST_ROWS].into_iter()), 1);
    }
}
