//! The basic blocks of a function, and the edges between them.

use super::nest::Graph;

/// Most blocks of a function.
pub(super) const MOST_BLOCKS: usize = 1 << 20;

/// The basic blocks of a function, ordered by address.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// First and past-the-last address of each.
    bounds: Vec<(u64, u64)>,
    entry: Option<u32>,
    edges: Graph,
    backwards: Graph,
}

impl Blocks {
    /// Adds a block behind all others.
    pub(super) fn push(&mut self, start: u64, end: u64) {
        self.bounds.push((start, end));
    }

    /// Takes the edges between the blocks, and where the function is entered.
    pub(super) fn join(&mut self, edges: Graph, entry: u64) {
        self.backwards = edges.reversed();
        self.edges = edges;
        self.entry = self.find(entry);
    }

    /// Where a block begins.
    pub(super) fn start(&self, block: u32) -> u64 {
        self.bounds[block as usize].0
    }

    /// Where it ends.
    pub(super) fn end(&self, block: u32) -> u64 {
        self.bounds[block as usize].1
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> usize {
        self.bounds.len()
    }

    /// The edges between them.
    pub(super) fn edges(&self) -> &Graph {
        &self.edges
    }

    /// Blocks that lead to a block.
    pub(super) fn predecessors(&self, block: u32) -> &[u32] {
        self.backwards.successors(block)
    }

    /// Whether the function is entered at a block.
    pub(super) fn is_entry(&self, block: u32) -> bool {
        self.entry == Some(block)
    }

    /// Which blocks are reached from some.
    pub(super) fn reached(&self, from: &[u32]) -> Vec<bool> {
        let mut reached = vec![false; self.len()];
        self.mark(from, &mut reached);
        reached
    }

    /// Marks those that are reached from some by ways that meet none that is marked already.
    pub(super) fn mark(&self, from: &[u32], reached: &mut [bool]) {
        let mut work = from.to_vec();
        while let Some(block) = work.pop() {
            if !core::mem::replace(&mut reached[block as usize], true) {
                work.extend(self.edges.successors(block));
            }
        }
    }

    /// The block that holds an address.
    pub(super) fn find(&self, address: u64) -> Option<u32> {
        let after = self.bounds.partition_point(|&(start, _)| start <= address);
        let last = after.checked_sub(1)?;
        (address < self.bounds[last].1).then(|| number(last))
    }
}

/// The number of a block: there are fewer than 2³².
pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
