//! The environment contract between `csprof record` and the collector.
//!
//! The collector does nothing unless [`RUN_DIR`] is set. All variables are inherited by the
//! program's children, so every process of a run writes its arena into the same run folder, or
//! where that has no room left into the one on disk: `<RUN_DIR>/<pid>-<start time>.arena`. `record`
//! gathers them when the program has ended.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// Folder in which each process of the run creates its arena. Absolute path.
pub const RUN_DIR: &str = "CSPROF_RUN_DIR";
/// Name of a symbolic link in [`RUN_DIR`] whose text is the [`Shares`] of the run.
pub const SHARES: &str = "shares";
/// What triggers samples: see [`SampleSources`].
pub const SOURCE: &str = "CSPROF_SOURCE";
/// `1` turns the return trampoline off.
pub const NO_TRAMPOLINE: &str = "CSPROF_NO_TRAMPOLINE";
/// `1` begins an epoch at every load, the rule of the ICS'05 paper (section 2.5.1).
pub const EPOCH_PER_LOAD: &str = "CSPROF_EPOCH_PER_LOAD";
/// `1` calls paths through code generated at run time.
pub const GENERATED: &str = "CSPROF_GENERATED";
/// Most bytes that each process may take for its arena, in decimal; without it, no limit but the
/// file system's.
pub const MEMORY: &str = "CSPROF_MEMORY";
/// Most bytes that each process may take for the times of its samples, in decimal; without it, no
/// times are kept.
pub const TIMES: &str = "CSPROF_TIMES";
/// `1` keeps the collector's one-line messages off standard error.
pub const QUIET: &str = "CSPROF_QUIET";
/// The dynamic loader's list of libraries to load first; the collector is its first entry.
pub const LD_PRELOAD: &str = "LD_PRELOAD";

/// What a run may take of file systems that others need, too. It may be absent: then all there is.
///
/// As text: `33554432:8589934592:/var/tmp/csprof-spill-1-x3fQ9a/arenas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares<'t> {
    /// Bytes that stay free on the file system of [`RUN_DIR`].
    pub leave: u64,
    /// Bytes that stay free on the file system of the folder below.
    pub spill_leave: u64,
    /// Folder on a disk for processes that find no room in the first one. Absolute; empty if there
    /// is none.
    pub spill: &'t [u8],
}

impl<'t> Shares<'t> {
    /// Reads the text; `None` for anything else.
    #[must_use]
    pub fn parse(text: &'t [u8]) -> Option<Self> {
        let mut parts = text.splitn(3, |&byte| byte == b':');
        let mut number = || core::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let (leave, spill_leave) = (number()?, number()?);
        Some(Self { leave, spill_leave, spill: parts.next()? })
    }
}

/// Which clock or event triggers samples. What one is in particular, its [`Properties`] say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SourceKind {
    /// CPU time of the thread, by a POSIX timer on `CLOCK_THREAD_CPUTIME_ID`.
    CpuTime = 0,
    /// CPU time of the thread, by the kernel's software event `task-clock` (perf_event_open).
    TaskClock = 1,
    /// Elapsed time, by a POSIX timer on `CLOCK_MONOTONIC`; sees blocked threads.
    Realtime = 2,
    /// Calls of sched_yield(2), by a wrapper.
    Yields = 3,
}

/// What a source is. Nothing else tells sources apart, but for the collector's file that opens
/// those of one [`Trigger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The name used on the command line, in the environment and in files.
    pub name: &'static str,
    /// What a period is an amount of.
    pub unit: Unit,
    /// The period if none is asked for.
    pub default_period: u64,
    /// What triggers its samples.
    pub trigger: Trigger,
    /// Whether it counts while the thread waits.
    pub counts_waits: bool,
    /// Whether a sample may come in the middle of a wait, which ends by it.
    pub interrupts_waits: Interrupts,
    /// What is sampled where the kernel refuses it, with the same period.
    pub instead: Option<SourceKind>,
    /// Whether help and errors name it.
    pub is_offered: bool,
}

/// What a source counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Calls of a function.
    Calls,
}

impl Unit {
    /// The name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Calls => "calls",
        }
    }

    /// The periods that a source of this unit may have.
    #[must_use]
    pub const fn periods(self) -> RangeInclusive<u64> {
        match self {
            Self::Nanoseconds => MIN_PERIOD..=MAX_PERIOD,
            Self::Calls => 1..=MAX_PERIOD,
        }
    }
}

/// What triggers the samples of a source, and when they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A timer: SIGPROF, at the kernel's tick where it is on CPU time.
    Timer,
    /// An event of the kernel's: SIGTRAP if the program lends it, else SIGPROF.
    Event,
    /// A call that the program makes: synchronous, without a signal.
    Call,
}

/// When the samples of a source end waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// At no time.
    Never,
    /// Where they come by SIGPROF.
    BySigprof,
    /// Wherever they meet one.
    Always,
}

const CPU_TIME: Properties = Properties {
    name: "cputime",
    unit: Unit::Nanoseconds,
    default_period: 5_000_000,
    trigger: Trigger::Timer,
    counts_waits: false,
    interrupts_waits: Interrupts::Never,
    instead: None,
    is_offered: true,
};

const TASK_CLOCK: Properties = Properties {
    name: "task-clock",
    unit: Unit::Nanoseconds,
    default_period: 1_000_000,
    trigger: Trigger::Event,
    counts_waits: false,
    interrupts_waits: Interrupts::BySigprof,
    instead: Some(SourceKind::CpuTime),
    is_offered: true,
};

const REALTIME: Properties = Properties {
    name: "realtime",
    unit: Unit::Nanoseconds,
    default_period: 5_000_000,
    trigger: Trigger::Timer,
    counts_waits: true,
    interrupts_waits: Interrupts::Always,
    instead: None,
    is_offered: true,
};

const YIELDS: Properties = Properties {
    name: "yields",
    unit: Unit::Calls,
    default_period: 1_000,
    trigger: Trigger::Call,
    counts_waits: false,
    interrupts_waits: Interrupts::Never,
    instead: None,
    is_offered: false,
};

impl SourceKind {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// All sources, by number, which is the order in which help lists those that are offered.
    pub const ALL: [Self; Self::COUNT] =
        [Self::CpuTime, Self::TaskClock, Self::Realtime, Self::Yields];

    /// How many of them send signals.
    pub const SENDERS: usize = {
        let (mut number, mut senders) = (0, 0);
        while number < Self::COUNT {
            let is_sender = !matches!(Self::ALL[number].properties().trigger, Trigger::Call);
            senders += is_sender as usize;
            number += 1;
        }
        senders
    };

    /// What it is.
    #[must_use]
    #[inline]
    pub const fn properties(self) -> &'static Properties {
        match self {
            Self::CpuTime => &CPU_TIME,
            Self::TaskClock => &TASK_CLOCK,
            Self::Realtime => &REALTIME,
            Self::Yields => &YIELDS,
        }
    }

    /// The name used on the command line, in the environment and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// The source with this number, if there is one.
    #[must_use]
    pub fn from_index(index: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == index)
    }
}

/// A sample source and its period.
///
/// In the environment: `cputime:5000000`, the name and the period in the source's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSource {
    /// What is measured.
    pub kind: SourceKind,
    /// What one sample stands for, in the unit of the source: one of its [`Unit::periods`].
    pub period: u64,
}

/// Shortest period of time: 100 000 samples per second.
pub const MIN_PERIOD: u64 = 10_000;
/// Longest period, in any unit: of time, one sample in ten seconds.
pub const MAX_PERIOD: u64 = 10_000_000_000;

impl SampleSource {
    /// The default of `csprof record`: CPU time, 200 samples per second and thread.
    pub const DEFAULT: Self = Self::of(SourceKind::CpuTime);

    /// With the period that is taken where none is asked for.
    #[must_use]
    pub const fn of(kind: SourceKind) -> Self {
        Self { kind, period: kind.properties().default_period }
    }

    /// The time that so many samples stand for, in nanoseconds; `None` if it is not time that is
    /// sampled.
    #[must_use]
    #[inline]
    pub const fn time_ns(self, samples: u64) -> Option<u64> {
        match self.kind.properties().unit {
            Unit::Nanoseconds => Some(samples.saturating_mul(self.period)),
            Unit::Calls => None,
        }
    }

    /// Reads the form used in the environment. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, period) = text.split_once(':')?;
        let kind = SourceKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        let period = period.parse().ok()?;
        kind.properties().unit.periods().contains(&period).then_some(Self { kind, period })
    }
}

impl core::fmt::Display for SampleSource {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.period)
    }
}

/// Most sources of a run: what an [arena](crate::arena) has room for.
pub const MAX_SOURCES: usize = 16;

// Where there are more kinds, `SampleSources::and` has a second error: no place.
const _: () = assert!(SourceKind::ALL.len() <= MAX_SOURCES);

/// The sources of a run, each of a kind of its own. Their numbers, from 0, are those of the run's
/// metrics.
///
/// In the environment: `cputime:5000000,realtime:5000000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSources {
    first: SampleSource,
    further: [Option<SampleSource>; MAX_SOURCES - 1],
}

impl SampleSources {
    /// The default of `csprof record`.
    pub const DEFAULT: Self = Self::one(SampleSource::DEFAULT);

    /// A single source.
    #[must_use]
    pub const fn one(source: SampleSource) -> Self {
        Self { first: source, further: [None; MAX_SOURCES - 1] }
    }

    /// With further ones, in this order.
    ///
    /// # Errors
    ///
    /// The first kind that comes a second time.
    pub fn and(
        mut self,
        further: impl IntoIterator<Item = SampleSource>,
    ) -> Result<Self, SourceKind> {
        for source in further {
            let is_new = !self.has(source.kind);
            match self.further.iter_mut().find(|place| place.is_none()) {
                Some(place) if is_new => *place = Some(source),
                _ => return Err(source.kind),
            }
        }
        Ok(self)
    }

    /// Reads the form used in the environment. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let sources: Option<Vec<_>> = text.split(',').map(SampleSource::parse).collect();
        let sources = sources?;
        let (&first, further) = sources.split_first()?;
        Self::one(first).and(further.iter().copied()).ok()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = SampleSource> {
        let further = self.further.into_iter().flatten();
        core::iter::once(self.first).chain(further)
    }

    /// The one with this number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<SampleSource> {
        match number.checked_sub(1) {
            None => Some(self.first),
            Some(further) => self.further.get(further).copied().flatten(),
        }
    }

    /// Whether there is one of this kind.
    #[must_use]
    pub fn has(&self, kind: SourceKind) -> bool {
        self.iter().any(|source| source.kind == kind)
    }
}

impl core::fmt::Display for SampleSources {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.first)?;
        self.further.iter().flatten().try_for_each(|source| write!(f, ",{source}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_survives_the_environment() {
        for kind in SourceKind::ALL {
            let source = SampleSource { kind, period: 1_000_000 };
            assert_eq!(SampleSource::parse(&source.to_string()), Some(source));
            assert_eq!(SourceKind::from_index(kind as u32), Some(kind));
        }
    }

    #[test]
    fn several_sources_survive_the_environment_in_their_order() {
        for text in [
            "cputime:5000000",
            "realtime:5000000,cputime:5000000",
            "task-clock:1000000,realtime:5000000,cputime:10000000000",
        ] {
            let sources = SampleSources::parse(text).expect(text);
            assert_eq!(sources.to_string(), text);
            assert_eq!(sources.get(0), sources.iter().next());
            assert_eq!(sources.get(sources.iter().count()), None);
        }
        for text in ["", "cputime:5000000,", "cputime:5000000,cputime:1000000"] {
            assert_eq!(SampleSources::parse(text), None, "{text}");
        }
    }

    #[test]
    fn shares_are_read_from_their_text() {
        let shares = Shares { leave: 32, spill_leave: 64, spill: b"/a:b" };
        assert_eq!(Shares::parse(b"32:64:/a:b"), Some(shares));
        for text in [&b""[..], b"32:64", b"32:x:/a", b":64:/a"] {
            assert_eq!(Shares::parse(text), None);
        }
    }

    #[test]
    fn nonsense_is_no_source() {
        for text in ["", "cputime", "cputime:", "cputime:0", "sundial:5000000", "cputime:-1"] {
            assert_eq!(SampleSource::parse(text), None, "{text}");
        }
    }

    #[test]
    fn calls_are_no_time() {
        let each = SampleSource::parse("yields:1").unwrap();
        assert_eq!((each.kind, each.period), (SourceKind::Yields, 1));
        assert_eq!(each.time_ns(7), None);
        assert_eq!(SampleSource::parse("yields:0"), None);
        assert_eq!(SampleSource::parse("cputime:1"), None);
    }

    #[test]
    fn sources_are_listed_by_number() {
        for (number, kind) in SourceKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }
}
