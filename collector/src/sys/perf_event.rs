//! What events with a signal at each overflow have in common: perf_event_open(2).
//!
//! There are two ways to be told, see [`Delivery`]. The event's file has the signal of the second
//! one set in both: nobody else's event has, so it tells whether a file number still means this
//! event.

use csprof_format::launch::{MAX_SOURCES, MOST_PHASE_FUNCTIONS};

use super::Errno;
use super::call::call;
use super::file::{HIGH_FD, LOW_FD, moved};

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
pub(super) struct Attributes {
    pub(super) kind: u32,
    pub(super) size: u32,
    pub(super) config: u64,
    pub(super) sample_period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) wakeup_events: u32,
    pub(super) breakpoint_type: u32,
    pub(super) config1: u64,
    pub(super) config2: u64,
    pub(super) unused: [u64; 6],
    pub(super) sig_data: u64,
}

const _: () = assert!(size_of::<Attributes>() == 128);

impl Attributes {
    /// Nothing, told at each overflow.
    pub(super) const NONE: Self = Self {
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

const FLAG_DISABLED: u64 = 1;
pub(super) const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const FLAG_EXCLUDE_HV: u64 = 1 << 6;
/// Of the two bits of `precise_ip`.
pub(super) const PRECISE_SHIFT: u32 = 15;
const FLAG_REMOVE_ON_EXEC: u64 = 1 << 36;
const FLAG_SIGTRAP: u64 = 1 << 37;
const PERF_FLAG_FD_CLOEXEC: usize = 8;
const PERF_EVENT_IOC_ENABLE: usize = 0x2400;
const ASYNCHRONOUS: usize = (libc::O_ASYNC | libc::O_NONBLOCK) as usize;
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const F_OWNER_TID: i32 = 0;

fn control(fd: i32, command: i32, argument: usize) -> Result<(), Errno> {
    // SAFETY: F_SETOWN_EX reads the two integers that its caller has; the others take numbers.
    unsafe { call(libc::SYS_fcntl, [fd as usize, command as usize, argument, 0, 0, 0]) }.map(drop)
}

/// Has the event's file say which thread has what signal. The signal is set in any case: no other
/// event has it.
pub(super) fn tell_by_file(
    fd: i32,
    signal: i32,
    tid: u32,
    delivery: Delivery,
) -> Result<(), Errno> {
    let owner = [F_OWNER_TID, tid as i32];
    if delivery == Delivery::Asynchronous {
        control(fd, libc::F_SETFL, ASYNCHRONOUS)?;
    }
    control(fd, F_SETOWN_EX, (&raw const owner).addr())?;
    control(fd, F_SETSIG, signal as usize)
}

pub(super) fn enable(fd: i32) -> Result<(), Errno> {
    // SAFETY: this request takes no argument.
    unsafe { call(libc::SYS_ioctl, [fd as usize, PERF_EVENT_IOC_ENABLE, 0, 0, 0, 0]) }.map(drop)
}

/// Maps the first pages of an event, read-only.
pub(super) fn map_pages(fd: i32, size: usize) -> Result<*mut u8, Errno> {
    // SAFETY: a fresh mapping at an address of the kernel's choice overlaps no Rust object.
    let page = unsafe {
        call(
            libc::SYS_mmap,
            [0, size, libc::PROT_READ as usize, libc::MAP_SHARED as usize, fd as usize, 0],
        )
    }?;
    Ok(core::ptr::with_exposed_provenance_mut(page))
}

/// Where the file numbers of a thread's events begin, and which are an event's own: signals by
/// [`Delivery::Asynchronous`] say nothing but the number, which is free again for the next event
/// as soon as the pages are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Where the limit allows, and where it is lower.
    from: [usize; 2],
}

impl Numbers {
    /// Numbers that other files may take in between.
    const ROOM: usize = 6;

    /// Those of the event with this number among a thread's.
    pub(super) const fn of(apart: usize) -> Self {
        let before = Self::ROOM * apart;
        Self { from: [HIGH_FD + before, LOW_FD + before] }
    }

    /// Whether no other event has this one.
    pub(super) fn are(self, number: i32) -> bool {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        self.from.iter().any(|&from| (from..from + Self::ROOM).contains(&number))
    }
}

// Below the limit that most systems have.
const _: () = assert!(HIGH_FD + Numbers::ROOM * (MAX_SOURCES + MOST_PHASE_FUNCTIONS) <= 1 << 10);

/// Opens an event of a thread, which does not count yet, with one of these numbers if possible, or
/// with a larger one.
pub(super) fn open_event(
    attributes: Attributes,
    tid: u32,
    delivery: Delivery,
    numbers: Numbers,
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
    Ok(moved(low as i32, &numbers.from))
}
