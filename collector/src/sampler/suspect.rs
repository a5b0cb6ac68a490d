//! Code that looks functions up as an unwinder would, and is not known for one: LLVM's, linked into
//! a program. While it reads the stack, nothing may be replaced there.
//!
//! Such code asks the loader again for each frame that it goes on, which takes microseconds. So
//! what was armed before is put right when it asks (`preload/exceptions.rs`), and the samples that
//! follow arm nothing while functions near the one that asked are on the stack: those of an
//! unwinder are linked next to each other. A millisecond later it has asked again, or is done. That
//! is told by samples, but only those count between which the thread has run: samples of elapsed
//! time also come while it waits for the loader's lock.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::sys::{self, Clock};
use crate::trampoline::walked::WalkedFrame;

/// What asked last. Changed by the thread and by its handler, a word at a time.
#[derive(Debug)]
pub struct Suspect {
    /// An address in it, and in the highest byte the samples for which it is suspected; 0 before
    /// anything has asked.
    word: AtomicU64,
    /// CPU time of the thread at the sample that counted last, in nanoseconds; 0 before the first.
    counted_ns: AtomicU64,
}

/// How far the other functions of an unwinder may be.
const NEAR: u64 = 16 << 10;
/// For so many samples. Addresses of user space leave the upper bits free.
const SAMPLES: u64 = 8;
/// CPU time between samples that count, in nanoseconds: at 5000 samples per second, each does.
const APART_NS: u64 = 150_000;
const SAMPLES_SHIFT: u32 = 56;

impl Suspect {
    /// Nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self { word: AtomicU64::new(0), counted_ns: AtomicU64::new(0) }
    }

    /// The function at `pc` has asked.
    pub fn ask(&self, pc: u64) {
        self.counted_ns.store(0, Ordering::Relaxed);
        self.word.store(pc | SAMPLES << SAMPLES_SHIFT, Ordering::Relaxed);
    }

    /// Whether it is on the stack that this sample has met. Once for each sample.
    pub(super) fn is_on(&self, frames: &[WalkedFrame]) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word >> SAMPLES_SHIFT == 0 {
            return false;
        }
        let now_ns = sys::now_ns(Clock::ThreadCpu);
        if now_ns.saturating_sub(self.counted_ns.load(Ordering::Relaxed)) >= APART_NS {
            self.counted_ns.store(now_ns, Ordering::Relaxed);
            self.word.store(word - (1 << SAMPLES_SHIFT), Ordering::Relaxed);
        }
        let pc = word & !(u64::MAX << SAMPLES_SHIFT);
        frames.iter().any(|frame| frame.key.address().abs_diff(pc) < NEAR)
    }
}
