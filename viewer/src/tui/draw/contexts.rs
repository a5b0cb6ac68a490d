//! The list of processes and threads: who had the samples that are shown.

use super::super::canvas::Canvas;
use super::super::model::Model;
use super::super::name::cut;
use crate::tui::columns;
use crate::tui::scene::Scene;
use crate::views::columns::{Basis, Cell, Column, Id, Tone};
use crate::views::contexts::Context;
use crate::views::measure::Measure;

/// What the numbers of the list are of. Two runs that are compared may have different periods, and
/// only samples are then of one kind.
pub(in crate::tui) fn basis(scene: &Scene) -> Basis<'_> {
    let measure = if scene.comparison().is_some() { Measure::Samples } else { Measure::Source };
    Basis { measure, ..columns::basis(scene, &scene.refined) }
}

/// The place of the first one in a window of this many lines.
pub(in crate::tui) fn first_shown(selected: usize, height: usize) -> usize {
    (selected + 1).saturating_sub(height.max(1))
}

/// Paints the list in place of the rows: a heading on the line above `top`, `height` lines below.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    model: &Model,
    list: &[Context],
    selected: usize,
    top: usize,
    height: usize,
) {
    let theme = model.theme;
    let basis = basis(model);
    let cells = canvas.width();
    let line = theme.glyphs.horizontal.repeat(cells);
    canvas.text(0, top - 1, &line, cells, theme.faint());
    canvas.text(1, top - 1, " Processes and threads ", cells, theme.strong());
    /// Cells of each number.
    const NUMBER: usize = 11;
    let columns = basis.of_contexts();
    let numbers = (cells.saturating_sub(28) / NUMBER).clamp(1, columns.len());
    let end = |column: usize| cells - 1 - (numbers - 1 - column) * NUMBER;
    for (place, column) in columns.iter().take(numbers).enumerate() {
        let style = if column.metric.is_none() { theme.strong() } else { theme.text() };
        let heading = format!(" {}", column.heading(&basis));
        canvas.text_right(end(place), top - 1, &heading, NUMBER, style);
    }
    let room = cells.saturating_sub(2 + numbers * NUMBER);
    let first = first_shown(selected, height);
    for (offset, (place, context)) in list.iter().enumerate().skip(first).take(height).enumerate() {
        let y = top + offset;
        let (indent, style) =
            if context.thread.is_some() { ("  ", theme.text()) } else { ("", theme.strong()) };
        let label = format!("{indent}{}", context.label);
        canvas.text(1, y, &cut(&label, room, theme.glyphs.ellipsis), room, style);
        let heat = match Column::of(Id::Percent, None).value(&basis, context) {
            Cell::Share { part, whole } => theme.heat(part, whole),
            _ => theme.text(),
        };
        for (place, column) in columns.iter().take(numbers).enumerate() {
            let is_hot = column.metric.is_none() && column.definition().tone == Tone::Heat;
            let style = if is_hot { heat } else { theme.text() };
            canvas.text_right(end(place), y, &column.text_of(&basis, context), NUMBER, style);
        }
        if place == selected {
            canvas.style(0, y, cells, theme.selected());
        }
    }
    if list.is_empty() {
        canvas.text(1, top, "no samples are shown", cells.saturating_sub(2), theme.faint());
    }
}
