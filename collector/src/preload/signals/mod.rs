//! The profiling signal stays the collector's: ICS'05 section 2.5.2.
//!
//! A program that installs its own handler for the signal, blocks it or waits for it is told what
//! it would be told alone. What it asked for is remembered, so that asking again gives the answer
//! it expects; and its handler is called for what is no sample:
//!
//! - [`action`]: one remembered action for the process, and for every other signal whether its
//!   handler was to block the profiling signal;
//! - [`mask`]: remembered bits per thread ([`Belief`](super::view::Belief));
//! - [`saved_mask`]: masks that are kept for later;
//! - [`wait`]: waiting with a mask, and waiting for signals;
//! - [`poll`]: waiting for files;
//! - [`relatives`]: functions that wait with a mask, and stand for others;
//! - [`hold`]: waiting for time, semaphores, messages, sockets and terminals, and space in files;
//! - [`transfers`]: reads and writes that move a part of what was asked for;
//! - [`inherit`]: programs that are executed;
//! - [`way_back`]: how its handlers return;
//! - [`alternate_stack`]: the alternate stack, which the collector takes for its handlers;
//! - [`by_number`]: the same calls, made by syscall(2);
//! - [`raise`]: signals that a thread sends itself;
//! - [`trap`]: SIGTRAP, which is the program's unless it has no use for it;
//! - [`histogram`]: the profiler in the C library.
//!
//! Signal masks are passed as the kernel's first word (64 signals): that is all the kernel reads
//! and writes (`sizeof(kernel_sigset_t)` = 8), and callers that know this pass no more.

pub(super) mod action;
mod alternate_stack;
pub(super) mod by_number;
mod histogram;
pub(super) mod hold;
pub(super) mod inherit;
pub(super) mod interruption;
pub(super) mod mask;
mod others;
pub(super) mod poll;
pub(super) mod raise;
pub(super) mod relatives;
pub(super) mod saved_mask;
pub(super) mod transfers;
pub(super) mod trap;
pub(super) mod wait;
mod way_back;
mod words;

use crate::sources::SIGNAL;
use crate::sources::loan::bit;

/// The profiling signal in a word of the kernel's signal mask.
pub(super) const BIT: u64 = bit(SIGNAL);

/// The signals that samples come by, in such a word: the profiling signal, and SIGTRAP on loan.
#[inline]
fn kept() -> u64 {
    crate::sources::loan::signals().0
}
