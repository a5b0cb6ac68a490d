//! `csprof help`: what the subcommands do, and pages on topics that no single one of them has.
//!
//! Every refinement on these pages is held against a profile by a test, so that no page says
//! what does not work.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Command};

use super::exit_code::{self, WrongUsage};
use crate::print;
use crate::refine::Preset;

const EXAMPLES: &str = "\
Examples:
  csprof help refine              the refinement language
  csprof help report              what a subcommand does";

/// Show help on a subcommand or a topic: refine, sets, coming-from
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Help {
    /// A subcommand, or one of refine, sets, coming-from
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,
}

/// A topic: its name, what it is about, and its page.
pub(super) type Topic = (&'static str, &'static str, fn() -> String);

/// All topics.
pub(super) const TOPICS: [Topic; 3] = [
    ("refine", "the refinement language: grammar, examples, what stages do, pitfalls", refine),
    ("sets", "sets of frames (@mpi): those that csprof has, and your own", sets),
    (
        "coming-from",
        "for people who know perf, gprof, HPCToolkit, pprof, Hatchet, KCachegrind, Firefox Profiler",
        coming_from,
    ),
];

impl Help {
    /// Prints the help; `command` is csprof.
    ///
    /// # Errors
    ///
    /// If there is no such topic, or output fails.
    pub fn run(&self, command: Command) -> Result<ExitCode> {
        let page = match self.topic.as_deref() {
            None => overview(command),
            Some(name) => page(name, command)?,
        };
        print::as_it_is(page.as_bytes()).context(print::CANNOT_PRINT)?;
        Ok(exit_code::DONE)
    }
}

/// The help of csprof itself, and the topics.
fn overview(mut command: Command) -> String {
    let mut text = command.render_long_help().to_string();
    text.push_str("\n\nTopics (csprof help TOPIC):\n");
    for (name, about, _) in TOPICS {
        text.push_str(&format!("  {name:<13} {about}\n"));
    }
    text
}

fn page(name: &str, mut command: Command) -> Result<String> {
    if let Some((.., page)) = TOPICS.iter().find(|(topic, ..)| *topic == name) {
        return Ok(page());
    }
    // Puts the program's name before those of the subcommands.
    command.build();
    match command.find_subcommand_mut(name) {
        Some(subcommand) => Ok(format!("{}\n", subcommand.render_long_help())),
        None => {
            let topics = TOPICS.map(|(name, ..)| name).join(", ");
            Err(WrongUsage(format!(
                "there is no help on `{name}`; there is on the subcommands and on {topics}"
            ))
            .into())
        }
    }
}

/// What people want, and the refinement that shows it.
pub(super) const INTENTS: [(&str, &str); 28] = [
    ("paths through any MPI call", "through MPI_*"),
    ("memcpy somewhere below MPI_Send", "through MPI_Send >> memcpy*"),
    ("what solve calls directly", "through solve > dgemm_"),
    ("from the root on", "through ^main > solve >> memcpy"),
    ("paths that end in memcpy", "leaf memcpy"),
    ("samples in solve's own code, inlined code included", "in solve"),
    ("only what solve calls", "under solve"),
    ("MPI, but not during start-up", "through MPI_* and not under MPI_Init"),
    ("… the library's insides out of sight", "through MPI_* | hide module:libopen-pal*"),
    ("a library as one row", "group module:libmpi* as MPI"),
    ("the first frame of a library, the rest folded into it", "stop at !@user"),
    ("leave a function out, cost and all", "not through memcpy"),
    ("leave it out, cost to its caller", "hide memcpy"),
    ("a function as the root", "root at solve"),
    ("who calls it", "callers of memcpy"),
    ("recursion at least three deep", "times(visit) >= 3"),
    ("recursion as one frame", "collapse visit"),
    ("modules instead of functions", "by module"),
    ("loops as rows", "by loop"),
    ("what is called in a loop", "by loop | through loop:solve.c:18"),
    ("ranks beside each other", "split rank"),
    ("one rank, some threads", "rank in 0 and thread = main*"),
    ("the last tenth of the run (record --times)", "during 90%.."),
    ("rows above 5 % only", "node[incl(time) >= 5%]"),
    ("small rows as one", "small incl(time) < 0.5%"),
    ("rows that wait (record -e cputime -e realtime)", "node[incl(realtime) >= 5%]"),
    ("short calls, by cost per edge", "node[cost per edge < 6ms]"),
    ("allocation inside MPI", "through @mpi >> @alloc"),
];

fn refine() -> String {
    let intents: String =
        INTENTS.iter().map(|(intent, text)| format!("    {intent:<54} {text}\n")).collect();
    include_str!("refine.txt").replace("@INTENTS@\n", &format!("{intents}\n"))
}

fn sets() -> String {
    let preset = |(_, name, definition): &(Preset, &str, &str)| {
        format!("    @{name}\n{}\n", wrapped(definition, 92, "        "))
    };
    let presets: String = Preset::ALL.iter().map(preset).collect();
    include_str!("sets.txt").replace("@PRESETS@\n", &presets)
}

/// Text in lines of about so many characters, broken at blanks.
fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if lines[last].len() > indent.len() && lines[last].len() + word.len() + 1 > width {
            lines.push(format!("{indent}{word}"));
            continue;
        }
        if lines[last].len() > indent.len() {
            lines[last].push(' ');
        }
        lines[last].push_str(word);
    }
    lines.join("\n")
}

/// What one types elsewhere, and what to type here: tool, theirs, ours. Where ours begins with
/// `csprof` or `<`, it is a command or keys. `docs/coming-from.md` has the same tables.
pub(super) const ELSEWHERE: [(&str, &[(&str, &str)]); 7] = [
    (
        "pprof",
        &[
            ("-focus=MPI", "through /MPI/"),
            ("-ignore=memcpy", "not through /memcpy/"),
            ("-hide=opal", "hide /opal/"),
            ("-show='solve|MPI'", "hide !/solve|MPI/"),
            ("-show_from=solve", "root at /solve/"),
            ("-noinlines", "hide kind:inline"),
            ("-files", "by file"),
            ("-lines", "by line"),
            ("-tagfocus=thread=main", "thread = *main*"),
            ("-tagignore=thread=main", "not thread = *main*"),
            ("-nodefraction=0.01 (dropped)", "small incl(time) < 1%"),
            ("-nodecount=20", "csprof report FILE --limit 20"),
            ("-relative_percentages", "csprof report FILE --percent shown"),
            ("-peek=memcpy, callers", "callers of memcpy"),
            ("-top", "csprof report FILE --view flat"),
            ("-top -cum", "csprof report FILE --view flat --sort time"),
            ("-diff_base=a b", "csprof diff A B"),
            ("-diff_base=a b -normalize", "csprof diff A B --normalize"),
            ("-proto a b (merged)", "csprof merge -o AB A B"),
            ("-traces", "csprof export FILE --format folded"),
        ],
    ),
    (
        "Firefox Profiler",
        &[
            ("search box: memcpy", "through /memcpy/"),
            ("Merge function", "hide memcpy"),
            ("Collapse function", "stop at MPI_Send"),
            ("Collapse resource", "group module:libmpi* as MPI"),
            ("Collapse recursion", "fold visit"),
            ("Collapse direct recursion only", "collapse-run visit"),
            ("Focus on function", "root at solve"),
            ("Focus on subtree only", "through ^main > solve | root at solve"),
            ("Focus on function (inverted)", "callers of solve"),
            ("Focus on self only", "leaf solve | root at last solve"),
            ("Focus on category", "hide !@mpi"),
            ("Drop samples with this function", "not through memcpy"),
            ("Invert call stack", "<2>"),
            ("one thread's track", "thread = main"),
        ],
    ),
    (
        "hpcviewer",
        &[
            ("top-down view", "<1>"),
            ("bottom-up view", "<2>"),
            ("flat view", "<3>"),
            ("hot path", "<H>"),
            ("zoom in", "root at solve"),
            ("filter: self only", "hide memcpy"),
            ("filter: descendants only", "stop at MPI_Send"),
            ("filter: self and descendants", "cut MPI_Send"),
            ("flat view, flattened to files", "csprof report FILE --view flat --by file"),
            ("one rank or thread", "rank in 0"),
            ("filter execution contexts", "thread = io-*"),
            ("find", "</>"),
            ("thread statistics", "csprof report FILE --view threads"),
            (
                "plot of a scope's metric over ranks",
                "csprof report FILE --view distribution --path solve",
            ),
            ("scaling loss of two runs", "csprof diff --scaling strong 4.csprof 16.csprof"),
            ("export as CSV", "csprof report FILE --format csv"),
            ("ranks side by side", "split rank"),
        ],
    ),
    (
        "Hatchet",
        &[
            ("[{\"name\": \"solve\"}]", "leaf solve"),
            ("[{\"name\": \"solve\"}, \"*\"]", "through solve"),
            ("[{\"name\": \"solve\"}, \".\"]", "leaf solve or solve > *$"),
            ("[{\"name\": \"solve\"}, \"+\"]", "through solve"),
            ("[{\"name\": \"MPI_.*\"}, \"*\"]", "through /^MPI_/"),
            ("filter(lambda x: x[\"rank\"] == 0)", "rank = 0"),
            ("MATCH (p) WHERE p.\"time (inc)\" > 5", "node[incl(time) > 5s]"),
            ("filter(lambda x: x[\"time\"] > 1)", "node[excl(time) > 1s]"),
            ("filter(lambda x: x[\"name\"] != \"solve\")", "not leaf solve | hide solve"),
            ("gf_b - gf_a", "csprof diff A B"),
            ("groupby_aggregate by module", "by module"),
            ("tree(depth=3)", "csprof report FILE --depth 3"),
            ("hot_path()", "<H>"),
            ("load_imbalance()", "csprof report FILE --view threads"),
        ],
    ),
    (
        "perf report",
        &[
            ("--no-children --sort symbol", "csprof report FILE --view flat"),
            ("--children --sort symbol", "csprof report FILE --view flat --sort time"),
            ("--sort dso", "by module"),
            ("--sort pid,tid", "split process | split thread"),
            ("--hierarchy --sort dso,symbol", "csprof report FILE --view flat --by module"),
            ("--ignore-callees=MPI_Send", "stop at MPI_Send"),
            ("--percentage=relative", "csprof report FILE --percent shown"),
            ("--sort srcline", "by line"),
            ("--parent=MPI --exclude-other", "through /MPI/"),
            ("--symbol-filter=memcpy", "leaf /memcpy/"),
            ("--dsos=libc.so.6", "leaf module:libc.so.6"),
            ("--comms=io-1", "thread = io-1"),
            ("--tid=70", "thread = 70"),
            ("--percent-limit=1", "small incl(time) < 1%"),
            ("--time=50%-100%", "during 50%.."),
            ("--call-graph=caller", "<1>"),
            ("--call-graph=callee", "<2>"),
            ("perf annotate solve", "csprof report FILE --source solve"),
            ("… its instructions", "<7> <a>"),
            ("perf diff", "csprof diff A B"),
            ("perf script | stackcollapse", "csprof export FILE --format folded"),
        ],
    ),
    (
        "gprof",
        &[
            ("flat profile", "csprof report FILE --view flat"),
            (
                "call graph: callers of memcpy",
                "csprof report FILE --view tables --path memcpy --upward",
            ),
            ("call graph: what solve calls", "csprof report FILE --view tables --path solve"),
        ],
    ),
    (
        "KCachegrind",
        &[
            ("flat profile", "csprof report FILE --view flat"),
            ("… grouped by ELF object", "csprof report FILE --view flat --by module"),
            ("… grouped by source file", "csprof report FILE --view flat --by file"),
            ("search in the flat profile", "</>"),
            ("all callers of memcpy", "callers of memcpy"),
            ("all callees, callee map of solve", "root at solve"),
            ("relative cost or not", "<%>"),
            ("source and assembly with costs", "<7> <a>"),
        ],
    ),
];

fn coming_from() -> String {
    let mut table = String::new();
    for (tool, lines) in ELSEWHERE {
        table.push_str(&format!("{tool}\n"));
        for (theirs, ours) in lines {
            table.push_str(&format!("    {theirs:<40} {ours}\n"));
        }
        table.push('\n');
    }
    include_str!("coming-from.txt").replace("@TABLE@\n", &format!("{}\n", table.trim_end()))
}

#[cfg(test)]
mod tests;
