//! A sum as it is saved: all tables in the order of their contents.

use std::collections::{BTreeMap, BTreeSet};

use csprof_format::ids::{EpochId, FrameId, ProcessId, ThreadId};
use csprof_format::profile::{
    self as saved, EpochReason, FurtherMetric, MergedRun, Process, RunInfo, Spread,
};

use super::super::merge::together;
use super::super::role::Role;
use super::paths::TreeKey;
use super::roles::{Group, ThreadSums, process_of};
use super::{Reduction, Run};

/// Warnings of runs that a sum repeats.
const MOST_WARNINGS: usize = 16;

/// The nodes of a profile while they are written.
#[derive(Default)]
struct Written {
    nodes: saved::Nodes,
    /// Nodes with samples, of each metric but the first.
    further: Vec<Vec<(u32, u64)>>,
}

/// What is the same for all trees.
struct Order<'r> {
    of: &'r Reduction,
    /// The number that each frame gets.
    frames: Vec<FrameId>,
    children: (Vec<u32>, Vec<u32>),
    /// The metrics, in the order in which they are saved.
    metrics: Vec<usize>,
}

impl Reduction {
    /// The sum as it is saved. An empty profile if nothing was added.
    #[must_use]
    pub fn finish(mut self) -> saved::Profile {
        let mut profile = saved::Profile::default();
        if self.runs.is_empty() {
            return profile;
        }
        self.runs.sort_by_key(|run| (run.info.start_unix_ns, run.info.id()));
        let has_edges = self.runs.iter().all(|run| run.info.trampoline);
        profile.run = run_of(&self.runs, has_edges);
        let place = |source: &str| self.metrics.iter().position(|of| of.source == source);
        let metrics: Vec<usize> =
            self.order.iter().map(|metric| place(&metric.source).unwrap_or(0)).collect();
        profile.metric = self.metrics[metrics[0]].clone();
        let further = metrics[1..].iter().map(|&metric| self.metrics[metric].clone());
        profile.further =
            further.map(|metric| FurtherMetric { metric, ..FurtherMetric::default() }).collect();
        let frames = self.tables.save(&mut profile);
        let children = self.paths.sorted_children(&frames);
        let order = Order { of: &self, frames, children, metrics };
        order.save(&mut profile, has_edges);
        profile.job_sizes = self.job_sizes.into_iter().collect();
        profile.stages = self.stages.unwrap_or_default();
        profile
    }
}

impl Order<'_> {
    /// Writes processes, threads, epochs and trees, and what the sum is of.
    fn save(&self, profile: &mut saved::Profile, has_edges: bool) {
        let Self { of, metrics, .. } = self;
        let mut written =
            Written { further: vec![Vec::new(); metrics.len() - 1], ..Written::default() };
        let parts =
            || of.runs.iter().flat_map(|run| run.processes.iter().map(move |part| (run, part)));
        let groups: BTreeSet<&Group> = parts().map(|(_, part)| &part.group).collect();
        let mut into: BTreeMap<(&Group, Option<u32>), ProcessId> = BTreeMap::new();
        let mut places = vec![u32::MAX; of.paths.len()];
        for group in groups {
            let ranks: BTreeSet<u32> = parts()
                .filter(|(_, part)| part.group == *group)
                .filter_map(|(_, part)| part.process.rank)
                .filter(|rank| of.apart.contains_key(rank))
                .collect();
            for rank in std::iter::once(None).chain(ranks.into_iter().map(Some)) {
                let is_of_it = |process: &Process| match rank {
                    Some(_) => process.rank == rank,
                    None => process.rank.is_none_or(|rank| !of.apart.contains_key(&rank)),
                };
                let own: Vec<(&Process, u64)> = parts()
                    .filter(|(_, part)| part.group == *group && is_of_it(&part.process))
                    .map(|(run, part)| (&part.process, run.info.start_unix_ns))
                    .collect();
                let process = process_of(group, rank, &own, profile.run.start_unix_ns);
                let id = ProcessId::from_index(profile.processes.len());
                into.insert((group, rank), id);
                let trees =
                    self.trees(group, rank, &mut places, &mut written, &mut profile.spreads);
                self.save_process(profile, id, &process, (group, rank), trees);
                profile.processes.push(process);
            }
        }
        profile.nodes = written.nodes;
        if !has_edges {
            profile.nodes.edges.fill(0);
        }
        for (further, samples) in profile.further.iter_mut().zip(written.further) {
            further.samples = samples;
        }
        let summed = |run: &Run| saved::SummedRun {
            info: run.info.clone(),
            processes: run
                .processes
                .iter()
                .map(|part| saved::SummedProcess {
                    process: part.process.clone(),
                    into: {
                        let rank = part.process.rank.filter(|rank| of.apart.contains_key(rank));
                        into.get(&(&part.group, rank)).copied().unwrap_or_default()
                    },
                    recorded: metrics.iter().map(|&metric| part.recorded[metric]).collect(),
                })
                .collect(),
        };
        profile.summed = of.runs.iter().map(summed).collect();
    }

    /// Writes the trees of a process: of what is not kept apart, all paths of its group, and else
    /// those of its rank. Returns how many nodes each has.
    fn trees(
        &self,
        group: &Group,
        rank: Option<u32>,
        places: &mut [u32],
        written: &mut Written,
        spreads: &mut Vec<Spread>,
    ) -> Vec<(&TreeKey, u32)> {
        let paths = &self.of.paths;
        let roots = paths.roots.iter().filter(|(key, _)| key.group == *group);
        let Some(rank) = rank else {
            let whole = roots.map(|(key, &root)| {
                let start = written.nodes.len();
                self.whole_tree(root, places, written, spreads);
                (key, (written.nodes.len() - start) as u32)
            });
            return whole.collect();
        };
        // In pre-order, as the whole trees are, which were written before.
        let own = &self.of.apart[&rank].counts;
        let mut nodes: Vec<(u32, u32, usize)> = own
            .nodes
            .iter()
            .enumerate()
            .map(|(at, &node)| (places[node as usize], node, at))
            .collect();
        nodes.sort_unstable();
        let mut trees = Vec::new();
        for (key, &root) in roots {
            let start = nodes.partition_point(|&(place, ..)| place < places[root as usize]);
            let is_there = nodes.get(start).is_some_and(|&(_, node, _)| node == root);
            if !is_there {
                continue;
            }
            let is_below =
                |&&(_, node, _): &&(u32, u32, usize)| paths.parent[node as usize] != node;
            let count = 1 + nodes[start + 1..].iter().take_while(is_below).count();
            let first = written.nodes.len();
            let tree = &nodes[start..start + count];
            for &(_, node, at) in tree {
                let above = places[paths.parent[node as usize] as usize];
                let above = tree.partition_point(|&(place, ..)| place < above);
                let counts = own.counts_at(at, self.metrics.len());
                self.push(written, (first + above) as u32, node, counts);
            }
            trees.push((key, count as u32));
        }
        trees
    }

    /// Writes a tree with all its paths, in pre-order, and how their costs are spread.
    fn whole_tree(
        &self,
        root: u32,
        places: &mut [u32],
        written: &mut Written,
        spreads: &mut Vec<Spread>,
    ) {
        let paths = &self.of.paths;
        let (list, first) = &self.children;
        let mut pending = vec![root];
        while let Some(node) = pending.pop() {
            let here = written.nodes.len() as u32;
            places[node as usize] = here;
            let parent = places[paths.parent[node as usize] as usize];
            self.push(written, parent, node, paths.counts(node));
            let children = &list[first[node as usize] as usize..first[node as usize + 1] as usize];
            pending.extend(children.iter().rev());
            for (number, &metric) in (0..).zip(&self.metrics) {
                let of = *paths.spread(node, metric);
                if of.ranks > 0 {
                    spreads.push(Spread { node: here, metric: number, of });
                }
            }
        }
    }

    fn push(&self, written: &mut Written, parent: u32, node: u32, counts: &[u64]) {
        let samples = self.metrics.iter().map(|&metric| counts[metric]);
        let all = samples.clone().fold(0, u64::saturating_add);
        let frame = self.frames[self.of.paths.frame[node as usize].index()];
        let here = written.nodes.push(parent, frame, all, counts[self.metrics.len()]);
        for (further, samples) in written.further.iter_mut().zip(samples.skip(1)) {
            further.extend((samples > 0).then_some((here, samples)));
        }
    }

    /// Writes threads, epochs and trees of a process.
    fn save_process(
        &self,
        profile: &mut saved::Profile,
        id: ProcessId,
        process: &Process,
        (group, rank): (&Group, Option<u32>),
        trees: Vec<(&TreeKey, u32)>,
    ) {
        let sums = rank.map_or(&self.of.threads, |rank| &self.of.apart[&rank].threads);
        let of_group = sums.iter().filter(|((of, _), _)| of == group);
        let mut roles: BTreeMap<&Role, Option<&ThreadSums>> =
            trees.iter().map(|(key, _)| (&key.role, None)).collect();
        roles.extend(of_group.map(|((_, role), sums)| (role, Some(sums))));
        let mut threads: BTreeMap<&Role, ThreadId> = BTreeMap::new();
        for (number, (role, sums)) in (1..).zip(roles) {
            let none = ThreadSums::none(&role.name, self.metrics.len());
            let sums = sums.unwrap_or(&none);
            // The main thread has the number of its process.
            let tid = match (role.is_other, rank) {
                (false, _) => Some(process.pid),
                (true, None) => Some(number),
                (true, Some(_)) => None,
            };
            let began = profile.run.start_unix_ns;
            let (mut thread, shares) = sums.thread(tid, began, &self.metrics);
            thread.process = id;
            let summed = ThreadId::from_index(profile.threads.len());
            threads.insert(role, summed);
            profile.threads.push(thread);
            // Of threads of many processes it is not said when none of them ran.
            let row = saved::EarlierThreads { thread: summed, count: sums.earlier, apart_ns: 0 };
            profile.earlier.extend((row.count > 0).then_some(row));
            for (further, share) in profile.further.iter_mut().zip(shares.into_iter().skip(1)) {
                further.threads.push(share);
            }
        }
        let phases: BTreeSet<&Option<String>> = trees.iter().map(|(key, _)| &key.phase).collect();
        let mut epochs: BTreeMap<&Option<String>, EpochId> = BTreeMap::new();
        for (number, phase) in (0..).zip(phases) {
            let epoch = EpochId::from_index(profile.epochs.len());
            epochs.insert(phase, epoch);
            let reason = phase.as_ref().map_or(EpochReason::Start, |_| EpochReason::Request);
            let start_ns = process.start_ns;
            profile.epochs.push(saved::Epoch {
                process: id,
                number,
                reason,
                start_ns,
                ..saved::Epoch::default()
            });
            let name = phase.clone();
            profile.phases.extend(name.map(|name| saved::Phase { epoch, name }));
        }
        for (key, node_count) in trees {
            let first_node =
                profile.trees.last().map_or(0, |tree| tree.first_node + tree.node_count);
            profile.trees.push(saved::Tree {
                thread: threads[&key.role],
                epoch: epochs[&key.phase],
                first_node,
                node_count,
            });
        }
    }
}

/// What is said of all runs together.
fn run_of(runs: &[Run], has_edges: bool) -> RunInfo {
    let merged: Vec<MergedRun> =
        runs.iter().map(|run| MergedRun { info: run.info.clone(), processes: 0 }).collect();
    let mut info = together(&merged);
    let warnings: BTreeSet<String> = std::mem::take(&mut info.warnings).into_iter().collect();
    let more = warnings.len().saturating_sub(MOST_WARNINGS);
    info.warnings = warnings.into_iter().take(MOST_WARNINGS).collect();
    info.warnings.extend((more > 0).then(|| format!("and {more} more warnings of summed runs")));
    if info.trampoline && !has_edges {
        info.trampoline = false;
        let without = runs.iter().filter(|run| !run.info.trampoline).count();
        info.warnings.push(format!(
            "edge counts are left out: there are none in {without} of {} summed runs",
            runs.len()
        ));
    }
    info
}
