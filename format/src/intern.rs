//! Tables in which every value stands once and is known by its number.

use core::borrow::Borrow;
use core::hash::Hash;
use core::marker::PhantomData;
use std::collections::HashMap;

/// Collects values and numbers them in the order in which they first came.
///
/// ```
/// use csprof_format::{ids::StringId, intern::Interner};
///
/// let mut strings = Interner::<String, StringId>::default();
/// assert_eq!(strings.intern("main"), StringId(0));
/// assert_eq!(strings.intern("memcpy"), StringId(1));
/// assert_eq!(strings.intern("main"), StringId(0));
/// assert_eq!(strings.into_table(), ["main", "memcpy"]);
/// ```
#[derive(Clone, Debug)]
pub struct Interner<T, I> {
    numbers: HashMap<T, u32>,
    id: PhantomData<I>,
}

impl<T, I> Default for Interner<T, I> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), id: PhantomData }
    }
}

impl<T: Eq + Hash, I: From<u32>> Interner<T, I> {
    /// The number of `value`, which is new if the value is.
    pub fn intern<Q>(&mut self, value: &Q) -> I
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(&number) = self.numbers.get(value) {
            return I::from(number);
        }
        // u32::MAX entries would need a terabyte; the writer refuses a table that long.
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(value.to_owned(), number);
        I::from(number)
    }

    /// How many different values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The values, each at the position of its number.
    #[must_use]
    pub fn into_table(self) -> Vec<T> {
        let mut numbered: Vec<(u32, T)> =
            self.numbers.into_iter().map(|(value, number)| (number, value)).collect();
        numbered.sort_unstable_by_key(|&(number, _)| number);
        numbered.into_iter().map(|(_, value)| value).collect()
    }
}
