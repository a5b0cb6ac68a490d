//! Hall's tables upward: what calls a path.
//!
//! Only the nodes at which the path ends are looked at, and of the nodes above them those that are
//! callers. These lie above the latest possible beginning of the match, and further in there can
//! only be more of them, so each is looked at once on every way inward: recursion of the path costs
//! no more than anything else.

use crate::profile::{Count, FrameKind, FrameRef};
use crate::refine::{Cancelled, Chain, Link, NodeSet, Refined, Stopped, Watch, in_width};
use crate::views::outermost::{NodeFacts, is_mixed};
use crate::views::row::Row;
use crate::views::sums::Sums;
use crate::views::tally::{self, Added, Tally};

/// A row for each function that calls a path, and that of the path.
pub(super) fn rows(
    refined: &Refined,
    path: &Chain,
    link: Link,
    watch: &Watch<'_>,
) -> Result<(Vec<Row>, Row), Stopped> {
    let lengths = lengths_to_gaps(path);
    watch.begin(0, 1, lengths.len() * (1 + tally::passes(refined)), refined.node_count());
    let ends = refined.ends_of_beginnings(path, &lengths, watch)?;
    let mut before = 0;
    let parts: Vec<Segment> = lengths
        .into_iter()
        .zip(ends)
        .map(|(to, ends)| Segment { length: to - std::mem::replace(&mut before, to), ends })
        .collect();
    let tallied = in_width!(&refined.costs, costs => {
        tally::rows(refined, costs, |added| {
            let added = added.of_path(refined, path);
            tally(refined, added, &parts, link, watch)
        })
    });
    let tallied = tallied.map_err(|Cancelled| Stopped::Cancelled)?;
    watch.end();
    Ok(tallied)
}

fn tally<'r, C: Count>(
    refined: &'r Refined,
    added: Added<'r, C>,
    parts: &[Segment],
    link: Link,
    watch: &Watch<'_>,
) -> Result<Tally<'r, C>, Cancelled> {
    match (link, parts) {
        (Link::Direct, [path]) => direct(refined, added, path, watch),
        // A direct caller calls the first part, wherever above the others that is.
        (Link::Direct, [callees, first, others @ ..]) => {
            above(refined, added, Some(callees), (first, others), watch)
        }
        (_, [first, others @ ..]) => above(refined, added, None, (first, others), watch),
        // No path is that short.
        (_, []) => Tally::of(refined, added, watch, |_, _, _| {}),
    }
}

/// How many frames a path has up to each of its gaps, and to its end.
fn lengths_to_gaps(path: &Chain) -> Vec<usize> {
    let gaps = path.rest.iter().zip(1..).filter(|((link, _), _)| *link == Link::Below);
    gaps.map(|(_, length)| length).chain([path.length()]).collect()
}

/// Frames of a path that call one another directly.
struct Segment {
    /// How many there are.
    length: usize,
    /// The nodes at which a match of the path up to and with them ends.
    ends: NodeSet,
}

/// The node so many levels above another one.
fn ancestor(refined: &Refined, node: u32, levels: usize) -> u32 {
    (0..levels).fold(node, |node, _| refined.parent[node as usize])
}

/// The direct callers of a path without gaps: each match has one.
fn direct<'r, C: Count>(
    refined: &'r Refined,
    added: Added<'r, C>,
    path: &Segment,
    watch: &Watch<'_>,
) -> Result<Tally<'r, C>, Cancelled> {
    Tally::by_frame(refined, added.along_path(), watch, |tally, node, at| {
        path.ends.contains(node).then(|| {
            tally.add_to_path(node, at);
            // Node numbers fit: `parent` holds them in the same type.
            refined.frame[ancestor(refined, node as u32, path.length) as usize]
        })
    })
}

/// Several callers for each match: all above it, or those that call `callees` there.
fn above<'r, C: Count>(
    refined: &'r Refined,
    added: Added<'r, C>,
    callees: Option<&Segment>,
    parts: (&Segment, &[Segment]),
    watch: &Watch<'_>,
) -> Result<Tally<'r, C>, Cancelled> {
    let beginnings = Beginnings::of(refined, parts, watch)?;
    let mut open = OpenEnds::default();
    let mut callers: Vec<FrameRef> = Vec::new();
    let mut tally = Tally::of(refined, added, watch, |tally, node, at| {
        if !beginnings.has_end(node) {
            return;
        }
        open.leave(tally, at);
        // Callers of the matches further out have been looked at there.
        let seen = open.beginning();
        // Node numbers fit: `parent` holds them in the same type.
        let beginning = beginnings.latest(node as u32);
        open.enter(tally, node, beginning, added.end(node, at));
        tally.add_to_path(node, at);
        let mut above = refined.parent[beginning as usize];
        while above != 0 && above >= seen {
            let caller = match callees {
                Some(callees) => callees
                    .ends
                    .contains(above as usize)
                    .then(|| refined.frame[ancestor(refined, above, callees.length) as usize]),
                None => Some(refined.frame[above as usize])
                    .filter(|frame| refined.frames[frame.index()].kind != FrameKind::Root),
            };
            callers.extend(caller);
            above = refined.parent[above as usize];
        }
        tally.fetch(callers.iter().copied());
        open.callers.extend(callers.drain(..).filter(|&caller| tally.enter(caller, node, at)));
    })?;
    open.leave(&mut tally, C::MAX);
    Ok(tally)
}

/// The latest beginnings of the matches of some parts of a path.
struct Beginnings<'r, 't> {
    refined: &'r Refined,
    last: &'t Segment,
    /// For each node, the latest beginning of the parts before the last that end at it or above;
    /// `None` if the last is all.
    others: Option<Vec<u32>>,
}

impl<'r, 't> Beginnings<'r, 't> {
    /// Of a first part and others, as if the path began with them.
    fn of(
        refined: &'r Refined,
        (first, others): (&'t Segment, &'t [Segment]),
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let mut beginnings = Self { refined, last: first, others: None };
        for part in others {
            let mut latest = vec![0; refined.node_count()];
            watch.forward(1..refined.node_count(), |nodes| {
                for node in nodes {
                    latest[node] = if beginnings.has_end(node) {
                        beginnings.latest(node as u32)
                    } else {
                        latest[refined.parent[node] as usize]
                    };
                }
            })?;
            beginnings = Self { refined, last: part, others: Some(latest) };
        }
        Ok(beginnings)
    }

    /// Whether a match ends at a node.
    fn has_end(&self, node: usize) -> bool {
        self.last.ends.contains(node)
    }

    /// Where the latest match begins that ends at a node.
    fn latest(&self, node: u32) -> u32 {
        let first = ancestor(self.refined, node, self.last.length - 1);
        match &self.others {
            Some(others) => others[self.refined.parent[first as usize] as usize],
            None => first,
        }
    }
}

/// The nodes on the present way inward at which the path ends.
struct OpenEnds<C> {
    ends: Vec<OpenEnd<C>>,
    /// Callers in whose rows the nodes below such an end are counted, end by end.
    callers: Vec<FrameRef>,
    /// What all ends so far have for themselves.
    sums: Sums<C>,
}

struct OpenEnd<C> {
    node: usize,
    /// Where the latest match begins that ends here.
    beginning: u32,
    /// How many samples are on the nodes before when this one has been left.
    until: C,
    /// How many callers there were before.
    callers: usize,
    /// What all ends before this one have.
    before: Sums<C>,
    facts: NodeFacts,
    /// Whether the rows are mixed that have the ends below it, without those above.
    is_mixed: bool,
    /// What it has, if it has edges, or else the outermost ends below it that have.
    outer: Sums<C>,
}

impl<C: Count> Default for OpenEnds<C> {
    fn default() -> Self {
        Self { ends: Vec::new(), callers: Vec::new(), sums: Sums::default() }
    }
}

impl<C: Count> OpenEnds<C> {
    /// Where the innermost match begins; at the outermost node if there is none.
    fn beginning(&self) -> u32 {
        self.ends.last().map_or(1, |end| end.beginning)
    }

    fn enter(&mut self, tally: &Tally<'_, C>, node: usize, beginning: u32, until: C) {
        let (callers, before, own) = (self.callers.len(), self.sums, tally.own_of_path(node));
        let facts = tally.facts(own, node);
        let mut outer = Sums::default();
        if facts.edges {
            outer.add_outer(own);
        }
        self.ends.push(OpenEnd {
            node,
            beginning,
            until,
            callers,
            before,
            facts,
            is_mixed: false,
            outer,
        });
        self.sums.add_own(own);
    }

    /// Leaves the ends that a node with so many samples before it is not below.
    fn leave(&mut self, tally: &mut Tally<'_, C>, at: C) {
        while let Some(end) = self.ends.pop_if(|end| end.until <= at) {
            let mut below = self.sums.without(&end.before);
            below.add_sums(&end.outer);
            let are_mixed =
                end.is_mixed || is_mixed(end.outer.edge_samples > 0, end.facts.work_of_others);
            if let Some(outer) = self.ends.last_mut() {
                outer.is_mixed |= are_mixed;
                if !outer.facts.edges {
                    outer.outer.add_sums(&end.outer);
                }
            }
            for caller in self.callers.drain(end.callers..) {
                tally.add_sums(caller, end.node, &below, are_mixed);
            }
        }
    }
}
