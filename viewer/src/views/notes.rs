//! Bookmarks, notes and the ledger: what a person has said of call paths, and what it would save.
//!
//! A path is named by functions and load modules from the root, so what was said of it in one run
//! is found again in the next run of the program. Of a function that is inlined at one call and
//! called at another there are several rows below one row: what is said is about all of them, since
//! the compiler may decide otherwise in the next build. An entry of the ledger says that a path is
//! understood, or is to be fixed and what that would save; keeping count of what has been found is
//! what Bottlenecks does for its user (Ammons, Choi, Gupta and Swamy, ECOOP 2004).
//!
//! The estimates never add up to more than there is. With the entries below an entry counted first,
//!
//! ```text
//! gain(entry) = min(wanted(entry), cost(entry) - Σ gain(entries below it))
//! ```
//!
//! where a share is of what the entries below leave, and everything is all of that.

use csprof_format::profile::{Exit, Metric};
use serde::{Deserialize, Serialize};

use super::path::{Path, Step};
use super::top_down::TopDown;
use super::tree::RowId;
use crate::profile::{FrameKind, FunctionKey, FunctionRef, is_same_name};
use crate::refine::{Cancelled, Refined, Watch};

/// Most notes of a program, rows of a path, and bytes of a text.
pub const MOST_NOTES: usize = 500;
const MOST_ROWS: usize = 500;
const MOST_TEXT: usize = 1000;
const MOST_BYTES: usize = 4096;

/// The version of the form in files. Another one is not read, nor replaced.
const VERSION: u32 = 1;

/// A row of a path: name and load module of its function, and the number of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Named(String, Option<String>, u8);

/// What is said of a call path: a bookmark, a text, an entry of the ledger, or several of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    path: Vec<Named>,
    /// Whether the user set a bookmark.
    #[serde(default)]
    pub is_bookmarked: bool,
    /// A line of text; may be empty.
    pub text: String,
    /// Its entry in the ledger.
    pub entry: Option<Entry>,
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What is to become of the path.
    pub state: State,
    /// What that would save.
    pub estimate: Estimate,
    /// What was measured when it was entered.
    pub then: Then,
}

/// What is to become of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Why it costs what it does is known.
    Understood,
    /// It is to be fixed.
    ToFix,
}

/// What a path would save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimate {
    /// Nothing.
    Nothing,
    /// The whole cost of the path.
    All,
    /// A share of what it costs, in tenths of a percent, up to 1000.
    Share(u32),
    /// So much, in units of the metric: nanoseconds of a time.
    Amount(u64),
}

/// What was measured when an entry was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Then {
    /// The run, by its number.
    pub run: String,
    /// Its command line.
    pub command: Vec<String>,
    /// Sample source, unit and period of the metric.
    pub source: String,
    /// Unit of the metric.
    pub unit: String,
    /// Units that a sample stands for.
    pub period: u64,
    /// Inclusive samples of the path.
    pub samples: u64,
    /// The stages under which it cost that.
    pub stages: String,
    /// Runs of the profile; 0 and 1 are one.
    #[serde(default)]
    pub runs: usize,
    /// Start of the run, in nanoseconds since 1970-01-01 UTC.
    #[serde(default)]
    pub start_unix_ns: u64,
    /// How the program ended.
    #[serde(default)]
    pub exit: Exit,
    /// Samples that were lost.
    #[serde(default)]
    pub lost: u64,
    /// Whether `samples` are those of all rows of the path, called and inlined.
    #[serde(default)]
    pub is_whole: bool,
}

/// All that was said of the paths of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    version: u32,
    /// The program, for people who read the file.
    pub program: String,
    /// The notes, in the order in which they were made.
    pub list: Vec<Note>,
}

/// A change of what is said of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: Path,
    /// What is to be said of it.
    pub what: What,
}

/// What is to be said of a path. What was seen when the user asked for it is told, too: another
/// viewer may have said something else meanwhile, which is never replaced unseen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Nothing more, if this is all that is said.
    Removed(Box<Note>),
    /// What was removed, if nothing else was said since.
    Restored(Box<Note>),
    /// That it is to be found again, or not any more. Texts and entries stay.
    Bookmark(bool),
    /// A text, or none if it is empty.
    Text {
        /// The text there was.
        before: String,
        /// The new one.
        text: String,
    },
    /// An entry of the ledger, or none.
    Entry {
        /// What the entry said that there was.
        before: Option<(State, Estimate)>,
        /// The new one.
        entry: Option<Entry>,
    },
}

impl What {
    /// What to say when it is kept.
    #[must_use]
    pub fn said(&self) -> &'static str {
        match self {
            Self::Removed(_) => "deleted; u puts it back",
            Self::Restored(_) => "put back",
            Self::Bookmark(true) => "a bookmark; ' lists all",
            Self::Bookmark(false) => "no bookmark any more",
            Self::Text { text, .. } if text.trim().is_empty() => "no note any more",
            Self::Text { .. } => "noted; ' lists all",
            Self::Entry { entry: Some(_), .. } => "entered in the ledger; ' lists all",
            Self::Entry { entry: None, .. } => "not in the ledger any more",
        }
    }
}

impl Named {
    fn of(step: &Step) -> Self {
        let key = step.key();
        Self(key.name().to_owned(), key.module().map(str::to_owned), step.kind() as u8)
    }

    fn kind(&self) -> FrameKind {
        FrameKind::from_number(self.2).unwrap_or(FrameKind::Call)
    }

    fn step(&self) -> Step {
        let key = FunctionKey::named(&self.0, self.1.as_deref());
        Step::new(key, self.kind(), FunctionRef::ROOT)
    }

    /// Whether a row is one of those that are meant.
    fn is(&self, step: &Step) -> bool {
        let key = step.key();
        is_same_name(&self.0, key.name())
            && self.1.as_deref() == key.module()
            && way(self.kind()) == way(step.kind())
    }
}

/// How a row is there, apart from what a compiler decides: a function that was called, inlined, or
/// left by a tail call is the same.
const fn way(kind: FrameKind) -> FrameKind {
    match kind {
        FrameKind::Call | FrameKind::Inline | FrameKind::Tail => FrameKind::Call,
        other => other,
    }
}

/// The rows of a path in a tree, of whatever kind; none if it is not there.
fn rows_of<'p>(
    path: impl IntoIterator<Item = &'p Step>,
    refined: &Refined,
    tree: &mut TopDown,
) -> Vec<RowId> {
    let mut rows = vec![RowId::ROOT];
    for step in path {
        let mut next = Vec::new();
        for row in rows {
            tree.children(refined, row);
            next.extend(tree.opened_children(row).iter().copied().filter(|&child| {
                let row = tree.row(child);
                way(row.kind) == way(step.kind()) && refined.is_function(row.function, step.key())
            }));
        }
        rows = next;
    }
    rows
}

/// Inclusive samples of a path, of whatever kind its rows are.
#[must_use]
pub fn samples_of(path: &Path, refined: &Refined, tree: &mut TopDown) -> u64 {
    sum(&rows_of(&path.0, refined, tree), refined, tree).unwrap_or(0)
}

/// Inclusive samples of rows of which none lies below another; `None` if there are none.
fn sum(rows: &[RowId], refined: &Refined, tree: &TopDown) -> Option<u64> {
    let inclusive = |row: &RowId| tree.row(*row).of(refined.metric).inclusive;
    (!rows.is_empty()).then(|| rows.iter().map(inclusive).sum())
}

impl Note {
    /// The path.
    #[must_use]
    pub fn path(&self) -> Path {
        Path(self.path.iter().map(Named::step).collect())
    }

    /// The names of its functions, outermost first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.path.iter().map(|named| &*named.0)
    }

    /// Whether it is a note on this path.
    #[must_use]
    pub fn is_on(&self, path: &Path) -> bool {
        let mut pairs = self.path.iter().zip(&path.0);
        self.path.len() == path.0.len() && pairs.all(|(named, step)| named.is(step))
    }

    /// Whether its path has code without a name, whose address means nothing in another build.
    #[must_use]
    pub fn has_nameless(&self) -> bool {
        self.path.iter().any(|named| named.kind() == FrameKind::Unknown)
    }

    /// Whether its path has so many rows and ends in a function of this name, as most paths do not.
    /// Of a recursion, rows of all depths have the name.
    #[must_use]
    pub fn may_be_of(&self, name: &str, depth: usize) -> bool {
        let last = self.path.last().filter(|_| self.path.len() == depth);
        last.is_some_and(|named| is_same_name(&named.0, name))
    }

    /// The rows of its path in a tree, none of them below another. A function that is inlined now
    /// and was called before, or the other way round, is the same, and so are several of one name.
    #[must_use]
    pub fn locate(&self, refined: &Refined, tree: &mut TopDown) -> Vec<RowId> {
        rows_of(&self.path().0, refined, tree)
    }

    /// What its entry in the ledger says, to be compared with what another viewer said.
    #[must_use]
    pub fn entered(&self) -> Option<(State, Estimate)> {
        self.entry.as_ref().map(|entry| (entry.state, entry.estimate))
    }

    /// Whether nothing is said any more.
    fn is_empty(&self) -> bool {
        !self.is_bookmarked && self.text.is_empty() && self.entry.is_none()
    }
}

impl Entry {
    /// What it would save, if that can be said of this metric: an amount of another one cannot.
    #[must_use]
    pub fn estimate_in(&self, metric: &Metric) -> Option<Estimate> {
        let Then { source, unit, .. } = &self.then;
        let is_of_it = (&**source, &**unit) == (&*metric.source, &*metric.unit);
        Some(self.estimate).filter(|estimate| is_of_it || !matches!(estimate, Estimate::Amount(_)))
    }

    /// The estimate as it is typed; an amount of another metric with what it is of.
    #[must_use]
    pub fn estimate_text(&self, metric: &Metric) -> String {
        let text = self.estimate.text(&self.then.unit);
        match self.estimate_in(metric) {
            Some(_) => text,
            None => format!("{text} of {}", self.then.source),
        }
    }
}

impl Note {
    /// Puts another entry in the place of what there is, or none.
    fn enter(&mut self, entry: Option<&Entry>) -> Result<(), String> {
        if let Some(Entry { then, .. }) = entry {
            let command: usize = then.command.iter().map(String::len).sum();
            if command.max(then.stages.len()) > MOST_BYTES {
                return Err(format!(
                    "the command line or the stages are longer than {MOST_BYTES} bytes"
                ));
            }
        }
        // What was measured first is what a gain is counted from, unless it was a part of the path.
        // An amount is of the metric that it was typed for.
        let kept = self.entry.take().map(|before| before.then).filter(|then| then.is_whole);
        self.entry = entry.cloned();
        if let (Some(entry), Some(then)) = (&mut self.entry, kept) {
            let is_alike = (&then.source, &then.unit) == (&entry.then.source, &entry.then.unit);
            if is_alike || !matches!(entry.estimate, Estimate::Amount(_)) {
                entry.then = then;
            }
        }
        Ok(())
    }
}

/// What to say where another viewer was faster. With what stands before it, it fits 80 columns.
const CHANGED: &str = "another viewer changed it; shown as it is now, try again";

impl Notes {
    /// Those of a program of which nothing has been said.
    #[must_use]
    pub fn new(program: &str) -> Self {
        Self { version: VERSION, program: program.to_owned(), list: Vec::new() }
    }

    /// Reads the text of a file; `None` if it is none of these.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut notes: Self = serde_json::from_str(text).ok()?;
        // An earlier csprof did not write it.
        let is_bookmark = |note: &&mut Note| note.is_empty();
        notes.list.iter_mut().filter(is_bookmark).for_each(|note| note.is_bookmarked = true);
        (notes.version == VERSION).then_some(notes)
    }

    /// The text of a file.
    #[must_use]
    pub fn text(&self) -> String {
        // Nothing in it can fail to be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The note on a path.
    #[must_use]
    pub fn on(&self, path: &Path) -> Option<&Note> {
        self.list.iter().find(|note| note.is_on(path))
    }

    /// Makes a change. Nothing has changed where that fails.
    ///
    /// # Errors
    /// One sentence: there are too many notes, what is to be said is too long to be kept, or
    /// something else was said meanwhile.
    pub fn change(&mut self, change: &Change) -> Result<(), String> {
        let Change { path, what } = change;
        let at = self.list.iter().position(|note| note.is_on(path));
        let mut note = match at {
            Some(at) => self.list[at].clone(),
            None => Note {
                path: path.0.iter().map(Named::of).collect(),
                is_bookmarked: false,
                text: String::new(),
                entry: None,
            },
        };
        match what {
            What::Removed(seen) => {
                match at {
                    Some(at) if self.list[at] == **seen => drop(self.list.remove(at)),
                    Some(_) => return Err(CHANGED.to_owned()),
                    None => {}
                }
                return Ok(());
            }
            What::Restored(_) if at.is_some() => return Err(CHANGED.to_owned()),
            What::Restored(removed) => note = Note::clone(removed),
            What::Bookmark(is_set) => note.is_bookmarked = *is_set,
            What::Text { before, text } => {
                let text = text.trim();
                if note.text != *before && note.text != text {
                    return Err(CHANGED.to_owned());
                }
                if text.chars().count() > MOST_TEXT {
                    return Err(format!("a note is a line of {MOST_TEXT} characters at most"));
                }
                text.clone_into(&mut note.text);
            }
            What::Entry { before, entry } => {
                let wanted = entry.as_ref().map(|entry| (entry.state, entry.estimate));
                if note.entered() != *before && note.entered() != wanted {
                    return Err(CHANGED.to_owned());
                }
                note.enter(entry.as_ref())?;
            }
        }
        match at {
            Some(at) if note.is_empty() => drop(self.list.remove(at)),
            Some(at) => self.list[at] = note,
            None if note.is_empty() => {}
            None => {
                self.has_room_for(path)?;
                self.list.push(note);
            }
        }
        Ok(())
    }

    /// Whether a note on another path can be kept.
    fn has_room_for(&self, path: &Path) -> Result<(), String> {
        let is_long = |step: &Step| {
            step.key().name().len() + step.key().module().map_or(0, str::len) > MOST_BYTES
        };
        if path.0.is_empty() {
            return Err("this row is no call path".to_owned());
        }
        if path.0.len() > MOST_ROWS || path.0.iter().any(is_long) {
            return Err(format!(
                "the path is too long to be kept: {MOST_ROWS} rows, names of {MOST_BYTES} bytes"
            ));
        }
        match self.list.len() < MOST_NOTES {
            true => Ok(()),
            false => Err(format!(
                "there are {MOST_NOTES} notes already; d in the list of notes deletes one"
            )),
        }
    }

    /// The paths that are understood.
    pub fn understood(&self) -> impl Iterator<Item = &Note> {
        let is_understood = |entry: &Entry| entry.state == State::Understood;
        self.list.iter().filter(move |note| note.entry.as_ref().is_some_and(is_understood))
    }
}

/// Words in which amounts are typed, largest first, and what each is of the metric's unit.
const TIMES: &[(&str, u64)] = &[
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("µs", 1000),
    ("ns", 1),
];
const COUNTS: &[(&str, u64)] =
    &[("", 1), ("k", 1000), ("K", 1000), ("M", 1_000_000), ("G", 1_000_000_000)];

impl Estimate {
    /// Reads what a person types: `50%`, `-50%`, `all`; nothing typed is all; an amount in units of
    /// the metric: `120 ms` of a time, `5000` of events.
    ///
    /// # Errors
    /// What can be typed.
    pub fn parse(text: &str, unit: &str) -> Result<Self, String> {
        let typed = text.trim();
        let text = typed.trim_start_matches(['-', '−']).trim();
        let is_signed = text.len() < typed.len();
        let wrong = || {
            let amount = match unit {
                "ns" => "a time (120 ms)".to_owned(),
                unit => format!("a number of {unit} (5000)"),
            };
            format!("an estimate is a share (50%), {amount}, all, or nothing")
        };
        match text {
            "" if is_signed => return Err(wrong()),
            "" | "all" => return Ok(Self::All),
            "0" | "nothing" => return Ok(Self::Nothing),
            _ => {}
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, typed) = text.split_at(end);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let typed = typed.trim();
        if typed == "%" && number <= 100.0 {
            return Ok(Self::Share((number * 10.0).round() as u32));
        }
        // The word for what is counted may stand behind its number.
        let (units, typed) = match unit {
            "ns" => (TIMES, typed),
            unit => (COUNTS, typed.strip_suffix(unit).unwrap_or(typed).trim_end()),
        };
        let known = units.iter().find(|(name, _)| *name == typed);
        let &(_, each) = known.ok_or_else(wrong)?;
        Ok(Self::Amount((number * each as f64).round() as u64))
    }

    /// What is typed for it, where the metric has this unit.
    #[must_use]
    pub fn text(self, unit: &str) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::All => "all".to_owned(),
            Self::Share(tenths) if tenths % 10 == 0 => format!("{}%", tenths / 10),
            Self::Share(tenths) => format!("{}.{}%", tenths / 10, tenths % 10),
            Self::Amount(amount) if unit == "ns" => {
                let whole = |(name, each): &&(&str, u64)| *name != "min" && amount % each == 0;
                let found = TIMES.iter().find(whole).filter(|_| amount > 0);
                let &(name, each) = found.unwrap_or(&("ns", 1));
                format!("{} {name}", amount / each)
            }
            Self::Amount(amount) => format!("{amount} {unit}"),
        }
    }

    /// What it wants of so much that is left.
    fn of(self, left: u128) -> u128 {
        match self {
            Self::Nothing => 0,
            Self::All => left,
            Self::Share(tenths) => left * u128::from(tenths.min(1000)) / 1000,
            Self::Amount(amount) => left.min(amount.into()),
        }
    }
}

/// Which of some paths is the nearest above each, by their rows. Of several at one row, each is
/// above the next. What is above one row of a path is above all, since rows of one path differ in
/// their kinds alone.
fn nearest_above(
    rows: &[Vec<RowId>],
    tree: &TopDown,
    watch: &Watch<'_>,
) -> Result<Vec<Option<usize>>, Cancelled> {
    let at =
        |row: RowId, before: usize| rows[..before].iter().rposition(|others| others.contains(&row));
    let above = |(place, own): (usize, &Vec<RowId>)| {
        let &row = own.first()?;
        at(row, place).or_else(|| {
            let mut above = tree.parent(row);
            while let Some(row) = above {
                if let Some(found) = at(row, rows.len()) {
                    return Some(found);
                }
                above = tree.parent(row);
            }
            None
        })
    };
    let above = |own| watch.step(0).map(|()| above(own));
    rows.iter().enumerate().map(above).collect()
}

/// What each entry saves without what entries below it save: their sum is no more than what the
/// outermost ones cost. `above` is the nearest entry above each, `cost` what each costs, which is
/// no less than what those below it cost that are in none of each other.
#[must_use]
pub fn gains(above: &[Option<usize>], cost: &[u128], estimates: &[Estimate]) -> Vec<u128> {
    let depth = |place: usize| std::iter::successors(above[place], |&at| above[at]).count();
    let mut order: Vec<usize> = (0..cost.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(depth(place)));
    let mut gains = vec![0; cost.len()];
    let mut below = vec![0_u128; cost.len()];
    for place in order {
        gains[place] = estimates[place].of(cost[place].saturating_sub(below[place]));
        if let Some(above) = above[place] {
            below[above] += below[place] + gains[place];
        }
    }
    gains
}

/// What one entry says about a profile.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its place among the notes.
    pub place: usize,
    /// Inclusive samples of its path; `None` where that is not in what is shown.
    pub samples: Option<u64>,
    /// What it would save beside the others, in units of the metric; `None` where its estimate is
    /// an amount of another one.
    pub gain: Option<u128>,
}

/// The ledger of what is shown.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The entries, in order of their gains, the greatest first.
    pub lines: Vec<Line>,
    /// What they would save together, in units of the metric.
    pub gain: u128,
    /// Samples of all their paths, each once.
    pub covered: u64,
}

/// What the entries of the ledger are worth in what is shown.
///
/// # Errors
/// The watch asked for the end.
pub fn ledger(
    notes: &Notes,
    refined: &Refined,
    tree: &mut TopDown,
    watch: &Watch<'_>,
) -> Result<Ledger, Cancelled> {
    let metric = refined.looked_at();
    let period = u128::from(metric.period);
    let estimate = |(place, note): (usize, &Note)| {
        note.entry.as_ref().map(|entry| (place, entry.estimate_in(metric)))
    };
    let (places, wanted): (Vec<_>, Vec<_>) =
        notes.list.iter().enumerate().filter_map(estimate).unzip();
    let mut rows = Vec::with_capacity(places.len());
    for &place in &places {
        watch.step(0)?;
        rows.push(notes.list[place].locate(refined, tree));
    }
    let samples: Vec<_> = rows.iter().map(|rows| sum(rows, refined, tree)).collect();
    let cost: Vec<_> =
        samples.iter().map(|samples| u128::from(samples.unwrap_or(0)) * period).collect();
    let above = nearest_above(&rows, tree, watch)?;
    let estimates: Vec<_> = { wanted.iter() }
        .map(|estimate: &Option<Estimate>| estimate.unwrap_or(Estimate::Nothing))
        .collect();
    let gains = gains(&above, &cost, &estimates);
    let outermost = samples.iter().zip(&above).filter(|(_, above)| above.is_none());
    let covered = outermost.filter_map(|(samples, _)| *samples).sum();
    let gain = gains.iter().sum();
    let gains = gains.into_iter().zip(wanted).map(|(gain, wanted)| wanted.map(|_| gain));
    let line = |((place, samples), gain)| Line { place, samples, gain };
    let mut lines: Vec<_> = places.into_iter().zip(samples).zip(gains).map(line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse((line.gain, line.samples)));
    Ok(Ledger { lines, gain, covered })
}

#[cfg(test)]
#[path = "notes/tests.rs"]
mod tests;
