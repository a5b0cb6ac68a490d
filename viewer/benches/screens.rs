//! From a key to the painted screen: what a person waits for.
//!
//! The profile is read from a file: the recorded one that `CSPROF_BENCH_PROFILE` names, or a
//! made-up one of a million nodes, or as many as `CSPROF_BENCH_NODES` says, of as many metrics
//! (three at most) as `CSPROF_BENCH_METRICS` says. A process of its own does so, so that its memory
//! is what the viewer takes. Painting is for a terminal of 80×24 cells with colors; what it would
//! be sent is counted, and the terminal itself is not measured.
//!
//! Times of keys are CPU time of one thread: what they would be if nothing else ran. What the
//! worker does is not waited for by the next key, and stands in a column of its own; keys are
//! measured with the painting of what they changed, and answers of the worker likewise. `whole` is
//! the longest of both together, of keys pressed for the first time, and `bytes` the most for one
//! key, as over ssh. The first screen is made by several threads, so that what counts is time by
//! the clock, which wants a quiet machine; CPU time of all threads stands beside it.
//! `CSPROF_BENCH_ONLY` names a part of the lines wanted.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod made_up;

use std::cell::Cell;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use csprof::profile::Profile;
use csprof::refine::{Refined, Sets};
use csprof::tui::draw::draw;
use csprof::tui::effect::Effect;
use csprof::tui::forest::Forest;
use csprof::tui::key::Key;
use csprof::tui::message::Message;
use csprof::tui::model::Model;
use csprof::tui::stages::Stages;
use csprof::tui::theme::Theme;
use csprof::tui::update::update;
use csprof::tui::wire::Thrifty;
use csprof::tui::worker::{AT_ONCE, perform};
use csprof_format::ids::{EpochId, FrameId, StringId, ThreadId};
use csprof_format::profile as saved;
use nix::time::{ClockId, clock_gettime};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

/// A frame of a screen that shows sixty in a second, in milliseconds: the most that a key may take.
const KEY: f64 = 16.0;

/// Most bytes that a terminal may be sent for one key.
const BYTES: usize = 4096;

/// Most milliseconds of what is made anew, with what the worker does.
const WHOLE: [(&str, f64); 2] = [("the flame view", 100.0), ("the source of a function", 50.0)];

/// Presses of keys of one kind, all in all.
const PRESSES: usize = 200;

/// Keys before, keys that are measured and come back to where they began, and what they do.
const KEYS: [(&str, &str, &str); 45] = [
    ("HeHe", "kj", "up and down among open rows"),
    ("HeHe", "gG", "to the top and to the bottom"),
    ("He", "<pageup><pagedown>", "a screen up and down"),
    ("g", "<space><space>", "the costliest row opened, closed"),
    ("g<space>", "jlhk", "a row inside it opened, closed"),
    ("gj", "eE", "a subtree opened, all closed"),
    ("g", "HE", "the hot path, all closed"),
    ("H", "hu", "a row closed, and that undone"),
    ("g", "jk<pagedown><pageup>Gg", "among all callees of a row"),
    ("g", "ssss<S><S>", "four orders of all callees"),
    ("g<space>", "ssss<S><S>", "four orders, and turned round"),
    ("He", "%%", "percent of all, of what is shown"),
    ("He", "mM", "the next metric, the one before"),
    ("H", "=<esc>", "numbers explained"),
    ("H", "/method<esc>", "a search, letter by letter"),
    ("", "/step_77<enter>nnNN<esc>", "the next found, and the last one"),
    ("", "f<esc>", "the prompt of refinements"),
    ("", "fstep_7<esc>", "a refinement, letter by letter"),
    ("", "fvector > <esc>", "another one"),
    ("H", "tu", "only paths through a row, undone"),
    ("H", "du", "a row hidden, undone"),
    ("H", "Zu", "a row as the root, undone"),
    ("", "21", "the callers view"),
    ("2j", "lh", "callers of a function"),
    ("2", "jk<pagedown><pageup>Gg", "in the callers view"),
    ("2jl", "jk<pagedown><pageup>", "among callers of a function"),
    ("2", "ss<S><S>", "other orders of callers"),
    ("2jl", "mM", "other metrics of callers"),
    ("", "31", "the flat view"),
    ("3", "jk<pagedown><pageup>Gg", "in the flat view"),
    ("3", "ss<S><S>", "other orders of it"),
    ("3", "mM", "other metrics of it"),
    ("5", "liwh", "a path in the tables, its kinds"),
    ("H", "..", "folds shown, folded"),
    ("", ":bymod<esc>", "a command, letter by letter"),
    ("H", "]]]]]]]][[[[[[[[", "long names scrolled"),
    ("", "|jj<space><space><esc>", "a column hidden, shown"),
    ("", "61", "the flame view"),
    ("6", "jjllhhkk", "from box to box"),
    ("6jj", "<enter>u", "a box zoomed, and that undone"),
    ("H", "Bq", "the butterfly of a function"),
    ("", "!q", "what is worth a look"),
    ("H", "71", "the source of a function"),
    ("H7", "jjkk<pagedown><pageup>HnN", "among its lines"),
    ("H7", "Gg", "to its ends"),
];

/// CPU time of this thread in milliseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    time.unwrap_or_default().as_secs_f64() * 1e3
}

/// Time by the clock, and CPU time of all threads, in milliseconds.
fn clocks() -> [f64; 2] {
    [ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_PROCESS_CPUTIME_ID].map(|clock| {
        clock_gettime(clock).map(Duration::from).unwrap_or_default().as_secs_f64() * 1e3
    })
}

/// The value, and how long it took, in milliseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = now();
    let value = work();
    (value, now() - start)
}

fn exceeds(value: f64, most: f64) -> &'static str {
    if value > most { "  EXCEEDED" } else { "" }
}

/// A line of `/proc/self/status`, in MB.
fn megabytes(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    found.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

/// Lines of the source file.
const LINES: u32 = 10_000;

/// A made-up profile of so many metrics in which one function calls all others, and all are in one
/// source file.
fn made_up(nodes: u32, metrics: usize, source: &str) -> saved::Profile {
    let mut profile = made_up::Shape { metrics, ..made_up::MIXED }.profile(nodes);
    let file = Some(StringId(u32::try_from(profile.strings.len()).unwrap_or(0)));
    profile.strings.push(source.into());
    for (number, function) in (0..).zip(&mut profile.functions) {
        (function.file, function.line) = (file, 1 + number % LINES);
    }
    for (of, line) in profile.sites.file.iter_mut().zip(&mut profile.sites.line) {
        (*of, *line) = (file, 1 + *line % LINES);
    }
    profile.run.trampoline = true;
    profile.threads.push(profile.threads[0].clone());
    let first = profile.nodes.push(
        u32::try_from(profile.nodes.len()).unwrap_or(0),
        FrameId(made_up::MIXED.functions),
        0,
        0,
    );
    let caller = profile.nodes.push(first, FrameId(0), 0, 0);
    // Enough for it to be the costliest.
    let samples = u64::from(nodes / made_up::MIXED.functions * 3 + 3);
    for callee in 1..made_up::MIXED.functions {
        profile.nodes.push(caller, FrameId(callee), samples, samples / 2);
    }
    profile.trees.push(saved::Tree {
        thread: ThreadId(u32::try_from(profile.threads.len() - 1).unwrap_or(0)),
        epoch: EpochId(0),
        first_node: first,
        node_count: made_up::MIXED.functions + 1,
    });
    for (thread, tree) in profile.threads.iter_mut().zip(&profile.trees) {
        let nodes = tree.first_node as usize..(tree.first_node + tree.node_count) as usize;
        let samples = profile.nodes.samples[nodes].iter().sum();
        (thread.recorded, thread.delivered) = (samples, samples);
    }
    for further in &mut profile.further {
        let share = |tree: &saved::Tree| {
            let nodes = tree.first_node..tree.first_node + tree.node_count;
            let of_tree = further.samples.iter().filter(|(node, _)| nodes.contains(node));
            let samples = of_tree.map(|(_, samples)| samples).sum();
            saved::ThreadShare { delivered: samples, recorded: samples, ..Default::default() }
        };
        further.threads = profile.trees.iter().map(share).collect();
    }
    profile
}

/// What presses of keys took, in milliseconds.
#[derive(Default)]
struct Taken {
    /// Each key, and each answer, with painting.
    painted: Vec<f64>,
    /// What the worker did.
    worked: Vec<f64>,
    /// Both together, for each key.
    whole: Vec<f64>,
    /// The most bytes for one key.
    sent: usize,
}

/// Counts bytes.
#[derive(Clone, Default)]
struct Wire(Rc<Cell<usize>>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The viewer without its shell.
struct Viewer {
    base: Refined,
    model: Model,
    terminal: Terminal<Thrifty<CrosstermBackend<Wire>>>,
    wire: Wire,
}

impl Viewer {
    fn press(&mut self, keys: &[Key], taken: &mut Taken) {
        for &key in keys {
            let mut messages: Vec<Message> = self.model.message(key).into_iter().collect();
            let mut whole = 0.0;
            self.wire.0.set(0);
            while let Some(message) = messages.pop() {
                let (effects, mut painted) = timed(|| {
                    let effects = update(&mut self.model, message);
                    self.paint();
                    effects
                });
                whole += painted;
                for effect in effects {
                    let Effect::Refine(request) = effect else { continue };
                    let (answer, worked) = timed(|| perform(&self.base, request));
                    whole += worked;
                    // There is no worker for small profiles.
                    if self.base.node_count() < AT_ONCE {
                        painted += worked;
                    }
                    taken.worked.push(worked);
                    messages.push(answer);
                }
                taken.painted.push(painted);
            }
            taken.whole.push(whole);
            taken.sent = taken.sent.max(self.wire.0.get());
        }
    }

    fn paint(&mut self) {
        let drawn = self.terminal.draw(|frame| draw(&self.model, frame));
        drawn.expect("a counter takes everything");
    }
}

fn keys(text: &str) -> Vec<Key> {
    Key::parse_all(&text.replace("<S>", "S")).expect("keys")
}

/// So much of the sorted times, from 0 to 1.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn measure(file: &Path, presses: usize) {
    let before = clocks();
    let mut parts = vec![("reading", before)];
    let saved = csprof_format::read::open(file).expect("a profile");
    parts.push(("nodes", clocks()));
    let profile = Profile::from_saved(saved);
    parts.push(("sums", clocks()));
    let base = Refined::base(&profile);
    parts.push(("index", clocks()));
    let forest = Forest::made_of(&base, &Stages::default(), &Sets::default()).expect("no stages");
    parts.push(("rows and painting", clocks()));
    let model = Model::new(forest, "large.csprof", Theme::new(true, false), (80, 24));
    // Colors are sent whatever the environment says: that is more.
    crossterm::style::force_color_output(true);
    let wire = Wire::default();
    let backend = Thrifty::new(CrosstermBackend::new(wire.clone()));
    let viewport = Viewport::Fixed(Rect::new(0, 0, 80, 24));
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport });
    let terminal = terminal.expect("a screen of a size that is known");
    let mut viewer = Viewer { base, model, terminal, wire };
    // What the viewer is told before it paints for the first time.
    let effects = update(&mut viewer.model, Message::Resized { width: 80, height: 24 });
    assert!(effects.is_empty(), "nothing is asked of a worker");
    viewer.paint();
    let after = clocks();

    let nodes = profile.nodes.len();
    let functions = profile.functions.len();
    println!("{nodes} nodes, {functions} functions; milliseconds");
    // Targets are those of 100 000, a million and ten million nodes; what is between has the
    // next.
    let [most_first, most_worked] = match nodes {
        ..=120_000 => [50.0, 16.0],
        120_001..=1_200_000 => [150.0, 16.0],
        _ => [1000.0, 150.0],
    };
    let [first, cpu] = [0, 1].map(|clock| after[clock] - before[clock]);
    println!(
        "first screen {first:.1} by the clock, at most {most_first}{}; {cpu:.1} of CPU time",
        exceeds(first, most_first)
    );
    let ends = parts.iter().skip(1).map(|(_, begin)| *begin).chain([after]);
    for ((part, begin), end) in parts.iter().zip(ends) {
        let [clock, cpu] = [0, 1].map(|clock| end[clock] - begin[clock]);
        println!("  {part:34}{clock:8.1}{cpu:8.1}");
    }
    let size = std::fs::metadata(file).map_or(0.0, |data| data.len() as f64 / 1e6);
    let memory = megabytes("VmRSS:");
    let most = 400.0 + size;
    println!(
        "{memory:.0} MB resident, {:.0} MB at most; the file has {size:.1} MB, so {most:.0} may be{}",
        megabytes("VmHWM:"),
        exceeds(memory, most)
    );

    let (_, prepared) = timed(|| viewer.base.prepare_names());
    println!("the worker finds out about names in {prepared:.1}");
    println!(
        "{:36}{:>8}{:>8}{:>8}{:>10}{:>8}{:>7}",
        "", "median", "p99", "first", "worker", "whole", "bytes"
    );
    let only = std::env::var("CSPROF_BENCH_ONLY").unwrap_or_default();
    let model = viewer.model.clone();
    for (before, measured, what) in KEYS {
        if !what.contains(&only) {
            continue;
        }
        let measured = keys(measured);
        viewer.model = model.clone();
        viewer.press(&keys(before), &mut Taken::default());
        let mut taken = Taken::default();
        viewer.press(&measured, &mut taken);
        let first = taken.painted.iter().copied().fold(0.0, f64::max);
        let whole = taken.whole.iter().copied().fold(0.0, f64::max);
        while taken.painted.len() < presses {
            viewer.press(&measured, &mut taken);
        }
        taken.painted.sort_by(f64::total_cmp);
        let [median, p99] = [0.5, 0.99].map(|part| quantile(&taken.painted, part));
        let worked = taken.worked.iter().copied().reduce(f64::max);
        let exceeded = exceeds(first.max(p99), KEY);
        let exceeded_by_worker = match worked {
            Some(worked) if worked > most_worked => "  EXCEEDED by the worker",
            _ => "",
        };
        let worked = worked.map_or_else(String::new, |worked| format!("{worked:.1}"));
        let most = WHOLE.iter().find(|(of, _)| *of == what).map_or(f64::MAX, |(_, most)| *most);
        let exceeded_by_whole = if whole > most { "  EXCEEDED as a whole" } else { "" };
        let sent = taken.sent;
        let exceeded_by_bytes = if sent > BYTES { "  EXCEEDED in bytes" } else { "" };
        println!(
            "{what:36}{median:8.2}{p99:8.2}{first:8.2}{worked:>10}{whole:8.1}{sent:7}{exceeded}\
             {exceeded_by_worker}{exceeded_by_whole}{exceeded_by_bytes}"
        );
    }
    println!("{:.0} MB resident", megabytes("VmRSS:"));
}

fn main() {
    // `cargo test` runs benchmarks, too: to see that they work.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    if let Some(file) = std::env::var_os("CSPROF_BENCH_PROFILE") {
        return measure(Path::new(&file), if is_test { 1 } else { PRESSES });
    }
    let nodes = std::env::var("CSPROF_BENCH_NODES").ok().and_then(|text| text.parse().ok());
    let nodes = nodes.unwrap_or(if is_test { 10_000 } else { 1_000_000 });
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let metrics = std::env::var("CSPROF_BENCH_METRICS").ok().and_then(|text| text.parse().ok());
    let source = tempfile::Builder::new().suffix(".c").tempfile().expect("a temporary file");
    let text: String = (1..=LINES).map(|line| format!("    sum += values[{line}];\n")).collect();
    std::fs::write(source.path(), text).expect("room for a source file");
    let profile = made_up(nodes, metrics.unwrap_or(1), &source.path().to_string_lossy());
    csprof_format::write::save(&profile, file.path()).expect("room for a profile");
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args(std::env::args_os().skip(1))
        .env("CSPROF_BENCH_PROFILE", file.path())
        .status();
    assert!(status.expect("this program again").success(), "the viewer failed");
}
