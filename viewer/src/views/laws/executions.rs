//! Edge counts of rows, held against executions: every count that a view shows has the true one in
//! its bounds, before and after refinement.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{all_rows, indexed};
use crate::profile::{FrameKind, Profile};
use crate::refine::laws::execution::{Activation, Execution, Sample, executions, executions_of};
use crate::refine::laws::reference::{self, World};
use crate::refine::laws::{language, told_apart};
use crate::refine::{Chain, Link, Refined, Stopped, parse, unwatched};
use crate::views::callers::Callers;
use crate::views::flat::flat;
use crate::views::hall::{HallTable, Reach, Way};
use crate::views::number::{Form, edges};
use crate::views::top_down::TopDown;
use crate::views::tree::{Direction, RowId, RowTree};
use crate::views::{Edges, Row, Sort};

/// Returns of some activations.
struct Returns {
    number: u64,
    /// Whether returns of some of these activations are counted.
    are_counted: bool,
    /// Whether there is something that is called, of whose returns a count could be known.
    are_calls: bool,
    /// Whether none of it is told from work for other threads.
    are_of_one: bool,
}

/// The returns of the activations at these places of the samples' paths.
fn returns<'s>(
    samples: &'s [Sample],
    world: &World<'_>,
    places: impl Fn(&'s [Activation]) -> Vec<usize>,
) -> Returns {
    let mut returned = BTreeSet::new();
    let mut are_counted = false;
    let mut are_calls = false;
    let mut are_of_one = true;
    for sample in samples {
        let mixed = |id| sample.inverted && world.has_handovers() || world.mixed.contains(&id);
        for place in places(&sample.path) {
            are_of_one &= !sample.path[place].counted.is_some_and(mixed);
            returned.extend(world.returned(&sample.path[place]));
            are_counted |= world.has_edges() && reference::is_counted(&sample.path, place);
            are_calls |= world.has_edges() && sample.path[place].counted.is_some();
        }
    }
    Returns { number: returned.len() as u64, are_counted, are_calls, are_of_one }
}

/// What is shown of edges is true of these returns; it is nothing only where none are counted.
fn check(shown: Edges, returns: Returns, row: &str) -> Result<(), TestCaseError> {
    let returned = returns.number;
    let Edges::Range { low, high } = shown else {
        let may_be_blank = returned == 0 && !returns.are_of_one;
        prop_assert!(!returns.are_counted || may_be_blank, "{}: {} in no edges", row, returned);
        return Ok(());
    };
    prop_assert!(returns.are_calls, "{}: {:?} where nothing is called", row, shown);
    prop_assert!((low..=high).contains(&returned), "{}: {} in {:?}", row, returned, shown);
    let text = edges(shown, Form::Ascii);
    let number = if text == "running" { Some(0) } else { text.replace(' ', "").parse().ok() };
    prop_assert!(number.is_none_or(|number: u64| number == returned), "{}: {}", row, text);
    Ok(())
}

/// Function and kind of a row, and of those above it, innermost first.
fn names<D: Direction>(
    tree: &RowTree<D>,
    refined: &Refined,
    row: RowId,
) -> Vec<(String, FrameKind)> {
    let rows = std::iter::successors(Some(row), |&row| tree.parent(row));
    let named = rows.filter(|&row| row != RowId::ROOT).map(|row| named(refined, tree.row(row)));
    named.collect()
}

fn named(refined: &Refined, row: &Row) -> (String, FrameKind) {
    (refined.functions[row.function.index()].name.to_string(), row.kind)
}

fn is(frame: &Activation, row: &(String, FrameKind)) -> bool {
    *frame.name == *row.0 && frame.kind == row.1
}

/// The end of each path that begins like this.
fn end_of(path: &[Activation], row: &[(String, FrameKind)]) -> Vec<usize> {
    let is_on = path.len() >= row.len() && row.iter().rev().zip(path).all(|(row, at)| is(at, row));
    if is_on { vec![row.len() - 1] } else { Vec::new() }
}

/// Places of the first function of a row of callers that are called along it.
fn called_along(path: &[Activation], row: &[(String, FrameKind)]) -> Vec<usize> {
    let (called, callers) = row.split_last().unwrap();
    let is_so = |&place: &usize| {
        let outward = path[..place].iter().rev().map(Some).chain([None]);
        *path[place].name == *called.0
            && callers.len() <= place + 1
            && callers.iter().rev().zip(outward).all(|(row, at)| match at {
                Some(at) => is(at, row),
                None => row.1 == FrameKind::Root,
            })
    };
    (0..path.len()).filter(is_so).collect()
}

/// How a frame of a path follows the one before it, and whether a frame is one of these.
type Step<'t> = (Link, &'t dyn Fn(&Activation) -> bool);

/// Whether a match of these frames ends at a place.
fn ends_at(frames: &[Step<'_>], path: &[Activation], place: usize) -> bool {
    let Some(((link, is), outer)) = frames.split_last() else { return true };
    if !is(&path[place]) {
        return false;
    }
    match (outer, link) {
        ([], _) => true,
        (_, Link::Direct) => place > 0 && ends_at(outer, path, place - 1),
        (_, Link::Below) => (0..place).any(|above| ends_at(outer, path, above)),
    }
}

/// The first of some places where something is called.
fn outermost(path: &[Activation], places: Vec<usize>) -> Vec<usize> {
    places.into_iter().find(|&place| reference::is_own_call(&path[place])).into_iter().collect()
}

/// The same of the outermost of these activations on each path, as far as they are timed.
fn outer_returns<'s>(
    refined: &Refined,
    samples: &'s [Sample],
    timed: &'s [Sample],
    world: &World<'_>,
    places: impl Fn(&'s [Activation]) -> Vec<usize>,
) -> Returns {
    let Returns { are_of_one, .. } = returns(samples, world, &places);
    let places = |path| outermost(path, places(path));
    let Returns { are_calls, .. } = returns(samples, world, places);
    let of_timed = returns(timed, world, places);
    let are_counted = of_timed.are_counted && are_of_one && refined.knows_outermost();
    Returns { are_calls, are_counted, are_of_one, ..of_timed }
}

/// Where there is a cost per edge, no sample is in it that is not of such an activation.
fn check_timed<'s>(
    row: &Row,
    samples: &'s [Sample],
    places: impl Fn(&'s [Activation]) -> Vec<usize>,
    text: &str,
) -> Result<(), TestCaseError> {
    let weight = row.first();
    if weight.outer_edges == Edges::None {
        return Ok(());
    }
    let is_of_one = |sample: &&'s Sample| {
        sample.metric == 0 && !outermost(&sample.path, places(&sample.path)).is_empty()
    };
    let of_own: u64 = samples.iter().filter(is_of_one).map(|sample| sample.weight).sum();
    prop_assert!(weight.edge_samples <= of_own, "{}: {} of {}", text, weight.edge_samples, of_own);
    Ok(())
}

/// The samples whose edges are timed: before all stages, not where a path is not whole.
fn timed(refined: &Refined, samples: &[Sample]) -> Vec<Sample> {
    let is_timed = |sample: &&Sample| {
        let is_whole = |frame: &Activation| frame.kind != FrameKind::Partial;
        !refined.outcomes.is_empty() || sample.path.iter().all(is_whole)
    };
    samples.iter().filter(is_timed).cloned().collect()
}

fn check_trees(
    refined: &Refined,
    samples: &[Sample],
    world: &World<'_>,
) -> Result<(), TestCaseError> {
    let (refined, samples) = (&told_apart(refined), &reference::in_order(samples)[..]);
    let timed = timed(refined, samples);
    let mut tree = unwatched(|watch| TopDown::new(refined, watch));
    for id in all_rows(&mut tree, refined) {
        let row = names(&tree, refined, id);
        let returned = returns(samples, world, |path| end_of(path, &row));
        let weight = tree.row(id).first();
        check(weight.edges, returned, &format!("{row:?}"))?;
        // What is called there is called once on a path, in the row.
        let is_blank = weight.outer_edges == Edges::None && world.has_handovers();
        prop_assert!(is_blank || weight.outer_edges == weight.edges, "{:?}", row);
        check_timed(tree.row(id), samples, |path| end_of(path, &row), &format!("{row:?}"))?;
    }
    for row in flat(refined, Sort::default()) {
        let (name, kind) = named(refined, &row);
        let here = |path: &[Activation]| {
            (0..path.len()).filter(|&place| *path[place].name == *name).collect()
        };
        check(row.first().edges, returns(samples, world, here), &format!("{name} {kind:?}"))?;
        let returned = outer_returns(refined, samples, &timed, world, here);
        check(row.first().outer_edges, returned, &format!("outermost {name}"))?;
        check_timed(&row, samples, here, &name)?;
    }
    let alone = unwatched(|watch| Callers::new(refined, watch));
    for mut callers in [alone, indexed(refined)] {
        for id in all_rows(&mut callers, refined) {
            let row = names(&callers, refined, id);
            let returned = returns(samples, world, |path| called_along(path, &row));
            check(callers.row(id).first().edges, returned, &format!("callers {row:?}"))?;
            let here = |path| called_along(path, &row);
            let returned = outer_returns(refined, samples, &timed, world, here);
            check(
                callers.row(id).first().outer_edges,
                returned,
                &format!("outermost callers {row:?}"),
            )?;
            check_timed(callers.row(id), samples, here, &format!("callers {row:?}"))?;
        }
    }
    Ok(())
}

fn check_tables(
    refined: &Refined,
    samples: &[Sample],
    world: &World<'_>,
    path: &Chain,
) -> Result<(), TestCaseError> {
    let (refined, samples) = (&told_apart(refined), &reference::in_order(samples)[..]);
    let path = Chain { from_root: false, to_leaf: false, ..path.clone() };
    let patterns = std::iter::once((Link::Below, &path.first))
        .chain(path.rest.iter().map(|(link, pattern)| (*link, pattern)));
    type Test<'t> = Box<dyn Fn(&Activation) -> bool + 't>;
    let tests: Vec<(Link, Test<'_>)> = patterns
        .map(|(link, pattern)| {
            let test: Test<'_> = Box::new(move |frame| reference::matches(pattern, frame));
            (link, test)
        })
        .collect();
    let timed = timed(refined, samples);
    let ends = |frames: &[Step<'_>], path: &[Activation]| {
        (0..path.len()).filter(|&place| ends_at(frames, path, place)).collect::<Vec<_>>()
    };
    let check_row = |row: &Row, frames: &[Step<'_>], text: &str| {
        check(row.first().edges, returns(samples, world, |path| ends(frames, path)), text)?;
        let here = |path| ends(frames, path);
        let returned = outer_returns(refined, samples, &timed, world, here);
        check(row.first().outer_edges, returned, &format!("outermost {text}"))?;
        check_timed(row, samples, here, text)
    };
    for (way, reach) in [
        (Way::Down, Reach::Immediate),
        (Way::Down, Reach::Extended),
        (Way::Up, Reach::Immediate),
        (Way::Up, Reach::Extended),
    ] {
        let Ok(table) = unwatched(|watch| {
            Stopped::nested(HallTable::new(refined, Some(&path), way, reach, watch))
        }) else {
            return Ok(());
        };
        let own: Vec<Step<'_>> = tests.iter().map(|(link, test)| (*link, &**test)).collect();
        check_row(&table.path, &own, &format!("{path}"))?;
        for row in table.rows.iter().filter(|row| row.kind != FrameKind::Root) {
            let (name, _) = named(refined, row);
            let is_row = |frame: &Activation| *frame.name == *name;
            let mut longer = own.clone();
            match way {
                Way::Down => longer.push((reach.link(), &is_row)),
                Way::Up => {
                    longer[0].0 = reach.link();
                    longer.insert(0, (Link::Below, &is_row));
                }
            }
            check_row(row, &longer, &format!("{path} {way:?} {reach:?} {name}"))?;
        }
    }
    Ok(())
}

/// Rows of a comparison, each side against its own run.
fn check_sides(
    profile: &Profile,
    runs: [&Execution; 2],
    stages: &str,
) -> Result<(), TestCaseError> {
    let mut refined = Refined::base(profile);
    let mut samples = runs.map(Execution::samples);
    let worlds = runs.map(World::of);
    for stage in parse(stages).unwrap().stages {
        let Ok(next) = refined.then(&stage) else { continue };
        refined = next;
        for (samples, world) in samples.iter_mut().zip(&worlds) {
            *samples = reference::apply(&stage, std::mem::take(samples), world);
        }
    }
    let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
    for id in all_rows(&mut tree, &refined) {
        let row = names(&tree, &refined, id);
        let sides = tree.row(id).sides();
        for ((side, samples), world) in sides.iter().zip(&samples).zip(&worlds) {
            let returned = returns(samples, world, |path| end_of(path, &row));
            check(side.edges, returned, &format!("{row:?} of a side after {stages}"))?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn edge_counts_of_rows_are_true(
        execution in executions(),
        stages in prop::collection::vec(language::stages(), 0..4),
        paths in prop::collection::vec(language::chains(), 1..3),
    ) {
        let profile = execution.profile();
        let world = World::of(&execution);
        let mut samples = execution.samples();
        let mut refined = Refined::base(&profile);
        for stage in stages.iter().filter(|stage| !reference::tests_edges(stage)) {
            let Ok(next) = refined.then(stage) else { continue };
            refined = next;
            samples = reference::apply(stage, samples, &world);
        }
        check_trees(&refined, &samples, &world)?;
        for path in &paths {
            check_tables(&refined, &samples, &world, path)?;
        }
    }

    #[test]
    fn edge_counts_of_sides_are_true(
        base in executions_of(1),
        other in executions_of(1),
        stages in prop::sample::select(vec![
            "", "through a", "not through b", "hide a | leaf c", "group {a, b} as G | under G",
            "root at c", "fold a", "callers of b", "callers of a | through c",
        ]),
    ) {
        let sides = [("base", base.profile()), ("other", other.profile())];
        let [base_side, other_side] = sides;
        let profile = Profile::compared(base_side, other_side, &[]).unwrap();
        check_sides(&profile, [&base, &other], stages)?;
    }
}
