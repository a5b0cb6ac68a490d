//! Hall's tables: what the current path costs when it is made longer by one function.
//!
//! A path is a list of frames, each called by the one before it, directly or at any depth; it may
//! begin anywhere on the stack. Its table has a row for each function g: *downward*, the path with
//! g below its end; *upward*, with g above its beginning; *immediate*, where g is called (or calls)
//! directly, or *extended*, where any number of calls may lie between. The user begins with the
//! empty path, reads the table, chooses a row, and so refines path and table step by step
//! (R. J. Hall, "Call path refinement profiles", IEEE TSE 21(6), 1995). For the empty path all four
//! tables are the flat view.
//!
//! A row counts every sample once: only that of nodes at which no match of the same row is further
//! out. The lock is on the label, so recursion adds nothing, whatever else lies between. Exclusive
//! cost and edge counts are those of all nodes at which the longer path ends, as in the flat view.
//! Hence the law that tests hold against brute force: the inclusive cost of row g is what
//! `through path > g` shows (`>>`, `g > path`, `g >> path`).
//!
//! One walk over the tree. Upward, the callers to be counted at a match are those above its latest
//! possible beginning, and further in there can only be more of them, so each is looked at once on
//! every way inward: deep recursion costs no more than anything else.

use super::child_index::ChildIndex;
use super::tree::{Direction, Opened, RowTree};
use super::{Edges, Row, Sort, first_of_other};
use crate::profile::{FrameKind, FrameRef, FunctionRef};
use crate::refine::{Cancelled, Chain, FrameSet, Link, RefineError, Refined, Stopped, Watch};

/// Which way a path is made longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// By what its last function calls.
    #[default]
    Down,
    /// By what calls its first function.
    Up,
}

/// How near the new function must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// A direct call.
    #[default]
    Immediate,
    /// Any number of calls.
    Extended,
}

impl Reach {
    /// The link that the new function has to the path.
    #[must_use]
    pub const fn link(self) -> Link {
        match self {
            Self::Immediate => Link::Direct,
            Self::Extended => Link::Below,
        }
    }
}

/// The table of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HallTable {
    /// What the path itself costs: all that is shown, for the empty path.
    pub path: Row,
    /// A row for each function by which the path can be made longer, in no order. Where a path
    /// begins at the outermost frame, the immediate upward table has a row of the root.
    pub rows: Vec<Row>,
}

impl HallTable {
    /// The table of a path; `None` is the empty path. O(nodes).
    ///
    /// # Errors
    /// A frame of the path matches nothing that is shown.
    pub fn new(
        refined: &Refined<'_>,
        index: &ChildIndex,
        path: Option<&Chain>,
        way: Way,
        reach: Reach,
    ) -> Result<Self, RefineError> {
        let mut walk = Tabulation::new(refined, path, way, reach)?;
        // Nobody ends it.
        let _ = walk.run(index, &Watch::none());
        Ok(walk.finish())
    }

    /// The same, which can be ended on its way.
    ///
    /// # Errors
    /// As for [`HallTable::new`], or because the watch asked for it.
    pub fn watched(
        refined: &Refined<'_>,
        path: Option<&Chain>,
        way: Way,
        reach: Reach,
        watch: &Watch<'_>,
    ) -> Result<Self, Stopped> {
        let mut walk = Tabulation::new(refined, path, way, reach).map_err(Stopped::Refused)?;
        walk.run(refined.children(), watch).map_err(|Cancelled| Stopped::Cancelled)?;
        Ok(walk.finish())
    }
}

/// Nodes between two looks at the watch: well below a millisecond.
const STRETCH: usize = 1 << 14;

/// What the rows of a table are, in words: `called directly by: main > solve`.
#[must_use]
pub fn title(path: Option<&Chain>, way: Way, reach: Reach) -> String {
    let relation = relation(path.is_some(), way, reach);
    path.map_or_else(|| relation.to_owned(), |path| format!("{relation}: {path}"))
}

/// The same without the path.
#[must_use]
pub const fn relation(has_path: bool, way: Way, reach: Reach) -> &'static str {
    match (way, reach) {
        _ if !has_path => "Function",
        (Way::Down, Reach::Immediate) => "Called directly",
        (Way::Down, Reach::Extended) => "Called at any depth",
        (Way::Up, Reach::Immediate) => "Direct callers",
        (Way::Up, Reach::Extended) => "Callers at any distance",
    }
}

/// A list of rows without anything below them, as a tree of one level.
#[derive(Clone, Debug)]
pub struct Listed;

/// The rows of a table in order.
pub type ListedRows = RowTree<Listed>;

impl ListedRows {
    /// The rows of a table.
    #[must_use]
    pub fn of(refined: &Refined<'_>, table: &HallTable, sort: Sort) -> Self {
        let root = Row { has_children: !table.rows.is_empty(), ..table.path.clone() };
        let mut tree = Self::with_root(Listed, refined, root, Vec::new());
        tree.set_sort(sort);
        tree.set_root_children(refined, table.rows.clone());
        tree
    }
}

impl Direction for Listed {
    type Member = u32;

    fn step(&self, _: &Refined<'_>, _: Opened<'_, u32>, _: &mut Vec<u32>) {}

    fn frame(&self, refined: &Refined<'_>, node: u32) -> FrameRef {
        refined.frame[node as usize]
    }

    fn cost_of(&self, node: u32) -> (u32, bool) {
        (node, true)
    }

    fn leads_on(&self, _: &Refined<'_>, _: u32) -> bool {
        false
    }
}

/// Sums over nodes at which the path ends, in the order of the walk.
#[derive(Clone, Copy, Default)]
struct Sums {
    exclusive: u64,
    edges_low: u64,
    edges_high: u64,
    edge_samples: u64,
    /// Nodes that have an edge count.
    counted: u64,
}

/// A function's row, and how often it is locked on the way to the present node.
struct Entry {
    row: Row,
    locks: u32,
}

/// Upward: a row that was entered at a node, with the sums before that node.
struct Lock {
    depth: usize,
    function: FunctionRef,
    before: Sums,
    /// Whether the node, and so all below it, is OTHER's.
    is_other: bool,
}

struct Tabulation<'r, 'p> {
    refined: &'r Refined<'p>,
    way: Way,
    reach: Reach,
    /// For each frame, the positions of the path that it fits.
    fits: Vec<u32>,
    /// How each position is reached from the one before it.
    links: Vec<Link>,
    /// The position from which the latest beginning is counted: 0, or the one behind the first gap
    /// where callers of what is before the gap are asked for.
    split: usize,
    /// For each level of the present way inward and each position, twice: for matches up to that
    /// position that end at this very node, and at it or above, 1 + the level of the latest
    /// beginning (of the part from `split` on; 1 before it); 0 if there is none.
    states: Vec<u32>,
    /// Function and kind of each level of the present way inward; level 0 is the root.
    labels: Vec<(FunctionRef, FrameKind)>,
    entries: Vec<Entry>,
    path: Entry,
    sums: Sums,
    locks: Vec<Lock>,
    /// Upward: beginnings below this level were looked at, for each match on the way inward.
    done: Vec<(usize, u32)>,
    /// Where the nodes of OTHER begin, where two profiles are compared.
    first_of_other: u32,
}

impl<'r, 'p> Tabulation<'r, 'p> {
    fn new(
        refined: &'r Refined<'p>,
        path: Option<&Chain>,
        way: Way,
        reach: Reach,
    ) -> Result<Self, RefineError> {
        let mut sets: Vec<FrameSet> = Vec::new();
        let mut links = Vec::new();
        if let Some(chain) = path {
            sets.push(refined.frames_of(&chain.first)?);
            links.push(Link::Below);
            for (link, pattern) in &chain.rest {
                sets.push(refined.frames_of(pattern)?);
                links.push(*link);
            }
        }
        let fits = (0..refined.frames.len()).map(|frame| {
            // Frame numbers fit: nodes hold them in the same type.
            let frame = FrameRef(frame as u32);
            sets.iter()
                .enumerate()
                .fold(0, |fits, (position, set)| fits | u32::from(set.contains(frame)) << position)
        });
        let gap = links.iter().skip(1).position(|link| *link == Link::Below);
        let split = match (way, reach, gap) {
            (Way::Up, Reach::Immediate, Some(gap)) => gap + 1,
            _ => 0,
        };
        let function = |function| {
            let row = Row::empty(FunctionRef(function as u32), FrameKind::Inline);
            Entry { row, locks: 0 }
        };
        let root = refined.frames[refined.frame[0].index()];
        Ok(Self {
            refined,
            way,
            reach,
            fits: fits.collect(),
            split,
            states: vec![0; 2 * links.len()],
            links,
            labels: vec![(root.function, root.kind)],
            entries: (0..refined.functions.len()).map(function).collect(),
            path: Entry { row: Row::empty(root.function, root.kind), locks: 0 },
            sums: Sums::default(),
            locks: Vec::new(),
            done: Vec::new(),
            first_of_other: first_of_other(refined),
        })
    }

    /// One walk over the tree, without recursion, so that depth is bounded by memory alone.
    fn run(&mut self, index: &ChildIndex, watch: &Watch<'_>) -> Result<(), Cancelled> {
        watch.begin(0, 1, 1, self.refined.node_count());
        let mut seen = 0_usize;
        let mut levels = vec![(index.of(0).iter(), 0_u32)];
        while let Some((siblings, above)) = levels.last_mut() {
            let Some(&node) = siblings.next() else {
                let node = *above;
                levels.pop();
                if node != 0 {
                    self.leave(node);
                }
                continue;
            };
            if seen.is_multiple_of(STRETCH) {
                watch.step(STRETCH)?;
            }
            seen += 1;
            self.enter(node);
            levels.push((index.of(node).iter(), node));
        }
        watch.end();
        Ok(())
    }

    fn enter(&mut self, node: u32) {
        let frame = self.refined.frames[self.refined.frame[node as usize].index()];
        let depth = self.labels.len();
        self.labels.push((frame.function, frame.kind));
        self.advance(node, depth);
        let end = self.links.len();
        if end == 0 {
            self.count(node, frame.function, frame.kind);
            return;
        }
        if self.ends_at(depth) {
            let outermost = self.path.locks == 0;
            self.path.row.add(self.refined, node, outermost, self.first_of_other);
            self.path.locks += 1;
        }
        match self.way {
            Way::Down if self.extends(depth) => self.count(node, frame.function, frame.kind),
            Way::Down => {}
            Way::Up if self.ends_at(depth) => self.callers(node, depth),
            Way::Up => {}
        }
    }

    fn leave(&mut self, node: u32) {
        let depth = self.labels.len() - 1;
        let (function, _) = self.labels[depth];
        let end = self.links.len();
        match self.way {
            _ if end == 0 => self.entries[function.index()].locks -= 1,
            Way::Down => {
                if self.extends(depth) {
                    self.entries[function.index()].locks -= 1;
                }
            }
            Way::Up => {
                while let Some(lock) = self.locks.pop_if(|lock| lock.depth == depth) {
                    self.unlock(lock);
                }
                self.done.pop_if(|(at, _)| *at == depth);
            }
        }
        if end > 0 && self.ends_at(depth) {
            self.path.locks -= 1;
        }
        self.labels.pop();
        self.states.truncate(2 * end * depth);
        debug_assert!(node != 0, "the root is not entered");
    }

    /// Appends the state of a level.
    fn advance(&mut self, node: u32, depth: usize) {
        let end = self.links.len();
        let above = 2 * end * (depth - 1);
        let fits = self.fits[self.refined.frame[node as usize].index()];
        for position in 0..end {
            let reached = match (position, self.links[position]) {
                (0, _) => 1,
                (_, Link::Direct) => self.states[above + position - 1],
                (_, Link::Below) => self.states[above + end + position - 1],
            };
            let here = match (fits >> position & 1, reached) {
                (0, _) | (_, 0) => 0,
                // Levels fit: there are no more of them than nodes.
                _ if position == self.split => depth as u32 + 1,
                (_, reached) => reached,
            };
            self.states.push(here);
        }
        for position in 0..end {
            let here = self.states[2 * end * depth + position];
            self.states.push(here.max(self.states[above + end + position]));
        }
    }

    /// Whether a match of the whole path ends at a level.
    fn ends_at(&self, depth: usize) -> bool {
        let end = self.links.len();
        self.states[2 * end * depth + end - 1] > 0
    }

    /// Downward: whether the path can be made longer by the node at a level.
    fn extends(&self, depth: usize) -> bool {
        let end = self.links.len();
        let above = 2 * end * (depth - 1);
        let last = match self.reach {
            Reach::Immediate => self.states[above + end - 1],
            Reach::Extended => self.states[above + 2 * end - 1],
        };
        last > 0
    }

    /// Counts a node for a function and locks its row until the node is left.
    fn count(&mut self, node: u32, function: FunctionRef, kind: FrameKind) {
        let Entry { row, locks } = &mut self.entries[function.index()];
        row.add(self.refined, node, *locks == 0, self.first_of_other);
        name(row, kind);
        *locks += 1;
    }

    /// Upward, at a node where the path ends: enters it for every caller that has not yet been
    /// entered on the way inward.
    fn callers(&mut self, node: u32, depth: usize) {
        let end = self.links.len();
        let before = self.sums;
        self.add_to_sums(node);
        if self.reach == Reach::Immediate && self.split == 0 {
            // No gap: there is one beginning, and the caller of the next match may be another one.
            self.enter_for(node, depth, depth - end, before);
            return;
        }
        let latest = self.states[2 * end * depth + end - 1] - 1;
        let seen = self.done.last().map_or(1, |(_, seen)| *seen);
        self.done.push((depth, latest.max(seen)));
        for level in seen as usize..latest as usize {
            match self.reach {
                Reach::Extended if self.labels[level].1 != FrameKind::Root => {
                    self.enter_for(node, depth, level, before);
                }
                // What is before the gap ends at this level.
                Reach::Immediate if self.states[2 * end * level + self.split - 1] > 0 => {
                    self.enter_for(node, depth, level - self.split, before);
                }
                _ => {}
            }
        }
    }

    /// Enters a node where the path ends for the function at a level above it.
    fn enter_for(&mut self, node: u32, depth: usize, level: usize, before: Sums) {
        let (function, kind) = self.labels[level];
        let Entry { row, locks } = &mut self.entries[function.index()];
        name(row, kind);
        let single = self.reach == Reach::Immediate && self.split == 0;
        let is_other = node >= self.first_of_other;
        if *locks == 0 {
            let inclusive = self.refined.inclusive(node as usize);
            row.inclusive += inclusive;
            row.other.inclusive += if is_other { inclusive } else { 0 };
        } else if !single {
            return;
        }
        *locks += 1;
        // Without a gap each match has its own caller, so the sums are those of this node alone.
        let lock = Lock { depth, function, before, is_other };
        if single {
            self.add(&lock);
        }
        self.locks.push(lock);
    }

    fn unlock(&mut self, lock: Lock) {
        self.entries[lock.function.index()].locks -= 1;
        if !(self.reach == Reach::Immediate && self.split == 0) {
            self.add(&lock);
        }
    }

    fn add_to_sums(&mut self, node: u32) {
        let n = node as usize;
        self.sums.exclusive += self.refined.exclusive(n);
        if let Edges::Range { low, high } = Edges::of_node(self.refined, node) {
            self.sums.edges_low += low;
            self.sums.edges_high += high;
            self.sums.edge_samples += self.refined.inclusive(n);
            self.sums.counted += 1;
        }
    }

    /// Adds the sums since a function's row was locked to it.
    fn add(&mut self, lock: &Lock) {
        let (before, after) = (&lock.before, &self.sums);
        let row = &mut self.entries[lock.function.index()].row;
        let exclusive = after.exclusive - before.exclusive;
        row.exclusive += exclusive;
        row.edge_samples += after.edge_samples - before.edge_samples;
        let edges = match after.counted > before.counted {
            true => Edges::Range {
                low: after.edges_low - before.edges_low,
                high: after.edges_high - before.edges_high,
            },
            false => Edges::None,
        };
        row.edges = row.edges.plus(edges);
        if lock.is_other {
            row.other.exclusive += exclusive;
            row.other.edges = row.other.edges.plus(edges);
        }
    }

    fn finish(self) -> HallTable {
        let mut path = self.path.row;
        if self.links.is_empty() {
            path.inclusive = self.refined.shown;
        }
        let rows = self.entries.into_iter().map(|entry| entry.row).filter(|row| row.inclusive > 0);
        HallTable { path, rows: rows.collect() }
    }
}

/// A function that was both called and inlined is shown as called.
fn name(row: &mut Row, kind: FrameKind) {
    if kind != FrameKind::Inline {
        row.kind = kind;
    }
}

#[cfg(test)]
mod tests;
