//! Memory that the stages of one profile reuse, and tables that they add to.

use std::ops::Index;
use std::sync::Arc;

use crate::profile::{FrameRef, Home, Shared};

/// Buffers that the stages of one profile reuse: with those of its costs, the 16 bytes for each
/// node that one stage needs. They are freed with the last forest of the profile.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    /// Parents and other numbers of nodes.
    pub(crate) nodes: Home<u32>,
    /// Frames.
    pub(crate) frames: Home<FrameRef>,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { nodes: Home::new(1), frames: Home::new(1) }
    }
}

/// A table of the profile (frames, functions) with entries that stages added at its end.
#[derive(Debug)]
pub struct Table<T> {
    loaded: Shared<Vec<T>>,
    added: Arc<Vec<T>>,
}

impl<T> Clone for Table<T> {
    fn clone(&self) -> Self {
        Self { loaded: self.loaded.clone(), added: Arc::clone(&self.added) }
    }
}

impl<T> Table<T> {
    /// The table as the profile has it.
    pub(crate) fn loaded(entries: &Shared<Vec<T>>) -> Self {
        Self { loaded: entries.clone(), added: Arc::default() }
    }

    /// A table of new entries alone.
    pub(crate) fn made(entries: Vec<T>) -> Self {
        Self { loaded: Vec::new().into(), added: Arc::new(entries) }
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.loaded.len() + self.added.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of this number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&T> {
        match number.checked_sub(self.loaded.len()) {
            None => self.loaded.get(number),
            Some(number) => self.added.get(number),
        }
    }

    /// All entries by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + Clone {
        (0..self.len()).map(|number| &self[number])
    }
}

impl<T: Clone> Table<T> {
    /// Adds entries at the end; returns the number of the first.
    pub(crate) fn add(&mut self, entries: Vec<T>) -> u32 {
        let first = self.len();
        Arc::make_mut(&mut self.added).extend(entries);
        u32::try_from(first).unwrap_or(u32::MAX)
    }
}

impl<T: Clone + PartialEq> Table<T> {
    /// The number of an entry that stages may have added before, or add now.
    pub(crate) fn number_of(&mut self, entry: T) -> u32 {
        let known = self.added.iter().position(|known| *known == entry);
        match known {
            Some(position) => u32::try_from(self.loaded.len() + position).unwrap_or(u32::MAX),
            None => self.add(vec![entry]),
        }
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    fn index(&self, number: usize) -> &T {
        match number.checked_sub(self.loaded.len()) {
            None => &self.loaded[number],
            Some(number) => &self.added[number],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_table_stay() {
        let mut table = Table::loaded(&vec![5, 6].into());
        let before = table.clone();
        assert_eq!((table.number_of(7), table.number_of(8), table.number_of(7)), (2, 3, 2));
        assert_eq!(table.iter().copied().collect::<Vec<_>>(), [5, 6, 7, 8]);
        assert_eq!((before.len(), before.get(2), table[3]), (2, None, 8));
    }
}
