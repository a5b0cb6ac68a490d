//! The sum of a job is what its ranks have, in whatever order they are added.

use csprof_format::file_identity::FileIdentity;
use csprof_format::ids::{FrameId, FunctionId, ModuleId, StringId};
use csprof_format::{read, write};
use proptest::prelude::*;

use super::super::merge::tests::{nodes, of_two_metrics, run};
use super::*;

#[expect(unreachable_pub, reason = "the crate of the system tests has it, too")]
#[path = "../../../../tests/src/job.rs"]
pub(crate) mod job;

use job::{Job, LATE};

fn reduced(keep: Keep, parts: &[saved::Profile]) -> saved::Profile {
    let mut reduction = Reduction::new(keep);
    for (number, part) in parts.iter().enumerate() {
        reduction.add(&format!("{number}.csprof"), part).unwrap();
    }
    reduction.finish()
}

fn refused(parts: &[saved::Profile]) -> String {
    let mut reduction = Reduction::new(Keep::Top);
    let errors = parts
        .iter()
        .zip(["a", "b"])
        .filter_map(|(part, name)| reduction.add(name, part).err().map(|error| error.to_string()));
    errors.collect()
}

/// As it is in a file, which the reader takes.
fn bytes(profile: &saved::Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::write(profile, &mut bytes).unwrap();
    assert_eq!(&read::read(&bytes).unwrap(), profile);
    bytes
}

fn job() -> Job {
    Job { ranks: 40, common: 20, private: 3, late: vec![(17, 5), (30, 11)], addresses: 1 }
}

fn ranks(job: &Job) -> Vec<saved::Profile> {
    let busiest = job.busiest();
    (0..job.ranks).map(|rank| job.rank(rank, busiest)).collect()
}

/// The function of a node.
fn name(profile: &saved::Profile, node: usize) -> &str {
    let row = profile.sites.rows(profile.nodes.frame[node]).start;
    match profile.sites.function.get(row) {
        Some(function) => &profile.strings[profile.functions[function.index()].name.index()],
        None => "",
    }
}

/// How the inclusive cost of a function is spread.
fn spread(profile: &saved::Profile, of: &str) -> saved::RankSums {
    let is_of = |spread: &&saved::Spread| name(profile, spread.node as usize) == of;
    let found = profile.spreads.iter().find(is_of);
    found.unwrap_or_else(|| panic!("no {of}")).of
}

fn sums(costs: impl Iterator<Item = (u32, u64)>) -> saved::RankSums {
    let mut sums = saved::RankSums::default();
    costs.for_each(|(rank, samples)| sums.add(&saved::RankSums::of_rank(rank, samples)));
    sums
}

#[test]
fn every_path_is_spread_as_the_job_was_made() {
    let job = job();
    let busiest = job.busiest();
    for keep in [Keep::All, Keep::Top, Keep::None] {
        let profile = reduced(keep, &ranks(&job));
        bytes(&profile);
        for path in 0..job.common {
            let expected = sums((0..job.ranks).map(|rank| (rank, job.kernel(rank, path))));
            assert_eq!(spread(&profile, &format!("kernel_{path}")), expected);
        }
        let late = spread(&profile, "kernel_5");
        assert_eq!((late.most_rank, late.most > LATE), (17, true));
        let waits = (0..job.ranks).map(|rank| (rank, job.wait(rank, busiest)));
        assert_eq!(
            spread(&profile, "MPI_Barrier"),
            sums(waits.filter(|&(_, samples)| samples > 0))
        );
        let all = (0..job.ranks).map(|rank| (rank, busiest));
        assert_eq!(spread(&profile, "main"), sums(all));
        let own = spread(&profile, "report_3_1");
        assert_eq!(own, saved::RankSums::of_rank(3, job.report(3)));
        assert_eq!(spread(&profile, "pool").ranks, 40);
    }
}

/// Ranks that were recorded together are spread as those that were recorded apart.
#[test]
fn ranks_of_one_file_are_summed_as_those_of_several() {
    let job = job();
    let [apart, together] = [ranks(&job), vec![job.together()]].map(|of| reduced(Keep::Top, &of));
    bytes(&together);
    assert_eq!(together.spreads, apart.spreads);
    assert_eq!((&together.nodes, &together.trees), (&apart.nodes, &apart.trees));
}

/// Nothing is lost and nothing counts twice, whichever ranks are kept apart; and these have what
/// they had.
#[test]
fn all_processes_together_have_what_the_parts_had() {
    let job = Job { addresses: 6, ..job() };
    let parts = ranks(&job);
    let all: u64 = parts.iter().map(|part| part.nodes.total_samples()).sum();
    let edges: u64 = parts.iter().flat_map(|part| &part.nodes.edges).sum();
    for (keep, kept) in [(Keep::All, 40), (Keep::Top, 4), (Keep::None, 0)] {
        let profile = reduced(keep, &parts);
        assert_eq!(profile.nodes.total_samples(), all);
        assert_eq!(profile.nodes.edges.iter().sum::<u64>(), edges);
        let lost: u64 = profile.threads.iter().flat_map(|thread| &thread.losses).sum();
        assert_eq!(lost, 2 * u64::from(job.ranks));
        assert_eq!(profile.summed_ranks().len(), 40);
        let apart: Vec<u32> = profile.processes.iter().filter_map(|of| of.rank).collect();
        assert_eq!(apart.len(), kept, "{apart:?}");
        if keep == Keep::Top {
            assert!(apart.contains(&17) && apart.contains(&30), "{apart:?}");
        }
        for (number, process) in profile.processes.iter().enumerate() {
            let Some(rank) = process.rank else { continue };
            let threads = profile.threads_of(csprof_format::ids::ProcessId::from_index(number));
            let names: Vec<_> = threads.map(|(_, thread)| thread.name.clone()).collect();
            assert_eq!(names, [b"solver".to_vec(), format!("worker-{rank}").into_bytes()]);
            let is_own = |tree: &&saved::Tree| {
                profile.threads[tree.thread.index()].process.index() == number
            };
            let trees = profile.trees.iter().filter(is_own);
            let nodes = trees.flat_map(|tree| tree.first_node..tree.first_node + tree.node_count);
            let of_nodes = |profile: &saved::Profile, nodes: &mut dyn Iterator<Item = usize>| {
                let mut own: BTreeMap<String, Vec<u64>> = BTreeMap::new();
                for node in nodes {
                    let samples = profile.nodes.samples[node];
                    if samples > 0 {
                        own.entry(name(profile, node).to_owned()).or_default().push(samples);
                    }
                }
                own.values_mut().for_each(|samples| samples.sort_unstable());
                own
            };
            let own = of_nodes(&profile, &mut nodes.map(|node| node as usize));
            let part = &parts[rank as usize];
            assert_eq!(own, of_nodes(part, &mut (0..part.nodes.len())));
        }
    }
    let threads = reduced(Keep::None, &parts).threads;
    let names: Vec<_> = threads.iter().map(|thread| &*thread.name).collect();
    assert_eq!(names, [&b"solver"[..], b"worker-*"]);
}

/// Threads of other roles stand for as many as they did.
#[test]
fn threads_that_stand_for_several_do_so_in_a_sum() {
    let parts = [0, 1, 2].map(|rank| {
        let mut part = run(rank, u64::from(rank), &[(0, 1, 5, 0)]);
        let main = saved::Thread { tid: 10 + rank, ..part.threads[0].clone() };
        part.threads[0].name = b"request-7".to_vec();
        part.threads[0].tid = 99;
        part.threads.push(saved::Thread {
            name: b"main".to_vec(),
            recorded: 0,
            delivered: 0,
            ..main
        });
        let thread = ThreadId(0);
        let row = saved::EarlierThreads { thread, count: 40 + u64::from(rank), apart_ns: 7 };
        part.earlier = vec![row];
        part
    });
    let sum = reduced(Keep::None, &parts);
    let earlier = |name: &[u8]| {
        let place = sum.threads.iter().position(|thread| thread.name == name).unwrap();
        sum.earlier_threads(ThreadId::from_index(place))
    };
    assert_eq!((earlier(b"request-7"), earlier(b"main")), (123, 0));
    bytes(&sum);
}

/// A profile of processes with these ranks, in runs of so many, of jobs of these sizes.
fn of_jobs(sizes: &[u32], ranks: &[u32], runs: &[u32]) -> saved::Profile {
    let process = |&rank: &u32| Process { rank: Some(rank), ..Process::default() };
    let run = |&processes: &u32| saved::MergedRun { processes, ..Default::default() };
    saved::Profile {
        processes: ranks.iter().map(process).collect(),
        runs: runs.iter().map(run).collect(),
        job_sizes: sizes.to_vec(),
        ..saved::Profile::default()
    }
}

#[test]
fn a_job_has_a_size_where_all_ranks_may_be_of_it() {
    let size = |sizes: &[u32], ranks: &[u32], runs: &[u32]| job_size(&of_jobs(sizes, ranks, runs));
    assert_eq!(size(&[4], &[0, 1, 3], &[]), Some(4));
    assert_eq!(size(&[4], &[0, 1, 3], &[1, 2]), Some(4));
    // Processes of one rank.
    assert_eq!(size(&[4], &[0, 0, 3], &[2, 1]), Some(4));
    // Runs of two jobs, of which one lacks rank 3.
    assert_eq!(size(&[4], &[0, 1, 2, 3, 0, 1, 2], &[4, 3]), None);
    // Another job did not say how many ranks it has.
    let many: Vec<u32> = (0..64).collect();
    assert_eq!(size(&[4], &many, &[4, 60]), None);
    assert_eq!(size(&[4, 8], &[0, 1], &[1, 1]), None);
    assert_eq!(size(&[], &[0, 1], &[]), None);
    assert_eq!(size(&[4], &[], &[]), None);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let own = [(0, 1, 5, 0)];
    let same = refused(&[run(0, 10, &own), run(0, 10, &own)]);
    assert!(same.contains("has a run that a has, too, which would count twice"), "{same}");
    let rank = refused(&[run(0, 10, &own), run(0, 11, &own)]);
    assert!(rank.contains("b: has rank 0, and so has a: a sum is of one job"), "{rank}");
    let mut other = run(1, 11, &own);
    other.metric.period = 6;
    let period = refused(&[run(0, 10, &own), other]);
    assert!(period.contains("b: was sampled by cputime every 6 ns, but a by"), "{period}");
    let sum = reduced(Keep::None, &[run(0, 10, &own), run(1, 11, &own)]);
    let again = refused(&[sum, run(1, 11, &own)]);
    assert!(again.contains("b: has a run that a has, too"), "{again}");
}

/// One of several forms that a rank's profile may have.
fn varied(number: u32, nodes: &[(u32, u64, u64, u64)], form: u32) -> saved::Profile {
    let mut profile = run(number, 10 + u64::from(number * 7919 % 13), nodes);
    if form.is_multiple_of(2) {
        // Its symbols were not looked for.
        profile.sites = saved::Sites::default();
        profile.functions.clear();
    } else {
        let name = StringId::from_index(profile.strings.len());
        profile.strings.push(format!("/lib/{}/app", form % 3).into());
        profile.modules[0].path = name;
        profile.modules[0].symbols = saved::SymbolSource::Dwarf(name);
    }
    if form.is_multiple_of(3) {
        let phase = ["solve", "init"][(form % 2) as usize].to_owned();
        let epoch = csprof_format::ids::EpochId(0);
        profile.phases.push(saved::Phase { epoch, name: phase });
    }
    if form.is_multiple_of(5) {
        profile.processes[0].rank = None;
        profile.processes[0].command = vec![format!("mpirun{}", form % 2).into_bytes()];
    }
    code(&mut profile, form);
    profile.threads[0].name = format!("t{}", form % 4).into_bytes();
    let row =
        saved::EarlierThreads { thread: ThreadId(0), count: u64::from(form % 6), apart_ns: 1 };
    profile.earlier.extend((row.count > 0).then_some(row));
    profile.processes[0].messages = vec![format!("message {}", form % 11)];
    profile.run.trampoline = !form.is_multiple_of(13);
    profile.stages = (0..form % 3).map(|n| format!("hide f{n}")).collect();
    of_two_metrics(profile, if form.is_multiple_of(7) { "realtime" } else { "cputime" })
}

/// Gives a profile loops, tail calls, files and source files, which differ from those of others.
fn code(profile: &mut saved::Profile, form: u32) {
    let frames = profile.frames.len();
    if form % 6 == 1 && frames > 1 {
        let (module, file) = (ModuleId(0), Some(StringId(2)));
        let (offset, line) = (u64::from(form % 5), form % 7);
        let found =
            saved::Loop { module, offset, file, line, irreducible: form.is_multiple_of(11) };
        profile.structure.loops = vec![found];
        let frame = FrameId(1);
        profile.structure.in_loops = vec![saved::InLoop { frame, row: 0, number: 0 }];
    }
    if form % 5 == 1 && frames > 2 && !profile.functions.is_empty() {
        let via = vec![FunctionId::from_index(form as usize % profile.functions.len())];
        let (caller, callee) = (FrameId(1), FrameId(2));
        profile.structure.tail_calls = vec![saved::TailCall { caller, callee, via }];
    }
    if form % 4 == 1 {
        let file = FileIdentity { inode: u64::from(form % 3), ..FileIdentity::default() };
        profile.files = vec![saved::ModuleFile { module: ModuleId(1), file }];
    }
    if form % 3 == 1 {
        let first = 1 + form % 4;
        profile.sources = vec![saved::SourceFile {
            path: StringId(2),
            lines: 4,
            digest: u64::from(form % 2),
            modules: vec![ModuleId(0)],
            stretches: vec![saved::Stretch { first, count: 1 }],
            text: format!("line {first}\n"),
            ..saved::SourceFile::default()
        }];
    }
}

/// Sums some of the parts, and goes on with their sum in their place, until one is left.
fn grouped(keep: Keep, mut parts: Vec<saved::Profile>, choices: &[usize]) -> saved::Profile {
    let mut choices = choices.iter().cycle();
    let mut choice = |below: usize| choices.next().map_or(0, |choice| choice % below);
    while parts.len() > 1 {
        let count = 2 + choice(parts.len() - 1);
        let some: Vec<_> = (0..count).map(|_| parts.swap_remove(choice(parts.len()))).collect();
        parts.push(reduced(keep, &some));
    }
    // Also of one that is whole.
    reduced(keep, &parts)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Any order, any grouping and any number of shares give the same bytes.
    #[test]
    fn sums_are_the_same_however_they_are_made(
        parts in prop::collection::vec((nodes(), any::<u32>()), 1..7),
        choices in prop::collection::vec(any::<usize>(), 1..9),
        keep in prop::sample::select(vec![Keep::All, Keep::Top, Keep::None]),
    ) {
        let parts = (0..).zip(&parts).map(|(n, (nodes, form))| varied(n, nodes, *form));
        let parts: Vec<_> = parts.collect();
        let whole = reduced(keep, &parts);
        let all: u64 = parts.iter().map(|part| part.nodes.total_samples()).sum();
        prop_assert_eq!(whole.nodes.total_samples(), all);
        let grouped = grouped(keep, parts, &choices);
        prop_assert_eq!(&grouped, &whole);
        prop_assert_eq!(bytes(&grouped), bytes(&whole));
    }
}
