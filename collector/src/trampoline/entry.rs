//! The trampoline's code: where a return lands whose address was replaced.
//!
//! One 16-byte entry per call site ([`sites`]), so the entry's address says where the return
//! leads, whatever else is known. The code is [the architecture's](crate::arch).
//!
//! What the body does, in order:
//! 1. finds the record of the thread, and checks that the return came through the slot that it has
//!    armed, with the address to which this entry returns;
//! 2. adds 1 to the edge count of each cached activation from the innermost to the armed one;
//! 3. arms the next activation outward, if its slot still holds what was seen there;
//! 4. returns to the real address.
//!
//! If a check fails, this is not the return that the thread waits for: its stack was copied or
//! restored, the thread has ended, or it has no record at all. Then only 4 is done. The one
//! exception is a callee that has popped its arguments (`ret imm16`): the armed slot lies less than
//! 64 KB below, and still holds this entry. That is the return of the armed activation.
//!
//! **Samples.** A handler that interrupts the trampoline knows where the thread is going: see
//! [`InterruptedReturn`]. What it must not do is change the record or the path.
//!
//! [`sites`]: super::sites
//! [`InterruptedReturn`]: crate::arch::InterruptedReturn

#![expect(unsafe_code, reason = "assembly")]

use super::sites::{SITES, TABLE};
use super::{Activation, Record};
use crate::arch::{self, STRIDE, trampoline_end, trampoline_start};

arch::trampoline!(SITES, TABLE, Record, Activation);

/// Whether `pc` lies in the trampoline's code, entry or body.
#[must_use]
pub fn is_trampoline_code(pc: u64) -> bool {
    (trampoline_start()..trampoline_end()).contains(&pc)
}

/// The address that stands in an armed slot, of the site that an [`Activation`] has as `mark`.
pub(super) fn address(mark: u32) -> u64 {
    trampoline_start() + u64::from(mark) - STRIDE as u64
}
