//! What a run has not given back: of the samples of `leak`, those whose blocks are still followed;
//! of those of `phase-leak` also those whose blocks were given back after their phase had ended.
//!
//! While a process runs, a node of this source counts every block that was sampled, and only grows:
//! its thread is the one that writes to it. What has become of the blocks is in records of their
//! own. Here the nodes get what is left.

use std::collections::HashMap;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::arena::REASON_SLOTS;
use csprof_format::launch::SourceKind;

use super::arena_read::{Arena, ArenaNode, ArenaThread};

/// Numbers of the sources that follow blocks, those that the process has.
pub(super) fn sources_of(arena: &Arena) -> Vec<usize> {
    let sources = arena.header.sources.iter().take(arena.header.source_count as usize);
    let follows = |kind| SourceKind::from_index(kind).is_some_and(SourceKind::follows_blocks);
    sources.enumerate().filter(|(_, source)| follows(source.kind)).map(|(at, _)| at).collect()
}

/// Takes the samples of blocks that were given back out of the counts, and the times of those that
/// were not: a time would be that of the request.
pub(super) fn settle(arena: &mut Arena) {
    let sources = sources_of(arena);
    if sources.is_empty() {
        return;
    }
    let mut left: HashMap<(u32, u32), u64> = HashMap::new();
    for block in arena.blocks.iter().map(|block| block.plain()) {
        let samples = left.entry((block.thread, block.node)).or_default();
        *samples = samples.saturating_add(block.samples);
    }
    for thread in &mut arena.threads {
        sources.iter().for_each(|&source| settle_thread(thread, source, &left));
    }
}

fn is_of(node: &ArenaNode, source: usize) -> bool {
    node.key.is_some_and(|key| key.metric() == source)
}

/// Samples of a source in a thread.
pub(super) fn samples_of(thread: &ArenaThread, source: usize) -> u64 {
    let nodes = thread.nodes.iter().filter(|node| is_of(node, source));
    nodes.fold(0, |sum, node| sum.saturating_add(node.samples))
}

fn settle_thread(thread: &mut ArenaThread, source: usize, left: &HashMap<(u32, u32), u64>) {
    let index = thread.record.index;
    let (mut gone, mut partial) = (0_u64, [0_u64; REASON_SLOTS]);
    for number in 0..thread.nodes.len() {
        if !is_of(&thread.nodes[number], source) {
            continue;
        }
        let before = thread.nodes[number].samples;
        // A process that was killed may have a block that its node does not count yet.
        let after = left.get(&(index, number as u32)).map_or(0, |left| *left).min(before);
        thread.nodes[number].samples = after;
        gone = gone.saturating_add(before - after);
        if let Some(count) = reason_of(thread, number).and_then(|reason| partial.get_mut(reason)) {
            *count = count.saturating_add(before - after);
        }
    }
    let record = &mut thread.record;
    record.delivered = record.delivered.saturating_sub(gone);
    record.recorded = record.recorded.saturating_sub(gone);
    for (count, gone) in record.partial.iter_mut().zip(partial) {
        *count = count.saturating_sub(gone);
    }
    let share = source.checked_sub(1).and_then(|further| record.further.get_mut(further));
    if let Some(share) = share {
        share.delivered = share.delivered.saturating_sub(gone);
        share.recorded = share.recorded.saturating_sub(gone);
        let partial = partial.iter().fold(0, |sum: u64, gone| sum.saturating_add(*gone));
        share.partial = share.partial.saturating_sub(partial);
    }
    let nodes = &thread.nodes;
    let is_other = |node: u32| nodes.get(node as usize).is_none_or(|node| !is_of(node, source));
    thread.times.retain(|time| is_other(time.node));
}

/// Number of the reason why the path of a node is partial; `None` if it is whole.
fn reason_of(thread: &ArenaThread, node: usize) -> Option<usize> {
    let mut at = node;
    // A damaged arena may have a circle of callers.
    for _ in 0..thread.nodes.len() {
        let node = thread.nodes.get(at)?;
        let key = node.key.filter(|key: &FrameKey| key.kind() == FrameKind::Partial);
        if let Some(key) = key {
            return usize::try_from(key.address()).ok();
        }
        at = node.parent as usize;
        if at == 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use csprof_format::arena::BlockRecord;
    use csprof_format::launch::SourceKind::{CpuTime, Leak, PhaseLeak};
    use csprof_format::loss::PartialReason;

    use super::*;
    use crate::launch::arena_bytes::{ArenaBytes, ThreadRow, call, epoch, leaf, leaf_of, root};
    use crate::launch::arena_read::read;

    /// What outlived its phase stays, beside what is still there; what else records say of phases
    /// is no samples.
    #[test]
    fn blocks_that_outlived_their_phase_are_left() {
        let (of_phase, phase) = (BlockRecord::OF_PHASE, 0xabcdef << BlockRecord::PHASE_SHIFT);
        let bytes = ArenaBytes::new(7, 500, 9500)
            .sources(&[(PhaseLeak as u32, 1024, false), (Leak as u32, 1024, false)])
            .log(&[epoch(0)])
            .thread(&ThreadRow {
                tid: 7,
                delivered: 70,
                recorded: 70,
                further: &[[0, 30, 30, 0]],
                nodes: &[
                    (root(0), 0, 0, 0),
                    (leaf(0x1600), 1, 40, 0),
                    (leaf_of(1, 0x1600), 1, 30, 0),
                ],
                ..ThreadRow::default()
            })
            .blocks(&[
                (0x5000, 3 | phase, of_phase, 2),
                (BlockRecord::OUTLIVED, 9, 0, 2),
                (0x5010, 6, 0, 3),
            ])
            .bytes;
        let mut arena = read(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap();
        settle(&mut arena);
        let thread = &arena.threads[0];
        let samples: Vec<u64> = thread.nodes.iter().map(|node| node.samples).collect();
        assert_eq!(samples, [0, 0, 12, 6]);
        assert_eq!((thread.record.recorded, thread.record.further[0].recorded), (18, 6));
    }

    /// Of each node what its blocks have, if it counts as much; counts and times follow.
    #[test]
    fn what_was_given_back_is_taken_out_of_all_counts() {
        let bytes = ArenaBytes::new(7, 500, 9500)
            .sources(&[(CpuTime as u32, 5_000_000, false), (Leak as u32, 1024, false)])
            .log(&[epoch(0)])
            .thread(&ThreadRow {
                tid: 7,
                delivered: 65,
                recorded: 63,
                losses: &[2],
                partial: 20,
                further: &[[0, 50, 50, 20]],
                nodes: &[
                    (root(0), 0, 0, 0),
                    (call(0x1500), 1, 0, 0),
                    (leaf(0x1600), 2, 13, 1),
                    (leaf_of(1, 0x1600), 2, 10, 0),
                    (leaf_of(1, 0x1700), 2, 20, 0),
                    (
                        FrameKey::new(FrameKind::Partial, PartialReason::UnknownModule as u64),
                        1,
                        0,
                        0,
                    ),
                    (leaf_of(1, 0x1800), 6, 20, 0),
                ],
                ..ThreadRow::default()
            })
            .blocks(&[
                (0x5000, 3, 0, 4),
                (0, 9, 0, 4),
                (0x5010, 4, 0, 4),
                (BlockRecord::TAKEN, 9, 0, 4),
                (0x5020, 99, 0, 5),
                (0x5030 | 1, 5, 0, 7),
                (0x5040, 5, 1, 7),
            ])
            .times(0, 0, &[(600, 3, 1), (700, 4, 1)])
            .bytes;
        let mut arena = read(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap();
        assert_eq!(arena.damage, Vec::<String>::new());
        settle(&mut arena);
        let thread = &arena.threads[0];
        let samples: Vec<u64> = thread.nodes.iter().map(|node| node.samples).collect();
        assert_eq!(samples, [0, 0, 0, 13, 7, 20, 0, 5]);
        let record = &thread.record;
        let gone = 3 + 15;
        assert_eq!((record.delivered, record.recorded), (65 - gone, 63 - gone));
        assert_eq!((record.further[0].delivered, record.further[0].recorded), (32, 32));
        let partial = record.partial[PartialReason::UnknownModule as usize];
        assert_eq!((partial, record.further[0].partial), (5, 5));
        assert_eq!((thread.times.len(), samples_of(thread, 1)), (1, 32));
    }
}
