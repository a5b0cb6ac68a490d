//! Painting: a pure function from the model to cells.
//!
//! Only what is on the screen is looked at, so painting costs the same at every size of profile.

pub(super) mod contexts;
pub mod menu;
mod page;
mod prompt;
pub(in crate::tui) mod rows;
pub(super) mod stages;
mod top;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::message::View;
use super::model::{Model, Notice, Over, SMALLEST};
use super::name::{cut, paintable, width, width as cells_of};

/// Paints the model.
pub fn draw(model: &Model<'_>, frame: &mut Frame<'_>) {
    let area = frame.area();
    let canvas = &mut Canvas { buffer: frame.buffer_mut(), area, model };
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
    top::draw(canvas);
    let body = model.body_height();
    match model.over.last() {
        Some(Over::Page(page)) => page::draw(canvas, page, model.top() - 1, body),
        Some(Over::Contexts(list, selected)) => {
            contexts::draw(canvas, list, *selected, model.top(), body);
        }
        _ if model.view == View::Info => page::draw(canvas, &model.info, model.top() - 1, body),
        _ => match &model.why_empty {
            Some(page) => page::draw(canvas, page, model.top() - 1, body),
            None => rows::draw(canvas, model.top(), body),
        },
    }
    let bottom = model.top() + body;
    let mut cursor = None;
    match model.over.last() {
        Some(Over::Prompt(prompt)) => cursor = Some(prompt::draw(canvas, prompt, bottom)),
        Some(Over::Stages(selected)) => stages::draw(canvas, *selected, bottom),
        Some(Over::Menu(selected)) => {
            menu::draw(canvas, *selected);
            hints(canvas, bottom);
        }
        _ => hints(canvas, bottom),
    }
    if let Some((x, y)) = cursor {
        frame.set_cursor_position((x, y));
    }
}

/// The screen being painted. Nothing is painted outside of it.
pub struct Canvas<'c, 'm> {
    buffer: &'c mut Buffer,
    area: Rect,
    model: &'c Model<'m>,
}

impl Canvas<'_, '_> {
    /// Cells across.
    fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    /// Writes text from a cell on, at most `cells` wide; returns the cell behind it. Whatever the
    /// text, a terminal has nothing to obey.
    fn text(&mut self, x: usize, y: usize, text: &str, cells: usize, style: Style) -> usize {
        let (Ok(left), Ok(line)) = (u16::try_from(x), u16::try_from(y)) else { return x };
        if left >= self.area.width || line >= self.area.height {
            return x;
        }
        let (end, _) = self.buffer.set_stringn(left, line, paintable(text), cells, style);
        usize::from(end)
    }

    /// Writes text that ends before a cell.
    fn text_right(&mut self, end: usize, y: usize, text: &str, cells: usize, style: Style) {
        let ellipsis = self.model.theme.glyphs.ellipsis;
        let text = cut(text, cells, ellipsis);
        self.text(end.saturating_sub(width(&text)), y, &text, cells, style);
    }

    /// Gives a stretch of a line a style.
    fn style(&mut self, x: usize, y: usize, cells: usize, style: Style) {
        let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else { return };
        let cells = u16::try_from(cells).unwrap_or(u16::MAX);
        let stretch = Rect { x, y, width: cells, height: 1 };
        self.buffer.set_style(stretch.intersection(self.area), style);
    }

    /// Empties a stretch of a line.
    fn clear(&mut self, x: usize, y: usize, cells: usize) {
        self.text(x, y, &" ".repeat(cells), cells, Style::reset());
    }

    /// Writes a line with keys in it, such as `q back  ? help`: words in bold are keys.
    fn key_hints(&mut self, y: usize, hints: &[(&str, &str)]) {
        let theme = self.model.theme;
        let mut x = 1;
        for (key, what) in hints {
            let needed = width(key) + 1 + width(what);
            if x + needed >= self.width() {
                break;
            }
            x = self.text(x, y, key, needed, theme.strong());
            x = self.text(x + 1, y, what, needed, theme.faint()) + 2;
        }
    }
}

/// The last line: what happened, or what can be done.
fn hints(canvas: &mut Canvas<'_, '_>, y: usize) {
    let model = canvas.model;
    let (text, style) = match &model.notice {
        Some(Notice::Said(text)) => (text.as_str(), model.theme.text()),
        Some(Notice::Failed(text)) => (text.as_str(), model.theme.error()),
        None => ("", model.theme.text()),
    };
    if let Some(done) = model.done() {
        progress(canvas, y, done);
        return;
    }
    if !text.is_empty() {
        let room = canvas.width().saturating_sub(2);
        let text = model.theme.plain(text);
        canvas.text(1, y, &cut(&text, room, model.theme.glyphs.ellipsis), room, style);
        return;
    }
    let mut hints = hints_for(model).to_vec();
    let explains = hints.iter().position(|(key, _)| *key == "=");
    if let (Some(place), Some((_, next))) = (explains, model.metric_after(1)) {
        hints.insert(place + 1, ("m", &next.source));
    }
    canvas.key_hints(y, &hints);
}

/// How far the shell is with what the screen waits for, and the key that ends it.
fn progress(canvas: &mut Canvas<'_, '_>, y: usize, done: f64) {
    /// Cells of the bar.
    const BAR: usize = 20;
    let theme = canvas.model.theme;
    let what = if canvas.model.pending.is_some() { "refining" } else { "counting" };
    // From 0 to 100 and to `BAR`.
    let (percent, full) = ((done * 100.0) as u64, (done * BAR as f64) as usize);
    let glyphs = theme.glyphs.bars;
    let bar = glyphs.last().unwrap_or(&"").repeat(full.min(BAR));
    let room = canvas.width();
    let x = canvas.text(1, y, &format!("{what} {percent:>3} % "), room, theme.text());
    canvas.text(x, y, &bar, BAR, theme.strong());
    let x = x + BAR + 2;
    if x + "esc ends it".len() < room {
        let x = canvas.text(x, y, "esc", 3, theme.strong());
        canvas.text(x + 1, y, "ends it", 7, theme.faint());
    }
}

fn hints_for(model: &Model<'_>) -> &'static [(&'static str, &'static str)] {
    match (model.over.last(), model.view) {
        (Some(Over::Menu(_)), _) => &[("enter", "do it"), ("q", "back")],
        (Some(Over::Contexts(..)), _) => {
            &[("enter", "only this one"), ("=", "explain"), ("q", "back"), ("?", "help")]
        }
        (Some(Over::Stages(_)), _) => &[
            ("e", "edit"),
            ("d", "delete"),
            ("space", "on/off"),
            ("J K", "move"),
            ("f", "add"),
            ("=", "explain"),
            ("q", "back"),
            ("u", "undo"),
            ("w", "save as set"),
        ],
        (Some(_), _) => &[("j k", "scroll"), ("q", "back")],
        // First of all: what is all this, how to leave, how to go back, what is this number.
        (None, View::Tree) => &[
            ("?", "help"),
            ("q", "quit"),
            ("u", "undo"),
            ("=", "explain"),
            ("l h", "open"),
            ("H", "hot path"),
            ("/", "search"),
            ("f", "refine"),
            ("enter", "menu"),
            ("t", "through"),
            ("x", "exclude"),
            ("d", "hide"),
            ("z", "root"),
            ("F", "stages"),
            ("tab", "next view"),
        ],
        (None, View::Flat) if model.has_places() => &[
            ("?", "help"),
            ("q", "tree"),
            ("u", "undo"),
            ("=", "explain"),
            ("l h", "open"),
            ("< >", "coarser finer"),
            ("/", "search"),
            ("enter", "menu"),
            ("t", "through"),
            ("x", "exclude"),
            ("d", "hide"),
        ],
        (None, View::Flat) => &[
            ("?", "help"),
            ("q", "tree"),
            ("u", "undo"),
            ("=", "explain"),
            ("<", "files modules"),
            (">", "lines"),
            ("s", "sort"),
            ("/", "search"),
            ("f", "refine"),
            ("enter", "menu"),
            ("t", "through"),
            ("x", "exclude"),
        ],
        (None, View::Callers) => &[
            ("?", "help"),
            ("q", "tree"),
            ("u", "undo"),
            ("=", "explain"),
            ("l h", "open"),
            ("s", "sort"),
            ("/", "search"),
            ("f", "refine"),
            ("enter", "menu"),
            ("t", "through"),
            ("x", "exclude"),
            ("d", "hide"),
        ],
        (None, View::Tables) => &[
            ("?", "help"),
            ("q", "tree"),
            ("enter", "longer path"),
            ("bksp", "back"),
            ("u", "undo"),
            ("i", "direct/any"),
            ("w", "callees/callers"),
            ("T", "refine by path"),
            ("=", "explain"),
            ("s", "sort"),
        ],
        (None, View::Info) => {
            &[("j k", "scroll"), ("tab", "next view"), ("?", "help"), ("q", "tree")]
        }
    }
}
