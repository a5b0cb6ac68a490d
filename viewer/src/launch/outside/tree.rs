//! The calling context tree of a thread, as an arena has it.

use std::collections::HashMap;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::loss::PartialReason;

use super::walk::End;
use crate::launch::arena_read::ArenaNode;

/// The nodes of a thread, of all epochs.
#[derive(Debug)]
pub(super) struct Tree {
    /// Number 0 is never used.
    nodes: Vec<ArenaNode>,
    children: HashMap<(u32, FrameKey), u32>,
}

impl Tree {
    /// Bytes that a node takes, about: a hash table is half full.
    pub(super) const NODE_BYTES: usize =
        size_of::<ArenaNode>() + 2 * size_of::<((u32, FrameKey), u32)>();

    pub(super) fn new() -> Self {
        Self { nodes: vec![ArenaNode::default()], children: HashMap::new() }
    }

    /// Adds a sample of the source with this number, whose frames are `path`, the innermost first.
    /// The node that has it; `None` if there are as many nodes as there are numbers, or no `room`
    /// for new ones, which each of them lowers.
    pub(super) fn add(
        &mut self,
        epoch: u32,
        path: &[FrameKey],
        end: End,
        source: usize,
        room: &mut i64,
    ) -> Option<u32> {
        let mut keys = vec![FrameKey::root(epoch, 0)];
        if let End::Partial(reason) = end {
            keys.push(partial_root(reason));
        }
        keys.extend(path.iter().rev());
        if let Some(last) = keys.last_mut() {
            *last = last.of_metric(source);
        }
        let mut node = 0;
        for key in keys {
            node = self.child(node, key, room)?;
        }
        let found = self.nodes.get_mut(node as usize)?;
        found.samples += 1;
        Some(node)
    }

    fn child(&mut self, parent: u32, key: FrameKey, room: &mut i64) -> Option<u32> {
        if let Some(&found) = self.children.get(&(parent, key)) {
            return Some(found);
        }
        let number = u32::try_from(self.nodes.len()).ok().filter(|number| *number < u32::MAX)?;
        if *room <= 0 {
            return None;
        }
        *room -= 1;
        self.nodes.push(ArenaNode { key: Some(key), parent, samples: 0, edges: 0 });
        self.children.insert((parent, key), number);
        Some(number)
    }

    pub(super) fn into_nodes(self) -> Vec<ArenaNode> {
        self.nodes
    }
}

fn partial_root(reason: PartialReason) -> FrameKey {
    FrameKey::new(FrameKind::Partial, reason as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_what_they_have_in_common() {
        let mut tree = Tree::new();
        let frame = |kind, address| FrameKey::new(kind, address);
        let (main, leaf) = (frame(FrameKind::Call, 0x10), frame(FrameKind::Leaf, 0x20));
        let mut room = 7;
        let mut add =
            |epoch, path: &[FrameKey], end, source| tree.add(epoch, path, end, source, &mut room);
        let first = add(0, &[leaf, main], End::Whole, 0);
        assert_eq!(add(0, &[leaf, main], End::Whole, 0), first);
        let other = add(0, &[leaf, main], End::Whole, 1);
        assert_ne!(other, first);
        add(1, &[leaf], End::Partial(PartialReason::StackCopy), 0).unwrap();
        // All room is taken by now.
        assert_eq!(add(1, &[main], End::Whole, 0), None);
        assert_eq!(add(0, &[leaf, main], End::Whole, 1), other);
        let nodes = tree.into_nodes();
        let samples: Vec<u64> = nodes.iter().map(|node| node.samples).collect();
        // None; root, main, leaf of each metric; root, root of partial paths, leaf.
        assert_eq!(samples, [0, 0, 0, 2, 2, 0, 0, 1]);
        assert_eq!(nodes[6].key, Some(partial_root(PartialReason::StackCopy)));
        assert_eq!(nodes[5].key.unwrap().epoch_and_phase(), Some((1, 0)));
    }
}
