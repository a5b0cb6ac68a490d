//! `:repro`: its command line gives the rows of the screen.

use clap::{Parser, Subcommand};
use csprof::cli::{Appearance, Diff, Report};
use csprof::profile::{Profile, from_outline};
use csprof::refine::{Refined, Watch};
use csprof::report::diff;
use csprof::report::listing::{Limits, list};
use csprof::set_files::SetFiles;
use csprof::tui::effect::Effect;
use csprof::tui::table::Rows;
use csprof::views::contexts::contexts;
use csprof::views::{Row, Weight, Weights};

use super::compare::compared;
use super::metrics::waiting;
use super::{SOLVER, Viewer, solver};

#[derive(Parser)]
pub(super) struct Line {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) appearance: Appearance,
}

#[derive(Subcommand)]
pub(super) enum Command {
    Report(Report),
    Diff(Diff),
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

/// The rows of the screen: level, name, what they have of the metric looked at, and of all.
type Shown = Vec<(u32, String, Weight, Weights)>;

fn on_screen(viewer: &Viewer) -> Shown {
    let rows: &dyn Rows = viewer.model.rows().unwrap();
    let row = |at| {
        let line = rows.line(at).unwrap();
        let row = rows.row(line);
        let name = viewer.model.name(row.function).to_owned();
        let looked_at = *row.of(viewer.model.refined.metric);
        (line.depth, name, looked_at, row.weights.clone())
    };
    (0..rows.len()).map(row).collect()
}

/// Presses keys, takes the command line, and compares its rows with those of the screen.
fn reproduced_of(profile: &Profile, keys: &str) -> String {
    let mut viewer = Viewer::new(profile, "80x16");
    viewer.press(keys).press(":repro<enter>q");
    let Some(Effect::PrintAtEnd(line)) = viewer.effects.last().cloned() else {
        panic!("{:?}", viewer.effects);
    };
    let Line { command, appearance } = Line::try_parse_from(words(&line)).unwrap();
    let said = |refined: &Refined, depth: u32, row: &Row| {
        let name = refined.functions[row.function.index()].name.to_string();
        (depth, name, *row.of(refined.metric), row.weights.clone())
    };
    let reported: Shown = match command {
        Command::Report(report) => {
            let (refined, options) =
                report.prepare(profile, appearance, &SetFiles::default()).unwrap();
            assert_eq!(
                !options.percent_of_shown || refined.out == 0,
                viewer.model.whole_of(None) == refined.base
            );
            let listing = list(&refined, &options, Limits::for_text(&options));
            listing.lines.iter().map(|line| said(&refined, line.depth, &line.row)).collect()
        }
        Command::Diff(diff) => {
            let (refined, options) = diff.prepare(profile, appearance).unwrap();
            let limits = Limits::for_text(&options);
            let listing = diff::listing::list(&refined, &options, limits);
            listing.lines.iter().map(|line| said(&refined, line.depth, &line.row)).collect()
        }
    };
    let shown = on_screen(&viewer);
    assert!(!shown.is_empty());
    assert_eq!(reported, shown, "{line}");
    line.strip_prefix("csprof ").unwrap().to_owned()
}

fn reproduced(keys: &str) -> String {
    let line = reproduced_of(&solver(), keys);
    line.strip_prefix("report runs/solver.csprof ").unwrap().to_owned()
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
        "--refine 'through MPI_* | hide poll' --open 1.1"
    );
    assert_eq!(
        reproduced("fthrough MPI_* | hide poll<enter>F<space>q"),
        "--refine 'hide poll' --open 1.1",
        "a stage that is off takes no part"
    );
    assert_eq!(
        reproduced("fthrough memcpy<enter>%2jll"),
        "--view callers --refine 'through memcpy' --percent shown --open 4"
    );
    assert_eq!(reproduced("3"), "--view flat --open none");
    assert_eq!(reproduced("3sss"), "--view flat --sort name --open none");
    assert_eq!(reproduced("3<lt><lt>jl"), "--view flat --by module --open 2");
    assert_eq!(reproduced("3<lt>s"), "--view flat --by file --sort excl --open none");
    assert_eq!(
        reproduced("fhide poll<enter>3>Gl"),
        "--view flat --by function --refine 'hide poll' --open none"
    );
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
fn the_metric_is_named_if_it_is_not_the_first() {
    let profile = waiting();
    let reproduced = |keys: &str| {
        let line = reproduced_of(&profile, keys);
        line.strip_prefix("report runs/solver.csprof ").unwrap().to_owned()
    };
    assert_eq!(reproduced(""), "--open 1.1");
    assert_eq!(reproduced("m"), "--metric realtime --open 1.1");
    assert_eq!(reproduced("mm"), "--open 1.1");
    assert_eq!(reproduced("jjem"), "--metric realtime --open 1.1.1.1");
    assert_eq!(reproduced("mjjes"), "--metric realtime --sort excl --open 1.1.2.2");
    assert_eq!(reproduced("m3"), "--view flat --metric realtime --open none");
    assert_eq!(reproduced("2mjl"), "--view callers --metric realtime --open none");
    assert_eq!(
        reproduced("5/solve<enter><enter>mi"),
        "--view tables --path '\"solve\"' --extended --metric realtime --open none"
    );
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("mP:repro<enter>");
    let line = "csprof report runs/solver.csprof --view threads --metric realtime".to_owned();
    assert_eq!(viewer.effects, [Effect::Copy(line.clone()), Effect::PrintAtEnd(line)]);
}

#[test]
fn the_rows_of_a_comparison_are_reported() {
    let profile = compared();
    let reproduced = |keys: &str| {
        let line = reproduced_of(&profile, keys);
        line.strip_prefix("diff runs/before.csprof runs/after.csprof ").unwrap().to_owned()
    };
    assert_eq!(reproduced(""), "--open 1.1");
    assert_eq!(reproduced("jje"), "--open 1.1.1.1.1,1.1.1.2");
    assert_eq!(reproduced("jjeS"), "--reverse --open 1.1.4.1,1.1.4.3.1");
    assert_eq!(reproduced("jjess"), "--sort name --open 1.1.3.1,1.1.3.3.1");
    assert_eq!(reproduced("2gl"), "--view callers --open 1");
    assert_eq!(
        reproduced("fthrough MPI_*<enter>3s"),
        "--view flat --refine 'through MPI_*' --sort growth --open none"
    );
    assert_eq!(reproduced("3<lt><lt>jl"), "--view modules --open 2");
    assert_eq!(reproduced("3<lt>S"), "--view files --reverse --open none");
    assert_eq!(reproduced("3>"), "--view lines --open none");
    assert_eq!(
        reproduced("5/solve<enter><enter>i"),
        "--view tables --path '\"solve\"' --extended --open none"
    );
    assert_eq!(
        reproduced("5/poll<enter><enter>wsss"),
        "--view tables --path '\"poll\"' --upward --sort base --open none"
    );
}

#[test]
fn a_comparison_is_by_the_metric_that_was_named() {
    let (base, other) = (("before.csprof", waiting()), ("after.csprof", waiting()));
    let profile = Profile::compared_by(base, other, Some("realtime"), &[]).unwrap();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.model.compared_by = Some("realtime".to_owned());
    viewer.press(":repro<enter>");
    let line = "csprof diff before.csprof after.csprof --metric realtime --open 1.1".to_owned();
    assert_eq!(viewer.effects, [Effect::Copy(line.clone()), Effect::PrintAtEnd(line)]);
}

#[test]
fn the_list_of_threads_is_reported() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("fthrough MPI_*<enter>P:repro<enter>");
    let line =
        "csprof report runs/solver.csprof --view threads --refine 'through MPI_*'".to_owned();
    assert_eq!(viewer.effects, [Effect::Copy(line.clone()), Effect::PrintAtEnd(line)]);
    // Many, and very small ones.
    let ranks: String = (0..70)
        .map(|rank| format!("# rank={rank} thread={rank} epoch=0\nmain {}\n", 1 + rank * rank))
        .collect();
    let profile = from_outline(&ranks).unwrap();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("P");
    let (list, _) = contexts(&viewer.model.refined, &Watch::none()).unwrap();
    viewer.press(":repro<enter>");
    let Some(Effect::PrintAtEnd(line)) = viewer.effects.pop() else { panic!() };
    let Line { command, appearance } = Line::try_parse_from(words(&line)).unwrap();
    let Command::Report(report) = command else { panic!("{line}") };
    let (refined, options) = report.prepare(&profile, appearance, &SetFiles::default()).unwrap();
    let mut text = Vec::new();
    csprof::report::contexts::text(&refined, &options, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let rows: Vec<_> = text.lines().filter(|line| line.contains(", pid ")).collect();
    assert_eq!((rows.len(), list.len()), (70, 70), "{line}");
    for (row, context) in rows.iter().zip(&list) {
        assert!(row.ends_with(&context.label), "{row}");
    }
    // What cannot be reported says so.
    let profile = compared();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("P:repro<enter>");
    assert_eq!(viewer.effects, []);
    assert!(viewer.screen().contains("csprof diff does not list processes and threads"));
}

#[test]
fn all_files_are_named() {
    let profile = solver();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.model.files = ["rank 0.csprof", "rank1.csprof"].map(str::to_owned).to_vec();
    viewer.model.salvage = true;
    viewer.press(":repro<enter>");
    let line = "csprof report 'rank 0.csprof' rank1.csprof --salvage --open 1.1".to_owned();
    assert_eq!(viewer.effects, [Effect::Copy(line.clone()), Effect::PrintAtEnd(line)]);
}

#[test]
fn the_information_page_is_reported_too() {
    let profile = from_outline(SOLVER).unwrap();
    let mut viewer = Viewer::new(&profile, "80x16");
    viewer.press("4:repro<enter>");
    let line = "csprof info runs/solver.csprof".to_owned();
    assert_eq!(viewer.effects, [Effect::Copy(line.clone()), Effect::PrintAtEnd(line)]);
}

/// The command line begins with the stages that the profile was saved with, as the screen does,
/// unless they were removed.
#[test]
fn stages_that_a_profile_was_saved_with() {
    let mut profile = solver();
    profile.info.stages = vec!["hide MPI_*".to_owned()];
    let removed = reproduced_of(&profile, "E");
    assert!(removed.contains("--no-saved-stages --open"), "{removed}");
    let kept = reproduced_of(&profile, "fhide MPI_*<enter>E");
    assert!(!kept.contains("--no-saved-stages"), "{kept}");
    let more = reproduced_of(&profile, "fhide MPI_*<enter>fhide poll<enter>E");
    assert!(more.contains("--refine 'hide MPI_* | hide poll'"), "{more}");
}
