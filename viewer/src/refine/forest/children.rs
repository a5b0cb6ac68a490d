//! The children of nodes: the columns know parents only.

use crate::profile::Count;
use crate::refine::watch::{Cancelled, Watch};

/// The children of every node, as compressed rows: those of node `n` are
/// `children[first[n] .. first[n + 1]]`, in order of their numbers. Nodes without samples at or
/// below them are no children: they were taken out or merged into others.
#[derive(Clone, Debug)]
pub struct ChildIndex {
    first: Vec<u32>,
    children: Vec<u32>,
}

impl ChildIndex {
    /// Indexes the nodes that have samples at or below them. O(nodes).
    ///
    /// # Errors
    /// The watch asked for it.
    pub(crate) fn of_columns<C: Count>(
        parent: &[u32],
        inclusive: &[C],
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let count = parent.len();
        // Counts are kept two places up, so that after the prefix sum `first[p + 1]` is where the
        // next child of `p` goes, and after filling it is where the children of `p` end.
        let mut first = vec![0u32; count + 2];
        let live = |n: &usize| inclusive[*n] > C::default();
        watch.forward(1..count, |nodes| {
            for n in nodes.filter(live) {
                first[parent[n] as usize + 2] += 1;
            }
        })?;
        for i in 2..first.len() {
            first[i] += first[i - 1];
        }
        let mut children = vec![0u32; first[count + 1] as usize];
        watch.forward(1..count, |nodes| {
            for n in nodes.filter(live) {
                let next = &mut first[parent[n] as usize + 1];
                children[*next as usize] = node_number(n);
                *next += 1;
            }
        })?;
        watch.end();
        first.truncate(count + 1);
        Ok(Self { first, children })
    }

    /// The children of a node that have samples at or below them.
    #[must_use]
    pub fn of(&self, node: u32) -> &[u32] {
        let n = node as usize;
        &self.children[self.first[n] as usize..self.first[n + 1] as usize]
    }
}

/// A node's number. Nodes are numbered in 32 bits, so it fits.
pub(crate) fn node_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
