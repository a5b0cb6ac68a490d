//! Instructions and inferred recipes against other readings of the same code: a disassembler's,
//! and, for compiled functions, their call frame information.

#![expect(clippy::print_stderr, reason = "says what was measured, and what was skipped")]

#[expect(dead_code, reason = "other tests need more of it")]
mod binaries;

use std::process::Command;

use binaries::Binary;
use csprof_collector::unwind::arch::inference::infer;
use csprof_collector::unwind::arch::instruction::decode;
use csprof_collector::unwind::arch::recipe::Recipe;
use csprof_collector::unwind::cfi;
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};

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

/// Functions that have CFI, taken as if they had none.
#[test]
fn what_is_inferred_of_a_function_is_what_its_cfi_says() {
    for path in ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/perl", "/usr/bin/xz"] {
        let Some(binary) = Binary::open(path) else {
            eprintln!("skipped, not installed here: {path}");
            continue;
        };
        let (bytes, address) = binary.eh_frame();
        let segment = |a| binary.segment_from(a);
        let built = cfi::from_section(bytes, address, segment, binary.text()).expect("a table");
        let text = binary.text();
        let bases = BaseAddresses::default().set_eh_frame(address).set_text(text.start);
        let section = EhFrame::new(bytes, LittleEndian);
        let mut entries = section.entries(&bases);
        let (mut functions, mut same, mut silent, mut different) =
            (0_u64, 0_u64, 0_u64, Vec::new());
        while let Some(entry) = entries.next().expect("entries") {
            let CieOrFde::Fde(partial) = entry else { continue };
            let fde = partial.parse(EhFrame::cie_from_offset).expect("an FDE");
            let start = fde.initial_address();
            // A part of a function that was moved elsewhere does not begin as functions do.
            let first = built.table.lookup((start.wrapping_sub(text.start)) as u32);
            if !matches!(first, Recipe::Sp { offset: 8, .. }) || start % 16 != 0 {
                continue;
            }
            let Some(code) = binary.segment_from(start) else { continue };
            let code = &code[..code.len().min(fde.len() as usize)];
            functions += 1;
            for row in infer(code, start) {
                let at = start + u64::from(row.offset);
                let expected = built.table.lookup((at - text.start) as u32);
                match row.recipe {
                    None => silent += 1,
                    Some((recipe, _)) if is_like(recipe, expected) => same += 1,
                    Some((recipe, _)) => different.push((at, recipe, expected)),
                }
            }
        }
        eprintln!(
            "{path}: {functions} functions, {same} rows as in their CFI, {} different, {silent} silent",
            different.len(),
        );
        for (at, recipe, expected) in different.iter().take(12) {
            eprintln!("  {at:#x}: {recipe:?}, not {expected:?}");
        }
        assert!(different.len() as u64 * 1000 <= same, "{path}");
    }
}

/// Whether both lead to the same CFA. Another base may lead there too: where rbp has it, rsp does.
fn is_like(found: Recipe, expected: Recipe) -> bool {
    match (found, expected) {
        (Recipe::Sp { offset: found, .. }, Recipe::Sp { offset, .. }) => found == offset,
        (Recipe::Bp { offset: found, .. }, Recipe::Bp { offset, .. }) => found == offset,
        _ => !matches!(expected, Recipe::NoCfi),
    }
}
