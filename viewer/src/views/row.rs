//! What a row has: its samples, its edge count, and what it is made of.

use core::mem;
use core::ops::Deref;

use crate::profile::{FrameKind, FunctionRef, MetricRef};
use crate::refine::{Refined, shown_of_sides};

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

    /// The edge count of one node.
    #[must_use]
    pub fn of_node(refined: &Refined, node: u32) -> Self {
        match refined.edges(node) {
            Some((low, high)) if refined.profile.info.run.trampoline => Self::Range { low, high },
            _ => Self::None,
        }
    }

    /// The count of two rows together. What has none adds nothing, so an inlined and a called
    /// instance of a function together have the count of the called one.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, edges) | (edges, Self::None) => edges,
            (Self::Range { low: a, high: b }, Self::Range { low: c, high: d }) => {
                Self::Range { low: a.saturating_add(c), high: b.saturating_add(d) }
            }
        }
    }
}

/// One row of a view. Samples are those of the metric that is looked at ([`Refined::metric`]); a
/// row that has samples of other metrics alone is there, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the row stands for.
    pub function: FunctionRef,
    /// Kind of frame.
    pub kind: FrameKind,
    /// Inclusive samples.
    pub inclusive: u64,
    /// Exclusive samples.
    pub exclusive: u64,
    /// Edge count: of activations that samples of any metric met.
    pub edges: Edges,
    /// Inclusive samples of the outermost activations that return, each once: what a cost per edge
    /// is computed from. The same as `inclusive` in the top-down view where there are edges;
    /// elsewhere inlined instances do not count here.
    pub edge_samples: u64,
    /// Edge count of these activations: `edges` without those of activations that are inside
    /// another one of the same function, whose time the outer one's is. None where these are not
    /// known: after stages, in profiles with paths that are not whole.
    pub outer_edges: Edges,
    /// Whether the row can be opened.
    pub has_children: bool,
    /// What of the counts above is OTHER's, where two profiles are compared; nothing elsewhere.
    pub other: Counts,
    /// The samples of every metric, in their order, where the profile has several; else empty.
    pub further: Shares,
}

/// What a row has of each metric; nothing, and no memory, where there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares(Option<Box<[Share]>>);

impl Deref for Shares {
    type Target = [Share];

    fn deref(&self) -> &[Share] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl FromIterator<Share> for Shares {
    fn from_iter<I: IntoIterator<Item = Share>>(shares: I) -> Self {
        let each: Box<[Share]> = shares.into_iter().collect();
        Self((!each.is_empty()).then_some(each))
    }
}

/// What a row has of one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Inclusive samples.
    pub inclusive: u64,
    /// Exclusive samples.
    pub exclusive: u64,
    /// As [`Row::edge_samples`].
    pub edge_samples: u64,
}

/// What a row has of one of two profiles that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Inclusive samples.
    pub inclusive: u64,
    /// Exclusive samples.
    pub exclusive: u64,
    /// Edge count.
    pub edges: Edges,
}

impl Counts {
    const NONE: Self = Self { inclusive: 0, exclusive: 0, edges: Edges::None };
}

impl Row {
    /// A row without samples.
    pub(crate) const fn empty(function: FunctionRef, kind: FrameKind) -> Self {
        Self {
            function,
            kind,
            inclusive: 0,
            exclusive: 0,
            edges: Edges::None,
            edge_samples: 0,
            outer_edges: Edges::None,
            has_children: false,
            other: Counts::NONE,
            further: Shares(None),
        }
    }

    /// The row of everything that is shown.
    pub(super) fn of_everything(refined: &Refined) -> Self {
        let mut row = Self::of_root(refined);
        row.other.inclusive = shown_of_sides(refined)[1];
        row
    }

    /// The same without its sides.
    fn of_root(refined: &Refined) -> Self {
        let frame = refined.frames[refined.frame[0].index()];
        let mut row = Self::empty(frame.function, frame.kind);
        row.add(refined, Addend::whole(0), u32::MAX);
        row
    }

    /// The row of the empty path: what is shown, and nothing that is its own.
    pub(super) fn of_empty_path(refined: &Refined) -> Self {
        let all = Self::of_root(refined);
        let share = |share: &Share| Share { inclusive: share.inclusive, ..Share::default() };
        let further = all.further.iter().map(share).collect();
        Self { inclusive: all.inclusive, further, ..Self::empty(all.function, all.kind) }
    }

    /// The counts of BASE and of OTHER.
    #[must_use]
    pub fn sides(&self) -> [Counts; 2] {
        let edges = match (self.edges, self.other.edges) {
            (Edges::Range { low: a, high: b }, Edges::Range { low: c, high: d }) => {
                Edges::Range { low: a - c, high: b - d }
            }
            (edges, _) => edges,
        };
        let base = Counts {
            inclusive: self.inclusive - self.other.inclusive,
            exclusive: self.exclusive - self.other.exclusive,
            edges,
        };
        // A side that never came here has no activation that could still be alive.
        let there = |counts: Counts| match counts.inclusive + counts.exclusive {
            0 => Counts { edges: Edges::None, ..counts },
            _ => counts,
        };
        [there(base), there(self.other)]
    }

    /// Adds what one node costs. `first_of_other` says where the nodes of OTHER begin.
    pub(super) fn add(&mut self, refined: &Refined, addend: Addend, first_of_other: u32) {
        let Addend { node, .. } = addend;
        let edges = Edges::of_node(refined, node);
        let outer_edges = if addend.is_outermost_call { edges } else { Edges::None };
        let share = |metric| Share::of_node(refined, addend, metric, outer_edges);
        let of_node = share(refined.metric);
        self.inclusive += of_node.inclusive;
        self.exclusive += of_node.exclusive;
        self.edge_samples = self.edge_samples.saturating_add(of_node.edge_samples);
        // In a tree of callers, what is below may have no returns that those above have not.
        let edges = match (edges, addend.is_outermost_call) {
            (Edges::Range { high, .. }, false) if refined.is_of_callers() => {
                Edges::Range { low: 0, high }
            }
            (edges, _) => edges,
        };
        self.edges = self.edges.plus(edges);
        if addend.is_timed {
            self.outer_edges = self.outer_edges.plus(outer_edges);
        }
        if node >= first_of_other {
            self.other.inclusive += of_node.inclusive;
            self.other.exclusive += of_node.exclusive;
            self.other.edges = self.other.edges.plus(edges);
        }
        let further = &refined.profile.info.further;
        if !further.is_empty() {
            let none = || vec![Share::default(); 1 + further.len()].into_boxed_slice();
            let each = self.further.0.get_or_insert_with(none);
            for (sum, metric) in each.iter_mut().zip((0..).map(MetricRef)) {
                *sum = sum.plus(share(metric));
            }
        }
    }

    /// The row, which stays without what it has of each metric.
    pub(super) fn taken(&mut self) -> Self {
        let further = mem::take(&mut self.further);
        Self { further, ..self.clone() }
    }

    /// Lets the row be of this metric.
    pub fn look_at(&mut self, metric: MetricRef) {
        let Share { inclusive, exclusive, edge_samples } = self.of(metric);
        (self.inclusive, self.exclusive, self.edge_samples) = (inclusive, exclusive, edge_samples);
    }

    /// What the row has of a metric.
    #[must_use]
    pub fn of(&self, metric: MetricRef) -> Share {
        let Self { inclusive, exclusive, edge_samples, .. } = *self;
        // Where there is one metric, it is the one looked at.
        let only = Share { inclusive, exclusive, edge_samples };
        self.further.get(metric.index()).copied().unwrap_or(only)
    }
}

/// A node whose cost is added to a row.
#[derive(Clone, Copy, Debug)]
pub struct Addend {
    /// The node.
    pub(super) node: u32,
    /// Whether no other node of the row is above it, which has its inclusive cost already.
    pub(super) is_outermost: bool,
    /// Whether no other node of the row that was called is above it.
    pub(super) is_outermost_call: bool,
    /// Whether that is certain of the activations, too: else the row has no cost per edge.
    pub(super) is_timed: bool,
}

impl Addend {
    /// A node of a row of which no node is above another.
    pub(super) const fn whole(node: u32) -> Self {
        Self { node, is_outermost: true, is_outermost_call: true, is_timed: true }
    }
}

impl Share {
    /// What one node with these edges of an outermost activation adds to a row.
    fn of_node(refined: &Refined, addend: Addend, metric: MetricRef, outer_edges: Edges) -> Self {
        let (inclusive, exclusive) = refined.own_of_metric(addend.node as usize, metric);
        Self {
            inclusive: if addend.is_outermost { inclusive } else { 0 },
            exclusive,
            edge_samples: if outer_edges == Edges::None { 0 } else { inclusive },
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            inclusive: self.inclusive + other.inclusive,
            exclusive: self.exclusive + other.exclusive,
            edge_samples: self.edge_samples.saturating_add(other.edge_samples),
        }
    }

    /// What is left when a part is taken away.
    pub(super) fn minus(self, part: Self) -> Self {
        Self {
            inclusive: self.inclusive - part.inclusive,
            exclusive: self.exclusive - part.exclusive,
            // The sum of all may have been too great for its type.
            edge_samples: self.edge_samples.saturating_sub(part.edge_samples),
        }
    }
}

/// Which cost of a row a comparison is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

    /// The samples of a metric in a row.
    #[must_use]
    pub fn of_metric(self, row: &Row, metric: MetricRef) -> u64 {
        let share = row.of(metric);
        match self {
            Self::Inclusive => share.inclusive,
            Self::Exclusive => share.exclusive,
        }
    }

    /// The samples of BASE and of OTHER in a row.
    #[must_use]
    pub fn of(self, row: &Row) -> [u64; 2] {
        row.sides().map(|counts| match self {
            Self::Inclusive => counts.inclusive,
            Self::Exclusive => counts.exclusive,
        })
    }
}
