//! The lines of the screen in the source view.

use crate::sources::SourceText;
use crate::symbols::code::CodeLine;

/// What is on one line of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceItem {
    /// A line of the file, by its number.
    Line(u32),
    /// Lines that are not known, by the first and the last.
    Gap(u32, u32),
    /// What such a line calls, by its place among all that it does.
    Callee(u32, usize),
    /// An instruction, by its place.
    Code(usize),
    /// The line that the instruction of this place, and those behind it, were made of.
    LineOf(usize),
}

impl SourceItem {
    /// What its order among others goes by.
    pub(super) fn place(&self) -> (u32, usize) {
        match *self {
            Self::Line(line) | Self::Gap(line, _) => (line, 0),
            Self::Callee(line, at) => (line, at + 1),
            Self::LineOf(at) => (0, 2 * at),
            Self::Code(at) => (0, 2 * at + 1),
        }
    }
}

/// The lines of a file that are known, gaps between them, and those with samples, which stand
/// without text where they are not known. `below` says how many rows are below an open line.
pub(super) fn items_of_lines(
    text: Option<&SourceText>,
    sampled: impl Iterator<Item = u32>,
    below: &dyn Fn(u32) -> Option<usize>,
) -> Vec<SourceItem> {
    let last = text.map_or(0, |text| u32::try_from(text.len()).unwrap_or(u32::MAX));
    let known = text.into_iter().flat_map(SourceText::known).flatten();
    let mut numbers: Vec<u32> = known.chain(sampled).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut items = Vec::with_capacity(numbers.len());
    let mut next = 1;
    for line in numbers {
        if next < line && next <= last {
            items.push(SourceItem::Gap(next, last.min(line - 1)));
        }
        next = line.saturating_add(1);
        items.push(SourceItem::Line(line));
        items.extend((0..below(line).unwrap_or(0)).map(|at| SourceItem::Callee(line, at)));
    }
    if next <= last {
        items.push(SourceItem::Gap(next, last));
    }
    items
}

/// The instructions, each run of those of one line below that.
pub(super) fn items_of(code: &[CodeLine]) -> Vec<SourceItem> {
    let mut items = Vec::with_capacity(code.len() * 2);
    let mut before = None;
    for (at, of) in code.iter().enumerate() {
        if of.line.is_some() && of.line != before {
            before.clone_from(&of.line);
            items.push(SourceItem::LineOf(at));
        }
        items.push(SourceItem::Code(at));
    }
    items
}
