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
//! **A return site that restores the stack pointer from its own frame** says that rbp is that
//! frame's, and is one although no call precedes it.
//!
//! **A direct call** of an address from which the instructions lead here, with as much on the stack
//! as there is, says that its return address is this frame's.
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
    Belief, LONGEST_CALL, MOST_RESTORING, MOST_STEPS_SINCE, Made, direct_call, infer_in_piece,
    is_behind_call, is_code, is_frame_pointer, made_frame, put_since, restored, was_frame_pointer,
};
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};
use crate::arch::unwind::registers::{Register, Registers};
use crate::arch::unwind::step::Obstacle;
use crate::arch::{PAGE_SIZE, USER_END};
use crate::unwind::cache::{Others, RecipeCache};
use crate::unwind::piece;
use crate::unwind::target::{Copied, Probes, Target};
use crate::unwind::validate::StackBounds;

/// What a frame of generated code takes at least: as long as so many whose recipe is looked up. 6
/// us, measured before the rules on the use of rbp and on direct calls. What is read far before it
/// is paid for by itself.
pub(super) const GENERATED: u32 = 12;

/// What copies of code far before and the search for prologues in it take: as long as so many
/// instructions that are looked at.
const SEARCH: u32 = 400;

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
    let RecipeCache { piece, others: words, .. } = cache;
    let (code, at) = piece.read(registers.ip, |place, to| is_copied(target, place, to))?;
    let is_returned_to = kind == FrameKind::Call;
    let is_of_module = !is_generated(registers.ip.wrapping_sub(kind.lookup_bias()), target);
    // A module's code restores its stack pointer so behind calls, too: gcc's, after an array of
    // variable length.
    let restores = is_returned_to
        && !is_of_module
        && code.get(at..).is_some_and(|code| restores_stack(registers, code, bounds, target));
    // A runtime may have put another address there, to get control when the function returns.
    if is_returned_to && !restores && !is_behind_call(code, at) {
        return None;
    }
    let is_called_from_there = probes.is_left_to(registers.sp());
    let is_at_least = is_returned_to && probes.is_at_least(registers.sp());
    let mut caller = *registers;
    let (slot, takes_more) = if restores {
        (follow_chain(&mut caller, bounds, target)?, true)
    } else {
        match follow_piece(&mut caller, kind, (code, at), is_at_least, bounds, target, words) {
            Piece::Left(slot, takes_more) => (slot, takes_more),
            Piece::HasNoWay { .. } | Piece::IsNotBelieved
                if !is_at_least
                    && let Some(slot) =
                        follow_direct_call(&mut caller, kind, (code, at), bounds, target) =>
            {
                (slot, false)
            }
            Piece::HasNoWay { takes_more } => {
                let is_used = is_frame_pointer(code, at)
                    || was_frame_pointer(code, at)
                    || !is_returned_to && is_held(registers, bounds, target);
                let depth = Depth::of(registers, is_at_least, is_returned_to)?;
                let made = depth.made(code, at, registers.ip, &mut { MOST_STEPS_SINCE });
                let made = made.or_else(|| depth.made_before(registers.ip, piece, target));
                if !is_used && made.is_none() {
                    return None;
                }
                let made = made.and_then(|made| Some((depth.above(&made)?, made)));
                let slot = follow_own_frame(&mut caller, kind, made, bounds, target, words)?;
                (slot, takes_more)
            }
            Piece::IsNotBelieved => return None,
        }
    };
    if !is_of_module {
        probes.leave_to(caller.sp());
    } else if !is_called_from_there && !is_generated(caller.ip.wrapping_sub(1), target) {
        return None;
    }
    if takes_more {
        probes.leave_to_at_least(caller.sp());
    }
    core::mem::swap(registers, &mut caller);
    Some(slot)
}

/// How far rbp is above the stack pointer.
struct Depth {
    bytes: u64,
    /// Whether the stack pointer may be higher.
    is_at_least: bool,
    /// Whether a call is about to return there.
    is_returned_to: bool,
}

impl Depth {
    fn of(registers: &Registers, is_at_least: bool, is_returned_to: bool) -> Option<Self> {
        let bytes = registers.get(Register::RBP)?.checked_sub(registers.sp())?;
        Some(Self { bytes, is_at_least, is_returned_to })
    }

    /// The frame that is seen to have been made before `at`, of this depth, or that is used as the
    /// function's own where only the run knows how deep it is.
    #[inline(never)]
    fn made(&self, code: &[u8], at: usize, address: u64, steps: &mut u32) -> Option<Made> {
        let is_depth = |found| found == self.bytes || self.is_at_least && found < self.bytes;
        let is_it = |made: &Made| made.depth.map_or(made.is_used, is_depth);
        made_frame(code, at, address, self.is_returned_to, steps, is_it)
    }

    /// How far above what is known of the stack pointer it is, if the frame is its function's own:
    /// what uses its caller's has more on the stack, and its return address below. Where other
    /// functions would have theirs is counted from the stack pointer: `None` if that must be known.
    fn above(&self, made: &Made) -> Option<u64> {
        let above = self.bytes.checked_sub(made.depth.unwrap_or(self.bytes))?;
        let is_known = if self.is_at_least {
            made.others() == Some(&[]) && (made.depth.is_some() || made.is_used)
        } else {
            above == 0
        };
        is_known.then_some(above)
    }

    /// The same as [`Self::made`] further before.
    #[inline(never)]
    fn made_before(&self, ip: u64, piece: &mut piece::Piece, target: &impl Target) -> Option<Made> {
        let (code, at) = piece.read_before(ip, |place, to| is_copied(target, place, to))?;
        let mut left = MOST_STEPS_SINCE;
        let made = self.made(code, at, ip, &mut left);
        piece.note_followed(MOST_STEPS_SINCE - left + SEARCH);
        made
    }
}

fn is_copied(target: &impl Target, place: u64, to: &mut [u8]) -> bool {
    target.copy(place, to) == Copied::Whole
}

/// What a piece of code says.
enum Piece {
    /// The slot of the return address, and whether more than that is taken off the stack.
    Left(u64, bool),
    /// Nothing of how it is left, but perhaps that no more is taken off the stack.
    HasNoWay { takes_more: bool },
    /// How it is left, but not to what can be a caller.
    IsNotBelieved,
}

/// Reads in a piece of code how it is left, and makes the registers the caller's. Not inlined, so
/// that its frame is not on the handler's stack while words of the program's are looked at.
#[inline(never)]
fn follow_piece(
    registers: &mut Registers,
    kind: FrameKind,
    (code, at): (&[u8], usize),
    is_at_least: bool,
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
) -> Piece {
    let mut found = Err(Obstacle::NoCfi);
    let sp = registers.sp();
    // Ways by a stack pointer that is not known: they say what is taken off the stack at the end,
    // but not where that is.
    let (mut by_sp, mut by_other) = (false, false);
    let (mut takes_more, mut takes_more_by_sp) = (false, false);
    let is_returned_to = kind == FrameKind::Call;
    infer_in_piece(code, at, is_returned_to, |way| {
        let mut is_last = false;
        takes_more = way.takes_more;
        if is_at_least && !matches!(way.recipe, Recipe::Bp { .. }) {
            by_sp = true;
            // Which of them is taken is not known.
            takes_more_by_sp |= way.takes_more;
            return Belief::GoesOn;
        }
        by_other = true;
        found = leave_as_inferred(registers, way, bounds, target, |caller, slot| {
            // Behind a call that does not come back, another function may begin that needs no
            // stack. One that calls does: the stack is aligned to 16 bytes there, return address
            // included (psABI x86-64, 3.2.2).
            let is_own = !is_returned_to || slot != sp || sp & 15 != 0;
            if !is_own || !is_return_site(caller, bounds, target) {
                return false;
            }
            // Code may take down a frame that another function has made; then its own return
            // address lies below. If so, no other way is better.
            let frame = slot.wrapping_sub(8);
            let is_settled = !matches!(way.recipe, Recipe::Bp { .. })
                || made_frame(
                    code,
                    at,
                    registers.ip,
                    is_returned_to,
                    &mut { MOST_STEPS_SINCE },
                    |made| {
                        made.depth.map_or(made.is_own(), |depth| depth == frame.wrapping_sub(sp))
                    },
                )
                .is_some()
                || !may_return_below(sp, frame, bounds, target, others, Whose::All);
            is_last = !is_settled;
            is_settled
        });
        if found.is_ok() || is_last { Belief::Ends } else { Belief::GoesOn }
    });
    match found {
        Ok((caller, slot)) => {
            *registers = caller;
            Piece::Left(slot, takes_more)
        }
        Err(_) if by_sp && !by_other => Piece::HasNoWay { takes_more: takes_more_by_sp },
        Err(_) if by_other => Piece::IsNotBelieved,
        Err(_) => Piece::HasNoWay { takes_more: true },
    }
}

/// Words below the frame pointer in which an interpreter may keep what it has in registers.
const KEPT: u64 = 8;

/// Whether a register that functions keep holds an address above the frame that rbp points to, as
/// does a word below rbp: itself, or how many words it is above rbp. Handlers of HotSpot's
/// interpreter have the method's locals there, and many of them have no use for rbp.
fn is_held(registers: &Registers, bounds: StackBounds, target: &impl Target) -> bool {
    let Some(bp) = registers.get(Register::RBP).filter(|bp| bp & 7 == 0) else { return false };
    let mut values = CalleeSaved::REGISTERS.into_iter().filter_map(|kept| registers.get(kept));
    values.any(|value| {
        // Behind the caller's rbp and the return address.
        let is_above = value.checked_sub(bp).is_some_and(|above| above >= 16)
            && value & 7 == 0
            && bounds.contains_word(value);
        let mut words = (1..=KEPT).filter_map(|below| bp.checked_sub(below * 8));
        let is_it = |word| word == value || word == (value - bp) / 8;
        is_above && words.any(|at| at >= registers.sp() && target.read(at).is_some_and(is_it))
    })
}

/// Follows rbp, which seems to be the frame pointer of the code's own function, unless another
/// word may be its return address. Where the function is seen to have `made` the frame, with as
/// much on the stack as there is, few can be.
#[inline(never)]
fn follow_own_frame(
    registers: &mut Registers,
    kind: FrameKind,
    made: Option<(u64, Made)>,
    bounds: StackBounds,
    target: &impl Target,
    words: &mut Others,
) -> Option<u64> {
    let frame = *registers;
    let slot = follow_chain(registers, bounds, target)?;
    let mut may_be = |above: u64| {
        let word = target.read(frame.sp().wrapping_add(above));
        word.is_none_or(|word| may_be_returned_to(word, bounds, target, words, Whose::All))
    };
    let others = made.as_ref().and_then(|(above, made)| Some((*above, made.others()?)));
    let may_be_other = match others {
        Some((above, _)) if above > MOST_FRAME => true,
        Some((above, others)) => {
            (0..above).step_by(8).any(&mut may_be) || others.iter().any(|other| may_be(*other))
        }
        None => {
            let bp = slot.wrapping_sub(8);
            returns_elsewhere(&frame, kind, bp, bounds, target, words, Whose::All)
        }
    };
    (!may_be_other).then_some(slot)
}

/// Words on the stack of which a direct call may say that they are the return address.
const MOST_PUT: u64 = 2;

/// Finds the return address of code without a frame by the call before it: a direct one of the
/// address from which the instructions lead here, with as much on the stack as there is. HotSpot's
/// stubs that go on to a method of an interface, and its interpreter's subroutines.
#[inline(never)]
fn follow_direct_call(
    registers: &mut Registers,
    kind: FrameKind,
    (code, at): (&[u8], usize),
    bounds: StackBounds,
    target: &impl Target,
) -> Option<u64> {
    for put in (0..MOST_PUT).map(|words| words * 8) {
        let slot = registers.sp().checked_add(put)?;
        let address = target.read(slot)?;
        let before = match target.code_before(address) {
            Some(before) => before,
            None => match around(address, bounds, target) {
                Around::Read { before, .. } => before,
                Around::Nothing | Around::Unknown => continue,
            },
        };
        let Some(offset) = direct_call(&before) else { continue };
        let gone = registers.ip.wrapping_sub(address.wrapping_add_signed(offset));
        let start = usize::try_from(gone).ok().and_then(|gone| at.checked_sub(gone));
        let since = start
            .and_then(|start| put_since(code, start, at, registers.ip, kind == FrameKind::Call));
        let cfa = slot.checked_add(8)?;
        if since == Some(put) && bounds.admits_caller(registers.sp(), cfa) {
            registers.become_caller(address, cfa, registers.get(Register::RBP));
            return Some(slot);
        }
    }
    None
}

/// Takes rbp for a frame pointer: the saved one must lie above it on the same stack, and what is
/// above that be a return address.
///
/// `(ip, sp, bp) = (*(bp + 8), bp + 16, *bp)`
#[inline(never)]
fn follow_chain(
    registers: &mut Registers,
    bounds: StackBounds,
    target: &impl Target,
) -> Option<u64> {
    let bp = registers.get(Register::RBP)?;
    let (slot, cfa) = (bp.checked_add(8)?, bp.checked_add(16)?);
    if bp < registers.sp() || bp & 7 != 0 || !bounds.admits_caller(registers.sp(), cfa) {
        return None;
    }
    let saved = target.read(bp)?;
    let ip = target.read(slot)?;
    if saved <= slot || saved & 7 != 0 || !bounds.contains_word(saved) {
        return None;
    }
    registers.become_caller(ip, cfa, Some(saved));
    is_return_site(registers, bounds, target).then_some(slot)
}

/// Whether the caller, whose registers these are, is returned to.
#[inline(never)]
fn is_return_site(caller: &Registers, bounds: StackBounds, target: &impl Target) -> bool {
    is_returned_to(caller.ip, bounds, target)
        || is_generated(caller.ip.wrapping_sub(1), target)
            && match around(caller.ip, bounds, target) {
                Around::Read { behind, .. } => restores_stack(caller, &behind, bounds, target),
                Around::Nothing | Around::Unknown => false,
            }
}

/// Whether the code that a frame is returned to begins by restoring the stack pointer from the
/// frame that rbp points to, to what it may have been.
#[inline(never)]
fn restores_stack(
    frame: &Registers,
    code: &[u8],
    bounds: StackBounds,
    target: &impl Target,
) -> bool {
    let Some((restored, bp)) = restored(code).zip(frame.get(Register::RBP)) else { return false };
    let read = |word| bounds.contains_word(word).then(|| target.read(word)).flatten();
    let sp = restored.sp(bp, read);
    bp & 7 == 0 && sp.is_some_and(|sp| (frame.sp()..=bp).contains(&sp) && sp & 7 == 0)
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
/// in a register of code that was interrupted; also if that would take too long to say.
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
    may_return_by_register(registers, kind, bounds, target, others, whose)
}

/// The same of the registers of interrupted code.
fn may_return_by_register(
    registers: &Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
    whose: Whose,
) -> bool {
    let mut values = (0..16).filter_map(|number| registers.get(Register::from_dwarf(number)?));
    kind != FrameKind::Call
        && values.any(|value| may_be_returned_to(value, bounds, target, others, whose))
}

/// The same of the words from `sp` to `bp` alone.
#[inline(never)]
fn may_return_below(
    sp: u64,
    bp: u64,
    bounds: StackBounds,
    target: &impl Target,
    others: &mut Others,
    whose: Whose,
) -> bool {
    let end = bp.min(sp.saturating_add(MOST_FRAME));
    if sp & 7 != 0 || end < bp {
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
    let Around::Read { before, .. } = around(address, bounds, target) else { return false };
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
            || match around(address, bounds, target) {
                Around::Read { before, behind } => is_call(before) || restored(&behind).is_some(),
                Around::Nothing => false,
                Around::Unknown => true,
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

/// The bytes around an address.
enum Around {
    /// With zeros for those of another page that cannot be read.
    Read { before: [u8; LONGEST_CALL], behind: [u8; MOST_RESTORING] },
    /// Nothing is mapped there, or it is no code.
    Nothing,
    /// They cannot be read, or not now.
    Unknown,
}

/// The bytes around `address`, which is of no known module, nor of the thread's own stack.
#[inline(never)]
fn around(address: u64, bounds: StackBounds, target: &impl Target) -> Around {
    const ALL: usize = LONGEST_CALL + MOST_RESTORING;
    if !can_be_code(address, bounds) {
        return Around::Nothing;
    }
    let mut bytes = [0; ALL];
    let start = address - LONGEST_CALL as u64;
    // As far as the page of the call's last byte goes; then the other page.
    let page = (address - 1) & !(PAGE - 1);
    let place = |at: u64| at.saturating_sub(start).min(ALL as u64) as usize;
    let (first, end) = (place(page), place(page + PAGE));
    for (from, to) in [(first, end), (0, first), (end, ALL)] {
        let Some(bytes) = bytes.get_mut(from..to).filter(|bytes| !bytes.is_empty()) else {
            continue;
        };
        match copy(target, start + from as u64, bytes) {
            Copied::Whole => {}
            Copied::Nothing if (from, to) == (first, end) => return Around::Nothing,
            Copied::Nothing => bytes.fill(0),
            Copied::Unknown => return Around::Unknown,
        }
    }
    let mut around = Around::Read { before: [0; LONGEST_CALL], behind: [0; MOST_RESTORING] };
    if let Around::Read { before, behind } = &mut around {
        let (call, code) = bytes.split_at(LONGEST_CALL);
        before.copy_from_slice(call);
        behind.copy_from_slice(code);
    }
    around
}

/// One of the reads that a frame may take.
fn copy(target: &impl Target, address: u64, to: &mut [u8]) -> Copied {
    match target.probes() {
        Some(probes) if probes.take() => target.copy(address, to),
        _ => Copied::Unknown,
    }
}
