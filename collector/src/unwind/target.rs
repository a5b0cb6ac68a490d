//! What a walk, and what gets it over an obstacle, ask of the process.

use csprof_format::address::FrameKind;

use super::cache::Marks;
use super::table::Lookup;
use super::validate::StackBounds;
use crate::arch::unwind::inference::LONGEST_CALL;
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};

/// What a walk asks of the process it happens in. Every method must be async-signal-safe.
pub trait Target {
    /// The load module whose code contains `pc`, if any does.
    fn code(&self, pc: u64) -> Option<Code<'_>>;

    /// What the visitor must know of the code at `pc`, and the walk need not: remembered with the
    /// recipe, also for the code around it. Of code that
    /// [may jump](Self::may_jump) it must be [`Marks::HERE`].
    fn marks(&self, _pc: u64) -> Marks {
        Marks::default()
    }

    /// The recipe at `pc` where [`Self::code`] has no module but the loader has: one that is being
    /// loaded right now. Evaluated anew each time.
    fn foreign(&self, _pc: u64) -> Option<(Recipe, CalleeSaved)> {
        None
    }

    /// Whether the code at `pc` may go to another frame than its call frame information says: an
    /// unwinder's, or that of `swapcontext`. Asked once for each address.
    fn may_jump(&self, _pc: u64) -> bool {
        false
    }

    /// The readable code around `pc`, and where `pc` is in it. Asked where nothing else is known,
    /// and in code that may jump; of modules that are on the stack.
    fn text(&self, _pc: u64) -> Option<(&[u8], usize)> {
        None
    }

    /// The bytes of code before `address`, which may be no return address, and of a module that
    /// another thread unloads.
    fn code_before(&self, address: u64) -> Option<[u8; LONGEST_CALL]> {
        let (code, at) = self.text(address.checked_sub(1)?)?;
        code.get(..=at)?.last_chunk().copied()
    }

    /// The stack on which `sp` lies. Asked at the start of a walk and beyond every signal frame,
    /// where an alternate signal stack may end. The lower bound is that of stack pointers of
    /// callers, not of words that can be read: leaf functions keep some in the [red
    /// zone](crate::arch::RED_ZONE) below. Where a stack ends of which nothing else is known, the
    /// upper one is that of all memory.
    fn stack(&self, sp: u64) -> Option<StackBounds>;

    /// The walk has come to a frame with this stack pointer, on the [stack](Self::stack) that was
    /// asked for last.
    fn reached(&self, _sp: u64) {}

    /// The 64-bit word at `address`, on a stack or off it, if it can be read. Where a
    /// return address was replaced by the trampoline, it answers with the real one.
    fn read(&self, address: u64) -> Option<u64>;
}

/// A load module as a walk sees it.
#[derive(Clone, Copy)]
pub struct Code<'a> {
    /// The runtime address of the recipes' offset zero.
    pub base: u64,
    /// None if the module has no call frame information.
    pub recipes: Option<&'a dyn Lookup>,
}

impl<'a> Code<'a> {
    /// The recipes, and the offset of `pc` in them.
    pub(super) fn at(&self, pc: u64) -> Option<(&'a dyn Lookup, u32)> {
        Some((self.recipes?, u32::try_from(pc.wrapping_sub(self.base)).ok()?))
    }
}

/// The recipe of a frame, with all registers that it restores.
pub(super) fn find_all(
    target: &impl Target,
    kind: FrameKind,
    address: u64,
) -> (Recipe, CalleeSaved) {
    let pc = address.wrapping_sub(kind.lookup_bias());
    let found = match target.code(pc) {
        Some(code) => code.at(pc).map(|(recipes, offset)| recipes.lookup_all(offset)),
        None => target.foreign(pc),
    };
    found.unwrap_or((Recipe::NoCfi, CalleeSaved::LOST))
}
