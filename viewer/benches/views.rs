//! Views of a profile with a million nodes: what a person waits for.
//!
//! Targets (first screen < 150 ms, a key to paint < 16 ms) are for the whole viewer; here is the
//! part of the views. The profile is made up: 8 threads, 20 000 functions, call paths of 10 to 60
//! frames with the skew of real programs, where few functions have most callers.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use csprof::profile::{Frame, FrameKind, FrameRef, Function, FunctionRef, Nodes, Profile, Stream};
use csprof::refine::Refined;
use csprof::views::callers::Callers;
use csprof::views::flat::flat;
use csprof::views::hot_path::{USUAL_SHARE, hot_path};
use csprof::views::search::{NamePattern, Search, Way};
use csprof::views::top_down::TopDown;
use csprof::views::tree::RowId;
use csprof::views::visible::Visible;
use csprof::views::{Sort, SortKey};
use csprof_format::ids::{EpochId, ProcessId, ThreadId};
use csprof_format::profile::{Metric, RunInfo};

const NODES: u32 = 1_000_000;
const FUNCTIONS: u32 = 20_000;
const THREADS: u32 = 8;

/// Numbers that look random and are always the same (Marsaglia's xorshift, period 2^64 − 1).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

fn profile() -> Profile {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let root = Function { name: "<root>".into(), module: None, file: None, line: 0 };
    let mut functions = vec![root];
    let root = Frame { function: FunctionRef::ROOT, kind: FrameKind::Root, file: None, line: 0 };
    let mut frames = vec![root];
    for f in 1..=FUNCTIONS {
        let (library, class) = (f % 40, f % 900);
        let name = format!("library{library}::Type{class}<int, double>::method{f}(char const*)");
        functions.push(Function { name, module: None, file: None, line: 0 });
        // Two call sites for each function, one frame in ten inlined.
        for line in [10, 20] {
            let kind = if f % 10 == 0 { FrameKind::Inline } else { FrameKind::Call };
            frames.push(Frame { function: FunctionRef(f), kind, file: None, line });
        }
    }
    let mut nodes = Nodes::default();
    nodes.push(0, FrameRef::ROOT, 0, 0);
    let mut streams = Vec::new();
    let mut path: Vec<u32> = Vec::new();
    for thread in 0..THREADS {
        let first = nodes.len() as u32;
        path.clear();
        while (nodes.len() as u32) < NODES / THREADS * (thread + 1) {
            let node = nodes.len() as u32;
            // The product of two numbers prefers small ones: few functions are everywhere.
            let skewed = u64::from(numbers.below(FUNCTIONS)) * u64::from(numbers.below(FUNCTIONS));
            let function = (skewed / u64::from(FUNCTIONS)) as u32;
            let samples = u64::from(numbers.below(5));
            nodes.parent.push(path.last().copied().unwrap_or(0));
            nodes.frame.push(FrameRef(1 + 2 * function + numbers.below(2)));
            nodes.samples.push(samples);
            nodes.edges.push(samples / 2);
            path.push(node);
            if path.len() > 60 || (path.len() > 10 && numbers.below(3) == 0) {
                path.truncate(1 + numbers.below(path.len() as u32) as usize);
            }
        }
        streams.push(Stream {
            process: ProcessId(0),
            thread: ThreadId(thread),
            epoch: EpochId(0),
            nodes: first..nodes.len() as u32,
        });
    }
    let info = csprof_format::profile::Profile {
        run: RunInfo { trampoline: true, ..RunInfo::default() },
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
        ..Default::default()
    };
    Profile { info, functions, frames, nodes, streams, comparison: None }
}

/// Every row open.
fn opened(refined: &Refined<'_>) -> (TopDown, Visible) {
    let mut tree = TopDown::new(refined);
    let mut visible = Visible::new(&mut tree, refined, RowId::ROOT);
    let mut line = 0;
    while line < visible.lines().len() {
        visible.open_subtree(&mut tree, refined, line, usize::MAX);
        line = visible.end_of_subtree(line);
    }
    (tree, visible)
}

fn views(c: &mut Criterion) {
    let profile = profile();
    let refined = Refined::base(&profile);
    let mut group = c.benchmark_group("a million nodes");
    group.sample_size(20);

    group.bench_function("first screen: sums, index, hot path open, 50 lines", |b| {
        b.iter(|| {
            let refined = Refined::base(&profile);
            let mut tree = TopDown::new(&refined);
            let mut visible = Visible::new(&mut tree, &refined, RowId::ROOT);
            let path = hot_path(&mut tree, &refined, RowId::ROOT, USUAL_SHARE);
            if let Some(&end) = path.last() {
                visible.reveal(&mut tree, &refined, end);
            }
            visible.window(0, 50).iter().map(|line| tree.row(line.row).inclusive).sum::<u64>()
        });
    });

    let base = TopDown::new(&refined);
    group.bench_function("open the costliest row", |b| {
        b.iter_batched(
            || {
                let mut tree = base.clone();
                let visible = Visible::new(&mut tree, &refined, RowId::ROOT);
                (tree, visible)
            },
            |(mut tree, mut visible)| {
                visible.open(&mut tree, &refined, 0);
                (tree, visible)
            },
            BatchSize::LargeInput,
        );
    });

    let (mut tree, mut visible) = opened(&refined);
    let everything = format!("{} lines open", visible.lines().len());
    group.bench_function(format!("a window of 50 lines in the middle of {everything}"), |b| {
        let middle = visible.lines().len() / 2;
        b.iter(|| {
            let window = black_box(&visible).window(middle, 50);
            window.iter().map(|line| tree.row(line.row).inclusive).sum::<u64>()
        });
    });
    let first_leaf = {
        let lines = visible.lines();
        lines.iter().position(|line| !tree.row(line.row).has_children).unwrap_or(1)
    };
    group.bench_function(format!("close and open a small row near the top of {everything}"), |b| {
        b.iter(|| {
            visible.close(first_leaf - 1);
            visible.open(&mut tree, &refined, first_leaf - 1);
        });
    });
    group.bench_function(format!("close and open the costliest of {everything}"), |b| {
        b.iter(|| {
            visible.close(0);
            visible.open(&mut tree, &refined, 0);
        });
    });
    let last = visible.lines()[visible.lines().len() - 1].row;
    group.bench_function(format!("find the line of the last row of {everything}"), |b| {
        b.iter(|| black_box(&visible).position(last));
    });
    group.bench_function(format!("another order of {everything}"), |b| {
        let mut key = SortKey::Exclusive;
        b.iter(|| {
            key = if key == SortKey::Exclusive { SortKey::Inclusive } else { SortKey::Exclusive };
            tree.set_sort(Sort { key, reversed: false });
            visible.rebuild(&mut tree, &refined);
        });
    });

    group.bench_function("flat view", |b| {
        b.iter(|| flat(&refined, Sort::default()).len());
    });
    group.bench_function("callers view", |b| b.iter(|| Callers::new(&refined)));
    let callers = Callers::new(&refined);
    group.bench_function("callers of the costliest function", |b| {
        b.iter_batched(
            || callers.clone(),
            |mut callers| {
                let first = callers.children(&refined, RowId::ROOT)[0];
                callers.children(&refined, first);
                callers
            },
            BatchSize::LargeInput,
        );
    });

    let pattern = NamePattern::new("method777(").expect("a pattern");
    group.bench_function("a letter typed in a search", |b| {
        b.iter(|| Search::new(&refined, &pattern));
    });
    let search = Search::new(&refined, &pattern);
    group.bench_function("next match below closed rows", |b| {
        b.iter_batched(
            || base.clone(),
            |mut tree| {
                let found =
                    search.step(&mut tree, &refined, RowId::ROOT, RowId::ROOT, Way::Forward);
                (found, tree)
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, views);
criterion_main!(benches);
