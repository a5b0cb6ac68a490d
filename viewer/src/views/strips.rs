//! Makes the strips of rows: how inclusive cost is spread over ranks, or else processes, or else
//! the threads of the process with most of them; and how over phases, or slices of time.
//!
//! The strip of a row of the call tree or of callers takes time in proportion to the row's nodes.
//! The strips of all functions take one pass over all nodes.

use core::mem::take;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::dimension::{Dimension, dimensions};
use super::number::{Form, counted};
use super::row::{RowStrips, Strip, StripKind, StripOfMetric};
use super::statistics::{Moments, samples_per_signal};
use super::strip::{CELLS, PHASE_CELLS, cells};
use crate::profile::MetricRef;
use crate::refine::{Axis, Cancelled, Refined, Watch, depth_first};

/// Makes the strips of the rows of one forest.
#[derive(Debug)]
pub struct Strips([Option<StripsOver>; 2]);

/// Makes those over peers, or over phases.
#[derive(Debug)]
pub struct StripsOver {
    cells: usize,
    dimension: Dimension,
    axis: Axis,
    /// The cell of each peer.
    cell_of: Vec<u8>,
    /// The process whose threads they are, where they are threads.
    process: Option<Arc<str>>,
    metrics: Vec<MetricRef>,
    /// Samples per signal, of each metric.
    per_signal: Vec<f64>,
    /// Where each stream ends, in nodes.
    ends: Vec<u32>,
}

/// Trees and their clones share one.
pub type SharedStrips = Arc<Strips>;

/// A row's samples of one metric, while peers are added one by one.
#[derive(Clone, Copy, Default)]
struct Sums {
    moments: Moments,
    cells: [u64; MOST_CELLS],
}

/// The longest strips.
const MOST_CELLS: usize = if CELLS > PHASE_CELLS { CELLS } else { PHASE_CELLS };

impl Strips {
    /// The strips of a forest; `None` if there are neither peers nor phases. O(nodes).
    #[must_use]
    pub fn of(refined: &Refined) -> Option<SharedStrips> {
        let threads = &refined.profile.info.threads;
        // Threads are in order of process.
        let threads_of = |process| {
            let first = threads.partition_point(|thread| thread.process < process);
            let end = threads.partition_point(|thread| thread.process <= process);
            (end - first) as u64
        };
        let mut peers = None;
        let mut phases = None;
        for dimension in dimensions(refined, threads_of) {
            if dimension.has_imbalance() {
                peers = peers.or(Some((CELLS, dimension)));
            } else if dimension.axis == Some(Axis::Phase) {
                let dimension = dimension.without_no_phase();
                phases = Some((PHASE_CELLS, dimension)).filter(|(_, of)| of.peers.len() > 1);
            }
        }
        let made = [peers, phases].map(|found| {
            found.and_then(|(cells, dimension)| StripsOver::new(refined, cells, dimension))
        });
        made.iter().any(Option::is_some).then(|| Arc::new(Self(made)))
    }

    /// What makes the strips over these, if there are two or more of them.
    #[must_use]
    pub fn of_kind(&self, kind: StripKind) -> Option<&StripsOver> {
        self.0[kind as usize].as_ref()
    }

    /// The strips of a row that has these nodes, each with its inclusive samples. O(nodes of the
    /// row × log streams), mostly without the logarithm.
    pub(super) fn of_nodes(
        &self,
        refined: &Refined,
        nodes: impl Iterator<Item = u32>,
    ) -> Arc<RowStrips> {
        let mut of_row = self.0.each_ref().map(|over| over.as_ref().map(OfRow::new));
        for node in nodes {
            of_row.iter_mut().flatten().for_each(|of| of.add(refined, node));
        }
        Arc::new(RowStrips(of_row.map(|of| of.map(OfRow::finish))))
    }

    /// The strips of all functions that have samples, by their numbers. O(nodes) and, for each
    /// function, 200 bytes or so for each metric. Where streams of a peer do not stand side by
    /// side, as of phases with several threads, 16 bytes more for each stream, function in it, and
    /// metric.
    ///
    /// # Errors
    /// The watch asked for the end.
    pub fn of_functions(
        &self,
        refined: &Refined,
        watch: &Watch<'_>,
    ) -> Result<Vec<Option<Arc<RowStrips>>>, Cancelled> {
        let mut of_functions = Vec::new();
        for kind in StripKind::ALL {
            let Some(makes) = self.of_kind(kind) else { continue };
            let strips = makes.of_functions(refined, watch)?;
            of_functions.resize_with(strips.len(), || None);
            for (all, strip) in of_functions.iter_mut().zip(strips) {
                if strip.is_some() {
                    all.get_or_insert_with(RowStrips::default).0[kind as usize] = strip;
                }
            }
        }
        Ok(of_functions.into_iter().map(|strips| strips.map(Arc::new)).collect())
    }
}

impl StripsOver {
    fn new(refined: &Refined, most_cells: usize, dimension: Dimension) -> Option<Self> {
        let metrics: Vec<MetricRef> = refined.profile.metrics().map(|(metric, _)| metric).collect();
        let cells = (0u8..).zip(cells(dimension.peers.len(), most_cells));
        Some(Self {
            cells: most_cells.min(dimension.peers.len()),
            cell_of: cells.flat_map(|(cell, peers)| peers.map(move |_| cell)).collect(),
            process: dimension.process.as_ref().map(|process| Arc::from(&*process.text)),
            axis: dimension.axis?,
            dimension,
            per_signal: metrics.iter().map(|&metric| samples_per_signal(refined, metric)).collect(),
            metrics,
            ends: refined.streams.iter().map(|stream| stream.nodes.end).collect(),
        })
    }

    /// What the peers are: `rank`, `process` or `thread`; or `phase`.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        self.dimension.noun()
    }

    /// The process whose threads they are, where they are threads.
    #[must_use]
    pub fn process(&self) -> Option<&str> {
        self.process.as_deref()
    }

    /// Over whom: `4 ranks`, `8 threads of pid 4711 solver, which has most of them, and none of 2
    /// other processes with several`.
    #[must_use]
    pub fn whose(&self, form: Form) -> String {
        let whose = self.dimension.whose(form);
        match self.dimension.others {
            0 => whose,
            others => format!(
                "{whose}, which has most of them, and none of {} with several",
                counted(others as u64, "other process", form)
            ),
        }
    }

    /// How many other processes have such peers, too.
    #[must_use]
    pub const fn others(&self) -> usize {
        self.dimension.others
    }

    /// How many peers there are.
    #[must_use]
    pub fn peers(&self) -> usize {
        self.dimension.peers.len()
    }

    /// What each of them is called, for machines.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.dimension.peers.iter().map(|peer| &*peer.label.raw)
    }

    /// Adds the samples of a peer.
    fn add(&self, sums: &mut Sums, peer: usize, samples: u64) {
        sums.moments.add(samples);
        let cell = &mut sums.cells[usize::from(self.cell_of[peer])];
        *cell = samples.max(*cell);
    }

    /// The strip of a row: one sum for each metric. Peers that were not added have nothing.
    fn strip(&self, sums: &[Sums]) -> Strip {
        let of_metric = |(sums, &per_signal): (&Sums, &f64)| StripOfMetric {
            parts: sums.cells[..self.cells].into(),
            is_noise: sums.moments.is_within_noise(self.peers(), per_signal),
        };
        let of_metrics = sums.iter().zip(&self.per_signal).map(of_metric).collect();
        Strip { of: (self.axis, self.peers()), process: self.process.clone(), of_metrics }
    }

    /// As [`Strips::of_functions`].
    fn of_functions(
        &self,
        refined: &Refined,
        watch: &Watch<'_>,
    ) -> Result<Vec<Option<Strip>>, Cancelled> {
        let metrics = self.metrics.len();
        let mut functions = Functions {
            strips: self,
            sums: vec![Sums::default(); refined.functions.len() * metrics],
            of_peer: vec![0; refined.functions.len() * metrics],
            met: Vec::new(),
            peer: None,
        };
        // Peers whose streams do not stand side by side, as of a rank with several processes that
        // began before and after another's, would be added more than once.
        let is_apart = self.is_apart();
        let mut of_all: Vec<Vec<(u32, u64)>> = Vec::new();
        if is_apart {
            of_all.resize_with(self.peers() * metrics, Vec::new);
        }
        let mut until = vec![0; refined.functions.len()];
        let mut before = refined.samples_of_all(0).1;
        let mut stream = 0;
        depth_first(refined, watch, |node| {
            while self.ends.get(stream).is_some_and(|&end| end as usize <= node) {
                stream += 1;
            }
            let function = refined.frames[refined.frame[node].index()].function.index();
            let (inclusive, exclusive) = refined.samples_of_all(node);
            if before >= until[function] {
                until[function] = before + inclusive;
                if let Some(peer) = self.dimension.of_stream(stream) {
                    if functions.peer != Some(peer) {
                        functions.leave(&mut of_all);
                        functions.peer = Some(peer);
                    }
                    functions.met.push(function as u32);
                    for (place, &metric) in self.metrics.iter().enumerate() {
                        functions.of_peer[function * metrics + place] +=
                            refined.of_metric(node, metric).0;
                    }
                }
            }
            before += exclusive;
        })?;
        functions.leave(&mut of_all);
        for (place, of_peer) in of_all.iter_mut().enumerate() {
            of_peer.sort_unstable_by_key(|(function, _)| *function);
            for parts in of_peer.chunk_by(|one, other| one.0 == other.0) {
                let at = parts[0].0 as usize * metrics + place % metrics;
                let samples = parts.iter().map(|(_, samples)| samples).sum();
                self.add(&mut functions.sums[at], place / metrics, samples);
            }
        }
        let strips = functions.sums.chunks(metrics).zip(until);
        Ok(strips.map(|(sums, until)| (until > 0).then(|| self.strip(sums))).collect())
    }

    /// Whether a peer has streams between which others have some.
    fn is_apart(&self) -> bool {
        let streams = (0..self.ends.len()).filter_map(|stream| self.dimension.of_stream(stream));
        let mut seen = vec![false; self.peers()];
        let mut last = None;
        for peer in streams {
            if last != Some(peer) && take(&mut seen[peer]) {
                return true;
            }
            (seen[peer], last) = (true, Some(peer));
        }
        false
    }
}

/// Sums of a row, while node after node is added.
struct OfRow<'s> {
    strips: &'s StripsOver,
    /// Only peers with samples, so that a row of few nodes needs no room for thousands of others.
    of_peers: BTreeMap<usize, Box<[u64]>>,
    /// The peer of the node before; usually it is that of the next one, too.
    of_last: Option<(usize, Box<[u64]>)>,
    /// The stream of the node before.
    stream: usize,
}

impl<'s> OfRow<'s> {
    fn new(strips: &'s StripsOver) -> Self {
        Self { strips, of_peers: BTreeMap::new(), of_last: None, stream: 0 }
    }

    fn add(&mut self, refined: &Refined, node: u32) {
        let StripsOver { ends, metrics, dimension, .. } = self.strips;
        // Nodes come mostly in order.
        let start = self.stream.checked_sub(1).map_or(0, |before| ends[before]);
        if !ends.get(self.stream).is_some_and(|&end| (start..end).contains(&node)) {
            self.stream = ends.partition_point(|&end| end <= node);
        }
        let Some(peer) = dimension.of_stream(self.stream) else { return };
        if self.of_last.as_ref().is_none_or(|(last, _)| *last != peer) {
            let none = || vec![0; metrics.len()].into();
            let sums = self.of_peers.remove(&peer).unwrap_or_else(none);
            self.of_peers.extend(self.of_last.replace((peer, sums)));
        }
        let sums = self.of_last.iter_mut().flat_map(|(_, sums)| sums.iter_mut());
        for (sum, &metric) in sums.zip(metrics) {
            *sum += refined.of_metric(node as usize, metric).0;
        }
    }

    fn finish(mut self) -> Strip {
        self.of_peers.extend(self.of_last);
        let mut sums = vec![Sums::default(); self.strips.metrics.len()];
        for (peer, of_peer) in self.of_peers {
            for (sums, &samples) in sums.iter_mut().zip(&of_peer).filter(|(_, of)| **of > 0) {
                self.strips.add(sums, peer, samples);
            }
        }
        self.strips.strip(&sums)
    }
}

/// Sums of all functions, while peer after peer is gone over.
struct Functions<'s> {
    strips: &'s StripsOver,
    sums: Vec<Sums>,
    /// Samples of the current peer.
    of_peer: Vec<u64>,
    /// The functions with such samples.
    met: Vec<u32>,
    peer: Option<usize>,
}

impl Functions<'_> {
    /// Adds what the present peer has, or keeps it until all of its parts are there.
    fn leave(&mut self, apart: &mut [Vec<(u32, u64)>]) {
        let Some(peer) = self.peer else { return };
        let metrics = self.strips.metrics.len();
        for function in self.met.drain(..) {
            for metric in 0..metrics {
                let at = function as usize * metrics + metric;
                let samples = take(&mut self.of_peer[at]);
                match apart.get_mut(peer * metrics + metric) {
                    _ if samples == 0 => {}
                    Some(kept) => kept.push((function, samples)),
                    None => self.strips.add(&mut self.sums[at], peer, samples),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Profile, from_outline};
    use crate::refine::{apply, parse, unwatched};
    use crate::views::Cost;
    use crate::views::callers::Callers;
    use crate::views::distribution::{Distribution, RowSubject};
    use crate::views::statistics::is_within_noise;
    use crate::views::strip::greatest;
    use crate::views::top_down::TopDown;
    use crate::views::tree::{Direction, RowId, RowTree};
    use csprof_format::ids::EpochId;
    use csprof_format::profile::Phase;

    fn exchange() -> Profile {
        let bytes: &[u8] = include_bytes!("../../tests/fixtures/exchange.csprof");
        Profile::from_saved(csprof_format::read::read(bytes).unwrap())
    }

    /// Eleven ranks, recursive, the first of which has a second process behind the others.
    fn many() -> Profile {
        let mut text = String::new();
        for rank in 0..12 {
            let of = rank % 11;
            text.push_str(&format!(
                "# rank={rank} thread={} epoch=0\nmain {} realtime:2\n",
                rank + 1,
                rank + 3
            ));
            text.push_str(&format!(
                "  solve {}\n    f 1\n      solve {} realtime:1\n",
                rank * of,
                of + 1
            ));
        }
        let mut profile = from_outline(&text).unwrap();
        profile.info.processes[11].rank = Some(0);
        profile
    }

    /// Two ranks, each with as many slices as a strip has no room for, and one more thing in none.
    fn phased() -> Profile {
        let mut text = String::new();
        for rank in 0..2 {
            for epoch in 0..16 {
                text.push_str(&format!("# rank={rank} thread={} epoch={epoch}\n", rank + 1));
                text.push_str(&format!("main {}\n  solve {}\n", rank + 1, epoch * epoch * rank));
            }
        }
        let mut profile = from_outline(&text).unwrap();
        let epochs = profile.info.epochs.len() as u32;
        let slice = |epoch: u32| profile.info.epochs[epoch as usize].number;
        let named = (0..epochs).filter(|&epoch| slice(epoch) < 15);
        let phases: Vec<_> = named
            .map(|epoch| Phase { epoch: EpochId(epoch), name: format!("{}s", slice(epoch)) })
            .collect();
        profile.info.phases = phases;
        profile
    }

    /// Each strip has what the distribution of its row has, of every metric.
    fn hold<D: Direction>(
        refined: &Refined,
        mut tree: RowTree<D>,
        subject: fn(crate::views::path::Path) -> RowSubject,
    ) {
        let mut rows = vec![RowId::ROOT];
        let mut seen = 0;
        while let Some(row) = rows.pop() {
            if tree.depth(row) < 6 {
                rows.extend(tree.children(refined, row).to_vec());
            }
            if row == RowId::ROOT {
                continue;
            }
            tree.fill_strip(refined, row);
            let path = tree.path(refined, row);
            let of = Distribution::new(refined, &subject(path), &Watch::none()).unwrap().unwrap();
            let strips = tree.row(row).strips.clone().unwrap();
            for strip in strips.0.iter().flatten() {
                let axis = Some(strip.of.0);
                let of = of.over.iter().find(|of| of.dimension.axis == axis).unwrap();
                let is_of_phases = axis == Some(Axis::Phase);
                let cells = if is_of_phases { PHASE_CELLS } else { CELLS };
                // What is in no phase comes last in a distribution, and is in no strip.
                assert_eq!(strip.of.1, of.dimension.peers.len() - usize::from(is_of_phases));
                for (metric, _) in refined.profile.metrics() {
                    let parts = of.parts(metric, Cost::Inclusive);
                    let parts = &parts[..strip.of.1];
                    let Some(found) = strip.of(metric) else {
                        assert_eq!(parts.iter().sum::<u64>(), 0);
                        continue;
                    };
                    assert_eq!(*found.parts, *greatest(parts, cells), "{metric:?}");
                    assert_eq!(found.is_noise, is_within_noise(parts, 1.0));
                }
                seen += 1;
            }
        }
        assert!(seen > 0);
    }

    #[test]
    fn strips_are_the_distributions_of_their_rows() {
        for profile in [exchange(), many(), phased()] {
            for stage in ["", "hide main", "callers of *s*", "split rank", "not rank = 1"] {
                let refined = apply(&profile, &parse(stage).unwrap()).unwrap();
                let strips = Strips::of(&refined);
                let Some(made) = &strips else {
                    assert_eq!(stage, "not rank = 1", "one rank is left of two");
                    continue;
                };
                assert_eq!(
                    made.of_kind(StripKind::Phases).is_some(),
                    !profile.info.phases.is_empty()
                );
                let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
                tree.set_strips(strips.clone());
                hold(&refined, tree, RowSubject::Path);
                let tree = unwatched(|watch| Callers::with_strips(&refined, strips, watch));
                hold(&refined, tree, RowSubject::Callers);
            }
        }
    }

    /// Threads are compared in one process: rows of another one have no strip, which would say that
    /// the row costs nothing.
    #[test]
    fn rows_of_no_peer_have_none() {
        let outline = "\
# rank=0 thread=1 epoch=0
start 3
  body 50
# rank=0 thread=2 epoch=0
start 2
  body 40
# rank=1 thread=3 epoch=0
other 9
";
        let mut profile = from_outline(outline).unwrap();
        profile.info.processes.iter_mut().for_each(|process| process.rank = None);
        let refined = Refined::base(&profile);
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        tree.set_strips(Strips::of(&refined));
        for row in tree.children(&refined, RowId::ROOT).to_vec() {
            tree.fill_strip(&refined, row);
            let row = tree.row(row);
            let strip = row.strips.as_ref().unwrap().of_kind(StripKind::Peers).unwrap();
            assert!(strip.process.is_some() && strip.of.0 == crate::refine::Axis::Thread);
            let is_of_peers = *refined.functions[row.function.index()].name == *"start";
            assert_eq!(strip.of(refined.metric).is_some(), is_of_peers);
        }
    }

    #[test]
    fn without_peers_there_is_none() {
        let profile = from_outline("main 3\n").unwrap();
        assert!(Strips::of(&Refined::base(&profile)).is_none());
    }
}
