//! The lock of the loader's list, with an end to the wait for it.
//!
//! Setup side. dl_iterate_phdr(3) holds that lock while it calls back, and in the callback a
//! program may wait for other threads: profilers stop them there. If one of these were in a look,
//! with all signals blocked until it has the lock, both would wait for ever.
//!
//! glibc has no name for the lock. It is found: a recursive mutex in the loader's own data
//! (`_rtld_global`) that this thread holds once in a callback, and not before. Where none is, or
//! several are, as in a C library older than 2.34 before the first thread, the wait has no end.

#![expect(unsafe_code, reason = "a mutex of the loader's")]

use alloc::vec;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::c_library;
use crate::sys::{self, Clock};

/// How long a look waits: a look of another thread takes milliseconds, on a busy machine tens.
const LONGEST_WAIT_NS: u64 = 100_000_000;
/// How long a pause between two tries is at most.
const LONGEST_PAUSE_NS: u32 = 1_000_000;

/// Of the loader's data, as many bytes are searched; glibc 2.41 has 4.4 KB. There may be fewer.
const SEARCHED: usize = 8192;
/// A divisor of that.
const READ_AT_ONCE: usize = 256;

/// The beginning of `pthread_mutex_t` (struct_mutex.h).
#[repr(C)]
struct Mutex {
    lock: u32,
    count: u32,
    owner: u32,
    users: u32,
    kind: u32,
}

/// Null where it is not known.
static LOCK: AtomicPtr<libc::pthread_mutex_t> = AtomicPtr::new(core::ptr::null_mut());

/// Finds the lock. `in_callback` calls what it is given in a callback of dl_iterate_phdr(3), once.
pub(super) fn start(in_callback: impl FnOnce(&mut dyn FnMut())) {
    let data = c_library::next(c"_rtld_global");
    if data.is_null() {
        return;
    }
    let (mut before, mut within) = (vec![0; SEARCHED], vec![0; SEARCHED]);
    read(data.addr(), &mut before);
    in_callback(&mut || read(data.addr(), &mut within));
    let me = sys::tid();
    let is_taken = |at: &usize| is_held(&within[*at..], me) && !is_held(&before[*at..], me);
    let mut taken = (0..SEARCHED).step_by(align_of::<libc::pthread_mutex_t>()).filter(is_taken);
    if let (Some(at), None) = (taken.next(), taken.next()) {
        // Relaxed: a mutex that was there before this library.
        LOCK.store(data.wrapping_byte_add(at).cast(), Ordering::Relaxed);
    }
    // Its functions are looked for now: the first look may be where the loader may not be asked.
    if take(|| false).is_none() {
        LOCK.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Copies what is there from `address` on; zeros stay for the rest.
fn read(address: usize, to: &mut [u8]) {
    for (number, bytes) in to.chunks_mut(READ_AT_ONCE).enumerate() {
        if !sys::probe_into((address + number * READ_AT_ONCE) as u64, bytes) {
            return;
        }
    }
}

/// Whether these bytes begin with a recursive mutex that a thread holds once.
fn is_held(bytes: &[u8], thread: u32) -> bool {
    let word = |at: usize| {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map(u32::from_ne_bytes)
    };
    word(offset_of!(Mutex, lock)).is_some_and(|lock| lock != 0)
        && word(offset_of!(Mutex, count)) == Some(1)
        && word(offset_of!(Mutex, owner)) == Some(thread)
        && word(offset_of!(Mutex, users)) == Some(1)
        && word(offset_of!(Mutex, kind)) == Some(libc::PTHREAD_MUTEX_RECURSIVE.cast_unsigned())
}

/// The lock, held by this thread until it is dropped; or nothing to hold where it is not known.
pub(super) struct Held(Option<*mut libc::pthread_mutex_t>);

/// Whether the last wait was in vain: until the lock was got once, it is tried only.
static WAS_VAIN: AtomicBool = AtomicBool::new(false);

/// Waits for the lock, but not for ever: `None` if somebody else has it for too long, or `is_vain`
/// while it is waited for. All signals are blocked.
///
/// By tries and pauses: pthread_mutex_timedlock(3) goes by a clock that can be set back.
pub(super) fn take(is_vain: impl Fn() -> bool) -> Option<Held> {
    let lock = LOCK.load(Ordering::Relaxed);
    if lock.is_null() {
        return Some(Held(None));
    }
    let start = sys::now_ns(Clock::Monotonic);
    let mut pause = 10_000;
    while !is_vain() {
        // SAFETY: the loader's own mutex, which is there as long as the process.
        if unsafe { c_library::pthread_mutex_trylock(lock) } == 0 {
            // Relaxed, here and below: it only says how long to wait.
            WAS_VAIN.store(false, Ordering::Relaxed);
            return Some(Held(Some(lock)));
        }
        let waited = sys::now_ns(Clock::Monotonic).saturating_sub(start);
        if waited >= LONGEST_WAIT_NS || WAS_VAIN.load(Ordering::Relaxed) {
            WAS_VAIN.store(true, Ordering::Relaxed);
            return None;
        }
        sys::sleep_ns(pause);
        pause = (2 * pause).min(LONGEST_PAUSE_NS);
    }
    None
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            // SAFETY: taken in `take`, by this thread.
            unsafe { c_library::pthread_mutex_unlock(lock) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_found_and_not_waited_for_without_end() {
        let in_loader = |work: &mut dyn FnMut()| {
            let _ = crate::modules::discovery::in_loader(work);
        };
        let _alone = crate::modules::tests::LOOKS.lock();
        start(in_loader);
        assert!(!LOCK.load(Ordering::Relaxed).is_null());
        let take_elsewhere =
            || std::thread::scope(|scope| scope.spawn(|| take(|| false).is_some()).join().unwrap());
        in_loader(&mut || {
            assert!(take(|| false).is_some(), "its own");
            assert!(!take_elsewhere() && !take_elsewhere());
        });
        assert!(take_elsewhere());
    }
}
