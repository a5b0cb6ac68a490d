//! The callers view: functions by their own cost, and below each its callers, outward.
//!
//! The first level is the flat view. Callers are found when a function is opened, for this
//! function alone; the whole inverted tree is never made (it is what makes other viewers run out
//! of memory).
//!
//! In every row below function F, the numbers are those of F when called along that path:
//! exclusive cost and edge counts of all its nodes, inclusive cost of its *outermost* nodes only,
//! so that nothing is counted twice under recursion. Inner activations of a recursive F therefore
//! appear below their caller with exclusive cost and edges, and with no inclusive cost of their
//! own. Where a path has no further caller, an opened row says so by a row of the root; with it,
//! the children of every row sum to the row.

use super::Row;
use super::flat::by_function;
use super::tree::{Direction, Opened, RowTree};
use crate::profile::FrameRef;
use crate::refine::{Cancelled, Refined, Watch};

/// Rows lead to callers.
#[derive(Clone, Debug)]
pub struct Upward;

/// One node of the function at the first level, and how far outward the row has come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The node whose cost this is.
    node: u32,
    /// The node above it that the row stands for; `node` itself at the first level.
    caller: u32,
    /// Whether no node above `node` is of the same function.
    is_outermost: bool,
}

/// The callers tree of rows.
pub type Callers = RowTree<Upward>;

impl Callers {
    /// The view of a refined profile. O(nodes), for the flat sums.
    #[must_use]
    pub fn new(refined: &Refined<'_>) -> Self {
        Self::watched(refined, &Watch::none()).unwrap_or_else(|Cancelled| {
            // Nobody ends it.
            let everything = Row::of_everything(refined);
            Self::with_root(Upward, refined, everything, Vec::new())
        })
    }

    /// The same, which can be ended on its way.
    ///
    /// # Errors
    /// The watch asked for it.
    pub fn watched(refined: &Refined<'_>, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let rows = by_function(refined, watch)?;
        let mut root = Row::of_everything(refined);
        root.has_children = !rows.is_empty();
        let mut tree = Self::with_root(Upward, refined, root, Vec::new());
        tree.set_root_children(refined, rows);
        Ok(tree)
    }
}

impl Direction for Upward {
    type Member = Activation;

    fn step(
        &self,
        refined: &Refined<'_>,
        opened: Opened<'_, Activation>,
        out: &mut Vec<Activation>,
    ) {
        if opened.depth == 1 {
            // Members of the first level are not stored: together they would be all nodes.
            let function = opened.row.function;
            let ours: Vec<bool> = refined.frames.iter().map(|f| f.function == function).collect();
            // At or below one of its nodes.
            let mut inside = vec![false; refined.node_count()];
            for node in 1..refined.node_count() {
                let caller = refined.parent[node];
                let is_below = inside[caller as usize];
                let is_ours = ours[refined.frame[node].index()] && refined.is_shown(node);
                inside[node] = is_below || is_ours;
                if is_ours {
                    // Node numbers fit: `parent` holds them in the same type.
                    let node = node as u32;
                    out.push(Activation { node, caller, is_outermost: !is_below });
                }
            }
            return;
        }
        out.extend(
            opened
                .members
                .iter()
                .filter(|m| m.caller != 0)
                .map(|m| Activation { caller: refined.parent[m.caller as usize], ..*m }),
        );
    }

    fn frame(&self, refined: &Refined<'_>, member: Activation) -> FrameRef {
        refined.frame[member.caller as usize]
    }

    fn cost_of(&self, member: Activation) -> (u32, bool) {
        (member.node, member.is_outermost)
    }

    fn leads_on(&self, refined: &Refined<'_>, member: Activation) -> bool {
        member.caller != 0 && refined.parent[member.caller as usize] != 0
    }
}
