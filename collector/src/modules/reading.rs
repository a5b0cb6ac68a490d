//! The load map of the moment: published by the setup side, read in handlers.
//!
//! A published map is not changed, and not freed while a handler could read it: readers are
//! counted, and whoever has put another map in its place frees it at a moment without any.

#![expect(unsafe_code, reason = "publication of the load map to signal handlers")]

use alloc::boxed::Box;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::load_map::LoadMap;
use crate::occupancy::{Occupancy, Occupant};

static CURRENT: AtomicPtr<LoadMap> = AtomicPtr::new(null_mut());
/// Those that may hold a reference to a load map right now.
static READERS: Occupancy = Occupancy::new();

/// The load map, held for the length of one handler. Signal side.
pub struct Reading {
    map: &'static LoadMap,
    _reader: Occupant,
}

impl Reading {
    /// Takes the present map; `None` before there is one.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let reader = READERS.enter();
        // SAFETY: null or a published map, which is not freed while READERS counts us. Either we
        // are counted before the publisher looks, or this is the new map.
        let map = unsafe { CURRENT.load(Ordering::SeqCst).as_ref() };
        map.map(|map| Self { map, _reader: reader })
    }

    /// The map.
    #[must_use]
    pub const fn map(&self) -> &LoadMap {
        self.map
    }
}

/// A load map that has been replaced. Dropped when no handler can be reading it any more.
pub(super) struct Replaced(NonNull<LoadMap>);

// SAFETY: a load map is immutable plain data.
unsafe impl Send for Replaced {}

impl Drop for Replaced {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `publish`; no reader is left, by contract.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Puts `map` in the place of the present one, which is returned.
pub(super) fn publish(map: LoadMap) -> Option<Replaced> {
    let old = CURRENT.swap(Box::into_raw(Box::new(map)), Ordering::SeqCst);
    NonNull::new(old).map(Replaced)
}

/// Takes the present map away.
pub(super) fn take() -> Option<Replaced> {
    NonNull::new(CURRENT.swap(null_mut(), Ordering::SeqCst)).map(Replaced)
}

/// In a forked child, which has one thread of all that may have been reading; whether any was.
pub(super) fn forget_readers() -> bool {
    READERS.forget()
}

/// Waits a little for a moment in which nobody holds a load map; whether there was one.
pub(super) fn wait_for_readers() -> bool {
    READERS.wait_briefly()
}

/// Waits until all that took a load map before have given it back; a second at most.
pub fn outwait_readers() {
    READERS.outwait();
}
