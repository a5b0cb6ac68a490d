//! The memory into which the kernel writes the records of all events of one processor:
//! perf_event_open(2), "MMAP layout".

#![expect(unsafe_code, reason = "memory that the kernel writes")]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapMut, MmapOptions};

/// Bytes of a page of x86-64.
const PAGE: usize = 4096;
/// Where `struct perf_event_mmap_page` has how many bytes of records were written so far, and how
/// many were taken.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// The ring of one processor.
#[derive(Debug)]
pub(super) struct Ring {
    map: MmapMut,
    /// Bytes of records that it has room for: a power of two.
    room: usize,
}

impl Ring {
    /// Maps the ring of an event, with room for so many bytes, which are a power of two of pages.
    ///
    /// # Errors
    ///
    /// The kernel's: EPERM where the user may not lock as much memory.
    pub(super) fn of(event: &OwnedFd, room: usize) -> io::Result<Self> {
        // SAFETY: nobody has a reference into this memory; below it is read and written by atomics,
        // and copied where the kernel does not write.
        let map = unsafe { MmapOptions::new().len(PAGE + room).map_mut(event)? };
        Ok(Self { map, room })
    }

    fn word(&mut self, place: usize) -> &AtomicU64 {
        // SAFETY: inside the first page, aligned; only atomics use it, the kernel's and these.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(place).cast()) }
    }

    /// Appends all records that were written since the last call.
    pub(super) fn take(&mut self, records: &mut Vec<u8>) {
        // Acquire: the kernel writes records before it says so.
        let head = self.word(HEAD).load(Ordering::Acquire);
        let tail = self.word(TAIL).load(Ordering::Relaxed);
        let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(self.room);
        let start = tail as usize & (self.room - 1);
        let first = length.min(self.room - start);
        records.reserve(length);
        for (from, length) in [(start, first), (0, length - first)] {
            let end = records.len();
            // SAFETY: inside the mapping, and `reserve` has made room. The kernel writes nothing
            // between tail and head until the tail moves.
            unsafe {
                let from = self.map.as_ptr().add(PAGE + from);
                from.copy_to_nonoverlapping(records.as_mut_ptr().add(end), length);
                records.set_len(end + length);
            }
        }
        // Release: what was copied has been read by the time that the kernel writes there.
        self.word(TAIL).store(head, Ordering::Release);
    }
}
