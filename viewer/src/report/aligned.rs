//! Cells in columns that are as wide as their widest cell, in cells of a terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

/// Where the texts of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// At the left: names.
    Left,
    /// At the right: numbers.
    Right,
}

/// The columns of a table. What follows them on a line has no width.
#[derive(Clone, Debug)]
pub(super) struct Aligned(Vec<(Align, usize)>);

/// Spaces after each column.
const GAP: usize = 2;

impl Aligned {
    /// Columns with room for these lines, heads among them.
    pub(super) fn new<'l>(
        align: &[Align],
        lines: impl IntoIterator<Item = &'l Vec<String>>,
    ) -> Self {
        let mut columns: Vec<_> = align.iter().map(|&align| (align, 0)).collect();
        for line in lines {
            for ((_, width), cell) in columns.iter_mut().zip(line) {
                *width = (*width).max(cell.width());
            }
        }
        Self(columns)
    }

    /// Columns of numbers.
    pub(super) fn of_numbers<'l>(
        count: usize,
        lines: impl IntoIterator<Item = &'l Vec<String>>,
    ) -> Self {
        Self::new(&vec![Align::Right; count], lines)
    }

    /// Leaves a column out. Columns without any text are left out anyway.
    pub(super) fn leave_out(&mut self, column: usize) {
        self.0[column].1 = 0;
    }

    /// Where what follows the columns begins.
    pub(super) fn indent(&self) -> usize {
        self.0.iter().filter(|(_, width)| *width > 0).map(|(_, width)| width + GAP).sum()
    }

    /// Writes a line and what follows its columns.
    pub(super) fn write(
        &self,
        cells: &[String],
        rest: &str,
        out: &mut impl Write,
    ) -> io::Result<()> {
        for (cell, &(align, width)) in cells.iter().zip(&self.0) {
            if width == 0 {
                continue;
            }
            // Not by a width of the format: a long name would be more than that may be.
            let space = " ".repeat(width.saturating_sub(cell.width()));
            match align {
                Align::Left => write!(out, "{cell}{space}{:GAP$}", "")?,
                Align::Right => write!(out, "{space}{cell}{:GAP$}", "")?,
            }
        }
        writeln!(out, "{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_a_terminal_shows() {
        let line = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let lines = [line(["名前", "", "9"]), line(["a", "", "10"])];
        let mut aligned = Aligned::new(&[Align::Left, Align::Right, Align::Right], &lines);
        let text = |aligned: &Aligned| {
            let mut out = Vec::new();
            lines.iter().try_for_each(|cells| aligned.write(cells, "f", &mut out)).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&aligned), "名前   9  f\na     10  f\n");
        assert_eq!(aligned.indent(), 4 + 2 + 2 + 2);
        aligned.leave_out(0);
        assert_eq!(text(&aligned), " 9  f\n10  f\n");
    }
}
