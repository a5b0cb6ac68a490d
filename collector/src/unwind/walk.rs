//! The walk: from an interrupted frame to the outermost one, without recursion.
//!
//! SIGNAL side. Called by the sample handler of a thread, on its handler stack. It may have
//! interrupted anything, allocates nothing, takes no lock, and reads memory only through
//! [`Target::read`], code through [`Target::copy_text`], and where paths lead through generated
//! code through [`Target::copy`].
//!
//! Which address is looked up: an interrupted frame's own pc, also below a signal frame; for every
//! other frame one byte before its return address, which is the first byte of other code when the
//! call never returns.
//!
//! Only ip, sp and bp are carried from frame to frame, since a few recipes in a thousand need
//! more. One that needs rbx or r12 to r15 in a calling frame is served by walking again from the
//! last interrupted frame with these registers restored too; from then on they are carried.

mod detour;
mod generated;
mod inferred;
mod seen;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::loss::PartialReason;

use super::cache::{Marks, RecipeCache};
pub use super::target::{Code, Copied, Target};
use super::target::{Probes, find_all};
use super::window::Window;
use crate::arch::unwind::landing::landing;
use crate::arch::unwind::recipe::Recipe;
use crate::arch::unwind::registers::Registers;
use crate::arch::unwind::step::{Step, step, step_with_callee_saved};
use crate::arch::unwind::switch::has_switched;
use detour::{Detour, Origin, overcome};
use seen::Seen;

/// One frame, as given to the visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// How the address was seen: the leaf, a caller, or code interrupted by a signal.
    pub kind: FrameKind,
    /// The interrupted pc, or the return address of the call that this frame is executing.
    pub address: u64,
    /// The stack pointer in this frame; for a caller, the CFA of the frame it called.
    pub sp: u64,
    /// What [`Target::marks`] says of the code at the address, or before the return address.
    pub marks: Marks,
    /// How the next frame was found.
    pub exit: Exit,
    /// What that took: as long as so many frames of which the recipe is remembered.
    pub took: u32,
}

impl Frame {
    /// The key of the frame's node in a calling context tree.
    #[must_use]
    pub const fn key(&self) -> FrameKey {
        FrameKey::new(self.kind, self.address)
    }
}

/// How a frame is left towards its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It will return through a word on the stack.
    Return {
        /// The word that holds the return address.
        slot: u64,
        /// What it holds.
        address: u64,
        /// Whether the frame is an entry of the procedure linkage table.
        plt: bool,
        /// Whether it is described as compilers describe theirs ([`Recipe::is_plain`]).
        plain: bool,
    },
    /// It will return through a register (vfork).
    Register {
        /// The return address.
        address: u64,
    },
    /// It has no call frame information: its caller was found by reading its code, or by a frame
    /// pointer, and passed all checks.
    Guess {
        /// The word that should hold the return address.
        slot: u64,
        /// What it holds.
        address: u64,
    },
    /// It does not return, but goes to another frame, which is the next one: an unwinder on its way
    /// to a handler, longjmp.
    Jump {
        /// Where that frame goes on: a return address, or a byte behind an instruction's first.
        address: u64,
    },
    /// It is a signal handler's return trampoline: the next frame is interrupted code.
    Signal,
    /// Nothing follows: the outermost frame, or the last one that could be found.
    None,
}

/// Whether the walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On to the next frame.
    Continue,
    /// Not needed: the rest of the path is known; or the path is full, or takes too long.
    Stop,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the outermost frame of the thread.
    Complete,
    /// The visitor stopped it.
    Stopped,
    /// The frame visited last has callers that could not be found.
    Partial(PartialReason),
}

/// Stacks that one walk may cross. Real programs nest one or two signal handlers; the limit ends
/// walks over damaged memory.
const MAX_SIGNAL_FRAMES: u32 = 64;

/// What a frame takes that is found in another way than by a recipe that is remembered: by one that
/// is looked up, by its code, or with all registers restored. Half a microsecond, ten times as
/// long.
const SLOW: u32 = 10;

/// What a read of memory by the kernel takes that is asked first whether it is there, in units of
/// [`SLOW`].
const PROBE: u32 = 2;

/// Visits every frame from the interrupted one outwards, each exactly once.
///
/// `start` holds the registers of the first frame: of interrupted code ([`FrameKind::Leaf`]), or of
/// code that has made a call, with its return address ([`FrameKind::Call`]); so says `kind`.
/// `cache` must have been prepared for the load map that `target` answers from.
pub fn walk(
    start: &Registers,
    mut kind: FrameKind,
    cache: &mut RecipeCache,
    target: &impl Target,
    mut visit: impl FnMut(&Frame) -> Flow,
) -> End {
    if let Some(probes) = target.probes() {
        probes.begin_walk();
    }
    let mut registers = *start;
    let mut origin = Origin::new(*start, kind);
    let mut carrying = false;
    let mut signal_frames = 0;
    let mut tried = 0_u32;
    let Some(mut bounds) = target.stack(start.sp()) else {
        return innermost(&registers, kind, target, End::Partial(PartialReason::BadStack), visit);
    };

    loop {
        let (address, sp) = (registers.ip, registers.sp());
        target.reached(sp);
        let lookup = address.wrapping_sub(kind.lookup_bias());
        let read = |word| target.read(word);

        let mut took = core::mem::take(&mut tried);
        let (recipe, marks, stepped) = if carrying {
            took = took.saturating_add(SLOW);
            let (recipe, saved) = find_all(target, kind, address);
            let recipe = unless_jump(target, recipe, kind, address, &mut cache.window);
            let stepped = step_with_callee_saved(&mut registers, recipe, &saved, read);
            (recipe, target.marks(lookup), stepped)
        } else {
            let (recipe, marks) = match cache.get(lookup) {
                Some(found) => {
                    took = took.saturating_add(1);
                    found
                }
                None => {
                    took = took.saturating_add(SLOW);
                    find(target, cache, kind, address)
                }
            };
            (recipe, marks, step(&mut registers, recipe, read))
        };
        let mut frame = Frame { kind, address, sp, marks, exit: Exit::None, took };

        match stepped {
            Ok(Step::Caller { ra_slot }) => {
                let cfa = registers.sp();
                let admitted = match ra_slot {
                    Some(_) => bounds.admits_caller(sp, cfa),
                    None => bounds.admits_same(sp, cfa),
                };
                if !admitted {
                    visit(&frame);
                    return End::Partial(PartialReason::BadStack);
                }
                let address = registers.ip;
                if address == 0 {
                    // The psABI, 3.4.1, leaves the outermost return address unspecified; in
                    // practice coroutine libraries and thread starters put zero there.
                    visit(&frame);
                    return End::Complete;
                }
                frame.exit = match ra_slot {
                    Some(slot) => Exit::Return {
                        slot,
                        address,
                        plt: recipe.is_plt(),
                        plain: recipe.is_plain(),
                    },
                    None => Exit::Register { address },
                };
                kind = FrameKind::Call;
                origin.steps = origin.steps.wrapping_add(1);
            }
            Ok(Step::Interrupted) => {
                frame.exit = Exit::Signal;
                signal_frames += 1;
                let same_stack = registers.sp() >= bounds.low && registers.sp() < bounds.high;
                let stack = target.stack(registers.sp());
                let progress = !same_stack || registers.sp() > sp;
                match stack {
                    Some(stack) if progress && signal_frames <= MAX_SIGNAL_FRAMES => bounds = stack,
                    _ => {
                        visit(&frame);
                        return End::Partial(PartialReason::BadStack);
                    }
                }
                kind = FrameKind::Interrupted;
                carrying = false;
                origin = Origin::new(registers, kind);
            }
            Ok(Step::EndOfStack) => {
                visit(&frame);
                return End::Complete;
            }
            Err(obstacle) => {
                let detour =
                    overcome(obstacle, &origin, &mut registers, kind, bounds, target, cache);
                let probed = target.probes().map_or(0, Probes::pay).saturating_mul(PROBE);
                let repeated = origin.repeated.take().saturating_add(probed);
                frame.took = frame.took.saturating_add(SLOW.saturating_mul(1 + repeated));
                match detour {
                    Detour::Carry => {
                        carrying = true;
                        tried = frame.took;
                        continue;
                    }
                    Detour::Caller { slot } => {
                        frame.exit = Exit::Guess { slot, address: registers.ip };
                        kind = FrameKind::Call;
                        origin.steps = origin.steps.wrapping_add(1);
                    }
                    Detour::Jump(stack) => {
                        bounds = stack;
                        frame.exit = Exit::Jump { address: registers.ip };
                        kind = FrameKind::Call;
                        carrying = false;
                        origin = Origin::new(registers, kind);
                    }
                    Detour::EndOfStack => {
                        visit(&frame);
                        return End::Complete;
                    }
                    Detour::None(reason) => {
                        visit(&frame);
                        return End::Partial(reason);
                    }
                }
            }
        }
        if visit(&frame) == Flow::Stop {
            return End::Stopped;
        }
    }
}

/// Visits the first frame alone, without a look at how it is left, and returns `end`.
#[cold]
pub fn innermost(
    start: &Registers,
    kind: FrameKind,
    target: &impl Target,
    end: End,
    mut visit: impl FnMut(&Frame) -> Flow,
) -> End {
    let (address, sp) = (start.ip, start.sp());
    let pc = address.wrapping_sub(kind.lookup_bias());
    if target.code(pc).is_none() {
        // Who answers notes whether it is code in the place of other code.
        let _ = target.foreign(pc);
    }
    visit(&Frame { kind, address, sp, marks: target.marks(pc), exit: Exit::None, took: 1 });
    end
}

/// The recipe from the module's own, and the marks, remembered unless there is no recipe.
///
/// Of foreign code nothing is remembered: it may be unmapped, and other code mapped in its place,
/// without the load map's generation changing, which is what the cache goes by.
#[cold]
fn find(
    target: &impl Target,
    cache: &mut RecipeCache,
    kind: FrameKind,
    address: u64,
) -> (Recipe, Marks) {
    let pc = address.wrapping_sub(kind.lookup_bias());
    let marks = target.marks(pc);
    let Some(code) = target.code(pc) else {
        return (target.foreign(pc).map_or(Recipe::NoCfi, |(recipe, _)| recipe), marks);
    };
    let (recipe, around) = match code.at(pc) {
        Some((recipes, offset)) => recipes.lookup(offset),
        None => (Recipe::NoCfi, 0..0),
    };
    let recipe = unless_jump(target, recipe, kind, address, &mut cache.window);
    if recipe != Recipe::NoCfi {
        let at = |offset: u32| code.base.wrapping_add(offset.into());
        cache.insert(pc, at(around.start)..at(around.end), recipe, marks);
    }
    (recipe, marks)
}

/// The recipe, unless the frame is about to be left for another one.
fn unless_jump(
    target: &impl Target,
    recipe: Recipe,
    kind: FrameKind,
    address: u64,
    window: &mut Window,
) -> Recipe {
    if recipe == Recipe::NoCfi || !target.may_jump(address.wrapping_sub(kind.lookup_bias())) {
        return recipe;
    }
    let jumps = Seen::around(target, address, window).is_some_and(|(code, at)| {
        landing(&code, at).is_some() || kind != FrameKind::Call && has_switched(&code, at)
    });
    if jumps { Recipe::Jump } else { recipe }
}

#[cfg(test)]
mod tests;
