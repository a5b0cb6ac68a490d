//! What can be done where no recipe leads on: registers that were not carried, unwinders on their
//! way to a handler, code without call frame information.

use core::cell::Cell;

use csprof_format::address::FrameKind;
use csprof_format::loss::PartialReason;

use super::generated::{
    GENERATED, Whose, is_generated, is_returned_to, leave_generated, returns_elsewhere,
};
use super::inferred::leave_as_inferred;
use super::seen::Seen;
use crate::arch::unwind::inference::{
    Inferred, LONGEST_CALL, MOST_STEPS, direct_call, halts, infer, is_behind_call, is_called_at,
    is_first, pushed_since_call,
};
use crate::arch::unwind::landing::{Landing, jump, land, landing};
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};
use crate::arch::unwind::registers::{Register, Registers};
use crate::arch::unwind::step::{Obstacle, Step, step, step_with_callee_saved};
use crate::arch::unwind::switch::{Switch, may_have_switched, run_on};
use crate::unwind::cache::RecipeCache;
use crate::unwind::known_ways::{Followed, MOST_REFUSALS};
use crate::unwind::target::{Target, find_all};
use crate::unwind::validate::StackBounds;
use crate::unwind::window::Window;

/// The last frame whose registers were all known, and the steps made since.
pub(super) struct Origin {
    pub(super) registers: Registers,
    pub(super) kind: FrameKind,
    pub(super) steps: u32,
    /// How many of them were repeated, to be paid for.
    pub(super) repeated: Cell<u32>,
}

impl Origin {
    pub(super) fn new(registers: Registers, kind: FrameKind) -> Self {
        Self { registers, kind, steps: 0, repeated: Cell::new(0) }
    }

    /// Has it paid for that so many instructions were looked at, of which so many copies were made.
    fn pay_for_code<T: Target>(&self, instructions: u32, seen: Option<&Seen<'_, T>>) {
        let copies = seen.map_or(0, Seen::copies);
        self.repeat((instructions / INSTRUCTIONS).saturating_add(copies));
    }

    fn repeat(&self, steps: u32) {
        self.repeated.update(|so_far| so_far.saturating_add(steps));
    }
}

/// Instructions that are looked at while a recipe is looked up: 20 ns each. A copy takes as long.
const INSTRUCTIONS: u32 = 24;

/// What can be done where no recipe led on.
pub(super) enum Detour {
    /// The missing registers were found; the frame can be tried again.
    Carry,
    /// A caller was found all the same, whose registers these are now.
    Caller { slot: u64 },
    /// The frame goes to another one, on this stack, whose registers these are now as far as they
    /// are kept across calls.
    Jump(StackBounds),
    /// The frame is the outermost one.
    EndOfStack,
    /// Nothing.
    None(PartialReason),
}

/// Gets over an obstacle, if that can be: `registers` are then those to go on with.
#[cold]
pub(super) fn overcome(
    obstacle: Obstacle,
    origin: &Origin,
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Detour {
    if let Some(probes) = target.probes() {
        probes.begin_frame();
    }
    match obstacle {
        Obstacle::Unknown(register) => {
            match walk_again(origin, registers, register, bounds, target, cache) {
                Some(found) if found.get(register).is_some() => {
                    *registers = found;
                    Detour::Carry
                }
                _ => Detour::None(PartialReason::UnsupportedCfi),
            }
        }
        Obstacle::Jump => {
            let window = &mut cache.window;
            let code = Seen::around(target, registers.ip, window);
            match code.and_then(|(code, at)| landing(&code, at)) {
                Some(how) => {
                    let recipe = find_all(target, kind, registers.ip).0;
                    leave_unwinder(registers, how, recipe, bounds, target)
                }
                None => switch_or(PartialReason::BadStack, registers, kind, target, window),
            }
        }
        Obstacle::Unsupported => {
            let window = &mut cache.window;
            switch_or(PartialReason::UnsupportedCfi, registers, kind, target, window)
        }
        Obstacle::Unreadable => Detour::None(PartialReason::BadStack),
        Obstacle::NoCfi => {
            let mut starts = || {
                let before = target.code_before(registers.ip);
                let is_called = before.map(|code| is_behind_call(&code, LONGEST_CALL));
                let code = Seen::around(target, registers.ip, &mut cache.window);
                match (is_called, code) {
                    (Some(true), Some((code, at))) => halts(&code, at),
                    (Some(false), Some((code, at))) => is_first(&code, at),
                    _ => false,
                }
            };
            // And nothing called what a process begins with (ld.so's _dl_start_user), or what Boost
            // puts below a coroutine.
            let mut is_outermost = || {
                let neighbour = neighbour(registers, target);
                neighbour == Some(Neighbour::Uncalled)
                    || bounds.is_outermost(registers.sp())
                    || starts()
            };
            if kind == FrameKind::Call && is_outermost() {
                return Detour::EndOfStack;
            }
            let pc = registers.ip.wrapping_sub(kind.lookup_bias());
            if target.probes().is_some() && is_generated(pc, target) {
                return match leave_and_pay(origin, registers, kind, bounds, target, cache) {
                    Some(slot) => Detour::Caller { slot },
                    None => Detour::None(PartialReason::UnknownModule),
                };
            }
            match follow_code(origin, registers, kind, bounds, target, cache) {
                Ok(slot) => return Detour::Caller { slot },
                // A kernel that calls, with its frame in rbx.
                Err(Some(register)) if CalleeSaved::REGISTERS.contains(&register) => {
                    let found = walk_again(origin, registers, register, bounds, target, cache);
                    if let Some(found) = found.filter(|found| found.get(register).is_some()) {
                        *registers = found;
                        return Detour::Carry;
                    }
                }
                Err(_) => {}
            }
            // Before guesses: a frame pointer may still be that of the stack that is left.
            if let Some((switch, stack)) = switch(registers, kind, target, &mut cache.window)
                && switch.is_seen
            {
                *registers = switch.registers;
                return Detour::Jump(stack);
            }
            // Also code of a module that calls, or is called by, what it has generated: V8's.
            let guessed = guess_caller(origin, registers, kind, bounds, target, cache)
                .or_else(|| leave_beside_generated(origin, registers, kind, bounds, target, cache));
            match guessed {
                Some(slot) => Detour::Caller { slot },
                None if is_generated(pc, target) => Detour::None(PartialReason::UnknownModule),
                None => Detour::None(PartialReason::NoCfi),
            }
        }
    }
}

/// Goes to the frame that an unwinder is giving the thread to. `recipe` is what the unwinder's CFI
/// says.
fn leave_unwinder(
    registers: &mut Registers,
    how: Landing,
    recipe: Recipe,
    bounds: StackBounds,
    target: &impl Target,
) -> Detour {
    let read = |word| target.read(word);
    let mut caller = *registers;
    let Ok(Step::Caller { ra_slot }) = step(&mut caller, recipe, read) else {
        return Detour::None(PartialReason::BadStack);
    };
    let handler = match how {
        Landing::Jumping => Some(jump(registers, &caller)),
        Landing::Installing if !bounds.admits_caller(registers.sp(), caller.sp()) => {
            return Detour::None(PartialReason::BadStack);
        }
        Landing::Installing => land(registers.sp(), caller.sp(), read),
    };
    let found = handler.unwrap_or(caller);
    if !bounds.admits_same(registers.sp(), found.sp()) {
        return Detour::None(PartialReason::BadStack);
    }
    *registers = found;
    match (handler, ra_slot) {
        (None, Some(slot)) => Detour::Caller { slot },
        // A handler on a stack of its own may have thrown to another one.
        _ => Detour::Jump(target.stack(registers.sp()).unwrap_or(bounds)),
    }
}

/// Goes where interrupted code is about to jump to, or says why not.
fn switch_or(
    reason: PartialReason,
    registers: &mut Registers,
    kind: FrameKind,
    target: &impl Target,
    window: &mut Window,
) -> Detour {
    let Some((switch, stack)) = switch(registers, kind, target, window) else {
        return Detour::None(reason);
    };
    *registers = switch.registers;
    Detour::Jump(stack)
}

/// Where interrupted code is about to jump to, if that is known code, and the stack it will be on.
fn switch(
    registers: &Registers,
    kind: FrameKind,
    target: &impl Target,
    window: &mut Window,
) -> Option<(Switch, StackBounds)> {
    if kind == FrameKind::Call {
        return None;
    }
    let (code, at) = Seen::around(target, registers.ip, window)?;
    let mut switch = run_on(&code, at, registers, |word| target.read(word))?;
    switch.is_seen |= may_have_switched(&code, at);
    let there = &mut switch.registers;
    // Of other modules nothing is read unless they are on the stack.
    target.code(there.ip)?;
    if find_all(target, FrameKind::Interrupted, there.ip).0 == Recipe::NoCfi {
        return None;
    }
    let before = target.code_before(there.ip);
    if !before.is_some_and(|code| is_behind_call(&code, LONGEST_CALL)) {
        // A handler, or the start of a coroutine: looked up, as callers are, one byte before.
        there.ip = there.ip.wrapping_add(1);
    }
    let stack = target.stack(there.sp()).filter(|_| there.sp().is_multiple_of(8))?;
    target.read(there.sp())?;
    Some((switch, stack))
}

/// What begins where a frame without CFI goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    /// Code that nothing called: glibc's `__start_context`, where a makecontext function returns
    /// to, is the first byte of an FDE that does not declare its return address undefined.
    Uncalled,
    /// Another function, behind a call that never returns.
    Behind,
}

/// What has CFI where the caller's code, whose last byte has none, goes on; `None` if nothing has.
fn neighbour(registers: &Registers, target: &impl Target) -> Option<Neighbour> {
    if find_all(target, FrameKind::Leaf, registers.ip).0 == Recipe::NoCfi {
        return None;
    }
    let before = target.code_before(registers.ip);
    let called = before.is_some_and(|code| is_behind_call(&code, LONGEST_CALL));
    Some(if called { Neighbour::Behind } else { Neighbour::Uncalled })
}

/// Finds the caller of code without CFI, whose registers these are then, and the slot of its return
/// address.
fn leave_undescribed(
    origin: &Origin,
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Option<u64> {
    let probes = target.probes();
    if let Some(probes) = probes {
        probes.begin_frame();
    }
    if probes.is_some() && is_generated(registers.ip.wrapping_sub(kind.lookup_bias()), target) {
        return leave_and_pay(origin, registers, kind, bounds, target, cache);
    }
    let followed = follow_code(origin, registers, kind, bounds, target, cache).ok();
    followed
        .or_else(|| guess_caller(origin, registers, kind, bounds, target, cache))
        .or_else(|| leave_beside_generated(origin, registers, kind, bounds, target, cache))
}

/// The same, of a module's code that generated code has called, or was called by, and that does not
/// say how it returns. Nothing is armed over such a guess, since generated code is on the stack.
fn leave_beside_generated(
    origin: &Origin,
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Option<u64> {
    target.probes()?;
    if kind == FrameKind::Call && neighbour(registers, target).is_some() {
        return None;
    }
    leave_and_pay(origin, registers, kind, bounds, target, cache)
}

/// The same of generated code.
fn leave_and_pay(
    origin: &Origin,
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Option<u64> {
    origin.repeat(GENERATED);
    let slot = leave_generated(registers, kind, bounds, target, cache);
    origin.repeat(cache.piece.take_followed() / INSTRUCTIONS);
    slot
}

/// The same, of code that does not say how it returns.
fn guess_caller(
    origin: &Origin,
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Option<u64> {
    find_call(origin, registers, bounds, target, &mut cache.window)
        .or_else(|| follow_frame_pointer(registers, kind, bounds, target, cache))
}

/// Reads in the code how it will return, takes the first way that the stack agrees to, and returns
/// the slot of the return address; if none, the register that a way needs and that is not known.
fn follow_code(
    origin: &Origin,
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Result<u64, Option<Register>> {
    let pc = registers.ip;
    if kind == FrameKind::Call && neighbour(registers, target).is_some() {
        // The function has ended: its way out is not the next one's.
        return Err(None);
    }
    let is_at_least = is_at_least(registers, target);
    let remembered = cache.get_inferred(pc);
    let leads_to = |way: Inferred| {
        let mut caller = *registers;
        step(&mut caller, way.recipe, |word| target.read(word)).ok()?;
        Some(caller.ip)
    };
    if let Some(Followed { way, refused, .. }) = remembered
        && (way == Inferred::NOTHING || refused.is_some() && leads_to(way) == refused)
    {
        return Err(None);
    }
    let known_caller = remembered.map_or(0, |known| known.caller);
    let text = Seen::around(target, pc, &mut cache.window);
    let text = text.as_ref();
    let (mut steps, mut leads_here, mut taken) = (MOST_STEPS, None, 0);
    let mut leave = |way: Inferred| {
        if is_at_least && !matches!(way.recipe, Recipe::Bp { .. }) {
            return Err(Obstacle::NoCfi);
        }
        leave_as_inferred(registers, way, bounds, target, |caller, _| {
            if way.conforms {
                return is_called(caller, bounds, target);
            }
            if caller.ip == known_caller {
                return true;
            }
            let callee = text.and_then(|text| own_callee(caller, target, text, &mut steps));
            leads_here = callee.map(|callee| (caller.ip, callee));
            callee.is_some()
        })
    };
    let mut found = remembered.map_or(Err(Obstacle::NoCfi), |known| leave(known.way));
    // What is not in the load map may be other code at the next sample; and what is not believed of
    // a stack pointer that is not known may be right elsewhere.
    let is_kept = target.code(pc).is_some() && !is_at_least;
    let to_remember = match (&found, remembered) {
        (Ok(_), Some(known)) if known.is_refused() => Some(known.way.here().into()),
        (Ok(_) | Err(Obstacle::Unknown(_)), _) => None,
        (_, Some(known)) if known.refusals >= MOST_REFUSALS => None,
        _ => {
            let (code, at) = text.ok_or(None)?;
            let (mut first, mut ways) = (None, 0);
            let way = infer(code, *at, &mut taken, |way| {
                ways += 1;
                first = first.or(Some(way));
                match leave(way) {
                    Err(obstacle) if !matches!(obstacle, Obstacle::Unknown(_)) => {}
                    better => found = better,
                }
                found.is_ok()
            });
            // That none is believed may be for this stack only: generated code may have called.
            // What was believed on another stack stays.
            let refusal = || {
                let way = remembered.map(|known| known.way).or(first)?.here();
                let refusals = remembered.map_or(0, |known| known.refusals) + 1;
                let is_only = ways == 1 && first.is_some_and(|only| only.recipe == way.recipe);
                let refused = leads_to(way).filter(|_| is_only);
                Some(Followed { way, refusals, refused, ..Followed::NOTHING })
            };
            let followed = way.map(Followed::from).or_else(refusal);
            let is_known = !matches!(found, Err(Obstacle::Unknown(_)));
            is_known.then_some(followed.unwrap_or(Followed::NOTHING))
        }
    };
    origin.pay_for_code(taken + MOST_STEPS - steps, text.map(|(code, _)| code));
    if let Some(followed) = to_remember.filter(|_| is_kept) {
        cache.insert_inferred(pc, followed);
    }
    match found {
        Ok((caller, slot)) => {
            if let Some((caller, callee)) = leads_here.filter(|_| is_kept) {
                cache.note_caller(pc, caller, callee);
            }
            *registers = caller;
            Ok(slot)
        }
        Err(Obstacle::Unknown(register)) => Err(Some(register)),
        Err(_) => Err(None),
    }
}

/// Whether the frame may have a higher stack pointer, since generated code that was called there
/// took its arguments off the stack: then nothing can be found by it.
fn is_at_least(registers: &Registers, target: &impl Target) -> bool {
    target.probes().is_some_and(|probes| probes.is_at_least(registers.sp()))
}

/// Whether a call precedes the return address to what is taken for a caller.
fn is_called(caller: &Registers, bounds: StackBounds, target: &impl Target) -> bool {
    if target.probes().is_some() {
        return is_returned_to(caller.ip, bounds, target);
    }
    target.code_before(caller.ip).is_some_and(|code| is_behind_call(&code, LONGEST_CALL))
}

/// What that call calls, if it is a direct one of this very function: so it must be if that keeps
/// no register. Given is the code around the frame, and where the frame is in it.
fn own_callee(
    caller: &Registers,
    target: &impl Target,
    (code, at): &(Seen<'_, impl Target>, usize),
    steps: &mut u32,
) -> Option<u64> {
    let callee = callee(code.address(*at), caller.ip, target)?;
    is_called_at(code, code.offset(callee)?, *at, steps).then_some(callee)
}

/// What the direct call before `address` calls, if that is code of the known module that the frame
/// at `ip` is of.
fn callee(ip: u64, address: u64, target: &impl Target) -> Option<u64> {
    let [base, other] =
        [ip, address.wrapping_sub(1)].map(|at| target.code(at).map(|code| code.base));
    if base? != other? {
        return None;
    }
    Some(address.wrapping_add_signed(direct_call(&target.code_before(address)?)?))
}

/// Words above the stack pointer that may hold the return address of a function that does not
/// return.
const MOST_WORDS: u64 = 8;

/// Finds the call of a function that never returns, so that no instruction says where its return
/// address is (clang's `__clang_call_terminate`): a direct call that leads here, so many pushes ago
/// as there are words on the stack.
fn find_call(
    origin: &Origin,
    registers: &mut Registers,
    bounds: StackBounds,
    target: &impl Target,
    window: &mut Window,
) -> Option<u64> {
    target.code(registers.ip)?;
    if is_at_least(registers, target) {
        return None;
    }
    let (code, at) = Seen::around(target, registers.ip, window)?;
    let mut steps = MOST_STEPS;
    let found = (0..MOST_WORDS).find_map(|word| {
        let slot = registers.sp().wrapping_add(word * 8);
        let ip = target.read(slot)?;
        let callee = callee(registers.ip, ip, target).and_then(|callee| code.offset(callee))?;
        let cfa = slot.wrapping_add(8);
        let pushed = pushed_since_call(&code, callee, at, &mut steps);
        let is_it = pushed == Some(word * 8) && bounds.admits_caller(registers.sp(), cfa);
        is_it.then_some((slot, ip, cfa))
    });
    origin.pay_for_code(MOST_STEPS - steps, Some(&code));
    let (slot, ip, cfa) = found?;
    registers.become_caller(ip, cfa, None);
    Some(slot)
}

/// Assumes `push %rbp; mov %rsp,%rbp` in code without CFI, and believes it only if everything
/// fits: the saved pointer lies above this one on the same stack, the return address in code of a
/// module, and none into generated code before it.
///
/// `(ip, sp, bp) = (*(bp + 8), bp + 16, *bp)`
fn follow_frame_pointer(
    registers: &mut Registers,
    kind: FrameKind,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Option<u64> {
    let bp = registers.get(Register::RBP)?;
    let slot = bp.wrapping_add(8);
    let cfa = bp.wrapping_add(16);
    if bp < registers.sp() || bp & 7 != 0 || !bounds.admits_caller(registers.sp(), cfa) {
        return None;
    }
    let saved = target.read(bp)?;
    let ip = target.read(slot)?;
    if saved <= bp || saved & 7 != 0 || !bounds.contains_word(saved) {
        return None;
    }
    target.code(ip.wrapping_sub(FrameKind::Call.lookup_bias()))?;
    if target.probes().is_some()
        && returns_elsewhere(
            registers,
            kind,
            bp,
            bounds,
            target,
            &mut cache.others,
            Whose::Generated,
        )
    {
        return None;
    }
    registers.become_caller(ip, cfa, Some(saved));
    Some(slot)
}

/// Repeats the steps from `origin` with the other callee-saved registers restored, and returns the
/// present frame's registers; none if it does not arrive at the same frame. `wanted` may be a
/// register that the ABI lets every function change: OpenSSL's AES-GCM keeps its CFA in rax, since
/// it knows the subroutines that it calls.
fn walk_again(
    origin: &Origin,
    present: &Registers,
    wanted: Register,
    bounds: StackBounds,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> Option<Registers> {
    let may_change = !CalleeSaved::REGISTERS.contains(&wanted) && wanted != Register::RBP;
    let mut registers = origin.registers;
    let mut kind = origin.kind;
    origin.repeat(origin.steps);
    for _ in 0..origin.steps {
        let (recipe, saved) = find_all(target, kind, registers.ip);
        let before = registers;
        match step_with_callee_saved(&mut registers, recipe, &saved, |word| target.read(word)) {
            Ok(_) => {}
            Err(Obstacle::NoCfi) => {
                leave_undescribed(origin, &mut registers, kind, bounds, target, cache)?;
            }
            Err(_) => return None,
        }
        if may_change && keeps(wanted, &before, &registers, origin, target, cache) {
            registers.set(wanted, before.get(wanted)?);
        }
        kind = FrameKind::Call;
    }
    (registers.ip == present.ip && registers.sp() == present.sp()).then_some(registers)
}

/// Whether the code of a frame leaves a register alone on its way to its caller. Not inlined, so
/// that its frame is not on the stack while code is followed.
#[inline(never)]
fn keeps(
    register: Register,
    frame: &Registers,
    caller: &Registers,
    origin: &Origin,
    target: &impl Target,
    cache: &mut RecipeCache,
) -> bool {
    let remembered = cache.get_inferred(frame.ip);
    let is_refused = remembered.is_some_and(|known| known.is_refused());
    // To look again would take as long at each sample.
    if remembered.is_some_and(|known| known.refusals >= MOST_REFUSALS) {
        return false;
    }
    let way = remembered.filter(|_| !is_refused).map(|known| known.way).or_else(|| {
        let (code, at) = Seen::around(target, frame.ip, &mut cache.window)?;
        let mut taken = 0;
        let way = infer(&code, at, &mut taken, |way| {
            let mut found = *frame;
            let stepped = step(&mut found, way.recipe, |word| target.read(word));
            stepped.is_ok() && (found.ip, found.sp()) == (caller.ip, caller.sp())
        });
        origin.pay_for_code(taken, Some(&code));
        if target.code(frame.ip).is_some() && !is_refused {
            // None is for this stack only.
            let none = Followed { refusals: MOST_REFUSALS, ..Followed::NOTHING };
            cache.insert_inferred(frame.ip, way.map_or(none, Followed::from));
        }
        way
    });
    way.is_some_and(|way| way.kept >> register.dwarf() & 1 == 1)
}
