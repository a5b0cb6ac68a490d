//! Sums for every function, made in one pass over the nodes, depth first.
//!
//! Recursion is recognized by samples alone: if the nodes before a node have S exclusive samples,
//! the nodes below it are those with at least S, and less than S + its inclusive samples, before
//! them. A sum therefore remembers where its last outermost node ends, and counts no sample twice
//! without a stack or a set of nodes.
//!
//! The pass visits functions at random, so it is bound by memory latency: sums are small, lie close
//! together, and are fetched for several nodes at once.
//!
//! Each further metric has a pass of its own, so that a profile of one metric pays nothing for it;
//! all passes recognize recursion by the samples of all metrics together. Parts of the forest need
//! no passes: nodes come part by part, so the sums of a part are those at its end minus those at
//! its beginning.

use std::cmp::Reverse;
use std::hint::black_box;
use std::ops::Range;

use super::outermost::{NodeFacts, Outermost};
use super::row::Row;
use super::sums::{Own, PerEdge, Samples, Sums, weights};
use crate::profile::{Count, Frame, FrameKind, FrameRef, FunctionRef};
use crate::refine::{
    Cancelled, Chain, CostsOf, EdgeCounts, Refined, Watch, WeightColumn, depth_first,
};

/// The columns that a tally adds up.
#[derive(Clone, Copy)]
pub(super) struct Added<'r, C> {
    costs: &'r CostsOf<C>,
    edges: EdgeCounts<'r, C>,
    /// Edge counts of the nodes at which a path ends.
    edges_of_path: EdgeCounts<'r, C>,
    samples: Samples<'r, C>,
}

/// How many passes [`rows`] makes.
pub(super) fn passes(refined: &Refined) -> usize {
    refined.accounts.len()
}

/// The rows of the functions with samples, in order of their numbers, and the row of the path.
/// `tally` is called for each metric.
pub(super) fn rows<'r, C: Count>(
    refined: &Refined,
    costs: &'r CostsOf<C>,
    tally: impl Fn(Added<'r, C>) -> Result<Tally<'r, C>, Cancelled>,
) -> Result<(Vec<Row>, Row), Cancelled> {
    let edges = costs.edges(refined);
    let of_metric = |samples| tally(Added { costs, edges, edges_of_path: edges, samples });
    let tallies: Result<Vec<_>, _> = Samples::of_metrics(costs).map(of_metric).collect();
    Ok(rows_of(refined, &tallies?))
}

/// The sums while they are made.
pub(super) struct Tally<'r, C> {
    refined: &'r Refined,
    added: Added<'r, C>,
    /// Function and kind of each frame, in one number.
    keys: Vec<u32>,
    /// One for each function, and one more for the path that a table belongs to.
    entries: Vec<Entry<C>>,
    /// The nodes at which weight columns begin and end, as far as they lie ahead; the next one
    /// last.
    marks: Vec<u32>,
    /// The nodes of `marks` that were passed, with the sums of the nodes before each.
    at_marks: Vec<(u32, Vec<Entry<C>>)>,
}

/// What is found for one function.
#[derive(Clone, Copy, Default)]
struct Entry<C> {
    sums: Sums<C>,
    /// The places of a node are the exclusive samples of the nodes before it and before its end.
    outermost: Outermost<C>,
    /// The kinds of its frames, [`CALLED`] and [`MIXED`].
    kinds: u16,
}

/// Nodes whose sums are fetched together: about as many loads as a processor has in flight.
const TOGETHER: usize = 32;

/// A bit beside those of the kinds: a node of the function has another node above it.
const CALLED: u16 = 1 << 15;

/// Another one: the row is [mixed](super::outermost::is_mixed).
const MIXED: u16 = 1 << 14;

const _: () = assert!(FrameKind::ALL.len() <= 14);

impl<'r, C: Count> Tally<'r, C> {
    /// Calls `visit` for every node with samples, depth first, with the exclusive samples of the
    /// nodes before it.
    pub(super) fn of(
        refined: &'r Refined,
        added: Added<'r, C>,
        watch: &Watch<'_>,
        mut visit: impl FnMut(&mut Self, usize, C),
    ) -> Result<Self, Cancelled> {
        let columns = refined.weight_columns();
        let mut marks: Vec<u32> =
            columns.iter().flat_map(|column| [column.nodes.start, column.nodes.end]).collect();
        marks.sort_unstable_by_key(|&mark| Reverse(mark));
        marks.dedup();
        // Before the first node there is nothing.
        marks.pop();
        let mut tally = Self {
            refined,
            added,
            keys: refined.frames.iter().map(Frame::row_key).collect(),
            entries: vec![Entry::default(); refined.functions.len() + 1],
            marks,
            at_marks: Vec::new(),
        };
        let mut before = C::default();
        depth_first(refined, watch, |node| {
            let at = before;
            before += added.costs.all.exclusive[node];
            visit(&mut tally, node, at);
        })?;
        Ok(tally)
    }

    /// Adds each node to the function of a frame that `frame_of` chooses; `None` leaves it out.
    pub(super) fn by_frame(
        refined: &'r Refined,
        added: Added<'r, C>,
        watch: &Watch<'_>,
        mut frame_of: impl FnMut(&mut Self, usize, C) -> Option<FrameRef>,
    ) -> Result<Self, Cancelled> {
        let mut together = Vec::with_capacity(TOGETHER);
        let add = |tally: &mut Self, together: &mut Vec<(FrameRef, usize, C)>| {
            tally.fetch(together.iter().map(|&(frame, ..)| frame));
            together.drain(..).for_each(|(frame, node, at)| tally.add(frame, node, at));
        };
        let mut tally = Self::of(refined, added, watch, |tally, node, at| {
            if together.len() == TOGETHER || tally.is_at_mark(node) {
                add(tally, &mut together);
            }
            together.extend(frame_of(tally, node, at).map(|frame| (frame, node, at)));
        })?;
        add(&mut tally, &mut together);
        Ok(tally)
    }

    /// Loads the entries of some frames' functions into the cache, all at once.
    pub(super) fn fetch(&self, frames: impl Iterator<Item = FrameRef>) {
        let touched = frames.fold(0, |touched, frame| {
            let entry = &self.entries[Frame::of_row_key(self.keys[frame.index()]).0.index()];
            // Its first and its last byte may be in two lines of the cache.
            touched | entry.sums.edge_samples | u64::from(entry.kinds)
        });
        black_box(touched);
    }

    /// Adds a node, with `at` samples before it, to the function of a frame.
    #[inline]
    fn add(&mut self, frame: FrameRef, node: usize, at: C) {
        let own = self.own_of(self.added.edges, node);
        let called = if self.refined.parent[node] == 0 { 0 } else { CALLED };
        let places = at..self.added.end(node, at);
        let inclusive = self.added.samples.inclusive[node];
        let facts = self.facts(own, node);
        let entry = self.of_function(frame, node);
        entry.kinds |= called;
        entry.add(places, inclusive, own, facts);
    }

    /// Adds inclusive samples alone; returns whether the node is outermost, so that they were
    /// added.
    pub(super) fn enter(&mut self, frame: FrameRef, node: usize, at: C) -> bool {
        let end = self.added.end(node, at);
        let inclusive = self.added.samples.inclusive[node];
        let entry = self.of_function(frame, node);
        let is_outermost = entry.outermost.enter_uncounted(at..end);
        entry.sums.add_inclusive(inclusive, is_outermost);
        is_outermost
    }

    /// Adds the sums of nodes, the last of which is `node`, and some of which may be mixed.
    pub(super) fn add_sums(
        &mut self,
        frame: FrameRef,
        node: usize,
        sums: &Sums<C>,
        are_mixed: bool,
    ) {
        let entry = self.of_function(frame, node);
        entry.sums.add_sums(sums);
        entry.kinds |= if are_mixed { MIXED } else { 0 };
    }

    /// Adds a node to the path.
    pub(super) fn add_to_path(&mut self, node: usize, at: C) {
        self.mark(node);
        let own = self.own_of_path(node);
        let places = at..self.added.end(node, at);
        let inclusive = self.added.samples.inclusive[node];
        let facts = self.facts(own, node);
        self.path().add(places, inclusive, own, facts);
    }

    /// Where the last outermost node of the path ends: nodes with fewer samples before them are
    /// below it.
    pub(super) fn end_of_path(&mut self) -> C {
        self.path().outermost.end()
    }

    /// Exclusive samples and edges of a node at which the path ends.
    pub(super) fn own_of_path(&self, node: usize) -> Own<C> {
        self.own_of(self.added.edges_of_path, node)
    }

    #[inline]
    fn own_of(&self, edges: EdgeCounts<'_, C>, node: usize) -> Own<C> {
        self.added.samples.own(self.refined, node, edges.of(node, self.kind(node)))
    }

    /// The facts of a node that has these edges.
    #[inline]
    pub(super) fn facts(&self, own: Own<C>, node: usize) -> NodeFacts {
        let work_of_others = self.added.edges.has_work_of_others(node);
        NodeFacts { edges: own.has_edges(), work_of_others }
    }

    fn kind(&self, node: usize) -> FrameKind {
        Frame::of_row_key(self.keys[self.refined.frame[node].index()]).1
    }

    #[inline]
    fn of_function(&mut self, frame: FrameRef, node: usize) -> &mut Entry<C> {
        self.mark(node);
        let (function, kind) = Frame::of_row_key(self.keys[frame.index()]);
        let entry = &mut self.entries[function.index()];
        entry.kinds |= 1 << kind as u16;
        entry
    }

    fn path(&mut self) -> &mut Entry<C> {
        let last = self.entries.len() - 1;
        &mut self.entries[last]
    }

    /// Whether a node is the first one from a mark on.
    #[inline]
    fn is_at_mark(&self, node: usize) -> bool {
        self.marks.last().is_some_and(|&mark| node >= mark as usize)
    }

    #[inline]
    fn mark(&mut self, node: usize) {
        while self.is_at_mark(node) {
            let mark = self.marks.pop();
            self.at_marks.extend(mark.map(|mark| (mark, self.entries.clone())));
        }
    }

    /// The sums of some nodes at a place.
    fn of_nodes(&self, nodes: &Range<u32>, place: usize) -> Sums<C> {
        let before = |node| match self.at_marks.binary_search_by_key(&node, |(mark, _)| *mark) {
            Ok(mark) => self.at_marks[mark].1[place].sums,
            Err(_) if node == 0 => Sums::default(),
            Err(_) => self.entries[place].sums,
        };
        before(nodes.end).without(&before(nodes.start))
    }
}

/// Makes the rows of the tallies of all metrics. Their `has_children` says whether a node of the
/// function has another node above it.
fn rows_of<C: Count>(refined: &Refined, tallies: &[Tally<'_, C>]) -> (Vec<Row>, Row) {
    let columns = refined.weight_columns();
    let frames = frames_of_one_address(refined);
    let row = |(place, entry): (usize, &Entry<C>)| {
        // A function that was both called and inlined is shown as called.
        let kinds = FrameKind::ALL.into_iter().filter(|kind| entry.kinds & 1 << *kind as u16 != 0);
        let kind = kinds.min_by_key(|kind| kind.definition().precedence);
        let of =
            |column: &WeightColumn| tallies[column.metric.index()].of_nodes(&column.nodes, place);
        let sums: Vec<_> = columns.iter().map(of).collect();
        let per_edge = PerEdge::of_row(refined.knows_outermost(), entry.kinds & MIXED != 0);
        Row {
            frame: frames.get(place).copied().flatten(),
            // Function numbers fit: frames hold them in the same type.
            function: FunctionRef(place as u32),
            kind: kind.unwrap_or(FrameKind::Inline),
            has_children: entry.kinds & CALLED != 0,
            weights: weights(refined, &sums, per_edge),
            strips: None,
            over_ranks: None,
        }
    };
    let mut found = tallies[0].entries.iter().enumerate();
    let root = refined.frames[refined.frame[0].index()];
    let path = found.next_back().map_or_else(|| Row::empty(root.function, root.kind), row);
    let path = Row { function: root.function, kind: root.kind, ..path };
    let is_met = |(_, entry): &(_, &Entry<C>)| entry.sums.inclusive > C::default();
    (found.filter(is_met).map(row).collect(), path)
}

/// For each function one of its frames that are shown, if all of them have one address.
fn frames_of_one_address(refined: &Refined) -> Vec<Option<FrameRef>> {
    let mut found: Vec<Option<Option<FrameRef>>> = vec![None; refined.functions.len()];
    for number in refined.frames_shown().iter() {
        let frame = &refined.frames[number];
        let own = || frame.site.map(|_| FrameRef(number as u32));
        let first = found[frame.function.index()].get_or_insert_with(own);
        let is_there = |first: &FrameRef| refined.frames[first.index()].site == frame.site;
        *first = first.filter(is_there);
    }
    found.into_iter().map(Option::flatten).collect()
}

impl<C: Count> Added<'_, C> {
    /// The same for rows of a path: it may end at some nodes of a procedure, and not at others, or
    /// begin where a path has an outer part that is not known.
    pub(super) fn of_path(self, refined: &Refined, path: &Chain) -> Self {
        let (mut edges, mut edges_of_path) = (self.edges, self.edges_of_path);
        if refined.meets_partial(path) {
            (edges, edges_of_path) = (edges.with_partial(), edges_of_path.with_partial());
        }
        if refined.parts_procedures(path) {
            edges_of_path = edges_of_path.of_part();
            // In a tree of callers, all nodes of a path count the returns of its first one.
            if edges.is_of_callers {
                edges = edges.of_part();
            }
        }
        Self { edges, edges_of_path, ..self }
    }

    /// The same where all nodes that count are such at which the path ends.
    pub(super) fn along_path(self) -> Self {
        Self { edges: self.edges_of_path, ..self }
    }

    /// How many samples are on the nodes before when a node has been left that finds `at` of them.
    pub(super) fn end(&self, node: usize, at: C) -> C {
        at + self.costs.all.inclusive[node]
    }
}

impl<C: Count> Entry<C> {
    /// Adds a node at these places.
    #[inline]
    fn add(&mut self, places: Range<C>, inclusive: C, own: Own<C>, facts: NodeFacts) {
        let standing = self.outermost.enter(places, facts);
        self.kinds |= if standing.is_mixed { MIXED } else { 0 };
        self.sums.add(inclusive, own, standing);
    }
}
