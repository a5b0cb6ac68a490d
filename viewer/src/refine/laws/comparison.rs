//! Refining two profiles that are compared is comparing two refined profiles.

use super::execution::executions_of;
use super::*;
use crate::refine::tests::handed_over;
use crate::refine::{Cause, Metric, MetricTest, Quantity, Sides, Unit, Value};

/// Costs without edge counts, threads counted from `first`.
fn costs(paths: BTreeMap<Path, Cost>, first: usize) -> BTreeMap<Path, (u64, u64)> {
    let moved = |((thread, path), cost): (Path, Cost)| {
        ((thread + first, path), (cost.inclusive[0], cost.exclusive[0]))
    };
    paths.into_iter().map(moved).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Stages do to each side of a profile of two sides what they do to the side alone. A pattern
    /// has to match on one side only. Tests look at rows of both sides together, and are left out.
    #[test]
    fn stages_do_to_both_sides_what_they_do_to_each(
        base in executions_of(1),
        other in executions_of(1),
        stages in prop::collection::vec(language::path_stages(), 0..4),
    ) {
        let both = [("base", base.profile()), ("other", other.profile())];
        let [base_side, other_side] = both;
        let profile = Profile::compared(base_side, other_side, &[]).unwrap();
        let mut samples = [base.samples(), other.samples()];
        let worlds = [World::of(&base), World::of(&other)];
        let mut refined = Refined::base(&profile);
        // Two runs have two clocks.
        let stages = stages.iter().filter(|stage| !matches!(stage, Stage::During(_)));
        for stage in stages {
            let Ok(next) = refined.then(stage) else {
                let mut sides = samples.iter().zip(&worlds);
                let unmatched = sides.all(|(samples, world)| reference::is_refused(stage, samples, world));
                prop_assert!(unmatched, "{} matches on one side", stage);
                continue;
            };
            refined = next;
            let mut world = worlds.iter();
            samples =
                samples.map(|samples| reference::apply(stage, samples, world.next().unwrap()));
            assert_sound(&refined);
            let mut expected = costs(reference::paths(&samples[0], &worlds[0]), 0);
            expected.extend(costs(reference::paths(&samples[1], &worlds[1]), Execution::THREADS));
            prop_assert_eq!(costs(shown(&refined), 0), expected, "after {}", stage);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// A test of one side keeps the rows on both sides that it would keep of that side alone, and a
    /// test of a difference those whose costs on the two sides differ so.
    #[test]
    fn tests_of_a_side_ask_it_alone(
        base in executions_of(1),
        other in executions_of(1),
        test in language::metric_tests(),
        of in prop::sample::select(vec![Sides::Base, Sides::Other, Sides::Delta]),
        negative in any::<bool>(),
    ) {
        prop_assume!(of != Sides::Delta || test.quantity.has_delta());
        // What an edge costs is not made of the sums of a row where threads work for others.
        let have_handovers = base.has_handovers() || other.has_handovers();
        let is_per_edge = test.is_of_edges() && test.quantity != Quantity::Edges;
        prop_assume!(!have_handovers || !is_per_edge);
        let negative = negative && of == Sides::Delta && test.value.digits > 0;
        let test = MetricTest { of, value: Value { negative, ..test.value }, ..test };
        let sides = [base.profile(), other.profile()];
        let [base_side, other_side] = sides.clone();
        let profile = Profile::compared(("base", base_side), ("other", other_side), &[]).unwrap();
        let refined = Refined::base(&profile);
        if test.quantity.metric() == Some(&Metric::Source("realtime".to_owned())) {
            let error = refined.then(&Stage::Where(Predicate::Node(test))).unwrap_err();
            let there = vec!["cputime".to_owned()];
            prop_assert_eq!(error.cause, Cause::NoMetric { there, compared: true });
            return Ok(());
        }
        let kept = refined.then(&Stage::Where(Predicate::Node(test.clone()))).unwrap();
        assert_sound(&kept);
        let rows = sides.each_ref().map(|side| rows(&Refined::base(side)));
        let totals = sides.each_ref().map(Profile::total);
        let cost = |path: &Vec<_>| {
            [0, 1].map(|side: usize| rows[side].get(path).copied().unwrap_or_default())
        };
        let mut expected = self::rows(&refined);
        expected.retain(|path, row| {
            let passes = match of {
                Sides::Delta => differ_so(&test, cost(path), totals),
                _ => {
                    let side = usize::from(of == Sides::Other);
                    let (inclusive, exclusive, edges) = cost(path)[side];
                    let samples = [inclusive, exclusive];
                    reference::passes(&test, samples, edges, 5_000_000, [totals[side]; 2])
                }
            };
            row.1 > 0 && passes
        });
        let mut found = self::rows(&kept);
        found.retain(|_, row| row.1 > 0);
        let exclusive = |rows: BTreeMap<Vec<_>, Row>| {
            rows.into_iter().map(|(path, row)| (path, row.1)).collect::<Vec<_>>()
        };
        prop_assert_eq!(exclusive(found), exclusive(expected), "{}", test);
    }
}

/// Inclusive and exclusive samples and edges of a row.
type Row = (u64, u64, Option<(u64, u64)>);

/// The rows that a forest shows, all threads together.
fn rows(refined: &Refined) -> BTreeMap<Vec<(String, FrameKind)>, Row> {
    let mut rows: BTreeMap<_, Row> = BTreeMap::new();
    for ((_, path), cost) in shown(refined) {
        let row = rows.entry(path).or_default();
        row.0 += cost.inclusive[0];
        row.1 += cost.exclusive[0];
        if cost.counted {
            let (low, high) = row.2.unwrap_or_default();
            row.2 = Some((low + cost.edges_low, high + cost.edges_high));
        }
    }
    rows
}

/// What a test of a difference says, by what it means: shares of each side in percent, samples, or
/// time.
fn differ_so(test: &MetricTest, cost: [Row; 2], totals: [u64; 2]) -> bool {
    let [base, other] = cost.map(|(inclusive, exclusive, _)| match test.quantity {
        Quantity::Exclusive(_) => i128::from(exclusive),
        _ => i128::from(inclusive),
    });
    let [base_total, other_total] = totals.map(|total| i128::from(total.max(1)));
    let value = i128::from(test.value.digits) * if test.value.negative { -1 } else { 1 };
    let (difference, value) = match test.value.unit {
        Unit::One => (other - base, value),
        Unit::Percent(_) => {
            (100 * (other * base_total - base * other_total), value * base_total * other_total)
        }
        unit => (5_000_000 * (other - base), value * reference::nanoseconds(unit)),
    };
    let scale = 10_i128.pow(test.value.decimals);
    reference::compares(test.comparison, difference * scale, value)
}

/// Time is that of each side's own samples, whatever one of them stands for.
#[test]
fn tests_of_time_weigh_each_side_by_its_period() {
    let side = |outline: &str, period: u64| {
        let mut side = crate::profile::from_outline(outline).unwrap();
        side.info.metric.period = period;
        side
    };
    let (slow, fast) = (side("main 10\n  f 10\n", 4_000_000), side("main 20\n  f 60\n", 1_000_000));
    let profile = Profile::compared(("base", slow), ("other", fast), &[]).unwrap();
    let keeps = |text: &str| apply(&profile, &parse(text).unwrap()).unwrap().shown == 70;
    // f has 40 ms of 80 in BASE, 60 of 80 in OTHER.
    for (test, holds) in [
        ("incl(time) = 100ms", true),
        ("incl(time) = 62.5%", true),
        ("base incl(time) = 40ms", true),
        ("base excl(time) = 50%", true),
        ("other incl(time) = 60ms", true),
        ("other incl(samples) = 75%", true),
        ("delta incl(time) = 20ms", true),
        ("delta incl(time) = 25%", true),
        ("delta incl(time) > 25%", false),
        ("delta incl(samples) = 50", true),
        ("delta excl(time) < 20.000001ms", true),
        ("delta excl(time) > -1s", true),
    ] {
        assert_eq!(keeps(&format!("leaf f and node[{test}]")), holds, "{test}");
    }
}

#[test]
fn a_side_is_asked_for_where_two_profiles_are_compared() {
    let profile = crate::profile::from_outline("main 10\n  f 60\n").unwrap();
    for text in ["node[base incl(time) > 1%]", "small delta incl(time) < 1%"] {
        let error = apply(&profile, &parse(text).unwrap()).unwrap_err();
        assert_eq!(error.cause, Cause::NotCompared);
        assert!(text.contains(&error.part), "{}", error.part);
    }
}

/// As the page on the language says: a row is that of both sides, and so is what its share is of.
#[test]
fn tests_of_rows_look_at_both_sides_together() {
    let side = |outline: &str| crate::profile::from_outline(outline).unwrap();
    let base = ("base", side("main 10\n  f 60\n  g 30\n"));
    let other = ("other", side("main 280\n  f 20\n"));
    let profile = Profile::compared(base, other, &[]).unwrap();
    let kept = |text: &str| apply(&profile, &parse(text).unwrap()).unwrap().shown;
    // f is 60 % and 7 % of the sides, and 20 % of both; g is 30 % of one, and 7.5 % of both.
    assert_eq!(kept("leaf f and node[incl(samples) = 20%]"), 80);
    assert_eq!(kept("leaf g and node[incl(samples) = 7.5% of base]"), 30);
    assert_eq!(kept("leaf f and node[incl(samples) > 20%]"), 0);
    assert_eq!(kept("leaf f and node[incl(samples) = 80]"), 80);
}

/// Where one side's calls have done work for other threads below them, the two together have no
/// cost per edge, whether samples of the two stand for the same time or not.
#[test]
fn a_side_that_worked_for_others_leaves_both_without_a_cost_per_edge() {
    let plain = "main e=1\n  solve 7 e=9\n    work 40 e=20\n";
    let mixed = &handed_over(" 3 e=2");
    for (sides, shown) in [([plain, plain], 14), ([mixed, plain], 0), ([plain, mixed], 0)] {
        for period in [5_000_000, 1_000_000] {
            let [base, mut other] = sides.map(|side| crate::profile::from_outline(side).unwrap());
            other.info.metric.period = period;
            let profile = Profile::compared(("base", base), ("other", other), &[]).unwrap();
            for before in ["", "root at main | "] {
                let text = format!("{before}leaf solve and node[cost per edge > 0ms]");
                let kept = apply(&profile, &parse(&text).unwrap()).unwrap().shown;
                assert_eq!(kept, shown, "{text}, every {period} ns: {sides:?}");
            }
        }
    }
}

/// A profile that was recorded without the trampoline has no edges, nor has what it is compared
/// with.
#[test]
fn edges_are_asked_for_where_they_were_recorded() {
    let with = crate::profile::from_outline("main 10\n  f 60 e=3\n").unwrap();
    let mut without = with.clone();
    without.info.run.trampoline = false;
    let compared = |base: &Profile| {
        let [base, other] = [base, &with].map(Clone::clone);
        Profile::compared(("base", base), ("other", other), &[]).unwrap()
    };
    for text in [
        "small edges < 3",
        "node[edges = 0]",
        "not node[cost per edge > 1ms]",
        "node[samples per edge < 3]",
    ] {
        let refinement = parse(text).unwrap();
        for (profile, why) in [
            (&without, "recorded without the return trampoline"),
            (&compared(&without), "one of the two was recorded without"),
        ] {
            let error = apply(profile, &refinement).unwrap_err();
            assert!(text.contains(&error.part), "{}", error.part);
            let text = error.to_string();
            assert!(text.contains(&format!("edge counts, and there are none: {why}")), "{text}");
        }
        for profile in [&with, &compared(&with)] {
            assert!(apply(profile, &refinement).is_ok(), "{text}");
        }
    }
}
