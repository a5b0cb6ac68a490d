//! Functions that wait with a mask, and stand for others that have none.
//!
//! A library in front of the C library may have a function of either name, and nothing says that
//! they are relatives there: its ppoll(2) may call poll(2), and its poll(2) do what no ppoll(2)
//! does. So the C library's functions stand for its own alone.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::interruption::samples_may_meet_waits;
use crate::modules;
use crate::preload::real::{Real, slots};

struct Relative {
    of: &'static Real,
    name: &'static CStr,
    /// Null where there is none, and before [`find`].
    address: AtomicPtr<c_void>,
}

const fn relative(of: &'static Real, name: &'static CStr) -> Relative {
    Relative { of, name, address: AtomicPtr::new(core::ptr::null_mut()) }
}

static ALL: [Relative; 10] = [
    relative(&slots::poll, c"ppoll"),
    relative(&slots::__poll, c"ppoll"),
    relative(&slots::__poll_chk, c"ppoll"),
    relative(&slots::select, c"pselect"),
    relative(&slots::__select, c"pselect"),
    relative(&slots::epoll_wait, c"epoll_pwait"),
    relative(&slots::pause, c"sigsuspend"),
    relative(&slots::sigpause, c"sigsuspend"),
    relative(&slots::__xpg_sigpause, c"sigsuspend"),
    relative(&slots::__sigpause, c"sigsuspend"),
];

/// Looks where they are, if they may be needed. Setup side.
pub(in crate::preload) fn find() {
    if samples_may_meet_waits() {
        for relative in &ALL {
            let address = modules::function_of_c_library(relative.of.address(), relative.name);
            // Relaxed: the address of code that was mapped before anyone could find it.
            relative.address.store(address, Ordering::Relaxed);
        }
    }
}

/// What stands for this function.
pub(super) fn relative_of(real: &Real) -> Option<*mut c_void> {
    let relative = ALL.iter().find(|relative| core::ptr::eq(relative.of, real))?;
    let address = relative.address.load(Ordering::Relaxed);
    (!address.is_null()).then_some(address)
}
