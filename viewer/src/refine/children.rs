//! Going down a forest: the columns know parents only.
//!
//! [`ChildIndex`] finds the children of any node. [`walk`] goes over all nodes in depth-first
//! order, which is nearly always the order of their numbers, and then needs no index.

use std::sync::{Arc, OnceLock};

use super::Refined;
use super::costs::in_width;
use super::watch::{Cancelled, Watch};
use crate::profile::Count;

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
    #[must_use]
    pub fn new(refined: &Refined<'_>) -> Self {
        // Nobody ends it.
        Self::watched(refined, &Watch::none()).unwrap_or_else(|Cancelled| Self {
            first: vec![0; refined.node_count() + 1],
            children: Vec::new(),
        })
    }

    /// The same, which can be ended on its way.
    ///
    /// # Errors
    /// The watch asked for it.
    pub fn watched(refined: &Refined<'_>, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        watch.begin(0, 1, 2, refined.node_count());
        in_width!(&refined.costs, costs => Self::of_forest(&refined.parent, &costs.inclusive, watch))
    }

    fn of_forest<C: Count>(
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

/// An index made when it is first asked for, shared by all clones of a forest.
#[derive(Clone, Debug, Default)]
pub(super) struct LazyIndex(Arc<OnceLock<ChildIndex>>);

impl LazyIndex {
    pub(super) fn of(&self, refined: &Refined<'_>) -> &ChildIndex {
        self.0.get_or_init(|| ChildIndex::new(refined))
    }
}

/// Whether the nodes that are shown are numbered depth first: found out when first asked for, shared
/// by all forests that have their order from one another.
#[derive(Clone, Debug, Default)]
pub(super) struct Order(Arc<OnceLock<bool>>);

impl Order {
    pub(super) fn is_depth_first(&self, refined: &Refined<'_>) -> bool {
        *self.0.get_or_init(|| is_depth_first(refined))
    }
}

/// Whether all that is below a node is numbered next to it. With S samples on the nodes before, a
/// node and those below it have the samples from S to S plus its inclusive ones, if they are numbered
/// depth first; if not, a node reaches beyond its parent, since these samples are as many as theirs.
pub(super) fn is_depth_first(refined: &Refined<'_>) -> bool {
    in_width!(&refined.costs, costs => {
        let (parent, home) = (&refined.parent[..], &costs.home);
        let mut ends = home.empty(parent.len());
        let mut before = costs.exclusive[0];
        ends.push(costs.inclusive[0]);
        let mut is_within = true;
        for node in 1..parent.len() {
            // What is not shown ends where it begins, and reaches beyond nothing that is.
            let end = before + costs.inclusive[node];
            let is_shown = end > before;
            is_within &= !is_shown | (end <= ends[parent[node] as usize]);
            ends.push(end);
            before += costs.exclusive[node];
        }
        home.give_back(ends);
        is_within
    })
}

/// Calls `visit` for the nodes that have samples at or below them, a node before those below it and
/// these before any other; node 0 is left out.
///
/// What a node has below it needs no stack then: with S samples on the nodes before, the nodes below
/// it are those that find at least S and less than S + its inclusive samples before them.
pub(crate) fn depth_first(
    refined: &Refined<'_>,
    watch: &Watch<'_>,
    mut visit: impl FnMut(usize),
) -> Result<(), Cancelled> {
    if refined.order.is_depth_first(refined) {
        return in_width!(&refined.costs, costs => {
            let inclusive = &costs.inclusive[..];
            watch.forward(1..inclusive.len(), |nodes| {
                for node in nodes {
                    if inclusive[node] > Default::default() {
                        visit(node);
                    }
                }
            })
        });
    }
    let index = refined.children();
    let mut waiting: Vec<u32> = index.of(0).iter().rev().copied().collect();
    let mut seen = 0;
    while let Some(node) = waiting.pop() {
        visit(node as usize);
        waiting.extend(index.of(node).iter().rev());
        seen += 1;
        if seen % (1 << 16) == 0 {
            watch.step(1 << 16)?;
        }
    }
    Ok(())
}

/// What a walk tells of the nodes that have samples at or below them.
pub(crate) trait Visitor {
    /// A node is entered; so many nodes are above it, node 0 not counted. Returns what the visitor
    /// wants to know when the node is left.
    fn enter(&mut self, node: u32, depth: usize) -> u32;
    /// All nodes below have been left of the node for which `enter` returned this.
    fn leave(&mut self, entered: u32);
}

/// Walks over a forest, node 0 left out. `visitor` makes a fresh one, once or twice: whether the
/// numbers are in depth-first order is found out on the way.
pub(crate) fn walk<V: Visitor>(
    refined: &Refined<'_>,
    watch: &Watch<'_>,
    visitor: impl Fn() -> V,
) -> Result<V, Cancelled> {
    let parent = &refined.parent[..];
    let mut visiting = visitor();
    // Nodes, and what the visitor said of them.
    let mut path: Vec<(u32, u32)> = vec![(0, 0)];
    let mut in_order = true;
    watch.forward(1..parent.len(), |nodes| {
        for node in nodes {
            if !refined.is_shown(node) || !in_order {
                continue;
            }
            while let Some(&(last, entered)) = path.last()
                && last != parent[node]
            {
                // Node 0 stays: nothing is above it.
                if path.len() == 1 {
                    in_order = false;
                    break;
                }
                visiting.leave(entered);
                path.pop();
            }
            let entered = visiting.enter(node_number(node), path.len() - 1);
            path.push((node_number(node), entered));
        }
    })?;
    if in_order { Ok(visiting) } else { walk_by_index(refined, watch, visitor()) }
}

fn walk_by_index<V: Visitor>(
    refined: &Refined<'_>,
    watch: &Watch<'_>,
    mut visitor: V,
) -> Result<V, Cancelled> {
    let index = refined.children();
    let mut path = vec![(0, index.of(0).iter())];
    let mut seen = 0;
    while let Some((entered, children)) = path.last_mut() {
        if let Some(&child) = children.next() {
            let entered = visitor.enter(child, path.len() - 1);
            path.push((entered, index.of(child).iter()));
            seen += 1;
            if seen % (1 << 16) == 0 {
                watch.step(1 << 16)?;
            }
        } else {
            let entered = *entered;
            path.pop();
            if !path.is_empty() {
                visitor.leave(entered);
            }
        }
    }
    Ok(visitor)
}

/// A node's number. Nodes are numbered in 32 bits, so it fits.
pub(super) fn node_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{apply, parse};

    struct Said(String);

    impl Visitor for Said {
        fn enter(&mut self, node: u32, depth: usize) -> u32 {
            self.0.push_str(&format!("{node}@{depth} "));
            node
        }

        fn leave(&mut self, node: u32) {
            self.0.push_str(&format!("/{node} "));
        }
    }

    fn walked(outline: &str, stages: &str) -> String {
        let profile = from_outline(outline).unwrap();
        let refined = apply(&profile, &parse(stages).unwrap()).unwrap();
        walk(&refined, &Watch::none(), || Said(String::new())).unwrap().0
    }

    #[test]
    fn a_walk_is_depth_first_whatever_the_numbers_are() {
        let outline = "f 1\n  g 1\n    f 1\n      x 1\n    y 1\n";
        assert_eq!(walked(outline, ""), "1@0 2@1 3@2 4@3 /4 /3 5@2 ");
        // x goes to the first f, so y follows something that is not below g.
        assert_eq!(walked(outline, "fold f"), "1@0 2@1 5@2 /5 /2 4@1 /4 /1 ");
        assert_eq!(walked(outline, "hide g"), "1@0 3@1 4@2 /4 /3 5@1 ");
    }

    #[test]
    fn a_stage_that_moves_nodes_has_children_and_order_of_its_own() {
        let profile = from_outline("f 1\n  g 1\n    f 1\n      x 1\n    y 1\n").unwrap();
        let base = Refined::base(&profile);
        assert!(base.order.is_depth_first(&base));
        assert_eq!(base.children().of(1), [2]);
        let fold = parse("fold f").unwrap().stages.remove(0);
        let folded = base.then(&fold).unwrap();
        assert!(!folded.order.is_depth_first(&folded));
        assert_eq!(folded.children().of(1), [2, 4]);
    }
}
