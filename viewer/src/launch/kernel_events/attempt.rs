//! Whether the kernel would count an event for a program that csprof starts.

#![expect(unsafe_code, reason = "perf_event_open(2) has no function in the C library")]

use std::fs;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use csprof_format::launch::KernelEvent;
use nix::libc;

use super::machine::Machine;
use super::names::{CACHE, HARDWARE, RAW, SOFTWARE, TRACEPOINT};

/// `struct perf_event_attr` as of Linux 5.13, in words.
const WORDS: usize = 16;
const FLAG_DISABLED: u64 = 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HV: u64 = 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
const PRECISE_SHIFT: u32 = 15;

/// Opens the event for the calling thread, as the collector would, and closes it.
///
/// # Errors
///
/// The kernel's.
pub(super) fn attempt(event: &KernelEvent, period: u64) -> io::Result<()> {
    let mut words = [0u64; WORDS];
    words[0] = u64::from(event.pmu) | (size_of_val(&words) as u64) << 32;
    let [config, config1, config2] = event.config;
    (words[1], words[2], words[7], words[8]) = (config, period, config1, config2);
    let exclude = if event.kernel { 0 } else { FLAG_EXCLUDE_KERNEL };
    let precise = u64::from(event.precise) << PRECISE_SHIFT;
    words[5] = FLAG_DISABLED | FLAG_EXCLUDE_HV | exclude | precise;
    // SAFETY: the kernel reads the live array, which says its own size. This thread, any processor,
    // no group.
    let number = unsafe {
        libc::syscall(libc::SYS_perf_event_open, words.as_ptr(), 0, -1, -1, CLOSE_ON_EXEC)
    };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else's.
    drop(unsafe { OwnedFd::from_raw_fd(number as i32) });
    Ok(())
}

/// Why the kernel refuses an event with this error, and what permits it.
pub(super) fn why(machine: &Machine, event: &KernelEvent, error: &io::Error) -> String {
    let is_hardware = matches!(event.pmu, HARDWARE | CACHE | RAW);
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => forbidden(event, paranoid()),
        Some(libc::ENOSYS) => "this kernel was built without perf events".to_owned(),
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) if is_hardware => {
            match machine.has_counters() {
                true => "the processor does not have it".to_owned(),
                false => "the processor's counters are not to be had here (as a rule a virtual \
                          machine without them)"
                    .to_owned(),
            }
        }
        Some(libc::EOPNOTSUPP) => "its unit counts, but cannot sample".to_owned(),
        Some(libc::EINVAL) if !is_hardware && event.pmu != SOFTWARE => {
            "its unit does not count by thread, or cannot sample, or has no such event".to_owned()
        }
        Some(libc::EINVAL) if event.precise > 0 => {
            "the processor does not have it at this precision; leave out the p".to_owned()
        }
        Some(libc::EBUSY) => "somebody else has its unit".to_owned(),
        _ => format!("the kernel refuses it: {error}"),
    }
}

/// The kernel's setting: who may use perf events.
fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

fn forbidden(event: &KernelEvent, paranoid: Option<i32>) -> String {
    // kernel/events/core.c: at 3, as some distributions have it, all is forbidden.
    let (most, what) = match event {
        KernelEvent { pmu: TRACEPOINT, .. } => (-1, "a tracepoint"),
        KernelEvent { kernel: true, .. } => (1, "what happens in the kernel"),
        KernelEvent { .. } => (2, "an event"),
    };
    match paranoid {
        Some(is) if is > most => format!(
            "kernel.perf_event_paranoid is {is}, which forbids to count {what}; {most} permits it \
             (as root: sysctl kernel.perf_event_paranoid={most}), or the capability CAP_PERFMON"
        ),
        Some(is) => format!(
            "perf events are forbidden here, though kernel.perf_event_paranoid is {is}: a \
             container's or service's filter of system calls does that, as a rule \
             (docker run --security-opt seccomp=unconfined permits them)"
        ),
        None => "this kernel has no perf events".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_permits_an_event_is_said() {
        let event = |text: &str| KernelEvent::parse(text).unwrap();
        let faults = event("1.2.0.0.0.0:page-faults");
        let switches = event("1.3.0.0.1.0:context-switches");
        let point = event("2.100.0.0.1.0:sched:sched_switch");
        assert!(forbidden(&faults, Some(3)).contains("is 3, which forbids to count an event; 2"));
        assert!(forbidden(&switches, Some(2)).contains("in the kernel; 1 permits"));
        assert!(forbidden(&point, Some(1)).contains("a tracepoint; -1 permits"));
        assert!(forbidden(&faults, Some(2)).contains("filter of system calls"));
    }
}
