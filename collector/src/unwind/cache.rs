//! A thread's memory of the code it met last: recipes, and what else its walks need to know.
//!
//! SIGNAL side. A walk asks for the same few hundred addresses again and again; one cache line
//! here replaces the search of the load map, of a recipe, and of the rules for its module.
//! The handler comes seldom, and finds whatever it reads outside the processor's caches: so lines
//! count, not comparisons, and the entries that an address may have share one. Belongs to one thread.

use super::arch::inference::Inferred;
use super::arch::recipe::Recipe;

const SETS: usize = 1 << BITS;
const BITS: u32 = 8;
/// Entries of 16 bytes in a line of 64.
const WAYS: usize = 4;
const INFERRED: usize = 1 << INFERRED_BITS;
const INFERRED_BITS: u32 = 7;

/// What is known about the code at an address besides its recipe: bits that mean something to
/// whoever answers [`Target::marks`](super::walk::Target::marks), and nothing to a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub u8);

impl Marks {
    /// Whether it has any of these.
    #[must_use]
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

/// Recipes by address: 19 KB.
#[derive(Debug)]
#[repr(align(64))]
pub struct RecipeCache {
    /// Of each set, the last one inserted is the first.
    sets: [[Entry; WAYS]; SETS],
    /// Those read off code that nothing describes, by the pc itself.
    inferred: [(u64, Inferred); INFERRED],
    /// The load map's generation that all entries belong to.
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The address, and above it the marks.
    key: u64,
    recipe: Recipe,
}

/// Not an address of user space, so never asked for with success.
const NOTHING: (u64, Inferred) = (u64::MAX, Inferred::NOTHING);

/// Addresses of user space have no more bits, also with five-level paging.
const ADDRESS_BITS: u32 = 56;
/// All of them, which is no address of user space.
const ADDRESSES: u64 = (1 << ADDRESS_BITS) - 1;

impl Entry {
    const EMPTY: Self = Self { key: ADDRESSES, recipe: Recipe::NoCfi };

    const fn new(address: u64, recipe: Recipe, marks: Marks) -> Self {
        Self { key: address & ADDRESSES | (marks.0 as u64) << ADDRESS_BITS, recipe }
    }

    const fn is_of(&self, address: u64) -> bool {
        self.key & ADDRESSES == address && address != ADDRESSES
    }

    const fn marks(&self) -> Marks {
        Marks((self.key >> ADDRESS_BITS) as u8)
    }
}

impl Default for RecipeCache {
    fn default() -> Self {
        Self::new()
    }
}

impl RecipeCache {
    /// An empty cache.
    #[must_use]
    pub const fn new() -> Self {
        Self { sets: [[Entry::EMPTY; WAYS]; SETS], inferred: [NOTHING; INFERRED], generation: 0 }
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
        self.sets = [[Entry::EMPTY; WAYS]; SETS];
        self.inferred = [NOTHING; INFERRED];
        self.generation = generation;
    }

    /// What is remembered of the code at this lookup address.
    #[must_use]
    #[inline]
    pub fn get(&self, address: u64) -> Option<(Recipe, Marks)> {
        let set = self.sets.get(slot(address, BITS))?;
        let entry = set.iter().find(|entry| entry.is_of(address))?;
        Some((entry.recipe, entry.marks()))
    }

    /// Remembers code of user space in place of what was remembered first of its set.
    #[inline]
    pub fn insert(&mut self, address: u64, recipe: Recipe, marks: Marks) {
        if let Some(set) = self.sets.get_mut(slot(address, BITS)).filter(|_| address < ADDRESSES) {
            set.rotate_right(1);
            set[0] = Entry::new(address, recipe, marks);
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

    const MARKS: Marks = Marks(0x81);
    const FOUND: Option<(Recipe, Marks)> = Some((Recipe::SignalFrame, MARKS));

    #[test]
    fn remembers_within_a_generation_only() {
        let mut cache = Box::new(RecipeCache::new());
        cache.prepare(1);
        cache.insert(0x40_1000, Recipe::SignalFrame, MARKS);
        assert_eq!(cache.get(0x40_1000), FOUND);
        assert_eq!(cache.get(0x40_1001), None);
        cache.prepare(1);
        assert_eq!(cache.get(0x40_1000), FOUND);
        cache.prepare(2);
        assert_eq!(cache.get(0x40_1000), None);
    }

    #[test]
    fn a_set_remembers_the_last_four() {
        let mut cache = Box::new(RecipeCache::new());
        cache.prepare(1);
        let of_one_set: Vec<u64> =
            (0x40_1000..).filter(|&address| slot(address, BITS) == 7).take(5).collect();
        for &address in &of_one_set {
            cache.insert(address, Recipe::SignalFrame, MARKS);
        }
        let found: Vec<_> = of_one_set.iter().map(|&address| cache.get(address)).collect();
        assert_eq!(found, [None, FOUND, FOUND, FOUND, FOUND]);
    }

    #[test]
    fn no_address_of_the_kernel_is_remembered() {
        let mut cache = Box::new(RecipeCache::new());
        for address in [u64::MAX, ADDRESSES, ADDRESSES + 1] {
            cache.insert(address, Recipe::SignalFrame, MARKS);
            assert_eq!(cache.get(address), None);
        }
    }
}
