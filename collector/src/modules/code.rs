//! What is known about the code of a module: how it unwinds, and what the trampoline may do in it.
//!
//! Made on the setup side, read in handlers, and never changed.

#![expect(unsafe_code, reason = "recipes are read in modules that stay loaded")]

use alloc::vec::Vec;
use core::ops::Range;

use super::elf::{self, Identity, LoaderModule, Mapped};
use super::rules::ModuleRules;
use crate::unwind::cfi;
use crate::unwind::table::{Lookup, RecipeTable};

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

/// How the code of a module unwinds; by the same offsets.
#[derive(Default)]
pub(super) enum Recipes {
    /// Without call frame information.
    #[default]
    None,
    /// Where the linker put them. The module stays loaded for ever.
    InPlace(Mapped),
    /// A copy.
    Table {
        table: RecipeTable,
        /// Code that may handle an exception, ascending.
        handlers: Vec<Range<u32>>,
    },
}

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
        match &self.code.recipes {
            Recipes::None => false,
            Recipes::InPlace(module) => module.may_handle_exceptions(offset),
            Recipes::Table { handlers, .. } => {
                let after = handlers.partition_point(|range| range.start <= offset);
                let before = after.checked_sub(1).and_then(|before| handlers.get(before));
                before.is_some_and(|range| offset < range.end)
            }
        }
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
    pub(super) unsafe fn of(module: &LoaderModule, stays: bool) -> Self {
        let rules = ModuleRules::of(module);
        // SAFETY: the caller's promise.
        let in_place = stays.then(|| unsafe { elf::in_place(module) }).flatten();
        if let Some((mapped, census)) = in_place {
            let recipes = Recipes::InPlace(mapped);
            return Self { recipes, unwinders: census.unwinders, rules };
        }
        match elf::recipes(module) {
            Some(cfi::Built { table, handlers, unwinders, .. }) => {
                Self { recipes: Recipes::Table { table, handlers }, unwinders, rules }
            }
            None => Self { rules, ..Self::default() },
        }
    }

    /// Whether the module stays loaded for ever. Signal side.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.recipes, Recipes::InPlace(_))
    }

    /// Bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let ranges = |ranges: &Vec<Range<u32>>| size_of_val(ranges.as_slice());
        let recipes = match &self.recipes {
            Recipes::None => 0,
            Recipes::InPlace(module) => module.bytes(),
            Recipes::Table { table, handlers } => table.bytes() + ranges(handlers),
        };
        size_of::<Self>() + recipes + ranges(&self.unwinders)
    }

    /// The recipes, by offset from the start of the text range. Signal side.
    #[must_use]
    pub fn recipes(&self) -> Option<&dyn Lookup> {
        match &self.recipes {
            Recipes::None => None,
            Recipes::InPlace(module) => Some(module),
            Recipes::Table { table, .. } => Some(table),
        }
    }

    /// Whether the module brings an unwinder of its own: linked with `-static-libgcc`.
    pub(super) fn has_static_unwinder(&self) -> bool {
        !self.rules.unwinder && !self.unwinders.is_empty()
    }
}
