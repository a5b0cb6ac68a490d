//! sigaltstack(2): the program's alternate stack, while the kernel's is the thread's
//! [handler stack](handler_stack).
//!
//! Whether it is, the kernel is asked each time: a thread that was made by clone(2) has its
//! creator's thread-local storage but no alternate stack, and a program may have set one by a
//! system call of its own. Then the call is passed on. Async-signal-safe.

#![expect(unsafe_code, reason = "an exported C function with pointers from the program")]

use core::ffi::{c_int, c_void};

use libc::stack_t;

use crate::preload::readable::read;
use crate::preload::real::{functions, no_call, set_errno};
use crate::sys;
use crate::thread::handler_stack::{self, NONE, SS_AUTODISARM};

/// The smallest alternate stack that the kernel takes: `MINSIGSTKSZ` of its headers. It asks for
/// more only where a program has asked for AMX.
const SMALLEST: usize = 2048;

/// The program's alternate stack, if the kernel has the handler stack in its place.
fn programs() -> Option<stack_t> {
    let known = if handler_stack::top() == 0 { None } else { sys::alternate_stack().ok() };
    known.as_ref().and_then(handler_stack::programs)
}

/// Whether the kernel has another alternate stack than the program thinks.
pub(super) fn is_hidden() -> bool {
    programs().is_some()
}

functions! {
    fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int, else no_call();
}

/// sigaltstack(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    let Some(own) = programs() else {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { sigaltstack::real(new, old) };
    };
    let here = (&raw const own).addr();
    let low = own.ss_sp.addr();
    let stands_on_it = own.ss_flags & SS_AUTODISARM == 0 && here > low && here - low <= own.ss_size;
    // Read before writing: the program may pass one structure for both.
    let wanted = read::<stack_t>(new.expose_provenance());
    if wanted.is_none() && !new.is_null() {
        set_errno(libc::EFAULT);
        return -1;
    }
    if let Some(wanted) = wanted
        && let Err(errno) = set(&own, &wanted, stands_on_it)
    {
        set_errno(errno);
        return -1;
    }
    if !old.is_null() {
        let state = match own.ss_size {
            0 => libc::SS_DISABLE,
            _ if stands_on_it => libc::SS_ONSTACK,
            _ => 0,
        };
        let told = stack_t { ss_flags: own.ss_flags & SS_AUTODISARM | state, ..own };
        // The kernel says whether there is room, by what it would tell.
        // SAFETY: the program's own room, passed on.
        if unsafe { sigaltstack::real(core::ptr::null(), old) } != 0 {
            return -1;
        }
        // SAFETY: the kernel has written there.
        unsafe { old.write(told) };
    }
    0
}

/// As the kernel does it (`do_sigaltstack`, kernel/signal.c).
fn set(own: &stack_t, wanted: &stack_t, stands_on_it: bool) -> Result<(), c_int> {
    if stands_on_it {
        return Err(libc::EPERM);
    }
    let mode = wanted.ss_flags & !SS_AUTODISARM;
    let kept = match mode {
        libc::SS_DISABLE => {
            stack_t { ss_flags: wanted.ss_flags & SS_AUTODISARM, ss_size: 0, ..NONE }
        }
        0 | libc::SS_ONSTACK if wanted.ss_size < SMALLEST => return Err(libc::ENOMEM),
        0 | libc::SS_ONSTACK => stack_t { ss_flags: wanted.ss_flags & SS_AUTODISARM, ..*wanted },
        _ => return Err(libc::EINVAL),
    };
    if kept.ss_sp == own.ss_sp && kept.ss_size == own.ss_size && kept.ss_flags == own.ss_flags {
        return Ok(());
    }
    sys::set_alternate_stack(&handler_stack::setting_for(&kept)).map(drop).map_err(|errno| errno.0)
}

/// sigstack(3), of 4.2BSD: a stack by its end, of which the size is not told.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sigstack(new: *const Old, old: *mut Old) -> c_int {
    // SAFETY: null, or the program points to a stack.
    let wanted = unsafe { new.as_ref() }.map(|new| stack_t {
        // As the C library does it (signal/sigstack.c): all that is below.
        ss_sp: core::ptr::null_mut(),
        ss_flags: if new.on_it == 0 { 0 } else { libc::SS_ONSTACK },
        ss_size: new.end.addr(),
    });
    let mut before = NONE;
    // SAFETY: live locals.
    let result = unsafe {
        sigaltstack(wanted.as_ref().map_or(core::ptr::null(), core::ptr::from_ref), &raw mut before)
    };
    if result == 0 && !old.is_null() {
        let told = Old {
            end: before.ss_sp.wrapping_byte_add(before.ss_size),
            on_it: c_int::from(before.ss_flags & libc::SS_ONSTACK != 0),
        };
        // SAFETY: not null, so the program points to room for one.
        unsafe { old.write(told) };
    }
    result
}

/// `struct sigstack`.
#[repr(C)]
pub(crate) struct Old {
    end: *mut c_void,
    on_it: c_int,
}
