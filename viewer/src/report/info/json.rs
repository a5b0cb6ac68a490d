//! Information for scripts, as JSON.

#![expect(non_camel_case_types, reason = "an object has a type for each of its keys")]

use std::collections::BTreeSet;
use std::io::{self, Write};

use csprof_format::ids::{EpochId, ModuleId, ThreadId};
use csprof_format::loss::LossReason;
use csprof_format::profile::{
    self as saved, Account, Exit, Mapping, MergedRun, Metric, Module, Origin, Process, SourceDoubt,
    SourceFile, SymbolSource, ThreadAccount, ThreadShare,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Places, epoch_reason, text};
use crate::profile::{MetricRef, Profile};
use crate::views::costs::{CpuTime, ElapsedTime, Memory, threads};
use crate::views::names::nameless_of_each;
use crate::views::number::Form;
use crate::views::number::hex;
use crate::views::phases::{PhaseCost, costs_of_phases};
use crate::views::summary::{self, Reason, Summary, symbols_of, why_no_samples};

/// An object: its members in this order.
macro_rules! object {
    ($($(#[$meta:meta])* $key:ident: $value:expr),* $(,)?) => {{
        #[derive(Serialize)]
        struct Object<$($key),*> {
            $($(#[$meta])* $key: $key),*
        }
        Object { $($key: $value),* }
    }};
}

/// Writes the information as JSON.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, places: &Places, out: &mut impl Write) -> io::Result<()> {
    let info = &profile.info;
    let run = &info.run;
    let summary = Summary::of(profile);
    let (exit, signal) = exit_numbers(run.exit);
    let runs: Vec<_> = info.runs.iter().map(merged_run).collect();
    let value = object! {
        command: texts(&run.command),
        directory: text(&run.directory),
        host: &run.host,
        cpu: &run.cpu,
        kernel: &run.kernel,
        csprof_version: &run.csprof_version,
        start_unix_ns: run.start_unix_ns,
        // Status of the program, or 128 + signal, as `csprof record` gave it; `null` if unknown.
        exit: exit,
        // The signal that ended the program, if one did.
        signal: signal,
        duration_s: seconds(run.duration_ns),
        cpu_s: seconds(run.cpu_ns),
        sources: summary.sources.iter().map(source).collect::<Vec<_>>(),
        processes: processes(profile),
        modules: modules(profile),
        kept_sources: info.sources.iter().map(|file| kept_source(profile, file)).collect::<Vec<_>>(),
        samples: object! {
            delivered: summary.delivered,
            recorded: summary.recorded,
            partial: summary.partial,
        },
        losses: by_key(&summary.losses),
        // What the phases cost that the program named, and last what is in none (`name` is `null`);
        // a process may come back to one, so only its first beginning is known.
        phases: costs_of_phases(profile).into_iter().map(|cost| phase(profile, cost)).collect::<Vec<_>>(),
        // Where CPU time went, in seconds; `null` where samples are not of CPU time.
        cpu_time: CpuTime::of(profile).map(|cpu| object! {
            used_s: seconds(cpu.used),
            sampled_s: seconds(cpu.sampled),
            before_s: seconds(cpu.before),
            undelivered_s: seconds(cpu.undelivered),
            // `null` where it is not known, of threads that are counted together.
            threads_without_samples: (!cpu.is_least).then_some(cpu.threads_without),
            elsewhere_s: seconds(cpu.elsewhere),
        }),
        // Where the elapsed time of threads went, in seconds; `null` where samples are not of it.
        elapsed_time: ElapsedTime::of(profile).map(|time| object! {
            passed_s: seconds(time.passed),
            sampled_s: seconds(time.sampled),
            undelivered_s: seconds(time.undelivered),
        }),
        // Memory of the collector over all processes, in bytes; `null` if unknown.
        collector_memory: memory(&info.accounts),
        partial_reasons: by_key(&summary.partial_reasons),
        edges: object! {
            total: run.trampoline.then_some(summary.edges),
            lost_returns: run.trampoline.then_some(summary.lost_returns),
            mode: if run.trampoline { "every-return" } else { "off" },
        },
        warnings: &run.warnings,
        // The refinement that reports and the viewer begin with, a text for each stage.
        stages: &info.stages,
        // The runs of a merged profile, in the order of their processes; absent for one run.
        #[serde(flatten)]
        runs: (!runs.is_empty()).then(|| object! { runs: runs }),
        // What a sum is of; absent for other profiles.
        #[serde(flatten)]
        sum: info.is_sum().then(|| object! { sum: sum(info) }),
        // How many ranks the jobs have that processes are ranks of, as launchers say.
        job_ranks: &info.job_sizes,
        // Why there are no samples, where there are none.
        no_samples_because: why_no_samples(profile, Form::Unicode),
        // The files of sets of frames, with the sets that count from each.
        sets: &places.sets,
        // The file of refinements that were saved; `null` where there can be none.
        refinements: &places.refinements,
    };
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

fn phase(profile: &Profile, cost: PhaseCost) -> impl Serialize + use<> {
    let sources = profile.metrics().map(|(_, metric)| metric.source.clone());
    let samples: Map<String, Value> =
        sources.zip(cost.samples.iter().map(|&samples| json!(samples))).collect();
    object! {
        start_s: (cost.start_ns < u64::MAX).then(|| seconds(cost.start_ns)),
        name: cost.name,
        samples: samples,
    }
}

fn source(source: &summary::SourceSummary) -> impl Serialize {
    let ThreadShare { delivered, recorded, partial, .. } = source.samples;
    object! {
        name: source.metric.source.clone(),
        unit: source.metric.unit.clone(),
        // Amount of the unit that one sample stands for.
        period: source.metric.period,
        // Samples for each second and thread.
        asked: source.asked_per_s,
        delivered_per_cpu_s: source.delivered_per_cpu_s,
        // Of its samples: in all threads, and of a single source those that no thread could own.
        samples: object! { delivered: delivered, recorded: recorded, partial: partial },
        // Delivered and not recorded, for whatever reason.
        lost: source.lost(),
    }
}

fn memory(accounts: &[Account]) -> Option<impl Serialize + use<>> {
    let memory = Memory::of(accounts)?;
    Some(object! {
        total: memory.total(),
        nodes: memory.nodes,
        node_bytes: memory.node_bytes,
        record_bytes: memory.record_bytes,
        table_bytes: memory.table_bytes,
        other_bytes: memory.other_bytes,
    })
}

fn processes(profile: &Profile) -> Vec<impl Serialize> {
    let info = &profile.info;
    let (mut threads_of, mut epochs_of): (Vec<_>, Vec<_>) =
        info.processes.iter().map(|_| (Vec::new(), Vec::new())).unzip();
    let accounts = threads(profile).map(|(_, account)| account);
    let accounts = accounts.chain(std::iter::repeat(ThreadAccount::default()));
    for ((place, thread), account) in info.threads.iter().enumerate().zip(accounts) {
        let Some(threads) = threads_of.get_mut(thread.process.index()) else { continue };
        let sources = (!info.further.is_empty())
            .then(|| object! { sources: sources_of(profile, ThreadId::from_index(place)) });
        threads.push(object! {
            tid: thread.tid,
            name: text(&thread.name),
            // Threads that ran before it, one after the other, and are counted with it.
            earlier: info.earlier_threads(ThreadId::from_index(place)),
            samples: thread.recorded,
            delivered: thread.delivered,
            partial: thread.partial,
            returns: thread.returns,
            lost_returns: thread.lost_returns,
            cpu_s: seconds(thread.cpu_ns),
            // CPU time before sampling began.
            cpu_before_s: seconds(account.cpu_before_ns),
            // Samples that came 50 ms or more after they were due.
            late: account.late,
            losses: losses_of(&thread.losses),
            // What of the samples each source has; absent where there is one source.
            #[serde(flatten)]
            sources: sources,
        });
    }
    for (id, epoch) in (0..).map(EpochId::from_index).zip(&info.epochs) {
        let Some(epochs) = epochs_of.get_mut(epoch.process.index()) else { continue };
        let mapping = |mapping: &Mapping| {
            object! {
                path: profile.module_path(mapping.module).to_owned(),
                // As text: JSON numbers above 2^53 lose digits in many readers.
                start: format!("{:#x}", mapping.start),
                end: format!("{:#x}", mapping.end),
            }
        };
        epochs.push(object! {
            id: epoch.number,
            reason: epoch_reason(epoch.reason),
            phase: info.phase_of(id),
            start_s: seconds(epoch.start_ns),
            modules: epoch.load_map.iter().map(mapping).collect::<Vec<_>>(),
        });
    }
    let process = |(place, (process, (threads, epochs))): (usize, (&Process, _))| {
        let account = info.accounts.get(place);
        let number = |part: fn(&Account) -> u64| account.map_or(0, part);
        let (exit, signal) = exit_numbers(process.exit);
        object! {
            pid: process.pid,
            parent_pid: process.parent_pid,
            rank: process.rank,
            command: texts(&process.command),
            origin: match process.origin {
                Origin::Exec => "exec",
                Origin::Fork => "fork",
            },
            exit: exit,
            signal: signal,
            start_s: seconds(process.start_ns),
            end_s: (process.end_ns > 0).then(|| seconds(process.end_ns)),
            threads: threads,
            epochs: epochs,
            messages: process.messages.clone(),
            cpu_s: account.map(|account| account.cpu_ns).filter(|ns| *ns > 0).map(seconds),
            unsampled_threads: number(|account| account.unsampled_threads),
            foreign_signals: number(|account| account.foreign_signals),
            collector_memory: account.and_then(|one| memory(std::slice::from_ref(one))),
        }
    };
    let lists = threads_of.into_iter().zip(epochs_of);
    info.processes.iter().zip(lists).enumerate().map(process).collect()
}

fn sources_of(profile: &Profile, thread: ThreadId) -> Vec<impl Serialize> {
    let of = |(metric, about): (MetricRef, &Metric)| {
        let share = profile.info.share(thread, metric.index());
        let ThreadShare { delivered, recorded, partial, .. } = share;
        let name = about.source.clone();
        object! { name: name, samples: recorded, delivered: delivered, partial: partial }
    };
    profile.metrics().map(of).collect()
}

/// A source file that the profile keeps; `bytes` are those of its kept lines.
fn kept_source(profile: &Profile, file: &SourceFile) -> impl Serialize + use<> {
    let module = |module: &ModuleId| profile.module_path(*module).to_owned();
    object! {
        path: profile.string(file.path).to_owned(),
        modules: file.modules.iter().map(module).collect::<Vec<_>>(),
        // Tells it from other versions of the path.
        digest: format!("{:016x}", file.digest),
        doubt: match file.doubt {
            SourceDoubt::None => None,
            SourceDoubt::NewerThanModule => Some("newer-than-module"),
            SourceDoubt::ChangedAfterRun => Some("changed-after-run"),
        },
        is_of_run: file.is_of_run,
        lines: file.lines,
        kept_lines: file.kept(),
        bytes: file.text.len(),
    }
}

fn modules(profile: &Profile) -> Vec<impl Serialize> {
    let modules = profile.info.modules.iter().zip(nameless_of_each(profile));
    let module = |(module, samples): (&Module, u64)| {
        object! {
            path: profile.string(module.path).to_owned(),
            build_id: hex(&module.build_id),
            symbols: match module.symbols {
                SymbolSource::NotAsked => "not-asked",
                SymbolSource::Dwarf(_) => "dwarf",
                SymbolSource::SymbolTable(_) => "symbol-table",
                SymbolSource::Exports(_) => "exports",
                SymbolSource::Stripped(_) => "stripped",
                SymbolSource::Unreadable(_) => "unreadable",
                SymbolSource::BuildIdDiffers(_) => "build-id-differs",
            },
            explanation: symbols_of(profile, module),
            samples_without_name: samples,
        }
    };
    modules.map(module).collect()
}

/// The reasons that happened.
fn losses_of(counters: &[u64]) -> Map<String, Value> {
    let happened = counters.iter().enumerate().filter(|(_, samples)| **samples > 0);
    let named = happened.map(|(number, samples)| {
        let known = LossReason::from_index(number).map(|reason| reason.key().to_owned());
        (known.unwrap_or_else(|| format!("reason-{number}")), json!(samples))
    });
    named.collect()
}

fn by_key(reasons: &[Reason]) -> Map<String, Value> {
    reasons.iter().map(|reason| (reason.key.clone(), json!(reason.samples))).collect()
}

fn sum(info: &saved::Profile) -> impl Serialize {
    object! {
        ranks: info.summed_ranks().len(),
        processes: info.summed_processes().count(),
        runs: info.summed.len(),
        // The ranks that are kept apart.
        kept: info.processes.iter().filter_map(|process| process.rank).collect::<BTreeSet<_>>(),
    }
}

fn merged_run(run: &MergedRun) -> impl Serialize {
    let info = &run.info;
    object! {
        command: texts(&info.command),
        host: info.host.clone(),
        start_unix_ns: info.start_unix_ns,
        exit: exit_numbers(info.exit).0,
        duration_s: seconds(info.duration_ns),
        cpu_s: seconds(info.cpu_ns),
        // How many processes are its: those after the ones of the runs before.
        processes: run.processes,
    }
}

/// Status (128 + signal where a signal ended it) and signal.
fn exit_numbers(exit: Exit) -> (Option<u16>, Option<u8>) {
    match exit {
        Exit::Unknown => (None, None),
        Exit::Status(status) => (Some(status.into()), None),
        Exit::Signal(signal) => (Some(128 + u16::from(signal)), Some(signal)),
    }
}

fn texts(words: &[Vec<u8>]) -> Vec<String> {
    words.iter().map(|word| text(word)).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
