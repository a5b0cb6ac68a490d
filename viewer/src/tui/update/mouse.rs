//! Clicks and the wheel.

use super::super::message::{Message, View};
use super::super::model::{Model, Over};
use super::{Effects, apply};
use crate::tui::draw::menu::{Window, window};
use crate::tui::header;

/// Lines that one step of the wheel moves.
const WHEEL_LINES: isize = 3;

/// A click selects: a row, a view by its name, an order by its heading, an item of the menu.
pub(super) fn click<'p>(model: &mut Model<'p>, x: u16, y: u16) -> Effects {
    let (x, y) = (usize::from(x), usize::from(y));
    match model.over.last() {
        Some(&Over::Menu(selected)) => return click_menu(model, selected, y),
        Some(_) => return Vec::new(),
        None => {}
    }
    if y == 0
        && let Some(view) = header::view_at(model, x)
    {
        return apply(model, Message::Show(view));
    }
    if y + 1 == model.top() && model.view != View::Info {
        let key = model.columns().sort_key_at(x);
        return apply(model, Message::SortBy(key));
    }
    if let Some(line) = line_at(model, y)
        && let Some((rows, _)) = model.rows_mut()
    {
        rows.select(line);
    }
    Vec::new()
}

/// A double click opens or closes the row. The first click has selected it.
pub(super) fn double_click<'p>(model: &mut Model<'p>, x: u16, y: u16) -> Effects {
    let on_row = model.over.is_empty() && line_at(model, usize::from(y)).is_some();
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
