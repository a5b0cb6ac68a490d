//! The command line that reports what is on the screen: the same rows in the same order.

use super::super::effect::Effect;
use super::super::export::ExportForm;
use super::super::message::Notice;
use super::super::model::{Model, Over};
use super::super::page::{Item, Page};
use super::super::scene::PercentOf;
use super::super::table::Rows;
use super::super::view::Repro;
use super::ask::Effects;
use crate::export::svg;
use crate::profile::comparison::{Scale, Scaling};
use crate::profile::{MetricRef, Profile};
use crate::views::Sort;
use crate::views::printable::command_line;

/// Shows the command line, copies it, and has it printed at the end.
pub(super) fn show(model: &mut Model) -> Effects {
    let words = match words(model, None) {
        Ok(words) => words,
        Err(cause) => {
            model.notice = Some(Notice::Failed(cause));
            return Vec::new();
        }
    };
    let words: Vec<_> = words.into_iter().map(String::into_bytes).collect();
    let command = command_line(&words);
    let text = |text: &str| Item::Text(text.to_owned());
    let items = vec![
        text("This command line reports what the screen shows:"),
        Item::Gap,
        text(&command),
        Item::Gap,
        text("It was copied, if this terminal takes OSC 52, and is printed when the viewer ends."),
    ];
    model.over.push(Over::Page(Page::new("Command line", items)));
    vec![Effect::Copy(command.clone()), Effect::PrintAtEnd(command)]
}

/// The words of the command line, in this form or in that of the screen.
///
/// The error says why there is none.
pub(super) fn words(model: &Model, form: Option<ExportForm>) -> Result<Vec<String>, String> {
    let mut words = vec!["csprof".to_owned()];
    if model.configured {
        // Defaults of the file would change what is printed.
        words.push("--no-config".to_owned());
    }
    let comparison = model.comparison();
    let repro = model.view().repro(&model.refined);
    let of_paths = match form {
        Some(form) => matches!(form, ExportForm::Paths(_)),
        None => matches!(repro, Repro::OfPicture(_)),
    };
    // Rows that are no functions are no tree.
    let has_tree = model.sheet().has_rows;
    words.push(match (&repro, comparison) {
        _ if of_paths && !has_tree => {
            return Err("this is no tree of calls: .txt, .csv and .json hold it".to_owned());
        }
        (Repro::OfFile("info"), _) if form == Some(ExportForm::Csv) => {
            return Err("this is no table: .txt and .json hold it".to_owned());
        }
        (Repro::OfText(_), _) if form == Some(ExportForm::Csv) => {
            return Err("this has no command line for .csv: .txt and .json have".to_owned());
        }
        (Repro::OfFile(subcommand), _) if comparison.is_some() || model.files.len() != 1 => {
            return Err(format!("csprof {subcommand} is about one file, and these are several"));
        }
        (Repro::OfFile(subcommand), _) => (*subcommand).to_owned(),
        (Repro::None(why), _) => return Err((*why).to_owned()),
        (_, Some(_)) if matches!(form, Some(ExportForm::Paths(format)) if !format.is_picture) => {
            return Err("this form has no place for a comparison".to_owned());
        }
        (_, Some(_)) => "diff".to_owned(),
        (_, None) if of_paths => "export".to_owned(),
        (_, None) => "report".to_owned(),
    });
    match comparison {
        Some(comparison) => {
            let [base, other] = comparison
                .sides
                .each_ref()
                .map(|side| side.runs.iter().map(|run| run.name.clone()).collect::<Vec<String>>());
            words.extend(base);
            words.extend(comparison.has_several_runs().then(|| "--with".to_owned()));
            words.extend(other);
            if let Some(Scaling { kind, workers: [base, other] }) = comparison.scaling {
                words.extend(["--scaling".to_owned(), kind.name().to_owned()]);
                words.extend(["--workers".to_owned(), format!("{base},{other}")]);
            }
        }
        None => words.extend(model.files.iter().cloned()),
    }
    let mut add = |option: &str, value: Option<&str>| {
        words.push(option.to_owned());
        words.extend(value.map(str::to_owned));
    };
    if model.salvage {
        add("--salvage", None);
    }
    let form = form.or(of_paths.then_some(ExportForm::Paths(&svg::FORMAT)));
    if let Some(form) = form {
        add("--format", Some(form.name()));
    }
    let (options, further) = match repro {
        Repro::OfRows(options) | Repro::OfText(options) if !of_paths => (options, None),
        Repro::OfRows(_) | Repro::OfText(_) => (Vec::new(), None),
        Repro::OfPicture(stage) => (Vec::new(), stage),
        Repro::OfFile(_) | Repro::None(_) => return Ok(words),
    };
    words.extend(options);
    let mut add = |option: &str, value: Option<&str>| {
        words.push(option.to_owned());
        words.extend(value.map(str::to_owned));
    };
    match &model.compared_by {
        Some(name) => add("--metric", Some(name)),
        None if model.refined.metric != MetricRef::FIRST => {
            add("--metric", Some(&model.metric().source));
        }
        None => {}
    }
    if comparison.is_some_and(|comparison| comparison.scale == Scale::Share) {
        add("--normalize", None);
    }
    let saved = &model.profile.info.stages;
    if !saved.is_empty() && !model.shown_stages.begins_with(saved) {
        add("--no-saved-stages", None);
    }
    let mut stages = model.shown_stages.clone();
    further.into_iter().for_each(|stage| stages.push(stage));
    let stages = stages.to_string();
    if !stages.is_empty() {
        add("--refine", Some(&stages));
    }
    if of_paths {
        return Ok(words);
    }
    if comparison.is_none() && model.percent_of == PercentOf::View && model.refined.out > 0 {
        add("--percent", Some("shown"));
    }
    derived(&model.profile).iter().for_each(|wanted| add("--derive", Some(wanted)));
    if !model.sheet().has_rows || model.sheet().is_picture {
        return Ok(words);
    }
    // What differs most comes first in `diff` anyway.
    let usual = Sort::usual(model.sheet().cost, &model.profile);
    let sort = model.rows().map_or(usual, Rows::sort);
    let named = sort.key.sort_name(&model.profile).filter(|_| sort.key != usual.key);
    if let Some(column) = named {
        add("--sort", Some(&column));
    }
    if sort.reversed {
        add("--reverse", None);
    }
    add("--open", Some(&open(model)));
    Ok(words)
}

/// The derived metrics that a profile does not have anyway.
fn derived(profile: &Profile) -> Vec<String> {
    let mut usual = profile.clone();
    usual.derived.clear();
    if profile.comparison.is_none() {
        usual.derive_ready();
    }
    let added = profile.derived.iter().filter(|of| !usual.derived.contains(of));
    added.map(|of| format!("{} = {}", of.name, of.formula)).collect()
}

/// The open rows, each by its place: `1.3` is the third row below the first.
fn open(model: &Model) -> String {
    let places = model.rows().map_or_else(Vec::new, Rows::open_places);
    let place =
        |place: &Vec<usize>| place.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
    match &places[..] {
        [] => "none".to_owned(),
        _ => places.iter().map(place).collect::<Vec<_>>().join(","),
    }
}
