//! Load maps from a process's log: which module covered which addresses in which epoch.
//!
//! A module belongs to the epoch in which it was loaded and to all later ones up to its
//! unloading. So an epoch's map holds every module that was loaded before the epoch ended and not
//! unloaded before it began. Addresses are reused only across epochs, so a map has no overlaps;
//! where a damaged log says otherwise, the module that came later is believed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use csprof_format::arena::{LoadRecord, LogRecord, epoch_reason};
use csprof_format::ids::ModuleId;
use csprof_format::launch::control::FIRST_ASKED_PHASE;
use csprof_format::profile::{Mapping, UNLISTED_PHASE};

use super::arena_read::Arena;
use super::time_slices::RunPhase;

/// The epochs of a process, by number.
#[derive(Debug, Default)]
pub(super) struct LoadMaps<'a> {
    pub(super) epochs: BTreeMap<u32, EpochMap<'a>>,
    /// The phases that began, by number.
    pub(super) phases: BTreeMap<u32, PhaseBegin<'a>>,
    /// Whether one of them is not listed, which is told once.
    has_unlisted: bool,
    pub(super) warnings: Vec<String>,
}

/// The first beginning of a phase.
#[derive(Clone, Debug)]
pub(super) struct PhaseBegin<'a> {
    pub(super) name: Cow<'a, [u8]>,
    /// The epoch of that moment; of a phase of the run, none.
    pub(super) epoch: Option<u32>,
    /// `CLOCK_MONOTONIC`.
    pub(super) start_ns: u64,
}

/// One epoch and what was loaded in it.
#[derive(Debug, Default)]
pub(super) struct EpochMap<'a> {
    /// One of [`epoch_reason`].
    pub(super) reason: u32,
    /// `CLOCK_MONOTONIC` at its beginning; 0 if the log does not say.
    pub(super) start_ns: u64,
    /// Segments ordered by start, without overlaps.
    pub(super) mappings: Vec<PlacedSegment<'a>>,
}

/// A segment of a load module at its runtime addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedSegment<'a> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) load: &'a LoadRecord,
}

impl PlacedSegment<'_> {
    /// The segment as a mapping of `module`.
    pub(super) const fn mapping(&self, module: ModuleId) -> Mapping {
        Mapping { start: self.start, end: self.end, bias: self.load.bias, module }
    }
}

impl LoadMaps<'_> {
    /// Makes sure that an epoch which a tree names exists. If the log has lost it, it has no load
    /// map: its addresses cannot be given a meaning.
    pub(super) fn ensure(&mut self, number: u32) {
        self.epochs.entry(number).or_insert_with(|| {
            self.warnings.push(format!(
                "the log does not say when epoch {number} began and what was loaded in it; \
                 its frames have addresses only"
            ));
            EpochMap::default()
        });
    }

    /// Makes sure that a phase which a tree names exists, if it is one: 0 is none. All that neither
    /// the log nor the run lists have one name.
    pub(super) fn ensure_phase(&mut self, number: u32) {
        if number == 0 || self.phases.contains_key(&number) {
            return;
        }
        let name = UNLISTED_PHASE.as_bytes().into();
        let begin = PhaseBegin { name, epoch: None, start_ns: 0 };
        self.phases.insert(number, begin);
        if !std::mem::replace(&mut self.has_unlisted, true) {
            let warning =
                "samples are of a phase that nothing lists: they are in the phase \"not listed\"";
            self.warnings.push(warning.to_owned());
        }
    }

    /// Enters the phases that began when functions were entered: each is named after its function
    /// and the number of the entry.
    pub(super) fn begin_by_functions(&mut self, arena: &Arena) {
        let name = |wanted: u32| {
            arena.log.iter().find_map(|(_, record)| match record {
                LogRecord::PhaseFunction { number, name } if *number == wanted => {
                    Some(String::from_utf8_lossy(name))
                }
                _ => None,
            })
        };
        for (number, entry) in (1..).zip(&arena.entries).filter(|(_, entry)| entry.time_ns > 0) {
            let Some(name) = name(entry.function) else { continue };
            let name = format!("{name} {}", entry.count).into_bytes().into();
            let begun = self.epochs.iter().rfind(|(_, epoch)| epoch.start_ns <= entry.time_ns);
            let epoch = begun.map(|(&epoch, _)| epoch);
            let begin = PhaseBegin { name, epoch, start_ns: entry.time_ns };
            self.phases.insert(number, begin);
        }
    }

    /// Enters the phases of the run: slices if a process names none itself, and those that it was
    /// told to be in.
    pub(super) fn enter(&mut self, phases: &[RunPhase]) {
        let names_none = self.phases.is_empty();
        for RunPhase { number, name, start_ns } in phases {
            if names_none || *number >= FIRST_ASKED_PHASE {
                let name = name.clone().into_bytes().into();
                let begin = PhaseBegin { name, epoch: None, start_ns: *start_ns };
                self.phases.insert(*number, begin);
            }
        }
    }
}

/// Follows the log of a process from its start.
pub(super) fn load_maps(log: &[(u64, LogRecord)]) -> LoadMaps<'_> {
    let mut maps = LoadMaps::default();
    // What is loaded at this point of the log, and what was unloaded since the epoch began (its
    // samples in this epoch still need it), in the order of loading.
    let mut loaded: Vec<&LoadRecord> = Vec::new();
    let mut gone_in_epoch: Vec<u32> = Vec::new();
    let mut open: Option<(u32, EpochMap<'_>)> = None;
    for (time_ns, record) in log {
        match record {
            LogRecord::Load(load) => loaded.push(load),
            LogRecord::Unload { number } => gone_in_epoch.push(*number),
            &LogRecord::Epoch { number, reason } => {
                if let Some((number, epoch)) = open.take() {
                    maps.close(number, epoch, &loaded);
                }
                loaded.retain(|load| !gone_in_epoch.contains(&load.number));
                gone_in_epoch.clear();
                let epoch = EpochMap { reason, start_ns: *time_ns, mappings: Vec::new() };
                open = Some((number, epoch));
            }
            LogRecord::Phase { number, name } => {
                let epoch = Some(open.as_ref().map_or(0, |(number, _)| *number));
                let begin = PhaseBegin { name: name.into(), epoch, start_ns: *time_ns };
                maps.phases.entry(*number).or_insert(begin);
            }
            LogRecord::Command(_)
            | LogRecord::Message(_)
            | LogRecord::PerfMap { .. }
            | LogRecord::Jitdump(_)
            | LogRecord::Temporary { .. }
            | LogRecord::PhaseFunction { .. } => {}
        }
    }
    match open {
        Some((number, epoch)) => maps.close(number, epoch, &loaded),
        // Killed before the first epoch record: all there was belongs to epoch 0.
        None if !loaded.is_empty() => {
            maps.close(0, EpochMap { reason: epoch_reason::START, ..EpochMap::default() }, &loaded);
        }
        None => {}
    }
    maps
}

/// Whether addresses mean the same in both: one file, at one place.
fn is_same_code(one: &LoadRecord, other: &LoadRecord) -> bool {
    let code = |load: &LoadRecord| (load.bias, load.path.clone(), load.build_id.clone(), load.file);
    code(one) == code(other)
}

impl<'a> LoadMaps<'a> {
    fn close(&mut self, number: u32, mut epoch: EpochMap<'a>, loaded: &[&'a LoadRecord]) {
        // A map from start to segment; a later module pushes out what it overlaps.
        let mut placed: BTreeMap<u64, PlacedSegment<'a>> = BTreeMap::new();
        for load in loaded {
            for &(start, end) in load.segments.iter().filter(|(start, end)| start < end) {
                let overlapped: Vec<u64> = placed
                    .range(..end)
                    .rev()
                    .take_while(|(_, segment)| segment.end > start)
                    .map(|(&at, _)| at)
                    .collect();
                for at in overlapped {
                    if let Some(segment) = placed.remove(&at)
                        && segment.load.number != load.number
                        && !is_same_code(segment.load, load)
                    {
                        self.warnings.push(format!(
                            "epoch {number}: {} and {} were noted at the same addresses; \
                             the later one is used",
                            String::from_utf8_lossy(&segment.load.path),
                            String::from_utf8_lossy(&load.path),
                        ));
                    }
                }
                placed.insert(start, PlacedSegment { start, end, load });
            }
        }
        epoch.mappings = placed.into_values().collect();
        self.epochs.insert(number, epoch);
    }
}
