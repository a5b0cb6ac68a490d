//! The top-down view: calling contexts from the root, callees below callers.

use csprof_format::beside::{MANY_NODES, both};

use super::row::Row;
use super::tree::{Direction, Opened, RowTree};
use crate::profile::FrameRef;
use crate::refine::{Cancelled, Refined, Watch};

/// Rows lead to callees; a row is a set of nodes.
#[derive(Clone, Debug)]
pub struct Downward;

/// The top-down tree of rows.
pub type TopDown = RowTree<Downward>;

impl TopDown {
    /// The tree of a refined profile. O(nodes) once, to index the children of its nodes.
    ///
    /// # Errors
    /// The watch ended it.
    pub fn new(refined: &Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let is_large = refined.node_count() >= MANY_NODES;
        // Rows that are opened later are not to wait for edges.
        let beside = || {
            refined.find_edges();
            if is_large {
                // Rows of a large profile are many, and such are ordered by it.
                refined.order_names();
            }
        };
        let (_, index) = both(is_large, beside, || refined.index_children(watch));
        let index = index?;
        let mut row = Row::of_everything(refined);
        row.has_children = !index.of(0).is_empty();
        Ok(Self::with_root(Downward, refined, row, vec![0]))
    }

    /// The nodes that a row stands for.
    #[must_use]
    pub fn nodes(&self, id: super::tree::RowId) -> &[u32] {
        self.members(id)
    }
}

impl Direction for Downward {
    type Member = u32;

    /// Each node is a member of one row.
    const KEEPS_MEMBERS: bool = true;

    const IS_NESTED: bool = false;

    fn step(&self, refined: &Refined, opened: Opened<'_, u32>, out: &mut Vec<u32>) {
        let children = refined.children();
        for &node in opened.members {
            out.extend_from_slice(children.of(node));
        }
    }

    fn frame(&self, refined: &Refined, node: u32) -> FrameRef {
        refined.frame[node as usize]
    }

    fn node(&self, node: u32) -> u32 {
        node
    }

    fn places(&self, _: u32) -> core::ops::Range<u32> {
        0..0
    }

    fn leads_on(&self, refined: &Refined, node: u32) -> bool {
        !refined.children().of(node).is_empty()
    }
}
