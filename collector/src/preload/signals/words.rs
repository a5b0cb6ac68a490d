//! Actions, masks and flags as the kernel has them.

#![expect(unsafe_code, reason = "masks of the program")]

use core::ffi::c_int;

use crate::sources::loan::bit;
use crate::sys::KernelAction;

/// What the C library adds to the flags of each action that it passes on, and tells of: SA_RESTORER
/// of `<asm/signal.h>`.
pub(super) const SA_RESTORER: c_int = 0x0400_0000;

/// The mask that the C library gives with these flags: `signal` masks the signal itself, its
/// relatives nothing.
pub(super) fn mask_of_signal(signal: c_int, flags: c_int) -> u64 {
    if flags == libc::SA_RESTART { bit(signal) } else { 0 }
}

/// What reads back of an action's flags and mask: flags that the kernel knows (`UAPI_SA_FLAGS`,
/// include/linux/signal_types.h), and no signal that cannot be blocked.
pub(super) fn as_kernel_keeps(flags: c_int, mask: u64) -> (u64, u64) {
    const EXPOSE_TAGBITS: c_int = 0x800;
    let known = libc::SA_NOCLDSTOP
        | libc::SA_NOCLDWAIT
        | libc::SA_SIGINFO
        | EXPOSE_TAGBITS
        | libc::SA_ONSTACK
        | libc::SA_RESTART
        | libc::SA_NODEFER
        | libc::SA_RESETHAND;
    let never_blocked = bit(libc::SIGKILL) | bit(libc::SIGSTOP);
    (u64::from((flags & known | SA_RESTORER).cast_unsigned()), mask & !never_blocked)
}

/// First word of a mask.
///
/// # Safety
/// `set` points to at least the 8 bytes that the kernel would read.
pub(super) unsafe fn first_word(set: *const libc::sigset_t) -> u64 {
    // SAFETY: the caller vouches for 8 bytes; C gives them the alignment of a long.
    unsafe { set.cast::<u64>().read_unaligned() }
}

/// A mask that holds this word and nothing else.
pub(super) fn mask_of(word: u64) -> libc::sigset_t {
    // SAFETY: all zeros is the empty set.
    let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
    // SAFETY: a set is an array of longs, larger than one.
    unsafe { (&raw mut set).cast::<u64>().write(word) };
    set
}

/// An action of the kernel's in the C library's structure.
pub(super) fn as_library_has(action: KernelAction) -> libc::sigaction {
    libc::sigaction {
        sa_sigaction: action.handler,
        sa_mask: mask_of(action.mask),
        sa_flags: action.flags as c_int,
        // SAFETY: the address of code, which is not called here, or 0, which is None.
        sa_restorer: unsafe {
            core::mem::transmute::<usize, Option<extern "C" fn()>>(action.restorer)
        },
    }
}

/// An action of the C library's in the kernel's structure.
pub(super) fn as_kernel_has(action: &libc::sigaction) -> KernelAction {
    KernelAction {
        handler: action.sa_sigaction,
        flags: u64::from(action.sa_flags.cast_unsigned()),
        restorer: action.sa_restorer.map_or(0, |restorer| restorer as usize),
        // SAFETY: a live action.
        mask: unsafe { first_word(&raw const action.sa_mask) },
    }
}
