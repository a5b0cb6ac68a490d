//! Counts of samples and returns, one for each node: four bytes each wherever they fit.
//!
//! Refinement moves counts from node to node and adds them up, but never makes any. So what decides
//! is their sum: while it fits into 32 bits, every sum that a stage or a view may form of nodes of
//! which none is below another fits as well, and nothing has to be checked on the way. Runs of more
//! than four billion samples have wide columns. A made-up file may count on and on: beyond
//! [`MOST`], its counts are left out.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Sub};

use super::column::Column;

/// The greatest sum of a column. At a million samples a second, three hundred thousand years.
pub const MOST: u64 = i64::MAX as u64;

/// A width that counts are stored in.
pub trait Count:
    Copy
    + Debug
    + Default
    + Ord
    + Into<u64>
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// The greatest number; no sum of counts reaches it.
    const MAX: Self;
    /// One sample, or one return.
    const ONE: Self;

    /// The count, or 0; takes the same time whichever, also where it cannot be foreseen.
    #[must_use]
    fn only_if(self, condition: bool) -> Self;

    /// The count, or this number if it is less.
    #[must_use]
    fn at_most(self, most: u64) -> Self;

    /// The sum, or the greatest count, for what may add up to more than there is: upper bounds.
    #[must_use]
    fn up_to_most(self, other: Self) -> Self;
}

impl Count for u32 {
    const MAX: Self = Self::MAX;
    const ONE: Self = 1;

    fn only_if(self, condition: bool) -> Self {
        self * Self::from(condition)
    }

    fn at_most(self, most: u64) -> Self {
        Self::try_from(most).map_or(self, |most| self.min(most))
    }

    fn up_to_most(self, other: Self) -> Self {
        self.saturating_add(other).min(Self::MAX - 1)
    }
}

impl Count for u64 {
    const MAX: Self = Self::MAX;
    const ONE: Self = 1;

    fn only_if(self, condition: bool) -> Self {
        self * Self::from(condition)
    }

    fn at_most(self, most: u64) -> Self {
        self.min(most)
    }

    fn up_to_most(self, other: Self) -> Self {
        self.saturating_add(other).min(Self::MAX - 1)
    }
}

/// A column of counts, in the width that they need. Cloning copies a pointer.
#[derive(Clone, Debug)]
pub enum Counts {
    /// Their sum is less than `u32::MAX`, and so is every sum of some of them.
    Narrow(Column<u32>),
    /// Their sum is more.
    Wide(Column<u64>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Narrow(Column::default())
    }
}

impl Counts {
    /// The count of a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn at(&self, node: usize) -> u64 {
        match self {
            Self::Narrow(values) => values[node].into(),
            Self::Wide(values) => values[node],
        }
    }

    /// Number of counts.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All counts, by node.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.len()).map(|node| self.at(node))
    }

    /// Memory of the values, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Narrow(values) => size_of_val(&values[..]),
            Self::Wide(values) => size_of_val(&values[..]),
        }
    }

    /// Stores the counts as those of a profile that needs all 64 bits.
    #[cfg(test)]
    pub(crate) fn widen(&mut self) {
        *self = Self::Wide(Column::of_profile(self.iter().collect()));
    }
}

impl PartialEq for Counts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Counts {}

impl FromIterator<u64> for Counts {
    fn from_iter<I: IntoIterator<Item = u64>>(counts: I) -> Self {
        counts.into_iter().collect::<CountsBuilder>().finish()
    }
}

/// Counts to which counts are added.
#[derive(Clone, Debug, Default)]
pub struct CountsBuilder {
    values: Values,
    /// Of all values; never less, and at most [`MOST`].
    sum: u64,
}

#[derive(Clone, Debug)]
enum Values {
    /// Their sum is less than `u32::MAX`.
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl CountsBuilder {
    /// Makes room for so many counts.
    pub(super) fn reserve(&mut self, counts: usize) {
        match &mut self.values {
            Values::Narrow(values) => values.reserve(counts),
            Values::Wide(values) => values.reserve(counts),
        }
    }

    /// Appends a count, or what of it there is room for.
    #[inline]
    pub fn push(&mut self, count: u64) {
        let count = self.add(count);
        match &mut self.values {
            // It fits: the sum does.
            Values::Narrow(values) => values.push(count as u32),
            Values::Wide(values) => values.push(count),
        }
    }

    /// Replaces the count of a node, by as much as there is room for.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set(&mut self, node: usize, count: u64) {
        let count = self.add(count);
        match &mut self.values {
            Values::Narrow(values) => values[node] = count as u32,
            Values::Wide(values) => values[node] = count,
        }
    }

    /// Appends the counts of another column from a place on, or what of them there is room for.
    pub(super) fn append(&mut self, next: &Self, from: usize) {
        match (&mut self.values, &next.values) {
            (Values::Narrow(values), Values::Narrow(more))
                if self.sum + next.sum < u64::from(u32::MAX) =>
            {
                values.extend_from_slice(&more[from..]);
                self.sum += next.sum;
            }
            (_, Values::Narrow(more)) => self.extend(more[from..].iter().map(|&n| n.into())),
            (_, Values::Wide(more)) => self.extend(more[from..].iter().copied()),
        }
    }

    /// The count of a node.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn at(&self, node: usize) -> u64 {
        match &self.values {
            Values::Narrow(values) => values[node].into(),
            Values::Wide(values) => values[node],
        }
    }

    /// The column.
    #[must_use]
    pub fn finish(self) -> Counts {
        match self.values {
            Values::Narrow(values) => Counts::Narrow(Column::of_profile(values)),
            Values::Wide(values) => Counts::Wide(Column::of_profile(values)),
        }
    }

    /// Adds a count, or what of it there is room for, to the sum, and widens the column if the sum
    /// needs it.
    #[inline]
    fn add(&mut self, count: u64) -> u64 {
        let count = count.min(MOST - self.sum);
        self.sum += count;
        if self.sum >= u64::from(u32::MAX) {
            self.widen();
        }
        count
    }

    #[cold]
    fn widen(&mut self) {
        if let Values::Narrow(values) = &self.values {
            self.values = Values::Wide(values.iter().map(|&count| count.into()).collect());
        }
    }
}

impl Extend<u64> for CountsBuilder {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, counts: I) {
        counts.into_iter().for_each(|count| self.push(count));
    }
}

impl FromIterator<u64> for CountsBuilder {
    fn from_iter<I: IntoIterator<Item = u64>>(counts: I) -> Self {
        let mut column = Self::default();
        column.extend(counts);
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_wide_from_the_sum_on_that_needs_it() {
        let most = u64::from(u32::MAX) - 1;
        let mut counts: CountsBuilder = [most - 5, 5].into_iter().collect();
        counts.push(0);
        let narrow = counts.clone().finish();
        assert!(matches!(&narrow, Counts::Narrow(column) if column[1..] == [5, 0]));
        assert_eq!(narrow.bytes(), 12);
        counts.push(1);
        let wide = counts.clone().finish();
        assert_eq!(wide.bytes(), 32);
        assert_eq!(wide.iter().collect::<Vec<_>>(), [most - 5, 5, 0, 1]);
        counts.set(1, 1 << 50);
        assert_eq!((counts.at(1), counts.at(0)), (1 << 50, most - 5));
    }

    #[test]
    fn what_no_sum_can_hold_is_left_out() {
        let counts: Counts = [7, u64::MAX, u64::MAX, 1].into_iter().collect();
        assert_eq!(counts.iter().collect::<Vec<_>>(), [7, MOST - 7, 0, 0]);
    }

    #[test]
    fn equal_counts_are_equal_in_both_widths() {
        let narrow: Counts = [1, 2].into_iter().collect();
        let mut wide: CountsBuilder = [1, 1 << 50].into_iter().collect();
        assert_ne!(narrow, wide.clone().finish());
        wide.set(1, 2);
        assert_eq!(narrow, wide.finish());
    }
}
