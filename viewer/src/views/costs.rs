//! What the run used, and what of it samples stand for: CPU time that adds up, and memory of the
//! collector.
//!
//! Samples are what was delivered; this is about what was *due*. The kernel looks at CPU timers at
//! its tick, so the CPU time of a thread after its last tick brings no sample. It belongs to no
//! path, so it is not added to one (the next sample of another thread would be of another path); it
//! is counted here. A thread's first sample comes after a random part of a period, so over many
//! threads nothing else is missing: `used = sampled + before + undelivered + elsewhere`, where a
//! single thread's sampled time may be up to one period more or less than it used.

use csprof_format::ids::ThreadId;
use csprof_format::profile::{self as saved, Account, Metric, Thread, ThreadAccount};

use crate::profile::Profile;

/// The metric that says where CPU time went, and its number among all: the first that is CPU time.
#[must_use]
pub fn cpu_metric(info: &saved::Profile) -> Option<(usize, &Metric)> {
    info.metrics().enumerate().find(|(_, metric)| metric.is_cpu_time())
}

/// The CPU time, in nanoseconds, that threads have used at least which got so many samples of it:
/// each stands for a period that had passed, up to one in each thread. More than was noted where a
/// process was killed after the last look at it.
#[must_use]
pub fn least_used(delivered: u64, threads: usize, metric: &Metric) -> u64 {
    delivered.saturating_sub(threads as u64).saturating_mul(metric.period)
}

/// Where CPU time went, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// All of the run: by the kernel's count, or what its processes noted if that is more.
    pub used: u64,
    /// Samples delivered × period, of the [metric](cpu_metric) that says it.
    pub sampled: u64,
    /// Before sampling began: loading programs, and csprof's own start in them.
    pub before: u64,
    /// Due to threads and never delivered.
    pub undelivered: u64,
    /// How many threads ran and got no sample.
    pub threads_without: u64,
    /// Whether there may be more of these: of threads that are counted together, one had some.
    pub is_least: bool,
    /// The rest: in processes and threads that csprof did not see, or after it last looked.
    pub elsewhere: u64,
}

impl CpuTime {
    /// Adds up a profile; `None` where samples are not of CPU time, or nothing is known of it.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<Self> {
        let info = &profile.info;
        let (number, metric) = cpu_metric(info)?;
        if info.accounts.is_empty() {
            return None;
        }
        let mut sum = Self::default();
        let (mut due, mut noted, mut unnoted) = (0u64, 0u64, 0u64);
        for (place, (thread, account)) in threads(profile).enumerate() {
            let delivered = info.share(ThreadId::from_index(place), number).delivered;
            let sampled = delivered.saturating_mul(metric.period);
            let noted = cpu_due(thread, account);
            // Of a thread that was killed, the last look at its clock may be older than its
            // samples.
            let ended = thread.end_ns > 0
                || info.processes.get(thread.process.index()).is_some_and(|p| p.end_ns > 0);
            due = due.saturating_add(if ended { noted } else { noted.max(sampled) });
            unnoted = unnoted.saturating_add(if ended { 0 } else { sampled.saturating_sub(noted) });
            sum.sampled = sum.sampled.saturating_add(sampled);
            let are_without = noted > 0 && delivered == 0;
            let earlier = info.earlier_threads(ThreadId::from_index(place));
            let stands_for = earlier.saturating_add(1);
            sum.threads_without += if are_without { stands_for } else { 0 };
            sum.is_least |= earlier > 0 && !are_without;
        }
        for account in &info.accounts {
            sum.before = sum.before.saturating_add(account.cpu_before_ns);
            noted = noted.saturating_add(account.cpu_ns.max(account.cpu_before_ns));
        }
        sum.undelivered = due.saturating_sub(sum.sampled);
        // The kernel's count leaves out who was not waited for.
        sum.used = match info.run.cpu_ns {
            counted if counted >= noted => counted,
            _ => noted.saturating_add(unnoted),
        };
        let known = sum.sampled.saturating_add(sum.before).saturating_add(sum.undelivered);
        sum.elsewhere = sum.used.saturating_sub(known);
        Some(sum)
    }
}

/// Where the elapsed time of threads went, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElapsedTime {
    /// From the start to the end of all threads, added up.
    pub passed: u64,
    /// Samples delivered × period, of `realtime`.
    pub sampled: u64,
    /// Due to threads and never delivered: a sample of a wait comes when the wait is over, so one
    /// that is cut short by the end of the thread or of the process has none.
    pub undelivered: u64,
}

impl ElapsedTime {
    /// Adds up a profile; `None` where samples are not of elapsed time.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<Self> {
        let info = &profile.info;
        let (number, metric) = info.metrics().enumerate().find(|(_, m)| m.is_elapsed_time())?;
        let mut sum = Self::default();
        for (place, thread) in info.threads.iter().enumerate() {
            let process = info.processes.get(thread.process.index()).map_or(0, |p| p.end_ns);
            let ends = [thread.end_ns, process, info.run.duration_ns];
            let end = ends.into_iter().find(|&end| end > 0).unwrap_or(0);
            let delivered = info.share(ThreadId::from_index(place), number).delivered;
            let earlier = info.earlier_of(ThreadId::from_index(place));
            let apart = earlier.map_or(0, |row| row.apart_ns);
            let passed = end.saturating_sub(thread.start_ns).saturating_sub(apart);
            sum.passed = sum.passed.saturating_add(passed);
            sum.sampled = sum.sampled.saturating_add(delivered.saturating_mul(metric.period));
        }
        sum.undelivered = sum.passed.saturating_sub(sum.sampled);
        Some(sum)
    }
}

/// CPU time of a thread while it was sampled, in nanoseconds.
#[must_use]
pub fn cpu_due(thread: &Thread, account: ThreadAccount) -> u64 {
    thread.cpu_ns.saturating_sub(account.cpu_before_ns)
}

/// Threads with their accounts; empty where there are none.
pub fn threads(profile: &Profile) -> impl Iterator<Item = (&Thread, ThreadAccount)> {
    let accounts = profile.info.accounts.iter().flat_map(|account| &account.threads);
    profile.info.threads.iter().zip(accounts.copied())
}

/// Samples that came long after they were due.
#[must_use]
pub fn late(profile: &Profile) -> u64 {
    threads(profile).fold(0, |sum, (_, account)| sum.saturating_add(account.late))
}

/// Memory of the collector over all processes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Nodes of calling context trees.
    pub nodes: u64,
    /// For them, with those in reserve.
    pub node_bytes: u64,
    /// The rest of the arenas: load maps and other records.
    pub record_bytes: u64,
    /// Recipe tables, and what is known about modules.
    pub table_bytes: u64,
    /// Buffers, caches, thread states.
    pub other_bytes: u64,
}

impl Memory {
    /// Of all processes together; `None` if it is not known.
    #[must_use]
    pub fn of(accounts: &[Account]) -> Option<Self> {
        let sum = |part: fn(&Account) -> u64| {
            accounts.iter().fold(0, |sum: u64, account| sum.saturating_add(part(account)))
        };
        (!accounts.is_empty()).then(|| Self {
            nodes: sum(|account| account.nodes),
            node_bytes: sum(|account| account.node_bytes),
            record_bytes: sum(|account| account.arena_bytes.saturating_sub(account.node_bytes)),
            table_bytes: sum(|account| account.table_bytes),
            other_bytes: sum(|account| account.private_bytes.saturating_sub(account.table_bytes)),
        })
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.node_bytes, self.record_bytes, self.table_bytes, self.other_bytes]
            .iter()
            .fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn cpu_time_is_sampled_by_samples_of_it() {
        let mut profile = from_outline("main 9 realtime:4\n  wait 30 realtime:30\n").unwrap();
        profile.info.threads[0].cpu_ns = 27_000_000;
        profile.info.run.cpu_ns = 27_000_000;
        let threads = vec![ThreadAccount::default()];
        profile.info.accounts = vec![Account { cpu_ns: 27_000_000, threads, ..Account::default() }];
        let of = |profile: &Profile| CpuTime::of(profile).map(|cpu| (cpu.sampled, cpu.undelivered));
        assert_eq!(of(&profile), Some((25_000_000, 2_000_000)));
        // Whichever of them comes first.
        let info = &mut *profile.info;
        std::mem::swap(&mut info.metric, &mut info.further[0].metric);
        let share = &mut info.further[0].threads[0];
        (share.delivered, share.recorded) = (5, 5);
        assert_eq!(of(&profile), Some((25_000_000, 2_000_000)));
    }

    #[test]
    fn calls_are_no_cpu_time() {
        let mut profile = from_outline("main 9 realtime:4\n").unwrap();
        profile.info.accounts = vec![Account::default()];
        let metric = &mut profile.info.metric;
        (metric.source, metric.unit, metric.period) = ("yields".into(), "calls".into(), 1);
        assert_eq!(CpuTime::of(&profile), None);
        assert!(ElapsedTime::of(&profile).is_some());
    }

    #[test]
    fn a_wait_without_an_end_is_elapsed_time_without_samples() {
        let mut profile = from_outline("main 9 realtime:4\n  wait 30 realtime:30\n").unwrap();
        assert_eq!(ElapsedTime::of(&from_outline("main 9\n").unwrap()), None);
        let of = |profile: &Profile| {
            ElapsedTime::of(profile).map(|time| (time.passed, time.sampled, time.undelivered))
        };
        profile.info.threads[0].start_ns = 10_000_000;
        profile.info.run.duration_ns = 300_000_000;
        assert_eq!(of(&profile), Some((290_000_000, 170_000_000, 120_000_000)));
        profile.info.threads[0].end_ns = 182_000_000;
        assert_eq!(of(&profile), Some((172_000_000, 170_000_000, 2_000_000)));
    }

    /// Threads that ran one after the other: not while none of them did.
    #[test]
    fn several_threads_passed_the_time_of_each() {
        let mut profile = from_outline("main 9 realtime:4\n  wait 30 realtime:30\n").unwrap();
        profile.info.threads[0].end_ns = 300_000_000;
        let thread = ThreadId(0);
        profile.info.earlier =
            vec![saved::EarlierThreads { thread, count: 9, apart_ns: 100_000_000 }];
        assert_eq!(ElapsedTime::of(&profile).map(|time| time.passed), Some(200_000_000));
        // One of them had a sample; of the others nobody knows.
        let threads = vec![ThreadAccount::default()];
        profile.info.accounts = vec![Account { threads, ..Account::default() }];
        profile.info.threads[0].cpu_ns = 27_000_000;
        let without = |profile: &Profile| {
            CpuTime::of(profile).map(|cpu| (cpu.threads_without, cpu.is_least)).unwrap()
        };
        assert_eq!(without(&profile), (0, true));
        profile.info.threads[0].delivered = profile.info.further[0].threads[0].delivered;
        assert_eq!(without(&profile), (10, false));
    }

    #[test]
    fn what_killed_processes_used_is_at_least_what_was_sampled() {
        let mut profile = from_outline("main 17\n").unwrap();
        // Killed, and waited for by nobody: their time was last noted before the last samples.
        (profile.info.threads[0].delivered, profile.info.threads[0].cpu_ns) = (17, 77_800_000);
        let account = |cpu_before_ns| Account {
            cpu_ns: 77_800_000,
            cpu_before_ns,
            threads: vec![ThreadAccount { cpu_before_ns, late: 0 }],
            ..Account::default()
        };
        profile.info.accounts = vec![account(1_200_000)];
        profile.info.run.cpu_ns = 2_000_000;
        let cpu = CpuTime::of(&profile).unwrap();
        assert_eq!((cpu.used, cpu.sampled, cpu.elsewhere), (86_200_000, 85_000_000, 0));
    }
}
