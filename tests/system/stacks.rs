//! Stacks that are deep, left by jumps, or replaced by tail calls.

use csprof_tests::workshop::Workshop;

/// Does not need the kernel's ticks, each of which may come late, and stands for all periods until
/// then wherever it comes.
const SOURCE: [&str; 2] = ["-e", "task-clock@200"];

#[test]
fn ten_thousand_frames_are_one_whole_path() {
    let workshop = Workshop::new("recursion");
    workshop.compile("cc -O2 -o program @recursion.c");
    let recording = workshop.record(&SOURCE, &["./program"]);
    let samples = recording.samples();
    assert_eq!(samples.partial, 0);
    // The way back leads 10 000 times through the trampoline: what samples that meets is recorded.
    assert_eq!(samples.recorded, samples.delivered);

    let rows = recording.rows();
    let main = rows.at(&["main"]);
    let down: Vec<_> = rows.iter().filter(|row| row.function == "down").collect();
    let bottom = rows.at(&["down", "bottom"]);
    assert_eq!(down.len(), 10_000);
    assert_eq!(bottom.depth, main.depth + 10_001);
    // Nearly all of the work is at the bottom, which returned once, as did every call above it.
    assert!(bottom.inclusive > samples.recorded * 9 / 10, "{bottom:?}");
    assert_eq!(bottom.edges, Some(1));
    let wrong = down.iter().find(|row| row.edges != Some(1) || row.inclusive < bottom.inclusive);
    assert_eq!(wrong, None);
}

#[test]
fn long_jumps_leave_frames_that_did_not_return() {
    let workshop = Workshop::new("jumps");
    workshop.compile("cc -O2 -o program @jumps.c");
    let recording = workshop.record(&SOURCE, &["./program"]);
    assert_eq!(recording.outcome.said(), "60 jumps, 20 returns\n");
    assert_eq!(recording.samples().partial, 0);

    let rows = recording.rows();
    let work = rows.at(&["main", "once", "down", "down", "down", "down", "down", "down", "work"]);
    assert!(work.inclusive > recording.samples().recorded * 9 / 10, "{work:?}");
    // What returned: `once` and `work` in all rounds, the frames between only where nothing jumped
    // over them. Rounds take several periods, but ticks may miss some.
    let from_work = work.edges.unwrap();
    let from_once = rows.at(&["main", "once"]).edges.unwrap();
    assert!(from_work <= from_once && from_once <= 80, "{rows}");
    let between = rows.at(&["once", "down"]).edges.unwrap();
    assert!((1..=20).contains(&between), "{rows}");
    assert!(!recording.is_fast() || (from_work, between) == (80, 20), "{rows}");
    for frames in 1..=6 {
        let path = [vec!["once"], vec!["down"; frames]].concat();
        assert_eq!(rows.at(&path).edges, Some(between), "{path:?}");
    }
    // Of each jump, those six are lost.
    let lost = recording.profile.threads[0].lost_returns;
    assert!(lost >= 6 * (from_work - between), "{lost} lost: {rows}");
}

#[test]
fn what_a_jump_left_on_the_stack_is_not_believed() {
    let workshop = Workshop::new("jumps_between");
    workshop.compile("cc -O2 -o program @jumps_between.c");
    let recording = workshop.record(&[], &["./program"]);
    let rows = recording.rows();
    // Each under its own caller and nowhere else.
    for (caller, work) in [("even", "work_of_even"), ("odd", "work_of_odd")] {
        let where_it_should = rows.at(&["main", caller, work]).inclusive;
        assert!(where_it_should > 0, "{rows}");
        assert_eq!(rows.inclusive_of(work), where_it_should, "{rows}");
    }
    assert_eq!(recording.samples().partial, 0);
}

#[test]
fn callers_that_ended_in_a_tail_call_are_put_back() {
    let workshop = Workshop::new("tail_calls");
    workshop.compile("cc -O2 -o program @tail_calls.c");
    let recording = workshop.record(&SOURCE, &["./program"]);
    let rows = recording.rows();
    // `last` returned to `main`: how often the two between were left, nobody saw.
    let path = ["main", "first", "middle", "last"];
    for frames in 2..4 {
        assert_eq!(rows.at(&path[..frames]).edges, None, "{rows}");
    }
    let last = rows.at(&path);
    // The few samples that meet `main` before its first call are no samples of `last`.
    assert!(last.inclusive > recording.samples().recorded * 9 / 10, "{rows}");
    assert_eq!(last.inclusive, rows.inclusive_of("last"), "{rows}");
    assert_eq!(last.edges, Some(3));
    assert_eq!(recording.samples().partial, 0);
}
