//! When samples were taken: what is refused of it, and who passes it over.

use csprof_format::profile::{FurtherMetric, Metric, Profile, SampleTime, ThreadShare};
use csprof_format::read;
use csprof_format::validate::validate;

use crate::surgery::Parts;
use crate::{bytes, sample};

type Case = (fn(&mut Profile), &'static str);

#[test]
fn each_broken_invariant_of_times_is_named() {
    let cases: &[Case] = &[
        (|p| p.times[5].node = 15, "time 5 names node 15, but there are only 15"),
        (|p| p.times[0].node = u32::MAX, "time 0 names node 4294967295, but there are only 15"),
        // In one tree by time, then by node.
        (|p| p.times.swap(0, 1), "time 1 comes after one that belongs behind it"),
        (|p| p.times.swap(1, 2), "time 2 comes after one that belongs behind it"),
        (|p| p.times[3] = p.times[2], "time 3 comes after one that belongs behind it"),
        // Tree by tree.
        (|p| p.times.rotate_left(4), "time 2 comes after one that belongs behind it"),
        (|p| p.times.swap(3, 4), "time 4 comes after one that belongs behind it"),
        (
            |p| p.times[2].samples = 0,
            "time 2 is of no sample, or of more samples than its node has",
        ),
        (|p| p.times[2].metric = 1, "time 2 is of no sample, or of more samples than its node has"),
        // All of a node together.
        (
            |p| p.times[0].samples = 2,
            "time 0 is of no sample, or of more samples than its node has",
        ),
        (|p| p.times[2].node = 3, "time 2 comes after one that belongs behind it"),
        (|p| p.times[3].node = 3, "time 3 is of no sample, or of more samples than its node has"),
        (
            |p| p.times[4].samples = u32::MAX,
            "time 4 is of no sample, or of more samples than its node has",
        ),
    ];
    assert_eq!(validate(&sample::of_times()), Ok(()));
    for (change, message) in cases {
        let mut profile = sample::of_times();
        change(&mut profile);
        let violation = validate(&profile).expect_err(message);
        assert_eq!(violation.to_string(), *message);
    }
}

/// A node has samples of each metric, and times of no more.
#[test]
fn times_are_of_the_samples_of_their_metric() {
    let mut profile = sample::of_times();
    let share = ThreadShare { signals: 0, delivered: 3, recorded: 3, partial: 0 };
    let none = ThreadShare::default();
    profile.further = vec![FurtherMetric {
        metric: Metric { source: "realtime".into(), unit: "ns".into(), period: 1 },
        threads: vec![share, none, none],
        samples: vec![(6, 3)],
    }];
    // Node 6 has 137 of the first metric, and 3 of the other.
    profile.times[2].metric = 1;
    assert_eq!(validate(&profile), Ok(()));
    assert_eq!(read::read(&bytes(&profile)).expect("it is valid"), profile);
    profile.times[2].samples = 4;
    assert!(validate(&profile).is_err());
    profile.times[2] = SampleTime { metric: 0, samples: 137, ..profile.times[2] };
    assert!(validate(&profile).is_err(), "one more comes later");
    profile.times[2].samples = 136;
    assert_eq!(validate(&profile), Ok(()));
}

/// Bytes that no writer makes. Trees, rows, time, node, metric (two lists), samples (two lists).
#[test]
fn odd_columns_are_refused() {
    let read = |payload: &[u8]| {
        let mut parts = Parts::of(&bytes(&sample::of_times()));
        let block = parts.block(21);
        block.set_payload(payload);
        block.header[0x18..0x1c].copy_from_slice(&2_u32.to_le_bytes());
        read::read(&parts.join())
    };
    const GOOD: [u8; 16] = [1, 0, 1, 2, 2, 5, 5, 2, 4, 4, 0, 0, 1, 1, 1, 2];
    let times = read(&GOOD).expect("it is as a writer makes it").times;
    let time = |time_us, samples| SampleTime { time_us, node: 4, metric: 0, samples };
    assert_eq!(times, [time(5, 1), time(10, 3)]);
    let changed = |place: usize, byte: u8| {
        let mut payload = GOOD;
        payload[place] = byte;
        read(&payload).expect_err("it is refused").to_string()
    };
    for (place, byte, told) in [
        // A tree that there is not, no rows, too many and too few of them.
        (1, 3, "tree"),
        (3, 0, "tree"),
        (3, 3, "rows"),
        (3, 1, "rows"),
        // A node of the next tree.
        (8, 9, "node"),
        // More than there are rows.
        (13, 2, "samples"),
        // Twice the same.
        (6, 0, "belongs behind it"),
    ] {
        let error = changed(place, byte);
        assert!(error.contains(told), "{place}: {error}");
    }
    // Two parts of one tree in one block, and beyond the end of time.
    let twice: &[u8] = &[2, 0, 0, 2, 1, 1, 2, 5, 5, 2, 4, 4, 0, 0, 0, 0];
    assert!(read(twice).expect_err("it is refused").to_string().contains("tree"));
    let mut late = vec![1, 0, 1, 2, 2, 0xfd];
    late.extend(u64::MAX.to_le_bytes());
    late.extend([5, 2, 4, 4, 0, 0, 0, 0]);
    assert!(read(&late).expect_err("it is refused").to_string().contains("after"));
}

/// As a reader of an earlier version does, which does not know the kind.
#[test]
fn a_reader_that_does_not_know_times_reads_the_rest() {
    let mut parts = Parts::of(&bytes(&sample::of_times()));
    parts.block(21).header[0x04] = 200;
    assert_eq!(read::read(&parts.join()).expect("it can be skipped"), sample::profile());
}

/// Blocks are cut anywhere in a tree.
#[test]
fn many_times_come_back() {
    let mut profile = sample::of_times();
    profile.times = (0..70_000_u32)
        .map(|time| SampleTime { time_us: time.into(), node: 14, metric: 0, samples: 1 })
        .collect();
    let file = bytes(&profile);
    assert_eq!(read::read(&file).expect("it is valid"), profile);
    assert!(file.len() < bytes(&sample::profile()).len() + 70_000 / 50, "{}", file.len());
}
