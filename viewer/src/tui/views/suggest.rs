//! What is worth a look, over another view: path prefixes with reasons, and the way to each.

use std::ops::Range;
use std::sync::Arc;

use super::super::canvas::Canvas;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message};
use super::super::mode::{
    ALWAYS, Binding, COMMANDS, Group, HELP, Keys, LEAVE, MOVE, Mode, NUMBERS, bind,
};
use super::super::name::{cut, cut_start, paintable};
use super::super::scene::Scene;
use super::super::view::{BoxedView, OF_ROWS, Outcome, Repro, Sheet, View, ViewEntry};
use crate::profile::{FunctionKey, MetricRef, short_name};
use crate::refine::{Refined, Watch};
use crate::views::notes::Notes;
use crate::views::number::{amount, percent};
use crate::views::path::Path;
use crate::views::suggest::{MOST, Suggestion, Suggestions, suggestions_besides};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Worth a look",
    command: "suggest",
    help: "what is worth a look, and why",
    modes: &[&MODE],
    new: |scene| Box::new(Suggest { metric: scene.refined.metric, ..Suggest::default() }),
};

static MODE: Mode = Mode {
    title: "the list of what is worth a look",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(NUMBERS),
        Keys::Of(COMMANDS),
        Keys::Of(HELP),
        Keys::Of(OWN),
        Keys::Views,
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

const GO: Action = Action("show in tree");

static OWN: &[Binding] =
    &[bind(Group::Move, "<enter>", Message::Own(GO), "go to this path in the tree")];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[("enter", "go to it in the tree"), ("q", "back"), ("?", "help")],
    has_rows: false,
    double_click: || Message::Own(GO),
    ..OF_ROWS
};

/// Lines of an entry: what it has and why, and its path.
const LINES: usize = 2;

/// Cells of the part of an entry, and of its share.
const PART: usize = 9;
const SHARE: usize = 7;

#[derive(Clone, Debug, Default)]
struct Suggest {
    /// The list, once it is made.
    found: Option<Suggestions>,
    metric: MetricRef,
    /// What is understood is left out.
    notes: Arc<Notes>,
    /// Tells what is made of other notes from what is made of these.
    version: usize,
    selected: usize,
}

impl Suggest {
    fn list(&self) -> &[Suggestion] {
        self.found.as_ref().map_or(&[], |found| &found.list)
    }

    /// The first entry that is seen on so many lines.
    fn first_shown(&self, height: usize) -> usize {
        (self.selected + 1).saturating_sub((height / LINES).max(1))
    }
}

/// The path of an entry, its innermost functions at least.
fn path(scene: &Scene, entry: &Suggestion, cells: usize) -> String {
    let mut text = String::new();
    // The end says most, and deep recursion has millions of rows.
    let first = entry.rows.len().saturating_sub(cells);
    for row in &entry.rows[first..] {
        if !text.is_empty() {
            text.push_str(" > ");
        }
        let name = &scene.refined.functions[row.function.index()].name;
        text.push_str(&cut(&short_name(name), cells, scene.theme.glyphs.ellipsis));
    }
    cut_start(&paintable(&text), cells, scene.theme.glyphs.ellipsis).into_owned()
}

impl View for Suggest {
    fn boxed(&self) -> BoxedView {
        Box::new(self.clone())
    }

    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let (theme, form) = (scene.theme, scene.form());
        let (cells, top) = (canvas.width(), lines.start);
        let line = theme.glyphs.horizontal.repeat(cells);
        canvas.text(0, top - 1, &line, cells, theme.faint());
        canvas.text(1, top - 1, &format!(" {} ", ENTRY.title), cells, theme.strong());
        let first = self.first_shown(lines.len());
        let starts = lines.clone().step_by(LINES);
        for ((place, entry), y) in self.list().iter().enumerate().skip(first).zip(starts) {
            let [part, share] = match scene.comparison() {
                Some(comparison) => [entry.difference(comparison).delta(form), String::new()],
                None => [
                    amount(entry.part[0], scene.metric(), form),
                    format!("{}%", percent(entry.part[0], scene.whole_of(None))),
                ],
            };
            canvas.text_right(PART + 1, y, &part, PART, theme.strong());
            canvas.text_right(PART + SHARE + 1, y, &share, SHARE, theme.text());
            let start = if share.is_empty() { PART + 3 } else { PART + SHARE + 3 };
            let room = cells.saturating_sub(start + 1);
            let reason = theme.plain(&entry.reason(&scene.refined, form)).into_owned();
            let ellipsis = theme.glyphs.ellipsis;
            canvas.text(start, y, &cut(&reason, room, ellipsis), room, theme.text());
            if place == self.selected {
                canvas.style(0, y, cells, theme.selected());
            }
            if y + 1 < lines.end {
                let room = cells.saturating_sub(4);
                let path = theme.plain(&path(scene, entry, room)).into_owned();
                canvas.text(3, y + 1, &path, room, theme.faint());
            }
        }
        if self.list().is_empty() {
            let text = match self.found {
                Some(_) => "nothing stands out",
                None => &*self.instead_of_rows(),
            };
            canvas.text(1, top, &theme.plain(text), cells.saturating_sub(2), theme.faint());
        }
    }

    fn scroll(&mut self, lines: isize) {
        let last = self.list().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(lines).min(last);
    }

    fn line_at(&self, line: usize, height: usize) -> Option<usize> {
        let place = self.first_shown(height) + line / LINES;
        (place < self.list().len()).then_some(place)
    }

    fn select_line(&mut self, line: usize) {
        self.selected = line;
    }

    fn entered(&mut self, _function: Option<FunctionKey>, _path: Option<Path>, _shown: &Refined) {
        self.selected = 0;
    }

    fn noted(&mut self, notes: &Arc<Notes>) {
        (self.notes, self.found) = (Arc::clone(notes), None);
        self.version += 1;
    }

    fn wanted(&self) -> Option<Wanted> {
        let notes = Arc::clone(&self.notes);
        let make = move |refined: &Refined, watch: &Watch<'_>| {
            Ok(Made::default().with(suggestions_besides(&notes, refined, MOST, watch)?))
        };
        let metric = format!("{} {}", self.metric.index(), self.version);
        self.found.is_none().then(|| Wanted::new("suggestions", metric, make))
    }

    fn take(&mut self, made: &mut Made, _shown: &Refined) {
        if let Some(found) = made.take() {
            self.found = Some(found);
            self.scroll(0);
        }
    }

    fn forget(&mut self, shown: &Refined) {
        self.look_at(shown.metric);
    }

    fn look_at(&mut self, metric: MetricRef) {
        (self.metric, self.found) = (metric, None);
    }

    fn act(&mut self, _action: Action, _shown: &Refined) -> Outcome {
        let path = self.list().get(self.selected).map(|entry| entry.path.clone());
        Outcome { path, ..Outcome::default() }
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        Repro::None("csprof suggest lists what is worth a look (--refine, --metric)")
    }
}
