//! Painting: a pure function from the model to cells.
//!
//! Only what is on the screen is looked at, so painting costs the same at every size of profile.

mod chooser;
pub(super) mod hints;
pub mod menu;
mod prompt;
pub(in crate::tui) mod rows;
pub(super) mod stages;
mod top;

use ratatui::Frame;
use ratatui::style::Style;

use super::canvas::Canvas;
use super::model::{Model, Over};
use super::name::width as cells_of;
use super::scene::SMALLEST;

/// The name of the selected row, and what happened or can be done.
fn last_lines(canvas: &mut Canvas<'_>, model: &Model, mut y: usize) {
    let room = canvas.width().saturating_sub(2);
    for line in model.caption() {
        canvas.text(1, y, &line, room, model.theme.strong());
        y += 1;
    }
    hints::draw(canvas, model, y);
}

/// Paints the model.
pub fn draw(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    let canvas = &mut Canvas::new(frame.buffer_mut(), area, model.theme);
    if model.is_too_small() {
        let (width, height) = SMALLEST;
        let texts = [
            format!("csprof needs {width}×{height} cells; q quits"),
            format!("needs {width}×{height}; q quits"),
            format!("{width}×{height}?"),
        ];
        let room = usize::from(area.width);
        let fits = texts.iter().find(|text| cells_of(text) <= room).unwrap_or(&texts[2]);
        canvas.text(0, 0, &model.theme.plain(fits), room, Style::new());
        return;
    }
    top::draw(canvas, model);
    let body = model.body_height();
    let sheet = model.sheet();
    let is_painted = !sheet.has_rows || sheet.is_picture && model.why_empty.is_none();
    let lines = model.top()..model.top() + body;
    match model.page() {
        Some(page) => page.draw(canvas, model.theme, lines.clone()),
        _ if is_painted => model.view().draw(canvas, model, lines.clone()),
        _ => match &model.why_empty {
            Some(page) => page.draw(canvas, model.theme, lines.clone()),
            None => rows::draw(canvas, model, lines.start, body),
        },
    }
    let bottom = lines.end;
    let mut cursor = None;
    match model.over.last() {
        Some(Over::Prompt(prompt)) => cursor = Some(prompt::draw(canvas, model, prompt, bottom)),
        Some(Over::Stages(selected)) => stages::draw(canvas, model, *selected, bottom),
        Some(Over::Columns(selected)) => chooser::draw(canvas, model, *selected, bottom),
        Some(Over::Menu(selected)) => {
            menu::draw(canvas, model, *selected);
            last_lines(canvas, model, bottom);
        }
        None => last_lines(canvas, model, bottom),
        Some(_) => hints::draw(canvas, model, bottom),
    }
    if let Some((x, y)) = cursor {
        frame.set_cursor_position((x, y));
    }
}
