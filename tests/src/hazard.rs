//! A hazard: a small program that does what profilers stumble over, and prints what it saw.
//!
//! A hazard is data: how to build the program, in which variants, how to run it, and what it must
//! print. [`Hazard::check`] builds it and holds each run against that answer:
//!
//! - alone, which says that the answer is right on this machine;
//! - with the collector preloaded but not launched by csprof, when it must be inert;
//! - under `csprof record` at each of [`SOURCES`], with [`CALLS`], and some with [`TWO`] at once.
//!
//! Output, errors and status must be the same every time, to the byte. Every recording obeys the
//! [laws](crate::recording) of all recordings, its stacks are whole, and what is special about the
//! hazard holds ([`Hazard::also`]). A program that hangs fails by its
//! [deadline](crate::deadline).
//!
//! The tables are in [`hazards`](crate::hazards). The gate checks the first variants of each, once;
//! the soak all of them, again and again.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::sync::OnceLock;

use crate::deadline::{self, Outcome};
use crate::installed;
use crate::notes::{note, skip};
use crate::recording::{Allowed, Recording, in_one_of_three};
use crate::workshop::Workshop;

/// What triggers samples: the default, and a rate that few programs will ever be profiled at.
pub const SOURCES: [&str; 2] = ["cputime@200", "task-clock@5000"];

/// Two sources in one run, by two signals.
pub const TWO: &str = "task-clock@5000 realtime@1000";

/// Sources of calls, beside the default: requests for memory, reads, writes and locks, each of
/// which may be sampled.
pub const CALLS: &str =
    "cputime@200 alloc@4K leak@16K io-read@512 io-write@512 io-time@10us io-calls@7 lock@10us";

/// A program with its known answer.
#[derive(Clone, Copy, Debug)]
pub struct Hazard {
    /// Unique among all hazards; a file name.
    pub name: &'static str,
    /// Compile lines as for [`Workshop::compile`]; each variant is applied to all of them.
    pub compile: &'static [&'static str],
    /// What differs between builds: words that are added to the compile lines. The word `clang`
    /// chooses another compiler instead; a word in front, followed by `:`, is a tool that the
    /// variant needs. The empty variant is the compile lines as they are.
    pub variants: &'static [&'static str],
    /// How many of the variants the gate checks.
    pub in_gate: usize,
    /// Program and arguments.
    pub command: &'static [&'static str],
    /// Further options of `csprof record`.
    pub options: &'static [&'static str],
    /// Standard output.
    pub says: &'static str,
    /// Standard error.
    pub complains: &'static str,
    /// How it ends.
    pub ends: Ended,
    /// Whether it is recorded with [`TWO`] sources, too.
    pub by_two: bool,
    /// Samples that may be partial.
    pub cut: &'static [Allowed],
    /// What else is true of each recording.
    pub also: fn(&Trial<'_>),
}

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Status(i32),
    /// Killed by this signal.
    Signal(i32),
}

/// One run under csprof.
#[derive(Debug)]
pub struct Trial<'a> {
    /// The program.
    pub program: &'a Program,
    /// One of [`SOURCES`], [`CALLS`] or [`TWO`].
    pub source: &'a str,
    /// What came of it.
    pub recording: Recording,
}

impl Hazard {
    /// A program that ends with status 0, is built in one way, and says nothing.
    #[must_use]
    pub const fn new(name: &'static str, compile: &'static [&'static str]) -> Self {
        Self {
            name,
            compile,
            variants: &[""],
            in_gate: 1,
            command: &["./program"],
            options: &[],
            says: "",
            complains: "",
            ends: Ended::Status(0),
            by_two: false,
            cut: &[],
            also: |_| {},
        }
    }

    /// With other variants, of which the gate checks the first.
    #[must_use]
    pub const fn variants(mut self, variants: &'static [&'static str]) -> Self {
        self.variants = variants;
        self
    }

    /// With so many variants in the gate.
    #[must_use]
    pub const fn in_gate(mut self, variants: usize) -> Self {
        self.in_gate = variants;
        self
    }

    /// Recorded with these options, too.
    #[must_use]
    pub const fn options(mut self, options: &'static [&'static str]) -> Self {
        self.options = options;
        self
    }

    /// Run by this command, in the folder of the program.
    #[must_use]
    pub const fn command(mut self, words: &'static [&'static str]) -> Self {
        self.command = words;
        self
    }

    /// With this standard output.
    #[must_use]
    pub const fn says(mut self, text: &'static str) -> Self {
        self.says = text;
        self
    }

    /// With this standard error.
    #[must_use]
    pub const fn complains(mut self, text: &'static str) -> Self {
        self.complains = text;
        self
    }

    /// With this end.
    #[must_use]
    pub const fn ends(mut self, end: Ended) -> Self {
        self.ends = end;
        self
    }

    /// With [`TWO`] sources at once, too.
    #[must_use]
    pub const fn by_two(mut self) -> Self {
        self.by_two = true;
        self
    }

    /// With samples that cannot but be partial.
    #[must_use]
    pub const fn cut(mut self, samples: &'static [Allowed]) -> Self {
        self.cut = samples;
        self
    }

    /// With one more law for its recordings.
    #[must_use]
    pub const fn also(mut self, law: fn(&Trial<'_>)) -> Self {
        self.also = law;
        self
    }

    /// What the gate does: the first variants, each run once.
    ///
    /// # Panics
    ///
    /// If something is not as it should be.
    pub fn check(&self) {
        for number in 0..self.in_gate.min(self.variants.len()) {
            if let Some(program) = self.build("hazards", number) {
                program.check();
            }
        }
    }

    /// Builds a variant, by its number, in a folder of its own below `place`. `None`, and a line
    /// that says so, where a tool for it is not installed.
    ///
    /// # Panics
    ///
    /// If it does not compile.
    #[must_use]
    pub fn build(&self, place: &str, number: usize) -> Option<Program> {
        let variant = self.variants[number];
        let (tool, added) = variant.split_once(": ").unwrap_or(("", variant));
        let clang = added.split(' ').any(|word| word == "clang");
        let compilers: Vec<String> =
            self.compile.iter().map(|line| compiler(line, clang)).collect();
        let needed = compilers.iter().map(String::as_str).chain((!tool.is_empty()).then_some(tool));
        if let Some(missing) = needed.into_iter().find(|tool| installed::find(tool).is_none()) {
            skip(&format!("{} {variant}", self.name), &format!("{missing} not installed"));
            return None;
        }
        let workshop = Workshop::new(&format!("{place}/{}/{number}", self.name));
        let added: String = added
            .split(' ')
            .filter(|word| *word != "clang")
            .map(|word| format!(" {word}"))
            .collect();
        for (line, compiler) in self.compile.iter().zip(&compilers) {
            let rest = line.split_once(' ').map_or("", |(_, rest)| rest);
            workshop.compile(&format!("{compiler} {rest}{added}"));
        }
        Some(Program { hazard: *self, variant, workshop })
    }
}

/// The first word of a compile line, or what stands for it where clang was chosen.
fn compiler(line: &str, clang: bool) -> String {
    match line.split(' ').next().unwrap() {
        "cc" if clang => "clang".to_owned(),
        "c++" if clang => "clang++".to_owned(),
        other => other.to_owned(),
    }
}

/// A hazard, built.
#[derive(Debug)]
pub struct Program {
    /// What it is.
    pub hazard: Hazard,
    /// How it was built.
    pub variant: &'static str,
    /// Where it is.
    pub workshop: Workshop,
}

impl Program {
    /// Runs it in every way, once.
    ///
    /// # Panics
    ///
    /// If something is not as it should be.
    pub fn check(&self) {
        self.run_alone();
        self.run_inert();
        let two = self.hazard.by_two.then_some(TWO);
        for source in SOURCES.into_iter().chain([CALLS]).chain(two) {
            self.record(source);
        }
    }

    /// Runs it alone.
    ///
    /// # Panics
    ///
    /// If its answer is not the known one.
    pub fn run_alone(&self) {
        let outcome = self.workshop.run(self.hazard.command);
        self.hold("alone", &outcome, self.hazard.ends);
    }

    /// Runs it with a collector that has nobody to report to.
    ///
    /// # Panics
    ///
    /// If its answer is not the known one.
    pub fn run_inert(&self) {
        let (program, arguments) = self.hazard.command.split_first().unwrap();
        let mut command = self.workshop.command(program);
        command.args(arguments).env("LD_PRELOAD", collector(&self.workshop));
        let outcome = deadline::run(&mut command);
        self.hold("collector preloaded, inert", &outcome, self.hazard.ends);
    }

    /// Runs it under csprof with this source, or with several, separated by spaces.
    ///
    /// # Panics
    ///
    /// If its answer is not the known one, or the recording is not what it should be.
    pub fn record(&self, source: &str) -> Recording {
        let trial = Trial { program: self, source, recording: self.run_under(source) };
        trial.hold_partial();
        (self.hazard.also)(&trial);
        trial.recording
    }

    /// The same, but for its partial samples, and what is special about the hazard.
    fn run_under(&self, source: &str) -> Recording {
        let options = [&quietly(source)[..], self.hazard.options].concat();
        let recording = self.workshop.record_without_names(&options, self.hazard.command);
        // As a shell has it, and csprof after it.
        let (status, signal) = match self.hazard.ends {
            Ended::Status(status) => (status, None),
            Ended::Signal(signal) => (128 + signal, Some(i64::from(signal))),
        };
        self.hold(source, &recording.outcome, Ended::Status(status));
        assert_eq!(recording.info["signal"].as_i64(), signal, "{}", self.named(source));
        recording
    }

    fn hold(&self, how: &str, outcome: &Outcome, end: Ended) {
        let what = format!("{}, {}", self.named(how), outcome.status);
        assert_eq!(outcome.said(), self.hazard.says, "{what}: {}", outcome.complained());
        assert_eq!(outcome.complained(), self.hazard.complains, "{what}");
        let ended = match outcome.status.code() {
            Some(status) => Ended::Status(status),
            None => Ended::Signal(outcome.status.signal().unwrap()),
        };
        assert_eq!(ended, end, "{what}");
    }

    fn named(&self, how: &str) -> String {
        let Self { hazard, variant, .. } = self;
        format!("{}, built {:?} {variant:?}, {how}", hazard.name, hazard.compile)
    }
}

impl Trial<'_> {
    /// At most one sample in a thousand is partial; before there are a thousand, those of one
    /// signal, which may be a late one and bring more than most.
    fn hold_partial(&self) {
        let named = self.program.named(self.source);
        let are_few = |recording: &Recording| {
            let samples = recording.samples();
            if samples.partial > 0 {
                let reasons = recording.partial_reasons();
                note(&format!("{named}: {samples:?}: {}", reasons.trim_end()));
            }
            let limit = (samples.recorded / 1000).max(recording.weight());
            samples.partial <= limit + recording.allowed(self.program.hazard.cut)
        };
        let reasons = || self.recording.partial_reasons();
        assert!(self.in_one_of_three(are_few), "{named}: {}", reasons());
    }

    /// Samples that so many milliseconds of CPU time are worth, by the period of the first source.
    /// Where perf events are forbidden, fewer come, and each counts for more.
    #[must_use]
    pub fn samples_in_ms(&self, milliseconds: u64) -> u64 {
        milliseconds * 1_000_000 / self.recording.profile.metric.period
    }

    /// Asserts that what works for so many milliseconds has [about half](Self::are_half) as many
    /// `samples`, and no more than half as many again.
    pub fn assert_worked(&self, samples: impl Fn(&Recording) -> u64, milliseconds: u64) {
        let expected = self.samples_in_ms(milliseconds);
        let holds = |recording: &Recording| {
            let samples = samples(recording);
            self.are_half(recording, samples, expected) && samples <= expected * 3 / 2
        };
        let (found, missed) = (samples(&self.recording), self.recording.missed());
        assert!(self.in_one_of_three(holds), "{found}, and {missed} missed, not {expected}");
    }

    /// Whether a recording has half of the samples expected, with those that it missed: up to three
    /// quarters of the half, for on a busy machine much of a thread's time lies between ticks, and
    /// what a timer that has died leaves is missed, too. `info` says how much it is.
    #[must_use]
    pub fn are_half(&self, recording: &Recording, samples: u64, expected: u64) -> bool {
        samples + recording.missed().min(expected * 3 / 8) >= expected / 2
    }

    /// Whether it holds of the recording. Where samples come by the kernel's ticks, it is enough
    /// that it holds of one of two more ([`in_one_of_three`]): on a busy machine few ticks meet a
    /// program, perhaps none of them the function in question, and each brings all the time since
    /// the one before.
    #[must_use]
    pub fn in_one_of_three(&self, mut holds: impl FnMut(&Recording) -> bool) -> bool {
        if self.is_fast() {
            return holds(&self.recording);
        }
        let (mut first, mut file) = (Some(&self.recording), None);
        let is_right = in_one_of_three(&self.program.named(self.source), || {
            if let Some(recording) = first.take() {
                return holds(recording);
            }
            // Further ones have the place of the first one's file, of which more may be asked.
            file.get_or_insert_with(|| fs::read(self.recording.path()).unwrap());
            holds(&self.program.run_under(self.source))
        });
        if let Some(file) = file {
            fs::write(self.recording.path(), file).unwrap();
        }
        is_right
    }

    /// See [`Recording::is_fast`].
    #[must_use]
    pub fn is_fast(&self) -> bool {
        self.recording.is_fast()
    }
}

/// Options to record with this source, or with several, separated by spaces.
#[must_use]
pub fn quietly(source: &str) -> Vec<&str> {
    core::iter::once("--quiet").chain(source.split(' ').flat_map(|source| ["-e", source])).collect()
}

/// The path at which csprof preloads its collector.
fn collector(workshop: &Workshop) -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let recording = workshop.record(&["--quiet"], &["printenv", "LD_PRELOAD"]);
        recording.outcome.said().trim_end().to_owned()
    })
}
