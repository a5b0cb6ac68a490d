//! A program that restricts its own system calls, or makes some behind the C library's back.
//!
//! seccomp(2) ends the process, or fails the call, for whatever the program did not expect itself
//! to do; and the collector does things that no program expects of itself: it reads clocks, deletes
//! timers, maps shared memory. So before the filter comes, sampling ends for good, with a
//! message. A program that is executed under a filter of somebody else is sampled: there it is the
//! launcher of the sandbox that decides, and containers of every kind have one.
//!
//! The same goes for system calls that a handler of the program's gets in place of the kernel
//! (syscall user dispatch). Filters are installed by prctl(2) or, having no wrapper in the C library, by syscall(2). The stubs
//! jump on: their arguments are variadic.
//!
//! Through syscall(2) a program may also fork behind the C library's back. The child returns on a
//! copy of the stack, in which no return address may be replaced. And by clone(2) it may make
//! threads that the C library does not know. They have the thread-local storage of their creator or
//! one of unknown shape, so there is no place for a thread's state that a handler could find, and
//! nobody tells when they end: they are counted, and not sampled.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_uint, c_void};

use csprof_format::arena::LeftOut;

use super::real::slots;
use super::signals::hold::{CALLS, answer, hold_syscall, is_met};
use super::stub::{self, ENGAGED, WATCHING, drop_frame, fast_path, jump_on, save_arguments};
use crate::messages::{self, Warning};
use crate::trampoline::Suspended;
use crate::{lifecycle, process, sys, thread};

/// Before prctl: what installs a filter comes here, and calls before the constructor.
extern "C" fn before_prctl(option: c_int) -> *mut c_void {
    if restricts(option.into()) {
        enter();
    }
    stub::target(&slots::prctl)
}

/// Whether prctl(2) with this option takes system calls away: by a filter, or by a handler that gets
/// them in place of the kernel.
fn restricts(option: c_long) -> bool {
    [PR_SET_SECCOMP, PR_SET_SYSCALL_USER_DISPATCH].contains(&option)
}

const PR_SET_SECCOMP: c_long = libc::PR_SET_SECCOMP as c_long;
/// Linux 5.11 (Documentation/admin-guide/syscall-user-dispatch.rst).
const PR_SET_SYSCALL_USER_DISPATCH: c_long = 59;

/// The system calls that are looked at, one bit each.
static WATCHED: [u64; 8] = {
    let mut bits = [0; 8];
    let fixed =
        [libc::SYS_seccomp, libc::SYS_prctl, libc::SYS_fork, libc::SYS_clone, libc::SYS_clone3];
    let mut place = 0;
    while place < fixed.len() {
        bits[fixed[place] as usize / 64] |= 1 << (fixed[place] % 64);
        place += 1;
    }
    place = 0;
    while place < CALLS.len() {
        bits[CALLS[place] as usize / 64] |= 1 << (CALLS[place] % 64);
        place += 1;
    }
    bits
};

/// Before a raw system call: seccomp(2), prctl(2), the three that fork, waits, and calls before the constructor. Null for a
/// wait that is to be made with the signal held back.
extern "C" fn before_syscall(
    number: c_long,
    first: c_long,
    second: c_int,
    _: c_long,
    fourth: *const c_void,
) -> *mut c_void {
    /// SECCOMP_SET_MODE_STRICT and SECCOMP_SET_MODE_FILTER; larger ones are questions.
    const SET_MODES: core::ops::RangeInclusive<c_long> = 0..=1;
    match number {
        libc::SYS_seccomp if SET_MODES.contains(&first) => enter(),
        libc::SYS_prctl if restricts(first) => enter(),
        _ if !stub::engaged() => {}
        libc::SYS_fork | libc::SYS_clone | libc::SYS_clone3 => {
            thread::unarmed::disarm_here(Suspended::No);
            // clone3 takes a structure, which begins with the flags.
            let flags = match number {
                libc::SYS_clone => first.cast_unsigned(),
                libc::SYS_clone3 => sys::probe(first.cast_unsigned()).unwrap_or(0),
                _ => 0,
            };
            note_thread(flags);
            note_child(flags);
        }
        _ if is_met(number, second, fourth) => return core::ptr::null_mut(),
        _ => {}
    }
    stub::target(&slots::syscall)
}

/// Before clone: what makes a thread comes here, and calls before the constructor.
extern "C" fn before_clone(_: *mut c_void, _: *mut c_void, flags: c_uint) -> *mut c_void {
    note_thread(flags.into());
    stub::target(&slots::clone)
}

/// Counts a thread that cannot be sampled.
fn note_thread(flags: u64) {
    let is_thread = flags & u64::from(libc::CLONE_THREAD.cast_unsigned()) != 0;
    if let (true, true, Some(process)) = (is_thread, process::active(), process::current()) {
        process.arena.count_unsampled_thread();
        messages::warn_once(
            Warning::ThreadByClone,
            "a thread is not sampled: made by clone(2), unknown to the C library",
        );
    }
}

/// Counts a process that is not sampled.
fn note_child(flags: u64) {
    let shares_memory = flags & u64::from(libc::CLONE_VM.cast_unsigned()) != 0;
    if let (false, true, Some(process)) = (shares_memory, process::active(), process::current()) {
        process.arena.count_left_out(LeftOut::ByHand, 1);
    }
}

fn enter() {
    if process::active() {
        lifecycle::seal();
        stub::disengage();
        stub::stop_watching();
    } else if process::current().is_none() {
        lifecycle::seal_inert();
        stub::stop_watching();
    }
}

/// Defines a function that jumps on, unless `question` about its arguments leads to `4:`.
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
                jump_on!(),
                real = sym slots::$name,
                engaged = sym WATCHING,
                before = sym $before,
            )
        }
    )*};
}

watched! {
    /// prctl(2); 22 is PR_SET_SECCOMP, 59 PR_SET_SYSCALL_USER_DISPATCH.
    prctl = before_prctl, "cmp edi, 22" "je 4f" "cmp edi, 59" "je 4f";
    /// clone(2); bit 16 of its third argument is CLONE_THREAD.
    clone = before_clone, "bt edx, 16" "jc 4f";
}

/// syscall(2).
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = "csprof_waits")]
pub(crate) unsafe extern "C" fn syscall() {
    naked_asm!(
        ".cfi_startproc",
        fast_path!(),
        // Not found yet: before the constructor.
        "test r11, r11",
        "jz 4f",
        "cmp rdi, 511",
        "ja 3f",
        // No argument is there.
        "lea r10, [rip + {watched}]",
        "bt qword ptr [r10], rdi",
        "jc 4f",
        "3:",
        "jmp r11",
        "4:",
        save_arguments!(),
        "call {before}",
        "test rax, rax",
        "jnz 6f",
        "mov rdi, [rbp - 8]",
        "call {hold}",
        "mov [rsp], rax",
        "mov rax, [rbp - 8]",
        "mov rdi, [rbp - 16]",
        "mov rsi, [rbp - 24]",
        "mov rdx, [rbp - 32]",
        "mov r10, [rbp - 40]",
        "mov r8, [rbp - 48]",
        "mov r9, [rbp + 16]",
        "syscall",
        "mov [rbp - 8], rax",
        "cmp qword ptr [rsp], 0",
        "je 5f",
        // Another thread may have entered a sandbox meanwhile, where system calls can be deadly.
        "cmp byte ptr [rip + {sampled}], 0",
        "je 5f",
        "mov edi, {unblock}",
        "mov rsi, rsp",
        "xor edx, edx",
        "mov r10d, 8",
        "mov eax, {sigprocmask}",
        // The sample comes here.
        "syscall",
        "5:",
        "mov rdi, [rbp - 8]",
        "call {answer}",
        ".cfi_remember_state",
        drop_frame!(),
        "ret",
        ".cfi_restore_state",
        "6:",
        jump_on!(),
        real = sym slots::syscall,
        engaged = sym WATCHING,
        sampled = sym ENGAGED,
        watched = sym WATCHED,
        before = sym before_syscall,
        hold = sym hold_syscall,
        answer = sym answer,
        unblock = const libc::SIG_UNBLOCK,
        sigprocmask = const libc::SYS_rt_sigprocmask,
    )
}

const _: () = assert!(libc::PR_SET_SECCOMP == 22 && libc::CLONE_THREAD == 1 << 16);
