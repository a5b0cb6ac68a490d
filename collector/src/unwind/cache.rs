//! A thread's memory of the recipes it used last.
//!
//! SIGNAL side. A walk asks for the same few hundred addresses again and again; one cache line
//! here replaces the search of the load map and of a recipe table. Belongs to one thread.

use super::arch::inference::Inferred;
use super::arch::recipe::Recipe;

const ENTRIES: usize = 1 << BITS;
const BITS: u32 = 10;
const INFERRED: usize = 1 << INFERRED_BITS;
const INFERRED_BITS: u32 = 7;

/// Recipes by address, direct mapped: 19 KB.
#[derive(Debug)]
pub struct RecipeCache {
    /// The load map's generation that all entries belong to.
    generation: u32,
    entries: [Entry; ENTRIES],
    /// Those read off code that nothing describes, by the pc itself.
    inferred: [(u64, Inferred); INFERRED],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    recipe: Recipe,
}

/// Not an address of user space, so never asked for with success.
const NOWHERE: u64 = u64::MAX;
const EMPTY: Entry = Entry { address: NOWHERE, recipe: Recipe::NoCfi };
const NOTHING: (u64, Inferred) = (NOWHERE, Inferred::NOTHING);

impl Default for RecipeCache {
    fn default() -> Self {
        Self::new()
    }
}

impl RecipeCache {
    /// An empty cache.
    #[must_use]
    pub const fn new() -> Self {
        Self { generation: 0, entries: [EMPTY; ENTRIES], inferred: [NOTHING; INFERRED] }
    }

    /// Must be called before a walk with the generation of the load map; what was remembered from
    /// another generation is forgotten, since an address may mean other code now.
    #[inline]
    pub fn prepare(&mut self, generation: u32) {
        if self.generation != generation {
            self.forget(generation);
        }
    }

    #[cold]
    fn forget(&mut self, generation: u32) {
        self.entries = [EMPTY; ENTRIES];
        self.inferred = [NOTHING; INFERRED];
        self.generation = generation;
    }

    /// The recipe remembered for the code at this lookup address.
    #[must_use]
    #[inline]
    pub fn get(&self, address: u64) -> Option<Recipe> {
        let entry = self.entries.get(slot(address, BITS))?;
        (entry.address == address).then_some(entry.recipe)
    }

    /// Remembers a recipe in place of whatever had its entry.
    #[inline]
    pub fn insert(&mut self, address: u64, recipe: Recipe) {
        if let Some(entry) = self.entries.get_mut(slot(address, BITS)) {
            *entry = Entry { address, recipe };
        }
    }

    /// What was read off the code at this pc: [`Inferred::NOTHING`] if nothing could be.
    #[must_use]
    pub fn get_inferred(&self, pc: u64) -> Option<Inferred> {
        let (address, inferred) = self.inferred.get(slot(pc, INFERRED_BITS))?;
        (*address == pc).then_some(*inferred)
    }

    /// Remembers it in place of whatever had its entry.
    pub fn insert_inferred(&mut self, pc: u64, inferred: Inferred) {
        if let Some(entry) = self.inferred.get_mut(slot(pc, INFERRED_BITS)) {
            *entry = (pc, inferred);
        }
    }
}

/// Fibonacci hashing: the top bits of the product depend on every bit of the address.
#[inline]
const fn slot(address: u64, bits: u32) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_within_a_generation_only() {
        let mut cache = Box::new(RecipeCache::new());
        cache.prepare(1);
        cache.insert(0x40_1000, Recipe::SignalFrame);
        assert_eq!(cache.get(0x40_1000), Some(Recipe::SignalFrame));
        assert_eq!(cache.get(0x40_1001), None);
        cache.prepare(1);
        assert_eq!(cache.get(0x40_1000), Some(Recipe::SignalFrame));
        cache.prepare(2);
        assert_eq!(cache.get(0x40_1000), None);
    }
}
