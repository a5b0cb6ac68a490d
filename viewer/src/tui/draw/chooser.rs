//! The columns to choose from: which are shown, where, how wide, and what they are.

use super::super::canvas::Canvas;
use super::super::model::Model;
use super::super::name::{cut, width};
use crate::views::columns::{Choice, Column, Unit};

/// Cells of the heading of a column, and of what is said of its place.
const HEADING: usize = 12;
const STATE: usize = 9;

/// Paints the list from line `y` on.
pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model, selected: usize, y: usize) {
    let theme = model.theme;
    let cells = canvas.width();
    let height = model.bottom_height();
    canvas.clear_lines(y..y + height);
    canvas.rule(y);
    let of = model.percent_of.word();
    let title = format!(" Columns, from left to right; percent of {of} ");
    canvas.text(1, y, &cut(&title, cells - 2, theme.glyphs.ellipsis), cells - 2, theme.strong());
    let choices = model.column_choices();
    let columns = model.columns();
    let room = height.saturating_sub(2);
    let first = (selected + 1).saturating_sub(room.max(1));
    for (offset, (at, choice)) in choices.iter().enumerate().skip(first).take(room).enumerate() {
        let line = y + 1 + offset;
        let placed = columns.numbers.iter().find(|placed| choice.has(placed.column));
        let state = match (choice.is_shown, placed) {
            (false, _) => String::new(),
            (true, None) => "no room".to_owned(),
            (true, Some(placed)) => format!("{:>3} cells", placed.width),
        };
        let style = if choice.is_shown { theme.text() } else { theme.faint() };
        let mark = if choice.is_shown { "[x]" } else { "[ ]" };
        let x = canvas.text(1, line, mark, 3, style) + 1;
        canvas.text(x, line, &heading(model, choice), HEADING, style);
        let x = x + HEADING + 1;
        canvas.text(x, line, &state, STATE, theme.faint());
        let x = x + STATE + 1;
        let help = choice.id.definition().help;
        let rest = cells.saturating_sub(x + 1);
        canvas.text(x, line, &cut(help, rest, theme.glyphs.ellipsis), rest, style);
        if at == selected {
            canvas.restyle(0, line, cells, theme.selected());
        }
    }
    super::hints::draw(canvas, model, y + height - 1);
}

/// What a column is called in the list: by its heading, if it has one.
fn heading(model: &Model, choice: &Choice) -> String {
    let definition = choice.id.definition();
    let column = match model.comparison() {
        Some(_) => Column::comparing(choice.id, model.sheet().cost),
        None => Column::derived(choice.id, choice.derived),
    };
    let heading = match definition.unit {
        Unit::Bar => "bar".to_owned(),
        _ if choice.is_of_others && definition.unit == Unit::Cost => "others".to_owned(),
        _ if choice.is_of_others => "% of others".to_owned(),
        _ => column.heading(&model.basis()).into_owned(),
    };
    // A metric of a file may be called by nothing that is seen.
    let heading = match width(&heading) {
        0 => column.key(&model.basis()).1.to_owned(),
        _ => heading,
    };
    cut(&heading, HEADING, model.theme.glyphs.ellipsis).into_owned()
}
