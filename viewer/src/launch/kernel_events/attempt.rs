//! Whether the kernel would count an event for a program that csprof starts.

use std::fs;
use std::io;

use csprof_format::launch::KernelEvent;
use nix::libc;

use super::machine::Machine;
use super::names::{CACHE, HARDWARE, RAW, SOFTWARE, TRACEPOINT};
use crate::launch::perf_event::{Attributes, flag};

/// Opens the event for the calling thread, as the collector would, and closes it.
///
/// # Errors
///
/// The kernel's.
pub(super) fn attempt(event: &KernelEvent, period: u64) -> io::Result<()> {
    let mut attributes = Attributes::of(event, period);
    attributes.flags |= flag::DISABLED;
    attributes.open(0, -1).map(drop)
}

/// Why there is nothing of the processor's.
pub(super) const NO_COUNTERS: &str =
    "the processor's counters are not to be had here (as a rule a virtual machine without them)";

/// Why the kernel refuses an event with this error, and what permits it.
pub(super) fn why(machine: &Machine, event: &KernelEvent, error: &io::Error) -> String {
    let is_hardware = matches!(event.pmu, HARDWARE | CACHE | RAW);
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => forbidden(event, paranoid()),
        Some(libc::ENOSYS) => "this kernel was built without perf events".to_owned(),
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) if is_hardware => {
            match machine.has_counters() {
                true => "the processor does not have it".to_owned(),
                false => NO_COUNTERS.to_owned(),
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
