//! What a row has: its samples, its edge count, and what it stands for.

use core::ops::Deref;
use core::slice;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::over_ranks::OverRanks;
use crate::profile::derived::{Of, Value};
use crate::profile::{FrameKind, FrameRef, FunctionRef, MetricRef};
use crate::refine::{Axis, Refined, WeightRef};

/// An edge count: exact, between two bounds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// The row has none: an inlined frame, a root, or a profile without the trampoline.
    None,
    /// Known exactly, or known to lie between two bounds (both inclusive); equal when exact.
    Range {
        /// Least possible count.
        low: u64,
        /// Greatest possible count.
        high: u64,
    },
}

impl Edges {
    /// A count that is known exactly.
    #[must_use]
    pub const fn exact(count: u64) -> Self {
        Self::Range { low: count, high: count }
    }

    /// The count as a formula has it, where there is one.
    #[must_use]
    pub const fn value(self) -> Option<Value> {
        match self {
            Self::None => None,
            Self::Range { low, high } => Some(Value { low: low as f64, high: high as f64 }),
        }
    }
}

/// One row of a view. A row that has samples of any metric is there, whichever is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the row stands for.
    pub function: FunctionRef,
    /// Kind of frame.
    pub kind: FrameKind,
    /// One of its frames, if all have one and the same address: see
    /// [`Frame::site`](crate::profile::Frame::site).
    pub frame: Option<FrameRef>,
    /// Whether the row can be opened.
    pub has_children: bool,
    /// What it has in each column of the forest.
    pub weights: Weights,
    /// How its inclusive cost is spread, where that was asked for.
    pub strips: Option<Arc<RowStrips>>,
    /// How it is spread over the ranks of a sum, where that is known.
    pub over_ranks: Option<Arc<OverRanks>>,
}

/// What a row has in one column: samples of one metric, and edges, on one part of the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Inclusive samples.
    pub inclusive: u64,
    /// Exclusive samples.
    pub exclusive: u64,
    /// Edge count: of activations that samples of any metric met.
    pub edges: Edges,
    /// Inclusive samples of the outermost activations that return, each once: what a cost per edge
    /// is computed from. The same as `inclusive` in the top-down view where all nodes have edges;
    /// inlined instances do not count here, nor what other threads did for an activation.
    pub edge_samples: u64,
    /// Edge count of these activations: `edges` without those of activations that are inside
    /// another one of the same function, whose time the outer one's is. None where these are not
    /// known: after stages, in profiles with paths that are not whole. Nor where their samples are
    /// not told from those of work for other threads.
    pub outer_edges: Edges,
}

impl Weight {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        inclusive: 0,
        exclusive: 0,
        edges: Edges::None,
        edge_samples: 0,
        outer_edges: Edges::None,
    };
}

/// Over what a strip shows the cost of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripKind {
    /// Ranks, or else processes, or else threads.
    Peers,
    /// Phases, or slices of time, in the order in which they began.
    Phases,
}

impl StripKind {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Peers, Self::Phases];
}

/// The strips of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowStrips(pub [Option<Strip>; 2]);

impl RowStrips {
    /// The strip over these, if the profile has them.
    #[must_use]
    pub fn of_kind(&self, kind: StripKind) -> Option<&Strip> {
        self.0[kind as usize].as_ref()
    }
}

/// How the inclusive cost of a row is spread over peers, or over phases, of each metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    /// What the peers are, and how many.
    pub of: (Axis, usize),
    /// The process whose threads they are, where they are threads.
    pub process: Option<Arc<str>>,
    /// What there is of each metric.
    pub of_metrics: Box<[StripOfMetric]>,
}

/// The same of one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripOfMetric {
    /// The samples of each cell: of the one of its peers with most.
    pub parts: Box<[u64]>,
    /// Whether peers that cost the same could differ as much by sampling alone.
    pub is_noise: bool,
}

impl Strip {
    /// What there is of a metric; `None` where no peer has any of it: what the row has is of
    /// others.
    #[must_use]
    pub fn of(&self, metric: MetricRef) -> Option<&StripOfMetric> {
        let strip = self.of_metrics.get(metric.index())?;
        strip.parts.iter().any(|&part| part > 0).then_some(strip)
    }
}

/// What a row has in all columns, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Of most profiles, which takes no memory of its own.
    One(Weight),
    /// Of several metrics, or of profiles that are compared.
    Several(Box<[Weight]>),
}

impl Default for Weights {
    fn default() -> Self {
        Self::One(Weight::NONE)
    }
}

impl Deref for Weights {
    type Target = [Weight];

    fn deref(&self) -> &[Weight] {
        match self {
            Self::One(weight) => slice::from_ref(weight),
            Self::Several(weights) => weights,
        }
    }
}

impl FromIterator<Weight> for Weights {
    fn from_iter<I: IntoIterator<Item = Weight>>(weights: I) -> Self {
        let mut weights = weights.into_iter();
        let first = weights.next().unwrap_or(Weight::NONE);
        match weights.next() {
            None => Self::One(first),
            Some(second) => Self::Several([first, second].into_iter().chain(weights).collect()),
        }
    }
}

impl Row {
    /// A row without samples, which is to have weights yet.
    pub(crate) fn empty(function: FunctionRef, kind: FrameKind) -> Self {
        Self {
            function,
            kind,
            frame: None,
            has_children: false,
            weights: Weights::default(),
            strips: None,
            over_ranks: None,
        }
    }

    /// The row of everything that is shown, and of the empty path.
    pub(super) fn of_everything(refined: &Refined) -> Self {
        let frame = refined.frames[refined.frame[0].index()];
        let weight = |inclusive| Weight { inclusive, ..Weight::NONE };
        let weights = refined.shown_by_column().into_iter().map(weight).collect();
        Self { weights, ..Self::empty(frame.function, frame.kind) }
    }

    /// What it has of a metric, or in another column.
    ///
    /// # Panics
    /// If the forest has no such column.
    #[must_use]
    pub fn of(&self, column: impl Into<WeightRef>) -> &Weight {
        &self.weights[column.into().index()]
    }

    /// What it has of BASE and of OTHER, where two profiles are compared.
    #[must_use]
    pub fn sides(&self) -> [&Weight; 2] {
        WeightRef::SIDES.map(|side| self.of(side))
    }
}

/// Which cost of a row a comparison is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cost {
    /// Inclusive samples.
    #[default]
    Inclusive,
    /// Exclusive samples.
    Exclusive,
}

impl Cost {
    /// Its name in forms for machines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inclusive => "inclusive",
            Self::Exclusive => "exclusive",
        }
    }

    /// The cost that a name in a formula is of, in a column about this one.
    #[must_use]
    pub const fn of_name(self, name: Of) -> Self {
        match name {
            Of::Column => self,
            Of::Inclusive => Self::Inclusive,
            Of::Exclusive => Self::Exclusive,
        }
    }

    /// The samples of a weight.
    #[must_use]
    pub const fn of(self, weight: &Weight) -> u64 {
        match self {
            Self::Inclusive => weight.inclusive,
            Self::Exclusive => weight.exclusive,
        }
    }

    /// The samples of BASE and of OTHER in a row.
    #[must_use]
    pub fn of_sides(self, row: &Row) -> [u64; 2] {
        row.sides().map(|weight| self.of(weight))
    }

    /// The same, then those of each run, where a side has several, and then those of each side of
    /// the metrics that formulas need beside; a difference is made of what comes before these.
    pub fn of_runs(self, row: &Row) -> impl Iterator<Item = u64> {
        row.weights[1..].iter().map(move |weight| self.of(weight))
    }
}
