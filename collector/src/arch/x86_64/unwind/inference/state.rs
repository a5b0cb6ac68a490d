//! What registers and stack slots hold on the way through code without call frame information, in
//! terms of what they hold at its start. SIGNAL side: no heap.

use crate::arch::unwind::instruction::{Effect, RegisterSet};
use crate::arch::unwind::list::List;
use crate::arch::unwind::recipe::{CalleeSaved, Recipe, Saved, Slot};
use crate::arch::unwind::registers::Register;

/// How a frame seems to be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The way to its caller.
    pub recipe: Recipe,
    /// Where the caller's rbx and r12 to r15 are.
    pub saved: CalleeSaved,
    /// Registers that the caller finds as they are now.
    pub kept: RegisterSet,
    /// Registers in terms of which the caller's stack pointer and registers are said.
    pub terms: RegisterSet,
    /// Whether every register that a caller wants back is kept or restored. If not, only code that
    /// knows this function can have called it.
    pub conforms: bool,
    /// Whether the stack pointer is at the return address at first, and was moved below it since:
    /// as a function begins.
    pub begins: bool,
    /// Whether more than the return address may be taken off the stack with it.
    pub takes_more: bool,
    /// The same holds at instructions that begin up to so many bytes further on.
    pub reach: u8,
}

impl Inferred {
    /// Nothing is known.
    pub const NOTHING: Self = Self {
        recipe: Recipe::NoCfi,
        saved: CalleeSaved::LOST,
        kept: 0,
        terms: 0,
        conforms: false,
        begins: false,
        takes_more: false,
        reach: 0,
    };

    /// The same, of the instruction alone that it was tried at.
    #[must_use]
    pub const fn here(self) -> Self {
        Self { reach: 0, ..self }
    }
}

/// Words on the stack that are followed.
const MOST_SLOTS: usize = 16;

/// What a register or a slot holds, in terms of the registers at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Unknown,
    /// Something that was on the stack, it cannot be said where.
    Restored,
    /// `register + offset`
    At(Register, i32),
    /// `*(register + inner) + outer`
    Word(Register, i16, i16),
    /// `*(*(register + inner) + outer)`
    Behind(Register, i16, i16),
    /// What the stack pointer became when it was lowered for the n-th time by an amount that only
    /// the run decides, and so many bytes.
    Lowered(u8, i32),
}

impl Value {
    fn plus(self, offset: i32) -> Self {
        let sum = match self {
            Self::At(register, from) => from.checked_add(offset).map(|sum| Self::At(register, sum)),
            Self::Lowered(nth, from) => from.checked_add(offset).map(|sum| Self::Lowered(nth, sum)),
            Self::Word(register, inner, outer) => {
                let outer = i16::try_from(i32::from(outer) + i32::from(offset as i16));
                let small = i16::try_from(offset).is_ok();
                outer.ok().filter(|_| small).map(|outer| Self::Word(register, inner, outer))
            }
            Self::Unknown | Self::Restored | Self::Behind(..) => None,
        };
        sum.unwrap_or(Self::Unknown)
    }

    /// The register in terms of which it is said.
    const fn base(self) -> Option<Register> {
        match self {
            Self::At(base, _) | Self::Word(base, ..) | Self::Behind(base, ..) => Some(base),
            Self::Unknown | Self::Restored | Self::Lowered(..) => None,
        }
    }

    /// Bytes from `other` to here, if that can be said.
    pub(super) fn minus(self, other: Self) -> Option<i32> {
        match (self, other) {
            (Self::At(one, a), Self::At(other, b)) if one == other => a.checked_sub(b),
            (Self::Lowered(one, a), Self::Lowered(other, b)) if one == other => a.checked_sub(b),
            _ => None,
        }
    }
}

/// Registers that a caller wants back (psABI x86-64, figure 3.4), besides rsp.
const WANTED: [Register; 6] =
    [Register::RBP, Register::RBX, Register::R12, Register::R13, Register::R14, Register::R15];

/// What is known before an instruction.
pub(super) struct State {
    /// By DWARF number.
    registers: [Value; 16],
    /// Address and content of words that were written on the way.
    slots: List<(Value, Value), MOST_SLOTS>,
    lowered: u8,
    /// Whether something was written to the word above that to which rbp pointed at the start.
    is_return_written: bool,
    /// Whether the stack pointer was lower than at the start.
    is_lower: bool,
}

impl Inferred {
    /// The same where nothing is known of the registers that functions keep.
    pub(super) fn without_registers(self) -> Self {
        Self { saved: CalleeSaved::LOST, kept: 0, conforms: false, ..self }
    }
}

impl State {
    pub(super) fn new() -> Self {
        let register = |number: usize| Register::from_dwarf(number as u16);
        let registers = core::array::from_fn(|number| {
            register(number).map_or(Value::Unknown, |register| Value::At(register, 0))
        });
        Self {
            registers,
            slots: List::new((Value::Unknown, Value::Unknown)),
            lowered: 0,
            is_return_written: false,
            is_lower: false,
        }
    }

    fn get(&self, register: Register) -> Value {
        self.registers.get(index(register)).copied().unwrap_or(Value::Unknown)
    }

    pub(super) fn sp(&self) -> Value {
        self.get(Register::RSP)
    }

    /// `None` if it cannot be said any more where the stack is.
    fn set(&mut self, register: Register, value: Value) -> Option<()> {
        *self.registers.get_mut(index(register))? = value;
        if register == Register::RSP {
            if matches!(value, Value::Unknown | Value::Restored | Value::Behind(..)) {
                return None;
            }
            self.is_lower |= matches!(value, Value::Lowered(..) | Value::At(Register::RSP, ..0));
            // What lies below it can be overwritten at any time.
            self.slots.retain(|(at, _)| at.minus(value).is_none_or(|above| above >= 0));
        }
        Some(())
    }

    fn load(&self, at: Value) -> Value {
        let written = self.slots.as_slice().iter();
        for (slot, content) in written {
            match slot.minus(at) {
                Some(0) => return *content,
                Some(-7..=7) => return Value::Unknown,
                _ => {}
            }
        }
        match at {
            Value::At(register, offset) => i16::try_from(offset)
                .map_or(Value::Restored, |inner| Value::Word(register, inner, 0)),
            Value::Word(register, inner, outer) => Value::Behind(register, inner, outer),
            // Below where the stack was lowered, nothing was saved that was not seen.
            Value::Lowered(..) | Value::Unknown => Value::Unknown,
            Value::Restored | Value::Behind(..) => Value::Restored,
        }
    }

    fn store(&mut self, at: Value, content: Value) -> Option<()> {
        self.slots.retain(|(slot, _)| slot.minus(at).is_none_or(|apart| apart.unsigned_abs() >= 8));
        match at {
            Value::At(..) | Value::Lowered(..) => {}
            // Not on the stack, as far as anybody knows.
            _ => return Some(()),
        }
        if self.slots.push((at, content)).is_some() {
            return Some(());
        }
        // What is reached by another register is more likely data.
        let sp = self.sp().base();
        let is_on_stack = |at: Value| {
            let base = at.base();
            base.is_none_or(|base| matches!(base, Register::RSP | Register::RBP)) || base == sp
        };
        self.slots.retain(|(slot, _)| is_on_stack(*slot));
        if is_on_stack(at) { self.slots.push((at, content)) } else { Some(()) }
    }

    /// What an instruction may write to the memory that it names, besides what its effect says: of
    /// the words that were written before, those are unknown then.
    pub(super) fn doubt(&mut self, effect: Effect, memory: Option<(Register, i32)>) {
        if matches!(effect, Effect::Load { .. } | Effect::Store { .. }) {
            return;
        }
        let Some((base @ (Register::RSP | Register::RBP), offset)) = memory else { return };
        let at = self.get(base).plus(offset);
        // Vectors are longer, but how long is not known.
        let is_near = |slot: Value| slot.minus(at).is_some_and(|above| (-7..8).contains(&above));
        self.slots
            .update(|(slot, content)| (slot, if is_near(slot) { Value::Unknown } else { content }));
    }

    /// What an instruction is about to write to where a frame that rbp points to has its return
    /// address: SBCL pops it there.
    pub(super) fn note_written(&mut self, effect: Effect, memory: Option<(Register, i32)>) {
        let place = match effect {
            Effect::Store { base, offset, .. } | Effect::Overwrite { base, offset } => {
                Some((base, offset))
            }
            Effect::Pop(None) => memory,
            _ => None,
        };
        let Some((base, offset)) = place else { return };
        let apart = self.get(base).plus(offset).minus(Value::At(Register::RBP, 8));
        self.is_return_written |= apart.is_some_and(|apart| (-7..8).contains(&apart));
    }

    fn pop(&mut self, to: Option<Register>) -> Option<()> {
        let sp = self.sp();
        let content = self.load(sp);
        self.set(Register::RSP, sp.plus(8))?;
        to.map_or(Some(()), |register| self.set(register, content))
    }

    fn forget(&mut self, set: RegisterSet) -> Option<()> {
        for (number, value) in self.registers.iter_mut().enumerate() {
            if set >> number & 1 == 1 {
                *value = Value::Unknown;
            }
        }
        (set & bit(Register::RSP) == 0).then_some(())
    }

    /// Everything but control. `None` if the stack cannot be followed any more.
    pub(super) fn apply(&mut self, effect: Effect) -> Option<()> {
        match effect {
            Effect::Push(register) => {
                let content = register.map_or(Value::Unknown, |register| self.get(register));
                let sp = self.sp().plus(-8);
                self.set(Register::RSP, sp)?;
                self.store(sp, content)
            }
            Effect::Pop(to) => self.pop(to),
            Effect::Add { to, from, offset } => self.set(to, self.get(from).plus(offset)),
            Effect::Load { to, base: base @ (Register::RSP | Register::RBP), offset } => {
                self.set(to, self.load(self.get(base).plus(offset)))
            }
            Effect::Load { to, .. } => self.set(to, Value::Unknown),
            Effect::Store { from, base, offset } => {
                self.store(self.get(base).plus(offset), self.get(from))
            }
            Effect::Overwrite { base, offset } => {
                // Only what a stack register leads to can be what is looked for.
                let at = self.get(base).plus(offset);
                match at.minus(self.sp()) {
                    Some(_) => self.store(at, Value::Unknown),
                    None => Some(()),
                }
            }
            Effect::Lower => {
                self.lowered = self.lowered.checked_add(1)?;
                self.set(Register::RSP, Value::Lowered(self.lowered, 0))
            }
            Effect::Leave => {
                self.set(Register::RSP, self.get(Register::RBP))?;
                self.pop(Some(Register::RBP))
            }
            Effect::Change(set) => self.forget(set),
            Effect::None
            | Effect::Padding
            | Effect::Call(_)
            | Effect::Jump(_)
            | Effect::Branch(_)
            | Effect::JumpIndirect(_)
            | Effect::Return
            | Effect::Stop => Some(()),
        }
    }

    /// A call comes back. Besides `kept` it keeps what the ABI says.
    pub(super) fn call(&mut self, kept: RegisterSet) {
        let kept = WANTED.iter().fold(kept | bit(Register::RSP), |set, kept| set | bit(*kept));
        // The stack pointer is kept, so that the stack can still be followed.
        let _followed = self.forget(!kept);
    }

    /// Registers that hold what they held at the start.
    pub(super) fn kept(&self) -> RegisterSet {
        let is_kept = |(number, value): (usize, &Value)| {
            let same = Register::from_dwarf(number as u16).map(|register| Value::At(register, 0));
            (same == Some(*value)).then_some(1 << number)
        };
        self.registers.iter().enumerate().filter_map(is_kept).fold(0, |set, bit: u16| set | bit)
    }

    /// Whether rsp is at the return address of the frame that rbp pointed to at the start, where it
    /// was not then.
    pub(super) fn has_moved_return(&self) -> bool {
        self.sp() == Value::At(Register::RBP, 8) && self.is_return_written
    }

    /// How a function returns here, if a frame has just been taken down that lies right below the
    /// return address (psABI x86-64, 3.2.2).
    pub(super) fn leave_frame(&self) -> Option<Inferred> {
        let is_frame = match (self.sp(), self.get(Register::RBP)) {
            (Value::At(Register::RBP, 8), Value::Word(Register::RBP, 0, 0)) => {
                !self.has_moved_return()
            }
            (Value::At(Register::RSP, 0..), Value::At(Register::RBP, 0)) => true,
            _ => false,
        };
        // What is restored behind that was not seen.
        let found = self.leave().filter(|_| is_frame)?.without_registers();
        Some(Inferred { takes_more: true, ..found })
    }

    /// How a function returns here, if one can.
    pub(super) fn leave(&self) -> Option<Inferred> {
        let is_as_wanted = |register: &Register| match self.get(*register) {
            Value::At(found, 0) => found == *register,
            Value::Word(_, _, 0) | Value::Behind(..) | Value::Restored => true,
            _ => false,
        };
        let conforms = WANTED.iter().all(is_as_wanted);
        let saved = CalleeSaved::new(CalleeSaved::REGISTERS.map(|register| self.saved(register)));
        let recipe = self.recipe()?;
        let values = WANTED.iter().map(|register| self.get(*register)).chain([self.sp()]);
        let terms = values.filter_map(Value::base).fold(0, |set, base| set | bit(base));
        let begins = self.is_lower && self.sp() == Value::At(Register::RSP, 0);
        let (kept, takes_more) = (self.kept(), false);
        Some(Inferred { recipe, saved, kept, terms, conforms, begins, takes_more, reach: 0 })
    }

    /// The way to the return address, if rsp is there.
    fn recipe(&self) -> Option<Recipe> {
        let word = |offset: i32| offset.checked_add(8);
        let bp = self.saved(Register::RBP);
        Some(match self.sp() {
            Value::At(Register::RSP, offset) if offset >= 0 => {
                Recipe::Sp { bp, offset: word(offset)? }
            }
            Value::At(Register::RBP, offset) => Recipe::Bp { bp, offset: word(offset)? },
            Value::At(register, offset) if register != Register::RSP => {
                Recipe::Register { register, bp, offset: word(offset)? }
            }
            Value::Word(register, inner, outer) => {
                let outer = i16::try_from(word(outer.into())?).ok()?;
                Recipe::Deref { register, bp, inner, outer }
            }
            _ => return None,
        })
    }

    /// Where the caller's value of a register is, if rsp is at the return address.
    fn saved(&self, register: Register) -> Slot {
        let at_cfa = |above_return: i32| {
            let offset = above_return.checked_sub(8).map(i16::try_from);
            offset.and_then(Result::ok).map_or(Slot::LOST, Slot::at_cfa)
        };
        match (self.get(register), self.sp()) {
            (Value::At(same, 0), _) if same == register => Slot::SAME,
            (Value::Word(base, inner, 0), Value::At(sp, offset)) if base == sp => {
                i32::from(inner).checked_sub(offset).map_or(Slot::LOST, at_cfa)
            }
            (Value::Word(Register::RSP, inner, 0), _) => Slot::new(Saved::AtSp(inner)),
            (Value::Word(Register::RBP, inner, 0), _) => Slot::new(Saved::AtBp(inner)),
            (Value::Behind(base, inner, outer), Value::Word(sp, at, offset))
                if (base, inner) == (sp, at) =>
            {
                at_cfa(i32::from(outer) - i32::from(offset))
            }
            _ => Slot::LOST,
        }
    }
}

const fn index(register: Register) -> usize {
    (register.dwarf() & 15) as usize
}

pub(super) const fn bit(register: Register) -> RegisterSet {
    1 << register.dwarf()
}
