//! The page of sets of frames: what each is called, stands for and matches here.

use super::model::Model;
use super::page::{Item, Page};
use crate::profile::short_name;
use crate::refine::Preset;
use crate::views::number::{amount, counted, percent};
use crate::views::sets::SetRow;

/// Functions of a set that the page names.
const NAMED: usize = 6;

/// The page; without `rows`, what the sets match is still being counted.
pub(super) fn page(model: &Model, rows: Option<&[SetRow]>) -> Page {
    let mut items = vec![
        Item::Text(
            "A refinement can name these sets: through @mpi. :set defines one for all profiles, \
             :set-here for this one; w in the list of stages (F) saves a stage's frames."
                .to_owned(),
        ),
        Item::Gap,
    ];
    for problem in model.sets.problems() {
        items.push(Item::Warning("problem".to_owned(), problem.to_string()));
    }
    match rows {
        Some(rows) => rows.iter().for_each(|row| here(model, row, &mut items)),
        None => items.push(Item::Text("counting what they match…".to_owned())),
    }
    if !model.sets.refinements().is_empty() {
        items.push(Item::Gap);
        items.push(Item::Heading("Refinements that were saved (:apply NAME)".to_owned()));
    }
    for saved in model.sets.refinements() {
        let text = format!("= {}  ({})", saved.refinement, saved.place);
        items.push(Item::Pair(format!("@{}", saved.name), text));
    }
    items.push(Item::Gap);
    items.push(Item::Heading("What the shipped sets stand for".to_owned()));
    for (_, name, definition) in Preset::ALL {
        items.push(Item::Pair(format!("@{name}"), definition.to_owned()));
    }
    Page::new("Sets of frames", items)
}

fn here(model: &Model, row: &SetRow, items: &mut Vec<Item>) {
    let refined = &model.refined;
    let cost = match row.samples {
        0 => "nothing here".to_owned(),
        samples => {
            let time = amount(samples, model.metric(), model.form());
            format!("{time}, {} %: {}", percent(samples, refined.shown), functions(model, row))
        }
    };
    items.push(Item::Pair(format!("@{}", row.name), cost));
    if let Some(place) = &row.place {
        items.push(Item::Pair(String::new(), format!("= {}  ({place})", row.definition)));
    }
}

fn functions(model: &Model, row: &SetRow) -> String {
    let names = row.functions.iter().take(NAMED);
    let mut names: Vec<_> = names.map(|&f| short_name(model.name(f)).into_owned()).collect();
    if let Some(more @ 1..) = row.functions.len().checked_sub(NAMED) {
        names.push(counted(more as u64, "more function", model.form()));
    }
    names.join(", ")
}
