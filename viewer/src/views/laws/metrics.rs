//! The law of several metrics: what a view says of one of them is what it says of a profile that
//! has no other.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{NAMES, all_rows, indexed};
use crate::profile::{FrameKind, MetricRef, Profile, from_outline};
use crate::refine::{Grain, Refined, Sets, Stopped, apply, parse, unwatched};
use crate::views::callers::Callers;
use crate::views::flat::flat;
use crate::views::hall::{HallTable, Reach, Way};
use crate::views::places::places;
use crate::views::top_down::TopDown;
use crate::views::tree::{Direction, RowId, RowTree};
use crate::views::{Row, Sort};

/// The metrics, the first one first.
const METRICS: [&str; 3] = ["cputime", "realtime", "task-clock"];

/// Paths of tables.
const PATHS: [&str; 5] = ["", "alpha", "beta > alpha", "alpha >> beta", "alpha >> beta > alpha"];

/// Stages that go by names, so that they do the same to a metric and to it alone; an empty text is
/// no stage.
const STAGES: [&str; 8] = [
    "",
    "through beta",
    "hide alpha",
    "group {alpha, beta} as G",
    "root at gamma",
    "not under delta",
    "fold beta",
    "callers of beta",
];

/// A node: how many levels it goes back up, its name, its samples of each metric, whether it is
/// inlined.
type Node = (usize, usize, [u64; 3], bool);

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let samples = prop::array::uniform3(0u64..4);
    let node = (0usize..4, 0..NAMES.len(), samples, prop::bool::weighted(0.2));
    prop::collection::vec(node, 1..40)
}

/// A profile of all metrics, or of one alone.
fn profile(nodes: &[Node], only: Option<usize>) -> Profile {
    let (mut depth, mut text) = (0, String::new());
    for (number, &(up, name, samples, inline)) in nodes.iter().enumerate() {
        depth = if number == 0 { 0 } else { (depth + 1_usize).saturating_sub(up) };
        let samples = match only {
            Some(metric) => samples[metric].to_string(),
            None => {
                let [_, b, c] = samples;
                let all = samples.iter().sum::<u64>();
                format!("{all} {}:{b} {}:{c}", METRICS[1], METRICS[2])
            }
        };
        // Which kind a function of several kinds is shown as depends on what has samples.
        let kind = if inline { "_inlined" } else { "" };
        let word = if inline { " inline" } else { "" };
        let place = format!("module:lib{} at:{}.c:{name}", name % 2, name / 2);
        let name = NAMES[name];
        text.push_str(&format!("{:w$}{name}{kind} {samples}{word} {place}\n", "", w = 2 * depth));
    }
    from_outline(&text).unwrap()
}

/// What rows have of a metric, by what they are; those that have nothing of it left out.
type Seen = BTreeMap<Vec<String>, [u64; 3]>;

fn seen(rows: impl IntoIterator<Item = (Vec<String>, Row)>, metric: MetricRef) -> Seen {
    let samples = |(name, row): (_, Row)| {
        let weight = row.of(metric);
        (name, [weight.inclusive, weight.exclusive, weight.edge_samples])
    };
    rows.into_iter().map(samples).filter(|(_, samples)| *samples != [0; 3]).collect()
}

fn label(refined: &Refined, row: &Row) -> String {
    format!("{} {:?}", refined.functions[row.function.index()].name, row.kind)
}

fn of_tree<D: Direction>(refined: &Refined, mut tree: RowTree<D>) -> Vec<(Vec<String>, Row)> {
    let rows = all_rows(&mut tree, refined);
    let path = |mut id| {
        let mut path = vec![label(refined, tree.row(id))];
        while let Some(above) = tree.parent(id) {
            path.insert(0, label(refined, tree.row(above)));
            id = above;
        }
        path
    };
    // Whether a row says that there is no caller depends on whether it can be opened.
    let rows = rows.iter().filter(|&&id| tree.row(id).kind != FrameKind::Root);
    rows.chain([&RowId::ROOT]).map(|&id| (path(id), tree.row(id).clone())).collect()
}

fn of_list(refined: &Refined, rows: &[Row]) -> Vec<(Vec<String>, Row)> {
    rows.iter().map(|row| (vec![label(refined, row)], row.clone())).collect()
}

/// The rows of every view.
fn views(refined: &Refined) -> Vec<Vec<(Vec<String>, Row)>> {
    let mut views = vec![
        of_tree(refined, unwatched(|watch| TopDown::new(refined, watch))),
        of_tree(refined, unwatched(|watch| Callers::new(refined, watch))),
        of_tree(refined, indexed(refined)),
        of_list(refined, &flat(refined, Sort::default())),
    ];
    for level in [Grain::Module, Grain::File, Grain::Function] {
        let places = unwatched(|watch| places(refined, level, watch));
        views.push(of_tree(&places, unwatched(|watch| TopDown::new(&places, watch))));
    }
    for text in PATHS {
        let path = Sets::default().parse_path(text).unwrap();
        for (way, reach) in [
            (Way::Down, Reach::Immediate),
            (Way::Down, Reach::Extended),
            (Way::Up, Reach::Immediate),
            (Way::Up, Reach::Extended),
        ] {
            // Where a frame of the path has no samples, there is no table.
            let table = unwatched(|watch| {
                Stopped::nested(HallTable::new(refined, path.as_ref(), way, reach, watch))
            });
            let of = |table: HallTable| {
                let mut rows = of_list(refined, &table.rows);
                rows.push((Vec::new(), table.path));
                rows
            };
            views.push(table.map_or_else(|_| Vec::new(), of));
        }
    }
    views
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn each_metric_is_as_if_it_were_alone(nodes in nodes(), stage in 0..STAGES.len()) {
        let together = profile(&nodes, None);
        prop_assume!(together.metrics().count() == METRICS.len());
        // A stage whose pattern matches nothing is refused.
        let stages = parse(STAGES[stage]).unwrap();
        let Ok(refined) = apply(&together, &stages) else { return Ok(()) };
        let metrics = || (0..METRICS.len() as u8).map(MetricRef);
        let alone: Vec<_> = metrics()
            .map(|metric| {
                let profile = profile(&nodes, Some(metric.index()));
                let refined = apply(&profile, &stages).ok()?;
                let of_view = |rows| seen(rows, MetricRef::FIRST);
                Some(views(&refined).into_iter().map(of_view).collect::<Vec<_>>())
            })
            .collect();
        for looked_at in metrics() {
            let refined = refined.clone().looking_at(looked_at);
            prop_assert_eq!(refined.shown + refined.out, refined.base);
            let views = views(&refined);
            for (metric, alone) in metrics().zip(&alone) {
                for (rows, alone) in views.iter().zip(alone.iter().flatten()) {
                    prop_assert_eq!(&seen(rows.clone(), metric), alone);
                }
            }
        }
    }
}
