//! A run that was recorded. Whatever the program was, its profile obeys the same laws, so every
//! recording is held against them before its test looks at anything else:
//!
//! - delivered = recorded + Σ losses, in each thread, in the whole, and in `csprof info`;
//! - the samples in the nodes of a thread's trees are what it recorded;
//! - a node has at most as many edges as inclusive samples: each counts one activation that
//!   returned, and each activation counted was in a sample of its own.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;

use csprof_format::ids::ThreadId;
use csprof_format::loss::PartialReason;
use csprof_format::profile::{Nodes, Profile};
use csprof_format::read;
use serde_json::Value;

use crate::binary::csprof;
use crate::deadline::{self, Outcome};
use crate::notes::note;
use crate::paths::Rows;

/// Partial samples that a native program may have whatever its number of samples: of a program
/// that runs for an instant they are no share.
pub const FEW_PARTIAL: u64 = 5;

/// Partial samples that a program may have because of code in it that differs by machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Why they are partial.
    pub reason: PartialReason,
    /// So many in a thousand samples.
    pub per_thousand: u64,
}

/// A recorded run.
#[derive(Debug)]
pub struct Recording {
    /// What `csprof record` left, the program's words included.
    pub outcome: Outcome,
    /// What is in the file.
    pub profile: Profile,
    /// `csprof info --format json`.
    pub info: Value,
    path: PathBuf,
    /// Names that are yet to be found, by whoever first asks for them.
    unnamed: Cell<bool>,
}

/// So many nodes a recording may have whose rows are all added up. Those of a recursion
/// 100 000 deep take seconds to write and to read, and add up as others do.
const MOST_NODES_ADDED_UP: usize = 20_000;

/// Where samples are, by `csprof info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    /// What arrived.
    pub delivered: u64,
    /// What is in the trees.
    pub recorded: u64,
    /// Of those, what has no way to the root of its stack.
    pub partial: u64,
}

impl Recording {
    /// Opens the profile that `csprof record` was to leave at `path` and checks its laws.
    ///
    /// # Panics
    ///
    /// If there is none, or it breaks one of them.
    #[must_use]
    pub fn new(outcome: Outcome, path: PathBuf) -> Self {
        assert!(path.exists(), "no profile, {}: {}", outcome.status, outcome.complained());
        let profile = read::open(&path).unwrap_or_else(|error| panic!("{error}"));
        check_threads(&profile);
        check_edges(&profile.nodes);
        let info = serde_json::from_str(&output(&path, &["info", "--format", "json"])).unwrap();
        let recording = Self { outcome, profile, info, path, unnamed: Cell::new(false) };
        recording.check_info();
        recording
    }

    /// The same, of a run that was recorded with `--symbols=later`. Its names are found when
    /// something of it is printed; [`profile`](Self::profile) stays without.
    #[must_use]
    pub(crate) fn without_names(self) -> Self {
        self.unnamed.set(true);
        self
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Samples by `csprof info`.
    #[must_use]
    pub fn samples(&self) -> Samples {
        let number = |key: &str| self.info["samples"][key].as_u64().unwrap();
        Samples {
            delivered: number("delivered"),
            recorded: number("recorded"),
            partial: number("partial"),
        }
    }

    /// Samples, of the first source, for CPU time after the last one of each thread, and of
    /// processes that csprof is not in.
    #[must_use]
    pub fn missed(&self) -> u64 {
        let seconds = |key: &str| self.info["cpu_time"][key].as_f64().unwrap_or(0.0);
        let missed_ns = (seconds("undelivered_s") + seconds("elsewhere_s")) * 1e9;
        missed_ns as u64 / self.profile.metric.period
    }

    /// Frames of cached activations that were seen to be gone without having returned.
    #[must_use]
    pub fn lost_returns(&self) -> u64 {
        self.profile.threads.iter().map(|thread| thread.lost_returns).sum()
    }

    /// Whether samples come at the rate that was asked for, and not when the kernel's clock ticks:
    /// by `task-clock`, where perf events are permitted.
    #[must_use]
    pub fn is_fast(&self) -> bool {
        self.info["sources"][0]["name"] == "task-clock"
    }

    /// Samples that one signal brings: on average of the thread and the source whose signals bring
    /// most, which is more than one where they come late. All samples of a signal have one path.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let threads = (0..self.profile.threads.len()).map(ThreadId::from_index);
        let of_thread = |thread| {
            let sources = 0..=self.profile.further.len();
            sources.map(move |source| self.profile.share(thread, source))
        };
        // Calls that are counted send none.
        let signalled = threads.flat_map(of_thread).filter(|share| share.signals > 0);
        signalled.map(|share| share.delivered.div_ceil(share.signals)).max().unwrap_or(1).max(1)
    }

    /// The top-down tree.
    #[must_use]
    pub fn rows(&self) -> Rows {
        Rows::new(&self.output(&["report", "--format", "json"]))
    }

    /// The top-down tree after a refinement.
    #[must_use]
    pub fn refined(&self, refinement: &str) -> Rows {
        Rows::new(&self.output(&["report", "--format", "json", "--refine", refinement]))
    }

    /// Runs csprof on the file and takes what it prints.
    #[must_use]
    pub fn output(&self, arguments: &[&str]) -> String {
        if self.unnamed.take() {
            let _ = output(&self.path, &["symbolize"]);
        }
        output(&self.path, arguments)
    }

    /// Messages that the collector left about the run's processes, one in each line.
    #[must_use]
    pub fn messages(&self) -> String {
        let messages = self.profile.processes.iter().flat_map(|process| &process.messages);
        messages.map(|message| format!("{message}\n")).collect()
    }

    /// Partial samples of the whole run, why they are, one reason in each line; empty if none.
    #[must_use]
    pub fn partial_reasons(&self) -> String {
        let reasons = self.info["partial_reasons"].as_object().unwrap();
        PartialReason::ALL
            .iter()
            .filter_map(|reason| {
                let samples = reasons.get(reason.key())?.as_u64()?;
                (samples > 0).then(|| format!("{}: {samples}\n", reason.key()))
            })
            .collect()
    }

    /// Partial samples that are `allowed`.
    pub fn allowed(&self, allowed: &[Allowed]) -> u64 {
        let recorded = self.samples().recorded;
        let found = |reason: PartialReason| self.info["partial_reasons"][reason.key()].as_u64();
        let each = allowed.iter().map(|Allowed { reason, per_thousand }| {
            found(*reason).unwrap_or(0).min(recorded * per_thousand / 1000)
        });
        each.sum()
    }

    /// Asserts that at most one sample in a thousand is partial, or [`FEW_PARTIAL`], or as many as
    /// one signal [brings](Self::weight).
    pub fn check_partial(&self, what: &str) {
        self.check_partial_but(what, &[]);
    }

    /// The same, but for samples that are `allowed` to be partial.
    pub fn check_partial_but(&self, what: &str, allowed: &[Allowed]) {
        let Samples { recorded, partial, .. } = self.samples();
        let reasons = self.partial_reasons();
        let limit = (recorded / 1000).max(FEW_PARTIAL).max(self.weight()) + self.allowed(allowed);
        assert!(partial <= limit, "{what}: {partial} of {recorded} samples partial: {reasons}");
    }

    fn check_info(&self) {
        let Samples { delivered, recorded, partial } = self.samples();
        let losses = self.info["losses"].as_object().unwrap();
        let lost: u64 = losses.values().map(|samples| samples.as_u64().unwrap()).sum();
        assert_eq!(delivered, recorded + lost, "delivered = recorded + losses: {}", self.info);
        let reasons = self.info["partial_reasons"].as_object().unwrap();
        let explained: u64 = reasons.values().map(|samples| samples.as_u64().unwrap()).sum();
        assert_eq!(partial, explained, "every partial sample has its reason: {}", self.info);
        let threads = self.info["processes"].as_array().unwrap().iter();
        let threads = threads.flat_map(|process| process["threads"].as_array().unwrap());
        let of_threads: u64 = threads.map(|thread| thread["samples"].as_u64().unwrap()).sum();
        assert_eq!(recorded, of_threads, "threads add up: {}", self.info);
        // Rows are of the first metric.
        let threads = (0..self.profile.threads.len()).map(ThreadId::from_index);
        let first = threads.map(|thread| u128::from(self.profile.share(thread, 0).recorded)).sum();
        let shown = if self.profile.nodes.len() > MOST_NODES_ADDED_UP {
            let totals = self.output(&["report", "--format", "json", "--threshold", "100"]);
            let totals: Value = serde_json::from_str(&totals).unwrap();
            ["base", "shown", "out"].map(|key| u128::from(totals[key].as_u64().unwrap()))
        } else {
            let rows = self.rows();
            [rows.base, rows.shown, rows.out]
        };
        assert_eq!(shown, [first, first, 0]);
    }
}

/// Whether it holds in one of three tries: for what a busy machine spoils now and then, and a fault
/// of csprof's each time. A try that fails is shown, for a fault may be one of now and then.
pub fn in_one_of_three(what: &str, mut holds: impl FnMut() -> bool) -> bool {
    (1..=3).any(|number| {
        let is_right = holds();
        if !is_right {
            note(&format!("{what}: try {number} of 3 failed"));
        }
        is_right
    })
}

fn check_threads(profile: &Profile) {
    let mut in_trees = vec![0; profile.threads.len()];
    for tree in &profile.trees {
        let nodes = tree.first_node as usize..(tree.first_node + tree.node_count) as usize;
        in_trees[ThreadId::index(tree.thread)] += profile.nodes.samples[nodes].iter().sum::<u64>();
    }
    for (thread, in_trees) in profile.threads.iter().zip(in_trees) {
        let lost: u64 = thread.losses.iter().sum();
        assert_eq!(thread.delivered, thread.recorded + lost, "{thread:?}");
        assert_eq!(thread.recorded, in_trees, "{thread:?}");
    }
}

fn check_edges(nodes: &Nodes) {
    let mut inclusive = nodes.samples.clone();
    // Parents come before their children.
    for node in (0..nodes.len()).rev() {
        let parent = nodes.parent[node] as usize;
        if parent != node {
            inclusive[parent] += inclusive[node];
        }
    }
    for (node, inclusive) in inclusive.into_iter().enumerate() {
        let edges = nodes.edges[node];
        assert!(edges <= inclusive, "node {node}: {edges} edges, {inclusive} inclusive samples");
    }
}

/// What csprof prints about a profile.
fn output(path: &Path, arguments: &[&str]) -> String {
    let (subcommand, options) = arguments.split_first().unwrap();
    let mut command = Command::new(csprof());
    let outcome = deadline::run(command.arg(subcommand).arg(path).args(options));
    assert!(outcome.status.success(), "{command:?}: {}", outcome.complained());
    outcome.said()
}
