//! What is worth a look, over another view: path prefixes with reasons, and the way to each.

use std::ops::Range;
use std::sync::Arc;

use super::super::canvas::Canvas;
use super::super::columns;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message};
use super::super::mode::{
    ALWAYS, Binding, COMMANDS, EXPORT, FIND, Group, HELP, Keys, LEAVE, MOVE, Mode, NUMBERS, bind,
};
use super::super::scene::Scene;
use super::super::view::{Finds, OF_ROWS, Outcome, Repro, Sheet, View, ViewEntry};
use super::entries::{self, Selection};
use crate::export::table::Table;
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::{Refined, Watch};
use crate::views::notes::Notes;
use crate::views::number::{amount, counted, percent};
use crate::views::path::Path;
use crate::views::search::NamePattern;
use crate::views::suggest::{MOST, Suggestion, Suggestions, suggestions_besides};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Worth a look",
    command: "suggest",
    key: "!",
    help: "what is worth a look, and why",
    modes: &[&MODE],
    new: |scene| Box::new(Suggest { metric: scene.refined.metric, ..Suggest::default() }),
};

static MODE: Mode = Mode {
    title: "the list of what is worth a look",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(FIND),
        Keys::Of(NUMBERS),
        Keys::Of(EXPORT),
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
    searched: "names on paths, and what is said of them",
    double_click: || Message::Own(GO),
    ..OF_ROWS
};

#[derive(Clone, Debug, Default)]
struct Suggest {
    /// The list, once it is made.
    found: Option<Suggestions>,
    metric: MetricRef,
    /// What is understood is left out.
    notes: Arc<Notes>,
    /// Tells what is made of other notes from what is made of these.
    version: usize,
    selected: Selection,
}

impl Suggest {
    fn list(&self) -> &[Suggestion] {
        self.found.as_ref().map_or(&[], |found| &found.list)
    }

    /// What is shown of an entry, with so many names of its path at most: the end says most, and
    /// deep recursion has millions of rows.
    fn entry<'s>(entry: &Suggestion, scene: &'s Scene, names: usize) -> entries::PathEntry<'s> {
        let (form, functions) = (scene.form(), &scene.refined.functions);
        let whole = scene.whole_of(None);
        let (cost, percent, samples) = match scene.comparison() {
            Some(comparison) => {
                let delta = entry.difference(comparison).delta(form);
                ([delta, String::new()], None, entry.part.to_vec().into())
            }
            None => {
                let part = amount(entry.part[0], scene.metric(), form);
                let share = format!("{}%", percent(entry.part[0], whole));
                let percent = entries::share(entry.part[0], whole);
                ([part, share], Some(percent), entry.part[0].into())
            }
        };
        let path = entry.rows[entry.rows.len().saturating_sub(names)..].iter();
        entries::PathEntry {
            samples,
            cost,
            percent,
            text: entry.reason(&scene.refined, form),
            path: path.map(|row| &*functions[row.function.index()].name).collect(),
            ..entries::PathEntry::default()
        }
    }

    /// All of them.
    fn entries<'s>(&'s self, scene: &'s Scene) -> impl Iterator<Item = entries::PathEntry<'s>> {
        self.list().iter().map(|entry| Self::entry(entry, scene, usize::MAX))
    }
}

impl View for Suggest {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let form = scene.form();
        let cells = canvas.width();
        let of = |entry: &Suggestion| Self::entry(entry, scene, cells);
        let if_none = match &self.found {
            Some(Suggestions { understood: 0, .. }) => "nothing stands out".into(),
            Some(Suggestions { understood, .. }) => {
                let paths = counted(*understood as u64, "path", form);
                format!("nothing else stands out: {paths} marked as understood; ' lists the notes")
                    .into()
            }
            None => self.instead_of_rows(),
        };
        let list = entries::Entries {
            title: ENTRY.title,
            selection: self.selected,
            count: self.list().len(),
            if_none: &if_none,
            below: &[],
        };
        entries::draw(canvas, scene, lines, &list, |place| self.list().get(place).map(of));
    }

    fn scroll(&mut self, lines: isize) {
        self.selected.scroll(lines, self.list().len());
    }

    fn find(&self, pattern: &NamePattern, scene: &Scene) -> Option<Finds> {
        self.found.as_ref()?;
        let is_found = |entry: &Suggestion| {
            entry.rows.iter().any(|row| pattern.finds(row, &scene.refined))
                || pattern.is_in(&entry.reason(&scene.refined, scene.form()))
        };
        let list = self.list().iter().enumerate();
        let lines: Vec<usize> =
            list.filter(|(_, entry)| is_found(entry)).map(|(place, _)| place).collect();
        let sum = |side: usize| lines.iter().map(|&at| self.list()[at].part[side]).sum();
        let sides = scene.comparison().map(|_| [sum(0), sum(1)]);
        let cost = (!lines.is_empty()).then(|| columns::amount_text(scene, sum(0), sides));
        Some(Finds { lines, cost })
    }

    fn table(&self, scene: &Scene) -> Option<Table> {
        self.found.as_ref()?;
        Some(entries::table(ENTRY.title, false, self.entries(scene)))
    }

    fn line(&self) -> usize {
        self.selected.0
    }

    fn line_at(&self, line: usize, height: usize) -> Option<usize> {
        self.selected.at(line, height, self.list().len())
    }

    fn select_line(&mut self, line: usize) {
        self.selected = Selection(line);
    }

    fn entered(&mut self, _function: Option<FunctionKey>, _path: Option<Path>, _shown: &Refined) {
        self.selected = Selection(0);
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

    fn look_at(&mut self, metric: MetricRef) {
        (self.metric, self.found) = (metric, None);
    }

    fn act(&mut self, _action: Action, _shown: &Refined) -> Outcome {
        let path = self.list().get(self.selected.0).map(|entry| entry.path.clone());
        Outcome { path, ..Outcome::default() }
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        Repro::None("csprof suggest lists what is worth a look (--refine, --metric)")
    }
}
