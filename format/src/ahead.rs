//! Blocks of nodes, decoded by other threads ahead of the one that puts the profile together.
//!
//! Nearly all of a large file is blocks of nodes. What they hold does not depend on each other, but
//! parents are told by the node before, so nodes are put together in order, by one thread; that
//! takes as long as checking, decompressing and decoding them does.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{self, Scope};

use crate::block::{Block, TARGET_DECODED};
use crate::codec;
use crate::error::ErrorKind;
use crate::integers::Integers;
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

/// Bytes of memory up to which that of a block goes back for another one's: what one that is
/// decoded ahead takes, each byte of it an integer of eight. Vectors keep the most that they ever
/// held, and blocks may be made so that each of them is once the largest.
const MOST_KEPT: usize = 8 * MOST_DECODED as usize;

/// A block of nodes, and what further metrics have of them.
pub(crate) type Decoded = (NodeColumns, Sparse);

/// Blocks of nodes in the order of the file. Those of one lane are every second, or third, of them.
pub(crate) struct Ahead {
    lanes: Vec<Lane>,
    /// The lane that the next block comes from.
    next: usize,
    /// The lane that the last block came from.
    last: usize,
}

/// Where what a thread has decoded comes from, and where its memory goes back to when it was put
/// together: the kernel takes as long to hand out new memory as to decode takes.
struct Lane {
    decoded: Receiver<Result<Decoded, ErrorKind>>,
    spent: Sender<Decoded>,
}

impl Ahead {
    /// Nothing is decoded ahead.
    pub(crate) const fn none() -> Self {
        Self { lanes: Vec::new(), next: 0, last: 0 }
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
            let (sender, decoded) = sync_channel(1);
            let (spent, come_back) = channel();
            let decoder = move || {
                let mut buffer = Vec::new();
                for block in blocks {
                    let memory = come_back.try_recv().unwrap_or_default();
                    // Nobody asks for more after an error.
                    if sender.send(decode(block, &mut buffer, memory)).is_err() {
                        return;
                    }
                }
            };
            // Without threads each block is decoded where it is asked for.
            if thread::Builder::new().spawn_scoped(scope, decoder).is_err() {
                return Self::none();
            }
            lanes.push(Lane { decoded, spent });
        }
        Self { lanes, next: 0, last: 0 }
    }

    /// What a block holds, if it was decoded ahead.
    pub(crate) fn nodes(&mut self, block: &Block<'_>) -> Option<Result<Decoded, ErrorKind>> {
        let lane = self.lanes.get(self.next).filter(|_| is_ahead(block))?;
        (self.last, self.next) = (self.next, (self.next + 1) % self.lanes.len());
        // A thread that ended without an answer has panicked, which the scope tells.
        lane.decoded.recv().ok()
    }

    /// Gives back what the last block held, for another one's, if it is not too much.
    pub(crate) fn give_back(&self, spent: Decoded) {
        if memory(&spent) > MOST_KEPT {
            return;
        }
        if let Some(lane) = self.lanes.get(self.last) {
            // A thread that has ended needs none.
            drop(lane.spent.send(spent));
        }
    }
}

/// Bytes of memory that it takes, used or not.
fn memory((columns, shares): &Decoded) -> usize {
    columns.memory() + shares.memory()
}

/// Whether a block is one that threads decode. What the reader passes over is none.
fn is_ahead(block: &Block<'_>) -> bool {
    block.header.kind == BlockKind::Nodes as u16
        && BlockKind::Nodes.is_known(block.header.version)
        && block.decoded() <= MOST_DECODED
}

/// What a block holds, in this memory.
fn decode(block: &Block<'_>, buffer: &mut Vec<u8>, memory: Decoded) -> Result<Decoded, ErrorKind> {
    decode_payload(block.payload(buffer)?, block.header.version > 1, memory)
}

/// What the payload of a block of nodes holds, in this memory. It has shares if the profile has
/// several metrics.
pub(crate) fn decode_payload(
    payload: &[u8],
    has_shares: bool,
    mut memory: Decoded,
) -> Result<Decoded, ErrorKind> {
    if read(payload, has_shares, &mut memory).is_some() {
        return Ok(memory);
    }
    // It says what is wrong.
    let decoded = match has_shares {
        false => codec::decode(payload).map(|columns| (columns, Sparse::default())),
        true => codec::decode(payload),
    };
    decoded.map_err(ErrorKind::Malformed)
}

/// Reads a payload in the place of what there is. `None` if it is not as it is written.
fn read(payload: &[u8], has_shares: bool, (columns, shares): &mut Decoded) -> Option<()> {
    let mut integers = Integers::of(payload);
    columns.read(&mut integers)?;
    if has_shares {
        shares.read(&mut integers)?;
    }
    integers.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FrameId;
    use crate::profile::Nodes;

    /// Blocks in which another column is the largest each time leave no more memory than one does.
    #[test]
    fn memory_that_grew_too_large_does_not_go_back() {
        let (_sender, decoded) = sync_channel(1);
        let (spent, come_back) = channel();
        let ahead = Ahead { lanes: vec![Lane { decoded, spent }], next: 0, last: 0 };
        // Lengths of eight columns: each of zeros, a byte each.
        let most = MOST_DECODED - 64;
        let payload = |large: usize| {
            let length = |column| if column == large { most } else { 0 };
            let integers = |column| {
                let zeros = vec![0; length(column) as usize];
                match length(column) {
                    0 => vec![0],
                    count => [&[252][..], &count.to_le_bytes(), &zeros].concat(),
                }
            };
            (0..8).flat_map(integers).collect::<Vec<u8>>()
        };
        let mut memory_held = Decoded::default();
        let mut came_back = 0;
        for large in 0..8 {
            let payload = payload(large);
            assert!(payload.len() <= MOST_DECODED as usize);
            assert!(read(&payload, true, &mut memory_held).is_some());
            ahead.give_back(memory_held);
            memory_held = come_back.try_recv().inspect(|_| came_back += 1).unwrap_or_default();
            assert!(memory(&memory_held) <= MOST_KEPT, "{large}");
        }
        assert!((1..8).contains(&came_back), "{came_back}");
    }

    /// Both ways to decode agree, of one metric and of several, whatever the memory held.
    #[test]
    fn nodes_are_decoded_as_the_codec_does() {
        let mut nodes = Nodes::default();
        for node in 0..70_000_u32 {
            let value = [0, 1, 250, 251, 65_535, 65_536, 1 << 32, u64::MAX][node as usize % 8];
            nodes.push(node.saturating_sub(1), FrameId(node), value, value / 2);
        }
        let mut memory = Decoded::default();
        for count in [300, 0, 70_000, 1] {
            let (columns, shares) = (|| NodeColumns::new(&nodes, 0..count), Sparse::default());
            let one = codec::encode(&columns()).unwrap();
            assert!(read(&one, false, &mut memory).is_some());
            assert_eq!(memory.0, columns());
            let several = codec::encode(&(columns(), shares)).unwrap();
            assert!(read(&several, true, &mut memory).is_some());
            assert_eq!(memory, codec::decode(&several).unwrap());
            assert!(read(&several, false, &mut memory).is_none(), "bytes are left");
        }
    }
}
