//! Predicates evaluated on every node: the set of nodes whose path satisfies them.
//!
//! A node stands for the path that ends in it, together with the thread and epoch it was sampled
//! in. Node 0 stands for the empty path, and so do nodes that only hold samples without frames.

use super::Refined;
use super::apply::Cause;
use super::bits::Bits;
use super::chain;
use super::matcher::{Glob, Matcher};
use super::preset::Preset;
use super::rows;
use super::stages::{Stop, Unmatched};
use super::syntax::{Axis, Comparison, FramePattern, Predicate};
use super::watch::{Cancelled, Watch};
use crate::profile::{FrameKind, Stream, program};

/// The nodes that satisfy a predicate. Recursion ends where the parser's limit on nesting does.
pub(super) fn nodes(
    matcher: &Matcher<'_, '_>,
    refined: &Refined<'_>,
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
                refined.frames[frame].kind == FrameKind::Inline
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
                !matches!(refined.frames[frame].kind, FrameKind::Root | FrameKind::Context)
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
pub(super) fn parts_procedures(matcher: &Matcher<'_, '_>, predicate: &Predicate) -> bool {
    let recurse = |predicate| parts_procedures(matcher, predicate);
    let parts = |pattern| matcher.parts_procedures(pattern, &matcher.any_frames(pattern));
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
        // A thread enters an epoch with activations on its stack.
        Predicate::Numbered { axis, .. } | Predicate::Named { axis, .. } => *axis == Axis::Epoch,
        Predicate::Depth { .. } | Predicate::Node(_) => false,
    }
}

/// The frames that lie above the first one of a path and do not count as its beginning: start-up
/// code, and what `split` puts there.
fn start_of_paths(matcher: &Matcher<'_, '_>, refined: &Refined<'_>, from_root: bool) -> Bits {
    if !from_root {
        return Bits::none(refined.frames.len());
    }
    let mut start = matcher.any_frames(&FramePattern::Preset(Preset::Start));
    start.unite(&Bits::from_fn(refined.frames.len(), |frame| {
        refined.frames[frame].kind == FrameKind::Context
    }));
    start
}

fn has(refined: &Refined<'_>, set: &Bits, node: usize) -> bool {
    set.contains(refined.frame[node].index())
}

/// One forward pass: each node's state is made of its parent's (`step`), and the two decide
/// whether the node is in the set (`test`, given the parent's and its own). The root's state is
/// the default one.
fn inherited<S: Copy + Default>(
    refined: &Refined<'_>,
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
    refined: &Refined<'_>,
    watch: &Watch<'_>,
    set: &Bits,
    comparison: Comparison,
    count: u32,
) -> Result<Bits, Cancelled> {
    match u8::try_from(count) {
        Ok(count) if count < u8::MAX => inherited(
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

/// Ranks, threads and epochs of the streams.
pub(super) struct Contexts<'r, 'p> {
    refined: &'r Refined<'p>,
    /// Position of each thread within its process.
    thread_numbers: Vec<u32>,
}

impl<'r, 'p> Contexts<'r, 'p> {
    pub(super) fn new(refined: &'r Refined<'p>) -> Self {
        let threads = &refined.profile.info.threads;
        let mut thread_numbers: Vec<u32> = Vec::with_capacity(threads.len());
        for (index, thread) in threads.iter().enumerate() {
            // Threads of one process are consecutive.
            let follows = index > 0 && threads[index - 1].process == thread.process;
            thread_numbers.push(if follows { thread_numbers[index - 1] + 1 } else { 0 });
        }
        Self { refined, thread_numbers }
    }

    /// What `in` compares with.
    pub(super) fn number(&self, stream: &Stream, axis: Axis) -> Option<u32> {
        let info = &self.refined.profile.info;
        match axis {
            Axis::Rank => info.processes.get(stream.process.index())?.rank,
            Axis::Process => u32::try_from(stream.process.index()).ok(),
            Axis::Thread => self.thread_numbers.get(stream.thread.index()).copied(),
            Axis::Epoch => Some(info.epochs.get(stream.epoch.index())?.number),
        }
    }

    /// What `=` compares with: name and id on the host of a thread or of a process (its program's
    /// file), otherwise the number.
    fn names(&self, stream: &Stream, axis: Axis) -> Vec<String> {
        let info = &self.refined.profile.info;
        match axis {
            Axis::Thread => {
                info.threads.get(stream.thread.index()).map_or_else(Vec::new, |thread| {
                    vec![String::from_utf8_lossy(&thread.name).into_owned(), thread.tid.to_string()]
                })
            }
            Axis::Process => {
                info.processes.get(stream.process.index()).map_or_else(Vec::new, |process| {
                    vec![program(process).into_owned(), process.pid.to_string()]
                })
            }
            Axis::Rank | Axis::Epoch => {
                self.number(stream, axis).map(|number| number.to_string()).into_iter().collect()
            }
        }
    }

    /// Whether the samples of a context satisfy a predicate, whatever their paths are; `None`
    /// where that depends on the path.
    pub(super) fn decides(&self, stream: &Stream, predicate: &Predicate) -> Option<bool> {
        let mut inner = match predicate {
            Predicate::Not(inner) => return self.decides(stream, inner).map(|holds| !holds),
            Predicate::Numbered { axis, ranges } => {
                return Some(self.is_numbered(stream, *axis, ranges));
            }
            Predicate::Named { axis, glob } => {
                return Some(self.is_named(stream, *axis, &Glob::new(glob)));
            }
            Predicate::And(inner) | Predicate::Or(inner) => inner.iter(),
            _ => return None,
        };
        // One that fails decides for `and`, one that holds for `or`.
        let decisive = matches!(predicate, Predicate::Or(_));
        inner
            .try_fold(Some(!decisive), |all, one| match self.decides(stream, one) {
                Some(holds) if holds == decisive => Err(Some(decisive)),
                Some(_) => Ok(all),
                None => Ok(None),
            })
            .unwrap_or_else(|decided| decided)
    }

    fn is_numbered(&self, stream: &Stream, axis: Axis, ranges: &[(u32, u32)]) -> bool {
        self.number(stream, axis).is_some_and(|number| {
            ranges.iter().any(|&(first, last)| (first..=last).contains(&number))
        })
    }

    fn is_named(&self, stream: &Stream, axis: Axis, glob: &Glob) -> bool {
        self.names(stream, axis).iter().any(|name| glob.matches(name))
    }

    fn nodes(
        &self,
        axis: Axis,
        predicate: &Predicate,
        holds: impl Fn(&Stream) -> bool,
    ) -> Result<Bits, Unmatched> {
        let mut set = Bits::none(self.refined.node_count());
        let mut found = false;
        for stream in self.refined.streams.iter().filter(|stream| holds(stream)) {
            found = true;
            set.insert_range(stream.nodes.start as usize..stream.nodes.end as usize);
        }
        if found {
            return Ok(set);
        }
        let among = match axis {
            Axis::Rank => "rank with samples",
            Axis::Process => "process with samples",
            Axis::Thread => "thread with samples",
            Axis::Epoch => "epoch with samples",
        };
        let mut suggestions: Vec<String> = Vec::new();
        for stream in self.refined.streams.iter() {
            let name = match predicate {
                Predicate::Named { .. } => self.names(stream, axis).into_iter().next(),
                _ => self.number(stream, axis).map(|number| number.to_string()),
            };
            suggestions.extend(name.filter(|name| !name.is_empty()));
        }
        // Numbers by their value, which is by length first.
        suggestions.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        suggestions.dedup();
        suggestions.truncate(8);
        let cause = Cause::Unmatched { among, suggestions };
        Err(Unmatched { part: predicate.to_string(), cause })
    }
}
