//! Rows in words that outlive the viewer: what a table looks like, as text.
//!
//! Names stand once in a list, and rows name them by number. What comes back may have been written
//! by another version or by anybody, so every number is checked.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::table::{Look, Unfolded};
use crate::profile::derived::DerivedRef;
use crate::profile::{FrameKind, FunctionKey, FunctionRef, Profile};
use crate::views::columns::{Column, Id, Lines, Unit};
use crate::views::path::{Path, Step};
use crate::views::visible::OpenPaths;
use crate::views::{Cost, Sort};

/// Bytes that the names and rows of a screen may take; a table that would take more is not kept.
const MOST_BYTES: usize = 1 << 18;

/// Bytes of a row, about.
const BYTES_OF_ROW: usize = 16;

/// Functions by number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Names(Vec<(String, Option<String>)>);

/// What is written so far.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) names: Names,
    numbers: HashMap<FunctionKey, u32>,
    bytes: usize,
}

/// A row: its function among the names, its kind, and the number that tells it from others of one
/// name.
pub(super) type SavedStep = (u32, u8, u32);

/// What a table looks like.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedLook {
    sort: SavedSort,
    top: Vec<SavedStep>,
    open: Vec<(u32, SavedStep)>,
    /// Whether no chain is folded, and those that are not.
    unfolded: Option<(bool, Vec<Vec<SavedStep>>)>,
    hot: Vec<Vec<SavedStep>>,
    selected: Vec<SavedStep>,
    above: usize,
}

/// An order of rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedSort {
    id: Id,
    /// The sample source, where it is not the one that is looked at.
    metric: Option<String>,
    /// The derived metric, where it is one.
    #[serde(default)]
    derived: Option<String>,
    cost: Cost,
    reversed: bool,
}

impl SavedSort {
    fn of(sort: Sort, profile: &Profile) -> Self {
        let Column { id, metric, cost, derived } = sort.key;
        let source = |metric: crate::profile::MetricRef| {
            profile.metrics().nth(metric.index()).map(|(_, metric)| metric.source.clone())
        };
        let derived = profile.derived.get(derived.index());
        let derived = derived.filter(|_| id.definition().unit == Unit::Derived);
        let derived = derived.map(|derived| derived.name.clone());
        Self { id, metric: metric.and_then(source), derived, cost, reversed: sort.reversed }
    }

    /// The order; the usual one where this profile has no such column.
    fn read(&self, profile: &Profile) -> Sort {
        let Self { id, ref metric, ref derived, cost, reversed } = *self;
        let lines = if profile.comparison.is_some() { Lines::OfBoth } else { Lines::Functions };
        let metric = metric.as_deref().map(|source| profile.metric_named(source));
        let is_derived = id.definition().unit == Unit::Derived;
        let derived = match derived.as_deref().filter(|_| is_derived) {
            Some(name) => profile.derived_of(name),
            None => (!is_derived).then(DerivedRef::default),
        };
        match (metric.transpose(), derived) {
            (Ok(metric), Some(derived)) if id.definition().lines == lines => {
                Sort { key: Column { id, metric, cost, derived }, reversed }
            }
            _ => Sort::usual(Cost::Inclusive, profile),
        }
    }
}

impl Writer {
    /// A table in words; `None` if they are too many.
    pub(super) fn look(&mut self, look: &Look, profile: &Profile) -> Option<SavedLook> {
        let (top, open) = look.open.parts();
        // Before anything is made of what may be millions.
        if look.rows_besides(None) > MOST_BYTES / BYTES_OF_ROW {
            return None;
        }
        let saved = SavedLook {
            sort: SavedSort::of(look.sort, profile),
            top: self.path(top)?,
            open: { open.iter() }
                .map(|(above, step)| Some((*above, self.step(step)?)))
                .collect::<Option<_>>()?,
            unfolded: match &look.unfolded {
                Some(unfolded) => Some((unfolded.is_all, self.paths(&unfolded.first)?)),
                None => None,
            },
            hot: self.paths(&look.hot)?,
            selected: self.path(&look.selected)?,
            above: look.above,
        };
        Some(saved)
    }

    fn paths(&mut self, paths: &[Path]) -> Option<Vec<Vec<SavedStep>>> {
        paths.iter().map(|path| self.path(path)).collect()
    }

    pub(super) fn path(&mut self, path: &Path) -> Option<Vec<SavedStep>> {
        path.0.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Step) -> Option<SavedStep> {
        let Names(names) = &mut self.names;
        let key = step.key();
        let name = match self.numbers.get(key) {
            Some(&number) => number,
            None => {
                self.bytes += key.name().len() + key.module().map_or(0, str::len);
                if self.bytes > MOST_BYTES {
                    return None;
                }
                names.push((key.name().to_owned(), key.module().map(str::to_owned)));
                let number = u32::try_from(names.len() - 1).ok()?;
                self.numbers.insert(key.clone(), number);
                number
            }
        };
        self.bytes += BYTES_OF_ROW;
        (self.bytes <= MOST_BYTES).then_some((name, step.kind() as u8, step.number().0))
    }
}

/// Functions that rows name.
#[derive(Debug)]
pub(super) struct Reader(Vec<FunctionKey>);

impl Reader {
    pub(super) fn of(Names(names): &Names) -> Self {
        let key =
            |(name, module): &(String, Option<String>)| FunctionKey::named(name, module.as_deref());
        Self(names.iter().map(key).collect())
    }

    /// A table; `None` where its numbers say nothing.
    pub(super) fn look(&self, saved: &SavedLook, profile: &Profile) -> Option<Look> {
        let open = saved.open.iter().map(|(above, step)| Some((*above, self.step(step)?)));
        let unfolded = match &saved.unfolded {
            Some((is_all, first)) => {
                Some(Arc::new(Unfolded { is_all: *is_all, first: self.paths(first)? }))
            }
            None => None,
        };
        Some(Look {
            sort: saved.sort.read(profile),
            open: Arc::new(OpenPaths::new(self.path(&saved.top)?, open.collect::<Option<_>>()?)?),
            unfolded,
            hot: Arc::new(self.paths(&saved.hot)?),
            selected: self.path(&saved.selected)?,
            above: saved.above,
        })
    }

    fn paths(&self, paths: &[Vec<SavedStep>]) -> Option<Vec<Path>> {
        paths.iter().map(|path| self.path(path)).collect()
    }

    pub(super) fn path(&self, path: &[SavedStep]) -> Option<Path> {
        path.iter().map(|step| self.step(step)).collect::<Option<_>>().map(Path)
    }

    fn step(&self, &(name, kind, number): &SavedStep) -> Option<Step> {
        let kind = FrameKind::from_number(kind)?;
        Some(Step::new(self.0.get(name as usize)?.clone(), kind, FunctionRef(number)))
    }
}
