//! Events of the kernel's with a signal at each overflow: perf_event_open(2). Here `task-clock`;
//! any other one is a [`PerfCounter`].
//!
//! There are two ways to be told, see [`Delivery`]. The event's file has the signal of the second
//! one set in both: nobody else's event has, so it tells whether a file number still means this
//! event.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use super::Errno;
use super::call::call;
use super::file::{HIGH_FD, TOLD_APART, close_number, is_own, moved};
use super::memory::unmap;
use crate::arch::PAGE_SIZE;

mod counter;

pub use counter::{Counted, CounterReading, PerfCounter};

/// A `task-clock` event of one thread, which may be opened and closed by any.
///
/// Its file is closed as soon as its first page is mapped: the mapping keeps the event
/// (perf_event_open(2)), takes no file number from the program, cannot be closed or counted by it,
/// and is inherited by no child, however that is made. Where the page is refused (RLIMIT_MEMLOCK),
/// the file number stays.
#[derive(Debug)]
pub struct PerfTaskClock {
    period_ns: u64,
    signal: i32,
    tid: u32,
    /// The number that its file has, or had when it was made: it is what signals by
    /// [`Delivery::Asynchronous`] carry.
    number: AtomicI32,
    /// The mapped page; null where the file is kept, and while there is no event.
    page: AtomicPtr<u8>,
}

/// How the thread is told that a period has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// By SIGTRAP, which the thread sends itself when it next returns to user mode, with this word
    /// as `si_perf_data` (`attr.sigtrap`).
    Synchronous(u64),
    /// By a signal from the interrupt, through the event's file (F_SETSIG, fcntl(2)).
    Asynchronous,
}

/// Why the event could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfError(pub Errno);

/// `struct perf_event_attr` as of Linux 5.13 (PERF_ATTR_SIZE_VER7, 128 bytes). An older kernel
/// takes it as long as what it does not know is 0.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    unused: [u64; 6],
    sig_data: u64,
}

const _: () = assert!(size_of::<Attributes>() == 128);

impl Attributes {
    const NONE: Self = Self {
        kind: 0,
        size: size_of::<Self>() as u32,
        config: 0,
        sample_period: 0,
        sample_type: 0,
        read_format: 0,
        flags: 0,
        wakeup_events: 1,
        breakpoint_type: 0,
        config1: 0,
        config2: 0,
        unused: [0; 6],
        sig_data: 0,
    };
}

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
const FLAG_DISABLED: u64 = 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HV: u64 = 1 << 6;
/// Of the two bits of `precise_ip`.
const PRECISE_SHIFT: u32 = 15;
const FLAG_REMOVE_ON_EXEC: u64 = 1 << 36;
const FLAG_SIGTRAP: u64 = 1 << 37;
const PERF_FLAG_FD_CLOEXEC: usize = 8;
const PERF_EVENT_IOC_ENABLE: usize = 0x2400;
const PERF_EVENT_IOC_DISABLE: usize = 0x2401;
const ASYNCHRONOUS: usize = (libc::O_ASYNC | libc::O_NONBLOCK) as usize;
const F_SETSIG: i32 = 10;
const F_GETSIG: usize = 11;
const F_SETOWN_EX: i32 = 15;
const F_OWNER_TID: i32 = 0;

impl PerfTaskClock {
    /// For thread `tid` of this process: each `period_ns` of its CPU time is to send it a signal,
    /// which is `signal` by [`Delivery::Asynchronous`]. Not open yet.
    #[must_use]
    pub const fn new(period_ns: u64, signal: i32, tid: u32) -> Self {
        let number = AtomicI32::new(-1);
        Self { period_ns, signal, tid, number, page: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// Opens the event, and starts it. One thread at a time, while no other forks.
    ///
    /// Kernel time is included: leaving it out drops about a quarter of the samples of programs
    /// that make system calls. A kernel that forbids that to users is asked for user time only.
    pub fn open(&self, delivery: Delivery) -> Result<(), PerfError> {
        let attributes = |more| Attributes {
            kind: PERF_TYPE_SOFTWARE,
            config: PERF_COUNT_SW_TASK_CLOCK,
            sample_period: self.period_ns,
            flags: FLAG_EXCLUDE_HV | more,
            ..Attributes::NONE
        };
        let open = |more| open_event(attributes(more), self.tid, delivery, HIGH_FD);
        let fd = open(0).or_else(|_| open(FLAG_EXCLUDE_KERNEL)).map_err(PerfError)?;
        // Relaxed: the handler compares the number with that of a signal, which comes after this.
        self.number.store(fd, Ordering::Relaxed);
        tell_by_file(fd, self.signal, self.tid, delivery).and_then(|()| enable(fd)).map_err(
            |errno| {
                self.number.store(-1, Ordering::Relaxed);
                close_number(fd);
                PerfError(errno)
            },
        )?;
        if let Ok(page) = map_pages(fd, PAGE_SIZE) {
            self.page.store(page, Ordering::Relaxed);
            // Unless the program has just taken the number for a file of its own.
            if is_own(fd) || fd as usize >= TOLD_APART {
                close_number(fd);
            }
        }
        Ok(())
    }

    /// The file number, which the kernel puts into the signal's `si_fd`.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// The number, if the file is still open under it.
    #[must_use]
    pub fn file_number(&self) -> Option<i32> {
        let is_mapped = !self.page.load(Ordering::Relaxed).is_null();
        (self.number() >= 0 && !is_mapped).then(|| self.number())
    }

    /// Whether the program has closed the event: one that closes all files it knows nothing about
    /// may also have given the number to one of its own.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let Some(number) = self.file_number() else { return false };
        // SAFETY: asks for a number; files that are no events of ours have no or another signal.
        let signal = unsafe { call(libc::SYS_fcntl, [number as usize, F_GETSIG, 0, 0, 0, 0]) };
        signal != Ok(self.signal as usize)
    }

    /// Ends the event.
    pub fn close(&self) {
        let file = self.file_number().filter(|_| !self.is_lost());
        let page = self.page.swap(core::ptr::null_mut(), Ordering::Relaxed);
        if let Some(page) = NonNull::new(page) {
            // SAFETY: the page that `open` mapped, which only the kernel uses.
            unsafe { unmap(page, PAGE_SIZE) };
        } else if let Some(number) = file {
            // A child that was forked behind the C library's back may have the file, too.
            // SAFETY: this request takes no argument.
            let _ = unsafe {
                call(libc::SYS_ioctl, [number as usize, PERF_EVENT_IOC_DISABLE, 0, 0, 0, 0])
            };
            close_number(number);
        }
        self.number.store(-1, Ordering::Relaxed);
    }

    /// In a forked child, which does not inherit the mapping: lets the parent's event go.
    pub fn forget(&self) {
        self.page.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.number.store(-1, Ordering::Relaxed);
    }
}

fn control(fd: i32, command: i32, argument: usize) -> Result<(), Errno> {
    // SAFETY: F_SETOWN_EX reads the two integers that its caller has; the others take numbers.
    unsafe { call(libc::SYS_fcntl, [fd as usize, command as usize, argument, 0, 0, 0]) }.map(drop)
}

/// Has the event's file say which thread has what signal. The signal is set in any case: no other
/// event has it.
fn tell_by_file(fd: i32, signal: i32, tid: u32, delivery: Delivery) -> Result<(), Errno> {
    let owner = [F_OWNER_TID, tid as i32];
    if delivery == Delivery::Asynchronous {
        control(fd, libc::F_SETFL, ASYNCHRONOUS)?;
    }
    control(fd, F_SETOWN_EX, (&raw const owner).addr())?;
    control(fd, F_SETSIG, signal as usize)
}

fn enable(fd: i32) -> Result<(), Errno> {
    // SAFETY: this request takes no argument.
    unsafe { call(libc::SYS_ioctl, [fd as usize, PERF_EVENT_IOC_ENABLE, 0, 0, 0, 0]) }.map(drop)
}

/// Maps the first pages of an event, read-only.
fn map_pages(fd: i32, size: usize) -> Result<*mut u8, Errno> {
    // SAFETY: a fresh mapping at an address of the kernel's choice overlaps no Rust object.
    let page = unsafe {
        call(
            libc::SYS_mmap,
            [0, size, libc::PROT_READ as usize, libc::MAP_SHARED as usize, fd as usize, 0],
        )
    }?;
    Ok(core::ptr::with_exposed_provenance_mut(page))
}

/// Opens an event of a thread, which does not count yet, with `from` as its smallest number.
fn open_event(
    attributes: Attributes,
    tid: u32,
    delivery: Delivery,
    from: usize,
) -> Result<i32, Errno> {
    let (how, sig_data) = match delivery {
        Delivery::Synchronous(data) => (FLAG_SIGTRAP | FLAG_REMOVE_ON_EXEC, data),
        Delivery::Asynchronous => (0, 0),
    };
    let flags = attributes.flags | FLAG_DISABLED | how;
    let attributes = Attributes { flags, sig_data, ..attributes };
    // SAFETY: `attributes` is live and says its own size. Any CPU (-1), no group (-1).
    let low = unsafe {
        call(
            libc::SYS_perf_event_open,
            [
                (&raw const attributes).addr(),
                tid as usize,
                usize::MAX,
                usize::MAX,
                PERF_FLAG_FD_CLOEXEC,
                0,
            ],
        )
    }?;
    moved(low as i32, from)
}
