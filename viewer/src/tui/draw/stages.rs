//! The list of stages: what each let through, took out and moved.

use super::super::canvas::Canvas;
use super::super::comparison::account_text;
use super::super::model::Model;
use super::super::name::cut;
use crate::refine::Outcome;
use crate::views::number::{count, percent};

/// Cells of each of the four numbers.
const NUMBER: usize = 12;

/// A heading and what stands below it.
type Figure = (&'static str, fn(&Outcome) -> u64);

const IN: Figure = ("in", |outcome| outcome.input);
const SHOWN: Figure = ("shown", |outcome| outcome.shown);
const OUT: Figure = ("out", |outcome| outcome.out);
const MOVED: Figure = ("moved", |outcome| outcome.moved);

/// The place of the first stage in the window, which has a line more above it and two below.
pub(in crate::tui) fn first_shown(model: &Model, selected: usize) -> usize {
    (selected + 1).saturating_sub(model.bottom_height().saturating_sub(3).max(1))
}

/// Paints the list from line `y` on.
pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model, selected: usize, y: usize) {
    let theme = model.theme;
    let cells = canvas.width();
    let height = model.bottom_height();
    canvas.clear_lines(y..y + height);
    canvas.rule(y);
    // Of two profiles, what each stage did to both.
    let title = match model.comparison() {
        Some(_) => " Stages, samples of both ".to_owned(),
        None if model.has_several_metrics() => format!(" Stages, samples{} ", model.of_metric()),
        None => " Stages ".to_owned(),
    };
    canvas.text(1, y, &title, cells, theme.strong());
    // As many numbers as leave room for the text; what came in is what is shown and what is out.
    let wanted: &[Figure] = match cells.saturating_sub(28) / NUMBER {
        0 => &[],
        1 => &[SHOWN],
        2 => &[SHOWN, OUT],
        3 => &[IN, SHOWN, OUT],
        _ => &[IN, SHOWN, OUT, MOVED],
    };
    let numbers = wanted.len();
    for (place, (heading, _)) in wanted.iter().enumerate() {
        let end = cells - 1 - (numbers - 1 - place) * NUMBER;
        canvas.text_right(end, y, &format!(" {heading}"), NUMBER, theme.strong());
    }
    let stages = &model.stages.0;
    let room = height.saturating_sub(3);
    let first = first_shown(model, selected);
    if stages.is_empty() {
        canvas.text(1, y + 1, "none; f adds one", cells - 2, theme.faint());
    }
    // Outcomes are those of the stages that are on, if what is shown is what was asked for.
    let known = model.pending.is_none();
    for (offset, (place, stage)) in stages.iter().enumerate().skip(first).take(room).enumerate() {
        let line = y + 1 + offset;
        let before = stages[..place].iter().filter(|stage| stage.on).count();
        let outcome = model.refined.outcomes.get(before).filter(|_| stage.on && known);
        let end = cells.saturating_sub(1 + numbers * NUMBER + 1);
        let text =
            format!("{}{} {}", if stage.on { " " } else { "off " }, theme.glyphs.stage, stage.text);
        let style = if stage.on { theme.stage() } else { theme.faint() };
        canvas.text(1, line, &cut(&text, end, theme.glyphs.ellipsis), end, style);
        if let Some(outcome) = outcome {
            for (column, (_, value)) in wanted.iter().enumerate() {
                let end = cells - 1 - (numbers - 1 - column) * NUMBER;
                let text = format!(" {}", count(value(outcome), model.form()));
                canvas.text_right(end, line, &text, NUMBER, theme.text());
            }
        }
        if place == selected {
            canvas.restyle(0, line, cells, theme.selected());
        }
    }
    let refined = &model.refined;
    let total = match model.comparison() {
        Some(comparison) => {
            format!("together: {}", account_text(comparison, model.shown_of_sides))
        }
        None => format!(
            "together: {} of {} shown ({} %), {} out",
            count(refined.shown, model.form()),
            count(refined.base, model.form()),
            percent(refined.shown, refined.base),
            count(refined.out, model.form()),
        ),
    };
    let last = y + height - 1;
    canvas.text(1, last - 1, &total, cells - 2, theme.text());
    super::hints::draw(canvas, model, last);
}
