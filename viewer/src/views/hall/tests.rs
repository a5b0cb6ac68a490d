//! Hall's tables: an example, and the laws against brute force.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::profile::{FrameKind, FunctionRef, NodesBuilder, Profile, from_outline};
use crate::refine::{FramePattern, Predicate, Stage, WeightRef, apply, parse, unwatched};
use crate::views::Edges;
use crate::views::callers::Callers;
use crate::views::flat::flat;
use crate::views::tree::RowId;

fn chain(text: &str) -> Option<Chain> {
    let mut stages = parse(text).unwrap().stages;
    match stages.pop() {
        Some(Stage::Where(Predicate::Through(chain))) => Some(chain),
        _ => None,
    }
}

/// Rows by name: inclusive, exclusive, edges.
fn table(profile: &Profile, path: &str, way: Way, reach: Reach) -> BTreeMap<String, String> {
    let refined = Refined::base(profile);
    let table = unwatched(|watch| {
        Stopped::nested(HallTable::new(&refined, chain(path).as_ref(), way, reach, watch))
    })
    .unwrap();
    let rows = table.rows.iter().map(|row| {
        let edges = match row.first().edges {
            Edges::Range { low, .. } => format!(" e={low}"),
            Edges::None => String::new(),
        };
        let name = profile.functions[row.function.index()].name.to_string();
        (name, format!("{} {}{edges}", row.first().inclusive, row.first().exclusive))
    });
    rows.collect()
}

fn said(rows: &BTreeMap<String, String>) -> String {
    rows.iter().map(|(name, row)| format!("{name}: {row}")).collect::<Vec<_>>().join(", ")
}

/// Edges of a function among those that a path calls directly.
fn edges_below(outline: &str, stages: &str, path: &str, function: &str) -> Edges {
    let profile = from_outline(outline).unwrap();
    let refined = apply(&profile, &parse(stages).unwrap()).unwrap();
    let path = chain(path);
    let table = unwatched(|watch| {
        Stopped::nested(HallTable::new(&refined, path.as_ref(), Way::Down, Reach::Immediate, watch))
    })
    .unwrap();
    let is_it = |row: &&Row| *refined.functions[row.function.index()].name == *function;
    table.rows.iter().find(is_it).unwrap().first().edges
}

#[test]
fn a_path_with_an_unknown_outer_part_may_have_activations_that_were_counted_elsewhere() {
    let outline = "\
main
  b
    a 3 e=2
  c
    a 3 e=1
[partial] partial
  a 4
";
    assert_eq!(edges_below(outline, "", "b", "a"), Edges::exact(2));
    let both = edges_below(outline, "", "{kind:partial, b}", "a");
    assert_eq!(both, Edges::Range { low: 2, high: 6 });
}

#[test]
fn callers_of_one_line_have_activations_that_were_counted_at_another() {
    let outline = "\
main
  g at:g.c:10
    a 20 e=10
  g 80 at:g.c:12 e=10
";
    let below = |path: &str| edges_below(outline, "callers of g", path, "main");
    assert_eq!(below("g"), Edges::exact(10));
    assert_eq!(below("line:10"), Edges::Range { low: 0, high: 20 });
}

const RECURSIVE: &str = "\
main 1
  visit 2 e=3
    left 4 e=5
      visit 8 e=7
        left 16 e=9
    visit 32 e=11
      print 64 e=13
  print 128 e=15
";

#[test]
fn the_example_of_a_recursive_program() {
    use Reach::{Extended, Immediate};
    let profile = from_outline(RECURSIVE).unwrap();
    let rows = |path: &str, way, reach| said(&table(&profile, path, way, reach));
    assert_eq!(
        rows("", Way::Down, Immediate),
        "left: 28 20 e=14, main: 255 1 e=0, print: 192 192 e=28, visit: 126 42 e=21"
    );
    assert_eq!(rows("main", Way::Down, Immediate), "print: 128 128 e=15, visit: 126 2 e=3");
    assert_eq!(rows("main > visit", Way::Down, Immediate), "left: 28 4 e=5, visit: 96 32 e=11");
    assert_eq!(
        rows("main > visit", Way::Down, Extended),
        "left: 28 20 e=14, print: 64 64 e=13, visit: 120 40 e=18"
    );
    // The outer visit calls left, and so does the inner one: the samples count once.
    assert_eq!(
        rows("visit", Way::Down, Immediate),
        "left: 28 20 e=14, print: 64 64 e=13, visit: 96 32 e=11"
    );
    assert_eq!(rows("left", Way::Up, Immediate), "visit: 28 20 e=14");
    assert_eq!(
        rows("visit", Way::Up, Immediate),
        "left: 24 8 e=7, main: 126 2 e=3, visit: 96 32 e=11"
    );
    assert_eq!(
        rows("visit", Way::Up, Extended),
        "left: 24 8 e=7, main: 126 42 e=21, visit: 120 40 e=18"
    );
    assert_eq!(rows("print", Way::Up, Extended), "main: 192 192 e=28, visit: 64 64 e=13");
    assert_eq!(rows("main", Way::Up, Immediate), "<root>: 255 1 e=0");
    assert_eq!(rows("main", Way::Up, Extended), "");
    assert_eq!(rows("visit >> print", Way::Up, Immediate), "main: 64 64 e=13, visit: 64 64 e=13");
}

#[test]
fn a_path_of_a_hundred_thousand_calls_takes_no_time() {
    let mut outline = String::new();
    let profile = {
        // An outline of that depth would be quadratic in size.
        outline.push_str("f 1\n  g 1\n");
        let mut profile = from_outline(&outline).unwrap();
        let mut nodes = NodesBuilder::from(&profile.nodes);
        for node in 3..100_000_u32 {
            nodes.push(node - 1, nodes.frame[1 + node as usize % 2], 1, 1);
        }
        profile.nodes = nodes.finish();
        profile.streams[0].nodes.end = 100_000;
        profile
    };
    for way in [Way::Down, Way::Up] {
        for reach in [Reach::Immediate, Reach::Extended] {
            for path in ["f", "f >> g", "f > g >> f > g"] {
                let rows = table(&profile, path, way, reach);
                assert!(!rows.is_empty(), "{path} {way:?} {reach:?}");
            }
        }
    }
}

#[test]
fn what_matches_nothing_says_so() {
    let profile = from_outline(RECURSIVE).unwrap();
    let refined = Refined::base(&profile);
    let path = chain("main > vist");
    let error = unwatched(|watch| {
        Stopped::nested(HallTable::new(&refined, path.as_ref(), Way::Down, Reach::Immediate, watch))
    });
    assert_eq!(error.unwrap_err().to_string(), "no function matches vist; there is visit");
}

/// A tree as an outline: each node has a depth of at most one more than the one before.
fn outlines() -> impl Strategy<Value = String> {
    let node = (0_usize..9, 0_usize..3, 0_u64..4, 0_u64..3, prop::bool::weighted(0.2));
    prop::collection::vec(node, 1..40).prop_map(|nodes| {
        let mut text = String::new();
        let mut depth = 0;
        for (at, (up, name, samples, edges, inline)) in nodes.into_iter().enumerate() {
            depth = if at == 0 { 0 } else { (depth + 1_usize).saturating_sub(up / 2) };
            let kind = if inline { " inline" } else { "" };
            let edges = if inline { 0 } else { edges.min(samples) };
            let name = ["a", "b", "c"][name];
            text.push_str(&format!("{:1$}{name} {samples} e={edges}{kind}\n", "", 2 * depth));
        }
        text
    })
}

fn paths() -> impl Strategy<Value = Vec<(Link, &'static str)>> {
    let link = prop_oneof![Just(Link::Direct), Just(Link::Below)];
    let name = prop_oneof![Just("a"), Just("b"), Just("c")];
    prop::collection::vec((link, name), 0..4)
}

fn chain_of(path: &[(Link, &str)]) -> Option<Chain> {
    let mut frames = path.iter().map(|&(link, name)| (link, FramePattern::Exact(name.to_owned())));
    let (_, first) = frames.next()?;
    Some(Chain { from_root: false, first, rest: frames.collect(), to_leaf: false })
}

/// Whether the frames match the path so that it ends with the last of them, tried in every
/// way: `frames` are those above and at the end, outermost first.
fn ends_here(frames: &[&str], path: &[(Link, &str)]) -> bool {
    let Some(&(link, last)) = path.last() else { return true };
    let Some((here, above)) = frames.split_last() else { return false };
    if *here != last {
        return false;
    }
    let rest = &path[..path.len() - 1];
    match (rest.is_empty(), link) {
        (true, _) => true,
        (_, Link::Direct) => ends_here(above, rest),
        (_, Link::Below) => (1..=above.len()).any(|end| ends_here(&above[..end], rest)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Every row is what a brute-force matcher finds, and what `through` shows.
    #[test]
    fn tables_are_what_longer_paths_cost(
        outline in outlines(),
        path in paths(),
        up in any::<bool>(),
        extended in any::<bool>(),
    ) {
        let profile = from_outline(&outline).unwrap();
        let refined = Refined::base(&profile);
        let (way, reach) = (
            if up { Way::Up } else { Way::Down },
            if extended { Reach::Extended } else { Reach::Immediate },
        );
        let Ok(table) = unwatched(|watch| Stopped::nested(HallTable::new(&refined, chain_of(&path).as_ref(), way, reach, watch)))
        else { return Ok(()) };

        let name = |node: usize| {
            &*profile.functions[profile.function_of(node as u32).index()].name
        };
        let frames_of = |node: usize| {
            let mut frames = Vec::new();
            let mut at = node;
            while at != 0 {
                frames.push(name(at));
                at = profile.nodes.parent[at] as usize;
            }
            frames.reverse();
            frames
        };
        let row_of = |wanted: &str| {
            table.rows.iter().find(|row| {
                row.kind != FrameKind::Root
                    && *refined.functions[row.function.index()].name == *wanted
            })
        };
        for g in ["a", "b", "c"] {
            let link = reach.link();
            let longer: Vec<_> = match way {
                Way::Down => path.iter().copied().chain([(link, g)]).collect(),
                // The link stands before the frame that it leads to.
                Way::Up => {
                    let mut longer = vec![(Link::Below, g)];
                    longer.extend(path.iter().copied());
                    if let Some(second) = longer.get_mut(1) {
                        second.0 = link;
                    }
                    longer
                }
            };
            let ends: Vec<usize> = (1..profile.nodes.len())
                .filter(|&node| refined.inclusive(node) > 0)
                .filter(|&node| ends_here(&frames_of(node), &longer))
                .collect();
            let is_below_another = |node: usize| {
                let mut at = profile.nodes.parent[node] as usize;
                while at != 0 && !ends.contains(&at) {
                    at = profile.nodes.parent[at] as usize;
                }
                at != 0
            };
            let inclusive: u64 = ends
                .iter()
                .filter(|&&node| !is_below_another(node))
                .map(|&node| refined.inclusive(node))
                .sum();
            let exclusive: u64 = ends.iter().map(|&node| refined.exclusive(node)).sum();
            let called = |node: &&usize| {
                refined.frames[refined.frame[**node].index()].kind == FrameKind::Call
            };
            let edges: u64 =
                ends.iter().filter(called).map(|&node| profile.nodes.edges.at(node)).sum();
            let calls: Vec<usize> = ends.iter().filter(called).copied().collect();
            let is_below_a_call = |&node: &usize| {
                let mut above = refined.parent[node] as usize;
                while above != 0 && !calls.contains(&above) {
                    above = refined.parent[above] as usize;
                }
                above != 0
            };
            let outermost = calls.iter().copied().filter(|node| !is_below_a_call(node));
            let edge_samples: u64 = outermost.map(|node| refined.inclusive(node)).sum();
            let row = row_of(g);
            let known = row.map_or((0, 0, 0, 0), |row| {
                let edges = match row.first().edges {
                    Edges::Range { low, .. } => low,
                    Edges::None => 0,
                };
                (row.first().inclusive, row.first().exclusive, edges, row.first().edge_samples)
            });
            prop_assert_eq!(known, (inclusive, exclusive, edges, edge_samples), "{} {:?}", g, longer);

            let stage = Stage::Where(Predicate::Through(chain_of(&longer).unwrap()));
            let through = crate::refine::Refinement { stages: vec![stage] };
            let shown = apply(&profile, &through).map_or(0, |shown| shown.shown);
            prop_assert_eq!(inclusive, shown);
        }
    }

    /// Where two profiles are compared, each side of every row is what its table alone has there.
    #[test]
    fn sides_of_a_table_are_the_tables_of_the_sides(
        base in outlines(),
        other in outlines(),
        path in paths(),
        up in any::<bool>(),
        extended in any::<bool>(),
    ) {
        let (way, reach) = (
            if up { Way::Up } else { Way::Down },
            if extended { Reach::Extended } else { Reach::Immediate },
        );
        let path = chain_of(&path);
        let of = |profile: &Profile| {
            let refined = Refined::base(profile);
            unwatched(|watch| Stopped::nested(HallTable::new(&refined, path.as_ref(), way, reach, watch))).map(|table| {
                let name = |row: &Row| refined.functions[row.function.index()].name.to_string();
                let rows = table.rows.into_iter().map(|row| (name(&row), row));
                let rows = rows.chain([("the path".to_owned(), table.path)]).map(|(name, row)| {
                    let weights = row.weights.iter();
                    let weights = weights.map(|of| (of.inclusive, of.exclusive, of.edges));
                    (name, weights.collect::<Vec<_>>())
                });
                rows.collect::<BTreeMap<_, _>>()
            })
        };
        let [base, other] = [base, other].map(|outline| from_outline(&outline).unwrap());
        let alone = [&base, &other].map(|side| of(side).unwrap_or_default());
        let both = Profile::compared(("base", base), ("other", other), &[]).unwrap();
        let Ok(both) = of(&both) else {
            prop_assert!(alone.iter().all(BTreeMap::is_empty));
            return Ok(());
        };
        for (side, alone) in alone.iter().enumerate() {
            let found = both.iter().map(|(name, sides)| (name, sides[WeightRef::SIDES[side].index()]));
            let found: BTreeMap<_, _> = found.filter(|(_, row)| row.0 > 0).collect();
            let expected = alone.iter().map(|(name, all)| (name, all[0]));
            let expected: BTreeMap<_, _> = expected.filter(|(_, row)| row.0 > 0).collect();
            prop_assert_eq!(found, expected);
        }
    }

    /// The empty path's tables are the flat view; one function's immediate callers have the
    /// exclusive cost and the edge counts that the callers view gives them.
    #[test]
    fn tables_agree_with_other_views(outline in outlines(), extended in any::<bool>()) {
        let profile = from_outline(&outline).unwrap();
        let refined = Refined::base(&profile);
        let sort = Sort::default();
        let reach = if extended { Reach::Extended } else { Reach::Immediate };
        for way in [Way::Down, Way::Up] {
            let table = unwatched(|watch| Stopped::nested(HallTable::new(&refined, None, way, reach, watch))).unwrap();
            let tree = ListedRows::of(&refined, &table, sort);
            let rows = tree.opened_children(RowId::ROOT).iter().map(|&row| tree.row(row));
            let flat: Vec<_> = flat(&refined, sort);
            let same = rows.zip(&flat).all(|(row, flat)| {
                Row { has_children: flat.has_children, ..row.clone() } == *flat
            });
            prop_assert!(same);
            prop_assert_eq!(tree.opened_children(RowId::ROOT).len(), flat.len());
        }
        let mut callers = unwatched(|watch| Callers::new(&refined, watch));
        for function in callers.children(&refined, RowId::ROOT).to_vec() {
            let name = refined.functions[callers.row(function).function.index()].name.to_string();
            let path = Chain::of(FramePattern::Exact(name));
            let table =
                unwatched(|watch| Stopped::nested(HallTable::new(&refined, Some(&path), Way::Up, Reach::Immediate, watch)))
                    .unwrap();
            let mut by_function: BTreeMap<FunctionRef, (u64, Edges)> = BTreeMap::new();
            for caller in callers.children(&refined, function).to_vec() {
                let row = callers.row(caller);
                let entry = by_function.entry(row.function).or_insert((0, Edges::None));
                entry.0 += row.first().exclusive;
                entry.1 = entry.1.plus(row.first().edges);
            }
            for row in &table.rows {
                prop_assert_eq!(by_function.get(&row.function), Some(&(row.first().exclusive, row.first().edges)));
            }
        }
    }
}
