//! Two profiles: what they differ by, in the tree and by function.

use csprof::profile::{Profile, from_outline};
use insta::assert_snapshot;

use super::{SOLVER, Viewer, screen, solver};

/// The solver, whose exchange has become cheaper, and which logs now.
pub(crate) fn compared() -> Profile {
    let other = SOLVER
        .replace("memcpy 60 e=55", "memcpy 10 e=11")
        .replace("fread 6 e=20", "fread 9 e=20")
        .replace("    write_output 7 e=1", "    log 30 e=5 at:log.c:3\n    write_output 7 e=1");
    let other = from_outline(&other).unwrap();
    Profile::compared(("runs/before.csprof", solver()), ("runs/after.csprof", other), &[]).unwrap()
}

/// Samples of two profiles are never added up: each side has an account of its own.
#[test]
fn sides_are_told_apart_wherever_samples_are_counted() {
    let profile = compared();
    for (keys, text) in [
        ("5/solve<enter><enter>", "   880 ms → 630 ms  -250 ms\n"),
        (
            "fthrough MPI_*",
            "refine: through MPI_*\n         shown+out %: base 67.5+32.5  other 46.4+53.6",
        ),
        ("fthrough MPI_*<enter>F", "together: shown+out %: base 67.5+32.5  other 46.4+53.6"),
    ] {
        let shown = screen(&profile, "80x24", keys);
        assert!(shown.contains(text), "{text}:\n{shown}");
    }
    assert_snapshot!(screen(&profile, "80x40", "4"));
}

#[test]
fn the_list_of_processes_says_whose_they_are() {
    let profile = compared();
    assert_snapshot!(screen(&profile, "80x12", "P"));
}

#[test]
fn first_screen() {
    assert_snapshot!(screen(&compared(), "80x20", ""));
}

#[test]
fn along_what_changed() {
    assert_snapshot!(screen(&compared(), "110x20", "jje"));
}

#[test]
fn functions() {
    assert_snapshot!(screen(&compared(), "80x20", "3"));
}

#[test]
fn both_sides_are_refined_by_the_same_stages() {
    assert_snapshot!(screen(&compared(), "80x16", "fthrough MPI_*<enter>"));
}

#[test]
fn a_function_of_one_side_alone_can_be_refined_to() {
    let profile = compared();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("fthrough log<enter>");
    assert_eq!(viewer.model.shown_of_sides, [0, 30]);
    viewer.press("u");
    assert_eq!(viewer.model.shown_of_sides, [200, 183]);
}

#[test]
fn order_by_name_and_by_what_was_before() {
    assert_snapshot!(screen(&compared(), "80x20", "3s"));
    assert_snapshot!(screen(&compared(), "80x20", "3ssss"));
}

#[test]
fn explained_difference() {
    assert_snapshot!(screen(&compared(), "80x24", "/memcpy<enter>="));
}

#[test]
fn command_line_that_says_the_same() {
    assert_snapshot!(screen(&compared(), "80x16", "2fthrough MPI_*<enter>:repro<enter>"));
}

#[test]
fn in_ascii_and_narrow() {
    let profile = compared();
    let theme = csprof::tui::theme::Theme::new(false, true);
    let mut viewer = Viewer::with_theme(&profile, "50x12", theme);
    assert_snapshot!(viewer.press("jj").screen());
}
