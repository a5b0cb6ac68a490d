//! Memory that samples need, of one thread after the other: to map it, to touch it for the first
//! time and to give it back costs a short thread more than all else.

#![expect(unsafe_code, reason = "a value too large for the stack")]

use alloc::boxed::Box;

use crate::allocator;
use crate::trampoline::path::Path;
use crate::trampoline::walked::Walked;
use crate::unwind::cache::RecipeCache;
use crate::unwind::known_ways::KnownWays;

/// What does not depend on whose it is.
pub struct Buffers {
    /// The cached path.
    pub(super) path: Path,
    /// The frames of the present sample.
    pub(super) walked: Walked,
    /// Recipes used last, by whichever thread: they hold for the load map that the cache has last
    /// seen.
    pub(super) cache: Box<RecipeCache>,
}

impl Buffers {
    /// New ones; `None` if memory is refused.
    #[must_use]
    pub fn new() -> Option<Self> {
        static EMPTY_CACHE: RecipeCache = RecipeCache::new();
        // For the recipe cache and what else is small.
        if !allocator::has_room(1 << 18) {
            return None;
        }
        let (path, walked) = (Path::new()?, Walked::new()?);
        let mut cache = Box::<RecipeCache>::new_uninit();
        // SAFETY: plain data, copied from one static instance: a cache built on the stack would be
        // larger than the smallest thread stacks.
        let mut cache = unsafe {
            cache.as_mut_ptr().copy_from_nonoverlapping(&raw const EMPTY_CACHE, 1);
            cache.assume_init()
        };
        static KNOWN_WAYS: KnownWays = KnownWays::new();
        cache.share(&KNOWN_WAYS);
        Some(Self { path, walked, cache })
    }

    /// Whether none has grown since it was new.
    #[must_use]
    pub fn are_small(&self) -> bool {
        self.path.is_small() && self.walked.is_small()
    }

    /// Gives the memory back.
    pub fn release(mut self) {
        self.path.release();
        self.walked.release();
    }
}
