//! Rows as a person sees them, for tests on what they cost.
//!
//! A row is all nodes of one function and kind below one row: call sites, threads and epochs
//! together. Rows are found from the top, those below one row at a time, and only where the answer
//! is not known already: below a row of less than 1 % all rows have less than 1 %.

use super::Refined;
use super::bits::Bits;
use super::metric_test::{MetricTest, Quantity, RowCost, Scale};
use super::syntax::Comparison;
use super::watch::{Cancelled, Watch};
use crate::profile::FrameKind;

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
    let is_inclusive = matches!(test.quantity, Quantity::Inclusive(_));
    // Inclusive cost never grows downward, so one of the two answers holds for all below.
    let holds_below = match test.comparison {
        Comparison::Less | Comparison::AtMost if is_inclusive => Some(true),
        Comparison::Greater | Comparison::AtLeast if is_inclusive => Some(false),
        _ => None,
    };
    let mut passing = Bits::none(refined.node_count());
    let mut closed = Bits::none(refined.node_count());
    visit(refined, watch, |row| {
        let passes = test.holds(&row.cost, &scale);
        let is_decided = holds_below == Some(passes);
        for &node in row.nodes {
            if passes {
                passing.insert(node as usize);
            }
            if passes && is_decided {
                closed.insert(node as usize);
            }
        }
        if is_decided { Below::Closed } else { Below::Open }
    })?;
    if holds_below == Some(true) {
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

/// The rows below one row while they are being made.
struct Siblings {
    found: Vec<u32>,
    /// For each node found, which sibling it belongs to.
    sibling_of: Vec<u32>,
    /// Kind, cost, and where the nodes end.
    rows: Vec<(FrameKind, RowCost, usize)>,
    /// For each frame, the number of its function and kind, and the kind.
    pairs: Vec<(u32, FrameKind)>,
    /// For each of these numbers, one more than its place in `rows`; 0 between two rows.
    place: Vec<u32>,
}

/// Calls `visitor` for every row, a parent before its children.
pub(super) fn visit(
    refined: &Refined<'_>,
    watch: &Watch<'_>,
    mut visitor: impl FnMut(&Row<'_>) -> Below,
) -> Result<(), Cancelled> {
    let index = refined.children();
    let mut siblings = Siblings {
        found: Vec::new(),
        sibling_of: Vec::new(),
        rows: Vec::new(),
        place: Vec::new(),
        pairs: Vec::with_capacity(refined.frames.len()),
    };
    siblings.number_pairs(refined);
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
        siblings.part(refined, &mut nodes);
        let mut begin = start;
        // A row that is not to be opened gives its place among the nodes to the next.
        let mut kept = start;
        for &(kind, cost, end) in &siblings.rows {
            rows += 1;
            let row = Row { kind, cost, nodes: &nodes[begin..end], parent: number };
            if visitor(&row) == Below::Open {
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

/// Kinds of frames.
const KINDS: usize = FrameKind::Context as usize + 1;

impl Siblings {
    /// Numbers the functions and kinds that frames have, so that what is used often is close
    /// together.
    fn number_pairs(&mut self, refined: &Refined<'_>) {
        let mut numbers = vec![u32::MAX; refined.functions.len() * KINDS];
        let mut next = 0;
        for frame in refined.frames.iter() {
            let number = &mut numbers[frame.function.index() * KINDS + frame.kind as usize];
            if *number == u32::MAX {
                *number = next;
                next += 1;
            }
            self.pairs.push((*number, frame.kind));
        }
        self.place = vec![0; next as usize];
    }

    /// Parts the nodes found into rows and appends them to `nodes`, row by row.
    fn part(&mut self, refined: &Refined<'_>, nodes: &mut Vec<u32>) {
        let Self { found, sibling_of, rows, pairs, place } = self;
        rows.clear();
        let cost = |node: u32, kind: FrameKind| RowCost {
            inclusive: refined.inclusive(node as usize),
            exclusive: refined.exclusive(node as usize),
            edges: refined.edges_of(node as usize, kind),
        };
        if let &mut [only] = &mut found[..] {
            let (_, kind) = pairs[refined.frame[only as usize].index()];
            nodes.push(only);
            rows.push((kind, cost(only, kind), nodes.len()));
            return;
        }
        sibling_of.clear();
        for &node in found.iter() {
            let (pair, kind) = pairs[refined.frame[node as usize].index()];
            let place = &mut place[pair as usize];
            if *place == 0 {
                rows.push((kind, RowCost::default(), 0));
                *place = super::children::node_number(rows.len());
            }
            sibling_of.push(*place - 1);
            let (_, sum, count) = &mut rows[*place as usize - 1];
            *count += 1;
            sum.add(&cost(node, kind));
        }
        let mut start = nodes.len();
        for (_, _, end) in rows.iter_mut() {
            let count = *end;
            *end = start;
            start += count;
        }
        nodes.resize(start, 0);
        for (&node, &sibling) in found.iter().zip(&*sibling_of) {
            let end = &mut rows[sibling as usize].2;
            nodes[*end] = node;
            *end += 1;
            let (pair, _) = pairs[refined.frame[node as usize].index()];
            place[pair as usize] = 0;
        }
    }
}
