//! A list of call paths over another view, two lines each: what a path costs with what is said of
//! it, and the path.

use std::ops::Range;

use super::super::canvas::Canvas;
use super::super::name::{cut, cut_start, paintable};
use super::super::scene::Scene;
use crate::profile::short_name;

/// Lines of an entry.
const LINES: usize = 2;

/// Cells of what a path costs, and of its share.
const PART: usize = 9;
const SHARE: usize = 7;

/// Which entry is selected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Selection(pub(super) usize);

impl Selection {
    /// The first entry that is seen on so many lines.
    fn first_shown(self, height: usize) -> usize {
        (self.0 + 1).saturating_sub((height / LINES).max(1))
    }

    /// Moves it, in a list of so many.
    pub(super) fn scroll(&mut self, lines: isize, entries: usize) {
        self.0 = self.0.saturating_add_signed(lines).min(entries.saturating_sub(1));
    }

    /// The entry on a line of the screen.
    pub(super) fn at(self, line: usize, height: usize, entries: usize) -> Option<usize> {
        let place = self.first_shown(height) + line / LINES;
        (place < entries).then_some(place)
    }
}

/// What is shown of an entry.
pub(super) struct PathEntry<'e> {
    /// What it costs, and its share, which may be empty.
    pub(super) cost: [String; 2],
    /// What is said of it.
    pub(super) text: String,
    /// The functions of its path, outermost first.
    pub(super) path: Vec<&'e str>,
}

/// Paints the entries that are seen, and the heading on the line above them. Where there are none,
/// it is told why.
pub(super) fn draw<'e>(
    canvas: &mut Canvas<'_>,
    scene: &Scene,
    lines: Range<usize>,
    (title, selection): (&str, Selection),
    entries: impl Iterator<Item = PathEntry<'e>>,
    if_none: &str,
) {
    let theme = scene.theme;
    let (cells, top) = (canvas.width(), lines.start);
    let ellipsis = theme.glyphs.ellipsis;
    canvas.titled_rule(top - 1, title);
    let first = selection.first_shown(lines.len());
    let mut is_empty = first == 0;
    for ((place, entry), y) in entries.enumerate().skip(first).zip(lines.clone().step_by(LINES)) {
        is_empty = false;
        let [part, share] = &entry.cost;
        canvas.text_right(PART + 1, y, part, PART, theme.strong());
        canvas.text_right(PART + SHARE + 1, y, share, SHARE, theme.text());
        let start = if share.is_empty() { PART + 3 } else { PART + SHARE + 3 };
        let room = cells.saturating_sub(start + 1);
        let text = theme.plain(&paintable(&entry.text)).into_owned();
        canvas.text(start, y, &cut(&text, room, ellipsis), room, theme.text());
        if place == selection.0 {
            canvas.style(0, y, cells, theme.selected());
        }
        if y + 1 < lines.end {
            let room = cells.saturating_sub(4);
            let path = theme.plain(&path(&entry.path, room, ellipsis)).into_owned();
            canvas.text(3, y + 1, &path, room, theme.faint());
        }
    }
    if is_empty {
        canvas.text(1, top, &theme.plain(if_none), cells.saturating_sub(2), theme.faint());
    }
}

/// A path, its innermost functions at least.
fn path(names: &[&str], cells: usize, ellipsis: &str) -> String {
    // The end says most.
    let first = names.len().saturating_sub(cells);
    let mut text = String::new();
    for name in &names[first..] {
        if !text.is_empty() {
            text.push_str(" > ");
        }
        text.push_str(&cut(&short_name(name), cells, ellipsis));
    }
    cut_start(&paintable(&text), cells, ellipsis).into_owned()
}
