//! What a program that is executed inherits: whether the profiling signal is ignored, and whether
//! it is blocked (execve(2)).
//!
//! The kernel has csprof's handler instead, which exec makes the default action, and an open mask:
//! the program would be ended by a signal that it was to be safe from. So the kernel is told what
//! the program asked for, for the time of the call that executes another; and the collector there
//! finds it when it starts.
//!
//! posix_spawn(3) and popen(3) look at the action of the process that calls them. While it is to
//! ignore the signal no thread is sampled: so only if the program has asked for that. system(3)
//! lasts as long as its command, so that finds the default action.

use core::ffi::c_void;

use super::action::is_ignored;
use super::interruption::holding;
use super::mask::{believe, believed, open_held, settle_child};
use super::{BIT, SIGNAL};
use crate::arch::{Call, Route};
use crate::preload::stub;
use crate::preload::view::sampled;
use crate::sampling::entry::on_profile;
use crate::sys::{self, Disposition, Mask};
use crate::{lifecycle, process};

/// The thread thinks that it has blocked what the kernel has blocked. To be called at the start,
/// before anything is sampled.
pub(in crate::preload) fn remember_mask() {
    believe(sys::block(Mask(0)).0 & BIT);
}

/// Nothing is sampled, so the kernel's mask is the thread's.
pub(in crate::preload) fn leave_mask() {
    believe(0);
}

/// What the kernel was told for the time of an exec.
pub(in crate::preload) struct Told {
    ignored: Ignored,
    blocked: u64,
}

/// Where the signal is ignored because of it.
enum Ignored {
    Nowhere,
    /// In this process, in which other threads may start programs.
    Here,
    /// In the child of a vfork, which has actions of its own.
    InChild,
}

/// Tells the kernel what the next program is to find, in the process or in a child by vfork.
pub(in crate::preload) fn tell() -> Told {
    if !stub::engaged() {
        return Told { ignored: Ignored::Nowhere, blocked: 0 };
    }
    // Ignored, too, while another thread starts a program.
    let is_own = [(on_profile as *const ()).addr(), libc::SIG_IGN];
    let ignores = is_ignored() && is_own.contains(&sys::handler_of(SIGNAL));
    if process::active() {
        open_held();
        if ignores {
            lifecycle::begin_ignoring();
        }
        let ignored = if ignores { Ignored::Here } else { Ignored::Nowhere };
        let blocked = believed();
        return Told { ignored, blocked: blocked & !sys::block(Mask(blocked)).0 };
    }
    if ignores {
        let _ = sys::set_disposition(SIGNAL, Disposition::Ignore);
    }
    settle_child();
    Told { ignored: if ignores { Ignored::InChild } else { Ignored::Nowhere }, blocked: 0 }
}

impl Told {
    /// The exec has failed.
    pub(in crate::preload) fn take_back(self) {
        match self.ignored {
            Ignored::Nowhere => {}
            Ignored::Here => lifecycle::end_ignoring(),
            Ignored::InChild => {
                let _ = sys::set_disposition(SIGNAL, Disposition::Handle(on_profile));
            }
        }
        if self.blocked != 0 {
            sys::unblock(Mask(self.blocked));
        }
    }
}

/// Where a call's room has whether the signal is ignored meanwhile.
const IGNORES: usize = 1;

/// Has `target` called, which starts a program and comes back.
pub(in crate::preload) fn spawning(call: &mut Call, target: *mut c_void) -> Route {
    let ignores = sampled() && is_ignored();
    if ignores {
        lifecycle::begin_ignoring();
    }
    let route = lasting(call, target);
    call.room[IGNORES] = u64::from(ignores);
    Route { calls: usize::from(ignores || route.calls != 0), ..route }
}

/// The same where the call lasts as long as the program.
pub(in crate::preload) fn lasting(call: &mut Call, target: *mut c_void) -> Route {
    if sampled() {
        open_held();
    }
    holding(call, target, believed())
}

/// To be called after a call that was made by [`spawning`].
pub(in crate::preload) extern "C" fn spawned(call: &mut Call) {
    if call.room[IGNORES] != 0 {
        lifecycle::end_ignoring();
    }
}
