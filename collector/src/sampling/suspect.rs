//! Code that looks functions up as an unwinder would, and is not known for one: LLVM's, linked into a
//! program. While it reads the stack, nothing may be replaced there.
//!
//! Such code asks the loader again for each frame that it goes on, which takes microseconds. So what
//! was armed before is put right when it asks (`preload/exceptions.rs`), and the samples that
//! follow arm nothing while functions near the one that asked are on the stack: those of an unwinder
//! are linked next to each other. Two samples later it has asked again, or is done.

use super::walked::WalkedFrame;

/// What asked last.
#[derive(Clone, Copy, Debug)]
pub struct Suspect {
    /// An address in it, and in the two highest bits the samples for which it is suspected.
    word: u64,
}

/// How far the other functions of an unwinder may be.
const NEAR: u64 = 16 << 10;
/// For so many samples. Addresses of user space leave the upper bits free.
const SAMPLES: u64 = 2;
const SAMPLES_SHIFT: u32 = 62;

impl Suspect {
    /// Nothing.
    pub const NONE: Self = Self { word: 0 };

    /// The function at `pc` has asked.
    #[must_use]
    pub const fn new(pc: u64) -> Self {
        Self { word: pc | SAMPLES << SAMPLES_SHIFT }
    }

    /// Whether it is on the stack that this sample has met. Once for each sample.
    pub(super) fn is_on(&mut self, frames: &[WalkedFrame]) -> bool {
        if self.word >> SAMPLES_SHIFT == 0 {
            return false;
        }
        self.word -= 1 << SAMPLES_SHIFT;
        let pc = self.word & !(u64::MAX << SAMPLES_SHIFT);
        frames.iter().any(|frame| frame.key.address().abs_diff(pc) < NEAR)
    }
}
