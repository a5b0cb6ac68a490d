//! Arbitrary valid profiles, for properties.

use csprof_format::address::FrameKind;
use csprof_format::file_identity::FileIdentity;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile::{
    Account, EarlierThreads, Epoch, EpochReason, Exit, Frame, Function, FurtherMetric, InLoop,
    Loop, Mapping, MergedRun, Metric, Module, ModuleFile, Origin, Phase, Process, Profile,
    RankSums, RunInfo, SampleTime, Sites, SourceDoubt, SourceFile, Spread, SummedProcess,
    SummedRun, SymbolSource, TailCall, Thread, ThreadAccount, ThreadShare, Tree,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Numbers of every encoded length.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..4_u64, 2 => 245..260_u64, 1 => 65_530..65_540_u64, 2 => any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..4_u32, 1 => any::<u32>()]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..6)
}

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![
        Just(Exit::Unknown),
        any::<u8>().prop_map(Exit::Status),
        any::<u8>().prop_map(Exit::Signal)
    ]
}

fn run() -> impl Strategy<Value = RunInfo> {
    let texts = (".{0,9}", ".{0,9}", ".{0,9}", ".{0,9}", vec(".{0,9}", 0..3));
    (vec(bytes(), 0..3), bytes(), texts, vec(number(), 3), exit(), any::<bool>()).prop_map(
        |(command, directory, (host, cpu, kernel, csprof_version, warnings), times, exit, on)| {
            RunInfo {
                command,
                directory,
                host,
                cpu,
                kernel,
                start_unix_ns: times[0],
                duration_ns: times[1],
                cpu_ns: times[2],
                exit,
                csprof_version,
                trampoline: on,
                warnings,
            }
        },
    )
}

/// Takes choices one after the other, and makes each fit where it is used.
struct Choices {
    numbers: Vec<u64>,
    next: usize,
}

impl Choices {
    fn number(&mut self) -> u64 {
        let number = self.numbers[self.next % self.numbers.len()];
        // Not the same sequence when the choices are used again.
        let turn = (self.next / self.numbers.len()) as u64;
        self.next += 1;
        number ^ turn
    }

    fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn id<I: From<u32>>(&mut self, end: usize) -> I {
        I::from(self.below(end) as u32)
    }

    fn maybe<I: From<u32>>(&mut self, end: usize) -> Option<I> {
        (self.below(3) > 0).then(|| self.id(end))
    }
}

/// Sizes and choices from proptest, so that failures shrink; structure from them by rule.
pub(crate) fn profile() -> impl Strategy<Value = Profile> {
    (
        run(),
        vec(".{0,6}", 1..6),
        vec(small(), 1..4),
        (1..4_usize, 1..9_usize, 0..40_usize),
        vec(number(), 1..200),
        any::<bool>(),
    )
        .prop_map(|(run, strings, pids, (modules, frames, nodes), numbers, resolved)| {
            let mut choices = Choices { numbers, next: 0 };
            let strings = strings.into_iter().map(Into::into).collect();
            let mut profile = Profile { run, strings, ..Profile::default() };
            let period = choices.number().max(1);
            profile.metric = Metric { source: "realtime".into(), unit: "ns".into(), period };
            definitions(&mut profile, &mut choices, &pids, modules, frames);
            if resolved {
                symbols(&mut profile, &mut choices);
            }
            let further = choices.below(4);
            trees(&mut profile, &mut choices, nodes, further > 0);
            for number in 0..further {
                add_metric(&mut profile, &mut choices, number);
            }
            runs(&mut profile, &mut choices);
            accounts(&mut profile, &mut choices);
            structure(&mut profile, &mut choices);
            files(&mut profile, &mut choices);
            for _ in 0..choices.below(3) {
                profile.stages.push("s".repeat(choices.below(8)));
            }
            sources(&mut profile, &mut choices);
            times(&mut profile, &mut choices);
            for epoch in (0..profile.epochs.len()).map(EpochId::from_index) {
                let name = "p".repeat(choices.below(5));
                profile.phases.extend((!name.is_empty()).then_some(Phase { epoch, name }));
            }
            for thread in (0..profile.threads.len()).map(ThreadId::from_index) {
                let (count, apart_ns) = (choices.below(3) as u64, choices.below(1 << 20) as u64);
                let row = EarlierThreads { thread, count, apart_ns };
                profile.earlier.extend((count > 0).then_some(row));
            }
            if choices.below(3) == 0 {
                sum(&mut profile, &mut choices);
            }
            profile
        })
}

/// Makes each process one that another was summed into.
fn sum(profile: &mut Profile, choices: &mut Choices) {
    profile.runs.clear();
    let metrics = profile.further.len() + 1;
    let processes = profile.processes.iter().enumerate().map(|(number, process)| {
        let into = ProcessId::from_index(number);
        let threads: Vec<ThreadId> = profile.threads_of(into).map(|(thread, _)| thread).collect();
        let recorded = |metric| {
            let shares = threads.iter().map(|&thread| profile.share(thread, metric).recorded);
            shares.fold(0, u64::saturating_add)
        };
        let process = Process { rank: process.rank.or(Some(7)), ..process.clone() };
        SummedProcess { process, into, recorded: (0..metrics).map(recorded).collect() }
    });
    let processes: Vec<SummedProcess> = processes.collect();
    let ranks: Vec<u32> = processes.iter().filter_map(|summed| summed.process.rank).collect();
    let mut spreads = Vec::new();
    for tree in &profile.trees {
        let process = profile.threads[tree.thread.index()].process;
        if profile.processes[process.index()].rank.is_some() {
            continue;
        }
        for node in tree.first_node..tree.first_node + tree.node_count {
            for metric in 0..metrics as u8 {
                if choices.below(2) == 0 {
                    let rank = ranks[choices.below(ranks.len())];
                    let of = RankSums::of_rank(rank, choices.number().max(1));
                    spreads.push(Spread { node, metric, of });
                }
            }
        }
    }
    profile.job_sizes = vec![2, 4096];
    profile.summed = vec![SummedRun { info: profile.run.clone(), processes }];
    profile.spreads = spreads;
}

fn definitions(
    profile: &mut Profile,
    choices: &mut Choices,
    pids: &[u32],
    modules: usize,
    frames: usize,
) {
    let strings = profile.strings.len();
    for _ in 0..modules {
        let path: StringId = choices.id(strings);
        let symbols = match choices.below(7) {
            0 => SymbolSource::NotAsked,
            1 => SymbolSource::Dwarf(path),
            2 => SymbolSource::SymbolTable(path),
            3 => SymbolSource::Exports(path),
            4 => SymbolSource::Stripped(path),
            5 => SymbolSource::Unreadable(path),
            _ => SymbolSource::BuildIdDiffers(path),
        };
        profile.modules.push(Module { path, build_id: vec![7; choices.below(5)], symbols });
    }
    for (process, &pid) in pids.iter().enumerate() {
        let process = ProcessId::from_index(process);
        profile.processes.push(Process {
            pid,
            rank: (choices.below(2) == 1).then_some(pid),
            origin: if choices.below(2) == 1 { Origin::Fork } else { Origin::Exec },
            start_ns: choices.number(),
            losses: vec![choices.number(); choices.below(3)],
            ..Process::default()
        });
        for number in 0..choices.below(3) as u32 {
            let reasons = [
                EpochReason::Start,
                EpochReason::AddressReuse,
                EpochReason::Load,
                EpochReason::Request,
            ];
            let mut load_map = Vec::new();
            let mut start = choices.number() >> 8;
            for _ in 0..choices.below(4) {
                let end = start + 1 + choices.number() % 0x1000;
                let (bias, module) = (choices.number(), choices.id(modules));
                load_map.push(Mapping { start, end, bias, module });
                start = end + choices.number() % 2;
            }
            let reason = reasons[choices.below(4)];
            profile.epochs.push(Epoch { process, number, reason, start_ns: 0, load_map });
        }
        for tid in 0..choices.below(4) as u32 {
            profile.threads.push(Thread { process, tid, ..Thread::default() });
        }
    }
    profile.frames.push(Frame { kind: FrameKind::Root, module: None, offset: 0 });
    for _ in 0..frames {
        let offset = choices.number();
        profile.frames.push(match choices.below(4) {
            0 => Frame { kind: FrameKind::Partial, module: None, offset: offset % 5 },
            1 => Frame { kind: FrameKind::Call, module: choices.maybe(modules), offset },
            2 => Frame { kind: FrameKind::Leaf, module: choices.maybe(modules), offset },
            _ => Frame { kind: FrameKind::Interrupted, module: choices.maybe(modules), offset },
        });
    }
}

fn symbols(profile: &mut Profile, choices: &mut Choices) {
    let (strings, modules) = (profile.strings.len(), profile.modules.len());
    for _ in 0..choices.below(4) {
        profile.functions.push(Function {
            name: choices.id(strings),
            module: choices.id::<ModuleId>(modules),
            file: choices.maybe(strings),
            line: choices.number() as u32,
        });
    }
    let functions = profile.functions.len();
    let sites = &mut profile.sites;
    sites.first.push(0);
    for _ in 0..profile.frames.len() {
        for _ in 0..if functions > 0 { choices.below(3) } else { 0 } {
            sites.function.push(choices.id::<FunctionId>(functions));
            sites.file.push(choices.maybe(strings));
            sites.line.push(choices.number() as u32);
        }
        sites.first.push(sites.function.len() as u32);
    }
    if choices.below(5) == 0 {
        *sites = Sites::default();
    }
}

/// Sums of samples stop at 2^64 - 1 unless they are to be `divided`.
fn trees(profile: &mut Profile, choices: &mut Choices, most: usize, divided: bool) {
    let shift = if divided { 16 } else { 0 };
    for thread in 0..profile.threads.len() {
        let before = profile.nodes.len();
        for epoch in 0..profile.epochs.len() {
            if profile.threads[thread].process != profile.epochs[epoch].process {
                continue;
            }
            let root = profile.nodes.push(profile.nodes.len() as u32, FrameId(0), 0, 0);
            let count = choices.below(most + 1);
            let mut last = root;
            for _ in 0..count {
                for _ in 0..choices.below(3) {
                    last = profile.nodes.parent[last as usize];
                }
                // Frame 0 is the root's, frame 1 is always there.
                let frame = FrameId(1 + choices.below(profile.frames.len() - 1) as u32);
                let (samples, edges) = (choices.number() >> shift, choices.number());
                last = profile.nodes.push(last, frame, samples, edges);
            }
            profile.trees.push(Tree {
                thread: ThreadId::from_index(thread),
                epoch: EpochId::from_index(epoch),
                first_node: root,
                node_count: count as u32 + 1,
            });
        }
        let sum = |values: &[u64]| values.iter().fold(0_u64, |sum, &n| sum.saturating_add(n));
        let recorded = sum(&profile.nodes.samples[before..]);
        let losses = vec![choices.number() >> shift; choices.below(4)];
        let this = &mut profile.threads[thread];
        this.signals = choices.number();
        this.recorded = recorded;
        this.partial = recorded / 2;
        this.delivered = recorded.saturating_add(sum(&losses));
        this.losses = losses;
    }
}

/// Adds a metric, and gives it some of the samples that are left to the first one.
fn add_metric(profile: &mut Profile, choices: &mut Choices, number: usize) {
    let source = format!("source {number}");
    let metric = Metric { source, unit: "ns".into(), period: choices.number().max(1) };
    let mut further = FurtherMetric { metric, ..FurtherMetric::default() };
    let mut rest = profile.nodes.samples.clone();
    for &(node, samples) in profile.further.iter().flat_map(|other| &other.samples) {
        rest[node as usize] -= samples;
    }
    further.threads.resize(profile.threads.len(), ThreadShare::default());
    for tree in &profile.trees {
        let share = &mut further.threads[tree.thread.index()];
        for node in tree.first_node..tree.first_node + tree.node_count {
            let most = if choices.below(2) == 1 { rest[node as usize] } else { 0 };
            let samples = choices.number().min(most);
            if samples > 0 {
                further.samples.push((node, samples));
                share.recorded += samples;
            }
        }
    }
    for (thread, share) in further.threads.iter_mut().enumerate() {
        let rest = profile.share(ThreadId::from_index(thread), 0);
        share.delivered = share.recorded + choices.number().min(rest.delivered - rest.recorded);
        share.partial = share.recorded / 2;
        share.signals = choices.number().min(rest.signals);
    }
    profile.further.push(further);
    for thread in 0..profile.threads.len() {
        let shares =
            (0..=profile.further.len()).map(|m| profile.share(ThreadId::from_index(thread), m));
        profile.threads[thread].partial = shares.map(|share| share.recorded / 2).sum();
    }
}

/// Divides the processes among runs, of half of the profiles.
fn runs(profile: &mut Profile, choices: &mut Choices) {
    let mut left = profile.processes.len() as u32;
    while left > 0 && choices.below(2) == 1 {
        let processes = 1 + choices.below(left as usize) as u32;
        left -= processes;
        profile.runs.push(MergedRun { info: profile.run.clone(), processes });
    }
    if let Some(last) = profile.runs.last_mut() {
        last.processes += left;
    }
}

/// Accounts of half of the profiles.
fn accounts(profile: &mut Profile, choices: &mut Choices) {
    if choices.below(2) == 0 {
        return;
    }
    for process in 0..profile.processes.len() {
        let threads = profile.threads.iter().filter(|thread| thread.process.index() == process);
        let threads = threads
            .map(|thread| ThreadAccount { cpu_before_ns: thread.cpu_ns, late: thread.delivered });
        let threads: Vec<_> = threads.collect();
        let mut number = || choices.below(1 << 20) as u64;
        profile.accounts.push(Account {
            cpu_before_ns: number(),
            cpu_ns: number(),
            unsampled_threads: number(),
            foreign_signals: number(),
            arena_bytes: number(),
            nodes: number(),
            node_bytes: number(),
            table_bytes: number(),
            private_bytes: number(),
            threads,
        });
    }
}

/// Files of some modules without a build id.
fn files(profile: &mut Profile, choices: &mut Choices) {
    for (number, module) in profile.modules.iter().enumerate() {
        let is_nameless = module.build_id.is_empty();
        for _ in 0..if is_nameless { choices.below(3) } else { 0 } {
            let file = FileIdentity {
                device: choices.number(),
                inode: choices.number(),
                size: choices.number(),
                modified_ns: choices.number(),
                changed_ns: choices.number(),
            };
            profile.files.push(ModuleFile { module: ModuleId::from_index(number), file });
        }
    }
    profile.files.sort_unstable();
    profile.files.dedup();
}

fn sources(profile: &mut Profile, choices: &mut Choices) {
    let (strings, modules) = (profile.strings.len(), profile.modules.len());
    for _ in 0..if strings > 0 && modules > 0 { choices.below(3) } else { 0 } {
        let mut file = SourceFile {
            path: choices.id(strings),
            digest: choices.number(),
            doubt: [SourceDoubt::None, SourceDoubt::NewerThanModule, SourceDoubt::ChangedAfterRun]
                [choices.below(3)],
            is_of_run: choices.below(2) == 0,
            modules: vec![choices.id(modules)],
            ..SourceFile::default()
        };
        for number in 1..10 {
            if choices.below(2) == 0 {
                file.push(number, &"x".repeat(choices.below(4)));
            }
            file.lines = number;
        }
        profile.sources.push(file);
    }
    profile.sources.sort_by_key(|file| (file.path, file.digest, file.lines));
    profile.sources.dedup_by_key(|file| (file.path, file.digest, file.lines));
}

/// Times of some samples of each node, metric by metric.
fn times(profile: &mut Profile, choices: &mut Choices) {
    for tree in &profile.trees {
        let mut rows = Vec::new();
        for node in tree.first_node..tree.first_node + tree.node_count {
            for metric in 0..=profile.further.len() {
                let left = profile.samples_of(node, metric).min(u32::MAX.into());
                if left > 0 && choices.below(3) == 0 {
                    let samples = 1 + (choices.number() % left) as u32;
                    let (time_us, metric) = (choices.number(), metric as u8);
                    rows.push(SampleTime { time_us, node, metric, samples });
                }
            }
        }
        rows.sort_by_key(SampleTime::place);
        profile.times.extend(rows);
    }
}

/// Loops and tail calls of half of the profiles.
fn structure(profile: &mut Profile, choices: &mut Choices) {
    if profile.modules.is_empty() || choices.below(2) == 0 {
        return;
    }
    let structure = &mut profile.structure;
    for _ in 0..=choices.below(4) {
        let file = (choices.below(2) == 0 && !profile.strings.is_empty())
            .then(|| StringId::from_index(choices.below(profile.strings.len())));
        structure.loops.push(Loop {
            module: ModuleId::from_index(choices.below(profile.modules.len())),
            offset: choices.below(1 << 20) as u64,
            file,
            line: choices.below(1 << 10) as u32,
            irreducible: choices.below(2) == 0,
        });
    }
    for frame in (0..profile.frames.len()).map(FrameId::from_index) {
        for row in 0..profile.sites.rows(frame).len().max(1) {
            let number = choices.below(2 * structure.loops.len());
            if number < structure.loops.len() {
                let (row, number) = (row as u32, number as u32);
                structure.in_loops.push(InLoop { frame, row, number });
            }
        }
        if !profile.functions.is_empty() && choices.below(3) == 0 {
            let mut via = Vec::new();
            for _ in 0..=choices.below(3) {
                via.push(FunctionId::from_index(choices.below(profile.functions.len())));
            }
            let callee = FrameId::from_index(choices.below(profile.frames.len()));
            structure.tail_calls.push(TailCall { caller: frame, callee, via });
        }
    }
}
