//! Peers: the processes, and the threads of a process, that share one work, so that the imbalance
//! between them means something.
//!
//! 1. Where processes have ranks, each rank is a peer, with all its processes together: a wrapper
//!    shell has the rank of what it starts. Launchers have none.
//! 2. Without ranks, peers are processes that one process started with the same program.
//! 3. Threads are peers within their process.
//!
//! Peers of 2. and 3. all run at one time and do the same work: most samples of each are in
//! functions in which the one with most samples has some, too, and a tenth at least of that one's.
//! So a helper thread is no peer, nor is a main thread that only waits for its workers. Where this
//! cannot be told, there are no peers and no imbalance. Peers are the same whatever a refinement
//! shows of them, but those whose context it leaves out by name or number.

use core::cmp::Reverse;
use core::iter::repeat_n;
use std::collections::{BTreeMap, HashMap};

use csprof_format::ids::{EpochId, ProcessId, ThreadId};
use csprof_format::profile::Origin;

use crate::profile::{MetricRef, Profile, Stream, program};
use crate::refine::Refined;

/// Who is compared with whom.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// Whether processes are compared by rank.
    pub ranks: bool,
    /// For each process, the number of the peer that it is or belongs to.
    of_process: Vec<Option<u32>>,
    /// For each thread, whether it is a peer of others of its process.
    of_thread: Vec<bool>,
}

impl Peers {
    /// Those of a profile that the context predicates of a refinement keep. O(nodes).
    #[must_use]
    pub fn of(refined: &Refined) -> Self {
        let profile = &refined.profile;
        let info = &profile.info;
        let kept = Kept::of(refined);
        let work = Work::new(profile);
        // In a sum, threads are of a role, and do different work.
        let is_sum = info.is_sum();
        let candidates = info.threads.iter().enumerate().map(|(number, thread)| {
            // One that stands for several, which ran one after the other, did the work of none.
            let is_one = info.earlier_threads(ThreadId::from_index(number)) == 0;
            let is_kept = kept.threads[number] && !is_sum && is_one;
            let group = is_kept.then_some(thread.process.0 as usize)?;
            Some((group, Life::new(thread.start_ns, thread.end_ns)))
        });
        let of_thread = work.peers(&candidates.collect::<Vec<_>>(), |stream| stream.thread.index());
        let ranks = info.processes.iter().any(|process| process.rank.is_some());
        let of_process = match (&profile.comparison, ranks) {
            // Processes of two runs that are compared do not wait for each other.
            (Some(_), _) => vec![None; info.processes.len()],
            // Some ranks of a job do not say how all differ.
            _ if is_sum && !keeps_all_ranks(profile) => vec![None; info.processes.len()],
            (None, true) => of_ranks(profile, &kept.processes),
            (None, false) => of_programs(profile, &work, &kept.processes),
        };
        Self { ranks, of_process, of_thread }
    }

    /// The number of the peer that a process is or belongs to.
    #[must_use]
    pub fn of_process(&self, process: ProcessId) -> Option<u32> {
        self.of_process.get(process.index()).copied().flatten()
    }

    /// Whether a thread has peers in its process.
    #[must_use]
    pub fn is_peer(&self, thread: ThreadId) -> bool {
        self.of_thread.get(thread.index()) == Some(&true)
    }
}

/// The rank of each process that a refinement keeps, in a sum that keeps all ranks apart; `None`
/// of other profiles. O(streams).
#[must_use]
pub(super) fn ranks_of_sum(refined: &Refined) -> Option<Vec<Option<u32>>> {
    let profile = &refined.profile;
    let knows_each =
        profile.comparison.is_none() && profile.info.is_sum() && keeps_all_ranks(profile);
    knows_each.then(|| of_ranks(profile, &Kept::of(refined).processes))
}

/// Which processes a refinement keeps, also of those without samples. O(streams).
#[must_use]
pub(super) fn kept_processes(refined: &Refined) -> Vec<bool> {
    Kept::of(refined).processes
}

/// How many ranks or threads share the work of a run: the peers, in each process that has none or
/// is one the peers among its threads. At least 1: what has no peers works alone. `None` where
/// threads with samples stand for several: how many of these worked at one time is not known.
/// O(nodes).
#[must_use]
pub fn workers(refined: &Refined) -> Option<u32> {
    let info = &refined.profile.info;
    if info.is_sum() {
        return Some(u32::try_from(info.summed_ranks().len()).unwrap_or(u32::MAX).max(1));
    }
    let has_samples = |thread: ThreadId| info.threads[thread.index()].recorded > 0;
    if info.earlier.iter().any(|row| has_samples(row.thread)) {
        return None;
    }
    let peers = Peers::of(refined);
    // The peers that are processes, and the threads that are peers in each.
    let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
    let mut elsewhere: BTreeMap<ProcessId, u32> = BTreeMap::new();
    let of_process = (0..info.processes.len()).map(ProcessId::from_index);
    for peer in of_process.filter_map(|process| peers.of_process(process)) {
        threads.insert(peer, 0);
    }
    for (number, thread) in info.threads.iter().enumerate() {
        if !peers.is_peer(ThreadId::from_index(number)) {
            continue;
        }
        match peers.of_process(thread.process) {
            Some(peer) => *threads.entry(peer).or_default() += 1,
            None => *elsewhere.entry(thread.process).or_default() += 1,
        }
    }
    let of_peers = threads.values().map(|&threads| threads.max(1)).sum();
    Some(match of_peers {
        0 => elsewhere.into_values().max().unwrap_or(1),
        workers => workers,
    })
}

/// Which processes and threads are kept, and which processes have samples.
struct Kept {
    processes: Vec<bool>,
    threads: Vec<bool>,
    sampled: Vec<bool>,
}

impl Kept {
    /// Those of a profile that the context predicates of a refinement keep.
    fn of(refined: &Refined) -> Self {
        let profile = &refined.profile;
        let mut kept = Self::new(profile.info.processes.len(), profile.info.threads.len());
        for (stream, is_kept) in profile.streams.iter().zip(refined.kept(&profile.streams)) {
            kept.add(stream, is_kept);
        }
        // A rank without any sample is the worst of them.
        let idle: Vec<Stream> = kept.without_samples().map(without_samples).collect();
        for (stream, is_kept) in idle.iter().zip(refined.kept(&idle)) {
            kept.add(stream, is_kept);
        }
        kept
    }

    fn new(processes: usize, threads: usize) -> Self {
        let [sampled, kept] = [vec![false; processes], vec![false; processes]];
        Self { processes: kept, threads: vec![false; threads], sampled }
    }

    fn add(&mut self, stream: &Stream, is_kept: bool) {
        if let Some(sampled) = self.sampled.get_mut(stream.process.index()) {
            *sampled = true;
            self.processes[stream.process.index()] |= is_kept;
        }
        if let Some(thread) = self.threads.get_mut(stream.thread.index()) {
            *thread |= is_kept;
        }
    }

    fn without_samples(&self) -> impl Iterator<Item = ProcessId> {
        let processes = self.sampled.iter().enumerate();
        processes.filter(|(_, sampled)| !**sampled).map(|(n, _)| ProcessId::from_index(n))
    }
}

/// Whether each rank that a sum is of is kept apart.
pub(super) fn keeps_all_ranks(profile: &Profile) -> bool {
    let has_ranks = profile.info.processes.iter().any(|process| process.rank.is_some());
    has_ranks && profile.info.merely_summed_ranks().is_empty()
}

/// The context of a process, in no thread and no epoch.
fn without_samples(process: ProcessId) -> Stream {
    let (thread, epoch) = (ThreadId(u32::MAX), EpochId(u32::MAX));
    Stream { process, thread, epoch, nodes: 0..0 }
}

/// By rank. The ranks of merged runs belong together if none comes twice: then each run has some
/// of one job's. Otherwise it is not known which of them wait for each other.
fn of_ranks(profile: &Profile, kept: &[bool]) -> Vec<Option<u32>> {
    let info = &profile.info;
    let mut run_of_rank: HashMap<u32, usize> = HashMap::new();
    let runs = info.runs.iter().enumerate();
    let mut runs = runs.flat_map(|(run, merged)| repeat_n(run, merged.processes as usize));
    for process in &info.processes {
        let run = runs.next().unwrap_or(0);
        if let Some(rank) = process.rank
            && *run_of_rank.entry(rank).or_insert(run) != run
        {
            return vec![None; info.processes.len()];
        }
    }
    let ranks = info.processes.iter().zip(kept);
    ranks.map(|(process, kept)| process.rank.filter(|_| *kept)).collect()
}

/// Processes of one program and one parent. Of several such groups, the one with most samples.
fn of_programs(profile: &Profile, work: &Work<'_>, kept: &[bool]) -> Vec<Option<u32>> {
    let info = &profile.info;
    let mut groups: HashMap<_, usize> = HashMap::new();
    let candidates = info.processes.iter().zip(kept).map(|(process, kept)| {
        let is_fork = process.origin == Origin::Fork;
        let next = groups.len();
        let group = (process.parent_pid, is_fork, program(process));
        let group = *groups.entry(group).or_insert(next);
        kept.then_some((group, Life::new(process.start_ns, process.end_ns)))
    });
    let candidates: Vec<_> = candidates.collect();
    let process = |stream: &Stream| stream.process.index();
    let peers = work.peers(&candidates, process);
    let samples = work.samples(candidates.len(), process);
    let mut sums = vec![0; groups.len()];
    for (number, candidate) in candidates.iter().enumerate().filter(|(number, _)| peers[*number]) {
        sums[candidate.map_or(0, |(group, _)| group)] += samples[number];
    }
    let most = (0..sums.len()).rev().max_by_key(|&group| sums[group]);
    let is_of_most =
        |candidate: &Option<(usize, Life)>| candidate.is_some_and(|(group, _)| Some(group) == most);
    let numbered = (0..).zip(candidates.iter().map(is_of_most).zip(peers));
    numbered.map(|(number, (of_most, is_peer))| (of_most && is_peer).then_some(number)).collect()
}

/// When something ran, in nanoseconds since the start of the run.
#[derive(Clone, Copy)]
struct Life {
    start: u64,
    end: u64,
}

impl Life {
    /// `end` is 0 if it is not known.
    fn new(start: u64, end: u64) -> Self {
        Self { start, end: if end == 0 { u64::MAX } else { end } }
    }
}

/// In which functions threads and processes spent their time.
struct Work<'p> {
    profile: &'p Profile,
    /// The metric that says what work is: CPU time or events, unless all there is is waiting.
    metric: MetricRef,
}

impl<'p> Work<'p> {
    fn new(profile: &'p Profile) -> Self {
        let metric = profile.metrics().find(|(_, metric)| !metric.counts_waits());
        Self { profile, metric: metric.map_or(MetricRef::FIRST, |(metric, _)| metric) }
    }

    /// Functions of a stream's nodes that have samples, and these.
    fn of(&self, stream: &Stream) -> impl Iterator<Item = (usize, u64)> {
        let nodes = &self.profile.nodes;
        stream.nodes.clone().filter_map(move |node| {
            let samples = nodes.of_metric(node as usize, self.metric);
            (samples > 0).then(|| (self.profile.function_of(node).index(), samples))
        })
    }

    /// Samples of each thread or process, of which `number` is a stream's.
    fn samples(&self, count: usize, number: impl Fn(&Stream) -> usize) -> Vec<u64> {
        let mut samples = vec![0; count];
        for stream in &self.profile.streams {
            if let Some(sum) = samples.get_mut(number(stream)) {
                *sum += self.of(stream).map(|(_, samples)| samples).sum::<u64>();
            }
        }
        samples
    }

    /// Which of the candidates, each in a group, run at one time and do the same work as the one
    /// of their group with most samples.
    fn peers(
        &self,
        candidates: &[Option<(usize, Life)>],
        number: impl Fn(&Stream) -> usize,
    ) -> Vec<bool> {
        let samples = self.samples(candidates.len(), &number);
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, candidate) in candidates.iter().enumerate() {
            if let Some((group, _)) = candidate.filter(|_| samples[number] > 0) {
                groups.entry(group).or_default().push(number);
            }
        }
        groups.retain(|_, group| group.len() > 1);
        let mut streams: HashMap<usize, Vec<&Stream>> = HashMap::new();
        for stream in &self.profile.streams {
            streams.entry(number(stream)).or_default().push(stream);
        }
        let functions = self.profile.functions.len();
        let mut common = Common { group: vec![(0, 0); functions], seen: vec![0; functions] };
        let mut peers = vec![false; candidates.len()];
        for (mark, group) in (1..).zip(groups.values_mut()) {
            // Of equal ones the first.
            group.sort_by_key(|&number| (Reverse(samples[number]), number));
            let most = group[0];
            let nodes =
                |candidate: usize| streams[&candidate].iter().flat_map(|stream| self.of(stream));
            common.begin(mark, nodes(most));
            group.retain(|&other| {
                let [own, its] = common.with(other + 1, mark, nodes(other));
                other == most || (own > samples[other] / 2 && its >= samples[most].div_ceil(10))
            });
            let life = |number: &usize| candidates[*number].map(|(_, life)| life);
            let last = group.iter().filter_map(life).map(|life| life.start).max();
            let first = group.iter().filter_map(life).map(|life| life.end).min();
            if group.len() > 1 && last < first {
                group.iter().for_each(|&number| peers[number] = true);
            }
        }
        peers
    }
}

/// Functions that two have in common. Marks make it unnecessary to clear the tables.
struct Common {
    /// The group that a function was last met in, and its samples in the one with most.
    group: Vec<(usize, u64)>,
    /// The one that a function was last met in.
    seen: Vec<usize>,
}

impl Common {
    fn begin(&mut self, mark: usize, nodes: impl Iterator<Item = (usize, u64)>) {
        for (function, samples) in nodes {
            let (group, sum) = &mut self.group[function];
            if *group != mark {
                (*group, *sum) = (mark, 0);
            }
            *sum += samples;
        }
    }

    /// Samples of another in functions that both have, and those of the one with most in them.
    fn with(
        &mut self,
        other: usize,
        mark: usize,
        nodes: impl Iterator<Item = (usize, u64)>,
    ) -> [u64; 2] {
        let (mut own, mut its) = (0, 0);
        for (function, samples) in nodes {
            let (group, sum) = self.group[function];
            if group == mark {
                own += samples;
                if self.seen[function] != other {
                    self.seen[function] = other;
                    its += sum;
                }
            }
        }
        [own, its]
    }
}

#[cfg(test)]
mod tests {
    use super::super::contexts::{Context, contexts};
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{apply, parse, unwatched};

    /// Samples and imbalance of the processes, and of how many peers it is.
    fn imbalance(profile: &Profile, refinement: &str) -> (u64, u64) {
        let refined = apply(profile, &parse(refinement).unwrap()).unwrap();
        let (_, imbalance) = unwatched(|watch| contexts(&refined, watch));
        (imbalance.balance.imbalance(), imbalance.balance.peers)
    }

    /// What mpirun starts: a shell for each rank, which starts the solver, and a helper thread.
    const LAUNCHED: &str = "\
# thread=1 epoch=0 name=mpirun
main 400
# rank=0 thread=10 epoch=0 name=sh
sh 3
# rank=0 thread=11 epoch=0 name=solver
solve 100
  MPI_Send 10
# rank=0 thread=12 epoch=0 name=solver
progress
  epoll_wait 2
# rank=1 thread=20 epoch=0 name=sh
sh 3
# rank=1 thread=21 epoch=0 name=solver
solve 104
";

    fn launched() -> Profile {
        let mut profile = from_outline(LAUNCHED).unwrap();
        // The outline has a process for each rank; the shells are processes of their own.
        let info = &mut profile.info;
        let shells = info.processes.clone();
        info.processes.extend(shells.into_iter().filter(|process| process.rank.is_some()));
        for (shell, process) in [(1, 3), (4, 4)] {
            info.threads[shell].process = ProcessId(process);
            profile.streams[shell].process = ProcessId(process);
        }
        profile
    }

    #[test]
    fn launchers_shells_and_helper_threads_are_no_peers() {
        let profile = launched();
        // 115 of rank 0 in two processes, 107 of rank 1.
        assert_eq!(imbalance(&profile, ""), (8, 2));
        assert_eq!(imbalance(&profile, "through MPI_*"), (10, 2));
        let (list, _) = unwatched(|watch| contexts(&Refined::base(&profile), watch));
        let threads =
            list.iter().filter(|c| c.thread.is_none()).filter_map(|c: &Context| c.balances.first());
        assert_eq!(threads.map(|balance| balance.peers).max(), Some(0), "{list:?}");
        assert_eq!(list.iter().filter(|context| context.is_peer).count(), 4);
    }

    #[test]
    fn a_rank_without_samples_is_the_worst() {
        let mut profile = launched();
        let idle = csprof_format::profile::Process { rank: Some(2), ..Default::default() };
        profile.info.processes.push(idle);
        assert_eq!(imbalance(&profile, ""), (3 * 115 - 222, 3));
        assert_eq!(imbalance(&profile, "rank in 0..1"), (8, 2));
        assert_eq!(imbalance(&profile, "not rank = 0"), (107, 2));
    }

    /// Runs of which each is a rank are one job; the same rank in two of them makes two jobs.
    #[test]
    fn ranks_of_merged_runs() {
        let mut profile =
            from_outline("# rank=0 thread=1 epoch=0\nmain 7\n# rank=1 thread=2 epoch=0\nmain 9\n")
                .unwrap();
        let run = csprof_format::profile::MergedRun { processes: 1, ..Default::default() };
        profile.info.runs = vec![run.clone(), run];
        assert_eq!(imbalance(&profile, ""), (2, 2));
        profile.info.processes[1].rank = Some(0);
        assert_eq!(imbalance(&profile, ""), (0, 0));
    }

    /// Workers that a program forks, its helper, and a process of another program.
    #[test]
    fn without_ranks_workers_of_one_program_are_peers() {
        let outline = "\
# rank=0 thread=1 epoch=0
wait 2
# rank=1 thread=2 epoch=0
work 50
# rank=2 thread=3 epoch=0
work 30
  log 30
# rank=3 thread=4 epoch=0
log 4
# rank=4 thread=5 epoch=0
work 500
";
        let mut profile = from_outline(outline).unwrap();
        let programs = ["server", "server", "server", "server", "cc1"];
        for (process, program) in profile.info.processes.iter_mut().zip(programs) {
            process.rank = None;
            process.command = vec![program.into()];
            process.parent_pid = 7;
            process.origin = Origin::Fork;
            (process.start_ns, process.end_ns) = (10, 90);
        }
        profile.info.processes[0].parent_pid = 1;
        // The helper only logs, and that is a tenth of nothing that the greatest does.
        profile.info.processes[3].parent_pid = 8;
        assert_eq!(imbalance(&profile, ""), (10, 2));
        assert_eq!(imbalance(&profile, "through log"), (30, 2));
        // One after the other, none waits.
        profile.info.processes[1].start_ns = 90;
        assert_eq!(imbalance(&profile, ""), (0, 0));
    }

    /// What several threads did one after the other is no part of what others did meanwhile.
    #[test]
    fn a_thread_that_stands_for_several_is_no_peer() {
        let outline = "# rank=0 thread=1 epoch=0\nwork 50\n# rank=0 thread=2 epoch=0\nwork 40\n\
                       # rank=0 thread=3 epoch=0\nwork 60\n# rank=0 thread=4 epoch=0\nidle\n";
        let mut profile = from_outline(outline).unwrap();
        let peers = |profile: &Profile| {
            let refined = Refined::base(profile);
            let peers = Peers::of(&refined);
            let peers =
                (0..3).filter(|&thread| peers.is_peer(ThreadId(thread))).collect::<Vec<_>>();
            (peers, workers(&refined))
        };
        profile.info.processes[0].rank = None;
        assert_eq!(peers(&profile), (vec![0, 1, 2], Some(3)));
        let row = |thread| csprof_format::profile::EarlierThreads {
            thread: ThreadId(thread),
            count: 9,
            apart_ns: 0,
        };
        profile.info.earlier = vec![row(2)];
        profile.info.threads[2].recorded = 60;
        assert_eq!(peers(&profile), (vec![0, 1], None));
        // Threads without samples share no work.
        profile.info.earlier = vec![row(3)];
        profile.info.threads[3].recorded = 0;
        assert_eq!(peers(&profile), (vec![0, 1, 2], Some(3)));
    }

    /// The main thread computes with its workers and elsewhere, or waits for them.
    #[test]
    fn threads_that_do_the_same_work_are_peers() {
        let peers = |main: &str, end: u64| {
            let outline = format!(
                "# rank=0 thread=1 epoch=0\n{main}# rank=0 thread=2 epoch=0\nstart\n  body 50\n\
                 # rank=0 thread=3 epoch=0\nstart 2\n  body 40\n"
            );
            let mut profile = from_outline(&outline).unwrap();
            (profile.info.threads[2].start_ns, profile.info.threads[1].end_ns) = (5, end);
            let peers = Peers::of(&Refined::base(&profile));
            (0..3).filter(|&thread| peers.is_peer(ThreadId(thread))).collect::<Vec<_>>()
        };
        assert_eq!(peers("main 200\n  body 45\n", 0), [0, 1, 2]);
        assert_eq!(peers("main 5\n  join 3\n", 0), [1, 2]);
        // What the greatest hardly does is not its work.
        assert_eq!(peers("main 900\n  body 5\n", 0), [0; 0]);
        assert_eq!(peers("main 5\n", 5), [0; 0], "one after the other");
    }
}
