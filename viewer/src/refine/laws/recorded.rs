//! The laws on profiles of real runs: an MPI program of two ranks, and a compiler, deep and
//! recursive (`tests/fixtures/README.md`).
//!
//! Each node with samples of its own is a sample of the reference, of each metric one; stages are
//! made of the names that occur. What was measured is dealt out among two or three metrics. Which
//! samples met the activations that returned is not known here: edge counts are held against the
//! least and the greatest that are possible, and have to be exact as long as the stages keep them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use proptest::sample::select;

use csprof_format::profile::{FurtherMetric, ThreadShare};

use super::execution::{Activation, SOURCES, Sample};
use super::*;
use crate::profile::NodesBuilder;
use crate::refine::Link;
use crate::refine::forest::procedures::Procedures;

struct Recorded {
    profile: Profile,
    samples: Vec<Sample>,
    /// Names of sampled functions, those on most paths first.
    names: Vec<String>,
    labels: BTreeMap<(&'static str, usize), String>,
    modules: BTreeMap<String, String>,
    nodes: Vec<Recording>,
    /// Returns that each family recorded: all nodes of one function below one parent.
    families: Vec<u64>,
    /// Functions whose activations may go from one to another of them.
    shared: Vec<BTreeSet<String>>,
}

/// What was recorded on a node.
#[derive(Clone, Copy)]
struct Recording {
    /// Inclusive samples.
    samples: u64,
    edges: u64,
    family: usize,
    /// Whether its edge count is exact before all stages, and stays so if these keep it: not below
    /// `[partial]`, nor of a function that shares its activations, nor where the thread has several
    /// epochs.
    is_exact: bool,
}

static EXCHANGE: LazyLock<Profile> =
    LazyLock::new(|| read(include_bytes!("../../../tests/fixtures/mpi_exchange.csprof")));

static MPI: LazyLock<Recorded> = LazyLock::new(|| Recorded::of(dealt(&EXCHANGE, 3)));

static COMPILER: LazyLock<Recorded> = LazyLock::new(|| {
    let profile = read(include_bytes!("../../../tests/fixtures/cc1plus.csprof"));
    Recorded::of(dealt(&profile, 2))
});

/// Every 31st call path of the compiler that has samples: rows cost the reference far more.
static SOME_OF_COMPILER: LazyLock<Recorded> = LazyLock::new(|| {
    let mut sampled = 0;
    Recorded::of(resampled(&COMPILER.profile, |_, samples| {
        sampled += u64::from(samples > 0);
        if sampled % 31 == 0 { samples } else { 0 }
    }))
});

/// The MPI program against a run of it that did some things not at all and others twice, and
/// against the compiler.
static COMPARED: LazyLock<[Recorded; 2]> = LazyLock::new(|| {
    let second_run = resampled(&EXCHANGE, |node, samples| samples * (node as u64 % 3));
    [second_run, SOME_OF_COMPILER.profile.clone()].map(|other| {
        let base = EXCHANGE.clone();
        Recorded::of(Profile::compared(("base", base), ("other", other), &[]).unwrap())
    })
});

fn read(bytes: &[u8]) -> Profile {
    Profile::from_saved(csprof_format::read::read(bytes).unwrap())
}

/// The samples of a profile of one metric as those of several: of one node all are of one, of
/// another they are shared out evenly, or nearly.
fn dealt(profile: &Profile, metrics: usize) -> Profile {
    let mut profile = profile.clone();
    profile.info.metric.source = SOURCES[0].to_owned();
    for (further, source) in SOURCES.into_iter().enumerate().take(metrics).skip(1) {
        let share = |node: usize| {
            let samples = profile.nodes.samples.at(node);
            match node % (metrics + 1) {
                one if one < metrics => {
                    if one == further {
                        samples
                    } else {
                        0
                    }
                }
                _ => samples / metrics as u64,
            }
        };
        let samples: Counts = (0..profile.nodes.len()).map(share).collect();
        profile.nodes.further.push(samples);
        let metric = csprof_format::profile::Metric {
            source: source.to_owned(),
            ..profile.info.metric.clone()
        };
        let threads = vec![ThreadShare::default(); profile.info.threads.len()];
        profile.info.further.push(FurtherMetric { metric, threads, samples: Vec::new() });
    }
    profile
}

/// The same call paths with other samples, and no more returns than these can have seen.
fn resampled(profile: &Profile, mut samples: impl FnMut(usize, u64) -> u64) -> Profile {
    let mut profile = profile.clone();
    let mut nodes = NodesBuilder::from(&profile.nodes);
    for node in 0..nodes.len() {
        let before = nodes.samples.at(node);
        let now = samples(node, before);
        nodes.samples.set(node, now);
        if now < before {
            nodes.further.iter_mut().for_each(|column| column.set(node, 0));
        }
    }
    let mut inclusive: Vec<u64> = (0..nodes.len()).map(|node| nodes.samples.at(node)).collect();
    for node in (1..nodes.len()).rev() {
        inclusive[nodes.parent[node] as usize] += inclusive[node];
        nodes.edges.set(node, nodes.edges.at(node).min(inclusive[node]));
    }
    profile.nodes = nodes.finish();
    profile
}

impl Recorded {
    fn of(mut profile: Profile) -> Self {
        // Functions of one name in several modules are several functions, which the reference,
        // where a function is its name, would not know.
        let mut known = HashMap::new();
        for function in profile.functions.iter_mut() {
            if *known.entry(function.name.clone()).or_insert(function.module) != function.module {
                function.name = format!("{} ({:?})", function.name, function.module).into();
            }
        }
        let texts: Vec<std::sync::Arc<str>> =
            profile.functions.iter().map(|function| function.name.clone()).collect();
        let mut samples = Vec::new();
        let mut labels = BTreeMap::new();
        let mut times: HashMap<&str, u64> = HashMap::new();
        for stream in &profile.streams {
            let thread = stream.thread.index();
            labels.insert(("process", thread), format!("process={}", stream.process.index()));
            if let Some(rank) = profile.info.processes[stream.process.index()].rank {
                labels.insert(("rank", thread), format!("rank={rank}"));
            }
            if let Some(host) = profile.hosts().of_process(stream.process) {
                labels.insert(("host", thread), format!("host={host}"));
            }
            for node in stream.nodes.clone().filter(|&n| profile.nodes.samples.at(n as usize) > 0) {
                let weight = profile.nodes.samples.at(node as usize);
                let mut path = Vec::new();
                let mut at = node;
                while at != 0 {
                    let frame = profile.frames[profile.nodes.frame[at as usize].index()];
                    *times.entry(&profile.functions[frame.function.index()].name).or_default() +=
                        weight;
                    let name = texts[frame.function.index()].clone();
                    let is_called = matches!(frame.kind, FrameKind::Call | FrameKind::Unknown);
                    // All activations that were counted at a node.
                    let counted = is_called.then_some(at as usize);
                    path.push(Activation { name, kind: frame.kind, counted, line: frame.line });
                    at = profile.nodes.parent[at as usize];
                }
                path.reverse();
                let further = profile.nodes.further.iter();
                let further: Vec<u64> = further.map(|column| column.at(node as usize)).collect();
                let first = weight - further.iter().sum::<u64>();
                for (metric, weight) in std::iter::once(first).chain(further).enumerate() {
                    if weight > 0 {
                        let path = path.clone();
                        let (epoch, inverted) = (stream.epoch.index(), false);
                        let turned = false;
                        samples.push(Sample {
                            time_us: None,
                            thread,
                            epoch,
                            path,
                            weight,
                            metric,
                            inverted,
                            turned,
                        });
                    }
                }
            }
        }
        let mut names: Vec<_> = times.into_iter().map(|(name, times)| (times, name)).collect();
        names.sort_unstable();
        let names = names.into_iter().rev().map(|(_, name)| name.to_owned()).collect();
        let mut modules = BTreeMap::new();
        for function in &profile.functions {
            let Some(module) = function.module else { continue };
            let path = profile.module_path(module);
            let module = path.rsplit('/').next().unwrap_or(path);
            for name in [&function.name, module] {
                modules.insert(name.to_owned(), module.to_owned());
            }
        }
        let (nodes, families) = families(&profile);
        let procedures = Procedures::of(&profile);
        let mut shared: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for frame in profile.frames.iter() {
            let name = profile.functions[frame.function.index()].name.clone();
            shared.entry(procedures.number(frame)).or_default().insert(name.to_string());
        }
        let shared = shared.into_values().filter(|names| names.len() > 1).collect();
        Self { profile, samples, names, labels, modules, nodes, families, shared }
    }

    /// Whether a stage keeps edge counts exact here: it does not tell apart what shares
    /// activations.
    fn keeps_edges(&self, stage: &Stage) -> bool {
        let matches = |name: &String, pattern: &FramePattern| {
            let (name, kind) = (name.as_str().into(), FrameKind::Call);
            reference::matches(pattern, &Activation { name, kind, counted: None, line: 0 })
        };
        let is_parted = |names: &BTreeSet<String>| match reference::pattern_of(stage) {
            Some(pattern) => {
                let matching = names.iter().filter(|name| matches(name, pattern)).count();
                matching > 0 && matching < names.len()
            }
            None => true,
        };
        reference::keeps_edges(stage) && !self.shared.iter().any(is_parted)
    }

    fn world(&self) -> World<'_> {
        World {
            end_ns: None,
            base: reference::totals(&self.samples),
            metrics: self.profile.metrics().count(),
            period: self.profile.info.metric.period,
            epochs: self.samples.iter().map(|sample| sample.epoch).chain([0]).collect(),
            execution: None,
            mixed: BTreeSet::new(),
            labels: self.labels.clone(),
            modules: self.modules.clone(),
        }
    }

    /// Some of the names, the frequent as well as the rare.
    fn some_names(&self) -> Vec<String> {
        let step = |place: &usize| *place < 40 || place.is_multiple_of(17);
        (0..self.names.len()).filter(step).map(|place| self.names[place].clone()).collect()
    }
}

/// What was recorded on each node, and the returns of each family.
fn families(profile: &Profile) -> (Vec<Recording>, Vec<u64>) {
    let base = Refined::base(profile);
    let mut epochs: BTreeMap<usize, usize> = BTreeMap::new();
    for stream in &profile.streams {
        *epochs.entry(stream.thread.index()).or_default() += 1;
    }
    let root = Recording { samples: 0, edges: 0, family: 0, is_exact: true };
    let mut nodes = vec![root; base.node_count()];
    let mut is_whole = vec![true; base.node_count()];
    let mut families = vec![0];
    for stream in &profile.streams {
        // The outermost nodes of all streams have one parent.
        let mut known = HashMap::new();
        for node in stream.nodes.clone().map(|node| node as usize) {
            let frame = &profile.frames[profile.nodes.frame[node].index()];
            let parent = profile.nodes.parent[node];
            is_whole[node] = is_whole[parent as usize] && frame.kind != FrameKind::Partial;
            let is_called = matches!(frame.kind, FrameKind::Call | FrameKind::Unknown);
            let key = (parent, frame.function, is_called);
            let family = *known.entry(key).or_insert(families.len());
            families.resize(families.len().max(family + 1), 0);
            let edges = profile.nodes.edges.at(node);
            families[family] += edges;
            nodes[node] = Recording {
                samples: in_width!(&base.costs, costs => costs.all.at(node)).0,
                edges,
                family,
                is_exact: is_whole[node]
                    && epochs[&stream.thread.index()] == 1
                    && !base.procedures.is_shared(profile, node),
            };
        }
    }
    (nodes, families)
}

/// Inclusive and exclusive samples of every path, of each metric; paths by their hash, since they
/// are long.
type Costs = HashMap<(usize, u64), [(u64, u64); METRICS]>;

fn extended(hash: u64, name: &str, kind: FrameKind) -> u64 {
    let mut hasher = DefaultHasher::new();
    (hash, name, kind).hash(&mut hasher);
    hasher.finish()
}

fn costs_of_samples(samples: &[Sample]) -> Costs {
    let mut costs = Costs::new();
    for sample in reference::in_order(samples).iter() {
        let mut hash = 0;
        for frame in &sample.path {
            hash = extended(hash, &frame.name, frame.kind);
            let costs = costs.entry((sample.thread, hash)).or_default();
            costs[sample.metric].0 += sample.weight;
        }
        let cost = &mut costs.entry((sample.thread, hash)).or_default()[sample.metric];
        cost.0 += if sample.path.is_empty() { sample.weight } else { 0 };
        cost.1 += sample.weight;
    }
    costs
}

/// The nodes that are shown, and their paths.
fn paths_of_nodes(refined: &Refined) -> Vec<(usize, (usize, u64))> {
    let refined = &told_apart(refined);
    let mut paths = Vec::new();
    let mut hashes = vec![0; refined.node_count()];
    for stream in &refined.streams {
        for node in stream.nodes.clone().map(|node| node as usize) {
            let frame = refined.frames[refined.frame[node].index()];
            let above = hashes[refined.parent[node] as usize];
            hashes[node] = match frame.kind {
                FrameKind::Root => above,
                kind => extended(above, &refined.functions[frame.function.index()].name, kind),
            };
            if refined.is_shown(node) {
                paths.push((node, (stream.thread.index(), hashes[node])));
            }
        }
    }
    paths
}

fn costs_of_nodes(refined: &Refined) -> Costs {
    let mut costs = Costs::new();
    for (node, path) in paths_of_nodes(refined) {
        let cost = costs.entry(path).or_default();
        for (metric, _) in refined.profile.metrics() {
            let (inclusive, exclusive) = refined.of_metric(node, metric);
            let cost = &mut cost[metric.index()];
            *cost = (cost.0 + inclusive, cost.1 + exclusive);
        }
    }
    costs
}

/// Least and greatest edge count of every path that has one.
type EdgeBounds = HashMap<(usize, u64), (u64, u64)>;

fn edges_of_nodes(refined: &Refined) -> EdgeBounds {
    let mut bounds = EdgeBounds::new();
    for (node, path) in paths_of_nodes(refined) {
        if let Some((low, high)) = refined.edges(u32::try_from(node).unwrap()) {
            let sum = bounds.entry(path).or_default();
            *sum = (sum.0 + low, sum.1 + high);
        }
    }
    bounds
}

/// The edge counts that every path with a count may have: if what was taken out of the samples of
/// a node met as many of the activations that were counted there as it could, and if all that is
/// left of a family met others of those that were counted in it. And whether the count of a path is
/// known, as long as nothing was taken out.
fn edges_of_samples(
    recorded: &Recorded,
    samples: &[Sample],
) -> HashMap<(usize, u64), (u64, u64, bool)> {
    // Samples that each path has now of each recorded node.
    let mut rest: HashMap<(usize, u64, usize), u64> = HashMap::new();
    let mut partial = HashSet::new();
    for sample in reference::in_order(samples).iter() {
        let mut hash = 0;
        let is_whole = sample.path.iter().all(|frame| frame.kind != FrameKind::Partial);
        for frame in &sample.path {
            hash = extended(hash, &frame.name, frame.kind);
            match frame.counted {
                Some(node) if is_whole => {
                    *rest.entry((sample.thread, hash, node)).or_default() += sample.weight;
                }
                _ => _ = partial.insert((sample.thread, hash)),
            }
        }
    }
    let mut bounds = HashMap::new();
    let mut families: HashMap<(usize, u64, usize), u64> = HashMap::new();
    for ((thread, hash, node), samples) in rest {
        // What stages made has no returns.
        let made = Recording { samples, edges: 0, family: 0, is_exact: false };
        let of_node = recorded.nodes.get(node).unwrap_or(&made);
        let path = (thread, hash);
        let (least, _, is_exact) = bounds.entry(path).or_insert((0, 0, !partial.contains(&path)));
        *least += of_node.edges.saturating_sub(of_node.samples - samples);
        *is_exact &= of_node.is_exact;
        *families.entry((thread, hash, of_node.family)).or_default() += samples;
    }
    for ((thread, hash, family), samples) in families {
        let (_, greatest, _) = bounds.get_mut(&(thread, hash)).unwrap();
        *greatest += recorded.families[family].min(samples);
    }
    bounds
}

/// All edge counts that are possible are in the bounds that are shown, which say no more than one
/// count if it is known.
fn check_edges(
    recorded: &Recorded,
    refined: &Refined,
    samples: &[Sample],
    stage: &str,
    is_kept: bool,
) -> Result<(), TestCaseError> {
    let found = edges_of_nodes(refined);
    for (path, (least, greatest, is_exact)) in edges_of_samples(recorded, samples) {
        let bounds = found.get(&path).copied();
        let are_in = bounds.is_some_and(|(low, high)| low <= least && greatest <= high);
        prop_assert!(are_in, "{}..{} in {:?} after {}", least, greatest, bounds, stage);
        let is_known = bounds.is_some_and(|(low, high)| low == high);
        prop_assert!(!(is_kept && is_exact) || is_known, "{:?} after {}", bounds, stage);
    }
    Ok(())
}

/// Stages of frames that are called by these names; with tests of rows, if so asked.
fn stages_of(names: Vec<String>, rows: bool) -> impl Strategy<Value = Stage> {
    let name = select(names).prop_map(FramePattern::Exact);
    let pattern = prop_oneof![
        3 => name.clone(),
        2 => prop::collection::vec(name.clone(), 2..9).prop_map(FramePattern::Any),
        1 => name.clone().prop_map(|name| FramePattern::Not(Box::new(name))),
    ]
    .boxed();
    let link = select(vec![Link::Direct, Link::Below, Link::Below]);
    let chain =
        (pattern.clone(), prop::collection::vec((link, pattern.clone()), 0..3), any::<bool>())
            .prop_map(|(first, rest, to_leaf)| Chain { from_root: false, first, rest, to_leaf });
    language::stages_by(chain.boxed(), pattern, rows)
}

fn check(recorded: &Recorded, stages: &[Stage]) -> Result<(), TestCaseError> {
    let world = recorded.world();
    let base = Refined::base(&recorded.profile);
    let mut refined = base.clone();
    let mut samples = recorded.samples.clone();
    check_edges(recorded, &refined, &samples, "no stage", true)?;
    let mut is_kept = true;
    for stage in stages {
        if reference::tests_edges(stage) {
            continue;
        }
        let refused = reference::is_refused(stage, &samples, &world);
        let next = refined.then(stage);
        prop_assert_eq!(next.is_err(), refused, "{}", stage);
        let Ok(next) = next else { continue };
        refined = next;
        samples = reference::apply(stage, samples, &world);
        assert_sound(&refined);
        let (found, expected) = (costs_of_nodes(&refined), costs_of_samples(&samples));
        prop_assert_eq!(found.len(), expected.len(), "paths after {}", stage);
        prop_assert!(found == expected, "costs after {}", stage);
        is_kept &= recorded.keeps_edges(stage);
        check_edges(recorded, &refined, &samples, &stage.to_string(), is_kept)?;
        check_sides(recorded, &refined, &samples)?;
        // What selects nothing takes nothing out.
        if !matches!(stage, Stage::Where(_) | Stage::RootAt { .. } | Stage::CallersOf(_)) {
            for (metric, _) in recorded.profile.metrics() {
                let refined = refined.clone().looking_at(metric);
                prop_assert_eq!(refined.outcomes.last().unwrap().out, 0, "{}", stage);
            }
        }
    }
    // What the stages were applied to has not changed.
    prop_assert!(costs_of_nodes(&base) == costs_of_samples(&recorded.samples));
    Ok(())
}

/// What is shown of each side of a comparison and what the stages took out of it are all that was
/// measured there.
fn check_sides(
    recorded: &Recorded,
    refined: &Refined,
    samples: &[Sample],
) -> Result<(), TestCaseError> {
    let Some(comparison) = &recorded.profile.comparison else { return Ok(()) };
    let side = |thread: usize| {
        let process = recorded.profile.info.threads[thread].process;
        usize::from(process >= comparison.first_other)
    };
    let mut kept = [0; 2];
    samples.iter().for_each(|sample| kept[side(sample.thread)] += sample.weight);
    let mut shown = [0; 2];
    for stream in refined.streams.iter() {
        let nodes = stream.nodes.clone().map(|node| refined.exclusive(node as usize));
        shown[side(stream.thread.index())] += nodes.sum::<u64>();
    }
    prop_assert_eq!(shown, kept);
    let totals = [0, 1].map(|side: usize| comparison.sides[side].total);
    prop_assert_eq!(totals[0] + totals[1], refined.base);
    let out = [totals[0] - shown[0], totals[1] - shown[1]];
    prop_assert_eq!(out[0] + out[1], refined.out);
    Ok(())
}

/// The inclusive cost of a function has one value, and hiding it leaves nothing of it.
fn check_function(recorded: &Recorded, name: &str) {
    let base = Refined::base(&recorded.profile);
    let f = FramePattern::Exact(name.to_owned());
    let shown = |stage: Stage| {
        let refined = base.then(&stage).unwrap();
        let mut shown = [0; METRICS];
        for (metric, _) in recorded.profile.metrics() {
            shown[metric.index()] = refined.clone().looking_at(metric).shown;
        }
        shown
    };
    let inclusive = reference::inclusive_of(&f, &recorded.samples);
    assert_eq!(shown(through(&f)), inclusive, "through {name}");
    assert_eq!(shown(Stage::RootAt { pattern: f.clone(), last: false }), inclusive, "{name}");
    assert_eq!(shown(Stage::CallersOf(f.clone())), inclusive, "{name}");
    let not = Stage::Where(not(&Predicate::Through(Chain::of(f.clone()))));
    let mut rest = reference::totals(&recorded.samples);
    rest.iter_mut().zip(inclusive).for_each(|(rest, inclusive)| *rest -= inclusive);
    assert_eq!(shown(not), rest, "not {name}");

    let hidden = base.then(&Stage::Hide(f.clone())).unwrap();
    assert!(hidden.then(&Stage::Hide(f.clone())).is_err(), "there is no {name} left");
    let called = |frame: &&crate::profile::Frame| {
        *base.functions[frame.function.index()].name == *name && frame.kind != FrameKind::Unknown
    };
    // Addresses without a name may be those of one activation.
    if recorded.profile.frames.iter().any(|frame| called(&frame)) {
        assert!(base.then(&Stage::CallersOf(f)).unwrap().edges_are_exact(), "{name}");
    }
}

#[test]
fn inclusive_cost_has_one_value() {
    for recorded in [&*MPI, &*COMPILER] {
        for name in recorded.names.iter().step_by(recorded.names.len() / 12 + 1) {
            check_function(recorded, name);
        }
    }
    for name in ["MPI_Send", "MPI_Allreduce", "main"] {
        check_function(&MPI, name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 16, failure_persistence: None, max_shrink_iters: 64, ..Default::default()
    })]

    #[test]
    fn stages_do_to_an_mpi_program_what_they_do_to_its_samples(
        stages in prop::collection::vec(stages_of(MPI.some_names(), true), 1..4),
    ) {
        check(&MPI, &stages)?;
    }
}

proptest! {
    // Its paths are long, and the reference looks at every frame of every one.
    #![proptest_config(ProptestConfig {
        cases: (ProptestConfig::default().cases / 128).max(3), failure_persistence: None, max_shrink_iters: 16, ..Default::default()
    })]

    #[test]
    fn stages_do_to_a_compiler_what_they_do_to_its_samples(
        stages in prop::collection::vec(stages_of(COMPILER.some_names(), false), 1..3),
    ) {
        check(&COMPILER, &stages)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: (ProptestConfig::default().cases / 64).max(3), failure_persistence: None, max_shrink_iters: 64, ..Default::default()
    })]

    #[test]
    fn stages_do_to_some_of_a_compiler_what_they_do_to_its_samples(
        stages in prop::collection::vec(stages_of(SOME_OF_COMPILER.some_names(), true), 1..4),
    ) {
        check(&SOME_OF_COMPILER, &stages)?;
    }

    /// Each side is refined as if it were alone, and accounts for its samples.
    #[test]
    fn stages_do_to_both_sides_of_a_comparison_what_they_do_to_their_samples(
        to_a_second_run in prop::collection::vec(stages_of(COMPARED[0].some_names(), false), 1..4),
        to_another_program in prop::collection::vec(stages_of(COMPARED[1].some_names(), false), 1..4),
    ) {
        check(&COMPARED[0], &to_a_second_run)?;
        check(&COMPARED[1], &to_another_program)?;
    }
}
