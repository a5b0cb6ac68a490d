//! What was measured, as tables for people: medians of ratios, never ratios of sums.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::programs::Program;
use crate::tools::{Taken, Tool};

/// All runs of all programs.
#[derive(Debug, Default)]
pub(crate) struct Results {
    runs: BTreeMap<(&'static str, Tool), Vec<Run>>,
    taken: BTreeMap<(&'static str, Tool), Taken>,
}

/// CPU time of one run, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Run {
    round: usize,
    target_ns: u64,
    total_ns: u64,
}

/// A tool on a program, held against the program alone.
#[derive(Clone, Copy, Debug)]
struct Added {
    /// CPU time that the program took more, in nanoseconds; noise can make it negative.
    target_ns: f64,
    /// The same as a share of the program alone.
    target: f64,
    /// With the profiler's own processes.
    total: f64,
}

impl Results {
    pub(crate) fn add(
        &mut self,
        program: &Program,
        tool: &Tool,
        round: usize,
        target_ns: u64,
        total_ns: u64,
    ) {
        let run = Run { round, target_ns, total_ns };
        self.runs.entry((program.name, tool.clone())).or_default().push(run);
    }

    pub(crate) fn took(&mut self, program: &Program, tool: &Tool, taken: Taken) {
        self.taken.insert((program.name, tool.clone()), taken);
    }

    fn runs(&self, program: &Program, tool: &Tool) -> &[Run] {
        self.runs.get(&(program.name, tool.clone())).map_or(&[], Vec::as_slice)
    }

    /// Medians over the rounds, each run held against the runs alone of its round.
    fn added(&self, program: &Program, tool: &Tool) -> Option<Added> {
        let alone = self.runs(program, &Tool::Alone);
        let mut pairs = Vec::new();
        for run in self.runs(program, tool) {
            let of_round = || alone.iter().filter(|base| base.round == run.round);
            let base = mean(of_round().map(|base| base.target_ns as f64))?;
            let base_total = mean(of_round().map(|base| base.total_ns as f64))?;
            pairs.push((
                run.target_ns as f64 - base,
                run.target_ns as f64 / base - 1.0,
                (run.total_ns as f64 - base_total) / base,
            ));
        }
        Some(Added {
            target_ns: median(pairs.iter().map(|pair| pair.0))?,
            target: median(pairs.iter().map(|pair| pair.1))?,
            total: median(pairs.iter().map(|pair| pair.2))?,
        })
    }

    /// CPU time that one sample added to the program, in µs: all of it, and net of the floor.
    fn per_sample_us(&self, program: &Program, tool: &Tool) -> Option<(f64, Option<f64>)> {
        let cost = |tool: &Tool| {
            let samples = self.taken.get(&(program.name, tool.clone()))?.samples;
            let added = self.added(program, tool)?;
            (samples > 0).then(|| added.target_ns / samples as f64 / 1e3)
        };
        let gross = cost(tool)?;
        Some((gross, tool.floor().and_then(|floor| Some(gross - cost(&floor)?))))
    }

    /// Both tables, in Markdown.
    pub(crate) fn tables(&self, programs: &[Program], tools: &[Tool]) -> String {
        let mut text = format!("{}\n\n", machine());
        self.by_tool(&mut text, programs, tools);
        text.push('\n');
        self.by_program(&mut text, programs, tools);
        text
    }

    /// One line per tool: medians over the programs.
    fn by_tool(&self, text: &mut String, programs: &[Program], tools: &[Tool]) {
        text.push_str(
            "| | delivery | added CPU of the program, median (range) | with the profiler's own | \
             samples per CPU second | full paths | bytes per sample | µs per sample | net of the floor |\n\
             |---|---|---|---|---|---|---|---|---|\n",
        );
        for tool in tools {
            let added: Vec<Added> = programs.iter().filter_map(|p| self.added(p, tool)).collect();
            let target = || added.iter().map(|added| added.target * 100.0);
            let Some(middle) = median(target()) else { continue };
            let low = target().fold(f64::INFINITY, f64::min);
            let high = target().fold(f64::NEG_INFINITY, f64::max);
            let total = median(added.iter().map(|added| added.total * 100.0)).unwrap_or(middle);
            let taken = || {
                programs.iter().filter_map(|p| Some((p, self.taken.get(&(p.name, tool.clone()))?)))
            };
            let rate = median(taken().filter_map(|(program, taken)| {
                let run = self.runs(program, tool).first()?;
                Some(taken.samples as f64 / (run.target_ns as f64 / 1e9))
            }));
            let samples: u64 = taken().map(|(_, taken)| taken.samples).sum();
            let full: Option<u64> = taken().map(|(_, taken)| taken.full).sum();
            let full =
                full.filter(|_| samples > 0).map(|full| full as f64 * 100.0 / samples as f64);
            let bytes = median(
                taken()
                    .filter(|(_, taken)| taken.bytes > 0 && taken.samples > 0)
                    .map(|(_, taken)| taken.bytes as f64 / taken.samples as f64),
            );
            let costs: Vec<_> =
                programs.iter().filter_map(|p| self.per_sample_us(p, tool)).collect();
            let gross = median(costs.iter().map(|cost| cost.0));
            let net = median(costs.iter().filter_map(|cost| cost.1));
            let cells = [
                tool.delivery().to_owned(),
                format!("{middle:.1} % ({low:.1} to {high:.1})"),
                format!("{total:.1} %"),
                cell(rate, 0, ""),
                cell(full, 1, " %"),
                cell(bytes, 1, ""),
                cell(gross, 1, ""),
                cell(net, 1, ""),
            ];
            let _ = writeln!(text, "| {} | {} |", tool.name(), cells.join(" | "));
        }
    }

    /// Added CPU of the program, one line per program and one column per tool.
    fn by_program(&self, text: &mut String, programs: &[Program], tools: &[Tool]) {
        let names: Vec<String> = tools.iter().map(Tool::name).collect();
        let _ = writeln!(text, "| added CPU of the program | alone | {} |", names.join(" | "));
        let _ = writeln!(text, "|---|---|{}", "---|".repeat(tools.len()));
        for program in programs {
            let alone =
                self.runs(program, &Tool::Alone).iter().map(|run| run.target_ns as f64 / 1e9);
            let cells: Vec<String> = tools
                .iter()
                .map(|tool| {
                    cell(self.added(program, tool).map(|added| added.target * 100.0), 1, " %")
                })
                .collect();
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                program.name,
                cell(median(alone), 2, " s"),
                cells.join(" | ")
            );
        }
    }
}

/// A number with its unit, or nothing where there is none.
fn cell(value: Option<f64>, digits: usize, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!("{value:.digits$}{unit}"))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (upper, lower) = (values.len() / 2, values.len().checked_sub(1)? / 2);
    Some(f64::midpoint(values[lower], values[upper]))
}

/// What these numbers were measured on.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let models: Vec<&str> = cpus.lines().filter(|line| line.starts_with("model name")).collect();
    let model = models.first().and_then(|line| line.split(": ").nth(1)).unwrap_or("unknown CPU");
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel = kernel.split('-').next().unwrap_or_default().trim();
    format!("{} × {model}, Linux {kernel}", models.len())
}
