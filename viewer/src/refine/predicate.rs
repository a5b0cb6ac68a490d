//! Predicates evaluated on every node: the set of nodes whose path satisfies them.
//!
//! A node stands for the path that ends in it, together with the thread and epoch it was sampled
//! in. Node 0 stands for the empty path, and so do nodes that only hold samples without frames.

use super::Refined;
use super::bits::Bits;
use super::chain;
use super::matcher::{Glob, Matcher};
use super::preset::Preset;
use super::stages::Unmatched;
use super::syntax::{Axis, FramePattern, Predicate};
use crate::profile::{FrameKind, Stream};

/// The nodes that satisfy a predicate. Recursion ends where the parser's limit on nesting does.
pub(super) fn nodes(
    matcher: &Matcher<'_, '_>,
    refined: &Refined<'_>,
    predicate: &Predicate,
) -> Result<Bits, Unmatched> {
    let frames = |pattern| matcher.frames(pattern).map_err(|none| matcher.explain(&none));
    Ok(match predicate {
        Predicate::And(all) => {
            let mut set = Bits::from_fn(refined.node_count(), |_| true);
            for predicate in all {
                set.intersect(&nodes(matcher, refined, predicate)?);
            }
            set
        }
        Predicate::Or(any) => {
            let mut set = Bits::none(refined.node_count());
            for predicate in any {
                set.unite(&nodes(matcher, refined, predicate)?);
            }
            set
        }
        Predicate::Not(inner) => {
            let mut set = nodes(matcher, refined, inner)?;
            set.complement();
            set
        }
        Predicate::Through(chain) => {
            let patterns = std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, f)| f));
            let sets = patterns.map(frames).collect::<Result<Vec<_>, _>>()?;
            let start = if chain.from_root {
                matcher.any_frames(&FramePattern::Preset(Preset::Start))
            } else {
                Bits::none(refined.frames.len())
            };
            chain::through(refined, chain, &sets, &start)
        }
        Predicate::Under(pattern) => {
            let set = frames(pattern)?;
            // What a node passes on: a match at or above it.
            inherited(
                refined,
                false,
                |node, above| above || has(refined, &set, node),
                |above, _| above,
            )
        }
        Predicate::In(pattern) => {
            let set = frames(pattern)?;
            let inline =
                |node: usize| refined.frames[refined.frame[node].index()].kind == FrameKind::Inline;
            inherited(
                refined,
                false,
                |node, above| has(refined, &set, node) || (above && inline(node)),
                |_, here| here,
            )
        }
        Predicate::Leaf(pattern) => {
            let set = frames(pattern)?;
            Bits::from_fn(refined.node_count(), |node| has(refined, &set, node))
        }
        Predicate::Times { pattern, comparison, count } => {
            let set = frames(pattern)?;
            inherited(
                refined,
                0_u32,
                |node, above| above + u32::from(has(refined, &set, node)),
                |_, here| comparison.holds(&here, count),
            )
        }
        Predicate::Depth { comparison, count } => inherited(
            refined,
            0_u32,
            |node, above| above + u32::from(!is_root(refined, node)),
            |_, here| comparison.holds(&here, count),
        ),
        Predicate::Node(_) => {
            return Err(Unmatched {
                part: predicate.to_string(),
                among: "predicate of this version",
                suggestions: Vec::new(),
            });
        }
        Predicate::Numbered { axis, ranges } => {
            let contexts = Contexts::new(refined);
            let holds = |stream: &Stream| {
                contexts.number(stream, *axis).is_some_and(|number| {
                    ranges.iter().any(|&(first, last)| (first..=last).contains(&number))
                })
            };
            contexts.nodes(*axis, predicate, holds)?
        }
        Predicate::Named { axis, glob } => {
            let contexts = Contexts::new(refined);
            let glob = Glob::new(glob);
            let holds = |stream: &Stream| {
                contexts.names(stream, *axis).iter().any(|name| glob.matches(name))
            };
            contexts.nodes(*axis, predicate, holds)?
        }
    })
}

fn has(refined: &Refined<'_>, set: &Bits, node: usize) -> bool {
    set.contains(refined.frame[node].index())
}

fn is_root(refined: &Refined<'_>, node: usize) -> bool {
    refined.frames[refined.frame[node].index()].kind == FrameKind::Root
}

/// One forward pass: each node's state is made of its parent's (`step`), and the two decide
/// whether the node is in the set (`test`, given the parent's and its own).
fn inherited<S: Copy>(
    refined: &Refined<'_>,
    root: S,
    step: impl Fn(usize, S) -> S,
    test: impl Fn(S, S) -> bool,
) -> Bits {
    let parent = &refined.parent[..];
    let mut states: Vec<S> = Vec::with_capacity(parent.len());
    Bits::from_fn(parent.len(), |node| {
        let above = if node == 0 { root } else { states[parent[node] as usize] };
        let here = if node == 0 { root } else { step(node, above) };
        states.push(here);
        test(above, here)
    })
}

/// Ranks, threads and epochs of the streams.
struct Contexts<'r, 'p> {
    refined: &'r Refined<'p>,
    /// Position of each thread within its process.
    thread_numbers: Vec<u32>,
}

impl<'r, 'p> Contexts<'r, 'p> {
    fn new(refined: &'r Refined<'p>) -> Self {
        let threads = &refined.profile.info.threads;
        let mut thread_numbers: Vec<u32> = Vec::with_capacity(threads.len());
        for (index, thread) in threads.iter().enumerate() {
            // Threads of one process are consecutive.
            let follows = index > 0 && threads[index - 1].process == thread.process;
            thread_numbers.push(if follows { thread_numbers[index - 1] + 1 } else { 0 });
        }
        Self { refined, thread_numbers }
    }

    fn number(&self, stream: &Stream, axis: Axis) -> Option<u32> {
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
                    let program = process.command.first().map_or(&[][..], Vec::as_slice);
                    let program = String::from_utf8_lossy(program);
                    let file = program.rsplit('/').next().unwrap_or_default();
                    vec![file.to_owned(), process.pid.to_string()]
                })
            }
            Axis::Rank | Axis::Epoch => {
                self.number(stream, axis).map(|number| number.to_string()).into_iter().collect()
            }
        }
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
            for node in stream.nodes.clone() {
                set.insert(node as usize);
            }
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
        Err(Unmatched { part: predicate.to_string(), among, suggestions })
    }
}
