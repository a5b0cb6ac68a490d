//! Mappings that the kernel locks in memory as they are made.

use core::sync::atomic::{AtomicBool, Ordering};

use super::call::call;

/// Whether the kernel locks each new mapping: mlockall(2), `MCL_FUTURE`.
static LOCKED: AtomicBool = AtomicBool::new(false);

/// To be called when the program is about to ask for that.
pub fn note_locking() {
    // Relaxed: a mapping that another thread makes meanwhile is locked by chance anyway.
    LOCKED.store(true, Ordering::Relaxed);
}

/// Leaves a new mapping of the collector's out of what the program may lock (RLIMIT_MEMLOCK), if
/// the kernel has locked it. Either side.
pub(super) fn leave_unlocked(address: usize, size: usize) {
    if LOCKED.load(Ordering::Relaxed) {
        // SAFETY: what is in the mapping stays there.
        let _ = unsafe { call(libc::SYS_munlock, [address, size, 0, 0, 0, 0]) };
    }
}
