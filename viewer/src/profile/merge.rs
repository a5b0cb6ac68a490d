//! Several saved profiles as one: ranks that were recorded apart, or repetitions of a run.
//!
//! Processes, threads, epochs and trees of all runs stand one after the other; nothing is added up
//! that a refinement could not take apart again. What means the same is stored once: strings, load
//! modules (one build id is one module, wherever its file lay), functions, and frames. So a merged
//! profile is as large as what the runs do not share, and its rows fuse as those of one run do.
//!
//! Invariants: the merged profile is valid if the parts were; Σ samples, Σ edges and Σ of every
//! loss are those of the parts together; `delivered = recorded + Σ losses` in every thread.

mod runs;
mod sources;
mod stages;
mod times;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use csprof_format::budget::MOST_NODES;
use csprof_format::file_identity::FileIdentity;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile::{
    self as saved, FurtherMetric, MergedRun, Metric, ModuleFile, SymbolSource,
};

pub(super) use self::runs::{runs_of, together};
pub use self::sources::CONFLICT;
pub(super) use self::sources::SourcesOfParts;
pub use self::stages::CommonStages;

/// Why profiles cannot be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmergeable(pub(super) String);

impl fmt::Display for Unmergeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unmergeable {}

/// What the parts must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same sources and periods, and no run twice: the result is a profile like any other, in
    /// which a sample means one thing and edges of all parts add up.
    SameMetrics,
    /// Nothing: the parts are only compared, each counted in its own periods. Whether they can be,
    /// the comparison says.
    Nothing,
}

/// A profile that grows by other profiles.
#[derive(Debug)]
pub struct Merger {
    agreement: Agreement,
    /// Nodes that the merged profile may have.
    most_nodes: u64,
    merged: saved::Profile,
    /// The runs so far: what their part was called, and their ids.
    parts: Vec<(String, u128)>,
    /// Metrics of each part.
    metrics: Vec<Vec<Metric>>,
    stages: CommonStages,
    /// Whether each part has edge counts, by its name.
    edges: Vec<(String, bool)>,
    strings: HashMap<Arc<str>, StringId>,
    modules: HashMap<ModuleKey, ModuleId>,
    functions: HashMap<saved::Function, FunctionId>,
    /// The first frame of each address.
    frames: HashMap<saved::Frame, FrameId>,
    /// The others, by their sites and loops: where a module has no build id, one address may be
    /// different code in another run.
    other_frames: HashMap<(saved::Frame, Vec<Site>, Vec<InLoop>), FrameId>,
    /// The sites of each frame.
    sites: Vec<Vec<Site>>,
    loops: HashMap<saved::Loop, u32>,
    /// The loops of each frame.
    loops_of: Vec<Vec<InLoop>>,
    tail_calls: BTreeMap<(FrameId, FrameId), Vec<FunctionId>>,
    /// What is known of modules without a build id.
    files_of: FilesOfModules,
    sources: SourcesOfParts,
}

/// What the ids of a part are in the merged profile.
#[derive(Debug)]
pub struct Renumbered {
    /// Of each string.
    pub(super) strings: Vec<StringId>,
    /// Of each load module.
    pub(super) modules: Vec<ModuleId>,
    /// Of each frame.
    pub(super) frames: Vec<FrameId>,
}

/// One source-level frame: function, file, line.
type Site = (FunctionId, Option<StringId>, u32);

/// A loop that a frame is in: row and number.
type InLoop = (u32, u32);

/// What makes a module the same in two runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ModuleKey {
    BuildId(Vec<u8>),
    /// Without a build id there is only the path to go by: which files ranks had, on machines of
    /// their own, does not compare. But two files in one part stay apart, by their number there.
    Path(StringId, usize),
}

impl Merger {
    /// A profile of nothing.
    #[must_use]
    pub fn new(agreement: Agreement) -> Self {
        Self {
            agreement,
            // What is only compared is written nowhere, and numbered in 32 bits.
            most_nodes: match agreement {
                Agreement::SameMetrics => MOST_NODES,
                Agreement::Nothing => u32::MAX.into(),
            },
            merged: saved::Profile::default(),
            parts: Vec::new(),
            metrics: Vec::new(),
            stages: CommonStages::default(),
            edges: Vec::new(),
            strings: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            frames: HashMap::new(),
            other_frames: HashMap::new(),
            sites: Vec::new(),
            loops: HashMap::new(),
            loops_of: Vec::new(),
            tail_calls: BTreeMap::new(),
            files_of: FilesOfModules::default(),
            sources: SourcesOfParts::default(),
        }
    }

    /// What there is so far.
    #[must_use]
    pub fn so_far(&self) -> &saved::Profile {
        &self.merged
    }

    /// Adds a profile, which people know as `name`. Takes what the reader has validated.
    ///
    /// # Errors
    /// If it does not agree with those before, or all are too many nodes for one profile.
    pub fn add(&mut self, name: &str, part: saved::Profile) -> Result<Renumbered, Unmergeable> {
        if part.is_sum() && self.agreement == Agreement::SameMetrics {
            return Err(Unmergeable(format!(
                "{name}: is a sum over processes, and these runs are kept apart; csprof merge without \
                 --concat adds to a sum"
            )));
        }
        self.agree(name, &part)?;
        let nodes = self.merged.nodes.len() as u64 + part.nodes.len() as u64;
        if nodes > self.most_nodes {
            return Err(Unmergeable(format!(
                "{name}: with this one these profiles have {nodes} nodes, and csprof reads {} of one \
                 profile; merge fewer of them, {} at most of this size",
                self.most_nodes,
                self.most_nodes / (part.nodes.len() as u64).max(1),
            )));
        }
        self.parts.extend(runs_of(&part).into_iter().map(|run| (name.to_owned(), run)));
        self.metrics.push(part.metrics().cloned().collect());
        self.edges.push((name.to_owned(), part.run.trampoline));
        self.runs(name, &part);
        self.stages.add(name, &part.stages);
        self.further(&part);
        let metrics = self.metric_numbers(&part);
        let strings: Vec<_> = part.strings.iter().map(|text| self.string(text)).collect();
        let mut numbers: HashMap<StringId, usize> = HashMap::new();
        let modules: Vec<_> = part
            .modules
            .iter()
            .map(|module| {
                let nameless = module.build_id.is_empty();
                let number = numbers.entry(module.path).or_default();
                let key = *number;
                *number += usize::from(nameless);
                self.module(module, key, &strings)
            })
            .collect();
        self.files(&part, &modules);
        self.sources.add(&part.sources, &strings, &modules);
        let frames = self.frames_of(&part, &strings, &modules);
        self.trees(part, &modules, &frames, &metrics);
        Ok(Renumbered { strings, modules, frames })
    }

    /// The merged profile.
    #[must_use]
    pub fn finish(self) -> saved::Profile {
        let Self {
            mut merged, stages, edges, sites, loops_of, tail_calls, files_of, sources, ..
        } = self;
        if let [only] = &merged.runs[..] {
            merged.run = only.info.clone();
            merged.runs.clear();
        } else {
            merged.run = together(&merged.runs);
        }
        merged.run.warnings.extend(times::several_clocks(&merged));
        merged.stages = stages.common();
        merged.run.warnings.extend(stages.left_out());
        merged.run.warnings.extend(sources.conflict(&merged.strings));
        merged.sources = sources.finish();
        if merged.accounts.iter().all(|account| account.arena_bytes == 0) {
            merged.accounts.clear();
        }
        let of_parts = |with: bool| edges.iter().filter(move |(_, has)| *has == with);
        if self.agreement == Agreement::SameMetrics
            && of_parts(true).count() > 0
            && of_parts(false).count() > 0
        {
            // Counts of some runs beside samples of all would be too low wherever they meet.
            merged.nodes.edges.fill(0);
            merged.run.trampoline = false;
            let without: Vec<&str> = of_parts(false).map(|(name, _)| name.as_str()).collect();
            merged.run.warnings.push(format!(
                "edge counts are left out: there are none in {}",
                without.join(", ")
            ));
        }
        if sites.iter().any(|rows| !rows.is_empty()) {
            merged.sites.first.push(0);
            for row in sites {
                for (function, file, line) in row {
                    merged.sites.function.push(function);
                    merged.sites.file.push(file);
                    merged.sites.line.push(line);
                }
                merged.sites.first.push(number(merged.sites.function.len()));
            }
        }
        for (frame, loops) in loops_of.into_iter().enumerate() {
            let frame = FrameId::from_index(frame);
            let entry = |(row, number)| saved::InLoop { frame, row, number };
            merged.structure.in_loops.extend(loops.into_iter().map(entry));
        }
        let tail_call = |((caller, callee), via)| saved::TailCall { caller, callee, via };
        merged.structure.tail_calls = tail_calls.into_iter().map(tail_call).collect();
        for (module, files) in files_of.0 {
            merged.files.extend(files.into_iter().map(|file| ModuleFile { module, file }));
        }
        merged
    }

    fn agree(&self, name: &str, part: &saved::Profile) -> Result<(), Unmergeable> {
        let (Some(first), Some((first_name, _))) = (self.metrics.first(), self.parts.first())
        else {
            return Ok(());
        };
        let named = |metrics: &[&Metric]| {
            metrics.iter().map(|metric| sampled_by(metric)).collect::<Vec<_>>().join(" and ")
        };
        if self.agreement == Agreement::SameMetrics {
            let metrics: Vec<&Metric> = part.metrics().collect();
            let first: Vec<&Metric> = first.iter().collect();
            let is_same = metrics.iter().all(|metric| first.contains(metric));
            if metrics.len() != first.len() || !is_same {
                return Err(Unmergeable(format!(
                    "{name}: was sampled by {}, but {first_name} by {}; samples and edges of \
                     different sources or periods do not add up; csprof diff compares such runs",
                    named(&metrics),
                    named(&first)
                )));
            }
            let runs: HashSet<u128> = runs_of(part).into_iter().collect();
            if let Some((same, _)) = self.parts.iter().find(|(_, known)| runs.contains(known)) {
                let is = if part.runs.is_empty() { "is the same run as" } else { "holds a run of" };
                return Err(Unmergeable(format!(
                    "{name}: {is} {same}, which would count twice; leave one out"
                )));
            }
        }
        Ok(())
    }

    /// Enters the run, or the runs that the part was merged from.
    fn runs(&mut self, name: &str, part: &saved::Profile) {
        let mut info = part.run.clone();
        if part.runs.is_empty() {
            let from = |warning: &String| format!("{name}: {warning}");
            info.warnings = info.warnings.iter().map(from).collect();
            self.merged.runs.push(MergedRun { info, processes: number(part.processes.len()) });
        } else {
            self.merged.runs.extend(part.runs.iter().cloned());
        }
    }

    /// Appends what further metrics have of a part; its own metrics may be in another order. Comes
    /// before its nodes.
    fn further(&mut self, part: &saved::Profile) {
        let merged = &mut self.merged;
        if self.metrics.len() == 1 {
            merged.metric = part.metric.clone();
            let without_samples =
                |metric: &Metric| FurtherMetric { metric: metric.clone(), ..Default::default() };
            merged.further = part.metrics().skip(1).map(without_samples).collect();
        }
        let first_node = number(merged.nodes.len());
        let threads = (0..part.threads.len()).map(ThreadId::from_index);
        for (number, metric) in part.metrics().enumerate() {
            let into = merged.further.iter_mut().find(|further| further.metric == *metric);
            let Some(into) = into else { continue };
            into.threads.extend(threads.clone().map(|thread| part.share(thread, number)));
            let moved = |(node, samples): (u32, u64)| (node + first_node, samples);
            match number.checked_sub(1) {
                Some(number) => {
                    into.samples.extend(part.further[number].samples.iter().copied().map(moved));
                }
                None => into.samples.extend(first_samples(part).into_iter().map(moved)),
            }
        }
    }

    /// The number that each metric of a part has among the merged ones.
    fn metric_numbers(&self, part: &saved::Profile) -> Vec<u8> {
        let place = |metric| self.merged.metrics().position(|known| known == metric).unwrap_or(0);
        // There are few.
        part.metrics().map(|metric| place(metric) as u8).collect()
    }

    fn string(&mut self, text: &Arc<str>) -> StringId {
        let strings = &mut self.merged.strings;
        *self.strings.entry(Arc::clone(text)).or_insert_with(|| {
            strings.push(Arc::clone(text));
            StringId::from_index(strings.len() - 1)
        })
    }

    /// Adds what is known of files.
    fn files(&mut self, part: &saved::Profile, modules: &[ModuleId]) {
        for (number, module) in part.modules.iter().enumerate() {
            if !module.build_id.is_empty() {
                continue;
            }
            self.files_of.add(part, ModuleId::from_index(number), modules[number]);
        }
    }

    /// A module, which has this number among those of its path in its part.
    fn module(&mut self, module: &saved::Module, number: usize, strings: &[StringId]) -> ModuleId {
        let path = strings[module.path.index()];
        let symbols = renamed(&module.symbols, |id| strings[id.index()]);
        let key = match &module.build_id[..] {
            [] => ModuleKey::Path(path, number),
            id => ModuleKey::BuildId(id.to_vec()),
        };
        match self.modules.entry(key) {
            Entry::Occupied(known) => {
                let known = *known.get();
                let present = &mut self.merged.modules[known.index()].symbols;
                if symbols.worth() > present.worth() {
                    *present = symbols;
                }
                known
            }
            Entry::Vacant(vacant) => {
                let id = ModuleId::from_index(self.merged.modules.len());
                let build_id = module.build_id.clone();
                self.merged.modules.push(saved::Module { path, build_id, symbols });
                *vacant.insert(id)
            }
        }
    }

    /// The merged frame of each frame of a part.
    fn frames_of(
        &mut self,
        part: &saved::Profile,
        strings: &[StringId],
        modules: &[ModuleId],
    ) -> Vec<FrameId> {
        let file = |id: Option<StringId>| id.map(|id| strings[id.index()]);
        let mut functions = Vec::with_capacity(part.functions.len());
        for function in &part.functions {
            let function = saved::Function {
                name: strings[function.name.index()],
                module: modules[function.module.index()],
                file: file(function.file),
                line: function.line,
            };
            let table = &mut self.merged.functions;
            functions.push(*self.functions.entry(function.clone()).or_insert_with(|| {
                table.push(function);
                FunctionId::from_index(table.len() - 1)
            }));
        }
        let loops: Vec<u32> = part
            .structure
            .loops
            .iter()
            .map(|found| self.loop_of(found, strings, modules))
            .collect();
        let sites = &part.sites;
        let mut frames = Vec::with_capacity(part.frames.len());
        for (index, frame) in part.frames.iter().enumerate() {
            let id = FrameId::from_index(index);
            let frame =
                saved::Frame { module: frame.module.map(|id| modules[id.index()]), ..*frame };
            let rows = sites.rows(id).map(|row| {
                (functions[sites.function[row].index()], file(sites.file[row]), sites.line[row])
            });
            let in_loops = &part.structure.in_loops[part.structure.loops_of(id)];
            let in_loops = in_loops.iter().map(|entry| (entry.row, loops[entry.number as usize]));
            frames.push(self.frame(frame, rows.collect(), in_loops.collect()));
        }
        for call in &part.structure.tail_calls {
            let place = (frames[call.caller.index()], frames[call.callee.index()]);
            let via = call.via.iter().map(|function| functions[function.index()]);
            self.tail_calls.entry(place).or_insert_with(|| via.collect());
        }
        frames
    }

    fn loop_of(&mut self, found: &saved::Loop, strings: &[StringId], modules: &[ModuleId]) -> u32 {
        let file = found.file.map(|file| strings[file.index()]);
        let module = modules[found.module.index()];
        let found = saved::Loop { module, file, ..*found };
        let table = &mut self.merged.structure.loops;
        *self.loops.entry(found).or_insert_with(|| {
            table.push(found);
            number(table.len() - 1)
        })
    }

    fn frame(&mut self, frame: saved::Frame, rows: Vec<Site>, loops: Vec<InLoop>) -> FrameId {
        let new = FrameId::from_index(self.merged.frames.len());
        let known = match self.frames.entry(frame) {
            Entry::Vacant(vacant) => *vacant.insert(new),
            Entry::Occupied(first) => {
                let first = *first.get();
                let present = &mut self.sites[first.index()];
                // Of one address, the run that resolved it knows the name for all.
                if present.is_empty() && !rows.is_empty() {
                    *present = rows;
                    self.loops_of[first.index()] = loops;
                    return first;
                }
                // What is compared has been loaded, and has no sites any more.
                let is_alike = self.agreement == Agreement::SameMetrics
                    || self.loops_of[first.index()] == loops;
                if (rows.is_empty() || *present == rows) && is_alike {
                    // A run that looked for no loops says nothing of them.
                    if present.len() == rows.len() && self.loops_of[first.index()].is_empty() {
                        self.loops_of[first.index()] = loops;
                    }
                    return first;
                }
                let others = (frame, rows.clone(), loops.clone());
                *self.other_frames.entry(others).or_insert(new)
            }
        };
        if known == new {
            self.merged.frames.push(frame);
            self.sites.push(rows);
            self.loops_of.push(loops);
        }
        known
    }

    /// Appends processes, threads, epochs, trees and nodes.
    fn trees(
        &mut self,
        part: saved::Profile,
        modules: &[ModuleId],
        frames: &[FrameId],
        metrics: &[u8],
    ) {
        let merged = &mut self.merged;
        let start = part.run.start_unix_ns;
        // Times count from the earliest start of all.
        let later = if self.metrics.len() == 1 {
            merged.run.start_unix_ns = start;
            0
        } else if start < merged.run.start_unix_ns {
            let earlier = merged.run.start_unix_ns - start;
            merged.run.start_unix_ns = start;
            shift(&mut merged.processes, &mut merged.threads, &mut merged.epochs, earlier);
            times::shift(&mut merged.times, earlier);
            0
        } else {
            start - merged.run.start_unix_ns
        };
        let saved::Profile {
            mut processes,
            mut threads,
            mut epochs,
            trees,
            nodes,
            accounts,
            times,
            phases,
            earlier,
            job_sizes,
            ..
        } = part;
        merged.job_sizes.extend(job_sizes);
        merged.job_sizes.sort_unstable();
        merged.job_sizes.dedup();
        shift(&mut processes, &mut threads, &mut epochs, later);

        let first_process = number(merged.processes.len());
        let first_thread = number(merged.threads.len());
        let first_epoch = number(merged.epochs.len());
        let first_node = number(merged.nodes.len());
        let process = |id: ProcessId| ProcessId(id.0 + first_process);
        let padded = part_accounts(accounts, processes.len(), &threads);
        merged.accounts.extend(padded);
        merged.processes.append(&mut processes);
        for mut thread in threads {
            thread.process = process(thread.process);
            merged.threads.push(thread);
        }
        merged.earlier.extend(earlier.into_iter().map(|row| saved::EarlierThreads {
            thread: ThreadId(row.thread.0 + first_thread),
            ..row
        }));
        for mut epoch in epochs {
            epoch.process = process(epoch.process);
            for mapping in &mut epoch.load_map {
                mapping.module = modules[mapping.module.index()];
            }
            merged.epochs.push(epoch);
        }
        merged.phases.extend(
            phases
                .into_iter()
                .map(|phase| saved::Phase { epoch: EpochId(phase.epoch.0 + first_epoch), ..phase }),
        );
        merged.trees.extend(trees.into_iter().map(|tree| saved::Tree {
            thread: ThreadId(tree.thread.0 + first_thread),
            epoch: EpochId(tree.epoch.0 + first_epoch),
            first_node: tree.first_node + first_node,
            ..tree
        }));
        merged.nodes.parent.extend(nodes.parent.into_iter().map(|parent| parent + first_node));
        merged.nodes.frame.extend(nodes.frame.into_iter().map(|frame| frames[frame.index()]));
        merged.nodes.samples.extend(nodes.samples);
        merged.nodes.edges.extend(nodes.edges);
        if self.agreement == Agreement::SameMetrics {
            times::add(&mut merged.times, times, later, first_node, metrics);
        }
    }
}

/// Whether both are amounts of one unit, and of CPU time or of elapsed time, or of the same calls:
/// then they compare.
pub(super) fn measure_the_same(one: &Metric, other: &Metric) -> bool {
    let is_of_calls = one.is_of_calls() || other.is_of_calls();
    one.unit == other.unit
        && one.is_elapsed_time() == other.is_elapsed_time()
        && (!is_of_calls || one.source == other.source)
}

/// Samples of the first metric, as those of a further one are noted.
fn first_samples(part: &saved::Profile) -> Vec<(u32, u64)> {
    let mut rest = part.nodes.samples.clone();
    for &(node, samples) in part.further.iter().flat_map(|further| &further.samples) {
        rest[node as usize] -= samples;
    }
    (0..).zip(rest).filter(|&(_, samples)| samples > 0).collect()
}

/// Lets times count from a moment that is earlier by so many nanoseconds. An end of 0 is unknown
/// and stays so.
fn shift(
    processes: &mut [saved::Process],
    threads: &mut [saved::Thread],
    epochs: &mut [saved::Epoch],
    earlier: u64,
) {
    let known = |end: &mut u64| {
        if *end > 0 {
            *end = end.saturating_add(earlier);
        }
    };
    for process in processes {
        process.start_ns = process.start_ns.saturating_add(earlier);
        known(&mut process.end_ns);
    }
    for thread in threads {
        thread.start_ns = thread.start_ns.saturating_add(earlier);
        known(&mut thread.end_ns);
    }
    for epoch in epochs {
        epoch.start_ns = epoch.start_ns.saturating_add(earlier);
    }
}

/// Files of modules without build ids, of all parts together.
#[derive(Debug, Default)]
pub(super) struct FilesOfModules(pub(super) BTreeMap<ModuleId, BTreeSet<FileIdentity>>);

impl FilesOfModules {
    /// Adds those of a module of a part, which has the number `id` among all. What only some parts
    /// tell of is none for certain.
    pub(super) fn add(&mut self, part: &saved::Profile, module: ModuleId, id: ModuleId) {
        let mut rows: BTreeSet<_> = part.files_of(module).iter().map(|row| row.file).collect();
        if self.0.get(&id).is_some_and(|known| known.is_empty() != rows.is_empty()) {
            rows.insert(FileIdentity::default());
        }
        self.0.entry(id).or_default().append(&mut rows);
    }
}

/// The same symbols, whose text has another number.
pub(super) fn renamed(
    symbols: &SymbolSource,
    mut text: impl FnMut(StringId) -> StringId,
) -> SymbolSource {
    match *symbols {
        SymbolSource::NotAsked => SymbolSource::NotAsked,
        SymbolSource::Dwarf(id) => SymbolSource::Dwarf(text(id)),
        SymbolSource::SymbolTable(id) => SymbolSource::SymbolTable(text(id)),
        SymbolSource::Exports(id) => SymbolSource::Exports(text(id)),
        SymbolSource::Stripped(id) => SymbolSource::Stripped(text(id)),
        SymbolSource::Unreadable(id) => SymbolSource::Unreadable(text(id)),
        SymbolSource::BuildIdDiffers(id) => SymbolSource::BuildIdDiffers(text(id)),
    }
}

/// Lengths were checked when the part was added: nodes are the most numerous.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The accounts of a part; those of a file that has none say nothing.
fn part_accounts(
    accounts: Vec<saved::Account>,
    processes: usize,
    threads: &[saved::Thread],
) -> Vec<saved::Account> {
    if !accounts.is_empty() {
        return accounts;
    }
    let mut unknown = vec![saved::Account::default(); processes];
    for thread in threads {
        unknown[thread.process.index()].threads.push(saved::ThreadAccount::default());
    }
    unknown
}

/// A source and its period: `cputime every 5 ms`.
pub(super) fn sampled_by(metric: &Metric) -> String {
    let units = [(1_000_000, "ms"), (1000, "µs")];
    let mut units = units.into_iter().filter(|_| metric.is_time() && metric.period > 0);
    let (ns, unit) =
        units.find(|(ns, _)| metric.period.is_multiple_of(*ns)).unwrap_or((1, &metric.unit));
    format!("{} every {} {unit}", metric.source, metric.period / ns)
}

#[cfg(test)]
pub(super) mod tests;
