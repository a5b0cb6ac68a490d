//! Code that is about to go on in another frame, perhaps on another stack: the last instructions of
//! longjmp, setcontext, LLVM's unwinder, and of coroutines in assembly.
//!
//! They load the stack pointer from memory that is no stack, so that no recipe can say where the
//! frame is left to. But they are few, go straight, and every register of interrupted code is
//! known: they are run on, in thought, to the jump. SIGNAL side: no heap, and a bound on the steps.

use super::instruction::{Effect, RegisterSet};
use super::landing::frame;
use super::list::List;
use super::registers::{Register, Registers};
use super::text::Text;

/// Instructions to the jump: 45 in LLVM's `__libunwind_Registers_x86_64_jumpto`.
const MOST_STEPS: u32 = 64;
/// Words that are written on the way.
const MOST_WORDS: usize = 16;

/// Where a thread will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its registers there: ip, rsp and what is kept across calls, as far as known.
    pub registers: Registers,
    /// Whether the stack pointer came from elsewhere than rsp and rbp.
    pub is_seen: bool,
}

/// Runs on from `at` in `code` to the next return or jump through a register; `None` if that is not
/// straight ahead.
#[must_use]
pub fn run_on(
    code: &(impl Text + ?Sized),
    mut at: usize,
    start: &Registers,
    read: impl Fn(u64) -> Option<u64>,
) -> Option<Switch> {
    let mut machine = Machine {
        registers: *start,
        unknown: 0,
        written: List::new((0, None)),
        read,
        is_seen: false,
    };
    for _ in 0..MOST_STEPS {
        let found = code.instruction(at)?;
        at += usize::from(found.length);
        let ip = match found.effect {
            Effect::Return => machine.pop()?,
            Effect::JumpIndirect(Some(register)) => machine.get(register)?,
            Effect::Jump(offset) => {
                at = at.checked_add_signed(isize::try_from(offset).ok()?)?;
                continue;
            }
            effect => {
                machine.apply(effect)?;
                continue;
            }
        };
        let sp = machine.get(Register::RSP)?;
        let registers = frame(ip, sp, |register| machine.get(register));
        return Some(Switch { registers, is_seen: machine.is_seen });
    }
    None
}

/// Bytes before an address in which a stack pointer may have been loaded: 75 in glibc's
/// `swapcontext`.
const MOST_BEHIND: usize = 96;

/// Whether code on its straight way to `at` has loaded the stack pointer from memory that is no
/// stack. glibc's `swapcontext` does so, and its CFI does not say it.
#[must_use]
pub fn has_switched(code: &(impl Text + ?Sized), at: usize) -> bool {
    has_done(code, at, |effect| match effect {
        Effect::Load { to: Register::RSP, base, .. } => is_elsewhere(base),
        _ => false,
    })
}

/// The same, or has taken it from another register, as Boost's `jump_fcontext` does. So do
/// functions that realign their stack, before they return.
#[must_use]
pub fn may_have_switched(code: &(impl Text + ?Sized), at: usize) -> bool {
    has_done(code, at, |effect| match effect {
        Effect::Load { to: Register::RSP, base: from, .. }
        | Effect::Add { to: Register::RSP, from, .. } => is_elsewhere(from),
        _ => false,
    })
}

const fn is_elsewhere(register: Register) -> bool {
    !matches!(register, Register::RSP | Register::RBP)
}

/// Whether there is such an instruction on the straight way to `at`.
fn has_done(code: &(impl Text + ?Sized), at: usize, is_it: impl Fn(Effect) -> bool) -> bool {
    (at.saturating_sub(MOST_BEHIND)..at).rev().any(|start| {
        let found = code.instruction(start);
        found.is_some_and(|found| is_it(found.effect)) && goes_straight(code, start, at)
    })
}

fn goes_straight(code: &(impl Text + ?Sized), mut from: usize, to: usize) -> bool {
    while from < to {
        let Some(found) = code.instruction(from) else { return false };
        let leaves = matches!(
            found.effect,
            Effect::Jump(_)
                | Effect::JumpIndirect(_)
                | Effect::Call(_)
                | Effect::Return
                | Effect::Stop
        );
        if leaves {
            return false;
        }
        from += usize::from(found.length);
    }
    from == to
}

struct Machine<R> {
    registers: Registers,
    /// Those whose values are not known any more.
    unknown: RegisterSet,
    /// Address and value of words, the latest last.
    written: List<(u64, Option<u64>), MOST_WORDS>,
    read: R,
    is_seen: bool,
}

impl<R: Fn(u64) -> Option<u64>> Machine<R> {
    fn get(&self, register: Register) -> Option<u64> {
        let known = self.unknown >> register.dwarf() & 1 == 0;
        self.registers.get(register).filter(|_| known)
    }

    /// `None` if the stack is lost from sight.
    fn set(&mut self, register: Register, value: Option<u64>) -> Option<()> {
        match value {
            Some(value) => {
                self.registers.set(register, value);
                self.unknown &= !(1 << register.dwarf());
            }
            None => self.unknown |= 1 << register.dwarf(),
        }
        (register != Register::RSP || value.is_some()).then_some(())
    }

    fn address(&self, base: Register, offset: i32) -> Option<u64> {
        Some(self.get(base)?.wrapping_add_signed(i64::from(offset)))
    }

    fn load(&self, address: Option<u64>) -> Option<u64> {
        let address = address?;
        let mut written = self.written.as_slice().iter().rev();
        match written.find(|(at, _)| at.abs_diff(address) < 8) {
            Some((at, value)) => value.filter(|_| *at == address),
            None => (self.read)(address),
        }
    }

    fn store(&mut self, address: Option<u64>, value: Option<u64>) -> Option<()> {
        self.written.push((address?, value))
    }

    fn pop(&mut self) -> Option<u64> {
        let sp = self.get(Register::RSP)?;
        self.set(Register::RSP, Some(sp.wrapping_add(8)))?;
        self.load(Some(sp))
    }

    /// Everything but control.
    fn apply(&mut self, effect: Effect) -> Option<()> {
        match effect {
            Effect::None | Effect::Padding => Some(()),
            Effect::Push(from) => {
                let value = from.and_then(|from| self.get(from));
                let sp = self.address(Register::RSP, -8);
                self.set(Register::RSP, sp)?;
                self.store(sp, value)
            }
            Effect::Pop(to) => {
                let value = self.pop();
                to.map_or(Some(()), |to| self.set(to, value))
            }
            Effect::Add { to, from, offset } => {
                self.is_seen |= to == Register::RSP && is_elsewhere(from);
                self.set(to, self.address(from, offset))
            }
            Effect::Load { to, base, offset } => {
                self.is_seen |= to == Register::RSP && is_elsewhere(base);
                self.set(to, self.load(self.address(base, offset)))
            }
            Effect::Store { from, base, offset } => {
                self.store(self.address(base, offset), self.get(from))
            }
            Effect::Overwrite { base, offset } => self.store(self.address(base, offset), None),
            Effect::Leave => {
                self.set(Register::RSP, self.get(Register::RBP))?;
                let value = self.pop();
                self.set(Register::RBP, value)
            }
            Effect::Change(set) => {
                self.unknown |= set;
                (set >> Register::RSP.dwarf() & 1 == 0).then_some(())
            }
            Effect::Lower
            | Effect::Jump(_)
            | Effect::Branch(_)
            | Effect::JumpIndirect(_)
            | Effect::Call(_)
            | Effect::Return
            | Effect::Stop => None,
        }
    }
}

#[cfg(test)]
mod tests;
