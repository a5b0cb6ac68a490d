//! The laws of comparisons, checked on random trees: Diff(A, A) = 0 and Diff(A, B) = −Diff(B, A).

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::listing::{Limits, Line};
use super::listing::list;
use super::{Options, comparison, total};
use crate::profile::comparison::Scale;
use crate::profile::{Profile, from_outline};
use crate::refine::{Refined, apply, parse};
use crate::views::difference::{Change, Difference};
use crate::views::laws::outlines;
use crate::views::{Cost, View, Weight, shown_of_sides};

/// Samples of BASE and OTHER in a row: inclusive, exclusive.
type Costs = [[u64; 2]; 2];

fn compared(base: &str, other: &str, periods: [u64; 2], scale: Scale) -> Profile {
    let [mut base, mut other] = [base, other].map(|text| from_outline(text).unwrap());
    (base.info.metric.period, other.info.metric.period) = (periods[0], periods[1]);
    let mut profile = Profile::compared(("base", base), ("other", other), &[]).unwrap();
    profile.comparison.as_mut().unwrap().scale = scale;
    profile
}

fn costs(line: &Line) -> Costs {
    let sides = line.row.sides();
    [sides.map(|counts| counts.inclusive), sides.map(|counts| counts.exclusive)]
}

/// Every row by its path.
fn rows(refined: &Refined, options: &Options) -> BTreeMap<Vec<String>, Costs> {
    let mut path: Vec<String> = Vec::new();
    let mut rows = BTreeMap::new();
    for line in list(refined, options, Limits::for_machines(options)).lines {
        let function = &refined.functions[line.row.function.index()];
        let module = function.module.map_or("", |module| refined.profile.module_path(module));
        let name = format!("{} {}", function.name, module.rsplit('/').next().unwrap_or(module));
        assert!(line.depth as usize <= path.len(), "a row comes below the row above it");
        path.truncate(line.depth as usize);
        path.push(format!("{name} {:?}", line.row.kind));
        assert!(rows.insert(path.clone(), costs(&line)).is_none(), "{path:?} is there once");
    }
    rows
}

fn views() -> impl Strategy<Value = Options> {
    let view = prop_oneof![Just(View::TopDown), Just(View::Callers), Just(View::Flat)];
    view.prop_map(|view| Options { view, depth: Some(9), ..Options::default() })
}

fn scales() -> impl Strategy<Value = Scale> {
    prop_oneof![Just(Scale::Amount), Just(Scale::Share)]
}

/// The laws on recorded runs: an MPI program and a compiler (`tests/fixtures/README.md`).
#[test]
fn recorded_runs_differ_as_random_trees_do() {
    const MPI: &[u8] = include_bytes!("../../../tests/fixtures/mpi_exchange.csprof");
    const COMPILER: &[u8] = include_bytes!("../../../tests/fixtures/cc1plus.csprof");
    let compared = |sides: [&[u8]; 2]| {
        let [base, other] =
            sides.map(|bytes| Profile::from_saved(csprof_format::read::read(bytes).unwrap()));
        Profile::compared(("base", base), ("other", other), &[]).unwrap()
    };
    let [same, forth, back] = [[MPI, MPI], [MPI, COMPILER], [COMPILER, MPI]].map(compared);
    for stage in ["", "through {MPI_*, memcpy} | hide @libc", "by module"] {
        let stage = parse(stage).unwrap();
        let [same, forth, back] = [&same, &forth, &back].map(|side| apply(side, &stage).unwrap());
        assert_eq!(total(&same).change(), Change::Same);
        for view in [View::TopDown, View::Callers, View::Flat] {
            let depth = Some(if view == View::Callers { 2 } else { 9 });
            let options = Options { view, depth, ..Options::default() };
            let delta = |refined: &Refined, costs: &Costs| {
                costs.map(|samples| comparison(refined).delta(samples))
            };
            assert!(rows(&same, &options).values().all(|costs| delta(&same, costs) == [0, 0]));
            let (there, again) = (rows(&forth, &options), rows(&back, &options));
            assert_eq!(there.len(), again.len());
            for (path, costs) in &there {
                let [inclusive, exclusive] = delta(&back, &again[path]);
                assert_eq!(delta(&forth, costs), [-inclusive, -exclusive], "{path:?}");
            }
        }
        let [base, other] = shown_of_sides(&forth);
        assert_eq!([other, base], shown_of_sides(&back));
        assert_eq!(base + other + forth.out, forth.base);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_profile_does_not_differ_from_itself(
        outline in outlines(),
        period in 1..5_u64,
        scale in scales(),
        options in views(),
    ) {
        let profile = compared(&outline, &outline, [period; 2], scale);
        let refined = Refined::base(&profile);
        prop_assert_eq!(total(&refined).change(), Change::Same);
        for (path, costs) in rows(&refined, &options) {
            let delta = costs.map(|samples| comparison(&refined).delta(samples));
            prop_assert_eq!(delta, [0, 0], "{:?}", path);
        }
        // A text shows nothing then.
        let text = list(&refined, &options, Limits::for_text(&options));
        prop_assert!(text.lines.is_empty() || refined.shown == 0);
    }

    #[test]
    fn the_other_way_round_signs_are_the_other_way_round(
        base in outlines(),
        other in outlines(),
        periods in [1..5_u64, 1..5_u64],
        scale in scales(),
        options in views(),
    ) {
        let forth = compared(&base, &other, periods, scale);
        let back = compared(&other, &base, [periods[1], periods[0]], scale);
        let (forth, back) = (Refined::base(&forth), Refined::base(&back));
        let (there, again) = (rows(&forth, &options), rows(&back, &options));
        prop_assert_eq!(there.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
        for (path, costs) in &there {
            let swapped = again[path].map(|[base, other]| [other, base]);
            prop_assert_eq!(costs, &swapped);
            for (samples, reversed) in costs.iter().zip(again[path]) {
                let (a, b) = (comparison(&forth), comparison(&back));
                prop_assert_eq!(a.delta(*samples), -b.delta(reversed));
                prop_assert_eq!(a.noise(*samples), b.noise(reversed));
            }
        }
    }

    /// Both sides account for every sample: exclusive costs of the top-down rows are what is shown.
    #[test]
    fn rows_of_each_side_add_up(base in outlines(), other in outlines(), stage in 0..3_usize) {
        let profile = compared(&base, &other, [1, 1], Scale::Amount);
        let stage = ["", "hide alpha", "not through beta"][stage];
        let Ok(refined) = apply(&profile, &parse(stage).unwrap()) else { return Ok(()) };
        let all = rows(&refined, &Options::default());
        let sum = |side: usize| all.values().map(|[_, exclusive]| exclusive[side]).sum::<u64>();
        prop_assert_eq!([sum(0), sum(1)], shown_of_sides(&refined));
        prop_assert_eq!(sum(0) + sum(1) + refined.out, refined.base);
    }

    /// Of several runs each row has what it has in every run, and both sides have their sums,
    /// before and after refinements and in all views.
    #[test]
    fn rows_of_runs_add_up_to_those_of_sides(
        outlines in proptest::collection::vec(outlines(), 3..6),
        split in 1..3_usize,
        is_refined in any::<bool>(),
        options in views(),
    ) {
        let run = |(number, outline): (u64, &String)| {
            let mut run = from_outline(outline).unwrap();
            run.info.run.start_unix_ns = number;
            (format!("run{number}"), run)
        };
        let mut base: Vec<_> = (0..).zip(&outlines).map(run).collect();
        let singles = base.clone();
        let other = base.split_off(split);
        let profile = Profile::compared_runs([base, other], None, &[]).unwrap();
        let text = if is_refined { "not f" } else { "" };
        let refined = apply(&profile, &parse(text).unwrap());
        let refined = refined.unwrap_or_else(|_| Refined::base(&profile));
        let lines = list(&refined, &options, Limits::for_machines(&options)).lines;
        for line in &lines {
            let weights = &line.row.weights;
            prop_assert_eq!(weights.len(), 3 + outlines.len());
            for of in [|weight: &Weight| weight.inclusive, |weight: &Weight| weight.exclusive] {
                let runs: Vec<u64> = weights[3..].iter().map(of).collect();
                prop_assert_eq!(of(&weights[1]), runs[..split].iter().sum::<u64>());
                prop_assert_eq!(of(&weights[2]), runs[split..].iter().sum::<u64>());
            }
        }
        if !is_refined {
            let shown = crate::views::shown_of_runs(&refined);
            let totals: Vec<u64> = singles.iter().map(|(_, run)| run.total()).collect();
            prop_assert_eq!(&shown[2..], &totals[..]);
        }
    }

    /// However often a run is repeated without any spread, the difference is the same, and runs do
    /// not differ from their like.
    #[test]
    fn equal_runs_have_no_significant_difference(
        outline in outlines(),
        runs in [1..4_u64, 2..4_u64],
        scale in scales(),
        options in views(),
    ) {
        let mut start = 0;
        let sides = runs.map(|runs| {
            let copies = (0..runs).map(|_| {
                let mut run = from_outline(&outline).unwrap();
                start += 1;
                run.info.run.start_unix_ns = start;
                (start.to_string(), run)
            });
            copies.collect::<Vec<_>>()
        });
        let mut profile = Profile::compared_runs(sides, None, &[]).unwrap();
        profile.comparison.as_mut().unwrap().scale = scale;
        let refined = Refined::base(&profile);
        let comparison = comparison(&refined);
        for line in list(&refined, &options, Limits::for_machines(&options)).lines {
            for cost in [Cost::Inclusive, Cost::Exclusive] {
                let of = Difference::new(comparison, cost.of_runs(&line.row));
                prop_assert_eq!((of.change(), of.is_significant()), (Change::Same, false));
                prop_assert_eq!(of.plain_delta(), 0);
            }
        }
    }

    /// A limit keeps what differs most; a threshold keeps all that differs by so much.
    #[test]
    fn what_differs_most_is_shown(
        base in outlines(),
        other in outlines(),
        limit in 0..6_usize,
        threshold in 1..60_u32,
    ) {
        let profile = compared(&base, &other, [1, 1], Scale::Amount);
        let refined = Refined::base(&profile);
        let all = rows(&refined, &Options::default());
        let delta = |costs: &Costs| costs[0][0].abs_diff(costs[0][1]);

        let few = rows(&refined, &Options { limit: Some(limit), ..Options::default() });
        prop_assert_eq!(few.len(), limit.min(all.len()));
        let matters = |path: &Vec<String>| {
            let below = all.iter().filter(|(other, _)| other.starts_with(path));
            below.map(|(_, costs)| delta(costs)).max().unwrap_or(0)
        };
        let kept = few.keys().map(&matters).min();
        let left = all.keys().filter(|path| !few.contains_key(*path)).map(&matters).max();
        prop_assert!(kept.is_none() || left <= kept, "{:?} was left out, {:?} kept", left, kept);

        let options = Options { threshold: Some(f64::from(threshold)), ..Options::default() };
        let large = rows(&refined, &options);
        let [base, other] = shown_of_sides(&refined);
        let wanted = |costs: &Costs| 100 * delta(costs) >= u64::from(threshold) * base.max(other);
        for (path, costs) in &all {
            prop_assert!(large.contains_key(path) || !wanted(costs), "{:?}", path);
        }
        let least = u64::from(threshold) * base.max(other);
        prop_assert!(large.keys().all(|path| 100 * matters(path) >= least));
    }
}
