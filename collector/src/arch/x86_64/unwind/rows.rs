//! The rows of one FDE, as far as recipes need them.
//!
//! Both sides: allocates nothing. Evaluates call frame instructions (DWARF 5, 6.4.2) on a state of
//! the CFA, the return address and the callee-saved registers alone. The walk of a large function's
//! frame goes through hundreds of them in the handler, and start-up of every profiled program
//! through those of what it opens, so they are decoded here, a byte at a time, and no operand is
//! kept that no recipe needs. gimli's table and readelf's are the references in the tests.
//!
//! Each form of rule that compilers, linkers and hand-written assembly are known to use has a
//! recipe; the rest is `None`, which the builder counts.

use core::ops::Range;

use gimli::{Register as Number, X86_64};

use super::expression::{Shape, shape};
use super::recipe::{CalleeSaved, Recipe, Saved, Slot};
use super::registers::Register;
use crate::eh_frame::{Cie, Cursor, Fde};

/// A row became complete: from this address on, these hold. `None` where no recipe can say it.
pub(crate) type FoundRecipe = Option<(Recipe, CalleeSaved)>;

/// What all FDEs of one CIE share.
pub(crate) struct Shared<'a> {
    initial: Row<'a>,
    code_factor: u64,
    data_factor: i64,
    signal: bool,
}

/// What holds at one address.
#[derive(Clone, Copy)]
struct Row<'a> {
    /// `cfa = register + offset`, unless there is an expression. An expression does not disturb
    /// them: the runtime of gcc goes on with the old offset when a register is defined after it,
    /// and libgcrypt's assembly relies on that.
    cfa_register: Number,
    cfa_offset: i64,
    cfa_expression: Option<&'a [u8]>,
    return_address: ReturnAddress<'a>,
    bp: Slot,
    callee_saved: [Slot; 5],
    /// Whether the caller's rsp is the CFA, as it is unless a rule says otherwise (psABI x86-64,
    /// 3.7).
    sp_is_cfa: bool,
}

#[derive(Clone, Copy)]
enum ReturnAddress<'a> {
    /// No rule was given.
    None,
    Undefined,
    /// `*(cfa + offset)`
    AtCfa(i64),
    Register(Number),
    /// At the address that the expression gives.
    Expression(&'a [u8]),
    /// Any other rule.
    Other,
}

impl Row<'_> {
    const UNSPECIFIED: Self = Self {
        cfa_register: X86_64::RSP,
        cfa_offset: 0,
        cfa_expression: None,
        return_address: ReturnAddress::None,
        bp: Slot::SAME,
        callee_saved: [Slot::SAME; 5],
        sp_is_cfa: true,
    };

    /// The slot of a register that recipes speak of.
    #[inline]
    fn slot(&mut self, register: Number) -> Option<&mut Slot> {
        let [rbx, r12, r13, r14, r15] = &mut self.callee_saved;
        Some(match register {
            X86_64::RBP => &mut self.bp,
            X86_64::RBX => rbx,
            X86_64::R12 => r12,
            X86_64::R13 => r13,
            X86_64::R14 => r14,
            X86_64::R15 => r15,
            _ => return None,
        })
    }

    /// Back to what the CIE says of this register.
    fn restore(&mut self, register: Number, mut initial: Self) {
        match register {
            X86_64::RA => self.return_address = initial.return_address,
            X86_64::RSP => self.sp_is_cfa = initial.sp_is_cfa,
            _ => {
                if let (Some(slot), Some(first)) = (self.slot(register), initial.slot(register)) {
                    *slot = *first;
                }
            }
        }
    }
}

/// A register rule, in the order of DWARF 5, 6.4.1.
enum Rule<'a> {
    Undefined,
    Same,
    AtCfa(i64),
    Register(Number),
    Expression(&'a [u8]),
    /// The value, not the place, is given.
    Value,
}

impl<'a> Shared<'a> {
    /// Evaluates the CIE's initial instructions; `None` if they cannot be read.
    pub(crate) fn new(cie: &Cie<'a>) -> Option<Self> {
        let mut shared = Self {
            initial: Row::UNSPECIFIED,
            code_factor: cie.code_factor,
            data_factor: cie.data_factor,
            signal: cie.is_signal_frame,
        };
        let mut evaluation = Evaluation::new(&shared, 0);
        evaluation.run(cie.instructions, |_, _| {})?;
        shared.initial = evaluation.row;
        Some(shared)
    }

    /// Gives each row of an FDE to `emit`, with the address from which on it holds, ascending.
    /// `None`, and what was given so far, if the rest cannot be read.
    ///
    /// The result is whether the function saves rax and rdx but not rcx. They are the caller's to
    /// lose, so ordinary functions save none of them, and entry hooks (`__fentry__`) all. The first
    /// two alone are saved by what leaves by `__builtin_eh_return`, which hands the landing pad its
    /// two words in them (psABI x86-64, 6.2.4): the entry points of libgcc's unwinder.
    pub(crate) fn rows(
        &self,
        fde: &Fde<'a>,
        mut emit: impl FnMut(u64, FoundRecipe),
    ) -> Option<bool> {
        let mut evaluation = Evaluation::new(self, fde.code.start);
        let run = evaluation.run(fde.instructions, |address, row| {
            emit(address, self.recipe(row));
        });
        emit(evaluation.address, run.and_then(|()| self.recipe(&evaluation.row)));
        run.map(|()| evaluation.scratch == [true, true, false])
    }

    /// The row of an FDE that holds at `pc`, which must lie in its code, and the addresses at which
    /// it does. `None` also where the instructions that lead to it cannot be read.
    pub(crate) fn row_at(&self, fde: &Fde<'a>, pc: u64) -> (FoundRecipe, Range<u64>) {
        let mut evaluation = Evaluation::new(self, fde.code.start);
        evaluation.last = pc;
        let mut start = fde.code.start;
        let run = evaluation.run(fde.instructions, |address, _| start = address);
        let (start, end) = match evaluation.address {
            next if next > pc => (start, next.min(fde.code.end)),
            last => (last, fde.code.end),
        };
        (run.and_then(|()| self.recipe(&evaluation.row)), start..end)
    }

    fn recipe(&self, row: &Row<'_>) -> FoundRecipe {
        if self.signal {
            return Some((Self::signal_frame(row)?, CalleeSaved::LOST));
        }
        if !row.sp_is_cfa {
            return None;
        }
        let recipe = match row.return_address {
            ReturnAddress::AtCfa(-8) => Self::ordinary(row)?,
            ReturnAddress::Undefined => Recipe::EndOfStack,
            ReturnAddress::Register(register) => {
                if row.cfa_register != X86_64::RSP || row.cfa_expression.is_some() {
                    return None;
                }
                Recipe::ReturnInRegister {
                    register: Register::from_dwarf(register.0)?,
                    bp: row.bp,
                    offset: row.cfa_offset.try_into().ok()?,
                }
            }
            _ => return None,
        };
        Some((recipe, CalleeSaved::new(row.callee_saved)))
    }

    /// A row whose return address is at CFA − 8.
    fn ordinary(row: &Row<'_>) -> Option<Recipe> {
        let bp = row.bp;
        let (register, offset) = match row.cfa_expression {
            None => (row.cfa_register, row.cfa_offset),
            Some(expression) => match shape(expression)? {
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
    fn signal_frame(row: &Row<'_>) -> Option<Recipe> {
        let ReturnAddress::Expression(ip) = row.return_address else { return None };
        let cfa = row.cfa_expression?;
        let sp = Shape::Load { register: X86_64::RSP, inner: 160, outer: 0 };
        let slot = Shape::Sum { register: X86_64::RSP, offset: 168 };
        let found = (shape(cfa)?, shape(ip)?);
        (found == (sp, slot)).then_some(Recipe::SignalFrame)
    }
}

/// The most rows that DW_CFA_remember_state keeps at a time. Compilers nest one deep, hand-written
/// assembly two.
const REMEMBERED: usize = 8;

/// The stack of DW_CFA_remember_state and DW_CFA_restore_state.
struct Remembered<'a> {
    rows: [Option<Row<'a>>; REMEMBERED],
    length: usize,
}

impl<'a> Remembered<'a> {
    #[inline]
    fn push(&mut self, row: Row<'a>) -> Option<()> {
        *self.rows.get_mut(self.length)? = Some(row);
        self.length += 1;
        Some(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Row<'a>> {
        self.length = self.length.checked_sub(1)?;
        *self.rows.get(self.length)?
    }
}

/// The operation, where the two high bits of a call frame instruction are zero (DWARF 5, 7.24).
mod op {
    pub(super) const NOP: u8 = 0x00;
    pub(super) const ADVANCE_LOC1: u8 = 0x02;
    pub(super) const ADVANCE_LOC2: u8 = 0x03;
    pub(super) const ADVANCE_LOC4: u8 = 0x04;
    pub(super) const OFFSET_EXTENDED: u8 = 0x05;
    pub(super) const RESTORE_EXTENDED: u8 = 0x06;
    pub(super) const UNDEFINED: u8 = 0x07;
    pub(super) const SAME_VALUE: u8 = 0x08;
    pub(super) const REGISTER: u8 = 0x09;
    pub(super) const REMEMBER_STATE: u8 = 0x0a;
    pub(super) const RESTORE_STATE: u8 = 0x0b;
    pub(super) const DEF_CFA: u8 = 0x0c;
    pub(super) const DEF_CFA_REGISTER: u8 = 0x0d;
    pub(super) const DEF_CFA_OFFSET: u8 = 0x0e;
    pub(super) const DEF_CFA_EXPRESSION: u8 = 0x0f;
    pub(super) const EXPRESSION: u8 = 0x10;
    pub(super) const OFFSET_EXTENDED_SF: u8 = 0x11;
    pub(super) const DEF_CFA_SF: u8 = 0x12;
    pub(super) const DEF_CFA_OFFSET_SF: u8 = 0x13;
    pub(super) const VAL_OFFSET: u8 = 0x14;
    pub(super) const VAL_OFFSET_SF: u8 = 0x15;
    pub(super) const VAL_EXPRESSION: u8 = 0x16;
    /// gcc's: bytes of arguments that the callee pops.
    pub(super) const ARGS_SIZE: u8 = 0x2e;
}

/// Call frame instructions in progress.
struct Evaluation<'s, 'a> {
    shared: &'s Shared<'a>,
    /// From here on `row` holds.
    address: u64,
    /// Rows that begin beyond this address are not asked for.
    last: u64,
    row: Row<'a>,
    remembered: Remembered<'a>,
    /// Whether some row saves rax, rdx, rcx at the CFA.
    scratch: [bool; 3],
}

impl<'s, 'a> Evaluation<'s, 'a> {
    fn new(shared: &'s Shared<'a>, address: u64) -> Self {
        Self {
            shared,
            address,
            last: u64::MAX,
            row: shared.initial,
            remembered: Remembered { rows: [None; REMEMBERED], length: 0 },
            scratch: [false; 3],
        }
    }

    /// Gives each row but the last to `complete`; `None` where an instruction cannot be read.
    /// Afterwards `row` is the last one that begins at or before `last`.
    ///
    /// DW_CFA_set_loc is not read: no assembler writes it.
    #[inline]
    fn run(
        &mut self,
        instructions: &'a [u8],
        mut complete: impl FnMut(u64, &Row<'a>),
    ) -> Option<()> {
        let data = self.shared.data_factor;
        let mut input = Cursor(instructions);
        while let Some(byte) = input.byte() {
            let low = byte & 0x3f;
            let delta = match (byte >> 6, low) {
                (1, _) => u32::from(low),
                (2, _) => {
                    let offset = (input.unsigned()? as i64).wrapping_mul(data);
                    self.set(Number(low.into()), Rule::AtCfa(offset));
                    continue;
                }
                (3, _) => {
                    self.row.restore(Number(low.into()), self.shared.initial);
                    continue;
                }
                (_, op::ADVANCE_LOC1) => input.byte()?.into(),
                (_, op::ADVANCE_LOC2) => u16::from_le_bytes(input.array()?).into(),
                (_, op::ADVANCE_LOC4) => u32::from_le_bytes(input.array()?),
                (_, other) => {
                    self.change(other, &mut input)?;
                    continue;
                }
            };
            complete(self.address, &self.row);
            let bytes = u64::from(delta).wrapping_mul(self.shared.code_factor);
            self.address = self.address.checked_add(bytes)?;
            if self.address > self.last {
                break;
            }
        }
        Some(())
    }

    /// One of the longer instructions that change the row.
    #[inline]
    fn change(&mut self, operation: u8, input: &mut Cursor<'a>) -> Option<()> {
        let data = self.shared.data_factor;
        match operation {
            op::DEF_CFA_OFFSET => self.row.cfa_offset = input.unsigned()? as i64,
            op::REMEMBER_STATE => self.remembered.push(self.row)?,
            op::RESTORE_STATE => self.row = self.remembered.pop()?,
            op::DEF_CFA => {
                self.define_register(number(input)?);
                self.row.cfa_offset = input.unsigned()? as i64;
            }
            op::DEF_CFA_REGISTER => self.define_register(number(input)?),
            op::DEF_CFA_SF => {
                self.define_register(number(input)?);
                self.row.cfa_offset = input.signed()?.wrapping_mul(data);
            }
            op::DEF_CFA_OFFSET_SF => self.row.cfa_offset = input.signed()?.wrapping_mul(data),
            op::DEF_CFA_EXPRESSION => self.row.cfa_expression = Some(input.block()?),
            op::OFFSET_EXTENDED => {
                let register = number(input)?;
                let offset = (input.unsigned()? as i64).wrapping_mul(data);
                self.set(register, Rule::AtCfa(offset));
            }
            op::OFFSET_EXTENDED_SF => {
                let register = number(input)?;
                self.set(register, Rule::AtCfa(input.signed()?.wrapping_mul(data)));
            }
            op::RESTORE_EXTENDED => self.row.restore(number(input)?, self.shared.initial),
            op::UNDEFINED => self.set(number(input)?, Rule::Undefined),
            op::SAME_VALUE => self.set(number(input)?, Rule::Same),
            op::REGISTER => {
                let register = number(input)?;
                self.set(register, Rule::Register(number(input)?));
            }
            op::EXPRESSION => {
                let register = number(input)?;
                self.set(register, Rule::Expression(input.block()?));
            }
            op::VAL_OFFSET | op::VAL_OFFSET_SF => {
                let register = number(input)?;
                // Zero is zero in both forms.
                if input.signed()? == 0 && register == X86_64::RSP {
                    self.row.sp_is_cfa = true;
                } else {
                    self.set(register, Rule::Value);
                }
            }
            op::VAL_EXPRESSION => {
                let register = number(input)?;
                input.block()?;
                self.set(register, Rule::Value);
            }
            op::ARGS_SIZE => {
                input.unsigned()?;
            }
            op::NOP => {}
            // Of other architectures.
            _ => return None,
        }
        Some(())
    }

    fn define_register(&mut self, register: Number) {
        self.row.cfa_register = register;
        self.row.cfa_expression = None;
    }

    #[inline]
    fn set(&mut self, register: Number, rule: Rule<'a>) {
        if let Some(slot) = self.row.slot(register) {
            *slot = Slot::new(saved(rule));
        } else if register == X86_64::RA {
            self.row.return_address = match rule {
                Rule::Undefined => ReturnAddress::Undefined,
                Rule::AtCfa(offset) => ReturnAddress::AtCfa(offset),
                Rule::Register(register) => ReturnAddress::Register(register),
                Rule::Expression(expression) => ReturnAddress::Expression(expression),
                Rule::Same | Rule::Value => ReturnAddress::Other,
            };
        } else if register == X86_64::RSP {
            self.row.sp_is_cfa = false;
        } else if let X86_64::RAX | X86_64::RDX | X86_64::RCX = register {
            // DWARF numbers them 0, 1 and 2.
            self.scratch[usize::from(register.0)] |= matches!(rule, Rule::AtCfa(_));
        }
    }
}

/// A register's number.
#[inline]
fn number(input: &mut Cursor<'_>) -> Option<Number> {
    Some(Number(input.unsigned()?.try_into().ok()?))
}

#[inline]
fn saved(rule: Rule<'_>) -> Saved {
    match rule {
        Rule::Same => Saved::Same,
        Rule::AtCfa(offset) => offset.try_into().map_or(Saved::Lost, Saved::AtCfa),
        Rule::Expression(expression) => match shape(expression) {
            Some(Shape::Sum { register: X86_64::RBP, offset }) => {
                offset.try_into().map_or(Saved::Lost, Saved::AtBp)
            }
            Some(Shape::Sum { register: X86_64::RSP, offset }) => {
                offset.try_into().map_or(Saved::Lost, Saved::AtSp)
            }
            _ => Saved::Lost,
        },
        Rule::Undefined | Rule::Register(_) | Rule::Value => Saved::Lost,
    }
}
