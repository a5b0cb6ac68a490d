//! A made-up program that calls, returns and is sampled.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;

use crate::profile::{FrameKind, Profile, from_outline};

/// One step of a thread: some returns, some calls, some samples of one metric.
#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    returns: usize,
    calls: Vec<(usize, bool)>,
    samples: u64,
    metric: usize,
}

/// A run of the program.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    /// Samples of each thread, in order.
    samples: Vec<Sample>,
    /// Activations that returned.
    returned: BTreeSet<usize>,
    /// How many metrics were measured.
    metrics: usize,
}

/// A frame of a sampled stack: one activation of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Activation {
    pub(super) name: Arc<str>,
    pub(super) kind: FrameKind,
    /// Which activation's return is counted here; every call makes a new one. What is no call has
    /// none.
    pub(super) counted: Option<usize>,
}

/// Some samples with one stack.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) thread: usize,
    /// Outermost first.
    pub(super) path: Vec<Activation>,
    pub(super) weight: u64,
    /// Whose they are.
    pub(super) metric: usize,
    /// Whether `callers of` turned the path around: edges are then those of the match.
    pub(super) inverted: bool,
}

/// Functions that are called; few, so that recursion is frequent.
pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The load modules of these functions.
pub(super) const MODULES: [&str; 4] = ["m", "m", "n", "n"];

/// What an execution may be sampled by; the first one always is.
pub(super) const SOURCES: [&str; METRICS] = ["cputime", "realtime", "task-clock"];

/// Metrics at most.
pub(super) const METRICS: usize = 3;

/// Random executions, of one to three metrics.
pub(super) fn executions() -> impl Strategy<Value = Execution> {
    (1..=METRICS).prop_flat_map(executions_of)
}

/// Random executions of so many metrics.
pub(super) fn executions_of(metrics: usize) -> impl Strategy<Value = Execution> {
    let step = (
        0..Execution::THREADS,
        0_usize..4,
        prop::collection::vec((0..NAMES.len(), prop::bool::weighted(0.25)), 0..4),
        0_u64..4,
        0..metrics,
    );
    let step = step.prop_map(|(thread, returns, calls, samples, metric)| Step {
        thread,
        returns,
        calls,
        samples,
        metric,
    });
    prop::collection::vec(step, 1..40).prop_map(move |steps| Execution::run(&steps, metrics))
}

impl Execution {
    pub(super) const THREADS: usize = 3;

    fn run(steps: &[Step], metrics: usize) -> Self {
        let mut next = 0;
        let mut activation = |name: &str, kind| {
            next += 1;
            Activation {
                name: name.into(),
                kind,
                counted: (kind == FrameKind::Call).then_some(next),
            }
        };
        // Thread 0 has start-up code, thread 2 a stack whose outer part is unknown.
        let mut stacks = [
            vec![activation("_start", FrameKind::Call)],
            Vec::new(),
            vec![activation("[partial: no-cfi]", FrameKind::Partial)],
        ];
        let mut samples = Vec::new();
        let mut returned = BTreeSet::new();
        for step in steps {
            let stack = &mut stacks[step.thread];
            let bottom = usize::from(step.thread != 1);
            for _ in 0..step.returns {
                if stack.len() > bottom {
                    returned.extend(stack.pop().and_then(|activation| activation.counted));
                }
            }
            for &(name, inline) in &step.calls {
                let inline = inline && stack.len() > bottom;
                let kind = if inline { FrameKind::Inline } else { FrameKind::Call };
                stack.push(activation(NAMES[name], kind));
            }
            if step.samples > 0 && !stack.is_empty() {
                samples.push(Sample {
                    thread: step.thread,
                    path: stack.clone(),
                    weight: step.samples,
                    metric: step.metric,
                    inverted: false,
                });
            }
        }
        samples.sort_by_key(|sample| sample.thread);
        Self { samples, returned, metrics }
    }

    /// How many metrics its profile has: without samples nothing says that there are further ones.
    pub(super) fn metrics(&self) -> usize {
        if self.samples.is_empty() { 1 } else { self.metrics }
    }

    pub(super) fn samples(&self) -> Vec<Sample> {
        self.samples.clone()
    }

    /// Whether an activation ended by a return.
    pub(super) fn has_returned(&self, activation: usize) -> bool {
        self.returned.contains(&activation)
    }

    /// The profile of the run: a tree for each thread, with counts of samples and of sampled
    /// activations that returned.
    pub(super) fn profile(&self) -> Profile {
        let mut text = String::new();
        for thread in 0..Self::THREADS {
            let _ = writeln!(text, "# thread={thread} epoch=0 name=t{thread}");
            // By path; children sort directly behind their parent.
            let mut nodes: BTreeMap<_, ([u64; METRICS], BTreeSet<usize>)> = BTreeMap::new();
            for sample in self.samples.iter().filter(|sample| sample.thread == thread) {
                let path: Vec<_> =
                    sample.path.iter().map(|frame| (&*frame.name, frame.kind)).collect();
                for (depth, frame) in sample.path.iter().enumerate() {
                    let (samples, activations) = nodes.entry(path[..=depth].to_vec()).or_default();
                    samples[sample.metric] +=
                        if depth + 1 == path.len() { sample.weight } else { 0 };
                    activations.extend(frame.counted.filter(|&id| self.has_returned(id)));
                }
            }
            for (path, (samples, activations)) in &nodes {
                let (name, kind) = path[path.len() - 1];
                let kind = match kind {
                    FrameKind::Inline => "inline",
                    FrameKind::Partial => "partial",
                    _ => "",
                };
                let module = NAMES.iter().position(|known| *known == name);
                let module =
                    module.map_or_else(String::new, |at| format!("module:{}", MODULES[at]));
                let further = 1..self.metrics;
                let further = further.map(|at| format!("{}:{}", SOURCES[at], samples[at]));
                let _ = writeln!(
                    text,
                    "{:width$}\"{name}\" {} {} e={} {kind} {module}",
                    "",
                    samples.iter().sum::<u64>(),
                    further.collect::<Vec<_>>().join(" "),
                    activations.len(),
                    width = 2 * (path.len() - 1)
                );
            }
        }
        from_outline(&text).unwrap()
    }
}
