//! Facts about this machine and its clocks that belong to a run.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::sys::utsname::uname;
use nix::time::{ClockId, clock_gettime};

/// Host name, CPU model, kernel name and release; empty where unknown.
pub(super) fn describe() -> (String, String, String) {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").map_or_else(
        |_| String::new(),
        |text| field(&text, "model name").unwrap_or_default().to_owned(),
    );
    match uname() {
        Ok(names) => (
            names.nodename().to_string_lossy().into_owned(),
            cpu,
            format!("{} {}", names.sysname().display(), names.release().display()),
        ),
        Err(_) => (String::new(), cpu, String::new()),
    }
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// `CLOCK_MONOTONIC` in nanoseconds: the clock of all times in an arena.
pub(super) fn monotonic_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| Duration::from(time).as_nanos() as u64)
}

/// CPU time of all children that were waited for, with what they waited for, in nanoseconds.
pub(super) fn children_cpu_ns() -> u64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
        let total = usage.user_time() + usage.system_time();
        u64::try_from(total.num_microseconds()).unwrap_or(0) * 1000
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_model_is_found_among_other_fields() {
        let text = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Example CPU @ 2 GHz\n";
        assert_eq!(field(text, "model name"), Some("Example CPU @ 2 GHz"));
    }
}
