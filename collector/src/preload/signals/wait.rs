//! Waiting with a mask, and waiting for signals.
//!
//! sigsuspend, ppoll and their kind install a mask for as long as they wait. The signals of samples
//! are *added* to it: a thread that waits burns no CPU, and without this a sample by elapsed time
//! would end the wait with `EINTR`, and one by SIGTRAP come before the signal that ends the wait and have
//! the thread's own mask set again before that signal's handler runs. The timer counts on; the sample arrives, with its full weight,
//! when the wait is over. pause is sigsuspend with the thread's own mask.
//!
//! sigwait, sigwaitinfo, sigtimedwait and signalfd take signals away. The profiling signal is
//! *removed* from what they wait for. A program that waits for SIGTRAP [has it back](super::trap).
//!
//! All but signalfd are cancellation points: the forced unwinding of pthread_cancel(3) passes
//! through the wrapper's frame, hence the [stubs](super::super::stub).

#![expect(unsafe_code, reason = "exported C functions with pointers from the program")]

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use libc::sigset_t;

use super::interruption::own_mask;
use super::words::{first_word, mask_of};
use super::{BIT, kept, trap};
use crate::messages::{self, Warning};
use crate::preload::real::{self, Real, slots};
use crate::preload::stub::{
    self, ENGAGED, drop_frame, fast_path, restore_arguments, save_arguments,
};
use crate::preload::view::{Belief, sampled};
use crate::sources::loan::{TRAP, bit};

/// What a stub does: the function to call, and the mask to give it.
#[repr(C)]
pub(super) struct Prepared {
    pub(super) mask: *const sigset_t,
    pub(super) target: *mut c_void,
}

/// Fills `room` with the program's mask, changed by `change`.
///
/// # Safety
/// `mask` is null or the program's mask; `room` is space for one.
unsafe fn prepare(
    mask: *const sigset_t,
    room: *mut sigset_t,
    real: &Real,
    change: fn(u64) -> u64,
) -> Prepared {
    let target = stub::target(real);
    if mask.is_null() || !sampled() {
        return Prepared { mask, target };
    }
    // SAFETY: not null, so the program points to a mask.
    let word = unsafe { first_word(mask) };
    // SAFETY: the caller vouches for `room`.
    unsafe { room.write(mask_of(change(word))) };
    Prepared { mask: room, target }
}

unsafe extern "C" fn with_signal(
    mask: *const sigset_t,
    room: *mut sigset_t,
    real: &Real,
) -> Prepared {
    if mask.is_null()
        && let Some(own) = own_mask()
    {
        // SAFETY: as the stub that calls this provides.
        unsafe { room.write(mask_of(own)) };
        Belief::Waited.set(true);
        return Prepared { mask: room, target: stub::target(real) };
    }
    // SAFETY: as the stub that calls this provides.
    unsafe { prepare(mask, room, real, blocking) }
}

unsafe extern "C" fn without_signal(
    mask: *const sigset_t,
    room: *mut sigset_t,
    real: &Real,
) -> Prepared {
    // SAFETY: as the stub that calls this provides.
    unsafe { prepare(mask, room, real, awaited) }
}

/// What is blocked meanwhile.
fn blocking(word: u64) -> u64 {
    Belief::Waited.set(true);
    word | kept()
}

/// What may be waited for.
fn awaited(word: u64) -> u64 {
    if word & bit(TRAP) != 0 {
        trap::give_back("the program waits for SIGTRAP");
    }
    if word == BIT {
        messages::warn_once(
            Warning::WaitForSignal,
            "the program waits for SIGPROF alone, which never comes: csprof uses this signal",
        );
    }
    word & !BIT
}

/// For pause: the thread's own mask with the signal, and sigsuspend to wait with it.
unsafe extern "C" fn own_with_signal(
    _: *const sigset_t,
    room: *mut sigset_t,
    real: &Real,
) -> Prepared {
    // SAFETY: `room` is space for a mask; nothing is changed.
    let asked = unsafe { real::sigprocmask(libc::SIG_BLOCK, core::ptr::null(), room) };
    if asked != 0 || !sampled() {
        return Prepared { mask: core::ptr::null(), target: stub::target(real) };
    }
    // SAFETY: written by the call above.
    let word = unsafe { first_word(room) };
    // SAFETY: `room` is space for a mask.
    unsafe { room.write(mask_of(blocking(word))) };
    Prepared { mask: room, target: stub::target(&slots::sigsuspend) }
}

/// Defines functions that differ in the register of their mask and in what is done to it.
macro_rules! waits {
    ($($(#[$attribute:meta])* $name:ident($register:literal) = $real:ident, $prepare:ident;)*) => {$(
        $(#[$attribute])*
        #[unsafe(naked)]
        #[unsafe(link_section = "csprof_waits")]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                fast_path!(),
                save_arguments!(),
                concat!("mov rdi, ", $register),
                "mov rsi, rsp",
                "lea rdx, [rip + {real}]",
                "call {prepare}",
                "mov r11, rdx",
                restore_arguments!(),
                concat!("mov ", $register, ", rax"),
                "call r11",
                drop_frame!(),
                "ret",
                ".cfi_endproc",
                real = sym slots::$real,
                engaged = sym ENGAGED,
                prepare = sym $prepare,
            )
        }
    )*};
}

waits! {
    /// sigsuspend(2).
    #[unsafe(no_mangle)]
    sigsuspend("rdi") = sigsuspend, with_signal;
    /// sigsuspend(2) under the name that old libraries use.
    #[unsafe(no_mangle)]
    __sigsuspend("rdi") = sigsuspend, with_signal;
    /// ppoll(2).
    #[unsafe(no_mangle)]
    ppoll("rcx") = ppoll, with_signal;
    /// ppoll(2) as programs built with `_FORTIFY_SOURCE` call it.
    #[unsafe(no_mangle)]
    __ppoll_chk("rcx") = __ppoll_chk, with_signal;
    /// pselect(2).
    #[unsafe(no_mangle)]
    pselect("r9") = pselect, with_signal;
    /// epoll_pwait(2).
    #[unsafe(no_mangle)]
    epoll_pwait("r8") = epoll_pwait, with_signal;
    /// epoll_pwait2(2).
    #[unsafe(no_mangle)]
    epoll_pwait2("r8") = epoll_pwait2, with_signal;
    /// pause(2).
    #[unsafe(no_mangle)]
    pause("rdi") = pause, own_with_signal;
    /// sigwait(3).
    #[unsafe(no_mangle)]
    sigwait("rdi") = sigwait, without_signal;
    /// sigwaitinfo(2), for [`hold`](super::hold).
    filtered_sigwaitinfo("rdi") = sigwaitinfo, without_signal;
    /// sigtimedwait(2), for [`hold`](super::hold).
    filtered_sigtimedwait("rdi") = sigtimedwait, without_signal;
}

/// signalfd(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn signalfd(fd: c_int, mask: *const sigset_t, flags: c_int) -> c_int {
    if mask.is_null() || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { real::signalfd(fd, mask, flags) };
    }
    // SAFETY: not null, so the program points to a mask.
    let filtered = mask_of(awaited(unsafe { first_word(mask) }));
    // SAFETY: a live local and the program's own arguments.
    unsafe { real::signalfd(fd, &raw const filtered, flags) }
}
