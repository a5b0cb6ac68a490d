//! Which ranks of a job have left nothing, where a launcher was recorded.

use std::collections::{BTreeMap, BTreeSet};

use csprof_format::arena::ArenaHeader;

/// Ranks of one job, as far as they are in the run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Job {
    present: BTreeSet<u32>,
    /// As many as the launcher says; 0 if it does not.
    ranks: u32,
    /// Of these, as many on this node.
    local_ranks: u32,
}

/// Says of each job of the run which of its ranks left nothing. Where its csprof was one of several
/// ranks itself, there is one for each of them, and the run holds this one only.
pub(super) fn missing(headers: &[ArenaHeader], csprof_is_rank: bool) -> Vec<String> {
    /// Who is given the processes whose parent has ended; their launcher is not known.
    const INIT: u32 = 1;
    if csprof_is_rank {
        return Vec::new();
    }
    // One of one may be a shell or mpirun that a batch system has started.
    let has_peers = |header: &&ArenaHeader| header.rank_plus_one > 0 && header.ranks != 1;
    let is_rank = |pid| headers.iter().filter(has_peers).any(|header| header.pid == pid);
    // Who started ranks and is none: mpirun, or what it has on each node. A run may have several.
    let mut launchers: BTreeMap<u32, Job> = BTreeMap::new();
    let has_launcher = |of: &&ArenaHeader| of.parent_pid != INIT && !is_rank(of.parent_pid);
    for header in headers.iter().filter(has_peers).filter(has_launcher) {
        let Some(rank) = header.rank_plus_one.checked_sub(1) else { continue };
        let job = launchers.entry(header.parent_pid).or_default();
        job.present.insert(rank);
        job.ranks = job.ranks.max(header.ranks);
        job.local_ranks = job.local_ranks.max(header.local_ranks);
    }
    // A launcher may have several processes on a node, each with ranks of its own.
    let mut jobs: Vec<Job> = Vec::new();
    for part in launchers.into_values() {
        let is_of =
            |job: &&mut Job| job.ranks == part.ranks && job.present.is_disjoint(&part.present);
        match jobs.iter_mut().find(is_of) {
            Some(job) => {
                job.present.extend(part.present);
                job.local_ranks = job.local_ranks.max(part.local_ranks);
            }
            None => jobs.push(part),
        }
    }
    jobs.iter().filter_map(Job::told).collect()
}

impl Job {
    fn told(&self) -> Option<String> {
        let missing = absent(&self.present, self.ranks)?;
        // Ranks of this node are all there, and there are others.
        let is_elsewhere = self.local_ranks > 0
            && self.local_ranks < self.ranks
            && self.present.len() as u64 >= self.local_ranks.into();
        let why = if is_elsewhere {
            "they ran on other nodes, and csprof sees the processes of its own; put it behind the \
             launcher: mpirun … csprof record -o prof/ PROG"
        } else {
            "a rank leaves nothing if it ends at once, clears its environment, or runs on another node \
             than csprof, which is on all nodes behind the launcher: mpirun … csprof record -o prof/ PROG"
        };
        Some(format!("{missing}; {why}"))
    }
}

/// `rank 3 of 8 is missing`, `ranks 3 and 5 to 7 of 8 are missing`; `None` if all are present, or
/// nobody knows how many there are.
#[must_use]
pub fn absent(present: &BTreeSet<u32>, ranks: u32) -> Option<String> {
    let (list, count) = absent_list(present, ranks)?;
    Some(match count {
        1 => format!("rank {list} of {ranks} is missing"),
        _ => format!("ranks {list} of {ranks} are missing"),
    })
}

/// The ranks below `ranks` that are not present, as `3 and 5 to 7`, and how many they are.
#[must_use]
pub fn absent_list(present: &BTreeSet<u32>, ranks: u32) -> Option<(String, u32)> {
    /// Stretches that are told.
    const MOST: usize = 12;
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    let mut next = 0;
    for &rank in present.range(..ranks).chain([&ranks]) {
        if rank > next {
            stretches.push((next, rank - 1));
        }
        next = rank.saturating_add(1);
    }
    let count = stretches.iter().map(|(first, last)| last - first + 1).sum();
    let is_long = stretches.len() > MOST;
    let told = stretches.iter().take(MOST).flat_map(|&(first, last)| match last - first {
        0 => vec![first.to_string()],
        1 => vec![first.to_string(), last.to_string()],
        _ => vec![format!("{first} to {last}")],
    });
    let others = is_long.then(|| format!("others ({count} in all)"));
    let mut words: Vec<String> = told.chain(others).collect();
    let last = words.pop()?;
    let list = match words.join(", ") {
        words if words.is_empty() => last,
        words => format!("{words} and {last}"),
    };
    Some((list, count))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::arena_bytes::ArenaBytes;
    use super::super::arena_read::read_header;
    use super::*;

    /// Rank, its process, that process's parent, ranks of the job, those on the node.
    fn job(ranks: &[(u32, u32, u32)], all: u32, local: u32) -> Vec<ArenaHeader> {
        let header = |&(rank, pid, parent_pid): &(u32, u32, u32)| {
            let bytes = ArenaBytes::new(pid, 1, 2).bytes;
            let mut header = read_header(&mut Cursor::new(bytes)).unwrap();
            header.parent_pid = parent_pid;
            (header.rank_plus_one, header.ranks, header.local_ranks) = (rank + 1, all, local);
            header
        };
        ranks.iter().map(header).collect()
    }

    #[test]
    fn jobs_of_a_run_are_those_of_its_launchers() {
        // Two launchers, 20 and 30; a rank's own child has its rank.
        let first = [(0, 21, 20), (0, 22, 21), (2, 23, 20)];
        let second = [(0, 31, 30), (1, 32, 30)];
        let run = [job(&first, 3, 0), job(&second, 2, 0)].concat();
        let told = missing(&run, false);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("rank 1 of 3 is missing; a rank leaves nothing if"),
            "{told:?}"
        );
        let elsewhere = missing(&job(&second, 4, 2), false);
        assert!(
            elsewhere[0].starts_with("ranks 2 and 3 of 4 are missing; they ran on other nodes")
        );
        // csprof behind the launcher, and a launcher that is one of one itself.
        assert_eq!(missing(&job(&[(1, 11, 10)], 4, 0), true), [""; 0]);
        let interactive = [job(&[(0, 20, 10)], 1, 1), job(&first, 3, 0)].concat();
        assert_eq!(missing(&interactive, false).len(), 1);
    }

    #[test]
    fn what_has_several_parents_is_one_job() {
        // Two processes of the launcher on this node; a rank's own child whose parent has ended.
        let halves = [(0, 21, 20), (1, 22, 20), (2, 31, 30), (3, 32, 30), (2, 40, 1), (2, 41, 40)];
        assert_eq!(missing(&job(&halves, 4, 0), false), [""; 0]);
        let told = missing(&job(&halves[..3], 4, 0), false);
        assert!(told.len() == 1 && told[0].starts_with("rank 3 of 4 is missing"), "{told:?}");
    }

    fn told(present: &[u32], ranks: u32) -> Option<String> {
        absent(&present.iter().copied().collect(), ranks)
    }

    #[test]
    fn ranks_that_are_missing_are_named() {
        assert_eq!(told(&[0, 1, 2, 3], 4), None);
        assert_eq!(told(&[0, 1], 0), None);
        assert_eq!(told(&[0, 1, 3], 4).unwrap(), "rank 2 of 4 is missing");
        assert_eq!(told(&[0, 1, 2, 4, 5, 6], 8).unwrap(), "ranks 3 and 7 of 8 are missing");
        assert_eq!(told(&[4], 8).unwrap(), "ranks 0 to 3 and 5 to 7 of 8 are missing");
        assert_eq!(told(&[], 2).unwrap(), "ranks 0 and 1 of 2 are missing");
        let each_second: Vec<u32> = (0..64).filter(|rank| rank % 2 == 0).collect();
        let text = told(&each_second, 64).unwrap();
        assert!(text.ends_with("21, 23 and others (32 in all) of 64 are missing"), "{text}");
    }
}
