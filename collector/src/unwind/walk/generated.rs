//! Frames whose code lies in no load module: generated at run time.
//!
//! Nobody says how such code is left, and other code may be in its place a moment later: so it is
//! copied for each sample, by a read that may fail, and nothing is remembered. Two things can say
//! where the return address is: the code itself, from the frame on; and rbp, where it is a frame
//! pointer (psABI x86-64, 3.2.2 and 3.4.1). Both are held against the stack: what is taken for a
//! return address has a call before it.
//!
//! **The code** is followed to where the function returns, or takes its frame down. It knows a
//! prologue and an epilogue for what they are, and code that has another use for rbp.
//!
//! **A frame pointer alone** must do where code ends in jumps that only the run decides, as that of
//! interpreters does. A function that has not made a frame leaves rbp to its callers, whose frame
//! it then seems to be. So the code must be seen to use it for its frame. And the return address of
//! a function without one lies between the stack pointer and that frame, or in a register that it
//! is about to jump to: where anything there could be one, the path stays partial. Words there may
//! be data, and lead anywhere: only what is in memory is read.

use csprof_format::address::FrameKind;

use super::inferred::leave_as_inferred;
use crate::arch::unwind::inference::{
    Belief, LONGEST_CALL, changes_frame_pointer, direct_call, infer_in_piece, is_behind_call,
    is_code, makes_frame, uses_frame_pointer,
};
use crate::arch::unwind::recipe::Recipe;
use crate::arch::unwind::registers::{Register, Registers};
use crate::arch::unwind::step::Obstacle;
use crate::arch::{PAGE_SIZE, USER_END};
use crate::unwind::cache::{Others, RecipeCache};
use crate::unwind::target::{Copied, Probes, Target};
use crate::unwind::validate::StackBounds;

/// What a frame of generated code takes: as long as so many whose recipe is looked up. 6 us.
pub(super) const GENERATED: u32 = 12;

/// The largest frame of which all words are looked at, in bytes.
const MOST_FRAME: u64 = 4096;

const PAGE: u64 = PAGE_SIZE as u64;

/// Whether the code at `pc` is of no module.
pub(super) fn is_generated(pc: u64, target: &impl Target) -> bool {
    target.code(pc).is_none() && target.foreign(pc).is_none()
}

/// Finds the caller of generated code, whose registers these are then, and the slot of its return
/// address. Also of a module's code that does not say how it returns, and that generated code
/// called, or that has gone there.
pub(super) fn leave_generated(
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Option<u64> {
    let probes = target.probes()?;
    let RecipeCache { piece, others, .. } = cache;
    let (code, at) =
        piece.read(registers.ip, |place, to| target.copy(place, to) == Copied::Whole)?;
    // A runtime may have put another address there, to get control when the function returns.
    if kind == FrameKind::Call && !is_behind_call(code, at) {
        return None;
    }
    let is_of_module = !is_generated(registers.ip.wrapping_sub(kind.lookup_bias()), target);
    let is_called_from_there = probes.is_left_to(registers.sp());
    let (mut caller, slot) = match follow_piece(registers, kind, (code, at), bounds, target, others)
    {
        Piece::Left(caller, slot) => (caller, slot),
        Piece::HasNoWay if uses_frame_pointer(code, at) && !changes_frame_pointer(code, at) => {
            let mut caller = *registers;
            let slot = follow_chain(&mut caller, kind, bounds, target, others)?;
            (caller, slot)
        }
        Piece::HasNoWay | Piece::IsNotBelieved => return None,
    };
    if !is_of_module {
        probes.leave_to(caller.sp());
    } else if !is_called_from_there && !is_generated(caller.ip.wrapping_sub(1), target) {
        return None;
    }
    core::mem::swap(registers, &mut caller);
    Some(slot)
}

/// What a piece of code says.
enum Piece {
    /// The caller's registers, and the slot of the return address.
    Left(Registers, u64),
    /// Nothing of how it is left.
    HasNoWay,
    /// How it is left, but not to what can be a caller.
    IsNotBelieved,
}

/// Reads in a piece of code how it is left. Not inlined, so that its frame is not on the handler's
/// stack while words of the program's are looked at.
#[inline(never)]
fn follow_piece(
    registers: &Registers,
    kind: FrameKind,
    (code, at): (&[u8], usize),
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
) -> Piece {
    let mut found = Err(Obstacle::NoCfi);
    let sp = registers.sp();
    let is_found = infer_in_piece(code, at, kind == FrameKind::Call, |way| {
        let mut is_last = false;
        found = leave_as_inferred(registers, way, bounds, target, |caller, slot| {
            // Behind a call that does not come back, another function may begin that needs no
            // stack. One that calls does: the stack is aligned to 16 bytes there, return address
            // included (psABI x86-64, 3.2.2).
            let is_own = kind != FrameKind::Call || slot != sp || sp & 15 != 0;
            if !is_own || !is_returned_to(caller.ip, bounds, target) {
                return false;
            }
            // Code may take down a frame that another function has made; then its own return
            // address lies below. If so, no other way is better.
            let frame = slot.wrapping_sub(8);
            let is_settled = !matches!(way.recipe, Recipe::Bp { .. })
                || makes_frame(code, at, frame.wrapping_sub(sp))
                || !may_return_below(sp, frame, bounds, target, others, Whose::All);
            is_last = !is_settled;
            is_settled
        });
        if found.is_ok() || is_last { Belief::Ends } else { Belief::GoesOn }
    });
    match found {
        Ok((caller, slot)) => Piece::Left(caller, slot),
        Err(_) if is_found => Piece::IsNotBelieved,
        Err(_) => Piece::HasNoWay,
    }
}

/// Takes rbp for a frame pointer, and believes it only if everything fits: the saved one lies above
/// it on the same stack, a call precedes the return address, and nothing else could be one.
///
/// `(ip, sp, bp) = (*(bp + 8), bp + 16, *bp)`
fn follow_chain(
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
) -> Option<u64> {
    let bp = registers.get(Register::RBP)?;
    let (slot, cfa) = (bp.checked_add(8)?, bp.checked_add(16)?);
    if bp < registers.sp() || bp & 7 != 0 || !bounds.admits_caller(registers.sp(), cfa) {
        return None;
    }
    let saved = target.read(bp)?;
    let ip = target.read(slot)?;
    let is_chain = saved > slot && saved & 7 == 0 && bounds.contains_word(saved);
    if !is_chain
        || !is_returned_to(ip, bounds, target)
        || returns_elsewhere(registers, kind, bp, bounds, target, others, Whose::All)
    {
        return None;
    }
    registers.become_caller(ip, cfa, Some(saved));
    Some(slot)
}

/// Whose code is returned to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Anybody's.
    All,
    /// Generated code.
    Generated,
}

/// Whether a word between the stack pointer and the frame at `bp` may be a return address, or one
/// in a register of code that was interrupted; also if that would take too long to say. Of returns
/// to [`Whose::Generated`] code, which few programs have, only the first words are looked at.
pub(super) fn returns_elsewhere(
    registers: &Registers,
    kind: FrameKind,
    bp: u64,
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
    whose: Whose,
) -> bool {
    if may_return_below(registers.sp(), bp, bounds, target, others, whose) {
        return true;
    }
    let mut values = (0..16).filter_map(|number| registers.get(Register::from_dwarf(number)?));
    kind != FrameKind::Call
        && values.any(|value| may_be_returned_to(value, bounds, target, others, whose))
}

/// The same of the words from `sp` to `bp` alone.
fn may_return_below(
    sp: u64,
    bp: u64,
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
    whose: Whose,
) -> bool {
    let end = bp.min(sp.saturating_add(MOST_FRAME));
    if whose == Whose::All && (sp & 7 != 0 || end < bp) {
        return true;
    }
    let mut may_be = |word| may_be_returned_to(word, bounds, target, others, whose);
    (sp..end).step_by(8).any(|slot| target.read(slot).is_none_or(&mut may_be))
}

/// Whether there is a call before `address`, in code of a module or, as far as that can be told, in
/// generated code.
pub(super) fn is_returned_to(address: u64, bounds: StackBounds, target: &impl Target) -> bool {
    if let Some(before) = target.code_before(address) {
        return is_behind_call(&before, LONGEST_CALL);
    }
    if address == 0 || target.code(address.wrapping_sub(1)).is_some() {
        return false;
    }
    let Before::Read(before) = generated_before(address, bounds, target) else { return false };
    if !is_behind_call(&before, LONGEST_CALL) {
        return false;
    }
    // Data may look like a call. What is called is there, too, and code goes on behind it.
    let calls_code = || {
        let callee = direct_call(&before).map(|offset| address.wrapping_add_signed(offset));
        callee.is_none_or(|callee| copy(target, callee, &mut [0]) == Copied::Whole)
    };
    let goes_on = || {
        const LOOKED_AT: usize = 64;
        let mut code = [0; LOOKED_AT];
        let room = (PAGE - address % PAGE).min(LOOKED_AT as u64) as usize;
        let Some(on_page) = code.get_mut(..room) else { return false };
        copy(target, address, on_page) == Copied::Whole
            && (is_code(on_page, 0, INSTRUCTIONS) || room < LOOKED_AT)
    };
    calls_code() && goes_on()
}

/// Instructions that must follow a call in generated code.
const INSTRUCTIONS: u32 = 3;

/// Whether there may be a call before `address`: also if that cannot be read, or takes too long.
fn may_be_returned_to(
    address: u64,
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
    whose: Whose,
) -> bool {
    let Some(last) = address.checked_sub(1) else { return false };
    let is_one_more = || target.probes().is_some_and(Probes::take_word);
    let is_call = |before: [u8; LONGEST_CALL]| is_behind_call(&before, LONGEST_CALL);
    if target.code(last).is_some() {
        let may_be = |address| {
            let is_read = is_one_more() && target.probes().is_some_and(Probes::take);
            !is_read || target.code_before(address).is_none_or(is_call)
        };
        return whose == Whose::All && !others.have(address, may_be);
    }
    let may_be = |address| {
        !is_one_more()
            || match generated_before(address, bounds, target) {
                Before::Read(before) => is_call(before),
                Before::Nothing => false,
                Before::Unknown => true,
            }
    };
    can_be_code(address, bounds) && !others.have(address, may_be)
}

/// The lowest address that a program can map (vm.mmap_min_addr).
const FIRST: u64 = 1 << 16;

/// Whether `address` is one of a program's, and not of the thread's own stack.
fn can_be_code(address: u64, bounds: StackBounds) -> bool {
    let is_of_stack = bounds.high < USER_END && (bounds.low..bounds.high).contains(&address);
    (FIRST + 1..USER_END).contains(&address) && !is_of_stack
}

/// The bytes before an address.
enum Before {
    /// With zeros for those of the page before that cannot be read.
    Read([u8; LONGEST_CALL]),
    /// Nothing is mapped there, or it is no code.
    Nothing,
    /// They cannot be read, or not now.
    Unknown,
}

/// The bytes before `address`, which is of no known module, nor of the thread's own stack.
fn generated_before(address: u64, bounds: StackBounds, target: &impl Target) -> Before {
    if !can_be_code(address, bounds) {
        return Before::Nothing;
    }
    let mut bytes = [0; LONGEST_CALL];
    let on_page = LONGEST_CALL.min(((address - 1) % PAGE + 1) as usize);
    let (above, below) = bytes.split_at_mut(LONGEST_CALL - on_page);
    match copy(target, address - on_page as u64, below) {
        Copied::Whole => {}
        Copied::Nothing => return Before::Nothing,
        Copied::Unknown => return Before::Unknown,
    }
    if !above.is_empty() {
        match copy(target, address - LONGEST_CALL as u64, above) {
            Copied::Whole => {}
            Copied::Nothing => above.fill(0),
            Copied::Unknown => return Before::Unknown,
        }
    }
    Before::Read(bytes)
}

/// One of the reads that a frame may take.
fn copy(target: &impl Target, address: u64, to: &mut [u8]) -> Copied {
    match target.probes() {
        Some(probes) if probes.take() => target.copy(address, to),
        _ => Copied::Unknown,
    }
}
