//! A made-up program that calls, returns and is sampled.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use csprof_format::profile::SampleTime;
use proptest::prelude::*;

use crate::profile::{FrameKind, Profile, Times, from_outline};

/// One step of a thread: some returns, some calls, some samples of one metric.
#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    /// The thread has another load map from now on.
    enters_epoch: bool,
    /// If it has nothing of the kind to do, it now works for this thread, until all it calls for
    /// that has returned.
    works_for: Option<usize>,
    returns: usize,
    /// The innermost activation jumps to this function, which returns in its place.
    tail_call: Option<usize>,
    /// The line that the innermost activation has come to.
    line: u32,
    calls: Vec<Call>,
    samples: u64,
    metric: usize,
    /// The walk finds so many frames, and no outer ones.
    truncated: Option<usize>,
}

/// A function, whether it is inlined, and the line that it has come to.
type Call = (usize, bool, u32);

/// A run of the program.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    /// Samples of each thread, in order.
    samples: Vec<Sample>,
    /// Activations whose return was counted.
    returned: BTreeSet<usize>,
    /// What was recorded of each thread in each epoch.
    trees: BTreeMap<(usize, usize), Tree>,
    /// How many metrics were measured.
    metrics: usize,
    /// When samples were added to a node, as far as that is known: thread, epoch, node; time in
    /// microseconds, metric, how many.
    times: Vec<(usize, usize, Vec<Key>, u64, usize, u64)>,
    /// Whether returns were counted at all: not without the trampoline.
    pub(crate) has_edges: bool,
}

/// Samples of each metric and edges of the nodes of a tree, by path; children sort directly behind
/// their parent.
type Tree = BTreeMap<Vec<Key>, ([u64; METRICS], u64)>;

/// What tells a node from its siblings: name, kind and line of its frame, and whether the
/// activation is innermost. One activation has many nodes, one after the other.
type Key = (Arc<str>, FrameKind, u32, bool);

/// A frame of a sampled stack: one activation of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Activation {
    pub(crate) name: Arc<str>,
    pub(crate) kind: FrameKind,
    /// Which activation's return is counted here; every call makes a new one. What is no call has
    /// none, and [`OF_ANOTHER`] what another thread has on its stack.
    pub(crate) counted: Option<usize>,
    /// The line that it has come to; 0 where a stage made the frame.
    pub(crate) line: u32,
}

/// In place of the activations of a thread for which another one works: above the handover are
/// copies of its frames, of which no return is counted there.
pub(crate) const OF_ANOTHER: usize = 0;

/// Some samples with one stack.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) thread: usize,
    pub(crate) epoch: usize,
    /// Outermost first.
    pub(crate) path: Vec<Activation>,
    pub(crate) weight: u64,
    /// Whose they are.
    pub(crate) metric: usize,
    /// When they were taken, in microseconds, if that is known.
    pub(crate) time_us: Option<u64>,
    /// Whether `callers of` turned the path around: edges are then those of the match.
    pub(crate) inverted: bool,
    /// Whether callers stand below callees.
    pub(crate) turned: bool,
}

/// Functions that are called; few, so that recursion is frequent. One more has no name: each of its
/// lines is a function by itself, as addresses without symbols are.
pub(crate) const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The load modules of these functions.
pub(crate) const MODULES: [&str; 4] = ["m", "m", "n", "n"];

/// What an execution may be sampled by; the first one always is.
pub(crate) const SOURCES: [&str; METRICS] = ["cputime", "realtime", "task-clock"];

/// Metrics at most.
pub(crate) const METRICS: usize = 3;

/// Random executions, of one to three metrics; some with code that has no name, some with stacks of
/// which the outer part is not known, some with threads that work for others, some recorded without
/// the trampoline.
pub(crate) fn executions() -> impl Strategy<Value = Execution> {
    let odd = prop::bool::weighted(0.3);
    let execution = (1..=METRICS, odd, any::<bool>(), handovers()).prop_flat_map(
        |(metrics, nameless, partial, handovers)| {
            executions_with(metrics, nameless, partial, handovers)
        },
    );
    (execution, prop::bool::weighted(0.9)).prop_map(|(execution, has_edges)| match has_edges {
        true => execution,
        false => execution.without_edges(),
    })
}

/// Random executions where all code has names and all paths are whole.
pub(crate) fn whole_executions() -> impl Strategy<Value = Execution> {
    (1..=METRICS, handovers())
        .prop_flat_map(|(metrics, handovers)| executions_with(metrics, false, false, handovers))
}

/// Random executions of so many metrics, where all code has names.
pub(crate) fn executions_of(metrics: usize) -> impl Strategy<Value = Execution> {
    handovers().prop_flat_map(move |handovers| executions_with(metrics, false, true, handovers))
}

/// Whether threads work for others.
fn handovers() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.4)
}

fn executions_with(
    metrics: usize,
    nameless: bool,
    partial: bool,
    handovers: bool,
) -> impl Strategy<Value = Execution> {
    let rarely = prop::bool::weighted(0.05);
    let line = 1_u32..4;
    let function = prop_oneof![12 => 0..NAMES.len(), u32::from(nameless) => Just(NAMES.len())];
    let call = (function, prop::bool::weighted(0.25), line.clone());
    let moves = (0_usize..4, prop::option::weighted(0.05, 0..NAMES.len()), line);
    let truncated = match partial {
        true => prop::option::weighted(0.08, 0_usize..4).boxed(),
        false => Just(None).boxed(),
    };
    let samples = (0_u64..4, 0..metrics, truncated);
    let calls = prop::collection::vec(call, 0..4);
    let works_for = match handovers {
        true => prop::option::weighted(0.2, 0..Execution::THREADS).boxed(),
        false => Just(None).boxed(),
    };
    let step = (0..Execution::THREADS, rarely, works_for, moves, calls, samples);
    let step = step.prop_map(|(thread, enters_epoch, works_for, moves, calls, samples)| {
        let ((returns, tail_call, line), (samples, metric, truncated)) = (moves, samples);
        Step {
            thread,
            enters_epoch,
            works_for,
            returns,
            tail_call,
            line,
            calls,
            samples,
            metric,
            truncated,
        }
    });
    prop::collection::vec(step, 1..40)
        .prop_map(move |steps| Execution::run(&steps, metrics, partial))
}

/// A frame on the stack of a thread.
#[derive(Clone, Debug)]
struct Slot {
    id: usize,
    function: Arc<str>,
    kind: FrameKind,
    line: u32,
    /// The activation that the last sample with a whole path met here, and the epoch and the node
    /// that it was added to: there its return will be counted.
    cached: Option<(usize, usize, Vec<Key>)>,
}

impl Slot {
    fn is_called(&self) -> bool {
        matches!(self.kind, FrameKind::Call | FrameKind::Unknown)
    }

    fn name(&self) -> Arc<str> {
        match self.kind {
            FrameKind::Unknown => format!("m+0x{}", self.line).into(),
            _ => self.function.clone(),
        }
    }

    fn activation(&self) -> Activation {
        let counted = self.is_called().then_some(self.id);
        Activation { name: self.name(), kind: self.kind, counted, line: self.line }
    }
}

/// A thread of the program.
struct Thread {
    stack: Vec<Slot>,
    epoch: usize,
    /// How many frames never return.
    bottom: usize,
    /// Whether the outer part of its stack is not known: returns are not watched then.
    is_partial: bool,
    /// What is its own, while it works for another thread: stack and bottom.
    own: Option<(Vec<Slot>, usize)>,
}

impl Thread {
    /// Begins to work for a thread with this stack.
    fn work_for(&mut self, stack: &[Slot], handover: Slot) {
        let copy = |slot: &Slot| Slot { id: OF_ANOTHER, cached: None, ..slot.clone() };
        let given: Vec<Slot> = stack.iter().map(copy).chain([handover]).collect();
        let bottom = std::mem::replace(&mut self.bottom, given.len());
        self.own = Some((std::mem::replace(&mut self.stack, given), bottom));
    }

    /// Goes on with what is its own, if nothing is left of what it does for another thread.
    fn end_work(&mut self) {
        if self.stack.len() == self.bottom
            && let Some((stack, bottom)) = self.own.take()
        {
            (self.stack, self.bottom) = (stack, bottom);
        }
    }

    /// The place of the innermost frame that was not inlined.
    fn innermost(&self) -> Option<usize> {
        self.stack.iter().rposition(|slot| slot.kind != FrameKind::Inline)
    }

    /// The keys of the nodes of the stack, outermost first.
    fn keys(&self) -> Vec<Key> {
        let innermost = self.innermost();
        let places = self.stack.iter().enumerate();
        let key =
            |(at, slot): (usize, &Slot)| (slot.name(), slot.kind, slot.line, Some(at) == innermost);
        places.map(key).collect()
    }
}

const PARTIAL: &str = "[partial: no-cfi]";

const REGION: &str = "[parallel region]";

/// The longest stack of which others get a copy: threads may work for one another in turn.
const LONGEST_GIVEN: usize = 8;

impl Execution {
    pub(crate) const THREADS: usize = 3;

    fn run(steps: &[Step], metrics: usize, partial: bool) -> Self {
        let mut next = 0;
        let mut slot = |name: &str, kind, line| {
            next += 1;
            Slot { id: next, function: name.into(), kind, line, cached: None }
        };
        let thread = |stack: Vec<Slot>, is_partial| Thread {
            epoch: 0,
            bottom: stack.len(),
            is_partial,
            stack,
            own: None,
        };
        // Thread 0 has start-up code, thread 2 perhaps a stack whose outer part is unknown.
        let outer = partial.then(|| slot(PARTIAL, FrameKind::Partial, 0));
        let mut threads = [
            thread(vec![slot("_start", FrameKind::Call, 1)], false),
            thread(Vec::new(), false),
            thread(outer.into_iter().collect(), partial),
        ];
        let mut run = Self {
            samples: Vec::new(),
            returned: BTreeSet::new(),
            trees: BTreeMap::new(),
            times: Vec::new(),
            metrics,
            has_edges: true,
        };
        for (number, step) in (0..).zip(steps) {
            let opener = step.works_for.filter(|&opener| opener != step.thread);
            let opener = opener.map(|opener| &threads[opener]);
            let given = opener.filter(|opener| !opener.is_partial).map(|opener| &opener.stack);
            let given = given.filter(|stack| (1..=LONGEST_GIVEN).contains(&stack.len())).cloned();
            let thread = &mut threads[step.thread];
            thread.epoch += usize::from(step.enters_epoch);
            for _ in 0..step.returns {
                if thread.stack.len() > thread.bottom {
                    let left = thread.stack.pop();
                    run.count_return(step.thread, left.and_then(|slot| slot.cached));
                    thread.end_work();
                }
            }
            if let Some(stack) = given
                && !thread.is_partial
                && thread.own.is_none()
            {
                thread.work_for(&stack, slot(REGION, FrameKind::Handover, 0));
                let work = NAMES[step.line as usize];
                thread.stack.push(slot(work, FrameKind::Call, step.line));
            }
            if let Some(innermost) = thread.innermost().filter(|&at| at >= thread.bottom) {
                if let Some(name) = step.tail_call {
                    thread.stack.truncate(innermost + 1);
                    let called = slot(NAMES[name], FrameKind::Call, step.line);
                    let cached = thread.stack[innermost].cached.take();
                    thread.stack[innermost] = Slot { cached, ..called };
                }
                thread.stack[innermost].line = step.line;
            }
            for &(name, inline, line) in &step.calls {
                let inline = inline && thread.stack.len() > thread.bottom;
                thread.stack.push(match NAMES.get(name) {
                    Some(name) if inline => slot(name, FrameKind::Inline, line),
                    Some(name) => slot(name, FrameKind::Call, line),
                    None => slot("", FrameKind::Unknown, line),
                });
            }
            if step.samples > 0 && !thread.stack.is_empty() {
                // Half a period after the other; every seventh is not known.
                let time_us = (number % 7 != 6).then_some(number * 2_500);
                run.sample(step, time_us, thread);
            }
        }
        run.samples.sort_by_key(|sample| sample.thread);
        run
    }

    fn without_edges(mut self) -> Self {
        self.has_edges = false;
        self.returned.clear();
        self.trees.values_mut().flat_map(Tree::values_mut).for_each(|(_, edges)| *edges = 0);
        self
    }

    fn count_return(&mut self, thread: usize, cached: Option<(usize, usize, Vec<Key>)>) {
        let Some((activation, epoch, node)) = cached else { return };
        self.returned.insert(activation);
        self.trees.entry((thread, epoch)).or_default().entry(node).or_default().1 += 1;
    }

    /// Adds samples to the node of the present stack, or of its innermost frames, and remembers
    /// where the activations met are to be counted.
    fn sample(&mut self, step: &Step, time_us: Option<u64>, thread: &mut Thread) {
        let tree = self.trees.entry((step.thread, thread.epoch)).or_default();
        let mut keys = thread.keys();
        let mut path: Vec<Activation> = thread.stack.iter().map(Slot::activation).collect();
        let found = step.truncated.filter(|_| !thread.is_partial);
        if let Some(found) = found {
            // What others have on their stacks was not found by walking this one.
            let given = if thread.own.is_some() { thread.bottom } else { 0 };
            let outer = keys.len().saturating_sub(found).max(given);
            // What is inlined has what it is inlined into.
            let outer = (0..=outer).rev().find(|&at| {
                at == given
                    || thread.stack.get(at).is_none_or(|slot| slot.kind != FrameKind::Inline)
            });
            let outer = outer.unwrap_or_default();
            let root = Activation {
                name: PARTIAL.into(),
                kind: FrameKind::Partial,
                counted: None,
                line: 0,
            };
            keys.splice(..outer, [(root.name.clone(), root.kind, 0, false)]);
            path.splice(..outer, [root]);
        } else if !thread.is_partial {
            for (at, slot) in thread.stack.iter_mut().enumerate() {
                if slot.is_called() && slot.id != OF_ANOTHER {
                    slot.cached = Some((slot.id, thread.epoch, keys[..=at].to_vec()));
                }
            }
        }
        for end in 1..=keys.len() {
            tree.entry(keys[..end].to_vec()).or_default();
        }
        if let Some(time_us) = time_us {
            let place = (step.thread, thread.epoch, keys.clone());
            self.times.push((place.0, place.1, place.2, time_us, step.metric, step.samples));
        }
        tree.entry(keys).or_default().0[step.metric] += step.samples;
        self.samples.push(Sample {
            thread: step.thread,
            epoch: thread.epoch,
            path,
            weight: step.samples,
            metric: step.metric,
            time_us,
            inverted: false,
            turned: false,
        });
    }

    /// Whether it is known of any sample when it was taken.
    pub(crate) fn has_times(&self) -> bool {
        !self.times.is_empty()
    }

    /// How many metrics its profile has: without samples nothing says that there are further ones.
    pub(crate) fn metrics(&self) -> usize {
        if self.samples.is_empty() { 1 } else { self.metrics }
    }

    /// Epochs that are in its profile.
    pub(crate) fn epochs(&self) -> BTreeSet<usize> {
        self.trees.keys().map(|&(_, epoch)| epoch).chain([0]).collect()
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.samples.clone()
    }

    /// Whether some activations are in rows of which their returns say nothing: code without a name
    /// is a row for each line, and no return is counted where the outer part of a path is not
    /// known. Nor is it known what a thread that works for others takes along into an epoch.
    pub(crate) fn is_odd(&self) -> bool {
        let mut frames = self.samples.iter().flat_map(|sample| &sample.path);
        frames.any(|frame| matches!(frame.kind, FrameKind::Unknown | FrameKind::Partial))
            || self.has_handovers() && self.epochs().len() > 1
    }

    /// Whether threads work for others.
    pub(crate) fn has_handovers(&self) -> bool {
        let mut frames = self.samples.iter().flat_map(|sample| &sample.path);
        frames.any(|frame| frame.kind == FrameKind::Handover)
    }

    /// Activations with samples on nodes that stand above a handover, too, and [`OF_ANOTHER`]: what
    /// they cost is not told from work for other threads.
    pub(crate) fn mixed(&self) -> BTreeSet<usize> {
        let node = |sample: &Sample, place: usize| {
            let frames = sample.path[..=place].iter();
            let keys = frames.map(|frame| (frame.name.clone(), frame.kind, frame.line));
            (sample.thread, sample.epoch, keys.collect::<Vec<_>>())
        };
        let handover = |sample: &Sample| {
            sample.path.iter().position(|frame| frame.kind == FrameKind::Handover).unwrap_or(0)
        };
        let samples = self.samples.iter();
        let above: HashSet<_> = samples
            .flat_map(|sample| (0..handover(sample)).map(move |place| node(sample, place)))
            .collect();
        let places = self.samples.iter().flat_map(|sample| {
            sample.path.iter().enumerate().map(move |(place, frame)| (sample, place, frame.counted))
        });
        let mixed = places.filter(|&(sample, place, _)| above.contains(&node(sample, place)));
        mixed.filter_map(|(_, _, counted)| counted).collect()
    }

    /// Whether the return of an activation was counted.
    pub(crate) fn has_returned(&self, activation: usize) -> bool {
        self.returned.contains(&activation)
    }

    /// The profile of the run: a tree for each thread and epoch, with counts of samples and of
    /// returns, each on the node where the activation was met last.
    pub(crate) fn profile(&self) -> Profile {
        let mut text = String::new();
        // By thread, epoch and path.
        let mut nodes: HashMap<(usize, usize, &[Key]), u32> = HashMap::new();
        let none = Tree::new();
        for thread in 0..Self::THREADS {
            let epochs = self.trees.range((thread, 0)..(thread + 1, 0));
            let mut epochs: Vec<_> = epochs.map(|(&(_, epoch), tree)| (epoch, tree)).collect();
            // The first epoch is there, whoever was sampled in it.
            if epochs.first().is_none_or(|&(first, _)| first > 0) {
                epochs.insert(0, (0, &none));
            }
            for (epoch, tree) in epochs {
                let _ = writeln!(text, "# thread={thread} epoch={epoch} name=t{thread}");
                for (path, &(samples, edges)) in tree {
                    self.write_node(path, samples, edges, &mut text);
                    let node = u32::try_from(nodes.len()).unwrap() + 1;
                    nodes.insert((thread, epoch, path), node);
                }
            }
        }
        let mut profile = from_outline(&text).unwrap();
        profile.info.run.trampoline = self.has_edges;
        let rows = self.times.iter().map(|(thread, epoch, keys, time_us, metric, samples)| {
            let node = nodes[&(*thread, *epoch, &keys[..])];
            let (metric, samples) = (*metric as u8, u32::try_from(*samples).unwrap());
            SampleTime { time_us: *time_us, node, metric, samples }
        });
        let rows: Vec<SampleTime> = rows.collect();
        let times = Times::loaded(&profile.info, &rows, |node| node);
        profile.times = times.into();
        profile
    }

    fn write_node(&self, path: &[Key], samples: [u64; METRICS], edges: u64, text: &mut String) {
        let (name, kind, line, _) = &path[path.len() - 1];
        let kind = match kind {
            FrameKind::Inline => "inline",
            FrameKind::Partial => "partial",
            FrameKind::Unknown => "unknown",
            FrameKind::Handover => "handover",
            _ => "",
        };
        let module = NAMES.iter().position(|known| *known == &**name);
        let module = module.map_or_else(String::new, |at| format!("module:{}", MODULES[at]));
        let place = if *line > 0 { format!("at:f.c:{line}") } else { String::new() };
        let further = 1..self.metrics;
        let further = further.map(|at| format!("{}:{}", SOURCES[at], samples[at]));
        let _ = writeln!(
            text,
            "{:width$}\"{name}\" {} {} e={edges} {kind} {module} {place}",
            "",
            samples.iter().sum::<u64>(),
            further.collect::<Vec<_>>().join(" "),
            width = 2 * (path.len() - 1)
        );
    }
}
