//! A program that restricts its own system calls, has them and its signals watched, or makes some
//! behind the C library's back.
//!
//! seccomp(2) ends the process, or fails the call, for whatever the program did not expect itself
//! to do; and the collector does things that no program expects of itself: it reads clocks, deletes
//! timers, maps shared memory. So before the filter comes, sampling ends for good, with a message.
//! Not where the call names no filter (a null pointer): so programs ask what the kernel knows. One
//! that the kernel then refuses ends sampling all the same: it cannot be known before. A program
//! that is executed under a filter of somebody else is sampled: there it is the launcher of the
//! sandbox that decides, and containers of every kind have one.
//!
//! Samples by SIGTRAP may be under way all the same: a thread in a wait sends itself one when it
//! comes back. If the filter does not let handlers return ([`super::filter`]), that would be the
//! end; so there the signals of samples are ignored, unless the program has handlers for them. Also
//! if it is a second filter, behind one that lets it be read. And a thread that is in a call which
//! is held unblocks the signal behind it, if the filter lets it.
//!
//! The same goes for system calls that a handler of the program's gets in place of the kernel
//! (syscall user dispatch). Filters are installed by prctl(2) or, having no wrapper in the C
//! library, by syscall(2). The stubs jump on: their arguments are variadic.
//!
//! A process that asks its parent to trace it (`PTRACE_TRACEME`) stops at each signal, and the
//! parent is told. Debuggers expect that of programs that they start, but not of children by which
//! they try out what the processor does (gdb). So sampling ends there until the next exec, if the
//! kernel grants it.
//!
//! Through syscall(2) a program may also fork behind the C library's back. The child returns on a
//! copy of the stack, in which no return address may be replaced. And by clone(2) it may make
//! threads that the C library does not know. They have the thread-local storage of their creator or
//! one of unknown shape, so there is no place for a thread's state that a handler could find, and
//! nobody tells when they end: they are counted, and not sampled. What it sets there for its
//! signals, and what it executes, goes the way of the C library's functions ([`by_number`]).

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_long, c_void};

use csprof_format::arena::LeftOut;

use super::aliases::is_one;
use super::filter::{Allowed, allowed_by};
use super::fork::{begin_child_beside, begin_vfork};
use super::places;
use super::real::{self, Real};
use super::signals::action::{call_no_handlers, leave_to_kernel};
use super::signals::by_number;
use super::signals::hold::{CALLS, hold_syscall, is_met};
use super::signals::{raise, transfers};
use super::stub::{self, UNBLOCKS, WATCHING, wrappers};
use crate::arch::{self, Call, ENDED_CALLS, FORK_CALLS, Route};
use crate::messages::{self, Warning};
use crate::sealed::sealed;
use crate::trampoline::Suspended;
use crate::{lifecycle, modules, process, sys, thread};

/// Before prctl: what installs a filter comes here, and calls before the constructor.
extern "C" fn before_prctl(call: &mut Call, real: &Real) -> *mut c_void {
    let [option, mode, filter, ..] = call.arguments;
    let option = c_long::from(option as c_int);
    forbid_clock(option, mode);
    if restricts(option, mode, filter) {
        enter(filter_of(option, filter));
    }
    stub::target(real)
}

/// Before prctl(2) makes it a fault to read the processor's clock: csprof asks the kernel then.
fn forbid_clock(option: c_long, mode: usize) {
    if option == c_long::from(libc::PR_SET_TSC) && mode as c_int == libc::PR_TSC_SIGSEGV {
        sys::read_elapsed_by_call();
    }
}

/// Whether prctl(2) with these arguments takes system calls away: by a filter, or by a handler that
/// gets them in place of the kernel.
fn restricts(option: c_long, mode: usize, filter: usize) -> bool {
    match option {
        PR_SET_SECCOMP => mode != libc::SECCOMP_MODE_FILTER as usize || filter != 0,
        PR_SET_SYSCALL_USER_DISPATCH => mode != PR_SYS_DISPATCH_OFF,
        _ => false,
    }
}

/// The filter that prctl(2) with this option installs: the strict mode has none, and lets handlers
/// return; who gets system calls in place of the kernel knows which.
fn filter_of(option: c_long, filter: usize) -> Option<usize> {
    Some(filter).filter(|&filter| option == PR_SET_SECCOMP && filter != 0)
}

const PR_SET_SECCOMP: c_long = libc::PR_SET_SECCOMP as c_long;
/// Linux 5.11 (Documentation/admin-guide/syscall-user-dispatch.rst).
const PR_SET_SYSCALL_USER_DISPATCH: c_long = 59;
const PR_SYS_DISPATCH_OFF: usize = 0;

/// The system calls that are looked at, one bit each.
static WATCHED: [u64; 8] = {
    const fn with(mut bits: [u64; 8], calls: &[c_long]) -> [u64; 8] {
        let mut place = 0;
        while place < calls.len() {
            bits[calls[place] as usize / 64] |= 1 << (calls[place] % 64);
            place += 1;
        }
        bits
    }
    let fixed =
        [libc::SYS_seccomp, libc::SYS_prctl, libc::SYS_ptrace, libc::SYS_clone, libc::SYS_clone3];
    let waits = with(with([0; 8], &CALLS), &ENDED_CALLS);
    let others = with(with(waits, &transfers::CALLS), &raise::CALLS);
    let others = with(others, &places::CALLS);
    with(with(with(others, &fixed), &FORK_CALLS), &by_number::CALLS)
};

/// Before ptrace(2). Its arguments are variadic.
extern "C" fn before_ptrace(call: &mut Call, real: &Real) -> Route {
    // What traces the process already has met its samples, and the request fails.
    let stops = call.arguments[0] as u32 == libc::PTRACE_TRACEME
        && process::active()
        && !sys::SignalStatus::read().traced;
    if stops {
        let errno = real::errno();
        lifecycle::before_trace();
        real::set_errno(errno);
    }
    Route { target: stub::target(real), calls: usize::from(stops) }
}

/// After the request to be traced.
extern "C" fn after_ptrace(call: &mut Call) {
    let errno = real::errno();
    lifecycle::after_trace(call.result as c_long == 0);
    real::set_errno(errno);
}

/// Before a raw system call: those that restrict others, ptrace(2), those that fork, waits, those
/// that have a function of csprof's, those that leave the root or the mounts, and calls before the
/// constructor. A wait is made with the signal held back.
extern "C" fn before_syscall(call: &mut Call, real: &Real) -> Route {
    /// Larger ones are questions.
    const SET_MODE_STRICT: c_long = libc::SECCOMP_SET_MODE_STRICT as c_long;
    const SET_MODE_FILTER: c_long = libc::SECCOMP_SET_MODE_FILTER as c_long;
    let [number, word, second, third, ..] = call.arguments;
    let (number, first) = (number as c_long, word as c_long);
    let forks = |number| {
        number == libc::SYS_clone || number == libc::SYS_clone3 || FORK_CALLS.contains(&number)
    };
    match number {
        libc::SYS_seccomp if first == SET_MODE_STRICT || first == SET_MODE_FILTER && third != 0 => {
            enter(Some(third).filter(|_| first == SET_MODE_FILTER));
        }
        libc::SYS_prctl if restricts(first, second, third) => enter(filter_of(first, third)),
        libc::SYS_prctl => forbid_clock(first, second),
        _ if !stub::engaged() => {}
        libc::SYS_ptrace if first == c_long::from(libc::PTRACE_TRACEME) => {
            call.arguments.rotate_left(1);
            return Route { target: ptrace as *mut c_void, calls: 0 };
        }
        _ if forks(number) => {
            thread::unarmed::disarm_here(Suspended::No);
            // clone3 takes a structure, which begins with the flags.
            let flags = match number {
                libc::SYS_clone => first.cast_unsigned(),
                libc::SYS_clone3 => sys::probe(first.cast_unsigned()).unwrap_or(0),
                _ => 0,
            };
            note_new(flags);
            note_child(flags);
        }
        _ if places::CALLS.contains(&number) => places::before_number(number, word),
        _ if is_met(call) => return hold_syscall(call, real, number),
        _ => {
            if let Some(target) = raise::before_number(call) {
                return Route { target, calls: 0 };
            }
            if let Some(target) = by_number::function(number) {
                call.arguments.rotate_left(1);
                return Route { target, calls: 0 };
            }
        }
    }
    Route { target: stub::target(real), calls: 0 }
}

/// Before clone: what makes something that runs on this memory comes here, and calls before the
/// constructor.
extern "C" fn before_clone(call: &mut Call, real: &Real) -> *mut c_void {
    note_new(u64::from(call.arguments[2] as u32));
    stub::target(real)
}

/// Counts a thread, which cannot be sampled; and leaves a note of a child that will run on this
/// memory: by another name of vfork, or beside its parent. One beside it that shares the actions of
/// signals, too, is taken for its parent.
fn note_new(flags: u64) {
    let has = |flag: c_int| flags & u64::from(flag.cast_unsigned()) != 0;
    let is_thread = has(libc::CLONE_THREAD);
    match (has(libc::CLONE_VM) && !is_thread, has(libc::CLONE_VFORK)) {
        (true, true) => begin_vfork(),
        (true, false) if !has(libc::CLONE_SIGHAND) => begin_child_beside(),
        _ => {}
    }
    if let (true, true, Some(process)) = (is_thread, process::active(), process::current()) {
        process.arena.count_unsampled_thread();
        messages::warn_once(
            Warning::ThreadByClone,
            "a thread is not sampled: made by clone(2), unknown to the C library",
        );
    }
}

/// Counts a process that is not sampled.
fn note_child(flags: u64) {
    let shares_memory = flags & u64::from(libc::CLONE_VM.cast_unsigned()) != 0;
    if let (false, true, Some(process)) = (shares_memory, process::active(), process::current()) {
        process.arena.count_left_out(LeftOut::ByHand, 1);
    }
}

/// After so many nanoseconds handlers have returned that had all but done so.
const RETURNED_NS: u32 = 2_000_000;

/// What is left to a process in the strict mode, which lets handlers return, and to one whose
/// system calls go to a handler: that one knows of the program's only.
const WITHOUT_FILTER: Allowed = Allowed { returns: true, unblocks: false, reads_filters: false };

/// To be called before this filter, or none, comes: the first one, or one behind others that let it
/// be read.
fn enter(filter: Option<usize>) {
    if sealed() && process::current().is_some() {
        settle(filter.map_or(WITHOUT_FILTER, allowed_by));
        return;
    }
    // The first exception may come when the collector must ask the kernel for nothing.
    if !real::of_unwinder().iter().all(|real| real.is_found()) {
        modules::outwait_fork();
        modules::with_loader(real::find_unwinder);
    }
    if process::active() {
        let allowed = filter.map_or(WITHOUT_FILTER, allowed_by);
        lifecycle::seal();
        // First, so that what another thread asks for from here on reaches the kernel.
        stub::disengage();
        leave_to_kernel();
        settle(allowed);
    } else if process::current().is_none() {
        lifecycle::seal_inert();
        stub::stop_watching();
    }
}

/// Leaves nothing to come that would do what is allowed no more.
fn settle(allowed: Allowed) {
    if !allowed.unblocks {
        stub::unblock_nothing();
    }
    if !allowed.returns {
        call_no_handlers();
        // Some may be about to return, in other threads.
        sys::sleep_ns(RETURNED_NS);
    }
    if !allowed.reads_filters {
        stub::stop_watching();
    }
}

extern "C" fn before_second_clone(call: &mut Call, real: &Real) -> *mut c_void {
    if is_one(&clone::REAL, real) { before_clone(call, real) } else { stub::target(real) }
}

wrappers! {
    /// prctl(2); 22 is PR_SET_SECCOMP, 59 PR_SET_SYSCALL_USER_DISPATCH, 26 PR_SET_TSC.
    jump {argument 0 is 22 or 59 or 26} prctl where WATCHING: before_prctl;
    /// clone(2); this bit of its third argument is CLONE_VM.
    jump {argument 2 has any of 0x100} clone where WATCHING: before_clone;
    /// clone(2) under its [second name](super::aliases).
    jump __clone where WATCHING: before_second_clone;
    /// ptrace(2).
    call ptrace: before_ptrace, after_ptrace;
}

arch::stub! {
    /// syscall(2).
    #[unsafe(no_mangle)]
    #[unsafe(link_section = "csprof_waits")]
    {argument 0 in WATCHED}
    hold syscall = raise::syscall::REAL, WATCHING, before_syscall, UNBLOCKS
}

const _: () = assert!(libc::PR_SET_SECCOMP == 22 && libc::PR_SET_TSC == 26);
const _: () = assert!(libc::CLONE_VM == 0x100);
