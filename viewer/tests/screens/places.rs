//! The flat view as a tree of places: load modules, files, functions, lines.

use csprof::profile::{MetricRef, Profile, from_outline};
use csprof::views::Weight;
use insta::assert_snapshot;

use super::{Viewer, screen};

/// A program of two files, one function of which is called from everywhere, and a library.
fn placed() -> Profile {
    from_outline(
        "
main 1 module:/opt/app at:main.c:9
  solve 2 e=3 module:/opt/app at:solve.c:20
    main 4 e=1 module:/opt/app at:main.c:11
    dot 8 e=7 module:/lib/libblas.so
      dot 1 e=1 module:/lib/libblas.so
  solve 16 e=2 module:/opt/app at:solve.c:21
",
    )
    .unwrap()
}

/// The rows: how deep, name, inclusive and exclusive samples, and the selected one in brackets.
fn rows(viewer: &Viewer) -> Vec<String> {
    let rows = viewer.model.rows().unwrap();
    let said = (0..rows.len()).map(|at| {
        let line = rows.line(at).unwrap();
        let row = rows.row(line);
        let name = viewer.model.row_name(row);
        let name = if at == rows.selected() { format!("[{name}]") } else { name.to_owned() };
        let Weight { inclusive, exclusive, .. } = row.of(MetricRef::FIRST);
        format!("{:1$}{name} {inclusive} {exclusive}", "", line.depth as usize)
    });
    said.collect()
}

#[test]
fn loops_stand_between_functions_and_their_lines() {
    let outline = "\
main 1 at:m.c:3
  mm 2 e=1 at:m.c:12 loop:m.c:10 loop:m.c:11
    dot 8 e=3 at:m.c:2
  mm 16 at:m.c:15 loop:m.c:10
";
    let profile = from_outline(outline).unwrap();
    let mut viewer = Viewer::new(&profile, "80x20");
    let mut after = |keys: &str| rows(viewer.press(keys));
    let functions = ["[mm] 26 18", "dot 8 8", "main 27 1"];
    assert_eq!(after("3"), functions);
    assert_eq!(after("L"), functions, "loops are no functions");
    after(">e");
    let loops = [
        "main 27 1",
        "[mm] 26 18",
        " loop at m.c:10 26 18",
        "  m.c:15 16 16",
        "  loop at m.c:11 10 2",
        "   m.c:12 10 2",
        "dot 8 8",
    ];
    assert_eq!(rows(&viewer), loops);
    assert_eq!(
        rows(viewer.press("L")),
        ["main 27 1", "[mm] 26 18", " m.c:15 16 16", " m.c:12 10 2", "dot 8 8"]
    );
}

/// Nothing calls a loop: its function has what it costs, among callers and over peers.
#[test]
fn loops_are_no_functions_among_callers_and_over_peers() {
    let of = |thread: u32, own: u32| {
        format!(
            "# rank={thread} thread={thread} epoch=0\nmain 1 at:m.c:3\n  mm 2 e=1 at:m.c:12 loop:m.c:10\n    \
             dot 8 e=3 at:m.c:2\n  mm {own} at:m.c:15 loop:m.c:10\n"
        )
    };
    let profile = from_outline(&[of(0, 16), of(1, 30)].concat()).unwrap();
    let mut viewer = Viewer::new(&profile, "80x20");
    let before = rows(viewer.press("2/mm<enter>l<esc>"));
    assert!(before.iter().any(|row| row.starts_with(" main")), "{before:?}");
    let without = viewer.press("Di").screen();
    assert!(without.contains("own code of mm"), "{without}");
    let within = viewer.press("qL").screen();
    assert_eq!(rows(&viewer), before, "{within}");
    assert!(!within.contains("loop at m.c"), "{within}");
    // It opens, is searched and is explained as before.
    assert_eq!(rows(viewer.press("/dot<enter>l<esc>")).len(), before.len() + 1);
    let list = |screen: &str| screen.lines().skip(3).take(12).collect::<Vec<_>>().join("\n");
    let within = viewer.press("/mm<enter><esc>Di").screen();
    let within = if within.contains("own code") { within } else { viewer.press("i").screen() };
    assert_eq!(list(&within), list(&without));
    // What is searched where the profile is large is without loops, too.
    viewer.press("q");
    viewer.model.search_at_once = 0;
    let screen = viewer.press("/m.c<enter>").screen();
    assert!(screen.contains("no row matches"), "{screen}");
}

#[test]
fn functions_are_found_in_their_files_and_modules_and_taken_apart_to_lines() {
    let profile = placed();
    let mut viewer = Viewer::new(&profile, "80x20");
    let mut after = |keys: &str| rows(viewer.press(keys));
    assert_eq!(after("3"), ["[solve] 31 18", "dot 9 9", "main 32 5"]);
    // Dot's file is not known.
    assert_eq!(after("<lt>"), ["[main.c] 32 5", "solve.c 31 18", "dot 9 9"]);
    assert_eq!(after("<lt>"), ["[app] 32 23", "libblas.so 9 9"]);
    assert_eq!(after("<lt>"), ["[app] 32 23", "libblas.so 9 9"]);
    assert_eq!(
        after("ljl"),
        ["app 32 23", " [main.c] 32 5", "  main 32 5", " solve.c 31 18", "libblas.so 9 9"]
    );
    assert_eq!(after(">"), ["[main.c] 32 5", "solve.c 31 18", "dot 9 9"]);
    // The function that was selected stays so.
    assert_eq!(after(">>"), ["main 32 5", "[solve] 31 18", "dot 9 9"]);
    assert_eq!(
        after("l"),
        ["main 32 5", "[solve] 31 18", " solve.c:21 16 16", " solve.c:20 15 2", "dot 9 9"]
    );
    assert_eq!(after("<lt>"), ["[solve] 31 18", "dot 9 9", "main 32 5"]);
    assert_eq!(
        after("u"),
        ["main 32 5", "[solve] 31 18", " solve.c:21 16 16", " solve.c:20 15 2", "dot 9 9"]
    );
}

#[test]
fn modules_opened() {
    assert_snapshot!(screen(&placed(), "80x16", "3<lt><lt>ejj"));
    assert_snapshot!(screen(&placed(), "80x16", "3<lt><lt>ejj="));
    assert_snapshot!(screen(&placed(), "80x24", "3<lt>?"));
}

#[test]
fn a_place_can_be_searched_and_refined_to() {
    let profile = placed();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("3<lt><lt>/:20<enter>");
    assert_eq!(rows(&viewer)[3..5], ["  solve 31 18", "   solve.c:21 16 16"]);
    viewer.press("t");
    let stages = |viewer: &Viewer| viewer.model.shown_stages.to_string();
    assert_eq!(stages(&viewer), "through file:solve.c & line:20");
    // What was open stays open.
    assert_eq!(rows(&viewer)[3..5], ["  solve 15 2", "   [solve.c:20] 15 2"]);
    viewer.press("uhhhhhZ");
    assert_eq!(stages(&viewer), "root at module:/opt/app");
    viewer.press("u/libb<enter>x");
    assert_eq!(stages(&viewer), "not through module:/lib/libblas.so");
    assert_eq!(viewer.model.refined.out, 9);
    viewer.press("u/main.c<enter>d");
    assert_eq!(stages(&viewer), "hide file:main.c");
}

#[test]
fn two_profiles_are_compared_by_place() {
    let other =
        "main 1 module:/opt/app at:main.c:9\n  solve 40 e=3 module:/opt/app at:solve.c:20\n";
    let other = from_outline(other).unwrap();
    let profile = Profile::compared(("a", placed()), ("b", other), &[]).unwrap();
    assert_snapshot!(screen(&profile, "80x14", "3<lt><lt>e"));
}
