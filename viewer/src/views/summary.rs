//! What was sampled, what was lost and why: the whole run in numbers that add up.
//!
//! Every sample delivered is recorded in a tree or counted as a loss with a reason, over all
//! threads and processes together: `delivered = recorded + Σ losses`. Should a file say otherwise,
//! [`Summary::unaccounted`] says by how much instead of hiding it. Where samples have several
//! sources, this is of all together; [`Summary::sources`] tells them apart.

use std::collections::BTreeSet;

use csprof_format::arena::{LEFT_NO_SAMPLES, LeftOut};
use csprof_format::ids::{StringId, ThreadId};
use csprof_format::launch::SourceKind;
use csprof_format::launch::control::{PAUSED, RATE};
use csprof_format::loss::{LossReason, PartialReason};
use csprof_format::profile::{
    self as saved, GENERATED_CODE, HANDOVERS, KERNEL, Metric, Module, SymbolSource, ThreadShare,
    WAITS,
};
use nix::sys::signal::Signal;

use super::costs::least_used;
use super::number::{Form, amount, binary_bytes, count, counted, duration};
use super::printable::printable;
use crate::left_out;
use crate::profile::{FrameKind, MetricRef, Profile};

/// Samples that share a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its stable name.
    pub key: String,
    /// What happened and what it means, one sentence.
    pub explanation: String,
    /// How many samples.
    pub samples: u64,
}

/// A run in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Samples delivered to threads, and those that arrived where no thread could own them.
    pub delivered: u64,
    /// Samples recorded in trees.
    pub recorded: u64,
    /// Recorded samples whose outer callers are unknown.
    pub partial: u64,
    /// Every reason for which a sample can be lost, also those that did not happen.
    pub losses: Vec<Reason>,
    /// Why paths are partial: the reasons that happened, most samples first.
    pub partial_reasons: Vec<Reason>,
    /// Returns of sampled activations, recorded as edge counts.
    pub edges: u64,
    /// Sampled activations that left without a return.
    pub lost_returns: u64,
    /// CPU time of the profiled threads, in nanoseconds; 0 if unknown.
    pub cpu_ns: u64,
    /// What each sample source brought, in the order of the metrics.
    pub sources: Vec<SourceSummary>,
    /// Whether processes or threads ran that had no room for samples or no source of them.
    pub has_unsampled: bool,
}

/// What a sample source brought.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSummary {
    /// What it measures.
    pub metric: Metric,
    /// Its samples in all threads. Of several sources, samples that no thread could own are in
    /// none: it is not known whose they are.
    pub samples: ThreadShare,
    /// Samples per second and thread that were asked for; `None` where no clock samples.
    pub asked_per_s: Option<f64>,
    /// Samples delivered per second of CPU time; `None` if that time is unknown, or some of it was
    /// used while sampling was paused.
    pub delivered_per_cpu_s: Option<f64>,
}

impl SourceSummary {
    /// Samples delivered and not recorded.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.samples.delivered.saturating_sub(self.samples.recorded)
    }
}

impl Summary {
    /// Adds up a profile. O(nodes).
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let info = &profile.info;
        let sum = |numbers: &mut dyn Iterator<Item = u64>| {
            numbers.fold(0u64, |total, number| total.saturating_add(number))
        };
        let losses = losses(profile);
        let homeless = sum(&mut info.processes.iter().flat_map(|p| p.losses.iter().copied()));
        let delivered = sum(&mut info.threads.iter().map(|t| t.delivered)).saturating_add(homeless);
        let thread_cpu = sum(&mut info.threads.iter().map(|t| t.cpu_ns));
        let cpu_ns = if thread_cpu > 0 { thread_cpu } else { info.run.cpu_ns };
        let was_paused = was_paused(profile);
        let source = |(metric, about): (MetricRef, &Metric)| {
            let of_thread = |thread| info.share(ThreadId::from_index(thread), metric.index());
            let shares = (0..info.threads.len()).map(of_thread);
            let mut samples = shares.fold(ThreadShare::default(), |all, one| ThreadShare {
                signals: all.signals.saturating_add(one.signals),
                delivered: all.delivered.saturating_add(one.delivered),
                recorded: all.recorded.saturating_add(one.recorded),
                partial: all.partial.saturating_add(one.partial),
            });
            if info.further.is_empty() {
                samples.delivered = delivered;
            }
            let is_time = about.is_time() && !about.is_of_calls() && about.period > 0;
            let rate = || samples.delivered as f64 / (cpu_ns as f64 / 1e9);
            // Noted before samples came.
            let least_ns = least_used(samples.delivered, info.threads.len(), about);
            let is_old = about.is_cpu_time() && least_ns > cpu_ns;
            SourceSummary {
                metric: about.clone(),
                samples,
                asked_per_s: is_time.then(|| 1e9 / about.period as f64),
                delivered_per_cpu_s: (is_time && cpu_ns > 0 && !was_paused && !is_old).then(rate),
            }
        };
        Self {
            delivered,
            recorded: sum(&mut info.threads.iter().map(|t| t.recorded)),
            partial: sum(&mut info.threads.iter().map(|t| t.partial)),
            losses,
            partial_reasons: partial_reasons(profile),
            edges: sum(&mut profile.nodes.edges.iter()),
            lost_returns: sum(&mut info.threads.iter().map(|t| t.lost_returns)),
            cpu_ns,
            sources: profile.metrics().map(source).collect(),
            has_unsampled: has_unsampled(info),
        }
    }

    /// Samples lost, for whatever reason.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.losses.iter().fold(0, |total, reason| total.saturating_add(reason.samples))
    }

    /// Delivered samples that are neither recorded nor lost for a reason; below 0 if there are
    /// more of these than were delivered. 0 in every sound profile.
    #[must_use]
    pub fn unaccounted(&self) -> i128 {
        i128::from(self.delivered) - i128::from(self.recorded) - i128::from(self.lost())
    }
}

fn has_unsampled(info: &saved::Profile) -> bool {
    let without_room = LeftOut::Refused.explanation();
    let mut messages = info.processes.iter().flat_map(|process| &process.messages);
    info.accounts.iter().any(|account| account.unsampled_threads > 0)
        || info.run.warnings.iter().any(|warning| warning.contains(LEFT_NO_SAMPLES))
        || messages.any(|message| message.contains(without_room))
}

/// Losses of all threads and processes by reason.
fn losses(profile: &Profile) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = LossReason::ALL
        .iter()
        .map(|reason| Reason {
            key: reason.key().to_owned(),
            explanation: reason.explanation().to_owned(),
            samples: 0,
        })
        .collect();
    let threads = profile.info.threads.iter().map(|thread| &thread.losses);
    let processes = profile.info.processes.iter().map(|process| &process.losses);
    for counters in threads.chain(processes) {
        for (number, &samples) in counters.iter().enumerate() {
            // A newer csprof may know more reasons; its samples still count.
            while reasons.len() <= number {
                reasons.push(Reason {
                    key: format!("reason-{}", reasons.len()),
                    explanation: "a reason that this version of csprof does not know".to_owned(),
                    samples: 0,
                });
            }
            let total = &mut reasons[number].samples;
            *total = total.saturating_add(samples);
        }
    }
    reasons
}

/// Samples below each partial root.
fn partial_reasons(profile: &Profile) -> Vec<Reason> {
    let inclusive = profile.nodes.inclusive();
    let mut reasons: Vec<Reason> = Vec::new();
    for (node, &samples) in inclusive.iter().enumerate().skip(1) {
        let frame = profile.frames[profile.nodes.frame[node].index()];
        if frame.kind != FrameKind::Partial || samples == 0 {
            continue;
        }
        let name = &profile.functions[frame.function.index()].name;
        let key = name.strip_prefix("[partial: ").and_then(|rest| rest.strip_suffix(']'));
        let key = key.unwrap_or(name);
        match reasons.iter_mut().find(|reason| reason.key == key) {
            Some(reason) => reason.samples = reason.samples.saturating_add(samples),
            None => {
                let known = PartialReason::ALL.iter().find(|reason| reason.key() == key);
                let explanation = known.map_or("", |reason| reason.explanation());
                reasons.push(Reason {
                    key: key.to_owned(),
                    explanation: explanation.to_owned(),
                    samples,
                });
            }
        }
    }
    reasons.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.key.cmp(&b.key)));
    reasons
}

/// Why there are no samples, in one sentence; `None` if there are some.
#[must_use]
pub fn why_no_samples(profile: &Profile, form: Form) -> Option<String> {
    if profile.nodes.samples.iter().any(|samples| samples > 0) {
        return None;
    }
    let info = &profile.info;
    let summary = Summary::of(profile);
    let mut metrics = info.metrics();
    let is_by_clock = |metric: &&Metric| metric.is_time() && !metric.is_of_calls();
    let metric = metrics.find(is_by_clock).unwrap_or(&info.metric);
    let period = amount(1, metric, form);
    let cpu = summary.cpu_ns.max(info.run.cpu_ns);
    let messages = info.processes.iter().flat_map(|process| &process.messages);
    let message = left_out::summed(messages.map(|message| &**message)).into_iter().next();
    let elapsed = info.run.duration_ns;
    let waited = cpu < elapsed / 10 && elapsed > metric.period.saturating_mul(10);
    let not_waiting = !info.metrics().any(|metric| metric.is_elapsed_time());
    Some(if summary.delivered > 0 {
        let most = summary.losses.iter().max_by_key(|reason| reason.samples);
        let cause = most.map_or("", |reason| reason.explanation.as_str());
        let delivered = count(summary.delivered, form);
        format!("all {delivered} samples that were delivered were lost, most because {cause}")
    } else if info.processes.is_empty() {
        "no process of the run is in the profile; the warnings of `csprof info` say why".to_owned()
    } else if let Some((message, _)) = message {
        message
    } else if was_paused(profile) {
        "no sample was due while sampling was not paused".to_owned()
    } else if !metric.is_time() || metric.is_of_calls() {
        let source = printable(&metric.source);
        format!("no thread came to a whole sampling period of {source} ({period})")
    } else if waited && not_waiting {
        let (used, elapsed) = (duration(cpu as f64, form), duration(elapsed as f64, form));
        let is_short = cpu < metric.period;
        let otherwise = if is_short { ", `-e task-clock@10000` while it works" } else { "" };
        format!(
            "the program used {used} of CPU time in {elapsed}, so it waited nearly all the time; \
             `-e realtime@200` samples it while it waits{otherwise}"
        )
    } else if cpu > 0 && cpu < metric.period {
        let used = duration(cpu as f64, form);
        format!(
            "the program used {used} of CPU time, less than one sampling period ({period}); a \
             shorter one gives samples, for instance `-e task-clock@10000`"
        )
    } else if cpu > 0 {
        let used = duration(cpu as f64, form);
        let is_by_tick = metric.source == SourceKind::CpuTime.name();
        let tick = if is_by_tick {
            "the kernel looks at CPU timers at its tick only, so threads and processes that live \
             shorter are seldom seen (`-e task-clock@1000` sees them), and "
        } else {
            ""
        };
        format!(
            "the program used {used} of CPU time, but no sample arrived at a profiled thread: {tick}\
             csprof is not in programs that are statically linked, set-user-id or started without \
             its environment, nor in threads that the C library begins for timers"
        )
    } else {
        format!(
            "no thread ran for a whole sampling period ({period}); a shorter one gives samples, \
             for instance `-e task-clock@10000`"
        )
    })
}

/// A signal by number and name, as of signal(7): `signal 9 (SIGKILL)`.
#[must_use]
pub fn signal(number: u8) -> String {
    match Signal::try_from(i32::from(number)) {
        Ok(known) => format!("signal {number} ({})", known.as_str()),
        Err(_) => format!("signal {number}"),
    }
}

/// Samples that came in clusters: how many signals brought how many samples, if a signal stands for
/// several periods so often that samples no longer tell how long calls are. The kernel looks at CPU
/// timers at its tick only, and a thread that runs for less at a time is met seldom; the signal
/// that it then gets stands for all periods since the last. Of several sources, the one whose
/// samples have fewest signals. A sample of elapsed time that stands for several periods is no
/// cluster: it comes when a wait is over, and all of them were spent there.
#[must_use]
pub fn clustered(profile: &Profile) -> Option<(u64, u64)> {
    clusters(profile).map(|(_, signals, samples)| (signals, samples))
}

/// Whether samples can tell how long calls are: where all are of time. Others meet calls by what
/// these count, and edges are of all samples.
#[must_use]
pub fn are_all_of_time(profile: &Profile) -> bool {
    profile.info.metrics().all(Metric::is_time)
}

/// Whether the run, or one of those that were merged, says that it was paused.
#[must_use]
pub fn was_paused(profile: &Profile) -> bool {
    warns_of(profile, PAUSED)
}

/// Whether a warning of the run, or of one of those that were merged, begins so.
fn warns_of(profile: &Profile, start: &str) -> bool {
    let info = &profile.info;
    let runs = std::iter::once(&info.run).chain(info.runs.iter().map(|merged| &merged.info));
    runs.flat_map(|run| &run.warnings).any(|warning| warning.starts_with(start))
}

/// What [`clustered`] says, with the source whose samples they are.
fn clusters(profile: &Profile) -> Option<(&Metric, u64, u64)> {
    const ENOUGH: u64 = 100;
    let info = &profile.info;
    // Where fewer were asked for, samples stand for several periods without being late.
    if warns_of(profile, RATE) {
        return None;
    }
    let of_source = |(number, metric)| {
        let shares = (0..info.threads.len()).map(ThreadId::from_index);
        let shares = shares.map(|thread| info.share(thread, number));
        let (signals, samples) = shares.fold((0u64, 0u64), |(signals, samples), share| {
            (signals.saturating_add(share.signals), samples.saturating_add(share.delivered))
        });
        let metric: &Metric = metric;
        (metric, signals, samples)
    };
    let metrics = info.metrics().enumerate();
    let sources = metrics.filter(|(_, metric)| metric.is_cpu_time()).map(of_source);
    // Profiles of no run have no signals.
    let clustered = sources.filter(|&(_, signals, samples)| {
        samples > ENOUGH && (1..samples / 4 * 3).contains(&signals)
    });
    let density = |&(_, signals, samples): &(&Metric, u64, u64)| signals as f64 / samples as f64;
    clustered.min_by(|one, other| density(one).total_cmp(&density(other)))
}

/// What [`clustered`] samples come from, and a source that sees finer detail, if there is one.
#[must_use]
pub fn why_clustered(profile: &Profile) -> (String, Option<&'static str>) {
    match clusters(profile) {
        Some((metric, signals, samples)) if metric.source == SourceKind::CpuTime.name() => {
            let asked = 1e9 / metric.period.max(1) as f64;
            let met = asked * signals as f64 / samples as f64;
            let why = format!(
                "the kernel looks at CPU timers at its tick, which met threads {met:.0} times per \
                 second of CPU time instead of {asked:.0}: it comes less often than that, or \
                 threads ran for less than a tick"
            );
            (why, Some("-e task-clock"))
        }
        _ => ("the profiling signal was held up".to_owned(), None),
    }
}

/// For each process, whether it says something: samples, losses, messages, epochs of its own
/// making. A shell script starts hundreds that do not; they are counted and not listed. The first
/// process is what was asked for, and always listed.
#[must_use]
pub fn worth_listing(profile: &Profile) -> Vec<bool> {
    let info = &profile.info;
    let mut worth: Vec<_> = info
        .processes
        .iter()
        .map(|process| !process.messages.is_empty() || process.losses.iter().any(|&n| n > 0))
        .collect();
    let sampled = info.threads.iter().filter(|thread| thread.delivered > 0).map(|t| t.process);
    let epochs = info.epochs.iter().filter(|epoch| epoch.number > 0).map(|e| e.process);
    for process in sampled.chain(epochs) {
        if let Some(worth) = worth.get_mut(process.index()) {
            *worth = true;
        }
    }
    if let Some(first) = worth.first_mut() {
        *first = true;
    }
    worth
}

/// Where a module's names came from, or why it has none and what would give it some.
#[must_use]
pub fn symbols_of(profile: &Profile, module: &Module) -> String {
    let file = |id| profile.string(id);
    match &module.symbols {
        _ if profile.string(module.path) == WAITS => "what threads waited for; no code".to_owned(),
        _ if profile.string(module.path) == HANDOVERS => {
            "where threads handed work to others; no code".to_owned()
        }
        SymbolSource::NotAsked => "no symbols: not asked for, or never sampled".to_owned(),
        SymbolSource::Dwarf(id) => {
            format!("functions, lines and inlined frames from {}", file(*id))
        }
        SymbolSource::SymbolTable(id)
            if [GENERATED_CODE, KERNEL].contains(&profile.string(module.path)) =>
        {
            format!("functions from {}", file(*id))
        }
        SymbolSource::SymbolTable(id) => {
            format!("functions without lines from {}; compile with -g for lines", file(*id))
        }
        SymbolSource::Exports(id) => format!(
            "exported functions only, since {} is stripped; install its debug symbols for the rest",
            file(*id)
        ),
        SymbolSource::Stripped(id) => {
            format!("no symbols: {} is stripped; install its debug symbols", file(*id))
        }
        SymbolSource::Unreadable(id) => format!("no symbols: {}", file(*id)),
        SymbolSource::BuildIdDiffers(id) => {
            format!("no symbols: {} has changed since the run (its build id is another)", file(*id))
        }
    }
}

/// Whether a module lacks names that it might have: what the information screen points out.
#[must_use]
pub fn lacks_symbols(module: &Module) -> bool {
    matches!(
        module.symbols,
        SymbolSource::Exports(_)
            | SymbolSource::Stripped(_)
            | SymbolSource::Unreadable(_)
            | SymbolSource::BuildIdDiffers(_)
    )
}

/// How many source files the profile keeps, and how much of them; `None` if it keeps none.
#[must_use]
pub fn kept_sources(profile: &Profile, form: Form) -> Option<String> {
    let files = &profile.info.sources;
    let size = files.iter().map(|file| file.text.len() as u64).sum();
    let partly = match files.iter().filter(|file| !file.is_whole()).count() as u64 {
        0 => String::new(),
        some => format!("; only some lines of {}", count(some, form)),
    };
    let paths: BTreeSet<StringId> = files.iter().map(|file| file.path).collect();
    let versions = match files.len() - paths.len() {
        0 => String::new(),
        _ => format!(" in {} versions", count(files.len() as u64, form)),
    };
    let number = counted(paths.len() as u64, "file", form);
    let size = binary_bytes(size, form);
    let told = format!("{number} kept in the profile{versions}, {size}{partly}");
    (!files.is_empty()).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn a_pause_is_no_reason_where_there_is_no_process() {
        let mut profile = from_outline("main 0\n").unwrap();
        profile.info.run.warnings.push(format!("{PAUSED} for 1.0 s of the run's 2.0 s"));
        profile.info.processes.clear();
        let why = why_no_samples(&profile, Form::Ascii).unwrap();
        assert!(why.starts_with("no process of the run"), "{why}");
    }

    #[test]
    fn clusters_of_one_source_are_seen_beside_another() {
        let clusters = |signals: [u64; 2]| {
            let mut profile = from_outline("main 400\n  wait 500 realtime:500\n").unwrap();
            profile.info.threads[0].signals = signals[0] + signals[1];
            profile.info.further[0].threads[0].signals = signals[1];
            clustered(&profile).map(|counts| (counts, why_clustered(&profile).1))
        };
        let finer = Some("-e task-clock");
        assert_eq!(clusters([400, 500]), None);
        assert_eq!(clusters([200, 500]), Some(((200, 400), finer)));
        assert_eq!(clusters([400, 100]), None, "they are of long waits");
        assert_eq!(clusters([200, 100]), Some(((200, 400), finer)));
    }

    #[test]
    fn a_pause_of_a_merged_run_is_one_of_the_profile() {
        let mut profile = from_outline("main 10\n").unwrap();
        profile.info.run.cpu_ns = 1_000_000_000;
        let rate = |profile: &Profile| Summary::of(profile).sources[0].delivered_per_cpu_s;
        assert!(!was_paused(&profile) && rate(&profile).is_some());
        let mut run = profile.info.run.clone();
        run.warnings.push(format!("{PAUSED} for 1 s"));
        profile.info.runs.push(saved::MergedRun { info: run, processes: 1 });
        assert!(was_paused(&profile));
        assert_eq!(rate(&profile), None);
    }

    #[test]
    fn a_pause_is_no_cause_where_another_is_known() {
        let mut profile = from_outline("main 0\n").unwrap();
        let paused = format!("{PAUSED} for 1 s");
        profile.info.run.warnings.push(paused);
        let told = |profile: &Profile| why_no_samples(profile, Form::Ascii).unwrap();
        assert!(told(&profile).contains("not paused"), "{}", told(&profile));
        profile.info.processes.clear();
        assert!(told(&profile).starts_with("no process of the run"), "{}", told(&profile));
    }
}
