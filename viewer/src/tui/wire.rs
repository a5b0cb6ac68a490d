//! Fewer bytes to the terminal, which may be far away.
//!
//! Only cells that have changed are sent, and to pass over those between them the cursor is placed,
//! for six to nine bytes each time. Between the words of a new screen lies mostly one blank that
//! was there before: to send it again takes one byte. And a blank looks the same in every color, so
//! that none is changed for it.

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

/// Placing the cursor costs at least as many bytes.
const LONGEST_GAP: u16 = 6;

/// Modifiers that can be seen on a blank.
const SEEN: Modifier = Modifier::REVERSED.union(Modifier::UNDERLINED).union(Modifier::CROSSED_OUT);

/// A terminal that is sent short stretches of blanks instead of places.
#[derive(Debug)]
pub struct Thrifty<B> {
    inner: B,
    /// For each line, which cells are no plain blanks. Those beyond the end are.
    written: Vec<Vec<bool>>,
}

impl<B> Thrifty<B> {
    /// A terminal whose screen is empty.
    #[must_use]
    pub fn new(inner: B) -> Self {
        Self { inner, written: Vec::new() }
    }

    fn is_blank(&self, x: u16, y: u16) -> bool {
        let line = self.written.get(usize::from(y));
        !line.and_then(|line| line.get(usize::from(x))).copied().unwrap_or(false)
    }

    fn mark(&mut self, x: u16, y: u16, written: bool) {
        let (x, y) = (usize::from(x), usize::from(y));
        if self.written.len() <= y {
            self.written.resize(y + 1, Vec::new());
        }
        let line = &mut self.written[y];
        if line.len() <= x {
            line.resize(x + 1, false);
        }
        line[x] = written;
    }
}

/// Whether a cell shows nothing but the terminal's background.
fn is_plain(cell: &Cell) -> bool {
    cell.bg == Color::Reset && !cell.modifier.intersects(SEEN)
}

impl<B: Write> Write for Thrifty<B> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.inner)
    }
}

impl<B: Backend> Backend for Thrifty<B> {
    type Error = B::Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Self::Error>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut cells: Vec<(u16, u16, Cell)> = Vec::new();
        for (x, y, cell) in content {
            if let Some((last_x, last_y, last)) = cells.last() {
                let wide = u16::try_from(last.symbol().width()).unwrap_or(1).max(1);
                let gap = last_x + wide..x;
                let is_short = *last_y == y && gap.len() <= usize::from(LONGEST_GAP);
                if is_short && is_plain(last) && gap.clone().all(|x| self.is_blank(x, y)) {
                    // In the style that is on, so that it need not be changed.
                    let mut blank = last.clone();
                    blank.set_symbol(" ");
                    cells.extend(gap.map(|x| (x, y, blank.clone())));
                }
            }
            // The second half of a wide character is no blank.
            let wide = u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
            let written = cell.symbol() != " " || !is_plain(cell);
            (x..x.saturating_add(wide)).for_each(|x| self.mark(x, y, written));
            let mut sent = cell.clone();
            if !written && let Some((.., last)) = cells.last().filter(|(.., last)| is_plain(last)) {
                (sent.fg, sent.modifier) = (last.fg, last.modifier);
            }
            cells.push((x, y, sent));
        }
        self.inner.draw(cells.iter().map(|(x, y, cell)| (*x, *y, cell)))
    }

    fn hide_cursor(&mut self) -> Result<(), Self::Error> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Self::Error> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Self::Error> {
        self.written.clear();
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> Result<(), Self::Error> {
        // Of a part that is cleared, less is known to be blank than is.
        if clear_type == ClearType::All {
            self.written.clear();
        }
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> Result<Size, Self::Error> {
        self.inner.size()
    }

    fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.inner.flush()
    }
}
