//! Threads: each is sampled from its first instruction to its last destructor.
//!
//! ICS'05 section 2.5.5. A stub gives the real pthread_create a start routine of its own,
//! which prepares the thread and then *jumps* to the program's: no frame of the collector stays on
//! the stack, and what the routine returns goes where it would have gone. Preparation unblocks the
//! profiling signal, since programs block all signals around thread creation (xz does).
//!
//! A thread ends by returning, by pthread_exit or by cancellation; in all three the C library runs
//! the destructors of thread-specific data, and that is where the collector lets go of it.

#![expect(unsafe_code, reason = "stubs in front of C functions and a start routine in assembly")]

use crate::c_library;
use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use libc::{pthread_attr_t, pthread_key_t};

use super::real::Real;
use super::signals::mask::{believe, believed, really_blocked};
use super::signals::saved_mask::blocked_by;
use super::stub::wrappers;
use super::view::sampled;
use crate::arch::{self, Call, Route};
use crate::modules;
use crate::thread::{self, own_stack::AskedStack};

/// What a new thread is given in place of its argument.
struct Birth {
    /// The program's start routine.
    start: usize,
    argument: usize,
    stack: AskedStack,
    /// What the thread thinks that it has blocked: its attributes say, or its creator's belief.
    blocked: u64,
}

/// Where the new thread goes on, in the registers in which the C ABI returns two words.
#[repr(C)]
struct Onward {
    start: usize,
    argument: usize,
}

/// Whether somebody stands between this library and the C library, who may look at who creates a
/// thread: the sanitizers tell of the code that called them.
static IS_LOOKED_AT: AtomicBool = AtomicBool::new(false);

/// Looks who stands behind. Setup side.
pub(super) fn begin() {
    let create = pthread_create::REAL.address().addr() as u64;
    let mut is_of_c_library = create == 0;
    modules::each_of_c_library(|module| {
        is_of_c_library |= module.code.iter().any(|code| code.contains(&create));
    });
    // Relaxed: before any other thread is there.
    IS_LOOKED_AT.store(!is_of_c_library, Ordering::Relaxed);
}

/// Has a thread begin in [`born`]: `routine` is the place of its start routine among the arguments,
/// which its argument follows.
///
/// Whoever looks at the caller sees the program, to which a jump leads back. What the thread was to
/// be given is lost then if there is no thread: a few words each time.
///
/// `missing` is called where there is no real function.
///
/// # Safety
/// The arguments are those of pthread_create(3), or are such but for the attributes.
unsafe fn create(
    call: &mut Call,
    real: &Real,
    attributes: *const pthread_attr_t,
    routine: usize,
    missing: extern "C" fn() -> c_int,
) -> Route {
    let target = real.address();
    if target.is_null() {
        return Route { target: missing as *mut c_void, calls: 0 };
    }
    let Some([start, argument]) = call.arguments.get_mut(routine..routine + 2) else {
        return Route { target, calls: 0 };
    };
    if !sampled() {
        return Route { target, calls: 0 };
    }
    super::dl::look_after_note();
    // SAFETY: by contract.
    let stack = unsafe { AskedStack::of(attributes) };
    // SAFETY: by contract.
    let asked = unsafe { blocked_by(attributes) };
    let blocked = asked.unwrap_or_else(|| believed() | really_blocked());
    let birth = Box::new(Birth { start: *start, argument: *argument, stack, blocked });
    *start = born as *const () as usize;
    *argument = Box::into_raw(birth).expose_provenance();
    Route { target, calls: usize::from(!IS_LOOKED_AT.load(Ordering::Relaxed)) }
}

extern "C" fn before_pthread_create(call: &mut Call, real: &Real) -> Route {
    let attributes = core::ptr::with_exposed_provenance(call.arguments[1]);
    // SAFETY: the program's own arguments.
    unsafe { create(call, real, attributes, 2, no_threads) }
}

extern "C" fn before_thrd_create(call: &mut Call, real: &Real) -> Route {
    // SAFETY: the program's own arguments; there are no attributes.
    unsafe { create(call, real, core::ptr::null(), 1, no_c_threads) }
}

/// In place of pthread_create(3).
extern "C" fn no_threads() -> c_int {
    libc::ENOSYS
}

/// In place of thrd_create(3): `thrd_error`.
extern "C" fn no_c_threads() -> c_int {
    2
}

/// Drops what a thread was to be given that was not created.
fn after(call: &Call, argument: usize) {
    if call.result as c_int != 0 {
        let birth: *mut Birth = core::ptr::with_exposed_provenance_mut(argument);
        // SAFETY: made by `into_raw` in `create`; no thread was created that could have it.
        drop(unsafe { Box::from_raw(birth) });
    }
}

extern "C" fn after_pthread_create(call: &mut Call) {
    after(call, call.arguments[3]);
}

extern "C" fn after_thrd_create(call: &mut Call) {
    after(call, call.arguments[2]);
}

wrappers! {
    /// pthread_create(3).
    call pthread_create: before_pthread_create, after_pthread_create;
    /// thrd_create(3). Its start routine returns an `int`, which passes through untouched.
    call thrd_create: before_thrd_create, after_thrd_create;
}

arch::thread_start_stub! {
    /// The first code of a new thread: prepares it and becomes the program's start routine.
    born = prepare
}

unsafe extern "C" fn prepare(birth: *mut Birth) -> Onward {
    // SAFETY: made by `into_raw` in `create`, which leaves it to the thread it created.
    let birth = unsafe { Box::from_raw(birth) };
    believe(birth.blocked);
    watch_end();
    thread::started(birth.stack.here(), Some(birth.start));
    Onward { start: birth.start, argument: birth.argument }
}

/// The key whose destructor ends threads, plus one; 0 while there is none.
static END_KEY: AtomicU32 = AtomicU32::new(0);

/// How often glibc goes through the destructors: `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// Makes the key. Without one (all 1024 taken) the ends of threads go unnoticed.
pub(super) fn create_key() {
    let mut key: pthread_key_t = 0;
    // SAFETY: a live local, and a function that lives as long as the process.
    if unsafe { c_library::pthread_key_create(&raw mut key, end_of_round) } == 0 {
        END_KEY.store(key + 1, Ordering::Relaxed);
    }
}

/// Has the calling thread's end reported.
pub(super) fn watch_end() {
    set_rounds(ROUNDS);
}

/// Sets the thread's value of the key: rounds of destructors still to come.
fn set_rounds(rounds: usize) {
    if let Some(key) = END_KEY.load(Ordering::Relaxed).checked_sub(1) {
        // SAFETY: the key was made by `create_key` and is never deleted. Keys below 32 need no
        // memory; failure for others means the thread's end goes unnoticed.
        unsafe { c_library::pthread_setspecific(key, core::ptr::without_provenance(rounds)) };
    }
}

/// Called once per round. The program's own destructors may burn CPU in any of them, so the thread
/// ends in the last.
unsafe extern "C" fn end_of_round(rounds: *mut c_void) {
    match rounds.addr() {
        0 | 1 => thread::ended(),
        left => set_rounds(left - 1),
    }
}

const _: () = assert!(size_of::<Onward>() == 2 * size_of::<usize>());
