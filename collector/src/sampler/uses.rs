//! A thread's memory of where it was interrupted lately: is the code there about to use the word
//! through which its function will return?
//!
//! To find out, instructions are decoded, which takes as long as a few remembered frames. The
//! handler comes back to the same places again and again. Signal side.

const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 6;

/// Answers by place: 1.5 KiB.
#[derive(Debug)]
pub(super) struct Uses {
    places: [Use; PLACES],
    /// The load map's generation that all answers belong to.
    generation: u32,
}

/// Where code was interrupted, and the answer.
#[derive(Clone, Copy, Debug)]
struct Use {
    pc: u64,
    /// From the stack pointer to the word, in bytes.
    distance: i64,
    is_used: bool,
}

impl Use {
    /// No answer: code is not at address 0.
    const NONE: Self = Self { pc: 0, distance: 0, is_used: false };
}

impl Uses {
    /// No answers.
    pub(super) const fn new() -> Self {
        Self { places: [Use::NONE; PLACES], generation: 0 }
    }

    /// Must be called before a walk with the generation of the load map: an address may mean other
    /// code in the next.
    #[inline]
    pub(super) fn prepare(&mut self, generation: u32) {
        if self.generation != generation {
            self.forget(generation);
        }
    }

    /// In place, and apart: a new value would stand on the handler stack first.
    #[cold]
    #[inline(never)]
    fn forget(&mut self, generation: u32) {
        self.places.fill(Use::NONE);
        self.generation = generation;
    }

    /// What `find` says of the code at `pc` and the word `distance` bytes above the stack pointer,
    /// asked only if that is not remembered.
    #[inline]
    pub(super) fn get(&mut self, pc: u64, distance: i64, find: impl FnOnce() -> bool) -> bool {
        // Fibonacci hashing, as in the cache of recipes.
        let place = (pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACE_BITS)) as usize;
        let Some(known) = self.places.get_mut(place) else { return find() };
        if known.pc != pc || known.distance != distance {
            *known = Use { pc, distance, is_used: find() };
        }
        known.is_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_a_place_a_word_and_a_generation() {
        let mut uses = Uses::new();
        uses.prepare(1);
        assert!(uses.get(0x1000, 16, || true));
        assert!(uses.get(0x1000, 16, || unreachable!()));
        assert!(!uses.get(0x1000, 24, || false), "another word");
        assert!(!uses.get(0x1001, 24, || false), "another place");
        uses.prepare(2);
        assert!(uses.get(0x1001, 24, || true), "another load map");
    }
}
