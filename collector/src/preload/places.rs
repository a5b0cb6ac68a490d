//! A program that goes where the run's folder cannot be reached by its path: another root, mounts
//! of its own.
//!
//! Its children of fork have files of their own in the folder, so before it goes there the folder
//! is opened. Not earlier: a program may look for open directories, through which it could leave
//! what is to shut it in, and end itself if there is one. Chromium's sandbox does. It changes its
//! root in a child that shares nothing but the root; what it forks then is not sampled, and
//! counted.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_long, c_void};

use super::real::Real;
use super::stub::{self, wrappers};
use super::view::sampled;
use crate::arch::Call;
use crate::process;

/// The system calls that do so.
pub(super) const CALLS: [c_long; 4] =
    [libc::SYS_chroot, libc::SYS_pivot_root, libc::SYS_setns, libc::SYS_unshare];

/// Before one of these, with its first argument.
pub(super) fn before_number(number: c_long, first: usize) {
    let has_mounts = first as c_int & libc::CLONE_NEWNS != 0;
    if CALLS.contains(&number) && (number != libc::SYS_unshare || has_mounts) {
        hold_folder();
    }
}

fn hold_folder() {
    if let Some(process) = process::current().filter(|_| sampled()) {
        process.folder.hold();
    }
}

extern "C" fn before_leaving(_call: &mut Call, real: &Real) -> *mut c_void {
    hold_folder();
    stub::target(real)
}

extern "C" fn before_unshare(call: &mut Call, real: &Real) -> *mut c_void {
    before_number(libc::SYS_unshare, call.arguments[0]);
    stub::target(real)
}

wrappers! {
    /// chroot(2).
    jump chroot: before_leaving;
    /// pivot_root(2).
    jump pivot_root: before_leaving;
    /// setns(2).
    jump setns: before_leaving;
    /// unshare(2).
    jump unshare: before_unshare;
}
