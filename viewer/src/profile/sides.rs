//! The two sides of a comparison, and in what their samples compare; how they become one profile
//! is in [`comparison`](super::comparison).
//!
//! A side has one run, or several of the same thing. Then its amounts are means: what its runs
//! have together, divided by how many they are. Sums of samples stay integers, so what they weigh
//! is multiplied by the number of runs of the other side instead.

use std::collections::BTreeSet;
use std::sync::Arc;

use csprof_format::ids::ProcessId;
use csprof_format::profile::{Metric, RunInfo};

use super::hosts::Hosts;

/// What is compared with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// BASE and OTHER.
    pub sides: [Side; 2],
    /// The first process of OTHER; those before it are of BASE.
    pub first_other: ProcessId,
    /// On which host each process of both ran.
    pub hosts: Arc<Hosts>,
    /// What is compared of them.
    pub scale: Scale,
    /// What is expected of OTHER, if it ran on another number of ranks or threads.
    pub scaling: Option<Scaling>,
    /// What else was measured on both sides, for formulas: of BASE and of OTHER, in the order of
    /// the further columns of the nodes. No view has rows or columns for it.
    pub further: Vec<[Metric; 2]>,
    /// Nanoseconds between the sides, where they are one run at two moments: all that BASE has is
    /// in OTHER, too.
    pub moments: Option<u64>,
}

/// What a run on more ranks or threads is expected to cost, all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// How the work depends on their number.
    pub kind: ScalingKind,
    /// The ranks or threads that share the work, in BASE and in OTHER. At least 1.
    pub workers: [u32; 2],
}

/// How work depends on the number of ranks or threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalingKind {
    /// The same work is divided among them: it should cost as much as before.
    Strong,
    /// Each has as much work as before: all should cost more in proportion to their number.
    Weak,
}

impl ScalingKind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
        }
    }
}

/// In what two counts of samples are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Amounts of the metric: each side's samples, times its period.
    #[default]
    Amount,
    /// Samples; they compare only where one stands for the same on both sides.
    Samples,
    /// Shares of what was measured on each side.
    Share,
}

/// One run of a side.
#[derive(Clone, Debug, PartialEq)]
pub struct SideRun {
    /// What people call it: its file.
    pub name: String,
    /// Samples in its trees.
    pub total: u64,
    /// Runs that its file was merged from, such as ranks that were recorded apart; 1 of no merge.
    pub parts: usize,
    /// The first process of it; all up to the next run's are of it, too.
    pub first: ProcessId,
}

/// One of two profiles that are compared, or several runs of the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What people call it: its file, and how many more there are.
    pub name: String,
    /// Its runs, one at least.
    pub runs: Vec<SideRun>,
    /// What was run, the first time.
    pub run: RunInfo,
    /// What was measured.
    pub metric: Metric,
    /// Samples in the trees of all runs.
    pub total: u64,
    /// Samples that were lost in all runs.
    pub lost: u64,
    /// Ranks of which a run has only the sum with others.
    pub summed: BTreeSet<u32>,
}

/// BASE in [`Comparison::sides`].
pub const BASE: usize = 0;
/// The greatest mean of a Poisson count of which 2.5 % are 0, -ln 0.025: what may be where no
/// sample was met (Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28, 1936).
pub const UNSEEN: f64 = 3.689;
/// OTHER in [`Comparison::sides`].
pub const OTHER: usize = 1;

impl Comparison {
    /// Whether a sample stands for the same on both sides.
    #[must_use]
    pub fn same_period(&self) -> bool {
        self.sides[BASE].metric == self.sides[OTHER].metric
    }

    /// Whether edge counts compare: samples stand for the same, of as many runs.
    #[must_use]
    pub fn edges_compare(&self) -> bool {
        self.same_period() && self.runs(BASE) == self.runs(OTHER)
    }

    /// How many runs a side has.
    #[must_use]
    pub fn runs(&self, side: usize) -> u64 {
        self.sides[side].runs.len().max(1) as u64
    }

    /// Whether a side has several runs, so that their spread is known.
    #[must_use]
    pub fn has_several_runs(&self) -> bool {
        self.sides.iter().any(|side| side.runs.len() > 1)
    }

    /// By what BASE is multiplied for what is expected of OTHER: a numerator and a denominator.
    #[must_use]
    pub fn expected(&self) -> [u128; 2] {
        match self.scaling {
            Some(Scaling { kind: ScalingKind::Weak, workers: [base, other] }) => {
                [u128::from(other), u128::from(base.max(1))]
            }
            _ => [1, 1],
        }
    }

    /// What one sample of each side weighs, in a unit in which both are integers: periods, or the
    /// other side's total where shares are compared (a / A and b / B compare as a·B and b·A). Of
    /// several runs, means are compared as a·m and b·n; of weak scaling, BASE is what is expected.
    #[must_use]
    pub fn weights(&self) -> [u128; 2] {
        let [base, other] = &self.sides;
        let [runs_of_base, runs_of_other] = [BASE, OTHER].map(|side| u128::from(self.runs(side)));
        let [of_base, of_other] = match self.scale {
            Scale::Amount => [
                u128::from(base.metric.period) * runs_of_other,
                u128::from(other.metric.period) * runs_of_base,
            ],
            Scale::Samples => [runs_of_other, runs_of_base],
            Scale::Share => [u128::from(other.total.max(1)), u128::from(base.total.max(1))],
        };
        let [more, fewer] = self.expected();
        [of_base.saturating_mul(more), of_other.saturating_mul(fewer)]
    }

    /// How many units of [`Comparison::weights`] are one unit of what people see: one of the
    /// metric's, one sample, or one percent.
    #[must_use]
    pub fn unit(&self) -> f64 {
        let [base, other] = &self.sides;
        let unit = match self.scale {
            Scale::Amount | Scale::Samples => self.runs(BASE) as f64 * self.runs(OTHER) as f64,
            Scale::Share => base.total.max(1) as f64 * other.total.max(1) as f64 / 100.0,
        };
        unit * self.expected()[1] as f64
    }

    /// OTHER minus BASE in units of [`Comparison::weights`].
    #[must_use]
    pub fn delta(&self, samples: [u64; 2]) -> i128 {
        let weights = self.weights();
        let weighed = |side: usize| {
            let product = u128::from(samples[side]).saturating_mul(weights[side]);
            i128::try_from(product).unwrap_or(i128::MAX)
        };
        weighed(OTHER) - weighed(BASE)
    }

    /// Two standard deviations of [`Comparison::delta`] by sampling alone.
    ///
    /// A sample is an event that happens or not, so a count of n varies by √n (Poisson), and the
    /// variances of two independent runs add up. Timers are more regular than that, and a row
    /// that has nearly all samples varies less, so this is an upper bound of what sampling
    /// does; what differs between two runs of one program comes on top.
    ///
    /// A count of 0 does not say that there is nothing: it counts as [`UNSEEN`], and the two
    /// distances are put together as Zou and Donner do ("Construction of confidence limits about
    /// effect measures: a general approach", Statistics in Medicine 27, 2008). Where neither side
    /// has a sample, nothing differs.
    #[must_use]
    pub fn noise(&self, samples: [u64; 2]) -> f64 {
        if samples == [0, 0] {
            return 0.0;
        }
        let weights = self.weights();
        if self.moments.is_some() {
            // What was there before is in both: it is no noise of what came then, or of what was
            // given back (`leak`).
            let [before, now] = samples;
            return 2.0 * (now.abs_diff(before) as f64).sqrt() * weights[OTHER] as f64;
        }
        let variance = |side: usize| {
            let of_count = match samples[side] {
                0 => (UNSEEN / 2.0).powi(2),
                samples => samples as f64,
            };
            of_count * (weights[side] as f64).powi(2)
        };
        2.0 * (variance(BASE) + variance(OTHER)).sqrt()
    }
}
