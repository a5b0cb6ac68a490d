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
mod laws;
#[cfg(test)]
mod tests;

use super::Options;
use crate::profile::comparison::Comparison;
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

/// The difference of all that is shown.
#[must_use]
pub fn total<'r>(refined: &'r Refined) -> Difference<'r> {
    Difference::new(comparison(refined), crate::views::shown_of_sides(refined))
}
