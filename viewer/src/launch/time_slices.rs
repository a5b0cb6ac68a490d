//! Slices of a run by elapsed time (`record --slice`): phases that csprof begins, not the program.
//!
//! `csprof record` writes the number of the present slice to the control page, and beside it when
//! it began; each sample of any process is in the slice whose number it finds there. So a slice
//! costs the program nothing, and begins in all processes at once.
//!
//! A run of any length has few slices. Of the first [`MOST`] each has the length that was asked
//! for; from then on they are twice as long each time that their number would exceed that again.
//! Their ends are those of equal slices at any time: the ones before are joined in pairs when
//! arenas are gathered, by getting the same name, which makes them one phase.
//!
//! ```text
//! slices that began   |0|1|2|3|4|5|6|7|  8  |  9  | 10  | 11  |    12    | …      (MOST = 8)
//! after 8 lengths     |0|1|2|3|4|5|6|7|
//! after 16 lengths    |   |   |   |   |     |     |     |     |
//! ```

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::control::Control;
use super::run_dir::{RunDir, SLICES};
use super::{foreign_file, machine};

/// Slices of a run at most; a power of two.
const MOST: u64 = 256;

/// How long until a slice that could not be told of is tried again.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Most bytes of [`SLICES`] that are read: each slice that 64 bits of nanoseconds can have.
const MOST_BYTES: u64 = 1 << 20;

/// How often slices have been joined when so many lengths have passed.
fn joined(lengths: u64) -> u32 {
    lengths.checked_ilog2().map_or(0, |log| (log + 1).saturating_sub(MOST.ilog2()))
}

/// The number of the slice, from 1, that goes on when so many lengths have passed.
fn number_after(lengths: u64) -> u32 {
    let joined = joined(lengths);
    // Of each length there are half as many as at first, behind those that are shorter.
    let number = MOST / 2 * u64::from(joined) + (lengths >> joined) + 1;
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// After how many lengths the slice with this number, from 1, begins.
fn begin_of(number: u32) -> u64 {
    let place = u64::from(number.saturating_sub(1));
    let joined = (place / (MOST / 2)).saturating_sub(1);
    let within = place - MOST / 2 * joined;
    u32::try_from(joined).ok().and_then(|joined| within.checked_shl(joined)).unwrap_or(u64::MAX)
}

/// Begins the slices of a run, one after the other.
#[derive(Debug)]
pub(super) struct Slicer<'a> {
    control: &'a Control,
    begun: File,
    length_ns: u64,
    run_start_ns: u64,
    present: u32,
    /// Whether the one that is due could not be told of, and began not.
    has_failed: bool,
}

impl<'a> Slicer<'a> {
    /// The first one begins, before any process of the run.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub(super) fn begin(
        run_dir: &RunDir,
        control: &'a Control,
        length: Duration,
        run_start_ns: u64,
    ) -> Result<Self> {
        let path = run_dir.path().join(SLICES);
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX).max(1);
        let begin = || {
            let mut begun = OpenOptions::new().append(true).create_new(true).open(&path)?;
            begun.write_all(format!("{length_ns}\n").as_bytes())?;
            std::io::Result::Ok(begun)
        };
        let begun = begin().with_context(|| format!("{}: cannot be written", path.display()))?;
        let mut slicer =
            Self { control, begun, length_ns, run_start_ns, present: 0, has_failed: false };
        slicer.enter(1, run_start_ns)?;
        Ok(slicer)
    }

    fn elapsed_ns(&self) -> u64 {
        machine::monotonic_ns().saturating_sub(self.run_start_ns)
    }

    /// Begins the slice that is due, if it has not begun. One that cannot be told of does not: then
    /// the one before goes on.
    pub(super) fn step(&mut self) {
        let elapsed_ns = self.elapsed_ns();
        let number = number_after(elapsed_ns / self.length_ns);
        if number > self.present {
            let entered = self.enter(number, self.run_start_ns.saturating_add(elapsed_ns));
            self.has_failed = entered.is_err();
        }
    }

    /// How long until the next one begins.
    pub(super) fn next(&self) -> Duration {
        let begin_ns = begin_of(self.present.saturating_add(1)).saturating_mul(self.length_ns);
        let next = Duration::from_nanos(begin_ns.saturating_sub(self.elapsed_ns()));
        // There may be no room, and later some.
        if self.has_failed { next.max(AFTER_FAILURE) } else { next }
    }

    fn enter(&mut self, number: u32, now_ns: u64) -> Result<()> {
        // First what it is, then that samples are in it. A line of its own also behind one that
        // was cut off, for there was no room.
        self.begun.write_all(format!("\n{number} {now_ns}\n").as_bytes())?;
        self.control.begin_slice(number)?;
        self.present = number;
        Ok(())
    }
}

/// The slices of a run that began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeSlices {
    length_ns: u64,
    /// Number and beginning of each, `CLOCK_MONOTONIC`; ascending.
    begun: Vec<(u32, u64)>,
}

/// A phase of all processes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunPhase {
    /// The number that its samples have.
    pub(super) number: u32,
    /// Of a slice, from when to when it was, of the run: `3s..4s`. The same for those that are
    /// joined.
    pub(super) name: String,
    /// `CLOCK_MONOTONIC`.
    pub(super) start_ns: u64,
}

impl TimeSlices {
    /// Those that a run folder tells of; `None` if the run has none.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = foreign_file::read(folder, SLICES, MOST_BYTES).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let length_ns = lines.next()?.parse().ok().filter(|&length_ns| length_ns > 0)?;
        let mut begun: Vec<(u32, u64)> = Vec::new();
        for (number, time_ns) in lines.filter_map(|line| line.split_once(' ')) {
            let (Ok(number), Ok(time_ns)) = (number.parse(), time_ns.parse()) else { continue };
            // Numbers and times that were cut off are smaller than they were; a slice that could
            // not be told of is told of again.
            begun.pop_if(|before| before.0 == number && before.1 <= time_ns);
            if begun.last().is_none_or(|&before| before.0 < number && before.1 <= time_ns) {
                begun.push((number, time_ns));
            }
        }
        Some(Self { length_ns, begun })
    }

    /// What they are called when the run has gone on for so long. Names do not overlap: a slice
    /// that went on beyond its end, because whoever begins slices was held up or ended before the
    /// run, is joined with all that it reaches into.
    pub(super) fn named(&self, duration_ns: u64) -> Vec<RunPhase> {
        let last = self.begun.last().map_or(0, |&(number, _)| begin_of(number));
        let joined = joined(last);
        let ns = |cell: u64| cell.saturating_mul(1 << joined).saturating_mul(self.length_ns);
        let next = self.begun.iter().skip(1).map(Some).chain([None]);
        let run_start_ns = self.begun.first().map_or(0, |&(_, start_ns)| start_ns);
        let late_ns = LATE_NS.min(self.length_ns / 2);
        // Cells, as long as the longest slices, which each slice is in; those of joined ones meet.
        let mut spans: Vec<(u64, Option<u64>)> = Vec::new();
        let mut span_of = Vec::with_capacity(self.begun.len());
        for (&(number, _), next) in self.begun.iter().zip(next) {
            let first = begin_of(number) >> joined;
            let end = match next {
                Some(&(next, start_ns)) => {
                    let due = (begin_of(next).saturating_sub(1) >> joined) + 1;
                    // It may have begun in the middle of what its number stands for.
                    let went_on_ns = start_ns.saturating_sub(run_start_ns).saturating_sub(late_ns);
                    Some(due.max(went_on_ns.div_ceil(ns(1))))
                }
                None => {
                    Some(first + 1).filter(|&end| duration_ns <= ns(end).saturating_add(LATE_NS))
                }
            };
            match spans.last_mut() {
                Some((_, before)) if before.is_none_or(|before| before > first) => {
                    *before = before.zip(end).map(|(before, end)| before.max(end));
                }
                _ => spans.push((first, end)),
            }
            span_of.push(spans.len() - 1);
        }
        let named = self.begun.iter().zip(span_of).map(|(&(number, start_ns), span)| {
            let (first, end) = spans[span];
            RunPhase { number, name: name(ns(first), end.map(ns)), start_ns }
        });
        named.collect()
    }
}

/// How late the next slice may begin on a busy machine without a word; of short slices, half of
/// their length.
const LATE_NS: u64 = 500_000_000;

/// `3s..4s`, `0s..0.25s`, `3s..`: as `during` has it.
fn name(from_ns: u64, to_ns: Option<u64>) -> String {
    let text = |ns: u64| {
        let text = format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1000);
        format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
    };
    format!("{}..{}", text(from_ns), to_ns.map_or_else(String::new, text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::control::Begins;
    use super::*;

    #[test]
    fn numbers_follow_one_another_and_ends_are_those_of_longer_slices() {
        let mut before = 0;
        for lengths in 0..100 * MOST {
            let number = number_after(lengths);
            let (begin, end) = (begin_of(number), begin_of(number + 1));
            assert!((begin..end).contains(&lengths), "{lengths}: {begin}..{end}");
            assert!(number == before || number == before + 1 && begin == lengths);
            // It is a part of one slice whenever slices are joined later.
            let later = joined(lengths) + 3;
            assert_eq!(begin >> later, (end - 1) >> later);
            before = number;
        }
        // At any time there are as many as are told.
        let longest = |lengths: u64| (lengths >> joined(lengths)) + 1;
        assert_eq!(longest(MOST - 1), MOST);
        assert_eq!(longest(MOST), MOST / 2 + 1);
        // A week of seconds, and the longest run of the shortest slices.
        assert_eq!(number_after(604_800), 1684);
        assert!(number_after(u64::MAX / 10_000_000) < 5000);
        assert_eq!(begin_of(u32::MAX), u64::MAX);
    }

    fn names(text: &str, duration_ns: u64) -> Vec<String> {
        let slices = TimeSlices::parse(text).unwrap().named(duration_ns);
        slices.into_iter().map(|slice| slice.name).collect()
    }

    #[test]
    fn names_say_from_when_to_when() {
        let second = 1_000_000_000;
        let text = "1000000000\n1 70\n2 1000000071\n3 2000000000";
        assert_eq!(names(text, 3 * second), ["0s..1s", "1s..2s", "2s..3s"]);
        // The last one went on for longer than it was to.
        assert_eq!(names(text, 9 * second), ["0s..1s", "1s..2s", "2s.."]);
        // So did one in between, to the middle of what the next one's number stands for, or by less
        // than half a slice.
        let late = |ms: u64| format!("1000000000\n1 0\n5 {ms}000000");
        assert_eq!(names(&late(4900), 5 * second), ["0s..5s", "0s..5s"]);
        assert_eq!(names(&late(4500), 5 * second), ["0s..4s", "4s..5s"]);
        assert_eq!(names("250000000\n1 0\n4 780000000", second), ["0s..0.75s", "0.75s..1s"]);
        assert_eq!(names("10000000\n1 0\nx", 1), ["0s..0.01s"]);
        // Lines that were cut off, for there was no room: the next ones count.
        let cut = "1000000000\n\n1 70\n\n2 10000\n2 1000000071\n\n3\n3 2000000000\n\n4 ";
        assert_eq!(names(cut, 3 * second), ["0s..1s", "1s..2s", "2s..3s"]);
        let begun = TimeSlices::parse(cut).unwrap().begun;
        assert_eq!(begun, [(1, 70), (2, 1_000_000_071), (3, 2_000_000_000)]);
        assert_eq!(TimeSlices::parse("0\n1 0"), None);
        assert_eq!(TimeSlices::parse(""), None);
    }

    #[test]
    fn slices_of_a_long_run_are_joined_in_pairs() {
        let lines: String = (1..=MOST + 2).map(|number| format!("{number} {number}\n")).collect();
        let names = names(&format!("1000000000\n{lines}"), (MOST + 3) * 1_000_000_000);
        assert_eq!(names[..4], ["0s..2s", "0s..2s", "2s..4s", "2s..4s"]);
        assert_eq!(names[names.len() - 3..], ["254s..256s", "256s..258s", "258s..260s"]);
    }

    #[test]
    fn a_slice_that_went_on_for_too_long_is_joined_with_what_it_reaches_into() {
        let second = 1_000_000_000;
        // Slices of 2 s from the 256th second on; none began between seconds 5 and 9.
        let numbers = (1..=6).chain(10..=MOST + 2);
        let lines: String = numbers.map(|number| format!("{number} {number}\n")).collect();
        let names = names(&format!("{second}\n{lines}"), 260 * second);
        assert_eq!(names[2..8], ["2s..4s", "2s..4s", "4s..10s", "4s..10s", "4s..10s", "10s..12s"]);
    }

    #[test]
    fn names_do_not_overlap_whatever_has_held_slices_up() {
        let number = 1..3000_u32;
        proptest!(|(
            mut numbers in prop::collection::vec(number, 1..400),
            late in 0..9_u64,
            parts in prop::collection::vec(0..100_u64, 400),
        )| {
            numbers.sort_unstable();
            numbers.dedup();
            // Each begins somewhere in what its number stands for, the first one with the run.
            let begun = |(&number, part): (&u32, &u64)| {
                let (from, to) = (begin_of(number), begin_of(number + 1));
                let is_first = number == numbers[0];
                let ms = if is_first { 0 } else { from * 1000 + (to - from) * 10 * part };
                (number, ms * 1_000_000)
            };
            let begun: Vec<_> = numbers.iter().zip(&parts).map(begun).collect();
            let last = begin_of(numbers[numbers.len() - 1]);
            let slices = TimeSlices { length_ns: 1_000_000_000, begun };
            let named = slices.named((last + late) * 1_000_000_000);
            let mut spans: Vec<(u64, u64)> = Vec::new();
            for (slice, place) in named.iter().zip(1..) {
                let (from, to) = slice.name.split_once("..").unwrap();
                let seconds = |text: &str| text.strip_suffix('s').map(|text| text.parse().unwrap());
                let span = (seconds(from).unwrap(), seconds(to).unwrap_or(u64::MAX));
                // Samples of the slice are within its name: from its beginning to the next.
                let begins = begin_of(slice.number);
                let ends = numbers.get(place).map_or(begins + 1, |&next| begin_of(next));
                let next_ns = slices.begun.get(place).map_or(0, |&(_, start_ns)| start_ns);
                let most_ns = span.1.saturating_mul(1_000_000_000).saturating_add(500_000_000);
                prop_assert!(next_ns <= most_ns);
                prop_assert!(span.0 <= begins && ends <= span.1, "{}: {begins}..{ends}", slice.name);
                if spans.last() != Some(&span) {
                    prop_assert!(spans.last().is_none_or(|before| before.1 <= span.0));
                    spans.push(span);
                }
            }
            prop_assert!(spans.len() as u64 <= MOST);
        });
    }

    #[test]
    fn a_slice_that_cannot_be_told_of_is_tried_again_later() {
        let run_dir = RunDir::create().unwrap();
        let control = Control::create(&run_dir, Begins::Sampled).unwrap();
        let start_ns = machine::monotonic_ns();
        let length = Duration::from_millis(1);
        let mut slicer = Slicer::begin(&run_dir, &control, length, start_ns).unwrap();
        // Every write to it fails.
        let full = || OpenOptions::new().append(true).open("/dev/full").unwrap();
        let begun = std::mem::replace(&mut slicer.begun, full());
        std::thread::sleep(2 * length);
        slicer.step();
        assert_eq!((control.state().unwrap().phase, slicer.next()), (1, AFTER_FAILURE));
        slicer.begun = begun;
        slicer.step();
        // A run of milliseconds soon has longer slices.
        let own = begin_of(slicer.present + 1) - begin_of(slicer.present);
        let own = length * u32::try_from(own).unwrap();
        assert!(control.state().unwrap().phase > 1 && slicer.next() <= own);
        assert_eq!(TimeSlices::read(run_dir.path()).unwrap().begun.len(), 2);
    }

    #[test]
    fn slices_begin_when_they_are_due_and_are_found_in_the_folder() {
        let run_dir = RunDir::create().unwrap();
        let control = Control::create(&run_dir, Begins::Sampled).unwrap();
        let start_ns = machine::monotonic_ns();
        let hour = Duration::from_secs(3600);
        let mut slicer = Slicer::begin(&run_dir, &control, hour, start_ns).unwrap();
        slicer.step();
        assert!(slicer.next() > hour / 2);
        let begun = |run_dir: &RunDir| TimeSlices::read(run_dir.path()).unwrap().begun;
        assert_eq!(begun(&run_dir), [(1, start_ns)]);
        assert_eq!(control.state().unwrap().phase, 1);
        // As if the run had begun two hours ago.
        slicer.run_start_ns = start_ns.saturating_sub(7_200_000_000_000);
        if slicer.run_start_ns > 0 {
            slicer.step();
            assert_eq!(begun(&run_dir).last().map(|&(number, _)| number), Some(3));
            assert_eq!(control.state().unwrap().phase, 3);
        }
    }
}
