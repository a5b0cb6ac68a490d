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
use super::real::{self, Real};
use super::stub;
use super::view::sampled;
use crate::arch::{self, Call, Route};
use crate::sources::calls::LOCKS_COUNT;
use crate::{messages, modules};

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
    LOCKS_COUNT.load(Ordering::Relaxed) && !ARE_WATCHED.load(Ordering::Relaxed) && sampled()
}

/// Whether ThreadSanitizer watches who takes which locks in which order: one that is taken if it is
/// free tells it of no order, and its reports name the code that calls it.
static ARE_WATCHED: AtomicBool = AtomicBool::new(false);

/// Looks who watches. Setup side.
pub(super) fn leave_watched() {
    if LOCKS_COUNT.load(Ordering::Relaxed) && modules::has_thread_sanitizer() {
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
        try_first(call, real, real::pthread_mutex_trylock)
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
    try_first(call, real, real::pthread_rwlock_tryrdlock)
}

pub(super) extern "C" fn before_write_lock(call: &mut Call, real: &Real) -> Route {
    try_first(call, real, real::pthread_rwlock_trywrlock)
}

extern "C" fn before_mtx(call: &mut Call, real: &Real) -> Route {
    try_first(call, real, real::mtx_trylock)
}

/// Stubs that look at [`LOCKS_COUNT`] alone unless it is set.
macro_rules! counted {
    ($($(#[$attribute:meta])* $name:ident: $before:path;)*) => {$(
        arch::stub! {
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            #[unsafe(link_section = "csprof_waits")]
            {} call $name = super::real::slots::$name, LOCKS_COUNT, $before, after
        }
    )*};
}

counted! {
    /// pthread_mutex_lock(3).
    pthread_mutex_lock: before_mutex;
    /// pthread_mutex_timedlock(3).
    pthread_mutex_timedlock: before_mutex;
    /// pthread_mutex_clocklock(3).
    pthread_mutex_clocklock: before;
    /// pthread_rwlock_rdlock(3).
    pthread_rwlock_rdlock: before_read_lock;
    /// pthread_rwlock_timedrdlock(3).
    pthread_rwlock_timedrdlock: before;
    /// pthread_rwlock_clockrdlock(3).
    pthread_rwlock_clockrdlock: before;
    /// pthread_rwlock_wrlock(3).
    pthread_rwlock_wrlock: before_write_lock;
    /// pthread_rwlock_timedwrlock(3).
    pthread_rwlock_timedwrlock: before;
    /// pthread_rwlock_clockwrlock(3).
    pthread_rwlock_clockwrlock: before;
    /// mtx_lock(3).
    mtx_lock: before_mtx;
    /// mtx_timedlock(3).
    mtx_timedlock: before_mtx;
    /// pthread_cond_wait(3).
    pthread_cond_wait: before;
    /// pthread_cond_timedwait(3).
    pthread_cond_timedwait: before;
    /// pthread_cond_clockwait(3).
    pthread_cond_clockwait: before;
    /// cnd_wait(3).
    cnd_wait: before;
    /// cnd_timedwait(3).
    cnd_timedwait: before;
    /// sem_wait(3).
    sem_wait: before;
    /// pthread_barrier_wait(3).
    pthread_barrier_wait: before;
    /// pthread_join(3).
    pthread_join: before;
    /// pthread_timedjoin_np(3).
    pthread_timedjoin_np: before;
    /// pthread_clockjoin_np(3).
    pthread_clockjoin_np: before;
    /// thrd_join(3).
    thrd_join: before;
}
