//! `csprof record`

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use csprof_format::launch::{MAX_SOURCES, Refused, SampleSource, SampleSources};
use csprof_format::profile::GENERATED_CODE;
use csprof_format::write;
use nix::sys::signal::Signal;

use super::amount_of_time::amount_of_time;
use super::closing::{resolve, shown_path, summary, tell, told_of_cache};
use super::event::{self, Asked};
use super::exit_code::{self, WrongUsage};
use super::kept_sources::{KeepSources, LEFT_FOR_LATER, keep_sources, saved_at_least_without};
use super::outside::{Common, Outside};
use super::phase_at::{self, AskedFunction};
use super::size::memory_size;
use crate::job_place;
use crate::launch::output::Output;
use crate::launch::plan::Plan;
use crate::launch::run_dir::kept_text;
use crate::launch::spawn::{Naming, Settings};
use crate::launch::{self, Recording, running};
use crate::print;
use crate::profile::{Function, Profile};
use crate::sources::Sources;
use crate::sources::keep::When;
use crate::symbols::files::DiskFiles;

const EXAMPLES: &str = "\
Examples:
  csprof record xz -9 -T2 -k linux.tar
  csprof record -o slow.csprof -e task-clock@1000 -- python3 slow.py --all
  csprof record --python -- python3.13 slow.py      with Python functions in the call paths
  csprof record -e realtime@100 ./server      where does it wait?
  csprof record -e cputime -e realtime ./server     where does it compute, and where does it wait?
  csprof record -e cputime -e page-faults@100 -e context-switches ./server
  csprof record -e alloc -e leak ./server     who asks for memory, and who never gives it back?
  csprof record --delay 30s --duration 10s ./server     ten seconds of it, without its start
  csprof record --slice 1s ./server           what did it do, second by second?
  csprof record -p 4711 --duration 10s        ten seconds of what runs already, from outside
  mpirun -np 64 csprof record -o prof/ ./solver     a file for each rank; csprof merge makes one

The exit status is that of PROG, 128 + signal if it was killed; 127 if there is no PROG, 126 if it \
cannot be executed, 125 if csprof failed before it began, 1 if PROG succeeded and its profile could \
not be saved. Ctrl-C goes to PROG, and the profile is written when it has ended; with -p it ends \
sampling, and the status is 0. What is different \
in PROG, as far as it can tell, is in docs/what-csprof-changes.md.";

/// Profile a program and all processes it starts, or one that runs already
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Record {
    /// File to save; without it PROG.csprof, or PROG.1.csprof if that exists. In it %r is the rank,
    /// %h the host, %p the process id of csprof, %j the job, %q{VAR} a variable; a folder, such as
    /// prof/, gets HOST.RANK.csprof of each rank
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    sampling: Sampling,
    #[command(flatten)]
    schedule: Schedule,
    /// When to find the names of functions: later is once for all ranks of a job, by `csprof
    /// merge`, or by `csprof symbolize`
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Symbols::Now)]
    symbols: Symbols,
    /// The same as --symbols=later
    #[arg(long, conflicts_with = "symbols")]
    no_symbols: bool,
    /// Wait for processes that outlive the program, such as daemons: until they have ended, for so
    /// many seconds, or until Ctrl-C
    ///
    /// Without this, what they have sampled when the program ends is in the profile.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "4294967295")]
    wait: Option<u32>,
    #[command(flatten)]
    kept: KeepSources,
    #[command(flatten)]
    naming: NamingOptions,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    outside: Outside,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "pids", value_name = "PROG [ARG]")]
    command: Vec<OsString>,
}

/// When names are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Symbols {
    /// Before the profile is saved
    Now,
    /// Not by this csprof: addresses are saved without names
    Later,
}

/// When the run is sampled.
#[derive(Debug, Args)]
struct Schedule {
    /// Begin to sample so long after the program: 10, 10s, 500ms, 2m. Until then it runs with the
    /// collector at rest
    #[arg(long, value_name = "TIME", value_parser = amount_of_time)]
    delay: Option<Duration>,
    /// End sampling so long after it has begun; the program goes on
    #[arg(long, value_name = "TIME", value_parser = amount_of_time, conflicts_with = "paused")]
    duration: Option<Duration>,
    /// Begin to sample when `csprof control RUN resume` says so
    #[arg(long, conflicts_with = "delay")]
    paused: bool,
    /// Have a phase for each TIME of the run, in all its threads and processes: 1s, 500ms, 2m; 10ms
    /// at least. `split phase` lists them, `phase = 3s..4s` selects one, D spreads a row over them
    ///
    /// Each slice has trees of its own, so memory grows with what runs in it, not with samples as
    /// for --times. There are 256 at most: a longer run has slices twice as long, or four times,
    /// and so on, from its beginning. Phases that the program names by csprof.h are not kept.
    #[arg(long, value_name = "TIME", value_parser = slice_length)]
    slice: Option<Duration>,
    /// Begin a phase each time that FUNCTION is entered, in whatever thread; it is called after the
    /// function and the number of the entry: `phase = solve*`. Names and globs as in
    /// refinements, up to four functions
    ///
    /// By breakpoints of the processor, so that the program need not be changed, and is not.
    /// MODULE:FUNCTION names the library, or a file that is loaded later (./plugin.so:step). An
    /// entry costs about 6 us. After 4096 entries in a process none begins a phase, none costs
    /// anything, and what is sampled is in no phase. Phases that the program names by csprof.h are
    /// not kept.
    #[arg(
        long,
        value_name = "[MODULE:]FUNCTION",
        value_parser = phase_at::parse,
        conflicts_with = "slice"
    )]
    phase_at: Vec<AskedFunction>,
    /// Pause and resume by this signal to csprof itself, which is then not passed on to the program
    #[arg(long, value_name = "SIGNAL", value_parser = toggle_signal)]
    control_signal: Option<Signal>,
    /// End sampling when the samples of all processes have taken so much shared memory, for
    /// instance 512M; looked at ten times a second
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    max_size: Option<u64>,
}

/// `1s`, `500ms`, `2m`: what a slice of the run may take.
fn slice_length(text: &str) -> Result<Duration, String> {
    let length = amount_of_time(text)?;
    if !text.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return Err(format!("say the unit of {text}: {text}s or {text}ms, for instance"));
    }
    match length >= Duration::from_millis(10) && length.subsec_nanos().is_multiple_of(1_000_000) {
        true => Ok(length),
        false => Err("a slice takes 10ms or more, in whole milliseconds".to_owned()),
    }
}

/// A signal that programs leave to their users: `USR1` or `USR2`.
fn toggle_signal(text: &str) -> Result<Signal, String> {
    match text.strip_prefix("SIG").unwrap_or(text) {
        "USR1" => Ok(Signal::SIGUSR1),
        "USR2" => Ok(Signal::SIGUSR2),
        _ => Err("the signal is USR1 or USR2".to_owned()),
    }
}

impl From<&Schedule> for Plan {
    fn from(asked: &Schedule) -> Self {
        let &Schedule { delay, duration, paused, slice, control_signal: toggle, max_size, .. } =
            asked;
        let phase_functions = Vec::new();
        Self { delay, duration, paused, toggle, most_bytes: max_size, slice, phase_functions }
    }
}

/// Runtimes that are told to name the code that they generate.
#[derive(Debug, Args)]
struct NamingOptions {
    /// Have CPython (3.12 or later) name Python functions (PYTHONPERFSUPPORT=1)
    ///
    /// Every call of a Python function goes through a stub of its own, so calls cost a little more.
    /// The profile is saved with a stage that hides the interpreter's frames: reports and the
    /// viewer begin with Python functions alone, and the cost of the frames between them is that of
    /// the function they work for. `--no-saved-stages` shows all frames. Earlier versions ignore
    /// the variable, and Python functions have no names; where processes of the run had such a
    /// one for long, the stage is not saved. A file /tmp/perf-PID.map stays.
    #[arg(long)]
    python: bool,
    /// Have Node.js (tried: 20) name JavaScript functions (--perf-basic-prof-only-functions and
    /// --interpreted-frames-native-stack in NODE_OPTIONS)
    ///
    /// The program gets a little slower and larger; what is in NODE_OPTIONS already stays. Where
    /// Node.js does not know an option, or does not allow it in NODE_OPTIONS, it refuses to start.
    /// A file /tmp/perf-PID.map stays.
    #[arg(long)]
    node: bool,
    /// Have OpenJDK (17 or later) name Java methods at its end (DumpPerfMapAtExit and
    /// PreserveFramePointer in JDK_JAVA_OPTIONS)
    ///
    /// The frame pointer costs compiled code a register. `java` prints a line on standard error:
    /// that it has picked up the variable, which it does from 9 on. Before 17 it ignores what it
    /// does not know, and writes no names. Neither does a JVM that is killed. Methods that it
    /// interprets, and code that it has thrown away before its end, have none. A file
    /// /tmp/perf-PID.map stays.
    #[arg(long)]
    java: bool,
    /// Have Erlang/OTP (25 or later) name Erlang functions (`+JPperf true` in ERL_FLAGS)
    ///
    /// What is in ERL_FLAGS already stays; an earlier Erlang refuses to start. Files
    /// /tmp/perf-PID.map and /tmp/jit-PID.dump stay, of some megabytes.
    #[arg(long)]
    erlang: bool,
}

impl From<&NamingOptions> for Naming {
    fn from(options: &NamingOptions) -> Self {
        let &NamingOptions { python, node, java, erlang } = options;
        Self { python, node, java, erlang }
    }
}

/// What is sampled and how; the same for all subcommands that run a program.
#[derive(Debug, Args)]
pub struct Sampling {
    /// What triggers samples, with a rate (per second and thread) or a period: cputime@200,
    /// task-clock@1000, realtime@5ms, alloc@512K, page-faults@100; more than one by several -e
    #[arg(
        short,
        value_name = "SOURCE[@RATE]",
        default_value = "cputime@200",
        long_help = event::help(),
        value_parser = event::parse
    )]
    event: Vec<Asked>,
    /// Do not replace return addresses: no edge counts, and deep stacks cost more
    #[arg(long)]
    no_trampoline: bool,
    /// Show what threads do in parallel regions of OpenMP below the starts of the threads, not
    /// below the code that opened the regions
    #[arg(long)]
    no_regions: bool,
    /// Most shared memory for the samples of each process, for instance 512M; without it, as much
    /// as there is. What finds no room is counted as lost (arena-full)
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    memory: Option<u64>,
    /// Keep when each sample was taken, so that the viewer shows when a cost was paid: D spreads it
    /// over time, and the stage `during` selects of it. At most SIZE for each process, 64M without
    /// it, which is four million samples of few threads (each takes 4 KiB at least); nor more than
    /// half of --memory and a sixteenth of what is free of shared memory
    #[arg(
        long,
        value_name = "SIZE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "64M",
        value_parser = memory_size
    )]
    times: Option<u64>,
    /// Begin an epoch whenever a library is loaded, not only when its addresses were in use before
    #[arg(long)]
    epoch_per_load: bool,
    /// Call paths through code generated at run time, where it says who called it; so do --python,
    /// --node, --java and --erlang. Samples of such code cost more
    #[arg(long)]
    generated: bool,
}

impl Sampling {
    /// Settings for the collector.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if a source was given twice.
    pub(super) fn settings(&self, quiet: bool) -> Result<Settings> {
        let mut sources = self.event.iter().flat_map(|Asked(sources)| sources).copied();
        let first = sources.next().unwrap_or(SampleSource::DEFAULT);
        let sources = SampleSources::one(first).and(sources).map_err(|refused| {
            WrongUsage(match refused {
                Refused::Twice(source) => format!(
                    "-e {} was given twice; each source can be sampled once per run",
                    source.name()
                ),
                Refused::TooMany => format!("a run can have {MAX_SOURCES} sources; leave one out"),
            })
        })?;
        Ok(Settings {
            sources,
            trampoline: !self.no_trampoline,
            regions: !self.no_regions,
            epoch_per_load: self.epoch_per_load,
            generated: self.generated,
            memory: self.memory,
            times: self.times,
            quiet,
            naming: Naming::default(),
        })
    }
}

impl Record {
    /// Whether the options go together.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if they do not.
    pub(super) fn check(&self) -> Result<(), WrongUsage> {
        if !self.finds_names() && self.kept.most().is_some() {
            let given = if self.no_symbols { "--no-symbols" } else { "--symbols=later" };
            return Err(WrongUsage(format!(
                "--sources needs symbols, which tell the files of functions; leave out {given}, or \
                 let csprof symbolize --sources add both"
            )));
        }
        if self.outside.is_asked() {
            if let Some(option) = self.of_started_programs() {
                return Err(WrongUsage(format!(
                    "{option} is for programs that csprof starts, not for -p; leave one of them out"
                )));
            }
            self.outside.check()?;
        }
        Ok(())
    }

    /// An option that was given and means nothing to processes that run already.
    fn of_started_programs(&self) -> Option<&'static str> {
        let Self { sampling, schedule, naming, .. } = self;
        let given = [
            (!self.command.is_empty(), "PROG"),
            (self.wait.is_some(), "--wait"),
            (sampling.memory.is_some(), "--memory"),
            (sampling.epoch_per_load, "--epoch-per-load"),
            (sampling.generated, "--generated"),
            (sampling.no_regions, "--no-regions"),
            (schedule.paused, "--paused"),
            (schedule.slice.is_some(), "--slice"),
            (!schedule.phase_at.is_empty(), "--phase-at"),
            (schedule.control_signal.is_some(), "--control-signal"),
            (schedule.max_size.is_some(), "--max-size"),
            (naming.python, "--python"),
            (naming.node, "--node"),
            (naming.java, "--java"),
            (naming.erlang, "--erlang"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// Whether names are to be found before the profile is saved.
    fn finds_names(&self) -> bool {
        self.symbols == Symbols::Now && !self.no_symbols
    }

    /// Runs the program and saves its profile.
    ///
    /// # Errors
    ///
    /// When the program cannot be profiled, or the profile cannot be saved.
    pub fn run(&self) -> Result<ExitCode> {
        self.check()?;
        let naming = Naming::from(&self.naming);
        let settings = self.sampling.settings(self.quiet)?;
        if self.outside.is_asked() {
            return self.outside.record(&Common {
                output: self.output.as_deref(),
                overwrite: self.force,
                settings,
                delay: self.schedule.delay,
                duration: self.schedule.duration,
                with_symbols: self.finds_names(),
                sources: self.kept.most(),
            });
        }
        // What they name stands in paths that lead on.
        let generated = settings.generated || naming.is_asked();
        let settings = Settings { naming, generated, ..settings };
        let Some(program) = self.command.first() else {
            return Err(WrongUsage("no program to run".into()).into());
        };
        let patience = self.wait.map(|seconds| Duration::from_secs(seconds.into()));
        let output = Output::of_run(self.output.as_deref(), program, self.force)
            .map_err(exit_code::before_program)?;
        running::remove_what_is_left();
        let mut saving = output.arguments();
        if self.kept.most().is_some() {
            saving.insert(0, "--sources".into());
        }
        let phase_functions =
            phase_at::find(&self.schedule.phase_at, program).map_err(exit_code::before_program)?;
        let plan = Plan { phase_functions, ..Plan::from(&self.schedule) };
        let outlived = |folder: &Path| save_early(folder, &output);
        let recording = launch::record(&self.command, settings, patience, plan, &saving, &outlived)
            .map_err(exit_code::before_program)?;
        let status = exit_code::of_program(recording.status);
        let saved = save(recording, &output, self.finds_names(), self.kept.most());
        let (path, profile, kept) = match saved {
            Ok(saved) => saved,
            // The program's own failure tells more than ours; the message tells ours.
            Err(error) if status != 0 => {
                let _ = print::message(format_args!("{error:#}"));
                return Ok(ExitCode::from(status));
            }
            Err(error) => return Err(error),
        };
        if !self.quiet {
            tell(&told_of_naming(naming, &path, &profile));
            tell(&told_of_cache());
            tell(&kept);
            tell(&summary(&path, &profile));
        }
        Ok(ExitCode::from(status))
    }
}

/// Saves what a run has sampled so far, because who told it to terminate may kill all of it next.
/// What is saved when the program has ended takes its place.
fn save_early(folder: &Path, output: &Output) {
    let saved = running::find(folder.to_str()).and_then(|run| {
        let profile = run.read()?.profile;
        // What is no file is written once.
        let is_wanted = output.makes_a_file() && !profile.processes.is_empty();
        Ok(if is_wanted { Some(output.save_whole(&profile)?) } else { None })
    });
    let _ = match saved {
        Ok(None) => Ok(()),
        Ok(Some(path)) => print::message(format_args!(
            "told to terminate, and the program goes on: what it has sampled so far is in {}",
            path.display()
        )),
        Err(error) => print::message(format_args!(
            "told to terminate, and what is sampled so far cannot be saved: {error:#}"
        )),
    };
}

/// Resolves symbols and saves. If that fails, the run folder stays, and the error says so. It also
/// stays if csprof is killed meanwhile, for want of memory for instance. Where a program failed its
/// job may be about to be ended, as by MPI_Abort: then, and when csprof was told to end, the
/// profile is saved without names first, and no folder is left by a csprof that gets no time to
/// find them. So it is before source is read, which may be on a disk that does not answer. Keeps at
/// most so many bytes of source, and returns what is said of that.
pub(super) fn save(
    mut recording: Recording,
    output: &Output,
    with_symbols: bool,
    sources: Option<u64>,
) -> Result<(PathBuf, Profile, Vec<String>)> {
    // Salvaging can do without the facts of the run, should they not find room.
    let _ = recording.keep_for_salvage();
    let mut early = None;
    let mut files = None;
    let mut kept = Vec::new();
    if with_symbols {
        let was_told = recording.signals.must_end();
        let is_short = was_told || !recording.status.success();
        // What is no file is written once.
        if is_short
            && output.makes_a_file()
            && let Ok(path) = output.save_whole(&recording.profile)
        {
            let symbolize = format!("csprof symbolize {} adds the names later", path.display());
            let is_rank = job_place::has_peers_here();
            let advice = match is_rank {
                true => format!("csprof merge does it once for all ranks; {symbolize}"),
                false => symbolize,
            };
            recording.signals.saved_early(&advice);
            recording.remove_folder();
            // The launcher hears of the end when csprof has ended, and the other ranks go on.
            if is_rank && !recording.status.success() {
                let profile = Profile::from_saved(recording.profile);
                let mut told = vec![format!("names are left for later: {advice}")];
                told.extend(sources.map(|_| LEFT_FOR_LATER.to_owned()));
                return Ok((path, profile, told));
            }
            early = Some((path, ("names", "")));
        }
        // What is saved already can wait for its names.
        let stops = || early.is_none() && recording.signals.must_end();
        let copies = std::mem::take(&mut recording.copies);
        let own = files.insert(DiskFiles::from_environment(&[]).and_copies(copies));
        let warnings = resolve(&mut recording.profile, own, &stops);
        recording.profile.run.warnings.extend(warnings);
        if let Some(most) = sources {
            if early.is_none()
                && output.makes_a_file()
                && let Ok(path) = output.save_whole(&recording.profile)
            {
                let path_shown = path.display();
                let advice = format!("csprof symbolize --sources {path_shown} adds source later");
                recording.signals.saved_early(&advice);
                recording.remove_folder();
                early = Some((path, ("source files", "--sources ")));
            }
            // Who told it to end before it began to save waits for names, and for this.
            let stops = || !was_told && recording.signals.must_end();
            let places = (&Sources::default(), When::OfRun);
            kept = keep_sources(&mut recording.profile, places, most, own, &stops);
        }
    }
    let profile = &mut recording.profile;
    if let Some((path, (lacks, option))) = early {
        match saved_at_least_without(profile, |profile| write::save(profile, &path)) {
            Ok(((), is_kept)) => {
                files.iter().for_each(DiskFiles::remember);
                kept.retain(|_| is_kept);
            }
            Err(error) => {
                let _ = print::message(format_args!(
                    "saved without {lacks} ({error}); csprof symbolize {option}{} adds them",
                    path.display()
                ));
                kept.clear();
            }
        }
        return Ok((path, Profile::from_saved(recording.profile), kept));
    }
    match saved_at_least_without(profile, |profile| output.save_whole(profile)) {
        Ok((path, is_kept)) => {
            recording.remove_folder();
            files.iter().for_each(DiskFiles::remember);
            kept.retain(|_| is_kept);
            Ok((path, Profile::from_saved(recording.profile), kept))
        }
        Err(error) => Err(anyhow!("{error}; {}", kept_text(recording.run_dir.path()))),
    }
}

/// What there is to say where a runtime was told to name its code: that it has not, or what to do
/// with the names.
fn told_of_naming(naming: Naming, path: &Path, profile: &Profile) -> Vec<String> {
    // What runtimes write is told apart by what it says of places: CPython names files, V8
    // files and lines, OpenJDK neither, and parameters.
    let is_met = |is_of: &dyn Fn(&Function) -> bool| {
        let mut functions = profile.functions.iter();
        functions.any(|function| {
            let module = function.module.map(|module| profile.module_path(module));
            module == Some(GENERATED_CODE) && !function.name.contains(" or ") && is_of(function)
        })
    };
    let by_python = is_met(&|function| function.file.is_some() && function.line == 0);
    let by_node = is_met(&|function| function.file.is_some() && function.line > 0);
    let by_java = is_met(&|function| function.file.is_none() && function.name.ends_with(')'));
    // Erlang names functions as `module:name/1`.
    let by_erlang = is_met(&|function| {
        let arity = function.name.rsplit_once('/').map(|(_, arity)| arity);
        function.name.contains(':')
            && arity.is_some_and(|arity| arity.starts_with(|first: char| first.is_ascii_digit()))
    });
    let asked = [
        (naming.python && !by_python, "--python", "CPython writes names from 3.12 on"),
        (
            naming.node && !by_node,
            "--node",
            "Node.js writes names if it knows the options (20 does)",
        ),
        (naming.java && !by_java, "--java", "OpenJDK writes names from 17 on, when it exits"),
        (naming.erlang && !by_erlang, "--erlang", "Erlang/OTP writes names from 25 on"),
    ];
    let asked = asked.iter().filter(|(is_missing, ..)| *is_missing && profile.total() > 0);
    let mut lines: Vec<String> = asked
        .map(|(_, option, who)| format!("{option}: nothing sampled has a name by it; {who}"))
        .collect();
    if naming.python && !profile.info.stages.is_empty() {
        let file = shown_path(path);
        lines.push(format!(
            "the interpreter's own frames are hidden: csprof view {file} \
             --no-saved-stages shows them"
        ));
    }
    lines
}
