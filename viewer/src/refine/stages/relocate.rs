//! Stages that delete frames: the samples of a deleted frame, and what it called, move to a frame
//! above it.
//!
//! All but `fold` are prefix-stable: what happens to a frame depends on the frames at or above it
//! alone. A kept frame then keeps all its samples and its exact edge count.

use super::super::Refined;
use super::super::bits::Bits;
use crate::profile::{FrameRef, FunctionRef, inclusive};

/// Where each node's samples and children go: to itself, if it is kept, or to an ancestor.
pub(super) struct Moves {
    target: Vec<u32>,
    /// Outermost nodes that are deleted: nothing is above them, so they stay as holders of the
    /// samples that have no frame left, and are called `<root>`.
    orphans: Vec<u32>,
}

impl Moves {
    /// Deletes these frames.
    pub(super) fn hide(refined: &Refined<'_>, frames: &Bits) -> Self {
        Self::to_parent(refined, |node, _| has(refined, frames, node))
    }

    /// Deletes what is below an outermost match.
    pub(super) fn stop_at(refined: &Refined<'_>, frames: &Bits) -> Self {
        let mut closed = Bits::none(refined.node_count());
        Self::to_parent(refined, |node, parent| {
            let below = closed.contains(parent);
            if below || has(refined, frames, node) {
                closed.insert(node);
            }
            below
        })
    }

    /// Deletes an outermost match and what is below it.
    pub(super) fn cut(refined: &Refined<'_>, frames: &Bits) -> Self {
        let mut closed = Bits::none(refined.node_count());
        Self::to_parent(refined, |node, parent| {
            let here = closed.contains(parent) || has(refined, frames, node);
            if here {
                closed.insert(node);
            }
            here
        })
    }

    /// Deletes matching frames whose function occurs higher on the path.
    pub(super) fn collapse(refined: &Refined<'_>, frames: &Bits) -> Self {
        let repeated = repeated(refined, frames);
        Self::to_parent(refined, |node, _| repeated.contains(node))
    }

    /// Deletes matching frames directly below a frame of the same function.
    pub(super) fn collapse_run(refined: &Refined<'_>, frames: &Bits) -> Self {
        let function = |node: usize| refined.frames[refined.frame[node].index()].function;
        Self::to_parent(refined, |node, parent| {
            has(refined, frames, node) && parent != 0 && function(node) == function(parent)
        })
    }

    /// Deletes members of a run but the first.
    pub(super) fn runs(refined: &Refined<'_>, frames: &Bits) -> Self {
        Self::to_parent(refined, |node, parent| {
            has(refined, frames, node) && has(refined, frames, parent)
        })
    }

    /// Deletes frames whose function, as `functions` has it for each frame, is their caller's.
    pub(super) fn runs_of_one(refined: &Refined<'_>, functions: &[FunctionRef]) -> Self {
        let function = |node: usize| functions[refined.frame[node].index()];
        Self::to_parent(refined, |node, parent| parent != 0 && function(node) == function(parent))
    }

    /// Moves each match below another one to the outermost; what lies between stays for the paths
    /// that end there.
    pub(super) fn fold(refined: &Refined<'_>, frames: &Bits) -> Self {
        let parent = &refined.parent[..];
        let mut target: Vec<u32> = (0..node_number(parent.len())).collect();
        // The outermost match at or above each node; 0 if there is none.
        let mut outermost = vec![0_u32; parent.len()];
        for node in 1..parent.len() {
            let above = outermost[parent[node] as usize];
            let matches = has(refined, frames, node);
            outermost[node] = if above == 0 && matches { node_number(node) } else { above };
            if above != 0 && matches {
                target[node] = above;
            }
        }
        Self { target, orphans: Vec::new() }
    }

    /// Deletes the nodes that `deleted` says, called for each node and its parent in order; each
    /// moves to where its parent moves.
    fn to_parent(refined: &Refined<'_>, mut deleted: impl FnMut(usize, usize) -> bool) -> Self {
        let parent = &refined.parent[..];
        let mut orphans = Vec::new();
        let mut target = vec![0_u32; parent.len()];
        for node in 1..parent.len() {
            let above = parent[node] as usize;
            target[node] = if !deleted(node, above) {
                node_number(node)
            } else if above == 0 {
                orphans.push(node_number(node));
                node_number(node)
            } else {
                target[above]
            };
        }
        Self { target, orphans }
    }

    /// The forest after the moves, and how many samples moved.
    pub(super) fn apply<'p>(&self, refined: &Refined<'p>) -> (Refined<'p>, u64) {
        let mut next = refined.clone();
        let mut moved = 0;
        let mut exclusive = refined.exclusive.to_vec();
        let mut parent = refined.parent.to_vec();
        let mut is_orphan = Bits::none(if self.orphans.is_empty() { 0 } else { parent.len() });
        for &orphan in &self.orphans {
            is_orphan.insert(orphan as usize);
            moved += exclusive[orphan as usize];
        }
        for node in 1..parent.len() {
            let target = self.target[node] as usize;
            if target != node {
                // Not shown any more; any node above will do as its parent.
                parent[node] = self.target[node];
                let samples = std::mem::take(&mut exclusive[node]);
                exclusive[target] += samples;
                moved += samples;
                continue;
            }
            let above = self.target[parent[node] as usize];
            let holder = !self.orphans.is_empty() && is_orphan.contains(above as usize);
            parent[node] = if holder { 0 } else { above };
        }
        if !self.orphans.is_empty() {
            let mut frame = refined.frame.to_vec();
            for &orphan in &self.orphans {
                frame[orphan as usize] = FrameRef::ROOT;
            }
            next.frame = frame.into();
        }
        next.inclusive = inclusive(&parent, &exclusive).into();
        next.parent = parent.into();
        next.exclusive = exclusive.into();
        (next, moved)
    }
}

pub(super) fn has(refined: &Refined<'_>, frames: &Bits, node: usize) -> bool {
    frames.contains(refined.frame[node].index())
}

/// Nodes of matching frames whose function occurs above them. A walk in depth-first order, since
/// earlier stages may have put subtrees between a node and its children.
fn repeated(refined: &Refined<'_>, frames: &Bits) -> Bits {
    let parent = &refined.parent[..];
    let count = parent.len();
    let mut repeated = Bits::none(count);
    // Children of each node: `children[first[n]..first[n + 1]]`.
    let mut first = vec![0_u32; count + 1];
    for &above in &parent[1..] {
        first[above as usize + 1] += 1;
    }
    for node in 0..count {
        first[node + 1] += first[node];
    }
    let mut next = first.clone();
    let mut children = vec![0_u32; count.saturating_sub(1)];
    for node in 1..count {
        let slot = &mut next[parent[node] as usize];
        children[*slot as usize] = node_number(node);
        *slot += 1;
    }
    let mut on_path = vec![0_u32; refined.functions.len()];
    // `next[n]` now counts the children of n that are still to be visited, from the end.
    let function = |node: usize| refined.frames[refined.frame[node].index()].function.index();
    let mut path: Vec<u32> = vec![0];
    while let Some(&node) = path.last() {
        let node = node as usize;
        if next[node] > first[node] {
            next[node] -= 1;
            let child = children[next[node] as usize];
            let counted = &mut on_path[function(child as usize)];
            if *counted > 0 && has(refined, frames, child as usize) {
                repeated.insert(child as usize);
            }
            *counted += 1;
            path.push(child);
        } else {
            path.pop();
            if node != 0 {
                on_path[function(node)] -= 1;
            }
        }
    }
    repeated
}

fn node_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
