//! SIGTRAP, while it is [on loan](crate::sources::loan), and after that.
//!
//! The loan ends when the program sets an action for SIGTRAP or waits for it. Until then a SIGTRAP
//! that is no sample is one that the program would meet with the default action, and so it does.

#![expect(unsafe_code, reason = "handlers and actions of the program")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::mask::{believed_in, block_interrupted, settle};
use super::others::{Handler, SetAction, others, sigaction};
use super::way_back;
use super::words::{as_kernel_keeps, first_word, mask_of, mask_of_signal};
use crate::preload::under_way::Waits;
use crate::sampling::entry::on_trap;
use crate::sealed::sealed;
use crate::sources::loan::{self, TRAP, bit};
use crate::sys::{self, Disposition, Mask};
use crate::thread;

/// What answers a SIGTRAP that is no sample where the program has no handler.
///
/// # Safety
/// To be called as a handler.
pub(in crate::preload) unsafe extern "C" fn by_default(
    _: c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    // SAFETY: the kernel passes live structures.
    let (info, context) = unsafe { (&*info, &mut *context) };
    let by_program = info.si_code <= 0;
    if by_program && believed_in(context) & bit(TRAP) != 0 {
        block_interrupted(TRAP, context);
        if sealed() {
            return;
        }
        sys::drop_samples(TRAP, is_sample);
    } else {
        let _ = sys::set_disposition(TRAP, Disposition::Default);
    }
    // It is blocked until this handler returns, and then comes to what it would have come to.
    sys::send_again(info, by_program && info.si_code != libc::SI_TKILL);
}

fn is_sample(info: &libc::siginfo_t) -> bool {
    info.si_code == loan::TRAP_PERF
}

/// To be called when the program shows that it has a use for SIGTRAP.
pub(super) fn give_back(why: &str) {
    if loan::on_loan() {
        thread::registry::give_trap_back(why);
        // In a handler that has interrupted a call which was held: who leaves that by a jump does
        // not know that it was held.
        if Waits::any() {
            sys::unblock(Mask(bit(TRAP)));
        }
        settle();
        if sys::pending() & bit(TRAP) != 0 {
            sys::drop_samples(TRAP, is_sample);
        }
    }
}

/// Whether the program's action asks for the `siginfo_t`. [`on_trap`] needs it in any case.
static TELLS: AtomicBool = AtomicBool::new(false);

/// Flags and mask with which the program has asked for the default action, of which the kernel does
/// not hear.
static OF_DEFAULT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Its action, as sigaction(2), once there has been a loan: [`on_trap`] stands between kernel and
/// program.
///
/// # Safety
/// As sigaction(2).
pub(super) unsafe fn action(
    set_action: SetAction,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // Read before writing: the program may pass one structure for both.
    // SAFETY: not null, so the program points to an action.
    let wanted = (!new.is_null()).then(|| unsafe { new.read() });
    if !old.is_null() {
        // SAFETY: not null, so the program points to room for an action.
        unsafe { old.write(present(set_action)) };
    }
    let Some(mut wanted) = wanted else { return 0 };
    TELLS.store(wanted.sa_flags & libc::SA_SIGINFO != 0, Ordering::Relaxed);
    match wanted.sa_sigaction {
        libc::SIG_DFL => {
            // SAFETY: a live local.
            let mask = unsafe { first_word(&raw const wanted.sa_mask) };
            let (flags, mask) = as_kernel_keeps(wanted.sa_flags, mask);
            OF_DEFAULT[0].store(flags, Ordering::Relaxed);
            OF_DEFAULT[1].store(mask, Ordering::Relaxed);
            loan::set_program_handler(by_default as *mut c_void);
            let stays = Disposition::Handle(on_trap);
            // Every argument is valid.
            let _ = sys::set_disposition(TRAP, stays);
            return 0;
        }
        libc::SIG_IGN => give_back("the program ignores SIGTRAP"),
        handler => {
            give_back("the program has a handler of its own for SIGTRAP");
            loan::set_program_handler(core::ptr::with_exposed_provenance_mut(handler));
            wanted.sa_sigaction = on_trap as *const () as usize;
            wanted.sa_flags |= libc::SA_SIGINFO;
        }
    }
    // SAFETY: a live local; no old action is asked for.
    unsafe { others(set_action, TRAP, &raw const wanted, core::ptr::null_mut()) }
}

/// What the program has asked for.
fn present(set_action: SetAction) -> libc::sigaction {
    // SAFETY: all zeros is the default action.
    let mut present: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: only asks; the result is a live local.
    unsafe { others(set_action, TRAP, core::ptr::null(), &raw mut present) };
    told(present)
}

/// What the program has asked for, by what the kernel has.
pub(super) fn told(mut kernels: libc::sigaction) -> libc::sigaction {
    if kernels.sa_sigaction == on_trap as *const () as usize {
        kernels.sa_sigaction = handler_told();
        if kernels.sa_sigaction == libc::SIG_DFL {
            let [flags, mask] = &OF_DEFAULT;
            kernels.sa_flags = flags.load(Ordering::Relaxed) as c_int;
            kernels.sa_mask = mask_of(mask.load(Ordering::Relaxed));
            kernels.sa_restorer = None;
            return kernels;
        }
    }
    // Also of a handler that was called once (SA_RESETHAND): the kernel has its flags still.
    if !TELLS.load(Ordering::Relaxed) {
        kernels.sa_flags &= !libc::SA_SIGINFO;
    }
    kernels
}

/// The program's handler where the kernel has [`on_trap`].
pub(super) fn handler_told() -> Handler {
    let handler = loan::program_handler();
    if handler == by_default as *mut c_void { libc::SIG_DFL } else { handler.expose_provenance() }
}

/// Its handler, as the program knows it.
pub(super) fn asked() -> Handler {
    present(sigaction::real).sa_sigaction
}

/// Its action, as signal(2) and its relatives, which differ in their flags.
pub(super) fn handler(handler: Handler, flags: c_int) -> Handler {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut wanted: libc::sigaction = unsafe { core::mem::zeroed() };
    let mut before = wanted;
    wanted.sa_sigaction = handler;
    wanted.sa_flags = flags;
    wanted.sa_mask = mask_of(mask_of_signal(TRAP, flags));
    // SAFETY: live locals.
    let result = unsafe { action(sigaction::real, &raw const wanted, &raw mut before) };
    if result != 0 {
        return libc::SIG_ERR;
    }
    way_back::lead_back(TRAP);
    before.sa_sigaction
}
