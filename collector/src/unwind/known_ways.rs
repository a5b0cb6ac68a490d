//! Ways out of code that nothing describes, as all threads of the process have found them.
//!
//! SIGNAL side. Of a program without call frame information (Chromium, and what is made of it) each
//! frame takes code to be read, some 30 us where functions are long. A thread remembers 128 of them
//! for itself; programs have thousands, and a hundred threads.

use super::cache::Followed;
use crate::try_lock::TryLock;

/// 4096 ways in 320 KB, of which those pages are in memory that are used.
#[derive(Debug)]
pub struct KnownWays([TryLock<[Known; WAYS]>; SETS]);

const SETS: usize = 1 << BITS;
const BITS: u32 = 10;
const WAYS: usize = 4;

/// What is known of some code, in one generation of the load map.
#[derive(Clone, Copy, Debug)]
struct Known {
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
        const NOTHING: Known = Known { pc: 0, generation: 0, followed: Followed::NOTHING };
        Self([const { TryLock::new([NOTHING; WAYS]) }; SETS])
    }

    /// What is known at this pc, or before it in its block if it holds here too.
    #[must_use]
    pub fn get(&self, generation: u32, pc: u64) -> Option<Followed> {
        let reaches = |known: &&Known| {
            known.generation == generation && known.pc > 0 && known.followed.reaches(known.pc, pc)
        };
        let known = self.set(pc)?.with(|set| set.iter().find(reaches).copied())?;
        known.map(|known| known.followed)
    }

    /// Remembers it in place of what was known of this pc, else of what was remembered first of its
    /// set; not if another thread is at it.
    pub fn insert(&self, generation: u32, pc: u64, followed: Followed) {
        let Some(set) = self.set(pc) else { return };
        set.with(|set| {
            let last = set.iter().position(|known| known.pc == pc).unwrap_or(WAYS - 1);
            set[..=last].rotate_right(1);
            set[0] = Known { pc, generation, followed };
        });
    }

    fn set(&self, pc: u64) -> Option<&TryLock<[Known; WAYS]>> {
        self.0.get(super::cache::set_of(pc, BITS))
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;

    use super::*;
    use crate::arch::unwind::inference::Inferred;

    fn of_reach(reach: u8) -> Followed {
        Inferred { reach, ..Inferred::NOTHING }.into()
    }

    #[test]
    fn what_one_thread_found_others_know() {
        static WAYS: KnownWays = KnownWays::new();
        std::thread::spawn(|| WAYS.insert(7, 0x40_1000, of_reach(3))).join().unwrap();
        assert_eq!(WAYS.get(7, 0x40_1003), Some(of_reach(3)));
        assert_eq!((WAYS.get(7, 0x40_1004), WAYS.get(7, 0)), (None, None));
        // The code may be another one's.
        assert_eq!(WAYS.get(8, 0x40_1000), None);
        WAYS.insert(8, 0x40_1000, of_reach(1));
        assert_eq!((WAYS.get(7, 0x40_1000), WAYS.get(8, 0x40_1001)), (None, Some(of_reach(1))));
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
                    if let Some(known) = WAYS.get(1, 0x1000) {
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
