//! Calls of the thread that are under way, each known by where its [`Call`] is on the stack.
//!
//! A call need not return: an exception, longjmp(3) or a cancellation may leave it, and nobody is
//! asked what is to be asked after it. What says so, says where the thread goes on ([`leave_to`]):
//! calls further in are left. Not all do: `__builtin_longjmp` does not, nor unwinders that are
//! linked into the program. So a call further in than the stack pointer is not under way any more,
//! either. Places are compared within the thread's own stack, or outside of it. A jump to the
//! thread's own stack leaves all calls on others; but a handler on an alternate stack, which may be
//! a part of the own one, comes back.
//!
//! In thread-local storage, as the [view](super::view). Either side.

#![expect(unsafe_code, reason = "frames of handlers on the stack")]

use libc::ucontext_t;

use crate::arch::{self, Call};
use crate::preload::view::Belief;
use crate::sealed::sealed;
use crate::sources::{SIGNAL, loan};
use crate::sys::{self, Mask};
use crate::thread::handler_stack;
use crate::thread::own_stack::is_on_own_stack;

arch::thread_bytes! {
    /// Calls, of which the assembly of the stubs knows, and as many of them as the program has
    /// taken the mask of.
    WaitCounts: [u8; 2] = "csprof_waits_under_way"
}

arch::thread_words! {
    /// Where the first ones are.
    WaitPlaces: [i64; 8] = "csprof_places_of_waits"
}

arch::thread_word! {
    /// Where the outermost call of MPI is that is counted; 0: there is none.
    OutermostMpiCall: u64 = "csprof_outermost_mpi"
}

/// How many of the places are known.
const KNOWN: usize = 8;

fn place_of(call: &Call) -> u64 {
    (&raw const *call).addr() as u64
}

/// The stack pointer with which the caller goes on behind it.
fn end_of(call: &Call) -> u64 {
    place_of(call) + size_of::<Call>() as u64
}

/// Whether a call at `place` is left by a thread that is, or goes on, at the stack pointer `sp`.
fn is_left(place: u64, sp: u64) -> bool {
    place < sp && is_on_own_stack(place) == is_on_own_stack(sp)
}

/// Whether the program's alternate stack is at the stack pointer `sp`: it may be a part of the
/// thread's own. Of a sealed process, which may not ask, this says yes.
#[cold]
fn is_on_alternate_stack(sp: u64) -> bool {
    if sealed() {
        return true;
    }
    sys::alternate_stack().is_ok_and(|setting| {
        let stack = handler_stack::programs(&setting).unwrap_or(setting);
        let is_disarmed = stack.ss_size == 0 && handler_stack::is_in_disarmed(sp);
        is_disarmed || sp.wrapping_sub(stack.ss_sp.addr() as u64) < stack.ss_size as u64
    })
}

/// The thread is about to go on at the stack pointer `sp`, without returning there.
pub(super) fn leave_to(sp: u64) {
    let by_jump = |place: u64| is_left(place, sp) || is_on_own_stack(sp) && !is_on_own_stack(place);
    if Waits::first(by_jump).is_some() && !is_on_alternate_stack(sp) {
        Waits::forget(by_jump);
    }
    InMpi::forget(by_jump);
}

/// What csprof holds back of the signals of samples comes again.
fn let_through() {
    let bit_of = |belief: Belief, signal| if belief.get() { loan::bit(signal) } else { 0 };
    let blocked = bit_of(Belief::SignalBlocked, SIGNAL) | bit_of(Belief::TrapBlocked, loan::TRAP);
    sys::unblock(Mask(loan::signals().0 & !blocked));
}

/// Calls that are under way with a mask of csprof's, which blocks the profiling signal. There are
/// several if a handler has interrupted one and makes another.
///
/// What a handler of the program's finds blocked is the mask of the innermost: it *holds*, until
/// the handler blocks the signal itself. In the program's handler for that very signal none does,
/// for it came when it was open.
#[derive(Debug)]
pub(super) struct Waits;

impl Waits {
    const COUNT: usize = 0;
    /// Calls that were under way when the program took the mask over. More than there are: they
    /// have returned.
    const TAKEN_OVER: usize = 1;

    /// Whether there are any.
    #[inline]
    pub(super) fn any() -> bool {
        WaitCounts::get(Self::COUNT) != 0 && Self::count() != 0
    }

    /// Whether the mask that the innermost call was made with is in force, and not the program's.
    #[inline]
    pub(super) fn hold() -> bool {
        Self::any()
            && (WaitCounts::get(Self::COUNT) != WaitCounts::get(Self::TAKEN_OVER)
                || Self::has_taker_returned())
    }

    /// Whether the handler has returned in which the program took the mask over, and the call goes
    /// on: its frame was marked, and this is another one's.
    #[cold]
    fn has_taker_returned() -> bool {
        let mut frames = Self::handlers().peekable();
        let is_known = frames.peek().is_some();
        // SAFETY: a frame on the thread's own stack.
        let has_returned =
            is_known && !frames.any(|frame| arch::is_marked_frame(unsafe { &*frame }));
        if has_returned {
            Self::give_back();
        }
        has_returned
    }

    /// Whether code at the stack pointer `sp` is in the innermost call itself, and in no handler
    /// that has interrupted it. What is not known is none.
    pub(super) fn are_innermost_at(sp: u64) -> bool {
        Self::handlers_around(sp).is_some_and(|mut frames| frames.next().is_none())
    }

    /// Whether a signal has interrupted the innermost call itself, and no handler that has
    /// interrupted it. What is not known is none. Signal side.
    pub(super) fn are_interrupted_in(context: &ucontext_t) -> bool {
        let frames = Self::handlers_from(arch::sp(context));
        frames.is_some_and(|mut frames| frames.next().is_none())
    }

    /// The frames of the handlers that have interrupted the innermost call, as far as they are on
    /// the thread's own stack.
    fn handlers() -> impl Iterator<Item = *mut ucontext_t> {
        Self::handlers_around(0).into_iter().flatten()
    }

    /// Those of them that are around code at the stack pointer `sp`, or around this; `None` if they
    /// may be elsewhere.
    fn handlers_around(sp: u64) -> Option<impl Iterator<Item = *mut ucontext_t>> {
        let here = 0_u64;
        Self::handlers_from(sp.max((&raw const here).addr() as u64))
    }

    /// Those of them above this stack pointer, which is the thread's or of what it was interrupted
    /// in; `None` if they may be elsewhere.
    fn handlers_from(sp: u64) -> Option<impl Iterator<Item = *mut ucontext_t>> {
        let innermost = usize::from(WaitCounts::get(Self::COUNT)).checked_sub(1);
        let place = innermost.filter(|&number| number < KNOWN).map_or(0, WaitPlaces::get);
        let place = place.cast_unsigned();
        let is_between = sp < place
            && is_on_own_stack(sp)
            && is_on_own_stack(place)
            && !is_on_alternate_stack(sp);
        // SAFETY: between the stack pointer and a call that is under way.
        is_between.then(|| unsafe { arch::handler_frames(sp..place) })
    }

    /// How many there are: not those that this one's caller is outside of.
    fn count() -> u8 {
        let here = 0_u64;
        Self::forget_outside((&raw const here).addr() as u64);
        WaitCounts::get(Self::COUNT)
    }

    /// Forgets those that a thread is outside of which is at the stack pointer `sp`: nobody has let
    /// through what they hold back. Elsewhere than on its own stack the thread may be in a handler
    /// that has interrupted one.
    fn forget_outside(sp: u64) {
        let outside = |place: u64| is_on_own_stack(sp) && is_left(place, sp);
        if Self::first(outside).is_none() || is_on_alternate_stack(sp) {
            return;
        }
        if WaitCounts::get(Self::COUNT) != WaitCounts::get(Self::TAKEN_OVER) {
            let_through();
        }
        Self::forget(outside);
    }

    /// The number of the first one of which `is_left` says so.
    fn first(is_left: impl Fn(u64) -> bool) -> Option<usize> {
        let mut known = 0..usize::from(WaitCounts::get(Self::COUNT)).min(KNOWN);
        known.find(|&number| is_left(WaitPlaces::get(number).cast_unsigned()))
    }

    /// Forgets the first one of which `is_left` says so, and all that were made in it.
    fn forget(is_left: impl Fn(u64) -> bool) {
        if let Some(left) = Self::first(is_left) {
            WaitCounts::set(Self::COUNT, left as u8);
        }
        Self::give_back_what_returned();
    }

    /// Gives the mask back of a call that has returned, or was left, since it was taken over.
    fn give_back_what_returned() {
        if WaitCounts::get(Self::TAKEN_OVER) > WaitCounts::get(Self::COUNT) {
            Self::give_back();
        }
    }

    /// Forgets those that are left, as this one is about to be made: what they hold back comes.
    pub(super) fn forget_left(call: &Call) {
        Self::forget_outside(end_of(call));
    }

    /// This one is about to be made.
    pub(super) fn enter(call: &Call) {
        Self::forget_left(call);
        Self::give_back_what_returned();
        let count = WaitCounts::get(Self::COUNT);
        let note_place = || {
            if usize::from(count) < KNOWN {
                WaitPlaces::set(count.into(), place_of(call).cast_signed());
            }
        };
        note_place();
        WaitCounts::set(Self::COUNT, count.saturating_add(1));
        // A handler that came in between may have waited itself.
        note_place();
    }

    /// It has returned.
    #[inline]
    pub(super) fn leave() {
        WaitCounts::set(Self::COUNT, WaitCounts::get(Self::COUNT).saturating_sub(1));
    }

    /// What is blocked of the signals of samples is so for the program, until this handler
    /// returns. Signal side.
    pub(super) fn take_over_in(context: &mut ucontext_t) {
        if WaitCounts::get(Self::COUNT) != 0 {
            arch::mark_frame(context);
            WaitCounts::set(Self::TAKEN_OVER, WaitCounts::get(Self::COUNT));
        }
    }

    /// The same, until the innermost handler returns.
    pub(super) fn take_over() {
        if let Some(frame) = Self::handlers().next() {
            // SAFETY: on the thread's own stack; the handler may have a reference, and looks at
            // what it has interrupted, which no segment of 32 bits is.
            arch::mark_frame(unsafe { &mut *frame });
        }
        WaitCounts::set(Self::TAKEN_OVER, WaitCounts::get(Self::COUNT));
    }

    /// What will be blocked of them, after the handler, is so for csprof.
    #[inline]
    pub(super) fn give_back() {
        WaitCounts::set(Self::TAKEN_OVER, 0);
    }
}

/// The outermost call of MPI that is counted: those that are made in it are its own.
#[derive(Debug)]
pub(super) struct InMpi;

impl InMpi {
    /// Whether a call is the outermost one, from here on.
    pub(super) fn enter(call: &Call) -> bool {
        Self::forget(|place| is_left(place, end_of(call)));
        let is_outermost = OutermostMpiCall::get() == 0;
        if is_outermost {
            OutermostMpiCall::set(place_of(call));
        }
        is_outermost
    }

    /// It has returned.
    pub(super) fn leave(call: &Call) {
        if OutermostMpiCall::get() == place_of(call) {
            OutermostMpiCall::set(0);
        }
    }

    fn forget(is_left: impl Fn(u64) -> bool) {
        let place = OutermostMpiCall::get();
        if place != 0 && is_left(place) {
            OutermostMpiCall::set(0);
        }
    }
}
