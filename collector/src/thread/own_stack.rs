//! Where a thread's own stack lies.

#![expect(unsafe_code, reason = "asks the C library and the loader")]

use crate::c_library;
use core::ffi::CStr;
use core::ops::Range;

use libc::pthread_attr_t;

use crate::arch::{PAGE_SIZE, thread_pointer};
use crate::sampler::Shared;
use crate::sys;
use crate::unwind::validate::StackBounds;

/// The stack that a thread was given.
#[derive(Clone, Copy, Debug)]
pub struct OwnStack {
    /// All of it.
    pub bounds: StackBounds,
}

/// What a thread is created with.
#[derive(Clone, Copy, Debug)]
pub enum AskedStack {
    /// By the program: the lowest address, and bytes.
    Given(u64, u64),
    /// By the C library: bytes, and bytes of its guard.
    Made(u64, u64),
}

impl AskedStack {
    /// The stack of a thread that is created with these attributes. Not pthread_getattr_np(3) in
    /// the thread, which asks the program's malloc for memory.
    ///
    /// # Safety
    /// `attributes` is null, or what the program gives pthread_create(3).
    #[must_use]
    pub unsafe fn of(attributes: *const pthread_attr_t) -> Self {
        let mut default = core::mem::MaybeUninit::<pthread_attr_t>::uninit();
        let (mut low, mut size, mut guard) = (core::ptr::null_mut(), 0, 0);
        // SAFETY: the program's attributes, or the default ones, initialized here and destroyed at
        // the end; live locals for the answers, which stay as they are if there is none.
        unsafe {
            let asked = if attributes.is_null() {
                c_library::pthread_attr_init(default.as_mut_ptr());
                default.as_ptr()
            } else {
                attributes
            };
            c_library::pthread_attr_getstack(asked, &raw mut low, &raw mut size);
            c_library::pthread_attr_getguardsize(asked, &raw mut guard);
            // Where no stack is given, the C library computes with a null pointer to its end.
            let end = low.addr().wrapping_add(size);
            if end == 0 {
                c_library::pthread_attr_getstacksize(asked, &raw mut size);
            }
            if attributes.is_null() {
                c_library::pthread_attr_destroy(default.as_mut_ptr());
            }
            if end == 0 {
                Self::Made(size as u64, guard as u64)
            } else {
                Self::Given(low.addr() as u64, size as u64)
            }
        }
    }

    /// The calling thread's, which was created with it.
    #[must_use]
    pub fn here(self) -> OwnStack {
        let bounds = match self {
            Self::Given(low, size) => StackBounds { low, high: low.saturating_add(size) },
            // The C library has put the thread control block at the top, in the last page. In
            // versions before 2.27 the guard is part of the size.
            Self::Made(size, guard) => {
                let high = (thread_pointer() + 1).next_multiple_of(PAGE_SIZE as u64);
                StackBounds { low: high.saturating_sub(size).saturating_add(guard), high }
            }
        };
        OwnStack { bounds }
    }
}

impl OwnStack {
    /// That of the main thread.
    #[must_use]
    pub fn of_main() -> Self {
        Self { bounds: main_stack() }
    }
}

/// Whether an address is on the calling thread's own stack; of a thread that is not sampled it is
/// not known, and this says no. Either side.
#[must_use]
pub fn is_on_own_stack(address: u64) -> bool {
    Shared::here().is_some_and(|shared| shared.stack.contains_word(address))
}

/// The part of the thread's own stack that is certainly mapped: from this call's frame up. None of
/// it if the thread stands on another stack.
pub(super) fn thread_stack_in_use(stack: StackBounds) -> Range<u64> {
    let here = 0_u64;
    let low = (&raw const here).addr() as u64;
    if (stack.low..stack.high).contains(&low) { low..stack.high } else { 0..0 }
}

/// The main thread's stack grows on demand below `__libc_stack_end`; the kernel keeps at least
/// 128 MB clear below it, or RLIMIT_STACK if that is more (mm/util.c, mmap_base).
fn main_stack() -> StackBounds {
    const CLEAR: u64 = 128 << 20;
    const MOST: u64 = 16 << 30;
    let end = c_library::next(c"__libc_stack_end").cast::<u64>();
    // SAFETY: null, or the loader's variable, which it sets before any constructor runs.
    let end = unsafe { end.as_ref() }.copied().unwrap_or_else(main_stack_top);
    let size = sys::stack_limit().clamp(CLEAR, MOST);
    StackBounds { low: end.saturating_sub(size), high: end + StackBounds::ABOVE_ENTRY }
}

/// Where the kernel began the main thread's stack: behind the name of the program, the last but one
/// word (binfmt_elf.c), at the end of a page.
fn main_stack_top() -> u64 {
    // SAFETY: takes a number; the answer is 0, or a C string of the kernel's.
    let name = unsafe { c_library::getauxval(libc::AT_EXECFN) };
    let length = if name == 0 {
        0
    } else {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(core::ptr::with_exposed_provenance(name as usize)) };
        name.count_bytes() as u64
    };
    (name + length + 9).next_multiple_of(PAGE_SIZE as u64)
}

#[cfg(test)]
mod tests {
    use core::ffi::c_void;

    use super::*;

    /// Compares, in the thread, with what the C library says of it.
    extern "C" fn compare(asked: *mut c_void) -> *mut c_void {
        // SAFETY: the value of `in_thread`, which waits.
        let found = unsafe { asked.cast::<AskedStack>().read() }.here().bounds;
        let mut attributes = core::mem::MaybeUninit::<pthread_attr_t>::uninit();
        let (mut low, mut size) = (core::ptr::null_mut(), 0);
        // SAFETY: initialized by the first call, and destroyed by the last.
        unsafe {
            assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()), 0);
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
        let (low, high) = (low.addr() as u64, low.addr() as u64 + size as u64);
        // Not below, for there is the guard; a stack that the C library had left may be larger.
        let said = format!("{found:x?}, not {low:#x} to {high:#x}");
        assert!(found.low >= low && found.low - low <= 1 << 20 && found.high == high, "{said}");
        core::ptr::null_mut()
    }

    fn in_thread(attributes: *const pthread_attr_t) {
        // SAFETY: null or initialized attributes; the thread is waited for, and aborts if it
        // panics.
        unsafe {
            let mut asked = AskedStack::of(attributes);
            let mut thread = core::mem::zeroed();
            let argument = (&raw mut asked).cast();
            assert_eq!(libc::pthread_create(&raw mut thread, attributes, compare, argument), 0);
            assert_eq!(libc::pthread_join(thread, core::ptr::null_mut()), 0);
        }
    }

    #[test]
    fn of_threads_with_all_kinds_of_stacks() {
        in_thread(core::ptr::null());
        let mut memory = vec![0_u8; 1 << 20];
        // SAFETY: one set of attributes, initialized first; the memory outlives the last thread.
        unsafe {
            let mut attributes = core::mem::zeroed();
            assert_eq!(libc::pthread_attr_init(&raw mut attributes), 0);
            in_thread(&raw const attributes);
            assert_eq!(libc::pthread_attr_setstacksize(&raw mut attributes, 9 << 20), 0);
            in_thread(&raw const attributes);
            assert_eq!(libc::pthread_attr_setguardsize(&raw mut attributes, 1 << 16), 0);
            in_thread(&raw const attributes);
            assert_eq!(libc::pthread_attr_setguardsize(&raw mut attributes, 0), 0);
            in_thread(&raw const attributes);
            let stack = memory.as_mut_ptr().cast();
            assert_eq!(libc::pthread_attr_setstack(&raw mut attributes, stack, memory.len()), 0);
            in_thread(&raw const attributes);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
    }
}
