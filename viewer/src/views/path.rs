//! What a row is, independent of the tree it is in.
//!
//! Row ids belong to one tree. A selection, an opened row or a bookmark must outlive it: after
//! every refinement there is a new tree, and a profile may be read anew. A [`Path`] names a row by
//! the functions from the root.

use std::hash::{Hash, Hasher};

use super::row::Row;
use super::tree::{Direction, RowId, RowTree};
use crate::profile::{FrameKind, FunctionKey, FunctionRef};
use crate::refine::Refined;

/// One row of a path.
#[derive(Clone, Debug)]
pub struct Step {
    /// The function, or the group that a refinement made.
    key: FunctionKey,
    /// How it is there.
    kind: FrameKind,
    /// Its number when the row was named: of several rows with one key it means that one.
    number: FunctionRef,
}

impl Step {
    /// What two profiles of a program have in common of it.
    fn lasting(&self) -> (FrameKind, &str, Option<&str>) {
        (self.kind, self.key.name(), self.key.module())
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.lasting() == other.lasting()
    }
}

impl Eq for Step {}

impl Hash for Step {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.lasting().hash(state);
    }
}

/// The rows from the root's child to a row; empty for the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The number of each step when it was named, by which rows with one key are told apart.
    pub fn numbers(&self) -> impl Iterator<Item = FunctionRef> {
        self.0.iter().map(|step| step.number)
    }
}

impl Step {
    /// What a row is, apart from where it is.
    #[must_use]
    pub fn of(refined: &Refined, row: &Row) -> Self {
        Self { key: refined.key(row.function), kind: row.kind, number: row.function }
    }

    /// A row of this key and kind; of several it means the one that is defined there, or of this
    /// number.
    #[must_use]
    pub const fn new(key: FunctionKey, kind: FrameKind, number: FunctionRef) -> Self {
        Self { key, kind, number }
    }

    /// The function, or the group that a refinement made.
    #[must_use]
    pub const fn key(&self) -> &FunctionKey {
        &self.key
    }

    /// How it is there.
    #[must_use]
    pub const fn kind(&self) -> FrameKind {
        self.kind
    }

    /// Its number when the row was named.
    #[must_use]
    pub const fn number(&self) -> FunctionRef {
        self.number
    }

    fn is(&self, refined: &Refined, row: &Row) -> bool {
        self.kind == row.kind && refined.is_function(row.function, &self.key)
    }

    /// The number of its function now, if it is there. O(functions) where it has another one.
    #[must_use]
    pub fn function(&self, refined: &Refined) -> Option<FunctionRef> {
        let is_it = |function: &FunctionRef| {
            function.index() < refined.functions.len()
                && refined.is_function(*function, &self.key)
                && (self.key.definition().is_none() || refined.is_meant(*function, &self.key))
        };
        Some(self.number).filter(is_it).or_else(|| refined.function_of(&self.key))
    }
}

impl<D: Direction> RowTree<D> {
    /// The path to a row.
    #[must_use]
    pub fn path(&self, refined: &Refined, id: RowId) -> Path {
        let mut steps = Vec::new();
        let mut at = id;
        while let Some(parent) = self.parent(at) {
            steps.push(Step::of(refined, self.row(at)));
            at = parent;
        }
        steps.reverse();
        Path(steps)
    }

    /// The child of a row that a step names.
    pub fn child(&mut self, refined: &Refined, id: RowId, step: &Step) -> Option<RowId> {
        self.children(refined, id);
        let children = self.opened_children(id).iter().copied();
        let named = children.filter(|&child| step.is(refined, self.row(child)));
        // Of equal ones the first.
        named.rev().max_by_key(|&child| {
            let function = self.row(child).function;
            let is_told = step.key.definition().is_some();
            (is_told && refined.is_meant(function, &step.key), function == step.number)
        })
    }

    /// The same, or else the first such row within loops that stand between the two.
    pub fn child_or_in_loop(&mut self, refined: &Refined, id: RowId, step: &Step) -> Option<RowId> {
        if let Some(child) = self.child(refined, id, step) {
            return Some(child);
        }
        if step.kind == FrameKind::Loop {
            return None;
        }
        let loops = |tree: &mut Self, id| {
            let children = tree.children(refined, id).to_vec();
            children
                .into_iter()
                .filter(|&child| tree.row(child).kind == FrameKind::Loop)
                .collect::<Vec<_>>()
        };
        let mut within = loops(self, id);
        let mut place = 0;
        while let Some(&at) = within.get(place) {
            if let Some(child) = self.child(refined, at, step) {
                return Some(child);
            }
            let inner = loops(self, at);
            within.extend(inner);
            place += 1;
        }
        None
    }

    /// The row at a path, or the nearest there is: steps that are gone (hidden, or above a new
    /// root) are passed over, and so are loops that have come between. The second value says
    /// whether every step was found.
    pub fn locate(&mut self, refined: &Refined, path: &Path) -> (RowId, bool) {
        let mut at = RowId::ROOT;
        let mut whole = true;
        for step in &path.0 {
            match self.child_or_in_loop(refined, at, step) {
                Some(child) => {
                    // A row within a loop may be a part of what was meant.
                    whole &= self.parent(child) == Some(at);
                    at = child;
                }
                None => whole = false,
            }
        }
        (at, whole)
    }
}
