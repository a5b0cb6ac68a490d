//! The command line that reports what is on the screen: the same rows in the same order.

use super::super::comparison;
use super::super::effect::Effect;
use super::super::message::View;
use super::super::model::{Model, Over, PercentOf};
use super::super::page::{Item, Page};
use super::super::table::Rows;
use super::Effects;
use crate::views::hall::{Reach, Way};
use crate::views::printable::command_line;
use crate::views::{Sort, SortKey};

/// Shows the command line, copies it, and has it printed at the end.
pub(super) fn show(model: &mut Model<'_>) -> Effects {
    let words: Vec<_> = words(model).into_iter().map(String::into_bytes).collect();
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

fn words(model: &Model<'_>) -> Vec<String> {
    if let Some(words) = comparison::command(model) {
        return words;
    }
    let subcommand = if model.view == View::Info { "info" } else { "report" };
    let mut words = vec!["csprof".to_owned(), subcommand.to_owned(), model.path.clone()];
    let mut add = |option: &str, value: Option<String>| {
        words.push(option.to_owned());
        words.extend(value);
    };
    let named = |name: &str| Some(name.to_owned());
    match model.view {
        View::Info => return words,
        View::Tree => {}
        View::Callers => add("--view", named("callers")),
        View::Flat => add("--view", named("flat")),
        View::Tables => {
            add("--view", named("tables"));
            if let Some(path) = &model.tables.path {
                add("--path", Some(path.to_string()));
            }
            if model.tables.reach == Reach::Extended {
                add("--extended", None);
            }
            if model.tables.way == Way::Up {
                add("--upward", None);
            }
        }
    }
    let stages = model.shown_stages.to_string();
    if !stages.is_empty() {
        add("--refine", Some(stages));
    }
    let sort = model.rows().map_or_else(Sort::default, Rows::sort);
    let usual = match model.view {
        View::Callers | View::Flat => SortKey::Exclusive,
        _ => SortKey::Inclusive,
    };
    if let Some(column) = column(sort.key).filter(|_| sort.key != usual) {
        add("--sort", named(column));
    }
    if sort.reversed {
        add("--reverse", None);
    }
    if model.percent_of == PercentOf::Base && model.refined.out > 0 {
        add("--percent", named("all"));
    }
    add("--open", Some(open(model)));
    words
}

/// What `report` calls a column; it has none of those of comparisons.
fn column(key: SortKey) -> Option<&'static str> {
    Some(match key {
        SortKey::Inclusive => "time",
        SortKey::Exclusive => "excl",
        SortKey::Edges => "edges",
        SortKey::PerEdge => "per-edge",
        SortKey::Name => "name",
        SortKey::Delta(_) | SortKey::Base(_) | SortKey::Other(_) | SortKey::Growth(_) => {
            return None;
        }
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
