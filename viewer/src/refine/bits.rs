//! Sets of frames and of nodes, one bit each.

/// A set of numbers below a fixed length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    length: usize,
}

impl Bits {
    /// The empty set of numbers below `length`.
    pub(super) fn none(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(64)], length }
    }

    /// The numbers below `length` that satisfy `test`, which is called once for each, in order.
    pub(super) fn from_fn(length: usize, mut test: impl FnMut(usize) -> bool) -> Self {
        let mut set = Self::none(length);
        for (index, word) in set.words.iter_mut().enumerate() {
            let first = index * 64;
            for bit in 0..(length - first).min(64) {
                *word |= u64::from(test(first + bit)) << bit;
            }
        }
        set
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 == 1
    }

    pub(super) fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    pub(super) fn remove(&mut self, number: usize) {
        self.words[number / 64] &= !(1 << (number % 64));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(super) fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    pub(super) fn unite(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Turns the set into its complement.
    pub(super) fn complement(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        if let (Some(last), tail @ 1..) = (self.words.last_mut(), self.length % 64) {
            *last &= (1 << tail) - 1;
        }
    }

    /// The numbers in the set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
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
}
