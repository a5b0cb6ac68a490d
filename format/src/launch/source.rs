//! Sample sources: what triggers samples, and what one of them is in particular.
//!
//! Each kind is one entry of a table, [`SourceKind`]. Help, `csprof events`, files and the
//! collector go by its [`Properties`].

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::event::{KernelEvent, Label};

/// What a source is. Nothing else tells sources apart, but for the collector's file that opens
/// those of one [`Trigger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The name used on the command line, in the environment and in files.
    pub name: &'static str,
    /// What it counts, for those who choose among sources: a line, without a full stop.
    pub what: &'static str,
    /// What it is asked for by together with others, beside its own name.
    pub group: Option<&'static str>,
    /// What a period is an amount of.
    pub unit: Unit,
    /// The period if none is asked for.
    pub default_period: u64,
    /// What triggers its samples.
    pub trigger: Trigger,
    /// What tells sources of this kind apart.
    pub details: Details,
    /// Whether it counts while the thread waits.
    pub counts_waits: bool,
    /// Whether a sample may come in the middle of a wait, which ends by it.
    pub interrupts_waits: Interrupts,
    /// What is sampled where the kernel refuses it, with the same period.
    pub instead: Option<SourceKind>,
    /// Until when the blocks of memory are followed that were sampled.
    pub followed: Option<Until>,
    /// Whether help and errors name it.
    pub is_offered: bool,
}

/// How long blocks are followed: samples of those that are given back earlier do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// As long as the process runs.
    ProcessEnds,
    /// To the end of the phase in which they were asked for.
    PhaseEnds,
}

/// What a source counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Calls of a function.
    Calls,
    /// Memory, or what is read or written.
    Bytes,
    /// What a counter of the kernel's or the processor's counts.
    Events,
    /// What the program counts, of which csprof knows the name alone.
    Units,
}

impl Unit {
    /// The name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Calls => "calls",
            Self::Bytes => "bytes",
            Self::Events => "events",
            Self::Units => "units",
        }
    }

    /// The periods that a source of this unit may have.
    #[must_use]
    pub const fn periods(self) -> RangeInclusive<u64> {
        match self {
            Self::Nanoseconds => MIN_PERIOD..=MAX_PERIOD,
            Self::Calls | Self::Bytes | Self::Events | Self::Units => 1..=MAX_PERIOD,
        }
    }
}

/// What tells sources of one kind apart; see [`Detail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Details {
    /// Nothing: a run has one of the kind.
    None,
    /// A [`Label`].
    Label,
    /// A [`KernelEvent`].
    Event,
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

/// A source of CPU time: those of the table begin with one of these.
const CPU_TIME: Properties = Properties {
    name: "",
    what: "",
    group: None,
    unit: Unit::Nanoseconds,
    default_period: 5_000_000,
    trigger: Trigger::Timer,
    details: Details::None,
    counts_waits: false,
    interrupts_waits: Interrupts::Never,
    instead: None,
    followed: None,
    is_offered: true,
};

/// One of calls that a wrapper counts, or of what they are about.
const COUNTED: Properties =
    Properties { default_period: 64 << 10, unit: Unit::Bytes, trigger: Trigger::Call, ..CPU_TIME };

/// One of requests for memory.
const MEMORY: Properties = Properties { default_period: 512 << 10, ..COUNTED };

/// One of the calls themselves, each of which counts 1.
const CALLS: Properties = Properties { unit: Unit::Calls, default_period: 1_000, ..COUNTED };

/// One of the elapsed time that calls take.
const TIMED: Properties = Properties {
    unit: Unit::Nanoseconds,
    default_period: 1_000_000,
    counts_waits: true,
    ..COUNTED
};

/// Declares the kinds: of each the number that it has in files, where no other ever gets it, and
/// its properties. Help lists them in this order.
macro_rules! kinds {
    ($($(#[$attribute:meta])* $kind:ident = $number:literal: $properties:expr;)*) => {
        /// Which clock or event triggers samples. What one is in particular, its [`Properties`]
        /// say.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum SourceKind {
            $($(#[$attribute])* $kind = $number,)*
        }

        impl SourceKind {
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// All sources, by number.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$kind),*];

            /// What it is.
            #[must_use]
            #[inline]
            pub const fn properties(self) -> &'static Properties {
                match self {
                    $(Self::$kind => const { &$properties },)*
                }
            }
        }
    };
}

kinds! {
    /// CPU time of the thread, by a POSIX timer on `CLOCK_THREAD_CPUTIME_ID`.
    CpuTime = 0: Properties {
        name: "cputime",
        what: "CPU time, at the kernel's tick at most",
        ..CPU_TIME
    };
    /// CPU time of the thread, by the kernel's software event `task-clock` (perf_event_open).
    TaskClock = 1: Properties {
        name: "task-clock",
        what: "CPU time at any rate, by a perf event",
        default_period: 1_000_000,
        trigger: Trigger::Event,
        interrupts_waits: Interrupts::BySigprof,
        instead: Some(SourceKind::CpuTime),
        ..CPU_TIME
    };
    /// Elapsed time, by a POSIX timer on `CLOCK_MONOTONIC`; sees blocked threads.
    Realtime = 2: Properties {
        name: "realtime",
        what: "elapsed time, also while threads wait",
        counts_waits: true,
        interrupts_waits: Interrupts::Always,
        ..CPU_TIME
    };
    /// Calls of sched_yield(2), by a wrapper.
    Yields = 3: Properties {
        name: "yields",
        what: "calls of sched_yield",
        is_offered: false,
        ..CALLS
    };
    /// A [`KernelEvent`], by perf_event_open(2).
    Event = 4: Properties {
        name: "event",
        what: "events of the kernel or the processor",
        unit: Unit::Events,
        default_period: 1_000_000,
        trigger: Trigger::Event,
        details: Details::Event,
        interrupts_waits: Interrupts::BySigprof,
        is_offered: false,
        ..CPU_TIME
    };
    /// Amounts that the program counts itself (`csprof_count`), by name.
    Resource = 5: Properties {
        name: "resource",
        what: "what the program counts itself under this name",
        unit: Unit::Units,
        default_period: 1_000,
        details: Details::Label,
        is_offered: false,
        ..COUNTED
    };
    /// Bytes that the program asks malloc(3) and its relatives for, by wrappers.
    Alloc = 6: Properties {
        name: "alloc",
        what: "bytes that the program asks malloc and its relatives for",
        ..MEMORY
    };
    /// Calls of malloc(3) and its relatives, by the same wrappers.
    AllocCalls = 7: Properties {
        name: "alloc-calls",
        what: "calls of malloc and its relatives",
        ..CALLS
    };
    /// Bytes of them that were not given back.
    Leak = 8: Properties {
        name: "leak",
        what: "bytes of malloc and its relatives that are not given back",
        followed: Some(Until::ProcessEnds),
        ..MEMORY
    };
    /// Bytes that calls read.
    IoRead = 9: Properties {
        name: "io-read",
        what: "bytes that calls read",
        group: Some(IO),
        ..COUNTED
    };
    /// Bytes that calls write.
    IoWrite = 10: Properties {
        name: "io-write",
        what: "bytes that calls write",
        group: Some(IO),
        ..COUNTED
    };
    /// Elapsed time in calls that read, write or sync.
    IoTime = 11: Properties {
        name: "io-time",
        what: "elapsed time in calls that read, write or sync",
        group: Some(IO),
        ..TIMED
    };
    /// Elapsed time in which a thread waits for another one: mutexes and their kind, joins.
    Lock = 12: Properties {
        name: "lock",
        what: "elapsed time in which threads wait for each other",
        ..TIMED
    };
    /// Elapsed time in the outermost call of MPI.
    Mpi = 13: Properties {
        name: "mpi",
        what: "elapsed time in calls of MPI",
        ..TIMED
    };
    /// Bytes of messages, as the arguments of the outermost call of MPI name them.
    MpiBytes = 14: Properties {
        name: "mpi-bytes",
        what: "bytes of messages, as arguments of calls of MPI name them",
        ..COUNTED
    };
    /// Bytes that the program maps and that are no file's, by wrappers of mmap(2) and mremap(2).
    Mmap = 15: Properties {
        name: "mmap",
        what: "bytes that the program maps itself, and that are no file's",
        ..MEMORY
    };
    /// Bytes of requests to malloc(3) and its relatives that were not given back when the phase
    /// ended in which they were made.
    PhaseLeak = 16: Properties {
        name: "phase-leak",
        what: "bytes of malloc and its relatives that are not given back when their phase ends",
        followed: Some(Until::PhaseEnds),
        ..MEMORY
    };
    /// Calls that read, write or sync, by the same wrappers as the time in them.
    IoCalls = 17: Properties {
        name: "io-calls",
        what: "calls that read, write or sync",
        ..CALLS
    };
}

/// The sources of what calls read and write.
const IO: &str = "io";

impl SourceKind {
    /// Those that are asked for together by this name; none, if it is no group's.
    pub fn of_group(name: &str) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |kind| kind.properties().group == Some(name))
    }

    /// Whether blocks of memory are followed for it.
    #[must_use]
    pub const fn follows_blocks(self) -> bool {
        self.properties().followed.is_some()
    }

    /// The name used on the command line, in the environment and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// The source with this number, if there is one.
    #[must_use]
    #[inline]
    pub fn from_index(index: u32) -> Option<Self> {
        Self::ALL.get(index as usize).copied()
    }
}

/// What a source is beyond its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing: its kind is all that is known of it.
    None,
    /// What the program calls it.
    Label(Label),
    /// What the kernel counts.
    Event(KernelEvent),
}

/// A sample source and its period.
///
/// In the environment: `cputime:5000000`, the name and the period in the source's unit; behind a
/// further colon its [`Detail`], where the kind has one: `resource:1000:rows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSource {
    /// What is measured.
    pub kind: SourceKind,
    /// What one sample stands for, in the unit of the source: one of its [`Unit::periods`].
    pub period: u64,
    /// What tells it from others of its kind.
    pub detail: Detail,
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
        Self { kind, period: kind.properties().default_period, detail: Detail::None }
    }

    /// The same with another period.
    #[must_use]
    pub const fn every(self, period: u64) -> Self {
        Self { period, ..self }
    }

    /// Its name in files: that of its kind, or what its user calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.detail {
            Detail::None => self.kind.name(),
            Detail::Label(label) | Detail::Event(KernelEvent { label, .. }) => label.as_str(),
        }
    }

    /// Whether both measure the same, at whatever period.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.detail == other.detail
    }

    /// The time that so many samples stand for, in nanoseconds; `None` if it is not time that is
    /// sampled.
    #[must_use]
    #[inline]
    pub const fn time_ns(self, samples: u64) -> Option<u64> {
        match self.kind.properties().unit {
            Unit::Nanoseconds => Some(samples.saturating_mul(self.period)),
            Unit::Calls | Unit::Bytes | Unit::Events | Unit::Units => None,
        }
    }

    /// Reads the form used in the environment. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let name = parts.next()?;
        let kind = SourceKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        let properties = kind.properties();
        let period = parts.next()?.parse().ok()?;
        let detail = match (properties.details, parts.next()) {
            (Details::None, None) => Detail::None,
            (Details::Label, Some(text)) => Detail::Label(Label::new(text)?),
            (Details::Event, Some(text)) => Detail::Event(KernelEvent::parse(text)?),
            (Details::None, Some(_)) | (Details::Label | Details::Event, None) => return None,
        };
        properties.unit.periods().contains(&period).then_some(Self { kind, period, detail })
    }
}

impl core::fmt::Display for SampleSource {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.period)?;
        match &self.detail {
            Detail::None => Ok(()),
            Detail::Label(label) => write!(f, ":{}", label.as_str()),
            Detail::Event(event) => write!(f, ":{event}"),
        }
    }
}

/// Most sources of a run: what an [arena](crate::arena) has room for.
pub const MAX_SOURCES: usize = 16;

/// Why a source cannot be added to those of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is one of them already.
    Twice(SampleSource),
    /// There are [`MAX_SOURCES`].
    TooMany,
}

/// The sources of a run, of which no two [are the same](SampleSource::is_same), nor have one name.
/// Their numbers, from 0, are those of the run's metrics.
///
/// In the environment: `cputime:5000000 realtime:5000000`.
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
    /// For the first one that there is no place for.
    pub fn and(mut self, further: impl IntoIterator<Item = SampleSource>) -> Result<Self, Refused> {
        for source in further {
            if self.iter().any(|other| other.is_same(&source) || other.name() == source.name()) {
                return Err(Refused::Twice(source));
            }
            let place = self.further.iter_mut().find(|place| place.is_none());
            *place.ok_or(Refused::TooMany)? = Some(source);
        }
        Ok(self)
    }

    /// Reads the form used in the environment. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let sources: Option<Vec<_>> = text.split(' ').map(SampleSource::parse).collect();
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

    /// The number of the one with this label.
    #[must_use]
    pub fn labelled(&self, label: &[u8]) -> Option<usize> {
        let is_it = |source: &SampleSource| match &source.detail {
            Detail::Label(of) => of.is(label),
            Detail::None | Detail::Event(_) => false,
        };
        if is_it(&self.first) {
            return Some(0);
        }
        let mut further = self.further.iter().map_while(Option::as_ref);
        further.position(is_it).map(|place| place + 1)
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
        self.further.iter().flatten().try_for_each(|source| write!(f, " {source}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_survives_the_environment() {
        for kind in SourceKind::ALL {
            let detail = match kind.properties().details {
                Details::None => Detail::None,
                Details::Label => Detail::Label(Label::new("rows:read").unwrap()),
                Details::Event => {
                    Detail::Event(KernelEvent::parse("4.3c.0.0.0.0:cpu/event=0x3c/").unwrap())
                }
            };
            let source = SampleSource { kind, period: 1_000_000, detail };
            assert_eq!(SampleSource::parse(&source.to_string()), Some(source));
            assert_eq!(SourceKind::from_index(kind as u32), Some(kind));
        }
    }

    #[test]
    fn several_sources_survive_the_environment_in_their_order() {
        for text in [
            "cputime:5000000",
            "realtime:5000000 cputime:5000000",
            "task-clock:1000000 realtime:5000000 cputime:10000000000",
            "resource:1:rows resource:1:files event:7:1.2.0.0.0.0:page-faults",
        ] {
            let sources = SampleSources::parse(text).expect(text);
            assert_eq!(sources.to_string(), text);
            assert_eq!(sources.get(0), sources.iter().next());
            assert_eq!(sources.get(sources.iter().count()), None);
        }
        for text in [
            "",
            "cputime:5000000 ",
            "cputime:5000000 cputime:1000000",
            "resource:1:rows resource:2:rows",
            "cputime:5000000 event:1:4.3c.0.0.0.0:cputime",
            "event:1:4.3c.0.0.0.0:x event:1:4.3d.0.0.0.0:x",
        ] {
            assert_eq!(SampleSources::parse(text), None, "{text}");
        }
        let sources = SampleSources::parse("cputime:5000000 resource:1:rows resource:1:r").unwrap();
        let labels = ["rows", "r", "row", "rowss", "", "cputime"].map(str::as_bytes);
        let numbers = [Some(1), Some(2), None, None, None, None];
        assert_eq!(labels.map(|label| sources.labelled(label)), numbers);
        let mut named = (0..).map(|n| SampleSource::parse(&format!("resource:1:r{n}")).unwrap());
        let first = SampleSources::one(named.next().unwrap());
        assert!(first.and(named.by_ref().take(MAX_SOURCES - 1)).is_ok());
        assert_eq!(first.and(named.take(MAX_SOURCES)), Err(Refused::TooMany));
    }

    #[test]
    fn nonsense_is_no_source() {
        for text in [
            "",
            "cputime",
            "cputime:",
            "cputime:0",
            "sundial:5000000",
            "cputime:-1",
            "cputime:5000000:x",
            "resource:1",
            "resource:1:",
            "event:1:cycles",
        ] {
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
