//! Opening what is left of a damaged profile.
//!
//! A block refers only to earlier ones, so the blocks before the damage are a profile. Salvage
//! keeps them, and goes on behind damage that it can do without: names and lines. What is dropped
//! is not forgotten: samples whose nodes are gone become losses of their thread, under
//! [`LossReason::Unreadable`], so that delivered = recorded + losses still holds. The result
//! satisfies every invariant of [`validate`](mod@crate::validate).

use core::fmt;
use std::path::Path;

use crate::address::FrameKind;
use crate::ahead::Ahead;
use crate::budget::source_node;
use crate::error::{Error, ErrorKind};
use crate::ids::{StringId, ThreadId};
use crate::kind::BlockKind;
use crate::loss::LossReason;
use crate::profile::{Nodes, Profile, Sites, Structure, SymbolSource, ThreadShare};
use crate::read::{Reader, load, scan};
use crate::validate::{self, validate};
use crate::version::{
    MINOR_OF_EARLIER, MINOR_OF_PHASES, MINOR_OF_SOURCES, MINOR_OF_STRUCTURE, MINOR_OF_SUMS,
    MINOR_OF_TIMES,
};

/// Stands for text that was lost.
const LOST: &str = "[lost]";

/// What could be read of a profile, and what could not.
#[derive(Debug)]
pub struct Salvaged {
    /// A valid profile.
    pub profile: Profile,
    /// The first damage; `None` if the file is whole.
    pub damage: Option<Error>,
    /// Blocks that were read.
    pub blocks: u32,
    /// Blocks whose headers were found.
    pub of: u32,
    /// Samples that are now counted as lost.
    pub lost_samples: u64,
    /// Whether names and lines were dropped.
    pub lost_symbols: bool,
    /// Whether loops and tail calls were dropped, or may have been where the file is cut off.
    pub lost_structure: bool,
    /// Whether the refinement to begin with is lost.
    pub lost_stages: bool,
    /// Whether source files were dropped.
    pub lost_sources: bool,
    /// Whether times of samples were dropped, or may have been where the file is cut off.
    pub lost_times: bool,
    /// Whether names of phases were dropped, or may have been where the file is cut off.
    pub lost_phases: bool,
    /// Whether it was dropped how costs are spread over ranks, or may have been where the file is
    /// cut off.
    pub lost_ranks: bool,
    /// Whether it is lost which threads stand for how many.
    pub lost_earlier: bool,
    /// Whether more source files may have stood where the file is cut off.
    pub may_lack_sources: bool,
}

impl fmt::Display for Salvaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(damage) = &self.damage else { return f.write_str("the profile is whole") };
        let (blocks, of, samples) = (self.blocks, self.of, self.lost_samples);
        write!(f, "salvaged {blocks} of {of} blocks; ")?;
        if self.profile.threads.is_empty() {
            // How many there were stood with the threads.
            f.write_str("all samples")?;
        } else {
            write!(f, "{samples} samples")?;
        }
        f.write_str(match (self.lost_symbols, self.lost_structure) {
            (false, false) => "",
            (true, false) => " and names",
            (false, true) => ", any loops and tail calls",
            (true, true) => ", names, any loops and tail calls",
        })?;
        f.write_str(if self.lost_stages { ", the stages to begin with" } else { "" })?;
        f.write_str(if self.lost_sources { ", lines of source files" } else { "" })?;
        f.write_str(if self.lost_times { ", times of samples" } else { "" })?;
        f.write_str(if self.lost_phases { ", names of phases" } else { "" })?;
        f.write_str(if self.lost_ranks { ", what ranks have" } else { "" })?;
        f.write_str(if self.lost_earlier { ", how many threads there were" } else { "" })?;
        f.write_str(" are lost")?;
        let is_unsure = self.may_lack_sources && !self.lost_sources;
        f.write_str(if is_unsure { ", lines of source files may be" } else { "" })?;
        write!(f, ": {damage}")
    }
}

/// Reads what is left of a saved profile.
///
/// # Errors
///
/// If not even the run and its metric can be read, if the file is no profile, or if its blocks
/// are intact but contradict each other.
pub fn salvage(bytes: &[u8]) -> Result<Salvaged, Error> {
    let mut scan = scan(bytes)?;
    // A file says whether it has any.
    let had_structure = scan.header.minor >= MINOR_OF_STRUCTURE;
    let had_sources = scan.header.minor >= MINOR_OF_SOURCES;
    let had_times = scan.header.minor >= MINOR_OF_TIMES;
    let had_phases = scan.header.minor >= MINOR_OF_PHASES;
    let had_earlier = scan.header.minor >= MINOR_OF_EARLIER;
    let had_ranks = scan.header.minor >= MINOR_OF_SUMS;
    let mut reader = Reader::new(scan.header, bytes.len());
    let mut damage = None;
    let mut closed = Vec::new();
    let mut blocks = 0;
    let mut lost_stages = false;
    let mut lost_sources = false;
    let mut lost_times = false;
    let mut lost_phases = false;
    let mut lost_ranks = false;
    let mut lost_earlier = false;
    for (index, block) in scan.blocks.iter().enumerate() {
        let kind = BlockKind::from_u16(block.header.kind);
        if kind.is_some_and(|kind| closed.contains(&kind)) {
            reader.skip();
            continue;
        }
        let before = reader.strings_and_nodes();
        let Err(error) = reader.apply(block, &mut Ahead::none()) else {
            blocks += 1;
            continue;
        };
        damage.get_or_insert_with(|| scan.error_in(index, error));
        lost_stages |= kind == Some(BlockKind::Stages);
        lost_sources |= kind == Some(BlockKind::Sources);
        lost_times |= kind == Some(BlockKind::Times);
        lost_phases |= kind == Some(BlockKind::Phases);
        lost_earlier |= kind == Some(BlockKind::Earlier);
        lost_ranks |= matches!(kind, Some(BlockKind::SummedRuns | BlockKind::Spreads));
        reader.cut(before.0, before.1);
        match kind {
            Some(kind @ (BlockKind::Strings | BlockKind::Nodes)) => closed.push(kind),
            Some(BlockKind::Functions | BlockKind::Sites) => {
                closed.extend([BlockKind::Functions, BlockKind::Sites]);
            }
            Some(BlockKind::Loops | BlockKind::InLoops | BlockKind::TailCalls) => {
                closed.extend([BlockKind::Loops, BlockKind::InLoops, BlockKind::TailCalls]);
            }
            Some(
                BlockKind::Runs
                | BlockKind::Accounts
                | BlockKind::Files
                | BlockKind::Stages
                | BlockKind::Sources
                | BlockKind::Times
                | BlockKind::Phases
                | BlockKind::SummedRuns
                | BlockKind::Spreads
                | BlockKind::Earlier
                | BlockKind::JobSizes
                | BlockKind::End,
            )
            | None => {}
            Some(_) => break,
        }
    }
    let of = scan.blocks.len() as u32 + u32::from(scan.stop.is_some());
    let is_cut = scan.stop.is_some();
    let damage = damage.or_else(|| scan.stop.take());
    let symbols_lost = closed.contains(&BlockKind::Sites);
    let strings_lost = closed.contains(&BlockKind::Strings);
    let mut budget = reader.budget();
    let finished = reader.finish(damage.as_ref());
    let (mut profile, damage) = match (finished, damage) {
        (Ok(profile), damage) => (profile, damage),
        (Err(_), Some(damage)) => return Err(damage),
        (Err(kind), None) => return Err(Error::new(kind)),
    };
    if symbols_lost {
        profile.functions.clear();
        profile.sites = Sites::default();
    }
    if strings_lost {
        replace_lost_strings(&mut profile);
    }
    // Which processes are whose can only be said of all runs.
    if damage.is_some() && validate::runs(&profile).is_err() {
        profile.runs.clear();
    }
    if damage.is_some() && validate::accounts(&profile).is_err() {
        profile.accounts.clear();
    }
    if damage.is_some() && validate::files(&profile).is_err() {
        profile.files.clear();
    }
    // There were some; of several blocks the last may be gone.
    let may_lack_sources = is_cut && had_sources;
    lost_sources |= may_lack_sources && profile.sources.is_empty();
    // What has lost its path is nobody's, and what is behind damage may be of another place.
    if strings_lost || damage.is_some() && validate::sources(&profile).is_err() {
        lost_sources |= !profile.sources.is_empty();
        profile.sources.clear();
    }
    let (lost_symbols, lost_samples) = match &damage {
        Some(_) => (repair_symbols(&mut profile) || symbols_lost, repair_trees(&mut profile)),
        None => (false, 0),
    };
    // Of nodes that are gone there are none.
    lost_times |= is_cut && had_times;
    if damage.is_some() && validate::times(&profile).is_err() {
        lost_times = true;
        profile.times.clear();
    }
    lost_phases |= is_cut && had_phases;
    if damage.is_some() && validate::phases(&profile).is_err() {
        lost_phases = true;
        profile.phases.clear();
    }
    // What is left of it would be of fewer ranks, and of nodes that may have lost samples.
    lost_ranks |= damage.is_some() && (had_ranks && is_cut || validate::summed(&profile).is_err());
    if lost_ranks {
        profile.summed.clear();
        profile.spreads.clear();
    }
    lost_earlier |= is_cut && had_earlier;
    if damage.is_some() && validate::earlier(&profile).is_err() {
        lost_earlier = true;
        profile.earlier.clear();
    }
    if damage.is_some() && validate::job_sizes(&profile).is_err() {
        profile.job_sizes.clear();
    }
    // A part of it would say of other frames that they are in no loop.
    let structure_lost = is_cut || strings_lost || closed.contains(&BlockKind::Loops);
    let is_wrong = damage.is_some() && validate::structure(&profile).is_err();
    if structure_lost || lost_symbols || is_wrong {
        profile.structure = Structure::default();
    }
    let checked =
        validate(&profile).and_then(|()| budget.expansion(&profile, source_node(&profile)));
    checked.map_err(|violation| Error::new(ErrorKind::Invalid(violation)))?;
    let lost_structure =
        had_structure && damage.is_some() && profile.structure == Structure::default();
    let mut salvaged = Salvaged {
        profile,
        damage,
        blocks,
        of,
        lost_samples,
        lost_symbols,
        lost_structure,
        lost_stages,
        lost_sources,
        lost_times,
        lost_phases,
        lost_ranks,
        lost_earlier,
        may_lack_sources,
    };
    if salvaged.damage.is_some() {
        let warning = salvaged.to_string();
        salvaged.profile.run.warnings.push(warning);
    }
    Ok(salvaged)
}

/// Opens what is left of a saved profile.
///
/// # Errors
///
/// Those of [`salvage`], and of the operating system; all of them name the file.
pub fn open(path: &Path) -> Result<Salvaged, Error> {
    load(path).and_then(|bytes| salvage(&bytes)).map_err(|error| error.in_file(path))
}

/// Lets references to strings that are gone name [`LOST`].
fn replace_lost_strings(profile: &mut Profile) {
    let lost = StringId::from_index(profile.strings.len());
    profile.strings.push(LOST.into());
    let mend = |id: &mut StringId| *id = (*id).min(lost);
    for module in &mut profile.modules {
        mend(&mut module.path);
        match &mut module.symbols {
            SymbolSource::NotAsked => {}
            SymbolSource::Dwarf(text)
            | SymbolSource::SymbolTable(text)
            | SymbolSource::Exports(text)
            | SymbolSource::Stripped(text)
            | SymbolSource::Unreadable(text)
            | SymbolSource::BuildIdDiffers(text) => mend(text),
        }
    }
    for function in &mut profile.functions {
        mend(&mut function.name);
        function.file.as_mut().map(mend);
    }
    profile.sites.file.iter_mut().flatten().for_each(mend);
}

/// Completes sites that end early, and drops symbols that are wrong. Whether any were.
fn repair_symbols(profile: &mut Profile) -> bool {
    let sites = &mut profile.sites;
    let complete = sites.first.is_empty() || sites.first.len() == profile.frames.len() + 1;
    if let (false, Some(&end)) = (complete, sites.first.last()) {
        // Frames without rows have no name.
        sites.first.resize(profile.frames.len() + 1, end);
    }
    if validate::symbols(profile).is_err() {
        profile.functions.clear();
        profile.sites = Sites::default();
        return true;
    }
    !complete
}

/// Cuts nodes and trees to those that are whole; the samples that are gone become losses.
fn repair_trees(profile: &mut Profile) -> u64 {
    if let Err(violation) = validate::nodes(profile) {
        profile.nodes.truncate(violation.element);
    }
    let nodes = profile.nodes.len();
    for tree in &mut profile.trees {
        let left = nodes.saturating_sub(tree.first_node as usize);
        // Not more than there were.
        tree.node_count = left.min(tree.node_count as usize) as u32;
    }
    profile.trees.retain(|tree| tree.node_count > 0);
    let covered = profile.trees.last().map_or(0, |tree| tree.first_node + tree.node_count);
    profile.nodes.truncate(covered as usize);
    for further in &mut profile.further {
        let left = further.samples.partition_point(|&(node, _)| node < covered);
        further.samples.truncate(left);
    }
    let places = places(profile);
    let found = |samples: &mut dyn Iterator<Item = (usize, u64)>| {
        let mut found = vec![ThreadShare::default(); profile.threads.len()];
        for (node, samples) in samples {
            let (thread, is_partial) = places[node];
            let Some(found) = found.get_mut(thread.index()) else { continue };
            found.recorded = found.recorded.saturating_add(samples);
            found.partial = found.partial.saturating_add(if is_partial { samples } else { 0 });
        }
        found
    };
    let all = found(&mut profile.nodes.samples.iter().copied().enumerate());
    let entries = |&(node, samples): &(u32, u64)| (node as usize, samples);
    let of_further = profile.further.iter();
    let of_further: Vec<_> =
        of_further.map(|further| found(&mut further.samples.iter().map(entries))).collect();
    let mut lost_samples = 0_u64;
    for (index, found) in all.into_iter().enumerate() {
        let lost = profile.threads[index].recorded.saturating_sub(found.recorded);
        if lost == 0 {
            continue;
        }
        // The first metric has what is left by the others.
        let first = of_further.iter().fold(found, |rest, of_one| rest.without(of_one[index]));
        let mut partial = profile.share(ThreadId::from_index(index), 0).partial.min(first.partial);
        for (further, found) in profile.further.iter_mut().zip(&of_further) {
            let share = &mut further.threads[index];
            share.recorded = found[index].recorded;
            share.partial = share.partial.min(found[index].partial);
            partial = partial.saturating_add(share.partial);
        }
        let thread = &mut profile.threads[index];
        thread.recorded = found.recorded;
        thread.partial = partial;
        let reason = LossReason::Unreadable as usize;
        if thread.losses.len() <= reason {
            thread.losses.resize(reason + 1, 0);
        }
        thread.losses[reason] = thread.losses[reason].saturating_add(lost);
        lost_samples = lost_samples.saturating_add(lost);
    }
    lost_samples
}

/// The thread of each node, and whether its path is partial.
fn places(profile: &Profile) -> Vec<(ThreadId, bool)> {
    let Nodes { parent, frame, .. } = &profile.nodes;
    let mut places: Vec<(ThreadId, bool)> = Vec::with_capacity(parent.len());
    for tree in &profile.trees {
        for node in places.len()..(tree.first_node + tree.node_count) as usize {
            let is_partial = places.get(parent[node] as usize).is_some_and(|&(_, partial)| partial)
                || profile.frames[frame[node].index()].kind == FrameKind::Partial;
            places.push((tree.thread, is_partial));
        }
    }
    places
}
