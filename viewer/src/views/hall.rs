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
use crate::refine::{Chain, FrameSet, Link, RefineError, Refined};

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
        walk.run(index);
        Ok(walk.finish())
    }
}

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
        let mut tree = Self::with_root(Listed, refined, table.path.clone(), Vec::new());
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
    fn run(&mut self, index: &ChildIndex) {
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
            self.enter(node);
            levels.push((index.of(node).iter(), node));
        }
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
        if *locks == 0 {
            row.inclusive += self.refined.inclusive[node as usize];
        } else if !single {
            return;
        }
        *locks += 1;
        // Without a gap each match has its own caller, so the sums are those of this node alone.
        self.locks.push(Lock { depth, function, before });
        if single {
            let after = self.sums;
            self.add(function, before, after);
        }
    }

    fn unlock(&mut self, lock: Lock) {
        self.entries[lock.function.index()].locks -= 1;
        if !(self.reach == Reach::Immediate && self.split == 0) {
            let after = self.sums;
            self.add(lock.function, lock.before, after);
        }
    }

    fn add_to_sums(&mut self, node: u32) {
        let n = node as usize;
        self.sums.exclusive += self.refined.exclusive[n];
        if let Edges::Range { low, high } = Edges::of_node(self.refined, node) {
            self.sums.edges_low += low;
            self.sums.edges_high += high;
            self.sums.edge_samples += self.refined.inclusive[n];
            self.sums.counted += 1;
        }
    }

    /// Adds the sums between two moments of the walk to a function's row.
    fn add(&mut self, function: FunctionRef, before: Sums, after: Sums) {
        let row = &mut self.entries[function.index()].row;
        row.exclusive += after.exclusive - before.exclusive;
        row.edge_samples += after.edge_samples - before.edge_samples;
        if after.counted > before.counted {
            row.edges = row.edges.plus(Edges::Range {
                low: after.edges_low - before.edges_low,
                high: after.edges_high - before.edges_high,
            });
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
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::profile::{Profile, from_outline};
    use crate::refine::{FramePattern, Predicate, Stage, apply, parse};
    use crate::views::callers::Callers;
    use crate::views::flat::flat;
    use crate::views::tree::RowId;

    fn chain(text: &str) -> Option<Chain> {
        let mut stages = parse(text).unwrap().stages;
        match stages.pop() {
            Some(Stage::Where(Predicate::Through(chain))) => Some(chain),
            _ => None,
        }
    }

    /// Rows by name: inclusive, exclusive, edges.
    fn table(profile: &Profile, path: &str, way: Way, reach: Reach) -> BTreeMap<String, String> {
        let refined = Refined::base(profile);
        let index = ChildIndex::new(&refined);
        let table = HallTable::new(&refined, &index, chain(path).as_ref(), way, reach).unwrap();
        let rows = table.rows.iter().map(|row| {
            let edges = match row.edges {
                Edges::Range { low, .. } => format!(" e={low}"),
                Edges::None => String::new(),
            };
            let name = profile.functions[row.function.index()].name.clone();
            (name, format!("{} {}{edges}", row.inclusive, row.exclusive))
        });
        rows.collect()
    }

    fn said(rows: &BTreeMap<String, String>) -> String {
        rows.iter().map(|(name, row)| format!("{name}: {row}")).collect::<Vec<_>>().join(", ")
    }

    const RECURSIVE: &str = "\
main 1
  visit 2 e=3
    left 4 e=5
      visit 8 e=7
        left 16 e=9
    visit 32 e=11
      print 64 e=13
  print 128 e=15
";

    #[test]
    fn the_example_of_a_recursive_program() {
        use Reach::{Extended, Immediate};
        let profile = from_outline(RECURSIVE).unwrap();
        let rows = |path: &str, way, reach| said(&table(&profile, path, way, reach));
        assert_eq!(
            rows("", Way::Down, Immediate),
            "left: 28 20 e=14, main: 255 1 e=0, print: 192 192 e=28, visit: 126 42 e=21"
        );
        assert_eq!(rows("main", Way::Down, Immediate), "print: 128 128 e=15, visit: 126 2 e=3");
        assert_eq!(rows("main > visit", Way::Down, Immediate), "left: 28 4 e=5, visit: 96 32 e=11");
        assert_eq!(
            rows("main > visit", Way::Down, Extended),
            "left: 28 20 e=14, print: 64 64 e=13, visit: 120 40 e=18"
        );
        // The outer visit calls left, and so does the inner one: the samples count once.
        assert_eq!(
            rows("visit", Way::Down, Immediate),
            "left: 28 20 e=14, print: 64 64 e=13, visit: 96 32 e=11"
        );
        assert_eq!(rows("left", Way::Up, Immediate), "visit: 28 20 e=14");
        assert_eq!(
            rows("visit", Way::Up, Immediate),
            "left: 24 8 e=7, main: 126 2 e=3, visit: 96 32 e=11"
        );
        assert_eq!(
            rows("visit", Way::Up, Extended),
            "left: 24 8 e=7, main: 126 42 e=21, visit: 120 40 e=18"
        );
        assert_eq!(rows("print", Way::Up, Extended), "main: 192 192 e=28, visit: 64 64 e=13");
        assert_eq!(rows("main", Way::Up, Immediate), "<root>: 255 1 e=0");
        assert_eq!(rows("main", Way::Up, Extended), "");
        assert_eq!(
            rows("visit >> print", Way::Up, Immediate),
            "main: 64 64 e=13, visit: 64 64 e=13"
        );
    }

    #[test]
    fn a_path_of_a_hundred_thousand_calls_takes_no_time() {
        let mut outline = String::new();
        let profile = {
            // An outline of that depth would be quadratic in size.
            outline.push_str("f 1\n  g 1\n");
            let mut profile = from_outline(&outline).unwrap();
            for node in 3..100_000_u32 {
                profile.nodes.parent.push(node - 1);
                profile.nodes.frame.push(profile.nodes.frame[1 + node as usize % 2]);
                profile.nodes.samples.push(1);
                profile.nodes.edges.push(1);
            }
            profile.streams[0].nodes.end = 100_000;
            profile
        };
        for way in [Way::Down, Way::Up] {
            for reach in [Reach::Immediate, Reach::Extended] {
                for path in ["f", "f >> g", "f > g >> f > g"] {
                    let rows = table(&profile, path, way, reach);
                    assert!(!rows.is_empty(), "{path} {way:?} {reach:?}");
                }
            }
        }
    }

    #[test]
    fn what_matches_nothing_says_so() {
        let profile = from_outline(RECURSIVE).unwrap();
        let refined = Refined::base(&profile);
        let index = ChildIndex::new(&refined);
        let path = chain("main > vist");
        let error = HallTable::new(&refined, &index, path.as_ref(), Way::Down, Reach::Immediate);
        assert_eq!(error.unwrap_err().to_string(), "no function matches vist; there is visit");
    }

    /// A tree as an outline: each node has a depth of at most one more than the one before.
    fn outlines() -> impl Strategy<Value = String> {
        let node = (0_usize..9, 0_usize..3, 0_u64..4, 0_u64..3, prop::bool::weighted(0.2));
        prop::collection::vec(node, 1..40).prop_map(|nodes| {
            let mut text = String::new();
            let mut depth = 0;
            for (at, (up, name, samples, edges, inline)) in nodes.into_iter().enumerate() {
                depth = if at == 0 { 0 } else { (depth + 1_usize).saturating_sub(up / 2) };
                let kind = if inline { " inline" } else { "" };
                let edges = if inline { 0 } else { edges.min(samples) };
                let name = ["a", "b", "c"][name];
                text.push_str(&format!("{:1$}{name} {samples} e={edges}{kind}\n", "", 2 * depth));
            }
            text
        })
    }

    fn paths() -> impl Strategy<Value = Vec<(Link, &'static str)>> {
        let link = prop_oneof![Just(Link::Direct), Just(Link::Below)];
        let name = prop_oneof![Just("a"), Just("b"), Just("c")];
        prop::collection::vec((link, name), 0..4)
    }

    fn chain_of(path: &[(Link, &str)]) -> Option<Chain> {
        let mut frames =
            path.iter().map(|&(link, name)| (link, FramePattern::Exact(name.to_owned())));
        let (_, first) = frames.next()?;
        Some(Chain { from_root: false, first, rest: frames.collect(), to_leaf: false })
    }

    /// Whether the frames match the path so that it ends with the last of them, tried in every
    /// way: `frames` are those above and at the end, outermost first.
    fn ends_here(frames: &[&str], path: &[(Link, &str)]) -> bool {
        let Some(&(link, last)) = path.last() else { return true };
        let Some((here, above)) = frames.split_last() else { return false };
        if *here != last {
            return false;
        }
        let rest = &path[..path.len() - 1];
        match (rest.is_empty(), link) {
            (true, _) => true,
            (_, Link::Direct) => ends_here(above, rest),
            (_, Link::Below) => (1..=above.len()).any(|end| ends_here(&above[..end], rest)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        /// Every row is what a brute-force matcher finds, and what `through` shows.
        #[test]
        fn tables_are_what_longer_paths_cost(
            outline in outlines(),
            path in paths(),
            up in any::<bool>(),
            extended in any::<bool>(),
        ) {
            let profile = from_outline(&outline).unwrap();
            let refined = Refined::base(&profile);
            let index = ChildIndex::new(&refined);
            let (way, reach) = (
                if up { Way::Up } else { Way::Down },
                if extended { Reach::Extended } else { Reach::Immediate },
            );
            let Ok(table) = HallTable::new(&refined, &index, chain_of(&path).as_ref(), way, reach)
            else { return Ok(()) };

            let name = |node: usize| {
                profile.functions[profile.function_of(node as u32).index()].name.as_str()
            };
            let frames_of = |node: usize| {
                let mut frames = Vec::new();
                let mut at = node;
                while at != 0 {
                    frames.push(name(at));
                    at = profile.nodes.parent[at] as usize;
                }
                frames.reverse();
                frames
            };
            let row_of = |wanted: &str| {
                table.rows.iter().find(|row| {
                    row.kind != FrameKind::Root
                        && refined.functions[row.function.index()].name == wanted
                })
            };
            for g in ["a", "b", "c"] {
                let link = reach.link();
                let longer: Vec<_> = match way {
                    Way::Down => path.iter().copied().chain([(link, g)]).collect(),
                    // The link stands before the frame that it leads to.
                    Way::Up => {
                        let mut longer = vec![(Link::Below, g)];
                        longer.extend(path.iter().copied());
                        if let Some(second) = longer.get_mut(1) {
                            second.0 = link;
                        }
                        longer
                    }
                };
                let ends: Vec<usize> = (1..profile.nodes.len())
                    .filter(|&node| refined.inclusive[node] > 0)
                    .filter(|&node| ends_here(&frames_of(node), &longer))
                    .collect();
                let is_below_another = |node: usize| {
                    let mut at = profile.nodes.parent[node] as usize;
                    while at != 0 && !ends.contains(&at) {
                        at = profile.nodes.parent[at] as usize;
                    }
                    at != 0
                };
                let inclusive: u64 = ends
                    .iter()
                    .filter(|&&node| !is_below_another(node))
                    .map(|&node| refined.inclusive[node])
                    .sum();
                let exclusive: u64 = ends.iter().map(|&node| refined.exclusive[node]).sum();
                let called = |node: &&usize| {
                    refined.frames[refined.frame[**node].index()].kind == FrameKind::Call
                };
                let edges: u64 =
                    ends.iter().filter(called).map(|&node| profile.nodes.edges[node]).sum();
                let edge_samples: u64 =
                    ends.iter().filter(called).map(|&node| refined.inclusive[node]).sum();
                let row = row_of(g);
                let known = row.map_or((0, 0, 0, 0), |row| {
                    let edges = match row.edges {
                        Edges::Range { low, .. } => low,
                        Edges::None => 0,
                    };
                    (row.inclusive, row.exclusive, edges, row.edge_samples)
                });
                prop_assert_eq!(known, (inclusive, exclusive, edges, edge_samples), "{} {:?}", g, longer);

                let stage = Stage::Where(Predicate::Through(chain_of(&longer).unwrap()));
                let through = crate::refine::Refinement { stages: vec![stage] };
                let shown = apply(&profile, &through).map_or(0, |shown| shown.shown);
                prop_assert_eq!(inclusive, shown);
            }
        }

        /// The empty path's tables are the flat view; one function's immediate callers have the
        /// exclusive cost and the edge counts that the callers view gives them.
        #[test]
        fn tables_agree_with_other_views(outline in outlines(), extended in any::<bool>()) {
            let profile = from_outline(&outline).unwrap();
            let refined = Refined::base(&profile);
            let index = ChildIndex::new(&refined);
            let sort = Sort::default();
            let reach = if extended { Reach::Extended } else { Reach::Immediate };
            for way in [Way::Down, Way::Up] {
                let table = HallTable::new(&refined, &index, None, way, reach).unwrap();
                let tree = ListedRows::of(&refined, &table, sort);
                let rows = tree.opened_children(RowId::ROOT).iter().map(|&row| tree.row(row));
                let flat: Vec<_> = flat(&refined, sort);
                let same = rows.zip(&flat).all(|(row, flat)| {
                    Row { has_children: flat.has_children, ..row.clone() } == *flat
                });
                prop_assert!(same);
                prop_assert_eq!(tree.opened_children(RowId::ROOT).len(), flat.len());
            }
            let mut callers = Callers::new(&refined);
            for function in callers.children(&refined, RowId::ROOT).to_vec() {
                let name = refined.functions[callers.row(function).function.index()].name.clone();
                let path = Chain::of(FramePattern::Exact(name));
                let table =
                    HallTable::new(&refined, &index, Some(&path), Way::Up, Reach::Immediate)
                        .unwrap();
                let mut by_function: BTreeMap<FunctionRef, (u64, Edges)> = BTreeMap::new();
                for caller in callers.children(&refined, function).to_vec() {
                    let row = callers.row(caller);
                    let entry = by_function.entry(row.function).or_insert((0, Edges::None));
                    entry.0 += row.exclusive;
                    entry.1 = entry.1.plus(row.edges);
                }
                for row in &table.rows {
                    prop_assert_eq!(by_function.get(&row.function), Some(&(row.exclusive, row.edges)));
                }
            }
        }
    }
}
