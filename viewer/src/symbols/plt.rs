//! Names for PLT stubs: `memcpy@plt`.
//!
//! No symbol covers the stubs through which calls leave a module, yet samples fall into them. A
//! stub jumps through a slot of the global offset table, and a dynamic relocation says what the
//! slot is for, so the instructions themselves lead to the name, whichever linker laid out the
//! section:
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

const PLT_SECTIONS: [&str; 4] = [".plt", ".plt.sec", ".plt.got", ".iplt"];
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// Stubs begin at multiples of this; most have 16 bytes, those of `.plt.got` may have 8.
const ALIGNMENT: usize = 8;
const LONGEST_STUB: usize = 16;

/// What is called through a slot of the global offset table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee<'data> {
    /// A function by name, of whatever module defines it.
    Symbol(&'data [u8]),
    /// A function of the module itself that is chosen at run time (`STT_GNU_IFUNC`), by what
    /// chooses it: the function at this ELF virtual address.
    Resolver(u64),
}

/// One stub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stub<'data> {
    /// ELF virtual addresses.
    pub(super) range: Range<u64>,
    /// What it calls.
    pub(super) callee: Callee<'data>,
}

/// How a stub says where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Through the slot at this address.
    Slot(u64),
    /// By the relocation of this number in `.rela.plt`.
    Index(u32),
}

/// The slots through which calls leave a module, or reach a function chosen at run time.
#[derive(Debug, Default)]
pub(super) struct Slots<'data> {
    by_address: HashMap<u64, Callee<'data>>,
    /// In the order of `.rela.plt`.
    by_index: Vec<Option<Callee<'data>>>,
}

impl<'data> Slots<'data> {
    /// Reads the dynamic relocations of a module's own file.
    pub(super) fn read(elf: &Elf<'data>) -> Self {
        let mut slots = Self::default();
        let Ok(names) = elf.dynamic_symbols() else { return slots };
        for relocation in elf.dynamic_relocations() {
            let kind = relocation.r_type(LittleEndian, false);
            let callee = if kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_GLOB_DAT {
                let symbol = names.symbols.get(relocation.r_sym(LittleEndian, false) as usize);
                let name = symbol.and_then(|symbol| names.name(symbol));
                name.filter(|name| !name.is_empty()).map(Callee::Symbol)
            } else if kind == R_X86_64_IRELATIVE {
                Some(Callee::Resolver(relocation.r_addend.get(LittleEndian).cast_unsigned()))
            } else {
                None
            };
            if kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_IRELATIVE {
                slots.by_index.push(callee);
            }
            if let Some(callee) = callee {
                slots.by_address.insert(relocation.r_offset.get(LittleEndian), callee);
            }
        }
        slots
    }

    /// The names of what is called.
    pub(super) fn names(&self) -> impl Iterator<Item = &'data [u8]> {
        let all = self.by_address.values().chain(self.by_index.iter().flatten());
        all.filter_map(|callee| match callee {
            Callee::Symbol(name) => Some(*name),
            Callee::Resolver(_) => None,
        })
    }

    /// What chooses the functions of the module itself that it calls so.
    pub(super) fn resolvers(&self) -> impl Iterator<Item = u64> {
        self.by_address.values().filter_map(|callee| match callee {
            Callee::Symbol(_) => None,
            Callee::Resolver(address) => Some(*address),
        })
    }

    /// What is called through the slot at this address.
    pub(super) fn at(&self, address: u64) -> Option<Callee<'data>> {
        self.by_address.get(&address).copied()
    }
}

/// The stubs of a module's own file, ordered by address.
pub(super) fn stubs<'data>(elf: &Elf<'_>, slots: &Slots<'data>) -> Vec<Stub<'data>> {
    let mut stubs = Vec::new();
    for name in PLT_SECTIONS {
        let Ok(Some(section)) = elf.section(name) else { continue };
        for (range, reach) in decode(&section.bytes, section.address) {
            let callee = match reach {
                Reach::Slot(slot) => slots.at(slot),
                Reach::Index(index) => slots.by_index.get(index as usize).copied().flatten(),
            };
            stubs.extend(callee.map(|callee| Stub { range, callee }));
        }
    }
    stubs.sort_by_key(|stub| stub.range.start);
    stubs
}

/// The stub that holds an address; `stubs` are ordered.
pub(super) fn find<'s, 'data>(stubs: &'s [Stub<'data>], address: u64) -> Option<&'s Stub<'data>> {
    let after = stubs.partition_point(|stub| stub.range.start <= address);
    stubs[..after].last().filter(|stub| stub.range.contains(&address))
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
