//! The command line that reports what is on the screen: the same rows in the same order.

use super::super::effect::Effect;
use super::super::message::View;
use super::super::model::{Model, Notice, Over, PercentOf};
use super::super::page::{Item, Page};
use super::super::table::Rows;
use super::Effects;
use crate::profile::MetricRef;
use crate::profile::comparison::Scale;
use crate::refine::Grain;
use crate::report::listing::{USUAL_ROWS, USUAL_SHARE};
use crate::views::hall::{Reach, Way};
use crate::views::printable::command_line;
use crate::views::{Sort, SortKey};

/// Shows the command line, copies it, and has it printed at the end.
pub(super) fn show(model: &mut Model<'_>) -> Effects {
    let words = match words(model) {
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

/// The words of the command line.
///
/// The error says why there is none.
fn words(model: &Model<'_>) -> Result<Vec<String>, String> {
    let mut words = vec!["csprof".to_owned()];
    let comparison = model.comparison();
    match (comparison, model.view) {
        (_, View::Info) if comparison.is_some() || model.files.len() != 1 => {
            return Err("csprof info is about one file, and these are several".to_owned());
        }
        (_, View::Info) => words.push("info".to_owned()),
        (Some(_), _) => words.push("diff".to_owned()),
        (None, _) => words.push("report".to_owned()),
    }
    match comparison {
        Some(comparison) => words.extend(comparison.sides.each_ref().map(|side| side.name.clone())),
        None => words.extend(model.files.iter().cloned()),
    }
    let mut add = |option: &str, value: Option<&str>| {
        words.push(option.to_owned());
        words.extend(value.map(str::to_owned));
    };
    if model.salvage {
        add("--salvage", None);
    }
    if model.view == View::Info {
        return Ok(words);
    }
    let is_list = matches!(model.over.last(), Some(Over::Contexts(..)));
    let view = match (model.view, model.grain, comparison) {
        _ if is_list && comparison.is_some() => {
            return Err("csprof diff does not list processes and threads".to_owned());
        }
        _ if is_list => Some("threads"),
        (View::Tree | View::Info, ..) => None,
        (View::Callers, ..) => Some("callers"),
        (View::Tables, ..) => Some("tables"),
        (View::Flat, Grain::Function, _) | (View::Flat, _, None) => Some("flat"),
        (View::Flat, Grain::Module, Some(_)) => Some("modules"),
        (View::Flat, Grain::File, Some(_)) => Some("files"),
        (View::Flat, Grain::Line, Some(_)) => Some("lines"),
    };
    if let Some(view) = view {
        add("--view", Some(view));
    }
    match model.grain {
        Grain::Module if view == Some("flat") => add("--by", Some("module")),
        Grain::File if view == Some("flat") => add("--by", Some("file")),
        Grain::Line if view == Some("flat") => add("--by", Some("function")),
        _ => {}
    }
    if view == Some("tables") {
        if let Some(path) = &model.tables.path {
            add("--path", Some(&path.to_string()));
        }
        if model.tables.reach == Reach::Extended {
            add("--extended", None);
        }
        if model.tables.way == Way::Up {
            add("--upward", None);
        }
    }
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
    let stages = model.shown_stages.to_string();
    if !stages.is_empty() {
        add("--refine", Some(&stages));
    }
    if comparison.is_none() && model.percent_of == PercentOf::View && model.refined.out > 0 {
        add("--percent", Some("shown"));
    }
    if let Some(Over::Contexts(list, _)) = model.over.last() {
        let least = USUAL_SHARE / 100.0 * model.refined.shown as f64;
        if list.iter().any(|context| (context.samples as f64) < least) {
            add("--threshold", Some("0"));
        }
        if list.len() > USUAL_ROWS {
            add("--limit", Some(&list.len().to_string()));
        }
        return Ok(words);
    }
    let sort = model.rows().map_or_else(Sort::default, Rows::sort);
    let usual = match model.view {
        View::Callers => SortKey::Exclusive,
        View::Flat if !model.has_places() => SortKey::Exclusive,
        _ => SortKey::Inclusive,
    };
    if let Some(column) = column(sort.key).filter(|_| sort.key != usual) {
        add("--sort", Some(column));
    }
    if sort.reversed {
        add("--reverse", None);
    }
    add("--open", Some(&open(model)));
    Ok(words)
}

/// What `report` or `diff` calls a column; what differs most comes first in `diff` anyway.
fn column(key: SortKey) -> Option<&'static str> {
    Some(match key {
        SortKey::Inclusive => "time",
        SortKey::Exclusive => "excl",
        SortKey::Edges => "edges",
        SortKey::PerEdge => "per-edge",
        SortKey::Name => "name",
        SortKey::Base(_) => "base",
        SortKey::Other(_) => "other",
        SortKey::Growth(_) => "growth",
        SortKey::Delta(_) | SortKey::Of(..) => return None,
    })
}

/// The open rows, each by its place: `1.3` is the third row below the first.
fn open(model: &Model<'_>) -> String {
    let places = model.rows().map_or_else(Vec::new, Rows::open_places);
    let place =
        |place: &Vec<usize>| place.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
    match &places[..] {
        [] => "none".to_owned(),
        _ => places.iter().map(place).collect::<Vec<_>>().join(","),
    }
}
