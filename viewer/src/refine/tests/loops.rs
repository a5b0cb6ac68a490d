//! Loops and tail calls, by example.

use super::{parse_error, refined};

/// `mm` calls `dot` from the inner one of two loops, and `report` from none.
const MM: &str = "\
main 1
  mm 2 e=1 at:mm.c:12 loop:mm.c:10 loop:mm.c:11
    dot 3 e=30
  mm 4 at:mm.c:15 loop:mm.c:10
  mm 5 at:mm.c:20
    report 6 e=1
";

#[test]
fn loops_hold_what_is_called_and_spent_in_them() {
    assert_eq!(
        refined(MM, "by loop"),
        "\
main 1
  mm 5 e=1
    \"loop at mm.c:10\" 4 loop
      \"loop at mm.c:11\" 2 loop
        dot 3 e=30
    report 6 e=1
= 21 + 0
"
    );
}

#[test]
fn frames_in_loops_are_found_by_place_and_kind() {
    let of_inner = "main\n  mm e=1\n    \"loop at mm.c:10\" loop\n      \"loop at mm.c:11\" 2 loop\n        dot 3 e=30\n= 5 + 16\n";
    assert_eq!(refined(MM, "by loop | through loop:mm.c:11"), of_inner);
    assert_eq!(refined(MM, "by loop | through kind:loop > kind:loop"), of_inner);
    assert_eq!(refined(MM, "by loop | through line:11"), of_inner);
    // What is in the code of mm is not what it calls.
    assert_eq!(
        refined(MM, "by loop | in mm"),
        "main\n  mm 5 e=0..1\n    \"loop at mm.c:10\" 4 loop\n      \"loop at mm.c:11\" 2 loop\n= 11 + 10\n"
    );
    assert_eq!(refined(MM, "by loop | hide kind:loop"), refined(MM, ""));
    assert_eq!(refined(MM, "by loop | by loop"), refined(MM, "by loop"));
    assert_eq!(refined(MM, "by loop | hide kind:loop | by loop"), refined(MM, "by loop"));
    // What is left of a path whose outermost frames are gone counts as before.
    let inner = "hide {main, mm} | hide kind:loop";
    assert_eq!(refined(MM, &format!("by loop | {inner}")), refined(MM, "hide {main, mm}"));
    assert_eq!(
        refined(MM, "by module | by loop"),
        "`by loop` finds no frames in loops; put it before other stages"
    );
}

#[test]
fn loops_that_are_not_there_are_explained() {
    assert_eq!(
        refined(MM, "through loop:mm.c:11"),
        "no loops are shown for `loop:mm.c:11`; put the stage `by loop` before it"
    );
    assert_eq!(
        refined(MM, "by loop | through loop:mm.c:12"),
        "no loop matches loop:mm.c:12; there is mm.c:10, mm.c:11"
    );
    assert_eq!(
        refined(MM, "callers of dot | by loop"),
        "`by loop` shows no loops in callers; put it before `callers of`"
    );
    let without = "main\n  f 1 e=1\n";
    assert_eq!(
        refined(without, "by loop"),
        "`by loop` asks for loops, and this profile has none; `csprof symbolize` looks for them, \
         where the program's files are"
    );
    assert!(parse_error("by loops").contains("loop"), "{}", parse_error("by loops"));
}

#[test]
fn callers_stand_above_the_loops_that_they_call_from() {
    assert_eq!(
        refined(MM, "by loop | callers of dot"),
        "\
dot e=30
  \"loop at mm.c:11\" e=30 loop
    \"loop at mm.c:10\" e=30 loop
      mm e=30
        main 3 e=30
= 3 + 18
"
    );
}

#[test]
fn functions_that_left_by_tail_calls_have_cost_and_no_edges() {
    let tail = "main\n  a tail\n    c 4 e=2\n  b tail\n    c 6 e=3\n";
    assert_eq!(refined(tail, ""), format!("{tail}= 10 + 0\n"));
    // Its activations have one caller: what returned may have had samples both ways.
    assert_eq!(refined(tail, "through a"), "main\n  a tail\n    c 4 e=2..4\n= 4 + 6\n");
    // One activation of c was met in two lines, and its return counted in the second.
    let moved = "main\n  a tail\n    c 4 at:c.c:1\n  a tail\n    c 6 e=1 at:c.c:2\n";
    assert_eq!(
        refined(moved, "by line"),
        "main\n  a tail\n    \"c c.c:1\" 4 e=0..1\n    \"c c.c:2\" 6 e=1\n= 10 + 0\n"
    );
    assert_eq!(refined(tail, "hide kind:tail"), "main\n  c 10 e=5\n= 10 + 0\n");
}
