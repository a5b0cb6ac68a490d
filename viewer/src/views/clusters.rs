//! Clusters: ranks, or other processes that are peers, that do the same, so that a few can be
//! looked at instead of all.
//!
//! What a peer does is how many samples it has on each of the costliest call paths. Two peers are
//! as far from each other as these differ by more than sampling, relative to the one with more.
//! A cluster is made around the peer that is nearest to the median of all that are in none yet: it
//! takes those that are near. So the first cluster is what is usual, and the same peers always make
//! the same clusters. Peers that are left after a few are alike to none.

use std::cmp::Reverse;

use csprof_format::ids::ProcessId;

use super::call_paths::CallPaths;
use super::dimension::dimensions;
use super::measure::Measure;
use super::number::{Form, counted};
use super::peer_costs::PeerCosts;
use super::printable::printable;
use super::row::Row;
use super::statistics::samples_per_signal;
use crate::profile::short_name;
use crate::refine::{Axis, Cancelled, Refined, Watch};

/// Fewer peers are looked at one by one.
pub const FEWEST: usize = 4;

/// Call paths by which peers are compared, the costliest.
const PATHS: usize = 64;

/// Clusters at most.
const MOST: usize = 6;

/// How far a peer of a cluster may be from the one that it is made around.
const NEAR: f64 = 0.1;

/// Groups of peers that do the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// What one peer is.
    pub noun: &'static str,
    /// What the peers are called, in their order.
    pub labels: Vec<String>,
    /// The clusters, the largest first.
    pub list: Vec<Cluster>,
    /// The places of peers that are alike to none of these.
    pub alone: Vec<u32>,
    /// The place of the peer that each process is, or belongs to.
    of_process: Vec<Option<u32>>,
}

/// Peers that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The place of the peer that the others are like.
    pub like: u32,
    /// The places of all of them, in their order.
    pub peers: Vec<u32>,
    /// What they have more or less of than those of the first cluster; `None` of that.
    pub difference: Option<PathDifference>,
}

/// The call path on which a cluster differs most from the first one, or all paths together by which
/// peers are not compared one by one.
#[derive(Clone, Debug, PartialEq)]
pub struct PathDifference {
    /// Its rows, outermost first, without weights; none of all other paths.
    pub rows: Vec<Row>,
    /// Mean samples of the peers of this cluster that end there, and of those of the first one.
    pub means: [f64; 2],
}

/// What differs where it is none of the costliest paths.
const OTHER_PATHS: &str = "[all other paths]";

/// Why a sum has none.
pub const NOT_OF_SUMS: &str =
    "clusters of ranks are not known: not all are kept apart (csprof merge --keep-ranks all)";

impl Clusters {
    /// Those of what is shown, by the metric that is looked at. `None` where there are few peers,
    /// or it is not known what each does. O(nodes × log nodes).
    ///
    /// # Errors
    /// The watch asked for the end.
    pub fn of(refined: &Refined, watch: &Watch<'_>) -> Result<Option<Self>, Cancelled> {
        let is_of_processes = |axis: Option<Axis>| matches!(axis, Some(Axis::Rank | Axis::Process));
        let dimension = dimensions(refined, |_| 0).into_iter().find(|of| is_of_processes(of.axis));
        let Some(dimension) = dimension.filter(|of| of.peers.len() >= FEWEST) else {
            return Ok(None);
        };
        let numbers = (0..dimension.peers.len() as u32).collect();
        let place = |stream| dimension.of_stream(stream).map(|place| place as u32);
        let costs = PeerCosts::of_each(refined, numbers, place);
        let work = Work::of(refined, &costs, dimension.peers.len(), watch)?;
        let labels = dimension.peers.iter().map(|peer| peer.label.text.clone()).collect();
        let (list, alone) = work.clusters();
        let mut of_process = vec![None; refined.profile.info.processes.len()];
        for (number, stream) in refined.streams.iter().enumerate() {
            if let Some(of) = of_process.get_mut(stream.process.index()) {
                *of = dimension.of_stream(number).map(|place| place as u32);
            }
        }
        Ok(Some(Self { noun: dimension.noun(), labels, list, alone, of_process }))
    }

    /// A cluster in words: `6 ranks like rank 17: more MPI_Wait (1.20 s, not 315 ms)`.
    #[must_use]
    pub fn said(&self, refined: &Refined, cluster: &Cluster, form: Form) -> String {
        let count = counted(cluster.peers.len() as u64, self.noun, form);
        let like = &self.labels[cluster.like as usize];
        let Some(difference) = &cluster.difference else { return format!("{count} like {like}") };
        let name = difference
            .rows
            .last()
            .map_or(OTHER_PATHS, |row| &*refined.functions[row.function.index()].name);
        let [own, first] = difference.means;
        let word = if own > first { "more" } else { "less" };
        let amount = |mean: f64| Measure::Source.real(mean, refined.looked_at(), form);
        let (name, own, first) =
            (printable(&short_name(name)).into_owned(), amount(own), amount(first));
        format!("{count} like {like}: {word} {name} ({own}, not {first})")
    }

    /// The cluster of a process, by its place in the list.
    #[must_use]
    pub fn of_process(&self, process: ProcessId) -> Option<usize> {
        let peer = (*self.of_process.get(process.index())?)?;
        self.list.iter().position(|cluster| cluster.peers.contains(&peer))
    }
}

/// What each peer does.
struct Work {
    /// The paths by which they are compared.
    paths: Vec<u32>,
    /// Samples of each peer that end on each of these, and then on all others.
    samples: Vec<Vec<u64>>,
    /// Samples that come with one signal.
    per_signal: f64,
    all: CallPaths,
}

impl Work {
    fn of(
        refined: &Refined,
        costs: &PeerCosts<'_>,
        peers: usize,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let all = CallPaths::of(refined, watch)?;
        let own = |node: u32| refined.exclusive(node as usize);
        let of_path = |path: u32| all.nodes(path).map(own).sum::<u64>();
        let mut paths: Vec<(u64, u32)> =
            all.numbers().map(|path| (of_path(path), path)).filter(|of| of.0 > 0).collect();
        // Of equal ones the first in the tree.
        paths.sort_by_key(|&(samples, path)| (Reverse(samples), path));
        let (costliest, others) = paths.split_at(paths.len().min(PATHS));
        let costliest: Vec<u32> = costliest.iter().map(|&(_, path)| path).collect();
        let mut samples = vec![vec![0_u64; costliest.len() + 1]; peers];
        let columns = costliest.iter().copied().enumerate();
        let columns = columns.chain(others.iter().map(|&(_, path)| (costliest.len(), path)));
        for (column, path) in columns {
            watch.step(0)?;
            for node in all.nodes(path) {
                if let Some(place) = costs.place(node) {
                    samples[place][column] += own(node);
                }
            }
        }
        let per_signal = samples_per_signal(refined, refined.metric);
        Ok(Self { paths: costliest, samples, per_signal, all })
    }

    /// How far two are from each other: by how much they differ beyond sampling, as a part of the
    /// samples of the one with more.
    fn distance(&self, one: &[u64], other: &[u64]) -> f64 {
        let differs = |(&one, &other): (&u64, &u64)| {
            let noise = 2.0 * ((one as f64 + other as f64) * self.per_signal).sqrt();
            (one.abs_diff(other) as f64 - noise).max(0.0)
        };
        let sum = one.iter().zip(other).map(differs).sum::<f64>();
        let most = one.iter().sum::<u64>().max(other.iter().sum());
        sum / most.max(1) as f64
    }

    /// The clusters, the largest first, and who is in none.
    fn clusters(&self) -> (Vec<Cluster>, Vec<u32>) {
        let mut left: Vec<u32> = (0..self.samples.len() as u32).collect();
        let mut list: Vec<Cluster> = Vec::new();
        while !left.is_empty() && list.len() < MOST {
            let median = self.median(&left);
            let far = |peer: u32| self.distance(&self.samples[peer as usize], &median);
            // Of equal ones the first.
            let nearest = left.iter().copied().min_by(|&a, &b| far(a).total_cmp(&far(b)));
            let Some(like) = nearest else { break };
            let (peers, others): (Vec<u32>, Vec<u32>) = left.iter().partition(|&&peer| {
                let [one, other] = [peer, like].map(|peer| &self.samples[peer as usize]);
                self.distance(one, other) <= NEAR
            });
            left = others;
            list.push(Cluster { like, peers, difference: None });
        }
        // Stable: of equal ones the first that was made.
        list.sort_by_key(|cluster| Reverse(cluster.peers.len()));
        if let Some((first, others)) = list.split_first_mut() {
            for cluster in others {
                cluster.difference = self.difference(&cluster.peers, &first.peers);
            }
        }
        (list, left)
    }

    /// The median of some peers on each path.
    fn median(&self, peers: &[u32]) -> Vec<u64> {
        let of_column = |column: usize| {
            let mut samples: Vec<u64> =
                peers.iter().map(|&peer| self.samples[peer as usize][column]).collect();
            samples.sort_unstable();
            samples.get(samples.len() / 2).copied().unwrap_or(0)
        };
        (0..=self.paths.len()).map(of_column).collect()
    }

    /// The path on which the means of two clusters differ most. What one has more of explains more
    /// than what it has less of, and counts twice.
    fn difference(&self, own: &[u32], first: &[u32]) -> Option<PathDifference> {
        let mean = |peers: &[u32], column: usize| {
            let sum = peers.iter().map(|&peer| self.samples[peer as usize][column]).sum::<u64>();
            sum as f64 / peers.len().max(1) as f64
        };
        let means = |column: usize| [mean(own, column), mean(first, column)];
        let apart = |column: &usize| {
            let [own, first] = means(*column);
            if own > first { 2.0 * (own - first) } else { first - own }
        };
        let column = (0..=self.paths.len()).max_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        let rows = self.paths.get(column).map_or_else(Vec::new, |&path| self.all.rows(path));
        Some(PathDifference { rows, means: means(column) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::reduce::tests::job::Job;
    use crate::profile::reduce::{Keep, Reduction};
    use crate::profile::{Profile, from_outline};
    use crate::refine::unwatched;

    fn clusters(profile: &Profile) -> (Refined, Option<Clusters>) {
        let refined = Refined::base(profile);
        let found = unwatched(|watch| Clusters::of(&refined, watch));
        (refined, found)
    }

    fn last(refined: &Refined, of: &PathDifference) -> String {
        let row = of.rows.last().unwrap();
        refined.functions[row.function.index()].name.to_string()
    }

    #[test]
    fn late_ranks_are_clusters_of_their_own() {
        let late = vec![(7, 3), (2, 3), (5, 9)];
        let job = Job { ranks: 24, common: 12, private: 1, late, addresses: 1 };
        let of = |keep: Keep| {
            let mut reduction = Reduction::new(keep);
            reduction.add("job", &job.together()).unwrap();
            Profile::from_saved(reduction.finish())
        };
        let (refined, found) = clusters(&of(Keep::All));
        let found = found.unwrap();
        let sizes: Vec<usize> = found.list.iter().map(|cluster| cluster.peers.len()).collect();
        assert_eq!(sizes, [21, 2, 1]);
        assert!(found.alone.is_empty());
        assert_eq!((found.list[1].peers.clone(), found.list[2].like), (vec![2, 7], 5));
        assert!(found.list[1].peers.contains(&found.list[1].like));
        assert_eq!(found.labels[found.list[2].like as usize], "rank 5");
        let cluster = |rank: u32| {
            let is_it = |process: &csprof_format::profile::Process| process.rank == Some(rank);
            let place = refined.profile.info.processes.iter().position(is_it).unwrap();
            found.of_process(ProcessId::from_index(place))
        };
        assert_eq!([cluster(7), cluster(5), cluster(0)], [Some(1), Some(2), Some(0)]);
        // They have more of a kernel, and the others more of waiting for that.
        let difference = found.list[1].difference.as_ref().unwrap();
        assert_eq!(last(&refined, difference), "kernel_3");
        assert!(difference.means[0] - difference.means[1] > 4000.0, "{difference:?}");
        // Of a sum alone it is not known.
        for keep in [Keep::Top, Keep::None] {
            assert_eq!(clusters(&of(keep)).1, None, "{keep:?}");
        }
    }

    /// Two ranks have more of many small paths, of which none is compared by itself.
    #[test]
    fn clusters_may_differ_in_all_other_paths() {
        let rank = |rank: u32| {
            let common = (0..PATHS).map(|path| format!("  kernel_{path} 900\n"));
            let small = if rank < 2 { 100 } else { 1 };
            let small = (0..200).map(|path| format!("  small_{path} {small}\n"));
            let paths: String = common.chain(small).collect();
            format!("# rank={rank} thread={rank} epoch=0\nmain\n{paths}")
        };
        let profile = from_outline(&(0..8).map(rank).collect::<String>()).unwrap();
        let (refined, found) = clusters(&profile);
        let found = found.unwrap();
        assert_eq!(found.list[1].peers, [0, 1]);
        let difference = found.list[1].difference.as_ref().unwrap();
        assert_eq!((difference.rows.len(), difference.means), (0, [20_000.0, 200.0]));
        let said = found.said(&refined, &found.list[1], Form::Ascii);
        assert!(said.contains("more [all other paths] ("), "{said}");
    }

    #[test]
    fn equal_ranks_are_one_cluster_and_few_are_none() {
        let ranks = |count: u32| {
            let rank = |n: u32| {
                format!("# rank={n} thread={n} epoch=0\nmain {}\n  solve {}\n", n % 3, 100 + n % 9)
            };
            from_outline(&(0..count).map(rank).collect::<String>()).unwrap()
        };
        let (_, found) = clusters(&ranks(40));
        let found = found.unwrap();
        assert_eq!((found.list.len(), found.list[0].peers.len()), (1, 40));
        assert_eq!((found.noun, &found.list[0].difference), ("rank", &None));
        assert_eq!(clusters(&ranks(3)).1, None);
    }
}
