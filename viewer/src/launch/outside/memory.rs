//! What csprof keeps in memory while it samples: trees, and what has ended.

use super::tree::Tree;

/// Bytes that trees, and threads and processes that have ended, take at most.
const MOST_BYTES: usize = 2 << 30;
/// Threads and processes that have ended without a sample, and are kept all the same.
const MOST_SILENT: u64 = 1000;

/// How much may still be kept, and what was not.
#[derive(Debug)]
pub(super) struct Memory {
    /// Nodes that there is room for; below 0 where something else has taken it.
    pub(super) nodes_left: i64,
    silent_left: u64,
    /// Threads that have ended without a sample and were forgotten.
    pub(super) threads: u64,
    /// The same of processes.
    pub(super) processes: u64,
}

impl Memory {
    pub(super) fn new() -> Self {
        let nodes_left = (MOST_BYTES / Tree::NODE_BYTES) as i64;
        Self { nodes_left, silent_left: MOST_SILENT, threads: 0, processes: 0 }
    }

    /// Takes room for what has ended, and has so many samples; whether it is to be kept.
    pub(super) fn keep(&mut self, samples: u64, bytes: usize) -> bool {
        if samples == 0 {
            let Some(left) = self.silent_left.checked_sub(1) else { return false };
            self.silent_left = left;
        }
        self.nodes_left -= bytes.div_ceil(Tree::NODE_BYTES) as i64;
        true
    }
}
