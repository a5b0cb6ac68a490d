//! Code that is followed, instruction by instruction, wherever its bytes are.

use super::instruction::{Instruction, LONGEST, decode};

/// Code by offset: bytes, or a module's code of which copies are made as they are asked for.
pub trait Text {
    /// Bytes of code.
    fn length(&self) -> usize;

    /// Calls `look` with the bytes from `at` on: at least as many as the longest instruction has,
    /// but for where the code ends, or what can be read of it. `None` if there are none.
    fn look<T>(&self, at: usize, look: impl FnOnce(&[u8]) -> Option<T>) -> Option<T>;

    /// The instruction at `at`; `None` if it is not known, cut off, or cannot be read.
    fn instruction(&self, at: usize) -> Option<Instruction> {
        self.look(at, decode)
    }

    /// So many bytes at `at`, no more than the longest instruction has.
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        const { assert!(N <= LONGEST) };
        self.look(at, |bytes| bytes.first_chunk().copied())
    }
}

impl<B: AsRef<[u8]> + ?Sized> Text for B {
    fn length(&self) -> usize {
        self.as_ref().len()
    }

    fn look<T>(&self, at: usize, look: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        self.as_ref().get(at..).and_then(look)
    }
}
