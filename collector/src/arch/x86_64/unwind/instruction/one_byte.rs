//! Opcodes of one byte: Intel 64 manual, volume 2, table A-2.

use super::{Effect, RAX, RDX, Reader, STRINGS, register, set};
use crate::arch::unwind::registers::Register;

impl Reader<'_> {
    pub(super) fn one_byte(&mut self, opcode: u8) -> Option<Effect> {
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
                // Only the address is asked for.
                self.memory = None;
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
                // By the stack pointer as it is afterwards.
                if let Some((Register::RSP, offset)) = &mut self.memory {
                    *offset = offset.checked_add(8)?;
                }
                Effect::Pop(operands.rm.map(register))
            }
            // `pause` fills no gap.
            0x90 if prefixes.rex & 1 == 0 => match prefixes.repeat {
                0xf3 => Effect::None,
                _ => Effect::Padding,
            },
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
                // Arguments that the caller finds gone: no ABI of 64 bits has that.
                let arguments = [self.byte()?, self.byte()?];
                if arguments != [0; 2] {
                    return None;
                }
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
                    4 if opcode == 0xff => Effect::JumpIndirect(operands.rm.map(register)),
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
}
