//! Clicks and the wheel: what they select, and what they mean.

use super::super::message::Message;
use super::super::model::{Model, Over};
use super::moving::{self, change_rows};
use crate::tui::draw::hints::keys_at;
use crate::tui::draw::menu::{Window, window};
use crate::tui::draw::rows::marker_at;
use crate::tui::draw::stages;
use crate::tui::header;
use crate::tui::keymap::Meaning;

/// Lines that one step of the wheel moves.
const WHEEL_LINES: isize = 3;

/// A click on the sign before a name opens or closes the row; on a key of the last line, or what it
/// does, it does that. Elsewhere it selects: a row, a view
/// by its name, an order or a metric by its heading, an item of the menu or of a list; on the line
/// of stages it lists them. Returns what is to be done besides selecting.
pub(super) fn click(model: &mut Model, x: u16, y: u16) -> Option<Message> {
    let (x, y) = (usize::from(x), usize::from(y));
    model.dragged = false;
    if model.is_too_small() {
        return None;
    }
    let is_prompt = matches!(model.over.last(), Some(Over::Prompt(_)));
    if y + 1 == usize::from(model.size.1) && !is_prompt {
        return match model.keymap.meaning(model.mode(), &keys_at(model, x)?) {
            Meaning::Message(message) => Some(message),
            _ => None,
        };
    }
    match model.over.last() {
        Some(&Over::Menu(selected)) => return click_menu(model, selected, y),
        Some(Over::View(_)) if model.sheet().is_picture => {
            select_in_picture(model, x, y);
            return None;
        }
        Some(_) => {
            select(model, y);
            return None;
        }
        None => {}
    }
    if y == 1 {
        return Some(Message::OpenStages);
    }
    if y == 0
        && let Some(view) = header::view_at(model, x)
    {
        return Some(Message::Show(view));
    }
    if model.sheet().is_picture {
        select_in_picture(model, x, y);
        return None;
    }
    if y + 1 == model.top() && model.sheet().has_rows {
        return Some(model.columns().message_at(x));
    }
    let body = model.top()..model.top() + model.body_height();
    if body.contains(&y) && x == model.columns().path_width && model.rows().is_some() {
        model.dragged = true;
        return None;
    }
    let line = line_at(model, y)?;
    let on_marker = is_marker(model, line, x);
    if let Some((rows, _)) = model.rows_mut() {
        rows.select(line);
    }
    on_marker.then_some(Message::Toggle)
}

fn select_in_picture(model: &mut Model, x: usize, y: usize) {
    if let Some(line) = y.checked_sub(model.top()).filter(|line| *line < model.body_height()) {
        model.select_at(x, line);
    }
}

/// The line between call path and numbers follows the mouse, from column to column: those that have
/// no room are left out.
pub(super) fn drag(model: &mut Model, x: u16) {
    /// Cells of the call path that cannot be taken.
    const LEAST: usize = 10;
    if model.dragged && model.over.is_empty() {
        model.path_width = Some(usize::from(x).max(LEAST));
    }
}

/// A click with the right button selects and opens the menu of what can be done, where there is
/// one; outside of the menu it leaves it.
pub(super) fn right_click(model: &mut Model, x: u16, y: u16) -> Option<Message> {
    let line = usize::from(y);
    let body = model.top()..model.top() + model.body_height();
    match model.over.last() {
        Some(Over::Menu(_)) => return Some(Message::Cancel),
        Some(Over::View(_)) | None => {}
        Some(_) => return None,
    }
    if model.is_too_small() || !body.contains(&line) {
        return None;
    }
    let is_row = match (model.over.is_empty(), model.sheet().is_picture) {
        (true, true) => model.select_at(usize::from(x), line - body.start),
        (true, false) => line_at(model, line).is_some_and(|line| {
            change_rows(model, |rows, _| rows.select(line));
            true
        }),
        (false, _) => {
            select(model, line);
            false
        }
    };
    is_row.then_some(Message::OpenMenu)
}

/// Whether the sign that opens and closes the row of a line is at this cell, or next to it: it is
/// one cell wide.
fn is_marker(model: &Model, line: usize, x: usize) -> bool {
    let Some(rows) = model.rows().filter(|_| model.sheet().opens) else { return false };
    let Some(line) = rows.line(line) else { return false };
    let at = marker_at(rows, line, model.columns().path_width);
    rows.row(line).has_children && (at..=at + 1).contains(&x)
}

/// A double click opens or closes the row, edits the stage, refines to the process. The first click
/// has selected it; a long list may have moved under the mouse since.
pub(super) fn double_click(model: &mut Model, x: u16, y: u16) -> Option<Message> {
    if place(model, usize::from(y)).is_some() {
        return Some(match model.over.last() {
            Some(Over::Stages(_)) => Message::StageEdit,
            _ => (model.sheet().double_click)(),
        });
    }
    if model.sheet().is_picture && model.over.is_empty() && usize::from(y) >= model.top() {
        let is_box = model.select_at(usize::from(x), usize::from(y) - model.top());
        return is_box.then(|| (model.sheet().double_click)());
    }
    let line = line_at(model, usize::from(y)).filter(|_| model.over.is_empty());
    let on_row = line.is_some_and(|line| !is_marker(model, line, usize::from(x)));
    if !on_row {
        return click(model, x, y);
    }
    Some((model.sheet().double_click)())
}

/// The wheel scrolls the window; the selection stays where it is as long as it is in sight.
pub(super) fn wheel(model: &mut Model, steps: i8) {
    if model.is_too_small() {
        return;
    }
    let lines = isize::from(steps) * WHEEL_LINES;
    let height = model.body_height();
    if !model.over.is_empty() {
        moving::move_by(model, lines);
    } else if model.sheet().is_picture {
        model.view_mut().scroll(lines);
    } else if let Some((rows, _)) = model.rows_mut() {
        rows.scroll_by(lines, height);
    } else {
        moving::move_by(model, lines);
    }
}

/// The stage, or the line of a view that lies over another one, on this line of the screen.
fn place(model: &Model, y: usize) -> Option<usize> {
    let body = model.top()..model.top() + model.body_height();
    match model.over.last()? {
        Over::Stages(selected) => {
            let line = y.checked_sub(body.end + 1)?;
            let place = stages::first_shown(model, *selected) + line;
            (place < model.stages.0.len()).then_some(place)
        }
        Over::View(_) if body.contains(&y) => model.view().line_at(y - body.start, body.len()),
        _ => None,
    }
}

/// Selects it.
fn select(model: &mut Model, y: usize) {
    let Some(place) = place(model, y) else { return };
    match model.over.last_mut() {
        Some(Over::Stages(selected)) => *selected = place,
        _ => model.view_mut().select_line(place),
    }
}

fn line_at(model: &Model, y: usize) -> Option<usize> {
    let rows = model.rows()?;
    let in_body = (model.top()..model.top() + model.body_height()).contains(&y);
    let line = rows.scroll() + y.checked_sub(model.top())?;
    (in_body && line < rows.len()).then_some(line)
}

fn click_menu(model: &mut Model, selected: usize, y: usize) -> Option<Message> {
    let Window { line, items } = window(model, selected);
    model.over.pop();
    let below = y.checked_sub(line).filter(|below| *below < items.len())?;
    model.over.push(Over::Menu(items.start + below));
    Some(Message::Accept)
}
