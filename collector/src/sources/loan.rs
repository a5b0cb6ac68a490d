//! SIGTRAP on loan: how `task-clock` reaches a thread without interrupting its system calls.
//!
//! A program with no use for SIGTRAP lends it to the collector. The event then has the thread send
//! the signal to itself when it next returns to user mode (perf_event_open(2), `sigtrap`): the
//! signal costs no interrupt of its own, and a wait that is under way goes on. At the first sign of
//! a use the loan ends, and samples come by [`SIGNAL`], through the event's file.
//!
//! `on_trap` (`sampling/entry.rs`) stays the handler for good, for a thread may be in a system call
//! with a sample that it has yet to send. What is no sample goes on to the program's own handler,
//! on the stack and with the mask that the program asked for, as if the kernel had called it.
//!
//! A loan is taken
//! - from Linux 6.15 on. Before 6.11 the signal was sent from the interrupt; from there on the
//!   kernel could wait for ever for a signal not yet sent when the event's file was closed ("perf:
//!   Fix hang while freeing sigtrap event");
//! - if SIGTRAP has its default action and is not blocked, for that is what children must find;
//! - if nobody traces the process, for debuggers stop at SIGTRAP, or runs it as valgrind does.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::signal_info::SIGNAL;
use crate::sys::{self, Mask, SignalStatus};

/// The signal.
pub const TRAP: i32 = libc::SIGTRAP;

/// `si_code` of an event's signal (include/uapi/asm-generic/siginfo.h).
pub const TRAP_PERF: i32 = 6;

const FIRST_KERNEL: (u32, u32) = (6, 15);

static ON_LOAN: AtomicBool = AtomicBool::new(false);

/// Who handles what is no sample. Null only before the first loan.
static PROGRAM: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Who does where the program has no handler.
static DEFAULT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Whether samples come by SIGTRAP. Either side.
#[inline]
pub fn on_loan() -> bool {
    // Relaxed, here and below: each change is made before the system call that makes it matter.
    ON_LOAN.load(Ordering::Relaxed)
}

/// Whether they do, or did: `on_trap` is the handler.
#[inline]
pub fn was_on_loan() -> bool {
    !program_handler().is_null()
}

/// The signals that samples come by, as a mask.
#[inline]
pub fn signals() -> Mask {
    Mask(bit(SIGNAL) | if on_loan() { bit(TRAP) } else { 0 })
}

/// A signal in a mask.
pub const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Takes the loan, if it may be taken: says why not. `default` answers what is no sample.
pub fn borrow(default: *mut c_void) -> Result<(), &'static str> {
    if sys::kernel_release() < FIRST_KERNEL {
        return Err("the kernel is older than Linux 6.15");
    }
    if sys::handler_of(TRAP) != libc::SIG_DFL || sys::block(Mask(0)).0 & bit(TRAP) != 0 {
        return Err("SIGTRAP was ignored, handled or blocked at the start");
    }
    let status = SignalStatus::read();
    if status.traced {
        return Err("the program is being traced");
    }
    if status.caught.0 & bit(TRAP) != 0 {
        return Err("the program runs inside another one that handles its signals");
    }
    DEFAULT.store(default, Ordering::Relaxed);
    set_program_handler(default);
    ON_LOAN.store(true, Ordering::Relaxed);
    Ok(())
}

/// Ends the loan; `false` if there was none.
pub fn give_back() -> bool {
    ON_LOAN.swap(false, Ordering::Relaxed)
}

/// Who handles what is no sample.
pub fn program_handler() -> *mut c_void {
    PROGRAM.load(Ordering::Relaxed)
}

/// Sets who handles what is no sample; returns who did.
pub fn set_program_handler(handler: *mut c_void) -> *mut c_void {
    PROGRAM.swap(handler, Ordering::Relaxed)
}

/// Who handles it where the program has no handler.
pub fn default_handler() -> *mut c_void {
    DEFAULT.load(Ordering::Relaxed)
}
