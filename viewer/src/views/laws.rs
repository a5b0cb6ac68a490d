//! The laws of views, checked on random trees before and after refinement.

mod executions;
mod metrics;
mod recorded;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::callers::Callers;
use super::flat::flat;
use super::search::{NamePattern, Search};
use super::top_down::TopDown;
use super::tree::{Direction, RowId, RowTree};
use super::visible::Visible;
use super::{Edges, Row, Sort, Weight};
use crate::profile::{FunctionRef, MetricRef, from_outline};
use crate::refine::{Refined, apply, parse, unwatched};

/// Few names, so that recursion, merging and matching are frequent.
const NAMES: [&str; 5] = ["alpha", "beta", "Alpha2", "gamma", "delta"];

/// Stages that take out, move, merge and re-root; an empty text is no stage.
const STAGES: [&str; 7] = [
    "",
    "through beta",
    "hide alpha",
    "group alpha as G",
    "root at gamma",
    "not under delta",
    "fold beta",
];

/// Outlines of random trees: for each node how many levels it goes back up, its name, its samples,
/// its edges and whether it is inlined.
pub(crate) fn outlines() -> impl Strategy<Value = String> {
    let node = (0usize..4, 0..NAMES.len(), 0u64..4, 0u64..4, prop::bool::weighted(0.2));
    prop::collection::vec(node, 0..40).prop_map(|nodes| {
        let mut depth = 0;
        let mut text = String::new();
        for (up, name, samples, edges, inline) in nodes {
            depth = (depth + 1usize).saturating_sub(up).min(if text.is_empty() {
                0
            } else {
                depth + 1
            });
            let kind = if inline { " inline" } else { "" };
            let edges = if inline { 0 } else { edges.min(samples) };
            let name = NAMES[name];
            text.push_str(&format!("{:w$}{name} {samples} e={edges}{kind}\n", "", w = 2 * depth));
        }
        text
    })
}

/// A tree of callers that looks for all functions at once, however few are opened.
fn indexed(refined: &Refined) -> Callers {
    let tree = unwatched(|watch| Callers::new(refined, watch));
    tree.direction.index();
    tree
}

impl Row {
    /// What it has of the first metric.
    pub(crate) fn first(&self) -> &Weight {
        self.of(MetricRef::FIRST)
    }
}

impl Edges {
    /// The count of two rows together. What has none adds nothing, so an inlined and a called
    /// instance of a function together have the count of the called one.
    pub(crate) const fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, edges) | (edges, Self::None) => edges,
            (Self::Range { low: a, high: b }, Self::Range { low: c, high: d }) => {
                Self::Range { low: a.saturating_add(c), high: b.saturating_add(d) }
            }
        }
    }
}

/// Everything open, in pre-order.
fn all_rows<D: Direction>(tree: &mut RowTree<D>, refined: &Refined) -> Vec<RowId> {
    let mut visible = Visible::new(tree, refined, RowId::ROOT);
    let mut line = 0;
    while line < visible.lines().len() {
        visible.open(tree, refined, line);
        line += 1;
    }
    visible.lines().iter().map(|line| line.row).collect()
}

/// Sums of the children: inclusive, exclusive, edges, samples of edges.
fn sum<D: Direction>(tree: &RowTree<D>, rows: &[RowId]) -> (u64, u64, Edges, u64) {
    rows.iter().map(|&row| tree.row(row)).fold((0, 0, Edges::None, 0), |sum, row| {
        (
            sum.0 + row.first().inclusive,
            sum.1 + row.first().exclusive,
            sum.2.plus(row.first().edges),
            sum.3 + row.first().edge_samples,
        )
    })
}

fn own(row: &Row) -> (u64, u64, Edges, u64) {
    (row.first().inclusive, row.first().exclusive, row.first().edges, row.first().edge_samples)
}

/// Flat sums by going up from every node.
fn flat_by_climbing(refined: &Refined) -> BTreeMap<FunctionRef, (u64, u64)> {
    let function = |node: usize| refined.frames[refined.frame[node].index()].function;
    let mut sums: BTreeMap<FunctionRef, (u64, u64)> = BTreeMap::new();
    for node in (1..refined.parent.len()).filter(|&node| refined.inclusive(node) > 0) {
        let mut above = refined.parent[node] as usize;
        while above != 0 && function(above) != function(node) {
            above = refined.parent[above] as usize;
        }
        let entry = sums.entry(function(node)).or_default();
        if above == 0 {
            entry.0 += refined.inclusive(node);
        }
        entry.1 += refined.exclusive(node);
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Rows add up in every view, and views agree with each other.
    #[test]
    fn views_add_up(outline in outlines(), stage in 0..STAGES.len()) {
        let profile = from_outline(&outline).unwrap();
        // A stage whose pattern matches nothing is refused; then there is nothing to refine.
        let refined = match parse(STAGES[stage]).map(|stages| apply(&profile, &stages)) {
            Ok(Ok(refined)) => refined,
            _ => Refined::base(&profile),
        };

        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let rows = all_rows(&mut tree, &refined);
        prop_assert_eq!(tree.row(RowId::ROOT).first().inclusive, refined.shown);
        for &id in rows.iter().chain([&RowId::ROOT]) {
            let row = tree.row(id);
            let children = tree.opened_children(id);
            prop_assert_eq!(row.has_children, !children.is_empty());
            prop_assert_eq!(row.first().inclusive, row.first().exclusive + sum(&tree, children).0);
        }

        let flat_rows = flat(&refined, Sort::default());
        prop_assert_eq!(flat_rows.iter().map(|row| row.first().exclusive).sum::<u64>(), refined.shown);
        let found: BTreeMap<_, _> =
            flat_rows.iter().map(|row| (row.function, (row.first().inclusive, row.first().exclusive))).collect();
        prop_assert_eq!(found, flat_by_climbing(&refined));
        for flat_row in &flat_rows {
            let same: Vec<_> =
                rows.iter().copied().filter(|&r| tree.row(r).function == flat_row.function).collect();
            let (_, exclusive, edges, _) = sum(&tree, &same);
            prop_assert_eq!(exclusive, flat_row.first().exclusive);
            prop_assert_eq!(edges, flat_row.first().edges);
            // What an edge costs is that of outermost activations, each sample once.
            let outermost = same.iter().filter(|&&row| {
                let function = flat_row.function;
                let mut above = std::iter::successors(tree.parent(row), |&row| tree.parent(row));
                !above.any(|above| {
                    let above = tree.row(above);
                    above.function == function && above.first().edges != Edges::None
                })
            });
            let outermost: Vec<_> = outermost.copied().collect();
            let (_, _, edges, edge_samples) = sum(&tree, &outermost);
            let edges = if refined.knows_outermost() { edges } else { Edges::None };
            prop_assert_eq!(edges, flat_row.first().outer_edges);
            prop_assert_eq!(edge_samples, flat_row.first().edge_samples);
            prop_assert!(flat_row.first().edge_samples <= refined.shown);
        }

        let mut callers = unwatched(|watch| Callers::new(&refined, watch));
        let caller_rows = all_rows(&mut callers, &refined);
        // Whether a function is looked for alone or with all others.
        let mut indexed = indexed(&refined);
        let by_index = all_rows(&mut indexed, &refined);
        let alone: Vec<_> = caller_rows.iter().map(|&id| callers.row(id)).collect();
        prop_assert_eq!(alone, by_index.iter().map(|&id| indexed.row(id)).collect::<Vec<_>>());
        for &id in &caller_rows {
            let children = callers.opened_children(id);
            prop_assert_eq!(callers.row(id).has_children, !children.is_empty());
            if !children.is_empty() {
                // What an inner activation costs is part of what the outer one costs.
                let (all, row) = (sum(&callers, children), own(callers.row(id)));
                prop_assert!(all.0 >= row.0 && all.3 >= row.3);
                for &child in children {
                    let child = own(callers.row(child));
                    prop_assert!(child.0 <= row.0 && child.3 <= row.3);
                }
                prop_assert_eq!((all.1, all.2), (row.1, row.2));
            }
        }
        let first: Vec<Row> =
            callers.opened_children(RowId::ROOT).iter().map(|&id| callers.row(id).clone()).collect();
        prop_assert_eq!(first, flat_rows);
    }

    /// Search finds what reading all rows would find, the heaviest first, and nothing else; and
    /// what they cost together is what those of them have that are below no other.
    #[test]
    fn search_finds_what_reading_finds(outline in outlines(), text in "alpha|Alpha|ta|x") {
        let profile = from_outline(&outline).unwrap();
        let refined = Refined::base(&profile);
        let pattern = NamePattern::new(&text).unwrap();
        let search = unwatched(|watch| Search::new(&refined, &pattern, watch));

        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let rows = all_rows(&mut tree, &refined);
        let is_hit = |row: RowId| {
            row != RowId::ROOT
                && pattern.is_in(&refined.functions[tree.row(row).function.index()].name)
        };
        let mut expected: Vec<_> = rows.into_iter().filter(|row| is_hit(*row)).collect();
        let cost = |tree: &TopDown, row: RowId| tree.row(row).of(refined.metric).inclusive;
        let is_outermost = |row: &&RowId| {
            let mut above = std::iter::successors(tree.parent(**row), |row| tree.parent(*row));
            !above.any(is_hit)
        };
        let together: u64 =
            expected.iter().filter(is_outermost).map(|row| cost(&tree, *row)).sum();
        prop_assert_eq!(search.cost().unwrap().of(refined.metric).inclusive, together);
        prop_assert_eq!(search.rows(), expected.len() as u64);

        // A fresh tree, so that nothing is open yet.
        let mut fresh = unwatched(|watch| TopDown::new(&refined, watch));
        let mut found = Vec::new();
        while let Some(row) = search.row(&mut fresh, &refined, found.len()) {
            found.push(row);
        }
        let costs: Vec<u64> = found.iter().map(|row| cost(&fresh, *row)).collect();
        prop_assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
        let paths = |tree: &TopDown, rows: &[RowId]| {
            let mut paths: Vec<_> =
                rows.iter().map(|row| format!("{:?}", tree.path(&refined, *row))).collect();
            paths.sort();
            paths
        };
        expected.sort();
        prop_assert_eq!(paths(&fresh, &found), paths(&tree, &expected));
    }

    /// However rows were opened and closed, the list is what making it anew would give.
    #[test]
    fn lines_are_what_is_open(outline in outlines(), keys in prop::collection::vec((0usize..40, 0u8..3), 0..20)) {
        let profile = from_outline(&outline).unwrap();
        let refined = Refined::base(&profile);
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let mut visible = Visible::new(&mut tree, &refined, RowId::ROOT);
        for (line, key) in keys {
            match key {
                0 => visible.open(&mut tree, &refined, line),
                1 => visible.close(line),
                _ => { visible.open_subtree(&mut tree, &refined, line, 7); }
            }
            let mut again = visible.clone();
            again.rebuild(&mut tree, &refined);
            prop_assert_eq!(again.lines(), visible.lines());
            for (line, shown) in visible.lines().iter().enumerate() {
                prop_assert_eq!(visible.position(shown.row), Some(line));
                let path = tree.path(&refined, shown.row);
                prop_assert_eq!(tree.locate(&refined, &path), (shown.row, true));
            }
        }
        let mut new_tree = unwatched(|watch| TopDown::new(&refined, watch));
        let open = visible.open_paths(&tree, &refined);
        let carried = Visible::with_open(&mut new_tree, &refined, &open);
        let paths = |tree: &TopDown, visible: &Visible| -> Vec<_> {
            visible.lines().iter().map(|line| tree.path(&refined, line.row)).collect()
        };
        prop_assert_eq!(paths(&new_tree, &carried), paths(&tree, &visible));
    }
}
