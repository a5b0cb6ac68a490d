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

    /// The same, which may fail and is then made another time.
    pub(crate) fn get_or_try_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.0.get() {
            Some(value) => Ok(value),
            None => {
                let value = make()?;
                Ok(self.0.get_or_init(|| value))
            }
        }
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
