//! The process's part in the run: inert, sampling, or on its way into another program.
//!
//! Setup side. One [`Process`] per process of the run; a forked child makes its own. The state is
//! reached through one pointer: null means inert, and every wrapper then does nothing but pass
//! its call on.

#![expect(unsafe_code, reason = "one global pointer to the process's state")]

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use csprof_format::arena::{FLAG_EXECED, LeftOut, LogRecord};
use csprof_format::launch::{MAX_SOURCES, SampleSource, SampleSources, SourceKind};

use crate::arena::{Arena, LogExtent, Room};
use crate::config::Config;
use crate::sampling::{entry, trap};
use crate::setup_lock::{SetupGuard, SetupLock};
use crate::sys::{self, Clock, Disposition, Folder, Handler};
use crate::{modules, report, sampling, thread, trampoline};

/// State of a profiled process.
pub struct Process {
    /// What was asked for.
    pub config: Config,
    /// Where all arenas of the run are.
    pub folder: &'static Folder,
    /// Whose state this is: a vfork child finds its parent's.
    pid: u32,
    /// Where counts go.
    pub arena: &'static Arena,
    /// Whether return addresses are replaced.
    pub trampoline: bool,
    log: SetupLock<Option<LogExtent>>,
    /// The sources in use, by number of their metric: kind plus one in the top byte, period below; 0
    /// where there is none.
    sources: [AtomicU64; MAX_SOURCES],
}

/// What belongs to this very process, in a page of its own that a fork wipes (madvise(2),
/// MADV_WIPEONFORK): the child finds zeros, however it was made, and so is inert. Otherwise one of a
/// fork behind the C library's back would take its parent's timers, events and shared memory for
/// its own, and end them.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct OfThisProcess {
    /// Whether the wrappers have anything to do. First, because the assembly of the stubs reads it
    /// by the static's address.
    pub engaged: AtomicBool,
    process: AtomicPtr<Process>,
    rest: [u8; 4096 - 16],
}

const _: () = assert!(size_of::<OfThisProcess>() == 4096);

/// The page.
pub static OF_THIS_PROCESS: OfThisProcess = OfThisProcess {
    engaged: AtomicBool::new(false),
    process: AtomicPtr::new(core::ptr::null_mut()),
    rest: [0; _],
};

/// The state that this process began with: its own, or in the child of a fork its parent's.
static BEGAN_WITH: AtomicPtr<Process> = AtomicPtr::new(core::ptr::null_mut());

/// The state, if csprof launched this program. Either side.
#[inline]
pub fn current() -> Option<&'static Process> {
    // Acquire: pairs with the release in `enter`. Never freed, so 'static.
    // SAFETY: null or a leaked box.
    unsafe { OF_THIS_PROCESS.process.load(Ordering::Acquire).as_ref() }
}

/// The state, or in the child of a fork by hand, which has none, its parent's. Only its counters may
/// be touched, which are in shared memory, and what never changes.
pub fn nearest() -> Option<&'static Process> {
    // Acquire: as above.
    // SAFETY: null or a leaked box.
    unsafe { BEGAN_WITH.load(Ordering::Acquire).as_ref() }
}

/// Makes the process inert.
fn leave() {
    OF_THIS_PROCESS.process.store(core::ptr::null_mut(), Ordering::Release);
}

/// Whether this very process is profiled: not inert, not sealed, and not a vfork child running on
/// its parent's memory.
#[must_use]
pub fn active() -> bool {
    !sealed() && current().is_some_and(|process| process.pid == sys::pid())
}

static SEALED: AtomicBool = AtomicBool::new(false);

/// Whether the process has given up system calls: see [`seal`].
#[must_use]
pub fn sealed() -> bool {
    // Sequentially consistent, as in `seal`: a handler is counted before it looks, so either it
    // sees this or `seal` waits for it.
    SEALED.load(Ordering::SeqCst)
}

/// To be called before the program forbids itself system calls (seccomp(2)): from here on the
/// collector makes none, for one that the program's filter does not know could end the process.
/// Sampling ends; what was sampled stays.
pub fn seal() {
    if !active() {
        return;
    }
    report::note(
        "the program restricted its system calls (seccomp, or syscall user dispatch): it is not \
         sampled from there on",
    );
    thread::stop_all();
    thread::disarm_here(trampoline::Suspended::No);
    thread::note_end();
    SEALED.store(true, Ordering::SeqCst);
    drop_pending();
    // Handlers in other threads may be about to make a system call.
    modules::outwait_readers();
}

/// The same in the child of a fork by hand, which is not sampled, but looks at what it executes.
pub fn seal_inert() {
    SEALED.store(true, Ordering::SeqCst);
}

/// Starts profiling, if csprof launched this program. Called once, from the constructor.
///
/// `default_trap` answers a SIGTRAP that is no sample, as long as the program has no handler for it.
pub fn start(default_trap: *mut c_void) {
    let Some(config) = Config::from_environment() else { return };
    sys::wipe_on_fork(&OF_THIS_PROCESS);
    let trampoline = config.trampoline && !sys::shadow_stack_active();
    let quiet = config.quiet;
    let asked = config.trampoline;
    let folder = Box::leak(Box::new(Folder::open(config.run_dir.clone())));
    if let Err(errno) = enter(config, folder, trampoline, false) {
        // Where the file is there and no room for it, `record` finds it empty and says so.
        let told = [libc::EFBIG, libc::ENOSPC, libc::EDQUOT, libc::ENOMEM, libc::EAGAIN];
        if !quiet && !told.contains(&errno.0) {
            report::inert(&format!("its arena cannot be made (error {})", errno.0));
        }
        return;
    }
    if asked && !trampoline {
        report::note("a hardware shadow stack is active: no return trampoline, no edge counts");
    }
    log(&LogRecord::Command(command_line()));
    if modules::split_stack::is_loaded() {
        report::note(
            "the program's stacks are split (-fsplit-stack), no handler has room: not sampled",
        );
        leave();
        return;
    }
    trampoline::rules::prepare();
    modules::start();
    if current().is_some_and(|process| process.uses(SourceKind::TaskClock))
        && let Err(why) = trap::borrow(default_trap)
    {
        note_asynchronous(why);
    }
    entry::prepare();
    if take_signals().is_err() {
        report::note("the profiling signal could not be taken: nothing is sampled");
        return;
    }
    thread::started(thread::OwnStack::of_main());
    if let Some(process) = current() {
        process.arena.note_start();
    }
}

/// Says that the samples of `task-clock` come by the profiling signal, and `why`.
pub fn note_asynchronous(why: &str) {
    report::warn_once(
        8,
        &format!(
            "task-clock samples come by SIGPROF, not by SIGTRAP: {why}; they cost half as much \
             again, and some waits two system calls more"
        ),
    );
}

/// The signals of samples, each with its name and its handler.
fn signals() -> impl Iterator<Item = (i32, &'static str, Handler)> {
    let trap = trap::on_loan().then_some((trap::TRAP, "SIGTRAP", entry::on_trap as Handler));
    core::iter::once((sampling::SIGNAL, "SIGPROF", entry::on_profile as Handler)).chain(trap)
}

/// Whether the signals that samples come by still have their handlers; says so if not.
fn check_signals(process: &Process) {
    let by_timer = process.uses(SourceKind::CpuTime) || process.uses(SourceKind::Realtime);
    for (signal, name, handler) in signals() {
        let is_in_use = signal != sampling::SIGNAL || by_timer || !trap::on_loan();
        if !is_in_use || sys::handler_of(signal) == (handler as *const ()).addr() {
            continue;
        }
        report::warn_once(
            6,
            &format!(
                "the program took the profiling signal ({name}) by a system call of its own: \
                 no sample came by it from there on"
            ),
        );
    }
}

/// Makes the handlers what answers the signals of samples.
pub fn take_signals() -> Result<(), sys::Errno> {
    signals().try_for_each(|(signal, _, handler)| {
        sys::set_disposition(signal, Disposition::Handle(handler))
    })
}

/// Ignoring discards what is pending. The handlers are put back, and not the default action, for a
/// last signal of an event may still be under way.
fn drop_pending() {
    for (signal, ..) in signals() {
        let _ = sys::set_disposition(signal, Disposition::Ignore);
    }
    let _ = take_signals();
}

fn enter(
    config: Config,
    folder: &'static Folder,
    trampoline: bool,
    forked: bool,
) -> Result<(), sys::Errno> {
    let Config { sources, memory, leave, .. } = config;
    let create = |folder, leave, is_last| {
        let room = Room { most: memory, leave, is_last };
        Arena::create(folder, sources, trampoline, forked, room)
    };
    let arena = create(folder, leave[0], config.spill_dir.is_none()).or_else(|refused| {
        let spill = config.spill_dir.as_ref().filter(|_| refused.0 == libc::ENOSPC);
        let spill = spill.ok_or(refused)?;
        create(Box::leak(Box::new(Folder::at(spill.clone()))), leave[1], true)
    })?;
    let process = Process {
        folder,
        pid: sys::pid(),
        sources: packed(config.sources),
        config,
        arena: Box::leak(Box::new(arena)),
        trampoline,
        log: SetupLock::new(None),
    };
    // Release: pairs with the acquire in `current`.
    let process = Box::into_raw(Box::new(process));
    BEGAN_WITH.store(process, Ordering::Release);
    OF_THIS_PROCESS.process.store(process, Ordering::Release);
    Ok(())
}

const KIND_SHIFT: u32 = 56;

const fn pack(source: SampleSource) -> u64 {
    (source.kind as u64 + 1) << KIND_SHIFT | source.period_ns
}

fn packed(sources: SampleSources) -> [AtomicU64; MAX_SOURCES] {
    core::array::from_fn(|number| AtomicU64::new(sources.get(number).map_or(0, pack)))
}

impl Process {
    /// The source in use with this number. Either side.
    #[must_use]
    #[inline]
    pub fn source(&self, number: usize) -> Option<SampleSource> {
        let packed = self.sources.get(number)?.load(Ordering::Relaxed);
        let kind = ((packed >> KIND_SHIFT) as u32).checked_sub(1)?;
        let period_ns = packed & ((1 << KIND_SHIFT) - 1);
        Some(SampleSource { kind: SourceKind::from_index(kind)?, period_ns })
    }

    /// Whether one of this kind is in use.
    #[must_use]
    pub fn uses(&self, kind: SourceKind) -> bool {
        self.sources().any(|(_, source)| source.kind == kind)
    }

    /// The sources in use, with their numbers.
    pub fn sources(&self) -> impl Iterator<Item = (usize, SampleSource)> {
        (0..MAX_SOURCES).filter_map(|number| Some((number, self.source(number)?)))
    }

    /// Has a source fall back to one of another kind, for this thread and all later ones; `None`, and it is
    /// dropped, if there is one of that kind anyway.
    pub fn fall_back(&self, number: usize, kind: SourceKind) -> Option<SampleSource> {
        let refused = self.source(number)?;
        if refused.kind == kind {
            // Another thread was first.
            return Some(refused);
        }
        let instead = SampleSource { kind, period_ns: refused.period_ns };
        let instead = (!self.uses(kind)).then_some(instead);
        self.sources[number].store(instead.map_or(0, pack), Ordering::Relaxed);
        self.arena.set_source(number, instead.map(|source| source.kind));
        instead
    }
}

/// Appends a record to the arena's log; without effect when inert.
pub fn log(record: &LogRecord) {
    let Some(process) = current() else { return };
    let mut bytes = Vec::new();
    record.encode(sys::now_ns(Clock::Monotonic), &mut bytes);
    let mut log = process.log.lock();
    if log.as_mut().is_none_or(|extent| !extent.append(&bytes)) {
        *log = LogExtent::create(process.arena, bytes.len()).ok();
        if let Some(extent) = log.as_mut() {
            extent.append(&bytes);
        }
    }
}

fn command_line() -> Vec<Vec<u8>> {
    let bytes = sys::read_file(c"/proc/self/cmdline").unwrap_or_default();
    let text = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    text.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

/// Locks held over a fork, so that the child finds consistent tables.
static FORKING: SetupLock<Option<Held>> = SetupLock::new(None);

/// Given back in this order, the reverse of taking them.
struct Held {
    _threads: SetupGuard<'static, thread::Registry>,
    modules: modules::Held,
}

// SAFETY: made and dropped by the forking thread, or by its copy in the child.
unsafe impl Send for Held {}

/// To be called before a fork, in the forking thread.
pub fn before_fork() {
    if !active() {
        return;
    }
    thread::pause_here();
    let modules = modules::hold();
    let held = Held { _threads: thread::lock_registry(), modules };
    *FORKING.lock() = Some(held);
}

/// To be called after a fork, in the parent.
pub fn after_fork_parent() {
    if !active() {
        return;
    }
    let held = FORKING.lock().take();
    drop(held);
    thread::resume_here();
}

/// To be called after a fork, in the child: it gets an arena, a load map and a tree of its own.
pub fn after_fork_child() {
    let Some(parent) = nearest() else { return };
    // Not asked is whether the process has another id: in another namespace it can be the same.
    if sealed() {
        return;
    }
    // Nothing, if the parent was inert: the child of a fork by hand. Another thread may have had the lock at
    // the time of that fork; nobody frees it here.
    let Some(held) = FORKING.lock_within(0).and_then(|mut held| held.take()) else { return };
    held.modules.in_child();
    drop(held);
    parent.arena.forget_file();
    match enter(parent.config.clone(), parent.folder, parent.trampoline, true) {
        Ok(()) => {
            log(&LogRecord::Command(command_line()));
            modules::start_again();
            thread::restart_after_fork();
            // Nothing here knows the parent's arena any more. Its log may be locked by a thread that is not here.
            if let Some(mut log) = parent.log.lock_within(0) {
                drop(log.take());
            }
            parent.arena.leave();
            if let Some(process) = current() {
                process.arena.note_start();
            }
        }
        Err(_) => {
            // The file is the parent's, the memory is still here: it tells the user.
            parent.arena.count_left_out(LeftOut::Refused, 1);
            thread::drop_after_fork();
            leave();
        }
    }
}

/// To be called before an exec in place: a profiling signal that is pending when the handler is
/// gone would end the process.
pub fn before_exec() {
    let Some(process) = current() else { return };
    check_signals(process);
    thread::note_end();
    thread::stop_all();
    // Exec resets handlers to the default action.
    drop_pending();
    process.arena.set_end(sys::now_ns(Clock::Monotonic), FLAG_EXECED, true);
}

/// To be called when an exec failed: goes on as before.
pub fn exec_failed() {
    let Some(process) = current() else { return };
    process.arena.set_end(0, FLAG_EXECED, false);
    thread::restart_all();
}

/// To be called at an orderly exit. Sampling goes on: destructors are part of the program.
pub fn at_exit() {
    if let (Some(process), true) = (current(), active()) {
        check_signals(process);
        if trampoline::sites::were_full() {
            report::warn_once(
                3,
                "returns to more than 10 000 call sites were sampled: at some of them a return is \
                 counted when the caller returns",
            );
        }
        thread::note_end();
        process.arena.set_end(sys::now_ns(Clock::Monotonic), 0, true);
    }
}
