//! What one step in the calling context tree costs: finding the node of a frame below its caller.
//!
//! `cargo bench -p csprof-collector --bench tree`
//!
//! The paths are made up with the fan-out that trees of real programs have: one child in the
//! median, some twenty at the 99th percentile, hundreds in a few places. `found` looks up paths of
//! such a tree, some fifty frames deep, in an order without pattern; `added` builds it.

#![expect(clippy::expect_used, reason = "a benchmark may fail")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use csprof_collector::cct::{Node, NodeStore, add_samples, child};
use csprof_format::address::{FrameKey, FrameKind};

const NODES: usize = 100_000;

/// Nodes in ordinary memory.
struct Store {
    nodes: Vec<Node>,
    used: usize,
}

impl Store {
    fn new() -> Self {
        Self { nodes: (0..=NODES).map(|_| Node::default()).collect(), used: 1 }
    }
}

impl NodeStore for Store {
    fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)
    }
    fn take(&mut self) -> Option<u32> {
        let number = self.used;
        self.nodes.get(number)?;
        self.used += 1;
        Some(number as u32)
    }
    fn publish(&self, _: u32) {}
}

/// Knuth's linear congruential generator: numbers below `end`.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Paths from the root whose frames are [`NODES`] nodes together.
fn paths() -> Vec<Vec<FrameKey>> {
    let mut numbers = Numbers(1);
    let mut parents = vec![0];
    let mut keys = vec![FrameKey::new(FrameKind::Call, 0x40_0000)];
    while keys.len() < NODES {
        let parent = keys.len() - 1 - numbers.below(keys.len().min(4_000));
        let fan_out = match numbers.below(100) {
            0..60 => 1,
            60..90 => 2,
            90..99 => 2 + numbers.below(20),
            _ => 20 + numbers.below(370),
        };
        for _ in 0..fan_out {
            parents.push(parent);
            let address = 0x40_0000 + numbers.below(1 << 22) as u64;
            keys.push(FrameKey::new(FrameKind::Call, address));
        }
    }
    let path = |mut node: usize| {
        let mut path = vec![keys[node]];
        while node != 0 {
            node = parents[node];
            path.push(keys[node]);
        }
        path.reverse();
        path
    };
    (0..2_000).map(|_| path(numbers.below(NODES))).collect()
}

fn insert(store: &mut Store, path: &[FrameKey]) {
    let leaf = path.iter().try_fold(0, |parent, &key| child(store, parent, key));
    add_samples(store, leaf.expect("room"), 1);
}

fn steps(criterion: &mut Criterion) {
    let paths = paths();
    let frames = paths.iter().map(Vec::len).sum::<usize>() as u64;
    let mut group = criterion.benchmark_group("tree");
    group.throughput(Throughput::Elements(frames));
    group.bench_function("added", |bencher| {
        bencher.iter_batched(
            Store::new,
            |mut store| {
                paths.iter().for_each(|path| insert(&mut store, path));
                store
            },
            criterion::BatchSize::LargeInput,
        );
    });
    let mut store = Store::new();
    paths.iter().for_each(|path| insert(&mut store, path));
    group.bench_function("found", |bencher| {
        bencher.iter(|| paths.iter().for_each(|path| insert(black_box(&mut store), path)));
    });
}

criterion_group!(benches, steps);
criterion_main!(benches);
