//! What the nodes cost: their samples, and what is known of their edge counts.
//!
//! All columns of one profile have one width (`profile/counts.rs`), so that a pass over all nodes
//! is written once, for [`CostsOf`] any width, and made for each with [`in_width!`].

use super::column::{Column, Home};
use super::edges::Recorded;
use crate::profile::{Count, FrameKind, Nodes, Slice, add_up};

/// Samples and edge counts of a forest.
#[derive(Clone, Debug)]
pub(crate) enum Costs<'p> {
    /// Of profiles with less than four billion samples and edges.
    Narrow(CostsOf<'p, u32>),
    /// Of others.
    Wide(CostsOf<'p, u64>),
}

/// Samples and edge counts, in a width.
#[derive(Clone, Debug)]
pub(crate) struct CostsOf<'p, C> {
    /// Exclusive samples shown.
    pub(crate) exclusive: Column<'p, C>,
    /// Inclusive samples shown: own plus those of all nodes below.
    pub(crate) inclusive: Column<'p, C>,
    /// Edge counts, as far as they are known.
    pub(super) recorded: Recorded<'p, C>,
    /// Where the columns come from and go to.
    pub(super) home: Home<C>,
}

/// Evaluates an expression with the costs of a forest in their own width.
macro_rules! in_width {
    ($costs:expr, $in_width:ident => $then:expr) => {
        match $costs {
            $crate::refine::Costs::Narrow($in_width) => $then,
            $crate::refine::Costs::Wide($in_width) => $then,
        }
    };
}
pub(crate) use in_width;

impl<'p> Costs<'p> {
    /// The costs of a profile as it was loaded.
    pub(super) fn loaded(nodes: &'p Nodes) -> Self {
        match (nodes.samples.slice(), nodes.edges.slice()) {
            (Slice::Narrow(samples), Slice::Narrow(edges)) => {
                Self::Narrow(CostsOf::loaded(&nodes.parent, samples.into(), edges.into()))
            }
            (samples, edges) => {
                Self::Wide(CostsOf::loaded(&nodes.parent, wide(samples), wide(edges)))
            }
        }
    }

    /// Those of nodes of which nothing returns, exclusive and inclusive.
    pub(super) fn without_edges(exclusive: Vec<u64>, inclusive: Vec<u64>) -> Self {
        let recorded = Recorded::none(exclusive.len());
        let (exclusive, inclusive) = (exclusive.into(), inclusive.into());
        Self::Wide(CostsOf { exclusive, inclusive, recorded, home: Home::new(2) })
    }

    /// Exclusive samples of a node.
    pub(super) fn exclusive(&self, node: usize) -> u64 {
        in_width!(self, costs => costs.samples(node)).1
    }

    /// Inclusive samples of a node.
    pub(super) fn inclusive(&self, node: usize) -> u64 {
        in_width!(self, costs => costs.samples(node)).0
    }

    /// The edge count of a node whose frame is of this kind.
    pub(super) fn edges(&self, node: usize, kind: FrameKind) -> Option<(u64, u64)> {
        in_width!(self, costs => costs.edges(node, kind))
    }
}

fn wide(counts: Slice<'_>) -> Column<'_, u64> {
    match counts {
        Slice::Narrow(counts) => {
            counts.iter().map(|&count| count.into()).collect::<Vec<u64>>().into()
        }
        Slice::Wide(counts) => counts.into(),
    }
}

impl<'p, C: Count> CostsOf<'p, C> {
    fn loaded(parent: &[u32], samples: Column<'p, C>, edges: Column<'p, C>) -> Self {
        let mut inclusive = samples.to_vec();
        add_up(parent, &mut inclusive);
        let inclusive: Column<'p, C> = inclusive.into();
        let recorded = Recorded::of_kinds(edges, inclusive.clone());
        Self { exclusive: samples, inclusive, recorded, home: Home::new(2) }
    }

    /// Inclusive and exclusive samples of a node.
    pub(super) fn samples(&self, node: usize) -> (u64, u64) {
        (self.inclusive[node].into(), self.exclusive[node].into())
    }

    /// The edge count of a node whose frame is of this kind: least and greatest possible.
    pub(crate) fn edges(&self, node: usize, kind: FrameKind) -> Option<(u64, u64)> {
        let (low, high) = self.recorded_edges(node, kind)?;
        Some((low.into(), high.into()))
    }

    /// The same, in the width of the column.
    pub(crate) fn recorded_edges(&self, node: usize, kind: FrameKind) -> Option<(C, C)> {
        self.recorded.edges(node, kind, self.inclusive[node])
    }

    /// Memory of the columns, in bytes, each counted once, and what of it the profile has.
    pub(super) fn bytes(&self) -> [usize; 2] {
        let Recorded { low, high, inclusive, .. } = &self.recorded;
        let columns = [&self.exclusive, &self.inclusive, low, high, inclusive];
        let mut sums = [0, 0];
        for (place, column) in columns.iter().enumerate() {
            if !columns[..place].iter().any(|other| column.is(other)) {
                let [all, shared] = column.bytes();
                sums = [sums[0] + all, sums[1] + shared];
            }
        }
        sums
    }
}
