//! Rows from the top, those below one row at a time, as long as the answer is not known already.

use super::measure::{Measure, measure};
use crate::profile::{Count, Frame, FrameKind, FrameRef};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::children::node_number;
use crate::refine::forest::costs::{CostsOf, SampleColumns, in_width};
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::metric_test::MetricTest;
use crate::refine::watch::{Cancelled, Watch};

/// What is done about the rows below a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// They are visited.
    Open,
    /// They are not.
    Closed,
}

/// A row that is visited.
pub(crate) struct Row<'v> {
    pub(crate) kind: FrameKind,
    /// Whether it passes the test.
    pub(crate) passes: bool,
    /// The nodes it is made of.
    pub(crate) nodes: &'v [u32],
    /// The number of its parent among all rows visited; rows of one parent come one after another.
    pub(crate) parent: u32,
    /// What the test says of all rows below, if that is known.
    pub(crate) below: Option<bool>,
}

/// The nodes of rows that pass a test.
pub(crate) fn passing<C: Count>(
    refined: &Refined,
    costs: &CostsOf<C>,
    measure: &Measure<'_, C>,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    let mut passing = Bits::none(refined.node_count());
    // Nodes with rows below them that all pass.
    let mut closed = Bits::none(refined.node_count());
    visit_in(refined, costs, measure, watch, |row| {
        if row.passes {
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

/// Calls `visitor` for every row, a parent before its children. Nodes are looked at one by one
/// only where the test asks for edges or one side of a comparison, and samples do not answer it.
pub(crate) fn visit(
    refined: &Refined,
    test: &MetricTest,
    watch: &Watch<'_>,
    visitor: impl FnMut(&Row<'_>) -> Below,
) -> Result<(), Stop> {
    in_width!(&refined.costs, costs => {
        let measure = measure(refined, costs, test)?;
        Ok(visit_in(refined, costs, &measure, watch, visitor)?)
    })
}

fn visit_in<C: Count>(
    refined: &Refined,
    costs: &CostsOf<C>,
    measure: &Measure<'_, C>,
    watch: &Watch<'_>,
    mut visitor: impl FnMut(&Row<'_>) -> Below,
) -> Result<(), Cancelled> {
    let index = refined.children();
    let mut siblings = Siblings::new(refined, measure.samples(), measure.own());
    // Rows to be opened, the next one last, as the nodes they are made of and their number.
    let mut nodes: Vec<u32> = vec![0];
    let mut open: Vec<(usize, u32)> = vec![(0, 0)];
    let mut gathered: Vec<u32> = Vec::new();
    let mut rows = 0;
    let mut seen = 0;
    while let Some((start, number)) = open.pop() {
        let found = if let [node] = nodes[start..] {
            index.of(node)
        } else {
            gathered.clear();
            for &node in &nodes[start..] {
                gathered.extend_from_slice(index.of(node));
            }
            &gathered[..]
        };
        nodes.truncate(start);
        seen += found.len();
        if seen >= 1 << 16 {
            watch.step(seen)?;
            seen = 0;
        }
        siblings.part(found, &mut nodes);
        let mut begin = start;
        // A row that is not to be opened gives its place among the nodes to the next.
        let mut kept = start;
        for &Sibling { kind, inclusive, exclusive, own, end, .. } in &siblings.rows {
            rows += 1;
            let of_row = &nodes[begin..end];
            let passes = measure
                .known(inclusive)
                .unwrap_or_else(|| measure.passes(costs, of_row, kind, [inclusive, own]));
            // All rows below together have what does not end at the row.
            let samples_below = inclusive.saturating_sub(exclusive);
            let below = measure.known(samples_below);
            let row = Row { kind, passes, nodes: of_row, parent: number, below };
            let has_below = samples_below > 0 || !measure.is_of_all();
            if visitor(&row) == Below::Open && has_below {
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

/// The rows below one row while they are being made.
struct Siblings<'r, C> {
    frame: &'r [FrameRef],
    samples: &'r SampleColumns<C>,
    own: &'r [C],
    /// For each node found, which sibling it belongs to.
    sibling_of: Vec<u32>,
    rows: Vec<Sibling>,
    /// For each frame, the number of its function and kind.
    pairs: Vec<u32>,
    /// For each frame, its kind.
    kinds: Vec<FrameKind>,
    /// For each of these numbers, one more than its place in `rows`; 0 between two rows.
    place: Vec<u32>,
}

struct Sibling {
    /// The number of its function and kind.
    pair: u32,
    kind: FrameKind,
    /// Samples of the row and below, and of paths that end at the row.
    inclusive: u64,
    exclusive: u64,
    /// Exclusive samples as views show them.
    own: u64,
    /// Where its nodes end; how many there are, at first.
    end: usize,
}

/// Nodes that are compared with one another sooner than looked up.
const FEW: usize = 8;

impl<'r, C: Count> Siblings<'r, C> {
    /// Numbers the functions and kinds that frames have, so that what is used often is close
    /// together.
    fn new(refined: &'r Refined, samples: &'r SampleColumns<C>, own: &'r [C]) -> Self {
        let mut numbers = vec![u32::MAX; Frame::row_keys(refined.functions.len())];
        let mut next = 0;
        let mut pairs = Vec::with_capacity(refined.frames.len());
        for frame in refined.frames.iter() {
            let number = &mut numbers[frame.row_key() as usize];
            if *number == u32::MAX {
                *number = next;
                next += 1;
            }
            pairs.push(*number);
        }
        Self {
            frame: &refined.frame,
            samples,
            own,
            sibling_of: Vec::new(),
            rows: Vec::new(),
            pairs,
            kinds: refined.frames.iter().map(|frame| frame.kind).collect(),
            place: vec![0; next as usize],
        }
    }

    /// Parts nodes into rows and appends them to `nodes`, row by row.
    fn part(&mut self, found: &[u32], nodes: &mut Vec<u32>) {
        let Self { frame, samples, own, sibling_of, rows, pairs, kinds, place } = self;
        rows.clear();
        sibling_of.clear();
        let are_few = found.len() <= FEW;
        for &node in found {
            let frame = frame[node as usize].index();
            let pair = pairs[frame];
            let known = if are_few {
                rows.iter().position(|row| row.pair == pair)
            } else {
                (place[pair as usize] as usize).checked_sub(1)
            };
            let sibling = known.unwrap_or_else(|| {
                let kind = kinds[frame];
                rows.push(Sibling { pair, kind, inclusive: 0, exclusive: 0, own: 0, end: 0 });
                if !are_few {
                    place[pair as usize] = node_number(rows.len());
                }
                rows.len() - 1
            });
            sibling_of.push(node_number(sibling));
            let row = &mut rows[sibling];
            row.end += 1;
            row.inclusive += samples.inclusive[node as usize].into();
            row.exclusive += samples.exclusive[node as usize].into();
            row.own += own[node as usize].into();
        }
        let mut start = nodes.len();
        if rows.len() == found.len() {
            // Each node is a row of its own.
            for row in rows.iter_mut() {
                start += 1;
                row.end = start;
            }
            nodes.extend_from_slice(found);
        } else {
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
        }
        if !are_few {
            for row in rows.iter() {
                place[row.pair as usize] = 0;
            }
        }
    }
}
