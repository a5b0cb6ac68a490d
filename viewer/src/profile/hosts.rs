//! On which host each process ran: each run says it of all its processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use csprof_format::ids::ProcessId;
use csprof_format::profile as saved;

/// The hosts of the processes of a profile, or of the two that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// That of each process; `None` if it is not known, or if processes of several hosts were
    /// summed into it.
    of_process: Vec<Option<Arc<str>>>,
    /// Those of which some process is only in the sum with those of others.
    summed: BTreeSet<Arc<str>>,
    /// All of them, numbered in the order of their names: that of runs and of ranks may differ
    /// from file to file.
    numbers: BTreeMap<Arc<str>, u32>,
    /// The name of each number.
    names: Vec<Arc<str>>,
}

impl Hosts {
    /// Those of one profile. O(processes, and those that were summed).
    #[must_use]
    pub fn of(info: &saved::Profile) -> Self {
        let mut hosts = Self::default();
        hosts.add(info);
        hosts
    }

    /// Adds the processes of a further profile, behind those that are there.
    pub fn add(&mut self, info: &saved::Profile) {
        let mut known: BTreeMap<&str, Arc<str>> = BTreeMap::new();
        let mut shared = |name| Arc::clone(known.entry(name).or_insert_with(|| name.into()));
        let first = self.of_process.len();
        self.of_process.resize(first + info.processes.len(), None);
        let of_process = &mut self.of_process[first..];
        if info.is_sum() {
            let mut are_several = vec![false; of_process.len()];
            let summed = || {
                let runs = info.summed.iter().map(|run| (&*run.info.host, &run.processes));
                runs.flat_map(|(host, all)| all.iter().map(move |one| (host, one.into.index())))
            };
            for (host, into) in summed() {
                let Some(of) = of_process.get_mut(into) else { continue };
                match of {
                    Some(known) => are_several[into] |= **known != *host,
                    None => *of = Some(shared(host)),
                }
            }
            for (host, into) in summed() {
                if are_several.get(into) == Some(&true) && !host.is_empty() {
                    self.summed.insert(shared(host));
                }
            }
            for (of, are_several) in of_process.iter_mut().zip(are_several) {
                *of = of.take().filter(|host| !are_several && !host.is_empty());
            }
        } else {
            let whole = (&*info.run.host, of_process.len());
            let runs = info.runs.iter().map(|run| (&*run.info.host, run.processes as usize));
            let runs = runs.chain(info.runs.is_empty().then_some(whole));
            let each = runs.flat_map(|(host, processes)| std::iter::repeat_n(host, processes));
            for (of, host) in of_process.iter_mut().zip(each).filter(|(_, host)| !host.is_empty()) {
                *of = Some(shared(host));
            }
        }
        let all = self.of_process.iter().flatten().chain(&self.summed);
        let all: BTreeSet<Arc<str>> = all.map(Arc::clone).collect();
        self.names = all.into_iter().collect();
        self.numbers = self.names.iter().map(Arc::clone).zip(0..).collect();
    }

    /// That of a process, if there is one.
    #[must_use]
    pub fn of_process(&self, process: ProcessId) -> Option<&Arc<str>> {
        self.of_process.get(process.index())?.as_ref()
    }

    /// Its number among all, in the order of their names.
    #[must_use]
    pub fn number(&self, process: ProcessId) -> Option<u32> {
        self.numbers.get(self.of_process(process)?).copied()
    }

    /// The names of all, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The name of the one with this number.
    #[must_use]
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(|name| &**name)
    }

    /// Those of which some process is only in the sum with those of others, with their numbers.
    pub fn summed(&self) -> impl Iterator<Item = (&str, u32)> {
        self.summed.iter().map(|name| (&**name, self.numbers[name]))
    }
}

#[cfg(test)]
mod tests {
    use csprof_format::profile::{MergedRun, Process, Profile, RunInfo, SummedProcess, SummedRun};

    use super::*;

    fn run(host: &str) -> RunInfo {
        RunInfo { host: host.into(), ..RunInfo::default() }
    }

    fn numbers(info: &Profile) -> Vec<Option<u32>> {
        let hosts = Hosts::of(info);
        (0..info.processes.len()).map(|n| hosts.number(ProcessId::from_index(n))).collect()
    }

    #[test]
    fn each_process_has_the_host_of_its_run() {
        let mut info = Profile { processes: vec![Process::default(); 3], ..Profile::default() };
        assert_eq!(numbers(&info), [None; 3]);
        info.run = run("node2");
        assert_eq!(numbers(&info), [Some(0); 3]);
        let merged = |host, processes| MergedRun { info: run(host), processes };
        info.runs = vec![merged("node2", 1), merged("", 1), merged("node1", 1)];
        info.run = run("node1, node2");
        assert_eq!(numbers(&info), [Some(1), None, Some(0)]);
        assert_eq!(Hosts::of(&info).names().collect::<Vec<_>>(), ["node1", "node2"]);
        // A file may say too little, or too much.
        info.runs[2].processes = 0;
        assert_eq!(numbers(&info), [Some(0), None, None]);
        info.runs[2].processes = 9;
        assert_eq!(numbers(&info), [Some(1), None, Some(0)]);
        let mut both = Hosts::of(&info);
        both.add(&Profile { run: run("a"), runs: Vec::new(), ..info.clone() });
        assert_eq!(both.number(ProcessId(0)), Some(2));
        assert_eq!(both.number(ProcessId(5)), Some(0));
    }

    #[test]
    fn of_several_hosts_in_one_sum_none_is_told() {
        let summed = |into| SummedProcess { into: ProcessId(into), ..SummedProcess::default() };
        let of = |host, into: &[u32]| SummedRun {
            info: run(host),
            processes: into.iter().map(|&into| summed(into)).collect(),
        };
        let info = Profile {
            run: run("a, b, c"),
            processes: vec![Process::default(); 3],
            summed: vec![of("b", &[0, 1]), of("a", &[0]), of("c", &[2, 2])],
            ..Profile::default()
        };
        assert_eq!(numbers(&info), [None, Some(1), Some(2)]);
        let hosts = Hosts::of(&info);
        assert_eq!(hosts.summed().collect::<Vec<_>>(), [("a", 0), ("b", 1)]);
    }
}
