//! Clicks and the wheel.

use super::super::message::{Message, View};
use super::super::model::{Model, Over};
use super::{Effects, apply};
use crate::tui::draw::menu::{Window, window};
use crate::tui::draw::rows::marker_at;
use crate::tui::draw::{contexts, stages};
use crate::tui::header;

/// Lines that one step of the wheel moves.
const WHEEL_LINES: isize = 3;

/// A click on the sign before a name opens or closes the row. Elsewhere it selects: a row, a view by
/// its name, an order or a metric by its heading, an item of the menu or of a list; on the line of
/// stages it lists them.
pub(super) fn click<'p>(model: &mut Model<'p>, x: u16, y: u16) -> Effects {
    let (x, y) = (usize::from(x), usize::from(y));
    if model.is_too_small() {
        return Vec::new();
    }
    match model.over.last() {
        Some(&Over::Menu(selected)) => return click_menu(model, selected, y),
        Some(_) => {
            if let Some(item) = item_at(model, y)
                && let Some(Over::Stages(selected) | Over::Contexts(_, selected)) =
                    model.over.last_mut()
            {
                *selected = item;
            }
            return Vec::new();
        }
        None => {}
    }
    if y == 1 {
        return apply(model, Message::OpenStages);
    }
    if y == 0
        && let Some(view) = header::view_at(model, x)
    {
        return apply(model, Message::Show(view));
    }
    if y + 1 == model.top() && model.view != View::Info {
        let message = model.columns().message_at(x);
        return apply(model, message);
    }
    let Some(line) = line_at(model, y) else { return Vec::new() };
    let on_marker = is_marker(model, line, x);
    if let Some((rows, _)) = model.rows_mut() {
        rows.select(line);
    }
    if on_marker { apply(model, Message::Toggle) } else { Vec::new() }
}

/// Whether the sign that opens and closes the row of a line is at this cell, or next to it: it is
/// one cell wide.
fn is_marker(model: &Model<'_>, line: usize, x: usize) -> bool {
    let is_tree = match model.view {
        View::Tree | View::Callers => true,
        View::Flat => model.has_places(),
        View::Tables | View::Info => false,
    };
    let Some(rows) = model.rows().filter(|_| is_tree) else { return false };
    let Some(line) = rows.line(line) else { return false };
    let at = marker_at(line.depth, model.columns().path_width);
    rows.row(line).has_children && (at..=at + 1).contains(&x)
}

/// A double click opens or closes the row, edits the stage, refines to the process. The first click
/// has selected it.
pub(super) fn double_click<'p>(model: &mut Model<'p>, x: u16, y: u16) -> Effects {
    if item_at(model, usize::from(y)).is_some() {
        return apply(
            model,
            match model.over.last() {
                Some(Over::Stages(_)) => Message::StageEdit,
                _ => Message::Accept,
            },
        );
    }
    let line = line_at(model, usize::from(y)).filter(|_| model.over.is_empty());
    let on_row = line.is_some_and(|line| !is_marker(model, line, usize::from(x)));
    if !on_row {
        return click(model, x, y);
    }
    match model.view {
        View::Flat if model.has_places() => apply(model, Message::Toggle),
        View::Flat | View::Info => apply(model, Message::OpenMenu),
        View::Tables => apply(model, Message::ExtendPath),
        View::Tree | View::Callers => apply(model, Message::Toggle),
    }
}

/// The wheel scrolls the window; the selection stays where it is as long as it is in sight.
pub(super) fn wheel(model: &mut Model<'_>, steps: i8) {
    if model.is_too_small() {
        return;
    }
    let lines = isize::from(steps) * WHEEL_LINES;
    let height = model.body_height();
    if !model.over.is_empty() {
        super::move_by(model, lines);
    } else if let Some((rows, _)) = model.rows_mut() {
        rows.scroll_by(lines, height);
    } else {
        super::move_by(model, lines);
    }
}

/// The item of the list of stages, or of processes and threads, on this line of the screen.
fn item_at(model: &Model<'_>, y: usize) -> Option<usize> {
    let body = model.top()..model.top() + model.body_height();
    let (item, items) = match model.over.last()? {
        Over::Stages(selected) => {
            let line = y.checked_sub(body.end + 1)?;
            (stages::first_shown(model, *selected) + line, model.stages.0.len())
        }
        Over::Contexts(list, selected) if body.contains(&y) => {
            (contexts::first_shown(*selected, body.len()) + y - body.start, list.len())
        }
        _ => return None,
    };
    (item < items).then_some(item)
}

fn line_at(model: &Model<'_>, y: usize) -> Option<usize> {
    let rows = model.rows()?;
    let in_body = (model.top()..model.top() + model.body_height()).contains(&y);
    let line = rows.scroll() + y.checked_sub(model.top())?;
    (in_body && line < rows.len()).then_some(line)
}

fn click_menu(model: &mut Model<'_>, selected: usize, y: usize) -> Effects {
    let Window { line, items } = window(model, selected);
    model.over.pop();
    match y.checked_sub(line) {
        Some(below) if below < items.len() => {
            model.over.push(Over::Menu(items.start + below));
            super::accept(model)
        }
        _ => Vec::new(),
    }
}
