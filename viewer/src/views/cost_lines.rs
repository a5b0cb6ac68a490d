//! [`costs`](super::costs) in words, one fact in each line, for `csprof info` and the terminal.

use csprof_format::ids::{ProcessId, ThreadId};
use csprof_format::launch::SourceKind;
use csprof_format::profile::{Account, Metric, ThreadShare};

use super::costs::{CpuTime, ElapsedTime, Memory, cpu_metric, late, least_used};
use super::number::{Form, amount, bytes, count, counted, duration, percent};
use super::printable::printable;
use super::summary::{SourceSummary, Summary, was_paused};
use crate::profile::{MetricRef, Profile};

/// An amount, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The stable name.
    pub key: &'static str,
    /// How much.
    pub amount: String,
    /// What it is and what it means.
    pub text: String,
    /// Whether something is missing that could be there.
    pub missing: bool,
}

/// Where the CPU time went.
#[must_use]
pub fn cpu_time(profile: &Profile, form: Form) -> Vec<Line> {
    let (Some(cpu), Some((_, metric))) = (CpuTime::of(profile), cpu_metric(&profile.info)) else {
        return Vec::new();
    };
    let line = |key, ns: u64, missing, text: String| Line {
        key,
        amount: duration(ns as f64, form),
        text,
        missing,
    };
    let share = |ns| percent(ns, cpu.used);
    let mut lines = vec![
        line("used", cpu.used, false, "used by all processes of the run".to_owned()),
        line("sampled", cpu.sampled, false, format!("sampled ({}%)", share(cpu.sampled))),
    ];
    if profile.info.is_from_outside() {
        let missing = cpu.used.saturating_sub(cpu.sampled);
        let text = format!(
            "not delivered ({}%): after a thread's last sample on each processor, and what was lost",
            share(missing)
        );
        lines.extend((missing > 0).then(|| line("undelivered", missing, false, text)));
        return lines;
    }
    if cpu.before > 0 {
        let text = "before sampling began: programs being loaded, and csprof's own start in them";
        lines.push(line("before", cpu.before, false, text.to_owned()));
    }
    if cpu.undelivered > 0 {
        let without = match cpu.threads_without {
            0 => String::new(),
            n => {
                let least = if cpu.is_least { "at least " } else { "" };
                format!("; {least}{} got no sample at all", counted(n, "thread", form))
            }
        };
        let ticks = metric.source == SourceKind::CpuTime.name();
        let (since, remedy) = if ticks {
            (
                "the kernel's last look at its timer, a tick before its end",
                "; -e task-clock delivers it",
            )
        } else {
            ("its last sample", "")
        };
        let paused = if was_paused(profile) { "while sampling was paused, or " } else { "" };
        let text = format!(
            "not delivered ({}%): what a thread used {paused}after {since}{without}{remedy}",
            share(cpu.undelivered)
        );
        lines.push(line("undelivered", cpu.undelivered, ticks, text));
    }
    // Each process takes a little after the last look at its clock.
    let expected = cpu.elsewhere < (cpu.used / 20).max(metric.period);
    if expected && cpu.elsewhere > 0 {
        let text = format!(
            "elsewhere ({}%): processes after their exit, or in programs that csprof is not in",
            share(cpu.elsewhere)
        );
        lines.push(line("elsewhere", cpu.elsewhere, false, text));
    } else if cpu.elsewhere > 0 {
        let text = format!(
            "elsewhere ({}%): processes that csprof is not in (statically linked, set-user-id, without \
             its environment, behind seccomp), threads that it was not told of (made by raw system \
             calls, by the C library for timers and messages, by libraries opened with RTLD_DEEPBIND), \
             and what came after exit, or after the last look at a process that was killed or called \
             _exit",
            share(cpu.elsewhere)
        );
        lines.push(line("elsewhere", cpu.elsewhere, true, text));
    }
    lines
}

/// Where the elapsed time of threads went.
#[must_use]
pub fn elapsed_time(profile: &Profile, form: Form) -> Vec<Line> {
    let Some(time) = ElapsedTime::of(profile) else { return Vec::new() };
    let line = |key, ns: u64, text: String| Line {
        key,
        amount: duration(ns as f64, form),
        text,
        missing: false,
    };
    let share = |ns| percent(ns, time.passed);
    let threads = counted(profile.info.thread_count(), "thread", form);
    let mut lines = vec![
        line("passed", time.passed, format!("passed for {threads}, from start to end")),
        line("sampled", time.sampled, format!("sampled ({}%)", share(time.sampled))),
    ];
    if time.undelivered > 0 {
        let paused = if was_paused(profile) { "while sampling was paused, or " } else { "" };
        let text = format!(
            "not delivered ({}%): what passed {paused}after a thread's last sample; a wait has its \
             samples when it is over, and none if the thread or the process ends meanwhile",
            share(time.undelivered)
        );
        lines.push(line("undelivered", time.undelivered, text));
    }
    lines
}

/// Says that samples stand for much less CPU time than the run used, and where most of the rest
/// went: no sample was lost, and what is shown is still not what the run did. `None` where samples
/// stand for most of it, and for runs too short to tell.
#[must_use]
pub fn coverage(profile: &Profile) -> Option<String> {
    const LEAST_PERCENT: u8 = 80;
    const LEAST_PERIODS: u64 = 20;
    let (cpu, (_, metric)) = (CpuTime::of(profile)?, cpu_metric(&profile.info)?);
    let is_short = cpu.used < metric.period.saturating_mul(LEAST_PERIODS);
    let is_most = u128::from(cpu.sampled) * 100 >= u128::from(cpu.used) * u128::from(LEAST_PERCENT);
    if is_short || is_most {
        return None;
    }
    // What was used in a pause has no samples, and nobody knows how much it was.
    if was_paused(profile) {
        return None;
    }
    let most = cpu.elsewhere.max(cpu.before).max(cpu.undelivered);
    let rest = if profile.info.is_from_outside() {
        "by threads between their samples, and in what was lost"
    } else if most == cpu.elsewhere {
        "in programs that csprof is not in (statically linked, set-user-id, without its environment), \
         in threads that it was not told of (of timers, or of libraries opened with RTLD_DEEPBIND), or \
         by threads and processes as they ended"
    } else if most == cpu.before {
        "before sampling began, while programs were loaded"
    } else if metric.source == SourceKind::CpuTime.name() {
        "by threads that the kernel's tick did not meet; -e task-clock samples them"
    } else {
        "by threads after their last sample"
    };
    let share = percent(cpu.sampled, cpu.used);
    let of_metric =
        if profile.info.further.is_empty() { "" } else { &format!(" of {}", metric.source) };
    Some(format!(
        "samples{of_metric} stand for {share}% of the CPU time; most of the rest was used {rest}: csprof info"
    ))
}

/// What happened to samples or threads that is no loss of a sample.
#[must_use]
pub fn notes(profile: &Profile, form: Form) -> Vec<Line> {
    let sum = |part: fn(&Account) -> u64| {
        profile.info.accounts.iter().fold(0, |sum: u64, account| sum.saturating_add(part(account)))
    };
    let line = |key, n: u64, text: &str| Line {
        key,
        amount: count(n, form),
        text: text.to_owned(),
        missing: true,
    };
    let late = (
        "late",
        late(profile),
        "late: recorded 50 ms or more after they were due, where the thread was by then; the \
         profiling signal was blocked (by a system call of the program's own, in a handler, or \
         while csprof read a large library), or the machine stood still",
    );
    let unsampled = (
        "unsampled-threads",
        sum(|account| account.unsampled_threads),
        "threads that were not sampled: memory or a timer was refused (see ulimit -i, and the \
         space in /dev/shm), or the program made them by clone(2), unknown to the C library",
    );
    let unsampled = match profile.info.run.is_from_outside() {
        true => (unsampled.0, unsampled.1, "threads that were not sampled: see the warnings"),
        false => unsampled,
    };
    let foreign = (
        "foreign-signals",
        sum(|account| account.foreign_signals),
        "profiling signals (SIGPROF) from elsewhere, which were no samples, and for which the program \
         has no handler",
    );
    [late, unsampled, foreign]
        .into_iter()
        .filter(|(_, n, _)| *n > 0)
        .map(|(key, n, text)| line(key, n, text))
        .collect()
}

/// What the collector needed.
#[must_use]
pub fn memory(accounts: &[Account], form: Form) -> Vec<Line> {
    // From outside there is no collector.
    let memory = Memory::of(accounts).filter(|memory| memory.total() > 0);
    let Some(memory) = memory else { return Vec::new() };
    let line = |key, n, text: String| Line { key, amount: bytes(n, form), text, missing: false };
    let processes = counted(accounts.len() as u64, "process", form);
    let per_node = match memory.nodes {
        0 => String::new(),
        nodes => format!(
            " of calling context trees, {} bytes each with those in reserve",
            memory.node_bytes / nodes
        ),
    };
    let nodes = format!("{}{per_node}", counted(memory.nodes, "node", form));
    vec![
        line("total", memory.total(), format!("in {processes}, added up")),
        line("nodes", memory.node_bytes, nodes),
        line("records", memory.record_bytes, "load maps and other records".to_owned()),
        line("tables", memory.table_bytes, "unwind tables".to_owned()),
        line("other", memory.other_bytes, "buffers, caches and the state of threads".to_owned()),
    ]
}

/// A process in one line: `2 420 samples, 12.1 s of CPU time, 200 per second of it`.
#[must_use]
pub fn process(profile: &Profile, place: usize, form: Form) -> String {
    let info = &profile.info;
    let (mut recorded, mut cpu, mut ids) = (0u64, 0u64, Vec::new());
    for (id, thread) in info.threads_of(ProcessId::from_index(place)) {
        recorded = recorded.saturating_add(thread.recorded);
        cpu = cpu.saturating_add(thread.cpu_ns);
        ids.push(id);
    }
    let cpu = info.accounts.get(place).map_or(cpu, |account| account.cpu_ns.max(cpu));
    format!("{}{}", counted(recorded, "sample", form), used_and_rate(profile, &ids, cpu, form))
}

/// How many threads of a process are counted with others, where any are.
#[must_use]
pub fn threads_together(profile: &Profile, place: usize, form: Form) -> Option<String> {
    let info = &profile.info;
    let (mut all, mut standing, mut stood_for) = (0u64, 0u64, 0u64);
    for (id, _) in info.threads_of(ProcessId::from_index(place)) {
        let earlier = info.earlier_threads(id);
        all = all.saturating_add(earlier).saturating_add(1);
        if earlier > 0 {
            standing += 1;
            stood_for = stood_for.saturating_add(earlier).saturating_add(1);
        }
    }
    if standing == 0 {
        return None;
    }
    Some(match info.is_sum() {
        // How many were summed into each thread is not said.
        true => "threads that ran one after the other are counted together".to_owned(),
        false => format!(
            "{} in all; {} of them are counted together, as {}: each stands for threads that ran one \
             after the other",
            counted(all, "thread", form),
            count(stood_for, form),
            count(standing, form)
        ),
    })
}

/// What is said of a thread behind its samples, as of a process.
#[must_use]
pub fn thread(profile: &Profile, id: ThreadId, form: Form) -> String {
    used_and_rate(profile, &[id], profile.info.threads[id.index()].cpu_ns, form)
}

/// `, 12.1 s of CPU time, 200 per second of it`; nothing if the time is not known, and `, at least
/// 12.1 s of CPU time` where samples show that it was noted before they came. Of several metrics
/// first ` (2 200 of cputime, 220 of realtime)`. The rate is that of CPU time.
fn used_and_rate(profile: &Profile, threads: &[ThreadId], cpu_ns: u64, form: Form) -> String {
    let info = &profile.info;
    let sum = |metric: usize, part: fn(ThreadShare) -> u64| {
        let shares = threads.iter().map(|&thread| part(info.share(thread, metric)));
        shares.fold(0, u64::saturating_add)
    };
    let mut text = by_source(profile, |metric| sum(metric, |share| share.recorded), form);
    if cpu_ns == 0 {
        return text;
    }
    let metric = cpu_metric(info)
        .map(|(metric, about)| (sum(metric, |share| share.delivered), about))
        .map(|(delivered, about)| (delivered, least_used(delivered, threads.len(), about)));
    if let Some((_, least_ns)) = metric.filter(|(_, least_ns)| *least_ns > cpu_ns) {
        text.push_str(&format!(", at least {} of CPU time", duration(least_ns as f64, form)));
        return text;
    }
    text.push_str(&format!(", {} of CPU time", duration(cpu_ns as f64, form)));
    // What was used in a pause has no samples.
    if let Some((delivered, _)) = metric.filter(|_| !was_paused(profile)) {
        let rate = (delivered as f64 / (cpu_ns as f64 / 1e9)).round() as u64;
        text.push_str(&format!(", {} per second of it", count(rate, form)));
    }
    text
}

/// ` (800 of cputime, 790 of realtime)`; nothing if there is one metric.
#[must_use]
pub fn by_source(profile: &Profile, samples: impl Fn(usize) -> u64, form: Form) -> String {
    if profile.info.further.is_empty() {
        return String::new();
    }
    let of = |(metric, about): (MetricRef, &Metric)| {
        format!("{} of {}", count(samples(metric.index()), form), printable(&about.source))
    };
    format!(" ({})", profile.metrics().map(of).collect::<Vec<_>>().join(", "))
}

/// What each of several sample sources brought: a title, and one fact in each line. Nothing if
/// there is one source: all samples are its.
#[must_use]
pub fn sources(summary: &Summary, form: Form) -> Vec<(String, Vec<Line>)> {
    let section = |source: &SourceSummary| {
        let name = printable(&source.metric.source);
        let title = format!("Samples of {name}, one each {}", amount(1, &source.metric, form));
        let line = |key, n: u64, missing, text: &str| Line {
            key,
            amount: count(n, form),
            text: text.to_owned(),
            missing,
        };
        let rate = |key, rate: f64, text| line(key, rate.round() as u64, false, text);
        let asked = source.asked_per_s;
        let asked = asked.map(|n| rate("asked", n, "asked for each second and thread"));
        // The time of those that wait is not CPU time.
        let is_cpu = !source.metric.counts_waits();
        let delivered = source.delivered_per_cpu_s.filter(|_| is_cpu);
        let delivered = delivered.map(|n| rate("rate", n, "delivered for each second of CPU time"));
        let ThreadShare { delivered: all, recorded, partial, .. } = source.samples;
        let counts = [
            line("delivered", all, false, "delivered"),
            line("recorded", recorded, false, "recorded"),
            line("lost", source.lost(), source.lost() > 0, "lost"),
        ];
        let without = "recorded without their outer callers";
        let partial = (partial > 0).then(|| line("partial", partial, true, without));
        (title, asked.into_iter().chain(delivered).chain(counts).chain(partial).collect())
    };
    match &summary.sources[..] {
        [_] => Vec::new(),
        several => several.iter().map(section).collect(),
    }
}

/// `, which used 1.20 s of CPU time`, of the processes that `which` admits.
#[must_use]
pub fn used_by(profile: &Profile, which: impl Fn(usize) -> bool, form: Form) -> String {
    let accounts = profile.info.accounts.iter().enumerate();
    let used = accounts
        .filter(|(process, _)| which(*process))
        .fold(0u64, |sum, (_, account)| sum.saturating_add(account.cpu_ns));
    if used == 0 {
        return String::new();
    }
    format!(", which used {} of CPU time", duration(used as f64, form))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn no_rate_is_told_of_a_time_that_was_noted_before_the_samples_came() {
        let mut profile = from_outline("main 17\n").unwrap();
        profile.info.threads[0].delivered = 17;
        let mut told = |cpu_ns| {
            profile.info.threads[0].cpu_ns = cpu_ns;
            thread(&profile, ThreadId::from_index(0), Form::Ascii)
        };
        assert_eq!(told(85_000_000), ", 85.0 ms of CPU time, 200 per second of it");
        assert_eq!(told(80_000_000), ", 80.0 ms of CPU time, 213 per second of it");
        assert_eq!(told(79_000_000), ", at least 80.0 ms of CPU time");
        assert_eq!(told(0), "");
    }
}
