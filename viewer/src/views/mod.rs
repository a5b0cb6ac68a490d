//! Rows out of a refined profile: what the terminal, reports and exports show.
//!
//! Pure: values in, values out. Nothing here knows a terminal or a file.

use crate::profile::{FrameKind, FunctionRef};

/// An edge count: exact, between two bounds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// The row has none: an inlined frame, or a profile without the trampoline.
    None,
    /// Known exactly, or known to lie between two bounds (both inclusive); equal when exact.
    Range {
        /// Least possible count.
        low: u64,
        /// Greatest possible count.
        high: u64,
    },
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
    /// Whether the row can be opened.
    pub has_children: bool,
}
