//! One step outwards: from a frame's registers to its caller's.
//!
//! SIGNAL side. Allocates nothing, cannot panic, and touches no memory but through `read`.

use super::recipe::{CalleeSaved, Recipe, Saved, Slot};
use super::registers::{GREGS, GREGS_IP, Register, Registers};

/// Where a step led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The registers are now those of the caller; their ip is a return address.
    Caller {
        /// The address of the word that holds the return address; none if a register held it.
        ra_slot: Option<u64>,
    },
    /// The registers are now those of the code that a signal interrupted; their ip is exact.
    Interrupted,
    /// This frame is the outermost one. The registers did not change.
    EndOfStack,
}

/// Why a step was not possible. The registers did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No FDE covers the address.
    NoCfi,
    /// The row is of a kind that no recipe expresses.
    Unsupported,
    /// The recipe needs this register, which is not known in this frame.
    Unknown(Register),
    /// A word that the recipe needs could not be read.
    Unreadable,
    /// The frame does not return, but goes to another one.
    Jump,
}

/// Bytes from the stack pointer in a signal frame to the first word of `gregs`: `uc_flags`,
/// `uc_link` and `uc_stack` precede it in `ucontext_t`.
const UCONTEXT_GREGS: u64 = 40;

/// Replaces `registers` by the caller's according to `recipe`.
///
/// `read` loads the 64-bit word at an address, or refuses.
///
/// # Errors
///
/// An [`Obstacle`]; `registers` are then as before.
#[inline]
pub fn step(
    registers: &mut Registers,
    recipe: Recipe,
    mut read: impl FnMut(u64) -> Option<u64>,
) -> Result<Step, Obstacle> {
    let sp = registers.sp();
    let (cfa, bp) = match recipe {
        Recipe::Sp { bp, offset } => (offset_by(sp, offset), bp),
        Recipe::Bp { bp, offset } => (offset_by(known(registers, Register::RBP)?, offset), bp),
        Recipe::Register { register, bp, offset } => {
            (offset_by(known(registers, register)?, offset), bp)
        }
        Recipe::Deref { register, bp, inner, outer } => {
            let slot = offset_by(known(registers, register)?, i32::from(inner));
            (offset_by(load(&mut read, slot)?, i32::from(outer)), bp)
        }
        Recipe::Indexed { index, bp, inner, outer } => {
            let words = known(registers, index)?;
            let slot = offset_by(sp.wrapping_add(words.wrapping_mul(8)), i32::from(inner));
            (offset_by(load(&mut read, slot)?, i32::from(outer)), bp)
        }
        Recipe::Plt { threshold } => {
            let pushed = if registers.ip & 15 >= u64::from(threshold) { 16 } else { 8 };
            (offset_by(sp, pushed), Slot::SAME)
        }
        Recipe::ReturnInRegister { register, bp, offset } => {
            let ip = known(registers, register)?;
            let cfa = offset_by(sp, offset);
            let bp = restore(registers, Register::RBP, bp, cfa, &mut read)?;
            registers.become_caller(ip, cfa, bp);
            return Ok(Step::Caller { ra_slot: None });
        }
        Recipe::SignalFrame => return interrupted(registers, read),
        Recipe::EndOfStack => return Ok(Step::EndOfStack),
        Recipe::NoCfi => return Err(Obstacle::NoCfi),
        Recipe::Unsupported => return Err(Obstacle::Unsupported),
        Recipe::Jump => return Err(Obstacle::Jump),
    };
    let ra_slot = cfa.wrapping_sub(8);
    let ip = load(&mut read, ra_slot)?;
    let bp = restore(registers, Register::RBP, bp, cfa, &mut read)?;
    registers.become_caller(ip, cfa, bp);
    Ok(Step::Caller { ra_slot: Some(ra_slot) })
}

/// Like [`step`], and restores rbx and r12 to r15 too, as far as `saved` says where they are.
///
/// # Errors
///
/// As [`step`].
pub fn step_with_callee_saved(
    registers: &mut Registers,
    recipe: Recipe,
    saved: &CalleeSaved,
    mut read: impl FnMut(u64) -> Option<u64>,
) -> Result<Step, Obstacle> {
    let before = *registers;
    let step = step(registers, recipe, &mut read)?;
    if let Step::Caller { .. } = step {
        let cfa = registers.sp();
        for (register, slot) in saved.iter() {
            // A word that cannot be read leaves its register unknown: it may never be needed.
            if let Ok(Some(value)) = restore(&before, register, slot, cfa, &mut read) {
                registers.set(register, value);
            }
        }
    }
    Ok(step)
}

/// The caller's value of `register`; `None` if the row does not say where it is.
#[inline(always)]
fn restore(
    registers: &Registers,
    register: Register,
    slot: Slot,
    cfa: u64,
    read: &mut impl FnMut(u64) -> Option<u64>,
) -> Result<Option<u64>, Obstacle> {
    let address = match slot.saved() {
        Saved::Same => return Ok(registers.get(register)),
        Saved::AtCfa(offset) => offset_by(cfa, i32::from(offset)),
        Saved::AtBp(offset) => {
            let address = offset_by(known(registers, Register::RBP)?, i32::from(offset));
            // Where gcc has realigned a stack, this rule holds to the end of the function, although
            // `pop %rbp` comes before: what lies outside of the frame was not saved by it.
            if address < registers.sp() || address >= cfa {
                return Ok(registers.get(register));
            }
            address
        }
        Saved::AtSp(offset) => offset_by(registers.sp(), i32::from(offset)),
        Saved::Lost => return Ok(None),
    };
    load(read, address).map(Some)
}

/// Reads every register of the interrupted code from the `ucontext_t` at the stack pointer.
#[cold]
fn interrupted(
    registers: &mut Registers,
    mut read: impl FnMut(u64) -> Option<u64>,
) -> Result<Step, Obstacle> {
    let gregs = registers.sp().wrapping_add(UCONTEXT_GREGS);
    let ip = load(&mut read, gregs.wrapping_add(GREGS_IP * 8))?;
    let mut found = Registers::interrupted(ip, [0; 16]);
    for (index, register) in (0u64..).zip(GREGS) {
        found.set(register, load(&mut read, gregs.wrapping_add(index * 8))?);
    }
    *registers = found;
    Ok(Step::Interrupted)
}

#[inline]
fn known(registers: &Registers, register: Register) -> Result<u64, Obstacle> {
    registers.get(register).ok_or(Obstacle::Unknown(register))
}

#[inline]
fn load(read: &mut impl FnMut(u64) -> Option<u64>, address: u64) -> Result<u64, Obstacle> {
    read(address).ok_or(Obstacle::Unreadable)
}

#[inline]
fn offset_by(address: u64, offset: i32) -> u64 {
    address.wrapping_add_signed(i64::from(offset))
}

#[cfg(test)]
mod tests;
