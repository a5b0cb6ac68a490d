//! Why a run has no samples, or not those that were asked for: said in words, because a profile
//! without samples and without a reason helps nobody.

use csprof_format::loss::LossReason;
use csprof_format::profile::Profile;

/// Samples of a run and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Samples delivered to threads, or to no thread.
    pub delivered: u64,
    /// Samples in trees.
    pub recorded: u64,
    /// Recorded samples with a partial path.
    pub partial: u64,
    /// Signals handled.
    pub signals: u64,
    /// Losses that occurred, in the order of their numbers.
    pub losses: Vec<(LossReason, u64)>,
}

impl Account {
    /// Adds up all threads and processes. `delivered = recorded + Σ losses`.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let mut account = Self::default();
        let mut losses = [0u64; LossReason::COUNT];
        let columns = profile.processes.iter().map(|process| &process.losses);
        for column in columns.chain(profile.threads.iter().map(|thread| &thread.losses)) {
            for (sum, loss) in losses.iter_mut().zip(column) {
                *sum = sum.saturating_add(*loss);
            }
        }
        for thread in &profile.threads {
            account.recorded = account.recorded.saturating_add(thread.recorded);
            account.partial = account.partial.saturating_add(thread.partial);
            account.signals = account.signals.saturating_add(thread.signals);
        }
        account.losses =
            LossReason::ALL.iter().copied().zip(losses).filter(|(_, loss)| *loss > 0).collect();
        account.delivered = account
            .losses
            .iter()
            .fold(account.recorded, |sum, (_, loss)| sum.saturating_add(*loss));
        account
    }

    /// Samples that are not in a tree.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.delivered - self.recorded
    }

    /// `3 lost (in-trampoline 2, arena-full 1)`, empty if nothing was lost.
    #[must_use]
    pub fn losses_in_words(&self) -> String {
        if self.losses.is_empty() {
            return String::new();
        }
        let reasons: Vec<String> =
            self.losses.iter().map(|(reason, loss)| format!("{} {loss}", reason.key())).collect();
        format!("{} lost ({})", self.lost(), reasons.join(", "))
    }
}

/// Why the profile has no samples; `None` if it has some.
#[must_use]
pub fn no_samples(profile: &Profile) -> Option<String> {
    let account = Account::of(profile);
    if account.recorded > 0 {
        return None;
    }
    let period_ns = profile.metric.period;
    let source = &profile.metric.source;
    Some(if profile.processes.is_empty() {
        "no process of the run loaded the collector: the program may have cleared its environment, \
         or have started a program that is statically linked or set-user-id"
            .into()
    } else if account.delivered > 0 {
        format!("all {} samples were lost: {}", account.delivered, account.losses_in_words())
    } else if profile.run.cpu_ns < period_ns.saturating_mul(2) && source != "realtime" {
        format!(
            "the program used {} of CPU time, and {source} takes one sample every {}; \
             a shorter period (-e {source}@1ms) or -e realtime sees more",
            seconds(profile.run.cpu_ns),
            seconds(period_ns),
        )
    } else if let Some(message) =
        profile.processes.iter().flat_map(|process| &process.messages).next()
    {
        format!("no signal of {source} arrived; the collector said: {message}")
    } else {
        format!(
            "no signal of {source} arrived although the program used {} of CPU time; \
             part of it may have been spent in processes that cannot be preloaded",
            seconds(profile.run.cpu_ns),
        )
    })
}

/// Whether the source delivered its samples in clusters: the kernel counts CPU time in ticks, and
/// one signal then stands for several periods. The weights are right, but places that run for less
/// than a tick are seen less often than was asked.
#[must_use]
pub fn slow_source(profile: &Profile) -> Option<String> {
    const ENOUGH: u64 = 100;
    let account = Account::of(profile);
    let is_clustered = account.delivered > ENOUGH && account.signals < account.delivered / 4 * 3;
    is_clustered.then(|| {
        format!(
            "{} samples came in {} signals: the kernel's clock is slower than the rate asked for; \
             counts are right, but -e task-clock sees finer detail",
            account.delivered, account.signals
        )
    })
}

/// `2.5 s`, `12 ms`, `40 us`: three digits are enough to compare.
fn seconds(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..1_000_000 => format!("{} us", ns / 1000),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use csprof_format::profile::{Metric, Process, RunInfo, Thread};

    use super::*;

    fn profile(cpu_ns: u64, messages: &[&str], losses: &[u64]) -> Profile {
        Profile {
            run: RunInfo { cpu_ns, ..RunInfo::default() },
            metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 5_000_000 },
            processes: vec![Process {
                messages: messages.iter().map(|&message| message.into()).collect(),
                ..Process::default()
            }],
            threads: vec![Thread {
                losses: losses.to_vec(),
                delivered: losses.iter().sum(),
                ..Thread::default()
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn a_profile_without_samples_says_why() {
        let without_processes = Profile { processes: Vec::new(), ..profile(0, &[], &[]) };
        for (profile, expected) in [
            (without_processes, "no process of the run loaded the collector"),
            (
                profile(1_500_000, &[], &[]),
                "the program used 1 ms of CPU time, and cputime takes one sample every 5 ms",
            ),
            (
                profile(9_000_000_000, &[], &[2, 0, 1]),
                "all 3 samples were lost: 3 lost (in-trampoline 2, arena-full 1)",
            ),
            (
                profile(9_000_000_000, &["no timers"], &[]),
                "no signal of cputime arrived; the collector said: no timers",
            ),
            (
                profile(9_000_000_000, &[], &[]),
                "no signal of cputime arrived although the program used 9.0 s",
            ),
        ] {
            let reason = no_samples(&profile).unwrap();
            assert!(reason.starts_with(expected), "{reason}");
        }
    }

    #[test]
    fn a_profile_with_samples_needs_no_reason() {
        let mut profile = profile(9_000_000_000, &[], &[1]);
        profile.threads[0].recorded = 1;
        assert_eq!(no_samples(&profile), None);
        assert_eq!(Account::of(&profile).delivered, 2);
    }
}
