//! Rows as a person sees them, for tests on what they cost.
//!
//! A row is all nodes of one function and kind below one row: call sites, threads and epochs
//! together. Where a test is answered by samples alone for nearly all rows, since below a row of
//! less than 1 % all rows have less than 1 %, the others are found from the top (`from_top`).
//! Otherwise all rows are found in one pass over the nodes (`at_once`).

mod at_once;
pub(crate) mod from_top;
mod measure;
pub(crate) mod row_test;

use self::measure::{Measure, measure};
use crate::profile::Count;
use crate::refine::forest::bits::Bits;
use crate::refine::forest::costs::in_width;
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::metric_test::MetricTest;
use crate::refine::watch::Watch;

/// The nodes of rows that pass a test.
pub(crate) fn of_passing_rows(
    refined: &Refined,
    test: &MetricTest,
    watch: &Watch<'_>,
) -> Result<Bits, Stop> {
    in_width!(&refined.costs, costs => {
        let measure = measure(refined, costs, test)?;
        if are_many(&measure) {
            Ok(at_once::passing(refined, costs, &measure, watch)?)
        } else {
            Ok(from_top::passing(refined, costs, &measure, watch)?)
        }
    })
}

/// Whether there are many nodes of which samples say too little. A row that is found from the top
/// costs as much as ten nodes where all rows are found.
fn are_many<C: Count>(measure: &Measure<'_, C>) -> bool {
    let inclusive = &measure.samples().inclusive;
    let unknown = inclusive.iter().filter(|&&samples| measure.known(samples.into()).is_none());
    unknown.count() > inclusive.len() / 10
}

/// The nodes of rows that pass a test: found from the top, and all at once.
#[cfg(test)]
pub(crate) fn passing_both_ways(
    refined: &Refined,
    test: &MetricTest,
    watch: &Watch<'_>,
) -> Result<[Bits; 2], Stop> {
    in_width!(&refined.costs, costs => {
        let measure = measure(refined, costs, test)?;
        Ok([
            from_top::passing(refined, costs, &measure, watch)?,
            at_once::passing(refined, costs, &measure, watch)?,
        ])
    })
}
