//! Whether the process has given up system calls.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::occupancy::Occupancy;

static SEALED: AtomicBool = AtomicBool::new(false);

/// Samples of calls that may still make system calls: from before they look whether the process is
/// sealed until after the last of them.
pub static SAMPLES_OF_CALLS: Occupancy = Occupancy::new();

/// Whether the process has given up system calls: see `lifecycle::seal`.
#[must_use]
pub fn sealed() -> bool {
    // Sequentially consistent, as in `seal`: who looks is counted before, so either it
    // sees this or `seal` waits for it.
    SEALED.load(Ordering::SeqCst)
}

/// From here on it is.
pub fn set_sealed() {
    SEALED.store(true, Ordering::SeqCst);
}
