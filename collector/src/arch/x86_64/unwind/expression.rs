//! The few DWARF expressions that call frame information of x86-64 uses.
//!
//! Both sides: allocates nothing. Recognized by their operations, so that none is ever evaluated.

use gimli::{EndianSlice, Expression, LittleEndian, Operation, X86_64};

/// The expressions in use.
#[derive(PartialEq, Eq)]
pub(super) enum Shape {
    /// `register + offset`
    Sum { register: gimli::Register, offset: i64 },
    /// `*(register + inner) + outer`
    Load { register: gimli::Register, inner: i64, outer: i64 },
    /// `*(rsp + index * 8 + inner) + outer`
    IndexedLoad { index: gimli::Register, inner: i64, outer: i64 },
    /// `rsp + 8 + (rip & 15 >= threshold ? 8 : 0)`
    Plt { threshold: u8 },
}

/// That of `.eh_frame`.
const ENCODING: gimli::Encoding =
    gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 1 };

/// The meaning of an expression, if it is one of those.
pub(super) fn shape(expression: &[u8]) -> Option<Shape> {
    let expression = Expression(EndianSlice::new(expression, LittleEndian));
    let mut operations = expression.operations(ENCODING);
    let mut list = [const { None }; 10];
    let mut length = 0;
    while let Some(operation) = operations.next().ok()? {
        *list.get_mut(length)? = Some(operation);
        length += 1;
    }
    let plain = gimli::UnitOffset(0);
    match list.get(..length)? {
        [Some(Operation::RegisterOffset { register, offset, .. })] => {
            Some(Shape::Sum { register: *register, offset: *offset })
        }
        // For a register's rule the CFA is on the stack already (DWARF 5, 6.4.1); glibc's vector
        // mathematics drops it. An expression for the CFA itself never begins so.
        [Some(Operation::Drop), Some(Operation::RegisterOffset { register, offset, .. })] => {
            Some(Shape::Sum { register: *register, offset: *offset })
        }
        [
            Some(Operation::RegisterOffset { register, offset, .. }),
            Some(Operation::PlusConstant { value }),
        ] => Some(Shape::Sum {
            register: *register,
            offset: offset.checked_add(i64::try_from(*value).ok()?)?,
        }),
        [
            Some(Operation::RegisterOffset { register, offset, .. }),
            Some(Operation::Deref { base_type, size: 8, space: false }),
            rest @ ..,
        ] if *base_type == plain => {
            let outer = match rest {
                [] => 0,
                [Some(Operation::PlusConstant { value })] => i64::try_from(*value).ok()?,
                [Some(Operation::UnsignedConstant { value }), Some(Operation::Plus)] => {
                    i64::try_from(*value).ok()?
                }
                [Some(Operation::SignedConstant { value }), Some(Operation::Plus)] => *value,
                _ => return None,
            };
            Some(Shape::Load { register: *register, inner: *offset, outer })
        }
        [
            Some(Operation::RegisterOffset { register: X86_64::RSP, offset: inner, .. }),
            Some(Operation::RegisterOffset { register: index, offset: 0, .. }),
            Some(Operation::UnsignedConstant { value: 8 }),
            Some(Operation::Mul),
            Some(Operation::Plus),
            Some(Operation::Deref { base_type, size: 8, space: false }),
            Some(Operation::PlusConstant { value: outer }),
        ] if *base_type == plain => Some(Shape::IndexedLoad {
            index: *index,
            inner: *inner,
            outer: i64::try_from(*outer).ok()?,
        }),
        [
            Some(Operation::RegisterOffset { register: X86_64::RSP, offset: 8, .. }),
            Some(Operation::RegisterOffset { register: X86_64::RA, offset: 0, .. }),
            Some(Operation::UnsignedConstant { value: 15 }),
            Some(Operation::And),
            Some(Operation::UnsignedConstant { value: threshold @ 0..16 }),
            Some(Operation::Ge),
            Some(Operation::UnsignedConstant { value: 3 }),
            Some(Operation::Shl),
            Some(Operation::Plus),
        ] => {
            // Of entries with endbr64 and `bnd jmp`, whose push ends at 9, GNU ld says 10.
            let threshold = if *threshold == 10 { 9 } else { *threshold };
            Some(Shape::Plt { threshold: threshold as u8 })
        }
        _ => None,
    }
}
