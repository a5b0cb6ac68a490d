//! The list of processes and threads: who had the samples that are shown.

use super::super::name::cut;
use super::Canvas;
use crate::views::contexts::Context;
use crate::views::number::{amount, count, percent};

/// The place of the first one in a window of this many lines.
pub(in crate::tui) fn first_shown(selected: usize, height: usize) -> usize {
    (selected + 1).saturating_sub(height.max(1))
}

/// Paints the list in place of the rows: a heading on the line above `top`, `height` lines below.
pub(super) fn draw(
    canvas: &mut Canvas<'_, '_>,
    list: &[Context],
    selected: usize,
    top: usize,
    height: usize,
) {
    let model = canvas.model;
    let (theme, form) = (model.theme, model.form());
    let metric = model.metric();
    // Two runs may have different periods, and only samples are then of one kind.
    let cost = |samples| match model.comparison() {
        Some(_) => count(samples, form),
        None => amount(samples, metric, form),
    };
    let unit = match model.comparison() {
        Some(_) => "samples",
        None if model.has_several_metrics() => &metric.source,
        None => "time",
    };
    let cells = canvas.width();
    let line = theme.glyphs.horizontal.repeat(cells);
    canvas.text(0, top - 1, &line, cells, theme.faint());
    canvas.text(1, top - 1, " Processes and threads ", cells, theme.strong());
    /// Cells of each number.
    const NUMBER: usize = 11;
    let numbers = (cells.saturating_sub(28) / NUMBER).clamp(1, 3);
    let end = |column: usize| cells - 1 - (numbers - 1 - column) * NUMBER;
    for (column, heading) in [unit, "%", "imbalance"].iter().take(numbers).enumerate() {
        canvas.text_right(end(column), top - 1, &format!(" {heading}"), NUMBER, theme.strong());
    }
    let room = cells.saturating_sub(2 + numbers * NUMBER);
    let first = first_shown(selected, height);
    for (offset, (place, context)) in list.iter().enumerate().skip(first).take(height).enumerate() {
        let y = top + offset;
        let (indent, style) =
            if context.thread.is_some() { ("  ", theme.text()) } else { ("", theme.strong()) };
        let label = format!("{indent}{}", context.label);
        canvas.text(1, y, &cut(&label, room, theme.glyphs.ellipsis), room, style);
        let imbalance = match context.imbalance {
            0 => String::new(),
            samples => cost(samples),
        };
        let whole = model.whole_for(context.process);
        let texts = [cost(context.samples), percent(context.samples, whole), imbalance];
        for (column, text) in texts.iter().take(numbers).enumerate() {
            let style = if column < 2 { theme.heat(context.samples, whole) } else { theme.text() };
            canvas.text_right(end(column), y, text, NUMBER, style);
        }
        if place == selected {
            canvas.style(0, y, cells, theme.selected());
        }
    }
    if list.is_empty() {
        canvas.text(1, top, "no samples are shown", cells.saturating_sub(2), theme.faint());
    }
}
