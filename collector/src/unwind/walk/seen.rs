//! The code of a module, as a walk follows it.

use core::cell::{Cell, RefCell};
use core::ops::Range;

use crate::arch::unwind::text::Text;
use crate::unwind::target::Target;
use crate::unwind::window::Window;

/// Most copies for the code around one address: more than the longest functions are long. Code that
/// jumps to and fro takes many.
const MOST_COPIES: u32 = 256;

/// The readable code of a module, seen through a window.
pub(super) struct Seen<'a, T> {
    target: &'a T,
    code: Range<u64>,
    window: RefCell<&'a mut Window>,
    copies: Cell<u32>,
}

impl<'a, T: Target> Seen<'a, T> {
    /// The code around `pc`, and where `pc` is in it; `None` if its module has none that is
    /// readable.
    pub(super) fn around(target: &'a T, pc: u64, window: &'a mut Window) -> Option<(Self, usize)> {
        let code = target.text(pc)?;
        let seen = Self { target, code, window: RefCell::new(window), copies: Cell::new(0) };
        let at = seen.offset(pc)?;
        Some((seen, at))
    }

    /// The runtime address of what is at `at`.
    pub(super) fn address(&self, at: usize) -> u64 {
        self.code.start.wrapping_add(at as u64)
    }

    /// Where `pc` is in the code.
    pub(super) fn offset(&self, pc: u64) -> Option<usize> {
        let at = pc.checked_sub(self.code.start).filter(|_| pc < self.code.end)?;
        usize::try_from(at).ok()
    }

    /// How many copies were made.
    pub(super) const fn copies(&self) -> u32 {
        self.copies.get()
    }

    fn copy(&self, from: u64, to: &mut [u8]) -> usize {
        if self.copies.get() >= MOST_COPIES {
            return 0;
        }
        self.copies.update(|copies| copies + 1);
        self.target.copy_text(from, to)
    }
}

impl<T: Target> Text for Seen<'_, T> {
    fn length(&self) -> usize {
        usize::try_from(self.code.end.saturating_sub(self.code.start)).unwrap_or(usize::MAX)
    }

    fn look<R>(&self, at: usize, look: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
        let address = Some(self.address(at)).filter(|address| self.code.contains(address))?;
        let mut window = self.window.try_borrow_mut().ok()?;
        let bytes = window.at(address, &self.code, |from, to| self.copy(from, to));
        if bytes.is_empty() { None } else { look(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::target::Code;
    use crate::unwind::validate::StackBounds;

    /// Code that is there.
    struct Module {
        copies: Cell<u32>,
    }

    impl Target for Module {
        fn code(&self, _: u64) -> Option<Code<'_>> {
            None
        }

        fn text(&self, _: u64) -> Option<Range<u64>> {
            Some(0x40_0000..0x50_0000)
        }

        fn copy_text(&self, _: u64, to: &mut [u8]) -> usize {
            self.copies.update(|copies| copies + 1);
            to.fill(0x90);
            to.len()
        }

        fn stack(&self, _: u64) -> Option<StackBounds> {
            None
        }

        fn read(&self, _: u64) -> Option<u64> {
            None
        }
    }

    /// Each instruction of code that jumps to and fro may take a copy.
    #[test]
    fn the_number_of_copies_has_a_bound() {
        let module = Module { copies: Cell::new(0) };
        let mut window = Window::EMPTY;
        let (seen, at) = Seen::around(&module, 0x40_1000, &mut window).unwrap();
        assert_eq!((at, seen.length()), (0x1000, 0x10_0000));
        let turns = 0..MOST_COPIES as usize * 2;
        let are_seen = turns.map(|turn| seen.instruction(at + turn % 2 * 0x8000).is_some());
        assert_eq!(are_seen.filter(|is_seen| *is_seen).count(), MOST_COPIES as usize);
        assert_eq!(module.copies.get(), MOST_COPIES);
        assert_eq!(seen.instruction(seen.length()), None);
    }
}
