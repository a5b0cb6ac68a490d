//! Refinement by keys and at the prompt, the list of stages, undo.

use csprof::tui::effect::Effect;
use csprof::tui::message::Message;
use insta::assert_snapshot;

use super::{Viewer, screen, solver};

/// The stages and the account after these keys.
fn account(keys: &str) -> String {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press(keys);
    let refined = &viewer.model.refined;
    let selected = viewer.model.selected().map_or("", |s| viewer.model.row_name(s.row));
    format!("{}: {} + {}, at {selected}", viewer.model.shown_stages, refined.shown, refined.out)
}

#[test]
fn one_key_on_a_row() {
    // On poll below MPI_Allreduce, which is 40 of the 200 samples; all poll is 70.
    let after = |key: &str| account(&format!("/allred<enter>lj{key}"));
    assert_eq!(after(""), ": 200 + 0, at poll");
    assert_eq!(after("t"), "through \"poll\": 70 + 130, at poll");
    assert_eq!(after("x"), "not through \"poll\": 130 + 70, at MPI_Allreduce");
    assert_eq!(after("d"), "hide \"poll\": 200 + 0, at MPI_Allreduce");
    assert_eq!(after("Z"), "root at \"poll\": 70 + 130, at poll");
    assert_eq!(after("c"), "collapse \"poll\": 200 + 0, at poll");
    assert_eq!(after("b"), "stop at \"poll\": 200 + 0, at poll");
    assert_eq!(after("owait<enter>"), "group \"poll\" as wait: 200 + 0, at MPI_Allreduce");
    assert_eq!(
        after("T"),
        "through \"_start\" > \"main\" > \"solve\" > \"MPI_Allreduce\" > \"poll\": 40 + 160, at poll"
    );
}

/// Every program has a `main`.
#[test]
fn a_key_on_a_row_means_its_function_alone() {
    let outline = "main 3 module:/bin/sh\nmain 5 module:/bin/cc\nidle 1 module:/bin/cc\n";
    let profile = csprof::profile::from_outline(outline).unwrap();
    let after = |keys: &str| {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.press(keys);
        format!("{}: {}", viewer.model.shown_stages, viewer.model.refined.shown)
    };
    assert_eq!(after("t"), "through \"main\" & module:/bin/cc: 5");
    assert_eq!(after("jt"), "through \"main\" & module:/bin/sh: 3");
    assert_eq!(after("jjt"), "through \"idle\": 1");
}

#[test]
fn undo_and_redo() {
    assert_eq!(account("jjtu"), account("jj"));
    assert_eq!(account("jjtu<C-r>"), account("jjt"));
    assert_snapshot!(screen(&solver(), "80x10", "u"));
}

#[test]
fn through_then_below() {
    assert_snapshot!(screen(&solver(), "80x20", "fthrough MPI_*<enter>fthrough memcpy<enter>e"));
}

#[test]
fn what_was_open_stays_open() {
    assert_snapshot!(screen(&solver(), "80x20", "Hfhide MPI_*<enter>"));
}

#[test]
fn prompt_counts_while_typing() {
    assert_snapshot!(screen(&solver(), "80x20", "fthrough MPI_S"));
    assert_snapshot!(screen(&solver(), "80x20", "fthrough MPI_*"));
}

#[test]
fn prompt_completes() {
    assert_snapshot!(screen(&solver(), "80x20", "fthrough mp<tab><tab>"));
}

#[test]
fn prompt_points_at_errors() {
    assert_snapshot!(screen(&solver(), "80x20", "fthrough main > > x"));
}

#[test]
fn prompt_refuses_what_matches_nothing() {
    assert_snapshot!(screen(&solver(), "80x20", "fhide MPI_Resv"));
    // Accepting does not close it.
    let with_enter = screen(&solver(), "80x20", "fhide MPI_Resv<enter>");
    assert_eq!(with_enter, screen(&solver(), "80x20", "fhide MPI_Resv"));
}

#[test]
fn numbers_of_a_stage_are_explained() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("fthrough MPI_* | hide memcpy<enter>F");
    assert_snapshot!(viewer.press("=").screen());
    assert_snapshot!(viewer.press("qj=").screen());
    let off = viewer.press("q<space>=").screen();
    assert!(off.contains("it takes no part"), "{off}");
}

#[test]
fn a_stage_being_edited_says_at_once_what_it_shows() {
    let profile = solver();
    let screen = screen(&profile, "80x24", "fthrough MPI_*<enter>F<enter>");
    assert!(
        screen.contains("stage: through MPI_*\n        shown 67.5% + out 32.5% = 100%"),
        "{screen}"
    );
}

#[test]
fn lines_come_back() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("fhide memcpy<enter>fhide poll<enter>ufhide poll<enter>/solve<enter>");
    let mut line = |keys: &str| {
        let screen = viewer.press(keys).screen();
        let line = screen.lines().find_map(|line| line.trim().strip_prefix("refine: "));
        line.unwrap().to_owned()
    };
    assert_eq!(line("fdep<C-n>"), "dep");
    assert_eq!(line("<C-p>"), "hide poll");
    assert_eq!(line("<C-p>"), "hide memcpy", "a line comes once, and searches are no refinements");
    assert_eq!(line("<C-p>"), "hide memcpy");
    assert_eq!(line("<C-n>"), "hide poll");
    assert_eq!(line("<C-n>"), "dep", "what was being typed is not lost");
    assert_eq!(line("<C-p><C-p>x"), "hide memcpyx");
}

#[test]
fn list_of_stages() {
    let stages = "fthrough MPI_* | hide poll | group module:libmpi* as MPI<enter>";
    assert_snapshot!(screen(&solver(), "80x20", &format!("{stages}F")));
}

#[test]
fn stages_are_moved_switched_off_deleted_and_edited() {
    let two = "fthrough MPI_* | hide poll<enter>F";
    let after = |keys: &str| account(&format!("{two}{keys}"));
    assert_eq!(after(""), "through MPI_* | hide poll: 135 + 65, at _start");
    assert_eq!(after("J"), "hide poll | through MPI_*: 135 + 65, at _start");
    assert_eq!(after("<space>"), "hide poll: 200 + 0, at _start");
    assert_eq!(after("d"), "hide poll: 200 + 0, at _start");
    assert_eq!(after("e<C-u>through main<enter>"), "through main | hide poll: 200 + 0, at _start");
    assert_eq!(after("e<C-u><enter>"), "hide poll: 200 + 0, at _start");
    assert_eq!(after("ddd"), ": 200 + 0, at _start");
    assert_eq!(after("du"), after(""));
    assert_eq!(after("duu"), ": 200 + 0, at _start");
    assert_snapshot!(screen(&solver(), "80x16", &format!("{two}<space>")));
}

#[test]
fn command_palette() {
    assert_snapshot!(screen(&solver(), "80x20", ":"));
    assert_snapshot!(screen(&solver(), "80x12", ":nonsense<enter>"));
}

#[test]
fn repro_prints_the_command_of_the_screen() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("fthrough MPI_* | hide poll<enter>3:repro<enter>");
    let command = "csprof report runs/solver.csprof --view flat --refine 'through MPI_* | hide poll' \
         --open none";
    assert_eq!(
        viewer.effects,
        [Effect::Copy(command.to_owned()), Effect::PrintAtEnd(command.to_owned())]
    );
    assert_snapshot!(viewer.screen());
}

#[test]
fn q_goes_back_and_quits_at_the_top_and_escape_never_does() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("4Fq<esc><esc>3?qq");
    assert_eq!(viewer.effects, []);
    viewer.press("q");
    assert_eq!(viewer.effects, [Effect::Quit]);
}

#[test]
fn callers_of_the_row_and_stages_by_command() {
    let after = |keys: &str| account(&format!("/allred<enter>lj{keys}"));
    assert_eq!(after("C"), "callers of \"poll\": 70 + 130, at poll");
    assert_eq!(account(":by-module<enter>"), "by module: 200 + 0, at [no module]");
    assert_eq!(account(":split-thread<enter>"), "split thread: 200 + 0, at thread=0");
    assert_snapshot!(screen(&solver(), "80x16", "/memcpy<enter>Ce"));
}

#[test]
fn loops_are_rows_and_are_none() {
    let outline = "\
main 1
  mm 2 e=1 at:mm.c:12 loop:mm.c:10 loop:mm.c:11
    dot 3 e=30
  mm 4 at:mm.c:15 loop:mm.c:10
";
    let profile = csprof::profile::from_outline(outline).unwrap();
    let stages = |keys: &str| {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.press(keys);
        viewer.model.shown_stages.to_string()
    };
    assert_eq!(stages("L"), "by loop");
    assert_eq!(stages("LL"), "");
    assert_eq!(stages("3L"), "by loop");
    assert_eq!(stages("fhide dot<enter>LL"), "hide dot");
    // Who looked at a row looks at it still, within its loops.
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("/dot<enter>");
    for (key, above) in [("L", "loop at mm.c:11"), ("L", "mm"), ("u", "loop at mm.c:11")] {
        viewer.press(key);
        let (rows, selected) = (viewer.model.rows().unwrap(), viewer.model.selected().unwrap());
        let name = |row| viewer.model.row_name(row);
        assert_eq!(name(selected.row), "dot");
        assert_eq!(name(rows.parent(selected.line).unwrap()), above);
    }
    assert_snapshot!(screen(&profile, "80x16", "LE<space>e"));
    assert_snapshot!(screen(&solver(), "80x24", "L"));
}

#[test]
fn every_number_is_explained_with_the_stages_that_made_it() {
    let stages = "fthrough MPI_* | hide poll<enter>";
    assert_snapshot!(screen(&solver(), "80x40", &format!("{stages}/exchange<enter>=")));
    assert_snapshot!(screen(&solver(), "80x30", &format!("{stages}5/solve<enter><enter>=")));
}

#[test]
fn names_are_completed_where_there_are_very_many() {
    let mut outline = "main\n".to_owned();
    for function in 0..10_500 {
        outline.push_str(&format!("  function_{function} 1\n"));
    }
    let profile = csprof::profile::from_outline(&outline).unwrap();
    let mut viewer = Viewer::new(&profile, "60x12");
    viewer.press("f").send(Message::Pasted("through function_104".to_owned()));
    let completed = viewer.press("<tab>").screen();
    assert!(completed.contains("refine: through function_104\n"), "{completed}");
    assert!(completed.contains("         function_1042\n"), "{completed}");
}
