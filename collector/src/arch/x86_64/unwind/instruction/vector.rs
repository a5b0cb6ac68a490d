//! Instructions with a vector prefix: Intel 64 manual, volume 2, sections 2.3 and 2.7.

use super::{Effect, Reader, register, set};

impl Reader<'_> {
    /// Instructions with a VEX (0xc4, 0xc5) or EVEX (0x62) prefix.
    pub(super) fn vector(&mut self, prefix: u8) -> Option<Effect> {
        let (map, second) = match prefix {
            0xc5 => {
                let first = self.byte()?;
                self.prefixes.rex = !first >> 5 & 4;
                (1, first)
            }
            _ => {
                let (first, second) = (self.byte()?, self.byte()?);
                self.prefixes.rex = !first >> 5 & 7;
                let mask = if prefix == 0xc4 { 0x1f } else { 7 };
                // APX has the registers from r16 on there.
                if prefix == 0x62 && (first & 8 != 0 || second & 4 == 0) {
                    return None;
                }
                (first & mask, second)
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
        let mut operands = self.operands()?;
        // An offset of one byte counts in sizes of the operand (2.7.5), which only the opcode says.
        if is_evex && operands.memory.is_some_and(|(_, offset)| offset != 0) {
            operands.memory = None;
            self.memory = None;
        }
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
            // What APX makes of the instructions on general registers.
            (2, 0xf2 | 0xf3 | 0xf5..=0xf7) | (1, 0x90..=0x93) | (3, 0xf0) if is_evex => {
                return None;
            }
            // CMPccXADD
            (2, 0xe0..=0xef) => return None,
            (1 | 5, 0x2c | 0x2d | 0x78 | 0x79) if kind >= 2 => Self::changes(operands.reg),
            (1, 0x50 | 0xc5 | 0xd7) => Self::changes(operands.reg),
            (1, 0x93) => Self::changes(operands.reg),
            (1 | 5, 0x7e) if kind == 1 => self.changes_rm(operands, false),
            (2, 0xf2 | 0xf5 | 0xf7) => Self::changes(operands.reg),
            (2, 0xf3) => Self::changes(third),
            (2, 0xf6) => Effect::Change(set(register(operands.reg)) | set(register(third))),
            (3, 0x14..=0x17) => self.changes_rm(operands, false),
            (3, 0xf0) => Self::changes(operands.reg),
            _ => Effect::None,
        })
    }
}
