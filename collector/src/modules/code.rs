//! What is known about the code of a module: how it unwinds, and what the trampoline may do in it.
//!
//! Made on the setup side, read in handlers, and never changed.

#![expect(unsafe_code, reason = "recipes are read in modules that stay loaded")]

use alloc::vec::Vec;
use core::ops::Range;

use super::elf::{Identity, LoaderModule};
use super::frames::{NoRoom, Recipes};
use super::rules::ModuleRules;
use crate::unwind::table::Lookup;

/// What is known about a module's code, whatever its address.
#[derive(Default)]
pub struct Code {
    pub(super) recipes: Recipes,
    /// Code of an unwinder inside the module, by offset from the start of the text range.
    unwinders: Vec<Range<u32>>,
    /// What the trampoline may do in it.
    pub rules: ModuleRules,
}

/// Code by identity, kept for ever.
pub(super) type Codes = Vec<&'static (Identity, Code)>;

/// One stretch of code in the load map.
#[derive(Clone, Copy)]
pub struct Stretch {
    /// First runtime address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// One past the last that can be read; `start` if none can.
    pub readable_end: u64,
    /// Runtime address of the table's offset zero.
    pub base: u64,
    /// The module's code.
    pub code: &'static Code,
}

impl Stretch {
    /// Whether the code at `pc`, which lies in the stretch, unwinds stacks. Signal side.
    #[must_use]
    pub fn is_unwinder(&self, pc: u64) -> bool {
        let offset = pc.wrapping_sub(self.base);
        let holds = |range: &Range<u32>| (range.start.into()..range.end.into()).contains(&offset);
        self.code.rules.unwinder || self.code.unwinders.iter().any(holds)
    }

    /// Whether what the code at `pc`, which lies in the stretch, does as an unwinder can be seen on
    /// the stack: it is one, or its module has one that calls it. Either side.
    #[must_use]
    pub fn unwinds(&self, pc: u64) -> bool {
        self.is_unwinder(pc) || self.code.has_static_unwinder()
    }

    /// Whether the function at `pc`, which lies in the stretch, may handle an exception. Signal
    /// side.
    #[must_use]
    pub fn may_handle_exceptions(&self, pc: u64) -> bool {
        let Ok(offset) = u32::try_from(pc.wrapping_sub(self.base)) else { return false };
        self.code.recipes.may_handle_exceptions(offset)
    }
}

impl Code {
    /// Nothing is known: whatever is in it, nothing may be touched while it is on the stack.
    pub(super) const UNKNOWN: Self = Self {
        recipes: Recipes::None,
        unwinders: Vec::new(),
        rules: ModuleRules {
            never: true,
            unwinder: true,
            has_unsafe_functions: false,
            runtime: None,
        },
    };

    /// Reads a module that stays loaded meanwhile.
    ///
    /// # Safety
    /// With `stays` it must stay loaded for ever.
    pub(super) unsafe fn of(module: &LoaderModule, stays: bool) -> Result<Self, NoRoom> {
        // SAFETY: the caller's promise.
        let (recipes, unwinders) = unsafe { Recipes::of(module, stays) }?;
        Ok(Self { recipes, unwinders, rules: ModuleRules::of(module) })
    }

    /// Whether the module stays loaded for ever. Signal side.
    #[must_use]
    pub const fn stays(&self) -> bool {
        self.recipes.are_in_place()
    }

    /// Bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.recipes.bytes() + size_of_val(self.unwinders.as_slice())
    }

    /// The recipes, by offset from the start of the text range. Signal side.
    #[must_use]
    pub fn recipes(&self) -> Option<&dyn Lookup> {
        self.recipes.lookup()
    }

    /// Whether the module brings an unwinder of its own: linked with `-static-libgcc`.
    pub(super) fn has_static_unwinder(&self) -> bool {
        !self.rules.unwinder && !self.unwinders.is_empty()
    }
}
