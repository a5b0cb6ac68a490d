//! Memory that a thread's samples need while it lives, and the next thread's afterwards: to map it, to touch it
//! for the first time and to give it back costs a short thread more than all else.

#![expect(unsafe_code, reason = "a value too large for the stack, mappings that change hands")]

use super::handler_stack::HandlerStack;
use crate::allocator;
use crate::sampling::{Path, Walked};
use crate::unwind::cache::RecipeCache;
use alloc::boxed::Box;

/// What does not depend on whose it is.
pub(super) struct Buffers {
    /// The cached path.
    pub path: Path,
    /// The frames of the present sample.
    pub walked: Walked,
    /// Recipes used last, by whichever thread: they hold for the load map that the cache has last seen.
    pub cache: Box<RecipeCache>,
    /// What its handlers run on; `None` if the thread could not let go of it.
    pub handlers: Option<HandlerStack>,
}

// SAFETY: whoever has them is alone with them: a thread that ends has no record any more, through which its
// trampoline could have found its path.
unsafe impl Send for Buffers {}

impl Buffers {
    /// New ones; `None` if memory is refused.
    pub(super) fn new() -> Option<Self> {
        static EMPTY_CACHE: RecipeCache = RecipeCache::new();
        // For the recipe cache and what else is small.
        if !allocator::has_room(1 << 18) {
            return None;
        }
        let (path, walked) = (Path::new()?, Walked::new()?);
        let mut cache = Box::<RecipeCache>::new_uninit();
        // SAFETY: plain data, copied from one static instance: a cache built on the stack would be
        // larger than the smallest thread stacks.
        let cache = unsafe {
            cache.as_mut_ptr().copy_from_nonoverlapping(&raw const EMPTY_CACHE, 1);
            cache.assume_init()
        };
        Some(Self { path, walked, cache, handlers: None })
    }

    /// Whether none has grown since it was new.
    pub(super) fn are_small(&self) -> bool {
        self.path.is_small() && self.walked.is_small()
    }

    /// Gives the memory back.
    pub(super) fn release(mut self) {
        self.path.release();
        self.walked.release();
        if let Some(stack) = self.handlers {
            stack.release();
        }
    }
}
