//! The sets of frames that a refinement can name.
//!
//! Those that csprof ships are [`Preset`]s; others are defined in files, and replace a shipped one
//! of the same name.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::preset::Preset;
use super::stage::{Refinement, Stage};
use super::syntax::NamedSet;

/// What is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File and line.
    pub place: String,
    /// The set, if its name could be read.
    pub name: Option<String>,
    /// What is wrong.
    pub cause: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(name) = &self.name {
            write!(f, "@{name}: ")?;
        }
        f.write_str(&self.cause)
    }
}

/// A refinement with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRefinement {
    /// The name, without `@`.
    pub name: String,
    /// File and line.
    pub place: String,
    /// What it stands for.
    pub refinement: Refinement,
}

/// The sets that a refinement can name: those of files, then the shipped ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    /// In order of name, once all are read.
    pub(crate) named: Vec<Arc<NamedSet>>,
    /// The place of each in `named`.
    pub(crate) place_of: HashMap<String, usize>,
    pub(crate) problems: Vec<Problem>,
    /// The first problem of each set that has one.
    pub(crate) broken: HashMap<String, usize>,
    /// The refinements that were saved, in order of name once all are read.
    pub(crate) refinements: Vec<SavedRefinement>,
    /// The problem of each refinement that cannot be used.
    pub(crate) broken_refinements: HashMap<String, usize>,
}

/// What a name means.
pub(crate) enum SetLookup<'s> {
    Shipped(Preset),
    Named(&'s Arc<NamedSet>),
    Broken(&'s Problem),
    Unknown,
}

/// What a name means where stages stand.
pub(crate) enum RefinementLookup<'s> {
    Saved(&'s [Stage]),
    Broken(&'s Problem),
    Unknown,
}

impl Sets {
    /// What is wrong with the definitions, in no particular order.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Adds what was found wrong with a place of definitions.
    pub fn add_problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The sets that were defined, by name.
    #[must_use]
    pub fn named(&self) -> &[Arc<NamedSet>] {
        &self.named
    }

    /// All names that can be used, without `@`: first those of files, then those of csprof.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let shipped = Preset::ALL.iter().map(|&(_, name, _)| name);
        let named = self.named.iter().map(|set| set.name.as_str());
        named.chain(shipped.filter(|name| !self.place_of.contains_key(*name)))
    }

    pub(crate) fn find(&self, name: &str) -> SetLookup<'_> {
        if let Some(&place) = self.place_of.get(name) {
            return SetLookup::Named(&self.named[place]);
        }
        if let Some(&place) = self.broken.get(name) {
            return SetLookup::Broken(&self.problems[place]);
        }
        let shipped = Preset::ALL.iter().find(|(_, known, _)| *known == name);
        shipped.map_or(SetLookup::Unknown, |&(preset, ..)| SetLookup::Shipped(preset))
    }

    /// The refinements that were saved, by name.
    #[must_use]
    pub fn refinements(&self) -> &[SavedRefinement] {
        &self.refinements
    }

    pub(crate) fn refinement(&self, name: &str) -> RefinementLookup<'_> {
        if let Some(saved) = self.refinements.iter().find(|saved| saved.name == name) {
            return RefinementLookup::Saved(&saved.refinement.stages);
        }
        match self.broken_refinements.get(name) {
            Some(&place) => RefinementLookup::Broken(&self.problems[place]),
            None => RefinementLookup::Unknown,
        }
    }
}
