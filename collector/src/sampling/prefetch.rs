//! Asks for what a sample will read, all at once.
//!
//! SIGNAL side. The program has had a millisecond or more to fill the processor's caches with data
//! of its own, so each line of the collector's comes from memory, in some 100 ns; and each leads to the
//! next, so that they come one by one. But where most of them are is known from the start: the
//! thread's state, and what it points to. Fetched together they come in the time of two or three,
//! some of it while the kernel reads the thread's clock.
//!
//! Nothing here changes anything, and nothing depends on it but time.

use core::mem::offset_of;

use crate::arena::ThreadArena;
use crate::modules;
use crate::sys;
use crate::thread::Thread;

/// The thread's state, as far as a sample uses it: up to the first segments of its nodes.
#[inline]
pub(super) fn state(thread: *const Thread) {
    const USED: usize = offset_of!(Thread, arena) + ThreadArena::USED;
    for line in (0..USED).step_by(64) {
        sys::prefetch(thread.addr() + line);
    }
    modules::prefetch_map();
}

/// What the state points to; `ip` is the interrupted pc. Waits for the state.
#[inline]
pub(super) fn behind(thread: &mut Thread, ip: u64) {
    thread.arena.prefetch_record();
    for place in thread.cache.places(ip) {
        sys::prefetch(place.addr());
    }
    if let Some(trampoline) = &mut thread.trampoline {
        sys::prefetch_value(trampoline.record());
    }
}

/// What the trampoline's record points to: the armed activation, next to which new ones will be, and
/// its node's caller. Waits for the record.
#[inline]
pub(super) fn path(thread: &mut Thread) {
    if let Some(trampoline) = &mut thread.trampoline {
        let armed = trampoline.record().armed;
        sys::prefetch_value(armed);
        sys::prefetch_value(armed.wrapping_sub(1));
    }
}
