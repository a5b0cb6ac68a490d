//! Blocks of nodes, decoded by other threads ahead of the one that puts the profile together.
//!
//! Nearly all of a large file is blocks of nodes. What they hold does not depend on each other, but
//! parents are told by the node before, so nodes are put together in order, by one thread; that
//! takes as long as checking, decompressing and decoding them does.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, Scope};

use crate::block::{Block, TARGET_DECODED};
use crate::codec;
use crate::error::ErrorKind;
use crate::kind::BlockKind;
use crate::sections::{NodeColumns, Sparse};

/// Threads that decode, at most: more of them wait for the one that puts nodes together.
const MOST_LANES: usize = 3;
/// Blocks of nodes from which on threads are worth what they cost: half a million nodes.
const FEWEST_BLOCKS: usize = 8;
/// Bytes of a payload, decompressed, up to which it is decoded ahead: twice what writers make. The
/// [budget](crate::budget) is asked when a block is put together, so no large one is decoded
/// before.
const MOST_DECODED: u32 = 2 * TARGET_DECODED as u32;

/// A block of nodes, and what further metrics have of them.
pub(crate) type Decoded = (NodeColumns, Sparse);

/// Blocks of nodes in the order of the file. Those of one lane are every second, or third, of them.
pub(crate) struct Ahead {
    lanes: Vec<Receiver<Result<Decoded, ErrorKind>>>,
    /// The lane that the next block comes from.
    next: usize,
}

impl Ahead {
    /// Nothing is decoded ahead.
    pub(crate) const fn none() -> Self {
        Self { lanes: Vec::new(), next: 0 }
    }

    /// Begins to decode what of the blocks of a file is worth it. All of them must be asked for, in
    /// order, up to the first error.
    pub(crate) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        blocks: &'scope [Block<'scope>],
    ) -> Self {
        let of_nodes = blocks.iter().filter(|block| is_ahead(block));
        let spare = thread::available_parallelism().map_or(0, |all| all.get() - 1);
        let count = spare.min(MOST_LANES);
        if of_nodes.clone().count() < FEWEST_BLOCKS {
            return Self::none();
        }
        let mut lanes = Vec::new();
        for lane in 0..count {
            let blocks = of_nodes.clone().skip(lane).step_by(count);
            let (sender, receiver) = sync_channel(1);
            let decoder = move || {
                let mut buffer = Vec::new();
                for block in blocks {
                    // Nobody asks for more after an error.
                    if sender.send(decode(block, &mut buffer)).is_err() {
                        return;
                    }
                }
            };
            // Without threads each block is decoded where it is asked for.
            if thread::Builder::new().spawn_scoped(scope, decoder).is_err() {
                return Self::none();
            }
            lanes.push(receiver);
        }
        Self { lanes, next: 0 }
    }

    /// What a block holds, if it was decoded ahead.
    pub(crate) fn nodes(&mut self, block: &Block<'_>) -> Option<Result<Decoded, ErrorKind>> {
        let lane = self.lanes.get(self.next).filter(|_| is_ahead(block))?;
        self.next = (self.next + 1) % self.lanes.len();
        // A thread that ended without an answer has panicked, which the scope tells.
        lane.recv().ok()
    }
}

/// Whether a block is one that threads decode. What the reader passes over is none.
fn is_ahead(block: &Block<'_>) -> bool {
    block.header.kind == BlockKind::Nodes as u16
        && BlockKind::Nodes.is_known(block.header.version)
        && block.decoded() <= MOST_DECODED
}

fn decode(block: &Block<'_>, buffer: &mut Vec<u8>) -> Result<Decoded, ErrorKind> {
    let payload = block.payload(buffer)?;
    let decoded = match block.header.version {
        1 => codec::decode_measured(payload, |columns: &NodeColumns| Some(columns.encoded_len()))
            .map(|columns| (columns, Sparse::default())),
        _ => codec::decode_measured(payload, |(columns, shares): &Decoded| {
            Some(columns.encoded_len() + shares.encoded_len())
        }),
    };
    decoded.map_err(ErrorKind::Malformed)
}
