//! What came of it all.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use csprof_tests::recording::{FEW_PARTIAL, Recording};
use serde_json::Value;

#[derive(Default)]
struct Row {
    native: bool,
    runs: u64,
    delivered: u64,
    partial: u64,
    lost: u64,
    failures: Vec<PathBuf>,
}

/// Sums by program and by reason.
#[derive(Default)]
pub(crate) struct Tally {
    rows: BTreeMap<String, Row>,
    losses: BTreeMap<String, u64>,
    partial: BTreeMap<String, u64>,
    skipped: BTreeMap<String, String>,
}

impl Tally {
    pub(crate) fn ran(&mut self, name: &str, native: bool, recording: &Recording) {
        let samples = recording.samples();
        let row = self.rows.entry(name.to_owned()).or_default();
        row.native = native;
        row.runs += 1;
        row.delivered += samples.delivered;
        row.partial += samples.partial;
        row.lost += samples.delivered - samples.recorded;
        add(&mut self.losses, &recording.info["losses"]);
        add(&mut self.partial, &recording.info["partial_reasons"]);
    }

    pub(crate) fn failed(&mut self, name: &str, kept: PathBuf) {
        let row = self.rows.entry(name.to_owned()).or_default();
        row.runs += 1;
        row.failures.push(kept);
    }

    pub(crate) fn skipped(&mut self, name: &str, reason: &str) {
        self.skipped.insert(name.to_owned(), reason.to_owned());
    }

    pub(crate) fn failures(&self) -> usize {
        self.rows.values().map(|row| row.failures.len()).sum()
    }

    /// Prints the table, and whether all went well.
    pub(crate) fn close(&self) -> ExitCode {
        println!(
            "{:28} {:>6} {:>10} {:>8} {:>7} {:>9} {:>6}",
            "program", "runs", "samples", "partial", "%", "lost", "failed"
        );
        let mut all = Row::default();
        let mut too_partial = Vec::new();
        for (name, row) in &self.rows {
            row.print(name);
            all.runs += row.runs;
            all.delivered += row.delivered;
            all.partial += row.partial;
            all.lost += row.lost;
            all.failures.extend(row.failures.iter().cloned());
            if row.native && row.partial > (row.delivered / 1000).max(FEW_PARTIAL) {
                too_partial.push(name);
            }
        }
        all.print("all");
        for (title, reasons) in [("lost", &self.losses), ("partial", &self.partial)] {
            for (reason, samples) in reasons.iter().filter(|(_, samples)| **samples > 0) {
                println!("{title}: {samples} {reason}");
            }
        }
        for (name, reason) in &self.skipped {
            println!("skipped: {name}: {reason}");
        }
        for kept in &all.failures {
            println!("failed: {}", kept.display());
        }
        for name in &too_partial {
            println!("failed: more than 0.1 % of the samples of {name} are partial");
        }
        let unreadable = self.losses.get("unreadable").is_some_and(|samples| *samples > 0);
        if unreadable {
            println!("failed: samples were in damaged arenas");
        }
        let ran = all.runs > 0;
        if ran && all.failures.is_empty() && too_partial.is_empty() && !unreadable {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

impl Row {
    fn print(&self, name: &str) {
        let Self { runs, delivered, partial, lost, failures, .. } = self;
        let percent = *partial as f64 * 100.0 / (*delivered).max(1) as f64;
        let failed = failures.len();
        println!("{name:28} {runs:6} {delivered:10} {partial:8} {percent:7.3} {lost:9} {failed:6}");
    }
}

fn add(sums: &mut BTreeMap<String, u64>, reasons: &Value) {
    for (reason, samples) in reasons.as_object().unwrap() {
        *sums.entry(reason.clone()).or_default() += samples.as_u64().unwrap();
    }
}
