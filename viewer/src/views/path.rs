//! What a row is, independent of the tree it is in.
//!
//! Row ids belong to one tree. A selection, an opened row or a bookmark must outlive it: after
//! every refinement there is a new tree. A [`Path`] names a row by the functions from the root.

use super::row::Row;
use super::tree::{Direction, RowId, RowTree};
use crate::profile::{FrameKind, FunctionRef};
use crate::refine::Refined;

/// One row of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The function.
    pub subject: Subject,
    /// How it is there.
    pub kind: FrameKind,
}

/// A function, named so that every refinement of the same profile understands it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A function of the profile.
    Function(FunctionRef),
    /// A group that a refinement made, by name: its number depends on the other stages.
    Group(String),
}

/// The rows from the root's child to a row; empty for the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(pub Vec<Step>);

impl Step {
    /// What a row is, apart from where it is.
    #[must_use]
    pub fn of(refined: &Refined, row: &Row) -> Self {
        let function = row.function;
        let subject = if (function.0 as usize) < refined.profile.functions.len() {
            Subject::Function(function)
        } else {
            Subject::Group(refined.functions[function.0 as usize].name.clone())
        };
        Self { subject, kind: row.kind }
    }

    fn is(&self, refined: &Refined, row: &Row) -> bool {
        self.kind == row.kind
            && match &self.subject {
                Subject::Function(function) => *function == row.function,
                Subject::Group(name) => {
                    row.function.0 as usize >= refined.profile.functions.len()
                        && refined.functions[row.function.0 as usize].name == *name
                }
            }
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
        self.opened_children(id).iter().copied().find(|&child| step.is(refined, self.row(child)))
    }

    /// The row at a path, or the nearest there is: steps that are gone (hidden, or above a new
    /// root) are passed over. The second value says whether every step was found.
    pub fn locate(&mut self, refined: &Refined, path: &Path) -> (RowId, bool) {
        let mut at = RowId::ROOT;
        let mut whole = true;
        for step in &path.0 {
            match self.child(refined, at, step) {
                Some(child) => at = child,
                None => whole = false,
            }
        }
        (at, whole)
    }
}
