//! When samples of several runs were taken: each by the clock of its own host.

use std::collections::BTreeSet;

use csprof_format::profile::{self as saved, SampleTime};

/// Lets times count from a moment that is earlier by so many nanoseconds. Those for which there is
/// no number then, in a made-up file, are dropped.
pub(super) fn shift(times: &mut Vec<SampleTime>, earlier_ns: u64) {
    times.retain_mut(|row| {
        let later = row.time_us.checked_add(earlier_ns / 1000);
        row.time_us = later.unwrap_or(0);
        later.is_some()
    });
}

/// Appends the times of a part, which began so much later; its first node and its metrics have
/// these numbers now.
pub(super) fn add(
    merged: &mut Vec<SampleTime>,
    mut times: Vec<SampleTime>,
    later_ns: u64,
    first_node: u32,
    metrics: &[u8],
) {
    shift(&mut times, later_ns);
    let known = merged.len();
    merged.extend(times.into_iter().map(|row| SampleTime {
        node: row.node + first_node,
        metric: metrics[usize::from(row.metric)],
        ..row
    }));
    // Rows of one node and time are ordered by their metrics, whose numbers are others now.
    let is_in_order =
        |rows: &[SampleTime]| rows.is_sorted_by(|a, b| a.node != b.node || a.place() < b.place());
    if !is_in_order(&merged[known..]) {
        merged[known..]
            .chunk_by_mut(|a, b| (a.time_us, a.node) == (b.time_us, b.node))
            .for_each(|rows| rows.sort_unstable());
    }
}

/// What is to be said where the times of a merged profile are of several clocks.
pub(super) fn several_clocks(merged: &saved::Profile) -> Option<String> {
    let hosts: BTreeSet<&str> = merged.runs.iter().map(|run| run.info.host.as_str()).collect();
    (hosts.len() > 1 && !merged.times.is_empty()).then(|| {
        let hosts: Vec<&str> = hosts.into_iter().collect();
        format!("the times of samples are by the clocks of {}, which may differ", hosts.join(", "))
    })
}
