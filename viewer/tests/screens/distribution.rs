//! The distribution of a row over peers, and the column of it.

use csprof::views::columns::Id;
use csprof_format::ids::EpochId;
use csprof_format::profile::Phase;

use super::*;

/// A solver of so many ranks, started by a launcher; one rank is slow.
fn ranks(count: u32) -> Profile {
    let mut text = "# thread=1 epoch=0 name=mpirun\nmain 3\n  poll 9\n".to_owned();
    for rank in 0..count {
        let solve = if rank == 2 { 160 } else { 100 + rank % 7 };
        let thread = 1000 + rank * 2;
        text.push_str(&format!(
            "# rank={rank} thread={thread} epoch=0 name=solver\nmain 2\n  solve {solve}\n    \
             exchange {}\n  log {}\n",
            40 + rank % 3,
            u32::from(rank == 1),
        ));
    }
    let mut profile = from_outline(&text).unwrap();
    profile.info.processes[0].rank = None;
    profile.info.run.command = vec![b"mpirun".to_vec(), b"./solver".to_vec()];
    profile
}

fn threads() -> Profile {
    let work = |thread: u32, own: u32| {
        format!(
            "# rank=0 thread={thread} epoch=0 name=worker\nstart 1\n  body {own}\n    kernel 30\n"
        )
    };
    let text = (1..=4).map(|thread| work(thread, 20 + thread)).collect::<String>();
    let mut profile = from_outline(&text).unwrap();
    profile.info.processes[0].rank = None;
    profile
}

#[test]
fn a_row_over_ranks() {
    insta::assert_snapshot!(screen(&ranks(4), "80x24", "jD"));
    insta::assert_snapshot!("narrow", screen(&ranks(4), "40x20", "jD"));
    insta::assert_snapshot!("lowest", screen(&ranks(4), "40x10", "jD"));
    insta::assert_snapshot!("wide", screen(&ranks(300), "120x24", "jDl"));
}

/// Processes are no rows, so theirs is that of all that is shown.
#[test]
fn the_page_of_processes_has_that_of_all() {
    let mut viewer = Viewer::new(&ranks(4), "80x24");
    let shown = viewer.press("PD").screen();
    assert!(shown.contains("all that is shown") && shown.contains("rank 2"), "{shown}");
}

#[test]
fn ascii() {
    let mut viewer = Viewer::with_theme(&ranks(100), "80x24", Theme::new(false, true));
    insta::assert_snapshot!(viewer.press("jDi").screen());
}

/// Threads, a row whose spread is no more than noise, and the explanation.
#[test]
fn a_function_over_threads() {
    insta::assert_snapshot!(screen(&threads(), "80x24", "3D"));
    insta::assert_snapshot!("explained", screen(&threads(), "80x24", "3D="));
}

#[test]
fn enter_refines_to_a_peer() {
    let mut viewer = Viewer::new(&ranks(4), "80x24");
    viewer.press("jD");
    assert!(viewer.screen().contains("over 4 ranks"), "{}", viewer.screen());
    viewer.press("j<enter>");
    let screen = viewer.screen();
    assert!(screen.contains("rank = 3") && screen.contains("Call path"), "{screen}");
    viewer.press("u");
    assert!(viewer.screen().contains("all call paths"));
}

/// Cells go by rank, the list by cost.
#[test]
fn cells_of_the_strip_select_the_one_with_most() {
    let mut viewer = Viewer::new(&ranks(300), "80x24");
    viewer.press("jD");
    let selected = |viewer: &Viewer| {
        let screen = viewer.screen();
        let line = screen.lines().find(|line| line.ends_with("◀") && line.contains("rank "));
        line.unwrap().trim().split("  ").next().unwrap().to_owned()
    };
    assert_eq!(selected(&viewer), "rank 2");
    viewer.press("l");
    assert_eq!(selected(&viewer), "rank 5", "of 3 to 6");
    viewer.press("h");
    assert_eq!(selected(&viewer), "rank 2");
    let strip = viewer.screen().lines().position(|line| line.contains('█')).unwrap();
    viewer.send(Message::Click { x: 3, y: u16::try_from(strip).unwrap() });
    assert_ne!(selected(&viewer), "rank 2");
}

#[test]
fn what_cannot_be_compared_is_told() {
    let one = screen(&solver(), "80x24", "jD");
    assert!(one.contains("there is nothing to compare"), "{one}");
    let both = Profile::compared(("a", ranks(2)), ("b", ranks(2)), &[]).unwrap();
    let compared = screen(&both, "80x24", "jD");
    assert!(compared.contains("two runs are compared"), "{compared}");
    let place = screen(&solver(), "80x24", "3<lt>jD");
    assert!(place.contains("no function and no call path"), "{place}");
}

/// The row of a caller is the function when called from there.
#[test]
fn a_row_of_callers() {
    let mut viewer = Viewer::new(&ranks(4), "80x24");
    viewer.press("2glj");
    viewer.press("D");
    let screen = viewer.screen();
    assert!(screen.contains("of solve < main"), "{screen}");
    // Below the other view; back is back there.
    viewer.press("q");
    assert!(viewer.screen().contains("Function, then its callers"));
}

#[test]
fn a_column_of_strips() {
    let mut viewer = Viewer::new(&ranks(12), "80x24");
    viewer.press("|G<space><esc>");
    let shown = |viewer: &Viewer| viewer.screen().contains("spread");
    if !shown(&viewer) {
        viewer.model.named_columns = vec![Id::Inclusive, Id::Spread];
        viewer.model.choices = None;
        viewer.press("j");
    }
    insta::assert_snapshot!(viewer.screen());
    insta::assert_snapshot!("callers_column", viewer.press("2lj").screen());
    insta::assert_snapshot!("flat_column", viewer.press("3").screen());
    viewer.press("1f").press("not<space>rank<space>=<space>2<enter>");
    insta::assert_snapshot!("refined_column", viewer.press("j").screen());
}

/// Heights follow the phases in the order in which they began; the tree and the list have them.
#[test]
fn a_column_over_phases() {
    let epoch =
        |(number, own): (usize, u32)| format!("# thread=1 epoch={number}\nmain 1\n  solve {own}\n");
    // The last one is in no phase, and has more than those that are.
    let text: String = [0, 8, 4, 9].into_iter().enumerate().map(epoch).collect();
    let mut profile = from_outline(&text).unwrap();
    let names = ["start", "solve", "end"].into_iter().zip(0..);
    let phase = |(name, epoch)| Phase { epoch: EpochId(epoch), name: String::from(name) };
    profile.info.phases = names.map(phase).collect();
    let mut viewer = Viewer::new(&profile, "80x24");
    assert!(!viewer.screen().contains("over phases"));
    viewer.model.named_columns = vec![Id::Inclusive, Id::OverPhases];
    for keys in ["j", "3j"] {
        let screen = viewer.press(keys).screen();
        let line = screen.lines().find(|line| line.contains(" solve ")).unwrap();
        assert!(screen.contains("over phases") && line.contains("·█▄"), "{screen}");
    }
}

#[test]
fn the_command_line_of_it() {
    let words = |keys: &str| {
        let mut viewer = Viewer::new(&ranks(4), "80x24");
        viewer.press(keys).press(":repro<enter>").screen()
    };
    let function = words("3jDi");
    assert!(function.contains("--view distribution --over rank --path"), "{function}");
    assert!(function.contains("--exclusive"), "{function}");
    assert!(words("jD").contains("one row of a tree has no command line"));
}

/// A row that is counted along a path only is not its whole function.
#[test]
fn rows_along_a_path_have_none() {
    let profile = ranks(4);
    for keys in ["jBjD", "5jD"] {
        let seen = screen(&profile, "80x24", keys);
        assert!(seen.contains("counted along a path only"), "{keys}: {seen}");
    }
}

/// The column of one view makes the rows of both anew; the other one keeps what was done in it.
#[test]
fn the_column_leaves_the_order_of_the_flat_view() {
    let mut viewer = Viewer::new(&ranks(12), "80x24");
    viewer.press("3S");
    let order = |viewer: &Viewer| {
        let screen = viewer.screen();
        let at = |name: &str| screen.lines().position(|line| line.contains(name)).unwrap();
        (at("exchange"), at("poll"))
    };
    let before = order(&viewer);
    assert!(before.0 > before.1, "{}", viewer.screen());
    viewer.press("2");
    viewer.model.named_columns = vec![Id::Inclusive, Id::Spread];
    viewer.model.choices = None;
    viewer.press("j3");
    let after = order(&viewer);
    assert!(after.0 > after.1, "{}", viewer.screen());
}

/// The sum of both sides is the cost of neither, so a comparison has none here.
#[test]
fn a_comparison_has_no_cost_of_both_sides() {
    let mut viewer = Viewer::new(&super::compare::compared(), "80x24");
    let screen = viewer.press("jD").screen();
    let line = screen.lines().find(|line| line.trim_start().starts_with("of ")).unwrap();
    assert!(!line.contains('%') && !line.contains(" s "), "{line}");
}

/// When a cost was paid: the slices of the row, and the one with most alone.
#[test]
fn a_row_over_time() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/phases.csprof");
    let profile = csprof_format::read::open(std::path::Path::new(file)).unwrap();
    let profile = Profile::from_saved(profile);
    insta::assert_snapshot!(screen(&profile, "80x24", "/second<enter>D"));
    insta::assert_snapshot!("explained_slice", screen(&profile, "80x24", "/second<enter>D="));
    insta::assert_snapshot!("one_slice", screen(&profile, "80x24", "/second<enter>D<enter>"));
}

/// In the source view it is that of the function, whichever line is selected.
#[test]
fn beside_source_it_is_of_the_function() {
    let profile = super::solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    let screen = viewer.press("/exchange<enter>7D").screen();
    assert!(screen.contains("exchange, the whole function"), "{screen}");
    assert!(!screen.contains("all that is shown"), "{screen}");
}

/// One row of a tree has no command line; it is taken along as it is seen.
#[test]
fn a_distribution_is_found_in_and_taken_along() {
    let mut viewer = Viewer::new(&ranks(4), "80x24");
    let screen = viewer.press("jD/rank 2<enter>").screen();
    assert!(screen.contains("1 of 1 row, in all"), "{screen}");
    let mut table = |form: &str| {
        viewer.press(&format!(":export a.{form}<enter>"));
        let Some(Effect::ExportTable { table, form, .. }) = viewer.effects.pop() else { panic!() };
        String::from_utf8(form.of(&table).unwrap()).unwrap()
    };
    insta::assert_snapshot!("taken", table("txt"));
    let csv = table("csv");
    assert_eq!(csv.lines().count(), 1 + 4, "{csv}");
    let json: serde_json::Value = serde_json::from_str(&table("json")).unwrap();
    let sum: u64 =
        json["rows"].as_array().unwrap().iter().map(|row| row["samples"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), json["all"].as_u64());
    assert!(table("html").contains("rank 2"));
}
