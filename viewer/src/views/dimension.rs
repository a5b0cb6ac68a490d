//! Dimensions: over whom or what the cost of a row may be spread, and whose each sample is.
//!
//! Ranks, processes and threads are peers as [`Peers`] tells them: whoever is no peer (a launcher,
//! a wrapper shell, a helper thread) is in none. Threads are peers within their process, so theirs
//! is a dimension of one process. Epochs of one process follow one another in time: nobody waits
//! there, and they are of different length, so they have a distribution and no imbalance. Those of
//! another process have nothing to do with them, whatever their numbers. Phases are like epochs,
//! but of all processes, for their names mean the same. So are slices of time, of which each sample
//! may be of another, whatever its node. Hosts are those of all processes; they may have different
//! numbers of ranks, so theirs is no imbalance.
//!
//! Of two profiles that are compared there is none: their processes do not wait for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use csprof_format::ids::{ProcessId, ThreadId};

use super::contexts::{Stages, identity};
use super::number::{Form, counted};
use super::pattern::literally;
use super::peers::{Peers, kept_processes};
use super::printable::printable;
use super::slices::Slices;
use crate::profile::{Stream, program};
use crate::refine::{Axis, Period, Predicate, Refined, phases};

/// What slices of time are called on command lines.
pub const TIME: &str = "time";

/// Behind ranks, or else processes: the order of dimensions, but for time.
macro_rules! but_processes {
    () => {
        "threads, hosts, phases, epochs"
    };
}
pub(crate) use but_processes;

/// Most characters of a program's or a thread's name, for people.
const LONGEST_NAME: usize = 60;

/// Peers, and which of them each part of the forest is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// What the peers are; `None` for slices of time.
    pub axis: Option<Axis>,
    /// The process whose threads or epochs they are: `rank 3, pid 4711 solver`.
    pub process: Option<Label>,
    /// How many other processes have threads that are peers, or several epochs.
    pub others: usize,
    /// The peers, in the order of their numbers; at least two.
    pub peers: Vec<Peer>,
    /// Of each stream of the forest, the peer whose it is, by its place.
    of_stream: Vec<Option<u32>>,
    /// The slices of time, if they are that.
    slices: Option<Slices>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What it is called: `rank 3`, `4712 worker`.
    pub label: Label,
    /// The refinement to it.
    pub stage: String,
}

/// What a peer, or the process of peers, is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// For people: nothing in it is a control character, and long names are cut.
    pub text: String,
    /// For machines: with the name as the program gave it.
    pub raw: String,
}

impl Label {
    /// Numbers, and the name behind them, which may be empty.
    fn new(numbers: &str, name: &str) -> Self {
        let join = |name: &str| format!("{numbers} {name}").trim_end().to_owned();
        let short: String = name.chars().take(LONGEST_NAME).collect();
        Self { text: join(&printable(&short)), raw: join(name) }
    }
}

impl Dimension {
    /// What one of the peers is.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        self.axis.map_or("time slice", Axis::name)
    }

    /// What it is called on command lines.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.axis.map_or(TIME, Axis::name)
    }

    /// The slices of time, if its peers are that.
    #[must_use]
    pub fn slices(&self) -> Option<&Slices> {
        self.slices.as_ref()
    }

    /// How many they are, and whose: `4 ranks`, `8 threads of pid 4711 solver`.
    #[must_use]
    pub fn whose(&self, form: Form) -> String {
        let count = counted(self.peers.len() as u64, self.noun(), form);
        match &self.process {
            Some(process) => format!("{count} of {}", process.text),
            None => count,
        }
    }

    /// Whether they wait for each other, so that there is an imbalance.
    #[must_use]
    pub fn has_imbalance(&self) -> bool {
        self.axis.is_some_and(|axis| axis.definition().has_imbalance)
    }

    /// The place of the peer whose a stream is; `None` if it is of no peer.
    #[must_use]
    pub fn of_stream(&self, stream: usize) -> Option<usize> {
        self.of_stream.get(stream).copied().flatten().map(|peer| peer as usize)
    }

    /// The same, but for what is in no phase: that may have been at any time.
    #[must_use]
    pub fn without_no_phase(mut self) -> Self {
        self.peers.retain(|peer| peer.stage != NO_PHASE);
        let peers = self.peers.len();
        let is_kept = |place: &u32| (*place as usize) < peers;
        // It is the last one, so the places of others stay.
        self.of_stream.iter_mut().for_each(|place| *place = place.filter(is_kept));
        self
    }

    fn new(axis: Axis, peers: Vec<Peer>, of_stream: Vec<Option<u32>>) -> Self {
        let axis = Some(axis);
        Self { axis, process: None, others: 0, peers, of_stream, slices: None }
    }
}

/// The dimensions that have two peers or more, in the order of [`but_processes`]. Of the processes
/// that have threads or epochs to compare, `weight` says whose these are: the greatest, of equal
/// ones the first. O(nodes).
#[must_use]
pub fn dimensions(refined: &Refined, weight: impl Fn(ProcessId) -> u64) -> Vec<Dimension> {
    if refined.profile.comparison.is_some() {
        return Vec::new();
    }
    let peers = Peers::of(refined);
    let stages = Stages::new(&refined.profile);
    let found = [
        of_processes(refined, &peers, &stages),
        of_threads(refined, &peers, &stages, &weight),
        of_hosts(refined),
        // Of a process with phases, each epoch is a part of one, whose name says more.
        of_phases(refined),
        of_epochs(refined, &stages, &weight),
        of_time(refined),
    ];
    found.into_iter().flatten().filter(|dimension| dimension.peers.len() > 1).collect()
}

fn of_processes(refined: &Refined, peers: &Peers, stages: &Stages<'_>) -> Option<Dimension> {
    let info = &refined.profile.info;
    let processes = (0..info.processes.len()).map(ProcessId::from_index);
    let numbered = processes.filter_map(|process| Some((peers.of_process(process)?, process)));
    // A rank may have several processes.
    let numbered: BTreeMap<u32, ProcessId> = numbered.collect();
    let places: BTreeMap<u32, u32> = numbered.keys().copied().zip(0..).collect();
    let list = numbered.iter().map(|(number, &process)| match peers.ranks {
        true => Peer {
            label: Label::new(&format!("rank {number}"), ""),
            stage: format!("rank = {number}"),
        },
        false => Peer { label: process_label(refined, process), stage: stages.process(process) },
    });
    let of_stream = |stream: &Stream| places.get(&peers.of_process(stream.process)?).copied();
    let of_stream = refined.streams.iter().map(of_stream).collect();
    let axis = if peers.ranks { Axis::Rank } else { Axis::Process };
    Some(Dimension::new(axis, list.collect(), of_stream))
}

fn of_threads(
    refined: &Refined,
    peers: &Peers,
    stages: &Stages<'_>,
    weight: impl Fn(ProcessId) -> u64,
) -> Option<Dimension> {
    let threads = &refined.profile.info.threads;
    let numbers = (0..threads.len()).map(ThreadId::from_index);
    let mut of_process: BTreeMap<ProcessId, Vec<ThreadId>> = BTreeMap::new();
    for thread in numbers.filter(|thread| peers.is_peer(*thread)) {
        of_process.entry(threads[thread.index()].process).or_default().push(thread);
    }
    let others = of_process.len().checked_sub(1)?;
    let heaviest = of_process.into_iter().rev().max_by_key(|(process, _)| weight(*process));
    let (process, list) = heaviest?;
    let places: BTreeMap<ThreadId, u32> = list.iter().copied().zip(0..).collect();
    let peer = |thread: &ThreadId| {
        let known = &threads[thread.index()];
        let label = Label::new(&known.tid.to_string(), &String::from_utf8_lossy(&known.name));
        Peer { label, stage: stages.thread(*thread) }
    };
    let of_stream = refined.streams.iter().map(|stream| places.get(&stream.thread).copied());
    let of_stream = of_stream.collect();
    let dimension = Dimension::new(Axis::Thread, list.iter().map(peer).collect(), of_stream);
    Some(Dimension { process: Some(process_label(refined, process)), others, ..dimension })
}

/// Those that have processes which the refinement keeps, in the order of their names. Of a host of
/// which a sum has some only with those of others it is not known what it had, so then there are
/// none.
fn of_hosts(refined: &Refined) -> Option<Dimension> {
    let hosts = refined.profile.hosts();
    if hosts.summed().next().is_some() {
        return None;
    }
    let peer = |name: &str| {
        let named = Predicate::Named { axis: Axis::Host, glob: literally(name) };
        Peer { label: Label::new("host", name), stage: named.to_string() }
    };
    let processes = kept_processes(refined).into_iter().enumerate().filter(|(_, is_kept)| *is_kept);
    let numbers = processes.filter_map(|(n, _)| hosts.number(ProcessId::from_index(n)));
    let numbers: BTreeSet<u32> = numbers.collect();
    let list = numbers.iter().filter_map(|&number| hosts.name(number)).map(peer).collect();
    let places: BTreeMap<u32, u32> = numbers.into_iter().zip(0..).collect();
    let of_stream = |stream: &Stream| places.get(&hosts.number(stream.process)?).copied();
    let of_stream = refined.streams.iter().map(of_stream).collect();
    Some(Dimension::new(Axis::Host, list, of_stream))
}

/// Those of one process that have samples, by their number.
fn of_epochs(
    refined: &Refined,
    stages: &Stages<'_>,
    weight: impl Fn(ProcessId) -> u64,
) -> Option<Dimension> {
    let info = &refined.profile.info;
    let number = |stream: &Stream| Some(info.epochs.get(stream.epoch.index())?.number);
    let streams = &refined.profile.streams;
    let mut of_process: BTreeMap<ProcessId, BTreeMap<u32, u32>> = BTreeMap::new();
    for (stream, _) in streams.iter().zip(refined.kept(streams)).filter(|(_, is_kept)| *is_kept) {
        let epochs = of_process.entry(stream.process).or_default();
        number(stream).into_iter().for_each(|number| {
            epochs.insert(number, 0);
        });
    }
    let is_alone = of_process.len() == 1;
    of_process.retain(|process, epochs| epochs.len() > 1 && process.index() < info.processes.len());
    let others = of_process.len().checked_sub(1)?;
    let heaviest = of_process.into_iter().rev().max_by_key(|(process, _)| weight(*process));
    let (process, mut places) = heaviest?;
    places.values_mut().zip(0..).for_each(|(place, next)| *place = next);
    let peer = |number: &u32| {
        let stage = match is_alone {
            true => format!("epoch = {number}"),
            false => format!("{} and epoch = {number}", stages.process(process)),
        };
        Peer { label: Label::new(&format!("epoch {number}"), ""), stage }
    };
    let of_stream = |stream: &Stream| {
        let stream = Some(stream).filter(|stream| stream.process == process)?;
        places.get(&number(stream)?).copied()
    };
    let of_stream = refined.streams.iter().map(of_stream).collect();
    let dimension = Dimension::new(Axis::Epoch, places.keys().map(peer).collect(), of_stream);
    Some(Dimension { process: Some(process_label(refined, process)), others, ..dimension })
}

/// The stage that leaves what is in no phase.
const NO_PHASE: &str = "not phase = *";

/// Those that have samples, of all processes, in the order of their first beginnings; and what is
/// in no phase.
fn of_phases(refined: &Refined) -> Option<Dimension> {
    let info = &refined.profile.info;
    let streams = &refined.profile.streams;
    let kept = streams.iter().zip(refined.kept(streams)).filter(|(_, is_kept)| *is_kept);
    let kept: HashSet<Option<&str>> = kept.map(|(stream, _)| info.phase_of(stream.epoch)).collect();
    let names = phases(info).into_iter().map(Some).chain([None]);
    let names: Vec<Option<&str>> = names.filter(|name| kept.contains(name)).collect();
    if names == [None] {
        return None;
    }
    let peer = |name: &Option<&str>| match name {
        Some(name) => {
            let named = Predicate::Named { axis: Axis::Phase, glob: literally(name) };
            Peer { label: Label::new("phase", name), stage: named.to_string() }
        }
        None => Peer { label: Label::new("no phase", ""), stage: NO_PHASE.to_owned() },
    };
    let places: HashMap<Option<&str>, u32> = names.iter().copied().zip(0..).collect();
    let of_stream = |stream: &Stream| places.get(&info.phase_of(stream.epoch)).copied();
    let of_stream = refined.streams.iter().map(of_stream).collect();
    Some(Dimension::new(Axis::Phase, names.iter().map(peer).collect(), of_stream))
}

/// Slices of what is left of the run, where it is known when samples were taken.
fn of_time(refined: &Refined) -> Option<Dimension> {
    let slices = Slices::of(refined)?;
    let peer = |slice: usize| {
        let (from_ns, to_ns) = slices.bounds(slice);
        let period = Period::between(from_ns, to_ns);
        Peer { label: Label::new(&period.to_string(), ""), stage: format!("during {period}") }
    };
    let peers = (0..slices.count()).map(peer).collect();
    let of_stream = vec![None; refined.streams.len()];
    Some(Dimension { axis: None, process: None, others: 0, peers, of_stream, slices: Some(slices) })
}

/// `rank 3, pid 4711 solver`
fn process_label(refined: &Refined, process: ProcessId) -> Label {
    let known = &refined.profile.info.processes[process.index()];
    Label::new(&identity(&refined.profile.info, process), &program(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contexts_are_said_to_be_dimensions() {
        let said = concat!("ranks, processes, ", but_processes!());
        let mut said: Vec<_> = said.split(", ").map(|noun| format!("2 {noun}")).collect();
        let mut all = Axis::ALL.map(|(_, name)| counted(2, name, Form::Ascii)).to_vec();
        said.sort();
        all.sort();
        assert_eq!(said, all);
    }
}
