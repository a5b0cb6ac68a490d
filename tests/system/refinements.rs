//! Refinements on a recorded profile: what is shown and what is left out are all there was.

use csprof_tests::workshop::Workshop;

#[test]
fn shown_and_left_out_are_what_was_measured() {
    let workshop = Workshop::new("refinements");
    workshop.compile("cc -O2 -o program @figure1.c");
    let recording = workshop.record(&[], &["./program"]);
    let all = recording.rows();
    let (a, b) = (all.inclusive_of("a"), all.inclusive_of("b"));
    // Each report is held against the law when it is read; see `Rows::new`.
    let shown = |refinement: &str| u64::try_from(recording.refined(refinement).shown).unwrap();
    assert_eq!(shown("through a"), a);
    assert_eq!(shown("not through a"), recording.samples().recorded - a);
    assert_eq!(shown("through a >> c"), a);
    assert_eq!(shown("through {a, b} > c"), a + b);
    assert_eq!(shown("through b > c | hide d"), b);
    assert_eq!(shown("leaf d"), all.inclusive_of("d"));
    assert_eq!(shown("group {a, b} as work | through work"), a + b);
    assert_eq!(shown("root at c"), a + b);
    assert_eq!(shown("stop at a"), recording.samples().recorded);

    let rooted = recording.refined("root at c");
    let c = rooted.at(&["c"]);
    assert_eq!((c.inclusive, c.edges), (a + b, Some(6)));
    let hidden = recording.refined("hide d");
    assert_eq!(hidden.at(&["a", "c"]).exclusive, a);
    let grouped = recording.refined("group {a, b} as work");
    assert_eq!(grouped.at(&["main", "work", "c"]).edges, Some(6));
}
