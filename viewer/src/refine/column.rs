//! Columns that stages share: a stage stores only the columns that it changes.

use std::ops::Deref;
use std::sync::Arc;

/// One property of every node (or frame, or function): borrowed from the profile, or made by a
/// stage and shared by all later ones. Cloning copies a pointer.
#[derive(Debug)]
pub enum Column<'p, T> {
    /// As the profile has it.
    Loaded(&'p [T]),
    /// As a stage made it.
    Made(Arc<Vec<T>>),
}

impl<T> Clone for Column<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Loaded(values) => Self::Loaded(values),
            Self::Made(values) => Self::Made(Arc::clone(values)),
        }
    }
}

impl<T: Clone> Column<'_, T> {
    /// The values, to be changed: a copy of them if they are borrowed or shared.
    pub fn to_mut(&mut self) -> &mut [T] {
        if let Self::Loaded(values) = self {
            *self = values.to_vec().into();
        }
        match self {
            Self::Made(values) => Arc::make_mut(values).as_mut_slice(),
            Self::Loaded(_) => &mut [],
        }
    }
}

impl<T> Deref for Column<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Loaded(values) => values,
            Self::Made(values) => values,
        }
    }
}

impl<T> From<Vec<T>> for Column<'_, T> {
    fn from(values: Vec<T>) -> Self {
        Self::Made(Arc::new(values))
    }
}

impl<'c, T> IntoIterator for &'c Column<'_, T> {
    type Item = &'c T;
    type IntoIter = std::slice::Iter<'c, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
