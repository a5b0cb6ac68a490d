//! Rows out of a refined profile: what the terminal, reports and exports show.
//!
//! In the life of a sample this is the step after refinement and before a screen or a file.
//! A row fuses the nodes that a person means as one: the same function, reached in the same way,
//! from whatever call site, in whatever thread and epoch. Rows are made when they are asked for,
//! so that opening a row costs what its children cost and never what the profile costs.
//!
//! Pure: values in, values out. Nothing here knows a terminal or a file.

pub mod callers;
pub mod child_index;
pub mod flat;
pub mod hall;
pub mod hot_path;
pub mod names;
pub mod number;
pub mod path;
pub mod printable;
pub mod search;
pub mod sets;
pub mod sort;
pub mod summary;
pub mod top_down;
pub mod tree;
pub mod verdict;
pub mod visible;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use sort::{Sort, SortKey};

use crate::profile::{FrameKind, FunctionRef};
use crate::refine::Refined;

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
    pub fn of_node(refined: &Refined<'_>, node: u32) -> Self {
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
                Self::Range { low: a + c, high: b + d }
            }
        }
    }
}

/// One row of a view.
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
    /// Edge count.
    pub edges: Edges,
    /// Inclusive samples of the activations that `edges` counts, in every one of them: what a
    /// cost per edge is computed from. The same as `inclusive` in the top-down view where there
    /// are edges; elsewhere, inlined instances do not count here, and inner activations of a
    /// recursive function do.
    pub edge_samples: u64,
    /// Whether the row can be opened.
    pub has_children: bool,
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
            has_children: false,
        }
    }

    /// Adds what one node costs. `outermost` says that no other node of the row is above it.
    fn add(&mut self, refined: &Refined<'_>, node: u32, outermost: bool) {
        let n = node as usize;
        if outermost {
            self.inclusive += refined.inclusive[n];
        }
        self.exclusive += refined.exclusive[n];
        let edges = Edges::of_node(refined, node);
        if edges != Edges::None {
            self.edge_samples += refined.inclusive[n];
        }
        self.edges = self.edges.plus(edges);
    }
}
