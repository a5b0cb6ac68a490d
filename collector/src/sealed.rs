//! Whether the process has given up system calls.

use core::sync::atomic::{AtomicBool, Ordering};

static SEALED: AtomicBool = AtomicBool::new(false);

/// Whether the process has given up system calls: see `lifecycle::seal`.
#[must_use]
pub fn sealed() -> bool {
    // Sequentially consistent, as in `seal`: a handler is counted before it looks, so either it
    // sees this or `seal` waits for it.
    SEALED.load(Ordering::SeqCst)
}

/// From here on it is.
pub fn set_sealed() {
    SEALED.store(true, Ordering::SeqCst);
}
