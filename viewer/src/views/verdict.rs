//! What node and edge counts say together: many short calls, or few long ones?
//!
//! An edge is a sampled activation that returned (Froyd, Mellor-Crummey and Fowler, ICS 2005,
//! section 2.4). With a sampling period T and calls of one length d, there are max(1, d / T)
//! samples for each such activation, since one that was not sampled is not counted. With lengths
//! that are exponentially distributed around μ there are 1 / (1 − e^(−T/μ)), which is 1 for
//! short calls, 1.58 for μ = T and close to μ / T for long ones.
//!
//! So the cost per edge tells the two apart:
//! near T, calls are shorter than T: their cost together is known, their number and length
//! separately are not, and the number is greater than the edge count. Well above T, calls are
//! long: the edge count is close to their number and the cost per edge to their length.
//!
//! A call that was met once may be of any length up to two periods. Of seven with lengths that are
//! exponentially distributed around T, all are met once with a probability of (1 − 1/e)⁷ = 0.04.
//! So there is no word for fewer. Calls that all have the same length, T or a little more, look
//! like short ones however many there are.
//!
//! All of this takes each sample for one visit of the thread. Where a signal stands for several
//! periods ([`clustered`](super::summary::clustered)), a short call that it meets has as many
//! samples and one edge. Then there is a cost per edge, and no word for it.
//!
//! Under recursion the time of an activation is that of those inside it, too. So cost per edge is
//! that of the outermost activations of a row, each sample counted once, and their returns.
//!
//! Three cautions. Long activations are more likely to be sampled than short ones of the same
//! function. Frames that were still on the stack at the end, or left by an exception or longjmp,
//! have no return: a row without any is `running`, which is not a cost per edge of 0 or infinity.
//! Counts of different runs compare only at equal periods.

use csprof_format::profile::Metric;

use super::number::{Form, amount_per};
use super::row::{Edges, Row, Weight};
use crate::profile::MetricRef;

/// What the calls that a row stands for are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Below 1.1 periods per edge, of seven or more: hardly longer than the period, and as a rule
    /// more than the edge count says.
    Short,
    /// Between: lengths around the period, or short and long ones together.
    Mixed,
    /// Above 3 periods per edge: about as many as the edge count says.
    Long,
    /// None of the sampled activations returned while it was watched.
    Live,
}

impl Verdict {
    /// The word on the screen.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Short => "many short",
            Self::Mixed => "mixed",
            Self::Long => "few long",
            Self::Live => "running",
        }
    }

    /// What the word means, for help and for people who ask.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Short => {
                "calls shorter than the sampling period, or about as long; more of them than edges"
            }
            Self::Mixed => "calls around as long as the sampling period, or short and long ones",
            Self::Long => "calls longer than the sampling period; about as many as edges",
            Self::Live => {
                "no return of a sampled activation was counted: still running, or left by an \
                 exception or a jump"
            }
        }
    }
}

/// What the edges of a row say. Of several metrics, that of which the activations have most samples
/// counts: a call that waits is long, whatever little it computes. Samples of all together say
/// nothing: timers that run out together make two of what was one visit.
#[must_use]
pub fn of_row(row: &Row) -> Option<Verdict> {
    let most = row.weights.iter().map(|weight| weight.edge_samples).max()?;
    // All metrics have the same edges, and no part has more samples than the whole.
    let Weight { edges, outer_edges, .. } = *row.of(MetricRef::FIRST);
    // Where only activations inside others returned, none of those that are timed did.
    verdict(most, outer_edges).filter(|verdict| *verdict != Verdict::Live || is_live(edges))
}

/// Whether it is known that no return was counted.
const fn is_live(edges: Edges) -> bool {
    matches!(edges, Edges::Range { high: 0, .. })
}

/// What edges and the samples of the activations they count ([`Weight::edge_samples`],
/// [`Weight::outer_edges`]) say. `None`
/// where there is no edge count, or where it is known so roughly that its two bounds say different
/// things.
#[must_use]
fn verdict(edge_samples: u64, edges: Edges) -> Option<Verdict> {
    match edges {
        Edges::None => None,
        Edges::Range { low, high } => {
            let at_least = of_exact(edge_samples, high);
            at_least.filter(|_| low == high || at_least == of_exact(edge_samples, low))
        }
    }
}

/// Fewest calls of which it can be said that they are shorter than the period.
const LEAST_SHORT: u64 = 7;

/// Whether there are samples of calls, each met about once, and too few of them for a word.
#[must_use]
pub fn are_too_few(weight: &Weight) -> bool {
    let Weight { edge_samples, outer_edges, .. } = *weight;
    let is_none = |edges| edges > 0 && of_exact(edge_samples, edges).is_none();
    matches!(outer_edges, Edges::Range { low, high } if is_none(low) && is_none(high))
}

fn of_exact(samples: u64, edges: u64) -> Option<Verdict> {
    let (samples, exact) = (u128::from(samples), u128::from(edges));
    match () {
        () if edges == 0 => Some(Verdict::Live),
        () if samples * 10 < exact * 11 => (edges >= LEAST_SHORT).then_some(Verdict::Short),
        () if samples > exact * 3 => Some(Verdict::Long),
        () => Some(Verdict::Mixed),
    }
}

/// The column `time/edge`: the cost per edge, `511 ms`. Empty where there is no count, and where it
/// is 0 or not exact. The weight is the row's of the metric.
#[must_use]
pub fn per_edge(weight: &Weight, metric: &Metric, form: Form) -> String {
    match weight.outer_edges {
        Edges::Range { low, high } if low == high && high > 0 => {
            amount_per(weight.edge_samples, high, metric, form)
        }
        _ => String::new(),
    }
}

/// The column `calls`: the verdict, `few long`. Empty where nothing can be said, as where samples
/// are clustered or not all of time (`mute`), and for `running` rows, which the edge column already
/// tells.
#[must_use]
pub fn calls(row: &Row, mute: bool) -> Option<&'static str> {
    let verdict = of_row(row).filter(|verdict| !mute && *verdict != Verdict::Live);
    verdict.map(Verdict::word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{FrameKind, FunctionRef};
    use crate::views::Weights;

    #[test]
    fn the_limits_are_1_1_and_3_periods() {
        let exact = |inclusive, edges| verdict(inclusive, Edges::exact(edges));
        assert_eq!(exact(100, 100), Some(Verdict::Short));
        assert_eq!(exact(109, 100), Some(Verdict::Short));
        assert_eq!(exact(110, 100), Some(Verdict::Mixed));
        assert_eq!(exact(300, 100), Some(Verdict::Mixed));
        assert_eq!(exact(301, 100), Some(Verdict::Long));
        assert_eq!(exact(301, 0), Some(Verdict::Live));
        assert_eq!([7, 6, 1].map(|one| exact(one, one)), [Some(Verdict::Short), None, None]);
        assert_eq!([exact(2, 1), exact(4, 1)], [Some(Verdict::Mixed), Some(Verdict::Long)]);
        assert_eq!(verdict(301, Edges::None), None);
    }

    #[test]
    fn an_interval_has_a_verdict_only_if_both_ends_agree() {
        let between = |low, high| verdict(100, Edges::Range { low, high });
        assert_eq!(between(10, 20), Some(Verdict::Long));
        assert_eq!(between(10, 50), None);
        assert_eq!(between(0, 20), None);
    }

    fn weight(edge_samples: u64, edges: Edges) -> Weight {
        Weight { edge_samples, edges, outer_edges: edges, ..Weight::NONE }
    }

    #[test]
    fn of_several_metrics_the_one_with_most_samples_counts() {
        let row = |edge_samples: [u64; 2]| {
            let weights = edge_samples.map(|samples| weight(samples, Edges::exact(100)));
            let weights = weights.into_iter().collect();
            Row { weights, ..Row::empty(FunctionRef::ROOT, FrameKind::Call) }
        };
        assert_eq!(of_row(&row([0, 301])), Some(Verdict::Long));
        assert_eq!(of_row(&row([100, 20])), Some(Verdict::Short));
        assert_eq!(of_row(&row([100, 100])), Some(Verdict::Short));
    }

    #[test]
    fn the_columns_are_blank_where_nothing_can_be_said() {
        let metric = Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 };
        let said = |edge_samples, edges, clustered| {
            let weights = Weights::One(weight(edge_samples, edges));
            let row = Row { weights, ..Row::empty(FunctionRef::ROOT, FrameKind::Call) };
            let word = calls(&row, clustered).unwrap_or_default();
            let amount = per_edge(row.first(), &metric, Form::Ascii);
            format!("{amount} {word}").trim().to_owned()
        };
        let text = |edge_samples, edges| said(edge_samples, edges, false);
        assert_eq!(said(22, Edges::exact(1), true), "110 ms");
        assert_eq!(text(122_440, Edges::exact(1198)), "511 ms few long");
        assert_eq!(text(100, Edges::exact(100)), "5.00 ms many short");
        assert_eq!(text(150, Edges::exact(100)), "7.50 ms mixed");
        assert_eq!(text(100, Edges::exact(0)), "");
        assert_eq!(text(100, Edges::Range { low: 10, high: 50 }), "");
        assert_eq!(text(100, Edges::Range { low: 10, high: 20 }), "few long", "whichever it is");
        assert_eq!(text(100, Edges::None), "");
    }
}
