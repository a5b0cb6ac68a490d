//! Columns that stages share: a stage stores only the columns that it changes.
//!
//! A stage takes a column over if nobody else has it, and edits it in place; otherwise it edits a
//! copy. Columns that are given up go back to the [`Workspace`] of their forest, and copies are
//! made there: what a large profile costs is mostly memory that the kernel has to hand out and
//! clear, page by page, and a viewer refines the same profile again and again.

use std::ops::{Deref, Index};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::profile::FrameRef;

/// One property of every node: borrowed from the profile, or made by a stage and shared by all
/// later ones. Cloning copies a pointer.
#[derive(Debug)]
pub struct Column<'p, T>(Values<'p, T>);

#[derive(Debug)]
enum Values<'p, T> {
    /// As the profile has it.
    Loaded(&'p [T]),
    /// As a stage made it.
    Made(Arc<Buffer<T>>),
}

/// Values that go back where they came from when nobody has them any more.
#[derive(Debug)]
struct Buffer<T> {
    values: Vec<T>,
    home: Option<Home<T>>,
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            home.give_back(std::mem::take(&mut self.values));
        }
    }
}

impl<'p, T> Column<'p, T> {
    /// The values as the profile has them.
    pub(crate) const fn loaded(values: &'p [T]) -> Self {
        Self(Values::Loaded(values))
    }

    /// Values that a stage made; they go home when nobody has the column any more.
    pub(crate) fn made(values: Vec<T>, home: &Home<T>) -> Self {
        Self(Values::Made(Arc::new(Buffer { values, home: Some(home.clone()) })))
    }

    /// The values, if nobody else has them.
    pub(crate) fn into_own(self) -> Result<Vec<T>, Self> {
        match self.0 {
            Values::Made(shared) => match Arc::try_unwrap(shared) {
                Ok(mut own) => Ok(std::mem::take(&mut own.values)),
                Err(shared) => Err(Self(Values::Made(shared))),
            },
            loaded @ Values::Loaded(_) => Err(Self(loaded)),
        }
    }

    /// The memory of this column, if nobody else has it, for as many other values.
    pub(crate) fn into_empty(self, home: &Home<T>) -> Vec<T> {
        let length = self.len();
        match self.into_own() {
            Ok(mut own) => {
                own.clear();
                own
            }
            Err(_) => home.empty(length),
        }
    }

    /// Memory that was allocated for the values, if a stage made them.
    pub(crate) fn bytes_made(&self) -> usize {
        match &self.0 {
            Values::Loaded(_) => 0,
            Values::Made(shared) => shared.values.capacity() * size_of::<T>(),
        }
    }

    /// Memory of the values, and what of it is the profile's.
    pub(crate) fn bytes(&self) -> [usize; 2] {
        match self.bytes_made() {
            0 => [size_of_val(&self[..]); 2],
            made => [made, 0],
        }
    }

    /// Whether both are one column, not only equal.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.as_ptr(), other.as_ptr()) && self.len() == other.len()
    }
}

impl<T: Copy> Column<'_, T> {
    /// The values, to be edited: these, if nobody else has them, or a copy.
    pub(crate) fn take(self, home: &Home<T>) -> Vec<T> {
        self.into_own().unwrap_or_else(|shared| home.copy_of(&shared))
    }
}

impl<T> Clone for Column<'_, T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Values::Loaded(values) => Values::Loaded(values),
            Values::Made(values) => Values::Made(Arc::clone(values)),
        })
    }
}

impl<T> Deref for Column<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Values::Loaded(values) => values,
            Values::Made(shared) => &shared.values,
        }
    }
}

impl<'p, T> From<&'p [T]> for Column<'p, T> {
    fn from(values: &'p [T]) -> Self {
        Self::loaded(values)
    }
}

impl<T> From<Vec<T>> for Column<'_, T> {
    fn from(values: Vec<T>) -> Self {
        Self(Values::Made(Arc::new(Buffer { values, home: None })))
    }
}

impl<'c, T> IntoIterator for &'c Column<'_, T> {
    type Item = &'c T;
    type IntoIter = std::slice::Iter<'c, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Where columns of one type come from and go to. Keeps up to `spare` of those that are free, the
/// latest ones: they are as long as the forests that are made now.
#[derive(Debug)]
pub(crate) struct Home<T> {
    free: Arc<Mutex<Vec<Vec<T>>>>,
    spare: usize,
}

impl<T> Clone for Home<T> {
    fn clone(&self) -> Self {
        Self { free: Arc::clone(&self.free), spare: self.spare }
    }
}

impl<T> Home<T> {
    pub(crate) fn new(spare: usize) -> Self {
        Self { free: Arc::default(), spare }
    }

    /// An empty vector with room for `length` values, and not for many more: a free one, if its
    /// size suits.
    pub(crate) fn empty(&self, length: usize) -> Vec<T> {
        let suits = |values: &Vec<T>| (length..=2 * length).contains(&values.capacity());
        let mut free = self.lock();
        let found = free.iter().rposition(suits).map(|place| free.remove(place));
        drop(free);
        found.unwrap_or_else(|| Vec::with_capacity(length))
    }

    pub(crate) fn give_back(&self, mut values: Vec<T>) {
        if values.capacity() == 0 || self.spare == 0 {
            return;
        }
        values.clear();
        let mut free = self.lock();
        let oldest = (free.len() == self.spare).then(|| free.remove(0));
        free.push(values);
        drop(free);
        // Only now: memory goes back to the kernel, which takes its time.
        drop(oldest);
    }

    /// The data are whole at every moment, so a panic elsewhere does not make them wrong.
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<T>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy> Home<T> {
    pub(crate) fn copy_of(&self, values: &[T]) -> Vec<T> {
        let mut copy = self.empty(values.len());
        copy.extend_from_slice(values);
        copy
    }
}

/// Memory that the stages of one profile use again and again: with that of its costs what one stage
/// needs, 16 bytes for each node. It is freed with the last forest made of the profile.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    /// Parents, and whatever else is a node's number.
    pub(crate) nodes: Home<u32>,
    /// Frames.
    pub(crate) frames: Home<FrameRef>,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { nodes: Home::new(1), frames: Home::new(1) }
    }
}

/// A table of the profile, frames or functions, and what stages added to it. Numbers of the
/// profile's entries stay what they are.
#[derive(Debug)]
pub struct Table<'p, T> {
    loaded: &'p [T],
    added: Arc<Vec<T>>,
}

impl<T> Clone for Table<'_, T> {
    fn clone(&self) -> Self {
        Self { loaded: self.loaded, added: Arc::clone(&self.added) }
    }
}

impl<'p, T> Table<'p, T> {
    /// The table as the profile has it.
    pub(crate) fn loaded(entries: &'p [T]) -> Self {
        Self { loaded: entries, added: Arc::default() }
    }

    /// A table of which nothing is the profile's.
    pub(crate) fn made(entries: Vec<T>) -> Self {
        Self { loaded: &[], added: Arc::new(entries) }
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

impl<T: Clone> Table<'_, T> {
    /// Adds entries at the end.
    pub(crate) fn add(&mut self, entries: Vec<T>) {
        Arc::make_mut(&mut self.added).extend(entries);
    }
}

impl<T: Clone + PartialEq> Table<'_, T> {
    /// The number of an entry that stages may have added before, or add now.
    pub(crate) fn number_of(&mut self, entry: T) -> u32 {
        let known = self.added.iter().position(|known| *known == entry);
        let position = known.unwrap_or_else(|| {
            Arc::make_mut(&mut self.added).push(entry);
            self.added.len() - 1
        });
        u32::try_from(self.loaded.len() + position).unwrap_or(u32::MAX)
    }
}

impl<T> Index<usize> for Table<'_, T> {
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
    fn what_is_given_up_is_used_again() {
        let home = Home::new(1);
        let column = Column::made(vec![1_u32, 2, 3], &home);
        let place = column.as_ptr();
        let shared = column.clone();
        assert_eq!(column.take(&home), [1, 2, 3]);
        let alone = shared.take(&home);
        assert_eq!(alone.as_ptr(), place, "nobody else had it");
        drop(Column::made(alone, &home));
        let again = home.empty(2);
        assert_eq!(again.as_ptr(), place, "it came home");
    }

    #[test]
    fn what_is_kept_is_what_came_last() {
        let home: Home<u32> = Home::new(2);
        for length in [10, 20, 40] {
            home.give_back(Vec::with_capacity(length));
        }
        let capacities = || home.lock().iter().map(Vec::capacity).collect::<Vec<_>>();
        assert_eq!(capacities(), [20, 40]);
        assert_eq!(home.empty(15).capacity(), 20, "it suits, whatever came after it");
        assert_eq!(capacities(), [40]);
    }

    #[test]
    fn numbers_of_a_table_stay() {
        let mut table = Table::loaded(&[5, 6]);
        let before = table.clone();
        assert_eq!((table.number_of(7), table.number_of(8), table.number_of(7)), (2, 3, 2));
        assert_eq!(table.iter().copied().collect::<Vec<_>>(), [5, 6, 7, 8]);
        assert_eq!((before.len(), before.get(2), table[3]), (2, None, 8));
    }
}
