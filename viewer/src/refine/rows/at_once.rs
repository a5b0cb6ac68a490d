//! All rows at once, in the order of the nodes.
//!
//! A row is known by its first node. Since parents have smaller numbers, one pass finds the row of
//! every node: the row that its parent belongs to keeps a list of the rows below it. Nearly always a
//! node is the first of its row, and 31 bits for each list tell that it need not be looked at. What
//! rows cost are sums over nodes, at the first node of each row.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::super::Refined;
use super::super::bits::Bits;
use super::super::children::node_number;
use super::super::column::Column;
use super::super::costs::CostsOf;
use super::super::edges::is_called;
use super::super::metric_test::{Asked, Quantity, RowCost};
use super::super::watch::{Cancelled, Watch};
use super::measure::Measure;
use crate::profile::{Count, Frame, FrameKind, FrameRef};

/// The nodes of rows that pass a test.
pub(super) fn passing<C: Count>(
    refined: &Refined<'_>,
    costs: &CostsOf<'_, C>,
    measure: &Measure<'_, '_, C>,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    let rows = Rows::new(refined, costs, watch)?;
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
        (Some(Asked::Edges(numbers)), Sums { edges: Some(Edges { low, high, counted }), .. }) => {
            rows.those(watch, |row| {
                counted.contains(row) & numbers.contain_all(low[row].into(), high[row].into())
            })
        }
        (
            Some(Asked::PerEdge(ratio)),
            Sums { samples: Some(samples), edges: Some(Edges { low, high, counted }) },
        ) => rows.those(watch, |row| {
            let edges = (low[row].into(), high[row].into());
            counted.contains(row) & ratio.holds(samples[row].into(), edges)
        }),
        (Some(asked), sums) => rows.those(watch, |row| asked.holds(&sums.of(row))),
        (None, base) => {
            let other = sums(1)?;
            rows.those(watch, |row| measure.holds(&[base.of(row), other.of(row)]))
        }
    }
}

/// The rows of a forest.
struct Rows {
    /// For each node the first node of its row; 0 for those that are not shown.
    first: Column<'static, u32>,
}

impl Rows {
    /// Finds them. O(nodes).
    fn new<C: Count>(
        refined: &Refined<'_>,
        costs: &CostsOf<'_, C>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let (parent, inclusive) = (&refined.parent[..], &costs.inclusive[..]);
        let mut first = refined.workspace.nodes.empty(parent.len());
        let mut lists = Lists::new(refined);
        watch.forward(0..parent.len(), |nodes| {
            for node in nodes {
                let is_shown = node > 0 && inclusive[node] > C::default();
                let above = first.get(parent[node] as usize).copied().unwrap_or(0);
                first.push(lists.add(node_number(node), is_shown.then_some(above)));
            }
        })?;
        Ok(Self { first: Column::made(first, &refined.workspace.nodes) })
    }

    /// The nodes of rows that satisfy `test`. The root of everything is no row.
    fn those(&self, watch: &Watch<'_>, test: impl Fn(usize) -> bool) -> Result<Bits, Cancelled> {
        let first = &self.first[..];
        Bits::of_nodes(first.len(), watch, |node| (first[node] > 0) & test(first[node] as usize))
    }

    /// Sums over the nodes of a range.
    fn sum<C: Count>(
        &self,
        costs: &CostsOf<'_, C>,
        column: &[C],
        nodes: Range<usize>,
        watch: &Watch<'_>,
    ) -> Result<Column<'static, C>, Cancelled> {
        let mut sums = self.zeros(costs);
        self.each(nodes, watch, |row, node| sums[row] += column[node])?;
        Ok(Column::made(sums, &costs.home))
    }

    /// A count for each row, at its first node.
    fn zeros<C: Count>(&self, costs: &CostsOf<'_, C>) -> Vec<C> {
        let mut zeros = costs.home.empty(self.first.len());
        zeros.resize(self.first.len(), C::default());
        zeros
    }

    /// Calls `add` with the first node of its row for each node of a range; nodes that are not
    /// shown are taken for node 0's.
    fn each(
        &self,
        nodes: Range<usize>,
        watch: &Watch<'_>,
        mut add: impl FnMut(usize, usize),
    ) -> Result<(), Cancelled> {
        let first = &self.first[..];
        watch.forward(nodes, |nodes| {
            for node in nodes {
                add(first[node] as usize, node);
            }
        })
    }
}

/// What rows cost, as far as a quantity is made of it: sums over nodes of each, at its first node.
struct Sums<C: 'static> {
    /// Inclusive samples, or exclusive ones if it is these that are asked for.
    samples: Option<Column<'static, C>>,
    edges: Option<Edges<C>>,
}

/// Edge counts of rows, least and greatest possible.
struct Edges<C: 'static> {
    low: Column<'static, C>,
    high: Column<'static, C>,
    /// Those that have edges.
    counted: Bits,
}

impl<C: Count> Sums<C> {
    /// The sums over a range of nodes.
    fn new(
        refined: &Refined<'_>,
        costs: &CostsOf<'_, C>,
        rows: &Rows,
        measure: &Measure<'_, '_, C>,
        nodes: Range<u32>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let count = refined.node_count();
        let nodes = count.min(nodes.start as usize)..count.min(nodes.end as usize);
        let samples = match measure.test().quantity {
            Quantity::Exclusive(_) => Some(&measure.samples().exclusive),
            Quantity::Edges => None,
            _ => Some(&measure.samples().inclusive),
        };
        let is_of_edges = measure.test().is_of_edges();
        Ok(Self {
            samples: samples
                .map(|samples| rows.sum(costs, samples, nodes.clone(), watch))
                .transpose()?,
            edges: is_of_edges
                .then(|| Edges::new(refined, costs, rows, nodes, watch))
                .transpose()?,
        })
    }

    /// What a row costs.
    fn of(&self, row: usize) -> RowCost {
        let samples = self.samples.as_ref().map_or(0, |sums| sums[row].into());
        let edges = self.edges.as_ref().filter(|edges| edges.counted.contains(row));
        RowCost {
            inclusive: samples,
            exclusive: samples,
            edges: edges.map(|edges| (edges.low[row].into(), edges.high[row].into())),
        }
    }
}

impl<C: Count> Edges<C> {
    fn new(
        refined: &Refined<'_>,
        costs: &CostsOf<'_, C>,
        rows: &Rows,
        nodes: Range<usize>,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let frame = &refined.frame[..];
        if let Some(exact) = costs.recorded.exact(&costs.inclusive) {
            let is_called =
                Bits::from_fn(refined.frames.len(), |frame| is_called(refined.frames[frame].kind));
            let is_called = |node: usize| is_called.contains(frame[node].index());
            // All nodes of a row are of one kind.
            let counted = if nodes.len() == refined.node_count() {
                Bits::of_nodes(nodes.len(), watch, is_called)?
            } else {
                let mut counted = Bits::none(refined.node_count());
                rows.each(nodes.clone(), watch, |row, node| {
                    counted.insert_if(row, is_called(node));
                })?;
                counted
            };
            let counts = rows.sum(costs, exact, nodes, watch)?;
            return Ok(Self { low: counts.clone(), high: counts, counted });
        }
        let kinds: Vec<FrameKind> = refined.frames.iter().map(|frame| frame.kind).collect();
        let (mut low, mut high) = (rows.zeros(costs), rows.zeros(costs));
        let mut counted = Bits::none(refined.node_count());
        rows.each(nodes, watch, |row, node| {
            let kind = kinds[frame[node].index()];
            if let Some((least, most)) = costs.recorded_edges(node, kind) {
                counted.insert(row);
                low[row] += least;
                high[row] += most;
            }
        })?;
        let [low, high] = [low, high].map(|sums| Column::made(sums, &costs.home));
        Ok(Self { low, high, counted })
    }
}

/// The rows below each row, while they are being found.
struct Lists<'r> {
    frame: &'r [FrameRef],
    /// For each frame a number for its function and kind.
    keys: Vec<u32>,
    /// For each node; used are those of the first nodes of rows.
    all: Vec<List>,
    /// Rows below rows that have many, by these and by key.
    of_many: HashMap<(u32, u32), u32, BuildHasherDefault<Mixer>>,
}

#[derive(Clone, Copy, Default)]
struct List {
    /// For the key of each row below one of 31 bits; [`MANY`] if the rows are in `of_many`.
    seen: u32,
    /// The last row in the list; 0 if there is none.
    last: u32,
    /// The row before this one in the list of the row above; 0 if there is none.
    before: u32,
}

/// Rows that a list has at most: more are faster looked up than gone through.
const FEW: usize = 16;

/// The bit of no key: the list is no longer kept.
const MANY: u32 = 1 << 31;

impl<'r> Lists<'r> {
    fn new(refined: &'r Refined<'_>) -> Self {
        Self {
            frame: &refined.frame,
            keys: refined.frames.iter().map(key).collect(),
            all: Vec::with_capacity(refined.node_count()),
            of_many: HashMap::default(),
        }
    }

    fn key(&self, node: u32) -> u32 {
        self.keys[self.frame[node as usize].index()]
    }

    /// Adds the next node, below a row unless it is not shown. Returns the row that it belongs to:
    /// one that is in the list, or a new one, which it begins.
    fn add(&mut self, node: u32, above: Option<u32>) -> u32 {
        let mut list = List::default();
        let row = above.map_or(0, |above| {
            let key = self.key(node);
            let bit = 1 << (key.wrapping_mul(0x9e37_79b9) >> 27).min(30);
            if self.all[above as usize].seen & (bit | MANY) != 0
                && let Some(row) = self.known(above, key, node)
            {
                return row;
            }
            let of_above = &mut self.all[above as usize];
            of_above.seen |= bit;
            list.before = std::mem::replace(&mut of_above.last, node);
            node
        });
        self.all.push(list);
        row
    }

    /// The row of this key below a row, if there is one, or if there are many: then a node that
    /// begins one is noted.
    #[inline(never)]
    fn known(&mut self, above: u32, key: u32, node: u32) -> Option<u32> {
        let List { seen, last, .. } = self.all[above as usize];
        if seen & MANY != 0 {
            return Some(*self.of_many.entry((above, key)).or_insert(node));
        }
        let in_list = std::iter::successors(Some(last), |&row| Some(self.all[row as usize].before));
        let mut count = 0;
        for row in in_list.take_while(|&row| row != 0) {
            if self.key(row) == key {
                return Some(row);
            }
            count += 1;
        }
        if count < FEW {
            return None;
        }
        let mut row = last;
        while row != 0 {
            self.of_many.insert((above, self.key(row)), row);
            row = self.all[row as usize].before;
        }
        self.all[above as usize].seen = MANY;
        self.of_many.insert((above, key), node);
        Some(node)
    }
}

/// A number for the function and the kind of a frame. The names of 2^29 functions would not fit
/// into memory.
fn key(frame: &Frame) -> u32 {
    frame.function.0 << 3 | frame.kind as u32
}

/// A hash for pairs of numbers, by one multiplication each (Steele and Vigna, "Computationally easy,
/// spectrally good multipliers", 2021).
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0xd134_2543_de82_ef95).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
