//! A recipe for code without call frame information, read off the code itself.
//!
//! Hand-written assembly (codecs, matrix kernels, big numbers) and the start files of every library
//! (crtbegin.o) have no CFI. So the instructions are followed from where the frame stands to where
//! its function returns, with the values that registers and stack slots will have in terms of those
//! now: at the `ret`, the stack pointer is where the return address is, and rbp what the caller
//! gets. First a [way](ways) there is found, then [what happens](state) on it.
//!
//! The ABI says what must be true at the end: rsp lies above where it was, and every register that
//! a caller wants back was left alone or comes from the stack. Assembly also has subroutines of its
//! own that keep no register. What is found is a guess still, which the `unwind::walk` holds
//! against the stack. SIGNAL side: no heap, and a bound on the steps.

mod frame;
mod state;
mod ways;

use super::instruction::{Effect, Instruction, LONGEST, RegisterSet, decode, has};
use super::registers::Register;
use super::text::Text;
pub use frame::{
    MOST_RESTORING, MOST_STEPS_SINCE, Made, Restored, is_frame_pointer, made_frame, put_since,
    restored, was_frame_pointer,
};
pub use state::Inferred;
use state::{State, Value};
pub use ways::MOST_STEPS;
use ways::{Ends, Fork, MOST_STEPS_IN_PIECE, TakenDown, Ways, is_fork, is_padding, target};

/// Bytes of code that are said to be alike.
const MOST_REACH: u8 = 63;

/// How the frame at `at` in `code` is left, by the first way that `believed` agrees to; `None` if
/// there is none. Adds to `taken` the instructions that were looked at.
#[must_use]
pub fn infer(
    code: &(impl Text + ?Sized),
    at: usize,
    taken: &mut u32,
    mut believed: impl FnMut(Inferred) -> bool,
) -> Option<Inferred> {
    let mut steps = MOST_STEPS;
    let mut ways = Ways::new(code, at, Ends::Module);
    let mut found = None;
    while found.is_none() && ways.find_next().is_some() {
        found =
            follow(code, at, ways.forks(), Ends::Module, &mut steps).filter(|way| believed(*way));
    }
    *taken += MOST_STEPS - steps + ways.steps_taken();
    found.map(|found| Inferred { reach: reach(code, at, &found), ..found })
}

/// The same of a piece of code around `at`, which goes on beyond it. A way to where the frame is
/// taken down is enough, `leave`, or `mov %rbp,%rsp; pop %rbp`: code of V8 takes its arguments
/// off the stack behind that, as many as there are. `is_behind_call` says that there is a call
/// before `at`: it comes back, or it does not, and another function follows.
pub fn infer_in_piece(
    code: &[u8],
    at: usize,
    is_behind_call: bool,
    mut believed: impl FnMut(Inferred) -> Belief,
) {
    let mut steps = MOST_STEPS_IN_PIECE;
    let mut ways = Ways::new(code, at, Ends::Frame);
    while ways.find_next().is_some() {
        let found = follow(code, at, ways.forks(), Ends::Frame, &mut steps);
        let found = found.filter(|found| !(is_behind_call && found.begins));
        if found.is_some_and(|found| believed(found) == Belief::Ends) {
            break;
        }
    }
}

/// What is made of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// It is the one, or no other can be believed either.
    Ends,
    /// Another one may be.
    GoesOn,
}

/// Whether so many instructions are at `at`, or fewer that end with one behind which others need
/// not be.
#[must_use]
pub fn is_code(code: &[u8], mut at: usize, instructions: u32) -> bool {
    for _ in 0..instructions {
        let Some(Instruction { length, effect, .. }) = code.get(at..).and_then(decode) else {
            return false;
        };
        match effect {
            Effect::Return | Effect::Jump(_) | Effect::JumpIndirect(_) | Effect::Stop => break,
            _ => at += usize::from(length),
        }
    }
    true
}

/// Bytes of the longest call: `call rel32` and `call *…` have two to seven, or eight with a prefix.
pub const LONGEST_CALL: usize = 8;

/// Whether a call may end at `end`: what lies before a return address.
#[must_use]
pub fn is_behind_call(code: &[u8], end: usize) -> bool {
    (2..=LONGEST_CALL).any(|length| {
        let call = end.checked_sub(length).and_then(|start| code.get(start..end));
        let found = call.and_then(decode);
        found.is_some_and(|Instruction { length: found, effect, .. }| {
            usize::from(found) == length && matches!(effect, Effect::Call(_))
        })
    })
}

/// What a call does, as far as the instruction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// It calls the code so many bytes behind it.
    Direct(i64),
    /// It calls what a register or a word of memory says.
    Indirect,
}

/// The call that ends `code`: what lies before a return address. `None` if none can. `is_code` says
/// whether code lies so many bytes behind it.
///
/// Of two ways to read the bytes, a direct call that goes somewhere near is the one that is
/// believed: few indirect ones have bytes that look like it, and what is asked is whether the
/// callee returns here, which a wrong answer denies.
#[must_use]
pub fn call_before(code: &[u8; LONGEST_CALL], is_code: impl FnOnce(i64) -> bool) -> Option<Called> {
    match direct_call(code).filter(|offset| is_code(*offset)) {
        Some(offset) => Some(Called::Direct(offset)),
        None => is_behind_call(code, LONGEST_CALL).then_some(Called::Indirect),
    }
}

/// How far the direct call leads that ends `code`, counted from its end; `None` if none does.
#[must_use]
pub fn direct_call(code: &[u8]) -> Option<i64> {
    let call = decode(code.last_chunk::<5>()?)?;
    match call {
        Instruction { length: 5, effect: Effect::Call(Some(offset)), .. } => Some(offset.into()),
        _ => None,
    }
}

/// Bytes of the longest instruction that [`pops`] knows.
pub const LONGEST_POP: usize = 2;

/// Whether the instruction at `at` takes a word off the stack.
#[must_use]
pub fn pops(code: &[u8], at: usize) -> bool {
    // `pop register` (Intel SDM, volume 2), with a prefix for r8 to r15.
    matches!(code.get(at..).unwrap_or_default(), [0x58..=0x5f, ..] | [0x41, 0x58..=0x5f, ..])
}

/// How far a word on the stack lies above what registers hold, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Above {
    /// Above the stack pointer.
    pub sp: i64,
    /// Above rbp, if that is known.
    pub bp: Option<i64>,
}

/// Whether the code at `at`, straight on, is about to use the word that lies so far above its
/// registers otherwise than by returning through it: to take it off the stack, to read it, or to
/// write it. Also where that cannot be said.
#[must_use]
pub fn uses_word(code: &[u8], mut at: usize, word: Above) -> bool {
    let (mut sp, mut bp) = (Some(word.sp), word.bp);
    loop {
        let rest = code.get(at..).unwrap_or_default();
        let Some(Instruction { length, effect, memory }) = decode(rest) else {
            // Unknown, or cut off by the end of what can be looked at.
            return rest.len() >= LONGEST;
        };
        let above = |register| match register {
            Register::RSP => sp,
            Register::RBP => bp,
            _ => None,
        };
        let is_within = |(base, offset): (Register, i32)| {
            above(base).is_some_and(|above| (0..8).contains(&(i64::from(offset) - above)))
        };
        if memory.is_some_and(is_within)
            || matches!(effect, Effect::Pop(_)) && sp == Some(0)
            || effect == Effect::Leave && bp == Some(0)
        {
            return true;
        }
        match effect {
            Effect::Jump(_)
            | Effect::JumpIndirect(_)
            | Effect::Call(_)
            | Effect::Return
            | Effect::Stop => return false,
            Effect::Push(_) => sp = sp.map(|above| above + 8),
            Effect::Pop(to) => {
                sp = sp.map(|above| above - 8);
                match to {
                    Some(Register::RSP) => sp = None,
                    Some(Register::RBP) => bp = None,
                    _ => {}
                }
            }
            Effect::Add { to, from, offset } => {
                let moved = above(from).map(|above| above - i64::from(offset));
                match to {
                    Register::RSP => sp = moved,
                    Register::RBP => bp = moved,
                    _ => {}
                }
            }
            Effect::Leave => (sp, bp) = (bp.map(|above| above - 8), None),
            Effect::Lower | Effect::Load { to: Register::RSP, .. } => sp = None,
            Effect::Load { to: Register::RBP, .. } => bp = None,
            Effect::Change(set) => {
                sp = sp.filter(|_| !has(set, Register::RSP));
                bp = bp.filter(|_| !has(set, Register::RBP));
            }
            _ => {}
        }
        at += usize::from(length);
    }
}

/// Instructions from where a stack begins to the one that stops: 3 in Boost.Context.
const MOST_OF_THE_FIRST: u32 = 16;

/// Whether the code at `at`, to which a frame returns and [behind no call](is_behind_call), returns
/// to nobody: straight on it comes to an instruction that stops. So a new stack was given it for a
/// return address.
#[must_use]
pub fn is_first(code: &(impl Text + ?Sized), mut at: usize) -> bool {
    for _ in 0..MOST_OF_THE_FIRST {
        let found = code.instruction(at);
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

/// Whether the code at `at` halts the processor, which the kernel alone may do: behind the call of
/// what never returns, in what a process begins with (glibc's `_start` and others').
#[must_use]
pub fn halts(code: &(impl Text + ?Sized), at: usize) -> bool {
    const HLT: u8 = 0xf4;
    code.bytes(at) == Some([HLT])
}

/// Whether the code at `at` may have been called by a call of `callee`, from which the instructions
/// lead here. Takes from `steps` as many as there are.
#[must_use]
pub fn is_called_at(
    code: &(impl Text + ?Sized),
    callee: usize,
    at: usize,
    steps: &mut u32,
) -> bool {
    lead_from(code, callee, at, steps, |_| Some(())).is_some()
}

/// Bytes on the stack above the return address, if the code at `at` was called at `callee`, and has
/// gone straight on since; `None` if it was not, or that cannot be said. Takes from `steps` as many
/// instructions as there are.
#[must_use]
pub fn pushed_since_call(
    code: &(impl Text + ?Sized),
    callee: usize,
    at: usize,
    steps: &mut u32,
) -> Option<u64> {
    let mut state = State::new();
    lead_from(code, callee, at, steps, |effect| match effect {
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

/// Visits the instructions from `callee` to `at`; `None` if they lead elsewhere, or a visit ends
/// it.
fn lead_from(
    code: &(impl Text + ?Sized),
    callee: usize,
    at: usize,
    steps: &mut u32,
    mut visit: impl FnMut(Effect) -> Option<()>,
) -> Option<()> {
    let mut here = callee;
    while here < at {
        *steps = steps.checked_sub(1)?;
        let Instruction { length, effect, .. } = code.instruction(here)?;
        visit(effect)?;
        here += usize::from(length);
    }
    (here == at).then_some(())
}

/// Follows a way to its end: how it leaves the function, if it does.
fn follow(
    code: &(impl Text + ?Sized),
    mut at: usize,
    forks: &[Fork],
    ends: Ends,
    steps: &mut u32,
) -> Option<Inferred> {
    let mut state = State::new();
    let mut taken_down = TakenDown::default();
    let mut forks = forks.iter();
    // Unrolled loops call the same subroutine a hundred times.
    let (mut called, mut kept) = (None, 0);
    // Where the stack was at a call that may not come back. Another function may begin there, with
    // a loop: it takes no more off the stack than it puts there.
    let mut before_gap = None;
    let is_own = |sp: Value, before_gap: Option<Value>| {
        before_gap.and_then(|before| sp.minus(before)).is_none_or(|taken| taken > 0)
    };
    loop {
        *steps = steps.checked_sub(1)?;
        let Instruction { length, effect, memory } = code.instruction(at)?;
        let next = at + usize::from(length);
        state.doubt(effect, memory);
        at = match effect {
            Effect::Return if ends != Ends::Module && state.has_moved_return() => return None,
            Effect::Return => return state.leave().filter(|_| is_own(state.sp(), before_gap)),
            Effect::Jump(offset) => match target(code, next, offset) {
                Some(target) => target,
                None if ends != Ends::Module => return None,
                // Another module's code; the caller is the same.
                None => return state.leave().filter(|_| is_own(state.sp(), before_gap)),
            },
            Effect::Branch(offset) => match is_fork(code, next, offset) {
                Some(target) if forks.next()?.is_taken() => target,
                _ => next,
            },
            Effect::Call(offset) => {
                // Generated code is not aligned behind a call that does not come back.
                if ends == Ends::Frame || is_padding(code, next) {
                    before_gap = Some(state.sp());
                }
                let callee = offset.and_then(|offset| target(code, next, offset));
                if callee != called {
                    called = callee;
                    kept = callee.and_then(|callee| keeps(code, callee, steps)).unwrap_or(0);
                }
                state.call(kept);
                next
            }
            effect => {
                state.note_written(effect, memory);
                state.apply(effect)?;
                if ends == Ends::Frame && taken_down.by(effect) && !is_return(code, next) {
                    let found = if !returns_as_is(code, next) {
                        state.leave_frame()
                    } else if state.has_moved_return() {
                        None
                    } else {
                        state.leave().map(Inferred::without_registers)
                    };
                    return found.filter(|_| is_own(state.sp(), before_gap));
                }
                next
            }
        };
    }
}

fn is_return(code: &(impl Text + ?Sized), at: usize) -> bool {
    code.instruction(at).is_some_and(|found| found.effect == Effect::Return)
}

/// Instructions between where a frame is taken down and the `ret`: HotSpot looks whether it should
/// stop, or has an exception.
const MOST_BEHIND_FRAME: u32 = 8;

/// Whether the code at `at`, straight on, comes to a `ret` and leaves the stack pointer and rbp
/// alone until then.
fn returns_as_is(code: &(impl Text + ?Sized), mut at: usize) -> bool {
    for _ in 0..MOST_BEHIND_FRAME {
        let Some(Instruction { length, effect, .. }) = code.instruction(at) else { return false };
        match effect {
            Effect::Return => return true,
            Effect::None | Effect::Padding => {}
            Effect::Branch(offset) if offset > 0 => {}
            Effect::Change(set) if !has(set, Register::RSP) && !has(set, Register::RBP) => {}
            _ => return false,
        }
        at += usize::from(length);
    }
    false
}

/// How many bytes of code from `at` on the same can be said of: those of the instructions straight
/// on before which nothing has changed that it was said in terms of.
fn reach(code: &(impl Text + ?Sized), at: usize, found: &Inferred) -> u8 {
    let needed = found.kept | found.terms;
    let mut state = State::new();
    let mut here = at;
    loop {
        let reach = (here - at) as u8;
        let Some(Instruction { length, effect, .. }) = code.instruction(here) else {
            return reach;
        };
        match effect {
            Effect::Branch(offset) if offset < 0 => {}
            Effect::Return
            | Effect::Jump(_)
            | Effect::Branch(_)
            | Effect::JumpIndirect(_)
            | Effect::Call(_)
            | Effect::Stop => return reach,
            effect => {
                if state.apply(effect).is_none() || needed & !state.kept() != 0 {
                    return reach;
                }
            }
        }
        here += usize::from(length);
        if here - at > usize::from(MOST_REACH) {
            return reach;
        }
    }
}

/// The registers that a subroutine keeps which goes straight from its first instruction to its
/// last; `None` of any other.
fn keeps(code: &(impl Text + ?Sized), mut at: usize, steps: &mut u32) -> Option<RegisterSet> {
    let mut state = State::new();
    loop {
        *steps = steps.checked_sub(1)?;
        let Instruction { length, effect, memory } = code.instruction(at)?;
        state.doubt(effect, memory);
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

#[cfg(test)]
mod tests;
