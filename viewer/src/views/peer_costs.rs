//! What is known of how the costs of a forest are spread over the ranks of a job, or other peers.
//!
//! Where each of them has trees of its own, that is added up of the nodes of a row, and is exact
//! after any stage. Else a [sum](crate::profile::Spreads) says it of each path that was recorded;
//! where stages took a part of a path, it is not known. A row may be many of these paths, one for
//! each address at which a function was sampled or called another. Where they are all that is below
//! one recorded frame, they are spread as that is.

use std::sync::Arc;

use csprof_format::profile::RankSums;
use rustc_hash::{FxHashMap, FxHashSet};

use super::over_ranks::{OfMetric, OverRanks};
use super::peers::ranks_of_sum;
use super::several_paths::Sums;
use crate::profile::{FrameKind, FrameRef, MetricRef, Spreads};
use crate::refine::{Cancelled, Refined, Watch, depth_first};

/// How many frames above those of a row are asked whether they have no more than it, so that the
/// time of a row does not grow with the length of its paths.
const MOST_FRAMES_UP: usize = 8;

/// What is known of how the costs of a forest are spread over ranks, or over other peers.
#[derive(Debug)]
pub struct PeerCosts<'r> {
    refined: &'r Refined,
    known: Known<'r>,
}

#[derive(Debug)]
enum Known<'r> {
    /// What each of them has.
    Each(Arc<Each>),
    /// What a sum says of each path; what the ranks have that it keeps apart; whether stages were
    /// applied to it.
    Summed { spreads: &'r Spreads, kept: Arc<Each>, is_refined: bool },
}

/// Peers of which each has nodes of its own.
#[derive(Debug)]
pub(super) struct Each {
    /// What each is called by number.
    numbers: Vec<u32>,
    /// One past the last node of each stream.
    ends: Vec<u32>,
    /// The place among the numbers of the peer that each stream is of.
    of_stream: Vec<Option<u32>>,
    /// Frames that a stage put above all paths of one peer and of no other: what is below is
    /// spread over nobody.
    of_one: FxHashSet<FrameRef>,
}

impl Each {
    fn new(refined: &Refined, numbers: Vec<u32>, of_stream: Vec<Option<u32>>) -> Self {
        let ends = refined.streams.iter().map(|stream| stream.nodes.end).collect();
        let mut peers_below: FxHashMap<FrameRef, FxHashSet<Option<u32>>> = FxHashMap::default();
        for (stream, peer) in refined.streams.iter().zip(&of_stream) {
            let frames = stream.nodes.clone().map(|node| refined.frame[node as usize]);
            for frame in frames.take_while(|frame| is_context(refined, *frame)) {
                peers_below.entry(frame).or_default().insert(*peer);
            }
        }
        peers_below.retain(|_, peers| peers.len() == 1);
        Self { numbers, ends, of_stream, of_one: peers_below.into_keys().collect() }
    }

    /// Whether nodes are, or are below, what a stage has put above one peer alone.
    fn are_of_one(&self, refined: &Refined, placed: &[(u32, u32)]) -> bool {
        let Some(&(place, mut node)) = placed.first() else { return false };
        if placed.iter().any(|of| of.0 != place) {
            return false;
        }
        while !self.of_one.is_empty() && node != 0 {
            let frame = refined.frame[node as usize];
            if is_context(refined, frame) && self.of_one.contains(&frame) {
                return true;
            }
            node = refined.parent[node as usize];
        }
        false
    }

    /// The ranks that processes have.
    fn of_ranks(refined: &Refined, of_process: &[Option<u32>]) -> Self {
        let mut numbers: Vec<u32> = of_process.iter().copied().flatten().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let place = |rank: u32| u32::try_from(numbers.binary_search(&rank).ok()?).ok();
        let of_stream = refined.streams.iter().map(|stream| {
            of_process.get(stream.process.index()).copied().flatten().and_then(place)
        });
        let of_stream = of_stream.collect();
        Self::new(refined, numbers, of_stream)
    }

    fn place(&self, node: u32) -> Option<u32> {
        let stream = self.ends.partition_point(|&end| end <= node);
        self.of_stream.get(stream).copied().flatten()
    }
}

/// What a sum knows of its ranks in a forest, beside that. Found once, in O(streams + ranks × log
/// ranks), for all rows that are made of the forest.
#[derive(Clone, Debug)]
pub(super) enum RanksOfSum {
    /// Nothing: it is no sum, or paths are put together anew of which it is said.
    Nothing,
    /// One rank, if any, is shown: it is spread over nobody.
    OneRank,
    /// What each has.
    Each(Arc<Each>),
    /// How paths are spread, and what the ranks have that are kept apart.
    Summed(Arc<Each>),
}

impl RanksOfSum {
    pub(super) fn find(refined: &Refined) -> Self {
        if let Some(of_process) = ranks_of_sum(refined) {
            let each = Each::of_ranks(refined, &of_process);
            return if each.numbers.len() > 1 { Self::Each(Arc::new(each)) } else { Self::OneRank };
        }
        if refined.spreads().is_none() {
            return Self::Nothing;
        }
        let processes = refined.profile.info.processes.iter();
        let of_process: Vec<Option<u32>> = processes.map(|process| process.rank).collect();
        Self::Summed(Arc::new(Each::of_ranks(refined, &of_process)))
    }

    /// What the ranks have in the forest that this was found of.
    pub(super) fn costs<'r>(&self, refined: &'r Refined) -> Option<PeerCosts<'r>> {
        let known = match self {
            Self::Nothing | Self::OneRank => return None,
            Self::Each(each) => Known::Each(Arc::clone(each)),
            Self::Summed(kept) => Known::Summed {
                spreads: refined.spreads()?,
                kept: Arc::clone(kept),
                is_refined: !refined.outcomes.is_empty(),
            },
        };
        Some(PeerCosts { refined, known })
    }
}

impl<'r> PeerCosts<'r> {
    /// What a sum knows of its ranks in a forest; `None` of other profiles.
    #[must_use]
    pub fn of_sum(refined: &'r Refined) -> Option<Self> {
        RanksOfSum::find(refined).costs(refined)
    }

    /// What each of some peers has, who are called by these numbers, ascending. `place` has the
    /// place of the one that a stream is of.
    #[must_use]
    pub fn of_each(
        refined: &'r Refined,
        numbers: Vec<u32>,
        place: impl Fn(usize) -> Option<u32>,
    ) -> Self {
        let of_stream = (0..refined.streams.len()).map(place).collect();
        Self { refined, known: Known::Each(Arc::new(Each::new(refined, numbers, of_stream))) }
    }

    /// Whether it was known, as they were recorded, how all these nodes are spread; false of
    /// samples without a path.
    pub(super) fn were_known(&self, mut nodes: impl Iterator<Item = u32>) -> bool {
        match &self.known {
            Known::Each(_) => true,
            Known::Summed { spreads, .. } => nodes.all(|node| spreads.place(node).is_some()),
        }
    }

    /// Whether no peer has anything of a node, as where it is of a launcher.
    pub(super) fn is_of_none(&self, node: u32) -> bool {
        match &self.known {
            Known::Each(each) => each.place(node).is_none(),
            Known::Summed { spreads, .. } => {
                spreads.place(node).is_some_and(Spreads::is_of_no_rank)
            }
        }
    }

    /// How many peers there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        match &self.known {
            Known::Each(each) => each.numbers.len() as u32,
            Known::Summed { spreads, .. } => spreads.ranks(),
        }
    }

    /// Whether it is known what each of them has.
    #[must_use]
    pub fn is_of_each(&self) -> bool {
        matches!(self.known, Known::Each(_))
    }

    /// The place of the peer that a node is of, where each has nodes of its own.
    #[must_use]
    pub fn place(&self, node: u32) -> Option<usize> {
        match &self.known {
            Known::Each(each) => each.place(node).map(|place| place as usize),
            Known::Summed { .. } => None,
        }
    }

    /// The number of a peer that has nodes of its own, by its place.
    #[must_use]
    pub fn number(&self, place: usize) -> Option<u32> {
        match &self.known {
            Known::Each(each) => each.numbers.get(place).copied(),
            Known::Summed { .. } => None,
        }
    }

    /// How the costs of a row are spread whose outermost nodes these are, and all of whose nodes
    /// those are; `None` where that is not known.
    pub(super) fn of_row(&self, outermost: &[u32], all: &[u32]) -> Option<OverRanks> {
        let inclusive = self.of_nodes(outermost.iter().copied())?;
        let exclusive = self.placed(all.iter().copied()).and_then(|of| self.own_of_placed(&of));
        Some(inclusive.with_exclusive(exclusive))
    }

    /// How the inclusive costs of a row are spread that has these nodes, of which none is below
    /// another; `None` where that is not known.
    #[must_use]
    pub fn of_nodes(&self, nodes: impl Iterator<Item = u32>) -> Option<OverRanks> {
        self.of_placed(&self.placed(nodes)?)
    }

    /// The same of their exclusive costs; these nodes may be below each other.
    pub(super) fn own_of_nodes(&self, nodes: impl Iterator<Item = u32>) -> Option<OverRanks> {
        self.own_of_placed(&self.placed(nodes)?)
    }

    /// Nodes in the order of their places, each with its own.
    fn placed(&self, nodes: impl Iterator<Item = u32>) -> Option<Vec<(u32, u32)>> {
        let mut placed: Vec<(u32, u32)> = Vec::new();
        match &self.known {
            Known::Each(each) => {
                placed.extend(nodes.filter_map(|node| Some((each.place(node)?, node))));
            }
            Known::Summed { spreads, .. } => {
                for node in nodes {
                    placed.push((spreads.place(node)?, node));
                }
            }
        }
        placed.sort_unstable();
        Some(placed)
    }

    fn metrics(&self) -> impl Iterator<Item = MetricRef> + use<> {
        (0..).map(MetricRef).take(self.refined.accounts.len())
    }

    /// Inclusive costs of nodes that are in the order of their places.
    fn of_placed(&self, placed: &[(u32, u32)]) -> Option<OverRanks> {
        let inclusive = |node: u32, metric| self.refined.of_metric(node as usize, metric).0;
        match &self.known {
            Known::Each(each) => {
                let is_spread = !each.are_of_one(self.refined, placed);
                is_spread.then(|| self.of_each_peer(each, placed, inclusive))
            }
            Known::Summed { spreads, kept, .. } => {
                placed.first()?;
                let places = self.whole(spreads, placed)?;
                let of_metric = |metric: MetricRef| {
                    let mut sums = Sums::default();
                    for place in together(spreads, &places, metric) {
                        sums.add(&spreads.at(place)[metric.index()], self.count());
                    }
                    self.finish(sums, (spreads, &places), (kept, placed), metric, inclusive)
                };
                Some(OverRanks::of_metrics(self.metrics().map(of_metric).collect()))
            }
        }
    }

    /// Exclusive costs of nodes that are in the order of their places. Of the nodes that one
    /// recorded frame became, as inlined functions, all have one place, and only the innermost has
    /// exclusive costs.
    fn own_of_placed(&self, placed: &[(u32, u32)]) -> Option<OverRanks> {
        let own = |node: u32, metric| self.refined.own_of_metric(node as usize, metric).1;
        match &self.known {
            Known::Each(each) => {
                let is_spread = !each.are_of_one(self.refined, placed);
                is_spread.then(|| self.of_each_peer(each, placed, own))
            }
            Known::Summed { spreads, kept, .. } => {
                let children = self.refined.children();
                let mut innermost: Vec<(u32, u32)> = Vec::new();
                // The places of longer paths, of each place.
                let mut longer: Vec<(u32, u32)> = Vec::new();
                for &(place, node) in placed {
                    let before = longer.len();
                    for &child in children.of(node) {
                        longer.push((place, spreads.place(child)?));
                    }
                    if longer[before..].contains(&(place, place)) {
                        longer.truncate(before);
                    } else if self.refined.is_shown(node as usize) {
                        innermost.push((place, node));
                    }
                }
                longer.sort_unstable();
                longer.dedup();
                let places = self.whole(spreads, &innermost)?;
                let of_metric = |metric: MetricRef| {
                    let of = |place: u32| &spreads.at(place)[metric.index()];
                    let longer_of = |place: u32| {
                        let first = longer.partition_point(|of| of.0 < place);
                        let those = longer[first..].iter().take_while(move |of| of.0 == place);
                        let those = those.map(|&(_, longer)| *of(longer));
                        those.filter(|longer| longer.sum > 0).collect::<Vec<_>>()
                    };
                    let mut sums = Sums::default();
                    // What nothing is called from has what is its own, alone.
                    let (last, others): (Vec<u32>, Vec<u32>) =
                        places.iter().partition(|&&place| longer_of(place).is_empty());
                    for place in together(spreads, &last, metric) {
                        sums.add(of(place), self.count());
                    }
                    for place in others {
                        sums.add_own(of(place), &longer_of(place), self.count());
                    }
                    self.finish(sums, (spreads, &places), (kept, placed), metric, own)
                };
                Some(OverRanks::of_metrics(self.metrics().map(of_metric).collect()))
            }
        }
    }

    /// Costs of peers that have nodes of their own.
    fn of_each_peer(
        &self,
        each: &Each,
        placed: &[(u32, u32)],
        cost: impl Fn(u32, MetricRef) -> u64,
    ) -> OverRanks {
        let mut of_peers: Vec<RankSums> = self.metrics().map(|_| RankSums::default()).collect();
        for of_peer in placed.chunk_by(|one, other| one.0 == other.0) {
            let number = each.numbers[of_peer[0].0 as usize];
            for (metric, of) in self.metrics().zip(&mut of_peers) {
                match of_peer.iter().map(|&(_, node)| cost(node, metric)).sum() {
                    0 => {}
                    samples => of.add(&RankSums::of_rank(number, samples)),
                }
            }
        }
        let made = of_peers.iter().map(|of| {
            let mut sums = Sums::default();
            sums.add(of, self.count());
            sums.finish(self.count(), &[], u64::MAX)
        });
        OverRanks::of_metrics(made.collect())
    }

    /// The places of nodes that are in their order; `None` if one of the paths is not whole any
    /// more.
    fn whole(&self, spreads: &Spreads, placed: &[(u32, u32)]) -> Option<Vec<u32>> {
        let is_refined = matches!(self.known, Known::Summed { is_refined: true, .. });
        // A path is a node of each rank that is kept apart, too.
        let of_place = placed.chunk_by(|one, other| one.0 == other.0).map(|of_place| {
            let place = of_place[0].0;
            let is_whole = |(metric, of): (MetricRef, &RankSums)| {
                let nodes = of_place.iter().map(|&(_, node)| node as usize);
                of.sum == nodes.map(|node| self.refined.of_metric(node, metric).0).sum::<u64>()
            };
            let may_be_part = is_refined && !Spreads::is_of_no_rank(place);
            let is_part = may_be_part && !self.metrics().zip(spreads.at(place)).all(is_whole);
            (!is_part).then_some(place)
        });
        of_place.collect()
    }

    /// What is known of a metric of these places together. The nodes, in the order of their places,
    /// say what the ranks have that are kept apart.
    fn finish(
        &self,
        sums: Sums,
        (spreads, places): (&Spreads, &[u32]),
        (kept, placed): (&Each, &[(u32, u32)]),
        metric: MetricRef,
        cost: impl Fn(u32, MetricRef) -> u64,
    ) -> OfMetric {
        if sums.is_exact() {
            return sums.finish(self.count(), &[], u64::MAX);
        }
        let mut of_kept: Vec<(u32, u64)> =
            kept.numbers.iter().map(|&number| (number, 0_u64)).collect();
        for &(_, node) in placed {
            if let Some(place) = kept.place(node) {
                let own = &mut of_kept[place as usize].1;
                *own = own.saturating_add(cost(node, metric));
            }
        }
        // No rank has more than its threads have in all.
        let mut first: Vec<u32> = places.iter().map(|&place| spreads.first(place)).collect();
        first.sort_unstable();
        first.dedup();
        let most = first.iter().map(|&first| spreads.at(first)[metric.index()].most);
        sums.finish(self.count(), &of_kept, most.fold(0, u64::saturating_add))
    }

    /// The same of each function, by its number: of its outermost nodes. O(nodes × log nodes).
    pub(super) fn of_functions(
        &self,
        watch: &Watch<'_>,
    ) -> Result<Vec<Option<OverRanks>>, Cancelled> {
        let refined = self.refined;
        // Until how many samples before them nodes are below the last outermost one of a function.
        let mut until = vec![0_u64; refined.functions.len()];
        // Function, whether another node of it is above, node.
        let mut found: Vec<(u32, bool, u32)> = Vec::new();
        let (_, mut before) = refined.samples_of_all(0);
        depth_first(refined, watch, |node| {
            let (inclusive, exclusive) = refined.samples_of_all(node);
            let function = refined.frames[refined.frame[node].index()].function.index();
            let is_below = before < until[function];
            if !is_below {
                until[function] = before + inclusive;
            }
            found.push((function as u32, is_below, node as u32));
            before += exclusive;
        })?;
        found.sort_unstable();
        let mut made = vec![None; refined.functions.len()];
        for of_one in found.chunk_by(|one, other| one.0 == other.0) {
            watch.step(0)?;
            let outermost = of_one.partition_point(|&(_, is_below, _)| !is_below);
            let nodes: Vec<u32> = of_one.iter().map(|&(.., node)| node).collect();
            made[of_one[0].0 as usize] = self.of_row(&nodes[..outermost], &nodes);
        }
        Ok(made)
    }
}

/// Whether a stage put a frame above all paths of a rank, a process, a thread or the like.
fn is_context(refined: &Refined, frame: FrameRef) -> bool {
    refined.frames[frame.index()].kind == FrameKind::Context
}

/// Places that together have of a metric what these have, for each rank: instead of all that is
/// below a recorded frame, the frame. If it has no more samples than these together, no rank has,
/// for none has less.
fn together(spreads: &Spreads, places: &[u32], metric: MetricRef) -> Vec<u32> {
    let sum = |place: u32| spreads.at(place)[metric.index()].sum;
    let has_any = |place: &u32| sum(*place) > 0;
    let mut places: Vec<u32> = places.iter().copied().filter(has_any).collect();
    for _ in 0..MOST_FRAMES_UP {
        if places.len() < 2 {
            break;
        }
        places.sort_unstable_by_key(|&place| (spreads.above(place), place));
        let mut up = Vec::with_capacity(places.len());
        let mut is_anew = false;
        for siblings in places.chunk_by(|&a, &b| spreads.above(a) == spreads.above(b)) {
            let above = spreads.above(siblings[0]);
            let of_siblings = siblings.iter().map(|&place| sum(place)).fold(0, u64::saturating_add);
            let is_all = !siblings.contains(&above) && sum(above) == of_siblings;
            is_anew |= is_all;
            if is_all { up.push(above) } else { up.extend_from_slice(siblings) }
        }
        places = up;
        if !is_anew {
            break;
        }
    }
    places
}
