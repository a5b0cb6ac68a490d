//! What is said of several runs as of one.

use std::collections::HashSet;

use csprof_format::profile::{self as saved, Exit, MergedRun, RunInfo};

/// The runs that a profile holds, by their ids.
pub(in crate::profile) fn runs_of(part: &saved::Profile) -> Vec<u128> {
    match &part.runs[..] {
        [] => vec![part.run.id()],
        runs => runs.iter().map(|run| run.info.id()).collect(),
    }
}

/// What is to be said of several runs as of one.
pub(in crate::profile) fn together(runs: &[MergedRun]) -> RunInfo {
    let infos = || runs.iter().map(|run| &run.info);
    let Some(first) = infos().next() else { return RunInfo::default() };
    let command = if infos().all(|info| info.command == first.command) {
        first.command.clone()
    } else {
        let mut known = HashSet::new();
        let commands = infos().map(|info| &info.command[..]);
        let commands: Vec<&[Vec<u8>]> = commands.filter(|&command| known.insert(command)).collect();
        commands.join(&b";".to_vec())
    };
    let joined = |field: fn(&RunInfo) -> &str| {
        let mut texts: Vec<&str> = infos().map(field).filter(|text| !text.is_empty()).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.join(", ")
    };
    let cpu_known = infos().all(|info| info.cpu_ns > 0);
    RunInfo {
        command,
        directory: if infos().all(|info| info.directory == first.directory) {
            first.directory.clone()
        } else {
            Vec::new()
        },
        host: joined(|info| &info.host),
        cpu: joined(|info| &info.cpu),
        kernel: joined(|info| &info.kernel),
        start_unix_ns: infos().map(|info| info.start_unix_ns).min().unwrap_or(0),
        duration_ns: elapsed(infos()),
        cpu_ns: match cpu_known {
            true => infos().fold(0, |sum: u64, info| sum.saturating_add(info.cpu_ns)),
            false => 0,
        },
        exit: match infos().all(|info| info.exit == first.exit) {
            true => first.exit,
            false => Exit::Unknown,
        },
        csprof_version: joined(|info| &info.csprof_version),
        trampoline: infos().any(|info| info.trampoline),
        warnings: infos().flat_map(|info| info.warnings.iter().cloned()).collect(),
    }
}

/// The time in which at least one of the runs ran: ranks side by side count once, repetitions
/// add up, and the time between them does not count.
fn elapsed<'r>(runs: impl Iterator<Item = &'r RunInfo>) -> u64 {
    let span =
        |info: &RunInfo| (info.start_unix_ns, info.start_unix_ns.saturating_add(info.duration_ns));
    let mut spans: Vec<(u64, u64)> = runs.map(span).collect();
    spans.sort_unstable();
    let (mut sum, mut covered) = (0_u64, 0);
    for (start, end) in spans {
        let from = start.max(covered);
        sum = sum.saturating_add(end.saturating_sub(from));
        covered = covered.max(end);
    }
    sum
}
