//! What a walk, and what gets it over an obstacle, ask of the process.

use core::cell::Cell;
use core::ops::Range;

use csprof_format::address::FrameKind;

use super::cache::Marks;
use super::table::Lookup;
use super::validate::StackBounds;
use crate::arch::unwind::inference::LONGEST_CALL;
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// All was copied.
    Whole,
    /// Nothing is mapped there.
    Nothing,
    /// Something may be there that cannot be read, or not now.
    Unknown,
}

/// What looking for callers of generated code takes: reads of memory by the kernel, 1 us each.
#[derive(Debug, Default)]
pub struct Probes {
    of_frame: Cell<u32>,
    of_words: Cell<u32>,
    unpaid: Cell<u32>,
    left_to: Cell<u64>,
    at_least: Cell<u64>,
}

impl Probes {
    /// Most reads for a frame.
    pub const MOST_OF_FRAME: u32 = 32;
    /// Most reads in a walk for words that may be return addresses.
    pub const MOST_OF_WORDS: u32 = 128;

    /// A walk begins.
    pub fn begin_walk(&self) {
        self.of_words.set(0);
        self.unpaid.set(0);
        self.left_to.set(0);
        self.at_least.set(0);
        self.begin_frame();
    }

    /// A frame begins.
    pub fn begin_frame(&self) {
        self.of_frame.set(0);
    }

    /// Whether there is one more read for this frame.
    pub fn take(&self) -> bool {
        let taken = self.of_frame.get();
        if taken >= Self::MOST_OF_FRAME {
            return false;
        }
        self.of_frame.set(taken + 1);
        self.unpaid.update(|unpaid| unpaid.saturating_add(1));
        true
    }

    /// Whether there is one more for a word in this walk.
    pub fn take_word(&self) -> bool {
        let taken = self.of_words.get();
        self.of_words.set(taken.saturating_add(1));
        taken < Self::MOST_OF_WORDS
    }

    /// The reads that were made since this was asked last.
    pub fn pay(&self) -> u32 {
        self.unpaid.take()
    }

    /// Generated code was left to a frame with this stack pointer.
    pub fn leave_to(&self, sp: u64) {
        self.left_to.set(sp);
    }

    /// A frame was left to one with this stack pointer, or a higher one: it is not known what it
    /// takes off the stack when it returns.
    pub fn leave_to_at_least(&self, sp: u64) {
        self.at_least.set(sp);
    }

    /// Whether a frame with this stack pointer may have a higher one.
    pub fn is_at_least(&self, sp: u64) -> bool {
        sp != 0 && self.at_least.get() == sp
    }

    /// Whether generated code was left to a frame with this stack pointer.
    pub fn is_left_to(&self, sp: u64) -> bool {
        sp != 0 && self.left_to.get() == sp
    }
}

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

    /// Runtime addresses of the code around `pc` that its module has readable. Asked where nothing
    /// else is known, and in code that may jump; of modules that are on the stack.
    fn text(&self, _pc: u64) -> Option<Range<u64>> {
        None
    }

    /// Copies what is at `address` of such code, as far as it can be read now: how many bytes.
    fn copy_text(&self, _address: u64, _to: &mut [u8]) -> usize {
        0
    }

    /// The bytes of code before `address`, which may be no return address, and of a module that
    /// another thread unloads.
    fn code_before(&self, address: u64) -> Option<[u8; LONGEST_CALL]> {
        let mut before = [0; LONGEST_CALL];
        let start = address.checked_sub(LONGEST_CALL as u64)?;
        let is_code = self.text(address - 1)?.contains(&start);
        (is_code && self.copy_text(start, &mut before) == LONGEST_CALL).then_some(before)
    }

    /// What is left to look for callers of generated code with; `None` if paths do not lead through
    /// such code.
    fn probes(&self) -> Option<&Probes> {
        None
    }

    /// Copies what is at `address`, all on one page, which may be code of no module and gone a
    /// moment later. No page is brought into memory for it.
    fn copy(&self, _address: u64, _to: &mut [u8]) -> Copied {
        Copied::Unknown
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
