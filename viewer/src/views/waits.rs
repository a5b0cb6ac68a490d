//! Who waits, and for whom: time in calls of MPI by operation and path, and the paths on which
//! ranks differ most.
//!
//! A *wait* is an outermost call of MPI. Where no clock has seen these, it is a path with samples
//! of `mpi` of its own, which is that of who calls. Without MPI it is what a thread was found
//! waiting for (`[waits: futex]`), or a path with samples of `lock` of its own. No sample counts in
//! two waits of one metric. How a wait is spread over ranks says who waited for whom: in a call
//! that no rank leaves before all have come to it, who waited least came last.
//!
//! The cause is elsewhere: on a path outside of all waits on which one rank has more than others,
//! and makes all of them wait. What that costs is its imbalance, (most - mean) × ranks. A path
//! is listed where its imbalance arises: one of which a longer path has nine tenths is not, nor one
//! that is even outside of the waits below it.

mod below;
mod operations;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use csprof_format::profile::Metric;

use self::below::{ELSEWHERE, WaitsBelow};
use self::operations::{is_for_all, is_mpi};
use super::call_paths::CallPaths;
use super::dimension::{Dimension, dimensions};
use super::distribution::why_no_peers;
use super::number::{Form, counted, percent};
use super::over_ranks::OfMetric;
use super::path::Path;
use super::peer_costs::{PeerCosts, RanksOfSum};
use super::row::Row;
use super::statistics::{noise_bounds, samples_per_signal};
use crate::profile::{FrameKind, FunctionRef, MetricRef};
use crate::refine::{Cancelled, Refined, Watch};

/// Why less is known of a sum, and what helps.
const NOT_SPREAD: &str =
    "how costs are spread over ranks is not known: not all ranks are kept apart";
const KEEP_ALL: &str = "merge --keep-ranks all keeps what each rank has";

/// Waits, and what makes ranks wait.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Over whom they are spread; `None` where there are no two to compare.
    pub over: Option<PeersOfWaits>,
    /// By function, those with most samples first.
    pub operations: Vec<Wait>,
    /// By call path, those with most samples first.
    pub paths: Vec<Wait>,
    /// Paths outside of waits on which peers differ by more than sampling noise, the greatest
    /// imbalance first.
    pub imbalances: Vec<Wait>,
    /// How many there are besides that may differ by noise alone.
    pub within_noise: usize,
    /// What is not to be seen in this profile, and how it would be: sentences.
    pub missing: Vec<String>,
    /// Whether paths are compared; why not is among what is missing.
    pub compares_paths: bool,
    /// Whether it is not known of some path how it is spread.
    has_unknown: bool,
    all: CallPaths,
}

/// Whose the costs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeersOfWaits {
    /// What one of them is.
    pub noun: &'static str,
    /// How many they are.
    pub count: u32,
    /// The same in words, and whose: `4 ranks`, `8 threads of pid 4711 solver`.
    pub whose: String,
    /// Whether it is known what each has.
    pub is_of_each: bool,
    /// What they are called where that is not their number.
    labels: Vec<String>,
}

impl PeersOfWaits {
    /// What the one with a number is called: `rank 3`, `4712 worker`.
    #[must_use]
    pub fn label(&self, number: u32) -> String {
        match self.labels.get(number as usize) {
            Some(label) => label.clone(),
            None => format!("{} {number}", self.noun),
        }
    }
}

/// A wait, or a path on which peers differ.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The function that is called.
    pub function: FunctionRef,
    /// Kind of its frame.
    pub kind: FrameKind,
    /// The metric that it is of.
    pub metric: MetricRef,
    /// Samples: inclusive ones, but of a wait that a metric of calls has counted.
    pub samples: u64,
    /// How they are spread, where that is known.
    pub over: Option<OfMetric>,
    /// Who came last, where the call waits for all, and that is known and no sampling noise.
    pub last: Option<LastPeer>,
    /// The number of its call path; 0 of an operation.
    path: u32,
}

/// On which paths some functions are.
#[derive(Clone, Debug)]
pub struct WaitsFound<'f> {
    in_functions: &'f [bool],
    /// By the number of a path.
    on_paths: Vec<bool>,
}

impl WaitsFound<'_> {
    /// Whether one of them is on the path of a wait; of an operation, whether it is one.
    #[must_use]
    pub fn has(&self, wait: &Wait) -> bool {
        match wait.path {
            0 => self.in_functions[wait.function.index()],
            path => self.on_paths[path as usize],
        }
    }
}

impl Wait {
    /// What the list of imbalances shows as cost, in samples between bounds, if it is known.
    #[must_use]
    pub fn imbalance(&self) -> Option<[u64; 2]> {
        self.over.as_ref().map(OfMetric::imbalance)
    }
}

/// Who came last to a call that waits for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastPeer {
    /// The one that waited least. Of several the one that did most outside of waits, if that is
    /// known, else the first.
    pub number: u32,
    /// How many waited as little; 0 if that is not known.
    pub among: u32,
    /// Whether nobody does more outside of waits, where that is known.
    pub works_most: Option<bool>,
}

impl Waits {
    /// Those of what is shown. O(nodes × log nodes).
    ///
    /// # Errors
    /// The watch asked for the end.
    pub fn of(refined: &Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let all = CallPaths::of(refined, watch)?;
        let mut waits = Self {
            over: None,
            operations: Vec::new(),
            paths: Vec::new(),
            imbalances: Vec::new(),
            within_noise: 0,
            missing: Vec::new(),
            compares_paths: true,
            has_unknown: false,
            all,
        };
        if refined.profile.comparison.is_some() {
            let cause = "two runs are compared, and do not wait for each other; csprof report \
                         --view waits of each run has its waits";
            waits.cannot_compare(cause);
            return Ok(waits);
        }
        if refined.is_inverted() {
            let cause = "paths lead from what is called to its callers, by a stage: waits are told \
                         of paths from the root";
            waits.cannot_compare(cause);
            return Ok(waits);
        }
        let ranks = RanksOfSum::find(refined);
        let (costs, over) = match ranks.costs(refined) {
            Some(costs) => {
                let over = PeersOfWaits {
                    noun: "rank",
                    count: costs.count(),
                    whose: counted(costs.count().into(), "rank", Form::Ascii),
                    is_of_each: costs.is_of_each(),
                    labels: Vec::new(),
                };
                (Some(costs), Some(over))
            }
            None => peers(refined).map(|dimension| of_dimension(refined, &dimension)).unzip(),
        };
        waits.over = over;
        if waits.over.is_none() {
            // Of a sum whose paths are spread over ranks while they are as recorded.
            let had_spreads = refined.profile.spreads.ranks() > 0;
            let is_anew = had_spreads && matches!(ranks, RanksOfSum::Nothing);
            match is_anew {
                true => waits.cannot_compare(&format!(
                    "{NOT_SPREAD}, and stages put paths together anew; {KEEP_ALL}"
                )),
                false => waits.cannot_compare(why_no_peers(refined)),
            }
        }
        waits.find(refined, costs.as_ref(), watch)?;
        Ok(waits)
    }

    /// The rows of the call path of a wait, outermost first, without weights; the function alone of
    /// an operation.
    #[must_use]
    pub fn rows(&self, wait: &Wait) -> Vec<Row> {
        match wait.path {
            0 => vec![Row::empty(wait.function, wait.kind)],
            path => self.all.rows(path),
        }
    }

    /// Which paths have a function of these, by the numbers of functions. O(paths).
    #[must_use]
    pub fn found<'f>(&self, in_functions: &'f [bool]) -> WaitsFound<'f> {
        let has = |path: u32| in_functions[self.all.function(path).index()];
        WaitsFound { in_functions, on_paths: self.within(has).0 }
    }

    /// Where a call path is in the tree; `None` of an operation.
    #[must_use]
    pub fn path(&self, refined: &Refined, wait: &Wait) -> Option<Path> {
        (wait.path != 0).then(|| self.all.path(refined, wait.path))
    }

    fn find(
        &mut self,
        refined: &Refined,
        costs: Option<&PeerCosts<'_>>,
        watch: &Watch<'_>,
    ) -> Result<(), Cancelled> {
        let source = |name: &str| refined.profile.metric_of(name);
        let (mpi, realtime, lock) = (source("mpi"), source("realtime"), source("lock"));
        let is_call: Vec<bool> =
            refined.functions.iter().map(|function| is_mpi(&function.name)).collect();
        let (mut is_within, mut seen) =
            self.within(|path| is_call[self.all.function(path).index()]);
        let has_mpi = !seen.is_empty();
        // Leaves of other metrics than the clock's are in no list of waits.
        if !has_mpi && realtime.is_some() {
            (is_within, seen) = self.within(|path| self.all.kind(path) == FrameKind::Wait);
        }
        let has_kernels = !has_mpi
            && realtime.is_some_and(|realtime| {
                let is_sampled = |node: u32| refined.of_metric(node as usize, realtime).1 > 0;
                seen.iter().any(|&path| self.all.nodes(path).any(is_sampled))
            });
        let is_shown = |metric: &MetricRef| refined.account_of(*metric).1 > 0;
        // Waits that are seen on paths, or those that a metric of calls has counted. Samples of
        // `mpi` are of whoever calls: the name of the call is not on their paths, and what the
        // kernel saw of their time is not listed again.
        let (of_seen, of_counted) = match (realtime, mpi.filter(is_shown)) {
            (Some(_), _) if has_mpi => (realtime, None),
            (_, Some(mpi)) => (None, Some(mpi)),
            _ if has_mpi => (sampled(refined), None),
            _ => (realtime, lock),
        };
        let are_ranks = self.are_ranks();
        let is_over_ranks = self.over.as_ref().is_some_and(|over| over.noun == "rank");
        // What launchers wait is nothing that ranks wait for each other.
        let is_left_out =
            |node: u32| is_over_ranks && costs.is_some_and(|costs| costs.is_of_none(node));
        for (metric, seen) in [(of_seen, Some(seen)), (of_counted, None)] {
            let Some(metric) = metric else { continue };
            watch.step(refined.node_count())?;
            let is_counted = seen.is_none();
            let own = |node: u32| refined.of_metric(node as usize, metric).1;
            let has_own = |path: &u32| self.all.nodes(*path).any(|node| own(node) > 0);
            let rows = seen.unwrap_or_else(|| self.all.numbers().filter(has_own).collect());
            // What a path with counted calls has below it is not all waiting.
            let work = costs.filter(|_| !is_counted);
            let work = work.and_then(|costs| self.work(refined, costs, &rows, metric));
            let work = work.as_deref();
            let of = Found { refined, costs, metric, is_counted, work, are_ranks };
            let nodes = |path: u32| self.all.nodes(path).filter(|&node| !is_left_out(node));
            let mut by_function: BTreeMap<(FunctionRef, FrameKind), Vec<u32>> = BTreeMap::new();
            for &path in &rows {
                let key = (self.all.function(path), self.all.kind(path));
                by_function.entry(key).or_default().extend(nodes(path));
                self.paths.extend(of.wait(key, path, nodes(path)));
            }
            let all = rows.iter().flat_map(|&path| self.all.nodes(path));
            let left_out: u64 =
                all.filter(|&node| is_left_out(node)).map(|node| of.samples(node)).sum();
            if left_out > 0 {
                let source = &refined.source_of(metric).source;
                let share = percent(left_out, refined.account_of(metric).0);
                self.missing.push(format!(
                    "{share} % of {source} that processes without a rank wait, as launchers do"
                ));
            }
            for (key, nodes) in by_function {
                self.operations.extend(of.wait(key, 0, nodes.iter().copied()));
            }
        }
        // Stable: of equal ones the first in the tree.
        self.operations.sort_by_key(|wait| Reverse(units(refined, wait)));
        self.paths.sort_by_key(|wait| Reverse(units(refined, wait)));
        self.differing(refined, costs, &is_within, watch)?;
        self.tell(refined, [has_mpi, has_kernels], [mpi, realtime, lock]);
        Ok(())
    }

    /// Of each path whether it is one of these or below one; and those that are below no other.
    fn within(&self, is_one: impl Fn(u32) -> bool) -> (Vec<bool>, Vec<u32>) {
        // In order: what is above a path comes before it.
        let mut is_within = vec![false; self.all.numbers().count() + 1];
        let mut outermost = Vec::new();
        for path in self.all.numbers() {
            let above = is_within[self.all.above(path) as usize];
            is_within[path as usize] = above || is_one(path);
            if is_within[path as usize] && !above {
                outermost.push(path);
            }
        }
        (is_within, outermost)
    }

    /// Whether the peers are such as wait for each other in calls that wait for all.
    fn are_ranks(&self) -> bool {
        self.over.as_ref().is_some_and(|over| over.noun != "thread")
    }

    fn cannot_compare(&mut self, cause: &str) {
        self.missing.push(cause.to_owned());
        self.compares_paths = false;
    }

    /// What each peer has outside of waits, by its place: in CPU time, or else by the
    /// [metric of work](work_metric).
    fn work(
        &self,
        refined: &Refined,
        costs: &PeerCosts<'_>,
        outermost: &[u32],
        metric: MetricRef,
    ) -> Option<Vec<u64>> {
        if !costs.is_of_each() {
            return None;
        }
        let cpu_time = |of: &MetricRef| refined.source_of(*of).is_cpu_time();
        let mut all = refined.profile.metrics().map(|(metric, _)| metric);
        let metric = all.find(cpu_time).or_else(|| work_metric(refined, metric))?;
        let mut work = vec![0_u64; costs.count() as usize];
        let mut add = |path: u32, is_more: bool| {
            for node in self.all.nodes(path) {
                let samples = refined.of_metric(node as usize, metric).0;
                if let Some(sum) = costs.place(node).and_then(|place| work.get_mut(place)) {
                    *sum = if is_more { *sum + samples } else { sum.saturating_sub(samples) };
                }
            }
        };
        let first = self.all.numbers().filter(|&path| self.all.above(path) == 0);
        first.for_each(|path| add(path, true));
        outermost.iter().for_each(|&path| add(path, false));
        Some(work)
    }

    /// Paths on which peers differ, but those within waits.
    fn differing(
        &mut self,
        refined: &Refined,
        costs: Option<&PeerCosts<'_>>,
        is_within: &[bool],
        watch: &Watch<'_>,
    ) -> Result<(), Cancelled> {
        let (Some(costs), Some(metric)) = (costs, work_metric(refined, refined.metric)) else {
            return Ok(());
        };
        let per_signal = samples_per_signal(refined, metric);
        let of = Found {
            refined,
            costs: Some(costs),
            metric,
            is_counted: false,
            work: None,
            are_ranks: false,
        };
        // The greatest imbalance of a path that is longer by one function.
        let mut longer = vec![0_u64; is_within.len()];
        let mut below = WaitsBelow::new(refined, metric, costs, is_within.len());
        for path in self.all.numbers().rev() {
            watch.step(0)?;
            let above = self.all.above(path) as usize;
            if is_within[above] {
                continue;
            }
            let is_wait = is_within[path as usize];
            below.pass_up(self.all.nodes(path), is_wait, path as usize, above);
            let key = (self.all.function(path), self.all.kind(path));
            let Some(wait) = of.wait(key, path, self.all.nodes(path)) else { continue };
            let Some(over) = &wait.over else {
                self.has_unknown |= costs.were_known(self.all.nodes(path));
                continue;
            };
            let own = over.imbalance()[0];
            if is_wait {
                below.add(own, above);
                continue;
            }
            if own == 0 || below.have(own, self.all.nodes(path), path as usize, per_signal) {
                continue;
            }
            longer[above] = longer[above].max(own);
            if u128::from(longer[path as usize]) * 100 >= u128::from(own) * ELSEWHERE {
                continue;
            }
            let [_, high] = noise_bounds(over.ranks as usize, over.mean(), per_signal);
            if over.most[0] as f64 <= high {
                self.within_noise += 1;
            } else {
                self.imbalances.push(wait);
            }
        }
        self.imbalances.reverse();
        self.imbalances.sort_by_key(|wait| Reverse(wait.imbalance().map(|[low, _]| low)));
        Ok(())
    }

    /// Says what is not in the profile, or not listed. Calls of MPI and waits in the kernel may be
    /// on paths that are shown.
    fn tell(
        &mut self,
        refined: &Refined,
        [has_mpi, has_kernels]: [bool; 2],
        [mpi, realtime, lock]: [Option<MetricRef>; 3],
    ) {
        let mut add = |cause: &str| self.missing.push(cause.to_owned());
        let is_shown = |metric: MetricRef| refined.account_of(metric).1 > 0;
        let counts_mpi = mpi.is_some_and(is_shown);
        if has_mpi
            && realtime.is_none()
            && !counts_mpi
            && let Some(metric) = sampled(refined)
        {
            let source = &refined.source_of(metric).source;
            let events = if mpi.is_none() { "-e mpi or -e realtime" } else { "-e realtime" };
            add(&format!(
                "this is {source} in calls of MPI: what a rank waits asleep is not in it; record \
                 {events} has that"
            ));
        }
        if counts_mpi && !(has_mpi && realtime.is_some()) {
            let call = match realtime {
                None => "which call it was, and who came last, was not recorded: -e realtime",
                Some(_) => "no path that is shown has the call itself",
            };
            add(&format!("mpi is counted on the path of who calls; {call}"));
            let others = match (has_kernels, lock.is_some_and(is_shown)) {
                (false, false) => None,
                (true, false) => Some("waits in the kernel"),
                (false, true) => Some("waits for locks"),
                (true, true) => Some("waits in the kernel and for locks"),
            };
            if let Some(others) = others {
                add(&format!(
                    "{others} are not listed beside mpi: some of that time may be in both"
                ));
            }
        } else if !has_mpi {
            add("no path that is shown has a call of MPI");
            if realtime.is_none() {
                add("what threads wait for in the kernel was not recorded: -e realtime");
            }
            if lock.is_none() {
                add("what threads wait for locks was not recorded: -e lock");
            }
        }
        if work_metric(refined, refined.metric).is_none() {
            self.cannot_compare(
                "what is done outside of waits was not recorded: -e cputime or -e realtime",
            );
        }
        let mut missing = Vec::new();
        let all = || self.operations.iter().chain(&self.paths);
        let is_time = |wait: &Wait| refined.source_of(wait.metric).is_time();
        let of_all = |wait: &&Wait| {
            let name = &refined.functions[wait.function.index()].name;
            self.are_ranks()
                && is_for_all(name)
                && wait.over.is_some_and(|over| is_apart(refined, wait.metric, &over))
        };
        let is_of_sum = self.over.as_ref().is_some_and(|over| !over.is_of_each);
        let is_unknown = |wait: &Wait| wait.last.is_none() && is_time(wait);
        if let Some(wait) = all().filter(of_all).find(|wait| !is_time(wait)) {
            let source = &refined.source_of(wait.metric).source;
            let mut metrics = refined.profile.metrics();
            let time = match metrics.find(|(_, metric)| metric.is_cpu_time()) {
                Some((_, metric)) => format!("--metric {}", metric.source),
                None => "record -e cputime or -e realtime".to_owned(),
            };
            missing.push(format!(
                "by {source} it is not known who came last to calls that wait for all, for it is no \
                 time: {time} tells that"
            ));
        } else if is_of_sum && all().filter(of_all).any(is_unknown) {
            missing.push(format!(
                "of some calls that wait for all it is not known who came last: the sum has not \
                 what each rank has; {KEEP_ALL}"
            ));
        }
        let is_refined = !refined.outcomes.is_empty();
        if is_of_sum && is_refined && (self.has_unknown || all().any(|wait| wait.over.is_none())) {
            missing.push(format!(
                "of some paths {NOT_SPREAD}, and stages took a part of them; {KEEP_ALL}"
            ));
        }
        self.missing.extend(missing);
    }
}

/// The amount of a wait in the unit of its metric, which makes several comparable.
fn units(refined: &Refined, wait: &Wait) -> u128 {
    u128::from(wait.samples) * u128::from(refined.source_of(wait.metric).period)
}

/// Whether the one with least has less than so many equal peers would have by sampling alone.
fn is_apart(refined: &Refined, metric: MetricRef, over: &OfMetric) -> bool {
    let per_signal = samples_per_signal(refined, metric);
    let [low, _] = noise_bounds(over.ranks as usize, over.mean(), per_signal);
    (over.least[1] as f64) < low
}

/// The metric by which calls of MPI are told where none is made for that: the one that is looked
/// at, or, where that lies on callers, the one that says what is done.
fn sampled(refined: &Refined) -> Option<MetricRef> {
    let is_of_calls = refined.looked_at().is_of_calls();
    if is_of_calls { work_metric(refined, refined.metric) } else { Some(refined.metric) }
}

/// The metric that says what is done outside of waits: this one, if it counts time wherever it is
/// spent, else another one that does. Only where none does, an event: this one, or else another.
fn work_metric(refined: &Refined, metric: MetricRef) -> Option<MetricRef> {
    let others = || refined.profile.metrics().map(|(other, _)| other);
    let all = || std::iter::once(metric).chain(others());
    let is_time = |of: &Metric| of.is_cpu_time() || of.is_elapsed_time();
    let find = |is_it: &dyn Fn(&Metric) -> bool| all().find(|&of| is_it(refined.source_of(of)));
    find(&is_time).or_else(|| find(&|of| !of.is_of_calls()))
}

/// Ranks, or processes, or else threads of the process with most of what is shown.
fn peers(refined: &Refined) -> Option<Dimension> {
    let mut of_process = vec![0_u64; refined.profile.info.processes.len()];
    for stream in &refined.streams {
        if let Some(sum) = of_process.get_mut(stream.process.index()) {
            let nodes = stream.nodes.start as usize..stream.nodes.end as usize;
            *sum += nodes.map(|node| refined.exclusive(node)).sum::<u64>();
        }
    }
    let weight = |process: csprof_format::ids::ProcessId| {
        of_process.get(process.index()).copied().unwrap_or(0)
    };
    dimensions(refined, weight).into_iter().find(Dimension::has_imbalance)
}

/// What each of these peers has, and what they are called.
fn of_dimension<'r>(refined: &'r Refined, of: &Dimension) -> (PeerCosts<'r>, PeersOfWaits) {
    let numbers = (0..of.peers.len() as u32).collect();
    let place = |stream| of.of_stream(stream).map(|place| place as u32);
    let over = PeersOfWaits {
        noun: of.noun(),
        count: of.peers.len() as u32,
        whose: of.whose(Form::Ascii),
        is_of_each: true,
        labels: of.peers.iter().map(|peer| peer.label.text.clone()).collect(),
    };
    (PeerCosts::of_each(refined, numbers, place), over)
}

/// What waits are made of.
struct Found<'f> {
    refined: &'f Refined,
    costs: Option<&'f PeerCosts<'f>>,
    metric: MetricRef,
    /// Whether it counts calls, so that only samples of a path's own are of the wait.
    is_counted: bool,
    /// What each peer does outside of waits, where that is known.
    work: Option<&'f [u64]>,
    /// Whether the peers are such as wait for each other in calls that wait for all. Which threads
    /// of a rank take part in a call nothing tells.
    are_ranks: bool,
}

impl Found<'_> {
    /// Samples of a wait that has this node.
    fn samples(&self, node: u32) -> u64 {
        let (inclusive, own) = self.refined.of_metric(node as usize, self.metric);
        if self.is_counted { own } else { inclusive }
    }

    /// The wait of a function, or of a path that ends in it, at these nodes; `None` if it has no
    /// sample of the metric.
    fn wait(
        &self,
        (function, kind): (FunctionRef, FrameKind),
        path: u32,
        nodes: impl Iterator<Item = u32> + Clone,
    ) -> Option<Wait> {
        let samples: u64 = nodes.clone().map(|node| self.samples(node)).sum();
        if samples == 0 {
            return None;
        }
        let over = self.costs.and_then(|costs| match self.is_counted {
            true => costs.own_of_nodes(nodes.clone()),
            false => costs.of_nodes(nodes.clone()),
        });
        let over = over.and_then(|over| over.of(self.metric).copied());
        // Who sent least has not waited least.
        let is_time = self.refined.source_of(self.metric).is_time();
        let waits_for_all =
            self.are_ranks && is_time && is_for_all(&self.refined.functions[function.index()].name);
        let last = match over {
            Some(over) if waits_for_all && is_apart(self.refined, self.metric, &over) => {
                self.last(&over, nodes)
            }
            _ => None,
        };
        Some(Wait { function, kind, metric: self.metric, samples, over, last, path })
    }

    /// Who came last to a call that is so spread and has these nodes.
    fn last(&self, over: &OfMetric, nodes: impl Iterator<Item = u32>) -> Option<LastPeer> {
        let costs = self.costs?;
        if !costs.is_of_each() {
            return match over.without? {
                0 => over.least_rank.map(|number| LastPeer { number, among: 0, works_most: None }),
                among => {
                    let number = self.kept_without(nodes)?;
                    Some(LastPeer { number, among, works_most: None })
                }
            };
        }
        let mut waited = vec![0_u64; costs.count() as usize];
        for node in nodes {
            if let Some(sum) = costs.place(node).and_then(|place| waited.get_mut(place)) {
                *sum += self.samples(node);
            }
        }
        let least = waited.iter().copied().min()?;
        let work = |place: usize| self.work.map_or(0, |work| work[place]);
        let those = || (0..waited.len()).filter(|&place| waited[place] == least);
        let place = those().min_by_key(|&place| Reverse(work(place)))?;
        let most = self.work.and_then(|work| work.iter().copied().max()).filter(|&most| most > 0);
        Some(LastPeer {
            number: costs.number(place)?,
            among: those().count() as u32,
            works_most: most.map(|most| work(place) == most),
        })
    }

    /// A rank that a sum keeps apart and that has none of these nodes.
    fn kept_without(&self, nodes: impl Iterator<Item = u32>) -> Option<u32> {
        let processes = &self.refined.profile.info.processes;
        let mut kept: BTreeSet<u32> = processes.iter().filter_map(|process| process.rank).collect();
        for node in nodes.filter(|&node| self.samples(node) > 0) {
            let after = |stream: &crate::profile::Stream| stream.nodes.end <= node;
            let stream = self.refined.streams.partition_point(after);
            let process = self.refined.streams.get(stream)?.process;
            processes.get(process.index())?.rank.map(|rank| kept.remove(&rank));
        }
        kept.first().copied()
    }
}
