//! The screen being painted.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::name::{cut, paintable, width};
use super::theme::Theme;
use crate::views::search::NamePattern;

/// The screen being painted. Nothing is painted outside of it.
#[derive(Debug)]
pub struct Canvas<'c> {
    buffer: &'c mut Buffer,
    area: Rect,
    theme: Theme,
}

impl<'c> Canvas<'c> {
    /// A screen of this size.
    pub fn new(buffer: &'c mut Buffer, area: Rect, theme: Theme) -> Self {
        Self { buffer, area, theme }
    }

    /// Cells across.
    #[must_use]
    pub fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    /// Writes text from a cell on, at most `cells` wide; returns the cell behind it. Whatever the
    /// text, a terminal has nothing to obey.
    pub fn text(&mut self, x: usize, y: usize, text: &str, cells: usize, style: Style) -> usize {
        let (Ok(left), Ok(line)) = (u16::try_from(x), u16::try_from(y)) else { return x };
        if left >= self.area.width || line >= self.area.height {
            return x;
        }
        let (end, _) = self.buffer.set_stringn(left, line, paintable(text), cells, style);
        usize::from(end)
    }

    /// Writes text that ends before a cell.
    pub fn text_right(&mut self, end: usize, y: usize, text: &str, cells: usize, style: Style) {
        let ellipsis = self.theme.glyphs.ellipsis;
        let text = cut(text, cells, ellipsis);
        self.text(end.saturating_sub(width(&text)), y, &text, cells, style);
    }

    /// Gives a stretch of a line a style.
    pub fn style(&mut self, x: usize, y: usize, cells: usize, style: Style) {
        let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else { return };
        let cells = u16::try_from(cells).unwrap_or(u16::MAX);
        let stretch = Rect { x, y, width: cells, height: 1 };
        self.buffer.set_style(stretch.intersection(self.area), style);
    }

    /// Marks what is searched for in a text that stands from a cell on.
    pub fn mark(
        &mut self,
        x: usize,
        y: usize,
        text: &str,
        cells: usize,
        search: Option<&NamePattern>,
    ) {
        let Some(place) = search.and_then(|search| search.place_in(text)) else { return };
        let before = width(&text[..place.start]);
        let found = width(&text[place]).min(cells.saturating_sub(before));
        self.style(x + before, y, found, self.theme.found());
    }

    /// Gives a stretch of a line a style in place of all others that it has.
    pub fn restyle(&mut self, x: usize, y: usize, cells: usize, style: Style) {
        self.style(x, y, cells, Style::reset());
        self.style(x, y, cells, style);
    }

    /// Empties a stretch of a line.
    pub fn clear(&mut self, x: usize, y: usize, cells: usize) {
        self.text(x, y, &" ".repeat(cells), cells, Style::reset());
    }

    /// Empties all of some lines.
    pub fn clear_lines(&mut self, lines: Range<usize>) {
        lines.for_each(|y| self.clear(0, y, self.width()));
    }

    /// Draws a line across all cells.
    pub fn rule(&mut self, y: usize) {
        let line = self.theme.glyphs.horizontal.repeat(self.width());
        self.text(0, y, &line, self.width(), self.theme.faint());
    }

    /// Draws a line across all cells, with a title on it.
    pub fn titled_rule(&mut self, y: usize, title: &str) {
        self.rule(y);
        self.text(1, y, &format!(" {title} "), self.width().saturating_sub(2), self.theme.strong());
    }

    /// Writes a line with keys in it, such as `q back  ? help`: words in bold are keys.
    pub fn key_hints(&mut self, y: usize, hints: &[(&str, &str)]) {
        let theme = self.theme;
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
