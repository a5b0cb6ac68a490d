//! Painting the source view.

use super::super::super::canvas::Canvas;
use super::super::super::columns::{self, Placed};
use super::super::super::name::{cut_start, paintable, shorten, width};
use super::super::super::page::{Item, Page};
use super::super::super::scene::Scene;
use super::SourceView;
use super::item::SourceItem;
use super::made::{ARROWS, FileOf};
use crate::refine::Refined;
use crate::sources::without_tabs;
use crate::views::Row;
use crate::views::columns::Basis;
use crate::views::instructions::Jump;

impl SourceView {
    pub(super) fn notes(&self, cells: usize, height: usize) -> Page {
        let said = |text: String| Item::Text(text);
        let notes = match (&self.file, &self.shown) {
            (Some(_), _) if self.shows_code => match &self.code {
                None => vec![said("reading…".to_owned())],
                Some(Err(why)) => vec![
                    Item::Warning(String::new(), format!("There are no instructions: {why}.")),
                    said("a shows lines again.".to_owned()),
                ],
                Some(Ok(_)) => Vec::new(),
            },
            (Some(file), _) => file.notes.clone(),
            (None, Some(_)) => vec![Item::Text("reading…".to_owned())],
            (None, None) => vec![Item::Text(
                "Select a function in another view, then 7 shows its source.".to_owned(),
            )],
        };
        let mut page = Page::new("", notes);
        page.keep_in_view(cells, height);
        page
    }

    /// Lines of the screen that notes take.
    pub(super) fn notes_height(&self, cells: usize, height: usize) -> usize {
        let lines = self.notes(cells, height).lines(cells).len();
        if self.items.is_empty() { lines } else { lines.min(height * 2 / 3) }
    }

    pub(super) fn draw_heading(
        &self,
        canvas: &mut Canvas<'_>,
        scene: &Scene,
        beside: &[Placed],
        y: usize,
    ) {
        let (theme, cells) = (scene.theme, canvas.width());
        canvas.rule(y);
        let Some(shown) = &self.shown else { return };
        let mut x = 1;
        if let Some(file) = &self.file
            && !self.items.is_empty()
        {
            let basis = columns::basis(scene, self.forest(file));
            for placed in beside {
                let heading = format!(" {}", placed.column.heading(&basis));
                let end = placed.start + placed.width;
                canvas.text_right(end, y, &heading, placed.width, theme.strong());
                x = end + 1;
            }
        }
        let room = cells.saturating_sub(x + 2);
        let path = self.file.as_ref().filter(|_| !self.shows_code).map_or("", |file| &*file.path);
        let name = shorten(&shown.name, room * 2 / 3, theme.glyphs.ellipsis).into_owned();
        x = canvas.text(x, y, &format!(" {name} "), room, theme.strong());
        let room = cells.saturating_sub(x + 2);
        if !path.is_empty() && room > 8 {
            let path = format!(" {} ", cut_start(path, room - 2, theme.glyphs.ellipsis));
            canvas.text_right(cells - 1, y, &path, room, theme.faint());
        }
    }

    /// What the rows beside lines, or beside instructions, are made from.
    pub(super) fn forest<'v>(&'v self, file: &'v FileOf) -> &'v Refined {
        self.code().map_or(&file.lines.forest, |code| &code.costs.forest)
    }

    fn draw_code(
        &self,
        canvas: &mut Canvas<'_>,
        scene: &Scene,
        beside: &[Placed],
        (item, y): (SourceItem, usize),
    ) {
        let Some(code) = self.code() else { return };
        let (theme, cells) = (scene.theme, canvas.width());
        let search = scene.search.as_ref();
        let last = beside.last().map_or(0, |last| last.start + last.width);
        let x = last + 1;
        match item {
            SourceItem::LineOf(at) => {
                let text = code.line_text(at);
                let room = cells.saturating_sub(x);
                let text = after(&text, self.shift);
                canvas.text(x, y, text, room, theme.faint());
                canvas.mark(x, y, text, room, search);
            }
            SourceItem::Code(at) => {
                if let Some(row) = code.costs.rows.get(&at) {
                    let basis = columns::basis(scene, &code.costs.forest);
                    numbers(canvas, scene, &basis, row, beside, y);
                }
                let of = &code.code[at];
                let digits =
                    code.code.last().map_or(1, |of| format!("{:x}", of.listed.address).len());
                let address = format!("{:x}", of.listed.address);
                canvas.text_right(x + digits, y, &address, digits, theme.faint());
                let selected = match self.item() {
                    Some(SourceItem::Code(at)) => Some(at),
                    _ => None,
                };
                self.draw_arrows(canvas, scene, &code.arrows, selected, (x + digits + 1, at, y));
                let x = x + digits + 2 + ARROWS;
                let text = code.text(at);
                let room = cells.saturating_sub(x);
                let text = paintable(&text);
                let text = after(&text, self.shift);
                canvas.text(x, y, text, room, theme.text());
                canvas.mark(x, y, text, room, search);
            }
            SourceItem::Line(_) | SourceItem::Callee(..) | SourceItem::Gap(..) => {}
        }
    }

    /// Paints what of the arrows of jumps is beside one instruction.
    fn draw_arrows(
        &self,
        canvas: &mut Canvas<'_>,
        scene: &Scene,
        arrows: &[Jump],
        selected: Option<usize>,
        (x, at, y): (usize, usize, usize),
    ) {
        let (theme, glyphs) = (scene.theme, scene.theme.glyphs);
        let [top, _, bottom, _] = glyphs.corners;
        for jump in arrows {
            let (first, last) = jump.span();
            if !(first..=last).contains(&at) {
                continue;
            }
            let is_selected = selected == Some(jump.from) || selected == Some(jump.to);
            let style = if is_selected { theme.strong() } else { theme.faint() };
            let cell = x + ARROWS - 1 - jump.lane;
            if at != jump.from && at != jump.to {
                canvas.text(cell, y, glyphs.vertical, 1, style);
                continue;
            }
            canvas.text(cell, y, if at == first { top } else { bottom }, 1, style);
            for beside in cell + 1..x + ARROWS {
                canvas.text(beside, y, glyphs.horizontal, 1, style);
            }
            let head = if at == jump.to { ">" } else { glyphs.horizontal };
            canvas.text(x + ARROWS, y, head, 1, style);
        }
    }

    pub(super) fn draw_item(
        &self,
        canvas: &mut Canvas<'_>,
        scene: &Scene,
        file: &FileOf,
        beside: &[Placed],
        (item, y): (SourceItem, usize),
    ) {
        let (theme, cells) = (scene.theme, canvas.width());
        let glyphs = theme.glyphs;
        let last = beside.last().map_or(0, |last| last.start + last.width);
        let digits = self.items.last().map_or(1, |item| match item {
            SourceItem::Line(line) | SourceItem::Callee(line, _) | SourceItem::Gap(_, line) => {
                line.to_string().len()
            }
            SourceItem::Code(_) | SourceItem::LineOf(_) => 0,
        });
        let x = last + 1 + digits;
        let (forest, row) = match item {
            SourceItem::Line(line) => {
                (&file.lines.forest, file.lines.line(line).map(|line| &line.row))
            }
            SourceItem::Callee(line, at) => {
                (&scene.refined, self.open.get(&line).and_then(|rows| rows.as_ref()?.get(at)))
            }
            SourceItem::Gap(first, last) => {
                let text = if first == last {
                    format!("line {first} is not kept")
                } else {
                    format!("lines {first} to {last} are not kept")
                };
                canvas.text_right(x, y, glyphs.ellipsis, digits, theme.faint());
                canvas.text(x + 4, y, &text, cells.saturating_sub(x + 4), theme.faint());
                return;
            }
            SourceItem::Code(_) | SourceItem::LineOf(_) => {
                self.draw_code(canvas, scene, beside, (item, y));
                return;
            }
        };
        if let Some(row) = row {
            let basis = columns::basis(scene, forest);
            numbers(canvas, scene, &basis, row, beside, y);
        }
        match item {
            SourceItem::Line(number) => {
                canvas.text_right(x, y, &number.to_string(), digits, theme.faint());
                if let Some(line) = file.lines.line(number) {
                    let is_open = self.open.contains_key(&number);
                    if line.calls || line.inlines {
                        let sign = if is_open { glyphs.open } else { glyphs.closed };
                        canvas.text(x + 1, y, sign, 1, theme.text());
                    }
                    if line.inlines {
                        canvas.text(x + 2, y, "i", 1, theme.text());
                    }
                }
                let found = file.found.as_ref();
                let text = found.map(|source| source.text.shown(number)).unwrap_or_default();
                let text = paintable_line(&text);
                let rest = after(&text, self.shift);
                let room = cells.saturating_sub(x + 4);
                canvas.text(x + 4, y, rest, room, theme.text());
                canvas.mark(x + 4, y, rest, room, scene.search.as_ref());
            }
            SourceItem::Callee(..) => {
                let Some(row) = row else { return };
                let kind = row.kind.shown_label();
                let space = if kind.is_empty() { "" } else { " " };
                let from = canvas.text(
                    x + 4,
                    y,
                    &format!("{} {kind}{space}", glyphs.leaf),
                    cells,
                    theme.faint(),
                );
                let room = cells.saturating_sub(from);
                let name = forest.functions.get(row.function.index()).map_or("", |of| &*of.name);
                let name = shorten(name, room, glyphs.ellipsis);
                canvas.text(from, y, &name, room, theme.strong());
                canvas.mark(from, y, &name, room, scene.search.as_ref());
            }
            SourceItem::Gap(..) | SourceItem::Code(_) | SourceItem::LineOf(_) => {}
        }
    }
}

/// The numbers of a row in columns beside text.
fn numbers(
    canvas: &mut Canvas<'_>,
    scene: &Scene,
    basis: &Basis<'_>,
    row: &Row,
    beside: &[Placed],
    y: usize,
) {
    for &placed in beside {
        let value = placed.column.value(basis, row);
        let (text, style) = columns::text(scene.theme, basis, placed, &value);
        canvas.text_right(placed.start + placed.width, y, &text, placed.width, style);
    }
}

/// A line of a file as it is painted: its tabs are blanks, and a terminal has nothing to obey.
pub(super) fn paintable_line(line: &str) -> String {
    let parts: Vec<_> = line.split('\t').map(paintable).collect();
    without_tabs(&parts.join("\t"), width).into_owned()
}

/// What is left of text without so many cells at its beginning.
fn after(text: &str, cells: usize) -> &str {
    let mut left = 0;
    let start = text.char_indices().find(|(_, c)| {
        let is_reached = left >= cells;
        left += width(c.encode_utf8(&mut [0; 4]));
        is_reached
    });
    start.map_or("", |(at, _)| &text[at..])
}
