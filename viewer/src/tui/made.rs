//! What a view wants to be made of the refined profile, by the worker where that is large.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::forest::{Forest, Unmade};
use crate::refine::{Refined, Watch};

type Maker = dyn Fn(&Refined, &Watch<'_>) -> Result<Made, Unmade> + Send + Sync;

/// Something to be made of a refined profile. Two are equal if the same is to be made.
#[derive(Clone)]
pub struct Wanted {
    /// A newer request of the same kind takes the place of an older one.
    pub kind: &'static str,
    /// What tells it from others of its kind.
    detail: String,
    maker: Arc<Maker>,
    /// Whether files are read for it, which may lie far away.
    pub reads_files: bool,
}

impl Wanted {
    /// Something of this kind, made in this way. O(nodes) mostly, so `maker` looks at its watch.
    pub fn new<F>(kind: &'static str, detail: String, maker: F) -> Self
    where
        F: Fn(&Refined, &Watch<'_>) -> Result<Made, Unmade>,
        F: Send + Sync + 'static,
    {
        Self { kind, detail, maker: Arc::new(maker), reads_files: false }
    }

    /// The same of something for which files are read: never while somebody waits for a key.
    #[must_use]
    pub fn reading_files(self) -> Self {
        Self { reads_files: true, ..self }
    }

    /// Makes it.
    ///
    /// # Errors
    /// It cannot be made of this profile, or the watch asked for the end.
    pub fn make(&self, refined: &Refined, watch: &Watch<'_>) -> Result<Made, Unmade> {
        (self.maker)(refined, watch)
    }
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.detail) == (other.kind, &other.detail)
    }
}

impl Eq for Wanted {}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.detail)
    }
}

/// What was made: a forest of its own, and parts, each for the view that knows its type.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Another forest than that which is shown.
    pub forest: Option<Box<Forest>>,
    parts: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Made {
    /// A forest.
    #[must_use]
    pub fn of_forest(forest: Forest) -> Self {
        Self { forest: Some(Box::new(forest)), parts: Vec::new() }
    }

    /// The same with another part.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, part: T) -> Self {
        self.parts.push(Arc::new(part));
        self
    }

    /// Takes the part of this type out.
    pub fn take<T: Any + Clone + Send + Sync>(&mut self) -> Option<T> {
        let at = self.parts.iter().position(|part| part.is::<T>())?;
        let part = self.parts.swap_remove(at).downcast().ok()?;
        Some(Arc::unwrap_or_clone(part))
    }

    /// The part of this type.
    #[cfg(test)]
    pub(in crate::tui) fn part<T: Any>(&self) -> Option<&T> {
        self.parts.iter().find_map(|part| part.downcast_ref())
    }
}
