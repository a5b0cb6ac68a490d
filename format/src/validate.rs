//! The invariants of a saved profile, each in one place.
//!
//! Run before a profile is written and after one is read, so that everything behind the reader
//! may index tables by ids and add up columns without asking. Linear in the size of the profile;
//! nothing recurses, and nothing is allocated but a byte for each frame, the times of a tree's
//! samples in order of their nodes, and the ranks of a sum in that of their numbers.

use crate::address::FrameKind;
use crate::beside::{MANY_NODES, both};
use crate::ids::{FrameId, ModuleId, StringId, ThreadId};
use crate::kind::BlockKind;
use crate::profile::{
    Frame, FurtherMetric, MAX_METRICS, MAX_PHASE, MAX_STAGE, MAX_STAGES, MAX_TAIL_CALLS, Profile,
    SampleTime, Structure, SymbolSource, Thread,
};
pub use crate::violation::{Fault, Violation};

/// Checks every invariant that [`profile`](crate::profile) states.
///
/// # Errors
///
/// The first one that does not hold.
pub fn validate(profile: &Profile) -> Result<(), Violation> {
    all(profile, nodes)
}

/// The same of a profile whose nodes a reader has put together. Each was placed a number of levels
/// above the one before, below the root of the tree that it is in, or was refused: if the trees
/// are sound, so are parents.
pub(crate) fn validate_read(profile: &Profile) -> Result<(), Violation> {
    let is_large = profile.nodes.len() >= MANY_NODES;
    let rest = || all(profile, |_| Ok(()));
    match both(is_large, || are_frames_sound(profile), rest) {
        (true, valid) => valid,
        // It says what is wrong first, and where.
        (false, _) => validate(profile),
    }
}

fn all(profile: &Profile, nodes: fn(&Profile) -> Result<(), Violation>) -> Result<(), Violation> {
    definitions(profile)?;
    counters(profile)?;
    symbols(profile)?;
    trees(profile)?;
    nodes(profile)?;
    recorded(profile)?;
    shares(profile)?;
    runs(profile)?;
    accounts(profile)?;
    structure(profile)?;
    files(profile)?;
    stages(profile)?;
    sources(profile)?;
    times(profile)?;
    phases(profile)?;
    earlier(profile)?;
    summed(profile)?;
    job_sizes(profile)
}

fn broken(table: BlockKind, element: usize, fault: Fault) -> Violation {
    Violation { table, element, fault }
}

/// What a table says of an element's references.
struct Checker {
    table: BlockKind,
    element: usize,
}

impl Checker {
    fn names<T>(&self, noun: &'static str, id: u32, table: &[T]) -> Result<(), Violation> {
        if (id as usize) < table.len() {
            Ok(())
        } else {
            let fault = Fault::Names { noun, id, len: table.len() };
            Err(broken(self.table, self.element, fault))
        }
    }

    fn string(&self, id: StringId, profile: &Profile) -> Result<(), Violation> {
        self.names("string", id.0, &profile.strings)
    }

    fn module(&self, id: ModuleId, profile: &Profile) -> Result<(), Violation> {
        self.names("module", id.0, &profile.modules)
    }
}

fn enumerate<T>(table: BlockKind, elements: &[T]) -> impl Iterator<Item = (Checker, &T)> {
    elements.iter().enumerate().map(move |(element, value)| (Checker { table, element }, value))
}

/// There are few metrics, each of another source.
fn metrics(profile: &Profile) -> Result<(), Violation> {
    if profile.further.len() >= MAX_METRICS {
        return Err(broken(BlockKind::Metrics, 0, Fault::TooMany));
    }
    for (number, metric) in profile.metrics().enumerate() {
        if metric.period == 0 {
            return Err(broken(BlockKind::Metrics, number, Fault::Period));
        }
        if profile.metrics().take(number).any(|before| before.source == metric.source) {
            return Err(broken(BlockKind::Metrics, number, Fault::SameSource));
        }
    }
    Ok(())
}

/// Everything that nodes and symbols refer to.
fn definitions(profile: &Profile) -> Result<(), Violation> {
    metrics(profile)?;
    let lengths = [
        (BlockKind::Strings, profile.strings.len()),
        (BlockKind::Modules, profile.modules.len()),
        (BlockKind::Processes, profile.processes.len()),
        (BlockKind::Threads, profile.threads.len()),
        (BlockKind::Epochs, profile.epochs.len()),
        (BlockKind::Frames, profile.frames.len()),
        (BlockKind::Functions, profile.functions.len()),
        (BlockKind::Sites, profile.sites.function.len()),
        (BlockKind::Trees, profile.trees.len()),
        (BlockKind::Nodes, profile.nodes.len()),
    ];
    for (table, length) in lengths {
        if length >= u32::MAX as usize {
            return Err(broken(table, 0, Fault::TooMany));
        }
    }
    for (check, module) in enumerate(BlockKind::Modules, &profile.modules) {
        check.string(module.path, profile)?;
        match module.symbols {
            SymbolSource::NotAsked => {}
            SymbolSource::Dwarf(text)
            | SymbolSource::SymbolTable(text)
            | SymbolSource::Exports(text)
            | SymbolSource::Stripped(text)
            | SymbolSource::Unreadable(text)
            | SymbolSource::BuildIdDiffers(text) => check.string(text, profile)?,
        }
    }
    let mut before = None;
    for (check, epoch) in enumerate(BlockKind::Epochs, &profile.epochs) {
        check.names("process", epoch.process.0, &profile.processes)?;
        let place = (epoch.process, epoch.number);
        if before.is_some_and(|before| before >= place) {
            return Err(broken(check.table, check.element, Fault::Order));
        }
        before = Some(place);
        let mut end = 0;
        for (mapping, map) in epoch.load_map.iter().enumerate() {
            check.module(map.module, profile)?;
            if map.start >= map.end {
                let fault = Fault::EmptyMapping { mapping };
                return Err(broken(check.table, check.element, fault));
            }
            if map.start < end {
                return Err(broken(check.table, check.element, Fault::Overlap { mapping }));
            }
            end = map.end;
        }
    }
    for (check, frame) in enumerate(BlockKind::Frames, &profile.frames) {
        match *frame {
            Frame { module: Some(_), kind: FrameKind::Root | FrameKind::Partial, .. } => {
                return Err(broken(check.table, check.element, Fault::RootInModule));
            }
            Frame { module: Some(module), .. } => check.module(module, profile)?,
            Frame { module: None, .. } => {}
        }
    }
    Ok(())
}

/// What became of each thread's samples.
fn counters(profile: &Profile) -> Result<(), Violation> {
    let mut before = None;
    for (check, thread) in enumerate(BlockKind::Threads, &profile.threads) {
        check.names("process", thread.process.0, &profile.processes)?;
        if before.is_some_and(|before| before > thread.process) {
            return Err(broken(check.table, check.element, Fault::Order));
        }
        before = Some(thread.process);
        let Thread { delivered, recorded, partial, .. } = *thread;
        let lost = sum(&thread.losses);
        if delivered != recorded.saturating_add(lost) {
            let fault = Fault::Losses { delivered, recorded, lost };
            return Err(broken(check.table, check.element, fault));
        }
        if partial > recorded {
            return Err(broken(check.table, check.element, Fault::Partial { partial, recorded }));
        }
    }
    Ok(())
}

/// Functions and sites.
pub(crate) fn symbols(profile: &Profile) -> Result<(), Violation> {
    for (check, function) in enumerate(BlockKind::Functions, &profile.functions) {
        check.string(function.name, profile)?;
        check.module(function.module, profile)?;
        function.file.map_or(Ok(()), |file| check.string(file, profile))?;
    }
    let sites = &profile.sites;
    let rows = sites.function.len();
    let expected = if sites.first.is_empty() { 0 } else { profile.frames.len() + 1 };
    for (column, found, expected) in [
        ("first", sites.first.len(), expected),
        ("file", sites.file.len(), rows),
        ("line", sites.line.len(), rows),
    ] {
        if found != expected {
            let fault = Fault::Column { column, found, expected };
            return Err(broken(BlockKind::Sites, 0, fault));
        }
    }
    let mut before = 0;
    for (frame, &first) in sites.first.iter().enumerate() {
        if first < before || (frame == 0 && first != 0) {
            return Err(broken(BlockKind::Sites, frame, Fault::Rows));
        }
        before = first;
    }
    if before as usize != rows {
        let last = sites.first.len().saturating_sub(1);
        return Err(broken(BlockKind::Sites, last, Fault::Rows));
    }
    // Rows have no blocks of their own: the frame that owns the row is named.
    let owner = |row: usize| sites.first.partition_point(|&first| first as usize <= row) - 1;
    for row in 0..rows {
        let bad = |violation: Violation| Violation { element: owner(row), ..violation };
        let check = Checker { table: BlockKind::Sites, element: row };
        check.names("function", sites.function[row].0, &profile.functions).map_err(bad)?;
        sites.file[row].map_or(Ok(()), |file| check.string(file, profile)).map_err(bad)?;
    }
    Ok(())
}

/// Trees against threads, epochs and each other.
fn trees(profile: &Profile) -> Result<(), Violation> {
    let mut before = None;
    let mut covered = 0;
    for (check, tree) in enumerate(BlockKind::Trees, &profile.trees) {
        check.names("thread", tree.thread.0, &profile.threads)?;
        check.names("epoch", tree.epoch.0, &profile.epochs)?;
        let thread = &profile.threads[tree.thread.index()];
        let epoch = &profile.epochs[tree.epoch.index()];
        let place = (tree.thread, tree.epoch);
        let fault = if before.is_some_and(|before| before >= place) {
            Fault::Order
        } else if thread.process != epoch.process {
            Fault::OtherProcess
        } else if tree.node_count == 0 {
            Fault::EmptyTree
        } else if tree.first_node != covered {
            Fault::Range { found: tree.first_node, expected: covered }
        } else {
            before = Some(place);
            covered = covered.saturating_add(tree.node_count);
            continue;
        };
        return Err(broken(check.table, check.element, fault));
    }
    if covered as usize == profile.nodes.len() {
        Ok(())
    } else {
        let fault = Fault::Uncovered { covered, nodes: profile.nodes.len() };
        Err(broken(BlockKind::Trees, 0, fault))
    }
}

/// Nodes are in pre-order below their roots, with known frames.
pub(crate) fn nodes(profile: &Profile) -> Result<(), Violation> {
    let nodes = &profile.nodes;
    let expected = nodes.len();
    for (column, found) in [
        ("frame", nodes.frame.len()),
        ("samples", nodes.samples.len()),
        ("edges", nodes.edges.len()),
    ] {
        if found != expected {
            let fault = Fault::Column { column, found, expected };
            return Err(broken(BlockKind::Nodes, 0, fault));
        }
    }
    for tree in &profile.trees {
        let first = tree.first_node as usize;
        let end = expected.min(first.saturating_add(tree.node_count as usize));
        for node in first..end {
            let check = Checker { table: BlockKind::Nodes, element: node };
            let frame = nodes.frame[node];
            check.names("frame", frame.0, &profile.frames)?;
            let parent = nodes.parent[node];
            let root = profile.frames[frame.index()].kind == FrameKind::Root;
            let fault = if node == first {
                match parent as usize == node {
                    false => Fault::NotRoot { parent },
                    true if !root => Fault::RootFrame,
                    true => continue,
                }
            } else if parent as usize >= node {
                Fault::LaterParent { parent }
            } else if !on_path(&nodes.parent, node as u32 - 1, parent) {
                Fault::OffPath { parent }
            } else if root {
                Fault::InnerRoot
            } else {
                continue;
            };
            return Err(broken(check.table, check.element, fault));
        }
    }
    Ok(())
}

/// Whether nodes have known frames, and those of roots where trees begin and nowhere else. Relies
/// on nothing.
fn are_frames_sound(profile: &Profile) -> bool {
    // Small enough to stay in a cache, as frames are not.
    let is_root = |frame: &Frame| frame.kind == FrameKind::Root;
    let is_root: Vec<bool> = profile.frames.iter().map(is_root).collect();
    let is_inner = |frame: &FrameId| is_root.get(frame.index()) == Some(&false);
    profile.trees.iter().all(|tree| {
        let first = tree.first_node as usize;
        let end = first.saturating_add(tree.node_count as usize);
        let frames = profile.nodes.frame.get(first..end).unwrap_or_default();
        frames.split_first().is_some_and(|(root, inner)| {
            is_root.get(root.index()) == Some(&true) && inner.iter().all(is_inner)
        })
    })
}

/// Whether `target` is `node` or one of its ancestors.
///
/// One step for each node of a tree altogether: what is left on the way up is not on the path to
/// any later node.
fn on_path(parent: &[u32], mut node: u32, target: u32) -> bool {
    while node > target {
        let above = parent[node as usize];
        if above >= node {
            return false;
        }
        node = above;
    }
    node == target
}

/// The nodes of each thread hold what the thread recorded.
fn recorded(profile: &Profile) -> Result<(), Violation> {
    let mut trees = profile.trees.iter().peekable();
    for (check, thread) in enumerate(BlockKind::Threads, &profile.threads) {
        let mut nodes = 0_u64;
        while let Some(tree) = trees.next_if(|tree| tree.thread.index() == check.element) {
            let first = tree.first_node as usize;
            let samples = &profile.nodes.samples[first..first + tree.node_count as usize];
            nodes = nodes.saturating_add(sum(samples));
        }
        if nodes != thread.recorded {
            let fault = Fault::Recorded { recorded: thread.recorded, nodes };
            return Err(broken(check.table, check.element, fault));
        }
    }
    Ok(())
}

/// What metrics have of the samples of threads and nodes adds up. Nodes are known to be those of
/// their threads.
fn shares(profile: &Profile) -> Result<(), Violation> {
    for further in &profile.further {
        let (found, expected) = (further.threads.len(), profile.threads.len());
        if found != expected {
            let fault = Fault::Column { column: "shares", found, expected };
            return Err(broken(BlockKind::Threads, 0, fault));
        }
    }
    shares_of_nodes(profile)?;
    // Samples of each further metric that are not counted yet.
    let mut rest: [&[(u32, u64)]; MAX_METRICS] = [&[]; MAX_METRICS];
    for (rest, further) in rest.iter_mut().zip(&profile.further) {
        *rest = &further.samples;
    }
    let mut trees = profile.trees.iter().peekable();
    for (check, thread) in enumerate(BlockKind::Threads, &profile.threads) {
        let mut end = 0;
        while let Some(tree) = trees.next_if(|tree| tree.thread.index() == check.element) {
            end = tree.first_node + tree.node_count;
        }
        // Sums of sums that fit: none of a few more overflows.
        let mut sums = [0_u128; 4];
        for (metric, rest) in (1..=profile.further.len()).zip(&mut rest) {
            let share = profile.share(ThreadId::from_index(check.element), metric);
            let nodes = rest.iter().take_while(|&&(node, _)| node < end);
            let (count, samples) = nodes.fold((0, 0_u64), |(count, sum), &(_, samples)| {
                (count + 1, sum.saturating_add(samples))
            });
            *rest = rest.get(count..).unwrap_or_default();
            if samples != share.recorded
                || share.recorded > share.delivered
                || share.partial > share.recorded
            {
                return Err(broken(check.table, check.element, Fault::Shares));
            }
            let counts = [share.delivered, share.recorded, share.partial, share.signals];
            sums = core::array::from_fn(|n| sums[n] + u128::from(counts[n]));
        }
        let all = [thread.delivered, thread.recorded, thread.partial, thread.signals];
        let all = all.map(u128::from);
        let first = core::array::from_fn(|n| all[n].checked_sub(sums[n]));
        match first {
            [Some(delivered), Some(recorded), Some(partial), Some(_)]
                if partial <= recorded && recorded <= delivered => {}
            _ => return Err(broken(check.table, check.element, Fault::Shares)),
        }
    }
    Ok(())
}

/// Further metrics have samples of nodes in their order, and together at most all of each.
fn shares_of_nodes(profile: &Profile) -> Result<(), Violation> {
    let bad = |node: u32| Err(broken(BlockKind::Nodes, node as usize, Fault::ShareOfNode));
    for further in &profile.further {
        let mut before = None;
        for &(node, samples) in &further.samples {
            if before >= Some(node) || samples == 0 || node as usize >= profile.nodes.len() {
                return bad(node);
            }
            before = Some(node);
        }
    }
    let mut next = [0; MAX_METRICS];
    let head = |further: &FurtherMetric, next: usize| further.samples.get(next).copied();
    loop {
        let heads =
            profile.further.iter().zip(next).filter_map(|(further, next)| head(further, next));
        let Some(node) = heads.map(|(node, _)| node).min() else { return Ok(()) };
        let mut sum = 0_u128;
        for (further, next) in profile.further.iter().zip(&mut next) {
            if let Some((_, samples)) = head(further, *next).filter(|&(at, _)| at == node) {
                sum += u128::from(samples);
                *next += 1;
            }
        }
        if sum > u128::from(profile.nodes.samples[node as usize]) {
            return bad(node);
        }
    }
}

/// The runs of a merged profile have its processes.
pub(crate) fn runs(profile: &Profile) -> Result<(), Violation> {
    let found = profile.runs.iter().map(|run| u64::from(run.processes)).sum();
    let processes = profile.processes.len();
    if profile.runs.is_empty() || found == processes as u64 {
        return Ok(());
    }
    Err(broken(BlockKind::Runs, 0, Fault::Processes { found, processes }))
}

/// There is an account for each process and thread, or none at all.
pub(crate) fn accounts(profile: &Profile) -> Result<(), Violation> {
    let accounts = &profile.accounts;
    let expected = profile.processes.len();
    if !accounts.is_empty() && accounts.len() != expected {
        let fault = Fault::Column { column: "process", found: accounts.len(), expected };
        return Err(broken(BlockKind::Accounts, 0, fault));
    }
    let mut threads = profile.threads.iter().map(|thread| thread.process.index()).peekable();
    for (process, account) in accounts.iter().enumerate() {
        let mut expected = 0;
        while threads.next_if_eq(&process).is_some() {
            expected += 1;
        }
        let found = account.threads.len();
        if found != expected {
            let fault = Fault::Column { column: "threads", found, expected };
            return Err(broken(BlockKind::Accounts, process, fault));
        }
    }
    Ok(())
}

/// Loops and tail calls are of modules, frames and functions that there are, and in order.
pub(crate) fn structure(profile: &Profile) -> Result<(), Violation> {
    let Structure { loops, in_loops, tail_calls } = &profile.structure;
    if loops.len() >= u32::MAX as usize || in_loops.len() >= u32::MAX as usize {
        return Err(broken(BlockKind::Loops, 0, Fault::TooMany));
    }
    for (check, found) in enumerate(BlockKind::Loops, loops) {
        check.module(found.module, profile)?;
        found.file.map_or(Ok(()), |file| check.string(file, profile))?;
    }
    let mut before = None;
    for (check, entry) in enumerate(BlockKind::InLoops, in_loops) {
        check.names("frame", entry.frame.0, &profile.frames)?;
        check.names("loop", entry.number, loops)?;
        let rows = profile.sites.rows(entry.frame).len().max(1);
        if entry.row as usize >= rows {
            let fault = Fault::Names { noun: "row", id: entry.row, len: rows };
            return Err(broken(check.table, check.element, fault));
        }
        let place = (entry.frame, entry.row);
        if before.is_some_and(|before| before > place) {
            return Err(broken(check.table, check.element, Fault::Order));
        }
        before = Some(place);
    }
    let mut before = None;
    for (check, call) in enumerate(BlockKind::TailCalls, tail_calls) {
        let place = (call.caller, call.callee);
        for frame in [call.caller, call.callee] {
            check.names("frame", frame.0, &profile.frames)?;
        }
        for function in &call.via {
            check.names("function", function.0, &profile.functions)?;
        }
        let fault = match call.via.len() {
            found @ (0 | MAX_TAIL_CALLS..) => Some(Fault::Functions { found }),
            _ => before.is_some_and(|before| before >= place).then_some(Fault::Order),
        };
        if let Some(fault) = fault {
            return Err(broken(check.table, check.element, fault));
        }
        before = Some(place);
    }
    Ok(())
}

/// Files are of modules that there are, without a build id, and in order.
pub(crate) fn files(profile: &Profile) -> Result<(), Violation> {
    let mut before = None;
    for (check, row) in enumerate(BlockKind::Files, &profile.files) {
        check.module(row.module, profile)?;
        let fault = if before.is_some_and(|before| before >= row) {
            Fault::Order
        } else if !profile.modules[row.module.index()].build_id.is_empty() {
            Fault::HasBuildId
        } else {
            before = Some(row);
            continue;
        };
        return Err(broken(check.table, check.element, fault));
    }
    Ok(())
}

/// The stages are few and short: each is applied before anything is shown.
fn stages(profile: &Profile) -> Result<(), Violation> {
    let is_long = |stage: &String| stage.len() > MAX_STAGE;
    let beyond = (profile.stages.len() > MAX_STAGES).then_some(MAX_STAGES);
    match profile.stages.iter().position(is_long).or(beyond) {
        Some(element) => Err(broken(BlockKind::Stages, element, Fault::Stage)),
        None => Ok(()),
    }
}

/// Phases are of epochs that there are, in order, and have names.
pub(crate) fn phases(profile: &Profile) -> Result<(), Violation> {
    let mut before = None;
    for (check, phase) in enumerate(BlockKind::Phases, &profile.phases) {
        check.names("epoch", phase.epoch.0, &profile.epochs)?;
        let fault = if before.is_some_and(|before| before >= phase.epoch) {
            Fault::Order
        } else if !(1..=MAX_PHASE).contains(&phase.name.len()) {
            Fault::PhaseName
        } else {
            before = Some(phase.epoch);
            continue;
        };
        return Err(broken(check.table, check.element, fault));
    }
    Ok(())
}

/// What was summed goes with what has the samples, and ranks can have what is said of them.
pub(crate) fn summed(profile: &Profile) -> Result<(), Violation> {
    let is_sound = match profile.summed.len() {
        0 => profile.spreads.is_empty(),
        _ => profile.runs.is_empty() && profile.is_sum_sound(),
    };
    if !is_sound {
        return Err(broken(BlockKind::SummedRuns, 0, Fault::Summed));
    }
    match profile.unsound_spread() {
        Some(element) => Err(broken(BlockKind::Spreads, element, Fault::Spread)),
        None => Ok(()),
    }
}

/// Threads that stand for several are in order, and do.
pub(crate) fn earlier(profile: &Profile) -> Result<(), Violation> {
    let mut before = None;
    for (check, row) in enumerate(BlockKind::Earlier, &profile.earlier) {
        check.names("thread", row.thread.0, &profile.threads)?;
        let fault = if before.is_some_and(|before| before >= row.thread) {
            Fault::Order
        } else if row.count == 0 {
            Fault::Earlier
        } else {
            before = Some(row.thread);
            continue;
        };
        return Err(broken(check.table, check.element, fault));
    }
    Ok(())
}

/// Jobs have several ranks, and no size is there twice.
pub(crate) fn job_sizes(profile: &Profile) -> Result<(), Violation> {
    let mut before = 1;
    let is_wrong = |&size: &u32| std::mem::replace(&mut before, size) >= size;
    match profile.job_sizes.iter().position(is_wrong) {
        Some(element) => Err(broken(BlockKind::JobSizes, element, Fault::Order)),
        None => Ok(()),
    }
}

/// Source files are of paths and modules that there are, in order, and have the lines they tell of.
pub(crate) fn sources(profile: &Profile) -> Result<(), Violation> {
    let mut before = None;
    for (check, file) in enumerate(BlockKind::Sources, &profile.sources) {
        check.string(file.path, profile)?;
        file.modules.iter().try_for_each(|module| check.module(*module, profile))?;
        let place = (file.path, file.digest, file.lines);
        let fault = if before.is_some_and(|before| before >= place) {
            Fault::Order
        } else if !file.is_sound() {
            Fault::Source
        } else {
            before = Some(place);
            continue;
        };
        return Err(broken(check.table, check.element, fault));
    }
    Ok(())
}

/// Times are tree by tree and in order, and of no more samples than nodes have.
pub(crate) fn times(profile: &Profile) -> Result<(), Violation> {
    let mut start = 0;
    let mut before = None;
    while let Some(first) = profile.times.get(start) {
        let after = profile.trees.partition_point(|tree| tree.first_node <= first.node);
        let tree = after.checked_sub(1).map(|number| (number, profile.trees[number]));
        let check = Checker { table: BlockKind::Times, element: start };
        check.names("node", first.node, &profile.nodes.samples)?;
        let Some((number, tree)) = tree.filter(|(number, _)| before < Some(*number)) else {
            return Err(broken(check.table, check.element, Fault::Order));
        };
        before = Some(number);
        let nodes = tree.first_node..tree.first_node.saturating_add(tree.node_count);
        let rest = profile.times.get(start..).unwrap_or_default();
        let count = rest.iter().take_while(|row| nodes.contains(&row.node)).count();
        times_of_tree(profile, start, rest.get(..count).unwrap_or_default())?;
        start += count;
    }
    Ok(())
}

/// The same of the rows of one tree, of which the first is `start`.
fn times_of_tree(profile: &Profile, start: usize, rows: &[SampleTime]) -> Result<(), Violation> {
    let bad = |row: usize, fault| Err(broken(BlockKind::Times, start + row, fault));
    for (number, row) in rows.iter().enumerate() {
        if number > 0 && rows[number - 1].place() >= row.place() {
            return bad(number, Fault::Order);
        }
        if row.samples == 0 || usize::from(row.metric) > profile.further.len() {
            return bad(number, Fault::Times);
        }
    }
    let mut by_node: Vec<(u32, u8, u32)> =
        rows.iter().map(|row| (row.node, row.metric, row.samples)).collect();
    by_node.sort_unstable();
    for of_node in by_node.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (node, metric, _) = of_node[0];
        let sum: u64 = of_node.iter().map(|&(_, _, samples)| u64::from(samples)).sum();
        if sum > profile.samples_of(node, metric.into()) {
            let is_it = |row: &SampleTime| (row.node, row.metric) == (node, metric);
            return bad(rows.iter().position(is_it).unwrap_or(0), Fault::Times);
        }
    }
    Ok(())
}

/// The sum, `u64::MAX` if it is more.
fn sum(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, &value| sum.saturating_add(value))
}
