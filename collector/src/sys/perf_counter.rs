//! Any event that the kernel or the processor counts, with a signal at each overflow.
//!
//! A signal may stand for several overflows, and the kernel has no other way to tell a thread how
//! far an event without a file has counted. So each overflow leaves a record in a page that is
//! mapped behind the event's first one: the count, the time for which the thread had the event, and
//! the time for which it was counted. The pages are read-only, so the kernel writes over old
//! records (perf_event_open(2), "MMAP layout"); the last one says all.

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
const PERF_SAMPLE_READ: u64 = 1 << 4;
const PERF_FORMAT_TOTAL_TIMES: u64 = 1 | 2;
/// `struct perf_event_header` as one word: type, `misc`, size in bytes.
const RECORD_SIZE: u64 = 32;
const PERF_RECORD_THROTTLE: u64 = 5;
const PERF_RECORD_SAMPLE: u64 = 9;

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
        let Counted { pmu, config: [config, config1, config2], kernel, precise } = self.counted;
        let exclude = if kernel { 0 } else { FLAG_EXCLUDE_KERNEL };
        let attributes = Attributes {
            kind: pmu,
            config,
            config1,
            config2,
            sample_period: period,
            sample_type: PERF_SAMPLE_READ,
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
        let place = self.place.load(Ordering::Relaxed);
        if place.is_null() {
            return None;
        }
        let word = |offset: usize| {
            // SAFETY: inside the two pages, aligned; they stay as long as the object does, in its
            // own process, and what is there is written by the kernel or zero.
            unsafe { AtomicU64::from_ptr(place.add(offset).cast()) }
        };
        let data = |at: u64| word(PAGE_SIZE + at as usize % PAGE_SIZE).load(Ordering::Relaxed);
        // A few other records may be behind the last sample; and the kernel may be writing
        // the next one.
        for _ in 0..4 {
            // Acquire: the kernel writes records before it says so.
            let head = word(DATA_HEAD).load(Ordering::Acquire);
            let mut records = (1..=4).map_while(|back| head.checked_sub(back * RECORD_SIZE));
            let is = |at: u64, kind: u64| {
                let header = data(at);
                header as u32 == kind as u32 && header >> 48 == RECORD_SIZE
            };
            let at = records.find(|&at| is(at, PERF_RECORD_SAMPLE))?;
            let before = at.checked_sub(RECORD_SIZE);
            let reading = CounterReading {
                events: data(at + 8),
                enabled_ns: data(at + 16),
                running_ns: data(at + 24),
                throttled: before.is_some_and(|at| is(at, PERF_RECORD_THROTTLE)),
            };
            if word(DATA_HEAD).load(Ordering::Acquire) == head {
                return Some(reading);
            }
        }
        None
    }
}

impl Drop for PerfCounter {
    fn drop(&mut self) {
        if let Some(place) = NonNull::new(self.place.load(Ordering::Relaxed)) {
            // SAFETY: the whole mapping, of which nobody has the address any more.
            unsafe { unmap(place, SIZE) };
        }
    }
}
