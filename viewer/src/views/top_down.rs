//! The top-down view: calling contexts from the root, callees below callers.

use super::row::Row;
use super::sums::Addend;
use super::tree::{Direction, Opened, RowTree, Until};
use crate::profile::FrameRef;
use crate::refine::{Cancelled, ChildIndex, Refined, Watch};

/// Rows lead to callees; a row is a set of nodes.
#[derive(Clone, Debug)]
pub struct Downward {
    index: ChildIndex,
}

/// The top-down tree of rows.
pub type TopDown = RowTree<Downward>;

impl TopDown {
    /// The tree of a refined profile. O(nodes) once, for the child index.
    #[must_use]
    pub fn new(refined: &Refined) -> Self {
        Self::of(refined, ChildIndex::new(refined))
    }

    /// The same, which can be ended on its way.
    ///
    /// # Errors
    /// The watch asked for it.
    pub fn watched(refined: &Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        Ok(Self::of(refined, refined.index_children(watch)?))
    }

    fn of(refined: &Refined, index: ChildIndex) -> Self {
        // Rows that are opened later are not to wait for it.
        refined.find_edges();
        let mut row = Row::of_everything(refined);
        row.has_children = !index.of(0).is_empty();
        Self::with_root(Downward { index }, refined, row, vec![0])
    }

    /// The child index, for whatever else goes over the same refined profile.
    #[must_use]
    pub fn index(&self) -> &ChildIndex {
        &self.direction.index
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

    fn step(&self, _: &Refined, opened: Opened<'_, u32>, out: &mut Vec<u32>) {
        for &node in opened.members {
            out.extend_from_slice(self.index.of(node));
        }
    }

    fn frame(&self, refined: &Refined, node: u32) -> FrameRef {
        refined.frame[node as usize]
    }

    fn addend(&self, _: &Refined, node: u32, _: &mut Until) -> Addend {
        Addend::alone(node)
    }

    fn leads_on(&self, _: &Refined, node: u32) -> bool {
        !self.index.of(node).is_empty()
    }
}
