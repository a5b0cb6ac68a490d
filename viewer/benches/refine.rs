//! How long refinement takes on a large made-up profile, and how much memory.
//!
//! One million nodes, or as many as `CSPROF_BENCH_NODES` says (inlined frames are nodes, too), two
//! hundred thousand frames of functions with C++ names, four threads, stacks of up to sixty frames
//! with recursion.
//! `CSPROF_BENCH_NODES=10000000 cargo bench -p csprof --bench refine`. The best of
//! `CSPROF_BENCH_RUNS` counts, since other work on the machine only ever adds;
//! `CSPROF_BENCH_ONLY` names a part of the stages wanted.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use std::hint::black_box;
use std::time::Duration;

use csprof::profile::Profile;
use csprof::refine::{ChildIndex, Predicate, Refined, Sets, Stage, Watch, complete, parse};
use csprof::views::Sort;
use csprof::views::callers::Callers;
use csprof::views::flat::flat;
use csprof::views::hall::{HallTable, Reach, Way};
use csprof::views::tree::RowId;
use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;
use nix::time::{ClockId, clock_gettime};

const FUNCTIONS: u32 = 165_000;
const THREADS: u32 = 4;

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(limit)).unwrap_or(0)
    }
}

fn name(function: u32) -> String {
    match function % 100 {
        0 => format!("MPI_Function_{function}"),
        1 => format!("memcpy_variant_{function}"),
        2..40 => format!(
            "void app::part{}::Solver<double, {function}>::step_{function}(app::Mesh<double> const&, unsigned long) const",
            function % 37
        ),
        40..60 => format!(
            "std::vector<app::Cell<{function}>, std::allocator<app::Cell<{function}> > >::operator[](unsigned long)"
        ),
        60..80 => format!("<alloc::vec::Vec<cell::Cell{function}> as core::ops::Drop>::drop"),
        _ => format!("plain_c_function_{function}"),
    }
}

fn large_profile(nodes: u32) -> saved::Profile {
    let mut numbers = Numbers(7);
    let mut profile = saved::Profile {
        processes: vec![saved::Process::default()],
        epochs: vec![saved::Epoch::default()],
        ..saved::Profile::default()
    };
    for module in 0..50 {
        profile.strings.push(format!("/usr/lib/libpart{module}.so"));
        profile.modules.push(saved::Module { path: StringId(module), ..saved::Module::default() });
    }
    profile.sites.first.push(0);
    for function in 0..FUNCTIONS {
        let module = ModuleId(function % 50);
        profile.strings.push(name(function));
        profile.functions.push(saved::Function {
            name: StringId(50 + function),
            module,
            file: None,
            line: 0,
        });
        profile.frames.push(saved::Frame {
            kind: FrameKind::Call,
            module: Some(module),
            offset: u64::from(function) * 64,
        });
        // One address in five lies in inlined code.
        for row in 0..=u32::from(function % 5 == 0) {
            profile.sites.function.push(FunctionId((function + row * 7) % FUNCTIONS));
            profile.sites.file.push(None);
            profile.sites.line.push(function);
        }
        let rows = u32::try_from(profile.sites.function.len()).unwrap_or(u32::MAX);
        profile.sites.first.push(rows);
    }
    let root = FrameId(FUNCTIONS);
    profile.frames.push(saved::Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.sites.first.push(profile.sites.first[FUNCTIONS as usize]);
    for thread in 0..THREADS {
        profile.threads.push(saved::Thread {
            process: ProcessId(0),
            tid: thread,
            ..Default::default()
        });
        let first = profile.nodes.push(u32::try_from(profile.nodes.len()).unwrap_or(0), root, 0, 0);
        let mut path = vec![first];
        let mut made = 0;
        while made < nodes / THREADS {
            // Deeper by one, or back up by some, as depth-first order has it.
            for _ in 0..numbers.below(5).saturating_sub(2) {
                if path.len() > 1 {
                    path.pop();
                }
            }
            path.truncate(60);
            let parent = path[path.len() - 1];
            // Few functions call most of the others.
            let limit = 1 + numbers.below(FUNCTIONS);
            let frame = FrameId(numbers.below(limit));
            let samples = u64::from(numbers.below(4));
            path.push(profile.nodes.push(parent, frame, samples, samples / 2));
            let first = &profile.sites.first[frame.index()..];
            made += first[1] - first[0];
        }
        let end = u32::try_from(profile.nodes.len()).unwrap_or(u32::MAX);
        profile.trees.push(saved::Tree {
            thread: ThreadId(thread),
            epoch: EpochId(0),
            first_node: first,
            node_count: end - first,
        });
    }
    profile
}

/// A stage and the most milliseconds it may take on ten million nodes; shorter profiles have less
/// in proportion, but never less than 16 ms for a million.
const STAGES: [(&str, u32); 23] = [
    ("through MPI_*", 150),
    ("through step_* >> memcpy* > *", 150),
    ("not through MPI_* and not under memcpy*", 150),
    ("through /solver.*step/", 150),
    ("through ^MPI_* >> app::*$", 150),
    ("times(app::*) >= 3 and depth < 40", 150),
    ("in memcpy* or leaf MPI_*", 150),
    ("thread in 1..2", 150),
    ("node[incl(time) > 0.01%]", 150),
    ("node[edges >= 3]", 150),
    ("hide app::*", 150),
    ("hide MPI_*", 150),
    ("group module:libpart3* as Part3", 150),
    ("stop at app::*", 150),
    ("cut MPI_*", 150),
    ("collapse *", 150),
    ("collapse-run *", 150),
    ("fold MPI_*", 150),
    ("root at MPI_*", 150),
    ("by module", 150),
    ("callers of MPI_*", 150),
    ("split thread", 150),
    ("small incl(time) < 0.01%", 150),
];

/// CPU time of this thread in milliseconds: what a run would take if nothing else ran.
fn now() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    time.unwrap_or_default().as_secs_f64() * 1e3
}

/// The best of some runs, and their median, in milliseconds.
fn timed<T>(runs: usize, mut work: impl FnMut() -> T) -> (f64, f64) {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = now();
            black_box(work());
            now() - start
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[runs / 2])
}

fn print(what: &str, (best, median): (f64, f64), most: Option<f64>) {
    let most = most.map_or_else(String::new, |most| {
        format!("{most:8.0}{}", if best > most { "  EXCEEDED" } else { "" })
    });
    println!("{what:44}{best:8.1}{median:8.1}{most}");
}

/// A line of `/proc/self/status`, in MB.
fn megabytes(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    found.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Memory of a forest, which may be 16 bytes for each node and 8 for the one metric.
fn bytes_for_each_node(refined: &Refined<'_>) -> String {
    let [all, shared] = refined.bytes().map(|bytes| bytes as f64 / refined.node_count() as f64);
    let exceeded = if all >= 24.05 { "  EXCEEDED" } else { "" };
    format!("{all:.1} bytes for each node, {shared:.1} of them the profile's{exceeded}")
}

/// What a key on a forest makes.
fn views(base: &Refined<'_>, runs: usize, most: Option<f64>) {
    print("callers view", timed(runs, || Callers::new(base)), most);
    let mut callers = Callers::new(base);
    let first = callers.children(base, RowId::ROOT)[0];
    print(
        "  a function of it opened",
        timed(runs, || {
            let mut callers = callers.clone();
            callers.children(base, first).len()
        }),
        most,
    );
    let chain = |text: &str| match parse(text).map(|mut parsed| parsed.stages.pop()) {
        Ok(Some(Stage::Where(Predicate::Through(chain)))) => chain,
        _ => unreachable!("{text} is a path"),
    };
    for path in ["app::*", "MPI_* >> app::* > *"] {
        let chain = chain(path);
        for way in [Way::Down, Way::Up] {
            for reach in [Reach::Immediate, Reach::Extended] {
                let what = format!("table {way:?}, {reach:?}: {path}");
                let table =
                    || HallTable::watched(base, Some(&chain), way, reach, &Watch::none()).is_ok();
                print(&what, timed(runs, table), most);
            }
        }
    }
    for text in ["step_1", "vector", "x", "mpi_f"] {
        let what = format!("completion of {text}");
        let sets = Sets::default();
        let complete = || complete(text, text.len(), base.profile, &sets).candidates.len();
        print(&what, timed(runs, complete), Some(16.0));
    }
}

fn main() {
    let number = |name: &str, usual: usize| {
        std::env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
    };
    // `cargo test` runs benchmarks, too: to see that they work.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let nodes = number("CSPROF_BENCH_NODES", if is_test { 10_000 } else { 1_000_000 });
    let runs = number("CSPROF_BENCH_RUNS", if is_test { 1 } else { 15 });
    let only = std::env::var("CSPROF_BENCH_ONLY").unwrap_or_default();
    let profile = Profile::from_saved(large_profile(u32::try_from(nodes).unwrap_or(u32::MAX)));
    let before = megabytes("VmRSS:");
    let count = profile.nodes.len();
    println!(
        "{count} nodes, {} frames, {} functions; {before} MB resident",
        profile.frames.len(),
        profile.functions.len()
    );
    println!(
        "{:44}{:>8}{:>8}{:>8}",
        "milliseconds of CPU time, one thread", "best", "median", "most"
    );
    let share = |most: u32| Some((f64::from(most) * nodes as f64 / 1e7).max(16.0));
    print("inclusive", timed(runs, || Refined::base(&profile)), None);
    let base = Refined::base(&profile);
    println!("{:44}{}", "", bytes_for_each_node(&base));
    for (text, most) in STAGES {
        if !text.contains(&only) {
            continue;
        }
        let stage: Stage = parse(text)
            .ok()
            .and_then(|mut refinement| refinement.stages.pop())
            .unwrap_or_else(|| unreachable!("{text} is a stage"));
        let start = now();
        let first = base.then(&stage);
        let cold = now() - start;
        let Ok(refined) = first else { unreachable!("{text} matches something") };
        assert_eq!(refined.shown + refined.out, refined.base);
        let bytes = bytes_for_each_node(&refined);
        drop(refined);
        print(text, timed(runs, || base.then(&stage).is_ok()), share(most));
        println!("{:44}{cold:8.1} the first time; {bytes}", "");
    }
    for text in
        ["*step_1*", "app::*", "/solver.*step/", "/^std::vector.*\\[\\]/", "module:libpart3*"]
    {
        let hide = parse(&format!("hide {text}")).map(|mut hide| hide.stages.pop());
        if let Ok(Some(Stage::Hide(pattern))) = hide {
            let what = format!("name matching of {text}");
            print(&what, timed(runs, || base.frames_of(&pattern).is_ok()), Some(20.0));
        }
    }
    let start = now();
    black_box(flat(&base, Sort::default()));
    let cold = now() - start;
    print("recursion-safe flat", timed(runs, || flat(&base, Sort::default())), share(250));
    println!("{:44}{cold:8.1} the first time", "");
    views(&base, runs, Some((100.0 * nodes as f64 / 1e7).max(16.0)));
    print("index of children", timed(runs, || ChildIndex::new(&base)), None);
    println!("{} MB resident, {} MB at most", megabytes("VmRSS:"), megabytes("VmHWM:"));
}
