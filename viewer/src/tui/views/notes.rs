//! What was said of call paths, over another view: bookmarks, notes and entries of the ledger, with
//! what each path costs now.

use std::ops::Range;
use std::sync::Arc;

use super::super::canvas::Canvas;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, Notice, PromptKind};
use super::super::mode::{ALWAYS, Binding, COMMANDS, Group, HELP, Keys, LEAVE, MOVE, Mode, bind};
use super::super::name::{cut, cut_start, paintable};
use super::super::scene::Scene;
use super::super::view::{BoxedView, OF_ROWS, Outcome, Repro, Sheet, View, ViewEntry};
use crate::profile::{FunctionKey, MetricRef, short_name};
use crate::refine::{Refined, Watch};
use crate::views::difference::Difference;
use crate::views::notes::{Change, Entry, Estimate, Note, Notes, State, What, ledger};
use crate::views::number::{amount, percent};
use crate::views::path::Path;
use crate::views::top_down::TopDown;
use crate::views::{Cost, Row};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Notes",
    command: "notes",
    help: "bookmarks, notes and the ledger",
    modes: &[&MODE],
    new: |scene| Box::new(List { metric: scene.refined.metric, ..List::default() }),
};

static MODE: Mode = Mode {
    title: "the list of notes",
    keys: &[&[
        Keys::Of(MOVE),
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

static OWN: &[Binding] = &[
    bind(Group::Move, "<enter>", Message::Own(GO), "go to this path in the tree"),
    bind(Group::Refine, "d <del>", Message::Own(DELETE), "delete all that was said of this path"),
    bind(Group::Refine, "e", Message::Own(EDIT), "edit the note"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("enter", "go to it in the tree"),
        ("e", "edit"),
        ("d", "delete"),
        ("q", "back"),
        ("?", "help"),
    ],
    has_rows: false,
    double_click: || Message::Own(GO),
    ..OF_ROWS
};

/// Lines of a note: what it costs and what was said, and its path.
const LINES: usize = 2;

/// Cells of the cost of a path, and of its share.
const PART: usize = 9;
const SHARE: usize = 7;

/// What the paths cost, and what the ledger says of them.
#[derive(Clone, Debug)]
struct Costs {
    rows: Vec<Option<Row>>,
    /// What each gives, in units of the metric, where it is in the ledger.
    gains: Vec<Option<u128>>,
    all: u128,
}

#[derive(Clone, Debug, Default)]
struct List {
    notes: Arc<Notes>,
    costs: Option<Costs>,
    metric: MetricRef,
    /// Tells what is made of other notes from what is made of these.
    version: usize,
    selected: usize,
}

impl List {
    fn first_shown(&self, height: usize) -> usize {
        (self.selected + 1).saturating_sub((height / LINES).max(1))
    }
}

/// What the ledger says of a path, with what it gives beside the others.
fn state(entry: &Entry, gain: Option<u128>, scene: &Scene) -> String {
    let gives = || {
        // Of a comparison there is nothing to be gained.
        let Some(gain) = gain else { return format!("estimate: {}", entry.estimate) };
        let metric = scene.metric();
        let one = csprof_format::profile::Metric { period: 1, ..metric.clone() };
        let gain = gain.try_into().unwrap_or(u64::MAX);
        format!("saves {} (estimate: {})", amount(gain, &one, scene.form()), entry.estimate)
    };
    match (entry.state, entry.estimate) {
        (State::Understood, Estimate::Nothing) => "understood".to_owned(),
        (State::Understood, _) => format!("understood; {}", gives()),
        (State::ToFix, _) => format!("to be fixed; {}", gives()),
    }
}

fn path(scene: &Scene, note: &Note, cells: usize) -> String {
    let names: Vec<&str> = note.names().collect();
    // The end says most.
    let first = names.len().saturating_sub(cells);
    let mut text = String::new();
    for name in &names[first..] {
        if !text.is_empty() {
            text.push_str(" > ");
        }
        text.push_str(&cut(&short_name(name), cells, scene.theme.glyphs.ellipsis));
    }
    cut_start(&paintable(&text), cells, scene.theme.glyphs.ellipsis).into_owned()
}

impl View for List {
    fn boxed(&self) -> BoxedView {
        Box::new(self.clone())
    }

    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let (theme, form) = (scene.theme, scene.form());
        let (cells, top) = (canvas.width(), lines.start);
        let ellipsis = theme.glyphs.ellipsis;
        let line = theme.glyphs.horizontal.repeat(cells);
        canvas.text(0, top - 1, &line, cells, theme.faint());
        canvas.text(1, top - 1, &format!(" {} ", ENTRY.title), cells, theme.strong());
        let first = self.first_shown(lines.len());
        let starts = lines.clone().step_by(LINES);
        for ((place, note), y) in self.notes.list.iter().enumerate().skip(first).zip(starts) {
            let row = self.costs.as_ref().map(|costs| costs.rows.get(place).cloned().flatten());
            let [part, share] = match (&row, scene.comparison()) {
                (None, _) => [ellipsis.to_owned(), String::new()],
                (Some(None), _) => ["-".to_owned(), String::new()],
                (Some(Some(row)), Some(comparison)) => {
                    let sides = Cost::Inclusive.of_sides(row);
                    [Difference::new(comparison, sides).delta(form), String::new()]
                }
                (Some(Some(row)), None) => {
                    let samples = row.of(scene.refined.metric).inclusive;
                    let share = percent(samples, scene.whole_of(None));
                    [amount(samples, scene.metric(), form), format!("{share}%")]
                }
            };
            canvas.text_right(PART + 1, y, &part, PART, theme.strong());
            canvas.text_right(PART + SHARE + 1, y, &share, SHARE, theme.text());
            let start = PART + SHARE + 3;
            let room = cells.saturating_sub(start + 1);
            let gain = self.costs.as_ref().and_then(|costs| *costs.gains.get(place)?);
            let entry = note.entry.as_ref().map(|entry| state(entry, gain, scene));
            let missing = matches!(row, Some(None)).then(|| "not in what is shown".to_owned());
            let text = Some(note.text.clone()).filter(|text| !text.is_empty());
            let said: Vec<_> = [missing, entry, text].into_iter().flatten().collect();
            let said = if said.is_empty() { "bookmark".to_owned() } else { said.join("; ") };
            let said = theme.plain(&paintable(&said)).into_owned();
            canvas.text(start, y, &cut(&said, room, ellipsis), room, theme.text());
            if place == self.selected {
                canvas.style(0, y, cells, theme.selected());
            }
            if y + 1 < lines.end {
                let room = cells.saturating_sub(4);
                let path = theme.plain(&path(scene, note, room)).into_owned();
                canvas.text(3, y + 1, &path, room, theme.faint());
            }
        }
        if self.notes.list.is_empty() {
            let text = "no bookmarks or notes yet; in the tree, A sets a bookmark, \" takes a \
                        note";
            canvas.text(1, top, text, cells.saturating_sub(2), theme.faint());
        }
    }

    fn told(&self, scene: &Scene) -> Option<Notice> {
        let costs = self.costs.as_ref().filter(|costs| costs.all > 0)?;
        let one = csprof_format::profile::Metric { period: 1, ..scene.metric().clone() };
        let all = amount(costs.all.try_into().unwrap_or(u64::MAX), &one, scene.form());
        Some(Notice::Said(format!("together they would save {all}; no sample counts twice")))
    }

    fn scroll(&mut self, lines: isize) {
        let last = self.notes.list.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(lines).min(last);
    }

    fn line(&self) -> usize {
        self.selected
    }

    fn line_at(&self, line: usize, height: usize) -> Option<usize> {
        let place = self.first_shown(height) + line / LINES;
        (place < self.notes.list.len()).then_some(place)
    }

    fn select_line(&mut self, line: usize) {
        self.selected = line;
    }

    fn noted(&mut self, notes: &Arc<Notes>) {
        (self.notes, self.costs) = (Arc::clone(notes), None);
        self.version += 1;
        self.scroll(0);
    }

    fn entered(&mut self, _function: Option<FunctionKey>, _path: Option<Path>, _shown: &Refined) {
        self.selected = 0;
    }

    fn wanted(&self) -> Option<Wanted> {
        let notes = Arc::clone(&self.notes);
        let make = move |refined: &Refined, watch: &Watch<'_>| {
            let mut tree = TopDown::new(refined, watch)?;
            let rows = notes.locate(refined, &mut tree);
            let rows = rows.into_iter().map(|row| Some(tree.row(row?).clone())).collect();
            let mut gains = vec![None; notes.list.len()];
            if refined.profile.comparison.is_some() {
                return Ok(Made::default().with(Costs { rows, gains, all: 0 }));
            }
            let ledger = ledger(&notes, refined, &mut tree);
            ledger.lines.iter().for_each(|line| gains[line.place] = Some(line.gain));
            Ok(Made::default().with(Costs { rows, gains, all: ledger.gain }))
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

    fn forget(&mut self, shown: &Refined) {
        self.look_at(shown.metric);
    }

    fn look_at(&mut self, metric: MetricRef) {
        (self.metric, self.costs) = (metric, None);
    }

    fn act(&mut self, action: Action, _shown: &Refined) -> Outcome {
        let Some(note) = self.notes.list.get(self.selected) else { return Outcome::default() };
        let path = note.path();
        match action {
            DELETE => {
                let change = Change { path, what: What::Removed };
                Outcome { note: Some(Box::new(change)), ..Outcome::default() }
            }
            EDIT => Outcome { ask: Some((PromptKind::Note, path)), ..Outcome::default() },
            _ if self.costs.as_ref().is_some_and(|costs| costs.rows[self.selected].is_none()) => {
                Outcome::failed("this path is not in what is shown")
            }
            _ => Outcome { path: Some(path), ..Outcome::default() },
        }
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        Repro::None("csprof ledger lists the ledger as text")
    }
}
