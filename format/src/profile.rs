//! The saved profile as plain values: what the writer is given and the reader gives back.
//!
//! One profile holds one run: all its processes, their threads, epochs, load modules, calling
//! context trees, and the symbols of every frame, so that it can be reviewed on a machine that
//! has none of the binaries.
//!
//! A node names its [`Frame`]; a frame is an address inside a load module, so it keeps its
//! meaning when epochs and processes end. Nodes are grouped in [`Tree`]s: one for each thread and
//! epoch, each in pre-order, with its root first.
//!
//! What is said here of order and sums is checked by [`validate`](crate::validate) before a
//! profile is written and after one is read. [`RunInfo`], [`Metric`], [`ThreadShare`], [`Module`],
//! [`Process`], [`Thread`], [`Epoch`], [`MergedRun`], [`Account`], [`Loop`], [`InLoop`],
//! [`TailCall`], [`ModuleFile`], [`SourceFile`], [`Phase`] and [`SummedRun`] are stored as they
//! stand here, field by field: a change to one of them is a new version of its block, and needs a
//! copy of the old type for old files.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::address::FrameKind;
pub use crate::earlier::EarlierThreads;
use crate::file_identity::FileIdentity;
use crate::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use crate::launch::{SourceKind, Trigger, Unit};
pub use crate::source_file::{SourceDoubt, SourceFile, Stretch};
pub use crate::spread::{RankSums, Spread};
pub use crate::times::SampleTime;

/// Most metrics that a profile may have.
pub const MAX_METRICS: usize = 16;

/// There are fewer functions than this between two frames that left by tail calls.
pub const MAX_TAIL_CALLS: usize = 16;

/// Most stages of the refinement that a profile says it begins with.
pub const MAX_STAGES: usize = 4;

/// Most bytes of each of them.
pub const MAX_STAGE: usize = 512;

/// Everything that one run left, or several runs that were merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What was run, where and when.
    pub run: RunInfo,
    /// Sample source and the metric it measures. Of several, the first.
    pub metric: Metric,
    /// The other metrics, where samples had several sources. Samples everywhere else are those of
    /// all sources together; here stands which of them are whose. The rest is the first metric's.
    /// All metrics together are at most [`MAX_METRICS`].
    pub further: Vec<FurtherMetric>,
    /// Interned text: function names, file names, module paths. Shared by whoever names them.
    pub strings: Vec<Arc<str>>,
    /// Processes of the run, in order of their start.
    pub processes: Vec<Process>,
    /// Threads of all processes, in order of process.
    pub threads: Vec<Thread>,
    /// Epochs of all processes, in order of process, then number.
    pub epochs: Vec<Epoch>,
    /// Load modules of the whole run, one for each path and build id, and file if that has none.
    pub modules: Vec<Module>,
    /// Interned frames: none should stand there twice.
    pub frames: Vec<Frame>,
    /// Trees, in order of thread, then epoch. Their node ranges are consecutive and cover all
    /// nodes; the samples in those of one thread are what it [recorded](Thread::recorded).
    pub trees: Vec<Tree>,
    /// Nodes of all trees.
    pub nodes: Nodes,
    /// Functions that frames resolved to.
    pub functions: Vec<Function>,
    /// Source-level frames of each frame; see [`Sites`].
    pub sites: Sites,
    /// The runs that were merged into this profile, in order of their processes; empty for a
    /// profile of one run. Then [`Profile::run`] is about all of them together.
    pub runs: Vec<MergedRun>,
    /// What each process used, in the order of [`Profile::processes`]; empty if that is not known.
    pub accounts: Vec<Account>,
    /// What the program's code says of its frames beyond functions and lines.
    pub structure: Structure,
    /// The files of modules without a build id, in ascending order, none twice. In a merged profile
    /// a module may have been more than one; of a module that is not listed nothing is known.
    pub files: Vec<ModuleFile>,
    /// The refinement to begin with, one stage in each text, at most [`MAX_STAGES`] of
    /// [`MAX_STAGE`] bytes; the first is applied first. Mostly empty.
    pub stages: Vec<String>,
    /// Lines of source files, in ascending order of path, digest and number of lines, none of all
    /// three twice. Mostly empty.
    pub sources: Vec<SourceFile>,
    /// When samples were taken, if that was asked for: tree by tree, ordered by
    /// [place](SampleTime::place) in each, none of one place twice. A node has at least as many
    /// samples of a metric as there are here; of the others it is not known.
    pub times: Vec<SampleTime>,
    /// The epochs that are in a phase, in ascending order, none twice. Mostly empty.
    pub phases: Vec<Phase>,
    /// The runs that were summed, if this is a [sum](crate::sum) over processes; then
    /// [`Profile::run`] is about all of them, and there are no [`Profile::runs`].
    pub summed: Vec<SummedRun>,
    /// How the cost of the nodes of a sum is spread over ranks, ordered by
    /// [place](Spread::place), no place twice.
    pub spreads: Vec<Spread>,
    /// The threads that stand for several, in ascending order, none twice. Mostly empty.
    pub earlier: Vec<EarlierThreads>,
    /// How many ranks the jobs have that ranks of this profile are of, as launchers say; in
    /// ascending order, none twice, each at least 2. A job of which that is not known is not in it.
    pub job_sizes: Vec<u32>,
}

impl Profile {
    /// Whether the processes of all its runs were sampled from outside, by the kernel.
    #[must_use]
    pub fn is_from_outside(&self) -> bool {
        let all = self.runs.iter().all(|merged| merged.info.is_from_outside());
        all && self.run.is_from_outside()
    }

    /// All metrics, the first one first.
    pub fn metrics(&self) -> impl Iterator<Item = &Metric> {
        core::iter::once(&self.metric).chain(self.further.iter().map(|further| &further.metric))
    }

    /// The samples of a node that a metric has, by its number among [all](Self::metrics); the first
    /// one has what no other has. 0 where there is no such node or metric.
    #[must_use]
    pub fn samples_of(&self, node: u32, metric: usize) -> u64 {
        let of = |further: &FurtherMetric| {
            let found = further.samples.binary_search_by_key(&node, |&(node, _)| node);
            found.map_or(0, |place| further.samples[place].1)
        };
        match metric.checked_sub(1) {
            Some(number) => self.further.get(number).map_or(0, of),
            None => {
                let all = self.nodes.samples.get(node as usize).copied().unwrap_or(0);
                self.further.iter().map(of).fold(all, u64::saturating_sub)
            }
        }
    }

    /// The part of a thread's counts that a metric has, by its number among [all](Self::metrics).
    ///
    /// # Panics
    /// If there is no such thread or metric.
    #[must_use]
    pub fn share(&self, thread: ThreadId, metric: usize) -> ThreadShare {
        let share = |further: &FurtherMetric| further.threads[thread.index()];
        if let Some(number) = metric.checked_sub(1) {
            return share(&self.further[number]);
        }
        let Thread { signals, delivered, recorded, partial, .. } = self.threads[thread.index()];
        let all = ThreadShare { signals, delivered, recorded, partial };
        self.further.iter().map(share).fold(all, ThreadShare::without)
    }

    /// The phase that an epoch is in, by name.
    #[must_use]
    pub fn phase_of(&self, epoch: EpochId) -> Option<&str> {
        let place = self.phases.binary_search_by_key(&epoch, |phase| phase.epoch).ok()?;
        self.phases.get(place).map(|phase| &*phase.name)
    }

    /// The files that a module without a build id was, as far as that is known.
    #[must_use]
    pub fn files_of(&self, module: ModuleId) -> &[ModuleFile] {
        let start = self.files.partition_point(|row| row.module < module);
        let end = self.files.partition_point(|row| row.module <= module);
        &self.files[start..end]
    }

    /// The threads of a process, which stand together, with their numbers.
    pub fn threads_of(&self, process: ProcessId) -> impl Iterator<Item = (ThreadId, &Thread)> {
        let first = self.threads.partition_point(|thread| thread.process < process);
        let own = self.threads.iter().enumerate().skip(first);
        let own = own.take_while(move |(_, thread)| thread.process == process);
        own.map(|(number, thread)| (ThreadId::from_index(number), thread))
    }
}

/// What a process used beside its samples, and what the collector used in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// CPU time of the process when sampling began, in nanoseconds.
    pub cpu_before_ns: u64,
    /// CPU time of the process, in nanoseconds, as far as it was noted: to its end if it went
    /// through exit or exec, else to one of its last samples. 0 if unknown.
    pub cpu_ns: u64,
    /// Threads that could not be sampled.
    pub unsampled_threads: u64,
    /// Profiling signals that were not csprof's.
    pub foreign_signals: u64,
    /// Bytes of the arena.
    pub arena_bytes: u64,
    /// Nodes in the arena, over all threads and epochs.
    pub nodes: u64,
    /// Bytes of the arena that are there for nodes, with those in reserve.
    pub node_bytes: u64,
    /// Bytes of unwind tables, csprof's own and copies, and of what is known about modules.
    pub table_bytes: u64,
    /// Bytes of the collector's memory outside the arena, the tables included.
    pub private_bytes: u64,
    /// Each of its threads, in their order.
    pub threads: Vec<ThreadAccount>,
}

/// What a thread used beside its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadAccount {
    /// CPU time of the thread when sampling began, in nanoseconds.
    pub cpu_before_ns: u64,
    /// Samples that came 50 ms or more after they were due: see
    /// [`LATE_NS`](crate::arena::LATE_NS).
    pub late: u64,
}

/// One of the runs that a merged profile holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedRun {
    /// What was run. Times of its processes, threads and epochs count from the start of the
    /// merged profile, which is that of the earliest run.
    pub info: RunInfo,
    /// How many processes it has: those after the processes of the runs before it.
    pub processes: u32,
}

/// A run of which there is a sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedRun {
    /// What was run. Times of its processes count from its own start.
    pub info: RunInfo,
    /// Its processes, as they were before they were summed.
    pub processes: Vec<SummedProcess>,
}

/// A process that was summed into another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedProcess {
    /// What it was. `start_ns` and `end_ns` count from the start of its run.
    pub process: Process,
    /// The process of the profile that has its samples: of its rank alone, if that is kept apart.
    pub into: ProcessId,
    /// Samples recorded in its threads, of each metric.
    pub recorded: Vec<u64>,
}

/// What was run, where and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Program and arguments as given to `csprof record`; bytes, not text.
    pub command: Vec<Vec<u8>>,
    /// Folder in which the program was started.
    pub directory: Vec<u8>,
    /// Host name.
    pub host: String,
    /// CPU model name, empty if unknown.
    pub cpu: String,
    /// Kernel name and release.
    pub kernel: String,
    /// Start of the run, in nanoseconds since 1970-01-01 UTC.
    pub start_unix_ns: u64,
    /// Elapsed time of the run, in nanoseconds.
    pub duration_ns: u64,
    /// CPU time of the run's processes as the kernel counted it, in nanoseconds; 0 if unknown.
    pub cpu_ns: u64,
    /// How the program ended.
    pub exit: Exit,
    /// Version of csprof that recorded the run.
    pub csprof_version: String,
    /// Whether the return trampoline was on, so that edge counts exist.
    pub trampoline: bool,
    /// Warnings given while recording, for people.
    pub warnings: Vec<String>,
}

impl RunInfo {
    /// Whether it went on when it was read.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.warnings.iter().any(|warning| warning.starts_with(GOES_ON))
    }

    /// Whether its processes were sampled from outside, by the kernel; of several runs, of any.
    #[must_use]
    pub fn is_from_outside(&self) -> bool {
        // In a merged profile the name of a file stands before it.
        let parts = |warning: &String| warning.split(": ").any(|part| part == FROM_OUTSIDE);
        self.warnings.iter().any(parts)
    }

    /// A number that tells runs apart, equal for all files saved from one run: the 128-bit FNV-1a
    /// hash (Fowler, Noll, Vo) of host, start time and command.
    #[must_use]
    pub fn id(&self) -> u128 {
        let arguments = self.command.iter().flat_map(|argument| argument.iter().chain(&[0]));
        let bytes = self.host.as_bytes().iter().chain(&[0]).chain(arguments).copied();
        crate::fnv_1a(self.start_unix_ns.to_le_bytes().into_iter().chain(bytes))
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// Not known: a child nobody waited for here, or a run cut short.
    #[default]
    Unknown,
    /// By exiting, with this status (0..=255).
    Status(u8),
    /// By this signal.
    Signal(u8),
}

/// The metric of the sample source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Name of the source: `cputime`, `task-clock`, `realtime`, `io-read`, `lock`.
    pub source: String,
    /// Unit of `period`: `ns`, or `calls`.
    pub unit: String,
    /// Amount of the metric that one sample stands for, in `unit`. Never 0 in a valid profile.
    pub period: u64,
}

impl Metric {
    /// Whether it is an amount of time.
    #[must_use]
    pub fn is_time(&self) -> bool {
        self.unit == "ns"
    }

    /// Whether it is elapsed time, so that threads have samples while they wait.
    #[must_use]
    pub fn is_elapsed_time(&self) -> bool {
        self.source == "realtime"
    }

    /// Whether it is CPU time.
    #[must_use]
    pub fn is_cpu_time(&self) -> bool {
        self.is_time() && !self.is_elapsed_time() && !self.is_of_calls()
    }

    /// Whether it counts calls or what they are about, among which may be the time that they take:
    /// no clock samples them.
    #[must_use]
    pub fn is_of_calls(&self) -> bool {
        // What the program counts has the name that it gave it.
        self.unit == Unit::Units.name()
            || self.kind().is_some_and(|kind| kind.properties().trigger == Trigger::Call)
    }

    /// Whether it counts time in which threads wait.
    #[must_use]
    pub fn counts_waits(&self) -> bool {
        self.kind().is_some_and(|kind| kind.properties().counts_waits)
    }

    /// Whether it is of blocks of memory that are followed, so that it may become less while a run
    /// goes on.
    #[must_use]
    pub fn follows_blocks(&self) -> bool {
        self.kind().is_some_and(SourceKind::follows_blocks)
    }

    fn kind(&self) -> Option<SourceKind> {
        SourceKind::ALL.into_iter().find(|kind| kind.name() == self.source)
    }
}

/// A metric beside the first, and what of the samples are its.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FurtherMetric {
    /// Its source; no other metric of the profile has the same.
    pub metric: Metric,
    /// Its part of the counts of each thread, in the order of [`Profile::threads`].
    pub threads: Vec<ThreadShare>,
    /// Nodes with exclusive samples of it, in ascending order, and how many; not 0. All further
    /// metrics together have at most the [samples](Nodes::samples) of a node.
    pub samples: Vec<(u32, u64)>,
}

/// The part of a thread's counts that one metric has. What was delivered and not recorded is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadShare {
    /// Of [`Thread::signals`].
    pub signals: u64,
    /// Of [`Thread::delivered`]; not less than `recorded`.
    pub delivered: u64,
    /// Of [`Thread::recorded`]: the sum over the nodes of its trees.
    pub recorded: u64,
    /// Of [`Thread::partial`]; not more than `recorded`.
    pub partial: u64,
}

impl ThreadShare {
    /// What is left without that of another metric.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            signals: self.signals.saturating_sub(other.signals),
            delivered: self.delivered.saturating_sub(other.delivered),
            recorded: self.recorded.saturating_sub(other.recorded),
            partial: self.partial.saturating_sub(other.partial),
        }
    }
}

/// One process of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id on the host.
    pub pid: u32,
    /// Process id of the parent.
    pub parent_pid: u32,
    /// MPI or job rank, where a launcher gave one.
    pub rank: Option<u32>,
    /// Program and arguments, bytes.
    pub command: Vec<Vec<u8>>,
    /// How the process came to be.
    pub origin: Origin,
    /// How it ended, as far as is known.
    pub exit: Exit,
    /// Start, in nanoseconds since the start of the run.
    pub start_ns: u64,
    /// End, in nanoseconds since the start of the run; 0 if it was killed before it could say so.
    pub end_ns: u64,
    /// Samples that arrived where no thread could own them, by `LossReason` number.
    pub losses: Vec<u64>,
    /// What the collector had to say, for people.
    pub messages: Vec<String>,
}

/// How a process came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// Started by exec: the run's program, or a child's new program.
    #[default]
    Exec,
    /// Forked from a profiled process, still running its program.
    Fork,
}

/// One thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Thread id on the host; of [several](Profile::earlier), the last one's.
    pub tid: u32,
    /// Its name as the kernel knows it (`pthread_setname_np`), bytes.
    pub name: Vec<u8>,
    /// Signals that were handled.
    pub signals: u64,
    /// Samples delivered: signals weighted by the periods that each stands for.
    pub delivered: u64,
    /// Samples recorded in a tree. `delivered = recorded + Σ losses`.
    pub recorded: u64,
    /// Samples recorded whose path is partial; included in `recorded`.
    pub partial: u64,
    /// Samples not recorded, by `LossReason` number.
    pub losses: Vec<u64>,
    /// Returns seen by the trampoline.
    pub returns: u64,
    /// Sampled activations that left without a return: longjmp, exception, stack switch, end.
    pub lost_returns: u64,
    /// CPU time of the thread at its end (or last sample), in nanoseconds.
    pub cpu_ns: u64,
    /// Start, in nanoseconds since the start of the run.
    pub start_ns: u64,
    /// End, in nanoseconds since the start of the run; 0 if unknown.
    pub end_ns: u64,
}

/// A stretch of a process's life in which every address means one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Number within the process, from 0.
    pub number: u32,
    /// Why it began.
    pub reason: EpochReason,
    /// Beginning, in nanoseconds since the start of the run.
    pub start_ns: u64,
    /// What was loaded where, ordered by `start`, without overlaps.
    pub load_map: Vec<Mapping>,
}

/// An epoch in which the process said that it was doing what has this name.
///
/// A process may come back to a phase: an epoch has all of a phase, from its first beginning on, in
/// which every address means one thing. Several epochs may have one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// The epoch.
    pub epoch: EpochId,
    /// Its name: from 1 to [`MAX_PHASE`] bytes.
    pub name: String,
}

/// Most bytes of the name of a phase, as it is saved.
pub const MAX_PHASE: usize = 512;

/// Why an epoch began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EpochReason {
    /// The process started.
    #[default]
    Start,
    /// A load module took addresses that had belonged to another.
    AddressReuse,
    /// `--epoch-per-load` was asked for, and a module was loaded.
    Load,
    /// The program asked for it: a phase began.
    Request,
}

/// One stretch of runtime addresses that a load module occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First runtime address.
    pub start: u64,
    /// One past the last runtime address.
    pub end: u64,
    /// Runtime address minus module offset: the load bias. Wraps.
    pub bias: u64,
    /// What is mapped.
    pub module: ModuleId,
}

/// Path of the pseudo module that code is in which a process generated while it ran, as far as it
/// has a name. A runtime address can have had several meanings: those after the first have their
/// number in the top byte of [`Frame::offset`]. Its symbols are a [`SymbolSource::SymbolTable`]
/// whose text says which files of the process had them.
pub const GENERATED_CODE: &str = "[generated code]";

/// Path of the pseudo module that holds what threads waited for: frames below the functions that
/// called the kernel, of kind `Leaf`, whose offset is the number of the system call.
pub const WAITS: &str = "[waits]";

/// Path of the pseudo module that holds what the kernel did: frames below the functions that
/// entered it, of kind `Leaf`. A function of the kernel's has an offset that is made of its name,
/// by which it is the same on any machine; what has no name has 0. Its symbols are a
/// [`SymbolSource::SymbolTable`], or say why there are none.
pub const KERNEL: &str = "[kernel]";

/// Path of the pseudo module that holds handovers: frames of kind `Call` whose offset says how the
/// code above had the code below run by another thread, the one whose tree this is.
pub const HANDOVERS: &str = "[handover]";

/// The offset in [`HANDOVERS`] of a parallel region: each thread of a team runs its code.
pub const PARALLEL_REGION: u64 = 0;

/// The name of all phases that have samples and that neither the log of their process nor the run
/// lists. When they began is not known: their epochs say when those of the load map did.
pub const UNLISTED_PHASE: &str = "not listed";

/// What the warning begins with that a profile has which was read while its run went on. The run's
/// elapsed time ends at that moment.
pub const GOES_ON: &str = "the run goes on";

/// What the warning begins with that a profile has of processes that were sampled from outside:
/// csprof has neither started them nor been in them.
pub const FROM_OUTSIDE: &str = "sampled from outside";

/// What stands behind the name of an event in the warning that the processor counted it for a part
/// of the time alone, because it took turns with others.
pub const TOOK_TURNS: &str = " was counted ";

/// A load module: an executable, a shared library, the vdso.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Path as the loader knew it; `[vdso]` for the vdso.
    pub path: StringId,
    /// GNU build id, empty if the module has none.
    pub build_id: Vec<u8>,
    /// Where its symbols came from, or why there are none.
    pub symbols: SymbolSource,
}

/// The file of a module without a build id, when it was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleFile {
    /// The module.
    pub module: ModuleId,
    /// Its file.
    pub file: FileIdentity,
}

/// Where the symbols of a module came from, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SymbolSource {
    /// Symbols were not asked for (`--no-symbols`), or no frame of the module was sampled.
    #[default]
    NotAsked,
    /// DWARF with lines and inline frames, from this file.
    Dwarf(StringId),
    /// A full symbol table without lines, from this file.
    SymbolTable(StringId),
    /// Only the names that the module exports, from this file: it is stripped.
    Exports(StringId),
    /// The file has no names at all.
    Stripped(StringId),
    /// The file could not be read; the text says why.
    Unreadable(StringId),
    /// The file now at the path has another build id than the module that ran.
    BuildIdDiffers(StringId),
}

impl SymbolSource {
    /// How much of a module it names: 0 nothing, 5 everything.
    #[must_use]
    pub const fn worth(&self) -> u8 {
        match self {
            Self::NotAsked => 0,
            Self::Unreadable(_) | Self::BuildIdDiffers(_) => 1,
            Self::Stripped(_) => 2,
            Self::Exports(_) => 3,
            Self::SymbolTable(_) => 4,
            Self::Dwarf(_) => 5,
        }
    }

    /// Whether functions of the module lack names that a debug file may have.
    #[must_use]
    pub const fn lacks_names(&self) -> bool {
        !matches!(self, Self::SymbolTable(_) | Self::Dwarf(_))
    }
}

/// An address inside a load module together with how it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// How the address was seen.
    pub kind: FrameKind,
    /// The load module; `None` for roots, partial roots and addresses outside every module.
    pub module: Option<ModuleId>,
    /// Offset in the module (ELF virtual address); runtime address where `module` is `None`;
    /// a [`PartialReason`](crate::loss::PartialReason) number for partial roots; 0 for roots.
    /// For [`FrameKind::Call`] this is the return address: look up at `offset − 1`.
    pub offset: u64,
}

/// The tree of one thread in one epoch: a range of nodes in pre-order, root first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Whose samples these are.
    pub thread: ThreadId,
    /// The epoch in which they were taken.
    pub epoch: EpochId,
    /// First node: the root.
    pub first_node: u32,
    /// Number of nodes, at least 1.
    pub node_count: u32,
}

/// The nodes of all trees, one column per property; all columns have one length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nodes {
    /// Parent of each node, smaller than the node itself; a root is its own parent.
    pub parent: Vec<u32>,
    /// Frame of each node; of kind [`FrameKind::Root`] for roots and no others.
    pub frame: Vec<FrameId>,
    /// Exclusive samples: how often the path ended here.
    pub samples: Vec<u64>,
    /// Edge count: sampled activations of this node that returned.
    pub edges: Vec<u64>,
}

impl Nodes {
    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Exclusive samples of all nodes together; `u64::MAX` if there are more.
    #[must_use]
    pub fn total_samples(&self) -> u64 {
        self.samples.iter().fold(0, |sum, &samples| sum.saturating_add(samples))
    }

    /// Removes the nodes from number `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.parent.truncate(len);
        self.frame.truncate(len);
        self.samples.truncate(len);
        self.edges.truncate(len);
    }

    /// Appends a node and returns its number. A `parent` equal to the new number makes a root.
    pub fn push(&mut self, parent: u32, frame: FrameId, samples: u64, edges: u64) -> u32 {
        let id = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.parent.push(parent);
        self.frame.push(frame);
        self.samples.push(samples);
        self.edges.push(edges);
        id
    }
}

/// A function, as symbols name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Demangled name with its arguments; Rust hashes removed.
    pub name: StringId,
    /// The load module that holds its code.
    pub module: ModuleId,
    /// Source file of the definition, if known.
    pub file: Option<StringId>,
    /// Line of the definition, 0 if unknown.
    pub line: u32,
}

/// The source-level frames of each machine frame.
///
/// A return address inside inlined code stands for several source-level frames: the function
/// whose code it is, then what was inlined into it, outermost first. Frame `f` owns the rows
/// `first[f] .. first[f + 1]`; none if it has no name. `first` has one entry more than there are
/// frames, or is empty when nothing was resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sites {
    /// First row of each frame, then the number of rows; never decreasing.
    pub first: Vec<u32>,
    /// The function of each row.
    pub function: Vec<FunctionId>,
    /// File of the line being executed in that function, if known.
    pub file: Vec<Option<StringId>>,
    /// That line, 0 if unknown.
    pub line: Vec<u32>,
}

/// What the machine code of sampled functions says of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// Loops, one for each header.
    pub loops: Vec<Loop>,
    /// Which frames lie in which loops: ordered by frame, then by row, then from the outermost loop
    /// inwards.
    pub in_loops: Vec<InLoop>,
    /// Functions that left by a tail call, ordered by caller, then callee.
    pub tail_calls: Vec<TailCall>,
}

/// A loop in the code of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Loop {
    /// The load module that holds its code.
    pub module: ModuleId,
    /// ELF virtual address of its header, the instruction that every iteration begins with.
    pub offset: u64,
    /// File of its first line, if known.
    pub file: Option<StringId>,
    /// That line, 0 if unknown.
    pub line: u32,
    /// It can be entered elsewhere than at its header, so what it encloses is a matter of choice.
    pub irreducible: bool,
}

/// A frame that lies in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InLoop {
    /// The frame.
    pub frame: FrameId,
    /// The loop lies in the code of the frame's row of this number, 0 the outermost; what is
    /// inlined deeper lies in the loop. Less than the number of the frame's rows.
    pub row: u32,
    /// Index into [`Structure::loops`].
    pub number: u32,
}

/// Functions that left by a tail call (a jump in place of a call and a return) between two frames
/// that stand next to each other on the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TailCall {
    /// The frame that called the first of them.
    pub caller: FrameId,
    /// The frame directly below it on the path, which the last of them jumped to.
    pub callee: FrameId,
    /// The functions, the one that was called first; at least one.
    pub via: Vec<FunctionId>,
}

impl Sites {
    /// The rows of a frame; empty if it has no name.
    #[must_use]
    pub fn rows(&self, frame: FrameId) -> core::ops::Range<usize> {
        match (self.first.get(frame.index()), self.first.get(frame.index() + 1)) {
            (Some(&first), Some(&end)) => first as usize..end as usize,
            _ => 0..0,
        }
    }
}
