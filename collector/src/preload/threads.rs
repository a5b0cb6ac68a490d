//! Threads: each is sampled from its first instruction to its last destructor.
//!
//! ICS'05 section 2.5.5. The wrapper gives the real pthread_create a start routine of its own,
//! which prepares the thread and then *jumps* to the program's: no frame of the collector stays on
//! the stack, and what the routine returns goes where it would have gone. Preparation unblocks the
//! profiling signal, since programs block all signals around thread creation (xz does).
//!
//! A thread ends by returning, by pthread_exit or by cancellation; in all three the C library runs
//! the destructors of thread-specific data, and that is where the collector lets go of it.

#![expect(unsafe_code, reason = "exported C functions and a start routine in assembly")]

use crate::c_library;
use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use libc::{pthread_attr_t, pthread_key_t, pthread_t};

use super::real::functions;
use super::signals::mask::{believe, believed, really_blocked};
use super::signals::saved_mask::blocked_by;
use super::view::sampled;
use crate::arch;
use crate::thread::{self, own_stack::AskedStack};

/// The start routine of a thread.
type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread is given in place of its argument.
struct Birth {
    start: Start,
    argument: *mut c_void,
    stack: AskedStack,
    /// What the thread thinks that it has blocked: its attributes say, or its creator's belief.
    blocked: u64,
}

/// Where the new thread goes on, in the registers in which the C ABI returns two words.
#[repr(C)]
struct Onward {
    start: Start,
    argument: *mut c_void,
}

/// Creates a thread by `create` that begins in [`born`].
///
/// # Safety
/// As pthread_create(3), of which this takes three arguments.
unsafe fn create(
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
    create: impl FnOnce(Start, *mut c_void) -> c_int,
) -> c_int {
    if !sampled() {
        return create(start, argument);
    }
    super::dl::look_after_note();
    // SAFETY: by contract.
    let stack = unsafe { AskedStack::of(attributes) };
    // SAFETY: by contract.
    let asked = unsafe { blocked_by(attributes) };
    let blocked = asked.unwrap_or_else(|| believed() | really_blocked());
    let birth = Box::into_raw(Box::new(Birth { start, argument, stack, blocked }));
    let result = create(born, birth.cast());
    if result != 0 {
        // SAFETY: made by `into_raw` above; no thread was created that could have it.
        drop(unsafe { Box::from_raw(birth) });
    }
    result
}

functions! {
    fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, start: Start, argument: *mut c_void) -> c_int, else libc::ENOSYS;
    fn thrd_create(thread: *mut pthread_t, start: Start, argument: *mut c_void) -> c_int, else 2;
}

/// pthread_create(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the program's own arguments, or `born` with its argument.
    unsafe {
        create(attributes, start, argument, |start, argument| {
            pthread_create::real(thread, attributes, start, argument)
        })
    }
}

/// thrd_create(3). Its start routine returns an `int`, which passes through untouched.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the program's own arguments, or `born` with its argument; there are no attributes.
    unsafe {
        create(core::ptr::null(), start, argument, |start, argument| {
            thrd_create::real(thread, start, argument)
        })
    }
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
    let routine = (birth.start as *const ()).addr();
    thread::started(birth.stack.here(), Some(routine));
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
