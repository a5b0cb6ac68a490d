//! The two sides of a comparison, and in what their samples compare; how they become one profile
//! is in [`comparison`](super::comparison).

use csprof_format::ids::ProcessId;
use csprof_format::profile::{Metric, RunInfo};

/// What is compared with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// BASE and OTHER.
    pub sides: [Side; 2],
    /// The first process of OTHER; those before it are of BASE.
    pub first_other: ProcessId,
    /// What is compared of them.
    pub scale: Scale,
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

/// One of two profiles that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What people call it: its file.
    pub name: String,
    /// What was run.
    pub run: RunInfo,
    /// What was measured.
    pub metric: Metric,
    /// Samples in its trees.
    pub total: u64,
    /// Samples that were lost.
    pub lost: u64,
}

/// BASE in [`Comparison::sides`].
pub const BASE: usize = 0;
/// OTHER in [`Comparison::sides`].
pub const OTHER: usize = 1;

impl Comparison {
    /// Whether a sample stands for the same on both sides, so that edge counts compare.
    #[must_use]
    pub fn same_period(&self) -> bool {
        self.sides[BASE].metric == self.sides[OTHER].metric
    }

    /// What one sample of each side weighs, in a unit in which both are integers: periods, or the
    /// other side's total where shares are compared (a / A and b / B compare as a·B and b·A).
    #[must_use]
    pub fn weights(&self) -> [u128; 2] {
        let [base, other] = &self.sides;
        match self.scale {
            Scale::Amount => [u128::from(base.metric.period), u128::from(other.metric.period)],
            Scale::Samples => [1, 1],
            Scale::Share => [u128::from(other.total.max(1)), u128::from(base.total.max(1))],
        }
    }

    /// How many units of [`Comparison::weights`] are one unit of what people see: one of the
    /// metric's, one sample, or one percent.
    #[must_use]
    pub fn unit(&self) -> f64 {
        let [base, other] = &self.sides;
        match self.scale {
            Scale::Amount | Scale::Samples => 1.0,
            Scale::Share => base.total.max(1) as f64 * other.total.max(1) as f64 / 100.0,
        }
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
    #[must_use]
    pub fn noise(&self, samples: [u64; 2]) -> f64 {
        let weights = self.weights();
        let variance = |side: usize| samples[side] as f64 * (weights[side] as f64).powi(2);
        2.0 * (variance(BASE) + variance(OTHER)).sqrt()
    }
}
