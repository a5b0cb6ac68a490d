//! What is made of a refined profile for other views than the tree.

use crate::refine::Refined;
use crate::tui::forest::Forest;
use crate::tui::table::Table;
use crate::views::callers::{Callers, Upward};
use crate::views::top_down::Downward;
use crate::views::{Cost, Sort, SortKey};

/// The views from functions outward.
#[derive(Clone, Debug)]
pub struct Inverted {
    /// The callers view.
    pub callers: Table<Upward>,
    /// The flat view: the first level of the callers view, in an order of its own.
    pub flat: Table<Upward>,
}

impl Inverted {
    /// Both views of one tree; they begin by exclusive cost, as in a report. Costs two orders of all
    /// functions.
    #[must_use]
    pub fn new(mut callers: Callers, refined: &Refined<'_>) -> Self {
        let mut by_function = callers.clone();
        let key = match refined.profile.comparison {
            Some(_) => SortKey::Delta(Cost::Exclusive),
            None => SortKey::Exclusive,
        };
        let sort = Sort { key, reversed: false };
        callers.set_sort(sort);
        by_function.set_sort(sort);
        Self { callers: Table::new(callers, refined), flat: Table::new(by_function, refined) }
    }
}

/// The flat view as a tree of places.
#[derive(Clone, Debug)]
pub struct Places<'p> {
    /// What the rows are made from.
    pub forest: Refined<'p>,
    /// The rows.
    pub rows: Table<Downward>,
}

impl<'p> Places<'p> {
    /// All rows closed, by inclusive cost, or by what differs.
    pub(super) fn new(forest: Forest<'p>) -> Self {
        let Forest { refined: forest, mut top_down } = forest;
        if forest.profile.comparison.is_some() {
            top_down.set_sort(Sort { key: SortKey::Delta(Cost::Inclusive), reversed: false });
        }
        Self { rows: Table::new(top_down, &forest), forest }
    }
}
