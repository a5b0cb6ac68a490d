//! Sums for every function, made in one pass over the nodes, depth first.
//!
//! Recursion is told by samples alone: with S samples on the nodes before, the nodes below a node
//! are those that find at least S and less than S + its inclusive samples before them. So a sum
//! that remembers until where its last outermost node reaches counts no sample twice, and needs
//! neither a stack nor a set of nodes.
//!
//! The pass goes from one function to another, and memory is what it waits for: so sums are small
//! and close together, and those of some nodes are asked for before the first of them is needed.
//!
//! Where there are several metrics, each further one has a pass of its own, so that those of one
//! metric pay nothing for it. What lies below what is told by all samples together in all of them.

use std::hint::black_box;

use super::row::{Counts, Edges, Row, Share, Shares};
use crate::profile::{Count, Frame, FrameKind, FrameRef, FunctionRef};
use crate::refine::{
    Cancelled, Chain, CostsOf, EdgeCounts, Refined, Watch, depth_first, first_of_other,
};

/// The samples that a tally adds up: all, or those of one further metric.
#[derive(Clone, Copy)]
pub(super) struct Weights<'r, C> {
    costs: &'r CostsOf<C>,
    edges: EdgeCounts<'r, C>,
    /// Those of the nodes at which a path ends.
    edges_of_path: EdgeCounts<'r, C>,
    inclusive: &'r [C],
    exclusive: &'r [C],
}

/// How many passes [`rows`] makes.
pub(super) fn passes(refined: &Refined) -> usize {
    1 + refined.profile.info.further.len()
}

/// The rows of the functions with samples, in order of their numbers, and of the path, of what
/// `tally` makes of each metric.
pub(super) fn rows<'r, C: Count>(
    refined: &Refined,
    costs: &'r CostsOf<C>,
    tally: impl Fn(Weights<'r, C>) -> Result<Tally<'r, C>, Cancelled>,
) -> Result<(Vec<Row>, Row), Cancelled> {
    let edges = costs.edges(refined);
    let edges_of_path = edges;
    let of =
        |inclusive, exclusive| tally(Weights { costs, edges, edges_of_path, inclusive, exclusive });
    let all = of(&costs.inclusive, &costs.exclusive)?;
    let further = costs.further.iter().map(|share| of(&share.inclusive, &share.exclusive));
    Ok(all.rows(&further.collect::<Result<Vec<_>, _>>()?))
}

/// The sums while they are made.
pub(super) struct Tally<'r, C> {
    refined: &'r Refined,
    weights: Weights<'r, C>,
    /// Function and kind of each frame, in one number.
    labels: Vec<u32>,
    /// One for each function, and one more for the path that a table belongs to.
    sums: Vec<Sums<C>>,
    /// The sums of BASE, where two profiles are compared: its nodes come first.
    of_base: Option<Vec<Sums<C>>>,
    first_of_other: usize,
}

/// What nodes have for themselves: their exclusive samples and their edges.
#[derive(Clone, Copy, Default)]
pub(super) struct Own<C> {
    exclusive: C,
    /// Least and greatest possible count. In a tree of callers, every node of a path has the edges
    /// of the function it begins with, so that the width of one node is too little for their sum.
    edges_low: u64,
    edges_high: u64,
    /// Inclusive samples of the nodes that have edges; each has some.
    edge_samples: u64,
}

/// What is added up for one function.
#[derive(Clone, Copy, Default)]
struct Sums<C> {
    /// How many samples are on the nodes before when the outermost node has been left.
    until: C,
    inclusive: C,
    exclusive: C,
    /// The kinds of its frames, and [`CALLED`].
    kinds: u8,
    /// As [`Own`] has them.
    edges_low: u64,
    edges_high: u64,
    /// The same of the outermost nodes that have edges, and their inclusive samples.
    outer_low: u64,
    outer_high: u64,
    edge_samples: u64,
    /// How many samples are on the nodes before when the outermost of them has been left.
    until_call: C,
}

/// Nodes whose sums are asked for together: about as many as a processor can wait for at once.
const TOGETHER: usize = 32;

/// A frame's function and kind in one number.
const KIND_BITS: u32 = 3;

/// Kinds of frames, the one by which a function of several kinds is shown first: a function that
/// was both called and inlined is shown as called.
const KINDS: [FrameKind; 6] = [
    FrameKind::Call,
    FrameKind::Unknown,
    FrameKind::Partial,
    FrameKind::Context,
    FrameKind::Root,
    FrameKind::Inline,
];

/// The same, by number.
const KIND_OF: [FrameKind; 6] = [
    FrameKind::Call,
    FrameKind::Inline,
    FrameKind::Unknown,
    FrameKind::Partial,
    FrameKind::Root,
    FrameKind::Context,
];

const _: () = {
    let mut number = 0;
    while number < KIND_OF.len() {
        assert!(KIND_OF[number] as usize == number);
        number += 1;
    }
};

/// Beside the kinds: that one of the nodes has another above it.
const CALLED: u8 = 1 << 7;

impl<'r, C: Count> Tally<'r, C> {
    /// Calls `visit` for every node with samples, depth first, with the samples on the nodes
    /// before it.
    pub(super) fn of(
        refined: &'r Refined,
        weights: Weights<'r, C>,
        watch: &Watch<'_>,
        mut visit: impl FnMut(&mut Self, usize, C),
    ) -> Result<Self, Cancelled> {
        let label = |frame: &Frame| frame.function.0 << KIND_BITS | frame.kind as u32;
        let mut tally = Self {
            refined,
            weights,
            labels: refined.frames.iter().map(label).collect(),
            sums: vec![Sums::default(); refined.functions.len() + 1],
            of_base: None,
            first_of_other: first_of_other(refined) as usize,
        };
        let mut before = C::default();
        depth_first(refined, watch, |node| {
            let at = before;
            before += weights.costs.exclusive[node];
            visit(&mut tally, node, at);
        })?;
        Ok(tally)
    }

    /// Adds each node to what the function of a frame has, its own or another: `frame_of` says
    /// which, if it counts at all.
    pub(super) fn by_frame(
        refined: &'r Refined,
        weights: Weights<'r, C>,
        watch: &Watch<'_>,
        mut frame_of: impl FnMut(&mut Self, usize, C) -> Option<FrameRef>,
    ) -> Result<Self, Cancelled> {
        let mut together = Vec::with_capacity(TOGETHER);
        let add = |tally: &mut Self, together: &mut Vec<(FrameRef, usize, C)>| {
            tally.fetch(together.iter().map(|&(frame, ..)| frame));
            together.drain(..).for_each(|(frame, node, at)| tally.add(frame, node, at));
        };
        let mut tally = Self::of(refined, weights, watch, |tally, node, at| {
            if together.len() == TOGETHER || tally.begins_other(node) {
                add(tally, &mut together);
            }
            together.extend(frame_of(tally, node, at).map(|frame| (frame, node, at)));
        })?;
        add(&mut tally, &mut together);
        Ok(tally)
    }

    /// Reads what the functions of some frames have, each without waiting for the others.
    pub(super) fn fetch(&self, frames: impl Iterator<Item = FrameRef>) {
        let touched = frames.fold(0, |touched, frame| {
            let sums = &self.sums[(self.labels[frame.index()] >> KIND_BITS) as usize];
            // Its first and its last byte may be in two lines of the cache.
            touched | sums.edge_samples | u64::from(sums.kinds)
        });
        black_box(touched);
    }

    /// Adds a node, with `at` samples before it, to what the function of a frame has.
    #[inline]
    fn add(&mut self, frame: FrameRef, node: usize, at: C) {
        let own = self.own(node);
        let called = if self.refined.parent[node] == 0 { 0 } else { CALLED };
        let end = self.weights.end(node, at);
        let inclusive = self.weights.inclusive[node];
        let sums = self.of_function(frame, node);
        sums.kinds |= called;
        sums.enter(at, end, inclusive);
        sums.enter_call(at, end, own);
        sums.add(own);
    }

    /// Adds inclusive samples alone, unless they are there already: `true` if they were not.
    pub(super) fn enter(&mut self, frame: FrameRef, node: usize, at: C) -> bool {
        let (end, inclusive) = (self.weights.end(node, at), self.weights.inclusive[node]);
        self.of_function(frame, node).enter(at, end, inclusive)
    }

    /// Adds what nodes have for themselves, the last of which is `node`, and what those of them have
    /// that are the outermost with edges.
    pub(super) fn add_own(&mut self, frame: FrameRef, node: usize, own: Own<C>, outer: Own<C>) {
        let sums = self.of_function(frame, node);
        sums.add(own);
        sums.add_outer(outer);
    }

    /// Adds a node to what the path has.
    pub(super) fn add_to_path(&mut self, node: usize, at: C) {
        self.begin_other_at(node);
        let own = self.own_of_path(node);
        let (end, inclusive) = (self.weights.end(node, at), self.weights.inclusive[node]);
        let path = self.path();
        path.enter(at, end, inclusive);
        path.enter_call(at, end, own);
        path.add(own);
    }

    /// How many samples are on the nodes before when the last outermost node of the path has been
    /// left: nodes that find less are below it.
    pub(super) fn end_of_path(&mut self) -> C {
        self.path().until
    }

    /// What a node has for itself.
    #[inline]
    fn own(&self, node: usize) -> Own<C> {
        self.own_of(self.weights.edges, node)
    }

    /// What a node has for itself at which the path ends.
    pub(super) fn own_of_path(&self, node: usize) -> Own<C> {
        self.own_of(self.weights.edges_of_path, node)
    }

    #[inline]
    fn own_of(&self, edges: EdgeCounts<'_, C>, node: usize) -> Own<C> {
        let label = self.labels[self.refined.frame[node].index()];
        let kind = KIND_OF[(label & ((1 << KIND_BITS) - 1)) as usize];
        let edges = edges.of(node, kind);
        let (low, high) = edges.unwrap_or_default();
        let samples = if edges.is_some() { self.weights.inclusive[node] } else { C::default() };
        Own {
            exclusive: self.refined.own(
                node,
                self.weights.inclusive[node],
                self.weights.exclusive[node],
            ),
            edges_low: low.into(),
            edges_high: high.into(),
            edge_samples: samples.into(),
        }
    }

    /// The rows of what was found, where these are the tallies of the further metrics.
    /// `has_children` says whether one of the nodes has another above it.
    fn rows(self, further: &[Self]) -> (Vec<Row>, Row) {
        let refined = self.refined;
        let has_edges = refined.profile.info.run.trampoline;
        // In a tree of callers, what is below has no returns that those above have not.
        let is_nested = self.weights.edges.is_of_callers;
        // What OTHER has is the rest; nothing where all is one profile.
        let of_base = self.of_base.as_ref().unwrap_or(&self.sums);
        let row = |(function, (all, base)): (usize, (&Sums<C>, &Sums<C>))| {
            let kind = KINDS.into_iter().find(|kind| all.kinds & 1 << *kind as u32 != 0);
            // Function numbers fit: frames hold them in the same type.
            let row = Row::empty(FunctionRef(function as u32), kind.unwrap_or(FrameKind::Inline));
            let further = further.iter().map(|tally| tally.sums[function].share(has_edges));
            let further = split(all.share(has_edges), further);
            let share = further.get(refined.metric.index());
            let share = share.copied().unwrap_or(all.share(has_edges));
            Row {
                inclusive: share.inclusive,
                exclusive: share.exclusive,
                edges: all.counts(has_edges, is_nested).edges,
                edge_samples: share.edge_samples,
                outer_edges: all.outer_edges(has_edges && refined.knows_outermost()),
                has_children: all.kinds & CALLED != 0,
                other: all.without(base).counts(has_edges, is_nested),
                further,
                ..row
            }
        };
        let mut found = self.sums.iter().zip(of_base).enumerate();
        let root = refined.frames[refined.frame[0].index()];
        let path = found.next_back().map(row);
        let path = path.map_or_else(
            || Row::empty(root.function, root.kind),
            |path| Row { function: root.function, kind: root.kind, ..path },
        );
        (found.filter(|(_, (sums, _))| sums.inclusive > C::default()).map(row).collect(), path)
    }

    #[inline]
    fn of_function(&mut self, frame: FrameRef, node: usize) -> &mut Sums<C> {
        self.begin_other_at(node);
        let label = self.labels[frame.index()];
        let sums = &mut self.sums[(label >> KIND_BITS) as usize];
        sums.kinds |= 1 << (label & ((1 << KIND_BITS) - 1));
        sums
    }

    fn path(&mut self) -> &mut Sums<C> {
        let last = self.sums.len() - 1;
        &mut self.sums[last]
    }

    fn begin_other_at(&mut self, node: usize) {
        if self.begins_other(node) {
            self.of_base = Some(self.sums.clone());
        }
    }

    /// Whether a node is the first one of OTHER.
    fn begins_other(&self, node: usize) -> bool {
        node >= self.first_of_other && self.of_base.is_none()
    }
}

/// What each metric has, if there are further ones; the first one has the rest.
fn split(all: Share, further: impl ExactSizeIterator<Item = Share> + Clone) -> Shares {
    if further.len() == 0 {
        return Shares::default();
    }
    let first = further.clone().fold(all, Share::minus);
    core::iter::once(first).chain(further).collect()
}

impl<C: Count> Weights<'_, C> {
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
        at + self.costs.inclusive[node]
    }
}

impl<C: Count> Own<C> {
    /// Whether one of the nodes has edges, and samples of the metric.
    pub(super) fn has_edges(self) -> bool {
        self.edge_samples > 0
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            exclusive: self.exclusive + other.exclusive,
            edges_low: self.edges_low.saturating_add(other.edges_low),
            edges_high: self.edges_high.saturating_add(other.edges_high),
            edge_samples: self.edge_samples.saturating_add(other.edge_samples),
        }
    }

    /// What is left when a part is taken away.
    pub(super) fn minus(self, part: Self) -> Self {
        Self {
            exclusive: self.exclusive - part.exclusive,
            edges_low: self.edges_low - part.edges_low,
            edges_high: self.edges_high - part.edges_high,
            edge_samples: self.edge_samples - part.edge_samples,
        }
    }
}

impl<C: Count> Sums<C> {
    /// Adds the inclusive samples of a node that begins at `at` and ends at `end`, unless the last
    /// outermost node has them: `true` if it has not.
    fn enter(&mut self, at: C, end: C, inclusive: C) -> bool {
        let is_outermost = at >= self.until;
        self.until = if is_outermost { end } else { self.until };
        self.inclusive += if is_outermost { inclusive } else { C::default() };
        is_outermost
    }

    fn add(&mut self, own: Own<C>) {
        self.exclusive += own.exclusive;
        self.edges_low = self.edges_low.saturating_add(own.edges_low);
        self.edges_high = self.edges_high.saturating_add(own.edges_high);
    }

    /// Adds what a node has of edges for their time, unless another node with edges is above it.
    #[inline]
    fn enter_call(&mut self, at: C, end: C, own: Own<C>) {
        if own.has_edges() && at >= self.until_call {
            self.until_call = end;
            self.add_outer(own);
        }
    }

    fn add_outer(&mut self, own: Own<C>) {
        self.outer_low = self.outer_low.saturating_add(own.edges_low);
        self.outer_high = self.outer_high.saturating_add(own.edges_high);
        self.edge_samples = self.edge_samples.saturating_add(own.edge_samples);
    }

    fn without(&self, other: &Self) -> Self {
        Self {
            inclusive: self.inclusive - other.inclusive,
            exclusive: self.exclusive - other.exclusive,
            edges_low: self.edges_low - other.edges_low,
            edges_high: self.edges_high - other.edges_high,
            outer_low: self.outer_low - other.outer_low,
            outer_high: self.outer_high - other.outer_high,
            edge_samples: self.edge_samples - other.edge_samples,
            ..*self
        }
    }

    fn share(&self, has_edges: bool) -> Share {
        Share {
            inclusive: self.inclusive.into(),
            exclusive: self.exclusive.into(),
            edge_samples: if has_edges { self.edge_samples } else { 0 },
        }
    }

    /// The edges that [`Share::edge_samples`] are of.
    fn outer_edges(&self, has_edges: bool) -> Edges {
        match self.edge_samples {
            1.. if has_edges => Edges::Range { low: self.outer_low, high: self.outer_high },
            _ => Edges::None,
        }
    }

    fn counts(&self, has_edges: bool, is_nested: bool) -> Counts {
        let edges = match self.edge_samples {
            _ if is_nested => self.outer_edges(has_edges),
            1.. if has_edges => Edges::Range { low: self.edges_low, high: self.edges_high },
            _ => Edges::None,
        };
        Counts { inclusive: self.inclusive.into(), exclusive: self.exclusive.into(), edges }
    }
}
