//! What paths show of how handlers return.

use core::sync::atomic::{AtomicU64, Ordering};

use csprof_format::address::FrameKey;

use crate::arch;
use crate::unwind::walk::Frame;

/// Where the C library's handlers return to, for paths, since the program's return by csprof's own
/// way; 0 before any does.
static WAY_BACK: AtomicU64 = AtomicU64::new(0);

/// Has paths of handlers show this address of the C library's in the place of [csprof's
/// own](arch::signal_return).
pub fn show_way_back(address: u64) {
    // Relaxed: each who says it says the same.
    WAY_BACK.store(address, Ordering::Relaxed);
}

/// The key of a frame's node, as it is without csprof.
pub(super) fn key(frame: &Frame) -> FrameKey {
    match WAY_BACK.load(Ordering::Relaxed) {
        shown if shown != 0 && frame.address == arch::signal_return() as u64 => {
            FrameKey::new(frame.kind, shown)
        }
        _ => frame.key(),
    }
}
