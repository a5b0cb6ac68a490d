//! The screen being painted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::name::{cut, paintable, width};
use super::theme::Theme;

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

    /// Gives a stretch of a line a style in place of all others that it has.
    pub fn restyle(&mut self, x: usize, y: usize, cells: usize, style: Style) {
        self.style(x, y, cells, Style::reset());
        self.style(x, y, cells, style);
    }

    /// Empties a stretch of a line.
    pub fn clear(&mut self, x: usize, y: usize, cells: usize) {
        self.text(x, y, &" ".repeat(cells), cells, Style::reset());
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
