//! Instructions and inferred recipes against other readings of the same code: a disassembler's,
//! and, for compiled functions, their call frame information.

#![expect(clippy::print_stderr, reason = "says what was measured, and what was skipped")]

#[expect(dead_code, reason = "other tests need more of it")]
mod binaries;

use std::process::Command;

use binaries::Binary;
use csprof_collector::arch::unwind::inference::infer;
use csprof_collector::arch::unwind::instruction::{Effect, decode};
use csprof_collector::arch::unwind::recipe::Recipe;
use csprof_collector::unwind::cfi;
use csprof_collector::unwind::table::Lookup;
use object::{Object, ObjectSection};

/// Address and text of each instruction, as objdump lists them; section by section.
fn listed(binary: &Binary) -> Option<Vec<Vec<(u64, String)>>> {
    let output = Command::new("objdump")
        .args(["-d", "-z", "-w", "--no-show-raw-insn"])
        .arg(&binary.path)
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sections = text.split("Disassembly of section").map(|section| {
        let lines = section.lines().filter_map(|line| {
            let (address, instruction) = line.trim_start().split_once(":\t")?;
            Some((u64::from_str_radix(address, 16).ok()?, instruction.to_owned()))
        });
        lines.collect()
    });
    Some(sections.collect())
}

/// What a disassembler takes for data that lies between instructions.
const DATA: [&str; 2] = ["(bad)", ".byte"];

#[test]
fn every_instruction_is_as_long_as_objdump_says() {
    for path in ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"] {
        let Some(binary) = Binary::open(path) else {
            eprintln!("skipped, not installed here: {path}");
            continue;
        };
        let Some(listed) = listed(&binary) else {
            eprintln!("skipped: objdump is not installed");
            return;
        };
        let (mut compared, mut unknown) = (0_u64, Vec::new());
        for pair in listed.iter().flat_map(|section| section.windows(2)) {
            let [(address, text), (next, _)] = pair else { unreachable!("windows of two") };
            if DATA.iter().any(|data| text.contains(data)) {
                continue;
            }
            let code = binary.segment_from(*address).expect("code");
            // Two instructions, the first of which waits for the x87, in one line.
            if code[0] == 0x9b {
                continue;
            }
            match decode(&code[..code.len().min(15)]) {
                Some(found) => {
                    let length = u64::from(found.length);
                    assert_eq!(length, next - address, "{path} at {address:#x}: {text}");
                    compared += 1;
                }
                None => unknown.push(text),
            }
        }
        eprintln!("{path}: {compared} instructions, {} not known: {unknown:?}", unknown.len());
        assert!(unknown.len() as u64 * 1000 < compared, "{path}");
    }
}

/// Functions that have CFI, taken as if they had none. Compilers end many ways with a call that
/// does not come back, and what lies behind is then read for what follows; assembly does not do so,
/// and a walk also looks at the return address.
#[test]
fn what_is_inferred_is_what_the_cfi_says() {
    for path in ["/lib/x86_64-linux-gnu/libm.so.6", "/usr/bin/xz"] {
        let Some(binary) = Binary::open(path) else {
            eprintln!("skipped, not installed here: {path}");
            continue;
        };
        let Some(listed) = listed(&binary) else {
            eprintln!("skipped: objdump is not installed");
            return;
        };
        let (bytes, address) = binary.eh_frame();
        let (segment, text) = (|address| binary.segment_from(address), binary.text());
        let built = cfi::from_section(bytes, address, segment, text.clone()).expect("a table");
        let code = binary.segment_from(text.start).expect("code");
        let (mut same, mut silent, mut different) = (0_u64, 0_u64, Vec::new());
        // Some of every kind.
        for (address, instruction) in listed.iter().flatten().step_by(17) {
            let offset = address - text.start;
            let expected = built.table.lookup(offset as u32);
            let is_run = !instruction.contains("nop");
            if !is_run || !matches!(expected, Recipe::Sp { .. } | Recipe::Bp { .. }) {
                continue;
            }
            let way = infer(code, offset as usize, &mut 0, |way| way.conforms);
            match way.map(|way| way.recipe) {
                None => silent += 1,
                Some(found) if is_like(found, expected) => same += 1,
                Some(found) => different.push((*address, instruction, found, expected)),
            }
        }
        let all = same + silent + different.len() as u64;
        eprintln!("{path}: of {all}, {same} as in the CFI, {} different", different.len());
        for (at, instruction, found, expected) in different.iter().step_by(1 + different.len() / 8)
        {
            eprintln!("  {at:#x} {instruction}: {found:?}, not {expected:?}");
        }
        assert!(different.len() as u64 * 100 <= same, "{path}");
    }
}

/// Whether both lead to the same CFA, as far as that can be told: where rsp leads to it, rbp may
/// lead to it too.
fn is_like(found: Recipe, expected: Recipe) -> bool {
    match (found, expected) {
        (Recipe::Sp { offset: found, .. }, Recipe::Sp { offset, .. }) => found == offset,
        (Recipe::Bp { offset: found, .. }, Recipe::Bp { offset, .. }) => found == offset,
        _ => true,
    }
}

/// Libraries with much assembly that has no CFI, for all processors that they know: what runs on
/// other machines too.
const ASSEMBLY: [&str; 5] =
    ["libopenblas.so.0", "libavcodec.so.59", "libswscale.so.6", "libjpeg.so.62", "libx265.so.199"];

/// Instructions looked at of each.
const LOOKED_AT: usize = 3000;

/// From everywhere in it there is a way out on which the caller gets back what it wants.
/// Subroutines that keep nothing, and jumps that a register decides, have none.
#[test]
fn assembly_leads_out() {
    for name in ASSEMBLY {
        let path = format!("/usr/lib/x86_64-linux-gnu/{name}");
        let Some(binary) = Binary::open(&path) else {
            eprintln!("skipped, not installed here: {path}");
            continue;
        };
        let (bytes, address) = binary.eh_frame();
        let segment = |address| binary.segment_from(address);
        let built = cfi::from_section(bytes, address, segment, binary.text());
        let table = built.expect("a table").table;
        let file = std::fs::read(&binary.path).expect("a file");
        let file = object::File::parse(&*file).expect("ELF");
        let section = file.section_by_name(".text").expect(".text");
        let code = section.data().expect("section data");
        let first = (section.address() - binary.text().start) as usize;
        let mut places = Vec::new();
        let mut at = 0;
        while at < code.len() {
            let (recipe, around) = Lookup::lookup(&table, (first + at) as u32);
            if recipe != Recipe::NoCfi {
                at = (around.end as usize).saturating_sub(first).max(at + 1);
                continue;
            }
            // Not known: data.
            let found = decode(&code[at..]);
            let (length, effect) =
                found.map_or((1, Effect::Padding), |found| (found.length, found.effect));
            if !matches!(effect, Effect::Padding | Effect::Stop) {
                places.push(at);
            }
            at += usize::from(length);
        }
        let looked_at = places.iter().step_by(1 + places.len() / LOOKED_AT);
        let all = looked_at.len();
        let is_silent = |at: &&usize| infer(code, **at, &mut 0, |way| way.conforms).is_none();
        let silent = looked_at.filter(is_silent).count();
        eprintln!("{name}: of {all} of {} instructions, {silent} lead nowhere", places.len());
        assert!(all > 100 && silent * 100 <= all, "{name}");
    }
}
