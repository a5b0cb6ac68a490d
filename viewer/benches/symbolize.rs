//! What finding names costs: CPU time and memory of `csprof symbolize`.
//!
//! `cargo bench -p csprof --bench symbolize -- PROFILE CSPROF…` names the frames of a profile that
//! was recorded with `--no-symbols`, with each of these programs (one built before a change and one
//! after it) in turn, so that what else the machine does meets all of them alike. Each runs without
//! a cache, with an empty one, and with one that it has filled.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// Runs of each program in each state of the cache.
const RUNS: usize = 11;

/// Tells the benchmark that it is to run one program, and say what that took.
const ONE: &str = "--one";

const STATES: [&str; 3] = ["no cache", "empty cache", "full cache"];

/// CPU time of a run in user space and in all, elapsed time, in microseconds; most memory in KiB.
type Cost = [i64; 4];

/// Runs a command as the only child of a process, of which the kernel adds up what it took.
fn run_one(command: &[String]) {
    let begin = Instant::now();
    let child = Command::new(&command[0]).args(&command[1..]).stderr(Stdio::null()).status();
    let elapsed = begin.elapsed().as_micros();
    assert!(child.unwrap().success(), "{command:?} failed");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let user = usage.user_time().num_microseconds();
    let all = user + usage.system_time().num_microseconds();
    println!("{user} {all} {elapsed} {}", usage.max_rss());
}

fn cost(program: &str, profile: &str, folder: &Path, state: &str) -> Cost {
    let cache = folder.join("cache");
    if state != "full cache" {
        let _ = std::fs::remove_dir_all(&cache);
    }
    let out = folder.join("out.csprof");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(ONE).args([program, "symbolize", profile, "-f", "-o"]).arg(out);
    command.env("XDG_CACHE_HOME", &cache);
    command.env("CSPROF_CACHE_SIZE", if state == "no cache" { "0" } else { "1G" });
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = std::fs::read_dir(cache.join("csprof/names")).map_or(0, Iterator::count);
    assert_eq!(entries > 0, state != "no cache", "{state}: {entries} entries");
    let text = String::from_utf8(output.stdout).unwrap();
    let values: Vec<i64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    values.try_into().unwrap()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (profile, programs) = match words.as_slice() {
        [one, command @ ..] if one == ONE => return run_one(command),
        [profile, programs @ ..] if !programs.is_empty() => (profile, programs),
        _ => return println!("usage: -- PROFILE CSPROF…"),
    };
    let folder = std::env::temp_dir().join(format!("csprof-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for state in STATES {
        let mut costs = vec![Vec::new(); programs.len()];
        for _ in 0..RUNS {
            for (program, costs) in programs.iter().zip(&mut costs) {
                let own = folder.join(costs_folder(program));
                std::fs::create_dir_all(&own).unwrap();
                costs.push(cost(program, profile, &own, state));
            }
        }
        for (program, costs) in programs.iter().zip(&costs) {
            let median = |of: usize| {
                let mut values: Vec<i64> = costs.iter().map(|cost| cost[of]).collect();
                values.sort_unstable();
                values[values.len() / 2] as f64 / 1e3
            };
            println!(
                "{program}, {state}: user {:.1} ms, user and system {:.1} ms, elapsed {:.1} ms, \
                 at most {:.1} MiB",
                median(0),
                median(1),
                median(2),
                median(3) * 1e3 / 1024.0
            );
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// A folder of its own for each program.
fn costs_folder(program: &str) -> String {
    program.replace('/', "-")
}
