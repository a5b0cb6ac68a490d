//! Sets of frames and of nodes, one bit each.

use crate::profile::Count;
use crate::refine::watch::{Cancelled, Watch, unwatched};

/// A set of numbers below a fixed length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    length: usize,
}

impl Bits {
    /// The empty set of numbers below `length`.
    pub(crate) fn none(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(64)], length }
    }

    /// The numbers below `length` that satisfy `test`, which is called once for each, in order.
    pub(crate) fn from_fn(length: usize, test: impl FnMut(usize) -> bool) -> Self {
        unwatched(|watch| Self::of_nodes(length, watch, test))
    }

    /// The nodes below `length` that satisfy `test`, as [`Self::from_fn`]; may be ended.
    pub(crate) fn of_nodes(
        length: usize,
        watch: &Watch<'_>,
        mut test: impl FnMut(usize) -> bool,
    ) -> Result<Self, Cancelled> {
        let mut words = Vec::with_capacity(length.div_ceil(64));
        watch.forward(0..length, |nodes| {
            // Stretches begin at whole words.
            let mut first = nodes.start;
            while first < nodes.end {
                let mut word = 0;
                for bit in 0..(nodes.end - first).min(64) {
                    word |= u64::from(test(first + bit)) << bit;
                }
                words.push(word);
                first += 64;
            }
        })?;
        Ok(Self { words, length })
    }

    /// Appends the counts of the nodes from `first` on, a multiple of 64: 0 for those that are not
    /// in the set.
    pub(crate) fn select<C: Count>(&self, first: usize, counts: &[C], selected: &mut Vec<C>) {
        for (word, counts) in self.words[first / 64..].iter().zip(counts.chunks(64)) {
            let counts = counts.iter().enumerate();
            selected.extend(counts.map(|(bit, count)| count.only_if(word >> bit & 1 == 1)));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Adds a number if so said; does the same work if not.
    pub(crate) fn insert_if(&mut self, number: usize, condition: bool) {
        self.words[number / 64] |= u64::from(condition) << (number % 64);
    }

    /// Adds all numbers of a range, which ends at the length at most.
    pub(crate) fn insert_range(&mut self, numbers: std::ops::Range<usize>) {
        let mut next = numbers.start;
        while next < numbers.end {
            let end = numbers.end.min((next / 64 + 1) * 64);
            self.words[next / 64] |= (u64::MAX >> (64 - (end - next))) << (next % 64);
            next = end;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    pub(crate) fn unite(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    pub(crate) fn intersect(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Turns the set into its complement.
    pub(crate) fn complement(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        if let (Some(last), tail @ 1..) = (self.words.last_mut(), self.length % 64) {
            *last &= (1 << tail) - 1;
        }
    }

    /// Calls `visit` for the numbers of a range that are in the set, ascending. The range begins
    /// and ends at multiples of 64, or at the length. Quicker than [`Self::iter`] where they are
    /// many.
    pub(crate) fn visit(&self, numbers: std::ops::Range<usize>, mut visit: impl FnMut(usize)) {
        let words = numbers.start / 64..numbers.end.div_ceil(64);
        for (index, &word) in words.clone().zip(&self.words[words]) {
            let mut word = word;
            while word != 0 {
                visit(index * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }

    /// The numbers in the set, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word| index * 64 + word.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn a_complement_stays_below_the_length() {
        let mut set = Bits::from_fn(70, |number| number % 3 == 0);
        assert!(set.contains(69) && !set.contains(68));
        set.complement();
        assert!(!set.contains(69) && set.contains(68));
        assert_eq!(set.iter().count(), 70 - 24);
        assert_eq!(set.iter().last(), Some(68));
    }

    #[test]
    fn stretches_together_are_visited_as_the_whole() {
        let set = Bits::from_fn(300, |number| number % 7 == 0 || (64..128).contains(&number));
        for stretch in [64, 128, 192, 300] {
            let mut visited = Vec::new();
            for start in (0..300).step_by(stretch) {
                set.visit(start..300.min(start + stretch), |number| visited.push(number));
            }
            assert_eq!(visited, set.iter().collect::<Vec<_>>(), "{stretch}");
        }
    }

    #[test]
    fn ranges_may_cross_words() {
        for (start, end) in
            [(0, 0), (3, 3), (0, 64), (5, 9), (60, 70), (64, 128), (1, 200), (199, 200)]
        {
            let mut set = Bits::none(200);
            set.insert_range(start..end);
            assert_eq!(set.iter().collect::<Vec<_>>(), (start..end).collect::<Vec<_>>());
        }
    }
}
