//! A process that splits in two.
//!
//! fork, daemon, forkpty and whatever else in the C library forks calls the handlers of
//! pthread_atfork(3), so those are used instead of wrappers: registered first, they run last
//! before the fork and first after it. `_Fork` calls no handlers and has a wrapper.
//!
//! vfork returns twice on one stack, which no wrapper's frame survives: its stub leaves a note and
//! jumps on. The child is recognized by its process id (`process::active()`) and left alone until
//! it executes a program. So is one that clone(2) makes with CLONE_VFORK. That of a fork by hand,
//! by a raw system call, has no state ([`process::OfThisProcess`]) and is inert.

#![expect(unsafe_code, reason = "callbacks for, and exported functions of, the C library")]

use crate::c_library;
use crate::lifecycle;

use libc::pid_t;

use super::real::{self, functions, no_call};
use super::signals::mask::open_held;
use super::stub::{self, wrappers};
use super::view::{Belief, SettledChild, forget_child_beside, note_child_beside};
use crate::arch::Call;
use crate::process;

/// Registers the handlers. Without them (no memory) a child would not be sampled.
pub(super) fn register() -> bool {
    // SAFETY: three functions that live as long as the process, for the collector is never
    // unloaded (-z nodelete).
    unsafe { c_library::__register_atfork(prepare, parent, child, core::ptr::null()) == 0 }
}

unsafe extern "C" fn prepare() {
    let errno = real::errno();
    if process::active() {
        lifecycle::before_fork();
    }
    real::set_errno(errno);
}

/// Runs in the parent, also when the fork failed: then `errno` says why.
unsafe extern "C" fn parent() {
    let errno = real::errno();
    if process::active() {
        lifecycle::after_fork_parent();
    }
    real::set_errno(errno);
}

unsafe extern "C" fn child() {
    let errno = real::errno();
    forget_child_beside();
    super::files::forget_closes();
    lifecycle::after_fork_child();
    if process::active() {
        stub::engage();
    } else {
        stub::disengage();
    }
    real::set_errno(errno);
}

functions! {
    fn _Fork() -> pid_t, else no_call();
}

/// `_Fork` of POSIX.1-2024: fork without handlers, async-signal-safe.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _Fork() -> pid_t {
    // SAFETY: takes nothing; the three handlers are what fork(3) would have called.
    unsafe {
        prepare();
        let pid = _Fork::real();
        if pid == 0 {
            child()
        } else {
            parent()
        }
        pid
    }
}

/// The thread is about to wait for a child that has its memory.
pub(super) fn begin_vfork() {
    if process::active() {
        open_held();
        Belief::Vforked.set(true);
        SettledChild::set(0);
    }
}

/// The thread is about to make a child that has its memory, and does not wait for it.
pub(super) fn begin_child_beside() {
    note_child_beside();
    if process::active() {
        open_held();
        SettledChild::set(0);
    }
}

extern "C" fn before_vfork(_: &mut Call, real: &real::Real) -> *mut core::ffi::c_void {
    begin_vfork();
    stub::target(real)
}

wrappers! {
    /// vfork(2).
    jump vfork: before_vfork;
    /// vfork(2) under its [second name](super::aliases).
    jump __vfork: before_vfork;
}
