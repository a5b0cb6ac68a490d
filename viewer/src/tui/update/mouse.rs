//! Clicks and the wheel.

use super::super::message::{Message, View};
use super::super::model::{Model, Over, TOP};
use super::{Effects, apply};
use crate::tui::header;

/// Lines that one step of the wheel moves.
const WHEEL_LINES: isize = 3;

/// A click selects: a row, a view by its name, an order by its heading, an item of the menu.
pub(super) fn click<'p>(model: &mut Model<'p>, x: u16, y: u16) -> Effects {
    let (x, y) = (usize::from(x), usize::from(y));
    match model.over.last() {
        Some(Over::Menu(_)) => return click_menu(model, y),
        Some(_) => return Vec::new(),
        None => {}
    }
    if y == 0
        && let Some(view) = header::view_at(model, x)
    {
        return apply(model, Message::Show(view));
    }
    if y + 1 == TOP && model.view != View::Info {
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
        View::Flat | View::Info => apply(model, Message::OpenMenu),
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
    let in_body = (TOP..TOP + model.body_height()).contains(&y);
    let line = rows.scroll() + y.checked_sub(TOP)?;
    (in_body && line < rows.len()).then_some(line)
}

fn click_menu<'p>(model: &mut Model<'p>, y: usize) -> Effects {
    let items = model.menu_items().count();
    let first = crate::tui::draw::menu::first_line(model);
    match y.checked_sub(first) {
        Some(item) if item < items => {
            if let Some(Over::Menu(selected)) = model.over.last_mut() {
                *selected = item;
            }
            super::accept(model)
        }
        _ => {
            model.over.pop();
            Vec::new()
        }
    }
}
