//! Who had the samples: processes and their threads, and how unevenly.
//!
//! Σ over the processes is what is shown, as is Σ over all threads. The *imbalance* of n peers is
//! (max − mean) × n: what all of them together wait for the slowest one, if they wait for each
//! other. It is 0 where all have as much. Who is a peer is told by [`Peers`]; those of whom nothing
//! is shown count and are listed.

use core::cmp::Reverse;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use csprof_format::ids::{ProcessId, ThreadId};
use csprof_format::profile::{self as saved, Process, Thread};

use super::number::{Form, count as number_of, counted};
use super::peers::Peers;
use super::printable::{command_line, printable};
use super::row::{Row, Weight};
use crate::profile::{FrameKind, FunctionRef, MetricRef, Profile, program};
use crate::refine::{Cancelled, Refined, Watch, shown_of_sides};

/// A process or a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The process, or that of the thread.
    pub process: ProcessId,
    /// The thread, if it is one: of the process before it in the list.
    pub thread: Option<ThreadId>,
    /// Its command line, or the thread's name.
    pub name: String,
    /// What people call it: `rank 3, pid 4711 ./solver input`, `4712 worker`.
    pub label: String,
    /// The host that it ran on, if that is known.
    pub host: Option<Arc<str>>,
    /// The refinement to it.
    pub stage: String,
    /// Its samples that are shown.
    pub row: Row,
    /// Of two runs that are compared, samples of its own: all, and those that are shown.
    pub run: Option<[u64; 2]>,
    /// Threads of a process that are listed; 0 for a thread.
    pub threads: usize,
    /// Whether it is one of the peers that an imbalance is of.
    pub is_peer: bool,
    /// How each metric is spread over the threads of a process; empty for a thread.
    pub balances: Vec<Balance>,
}

impl Context {
    /// How a metric is spread over the threads; `None` for a thread.
    #[must_use]
    pub fn balance(&self, metric: MetricRef) -> Option<Balance> {
        self.balances.get(metric.index()).copied()
    }
}

/// How samples are spread over peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// How many peers there are.
    pub peers: u64,
    /// Samples of the one with most.
    pub most: u64,
    /// Samples of all.
    pub sum: u64,
}

impl Balance {
    /// That of these samples of each.
    #[must_use]
    pub fn of(parts: &[u64]) -> Self {
        let most = parts.iter().copied().max().unwrap_or(0);
        Self { peers: parts.len() as u64, most, sum: parts.iter().sum() }
    }

    /// (max − mean) × n = max × n − Σ, in samples.
    #[must_use]
    pub const fn imbalance(&self) -> u64 {
        self.most.saturating_mul(self.peers).saturating_sub(self.sum)
    }
}

/// The imbalance of the processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imbalance {
    /// How the metric that is looked at is spread over them.
    pub balance: Balance,
    /// Whether they are ranks, not processes.
    pub ranks: bool,
}

impl Imbalance {
    /// Whose it is: `4 ranks`, `3 processes`; `None` where there are no two peers.
    #[must_use]
    pub fn whose(&self, form: Form) -> Option<String> {
        let one = if self.ranks { "rank" } else { "process" };
        (self.balance.peers > 1).then(|| counted(self.balance.peers, one, form))
    }
}

/// Processes with samples, most first, each followed by its threads where there are several, and
/// peers also without; and the imbalance of the processes. O(nodes).
///
/// # Errors
/// The watch asked for the end.
pub fn contexts(
    refined: &Refined,
    watch: &Watch<'_>,
) -> Result<(Vec<Context>, Imbalance), Cancelled> {
    let (mut list, imbalance) = all_contexts(refined, watch)?;
    let mut is_alone = false;
    list.retain(|context| {
        is_alone = if context.thread.is_none() { context.threads == 1 } else { is_alone };
        context.thread.is_none() || !is_alone
    });
    Ok((list, imbalance))
}

/// The same with every thread that has samples, also those that are alone in their process.
///
/// # Errors
/// The watch asked for the end.
pub fn all_contexts(
    refined: &Refined,
    watch: &Watch<'_>,
) -> Result<(Vec<Context>, Imbalance), Cancelled> {
    let profile = &refined.profile;
    let info = &profile.info;
    let stages = Stages::new(&refined.profile);
    let hosts = profile.hosts();
    let peers = Peers::of(refined);
    let metrics: Vec<MetricRef> = profile.metrics().map(|(metric, _)| metric).collect();
    let none = || vec![0; metrics.len()];
    let mut samples: BTreeMap<ProcessId, BTreeMap<ThreadId, Vec<u64>>> = BTreeMap::new();
    for process in (0..info.processes.len()).map(ProcessId::from_index) {
        if peers.of_process(process).is_some() {
            samples.insert(process, BTreeMap::new());
        }
    }
    for (number, thread) in info.threads.iter().enumerate() {
        let number = ThreadId::from_index(number);
        if peers.is_peer(number) {
            samples.entry(thread.process).or_default().insert(number, none());
        }
    }
    watch.begin(0, 1, metrics.len(), refined.frame.len());
    for stream in &refined.streams {
        let nodes = stream.nodes.start as usize..stream.nodes.end as usize;
        let mut of_metrics = none();
        for (sum, &metric) in of_metrics.iter_mut().zip(&metrics) {
            watch.forward(nodes.clone(), |stretch| {
                *sum += stretch.map(|node| refined.of_metric(node, metric).1).sum::<u64>();
            })?;
        }
        if of_metrics.iter().any(|&samples| samples > 0) {
            let threads = samples.entry(stream.process).or_default();
            let sums = threads.entry(stream.thread).or_insert_with(none);
            sums.iter_mut().zip(of_metrics).for_each(|(sum, more)| *sum += more);
        }
    }
    // Threads that are peers of each other are listed if their process has anything.
    samples.retain(|process, threads| {
        peers.of_process(*process).is_some() || threads.values().flatten().any(|sum| *sum > 0)
    });
    let looked_at = refined.metric.index();
    let mut list = Vec::new();
    let mut of_peers: BTreeMap<u32, u64> = BTreeMap::new();
    let side = |process: ProcessId| profile.comparison.as_ref().map(|c| process >= c.first_other);
    let shown = shown_of_sides(refined);
    let run = |process: ProcessId| {
        let (comparison, side) = (profile.comparison.as_ref()?, usize::from(side(process)?));
        Some([comparison.sides[side].total, shown[side]])
    };
    let mut processes: Vec<_> = samples
        .into_iter()
        .filter_map(|(process, threads)| {
            let known = info.processes.get(process.index())?;
            let sum = |metric: &MetricRef| threads.values().map(|sums| sums[metric.index()]).sum();
            Some((process, known, metrics.iter().map(sum).collect::<Vec<u64>>(), threads))
        })
        .collect();
    // The worst first: it is what the others wait for. Ranks of equal cost in their order. Then
    // what many were summed into.
    processes.sort_by_key(|(process, known, sums, _)| {
        let is_sum = info.summed_into(*process).is_some();
        (side(*process), is_sum, Reverse(sums[looked_at]), known.rank, *process)
    });
    for (process, known, sums, threads) in processes {
        let side = match side(process) {
            None => "",
            Some(false) => "base: ",
            Some(true) => "other: ",
        };
        let balance = |metric: usize| {
            let of_peers = threads.iter().filter(|(thread, _)| peers.is_peer(**thread));
            Balance::of(&of_peers.map(|(_, sums)| sums[metric]).collect::<Vec<_>>())
        };
        if let Some(peer) = peers.of_process(process) {
            *of_peers.entry(peer).or_default() += sums[looked_at];
        }
        let name = command_line(&known.command);
        let host = hosts.of_process(process).cloned();
        // One alone tells no process from another.
        let on = host.as_deref().filter(|_| hosts.names().len() > 1);
        let on = on.map_or_else(String::new, |host| format!(" on {}", printable(host)));
        list.push(Context {
            process,
            thread: None,
            label: format!("{side}{}{on} {name}", identity(info, process)),
            name,
            host: host.clone(),
            stage: stages.process(process),
            row: row(&sums),
            run: run(process),
            threads: threads.len(),
            is_peer: peers.of_process(process).is_some(),
            balances: (0..metrics.len()).map(balance).collect(),
        });
        let mut threads: Vec<_> = threads.into_iter().collect();
        threads.sort_by_key(|(thread, sums)| (Reverse(sums[looked_at]), *thread));
        for (thread, sums) in threads {
            let Some(known) = info.threads.get(thread.index()) else { continue };
            let name = String::from_utf8_lossy(&known.name);
            let earlier = info.earlier_threads(thread);
            let described = name_and_earlier(&printable(&name), earlier, Form::Ascii);
            list.push(Context {
                process,
                thread: Some(thread),
                label: format!("{}{described}", known.tid),
                name: name.into_owned(),
                host: host.clone(),
                stage: stages.thread(thread),
                row: row(&sums),
                run: run(process),
                threads: 0,
                is_peer: peers.is_peer(thread),
                balances: Vec::new(),
            });
        }
    }
    let of_peers: Vec<u64> = of_peers.into_values().collect();
    Ok((list, Imbalance { balance: Balance::of(&of_peers), ranks: peers.ranks }))
}

/// What stands behind the number of a thread: its name, and for how many others it stands, which
/// ran one after the other before it: ` worker and 98 earlier`. Nothing if it has neither.
#[must_use]
pub fn name_and_earlier(name: &str, earlier: u64, form: Form) -> String {
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    match earlier {
        0 => name,
        _ => format!("{name} and {} earlier", number_of(earlier, form)),
    }
}

/// What a process is told by: `rank 3, pid 4711`, or `240 summed processes`.
pub(super) fn identity(info: &saved::Profile, id: ProcessId) -> String {
    if let Some(count) = info.summed_into(id) {
        return counted(count as u64, "summed process", Form::Ascii);
    }
    let process = &info.processes[id.index()];
    let rank = process.rank.map_or_else(String::new, |rank| format!("rank {rank}, "));
    format!("{rank}pid {}", process.pid)
}

/// What is no function and has these samples of each metric.
fn row(sums: &[u64]) -> Row {
    let weights = sums.iter().map(|&inclusive| Weight { inclusive, ..Weight::NONE }).collect();
    Row { weights, ..Row::empty(FunctionRef::ROOT, FrameKind::Context) }
}

/// What some lines of a list have together, each metric; what a process has is not counted again
/// for its threads.
#[must_use]
pub fn together<'c>(lines: impl Iterator<Item = &'c Context>) -> Row {
    let mut sums = Vec::new();
    let mut process = None;
    for context in lines {
        if context.thread.is_none() {
            process = Some(context.process);
        } else if process == Some(context.process) {
            continue;
        }
        sums.resize(context.row.weights.len(), 0);
        let weights = sums.iter_mut().zip(context.row.weights.iter());
        weights.for_each(|(sum, weight)| *sum += weight.inclusive);
    }
    row(&sums)
}

/// A program, and what its processes had together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file name; `process = NAME` refines to it.
    pub name: String,
    /// Processes that ran it and have samples that are shown.
    pub processes: usize,
    /// Their samples that are shown.
    pub row: Row,
}

/// The programs of a list of contexts, most samples first.
#[must_use]
pub fn programs(refined: &Refined, list: &[Context]) -> Vec<Program> {
    let metrics: Vec<MetricRef> = refined.profile.metrics().map(|(metric, _)| metric).collect();
    let mut programs: BTreeMap<Cow<'_, str>, (usize, Vec<u64>)> = BTreeMap::new();
    for context in list.iter().filter(|context| context.thread.is_none()) {
        let Some(process) = refined.profile.info.processes.get(context.process.index()) else {
            continue;
        };
        let none = || (0, vec![0; metrics.len()]);
        let (processes, sums) = programs.entry(program(process)).or_insert_with(none);
        *processes += 1;
        for (sum, &metric) in sums.iter_mut().zip(&metrics) {
            *sum = sum.saturating_add(context.row.of(metric).inclusive);
        }
    }
    let programs = programs.into_iter();
    let mut programs: Vec<Program> = programs
        .map(|(name, (processes, sums))| Program {
            name: name.into_owned(),
            processes,
            row: row(&sums),
        })
        .collect();
    // Stable: equal ones stay in order of name.
    programs.sort_by_key(|program| Reverse(program.row.of(refined.metric).inclusive));
    programs
}

/// The refinements to processes and threads, as people would type them.
pub(super) struct Stages<'p> {
    processes: &'p [Process],
    threads: &'p [Thread],
    ranks: Counted,
    pids: Counted,
    tids: Counted,
}

/// How many have each number: ids come again on other hosts, and all numbers in merged runs.
type Counted = HashMap<u32, usize>;

fn frequency(numbers: impl Iterator<Item = u32>) -> Counted {
    let mut counted = Counted::new();
    numbers.for_each(|number| *counted.entry(number).or_default() += 1);
    counted
}

impl<'p> Stages<'p> {
    pub(super) fn new(profile: &'p Profile) -> Self {
        let (processes, threads) = (&profile.info.processes[..], &profile.info.threads[..]);
        Self {
            processes,
            threads,
            ranks: frequency(processes.iter().filter_map(|process| process.rank)),
            pids: frequency(processes.iter().map(|process| process.pid)),
            tids: frequency(threads.iter().map(|thread| thread.tid)),
        }
    }

    /// By rank or id; where others have the same, by its place among all.
    pub(super) fn process(&self, id: ProcessId) -> String {
        let process = &self.processes[id.index()];
        match process.rank {
            Some(rank) if self.ranks[&rank] == 1 => format!("rank = {rank}"),
            None if self.pids[&process.pid] == 1 => format!("process = {}", process.pid),
            _ => format!("process in {}", id.0),
        }
    }

    /// By id; where others have the same, by its process and its place in it.
    pub(super) fn thread(&self, id: ThreadId) -> String {
        let thread = &self.threads[id.index()];
        if self.tids[&thread.tid] == 1 {
            return format!("thread = {}", thread.tid);
        }
        // Threads are in order of process.
        let first = self.threads.partition_point(|other| other.process < thread.process);
        let place = id.index().saturating_sub(first);
        format!("{} and thread in {place}", self.process(thread.process))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{apply, parse};

    const RANKS: &str = "\
# rank=0 thread=10 epoch=0 name=main
main 30
  solve 10
# rank=0 thread=11 epoch=0 name=worker
work
  solve 20
# rank=1 thread=20 epoch=0
main 100
# rank=1 thread=20 epoch=1
main 5
";

    fn lines(profile: &Profile, refinement: &str) -> (Vec<String>, u64, u64) {
        let refined = apply(profile, &parse(refinement).unwrap()).unwrap();
        let (list, imbalance) = contexts(&refined, &Watch::none()).unwrap();
        assert_eq!(
            list.iter()
                .filter(|c| c.thread.is_none())
                .map(|c| c.row.of(refined.metric).inclusive)
                .sum::<u64>(),
            refined.shown
        );
        let line = |c: &Context| {
            let imbalance = c.balance(refined.metric).unwrap_or_default().imbalance();
            format!("{} {imbalance} {}", c.row.of(refined.metric).inclusive, c.stage)
        };
        (list.iter().map(line).collect(), imbalance.balance.imbalance(), imbalance.balance.peers)
    }

    #[test]
    fn processes_threads_and_their_imbalance() {
        let profile = from_outline(RANKS).unwrap();
        let of = |refinement: &str| lines(&profile, refinement);
        let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
        let all = ["105 0 rank = 1", "60 20 rank = 0", "40 0 thread = 10", "20 0 thread = 11"];
        assert_eq!(of(""), (rows(&all), 45, 2));
        // The stage of a row leads to its samples, and to no others.
        assert_eq!(of("rank = 0 | thread = 11"), (rows(&["20 0 rank = 0"]), 0, 1));
        assert_eq!(of("through solve and rank in 1..3"), (rows(&["0 0 rank = 1"]), 0, 1));
        // What a refinement leaves nothing of is a peer all the same.
        let of_solve = ["30 10 rank = 0", "20 0 thread = 11", "10 0 thread = 10", "0 0 rank = 1"];
        assert_eq!(of("through solve"), (rows(&of_solve), 30, 2));
        let outside = ["105 0 rank = 1", "30 30 rank = 0", "30 0 thread = 10", "0 0 thread = 11"];
        assert_eq!(of("not through solve"), (rows(&outside), 75, 2));
        assert_eq!(of("not rank = 1 or rank = 1"), (rows(&all), 45, 2));
    }

    /// In a list, in what `split` makes, and of several processes.
    #[test]
    fn threads_that_stand_for_several_say_so() {
        let mut profile = from_outline(RANKS).unwrap();
        let row = |thread, count| csprof_format::profile::EarlierThreads {
            thread: ThreadId(thread),
            count,
            apart_ns: 0,
        };
        profile.info.earlier = vec![row(1, 98), row(2, 2)];
        let (list, _) = all_contexts(&Refined::base(&profile), &Watch::none()).unwrap();
        let labels: Vec<_> =
            list.iter().filter(|of| of.thread.is_some()).map(|of| &*of.label).collect();
        assert_eq!(labels, ["20 and 2 earlier", "10 main", "11 worker and 98 earlier"]);
        let split = apply(&profile, &parse("split thread").unwrap()).unwrap();
        let names: Vec<_> =
            split.functions.iter().map(|function| function.name.to_string()).collect();
        // Number 0 of the second process is one of three, and number 1 of the first one of 99.
        let has = |name: &str| names.iter().any(|of| of == name);
        assert!(has("thread=0 and 2 earlier") && has("thread=1 and 98 earlier"), "{names:?}");
    }

    fn run(host: &str) -> csprof_format::profile::RunInfo {
        csprof_format::profile::RunInfo { host: host.into(), ..Default::default() }
    }

    #[test]
    fn ranks_of_several_hosts() {
        let mut profile = from_outline(RANKS).unwrap();
        profile.info.runs = ["node2", "node10"]
            .map(|host| csprof_format::profile::MergedRun { info: run(host), processes: 1 })
            .into();
        let (list, _) = contexts(&Refined::base(&profile), &Watch::none()).unwrap();
        let labels: Vec<_> = list.iter().map(|of| of.label.trim_end()).collect();
        let [first, second] =
            ["rank 1, pid 1001 on node10", "rank 0, pid 1000 on node2"].map(str::to_owned);
        assert_eq!(labels, [&*first, &*second, "10 main", "11 worker"]);
        assert!(list.iter().all(|of| of.host.is_some()));
        let shown = |text: &str| {
            apply(&profile, &parse(text).unwrap()).map(|of| of.shown).map_err(|e| e.to_string())
        };
        // In the order of their names.
        for (text, samples) in [
            ("host = node10", 105),
            ("host = node*", 165),
            ("host in 0", 105),
            ("host in 1..63", 60),
            ("rank in 0..63", 165),
            ("not host = node10 and through solve", 30),
        ] {
            assert_eq!(shown(text), Ok(samples), "{text}");
        }
        let unmatched = shown("host = node3").unwrap_err();
        assert_eq!(unmatched, "no host with samples matches host = node3; there is node2, node10");
        let split = apply(&profile, &parse("split host").unwrap()).unwrap();
        let has = |name: &str| split.functions.iter().any(|function| &*function.name == name);
        assert!(has("host=node2") && has("host=node10"));
        let over = super::super::dimension::dimensions(&Refined::base(&profile), |_| 0);
        let over = over.iter().find(|of| of.noun() == "host").unwrap();
        assert!(over.peers.len() == 2 && !over.has_imbalance());
        assert_eq!(over.peers[0].stage, "host = node10");
        // One that a refinement leaves out is none that had nothing.
        let hosts = |text: &str| {
            let refined = apply(&profile, &parse(text).unwrap()).unwrap();
            let all = super::super::dimension::dimensions(&refined, |_| 0);
            all.into_iter().find(|of| of.noun() == "host").map_or(0, |of| of.peers.len())
        };
        assert_eq!(["host = node10", "rank = 0", "through main"].map(hosts), [0, 0, 2]);
    }

    #[test]
    fn of_hosts_that_were_summed_it_is_known_what_all_had() {
        let mut profile = from_outline("# thread=1 epoch=0\nwork 9\n").unwrap();
        let summed = |rank| csprof_format::profile::SummedProcess {
            process: Process { rank: Some(rank), ..Process::default() },
            ..Default::default()
        };
        profile.info.summed = [("a", 0), ("b", 1)]
            .map(|(host, rank)| csprof_format::profile::SummedRun {
                info: run(host),
                processes: vec![summed(rank)],
            })
            .into();
        let refused = |text: &str| apply(&profile, &parse(text).unwrap()).unwrap_err().to_string();
        assert!(refused("host = a").starts_with("`host = a`: a rank of host a is in the sum"));
        assert!(refused("host in 1..3").contains("a rank of host b is in the sum"));
        assert!(refused("host = c").starts_with("no host with samples"));
        let split = apply(&profile, &parse("split host").unwrap()).unwrap();
        assert!(split.functions.iter().any(|function| &*function.name == "host=others"));
        let over = super::super::dimension::dimensions(&Refined::base(&profile), |_| 0);
        assert!(over.iter().all(|of| of.noun() != "host"));
    }

    /// Hosts number processes and threads alike, and so do runs that were merged their ranks.
    #[test]
    fn every_row_leads_to_its_own_samples() {
        let mut profile = from_outline(RANKS).unwrap();
        for rank in [None, Some(0)] {
            for process in &mut profile.info.processes {
                (process.rank, process.pid) = (rank, 1000);
            }
            for thread in &mut profile.info.threads {
                thread.tid = 7;
            }
            let (list, _) = all_contexts(&Refined::base(&profile), &Watch::none()).unwrap();
            assert_eq!(list.len(), 2 + 3);
            for context in list {
                let stage = parse(&context.stage).unwrap();
                let shown = apply(&profile, &stage).unwrap().shown;
                assert_eq!(shown, context.row.first().inclusive, "{}", context.stage);
            }
        }
    }

    #[test]
    fn parts_of_several_metrics() {
        let outline = "\
# rank=0 thread=10 epoch=0
main 40 realtime:30
# rank=0 thread=11 epoch=0
main 25 realtime:20
";
        let profile = from_outline(outline).unwrap();
        for (metric, expected) in [(0, "15 5 2, 10 0 0, 5 0 0"), (1, "50 10 2, 30 0 0, 20 0 0")] {
            let refined = Refined::base(&profile).looking_at(MetricRef(metric));
            let (list, _) = contexts(&refined, &Watch::none()).unwrap();
            let imbalance = |balance: Balance| balance.imbalance();
            let row = |c: &Context| {
                let imbalance = c.balance(refined.metric).map_or(0, imbalance);
                format!("{} {imbalance} {}", c.row.of(refined.metric).inclusive, c.threads)
            };
            assert_eq!(list.iter().map(row).collect::<Vec<_>>().join(", "), expected);
            let of_each = [0, 1].map(|other| list[0].balance(MetricRef(other)).map(imbalance));
            assert_eq!(of_each, [Some(5), Some(10)]);
            let programs = programs(&refined, &list);
            let of_each = [0, 1].map(|other| programs[0].row.of(MetricRef(other)).inclusive);
            assert_eq!((programs.len(), of_each), (1, [15, 50]));
            assert_eq!(programs[0].row, list[0].row);
        }
    }

    #[test]
    fn equal_parts_are_balanced() {
        for (parts, expected) in
            [(&[][..], 0), (&[7], 0), (&[7, 7, 7], 0), (&[1, 4, 1], 6), (&[0, 10], 10)]
        {
            assert_eq!(Balance::of(parts).imbalance(), expected, "{parts:?}");
        }
    }
}
