//! A recipe for code without call frame information, read off the code itself.
//!
//! Hand-written assembly (codecs, matrix kernels, big numbers) and the start files of every library
//! (crtbegin.o) have no CFI. So the instructions are followed from where the frame stands to where
//! its function returns, with the values that registers and stack slots will have in terms of those
//! now: at the `ret`, the stack pointer is where the return address is, and rbp what the caller gets.
//! Where the way forks, it goes straight on; where that leads nowhere, the last fork is taken
//! differently.
//!
//! The ABI says what must be true at the end: rsp lies above where it was, and every register that
//! a caller wants back was left alone or comes from the stack. Assembly also has subroutines of its own
//! that keep no register. What is found is a guess still, which the
//! [`walk`](crate::unwind::walk) holds against the stack. SIGNAL side: no heap, and a bound on the
//! steps.

use super::instruction::{Effect, Instruction, RegisterSet, decode};
use super::list::List;
use super::recipe::{Recipe, Saved, Slot};
use super::registers::Register;

/// Instructions looked at in all, some 15 ns each. The longest functions of video codecs have
/// thousands without a fork.
const MOST_STEPS: u32 = 8192;
/// Forks that may be taken differently.
const MOST_FORKS: usize = 12;
/// Backward jumps that are remembered, to notice a way that goes in circles.
const MOST_JUMPS: usize = 16;
/// Words on the stack that are followed.
const MOST_SLOTS: usize = 16;

/// How a frame seems to be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The way to its caller.
    pub recipe: Recipe,
    /// Registers that the caller finds as they are now.
    pub kept: RegisterSet,
    /// Whether every register that a caller wants back is kept or restored. If not, only code that
    /// knows this function can have called it.
    pub conforms: bool,
}

impl Inferred {
    /// Nothing is known.
    pub const NOTHING: Self = Self { recipe: Recipe::NoCfi, kept: 0, conforms: false };
}

/// How the frame at `at` in `code` is left, by the first way that `believed` agrees to; `None` if
/// there is none.
#[must_use]
pub fn infer(
    code: &[u8],
    at: usize,
    mut believed: impl FnMut(Inferred) -> bool,
) -> Option<Inferred> {
    let mut steps = MOST_STEPS;
    let mut forks = List::<usize, MOST_FORKS>::new(usize::MAX);
    loop {
        let (found, fork) = follow(code, at, &forks, &mut steps);
        if let Some(found) = found.filter(|found| believed(*found)) {
            return Some(found);
        }
        forks.push(fork?)?;
    }
}

/// Whether a call may end at `end`: what lies before a return address.
#[must_use]
pub fn is_behind_call(code: &[u8], end: usize) -> bool {
    // `call rel32` and `call *…` have two to seven bytes, or eight with a prefix.
    (2..=8).any(|length| {
        let call = end.checked_sub(length).and_then(|start| code.get(start..end));
        let found = call.and_then(decode);
        found.is_some_and(|Instruction { length: found, effect }| {
            usize::from(found) == length && matches!(effect, Effect::Call(_))
        })
    })
}

/// Instructions from where a stack begins to the one that stops: 3 in Boost.Context.
const MOST_OF_THE_FIRST: u32 = 16;

/// Whether the code at `at`, to which a frame returns, has no caller: what a new stack was given for a
/// return address. No call ends there, so it was never called from; and straight on it comes to
/// an instruction that stops, so it returns to nobody.
#[must_use]
pub fn is_first(code: &[u8], mut at: usize) -> bool {
    if is_behind_call(code, at) {
        return false;
    }
    for _ in 0..MOST_OF_THE_FIRST {
        let found = code.get(at..).and_then(decode);
        match found.map(|found| (found.effect, usize::from(found.length))) {
            Some((Effect::Stop, _)) => return true,
            Some((
                Effect::Return | Effect::Jump(_) | Effect::Branch(_) | Effect::JumpIndirect(_),
                _,
            ))
            | None => return false,
            Some((_, length)) => at += length,
        }
    }
    false
}

/// Whether the code at `at` may have been called by the instruction that ends at `end`: a direct call
/// of an address from which the instructions lead here.
#[must_use]
pub fn is_called_by(code: &[u8], end: usize, at: usize) -> bool {
    lead_from_call(code, end, at, |_| Some(())).is_some()
}

/// Bytes on the stack above the return address, if the code at `at` was called by the instruction that
/// ends at `end`, and has gone straight on since; `None` if it was not, or that cannot be said.
#[must_use]
pub fn pushed_since_call(code: &[u8], end: usize, at: usize) -> Option<u64> {
    let mut state = State::new();
    lead_from_call(code, end, at, |effect| match effect {
        Effect::Call(_) => {
            state.call(0);
            Some(())
        }
        Effect::Return | Effect::Jump(_) | Effect::Branch(_) | Effect::JumpIndirect(_) => None,
        effect => state.apply(effect),
    })?;
    match state.sp() {
        Value::At(Register::RSP, offset) => offset.checked_neg()?.try_into().ok(),
        _ => None,
    }
}

/// Visits the instructions from the target of the direct call that ends at `end` to `at`; `None` if
/// there is no such call, they lead elsewhere, or a visit ends it.
fn lead_from_call(
    code: &[u8],
    end: usize,
    at: usize,
    mut visit: impl FnMut(Effect) -> Option<()>,
) -> Option<()> {
    let call = decode(code.get(end.checked_sub(5)?..end)?)?;
    let Instruction { length: 5, effect: Effect::Call(Some(offset)) } = call else { return None };
    let mut here = end.checked_add_signed(isize::try_from(offset).ok()?)?;
    for _ in 0..MOST_STEPS {
        if here >= at {
            return (here == at).then_some(());
        }
        let Instruction { length, effect } = decode(code.get(here..)?)?;
        visit(effect)?;
        here += usize::from(length);
    }
    None
}

fn is_padding(code: &[u8], at: usize) -> bool {
    let found = code.get(at..).and_then(decode);
    found.is_none_or(|found| matches!(found.effect, Effect::Padding | Effect::Stop))
}

/// Follows one way to its end: how it leaves the function, if it does, and where it last forked.
fn follow(
    code: &[u8],
    mut at: usize,
    forks: &List<usize, MOST_FORKS>,
    steps: &mut u32,
) -> (Option<Inferred>, Option<usize>) {
    let mut state = State::new();
    let mut fork = None;
    let mut jumps = List::<usize, MOST_JUMPS>::new(0);
    let found = loop {
        let Some(left) = steps.checked_sub(1) else { return (None, None) };
        *steps = left;
        let Some(Instruction { length, effect }) = code.get(at..).and_then(decode) else {
            break None;
        };
        let next = at + usize::from(length);
        let target = |offset: i32| {
            let target = next.checked_add_signed(isize::try_from(offset).ok()?)?;
            (target < code.len()).then_some(target)
        };
        let offset = match effect {
            Effect::Return => break state.leave(),
            Effect::Stop | Effect::JumpIndirect(_) => break None,
            Effect::Branch(offset) if forks.as_slice().contains(&at) => offset,
            Effect::Branch(offset) => {
                if offset > 0 {
                    fork = Some(at);
                }
                at = next;
                continue;
            }
            Effect::Jump(offset) => offset,
            // What does not come back is followed by padding, or by other code.
            Effect::Call(_) if is_padding(code, next) => break None,
            Effect::Call(offset) => {
                let kept = offset.and_then(target).and_then(|callee| keeps(code, callee, steps));
                state.call(kept.unwrap_or(0));
                at = next;
                continue;
            }
            effect => {
                if state.apply(effect).is_none() {
                    break None;
                }
                at = next;
                continue;
            }
        };
        if offset < 0 {
            let circles = jumps.as_slice().contains(&at);
            if circles || jumps.push(at).is_none() {
                break None;
            }
        }
        match target(offset) {
            Some(target) => at = target,
            // Another module's code; the caller is the same.
            None => break state.leave(),
        }
    };
    (found, fork)
}

/// The registers that a subroutine keeps which goes straight from its first instruction to its last;
/// `None` of any other.
fn keeps(code: &[u8], mut at: usize, steps: &mut u32) -> Option<RegisterSet> {
    let mut state = State::new();
    loop {
        *steps = steps.checked_sub(1)?;
        let Instruction { length, effect } = decode(code.get(at..)?)?;
        match effect {
            Effect::Return => {
                let kept = state.sp() == Value::At(Register::RSP, 0);
                return kept.then(|| state.kept());
            }
            Effect::Jump(_)
            | Effect::Branch(_)
            | Effect::JumpIndirect(_)
            | Effect::Call(_)
            | Effect::Stop => return None,
            effect => state.apply(effect)?,
        }
        at += usize::from(length);
    }
}

/// What a register or a slot holds, in terms of the registers at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unknown,
    /// Something that was on the stack, it cannot be said where.
    Restored,
    /// `register + offset`
    At(Register, i32),
    /// `*(register + inner) + outer`
    Word(Register, i16, i16),
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
            Self::Unknown | Self::Restored => None,
        };
        sum.unwrap_or(Self::Unknown)
    }

    /// Bytes from `other` to here, if that can be said.
    fn minus(self, other: Self) -> Option<i32> {
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
struct State {
    /// By DWARF number.
    registers: [Value; 16],
    /// Address and content of words that were written on the way.
    slots: List<(Value, Value), MOST_SLOTS>,
    lowered: u8,
}

impl State {
    fn new() -> Self {
        let register = |number: usize| Register::from_dwarf(number as u16);
        let registers = std::array::from_fn(|number| {
            register(number).map_or(Value::Unknown, |register| Value::At(register, 0))
        });
        Self { registers, slots: List::new((Value::Unknown, Value::Unknown)), lowered: 0 }
    }

    fn get(&self, register: Register) -> Value {
        self.registers.get(index(register)).copied().unwrap_or(Value::Unknown)
    }

    fn sp(&self) -> Value {
        self.get(Register::RSP)
    }

    /// `None` if it cannot be said any more where the stack is.
    fn set(&mut self, register: Register, value: Value) -> Option<()> {
        *self.registers.get_mut(index(register))? = value;
        if register == Register::RSP {
            if matches!(value, Value::Unknown | Value::Restored) {
                return None;
            }
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
            Value::At(register @ (Register::RSP | Register::RBP), offset) => i16::try_from(offset)
                .map_or(Value::Restored, |inner| Value::Word(register, inner, 0)),
            // Below where the stack was lowered, nothing was saved that was not seen.
            Value::Lowered(..) => Value::Unknown,
            _ => Value::Restored,
        }
    }

    fn store(&mut self, at: Value, content: Value) -> Option<()> {
        self.slots.retain(|(slot, _)| slot.minus(at).is_none_or(|apart| apart.abs() >= 8));
        match at {
            Value::At(..) | Value::Lowered(..) => self.slots.push((at, content)),
            // Not on the stack, as far as anybody knows.
            _ => Some(()),
        }
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
    fn apply(&mut self, effect: Effect) -> Option<()> {
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
    fn call(&mut self, kept: RegisterSet) {
        let kept = WANTED.iter().fold(kept | bit(Register::RSP), |set, kept| set | bit(*kept));
        // The stack pointer is kept, so that the stack can still be followed.
        let _followed = self.forget(!kept);
    }

    /// Registers that hold what they held at the start.
    fn kept(&self) -> RegisterSet {
        let is_kept = |(number, value): (usize, &Value)| {
            let same = Register::from_dwarf(number as u16).map(|register| Value::At(register, 0));
            (same == Some(*value)).then_some(1 << number)
        };
        self.registers.iter().enumerate().filter_map(is_kept).fold(0, |set, bit: u16| set | bit)
    }

    /// How a function returns here, if one can.
    fn leave(&self) -> Option<Inferred> {
        let on_stack = |register| matches!(register, Register::RSP | Register::RBP);
        let is_as_wanted = |register: &Register| match self.get(*register) {
            Value::At(found, 0) => found == *register,
            Value::Word(base, _, 0) => on_stack(base),
            Value::Restored => true,
            _ => false,
        };
        let conforms = WANTED.iter().all(is_as_wanted);
        self.recipe().map(|recipe| Inferred { recipe, kept: self.kept(), conforms })
    }

    /// The way to the return address, if rsp is there.
    fn recipe(&self) -> Option<Recipe> {
        let on_stack = |register| matches!(register, Register::RSP | Register::RBP);
        let word = |offset: i32| offset.checked_add(8);
        Some(match self.sp() {
            Value::At(Register::RSP, offset) if offset >= 0 => {
                let offset = word(offset)?;
                Recipe::Sp { bp: self.saved_bp(Some(offset)), offset }
            }
            Value::At(Register::RBP, offset) => {
                Recipe::Bp { bp: self.saved_bp(None), offset: word(offset)? }
            }
            Value::At(register, offset) if register != Register::RSP => {
                Recipe::Register { register, bp: self.saved_bp(None), offset: word(offset)? }
            }
            Value::Word(register, inner, outer) if on_stack(register) => {
                let outer = i16::try_from(word(outer.into())?).ok()?;
                Recipe::Deref { register, bp: self.saved_bp(None), inner, outer }
            }
            _ => return None,
        })
    }

    /// Where the caller's rbp is; `cfa` is its distance from rsp, if that is known.
    fn saved_bp(&self, cfa: Option<i32>) -> Slot {
        match (self.get(Register::RBP), cfa) {
            (Value::At(Register::RBP, 0), _) => Slot::SAME,
            (Value::Word(Register::RSP, inner, 0), Some(cfa)) => {
                i16::try_from(i32::from(inner) - cfa).map_or(Slot::LOST, Slot::at_cfa)
            }
            (Value::Word(Register::RSP, inner, 0), None) => Slot::new(Saved::AtSp(inner)),
            (Value::Word(Register::RBP, inner, 0), _) => Slot::new(Saved::AtBp(inner)),
            _ => Slot::LOST,
        }
    }
}

const fn index(register: Register) -> usize {
    (register.dwarf() & 15) as usize
}

const fn bit(register: Register) -> RegisterSet {
    1 << register.dwarf()
}

#[cfg(test)]
mod tests;
