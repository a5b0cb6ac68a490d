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
mod tests;

use crate::profile::Profile;
use crate::views::Sort;
use crate::views::hall::HallTable;

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
    /// The measure that a name stands for: `samples`, or the sample source.
    ///
    /// # Errors
    /// A sentence that lists the names there are.
    pub fn named(name: &str, profile: &Profile) -> Result<Self, String> {
        let source = &profile.info.metric.source;
        match name {
            "samples" => Ok(Self::Samples),
            _ if name == source => Ok(Self::Source),
            _ => {
                Err(format!("no metric `{name}` in this profile; it has `samples` and `{source}`"))
            }
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self, profile: &Profile) -> &str {
        match self {
            Self::Samples => "samples",
            Self::Source => &profile.info.metric.source,
        }
    }

    /// Its unit.
    #[must_use]
    pub fn unit(self, profile: &Profile) -> &str {
        match self {
            Self::Samples => "samples",
            Self::Source => &profile.info.metric.unit,
        }
    }

    /// What a number of samples is in this measure. Wide enough for every product.
    #[must_use]
    pub fn of(self, samples: u64, profile: &Profile) -> u128 {
        match self {
            Self::Samples => u128::from(samples),
            Self::Source => u128::from(samples) * u128::from(profile.info.metric.period),
        }
    }
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
    /// view, exclusive in the others. Without it: 1 in text, 0 for machines.
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
    /// Whether percentages in text are of all that was measured, not of what is shown.
    pub percent_of_all: bool,
    /// The table, and its title, for [`View::Tables`].
    pub table: Option<(HallTable, String)>,
}
