//! Waits of threads for each other: mutexes, read-write locks, condition variables, semaphores,
//! barriers, and ends of threads. Counted is the time that they take.
//!
//! A lock that is free is taken by its function that does not wait, and no clock is read. If that
//! function does not take it, whatever it answers, the real one is called, which knows what to do
//! with a lock that the thread has already.
//!
//! Not so a mutex with a protocol, or a robust one: pthread_mutex_trylock(3) of glibc leaves a
//! mutex that cannot be recovered locked, and who locks it next would wait for ever. Nor a
//! semaphore: sem_wait(3) looks for cancellation before it takes one. These and the other waits are
//! timed from beginning to end. What is left by cancellation is not counted, nor is anything where
//! ThreadSanitizer [watches](ARE_WATCHED).

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use csprof_format::launch::SourceKind;

use super::counted;
use super::real::{Real, functions};
use super::stub::{self, waits};
use super::view::sampled;
use crate::arch::{Call, Route};
use crate::sources::flag::flag;
use crate::{messages, modules};

flag! {
    /// Whether the time is counted in which threads wait for each other.
    pub(super) LOCKS_COUNT: Lock
}

/// Whether the call is counted: its wrapper then calls the real function and asks [`after`].
pub(in crate::preload) fn begin(call: &mut Call) -> bool {
    let counts = is_counted();
    if counts {
        counted::begin(call, SourceKind::Lock);
    } else {
        counted::leave_out(call);
    }
    counts
}

fn is_counted() -> bool {
    // Relaxed: both are written before any other thread is there.
    LOCKS_COUNT.is_set() && !ARE_WATCHED.load(Ordering::Relaxed) && sampled()
}

/// Whether ThreadSanitizer watches who takes which locks in which order: one that is taken if it is
/// free tells it of no order, and its reports name the code that calls it.
static ARE_WATCHED: AtomicBool = AtomicBool::new(false);

/// Looks who watches. Setup side.
pub(super) fn leave_watched() {
    if LOCKS_COUNT.is_set() && modules::has_thread_sanitizer() {
        ARE_WATCHED.store(true, Ordering::Relaxed);
        messages::note(
            "ThreadSanitizer watches locks: waits of threads for each other are not counted in this \
             process",
        );
    }
}

/// After a wait.
pub(in crate::preload) extern "C" fn after(call: &mut Call) {
    counted::end(call, SourceKind::Lock);
}

extern "C" fn before(call: &mut Call, real: &Real) -> Route {
    let calls = usize::from(begin(call));
    Route { target: stub::target(real), calls }
}

functions! {
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int, else libc::ENOSYS;
    fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int, else libc::ENOSYS;
    fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int, else libc::ENOSYS;
    fn mtx_trylock(mutex: *mut c_void) -> c_int, else 2;
}

/// One of the functions that take a lock if it is free, and return 0 then.
type Try = unsafe fn(*mut c_void) -> c_int;

fn try_first(call: &mut Call, real: &Real, try_it: Try) -> Route {
    let lock = core::ptr::with_exposed_provenance_mut(call.arguments[0]);
    // SAFETY: the lock that the program wants to take.
    if is_counted() && unsafe { try_it(lock) } == 0 {
        return Route { target: taken as *mut c_void, calls: 0 };
    }
    before(call, real)
}

extern "C" fn taken() -> c_int {
    0
}

pub(super) extern "C" fn before_mutex(call: &mut Call, real: &Real) -> Route {
    let mutex = core::ptr::with_exposed_provenance(call.arguments[0]);
    // SAFETY: the mutex that the program wants to lock.
    if unsafe { is_plain(mutex) } {
        try_first(call, real, pthread_mutex_trylock::real)
    } else {
        before(call, real)
    }
}

/// Where a mutex has its kind, an `int` (bits/struct_mutex.h). Initializers that are compiled into
/// programs write it there.
const KIND: usize = 16;

/// In it: whether the mutex is robust, inherits priorities, or protects by one (pthreadP.h).
const SPECIAL: c_int = 16 | 32 | 64;

const _: () = {
    let recursive = libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    // SAFETY: plain data, read as bytes that are all initialized.
    let kind = unsafe { (&raw const recursive).byte_add(KIND).cast::<c_int>().read() };
    assert!(kind == libc::PTHREAD_MUTEX_RECURSIVE);
};

/// Whether a mutex is of none of the [`SPECIAL`] kinds.
///
/// # Safety
/// It is one.
unsafe fn is_plain(mutex: *const libc::pthread_mutex_t) -> bool {
    // SAFETY: within the mutex. It is written when the mutex is made, and its flags for elision at
    // any time.
    let kind = unsafe { mutex.byte_add(KIND).cast::<c_int>().read_volatile() };
    kind & SPECIAL == 0
}

pub(super) extern "C" fn before_read_lock(call: &mut Call, real: &Real) -> Route {
    try_first(call, real, pthread_rwlock_tryrdlock::real)
}

pub(super) extern "C" fn before_write_lock(call: &mut Call, real: &Real) -> Route {
    try_first(call, real, pthread_rwlock_trywrlock::real)
}

extern "C" fn before_mtx(call: &mut Call, real: &Real) -> Route {
    try_first(call, real, mtx_trylock::real)
}

waits! {
    /// pthread_mutex_lock(3).
    call pthread_mutex_lock where LOCKS_COUNT: before_mutex, after;
    /// pthread_mutex_timedlock(3).
    call pthread_mutex_timedlock where LOCKS_COUNT: before_mutex, after;
    /// pthread_mutex_clocklock(3).
    call pthread_mutex_clocklock where LOCKS_COUNT: before, after;
    /// pthread_rwlock_rdlock(3).
    call pthread_rwlock_rdlock where LOCKS_COUNT: before_read_lock, after;
    /// pthread_rwlock_timedrdlock(3).
    call pthread_rwlock_timedrdlock where LOCKS_COUNT: before, after;
    /// pthread_rwlock_clockrdlock(3).
    call pthread_rwlock_clockrdlock where LOCKS_COUNT: before, after;
    /// pthread_rwlock_wrlock(3).
    call pthread_rwlock_wrlock where LOCKS_COUNT: before_write_lock, after;
    /// pthread_rwlock_timedwrlock(3).
    call pthread_rwlock_timedwrlock where LOCKS_COUNT: before, after;
    /// pthread_rwlock_clockwrlock(3).
    call pthread_rwlock_clockwrlock where LOCKS_COUNT: before, after;
    /// mtx_lock(3).
    call mtx_lock where LOCKS_COUNT: before_mtx, after;
    /// mtx_timedlock(3).
    call mtx_timedlock where LOCKS_COUNT: before_mtx, after;
    /// pthread_cond_wait(3).
    call pthread_cond_wait where LOCKS_COUNT: before, after;
    /// pthread_cond_timedwait(3).
    call pthread_cond_timedwait where LOCKS_COUNT: before, after;
    /// pthread_cond_clockwait(3).
    call pthread_cond_clockwait where LOCKS_COUNT: before, after;
    /// cnd_wait(3).
    call cnd_wait where LOCKS_COUNT: before, after;
    /// cnd_timedwait(3).
    call cnd_timedwait where LOCKS_COUNT: before, after;
    /// sem_wait(3).
    call sem_wait where LOCKS_COUNT: before, after;
    /// pthread_barrier_wait(3).
    call pthread_barrier_wait where LOCKS_COUNT: before, after;
    /// pthread_join(3).
    call pthread_join where LOCKS_COUNT: before, after;
    /// pthread_timedjoin_np(3).
    call pthread_timedjoin_np where LOCKS_COUNT: before, after;
    /// pthread_clockjoin_np(3).
    call pthread_clockjoin_np where LOCKS_COUNT: before, after;
    /// thrd_join(3).
    call thrd_join where LOCKS_COUNT: before, after;
}
