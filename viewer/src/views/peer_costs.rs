//! What is known of how the costs of a forest are spread over the ranks of a job, or other peers.
//!
//! Where each of them has trees of its own, that is added up of the nodes of a row, and is exact
//! after any stage. Else a [sum](crate::profile::Spreads) says it of each path that was recorded;
//! where stages took a part of a path, it is not known.

use std::sync::Arc;

use csprof_format::profile::RankSums;

use super::over_ranks::{OverRanks, Sums};
use super::peers::ranks_of_sum;
use crate::profile::{MetricRef, Spreads};
use crate::refine::{Cancelled, Refined, Watch, depth_first};

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
    /// What a sum says of each path; whether stages were applied to it.
    Summed { spreads: &'r Spreads, is_refined: bool },
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
}

impl Each {
    fn new(refined: &Refined, numbers: Vec<u32>, of_stream: Vec<Option<u32>>) -> Self {
        let ends = refined.streams.iter().map(|stream| stream.nodes.end).collect();
        Self { numbers, ends, of_stream }
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
    /// How paths are spread.
    Summed,
}

impl RanksOfSum {
    pub(super) fn find(refined: &Refined) -> Self {
        if let Some(of_process) = ranks_of_sum(refined) {
            let mut numbers: Vec<u32> = of_process.iter().copied().flatten().collect();
            numbers.sort_unstable();
            numbers.dedup();
            let place = |rank: u32| u32::try_from(numbers.binary_search(&rank).ok()?).ok();
            let of_stream = refined.streams.iter().map(|stream| {
                of_process.get(stream.process.index()).copied().flatten().and_then(place)
            });
            let of_stream = of_stream.collect();
            return match numbers.len() > 1 {
                true => Self::Each(Arc::new(Each::new(refined, numbers, of_stream))),
                false => Self::OneRank,
            };
        }
        if refined.spreads().is_some() { Self::Summed } else { Self::Nothing }
    }

    /// What the ranks have in the forest that this was found of.
    pub(super) fn costs<'r>(&self, refined: &'r Refined) -> Option<PeerCosts<'r>> {
        let known = match self {
            Self::Nothing | Self::OneRank => return None,
            Self::Each(each) => Known::Each(Arc::clone(each)),
            Self::Summed => Known::Summed {
                spreads: refined.spreads()?,
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
            Known::Each(each) => Some(self.of_each_peer(each, placed, inclusive)),
            Known::Summed { spreads, .. } => {
                placed.first()?;
                self.of_paths(spreads, placed, |sums, of, _| sums.add(of, self.count()))
            }
        }
    }

    /// Exclusive costs of nodes that are in the order of their places. Of the nodes that one
    /// recorded frame became, as inlined functions, all have one place, and only the innermost has
    /// exclusive costs.
    fn own_of_placed(&self, placed: &[(u32, u32)]) -> Option<OverRanks> {
        let own = |node: u32, metric| self.refined.own_of_metric(node as usize, metric).1;
        match &self.known {
            Known::Each(each) => Some(self.of_each_peer(each, placed, own)),
            Known::Summed { spreads, .. } => {
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
                self.of_paths(spreads, &innermost, |sums, of, (place, metric)| {
                    let first = longer.partition_point(|of| of.0 < place);
                    let those = longer[first..].iter().take_while(|of| of.0 == place);
                    let those = those.map(|&(_, longer)| spreads.at(longer)[metric.index()]);
                    sums.add_own(of, &those.collect::<Vec<_>>(), self.count());
                })
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
        let sums = of_peers.iter().map(|of| {
            let mut sums = Sums::default();
            sums.add(of, self.count());
            sums
        });
        OverRanks::of_sums(sums.collect(), self.count())
    }

    /// What a sum says of the paths of nodes; `None` if one of them is not whole any more.
    fn of_paths(
        &self,
        spreads: &Spreads,
        placed: &[(u32, u32)],
        add: impl Fn(&mut Sums, &RankSums, (u32, MetricRef)),
    ) -> Option<OverRanks> {
        let is_refined = matches!(self.known, Known::Summed { is_refined: true, .. });
        let mut sums: Vec<Sums> = self.metrics().map(|_| Sums::default()).collect();
        // A path is a node of each rank that is kept apart, too.
        for of_place in placed.chunk_by(|one, other| one.0 == other.0) {
            let place = of_place[0].0;
            let is_whole = |(metric, of): (MetricRef, &RankSums)| {
                let nodes = of_place.iter().map(|&(_, node)| node as usize);
                of.sum == nodes.map(|node| self.refined.of_metric(node, metric).0).sum::<u64>()
            };
            let of_metrics = spreads.at(place);
            let may_be_part = is_refined && !Spreads::is_of_no_rank(place);
            if may_be_part && !self.metrics().zip(of_metrics).all(is_whole) {
                return None;
            }
            for ((metric, of), sums) in self.metrics().zip(of_metrics).zip(&mut sums) {
                add(sums, of, (place, metric));
            }
        }
        Some(OverRanks::of_sums(sums, self.count()))
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
            let outermost = of_one.partition_point(|&(_, is_below, _)| !is_below);
            let nodes: Vec<u32> = of_one.iter().map(|&(.., node)| node).collect();
            made[of_one[0].0 as usize] = self.of_row(&nodes[..outermost], &nodes);
        }
        Ok(made)
    }
}
