//! What two profiles differ in, as text, JSON or CSV.
//!
//! The profile is one that [`Profile::compared`](crate::profile::Profile::compared) made; the
//! rows are those of any report, with the counts of both sides. A row is chosen by how much it
//! differs, or a row below it: a function that moved from one caller to another is a difference,
//! though no row above the two callers is.

pub mod csv;
pub mod json;
pub mod listing;
pub mod text;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use super::View;
use crate::profile::comparison::Comparison;
use crate::refine::Refined;
use crate::views::difference::Difference;
use crate::views::hall::HallTable;
use crate::views::{Cost, Row, Sort, SortKey};

/// Which rows the report of a comparison has, and in what order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The view.
    pub view: View,
    /// How many levels of the tree to have, as in [`super::Options::depth`].
    pub depth: Option<u32>,
    /// Most rows to have. Without it: 60 in text, all for machines.
    pub limit: Option<usize>,
    /// By how much a row or one below it must differ, in percent of the larger of the two totals
    /// that are shown. Without it: 1 in text, 0 for machines.
    pub threshold: Option<f64>,
    /// What orders the rows.
    pub order: Order,
    /// Whether what comes first comes last.
    pub reversed: bool,
    /// The rows that are open, as in [`super::Options::open`].
    pub open: Option<Vec<Vec<usize>>>,
    /// The table, and its title, for [`View::Tables`].
    pub table: Option<(HallTable, String)>,
    /// Whether the text has edge counts. The forms for machines have them wherever they compare.
    pub edges: bool,
    /// The refinement as the person wrote it, for the heading.
    pub refinement: Option<String>,
    /// Plain ASCII only, in text.
    pub ascii: bool,
}

/// What orders the rows of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The greatest difference first, in either direction.
    #[default]
    Delta,
    /// The greatest cost in BASE first.
    Base,
    /// The greatest cost in OTHER first.
    Other,
    /// The greatest growth first; what is new before all.
    Growth,
    /// The greatest edge count of both together first.
    Edges,
    /// By name.
    Name,
}

impl Options {
    /// What rows are about: exclusive cost in the views that begin at functions.
    const fn cost(&self) -> Cost {
        match self.view {
            View::TopDown | View::Tables | View::Places => Cost::Inclusive,
            View::Callers | View::Flat => Cost::Exclusive,
        }
    }

    const fn sort(&self) -> Sort {
        let key = match self.order {
            Order::Delta => SortKey::Delta(self.cost()),
            Order::Base => SortKey::Base(self.cost()),
            Order::Other => SortKey::Other(self.cost()),
            Order::Growth => SortKey::Growth(self.cost()),
            Order::Edges => SortKey::Edges,
            Order::Name => SortKey::Name,
        };
        Sort { key, reversed: self.reversed }
    }

    /// The samples of both sides that a row is about.
    fn samples(&self, row: &Row) -> [u64; 2] {
        self.cost().of(row)
    }
}

/// What a refined profile compares.
///
/// # Panics
/// If it is not one that was made to be compared: callers made it so.
#[expect(clippy::expect_used, reason = "a mistake of the caller, not of any input")]
fn comparison<'r>(refined: &'r Refined<'_>) -> &'r Comparison {
    refined.profile.comparison.as_ref().expect("a profile of two sides")
}

/// The difference of all that is shown.
#[must_use]
pub fn total<'r>(refined: &'r Refined<'_>) -> Difference<'r> {
    Difference::new(comparison(refined), crate::views::shown_of_sides(refined))
}
