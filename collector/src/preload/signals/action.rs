//! sigaction and its older relatives.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::mask::{believed, change_one};
use super::{BIT, SIGNAL, kept, trap};
use csprof_format::launch::SourceKind;

use crate::modules;
use crate::preload::real::{self, Handler};
use crate::preload::stub;
use crate::preload::view::sampled;
use crate::process::{self, sealed};
use crate::sampling::entry::{on_handled, on_trap};
use crate::sampling::pass_on::{Chosen, handler_of, set_chooser, set_handler_of};
use crate::sampling::restart;
use crate::sampling::trap::{self as loan, TRAP};
use crate::sources::{SignalInfo, is_by_own_timer};
use crate::sys;
use crate::thread::handler_stack;

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

/// By signal: what its handler was to run with blocked, of the signals that samples come by.
static MASKED_BY: [AtomicU64; 65] = [const { AtomicU64::new(0) }; 65];

/// What the C library adds to the flags of each action that it passes on, and tells of: SA_RESTORER of
/// `<asm/signal.h>`.
pub(super) const SA_RESTORER: c_int = 0x0400_0000;

/// `sigset`'s answer and argument for a blocked signal: `SIG_HOLD` of `<signal.h>`.
const SIG_HOLD: Handler = 2;

/// Remembers what the program was started with, before the collector's own handler is installed.
pub(in crate::preload) fn remember_inherited() {
    ASKED.handler.store(sys::handler_of(SIGNAL), Ordering::Relaxed);
}

/// Whether samples come, or came, by this signal.
fn is_ours(signal: c_int) -> bool {
    signal == SIGNAL || signal == TRAP && loan::was_on_loan()
}

/// Swaps the handler, for the functions that take nothing else.
fn ask(signal: c_int, handler: Handler, flags: c_int) -> Handler {
    if signal == TRAP {
        return trap::handler(handler, flags);
    }
    remember(flags, mask_of_signal(signal, flags));
    ASKED.handler.swap(handler, Ordering::Relaxed)
}

/// The mask that the C library gives with these flags: `signal` masks the signal itself, its relatives nothing.
pub(super) fn mask_of_signal(signal: c_int, flags: c_int) -> u64 {
    if flags == libc::SA_RESTART { loan::bit(signal) } else { 0 }
}

/// Remembers flags and mask of the profiling signal.
fn remember(flags: c_int, mask: u64) {
    let (flags, mask) = as_kernel_keeps(flags, mask);
    ASKED.flags.store(flags, Ordering::Relaxed);
    ASKED.mask.store(mask, Ordering::Relaxed);
}

/// What reads back of an action's flags and mask: flags that the kernel knows (`UAPI_SA_FLAGS`,
/// include/linux/signal_types.h), and no signal that cannot be blocked.
pub(super) fn as_kernel_keeps(flags: c_int, mask: u64) -> (u64, u64) {
    const EXPOSE_TAGBITS: c_int = 0x800;
    let known = libc::SA_NOCLDSTOP
        | libc::SA_NOCLDWAIT
        | libc::SA_SIGINFO
        | EXPOSE_TAGBITS
        | libc::SA_ONSTACK
        | libc::SA_RESTART
        | libc::SA_NODEFER
        | libc::SA_RESETHAND;
    let never_blocked = loan::bit(libc::SIGKILL) | loan::bit(libc::SIGSTOP);
    (u64::from((flags & known | SA_RESTORER).cast_unsigned()), mask & !never_blocked)
}

/// From now on the program's handler is called for what is no sample.
pub(in crate::preload) fn pass_on() {
    set_chooser(program_handler);
}

/// The program's handler for a profiling signal that is no sample, if it has one, and the mask that the
/// program asked for. A signal that nobody handles is counted, and ends the program as it would
/// alone, unless it may be an old one of csprof's.
fn program_handler(info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> Option<Chosen> {
    let handler = ASKED.handler.load(Ordering::Relaxed);
    if may_be_late(info) {
        return None;
    }
    let is_blocked = believed() & BIT != 0;
    if handler == libc::SIG_IGN || sealed() || handler == libc::SIG_DFL && !is_blocked {
        if let Some(process) = process::current() {
            process.arena.count_foreign_signal();
        }
        if handler == libc::SIG_DFL && !sealed() {
            // It comes again, and ends the process, when this handler returns.
            let _ = sys::set_disposition(SIGNAL, sys::Disposition::Default);
            sys::send_again(info, info.si_code != libc::SI_TKILL);
        }
        return None;
    }
    // SAFETY: the mask to return to, of which the kernel has one word.
    let interrupted = unsafe { &mut *(&raw mut context.uc_sigmask).cast::<u64>() };
    if is_blocked {
        // The thread has blocked it, it thinks: from here on it has, and the signal waits.
        *interrupted |= BIT;
        sys::drop_samples(SIGNAL, may_be_late);
        sys::send_again(info, info.si_code != libc::SI_TKILL);
        return None;
    }
    let flags = ASKED.flags.load(Ordering::Relaxed) as c_int;
    if flags & libc::SA_RESETHAND != 0 {
        ASKED.handler.store(libc::SIG_DFL, Ordering::Relaxed);
    }
    if flags & libc::SA_RESTART == 0 {
        restart::fail_interrupted_call(context);
    }
    let itself = if flags & libc::SA_NODEFER != 0 { 0 } else { BIT };
    let asked = ASKED.mask.load(Ordering::Relaxed) & !kept();
    Some(Chosen {
        handler: core::ptr::with_exposed_provenance_mut(handler),
        mask: *interrupted | asked | itself,
        on_alternate_stack: flags & libc::SA_ONSTACK != 0,
    })
}

/// Whether csprof's own sources may have sent a signal that is no sample of theirs (any more). A timer
/// that is deleted may have one under way (before Linux 6.13); so may an event whose thread has
/// ended, which leaves no trace of where it came from if the kernel had no memory for that.
/// Anything else is sent by a process, or by a timer of the program's.
fn may_be_late(info: &libc::siginfo_t) -> bool {
    let uses_events = || process::current().is_some_and(|p| p.uses(SourceKind::TaskClock));
    // SAFETY: what a process sends begins with its id, as the structure of a timer does with another
    // number.
    let sender = unsafe { info.si_pid() };
    match info.si_code {
        libc::SI_TIMER => {
            // SAFETY: siginfo_t is at least as large, and both are plain numbers.
            is_by_own_timer(unsafe { &*core::ptr::from_ref(info).cast::<SignalInfo>() })
        }
        libc::SI_KERNEL => false,
        libc::SI_USER => sender == 0 && uses_events(),
        code => code > 0,
    }
}

/// First word of a mask.
///
/// # Safety
/// `set` points to at least the 8 bytes that the kernel would read.
pub(super) unsafe fn first_word(set: *const libc::sigset_t) -> u64 {
    // SAFETY: the caller vouches for 8 bytes; C gives them the alignment of a long.
    unsafe { set.cast::<u64>().read_unaligned() }
}

/// A mask that holds this word and nothing else.
pub(super) fn mask_of(word: u64) -> libc::sigset_t {
    // SAFETY: all zeros is the empty set.
    let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
    // SAFETY: a set is an array of longs, larger than one.
    unsafe { (&raw mut set).cast::<u64>().write(word) };
    set
}

/// sigaction(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if !sampled() && stub::engaged() {
        // The child of a vfork: what is remembered is its parent's.
        // SAFETY: the program's own arguments, passed on; an answer, if there is one.
        return unsafe {
            let result = real::sigaction(signal, new, old);
            tell(handler_of(signal), if result == 0 { old } else { core::ptr::null_mut() });
            result
        };
    }
    // SAFETY: as the program's caller promised sigaction(2).
    unsafe {
        match signal {
            // Where nothing is sampled any more, the handler stacks stay what the kernel knows.
            _ if !stub::engaged() => others(signal, new, old),
            SIGNAL => own(new, old),
            TRAP if loan::was_on_loan() => trap::action(new, old),
            _ => others(signal, new, old),
        }
    }
}

/// sigaction(2) under the name that old libraries use.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the program's own arguments, passed on.
    unsafe { sigaction(signal, new, old) }
}

/// The program's view of the profiling signal's action.
unsafe fn own(new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // Read before writing: the program may pass one structure for both.
    // SAFETY: not null, so the program points to an action.
    let wanted = (!new.is_null()).then(|| unsafe { new.read() });
    if !old.is_null() {
        let restorer = ASKED.restorer.load(Ordering::Relaxed);
        let answer = libc::sigaction {
            sa_sigaction: ASKED.handler.load(Ordering::Relaxed),
            sa_mask: mask_of(ASKED.mask.load(Ordering::Relaxed)),
            sa_flags: ASKED.flags.load(Ordering::Relaxed) as c_int,
            // SAFETY: stored from this very type below, or 0, which is None.
            sa_restorer: unsafe {
                core::mem::transmute::<usize, Option<extern "C" fn()>>(restorer)
            },
        };
        // SAFETY: not null, so the program points to room for an action.
        unsafe { old.write(answer) };
    }
    if let Some(wanted) = wanted {
        ASKED.handler.store(wanted.sa_sigaction, Ordering::Relaxed);
        // SAFETY: a live local.
        remember(wanted.sa_flags, unsafe { first_word(&raw const wanted.sa_mask) });
        ASKED.restorer.store(wanted.sa_restorer.map_or(0, |r| r as usize), Ordering::Relaxed);
    }
    0
}

/// Another signal's action, without the signals of samples in its mask: programs that switch
/// contexts in a handler would keep them blocked for good.
///
/// A handler on an alternate stack is called by [`on_handled`], for the kernel takes the thread's handler
/// stack for the alternate one.
pub(super) unsafe fn others(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let mut masked = 0;
    let mut wanted = core::mem::MaybeUninit::<libc::sigaction>::uninit();
    let mut passed = new;
    let handler_before = handler_of(signal);
    if !new.is_null() {
        // SAFETY: not null, so the program points to an action.
        let mut action = unsafe { new.read() };
        let moves = moves(&action);
        if moves {
            // First, for a signal may come as soon as the call is made. One that comes before meets this handler,
            // too, if the last one was called in the same way.
            set_handler_of(signal, action.sa_sigaction);
            action.sa_sigaction = on_handled as *const () as usize;
        }
        // SAFETY: a live local.
        let mask = unsafe { first_word(&raw const action.sa_mask) };
        let on_small_stack =
            action.sa_flags & libc::SA_ONSTACK != 0 && modules::asks_kernel_for_stacks();
        masked = if on_small_stack || !stub::engaged() { 0 } else { mask & kept() };
        if moves || masked != 0 {
            action.sa_mask = mask_of(mask & !masked);
            passed = wanted.write(action);
        }
    }
    // SAFETY: `passed` is the program's action or a copy of it, with another handler and a smaller mask.
    let result = unsafe { real::sigaction(signal, passed, old) };
    if result != 0 {
        set_handler_of(signal, handler_before);
        return result;
    }
    // SAFETY: the call succeeded, so `old` holds an action, if it is not null.
    unsafe { tell(handler_before, old) };
    let remembered = usize::try_from(signal).ok().and_then(|number| MASKED_BY.get(number));
    if let Some(remembered) = remembered {
        let before = remembered.load(Ordering::Relaxed);
        if !old.is_null() && before != 0 {
            // SAFETY: as above.
            unsafe {
                let mask = first_word(&raw const (*old).sa_mask);
                (&raw mut (*old).sa_mask).cast::<u64>().write_unaligned(mask | before);
            }
        }
        if !new.is_null() && before != masked {
            remembered.store(masked, Ordering::Relaxed);
        }
    }
    result
}

/// Whether the kernel is to call [`on_handled`] for this action: the handler asks for the alternate stack,
/// and the kernel has another one than the program thinks.
fn moves(action: &libc::sigaction) -> bool {
    let handler = action.sa_sigaction;
    action.sa_flags & libc::SA_ONSTACK != 0
        && ![libc::SIG_DFL, libc::SIG_IGN, on_trap as *const () as usize].contains(&handler)
        && handler_stack::is_known()
        && !modules::asks_kernel_for_stacks()
}

/// Puts the program's handler, which was `handler`, into an answer of the kernel's.
///
/// # Safety
/// `old` must be null or hold an action.
unsafe fn tell(handler: Handler, old: *mut libc::sigaction) {
    if !old.is_null() {
        // SAFETY: by contract.
        unsafe { (*old).sa_sigaction = told((*old).sa_sigaction, handler) };
    }
}

/// The program's handler, which was `handler`, where the kernel says that it is [`on_handled`].
fn told(kernels: Handler, handler: Handler) -> Handler {
    if kernels == on_handled as *const () as usize { handler } else { kernels }
}

/// signal(2): BSD semantics, as glibc's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn signal(signal: c_int, handler: Handler) -> Handler {
    if is_ours(signal) && sampled() {
        return ask(signal, handler, libc::SA_RESTART);
    }
    // SAFETY: the program's own arguments, passed on.
    told(unsafe { real::signal(signal, handler) }, handler_of(signal))
}

/// signal(2) under its BSD name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn bsd_signal(number: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments, passed on.
    unsafe { signal(number, handler) }
}

/// signal(2) under its System V name, which in glibc is the same function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ssignal(number: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments, passed on.
    unsafe { signal(number, handler) }
}

/// signal with System V semantics: one shot, not blocked meanwhile. What `signal` means to
/// programs built with `_XOPEN_SOURCE` alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sysv_signal(signal: c_int, handler: Handler) -> Handler {
    if is_ours(signal) && sampled() {
        return ask(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER);
    }
    // SAFETY: the program's own arguments, passed on.
    told(unsafe { real::sysv_signal(signal, handler) }, handler_of(signal))
}

/// `sysv_signal` under the name that the headers give it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __sysv_signal(signal: c_int, handler: Handler) -> Handler {
    // SAFETY: the program's own arguments, passed on.
    unsafe { sysv_signal(signal, handler) }
}

/// sigset(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigset(signal: c_int, handler: Handler) -> Handler {
    if !is_ours(signal) || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return told(unsafe { real::sigset(signal, handler) }, handler_of(signal));
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
    unsafe { real::sigignore(signal) }
}

/// siginterrupt(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn siginterrupt(signal: c_int, interrupt: c_int) -> c_int {
    if signal != SIGNAL || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { real::siginterrupt(signal, interrupt) };
    }
    let restart = libc::SA_RESTART as u64;
    if interrupt == 0 {
        ASKED.flags.fetch_or(restart, Ordering::Relaxed);
    } else {
        ASKED.flags.fetch_and(!restart, Ordering::Relaxed);
    }
    0
}
