//! What two profiles differ in, as text, JSON or CSV.
//!
//! The profile is one that [`Profile::compared`](crate::profile::Profile::compared) made; the
//! rows are those of any report, with the counts of both sides. A row is chosen by how much it
//! differs, or a row below it: a function that moved from one caller to another is a difference,
//! though no row above the two callers is.

pub mod csv;
pub mod json;
pub mod listing;
pub mod summary;
pub mod text;

#[cfg(test)]
mod derived_tests;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use super::Options;
use crate::profile::comparison::{BASE, Comparison, OTHER};
use crate::refine::Refined;
use crate::views::difference::Difference;

/// What a refined profile compares.
///
/// # Panics
/// If it is not one that was made to be compared: callers made it so.
#[expect(clippy::expect_used, reason = "a mistake of the caller, not of any input")]
fn comparison(refined: &Refined) -> &Comparison {
    refined.profile.comparison.as_ref().expect("a profile of two sides")
}

/// How the noise was found, for people; `None` where it is that of sampling.
fn noise_by(comparison: &Comparison) -> Option<&'static str> {
    match [BASE, OTHER].map(|side| comparison.runs(side) > 1) {
        [true, true] => Some("the spread between the runs (Welch's t)"),
        [true, false] => Some(
            "the spread between the runs of base, which is taken to be that of the one run of other, \
             or the noise of sampling if that is more",
        ),
        [false, true] => Some(
            "the spread between the runs of other, which is taken to be that of the one run of base, \
             or the noise of sampling if that is more",
        ),
        [false, false] => None,
    }
}

/// Samples of each run of a side that are shown.
fn shown_of_runs_of(refined: &Refined, side: usize) -> Vec<u64> {
    let [base, other] = [BASE, OTHER].map(|side| comparison(refined).sides[side].runs.len());
    let (first, runs) = if side == BASE { (0, base) } else { (base, other) };
    // Those of the two sides come before.
    let of_runs = crate::views::shown_of_runs(refined);
    of_runs.into_iter().skip(2 + first).take(runs).collect()
}

/// The difference of all that is shown.
#[must_use]
pub fn total<'r>(refined: &'r Refined) -> Difference<'r> {
    Difference::new(comparison(refined), crate::views::shown_of_runs(refined))
}
