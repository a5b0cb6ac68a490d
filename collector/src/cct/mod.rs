//! The calling context tree of one thread: finds or adds the node of a frame below its caller.
//!
//! Pure: no system calls, no allocation, no unsafe code; tested on literal trees. In the life of
//! a sample this is the step after unwinding: the path's keys become one node.
//!
//! The children of a node form an unbalanced binary search tree ordered by a multiplicative hash
//! of their keys. A node has one child in the median and 390 at the most seen, and hashing makes
//! the search tree balanced in expectation (depth 2 ln n) whatever the order of arrival, without
//! ever rebuilding anything inside the handler.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use csprof_format::address::FrameKey;

/// A node in the arena: [`csprof_format::arena::Node`] with cells that another process may read.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Node {
    key: AtomicU64,
    parent: AtomicU32,
    child: AtomicU32,
    left: AtomicU32,
    right: AtomicU32,
    samples: AtomicU64,
    /// Returns of this node's activations; the trampoline adds to it by address.
    pub edges: AtomicU64,
}

const _: () = assert!(size_of::<Node>() == size_of::<csprof_format::arena::Node>());
const _: () = assert!(
    core::mem::offset_of!(Node, edges) == core::mem::offset_of!(csprof_format::arena::Node, edges)
);

/// Where the nodes of one thread live.
pub trait NodeStore {
    /// The node with this number, if it was handed out by [`NodeStore::take`].
    fn node(&self, number: u32) -> Option<&Node>;
    /// A zeroed node not in use, and its number, never 0; `None` when memory is refused.
    fn take(&mut self) -> Option<u32>;
    /// Makes the node visible to readers of the arena.
    fn publish(&self, number: u32);
}

/// Fibonacci hashing: 2^64 / φ, odd. The high bits of the product depend on all bits of the key.
const fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The node of `key` below `parent`, added if it is new. `parent` 0 finds or adds an epoch's
/// root; those hang below the unused node 0.
///
/// `None` when a new node is needed and memory is refused.
pub fn child<S: NodeStore>(store: &mut S, parent: u32, key: FrameKey) -> Option<u32> {
    let wanted = hash(key.to_bits());
    let mut link = Link::Child(parent);
    loop {
        let found = link.follow(store)?;
        if found == 0 {
            break;
        }
        let node = store.node(found)?;
        let here = hash(node.key.load(Ordering::Relaxed));
        if here == wanted {
            // The hash is a bijection (multiplication by an odd number), so keys are equal.
            return Some(found);
        }
        link = if wanted < here { Link::Left(found) } else { Link::Right(found) };
    }
    let new = store.take()?;
    let node = store.node(new)?;
    node.key.store(key.to_bits(), Ordering::Relaxed);
    node.parent.store(parent, Ordering::Relaxed);
    store.publish(new);
    link.set(store, new);
    Some(new)
}

/// The calling context of a node; 0 for the root of an epoch.
pub fn parent<S: NodeStore>(store: &S, number: u32) -> Option<u32> {
    store.node(number).map(|node| node.parent.load(Ordering::Relaxed))
}

/// The key of a node.
pub fn key<S: NodeStore>(store: &S, number: u32) -> Option<FrameKey> {
    store.node(number).and_then(|node| FrameKey::from_bits(node.key.load(Ordering::Relaxed)))
}

/// Adds `weight` samples to a node.
pub fn add_samples<S: NodeStore>(store: &S, number: u32, weight: u64) {
    if let Some(node) = store.node(number) {
        // One writer: a plain load and store is enough, and cheaper than a locked addition.
        let samples = node.samples.load(Ordering::Relaxed);
        node.samples.store(samples.wrapping_add(weight), Ordering::Relaxed);
    }
}

/// The place where a node's number is stored.
#[derive(Clone, Copy)]
enum Link {
    Child(u32),
    Left(u32),
    Right(u32),
}

impl Link {
    fn cell<S: NodeStore>(self, store: &S) -> Option<&AtomicU32> {
        Some(match self {
            Self::Child(number) => &store.node(number)?.child,
            Self::Left(number) => &store.node(number)?.left,
            Self::Right(number) => &store.node(number)?.right,
        })
    }

    fn follow<S: NodeStore>(self, store: &S) -> Option<u32> {
        Some(self.cell(store)?.load(Ordering::Relaxed))
    }

    fn set<S: NodeStore>(self, store: &S, number: u32) {
        if let Some(cell) = self.cell(store) {
            // Release: a reader that sees the link sees the node behind it.
            cell.store(number, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;

    use super::*;
    use csprof_format::address::FrameKind;

    /// A store with room for `room` nodes.
    struct Fixed {
        nodes: Vec<Node>,
        used: u32,
    }

    impl Fixed {
        fn new(room: usize) -> Self {
            Self { nodes: (0..=room).map(|_| Node::default()).collect(), used: 1 }
        }
    }

    impl NodeStore for Fixed {
        fn node(&self, number: u32) -> Option<&Node> {
            self.nodes.get(number as usize)
        }
        fn take(&mut self) -> Option<u32> {
            let number = self.used;
            self.nodes.get(number as usize)?;
            self.used += 1;
            Some(number)
        }
        fn publish(&self, _: u32) {}
    }

    fn call(address: u64) -> FrameKey {
        FrameKey::new(FrameKind::Call, address)
    }

    fn insert(store: &mut Fixed, path: &[FrameKey]) -> Option<u32> {
        path.iter().try_fold(0, |parent, &key| child(store, parent, key))
    }

    #[test]
    fn equal_paths_share_a_node_and_different_kinds_do_not() {
        let mut store = Fixed::new(10);
        let ab = insert(&mut store, &[call(1), call(2)]);
        assert_eq!(ab, Some(2));
        assert_eq!(insert(&mut store, &[call(1), call(2)]), ab);
        let leaf = FrameKey::new(FrameKind::Leaf, 2);
        assert_eq!(insert(&mut store, &[call(1), leaf]), Some(3));
        add_samples(&store, 3, 5);
        assert_eq!(store.nodes[3].samples.load(Ordering::Relaxed), 5);
        assert_eq!(store.nodes[3].parent.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_thousand_siblings_are_found_again() {
        let mut store = Fixed::new(1001);
        let numbers: Vec<_> =
            (0..1000).map(|i| insert(&mut store, &[call(7), call(i * 16)])).collect();
        assert!(numbers.iter().all(Option::is_some));
        for (i, number) in numbers.iter().enumerate() {
            assert_eq!(insert(&mut store, &[call(7), call(i as u64 * 16)]), *number);
        }
    }

    #[test]
    fn a_full_store_adds_nothing_but_still_finds() {
        let mut store = Fixed::new(2);
        assert_eq!(insert(&mut store, &[call(1), call(2)]), Some(2));
        assert_eq!(insert(&mut store, &[call(1), call(3)]), None);
        assert_eq!(insert(&mut store, &[call(1), call(2)]), Some(2));
    }
}
