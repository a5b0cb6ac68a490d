//! Slices of time: parts of equal length of what is left of a run, and how many samples are of
//! each.

use crate::profile::{TimedSamples, Window};
use crate::refine::{Cancelled, Refined, Watch};

/// Slices at most, and a third of them or more: their length is a round number.
const MOST: u64 = 64;

/// Parts of one length, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// The length of each, in nanoseconds: 1, 2 or 5 and zeros.
    length_ns: u64,
    /// The first one is that with this number, counted from the start of the run.
    first: u64,
    /// How many there are.
    count: u64,
}

impl Slices {
    /// Those of a forest; `None` where it is not known when samples were taken.
    #[must_use]
    pub fn of(refined: &Refined) -> Option<Self> {
        let times = &refined.profile.times;
        if !times.are_kept() || !refined.has_times() {
            return None;
        }
        let Window { from_ns, to_ns } = refined.window();
        let end_ns = to_ns.map_or(times.end_ns(), |to_ns| to_ns.min(times.end_ns()));
        (from_ns < end_ns).then(|| Self::between(from_ns, end_ns))
    }

    fn between(from_ns: u64, end_ns: u64) -> Self {
        let of_length = |length_ns: u64| {
            let first = from_ns / length_ns;
            Self { length_ns, first, count: (end_ns - 1) / length_ns + 1 - first }
        };
        // Times are of microseconds.
        let decades = (3..19).map(|zeros| 10_u64.pow(zeros));
        let lengths =
            decades.flat_map(|decade| [1, 2, 5].map(|factor| decade.saturating_mul(factor)));
        let fits = |slices: &Self| slices.count <= MOST;
        lengths.map(of_length).find(fits).unwrap_or_else(|| of_length(u64::MAX))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        // A few.
        self.count as usize
    }

    /// Where one begins and ends, in nanoseconds since the start of the run.
    #[must_use]
    pub fn bounds(&self, slice: usize) -> (u64, u64) {
        let start = |number: u64| number.saturating_mul(self.length_ns);
        let number = self.first + slice as u64;
        (start(number), start(number + 1))
    }

    /// The slice that a time is in; the first or last one for what is outside of all.
    fn at(&self, time_ns: u64) -> usize {
        let number = (time_ns / self.length_ns).saturating_sub(self.first);
        number.min(self.count - 1) as usize
    }

    /// Calls `visit` for the slices that some samples are of, with how many.
    fn each(&self, refined: &Refined, row: &TimedSamples, mut visit: impl FnMut(usize, u64)) {
        let last = self.at(row.time_ns);
        let mut left = refined.within(row, Window::default());
        // Backwards: what came together came before.
        for slice in (0..=last).rev() {
            if left == 0 {
                return;
            }
            let (from_ns, to_ns) = self.bounds(slice);
            let to_ns = if slice + 1 == self.count() { None } else { Some(to_ns) };
            let found = refined.within(row, Window { from_ns, to_ns });
            if found > 0 {
                visit(slice, found);
            }
            left = left.saturating_sub(found);
        }
    }
}

/// Which samples of a node are those of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) inclusive: bool,
    pub(super) exclusive: bool,
}

/// Calls `visit` for samples of some nodes that have a time, and for each slice that they are of:
/// whose node they are, which slice, of which metric, how many.
///
/// # Errors
/// The watch asked for the end.
pub(super) fn in_slices(
    refined: &Refined,
    slices: &Slices,
    parts: &[Membership],
    watch: &Watch<'_>,
    mut visit: impl FnMut(Membership, usize, usize, u64),
) -> Result<(), Cancelled> {
    for (number, (node, row)) in refined.timed().enumerate() {
        if number.is_multiple_of(1 << 14) {
            watch.step(0)?;
        }
        let part = parts.get(node as usize).copied().unwrap_or_default();
        if part != Membership::default() {
            let metric = usize::from(row.metric);
            slices.each(refined, row, |slice, samples| visit(part, slice, metric, samples));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_few_and_round() {
        for (from, end, length, first, count) in [
            (0, 2_310_000_000, 50_000_000, 0, 47),
            (0, 1, 1000, 0, 1),
            (1_500_000_000, 1_600_000_000, 2_000_000, 750, 50),
            (0, u64::MAX, 500_000_000_000_000_000, 0, 37),
            (999, 64_001, 1000, 0, 65),
        ] {
            let slices = Slices::between(from, end);
            let expected = match count {
                65 => Slices { length_ns: 2000, first: 0, count: 33 },
                count => Slices { length_ns: length, first, count },
            };
            assert_eq!(slices, expected, "{from}..{end}");
            assert!(slices.bounds(0).0 <= from && slices.bounds(slices.count() - 1).1 >= end - 1);
        }
    }
}
