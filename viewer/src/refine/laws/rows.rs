//! Rows are the same however they are found.

use super::execution::executions_of;
use super::*;
use crate::refine::forest::bits::Bits;
use crate::refine::select::rows::passing_both_ways;
use crate::refine::tests::handed_over;
use crate::refine::{MetricTest, Watch};

/// The nodes that are shown of rows that pass, by both ways.
fn assert_equal_both_ways(refined: &Refined, test: &MetricTest) {
    let [from_top, at_once] = passing_both_ways(refined, test, &Watch::none()).unwrap();
    let shown = |set: &Bits| set.iter().filter(|&node| refined.is_shown(node)).collect::<Vec<_>>();
    assert_eq!(shown(&from_top), shown(&at_once), "{test}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn rows_from_the_top_are_rows_at_once(
        execution in executions_of(METRICS),
        stages in prop::collection::vec(stages(), 0..3),
        test in language::metric_tests(),
    ) {
        prop_assume!(execution.metrics() == METRICS);
        assert_equal_both_ways(&applied(&execution.profile(), &stages), &test);
    }
}

/// Of `main`, thread 1 has 47 samples of one call; of `solve`, samples of calls are not told from
/// those of work for another thread.
#[test]
fn tests_of_what_an_edge_costs_leave_out_what_was_done_for_other_threads() {
    let outline = handed_over(" 3 e=2").replacen("main", "main 7", 1);
    let refined = Refined::base(&crate::profile::from_outline(&outline).unwrap());
    for (text, shown) in [
        ("samples per edge >= 47", 7),
        ("samples per edge > 47", 0),
        ("samples per edge < 10", 90),
        ("edges = 11", 3),
    ] {
        let stage = parse(&format!("node[{text}]")).unwrap().stages.remove(0);
        let Stage::Where(Predicate::Node(test)) = &stage else { unreachable!("{text}") };
        assert_equal_both_ways(&refined, test);
        assert_eq!(refined.then(&stage).unwrap().shown, shown, "{text}");
    }
}

/// Lists of rows have an end: what is more is looked up.
#[test]
fn rows_below_one_row_may_be_many() {
    let mut outline = String::new();
    for thread in 0..3 {
        outline.push_str(&format!("# thread={thread} epoch=0\nmain\n"));
        for call in 0..100 {
            // Each thread in an order of its own; some functions twice.
            let function = call * (2 * thread + 1) % 90;
            outline.push_str(&format!("  f{function} {} e=1\n    g 1 e=1\n", call % 4));
        }
    }
    let profile = crate::profile::from_outline(&outline).unwrap();
    let refined = Refined::base(&profile);
    for text in [
        "incl(samples) >= 8",
        "excl(samples) = 4",
        "excl(samples) < 3",
        "edges = 4",
        "edges >= 5",
        "samples per edge > 2",
    ] {
        let stage = parse(&format!("node[{text}]")).unwrap().stages.remove(0);
        let Stage::Where(Predicate::Node(test)) = &stage else { unreachable!("{text}") };
        assert_equal_both_ways(&refined, test);
        let kept = refined.then(&stage).unwrap().shown;
        assert!(kept > 0 && kept < refined.base, "some rows pass {text}, and others do not");
    }
}
