//! perf_event_open(2), and what is asked of it.

#![expect(unsafe_code, reason = "perf_event_open(2) and its requests have no safe function")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};

use csprof_format::launch::KernelEvent;
use nix::libc;

/// `struct perf_event_attr` as of Linux 5.13, in words. An older kernel takes it as long as what it
/// does not know is 0.
const WORDS: usize = 16;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
const PRECISE_SHIFT: u32 = 15;

/// Bits of [`Attributes::flags`].
pub(super) mod flag {
    /// It does not count yet.
    pub(crate) const DISABLED: u64 = 1;
    /// Threads and processes that the thread begins have it, too.
    pub(crate) const INHERIT: u64 = 1 << 1;
    /// Not what the kernel does.
    pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
    /// Nor the hypervisor.
    pub(crate) const EXCLUDE_HV: u64 = 1 << 6;
    /// A record of each executable mapping.
    pub(crate) const MAPPINGS: u64 = 1 << 8;
    /// A record of each name that a thread takes.
    pub(crate) const NAMES: u64 = 1 << 9;
    /// A record of each fork and exit.
    pub(crate) const TASKS: u64 = 1 << 13;
    /// [`Attributes::wakeup`](super::Attributes::wakeup) is a number of bytes.
    pub(crate) const WATERMARK: u64 = 1 << 14;
    /// All records say when, and of which thread and event they are.
    pub(crate) const IDENTIFIED: u64 = 1 << 18;
    /// Records of mappings say which file.
    pub(crate) const MAPPED_FILES: u64 = 1 << 23;
    /// Records of names say whether they are of an exec.
    pub(crate) const EXECS: u64 = 1 << 24;
    /// [`Attributes::clock`](super::Attributes::clock) tells the time.
    pub(crate) const CLOCK: u64 = 1 << 25;
    /// Call chains have no frames of the kernel's.
    pub(crate) const NO_KERNEL_FRAMES: u64 = 1 << 21;
}

/// What is counted and sampled: the fields of `struct perf_event_attr` that csprof uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    /// `type`: which unit counts.
    pub(super) unit: u32,
    /// `config`, `config1` and `config2`.
    pub(super) config: [u64; 3],
    /// Events from one sample to the next.
    pub(super) period: u64,
    /// What a sample consists of (`PERF_SAMPLE_…`).
    pub(super) sample: u64,
    /// Of [`flag`].
    pub(super) flags: u64,
    /// Bytes of records after which a reader is woken.
    pub(super) wakeup: u32,
    /// Which registers a sample has.
    pub(super) registers: u64,
    /// Bytes of the stack that a sample has.
    pub(super) stack_bytes: u32,
    /// `clockid`.
    pub(super) clock: i32,
}

impl Attributes {
    /// The event, with a sample each `period`.
    pub(super) fn of(event: &KernelEvent, period: u64) -> Self {
        let exclude = if event.kernel { 0 } else { flag::EXCLUDE_KERNEL };
        let precise = u64::from(event.precise) << PRECISE_SHIFT;
        let flags = flag::EXCLUDE_HV | exclude | precise;
        Self { unit: event.pmu, config: event.config, period, flags, ..Self::default() }
    }

    fn words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let [config, config1, config2] = self.config;
        words[0] = u64::from(self.unit) | (size_of_val(&words) as u64) << 32;
        (words[1], words[2], words[3]) = (config, self.period, self.sample);
        (words[5], words[6]) = (self.flags, self.wakeup.into());
        (words[7], words[8], words[10]) = (config1, config2, self.registers);
        words[11] = u64::from(self.stack_bytes) | u64::from(self.clock.cast_unsigned()) << 32;
        words
    }

    /// Opens the event for a thread, 0 for the calling one, on this processor, -1 for any.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub(super) fn open(&self, thread: u32, processor: i32) -> io::Result<OwnedFd> {
        let words = self.words();
        // SAFETY: the kernel reads the live array, which says its own size. No group.
        let number = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                words.as_ptr(),
                thread,
                processor,
                -1,
                CLOSE_ON_EXEC,
            )
        };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
    }
}

/// Has the records of an event go where those of another one on its processor go.
pub(super) fn redirect(event: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    const SET_OUTPUT: libc::Ioctl = 0x2405;
    // SAFETY: this request takes a number.
    match unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, to.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has an event, and those that inherited it, count from now on, or not any more.
pub(super) fn switch(event: &impl AsRawFd, on: bool) -> io::Result<()> {
    const ENABLE: libc::Ioctl = 0x2400;
    const DISABLE: libc::Ioctl = 0x2401;
    // SAFETY: these requests take a number.
    match unsafe { libc::ioctl(event.as_raw_fd(), if on { ENABLE } else { DISABLE }, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number that records of an event, and of those that inherited it, carry.
pub(super) fn identifier(event: &OwnedFd) -> io::Result<u64> {
    const ID: libc::Ioctl = 0x8008_2407;
    let mut id = 0u64;
    // SAFETY: this request writes one word, which is live.
    match unsafe { libc::ioctl(event.as_raw_fd(), ID, &raw mut id) } {
        0 => Ok(id),
        _ => Err(io::Error::last_os_error()),
    }
}
