//! Incremental search by name over the whole top-down tree, opened or not.
//!
//! Searching does not filter: it goes to rows, the heaviest first. For each pattern, one pass over
//! functions and one over nodes mark where there is something to find; a second one groups the
//! nodes that lead there as rows are grouped, which counts the rows found, tells what each costs,
//! and adds up what all of them cost: once, for what is below a row found has its cost already.
//! Rows themselves are made only on the way to one that is gone to.

use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BinaryHeap;

use regex::{Regex, RegexBuilder};

use super::row::{Row, Weight};
use super::top_down::TopDown;
use super::tree::{RowId, pair, pairs};
use crate::profile::{FrameKind, FunctionRef};
use crate::refine::{Cancelled, Refined, Watch, WeightColumn};

/// Text to look for in function names. Upper and lower case differ only if the text has upper
/// case in it.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    regex: Regex,
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NamePattern {}

impl NamePattern {
    /// A pattern that finds `text` anywhere in a name; `None` if `text` is empty or longer than
    /// any name (the compiled pattern would exceed `regex`'s size limit of 10 MB).
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let ignore_case = !text.chars().any(char::is_uppercase);
        let regex =
            RegexBuilder::new(&regex::escape(text)).case_insensitive(ignore_case).build().ok()?;
        Some(Self { text: text.to_owned(), regex })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a name has the text in it.
    #[must_use]
    pub fn is_in(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }

    /// Where in a name the text is first found, in bytes: what to highlight.
    #[must_use]
    pub fn place_in(&self, name: &str) -> Option<core::ops::Range<usize>> {
        self.regex.find(name).map(|found| found.range())
    }
}

/// Rows found that can be gone to: the heaviest.
pub const MOST_HITS: usize = 10_000;

/// One pattern on one refined profile, for the metric that is looked at.
#[derive(Clone, Debug)]
pub struct Search {
    /// For each function, whether its name matches.
    functions: Vec<bool>,
    /// A node of each row found, the heaviest first; among equals, the nearest to the root.
    hits: Vec<u32>,
    /// How many rows are found, these among them.
    rows: u64,
    /// What all rows found cost together, each sample once.
    cost: Option<Row>,
}

impl Search {
    /// Marks what there is to find. O(functions + nodes).
    ///
    /// # Errors
    /// The watch ended it.
    pub fn new(
        refined: &Refined,
        pattern: &NamePattern,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        refined.index_children(watch)?;
        let count = refined.node_count();
        watch.begin(0, 1, 2, count);
        let functions: Vec<bool> =
            refined.functions.iter().map(|function| pattern.is_in(&function.name)).collect();
        let frames: Vec<bool> =
            refined.frames.iter().map(|frame| functions[frame.function.index()]).collect();
        let mut leads = vec![false; count];
        watch.backward(1..count, |nodes| {
            for n in nodes.rev() {
                leads[n] |= frames[refined.frame[n].index()] && refined.is_shown(n);
                leads[refined.parent[n] as usize] |= leads[n];
            }
        })?;
        let mut rows = Rows::new(refined, &functions, &leads);
        rows.find(watch)?;
        watch.end();
        let Rows { hits, found, outermost, weights, .. } = rows;
        let mut hits = hits.into_vec();
        hits.sort_unstable();
        let hits = hits.into_iter().map(|Reverse(hit)| hit.node).collect();
        // Where nodes do not add up, samples may be of several rows.
        let is_known = refined.shown_by_column.is_none() || outermost <= 1;
        let cost = is_known.then(|| {
            let weight = |inclusive| Weight { inclusive, ..Weight::NONE };
            let weights = weights.into_iter().map(weight).collect();
            Row { weights, ..Row::empty(FunctionRef::ROOT, FrameKind::Root) }
        });
        Ok(Self { functions, hits, rows: found, cost })
    }

    /// How many rows of the tree match.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What all paths with a match on them cost, each sample once. `None` where the rows of the
    /// tree have samples in common, so that this is not known.
    #[must_use]
    pub fn cost(&self) -> Option<&Row> {
        self.cost.as_ref()
    }

    /// How many rows can be gone to: all, or the [`MOST_HITS`] heaviest.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.hits.len()
    }

    /// Whether the name of each function matches.
    #[must_use]
    pub fn functions(&self) -> &[bool] {
        &self.functions
    }

    /// The row found that is heavier than all but so many, made now if it was not yet.
    pub fn row(&self, tree: &mut TopDown, refined: &Refined, hit: usize) -> Option<RowId> {
        let mut path = vec![*self.hits.get(hit)?];
        while let Some(&node) = path.last().filter(|node| refined.parent[**node as usize] != 0) {
            path.push(refined.parent[node as usize]);
        }
        let mut at = RowId::ROOT;
        for node in path.into_iter().rev() {
            let frame = refined.frames[refined.frame[node as usize].index()];
            tree.children(refined, at);
            let children = tree.opened_children(at).iter().copied();
            at = { children }.find(|&child| {
                let row = tree.row(child);
                (row.function, row.kind) == (frame.function, frame.kind)
            })?;
        }
        Some(at)
    }
}

/// A row found. The greatest is gone to first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    cost: u128,
    /// Rows that were met later are smaller.
    met: Reverse<u64>,
    node: u32,
}

/// The rows that lead to matches, level by level, grouped as [`super::tree::RowTree`] groups them.
struct Rows<'s> {
    refined: &'s Refined,
    functions: &'s [bool],
    leads: &'s [bool],
    /// The heaviest so far.
    hits: BinaryHeap<Reverse<Hit>>,
    found: u64,
    /// Rows found that are below no other.
    outermost: usize,
    columns: Vec<WeightColumn>,
    /// What these have in each of the columns.
    weights: Vec<u64>,
    /// Of two profiles that are compared, the nodes of each and what a sample of them weighs.
    sides: Vec<(Range<u32>, u128)>,
}

impl<'s> Rows<'s> {
    fn new(refined: &'s Refined, functions: &'s [bool], leads: &'s [bool]) -> Self {
        let columns = refined.weight_columns();
        let weights = vec![0; columns.len()];
        let sides = refined.profile.comparison.as_ref().map_or_else(Vec::new, |comparison| {
            let nodes = [1, 2].map(|side: usize| columns[side].nodes.clone());
            nodes.into_iter().zip(comparison.weights()).collect()
        });
        let (hits, found, outermost) = (BinaryHeap::new(), 0, 0);
        Self { refined, functions, leads, hits, found, outermost, columns, weights, sides }
    }

    fn find(&mut self, watch: &Watch<'_>) -> Result<(), Cancelled> {
        const STRETCH: usize = 1 << 12;
        let children = self.refined.children();
        // One more than the number of the group of each function and kind; 0 between rows.
        let mut group_of = vec![0u32; pairs(self.refined)];
        // The nodes of the rows of a level, and the rows: their nodes, and whether they match or
        // are below one that does.
        let mut nodes = vec![0u32];
        let mut rows = vec![(0..1, false)];
        let mut done = 0;
        while !rows.is_empty() {
            let (mut next_nodes, mut next_rows) = (Vec::new(), Vec::new());
            for (range, is_inside) in rows {
                done += range.len();
                if done >= STRETCH {
                    watch.step(std::mem::take(&mut done))?;
                }
                let below = nodes[range].iter().flat_map(|&node| children.of(node));
                let mut found: Vec<(u32, u32)> = Vec::new();
                let mut groups = Vec::new();
                for &node in below.filter(|node| self.leads[**node as usize]) {
                    let frame = self.refined.frames[self.refined.frame[node as usize].index()];
                    let pair = pair(frame.function, frame.kind);
                    if group_of[pair] == 0 {
                        groups.push((pair, frame.function));
                        // Fewer than nodes, which are numbered in 32 bits.
                        group_of[pair] = groups.len() as u32;
                    }
                    found.push((group_of[pair], node));
                }
                // Stable: the nodes of a row stay in their order.
                found.sort_by_key(|(group, _)| *group);
                for of_row in found.chunk_by(|one, other| one.0 == other.0) {
                    let (pair, function) = groups[of_row[0].0 as usize - 1];
                    group_of[pair] = 0;
                    let start = next_nodes.len();
                    next_nodes.extend(of_row.iter().map(|(_, node)| *node));
                    let range = start..next_nodes.len();
                    let is_match = self.functions[function.index()];
                    if is_match {
                        self.add(&next_nodes[range.clone()], is_inside);
                    }
                    next_rows.push((range, is_inside || is_match));
                }
            }
            (nodes, rows) = (next_nodes, next_rows);
        }
        Ok(())
    }

    /// A row of these nodes matches; `is_inside`: below another one that does.
    fn add(&mut self, nodes: &[u32], is_inside: bool) {
        let cost = nodes.iter().map(|&node| self.cost(node)).fold(0, u128::saturating_add);
        self.hits.push(Reverse(Hit { cost, met: Reverse(self.found), node: nodes[0] }));
        if self.hits.len() > MOST_HITS {
            self.hits.pop();
        }
        self.found += 1;
        if is_inside {
            return;
        }
        self.outermost += 1;
        for (sum, column) in self.weights.iter_mut().zip(&self.columns) {
            let of_column = nodes.iter().filter(|node| column.nodes.contains(node));
            let costs = of_column.map(|&node| self.refined.of_metric(node as usize, column.metric));
            *sum = costs.fold(*sum, |sum, (inclusive, _)| sum.saturating_add(inclusive));
        }
    }

    /// What a node costs: of two profiles that are compared, in the unit in which they compare.
    fn cost(&self, node: u32) -> u128 {
        let cost = u128::from(self.refined.inclusive(node as usize));
        let side = self.sides.iter().find(|(nodes, _)| nodes.contains(&node));
        cost.saturating_mul(side.map_or(1, |(_, weight)| *weight))
    }
}
