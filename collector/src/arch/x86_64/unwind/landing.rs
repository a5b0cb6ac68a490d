//! Where an exception goes on, while libgcc's unwinder is on its way there.
//!
//! In its last instructions the unwinder copies the registers of the handler's frame over those
//! that its own frame has saved, return address included, adds a distance in rcx to the stack
//! pointer and returns (gcc's `uw_install_context` and `__builtin_eh_return`). Its CFI knows
//! nothing of that: read by it, the frame would return to what the handler's frame returns to, from
//! another place, with registers of both. Where it does return to is in its frame, in the
//! `_Unwind_Context` that it installs. That has had one layout since GCC 4.3, in words:
//!
//! | word | what |
//! |---|---|
//! | 0 to 16 | where the register of this DWARF number is saved, 16 the return address; null: nowhere |
//! | 18 | the stack pointer in the frame |
//! | 19 | where the frame goes on |
//! | 24 | flags; bit 62 says that the layout is this, bit 63 that the frame was interrupted by a signal |
//! | 26 | bytes of arguments that are still on the stack |
//! | 27 to 29 | a byte for each register: whether it is in its word itself |
//!
//! SIGNAL side. Allocates nothing, cannot panic, and touches no memory but through `read`.

use super::instruction::Effect;
use super::recipe::CalleeSaved;
use super::registers::{Register, Registers};
use super::text::Text;

/// Bytes of an unwinder's frame in which its contexts are looked for. It has some 700: two
/// contexts, and what it knows of a frame.
const MOST_OF_FRAME: u64 = 4096;

/// Instructions from the call that installs the registers to the last: 30 in libgcc of GCC 12, with
/// shadow stacks.
const MOST_STEPS: u32 = 96;

/// How far an unwinder is on its way to a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// It installs the handler's registers, and still stands on its own frame.
    Installing,
    /// All registers but rsp are the handler's, and the CFI leads there.
    Jumping,
}

/// `mov %rcx,%rsp`, by which it leaves its frame: `EH_RETURN_STACKADJ_RTX` of gcc is rcx.
const LEAVE: [u8; 3] = [0x48, 0x89, 0xcc];
/// `pop %rcx`, before `jmp *%rcx`. Older versions have `ret` instead of both.
const POP: u8 = 0x59;

/// How far an unwinder is that stands at `at` in `code`; `None` if it is not on its way.
///
/// It is if nothing but a call for debuggers (`_Unwind_DebugHook`) lies between here and the
/// return.
#[must_use]
pub fn landing(code: &(impl Text + ?Sized), mut at: usize) -> Option<Landing> {
    let leaves = |at: Option<usize>| at.and_then(|at| code.bytes(at)) == Some(LEAVE);
    let is_popped = at.checked_sub(1).and_then(|before| code.bytes(before)) == Some([POP]);
    let end = if is_popped { at - 1 } else { at };
    if leaves(Some(at)) || leaves(end.checked_sub(LEAVE.len())) {
        return Some(Landing::Jumping);
    }
    let mut called = false;
    for _ in 0..MOST_STEPS {
        if leaves(Some(at)) {
            return Some(Landing::Installing);
        }
        let found = code.instruction(at)?;
        at += usize::from(found.length);
        match found.effect {
            Effect::Call(Some(_)) if !called => called = true,
            Effect::Call(_) | Effect::Stop | Effect::Return | Effect::JumpIndirect(_) => {
                return None;
            }
            Effect::Jump(offset) => at = at.checked_add_signed(isize::try_from(offset).ok()?)?,
            _ => {}
        }
    }
    None
}

const STACK_POINTER: u64 = 18;
const GOES_ON: u64 = 19;
const FLAGS: u64 = 24;
const ARGUMENTS: u64 = 26;
const IN_ITSELF: u64 = 27;
const WORDS: u64 = 30;
/// `SIGNAL_FRAME_BIT`: a signal handler was called there, and has thrown.
const INTERRUPTED: u64 = 1 << 63;
/// `EXTENDED_CONTEXT_BIT`
const EXTENDED: u64 = 1 << 62;

/// The registers of the frame that the unwinder gives the thread to, from the unwinder's frame,
/// which lies between `sp` and `cfa`. `None` if that frame is its own caller, which is where its
/// CFI leads, too.
///
/// Their ip is a byte behind the first instruction there: callers are looked up one byte before
/// their address, and no call precedes this one.
#[must_use]
pub fn land(sp: u64, cfa: u64, read: impl Fn(u64) -> Option<u64>) -> Option<Registers> {
    let mut context = sp;
    let end = cfa.min(sp.checked_add(MOST_OF_FRAME)?);
    while context.checked_add(WORDS * 8)? <= end {
        if let Some(found) = landing_in(context, cfa, &read) {
            return Some(found);
        }
        context += 8;
    }
    None
}

/// The same, if the context at this address is that of a frame further out.
fn landing_in(context: u64, cfa: u64, read: &impl Fn(u64) -> Option<u64>) -> Option<Registers> {
    let word = |index: u64| read(context + index * 8);
    let sp = word(STACK_POINTER)?;
    let return_slot = word(16)?;
    let flags = word(FLAGS)?;
    // A frame is called through the word below its stack pointer, but for one that was interrupted.
    let fits = return_slot == sp.wrapping_sub(8) || flags & INTERRUPTED != 0;
    if sp <= cfa || !fits || flags & EXTENDED == 0 {
        return None;
    }
    let saved = |register: Register| {
        let number = u64::from(register.dwarf());
        let place = word(number).filter(|place| *place != 0)?;
        let in_itself = word(IN_ITSELF + number / 8)? >> (number % 8 * 8) & 0xff != 0;
        if in_itself { Some(place) } else { read(place) }
    };
    let ip = word(GOES_ON)?.wrapping_add(1);
    let sp = sp.wrapping_add(word(ARGUMENTS)?);
    Some(frame(ip, sp, saved))
}

/// The same of an unwinder that is [jumping](Landing::Jumping): `present` are its registers,
/// `caller` those that its CFI says.
#[must_use]
pub fn jump(present: &Registers, caller: &Registers) -> Registers {
    frame(caller.ip.wrapping_add(1), caller.sp(), |register| present.get(register))
}

/// A calling frame in which the registers are known that are `kept` for it.
pub(super) fn frame(ip: u64, sp: u64, kept: impl Fn(Register) -> Option<u64>) -> Registers {
    let mut registers = Registers::calling(ip, sp, 0);
    registers.become_caller(ip, sp, kept(Register::RBP));
    for register in CalleeSaved::REGISTERS {
        if let Some(value) = kept(register) {
            registers.set(register, value);
        }
    }
    registers
}

#[cfg(test)]
mod tests;
