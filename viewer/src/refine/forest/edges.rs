//! Edge counts after refinement: exact, or between two bounds.
//!
//! **What a count means.** An edge is a return that was counted: one of an activation that samples
//! had met. The edge count of a row is the number of counted returns of activations that have at
//! least one sample shown in the row or below it.
//!
//! **What was recorded.** An activation moves from one line of its function to the next, and has a
//! node for each call site, and for each address where samples found it innermost. Its return was
//! counted once, on the node of its last sample. So what a node has recorded is not what returned
//! of the activations that were sampled there: a stage may keep the nodes that an activation came
//! through, and take out the one where its return was counted.
//!
//! **What follows.** An activation has one caller, and that call one place, so all its nodes have
//! one parent as recorded (but for functions between that left by tail calls), and are of one
//! procedure
//! ([`Procedures`](super::procedures::Procedures)): a *family*. Of a family that recorded E
//! returns, the nodes of a row have S′ samples now. Then at most E and at most S′ activations that
//! returned have samples in the row. A node that recorded e returns and has lost L samples still
//! has samples of e − L of these activations at least, and those of two nodes are not the same. So
//!
//! ```text
//! Σ max(0, e − L)  ≤  count  ≤  min(E, S′)
//! ```
//!
//! which is exact if the family has lost nothing, or if what it lost had no returns and the rest
//! nothing else. `live` (0) means that no return was counted of any activation in the family.
//!
//! Rows add up nodes, and a row has all nodes of a family that are of one function and below one
//! parent. So the bounds of these are found together, and shared out among them: each has at most
//! as many as samples. What asks for some of them alone asks for [`EdgeCounts::of_part`].
//!
//! What stands above a handover is a copy of another thread's stack, in whose tree its activations
//! are: here it has no count. Where this thread called the same code itself, the node has samples
//! of these activations, too, and its family their returns. S′ and L are then greater than those of
//! its own samples, so the bounds are wider, and hold.
//!
//! Three things more move activations between families. A thread that enters an epoch goes on with
//! one stack: at most one activation of each family of the epoch before returns in a later one.
//! Paths whose outer part is not known are trees of their own, where no return is counted: before
//! all stages, a row that has such nodes of an activation has those of its whole paths, too, unless
//! it is of code without a name, or of a path that begins with that part
//! ([`EdgeCounts::with_partial`]). And in a tree of callers the nodes of one activation differ only
//! in the first frame and the epoch; stages take out all of them or none, unless they tell lines or
//! epochs apart.

use rustc_hash::FxHashMap;

use super::bits::Bits;
use super::children::node_number;
use super::costs::{CostsOf, in_width};
use super::families::Families;
use super::recorded::{Bounds, EdgeCounts, Effect, less};
use super::refined::Refined;
use crate::profile::{Count, Frame, FrameKind};

impl Refined {
    /// The edge count of a node, least and greatest possible; equal if it is known exactly. `None`
    /// for what has none: inlined frames, loops, functions that left by tail calls, what others
    /// called above a handover, roots, threads and ranks. Of a node that is not shown it means
    /// nothing.
    #[must_use]
    pub fn edges(&self, node: u32) -> Option<(u64, u64)> {
        let node = node as usize;
        let kind = self.frames[self.frame[node].index()].kind;
        in_width!(&self.costs, costs => costs.edges(self).wide(node, kind))
    }

    /// Finds the edge counts of all nodes, unless that has been done: else it is done when the
    /// first of them is asked for. O(nodes).
    pub fn find_edges(&self) {
        in_width!(&self.costs, costs => _ = costs.edges(self));
    }

    /// Whether the edge counts of all nodes are exact.
    #[must_use]
    pub fn edges_are_exact(&self) -> bool {
        (0..self.node_count())
            .filter(|&node| self.is_shown(node))
            .filter_map(|node| self.edges(node_number(node)))
            .all(|(low, high)| low == high)
    }
}

impl<C: Count> CostsOf<C> {
    /// The edge counts of all nodes of this forest. The first time after a stage that may have
    /// taken samples out, O(nodes).
    pub(crate) fn edges(&self, refined: &Refined) -> EdgeCounts<'_, C> {
        self.bounds.get_or_make(|| {
            let is_found = self.recorded.are_as_recorded(&refined.procedures);
            (!is_found).then(|| Bounds::find(refined, self))
        });
        self.edges_found()
    }
}

impl<C: Count> Bounds<C> {
    /// Finds the bounds of all nodes. O(nodes).
    fn find(refined: &Refined, costs: &CostsOf<C>) -> Self {
        let recorded = &costs.recorded;
        let profile = &refined.profile;
        let families = recorded
            .families
            .get_or_make(|| Families::find(profile, &refined.procedures, &recorded.loaded));
        let is_whole = recorded.effect == Effect::None;
        let (parent, now) = (&refined.parent[..], &costs.all.inclusive[..]);
        let count = parent.len();
        let rows: Vec<u32> = refined.frames.iter().map(Frame::row_key).collect();
        let kinds: Vec<FrameKind> = refined.frames.iter().map(|frame| frame.kind).collect();
        let frame = |node: usize| refined.frame[node].index();

        let mut low = costs.home.empty(count);
        let mut high = costs.home.empty(count);
        let has_handovers = refined.procedures.has_handovers;
        let mut above_handovers = has_handovers.then(|| Bits::none(count));
        // For each family the first node that is shown, and for others with another function or
        // parent the first of these.
        let mut first: Vec<u32> = vec![0; profile.nodes.len()];
        let mut others: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
        // For each node the first one of those whose bounds are found together; 0 if there is none.
        let mut together: Vec<u32> = refined.workspace.nodes.empty(count);
        // At the first ones, edges that are not certain of any node.
        let mut rest: Vec<C> = costs.home.empty(count);
        // The node of the profile: `split` and `by loop` put in others.
        let mut loaded = 0;
        for node in 0..count {
            let kind = kinds[frame(node)];
            low.push(C::MAX);
            high.push(C::default());
            together.push(0);
            rest.push(C::default());
            if recorded.low[node] == C::MAX {
                continue;
            }
            let base = loaded;
            loaded += 1;
            if now[node] == C::default() || !kind.is_called() {
                continue;
            }
            let is_above = families.above_handovers.contains(base);
            if let Some(above) = &mut above_handovers {
                above.insert_if(node, is_above);
            }
            if is_above && !families.may_have_returned(base) {
                continue;
            }
            let is_shared = refined.procedures.is_shared(profile, base);
            if families.partial.contains(base) {
                // Its return may have been counted where a sample found the whole path. Before all
                // stages no row has nodes of both, but those that have all of a function; and of
                // code without a name, not even these have all of an activation.
                let is_asked_for = is_shared || !refined.outcomes.is_empty();
                let least = if is_asked_for { C::default() } else { C::MAX };
                (low[node], high[node]) = (least, now[node]);
                continue;
            }
            let family = families.first[base];
            if family == 0 {
                low[node] = C::default();
                continue;
            }
            // Whether a row that has the node has all epochs of its activations.
            let is_row = is_whole && !is_shared;
            let of_family = families.edges[family as usize];
            if is_above && is_row && of_family == C::default() {
                // If it ran this itself, the return is in a later epoch. If not, it has no count.
                high[node] = now[node];
                continue;
            }
            let (edges, before) = (recorded.low[node], recorded.inclusive[node]);
            let (certain, most) = match before > now[node] {
                true => (less(edges, before - now[node]).min(now[node]), now[node]),
                // A made-up file may have more edges than samples.
                false => (edges, now[node].max(edges)),
            };
            (low[node], high[node]) = (certain, most);
            let key = (family, parent[node], rows[frame(node)]);
            let known = &mut first[family as usize];
            if *known == 0 {
                *known = node_number(node);
            }
            let of_known = *known as usize;
            let is_of_known = (parent[of_known], rows[frame(of_known)]) == (key.1, key.2);
            let first = match is_of_known {
                true => of_known,
                false => *others.entry(key).or_insert(node_number(node)) as usize,
            };
            if first == node {
                rest[node] = of_family;
                if families.goes_on.contains(base) && !is_row {
                    rest[node] += C::ONE;
                }
            }
            rest[first] = less(rest[first], certain);
            together[node] = node_number(first);
        }
        for node in (0..count).filter(|&node| together[node] != 0) {
            let rest = &mut rest[together[node] as usize];
            let more = (high[node] - low[node]).min(*rest);
            *rest = *rest - more;
            high[node] = low[node] + more;
        }
        refined.workspace.nodes.give_back(together);
        costs.home.give_back(rest);
        Self { low, high, above_handovers }
    }
}

#[cfg(test)]
mod tests;
