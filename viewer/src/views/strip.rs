//! Strips: numbers side by side as heights of characters, from 0 to the greatest of them.

use core::ops::Range;

use super::number::{Form, counted};

/// Cells of the column `spread`.
pub const CELLS: usize = 8;

/// Cells of the column `over-phases`: of a clock's face.
pub const PHASE_CELLS: usize = 12;

/// Heights above 0.
const HEIGHTS: u64 = 8;

/// Divides numbers among cells, in their order: one for each cell, or several if there are too
/// many. No cell is empty.
pub fn cells(numbers: usize, cells: usize) -> impl Iterator<Item = Range<usize>> {
    let cells = cells.min(numbers);
    // Numbers of peers are far from where their product would be too great.
    let start = move |cell: usize| numbers * cell / cells.max(1);
    (0..cells).map(move |cell| start(cell)..start(cell + 1))
}

/// The greatest of the numbers of each cell.
#[must_use]
pub fn greatest(parts: &[u64], in_cells: usize) -> Vec<u64> {
    let greatest = |cell: Range<usize>| parts[cell].iter().copied().max().unwrap_or(0);
    cells(parts.len(), in_cells).map(greatest).collect()
}

/// A sentence that says how many peers a cell stands for; `None` if it is one.
#[must_use]
pub fn what_each_shows(
    cell: &str,
    (peers, in_cells): (usize, usize),
    noun: &str,
    form: Form,
) -> Option<String> {
    let longest = cells(peers, in_cells).map(|cell| cell.len()).max().filter(|most| *most > 1)?;
    let most = counted(longest as u64, noun, form);
    Some(format!("each {cell} stands for up to {most} in their order and shows the largest"))
}

/// The character for a part of the whole: a dot for 0, else one of eight heights, rounded up. In
/// ASCII heights are the digits 1 to 8.
#[must_use]
pub fn character(part: u64, whole: u64, form: Form) -> char {
    let height = u128::from(part) * u128::from(HEIGHTS);
    let height = height.div_ceil(u128::from(whole.max(1))).min(HEIGHTS.into());
    let heights = match form {
        Form::Unicode => "·▁▂▃▄▅▆▇█",
        Form::Ascii => ".12345678",
    };
    heights.chars().nth(height as usize).unwrap_or(' ')
}

/// All of them; the greatest has the greatest height.
#[must_use]
pub fn text(parts: &[u64], form: Form) -> String {
    let whole = parts.iter().copied().max().unwrap_or(0);
    parts.iter().map(|&part| character(part, whole, form)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_one_cell_and_no_cell_is_empty() {
        for numbers in 0..40 {
            for width in 0..20 {
                let all: Vec<_> = cells(numbers, width).collect();
                assert_eq!(all.len(), width.min(numbers));
                assert!(all.iter().all(|cell| !cell.is_empty()));
                let joined: Vec<usize> = all.into_iter().flatten().collect();
                let expected: Vec<usize> = if width == 0 { vec![] } else { (0..numbers).collect() };
                assert_eq!(joined, expected);
            }
        }
        assert_eq!(greatest(&[1, 9, 3, 4, 0], 2), [9, 4]);
    }

    #[test]
    fn heights_are_rounded_up_and_nothing_is_a_dot() {
        assert_eq!(text(&[0, 1, 50, 51, 100], Form::Unicode), "·▁▄▅█");
        assert_eq!(text(&[0, 1, 50, 51, 100], Form::Ascii), ".1458");
        assert_eq!(text(&[0, 0], Form::Ascii), "..");
        assert_eq!(text(&[u64::MAX, 1], Form::Ascii), "81");
    }
}
