//! All rows at once, in the order of the nodes.
//!
//! A row is known by its first node. Since parents have smaller numbers, one pass finds the row of
//! every node: the row that its parent belongs to keeps a list of the rows below it. Nearly always
//! a node is the first of its row, and 63 bits for each list tell that it need not be looked at.
//! What rows cost is at the first node of each: that node's cost, to which those of the others are
//! added. So what is done for each node needs no row, and goes straight through the columns.

use std::ops::Range;

use super::measure::Measure;
use super::row_test::{Asked, Factor, Ratio, RowCost};
use crate::profile::{Column, Count, Frame, FrameKind, Home};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::children::node_number;
use crate::refine::forest::costs::CostsOf;
use crate::refine::forest::lists::Lists;
use crate::refine::forest::recorded::RowEdges;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::metric_test::Quantity;
use crate::refine::watch::{Cancelled, Watch};

/// The nodes of rows that pass a test.
pub(crate) fn passing<C: Count>(
    refined: &Refined,
    costs: &CostsOf<C>,
    measure: &Measure<'_, C>,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    let rows = ForestRows::new(refined, costs, watch)?;
    let sums = |part: usize| {
        let nodes = measure.parts()[part].clone();
        Sums::new(refined, costs, &rows, measure, nodes, watch)
    };
    // Most tests look at one sum of a row, and are to be told by that alone.
    match (measure.asked(), sums(0)?) {
        (
            Some(Asked::Inclusive(numbers) | Asked::Exclusive(numbers)),
            Sums { samples: Some(samples), .. },
        ) => rows.those(watch, |row| numbers.contain(samples[row].into())),
        (
            Some(Asked::Edges(numbers)),
            Sums { edges: Some(EdgesOfRows { low, high, counted, .. }), .. },
        ) => rows.those(watch, |row| {
            counted.contains(row) & numbers.contain_all(low[row].into(), high[row].into())
        }),
        (Some(Asked::PerEdge(ratio)), Sums { samples: Some(samples), edges: Some(edges) }) => {
            match ratio.narrow(C::MAX.into()) {
                Some(ratio) => rows.of_ratio(&ratio, &samples, &edges, watch),
                None => rows.of_ratio(ratio, &samples, &edges, watch),
            }
        }
        (Some(asked), sums) => rows.those(watch, |row| asked.holds(&sums.of(row))),
        (None, base) => {
            let other = sums(1)?;
            rows.those(watch, |row| measure.holds(&[base.of(row), other.of(row)]))
        }
    }
}

/// The rows of a forest.
struct ForestRows {
    /// For each node the first node of its row; 0 for those that are not shown.
    first: Column<u32>,
    /// The nodes of rows but for the first of each.
    others: Bits,
}

impl ForestRows {
    /// Finds them. O(nodes).
    fn new<C: Count>(
        refined: &Refined,
        costs: &CostsOf<C>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let (parent, inclusive) = (&refined.parent[..], &costs.all.inclusive[..]);
        let mut first = refined.workspace.nodes.empty(parent.len());
        first.push(0);
        let mut others = Bits::none(parent.len());
        let keys = refined.frames.iter().map(Frame::row_key).collect();
        let mut lists = Lists::new(&refined.frame, keys);
        watch.forward(1..parent.len(), |nodes| {
            for node in nodes {
                let is_shown = inclusive[node] > C::default();
                let above = first[parent[node] as usize];
                let row = lists.add(node_number(node), above, is_shown);
                first.push(row);
                if is_shown & (row as usize != node) {
                    others.insert(node);
                }
            }
        })?;
        Ok(Self { first: Column::made(first, &refined.workspace.nodes), others })
    }

    /// The nodes of rows that satisfy `test`, which is called for first nodes, and what it says of
    /// other nodes does not matter. The root of everything is no row.
    fn those(&self, watch: &Watch<'_>, test: impl Fn(usize) -> bool) -> Result<Bits, Cancelled> {
        let first = &self.first[..];
        let is_first = |node: usize| (first[node] as usize == node) & (node > 0);
        let mut those = Bits::of_nodes(first.len(), watch, |node| is_first(node) & test(node))?;
        self.each_other(watch, |row, node| {
            those.insert_if(node, those.contains(row));
        })?;
        Ok(those)
    }

    /// Those of which an edge costs so much.
    fn of_ratio<C: Count, W: Factor>(
        &self,
        ratio: &Ratio<W>,
        samples: &[C],
        EdgesOfRows { low, high, counted, .. }: &EdgesOfRows<C>,
        watch: &Watch<'_>,
    ) -> Result<Bits, Cancelled> {
        let (low, high) = (&low[..], &high[..]);
        self.those(watch, |row| {
            let edges = (low[row].into(), high[row].into());
            counted.contains(row) & ratio.holds(samples[row].into(), edges)
        })
    }

    /// Sums over the nodes of a range, at the first node of each row.
    fn sum<C: Count>(
        &self,
        costs: &CostsOf<C>,
        column: &[C],
        nodes: Range<usize>,
        watch: &Watch<'_>,
    ) -> Result<Column<C>, Cancelled> {
        let mut counts = costs.home.empty(column.len());
        counts.resize(nodes.start, C::default());
        counts.extend_from_slice(&column[nodes]);
        counts.resize(column.len(), C::default());
        self.sum_of(counts, &costs.home, watch)
    }

    /// Sums of counts of the nodes, at the first node of each row.
    fn sum_of<C: Count>(
        &self,
        mut counts: Vec<C>,
        home: &Home<C>,
        watch: &Watch<'_>,
    ) -> Result<Column<C>, Cancelled> {
        self.each_other(watch, |row, node| {
            // Upper bounds of edges may add up to more than there are.
            counts[row] = counts[row].up_to_most(counts[node]);
        })?;
        Ok(Column::made(counts, home))
    }

    /// Calls `visit` for each node that is not the first of its row, and with that one before it.
    fn each_other(
        &self,
        watch: &Watch<'_>,
        mut visit: impl FnMut(usize, usize),
    ) -> Result<(), Cancelled> {
        let first = &self.first[..];
        watch.forward(0..first.len(), |nodes| {
            self.others.visit(nodes, |node| visit(first[node] as usize, node));
        })
    }
}

/// What rows cost, as far as a quantity is made of it: sums over nodes of each, at its first node.
struct Sums<C: 'static> {
    /// Inclusive samples, or exclusive ones if it is these that are asked for.
    samples: Option<Column<C>>,
    edges: Option<EdgesOfRows<C>>,
}

/// Edge counts of rows, least and greatest possible.
struct EdgesOfRows<C: 'static> {
    low: Column<C>,
    high: Column<C>,
    /// Those that have edges.
    counted: Bits,
    /// Those that are not mixed, where some may be.
    unmixed: Option<Bits>,
}

impl<C: Count> Sums<C> {
    /// The sums over a range of nodes.
    fn new(
        refined: &Refined,
        costs: &CostsOf<C>,
        rows: &ForestRows,
        measure: &Measure<'_, C>,
        nodes: Range<u32>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let count = refined.node_count();
        let nodes = count.min(nodes.start as usize)..count.min(nodes.end as usize);
        let samples = match measure.test().quantity {
            Quantity::Exclusive(_) => Some(measure.own()),
            Quantity::Edges => None,
            _ => Some(&measure.samples().inclusive),
        };
        let is_of_edges = measure.test().is_of_edges();
        let edges =
            is_of_edges.then(|| EdgesOfRows::new(refined, costs, rows, nodes.clone(), watch));
        let mut edges = edges.transpose()?;
        let samples = match (samples, &mut edges) {
            (Some(samples), Some(edges)) if refined.procedures.has_handovers => {
                Some(edges.timed(refined, costs, (rows, samples, nodes), watch)?)
            }
            (samples, _) => {
                samples.map(|samples| rows.sum(costs, samples, nodes, watch)).transpose()?
            }
        };
        Ok(Self { samples, edges })
    }

    /// What a row costs.
    fn of(&self, row: usize) -> RowCost {
        let samples = self.samples.as_ref().map_or(0, |sums| sums[row].into());
        let edges = match &self.edges {
            Some(edges) if edges.counted.contains(row) => {
                RowEdges::Range(edges.low[row].into(), edges.high[row].into())
            }
            Some(EdgesOfRows { unmixed: Some(rows), .. }) if !rows.contains(row) => RowEdges::Mixed,
            _ => RowEdges::None,
        };
        RowCost { inclusive: samples, exclusive: samples, edges }
    }
}

impl<C: Count> EdgesOfRows<C> {
    fn new(
        refined: &Refined,
        costs: &CostsOf<C>,
        rows: &ForestRows,
        nodes: Range<usize>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let frame = &refined.frame[..];
        let kinds: Vec<FrameKind> = refined.frames.iter().map(|frame| frame.kind).collect();
        let kind = |node: usize| kinds[frame[node].index()];
        let mut counted;
        let [low, high] = if let Some(exact) = costs.exact_edges(&refined.procedures) {
            counted = Bits::of_nodes(frame.len(), watch, |node| {
                nodes.contains(&node) & kind(node).is_called()
            })?;
            let counts = rows.sum(costs, exact, nodes, watch)?;
            [counts.clone(), counts]
        } else {
            let mut low = costs.home.empty(frame.len());
            let mut high = costs.home.empty(frame.len());
            let counts = costs.edges(refined);
            counted = Bits::of_nodes(frame.len(), watch, |node| {
                let edges = counts.of(node, kind(node));
                let edges = edges.filter(|_| nodes.contains(&node));
                let (least, most) = edges.unwrap_or_default();
                low.push(least);
                high.push(most);
                edges.is_some()
            })?;
            let home = &costs.home;
            [rows.sum_of(low, home, watch)?, rows.sum_of(high, home, watch)?]
        };
        rows.each_other(watch, |row, node| counted.insert_if(row, counted.contains(node)))?;
        Ok(Self { low, high, counted, unmixed: None })
    }

    /// Of some samples those of the nodes that have edges. Rows with a mixed node have no count any
    /// more.
    fn timed(
        &mut self,
        refined: &Refined,
        costs: &CostsOf<C>,
        (rows, samples, nodes): (&ForestRows, &[C], Range<usize>),
        watch: &Watch<'_>,
    ) -> Result<Column<C>, Cancelled> {
        let counts = costs.edges(refined);
        let mut timed = costs.home.empty(samples.len());
        let mut mixed = Bits::of_nodes(samples.len(), watch, |node| {
            let kind = refined.frames[refined.frame[node].index()].kind;
            let is_asked_for = nodes.contains(&node);
            let edges = if is_asked_for { counts.divisor(node, kind) } else { RowEdges::None };
            timed.push(samples[node].only_if(edges != RowEdges::None));
            edges == RowEdges::Mixed
        })?;
        rows.each_other(watch, |row, node| mixed.insert_if(row, mixed.contains(node)))?;
        mixed.complement();
        self.counted.intersect(&mixed);
        self.unmixed = Some(mixed);
        rows.sum_of(timed, &costs.home, watch)
    }
}
