//! How long refinement takes on large made-up profiles, and how much memory.
//!
//! One million nodes, or as many as `CSPROF_BENCH_NODES` says (inlined frames are nodes, too); in
//! the usual shape two hundred thousand frames of functions with C++ names, four threads, stacks of
//! up to sixty frames with recursion.
//! `CSPROF_BENCH_NODES=10000000 cargo bench -p csprof --bench refine`. The best of
//! `CSPROF_BENCH_RUNS` counts, since other work on the machine only ever adds; the first time,
//! memory is still to be had from the kernel and what is kept of a profile to be made.
//! `CSPROF_BENCH_ONLY` names a part of the stages wanted, or is `names` or `views`;
//! `CSPROF_BENCH_SHAPE` a shape.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod made_up;

use std::hint::black_box;
use std::time::Duration;

use csprof::profile::Profile;
use csprof::refine::{Predicate, Refined, Sets, Stage, Watch, complete, parse, unwatched};
use csprof::views::Sort;
use csprof::views::callers::Callers;
use csprof::views::flat::flat;
use csprof::views::hall::{HallTable, Reach, Way};
use csprof::views::tree::RowId;
use nix::time::{ClockId, clock_gettime};

use made_up::{MIXED, Shape};

/// The shapes, the usual one first.
const SHAPES: [(&str, Shape); 6] = [
    ("mixed", MIXED),
    ("deep", Shape { functions: 1_000, depth: 2_000, ..MIXED }),
    ("wide", Shape { fan: 5, ..MIXED }),
    ("threads", Shape { functions: 20_000, threads: 1_000, alike: true, ..MIXED }),
    ("few", Shape { functions: 50, ..MIXED }),
    ("metrics", Shape { metrics: 2, ..MIXED }),
];

/// Stages. Each may take 150 ms on ten million nodes, and less in proportion on fewer, but never
/// less than the 16 ms of a million.
const STAGES: [&str; 27] = [
    "through MPI_*",
    "through step_* >> memcpy* > *",
    "not through MPI_* and not under memcpy*",
    "through /solver.*step/",
    "through ^MPI_* >> app::*$",
    "times(app::*) >= 3 and depth < 40",
    "in memcpy* or leaf MPI_*",
    "thread in 1..2",
    "node[incl(time) > 0.01%]",
    "node[edges >= 3]",
    "node[edges < 2]",
    "node[cost per edge > 1ms]",
    "not node[excl(samples) = 2]",
    "hide app::*",
    "hide MPI_*",
    "group module:libpart3* as Part3",
    "stop at app::*",
    "cut MPI_*",
    "collapse *",
    "collapse-run *",
    "fold MPI_*",
    "root at MPI_*",
    "by module",
    "callers of MPI_*",
    "split thread",
    "small incl(time) < 0.01%",
    "small edges < 1",
];

/// Stages that ask for one metric of several.
const STAGES_OF_METRICS: [&str; 5] = [
    "node[incl(realtime) > 0.01%]",
    "node[excl(cputime) >= 5ms]",
    "not node[excl(realtime) = 10ms]",
    "small incl(realtime) < 0.01%",
    "small incl(realtime) < 5ms",
];

/// Stages one after another; each may take what it may take alone.
const CHAINS: [&str; 2] = [
    "not under memcpy* | hide app::* | collapse * | through MPI_* | small incl(time) < 0.01%",
    "group module:libpart3* as Part3 | stop at MPI_* | node[edges >= 1] | by module | fold *1.so",
];

/// CPU time of this thread in milliseconds: what a run would take if nothing else ran.
fn now() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    time.unwrap_or_default().as_secs_f64() * 1e3
}

/// What work took, in milliseconds: the first time, at best, and in the median.
struct Times {
    first: f64,
    best: f64,
    median: f64,
}

fn timed<T>(runs: usize, mut work: impl FnMut() -> T) -> Times {
    let mut times: Vec<f64> = (0..=runs)
        .map(|_| {
            let start = now();
            black_box(work());
            now() - start
        })
        .collect();
    let first = times.remove(0);
    times.sort_by(f64::total_cmp);
    Times { first, best: times[0], median: times[runs / 2] }
}

fn print(what: &str, times: &Times, most: Option<f64>, remark: &str) {
    let Times { first, best, median } = times;
    let most = most.map_or_else(String::new, |most| {
        format!("{most:8.0}{}", if *best > most { "  EXCEEDED" } else { "          " })
    });
    println!("{what:44}{first:8.1}{best:8.1}{median:8.1}{most}{remark}");
}

/// A line of `/proc/self/status`, in MB.
fn megabytes(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    found.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Memory of a forest, which may be 16 bytes for each node and 8 for each metric.
fn bytes_for_each_node(refined: &Refined) -> String {
    let [all, shared] = refined.bytes().map(|bytes| bytes as f64 / refined.node_count() as f64);
    let most = 16 + 8 * refined.profile.metrics().count();
    let exceeded = if all >= most as f64 + 0.05 { "  EXCEEDED" } else { "" };
    format!("{all:.1} bytes for each node, {shared:.1} of them the profile's{exceeded}")
}

/// What a stage, or several, make of a forest.
fn stages(base: &Refined, text: &str, runs: usize, most: Option<f64>) {
    let Ok(refinement) = parse(text) else { unreachable!("{text} is a refinement") };
    let refine = || base.clone().refine(&refinement.stages, &Watch::none());
    let times = timed(runs, || refine().is_ok());
    let remark = match refine() {
        Ok(refined) => {
            assert_eq!(refined.shown + refined.out, refined.base);
            bytes_for_each_node(&refined)
        }
        Err(stopped) => format!("{stopped:?}"),
    };
    print(text, &times, most, &format!("  {remark}"));
}

/// What a key on a forest makes.
fn views(base: &Refined, runs: usize, most: Option<f64>) {
    print("callers view", &timed(runs, || unwatched(|watch| Callers::new(base, watch))), most, "");
    let mut callers = unwatched(|watch| Callers::new(base, watch));
    let first = callers.children(base, RowId::ROOT)[0];
    let opened = timed(runs, || {
        let mut callers = callers.clone();
        callers.children(base, first).len()
    });
    print("  a function of it opened", &opened, most, "");
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
                    || HallTable::new(base, Some(&chain), way, reach, &Watch::none()).is_ok();
                print(&what, &timed(runs, table), most, "");
            }
        }
    }
}

/// What is asked of names.
fn names(profile: &Profile, base: &Refined, runs: usize) {
    let table = || Refined::base(profile).prepare_names();
    print("what is known of names, and their order", &timed(runs, table), None, "");
    base.prepare_names();
    for text in ["step_1", "vector", "x", "s", "mpi_f"] {
        let what = format!("completion of {text}");
        let sets = Sets::default();
        let complete = || complete(text, text.len(), base, &sets).candidates.len();
        print(&what, &timed(runs, complete), Some(16.0), "");
    }
    let pattern = |text: &str| match parse(&format!("hide {text}")).map(|mut all| all.stages.pop())
    {
        Ok(Some(Stage::Hide(pattern))) => pattern,
        _ => unreachable!("{text} is a pattern"),
    };
    for text in [
        "s*_1*7",
        "std::*[]",
        "std::vector<app::Cell<47>>::*",
        "vector<Cell>::*",
        "Solver<double>::*",
        "Drop::drop",
        "*step",
        "*step_1*",
        "app::*",
        "/solver.*step/",
        "/^std::vector.*\\[\\]/",
        "module:libpart3*",
    ] {
        let pattern = pattern(text);
        let what = format!("name matching of {text}");
        print(&what, &timed(runs, || base.frames_of(&pattern).is_ok()), Some(20.0), "");
    }
    // Nothing is known of names yet.
    for text in ["MPI_*", "app::*", "Solver<double>::*", "Drop::drop", "*step"] {
        let pattern = pattern(text);
        let first = || Refined::base(profile).frames_of(&pattern).is_ok();
        print(&format!("  the first of all: {text}"), &timed(runs, first), Some(20.0), "");
    }
    for text in ["setp_1234", "vectro::push", "app::part3::Solvr", "xyzzy", "q*"] {
        let pattern = pattern(text);
        let found =
            base.frames_of(&pattern).map_or_else(|error| error.to_string(), |_| String::new());
        let what = format!("suggestions for {text}");
        let suggest = || base.frames_of(&pattern).is_err();
        print(&what, &timed(runs, suggest), Some(16.0), &format!("  {found}"));
    }
}

/// What is asked for, by variables of the environment.
struct Wanted {
    nodes: usize,
    runs: usize,
    only: String,
    shape: String,
}

impl Wanted {
    fn read() -> Self {
        let text = |name: &str| std::env::var(name).unwrap_or_default();
        let number = |name: &str, usual: usize| text(name).parse().unwrap_or(usual);
        // `cargo test` runs benchmarks, too: to see that they work.
        let is_test = !std::env::args().any(|argument| argument == "--bench");
        Self {
            nodes: number("CSPROF_BENCH_NODES", if is_test { 10_000 } else { 1_000_000 }),
            runs: number("CSPROF_BENCH_RUNS", if is_test { 1 } else { 15 }),
            only: text("CSPROF_BENCH_ONLY"),
            shape: text("CSPROF_BENCH_SHAPE"),
        }
    }

    /// Everything that is measured of one profile.
    fn measure(&self, name: &str, profile: &Profile) {
        let runs = self.runs;
        println!(
            "\n{name}: {} nodes, {} frames, {} functions; {} MB resident",
            profile.nodes.len(),
            profile.frames.len(),
            profile.functions.len(),
            megabytes("VmRSS:")
        );
        println!(
            "{:44}{:>8}{:>8}{:>8}{:>8}",
            "milliseconds of CPU time, one thread", "first", "best", "median", "most"
        );
        let share = |most: f64| Some((most * profile.nodes.len() as f64 / 1e7).max(16.0));
        let base = Refined::base(profile);
        let inclusive = timed(runs, || Refined::base(profile));
        print("inclusive", &inclusive, None, &format!("{:10}{}", "", bytes_for_each_node(&base)));
        let of_metrics = &STAGES_OF_METRICS[..if profile.info.further.is_empty() { 0 } else { 5 }];
        for text in STAGES.iter().chain(of_metrics) {
            if text.contains(&self.only) {
                stages(&base, text, runs, share(150.0));
            }
        }
        for text in CHAINS {
            if text.contains(&self.only) {
                let most = share(150.0).map(|most| most * text.split('|').count() as f64);
                stages(&base, text, runs, most);
            }
        }
        if "views".contains(&self.only) {
            print(
                "recursion-safe flat",
                &timed(runs, || flat(&base, Sort::default())),
                share(250.0),
                "",
            );
            let indexed = || {
                let base = Refined::base(profile);
                let _ = base.children();
                base
            };
            print("base, children indexed", &timed(runs, indexed), None, "");
            if name == SHAPES[0].0 {
                views(&base, runs, share(100.0));
            }
        }
        if "names".contains(&self.only) && name == SHAPES[0].0 {
            names(profile, &base, runs);
        }
    }
}

fn main() {
    let wanted = Wanted::read();
    let nodes = u32::try_from(wanted.nodes).unwrap_or(u32::MAX);
    let profile = |shape: &Shape| {
        let mut saved = shape.profile(nodes);
        saved.run.trampoline = true;
        Profile::from_saved(saved)
    };
    for (name, shape) in SHAPES.iter().filter(|(name, _)| name.contains(&wanted.shape)) {
        wanted.measure(name, &profile(shape));
    }
    let two_sides = "two sides";
    if two_sides.contains(&wanted.shape) {
        let [base, other] = [&SHAPES[0].1, &SHAPES[4].1].map(profile);
        let compared = Profile::compared(("base", base), ("other", other), &[]);
        let Ok(compared) = compared else { unreachable!("both count the same") };
        wanted.measure(two_sides, &compared);
    }
    println!("{} MB resident, {} MB at most", megabytes("VmRSS:"), megabytes("VmHWM:"));
}
