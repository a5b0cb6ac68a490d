//! Which rows the report of a comparison has.
//!
//! A row matters as much as the row that differs most at or below it; of a scaling loss, as the one
//! that loses most, so that gains come after all losses. What a row or anything below
//! it can differ by at most is what the side with more has there, so only what is large enough is
//! looked into.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::super::listing::{Limits, Listing, choose, opened};
use super::{Options, comparison};
use crate::profile::comparison::Comparison;
use crate::refine::{Refined, unwatched};
use crate::views::callers::Callers;
use crate::views::hall::ListedRows;
use crate::views::number::{Form, counted};
use crate::views::top_down::TopDown;
use crate::views::tree::{Direction, RowId, RowTree};
use crate::views::{View, Weight, shown_of_sides};

/// Least difference of a row, in units of the comparison's weights. Rounded up, so that a share of
/// more than nothing leaves out what is equal.
fn least(refined: &Refined, limits: Limits) -> u128 {
    let whole = most(refined, shown_of_sides(refined));
    (limits.share * whole as f64 / 100.0).ceil() as u128
}

/// What two counts can differ by at most.
fn most(refined: &Refined, samples: [u64; 2]) -> u128 {
    let weights = comparison(refined).weights();
    let weighed = |side: usize| u128::from(samples[side]).saturating_mul(weights[side]);
    weighed(0).max(weighed(1))
}

/// What to say where so many rows were not looked into.
pub(super) fn unexplored(rows: usize, form: Form) -> Option<String> {
    let shown = counted(rows as u64, "row", form);
    (rows > 0).then(|| {
        format!(
            "Not looked into: what is below {shown}, for there is too much; a refinement \
             leaves less, such as fold (--refine)."
        )
    })
}

/// How many nodes the rows that are looked into may stand for: four times those there are, and
/// always some millions. Only callers can be more, each node once for each caller above it.
fn most_made(refined: &Refined) -> usize {
    refined.node_count().saturating_mul(4).max(4_000_000)
}

/// Memory for rows before nothing further is looked into: deep recursion has millions of rows that
/// may all differ. 1 000 000 rows of one run of each side.
const MOST_MEMORY: usize = 370_000_000;

/// How many rows have room in it: each takes some 370 bytes, and more for the runs of a side.
fn most_rows(refined: &Refined) -> usize {
    let runs: usize = match comparison(refined).has_several_runs() {
        true => comparison(refined).sides.iter().map(|side| side.runs.len()).sum(),
        false => 0,
    };
    MOST_MEMORY / (370 + runs * size_of::<Weight>())
}

/// Chooses the rows of a view.
#[must_use]
pub fn list(refined: &Refined, options: &Options, limits: Limits) -> Listing {
    let most = most_made(refined);
    match options.view {
        View::TopDown | View::Places => list_tree(
            refined,
            &mut unwatched(|watch| TopDown::new(refined, watch)),
            options,
            limits,
            most,
        ),
        View::Tables => match &options.table {
            Some((table, _)) => {
                let mut tree = ListedRows::of(refined, table, options.sort(refined));
                list_tree(refined, &mut tree, options, limits, most)
            }
            None => Listing::default(),
        },
        // `csprof diff` has none.
        View::Butterfly => Listing::default(),
        View::Flat => {
            let refined = &unwatched(|watch| refined.without_loops(watch));
            let mut tree = unwatched(|watch| Callers::new(refined, watch));
            list_tree(refined, &mut tree, options, limits, most)
        }
        View::Callers => {
            let mut tree = unwatched(|watch| Callers::new(refined, watch));
            list_tree(refined, &mut tree, options, limits, most)
        }
    }
}

/// How much a row matters, of it and of what is below it.
#[derive(Clone, Copy)]
struct Matter {
    /// Which rows come first where not all have a place: those that differ most, or lose most.
    rank: i128,
    /// The greatest difference in either direction.
    size: u128,
}

impl Matter {
    fn of(comparison: &Comparison, samples: [u64; 2]) -> Self {
        let delta = comparison.delta(samples);
        let rank = if comparison.scaling.is_some() { delta } else { delta.saturating_abs() };
        Self { rank, size: delta.unsigned_abs() }
    }

    fn or(self, other: Self) -> Self {
        Self { rank: self.rank.max(other.rank), size: self.size.max(other.size) }
    }
}

fn list_tree<D: Direction>(
    refined: &Refined,
    tree: &mut RowTree<D>,
    options: &Options,
    limits: Limits,
    most_made: usize,
) -> Listing {
    let levels = if options.view == View::Flat { 1 } else { limits.levels };
    let (least, most_rows) = (least(refined, limits), most_rows(refined));
    tree.set_sort(options.sort(refined));
    let open = options.open.as_ref().map(|places| opened(refined, tree, places));
    // Rows in an order in which every row comes after the row above it.
    let mut found = vec![RowId::ROOT];
    // What may differ most is looked into first.
    let mut waiting = BinaryHeap::from([(u128::MAX, Reverse(RowId::ROOT))]);
    let mut deeper = false;
    let mut not_looked_into = 0;
    while let Some((_, Reverse(row))) = waiting.pop() {
        if !tree.row(row).has_children {
            continue;
        }
        if tree.made() > most_made || tree.rows() > most_rows {
            not_looked_into += 1;
            continue;
        }
        if open.as_ref().is_some_and(|open| !open.contains(&row)) {
            deeper = true;
            continue;
        }
        if tree.depth(row) >= levels {
            deeper |= options.view != View::Flat;
            continue;
        }
        tree.children(refined, row);
        for &child in tree.opened_children(row) {
            let most = most(refined, options.view.cost().of_sides(tree.row(child)));
            if most >= least {
                found.push(child);
                waiting.push((most, Reverse(child)));
            }
        }
    }

    let of_row =
        |row: RowId| Matter::of(comparison(refined), options.view.cost().of_sides(tree.row(row)));
    let mut matters: HashMap<RowId, Matter> = HashMap::with_capacity(found.len());
    for &row in found.iter().rev() {
        let own = of_row(row);
        let own = matters.get(&row).map_or(own, |below| below.or(own));
        matters.insert(row, own);
        if let Some(parent) = tree.parent(row) {
            matters.entry(parent).and_modify(|above| *above = above.or(own)).or_insert(own);
        }
    }

    // A row matters no more than the row above it.
    let chosen = choose(limits.rows, i128::MAX, |row| {
        let children = tree.opened_children(row).iter();
        let wanted = children.filter_map(|child| Some((*matters.get(child)?, *child)));
        wanted.filter(|(of, _)| of.size >= least).map(|(of, child)| (of.rank, child)).collect()
    });
    let mut listing = Listing::new(tree, &chosen, options.view, |_| true, |_| false);
    // Closed rows may be below rows that have no place.
    listing.left_out.deeper = deeper;
    listing.not_looked_into = not_looked_into;
    listing
}

#[cfg(test)]
mod tests {
    use super::super::super::listing::Line;
    use super::*;
    use crate::profile::comparison::{Scaling, ScalingKind};
    use crate::profile::{Profile, from_outline};

    #[test]
    fn where_few_rows_have_a_place_losses_come_before_gains() {
        let outline = |text: &str| from_outline(text).unwrap();
        let base = outline("main 1\n  gain 500\n  more 100\n  even 100\n");
        let other = outline("main 1\n  gain 10\n  more 180\n  even 100\n    deep 90\n");
        let mut profile = Profile::compared(("base", base), ("other", other), &[]).unwrap();
        let kind = ScalingKind::Strong;
        let scaling = Some(Scaling { kind, workers: [1, 4] });
        profile.comparison.as_mut().unwrap().scaling = scaling;
        let refined = Refined::base(&profile);
        for (view, limit, expected) in [
            (View::TopDown, 3, &["main", "even", "deep"][..]),
            (View::Flat, 2, &["deep", "more"]),
            (View::Flat, 5, &["deep", "more", "main", "even", "gain"]),
        ] {
            let options = Options { view, limit: Some(limit), ..Options::default() };
            let listing = list(&refined, &options, Limits::for_machines(&options));
            let name = |line: &Line| refined.functions[line.row.function.index()].name.to_string();
            let mut names: Vec<String> = listing.lines.iter().map(name).collect();
            if limit == 5 {
                // What neither lost nor won is in no order here.
                names[2..4].sort_by_key(|name| name == "even");
            }
            assert_eq!(names, expected, "{view:?}");
        }
    }

    /// A row of many runs is larger.
    #[test]
    fn memory_for_rows_counts_the_runs() {
        let of_runs = |runs: u64| {
            let run = |number: u64| {
                let mut run = from_outline("main 1\n").unwrap();
                run.info.run.start_unix_ns = number;
                (format!("run{number}"), run)
            };
            let side = |first: u64| (first..first + runs).map(run).collect::<Vec<_>>();
            let sides = [side(0), side(100)];
            most_rows(&Refined::base(&Profile::compared_runs(sides, None, &[]).unwrap()))
        };
        assert_eq!(of_runs(1), 1_000_000);
        assert!(of_runs(50) < 1_000_000 / 15, "{}", of_runs(50));
    }

    /// The callers of a recursive function are the square of its depth.
    #[test]
    fn callers_of_deep_recursion_are_looked_into_within_limits() {
        let outline = |samples: u64| {
            let line = |depth: usize| format!("{:w$}f {samples}\n", "", w = 2 * depth);
            from_outline(&(0..500).map(line).collect::<String>()).unwrap()
        };
        let sides = (("base", outline(1)), ("other", outline(2)));
        let profile = Profile::compared(sides.0, sides.1, &[]).unwrap();
        let refined = Refined::base(&profile);
        let options = Options { view: View::Callers, ..Options::default() };
        let listed = |most: usize| {
            let mut tree = unwatched(|watch| Callers::new(&refined, watch));
            let limits = Limits::for_text(&options);
            let listing = list_tree(&refined, &mut tree, &options, limits, most);
            (listing.lines.len(), listing.not_looked_into, tree.made())
        };
        let (lines, left, made) = listed(10_000);
        assert!(lines > 5 && left == 1 && made < 10_000 + 1000, "{lines} {left} {made}");
        let (_, left, made) = listed(usize::MAX);
        assert!(left == 0 && made > 200_000, "{made}");
    }
}
