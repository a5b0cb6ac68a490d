//! What the screen was before, for undo and redo.
//!
//! A step is whatever changes which rows there are and how they are shown: stages, view, metric,
//! order, what is open, what is searched for, what percentages are of. Moving about is none, but going
//! back leads to where the cursor was when the step was made.

use super::message::View;
use super::model::{Model, PercentOf};
use super::stages::Stages;
use super::table::{Look, Rows};
use super::tables::TableLook;
use crate::profile::MetricRef;
use crate::refine::Grain;
use crate::views::search::NamePattern;

/// Steps that can be taken back.
const MOST_STEPS: usize = 200;

/// Rows that the moments may name in all, of some 40 bytes each. A row in a deep recursion is named by all that it is in.
const MOST_ROWS: usize = 2_000_000;

/// A screen of the past or, after undo, of the future. As large as what is open, and what did not
/// change is shared with its neighbors; never as large as the profile.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The stages that were asked for.
    pub stages: Stages,
    /// The view.
    pub view: View,
    /// What the rows of the flat view were.
    pub grain: Grain,
    /// The metric that was looked at.
    pub metric: MetricRef,
    /// What percentages were of.
    pub percent_of: PercentOf,
    /// What was searched for.
    pub search: Option<NamePattern>,
    /// The tree.
    pub tree: Look,
    /// The other views, as far as they were there.
    pub others: Looks,
    /// The tables of a path.
    pub tables: TableLook,
}

/// What the views besides the tree look like, as far as they were made.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    /// The callers view.
    pub callers: Option<Look>,
    /// The flat view as a list.
    pub flat: Option<Look>,
    /// The flat view as a tree of places.
    pub places: Option<Look>,
}

impl Moment {
    /// The present screen. Costs what is open, if that has changed.
    pub(super) fn of(model: &mut Model<'_>) -> Self {
        let refined = &model.refined;
        Self {
            stages: model.stages.clone(),
            view: model.view,
            grain: model.grain,
            metric: refined.metric,
            percent_of: model.percent_of,
            search: model.search.clone(),
            tree: model.tree.look(refined),
            others: model.looks(),
            tables: model.tables.look(&model.refined),
        }
    }

    /// How many rows it names that the moment before it does not.
    fn rows_besides(&self, before: Option<&Self>) -> usize {
        fn looks(moment: &Moment) -> [Option<&Look>; 4] {
            let Looks { callers, flat, places } = &moment.others;
            [Some(&moment.tree), callers.as_ref(), flat.as_ref(), places.as_ref()]
        }
        let before = before.map_or([None; 4], looks);
        let pairs = looks(self).into_iter().zip(before);
        pairs.filter_map(|(look, before)| Some(look?.rows_besides(before))).sum()
    }

    /// What differs from another moment, in words: nothing, if only the cursor does.
    pub(super) fn differs_by(&self, other: &Self) -> Option<&'static str> {
        let both = |of: fn(&Looks) -> &Option<Look>| {
            of(&self.others).as_ref().zip(of(&other.others).as_ref())
        };
        let looks = || {
            let others = [both(|of| &of.callers), both(|of| &of.flat), both(|of| &of.places)];
            core::iter::once((&self.tree, &other.tree)).chain(others.into_iter().flatten())
        };
        if self.stages != other.stages {
            Some("the stages")
        } else if self.view != other.view {
            Some("the view")
        } else if self.grain != other.grain {
            Some("what the rows are")
        } else if self.metric != other.metric {
            Some("the metric")
        } else if !self.tables.is_same_table(&other.tables) {
            Some("the path of the table")
        } else if looks().any(|(a, b)| a.sort() != b.sort())
            || self.tables.sort() != other.tables.sort()
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

/// How many of the oldest moments are to be forgotten, by the rows that each names; never the last one.
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
