//! What a caller's frame must satisfy before it is believed.
//!
//! SIGNAL side. The stack grows downwards: going outwards, every CFA lies above the one before it,
//! or at it where no word was taken off the stack, and within the stack it started on.

/// The stack that a frame lies on: `[low, high)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackBounds {
    /// The lowest address.
    pub low: u64,
    /// One past the highest address; at least 8.
    pub high: u64,
}

impl StackBounds {
    /// Bytes of a process's stack above the stack pointer that it begins with: part of its
    /// arguments.
    pub const ABOVE_ENTRY: u64 = 64;

    /// Whether a frame with this stack pointer has nothing above it that could have called it: it
    /// is what a process begins with, which may have aligned its stack pointer to 16 bytes.
    #[must_use]
    pub const fn is_outermost(self, sp: u64) -> bool {
        self.high.saturating_sub(sp) < Self::ABOVE_ENTRY + 16
    }

    /// Whether the 64-bit word at `address` lies on the stack.
    #[must_use]
    #[inline]
    pub const fn contains_word(self, address: u64) -> bool {
        // `high` is at least 8 wherever a stack can be.
        address >= self.low && address <= self.high.wrapping_sub(8)
    }

    /// Whether the frame of a caller may begin at `cfa` when the present one has `sp`.
    ///
    /// The return address below the CFA must lie on the stack, so that the CFA is strictly above
    /// the stack pointer; stacks are kept eight-byte aligned.
    #[must_use]
    #[inline]
    pub const fn admits_caller(self, sp: u64, cfa: u64) -> bool {
        cfa > sp && cfa <= self.high && cfa & 7 == 0
    }

    /// As [`Self::admits_caller`] for a return address that was popped into a register: the frame
    /// may be empty.
    #[must_use]
    #[inline]
    pub const fn admits_same(self, sp: u64, cfa: u64) -> bool {
        cfa >= sp && cfa <= self.high && cfa & 7 == 0
    }
}
