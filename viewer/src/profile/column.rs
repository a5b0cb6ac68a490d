//! Columns of values that profiles, and the forests that are made of them, share.
//!
//! A column with one owner is edited in place, a shared one is copied first. Dropped columns return
//! their memory to their [`Home`], from which copies take it: most of the time for a large profile
//! goes into memory that the kernel hands out and clears page by page, and a viewer refines the
//! same profile again and again.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One property of every node, or of other things that are numbered. Cloning copies a pointer.
#[derive(Debug)]
pub struct Column<T>(Arc<Buffer<T>>);

/// Values, and the home to which their memory returns.
#[derive(Debug)]
struct Buffer<T> {
    values: Vec<T>,
    home: Option<Home<T>>,
    /// Whether they are a profile's own.
    is_of_profile: bool,
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            home.give_back(std::mem::take(&mut self.values));
        }
    }
}

impl<T> Column<T> {
    /// The values of a profile.
    pub(crate) fn of_profile(values: Vec<T>) -> Self {
        Self(Arc::new(Buffer { values, home: None, is_of_profile: true }))
    }

    /// Values that a stage made; their memory returns to `home` with the last owner.
    pub(crate) fn made(values: Vec<T>, home: &Home<T>) -> Self {
        let home = Some(home.clone());
        Self(Arc::new(Buffer { values, home, is_of_profile: false }))
    }

    /// The values, if this is the only owner.
    pub(crate) fn into_own(self) -> Result<Vec<T>, Self> {
        match Arc::try_unwrap(self.0) {
            Ok(mut own) => Ok(std::mem::take(&mut own.values)),
            Err(shared) => Err(Self(shared)),
        }
    }

    /// An empty vector for as many values, with the memory of this column if this is the only
    /// owner.
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
        if self.0.is_of_profile { 0 } else { self.0.values.capacity() * size_of::<T>() }
    }

    /// Bytes of the values, and how many of them are a profile's own.
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

impl<T: Copy> Column<T> {
    /// The values, to be edited: these, if this is the only owner, else a copy.
    pub(crate) fn take(self, home: &Home<T>) -> Vec<T> {
        self.into_own().unwrap_or_else(|shared| home.copy_of(&shared))
    }
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Eq> Eq for Column<T> {}

impl<T> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0.values
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Arc::new(Buffer { values, home: None, is_of_profile: false }))
    }
}

impl<'c, T> IntoIterator for &'c Column<T> {
    type Item = &'c T;
    type IntoIter = std::slice::Iter<'c, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Free memory for columns of one type. Keeps the `spare` latest ones, which are as long as current
/// forests.
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
        // After the lock is free, because the kernel takes long to take memory back.
        drop(oldest);
    }

    /// A poisoned lock is taken: no panic can leave the list half changed.
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
}
