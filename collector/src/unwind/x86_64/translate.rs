//! From one row of call frame information to a recipe.
//!
//! SETUP side. Every form that compilers, linkers and hand-written assembly are known to use has a
//! recipe; the rest is `None`, which the builder counts.

use gimli::{
    CfaRule, CommonInformationEntry, EhFrame, Encoding, Operation, RegisterRule,
    UnwindContextStorage, UnwindExpression, UnwindTableRow, X86_64,
};

use super::recipe::{CalleeSaved, Recipe, Saved, Slot};
use super::registers::Register;
use crate::unwind::cfi::Bytes;

/// The recipe of a row, and where it finds the callee-saved registers besides rbp.
pub(in crate::unwind) fn recipe<S: UnwindContextStorage<usize>>(
    section: &EhFrame<Bytes<'_>>,
    cie: &CommonInformationEntry<Bytes<'_>>,
    row: &UnwindTableRow<usize, S>,
) -> Option<(Recipe, CalleeSaved)> {
    let expressions = Expressions { section, encoding: cie.encoding() };
    let saved =
        |register: Register| expressions.slot(row.register(gimli::Register(register.dwarf())));
    let callee_saved = CalleeSaved::new(CalleeSaved::REGISTERS.map(saved));
    let bp = saved(Register::RBP);
    let return_address = row.register(X86_64::RA)?;

    let recipe = if cie.is_signal_trampoline() {
        expressions.signal_frame(row.cfa(), &return_address)?
    } else {
        // Without a rule of its own the caller's rsp is the CFA (psABI x86-64, 3.7).
        match row.register(X86_64::RSP) {
            None | Some(RegisterRule::ValOffset(0)) => {}
            Some(_) => return None,
        }
        match return_address {
            RegisterRule::Undefined => Recipe::EndOfStack,
            RegisterRule::Offset(-8) => expressions.ordinary(row.cfa(), bp)?,
            RegisterRule::Register(register) => match *row.cfa() {
                CfaRule::RegisterAndOffset { register: X86_64::RSP, offset } => {
                    let register = Register::from_dwarf(register.0)?;
                    Recipe::ReturnInRegister { register, bp, offset: offset.try_into().ok()? }
                }
                _ => return None,
            },
            _ => return None,
        }
    };
    Some((recipe, callee_saved))
}

struct Expressions<'s, 'a> {
    section: &'s EhFrame<Bytes<'a>>,
    encoding: Encoding,
}

impl Expressions<'_, '_> {
    /// A row whose return address is at CFA − 8.
    fn ordinary(&self, cfa: &CfaRule<usize>, bp: Slot) -> Option<Recipe> {
        let (register, offset) = match cfa {
            CfaRule::RegisterAndOffset { register, offset } => (*register, *offset),
            CfaRule::Expression(expression) => match self.shape(expression)? {
                Shape::Sum { register, offset } => (register, offset),
                Shape::Load { register, inner, outer } => {
                    let register = Register::from_dwarf(register.0)?;
                    let (inner, outer) = (inner.try_into().ok()?, outer.try_into().ok()?);
                    return Some(Recipe::Deref { register, bp, inner, outer });
                }
                Shape::IndexedLoad { index, inner, outer } => {
                    let index = Register::from_dwarf(index.0)?;
                    let (inner, outer) = (inner.try_into().ok()?, outer.try_into().ok()?);
                    return Some(Recipe::Indexed { index, bp, inner, outer });
                }
                Shape::Plt { threshold } => return Some(Recipe::Plt { threshold }),
            },
        };
        let offset = i32::try_from(offset).ok()?;
        Some(match register {
            X86_64::RSP => Recipe::Sp { bp, offset },
            X86_64::RBP => Recipe::Bp { bp, offset },
            other => Recipe::Register { register: Register::from_dwarf(other.0)?, bp, offset },
        })
    }

    /// A row of a CIE with the `S` augmentation, if it describes a `ucontext_t` at the stack
    /// pointer: rsp in word 15 of `gregs`, at byte 160, and rip in word 16, at byte 168.
    fn signal_frame(
        &self,
        cfa: &CfaRule<usize>,
        return_address: &RegisterRule<usize>,
    ) -> Option<Recipe> {
        let (CfaRule::Expression(cfa), RegisterRule::Expression(ip)) = (cfa, return_address) else {
            return None;
        };
        let sp = Shape::Load { register: X86_64::RSP, inner: 160, outer: 0 };
        let slot = Shape::Sum { register: X86_64::RSP, offset: 168 };
        (self.shape(cfa)? == sp && self.shape(ip)? == slot).then_some(Recipe::SignalFrame)
    }

    /// Where a register of the caller is. A register without a rule keeps its value: callee-saved
    /// ones are the only ones asked for.
    fn slot(&self, rule: Option<RegisterRule<usize>>) -> Slot {
        let saved = match rule {
            None | Some(RegisterRule::SameValue) => Saved::Same,
            Some(RegisterRule::Offset(offset)) => {
                offset.try_into().map_or(Saved::Lost, Saved::AtCfa)
            }
            Some(RegisterRule::Expression(expression)) => match self.shape(&expression) {
                Some(Shape::Sum { register: X86_64::RBP, offset }) => {
                    offset.try_into().map_or(Saved::Lost, Saved::AtBp)
                }
                Some(Shape::Sum { register: X86_64::RSP, offset }) => {
                    offset.try_into().map_or(Saved::Lost, Saved::AtSp)
                }
                _ => Saved::Lost,
            },
            Some(_) => Saved::Lost,
        };
        Slot::new(saved)
    }

    /// The meaning of an expression, if it is one of the few in use.
    fn shape(&self, expression: &UnwindExpression<usize>) -> Option<Shape> {
        let mut operations = expression.get(self.section).ok()?.operations(self.encoding);
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
            ] => Some(Shape::Plt { threshold: *threshold as u8 }),
            _ => None,
        }
    }
}

/// The expressions in use.
#[derive(PartialEq, Eq)]
enum Shape {
    /// `register + offset`
    Sum { register: gimli::Register, offset: i64 },
    /// `*(register + inner) + outer`
    Load { register: gimli::Register, inner: i64, outer: i64 },
    /// `*(rsp + index * 8 + inner) + outer`
    IndexedLoad { index: gimli::Register, inner: i64, outer: i64 },
    /// `rsp + 8 + (rip & 15 >= threshold ? 8 : 0)`
    Plt { threshold: u8 },
}
