//! A refined profile as text, JSON or CSV: the views for pipes, logs and scripts.
//!
//! The same rows as in the terminal, chosen by [`Options`]. The text form fits on a page or two
//! and says what it leaves out; the forms for machines have every row unless told otherwise, and
//! their keys are stable: keys are only ever added.

pub mod contexts;
pub mod csv;
pub mod diff;
pub mod info;
pub mod json;
pub mod listing;
pub mod sets;
pub mod text;

#[cfg(test)]
mod metrics_tests;
#[cfg(test)]
mod tests;

use csprof_format::profile::Metric;

use crate::profile::{MetricRef, Profile};
use crate::refine::Refined;
use crate::views::Sort;
use crate::views::hall::HallTable;
use crate::views::number::{Form, amount, count};

/// Which view is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Calling contexts from the root.
    #[default]
    TopDown,
    /// Functions by exclusive cost, and their callers.
    Callers,
    /// Functions by exclusive cost.
    Flat,
    /// The table of [`Options::table`].
    Tables,
    /// Places: load modules, files, functions, lines; the forest is one of
    /// [`places`](crate::views::places::places).
    Places,
}

/// What a number in a report counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Samples.
    #[default]
    Samples,
    /// The metric of the sample source: samples × period, in its unit.
    Source,
}

impl Measure {
    /// What a name stands for: `samples`, those of the first metric, or a sample source.
    ///
    /// # Errors
    /// A sentence that lists the names there are.
    pub fn named(name: &str, profile: &Profile) -> Result<(Self, MetricRef), String> {
        if name == "samples" {
            return Ok((Self::Samples, MetricRef::FIRST));
        }
        let metric = profile.metric_of(name).ok_or_else(|| {
            let mut names: Vec<_> =
                profile.metrics().map(|(_, metric)| format!("`{}`", metric.source)).collect();
            let last = names.pop().unwrap_or_default();
            names.insert(0, "`samples`".to_owned());
            format!("no metric `{name}` in this profile; it has {} and {last}", names.join(", "))
        })?;
        Ok((Self::Source, metric))
    }

    /// Its name.
    #[must_use]
    pub fn name(self, metric: &Metric) -> &str {
        match self {
            Self::Samples => "samples",
            Self::Source => &metric.source,
        }
    }

    /// Its unit.
    #[must_use]
    pub fn unit(self, metric: &Metric) -> &str {
        match self {
            Self::Samples => "samples",
            Self::Source => &metric.unit,
        }
    }

    /// What a number of samples is in this measure. Wide enough for every product.
    #[must_use]
    pub fn of(self, samples: u64, metric: &Metric) -> u128 {
        match self {
            Self::Samples => u128::from(samples),
            Self::Source => u128::from(samples) * u128::from(metric.period),
        }
    }

    /// The same for people.
    #[must_use]
    fn text(self, samples: u64, metric: &Metric, form: Form) -> String {
        match self {
            Self::Samples => count(samples, form),
            Self::Source => amount(samples, metric, form),
        }
    }
}

/// The metrics of a profile that has several; none of one that has not.
fn several<'p>(refined: &Refined<'p>) -> Vec<(MetricRef, &'p Metric)> {
    match refined.profile.info.further.is_empty() {
        true => Vec::new(),
        false => refined.profile.metrics().collect(),
    }
}

/// Those of them that are not looked at.
fn others<'p>(refined: &Refined<'p>) -> Vec<(MetricRef, &'p Metric)> {
    let mut metrics = several(refined);
    metrics.retain(|&(metric, _)| metric != refined.metric);
    metrics
}

/// Which rows a report has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The view.
    pub view: View,
    /// What is counted. Text shows times and machines get samples unless told.
    pub measure: Option<Measure>,
    /// How many levels of the tree to have; 1 is the first level alone. Without it: all, except
    /// that the callers view for machines has functions and their direct callers, since the whole
    /// inverted tree can be far larger than the profile.
    pub depth: Option<u32>,
    /// Most rows to have. Without it: 60 in text, all for machines.
    pub limit: Option<usize>,
    /// Least share of what is shown that a row must have, in percent: inclusive in the top-down
    /// view, exclusive in the others; of several metrics, in one of them. Without it: 1 in text, 0
    /// for machines.
    pub threshold: Option<f64>,
    /// The refinement as the person wrote it, for the heading.
    pub refinement: Option<String>,
    /// Plain ASCII only, in text.
    pub ascii: bool,
    /// The order of rows. Without it: by inclusive cost in the top-down view and in tables, by
    /// exclusive cost in the others.
    pub sort: Option<Sort>,
    /// The rows that are open, instead of those that are costly enough: each by its place among
    /// its siblings and those of the rows above it, from 1, outermost first. What is above an
    /// open row is open. Limits then hold only where they are given.
    pub open: Option<Vec<Vec<usize>>>,
    /// Whether percentages in text are of what is shown, not of all that was measured.
    pub percent_of_shown: bool,
    /// The table, and its title, for [`View::Tables`].
    pub table: Option<(HallTable, String)>,
}
