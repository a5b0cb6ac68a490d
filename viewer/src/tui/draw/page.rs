//! A page of text under the header.

use std::ops::Range;

use super::super::canvas::Canvas;
use super::super::page::{Look, Page};
use super::super::theme::Theme;

/// Paints a page: its window on these lines of the screen, its title on the line above them.
pub(in crate::tui) fn draw(
    canvas: &mut Canvas<'_>,
    theme: Theme,
    page: &Page,
    window: Range<usize>,
) {
    let (title_line, height) = (window.start - 1, window.len());
    let width = canvas.width();
    let lines = page.lines(width);
    if !page.title.is_empty() {
        let line = theme.glyphs.horizontal.repeat(width);
        canvas.text(0, title_line, &line, width, theme.faint());
        canvas.text(1, title_line, &format!(" {} ", page.title), width - 2, theme.strong());
    }
    if lines.len() > height {
        let last = (page.scroll + height).min(lines.len());
        let place = format!(" {}-{last} of {} ", page.scroll + 1, lines.len());
        canvas.text_right(width - 1, title_line, &place, width / 2, theme.faint());
    }
    for (offset, line) in lines.iter().skip(page.scroll).take(height).enumerate() {
        let y = title_line + 1 + offset;
        let style = match line.look {
            Look::Heading | Look::Pair => theme.strong(),
            Look::Text => theme.text(),
            Look::Warning => theme.warning(),
        };
        let left = match line.look {
            Look::Heading => format!(" {}", line.left),
            _ => line.left.clone(),
        };
        canvas.text(0, y, &theme.plain(&left), width, style);
        let style = if line.look == Look::Warning { theme.warning() } else { theme.text() };
        let room = width.saturating_sub(line.indent);
        canvas.text(line.indent, y, &theme.plain(&line.right), room, style);
    }
}
