//! Bookmarks, notes and the ledger: what a person has said of call paths, and what it would give.
//!
//! A path is named by functions and load modules from the root, so what was said of it in one run
//! is found again in the next run of the program. An entry of the ledger says that a path is
//! understood, or is to be fixed and what that would give; keeping count of what has been found is
//! what Bottlenecks does for its user (Ammons, Choi, Gupta and Swamy, ECOOP 2004).
//!
//! The estimates never add up to more than there is. With the entries below an entry counted first,
//!
//! ```text
//! gain(entry) = min(wanted(entry), cost(entry) - Σ gain(entries below it))
//! ```
//!
//! where a share is of what the entries below leave, and everything is all of that.

use csprof_format::profile::Exit;
use serde::{Deserialize, Serialize};

use super::path::{Path, Step};
use super::top_down::TopDown;
use super::tree::RowId;
use crate::profile::{FrameKind, FunctionKey, FunctionRef};
use crate::refine::Refined;

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

/// What is said of a call path. With neither text nor entry it is a bookmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    path: Vec<Named>,
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
    /// What that would give.
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

/// What a path would give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimate {
    /// Nothing.
    Nothing,
    /// All that it costs.
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

/// What is to be said of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Nothing more: all that was said is removed.
    Removed,
    /// That it is to be found again.
    Bookmark,
    /// This text.
    Text(String),
    /// This entry of the ledger, or none any more.
    Entry(Option<Entry>),
}

impl Named {
    fn of(step: &Step) -> Self {
        let key = step.key();
        let kind = FrameKind::ALL.iter().position(|kind| *kind == step.kind()).unwrap_or(0);
        Self(key.name().to_owned(), key.module().map(str::to_owned), kind as u8)
    }

    fn step(&self) -> Step {
        let kind = FrameKind::ALL.get(usize::from(self.2)).copied().unwrap_or(FrameKind::Call);
        Step::new(FunctionKey::named(&self.0, self.1.as_deref()), kind, FunctionRef::ROOT)
    }
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
        let are_same = |(named, step): (&Named, &Step)| *named == Named::of(step);
        self.path.len() == path.0.len() && self.path.iter().zip(&path.0).all(are_same)
    }

    /// Whether its path has code without a name, whose address means nothing in another build.
    #[must_use]
    pub fn has_nameless(&self) -> bool {
        self.path.iter().any(|named| named.step().kind() == FrameKind::Unknown)
    }

    /// Whether its path ends in a function of this name, as most paths do not.
    #[must_use]
    pub fn may_end_in(&self, name: &str) -> bool {
        self.path.last().is_some_and(|named| named.0 == name)
    }

    /// The row of its path in a tree, if there is one. A function that is inlined now and was
    /// called before, or the other way round, is the same.
    #[must_use]
    pub fn locate(&self, refined: &Refined, tree: &mut TopDown) -> Option<RowId> {
        let mut at = RowId::ROOT;
        for named in &self.path {
            let step = named.step();
            let others = FrameKind::ALL.into_iter().filter(|kind| *kind != step.kind());
            let others = others.map(|kind| Step::new(step.key().clone(), kind, step.number()));
            let mut ways = std::iter::once(step.clone()).chain(others);
            at = ways.find_map(|step| tree.child(refined, at, &step))?;
        }
        Some(at)
    }
}

impl Notes {
    /// Those of a program of which nothing has been said.
    #[must_use]
    pub fn new(program: &str) -> Self {
        Self { version: VERSION, program: program.to_owned(), list: Vec::new() }
    }

    /// Reads the text of a file; `None` if it is none of these.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let notes: Self = serde_json::from_str(text).ok()?;
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

    /// Makes a change.
    ///
    /// # Errors
    /// One sentence: there are too many notes, or the path or its names are too long to be kept.
    pub fn change(&mut self, change: &Change) -> Result<(), String> {
        let Change { path, what } = change;
        if let What::Entry(Some(Entry { then, .. })) = what {
            let command: usize = then.command.iter().map(String::len).sum();
            if command.max(then.stages.len()) > MOST_BYTES {
                return Err(format!(
                    "the command line or the stages are longer than {MOST_BYTES} bytes"
                ));
            }
        }
        let at = self.list.iter().position(|note| note.is_on(path));
        let at = match (at, what) {
            (None, What::Removed | What::Entry(None)) => return Ok(()),
            (Some(at), What::Removed) => {
                self.list.remove(at);
                return Ok(());
            }
            (Some(at), _) => at,
            (None, _) => {
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
                if self.list.len() >= MOST_NOTES {
                    return Err(format!(
                        "there are {MOST_NOTES} notes already; d in the list of notes deletes one"
                    ));
                }
                let path = path.0.iter().map(Named::of).collect();
                self.list.push(Note { path, text: String::new(), entry: None });
                self.list.len() - 1
            }
        };
        let note = &mut self.list[at];
        match what {
            What::Text(text) => note.text = text.trim().chars().take(MOST_TEXT).collect(),
            What::Entry(entry) => {
                // What was measured first is what a gain is counted from.
                let then = note.entry.take().map(|before| before.then);
                note.entry.clone_from(entry);
                if let (Some(entry), Some(then)) = (&mut note.entry, then) {
                    entry.then = then;
                }
            }
            What::Removed | What::Bookmark => {}
        }
        Ok(())
    }

    /// The row of each note in a tree, if there is one.
    pub fn locate(&self, refined: &Refined, tree: &mut TopDown) -> Vec<Option<RowId>> {
        self.list.iter().map(|note| note.locate(refined, tree)).collect()
    }

    /// The paths that are understood.
    pub fn understood(&self) -> impl Iterator<Item = &Note> {
        let is_understood = |entry: &Entry| entry.state == State::Understood;
        self.list.iter().filter(move |note| note.entry.as_ref().is_some_and(is_understood))
    }
}

impl Estimate {
    /// Reads what a person types: `50%`, `-50%`, `120 ms`, `all`; nothing typed is all.
    ///
    /// # Errors
    /// What can be typed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_start_matches(['-', '−']).trim();
        let wrong = || "an estimate is a share (50%), a time (120 ms), all, or nothing".to_owned();
        match text {
            "" | "all" => return Ok(Self::All),
            "0" | "nothing" => return Ok(Self::Nothing),
            _ => {}
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let nanoseconds = match unit.trim() {
            "%" if number <= 100.0 => return Ok(Self::Share((number * 10.0).round() as u32)),
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            _ => return Err(wrong()),
        };
        Ok(Self::Amount((number * nanoseconds).round() as u64))
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

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => write!(f, "nothing"),
            Self::All => write!(f, "all"),
            Self::Share(tenths) if tenths % 10 == 0 => write!(f, "{}%", tenths / 10),
            Self::Share(tenths) => write!(f, "{}.{}%", tenths / 10, tenths % 10),
            Self::Amount(ns) => match ns {
                ns if ns % 1_000_000_000 == 0 => write!(f, "{} s", ns / 1_000_000_000),
                ns if ns % 1_000_000 == 0 => write!(f, "{} ms", ns / 1_000_000),
                ns if ns % 1_000 == 0 => write!(f, "{} us", ns / 1_000),
                ns => write!(f, "{ns} ns"),
            },
        }
    }
}

/// Which of some rows is the nearest above each. Of several at one row, each is above the next.
#[must_use]
pub fn nearest_above(rows: &[Option<RowId>], tree: &TopDown) -> Vec<Option<usize>> {
    let at =
        |row: RowId, before: usize| rows[..before].iter().rposition(|other| *other == Some(row));
    let above = |(place, row): (usize, &Option<RowId>)| {
        let row = (*row)?;
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
    rows.iter().enumerate().map(above).collect()
}

/// What each entry gives without what entries below it give: their sum is no more than what the
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
    /// What it would give beside the others, in units of the metric.
    pub gain: u128,
}

/// The ledger of what is shown.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The entries, in order of their gains, the greatest first.
    pub lines: Vec<Line>,
    /// What they would give together, in units of the metric.
    pub gain: u128,
    /// Samples of all their paths, each once.
    pub covered: u64,
}

/// What the entries of the ledger are worth in what is shown.
pub fn ledger(notes: &Notes, refined: &Refined, tree: &mut TopDown) -> Ledger {
    let period = u128::from(refined.looked_at().period);
    let of =
        |(place, note): (usize, &Note)| note.entry.as_ref().map(|entry| (place, entry.estimate));
    let (places, estimates): (Vec<_>, Vec<_>) =
        notes.list.iter().enumerate().filter_map(of).unzip();
    let rows: Vec<_> =
        places.iter().map(|&place| notes.list[place].locate(refined, tree)).collect();
    let samples: Vec<_> =
        { rows.iter() }.map(|row| Some(tree.row((*row)?).of(refined.metric).inclusive)).collect();
    let cost: Vec<_> =
        samples.iter().map(|samples| u128::from(samples.unwrap_or(0)) * period).collect();
    let above = nearest_above(&rows, tree);
    let gains = gains(&above, &cost, &estimates);
    let outermost = samples.iter().zip(&above).filter(|(_, above)| above.is_none());
    let covered = outermost.filter_map(|(samples, _)| *samples).sum();
    let gain = gains.iter().sum();
    let line = |((place, samples), gain)| Line { place, samples, gain };
    let mut lines: Vec<_> = places.into_iter().zip(samples).zip(gains).map(line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse((line.gain, line.samples)));
    Ledger { lines, gain, covered }
}

#[cfg(test)]
#[path = "notes/tests.rs"]
mod tests;
