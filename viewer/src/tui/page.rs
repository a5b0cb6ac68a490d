//! Pages of text: help, explanations, what was measured.
//!
//! A page is a list of items; laying it out for a width gives its lines. Scrolling counts the
//! lines, so both the update function and the painter lay it out, in the same way. Of a text from a
//! file only the beginning is shown, if it is longer than people read.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::canvas::Canvas;
use super::name::{paintable, width, width as cells_of};
use super::theme::Theme;
use crate::views::search::NamePattern;

/// Cells of a screen on which two columns of text are readable.
const TWO_COLUMNS: usize = 76;

/// Names of pairs up to this many cells decide how wide the left column is.
const LONGEST_NAME: usize = 26;

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A name and what belongs to it, in two columns.
    Pair(String, String),
    /// The same, to be aware of.
    Warning(String, String),
    /// An empty line.
    Gap,
}

/// A page with its place on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// Its parts.
    pub items: Vec<Item>,
    /// What stands to the right of them on a screen that is wide enough, and else below.
    pub beside: Vec<Item>,
    /// First line of the window.
    pub scroll: usize,
    /// What is searched for in it.
    pub search: Option<NamePattern>,
    /// The line found that was gone to last.
    pub hit: Option<usize>,
    /// Cells across, when it was last seen.
    width: usize,
}

/// One line of a page as laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLine {
    /// The left column, or all of the line.
    pub left: String,
    /// The right column, from cell [`PageLine::indent`] on.
    pub right: String,
    /// Where the right column begins.
    pub indent: usize,
    /// How it looks.
    pub look: LineLook,
    /// The item that it is a part of.
    pub item: usize,
}

/// How a line of a page looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineLook {
    /// A heading.
    Heading,
    /// Text.
    Text,
    /// A name in the left column.
    Pair,
    /// To be aware of.
    Warning,
}

impl Page {
    /// A page from its first line.
    #[must_use]
    pub fn new(title: impl Into<String>, items: Vec<Item>) -> Self {
        Self { title: title.into(), items, ..Self::default() }
    }

    /// The same with these parts to the right.
    #[must_use]
    pub fn with_beside(self, beside: Vec<Item>) -> Self {
        Self { beside, ..self }
    }

    /// Moves the window by lines.
    pub fn scroll_by(&mut self, lines: isize) {
        self.scroll = self.scroll.saturating_add_signed(lines);
    }

    /// Keeps the end of the page on a screen of this size.
    pub fn keep_in_view(&mut self, width: usize, height: usize) {
        self.width = width;
        self.scroll = self.scroll.min(self.height(width).saturating_sub(height));
    }

    /// How many lines it has for this many cells.
    #[must_use]
    pub fn height(&self, cells: usize) -> usize {
        self.columns(cells).iter().map(|(_, _, lines)| lines.len()).max().unwrap_or(0)
    }

    /// The same without the last parts of each column that are not within so many lines of so many
    /// cells.
    #[must_use]
    pub fn shortened(mut self, cells: usize, lines: usize) -> Self {
        let first_beside = self.items.len() + 1;
        let columns = self.columns(cells);
        for (_, _, of_column) in &columns {
            let Some(line) = of_column.get(lines) else { continue };
            match line.item.checked_sub(first_beside) {
                Some(at) => self.beside.truncate(at),
                None => {
                    self.items.truncate(line.item);
                    if columns.len() == 1 {
                        self.beside.clear();
                    }
                }
            }
        }
        self
    }

    /// All its parts; lines have them by their place here.
    fn items(&self) -> impl Iterator<Item = &Item> {
        let gap = (!self.beside.is_empty()).then_some(&Item::Gap);
        self.items.iter().chain(gap).chain(&self.beside)
    }

    /// Where its columns are, how many cells they have, and their lines, for this many cells.
    fn columns(&self, cells: usize) -> Vec<(usize, usize, Vec<PageLine>)> {
        if self.beside.is_empty() || cells < TWO_COLUMNS {
            let items: Vec<_> = self.items().collect();
            return vec![(0, cells, Self::lines_of(&items, 0, cells))];
        }
        let half = cells / 2;
        let [left, right] =
            [&self.items, &self.beside].map(|items| items.iter().collect::<Vec<_>>());
        let first_right = self.items.len() + 1;
        vec![
            (0, half - 1, Self::lines_of(&left, 0, half - 1)),
            (half, cells - half, Self::lines_of(&right, first_right, cells - half)),
        ]
    }

    /// The lines with which items begin that have the text in them: words of an item may be on
    /// several lines.
    #[must_use]
    pub fn find(&self, pattern: &NamePattern) -> Vec<usize> {
        let is_found = |item: &Item| match item {
            Item::Heading(text) | Item::Text(text) => pattern.is_in(text),
            Item::Pair(name, text) | Item::Warning(name, text) => {
                pattern.is_in(name) || pattern.is_in(text)
            }
            Item::Gap => false,
        };
        let found: Vec<bool> = self.items().map(is_found).collect();
        let mut places = Vec::new();
        for (_, _, lines) in self.columns(self.width) {
            let mut lines: Vec<_> = lines.iter().map(|line| line.item).enumerate().collect();
            lines.dedup_by_key(|(_, item)| *item);
            places.extend(lines.into_iter().filter(|(_, item)| found[*item]).map(|(at, _)| at));
        }
        // What stands beside each other is gone to at once.
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Goes to a line that was found, with so many lines above it.
    pub fn put(&mut self, line: usize, above: usize) {
        self.hit = Some(line);
        self.scroll = line.saturating_sub(above);
    }

    /// The lines of the page in one column of this many cells.
    #[must_use]
    pub fn lines(&self, cells: usize) -> Vec<PageLine> {
        Self::lines_of(&self.items.iter().collect::<Vec<_>>(), 0, cells)
    }

    /// The lines of these items, the first of which has this number.
    fn lines_of(items: &[&Item], first: usize, cells: usize) -> Vec<PageLine> {
        let cells = cells.max(8);
        let names = items.iter().filter_map(|item| match item {
            Item::Pair(name, _) | Item::Warning(name, _) => Some(width(name)),
            _ => None,
        });
        // A name that is longer than most gets a line of its own.
        let widest = names.filter(|width| *width <= LONGEST_NAME).max().unwrap_or(0);
        let indent = (widest + 3).min(cells * 2 / 5);
        let mut lines = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let line = |left: String, right: String, look| PageLine {
                left,
                right,
                indent,
                look,
                item: first + place,
            };
            match item {
                Item::Heading(text) => {
                    lines.push(line(
                        paintable(text).into_owned(),
                        String::new(),
                        LineLook::Heading,
                    ));
                }
                Item::Text(text) => {
                    for part in wrap(text, cells.saturating_sub(1)) {
                        lines.push(line(format!(" {part}"), String::new(), LineLook::Text));
                    }
                }
                Item::Gap => lines.push(line(String::new(), String::new(), LineLook::Text)),
                Item::Pair(name, text) | Item::Warning(name, text) => {
                    let look = if matches!(item, Item::Pair(..)) {
                        LineLook::Pair
                    } else {
                        LineLook::Warning
                    };
                    let mut left = format!(" {}", paintable(name));
                    if width(&left) >= indent {
                        // Too long for its column: a line of its own.
                        lines.push(line(std::mem::take(&mut left), String::new(), look));
                    }
                    for part in wrap(text, cells - indent) {
                        lines.push(line(std::mem::take(&mut left), part, look));
                    }
                }
            }
        }
        lines
    }

    /// Paints its window on these lines of the screen, its title on the line above them.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, theme: Theme, window: Range<usize>) {
        self.draw_found(canvas, theme, window, self.search.as_ref());
    }

    /// The same; what is searched for is marked, and the place that was gone to last above all.
    pub(super) fn draw_found(
        &self,
        canvas: &mut Canvas<'_>,
        theme: Theme,
        window: Range<usize>,
        search: Option<&NamePattern>,
    ) {
        let (title_line, height) = (window.start - 1, window.len());
        let width = canvas.width();
        let columns = self.columns(width);
        let all = self.height(width);
        if !self.title.is_empty() {
            canvas.titled_rule(title_line, &self.title);
        }
        if all > height {
            let last = (self.scroll + height).min(all);
            let place = format!(" {}-{last} of {all} ", self.scroll + 1);
            canvas.text_right(width - 1, title_line, &place, width / 2, theme.faint());
        }
        // The item that was gone to last; further ones may have a line there.
        let is_hit = |lines: &[PageLine], line: &PageLine| {
            self.hit.and_then(|hit| Some(lines.get(hit)?.item)) == Some(line.item)
        };
        for (start, cells, lines) in columns {
            let window = lines.iter().skip(self.scroll).take(height);
            for (offset, line) in window.enumerate() {
                let y = title_line + 1 + offset;
                draw_line(canvas, theme, line, (start, cells), y);
                let style = if is_hit(&lines, line) { theme.selected() } else { theme.found() };
                for (text, at) in [(&line.left, 0), (&line.right, line.indent)] {
                    let text = theme.plain(text);
                    if let Some(place) = search.and_then(|search| search.place_in(&text)) {
                        let before = cells_of(&text[..place.start]);
                        canvas.style(start + at + before, y, cells_of(&text[place]), style);
                    }
                }
            }
        }
    }
}

/// Paints a line of a column, which begins at a cell and has so many.
fn draw_line(
    canvas: &mut Canvas<'_>,
    theme: Theme,
    line: &PageLine,
    (start, width): (usize, usize),
    y: usize,
) {
    let style = match line.look {
        LineLook::Heading | LineLook::Pair => theme.strong(),
        LineLook::Text => theme.text(),
        LineLook::Warning => theme.warning(),
    };
    let left = match line.look {
        LineLook::Heading => format!(" {}", line.left),
        _ => line.left.clone(),
    };
    canvas.text(start, y, &theme.plain(&left), width, style);
    let style = if line.look == LineLook::Warning { theme.warning() } else { theme.text() };
    let room = width.saturating_sub(line.indent);
    canvas.text(start + line.indent, y, &theme.plain(&line.right), room, style);
}

/// Breaks text into lines of at most `cells` cells, between words where possible.
pub(in crate::tui) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let text = paintable(text);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let needed = width(word);
        if used > 0 && used + 1 + needed > cells {
            lines.push(String::new());
            used = 0;
        }
        let Some(mut line) = lines.pop() else { continue };
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let step = c.width().unwrap_or(0);
            if used + step > cells && used > 0 {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += step;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_and_long_words_within() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("/a/very/long/path x", 8), ["/a/very/", "long/pat", "h x"]);
        assert_eq!(wrap("漢字 漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn pairs_are_columns() {
        let page = Page::new(
            "t",
            vec![
                Item::Pair("rate".into(), "200 per second".into()),
                Item::Pair("a very long name".into(), "x".into()),
            ],
        );
        let lines = page.lines(20);
        let shown: Vec<_> = lines
            .iter()
            .map(|line| format!("{:indent$}{}", line.left, line.right, indent = line.indent))
            .collect();
        assert_eq!(shown, [" rate   200 per", "        second", " a very long name", "        x"]);
    }
}
