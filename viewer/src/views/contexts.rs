//! Who had the samples: processes and their threads, and how unevenly.
//!
//! Σ over the processes is what is shown, as is Σ over all threads. The *imbalance* of n parts is
//! (max − mean) × n: what all of them together wait for the slowest one, if they wait for each
//! other. It is 0 where all have as much.

use std::collections::BTreeMap;

use csprof_format::ids::{ProcessId, ThreadId};

use super::printable::{command_line, printable};
use crate::refine::Refined;

/// A process or a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The process, or that of the thread.
    pub process: ProcessId,
    /// The thread, if it is one: of the process before it in the list.
    pub thread: Option<ThreadId>,
    /// What people call it: `rank 3, pid 4711 ./solver input`, `4712 worker`.
    pub label: String,
    /// The refinement to it.
    pub stage: String,
    /// Its samples that are shown.
    pub samples: u64,
    /// Threads of a process that have samples; 0 for a thread.
    pub threads: usize,
    /// Imbalance of a process's threads, in samples; 0 for a thread.
    pub imbalance: u64,
}

/// Processes with samples, in their order, each followed by its threads where there are several;
/// and the imbalance of the processes. O(nodes).
#[must_use]
pub fn contexts(refined: &Refined<'_>) -> (Vec<Context>, u64) {
    let (mut list, imbalance) = all_contexts(refined);
    let mut is_alone = false;
    list.retain(|context| {
        is_alone = if context.thread.is_none() { context.threads == 1 } else { is_alone };
        context.thread.is_none() || !is_alone
    });
    (list, imbalance)
}

/// The same with every thread that has samples, also those that are alone in their process.
#[must_use]
pub fn all_contexts(refined: &Refined<'_>) -> (Vec<Context>, u64) {
    let info = &refined.profile.info;
    let mut samples: BTreeMap<ProcessId, BTreeMap<ThreadId, u64>> = BTreeMap::new();
    for stream in &refined.streams {
        let nodes = stream.nodes.clone();
        let sum: u64 = nodes.map(|node| refined.exclusive(node as usize)).sum();
        if sum > 0 {
            *samples.entry(stream.process).or_default().entry(stream.thread).or_default() += sum;
        }
    }
    let mut list = Vec::new();
    let mut of_processes = Vec::new();
    for (process, threads) in &samples {
        let Some(known) = info.processes.get(process.index()) else { continue };
        let (stage, rank) = match known.rank {
            Some(rank) => (format!("rank = {rank}"), format!("rank {rank}, ")),
            None => (format!("process = {}", known.pid), String::new()),
        };
        let each: Vec<u64> = threads.values().copied().collect();
        let sum = each.iter().sum();
        of_processes.push(sum);
        list.push(Context {
            process: *process,
            thread: None,
            label: format!("{rank}pid {} {}", known.pid, command_line(&known.command)),
            stage: stage.clone(),
            samples: sum,
            threads: each.len(),
            imbalance: imbalance(&each),
        });
        for (thread, &samples) in threads {
            let Some(known) = info.threads.get(thread.index()) else { continue };
            let name = String::from_utf8_lossy(&known.name);
            list.push(Context {
                process: *process,
                thread: Some(*thread),
                label: format!("{} {}", known.tid, printable(&name)),
                stage: format!("thread = {}", known.tid),
                samples,
                threads: 0,
                imbalance: 0,
            });
        }
    }
    (list, imbalance(&of_processes))
}

/// (max − mean) × n = max × n − Σ.
#[must_use]
pub fn imbalance(parts: &[u64]) -> u64 {
    let most = parts.iter().copied().max().unwrap_or(0);
    most.saturating_mul(parts.len() as u64).saturating_sub(parts.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{apply, parse};

    const RANKS: &str = "\
# rank=0 thread=10 epoch=0 name=main
main 40
# rank=0 thread=11 epoch=0 name=worker
work 10
  wait 10
# rank=1 thread=20 epoch=0
main 100
# rank=1 thread=20 epoch=1
main 5
";

    #[test]
    fn processes_threads_and_their_imbalance() {
        let profile = from_outline(RANKS).unwrap();
        let of = |refinement: &str| {
            let refined = apply(&profile, &parse(refinement).unwrap()).unwrap();
            let (list, imbalance) = contexts(&refined);
            assert_eq!(
                list.iter().filter(|c| c.thread.is_none()).map(|c| c.samples).sum::<u64>(),
                refined.shown
            );
            let line = |c: &Context| format!("{} {} {}", c.samples, c.imbalance, c.stage);
            (list.iter().map(line).collect::<Vec<_>>(), imbalance)
        };
        assert_eq!(
            of(""),
            (
                ["60 20 rank = 0", "40 0 thread = 10", "20 0 thread = 11", "105 0 rank = 1",]
                    .map(str::to_owned)
                    .to_vec(),
                45
            )
        );
        // The stage of a row leads to its samples.
        assert_eq!(of("rank = 0 | thread = 11"), (vec!["20 0 rank = 0".to_owned()], 0));
        assert_eq!(of("not through main"), (vec!["20 0 rank = 0".to_owned()], 0));
    }

    #[test]
    fn equal_parts_are_balanced() {
        for (parts, expected) in
            [(&[][..], 0), (&[7], 0), (&[7, 7, 7], 0), (&[1, 4, 1], 6), (&[0, 10], 10)]
        {
            assert_eq!(imbalance(parts), expected, "{parts:?}");
        }
    }
}
