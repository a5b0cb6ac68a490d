//! A program that restricts its own system calls.
//!
//! seccomp(2) ends the process, or fails the call, for whatever the program did not expect itself
//! to do; and the collector does things that no program expects of itself: it reads clocks, deletes
//! timers, maps shared memory. So before the filter comes, sampling ends for good, with a
//! message. A program that is executed under a filter of somebody else is sampled: there it is the
//! launcher of the sandbox that decides, and containers of every kind have one.
//!
//! Filters are installed by prctl(2) or, having no wrapper in the C library, by syscall(2). The stubs
//! jump on: their arguments are variadic.
//!
//! Through syscall(2) a program may also fork behind the C library's back. The child returns on a
//! copy of the stack, in which no return address may be replaced.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_void};

use super::real::slots;
use super::stub::{self, ENGAGED, drop_frame, fast_path, restore_arguments, save_arguments};
use crate::trampoline::Suspended;
use crate::{process, thread};

/// Before prctl: what installs a filter comes here, and calls before the constructor.
extern "C" fn before_prctl(option: c_int) -> *mut c_void {
    if option == libc::PR_SET_SECCOMP {
        enter();
    }
    stub::target(&slots::prctl)
}

/// Before a raw system call: seccomp(2), the three that fork, and calls before the constructor.
extern "C" fn before_syscall(number: c_long, operation: c_long) -> *mut c_void {
    /// SECCOMP_SET_MODE_STRICT and SECCOMP_SET_MODE_FILTER; larger ones are questions.
    const SET_MODES: core::ops::RangeInclusive<c_long> = 0..=1;
    match number {
        libc::SYS_seccomp if SET_MODES.contains(&operation) => enter(),
        libc::SYS_fork | libc::SYS_clone | libc::SYS_clone3 => thread::disarm_here(Suspended::No),
        _ => {}
    }
    stub::target(&slots::syscall)
}

fn enter() {
    if process::active() {
        process::seal();
        stub::disengage();
    }
}

/// Defines a function that jumps on, unless `question` about its first argument leads to `4:`.
macro_rules! watched {
    ($($(#[$doc:meta])* $name:ident = $before:path, $($question:literal)+;)*) => {$(
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
                $($question,)+
                "jmp r11",
                "4:",
                save_arguments!(),
                "call {before}",
                "mov r11, rax",
                restore_arguments!(),
                drop_frame!(),
                "jmp r11",
                ".cfi_endproc",
                real = sym slots::$name,
                engaged = sym ENGAGED,
                before = sym $before,
            )
        }
    )*};
}

watched! {
    /// prctl(2); 22 is PR_SET_SECCOMP.
    prctl = before_prctl, "cmp edi, 22" "je 4f";
    /// syscall(2); 317 is seccomp, 56, 57 and 435 are clone, fork and clone3.
    syscall = before_syscall,
        "cmp rdi, 317" "je 4f"
        "cmp rdi, 56" "je 4f"
        "cmp rdi, 57" "je 4f"
        "cmp rdi, 435" "je 4f";
}

const _: () = assert!(
    libc::PR_SET_SECCOMP == 22
        && libc::SYS_seccomp == 317
        && libc::SYS_clone == 56
        && libc::SYS_fork == 57
        && libc::SYS_clone3 == 435
);
