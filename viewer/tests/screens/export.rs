//! `:export` and `Y`: what the screen shows, in a file or on the clipboard.

use clap::Parser;
use csprof::cli::{Appearance, screen};
use csprof::export::FORMATS;
use csprof::profile::Profile;
use csprof::set_files::SetFiles;
use csprof::tui::effect::Effect;
use csprof::tui::export::Target;
use csprof::tui::message::{Message, Notice};
use csprof::tui::model::Over;
use insta::assert_snapshot;

use super::compare::compared;
use super::{Viewer, solver};

#[derive(Parser)]
struct Looks {
    #[command(flatten)]
    appearance: Appearance,
}

/// What is asked for after these keys: the command line, and what it gives.
pub(super) fn exported(profile: &Profile, keys: &str) -> Result<(String, String), String> {
    let mut viewer = Viewer::new(profile, "80x24");
    viewer.press(keys);
    taken(&mut viewer, profile)
}

/// What the viewer asked for last.
fn taken(viewer: &mut Viewer, profile: &Profile) -> Result<(String, String), String> {
    match viewer.effects.pop() {
        Some(Effect::ExportTable { table, form, .. }) => {
            let text = String::from_utf8(form.of(&table).unwrap()).unwrap();
            Ok(("(as a table)".to_owned(), text))
        }
        Some(Effect::Export { words, .. }) => {
            let Looks { appearance } = Looks::try_parse_from(["csprof"]).unwrap();
            let written = screen::writer(appearance, SetFiles::default())(profile, &words);
            let text = String::from_utf8(written.unwrap()).unwrap();
            Ok((words.join(" "), text))
        }
        _ => match viewer.model.notice.take() {
            Some(Notice::Failed(cause)) => Err(cause),
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn a_prompt_asks_where_to() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    assert_snapshot!(viewer.press("Y").screen());
    assert_snapshot!(viewer.press("run.pdf").screen());
    assert_snapshot!(Viewer::new(&solver(), "40x12").press("Y<tab>").screen());
    viewer.press("<C-u>solver.h<tab><enter>");
    let Some(Effect::Export { target, .. }) = viewer.effects.last() else { panic!() };
    assert_eq!(*target, Target::File { path: "solver.html".into(), replaces: false });
}

/// The keys to each view, and its name.
const VIEWS: [(&str, &str); 14] = [
    ("", "tree"),
    ("2", "callers"),
    ("3", "flat"),
    ("3<lt><lt>", "places"),
    ("4", "information"),
    ("5", "tables"),
    ("6", "flame"),
    ("P", "processes"),
    ("/solve<enter>B", "butterfly"),
    ("!", "worth a look"),
    ("A'", "notes"),
    ("D", "distribution"),
    ("I", "waits"),
    ("/solve<enter>7", "source"),
];

#[test]
fn every_view_is_written_in_every_form_or_says_why_not() {
    let mut told = String::new();
    for (view, name) in VIEWS {
        for ending in ["txt", "csv", "json", "svg", "html"] {
            let line = match exported(&solver(), &format!("{view}:export a.{ending}<enter>")) {
                Ok((words, text)) => {
                    assert!(!text.is_empty(), "{words}");
                    match ending {
                        "json" => drop(serde_json::from_str::<serde_json::Value>(&text).unwrap()),
                        "svg" => assert!(text.starts_with("<svg") && text.ends_with("</svg>\n")),
                        "html" => assert!(text.starts_with("<!doctype html>")),
                        _ => assert!(!text.contains('<') || text.contains("<root>"), "{text}"),
                    }
                    words
                        .strip_prefix("csprof ")
                        .unwrap_or(&words)
                        .replace(" runs/solver.csprof", "")
                }
                Err(cause) => format!("({cause})"),
            };
            told.push_str(&format!("{name:<12} {ending:<5} {line}\n"));
        }
    }
    assert_snapshot!(told);
}

#[test]
fn what_is_offered_is_what_works() {
    let views = VIEWS.map(|(keys, _)| (solver(), keys));
    let of_comparison = ["", "3", "4", "6", "!", "/solve<enter>7"].map(|keys| (compared(), keys));
    for (profile, keys) in views.into_iter().chain(of_comparison) {
        let mut viewer = Viewer::new(&profile, "80x24");
        viewer.press(&format!("{keys}:export<enter>"));
        let Some(Over::Prompt(prompt)) = viewer.model.over.last() else { panic!("{keys}") };
        let offered = prompt.completions.iter().map(|offered| offered.text.as_str());
        let mut offered: Vec<_> =
            offered.map(|file| file.rsplit('.').next().unwrap_or(file).to_owned()).collect();
        let forms = FORMATS.iter().map(|format| format.name).chain(["txt", "csv", "json"]);
        let to = |target: &str| format!("{keys}:export {target}<enter>");
        let works = |ending: &&str| exported(&profile, &to(&format!("a.{ending}"))).is_ok();
        let mut expected: Vec<_> = forms.filter(works).map(str::to_owned).collect();
        let copies = exported(&profile, &to("clipboard")).is_ok();
        expected.extend(copies.then(|| "clipboard".to_owned()));
        offered.sort();
        expected.sort();
        assert_eq!(offered, expected, "{keys}");
    }
}

#[test]
fn rows_are_those_of_the_screen() {
    let keys = "fhide poll<enter>eS";
    let mut viewer = Viewer::new(&solver(), "80x24");
    let rows = viewer.press(keys).model.rows().unwrap().len();
    let (_, csv) = exported(&solver(), &format!("{keys}:export a.csv<enter>")).unwrap();
    assert_eq!(csv.lines().count(), rows + 1);
    let (_, text) = exported(&solver(), &format!("{keys}:export clipboard<enter>")).unwrap();
    assert!(text.contains("refined: hide poll") && !text.contains("  poll"), "{text}");
    for name in ["memcpy", "dot_product", "fwrite"] {
        assert!(text.contains(name), "{text}");
    }
    let (_, text) = exported(&solver(), "E:export clipboard<enter>").unwrap();
    assert!(text.contains("_start") && !text.contains("memcpy"), "{text}");
}

#[test]
fn a_picture_begins_where_the_flame_view_does() {
    let (_, all) = exported(&solver(), "6:export a.svg<enter>").unwrap();
    assert!(all.contains("read_input"));
    let keys = "/exchange<enter>6<enter>:export a.svg<enter>";
    let (words, zoomed) = exported(&solver(), keys).unwrap();
    assert!(words.ends_with("\"main\" > \"solve\" > \"exchange\""), "{words}");
    assert!(zoomed.contains("exchange") && !zoomed.contains("read_input"));
    assert!(zoomed.contains("refined: through"), "{zoomed}");
}

#[test]
fn two_profiles_are_compared_in_files_too() {
    for (ending, holds) in [
        ("txt", "within noise"),
        ("csv", "base_inclusive"),
        ("json", "\"delta\""),
        ("svg", "class=\"less\""),
        ("html", "\"Δ\""),
    ] {
        let (words, text) = exported(&compared(), &format!(":export a.{ending}<enter>")).unwrap();
        assert!(words.starts_with("csprof diff runs/before.csprof runs/after.csprof"), "{words}");
        assert!(text.contains(holds), "{words}: {text}");
    }
}

#[test]
fn what_became_of_it_is_said() {
    let mut viewer = Viewer::new(&solver(), "80x24");
    viewer.press(":export! a.txt<enter>");
    let Some(Effect::Export { target, .. }) = viewer.effects.last() else { panic!() };
    assert_eq!(*target, Target::File { path: "a.txt".into(), replaces: true });
    assert!(viewer.screen().contains("writing"));
    let notice = Notice::Said("copied".to_owned());
    viewer.send(Message::Exported { copied: Some("rows".to_owned()), notice });
    assert_eq!(viewer.effects.last(), Some(&Effect::Copy("rows".to_owned())));
    assert!(viewer.screen().contains("copied"));
    viewer.press(":export nothing<enter>");
    assert!(viewer.screen().contains("a file ends in .html"), "{}", viewer.screen());
    viewer.press(":exporter<enter>");
    assert!(viewer.screen().contains("no command goes with"), "{}", viewer.screen());
}
