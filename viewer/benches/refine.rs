//! How long refinement takes on a large made-up profile, and how much memory.
//!
//! One million nodes, or as many as `CSPROF_BENCH_NODES` says (inlined frames are nodes, too), two
//! hundred thousand frames of functions with C++ names, four threads, stacks of up to sixty frames
//! with recursion.
//! `CSPROF_BENCH_NODES=10000000 cargo bench -p csprof --bench refine`. The best of
//! `CSPROF_BENCH_RUNS` counts, since other work on the machine only ever adds;
//! `CSPROF_BENCH_ONLY` names a part of the stages wanted.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod made_up;

use std::hint::black_box;
use std::time::Duration;

use csprof::profile::Profile;
use csprof::refine::{ChildIndex, Predicate, Refined, Sets, Stage, Watch, complete, parse};
use csprof::views::Sort;
use csprof::views::callers::Callers;
use csprof::views::flat::flat;
use csprof::views::hall::{HallTable, Reach, Way};
use csprof::views::tree::RowId;
use nix::time::{ClockId, clock_gettime};

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
        let complete = || complete(text, text.len(), base, &sets).candidates.len();
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
    let profile =
        Profile::from_saved(made_up::large_profile(u32::try_from(nodes).unwrap_or(u32::MAX)));
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
