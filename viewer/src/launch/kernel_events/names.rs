//! Events that have names of their own, whatever the machine has of them.

/// `type` of `struct perf_event_attr` (perf_event_open(2)).
pub(super) const HARDWARE: u32 = 0;
pub(super) const SOFTWARE: u32 = 1;
pub(super) const TRACEPOINT: u32 = 2;
pub(super) const CACHE: u32 = 3;
pub(super) const RAW: u32 = 4;

/// An event with a name of its own.
#[derive(Debug)]
pub(super) struct Named {
    /// What it is called, and then what else.
    pub(super) names: &'static [&'static str],
    pub(super) pmu: u32,
    pub(super) config: u64,
    /// Events from one sample to the next where no number is asked for.
    pub(super) period: u64,
    /// Whether the kernel alone has them, on the program's behalf.
    pub(super) in_kernel: bool,
    /// What it counts.
    pub(super) what: &'static str,
}

impl Named {
    /// What it is called.
    pub(super) fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

const fn hardware(
    names: &'static [&'static str],
    config: u64,
    period: u64,
    what: &'static str,
) -> Named {
    Named { names, pmu: HARDWARE, config, period, in_kernel: false, what }
}

const fn software(
    names: &'static [&'static str],
    config: u64,
    period: u64,
    what: &'static str,
) -> Named {
    Named { names, pmu: SOFTWARE, config, period, in_kernel: false, what }
}

const fn of_kernel(
    names: &'static [&'static str],
    config: u64,
    period: u64,
    what: &'static str,
) -> Named {
    Named { names, pmu: SOFTWARE, config, period, in_kernel: true, what }
}

/// All of them. The periods of hardware events give some hundred to a thousand samples a second of
/// a busy thread; those of rare events make each one a sample.
pub(super) const NAMED: &[Named] = &[
    software(&["page-faults", "faults"], 2, 100, "pages that were not mapped when they were used"),
    software(&["minor-faults"], 5, 100, "page faults that needed no disk"),
    software(&["major-faults"], 6, 1, "page faults that waited for a disk"),
    of_kernel(
        &["context-switches", "cs"],
        3,
        10,
        "times that a thread gave its processor up (to wait), or lost it",
    ),
    of_kernel(
        &["migrations", "cpu-migrations"],
        4,
        1,
        "times that a thread went on on another processor",
    ),
    software(&["alignment-faults"], 7, 1, "unaligned accesses that the kernel put right"),
    software(&["emulation-faults"], 8, 1, "instructions that the kernel emulated"),
    hardware(
        &["cycles", "cpu-cycles"],
        0,
        5_000_000,
        "cycles of the processor, at whatever clock rate it ran",
    ),
    hardware(&["instructions"], 1, 5_000_000, "instructions that were completed"),
    hardware(&["cache-references"], 2, 100_000, "accesses to the last cache, as a rule"),
    hardware(&["cache-misses"], 3, 10_000, "of those, what was not there"),
    hardware(&["branches", "branch-instructions"], 4, 1_000_000, "jumps, calls and returns"),
    hardware(&["branch-misses"], 5, 10_000, "of those, what was predicted wrongly"),
    hardware(&["bus-cycles"], 6, 100_000, "cycles of the bus"),
    hardware(
        &["stalled-cycles-frontend", "idle-cycles-frontend"],
        7,
        1_000_000,
        "cycles without instructions to begin",
    ),
    hardware(
        &["stalled-cycles-backend", "idle-cycles-backend"],
        8,
        1_000_000,
        "cycles in which instructions waited for data or units",
    ),
    hardware(&["ref-cycles"], 9, 5_000_000, "cycles at a steady clock rate"),
];

/// Caches, in the order of their numbers, and what each holds.
const CACHES: [(&str, &str); 7] = [
    ("L1-dcache", "the first cache of data"),
    ("L1-icache", "the first cache of instructions"),
    ("LLC", "the last cache"),
    ("dTLB", "addresses of data pages"),
    ("iTLB", "addresses of code pages"),
    ("branch", "targets of branches"),
    ("node", "memory of this processor's node"),
];
/// What is done with one: the numbers of the operation and of its result.
const ACCESSES: [(&str, u64, u64); 6] = [
    ("loads", 0, 0),
    ("load-misses", 0, 1),
    ("stores", 1, 0),
    ("store-misses", 1, 1),
    ("prefetches", 2, 0),
    ("prefetch-misses", 2, 1),
];

/// An event of a cache.
#[derive(Debug)]
pub(super) struct OfCache {
    pub(super) name: String,
    pub(super) config: u64,
    pub(super) period: u64,
    pub(super) what: String,
}

/// All events of caches that perf_event_open(2) has numbers for.
pub(super) fn of_caches() -> impl Iterator<Item = OfCache> {
    (0u64..).zip(CACHES).flat_map(|(cache, (name, holds))| {
        ACCESSES.into_iter().map(move |(access, operation, result)| OfCache {
            name: format!("{name}-{access}"),
            config: cache | operation << 8 | result << 16,
            period: if result == 1 { 10_000 } else { 1_000_000 },
            what: format!("{} of {holds}", access.replace('-', " ")),
        })
    })
}
