//! The rows of one FDE, as far as recipes need them.
//!
//! Both sides: allocates nothing. Evaluates call frame instructions (DWARF 5, 6.4.2; decoded by
//! gimli) on a state of the CFA, the return address and the callee-saved registers alone. That is
//! several times faster than gimli's own table, which keeps a rule for every register, and
//! start-up time of every profiled program depends on it; gimli's table is the reference in the
//! tests instead.
//!
//! Each form of rule that compilers, linkers and hand-written assembly are known to use has a
//! recipe; the rest is `None`, which the builder counts.

use gimli::{
    BaseAddresses, CallFrameInstruction, CallFrameInstructionIter, CommonInformationEntry, EhFrame,
    Encoding, FrameDescriptionEntry, UnwindExpression, X86_64,
};

use super::expression::{Shape, shape};
use super::recipe::{CalleeSaved, Recipe, Saved, Slot};
use super::registers::Register;
use crate::unwind::cfi::Bytes;

/// A row became complete: from this address on, these hold. `None` where no recipe can say it.
pub(in crate::unwind) type Found = Option<(Recipe, CalleeSaved)>;

/// What all FDEs of one CIE share.
pub(in crate::unwind) struct Shared {
    initial: Row,
    code_factor: u64,
    data_factor: i64,
    encoding: Encoding,
    signal: bool,
}

/// What holds at one address.
#[derive(Clone, Copy)]
struct Row {
    /// `cfa = register + offset`, unless there is an expression. An expression does not disturb
    /// them: the runtime of gcc goes on with the old offset when a register is defined after it,
    /// and libgcrypt's assembly relies on that.
    cfa_register: gimli::Register,
    cfa_offset: i64,
    cfa_expression: Option<UnwindExpression<usize>>,
    return_address: ReturnAddress,
    bp: Slot,
    callee_saved: [Slot; 5],
    /// Whether the caller's rsp is the CFA, as it is unless a rule says otherwise (psABI x86-64,
    /// 3.7).
    sp_is_cfa: bool,
}

#[derive(Clone, Copy)]
enum ReturnAddress {
    /// No rule was given.
    None,
    Undefined,
    /// `*(cfa + offset)`
    AtCfa(i64),
    Register(gimli::Register),
    /// At the address that the expression gives.
    Expression(UnwindExpression<usize>),
    /// Any other rule.
    Other,
}

impl Row {
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
    fn slot(&mut self, register: gimli::Register) -> Option<&mut Slot> {
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
    fn restore(&mut self, register: gimli::Register, mut initial: Self) {
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
enum Rule {
    Undefined,
    Same,
    AtCfa(i64),
    Register(gimli::Register),
    Expression(UnwindExpression<usize>),
    /// The value, not the place, is given.
    Value,
}

impl Shared {
    /// Evaluates the CIE's initial instructions; `None` if they cannot be read.
    pub(in crate::unwind) fn new(
        section: &EhFrame<Bytes<'_>>,
        bases: &BaseAddresses,
        cie: &CommonInformationEntry<Bytes<'_>>,
    ) -> Option<Self> {
        let mut shared = Self {
            initial: Row::UNSPECIFIED,
            code_factor: cie.code_alignment_factor(),
            data_factor: cie.data_alignment_factor(),
            encoding: cie.encoding(),
            signal: cie.is_signal_trampoline(),
        };
        let mut evaluation = Evaluation::new(section, &shared, 0);
        evaluation.run(cie.instructions(section, bases), |_, _| {})?;
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
    pub(in crate::unwind) fn rows(
        &self,
        section: &EhFrame<Bytes<'_>>,
        bases: &BaseAddresses,
        fde: &FrameDescriptionEntry<Bytes<'_>>,
        mut emit: impl FnMut(u64, Found),
    ) -> Option<bool> {
        let mut evaluation = Evaluation::new(section, self, fde.initial_address());
        let run = evaluation.run(fde.instructions(section, bases), |address, row| {
            emit(address, self.recipe(section, row));
        });
        emit(evaluation.address, run.and_then(|()| self.recipe(section, &evaluation.row)));
        run.map(|()| evaluation.scratch == [true, true, false])
    }

    /// The row of an FDE that holds at `pc`, which must not lie before its code. `None` also where
    /// the instructions that lead to it cannot be read.
    pub(in crate::unwind) fn row_at(
        &self,
        section: &EhFrame<Bytes<'_>>,
        bases: &BaseAddresses,
        fde: &FrameDescriptionEntry<Bytes<'_>>,
        pc: u64,
    ) -> Found {
        let mut evaluation = Evaluation::new(section, self, fde.initial_address());
        evaluation.last = pc;
        evaluation.run(fde.instructions(section, bases), |_, _| {})?;
        self.recipe(section, &evaluation.row)
    }

    fn recipe(&self, section: &EhFrame<Bytes<'_>>, row: &Row) -> Found {
        if self.signal {
            return Some((self.signal_frame(section, row)?, CalleeSaved::LOST));
        }
        if !row.sp_is_cfa {
            return None;
        }
        let recipe = match row.return_address {
            ReturnAddress::AtCfa(-8) => self.ordinary(section, row)?,
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
    fn ordinary(&self, section: &EhFrame<Bytes<'_>>, row: &Row) -> Option<Recipe> {
        let bp = row.bp;
        let (register, offset) = match row.cfa_expression {
            None => (row.cfa_register, row.cfa_offset),
            Some(expression) => match shape(section, self.encoding, &expression)? {
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
    fn signal_frame(&self, section: &EhFrame<Bytes<'_>>, row: &Row) -> Option<Recipe> {
        let ReturnAddress::Expression(ip) = row.return_address else { return None };
        let cfa = row.cfa_expression?;
        let sp = Shape::Load { register: X86_64::RSP, inner: 160, outer: 0 };
        let slot = Shape::Sum { register: X86_64::RSP, offset: 168 };
        let found = (shape(section, self.encoding, &cfa)?, shape(section, self.encoding, &ip)?);
        (found == (sp, slot)).then_some(Recipe::SignalFrame)
    }
}

/// The most rows that DW_CFA_remember_state keeps at a time. Compilers nest one deep, hand-written
/// assembly two.
const REMEMBERED: usize = 8;

/// The stack of DW_CFA_remember_state and DW_CFA_restore_state.
struct Remembered {
    rows: [Option<Row>; REMEMBERED],
    length: usize,
}

impl Remembered {
    fn push(&mut self, row: Row) -> Option<()> {
        *self.rows.get_mut(self.length)? = Some(row);
        self.length += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<Row> {
        self.length = self.length.checked_sub(1)?;
        *self.rows.get(self.length)?
    }
}

/// Call frame instructions in progress.
struct Evaluation<'s, 'a> {
    section: &'s EhFrame<Bytes<'a>>,
    shared: &'s Shared,
    /// From here on `row` holds.
    address: u64,
    /// Rows that begin beyond this address are not asked for.
    last: u64,
    row: Row,
    remembered: Remembered,
    /// Whether some row saves rax, rdx, rcx at the CFA.
    scratch: [bool; 3],
}

impl<'s, 'a> Evaluation<'s, 'a> {
    fn new(section: &'s EhFrame<Bytes<'a>>, shared: &'s Shared, address: u64) -> Self {
        Self {
            section,
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
    fn run(
        &mut self,
        mut instructions: CallFrameInstructionIter<'_, Bytes<'_>>,
        mut complete: impl FnMut(u64, &Row),
    ) -> Option<()> {
        let data = self.shared.data_factor;
        while let Some(instruction) = instructions.next().ok()? {
            use CallFrameInstruction as I;
            match instruction {
                I::AdvanceLoc { delta } => {
                    complete(self.address, &self.row);
                    let bytes = u64::from(delta).wrapping_mul(self.shared.code_factor);
                    self.address = self.address.checked_add(bytes)?;
                    if self.address > self.last {
                        break;
                    }
                }
                I::SetLoc { address } => {
                    complete(self.address, &self.row);
                    self.address = (address >= self.address).then_some(address)?;
                    if self.address > self.last {
                        break;
                    }
                }
                I::DefCfa { register, offset } => {
                    self.define_register(register);
                    self.row.cfa_offset = offset as i64;
                }
                I::DefCfaSf { register, factored_offset } => {
                    self.define_register(register);
                    self.row.cfa_offset = factored_offset.wrapping_mul(data);
                }
                I::DefCfaRegister { register } => self.define_register(register),
                I::DefCfaOffset { offset } => self.row.cfa_offset = offset as i64,
                I::DefCfaOffsetSf { factored_offset } => {
                    self.row.cfa_offset = factored_offset.wrapping_mul(data);
                }
                I::DefCfaExpression { expression } => self.row.cfa_expression = Some(expression),
                I::Offset { register, factored_offset } => {
                    let offset = (factored_offset as i64).wrapping_mul(data);
                    self.set(register, Rule::AtCfa(offset));
                }
                I::OffsetExtendedSf { register, factored_offset } => {
                    self.set(register, Rule::AtCfa(factored_offset.wrapping_mul(data)));
                }
                I::Undefined { register } => self.set(register, Rule::Undefined),
                I::SameValue { register } => self.set(register, Rule::Same),
                I::ValOffset { register: X86_64::RSP, factored_offset: 0 }
                | I::ValOffsetSf { register: X86_64::RSP, factored_offset: 0 } => {
                    self.row.sp_is_cfa = true;
                }
                I::ValOffset { register, .. }
                | I::ValOffsetSf { register, .. }
                | I::ValExpression { register, .. } => self.set(register, Rule::Value),
                I::Register { dest_register, src_register } => {
                    self.set(dest_register, Rule::Register(src_register));
                }
                I::Expression { register, expression } => {
                    self.set(register, Rule::Expression(expression));
                }
                I::Restore { register } => self.row.restore(register, self.shared.initial),
                I::RememberState => self.remembered.push(self.row)?,
                I::RestoreState => self.row = self.remembered.pop()?,
                I::ArgsSize { .. } | I::Nop => {}
                // Of other architectures.
                _ => return None,
            }
        }
        Some(())
    }

    fn define_register(&mut self, register: gimli::Register) {
        self.row.cfa_register = register;
        self.row.cfa_expression = None;
    }

    fn set(&mut self, register: gimli::Register, rule: Rule) {
        if register == X86_64::RA {
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
        } else if self.row.slot(register).is_some() {
            let saved = Slot::new(self.saved(rule));
            if let Some(slot) = self.row.slot(register) {
                *slot = saved;
            }
        }
    }

    fn saved(&self, rule: Rule) -> Saved {
        match rule {
            Rule::Same => Saved::Same,
            Rule::AtCfa(offset) => offset.try_into().map_or(Saved::Lost, Saved::AtCfa),
            Rule::Expression(expression) => {
                match shape(self.section, self.shared.encoding, &expression) {
                    Some(Shape::Sum { register: X86_64::RBP, offset }) => {
                        offset.try_into().map_or(Saved::Lost, Saved::AtBp)
                    }
                    Some(Shape::Sum { register: X86_64::RSP, offset }) => {
                        offset.try_into().map_or(Saved::Lost, Saved::AtSp)
                    }
                    _ => Saved::Lost,
                }
            }
            Rule::Undefined | Rule::Register(_) | Rule::Value => Saved::Lost,
        }
    }
}
