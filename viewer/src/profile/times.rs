//! When samples were taken, in profiles that keep that (`--times`).

use csprof_format::profile::{self as saved, SampleTime};

/// When samples of a profile were taken. The times of some samples, or of all, may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    is_kept: bool,
    /// Nodes that have samples with a time, ascending.
    nodes: Vec<u32>,
    rows: Vec<TimedSamples>,
    /// For each metric the time between two samples that one signal stands for, in nanoseconds; 0
    /// if they are of one moment.
    apart_ns: Vec<u64>,
    end_ns: u64,
}

/// Samples that came with one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedSamples {
    /// When they came, in nanoseconds since the start of the run.
    pub time_ns: u64,
    /// Position of their node in [`Times::nodes`].
    pub place: u32,
    /// Number of samples.
    pub samples: u32,
    /// Number of their metric.
    pub metric: u8,
}

/// A part of the run: a half-open interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Its beginning, in nanoseconds since the start of the run.
    pub from_ns: u64,
    /// Its end; `None` for the end of the run.
    pub to_ns: Option<u64>,
}

impl Window {
    /// The intersection.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let to_ns = match (self.to_ns, other.to_ns) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self { from_ns: self.from_ns.max(other.from_ns), to_ns }
    }
}

impl Times {
    /// The times of a saved profile; `node_of` has the loaded node of each saved one.
    pub(crate) fn loaded(
        info: &saved::Profile,
        rows: &[SampleTime],
        node_of: impl Fn(u32) -> u32,
    ) -> Self {
        let mut nodes: Vec<u32> = rows.iter().map(|row| node_of(row.node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node| nodes.binary_search(&node).unwrap_or(0);
        let timed = rows.iter().map(|row| TimedSamples {
            time_ns: row.time_us.saturating_mul(1000),
            place: u32::try_from(place(node_of(row.node))).unwrap_or(u32::MAX),
            samples: row.samples,
            metric: row.metric,
        });
        let timed: Vec<TimedSamples> = timed.collect();
        // A wait has its samples, one for each period of it, when it is over.
        let apart = |metric: &saved::Metric| match metric.counts_waits() {
            true => metric.period,
            false => 0,
        };
        let last = timed.iter().map(|row| row.time_ns.saturating_add(1)).max().unwrap_or(0);
        Self {
            is_kept: !timed.is_empty(),
            nodes,
            rows: timed,
            apart_ns: info.metrics().map(apart).collect(),
            end_ns: last.max(info.run.duration_ns),
        }
    }

    /// Whether times were kept of any sample.
    #[must_use]
    pub fn are_kept(&self) -> bool {
        self.is_kept
    }

    /// Nodes that have samples with a time, ascending.
    #[must_use]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// All samples that have a time.
    #[must_use]
    pub fn rows(&self) -> &[TimedSamples] {
        &self.rows
    }

    /// The end of the run, in nanoseconds since its start: behind all samples.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// How many of the samples of `row` are of a part of the run.
    #[must_use]
    pub fn within(&self, row: &TimedSamples, window: Window) -> u64 {
        let samples = u64::from(row.samples);
        let apart = self.apart_ns.get(usize::from(row.metric)).copied().unwrap_or(0);
        if apart == 0 {
            let is_in = row.time_ns >= window.from_ns
                && window.to_ns.is_none_or(|to_ns| row.time_ns < to_ns);
            return if is_in { samples } else { 0 };
        }
        // Counted backwards from 0, sample n is of the time `time - n * apart`, or of the start of
        // the run if that is later.
        let not_before = |bound_ns: u64| match row.time_ns.checked_sub(bound_ns) {
            _ if bound_ns == 0 => samples,
            Some(until) => samples.min(until / apart + 1),
            None => 0,
        };
        let after = window.to_ns.map_or(0, not_before);
        not_before(window.from_ns).saturating_sub(after)
    }

    /// Samples that have a time.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.rows.iter().map(|row| u64::from(row.samples)).sum()
    }

    /// As if only this metric had been measured.
    pub(crate) fn project(&mut self, metric: usize) {
        self.rows.retain(|row| usize::from(row.metric) == metric);
        self.rows.iter_mut().for_each(|row| row.metric = 0);
        self.apart_ns = self.apart_ns.get(metric).copied().into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait of 40 ms that ended after 42 ms, one sample every 10 ms; and samples of CPU time that
    /// came at once.
    #[test]
    fn samples_are_where_they_were_due() {
        let times = Times { apart_ns: vec![0, 10], ..Times::default() };
        let row = |metric, samples, time_ns| TimedSamples { time_ns, place: 0, samples, metric };
        let within =
            |row: &TimedSamples, from_ns, to_ns| times.within(row, Window { from_ns, to_ns });
        let wait = row(1, 4, 42);
        for (from, to, samples) in [
            (0, None, 4),
            (0, Some(12), 0),
            (0, Some(13), 1),
            (12, Some(13), 1),
            (13, None, 3),
            (13, Some(33), 2),
            (42, None, 1),
            (43, None, 0),
            (0, Some(0), 0),
            (30, Some(20), 0),
        ] {
            assert_eq!(within(&wait, from, to), samples, "{from}..{to:?}");
        }
        let held_up = row(0, 4, 42);
        for (from, to, samples) in [(0, Some(42), 0), (42, Some(43), 4), (43, None, 0)] {
            assert_eq!(within(&held_up, from, to), samples, "{from}..{to:?}");
        }
        // More than the run was long.
        let long = row(1, 9, 42);
        assert_eq!((within(&long, 0, Some(1)), within(&long, 1, None)), (4, 5));
    }

    /// The parts of a run, put together, have all samples.
    #[test]
    fn parts_add_up() {
        let times = Times { apart_ns: vec![7], ..Times::default() };
        let metric = 0;
        for (time_ns, samples) in [(0, 1), (3, 5), (100, 20), (50, 3)] {
            let row = TimedSamples { time_ns, place: 0, samples, metric };
            for step in [1, 3, 7, 40] {
                let ends = (0..30).map(|number| number * step);
                let parts = ends.map(|at| Window { from_ns: at, to_ns: Some(at + step) });
                let rest = Window { from_ns: 30 * step, to_ns: None };
                let sum: u64 = parts.chain([rest]).map(|part| times.within(&row, part)).sum();
                assert_eq!(sum, u64::from(samples));
            }
        }
    }
}
