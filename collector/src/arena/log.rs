//! Where the log grows: one extent of the arena.

#![expect(unsafe_code, reason = "a mapped extent")]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use csprof_format::arena::{EXTENT_ALIGN, ExtentHeader};

use crate::sys;

/// A log extent that is being filled. Setup side, one writer at a time.
pub struct LogExtent {
    start: NonNull<u8>,
    room: usize,
    committed: usize,
}

// SAFETY: moves between threads under the setup side's lock only.
unsafe impl Send for LogExtent {}

impl LogExtent {
    /// An extent of `size` bytes that was mapped at `start` just now, for nobody else.
    pub(super) const fn new(start: NonNull<u8>, size: usize) -> Self {
        Self { start, room: size - size_of::<ExtentHeader>(), committed: 0 }
    }

    /// Appends an encoded record; `false` if it does not fit.
    pub fn append(&mut self, record: &[u8]) -> bool {
        if record.len() > self.room - self.committed {
            return false;
        }
        // SAFETY: the range lies inside the mapped extent, behind what is committed, and only
        // this writer touches it.
        unsafe {
            let to = self.start.add(size_of::<ExtentHeader>() + self.committed);
            to.copy_from_nonoverlapping(NonNull::from(record).cast(), record.len());
        }
        self.committed += record.len();
        let header = self.start.cast::<ExtentHeader>();
        // SAFETY: the extent begins with its header. Release: publishes the record to a reader
        // of the growing file.
        unsafe { AtomicU64::from_ptr(&raw mut (*header.as_ptr()).committed) }
            .store(self.committed as u64, Ordering::Release);
        true
    }
}

impl Drop for LogExtent {
    /// What is written stays in the file.
    fn drop(&mut self) {
        let size = (self.room + size_of::<ExtentHeader>()).next_multiple_of(EXTENT_ALIGN as usize);
        // SAFETY: the whole mapping of one extent, to which nobody else has a pointer.
        unsafe { sys::unmap(self.start, size) };
    }
}
