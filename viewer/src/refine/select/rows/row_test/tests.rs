//! Values that rows are compared with: exact, without overflow; and what
//! is said of many rows at once.

use super::*;
use crate::refine::{Predicate, Stage, parse};

fn test(text: &str) -> MetricTest {
    match parse(&format!("node[{text}]")).unwrap().stages.remove(0) {
        Stage::Where(Predicate::Node(test)) => test,
        other => panic!("{other}"),
    }
}

#[test]
fn values_are_compared_without_rounding() {
    let scale = Scale { period: 5_000_000, kilo: 1000, base: 1000, view: 400, runs: 1, times: 1 };
    let row = RowCost { inclusive: 5, exclusive: 2, edges: RowEdges::Range(2, 4) };
    for (text, holds) in [
        ("incl(time) < 0.5%", false),
        ("incl(time) <= 0.5%", true),
        ("incl(samples) = 0.5%", true),
        ("incl(time) < 0.500001%", true),
        ("excl(time) = 0.5% of view", true),
        ("excl(time) = 0.2% of base", true),
        ("incl(time) = 25ms", true),
        ("incl(time) > 24.999999ms", true),
        ("incl(time) < 0.025s", false),
        ("excl(time) = 10000us", true),
        ("excl(time) = 10000000ns", true),
        ("incl(samples) >= 5", true),
        ("incl(samples) > 4.5", true),
        // 2 to 4 edges.
        ("edges >= 2", true),
        ("edges >= 3", false),
        ("edges < 3", false),
        ("edges <= 4", true),
        ("edges = 3", false),
        ("edges != 3", false),
        ("edges != 5", true),
        // 6.25 to 12.5 ms.
        ("cost per edge > 6ms", true),
        ("cost per edge >= 6.25ms", true),
        ("cost per edge > 6.25ms", false),
        ("cost per edge < 12.5ms", false),
        ("cost per edge <= 12.5ms", true),
        ("cost per edge != 13ms", true),
        ("cost per edge != 10ms", true),
        ("cost per edge != 12.5ms", false),
        ("cost per edge = 6.25ms", false),
        ("samples per edge >= 1.25", true),
        ("samples per edge < 2.6", true),
    ] {
        assert_eq!(test(text).holds(&row, &scale), holds, "{text}");
    }
    let live = RowCost { edges: RowEdges::Range(0, 0), ..row };
    assert!(test("edges = 0").holds(&live, &scale));
    assert!(!test("cost per edge > 0ms").holds(&live, &scale));
    let inlined = RowCost { edges: RowEdges::None, ..row };
    assert!(!test("edges >= 0").holds(&inlined, &scale));
    let perhaps = RowCost { edges: RowEdges::Range(0, 4), ..row };
    // Without an edge there is no cost of one.
    for text in ["cost per edge > 6ms", "cost per edge < 1s", "cost per edge != 1ns"] {
        assert!(!test(text).holds(&perhaps, &scale), "{text}");
    }
}

#[test]
fn what_is_said_of_all_rows_below_holds_for_each() {
    let scale = Scale { period: 3, kilo: 1000, base: 40, view: 20, runs: 1, times: 1 };
    for (text, known) in [
        ("incl(samples) < 4", true),
        ("incl(samples) >= 4", true),
        ("excl(time) <= 10%", true),
        ("excl(samples) = 3", true),
        ("incl(samples) != 3", true),
        ("edges > 2", true),
        ("edges = 3", true),
        ("edges < 3", false),
        ("cost per edge > 5ns", true),
        ("samples per edge < 3", false),
    ] {
        let test = test(text);
        let mut is_known = false;
        let few = test.known(true, &scale);
        for most in 0..8 {
            assert_eq!(few.of(most), test.of_all_below(most, true, &scale), "{text}: {most}");
            let Some(answer) = few.of(most) else { continue };
            is_known = true;
            for inclusive in 0..=most {
                for other in 0..=inclusive {
                    for edges in
                        [RowEdges::None, RowEdges::Range(other, other), RowEdges::Range(0, other)]
                    {
                        let row = RowCost { inclusive, exclusive: other, edges };
                        assert_eq!(test.holds(&row, &scale), answer, "{text}: {row:?}");
                    }
                }
            }
        }
        assert_eq!(is_known, known, "{text}");
    }
}

/// By the definition: multiplied out, a number compares as the test says.
#[test]
fn the_numbers_that_pass_are_those_that_compare_so() {
    let scale = Scale { period: 3, kilo: 1000, base: 70, view: 20, runs: 1, times: 1 };
    for (value, weight, whole) in [
        ("incl(samples) # 4", 10, 40),
        ("edges # 4.5", 10, 45),
        ("excl(samples) # 10%", 100, 700),
        ("incl(samples) # 5% of view", 100, 100),
        ("excl(time) # 7ns", 3, 7),
        ("incl(time) # 0.009us", 3, 9),
        ("incl(time) # 0%", 100, 0),
    ] {
        for (comparison, sign) in Comparison::ALL {
            let test = test(&value.replace('#', sign));
            let holds = |number: u64| comparison.holds(&(number * weight), &whole);
            let asked = test.on(&scale);
            for low in 0..12 {
                for high in low..12 {
                    let all = (low..=high).all(holds);
                    let edges = RowCost { edges: RowEdges::Range(low, high), ..RowCost::default() };
                    let samples =
                        RowCost { inclusive: high, exclusive: high, ..RowCost::default() };
                    match test.quantity {
                        Quantity::Edges => assert_eq!(asked.holds(&edges), all, "{test}"),
                        _ => assert_eq!(asked.holds(&samples), holds(high), "{test}: {high}"),
                    }
                }
            }
        }
    }
}

#[test]
fn a_ratio_passes_if_those_of_all_counts_do() {
    let scale = Scale { period: 3, kilo: 1000, base: 40, view: 20, runs: 1, times: 1 };
    for (value, sample, edge) in [
        ("cost per edge # 2ns", 3, 2),
        ("cost per edge # 0ns", 3, 0),
        ("samples per edge # 1.5", 10, 15),
    ] {
        for (comparison, sign) in Comparison::ALL {
            let test = test(&value.replace('#', sign));
            let Asked::PerEdge(wide) = test.on(&scale) else { unreachable!("{test}") };
            let narrow = wide.narrow(12).unwrap();
            for samples in 0..12 {
                for high in 0..12 {
                    let holds = |edges: u64| {
                        edges > 0 && comparison.holds(&(samples * sample), &(edges * edge))
                    };
                    for low in 0..=high {
                        let all = (low..=high).all(holds);
                        let found =
                            [wide.holds(samples, (low, high)), narrow.holds(samples, (low, high))];
                        assert_eq!(found, [all; 2], "{test}: {samples} of {low} to {high}");
                    }
                }
            }
            assert!(wide.narrow(u64::MAX).is_none(), "{test}");
        }
    }
}

#[test]
fn the_greatest_values_do_not_overflow() {
    let scale =
        Scale { period: u64::MAX, kilo: 1000, base: u64::MAX, view: u64::MAX, runs: 1, times: 1 };
    let row =
        RowCost { inclusive: u64::MAX, edges: RowEdges::Range(1, u64::MAX), ..RowCost::default() };
    assert!(test("incl(time) > 999999999999s").holds(&row, &scale));
    assert!(test("incl(time) = 100%").holds(&row, &scale));
    assert!(test("cost per edge > 1s").holds(&row, &scale));
}

#[test]
fn means_of_runs_are_compared_as_rows_show_them() {
    let scale =
        |runs, times| Scale { period: 5_000_000, kilo: 1000, base: 100, view: 100, runs, times };
    let passes = |text: &str, samples: [u64; 2], runs: [u64; 2], times: [u64; 2]| {
        let scales = [scale(runs[0], times[0]), scale(runs[1], times[1])];
        let sides = samples.map(|inclusive| RowCost { inclusive, ..RowCost::default() });
        test(text).delta_holds(&sides, &scales)
    };
    // 30 samples in one run, 60 in three: 150 ms and 100 ms.
    for (text, expected) in [
        ("delta incl(time) < -49ms", true),
        ("delta incl(time) < -51ms", false),
        ("delta incl(samples) = -10", true),
    ] {
        assert_eq!(passes(text, [30, 60], [1, 3], [1, 1]), expected, "{text}");
    }
    // Three times as many workers have three times as much to do.
    for (text, expected) in [("delta incl(samples) = 5", true), ("delta incl(time) > 26ms", false)]
    {
        assert_eq!(passes(text, [10, 35], [1, 1], [3, 1]), expected, "{text}");
    }
    let row = RowCost { inclusive: 60, ..RowCost::default() };
    assert!(!test("incl(time) > 100ms").holds(&row, &scale(3, 1)));
    assert!(test("incl(samples) >= 20").holds(&row, &scale(3, 1)));
}
