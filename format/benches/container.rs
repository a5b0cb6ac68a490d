//! CPU time and size of a saved profile with a million nodes:
//! `cargo bench -p csprof-format --bench container`.
//!
//! The trees of four threads grow by paths that leave an old one at a random place and walk on
//! through a random call graph in which some call sites are hotter than others.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, ModuleId, StringId, ThreadId};
use csprof_format::profile::{
    Epoch, Frame, FurtherMetric, Metric, Module, Process, Profile, Thread, ThreadShare, Tree,
};
use csprof_format::{read, validate, write};
use nix::time::ClockId;

const NODES: usize = 1_000_000;
const THREADS: usize = 4;
const FUNCTIONS: u64 = 4000;

/// Knuth's MMIX generator, upper bits; the same trees in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

/// A tree while it grows: children in the order in which they came.
#[derive(Default)]
struct Grown {
    frame: Vec<u32>,
    samples: Vec<u64>,
    edges: Vec<u64>,
    children: Vec<Vec<u32>>,
    child: HashMap<(u32, u32), u32>,
}

impl Grown {
    fn push(&mut self, frame: u32) -> u32 {
        self.frame.push(frame);
        self.samples.push(0);
        self.edges.push(0);
        self.children.push(Vec::new());
        self.frame.len() as u32 - 1
    }

    fn child(&mut self, parent: u32, frame: u32) -> u32 {
        if let Some(&child) = self.child.get(&(parent, frame)) {
            return child;
        }
        let child = self.push(frame);
        self.child.insert((parent, frame), child);
        self.children[parent as usize].push(child);
        child
    }
}

/// Call sites of each function: frame number and callee.
fn call_graph(random: &mut Random) -> (Vec<Vec<(u32, usize)>>, Vec<Frame>) {
    let mut frames = vec![Frame { kind: FrameKind::Root, module: None, offset: 0 }];
    let mut sites = Vec::new();
    for function in 0..FUNCTIONS {
        let calls = 1 + random.below(8) * random.below(3);
        let mut own = Vec::new();
        for call in 0..calls {
            // Callees are near, mostly: code that belongs together.
            let callee = if random.below(4) == 0 {
                random.below(FUNCTIONS)
            } else {
                (function + 1 + random.below(40)) % FUNCTIONS
            };
            own.push((frames.len() as u32, callee as usize));
            frames.push(Frame {
                kind: FrameKind::Call,
                module: Some(ModuleId((function / 1000) as u32)),
                offset: 0x1000 + function * 0x180 + call * 0x14,
            });
        }
        sites.push(own);
    }
    // Six pcs per function at which samples end.
    for leaf in 0..FUNCTIONS * 6 {
        let function = leaf / 6;
        frames.push(Frame {
            kind: FrameKind::Leaf,
            module: Some(ModuleId((function / 1000) as u32)),
            offset: 0x1000 + function * 0x180 + 0x100 + leaf % 6 * 7,
        });
    }
    (sites, frames)
}

fn grow(random: &mut Random, sites: &[Vec<(u32, usize)>], leaves: u32, nodes: usize) -> Grown {
    let mut tree = Grown::default();
    // Calling nodes with their functions: where a new path leaves an old one.
    let mut callers = vec![(tree.push(0), 0)];
    while tree.frame.len() < nodes {
        let (mut node, mut function) = callers[random.below(callers.len() as u64) as usize];
        while random.below(4) != 0 {
            // The minimum of two draws: some call sites are hotter than others.
            let calls = sites[function].len() as u64;
            let call = random.below(calls).min(random.below(calls)) as usize;
            let (frame, callee) = sites[function][call];
            let before = tree.frame.len();
            node = tree.child(node, frame);
            function = callee;
            if tree.frame.len() > before {
                callers.push((node, function));
            }
            // Returns are seen for the innermost frames of a sample.
            tree.edges[node as usize] += u64::from(random.below(4) == 0);
        }
        let pc = random.below(6).min(random.below(6)) as u32;
        let leaf = tree.child(node, leaves + function as u32 * 6 + pc);
        tree.samples[leaf as usize] += 1;
    }
    tree
}

fn profile() -> Profile {
    let mut random = Random(2005);
    let (sites, frames) = call_graph(&mut random);
    let leaves = frames.len() as u32 - FUNCTIONS as u32 * 6;
    let mut profile = Profile {
        metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
        strings: vec!["/usr/lib/libwork.so".into()],
        modules: vec![Module { path: StringId(0), ..Module::default() }; 4],
        processes: vec![Process::default()],
        epochs: vec![Epoch::default()],
        frames,
        ..Profile::default()
    };
    for thread in 0..THREADS {
        let tree = grow(&mut random, &sites, leaves, NODES / THREADS);
        let first = profile.nodes.len() as u32;
        let mut waiting = vec![(0_u32, first)];
        while let Some((node, parent)) = waiting.pop() {
            let index = node as usize;
            let (samples, edges) = (tree.samples[index], tree.edges[index]);
            let id = profile.nodes.push(parent, FrameId(tree.frame[index]), samples, edges);
            waiting.extend(tree.children[index].iter().rev().map(|&child| (child, id)));
        }
        let recorded = tree.samples.iter().sum();
        profile.threads.push(Thread { delivered: recorded, recorded, ..Thread::default() });
        profile.trees.push(Tree {
            thread: ThreadId::from_index(thread),
            epoch: EpochId(0),
            first_node: first,
            node_count: profile.nodes.len() as u32 - first,
        });
    }
    profile
}

/// CPU time of some turns: what others do on the machine at the same time counts less.
fn cpu_time<T>(turns: u64, mut work: impl FnMut() -> T) -> Duration {
    let now = || ClockId::CLOCK_THREAD_CPUTIME_ID.now().map(Duration::from);
    let start = now().expect("Linux has this clock");
    for _ in 0..turns {
        black_box(work());
    }
    now().expect("Linux has this clock") - start
}

/// Half of the samples are of a second source, each as a coin falls.
fn add_metric(profile: &mut Profile) {
    let mut random = Random(2009);
    let metric = Metric { source: "realtime".into(), unit: "ns".into(), period: 5_000_000 };
    let mut further = FurtherMetric { metric, ..FurtherMetric::default() };
    for tree in &profile.trees {
        let mut recorded = 0;
        for node in tree.first_node..tree.first_node + tree.node_count {
            let all = profile.nodes.samples[node as usize];
            let samples = (0..all).map(|_| random.below(2)).sum();
            if samples > 0 {
                further.samples.push((node, samples));
                recorded += samples;
            }
        }
        further.threads.push(ThreadShare {
            delivered: recorded,
            recorded,
            ..ThreadShare::default()
        });
    }
    profile.further.push(further);
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .measurement_time(Duration::from_secs(8))
        .configure_from_args();
    let mut profile = profile();
    measure(&mut criterion, "container", &profile);
    add_metric(&mut profile);
    measure(&mut criterion, "container of two metrics", &profile);
    criterion.final_summary();
}

#[expect(clippy::print_stderr, reason = "sizes are results too")]
fn measure(criterion: &mut Criterion, name: &str, profile: &Profile) {
    let nodes = profile.nodes.len();
    let mut file = Vec::new();
    write::write(profile, &mut file).expect("the profile is valid");
    let nonzero = |column: &[u64]| column.iter().filter(|&&value| value != 0).count();
    let of_further: usize = profile.further.iter().map(|further| further.samples.len()).sum();
    eprintln!(
        "{nodes} nodes, {} frames, {} with samples, {of_further} with those of further metrics, \
         {} with edges: {} bytes, {:.2} per node",
        profile.frames.len(),
        nonzero(&profile.nodes.samples),
        nonzero(&profile.nodes.edges),
        file.len(),
        file.len() as f64 / nodes as f64
    );
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(nodes as u64));
    group.bench_function("write", |bencher| {
        bencher.iter_custom(|turns| {
            cpu_time(turns, || write::write(black_box(profile), &mut std::io::sink()))
        });
    });
    group.bench_function("read", |bencher| {
        bencher.iter_custom(|turns| cpu_time(turns, || read::read(black_box(&file))));
    });
    group.bench_function("validate", |bencher| {
        bencher.iter_custom(|turns| cpu_time(turns, || validate::validate(black_box(profile))));
    });
    group.finish();
}
