//! Merging small saved profiles: what stays apart, what is stored once, what is refused.

use csprof_format::address::FrameKind;
use csprof_format::profile::{Exit, RunInfo, SampleTime};
use csprof_format::{read, write};
use proptest::prelude::*;

use super::super::{Profile, to_outline};
use super::*;
use crate::surroundings::cpu_time;

/// A run of `/opt/app` (with a build id) and `/opt/plain.so` (without): one process with this rank,
/// one thread, and a node for each (levels up, offset, samples, edges). Offsets below 100 are in
/// the app, and every tenth has no name.
pub(in crate::profile) fn run(
    rank: u32,
    start: u64,
    nodes: &[(u32, u64, u64, u64)],
) -> saved::Profile {
    let strings = ["/opt/app", "/opt/plain.so", "app.c"].map(Into::into).to_vec();
    let mut profile = saved::Profile {
        run: RunInfo {
            command: vec![b"./app".to_vec()],
            start_unix_ns: start,
            duration_ns: 100,
            cpu_ns: 80,
            exit: Exit::Status(0),
            trampoline: true,
            ..RunInfo::default()
        },
        metric: saved::Metric { source: "cputime".into(), unit: "ns".into(), period: 5 },
        strings,
        modules: vec![
            saved::Module { path: StringId(0), build_id: vec![7; 20], ..Default::default() },
            saved::Module { path: StringId(1), ..Default::default() },
        ],
        processes: vec![saved::Process { pid: 10 + rank, rank: Some(rank), ..Default::default() }],
        epochs: vec![saved::Epoch::default()],
        ..saved::Profile::default()
    };
    profile.frames.push(saved::Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.sites.first = vec![0, 0];
    profile.nodes.push(0, FrameId(0), 0, 0);
    let mut at = 0;
    for &(up, offset, samples, edges) in nodes {
        for _ in 0..up {
            at = profile.nodes.parent[at as usize];
        }
        let module = ModuleId(u32::from(offset >= 100));
        let frame = saved::Frame { kind: FrameKind::Call, module: Some(module), offset };
        let known = profile.frames.iter().position(|known| *known == frame);
        let id = known.unwrap_or_else(|| {
            profile.frames.push(frame);
            if offset % 10 != 0 {
                let name = StringId::from_index(profile.strings.len());
                profile.strings.push(format!("f{offset}").into());
                let file = Some(StringId(2));
                profile.sites.function.push(FunctionId::from_index(profile.functions.len()));
                profile.functions.push(saved::Function { name, module, file, line: 1 });
                profile.sites.file.push(file);
                profile.sites.line.push(offset as u32);
            }
            profile.sites.first.push(profile.sites.function.len() as u32);
            profile.frames.len() - 1
        });
        at = profile.nodes.push(at, FrameId::from_index(id), samples, edges);
    }
    let recorded = profile.nodes.total_samples();
    profile.threads.push(saved::Thread {
        tid: 10 + rank,
        delivered: recorded + 3,
        recorded,
        losses: vec![1, 2],
        returns: 4,
        cpu_ns: 70,
        start_ns: 6,
        ..saved::Thread::default()
    });
    profile
        .trees
        .push(saved::Tree { node_count: number(profile.nodes.len()), ..saved::Tree::default() });
    profile
}

/// The same run with about a third of its samples of elapsed time, one of its losses, too; `first`
/// are these, or those of CPU time.
pub(in crate::profile) fn of_two_metrics(
    mut profile: saved::Profile,
    first: &str,
) -> saved::Profile {
    let elapsed = saved::Metric { source: "realtime".into(), unit: "ns".into(), period: 9 };
    let (cpu, is_cpu) = (profile.metric.clone(), first == "cputime");
    let part = |samples: u64| if is_cpu { samples / 3 } else { samples - samples / 3 };
    let samples = (0..).zip(&profile.nodes.samples).map(|(node, &samples)| (node, part(samples)));
    let samples: Vec<_> = samples.filter(|&(_, samples)| samples > 0).collect();
    let recorded = samples.iter().map(|(_, samples)| samples).sum();
    let share = saved::ThreadShare {
        delivered: recorded + if is_cpu { 1 } else { 2 },
        recorded,
        ..Default::default()
    };
    let (first, second) = if is_cpu { (cpu, elapsed) } else { (elapsed, cpu) };
    profile.metric = first;
    profile.further = vec![saved::FurtherMetric { metric: second, threads: vec![share], samples }];
    profile
}

fn merged(parts: &[saved::Profile]) -> saved::Profile {
    let mut merger = Merger::new(Agreement::SameMetrics);
    for (number, part) in parts.iter().enumerate() {
        merger.add(&format!("{number}.csprof"), part.clone()).unwrap();
    }
    merger.finish()
}

fn refused(parts: &[saved::Profile]) -> String {
    let mut merger = Merger::new(Agreement::SameMetrics);
    let errors = parts.iter().zip(["a", "b", "c"]).filter_map(|(part, name)| {
        merger.add(&format!("{name}.csprof"), part.clone()).err().map(|error| error.to_string())
    });
    errors.collect()
}

#[test]
fn two_ranks() {
    let base = run(0, 1000, &[(0, 1, 0, 0), (0, 2, 5, 1), (1, 20, 3, 0)]);
    let other = run(1, 940, &[(0, 1, 1, 0), (0, 103, 4, 9)]);
    let merged = merged(&[base, other]);
    assert_eq!(
        to_outline(&Profile::from_saved(merged.clone())),
        "\
# rank=0 thread=10 epoch=0
f1 module:/opt/app at:app.c:1
  f2 5 e=1 module:/opt/app at:app.c:2
  app+0x14 3 unknown module:/opt/app
# rank=1 thread=11 epoch=0
f1 1 module:/opt/app at:app.c:1
  f103 4 e=9 module:/opt/plain.so at:app.c:103
"
    );
    assert_eq!(merged.modules.len(), 2, "modules are stored once");
    assert_eq!(merged.frames.len(), 5, "and so are frames: the root, f1, f2, app+0x14, f103");
    // From 940 to 1040 and from 1000 to 1100 something ran for 160 ns.
    let run = &merged.run;
    assert_eq!((run.start_unix_ns, run.duration_ns, run.cpu_ns), (940, 160, 160));
    assert_eq!(merged.threads[0].start_ns, 66, "60 ns after the start of the other run");
    assert_eq!(merged.threads[1].start_ns, 6);
    let runs: Vec<_> = merged.runs.iter().map(|r| (r.info.start_unix_ns, r.processes)).collect();
    assert_eq!(runs, [(1000, 1), (940, 1)]);
    let (delivered, lost) = merged.threads.iter().fold((0, 0), |(delivered, lost), thread| {
        (delivered + thread.delivered, lost + thread.losses.iter().sum::<u64>())
    });
    assert_eq!((delivered, lost, merged.nodes.total_samples()), (19, 6, 13));
}

#[test]
fn threads_that_stand_for_several_do_so_in_all() {
    let mut parts = [0, 1, 2].map(|rank| run(rank, u64::from(rank), &[(0, 1, 5, 0)]));
    let row =
        |thread, count| saved::EarlierThreads { thread: ThreadId(thread), count, apart_ns: 7 };
    parts[1].earlier = vec![row(0, 99)];
    parts[2].earlier = vec![row(0, 3)];
    let all = merged(&parts);
    assert_eq!(all.earlier, [row(1, 99), row(2, 3)]);
    assert_eq!(all.thread_count(), 105);
}

#[test]
fn one_run_alone_stays_what_it_is() {
    let alone = run(0, 5, &[(0, 1, 2, 1), (0, 10, 3, 0)]);
    assert_eq!(merged(std::slice::from_ref(&alone)), alone);
}

#[test]
fn merged_profiles_can_be_merged() {
    let parts = [run(0, 1, &[(0, 1, 2, 0)]), run(1, 2, &[(0, 2, 3, 0)]), run(2, 3, &[])];
    let first = merged(&parts[..2]);
    let all = merged(&[first, parts[2].clone()]);
    assert_eq!(all.runs, merged(&parts).runs);
    assert_eq!(all.nodes, merged(&parts).nodes);
}

#[test]
fn one_address_of_two_builds_without_build_ids_is_two_frames() {
    let base = run(0, 1, &[(0, 101, 1, 0)]);
    let mut other = run(1, 2, &[(0, 101, 1, 0)]);
    other.strings[3] = "rebuilt".into();
    let merged = merged(&[base, other]);
    let profile = Profile::from_saved(merged);
    let name = |node| &*profile.functions[profile.function_of(node).index()].name;
    assert_eq!([name(1), name(2)], ["f101", "rebuilt"]);
}

/// Does some work of a size, and of a tenth of it, which takes more than a fortieth of the CPU
/// time: of a square it would take a hundredth.
fn takes_no_square(size: u32, work: impl Fn(u32)) {
    let taken = |size: u32| {
        let began = cpu_time();
        work(size);
        cpu_time() - began
    };
    let few = taken(size / 10).max(std::time::Duration::from_millis(10));
    let many = taken(size);
    assert!(many < 40 * few, "{many:?} for {size}, and {few:?} for a tenth");
}

/// A file may have as many frames of one address as it likes; each is compared with few others.
#[test]
fn one_address_with_many_names_is_many_frames() {
    takes_no_square(50_000, |count| {
        let mut part = run(0, 0, &[(0, 1, 2, 0)]);
        for line in 1..count {
            part.frames.push(part.frames[1]);
            part.sites.function.push(FunctionId(0));
            part.sites.file.push(None);
            part.sites.line.push(line);
            part.sites.first.push(line + 1);
        }
        let mut again = part.clone();
        again.run.start_unix_ns += 1;
        let merged = merged(&[part.clone(), again]);
        assert_eq!((merged.frames, merged.sites), (part.frames, part.sites));
    });
}

#[test]
fn commands_of_many_runs_are_each_named_once() {
    let command = |run: u32| vec![b"./app".to_vec(), (run / 2).to_string().into_bytes()];
    let run = |run| MergedRun {
        info: RunInfo { command: command(run), ..RunInfo::default() },
        processes: 1,
    };
    takes_no_square(60_000, |count| {
        let runs: Vec<_> = (0..count).map(run).collect();
        let words = runs::together(&runs).command;
        assert_eq!(words[..5], [&b"./app"[..], b"0", b";", b"./app", b"1"]);
        assert_eq!(words.len(), 3 * count as usize / 2 - 1);
    });
}

#[test]
fn the_run_that_knows_a_name_knows_it_for_all() {
    let named = run(0, 1, &[(0, 1, 1, 0)]);
    let mut nameless = run(1, 2, &[(0, 1, 1, 0)]);
    nameless.sites = saved::Sites::default();
    nameless.functions.clear();
    for parts in [[named.clone(), nameless.clone()], [nameless, named]] {
        let profile = Profile::from_saved(merged(&parts));
        assert_eq!(profile.function_of(1), profile.function_of(2));
    }
}

#[test]
fn edges_that_one_run_lacks_are_left_out_of_all() {
    let with = run(0, 1, &[(0, 1, 1, 5)]);
    let mut without = run(1, 2, &[(0, 1, 1, 0)]);
    without.run.trampoline = false;
    let merged = merged(&[with, without]);
    assert_eq!(merged.nodes.edges, [0, 0, 0, 0]);
    assert!(!merged.run.trampoline);
    assert_eq!(merged.run.warnings, ["edge counts are left out: there are none in 1.csprof"]);
}

#[test]
fn runs_from_outside_are_known_behind_the_names_of_their_files() {
    let told = format!("{}: no edge counts", saved::FROM_OUTSIDE);
    let mut parts = [run(0, 1, &[(0, 1, 1, 0)]), run(1, 2, &[(0, 1, 1, 0)])];
    parts[0].run.warnings.push(told.clone());
    let some = merged(&parts);
    assert!(some.run.is_from_outside() && !some.is_from_outside());
    parts[1].run.warnings.push(told);
    assert!(merged(&parts).is_from_outside());
}

#[test]
fn what_does_not_add_up_is_refused() {
    let base = run(0, 1, &[]);
    let mut other = run(1, 2, &[]);
    other.metric.period = 7;
    assert_eq!(
        refused(&[base.clone(), other]),
        "b.csprof: was sampled by cputime every 7 ns, but a.csprof by cputime every 5 ns; \
         samples and edges of different sources or periods do not add up; csprof diff compares \
         such runs"
    );
    let both = of_two_metrics(base.clone(), "cputime");
    assert_eq!(
        refused(&[both.clone(), run(1, 2, &[])]),
        "b.csprof: was sampled by cputime every 5 ns, but a.csprof by cputime every 5 ns and \
         realtime every 9 ns; samples and edges of different sources or periods do not add up; \
         csprof diff compares such runs"
    );
    let mut other = of_two_metrics(run(1, 2, &[]), "realtime");
    assert_eq!(refused(&[both.clone(), other.clone()]), "");
    other.metric.period = 7;
    assert!(
        refused(&[both, other]).starts_with("b.csprof: was sampled by realtime every 7 ns and")
    );
    assert_eq!(
        refused(&[base.clone(), base]),
        "b.csprof: is the same run as a.csprof, which would count twice; leave one out"
    );
}

/// Nodes of a run: (levels up, offset, samples, edges).
pub(in crate::profile) fn nodes() -> impl Strategy<Value = Vec<(u32, u64, u64, u64)>> {
    let offset = prop_oneof![0..12_u64, 100..112_u64];
    prop::collection::vec((0..3_u32, offset, 0..9_u64, 0..9_u64), 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// The trees of a merged profile are those of its parts, one after the other; and it is valid,
    /// which writing checks.
    #[test]
    fn nothing_is_lost_and_nothing_is_mixed(parts in prop::collection::vec(nodes(), 1..4)) {
        let parts: Vec<_> = (0..).zip(&parts).map(|(n, nodes)| run(n, 10 + u64::from(n), nodes)).collect();
        let merged = merged(&parts);
        let mut bytes = Vec::new();
        write::write(&merged, &mut bytes).unwrap();
        prop_assert_eq!(&read::read(&bytes).unwrap(), &merged);
        let outline = |part: &saved::Profile| to_outline(&Profile::from_saved(part.clone()));
        prop_assert_eq!(outline(&merged), parts.iter().map(outline).collect::<String>());
    }

    /// Metrics that are in another order in another run stay what they are.
    #[test]
    fn metrics_are_not_mixed(parts in prop::collection::vec((nodes(), any::<bool>()), 1..4)) {
        let name = |is_cpu| if is_cpu { "cputime" } else { "realtime" };
        let runs = (0..).zip(&parts).map(|(n, (nodes, _))| run(n, 10 + u64::from(n), nodes));
        let runs: Vec<_> = runs.collect();
        let of = |of: &dyn Fn(usize) -> bool| -> Vec<_> {
            let runs = runs.iter().enumerate();
            runs.map(|(n, run)| of_two_metrics(run.clone(), name(of(n)))).collect()
        };
        let mixed = merged(&of(&|n| parts[n].1));
        let same = of(&|_| parts[0].1);
        prop_assert_eq!(&mixed, &merged(&same));
        let mut bytes = Vec::new();
        write::write(&mixed, &mut bytes).unwrap();
        let outline = |part: &saved::Profile| to_outline(&Profile::from_saved(part.clone()));
        prop_assert_eq!(outline(&mixed), same.iter().map(outline).collect::<String>());
    }
}

/// What is written can be read: the limit is the reader's, and is told before the work.
#[test]
fn more_than_can_be_read_is_not_merged() {
    let mut merger = Merger::new(Agreement::SameMetrics);
    assert_eq!(merger.most_nodes, MOST_NODES);
    merger.most_nodes = 10;
    let part = |rank: u32| run(rank, rank.into(), &[(0, 10, 1, 0), (0, 20, 1, 0), (0, 30, 1, 0)]);
    for rank in 0..2 {
        merger.add("part", part(rank)).unwrap();
    }
    let refused = merger.add("third", part(2)).unwrap_err().to_string();
    assert_eq!(
        refused,
        "third: with this one these profiles have 12 nodes, and csprof reads 10 of one profile; \
         merge fewer of them, 2 at most of this size"
    );
    assert_eq!(merger.finish().nodes.len(), 8);
}

/// Loops and tail calls of equal addresses are one; a run that looked for none says nothing of
/// them.
#[test]
fn loops_and_tail_calls_are_those_of_all_runs() {
    let bytes = include_bytes!("../../../../tests/golden/v1/loops.csprof");
    let first = csprof_format::read::read(bytes).unwrap();
    let mut second = first.clone();
    second.run.start_unix_ns += 1;
    let mut bare = second.clone();
    bare.structure = saved::Structure::default();
    let merge = |parts: [&saved::Profile; 2]| {
        let mut merger = Merger::new(Agreement::SameMetrics);
        for (number, part) in parts.into_iter().enumerate() {
            merger.add(&number.to_string(), part.clone()).unwrap();
        }
        let merged = merger.finish();
        csprof_format::validate::validate(&merged).unwrap();
        merged.structure
    };
    assert_eq!(merge([&first, &second]), first.structure);
    assert_eq!(merge([&first, &bare]), first.structure);
    assert_eq!(merge([&bare, &first]), first.structure);
}

/// Two files of one path stay apart; which of them a later run had, nothing tells, and then no file
/// is the one.
#[test]
fn files_of_all_runs_are_kept() {
    let with = |start, files: &[(u32, u64)]| {
        let mut profile = run(0, start, &[(0, 101, 1, 0), (1, 102, 2, 0)]);
        profile.modules.push(saved::Module { path: StringId(1), ..Default::default() });
        let row = |&(module, inode): &(u32, u64)| {
            let file = FileIdentity { inode, size: 1, ..FileIdentity::default() };
            ModuleFile { module: ModuleId(module), file }
        };
        profile.files = files.iter().map(row).collect();
        profile
    };
    let merged = |parts: &[saved::Profile]| {
        let mut merger = Merger::new(Agreement::SameMetrics);
        for part in parts {
            merger.add("part", part.clone()).unwrap();
        }
        let merged = merger.finish();
        csprof_format::validate::validate(&merged).unwrap();
        assert_eq!(merged.modules.len(), 3);
        let row = |row: &ModuleFile| (row.module.0, row.file.inode, row.file.size);
        merged.files.iter().map(row).collect::<Vec<_>>()
    };
    let (one, two) = (with(1, &[(1, 5), (2, 6)]), with(2, &[(1, 5), (2, 7)]));
    assert_eq!(merged(std::slice::from_ref(&one)), [(1, 5, 1), (2, 6, 1)]);
    assert_eq!(merged(&[one.clone(), two]), [(1, 5, 1), (2, 6, 1), (2, 7, 1)]);
    let old = with(3, &[]);
    let unknown = [(1, 0, 0), (1, 5, 1), (2, 0, 0), (2, 6, 1)];
    assert_eq!(merged(&[one.clone(), old.clone()]), unknown);
    assert_eq!(merged(&[old.clone(), one]), unknown);
    assert_eq!(merged(&[old]), []);
}

/// Also where two are compared; which are left out is said.
#[test]
fn stages_are_those_that_all_runs_begin_with() {
    let bytes = include_bytes!("../../../../tests/golden/v1/stages.csprof");
    let golden = csprof_format::read::read(bytes).unwrap();
    let with = |start: u64, stages: &[&str]| {
        let mut part = golden.clone();
        part.run.start_unix_ns += start;
        part.stages = stages.iter().map(|stage| (*stage).to_owned()).collect();
        part
    };
    for (parts, expected, left_out) in [
        (
            &[&["where c", "hide b"][..], &["where c", "hide b", "hide d"]][..],
            &["where c", "hide b"][..],
            &["the stage `hide d` is left out: part 0 was saved without it"][..],
        ),
        (
            &[&["where c", "hide b"], &["hide b", "where c"]],
            &[],
            &[
                "the stage `where c` is left out: not all were saved with the same stages before it",
                "the stage `hide b` is left out: not all were saved with the same stages before it",
            ],
        ),
        (
            &[&["hide b", "where c"], &["where c"]],
            &[],
            &[
                "the stage `hide b` is left out: part 1 was saved without it",
                "the stage `where c` is left out: not all were saved with the same stages before it",
            ],
        ),
        // Behind stages that differ, one that is the same does something else.
        (
            &[&["hide b", "where c"], &["hide d", "where c"]],
            &[],
            &[
                "the stage `hide b` is left out: part 1 was saved without it",
                "the stage `where c` is left out: not all were saved with the same stages before it",
                "the stage `hide d` is left out: part 0 was saved without it",
            ],
        ),
        (
            &[&["hide b"], &[], &["hide\nb"]],
            &[],
            &[
                "the stage `hide b` is left out: part 1 and 1 more were saved without it",
                "the stage `hide\\nb` is left out: part 0 and 1 more were saved without it",
            ],
        ),
        (&[&[], &[]], &[], &[]),
    ] {
        let mut merger = Merger::new(Agreement::SameMetrics);
        for (number, stages) in parts.iter().enumerate() {
            let part = with(number as u64, stages);
            merger.add(&format!("part {number}"), part).unwrap();
        }
        let merged = merger.finish();
        assert_eq!(merged.stages, expected);
        let said = merged.run.warnings.iter().filter(|warning| warning.contains("the stage"));
        assert!(said.eq(left_out.iter()), "{:?}", merged.run.warnings);
        if let [base, other] = parts {
            let [base, other] = [base, other].map(|stages| Profile::from_saved(with(0, stages)));
            let compared = Profile::compared(("first", base), ("second", other), &[]).unwrap();
            assert_eq!(compared.info.stages, expected);
        }
    }
}

/// The same text once, with the lines of all; of several versions all, and which is not clear.
#[test]
fn sources_of_all_parts_are_kept() {
    let bytes = include_bytes!("../../../../tests/golden/v1/sources.csprof");
    let golden = csprof_format::read::read(bytes).unwrap();
    let merged = |change: &dyn Fn(&mut saved::Profile)| {
        let mut other = golden.clone();
        other.run.start_unix_ns += 1;
        change(&mut other);
        let mut merger = Merger::new(Agreement::SameMetrics);
        merger.add("one", golden.clone()).unwrap();
        merger.add("other", other).unwrap();
        let merged = merger.finish();
        csprof_format::validate::validate(&merged).unwrap();
        let is_told = |warning: &String| warning.contains("different versions of /home/me/figure1");
        let is_unclear = merged.run.warnings.iter().any(is_told);
        (merged.sources, is_unclear)
    };
    assert_eq!(merged(&|_| {}), (golden.sources.clone(), false));
    assert_eq!(merged(&|other| other.sources.clear()), (golden.sources.clone(), false));
    let (sources, is_unclear) = merged(&|other| {
        let mut more = saved::SourceFile { text: String::new(), ..other.sources[0].clone() };
        more.stretches.clear();
        for number in [8, 10, 11, 40] {
            more.push(number, "more");
        }
        other.sources[0] = more;
    });
    let numbers = sources[0].numbered().map(|(number, _)| number);
    assert_eq!(numbers.collect::<Vec<_>>(), [8, 9, 10, 11, 30, 40]);
    assert!(sources[0].numbered().any(|line| line == (30, "int main(void)")));
    assert!(!is_unclear);
    let (sources, is_unclear) = merged(&|other| other.sources[0].digest += 1);
    assert_eq!((sources.len(), is_unclear), (3, true));
    // Also if one is without doubt: what is known against a file is known of one of its modules.
    let doubted = merged(&|other| {
        other.sources[0].digest += 1;
        other.sources[0].doubt = saved::SourceDoubt::NewerThanModule;
    });
    assert_eq!((doubted.0.len(), doubted.1), (3, true));
    // What one part has of its run, another may have from elsewhere.
    let (sources, _) = merged(&|other| other.sources[0].is_of_run = false);
    assert!(golden.sources[0].is_of_run && !sources[0].is_of_run);
}

/// Times of both runs count from the start of the earlier one; nodes and metrics keep theirs.
#[test]
fn times_of_samples_are_moved_to_one_clock() {
    let timed = |rank, start, times: &[(u64, u32)]| {
        let nodes = [(0, 1, 3, 0), (1, 2, 2, 0)];
        let row = |&(time_us, node)| SampleTime { time_us, node, metric: 0, samples: 1 };
        let times = times.iter().map(row).collect();
        saved::Profile { times, ..run(rank, start, &nodes) }
    };
    let one = timed(0, 9_000_000, &[(0, 1), (0, 2), (7, 1)]);
    let earlier = timed(1, 5_000_000, &[(1, 2)]);
    let merge = |parts: [saved::Profile; 2], agreement| {
        let mut merger = Merger::new(agreement);
        for (number, part) in parts.into_iter().enumerate() {
            merger.add(&number.to_string(), part).unwrap();
        }
        merger.finish()
    };
    let times = |merged: &saved::Profile| {
        merged.times.iter().map(|row| (row.time_us, row.node)).collect::<Vec<_>>()
    };
    let merged = merge([one.clone(), earlier.clone()], Agreement::SameMetrics);
    csprof_format::validate::validate(&merged).unwrap();
    assert_eq!(times(&merged), [(4_000, 1), (4_000, 2), (4_007, 1), (1, 5)]);
    let mut elsewhere = one.clone();
    elsewhere.run.host = "there".into();
    let merged = merge([earlier.clone(), elsewhere], Agreement::SameMetrics);
    assert_eq!(times(&merged), [(1, 2), (4_000, 4), (4_000, 5), (4_007, 4)]);
    assert!(merged.run.warnings.iter().any(|said| said.contains("by the clocks of")));
    // What is compared has two clocks.
    assert_eq!(times(&merge([one, earlier], Agreement::Nothing)), []);
}
