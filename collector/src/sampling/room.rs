//! Whether the stack has room for a sample.
//!
//! The handler runs on the stack of the code that it interrupts. Where the program has a handler of
//! its own for a stack that overflows, and jumps out of it, it must not jump out of the collector
//! too. So a sample that comes when the stack is nearly full is counted as lost, and the program
//! overflows by itself, or comes back. Only in the last few hundred bytes the question is itself
//! what overflows; nothing has been begun then, and the program's handler answers.

#![expect(unsafe_code, reason = "makes the stack grow")]

use crate::sys;

/// What a sample takes of the stack, below the kernel's own frame: 5 KB, where it is most.
const NEEDED: u64 = 6 << 10;

/// What is known about the room on a thread's own stack.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// From here on upwards there is memory.
    lowest: u64,
    /// Where the main thread's stack begins, which grows as far as RLIMIT_STACK; 0 for others.
    top: u64,
}

impl Room {
    /// That of a thread which was given memory from `low` on.
    #[must_use]
    pub const fn given(low: u64) -> Self {
        Self { lowest: low, top: 0 }
    }

    /// That of the main thread, whose stack begins at `top`.
    #[must_use]
    pub const fn growing(top: u64) -> Self {
        Self { lowest: top, top }
    }

    /// Whether a sample fits below `here`, where the handler stands. Signal side.
    #[inline]
    pub fn suffices(&mut self, here: u64) -> bool {
        here.saturating_sub(NEEDED) >= self.lowest || self.grow(here.saturating_sub(NEEDED))
    }

    #[cold]
    fn grow(&mut self, low: u64) -> bool {
        // What the program sets now counts when the stack grows (setrlimit(2)).
        if self.top == 0 || self.top.saturating_sub(low) > sys::stack_limit() {
            return false;
        }
        // SAFETY: within what the stack may grow to, which it does when it is touched.
        unsafe { core::ptr::with_exposed_provenance::<u8>(low as usize).read_volatile() };
        self.lowest = low;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_does_not_grow() {
        let mut room = Room::given(0x10_0000);
        assert!(room.suffices(0x10_0000 + NEEDED));
        assert!(!room.suffices(0x10_0000 + NEEDED - 1));
    }

    #[test]
    fn a_stack_that_grows_to_its_limit() {
        let local = 0_u8;
        let here = (&raw const local).addr() as u64;
        let mut room = Room::growing(here);
        assert!(room.suffices(here));
        assert_eq!(room.lowest, here - NEEDED, "known from now on");
        let mut far = Room::growing(here.saturating_add(sys::stack_limit()));
        assert!(!far.suffices(here), "the limit was reached above");
    }
}
