//! The children of nodes: the columns know parents only.

use std::ops::Range;
use std::slice;

use crate::profile::{Count, of_each, split};
use crate::refine::watch::{Cancelled, Watch};

/// The children of every node, as compressed rows: those of node `n` are
/// `children[first[n] .. first[n + 1]]`, in order of their numbers. Nodes without samples at or
/// below them are no children: they were taken out or merged into others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildIndex {
    first: Vec<u32>,
    children: Vec<u32>,
}

/// Of some consecutive nodes those that are children: how many of node 0, and how many of these
/// nodes themselves.
struct Counted {
    of_root: usize,
    of_others: usize,
    /// Whether there are no others.
    is_all: bool,
}

impl ChildIndex {
    /// Indexes the nodes that have samples at or below them. O(nodes). These are divided into
    /// `parts`, which threads share out; if a node's parent is in another part than the node, and
    /// not node 0, they are not divided.
    ///
    /// # Errors
    /// The watch asked for it.
    pub(crate) fn of_columns<C: Count>(
        parent: &[u32],
        inclusive: &[C],
        parts: &[Range<usize>],
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let count = parent.len();
        let end_asked = watch.end_asked();
        let is_live = |n: &usize| *n > 0 && inclusive[*n] > C::default();
        let mut first = vec![0u32; count + 1];
        watch.step(count)?;
        let counted = of_each(split(&mut first, parts), |(nodes, first)| {
            let mut counted = Counted { of_root: 0, of_others: 0, is_all: true };
            end_asked.watch().forward(nodes.clone(), |stretch| {
                for n in stretch.filter(is_live) {
                    let parent = parent[n] as usize;
                    if parent == 0 {
                        counted.of_root += 1;
                    } else if let Some(children) = first.get_mut(parent.wrapping_sub(nodes.start)) {
                        *children += 1;
                        counted.of_others += 1;
                    } else {
                        counted.is_all = false;
                    }
                }
            })?;
            Ok::<_, Cancelled>(counted)
        });
        let counted = counted.into_iter().collect::<Result<Vec<_>, _>>()?;
        if counted.iter().any(|part| !part.is_all) && parts.len() > 1 {
            drop(first);
            return Self::of_columns(parent, inclusive, slice::from_ref(&(0..count)), watch);
        }
        let of_root = counted.iter().map(|part| part.of_root).sum();
        let all = counted.iter().map(|part| part.of_others).sum::<usize>() + of_root;
        let mut children = vec![0u32; all];
        let (mut root_rest, mut rest) = children.split_at_mut(of_root);
        let mut before = of_root;
        let works = split(&mut first, parts).into_iter().zip(counted).map(|(part, counted)| {
            let of_root = root_rest.split_off_mut(..counted.of_root).unwrap_or_default();
            let of_others = rest.split_off_mut(..counted.of_others).unwrap_or_default();
            let place = before;
            before += counted.of_others;
            (part, of_root, of_others, place)
        });
        watch.step(count)?;
        let filled = of_each(works.collect(), |((nodes, first), of_root, of_others, place)| {
            // Where the children of each node end; from there they are filled in, the last first.
            let mut end = node_number(place);
            for first in first.iter_mut() {
                end += *first;
                *first = end;
            }
            let mut of_root = of_root.iter_mut().rev();
            end_asked.watch().backward(nodes.clone(), |stretch| {
                for n in stretch.rev().filter(is_live) {
                    let parent = parent[n] as usize;
                    if parent == 0 {
                        of_root.next().into_iter().for_each(|child| *child = node_number(n));
                    } else {
                        let next = &mut first[parent - nodes.start];
                        *next -= 1;
                        of_others[*next as usize - place] = node_number(n);
                    }
                }
            })
        });
        filled.into_iter().collect::<Result<(), _>>()?;
        watch.end();
        first[0] = 0;
        first[count] = node_number(all);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refine::watch::unwatched;

    /// Two trees, the second of which has a node without samples.
    const PARENT: [u32; 9] = [0, 0, 1, 1, 3, 0, 5, 6, 5];
    const INCLUSIVE: [u32; 9] = [9, 5, 1, 2, 1, 4, 1, 0, 2];

    fn check(parent: [u32; 9], inclusive: [u32; 9], expected: [&[u32]; 9]) {
        let of = |parts: &[Range<usize>]| {
            unwatched(|watch| ChildIndex::of_columns(&parent, &inclusive, parts, watch))
        };
        let whole = of(slice::from_ref(&(0..9)));
        let found: Vec<&[u32]> = (0..9).map(|node| whole.of(node)).collect();
        assert_eq!(found, expected);
        assert_eq!(whole, of(&[0..5, 5..9]));
        assert_eq!(whole, of(&[0..1, 1..5, 5..9]));
        assert_eq!(whole, of(&[0..7, 7..9]), "which divide a tree");
    }

    #[test]
    fn parts_change_nothing() {
        let children: [&[u32]; 9] = [&[1, 5], &[2, 3], &[], &[4], &[], &[6, 8], &[], &[], &[]];
        check(PARENT, INCLUSIVE, children);
    }

    #[test]
    fn a_node_may_hang_below_one_of_another_part() {
        let (mut parent, mut inclusive) = (PARENT, INCLUSIVE);
        (parent[7], inclusive[7]) = (2, 1);
        let children: [&[u32]; 9] = [&[1, 5], &[2, 3], &[7], &[4], &[], &[6, 8], &[], &[], &[]];
        check(parent, inclusive, children);
    }
}
