//! `:repro`: its command line gives the rows of the screen.

use clap::Parser;
use csprof::cli::{Appearance, Report};
use csprof::profile::from_outline;
use csprof::report::listing::{Limits, list};
use csprof::set_files::SetFiles;
use csprof::tui::effect::Effect;
use csprof::tui::table::Rows;

use super::{SOLVER, Viewer, solver};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    report: Report,
    #[command(flatten)]
    appearance: Appearance,
}

/// The words of a command line, as a shell reads them; the viewer quotes with `'` alone.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(character),
        }
    }
    words
}

/// Presses keys, takes the command line, and compares its rows with those of the screen.
fn reproduced(keys: &str) -> String {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press(keys).press(":repro<enter>q");
    let Some(Effect::PrintAtEnd(line)) = viewer.effects.last().cloned() else {
        panic!("{:?}", viewer.effects);
    };
    let mut words = words(&line);
    assert_eq!(words.remove(1), "report");
    let Line { report, appearance } = Line::try_parse_from(words).unwrap();
    let (refined, options) = report.prepare(&profile, appearance, &SetFiles::default()).unwrap();
    let reported: Vec<_> = list(&refined, &options, Limits::for_text(&refined, &options))
        .lines
        .iter()
        .map(|line| {
            let name = &refined.functions[line.row.function.index()].name;
            (line.depth, name.clone(), line.row.inclusive, line.row.edges)
        })
        .collect();
    let rows: &dyn Rows = viewer.model.rows().unwrap();
    let on_screen: Vec<_> = (0..rows.len())
        .map(|at| {
            let line = rows.line(at).unwrap();
            let row = rows.row(line);
            (line.depth, viewer.model.name(row.function).to_owned(), row.inclusive, row.edges)
        })
        .collect();
    assert!(!on_screen.is_empty());
    assert_eq!(reported, on_screen, "{line}");
    assert_eq!(options.percent_of_all || refined.out == 0, viewer.model.whole() == refined.base);
    line.strip_prefix("csprof report runs/solver.csprof ").unwrap().to_owned()
}

#[test]
fn the_rows_of_the_screen_are_reported() {
    assert_eq!(reproduced(""), "--open 1.1");
    assert_eq!(reproduced("E"), "--open none");
    assert_eq!(reproduced("jje"), "--open 1.1.1.1.1,1.1.1.2");
    assert_eq!(reproduced("e"), "--open 1.1.1.1.1,1.1.1.2,1.1.2,1.1.3");
    assert_eq!(
        reproduced("jjes"),
        "--sort excl --open 1.1.1.2.1,1.1.1.3",
        "rows are numbered in the order that they have"
    );
    assert_eq!(reproduced("jjesS"), "--sort excl --reverse --open 1.1.3.1.1,1.1.3.2");
    assert_eq!(
        reproduced("fthrough MPI_* | hide poll<enter>"),
        "--refine 'through MPI_* | hide poll' --percent all --open 1.1"
    );
    assert_eq!(
        reproduced("fthrough memcpy<enter>%2jll"),
        "--view callers --refine 'through memcpy' --sort time --open 3"
    );
    assert_eq!(reproduced("3"), "--view flat --open none");
    assert_eq!(reproduced("3sss"), "--view flat --sort name --open none");
    assert_eq!(
        reproduced("5/solve<enter><enter>i"),
        "--view tables --path '\"solve\"' --extended --open none"
    );
    assert_eq!(
        reproduced("5/poll<enter><enter>iwS"),
        "--view tables --path '\"poll\"' --extended --upward --reverse --open none"
    );
}

#[test]
fn the_information_page_is_reported_too() {
    let profile = from_outline(SOLVER).unwrap();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("4:repro<enter>");
    let line = "csprof info runs/solver.csprof".to_owned();
    assert_eq!(viewer.effects, [Effect::Copy(line.clone()), Effect::PrintAtEnd(line)]);
}
