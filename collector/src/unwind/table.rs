//! The recipes of one load module, by offset: built at load time, looked up in the handler.
//!
//! Text is divided into blocks of 256 bytes. A row is three bytes: the low byte of the offset at
//! which it begins to hold, and the number of its recipe in the module's dictionary. The index
//! gives each block's first row. So one look-up touches a word of the index, the few rows of one
//! block, and the dictionary, which stays in the cache.
//!
//! ```text
//! offset 0x12345 ─► block 0x123 ─► index[0x123 .. 0x125] = 57, 61
//!                   rows[57..61] = (0x10, 4) (0x28, 9) (0x40, 2) (0x60, 1)
//!                                                      └ last with low byte <= 0x45
//! ```
//!
//! A row holds until the next one; if no row of the block is low enough, the last row of an
//! earlier block holds. Offsets that no FDE covers have rows of their own ([`Recipe::NoCfi`]), so
//! that every offset has exactly one recipe.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use crate::arch::unwind::recipe::{CalleeSaved, Recipe};

/// Recipes by offset from the start of a module's text. Signal side.
pub trait Lookup {
    /// The recipe for the code at `offset`; [`Recipe::NoCfi`] beyond the covered text. And offsets
    /// around it for which it holds, too, in the same function.
    fn lookup(&self, offset: u32) -> (Recipe, Range<u32>);

    /// The same, with the places of the other callee-saved registers.
    fn lookup_all(&self, offset: u32) -> (Recipe, CalleeSaved);
}

impl Lookup for RecipeTable {
    fn lookup(&self, offset: u32) -> (Recipe, Range<u32>) {
        (Self::lookup(self, offset), offset..offset.saturating_add(1))
    }

    fn lookup_all(&self, offset: u32) -> (Recipe, CalleeSaved) {
        Self::lookup_all(self, offset)
    }
}

/// The recipes of one load module. Immutable; the signal side only reads it.
#[derive(Debug, PartialEq, Eq)]
pub struct RecipeTable {
    /// Bytes of text covered: offsets `0..length`.
    length: u32,
    /// For each block the number of its first row, and the number of rows at the end.
    index: Box<[u32]>,
    rows: Box<[Row]>,
    recipes: Box<[Recipe]>,
    /// Parallel to `recipes`.
    callee_saved: Box<[CalleeSaved]>,
}

/// Low byte of the offset, recipe number (little endian). No alignment, so three bytes each.
type Row = [u8; 3];

const BLOCK_BITS: u32 = 8;

impl RecipeTable {
    /// One that says the same everywhere.
    #[cfg(test)]
    pub(crate) fn of_one(length: u32, recipe: Recipe) -> Self {
        let mut builder = Builder::new(length);
        builder.push(0, (recipe, CalleeSaved::LOST));
        builder.finish()
    }

    /// The recipe for the code at `offset`; [`Recipe::NoCfi`] beyond the covered text.
    #[must_use]
    #[inline]
    pub fn lookup(&self, offset: u32) -> Recipe {
        self.number(offset)
            .and_then(|number| self.recipes.get(number))
            .copied()
            .unwrap_or(Recipe::NoCfi)
    }

    /// The recipe for the code at `offset`, with the places of the other callee-saved registers.
    #[must_use]
    pub fn lookup_all(&self, offset: u32) -> (Recipe, CalleeSaved) {
        let found = self
            .number(offset)
            .and_then(|number| Some((*self.recipes.get(number)?, *self.callee_saved.get(number)?)));
        found.unwrap_or((Recipe::NoCfi, CalleeSaved::LOST))
    }

    #[inline]
    fn number(&self, offset: u32) -> Option<usize> {
        if offset >= self.length {
            return None;
        }
        let block = (offset >> BLOCK_BITS) as usize;
        let first = *self.index.get(block)? as usize;
        let end = *self.index.get(block + 1)? as usize;
        let low = offset as u8;
        let holding = self.rows.get(first..end)?.partition_point(|row| row[0] <= low);
        let [_, number @ ..] = *self.rows.get((first + holding).checked_sub(1)?)?;
        Some(usize::from(u16::from_le_bytes(number)))
    }

    /// Bytes of text covered.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Rows, after merging neighbors that need the same recipe.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The dictionary: each distinct recipe of the module.
    #[must_use]
    pub fn recipes(&self) -> &[Recipe] {
        &self.recipes
    }

    /// Bytes of memory the table takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.index)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.recipes)
            + size_of_val(&*self.callee_saved)
    }
}

/// Collects rows in ascending order and makes a table of them. SETUP side.
pub(super) struct Builder {
    length: u32,
    /// Offsets at which a recipe begins to hold, ascending, and the recipe's number.
    rows: Vec<(u32, u16)>,
    numbers: Numbers,
    recipes: Vec<Recipe>,
    callee_saved: Vec<CalleeSaved>,
}

const NO_CFI: (Recipe, CalleeSaved) = (Recipe::NoCfi, CalleeSaved::LOST);
const UNSUPPORTED: (Recipe, CalleeSaved) = (Recipe::Unsupported, CalleeSaved::LOST);

impl Builder {
    /// A table for `length` bytes of text that nothing covers so far.
    pub(super) fn new(length: u32) -> Self {
        let mut builder = Self {
            length,
            rows: Vec::new(),
            numbers: Numbers(Vec::new()),
            recipes: Vec::new(),
            callee_saved: Vec::new(),
        };
        // Numbers 0 and 1, so that a full dictionary still has both.
        builder.number(NO_CFI);
        builder.number(UNSUPPORTED);
        builder.push(0, NO_CFI);
        builder
    }

    /// From `offset` on this recipe holds. Offsets must not descend; of two at the same offset the
    /// later one counts.
    pub(super) fn push(&mut self, offset: u32, recipe: (Recipe, CalleeSaved)) {
        if offset >= self.length {
            return;
        }
        let number = self.number(recipe);
        if self.rows.last().is_some_and(|last| last.0 == offset) {
            self.rows.pop();
        }
        debug_assert!(self.rows.last().is_none_or(|last| last.0 < offset));
        if self.rows.last().is_none_or(|last| last.1 != number) {
            self.rows.push((offset, number));
        }
    }

    /// Forgets what was said from `offset` on.
    pub(super) fn cut(&mut self, offset: u32) {
        while self.rows.last().is_some_and(|last| last.0 > offset) {
            self.rows.pop();
        }
    }

    /// The recipe's number; that of [`Recipe::Unsupported`] once all are given away.
    fn number(&mut self, recipe: (Recipe, CalleeSaved)) -> u16 {
        let is_it = |number: u16| {
            let at = usize::from(number);
            self.recipes.get(at) == Some(&recipe.0) && self.callee_saved.get(at) == Some(&recipe.1)
        };
        let hash = hash(recipe);
        if let Some(number) = self.numbers.find(hash, is_it) {
            return number;
        }
        let Ok(number) = u16::try_from(self.recipes.len()) else { return 1 };
        self.recipes.push(recipe.0);
        self.callee_saved.push(recipe.1);
        let all = self.recipes.iter().copied().zip(self.callee_saved.iter().copied());
        self.numbers.insert(hash, number, all);
        number
    }

    /// The offsets at which a recipe begins to hold, ascending from 0, where they are few: without
    /// what else is saved.
    pub(super) fn into_rows(self) -> Box<[(u32, Recipe)]> {
        let recipe = |number: u16| self.recipes.get(usize::from(number)).copied();
        let row = |&(offset, number)| (offset, recipe(number).unwrap_or(Recipe::Unsupported));
        self.rows.iter().map(row).collect()
    }

    pub(super) fn finish(self) -> RecipeTable {
        let blocks = (self.length.div_ceil(1 << BLOCK_BITS)) as usize;
        let mut index = Vec::with_capacity(blocks + 1);
        let mut rows = Vec::with_capacity(self.rows.len());
        for (offset, number) in self.rows {
            let block = (offset >> BLOCK_BITS) as usize;
            index.resize(index.len().max(block + 1), rows.len() as u32);
            let [low, high] = number.to_le_bytes();
            rows.push([offset as u8, low, high]);
        }
        index.resize(blocks + 1, rows.len() as u32);
        RecipeTable {
            length: self.length,
            index: index.into(),
            rows: rows.into(),
            recipes: self.recipes.into(),
            callee_saved: self.callee_saved.into(),
        }
    }
}

/// Numbers of recipes by their hashes: open addressing, at most half full. Empty places hold
/// [`Numbers::NONE`].
struct Numbers(Vec<u32>);

impl Numbers {
    const NONE: u32 = u32::MAX;

    /// Where to look for this hash, in order.
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.0.len().wrapping_sub(1);
        (0..self.0.len()).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    fn find(&self, hash: u64, is_it: impl Fn(u16) -> bool) -> Option<u16> {
        self.places(hash)
            .map_while(|place| u16::try_from(*self.0.get(place)?).ok())
            .find(|number| is_it(*number))
    }

    /// Adds the last one of `all`, whose number and hash are given.
    fn insert(
        &mut self,
        hash_of_last: u64,
        number: u16,
        all: impl Iterator<Item = (Recipe, CalleeSaved)>,
    ) {
        let count = usize::from(number) + 1;
        if count * 2 <= self.0.len() {
            return self.put(hash_of_last, number);
        }
        let size = (count * 4).next_power_of_two();
        self.0.clear();
        self.0.resize(size, Self::NONE);
        for (number, recipe) in (0..=number).zip(all) {
            self.put(hash(recipe), number);
        }
    }

    fn put(&mut self, hash: u64, number: u16) {
        let free = self.places(hash).find(|place| self.0.get(*place) == Some(&Self::NONE));
        if let Some(place) = free.and_then(|place| self.0.get_mut(place)) {
            *place = u32::from(number);
        }
    }
}

/// A multiplicative hash: the dictionary is consulted once per row of a module's CFI, and its keys
/// come from a file that already decides what the unwinder does, so there is nothing to defend.
fn hash((recipe, callee_saved): (Recipe, CalleeSaved)) -> u64 {
    let saved = callee_saved.bits();
    let words = [recipe.bits(), saved as u64, (saved >> 64) as u64];
    let folded = words
        .into_iter()
        .fold(0_u64, |hash, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // The product's good bits are the high ones; the table is indexed by the low ones.
    folded ^ (folded >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::unwind::recipe::Slot;

    fn sp(offset: i32) -> (Recipe, CalleeSaved) {
        (Recipe::Sp { bp: Slot::SAME, offset }, CalleeSaved::SAME)
    }

    fn table(length: u32, rows: &[(u32, i32)]) -> RecipeTable {
        let mut builder = Builder::new(length);
        for (offset, recipe) in rows {
            builder.push(*offset, sp(*recipe));
        }
        builder.finish()
    }

    /// The example of this file's head: rows within one block, and across blocks without any.
    #[test]
    fn a_row_holds_until_the_next() {
        let rows = [(0x100, 1), (0x1_2310, 4), (0x1_2328, 9), (0x1_2340, 2), (0x1_2360, 3)];
        let table = table(0x2_0000, &rows);
        for (offset, expected) in [
            (0x0, Recipe::NoCfi),
            (0xff, Recipe::NoCfi),
            (0x100, sp(1).0),
            (0x1_22ff, sp(1).0),
            (0x1_2300, sp(1).0),
            (0x1_230f, sp(1).0),
            (0x1_2310, sp(4).0),
            (0x1_2327, sp(4).0),
            (0x1_2345, sp(2).0),
            (0x1_23ff, sp(3).0),
            (0x1_2400, sp(3).0),
            (0x1_ffff, sp(3).0),
            (0x2_0000, Recipe::NoCfi),
            (u32::MAX, Recipe::NoCfi),
        ] {
            assert_eq!(table.lookup(offset), expected, "{offset:#x}");
            assert_eq!(table.lookup_all(offset).0, expected, "{offset:#x}");
        }
    }

    #[test]
    fn neighbors_with_one_recipe_are_one_row() {
        let merged = table(0x1000, &[(0x10, 8), (0x20, 16), (0x24, 16), (0x30, 8), (0x80, 8)]);
        assert_eq!(merged.rows(), 4, "nothing, 8, 16, 8");
    }

    #[test]
    fn of_two_rows_at_one_offset_the_later_holds() {
        let table = table(0x100, &[(0x10, 8), (0x10, 16)]);
        assert_eq!(table.lookup(0x10), sp(16).0);
        assert_eq!(table.rows(), 2);
    }

    /// Text that ends in the middle of a block, and a row at the last byte.
    #[test]
    fn a_length_that_is_no_multiple_of_a_block() {
        let table = table(0x101, &[(0x100, 8)]);
        assert_eq!(table.lookup(0xff), Recipe::NoCfi);
        assert_eq!(table.lookup(0x100), sp(8).0);
        assert_eq!(table.lookup(0x101), Recipe::NoCfi);
    }

    /// More recipes than numbers: the rest is unsupported, and so says the table.
    #[test]
    fn a_full_dictionary() {
        let rows: Vec<(u32, i32)> = (0..70_000).map(|n| (n * 4, n as i32 * 8)).collect();
        let table = table(0x10_0000, &rows);
        assert_eq!(table.recipes().len(), 65_536);
        assert_eq!(table.lookup(65_533 * 4), sp(65_533 * 8).0);
        assert_eq!(table.lookup(65_534 * 4), Recipe::Unsupported);
    }
}
