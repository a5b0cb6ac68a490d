//! The load map of the moment: published by the setup side, read in handlers.
//!
//! A published map is not changed, and not freed while a handler could read it: readers are
//! counted, and whoever has put another map in its place frees it at a moment without any.

#![expect(unsafe_code, reason = "publication of the load map to signal handlers")]

use alloc::boxed::Box;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::load_map::LoadMap;
use crate::sys;

static CURRENT: AtomicPtr<LoadMap> = AtomicPtr::new(null_mut());
/// Handlers that may hold a reference to a load map right now.
static READERS: AtomicU32 = AtomicU32::new(0);

/// Threads of which who seals must know that they make no system call any more, and that hold no
/// map.
static CALLERS: AtomicU32 = AtomicU32::new(0);

/// What a thread has that makes system calls around a sample, from before it looks whether the
/// process is sealed until after the last of them. One that is never dropped, for a handler of the
/// program has come in between and left for elsewhere, costs each later seal its whole wait, and
/// nothing else.
pub struct Calling;

impl Calling {
    /// The calling thread is about to look.
    #[must_use]
    pub fn begin() -> Self {
        CALLERS.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        // None that a fork has forgotten.
        let _ = CALLERS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    }
}

/// The load map, held for the length of one handler. Signal side.
pub struct Reading(&'static LoadMap);

impl Reading {
    /// Takes the present map; `None` before there is one.
    #[must_use]
    pub fn begin() -> Option<Self> {
        // Sequentially consistent, as is `publish`: either the reader is counted before the
        // publisher looks, or it sees the new map.
        READERS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: null or a published map, which is not freed while READERS counts us.
        let map = unsafe { CURRENT.load(Ordering::SeqCst).as_ref() };
        if map.is_none() {
            end();
        }
        map.map(Self)
    }

    /// The map.
    #[must_use]
    pub const fn map(&self) -> &LoadMap {
        self.0
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        end();
    }
}

/// A reader less; none that a fork has forgotten.
fn end() {
    let _ = READERS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
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
    CALLERS.store(0, Ordering::SeqCst);
    READERS.swap(0, Ordering::SeqCst) != 0
}

/// Waits a little for a moment in which no handler holds a load map; whether there was one.
pub(super) fn wait_for_readers() -> bool {
    is_none_within(&[&READERS], 100, sys::yield_now)
}

/// Waits until all handlers and samples of calls that began before have ended. A handler takes
/// microseconds, but its thread may have lost the processor in it; a second is the most that this
/// waits.
pub fn outwait_readers() {
    let both = [&READERS, &CALLERS];
    if !is_none_within(&both, 100, sys::yield_now) {
        is_none_within(&both, 1000, || sys::sleep_ns(1_000_000));
    }
}

fn is_none_within(counts: &[&AtomicU32], rounds: u32, pause: impl Fn()) -> bool {
    for _ in 0..rounds {
        if counts.iter().all(|count| count.load(Ordering::SeqCst) == 0) {
            return true;
        }
        pause();
    }
    false
}
