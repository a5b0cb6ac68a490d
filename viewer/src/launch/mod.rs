//! `csprof record`: starts a program with the collector preloaded, waits for it, and gathers what
//! its processes sampled into one profile.
//!
//! ```text
//! check        can this program be started, and profiled?
//! inherited    signals as the program would find them without csprof
//! run_dir      a private folder in memory, where processes keep their arenas
//! collector_file   the library to preload, unpacked if need be
//! spawn        the environment contract, the program
//! control      what the run is told while it goes on
//! plan         when it is sampled, as asked before its start   time_slices  phases by time
//! run_phases   phases of all processes, by time or as asked while it goes on
//! received     signals, with who has sent them
//! signals      csprof outlives the program, whatever ends it     children   which child has ended
//! early_save   saves what there is so far when the run is told to terminate, and goes on
//! arena_read   arena → values          load_map   log → what was where, by epoch
//! gather       all arenas → profile    metrics    which samples are of which source
//! generated    names of code that processes generated while they ran
//! running      which runs go on, and what they have sampled so far
//! keeper       saves the profile of a rank where csprof is killed
//! file_name    patterns of its name         ranks    which of a job left nothing
//! process      whether a process is there, and what it is
//! alive        which processes of a run go on
//! foreign_file reads what somebody else may have put into a run folder
//! output       where the profile goes       kernel_events   names of perf events
//! outside      samples processes that run already, by perf_event alone
//! ```
//!
//! Invariants: the program sees its own arguments, signals and standard streams and nothing else
//! of csprof but its environment; what was sampled is gathered however the program ended; if the
//! profile cannot be saved, or not all arenas can be read, the run folder stays, and [`salvage`]
//! can try again.

mod alive;
#[cfg(test)]
mod arena_bytes;
pub mod arena_read;
pub mod check;
mod children;
pub mod collector_file;
pub mod control;
mod early_save;
pub mod file_name;
mod foreign_file;
pub mod gather;
pub mod generated;
pub mod inherited;
pub mod keeper;
pub mod kernel_events;
mod kernel_symbols;
mod leaks;
mod load_map;
mod machine;
mod metrics;
pub mod output;
pub mod outside;
mod own_folders;
mod perf_event;
pub mod plan;
mod process;
mod python;
pub mod ranks;
mod received;
pub mod run_dir;
pub mod run_file;
pub mod run_phases;
pub mod running;
pub mod salvage;
pub mod signals;
pub mod spawn;
#[cfg(test)]
mod tests;
pub mod time_slices;

use std::collections::HashMap;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use csprof_format::arena::ArenaHeader;
use csprof_format::launch::Detail;
use csprof_format::profile::{Exit, Profile, RunInfo};

use self::alive::{Eldest, running_processes};
use self::arena_read::Arena;
use self::control::{Begins, Control};
use self::early_save::EarlySaves;
use self::gather::Run;
use self::generated::copies::Copies;
use self::generated::files::RunFiles;
use self::inherited::Inherited;
use self::keeper::Keeper;
use self::kernel_events::Machine;
use self::plan::{Carried, Plan};
use self::run_dir::{ReadArenas, RunDir};
use self::run_phases::RunPhases;
use self::signals::{SignalGuard, Toggle};
use self::spawn::{Program, Settings};
use self::time_slices::Slicer;
use crate::job_place;
use crate::print;

/// What a run gave.
#[derive(Debug)]
pub struct Recording {
    /// The profile, without symbols.
    pub profile: Profile,
    /// How the program ended.
    pub status: ExitStatus,
    /// The arenas, until the profile is saved.
    pub run_dir: RunDir,
    /// Files of them that could not be read.
    pub unread: usize,
    /// What is known about the run besides its arenas.
    pub run: Run,
    /// Keeps csprof alive until the profile is saved.
    pub signals: SignalGuard,
    /// Copies of modules that processes have left, by their names.
    pub copies: HashMap<String, File>,
    /// Saves the profile if this csprof is killed before it has; where a launcher may do that.
    pub keeper: Option<Keeper>,
}

/// Runs `command` with the collector and gathers its profile. `patience` is how long to wait for
/// processes that outlive the program; without it, only for those that are just ending. A keeper,
/// if one is needed, has the `saving` arguments, of which the last is the file. `outlived` is
/// called with the run folder when the program goes on although csprof was told to terminate.
///
/// # Errors
///
/// When the program cannot be started, or there is no place for its data. Nothing has
/// run then.
pub fn record(
    command: &[OsString],
    settings: Settings,
    patience: Option<Duration>,
    plan: Plan,
    saving: &[OsString],
    outlived: &(dyn Fn(&Path) + Sync),
) -> Result<Recording> {
    let Some(program) = command.first() else { bail!("no program to run") };
    let check::Startable { path, unprofiled, .. } = check::check(program)?;
    check_events(&settings)?;
    let inherited = Inherited::take();
    own_folders::remove_empty_ones();
    let run_dir = RunDir::create()?;
    let collector = collector_file::find(&run_dir)?;
    let control = Control::create(&run_dir, plan.begins())?;

    let mut run = Run {
        info: run_info(command),
        sources: settings.sources,
        start_ns: machine::monotonic_ns(),
        pid: None,
        naming: settings.naming,
        phases: RunPhases::default(),
        boot: kernel_symbols::boot(),
    };
    run_file::write(run_dir.path(), &run)?;
    if let Some(output) = saving.last() {
        run_dir.note_output(Path::new(output));
    }
    plan.tell_functions(&run_dir)?;
    let slicer = plan.slice.map(|length| Slicer::begin(&run_dir, &control, length, run.start_ns));
    let slicer = slicer.transpose()?;
    let toggle = match plan.toggle {
        Some(signal) => {
            let control = Control::open(&run_dir)?;
            Some(Toggle { signal, control, is_quiet: settings.quiet })
        }
        None => None,
    };
    let signals = SignalGuard::new(toggle, Some(&run_dir)).context("cannot watch for signals")?;
    let keeper = Keeper::start(&run_dir, saving);
    let salvage = format!("csprof salvage {} -o FILE", run_dir.path().display());
    let advice = match &keeper {
        Some(_) => {
            format!("another process of csprof saves it without names; if none does, {salvage}")
        }
        None => format!("{salvage} makes the profile later"),
    };
    // A program that becomes csprof by exec(3), as cargo and shells do, leaves it what its children
    // used.
    let cpu_before_ns = machine::children_cpu_ns();
    let preloaded = unprofiled.as_ref().is_none_or(|unprofiled| unprofiled.ignores_preloading);
    let (collector, arenas) = (preloaded.then_some(&*collector), run_dir.arenas());
    let program = Program { path: &path, command, collector, arenas, settings, inherited };
    let mut child =
        program.spawn().with_context(|| format!("{}: cannot be started", path.display()))?;
    run.pid = Some(child.id());
    let mut second_mappings = Copies::default();
    let mut carried = Carried::out(plan, &control, &run_dir, slicer);
    let status = thread::scope(|scope| {
        let (_running, ended) = mpsc::channel::<()>();
        let (run_dir, copies, carried) = (&run_dir, &mut second_mappings, &mut carried);
        let signals = &signals;
        scope.spawn(move || {
            let wait = |most| ended.recv_timeout(most) == Err(RecvTimeoutError::Timeout);
            let mut early = EarlySaves::default();
            while wait(carried.next(ROOM_INTERVAL)) {
                early.begin(signals.outlived(), || scope.spawn(|| outlived(run_dir.path())));
                carried.step();
                run_dir.make_room();
                if settings.naming.node {
                    copies.look(run_dir);
                }
            }
        });
        signals.wait(&mut child, advice)
    });
    let status = status.context("cannot wait for the program")?;

    let (ReadArenas { mut arenas, warnings, unread, foreign }, still_running) =
        settled_arenas(&run_dir, child.id(), &signals, patience, &mut carried);
    run.info.duration_ns = machine::monotonic_ns().saturating_sub(run.start_ns);
    run.info.cpu_ns = machine::children_cpu_ns().saturating_sub(cpu_before_ns);
    run.info.exit = exit(status);
    run.info.warnings = warnings;
    run.info.warnings.extend(control::told(&run_dir, run.start_ns, run.info.duration_ns));
    if !still_running.is_empty() {
        run.info.warnings.push(format!(
            "{} of the run outlived the program; their samples up to here are in the profile (--wait \
             waits for their end)",
            count(still_running.len(), "process", "processes")
        ));
    }
    if let Some(unprofiled) = &unprofiled {
        run.info.warnings.push(unprofiled.to_string());
    } else if arenas.is_empty() && unread + foreign == 0 {
        run.info.warnings.push(
            "no process of the run loaded the collector: the program may have cleared its \
             environment, or have started one that is statically linked, set-user-id or has file \
             capabilities"
                .into(),
        );
    }
    let missing = ranks::missing(&headers_of(&arenas), job_place::has_peers_here());
    run.info.warnings.extend(missing);
    arenas.iter_mut().for_each(|arena| second_mappings.enter(arena));
    run.phases = RunPhases::read(run_dir.path());
    let profile = gather_files(&run, arenas, &run_dir);
    let copies = run_dir.copies(&profile);
    Ok(Recording { profile, status, run_dir, unread, run, signals, copies, keeper })
}

/// Whether the kernel counts the events that are asked for.
fn check_events(settings: &Settings) -> Result<()> {
    for source in settings.sources.iter() {
        let Detail::Event(event) = source.detail else { continue };
        let checked = kernel_events::check(&Machine::here(), &event, source.period);
        if let Err(why) = checked {
            bail!(
                "-e {}: it cannot be sampled: {why}; csprof events lists what can",
                source.name()
            );
        }
    }
    Ok(())
}

/// Becomes `command`, with the collector in it and nothing sampled, until somebody has sampling
/// resumed. No process of csprof stays.
///
/// # Errors
///
/// When the program cannot be started, or there is no place for its data.
pub fn prepare(command: &[OsString], settings: Settings) -> Result<Infallible> {
    let Some(program) = command.first() else { bail!("no program to run") };
    let check::Startable { path, unprofiled, .. } = check::check(program)?;
    if let Some(unprofiled) = unprofiled {
        bail!("{unprofiled}");
    }
    check_events(&settings)?;
    let inherited = Inherited::take();
    let mut run_dir = RunDir::create()?;
    let collector = collector_file::find(&run_dir)?;
    let run = Run {
        info: run_info(command),
        sources: settings.sources,
        start_ns: machine::monotonic_ns(),
        // Which it keeps.
        pid: Some(std::process::id()),
        naming: settings.naming,
        phases: RunPhases::default(),
        boot: kernel_symbols::boot(),
    };
    run_file::write(run_dir.path(), &run)?;
    Control::create(&run_dir, Begins::Prepared)?;
    let (collector, arenas) = (Some(&*collector), run_dir.arenas());
    let program = Program { path: &path, command, collector, arenas, settings, inherited };
    let refused = program.exec();
    run_dir.remove();
    Err(refused).with_context(|| format!("{}: cannot be started", path.display()))
}

impl Recording {
    /// Removes the run folder, of which the profile is saved; or says that it stays, and why.
    pub fn remove_folder(&mut self) {
        if let Some(stays) = self.run_dir.remove_saved(self.unread) {
            let _ = print::message(stays);
        }
    }

    /// Leaves the run folder for [`salvage`], with all that is known about the run.
    ///
    /// # Errors
    ///
    /// When that cannot be written; the arenas are kept nevertheless.
    pub fn keep_for_salvage(&mut self) -> Result<()> {
        self.run_dir.keep();
        // Whoever reads the arenas again finds the same reasons for warnings.
        self.run.info.warnings.clear();
        run_file::write(self.run_dir.path(), &self.run)
    }
}

fn headers_of(arenas: &[Arena]) -> Vec<ArenaHeader> {
    arenas.iter().map(|arena| arena.header).collect()
}

/// Gathers arenas with what their processes wrote of generated code.
fn gather_files(run: &Run, arenas: Vec<Arena>, run_dir: &RunDir) -> Profile {
    let directory = Path::new(OsStr::from_bytes(&run.info.directory)).to_owned();
    gather::gather(run, arenas, &mut RunFiles::new(run_dir, directory))
}

/// How often to look whether arenas must be moved out of memory.
const ROOM_INTERVAL: Duration = Duration::from_millis(100);

/// How long csprof waits for processes that outlive the program: enough for those that are just
/// ending, such as the members of a pipeline; a daemon would be waited for in vain.
const GRACE: Duration = Duration::from_millis(300);

/// Reads the arenas once all processes of the run have ended, or after `patience`, or when the user
/// interrupts. Returns them and who still runs.
fn settled_arenas(
    run_dir: &RunDir,
    program: u32,
    signals: &SignalGuard,
    patience: Option<Duration>,
    carried: &mut Carried<'_>,
) -> (ReadArenas, Vec<u32>) {
    let start = Instant::now();
    let eldest = Eldest::since_own_start(program);
    if patience.is_some() {
        signals.begin_waiting();
    }
    loop {
        carried.step();
        let running = running_processes(run_dir, &eldest);
        let waits = match patience {
            Some(patience) => {
                start.elapsed() < patience && signals.is_waiting() && !signals.must_end()
            }
            None => start.elapsed() < GRACE,
        };
        if running.is_empty() || !waits {
            signals.end_waiting();
            return (run_dir.read_arenas(), running);
        }
        // Often at first, for those that are just ending; then seldom, for daemons.
        thread::sleep(
            start
                .elapsed()
                .div_f64(20.0)
                .clamp(Duration::from_millis(1), Duration::from_millis(250)),
        );
    }
}

fn run_info(command: &[OsString]) -> RunInfo {
    let (host, cpu, kernel) = machine::describe();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunInfo {
        command: command.iter().map(|word| word.as_bytes().to_vec()).collect(),
        directory: std::env::current_dir()
            .map_or_else(|_| Vec::new(), |folder| folder.into_os_string().into_vec()),
        host,
        cpu,
        kernel,
        start_unix_ns: since_1970.as_nanos() as u64,
        csprof_version: env!("CARGO_PKG_VERSION").into(),
        ..RunInfo::default()
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Status(code as u8),
        (None, Some(signal)) => Exit::Signal(signal as u8),
        (None, None) => Exit::Unknown,
    }
}

/// `1 process`, `2 processes`.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
