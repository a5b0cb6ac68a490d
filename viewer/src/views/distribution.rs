//! The distribution of one row: how its cost is spread over the peers of each dimension.
//!
//! Every node belongs to one stream, the nodes of a thread in an epoch, and inclusive sums are
//! there already. So a row of the call tree costs its own nodes, and no pass over what is below it;
//! a function costs one pass over all nodes, in which its outermost ones are found. Σ over the
//! peers of a dimension, and of what is of no peer, is what the row has.

use core::ops::AddAssign;

use csprof_format::ids::ProcessId;

use super::dimension::{Dimension, dimensions};
use super::path::Path;
use super::peers::keeps_all_ranks;
use super::row::Cost;
use super::slices::{Membership, Slices, in_slices};
use super::statistics::{Statistics, samples_per_signal};
use super::top_down::TopDown;
use super::tree::RowId;
use crate::profile::{FrameKind, FunctionRef, MetricRef};
use crate::refine::{Cancelled, Chain, Refined, Stopped, Watch, depth_first, in_width};

/// Why there is no dimension.
const NO_PEERS: &str = "there is nothing to compare: one rank or process, one thread and one \
                            epoch, or none that do the same work at one time";

/// The same of a sum.
const NO_PEERS_OF_SUM: &str = "there is nothing to compare: of the ranks of this sum not all are kept \
                               apart; the columns over ranks are of all of them";

/// Why there is no dimension in a forest.
#[must_use]
pub fn why_no_peers(refined: &Refined) -> &'static str {
    let profile = &refined.profile;
    match profile.info.is_sum() && !keeps_all_ranks(profile) {
        true => NO_PEERS_OF_SUM,
        false => NO_PEERS,
    }
}

/// What the distribution is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowSubject {
    /// The row of the call tree at a path; all that is shown at the empty one.
    Path(Path),
    /// A function, and from there outward the callers along which it was called; the last one may
    /// be the root, where paths begin with the one before.
    Callers(Path),
    /// Wherever a path in the refinement language ends.
    Chain(Chain),
}

impl RowSubject {
    /// Whether it is the same row: several may have functions of one key, and their numbers tell.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self == other
            && match (self, other) {
                (Self::Path(one) | Self::Callers(one), Self::Path(two) | Self::Callers(two)) => {
                    one.numbers().eq(two.numbers())
                }
                _ => true,
            }
    }
}

/// Samples of one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Of the row and all below it.
    pub inclusive: u64,
    /// Of the row's own.
    pub exclusive: u64,
}

impl Samples {
    /// Those of a cost.
    #[must_use]
    pub const fn of(self, cost: Cost) -> u64 {
        match cost {
            Cost::Inclusive => self.inclusive,
            Cost::Exclusive => self.exclusive,
        }
    }
}

impl AddAssign for Samples {
    fn add_assign(&mut self, other: Self) {
        self.inclusive += other.inclusive;
        self.exclusive += other.exclusive;
    }
}

/// Stands in place of statistics where samples of a row have no time.
pub const LACKS_TIMES: &str = "samples without a time may be of any slice: a slice has at least \
                               what is shown (?: unknown)";

/// Stands for a slice of which no sample is known where some have no time.
pub const UNKNOWN: char = '?';

/// How the cost of a row is spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// What the row has of each metric.
    pub row: Vec<Samples>,
    /// Over whom.
    pub over: Vec<Over>,
    /// Samples per signal, of each metric.
    per_signal: Vec<f64>,
}

/// How it is spread over the peers of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Over {
    /// The peers.
    pub dimension: Dimension,
    /// Samples of each metric, peer by peer in their order.
    of_peers: Vec<Vec<Samples>>,
}

impl Over {
    /// What each peer has, in their order.
    #[must_use]
    pub fn parts(&self, metric: MetricRef, cost: Cost) -> Vec<u64> {
        let of_metric = self.of_peers.get(metric.index());
        of_metric.map_or_else(Vec::new, |peers| peers.iter().map(|peer| peer.of(cost)).collect())
    }
}

impl Distribution {
    /// That of a row; `None` if it is not there. Threads and epochs are those of the process with
    /// most of the row by the metric that is looked at.
    ///
    /// # Errors
    /// A frame of a chain matches nothing that is shown, or the watch asked for the end.
    pub fn new(
        refined: &Refined,
        subject: &RowSubject,
        watch: &Watch<'_>,
    ) -> Result<Option<Self>, Stopped> {
        Self::weighed(refined, subject, refined.metric, watch)
    }

    /// The same, by another metric.
    ///
    /// # Errors
    /// Those of [`Distribution::new`].
    pub fn weighed(
        refined: &Refined,
        subject: &RowSubject,
        metric: MetricRef,
        watch: &Watch<'_>,
    ) -> Result<Option<Self>, Stopped> {
        if refined.has_loops() && !matches!(subject, RowSubject::Path(_)) {
            // A function has what its loops have; what is a loop itself is found with them alone.
            let ended = |Cancelled| Stopped::Cancelled;
            let whole = refined.without_loops(watch).map_err(ended)?;
            let found = Self::of_rows(&whole, subject, metric, watch)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Self::of_rows(refined, subject, metric, watch)
    }

    /// The same of the rows as they are.
    fn of_rows(
        refined: &Refined,
        subject: &RowSubject,
        metric: MetricRef,
        watch: &Watch<'_>,
    ) -> Result<Option<Self>, Stopped> {
        let metrics: Vec<MetricRef> = refined.profile.metrics().map(|(metric, _)| metric).collect();
        // Of each stream, metric by metric.
        let mut streams = vec![Samples::default(); refined.streams.len() * metrics.len()];
        let ends: Vec<u32> = refined.streams.iter().map(|stream| stream.nodes.end).collect();
        let mut row = vec![Samples::default(); metrics.len()];
        let slices = Slices::of(refined);
        // Which nodes' samples are the row's, where these are looked at one by one.
        let mut ours =
            vec![Membership::default(); if slices.is_some() { refined.node_count() } else { 0 }];
        let is_there = nodes(refined, subject, watch, |node, [is_outermost, has_own]| {
            if let Some(part) = ours.get_mut(node as usize) {
                part.inclusive |= is_outermost;
                part.exclusive |= has_own;
            }
            let stream = ends.partition_point(|&end| end <= node);
            for (place, &metric) in metrics.iter().enumerate() {
                let (inclusive, exclusive) = refined.own_of_metric(node as usize, metric);
                let samples = Samples {
                    inclusive: if is_outermost { inclusive } else { 0 },
                    exclusive: if has_own { exclusive } else { 0 },
                };
                row[place] += samples;
                if let Some(sum) = streams.get_mut(stream * metrics.len() + place) {
                    *sum += samples;
                }
            }
        })?;
        if !is_there {
            return Ok(None);
        }
        let of_stream = |stream: usize, metric: usize| streams[stream * metrics.len() + metric];
        let mut of_process = vec![0; refined.profile.info.processes.len()];
        for (number, stream) in refined.streams.iter().enumerate() {
            if let Some(sum) = of_process.get_mut(stream.process.index()) {
                *sum += of_stream(number, metric.index()).inclusive;
            }
        }
        let weight = |process: ProcessId| of_process.get(process.index()).copied().unwrap_or(0);
        let mut of_slices = Vec::new();
        if let Some(slices) = &slices {
            of_slices = vec![vec![Samples::default(); slices.count()]; metrics.len()];
            let ours = with_below(refined, ours, watch).map_err(|Cancelled| Stopped::Cancelled)?;
            let add = |part: Membership, slice: usize, metric: usize, samples: u64| {
                let of_slice = of_slices.get_mut(metric).and_then(|slices| slices.get_mut(slice));
                if let Some(of_slice) = of_slice {
                    *of_slice += Samples {
                        inclusive: if part.inclusive { samples } else { 0 },
                        exclusive: if part.exclusive { samples } else { 0 },
                    };
                }
            };
            in_slices(refined, slices, &ours, watch, add)
                .map_err(|Cancelled| Stopped::Cancelled)?;
        }
        let over = dimensions(refined, weight).into_iter().map(|dimension| {
            if dimension.slices().is_some() {
                return Over { dimension, of_peers: std::mem::take(&mut of_slices) };
            }
            let none = vec![Samples::default(); dimension.peers.len()];
            let mut of_peers = vec![none; metrics.len()];
            for stream in 0..refined.streams.len() {
                let Some(peer) = dimension.of_stream(stream) else { continue };
                for (metric, sums) in of_peers.iter_mut().enumerate() {
                    sums[peer] += of_stream(stream, metric);
                }
            }
            Over { dimension, of_peers }
        });
        let over = over.collect();
        let per_signal =
            metrics.iter().map(|&metric| samples_per_signal(refined, metric)).collect();
        Ok(Some(Self { row, over, per_signal }))
    }

    /// What the row has.
    #[must_use]
    pub fn samples(&self, metric: MetricRef, cost: Cost) -> u64 {
        self.row.get(metric.index()).map_or(0, |samples| samples.of(cost))
    }

    /// Whether these are slices of time, and samples of the row have no time: so what a slice has
    /// is a least.
    #[must_use]
    pub fn lacks_times(&self, over: &Over, metric: MetricRef, cost: Cost) -> bool {
        let timed = || over.parts(metric, cost).into_iter().sum::<u64>();
        over.dimension.axis.is_none() && timed() < self.samples(metric, cost)
    }

    /// The statistics of one dimension. O(peers × log peers).
    #[must_use]
    pub fn statistics(&self, over: &Over, metric: MetricRef, cost: Cost) -> Statistics {
        let per_signal = self.per_signal.get(metric.index()).copied().unwrap_or(1.0);
        Statistics::of(&over.parts(metric, cost), per_signal)
    }
}

/// With what is below the nodes of a row. Where callers stand below what they call, what is a
/// function's own lies there, too.
fn with_below(
    refined: &Refined,
    mut parts: Vec<Membership>,
    watch: &Watch<'_>,
) -> Result<Vec<Membership>, Cancelled> {
    // Whether what is below a node is its own as well.
    let is_turned = |node: usize| refined.own(node, 1_u64, 0) == 1;
    let mut below = vec![Membership::default(); parts.len()];
    watch.forward(0..parts.len(), |nodes| {
        for node in nodes {
            let above = if node == 0 {
                Membership::default()
            } else {
                below[refined.parent[node] as usize]
            };
            let own = parts[node];
            below[node] = Membership {
                inclusive: own.inclusive || above.inclusive,
                exclusive: own.exclusive && is_turned(node) || above.exclusive,
            };
            let has_own = own.exclusive && refined.own(node, 1_u64, 1) == 1;
            parts[node] = Membership {
                inclusive: below[node].inclusive,
                exclusive: has_own || below[node].exclusive,
            };
        }
    })?;
    Ok(parts)
}

/// Calls `visit` for the nodes of a row, with whether their inclusive samples count, since no other
/// one of them is above, and whether their own do. Returns whether the row is there.
fn nodes(
    refined: &Refined,
    subject: &RowSubject,
    watch: &Watch<'_>,
    mut visit: impl FnMut(u32, [bool; 2]),
) -> Result<bool, Stopped> {
    let ended = |Cancelled| Stopped::Cancelled;
    match subject {
        RowSubject::Path(path) => {
            let mut tree = TopDown::new(refined, watch).map_err(ended)?;
            let (row, is_whole) = tree.locate(refined, path);
            match row {
                // Node 0 is in no thread; what is below it has all.
                RowId::ROOT if is_whole => {
                    let outermost = refined.index_children(watch).map_err(ended)?.of(0);
                    outermost.iter().for_each(|&node| visit(node, [true, false]));
                }
                _ if is_whole => tree.nodes(row).iter().for_each(|&node| visit(node, [true; 2])),
                _ => {}
            }
            Ok(is_whole)
        }
        RowSubject::Callers(path) => {
            let steps = path.0.iter().map(|step| Some((step.function(refined)?, step.kind())));
            let Some(steps) = steps.collect::<Option<Vec<_>>>() else { return Ok(false) };
            let Some(&(function, _)) = steps.first() else { return Ok(false) };
            let ours: Vec<bool> =
                refined.frames.iter().map(|frame| frame.function == function).collect();
            let is_one = |node: usize| {
                ours[refined.frame[node].index()] && is_called(refined, node, &steps[1..])
            };
            outermost(refined, watch, is_one, visit).map_err(ended)
        }
        RowSubject::Chain(chain) => {
            let ends = refined.ends_of(chain, watch)?;
            outermost(refined, watch, |node| ends.contains(node), visit).map_err(ended)
        }
    }
}

/// Whether a node was called along these callers, outward.
fn is_called(refined: &Refined, node: usize, callers: &[(FunctionRef, FrameKind)]) -> bool {
    let mut at = node;
    callers.iter().all(|&(function, kind)| {
        // Above the outermost frame there is node 0, and nothing above that.
        let is_above = at != 0;
        at = refined.parent[at] as usize;
        let frame = refined.frames[refined.frame[at].index()];
        is_above && (frame.function, frame.kind) == (function, kind)
    })
}

/// Visits the nodes that are meant, depth first; returns whether there are any. With S samples on
/// the nodes before one, what is below it finds less than S and its inclusive samples before it.
fn outermost(
    refined: &Refined,
    watch: &Watch<'_>,
    is_one: impl Fn(usize) -> bool,
    mut visit: impl FnMut(u32, [bool; 2]),
) -> Result<bool, Cancelled> {
    let mut found = false;
    in_width!(&refined.costs, costs => {
        let (inclusive, exclusive) = (&costs.all.inclusive[..], &costs.all.exclusive[..]);
        let (mut before, mut until) = (exclusive[0], exclusive[0]);
        // The first node is always outermost.
        depth_first(refined, watch, |node| {
            if is_one(node) {
                let is_outermost = !found || before >= until;
                if is_outermost {
                    until = before + inclusive[node];
                }
                found = true;
                visit(node as u32, [is_outermost, true]);
            }
            before += exclusive[node];
        })
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use csprof_format::profile::SampleTime;

    use super::*;
    use crate::profile::{Profile, Times, from_outline};
    use crate::refine::{Axis, apply, parse, unwatched};
    use crate::views::Sort;
    use crate::views::callers::Callers;
    use crate::views::contexts::contexts;
    use crate::views::flat::flat;
    use crate::views::tree::{Direction, RowTree};

    const RANKS: &str = "\
# rank=0 thread=10 epoch=0 name=main
main 30
  solve 10
    solve 2
# rank=0 thread=11 epoch=0 name=worker
work
  solve 20
# rank=1 thread=20 epoch=0
main 100
  solve
    log 1
# rank=1 thread=20 epoch=1
main 5
# rank=2 thread=30 epoch=0
main 7
";

    fn distribution(refined: &Refined, subject: &RowSubject) -> Option<Distribution> {
        Distribution::new(refined, subject, &Watch::none()).unwrap()
    }

    fn exchange() -> Profile {
        let bytes: &[u8] = include_bytes!("../../tests/fixtures/exchange.csprof");
        Profile::from_saved(csprof_format::read::read(bytes).unwrap())
    }

    fn paths<D: Direction>(tree: &mut RowTree<D>, refined: &Refined, levels: u32) -> Vec<RowId> {
        let (mut all, mut next) = (vec![RowId::ROOT], 0);
        while let Some(&row) = all.get(next) {
            next += 1;
            if tree.depth(row) < levels {
                all.extend(tree.children(refined, row).to_vec());
            }
        }
        all
    }

    /// The row's cost is that of the view, and of each dimension the peers have it together with
    /// what is of no peer; every peer has what the row has after its stage.
    fn hold(refined: &Refined, subject: &RowSubject, row: &crate::views::Row) {
        let of = distribution(refined, subject).unwrap();
        let metric = refined.metric;
        let weight = row.of(metric);
        let expected = Samples { inclusive: weight.inclusive, exclusive: weight.exclusive };
        assert_eq!(of.row[metric.index()], expected, "{subject:?}");
        for over in &of.over {
            for cost in [Cost::Inclusive, Cost::Exclusive] {
                let sum: u64 = over.parts(metric, cost).iter().sum();
                assert!(sum <= of.samples(metric, cost));
            }
        }
    }

    #[test]
    fn rows_of_all_views_are_spread_whole() {
        for profile in [exchange(), from_outline(RANKS).unwrap()] {
            for stage in ["", "hide main", "callers of *solve*", "split rank", "by module"] {
                let Ok(refined) = apply(&profile, &parse(stage).unwrap()) else { continue };
                let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
                for row in paths(&mut tree, &refined, 9).into_iter().skip(1) {
                    let path = tree.path(&refined, row);
                    hold(&refined, &RowSubject::Path(path), tree.row(row));
                }
                let mut tree = unwatched(|watch| Callers::new(&refined, watch));
                for row in paths(&mut tree, &refined, 3).into_iter().skip(1) {
                    let path = tree.path(&refined, row);
                    hold(&refined, &RowSubject::Callers(path), tree.row(row));
                }
            }
        }
    }

    /// Every sample of some node at a time of its own.
    fn timed(mut profile: Profile) -> Profile {
        let mut rows = Vec::new();
        for node in 1..profile.nodes.len() as u32 {
            for (metric, _) in profile.metrics() {
                for number in 0..profile.nodes.of_metric(node as usize, metric) {
                    let time_us = (u64::from(node) * 7919 + number * 104_729) % 1_000_000;
                    rows.push(SampleTime { time_us, node, metric: metric.0, samples: 1 });
                }
            }
        }
        profile.times = Times::loaded(&profile.info, &rows, |node| node).into();
        profile
    }

    /// The slices of a row have all that it has, and each leads to its own samples.
    #[test]
    fn slices_of_time_have_all_of_a_row() {
        let profile = timed(from_outline(RANKS).unwrap());
        for stage in [
            "",
            "hide main",
            "callers of *solve*",
            "callers of main | callers of *",
            "split rank",
            "split rank | hide *",
            "by module",
            "fold main",
            "during 200ms..60%",
        ] {
            let refined = apply(&profile, &parse(stage).unwrap()).unwrap();
            let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
            for row in paths(&mut tree, &refined, 9) {
                let path = tree.path(&refined, row);
                let of = distribution(&refined, &RowSubject::Path(path)).unwrap();
                let over = of.over.iter().find(|over| over.dimension.axis.is_none()).unwrap();
                for cost in [Cost::Inclusive, Cost::Exclusive] {
                    let parts = over.parts(MetricRef::FIRST, cost);
                    let sum = parts.iter().sum::<u64>();
                    assert_eq!(sum, of.samples(MetricRef::FIRST, cost), "{stage}: {cost:?}");
                }
                if row == RowId::ROOT {
                    let parts = over.parts(MetricRef::FIRST, Cost::Inclusive);
                    for (peer, part) in over.dimension.peers.iter().zip(parts) {
                        let stages = parse(&peer.stage).unwrap().stages;
                        assert_eq!(refined.then(&stages[0]).unwrap().shown, part, "{}", peer.stage);
                    }
                }
            }
        }
        assert!(of_time(&Refined::base(&from_outline(RANKS).unwrap())).is_none());
    }

    fn of_time(refined: &Refined) -> Option<Over> {
        let of = distribution(refined, &RowSubject::Path(Path::default()))?;
        of.over.into_iter().find(|over| over.dimension.axis.is_none())
    }

    /// Where all threads are peers, nothing of the row is elsewhere.
    #[test]
    fn threads_have_all_of_a_row() {
        let outline = "\
# rank=0 thread=1 epoch=0
start 3
  body 50
    body 4
# rank=0 thread=2 epoch=0
start 2
  body 40
# rank=0 thread=3 epoch=0
start 1
  body 45
    rest 9
";
        let profile = from_outline(outline).unwrap();
        let refined = Refined::base(&profile);
        for row in flat(&refined, Sort::default()) {
            let pattern = crate::views::pattern::pattern(&refined, &row).unwrap();
            let of = distribution(&refined, &RowSubject::Chain(Chain::of(pattern))).unwrap();
            let over =
                of.over.iter().find(|over| over.dimension.axis == Some(Axis::Thread)).unwrap();
            for (cost, all) in
                [(Cost::Inclusive, row.first().inclusive), (Cost::Exclusive, row.first().exclusive)]
            {
                assert_eq!(over.parts(MetricRef::FIRST, cost).iter().sum::<u64>(), all);
            }
        }
    }

    #[test]
    fn every_peer_leads_to_its_own_samples() {
        for profile in [exchange(), from_outline(RANKS).unwrap()] {
            let of = distribution(&Refined::base(&profile), &RowSubject::Path(Path::default()));
            for over in of.unwrap().over {
                let parts = over.parts(MetricRef::FIRST, Cost::Inclusive);
                for (peer, part) in over.dimension.peers.iter().zip(parts) {
                    let shown = apply(&profile, &parse(&peer.stage).unwrap()).unwrap().shown;
                    assert_eq!(shown, part, "{}", peer.stage);
                }
            }
        }
    }

    /// The imbalance of all that is shown is that of the list of processes.
    #[test]
    fn imbalance_is_that_of_the_list_of_processes() {
        for profile in [exchange(), from_outline(RANKS).unwrap()] {
            for stage in ["", "through MPI_Recv or through solve", "not rank = 1"] {
                let Ok(refined) = apply(&profile, &parse(stage).unwrap()) else { continue };
                let (_, imbalance) = unwatched(|watch| contexts(&refined, watch));
                let of = distribution(&refined, &RowSubject::Path(Path::default())).unwrap();
                let over = of.over.iter().find(|over| over.dimension.axis == Some(Axis::Rank));
                let spread =
                    over.map(|over| of.statistics(over, MetricRef::FIRST, Cost::Inclusive).balance);
                assert_eq!(spread, (imbalance.balance.peers > 1).then_some(imbalance.balance));
            }
        }
    }

    #[test]
    fn peers_with_nothing_count() {
        let profile = from_outline(RANKS).unwrap();
        let refined = Refined::base(&profile);
        let log = parse("log").unwrap().stages.pop();
        let Some(crate::refine::Stage::Where(crate::refine::Predicate::Through(log))) = log else {
            unreachable!("a bare frame is a path")
        };
        let of = distribution(&refined, &RowSubject::Chain(log)).unwrap();
        let parts = of
            .over
            .iter()
            .map(|over| (over.dimension.axis, over.parts(MetricRef::FIRST, Cost::Inclusive)));
        assert_eq!(
            parts.collect::<Vec<_>>(),
            [
                (Some(Axis::Rank), vec![0, 1, 0]),
                (Some(Axis::Thread), vec![0, 0]),
                (Some(Axis::Epoch), vec![1, 0])
            ]
        );
        let gone = RowSubject::Callers(Path::default());
        assert!(distribution(&refined, &gone).is_none());
    }

    /// Epochs of one number are of different processes, so they are not added up.
    #[test]
    fn epochs_are_of_one_process() {
        let outline = "# rank=0 thread=1 epoch=0\nmain 30\n# rank=0 thread=1 epoch=1\nmain 40\n\
                       # rank=1 thread=2 epoch=0\nmain 7\n# rank=1 thread=2 epoch=1\nmain 9\n";
        let profile = from_outline(outline).unwrap();
        let of =
            distribution(&Refined::base(&profile), &RowSubject::Path(Path::default())).unwrap();
        let over = of.over.iter().find(|over| over.dimension.axis == Some(Axis::Epoch)).unwrap();
        assert_eq!(over.parts(MetricRef::FIRST, Cost::Inclusive), [30, 40]);
        assert!(over.dimension.process.is_some());
        assert_eq!(over.dimension.others, 1);
    }

    #[test]
    fn a_comparison_has_no_peers() {
        let [base, other] = [(); 2].map(|()| from_outline(RANKS).unwrap());
        let profile = Profile::compared(("a", base), ("b", other), &[]).unwrap();
        let of = distribution(&Refined::base(&profile), &RowSubject::Path(Path::default()));
        assert!(of.unwrap().over.is_empty());
    }
}
