//! Information for scripts, as JSON.

use std::io::{self, Write};

use csprof_format::profile::{Exit, Module, Origin, SymbolSource};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{epoch_reason, hex, text};
use crate::profile::Profile;
use crate::views::names::nameless;
use crate::views::number::Form;
use crate::views::summary::{Reason, Summary, symbols_of, why_no_samples};

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
    partial_reasons: Map<String, Value>,
    edges: JsonEdges,
    warnings: Vec<String>,
    /// Why there are no samples, where there are none.
    no_samples_because: Option<String>,
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
    total: u64,
    lost_returns: u64,
    mode: &'static str,
}

/// Writes the information as JSON.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
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
        sources: vec![Source {
            name: info.metric.source.clone(),
            unit: info.metric.unit.clone(),
            period: info.metric.period,
            asked: summary.asked_per_s,
            delivered_per_cpu_s: summary.delivered_per_cpu_s,
        }],
        processes: processes(profile),
        modules: modules(profile),
        samples: Samples {
            delivered: summary.delivered,
            recorded: summary.recorded,
            partial: summary.partial,
        },
        losses: by_key(&summary.losses),
        partial_reasons: by_key(&summary.partial_reasons),
        edges: JsonEdges {
            total: summary.edges,
            lost_returns: summary.lost_returns,
            mode: if run.trampoline { "every-return" } else { "off" },
        },
        warnings: run.warnings.clone(),
        no_samples_because: why_no_samples(profile, Form::Unicode),
    };
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

fn processes(profile: &Profile) -> Vec<JsonProcess> {
    let info = &profile.info;
    let mut list: Vec<JsonProcess> = info
        .processes
        .iter()
        .map(|process| {
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
            }
        })
        .collect();
    for thread in &info.threads {
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

fn by_key(reasons: &[Reason]) -> Map<String, Value> {
    reasons.iter().map(|reason| (reason.key.clone(), json!(reason.samples))).collect()
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
