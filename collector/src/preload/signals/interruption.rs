//! Where samples would end a wait, and what keeps them out.

#![expect(unsafe_code, reason = "asks for the mask of the thread")]

use csprof_format::launch::Interrupts;
use libc::sigset_t;

use super::BIT;
use super::words::first_word;
use crate::preload::real;
use crate::preload::view::{Belief, sampled};
use crate::process;
use crate::sources::loan;

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
/// profiling signal.
pub(super) fn own_mask() -> Option<u64> {
    if !sampled() || !samples_meet_waits() {
        return None;
    }
    let mut now = core::mem::MaybeUninit::<sigset_t>::uninit();
    // SAFETY: a live local; nothing is changed.
    let asked = unsafe { real::sigprocmask(libc::SIG_BLOCK, core::ptr::null(), now.as_mut_ptr()) };
    if asked != 0 {
        return None;
    }
    Belief::Waited.set(true);
    // SAFETY: written by the call.
    Some(unsafe { first_word(now.as_ptr()) } | BIT)
}
