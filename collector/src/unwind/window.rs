//! A module's code, of which walks look at copies: the program may forbid to read it at any time.
//!
//! SIGNAL side. What is copied is forgotten when the next walk begins. The room is kept between
//! walks, for the handler's stack has none.

use core::ops::Range;

use crate::arch::PAGE_SIZE;
use crate::arch::unwind::instruction::LONGEST;

/// Bytes that are copied at a time: a system call, as long as 20 instructions take to be followed.
const SIZE: usize = 1024;
/// So many of them lie before what is asked for: more than is looked for behind a frame.
const BEFORE: u64 = 128;

const PAGE: u64 = PAGE_SIZE as u64;
/// The address of no page.
const NO_PAGE: u64 = 1;

/// A copy of some bytes of code.
#[derive(Debug)]
pub struct Window {
    bytes: [u8; SIZE],
    /// Where they are from.
    start: u64,
    length: usize,
    /// A page that could not be read.
    unreadable: u64,
}

impl Window {
    /// Nothing.
    pub const EMPTY: Self = Self { bytes: [0; SIZE], start: 0, length: 0, unreadable: NO_PAGE };

    /// Must be called before a walk: it copies anew.
    pub const fn forget(&mut self) {
        self.length = 0;
        self.unreadable = NO_PAGE;
    }

    /// The bytes at `address`, which is of this `code`: at least as many as the longest instruction
    /// has, but for where the code ends, or what can be read of it; then perhaps none. `copy`
    /// copies code to a place, as far as it can be read: how many bytes.
    pub fn at(
        &mut self,
        address: u64,
        code: &Range<u64>,
        copy: impl Fn(u64, &mut [u8]) -> usize,
    ) -> &[u8] {
        let end = address.saturating_add(LONGEST as u64).min(code.end);
        if !self.has(address, end) {
            if page_of(address) == self.unreadable {
                return &[];
            }
            self.fill(address, code, copy);
        }
        let place = |at: u64| at.saturating_sub(self.start).min(self.length as u64) as usize;
        if address < self.start {
            return &[];
        }
        self.bytes.get(place(address)..place(end)).unwrap_or_default()
    }

    fn end(&self) -> u64 {
        self.start.saturating_add(self.length as u64)
    }

    /// Whether the bytes from `address` to `end` are there, as far as they can be read.
    fn has(&self, address: u64, end: u64) -> bool {
        let is_cut = self.end() == self.unreadable;
        (self.start..self.end()).contains(&address) && (end <= self.end() || is_cut)
    }

    /// Copies code around `address`, as far as `copy` can.
    fn fill(&mut self, address: u64, code: &Range<u64>, copy: impl Fn(u64, &mut [u8]) -> usize) {
        let low = address.saturating_sub(BEFORE).max(code.start);
        // Where the page before cannot be read, from this one on.
        for start in [low, page_of(address).max(low)] {
            if page_of(start) == self.unreadable {
                continue;
            }
            let length = code.end.saturating_sub(start).min(SIZE as u64) as usize;
            let Some(bytes) = self.bytes.get_mut(..length) else { return };
            (self.start, self.length) = (start, copy(start, bytes).min(length));
            if self.length < length {
                self.unreadable = page_of(self.end());
            }
            if self.end() > address {
                return;
            }
        }
    }
}

/// The address of the page that `address` is on.
const fn page_of(address: u64) -> u64 {
    address & !(PAGE - 1)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::prelude::rust_2024::*;

    use super::*;

    const CODE: Range<u64> = 0x40_0100..0x40_3080;

    /// Code of which each byte says where it is from, on pages of which some cannot be read.
    struct Pages<'a> {
        unreadable: &'a [u64],
        copies: Cell<u32>,
    }

    impl Pages<'_> {
        fn reads(&self, at: u64) -> bool {
            !self.unreadable.contains(&page_of(at))
        }

        fn copy(&self, from: u64, to: &mut [u8]) -> usize {
            assert!(CODE.start <= from && from + to.len() as u64 <= CODE.end, "{from:#x}");
            self.copies.update(|copies| copies + 1);
            let readable = (from..).zip(to).take_while(|(at, _)| self.reads(*at));
            readable.map(|(at, byte)| *byte = byte_of(at)).count()
        }
    }

    fn byte_of(address: u64) -> u8 {
        (address ^ address >> 8) as u8
    }

    /// At every address what lies there, as long as the longest instruction, or as far as it can be
    /// read; whichever way code is gone through.
    #[test]
    fn what_can_be_read_is_seen_and_nothing_else() {
        for unreadable in [
            &[][..],
            &[0x40_0000],
            &[0x40_2000],
            &[0x40_3000],
            &[0x40_1000, 0x40_2000],
            &[0x40_1000, 0x40_3000],
        ] {
            let pages = Pages { unreadable, copies: Cell::new(0) };
            let mut window = Window::EMPTY;
            let strided = CODE.map(|at| CODE.start + (at * 31) % (CODE.end - CODE.start));
            for at in CODE.chain(CODE.rev().step_by(5)).chain(strided.step_by(11)) {
                let end = (at + LONGEST as u64).min(CODE.end);
                let expected = (at..end).take_while(|at| pages.reads(*at)).map(byte_of);
                let seen = window.at(at, &CODE, |from, to| pages.copy(from, to));
                assert!(seen.iter().copied().eq(expected), "{at:#x}: {seen:x?} {unreadable:x?}");
            }
        }
    }

    /// A page that cannot be read is asked for once, and what is there not again before it is
    /// forgotten.
    #[test]
    fn few_copies_are_made() {
        let pages = Pages { unreadable: &[0x40_1000], copies: Cell::new(0) };
        let mut window = Window::EMPTY;
        let page = 0x40_2000;
        for forgets in 1..=2 {
            let mut seen = |at| window.at(at, &CODE, |from, to| pages.copy(from, to)).len();
            assert_eq!(seen(page + 8), LONGEST);
            assert!((1..=96).all(|back| (seen(page + 8 - back) > 0) == (back <= 8)));
            assert!((8..SIZE as u64 - 64).all(|onwards| seen(page + onwards) == LONGEST));
            assert_eq!(pages.copies.get(), 2 * forgets);
            window.forget();
        }
    }
}
