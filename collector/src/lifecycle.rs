//! A profiled process from its start to its end: what the constructor and the wrappers of fork,
//! exec, exit and seccomp ask for.
//!
//! Setup side. The state that this changes is the [`process`]'s.

#![expect(unsafe_code, reason = "locks that change hands in a fork")]

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use csprof_format::arena::{FLAG_EXECED, LeftOut, LogRecord};
use csprof_format::launch::Trigger;

use crate::config::Config;
use crate::control;
use crate::messages::{self, Warning};
use crate::process::{self, Process};
use crate::sampler::blocks;
use crate::sampling::entry;
use crate::sealed::{SAMPLES_OF_CALLS, sealed, set_sealed};
use crate::setup_lock::{SetupGuard, SetupLock};
use crate::sources::{SIGNAL, loan, may_be_own, stops};
use crate::sys::{self, Clock, Disposition, Folder, Handler};
use crate::{arch, generated, modules, phases, thread, trampoline};

/// To be called before the program forbids itself system calls (seccomp(2)): from here on the
/// collector makes none, for one that the program's filter does not know could end the process.
/// Sampling ends; what was sampled stays. Waits for handlers, and for samples of calls, a second
/// each at most.
pub fn seal() {
    if !process::active() {
        return;
    }
    messages::note(
        "the program restricted its system calls (seccomp, or syscall user dispatch): it is not \
         sampled from there on",
    );
    thread::registry::stop_all();
    modules::before_leaving(modules::Leaving::All);
    thread::unarmed::disarm_here(trampoline::Suspended::No);
    thread::note_end();
    set_sealed();
    drop_pending_alone();
    // Handlers and samples of calls in other threads may be about to make a system call.
    modules::outwait_readers();
    SAMPLES_OF_CALLS.outwait();
}

/// The same in the child of a fork by hand, which is not sampled, but looks at what it executes.
pub fn seal_inert() {
    set_sealed();
}

/// Starts profiling, if csprof launched this program. Called once, from the constructor.
///
/// `default_trap` answers a SIGTRAP that is no sample, as long as the program has no handler for
/// it.
pub fn start(default_trap: *mut c_void) {
    let Some(config) = Config::from_environment() else { return };
    sys::wipe_on_fork(&process::OF_THIS_PROCESS);
    let trampoline = config.trampoline && !arch::has_shadow_stack();
    let quiet = config.quiet;
    let asked = config.trampoline;
    let folder = Box::leak(Box::new(Folder::at(config.run_dir.clone())));
    control::begin(folder, &config.control());
    if let Err(errno) = process::enter(config, folder, trampoline, false) {
        // Where the file is there and no room for it, `record` finds it empty and says so.
        let told = [libc::EFBIG, libc::ENOSPC, libc::EDQUOT, libc::ENOMEM, libc::EAGAIN];
        if !quiet && !told.contains(&errno.0) {
            messages::inert(&format!("its arena cannot be made (error {})", errno.0));
        }
        return;
    }
    if asked && !trampoline {
        messages::note("a hardware shadow stack is active: no return trampoline, no edge counts");
    }
    process::log(&LogRecord::Command(command_line()));
    if modules::split_stack::is_loaded() {
        messages::note(
            "the program's stacks are split (-fsplit-stack), no handler has room: not sampled",
        );
        process::leave();
        return;
    }
    generated::at_start();
    phases::functions::begin();
    modules::rules::prepare();
    modules::start();
    if process::current().is_some_and(Process::uses_events)
        && let Err(why) = loan::borrow(default_trap)
    {
        messages::note_asynchronous(why);
    }
    if sys::SignalStatus::read().traced {
        stops::expect();
    }
    arch::prepare_handlers();
    #[cfg(debug_assertions)]
    crate::allocator::abort_where(crate::sampler::is_in_handler);
    if take_signals().is_err() {
        messages::note("the profiling signal could not be taken: nothing is sampled");
        return;
    }
    thread::started(thread::own_stack::OwnStack::of_main(), None);
    if let Some(process) = process::current() {
        process.arena.note_start();
    }
}

/// The signals of samples that are not to be ignored now, each with its name and its handler.
fn signals() -> impl Iterator<Item = (i32, &'static str, Handler)> {
    let trap = loan::on_loan().then_some((loan::TRAP, "SIGTRAP", entry::on_trap as Handler));
    // Relaxed, here and below: changed by who has `ACTIONS`, and read by who has.
    let is_ignored = IGNORING.load(Ordering::Relaxed) > 0;
    let profiling = (!is_ignored).then_some((SIGNAL, "SIGPROF", entry::on_profile as Handler));
    profiling.into_iter().chain(trap)
}

/// Whether the signals that samples come by still have their handlers; says so if not.
fn check_signals(process: &Process) {
    let _held = ACTIONS.lock();
    let by_timer = process.uses(|source| source.trigger == Trigger::Timer);
    let by_sigprof = by_timer || process.uses_events() && !loan::on_loan();
    for (signal, name, handler) in signals() {
        let is_in_use = signal != SIGNAL || by_sigprof;
        if !is_in_use || sys::handler_of(signal) == (handler as *const ()).addr() {
            continue;
        }
        messages::warn_once(
            Warning::SignalTaken,
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

/// Ignoring discards what is pending, in all threads. The handlers are put back, and not the
/// default action, for a last signal of an event may still be under way. What the program has sent,
/// and this thread has blocked, goes on waiting, also through an exec.
fn drop_pending() {
    for (signal, _, handler) in signals() {
        let mask = sys::block(sys::Mask(loan::bit(signal)));
        sys::drop_samples_and(signal, may_be_own, || {
            let _ = sys::set_disposition(signal, Disposition::Ignore);
            let _ = sys::set_disposition(signal, Disposition::Handle(handler));
        });
        sys::set_mask(mask);
    }
}

/// The same, while no other thread changes actions.
fn drop_pending_alone() {
    let _held = ACTIONS.lock();
    drop_pending();
}

/// Whoever changes the actions of the signals of samples has it, so that a program which another
/// thread starts or executes meanwhile finds what it is to find.
static ACTIONS: SetupLock<()> = SetupLock::new(());

/// Calls of [`begin_ignoring`] that no [`end_ignoring`] has followed.
static IGNORING: AtomicU32 = AtomicU32::new(0);

/// To be called before a program is started, or executed, that is to find the profiling signal
/// ignored. No thread is sampled until [`end_ignoring`].
pub fn begin_ignoring() {
    let _held = ACTIONS.lock();
    if IGNORING.fetch_add(1, Ordering::Relaxed) == 0 {
        thread::registry::stop_all();
        let _ = sys::set_disposition(SIGNAL, Disposition::Ignore);
    }
}

/// To be called when it has been started, or could not be executed.
pub fn end_ignoring() {
    let _held = ACTIONS.lock();
    // None in the child of a fork in a handler that has interrupted the call.
    let left = IGNORING.load(Ordering::Relaxed).saturating_sub(1);
    IGNORING.store(left, Ordering::Relaxed);
    if left == 0 && !sealed() {
        let _ = take_signals();
        thread::registry::restart_all();
    }
}

fn command_line() -> Vec<Vec<u8>> {
    let bytes = sys::read_file(c"/proc/self/cmdline").unwrap_or_default();
    let text = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    text.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

/// Locks held over a fork, so that the child finds consistent tables.
static FORKING: SetupLock<Option<HeldLocks>> = SetupLock::new(None);

/// Given back in this order, the reverse of taking them.
struct HeldLocks {
    _phases: phases::HeldPhases,
    _threads: SetupGuard<'static, thread::registry::Registry>,
    _actions: SetupGuard<'static, ()>,
    modules: modules::HeldTables,
}

// SAFETY: made and dropped by the forking thread, or by its copy in the child.
unsafe impl Send for HeldLocks {}

/// To be called before a fork, in the forking thread.
pub fn before_fork() {
    if !process::active() {
        return;
    }
    thread::pause::pause_here();
    let modules = modules::hold();
    generated::before_fork();
    let actions = ACTIONS.lock();
    let threads = thread::registry::lock_registry();
    let held = HeldLocks { _phases: phases::hold(), _threads: threads, _actions: actions, modules };
    *FORKING.lock() = Some(held);
}

/// To be called after a fork, in the parent.
pub fn after_fork_parent() {
    if !process::active() {
        return;
    }
    let held = FORKING.lock().take();
    drop(held);
    thread::pause::resume_here();
}

/// To be called after a fork, in the child: it gets an arena, a load map and a tree of its own.
pub fn after_fork_child() {
    let Some(parent) = process::nearest() else { return };
    // Not asked is whether the process has another id: in another namespace it can be the same.
    if sealed() {
        return;
    }
    // Nothing, if the parent was inert: the child of a fork by hand. Another thread may have had
    // the lock at the time of that fork; nobody frees it here.
    let Some(held) = FORKING.lock_within(0).and_then(|mut held| held.take()) else { return };
    held.modules.in_child();
    // By other threads, which are not here.
    let was_ignoring = IGNORING.swap(0, Ordering::Relaxed) > 0;
    drop(held);
    if was_ignoring {
        let _ = take_signals();
    }
    parent.arena.forget_file();
    blocks::leave_to_parent();
    let enter = || process::enter(parent.config.clone(), parent.folder, parent.trampoline, true);
    match thread::pause::with_room(enter) {
        Ok(()) => {
            process::log(&LogRecord::Command(command_line()));
            SAMPLES_OF_CALLS.forget();
            generated::after_fork();
            modules::start_again();
            phases::start_again();
            thread::pause::restart_after_fork();
            // Nothing here knows the parent's arena any more.
            parent.leave_to_child();
            if let Some(process) = process::current() {
                process.arena.note_start();
            }
        }
        Err(errno) => {
            // In a root that is a process's folder in /proc, there is no such process any more.
            let is_out_of_reach =
                [libc::ENOENT, libc::ENOTDIR, libc::EACCES, libc::ESRCH].contains(&errno.0);
            let reason = if is_out_of_reach { LeftOut::OutOfReach } else { LeftOut::Refused };
            // The file is the parent's, the memory is still here: it tells the user.
            parent.arena.count_left_out(reason, 1);
            thread::pause::drop_after_fork();
            process::leave();
        }
    }
}

/// To be called before the process asks to be traced: it stops at each signal, of which its parent
/// is told. Sampling ends until an exec, or until the request is refused.
pub fn before_trace() {
    thread::registry::stop_all();
    thread::unarmed::disarm_here(trampoline::Suspended::No);
    drop_pending_alone();
}

/// To be called when the process has asked to be traced.
pub fn after_trace(is_granted: bool) {
    if is_granted {
        messages::note(
            "the program asked to be traced (PTRACE_TRACEME): it is not sampled from there on, \
             until it executes another",
        );
    } else {
        thread::registry::restart_all();
    }
}

/// To be called before an exec in place: a profiling signal that is pending when the handler is
/// gone would end the process.
pub fn before_exec() {
    let Some(process) = process::current() else { return };
    check_signals(process);
    thread::note_end();
    thread::registry::stop_all();
    // Exec resets handlers to the default action.
    drop_pending_alone();
    generated::at_end(process, modules::foreign::was_outside_met());
    modules::before_leaving(modules::Leaving::Staying);
    process.arena.set_end(sys::now_ns(Clock::Monotonic), FLAG_EXECED, true);
}

/// To be called when an exec failed: goes on as before.
pub fn exec_failed() {
    let Some(process) = process::current() else { return };
    process.arena.set_end(0, FLAG_EXECED, false);
    thread::registry::restart_all();
}

/// To be called at an orderly exit. Sampling goes on: destructors are part of the program.
pub fn at_exit() {
    if let (Some(process), true) = (process::current(), process::active()) {
        check_signals(process);
        if trampoline::sites::were_full() {
            messages::warn_once(
                Warning::CallSitesFull,
                "returns to more than 10 000 call sites were sampled: at some of them a return is \
                 counted when the caller returns",
            );
        }
        thread::note_end();
        generated::at_end(process, modules::foreign::was_outside_met());
        modules::before_leaving(modules::Leaving::All);
        process.arena.set_end(sys::now_ns(Clock::Monotonic), 0, true);
        if control::is_unasked() {
            process.arena.discard();
        }
    }
}
