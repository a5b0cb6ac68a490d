//! Which rows of a view a report has, and what it leaves out.
//!
//! Rows are chosen by cost, greatest first, over the whole tree: a row costs no more than the row
//! above it, so what is chosen is always a tree, and a limit cuts where there is least to see.
//! Of several metrics, that counts of which a row has the greatest share: what waits and computes
//! nothing is there for its waiting.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::{Options, View, several};
use crate::profile::FrameKind;
use crate::refine::{Refined, unwatched};
use crate::views::Cost;
use crate::views::callers::Callers;
use crate::views::flat::flat;
use crate::views::strips::Strips;
use crate::views::top_down::TopDown;
use crate::views::tree::{Direction, RowId, RowTree};
use crate::views::{Row, Sort};

/// The rows of a report, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The rows.
    pub lines: Vec<Line>,
    /// What the rows leave out at the first level.
    pub left_out: LeftOut,
    /// Rows of a comparison that were not looked into, since more would not fit into the memory
    /// that is given to it: what begins at them is not in the report.
    pub not_looked_into: usize,
}

/// One row of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its level, from 0.
    pub depth: u32,
    /// The row.
    pub row: Row,
    /// What the report leaves out directly below it.
    pub left_out: LeftOut,
    /// Number of rows that follow and are below it.
    pub below: usize,
}

/// Rows that are not there, with whatever is below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many cost less than the threshold.
    pub small: usize,
    /// How many had no place within the limit.
    pub beyond: usize,
    /// What both cost, in samples of each column of the forest; empty if there are none.
    pub costs: Vec<u64>,
    /// Whether there are rows below the last level.
    pub deeper: bool,
}

/// Limits on rows, all given.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many levels.
    pub levels: u32,
    /// Most rows.
    pub rows: usize,
    /// Least share of what is shown, in percent.
    pub share: f64,
    /// Whether that share is one that a person gave.
    pub is_share_asked: bool,
}

impl Limits {
    /// The limits for a text: a page or two unless told otherwise.
    #[must_use]
    pub fn for_text(options: &Options) -> Self {
        match options.open {
            // Rows that are asked for one by one are not left out for being small.
            Some(_) => Self::new(options, u32::MAX, usize::MAX, 0.0),
            None => Self::new(options, u32::MAX, USUAL_ROWS, USUAL_SHARE),
        }
    }

    /// The limits for machines: everything unless told otherwise.
    #[must_use]
    pub fn for_machines(options: &Options) -> Self {
        let levels = if options.view == View::Callers { 2 } else { u32::MAX };
        Self::new(options, levels, usize::MAX, 0.0)
    }

    fn new(options: &Options, levels: u32, rows: usize, share: f64) -> Self {
        Self {
            levels: options.depth.unwrap_or(levels),
            rows: options.limit.unwrap_or(rows),
            share: options.threshold.unwrap_or(share).clamp(0.0, 100.0),
            is_share_asked: options.threshold.is_some(),
        }
    }

    /// Least cost of a row, in samples, where so many are shown.
    pub(super) fn cost(&self, shown: u64) -> u64 {
        (self.share / 100.0 * shown as f64).ceil() as u64
    }
}

/// What makes rows comparable, of whatever metric they have most.
pub(super) struct Scale {
    /// What is shown of each metric, if there are several.
    shown: Vec<u64>,
    /// Least weight of a row.
    pub(super) least: u64,
    /// Whether ranks, processes and threads are rows whatever they cost: nobody said what is
    /// small, and of a hundred ranks or more all are.
    keeps_contexts: bool,
}

/// The weight of all that is shown of a metric, where there are several.
const ALL: u64 = 1 << 40;

impl Scale {
    pub(super) fn new(refined: &Refined, limits: Limits) -> Self {
        let shown: Vec<u64> =
            several(refined).iter().map(|&(metric, _)| refined.account_of(metric).1).collect();
        let all = if shown.is_empty() { refined.shown } else { ALL };
        let keeps_contexts = !limits.is_share_asked;
        Self { shown, least: limits.cost(all), keeps_contexts }
    }

    /// How much a row costs, of the metric of which that is most.
    pub(super) fn of(&self, row: &Row, cost: Cost) -> u64 {
        let share = |(samples, &shown): (u64, &u64)| {
            let share = u128::from(samples) * u128::from(ALL) / u128::from(shown.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let samples = row.weights.iter().map(|weight| cost.of(weight));
        // Where there is one metric, the first column is its.
        samples.zip(&self.shown).map(share).max().unwrap_or_else(|| cost.of(&row.weights[0]))
    }

    fn is_small(&self, view: View, row: &Row) -> bool {
        let is_context = view == View::TopDown && row.kind == FrameKind::Context;
        !(is_context && self.keeps_contexts) && self.of(row, view.cost()) < self.least
    }
}

/// Rows of a text report: about a page and a half.
pub const USUAL_ROWS: usize = 60;

/// Least share of rows in a text report, in percent.
pub const USUAL_SHARE: f64 = 1.0;

/// Chooses the rows of a view.
#[must_use]
pub fn list(refined: &Refined, options: &Options, limits: Limits) -> Listing {
    let sort = options.sort(refined);
    match options.view {
        View::TopDown | View::Places => {
            list_tree(refined, &mut top_down(refined, options), sort, options, limits)
        }
        View::Callers => {
            let mut tree = callers(refined, options);
            list_tree(refined, &mut tree, sort, options, limits)
        }
        View::Flat => {
            let rows = functions(refined, sort, options).into_iter().map(|row| (0, row)).collect();
            list_rows(refined, rows, options.view, limits)
        }
        View::Tables => {
            let rows = of_table(refined, options, sort).into_iter().map(|row| (0, row));
            list_rows(refined, rows.collect(), options.view, limits)
        }
        View::Butterfly => {
            list_rows(refined, butterfly(refined, options, sort), options.view, limits)
        }
    }
}

/// The rows of the table, in order.
fn of_table(refined: &Refined, options: &Options, sort: Sort) -> Vec<Row> {
    let mut rows = options.table.as_ref().map_or(Vec::new(), |(table, _)| table.rows.clone());
    rows.sort_unstable_by(|a, b| sort.compare(refined, a, b));
    rows
}

/// The level of the function of a butterfly.
const OF_FUNCTION: u32 = 1;

/// Callers, the function one level below them, and its callees one level below it. What counts most
/// is nearest to the function.
fn butterfly(refined: &Refined, options: &Options, sort: Sort) -> Vec<(u32, Row)> {
    let Some((table, _)) = &options.table else { return Vec::new() };
    let mut callers = options.callers.clone();
    callers.sort_unstable_by(|a, b| sort.compare(refined, b, a));
    let levels = [callers, vec![table.path.clone()], of_table(refined, options, sort)];
    let with_level = |(level, rows): (u32, Vec<Row>)| rows.into_iter().map(move |row| (level, row));
    (0..).zip(levels).flat_map(with_level).collect()
}

/// The call tree, with what is wanted of its rows.
pub(super) fn top_down(refined: &Refined, options: &Options) -> TopDown {
    let mut tree = unwatched(|watch| TopDown::new(refined, watch));
    tree.set_strips(options.spread.then(|| Strips::of(refined)).flatten());
    tree
}

/// The same of functions and their callers.
pub(super) fn callers(refined: &Refined, options: &Options) -> Callers {
    let strips = options.spread.then(|| Strips::of(refined)).flatten();
    unwatched(|watch| Callers::with_strips(refined, strips, watch))
}

/// Functions in order.
fn functions(refined: &Refined, sort: Sort, options: &Options) -> Vec<Row> {
    let mut rows = flat(refined, sort);
    if let Some(strips) = options.spread.then(|| Strips::of(refined)).flatten() {
        let mut made = unwatched(|watch| {
            let refined = refined.without_loops(watch)?;
            strips.of_functions(&refined, watch)
        });
        rows.iter_mut().for_each(|row| row.strips = made[row.function.index()].take());
    }
    rows
}

/// Rows with their levels in order, as far as they are within the limits: of a list the first ones,
/// of a butterfly the function and what costs most.
fn list_rows(refined: &Refined, rows: Vec<(u32, Row)>, view: View, limits: Limits) -> Listing {
    let scale = Scale::new(refined, limits);
    let kept = (view == View::Butterfly && rows.len() > limits.rows).then(|| {
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_by_key(|&place| {
            let (level, row) = &rows[place];
            (*level != OF_FUNCTION, Reverse(scale.of(row, view.cost())))
        });
        places.into_iter().take(limits.rows).collect::<HashSet<_>>()
    });
    let mut listing = Listing::default();
    for (place, (depth, row)) in rows.into_iter().enumerate() {
        let is_small = depth != OF_FUNCTION && scale.is_small(view, &row);
        let is_full = listing.lines.len() >= limits.rows;
        if is_small || !kept.as_ref().map_or(!is_full, |kept| kept.contains(&place)) {
            listing.left_out.add(view, &row, is_small);
        } else {
            let row = Row { has_children: false, ..row };
            listing.lines.push(Line { depth, row, left_out: LeftOut::default(), below: 0 });
        }
    }
    listing
}

/// The rows at these places and all rows above them, the root among them.
pub(super) fn opened<D: Direction>(
    refined: &Refined,
    tree: &mut RowTree<D>,
    places: &[Vec<usize>],
) -> HashSet<RowId> {
    let mut open = HashSet::from([RowId::ROOT]);
    for place in places {
        let mut row = RowId::ROOT;
        for &number in place {
            let Some(&child) = tree.children(refined, row).get(number.wrapping_sub(1)) else {
                break;
            };
            open.insert(child);
            row = child;
        }
    }
    open
}

fn list_tree<D: Direction>(
    refined: &Refined,
    tree: &mut RowTree<D>,
    sort: Sort,
    options: &Options,
    limits: Limits,
) -> Listing {
    let (view, scale) = (options.view, Scale::new(refined, limits));
    tree.set_sort(sort);
    let open = options.open.as_ref().map(|places| opened(refined, tree, places));
    // The root of everything is at depth 0 and is no row of the report.
    let opens = |tree: &RowTree<D>, row| {
        let is_open = open.as_ref().is_none_or(|open| open.contains(&row));
        is_open && tree.row(row).has_children && tree.depth(row) < limits.levels
    };

    let chosen = choose(limits.rows, u64::MAX, |row| {
        if !opens(tree, row) {
            return Vec::new();
        }
        tree.children(refined, row);
        let children = tree.opened_children(row).iter();
        let wanted = children.filter(|&&child| !scale.is_small(view, tree.row(child)));
        wanted.map(|&child| (scale.of(tree.row(child), view.cost()), child)).collect()
    });
    chosen.iter().for_each(|&row| tree.fill_strip(refined, row));
    let tree = &*tree;
    Listing::new(tree, &chosen, view, |row| opens(tree, row), |row| scale.is_small(view, row))
}

/// Rows within a limit, the greatest weight first, and the root. `below` tells the rows below one,
/// of which none weighs more.
pub(super) fn choose<W: Ord>(
    limit: usize,
    most: W,
    mut below: impl FnMut(RowId) -> Vec<(W, RowId)>,
) -> HashSet<RowId> {
    let mut chosen = HashSet::new();
    let mut candidates = BinaryHeap::from([(most, Reverse(RowId::ROOT))]);
    while let Some((_, Reverse(row))) = candidates.pop() {
        // The root is no row of the report.
        if chosen.len() > limit {
            break;
        }
        chosen.insert(row);
        candidates.extend(below(row).into_iter().map(|(weight, row)| (weight, Reverse(row))));
    }
    chosen
}

impl Listing {
    /// The rows that were chosen, in the order of the tree.
    pub(super) fn new<D: Direction>(
        tree: &RowTree<D>,
        chosen: &HashSet<RowId>,
        view: View,
        is_open: impl Fn(RowId) -> bool,
        is_small: impl Fn(&Row) -> bool,
    ) -> Self {
        let mut listing = Self::default();
        let mut above: Vec<usize> = Vec::new();
        let mut pending = vec![RowId::ROOT];
        while let Some(row) = pending.pop() {
            let mut left_out = LeftOut::default();
            if is_open(row) {
                for &child in tree.opened_children(row).iter().rev() {
                    if chosen.contains(&child) {
                        pending.push(child);
                    } else {
                        let row = tree.row(child);
                        left_out.add(view, row, is_small(row));
                    }
                }
            } else {
                left_out.deeper = tree.row(row).has_children;
            }
            let Some(depth) = tree.depth(row).checked_sub(1) else {
                listing.left_out = left_out;
                continue;
            };
            listing.close(&mut above, depth as usize);
            above.push(listing.lines.len());
            listing.lines.push(Line { depth, row: tree.row(row).clone(), left_out, below: 0 });
        }
        listing.close(&mut above, 0);
        listing
    }

    /// What the rows leave out, in each place.
    pub(super) fn all_left_out(&self) -> impl Iterator<Item = &LeftOut> + Clone {
        self.lines.iter().map(|line| &line.left_out).chain([&self.left_out])
    }

    /// Counts what is below the lines of `open` that have more than `depth` above them: nothing
    /// more comes there.
    fn close(&mut self, open: &mut Vec<usize>, depth: usize) {
        let end = self.lines.len();
        for line in open.drain(depth.min(open.len())..) {
            self.lines[line].below = end - line - 1;
        }
    }
}

impl LeftOut {
    /// How many rows.
    pub(super) fn rows(&self) -> usize {
        self.small + self.beyond
    }

    fn add(&mut self, view: View, row: &Row, is_small: bool) {
        self.small += usize::from(is_small);
        self.beyond += usize::from(!is_small);
        self.costs.resize(row.weights.len(), 0);
        for (sum, weight) in self.costs.iter_mut().zip(&*row.weights) {
            *sum = sum.saturating_add(view.cost().of(weight));
        }
    }
}
