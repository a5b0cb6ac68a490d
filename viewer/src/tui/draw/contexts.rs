//! The list of processes and threads: who had the samples that are shown.

use super::super::canvas::Canvas;
use super::super::model::Model;
use super::super::name::cut;
use crate::views::contexts::Context;
use crate::views::number::{amount, count, percent};

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
    // Of other metrics, what each had.
    let others: Vec<_> = model.other_metrics().collect();
    let mut headings = vec![unit, "%", "imbalance"];
    headings.extend(others.iter().map(|(_, metric)| &metric.source[..]));
    let numbers = (cells.saturating_sub(28) / NUMBER).clamp(1, headings.len());
    let end = |column: usize| cells - 1 - (numbers - 1 - column) * NUMBER;
    for (column, heading) in headings.iter().take(numbers).enumerate() {
        let style = if column < 3 { theme.strong() } else { theme.text() };
        canvas.text_right(end(column), top - 1, &format!(" {heading}"), NUMBER, style);
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
        let mut texts = match context.samples {
            // It is there for the sake of another metric.
            0 => [".", ".", ""].map(str::to_owned).to_vec(),
            samples => vec![cost(samples), percent(samples, whole), imbalance],
        };
        texts.extend(others.iter().map(|&(number, metric)| {
            match context.further.get(number.index()).map_or(0, |part| part.samples) {
                0 => ".".to_owned(),
                samples => amount(samples, metric, form),
            }
        }));
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
