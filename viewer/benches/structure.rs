//! What the structure of machine code costs, and what is found in real binaries.
//!
//! `cargo bench -p csprof --bench structure -- FILE…` looks at all functions of each file that
//! have call frame information, and at the 500 largest once more, alone; without files, at the
//! compilers, interpreters and libraries of this machine. `FILE@ADDRESSES` looks at the functions
//! that hold some addresses, one in each line of the other file, in decimal, as `csprof report
//! --addresses` has them: at those that were sampled, and at the 500 that stand first.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints")]

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use csprof::structure::{Function, LandingPad, Memory, Structure, Target, landing_pads};
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, Pointer, UnwindSection as _};
use object::{Object as _, ObjectSection as _, ObjectSegment as _};

const FILES: &[&str] = &[
    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
    "/usr/bin/python3",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/perl",
    "/usr/bin/git",
    "/bin/bash",
];

struct Image<'a>(object::File<'a>);

impl Memory for Image<'_> {
    fn code(&self, addresses: Range<u64>) -> Option<&[u8]> {
        self.data(addresses)
    }

    fn data(&self, addresses: Range<u64>) -> Option<&[u8]> {
        let size = addresses.end.checked_sub(addresses.start)?;
        self.0.segments().find_map(|segment| segment.data_range(addresses.start, size).ok()?)
    }

    fn named_in(&self, _: Range<u64>) -> Option<u64> {
        None
    }
}

/// Functions with their landing pads.
fn functions(image: &Image<'_>) -> Vec<(Range<u64>, Vec<LandingPad>)> {
    let Some(section) = image.0.section_by_name(".eh_frame") else { return Vec::new() };
    let bytes = section.uncompressed_data().unwrap();
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut eh_frame = EhFrame::new(&bytes, LittleEndian);
    eh_frame.set_address_size(8);
    let mut found = Vec::new();
    let mut entries = eh_frame.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
        let (start, length) = (fde.initial_address(), fde.len());
        if start == 0 || length == 0 {
            continue;
        }
        let pads = match fde.lsda() {
            Some(Pointer::Direct(lsda)) => {
                let section = image.0.sections().find(|section| {
                    (section.address()..section.address() + section.size()).contains(&lsda)
                });
                section.map_or(Vec::new(), |section| {
                    let end = section.address() + section.size();
                    let bytes = image.data(lsda..end).unwrap_or_default();
                    landing_pads(bytes, lsda, &(start..start + length))
                })
            }
            _ => Vec::new(),
        };
        found.push((start..start + length, pads));
    }
    found
}

/// Functions that hold some of these addresses, in their order.
fn holding(
    all: &[(Range<u64>, Vec<LandingPad>)],
    addresses: &str,
) -> Vec<(Range<u64>, Vec<LandingPad>)> {
    let mut ordered = all.to_vec();
    ordered.sort_by_key(|(range, _)| range.start);
    let mut seen = HashSet::new();
    let hold = |address: &str| {
        let address: u64 = address.parse().ok()?;
        let after = ordered.partition_point(|(range, _)| range.start <= address);
        ordered[..after].last().filter(|(range, _)| range.contains(&address)).cloned()
    };
    let found = addresses.lines().filter_map(hold);
    found.filter(|(range, _)| seen.insert(range.start)).collect()
}

#[derive(Default)]
struct Sum {
    functions: usize,
    bytes: u64,
    blocks: usize,
    with_loops: usize,
    loops: usize,
    deepest: usize,
    irreducible_loops: usize,
    irreducible: usize,
    unresolved: usize,
    too_large: usize,
}

fn look(image: &Image<'_>, functions: &[(Range<u64>, Vec<LandingPad>)]) -> Sum {
    let mut sum = Sum { functions: functions.len(), ..Sum::default() };
    let show = std::env::var_os("CSPROF_SHOW_FUNCTIONS").is_some();
    for (range, pads) in functions {
        let parts = [range.clone()];
        let function = Function { parts: &parts, entry: range.start, landing_pads: pads };
        sum.bytes += range.end - range.start;
        let Ok(found) = Structure::of(image, &function, &|_: Target| false) else {
            sum.too_large += 1;
            continue;
        };
        let loops = found.loops();
        let depth = |mut at: usize| {
            let mut depth = 1;
            while let Some(parent) = loops[at].parent {
                (at, depth) = (parent, depth + 1);
            }
            depth
        };
        sum.blocks += found.blocks().count();
        sum.with_loops += usize::from(!loops.is_empty());
        sum.loops += loops.len();
        sum.deepest = (0..loops.len()).map(depth).max().unwrap_or(0).max(sum.deepest);
        let irreducible = loops.iter().filter(|found| found.irreducible).count();
        sum.irreducible_loops += irreducible;
        sum.irreducible += usize::from(irreducible > 0);
        sum.unresolved += found.unresolved().len();
        if show && (irreducible > 0 || !found.unresolved().is_empty()) {
            let headers: Vec<String> = (loops.iter().filter(|found| found.irreducible))
                .map(|found| format!("{:#x}", found.header))
                .collect();
            println!("  {range:#x?} irreducible {headers:?} unresolved {:x?}", found.unresolved());
        }
    }
    sum
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let files =
        if named.is_empty() { FILES.iter().map(|&f| f.to_owned()).collect() } else { named };
    let parts = |file: &str| match file.split_once('@') {
        Some((file, addresses)) => (file.to_owned(), Some(addresses.to_owned())),
        None => (file.to_owned(), None),
    };
    let files = files.iter().map(|file| parts(file));
    for (file, addresses) in files.filter(|(file, _)| Path::new(file).exists()) {
        let bytes = std::fs::read(&file).unwrap();
        let image = Image(object::File::parse(&*bytes).unwrap());
        let mut all = functions(&image);
        if let Some(addresses) = &addresses {
            all = holding(&all, &std::fs::read_to_string(addresses).unwrap());
        }
        let begin = Instant::now();
        let sum = look(&image, &all);
        let time = begin.elapsed();
        println!(
            "{file}: {} functions, {:.1} MB, {} blocks in {:.0} ms; {} have loops ({}, at most {} \
             deep); irreducible: {} functions ({:.2} %; {:.2} % of those with loops), {} loops; \
             {} jumps unresolved; {} too large",
            sum.functions,
            sum.bytes as f64 / 1e6,
            sum.blocks,
            time.as_secs_f64() * 1e3,
            sum.with_loops,
            sum.loops,
            sum.deepest,
            sum.irreducible,
            100.0 * sum.irreducible as f64 / sum.functions.max(1) as f64,
            100.0 * sum.irreducible as f64 / sum.with_loops.max(1) as f64,
            sum.irreducible_loops,
            sum.unresolved,
            sum.too_large,
        );
        if addresses.is_none() {
            all.sort_by_key(|(range, _)| range.start.wrapping_sub(range.end));
        }
        all.truncate(500);
        let begin = Instant::now();
        let sum = look(&image, &all);
        println!(
            "  the 500 {}: {:.1} MB in {:.0} ms",
            if addresses.is_some() { "that stand first" } else { "largest" },
            sum.bytes as f64 / 1e6,
            begin.elapsed().as_secs_f64() * 1e3
        );
    }
}
