//! `callers of`: call paths upside down, from the outermost matches outward.
//!
//! A node of the new forest stands for the matches that were reached in one way, from the match
//! outward; its cost is theirs. Nothing is counted twice, since no outermost match is below
//! another. The samples lie at the far ends, on the outermost callers.

use super::super::Refined;
use super::super::apply::Cause;
use super::super::bits::Bits;
use super::super::children::node_number;
use super::super::column::Column;
use super::super::edges::{NO_EDGES, Recorded};
use super::super::syntax::Stage;
use super::super::watch::Watch;
use super::{Stop, contexts};
use crate::profile::{FrameRef, Stream};

/// The new forest, while it grows.
#[derive(Default)]
struct Forest {
    parent: Vec<u32>,
    frame: Vec<FrameRef>,
    exclusive: Vec<u64>,
    low: Vec<u64>,
    high: Vec<u64>,
}

/// A match, and how far outward from it the row has come.
#[derive(Clone, Copy)]
struct Member {
    matched: u32,
    /// The match itself, or one of its callers.
    at: u32,
}

/// Turns the paths to outermost matches upside down, for each thread and epoch; takes out paths
/// without. Also returns the samples shown: all of them have moved.
pub(super) fn callers_of<'p>(
    mut refined: Refined<'p>,
    frames: &Bits,
    stage: &Stage,
    watch: &Watch<'_>,
) -> Result<(Refined<'p>, u64), Stop> {
    let limit = limit(refined.node_count());
    let (parent, frame) = (&refined.parent[..], &refined.frame[..]);
    let mut forest = Forest::default();
    forest.push(0, FrameRef::ROOT);
    // At or below a match.
    let mut inside = Bits::none(parent.len());
    let mut streams: Vec<Stream> = Vec::with_capacity(refined.streams.len());
    let mut grouping = Grouping { place: vec![0; refined.frames.len()], ..Grouping::default() };
    for (stream, context) in refined.streams.iter().zip(contexts(&refined)) {
        let start = node_number(forest.parent.len());
        let top = forest.copy_contexts(&refined, stream.nodes.start, context);
        let mut matches: Vec<Member> = Vec::new();
        watch.forward(stream.nodes.start as usize..stream.nodes.end as usize, |nodes| {
            for node in nodes {
                let below = inside.contains(parent[node] as usize);
                let is_match = frames.contains(frame[node].index());
                if below || is_match {
                    inside.insert(node);
                }
                if is_match && !below && refined.inclusive[node] > 0 {
                    let number = node_number(node);
                    matches.push(Member { matched: number, at: number });
                }
            }
        })?;
        grouping.members = matches;
        grouping.open = vec![(0, top)];
        let mut seen = 0;
        while let Some((begin, above)) = grouping.open.pop() {
            seen += grouping.members.len() - begin;
            if seen >= 1 << 16 {
                watch.step(seen)?;
                seen = 0;
            }
            grouping.part(&refined, &mut forest, begin, above, context);
            if forest.parent.len() > limit {
                let cause = Cause::TooManyCallers { limit };
                return Err(Stop::Refused { part: stage.to_string(), cause });
            }
        }
        let end = node_number(forest.parent.len());
        streams.push(Stream { nodes: start..end, ..stream.clone() });
    }
    let Forest { parent, frame, exclusive, low, high } = forest;
    let inclusive: Column<'p, u64> = crate::profile::inclusive(&parent, &exclusive).into();
    let moved = inclusive[0];
    refined.parent = parent.into();
    refined.frame = frame.into();
    refined.exclusive = exclusive.into();
    let low: Column<'p, u64> = low.into();
    let high = if low[..] == high[..] { low.clone() } else { high.into() };
    refined.recorded = Recorded { low, high, inclusive: inclusive.clone(), marked: true };
    refined.inclusive = inclusive;
    refined.streams = streams.into();
    Ok((refined, moved))
}

/// Nodes that the new forest may have: four times the old ones, and always some millions. Deep
/// recursion among many functions could need the square of the old ones.
fn limit(nodes: usize) -> usize {
    nodes.saturating_mul(4).max(4_000_000).min(u32::MAX as usize - 1)
}

impl Forest {
    fn push(&mut self, parent: u32, frame: FrameRef) -> u32 {
        self.parent.push(parent);
        self.frame.push(frame);
        self.exclusive.push(0);
        for column in [&mut self.low, &mut self.high] {
            column.push(NO_EDGES);
        }
        node_number(self.parent.len() - 1)
    }

    /// Copies what `split` put above the paths of a stream; returns the deepest, or 0.
    fn copy_contexts(&mut self, refined: &Refined<'_>, first: u32, deepest: u32) -> u32 {
        let mut above = 0;
        if deepest > 0 {
            for node in first..=deepest {
                above = self.push(above, refined.frame[node as usize]);
            }
        }
        above
    }

    /// Adds a match to a node.
    fn add(&mut self, node: u32, refined: &Refined<'_>, matched: u32, is_end: bool) {
        let node = node as usize;
        let samples = refined.inclusive[matched as usize];
        if is_end {
            self.exclusive[node] += samples;
        }
        if let Some((low, high)) = refined.edges(matched) {
            for (column, count) in [(&mut self.low, low), (&mut self.high, high)] {
                column[node] = if column[node] == NO_EDGES { count } else { column[node] + count };
            }
        }
    }
}

/// Members that wait to be parted by frame.
#[derive(Default)]
struct Grouping {
    /// Those of rows to be opened, the next one's last.
    members: Vec<Member>,
    /// Where the members of these rows begin, and the node they hang below.
    open: Vec<(usize, u32)>,
    /// Those of the present row.
    found: Vec<Member>,
    /// For each frame, the node made for it below the present one; 0 between two rows.
    place: Vec<u32>,
    /// Nodes made for the present row, and how many members go further outward from each.
    made: Vec<(u32, usize)>,
}

impl Grouping {
    /// Makes a node for each frame of the members from `begin` on, and has the members that go
    /// further outward wait below it.
    fn part(
        &mut self,
        refined: &Refined<'_>,
        forest: &mut Forest,
        begin: usize,
        above: u32,
        context: u32,
    ) {
        let Self { members, open, found, place, made } = self;
        found.clear();
        found.extend(members.drain(begin..));
        made.clear();
        let first = node_number(forest.parent.len());
        for member in found.iter() {
            let frame = refined.frame[member.at as usize];
            if place[frame.index()] == 0 {
                place[frame.index()] = forest.push(above, frame);
                made.push((place[frame.index()], 0));
            }
            let node = place[frame.index()];
            let is_end = refined.parent[member.at as usize] == context;
            forest.add(node, refined, member.matched, is_end);
            made[(node - first) as usize].1 += usize::from(!is_end);
        }
        let mut end = members.len();
        for (node, count) in made.iter_mut() {
            if *count > 0 {
                open.push((end, *node));
            }
            end += std::mem::replace(count, end);
        }
        members.resize(end, Member { matched: 0, at: 0 });
        for member in found.iter() {
            let frame = refined.frame[member.at as usize];
            let at = refined.parent[member.at as usize];
            if at != context {
                let (_, next) = &mut made[(place[frame.index()] - first) as usize];
                members[*next] = Member { at, ..*member };
                *next += 1;
            }
        }
        for member in found.iter() {
            place[refined.frame[member.at as usize].index()] = 0;
        }
    }
}
