//! What profiling costs: csprof and other profilers on real programs, side by side.
//!
//! `cargo bench -p csprof-tests --bench overhead` measures everything and takes about half an hour;
//! `-- --rounds 2 --program gzip --tool csprof` measures less, `-- --memory` profilers of memory.
//!
//! Each round runs every program once under every tool, in turning order, and twice alone; a
//! program runs on the last CPU and its profiler's own process elsewhere. What is compared is CPU
//! time: of the program ([`measure`]), and in total, with the profiler's own processes. A run is
//! held against the runs alone of its own round, and the median over the rounds counts.
//!
//! The *floor* is a library that takes the same signals, in the same way and at the same rate, with
//! an empty handler ([`floor.c`](floor.c)): what no profiler by signals can go below. Net of it, a
//! sample costs what the profiler itself does.
//!
//! The tables go to `target/overhead.md` (`overhead-memory.md`) after each round, and to standard
//! output at the end.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints")]

mod measure;
mod programs;
mod table;
mod tools;

use std::fs;
use std::path::Path;

use clap::Parser;
use csprof_tests::workshop::Workshop;

use crate::measure::Cost;
use crate::programs::Program;
use crate::table::Results;
use crate::tools::Tool;

/// What the benchmark is asked for.
#[derive(Debug, Parser)]
#[command(name = "overhead", about = "Measures what csprof and other profilers cost")]
struct Options {
    /// How often each program runs under each tool
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only programs whose name contains this
    #[arg(long, default_value = "")]
    program: String,
    /// Only tools whose name contains this; what they are compared with runs anyway
    #[arg(long, default_value = "")]
    tool: String,
    /// Measures profilers of memory instead: `alloc` and `leak` at 512 KiB, heaptrack, and the heap
    /// profiler of gperftools
    #[arg(long)]
    memory: bool,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).map(String::as_str) == Some(measure::TARGET) {
        std::process::exit(measure::run_target(&words[2..]));
    }
    let options = Options::parse();
    let workshop = Workshop::new("overhead");
    let mut programs = match options.memory {
        true => programs::of_memory(&workshop),
        false => programs::all(&workshop),
    };
    programs.retain(|program| program.name.contains(&options.program));
    let mut tools = match options.memory {
        true => tools::installed_for_memory(),
        false => tools::installed(&workshop),
    };
    tools.retain(|tool| tool.is_reference() || tool.name().contains(&options.tool));
    let mut results = Results::default();
    for round in 0..options.rounds {
        for program in &programs {
            eprintln!("round {} of {}: {}", round + 1, options.rounds, program.name);
            one_round(&workshop, program, &tools, round as usize, &mut results);
        }
        // After each round, so that one that is interrupted was not in vain.
        let tables = results.tables(&programs, &tools);
        let name = if options.memory { "overhead-memory.md" } else { "overhead.md" };
        let path = workshop.path("../../..").join(name);
        fs::write(path, tables).expect("the tables are written");
    }
    println!("{}", results.tables(&programs, &tools));
}

/// Runs `program` under each tool once, alone before and in the middle.
fn one_round(
    workshop: &Workshop,
    program: &Program,
    tools: &[Tool],
    round: usize,
    results: &mut Results,
) {
    let mut order: Vec<&Tool> = tools.iter().filter(|tool| tool.can_run(program)).collect();
    let turns = round % order.len().max(1);
    order.rotate_left(turns);
    order.insert(order.len() / 2, &Tool::Alone);
    order.insert(0, &Tool::Alone);
    for tool in order {
        let out = workshop.path("out");
        remove(&out);
        let Cost { target_ns, total_ns } = measure::cost(workshop, tool, program, &out);
        results.add(program, tool, round, target_ns, total_ns);
        // Counting samples takes some tools long, and they are nearly the same in every round.
        if round == 0
            && let Some(taken) = tool.taken(workshop, program, &out)
        {
            results.took(program, tool, taken);
        }
    }
}

/// A run must not add to what another left.
fn remove(out: &Path) {
    let _ = fs::remove_file(out);
    let _ = fs::remove_dir_all(out);
}
