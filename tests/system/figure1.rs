//! Figure 1 of the ICS'05 paper: what profilers that count calls get wrong.

use csprof_tests::paths::is_share;
use csprof_tests::workshop::Workshop;

#[test]
fn a_function_costs_its_callers_what_it_did_for_each() {
    let workshop = Workshop::new("figure1");
    workshop.compile("cc -O2 -o program @figure1.c");
    // Ticks of the kernel might all miss a call.
    let recording = workshop.record(&["-e", "task-clock@200"], &["./program"]);
    let rows = recording.rows();
    let main = rows.at(&["main"]);
    let (a, b) = (rows.at(&["main", "a"]), rows.at(&["main", "b"]));
    let (c_from_a, c_from_b) = (rows.at(&["main", "a", "c"]), rows.at(&["main", "b", "c"]));

    // a and b get half of the cost each, c's included.
    assert!(is_share(a.inclusive, main.inclusive, 50), "{a:?} {main:?}");
    assert!(is_share(b.inclusive, main.inclusive, 50), "{b:?} {main:?}");
    // Every call takes many periods, so that none goes without a sample.
    assert_eq!((main.edges, a.edges, b.edges), (Some(1), Some(1), Some(1)));
    assert_eq!((c_from_a.edges, c_from_b.edges), (Some(2), Some(4)));
    // So one call of c from b costs half of one from a: the same for twice as many.
    assert!(is_share(c_from_b.inclusive, main.inclusive, 50), "{c_from_b:?}");
    assert_eq!(recording.samples().partial, 0);
}
