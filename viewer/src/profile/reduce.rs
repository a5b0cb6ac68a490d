//! The processes of a job as one profile: a sum, in which one path is one path, whoever ran it.
//!
//! The profiles of the processes are added one after the other, and memory is that of the sum and
//! of one of them. What [`Keep`] says of ranks stays apart from the sum, with all its values; of
//! the others the sum says, for each path and metric, how the cost is spread over them
//! ([`saved::Spread`]).
//!
//! Invariants: Σ samples, Σ edges and Σ of every loss are those of the parts together. The sum
//! depends on which processes it is of, and not on the order in which they came, nor on which of
//! them had been summed before: adding is associative and commutative, to the byte. So all is in
//! integers, what is chosen among several is chosen by content, and tables are saved in the
//! order of their contents.

mod paths;
mod roles;
mod save;
mod tables;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;

use csprof_format::budget::MOST_NODES;
use csprof_format::ids::{FrameId, ThreadId};
use csprof_format::profile::{self as saved, Metric, Process, RunInfo, ThreadShare};

use self::paths::{Paths, RankCounts, TreeKey};
use self::roles::{Group, ThreadSums};
use self::tables::Tables;
use super::merge::{Unmergeable, runs_of, sampled_by};
use super::role::Role;

/// Which ranks are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All of them.
    All,
    /// Each that has the most of all ranks of some call, with what is below it, which is a tenth of
    /// what it has or more. If a rank is no such in a part of the job, it is none in the whole: so
    /// parts may be summed before.
    #[default]
    Top,
    /// None.
    None,
}

/// A sum that grows by profiles.
#[derive(Debug)]
pub struct Reduction {
    keep: Keep,
    /// In the order of their sources.
    metrics: Vec<Metric>,
    /// In the least of the orders that the parts have.
    order: Vec<Metric>,
    tables: Tables,
    paths: Paths,
    /// Ranks that are kept apart.
    apart: BTreeMap<u32, Apart>,
    /// Threads of the others.
    threads: BTreeMap<(Group, Role), ThreadSums>,
    runs: Vec<Run>,
    /// What the part was called that has each run and each rank.
    run_names: BTreeMap<u128, String>,
    rank_names: BTreeMap<u32, String>,
    /// How many ranks jobs have.
    job_sizes: BTreeSet<u32>,
    /// The stages that all parts begin with.
    stages: Option<Vec<String>>,
}

/// A rank that is kept apart.
#[derive(Debug, Default)]
struct Apart {
    counts: RankCounts,
    /// Where it may have the most of all.
    leads: Vec<(u32, usize)>,
    threads: BTreeMap<(Group, Role), ThreadSums>,
}

/// A run that is in the sum.
#[derive(Debug)]
struct Run {
    info: RunInfo,
    processes: Vec<Part>,
}

/// A process that is in the sum. Its times count from the start of its run.
#[derive(Debug)]
struct Part {
    process: Process,
    group: Group,
    /// Samples of each metric.
    recorded: Vec<u64>,
}

impl Reduction {
    /// The sum of nothing.
    #[must_use]
    pub fn new(keep: Keep) -> Self {
        Self {
            keep,
            metrics: Vec::new(),
            order: Vec::new(),
            tables: Tables::default(),
            paths: Paths::new(0),
            apart: BTreeMap::new(),
            threads: BTreeMap::new(),
            runs: Vec::new(),
            run_names: BTreeMap::new(),
            rank_names: BTreeMap::new(),
            job_sizes: BTreeSet::new(),
            stages: None,
        }
    }

    /// The ranks so far.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.rank_names.keys().copied()
    }

    /// How many of them are kept apart.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.apart.len()
    }

    /// Adds a profile, which people know as `name`; it may be a sum. Takes what the reader has
    /// validated. After an error the sum is as it was, but where all are too many nodes.
    ///
    /// # Errors
    /// If it does not go with those before, or all are too many nodes for one profile.
    pub fn add(&mut self, name: &str, part: &saved::Profile) -> Result<(), Unmergeable> {
        self.agree(name, part)?;
        let metrics = self.metric_numbers(part);
        let shares = shares(part, &metrics);
        let groups = groups(part);
        self.job_sizes.extend(&part.job_sizes);
        self.runs.extend(runs(part, &groups, &shares, &metrics));
        let mut threads = self.add_threads(part, &groups, shares);
        let frames = self.tables.add(part);
        let counts = counts(part, &metrics);
        let nodes = self.add_trees(part, &groups, &frames, &counts);
        if part.is_sum() {
            self.add_spreads(part, &nodes.all, &metrics);
        }
        let width = metrics.len();
        let mut apart: BTreeMap<u32, Apart> = BTreeMap::new();
        for (rank, nodes) in nodes.of_ranks {
            let own = RankCounts::new(nodes, width, |node, out| {
                out.iter_mut().zip(&counts).for_each(|(out, of)| *out = of[node as usize]);
            });
            let leads = self.paths.leads(rank, &own, !part.is_sum());
            apart.insert(rank, Apart { counts: own, leads, threads: BTreeMap::new() });
        }
        for rank in part.processes.iter().filter_map(|process| process.rank) {
            let threads = threads.remove(&rank).unwrap_or_default();
            apart.entry(rank).or_default().threads.extend(threads);
        }
        self.apart.append(&mut apart);
        self.take_in();
        match &mut self.stages {
            None => self.stages = Some(part.stages.clone()),
            Some(known) => {
                let same = known.iter().zip(&part.stages).take_while(|(a, b)| a == b).count();
                known.truncate(same);
            }
        }
        if self.paths.len() as u64 > MOST_NODES {
            return Err(Unmergeable(format!(
                "{name}: with this one the paths of all ranks are {}, and csprof reads {MOST_NODES} nodes \
                 of one profile; merge fewer of them",
                self.paths.len()
            )));
        }
        Ok(())
    }

    fn agree(&mut self, name: &str, part: &saved::Profile) -> Result<(), Unmergeable> {
        let mut metrics: Vec<Metric> = part.metrics().cloned().collect();
        let order = metrics.clone();
        metrics.sort_by(|a, b| a.source.cmp(&b.source));
        let said =
            |metrics: &[Metric]| metrics.iter().map(sampled_by).collect::<Vec<_>>().join(" and ");
        let known = || self.run_names.values().next().map_or("", |name| name);
        if !self.run_names.is_empty() && metrics != self.metrics {
            return Err(Unmergeable(format!(
                "{name}: was sampled by {}, but {} by {}; samples and edges of different sources or \
                 periods do not add up; csprof diff compares such runs",
                said(&metrics),
                known(),
                said(&self.metrics)
            )));
        }
        let runs = match &part.summed[..] {
            [] => runs_of(part),
            summed => summed.iter().map(|run| run.info.id()).collect(),
        };
        if let Some(same) = runs.iter().find_map(|run| self.run_names.get(run)) {
            return Err(Unmergeable(format!(
                "{name}: has a run that {same} has, too, which would count twice; leave one out"
            )));
        }
        if let Some(rank) = repeated_rank(part) {
            return Err(Unmergeable(format!(
                "{name}: several of its runs have rank {rank}: a sum is of one job, in which a rank comes \
                 once; --concat keeps runs apart"
            )));
        }
        let ranks = ranks_of(part);
        if let Some((rank, other)) =
            ranks.iter().find_map(|rank| Some((rank, self.rank_names.get(rank)?)))
        {
            return Err(Unmergeable(format!(
                "{name}: has rank {rank}, and so has {other}: a sum is of one job, in which a rank \
                 comes once; --concat keeps runs apart"
            )));
        }
        self.run_names.extend(runs.into_iter().map(|run| (run, name.to_owned())));
        self.rank_names.extend(ranks.into_iter().map(|rank| (rank, name.to_owned())));
        if self.metrics.is_empty() {
            self.paths = Paths::new(metrics.len());
            self.metrics = metrics;
            self.order = order;
        } else {
            let sources =
                |of: &[Metric]| of.iter().map(|metric| metric.source.clone()).collect::<Vec<_>>();
            if sources(&order) < sources(&self.order) {
                self.order = order;
            }
        }
        Ok(())
    }

    /// The number that each metric of a part has here.
    fn metric_numbers(&self, part: &saved::Profile) -> Vec<usize> {
        let place = |of: &Metric| self.metrics.iter().position(|metric| metric == of);
        part.metrics().map(|metric| place(metric).unwrap_or(0)).collect()
    }

    /// Adds threads that are of no rank, and returns those of each rank.
    fn add_threads(
        &mut self,
        part: &saved::Profile,
        groups: &[Group],
        shares: Vec<Vec<ThreadShare>>,
    ) -> BTreeMap<u32, BTreeMap<(Group, Role), ThreadSums>> {
        let mut of_ranks: BTreeMap<u32, BTreeMap<_, ThreadSums>> = BTreeMap::new();
        for (number, (thread, shares)) in part.threads.iter().zip(shares).enumerate() {
            let earlier = part.earlier_threads(ThreadId::from_index(number));
            if ThreadSums::is_blank(thread) && earlier == 0 {
                continue;
            }
            let process = &part.processes[thread.process.index()];
            let key = (groups[thread.process.index()].clone(), Role::of(thread, process));
            let own = ThreadSums::of(thread, earlier, shares, part.run.start_unix_ns);
            let into = match process.rank {
                Some(rank) => of_ranks.entry(rank).or_default(),
                None => &mut self.threads,
            };
            add_thread(into, key, &own);
        }
        of_ranks
    }

    /// Adds paths, and the counts of processes without a rank.
    fn add_trees(
        &mut self,
        part: &saved::Profile,
        groups: &[Group],
        frames: &[FrameId],
        counts: &[Vec<u64>],
    ) -> NodesOfPart {
        let mut nodes = NodesOfPart::default();
        let mut own = vec![0; counts.len()];
        for tree in &part.trees {
            let thread = &part.threads[tree.thread.index()];
            let process = &part.processes[thread.process.index()];
            let key = TreeKey {
                group: groups[thread.process.index()].clone(),
                role: Role::of(thread, process),
                phase: part.phase_of(tree.epoch).map(str::to_owned),
            };
            let first = tree.first_node as usize;
            let range = first..first + tree.node_count as usize;
            self.paths.add_tree(key, &part.nodes, range.clone(), frames, &mut nodes.all);
            match process.rank {
                Some(rank) => {
                    let of_rank = nodes.of_ranks.entry(rank).or_default();
                    of_rank.extend(range.map(|node| (nodes.all[node], node as u32)));
                }
                None => {
                    for node in range {
                        own.iter_mut().zip(counts).for_each(|(own, of)| *own = of[node]);
                        self.paths.count(nodes.all[node], &own);
                    }
                }
            }
        }
        nodes
    }

    /// Adds how the costs of another sum are spread.
    fn add_spreads(&mut self, part: &saved::Profile, nodes: &[u32], metrics: &[usize]) {
        for spread in &part.spreads {
            let (node, metric) = (nodes[spread.node as usize], metrics[usize::from(spread.metric)]);
            self.paths.spread_over(node, metric, &spread.of);
        }
    }

    /// Adds ranks to the others that need not be kept apart, or not any more.
    fn take_in(&mut self) {
        let Self { paths, keep, .. } = self;
        let is_over = |rank: u32, apart: &Apart| match keep {
            Keep::All => false,
            Keep::Top => !apart.leads.iter().any(|&lead| paths.is_lead(rank, lead)),
            Keep::None => true,
        };
        let over: Vec<u32> = self
            .apart
            .iter()
            .filter(|&(&rank, apart)| is_over(rank, apart))
            .map(|(&rank, _)| rank)
            .collect();
        for rank in over {
            let Some(apart) = self.apart.remove(&rank) else { continue };
            for (at, &node) in apart.counts.nodes.iter().enumerate() {
                self.paths.count(node, apart.counts.counts_at(at, self.metrics.len()));
            }
            for (key, threads) in apart.threads {
                add_thread(&mut self.threads, key, &threads);
            }
        }
    }
}

/// The nodes that those of a part are in a sum.
#[derive(Default)]
struct NodesOfPart {
    all: Vec<u32>,
    /// Those of each rank, each with its node in the part.
    of_ranks: BTreeMap<u32, Vec<(u32, u32)>>,
}

fn add_thread(
    threads: &mut BTreeMap<(Group, Role), ThreadSums>,
    key: (Group, Role),
    own: &ThreadSums,
) {
    match threads.get_mut(&key) {
        Some(sums) => sums.add(own),
        None => drop(threads.insert(key, own.clone())),
    }
}

/// A rank that several runs of a profile have: they are of no one job.
#[must_use]
pub fn repeated_rank(part: &saved::Profile) -> Option<u32> {
    let runs = part.runs.iter().enumerate();
    let mut runs = runs.flat_map(|(run, merged)| repeat_n(run, merged.processes as usize));
    let mut run_of_rank: BTreeMap<u32, usize> = BTreeMap::new();
    part.processes.iter().find_map(|process| {
        let run = runs.next().unwrap_or(0);
        process.rank.filter(|&rank| *run_of_rank.entry(rank).or_insert(run) != run)
    })
}

/// The ranks of a profile, which may be a sum.
#[must_use]
pub fn ranks_of(part: &saved::Profile) -> BTreeSet<u32> {
    let of_processes = part.processes.iter().filter_map(|process| process.rank);
    of_processes.chain(part.summed_ranks()).collect()
}

/// How many ranks the job has that a profile is of. `None` if its launcher did not say, and where
/// the profile is seen to have ranks of several jobs: of them it is not known which rank is of
/// which.
#[must_use]
pub fn job_size(part: &saved::Profile) -> Option<u32> {
    let &[size] = &part.job_sizes[..] else { return None };
    let last = ranks_of(part).last().copied();
    (last.is_some_and(|last| last < size) && repeated_rank(part).is_none()).then_some(size)
}

/// The group of each process. One that many were summed into has no rank, but what it was made of
/// may have; nothing is in it if all ranks are kept apart.
fn groups(part: &saved::Profile) -> Vec<Group> {
    let mut is_of_none = vec![!part.is_sum(); part.processes.len()];
    for summed in part.summed_processes() {
        is_of_none[summed.into.index()] |= summed.process.rank.is_none();
    }
    let processes = part.processes.iter().zip(is_of_none);
    processes
        .map(|(process, is_of_none)| Group::of(process, process.rank.is_some() || !is_of_none))
        .collect()
}

/// What each thread has of each metric, whose numbers here are these.
fn shares(part: &saved::Profile, metrics: &[usize]) -> Vec<Vec<ThreadShare>> {
    let of_thread = |thread: usize| {
        let mut shares = vec![ThreadShare::default(); metrics.len()];
        for (number, &metric) in metrics.iter().enumerate() {
            shares[metric] = part.share(ThreadId::from_index(thread), number);
        }
        shares
    };
    (0..part.threads.len()).map(of_thread).collect()
}

/// The exclusive samples that the nodes of a part have of each metric, and their edges.
fn counts(part: &saved::Profile, metrics: &[usize]) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; part.nodes.len()]; metrics.len() + 1];
    let mut first = part.nodes.samples.clone();
    for (further, &metric) in part.further.iter().zip(&metrics[1..]) {
        for &(node, samples) in &further.samples {
            counts[metric][node as usize] = samples;
            first[node as usize] -= samples;
        }
    }
    counts[metrics[0]] = first;
    counts[metrics.len()].clone_from(&part.nodes.edges);
    counts
}

/// The runs of a part, with their processes as they were.
fn runs(
    part: &saved::Profile,
    groups: &[Group],
    shares: &[Vec<ThreadShare>],
    metrics: &[usize],
) -> Vec<Run> {
    if part.is_sum() {
        let process = |summed: &saved::SummedProcess| {
            let mut recorded = vec![0; metrics.len()];
            for (&metric, &samples) in metrics.iter().zip(&summed.recorded) {
                recorded[metric] = samples;
            }
            let group = groups[summed.into.index()].clone();
            Part { process: summed.process.clone(), group, recorded }
        };
        let run = |run: &saved::SummedRun| {
            let processes = run.processes.iter().map(process).collect();
            Run { info: run.info.clone(), processes }
        };
        return part.summed.iter().map(run).collect();
    }
    let mut recorded = vec![vec![0_u64; metrics.len()]; part.processes.len()];
    for (thread, shares) in part.threads.iter().zip(shares) {
        for (sum, share) in recorded[thread.process.index()].iter_mut().zip(shares) {
            *sum = sum.saturating_add(share.recorded);
        }
    }
    let processes = part.processes.iter().zip(groups).zip(recorded);
    let mut processes = processes.map(|((process, group), recorded)| Part {
        process: process.clone(),
        group: group.clone(),
        recorded,
    });
    if part.runs.is_empty() {
        return vec![Run { info: part.run.clone(), processes: processes.collect() }];
    }
    let run = |merged: &saved::MergedRun| {
        // Times count from the earliest start of all.
        let before = merged.info.start_unix_ns.saturating_sub(part.run.start_unix_ns);
        let own = processes.by_ref().take(merged.processes as usize).map(|mut own| {
            own.process.start_ns = own.process.start_ns.saturating_sub(before);
            own.process.end_ns = own.process.end_ns.saturating_sub(before);
            own
        });
        Run { info: merged.info.clone(), processes: own.collect() }
    };
    part.runs.iter().map(run).collect()
}
