//! What stages do to the path of one sample, said as simply as possible.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::execution::{
    Activation, Execution, METRICS, MODULES, NAMES, OF_ANOTHER, SOURCES, Sample,
};
use super::{Cost, Path};
use crate::profile::FrameKind;
use crate::refine::{
    Axis, Chain, Comparison, Field, FramePattern, Grain, Link, Metric, MetricTest, Period,
    Predicate, Preset, Quantity, Stage, Unit, Whole,
};

/// The source file of whatever has a line.
const FILE: &str = "f.c";

/// What `by line` adds to a name, before the line.
const PLACE: &str = " f.c:";

/// What the reference knows of a run besides its samples.
pub(crate) struct World<'w> {
    /// Samples of each metric before all stages.
    pub(super) base: [u64; METRICS],
    /// How many metrics there are.
    pub(crate) metrics: usize,
    /// Nanoseconds that a sample stands for, of whichever.
    pub(super) period: u64,
    /// Epochs that some thread was in when it was sampled, and the first.
    pub(super) epochs: BTreeSet<usize>,
    /// The run itself, where edge counts are known.
    pub(super) execution: Option<&'w Execution>,
    /// Its activations that have samples of work for other threads, or may have.
    pub(crate) mixed: BTreeSet<usize>,
    /// What `split` calls threads, where it is not by their number.
    pub(super) labels: BTreeMap<(&'static str, usize), String>,
    /// When the run ended, in nanoseconds, if it is known when samples were taken.
    pub(super) end_ns: Option<u64>,
    /// What `by module` calls functions; modules themselves among them.
    pub(super) modules: BTreeMap<String, String>,
}

impl<'w> World<'w> {
    pub(crate) fn of(execution: &'w Execution) -> Self {
        let base = totals(&execution.samples());
        let metrics = execution.metrics();
        let pairs = NAMES.into_iter().zip(MODULES).chain(MODULES.into_iter().zip(MODULES));
        let modules = pairs.map(|(name, module)| (name.to_owned(), module.to_owned())).collect();
        Self {
            base,
            metrics,
            period: 5_000_000,
            epochs: execution.epochs(),
            execution: Some(execution),
            mixed: execution.mixed(),
            labels: BTreeMap::new(),
            end_ns: execution.has_times().then(|| execution.profile().times.end_ns()),
            modules,
        }
    }

    fn label(&self, axis: Axis, thread: usize) -> String {
        let usual = || match axis {
            Axis::Thread => format!("thread={thread}"),
            _ => format!("{}=none", axis.name()),
        };
        self.labels.get(&(axis.name(), thread)).cloned().unwrap_or_else(usual)
    }

    /// What `by module` or `by file` makes of a frame. What stages made has neither, but for what
    /// these make themselves, and `by line`, which leaves a function where it is.
    fn home(&self, frame: Activation, grain: Grain) -> Activation {
        let kind = match frame.kind {
            FrameKind::Partial | FrameKind::Context | FrameKind::Handover => return frame,
            FrameKind::Inline => FrameKind::Inline,
            _ => FrameKind::Call,
        };
        let name = frame.name.split(PLACE).next().unwrap_or_default();
        let name = match grain {
            Grain::File if frame.line > 0 || name == FILE => FILE,
            Grain::File => "[no source file]",
            _ => self.modules.get(name).map_or("[no module]", String::as_str),
        };
        Activation { name: name.into(), kind, line: 0, ..frame }
    }

    /// Whether threads work for others.
    pub(crate) fn has_handovers(&self) -> bool {
        self.execution.is_some_and(Execution::has_handovers)
    }

    /// Whether returns were counted at all.
    pub(crate) fn has_edges(&self) -> bool {
        self.execution.is_none_or(|run| run.has_edges)
    }

    /// The activation that is counted here, if it returned.
    pub(crate) fn returned(&self, frame: &Activation) -> Option<usize> {
        frame.counted.filter(|&id| self.execution.is_some_and(|run| run.has_returned(id)))
    }
}

/// The name of a row that `small` made, and the number of the stage: a row of another stage is
/// another row, though it may be of as many.
fn small(name: &str) -> Option<(&str, usize)> {
    let (name, stage) = name.split_once('#')?;
    Some((name, stage.parse().ok().filter(|_| name.ends_with(" small)"))?))
}

/// The same samples with small rows numbered, of those of one name, in the order of their stages.
pub(crate) fn in_order(samples: &[Sample]) -> Cow<'_, [Sample]> {
    let mut stages: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for frame in samples.iter().flat_map(|sample| &sample.path) {
        if let Some((name, stage)) = small(&frame.name) {
            stages.entry(name).or_default().insert(stage);
        }
    }
    if stages.is_empty() {
        return samples.into();
    }
    let mut ordered = samples.to_vec();
    for frame in ordered.iter_mut().flat_map(|sample| &mut sample.path) {
        if let Some((name, stage)) = small(&frame.name) {
            let place = stages[name].iter().position(|known| *known == stage).unwrap();
            frame.name = format!("{name}#{place}").into();
        }
    }
    ordered.into()
}

/// Samples of each metric.
pub(super) fn totals(samples: &[Sample]) -> [u64; METRICS] {
    let mut totals = [0; METRICS];
    samples.iter().for_each(|sample| totals[sample.metric] += sample.weight);
    totals
}

/// Rows as a person sees them, threads together, with what they cost.
struct Rows {
    costs: BTreeMap<Vec<(String, FrameKind)>, RowOf>,
    base: [u64; METRICS],
    view: [u64; METRICS],
    period: u64,
    /// The number of the stage that makes small rows, if it does.
    stage: usize,
}

/// What a row costs, of each metric.
#[derive(Default)]
struct RowOf {
    inclusive: [u64; METRICS],
    exclusive: [u64; METRICS],
    edges: Option<(u64, u64)>,
}

impl Rows {
    fn of(samples: &[Sample], world: &World<'_>) -> Self {
        let mut costs: BTreeMap<_, RowOf> = BTreeMap::new();
        let paths = paths(samples, world);
        let called = paths.iter().filter(|(_, cost)| cost.called);
        let called: BTreeSet<_> = called.map(|((_, path), _)| path.clone()).collect();
        for ((_, path), cost) in paths {
            let edges = called.contains(&path).then_some((cost.edges_low, cost.edges_high));
            let row = costs.entry(path).or_default();
            for metric in 0..METRICS {
                row.inclusive[metric] += cost.inclusive[metric];
            }
            row.edges = [row.edges, edges]
                .into_iter()
                .flatten()
                .reduce(|(low, high), (l, h)| (low + l, high + h));
        }
        for sample in samples {
            let contexts = |frame: &&Activation| frame.kind == FrameKind::Context;
            let contexts = sample.path.iter().take_while(contexts).count();
            // Where callers stand below callees, samples are the function's whose callers they are.
            let end = match sample.turned {
                true => sample.path.len().min(contexts + 1),
                false => sample.path.len(),
            };
            if let Some(row) = costs.get_mut(&named(&sample.path[..end])) {
                row.exclusive[sample.metric] += sample.weight;
            }
        }
        let frames = samples.iter().flat_map(|sample| &sample.path);
        let stage = frames.filter_map(|frame| Some(small(&frame.name)?.1)).max();
        let stage = stage.map_or(0, |last| last + 1);
        Self { costs, base: world.base, view: totals(samples), period: world.period, stage }
    }

    /// Whether the row of a path passes.
    fn pass(&self, test: &MetricTest, path: &[Activation]) -> bool {
        self.passes(test, &self.costs[&named(path)])
    }

    fn passes(&self, test: &MetricTest, row: &RowOf) -> bool {
        let metric = match test.quantity.metric() {
            Some(Metric::Source(name)) => SOURCES.iter().position(|source| source == name).unwrap(),
            _ => 0,
        };
        let samples = [row.inclusive[metric], row.exclusive[metric]];
        let wholes = [self.base[metric], self.view[metric]];
        passes(test, samples, row.edges, self.period, wholes)
    }
}

/// Whether a row passes a test, by what the test means. Its samples are the inclusive and the
/// exclusive ones, its edge count lies between two bounds, and percentages are of the samples of
/// the profile and of those that enter the stage.
pub(super) fn passes(
    test: &MetricTest,
    [inclusive, exclusive]: [u64; 2],
    edges: Option<(u64, u64)>,
    period: u64,
    [base, view]: [u64; 2],
) -> bool {
    let scale = 10_i128.pow(test.value.decimals);
    let value = i128::from(test.value.digits);
    let passes = |number: u64| {
        let number = i128::from(number) * scale;
        let (number, value) = match test.value.unit {
            Unit::One => (number, value),
            Unit::Percent(Whole::Base) => (100 * number, value * i128::from(base)),
            Unit::Percent(Whole::View) => (100 * number, value * i128::from(view)),
            unit => (number * i128::from(period), value * nanoseconds(unit)),
        };
        compares(test.comparison, number, value)
    };
    // All counts between the bounds have to pass.
    let all_edges =
        |passes: &dyn Fn(u64) -> bool| edges.is_some_and(|(low, high)| (low..=high).all(passes));
    match test.quantity {
        Quantity::Inclusive(_) => passes(inclusive),
        Quantity::Exclusive(_) => passes(exclusive),
        Quantity::Edges => all_edges(&passes),
        Quantity::SamplesPerEdge => all_edges(&|edges| {
            let samples = i128::from(inclusive) * scale;
            edges > 0 && compares(test.comparison, samples, value * i128::from(edges))
        }),
        Quantity::CostPerEdge => all_edges(&|edges| {
            let cost = i128::from(inclusive) * i128::from(period) * scale;
            let value = value * nanoseconds(test.value.unit);
            edges > 0 && compares(test.comparison, cost, value * i128::from(edges))
        }),
    }
}

/// Nanoseconds in a unit of time.
pub(super) fn nanoseconds(unit: Unit) -> i128 {
    match unit {
        Unit::Nanoseconds => 1,
        Unit::Microseconds => 1_000,
        Unit::Milliseconds => 1_000_000,
        Unit::Seconds => 1_000_000_000,
        _ => unreachable!("{unit:?} is no time"),
    }
}

/// Whether a number compares so with another.
pub(super) fn compares(comparison: Comparison, left: i128, right: i128) -> bool {
    let passing: &[Ordering] = match comparison {
        Comparison::Less => &[Ordering::Less],
        Comparison::AtMost => &[Ordering::Less, Ordering::Equal],
        Comparison::Equal => &[Ordering::Equal],
        Comparison::NotEqual => &[Ordering::Less, Ordering::Greater],
        Comparison::AtLeast => &[Ordering::Equal, Ordering::Greater],
        Comparison::Greater => &[Ordering::Greater],
    };
    passing.contains(&left.cmp(&right))
}

fn named(path: &[Activation]) -> Vec<(String, FrameKind)> {
    path.iter().map(|frame| (frame.name.to_string(), frame.kind)).collect()
}

/// Whether a test in the stage looks at edge counts, which must be exact to be compared.
pub(crate) fn tests_edges(stage: &Stage) -> bool {
    tests(stage).iter().any(|test| test.is_of_edges())
}

/// Whether a frame matches; for the patterns that the strategies make.
pub(crate) fn matches(pattern: &FramePattern, frame: &Activation) -> bool {
    frame.kind != FrameKind::Context && matches_call(pattern, frame)
}

fn matches_call(pattern: &FramePattern, frame: &Activation) -> bool {
    match pattern {
        FramePattern::Exact(name) | FramePattern::Glob(name) => *frame.name == **name,
        FramePattern::Field(Field::Kind, kind) => match frame.kind {
            FrameKind::Inline => kind == "inline",
            FrameKind::Partial => kind == "partial",
            FrameKind::Unknown => kind == "unknown",
            FrameKind::Handover => kind == "handover",
            _ => kind == "call",
        },
        FramePattern::Field(Field::Line, line) => line.parse() == Ok(frame.line),
        FramePattern::Any(any) => any.iter().any(|pattern| matches(pattern, frame)),
        FramePattern::All(all) => all.iter().all(|pattern| matches(pattern, frame)),
        FramePattern::Not(inner) => !matches(inner, frame),
        FramePattern::Preset(Preset::Start) => &*frame.name == "_start",
        _ => unreachable!("the strategies make no {pattern}"),
    }
}

/// The tests of rows in a stage.
pub(super) fn tests(stage: &Stage) -> Vec<&MetricTest> {
    fn in_predicate(predicate: &Predicate) -> Vec<&MetricTest> {
        match predicate {
            Predicate::And(inner) | Predicate::Or(inner) => {
                inner.iter().flat_map(in_predicate).collect()
            }
            Predicate::Not(inner) => in_predicate(inner),
            Predicate::Node(test) => vec![test],
            _ => Vec::new(),
        }
    }
    match stage {
        Stage::Where(predicate) => in_predicate(predicate),
        Stage::Small(test) => vec![test],
        _ => Vec::new(),
    }
}

/// Whether a stage cannot be applied to these samples: a pattern in it means no frame, a number no
/// epoch, a test no metric, or edges that were not recorded.
pub(crate) fn is_refused(stage: &Stage, samples: &[Sample], world: &World<'_>) -> bool {
    let is_unknown = |test: &&MetricTest| match test.quantity.metric() {
        Some(Metric::Source(name)) => !SOURCES[..world.metrics].contains(&name.as_str()),
        _ => test.is_of_edges() && !world.has_edges(),
    };
    let lacks_times = matches!(stage, Stage::During(_)) && world.end_ns.is_none();
    lacks_times || has_unmatched_part(stage, samples, world) || tests(stage).iter().any(is_unknown)
}

/// Whether a pattern in a stage means no frame of these samples, or a number no epoch.
fn has_unmatched_part(stage: &Stage, samples: &[Sample], world: &World<'_>) -> bool {
    fn in_predicate(
        predicate: &Predicate,
        unmatched: &dyn Fn(&FramePattern) -> bool,
        world: &World<'_>,
    ) -> bool {
        match predicate {
            Predicate::And(inner) | Predicate::Or(inner) => {
                inner.iter().any(|inner| in_predicate(inner, unmatched, world))
            }
            Predicate::Not(inner) => in_predicate(inner, unmatched, world),
            Predicate::Through(chain) => {
                unmatched(&chain.first) || chain.rest.iter().any(|(_, frame)| unmatched(frame))
            }
            Predicate::Under(pattern)
            | Predicate::In(pattern)
            | Predicate::Leaf(pattern)
            | Predicate::Times { pattern, .. } => unmatched(pattern),
            Predicate::Numbered { axis: Axis::Epoch, ranges } => {
                let is_in = |epoch| is_numbered(epoch, ranges);
                !world.epochs.iter().copied().any(is_in)
            }
            _ => false,
        }
    }
    let unmatched = |pattern: &FramePattern| {
        !samples.iter().flat_map(|sample| &sample.path).any(|frame| matches(pattern, frame))
    };
    match stage {
        Stage::Where(predicate) => in_predicate(predicate, &unmatched, world),
        _ => pattern_of(stage).is_some_and(unmatched),
    }
}

/// The pattern of a stage that does something with the frames that match it.
pub(super) fn pattern_of(stage: &Stage) -> Option<&FramePattern> {
    match stage {
        Stage::Hide(pattern)
        | Stage::StopAt(pattern)
        | Stage::Cut(pattern)
        | Stage::Group { pattern, .. }
        | Stage::RootAt { pattern, .. }
        | Stage::Collapse(pattern)
        | Stage::CollapseRun(pattern)
        | Stage::CallersOf(pattern)
        | Stage::Fold(pattern) => Some(pattern),
        Stage::Where(_) | Stage::By(_) | Stage::Split(_) | Stage::During(_) | Stage::Small(_) => {
            None
        }
    }
}

/// Whether exact edge counts stay so: all that is shown of an activation stays together, whichever
/// of its lines and epochs it is of, and no sample is taken out below it.
pub(super) fn keeps_edges(stage: &Stage) -> bool {
    match stage {
        Stage::Where(_) | Stage::During(_) | Stage::Fold(_) | Stage::RootAt { last: true, .. } => {
            false
        }
        // These part the lines of one function, or the epochs of one activation.
        Stage::By(Grain::Line) => false,
        Stage::Split(axis) => !axis.definition().parts_activations,
        _ => !pattern_of(stage).is_some_and(asks_for_lines),
    }
}

/// Whether a pattern tells the lines of one function apart.
pub(super) fn asks_for_lines(pattern: &FramePattern) -> bool {
    match pattern {
        FramePattern::Any(inner) | FramePattern::All(inner) => inner.iter().any(asks_for_lines),
        FramePattern::Not(inner) => asks_for_lines(inner),
        FramePattern::Field(field, _) => *field == Field::Line,
        _ => false,
    }
}

pub(crate) fn apply(stage: &Stage, samples: Vec<Sample>, world: &World<'_>) -> Vec<Sample> {
    if let Stage::During(period) = stage {
        return samples.into_iter().flat_map(|sample| during(period, &sample, world)).collect();
    }
    let rows = (!tests(stage).is_empty()).then(|| Rows::of(&samples, world));
    samples
        .into_iter()
        .filter_map(|mut sample| {
            sample.path = rewrite(stage, sample.clone(), world, rows.as_ref())?;
            sample.inverted |= matches!(stage, Stage::CallersOf(_));
            sample.turned ^= matches!(stage, Stage::CallersOf(_));
            Some(sample)
        })
        .collect()
}

/// Of some samples those that are of a part of the run, each by itself. Of elapsed time they came
/// one period after the other.
fn during(period: &Period, sample: &Sample, world: &World<'_>) -> Vec<Sample> {
    let window = period.window(world.end_ns.unwrap_or(0));
    let apart_us = if SOURCES[sample.metric] == "realtime" { world.period / 1000 } else { 0 };
    let one = |number: u64| {
        let time_us = sample.time_us?.saturating_sub(number * apart_us);
        let time_ns = time_us * 1000;
        let is_in = time_ns >= window.from_ns && window.to_ns.is_none_or(|to| time_ns < to);
        is_in.then(|| Sample { time_us: Some(time_us), weight: 1, ..sample.clone() })
    };
    (0..sample.weight).filter_map(one).collect()
}

/// What a stage does to the last frame of a sample.
pub(super) struct Deleted {
    pub(super) weight: u64,
    pub(super) metric: usize,
    /// Whether the path is as long as it would be without its last frame.
    pub(super) last_is_deleted: bool,
    /// How many frames match, and whether the last one does.
    pub(super) matches: usize,
    pub(super) last_matches: bool,
}

/// For stages that take out no sample.
pub(super) fn deleted(
    stage: &Stage,
    pattern: &FramePattern,
    samples: &[Sample],
    world: &World<'_>,
) -> Vec<Deleted> {
    let length = |path: &[Activation], sample: &Sample| {
        let sample = Sample { path: path.to_vec(), ..sample.clone() };
        rewrite(stage, sample, world, None).map_or(0, |path| path.len())
    };
    let of = |sample: &Sample| {
        let (last, above) = sample.path.split_last()?;
        Some(Deleted {
            weight: sample.weight,
            metric: sample.metric,
            last_is_deleted: length(&sample.path, sample) == length(above, sample),
            matches: sample.path.iter().filter(|frame| matches(pattern, frame)).count(),
            last_matches: matches(pattern, last),
        })
    };
    samples.iter().filter_map(of).collect()
}

/// The path after a stage; `None` if the stage takes the sample out.
fn rewrite(
    stage: &Stage,
    sample: Sample,
    world: &World<'_>,
    rows: Option<&Rows>,
) -> Option<Vec<Activation>> {
    let Sample { thread, epoch, path, inverted, .. } = sample;
    // What becomes a call is counted, and never returned.
    let counted = |frame: &Activation| frame.counted.or((!inverted).then_some(usize::MAX));
    // What `split` put there stays above the path, whatever happens to it.
    let contexts = path.iter().take_while(|frame| frame.kind == FrameKind::Context).count();
    let is = |pattern: &FramePattern, at: usize| matches(pattern, &path[at]);
    let positions = |pattern: &FramePattern| -> Vec<usize> {
        (0..path.len()).filter(|&at| is(pattern, at)).collect()
    };
    let kept = |keep: &dyn Fn(usize) -> bool| {
        (0..path.len()).filter(|&at| keep(at)).map(|at| path[at].clone()).collect::<Vec<_>>()
    };
    Some(match stage {
        Stage::Where(predicate) => {
            if !holds(predicate, (thread, epoch), &path, rows) {
                return None;
            }
            path
        }
        Stage::Hide(f) => kept(&|at| !is(f, at)),
        Stage::StopAt(f) => {
            let end = positions(f).first().map_or(path.len(), |&first| first + 1);
            path[..end].to_vec()
        }
        Stage::Cut(f) => {
            let end = positions(f).first().copied().unwrap_or(path.len());
            path[..end].to_vec()
        }
        Stage::Group { pattern: f, name } => {
            let heads = kept(&|at| !(at > 0 && is(f, at) && is(f, at - 1)));
            heads
                .into_iter()
                .map(|frame| {
                    if !matches(f, &frame) {
                        return frame;
                    }
                    let kind = match frame.kind {
                        kind @ (FrameKind::Inline | FrameKind::Handover) => kind,
                        _ => FrameKind::Call,
                    };
                    let is_call = kind == FrameKind::Call;
                    let counted = if is_call { counted(&frame) } else { frame.counted };
                    Activation { name: name.as_str().into(), kind, counted, line: 0 }
                })
                .collect()
        }
        Stage::RootAt { pattern: f, last } => {
            let found = positions(f);
            let begin = if *last { found.last() } else { found.first() };
            [&path[..contexts], &path[*begin?..]].concat()
        }
        Stage::Collapse(f) => {
            kept(&|at| !(is(f, at) && path[..at].iter().any(|above| above.name == path[at].name)))
        }
        Stage::CollapseRun(f) => {
            kept(&|at| !(is(f, at) && at > 0 && path[at - 1].name == path[at].name))
        }
        Stage::By(grain @ (Grain::Module | Grain::File)) => {
            let mut homes: Vec<Activation> = Vec::new();
            for frame in path {
                let home = world.home(frame, *grain);
                let is_new =
                    |last: &Activation| last.kind == FrameKind::Context || last.name != home.name;
                if homes.last().is_none_or(is_new) {
                    homes.push(home);
                }
            }
            homes
        }
        Stage::By(Grain::Line) => {
            let is_placed = |frame: &Activation| {
                frame.line > 0 && !matches!(frame.kind, FrameKind::Partial | FrameKind::Context)
            };
            let placed = path.into_iter().map(|frame| match is_placed(&frame) {
                true => {
                    let name = format!("{}{PLACE}{}", frame.name, frame.line).into();
                    Activation { name, ..frame }
                }
                false => frame,
            });
            placed.collect()
        }
        Stage::By(Grain::Function | Grain::Address | Grain::Loop) => path,
        Stage::Fold(f) => match positions(f)[..] {
            [first, .., last] => kept(&|at| at <= first || at > last),
            _ => path,
        },
        Stage::CallersOf(f) => {
            let &first = positions(f).first()?;
            // Edges along the way out are those of the match; where the path was turned round
            // before, they are another function's.
            let outward = path[contexts..=first].iter().rev();
            let counted = path[first].counted.filter(|_| !inverted);
            let outward = outward.map(|frame| Activation { counted, ..frame.clone() });
            path[..contexts].iter().cloned().chain(outward).collect()
        }
        Stage::Split(axis) => {
            let name = match axis {
                Axis::Epoch => format!("epoch={epoch}"),
                axis => world.label(*axis, thread),
            };
            let (name, kind) = (name.into(), FrameKind::Context);
            let frame = Activation { name, kind, counted: None, line: 0 };
            [&path[..contexts], &[frame], &path[contexts..]].concat()
        }
        Stage::During(_) => unreachable!("it is of samples, not of paths"),
        Stage::Small(test) => {
            let rows = rows.unwrap();
            let passes = |end: &usize| rows.pass(test, &path[..*end]);
            let Some(end) = (contexts + 1..=path.len()).find(passes) else { return Some(path) };
            // The rows below the same parent that pass: one frame longer, and of no other kind.
            let parent = named(&path[..end - 1]);
            let siblings = rows.costs.iter().filter(|(row, cost)| {
                row.len() == end
                    && row[..end - 1] == parent[..]
                    && row[end - 1].1 != FrameKind::Context
                    && rows.passes(test, cost)
            });
            let part = |kind| match kind {
                FrameKind::Call | FrameKind::Unknown => FrameKind::Call,
                other => other,
            };
            let small = &path[end - 1];
            let kind = part(small.kind);
            let siblings = siblings.filter(|(row, _)| part(row[end - 1].1) == kind);
            let name = format!("({} small)#{}", siblings.count(), rows.stage).into();
            let counted = if kind == FrameKind::Call { counted(small) } else { small.counted };
            let rest = Activation { name, kind, counted, line: 0 };
            [&path[..end - 1], &[rest]].concat()
        }
    })
}

fn holds(
    predicate: &Predicate,
    stream: (usize, usize),
    path: &[Activation],
    rows: Option<&Rows>,
) -> bool {
    match predicate {
        Predicate::And(all) => all.iter().all(|inner| holds(inner, stream, path, rows)),
        Predicate::Or(any) => any.iter().any(|inner| holds(inner, stream, path, rows)),
        Predicate::Not(inner) => !holds(inner, stream, path, rows),
        Predicate::Through(chain) => (0..path.len()).any(|at| chain_from(chain, path, at)),
        Predicate::Under(f) => {
            path.split_last().is_some_and(|(_, above)| above.iter().any(|frame| matches(f, frame)))
        }
        Predicate::In(f) => path
            .iter()
            .rposition(|frame| matches(f, frame))
            .is_some_and(|at| path[at + 1..].iter().all(|frame| is_within_caller(frame.kind))),
        Predicate::Leaf(f) => path.last().is_some_and(|frame| matches(f, frame)),
        Predicate::Times { pattern, comparison, count } => {
            let times = path.iter().filter(|frame| matches(pattern, frame)).count();
            compares(*comparison, times as i128, i128::from(*count))
        }
        Predicate::Depth { comparison, count } => {
            let calls = path.iter().filter(|frame| frame.kind != FrameKind::Context).count();
            compares(*comparison, calls as i128, i128::from(*count))
        }
        Predicate::Node(test) => rows.unwrap().pass(test, path),
        Predicate::Numbered { axis: axis @ (Axis::Thread | Axis::Epoch), ranges } => {
            let number = if *axis == Axis::Thread { stream.0 } else { stream.1 };
            is_numbered(number, ranges)
        }
        _ => unreachable!("the strategies make no {predicate}"),
    }
}

fn is_within_caller(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Inline | FrameKind::Handover)
}

fn is_numbered(number: usize, ranges: &[(u32, u32)]) -> bool {
    ranges.iter().any(|&(first, last)| (first as usize..=last as usize).contains(&number))
}

/// Whether the chain's first frame is at `at` and the others follow somehow.
fn chain_from(chain: &Chain, path: &[Activation], at: usize) -> bool {
    let is_start =
        |frame: &Activation| &*frame.name == "_start" || frame.kind == FrameKind::Context;
    let outermost = path[..at].iter().all(is_start);
    (outermost || !chain.from_root)
        && matches(&chain.first, &path[at])
        && continues(&chain.rest, chain.to_leaf, path, at)
}

/// Whether further frames follow the one at `at`: tries all ways.
fn continues(rest: &[(Link, FramePattern)], to_leaf: bool, path: &[Activation], at: usize) -> bool {
    let [(link, f), further @ ..] = rest else { return !to_leaf || at + 1 == path.len() };
    let end = match link {
        Link::Direct => path.len().min(at + 2),
        Link::Below => path.len(),
    };
    (at + 1..end).any(|next| matches(f, &path[next]) && continues(further, to_leaf, path, next))
}

/// Samples of each metric whose path has a match.
pub(super) fn inclusive_of(pattern: &FramePattern, samples: &[Sample]) -> [u64; METRICS] {
    let has = |sample: &&Sample| sample.path.iter().any(|frame| matches(pattern, frame));
    totals(&samples.iter().filter(has).cloned().collect::<Vec<_>>())
}

/// Whether the count of the frame at a place is known: returns of what the thread itself called are
/// counted where the path is whole.
pub(crate) fn is_counted(path: &[Activation], place: usize) -> bool {
    let is_whole = path.iter().all(|frame| frame.kind != FrameKind::Partial);
    is_whole && is_own_call(&path[place])
}

/// Whether the thread itself called this.
pub(crate) fn is_own_call(frame: &Activation) -> bool {
    frame.counted.is_some_and(|id| id != OF_ANOTHER)
}

/// Every path of the samples, with its true cost and edge count.
pub(super) fn paths(samples: &[Sample], world: &World<'_>) -> BTreeMap<Path, Cost> {
    let mut paths: BTreeMap<Path, (Cost, BTreeSet<usize>)> = BTreeMap::new();
    for sample in samples {
        let path = named(&sample.path);
        if path.is_empty() {
            let (cost, _) = paths.entry((sample.thread, path)).or_default();
            cost.inclusive[sample.metric] += sample.weight;
            cost.exclusive[sample.metric] += sample.weight;
            continue;
        }
        for (depth, frame) in sample.path.iter().enumerate() {
            let prefix = (sample.thread, path[..=depth].to_vec());
            let (cost, activations) = paths.entry(prefix).or_default();
            cost.inclusive[sample.metric] += sample.weight;
            cost.exclusive[sample.metric] +=
                if depth + 1 == path.len() { sample.weight } else { 0 };
            activations.extend(world.returned(frame));
            cost.counted |= is_counted(&sample.path, depth);
            cost.called |= frame.counted.is_some();
        }
    }
    let counted = |(path, (mut cost, activations)): (Path, (Cost, BTreeSet<usize>))| {
        cost.edges_low = activations.len() as u64;
        cost.edges_high = cost.edges_low;
        (path, cost)
    };
    paths.into_iter().map(counted).collect()
}
