//! Several metrics in one profile: which one is looked at, and what the screen says of the others.

use csprof::profile::derived::Wanted;
use csprof::profile::{MetricRef, Profile, from_outline};
use csprof::tui::message::Message;
use csprof::tui::table::Rows;
use csprof::tui::theme::Theme;
use insta::assert_snapshot;

use super::{Viewer, screen};

/// A solver that computes, and waits for its neighbors and its disk.
const WAITING: &str = "
_start
  main 2 realtime:1 at:solver.c:20 module:solver
    read_input 30 realtime:25 e=1 at:solver.c:40 module:solver
      fread 46 realtime:40 e=20 module:libc.so.6
    solve 40 realtime:20 e=2 at:solver.c:80 module:solver
      dot_product 61 realtime:31 inline at:vector.h:12 module:solver
      exchange 2 realtime:1 e=40 at:halo.c:33 module:solver
        poll 200 realtime:195 e=9 module:libc.so.6
    sleep 20 realtime:20 e=1 module:libc.so.6
";

pub(super) fn waiting() -> Profile {
    let mut profile = from_outline(WAITING).unwrap();
    profile.info.run.command = vec![b"./solver".to_vec()];
    profile
}

/// Formulas of a comparison have columns of both sides and of the difference, and `=` explains
/// them; what they need beside is no metric to look at.
#[test]
fn formulas_of_a_comparison() {
    let side = |name: &str| vec![(name.to_owned(), waiting())];
    let sides = [side("old"), side("new")];
    let mut profile = Profile::compared_beside(sides, None, &["realtime"], &[]).unwrap();
    profile.derive(&Wanted::parse("work = cputime / realtime as percent").unwrap()).unwrap();
    let mut viewer = Viewer::new(&profile, "160x20");
    let shown = viewer.screen();
    for heading in ["base work", "other work", "Δ work"] {
        assert!(shown.contains(heading), "{shown}");
    }
    let explained = viewer.press("=").screen();
    assert!(explained.contains("cputime / realtime as percent"), "{explained}");
    assert!(explained.contains("other minus base"), "{explained}");
    let metric = viewer.press("qm").screen();
    assert!(metric.contains("Δ work"), "nothing else to look at: {metric}");
    viewer.press(":repro<enter>");
    let command = format!("{:?}", viewer.effects);
    assert!(command.contains("--derive 'work = cputime / realtime as percent'"), "{command}");
}

/// The names on the screen, and where the cursor is.
fn names(viewer: &Viewer) -> (Vec<String>, String) {
    let model = &viewer.model;
    let rows: &dyn Rows = model.rows().unwrap();
    let name = |at| model.row_name(rows.row(rows.line(at).unwrap())).to_owned();
    ((0..rows.len()).map(name).collect(), name(rows.selected()))
}

#[test]
fn first_screen() {
    let profile = waiting();
    assert_snapshot!(screen(&profile, "80x14", ""));
    assert_snapshot!(screen(&profile, "80x14", "m"));
}

#[test]
fn widths() {
    let profile = waiting();
    assert_snapshot!(screen(&profile, "40x10", "m"));
    assert_snapshot!(screen(&profile, "60x10", "m"));
    assert_snapshot!(screen(&profile, "120x12", "jje"));
    assert_snapshot!(screen(&profile, "200x12", "jjem"));
}

#[test]
fn ascii() {
    let profile = waiting();
    let mut viewer = Viewer::with_theme(&profile, "120x12", Theme::new(false, true));
    let text = viewer.press("jjem").screen();
    assert!(text.replace('◀', "").is_ascii(), "{text}");
    assert_snapshot!(text);
}

#[test]
fn rows_are_ordered_by_the_metric_and_the_cursor_stays() {
    let profile = waiting();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("jjej");
    let computing = names(&viewer);
    assert_eq!(computing.1, "dot_product");
    viewer.press("m");
    let waiting = names(&viewer);
    assert_ne!(computing.0, waiting.0);
    assert_eq!(waiting.1, "dot_product");
    viewer.press("M");
    assert_eq!(names(&viewer), computing);
    // The same rows as if it had been looked at from the beginning.
    let mut other = Viewer::new(&profile, "80x24");
    other.press("mgjje");
    assert_eq!(names(&other).0, waiting.0);
}

#[test]
fn every_view_is_of_the_metric() {
    let profile = waiting();
    let total = |viewer: &Viewer| {
        let rows: &dyn Rows = viewer.model.rows().unwrap();
        let lines = (0..rows.len()).filter_map(|at| rows.line(at));
        let lines = lines.filter(|line| line.depth == 0);
        lines.map(|line| rows.row(line).of(viewer.model.refined.metric).exclusive).sum::<u64>()
    };
    for view in ["2", "3", "5"] {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.press(view);
        assert_eq!(total(&viewer), 68, "{view}");
        assert_eq!(total(viewer.press("m")), 333, "{view}");
        // A view that was made before it was changed elsewhere.
        assert_eq!(total(viewer.press(&format!("1m{view}"))), 68, "{view}");
    }
    for grain in ["3<lt><lt>", "3<lt>", "3>"] {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.press(grain);
        let row = |viewer: &Viewer| {
            let rows: &dyn Rows = viewer.model.rows().unwrap();
            rows.row(rows.line(0).unwrap()).of(viewer.model.refined.metric).inclusive
        };
        let before = row(&viewer);
        viewer.press("m");
        assert!(row(&viewer) > before, "{grain}");
        // The function that costs most is selected, and that is another one.
        let other = screen(&profile, "80x24", &format!("m{grain}g"));
        let mut same = Viewer::new(&profile, "80x24");
        same.press(grain).press("mg");
        let body = |text: &str| text.lines().skip(2).take(20).collect::<Vec<_>>().join("\n");
        assert_eq!(body(&same.screen()), body(&other), "{grain}");
    }
    assert_snapshot!(screen(&profile, "80x14", "m3"));
}

#[test]
fn stages_work_on_all_metrics_and_tell_of_the_one_that_is_looked_at() {
    let profile = waiting();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("fthrough solve | hide poll<enter>");
    assert_eq!((viewer.model.refined.shown, viewer.model.refined.out), (56, 12));
    assert_snapshot!(viewer.press("F").screen());
    assert_snapshot!(viewer.press("m").screen());
    assert_eq!((viewer.model.refined.shown, viewer.model.refined.out), (247, 86));
    assert_snapshot!(viewer.press("=").screen());
    // What is typed is tried out on the metric that is looked at.
    assert_snapshot!(viewer.press("qqfnot through exchange").screen());
    // A stage that leaves paths of another metric alone is one.
    viewer.press("<esc>M:clear<enter>fthrough sleep<enter>");
    assert_eq!(viewer.model.shown_stages.to_string(), "through sleep");
    assert_eq!((viewer.model.refined.shown, viewer.model.refined.out), (0, 68));
    assert_snapshot!(viewer.screen());
}

#[test]
fn numbers_are_explained_with_those_of_other_metrics() {
    let profile = waiting();
    assert_snapshot!(screen(&profile, "80x40", "jjjm="));
}

#[test]
fn a_step_is_taken_back() {
    let profile = waiting();
    let mut viewer = Viewer::new(&profile, "80x20");
    viewer.press("jjeHm");
    let waiting = viewer.screen();
    viewer.press("jjt");
    viewer.press("u").press("u");
    assert_eq!(viewer.model.refined.metric, MetricRef::FIRST);
    viewer.press("<C-r>");
    assert!(viewer.screen().contains("redo: the metric"), "{}", viewer.screen());
    viewer.press("<esc>");
    // The cursor had moved on.
    let rows = |text: &str| text.replace("  ◀", "").lines().take(18).collect::<Vec<_>>().join("\n");
    assert_eq!(rows(&viewer.screen()), rows(&waiting));
}

#[test]
fn a_metric_is_chosen_by_its_name() {
    let profile = waiting();
    let mut viewer = Viewer::new(&profile, "80x14");
    assert_snapshot!(viewer.press(":met").screen());
    viewer.press("<esc>:metric re<enter>");
    assert_eq!(viewer.model.metric().source, "realtime");
    viewer.press(":metric cputime<enter>");
    assert_eq!(viewer.model.metric().source, "cputime");
    viewer.press(":metric<enter>");
    assert_eq!(viewer.model.metric().source, "realtime");
    viewer.press(":metric nonsense<enter>");
    let said = "no metric `nonsense` in this profile; it has cputime and realtime";
    assert!(viewer.screen().contains(said), "{}", viewer.screen());
}

#[test]
fn a_click_on_its_heading_looks_at_a_metric() {
    let profile = waiting();
    let mut viewer = Viewer::new(&profile, "80x14");
    let heading = |viewer: &Viewer, name: &str| {
        let screen = viewer.screen();
        let line = screen.lines().nth(2).unwrap().to_owned();
        let before = &line[..line.find(name).unwrap()];
        u16::try_from(before.chars().count()).unwrap() + 1
    };
    let x = heading(&viewer, "realtime");
    viewer.send(Message::Click { x, y: 2 });
    assert_eq!(viewer.model.metric().source, "realtime");
    let x = heading(&viewer, "cputime");
    viewer.send(Message::Click { x, y: 2 });
    assert_eq!(viewer.model.metric().source, "cputime");
}

#[test]
fn the_list_of_threads_is_of_the_metric() {
    let profile = from_outline(
        "
# rank=0 thread=100 epoch=0 name=solver
main 60 realtime:20
# rank=0 thread=101 epoch=0 name=waiter
main 41 realtime:40
# rank=1 thread=200 epoch=0 name=solver
main 100 realtime:50
",
    )
    .unwrap();
    let mut viewer = Viewer::new(&profile, "80x12");
    assert_snapshot!(viewer.press("Pjjj").screen());
    let selected = |viewer: &Viewer| {
        let screen = viewer.screen();
        let line = screen.lines().find(|line| line.ends_with('◀')).unwrap();
        line.split_whitespace().take(4).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(selected(&viewer), "101 waiter 5.00 ms");
    viewer.press("m");
    assert_eq!(selected(&viewer), "101 waiter 200 ms");
}

#[test]
fn all_sources_stand_on_the_information_page() {
    let profile = waiting();
    assert_snapshot!(screen(&profile, "100x34", "4"));
}

#[test]
fn where_there_is_one_metric_it_is_said_how_there_are_more() {
    let profile = super::solver();
    let mut viewer = Viewer::new(&profile, "80x14");
    let before = viewer.screen();
    let said = viewer.press("m").screen();
    assert!(
        said.contains("cputime alone was recorded; csprof record -e cputime -e realtime"),
        "{said}"
    );
    assert_eq!(viewer.press("<esc>").screen(), before);
    viewer.press("M:metric cputime<enter><esc>");
    assert_eq!(viewer.screen(), before);
    assert_eq!(viewer.model.history.steps(), 0);
    let compared = super::compare::compared();
    let mut viewer = Viewer::new(&compared, "100x14");
    let said = viewer.press("m").screen();
    assert!(said.contains("csprof view --metric NAME BASE OTHER is of another"), "{said}");
}

/// A derived metric, its columns to choose from, and what its numbers are made of.
#[test]
fn derived_metrics() {
    let mut profile = waiting();
    profile.derive_ready();
    profile.derive(&Wanted::parse("wait = realtime - cputime").unwrap()).unwrap();
    assert_snapshot!(screen(&profile, "80x24", ""));
    assert_snapshot!(screen(&profile, "80x24", "|"));
    assert_snapshot!(screen(&profile, "80x24", "jj="));
}
