//! `callers of`: call paths upside down, from the outermost matches outward.
//!
//! A node of the new forest stands for the matches that were reached in one way, from the match
//! outward; its cost is theirs. Nothing is counted twice, since no outermost match is below
//! another. The samples lie at the far ends, on the outermost callers.

use rustc_hash::FxHashMap;

use super::step::{Step, Transform, add_up, contexts, found};
use crate::profile::{Column, Count, Frame, FrameRef};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::children::node_number;
use crate::refine::forest::costs::{CostsOf, SampleColumns, in_width};
use crate::refine::forest::error::{Cause, Stop};
use crate::refine::forest::lazy::Lazy;
use crate::refine::forest::recorded::{Effect, Recorded};
use crate::refine::forest::refined::Refined;
use crate::refine::forest::timing::Timing;
use crate::refine::forest::workspace::Table;
use crate::refine::lang::stage::Stage;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::{Cancelled, Watch};

/// A match, and how far outward from it the row has come.
#[derive(Clone, Copy, Default)]
struct MatchedNode {
    matched: u32,
    /// The match itself, or one of its callers.
    at: u32,
}

/// `callers of f`: the paths to outermost matches upside down, for each thread and epoch; paths
/// without are taken out.
pub(crate) struct CallersOf<'s>(pub(crate) &'s FramePattern);

impl CallersOf<'_> {
    fn run_within(
        &self,
        limits: &Limits,
        mut refined: Refined,
        watch: &Watch<'_>,
    ) -> Result<Step, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let matches = matches(&refined, &frames, watch)?;
        let contexts = contexts(&refined);
        refined.find_edges();
        let mut streams = refined.streams.to_vec();
        let (alike, frames) = alike(&refined.frames);
        let (parent, frame, ends) = in_width!(&mut refined.costs, costs => {
            let old = Old {
                parent: &refined.parent,
                frame: &refined.frame,
                alike: &alike,
                frames: &refined.frames,
                costs,
                is_part: effect == Effect::Parts,
            };
            let mut forest = Forest::new(old);
            let mut seen = 0;
            for ((stream, context), matches) in streams.iter_mut().zip(contexts).zip(matches) {
                let start = node_number(forest.parent.len());
                let top = forest.copy_contexts(stream.nodes.start, context);
                forest.spread(matches, top);
                while let Some((begin, above)) = forest.open.pop() {
                    let steps = forest.open_next(begin, above, context);
                    forest.steps += steps;
                    seen += steps;
                    if seen >= 1 << 16 {
                        watch.step(seen)?;
                        seen = 0;
                    }
                    if forest.parent.len() > limits.nodes || forest.steps > limits.steps {
                        let part = Stage::CallersOf(self.0.clone()).to_string();
                        return Err(Stop::Refused { part, cause: Cause::TooManyCallers });
                    }
                }
                stream.nodes = start..node_number(forest.parent.len());
            }
            let ends = std::mem::take(&mut forest.ends);
            let (parent, frame, grown) = forest.finish(&ends, watch)?;
            *costs = grown;
            (parent, frame, ends)
        });
        follow(&mut refined.timing, &refined.parent, &ends);
        refined.parent = Column::made(parent, &refined.workspace.nodes);
        refined.frame = Column::made(frame, &refined.workspace.frames);
        refined.frames = frames;
        refined.streams = streams.into();
        // What was turned round twice is the right way up.
        refined.is_inverted = !refined.is_inverted;
        let moved = in_width!(
            &refined.costs,
            costs => costs.samples().map(|samples| samples.at(0).0).collect()
        );
        // What is known of edges is made anew.
        Ok(Step { refined, moved, effect: Effect::None })
    }
}

impl Transform for CallersOf<'_> {
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        self.run_within(&Limits::of(refined.node_count()), refined, watch)
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + metrics
    }
}

/// What deep recursion could need the square of the old nodes of.
struct Limits {
    /// Nodes of the new forest: four times the old ones, and always some millions.
    nodes: usize,
    /// Callers of matches, one for each match and each frame outward from it. Many matches may go
    /// the same way, in few nodes. A recorded path has a hundred frames, so there may be more than
    /// that for each old node.
    steps: usize,
}

impl Limits {
    fn of(nodes: usize) -> Self {
        Self {
            nodes: nodes.saturating_mul(4).max(4_000_000).min(u32::MAX as usize - 1),
            steps: nodes.saturating_mul(256).max(1 << 30),
        }
    }
}

/// The outermost matches of each stream.
fn matches(
    refined: &Refined,
    frames: &Bits,
    watch: &Watch<'_>,
) -> Result<Vec<Vec<MatchedNode>>, Cancelled> {
    let (parent, frame) = (&refined.parent[..], &refined.frame[..]);
    // At or below a match.
    let mut inside = Bits::none(parent.len());
    let mut of_streams = Vec::with_capacity(refined.streams.len());
    for stream in refined.streams.iter() {
        let mut found: Vec<MatchedNode> = Vec::new();
        watch.forward(stream.nodes.start as usize..stream.nodes.end as usize, |nodes| {
            for node in nodes {
                let below = inside.contains(parent[node] as usize);
                let is_match = frames.contains(frame[node].index());
                if below || is_match {
                    inside.insert(node);
                }
                if is_match && !below && refined.is_shown(node) {
                    let number = node_number(node);
                    found.push(MatchedNode { matched: number, at: number });
                }
            }
        })?;
        of_streams.push(found);
    }
    Ok(of_streams)
}

/// What is at a match or below it goes to the node on which the match ends; the rest is taken out.
fn follow(timing: &mut Timing, parent: &[u32], ends: &[(u32, u32)]) {
    if timing.is_empty() {
        return;
    }
    let mut end = vec![0; parent.len()];
    for &(matched, node) in ends {
        end[matched as usize] = node;
    }
    for node in 1..parent.len() {
        if end[node] == 0 {
            end[node] = end[parent[node] as usize];
        }
    }
    timing.follow(|node| Some(end[node as usize]).filter(|&end| end != 0));
}

/// For each frame the first one that differs from it by the address alone. And the frames, of which
/// those that stand for several addresses have none.
fn alike(frames: &Table<Frame>) -> (Vec<FrameRef>, Table<Frame>) {
    let mut first = FxHashMap::default();
    let mut together: Vec<Frame> = frames.iter().copied().collect();
    let alike = frames.iter().zip(0..).map(|(frame, number)| {
        let known: u32 = *first.entry(Frame { site: None, row: 0, ..*frame }).or_insert(number);
        let site = &mut together[known as usize].site;
        *site = site.filter(|site| Some(*site) == frame.site);
        FrameRef(known)
    });
    (alike.collect(), Table::made(together))
}

/// The forest as it was.
struct Old<'r, C> {
    parent: &'r [u32],
    frame: &'r [FrameRef],
    /// For each frame the one that stands for it in the new forest.
    alike: &'r [FrameRef],
    frames: &'r Table<Frame>,
    costs: &'r CostsOf<C>,
    /// Whether some nodes of a procedure match, and others do not.
    is_part: bool,
}

impl<C> Old<'_, C> {
    /// The frame that a node of the new forest has for this one.
    fn frame(&self, node: u32) -> FrameRef {
        self.alike[self.frame[node as usize].index()]
    }
}

/// The new forest, while it grows: depth first, so that its numbers are in that order.
struct Forest<'r, C> {
    old: Old<'r, C>,
    parent: Vec<u32>,
    frame: Vec<FrameRef>,
    low: Vec<C>,
    high: Vec<C>,
    /// Whether samples of a match are in part of other threads' work.
    has_work_of_others: bool,
    /// Each match, and the node on which it ends: its samples are there.
    ends: Vec<(u32, u32)>,
    /// Members of the nodes that are still to be made, those of the next one last.
    members: Vec<MatchedNode>,
    /// Where the members of these nodes begin, and the node they hang below.
    open: Vec<(usize, u32)>,
    /// For each frame, 1 + its place in `counts`; 0 between two nodes.
    place: Vec<u32>,
    /// Members of each frame that is met, then where the next one goes.
    counts: Vec<usize>,
    /// Members that the nodes so far were made of.
    steps: usize,
}

/// Parents and frames of the new forest, and its costs.
type Grown<C> = (Vec<u32>, Vec<FrameRef>, CostsOf<C>);

impl<'r, C: Count> Forest<'r, C> {
    fn new(old: Old<'r, C>) -> Self {
        let place = vec![0; old.frames.len()];
        let mut forest = Self {
            old,
            parent: Vec::new(),
            frame: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            has_work_of_others: false,
            ends: Vec::new(),
            members: Vec::new(),
            open: Vec::new(),
            place,
            counts: Vec::new(),
            steps: 0,
        };
        forest.push(0, FrameRef::ROOT);
        forest
    }

    fn push(&mut self, parent: u32, frame: FrameRef) -> u32 {
        self.parent.push(parent);
        self.frame.push(frame);
        for column in [&mut self.low, &mut self.high] {
            column.push(C::MAX);
        }
        node_number(self.parent.len() - 1)
    }

    /// Copies what `split` put above the paths of a stream; returns the deepest, or 0.
    fn copy_contexts(&mut self, first: u32, deepest: u32) -> u32 {
        let mut above = 0;
        if deepest > 0 {
            for node in first..=deepest {
                above = self.push(above, self.old.frame(node));
            }
        }
        above
    }

    /// Makes the next node, of the members from `begin` on, and has those that go further outward
    /// wait below it. Returns how many members it looked at.
    fn open_next(&mut self, begin: usize, above: u32, context: u32) -> usize {
        if begin + 1 == self.members.len() {
            return self.members.pop().map_or(0, |member| self.climb(member, above, context));
        }
        let mut found = self.members.split_off(begin);
        let count = found.len();
        let node = self.push(above, self.old.frame(found[0].at));
        let parent = self.old.parent;
        for member in &found {
            self.add(node, *member, parent[member.at as usize] == context);
        }
        found.retain_mut(|member| {
            member.at = parent[member.at as usize];
            member.at != context
        });
        self.spread(found, node);
        count
    }

    /// Makes the nodes of a member that is alone, all the way outward. Returns how many.
    fn climb(&mut self, mut member: MatchedNode, mut above: u32, context: u32) -> usize {
        let first = self.parent.len();
        loop {
            above = self.push(above, self.old.frame(member.at));
            member.at = self.old.parent[member.at as usize];
            self.add(above, member, member.at == context);
            if member.at == context {
                return self.parent.len() - first;
            }
        }
    }

    /// Adds a match to a node, on which it may end.
    fn add(&mut self, node: u32, member: MatchedNode, is_end: bool) {
        if is_end {
            self.ends.push((member.matched, node));
        }
        let (node, matched, old) = (node as usize, member.matched as usize, &self.old);
        let counts = old.costs.edges_found();
        if counts.is_of_callers {
            // They are of the function that the old path began with, not of the match.
            return;
        }
        // Where the outer part of a path is not known, the return of the match may have been
        // counted elsewhere, and that not of an outermost one.
        let counts = if old.is_part { counts.of_part() } else { counts.with_partial() };
        let kind = old.frames[old.frame[matched].index()].kind;
        self.has_work_of_others |= counts.has_work_of_others(matched);
        if let Some((low, high)) = counts.of(matched, kind) {
            for (column, count) in [(&mut self.low, low), (&mut self.high, high)] {
                let sum = if column[node] == C::MAX { C::default() } else { column[node] };
                column[node] = sum.up_to_most(count);
            }
        }
    }

    /// Has members wait below a node, those of each frame together.
    fn spread(&mut self, found: Vec<MatchedNode>, above: u32) {
        self.counts.clear();
        for member in &found {
            let place = &mut self.place[self.old.frame(member.at).index()];
            if *place == 0 {
                self.counts.push(0);
                *place = node_number(self.counts.len());
            }
            self.counts[*place as usize - 1] += 1;
        }
        // The first frame that was met is the next to be opened, so it comes last.
        let mut end = self.members.len() + found.len();
        self.members.resize(end, MatchedNode::default());
        let first = self.open.len();
        for count in &mut self.counts {
            end -= *count;
            *count = end;
            self.open.push((end, above));
        }
        self.open[first..].reverse();
        for &member in &found {
            let place = self.place[self.old.frame(member.at).index()] as usize - 1;
            self.members[self.counts[place]] = member;
            self.counts[place] += 1;
        }
        for member in &found {
            self.place[self.old.frame(member.at).index()] = 0;
        }
    }

    /// The forest when it is whole.
    fn finish(mut self, ends: &[(u32, u32)], watch: &Watch<'_>) -> Result<Grown<C>, Cancelled> {
        let is_exact = self.low == self.high;
        self.parent.shrink_to_fit();
        self.frame.shrink_to_fit();
        for column in [&mut self.low, &mut self.high] {
            column.shrink_to_fit();
        }
        let old = self.old.costs;
        let home = &old.home;
        // A node costs what the matches cost that end there or further outward.
        let samples = |old: &SampleColumns<C>| {
            let mut exclusive = home.empty(self.parent.len());
            exclusive.resize(self.parent.len(), C::default());
            for &(matched, node) in ends {
                exclusive[node as usize] += old.inclusive[matched as usize];
            }
            let mut inclusive = home.copy_of(&exclusive);
            add_up(&self.parent, &mut inclusive, watch)?;
            let [exclusive, inclusive] =
                [exclusive, inclusive].map(|column| Column::made(column, home));
            Ok(SampleColumns { exclusive, inclusive })
        };
        let all = samples(&old.all)?;
        let further = old.further.iter().map(samples).collect::<Result<_, _>>()?;
        let low = Column::made(self.low, home);
        let high = if is_exact { low.clone() } else { Column::made(self.high, home) };
        let recorded =
            Recorded::of_callers(low, high, all.inclusive.clone(), self.has_work_of_others);
        let (bounds, home) = (Lazy::default(), home.clone());
        let costs = CostsOf { all, further, recorded, bounds, home };
        Ok((self.parent, self.frame, costs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refine::RefineError;

    /// A match at each depth of a recursion: all go the same way, each farther than the one before.
    #[test]
    fn many_matches_on_one_way_are_refused() {
        let outline: String = (0..100)
            .map(|depth| format!("{0:1$}r\n{0:2$}f 1\n", "", 2 * depth, 2 * depth + 2))
            .collect();
        let profile = crate::profile::from_outline(&outline).unwrap();
        let pattern = FramePattern::Glob("f".to_owned());
        let made = |nodes, steps| {
            let refined = Refined::base(&profile);
            CallersOf(&pattern).run_within(&Limits { nodes, steps }, refined, &Watch::none())
        };
        // `f` and, outward from it, 1 to 100 frames of `r`.
        let steps = 100 + 100 * 101 / 2;
        assert!(made(103, steps).is_ok());
        for (nodes, steps) in [(103, steps - 1), (101, steps)] {
            let Err(Stop::Refused { part, cause }) = made(nodes, steps) else {
                panic!("it is not refused");
            };
            assert_eq!((part.as_str(), &cause), ("callers of f", &Cause::TooManyCallers));
            // Neither limit is a number of callers.
            let text = RefineError { stage: 0, part, cause }.to_string();
            assert!(text.starts_with("`callers of f` would take"), "{text}");
            assert!(!text.contains(|c: char| c.is_ascii_digit()), "{text}");
        }
    }

    /// A stream may have few nodes; many of them have many.
    #[test]
    fn many_small_streams_are_looked_at_while_they_are_turned_round() {
        let (threads, calls) = (4, 25_000);
        let mut outline = String::new();
        for thread in 0..threads {
            outline.push_str(&format!("# thread={thread} epoch=0\nmain\n"));
            outline.push_str(&"  f 1\n".repeat(calls));
        }
        let profile = crate::profile::from_outline(&outline).unwrap();
        let pattern = FramePattern::Glob("f".to_owned());
        let reports = std::cell::Cell::new(0);
        let report = |_| reports.set(reports.get() + 1);
        let watch = Watch::none().reporting(&report);
        CallersOf(&pattern).run(Refined::base(&profile), &watch).unwrap();
        // While matches are looked for, once in each stream; at the end, once; and between, one for
        // each 65 536 of the matches and of their callers.
        let between = threads * calls * 2 / 75_000;
        assert_eq!(reports.get(), threads + 1 + between);
    }
}
