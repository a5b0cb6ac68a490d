//! Where a thread's own stack lies.

#![expect(unsafe_code, reason = "asks the C library and the loader")]

use core::ops::Range;

use crate::trampoline::thread_pointer;
use crate::unwind::validate::StackBounds;

/// The part of the thread's own stack that is certainly mapped: from this call's frame up. None of
/// it if the thread stands on another stack.
pub(super) fn thread_stack_in_use(stack: StackBounds) -> Range<u64> {
    let here = 0_u64;
    let low = (&raw const here).addr() as u64;
    if (stack.low..stack.high).contains(&low) { low..stack.high } else { 0..0 }
}

/// The main thread's stack grows on demand below `__libc_stack_end`; the kernel keeps at least
/// 128 MB clear below it, or RLIMIT_STACK if that is more (mm/util.c, mmap_base).
pub(super) fn main_stack() -> StackBounds {
    const CLEAR: u64 = 128 << 20;
    const MOST: u64 = 16 << 30;
    unsafe extern "C" {
        static __libc_stack_end: *const u8;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a live structure; the loader sets the pointer before any constructor runs.
    let end = unsafe {
        libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit);
        __libc_stack_end.addr() as u64
    };
    let size = limit.rlim_cur.clamp(CLEAR, MOST);
    StackBounds { low: end.saturating_sub(size), high: end + StackBounds::ABOVE_ENTRY }
}

/// Where the kernel began the main thread's stack: behind the name of the program, the last but one
/// word (binfmt_elf.c), at the end of a page.
pub(super) fn main_stack_top() -> u64 {
    // SAFETY: takes a number; the answer is 0, or a C string of the kernel's.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) };
    let length = if name == 0 {
        0
    } else {
        // SAFETY: as above.
        unsafe { libc::strlen(core::ptr::with_exposed_provenance(name as usize)) as u64 }
    };
    (name + length + 9).next_multiple_of(4096)
}

/// The stack that pthread_create gave the thread.
pub(super) fn thread_stack() -> StackBounds {
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut low: *mut libc::c_void = core::ptr::null_mut();
    let mut size = 0_usize;
    // SAFETY: the attributes are initialized by the first call and destroyed by the last.
    let known = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            let got = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            got == 0
        } else {
            false
        }
    };
    if known {
        return StackBounds { low: low.addr() as u64, high: low.addr() as u64 + size as u64 };
    }
    // The thread control block lies at the top of the stack.
    let high = thread_pointer();
    StackBounds { low: high.saturating_sub(64 << 10), high }
}
