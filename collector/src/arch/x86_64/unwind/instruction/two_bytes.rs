//! Opcodes behind 0x0f: Intel 64 manual, volume 2, tables.

use super::{Effect, RAX, RCX, RDX, Reader, register, set};
use crate::arch::unwind::registers::Register;

impl Reader<'_> {
    /// Opcodes behind 0x0f.
    pub(super) fn two_byte(&mut self) -> Option<Effect> {
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
                self.memory = None;
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
                // cmpxchg16b
                let is_pair = opcode == 0xc7 && operands.rm.is_none() && operands.group() == 1;
                if is_pair { Effect::Change(RAX | RDX) } else { self.changes_rm(operands, false) }
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
}
