//! Which lines of a file are taken, as far as their bytes find room.

use std::ops::RangeInclusive;

/// Lines that are taken. What stretches of them cost is known without visiting each line, however
/// many overlap.
#[derive(Debug)]
pub(super) struct Taken {
    /// The bytes of all lines before each.
    before: Vec<u64>,
    /// The same of the lines that are taken, as a Fenwick tree.
    taken: Vec<u64>,
    /// The next line from each on that is not taken, or one nearer to it; one more than there are.
    free: Vec<u32>,
}

impl Taken {
    /// None of the lines of these lengths, in bytes.
    pub(super) fn none_of(lengths: impl Iterator<Item = u64>) -> Self {
        let mut before = vec![0];
        before.extend(lengths.scan(0_u64, |sum, length| {
            *sum = sum.saturating_add(length);
            Some(*sum)
        }));
        let lines = before.len() - 1;
        let end = u32::try_from(lines).unwrap_or(u32::MAX - 1) + 1;
        Self { before, taken: vec![0; lines + 1], free: (0..=end).collect() }
    }

    /// Bytes of lines that are not taken yet. Their numbers begin at 1; O(log lines).
    pub(super) fn cost(&self, lines: &RangeInclusive<u32>) -> u64 {
        let (first, last) = (*lines.start() as usize, *lines.end() as usize);
        let free = self.before[last] - self.before[first - 1];
        free - (self.sum(last) - self.sum(first - 1))
    }

    /// Takes lines; O(log lines) for each that was not taken.
    pub(super) fn take(&mut self, lines: &RangeInclusive<u32>) {
        let mut line = self.next_free(*lines.start());
        while line <= *lines.end() {
            let length = self.before[line as usize] - self.before[line as usize - 1];
            let mut at = line as usize;
            while at < self.taken.len() {
                self.taken[at] += length;
                at += at & at.wrapping_neg();
            }
            self.free[line as usize] = line + 1;
            line = self.next_free(line + 1);
        }
    }

    /// The lines that are taken, in ascending order.
    pub(super) fn lines(&self) -> impl Iterator<Item = u32> {
        let of = (1..).zip(&self.free[1..self.before.len()]);
        of.filter(|(line, free)| line != *free).map(|(line, _)| line)
    }

    fn sum(&self, mut at: usize) -> u64 {
        let mut sum = 0;
        while at > 0 {
            sum += self.taken[at];
            at &= at - 1;
        }
        sum
    }

    fn next_free(&mut self, line: u32) -> u32 {
        let mut end = line;
        while self.free[end as usize] != end {
            end = self.free[end as usize];
        }
        let mut at = line;
        while at != end {
            at = std::mem::replace(&mut self.free[at as usize], end);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_overlap_cost_once() {
        let mut taken = Taken::none_of([1, 10, 100, 1000, 10_000].into_iter());
        assert_eq!(taken.cost(&(1..=5)), 11_111);
        taken.take(&(2..=3));
        assert_eq!((taken.cost(&(1..=5)), taken.cost(&(2..=3))), (11_001, 0));
        taken.take(&(1..=4));
        taken.take(&(1..=4));
        assert_eq!((taken.cost(&(1..=5)), taken.cost(&(5..=5))), (10_000, 10_000));
        assert_eq!(taken.lines().collect::<Vec<_>>(), [1, 2, 3, 4]);
        taken.take(&(5..=5));
        assert_eq!(taken.lines().count(), 5);
        assert_eq!(Taken::none_of(std::iter::empty()).lines().count(), 0);
    }
}
