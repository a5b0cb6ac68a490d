//! The callers view: functions by their own cost, and below each its callers, outward.
//!
//! The first level is the flat view. Callers are found when a function is opened, for this
//! function alone; the whole inverted tree is never made (it is what makes other viewers run out
//! of memory).
//!
//! In every row below function F, the numbers are those of F when called along that path:
//! exclusive cost and edge counts of all its nodes, inclusive cost of those that have no other of
//! the row above them, so that nothing is counted twice under recursion. Where a path has no
//! further caller, an opened row says so by a row of the root; with it, exclusive cost and edges
//! of the children of every row sum to the row. So does inclusive cost, unless F is recursive: what
//! an inner activation costs, which F itself called, is part of what the outer one costs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::flat::by_function;
use super::row::Row;
use super::strips::SharedStrips;
use super::tree::{Direction, Opened, RowTree};
use crate::profile::{Count, FrameRef, FunctionRef};
use crate::refine::{
    Cancelled, CostsOf, Refined, Visitor, Watch, depth_first, in_width, unwatched, walk,
};

/// Functions whose activations are looked for one function at a time. Those of all take about as
/// long as those of so many.
const ALONE: u32 = 8;

/// Rows lead to callers. Clones share what is found out.
#[derive(Clone, Debug, Default)]
pub struct Upward(Arc<Sought>);

#[derive(Debug, Default)]
struct Sought {
    /// How often a function was opened.
    opened: AtomicU32,
    /// Made when that was more than [`ALONE`] times.
    activations: OnceLock<Activations>,
}

/// The nodes of each function, depth first: those of function `f` are
/// `nodes[first[f] .. first[f + 1]]`, and those of them at or below `nodes[n]` end before `end[n]`.
#[derive(Clone, Debug, Default)]
struct Activations {
    first: Vec<u32>,
    nodes: Vec<u32>,
    end: Vec<u32>,
}

impl Activations {
    /// O(nodes).
    fn of(refined: &Refined) -> Self {
        let mut first = vec![0u32; refined.functions.len() + 1];
        let function = |node: usize| refined.frames[refined.frame[node].index()].function.index();
        for node in (1..refined.node_count()).filter(|&node| refined.is_shown(node)) {
            first[function(node) + 1] += 1;
        }
        for function in 1..first.len() {
            first[function] += first[function - 1];
        }
        let count = first.last().map_or(0, |&count| count as usize);
        let filling = || Filling {
            refined,
            first: &first,
            next: first.clone(),
            nodes: vec![0; count],
            end: vec![0; count],
        };
        let Filling { nodes, end, .. } = unwatched(|watch| walk(refined, watch, filling));
        Self { nodes, end, first }
    }

    fn of_function(&self, function: usize) -> core::ops::Range<u32> {
        match self.first.get(function..=function + 1) {
            Some(&[first, end]) => first..end,
            _ => 0..0,
        }
    }
}

/// Adds those of one function, depth first. O(nodes).
///
/// What is below one of them is told by samples: with S samples on the nodes before it, the nodes
/// below it are those that find at least S and less than S + its inclusive samples before them.
fn activations_of<C: Count>(
    refined: &Refined,
    costs: &CostsOf<C>,
    function: FunctionRef,
    out: &mut Vec<Activation>,
) {
    let ours: Vec<bool> = refined.frames.iter().map(|frame| frame.function == function).collect();
    let (inclusive, exclusive) = (&costs.all.inclusive[..], &costs.all.exclusive[..]);
    let mut before = C::default();
    // Those that have not been left: where they end, in samples, and their places.
    let mut above: Vec<(C, u32)> = Vec::new();
    let visit = |node: usize| {
        if ours[refined.frame[node].index()] {
            let place = out.len() as u32;
            while let Some((_, left)) = above.pop_if(|(end, _)| *end <= before) {
                out[left as usize].end = place;
            }
            above.push((before + inclusive[node], place));
            let caller = refined.parent[node];
            // Node numbers fit: `parent` holds them in the same type.
            out.push(Activation { node: node as u32, caller, place, end: u32::MAX });
        }
        before += exclusive[node];
    };
    unwatched(|watch| depth_first(refined, watch, visit));
}

struct Filling<'r> {
    refined: &'r Refined,
    first: &'r [u32],
    next: Vec<u32>,
    nodes: Vec<u32>,
    end: Vec<u32>,
}

impl Filling<'_> {
    fn function(&self, node: u32) -> usize {
        self.refined.frames[self.refined.frame[node as usize].index()].function.index()
    }
}

impl Visitor for Filling<'_> {
    fn enter(&mut self, node: u32, _: usize) -> u32 {
        let function = self.function(node);
        let place = self.next[function];
        self.next[function] += 1;
        self.nodes[place as usize] = node;
        // The last nodes are never left: all that comes is below them.
        self.end[place as usize] = self.first[function + 1];
        place
    }

    fn leave(&mut self, place: u32) {
        let function = self.function(self.nodes[place as usize]);
        self.end[place as usize] = self.next[function];
    }
}

/// One node of the function at the first level, and how far outward the row has come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The node whose cost this is.
    node: u32,
    /// The node above it that the row stands for; `node` itself at the first level.
    caller: u32,
    /// Its place among the nodes of the function, depth first, and that of the first one after it
    /// that is not below it.
    place: u32,
    end: u32,
}

/// The callers tree of rows.
pub type Callers = RowTree<Upward>;

impl Callers {
    /// The view of a refined profile. O(nodes), for the flat sums.
    ///
    /// # Errors
    /// The watch ended it.
    pub fn new(refined: &Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        Self::with_strips(refined, None, watch)
    }

    /// The same, and how rows are spread.
    ///
    /// # Errors
    /// The watch ended it.
    pub fn with_strips(
        refined: &Refined,
        strips: Option<SharedStrips>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let mut rows = by_function(refined, watch)?;
        if let Some(strips) = &strips {
            let mut made = strips.of_functions(refined, watch)?;
            rows.iter_mut().for_each(|row| row.strips = made[row.function.index()].take());
        }
        let mut root = Row::of_everything(refined);
        root.has_children = !rows.is_empty();
        let mut tree = Self::with_root(Upward::default(), refined, root, Vec::new());
        tree.set_strips(strips);
        tree.set_root_children(refined, rows);
        Ok(tree)
    }
}

#[cfg(test)]
impl Upward {
    /// Looks for those of all functions, however few are opened.
    pub(super) fn index(&self) {
        self.0.opened.store(ALONE, Ordering::Relaxed);
    }

    /// How many nodes are in the index, if it was made.
    pub(super) fn indexed(&self) -> Option<usize> {
        self.0.activations.get().map(|activations| activations.nodes.len())
    }
}

impl Direction for Upward {
    type Member = Activation;

    /// Of a recursion, each caller's caller has most of its activations, and so on.
    const KEEPS_MEMBERS: bool = false;

    const IS_NESTED: bool = true;

    fn step(&self, refined: &Refined, opened: Opened<'_, Activation>, out: &mut Vec<Activation>) {
        if opened.depth == 1 {
            // Members of the first level are not stored: together they would be all nodes.
            if self.0.opened.fetch_add(1, Ordering::Relaxed) < ALONE {
                let function = opened.row.function;
                in_width!(&refined.costs, costs => activations_of(refined, costs, function, out));
                return;
            }
            let activations = self.0.activations.get_or_init(|| Activations::of(refined));
            let places = activations.of_function(opened.row.function.index());
            out.extend(places.map(|place| {
                let node = activations.nodes[place as usize];
                let end = activations.end[place as usize];
                Activation { node, caller: refined.parent[node as usize], place, end }
            }));
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

    fn frame(&self, refined: &Refined, member: Activation) -> FrameRef {
        refined.frame[member.caller as usize]
    }

    fn node(&self, member: Activation) -> u32 {
        member.node
    }

    fn places(&self, member: Activation) -> core::ops::Range<u32> {
        member.place..member.end
    }

    fn leads_on(&self, refined: &Refined, member: Activation) -> bool {
        member.caller != 0 && refined.parent[member.caller as usize] != 0
    }
}
