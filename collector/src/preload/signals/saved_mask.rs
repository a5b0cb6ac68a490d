//! Masks that are kept for later, and with which a thread goes on: sigsetjmp(3), getcontext(3), and
//! attributes of threads that begin with one (pthread_attr_setsigmask_np(3)).
//!
//! The C library keeps the kernel's, in which the signals of samples are never blocked. What the
//! thread thinks of them is kept with it. For a mask the C library has 16 words, of which the
//! kernel uses the first, and nobody the last. In a `jmp_buf` it is written no further than that
//! first word, so a program may have no more: there the mask is aligned, with four bytes in front
//! of it.

#![expect(unsafe_code, reason = "masks in structures of the program")]

use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::AtomicI32;

use libc::{pthread_attr_t, sigset_t, ucontext_t};

use super::mask::{believe, believed};
use super::words::first_word;
use super::{BIT, kept};
use crate::arch::Call;
use crate::preload::readable::may_be_address;
use crate::preload::real::{Real, functions};
use crate::preload::stub::{self, wrappers};
use crate::preload::view::sampled;
use crate::sources::loan::{TRAP, bit};

/// The word of a mask that nobody uses.
const LAST: usize = size_of::<sigset_t>() / size_of::<u64>() - 1;

/// The signals that samples may come by.
const SIGNALS: u64 = BIT | bit(TRAP);

/// What a word about these holds beside them. No more than 32 bits.
const TAG: u64 = 0xc5f0_3a5c & !SIGNALS;
/// The same in a context that swapcontext(3) keeps.
const TAG_OF_SWAPPED: u64 = 0xc5f1_3a5c & !SIGNALS;
const _: () = assert!((TAG | TAG_OF_SWAPPED | SIGNALS) >> 32 == 0 && TAG != TAG_OF_SWAPPED);

/// Which of the signals are blocked, if it is such a word.
fn blocked_in(word: u64) -> Option<u64> {
    [TAG, TAG_OF_SWAPPED].contains(&(word & !SIGNALS)).then_some(word & SIGNALS)
}

/// Where a `jmp_buf` has whether the mask is kept, an `int`, then four bytes of nothing, and then
/// the mask (`<setjmp.h>`).
const IS_KEPT: usize = 64;
const UNUSED: usize = 68;

/// Writes what is blocked of the signals of samples beside a mask.
///
/// # Safety
/// `mask` points to one of the C library's.
unsafe fn note(mask: *mut sigset_t, tag: u64, blocked: u64) {
    // SAFETY: by contract; C gives it the alignment of a long.
    unsafe { mask.cast::<u64>().add(LAST).write_unaligned(tag | blocked & SIGNALS) }
}

/// What was written there, if anything was.
///
/// # Safety
/// As above.
unsafe fn noted(mask: *const sigset_t) -> Option<u64> {
    // SAFETY: by contract.
    blocked_in(unsafe { last_word(mask) })
}

/// # Safety
/// As above.
unsafe fn last_word(mask: *const sigset_t) -> u64 {
    // SAFETY: by contract.
    unsafe { mask.cast::<u64>().add(LAST).read_unaligned() }
}

/// The thread is about to go on with the mask in a `jmp_buf`, if one was kept.
///
/// # Safety
/// `buffer` is a `jmp_buf` that longjmp(3) is about to read.
pub(in crate::preload) unsafe fn jump(buffer: *const c_void) {
    if !sampled() {
        return;
    }
    // SAFETY: by contract, here and below.
    let is_kept = unsafe { buffer.byte_add(IS_KEPT).cast::<c_int>().read_unaligned() } != 0;
    // SAFETY: as above.
    let word = unsafe { buffer.byte_add(UNUSED).cast::<u32>().read_unaligned() };
    if let (true, Some(blocked)) = (is_kept, blocked_in(word.into())) {
        believe(blocked);
    }
}

/// Before a mask is kept in a `jmp_buf`.
extern "C" fn before_setjmp(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() {
        let buffer = core::ptr::with_exposed_provenance_mut::<c_void>(call.arguments[0]);
        let word = (TAG | believed()) as u32;
        // SAFETY: the program's own argument, which has a mask behind this.
        unsafe { buffer.byte_add(UNUSED).cast::<u32>().write_unaligned(word) };
    }
    stub::target(real)
}

/// What a context that the kernel has given to a handler begins with: UC_SIGCONTEXT_SS and
/// UC_STRICT_RESTORE_SS, and where there is more than SSE, UC_FP_XSTATE (asm/ucontext.h). Its mask
/// is the kernel's, which does not say what the thread thinks. getcontext(3) leaves the word as it
/// is.
const OF_HANDLER: u64 = 6;
const WITH_EXTENDED_STATE: u64 = 1;

/// The mask in a context that is an argument of a call.
fn mask_in(context: usize) -> *mut sigset_t {
    core::ptr::with_exposed_provenance_mut::<c_void>(context)
        .wrapping_byte_add(offset_of!(ucontext_t, uc_sigmask))
        .cast()
}

extern "C" fn before_getcontext(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() {
        // SAFETY: the program's own argument, which the real function is about to fill.
        unsafe { note(mask_in(call.arguments[0]), TAG, believed()) };
    }
    stub::target(real)
}

/// The thread is about to go on with the mask in a context. Signals of samples that the program has
/// put there, the kernel is not to block.
///
/// # Safety
/// It is one that setcontext(3) is about to read.
unsafe fn go_on_in(context: usize) {
    let mask = mask_in(context);
    // SAFETY: by contract; the first words of a context are as long.
    let flags = unsafe { core::ptr::with_exposed_provenance::<u64>(context).read_unaligned() };
    // SAFETY: by contract.
    let (word, noted) = unsafe { (first_word(mask), noted(mask)) };
    let written = word & kept();
    if noted.is_none() && flags & !WITH_EXTENDED_STATE == OF_HANDLER {
        return;
    }
    // SAFETY: by contract.
    let is_swapped = unsafe { last_word(mask) } & !SIGNALS == TAG_OF_SWAPPED;
    if let Some(blocked) = noted
        && is_swapped
    {
        // What the kernel has blocked where the thread left the context: a handler for that signal
        // goes on there, and opens it when it returns. What a program writes into a context, it
        // writes into one of getcontext(3), before makecontext(3).
        believe(blocked);
        return;
    }
    let blocked = noted.unwrap_or(0) | written;
    if written != 0 {
        // SAFETY: by contract; no handler's, so it has room.
        unsafe {
            mask.cast::<u64>().write_unaligned(word & !written);
            note(mask, TAG, blocked);
        }
    }
    believe(blocked);
}

extern "C" fn before_setcontext(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() && may_be_address(call.arguments[0]) {
        // SAFETY: the program's own argument, which the real function is about to read.
        unsafe { go_on_in(call.arguments[0]) };
    }
    stub::target(real)
}

extern "C" fn before_swapcontext(call: &mut Call, real: &Real) -> *mut c_void {
    if sampled() {
        let [from, to, ..] = call.arguments;
        // SAFETY: as above, both.
        unsafe {
            note(mask_in(from), TAG_OF_SWAPPED, believed());
            if may_be_address(to) {
                go_on_in(to);
            }
        }
    }
    stub::target(real)
}

/// The least second argument with which sigsetjmp(3) keeps the mask.
static KEEPS: AtomicI32 = AtomicI32::new(1);

wrappers! {
    /// sigsetjmp(3).
    jump {argument 1 at least KEEPS} __sigsetjmp: before_setjmp;
    /// setjmp(3) of 4.3BSD, which keeps the mask.
    jump setjmp: before_setjmp;
    /// getcontext(3).
    jump getcontext: before_getcontext;
    /// setcontext(3).
    jump setcontext: before_setcontext;
    /// swapcontext(3).
    jump swapcontext: before_swapcontext;
}

functions! {
    fn pthread_attr_setsigmask_np(attributes: *mut pthread_attr_t, mask: *const sigset_t) -> c_int, else libc::ENOSYS;
    fn pthread_attr_getsigmask_np(attributes: *const pthread_attr_t, mask: *mut sigset_t) -> c_int, else libc::ENOSYS;
}

/// pthread_attr_setsigmask_np(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_attr_setsigmask_np(
    attributes: *mut pthread_attr_t,
    mask: *const sigset_t,
) -> c_int {
    if mask.is_null() || !sampled() {
        // SAFETY: the program's own arguments, passed on.
        return unsafe { pthread_attr_setsigmask_np::real(attributes, mask) };
    }
    // SAFETY: not null, so the program points to a mask, of which the C library copies all.
    let mut changed = unsafe { mask.read_unaligned() };
    // SAFETY: a live local.
    unsafe {
        let word = first_word(&raw const changed);
        (&raw mut changed).cast::<u64>().write(word & !kept());
        note(&raw mut changed, TAG, word & kept());
        pthread_attr_setsigmask_np::real(attributes, &raw const changed)
    }
}

/// pthread_attr_getsigmask_np(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_attr_getsigmask_np(
    attributes: *const pthread_attr_t,
    mask: *mut sigset_t,
) -> c_int {
    // SAFETY: the program's own arguments, passed on.
    let result = unsafe { pthread_attr_getsigmask_np::real(attributes, mask) };
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
    let result = unsafe { pthread_attr_getsigmask_np::real(attributes, mask.as_mut_ptr()) };
    // SAFETY: written by the call, or zero.
    (result == 0)
        .then(|| unsafe { noted(mask.as_ptr()).unwrap_or(first_word(mask.as_ptr()) & kept()) })
}
