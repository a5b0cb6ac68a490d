//! Calls that programs make by syscall(2), with the kernel's structures: what they set is the
//! program's view, as by the functions of the C library.
//!
//! Chromium gives all signals their default actions in this way, in each child that it makes. What
//! is wrong with the arguments the kernel says; what is asked for is read only where it can be, and
//! answers are written only where the kernel has written one.

#![expect(unsafe_code, reason = "system calls with pointers from the program")]

use core::ffi::{c_char, c_int, c_long, c_void};

use libc::sigset_t;

use super::alternate_stack::sigaltstack;
use super::wait::signalfd;
use super::words::{as_kernel_has, as_library_has, first_word, mask_of};
use super::{action, mask};
use crate::arch;
use crate::preload::exec::{execve, execveat};
use crate::preload::real;
use crate::sys::{self, Errno, KernelAction};

/// Size of the kernel's mask, in bytes, which the calls are told.
const MASK: usize = size_of::<u64>();

/// The calls that have a function here.
pub(in crate::preload) const CALLS: [c_long; 6] = [
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    libc::SYS_execve,
    libc::SYS_execveat,
];

/// The function for a call of this number, which takes its arguments and returns, with `errno`,
/// what syscall(2) does.
pub(in crate::preload) fn function(number: c_long) -> Option<*mut c_void> {
    Some(match number {
        libc::SYS_rt_sigaction => rt_sigaction as *mut c_void,
        libc::SYS_rt_sigprocmask => rt_sigprocmask as *mut c_void,
        libc::SYS_sigaltstack => of_sigaltstack as *mut c_void,
        libc::SYS_signalfd4 => signalfd4 as *mut c_void,
        libc::SYS_execve => of_execve as *mut c_void,
        libc::SYS_execveat => of_execveat as *mut c_void,
        _ => return None,
    })
}

/// What the program points to; `None` where nothing can be read.
fn read<T: Copy>(address: usize) -> Option<T> {
    let last = address.wrapping_add(size_of::<T>() - 1);
    let is_there = address != 0 && [address, last].iter().all(|&at| sys::is_readable(at as u64));
    let pointer = core::ptr::with_exposed_provenance::<T>(address);
    // SAFETY: there is something to be read there; the program vouches for what it is.
    is_there.then(|| unsafe { pointer.read_unaligned() })
}

/// Answers where the program has room, if it has.
///
/// # Safety
/// The kernel must have written as much there.
unsafe fn answer<T>(address: usize, value: T) {
    if address != 0 {
        // SAFETY: by contract.
        unsafe { core::ptr::with_exposed_provenance_mut::<T>(address).write_unaligned(value) };
    }
}

/// What a function of the C library returns.
fn returned(result: Result<(), Errno>) -> c_int {
    result.map_or_else(
        |Errno(errno)| {
            real::set_errno(errno);
            -1
        },
        |()| 0,
    )
}

unsafe extern "C" fn rt_sigaction(number: usize, new: usize, old: usize, size: usize) -> c_long {
    // First, for the program may pass one structure for both.
    let wanted = read::<KernelAction>(new).map(as_library_has);
    let can_be_read = wanted.is_some() || new == 0;
    // SAFETY: asks for nothing.
    let is_right = unsafe { sys::rt_sigaction(number, 0, 0, size) };
    if is_right.is_err() || !can_be_read {
        return returned(is_right.and(Err(Errno(libc::EFAULT)))).into();
    }
    // SAFETY: all zeros is the default action.
    let mut before: libc::sigaction = unsafe { core::mem::zeroed() };
    let wanted = wanted.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: live locals; the kernel has accepted the signal, and the program vouches for the
    // action.
    if unsafe { action::change(set_action, number as c_int, wanted, &raw mut before) } != 0 {
        return -1;
    }
    let mut told = as_kernel_has(&before);
    if told.restorer == 0 {
        // The program's view of a signal of samples, which no restorer of the C library's is in.
        let is_handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&told.handler);
        told.flags &= if is_handled { u64::MAX } else { !arch::SA_RESTORER };
        told.restorer = if is_handled { arch::signal_return() } else { 0 };
    }
    // SAFETY: the program's own room for an answer.
    let has_room = old == 0 || unsafe { sys::rt_sigaction(number, 0, old, size) }.is_ok();
    if !has_room {
        return returned(Err(Errno(libc::EFAULT))).into();
    }
    // SAFETY: the kernel has answered there.
    unsafe { answer(old, told) };
    0
}

/// Sets an action as the kernel does, which also takes the signals that the C library keeps for
/// itself.
unsafe fn set_action(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: null, or a live action.
    let new = unsafe { new.as_ref() }.map(as_kernel_has);
    let mut before = KernelAction { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
    let asked = new.as_ref().map_or(0, |new| core::ptr::from_ref(new).addr());
    let room = (&raw mut before).addr();
    // SAFETY: live locals; the action is the program's, or has a handler of csprof's.
    let result = unsafe { sys::rt_sigaction(signal as usize, asked, room, MASK) };
    // SAFETY: if not null, there is room for an action.
    if let (Ok(()), Some(old)) = (result, unsafe { old.as_mut() }) {
        *old = as_library_has(before);
    }
    returned(result)
}

unsafe extern "C" fn rt_sigprocmask(how: usize, new: usize, old: usize, size: usize) -> c_long {
    // As above.
    let wanted = read::<u64>(new).map(mask_of);
    let can_be_read = wanted.is_some() || new == 0;
    // SAFETY: asks for nothing.
    let is_right = unsafe { sys::rt_sigprocmask(how, 0, 0, size) };
    if is_right.is_err() || !can_be_read {
        return returned(is_right.and(Err(Errno(libc::EFAULT)))).into();
    }
    let mut before = mask_of(0);
    let wanted = wanted.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: live locals.
    if unsafe { mask::change(set_mask, how as c_int, wanted, &raw mut before) } != 0 {
        return -1;
    }
    // SAFETY: the program's own room for an answer.
    let has_room = old == 0 || unsafe { sys::rt_sigprocmask(how, 0, old, size) }.is_ok();
    if !has_room {
        return returned(Err(Errno(libc::EFAULT))).into();
    }
    // SAFETY: the kernel has answered there; a live local.
    unsafe { answer(old, first_word(&raw const before)) };
    0
}

/// Sets a mask as the kernel does, which also blocks the signals that the C library keeps for
/// itself.
unsafe fn set_mask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: null, or masks of at least one word.
    returned(unsafe { sys::rt_sigprocmask(how as usize, new.addr(), old.addr(), MASK) })
}

unsafe extern "C" fn signalfd4(file: c_int, mask: usize, size: usize, flags: c_int) -> c_long {
    let wanted = read::<u64>(mask).filter(|_| size == MASK).map(mask_of);
    match wanted {
        // SAFETY: a live local.
        Some(wanted) => unsafe { signalfd(file, &raw const wanted, flags) }.into(),
        None => {
            // A mask that cannot be read, or of another size.
            let errno = if size == MASK { libc::EFAULT } else { libc::EINVAL };
            returned(Err(Errno(errno))).into()
        }
    }
}

unsafe extern "C" fn of_sigaltstack(new: usize, old: usize) -> c_long {
    let is_there = |address: usize| address == 0 || read::<libc::stack_t>(address).is_some();
    if ![new, old].into_iter().all(is_there) {
        return returned(Err(Errno(libc::EFAULT))).into();
    }
    let [new, old] = [new, old].map(core::ptr::with_exposed_provenance_mut);
    // SAFETY: null, or there; the program vouches for the rest.
    unsafe { sigaltstack(new, old) }.into()
}

unsafe extern "C" fn of_execve(
    path: *const c_char,
    argv: real::Strings,
    envp: real::Strings,
) -> c_long {
    // SAFETY: the program's own arguments, passed on.
    unsafe { execve(path, argv, envp) }.into()
}

unsafe extern "C" fn of_execveat(
    file: c_int,
    path: *const c_char,
    argv: real::Strings,
    envp: real::Strings,
    flags: c_int,
) -> c_long {
    // SAFETY: the program's own arguments, passed on.
    unsafe { execveat(file, path, argv, envp, flags) }.into()
}
