//! The action menu: a box over the rows.

use std::ops::Range;

use super::super::canvas::Canvas;
use super::super::model::Model;
use super::super::name::{shorten, width};

/// Cells between the border and the text of an item.
const MARGIN: usize = 1;

/// Where the menu is: the screen line of the first item shown, and which items are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Screen line of the first item shown.
    pub line: usize,
    /// The items shown, by number.
    pub items: Range<usize>,
}

/// Where the menu is, if `selected` is its selected item.
#[must_use]
pub fn window(model: &Model, selected: usize) -> Window {
    let (rows, items) = (model.body_height(), model.menu_items().count());
    // A picture has its rows elsewhere.
    let rows_of_lines = model.rows().filter(|_| !model.sheet().is_picture);
    let line = rows_of_lines.map_or(0, |rows| rows.selected().saturating_sub(rows.scroll()));
    // Below the selected row where it fits, so that the row stays in sight; else above it; else
    // over it. The border takes a line at either end.
    let needed = items + 2;
    let below = line + 1;
    let top = if below + needed <= rows {
        below
    } else if needed <= line {
        line - needed
    } else {
        rows.saturating_sub(needed)
    };
    let shown = items.min(rows.saturating_sub(2)).max(1);
    let first = (selected + 1).saturating_sub(shown);
    Window { line: model.top() + top + 1, items: first..(first + shown).min(items) }
}

/// Paints the menu.
pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model, selected: usize) {
    let theme = model.theme;
    let [top_left, top_right, bottom_left, bottom_right] = theme.glyphs.corners;
    let (horizontal, vertical) = (theme.glyphs.horizontal, theme.glyphs.vertical);
    let items: Vec<_> = model.menu_items().collect();
    let widest = items.iter().map(|item| width(item.help)).max().unwrap_or(0);
    let inner = (widest + 5 + 2 * MARGIN).min(canvas.width().saturating_sub(6));
    let x = 4;
    let Window { line: first, items: shown } = window(model, selected);

    let name = model.selected().map_or("", |selected| model.row_name(selected.row));
    let title = format!(" {} ", shorten(name, inner.saturating_sub(4), theme.glyphs.ellipsis));
    let rest = inner.saturating_sub(1 + width(&title));
    let border = format!("{top_left}{horizontal}{title}{}{top_right}", horizontal.repeat(rest));
    canvas.text(x, first - 1, &border, inner + 2, theme.text());
    canvas.text(x + 2, first - 1, &title, inner, theme.strong());
    for (line, place) in shown.clone().enumerate() {
        let (y, item) = (first + line, items[place]);
        canvas.clear(x, y, inner + 2);
        canvas.text(x, y, vertical, 1, theme.text());
        let key = item.keys.split(' ').next().unwrap_or_default();
        canvas.text(x + 1 + MARGIN, y, key, 3, theme.strong());
        canvas.text(x + 5 + MARGIN, y, item.help, inner.saturating_sub(5), theme.text());
        canvas.text(x + 1 + inner, y, vertical, 1, theme.text());
        if place == selected {
            canvas.restyle(x + 1, y, inner, theme.selected());
        }
    }
    let border = format!("{bottom_left}{}{bottom_right}", horizontal.repeat(inner));
    canvas.text(x, first + shown.len(), &border, inner + 2, theme.text());
}
