//! Gathers the arenas of a run into one saved profile.
//!
//! In the life of a sample this is where it leaves its process: a runtime address, which means
//! something only in its epoch, becomes an offset in a load module, which means the same on any
//! machine that has the file. The nodes of each thread and epoch become a tree in pre-order.
//!
//! Invariant: for every thread, `delivered = recorded + Σ losses`, and `recorded` is the sum of
//! the thread's nodes. Where a damaged arena breaks that, the difference is booked as
//! [`LossReason::Unreadable`] and a warning says so; what a process was about to record when it
//! was killed, as [`LossReason::CutShort`]. Nothing is left out silently.

mod handovers;
mod kernel;
mod placed;
mod times;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::arena::{
    FLAG_EXECED, FLAG_PACED, FLAG_PLACELESS, FLAG_STOPPED, FLAG_TIMES, FLAG_TRAMPOLINE, LeftOut,
    LoadRecord, LogRecord, MOST_PHASES, epoch_reason,
};
use csprof_format::file_identity::FileIdentity;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::launch::SampleSources;
use csprof_format::loss::LossReason;
use csprof_format::profile::{
    Account, EarlierThreads, Epoch, EpochReason, Frame, Function, GENERATED_CODE, HANDOVERS,
    KERNEL, Module, ModuleFile, Origin, Phase, Process, Profile, RunInfo, SymbolSource, Thread,
    ThreadAccount, Tree, WAITS,
};

use self::kernel::Kernel;
use self::placed::{
    Children, EpochAndPhase, PlacedNodes, code_address, mappings_of_phases, placed_nodes,
};
use super::arena_read::{Arena, ArenaThread};
use super::generated::{NameFiles, Names};
use super::leaks;
use super::load_map::{LoadMaps, load_maps};
use super::metrics::{ByMetric, Metrics};
use super::python;
use super::run_phases::RunPhases;
use super::spawn::Naming;
use super::time_slices::RunPhase;
use crate::left_out::LeftOutProcesses;

/// What `record` knows about the run besides its arenas.
#[derive(Clone, Debug)]
pub struct Run {
    /// Command, machine, clocks and exit, without warnings from gathering.
    pub info: RunInfo,
    /// The sample sources that were asked for.
    pub sources: SampleSources,
    /// `CLOCK_MONOTONIC` at the start of the run, in nanoseconds.
    pub start_ns: u64,
    /// Process id of the program that was started, if known.
    pub pid: Option<u32>,
    /// Which runtimes were told to name the code that they generate.
    pub naming: Naming,
    /// The phases that all processes were told to be in.
    pub phases: RunPhases,
    /// The [start of the machine](super::kernel_symbols::boot) that it was in; empty if that is not
    /// known.
    pub boot: String,
}

/// Turns the arenas of a run into a profile without symbols, but for those of generated code, which
/// are in the processes' own `files`.
#[must_use]
pub fn gather(run: &Run, mut arenas: Vec<Arena>, files: &mut dyn NameFiles) -> Profile {
    arenas.sort_by_key(|arena| (arena.header.start_ns, arena.header.pid));
    arenas.iter_mut().for_each(leaks::settle);
    let mut profile = Profile { run: run.info.clone(), ..Profile::default() };
    let mut budget = handovers::Budget::new(&arenas);
    for arena in &mut arenas {
        let unknown = handovers::settle(arena, &mut budget);
        if unknown > 0 {
            profile.run.warnings.push(format!(
                "process {}: {unknown} contexts that handed work to other threads are missing, or cannot \
                 be followed; that work is below the starts of the threads",
                arena.header.pid
            ));
        }
    }
    let metrics = Metrics::of(run.sources, &arenas, &mut profile.run.warnings);
    metrics.enter(&mut profile);
    let mut gathering = Gathering {
        profile,
        metrics,
        timed: [0; 2],
        of_other_clock: 0,
        run_start_ns: run.start_ns,
        phases: run.phases.named(run.info.duration_ns),
        strings: HashMap::new(),
        modules: HashMap::new(),
        frames: HashMap::new(),
        generated: Generated::default(),
        kernel: Kernel::of(&run.boot),
        epochs_of_arena: Vec::new(),
    };
    gathering.profile.run.trampoline =
        arenas.iter().any(|arena| arena.header.flags & FLAG_TRAMPOLINE != 0);
    // Clocks of CPU time go on through exec, so the next arena of the process begins with what this
    // one used.
    let mut used_before_exec: HashMap<(u32, u32), u64> = HashMap::new();
    for (number, arena) in arenas.iter().enumerate() {
        let header = &arena.header;
        let process = (header.pid, header.parent_pid);
        let earlier = used_before_exec.remove(&process).filter(|_| header.forked == 0).unwrap_or(0);
        if header.flags & FLAG_EXECED != 0 {
            used_before_exec.insert(process, header.cpu_ns);
        }
        gathering.process(arena, earlier, &family(&arenas[..=number]), files);
    }
    if let Some(found) = gathering.kernel.source() {
        let module = gathering.module(KERNEL.as_bytes(), &[], None);
        gathering.profile.modules[module.index()].symbols = match found {
            Ok(file) => SymbolSource::SymbolTable(gathering.string(file)),
            Err(why) => {
                let warning = format!("functions of the kernel's have no names: {why}");
                gathering.profile.run.warnings.push(warning);
                SymbolSource::Unreadable(gathering.string(&why))
            }
        };
    }
    gathering.finish_generated();
    gathering.finish_times();
    let mut profile = gathering.profile;
    if run.naming.python {
        python::save_stage(&mut profile);
    }
    // After exec in place several processes carry the program's id; the last of them ended.
    if let Some(process) =
        profile.processes.iter_mut().rfind(|process| Some(process.pid) == run.pid)
    {
        process.exit = run.info.exit;
    }
    profile
}

struct Gathering {
    profile: Profile,
    metrics: Metrics,
    /// Samples of which times were to be kept, and those of which they are.
    timed: [u64; 2],
    /// Samples with a time before their process began, or behind the end of the run.
    of_other_clock: u64,
    run_start_ns: u64,
    phases: Vec<RunPhase>,
    strings: HashMap<String, StringId>,
    modules: HashMap<ModuleKey, ModuleId>,
    frames: HashMap<Frame, FrameId>,
    generated: Generated,
    kernel: Kernel,
    /// The number that each epoch of the profile has in its arena: that of the load map.
    epochs_of_arena: Vec<u32>,
}

/// A process, the last of these, and those that it was forked from without an exec in between: its
/// parent, and so on.
fn family(arenas: &[Arena]) -> Vec<&Arena> {
    /// More generations of forks have no names of generated code.
    const MOST: usize = 16;
    let Some((own, before)) = arenas.split_last() else { return Vec::new() };
    let mut family = vec![own];
    let mut before = before;
    while let Some(child) = family.last().filter(|child| child.header.forked != 0)
        && family.len() < MOST
    {
        let is_parent = |arena: &Arena| arena.header.pid == child.header.parent_pid;
        let Some(parent) = before.iter().rposition(is_parent) else { break };
        family.push(&before[parent]);
        before = &before[..parent];
    }
    family
}

/// What makes two loads one module: path, build id, and the file if it has none.
type ModuleKey = (Vec<u8>, Vec<u8>, Option<FileIdentity>);

/// Frames of generated code: what of them is known by the files of their processes.
#[derive(Default)]
struct Generated {
    /// The pseudo module that they are in, once there are any.
    module: Option<ModuleId>,
    /// Of the present process.
    names: Names,
    functions: HashMap<Function, FunctionId>,
    /// The sites of each frame of the module, and of those of the kernel.
    sites: HashMap<FrameId, Site>,
    /// The meanings that each address has had, at most 256.
    meanings: HashMap<(FrameKind, u64), Vec<Site>>,
    /// What was read, for people.
    sources: Vec<String>,
    /// What was told of it.
    warnings: HashSet<String>,
}

/// Function, file and line that stand for a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Site {
    function: FunctionId,
    file: Option<StringId>,
    line: u32,
}

/// Addresses have 56 bits: above them is which of its meanings an address of generated code has.
const MEANING_SHIFT: u32 = 56;

impl Gathering {
    /// Adds a process, which used `earlier_ns` of CPU time before it executed this program; it is
    /// the first of its [`family`].
    fn process(
        &mut self,
        arena: &Arena,
        earlier_ns: u64,
        family: &[&Arena],
        files: &mut dyn NameFiles,
    ) {
        let header = &arena.header;
        let id = ProcessId::from_index(self.profile.processes.len());
        let name = format!("process {}", header.pid);
        self.profile
            .run
            .warnings
            .extend(arena.damage.iter().map(|damage| format!("{name}: {damage}")));

        let mut command = Vec::new();
        let mut messages = Vec::new();
        for (_, record) in &arena.log {
            match record {
                LogRecord::Command(arguments) => command.clone_from(arguments),
                LogRecord::Message(text) => messages.push(text.clone()),
                LogRecord::Load(_)
                | LogRecord::Unload { .. }
                | LogRecord::Epoch { .. }
                | LogRecord::Phase { .. }
                | LogRecord::PerfMap { .. }
                | LogRecord::Jitdump(_)
                | LogRecord::Temporary { .. }
                | LogRecord::PhaseFunction { .. } => {}
            }
        }
        if arena.entries.last().is_some_and(|last| last.time_ns > 0) {
            messages.push(format!(
                "--phase-at: {MOST_PHASES} entries began a phase, as many as may: if there were \
                 further ones, what was sampled after them is in no phase"
            ));
        }
        if header.flags & FLAG_PACED != 0 {
            messages.push(
                "interruptions by realtime took more than an eighth of the program's CPU time and \
                 a twentieth of a processor together: threads were interrupted less often, and \
                 each sample stands for several periods"
                    .to_owned(),
            );
        }
        if header.flags & FLAG_STOPPED != 0 {
            messages.push(
                "the process stops at each sample for its tracer (strace, a debugger), and would \
                 take more than an eighth of the elapsed time for that: threads were sampled less \
                 often, and each sample stands for several periods"
                    .to_owned(),
            );
        }
        if header.flags & FLAG_PLACELESS != 0 {
            messages.push(kernel::SOME_ARE_PLACELESS.to_owned());
        }
        for reason in LeftOut::ALL {
            let number = header.left_out[reason as usize];
            if number > 0 {
                let name = header.left_out_names[reason as usize];
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(name);
                messages.push(LeftOutProcesses::new(number.into(), &name, reason).to_string());
            }
        }
        // One of one has no job around it, or it is another one that a launcher started in that.
        if header.rank_plus_one > 0 && header.ranks > 1 {
            let sizes = &mut self.profile.job_sizes;
            if let Err(place) = sizes.binary_search(&header.ranks) {
                sizes.insert(place, header.ranks);
            }
        }
        self.profile.processes.push(Process {
            pid: header.pid,
            parent_pid: header.parent_pid,
            rank: header.rank_plus_one.checked_sub(1),
            command,
            origin: if header.forked == 0 { Origin::Exec } else { Origin::Fork },
            exit: Default::default(),
            start_ns: self.since_start(header.start_ns),
            end_ns: self.since_start(header.end_ns),
            losses: header.losses[..LossReason::COUNT].to_vec(),
            messages,
        });

        self.profile.accounts.push(account(arena, earlier_ns));

        let mut load_maps = load_maps(&arena.log);
        load_maps.begin_by_functions(arena);
        load_maps.enter(&self.phases);
        let mut trees = Vec::new();
        for thread in &arena.threads {
            trees.push(placed_nodes(thread, &mut load_maps));
        }
        self.profile
            .run
            .warnings
            .extend(load_maps.warnings.drain(..).map(|warning| format!("{name}: {warning}")));

        let epochs = self.epochs(id, arena, &load_maps, &trees);
        self.name_generated(&name, arena, &trees, &load_maps, family, files);
        let mut unreadable = 0;
        for (thread, placed) in arena.threads.iter().zip(trees) {
            // Node 0 is none.
            let nodes = 1 + placed.by_epoch.values().map(Vec::len).sum::<usize>();
            let missing = if arena.damage.is_empty() && nodes >= thread.nodes.len() {
                LossReason::CutShort
            } else {
                LossReason::Unreadable
            };
            let before = self.profile.times.len();
            let unplaced = self.thread(id, thread, &placed, &epochs, missing);
            unreadable += if missing == LossReason::Unreadable { unplaced } else { 0 };
            if header.flags & FLAG_TIMES != 0 {
                let timed = self.profile.times[before..].iter().map(|row| u64::from(row.samples));
                let recorded = self.profile.threads.last().map_or(0, |thread| thread.recorded);
                let sources = leaks::sources_of(arena).into_iter();
                let of_blocks = sources.map(|source| leaks::samples_of(thread, source));
                let without = sum(&of_blocks.collect::<Vec<_>>());
                self.timed[0] = self.timed[0].saturating_add(recorded.saturating_sub(without));
                self.timed[1] = self.timed[1].saturating_add(timed.sum());
            }
        }
        if unreadable > 0 {
            self.profile.run.warnings.push(format!(
                "{name}: {unreadable} samples could not be placed and are counted as lost ({})",
                LossReason::Unreadable.key()
            ));
        }
    }

    /// Adds the epochs of a process, in order of their numbers, and for each phase that began or
    /// has nodes in one a further epoch, in which addresses mean the same, with the mappings that
    /// its nodes are in: copies of all would be as many as phases times mappings. Returns which is
    /// where.
    fn epochs(
        &mut self,
        process: ProcessId,
        arena: &Arena,
        load_maps: &LoadMaps<'_>,
        trees: &[PlacedNodes],
    ) -> BTreeMap<EpochAndPhase, EpochId> {
        let used = mappings_of_phases(arena, load_maps, trees);
        let mut places: BTreeMap<EpochAndPhase, EpochId> = BTreeMap::new();
        let of_phases =
            load_maps.phases.iter().filter_map(|(&phase, begin)| Some((begin.epoch?, phase)));
        let with_nodes = trees.iter().flat_map(|placed| placed.by_epoch.keys().copied());
        let without_phase = load_maps.epochs.keys().map(|&epoch| (epoch, 0));
        for place in without_phase.chain(of_phases).chain(with_nodes) {
            places.insert(place, EpochId::default());
        }
        let has_phases = places.keys().any(|&(_, phase)| phase > 0);
        for (number, (&(epoch, phase), id)) in (0..).zip(&mut places) {
            let known = load_maps.epochs.get(&epoch);
            let mappings = known.map_or(&[][..], |known| &known.mappings);
            let used = used.get(&(epoch, phase));
            // The first one is the program, by which comparisons find what is the same.
            let is_kept =
                |at: usize| phase == 0 || at == 0 || used.is_some_and(|used| used.contains(&at));
            let mappings = mappings.iter().enumerate().filter(|&(at, _)| is_kept(at));
            let load_map = mappings.map(|(_, placed)| {
                let module = self.module_of(placed.load);
                placed.mapping(module)
            });
            let load_map = load_map.collect();
            let begin = load_maps.phases.get(&phase);
            let reason = match known.map_or(epoch_reason::START, |known| known.reason) {
                _ if phase > 0 => EpochReason::Request,
                epoch_reason::ADDRESS_REUSE => EpochReason::AddressReuse,
                epoch_reason::LOAD => EpochReason::Load,
                epoch_reason::REQUEST => EpochReason::Request,
                _ => EpochReason::Start,
            };
            let of_epoch = known.map_or(0, |known| known.start_ns);
            let start_ns = begin.map_or(0, |begin| begin.start_ns).max(of_epoch);
            let start_ns = self.since_start(start_ns.max(arena.header.start_ns));
            *id = EpochId::from_index(self.profile.epochs.len());
            let number = if has_phases { number } else { epoch };
            self.profile.epochs.push(Epoch { process, number, reason, start_ns, load_map });
            self.epochs_of_arena.push(epoch);
            if let Some(begin) = begin {
                let name = String::from_utf8_lossy(&begin.name).into_owned();
                self.profile.phases.push(Phase { epoch: *id, name });
            }
        }
        places
    }

    /// Adds a thread with its trees. Returns how many of its samples could not be placed, which are
    /// `missing`.
    fn thread(
        &mut self,
        process: ProcessId,
        thread: &ArenaThread,
        placed: &PlacedNodes,
        epochs: &BTreeMap<EpochAndPhase, EpochId>,
        missing: LossReason,
    ) -> u64 {
        let id = ThreadId::from_index(self.profile.threads.len());
        let record = &thread.record;
        let name_length = record.name.iter().position(|&byte| byte == 0).unwrap_or(16);

        let mut by_metric = ByMetric::default();
        let mut numbers = Numbers::of(thread);
        for (place, &epoch) in epochs {
            let Some(nodes) = placed.by_epoch.get(place) else { continue };
            self.tree(id, epoch, thread, nodes, &mut by_metric, &mut numbers);
        }
        self.times(thread, process, &numbers);
        let recorded = sum(&by_metric);

        let mut losses = record.losses[..LossReason::COUNT].to_vec();
        let listed = sum(&losses);
        // A sample is counted as delivered before it is recorded, so in a process that was
        // interrupted the tree may lack one; in a running one it may be ahead of the counter.
        let unreadable = record.delivered.saturating_sub(recorded.saturating_add(listed));
        losses[missing as usize] = losses[missing as usize].saturating_add(unreadable);
        let lost = sum(&losses);
        let shares = self.metrics.shares(record, &by_metric, lost);
        for (metric, share) in self.profile.further.iter_mut().zip(&shares[1..]) {
            metric.threads.push(*share);
        }

        self.profile.threads.push(Thread {
            process,
            tid: record.tid,
            name: record.name[..name_length].to_vec(),
            signals: record.signals,
            delivered: recorded.saturating_add(lost),
            recorded,
            partial: sum(&shares.map(|share| share.partial)),
            losses,
            returns: record.returns,
            lost_returns: record.lost_returns,
            cpu_ns: record.cpu_ns,
            start_ns: self.since_start(record.start_ns),
            end_ns: self.since_start(record.end_ns),
        });
        let (count, apart_ns) = (record.earlier, record.apart_ns);
        let row = EarlierThreads { thread: id, count, apart_ns };
        self.profile.earlier.extend((count > 0).then_some(row));
        unreadable
    }

    /// Adds the tree of a thread in an epoch, in pre-order, and its samples to `recorded`.
    ///
    /// The children of a node are ordered by module and offset, so that two runs of a program give
    /// trees that look alike; those that differ in the metric of their samples only become one.
    /// Paths can be 10^5 frames deep, so nothing here recurses.
    fn tree(
        &mut self,
        thread: ThreadId,
        epoch: EpochId,
        arena: &ArenaThread,
        members: &[u32],
        recorded: &mut ByMetric,
        numbers: &mut Numbers,
    ) {
        let frames: Vec<FrameId> = {
            let mut seen: HashMap<FrameKey, FrameId> = HashMap::new();
            members
                .iter()
                .map(|&node| match arena.nodes[node as usize].key {
                    Some(key) => *seen.entry(key).or_insert_with(|| self.frame(epoch, key)),
                    None => FrameId(0), // placed nodes have a key
                })
                .collect()
        };
        let children = Children::of(arena, members, |place| {
            let frame = self.profile.frames[frames[place].index()];
            (frame.module, frame.offset, frame.kind as u8)
        });

        let Profile { nodes, further, trees, .. } = &mut self.profile;
        let Ok(first_node) = u32::try_from(nodes.len()) else { return };
        if nodes.len() + members.len() >= u32::MAX as usize {
            return; // more nodes than a profile can number: the caller books them as lost
        }
        let node_of = |place: u32| &arena.nodes[members[place as usize] as usize];
        let is_same = |&a: &u32, &b: &u32| {
            let key = |place| node_of(place).key.map(|key| key.of_metric(0));
            let is_kernel = || key(a).is_some_and(|key| key.kind() == FrameKind::Kernel);
            // All places in a function of the kernel's are one frame.
            key(a) == key(b) || frames[a as usize] == frames[b as usize] && is_kernel()
        };
        // All roots of an epoch are one root; a sound arena has one.
        let mut stack: Vec<(&[u32], u32)> = vec![(children.roots(), first_node)];
        while let Some((group, parent)) = stack.pop() {
            let id = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            let (mut samples, mut edges) = (ByMetric::default(), 0u64);
            for node in group.iter().map(|&place| node_of(place)) {
                let metric = self.metrics.of_source(node.key.map_or(0, FrameKey::metric));
                samples[metric] = samples[metric].saturating_add(node.samples);
                edges = edges.saturating_add(node.edges);
            }
            let frame = group.first().map_or(FrameId(0), |&place| frames[place as usize]);
            nodes.push(parent, frame, sum(&samples), edges);
            for (metric, &samples) in further.iter_mut().zip(&samples[1..]) {
                if samples > 0 {
                    metric.samples.push((id, samples));
                }
            }
            for (sum, samples) in recorded.iter_mut().zip(samples) {
                *sum = sum.saturating_add(samples);
            }
            for &place in group {
                numbers.enter(members[place as usize], id);
            }
            for &place in group.iter().rev() {
                let groups = children.below(place as usize).chunk_by(is_same).rev();
                stack.extend(groups.map(|group| (group, id)));
            }
        }
        let node_count = u32::try_from(nodes.len()).unwrap_or(u32::MAX) - first_node;
        trees.push(Tree { thread, epoch, first_node, node_count });
    }

    fn frame(&mut self, epoch: EpochId, key: FrameKey) -> FrameId {
        let address = key.address();
        let kind = key.kind();
        let (module, offset) = match kind {
            FrameKind::Root => (None, 0),
            FrameKind::Partial => (None, address),
            FrameKind::Wait => return self.made_up_frame(FrameKind::Leaf, WAITS, address),
            FrameKind::Kernel => return self.kernel_frame(key),
            FrameKind::Handover => {
                return self.made_up_frame(FrameKind::Call, HANDOVERS, address);
            }
            FrameKind::Call | FrameKind::Leaf | FrameKind::Interrupted => {
                let load_map = &self.profile.epochs[epoch.index()].load_map;
                let lookup = address.wrapping_sub(kind.lookup_bias());
                let after = load_map.partition_point(|mapping| mapping.start <= lookup);
                match after.checked_sub(1).map(|place| load_map[place]) {
                    Some(mapping) if lookup < mapping.end => {
                        (Some(mapping.module), address.wrapping_sub(mapping.bias))
                    }
                    _ => match self.generated_frame(epoch, key) {
                        Some(frame) => (frame.module, frame.offset),
                        None => (None, address),
                    },
                }
            }
        };
        self.intern(Frame { kind, module, offset })
    }

    /// The frame of a pseudo module with this number: of waits, that of a system call.
    fn made_up_frame(&mut self, kind: FrameKind, module: &str, number: u64) -> FrameId {
        let module = Some(self.module(module.as_bytes(), &[], None));
        self.intern(Frame { kind, module, offset: number })
    }

    /// The frame of a place in the kernel: of the function there, if its name is known.
    fn kernel_frame(&mut self, key: FrameKey) -> FrameId {
        let Some((name, offset)) = self.kernel.function(key) else {
            return self.made_up_frame(FrameKind::Leaf, KERNEL, 0);
        };
        let id = self.made_up_frame(FrameKind::Leaf, KERNEL, offset);
        if let Some(module) = self.profile.frames[id.index()].module
            && !self.generated.sites.contains_key(&id)
        {
            let name = self.string(&format!("{KERNEL} {name}"));
            let function = FunctionId::from_index(self.profile.functions.len());
            self.profile.functions.push(Function { name, module, file: None, line: 0 });
            self.generated.sites.insert(id, Site { function, file: None, line: 0 });
        }
        id
    }

    /// Finds the names of what the nodes of a process have outside all load modules.
    fn name_generated(
        &mut self,
        name: &str,
        arena: &Arena,
        trees: &[PlacedNodes],
        load_maps: &LoadMaps<'_>,
        family: &[&Arena],
        files: &mut dyn NameFiles,
    ) {
        let mut addresses: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for (thread, placed) in arena.threads.iter().zip(trees) {
            for ((number, _), nodes) in &placed.by_epoch {
                let mappings = load_maps.epochs.get(number).map_or(&[][..], |map| &map.mappings);
                let keys = nodes.iter().filter_map(|&node| thread.nodes[node as usize].key);
                let lookups = keys.filter_map(code_address).filter(|lookup| {
                    let after = mappings.partition_point(|mapping| mapping.start <= *lookup);
                    after.checked_sub(1).is_none_or(|place| mappings[place].end <= *lookup)
                });
                addresses.entry(*number).or_default().extend(lookups);
            }
        }
        addresses.retain(|_, of_epoch| !of_epoch.is_empty());
        self.generated.names = Names::default();
        if addresses.is_empty() {
            return;
        }
        let mut names = Names::find(addresses, family, files);
        for warning in names.warnings.drain(..) {
            // A child asks its parent's files, too.
            if self.generated.warnings.insert(warning.clone()) {
                self.profile.run.warnings.push(format!("{name}: {warning}"));
            }
        }
        for source in names.sources.drain(..) {
            if !self.generated.sources.contains(&source) {
                self.generated.sources.push(source);
            }
        }
        self.generated.names = names;
    }

    /// The frame of generated code at an address, if a file names it.
    fn generated_frame(&mut self, epoch: EpochId, key: FrameKey) -> Option<Frame> {
        let (kind, address) = (key.kind(), key.address());
        let number = self.epochs_of_arena[epoch.index()];
        let (symbol, line) = self.generated.names.at(number, code_address(key)?)?;
        let (symbol, line) = (symbol.clone(), line.cloned());
        let module = self.module(GENERATED_CODE.as_bytes(), &[], None);
        self.generated.module = Some(module);
        let function = Function {
            name: self.string(&symbol.name),
            module,
            file: symbol.file.as_deref().map(|file| self.string(file)),
            line: symbol.line,
        };
        let functions = &mut self.profile.functions;
        let function = *self.generated.functions.entry(function).or_insert_with_key(|function| {
            functions.push(function.clone());
            FunctionId::from_index(functions.len() - 1)
        });
        let file = line.as_ref().map(|(file, _)| self.string(file));
        let site = Site { function, file, line: line.map_or(0, |(_, line)| line) };
        let meanings = self.generated.meanings.entry((kind, address)).or_default();
        let meaning = meanings.iter().position(|known| *known == site).unwrap_or_else(|| {
            meanings.push(site);
            meanings.len() - 1
        });
        // Of an address that has more, the rest stays without a name.
        let meaning = u8::try_from(meaning).ok()?;
        let offset = address | u64::from(meaning) << MEANING_SHIFT;
        let frame = Frame { kind, module: Some(module), offset };
        let id = self.intern(frame);
        self.generated.sites.insert(id, site);
        Some(frame)
    }

    /// Enters the functions of generated code as what the frames resolved to.
    fn finish_generated(&mut self) {
        /// Files that the text for people lists.
        const LISTED: usize = 8;
        let Self { profile, generated, .. } = self;
        if generated.sites.is_empty() {
            return;
        }
        profile.sites.first.push(0);
        for frame in 0..profile.frames.len() {
            if let Some(site) = generated.sites.get(&FrameId::from_index(frame)) {
                profile.sites.function.push(site.function);
                profile.sites.file.push(site.file);
                profile.sites.line.push(site.line);
            }
            let end = u32::try_from(profile.sites.function.len()).unwrap_or(u32::MAX);
            profile.sites.first.push(end);
        }
        let Some(module) = generated.module else { return };
        let mut text = generated
            .sources
            .iter()
            .take(LISTED)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let more = generated.sources.len().saturating_sub(LISTED);
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        let source = self.string(&text);
        self.profile.modules[module.index()].symbols = SymbolSource::SymbolTable(source);
    }

    fn string(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        self.profile.strings.push(text.into());
        let id = StringId::from_index(self.profile.strings.len() - 1);
        self.strings.insert(text.to_owned(), id);
        id
    }

    fn intern(&mut self, frame: Frame) -> FrameId {
        *self.frames.entry(frame).or_insert_with(|| {
            self.profile.frames.push(frame);
            FrameId::from_index(self.profile.frames.len() - 1)
        })
    }

    fn module_of(&mut self, load: &LoadRecord) -> ModuleId {
        let file = load.file.filter(|_| load.build_id.is_empty());
        self.module(&load.path, &load.build_id, file)
    }

    fn module(&mut self, path: &[u8], build_id: &[u8], file: Option<FileIdentity>) -> ModuleId {
        let key = (path.to_vec(), build_id.to_vec(), file);
        if let Some(&id) = self.modules.get(&key) {
            return id;
        }
        let path_id = self.string(&String::from_utf8_lossy(path));
        let id = ModuleId::from_index(self.profile.modules.len());
        self.profile.modules.push(Module {
            path: path_id,
            build_id: build_id.to_vec(),
            ..Module::default()
        });
        self.modules.insert(key, id);
        // In order: ids ascend, and each has one.
        self.profile.files.extend(file.map(|file| ModuleFile { module: id, file }));
        id
    }

    /// A `CLOCK_MONOTONIC` of the arena as time since the start of the run; 0 stays 0 (unknown).
    fn since_start(&self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(self.run_start_ns)
    }
}

/// The number that each node of a thread's arena has in the profile, where its samples have times.
struct Numbers(Vec<u32>);

impl Numbers {
    const NONE: u32 = u32::MAX;

    fn of(thread: &ArenaThread) -> Self {
        Self(if thread.times.is_empty() {
            Vec::new()
        } else {
            vec![Self::NONE; thread.nodes.len()]
        })
    }

    fn enter(&mut self, node: u32, number: u32) {
        if let Some(entry) = self.0.get_mut(node as usize) {
            *entry = number;
        }
    }
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
}

/// What the process used beside its samples.
fn account(arena: &Arena, earlier_ns: u64) -> Account {
    let header = &arena.header;
    let threads = arena.threads.iter().map(|thread| ThreadAccount {
        cpu_before_ns: thread.record.cpu_before_ns,
        late: thread.record.late,
    });
    Account {
        cpu_before_ns: header.cpu_before_ns.saturating_sub(earlier_ns),
        cpu_ns: header.cpu_ns.saturating_sub(earlier_ns),
        unsampled_threads: header.unsampled_threads,
        foreign_signals: header.foreign_signals,
        arena_bytes: header.used.saturating_sub(header.returned),
        nodes: arena.threads.iter().map(|thread| u64::from(thread.record.node_count)).sum(),
        node_bytes: arena
            .threads
            .iter()
            .map(|thread| thread.bytes)
            .sum::<u64>()
            .saturating_sub(header.returned),
        table_bytes: header.table_bytes,
        private_bytes: header.private_bytes,
        threads: threads.collect(),
    }
}
