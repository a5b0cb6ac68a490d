//! What unwinding costs: per frame of a walk, and per row of call frame information.
//!
//! Walks run over a made-up stack whose return addresses and frames follow the real recipes of a
//! large program, so that the branches taken are those of real code. `few` has as many distinct
//! return addresses as a loop's samples have; `many` has more than the cache holds, so that each
//! frame is looked up, in the table or in place.

#![expect(clippy::print_stderr, reason = "says what is missing here")]

#[path = "../tests/binaries/mod.rs"]
mod binaries;

use std::hint::black_box;
use std::time::Duration;

use binaries::Binary;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use csprof_collector::arch::unwind::recipe::{Recipe, Saved};
use csprof_collector::arch::unwind::registers::{Register, Registers};
use csprof_collector::unwind::cache::RecipeCache;
use csprof_collector::unwind::cfi::direct::{InPlace, Look};
use csprof_collector::unwind::cfi::{self, Built};
use csprof_collector::unwind::table::{Lookup, RecipeTable};
use csprof_collector::unwind::validate::StackBounds;
use csprof_collector::unwind::walk::{Code, End, Flow, Target, walk};
use csprof_format::address::FrameKind;

/// Where the made-up stack lies, and the module.
const STACK: u64 = 0x7ffd_0000_0000;
const MODULE: u64 = 0x5555_5555_0000;

fn build(binary: &Binary) -> Built {
    let (header, address) = binary.eh_frame_header();
    cfi::from_header(header, address, |a| binary.segment_from(a), binary.text()).expect("a table")
}

/// As for a file: from the section.
fn build_from_section(binary: &Binary) -> Built {
    let (bytes, address) = binary.eh_frame();
    cfi::from_section(bytes, address, |a| binary.segment_from(a), binary.text()).expect("a table")
}

/// The compiler, or else the largest C++ library that is there.
fn large_program() -> Option<Binary> {
    binaries::compiler().or_else(|| binaries::on_this_machine().into_iter().nth(3))
}

struct MadeUp<'a> {
    recipes: &'a dyn Lookup,
    words: Vec<u64>,
    start: Registers,
}

impl<'a> MadeUp<'a> {
    /// A stack of `depth` frames in `distinct` places of the program's code.
    fn new(table: &RecipeTable, recipes: &'a dyn Lookup, depth: usize, distinct: usize) -> Self {
        let mut places = Vec::new();
        let mut offset = 0x1_0000;
        while places.len() < distinct {
            // A stride that visits other blocks and other bytes of a block each time.
            offset = (offset + 0x1_2345) % table.length();
            match table.lookup(offset - 1) {
                Recipe::Sp { bp, offset: frame } if (16..=256).contains(&frame) => {
                    if matches!(bp.saved(), Saved::Same | Saved::AtCfa(_)) {
                        places.push((offset, frame as usize / 8));
                    }
                }
                _ => {}
            }
        }
        let frames = || places.iter().cycle().take(depth);
        let mut words = Vec::new();
        for (index, (_, length)) in frames().enumerate() {
            words.resize(words.len() + length, STACK);
            let caller = frames().nth(index + 1);
            let address = caller.map_or(0, |(offset, _)| MODULE + u64::from(*offset));
            *words.last_mut().expect("frames are not empty") = address;
        }
        let mut start = Registers::interrupted(MODULE + u64::from(places[0].0) - 1, [STACK; 16]);
        start.set(Register::RSP, STACK);
        Self { recipes, words, start }
    }
}

impl Target for MadeUp<'_> {
    fn code(&self, pc: u64) -> Option<Code<'_>> {
        Some(Code { base: MODULE, recipes: (pc >= MODULE).then_some(self.recipes) })
    }

    fn stack(&self, _: u64) -> Option<StackBounds> {
        Some(StackBounds { low: STACK, high: STACK + self.words.len() as u64 * 8 })
    }

    #[inline]
    fn read(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(STACK);
        if !offset.is_multiple_of(8) {
            return None;
        }
        self.words.get(offset as usize / 8).copied()
    }
}

fn walks(criterion: &mut Criterion) {
    let Some(binary) = large_program() else { return };
    let mut group = criterion.benchmark_group("walk");
    group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    let table = build_from_section(&binary).table;
    let (header, address) = binary.eh_frame_header();
    let segment_from = |address| binary.segment_from(address);
    let in_place = InPlace::new(header, address, segment_from, binary.text());
    let in_place = in_place.map(|mut module| {
        black_box(module.census(Look::AtEach));
        module
    });
    let in_place = in_place.as_ref().expect("a sorted table of FDEs");
    for (name, recipes, depth, distinct) in [
        ("few", &table as &dyn Lookup, 25, 25),
        ("few", &table, 500, 100),
        ("many, by table", &table, 20_000, 20_000),
        ("many, in place", in_place, 20_000, 20_000),
    ] {
        let made_up = MadeUp::new(&table, recipes, depth, distinct);
        let mut cache = Box::new(RecipeCache::new());
        group.throughput(Throughput::Elements(depth as u64));
        group.bench_function(BenchmarkId::new(name, depth), |bencher| {
            bencher.iter(|| {
                let mut frames = 0;
                let end = walk(
                    black_box(&made_up.start),
                    FrameKind::Leaf,
                    &mut cache,
                    &made_up,
                    |frame| {
                        frames += 1;
                        black_box(frame.key());
                        Flow::Continue
                    },
                );
                assert_eq!((end, frames), (End::Complete, depth));
            });
        });
    }
    group.finish();
}

fn tables(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("table");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for binary in binaries::on_this_machine().into_iter().chain(binaries::compiler()) {
        let rows = build(&binary).census.rows;
        let name = binary.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if rows < 20_000 {
            continue;
        }
        group.throughput(Throughput::Elements(rows));
        group.bench_function(BenchmarkId::new("rows", name), |bencher| {
            bencher.iter(|| black_box(build(&binary).table.bytes()));
        });
    }
    group.finish();
}

criterion_group!(unwind, walks, tables);
criterion_main!(unwind);
