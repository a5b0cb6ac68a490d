//! Choosing columns: which there are, in which order, how wide.

use super::super::message::Notice;
use super::super::model::{Model, Over};
use crate::views::columns::{Choice, Unit};

/// Cells that a column may have.
const CELLS: core::ops::RangeInclusive<usize> = 3..=60;

/// Lists the columns of a view that has some.
pub(super) fn open(model: &mut Model) {
    if !model.sheet().has_rows || model.sheet().is_picture {
        let failed = "this view has no columns to choose from; 1 shows one that has";
        model.notice = Some(Notice::Failed(failed.to_owned()));
        return;
    }
    model.over.push(Over::Columns(0));
}

/// Shows the selected column, or hides it. One that is not a bar is always there.
pub(super) fn toggle(model: &mut Model) {
    change(model, |choices, at| {
        choices[at].is_shown = !choices[at].is_shown;
        let is_number = |choice: &Choice| choice.id.definition().unit != Unit::Bar;
        let has_any = choices
            .iter()
            .any(|choice| choice.is_shown && !choice.is_of_others && is_number(choice));
        if has_any { Ok(at) } else { Err("one column of numbers stays") }
    });
}

/// Moves the selected column so many places to the right.
pub(super) fn move_by(model: &mut Model, places: isize) {
    change(model, |choices, at| {
        let to = at.saturating_add_signed(places).min(choices.len() - 1);
        choices.swap(at, to);
        Ok(to)
    });
}

/// Gives the selected column so many cells more.
pub(super) fn widen(model: &mut Model, cells: isize) {
    let columns = model.columns();
    change(model, |choices, at| {
        let Choice { id, width, .. } = choices[at];
        let placed = columns.numbers.iter().find(|placed| choices[at].has(placed.column));
        let present = placed.map_or(id.definition().width, |placed| placed.width);
        let cells = width.unwrap_or(present).saturating_add_signed(cells);
        choices[at].width = Some(cells.clamp(*CELLS.start(), *CELLS.end()));
        Ok(at)
    });
}

/// All columns as they are at first.
pub(super) fn reset(model: &mut Model) {
    (model.choices, model.path_width) = (None, None);
    model.notice = Some(Notice::Said("the columns are as they were at first".to_owned()));
}

/// Changes the choices, unless that is refused; `change` is told which one is selected, and returns
/// which one is then.
fn change(
    model: &mut Model,
    change: impl FnOnce(&mut Vec<Choice>, usize) -> Result<usize, &'static str>,
) {
    let mut choices = model.column_choices();
    let Some(Over::Columns(selected)) = model.over.last_mut() else { return };
    if *selected >= choices.len() {
        return;
    }
    match change(&mut choices, *selected) {
        Ok(at) => {
            *selected = at;
            model.choices = Some(choices);
        }
        Err(cause) => model.notice = Some(Notice::Failed(cause.to_owned())),
    }
}
