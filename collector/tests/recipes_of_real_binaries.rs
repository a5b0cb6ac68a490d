//! Recipes against two independent readings of the same call frame information.
//!
//! gimli's rows are evaluated in numbers, DWARF expressions included, with made-up registers and
//! memory, and compared with what the recipe's step computes. readelf's rows, which share no code
//! with either, are compared as text.

#![expect(clippy::print_stderr, reason = "says what was measured, and what was skipped")]

mod binaries;

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;

use binaries::Binary;
use csprof_collector::arch::unwind::recipe::{CalleeSaved, Recipe, Saved};
use csprof_collector::arch::unwind::registers::{Register, Registers};
use csprof_collector::arch::unwind::step::{Step, step_with_callee_saved};
use csprof_collector::unwind::cfi::direct::{InPlace, Look};
use csprof_collector::unwind::cfi::{self, Built};
use csprof_collector::unwind::table::Lookup;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, EvaluationResult, LittleEndian,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow, Value, X86_64,
};
use object::{Object, ObjectSection, SectionKind};

fn build(binary: &Binary) -> Built {
    let (bytes, address) = binary.eh_frame();
    cfi::from_section(bytes, address, |a| binary.segment_from(a), binary.text()).expect("a table")
}

fn kind(recipe: Recipe) -> &'static str {
    match recipe {
        Recipe::NoCfi => "no CFI",
        Recipe::Unsupported => "unsupported",
        Recipe::EndOfStack => "end of stack",
        Recipe::Sp { .. } => "sp",
        Recipe::Bp { .. } => "bp",
        Recipe::Register { .. } => "register",
        Recipe::Deref { .. } => "deref",
        Recipe::Indexed { .. } => "indexed",
        Recipe::Plt { .. } => "plt",
        Recipe::ReturnInRegister { .. } => "ra in register",
        Recipe::SignalFrame => "signal frame",
        Recipe::Jump => "jump, which is in no row",
    }
}

/// The program headers alone lead to the same table as the section does.
#[test]
fn the_header_leads_to_the_same_table() {
    for binary in binaries::on_this_machine() {
        let (header, address) = binary.eh_frame_header();
        let found = cfi::from_header(header, address, |a| binary.segment_from(a), binary.text());
        let found = found.expect("a table");
        let expected = build(&binary);
        assert_eq!(found.census, expected.census, "{}", binary.path.display());
        assert!(found.table == expected.table, "{}", binary.path.display());
    }
}

/// Made-up memory: every word differs, and every address may be read.
fn word_at(address: u64) -> u64 {
    (address ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Made-up registers of an interrupted frame at `ip`.
fn registers_at(ip: u64) -> Registers {
    let general = std::array::from_fn(|number| 0x7f00_0000_0000 + (number as u64) * 0x11_1000);
    Registers::interrupted(ip, general)
}

type Section<'a> = EhFrame<EndianSlice<'a, LittleEndian>>;

/// One row, evaluated as DWARF says.
struct Reference<'r, 'a> {
    section: &'r Section<'a>,
    encoding: gimli::Encoding,
    before: &'r Registers,
}

impl Reference<'_, '_> {
    fn register(&self, register: gimli::Register) -> u64 {
        if register == X86_64::RA {
            return self.before.ip;
        }
        let register = Register::from_dwarf(register.0).expect("a general register");
        self.before.get(register).expect("known")
    }

    fn expression(&self, expression: &UnwindExpression<usize>, initial: Option<u64>) -> u64 {
        let expression = expression.get(self.section).expect("an expression");
        let mut evaluation = expression.evaluation(self.encoding);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut result = evaluation.evaluate().expect("evaluates");
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => evaluation
                    .resume_with_register(Value::Generic(self.register(register)))
                    .expect("evaluates"),
                EvaluationResult::RequiresMemory { address, .. } => evaluation
                    .resume_with_memory(Value::Generic(word_at(address)))
                    .expect("evaluates"),
                other => panic!("asks for {other:?}"),
            };
        }
        evaluation.value_result().expect("a value").to_u64(u64::MAX).expect("an integer")
    }

    fn cfa(&self, row: &UnwindTableRow<usize>) -> u64 {
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.register(*register).wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => self.expression(expression, None),
        }
    }

    /// The caller's value of a register; `None` where the row declares it undefined.
    fn caller(&self, row: &UnwindTableRow<usize>, register: gimli::Register) -> Option<u64> {
        let cfa = self.cfa(row);
        Some(match row.register(register) {
            None | Some(RegisterRule::SameValue) => self.register(register),
            Some(RegisterRule::Undefined) => return None,
            Some(RegisterRule::Offset(offset)) => word_at(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::ValOffset(offset)) => cfa.wrapping_add_signed(offset),
            Some(RegisterRule::Register(other)) => self.register(other),
            Some(RegisterRule::Expression(expression)) => {
                word_at(self.expression(&expression, Some(cfa)))
            }
            Some(RegisterRule::ValExpression(expression)) => {
                self.expression(&expression, Some(cfa))
            }
            Some(other) => panic!("rule {other:?}"),
        })
    }
}

#[derive(Default)]
struct Tally {
    kinds: BTreeMap<&'static str, u64>,
    /// Rows whose rbp, or another callee-saved register, no recipe can find although CFI can.
    lost_bp: u64,
    lost_other: u64,
}

/// Compares one row at one address with the table, and with what is read in place.
fn compare_row(
    binary: &Binary,
    built: &Built,
    as_written: &[&dyn Lookup; 2],
    reference: &Reference<'_, '_>,
    row: &UnwindTableRow<usize>,
    address: u64,
    tally: &mut Tally,
) {
    let place = || format!("{} at {address:#x}: {row:?}", binary.path.display());
    let offset = u32::try_from(address - binary.text().start).expect("an offset");
    let (recipe, saved) = built.table.lookup_all(offset);
    assert_eq!(recipe, built.table.lookup(offset));
    for module in as_written {
        assert_eq!((recipe, saved), module.lookup_all(offset), "{}", place());
        let (found, around) = module.lookup(offset);
        assert_eq!((recipe, true), (found, around.contains(&offset)), "{}", place());
        for end in [around.start, around.end - 1] {
            assert_eq!(recipe, built.table.lookup(end), "from {around:x?}: {}", place());
        }
    }
    *tally.kinds.entry(kind(recipe)).or_default() += 1;
    if recipe == Recipe::Unsupported {
        return;
    }
    let mut found = registers_at(address);
    let step = step_with_callee_saved(&mut found, recipe, &saved, |a| Some(word_at(a)))
        .unwrap_or_else(|obstacle| panic!("{obstacle:?} {}", place()));
    let expected = |register| reference.caller(row, register);
    if recipe == Recipe::EndOfStack {
        assert_eq!(expected(X86_64::RA), None, "{}", place());
        return;
    }
    assert_eq!(Some(found.ip), expected(X86_64::RA), "ip {}", place());
    if step == Step::Interrupted {
        for number in 0..16 {
            let register = Register::from_dwarf(number).expect("a general register");
            let expected = expected(gimli::Register(number));
            assert_eq!(found.get(register), expected, "{register:?} {}", place());
        }
        return;
    }
    assert_eq!(found.sp(), reference.cfa(row), "sp {}", place());
    if row.register(X86_64::RSP).is_some() {
        assert_eq!(Some(found.sp()), expected(X86_64::RSP), "sp {}", place());
    }
    for register in [Register::RBP].into_iter().chain(CalleeSaved::REGISTERS) {
        let expected = expected(gimli::Register(register.dwarf()));
        match found.get(register) {
            Some(value) => assert_eq!(Some(value), expected, "{register:?} {}", place()),
            None if register == Register::RBP => tally.lost_bp += u64::from(expected.is_some()),
            None => tally.lost_other += u64::from(expected.is_some()),
        }
    }
}

/// The sections of code, by address.
fn code_sections(binary: &Binary) -> Vec<Range<u64>> {
    let bytes = std::fs::read(&binary.path).expect("the file");
    let file = object::File::parse(&*bytes).expect("64-bit ELF");
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    code.map(|section| section.address()..section.address() + section.size()).collect()
}

/// Compares every row of a binary, at its first and its last byte.
fn compare_all(binary: &Binary) -> (Built, Tally) {
    let built = build(binary);
    let (bytes, address) = binary.eh_frame();
    let text = binary.text();
    let bases = BaseAddresses::default().set_eh_frame(address).set_text(text.start);
    let section: Section<'_> = EhFrame::new(bytes, LittleEndian);
    let (header, header_address) = binary.eh_frame_header();
    let segment_from = |address| binary.segment_from(address);
    let mut in_place = InPlace::new(header, header_address, segment_from, text.clone())
        .expect("a sorted table of FDEs");
    assert_eq!(
        in_place.census(Look::AtEach).unwinders,
        built.unwinders,
        "{}",
        binary.path.display()
    );
    let (start, of_header, of_section) = in_place.extent().expect("a table in order");
    let section_bytes = binary.segment_from(start).map(|bytes| &bytes[..of_section]);
    let copied = |address| section_bytes.filter(|_| address == start);
    let mut copy = InPlace::new(&header[..of_header], header_address, copied, text.clone())
        .expect("the same table");
    assert_eq!(copy.census(Look::AtEach).unwinders, built.unwinders, "{}", binary.path.display());
    copy.note_gaps(segment_from);
    let as_written: [&dyn Lookup; 2] = [&in_place, &copy];
    let mut tally = Tally::default();
    let mut context = UnwindContext::new();
    let mut entries = section.entries(&bases);
    let mut covered = Vec::new();
    while let Some(entry) = entries.next().expect("entries") {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(EhFrame::cie_from_offset).expect("an FDE");
        if !text.contains(&fde.initial_address()) {
            continue;
        }
        covered.push((fde.initial_address(), fde.end_address()));
        let mut rows = fde.rows(&section, &bases, &mut context).expect("rows");
        while let Some(row) = rows.next_row().expect("a row") {
            if row.start_address() == row.end_address() {
                continue;
            }
            for address in [row.start_address(), row.end_address() - 1] {
                let before = registers_at(address);
                let encoding = fde.cie().encoding();
                let reference = Reference { section: &section, encoding, before: &before };
                compare_row(binary, &built, &as_written, &reference, row, address, &mut tally);
            }
        }
    }
    covered.sort_unstable();
    let ends = [(0, text.start), (text.end, text.end)];
    let all = ends[..1].iter().chain(&covered).chain(&ends[1..]);
    for (&(_, end), &(next, _)) in all.clone().zip(all.skip(1)) {
        for address in end..next.max(end) {
            let offset = (address - text.start) as u32;
            for module in as_written {
                let place = || format!("{} between FDEs at {address:#x}", binary.path.display());
                assert_eq!(
                    module.lookup_all(offset),
                    built.table.lookup_all(offset),
                    "{}",
                    place()
                );
            }
        }
    }
    let sections = code_sections(binary);
    for pair in covered.windows(2) {
        let [(_, end), (next, _)] = *pair else { unreachable!("windows of two") };
        assert!(end <= next, "FDEs overlap at {next:#x}: choose another reference");
        // Between sections there may be the start files', which are known without FDEs.
        if !sections.iter().any(|section| section.contains(&end) && section.contains(&next)) {
            continue;
        }
        for address in [end, next - 1] {
            if (end..next).contains(&address) {
                let recipe = built.table.lookup((address - text.start) as u32);
                let linkage = built.census.linkage_entries > 0;
                let admitted = recipe == Recipe::NoCfi || linkage && recipe.is_plt();
                assert!(admitted, "between FDEs at {address:#x}: {recipe:?}");
            }
        }
    }
    (built, tally)
}

#[test]
fn every_row_steps_as_dwarf_says() {
    check_steps(binaries::on_this_machine());
}

#[test]
fn every_row_of_a_compiler_steps_as_dwarf_says() {
    check_steps(binaries::compiler());
}

fn check_steps(binaries: impl IntoIterator<Item = Binary>) {
    for binary in binaries {
        let (built, tally) = compare_all(&binary);
        let census = built.census;
        eprintln!("{}", binary.path.display());
        eprintln!(
            "  {} FDEs, {} rows, {} after merging, {} recipes, {} bytes ({:.2} per row), \
             {} linkage entries without CFI, lost bp {} other {}",
            census.fdes,
            census.rows,
            built.table.rows(),
            built.table.recipes().len(),
            built.table.bytes(),
            built.table.bytes() as f64 / census.rows as f64,
            census.linkage_entries,
            tally.lost_bp,
            tally.lost_other,
        );
        eprintln!("  {:?}", tally.kinds);
        assert_eq!(census.damaged, 0, "{}", binary.path.display());
        // Few enough that truncated paths stay far below the half percent promised.
        assert!(
            census.unsupported * 1000 <= census.rows,
            "{}: {} of {} rows unsupported",
            binary.path.display(),
            census.unsupported,
            census.rows
        );
    }
}

/// How readelf writes the CFA, rbp and return address columns of a row with this recipe; `None`
/// where it writes an expression's mere presence or nothing that can be compared.
fn as_readelf(recipe: Recipe) -> (String, String, &'static str) {
    let names = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
    let name = |register: Register| names[usize::from(register.dwarf())];
    let slot = |slot: csprof_collector::arch::unwind::recipe::Slot| match slot.saved() {
        Saved::Same => "u".to_owned(),
        Saved::AtCfa(offset) => format!("c{offset:+}"),
        Saved::AtBp(_) | Saved::AtSp(_) => "exp".to_owned(),
        Saved::Lost => "lost".to_owned(),
    };
    match recipe {
        Recipe::Sp { bp, offset } => (format!("rsp{offset:+}"), slot(bp), "c-8"),
        Recipe::Bp { bp, offset } => (format!("rbp{offset:+}"), slot(bp), "c-8"),
        Recipe::Register { register, bp, offset } => {
            (format!("{}{offset:+}", name(register)), slot(bp), "c-8")
        }
        Recipe::Deref { bp, .. } | Recipe::Indexed { bp, .. } => {
            ("exp".to_owned(), slot(bp), "c-8")
        }
        Recipe::Plt { .. } => ("exp".to_owned(), "u".to_owned(), "c-8"),
        Recipe::ReturnInRegister { register, bp, offset } => {
            (format!("rsp{offset:+}"), slot(bp), name(register))
        }
        Recipe::SignalFrame => ("exp".to_owned(), "exp".to_owned(), "exp"),
        Recipe::EndOfStack => (String::new(), String::new(), "u"),
        Recipe::NoCfi | Recipe::Unsupported | Recipe::Jump => (String::new(), String::new(), ""),
    }
}

/// The rows of `readelf --debug-dump=frames-interp`: address and columns by heading. An FDE that
/// changes nothing has no rows of its own; its CIE's row holds, and it is left out.
fn readelf_rows(binary: &Binary) -> Option<Vec<(u64, BTreeMap<String, String>)>> {
    let output = Command::new("readelf")
        .arg("--debug-dump=frames-interp")
        .arg(&binary.path)
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    // Not the exit status: readelf fails on ld.so, without a word, after printing all of it.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut rows = Vec::new();
    let (mut in_section, mut in_fde, mut headings) = (false, false, Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words.as_slice() {
            ["Contents", "of", "the", section, ..] => in_section = section == ".eh_frame",
            _ if !in_section => {}
            [_, _, _, entry @ ("CIE" | "FDE"), ..] => in_fde = entry == "FDE",
            ["LOC", ref names @ ..] => headings = names.to_vec(),
            [address, ref values @ ..] if in_fde && values.len() == headings.len() => {
                let address = u64::from_str_radix(address, 16).expect("an address");
                let columns = headings.iter().zip(values);
                rows.push((
                    address,
                    columns
                        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                        .collect(),
                ));
            }
            _ => {}
        }
    }
    Some(rows)
}

#[test]
fn every_row_is_what_readelf_prints() {
    for binary in binaries::on_this_machine() {
        let Some(rows) = readelf_rows(&binary) else {
            eprintln!(
                "skipped: readelf is not installed, or cannot read {}",
                binary.path.display()
            );
            return;
        };
        let built = build(&binary);
        let text = binary.text();
        let mut compared = 0;
        for (index, (address, columns)) in rows.iter().enumerate() {
            // Of two rows at one address the later one holds.
            if rows.get(index + 1).is_some_and(|next| next.0 == *address) || !text.contains(address)
            {
                continue;
            }
            let recipe = built.table.lookup((address - text.start) as u32);
            let (cfa, bp, ra) = as_readelf(recipe);
            let place = format!("{} at {address:#x}: {recipe:?}", binary.path.display());
            let column = |name| columns.get(name).map_or("u", String::as_str);
            match recipe {
                Recipe::Unsupported => continue,
                Recipe::EndOfStack => assert_eq!(column("ra"), "u", "{place}"),
                _ => {
                    assert_eq!(column("CFA"), cfa, "{place}");
                    assert_eq!(column("ra"), ra, "{place}");
                    if bp != "lost" {
                        assert_eq!(column("rbp").replace('s', "u"), bp, "{place}");
                    }
                }
            }
            compared += 1;
        }
        eprintln!("{}: {compared} rows as readelf prints them", binary.path.display());
        assert!(compared > 100, "{}", binary.path.display());
    }
}
