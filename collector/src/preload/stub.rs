//! Entries written in assembly, [stubs](crate::arch), for functions that must not notice a wrapper.
//!
//! Three reasons call for one: the real function looks at its return address (dlopen, dlsym, the
//! unwinder and sanitizers do), a cancellation or an exception unwinds through the wrapper (Rust
//! frames with the C ABI must not be unwound), or the arguments are variadic.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

use super::real::{self, Real};

/// Begins with whether the collector samples, or sampled, in this process.
///
/// Cheaper than `process::active()`, which must recognize the child of a vfork; the slow path asks
/// it. Written by the constructor and in forked children.
pub(super) use crate::process::OF_THIS_PROCESS as ENGAGED;

/// Whether the collector sampled, here or in the process that this one was forked from by hand.
/// What leads into a sandbox is looked at in such a child, too, for exec(3) makes system calls
/// there.
pub(super) static WATCHING: AtomicBool = AtomicBool::new(false);

/// Whether stubs unblock what they have held back, also of calls that began before the process was
/// sealed.
pub(super) static UNBLOCKS: AtomicBool = AtomicBool::new(true);

/// The system call for that has been forbidden: from here on what is held back stays so.
pub(super) fn unblock_nothing() {
    UNBLOCKS.store(false, Ordering::Relaxed);
}

/// Lets the stubs take the slow path.
pub(super) fn engage() {
    WATCHING.store(true, Ordering::Relaxed);
    ENGAGED.engaged.store(true, Ordering::Relaxed);
}

/// Nothing is looked at any more: the process is sealed, and could do nothing about it.
pub(super) fn stop_watching() {
    WATCHING.store(false, Ordering::Relaxed);
}

/// Whether the slow path is on.
#[inline]
pub(super) fn engaged() -> bool {
    ENGAGED.engaged.load(Ordering::Relaxed)
}

/// Turns the slow path off: the process is not sampled any more.
pub(super) fn disengage() {
    ENGAGED.engaged.store(false, Ordering::Relaxed);
}

/// Defines exported functions in front of those of the same name, each with what is
/// [behind](real::behind) it: see [`arch::stub`](crate::arch). `where` names the flag that the stub
/// looks at first, [`ENGAGED`] else; `in`, of one that is held, the system call in which it waits.
macro_rules! wrappers {
    ($(
        $(#[$attribute:meta])*
        $shape:ident $({$($question:tt)*})? $name:ident $(in $call:path)? $(where $flag:path)?:
        $hook:path $(, $further:path)*;
    )*) => {$(
        $crate::preload::real::behind!($name);
        $crate::preload::stub::wrapper! {
            [$($flag)?] [
                $(#[$attribute])*
                #[unsafe(no_mangle)]
                {$($($question)*)?}
                $shape $name $(in $call)? = $name::REAL
            ] $hook $(, $further)*
        }
    )*};
}

/// One of them, with its flag.
macro_rules! wrapper {
    ([] $stub:tt $($hooks:tt)*) => {
        $crate::preload::stub::wrapper! { [$crate::preload::stub::ENGAGED] $stub $($hooks)* }
    };
    ([$flag:path] [$($stub:tt)*] $($hooks:tt)*) => {
        $crate::arch::stub! { $($stub)*, $flag, $($hooks)* }
    };
}

/// The same for functions that wait. While they do, what called them may be followed:
/// [`rules::is_wait`](crate::modules::rules::is_wait).
macro_rules! waits {
    ($(
        $(#[$attribute:meta])*
        $shape:ident $({$($question:tt)*})? $name:ident $(in $call:path)? $(where $flag:path)?:
        $hook:path $(, $further:path)*;
    )*) => {
        $crate::preload::stub::wrappers! {$(
            $(#[$attribute])*
            #[unsafe(link_section = "csprof_waits")]
            $shape $({$($question)*})? $name $(in $call)? $(where $flag)?: $hook $(, $further)*;
        )*}
    };
}

pub(super) use {waits, wrapper, wrappers};

/// Where to jump for `real`: the function, or one that answers "not implemented" as an old C
/// library would, had it been asked.
pub(super) fn target(real: &Real) -> *mut c_void {
    let address = real.address();
    if address.is_null() { not_implemented as *mut c_void } else { address }
}

extern "C" fn not_implemented() -> isize {
    real::set_errno(libc::ENOSYS);
    -1
}
