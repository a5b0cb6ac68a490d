//! A refined profile as text, JSON or CSV: the views for pipes, logs and scripts.
//!
//! The same rows as in the terminal, chosen by [`Options`]. The text form fits on a page or two
//! and says what it leaves out; the forms for machines have every row unless told otherwise, and
//! their keys are stable: keys are only ever added.

mod aligned;
pub mod contexts;
pub mod csv;
pub mod diff;
pub mod distribution;
mod for_machines;
pub mod heading;
pub mod info;
pub mod json;
pub mod ledger;
pub mod listing;
mod markdown;
pub mod sets;
pub mod source;
pub mod suggest;
pub mod text;
pub mod waits;

#[cfg(test)]
mod metrics_tests;
#[cfg(test)]
mod tests;

use csprof_format::profile::Metric;

use crate::profile::MetricRef;
use crate::refine::Refined;
use crate::views::columns::{Basis, PercentOf};
use crate::views::hall::HallTable;
use crate::views::measure::Measure;
use crate::views::number::Form;
use crate::views::{Row, Sort, View};

/// The metrics of a profile that has several; none of one that has not.
fn several(refined: &Refined) -> Vec<(MetricRef, &Metric)> {
    match refined.profile.info.further.is_empty() {
        true => Vec::new(),
        false => refined.profile.metrics().collect(),
    }
}

/// What the rows of a view are called.
fn title(view: View, table: Option<&(HallTable, String)>) -> &str {
    match (view, table) {
        (View::Tables, Some((_, title))) => title,
        _ => view.definition().heading,
    }
}

/// Those of them that are not looked at.
fn others(refined: &Refined) -> Vec<(MetricRef, &Metric)> {
    let mut metrics = several(refined);
    metrics.retain(|&(metric, _)| metric != refined.metric);
    metrics
}

/// Says what percentages are of; `None` where nothing was refined away, so that there is one
/// answer.
fn basis_of_percentages(refined: &Refined, options: &Options) -> Option<&'static str> {
    let is_refined = refined.profile.metrics().any(|(metric, _)| {
        let (base, shown) = refined.account_of(metric);
        shown < base
    });
    is_refined.then_some(if options.percent_of_shown {
        "Percentages are of what is shown."
    } else {
        "Percentages are of all that was measured."
    })
}

/// Which rows a report has, of one profile or of two that are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The view.
    pub view: View,
    /// What is counted, of one profile. Text shows times and machines get samples unless told.
    pub measure: Option<Measure>,
    /// How many levels of the tree to have; 1 is the first level alone. Without it: all, except
    /// that the callers view for machines has functions and their direct callers, since the whole
    /// inverted tree can be far larger than the profile.
    pub depth: Option<u32>,
    /// Most rows to have. Without it: 60 in text, all for machines.
    pub limit: Option<usize>,
    /// Least share of what is shown that a row must have, in percent, by [`View::cost`]; of several
    /// metrics, in one of them. Of a comparison, by how much a row or one below it must differ, in
    /// percent of the larger of the two totals that are shown. Without it: 1 in text, 0 for
    /// machines.
    pub threshold: Option<f64>,
    /// The refinement as the person wrote it, for the heading.
    pub refinement: Option<String>,
    /// Plain ASCII only, in text.
    pub ascii: bool,
    /// The order of rows. Without it: by inclusive cost in the top-down view and in tables, by
    /// exclusive cost in the others; of a comparison, what differs most first.
    pub sort: Option<Sort>,
    /// The rows that are open, instead of those that are costly enough: each by its place among
    /// its siblings and those of the rows above it, from 1, outermost first. What is above an
    /// open row is open. Limits then hold only where they are given.
    pub open: Option<Vec<Vec<usize>>>,
    /// Whether percentages in text are of what is shown, not of all that was measured.
    pub percent_of_shown: bool,
    /// Whether the forms for machines have build ids and lines of calls. Rows for each address have
    /// more of them.
    pub addresses: bool,
    /// Whether there is a column of how inclusive cost is spread over peers, of one profile.
    pub spread: bool,
    /// Whether the text of a comparison has edge counts. The forms for machines have them wherever
    /// they compare.
    pub edges: bool,
    /// The table, and its title, for [`View::Tables`] and, of callees, for [`View::Butterfly`].
    pub table: Option<(HallTable, String)>,
    /// The callers, for [`View::Butterfly`].
    pub callers: Vec<Row>,
}

impl Options {
    /// Which characters text has.
    fn form(&self) -> Form {
        if self.ascii { Form::Ascii } else { Form::Unicode }
    }

    /// What the columns of text are about.
    fn basis_of_text<'r>(&self, refined: &'r Refined) -> Basis<'r> {
        Basis {
            measure: self.measure.unwrap_or(Measure::Source),
            percent_of: PercentOf::shown(self.percent_of_shown),
            form: self.form(),
            ..Basis::new(refined).with_clusters()
        }
    }

    /// What the columns for machines are about.
    fn basis_for_machines<'r>(&self, refined: &'r Refined) -> Basis<'r> {
        Basis {
            measure: self.measure.unwrap_or_default(),
            addresses: self.addresses,
            spread: self.spread,
            ..Basis::new(refined)
        }
    }

    /// The order of rows.
    fn sort(&self, refined: &Refined) -> Sort {
        self.sort.unwrap_or_else(|| Sort::usual(self.view.cost(), &refined.profile))
    }
}
