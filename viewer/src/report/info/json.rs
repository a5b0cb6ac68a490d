//! Information for scripts, as JSON.

use std::io::{self, Write};

use csprof_format::ids::ThreadId;
use csprof_format::loss::LossReason;
use csprof_format::profile::{
    Account, Exit, MergedRun, Metric, Module, Origin, SymbolSource, ThreadAccount, ThreadShare,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{SetPlace, epoch_reason, hex, text};
use crate::profile::{MetricRef, Profile};
use crate::views::costs::{CpuTime, ElapsedTime, Memory, threads};
use crate::views::names::nameless;
use crate::views::number::Form;
use crate::views::summary::{self, Reason, Summary, symbols_of, why_no_samples};

#[derive(Serialize)]
struct Info {
    command: Vec<String>,
    directory: String,
    host: String,
    cpu: String,
    kernel: String,
    csprof_version: String,
    start_unix_ns: u64,
    /// Status of the program, or 128 + signal, as `csprof record` gave it; `null` if unknown.
    exit: Option<u16>,
    /// The signal that ended the program, if one did.
    signal: Option<u8>,
    duration_s: f64,
    cpu_s: f64,
    sources: Vec<Source>,
    processes: Vec<JsonProcess>,
    modules: Vec<JsonModule>,
    samples: Samples,
    losses: Map<String, Value>,
    /// Where CPU time went, in seconds; `null` where samples are not of CPU time.
    cpu_time: Option<JsonCpuTime>,
    /// Where the elapsed time of threads went, in seconds; `null` where samples are not of it.
    elapsed_time: Option<JsonElapsedTime>,
    /// Memory of the collector over all processes, in bytes; `null` if unknown.
    collector_memory: Option<JsonMemory>,
    partial_reasons: Map<String, Value>,
    edges: JsonEdges,
    warnings: Vec<String>,
    /// The runs of a merged profile, in the order of their processes; absent for one run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<JsonRun>,
    /// Why there are no samples, where there are none.
    no_samples_because: Option<String>,
    /// The files of sets of frames, with the sets that count from each.
    sets: Vec<SetPlace>,
}

/// One run of a merged profile.
#[derive(Serialize)]
struct JsonRun {
    command: Vec<String>,
    host: String,
    start_unix_ns: u64,
    /// As that of all.
    exit: Option<u16>,
    duration_s: f64,
    cpu_s: f64,
    /// How many processes are its: those after the ones of the runs before.
    processes: u32,
}

#[derive(Serialize)]
struct Source {
    name: String,
    unit: String,
    /// Amount of the unit that one sample stands for.
    period: u64,
    /// Samples for each second and thread.
    asked: Option<f64>,
    delivered_per_cpu_s: Option<f64>,
    /// Of its samples: in all threads, and of a single source those that no thread could own.
    samples: Samples,
    /// Delivered and not recorded, for whatever reason.
    lost: u64,
}

#[derive(Serialize)]
struct JsonElapsedTime {
    passed_s: f64,
    sampled_s: f64,
    undelivered_s: f64,
}

#[derive(Serialize)]
struct JsonCpuTime {
    used_s: f64,
    sampled_s: f64,
    before_s: f64,
    undelivered_s: f64,
    threads_without_samples: u64,
    elsewhere_s: f64,
}

#[derive(Serialize)]
struct JsonMemory {
    total: u64,
    nodes: u64,
    node_bytes: u64,
    record_bytes: u64,
    table_bytes: u64,
    other_bytes: u64,
}

impl JsonMemory {
    fn of(accounts: &[Account]) -> Option<Self> {
        let memory = Memory::of(accounts)?;
        Some(Self {
            total: memory.total(),
            nodes: memory.nodes,
            node_bytes: memory.node_bytes,
            record_bytes: memory.record_bytes,
            table_bytes: memory.table_bytes,
            other_bytes: memory.other_bytes,
        })
    }
}

#[derive(Serialize)]
struct JsonProcess {
    pid: u32,
    parent_pid: u32,
    rank: Option<u32>,
    command: Vec<String>,
    origin: &'static str,
    exit: Option<u16>,
    signal: Option<u8>,
    start_s: f64,
    end_s: Option<f64>,
    threads: Vec<JsonThread>,
    epochs: Vec<JsonEpoch>,
    messages: Vec<String>,
    cpu_s: Option<f64>,
    unsampled_threads: u64,
    foreign_signals: u64,
    collector_memory: Option<JsonMemory>,
}

#[derive(Serialize)]
struct JsonThread {
    tid: u32,
    name: String,
    samples: u64,
    delivered: u64,
    partial: u64,
    returns: u64,
    lost_returns: u64,
    cpu_s: f64,
    /// CPU time before sampling began.
    cpu_before_s: f64,
    /// Samples that came 50 ms or more after they were due.
    late: u64,
    losses: Map<String, Value>,
    /// What of the samples each source has; absent where there is one source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<SourceOfThread>,
}

#[derive(Serialize)]
struct SourceOfThread {
    name: String,
    samples: u64,
    delivered: u64,
    partial: u64,
}

#[derive(Serialize)]
struct JsonEpoch {
    id: u32,
    reason: &'static str,
    start_s: f64,
    modules: Vec<JsonMapping>,
}

#[derive(Serialize)]
struct JsonMapping {
    path: String,
    start: String,
    end: String,
}

#[derive(Serialize)]
struct JsonModule {
    path: String,
    build_id: String,
    symbols: &'static str,
    explanation: String,
    samples_without_name: u64,
}

#[derive(Serialize)]
struct Samples {
    delivered: u64,
    recorded: u64,
    partial: u64,
}

#[derive(Serialize)]
struct JsonEdges {
    total: Option<u64>,
    lost_returns: Option<u64>,
    mode: &'static str,
}

/// Writes the information as JSON.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, sets: &[SetPlace], out: &mut impl Write) -> io::Result<()> {
    let info = &profile.info;
    let run = &info.run;
    let summary = Summary::of(profile);
    let (exit, signal) = exit_numbers(run.exit);
    let value = Info {
        command: texts(&run.command),
        directory: text(&run.directory),
        host: run.host.clone(),
        cpu: run.cpu.clone(),
        kernel: run.kernel.clone(),
        csprof_version: run.csprof_version.clone(),
        start_unix_ns: run.start_unix_ns,
        exit,
        signal,
        duration_s: seconds(run.duration_ns),
        cpu_s: seconds(run.cpu_ns),
        sources: summary.sources.iter().map(source).collect(),
        processes: processes(profile),
        modules: modules(profile),
        samples: Samples {
            delivered: summary.delivered,
            recorded: summary.recorded,
            partial: summary.partial,
        },
        losses: by_key(&summary.losses),
        elapsed_time: ElapsedTime::of(profile).map(|time| JsonElapsedTime {
            passed_s: seconds(time.passed),
            sampled_s: seconds(time.sampled),
            undelivered_s: seconds(time.undelivered),
        }),
        cpu_time: CpuTime::of(profile).map(|cpu| JsonCpuTime {
            used_s: seconds(cpu.used),
            sampled_s: seconds(cpu.sampled),
            before_s: seconds(cpu.before),
            undelivered_s: seconds(cpu.undelivered),
            threads_without_samples: cpu.threads_without,
            elsewhere_s: seconds(cpu.elsewhere),
        }),
        collector_memory: JsonMemory::of(&info.accounts),
        partial_reasons: by_key(&summary.partial_reasons),
        edges: JsonEdges {
            total: run.trampoline.then_some(summary.edges),
            lost_returns: run.trampoline.then_some(summary.lost_returns),
            mode: if run.trampoline { "every-return" } else { "off" },
        },
        warnings: run.warnings.clone(),
        runs: info.runs.iter().map(merged_run).collect(),
        no_samples_because: why_no_samples(profile, Form::Unicode),
        sets: sets.to_vec(),
    };
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

fn source(source: &summary::Source) -> Source {
    let ThreadShare { delivered, recorded, partial, .. } = source.samples;
    Source {
        name: source.metric.source.clone(),
        unit: source.metric.unit.clone(),
        period: source.metric.period,
        asked: source.asked_per_s,
        delivered_per_cpu_s: source.delivered_per_cpu_s,
        samples: Samples { delivered, recorded, partial },
        lost: source.lost(),
    }
}

fn processes(profile: &Profile) -> Vec<JsonProcess> {
    let info = &profile.info;
    let mut list: Vec<JsonProcess> = info
        .processes
        .iter()
        .enumerate()
        .map(|(place, process)| {
            let account = info.accounts.get(place);
            let number = |part: fn(&Account) -> u64| account.map_or(0, part);
            let (exit, signal) = exit_numbers(process.exit);
            JsonProcess {
                pid: process.pid,
                parent_pid: process.parent_pid,
                rank: process.rank,
                command: texts(&process.command),
                origin: origin(process.origin),
                exit,
                signal,
                start_s: seconds(process.start_ns),
                end_s: (process.end_ns > 0).then(|| seconds(process.end_ns)),
                threads: Vec::new(),
                epochs: Vec::new(),
                messages: process.messages.clone(),
                cpu_s: account.map(|account| account.cpu_ns).filter(|ns| *ns > 0).map(seconds),
                unsampled_threads: number(|account| account.unsampled_threads),
                foreign_signals: number(|account| account.foreign_signals),
                collector_memory: account.and_then(|one| JsonMemory::of(std::slice::from_ref(one))),
            }
        })
        .collect();
    let accounts = threads(profile).map(|(_, account)| account);
    let accounts = accounts.chain(std::iter::repeat(ThreadAccount::default()));
    for ((place, thread), account) in info.threads.iter().enumerate().zip(accounts) {
        if let Some(process) = list.get_mut(thread.process.index()) {
            process.threads.push(JsonThread {
                tid: thread.tid,
                name: text(&thread.name),
                samples: thread.recorded,
                delivered: thread.delivered,
                partial: thread.partial,
                returns: thread.returns,
                lost_returns: thread.lost_returns,
                cpu_s: seconds(thread.cpu_ns),
                cpu_before_s: seconds(account.cpu_before_ns),
                late: account.late,
                losses: losses_of(&thread.losses),
                sources: sources_of(profile, ThreadId::from_index(place)),
            });
        }
    }
    for epoch in &info.epochs {
        if let Some(process) = list.get_mut(epoch.process.index()) {
            process.epochs.push(JsonEpoch {
                id: epoch.number,
                reason: epoch_reason(epoch.reason),
                start_s: seconds(epoch.start_ns),
                modules: epoch
                    .load_map
                    .iter()
                    .map(|mapping| JsonMapping {
                        path: profile.module_path(mapping.module).to_owned(),
                        // As text: JSON numbers above 2^53 lose digits in many readers.
                        start: format!("{:#x}", mapping.start),
                        end: format!("{:#x}", mapping.end),
                    })
                    .collect(),
            });
        }
    }
    list
}

fn sources_of(profile: &Profile, thread: ThreadId) -> Vec<SourceOfThread> {
    if profile.info.further.is_empty() {
        return Vec::new();
    }
    let of = |(metric, about): (MetricRef, &Metric)| {
        let share = profile.info.share(thread, metric.index());
        let ThreadShare { delivered, recorded: samples, partial, .. } = share;
        SourceOfThread { name: about.source.clone(), samples, delivered, partial }
    };
    profile.metrics().map(of).collect()
}

fn modules(profile: &Profile) -> Vec<JsonModule> {
    let all = profile.info.modules.iter();
    let mut modules: Vec<JsonModule> = all.map(|module| json_module(profile, module)).collect();
    for one in nameless(profile) {
        if let Some(module) = one.module.and_then(|id| modules.get_mut(id.index())) {
            module.samples_without_name = one.samples;
        }
    }
    modules
}

fn json_module(profile: &Profile, module: &Module) -> JsonModule {
    JsonModule {
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
        samples_without_name: 0,
    }
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

fn merged_run(run: &MergedRun) -> JsonRun {
    let info = &run.info;
    JsonRun {
        command: texts(&info.command),
        host: info.host.clone(),
        start_unix_ns: info.start_unix_ns,
        exit: exit_numbers(info.exit).0,
        duration_s: seconds(info.duration_ns),
        cpu_s: seconds(info.cpu_ns),
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

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Exec => "exec",
        Origin::Fork => "fork",
    }
}

fn texts(words: &[Vec<u8>]) -> Vec<String> {
    words.iter().map(|word| text(word)).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
