//! A list of call paths over another view, two lines each: what a path costs with what is said of
//! it, and the path.

use std::ops::Range;

use serde_json::Value;

use super::super::canvas::Canvas;
use super::super::name::{cut, paintable, width};
use super::super::page::wrap;
use super::super::scene::Scene;
use crate::export::table::{Fact, Table, TableColumn};
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
#[derive(Debug, Default)]
pub(super) struct PathEntry<'e> {
    /// The samples that it costs, for scripts; of a comparison those of its sides.
    pub(super) samples: Value,
    /// What it costs, and its share, which may be empty.
    pub(super) cost: [String; 2],
    /// What is said of it.
    pub(super) text: String,
    /// The share, in percent, for scripts, if there is one.
    pub(super) percent: Option<f64>,
    /// The metric that it is of, in a list of several.
    pub(super) metric: &'e str,
    /// The functions of its path, outermost first.
    pub(super) path: Vec<&'e str>,
}

/// A list of entries.
pub(super) struct Entries<'l> {
    pub(super) title: &'l str,
    pub(super) selection: Selection,
    /// How many there are.
    pub(super) count: usize,
    /// What is said where there are none; nothing if it is empty.
    pub(super) if_none: &'l str,
    /// What is said below them, where lines are left.
    pub(super) below: &'l [String],
}

/// The share of a whole, in percent.
pub(super) fn share(samples: u64, whole: u64) -> f64 {
    100.0 * samples as f64 / whole.max(1) as f64
}

/// The entries as a table; of a list of several metrics with a column that says which.
pub(super) fn table<'e>(
    title: &str,
    has_metrics: bool,
    entries: impl Iterator<Item = PathEntry<'e>>,
) -> Table {
    let row = |entry: PathEntry<'_>| {
        let [cost, share] = entry.cost;
        let costs = [Fact::number(cost, entry.samples), Fact::number(share, entry.percent)];
        let metric = has_metrics.then(|| Fact::text(entry.metric));
        let path = [Fact::text(entry.text), Fact::names(entry.path)];
        costs.into_iter().chain(metric).chain(path).collect()
    };
    let costs = [TableColumn::number("samples", "cost"), TableColumn::number("percent", "share")];
    let metric = has_metrics.then(|| TableColumn::text("metric", "metric"));
    let path = [TableColumn::text("text", "text"), TableColumn::text("path", "path")];
    Table {
        title: title.to_owned(),
        heading: Vec::new(),
        columns: costs.into_iter().chain(metric).chain(path).collect(),
        rows: entries.map(row).collect(),
    }
}

/// Paints the entries that are seen, which `entry` makes by their places, and the heading on the
/// line above them.
pub(super) fn draw<'e>(
    canvas: &mut Canvas<'_>,
    scene: &Scene,
    lines: Range<usize>,
    list: &Entries<'_>,
    entry: impl Fn(usize) -> Option<PathEntry<'e>>,
) {
    let theme = scene.theme;
    let cells = canvas.width();
    let ellipsis = theme.glyphs.ellipsis;
    canvas.titled_rule(lines.start - 1, list.title);
    let first = list.selection.first_shown(lines.len());
    for (place, y) in (first..list.count).zip(lines.clone().step_by(LINES)) {
        let Some(entry) = entry(place) else { break };
        let [part, share] = &entry.cost;
        canvas.text_right(PART + 1, y, part, PART, theme.strong());
        canvas.text_right(PART + SHARE + 1, y, share, SHARE, theme.text());
        let start = if share.is_empty() { PART + 3 } else { PART + SHARE + 3 };
        let room = cells.saturating_sub(start + 1);
        let text = theme.plain(&paintable(&entry.text)).into_owned();
        let text = cut(&text, room, ellipsis);
        canvas.text(start, y, &text, room, theme.text());
        canvas.mark(start, y, &text, room, scene.search.as_ref());
        if place == list.selection.0 {
            canvas.style(0, y, cells, theme.selected());
        }
        if y + 1 < lines.end {
            let room = cells.saturating_sub(4);
            let path = theme.plain(&path(&entry.path, room, ellipsis)).into_owned();
            canvas.text(3, y + 1, &path, room, theme.faint());
            canvas.mark(3, y + 1, &path, room, scene.search.as_ref());
        }
    }
    let room = cells.saturating_sub(2);
    let if_none = Some(list.if_none).filter(|text| list.count == 0 && !text.is_empty());
    let texts = if_none.into_iter().chain(list.below.iter().map(String::as_str));
    let free = lines.start + LINES * list.count.saturating_sub(first)..lines.end;
    let texts = texts.flat_map(|text| wrap(text, room));
    for (y, text) in free.zip(texts) {
        canvas.text(1, y, &theme.plain(&text), room, theme.faint());
    }
}

/// A path, its innermost functions at least.
fn path(names: &[&str], cells: usize, ellipsis: &str) -> String {
    // The end says most, and a part of a name says nothing.
    let more = format!("{ellipsis}{ARROW}");
    let mut text = String::new();
    for (above, name) in names.iter().enumerate().rev() {
        let name = short_name(name);
        let name = paintable(&name);
        let room = if above > 0 { cells.saturating_sub(width(&more)) } else { cells };
        if text.is_empty() {
            text = cut(&name, cells, ellipsis).into_owned();
        } else if width(&name) + width(ARROW) + width(&text) <= room {
            text = format!("{name}{ARROW}{text}");
        } else if width(&more) + width(&text) <= cells {
            return more + &text;
        } else {
            return text;
        }
    }
    text
}

/// The text between the names of a path.
const ARROW: &str = " > ";

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::super::super::theme::Theme;
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::Refined;

    /// People read `<0.1%`.
    #[test]
    fn small_shares_are_numbers_for_scripts() {
        let entry = || PathEntry {
            samples: 1.into(),
            cost: ["5 ms".to_owned(), "<0.1%".to_owned()],
            percent: Some(share(1, 4000)),
            metric: "realtime",
            ..PathEntry::default()
        };
        let of = |has_metrics| table("t", has_metrics, [entry(), entry()].into_iter());
        assert_eq!(of(false).rows[1][1], Fact::number("<0.1%", 0.025));
        assert_eq!(of(true).rows[1][2], Fact::text("realtime"));
        let keys = of(true).columns.into_iter().map(|column| column.key).collect::<Vec<_>>();
        assert_eq!(keys, ["samples", "percent", "metric", "text", "path"]);
        assert_eq!(of(false).columns.len(), of(false).rows[0].len());
    }

    /// From the end on, and whole.
    #[test]
    fn paths_are_cut_between_names() {
        let names = ["main", "liblzma.so.5+0x18b90", "liblzma.so.5+0x15f30", "memcpy"];
        let all = "main > liblzma.so.5+0x18b90 > liblzma.so.5+0x15f30 > memcpy";
        assert_eq!(path(&names, all.len(), "…"), all);
        let shorter = "… > liblzma.so.5+0x18b90 > liblzma.so.5+0x15f30 > memcpy";
        assert_eq!(path(&names, all.len() - 1, "…"), shorter);
        assert_eq!(path(&names, 40, "…"), "… > liblzma.so.5+0x15f30 > memcpy");
        assert_eq!(path(&names, 12, "…"), "… > memcpy");
        assert_eq!(path(&["main", "a_long_name"], 8, "…"), "a_long_…");
        assert_eq!(path(&["a_long_name"], 8, "…"), "a_long_…");
        assert_eq!(path(&[], 8, "…"), "");
    }

    #[test]
    fn entries_that_are_not_seen_are_not_made() {
        let refined = Refined::base(&from_outline("main 1\n").unwrap());
        let scene = Scene::new(refined, Theme::new(false, false), (80, 24));
        let area = Rect::new(0, 0, 80, 24);
        let mut buffer = Buffer::empty(area);
        let made = RefCell::new(Vec::new());
        let list = Entries {
            title: "t",
            selection: Selection(500),
            count: 1000,
            if_none: "none",
            below: &[],
        };
        draw(&mut Canvas::new(&mut buffer, area, scene.theme), &scene, 3..13, &list, |place| {
            made.borrow_mut().push(place);
            let cost = [place.to_string(), String::new()];
            Some(PathEntry { cost, path: vec!["main"], ..PathEntry::default() })
        });
        assert_eq!(made.into_inner(), (496..=500).collect::<Vec<_>>());
    }
}
