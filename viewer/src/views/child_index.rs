//! Children of nodes: the columns know parents only, every view goes downward.
//!
//! Built once for each refined profile in O(nodes), as compressed rows: the children of node `n`
//! are `children[first[n] .. first[n + 1]]`, in order of their numbers. Nodes without samples at
//! or below them are no children: they were taken out or merged into others.

use crate::refine::Refined;

/// The children of every node.
#[derive(Clone, Debug)]
pub struct ChildIndex {
    first: Vec<u32>,
    children: Vec<u32>,
}

impl ChildIndex {
    /// Indexes the nodes that have samples at or below them.
    #[must_use]
    pub fn new(refined: &Refined<'_>) -> Self {
        let count = refined.parent.len();
        // Counts are kept two places up, so that after the prefix sum `first[p + 1]` is where the
        // next child of `p` goes, and after filling it is where the children of `p` end.
        let mut first = vec![0u32; count + 2];
        let live = |n: &usize| refined.inclusive[*n] > 0;
        for n in (1..count).filter(live) {
            first[refined.parent[n] as usize + 2] += 1;
        }
        for i in 2..first.len() {
            first[i] += first[i - 1];
        }
        let mut children = vec![0u32; first[count + 1] as usize];
        for n in (1..count).filter(live) {
            let next = &mut first[refined.parent[n] as usize + 1];
            // Node numbers fit: `parent` holds them in the same type.
            children[*next as usize] = n as u32;
            *next += 1;
        }
        first.truncate(count + 1);
        Self { first, children }
    }

    /// The children of a node that have samples at or below them.
    #[must_use]
    pub fn of(&self, node: u32) -> &[u32] {
        let n = node as usize;
        &self.children[self.first[n] as usize..self.first[n + 1] as usize]
    }
}
