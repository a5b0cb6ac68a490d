//! Names for PLT stubs: `memcpy@plt`.
//!
//! No symbol covers the stubs through which calls leave a module, yet samples fall into them. A stub
//! jumps through a slot of the global offset table, and a dynamic relocation says what the slot is
//! for, so the instructions themselves lead to the name, whichever linker laid out the section:
//!
//! ```text
//!   [f3 0f 1e fa]  [f2] ff 25 disp32      endbr64; bnd jmp *disp32(%rip)     .plt.sec, .plt.got, .plt
//!   f3 0f 1e fa  68 index32  [f2] e9 …    endbr64; push $index; bnd jmp PLT0  .plt beside a .plt.sec
//! ```
//!
//! System V psABI x86-64, section 5.2 (procedure linkage table); the second form is Intel's for
//! indirect branch tracking, whose index counts the relocations of `.rela.plt`.

use core::ops::Range;
use std::collections::HashMap;

use object::LittleEndian;
use object::elf::{R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, R_X86_64_JUMP_SLOT};

use super::elf::Elf;
use super::symbol_table::SymbolTable;

const PLT_SECTIONS: [&str; 4] = [".plt", ".plt.sec", ".plt.got", ".iplt"];
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// Stubs begin at multiples of this; most have 16 bytes, those of `.plt.got` may have 8.
const ALIGNMENT: usize = 8;
const LONGEST_STUB: usize = 16;

/// One stub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stub {
    /// ELF virtual addresses.
    pub(super) range: Range<u64>,
    /// Name of what it calls.
    pub(super) target: Vec<u8>,
}

/// How a stub says where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Through the slot at this address.
    Slot(u64),
    /// By the relocation of this number in `.rela.plt`.
    Index(u32),
}

/// The stubs of a module's own file, ordered by address. `symbols` name the targets of stubs for
/// functions that are chosen at run time (`STT_GNU_IFUNC`) inside a static executable.
pub(super) fn stubs(elf: &Elf<'_>, symbols: &SymbolTable<'_>) -> Vec<Stub> {
    let Ok(names) = elf.dynamic_symbols() else { return Vec::new() };
    let mut by_slot = HashMap::new();
    let mut by_index = Vec::new();
    for relocation in elf.dynamic_relocations() {
        let kind = relocation.r_type(LittleEndian, false);
        let target = if kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_GLOB_DAT {
            let symbol = names.symbols.get(relocation.r_sym(LittleEndian, false) as usize);
            symbol.and_then(|symbol| names.name(symbol)).filter(|name| !name.is_empty())
        } else if kind == R_X86_64_IRELATIVE {
            let resolver = relocation.r_addend.get(LittleEndian).cast_unsigned();
            symbols.find(resolver).map(|function| function.name)
        } else {
            None
        };
        if kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_IRELATIVE {
            by_index.push(target);
        }
        if let Some(target) = target {
            by_slot.insert(relocation.r_offset.get(LittleEndian), target);
        }
    }

    let mut stubs = Vec::new();
    for name in PLT_SECTIONS {
        let Ok(Some(section)) = elf.section(name) else { continue };
        for (at, reach) in decode(&section.bytes, section.address) {
            let target = match reach {
                Reach::Slot(slot) => by_slot.get(&slot).copied(),
                Reach::Index(index) => by_index.get(index as usize).copied().flatten(),
            };
            if let Some(target) = target {
                stubs.push(Stub { range: at, target: target.to_vec() });
            }
        }
    }
    stubs.sort_by_key(|stub| stub.range.start);
    stubs
}

/// Finds the stubs in the bytes of a PLT section at `address`.
fn decode(bytes: &[u8], address: u64) -> Vec<(Range<u64>, Reach)> {
    let mut found: Vec<(Range<u64>, Reach)> = Vec::new();
    for at in (0..bytes.len()).step_by(ALIGNMENT) {
        let Some(reach) = decode_one(&bytes[at..], address.wrapping_add(at as u64)) else {
            continue;
        };
        let start = address.wrapping_add(at as u64);
        if let Some((previous, _)) = found.last_mut() {
            previous.end = previous.end.min(start);
        }
        let length = LONGEST_STUB.min(bytes.len() - at);
        found.push((start..start.wrapping_add(length as u64), reach));
    }
    found
}

fn decode_one(code: &[u8], address: u64) -> Option<Reach> {
    let after_endbr = code.strip_prefix(&ENDBR64);
    let body = after_endbr.unwrap_or(code);
    if let (Some(_), [0x68, index @ ..]) = (after_endbr, body) {
        return Some(Reach::Index(u32::from_le_bytes(*index.first_chunk()?)));
    }
    let body = body.strip_prefix(&[0xf2]).unwrap_or(body);
    let [0xff, 0x25, displacement @ ..] = body else { return None };
    let displacement = i32::from_le_bytes(*displacement.first_chunk()?);
    let next = address.wrapping_add((code.len() - body.len()) as u64 + 6);
    Some(Reach::Slot(next.wrapping_add_signed(i64::from(displacement))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lazy_stub_without_branch_tracking() {
        // PLT0: push *(GOT+8); jmp *(GOT+16). Then jmp *0x2fe2(%rip); push $0; jmp PLT0.
        let plt = [
            0xff, 0x35, 0xe2, 0x2f, 0, 0, 0xff, 0x25, 0xe4, 0x2f, 0, 0, 0x0f, 0x1f, 0x40,
            0, //
            0xff, 0x25, 0xe2, 0x2f, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
        ];
        assert_eq!(decode(&plt, 0x1020), [(0x1030..0x1040, Reach::Slot(0x1036 + 0x2fe2))]);
    }

    #[test]
    fn stubs_with_branch_tracking() {
        let plt_sec =
            [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xa5, 0x2f, 0, 0, 0x0f, 0x1f, 0x44, 0, 0];
        assert_eq!(decode(&plt_sec, 0x1050), [(0x1050..0x1060, Reach::Slot(0x105b + 0x2fa5))]);
        let plt =
            [0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0x07, 0, 0, 0, 0xf2, 0xe9, 0xe1, 0xff, 0xff, 0xff, 0x90];
        assert_eq!(decode(&plt, 0x1030), [(0x1030..0x1040, Reach::Index(7))]);
    }

    #[test]
    fn short_stubs_end_where_the_next_begins() {
        // jmp *disp(%rip); xchg %ax,%ax, twice, as in .plt.got.
        let plt_got =
            [0xff, 0x25, 0xaa, 0x2f, 0, 0, 0x66, 0x90, 0xff, 0x25, 0xb2, 0x2f, 0, 0, 0x66, 0x90];
        assert_eq!(
            decode(&plt_got, 0x1040),
            [
                (0x1040..0x1048, Reach::Slot(0x1046 + 0x2faa)),
                (0x1048..0x1050, Reach::Slot(0x104e + 0x2fb2))
            ]
        );
    }

    #[test]
    fn a_cut_section_is_no_stub() {
        assert_eq!(decode(&[0xff, 0x25, 0xaa], 0x1040), []);
    }
}
