//! Which metrics a run has, and which of its samples are whose.
//!
//! All processes of a run have the same sources asked of them, in the same order. What became of
//! them is said by each arena: one that the kernel refused fell back to another kind, or was
//! dropped where that kind was asked for anyway.

use csprof_format::arena::{ArenaHeader, ThreadRecord};
use csprof_format::launch::{
    Detail, Details, KernelEvent, Label, MAX_SOURCES, SampleSource, SampleSources, SourceKind,
};
use csprof_format::profile::{FurtherMetric, Metric, Profile, TOOK_TURNS, ThreadShare};

use super::arena_read::Arena;

/// The sources of a process; `None` if its arena does not say so.
pub(super) fn sources_of(header: &ArenaHeader) -> Option<SampleSources> {
    let mut sources = (0..MAX_SOURCES).map_while(|number| asked_of(header, number));
    SampleSources::one(sources.next()?).and(sources).ok()
}

pub(super) fn asked_of(header: &ArenaHeader, number: usize) -> Option<SampleSource> {
    let source = header.sources.get(number).filter(|_| number < header.source_count as usize)?;
    let kind = SourceKind::from_index(source.kind)?;
    let label = || Label::from_bytes(&source.label);
    let detail = match kind.properties().details {
        Details::None => Detail::None,
        Details::Label => Detail::Label(label()?),
        // What the kernel was asked for is known by its label.
        Details::Event => {
            let label = label()?;
            let (pmu, config, kernel, shows_kernel, precise) = (0, [0; 3], false, false, 0);
            Detail::Event(KernelEvent { label, pmu, config, kernel, shows_kernel, precise })
        }
    };
    (source.period > 0).then_some(SampleSource { kind, period: source.period, detail })
}

/// The metrics of a run.
pub(super) struct Metrics {
    sources: Vec<SampleSource>,
    /// The metric of each source, by number.
    of_source: [usize; MAX_SOURCES],
}

/// Counts by metric.
pub(super) type ByMetric = [u64; MAX_SOURCES];

impl Metrics {
    /// Those of the sources in use where all processes agree (a source that the kernel refused was
    /// replaced in all of them), else those that were asked for, and a warning.
    pub(super) fn of(asked: SampleSources, arenas: &[Arena], warnings: &mut Vec<String>) -> Self {
        let used = all_agreed(asked, arenas).unwrap_or_else(|| {
            let names: Vec<String> = asked.iter().map(|source| source.name().to_owned()).collect();
            let same = match names.len() {
                1 => "one sample source and period",
                _ => "the same sample sources and periods",
            };
            warnings.push(format!(
                "the processes of this run did not all use {same}; values are given as {}",
                names.join(", ")
            ));
            asked.iter().enumerate().collect()
        });
        let mut of_source = [0; MAX_SOURCES];
        for (metric, &(number, source)) in used.iter().enumerate() {
            of_source[number] = metric;
            warnings.extend(told_of_turns(number, source, arenas));
        }
        Self { sources: used.into_iter().map(|(_, source)| source).collect(), of_source }
    }

    /// Enters them into a profile that has no threads yet.
    pub(super) fn enter(&self, profile: &mut Profile) {
        let mut metrics = self.sources.iter().map(|source| Metric {
            source: source.name().into(),
            unit: unit_of(source).into(),
            period: source.period,
        });
        profile.metric = metrics.next().unwrap_or_default();
        profile.further =
            metrics.map(|metric| FurtherMetric { metric, ..FurtherMetric::default() }).collect();
    }

    /// The metric of a source, by their numbers. Samples of a source that there is not are the
    /// first metric's.
    pub(super) fn of_source(&self, source: usize) -> usize {
        self.of_source.get(source).copied().unwrap_or(0)
    }

    /// What each metric has of the counts of a thread, of which the trees hold `recorded` and which
    /// lost `lost` in all. The first one has what others do not have.
    pub(super) fn shares(
        &self,
        record: &ThreadRecord,
        recorded: &ByMetric,
        lost: u64,
    ) -> [ThreadShare; MAX_SOURCES] {
        let share =
            |recorded| ThreadShare { signals: 0, delivered: recorded, recorded, partial: 0 };
        let mut shares = recorded.map(share);
        let partial = record.partial.iter().fold(0u64, |sum, &count| sum.saturating_add(count));
        let (mut signals, mut lost, mut partial) = (record.signals, lost, partial);
        for (source, counts) in (1..).zip(&record.further) {
            let metric = self.of_source(source);
            if metric == 0 {
                continue;
            }
            let share = &mut shares[metric];
            share.signals = counts.signals.min(signals);
            signals -= share.signals;
            let taken = counts.delivered.saturating_sub(share.recorded).min(lost);
            share.delivered = share.delivered.saturating_add(taken);
            lost -= taken;
            share.partial = counts.partial.min(share.recorded).min(partial);
            partial -= share.partial;
        }
        let first = &mut shares[0];
        first.signals = signals;
        first.delivered = first.delivered.saturating_add(lost);
        first.partial = partial.min(first.recorded);
        shares
    }
}

/// What a metric is an amount of. Events with a name in the plural are called by it.
fn unit_of(source: &SampleSource) -> &str {
    match &source.detail {
        Detail::Event(event) if is_plural(event.label.as_str()) => event.label.as_str(),
        _ => source.kind.properties().unit.name(),
    }
}

/// Whether an event's name is a noun in the plural, such as `page-faults`: not a unit's with terms,
/// nor one with a modifier behind a colon.
fn is_plural(name: &str) -> bool {
    name.ends_with('s') && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// That the processor's events took turns: what an event was counted for is less than its threads
/// had it.
fn told_of_turns(number: usize, source: SampleSource, arenas: &[Arena]) -> Option<String> {
    let records = arenas.iter().filter_map(|arena| arena.header.sources.get(number));
    let (enabled_ns, running_ns) = records.fold((0u64, 0u64), |(enabled, running), record| {
        (
            enabled.saturating_add(record.enabled_ns),
            running.saturating_add(record.running_ns.min(record.enabled_ns)),
        )
    });
    let is_event = source.kind.properties().details == Details::Event;
    let share = running_ns as f64 / enabled_ns.max(1) as f64;
    // A few microseconds are lost where a thread begins.
    (is_event && enabled_ns > 0 && share < 0.995).then(|| {
        format!(
            "{}{TOOK_TURNS}{:.0} % of the time that its threads ran, for the processor has too few \
             counters: its samples are of that part, and not scaled, and no ready formula has them; \
             fewer events at a time get more",
            source.name(),
            100.0 * share
        )
    })
}

/// The sources in use, with the numbers under which they were asked for; `None` if the processes do
/// not agree.
fn all_agreed(asked: SampleSources, arenas: &[Arena]) -> Option<Vec<(usize, SampleSource)>> {
    let mut used = Vec::new();
    for (number, asked) in asked.iter().enumerate() {
        if let Some(source) = agreed(number, asked, arenas)? {
            used.push((number, source));
        }
    }
    // An arena may say anything, even that two sources are one.
    let mut sources = used.iter().map(|&(_, source)| source);
    SampleSources::one(sources.next()?).and(sources).ok()?;
    Some(used)
}

/// What a source was in all processes, `Some(None)` if it was dropped; `None` if they do not agree.
fn agreed(number: usize, asked: SampleSource, arenas: &[Arena]) -> Option<Option<SampleSource>> {
    let mut used = arenas.iter().map(|arena| {
        let is_dropped = arena.header.sources[number].dropped != 0;
        if is_dropped { Some(None) } else { asked_of(&arena.header, number).map(Some) }
    });
    let Some(first) = used.next() else { return Some(Some(asked)) };
    let first = first.filter(|_| used.all(|other| other == first))?;
    // It may have sampled threads before it was refused to another one.
    let mut threads = arenas.iter().flat_map(|arena| &arena.threads);
    let was_used = first.is_none() && threads.any(|thread| delivered(&thread.record, number) > 0);
    Some(first.or_else(|| was_used.then_some(asked)))
}

fn delivered(record: &ThreadRecord, source: usize) -> u64 {
    match source.checked_sub(1) {
        Some(further) => record.further[further].delivered,
        None => record
            .further
            .iter()
            .fold(record.delivered, |rest, share| rest.saturating_sub(share.delivered)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use csprof_format::address::{FrameKey, FrameKind};
    use csprof_format::arena::SourceRecord;
    use csprof_format::ids::ThreadId;
    use csprof_format::launch::SourceKind::{CpuTime, Realtime, TaskClock};
    use csprof_format::loss::PartialReason;
    use csprof_format::profile::RunInfo;
    use csprof_format::validate::validate;

    use super::*;
    use crate::launch::arena_bytes::{
        ArenaBytes, ThreadRow, call, epoch, leaf, leaf_of, load, root,
    };
    use crate::launch::arena_read::read;
    use crate::launch::gather::{Run, gather};
    use crate::launch::generated::NoFiles;
    use crate::launch::spawn::Naming;

    const KINDS: [(u32, u64, bool); 3] = [
        (CpuTime as u32, 5_000_000, false),
        (Realtime as u32, 2_000_000, false),
        (TaskClock as u32, 1_000_000, false),
    ];

    /// A process with samples of three sources at one place, of two at another.
    fn process(pid: u32) -> ArenaBytes {
        ArenaBytes::new(pid, 500, 9500)
            .sources(&KINDS)
            .log(&[epoch(0), load(0, "/bin/xz", 0x1000, 0x2000)])
            .thread(&ThreadRow {
                earlier: [0; 2],
                tid: pid,
                name: "xz",
                delivered: 41,
                recorded: 38,
                losses: &[2],
                partial: 5,
                // One more was delivered than lost and recorded: the process was killed.
                further: &[[14, 21, 20, 2], [8, 8, 7, 0]],
                nodes: &[
                    (root(0), 0, 0, 0),
                    (call(0x1500), 1, 0, 1),
                    (leaf_of(1, 0x1600), 2, 10, 3),
                    (leaf(0x1600), 2, 8, 2),
                    (leaf_of(2, 0x1600), 2, 7, 0),
                    (leaf_of(1, 0x1400), 2, 8, 1),
                    (FrameKey::new(FrameKind::Partial, PartialReason::BadStack as u64), 1, 0, 0),
                    (leaf_of(1, 0x1400), 7, 2, 0),
                    (leaf(0x1400), 7, 3, 0),
                ],
            })
    }

    fn gathered(asked: &str, arenas: &[ArenaBytes]) -> Profile {
        let sources = SampleSources::parse(asked).unwrap();
        let naming = Naming::default();
        let info = RunInfo::default();
        let (phases, boot) = Default::default();
        let run = Run { info, sources, start_ns: 400, pid: None, naming, phases, boot };
        let arenas = arenas.iter().map(read_of);
        let profile = gather(&run, arenas.collect(), &mut NoFiles);
        validate(&profile).unwrap();
        profile
    }

    fn read_of(arena: &ArenaBytes) -> Arena {
        read(&mut Cursor::new(&arena.bytes), arena.bytes.len() as u64).unwrap()
    }

    fn metrics(profile: &Profile) -> String {
        let metrics: Vec<String> = profile
            .metrics()
            .map(|metric| format!("{}:{}", metric.source, metric.period))
            .collect();
        metrics.join(" ")
    }

    const ASKED: &str = "cputime:5000000 realtime:2000000 task-clock:1000000";

    #[test]
    fn samples_of_all_sources_at_a_place_are_one_node() {
        let profile = gathered(ASKED, &[process(7)]);
        assert_eq!((metrics(&profile).as_str(), &profile.run.warnings[..]), (ASKED, &[][..]));
        // Root; partial, its leaf; caller, two leaves.
        assert_eq!(profile.nodes.samples, [0, 0, 5, 0, 8, 25]);
        assert_eq!(profile.nodes.edges, [0, 0, 0, 1, 1, 5]);
        assert_eq!(profile.further[0].samples, [(2, 2), (4, 8), (5, 10)]);
        assert_eq!(profile.further[1].samples, [(5, 7)]);
    }

    #[test]
    fn what_a_thread_counted_is_shared_out() {
        let profile = gathered(ASKED, &[process(7), process(8)]);
        for thread in [0, 1].map(ThreadId::from_index) {
            let all = &profile.threads[thread.index()];
            assert_eq!((all.delivered, all.recorded, all.losses.iter().sum::<u64>()), (41, 38, 3));
            let shares = [0, 1, 2].map(|metric| profile.share(thread, metric));
            let share = |signals, delivered, recorded, partial| ThreadShare {
                signals,
                delivered,
                recorded,
                partial,
            };
            assert_eq!(shares, [share(19, 12, 11, 3), share(14, 21, 20, 2), share(8, 8, 7, 0)]);
        }
    }

    #[test]
    fn a_source_that_all_processes_dropped_is_no_metric() {
        let mut kinds = KINDS;
        kinds[2].2 = true;
        let dropped = |pid| {
            ArenaBytes::new(pid, 500, 9500).sources(&kinds).log(&[epoch(0)]).thread(&ThreadRow {
                tid: pid,
                delivered: 5,
                recorded: 5,
                further: &[[3, 3, 3, 0], [0; 4]],
                nodes: &[(root(0), 0, 0, 0), (leaf(0x10), 1, 2, 0), (leaf_of(1, 0x10), 1, 3, 0)],
                ..ThreadRow::default()
            })
        };
        let profile = gathered(ASKED, &[dropped(7), dropped(8)]);
        assert_eq!(metrics(&profile), "cputime:5000000 realtime:2000000");
        assert!(profile.run.warnings.is_empty(), "{:?}", profile.run.warnings);
        // Where others have it, it stays.
        let profile = gathered(ASKED, &[dropped(7), process(8)]);
        assert_eq!(metrics(&profile), ASKED);
        assert_eq!(profile.run.warnings.len(), 1, "{:?}", profile.run.warnings);
    }

    #[test]
    fn the_first_source_may_be_dropped() {
        let kinds = [(TaskClock as u32, 1_000_000, true), KINDS[0], KINDS[1]];
        let arena = ArenaBytes::new(7, 500, 9500).sources(&kinds).log(&[epoch(0)]);
        let arena = arena.thread(&ThreadRow {
            tid: 7,
            delivered: 5,
            recorded: 5,
            further: &[[2, 2, 2, 0], [3, 3, 3, 0]],
            nodes: &[(root(0), 0, 0, 0), (leaf_of(1, 0x10), 1, 2, 0), (leaf_of(2, 0x10), 1, 3, 0)],
            ..ThreadRow::default()
        });
        let asked = "task-clock:1000000 cputime:5000000 realtime:2000000";
        let profile = gathered(asked, &[arena]);
        assert_eq!(metrics(&profile), "cputime:5000000 realtime:2000000");
        assert_eq!((profile.nodes.samples[1], &profile.further[0].samples[..]), (5, &[(1, 3)][..]));
        assert_eq!(profile.share(ThreadId::from_index(0), 0).delivered, 2);
    }

    #[test]
    fn a_replaced_source_is_what_it_was_replaced_by() {
        let kinds = [(CpuTime as u32, 1_000_000, false), KINDS[1]];
        let arena = ArenaBytes::new(7, 500, 9500).sources(&kinds);
        let profile = gathered("task-clock:1000000 realtime:2000000", &[arena]);
        assert_eq!(metrics(&profile), "cputime:1000000 realtime:2000000");
        assert!(profile.run.warnings.is_empty(), "{:?}", profile.run.warnings);
    }

    #[test]
    fn events_that_took_turns_are_told() {
        let told = |times: [[u64; 2]; 2]| {
            let mut profile = Profile::default();
            let arenas = times.map(|[enabled_ns, running_ns]| {
                let mut arena = read_of(&ArenaBytes::new(7, 500, 9500));
                arena.header.sources[0] = SourceRecord {
                    enabled_ns,
                    running_ns,
                    ..SourceRecord::of(SampleSource::parse(EVENT).unwrap())
                };
                arena
            });
            Metrics::of(SampleSources::parse(EVENT).unwrap(), &arenas, &mut profile.run.warnings);
            profile.run.warnings
        };
        const EVENT: &str = "event:10000:0.3.0.0.0.0:cache-misses";
        assert_eq!(told([[1000, 1000], [1000, 1000]]), [""; 0]);
        let turns = told([[1000, 1000], [3000, 1400]]);
        assert!(turns[0].starts_with("cache-misses was counted 60 % of the time"), "{turns:?}");
        // More than it had it for means nothing.
        assert_eq!(told([[0, 0], [5, u64::MAX]]), [""; 0]);
    }

    #[test]
    fn nonsense_in_an_arena_is_not_believed() {
        for kinds in
            [[(9, 1, false), (0, 0, false)], [(0, 5_000_000, false), (0, 5_000_000, false)]]
        {
            let arena = ArenaBytes::new(7, 500, 9500).sources(&kinds).log(&[epoch(0)]);
            let arena = arena.thread(&ThreadRow {
                tid: 7,
                delivered: 6,
                recorded: 6,
                further: &[[u64::MAX, u64::MAX, 9, u64::MAX], [7, 7, u64::MAX, 3]],
                nodes: &[
                    (root(0), 0, 0, 0),
                    (leaf_of(2, 0x10), 1, 2, 0),
                    (leaf_of(9, 0x10), 1, 4, 0),
                ],
                ..ThreadRow::default()
            });
            let profile = gathered("cputime:5000000 realtime:2000000", &[arena]);
            assert_eq!(metrics(&profile), "cputime:5000000 realtime:2000000");
            assert_eq!((profile.run.warnings.len(), profile.nodes.total_samples()), (1, 6));
        }
        let none = ArenaBytes::new(7, 500, 9500).sources(&[(0, 5_000_000, true)]);
        assert_eq!(metrics(&gathered("cputime:5000000", &[none])), "cputime:5000000");
    }
}
