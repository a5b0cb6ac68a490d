//! Machine instructions, as far as they move the stack or change what a caller wants back.
//!
//! [`decode`] finds the length of every instruction of 64-bit mode that compilers and assemblers
//! for user programs make, vectors included, and says what it does to general registers, the stack
//! and control; not what it computes. One that it does not know ends what is read. Encodings are
//! those of the Intel 64 manual, volume 2, appendix A. SIGNAL side: no heap, no panic.

mod one_byte;
mod two_bytes;
mod vector;

use super::registers::Register;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// In bytes, 1 to 15.
    pub length: u8,
    /// What matters of what it does.
    pub effect: Effect,
    /// Where the memory is that it names to read or write it, if that is a register, as it is
    /// before the instruction, and an offset in bytes. What it pushes or pops is named by nothing.
    pub memory: Option<(Register, i32)>,
}

/// A set of registers: bit n is the register of DWARF number n.
pub type RegisterSet = u16;

/// What an instruction does to registers, stack and control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that matters.
    None,
    /// Nothing at all: what assemblers fill gaps with.
    Padding,
    /// A word onto the stack: a register's value, or another.
    Push(Option<Register>),
    /// A word off the stack, into a register or elsewhere.
    Pop(Option<Register>),
    /// `to = from + offset`
    Add {
        /// Changed.
        to: Register,
        /// Added to.
        from: Register,
        /// In bytes.
        offset: i32,
    },
    /// `to = *(base + offset)`, 64 bits
    Load {
        /// Changed.
        to: Register,
        /// Of the address.
        base: Register,
        /// In bytes.
        offset: i32,
    },
    /// `*(base + offset) = from`, 64 bits
    Store {
        /// What is stored.
        from: Register,
        /// Of the address.
        base: Register,
        /// In bytes.
        offset: i32,
    },
    /// Something is written to `*(base + offset)`.
    Overwrite {
        /// Of the address.
        base: Register,
        /// In bytes.
        offset: i32,
    },
    /// The stack pointer falls by an amount that only the run decides: it is aligned, or a
    /// register is subtracted.
    Lower,
    /// `rsp = rbp`, then `pop %rbp`
    Leave,
    /// These registers have other values afterwards.
    Change(RegisterSet),
    /// Control goes on that many bytes behind this instruction.
    Jump(i32),
    /// As [`Self::Jump`], or on to the next instruction.
    Branch(i32),
    /// Control goes on where this register or a word of memory says.
    JumpIndirect(Option<Register>),
    /// A call of code that many bytes behind this instruction, or anywhere.
    Call(Option<i32>),
    /// Control returns.
    Return,
    /// Control does not go on.
    Stop,
}

/// Whether a register is in a set.
#[must_use]
pub const fn has(set: RegisterSet, register: Register) -> bool {
    set >> register.dwarf() & 1 == 1
}

const fn set(register: Register) -> RegisterSet {
    1 << register.dwarf()
}

const RAX: RegisterSet = set(Register::RAX);
const RCX: RegisterSet = set(Register::RCX);
const RDX: RegisterSet = set(Register::RDX);
const STRINGS: RegisterSet = RAX | RCX | set(Register::RSI) | set(Register::RDI);

/// Bytes of the longest instruction, prefixes included.
pub const LONGEST: usize = 15;

/// The instruction that `code` begins with; `None` if it is not known, or cut off.
#[must_use]
pub fn decode(code: &[u8]) -> Option<Instruction> {
    let code = code.get(..LONGEST).unwrap_or(code);
    let mut reader = Reader { code, at: 0, prefixes: Prefixes::default(), memory: None };
    let effect = reader.instruction()?;
    let length = u8::try_from(reader.at).ok()?;
    let memory = reader.memory.filter(|_| effect != Effect::Padding);
    Some(Instruction { length, effect, memory })
}

#[derive(Clone, Copy, Default)]
struct Prefixes {
    /// 0x66
    narrow: bool,
    /// 0xf2 or 0xf3
    repeat: u8,
    /// fs, gs, or an address of 32 bits: no place on the stack.
    elsewhere: bool,
    /// 0x40 to 0x4f, or the same bits of a vector prefix.
    rex: u8,
}

impl Prefixes {
    const fn wide(self) -> bool {
        self.rex & 8 != 0
    }
}

/// The operands that a ModRM byte names.
#[derive(Clone, Copy)]
struct Operands {
    /// Number of the register operand.
    reg: u8,
    /// Number of the register that the other operand is; none if it is in memory.
    rm: Option<u8>,
    /// Its place in memory, if that is a register and an offset.
    memory: Option<(Register, i32)>,
}

impl Operands {
    /// The group of opcodes that the register field chooses from.
    const fn group(self) -> u8 {
        self.reg & 7
    }
}

/// By the number that instructions have for it.
pub(super) fn register(number: u8) -> Register {
    const ORDER: [Register; 16] = [
        Register::RAX,
        Register::RCX,
        Register::RDX,
        Register::RBX,
        Register::RSP,
        Register::RBP,
        Register::RSI,
        Register::RDI,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];
    ORDER[usize::from(number & 15)]
}

struct Reader<'a> {
    code: &'a [u8],
    at: usize,
    prefixes: Prefixes,
    /// The operand in memory that was read last.
    memory: Option<(Register, i32)>,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.at += bytes;
        (self.at <= self.code.len()).then_some(())
    }

    fn i8(&mut self) -> Option<i32> {
        self.byte().map(|byte| i32::from(byte.cast_signed()))
    }

    fn i32(&mut self) -> Option<i32> {
        let bytes = self.code.get(self.at..)?.first_chunk()?;
        self.at += 4;
        Some(i32::from_le_bytes(*bytes))
    }

    /// An immediate operand of the operand's size, at most 32 bits.
    fn immediate(&mut self) -> Option<i32> {
        // Of both sizes, the wide one holds (Intel 64 manual, volume 2, 2.2.1.2).
        if self.prefixes.narrow && !self.prefixes.wide() {
            self.skip(2)?;
            return Some(0);
        }
        self.i32()
    }

    fn instruction(&mut self) -> Option<Effect> {
        let opcode = loop {
            match self.byte()? {
                0x66 => self.prefixes.narrow = true,
                repeat @ (0xf2 | 0xf3) => self.prefixes.repeat = repeat,
                0x64 | 0x65 | 0x67 => self.prefixes.elsewhere = true,
                0x26 | 0x2e | 0x36 | 0x3e | 0xf0 => {}
                opcode => break opcode,
            }
        };
        match opcode {
            rex @ 0x40..=0x4f => {
                self.prefixes.rex = rex;
                let opcode = self.byte()?;
                self.one_byte(opcode)
            }
            0x62 | 0xc4 | 0xc5 => self.vector(opcode),
            opcode => self.one_byte(opcode),
        }
    }

    fn operands(&mut self) -> Option<Operands> {
        let modrm = self.byte()?;
        let rex = self.prefixes.rex;
        let reg = modrm >> 3 & 7 | rex << 1 & 8;
        let mode = modrm >> 6;
        let low = modrm & 7;
        if mode == 3 {
            return Some(Operands { reg, rm: Some(low | rex << 3 & 8), memory: None });
        }
        let mut base = Some(low | rex << 3 & 8);
        if low == 4 {
            let sib = self.byte()?;
            let index = sib >> 3 & 7 | rex << 2 & 8;
            base = (index == 4).then_some(sib & 7 | rex << 3 & 8);
            if sib & 7 == 5 && mode == 0 {
                self.skip(4)?;
                return Some(Operands { reg, rm: None, memory: None });
            }
        } else if low == 5 && mode == 0 {
            // Relative to the instruction pointer.
            self.skip(4)?;
            return Some(Operands { reg, rm: None, memory: None });
        }
        let offset = match mode {
            0 => 0,
            1 => self.i8()?,
            _ => self.i32()?,
        };
        let base = base.filter(|_| !self.prefixes.elsewhere);
        self.memory = base.map(|base| (register(base), offset));
        Some(Operands { reg, rm: None, memory: self.memory })
    }

    /// A general register of any size but eight bits changes.
    fn changes(number: u8) -> Effect {
        Effect::Change(set(register(number)))
    }

    /// The register or memory operand changes.
    fn changes_rm(&self, operands: Operands, is_byte: bool) -> Effect {
        match (operands.rm, operands.memory) {
            (Some(number), _) if is_byte => Self::changes(self.of_byte(number)),
            (Some(number), _) => Self::changes(number),
            (None, Some((base, offset))) => Effect::Overwrite { base, offset },
            (None, None) => Effect::None,
        }
    }

    /// Without a prefix, the numbers 4 to 7 are the second bytes of the first four registers.
    const fn of_byte(&self, number: u8) -> u8 {
        if self.prefixes.rex == 0 { number & 3 } else { number }
    }
}

#[cfg(test)]
mod tests;
