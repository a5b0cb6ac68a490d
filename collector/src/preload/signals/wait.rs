//! Waiting with a mask, and waiting for signals.
//!
//! sigsuspend, ppoll and their kind install a mask for as long as they wait. The signals of samples
//! are *added* to it: a thread that waits burns no CPU, and without this a sample by elapsed time
//! would end the wait with `EINTR`, and one by SIGTRAP come before the signal that ends the wait
//! and have the thread's own mask set again before that signal's handler runs. The timer counts on;
//! the sample arrives, with its full weight, when the wait is over. pause is
//! [sigsuspend](super::relatives) with the thread's own mask, and sigpause with that or one of its
//! own.
//!
//! sigwait, sigwaitinfo, sigtimedwait and signalfd take signals away. The profiling signal is
//! *removed* from what they wait for. A program that waits for SIGTRAP [has it back](super::trap).
//!
//! All but signalfd are cancellation points: the forced unwinding of pthread_cancel(3) passes
//! through the wrapper's frame, hence the [stubs](super::super::stub).

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::ffi::{c_int, c_void};

use libc::sigset_t;

use super::action::is_handled;
use super::interruption::{
    MaskOfWait, after_wait, hold_met, note_mask, own_mask, samples_meet_waits, thread_mask,
};
use super::mask::{believe, believed};
use super::relatives::relative_of;
use super::words::{first_word, mask_of};
use super::{BIT, kept, trap};
use crate::arch::{self, Call, Room, Route};
use crate::messages::{self, Warning};
use crate::preload::readable::read;
use crate::preload::real::{Real, functions, no_call};
use crate::preload::stub::{self, ENGAGED, UNBLOCKS, waits};
use crate::preload::under_way::Waits;
use crate::preload::view::{BlockedSince, sampled};
use crate::sources::loan::{TRAP, bit};
use crate::sys::{self, Mask};
use crate::thread;

/// Calls `target` with this mask as argument number `AT`.
fn with_mask<const AT: usize>(call: &mut Call, mask: sigset_t, target: *mut c_void) -> Route {
    // The kernel reads one word, and the C library no more. Behind that is what `after` needs.
    call.room[..OUTER].fill(0);
    // SAFETY: a live local.
    call.room[0] = unsafe { first_word(&raw const mask) };
    let room = call.room.as_ptr().expose_provenance();
    if let Some(argument) = call.arguments.get_mut(AT) {
        *argument = room;
    }
    Route { target, calls: 1 }
}

/// Where a call's room has what [`open_for_wait`] has changed: whether it has, what the thread
/// thought of the signals of samples, and [`BlockedSince`].
const OPENED: usize = 13;
const _: () = assert!(size_of::<Room>() >= (OPENED + 3) * size_of::<u64>());

/// Where it has what [`MaskOfWait`] was before.
const OUTER: usize = OPENED - 1;

/// The program has blocked the profiling signal, and opens it for this wait. So it is open for the
/// thread meanwhile; and the kernel has it blocked until the wait begins, or the program's handler
/// would come before.
fn open_for_wait(call: &mut Call, word: u64) {
    let before = sys::set_mask(Mask::ALL).0;
    call.room[OPENED..].copy_from_slice(&[1, believed(), BlockedSince::get()]);
    believe(word & kept());
    // A sample that waits would end the wait, for the kernel puts the mask back before it looks for
    // another signal. So would one that comes as the thread falls asleep or is woken up.
    thread::keep_samples_out();
    sys::set_mask(Mask(before | BIT));
}

/// After a wait with a mask of csprof's, which the kernel has taken back.
pub(in crate::preload) extern "C" fn after(call: &mut Call) {
    MaskOfWait::set(call.room[OUTER]);
    let [opened, before, since] = *call.room[OPENED..].as_chunks().0.first().unwrap_or(&[0; 3]);
    if opened != 0 {
        believe(before);
        BlockedSince::set(since);
    }
    after_wait(call);
    // Also where one of the program's had come before the wait, and kept samples out: the wait has
    // had it. One that has come since does so again. In a sealed process it stays blocked.
    if opened != 0 && sampled() && !Waits::hold() {
        sys::unblock(Mask(BIT));
    }
}

/// The same of one by a [relative](super::relatives) or, without one, a held one.
extern "C" fn after_suspend(call: &mut Call) {
    if call.room[0] == 0 {
        after(call);
    }
}

/// Goes on as if there were no wrapper.
fn as_it_is(real: &Real) -> Route {
    Route { target: stub::target(real), calls: 0 }
}

/// Calls it with the program's mask, changed by `change`.
fn with_changed<const AT: usize>(
    call: &mut Call,
    real: &Real,
    change: fn(&mut Call, u64) -> Option<u64>,
) -> Route {
    let mask = call.arguments[AT];
    if mask == 0 || !sampled() {
        return as_it_is(real);
    }
    match read::<u64>(mask).and_then(|word| change(call, word)) {
        Some(word) => with_mask::<AT>(call, mask_of(word), stub::target(real)),
        None => as_it_is(real),
    }
}

pub(in crate::preload) extern "C" fn with_signal<const AT: usize>(
    call: &mut Call,
    real: &Real,
) -> Route {
    if call.arguments[AT] == 0
        && let Some(own) = own_mask(call)
    {
        enter(call);
        note_mask(None);
        return with_mask::<AT>(call, mask_of(own), stub::target(real));
    }
    with_changed::<AT>(call, real, blocking)
}

extern "C" fn without_signal(call: &mut Call, real: &Real) -> Route {
    with_changed::<0>(call, real, |_, word| Some(awaited(word)))
}

/// What is blocked meanwhile. None if that is what the program blocks.
fn blocking(call: &mut Call, word: u64) -> Option<u64> {
    let hidden = hidden_from(word);
    let is_ended = (word | hidden) & BIT == 0;
    if word & hidden == hidden && !is_ended {
        return None;
    }
    enter(call);
    note_mask(is_ended.then_some(word));
    if is_ended && believed() & BIT != 0 {
        open_for_wait(call, word);
    }
    Some(word | hidden)
}

fn enter(call: &mut Call) {
    Waits::enter(call);
    call.room[OPENED] = 0;
    call.room[OUTER] = MaskOfWait::get();
}

/// The signals of samples that must not come in a wait with this mask: all, but for the profiling
/// signal where that is to end the wait, and no sample by it comes in one.
fn hidden_from(word: u64) -> u64 {
    if word & BIT == 0 && is_handled() && !samples_meet_waits() { kept() & !BIT } else { kept() }
}

/// What may be waited for.
pub(super) fn awaited(word: u64) -> u64 {
    if word & bit(TRAP) != 0 {
        trap::give_back("the program waits for SIGTRAP");
    }
    if word == BIT {
        messages::warn_once(
            Warning::WaitForSignal,
            "the program waits for SIGPROF alone, which never comes: csprof uses this signal",
        );
    }
    word & !BIT
}

/// For pause: the thread's own mask with the signal, and sigsuspend to wait with it.
extern "C" fn own_with_signal(call: &mut Call, real: &Real) -> Route {
    let mask = thread_mask(call).map(|mask| mask | believed());
    suspend(call, real, mask)
}

/// For sigpause with a mask as 4.2BSD had it, where one is an `int`.
extern "C" fn with_old_mask(call: &mut Call, real: &Real) -> Route {
    let word = u64::from(call.arguments[0] as u32);
    let route = suspend(call, real, Some(word));
    if route.calls != 0 {
        // Without a relative this is the mask still, which would open what is held back.
        call.arguments[0] |= call.room[0] as usize;
    }
    route
}

/// For sigpause with a signal that the thread's own mask is to be without.
extern "C" fn own_without(call: &mut Call, real: &Real) -> Route {
    // What is no signal is refused.
    let signal = Some(call.arguments[0] as c_int).filter(|signal| (1..=64).contains(signal));
    // It waits for its own.
    if signal.is_some_and(|signal| bit(signal) & kept() != 0) {
        return as_it_is(real);
    }
    let mask = signal.and_then(|signal| Some((thread_mask(call)? | believed()) & !bit(signal)));
    suspend(call, real, mask)
}

extern "C" fn with_either(call: &mut Call, real: &Real) -> Route {
    if call.arguments[1] as c_int == 0 {
        with_old_mask(call, real)
    } else {
        own_without(call, real)
    }
}

/// Waits by sigsuspend with this mask and the signal; without a relative the signal is held back,
/// as in [`hold`](super::hold).
fn suspend(call: &mut Call, real: &Real, mask: Option<u64>) -> Route {
    let Some(mask) = mask.filter(|_| sampled()) else { return as_it_is(real) };
    let Some(sigsuspend) = relative_of(real) else { return hold_met(call, stub::target(real)) };
    let Some(word) = blocking(call, mask) else { return as_it_is(real) };
    // The C library's reads one word.
    call.room[0] = 0;
    call.room[1] = word;
    call.arguments[0] = (&raw const call.room[1]).expose_provenance();
    Route { target: sigsuspend, calls: 1 }
}

/// With the profiling signal [held back](super::hold), by way of the stub that takes it out of what
/// is waited for.
extern "C" fn hold_sigwaitinfo(call: &mut Call, _: &Real) -> Route {
    hold_met(call, filtered_sigwaitinfo as *mut c_void)
}

/// The same.
extern "C" fn hold_sigtimedwait(call: &mut Call, _: &Real) -> Route {
    hold_met(call, filtered_sigtimedwait as *mut c_void)
}

waits! {
    /// sigsuspend(2).
    call sigsuspend: with_signal::<0>, after;
    /// ppoll(2).
    call ppoll: with_signal::<3>, after;
    /// ppoll(2) as programs built with `_FORTIFY_SOURCE` call it.
    call __ppoll_chk: with_signal::<3>, after;
    /// pselect(2).
    call pselect: with_signal::<5>, after;
    /// epoll_pwait(2).
    call epoll_pwait: with_signal::<4>, after;
    /// epoll_pwait2(2).
    call epoll_pwait2: with_signal::<4>, after;
    /// pause(2).
    hold pause in libc::SYS_rt_sigsuspend: own_with_signal, UNBLOCKS, after_suspend;
    /// sigpause(3) of 4.2BSD, which takes a mask.
    hold sigpause in libc::SYS_rt_sigsuspend: with_old_mask, UNBLOCKS, after_suspend;
    /// sigpause(3) of System V, which takes a signal.
    hold __xpg_sigpause in libc::SYS_rt_sigsuspend: own_without, UNBLOCKS, after_suspend;
    /// Either sigpause(3), as a second argument says.
    hold __sigpause in libc::SYS_rt_sigsuspend: with_either, UNBLOCKS, after_suspend;
    /// sigwait(3).
    call sigwait: without_signal;
    /// sigwaitinfo(2).
    hold sigwaitinfo in libc::SYS_rt_sigtimedwait: hold_sigwaitinfo, UNBLOCKS;
    /// sigtimedwait(2).
    hold sigtimedwait in libc::SYS_rt_sigtimedwait: hold_sigtimedwait, UNBLOCKS;
}

arch::stub! {
    /// sigwaitinfo(2), for the call that is held.
    #[unsafe(link_section = "csprof_waits")]
    {} call filtered_sigwaitinfo = sigwaitinfo::REAL, ENGAGED, without_signal
}

arch::stub! {
    /// sigtimedwait(2), for the call that is held.
    #[unsafe(link_section = "csprof_waits")]
    {} call filtered_sigtimedwait = sigtimedwait::REAL, ENGAGED, without_signal
}

functions! {
    fn signalfd(fd: c_int, mask: *const sigset_t, flags: c_int) -> c_int, else no_call();
}

/// signalfd(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn signalfd(fd: c_int, mask: *const sigset_t, flags: c_int) -> c_int {
    let word = if sampled() { read::<u64>(mask.expose_provenance()) } else { None };
    let Some(word) = word else {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { signalfd::real(fd, mask, flags) };
    };
    let filtered = mask_of(awaited(word));
    // SAFETY: a live local and the program's own arguments.
    unsafe { signalfd::real(fd, &raw const filtered, flags) }
}
