//! Sections assembled byte by byte.

use super::*;
use crate::arch::unwind::recipe::{Saved, Slot};
use crate::arch::unwind::registers::Register;
use crate::unwind::table::Lookup;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

/// The section lies here, and the text at [`TEXT`].
const SECTION: u64 = 0x2000;
const TEXT: Range<u64> = 0x1000..0x1800;

/// What gcc's CIEs begin with: CFA = rsp + 8, return address at CFA − 8.
const INITIAL: [u8; 5] = [DEF_CFA, 7, 8, OFFSET | 16, 1];

// Call frame instructions (DWARF 5, 7.24).
const ADVANCE: u8 = 0x40;
const OFFSET: u8 = 0x80;
const RESTORE: u8 = 0xc0;
const UNDEFINED: u8 = 0x07;
const REMEMBER: u8 = 0x0a;
const RESTORE_STATE: u8 = 0x0b;
const DEF_CFA: u8 = 0x0c;
const DEF_CFA_REGISTER: u8 = 0x0d;
const DEF_CFA_OFFSET: u8 = 0x0e;
const DEF_CFA_EXPRESSION: u8 = 0x0f;
/// No call frame instruction.
const UNKNOWN: u8 = 0x3f;

/// `.eh_frame` with one CIE and FDEs of (start, length, instructions).
fn section(fdes: &[(u64, u32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // CIE: version 1, augmentation "zR", code factor 1, data factor −8, return address in 16,
    // one byte of augmentation data: pointers are pc-relative, four bytes, signed.
    let mut cie = vec![0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b];
    cie.extend(INITIAL);
    push_entry(&mut bytes, cie);
    for (start, length, instructions) in fdes {
        let cie_pointer = bytes.len() as u32 + 4;
        let mut fde = cie_pointer.to_le_bytes().to_vec();
        let position = SECTION + bytes.len() as u64 + 8;
        fde.extend((start.wrapping_sub(position) as u32).to_le_bytes());
        fde.extend(length.to_le_bytes());
        fde.push(0); // no augmentation data
        fde.extend(*instructions);
        push_entry(&mut bytes, fde);
    }
    bytes.extend([0; 4]); // terminator
    bytes
}

/// Appends an entry with its length, padded to four bytes with DW_CFA_nop, which is zero.
fn push_entry(bytes: &mut Vec<u8>, mut entry: Vec<u8>) {
    entry.resize(entry.len().next_multiple_of(4), 0);
    bytes.extend((entry.len() as u32).to_le_bytes());
    bytes.extend(entry);
}

fn build(bytes: &[u8]) -> Built {
    from_section(bytes, SECTION, |_| None, TEXT).unwrap()
}

fn sp(bp: Slot, offset: i32) -> Recipe {
    Recipe::Sp { bp, offset }
}

/// A function with a frame pointer and an early return.
///
/// ```text
/// 1010: push %rbp          1014: leave; ret (early)       1016: the body goes on
/// 1011: mov  %rsp,%rbp
/// ```
#[test]
fn a_function() {
    let instructions = [
        ADVANCE | 1,
        DEF_CFA_OFFSET,
        16,
        OFFSET | 6,
        2,
        ADVANCE | 3,
        DEF_CFA_REGISTER,
        6,
        ADVANCE | 1,
        REMEMBER,
        DEF_CFA,
        7,
        8,
        RESTORE | 6,
        ADVANCE | 1,
        RESTORE_STATE,
    ];
    let built = build(&section(&[(0x1010, 0x20, &instructions)]));
    assert_eq!(built.census, Census { fdes: 1, rows: 5, ..Census::default() });
    let saved = Slot::at_cfa(-16);
    for (offset, recipe) in [
        (0x0f, Recipe::NoCfi),
        (0x10, sp(Slot::SAME, 8)),
        (0x11, sp(saved, 16)),
        (0x13, sp(saved, 16)),
        (0x14, Recipe::Bp { bp: saved, offset: 16 }),
        (0x15, sp(Slot::SAME, 8)),
        (0x16, Recipe::Bp { bp: saved, offset: 16 }),
        (0x2f, Recipe::Bp { bp: saved, offset: 16 }),
        (0x30, Recipe::NoCfi),
    ] {
        assert_eq!(built.table.lookup(offset), recipe, "{offset:#x}");
    }
}

#[test]
fn where_the_other_callee_saved_registers_are() {
    let instructions = [ADVANCE | 4, OFFSET | 3, 2, OFFSET | 15, 3];
    let built = build(&section(&[(0x1000, 0x10, &instructions)]));
    let (_, saved) = built.table.lookup_all(8);
    let rules: Vec<Saved> = saved.iter().map(|(_, slot)| slot.saved()).collect();
    let same = Saved::Same;
    assert_eq!(rules, [Saved::AtCfa(-16), same, same, same, Saved::AtCfa(-24)]);
}

/// libgcrypt's assembly: the CFA from a slot on the stack, then from rsp again, with the offset
/// that held before.
#[test]
fn an_offset_outlives_an_expression() {
    // DW_OP_breg7 8; DW_OP_deref; DW_OP_plus_uconst 16
    let expression = [DEF_CFA_EXPRESSION, 5, 0x77, 8, 0x06, 0x23, 16];
    let mut instructions = vec![DEF_CFA_OFFSET, 56, ADVANCE | 4];
    instructions.extend(expression);
    instructions.extend([ADVANCE | 4, DEF_CFA_REGISTER, 7]);
    let built = build(&section(&[(0x1000, 0x10, &instructions)]));
    let deref = Recipe::Deref { register: Register::RSP, bp: Slot::SAME, inner: 8, outer: 16 };
    assert_eq!(built.table.lookup(0), sp(Slot::SAME, 56));
    assert_eq!(built.table.lookup(4), deref);
    assert_eq!(built.table.lookup(8), sp(Slot::SAME, 56));
}

#[test]
fn an_undefined_return_address_ends_the_stack() {
    let built = build(&section(&[(0x1000, 0x10, &[UNDEFINED, 16])]));
    assert_eq!(built.table.lookup(0), Recipe::EndOfStack);
}

/// The row before the unreadable instruction is kept.
#[test]
fn damaged_instructions() {
    let built = build(&section(&[(0x1000, 0x20, &[ADVANCE | 4, UNKNOWN]), (0x1040, 8, &[])]));
    assert_eq!(built.census.damaged, 1);
    for (offset, recipe) in [
        (0x00, sp(Slot::SAME, 8)),
        (0x03, sp(Slot::SAME, 8)),
        (0x04, Recipe::Unsupported),
        (0x1f, Recipe::Unsupported),
        (0x20, Recipe::NoCfi),
        (0x40, sp(Slot::SAME, 8)),
    ] {
        assert_eq!(built.table.lookup(offset), recipe, "{offset:#x}");
    }
}

/// Order in the section does not matter, nor what lies outside the text; of two FDEs for the same
/// code the one that begins later holds.
#[test]
fn order_overlap_and_strangers() {
    let framed: &[u8] = &[DEF_CFA_OFFSET, 32];
    let fdes = [
        (0x1100, 0x10, framed),
        (0x0, 0x10, framed),
        (0x1000, 0x20, &[][..]),
        (0x1018, 0x10, framed),
        (0x1200, 0, framed),
    ];
    let built = build(&section(&fdes));
    assert_eq!((built.census.fdes, built.census.damaged), (3, 0));
    for (offset, recipe) in [
        (0x00, sp(Slot::SAME, 8)),
        (0x17, sp(Slot::SAME, 8)),
        (0x18, sp(Slot::SAME, 32)),
        (0x27, sp(Slot::SAME, 32)),
        (0x28, Recipe::NoCfi),
        (0x100, sp(Slot::SAME, 32)),
        (0x200, Recipe::NoCfi),
    ] {
        assert_eq!(built.table.lookup(offset), recipe, "{offset:#x}");
    }
}

/// GNU ld's own CFI of linkage tables. With endbr64 the push ends at 9, whatever it says.
#[test]
fn linkage_tables_with_cfi() {
    for (said, threshold) in [(5, 5), (9, 9), (10, 9), (11, 11)] {
        let lit = |value: u8| 0x30 + value;
        // DW_OP_breg7 8; DW_OP_breg16 0; DW_OP_lit15; DW_OP_and; DW_OP_lit…; DW_OP_ge; DW_OP_lit3;
        // DW_OP_shl; DW_OP_plus
        let shape = [0x77, 8, 0x80, 0, lit(15), 0x1a, lit(said), 0x2a, lit(3), 0x24, 0x22];
        let instructions = [&[DEF_CFA_EXPRESSION, shape.len() as u8][..], &shape].concat();
        let built = build(&section(&[(0x1000, 0x20, &instructions)]));
        assert_eq!(built.table.lookup(0x1), Recipe::Plt { threshold });
    }
}

/// lld's linkage table lies between functions and has no FDE.
#[test]
fn a_linkage_table_without_cfi() {
    let mut code = [0x90; 0x80];
    code[0x40..0x4c].copy_from_slice(&[0xff, 0x35, 2, 0, 0, 0, 0xff, 0x25, 4, 0, 0, 0]);
    let stub = [0xff, 0x25, 2, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff];
    code[0x50..0x60].copy_from_slice(&stub);
    let bytes = section(&[(0x1000, 0x31, &[]), (0x1068, 8, &[])]);
    let segment_from = |address: u64| code.get((address - TEXT.start) as usize..);
    let built = from_section(&bytes, SECTION, segment_from, TEXT).unwrap();
    assert_eq!(built.census.linkage_entries, 2);
    for (offset, recipe) in [
        (0x30, sp(Slot::SAME, 8)),
        (0x31, Recipe::NoCfi),
        (0x40, sp(Slot::SAME, 16)),
        (0x46, sp(Slot::SAME, 24)),
        (0x50, Recipe::Plt { threshold: 11 }),
        (0x60, Recipe::NoCfi),
        (0x68, sp(Slot::SAME, 8)),
    ] {
        assert_eq!(built.table.lookup(offset), recipe, "{offset:#x}");
    }
}

/// `.eh_frame_hdr` of a section at [`SECTION`], with its table in order of code.
fn header(section: &[u8], fdes: &[(u64, u32, &[u8])]) -> Vec<u8> {
    let relative = |address: u64, base: u64| (address.wrapping_sub(base) as u32).to_le_bytes();
    let mut places = vec![0];
    let word = |at: usize| u32::from_le_bytes(*section[at..].first_chunk().unwrap()) as usize;
    while word(*places.last().unwrap()) != 0 {
        places.push(places.last().unwrap() + 4 + word(*places.last().unwrap()));
    }
    // Behind the CIE comes an FDE for each.
    let mut table: Vec<_> = fdes.iter().map(|fde| fde.0).zip(places.drain(1..)).collect();
    table.sort_unstable();
    let mut bytes = vec![1, 0x1b, 0x03, 0x3b];
    bytes.extend(relative(SECTION, HEADER + 4));
    bytes.extend((table.len() as u32).to_le_bytes());
    for (code, place) in table {
        bytes.extend(relative(code, HEADER));
        bytes.extend(relative(SECTION + place as u64, HEADER));
    }
    bytes
}

/// Where [`header`] lies.
const HEADER: u64 = 0x1f00;

/// Nothing of the code is read later: what has no FDE is as it was when the copy was made.
#[test]
fn a_copy_knows_what_lies_between_functions() {
    let mut code = [0x90; 0x800];
    // sub $8,%rsp; add $8,%rsp; ret: at the begin, behind the last function, and in a gap that is
    // too short for a linkage table.
    let function = [0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0xc3];
    for place in [0, 0x64, 0x7f0] {
        code[place..place + function.len()].copy_from_slice(&function);
    }
    code[0x140..0x14c].copy_from_slice(&[0xff, 0x35, 2, 0, 0, 0, 0xff, 0x25, 4, 0, 0, 0]);
    let stub = [0xff, 0x25, 2, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff];
    (0x150..0x180).step_by(16).for_each(|at| code[at..at + 16].copy_from_slice(&stub));
    let framed: &[u8] = &[DEF_CFA_OFFSET, 32];
    let fdes = [
        (0x1188, 0x668, framed),
        (0x1018, 0x4c, &[][..]),
        (0x1070, 0xc1, framed),
        (0x0, 0x10, framed),
        (0x1090, 0x90, &[]),
    ];
    let bytes = section(&fdes);
    let header = header(&bytes, &fdes);
    let segment_from = |address: u64| match address {
        SECTION => Some(&*bytes),
        _ => code.get(address.checked_sub(TEXT.start)? as usize..),
    };
    let built = from_header(&header, HEADER, segment_from, TEXT).unwrap();
    assert_eq!((built.census.linkage_entries, built.census.startup_functions), (4, 2));
    let original = direct::InPlace::new(&header, HEADER, segment_from, TEXT).unwrap();
    let (section, of_header, of_section) = original.extent().unwrap();
    // But for the terminator.
    assert_eq!((section, of_header, of_section), (SECTION, header.len(), bytes.len() - 4));
    let read = Cell::new(0);
    let copied = |address| {
        read.set(read.get() + 1);
        (address == SECTION).then_some(&bytes[..of_section])
    };
    let mut copy = direct::InPlace::new(&header, HEADER, copied, TEXT).unwrap();
    assert!(copy.census(direct::Look::AtEach).unwinders.is_empty());
    copy.note_gaps(segment_from);
    let before = read.get();
    for offset in 0..0x802 {
        assert_eq!(copy.lookup_all(offset), built.table.lookup_all(offset), "{offset:#x}");
    }
    assert_eq!(read.get(), before);
}

/// Whoever wrote it has not sorted it: a search finds nothing in it.
#[test]
fn a_table_that_is_not_in_order_is_not_copied() {
    let fdes = [(0x1010, 0x20, &[][..]), (0x1040, 0x20, &[])];
    let bytes = section(&fdes);
    let extent = |header: &[u8]| {
        let there = |address| (address == SECTION).then_some(&*bytes);
        direct::InPlace::new(header, HEADER, there, TEXT).unwrap().extent()
    };
    let sound = header(&bytes, &fdes);
    assert_eq!(extent(&sound), Some((SECTION, 28, bytes.len() - 4)));
    let reversed = [&sound[..12], &sound[20..], &sound[12..20]].concat();
    assert_eq!(extent(&reversed), None);
}

/// `.eh_frame_hdr` without a search table: the section is read from its start.
#[test]
fn a_header_without_a_table() {
    let bytes = section(&[(0x1010, 0x20, &[])]);
    // Version 1; pointer to .eh_frame absolute in eight bytes; no count, no table.
    let mut header = vec![1, 0x00, 0xff, 0xff];
    header.extend(SECTION.to_le_bytes());
    let segment_from = |address: u64| (address == SECTION).then_some(&*bytes);
    let built = from_header(&header, 0x1f00, segment_from, TEXT).unwrap();
    assert!(built.table == build(&bytes).table);

    let nowhere = from_header(&header, 0x1f00, |_| None, TEXT);
    assert_eq!(nowhere.err(), Some(CfiError::SectionNotMapped));
    let short = from_header(&header[..5], 0x1f00, segment_from, TEXT);
    assert!(matches!(short, Err(CfiError::Header(_))));
}

#[test]
fn text_ranges_that_cannot_be() {
    let bytes = section(&[]);
    let reversed = Range { start: 0x2000, end: 0x1000 };
    for text in [0x1000..0x1000, reversed, 0..u64::MAX] {
        let error = from_section(&bytes, SECTION, |_| None, text).err();
        assert_eq!(error, Some(CfiError::TextRange));
    }
}

/// Whatever one byte is changed to, a table or an error comes out, and every offset has a recipe.
#[test]
fn any_byte_may_be_wrong() {
    let function =
        [ADVANCE | 1, DEF_CFA_OFFSET, 16, OFFSET | 6, 2, ADVANCE | 3, DEF_CFA_REGISTER, 6];
    let sound = section(&[(0x1000, 0x40, &function), (0x1040, 0x20, &function)]);
    for position in 0..sound.len() {
        for value in 0..=u8::MAX {
            let mut bytes = sound.clone();
            bytes[position] = value;
            if let Ok(built) = from_section(&bytes, SECTION, |_| None, TEXT) {
                for offset in (0..0x800).step_by(7) {
                    assert_eq!(built.table.lookup(offset), built.table.lookup_all(offset).0);
                }
            }
        }
    }
}
