//! A program that closes every file it knows nothing about.
//!
//! Daemons do. A closed event sends no samples, and nobody would notice. Loops over all numbers end
//! at the limit, above which the collector's files are where that is possible (`sys::file`). Where
//! it is not, close(2) of one says that it is done, once: who asks for it has it from
//! /proc/self/fd, or from fcntl(2), where it is open, and complains if it cannot be closed
//! (Chromium's children do). After that there is no such file, as a program may close until there
//! is none.
//! close_range(2) and closefrom(3) close everything but these.
//!
//! A number that dup2(2) is told to use becomes the program's. What is lost with it is counted
//! where it cannot be opened again.

#![expect(unsafe_code, reason = "exported C functions, and stubs in front of them")]

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use super::real::{self, Real, functions, no_call, nothing};
use super::stub::{self, wrappers};
use super::view::sampled;
use crate::arch::Call;
use crate::{process, sys, thread};

/// Before close: what to jump to.
extern "C" fn before_close(call: &mut Call, real: &Real) -> *mut c_void {
    let number = call.arguments[0] as c_int;
    if sys::is_own(number) && process::active() {
        if !process::current().is_some_and(|process| process.has_lost(number)) {
            let answer = if is_first_close(number) { done } else { no_such_file };
            return answer as *mut c_void;
        }
        sys::give_up(number);
    }
    stub::target(real)
}

/// Numbers of the collector's of which close(2) has said that it is done; 0 where there is none.
static CLOSED: [AtomicI32; 4] = [const { AtomicI32::new(0) }; 4];

/// Notes that close(2) is asked for this number of the collector's; whether it says that this is
/// done.
fn is_first_close(number: c_int) -> bool {
    for closed in &CLOSED {
        // Relaxed: it is about the number alone.
        match closed.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(known) if known == number => return false,
            Err(_) => {}
        }
    }
    false
}

/// To be called in a forked child: its files are others, of which it was told nothing.
pub(super) fn forget_closes() {
    CLOSED.iter().for_each(|closed| closed.store(0, Ordering::Relaxed));
}

extern "C" fn done() -> c_int {
    0
}

extern "C" fn no_such_file() -> c_int {
    real::set_errno(libc::EBADF);
    -1
}

/// Before dup2 and dup3.
extern "C" fn before_dup(call: &mut Call, real: &Real) -> *mut c_void {
    let number = call.arguments[1] as c_int;
    if sys::is_own(number) && process::active() {
        sys::give_up(number);
    }
    stub::target(real)
}

// The number is not one of the collector's, if it is below all of them.
wrappers! {
    /// close(2).
    jump {argument 0 at least crate::sys::SMALLEST_OWN} close: before_close;
    /// dup2(2).
    jump {argument 1 at least crate::sys::SMALLEST_OWN} dup2: before_dup;
    /// dup3(2).
    jump {argument 1 at least crate::sys::SMALLEST_OWN} dup3: before_dup;
}

functions! {
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int, else no_call();
    fn closefrom(low: c_int) -> (), else nothing();
}

/// close_range(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if !sampled() || first > last {
        // SAFETY: takes no pointers.
        return unsafe { close_range::real(first, last, flags) };
    }
    let mut from = first;
    for ours in thread::registry::file_numbers() {
        let Ok(ours) = c_uint::try_from(ours) else { continue };
        if ours < from || ours > last {
            continue;
        }
        if from < ours {
            // SAFETY: takes no pointers.
            let result = unsafe { close_range::real(from, ours - 1, flags) };
            if result != 0 {
                return result;
            }
        }
        from = ours + 1;
    }
    if from > last {
        return 0;
    }
    // SAFETY: takes no pointers.
    unsafe { close_range::real(from, last, flags) }
}

/// closefrom(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn closefrom(low: c_int) {
    let errno = real::errno();
    // SAFETY: takes no pointers.
    if !sampled() || unsafe { close_range(low.max(0).cast_unsigned(), c_uint::MAX, 0) } != 0 {
        // An old kernel: the C library reads /proc.
        // SAFETY: takes no pointers.
        unsafe { closefrom::real(low) };
    }
    real::set_errno(errno);
}
