//! Rows as a person sees them, for tests on what they cost.
//!
//! A row is all nodes of one function and kind below one row: call sites, threads and epochs
//! together. Rows are found from the top, those below one row at a time, and only where the answer
//! is not known already: below a row of less than 1 % all rows have less than 1 %.

use super::Refined;
use super::bits::Bits;
use super::children::node_number;
use super::costs::{CostsOf, in_width};
use super::metric_test::{MetricTest, RowCost, Scale};
use super::watch::{Cancelled, Watch};
use crate::profile::{Count, FrameKind, FrameRef};

/// What is done about the rows below a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// They are visited.
    Open,
    /// They are not.
    Closed,
}

/// A row that is visited.
pub(super) struct Row<'v> {
    pub(super) kind: FrameKind,
    pub(super) cost: RowCost,
    /// The nodes it is made of.
    pub(super) nodes: &'v [u32],
    /// The number of its parent among all rows visited; rows of one parent come one after another.
    pub(super) parent: u32,
    /// What the test says of all rows below, if that is known.
    pub(super) below: Option<bool>,
}

/// The scale of tests that are evaluated on a forest.
pub(super) fn scale(refined: &Refined<'_>) -> Scale {
    let period = refined.profile.info.metric.period.max(1);
    Scale { period, base: refined.base, view: refined.shown }
}

/// The nodes of rows that pass a test.
pub(super) fn of_passing_rows(
    refined: &Refined<'_>,
    test: &MetricTest,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    let scale = scale(refined);
    let mut passing = Bits::none(refined.node_count());
    // Nodes with rows below them that all pass.
    let mut closed = Bits::none(refined.node_count());
    visit(refined, test, watch, |row| {
        if test.holds(&row.cost, &scale) {
            insert(&mut passing, row.nodes);
        }
        match row.below {
            Some(true) => insert(&mut closed, row.nodes),
            Some(false) => {}
            None => return Below::Open,
        }
        Below::Closed
    })?;
    if !closed.is_empty() {
        let parent = &refined.parent[..];
        watch.forward(1..parent.len(), |nodes| {
            for node in nodes {
                if closed.contains(parent[node] as usize) {
                    closed.insert(node);
                    passing.insert(node);
                }
            }
        })?;
    }
    Ok(passing)
}

fn insert(set: &mut Bits, nodes: &[u32]) {
    for &node in nodes {
        set.insert(node as usize);
    }
}

/// Calls `visitor` for every row, a parent before its children. Edges are known only where the test
/// asks for them.
pub(super) fn visit(
    refined: &Refined<'_>,
    test: &MetricTest,
    watch: &Watch<'_>,
    visitor: impl FnMut(&Row<'_>) -> Below,
) -> Result<(), Cancelled> {
    in_width!(&refined.costs, costs => visit_in(refined, costs, test, watch, visitor))
}

fn visit_in<C: Count>(
    refined: &Refined<'_>,
    costs: &CostsOf<'_, C>,
    test: &MetricTest,
    watch: &Watch<'_>,
    mut visitor: impl FnMut(&Row<'_>) -> Below,
) -> Result<(), Cancelled> {
    let scale = scale(refined);
    // What csprof records never has more edges than samples; a made-up file may.
    let bounded = test.is_of_edges() && costs.recorded.is_bounded();
    let index = refined.children();
    let mut siblings =
        Siblings::new(refined, Columns { frame: &refined.frame, costs, edges: test.is_of_edges() });
    // Rows to be opened, the next one last, as the nodes they are made of and their number.
    let mut nodes: Vec<u32> = vec![0];
    let mut open: Vec<(usize, u32)> = vec![(0, 0)];
    let mut rows = 0;
    let mut seen = 0;
    while let Some((start, number)) = open.pop() {
        siblings.found.clear();
        for &node in &nodes[start..] {
            siblings.found.extend_from_slice(index.of(node));
        }
        nodes.truncate(start);
        seen += siblings.found.len();
        if seen >= 1 << 16 {
            watch.step(seen)?;
            seen = 0;
        }
        siblings.part(&mut nodes);
        let mut begin = start;
        // A row that is not to be opened gives its place among the nodes to the next.
        let mut kept = start;
        for &Sibling { kind, cost, end, .. } in &siblings.rows {
            rows += 1;
            let below = test.of_all_below(cost.inclusive, bounded, &scale);
            let row = Row { kind, cost, nodes: &nodes[begin..end], parent: number, below };
            let is_leaf = cost.inclusive == cost.exclusive;
            if visitor(&row) == Below::Open && !is_leaf {
                open.push((kept, rows));
                nodes.copy_within(begin..end, kept);
                kept += end - begin;
            }
            begin = end;
        }
        nodes.truncate(kept);
    }
    Ok(())
}

/// What is known of nodes.
struct Columns<'r, 'p, C> {
    frame: &'r [FrameRef],
    costs: &'r CostsOf<'p, C>,
    /// Whether edges are asked for.
    edges: bool,
}

impl<C: Count> Columns<'_, '_, C> {
    fn cost(&self, node: u32, kind: FrameKind) -> RowCost {
        let node = node as usize;
        RowCost {
            inclusive: self.costs.inclusive[node].into(),
            exclusive: self.costs.exclusive[node].into(),
            edges: if self.edges { self.costs.edges(node, kind) } else { None },
        }
    }
}

/// The rows below one row while they are being made.
struct Siblings<'r, 'p, C> {
    columns: Columns<'r, 'p, C>,
    found: Vec<u32>,
    /// For each node found, which sibling it belongs to.
    sibling_of: Vec<u32>,
    rows: Vec<Sibling>,
    /// For each frame, the number of its function and kind, and the kind.
    pairs: Vec<(u32, FrameKind)>,
    /// For each of these numbers, one more than its place in `rows`; 0 between two rows.
    place: Vec<u32>,
}

struct Sibling {
    /// The number of its function and kind.
    pair: u32,
    kind: FrameKind,
    cost: RowCost,
    /// Where its nodes end; how many there are, at first.
    end: usize,
}

/// Kinds of frames.
const KINDS: usize = FrameKind::Context as usize + 1;

/// Nodes that are compared with one another sooner than looked up.
const FEW: usize = 8;

impl<'r, 'p, C: Count> Siblings<'r, 'p, C> {
    /// Numbers the functions and kinds that frames have, so that what is used often is close
    /// together.
    fn new(refined: &Refined<'_>, columns: Columns<'r, 'p, C>) -> Self {
        let mut numbers = vec![u32::MAX; refined.functions.len() * KINDS];
        let mut next = 0;
        let mut pairs = Vec::with_capacity(refined.frames.len());
        for frame in refined.frames.iter() {
            let number = &mut numbers[frame.function.index() * KINDS + frame.kind as usize];
            if *number == u32::MAX {
                *number = next;
                next += 1;
            }
            pairs.push((*number, frame.kind));
        }
        let place = vec![0; next as usize];
        let (found, sibling_of, rows) = (Vec::new(), Vec::new(), Vec::new());
        Self { columns, found, sibling_of, rows, pairs, place }
    }

    /// Parts the nodes found into rows and appends them to `nodes`, row by row.
    fn part(&mut self, nodes: &mut Vec<u32>) {
        let Self { columns, found, sibling_of, rows, pairs, place } = self;
        rows.clear();
        sibling_of.clear();
        let are_few = found.len() <= FEW;
        for &node in found.iter() {
            let (pair, kind) = pairs[columns.frame[node as usize].index()];
            let known = if are_few {
                rows.iter().position(|row| row.pair == pair)
            } else {
                (place[pair as usize] as usize).checked_sub(1)
            };
            let sibling = known.unwrap_or_else(|| {
                rows.push(Sibling { pair, kind, cost: RowCost::default(), end: 0 });
                if !are_few {
                    place[pair as usize] = node_number(rows.len());
                }
                rows.len() - 1
            });
            sibling_of.push(node_number(sibling));
            rows[sibling].end += 1;
            rows[sibling].cost.add(&columns.cost(node, kind));
        }
        let mut start = nodes.len();
        for row in rows.iter_mut() {
            let count = row.end;
            row.end = start;
            start += count;
        }
        nodes.resize(start, 0);
        for (&node, &sibling) in found.iter().zip(&*sibling_of) {
            let end = &mut rows[sibling as usize].end;
            nodes[*end] = node;
            *end += 1;
        }
        if !are_few {
            for row in rows.iter() {
                place[row.pair as usize] = 0;
            }
        }
    }
}
