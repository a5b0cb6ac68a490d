//! What is found out when it is first asked for.

use std::sync::{Arc, OnceLock};

/// A value that is made when it is first asked for, and shared by all clones.
#[derive(Debug)]
pub(crate) struct Lazy<T>(Arc<OnceLock<T>>);

impl<T> Lazy<T> {
    /// The value, made now if it is not there yet.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }

    /// The value, if it is there.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}
