//! Information for people, with the reason for everything that is missing.

use core::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};

use csprof_format::ids::{EpochId, ProcessId, ThreadId};
use csprof_format::profile::{Exit, FROM_OUTSIDE, Origin, Process, RunInfo, Thread};

use super::{Places, epoch_reason, sets, text};
use crate::profile::Profile;
use crate::profile::reduce::{job_size, ranks_of};
use crate::views::contexts::name_and_earlier;
use crate::views::cost_lines::{self, Line};
use crate::views::costs::CpuTime;
use crate::views::names::modules_to_list;
use crate::views::number::hex;
use crate::views::number::{Form, amount, count, counted, duration, percent};
use crate::views::phases::costs_of_phases;
use crate::views::printable::{command_line, printable};
use crate::views::summary::{
    Summary, kept_sources, signal, symbols_of, why_no_samples, worth_listing,
};

/// Threads of one process that the text lists.
const THREADS_LISTED: usize = 8;

/// Processes that the text lists.
const PROCESSES_LISTED: usize = 40;

/// Ranks that are kept apart, and that the text lists.
const RANKS_LISTED: usize = 16;

/// Load modules that the text lists for one epoch or for lack of symbols.
const MODULES_LISTED: usize = 20;

/// Writes the information for people, and which sets of frames and saved refinements there are.
///
/// # Errors
/// Those of `out`.
pub fn write(
    profile: &Profile,
    places: &Places,
    ascii: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let form = if ascii { Form::Ascii } else { Form::Unicode };
    let summary = Summary::of(profile);
    run(profile, form, out)?;
    samples(profile, &summary, form, out)?;
    times(profile, form, out)?;
    phases(profile, form, out)?;
    memory(profile, form, out)?;
    let mut worth = worth_listing(profile);
    let cut = keep_largest(profile, &mut worth);
    let processes = profile.info.processes.iter().enumerate();
    for (number, process) in processes.filter(|&(number, _)| worth[number]) {
        write_process(profile, number, process, form, out)?;
    }
    if cut.0 > 0 {
        let (more, samples) = (counted(cut.0, "more process", form), count(cut.1, form));
        writeln!(out, "\nand {more} with {samples} samples; --format json has them all")?;
    }
    let worth = worth_listing(profile);
    let quiet = worth.iter().filter(|worth| !**worth).count();
    if quiet > 0 {
        let more = counted(quiet as u64, "more process", form);
        let used = cost_lines::used_by(profile, |process| !worth[process], form);
        writeln!(out, "\nand {more}, without samples, losses or messages{used}")?;
    }
    symbols(profile, form, out)?;
    sets::text(places, out)
}

/// Leaves the processes with most samples, the first one among them. Returns how many are left out,
/// and their samples.
fn keep_largest(profile: &Profile, worth: &mut [bool]) -> (u64, u64) {
    let mut samples = vec![0u64; worth.len()];
    for thread in &profile.info.threads {
        if let Some(sum) = samples.get_mut(thread.process.index()) {
            *sum = sum.saturating_add(thread.recorded);
        }
    }
    let mut listed: Vec<usize> = (1..worth.len()).filter(|&place| worth[place]).collect();
    listed.sort_by_key(|&place| Reverse(samples[place]));
    let rest = listed.get(PROCESSES_LISTED - 1..).unwrap_or_default();
    for &place in rest {
        worth[place] = false;
    }
    let sum = rest.iter().fold(0u64, |sum, &place| sum.saturating_add(samples[place]));
    (rest.len() as u64, sum)
}

fn run(profile: &Profile, form: Form, out: &mut impl Write) -> io::Result<()> {
    let run = &profile.info.run;
    let mut facts = vec![("command", command_line(&run.command))];
    let mut fact = |name, value: String| {
        if !value.is_empty() {
            facts.push((name, printable(&value).into_owned()));
        }
    };
    fact("directory", text(&run.directory));
    let exit = if run.goes_on() { "none when it was read".to_owned() } else { ended(run) };
    fact("exit", exit);
    if run.duration_ns > 0 {
        fact("elapsed", duration(run.duration_ns as f64, form));
    }
    // Of processes that nobody waited for, the kernel's count does not know.
    let cpu_ns = CpuTime::of(profile).map_or(run.cpu_ns, |cpu| cpu.used);
    if cpu_ns > 0 {
        fact("CPU time", duration(cpu_ns as f64, form));
    }
    let machine = [run.host.as_str(), &run.cpu, &run.kernel];
    fact("machine", machine.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", "));
    if !run.csprof_version.is_empty() {
        fact("recorded by", format!("csprof {}", run.csprof_version));
    }
    fact("begins with", profile.info.stages.join(" | "));
    fact("source files", kept_sources(profile, form).unwrap_or_default());
    for warning in &run.warnings {
        fact("warning", warning.clone());
    }
    for merged in &profile.info.runs {
        let info = &merged.info;
        let mut about = vec![
            counted(u64::from(merged.processes), "process", form),
            duration(info.duration_ns as f64, form),
            ended(info),
        ];
        about.retain(|fact| !fact.is_empty());
        fact("run", format!("{}: {}", command_line(&info.command), about.join(", ")));
    }
    if profile.info.is_sum() {
        fact("sum", sum_of(profile, form));
    }
    if let Some(size) = job_size(&profile.info) {
        let present = ranks_of(&profile.info).len();
        fact("job", format!("{present} of {}", counted(size.into(), "rank", form)));
    }
    for (name, value) in facts {
        writeln!(out, "{name:<14}{value}")?;
    }
    Ok(())
}

/// What a sum is of, and which of its ranks are kept apart.
fn sum_of(profile: &Profile, form: Form) -> String {
    let info = &profile.info;
    let kept: BTreeSet<u32> = info.processes.iter().filter_map(|process| process.rank).collect();
    let named: Vec<String> = kept.iter().take(RANKS_LISTED).map(u32::to_string).collect();
    let more = match kept.len().saturating_sub(RANKS_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let ranks = info.summed_ranks().len();
    let kept = match named.is_empty() {
        true => "none".to_owned(),
        false => format!("{}{more}", named.join(", ")),
    };
    format!(
        "of {} in {} of {}; kept apart: {kept}",
        counted(ranks as u64, "rank", form),
        counted(info.summed_processes().count() as u64, "process", form),
        counted(info.summed.len() as u64, "run", form)
    )
}

fn ended(run: &RunInfo) -> String {
    match run.exit {
        Exit::Unknown if run.is_from_outside() => format!("unknown: {FROM_OUTSIDE}"),
        Exit::Unknown => "unknown: the recording ended before the program did".to_owned(),
        Exit::Status(status) => format!("status {status}"),
        Exit::Signal(number) => format!("killed by {}", signal(number)),
    }
}

fn samples(
    profile: &Profile,
    summary: &Summary,
    form: Form,
    out: &mut impl Write,
) -> io::Result<()> {
    for (title, lines) in cost_lines::sources(summary, form) {
        writeln!(out, "\n{title}")?;
        write_lines(&lines, out)?;
    }
    let line =
        |out: &mut dyn Write, n: u64, what: &str| writeln!(out, "  {:>14}  {what}", count(n, form));
    let rate = |rate: f64| count(rate.round() as u64, form);
    if let [only] = &summary.sources[..] {
        let source = printable(&only.metric.source);
        writeln!(out, "\nSamples of {source}, one each {}", amount(1, &only.metric, form))?;
        if let Some(asked) = only.asked_per_s {
            writeln!(out, "  {:>14}  asked for each second and thread", rate(asked))?;
        }
        if let Some(delivered) = only.delivered_per_cpu_s {
            writeln!(out, "  {:>14}  delivered for each second of CPU time", rate(delivered))?;
        }
    } else {
        writeln!(out, "\nSamples of all sources together")?;
    }
    line(out, summary.delivered, "delivered")?;
    line(out, summary.recorded, "recorded")?;
    for loss in summary.losses.iter().filter(|loss| loss.samples > 0) {
        let share = percent(loss.samples, summary.delivered);
        line(out, loss.samples, &format!("lost ({share}%), {}: {}", loss.key, loss.explanation))?;
    }
    if summary.lost() == 0 {
        line(out, 0, "lost")?;
    }
    for note in cost_lines::notes(profile, form) {
        writeln!(out, "  {:>14}  {}", note.amount, note.text)?;
    }
    match summary.unaccounted() {
        0 => {}
        n => writeln!(out, "  {n:>14}  unaccounted for: the file contradicts itself")?,
    }
    if summary.partial > 0 {
        let share = percent(summary.partial, summary.recorded);
        line(
            out,
            summary.partial,
            &format!("recorded without their outer callers ({share}%); of these"),
        )?;
        for reason in &summary.partial_reasons {
            line(out, reason.samples, &format!("  {}: {}", reason.key, reason.explanation))?;
        }
    }
    if let Some(why) = profile.why_no_edges() {
        writeln!(out, "  {:>14}  edge counts: {why}", "off")?;
    } else {
        line(out, summary.edges, "edges: returns of calls that a sample met (every-return)")?;
        if summary.lost_returns > 0 {
            line(
                out,
                summary.lost_returns,
                "lost returns: such calls that were left in another way",
            )?;
        }
    }
    if let Some(cause) = why_no_samples(profile, form) {
        writeln!(out, "  No samples: {cause}.")?;
    }
    Ok(())
}

/// Where the time went: what samples stand for, and what is in none.
fn times(profile: &Profile, form: Form, out: &mut impl Write) -> io::Result<()> {
    let cpu = ("CPU time", cost_lines::cpu_time(profile, form));
    let elapsed = ("Elapsed time of threads", cost_lines::elapsed_time(profile, form));
    [cpu, elapsed].into_iter().filter(|(_, lines)| !lines.is_empty()).try_for_each(
        |(title, lines)| {
            writeln!(out, "\n{title}")?;
            write_lines(&lines, out)
        },
    )
}

fn write_lines(lines: &[Line], out: &mut impl Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "  {:>14}  {}", line.amount, line.text))
}

/// What each phase cost that the program named.
fn phases(profile: &Profile, form: Form, out: &mut impl Write) -> io::Result<()> {
    let costs = costs_of_phases(profile);
    if !costs.is_empty() {
        writeln!(out, "\nPhases")?;
    }
    for cost in costs {
        let mut amounts = profile.metrics().zip(&cost.samples).map(|((_, metric), &samples)| {
            (amount(samples, metric, form), printable(&metric.source))
        });
        let Some((first, _)) = amounts.next() else { continue };
        let others: Vec<_> =
            amounts.map(|(amount, source)| format!("{amount} of {source}")).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(" ({})", others.join(", ")),
        };
        let what = match &cost.name {
            Some(name) if cost.start_ns == u64::MAX => {
                format!("{}, it is not known from when on", printable(name))
            }
            Some(name) => {
                let start = duration(cost.start_ns as f64, form);
                format!("{}, from {start} on", printable(name))
            }
            None => "in no phase".to_owned(),
        };
        writeln!(out, "  {first:>14}  {what}{others}")?;
    }
    Ok(())
}

/// What the collector needed in the program.
fn memory(profile: &Profile, form: Form, out: &mut impl Write) -> io::Result<()> {
    let lines = cost_lines::memory(&profile.info.accounts, form);
    if !lines.is_empty() {
        writeln!(out, "\nMemory of the collector")?;
    }
    write_lines(&lines, out)
}

fn write_process(
    profile: &Profile,
    number: usize,
    process: &Process,
    form: Form,
    out: &mut impl Write,
) -> io::Result<()> {
    let info = &profile.info;
    let rank = process.rank.map_or(String::new(), |rank| format!(" (rank {rank})"));
    let command = command_line(&process.command);
    match info.summed_into(ProcessId::from_index(number)) {
        Some(count) => {
            let summed = counted(count as u64, "summed process", form);
            writeln!(out, "\n{summed}: {command}")?;
        }
        None => writeln!(out, "\nProcess {}{rank}: {command}", process.pid)?,
    }
    let forked = if process.origin == Origin::Fork { "forked; " } else { "" };
    let samples = cost_lines::process(profile, number, form);
    writeln!(out, "  {forked}{}; {samples}", ended_process(process))?;
    for message in &process.messages {
        writeln!(out, "  {}", printable(message))?;
    }
    let mut threads: Vec<(ThreadId, &Thread)> =
        info.threads_of(ProcessId::from_index(number)).collect();
    // A stable sort: equal threads stay in the order of their start.
    threads.sort_by_key(|(_, thread)| core::cmp::Reverse(thread.recorded));
    for &(id, thread) in threads.iter().take(THREADS_LISTED) {
        let name = text(&thread.name);
        let rate = cost_lines::thread(profile, id, form);
        let samples = count(thread.recorded, form);
        let name = name_and_earlier(&printable(&name), info.earlier_threads(id), form);
        writeln!(out, "  {samples:>14}  thread {}{name}{rate}", thread.tid)?;
    }
    if let Some(rest @ [_, ..]) = threads.get(THREADS_LISTED..) {
        let samples = rest.iter().fold(0u64, |sum, (_, t)| sum.saturating_add(t.recorded));
        let earlier = rest.iter().map(|(id, _)| info.earlier_threads(*id));
        let more = earlier.fold(rest.len() as u64, u64::saturating_add);
        let more = counted(more, "thread", form);
        writeln!(out, "  {:>14}  in {more} more", count(samples, form))?;
    }
    if let Some(together) = cost_lines::threads_together(profile, number, form) {
        writeln!(out, "  {together}")?;
    }
    let epochs = (0..).map(EpochId::from_index).zip(&info.epochs);
    for (id, epoch) in epochs.filter(|(_, epoch)| epoch.process.index() == number) {
        let modules = counted(epoch.load_map.len() as u64, "mapping", form);
        let start = match epoch.start_ns {
            0 => String::new(),
            ns => format!(" after {}", duration(ns as f64, form)),
        };
        let reason = match info.phase_of(id) {
            Some(name) => format!("phase {}", printable(name)),
            None => epoch_reason(epoch.reason).to_owned(),
        };
        writeln!(out, "  epoch {}{start} ({reason}): {modules}", epoch.number)?;
    }
    Ok(())
}

fn ended_process(process: &Process) -> String {
    match process.exit {
        Exit::Unknown if process.end_ns > 0 => "ended".to_owned(),
        Exit::Unknown => "end unknown: killed, or still running when recording ended".to_owned(),
        Exit::Status(status) => format!("exit status {status}"),
        Exit::Signal(number) => format!("killed by {}", signal(number)),
    }
}

/// Modules with their symbols: those that lack most first, with the remedy.
fn symbols(profile: &Profile, form: Form, out: &mut impl Write) -> io::Result<()> {
    let modules = &profile.info.modules;
    if modules.is_empty() {
        return Ok(());
    }
    let listed = modules_to_list(profile);
    writeln!(out, "\nLoad modules")?;
    for &(place, unnamed) in listed.iter().take(MODULES_LISTED) {
        let module = &modules[place];
        let path = printable(profile.string(module.path)).into_owned();
        let id = match hex(&module.build_id) {
            id if id.is_empty() => "no build id".to_owned(),
            id => format!("build id {}", &id[..id.len().min(12)]),
        };
        writeln!(out, "  {path} ({id})")?;
        writeln!(out, "      {}", printable(&symbols_of(profile, module)))?;
        if unnamed > 0 {
            let samples = counted(unnamed, "sample", form);
            let share = percent(unnamed, profile.total());
            writeln!(out, "      {samples} ({share}%) in functions without names")?;
        }
    }
    let cut = listed.len().saturating_sub(MODULES_LISTED);
    if cut > 0 {
        let cut = counted(cut as u64, "more module", form);
        writeln!(out, "  and {cut}; --format json has them all")?;
    }
    let rest = modules.len() - listed.len();
    if rest > 0 {
        let rest = counted(rest as u64, "more module", form);
        writeln!(out, "  and {rest}, whose functions were never sampled")?;
    }
    Ok(())
}
