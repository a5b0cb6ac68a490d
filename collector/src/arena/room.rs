//! How much an arena may take.

use crate::sys::{Errno, File};

/// How much an arena may take.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Most bytes of its own.
    pub most: u64,
    /// Most of them for the times of samples; 0 if none are kept.
    pub times: u64,
    /// Bytes that stay free on its file system, whoever takes the rest: all processes of the run
    /// share one, and others need it, too.
    pub leave: u64,
    /// Whether there is no other folder to try.
    pub is_last: bool,
}

impl Room {
    /// Whether `size` bytes more may be taken of the file's file system.
    pub(super) fn has(self, file: &File, size: u64) -> Result<(), Errno> {
        let is_left = |free: u64| free >= self.leave.saturating_add(size);
        let has = self.leave == 0 || file.free_bytes().is_none_or(is_left);
        if has { Ok(()) } else { Err(Errno(libc::ENOSPC)) }
    }

    /// Whether times that have taken so many bytes may take `size` more, with so many bytes free on
    /// the file system; `None` where it has no limit. Nodes come first: without room for them
    /// samples are lost.
    pub(super) fn has_for_times(self, taken: u64, size: u64, free: Option<u64>) -> bool {
        /// Of what is left on the file system and what times have taken of it, they take one part
        /// of so many.
        const PART: u64 = 16;
        let sum = taken.saturating_add(size);
        let is_part = |free: u64| {
            let all = free.saturating_sub(self.leave).saturating_add(taken);
            sum <= all / PART
        };
        sum <= self.times.min(self.most / 2) && (self.leave == 0 || free.is_none_or(is_part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum is limited, not each extent: 64 KiB at a time would fill the file system.
    #[test]
    fn times_take_a_part_of_all_that_is_left() {
        const EXTENT: u64 = 64 << 10;
        let room = Room { most: u64::MAX, times: 64 << 20, leave: 1 << 20, is_last: true };
        let (mut taken, mut free) = (0, 17 << 20);
        while room.has_for_times(taken, EXTENT, Some(free)) {
            (taken, free) = (taken + EXTENT, free - EXTENT);
        }
        assert_eq!(taken, 1 << 20);
        assert!(room.has_for_times(taken, EXTENT, None));
        let small = Room { most: 1 << 20, ..room };
        assert!(small.has_for_times(448 << 10, EXTENT, None));
        assert!(!small.has_for_times(449 << 10, EXTENT, None));
        assert!(small.has_for_times(449 << 10, 4 << 10, None), "a smaller one fits");
    }
}
