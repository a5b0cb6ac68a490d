//! A thread's memory of the code it met last: recipes, and what else its walks need to know.
//!
//! SIGNAL side. A walk asks for the same few hundred addresses again and again; one cache line
//! here replaces the search of the load map, of a recipe, and of the rules for its module.
//! The handler comes seldom, and finds whatever it reads outside the processor's caches: so lines
//! count, not comparisons, and the entries that an address may have share one.
//!
//! A recipe mostly holds for many instructions, and an interpreter's loop, of which no two samples
//! need be at the same, is a function of which every instruction goes to decode. So an entry speaks
//! for the addresses of one aligned block of 64 bytes for which its recipe holds. Belongs to one
//! thread.

use core::ops::Range;

use crate::arch::unwind::inference::Inferred;
use crate::arch::unwind::recipe::Recipe;
use crate::unwind::known_ways::{BLOCK, BLOCK_BITS, Followed, KnownWays, set_of, slot};
use crate::unwind::piece::Piece;
use crate::unwind::window::Window;

const SETS: usize = 1 << BITS;
const BITS: u32 = 8;
/// Entries of 16 bytes in a line of 64.
const WAYS: usize = 4;
const INFERRED_SETS: usize = 1 << INFERRED_BITS;
const INFERRED_BITS: u32 = 5;

/// What is known about the code at an address besides its recipe: bits that mean something to
/// whoever answers [`Target::marks`](super::walk::Target::marks), and nothing to a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub u8);

impl Marks {
    /// Holds, as the recipe does, at this address, and perhaps not at the next.
    pub const HERE: Self = Self(1 << 7);

    /// Whether it has any of these.
    #[must_use]
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

/// Recipes by address, and the room of walks: 28 KB.
#[derive(Debug)]
#[repr(align(64))]
pub struct RecipeCache {
    /// Of each set, the last one inserted is the first.
    sets: [[Entry; WAYS]; SETS],
    /// What was read off code that nothing describes, from these pcs on.
    inferred: [[(u64, Followed); WAYS]; INFERRED_SETS],
    /// The same, as other threads have found it.
    known: Option<&'static KnownWays>,
    /// Room for a copy of code, of each frame anew: other code may be there at the next.
    pub piece: Piece,
    /// Room for copies of a module's code, in the present walk.
    pub window: Window,
    /// What the present walk has found to be no return address.
    pub others: Others,
    /// The load map's generation that all entries belong to.
    generation: u32,
}

/// What is known about some addresses of a block.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The number of the block, and below it the first and the last place in it, and the marks.
    key: u64,
    recipe: Recipe,
}

/// Not an address of user space, so never asked for with success.
const NOTHING: (u64, Followed) = (u64::MAX, Followed::NOTHING);

/// Addresses beyond this one are not remembered. The kernel gives none out unless asked for.
const END: u64 = 1 << 48;
const MARK_BITS: u32 = 8;
const KEY_BITS: u32 = MARK_BITS + 2 * BLOCK_BITS;

impl Entry {
    /// From the last place to the first.
    const EMPTY: Self =
        Self { key: (BLOCK - 1) << (MARK_BITS + BLOCK_BITS), recipe: Recipe::NoCfi };

    /// What holds at `address`, and at what is `around` it in its block.
    fn new(address: u64, around: &Range<u64>, recipe: Recipe, marks: Marks) -> Self {
        let start = address & !(BLOCK - 1);
        let first = around.start.clamp(start, address) - start;
        let last = around.end.wrapping_sub(1).clamp(address, start + BLOCK - 1) - start;
        let places = first << BLOCK_BITS | last;
        let key = (address >> BLOCK_BITS) << KEY_BITS | places << MARK_BITS | u64::from(marks.0);
        Self { key, recipe }
    }

    #[inline]
    const fn is_of(&self, address: u64) -> bool {
        let place = address % BLOCK;
        self.key >> KEY_BITS == address >> BLOCK_BITS
            && (self.key >> (MARK_BITS + BLOCK_BITS)) % BLOCK <= place
            && place <= (self.key >> MARK_BITS) % BLOCK
    }

    const fn marks(&self) -> Marks {
        Marks(self.key as u8)
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
        Self {
            sets: [[Entry::EMPTY; WAYS]; SETS],
            inferred: [[NOTHING; WAYS]; INFERRED_SETS],
            known: None,
            piece: Piece::EMPTY,
            window: Window::EMPTY,
            others: Others::NONE,
            generation: 0,
        }
    }

    /// Has it know what other threads have found: of the same generations of the load map.
    pub const fn share(&mut self, known: &'static KnownWays) {
        self.known = Some(known);
    }

    /// Must be called before a walk with the generation of the load map; what was remembered from
    /// another generation is forgotten, since an address may mean other code now.
    #[inline]
    pub fn prepare(&mut self, generation: u32) {
        self.others.are_old = true;
        self.window.forget();
        if self.generation != generation {
            self.forget(generation);
        }
    }

    #[cold]
    fn forget(&mut self, generation: u32) {
        self.sets = [[Entry::EMPTY; WAYS]; SETS];
        self.inferred = [[NOTHING; WAYS]; INFERRED_SETS];
        self.generation = generation;
    }

    /// What is remembered of the code at this lookup address.
    #[must_use]
    #[inline]
    pub fn get(&self, address: u64) -> Option<(Recipe, Marks)> {
        let set = self.sets.get(slot(address / BLOCK, BITS))?;
        let entry = set.iter().find(|entry| entry.is_of(address))?;
        Some((entry.recipe, entry.marks()))
    }

    /// Remembers what holds at `address`, and at what is `around` it, in place of what was
    /// remembered first of its set.
    #[inline]
    pub fn insert(&mut self, address: u64, around: Range<u64>, recipe: Recipe, marks: Marks) {
        let around = if marks.has(Marks::HERE) { address..address + 1 } else { around };
        let set = self.sets.get_mut(slot(address / BLOCK, BITS)).filter(|_| address < END);
        if let Some(set) = set {
            set.rotate_right(1);
            set[0] = Entry::new(address, &around, recipe, marks);
        }
    }

    /// What was read off the code at this pc, or before it in its block if it holds here too.
    #[must_use]
    pub fn get_inferred(&mut self, pc: u64) -> Option<Followed> {
        let set = self.inferred.get(set_of(pc, INFERRED_BITS))?;
        if let Some((_, known)) = set.iter().find(|(from, known)| known.reaches(*from, pc)) {
            return Some(*known);
        }
        let (from, known) = self.known?.get(self.generation, pc)?;
        self.insert_own(from, known);
        Some(known)
    }

    /// Remembers that the call before this return address is one of `callee`, from which the code
    /// leads to `pc`, where a way out is remembered of code behind `callee`.
    pub fn note_caller(&mut self, pc: u64, caller: u64, callee: u64) {
        let set = self.inferred.get_mut(set_of(pc, INFERRED_BITS));
        let found =
            set.and_then(|set| set.iter_mut().find(|(from, known)| known.reaches(*from, pc)));
        let found = found.filter(|(from, _)| callee <= *from);
        if let Some((_, known)) = found {
            known.caller = caller;
        }
    }

    /// Remembers it in place of what was remembered of this pc, else of what was remembered first
    /// of its set. A way is for all threads: that there is none may be so for a stack, or a moment.
    pub fn insert_inferred(&mut self, pc: u64, inferred: Followed) {
        let is_way = inferred.way != Inferred::NOTHING && !inferred.is_refused();
        if let Some(known) = self.known.filter(|_| is_way) {
            known.insert(self.generation, pc, inferred);
        }
        self.insert_own(pc, inferred);
    }

    fn insert_own(&mut self, pc: u64, inferred: Followed) {
        if let Some(set) = self.inferred.get_mut(set_of(pc, INFERRED_BITS)) {
            let last = set.iter().position(|(from, _)| *from == pc).unwrap_or(WAYS - 1);
            set[..=last].rotate_right(1);
            set[0] = (pc, inferred);
        }
    }
}

/// Words that are no return addresses, as long as one walk lasts: afterwards code may be there.
#[derive(Debug)]
pub struct Others {
    words: [u64; 1 << OTHERS_BITS],
    are_old: bool,
}

const OTHERS_BITS: u32 = 6;

impl Others {
    const NONE: Self = Self { words: [0; 1 << OTHERS_BITS], are_old: false };

    /// Whether `word`, which is not 0, is one of them, or is not a return address as `is_one` says.
    pub fn have(&mut self, word: u64, is_one: impl FnOnce(u64) -> bool) -> bool {
        if self.are_old {
            *self = Self::NONE;
        }
        let Some(place) = self.words.get_mut(slot(word, OTHERS_BITS)) else { return !is_one(word) };
        if *place == word {
            return true;
        }
        let is_other = !is_one(word);
        if is_other {
            *place = word;
        }
        is_other
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;

    use super::*;

    const MARKS: Marks = Marks(0x41);
    const FOUND: Option<(Recipe, Marks)> = Some((Recipe::SignalFrame, MARKS));

    /// With one entry, which is for the address and what is around it.
    fn cache(address: u64, around: Range<u64>) -> Box<RecipeCache> {
        let mut cache = Box::new(RecipeCache::new());
        cache.prepare(1);
        cache.insert(address, around, Recipe::SignalFrame, MARKS);
        cache
    }

    #[test]
    fn remembers_within_a_generation_only() {
        let mut cache = cache(0x40_1000, 0x40_1000..0x40_1001);
        assert_eq!(cache.get(0x40_1000), FOUND);
        cache.prepare(1);
        assert_eq!(cache.get(0x40_1000), FOUND);
        cache.prepare(2);
        assert_eq!(cache.get(0x40_1000), None);
    }

    #[test]
    fn an_entry_speaks_for_its_addresses_in_one_block() {
        for (around, expected) in [
            (0x1010..0x1011, 0x1010..0x1011),
            (0x1008..0x1012, 0x1008..0x1012),
            (0x0f00..0x1012, 0x1000..0x1012),
            (0x1010..0x2000, 0x1010..0x1040),
            (0x0..0x2000, 0x1000..0x1040),
            // Nothing of the sort: still the address itself.
            (0x1012..0x1013, 0x1010..0x1013),
        ] {
            let cache = cache(0x1010, around.clone());
            let found: Vec<u64> = (0xf00..0x1100).filter(|&at| cache.get(at) == FOUND).collect();
            assert_eq!(found, expected.collect::<Vec<_>>(), "{around:x?}");
        }
    }

    #[test]
    fn what_holds_here_holds_nowhere_else() {
        let mut cache = Box::new(RecipeCache::new());
        cache.prepare(1);
        cache.insert(0x1010, 0x1000..0x1040, Recipe::SignalFrame, Marks::HERE);
        assert_eq!(cache.get(0x1010), Some((Recipe::SignalFrame, Marks::HERE)));
        assert_eq!((cache.get(0x100f), cache.get(0x1011)), (None, None));
    }

    #[test]
    fn a_set_remembers_the_last_four() {
        let mut cache = Box::new(RecipeCache::new());
        cache.prepare(1);
        let of_one_set: Vec<u64> =
            (0x1000..).filter(|&block| slot(block, BITS) == 7).map(|n| n * BLOCK).take(5).collect();
        for &address in &of_one_set {
            cache.insert(address, address..address + 8, Recipe::SignalFrame, MARKS);
        }
        let found: Vec<_> = of_one_set.iter().map(|&address| cache.get(address)).collect();
        assert_eq!(found, [None, FOUND, FOUND, FOUND, FOUND]);
    }

    #[test]
    fn what_was_inferred_holds_as_far_as_it_reaches() {
        let mut cache = Box::new(RecipeCache::new());
        let of_reach = |reach| Inferred { reach, ..Inferred::NOTHING };
        for (at, reach) in [(0x1000, 3), (0x1008, 0), (0x1010, 5), (0x1020, 0x3f)] {
            cache.insert_inferred(at, of_reach(reach).into());
        }
        let reaches: Vec<_> = (0x1000..0x1018)
            .map(|at| cache.get_inferred(at).map(|inferred| inferred.way.reach))
            .collect();
        let expected: Vec<_> = [
            vec![Some(3); 4],
            vec![None; 4],
            vec![Some(0)],
            vec![None; 7],
            vec![Some(5); 6],
            vec![None; 2],
        ]
        .concat();
        assert_eq!(reaches, expected);
        cache.prepare(1);
        assert_eq!(cache.get_inferred(0x1000), None);
    }

    /// What is said of the code, not of a stack.
    #[test]
    fn what_one_thread_inferred_others_know() {
        static KNOWN: KnownWays = KnownWays::new();
        let [mut one, mut other] = [(); 2].map(|()| {
            let mut cache = Box::new(RecipeCache::new());
            cache.share(&KNOWN);
            cache.prepare(1);
            cache
        });
        let way = Inferred { reach: 3, conforms: true, ..Inferred::NOTHING };
        one.insert_inferred(0x1000, way.into());
        one.insert_inferred(0x3000, Followed::NOTHING);
        assert_eq!(other.get_inferred(0x3000), None);
        let refused = Followed { refusals: 1, ..way.into() };
        one.insert_inferred(0x2000, refused);
        assert_eq!(other.get_inferred(0x1003), Some(way.into()));
        assert_eq!((one.get_inferred(0x2000), other.get_inferred(0x2000)), (Some(refused), None));
        // What a thread knows of its own stack comes first.
        other.insert_inferred(0x1003, refused);
        assert_eq!(other.get_inferred(0x1003), Some(refused));
        assert_eq!(one.get_inferred(0x1003), Some(way.into()));
        other.prepare(2);
        assert_eq!(other.get_inferred(0x1003), None);
    }

    #[test]
    fn no_address_of_the_kernel_is_remembered() {
        for address in [u64::MAX - 1, END, END + BLOCK] {
            assert_eq!(cache(address, address..address + 1).get(address), None);
        }
        assert_eq!(RecipeCache::new().get(0), None);
    }
}
