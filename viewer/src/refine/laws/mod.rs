//! The laws of refinement, checked on random executions.
//!
//! `execution` runs a made-up program and samples it, so that the true edge count of every path is
//! known; `reference` says what each stage does to one sample's path, in the simplest way. What
//! the stages make of the tree must agree with what the reference makes of the samples.

mod comparison;
pub(crate) mod execution;
pub(crate) mod language;
mod loops;
mod metrics;
mod recorded;
pub(crate) mod reference;
mod rows;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use csprof_format::ids::FrameId;
use proptest::prelude::*;

use self::execution::{
    Activation, Execution, METRICS, NAMES, Sample, executions, whole_executions,
};
use self::language::{patterns, predicates, stages};
use self::reference::World;
use crate::profile::{Counts, FrameKind, NodesBuilder, Profile};
use crate::refine::forest::walk::is_depth_first;
use crate::refine::forest::workspace::Table;
use crate::refine::{
    Chain, FramePattern, Grain, Predicate, Refined, Refinement, SetText, Sets, Stage, apply,
    complete, in_width, parse,
};

/// A path as it is shown: thread, then function and kind of each frame.
type Path = (usize, Vec<(String, FrameKind)>);

/// What is known of a path; samples of each metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    inclusive: [u64; METRICS],
    exclusive: [u64; METRICS],
    edges_low: u64,
    edges_high: u64,
    /// Whether anything is known of edges.
    counted: bool,
    /// Whether something is called there, of which edges may be known.
    called: bool,
}

/// The same forest with small rows numbered, of those of one name, in the order of their functions.
pub(crate) fn told_apart(refined: &Refined) -> Refined {
    let shown = refined.frames_shown().iter();
    let shown: BTreeSet<_> = shown.map(|frame| refined.frames[frame].function.index()).collect();
    let mut functions: Vec<_> = refined.functions.iter().cloned().collect();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for function in shown {
        let name = &mut functions[function].name;
        if name.ends_with(" small)") {
            let place = places.entry(name.to_string()).or_default();
            *name = format!("{name}#{place}").into();
            *place += 1;
        }
    }
    Refined { functions: Table::made(functions), ..refined.clone() }
}

/// Whether two ways to one thing show the same. Where their stages ask for lines, one may know an
/// edge count less well than the other: it leaves some lines of a function that the other takes out
/// whole. Then what both say of the count can be true.
fn show_the_same(profile: &Profile, ways: [&[Stage]; 2]) -> Result<(), TestCaseError> {
    let asks_for_lines =
        |stage| reference::pattern_of(stage).is_some_and(reference::asks_for_lines);
    let [mut one, mut other] = ways.map(|stages| shown(&applied(profile, stages)));
    if ways.into_iter().flatten().any(asks_for_lines) {
        for (path, cost) in &mut one {
            let Some(same) = other.get_mut(path) else { continue };
            let overlap = cost.edges_low <= same.edges_high && same.edges_low <= cost.edges_high;
            prop_assert!(overlap, "{path:?}: {cost:?}, {same:?}");
            (cost.edges_low, cost.edges_high) = (same.edges_low, same.edges_high);
        }
    }
    prop_assert_eq!(one, other);
    Ok(())
}

/// All paths that a forest shows; equal paths added up.
fn shown(refined: &Refined) -> BTreeMap<Path, Cost> {
    let refined = &told_apart(refined);
    let mut thread = vec![0; refined.node_count()];
    for stream in &refined.streams {
        for node in stream.nodes.clone() {
            thread[node as usize] = stream.thread.index();
        }
    }
    let mut paths: BTreeMap<Path, Cost> = BTreeMap::new();
    for node in (1..refined.node_count()).filter(|&node| refined.is_shown(node)) {
        let mut path = Vec::new();
        let mut at = node;
        while at != 0 {
            let frame = refined.frames[refined.frame[at].index()];
            if frame.kind != FrameKind::Root {
                let name = refined.functions[frame.function.index()].name.to_string();
                path.push((name, frame.kind));
            }
            at = refined.parent[at] as usize;
        }
        path.reverse();
        let cost = paths.entry((thread[node], path)).or_default();
        for (metric, _) in refined.profile.metrics() {
            let (inclusive, exclusive) = refined.of_metric(node, metric);
            cost.inclusive[metric.index()] += inclusive;
            cost.exclusive[metric.index()] += exclusive;
        }
        if let Some((low, high)) = refined.edges(u32::try_from(node).unwrap()) {
            cost.edges_low += low;
            cost.edges_high += high;
            cost.counted = true;
            cost.called = true;
        }
    }
    paths
}

/// What must hold of every forest, whatever the stages were.
fn assert_sound(refined: &Refined) {
    let in_order = follows_its_parent(refined);
    assert_eq!(is_depth_first(refined), in_order);
    assert!(in_order || !refined.is_depth_first());
    let mut together = vec![(0, 0); refined.node_count()];
    let mut base = 0;
    for (metric, _) in refined.profile.metrics() {
        let refined = refined.clone().looking_at(metric);
        assert_metric_is_sound(&refined);
        base += refined.base;
        for (node, sum) in together.iter_mut().enumerate() {
            *sum = (sum.0 + refined.inclusive(node), sum.1 + refined.exclusive(node));
        }
    }
    assert_eq!(base, refined.profile.total());
    for (node, sum) in together.into_iter().enumerate() {
        assert_eq!(in_width!(&refined.costs, costs => costs.all.at(node)), sum);
        assert_eq!(refined.is_shown(node), sum.0 > 0);
        if let Some((low, high)) = refined.edges(u32::try_from(node).unwrap())
            && refined.is_shown(node)
        {
            assert!(low <= high);
            assert!(high <= sum.0);
        }
    }
}

/// What must hold of the metric that is looked at.
fn assert_metric_is_sound(refined: &Refined) {
    assert_eq!(refined.shown + refined.out, refined.base);
    assert_eq!(
        (0..refined.node_count()).map(|node| refined.exclusive(node)).sum::<u64>(),
        refined.shown
    );
    let mut input = refined.base;
    for outcome in &refined.outcomes {
        assert_eq!(outcome.input, input);
        assert_eq!(outcome.shown + outcome.out, outcome.input);
        input = outcome.shown;
    }
    assert_eq!(input, refined.shown);
    let mut inclusive: Vec<u64> =
        (0..refined.node_count()).map(|node| refined.exclusive(node)).collect();
    for node in (1..refined.node_count()).rev() {
        let parent = refined.parent[node] as usize;
        assert!(parent < node);
        inclusive[parent] += inclusive[node];
    }
    assert!((0..refined.node_count()).all(|node| inclusive[node] == refined.inclusive(node)));
}

/// Samples shown, of all metrics together.
fn all_shown(refined: &Refined) -> u64 {
    refined.costs.inclusive(0)
}

/// Whether the parent of each node that is shown is the one before it, or above that.
fn follows_its_parent(refined: &Refined) -> bool {
    let mut shown = (1..refined.node_count()).filter(|&node| refined.is_shown(node));
    let mut path = vec![0];
    shown.all(|node| {
        while path.last().is_some_and(|&above| above != refined.parent[node]) {
            path.pop();
        }
        path.push(u32::try_from(node).unwrap());
        path.len() > 1
    })
}

/// Applies stages; one whose pattern matches nothing changes nothing.
fn applied(profile: &Profile, stages: &[Stage]) -> Refined {
    let mut refined = Refined::base(profile);
    for stage in stages {
        if let Ok(next) = refined.then(stage) {
            refined = next;
        }
    }
    refined
}

/// What a forest shows of every path is what the samples say; edge counts are in their bounds.
fn check_paths(
    refined: &Refined,
    samples: &[Sample],
    world: &World<'_>,
) -> Result<(), TestCaseError> {
    assert_sound(refined);
    let stages = || format!("{:?}", refined.outcomes.len());
    let expected = reference::paths(&reference::in_order(samples), world);
    let found = shown(refined);
    prop_assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (path, cost) in &found {
        let true_cost = expected[path];
        prop_assert_eq!(cost.inclusive, true_cost.inclusive, "{:?} after {}", path, stages());
        prop_assert_eq!(cost.exclusive, true_cost.exclusive, "{:?} after {}", path, stages());
        let is_in = (cost.edges_low..=cost.edges_high).contains(&true_cost.edges_low);
        prop_assert!(
            is_in || !cost.counted,
            "{:?} after {}: {} edges in {}..{}",
            path,
            stages(),
            true_cost.edges_low,
            cost.edges_low,
            cost.edges_high
        );
        // Where a thread did others' work in between, that nothing of its own returned is not told.
        let may_be_blank = true_cost.edges_low == 0 && world.has_handovers();
        let is_missing = true_cost.counted && !cost.counted && !may_be_blank;
        prop_assert!(!is_missing, "{:?} after {} has no edges", path, stages());
        let is_false = cost.counted && !true_cost.called;
        prop_assert!(!is_false, "{:?} after {} has edges", path, stages());
    }
    Ok(())
}

/// The profile with equal frames only once.
fn fused(mut profile: Profile) -> Profile {
    let mut first = HashMap::new();
    let mut nodes = NodesBuilder::from(&profile.nodes);
    for frame in &mut nodes.frame {
        *frame = *first.entry(profile.frames[frame.index()]).or_insert(*frame);
    }
    profile.nodes = nodes.finish();
    profile
}

fn through(pattern: &FramePattern) -> Stage {
    Stage::Where(Predicate::Through(Chain::of(pattern.clone())))
}

fn not(predicate: &Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Stages on the tree do what the reference does to every sample.
    #[test]
    fn stages_do_to_trees_what_they_do_to_samples(
        execution in executions(),
        stages in prop::collection::vec(stages(), 1..4),
    ) {
        let profile = execution.profile();
        let mut samples = execution.samples();
        let mut refined = Refined::base(&profile);
        let world = World::of(&execution);
        check_paths(&refined, &samples, &world)?;
        let mut exact = !execution.is_odd();
        prop_assert!(!exact || refined.edges_are_exact());
        for stage in &stages {
            if (!exact || world.has_handovers()) && reference::tests_edges(stage) {
                continue;
            }
            let unmatched = reference::is_refused(stage, &samples, &world);
            match refined.then(stage) {
                Err(error) => {
                    prop_assert!(unmatched, "{}: {}", stage, error);
                    continue;
                }
                Ok(next) => {
                    prop_assert!(!unmatched, "{} should have been refused", stage);
                    refined = next;
                }
            }
            samples = reference::apply(stage, samples, &world);
            exact &= reference::keeps_edges(stage);
            check_paths(&refined, &samples, &world)?;
            prop_assert!(!exact || refined.edges_are_exact(), "{}", stage);
        }
    }

    /// Profiles of more than four billion samples are refined like all others.
    #[test]
    fn the_width_of_counts_changes_nothing(
        execution in executions(),
        stages in prop::collection::vec(stages(), 1..4),
    ) {
        let profile = execution.profile();
        let mut wide = profile.clone();
        wide.nodes.samples.widen();
        wide.nodes.further.iter_mut().for_each(Counts::widen);
        wide.nodes.edges.widen();
        let (narrow, wide) = (applied(&profile, &stages), applied(&wide, &stages));
        assert_sound(&wide);
        prop_assert_eq!(shown(&narrow), shown(&wide));
        prop_assert!(wide.bytes() > narrow.bytes());
    }

    /// Frames that differ by their address alone are one to all stages.
    #[test]
    fn addresses_keep_nothing_apart(
        execution in executions(),
        stages in prop::collection::vec(stages(), 1..4),
        addresses in 1..5_u32,
    ) {
        let mut apart = execution.profile();
        for (frame, number) in apart.frames.iter_mut().zip(0_u32..) {
            frame.site = Some(FrameId(number % addresses));
        }
        let [apart, fused] = [apart, fused(execution.profile())].map(|p| applied(&p, &stages));
        prop_assert_eq!(shown(&apart), shown(&fused));
        prop_assert_eq!(apart.node_count(), fused.node_count());
        prop_assert_eq!(apart.outcomes, fused.outcomes);
    }

    /// A predicate and its negation part the profile; selections commute and combine.
    #[test]
    fn selections_are_boolean(
        execution in executions(),
        p in predicates(),
        q in predicates(),
    ) {
        let profile = execution.profile();
        let select = |predicate: &Predicate| {
            apply(&profile, &Refinement { stages: vec![Stage::Where(predicate.clone())] })
        };
        let (Ok(with_p), Ok(with_q)) = (select(&p), select(&q)) else { return Ok(()) };
        let without_p = select(&not(&p)).unwrap();
        prop_assert_eq!(all_shown(&with_p) + all_shown(&without_p), profile.total());
        for node in 0..profile.nodes.len() {
            prop_assert!(with_p.exclusive(node) == 0 || without_p.exclusive(node) == 0);
        }
        let both = select(&Predicate::And(vec![p.clone(), q.clone()])).unwrap();
        let either = select(&Predicate::Or(vec![p.clone(), q.clone()])).unwrap();
        for (metric, _) in profile.metrics() {
            let [p, q, both, either] = [&with_p, &with_q, &both, &either]
                .map(|refined| refined.clone().looking_at(metric).shown);
            prop_assert_eq!(p + q, both + either);
        }
        if let (Ok(p_q), Ok(q_p)) = (
            with_p.then(&Stage::Where(q.clone())),
            with_q.then(&Stage::Where(p.clone())),
        ) {
            for node in 0..profile.nodes.len() {
                prop_assert_eq!(p_q.exclusive(node), both.exclusive(node), "{} | {}", &p, &q);
                prop_assert_eq!(q_p.exclusive(node), both.exclusive(node), "{} | {}", &q, &p);
            }
        }
    }

    /// Hiding one set and then another is hiding both, and hiding twice is hiding once.
    #[test]
    fn hiding_combines(execution in executions(), a in patterns(), b in patterns()) {
        let profile = execution.profile();
        let (hide_a, hide_b) = (Stage::Hide(a.clone()), Stage::Hide(b.clone()));
        let both = Stage::Hide(FramePattern::Any(vec![a.clone(), b.clone()]));
        show_the_same(&profile, [&[hide_a.clone(), hide_b], &[both]])?;
        let once = shown(&applied(&profile, std::slice::from_ref(&hide_a)));
        prop_assert_eq!(once, shown(&applied(&profile, &[hide_a.clone(), hide_a])));
    }

    /// Transforms of frames take nothing out, and doing them twice changes nothing more.
    #[test]
    fn transforms_are_idempotent(execution in executions(), pattern in patterns()) {
        let profile = execution.profile();
        for stage in [
            Stage::Hide(pattern.clone()),
            Stage::StopAt(pattern.clone()),
            Stage::Collapse(pattern.clone()),
            Stage::CollapseRun(pattern.clone()),
            Stage::Fold(pattern.clone()),
            Stage::Group { pattern: pattern.clone(), name: "G".to_owned() },
        ] {
            let once = applied(&profile, std::slice::from_ref(&stage));
            prop_assert_eq!(all_shown(&once), profile.total());
            let twice = applied(&profile, &[stage.clone(), stage.clone()]);
            prop_assert_eq!(shown(&once), shown(&twice), "{} twice", stage);
        }
    }

    /// A stage that deletes frames moves the samples whose last frame it deletes.
    #[test]
    fn samples_of_deleted_frames_are_said_to_have_moved(
        execution in executions(),
        hidden in patterns(),
        pattern in patterns(),
    ) {
        let profile = execution.profile();
        // What has no frame left is not to move once more.
        let hide = Stage::Hide(hidden);
        let refined = applied(&profile, std::slice::from_ref(&hide));
        let world = World::of(&execution);
        let samples = match refined.outcomes[..] {
            [] => execution.samples(),
            _ => reference::apply(&hide, execution.samples(), &world),
        };
        let group = Stage::Group { pattern: pattern.clone(), name: "G".to_owned() };
        for stage in [
            Stage::Hide(pattern.clone()),
            Stage::StopAt(pattern.clone()),
            Stage::Cut(pattern.clone()),
            Stage::Collapse(pattern.clone()),
            Stage::CollapseRun(pattern.clone()),
            group,
            Stage::By(Grain::Module),
            Stage::By(Grain::File),
            Stage::Fold(pattern.clone()),
        ] {
            let Ok(next) = refined.then(&stage) else { continue };
            let moves = |sample: &reference::Deleted| match &stage {
                Stage::Fold(_) => sample.matches > 1 && sample.last_matches,
                _ => sample.last_is_deleted,
            };
            let deleted = reference::deleted(&stage, &pattern, &samples, &world);
            for (metric, _) in profile.metrics() {
                let is_ours = |sample: &&reference::Deleted| sample.metric == metric.index();
                let moved: u64 = deleted
                    .iter()
                    .filter(is_ours)
                    .filter(|sample| moves(sample))
                    .map(|sample| sample.weight)
                    .sum();
                let next = next.clone().looking_at(metric);
                prop_assert_eq!(next.outcomes.last().unwrap().moved, moved, "{}", stage);
            }
        }
    }

    /// Collapsing commutes, and so do groups without common members.
    #[test]
    fn what_is_said_to_commute_does(
        execution in executions(),
        a in patterns(),
        b in patterns(),
        owners in prop::array::uniform4(0..3),
    ) {
        let profile = execution.profile();
        let commute = |one: Stage, other: Stage| {
            let (there, back) = ([one.clone(), other.clone()], [other, one]);
            show_the_same(&profile, [&there, &back])
        };
        commute(Stage::Collapse(a), Stage::Collapse(b))?;
        let group = |owner: i32, name: &str| {
            let names = NAMES.iter().zip(owners).filter(|(_, of)| *of == owner);
            let members = names.map(|(name, _)| FramePattern::Exact((*name).to_owned()));
            let some = applied(&profile, &[]);
            let members = members.filter(|member| some.then(&through(member)).is_ok());
            Stage::Group {
                pattern: FramePattern::Any(members.collect()),
                name: name.to_owned(),
            }
        };
        commute(group(0, "A"), group(1, "B"))?;
    }

    /// Three ways to the inclusive cost of a set of functions, safe against recursion.
    #[test]
    fn inclusive_cost_has_one_value(execution in executions(), pattern in patterns()) {
        let profile = execution.profile();
        let stage = Stage::RootAt { pattern: pattern.clone(), last: false };
        let Ok(rooted) = Refined::base(&profile).then(&stage) else { return Ok(()) };
        let selected = Refined::base(&profile).then(&through(&pattern)).unwrap();
        for (metric, _) in profile.metrics() {
            let [rooted, selected] =
                [&rooted, &selected].map(|refined| refined.clone().looking_at(metric).shown);
            prop_assert_eq!(rooted, selected);
            let maximal = reference::inclusive_of(&pattern, &execution.samples());
            prop_assert_eq!(rooted, maximal[metric.index()]);
        }
        // At and below a match nothing was lost, so counts are exact there.
        let is_exact = reference::keeps_edges(&stage) && !execution.is_odd();
        prop_assert!(!is_exact || rooted.edges_are_exact());
    }

    /// `through F` takes nothing out at F or below it, so edge counts are exact there, if they
    /// were; but for threads that entered another epoch, where one more activation may have
    /// returned.
    #[test]
    fn counts_at_and_below_what_is_selected_are_exact(
        execution in whole_executions(),
        stages in prop::collection::vec(stages(), 0..2),
        pattern in patterns(),
    ) {
        if reference::asks_for_lines(&pattern) {
            return Ok(());
        }
        let profile = execution.profile();
        let world = World::of(&execution);
        let (mut refined, mut samples) = (Refined::base(&profile), execution.samples());
        let select = through(&pattern);
        // Of a row above a handover the reference does not know that its count is blank.
        let is_known = |stage: &&Stage| {
            let may_be_blank = world.has_handovers() && reference::tests_edges(stage);
            reference::keeps_edges(stage) && !may_be_blank
        };
        for stage in stages.iter().filter(is_known).chain([&select]) {
            let Ok(next) = refined.then(stage) else { continue };
            refined = next;
            samples = reference::apply(stage, samples, &world);
        }
        let expected = reference::paths(&reference::in_order(&samples), &world);
        let epochs: BTreeSet<_> =
            execution.samples().iter().map(|sample| (sample.thread, sample.epoch)).collect();
        let has_one_epoch = |of: usize| epochs.iter().filter(|(thread, _)| *thread == of).count() < 2;
        for ((thread, path), cost) in shown(&refined) {
            let is_match = |(name, kind): &(String, FrameKind)| {
                let name = name.as_str().into();
                reference::matches(&pattern, &Activation { name, kind: *kind, counted: None, line: 0 })
            };
            if has_one_epoch(thread) && path.iter().any(is_match) {
                let edges = expected[&(thread, path.clone())].edges_low;
                let found = [cost.edges_low, cost.edges_high];
                prop_assert_eq!(found, [edges; 2], "{:?} through {}", path, &pattern);
            }
        }
    }

    /// The threads together are the whole.
    #[test]
    fn threads_add_up(execution in executions(), pattern in patterns()) {
        let profile = execution.profile();
        let whole = applied(&profile, &[Stage::Hide(pattern.clone())]);
        let mut sum = 0;
        for thread in 0..Execution::THREADS {
            let select = parse(&format!("thread in {thread}")).unwrap().stages.remove(0);
            // The thread is known after frames were hidden, even where none is left.
            let Ok(one) = whole.then(&select) else { continue };
            let other_order = applied(&profile, &[select, Stage::Hide(pattern.clone())]);
            prop_assert_eq!(shown(&one), shown(&other_order));
            sum += all_shown(&one);
        }
        prop_assert_eq!(sum, profile.total());
    }

    /// Printing and parsing are inverse.
    #[test]
    fn what_is_printed_is_what_was_meant(
        stages in prop::collection::vec(language::any_stages(), 0..4),
    ) {
        let refinement = Refinement { stages };
        let text = refinement.to_string();
        prop_assert_eq!(language::sets().parse(&text), Ok(refinement), "{}", text);
    }

    /// Whatever is read as a path, a definition, a file of sets or for completion is answered, and
    /// errors point into the text.
    #[test]
    fn any_text_is_answered_everywhere(
        text in language::texts(),
        file in prop::collection::vec(language::texts(), 0..6),
        cursor in 0_usize..40,
    ) {
        let mut place = String::new();
        for (line, definition) in file.iter().enumerate() {
            place.push_str(&format!("@s{} = {definition}\n", line % 4));
        }
        let sets = Sets::read(&[SetText { place: "sets", text: &place }]);
        let profile = crate::profile::from_outline("a 1\n  MPI_Send 2\n").unwrap();
        for text in [text.as_str(), place.as_str()] {
            if let Err(error) = sets.parse_path(text) {
                prop_assert!(text.get(error.range.clone()).is_some(), "{:?}", error);
            }
            match sets.parse_definition(text) {
                Ok((name, pattern)) => {
                    let printed = format!("@{name} = {pattern}");
                    prop_assert_eq!(sets.parse_definition(&printed), Ok((name, pattern)));
                }
                Err(error) => prop_assert!(text.get(error.range.clone()).is_some(), "{:?}", error),
            }
            let completion = complete(text, cursor, &Refined::base(&profile), &sets);
            prop_assert!(text.get(completion.range).is_some());
        }
        for problem in sets.problems() {
            prop_assert!(problem.to_string().starts_with("sets:"));
        }
    }

    /// The parser answers any input with stages or an error that points into it.
    #[test]
    fn any_text_is_parsed_or_refused(text in language::texts()) {
        match parse(&text) {
            Ok(refinement) => {
                let printed = refinement.to_string();
                prop_assert_eq!(parse(&printed), Ok(refinement), "{} printed as {}", text, printed);
            }
            Err(error) => {
                prop_assert!(error.range.start <= error.range.end, "{:?}", error);
                prop_assert!(text.get(error.range.clone()).is_some(), "{:?}", error);
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
