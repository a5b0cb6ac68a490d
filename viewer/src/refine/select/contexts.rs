//! Ranks, processes, phases and other contexts: where and when samples were taken.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use csprof_format::profile::{self as saved, UNLISTED_PHASE};

use crate::profile::{Hosts, Profile, Stream, program};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::{Cause, Unmatched};
use crate::refine::forest::refined::Refined;
use crate::refine::lang::axis::Axis;
use crate::refine::lang::lexer::is_sign;
use crate::refine::lang::syntax::Predicate;
use crate::refine::pattern::glob::Glob;

/// The contexts of the streams.
pub(crate) struct Contexts<'r> {
    refined: &'r Refined,
    hosts: Cow<'r, Hosts>,
    /// Position of each thread within its process.
    thread_numbers: Vec<u32>,
    /// How many others the threads of each position stand for, which ran before them: of all
    /// processes together, and only where there are any.
    earlier: HashMap<u32, u64>,
    /// The names of phases.
    phases: Vec<&'r str>,
    /// The number of each name.
    phase_numbers: HashMap<&'r str, u32>,
}

impl<'r> Contexts<'r> {
    pub(crate) fn new(refined: &'r Refined) -> Self {
        let thread_numbers = thread_numbers(&refined.profile.info);
        let mut earlier: HashMap<u32, u64> = HashMap::new();
        // A number is of threads of both sides.
        let is_compared = refined.profile.comparison.is_some();
        for row in refined.profile.info.earlier.iter().filter(|_| !is_compared) {
            if let Some(&number) = thread_numbers.get(row.thread.index()) {
                let count = earlier.entry(number).or_default();
                *count = count.saturating_add(row.count);
            }
        }
        let phases = phases(&refined.profile.info);
        let phase_numbers = phases.iter().copied().zip(0..).collect();
        let hosts = refined.profile.hosts();
        Self { refined, hosts, thread_numbers, earlier, phases, phase_numbers }
    }

    /// What `in` compares with.
    pub(crate) fn number(&self, stream: &Stream, axis: Axis) -> Option<u32> {
        let info = &self.refined.profile.info;
        match axis {
            Axis::Rank => info.processes.get(stream.process.index())?.rank,
            Axis::Host => self.hosts.number(stream.process),
            Axis::Process => u32::try_from(stream.process.index()).ok(),
            Axis::Thread => self.thread_numbers.get(stream.thread.index()).copied(),
            Axis::Epoch => Some(info.epochs.get(stream.epoch.index())?.number),
            Axis::Phase => self.phase_numbers.get(info.phase_of(stream.epoch)?).copied(),
        }
    }

    /// What people call the one with this number, or what has none.
    pub(crate) fn called(&self, number: Option<u32>, axis: Axis) -> String {
        let Some(number) = number else {
            let is_in_sum = self.refined.profile.info.is_sum() && axis != Axis::Phase;
            return if is_in_sum { "others" } else { "none" }.to_owned();
        };
        match axis {
            Axis::Host => self.hosts.name(number).unwrap_or_default().to_owned(),
            Axis::Phase => self.phases.get(number as usize).copied().unwrap_or_default().to_owned(),
            Axis::Thread => match self.earlier.get(&number) {
                Some(earlier) => format!("{number} and {earlier} earlier"),
                None => number.to_string(),
            },
            Axis::Rank | Axis::Process | Axis::Epoch => number.to_string(),
        }
    }

    /// What `=` compares with: name and id on the host of a thread or of a process (its program's
    /// file), otherwise the number.
    fn names(&self, stream: &Stream, axis: Axis) -> Vec<String> {
        let info = &self.refined.profile.info;
        match axis {
            Axis::Thread => {
                info.threads.get(stream.thread.index()).map_or_else(Vec::new, |thread| {
                    vec![String::from_utf8_lossy(&thread.name).into_owned(), thread.tid.to_string()]
                })
            }
            Axis::Process => {
                info.processes.get(stream.process.index()).map_or_else(Vec::new, |process| {
                    vec![program(process).into_owned(), process.pid.to_string()]
                })
            }
            Axis::Host => self
                .hosts
                .of_process(stream.process)
                .map(|name| (**name).to_owned())
                .into_iter()
                .collect(),
            Axis::Phase => info.phase_of(stream.epoch).map(str::to_owned).into_iter().collect(),
            Axis::Rank | Axis::Epoch => {
                self.number(stream, axis).map(|number| number.to_string()).into_iter().collect()
            }
        }
    }

    /// Whether the samples of a context satisfy a predicate, whatever their paths are; `None`
    /// where that depends on the path.
    pub(crate) fn decides(&self, stream: &Stream, predicate: &Predicate) -> Option<bool> {
        let mut inner = match predicate {
            Predicate::Not(inner) => return self.decides(stream, inner).map(|holds| !holds),
            Predicate::Numbered { axis, ranges } => {
                return Some(self.is_numbered(stream, *axis, ranges));
            }
            Predicate::Named { axis, glob } => {
                return Some(self.is_named(stream, *axis, &Glob::new(glob)));
            }
            Predicate::And(inner) | Predicate::Or(inner) => inner.iter(),
            _ => return None,
        };
        // One that fails decides for `and`, one that holds for `or`.
        let decisive = matches!(predicate, Predicate::Or(_));
        inner
            .try_fold(Some(!decisive), |all, one| match self.decides(stream, one) {
                Some(holds) if holds == decisive => Err(Some(decisive)),
                Some(_) => Ok(all),
                None => Ok(None),
            })
            .unwrap_or_else(|decided| decided)
    }

    pub(crate) fn is_numbered(&self, stream: &Stream, axis: Axis, ranges: &[(u32, u32)]) -> bool {
        self.number(stream, axis).is_some_and(|number| is_in(number, ranges))
    }

    pub(crate) fn is_named(&self, stream: &Stream, axis: Axis, glob: &Glob) -> bool {
        self.names(stream, axis).iter().any(|name| glob.matches(name))
    }

    /// The first one that is meant and that a sum, or that of a side, does not keep apart: a rank,
    /// or a host of which some process is only in the sum with those of others.
    fn summed(&self, axis: Axis, predicate: &Predicate) -> Option<String> {
        let glob = match predicate {
            Predicate::Named { glob, .. } => Some(Glob::new(glob)),
            _ => None,
        };
        let is_meant = |name: &str, number: u32| match (predicate, &glob) {
            (Predicate::Numbered { ranges, .. }, _) => is_in(number, ranges),
            (_, Some(glob)) => glob.matches(name),
            _ => false,
        };
        match axis {
            Axis::Rank => {
                let summed: BTreeSet<u32> = match &self.refined.profile.comparison {
                    Some(comparison) => {
                        comparison.sides.iter().flat_map(|side| &side.summed).copied().collect()
                    }
                    None => self.refined.profile.info.merely_summed_ranks(),
                };
                let rank = summed.into_iter().find(|rank| is_meant(&rank.to_string(), *rank))?;
                Some(format!("rank {rank}"))
            }
            Axis::Host => {
                let mut summed = self.hosts.summed();
                let (host, _) = summed.find(|(name, number)| is_meant(name, *number))?;
                Some(format!("a rank of host {host}"))
            }
            Axis::Process | Axis::Thread | Axis::Epoch | Axis::Phase => None,
        }
    }

    pub(crate) fn nodes(
        &self,
        axis: Axis,
        predicate: &Predicate,
        holds: impl Fn(&Stream) -> bool,
    ) -> Result<Bits, Unmatched> {
        if let Some(what) = self.summed(axis, predicate) {
            let cause = Cause::Summed { what };
            return Err(Unmatched { part: predicate.to_string(), cause });
        }
        let mut set = Bits::none(self.refined.node_count());
        let mut found = false;
        for stream in self.refined.streams.iter().filter(|stream| holds(stream)) {
            found = true;
            set.insert_range(stream.nodes.start as usize..stream.nodes.end as usize);
        }
        if found {
            return Ok(set);
        }
        let among = axis.definition().among;
        let mut suggestions: Vec<String> = Vec::new();
        for stream in self.refined.streams.iter() {
            let name = match predicate {
                Predicate::Named { .. } => self.names(stream, axis).into_iter().next(),
                _ => self.number(stream, axis).map(|number| number.to_string()),
            };
            suggestions.extend(name.filter(|name| !name.is_empty()));
        }
        // Numbers by their value, which is by length first.
        suggestions.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        suggestions.dedup();
        suggestions.truncate(8);
        let cause = Cause::Unmatched { among, suggestions };
        Err(Unmatched { part: predicate.to_string(), cause })
    }
}

fn is_in(number: u32, ranges: &[(u32, u32)]) -> bool {
    ranges.iter().any(|&(first, last)| (first..=last).contains(&number))
}

/// The position of each thread within its process.
fn thread_numbers(info: &saved::Profile) -> Vec<u32> {
    let threads = &info.threads;
    let mut numbers: Vec<u32> = Vec::with_capacity(threads.len());
    for (index, thread) in threads.iter().enumerate() {
        // Threads of one process are consecutive.
        let follows = index > 0 && threads[index - 1].process == thread.process;
        numbers.push(if follows { numbers[index - 1] + 1 } else { 0 });
    }
    numbers
}

/// What those of a context are called in a profile, or their numbers. Processes and threads without
/// samples are left out, and those of one name are named once; then come their ids.
#[must_use]
pub fn contexts(profile: &Profile, axis: Axis, numbers: bool) -> Vec<String> {
    let info = &profile.info;
    let numbered = |count: usize| (0..).take(count).collect::<Vec<u32>>();
    let sampled = || info.threads.iter().filter(|thread| thread.recorded > 0);
    let mut names: Vec<String> = Vec::new();
    let mut found = match axis {
        Axis::Rank => info.processes.iter().filter_map(|process| process.rank).collect(),
        Axis::Host if numbers => numbered(profile.hosts().names().len()),
        Axis::Host => {
            names.extend(profile.hosts().names().map(str::to_owned));
            Vec::new()
        }
        Axis::Process if numbers => numbered(info.processes.len()),
        Axis::Process => {
            let process = |thread: &saved::Thread| info.processes.get(thread.process.index());
            let all: BTreeSet<_> = sampled().filter_map(process).map(program).collect();
            names.extend(all.into_iter().map(Cow::into_owned));
            sampled().filter_map(process).map(|process| process.pid).collect()
        }
        Axis::Thread if numbers => thread_numbers(info),
        Axis::Thread => {
            let all: BTreeSet<_> = sampled().map(|t| String::from_utf8_lossy(&t.name)).collect();
            names.extend(all.into_iter().map(Cow::into_owned));
            sampled().map(|thread| thread.tid).collect()
        }
        Axis::Epoch => info.epochs.iter().map(|epoch| epoch.number).collect(),
        Axis::Phase if numbers => numbered(phases(info).len()),
        Axis::Phase => {
            names.extend(phases(info).into_iter().map(str::to_owned));
            Vec::new()
        }
    };
    // Others would need a pattern that avoids their signs.
    names.retain(|name| !name.is_empty() && !name.contains(|c| is_sign(c) || c == '"'));
    found.sort_unstable();
    found.dedup();
    names.extend(found.iter().map(u32::to_string));
    names
}

/// The names of all phases, each once, in the order in which they first began; last those of which
/// that is not known.
pub(crate) fn phases(info: &saved::Profile) -> Vec<&str> {
    let mut seen = HashSet::new();
    let start_ns = |phase| phase_start_ns(info, phase).unwrap_or(u64::MAX);
    let mut phases: Vec<_> = info.phases.iter().map(|phase| (start_ns(phase), phase)).collect();
    phases.sort_by_key(|(start_ns, _)| *start_ns);
    let names = phases.into_iter().map(|(_, phase)| &*phase.name);
    names.filter(|name| seen.insert(*name)).collect()
}

/// When a phase began, if that is known.
pub(crate) fn phase_start_ns(info: &saved::Profile, phase: &saved::Phase) -> Option<u64> {
    let is_known = phase.name != UNLISTED_PHASE;
    info.epochs.get(phase.epoch.index()).filter(|_| is_known).map(|epoch| epoch.start_ns)
}
