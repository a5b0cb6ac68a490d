//! A program that closes every file it knows nothing about.
//!
//! Daemons do. A closed event sends no samples, and nobody would notice. Loops over all numbers end
//! at the limit, above which the collector's files are where that is possible (`sys::file`). Where
//! it is not, close(2) answers what it would without csprof: there is no such file.
//! close_range(2) and closefrom(3) close everything but these.
//!
//! A number that dup2(2) is told to use becomes the program's. What is lost with it is counted where it
//! cannot be opened again.

#![expect(unsafe_code, reason = "exported C functions, and stubs in front of them")]

use core::arch::naked_asm;
use core::ffi::{c_int, c_uint, c_void};

use super::real::{self, Real, slots};
use super::stub::{self, ENGAGED, fast_path, jump_on, save_arguments};
use super::view::sampled;
use crate::{process, sys, thread};

/// Before close: what to jump to.
extern "C" fn before_close(number: c_int, _: c_int, real: &Real) -> *mut c_void {
    if sys::is_own(number) && process::active() {
        return no_such_file as *mut c_void;
    }
    stub::target(real)
}

extern "C" fn no_such_file() -> c_int {
    real::set_errno(libc::EBADF);
    -1
}

/// Before dup2 and dup3.
extern "C" fn before_dup(_: c_int, number: c_int, real: &Real) -> *mut c_void {
    if sys::is_own(number) && process::active() {
        sys::give_up(number);
    }
    stub::target(real)
}

/// Defines functions that jump on, unless the number in `register` may be one of the collector's.
macro_rules! numbered {
    ($($(#[$doc:meta])* $name:ident($register:literal) = $before:path;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                fast_path!(),
                // Not found yet: before the constructor.
                "test r11, r11",
                "jz 4f",
                concat!("cmp ", $register, ", [rip + {smallest}]"),
                "jae 4f",
                "jmp r11",
                "4:",
                save_arguments!(),
                "lea rdx, [rip + {real}]",
                "call {before}",
                jump_on!(),
                real = sym slots::$name,
                engaged = sym ENGAGED,
                smallest = sym sys::SMALLEST_OWN,
                before = sym $before,
            )
        }
    )*};
}

numbered! {
    /// close(2).
    close("edi") = before_close;
    /// dup2(2).
    dup2("esi") = before_dup;
    /// dup3(2).
    dup3("esi") = before_dup;
}

/// close_range(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if !sampled() || first > last {
        // SAFETY: takes no pointers.
        return unsafe { real::close_range(first, last, flags) };
    }
    let mut from = first;
    for ours in thread::registry::file_numbers() {
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
