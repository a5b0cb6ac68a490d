//! Predicates evaluated on every node: the set of nodes whose path satisfies them.
//!
//! A node stands for the path that ends in it, together with the thread and epoch it was sampled
//! in. Node 0 stands for the empty path, and so do nodes that only hold samples without frames.

use super::contexts::Contexts;
use super::matcher::Matcher;
use super::{chain, rows};
use crate::profile::{FrameKind, Stream};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::comparison::Comparison;
use crate::refine::lang::preset::Preset;
use crate::refine::lang::syntax::{FramePattern, Predicate};
use crate::refine::pattern::glob::Glob;
use crate::refine::watch::{Cancelled, Watch};

/// The nodes that satisfy a predicate. Recursion ends where the parser's limit on nesting does.
pub(crate) fn nodes(
    matcher: &Matcher<'_>,
    refined: &Refined,
    predicate: &Predicate,
    watch: &Watch<'_>,
) -> Result<Bits, Stop> {
    let count = refined.node_count();
    let recurse = |predicate| nodes(matcher, refined, predicate, watch);
    Ok(match predicate {
        Predicate::And(all) => {
            let mut set = Bits::none(count);
            set.complement();
            for predicate in all {
                set.intersect(&recurse(predicate)?);
            }
            set
        }
        Predicate::Or(any) => {
            let mut set = Bits::none(count);
            for predicate in any {
                set.unite(&recurse(predicate)?);
            }
            set
        }
        Predicate::Not(inner) => {
            let mut set = recurse(inner)?;
            set.complement();
            set
        }
        Predicate::Through(chain) => {
            let patterns = std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, f)| f));
            let sets =
                patterns.map(|pattern| matcher.frames(pattern)).collect::<Result<Vec<_>, _>>()?;
            match &sets[..] {
                // By far the most frequent chain needs one bit of state.
                [set] if !chain.from_root && !chain.to_leaf => inherited(
                    refined,
                    watch,
                    |node, above: u8| above | u8::from(has(refined, set, node)),
                    |_, here| here != 0,
                )?,
                _ => {
                    let start = start_of_paths(matcher, refined, chain.from_root);
                    chain::through(refined, chain, &sets, &start, watch)?
                }
            }
        }
        Predicate::Under(pattern) => {
            let set = matcher.frames(pattern)?;
            // What a node passes on: a match at or above it.
            inherited(
                refined,
                watch,
                |node, above: u8| above | u8::from(has(refined, &set, node)),
                |above, _| above != 0,
            )?
        }
        Predicate::In(pattern) => {
            let set = matcher.frames(pattern)?;
            let inline = Bits::from_fn(refined.frames.len(), |frame| {
                refined.frames[frame].kind.is_within_caller()
            });
            let is_in = |node, above: u8| {
                has(refined, &set, node) || (above != 0 && has(refined, &inline, node))
            };
            inherited(
                refined,
                watch,
                |node, above| u8::from(is_in(node, above)),
                |_, here| here != 0,
            )?
        }
        Predicate::Leaf(pattern) => {
            let set = matcher.frames(pattern)?;
            Bits::of_nodes(count, watch, |node| has(refined, &set, node))?
        }
        Predicate::Times { pattern, comparison, count } => {
            let set = matcher.frames(pattern)?;
            counted(refined, watch, &set, *comparison, *count)?
        }
        Predicate::Depth { comparison, count } => {
            let frames = Bits::from_fn(refined.frames.len(), |frame| {
                refined.frames[frame].kind.is_in_paths()
            });
            counted(refined, watch, &frames, *comparison, *count)?
        }
        Predicate::Node(test) => rows::of_passing_rows(refined, test, watch)?,
        Predicate::Numbered { axis, ranges } => {
            let contexts = Contexts::new(refined);
            let holds = |stream: &Stream| contexts.is_numbered(stream, *axis, ranges);
            contexts.nodes(*axis, predicate, holds)?
        }
        Predicate::Named { axis, glob } => {
            let contexts = Contexts::new(refined);
            let glob = Glob::new(glob);
            let holds = |stream: &Stream| contexts.is_named(stream, *axis, &glob);
            contexts.nodes(*axis, predicate, holds)?
        }
    })
}

/// Whether a predicate may tell the lines of one function apart, or epochs, and keep some of an
/// activation's samples for where or when they met it.
pub(crate) fn parts_procedures(matcher: &Matcher<'_>, predicate: &Predicate) -> bool {
    let recurse = |predicate| parts_procedures(matcher, predicate);
    let parts = |pattern| matcher.parts_procedures(pattern, || matcher.any_frames(pattern));
    match predicate {
        Predicate::And(inner) | Predicate::Or(inner) => inner.iter().any(recurse),
        Predicate::Not(inner) => recurse(inner),
        Predicate::Through(chain) => {
            parts(&chain.first) || chain.rest.iter().any(|(_, pattern)| parts(pattern))
        }
        Predicate::Under(pattern)
        | Predicate::In(pattern)
        | Predicate::Leaf(pattern)
        | Predicate::Times { pattern, .. } => parts(pattern),
        Predicate::Numbered { axis, .. } | Predicate::Named { axis, .. } => {
            axis.definition().parts_activations
        }
        Predicate::Depth { .. } | Predicate::Node(_) => false,
    }
}

/// The frames that lie above the first one of a path and do not count as its beginning: start-up
/// code, and what `split` puts there.
fn start_of_paths(matcher: &Matcher<'_>, refined: &Refined, from_root: bool) -> Bits {
    if !from_root {
        return Bits::none(refined.frames.len());
    }
    let mut start = matcher.any_frames(&FramePattern::Preset(Preset::Start));
    start.unite(&Bits::from_fn(refined.frames.len(), |frame| {
        refined.frames[frame].kind == FrameKind::Context
    }));
    start
}

fn has(refined: &Refined, set: &Bits, node: usize) -> bool {
    set.contains(refined.frame[node].index())
}

/// One forward pass: each node's state is made of its parent's (`step`), and the two decide
/// whether the node is in the set (`test`, given the parent's and its own). The root's state is
/// the default one.
fn inherited<S: Copy + Default>(
    refined: &Refined,
    watch: &Watch<'_>,
    step: impl Fn(usize, S) -> S,
    test: impl Fn(S, S) -> bool,
) -> Result<Bits, Cancelled> {
    let parent = &refined.parent[..];
    let mut states = vec![S::default(); parent.len()];
    Bits::of_nodes(parent.len(), watch, |node| {
        let above = states[parent[node] as usize];
        let here = if node == 0 { above } else { step(node, above) };
        states[node] = here;
        test(above, here)
    })
}

/// Nodes on whose path so many frames are of the set. One more than is asked for is as good as
/// any greater number, so that a byte for each node is nearly always enough.
fn counted(
    refined: &Refined,
    watch: &Watch<'_>,
    set: &Bits,
    comparison: Comparison,
    count: u32,
) -> Result<Bits, Cancelled> {
    match u8::try_from(count) {
        Ok(count) if count < u8::MAX - 1 => inherited(
            refined,
            watch,
            |node, above: u8| (above + u8::from(has(refined, set, node))).min(count + 1),
            |_, here| comparison.holds(&here, &count),
        ),
        _ => inherited(
            refined,
            watch,
            |node, above: u32| above + u32::from(has(refined, set, node)),
            |_, here| comparison.holds(&here, &count),
        ),
    }
}
