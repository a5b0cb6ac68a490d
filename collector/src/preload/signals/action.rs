//! sigaction and its older relatives.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::interruption::interrupted_mask;
use super::mask::{believed_in, block_interrupted, change_one, forget, opening, settle_all};
use super::others::{
    Handler, SetAction, others, replace, settle_masks, sigaction, tell, tell_masked, told,
};
use super::words::{as_kernel_keeps, first_word, mask_of, mask_of_signal};
use super::{BIT, SIGNAL, kept, trap, way_back};

use crate::preload::real::{functions, no_call, set_errno};
use crate::preload::stub;
use crate::preload::under_way::Waits;
use crate::preload::view::sampled;
use crate::process;
use crate::sampling::entry::{on_handled, on_profile, on_trap};
use crate::sampling::pass_on::{Chosen, handler_of, set_chooser};
use crate::sampling::restart;
use crate::sealed::sealed;
use crate::sources::loan::{self, TRAP};
use crate::sources::may_be_own;
use crate::sys;
use crate::thread;

/// What the program last asked for. The fields are separate atomics: a program whose threads race
/// to set one signal's action cannot tell which came last. Relaxed throughout for that reason.
struct Remembered {
    handler: AtomicUsize,
    flags: AtomicU64,
    mask: AtomicU64,
    restorer: AtomicUsize,
}

static ASKED: Remembered = Remembered {
    handler: AtomicUsize::new(libc::SIG_DFL),
    flags: AtomicU64::new(0),
    mask: AtomicU64::new(0),
    restorer: AtomicUsize::new(0),
};

/// `sigset`'s answer and argument for a blocked signal: `SIG_HOLD` of `<signal.h>`.
const SIG_HOLD: Handler = 2;

/// Remembers what the program was started with, before the collector's own handler is installed.
pub(in crate::preload) fn remember_inherited() {
    ASKED.handler.store(sys::handler_of(SIGNAL), Ordering::Relaxed);
}

/// Whether the program has asked for the profiling signal to be ignored.
pub(super) fn is_ignored() -> bool {
    ASKED.handler.load(Ordering::Relaxed) == libc::SIG_IGN
}

/// Whether the program has a handler of its own for the profiling signal.
pub(super) fn is_handled() -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&ASKED.handler.load(Ordering::Relaxed))
}

/// Whether samples come, or came, by this signal.
fn is_ours(signal: c_int) -> bool {
    signal == SIGNAL || signal == TRAP && loan::was_on_loan()
}

/// Whether it is, and `handler` can be one: the C library refuses `SIG_ERR`.
fn is_taken(signal: c_int, handler: Handler) -> bool {
    is_ours(signal) && handler != libc::SIG_ERR && sampled()
}

/// Swaps the handler, for the functions that take nothing else.
fn ask(signal: c_int, handler: Handler, flags: c_int) -> Handler {
    if signal == TRAP {
        return trap::handler(handler, flags);
    }
    remember(flags, mask_of_signal(signal, flags));
    ASKED.handler.swap(handler, Ordering::Relaxed)
}

/// Remembers flags and mask of the profiling signal.
fn remember(flags: c_int, mask: u64) {
    let (flags, mask) = as_kernel_keeps(flags, mask);
    ASKED.flags.store(flags, Ordering::Relaxed);
    ASKED.mask.store(mask, Ordering::Relaxed);
}

/// From now on the program's handler is called for what is no sample.
pub(in crate::preload) fn pass_on() {
    set_chooser(program_handler);
}

/// To be called when the process has been sealed and the wrappers do nothing more: from here on the
/// kernel does what they and the handlers did by system calls. The profiling signal interrupts
/// calls, and has the mask, as the program asked; handlers of other signals block it, and so does
/// this thread, if they are to. A handler of csprof's stays in front of the program's, or of the
/// default action, for a last sample may be under way.
pub(in crate::preload) fn leave_to_kernel() {
    replace(SIGNAL, |kernels| {
        let mut action = asked();
        // Another thread may have set its own by now.
        let is_own = kernels.sa_sigaction != on_profile as *const () as usize;
        if is_own || action.sa_sigaction == libc::SIG_DFL {
            return kernels;
        }
        if action.sa_sigaction != libc::SIG_IGN {
            action.sa_sigaction = kernels.sa_sigaction;
            action.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
            // What is asked for once is known here.
            action.sa_flags &= !libc::SA_RESETHAND;
        }
        action
    });
    settle_masks();
    way_back::settle();
    settle_all();
}

/// To be called then, if handlers cannot return: a signal of samples for which the program has no
/// handler is ignored, for a last one may be under way.
pub(in crate::preload) fn call_no_handlers() {
    let ignore_unhandled = |signal, own: *const (), asked: Handler| {
        let is_unhandled = [libc::SIG_DFL, libc::SIG_IGN].contains(&asked);
        // The program may have set another action since.
        if is_unhandled && sys::handler_of(signal) == own.addr() {
            let _ = sys::set_disposition(signal, sys::Disposition::Ignore);
        }
    };
    ignore_unhandled(SIGNAL, on_profile as *const (), ASKED.handler.load(Ordering::Relaxed));
    if loan::was_on_loan() {
        ignore_unhandled(TRAP, on_trap as *const (), trap::handler_told());
    }
}

/// The program's handler for a profiling signal that is no sample, if it has one, and the mask that
/// the program asked for. A signal that nobody handles is counted, and ends the program as it would
/// alone, unless it may be an old one of csprof's.
fn program_handler(info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> Option<Chosen> {
    let handler = ASKED.handler.load(Ordering::Relaxed);
    if may_be_own(info) {
        return None;
    }
    let is_blocked = believed_in(context) & BIT != 0;
    let is_default = handler == libc::SIG_DFL && !is_blocked;
    if handler == libc::SIG_IGN || is_blocked && sealed() || is_default {
        if let Some(process) = process::current() {
            process.arena.count_foreign_signal();
        }
        if is_blocked && sealed() {
            block_interrupted(SIGNAL, context);
        }
        // The first process of a namespace is not ended by it (pid_namespaces(7)).
        if is_default && sys::pid() != 1 {
            // It comes again, and ends the process, when this handler returns. Where these calls
            // are deadly, they are so to a process that would be dead.
            let _ = sys::set_disposition(SIGNAL, sys::Disposition::Default);
            sys::send_again(info, info.si_code != libc::SI_TKILL);
        }
        return None;
    }
    if is_blocked {
        // The signal waits.
        block_interrupted(SIGNAL, context);
        let wait = || {
            sys::drop_samples(SIGNAL, may_be_own);
            sys::send_again(info, info.si_code != libc::SI_TKILL);
        };
        // What was sent to the process is not merged with what comes to a thread.
        if info.si_code == libc::SI_TKILL {
            thread::without_timers(wait)
        } else {
            wait()
        }
        return None;
    }
    let flags = ASKED.flags.load(Ordering::Relaxed) as c_int;
    if flags & libc::SA_RESETHAND != 0 {
        ASKED.handler.store(libc::SIG_DFL, Ordering::Relaxed);
    }
    let mask = if sealed() {
        None
    } else {
        if flags & libc::SA_RESTART == 0 {
            restart::fail_interrupted_call(context);
        }
        let itself = if flags & libc::SA_NODEFER != 0 { 0 } else { BIT };
        let asked = ASKED.mask.load(Ordering::Relaxed) & !kept();
        Some(interrupted_mask(context) | asked | itself)
    };
    Waits::take_over_in(context);
    Some(Chosen {
        handler: core::ptr::with_exposed_provenance_mut(handler),
        mask,
        on_alternate_stack: flags & libc::SA_ONSTACK != 0,
    })
}

/// Whether the kernel calls this handler for csprof.
fn is_own_handler(handler: Handler) -> bool {
    [on_profile as *const (), on_trap as *const (), on_handled as *const ()]
        .map(<*const ()>::addr)
        .contains(&handler)
}

/// Sets an action by `set_action`, as far as the kernel is to hear of it.
pub(super) unsafe fn change(
    set_action: SetAction,
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: if not null, the program points to an action.
    if unsafe { new.as_ref() }.is_some_and(|new| is_own_handler(new.sa_sigaction)) {
        // A library has called another name of the function by which csprof has called it.
        // SAFETY: arguments of csprof's, passed on.
        return unsafe { set_action(signal, new, old) };
    }
    if !sampled() && stub::engaged() {
        // The child of a vfork: what is remembered is its parent's.
        // SAFETY: the program's own arguments, passed on; an answer, if there is one.
        return unsafe {
            let result = set_action(signal, new, old);
            let answer = if result == 0 { old } else { core::ptr::null_mut() };
            tell(handler_of(signal), answer);
            tell_masked(signal, answer);
            tell_asked(answer);
            result
        };
    }
    // SAFETY: as the program's caller promised sigaction(2).
    unsafe {
        match signal {
            // Where nothing is sampled any more, the handler stacks stay what the kernel knows.
            _ if !stub::engaged() => {
                let result = others(set_action, signal, new, old);
                tell_asked(if result == 0 { old } else { core::ptr::null_mut() });
                result
            }
            SIGNAL => own(new, old),
            TRAP if loan::was_on_loan() => trap::action(set_action, new, old),
            _ => others(set_action, signal, new, old),
        }
    }
}

/// Sets an action by this function of the C library.
unsafe fn change_by_library(
    set_action: SetAction,
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the program's caller promised sigaction(2).
    let result = unsafe { change(set_action, signal, new, old) };
    if result == 0 {
        if !new.is_null() && signal != SIGNAL {
            way_back::lead_back(signal);
        }
        // SAFETY: the call succeeded, so `old` holds an action, if it is not null.
        unsafe { tell_way_back(old) };
    }
    result
}

/// Puts the way back that the program knows of into an answer of the kernel's.
///
/// # Safety
/// `old` must be null or hold an action.
unsafe fn tell_way_back(old: *mut libc::sigaction) {
    // SAFETY: by contract.
    if let Some(old) = unsafe { old.as_mut() }
        && let Some(kernels) = old.sa_restorer
    {
        let told = way_back::told(kernels as usize);
        // SAFETY: the address of code, which is not called here.
        old.sa_restorer = unsafe { core::mem::transmute::<usize, Option<extern "C" fn()>>(told) };
    }
}

/// What a function that sets a handler answers where there is none.
fn no_handler() -> Handler {
    set_errno(libc::ENOSYS);
    libc::SIG_ERR
}

functions! {
    fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int, else no_call();
    fn signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
    fn bsd_signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
    fn ssignal(signal: c_int, handler: Handler) -> Handler, else no_handler();
    fn sysv_signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
    fn __sysv_signal(signal: c_int, handler: Handler) -> Handler, else no_handler();
    fn sigset(signal: c_int, handler: Handler) -> Handler, else no_handler();
    fn sigignore(signal: c_int) -> c_int, else no_call();
    fn siginterrupt(signal: c_int, flag: c_int) -> c_int, else no_call();
}

/// sigaction(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { change_by_library(sigaction::real, signal, new, old) }
}

/// sigaction(2) under the name that old libraries use.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { change_by_library(__sigaction::real, signal, new, old) }
}

/// The program's view of the profiling signal's action.
unsafe fn own(new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // Read before writing: the program may pass one structure for both.
    // SAFETY: not null, so the program points to an action.
    let wanted = (!new.is_null()).then(|| unsafe { new.read() });
    if !old.is_null() {
        // SAFETY: not null, so the program points to room for an action.
        unsafe { old.write(asked()) };
    }
    if let Some(wanted) = wanted {
        ASKED.handler.store(wanted.sa_sigaction, Ordering::Relaxed);
        // SAFETY: a live local.
        remember(wanted.sa_flags, unsafe { first_word(&raw const wanted.sa_mask) });
        ASKED.restorer.store(wanted.sa_restorer.map_or(0, |r| r as usize), Ordering::Relaxed);
    }
    0
}

/// What the program last asked for.
fn asked() -> libc::sigaction {
    let restorer = ASKED.restorer.load(Ordering::Relaxed);
    libc::sigaction {
        sa_sigaction: ASKED.handler.load(Ordering::Relaxed),
        sa_mask: mask_of(ASKED.mask.load(Ordering::Relaxed)),
        sa_flags: ASKED.flags.load(Ordering::Relaxed) as c_int,
        // SAFETY: stored from this very type in `own`, or 0, which is None.
        sa_restorer: unsafe { core::mem::transmute::<usize, Option<extern "C" fn()>>(restorer) },
    }
}

/// Puts what the program last asked for into an answer of the kernel's, where the kernel has had a
/// handler for samples.
///
/// # Safety
/// `old` must be null or hold an action.
unsafe fn tell_asked(old: *mut libc::sigaction) {
    if old.is_null() {
        return;
    }
    // SAFETY: by contract.
    unsafe {
        let kernels = old.read();
        if kernels.sa_sigaction == on_profile as *const () as usize {
            old.write(asked());
        } else if kernels.sa_sigaction == on_trap as *const () as usize {
            old.write(trap::told(kernels));
        }
    }
}

/// The handler that the program last asked for, where the kernel has had one of csprof's.
fn handler_asked(kernels: Handler, signal: c_int) -> Handler {
    if kernels == on_profile as *const () as usize {
        ASKED.handler.load(Ordering::Relaxed)
    } else if kernels == on_trap as *const () as usize {
        trap::handler_told()
    } else {
        told(kernels, handler_of(signal))
    }
}

/// Sets a handler by `set_handler`, or remembers it with these flags.
unsafe fn handle(
    set_handler: unsafe fn(c_int, Handler) -> Handler,
    signal: c_int,
    handler: Handler,
    flags: c_int,
) -> Handler {
    if is_taken(signal, handler) {
        return ask(signal, handler, flags);
    }
    // SAFETY: the program's own arguments, passed on.
    let before = unsafe { set_handler(signal, handler) };
    if before != libc::SIG_ERR {
        way_back::lead_back(signal);
    }
    handler_asked(before, signal)
}

/// Flags of [`sysv_signal`].
const ONE_SHOT: c_int = libc::SA_RESETHAND | libc::SA_NODEFER;

/// signal(2): BSD semantics, as glibc's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn signal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments.
    unsafe { handle(signal::real, signal, handler, libc::SA_RESTART) }
}

/// signal(2) under its BSD name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn bsd_signal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments.
    unsafe { handle(bsd_signal::real, signal, handler, libc::SA_RESTART) }
}

/// signal(2) under its System V name, which in glibc is the same function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ssignal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments.
    unsafe { handle(ssignal::real, signal, handler, libc::SA_RESTART) }
}

/// signal with System V semantics: one shot, not blocked meanwhile. What `signal` means to
/// programs built with `_XOPEN_SOURCE` alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sysv_signal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments.
    unsafe { handle(sysv_signal::real, signal, handler, ONE_SHOT) }
}

/// `sysv_signal` under the name that the headers give it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __sysv_signal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments.
    unsafe { handle(__sysv_signal::real, signal, handler, ONE_SHOT) }
}

/// sigset(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigset(signal: c_int, handler: Handler) -> Handler {
    if !is_ours(signal) || !sampled() {
        // What it unblocks is delivered before it returns.
        let was_held = handler != SIG_HOLD && is_ours(signal) && forget(signal);
        // SAFETY: the program's own arguments, passed on.
        let before = opening(signal, || unsafe { sigset::real(signal, handler) });
        if before != libc::SIG_ERR {
            way_back::lead_back(signal);
        }
        let before = handler_asked(before, signal);
        let was_held = was_held || handler == SIG_HOLD && is_ours(signal) && forget(signal);
        return if was_held && before != libc::SIG_ERR { SIG_HOLD } else { before };
    }
    let (before, how) = match handler {
        SIG_HOLD if signal == TRAP => (trap::asked(), libc::SIG_BLOCK),
        SIG_HOLD => (ASKED.handler.load(Ordering::Relaxed), libc::SIG_BLOCK),
        _ => (ask(signal, handler, 0), libc::SIG_UNBLOCK),
    };
    if change_one(signal, how) { SIG_HOLD } else { before }
}

/// sigignore(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigignore(signal: c_int) -> c_int {
    if is_ours(signal) && sampled() {
        ask(signal, libc::SIG_IGN, 0);
        return 0;
    }
    // SAFETY: the program's own argument, passed on.
    unsafe { sigignore::real(signal) }
}

/// siginterrupt(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn siginterrupt(signal: c_int, interrupt: c_int) -> c_int {
    if signal != SIGNAL || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        let result = unsafe { siginterrupt::real(signal, interrupt) };
        // It sets the action that there is once more.
        if result == 0 {
            way_back::lead_back(signal);
        }
        return result;
    }
    let restart = libc::SA_RESTART as u64;
    if interrupt == 0 {
        ASKED.flags.fetch_or(restart, Ordering::Relaxed);
    } else {
        ASKED.flags.fetch_and(!restart, Ordering::Relaxed);
    }
    0
}
