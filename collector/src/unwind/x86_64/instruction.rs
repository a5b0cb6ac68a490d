//! Machine instructions, as far as they move the stack or change what a caller wants back.
//!
//! [`decode`] finds the length of every instruction of 64-bit mode that compilers and assemblers
//! for user programs make, vectors included, and says what it does to general registers, the stack
//! and control; not what it computes. One that it does not know ends what is read. Encodings are
//! those of the Intel 64 manual, volume 2, appendix A. SIGNAL side: no heap, no panic.

use super::registers::Register;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// In bytes, 1 to 15.
    pub length: u8,
    /// What matters of what it does.
    pub effect: Effect,
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
    /// Control goes on where a register or a word of memory says.
    JumpIndirect,
    /// A call of code that many bytes behind this instruction, or anywhere.
    Call(Option<i32>),
    /// Control returns.
    Return,
    /// Control does not go on.
    Stop,
}

const fn set(register: Register) -> RegisterSet {
    1 << register.dwarf()
}

const RAX: RegisterSet = set(Register::RAX);
const RCX: RegisterSet = set(Register::RCX);
const RDX: RegisterSet = set(Register::RDX);
const STRINGS: RegisterSet = RAX | RCX | set(Register::RSI) | set(Register::RDI);

/// The instruction that `code` begins with; `None` if it is not known, or cut off.
#[must_use]
pub fn decode(code: &[u8]) -> Option<Instruction> {
    let mut reader = Reader { code, at: 0, prefixes: Prefixes::default() };
    let effect = reader.instruction()?;
    let length = u8::try_from(reader.at).ok().filter(|length| *length <= 15)?;
    Some(Instruction { length, effect })
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
fn register(number: u8) -> Register {
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
        if self.prefixes.narrow {
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
        Some(Operands { reg, rm: None, memory: base.map(|base| (register(base), offset)) })
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

    fn one_byte(&mut self, opcode: u8) -> Option<Effect> {
        let prefixes = self.prefixes;
        Some(match opcode {
            0x0f => return self.two_byte(),
            0x00..=0x3f if opcode & 7 < 6 => return self.arithmetic(opcode),
            0x50..=0x5f if prefixes.narrow => return None,
            0x50..=0x57 => Effect::Push(Some(register(opcode & 7 | prefixes.rex << 3 & 8))),
            0x58..=0x5f => Effect::Pop(Some(register(opcode & 7 | prefixes.rex << 3 & 8))),
            0x63 => Self::changes(self.operands()?.reg),
            0x68 | 0x6a if prefixes.narrow => return None,
            0x68 => {
                self.skip(4)?;
                Effect::Push(None)
            }
            0x6a => {
                self.skip(1)?;
                Effect::Push(None)
            }
            0x69 | 0x6b => {
                let operands = self.operands()?;
                if opcode == 0x69 {
                    self.immediate()?
                } else {
                    self.i8()?
                };
                Self::changes(operands.reg)
            }
            0x70..=0x7f => Effect::Branch(self.i8()?),
            0xe0..=0xe2 => {
                // They count rcx down, but no caller wants it back.
                Effect::Branch(self.i8()?)
            }
            0xe3 => Effect::Branch(self.i8()?),
            0x80 | 0x81 | 0x83 => return self.arithmetic_immediate(opcode),
            0x84 | 0x85 => {
                self.operands()?;
                Effect::None
            }
            0x86 | 0x87 => {
                let operands = self.operands()?;
                let number = |number| if opcode == 0x86 { self.of_byte(number) } else { number };
                let mut changed = set(register(number(operands.reg)));
                changed |= operands.rm.map_or(0, |rm| set(register(number(rm))));
                Effect::Change(changed)
            }
            0x88 => {
                let operands = self.operands()?;
                self.changes_rm(operands, true)
            }
            0x89 | 0x8b => return self.move_register(opcode),
            0x8a => {
                let operands = self.operands()?;
                Self::changes(self.of_byte(operands.reg))
            }
            0x8c => {
                let operands = self.operands()?;
                self.changes_rm(operands, false)
            }
            0x8e => {
                self.operands()?;
                Effect::None
            }
            0x8d => {
                let operands = self.operands()?;
                let to = register(operands.reg);
                match operands.memory {
                    Some((from, 0)) if from == to => Effect::Padding,
                    Some((from, offset)) if prefixes.wide() => Effect::Add { to, from, offset },
                    _ => Effect::Change(set(to)),
                }
            }
            0x8f => {
                let operands = self.operands()?;
                if operands.group() != 0 || prefixes.narrow {
                    return None;
                }
                Effect::Pop(operands.rm.map(register))
            }
            0x90 if prefixes.rex & 1 == 0 => Effect::Padding,
            0x90..=0x97 => Effect::Change(RAX | set(register(opcode & 7 | prefixes.rex << 3 & 8))),
            0x98 | 0x99 => Effect::Change(RAX | RDX),
            0x9b | 0xf5 | 0xf8..=0xfd | 0x9e | 0x9f => Effect::Change(RAX),
            0x9c if !prefixes.narrow => Effect::Push(None),
            0x9d if !prefixes.narrow => Effect::Pop(None),
            0xa0..=0xa3 if !prefixes.elsewhere => {
                self.skip(8)?;
                Effect::Change(RAX)
            }
            0xa4..=0xa7 | 0xaa..=0xaf => Effect::Change(STRINGS),
            0xa8 => {
                self.skip(1)?;
                Effect::None
            }
            0xa9 => {
                self.immediate()?;
                Effect::None
            }
            0xb0..=0xb7 => {
                self.skip(1)?;
                Self::changes(self.of_byte(opcode & 7 | prefixes.rex << 3 & 8))
            }
            0xb8..=0xbf => {
                self.skip(match (prefixes.wide(), prefixes.narrow) {
                    (true, _) => 8,
                    (false, true) => 2,
                    (false, false) => 4,
                })?;
                Self::changes(opcode & 7 | prefixes.rex << 3 & 8)
            }
            0xc0 | 0xc1 | 0xd0..=0xd3 => {
                let operands = self.operands()?;
                if opcode < 0xd0 {
                    self.skip(1)?;
                }
                self.changes_rm(operands, opcode & 1 == 0)
            }
            0xc2 => {
                self.skip(2)?;
                Effect::Return
            }
            0xc3 => Effect::Return,
            0xc6 | 0xc7 => {
                let operands = self.operands()?;
                if opcode == 0xc6 {
                    self.i8()?
                } else {
                    self.immediate()?
                };
                self.changes_rm(operands, opcode == 0xc6)
            }
            0xc9 => Effect::Leave,
            0xcc | 0xf4 => Effect::Stop,
            0xcd => {
                self.skip(1)?;
                Effect::Change(RAX)
            }
            0xd7 => Effect::Change(RAX),
            0xd8..=0xdf => {
                let operands = self.operands()?;
                // The status word into ax.
                if opcode == 0xdf && operands.rm == Some(0) {
                    Effect::Change(RAX)
                } else {
                    Effect::None
                }
            }
            0xe8 => Effect::Call(Some(self.i32()?)),
            0xe9 => Effect::Jump(self.i32()?),
            0xeb => Effect::Jump(self.i8()?),
            0xf6 | 0xf7 => {
                let operands = self.operands()?;
                match operands.group() {
                    0 | 1 => {
                        if opcode == 0xf6 {
                            self.i8()?
                        } else {
                            self.immediate()?
                        };
                        Effect::None
                    }
                    2 | 3 => self.changes_rm(operands, opcode == 0xf6),
                    _ => Effect::Change(RAX | RDX),
                }
            }
            0xfe | 0xff => {
                let operands = self.operands()?;
                match operands.group() {
                    0 | 1 => self.changes_rm(operands, opcode == 0xfe),
                    2 if opcode == 0xff => Effect::Call(None),
                    4 if opcode == 0xff => Effect::JumpIndirect,
                    6 if opcode == 0xff && !prefixes.narrow => Effect::Push(None),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// Opcodes 0x00 to 0x3d: add, or, adc, sbb, and, sub, xor, cmp.
    fn arithmetic(&mut self, opcode: u8) -> Option<Effect> {
        const SUBTRACT: u8 = 5;
        const COMPARE: u8 = 7;
        let operation = opcode >> 3;
        let form = opcode & 7;
        if form >= 4 {
            if form == 4 {
                self.i8()?
            } else {
                self.immediate()?
            };
            return Some(if operation == COMPARE { Effect::None } else { Effect::Change(RAX) });
        }
        let operands = self.operands()?;
        if operation == COMPARE {
            return Some(Effect::None);
        }
        // What linkers and old compilers leave between functions.
        if opcode == 0 && operands.reg == 0 && operands.memory == Some((Register::RAX, 0)) {
            return Some(Effect::Padding);
        }
        let into_rm = form < 2;
        let is_stack = |number: Option<u8>| number.map(register) == Some(Register::RSP);
        let to_stack = form & 1 == 1
            && if into_rm { is_stack(operands.rm) } else { is_stack(Some(operands.reg)) };
        if to_stack && operation == SUBTRACT && self.prefixes.wide() {
            return Some(Effect::Lower);
        }
        Some(match (into_rm, form & 1 == 0) {
            (true, is_byte) => self.changes_rm(operands, is_byte),
            (false, true) => Self::changes(self.of_byte(operands.reg)),
            (false, false) => Self::changes(operands.reg),
        })
    }

    /// Opcodes 0x80, 0x81 and 0x83: the same with an immediate operand.
    fn arithmetic_immediate(&mut self, opcode: u8) -> Option<Effect> {
        let operands = self.operands()?;
        let immediate = if opcode == 0x81 { self.immediate()? } else { self.i8()? };
        let to = operands.rm.map(register);
        Some(match (operands.group(), to) {
            (7, _) => Effect::None,
            (0, Some(to)) if opcode != 0x80 && self.prefixes.wide() => {
                Effect::Add { to, from: to, offset: immediate }
            }
            (5, Some(to)) if opcode != 0x80 && self.prefixes.wide() => {
                Effect::Add { to, from: to, offset: immediate.checked_neg()? }
            }
            (4, Some(Register::RSP)) if self.prefixes.wide() && immediate < 0 => Effect::Lower,
            _ => self.changes_rm(operands, opcode == 0x80),
        })
    }

    /// Opcodes 0x89 and 0x8b.
    fn move_register(&mut self, opcode: u8) -> Option<Effect> {
        let operands = self.operands()?;
        let reg = register(operands.reg);
        let to_rm = opcode == 0x89;
        Some(match (operands.rm.map(register), operands.memory) {
            (Some(rm), _) if self.prefixes.wide() => {
                let (to, from) = if to_rm { (rm, reg) } else { (reg, rm) };
                if to == from { Effect::None } else { Effect::Add { to, from, offset: 0 } }
            }
            (None, Some((base, offset))) if self.prefixes.wide() && to_rm => {
                Effect::Store { from: reg, base, offset }
            }
            (None, Some((base, offset))) if self.prefixes.wide() => {
                Effect::Load { to: reg, base, offset }
            }
            _ if to_rm => self.changes_rm(operands, false),
            _ => Effect::Change(set(reg)),
        })
    }

    /// Opcodes behind 0x0f.
    fn two_byte(&mut self) -> Option<Effect> {
        let opcode = self.byte()?;
        Some(match opcode {
            0x05 => Effect::Change(RAX | RCX | set(Register::R11)),
            0x0b => Effect::Stop,
            0x06 | 0x08 | 0x09 | 0x0e | 0x77 => Effect::None,
            0x30..=0x33 => Effect::Change(RAX | RDX),
            0xa2 => Effect::Change(RAX | RCX | RDX | set(Register::RBX)),
            0x80..=0x8f => Effect::Branch(self.i32()?),
            0xc8..=0xcf => Self::changes(opcode & 7 | self.prefixes.rex << 3 & 8),
            0x38 => {
                let opcode = self.byte()?;
                let operands = self.operands()?;
                match opcode {
                    0xf1 if self.prefixes.repeat != 0xf2 => self.changes_rm(operands, false),
                    0xf0 | 0xf1 | 0xf6 => Self::changes(operands.reg),
                    _ => Effect::None,
                }
            }
            0x3a => {
                let opcode = self.byte()?;
                let operands = self.operands()?;
                self.skip(1)?;
                match opcode {
                    0x14..=0x17 => self.changes_rm(operands, false),
                    _ => Effect::None,
                }
            }
            0x01 => {
                let operands = self.operands()?;
                let in_registers = operands.rm.is_some();
                if in_registers { Effect::Change(RAX | RCX | RDX) } else { Effect::None }
            }
            0x0d | 0x18..=0x1e => {
                self.operands()?;
                Effect::None
            }
            0x1f => {
                self.operands()?;
                Effect::Padding
            }
            0x02
            | 0x03
            | 0x2c
            | 0x2d
            | 0x40..=0x50
            | 0xaf
            | 0xb2
            | 0xb4..=0xb8
            | 0xbc..=0xbf
            | 0xd7 => Self::changes(self.operands()?.reg),
            0xc5 => {
                let operands = self.operands()?;
                self.skip(1)?;
                Self::changes(operands.reg)
            }
            0x90..=0x9f => {
                let operands = self.operands()?;
                self.changes_rm(operands, true)
            }
            0xa4 | 0xac | 0xba => {
                let operands = self.operands()?;
                self.skip(1)?;
                self.changes_rm(operands, false)
            }
            0xa5 | 0xab | 0xad | 0xb3 | 0xbb | 0xae | 0xc7 => {
                let operands = self.operands()?;
                self.changes_rm(operands, false)
            }
            0x7e => {
                let operands = self.operands()?;
                if self.prefixes.repeat == 0xf3 {
                    Effect::None
                } else {
                    self.changes_rm(operands, false)
                }
            }
            0xb0 | 0xb1 | 0xc0 | 0xc1 => {
                let operands = self.operands()?;
                let number = |number| if opcode & 1 == 0 { self.of_byte(number) } else { number };
                let rm = operands.rm.map_or(0, |rm| set(register(number(rm))));
                Effect::Change(RAX | rm | set(register(number(operands.reg))))
            }
            0x70..=0x73 | 0xc2 | 0xc4 | 0xc6 => {
                self.operands()?;
                self.skip(1)?;
                Effect::None
            }
            0x10..=0x17
            | 0x28..=0x2b
            | 0x2e
            | 0x2f
            | 0x51..=0x6f
            | 0x74..=0x76
            | 0x7c
            | 0x7d
            | 0x7f
            | 0xa3
            | 0xc3
            | 0xd0..=0xfe => {
                self.operands()?;
                Effect::None
            }
            _ => return None,
        })
    }

    /// Instructions with a VEX (0xc4, 0xc5) or EVEX (0x62) prefix.
    fn vector(&mut self, prefix: u8) -> Option<Effect> {
        let (map, second) = match prefix {
            0xc5 => {
                let first = self.byte()?;
                self.prefixes.rex = !first >> 5 & 4;
                (1, first)
            }
            _ => {
                let first = self.byte()?;
                self.prefixes.rex = !first >> 5 & 7;
                let mask = if prefix == 0xc4 { 0x1f } else { 7 };
                (first & mask, self.byte()?)
            }
        };
        let is_evex = prefix == 0x62;
        if is_evex {
            self.skip(1)?;
        }
        // What the prefixes 0x66, 0xf3 and 0xf2 are elsewhere.
        let kind = second & 3;
        let third = !second >> 3 & 15;
        let opcode = self.byte()?;
        if map == 1 && opcode == 0x77 && !is_evex {
            return Some(Effect::None);
        }
        let operands = self.operands()?;
        let has_immediate = match map {
            1 => matches!(opcode, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6),
            2 | 5 | 6 => false,
            3 => true,
            _ => return None,
        };
        if has_immediate {
            self.skip(1)?;
        }
        Some(match (map, opcode) {
            (1, 0x2c | 0x2d | 0x78 | 0x79) if kind >= 2 => Self::changes(operands.reg),
            (1, 0x50 | 0xc5 | 0xd7) => Self::changes(operands.reg),
            (1, 0x93) if !is_evex => Self::changes(operands.reg),
            (1, 0x7e) if kind == 1 => self.changes_rm(operands, false),
            (2, 0xf2 | 0xf5 | 0xf7) if !is_evex => Self::changes(operands.reg),
            (2, 0xf3) if !is_evex => Self::changes(third),
            (2, 0xf6) if !is_evex => {
                Effect::Change(set(register(operands.reg)) | set(register(third)))
            }
            (3, 0x14..=0x17) => self.changes_rm(operands, false),
            (3, 0xf0) if !is_evex => Self::changes(operands.reg),
            _ => Effect::None,
        })
    }
}

#[cfg(test)]
mod tests;
