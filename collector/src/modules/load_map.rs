//! All code that is loaded, at one moment.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::code::Stretch;
use super::elf::LoaderModule;
use super::foreign::Foreign;

/// All code that is loaded, ordered by address.
#[derive(Default)]
pub struct LoadMap {
    /// Differs from that of every other map of this process.
    pub generation: u32,
    /// The epoch that the map belongs to.
    pub epoch: u32,
    /// Whether a module brings an unwinder that cannot be interposed.
    pub static_unwinder: bool,
    /// Whether nothing is armed in the process, for there is a
    /// [`Runtime`](super::runtimes::Runtime) that would mind.
    pub unarmed: bool,
    pub(super) stretches: Vec<Stretch>,
    /// Unloaded in the epoch: their addresses still mean them.
    pub(super) retired: Vec<Arc<LoaderModule>>,
}

impl LoadMap {
    /// Whether a module begins an epoch because it lies where another one was. Signal side.
    #[must_use]
    pub fn is_displaced_by(&self, module: &Foreign<'_>) -> bool {
        self.retired.iter().any(|retired| module.displaces(retired))
    }

    /// The stretch that contains `pc`. Signal side.
    #[must_use]
    pub fn find(&self, pc: u64) -> Option<&Stretch> {
        let after = self.stretches.partition_point(|stretch| stretch.start <= pc);
        let stretch = self.stretches.get(after.checked_sub(1)?)?;
        (pc < stretch.end).then_some(stretch)
    }

    /// One of modules of which nothing is known but where their code begins and ends, ascending.
    #[cfg(test)]
    pub(crate) fn of_code(ranges: &[(u64, u64)]) -> Self {
        let code: &'static _ = alloc::boxed::Box::leak(alloc::boxed::Box::default());
        let stretch =
            |&(start, end): &_| Stretch { start, end, readable_end: end, base: start, code };
        Self { stretches: ranges.iter().map(stretch).collect(), ..Self::default() }
    }

    /// One of a module in which functions begin everywhere.
    #[cfg(test)]
    pub(crate) fn of_entries(start: u64, end: u64) -> Self {
        use super::code::Code;
        use super::frames::Recipes;
        use crate::arch::unwind::recipe::{Recipe, Slot};
        use crate::unwind::table::RecipeTable;
        let of_entry = Recipe::Sp { bp: Slot::SAME, offset: 8 };
        let table = RecipeTable::of_one((end - start) as u32, of_entry);
        let code = alloc::boxed::Box::leak(alloc::boxed::Box::<Code>::default());
        code.recipes = Recipes::Table { table, handlers: Vec::new() };
        let code: &'static _ = code;
        let mut map = Self::of_code(&[(start, end)]);
        map.stretches.iter_mut().for_each(|stretch| stretch.code = code);
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pc_is_found_in_its_stretch_only() {
        let map = LoadMap::of_code(&[(0x1000, 0x2000), (0x5000, 0x6000)]);
        let start = |pc| map.find(pc).map(|stretch| stretch.start);
        assert_eq!(start(0xfff), None);
        assert_eq!(start(0x1000), Some(0x1000));
        assert_eq!(start(0x1fff), Some(0x1000));
        assert_eq!(start(0x2000), None);
        assert_eq!(start(0x5fff), Some(0x5000));
    }
}
