//! Depth-first walks over a forest.
//!
//! [`walk`] and [`depth_first`] go over all nodes in depth-first order, which is nearly always the
//! order of their numbers, and then need no index of children.

use super::children::node_number;
use super::costs::in_width;
use super::refined::Refined;
use crate::refine::watch::{Cancelled, Watch};

impl Refined {
    /// Whether the nodes that are shown are numbered depth first.
    pub(crate) fn is_depth_first(&self) -> bool {
        *self.order.get_or_make(|| is_depth_first(self))
    }
}

/// Whether nodes are numbered depth first. Give each node the interval of samples that begins with
/// the exclusive samples of all nodes before it, and is as long as its inclusive samples: numbered
/// depth first, a node's interval lies within its parent's.
pub(crate) fn is_depth_first(refined: &Refined) -> bool {
    in_width!(&refined.costs, costs => {
        let (parent, home) = (&refined.parent[..], &costs.home);
        let mut ends = home.empty(parent.len());
        let mut before = costs.all.exclusive[0];
        ends.push(costs.all.inclusive[0]);
        let mut is_within = true;
        for node in 1..parent.len() {
            // The interval of a node that is not shown is empty.
            let end = before + costs.all.inclusive[node];
            let is_shown = end > before;
            is_within &= !is_shown | (end <= ends[parent[node] as usize]);
            ends.push(end);
            before += costs.all.exclusive[node];
        }
        home.give_back(ends);
        is_within
    })
}

/// Calls `visit` in depth-first order for the nodes that have samples at or below them, without
/// node 0.
///
/// A caller needs no stack to know which nodes are below a node: if the nodes before it have S
/// exclusive samples, they are the nodes with at least S, and less than S + its inclusive samples,
/// before them.
pub(crate) fn depth_first(
    refined: &Refined,
    watch: &Watch<'_>,
    mut visit: impl FnMut(usize),
) -> Result<(), Cancelled> {
    if refined.is_depth_first() {
        return in_width!(&refined.costs, costs => {
            let inclusive = &costs.all.inclusive[..];
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

/// Receives the nodes of a walk that have samples at or below them.
pub(crate) trait Visitor {
    /// A node is entered, which has `depth` nodes above it, without node 0. The returned number is
    /// given to [`leave`](Self::leave).
    fn enter(&mut self, node: u32, depth: usize) -> u32;
    /// All nodes below the node for which `enter` returned `entered` have been left.
    fn leave(&mut self, entered: u32);
}

/// Walks over a forest, without node 0. `visitor` makes a fresh visitor; it is called again if the
/// walk meets a node that is not numbered depth first, and begins anew.
pub(crate) fn walk<V: Visitor>(
    refined: &Refined,
    watch: &Watch<'_>,
    visitor: impl Fn() -> V,
) -> Result<V, Cancelled> {
    let parent = &refined.parent[..];
    let mut visiting = visitor();
    // Nodes, and what the visitor returned for them.
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
    refined: &Refined,
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
        assert!(base.is_depth_first());
        assert_eq!(base.children().of(1), [2]);
        let fold = parse("fold f").unwrap().stages.remove(0);
        let folded = base.then(&fold).unwrap();
        assert!(!folded.is_depth_first());
        assert_eq!(folded.children().of(1), [2, 4]);
    }
}
