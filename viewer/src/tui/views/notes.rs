//! What was said of call paths, over another view: bookmarks, notes and entries of the ledger, with
//! what each path costs now.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::super::canvas::Canvas;
use super::super::columns;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, Notice, PromptKind};
use super::super::mode::{
    ALWAYS, Binding, COMMANDS, EXPORT, FIND, Group, HELP, Keys, LEAVE, MOVE, Mode, bind,
};
use super::super::scene::Scene;
use super::super::view::{Finds, OF_ROWS, Outcome, Repro, Sheet, View, ViewEntry};
use super::entries::{self, Selection};
use crate::export::table::Table;
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::{Refined, Watch};
use crate::views::Cost;
use crate::views::difference::Difference;
use crate::views::notes::{Change, Entry, Estimate, Note, Notes, State, What, ledger};
use crate::views::number::{amount, amount_of_units, percent};
use crate::views::path::Path;
use crate::views::search::NamePattern;
use crate::views::top_down::TopDown;
use crate::views::tree::RowId;

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Notes",
    command: "notes",
    key: "'",
    help: "bookmarks, notes and the ledger",
    modes: &[&MODE],
    new: |scene| Box::new(List { metric: scene.refined.metric, ..List::default() }),
};

static MODE: Mode = Mode {
    title: "the list of notes",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(FIND),
        Keys::Of(EXPORT),
        Keys::Of(COMMANDS),
        Keys::Of(HELP),
        Keys::Of(OWN),
        Keys::Views,
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

const GO: Action = Action("show path");
const DELETE: Action = Action("delete note");
const EDIT: Action = Action("edit note");
const RESTORE: Action = Action("restore note");

static OWN: &[Binding] = &[
    bind(Group::Move, "<enter>", Message::Own(GO), "go to this path in the tree"),
    bind(Group::Refine, "d <del>", Message::Own(DELETE), "delete all that was said of this path"),
    bind(Group::Refine, "e", Message::Own(EDIT), "edit the note"),
    bind(Group::Refine, "u", Message::Own(RESTORE), "put back what was deleted last"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("enter", "go to it in the tree"),
        ("e", "edit"),
        ("d", "delete"),
        ("u", "undo"),
        ("q", "back"),
        ("?", "help"),
    ],
    has_rows: false,
    searched: "names on paths, and what is said of them",
    double_click: || Message::Own(GO),
    ..OF_ROWS
};

/// What the paths cost, and what the ledger says of them.
#[derive(Clone, Debug)]
struct Costs {
    /// Samples of each path, and of both sides of a comparison; `None` where it is not shown.
    samples: Vec<Option<(u64, [u64; 2])>>,
    /// What each saves, in units of the metric, where it is in the ledger.
    gains: Vec<Option<u128>>,
    all: u128,
    /// Samples of each row of each path, and the other paths in which they count: those with a row
    /// above it, or with this very row.
    rows: Vec<Vec<(Samples, BTreeSet<usize>)>>,
}

/// Samples, and those of both sides of a comparison.
type Samples = (u64, [u64; 2]);

/// Adds up.
fn sum(rows: impl Iterator<Item = Samples>) -> Option<Samples> {
    rows.reduce(|(one, [base, other]), (more, sides)| {
        (one + more, [base + sides[0], other + sides[1]])
    })
}

impl Costs {
    /// What some paths cost together, each sample once; `None` if none of them is shown.
    fn together(&self, places: &[usize]) -> Option<Samples> {
        let others: BTreeSet<usize> = places.iter().copied().collect();
        let counts = |above: &BTreeSet<usize>| above.is_disjoint(&others);
        let rows = places.iter().flat_map(|&place| {
            let rows = self.rows[place].iter();
            rows.filter(|(_, above)| counts(above)).map(|(samples, _)| *samples)
        });
        sum(rows)
    }
}

#[derive(Clone, Debug, Default)]
struct List {
    notes: Arc<Notes>,
    costs: Option<Costs>,
    metric: MetricRef,
    /// Tells what is made of other notes from what is made of these.
    version: usize,
    selected: Selection,
    /// What was deleted here, the last one at the end.
    deleted: Vec<Note>,
    /// What is being deleted or put back, in this order.
    asked: Vec<What>,
}

/// Notes that were deleted and not put back, when one more was deleted or put back.
fn apply(deleted: &mut Vec<Note>, what: &What) {
    match what {
        What::Removed(note) => deleted.push(Note::clone(note)),
        What::Restored(note) => {
            let place = deleted.iter().rposition(|deleted| *deleted == **note);
            place.map(|place| deleted.remove(place));
        }
        _ => {}
    }
}

/// What the ledger says of a path, with what it saves beside the others.
fn state(entry: &Entry, gain: Option<u128>, scene: &Scene) -> String {
    let saves = || {
        // Of a comparison there is nothing to be gained.
        let metric = scene.metric();
        let estimate = entry.estimate_text(metric);
        let Some(gain) = gain else { return format!("estimate: {estimate}") };
        let gain = amount_of_units(gain, metric, scene.form());
        format!("saves {gain} (estimate: {estimate})")
    };
    match (entry.state, entry.estimate) {
        (State::Understood, Estimate::Nothing) => "understood".to_owned(),
        (State::Understood, _) => format!("understood; {}", saves()),
        (State::ToFix, _) => format!("to be fixed; {}", saves()),
    }
}

impl List {
    /// Asks for a change, whose answer is told by [`View::answered`].
    fn change(&mut self, path: Path, what: What) -> Outcome {
        self.asked.push(what.clone());
        Outcome { note: Some(Box::new(Change { path, what })), ..Outcome::default() }
    }

    /// What all of them show.
    fn entries<'s>(&'s self, scene: &'s Scene) -> impl Iterator<Item = entries::PathEntry<'s>> {
        let notes = self.notes.list.iter().enumerate();
        notes.map(|(place, note)| self.entry(place, note, scene))
    }

    /// What a note says, by its place.
    fn said(&self, place: usize, note: &Note, scene: &Scene) -> String {
        let samples = self.costs.as_ref().and_then(|costs| costs.samples.get(place));
        let gain = self.costs.as_ref().and_then(|costs| *costs.gains.get(place)?);
        let entry = note.entry.as_ref().map(|entry| state(entry, gain, scene));
        let missing = matches!(samples, Some(None)).then(|| "not in what is shown".to_owned());
        let text = Some(note.text.clone()).filter(|text| !text.is_empty());
        let said: Vec<_> = [missing, entry, text].into_iter().flatten().collect();
        if said.is_empty() { "bookmark".to_owned() } else { said.join("; ") }
    }

    /// What is shown of a note, by its place.
    fn entry<'n>(&self, place: usize, note: &'n Note, scene: &Scene) -> entries::PathEntry<'n> {
        let (theme, form) = (scene.theme, scene.form());
        let found = self.costs.as_ref().map(|costs| *costs.samples.get(place)?);
        let [part, share] = match (found, scene.comparison()) {
            (None, _) => [theme.glyphs.ellipsis.to_owned(), String::new()],
            (Some(None), _) => ["-".to_owned(), String::new()],
            (Some(Some((_, sides))), Some(comparison)) => {
                [Difference::new(comparison, sides).delta(form), String::new()]
            }
            (Some(Some((samples, _))), None) => {
                let share = percent(samples, scene.whole_of(None));
                [amount(samples, scene.metric(), form), format!("{share}%")]
            }
        };
        let text = self.said(place, note, scene);
        // Notes with a share and notes without one stand in one column.
        let share = if share.is_empty() { " ".to_owned() } else { share };
        let samples = match found.flatten() {
            Some((_, sides)) if scene.comparison().is_some() => sides.to_vec().into(),
            Some((samples, _)) => samples.into(),
            None => Value::Null,
        };
        let whole = scene.whole_of(None);
        let percent = match (found.flatten(), scene.comparison()) {
            (Some((samples, _)), None) => Some(entries::share(samples, whole)),
            _ => None,
        };
        let path = note.names().collect();
        let cost = [part, share];
        entries::PathEntry { samples, cost, percent, text, path, metric: "" }
    }
}

impl View for List {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let notes = &self.notes.list;
        let list = entries::Entries {
            title: ENTRY.title,
            selection: self.selected,
            count: notes.len(),
            if_none: "no bookmarks or notes yet; in the tree, A sets a bookmark, \" takes a note",
            below: &[],
        };
        let entry = |place: usize| Some(self.entry(place, notes.get(place)?, scene));
        entries::draw(canvas, scene, lines, &list, entry);
    }

    fn told(&self, scene: &Scene) -> Option<Notice> {
        let costs = self.costs.as_ref().filter(|costs| costs.all > 0)?;
        let all = amount_of_units(costs.all, scene.metric(), scene.form());
        Some(Notice::Said(format!("together they would save {all}; no sample counts twice")))
    }

    fn scroll(&mut self, lines: isize) {
        self.selected.scroll(lines, self.notes.list.len());
    }

    fn find(&self, pattern: &NamePattern, scene: &Scene) -> Option<Finds> {
        let sides = |place: usize| {
            let samples = self.costs.as_ref().and_then(|costs| *costs.samples.get(place)?);
            samples.map_or([0; 2], |(_, sides)| sides)
        };
        let is_found = |(place, note): &(usize, &Note)| {
            let by_sides = pattern.finds_sides(&scene.refined, || sides(*place));
            by_sides.unwrap_or_else(|| {
                note.names().any(|name| pattern.is_in(name))
                    || pattern.is_in(&self.said(*place, note, scene))
            })
        };
        let list = self.notes.list.iter().enumerate();
        let mut lines: Vec<usize> = list.filter(is_found).map(|(place, _)| place).collect();
        let Some(costs) = &self.costs else { return Some(Finds { lines, cost: None }) };
        let samples = |&at: &usize| costs.samples[at].map(|(samples, _)| samples);
        lines.sort_by_key(|at| Reverse(samples(at)));
        let cost = costs.together(&lines).map(|(samples, sides)| {
            columns::amount_text(scene, samples, scene.comparison().map(|_| sides))
        });
        Some(Finds { lines, cost })
    }

    fn table(&self, scene: &Scene) -> Option<Table> {
        self.costs.as_ref()?;
        Some(entries::table(ENTRY.title, false, self.entries(scene)))
    }

    fn line(&self) -> usize {
        self.selected.0
    }

    fn line_at(&self, line: usize, height: usize) -> Option<usize> {
        self.selected.at(line, height, self.notes.list.len())
    }

    fn select_line(&mut self, line: usize) {
        self.selected = Selection(line);
    }

    fn noted(&mut self, notes: &Arc<Notes>) {
        (self.notes, self.costs) = (Arc::clone(notes), None);
        self.version += 1;
        self.scroll(0);
    }

    fn answered(&mut self, change: &Change, is_kept: bool) {
        if let Some(place) = self.asked.iter().position(|what| *what == change.what) {
            let what = self.asked.remove(place);
            if is_kept {
                apply(&mut self.deleted, &what);
            }
        }
    }

    fn entered(&mut self, _function: Option<FunctionKey>, _path: Option<Path>, _shown: &Refined) {
        self.selected = Selection(0);
    }

    fn wanted(&self) -> Option<Wanted> {
        let notes = Arc::clone(&self.notes);
        let make = move |refined: &Refined, watch: &Watch<'_>| {
            let mut tree = TopDown::new(refined, watch)?;
            let mut located = Vec::new();
            for note in &notes.list {
                watch.step(0)?;
                located.push(note.locate(refined, &mut tree));
            }
            let mut owners: BTreeMap<RowId, Vec<usize>> = BTreeMap::new();
            for (place, rows) in located.iter().enumerate() {
                rows.iter().for_each(|&row| owners.entry(row).or_default().push(place));
            }
            let of_row = |place: usize, id: RowId| {
                let row = tree.row(id);
                let sides = match refined.profile.comparison.is_some() {
                    true => Cost::Inclusive.of_sides(row),
                    false => [0; 2],
                };
                let way = std::iter::successors(tree.parent(id), |&id| tree.parent(id));
                let above = way.filter_map(|id| owners.get(&id)).flatten().copied();
                // Of several that have this row the first counts.
                let same = owners.get(&id).into_iter().flatten().copied();
                let above = above.chain(same.filter(|owner| *owner < place)).collect();
                ((row.of(refined.metric).inclusive, sides), above)
            };
            let mut rows: Vec<Vec<_>> = Vec::new();
            for (place, ids) in located.into_iter().enumerate() {
                watch.step(0)?;
                rows.push(ids.into_iter().map(|id| of_row(place, id)).collect());
            }
            let samples = rows.iter().map(|rows| sum(rows.iter().map(|(of, _)| *of))).collect();
            let mut gains = vec![None; notes.list.len()];
            if refined.profile.comparison.is_some() {
                return Ok(Made::default().with(Costs { samples, gains, all: 0, rows }));
            }
            let ledger = ledger(&notes, refined, &mut tree, watch)?;
            ledger.lines.iter().for_each(|line| gains[line.place] = line.gain);
            Ok(Made::default().with(Costs { samples, gains, all: ledger.gain, rows }))
        };
        let detail = format!("{} {}", self.metric.index(), self.version);
        let wants = self.costs.is_none() && !self.notes.list.is_empty();
        wants.then(|| Wanted::new("notes", detail, make))
    }

    fn take(&mut self, made: &mut Made, _shown: &Refined) {
        if let Some(costs) = made.take() {
            self.costs = Some(costs);
        }
    }

    fn look_at(&mut self, metric: MetricRef) {
        (self.metric, self.costs) = (metric, None);
    }

    fn act(&mut self, action: Action, _shown: &Refined) -> Outcome {
        if action == RESTORE {
            // As it will be when what was asked for has been done.
            let mut deleted = self.deleted.clone();
            self.asked.iter().for_each(|what| apply(&mut deleted, what));
            let Some(last) = deleted.pop() else {
                return Outcome::said("no note was deleted since the viewer began");
            };
            return self.change(last.path(), What::Restored(Box::new(last)));
        }
        let Some(selected) = self.notes.list.get(self.selected.0) else {
            return Outcome::default();
        };
        let path = selected.path();
        let is_shown =
            |costs: &Costs| costs.samples.get(self.selected.0).is_some_and(Option::is_some);
        match action {
            DELETE => {
                let removed = What::Removed(Box::new(selected.clone()));
                self.change(path, removed)
            }
            EDIT => Outcome { ask: Some((PromptKind::Note, path)), ..Outcome::default() },
            _ if self.costs.as_ref().is_some_and(|costs| !is_shown(costs)) => {
                Outcome::failed("this path is not in what is shown")
            }
            _ => Outcome { path: Some(path), ..Outcome::default() },
        }
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        Repro::None("csprof ledger lists the ledger as text")
    }
}
