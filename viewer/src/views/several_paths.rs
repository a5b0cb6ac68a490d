//! What is known of ranks on several paths together.
//!
//! A row may stand for several paths, as where a function is called from two places, or was sampled
//! at several addresses, and a sum says of each how it is spread. On each path it is known what the
//! rank with most has, and the one with least; of any other one bounds follow from the sum and the
//! sum of squares. Added up for each rank, these bounds say what it has on all paths, and which
//! rank has most where it has more than any other one can have. A rank that a sum keeps apart has
//! nodes of its own: what it has is exact. Means are always exact.

use std::collections::BTreeMap;

use csprof_format::profile::RankSums;

use super::over_ranks::OfMetric;

/// What is added up for one metric.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// Samples of all ranks.
    sum: u64,
    paths: Vec<Path>,
}

/// A path, or what no path that is longer by one function has of it.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// How it is spread, where that is known.
    of: Option<RankSums>,
    /// The least and the greatest that a rank may have that is not named here.
    any: [u64; 2],
    /// The same of the rank with most, and of the one with least, where that has any.
    most: (u32, [u64; 2]),
    least: Option<(u32, [u64; 2])>,
}

impl Sums {
    pub(super) fn add(&mut self, of: &RankSums, ranks: u32) {
        if of.ranks == 0 {
            return;
        }
        self.sum = self.sum.saturating_add(of.sum);
        let least = Some((of.least_rank, [of.least; 2])).filter(|_| of.ranks >= ranks);
        let most = (of.most_rank, [of.most; 2]);
        self.paths.push(Path { of: Some(*of), any: others(of, ranks), most, least });
    }

    /// Adds what a path has that no path has that is longer by one function.
    pub(super) fn add_own(&mut self, of: &RankSums, longer: &[RankSums], ranks: u32) {
        let below = longer.iter().fold(0_u64, |sum, longer| sum.saturating_add(longer.sum));
        if below == 0 {
            return self.add(of, ranks);
        }
        let sum = of.sum.saturating_sub(below);
        if sum == 0 {
            return;
        }
        self.sum = self.sum.saturating_add(sum);
        // A rank has on the longer paths no more than the one that has most there.
        let most_below = longer.iter().fold(0_u64, |sum, longer| sum.saturating_add(longer.most));
        let own = |[low, high]: [u64; 2]| [low.saturating_sub(most_below), high.min(sum)];
        let most = (of.most_rank, own([of.most; 2]));
        let least = Some((of.least_rank, own([of.least; 2]))).filter(|_| of.ranks >= ranks);
        self.paths.push(Path { of: None, any: own(others(of, ranks)), most, least });
    }

    /// Whether all is known: of no path, or of one.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self.paths[..], [] | [Path { of: Some(_), .. }])
    }

    /// What is known of so many ranks, none of which has more than `cap`. Of some, that are kept
    /// apart, it is given what they have, ordered by rank.
    pub(super) fn finish(self, ranks: u32, kept: &[(u32, u64)], cap: u64) -> OfMetric {
        let Self { sum, paths } = &self;
        let none = OfMetric {
            ranks,
            sum: *sum,
            most: [0; 2],
            most_rank: None,
            least: [0; 2],
            least_rank: None,
            without: Some(ranks),
            squares: Some(0),
        };
        match &paths[..] {
            [] => none,
            [Path { of: Some(of), .. }] => {
                let is_everywhere = of.ranks >= ranks;
                OfMetric {
                    most: [of.most; 2],
                    most_rank: Some(of.most_rank),
                    least: [if is_everywhere { of.least } else { 0 }; 2],
                    least_rank: Some(of.least_rank).filter(|_| is_everywhere),
                    without: Some(ranks.saturating_sub(of.ranks)),
                    squares: Some(of.squares).filter(|&squares| squares < u64::MAX),
                    ..none
                }
            }
            _ => self.bounded(none, kept, cap),
        }
    }

    /// The same of several paths, or one of which only bounds are known.
    fn bounded(&self, none: OfMetric, kept: &[(u32, u64)], cap: u64) -> OfMetric {
        let Self { sum, paths } = self;
        let ranks = u64::from(none.ranks.max(1));
        let add = |[low, high]: [u64; 2], [less, more]: [u64; 2]| {
            [low.saturating_add(less), high.saturating_add(more)]
        };
        let any = paths.iter().fold([0; 2], |any, path| add(any, path.any));
        // Of each rank that is named: what it may have beside what any has.
        let mut named: BTreeMap<u32, [i128; 2]> = BTreeMap::new();
        for path in paths {
            let most = Some(path.most);
            // Where all have as much, the first is both.
            let least = path.least.filter(|(rank, _)| *rank != path.most.0);
            for (rank, own) in [most, least].into_iter().flatten() {
                let beside = named.entry(rank).or_default();
                for (end, beside) in beside.iter_mut().enumerate() {
                    *beside += i128::from(own[end]) - i128::from(path.any[end]);
                }
            }
        }
        let of_kept = kept.iter().fold(0_u64, |sum, (_, own)| sum.saturating_add(*own));
        let greatest = cap.min(sum.saturating_sub(of_kept));
        let mut bounds: BTreeMap<u32, [u64; 2]> = named
            .into_iter()
            .map(|(rank, beside)| {
                let end = |end: usize| {
                    let own = i128::from(any[end]) + beside[end];
                    u64::try_from(own.max(0)).unwrap_or(u64::MAX)
                };
                let high = end(1).min(greatest);
                (rank, [end(0).min(high), high])
            })
            .collect();
        bounds.extend(kept.iter().map(|&(rank, own)| (rank, [own; 2])));
        let others = Some([any[0], any[1].min(greatest)]).filter(|_| (bounds.len() as u64) < ranks);
        let all = || bounds.values().copied().chain(others);
        let ends = |end: usize| all().map(move |bounds| bounds[end]);
        let mut of = OfMetric {
            most: [
                ends(0).max().unwrap_or(0).max(sum.div_ceil(ranks)),
                ends(1).max().unwrap_or(0).min(*sum),
            ],
            least: [ends(0).min().unwrap_or(0), ends(1).min().unwrap_or(0).min(sum / ranks)],
            squares: None,
            without: None,
            ..none
        };
        // A rank has most if any other one has less; of equal ones the first is meant, which is not
        // known but where one is the first of all on each path.
        let beats_all = |rank: u32, beats: &dyn Fn([u64; 2]) -> bool| {
            let rivals = bounds.iter().filter(|(other, _)| **other != rank);
            rivals.map(|(_, own)| *own).chain(others).all(beats)
        };
        let first = bounds.iter().max_by_key(|(_, own)| own[0]);
        of.most_rank = first
            .filter(|&(&rank, own)| beats_all(rank, &|rival| rival[1] < own[0]))
            .map(|(rank, _)| *rank)
            .or_else(|| self.same(|path| path.of.map(|_| path.most.0)));
        let last = bounds.iter().min_by_key(|(_, own)| own[1]);
        of.least_rank = last
            .filter(|&(&rank, own)| beats_all(rank, &|rival| own[1] < rival[0]))
            .map(|(rank, _)| *rank)
            .or_else(|| self.same(|path| Some(path.of.and(path.least)?.0)));
        if let Some([low, high]) = of.most_rank.and_then(|rank| bounds.get(&rank)) {
            of.most = [of.most[0].max(*low), of.most[1].min(*high)];
        }
        if let Some([low, high]) = of.least_rank.and_then(|rank| bounds.get(&rank)) {
            of.least = [of.least[0].max(*low), of.least[1].min(*high)];
        }
        of.without = (of.least[0] > 0).then_some(0);
        of
    }

    /// The rank that is the same on all paths.
    fn same(&self, of: impl Fn(&Path) -> Option<u32>) -> Option<u32> {
        let rank = of(self.paths.first()?)?;
        self.paths.iter().all(|path| of(path) == Some(rank)).then_some(rank)
    }
}

/// The least and the greatest that a rank may have on a path on which it has not most, nor least of
/// all. Of n numbers with sum s and sum of squares q, none is farther from the mean than their
/// variance lets a single one be: |n x - s|² ≤ (n - 1) (n q - s²).
fn others(of: &RankSums, ranks: u32) -> [u64; 2] {
    let is_everywhere = of.ranks >= ranks;
    let least = if is_everywhere { of.least } else { 0 };
    let usual = [least, of.most.min(of.sum.saturating_sub(of.most))];
    let bounds = || {
        let mut n = u128::from(ranks).checked_sub(1)?;
        let mut s = of.sum.checked_sub(of.most)?;
        // Of greater squares it is known only that they are as great.
        let squares = Some(u128::from(of.squares)).filter(|_| of.squares < u64::MAX)?;
        let mut q = squares.checked_sub(u128::from(of.most).pow(2))?;
        if is_everywhere && of.least_rank != of.most_rank {
            n = n.checked_sub(1)?;
            s = s.checked_sub(of.least)?;
            q = q.checked_sub(u128::from(of.least).pow(2))?;
        }
        let s = u128::from(s);
        let variance = n.checked_mul(q)?.checked_sub(s.pow(2))?;
        let farthest = n.checked_sub(1)?.checked_mul(variance)?;
        let root = farthest.isqrt() + u128::from(farthest.isqrt().pow(2) < farthest);
        let low = s.saturating_sub(root).div_ceil(n);
        Some([u64::try_from(low).ok()?, u64::try_from((s + root) / n).ok()?])
    };
    let [low, high] = bounds().unwrap_or(usual);
    [low.max(usual[0]), high.min(usual[1])]
}
