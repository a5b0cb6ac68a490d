//! A copy of a piece of code that may be replaced at any time, for one frame.
//!
//! SIGNAL side. Kept between samples for its room alone, which the handler's stack does not have.

use core::ops::Range;

use crate::arch::PAGE_SIZE;

/// Bytes that are looked at before and behind a frame's address.
const BEFORE: usize = 1024;
const BEHIND: usize = 2048;
/// The same where only those before it matter. Few functions are larger.
const FAR_BEFORE: usize = 8128;
const LITTLE: usize = 64;

/// Code around an address.
#[derive(Debug)]
pub struct Piece {
    bytes: [u8; FAR_BEFORE + LITTLE],
    /// Instructions that were looked at in code far before, and not yet paid for.
    followed: u32,
}

impl Piece {
    /// Nothing.
    pub const EMPTY: Self = Self { bytes: [0; FAR_BEFORE + LITTLE], followed: 0 };

    /// The code around `address`, as far as `copy` can read it, and where the address is in it.
    /// `copy` is asked for what lies on one page, each time. `None` if what is at the address
    /// cannot be read.
    pub fn read(
        &mut self,
        address: u64,
        copy: impl Fn(u64, &mut [u8]) -> bool,
    ) -> Option<(&[u8], usize)> {
        self.read_from(address, BEFORE, BEHIND, copy)
    }

    /// The same of much of the code before `address`, with a little of what is behind.
    pub fn read_before(
        &mut self,
        address: u64,
        copy: impl Fn(u64, &mut [u8]) -> bool,
    ) -> Option<(&[u8], usize)> {
        self.read_from(address, FAR_BEFORE, LITTLE, copy)
    }

    /// Notes that so many instructions were looked at in code far before.
    pub fn note_followed(&mut self, instructions: u32) {
        self.followed = self.followed.saturating_add(instructions);
    }

    /// Those that were noted and not yet taken.
    pub fn take_followed(&mut self) -> u32 {
        core::mem::take(&mut self.followed)
    }

    fn read_from(
        &mut self,
        address: u64,
        before: usize,
        behind: usize,
        copy: impl Fn(u64, &mut [u8]) -> bool,
    ) -> Option<(&[u8], usize)> {
        const PAGE: u64 = PAGE_SIZE as u64;
        let low = address.checked_sub(before as u64)?;
        let high = low.checked_add((before + behind) as u64)?;
        let page = address & !(PAGE - 1);
        let place = |at: u64| at.min(high).saturating_sub(low) as usize;
        let mut copies = |range: Range<usize>| {
            let at = low + range.start as u64;
            let to = self.bytes.get_mut(range).filter(|to| !to.is_empty());
            to.is_some_and(|to| copy(at, to))
        };
        let (mut start, mut end) = (place(page), place(page.checked_add(PAGE)?));
        if !copies(start..end) {
            return None;
        }
        let mut lower = page;
        while start > 0 {
            lower = lower.saturating_sub(PAGE);
            let more = place(lower);
            if !copies(more..start) {
                break;
            }
            start = more;
        }
        if copies(end..before + behind) {
            end = before + behind;
        }
        Some((self.bytes.get(start..end)?, before - start))
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;

    use super::*;

    /// Each byte says where it is from; what lies on other pages than those given cannot be read.
    fn piece_of(address: u64, pages: &[u64], is_far: bool) -> Option<(Vec<u8>, usize)> {
        let copy = |at: u64, to: &mut [u8]| {
            let last = at + to.len() as u64 - 1;
            assert_eq!(at / 4096, last / 4096, "on one page");
            for (place, byte) in (at..).zip(to.iter_mut()) {
                *byte = place as u8 ^ (place >> 8) as u8;
            }
            pages.contains(&(at / 4096))
        };
        let mut piece = Piece::EMPTY;
        let found =
            if is_far { piece.read_before(address, copy) } else { piece.read(address, copy) };
        found.map(|(code, at)| (code.to_vec(), at))
    }

    #[test]
    fn as_much_as_can_be_read() {
        for (address, pages, is_far, before, behind) in [
            (0x5800, &[5_u64][..], false, 1024, 0x800),
            (0x5800, &[4, 5, 6], false, 1024, 2048),
            (0x5080, &[5, 6], false, 0x80, 2048),
            (0x5080, &[4, 5], false, 1024, 2048),
            (0x5000, &[5], false, 0, 2048),
            (0x5fff, &[5], false, 1024, 1),
            (0x5fff, &[5, 6], false, 1024, 2048),
            (0x5800, &[3, 4, 5], true, 8128, 64),
            (0x5800, &[3, 5, 6], true, 0x800, 64),
            (0x5fff, &[3, 4, 5], true, 8128, 1),
            (0x5010, &[2, 4, 5], true, 0x1010, 64),
        ] {
            let (code, at) = piece_of(address, pages, is_far).unwrap();
            let found = (at, code.len() - at);
            assert_eq!(found, (before, behind), "{address:#x} {pages:?} {is_far}");
            let expected = (address - at as u64..).map(|place| place as u8 ^ (place >> 8) as u8);
            assert!(code.iter().copied().eq(expected.take(code.len())), "{address:#x} {pages:?}");
        }
        assert_eq!(piece_of(0x5800, &[4, 6], false), None);
        let without = [0, 1023, u64::MAX].map(|address| piece_of(address, &[0], false));
        assert_eq!(without, [None, None, None]);
    }
}
