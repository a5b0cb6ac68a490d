//! The butterfly: callers and callees of one function.

use clap::Parser as _;
use csprof::profile::{Profile, from_outline};
use csprof::report::listing::{Limits, list};
use csprof::set_files::SetFiles;
use insta::assert_snapshot;

use super::compare::compared;
use super::export::exported;
use super::repro::{Command, Line};
use super::{Viewer, screen, solver};

/// Name, inclusive and exclusive samples of each row of the view.
fn rows(viewer: &Viewer) -> Vec<(String, u64, u64)> {
    let rows = viewer.model.rows().unwrap();
    let row = |at| {
        let row = rows.row(rows.line(at).unwrap());
        let weight = row.of(viewer.model.refined.metric);
        (viewer.model.row_name(row).to_owned(), weight.inclusive, weight.exclusive)
    };
    (0..rows.len()).map(row).collect()
}

fn butterfly(profile: &Profile, keys: &str) -> Vec<(String, u64, u64)> {
    rows(Viewer::new(profile, "80x24").press(keys).press("B"))
}

fn row(name: &str, inclusive: u64, exclusive: u64) -> (String, u64, u64) {
    (name.to_owned(), inclusive, exclusive)
}

#[test]
fn callers_stand_above_and_callees_below() {
    let profile = solver();
    assert_snapshot!(screen(&profile, "80x24", "/exchange<enter>B"));
    assert_snapshot!(screen(&profile, "40x12", "/poll<enter>B"));
    assert_snapshot!(screen(&profile, "120x14", "/solve<enter>B"));
    assert_snapshot!(screen(&compared(), "80x14", "/solve<enter>B"));
}

#[test]
fn what_counts_most_is_nearest_to_the_function() {
    let profile = from_outline(
        "main 0\n  a 0\n    f 5\n  b 0\n    f 9\n      x 3\n      y 6\n  c 0\n    f 1\n",
    )
    .unwrap();
    let shown = butterfly(&profile, "/f<enter>");
    let wanted = [("c", 1), ("a", 5), ("b", 18), ("f", 24), ("y", 6), ("x", 3)];
    let names: Vec<_> = shown.iter().map(|(name, cost, _)| (name.as_str(), *cost)).collect();
    assert_eq!(names, wanted);
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("/f<enter>BS");
    let names: String = rows(&viewer).iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, "bacfxy", "turned round, the function stays between them");
}

#[test]
fn a_report_has_the_same_rows_and_says_which_are_which() {
    let profile = from_outline(
        "main 0\n  a 0\n    f 5\n  b 0\n    f 9\n      x 3\n      y 6\n  c 0\n    f 1\n",
    )
    .unwrap();
    let reported = |keys: &str| {
        let (words, csv) = exported(&profile, &format!("{keys}:export a.csv<enter>")).unwrap();
        let level_and_name = |line: &str| line.splitn(3, ',').take(2).collect::<String>();
        (words, csv.lines().skip(1).map(level_and_name).collect::<Vec<_>>().join(" "))
    };
    let (words, rows) = reported("/f<enter>B");
    assert_eq!(rows, "0c 0a 0b 1f 2y 2x");
    assert!(words.ends_with("--view butterfly --path \"f\" --open none"), "{words}");
    assert_eq!(reported("/f<enter>BS").1, "0b 0a 0c 1f 2x 2y");
    // A limit leaves out what costs least, on either side.
    let line = "csprof report f --view butterfly --path f --limit 3";
    let Line { command, appearance } = Line::try_parse_from(line.split(' ')).unwrap();
    let Command::Report(report) = command else { panic!() };
    let (refined, options) = report.prepare(&profile, appearance, &SetFiles::default()).unwrap();
    let listing = list(&refined, &options, Limits::for_text(&options));
    let names =
        listing.lines.iter().map(|line| &*refined.functions[line.row.function.index()].name);
    assert_eq!(names.collect::<Vec<_>>(), ["b", "f", "y"]);
}

#[test]
fn recursion_counts_once() {
    let profile =
        from_outline("main 1\n  f 2\n    f 3\n      g 4\n        f 5\n    h 1\n  g 7\n").unwrap();
    let shown = butterfly(&profile, "/f<enter>");
    assert_eq!(
        shown,
        // f calls itself: 3 + 4 + 5 below main > f > f, which are counted once.
        [row("g", 5, 5), row("f", 12, 3), row("main", 15, 2), row("f", 15, 10)]
            .into_iter()
            .chain([row("f", 12, 3), row("g", 9, 4), row("h", 1, 1)])
            .collect::<Vec<_>>()
    );
}

/// The row of the function is that of the flat view; without recursion, callers add up to it, and
/// so do callees and its own samples.
#[test]
fn its_row_is_that_of_the_flat_view() {
    for profile in [solver(), from_outline("a 1\n  b 2\n    a 3\n      b 4\n  c 5\n").unwrap()] {
        let flat = rows(Viewer::new(&profile, "80x24").press("3"));
        for (at, wanted) in flat.iter().enumerate() {
            let keys = format!("3g{}", "j".repeat(at));
            let shown = butterfly(&profile, &keys);
            assert!(shown.contains(wanted), "{wanted:?} in {shown:?}");
            let place = shown.iter().position(|row| row == wanted).unwrap();
            let sum = |rows: &[(String, u64, u64)]| rows.iter().map(|row| row.1).sum::<u64>();
            if shown.iter().filter(|row| row.0 == wanted.0).count() == 1 && profile.total() > 15 {
                assert_eq!(sum(&shown[..place]), wanted.1, "{shown:?}");
                assert_eq!(sum(&shown[place + 1..]) + wanted.2, wanted.1, "{shown:?}");
            }
        }
    }
}

#[test]
fn enter_moves_to_the_function_of_the_row_and_back() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    let of = |viewer: &Viewer| {
        let screen = viewer.screen();
        screen.lines().find_map(|line| line.strip_prefix(" of ")).unwrap().trim().to_owned()
    };
    viewer.press("/exchange<enter>B");
    assert!(of(&viewer).starts_with("exchange "), "{}", viewer.screen());
    viewer.press("<enter>");
    assert!(viewer.screen().contains("these are its callers and callees"));
    viewer.press("j<enter>");
    assert!(of(&viewer).starts_with("MPI_Sendrecv "), "{}", viewer.screen());
    viewer.press("k<enter>");
    assert!(of(&viewer).starts_with("exchange "), "{}", viewer.screen());
    viewer.press("k<enter>k<enter>k<enter>k<enter>");
    assert!(of(&viewer).starts_with("_start "), "{}", viewer.screen());
    viewer.press("k<enter>");
    assert!(viewer.screen().contains("nothing calls the function here"), "{}", viewer.screen());
    viewer.press("<backspace>");
    assert!(of(&viewer).starts_with("main "), "{}", viewer.screen());
    viewer.press("u");
    assert!(of(&viewer).starts_with("_start "), "{}", viewer.screen());
    viewer.press("q");
    assert!(viewer.screen().contains("[1 Tree]"), "{}", viewer.screen());
    assert!(!viewer.screen().contains(" of _start"), "{}", viewer.screen());
}

#[test]
fn it_follows_stages_and_says_why_it_has_no_rows() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("/exchange<enter>B").press("fthrough memcpy<enter>");
    assert_eq!(
        rows(&viewer),
        [row("solve", 60, 0), row("exchange", 60, 0), row("MPI_Sendrecv", 60, 0)]
    );
    viewer.press("fhide exchange<enter>");
    assert!(
        viewer.screen().contains(" no function that the stages before leave"),
        "{}",
        viewer.screen()
    );
    viewer.press("u");
    assert_eq!(rows(&viewer).len(), 3);
    // The page of information has no function.
    assert!(screen(&profile, "80x24", "4B").contains("no function is selected"));
}

#[test]
fn hostile_names_and_many_callers_are_shown() {
    let long = "x".repeat(1 << 20);
    let mut outline = format!("main 0\n  {long} 0\n    f 9\n");
    for at in 0..300 {
        outline.push_str(&format!("  \"c{at}\u{1b}[31m\u{202e}\" 0\n    f {}\n", at + 10));
    }
    let profile = from_outline(&outline).unwrap();
    let mut viewer = Viewer::new(&profile, "80x24");
    viewer.press("/f<enter>B");
    let shown = viewer.screen();
    assert!(shown.contains("c299"), "the costliest caller is beside the function: {shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']));
    viewer.press("g");
    viewer.press("<enter>");
    assert!(viewer.screen().contains("of xxx"), "{}", viewer.screen());
}
