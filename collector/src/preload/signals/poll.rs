//! Waiting for files: poll, select, epoll_wait.
//!
//! The kernel never goes on with these after a handler has run, whatever its flags (signal(7)), so a
//! sample that comes while the thread enters or leaves the wait would end it with `EINTR`. The CPU
//! timers signal at the kernel's tick, which does not meet that moment; SIGTRAP waits for the end of the
//! system call. `task-clock` without SIGTRAP does meet it, in one wait of fifty at 5000 samples per
//! second, and `realtime` meets every wait that is longer than its period. There each of these
//! functions is its relative that waits with a mask: the thread's own, with the profiling signal. The
//! sample comes right after the wait, and stands for all of it.

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::arch::naked_asm;
use core::ffi::c_int;
use core::mem::offset_of;

use libc::{timespec, timeval};

use super::interruption::own_mask;
use super::wait::Prepared;
use crate::preload::real::{Real, slots};
use crate::preload::stub::{
    self, ENGAGED, drop_frame, fast_path, restore_arguments, save_arguments,
};
use crate::sys::{self, Clock};

/// What a stub has room for, at its stack pointer: [`save_arguments!`] leaves 128 bytes.
#[repr(C)]
struct Room {
    /// The kernel reads one word of a mask.
    mask: u64,
    time: timespec,
    began_ns: u64,
}

const _: () = assert!(size_of::<Room>() <= 128);

fn unchanged(real: &Real) -> Prepared {
    Prepared { mask: core::ptr::null(), target: stub::target(real) }
}

/// Fills the room, for ppoll. `bytes` is the size of the array of `count` files, as far as the
/// compiler knew it.
///
/// # Safety
/// `room` is space for one.
unsafe extern "C" fn prepare_poll(
    timeout_ms: c_int,
    room: *mut Room,
    real: &Real,
    bytes: usize,
    count: usize,
) -> Prepared {
    if bytes / size_of::<libc::pollfd>() < count {
        return unchanged(real);
    }
    let Some(mask) = own_mask() else { return unchanged(real) };
    let timeout_ms = i64::from(timeout_ms.max(0));
    let time = timespec { tv_sec: timeout_ms / 1000, tv_nsec: timeout_ms % 1000 * 1_000_000 };
    // SAFETY: the caller vouches for it.
    unsafe { room.write(Room { mask, time, began_ns: 0 }) };
    Prepared { mask: room.cast(), target: stub::target(&slots::ppoll) }
}

/// Fills the room, for pselect.
///
/// # Safety
/// `room` is space for one; `timeout` is null or the program's time.
unsafe extern "C" fn prepare_select(
    timeout: *const timeval,
    room: *mut Room,
    real: &Real,
) -> Prepared {
    // SAFETY: null or the program's.
    let asked = unsafe { timeout.as_ref() }.map_or((0, 0), |time| (time.tv_sec, time.tv_usec));
    let (seconds, microseconds) = asked;
    let Some(tv_sec) = seconds.checked_add(microseconds / 1_000_000) else {
        return unchanged(real);
    };
    if seconds < 0 || microseconds < 0 {
        return unchanged(real);
    }
    let Some(mask) = own_mask() else { return unchanged(real) };
    let time = timespec { tv_sec, tv_nsec: microseconds % 1_000_000 * 1000 };
    // SAFETY: the caller vouches for it.
    unsafe { room.write(Room { mask, time, began_ns: sys::now_ns(Clock::Monotonic) }) };
    Prepared { mask: room.cast(), target: stub::target(&slots::pselect) }
}

/// Tells the program how much of its time is left, as select(2) does on Linux and pselect does not.
///
/// # Safety
/// As [`prepare_select`], which has filled the room.
unsafe extern "C" fn finish_select(timeout: *mut timeval, room: &Room) {
    // SAFETY: null or the program's.
    let Some(timeout) = (unsafe { timeout.as_mut() }) else { return };
    let passed = sys::now_ns(Clock::Monotonic).saturating_sub(room.began_ns);
    let asked = room.time.tv_sec.saturating_mul(1_000_000_000).saturating_add(room.time.tv_nsec);
    let left = asked.saturating_sub(i64::try_from(passed).unwrap_or(i64::MAX)).max(0);
    *timeout = timeval { tv_sec: left / 1_000_000_000, tv_usec: left % 1_000_000_000 / 1000 };
}

/// For epoll_wait: the mask alone makes the difference.
///
/// # Safety
/// `room` is space for one.
unsafe extern "C" fn prepare_epoll(_: u64, room: *mut Room, real: &Real) -> Prepared {
    let Some(mask) = own_mask() else { return unchanged(real) };
    // SAFETY: the caller vouches for it.
    unsafe { (&raw mut (*room).mask).write(mask) };
    Prepared { mask: room.cast(), target: stub::target(&slots::epoll_pwait) }
}

/// Defines exported functions: what is asked before the call, how the call differs if it does, and
/// what is done after that.
macro_rules! waits {
    ($($(#[$doc:meta])* $name:ident: $prepare:ident($before:literal), $change:literal, $after:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "csprof_waits")]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                fast_path!(),
                save_arguments!(),
                $before,
                "mov rsi, rsp",
                "lea rdx, [rip + {real}]",
                "call {prepare}",
                "mov r11, rdx",
                "mov r10, rax",
                restore_arguments!(),
                "test r10, r10",
                "jz 5f",
                $change,
                "call r11",
                "mov [rbp - 8], rax",
                "mov rdi, [rbp - 40]",
                "mov rsi, rsp",
                $after,
                "mov rax, [rbp - 8]",
                ".cfi_remember_state",
                drop_frame!(),
                "ret",
                ".cfi_restore_state",
                "5:",
                "call r11",
                drop_frame!(),
                "ret",
                ".cfi_endproc",
                "/* {time} {finish} */",
                real = sym slots::$name,
                engaged = sym ENGAGED,
                prepare = sym $prepare,
                time = const offset_of!(Room, time),
                finish = sym finish_select,
            )
        }
    )*};
}

waits! {
    /// poll(2).
    poll: prepare_poll("mov r8, rsi
        mov rcx, -1
        mov edi, edx"),
        "mov rcx, r10
         mov eax, edx
         xor edx, edx
         test eax, eax
         js 4f
         lea rdx, [rsp + {time}]
         4:", "";
    /// poll(2) as programs built with `_FORTIFY_SOURCE` call it.
    __poll_chk: prepare_poll("mov r8, rsi
        mov edi, edx"),
        "mov rcx, r10
         mov eax, edx
         xor edx, edx
         test eax, eax
         js 4f
         lea rdx, [rsp + {time}]
         4:", "";
    /// select(2).
    select: prepare_select("mov rdi, r8"),
        "mov r9, r10
         test r8, r8
         jz 4f
         lea r8, [rsp + {time}]
         4:", "call {finish}";
    /// epoll_wait(2).
    epoll_wait: prepare_epoll("mov rdi, r8"), "mov r8, r10", "";
}
