//! `csprof record -p`: samples processes that run already, by the kernel's events alone.
//!
//! ```text
//! process    what /proc says of a process, and whether it can be sampled
//! events     the events of its threads, and the rings of the processors
//! guards     what keeps the events of a thread its own
//! ring       memory that the kernel writes records into        records    bytes → records
//! session    records → processes, threads, trees, as arenas    tree       paths → nodes
//! mappings   what a process has mapped                         modules    files → tables
//! space      what was where in which epoch
//! walk       registers and a copy of the stack → a path        recipe     tables → one step
//! memory     what may be kept of threads that have ended
//! names      of code that processes generated
//! ```
//!
//! Nothing is loaded into the process, and it is never stopped: in an interrupt the kernel copies
//! its registers and the innermost bytes of its stack, and csprof follows them later by the call
//! frame information of the files that it has mapped. So there are no edge counts, and a stack
//! that is deeper than its copy has a partial path. What is recorded becomes arenas in memory, and
//! from there on is what any run leaves.
//!
//! Invariant: each record that the kernel wrote, or says that it could not write, is a sample in a
//! tree or a loss with a reason; and no thread has two events of one source on one processor.

mod events;
mod guards;
mod mappings;
mod memory;
mod modules;
mod names;
mod process;
mod recipe;
mod records;
mod ring;
mod session;
mod space;
mod tree;
mod walk;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use csprof_format::launch::{Detail, SampleSource, SampleSources, Trigger};
use csprof_format::profile::{FROM_OUTSIDE, Profile};
use nix::libc;

use self::events::{Events, event_of, is_cpu_time};
pub use self::events::{MOST_STACK_BYTES, Unwind};
use self::guards::why_refused;
use self::memory::Memory;
use self::names::ProcessFiles;
use self::process::Process;
use self::records::{Record, Stamped};
use self::session::Session;
use super::count;
use super::gather::{self, Run};
use super::kernel_events::{self, Machine};
use super::machine::monotonic_ns;
use super::spawn::Naming;

/// What is sampled from outside, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// What triggers samples.
    pub sources: SampleSources,
    /// How callers are found.
    pub unwind: Unwind,
    /// Bytes of times of samples, for each process, if they are kept.
    pub times: Option<u64>,
    /// How long to wait first.
    pub delay: Duration,
    /// How long to sample; until the processes have ended without it.
    pub duration: Option<Duration>,
}

/// What was sampled.
#[derive(Debug)]
pub struct Taken {
    /// The profile, without symbols.
    pub profile: Profile,
    /// Files of modules that cannot be reached by their paths, by the names of copies.
    pub copies: HashMap<String, File>,
}

/// Processes that can be sampled from outside.
#[derive(Debug)]
pub struct Found(Vec<Process>);

impl Found {
    /// What the first one runs, as its file is called.
    #[must_use]
    pub fn program(&self) -> OsString {
        let program = self.0.first().map(Process::program).unwrap_or_default();
        let name = program.file_name().unwrap_or("process".as_ref()).to_string_lossy().into_owned();
        name.strip_suffix(" (deleted)").unwrap_or(&name).into()
    }
}

/// Looks whether the processes are there, and can be sampled.
///
/// # Errors
///
/// One sentence that says why one cannot, and what can be done.
pub fn find(processes: &[u32]) -> Result<Found> {
    let mut found: Vec<Process> = Vec::new();
    for &pid in processes {
        // One that is named twice is sampled once.
        if found.iter().all(|known| known.pid != pid) {
            found.push(Process::find(pid)?);
        }
    }
    Ok(Found(found))
}

/// Why a source cannot be sampled from outside; `None` if it can.
#[must_use]
pub fn refused(source: &SampleSource) -> Option<String> {
    let name = match source.detail {
        Detail::Label(label) => format!("{}:{}", source.kind.name(), label.as_str()),
        Detail::None | Detail::Event(_) => source.name().to_owned(),
    };
    let inside = "csprof prepare, then csprof attach, or csprof record PROG";
    match source.kind.properties().trigger {
        _ if event_of(source).is_some() => None,
        Trigger::Call => Some(format!(
            "-e {name}: counts calls in the program, which are seen from inside alone: {inside}"
        )),
        Trigger::Timer | Trigger::Event => Some(format!(
            "-e {name}: counts while threads wait, which is seen from inside alone: {inside}"
        )),
    }
}

/// How often to look at the rings and at the processes.
const LOOK: Duration = Duration::from_millis(100);

/// A record is in its ring by so much later than the time that it carries, at most.
const SLACK_NS: u64 = 2_000_000;

/// Samples the processes until they have ended, for the time that was asked for, or until it is
/// `told_to_end`.
///
/// # Errors
///
/// When the kernel does not permit it.
pub fn record(asked: Asked, found: Found, told_to_end: &AtomicBool) -> Result<Taken> {
    let Found(mut processes) = found;
    let waited = Instant::now();
    while waited.elapsed() < asked.delay
        && !told_to_end.load(Ordering::Relaxed)
        && !processes.iter().all(Process::has_ended)
    {
        thread::sleep(asked.delay.saturating_sub(waited.elapsed()).min(LOOK));
    }
    // The ids of those may be others' by now.
    processes.retain(|process| !process.has_ended());
    let Some(first) = processes.first() else {
        bail!("what was to be sampled has ended before sampling began: a shorter --delay helps")
    };
    let have_ended = || processes.iter().all(Process::has_ended);
    let mut run = Run {
        info: super::run_info(&[]),
        sources: asked.sources,
        start_ns: monotonic_ns(),
        pid: Some(first.pid),
        naming: Naming::default(),
        phases: super::run_phases::RunPhases::default(),
        boot: super::kernel_symbols::boot(),
    };
    run.info.command = process::command(first.pid);
    run.info.directory = first.directory();

    let (mut events, with_kernel) = open_events(&asked, &processes)?;
    let stack_bytes = match asked.unwind {
        Unwind::Tables { stack_bytes } => stack_bytes,
        Unwind::FramePointers => 0,
    };
    let mut session = Session::new(asked.sources, stack_bytes, asked.times);
    let mut pending = Pending::new(asked.unwind);
    let mut told = Vec::new();
    for process in &processes {
        let begun = begin(process, &mut events, &mut pending, &mut told)?;
        session.add(process, &begun.sampled, begun.unsampled, run.start_ns)?;
    }
    let start = Instant::now();
    let is_over = || asked.duration.is_some_and(|duration| start.elapsed() >= duration);
    let mut goes_on = true;
    while goes_on {
        goes_on = !is_over() && !told_to_end.load(Ordering::Relaxed) && !have_ended();
        if goes_on {
            let left = asked.duration.map_or(LOOK, |all| all.saturating_sub(start.elapsed()));
            events.wait(left.min(LOOK));
        } else {
            run.info.duration_ns = monotonic_ns().saturating_sub(run.start_ns);
            events.end();
            session.note_cpu();
        }
        let now = monotonic_ns();
        pending.take(&mut events);
        let until = if goes_on { now - SLACK_NS } else { u64::MAX };
        session.begin_batch();
        pending.hand_out(until, |stamped| {
            session.take(stamped, |id| events.source_of(id));
            events.guards.note(stamped);
        });
        if goes_on {
            events.guards.open_wanted();
        }
    }
    let unguarded = events.guards.warnings();
    // From here on it is told to end something else.
    told_to_end.store(false, Ordering::Relaxed);
    let cpu_time = asked.sources.iter().position(|source| is_cpu_time(&source));
    run.info.cpu_ns = cpu_time.map_or(0, |source| events.counted(source));
    drop(events);

    run.info.warnings.push(format!(
        "{FROM_OUTSIDE}: no edge counts, and paths that are deeper than what is copied of a stack \
         are partial"
    ));
    if !with_kernel && cpu_time.is_some() {
        run.info.warnings.push(
            "CPU time in the kernel is not sampled: kernel.perf_event_paranoid forbids it; 1 permits \
             it, or the capability CAP_PERFMON"
                .to_owned(),
        );
    }
    run.info.warnings.extend(told);
    run.info.warnings.extend(unguarded);
    if session.throttled > 0 {
        run.info.warnings.push(format!(
            "the kernel has held events up {} times, which came faster than \
             kernel.perf_event_max_sample_rate permits: samples are missing; a longer period helps",
            session.throttled
        ));
    }
    let Memory { threads, processes, .. } = session.memory;
    if threads + processes > 0 {
        run.info.warnings.push(format!(
            "{} and {} that ended without a sample are not listed",
            count(threads as usize, "thread", "threads"),
            count(processes as usize, "process", "processes")
        ));
    }
    let mut files = ProcessFiles;
    let (arenas, modules) = session.into_arenas();
    run.info.warnings.extend(modules.unread().map(|unread| format!("not read: {unread}")));
    let profile = gather::gather(&run, arenas, &mut files);
    Ok(Taken { profile, copies: modules.copies })
}

/// The rings, and whether what the kernel does for a thread counts as its CPU time: where that is
/// forbidden, what it does itself may be permitted.
fn open_events(asked: &Asked, processes: &[Process]) -> Result<(Events, bool)> {
    let mut refusal = (None, io::Error::from_raw_os_error(libc::ESRCH));
    let threads = || {
        let of = |process: &Process| (process.pid, process::threads(process.pid));
        let lists = processes.iter().map(of);
        lists.flat_map(|(pid, threads)| threads.into_iter().map(move |thread| (pid, thread)))
    };
    for with_kernel in [true, false] {
        let events = || Events::new(&asked.sources, asked.unwind, with_kernel);
        // With the first thread that has not ended.
        let mut tries = threads()
            .map(|(pid, thread)| (pid, events().and_then(|mut events| events.open(thread))));
        let is_there = |tried: &(u32, io::Result<()>)| match &tried.1 {
            Ok(()) => true,
            Err(error) => error.raw_os_error() != Some(libc::ESRCH),
        };
        match tries.find(is_there) {
            Some((_, Ok(()))) => return Ok((events()?, with_kernel)),
            Some((pid, Err(error))) => refusal = (Some(pid), error),
            None => break,
        }
    }
    let (Some(pid), error) = refusal else { bail!("what was to be sampled has just ended") };
    // What is refused for csprof itself is refused for everybody.
    for source in asked.sources.iter() {
        let Some(mut event) = event_of(&source) else { continue };
        event.kernel &= !is_cpu_time(&source);
        if let Err(why) = kernel_events::check(&Machine::here(), &event, source.period) {
            // From inside, a timer does.
            let inside = match is_cpu_time(&source) {
                true => "; csprof prepare and csprof attach need no such right",
                false => "",
            };
            bail!("-e {}: it cannot be sampled from outside: {why}{inside}", source.name());
        }
    }
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => bail!(
            "process {pid} has more rights than csprof, and may not be sampled: run csprof as root"
        ),
        _ => bail!("process {pid} cannot be sampled: {error}"),
    }
}

/// Threads that were there when sampling began.
struct Begun {
    sampled: Vec<u32>,
    unsampled: u64,
}

/// Opens the events of all threads of a process, also of those that begin meanwhile: a thread whose
/// parent had its events has inherited them, and has said so by a record before it first runs.
fn begin(
    process: &Process,
    events: &mut Events,
    pending: &mut Pending,
    told: &mut Vec<String>,
) -> Result<Begun> {
    /// Looks at threads that begin while one looks, and how long one may take to run first.
    const LOOKS: usize = 5;
    const FIRST_RUN: Duration = Duration::from_millis(10);
    let mut begun = Begun { sampled: Vec::new(), unsampled: 0 };
    let mut seen: HashSet<u32> = HashSet::new();
    let mut refusal = None;
    // Threads of which it is not known whether they are sampled: twice they must not be.
    let mut unknown = 0;
    for look in 0..LOOKS {
        let mut threads = process::threads(process.pid);
        threads.retain(|thread| !seen.contains(thread));
        if threads.is_empty() {
            unknown = 0;
            break;
        }
        if look > 0 {
            let all = threads.len();
            threads.retain(|&thread| process::has_run(process.pid, thread));
            unknown = all - threads.len();
            pending.take(events);
            let Ok(inherited) = pending.begun() else {
                unknown = all;
                break;
            };
            seen.extend(&threads);
            threads.retain(|thread| !inherited.contains(thread));
        } else {
            seen.extend(&threads);
        }
        for thread in threads {
            match events.open(thread) {
                Ok(()) => begun.sampled.push(thread),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => {
                    begun.unsampled += 1;
                    refusal = Some(error);
                }
            }
        }
        if unknown > 0 {
            thread::sleep(FIRST_RUN);
        }
    }
    if unknown > 0 {
        told.push(format!(
            "whether {unknown} threads of process {} are sampled that began with the sampling is \
             not known",
            process.pid
        ));
    }
    if let Some(error) = refusal {
        let mut why = why_refused(&error);
        if error.raw_os_error() == Some(libc::EMFILE) {
            why.push_str(
                ": each thread takes one for each processor and source, one more for each \
                 processor, and one or two more",
            );
        }
        if begun.sampled.is_empty() {
            bail!("no thread of process {} can be sampled: {why}", process.pid);
        }
        told.push(format!(
            "{} of the {} threads of process {} are not sampled: {why}",
            begun.unsampled,
            begun.unsampled + begun.sampled.len() as u64,
            process.pid
        ));
    }
    Ok(begun)
}

/// Records that were taken from the rings and not handed out: those of one ring are in order, of
/// several they are put in order by their times.
struct Pending {
    bytes: Vec<u8>,
    parts: records::Parts,
}

impl Pending {
    fn new(unwind: Unwind) -> Self {
        let parts = match unwind {
            Unwind::Tables { .. } => records::STACK,
            Unwind::FramePointers => records::CHAIN,
        };
        Self { bytes: Vec::new(), parts }
    }

    fn take(&mut self, events: &mut Events) {
        events.take(&mut self.bytes);
    }

    /// All records with their bytes.
    fn records(&self) -> impl Iterator<Item = (Stamped<'_>, &[u8])> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let before = rest;
            let stamped = records::next(&mut rest, self.parts)?;
            Some((stamped, &before[..before.len() - rest.len()]))
        })
    }

    /// The threads that have said that they began; nothing, if some may have found no room to.
    fn begun(&self) -> Result<HashSet<u32>, ()> {
        let mut begun = HashSet::new();
        for (stamped, _) in self.records() {
            match stamped.record {
                Record::Begun { .. } => _ = begun.insert(stamped.thread),
                Record::Lost(_) => return Err(()),
                _ => {}
            }
        }
        Ok(begun)
    }

    /// Hands out the records before this time, in their order.
    fn hand_out(&mut self, until_ns: u64, mut to: impl FnMut(&Stamped<'_>)) {
        let mut due: Vec<_> = self.records().collect();
        due.sort_by_key(|(stamped, _)| stamped.time_ns);
        let end = due.partition_point(|(stamped, _)| stamped.time_ns < until_ns);
        due[..end].iter().for_each(|(stamped, _)| to(stamped));
        let rest = due[end..].iter().flat_map(|(_, bytes)| *bytes).copied().collect();
        self.bytes = rest;
    }
}
