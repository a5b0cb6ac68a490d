//! What the sum of a job costs: CPU time, memory and bytes for each rank.
//!
//! `cargo bench -p csprof --bench reduce`: jobs of 16, 64, 256 and 1024 ranks, or of as many as
//! `CSPROF_BENCH_RANKS=16,256` says, of 2000 common paths, or `CSPROF_BENCH_PATHS`, and a
//! hundredth as many private ones for each rank. Profiles are made one after the other, which is
//! not counted; so the greatest memory is that of the sum and one profile.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints")]

#[expect(unreachable_pub, dead_code, reason = "the crate of the system tests has it, too")]
#[path = "../../tests/src/job.rs"]
mod job;

use std::fs;
use std::time::Duration;

use csprof::profile::reduce::{Keep, Reduction};
use csprof_format::write;
use job::Job;
use nix::time::{ClockId, clock_gettime};

/// A number that the environment may set.
fn numbers(name: &str, usual: &str) -> Vec<u32> {
    let text = std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    text.split(',').map(|number| number.trim().parse().unwrap()).collect()
}

/// CPU time of the process.
fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap().into()
}

/// The most memory that was resident since the last call, in bytes.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    kib * 1024
}

fn main() {
    let common = numbers("CSPROF_BENCH_PATHS", "2000")[0];
    println!(
        "ranks  keep  kept   nodes   sum (ms)  per rank (ms)  memory (MB)  file (kB)  per rank (B)"
    );
    for ranks in numbers("CSPROF_BENCH_RANKS", "16,64,256,1024") {
        let late = vec![(ranks / 3, 5), (ranks / 2, 11)];
        let job = Job { ranks, common, private: common / 100, late, addresses: 1 };
        let busiest = job.busiest();
        for (name, keep) in [("none", Keep::None), ("top", Keep::Top), ("all", Keep::All)] {
            most_memory();
            let mut reduction = Reduction::new(keep);
            let mut spent = Duration::ZERO;
            for rank in 0..ranks {
                let part = job.rank(rank, busiest);
                let before = now();
                reduction.add("part", &part).unwrap();
                spent += now() - before;
            }
            let kept = reduction.kept();
            let before = now();
            let profile = reduction.finish();
            let mut bytes = Vec::new();
            write::write(&profile, &mut bytes).unwrap();
            spent += now() - before;
            println!(
                "{ranks:>5}  {name:<4} {kept:>5} {:>7} {:>10.1} {:>14.2} {:>12.1} {:>10.1} {:>13}",
                profile.nodes.len(),
                spent.as_secs_f64() * 1e3,
                spent.as_secs_f64() * 1e3 / f64::from(ranks),
                most_memory() as f64 / 1e6,
                bytes.len() as f64 / 1e3,
                bytes.len() / ranks as usize,
            );
        }
    }
}
