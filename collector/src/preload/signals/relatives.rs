//! Functions that wait with a mask, and stand for others that have none.
//!
//! A library in front of the C library may have a function of either name, and nothing says that
//! they are relatives there: its ppoll(2) may call poll(2), and its poll(2) do what no ppoll(2)
//! does. So the C library's functions stand for its own alone.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::modules;
use crate::preload::real::{self, Real};

struct Relative {
    of: &'static CStr,
    name: &'static CStr,
    /// The function that it stands for, and where it is itself. Null where there is none, and
    /// before [`find`].
    real: AtomicPtr<Real>,
    address: AtomicPtr<c_void>,
}

const fn relative(of: &'static CStr, name: &'static CStr) -> Relative {
    let (real, address) = (AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut()));
    Relative { of, name, real, address }
}

const COUNT: usize = 10;

static ALL: [Relative; COUNT] = [
    relative(c"poll", c"ppoll"),
    relative(c"__poll", c"ppoll"),
    relative(c"__poll_chk", c"ppoll"),
    relative(c"select", c"pselect"),
    relative(c"__select", c"pselect"),
    relative(c"epoll_wait", c"epoll_pwait"),
    relative(c"pause", c"sigsuspend"),
    relative(c"sigpause", c"sigsuspend"),
    relative(c"__xpg_sigpause", c"sigsuspend"),
    relative(c"__sigpause", c"sigsuspend"),
];

/// Looks where they are. Setup side.
pub(in crate::preload) fn find() {
    let reals = ALL.each_ref().map(|relative| real::named(relative.of));
    let places = reals.map(|real| real.map_or(0, |real| real.address().addr() as u64));
    let mut found = [(false, None::<u64>); COUNT];
    modules::each_of_c_library(|module| {
        for ((relative, place), (is_its, address)) in ALL.iter().zip(places).zip(&mut found) {
            *is_its |= module.code.iter().any(|code| code.contains(&place));
            *address = address.or_else(|| module.address_of(relative.name));
        }
    });
    for ((relative, real), (is_its, address)) in ALL.iter().zip(reals).zip(found) {
        let address = address.filter(|_| is_its).unwrap_or(0);
        let address = core::ptr::with_exposed_provenance_mut(address as usize);
        // Relaxed: the address of code that was mapped before anyone could find it.
        relative.address.store(address, Ordering::Relaxed);
        let real = real.map_or(null_mut(), |real| core::ptr::from_ref(real).cast_mut());
        relative.real.store(real, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[test]
fn who_has_a_relative_has_a_wrapper() {
    assert!(ALL.iter().all(|relative| real::named(relative.of).is_some()));
}

/// What stands for this function.
pub(super) fn relative_of(real: &Real) -> Option<*mut c_void> {
    let is_of = |relative: &&Relative| {
        core::ptr::eq(relative.real.load(Ordering::Relaxed).cast_const(), real)
    };
    let relative = ALL.iter().find(is_of)?;
    let address = relative.address.load(Ordering::Relaxed);
    (!address.is_null()).then_some(address)
}
