//! Ways out of code that nothing describes: what is remembered of one, and those that all threads
//! of the process have found.
//!
//! SIGNAL side. Of a program without call frame information (Chromium, and what is made of it) each
//! frame takes code to be read, instruction by instruction. A thread remembers 128 places for
//! itself; programs have thousands, and a hundred threads.

use crate::arch::unwind::inference::Inferred;
use crate::arch::unwind::recipe::CalleeSaved;
use crate::try_lock::TryLock;

/// What was read off code that nothing describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The way out: [`Inferred::NOTHING`] if there is none.
    pub way: Inferred,
    /// How often all ways were looked for, and none believed, since one was; at most
    /// [`MOST_REFUSALS`].
    pub refusals: u8,
    /// The return address that the last of them had there, if there is but this way. Of another
    /// stack that says nothing.
    pub refused: Option<u64>,
    /// The return address of which it was last found, since the code keeps no register, that the
    /// call before it leads here; 0: of none.
    pub caller: u64,
}

/// After so many times ways out of some code are looked for no more while none is believed, for
/// that takes long.
pub const MOST_REFUSALS: u8 = 8;

impl Followed {
    /// No way.
    pub const NOTHING: Self =
        Self { way: Inferred::NOTHING, refusals: 0, refused: None, caller: 0 };

    /// Whether no way was believed when this was remembered.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.refusals > 0
    }

    /// Whether what was found at `from` holds at `pc`.
    #[must_use]
    pub fn reaches(&self, from: u64, pc: u64) -> bool {
        pc.checked_sub(from).is_some_and(|behind| behind <= u64::from(self.way.reach))
    }
}

impl From<Inferred> for Followed {
    fn from(way: Inferred) -> Self {
        Self { way, ..Self::NOTHING }
    }
}

/// 4096 ways in 296 KB, of which those pages are in memory that are used.
#[derive(Debug)]
pub struct KnownWays([TryLock<[Entry; WAYS]>; SETS]);

const SETS: usize = 1 << BITS;
const BITS: u32 = 10;
const WAYS: usize = 4;

/// What was read off some code, in one generation of the load map.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// 0: nothing.
    pc: u64,
    generation: u32,
    followed: Followed,
}

impl Default for KnownWays {
    fn default() -> Self {
        Self::new()
    }
}

impl KnownWays {
    /// None. As a static value it takes no room in the file.
    #[must_use]
    pub const fn new() -> Self {
        // Nothing but zeros.
        const WAY: Inferred = Inferred { saved: CalleeSaved::SAME, ..Inferred::NOTHING };
        const FOLLOWED: Followed = Followed { way: WAY, ..Followed::NOTHING };
        const NOTHING: Entry = Entry { pc: 0, generation: 0, followed: FOLLOWED };
        Self([const { TryLock::new([NOTHING; WAYS]) }; SETS])
    }

    /// What is known at this pc, or before it in its block if it holds here too; and from which pc
    /// on.
    #[must_use]
    pub fn get(&self, generation: u32, pc: u64) -> Option<(u64, Followed)> {
        let reaches = |known: &&Entry| {
            known.generation == generation && known.pc > 0 && known.followed.reaches(known.pc, pc)
        };
        let known = self.set(pc)?.with(|set| set.iter().find(reaches).copied())?;
        known.map(|known| (known.pc, known.followed))
    }

    /// Remembers it in place of what was known of this pc, else of what was remembered first of its
    /// set; not if another thread is at it.
    pub fn insert(&self, generation: u32, pc: u64, followed: Followed) {
        let Some(set) = self.set(pc) else { return };
        set.with(|set| {
            let last = set.iter().position(|known| known.pc == pc).unwrap_or(WAYS - 1);
            set[..=last].rotate_right(1);
            set[0] = Entry { pc, generation, followed };
        });
    }

    fn set(&self, pc: u64) -> Option<&TryLock<[Entry; WAYS]>> {
        self.0.get(set_of(pc, BITS))
    }
}

/// Bytes of code of which an entry speaks at most: a block that begins at a multiple of it.
pub const BLOCK: u64 = 1 << BLOCK_BITS;
pub(super) const BLOCK_BITS: u32 = 6;

/// Where to look for what is inferred at a pc, among `2^bits` sets: one place for a block.
pub(super) const fn set_of(pc: u64, bits: u32) -> usize {
    slot(pc / BLOCK, bits)
}

/// Fibonacci hashing: the top bits of the product depend on every bit of the address.
#[inline]
pub(super) const fn slot(address: u64, bits: u32) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;

    use super::*;

    fn of_reach(reach: u8) -> Followed {
        Inferred { reach, ..Inferred::NOTHING }.into()
    }

    #[test]
    fn what_one_thread_found_others_know() {
        static WAYS: KnownWays = KnownWays::new();
        std::thread::spawn(|| WAYS.insert(7, 0x40_1000, of_reach(3))).join().unwrap();
        assert_eq!(WAYS.get(7, 0x40_1003), Some((0x40_1000, of_reach(3))));
        assert_eq!((WAYS.get(7, 0x40_1004), WAYS.get(7, 0)), (None, None));
        // The code may be another one's.
        assert_eq!(WAYS.get(8, 0x40_1000), None);
        WAYS.insert(8, 0x40_1000, of_reach(1));
        assert_eq!(
            (WAYS.get(7, 0x40_1000), WAYS.get(8, 0x40_1001)),
            (None, Some((0x40_1000, of_reach(1))))
        );
    }

    /// Beside each other, at any time.
    #[test]
    fn no_way_is_half_another_one() {
        static WAYS: KnownWays = KnownWays::new();
        let threads = [1_u8, 2, 3].map(|id| {
            std::thread::spawn(move || {
                let mut found = 0;
                for round in 0..100_000_u64 {
                    let followed = Followed { refusals: id, caller: id.into(), ..of_reach(id) };
                    WAYS.insert(1, 0x1000, followed);
                    if let Some((_, known)) = WAYS.get(1, 0x1000) {
                        let is_whole = known.caller == u64::from(known.refusals)
                            && known.way.reach == known.refusals;
                        assert!(is_whole, "round {round}: {known:?}");
                        found += 1;
                    }
                }
                found
            })
        });
        assert!(threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>() > 0);
    }
}
