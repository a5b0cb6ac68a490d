//! The frames of one sample, innermost first, before they are nodes.

#![expect(unsafe_code, reason = "a growing buffer from the kernel, not from the heap")]

use core::ptr::NonNull;

use csprof_format::address::FrameKey;

use crate::sys;

/// Longest path, in frames: 40 MB of cached path.
pub const MAX_DEPTH: usize = 1 << 20;

/// A frame as the walk found it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkedFrame {
    /// Key of its node.
    pub key: FrameKey,
    /// Slot of its return address; 0 if that is not on the stack.
    pub slot: u64,
    /// The return address.
    pub real: u64,
    /// Its node, once found.
    pub node: u32,
    /// Whether the slot may be armed.
    pub arming: Arming,
}

/// Whether a slot may be armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arming {
    /// Yes.
    Safe,
    /// No. The activation has returned when its caller returns.
    Unsafe,
    /// No, and whether it returned or was left by an exception cannot be told: it is a lost return.
    Blind,
}

/// A buffer of plain values that grows by mapping a larger one.
#[derive(Debug)]
pub(crate) struct Buffer<T: Copy> {
    start: NonNull<T>,
    capacity: usize,
    length: usize,
}

impl<T: Copy> Buffer<T> {
    const FIRST_BYTES: usize = 16 << 10;

    pub(crate) fn new() -> Option<Self> {
        let start = sys::map_anonymous(Self::FIRST_BYTES).ok()?.cast();
        Some(Self { start, capacity: Self::FIRST_BYTES / size_of::<T>(), length: 0 })
    }

    const fn bytes(&self) -> usize {
        (self.capacity * size_of::<T>()).next_multiple_of(crate::arch::PAGE_SIZE)
    }

    /// Whether it has not grown.
    pub(crate) const fn is_small(&self) -> bool {
        self.bytes() <= Self::FIRST_BYTES
    }

    /// Appends; `false` if memory is refused or the path is too long. May move the buffer.
    #[inline]
    pub(crate) fn push(&mut self, value: T) -> bool {
        if self.length == self.capacity && !self.grow() {
            return false;
        }
        // SAFETY: below the capacity of the mapping.
        unsafe { self.start.add(self.length).write(value) };
        self.length += 1;
        true
    }

    #[cold]
    fn grow(&mut self) -> bool {
        if self.capacity >= MAX_DEPTH {
            return false;
        }
        let size = self.bytes() * 2;
        let Ok(start) = sys::map_anonymous(size) else { return false };
        let start = start.cast::<T>();
        // SAFETY: the new mapping is larger and does not overlap the old one; page alignment
        // suffices for T; the old mapping is given back whole and not used again.
        unsafe {
            start.copy_from_nonoverlapping(self.start, self.length);
            sys::unmap_anonymous(self.start.cast(), self.bytes());
        }
        self.start = start;
        self.capacity = size / size_of::<T>();
        true
    }

    #[inline]
    pub(crate) const fn as_slice(&self) -> &[T] {
        // SAFETY: `length` values were written.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    #[inline]
    pub(crate) const fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, borrowed mutably.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    pub(crate) const fn start(&self) -> *const T {
        self.start.as_ptr()
    }

    pub(crate) fn release(&mut self) {
        // SAFETY: the whole mapping; its thread is ending and uses it no more.
        unsafe { sys::unmap_anonymous(self.start.cast(), self.bytes()) };
        self.capacity = 0;
        self.length = 0;
    }
}

/// The frames of the present sample.
#[derive(Debug)]
pub struct Walked(Buffer<WalkedFrame>);

impl Walked {
    /// An empty buffer; `None` if memory is refused.
    #[must_use]
    pub fn new() -> Option<Self> {
        Buffer::new().map(Self)
    }

    /// Leaves the first frames, which are the innermost.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    #[inline]
    pub(crate) fn push(&mut self, frame: WalkedFrame) -> bool {
        self.0.push(frame)
    }

    /// The frame pushed last returns to one that may leave it otherwise, unseen.
    pub(crate) fn leave_unseen(&mut self) {
        if let Some(frame) = self.0.as_mut_slice().last_mut() {
            frame.arming = Arming::Blind;
        }
    }

    /// The frame pushed last returns to one of which too little is known.
    pub(crate) fn leave_alone(&mut self) {
        if let Some(frame) = self.0.as_mut_slice().last_mut()
            && frame.arming == Arming::Safe
        {
            frame.arming = Arming::Unsafe;
        }
    }

    pub(crate) const fn frames(&self) -> &[WalkedFrame] {
        self.0.as_slice()
    }

    pub(crate) const fn frames_mut(&mut self) -> &mut [WalkedFrame] {
        self.0.as_mut_slice()
    }

    /// Whether it has never been long.
    #[must_use]
    pub const fn is_small(&self) -> bool {
        self.0.is_small()
    }

    /// Gives the memory back. The value is not used again.
    pub fn release(&mut self) {
        self.0.release();
    }
}
