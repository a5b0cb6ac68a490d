//! Events of which only the signal at each overflow matters: perf_event_open(2).

use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

use super::Errno;
use super::call::call;
use super::file::{TOLD_APART, close_number, is_own};
use super::memory::unmap;
use super::perf_event::{
    Attributes, Delivery, FLAG_EXCLUDE_HV, FLAG_EXCLUDE_KERNEL, Numbers, PerfError, enable,
    map_pages, open_event, tell_by_file,
};
use crate::arch::PAGE_SIZE;

/// What such an event waits for.
#[derive(Clone, Copy, Debug)]
pub enum Awaited {
    /// A period of the thread's CPU time, again and again.
    CpuTime {
        /// In nanoseconds.
        period_ns: u64,
        /// Whether the end of a period is told if it comes while the thread is in the kernel.
        in_kernel: bool,
    },
    /// That the thread comes to the code at this address, by a breakpoint of the processor's; 0 is
    /// no address, and no event.
    Code(&'static AtomicU64),
}

/// An event of one thread, which may be opened and closed by any.
///
/// Its file is closed as soon as its first page is mapped: the mapping keeps the event
/// (perf_event_open(2)), takes no file number from the program, cannot be closed or counted by it,
/// and is inherited by no child, however that is made. Where the page is refused (RLIMIT_MEMLOCK),
/// the file number stays.
#[derive(Debug)]
pub struct PerfSignal {
    awaited: Awaited,
    signal: i32,
    tid: u32,
    /// Its file has one of these when it is made.
    numbers: Numbers,
    /// The number that its file has, or had when it was made: it is what signals by
    /// [`Delivery::Asynchronous`] carry.
    number: AtomicI32,
    /// The mapped page; null where the file is kept, and while there is no event.
    page: AtomicPtr<u8>,
    /// Periods of CPU time from one signal to the next. At least 1.
    spacing: AtomicU64,
}

/// The event that a [`PerfSignal`] had, if it had one.
#[derive(Debug)]
pub struct OpenEvent {
    number: i32,
    /// The number, if the file is open under it.
    file: Option<i32>,
    page: *mut u8,
}

impl OpenEvent {
    /// Ends the event.
    pub fn close(self) {
        if let Some(page) = NonNull::new(self.page) {
            // SAFETY: the page that `PerfSignal::open` mapped, which only the kernel uses.
            unsafe { unmap(page, PAGE_SIZE) };
        } else if let Some(number) = self.file {
            // A child that was forked behind the C library's back may have the file, too.
            // SAFETY: this request takes no argument.
            let _ = unsafe {
                call(libc::SYS_ioctl, [number as usize, PERF_EVENT_IOC_DISABLE, 0, 0, 0, 0])
            };
            close_number(number);
        }
    }
}

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
const PERF_TYPE_BREAKPOINT: u32 = 5;
const HW_BREAKPOINT_X: u32 = 4;
const PERF_EVENT_IOC_DISABLE: usize = 0x2401;
const F_GETSIG: usize = 11;

impl PerfSignal {
    /// For thread `tid` of this process: what is awaited is to send it a signal, which is `signal`
    /// by [`Delivery::Asynchronous`]. Not open yet. `apart` tells it from others of the same
    /// thread.
    #[must_use]
    pub const fn new(awaited: Awaited, signal: i32, tid: u32, apart: usize) -> Self {
        let (numbers, number) = (Numbers::of(apart), AtomicI32::new(-1));
        let page = AtomicPtr::new(core::ptr::null_mut());
        Self { awaited, signal, tid, numbers, number, page, spacing: AtomicU64::new(1) }
    }

    /// From its next [opening](Self::open) on, so many periods of CPU time pass from one signal to
    /// the next. At least 1.
    pub fn space(&self, periods: u64) {
        // Relaxed: read by who opens it, one thread at a time.
        self.spacing.store(periods, Ordering::Relaxed);
    }

    /// What is awaited.
    #[must_use]
    pub const fn awaited(&self) -> Awaited {
        self.awaited
    }

    /// Opens the event, and starts it, if there is something to wait for. One thread at a time,
    /// while no other forks.
    ///
    /// Kernel time is included, unless it may not be: leaving it out drops about a quarter of the
    /// samples of programs that make system calls. A kernel that forbids that to users is asked for
    /// user time only.
    pub fn open(&self, delivery: Delivery) -> Result<(), PerfError> {
        let open = |attributes| open_event(attributes, self.tid, delivery, self.numbers);
        let fd = match self.awaited {
            Awaited::CpuTime { period_ns, in_kernel } => {
                let attributes = |more| Attributes {
                    kind: PERF_TYPE_SOFTWARE,
                    config: PERF_COUNT_SW_TASK_CLOCK,
                    sample_period: period_ns.saturating_mul(self.spacing.load(Ordering::Relaxed)),
                    flags: FLAG_EXCLUDE_HV | more,
                    ..Attributes::NONE
                };
                let first = if in_kernel { 0 } else { FLAG_EXCLUDE_KERNEL };
                open(attributes(first)).or_else(|_| open(attributes(FLAG_EXCLUDE_KERNEL)))
            }
            Awaited::Code(place) => match place.load(Ordering::Relaxed) {
                0 => return Ok(()),
                address => open(Attributes {
                    kind: PERF_TYPE_BREAKPOINT,
                    sample_period: 1,
                    flags: FLAG_EXCLUDE_HV | FLAG_EXCLUDE_KERNEL,
                    breakpoint_type: HW_BREAKPOINT_X,
                    config1: address,
                    // What the kernel asks for at instructions: the size of a long.
                    config2: 8,
                    ..Attributes::NONE
                }),
            },
        };
        let fd = fd.map_err(PerfError)?;
        let is_of_code = matches!(self.awaited, Awaited::Code(_));
        if is_of_code && delivery == Delivery::Asynchronous && !self.numbers.are(fd) {
            // What it tells might be taken for what another event does.
            close_number(fd);
            return Err(PerfError(Errno(libc::EMFILE)));
        }
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
        self.take().close();
    }

    /// Takes the event out of this, which may then open another one.
    #[must_use]
    pub fn take(&self) -> OpenEvent {
        let file = self.file_number().filter(|_| !self.is_lost());
        let page = self.page.swap(core::ptr::null_mut(), Ordering::Relaxed);
        let number = self.number.swap(-1, Ordering::Relaxed);
        OpenEvent { number, file, page }
    }

    /// Puts it back where none has been opened since.
    pub fn put_back(&self, event: OpenEvent) {
        self.page.store(event.page, Ordering::Relaxed);
        self.number.store(event.number, Ordering::Relaxed);
    }

    /// In a forked child, which does not inherit the mapping: lets the parent's event go.
    pub fn forget(&self) {
        self.page.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.number.store(-1, Ordering::Relaxed);
    }
}
