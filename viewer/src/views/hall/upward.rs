//! Hall's tables upward: what calls a path.
//!
//! One walk over the tree. The callers to be counted at a match are those above its latest possible
//! beginning, and further in there can only be more of them, so each is looked at once on every way
//! inward: deep recursion costs no more than anything else.

use super::super::{Edges, Row, first_of_other};
use super::{HallTable, Reach};
use crate::profile::{FrameKind, FrameRef, FunctionRef};
use crate::refine::{Cancelled, Chain, Link, RefineError, Refined, Stopped, Watch, depth_first};

/// The table of the functions that call a path.
pub(super) fn table(
    refined: &Refined<'_>,
    path: &Chain,
    reach: Reach,
    watch: &Watch<'_>,
) -> Result<HallTable, Stopped> {
    watch.begin(0, 1, 1, refined.node_count());
    let mut walk = Tabulation::new(refined, path, reach).map_err(Stopped::Refused)?;
    walk.run(watch).map_err(|Cancelled| Stopped::Cancelled)?;
    watch.end();
    Ok(walk.finish())
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

/// A row that was entered at a node, with the sums before that node.
struct Lock {
    depth: usize,
    function: FunctionRef,
    before: Sums,
    /// Whether the node, and so all below it, is OTHER's.
    is_other: bool,
}

/// The table while it is made.
struct Tabulation<'r, 'p> {
    refined: &'r Refined<'p>,
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
    /// Beginnings below this level were looked at, for each match on the way inward.
    done: Vec<(usize, u32)>,
    /// Where the nodes of OTHER begin, where two profiles are compared.
    first_of_other: u32,
}

impl<'r, 'p> Tabulation<'r, 'p> {
    fn new(refined: &'r Refined<'p>, path: &Chain, reach: Reach) -> Result<Self, RefineError> {
        let mut sets = vec![refined.frames_of(&path.first)?];
        let mut links = vec![Link::Below];
        for (link, pattern) in &path.rest {
            sets.push(refined.frames_of(pattern)?);
            links.push(*link);
        }
        let fits = (0..refined.frames.len()).map(|frame| {
            // Frame numbers fit: nodes hold them in the same type.
            let frame = FrameRef(frame as u32);
            sets.iter()
                .enumerate()
                .fold(0, |fits, (position, set)| fits | u32::from(set.contains(frame)) << position)
        });
        let gap = links.iter().skip(1).position(|link| *link == Link::Below);
        let split = match (reach, gap) {
            (Reach::Immediate, Some(gap)) => gap + 1,
            _ => 0,
        };
        let function = |function| {
            let row = Row::empty(FunctionRef(function as u32), FrameKind::Inline);
            Entry { row, locks: 0 }
        };
        let root = refined.frames[refined.frame[0].index()];
        Ok(Self {
            refined,
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

    /// One walk over the tree, with a stack of its own, so that depth is bounded by memory alone.
    fn run(&mut self, watch: &Watch<'_>) -> Result<(), Cancelled> {
        // The nodes of the present way inward, by level.
        let mut way: Vec<u32> = vec![0];
        depth_first(self.refined, watch, |node| {
            while way.last().is_some_and(|&last| last != self.refined.parent[node]) {
                way.pop();
                self.leave();
            }
            // Node numbers fit: `parent` holds them in the same type.
            way.push(node as u32);
            self.enter(node as u32);
        })?;
        for _ in 1..way.len() {
            self.leave();
        }
        Ok(())
    }

    fn enter(&mut self, node: u32) {
        let frame = self.refined.frames[self.refined.frame[node as usize].index()];
        let depth = self.labels.len();
        self.labels.push((frame.function, frame.kind));
        self.advance(node, depth);
        if self.ends_at(depth) {
            let outermost = self.path.locks == 0;
            self.path.row.add(self.refined, node, outermost, self.first_of_other);
            self.path.locks += 1;
            self.callers(node, depth);
        }
    }

    fn leave(&mut self) {
        let depth = self.labels.len() - 1;
        while let Some(lock) = self.locks.pop_if(|lock| lock.depth == depth) {
            self.unlock(lock);
        }
        self.done.pop_if(|(at, _)| *at == depth);
        if self.ends_at(depth) {
            self.path.locks -= 1;
        }
        self.labels.pop();
        self.states.truncate(2 * self.links.len() * depth);
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

    /// At a node where the path ends: enters it for every caller that has not yet been
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
            let sums = &mut self.sums;
            sums.edges_low = sums.edges_low.saturating_add(low);
            sums.edges_high = sums.edges_high.saturating_add(high);
            sums.edge_samples = sums.edge_samples.saturating_add(self.refined.inclusive(n));
            sums.counted += 1;
        }
    }

    /// Adds the sums since a function's row was locked to it.
    fn add(&mut self, lock: &Lock) {
        let (before, after) = (&lock.before, &self.sums);
        let row = &mut self.entries[lock.function.index()].row;
        let exclusive = after.exclusive - before.exclusive;
        row.exclusive += exclusive;
        let edge_samples = after.edge_samples - before.edge_samples;
        row.edge_samples = row.edge_samples.saturating_add(edge_samples);
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
        let rows = self.entries.into_iter().map(|entry| entry.row).filter(|row| row.inclusive > 0);
        HallTable { path: self.path.row, rows: rows.collect() }
    }
}

/// A function that was both called and inlined is shown as called.
fn name(row: &mut Row, kind: FrameKind) {
    if kind != FrameKind::Inline {
        row.kind = kind;
    }
}
