//! Where samples would end a wait, and what keeps them out.

#![expect(unsafe_code, reason = "asks for the mask of the thread")]

use core::ffi::c_void;

use csprof_format::launch::{Interrupts, Properties};
use libc::sigset_t;

use super::mask::{open_held, sigprocmask};
use super::words::first_word;
use super::{BIT, kept};
use crate::arch::{self, Call, Route};
use crate::preload::under_way::{self, Waits};
use crate::preload::view::sampled;
use crate::process;
use crate::sources::loan::{self, bit};
use crate::sys::{self, Mask};

arch::thread_word! {
    /// The mask with which the program waits, where the profiling signal may end that, and
    /// [`IS_NOTED`]; else 0.
    pub(super) MaskOfWait: u64 = "csprof_mask_of_wait"
}

/// Of a signal that nobody can block.
const IS_NOTED: u64 = bit(libc::SIGKILL);

/// Notes the mask of the wait that is about to be made, if the profiling signal may end it.
pub(super) fn note_mask(word: Option<u64>) {
    MaskOfWait::set(word.map_or(0, |word| word | IS_NOTED));
}

/// The mask that was in force where a profiling signal came, which its handler adds to: the frame
/// has the one that comes back, and of a wait that the signal has ended this is not the wait's.
/// Signal side.
pub(super) fn interrupted_mask(context: &libc::ucontext_t) -> u64 {
    let noted = MaskOfWait::get();
    if noted & IS_NOTED != 0
        && arch::has_failed(context, libc::EINTR)
        && Waits::are_interrupted_in(context)
    {
        // Of one signal: the next comes when its handler has returned, and the wait has ended.
        MaskOfWait::set(0);
        return noted & !IS_NOTED & !kept();
    }
    // SAFETY: the mask to return to, of which the kernel has one word.
    unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() }
}

/// Whether the process has a source whose samples may meet waits, now or once SIGTRAP is not on
/// loan any more.
pub(in crate::preload) fn samples_may_meet_waits() -> bool {
    let may = |source: &Properties| source.interrupts_waits != Interrupts::Never;
    process::current().is_some_and(|process| process.uses(may))
}

/// Whether the profiling signal may meet a wait and end it: one by elapsed time, while it lasts;
/// one by the event of `task-clock` without SIGTRAP, whose interrupt sends the signal, as it begins
/// or ends.
pub(in crate::preload) fn samples_meet_waits() -> bool {
    process::current().is_some_and(|process| {
        process.uses(|source| match source.interrupts_waits {
            Interrupts::Never => false,
            Interrupts::BySigprof => !loan::on_loan(),
            Interrupts::Always => true,
        })
    })
}

/// The mask that keeps samples out of a wait, where they could come in: the thread's own, with the
/// profiling signal. None where that is blocked already.
pub(super) fn own_mask(call: &Call) -> Option<u64> {
    if !samples_meet_waits() || !sampled() {
        return None;
    }
    thread_mask(call).filter(|mask| mask & BIT == 0).map(|mask| mask | BIT)
}

/// The mask of the thread that makes this call, as the kernel has it.
pub(super) fn thread_mask(call: &Call) -> Option<u64> {
    if sampled() {
        Waits::forget_left(call);
    }
    let mut now = core::mem::MaybeUninit::<sigset_t>::uninit();
    // SAFETY: a live local; nothing is changed.
    let asked = unsafe { sigprocmask::real(libc::SIG_BLOCK, core::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: written by the call.
    (asked == 0).then(|| unsafe { first_word(now.as_ptr()) })
}

/// After a wait with a mask that blocks the profiling signal, which the kernel has taken back.
pub(super) extern "C" fn after_wait(_: &mut Call) {
    Waits::leave();
}

/// After a wait by a [relative](super::relatives) or, without one, a held one: of that the stub
/// itself takes the count back.
pub(in crate::preload) extern "C" fn after_relative_or_held(call: &mut Call) {
    if call.room[0] == 0 {
        Waits::leave();
    }
}

/// The thread is about to go on at the stack pointer `sp`, without returning there: by a jump, or
/// in a handler of exceptions. What the calls that it leaves hold back comes again.
pub(in crate::preload) fn leave_to(sp: u64) {
    if sampled() {
        // Else a library's function goes on to wait.
        if !Waits::are_innermost_at(sp) {
            open_held();
        }
        under_way::leave_to(sp);
        note_mask(None);
    }
}

/// Has `target` called with the profiling signal held back, if that could end it.
pub(super) fn hold_met(call: &mut Call, target: *mut c_void) -> Route {
    holding(call, target, if samples_meet_waits() { BIT } else { 0 })
}

/// Has `target` called with these signals held back, as far as they are not anyway.
pub(super) fn holding(call: &mut Call, target: *mut c_void, signals: u64) -> Route {
    let held = block(call, signals);
    call.room[0] = held;
    Route { target, calls: usize::from(held != 0) }
}

/// Blocks signals for the time of a call; returns those that are to be let through afterwards.
fn block(call: &Call, signals: u64) -> u64 {
    if signals == 0 || !sampled() {
        return 0;
    }
    let hold = Waits::hold();
    // Before they are blocked: a handler may come in between, and leave by a jump.
    Waits::enter(call);
    let before = sys::block(Mask(signals));
    // A call that was left unseen has not let them through.
    let others = if hold { 0 } else { before.0 };
    let held = signals & !others;
    if held == 0 {
        Waits::leave();
    }
    held
}
