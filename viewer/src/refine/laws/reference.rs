//! What stages do to the path of one sample, said as simply as possible.

use std::collections::{BTreeMap, BTreeSet};

use super::execution::{Activation, Execution, MODULES, NAMES, Sample};
use super::{Cost, Path};
use crate::profile::FrameKind;
use crate::refine::preset::Preset;
use crate::refine::syntax::{Axis, Chain, Field, FramePattern, Grain, Link, Predicate, Stage};

/// Whether a frame matches; for the patterns that the strategies make.
pub(super) fn matches(pattern: &FramePattern, frame: &Activation) -> bool {
    match pattern {
        FramePattern::Exact(name) | FramePattern::Glob(name) => frame.name == *name,
        FramePattern::Field(Field::Kind, kind) => match frame.kind {
            FrameKind::Inline => kind == "inline",
            FrameKind::Partial => kind == "partial",
            _ => kind == "call",
        },
        FramePattern::Any(any) => any.iter().any(|pattern| matches(pattern, frame)),
        FramePattern::All(all) => all.iter().all(|pattern| matches(pattern, frame)),
        FramePattern::Not(inner) => !matches(inner, frame),
        FramePattern::Preset(Preset::Start) => frame.name == "_start",
        _ => unreachable!("the strategies make no {pattern}"),
    }
}

/// Whether a stage can be applied to these samples: every pattern in it means a frame.
pub(super) fn has_unmatched_pattern(stage: &Stage, samples: &[Sample]) -> bool {
    fn in_predicate(predicate: &Predicate, unmatched: &dyn Fn(&FramePattern) -> bool) -> bool {
        match predicate {
            Predicate::And(inner) | Predicate::Or(inner) => {
                inner.iter().any(|inner| in_predicate(inner, unmatched))
            }
            Predicate::Not(inner) => in_predicate(inner, unmatched),
            Predicate::Through(chain) => {
                unmatched(&chain.first) || chain.rest.iter().any(|(_, frame)| unmatched(frame))
            }
            Predicate::Under(pattern)
            | Predicate::In(pattern)
            | Predicate::Leaf(pattern)
            | Predicate::Times { pattern, .. } => unmatched(pattern),
            _ => false,
        }
    }
    let unmatched = |pattern: &FramePattern| {
        !samples.iter().flat_map(|sample| &sample.path).any(|frame| matches(pattern, frame))
    };
    match stage {
        Stage::By(_) | Stage::Split(_) | Stage::Small(_) => false,
        Stage::Where(predicate) => in_predicate(predicate, &unmatched),
        Stage::Hide(pattern)
        | Stage::StopAt(pattern)
        | Stage::Cut(pattern)
        | Stage::Group { pattern, .. }
        | Stage::RootAt { pattern, .. }
        | Stage::Collapse(pattern)
        | Stage::CollapseRun(pattern)
        | Stage::CallersOf(pattern)
        | Stage::Fold(pattern) => unmatched(pattern),
    }
}

/// Whether what happens to a frame depends on the frames at or above it alone.
pub(super) fn is_prefix_stable(stage: &Stage) -> bool {
    !matches!(stage, Stage::Where(_) | Stage::Fold(_) | Stage::RootAt { last: true, .. })
}

pub(super) fn apply(stage: &Stage, samples: Vec<Sample>) -> Vec<Sample> {
    samples
        .into_iter()
        .filter_map(|mut sample| {
            sample.path = rewrite(stage, sample.thread, sample.path)?;
            Some(sample)
        })
        .collect()
}

/// The path after a stage; `None` if the stage takes the sample out.
fn rewrite(stage: &Stage, thread: usize, path: Vec<Activation>) -> Option<Vec<Activation>> {
    let is = |pattern: &FramePattern, at: usize| matches(pattern, &path[at]);
    let positions = |pattern: &FramePattern| -> Vec<usize> {
        (0..path.len()).filter(|&at| is(pattern, at)).collect()
    };
    let kept = |keep: &dyn Fn(usize) -> bool| {
        (0..path.len()).filter(|&at| keep(at)).map(|at| path[at].clone()).collect::<Vec<_>>()
    };
    Some(match stage {
        Stage::Where(predicate) => {
            if !holds(predicate, thread, &path) {
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
                    let kind = if frame.kind == FrameKind::Inline {
                        FrameKind::Inline
                    } else {
                        FrameKind::Call
                    };
                    Activation { name: name.clone(), kind, id: frame.id }
                })
                .collect()
        }
        Stage::RootAt { pattern: f, last } => {
            let found = positions(f);
            let begin = if *last { found.last() } else { found.first() };
            path[*begin?..].to_vec()
        }
        Stage::Collapse(f) => {
            kept(&|at| !(is(f, at) && path[..at].iter().any(|above| above.name == path[at].name)))
        }
        Stage::CollapseRun(f) => {
            kept(&|at| !(is(f, at) && at > 0 && path[at - 1].name == path[at].name))
        }
        Stage::By(Grain::Module) => {
            let mut modules: Vec<Activation> = Vec::new();
            for frame in path {
                let name = module(&frame);
                if modules.last().is_none_or(|last| last.name != name) {
                    modules.push(Activation { name: name.to_owned(), ..frame });
                }
            }
            modules
        }
        Stage::By(_) => path,
        Stage::Fold(f) => match positions(f)[..] {
            [first, .., last] => kept(&|at| at <= first || at > last),
            _ => path,
        },
        Stage::CallersOf(_) | Stage::Split(_) | Stage::Small(_) => {
            unreachable!("the strategies make no {stage}")
        }
    })
}

/// What `by module` calls a frame; groups and modules themselves have no module.
fn module(frame: &Activation) -> &str {
    match NAMES.iter().position(|name| *name == frame.name) {
        Some(name) => MODULES[name],
        None if frame.kind == FrameKind::Partial || MODULES.contains(&frame.name.as_str()) => {
            &frame.name
        }
        None => "[no module]",
    }
}

fn holds(predicate: &Predicate, thread: usize, path: &[Activation]) -> bool {
    match predicate {
        Predicate::And(all) => all.iter().all(|inner| holds(inner, thread, path)),
        Predicate::Or(any) => any.iter().any(|inner| holds(inner, thread, path)),
        Predicate::Not(inner) => !holds(inner, thread, path),
        Predicate::Through(chain) => (0..path.len()).any(|at| chain_from(chain, path, at)),
        Predicate::Under(f) => {
            path.split_last().is_some_and(|(_, above)| above.iter().any(|frame| matches(f, frame)))
        }
        Predicate::In(f) => path
            .iter()
            .rposition(|frame| matches(f, frame))
            .is_some_and(|at| path[at + 1..].iter().all(|frame| frame.kind == FrameKind::Inline)),
        Predicate::Leaf(f) => path.last().is_some_and(|frame| matches(f, frame)),
        Predicate::Times { pattern, comparison, count } => {
            let times = path.iter().filter(|frame| matches(pattern, frame)).count();
            comparison.holds(&times, &(*count as usize))
        }
        Predicate::Depth { comparison, count } => comparison.holds(&path.len(), &(*count as usize)),
        Predicate::Numbered { axis: Axis::Thread, ranges } => {
            ranges.iter().any(|&(first, last)| (first as usize..=last as usize).contains(&thread))
        }
        _ => unreachable!("the strategies make no {predicate}"),
    }
}

/// Whether the chain's first frame is at `at` and the others follow somehow.
fn chain_from(chain: &Chain, path: &[Activation], at: usize) -> bool {
    let outermost = path[..at].iter().all(|frame| frame.name == "_start");
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

/// Samples whose path has a match.
pub(super) fn inclusive_of(pattern: &FramePattern, samples: &[Sample]) -> u64 {
    let has = |sample: &&Sample| sample.path.iter().any(|frame| matches(pattern, frame));
    samples.iter().filter(has).map(|sample| sample.weight).sum()
}

/// Every path of the samples, with its true cost and edge count.
pub(super) fn paths(samples: &[Sample], execution: &Execution) -> BTreeMap<Path, Cost> {
    let mut paths: BTreeMap<Path, (Cost, BTreeSet<usize>)> = BTreeMap::new();
    for sample in samples {
        let path: Vec<_> =
            sample.path.iter().map(|frame| (frame.name.clone(), frame.kind)).collect();
        if path.is_empty() {
            let (cost, _) = paths.entry((sample.thread, path)).or_default();
            cost.inclusive += sample.weight;
            cost.exclusive += sample.weight;
            continue;
        }
        for (depth, frame) in sample.path.iter().enumerate() {
            let prefix = (sample.thread, path[..=depth].to_vec());
            let (cost, activations) = paths.entry(prefix).or_default();
            cost.inclusive += sample.weight;
            cost.exclusive += if depth + 1 == path.len() { sample.weight } else { 0 };
            if frame.kind == FrameKind::Call && execution.has_returned(frame.id) {
                activations.insert(frame.id);
            }
        }
    }
    let counted = |(path, (mut cost, activations)): (Path, (Cost, BTreeSet<usize>))| {
        cost.edges_low = activations.len() as u64;
        cost.edges_high = cost.edges_low;
        (path, cost)
    };
    paths.into_iter().map(counted).collect()
}
