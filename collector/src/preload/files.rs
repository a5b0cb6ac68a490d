//! A program that closes every file it knows nothing about.
//!
//! Daemons do. A closed event sends no samples, and nobody would notice. Loops over all numbers end
//! at the limit, above which the collector's files are where that is possible (`sys::file`);
//! close_range(2) and closefrom(3) know no limit, so they close everything but these.

#![expect(unsafe_code, reason = "exported C functions")]

use core::ffi::{c_int, c_uint};

use super::real;
use super::view::sampled;
use crate::thread;

/// close_range(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if !sampled() || first > last {
        // SAFETY: takes no pointers.
        return unsafe { real::close_range(first, last, flags) };
    }
    let mut from = first;
    for ours in thread::file_numbers() {
        let Ok(ours) = c_uint::try_from(ours) else { continue };
        if ours < from || ours > last {
            continue;
        }
        if from < ours {
            // SAFETY: takes no pointers.
            let result = unsafe { real::close_range(from, ours - 1, flags) };
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
    unsafe { real::close_range(from, last, flags) }
}

/// closefrom(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn closefrom(low: c_int) {
    let errno = real::errno();
    // SAFETY: takes no pointers.
    if !sampled() || unsafe { close_range(low.max(0).cast_unsigned(), c_uint::MAX, 0) } != 0 {
        // An old kernel: the C library reads /proc.
        // SAFETY: takes no pointers.
        unsafe { real::closefrom(low) };
    }
    real::set_errno(errno);
}
