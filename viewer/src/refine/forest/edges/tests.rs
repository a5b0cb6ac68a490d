//! Edge counts after stages, by example.

use crate::profile::from_outline;
use crate::refine::tests::{handed_over, refined};
use crate::refine::{Refined, apply, parse};

/// `g` calls `a` at one line and loops at the next, ten times: each activation has samples at both,
/// and its return is counted where it was sampled last.
const MOVING: &str = "\
main
  g at:g.c:10
    a 20 e=10
  g at:g.c:12 e=10
    loop 80 inline
";

#[test]
fn a_return_that_was_counted_at_another_line_may_be_of_what_is_shown() {
    assert_eq!(refined(MOVING, "through a"), "main\n  g e=0..10\n    a 20 e=10\n= 20 + 80\n");
    // All that returned were sampled last where all samples are kept.
    let kept = "main\n  g e=10\n    loop 80 inline\n= 80 + 20\n";
    assert_eq!(refined(MOVING, "not through a"), kept);
    // 75 of the 80 samples there may be all that 9 activations had.
    let few = MOVING.replace("loop 80", "loop 5").replace("g at:g.c:12", "g 75 at:g.c:12");
    let inlined = "main\n  g e=0..5\n    loop 5 inline\n= 5 + 95\n";
    assert_eq!(refined(&few, "leaf loop"), inlined);
    assert_eq!(refined(MOVING, "hide a"), "main\n  g 20 e=10\n    loop 80 inline\n= 100 + 0\n");
    assert_eq!(refined(MOVING, "callers of g"), "g e=10\n  main 100 e=10\n= 100 + 0\n");
    let callers = "g e=0..10\n  main 20 e=0..10\n= 20 + 80\n";
    assert_eq!(refined(MOVING, "through a | callers of g"), callers);
    // A row for each line: activations are in both.
    let lines =
        "main\n  \"g g.c:10\" e=0..10\n    a 20 e=10\n  \"g g.c:12\" e=10\n    loop 80 inline\n";
    assert_eq!(refined(MOVING, "by line"), format!("{lines}= 100 + 0\n"));
    let one = "g e=0..20\n  main 20 e=0..20\n= 20 + 80\n";
    assert_eq!(refined(MOVING, "callers of line:10"), one);
}

#[test]
fn ranks_have_families_of_their_own() {
    let rank = |rank| {
        format!("# rank={rank}\nmain at:m.c:1\n  MPI_Send 3 e=2\nmain 5 at:m.c:2 e={}\n", rank % 2)
    };
    let outline: String = (0..4).map(rank).collect();
    let shown = "main e=0..2\n  MPI_Send 12 e=8\n= 12 + 20\n";
    assert_eq!(refined(&outline, "through MPI_*"), shown);
    let split = refined(&outline, "through MPI_* | split rank");
    assert!(split.contains("rank=0\n  main\n"), "no main of this rank returned: {split}");
    assert!(split.contains("rank=1\n  main e=0..1\n"), "{split}");
}

#[test]
fn a_thread_takes_its_stack_along_into_an_epoch() {
    let outline = "\
# thread=1 epoch=0
main 3
  f 4
# thread=1 epoch=1
main 1 e=1
  f 2 e=1
# thread=2 epoch=0
main 5
";
    let exact = "main 9 e=1\n  f 6 e=1\n= 15 + 0\n";
    assert_eq!(refined(outline, ""), exact);
    assert_eq!(
        refined(outline, "epoch = 0 and thread = 1"),
        "main 3 e=0..1\n  f 4 e=0..1\n= 7 + 8\n"
    );
    assert_eq!(refined(outline, "epoch = 1"), "main 1 e=1\n  f 2 e=1\n= 3 + 12\n");
    assert_eq!(refined(outline, "thread = 2"), "main 5\n= 5 + 10\n");
    let callers = "f e=0..4\n  main 4 e=0..4\n= 4 + 11\n";
    assert_eq!(refined(outline, "callers of f | epoch = 0"), callers);
    assert!(refined(outline, "split epoch").starts_with("epoch=0\n  main 8 e=0..1\n"));
}

#[test]
fn code_without_a_name_may_be_of_one_function() {
    let outline = "\
main
  lib+0x10 3 unknown module:lib
  lib+0x20 4 e=2 unknown module:lib
  f 5 e=3
";
    let shown =
        "main\n  lib+0x10 3 e=0..2 unknown\n  lib+0x20 4 e=2 unknown\n  f 5 e=3\n= 12 + 0\n";
    assert_eq!(refined(outline, ""), shown);
    assert_eq!(
        refined(outline, "by module | through lib"),
        "\"[no module]\"\n  lib 7 e=2\n= 7 + 5\n"
    );
    let cold = "main\n  f 3 e=1\n  f.cold 4\n  g 1 e=1\n";
    let shown = "main\n  f 3 e=1\n  f.cold 4 e=0..1\n  g 1 e=1\n= 8 + 0\n";
    assert_eq!(refined(cold, ""), shown);
    // A stage loses nothing of what it does not tell apart.
    let several = &cold.replace("g 1", "g 3");
    for stage in ["collapse", "collapse-run"] {
        let of = |pattern| refined(several, &format!("callers of {{f, g}} | {stage} {pattern}"));
        assert!(of("g").contains("\ng e=1\n"), "{stage}: {}", of("g"));
        assert!(!of("f").contains("\ng e=1\n"), "{stage}: {}", of("f"));
    }
}

#[test]
fn nothing_is_known_of_returns_where_the_outer_part_of_a_path_is_not() {
    let profile = from_outline("[partial] partial\n  f 4\nmain\n  f 3 e=2\n").unwrap();
    let base = Refined::base(&profile);
    assert_eq!((base.edges(2), base.edges(4)), (None, Some((2, 2))));
    let shown = apply(&profile, &parse("through f").unwrap()).unwrap();
    assert_eq!((shown.edges(2), shown.edges(4)), (Some((0, 4)), Some((2, 2))));
    // One line of code without a name may be met on a whole path, and another where it is not.
    let profile =
        from_outline("[partial] partial\n  lib+0x10 4 unknown\nmain\n  lib+0x20 3 e=2 unknown\n");
    let profile = profile.unwrap();
    assert_eq!(Refined::base(&profile).edges(2), Some((0, 4)));
}

/// Returns below it were not watched.
#[test]
fn the_start_of_a_path_that_is_not_whole_has_no_exact_count_when_a_group_makes_it_a_call() {
    let outline = "[partial] partial\n  f 90\nmain 10 e=2\n";
    let profile = from_outline(outline).unwrap();
    let shown = apply(&profile, &parse("group {main, kind:partial} as app").unwrap()).unwrap();
    assert_eq!((shown.edges(1), shown.edges(3)), (Some((0, 90)), Some((2, 2))));
}

/// What opened a region has its activations in the tree of the thread that called that code.
#[test]
fn a_copy_above_a_handover_has_no_count_in_the_tree_of_who_was_given_the_work() {
    let outline = &handed_over("");
    let profile = from_outline(outline).unwrap();
    let base = Refined::base(&profile);
    let edges = |refined: &Refined| [1, 2, 3, 4, 5, 6, 7].map(|node| refined.edges(node));
    let exactly = |count| Some((count, count));
    let own = [exactly(1), exactly(9), exactly(20)];
    let given = [None, None, None, exactly(25)];
    assert_eq!(edges(&base), [&own[..], &given].concat()[..]);
    // Rows have those of the opener alone, and none without it: that no return was counted would
    // say that the opener has not returned.
    let all = refined(outline, "through work");
    assert!(all.starts_with("main e=1\n  solve e=9\n    work 40 e=20\n"), "{all}");
    let shown = apply(&profile, &parse("through kind:handover").unwrap()).unwrap();
    assert_eq!(edges(&shown)[3..], given);
    let callers = refined(outline, "callers of solve");
    assert!(callers.starts_with("solve e=9\n"), "{callers}");
    let callers = refined(outline, "through kind:handover | callers of solve");
    assert!(callers.starts_with("solve\n"), "{callers}");
}

/// What this thread ran itself returned to it, though its samples are not told from those of the
/// other's work.
#[test]
fn what_a_thread_ran_itself_counts_above_a_handover_too() {
    let outline = &handed_over(" 3 e=2");
    let base = Refined::base(&from_outline(outline).unwrap());
    assert_eq!((base.edges(4), base.edges(5)), (None, Some((2, 2))));
    let shown = |stages: &str| {
        let shown = refined(outline, stages);
        shown.lines().map(|line| line.trim().to_owned()).take(3).collect::<Vec<_>>()
    };
    assert_eq!(shown("")[1], "solve 3 e=11");
    assert_eq!(shown("callers of solve")[0], "solve e=11");
    assert_eq!(shown("not through kind:handover")[1], "solve 3 e=9..11");
    // None of its own is left: the others' work may be that of two activations.
    assert_eq!(shown("through work")[1], "solve e=9..11");
    assert_eq!(shown("thread = 1")[1], "solve e=9");
    assert_eq!(shown("thread = 2")[1], "solve 3 e=2");
}

/// The return of what it ran itself may be in a later epoch: in the rows of one alone there may be
/// one more, and none is missing in those of all.
#[test]
fn what_a_thread_takes_along_into_an_epoch_may_stand_above_a_handover() {
    let outline = "\
# thread=1 epoch=0
main
  solve 4 e=3
# thread=2 epoch=0
main
  solve 5
    \"[parallel region]\" handover
      work 7
# thread=2 epoch=1
main
  solve 1 e=1
";
    let base = Refined::base(&from_outline(outline).unwrap());
    assert_eq!((base.edges(4), base.edges(8)), (None, Some((1, 1))));
    assert!(refined(outline, "").starts_with("main\n  solve 10 e=4\n"));
    assert!(refined(outline, "epoch = 0").starts_with("main\n  solve 9 e=3..4\n"));
    let callers = refined(outline, "callers of solve | epoch = 0");
    assert!(callers.starts_with("solve e=3..16\n"), "{callers}");
}

/// As many as samples, at most: its return may have been counted where the whole path was found.
#[test]
fn a_match_on_a_path_whose_outer_part_is_not_known_has_bounds_in_the_tree_of_callers() {
    let outline = "[partial] partial\n  f 4\nmain\n  f 3 e=2\n";
    let callers = refined(outline, "callers of f");
    assert!(callers.starts_with("f e=2..6\n"), "{callers}");
}
