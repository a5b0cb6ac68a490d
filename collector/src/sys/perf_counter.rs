//! Any event that the kernel or the processor counts, with a signal at each overflow.
//!
//! A signal may stand for several overflows, and the kernel has no other way to tell a thread how
//! far an event without a file has counted. So each overflow leaves a record in a page that is
//! mapped behind the event's first one: the count, the time for which the thread had the event, and
//! the time for which it was counted. The pages are read-only, so the kernel writes over old
//! records (perf_event_open(2), "MMAP layout"); the last one says all. Only where in the kernel an
//! event was counted is said by each record for itself, if that is asked for.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

use super::Errno;
use super::call::call;
use super::file::{TOLD_APART, close_number, is_own};
use super::memory::{map_anonymous, replace_by_zeros, unmap};
use super::perf_event::{
    Attributes, Delivery, FLAG_EXCLUDE_HV, FLAG_EXCLUDE_KERNEL, Numbers, PRECISE_SHIFT, PerfError,
    enable, map_pages, open_event, tell_by_file,
};
use crate::arch::PAGE_SIZE;

/// What is counted: see `struct perf_event_attr` in perf_event_open(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// `type`: which unit counts.
    pub pmu: u32,
    /// `config`, `config1` and `config2`.
    pub config: [u64; 3],
    /// Whether what happens in the kernel counts, too.
    pub kernel: bool,
    /// Whether each overflow is to say where in the kernel it came.
    pub shows_kernel: bool,
    /// `precise_ip`.
    pub precise: u8,
}

/// A counter of one thread, which may be opened and closed by any.
///
/// Its pages have one place as long as it lives, where zeros are while it is closed: the thread may
/// be reading them when another one closes it. It has no file while it counts.
#[derive(Debug)]
pub struct PerfCounter {
    counted: Counted,
    signal: i32,
    tid: u32,
    /// Its file has one of these when it is made.
    numbers: Numbers,
    /// The number that its file had: it is what signals by [`Delivery::Asynchronous`] carry.
    number: AtomicI32,
    /// Null in the child of a fork, where it is the parent's.
    place: AtomicPtr<u8>,
}

/// What a counter said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReading {
    /// Events since it was opened.
    pub events: u64,
    /// Since then, the time for which the thread ran, in nanoseconds.
    pub enabled_ns: u64,
    /// Of that, the time for which it was counted.
    pub running_ns: u64,
    /// Whether the kernel has held the counter up, for its signals were too many.
    pub throttled: bool,
}

/// The page with the event's state, and one of records.
const SIZE: usize = 2 * PAGE_SIZE;
/// Of `struct perf_event_mmap_page`: bytes of records written so far.
const DATA_HEAD: usize = 1024;
/// Records begin at multiples of this: that of a throttled event has so many bytes, and that of an
/// overflow as many, or twice as many where it says where it came.
const STEP: u64 = 32;
const PERF_SAMPLE_READ: u64 = 1 << 4;
/// `PERF_SAMPLE_IP`; and `TID`, `ID` and `STREAM_ID`, which fill the record up. The second half
/// begins with the last one, a small number, which is no header.
const PERF_SAMPLE_PLACE: u64 = 1 | 1 << 1 | 1 << 6 | 1 << 9;
const PERF_FORMAT_TOTAL_TIMES: u64 = 1 | 2;
/// `type` of `struct perf_event_header`, which is one word: type, `misc`, size in bytes.
const PERF_RECORD_THROTTLE: u64 = 5;
const PERF_RECORD_SAMPLE: u64 = 9;
/// Of `misc`: where the processor was.
const MISC_MODE: u64 = 7 << 32;
const MISC_KERNEL: u64 = 1 << 32;

/// An overflow of a counter that [shows the kernel](Counted::shows_kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Events since the counter was opened.
    pub events: u64,
    /// The kernel's address, if it came in the kernel.
    pub kernel: Option<u64>,
}

impl PerfCounter {
    /// For thread `tid` of this process, with a `signal` by [`Delivery::Asynchronous`]. Not open
    /// yet. `apart` tells it from others of the same thread.
    pub fn new(counted: Counted, signal: i32, tid: u32, apart: usize) -> Result<Self, Errno> {
        let place = AtomicPtr::new(map_anonymous(SIZE)?.as_ptr());
        let (numbers, number) = (Numbers::of(apart), AtomicI32::new(-1));
        Ok(Self { counted, signal, tid, numbers, number, place })
    }

    /// Counts from 0, with a signal each `period` events. It must be closed. One thread at a time,
    /// while no other forks.
    pub fn open(&self, period: u64, delivery: Delivery) -> Result<(), PerfError> {
        let Counted { pmu, config: [config, config1, config2], kernel, precise, .. } = self.counted;
        let place = if self.counted.shows_kernel { PERF_SAMPLE_PLACE } else { 0 };
        let exclude = if kernel { 0 } else { FLAG_EXCLUDE_KERNEL };
        let attributes = Attributes {
            kind: pmu,
            config,
            config1,
            config2,
            sample_period: period,
            sample_type: PERF_SAMPLE_READ | place,
            read_format: PERF_FORMAT_TOTAL_TIMES,
            flags: FLAG_EXCLUDE_HV | exclude | u64::from(precise) << PRECISE_SHIFT,
            ..Attributes::NONE
        };
        let fd = open_event(attributes, self.tid, delivery, self.numbers).map_err(PerfError)?;
        // Relaxed: the handler compares the number with that of a signal, which comes after this.
        self.number.store(fd, Ordering::Relaxed);
        let done = tell_by_file(fd, self.signal, self.tid, delivery)
            .and_then(|()| self.map(fd))
            .and_then(|()| enable(fd));
        // Unless the program has just taken the number for a file of its own.
        if is_own(fd) || fd as usize >= TOLD_APART {
            close_number(fd);
        }
        done.map_err(|errno| {
            self.close();
            PerfError(errno)
        })
    }

    /// Puts its pages into their place.
    fn map(&self, fd: i32) -> Result<(), Errno> {
        const MREMAP_MAYMOVE_FIXED: usize = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
        let place = self.place.load(Ordering::Relaxed);
        if place.is_null() {
            return Err(Errno(libc::ENOMEM));
        }
        let pages = map_pages(fd, SIZE)?;
        // In one step, so that there is something at any time.
        // SAFETY: from a fresh mapping to one of the same size that is this object's, and that is
        // read by atomics alone.
        let moved = unsafe {
            call(
                libc::SYS_mremap,
                [pages.addr(), SIZE, SIZE, MREMAP_MAYMOVE_FIXED, place.addr(), 0],
            )
        };
        if moved.is_err()
            && let Some(pages) = NonNull::new(pages)
        {
            // SAFETY: mapped just now.
            unsafe { unmap(pages, SIZE) };
        }
        moved.map(drop)
    }

    /// Ends the count. What it said last is gone.
    pub fn close(&self) {
        if let Some(place) = NonNull::new(self.place.load(Ordering::Relaxed)) {
            // SAFETY: this object's, and read by atomics alone.
            unsafe { replace_by_zeros(place, SIZE) };
        }
    }

    /// In a forked child, which does not inherit the pages: lets the parent's counter go.
    pub fn forget(&self) {
        self.place.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// The file number, which the kernel puts into the signal's `si_fd`.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// What it said at its last overflow; `None` if there was none since it was opened. For the
    /// thread that it counts for.
    #[must_use]
    pub fn last(&self) -> Option<CounterReading> {
        // A few other records may be behind the last sample; and the kernel may be writing
        // the next one.
        for _ in 0..4 {
            let head = self.head()?;
            let is = |at: u64, kind: u64| is_record(self.word(at), kind);
            let mut records = (1..=5).map_while(|back| head.checked_sub(back * STEP));
            let at = records.find(|&at| is(at, PERF_RECORD_SAMPLE) == Some(self.record_size()))?;
            let before = at.checked_sub(STEP);
            let counts = at + self.record_size() - 24;
            let reading = CounterReading {
                events: self.word(counts),
                enabled_ns: self.word(counts + 8),
                running_ns: self.word(counts + 16),
                throttled: before.is_some_and(|at| is(at, PERF_RECORD_THROTTLE) == Some(STEP)),
            };
            if self.head() == Some(head) {
                return Some(reading);
            }
        }
        None
    }

    /// Has `take` each overflow that the page still has from `seen` on, a number of bytes, oldest
    /// first, and told whether none is missing before it; of a counter that [shows the
    /// kernel](Counted::shows_kernel), and for its thread. Returns up to where it has looked.
    pub fn overflows(&self, seen: u64, mut take: impl FnMut(Overflow, bool)) -> u64 {
        let Some(head) = self.head() else { return seen };
        // Of the page, an event of the processor's may write over the beginning meanwhile.
        let is_gone = |at: u64, head: u64| head.saturating_sub(PAGE_SIZE as u64) > at;
        let mut at = seen.max(head.saturating_sub(PAGE_SIZE as u64));
        let mut follows = at == seen;
        while at < head {
            let header = self.word(at);
            let overflow = Overflow {
                events: self.word(at + self.record_size() - 24),
                kernel: (header & MISC_MODE == MISC_KERNEL).then(|| self.word(at + 8)),
            };
            if self.head().is_none_or(|now| is_gone(at, now)) {
                follows = false;
                at += STEP;
                continue;
            }
            at += match is_record(header, PERF_RECORD_SAMPLE) {
                Some(size) if size == self.record_size() => {
                    take(overflow, follows);
                    follows = true;
                    size
                }
                // One of another kind, or the end of one that was written over.
                _ => STEP,
            };
        }
        at
    }

    /// Bytes of a record of an overflow.
    const fn record_size(&self) -> u64 {
        if self.counted.shows_kernel { 2 * STEP } else { STEP }
    }

    /// Bytes of records that were written so far; `None` where the pages are another process's.
    fn head(&self) -> Option<u64> {
        let place = self.place.load(Ordering::Relaxed);
        // SAFETY: as in `word`.
        let head =
            (!place.is_null()).then(|| unsafe { AtomicU64::from_ptr(place.add(DATA_HEAD).cast()) });
        // Acquire: the kernel writes records before it says so.
        head.map(|head| head.load(Ordering::Acquire))
    }

    /// A word of the records, 0 where the pages are another process's.
    fn word(&self, at: u64) -> u64 {
        let place = self.place.load(Ordering::Relaxed);
        if place.is_null() {
            return 0;
        }
        let offset = PAGE_SIZE + (at as usize % PAGE_SIZE) / 8 * 8;
        // SAFETY: inside the two pages, aligned; they stay as long as the object does, in its own
        // process, and what is there is written by the kernel or zero.
        unsafe { AtomicU64::from_ptr(place.add(offset).cast()) }.load(Ordering::Relaxed)
    }
}

/// The size of a record, if this is the header of one of this kind.
fn is_record(header: u64, kind: u64) -> Option<u64> {
    (header as u32 == kind as u32).then_some(header >> 48)
}

impl Drop for PerfCounter {
    fn drop(&mut self) {
        if let Some(place) = NonNull::new(self.place.load(Ordering::Relaxed)) {
            // SAFETY: the whole mapping, of which nobody has the address any more.
            unsafe { unmap(place, SIZE) };
        }
    }
}
