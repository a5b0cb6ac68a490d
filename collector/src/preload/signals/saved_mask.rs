//! Masks that are kept for later, and with which a thread goes on: sigsetjmp(3), getcontext(3), and
//! attributes of threads that begin with one (pthread_attr_setsigmask_np(3)).
//!
//! The C library keeps the kernel's, in which the signals of samples are never blocked. What the
//! thread thinks of them is kept with it: the C library has 16 words for a mask, of which the
//! kernel uses the first, and nobody the last.

#![expect(unsafe_code, reason = "masks in structures of the program")]

use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::AtomicI32;

use libc::{pthread_attr_t, sigset_t, ucontext_t};

use super::kept;
use super::mask::{believe, believed};
use super::words::first_word;
use crate::arch::{self, Call};
use crate::preload::real::{self, Real, slots};
use crate::preload::stub::{self, ENGAGED, wrappers};
use crate::preload::view::sampled;

/// The word of a mask that nobody uses.
const LAST: usize = size_of::<sigset_t>() / size_of::<u64>() - 1;

/// What it holds above the signals, of which those of samples are in the lower half.
const TAG: u64 = 0xc5f0_3a5c << 32;

/// Where a `jmp_buf` has whether the mask is kept, an `int`, and the mask (`<setjmp.h>`).
const IS_KEPT: usize = 64;
const KEPT_MASK: usize = 72;

/// Writes what is blocked of the signals of samples beside a mask.
///
/// # Safety
/// `mask` points to one of the C library's.
unsafe fn note(mask: *mut sigset_t, blocked: u64) {
    // SAFETY: by contract; C gives it the alignment of a long.
    unsafe { mask.cast::<u64>().add(LAST).write_unaligned(TAG | blocked) }
}

/// What was written there, if anything was.
///
/// # Safety
/// As above.
unsafe fn noted(mask: *const sigset_t) -> Option<u64> {
    // SAFETY: by contract.
    let word = unsafe { mask.cast::<u64>().add(LAST).read_unaligned() };
    (word & (u64::MAX << 32) == TAG).then_some(word & !TAG)
}

/// The thread is about to go on with this mask.
///
/// # Safety
/// As above.
unsafe fn go_on_with(mask: *const sigset_t) {
    // SAFETY: by contract.
    if let Some(blocked) = unsafe { noted(mask) } {
        believe(blocked);
    }
}

/// The thread is about to go on with the mask in a `jmp_buf`, if one was kept.
///
/// # Safety
/// `buffer` is a `jmp_buf` that longjmp(3) is about to read.
pub(in crate::preload) unsafe fn jump(buffer: *const c_void) {
    // SAFETY: by contract.
    unsafe {
        if sampled() && buffer.byte_add(IS_KEPT).cast::<c_int>().read_unaligned() != 0 {
            go_on_with(buffer.byte_add(KEPT_MASK).cast());
        }
    }
}

/// Before a mask is kept in a `jmp_buf`.
extern "C" fn before_setjmp(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() {
        let buffer = core::ptr::with_exposed_provenance_mut::<c_void>(call.arguments[0]);
        // SAFETY: the program's own argument, which has room for a mask where one is kept.
        unsafe { note(buffer.byte_add(KEPT_MASK).cast(), believed()) };
    }
    stub::target(real)
}

/// The mask in a context that is an argument of a call.
fn mask_in(context: usize) -> *mut sigset_t {
    core::ptr::with_exposed_provenance_mut::<c_void>(context)
        .wrapping_byte_add(offset_of!(ucontext_t, uc_sigmask))
        .cast()
}

extern "C" fn before_getcontext(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() {
        // SAFETY: the program's own argument, which the real function is about to fill.
        unsafe { note(mask_in(call.arguments[0]), believed()) };
    }
    stub::target(real)
}

extern "C" fn before_setcontext(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() {
        // SAFETY: the program's own argument, which the real function is about to read.
        unsafe { go_on_with(mask_in(call.arguments[0])) };
    }
    stub::target(real)
}

extern "C" fn before_swapcontext(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() {
        let [from, to, ..] = call.arguments;
        // SAFETY: as above, both.
        unsafe {
            note(mask_in(from), believed());
            go_on_with(mask_in(to));
        }
    }
    stub::target(real)
}

/// The least second argument with which sigsetjmp(3) keeps the mask.
static KEEPS: AtomicI32 = AtomicI32::new(1);

arch::stub! {
    /// sigsetjmp(3).
    #[unsafe(no_mangle)]
    {argument 1 at least KEEPS}
    jump __sigsetjmp = slots::__sigsetjmp, ENGAGED, before_setjmp
}

wrappers! {
    /// setjmp(3) of 4.3BSD, which keeps the mask.
    jump setjmp: before_setjmp;
    /// getcontext(3).
    jump getcontext: before_getcontext;
    /// setcontext(3).
    jump setcontext: before_setcontext;
    /// swapcontext(3).
    jump swapcontext: before_swapcontext;
}

/// pthread_attr_setsigmask_np(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_attr_setsigmask_np(
    attributes: *mut pthread_attr_t,
    mask: *const sigset_t,
) -> c_int {
    if mask.is_null() || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { real::pthread_attr_setsigmask_np(attributes, mask) };
    }
    // SAFETY: not null, so the program points to a mask, of which the C library copies all.
    let mut changed = unsafe { mask.read_unaligned() };
    // SAFETY: a live local.
    unsafe {
        let word = first_word(&raw const changed);
        (&raw mut changed).cast::<u64>().write(word & !kept());
        note(&raw mut changed, word & kept());
        real::pthread_attr_setsigmask_np(attributes, &raw const changed)
    }
}

/// pthread_attr_getsigmask_np(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_attr_getsigmask_np(
    attributes: *const pthread_attr_t,
    mask: *mut sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments, passed on.
    let result = unsafe { real::pthread_attr_getsigmask_np(attributes, mask) };
    if result == 0 {
        // SAFETY: the call succeeded, so it wrote the mask.
        unsafe {
            if let Some(blocked) = noted(mask) {
                let words = mask.cast::<u64>();
                words.write_unaligned(first_word(mask) | blocked);
                words.add(LAST).write_unaligned(0);
            }
        }
    }
    result
}

/// What is blocked of the signals of samples in a thread with these attributes, if they say so.
///
/// # Safety
/// `attributes` is null or points to some.
pub(in crate::preload) unsafe fn blocked_by(attributes: *const pthread_attr_t) -> Option<u64> {
    if attributes.is_null() {
        return None;
    }
    let mut mask = core::mem::MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: by contract, and a live local.
    let result = unsafe { real::pthread_attr_getsigmask_np(attributes, mask.as_mut_ptr()) };
    // SAFETY: written by the call, or zero.
    (result == 0)
        .then(|| unsafe { noted(mask.as_ptr()).unwrap_or(first_word(mask.as_ptr()) & kept()) })
}
