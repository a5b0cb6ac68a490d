//! Reads and writes that samples would cut short.
//!
//! A call that a handler interrupts when it has moved a part of its bytes returns how many those
//! are, whatever the handler's flags: the kernel goes on only with calls that have moved nothing
//! yet (signal(7)). A program that takes this for the end, for an error or for all of it loses
//! data: alone it gets all of them. So the profiling signal is held back where samples
//! [meet waits](super::interruption::samples_meet_waits), as in other [waits](super::hold).
//!
//! Not so where the kernel moves all or nothing: up to [`WHOLE`] bytes, unless the file [takes or
//! gives a part](sys::is_divided) of them. So the wait of a small read, which may last as long as
//! the program, is interrupted by samples and seen while it lasts.
//!
//! The C library's streams need nothing of this: they go on by themselves after a part.

use core::ffi::{c_int, c_long};

use super::action;
use super::interruption::{hold_met, samples_meet_waits};
use crate::arch::{Call, Route};
use crate::preload::real::Real;
use crate::preload::stub;
use crate::preload::view::sampled;
use crate::sys::{self, Way};

/// The kernel writes so many bytes to a pipe at once (PIPE_BUF, pipe(7)), and looks for signals
/// after so many from a device (`read_iter_zero`, drivers/char/mem.c).
const WHOLE: usize = 4096;

/// So many random bytes come at once (getrandom(2)).
const WHOLE_RANDOM: usize = 256;

/// Has a call with a file, a buffer and so many bytes made with the signal held back, if a sample
/// could cut it short.
pub(in crate::preload) fn hold_bytes(call: &mut Call, real: &Real, way: Way) -> Route {
    let [file, _, bytes, ..] = call.arguments;
    if samples_meet_waits() && sampled() && is_divisible(file, bytes, way) {
        hold_all(call, real)
    } else {
        as_it_is(call, real)
    }
}

/// The same of a call that may move any number of bytes.
pub(in crate::preload) fn hold_all(call: &mut Call, real: &Real) -> Route {
    if is_expected_short() { as_it_is(call, real) } else { hold_met(call, stub::target(real)) }
}

fn as_it_is(call: &mut Call, real: &Real) -> Route {
    call.room[0] = 0;
    Route { target: stub::target(real), calls: 0 }
}

/// Whether the program has a handler for the signal: that may be what ends its calls, and it knows
/// that they come short.
fn is_expected_short() -> bool {
    action::is_handled()
}

/// Whether the file may take or give a part of so many bytes.
fn is_divisible(file: usize, bytes: usize, way: Way) -> bool {
    bytes > WHOLE || sys::is_divided(file as c_int, way)
}

/// Whether a sample may cut a request for so many random bytes short.
pub(super) const fn is_long_random(bytes: usize) -> bool {
    bytes > WHOLE_RANDOM
}

/// The system calls that a sample may cut short.
pub(in crate::preload) const CALLS: [c_long; 14] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_getrandom,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_copy_file_range,
];

/// Whether a sample may cut this call of syscall(2) short.
pub(super) fn is_short(number: c_long, [first, second, third, ..]: [usize; 5]) -> bool {
    match number {
        _ if is_expected_short() => false,
        libc::SYS_read => is_divisible(first, third, Way::Read),
        libc::SYS_write => is_divisible(first, third, Way::Write),
        libc::SYS_pread64 | libc::SYS_pwrite64 => is_divisible(first, third, Way::AtPlace),
        libc::SYS_getrandom => is_long_random(second),
        _ => CALLS.contains(&number),
    }
}
