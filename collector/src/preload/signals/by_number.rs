//! Calls that programs make by syscall(2), with the kernel's structures: what they set is the
//! program's view, as by the functions of the C library.
//!
//! Chromium gives all signals their default actions in this way, in each child that it makes. What
//! is wrong with the arguments the kernel says; what is asked for is read only where it can be, and
//! answers are written only where the kernel has written one. The kernel is called, and not the C
//! library: a library in front of it may have come here by this very call.
//!
//! The masks of rt_sigprocmask(2), and of waits with a mask, are left to the kernel: what one of
//! these calls has blocked, another one opens, and not all of them can be met.

#![expect(unsafe_code, reason = "system calls with pointers from the program")]

use core::ffi::{c_char, c_int, c_long, c_void};

use libc::stack_t;

use super::action;
use super::alternate_stack::{is_hidden, sigaltstack};
use super::wait::awaited;
use super::way_back;
use super::words::{as_kernel_has, as_library_has};
use crate::arch;
use crate::preload::exec::replacing;
use crate::preload::program::File;
use crate::preload::reach::Start;
use crate::preload::readable::read;
use crate::preload::real;
use crate::preload::view::sampled;
use crate::sys::{self, Errno, KernelAction};

/// Size of the kernel's mask, in bytes, which the calls are told.
const MASK: usize = size_of::<u64>();

/// The calls that have a function here.
pub(in crate::preload) const CALLS: [c_long; 5] = [
    libc::SYS_rt_sigaction,
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
        libc::SYS_sigaltstack => of_sigaltstack as *mut c_void,
        libc::SYS_signalfd4 => signalfd4 as *mut c_void,
        libc::SYS_execve => execve as *mut c_void,
        libc::SYS_execveat => execveat as *mut c_void,
        _ => return None,
    })
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
    let is_accepted = can_be_read && unsafe { sys::rt_sigaction(number, 0, 0, size) }.is_ok();
    if !is_accepted {
        // SAFETY: the program's own arguments, passed on.
        return returned(unsafe { sys::rt_sigaction(number, new, old, size) }).into();
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
    told.restorer = way_back::told(told.restorer);
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

unsafe extern "C" fn signalfd4(file: usize, mask: usize, size: usize, flags: usize) -> c_long {
    let wanted = read::<u64>(mask).filter(|_| size == MASK && sampled()).map(awaited);
    let mask = wanted.as_ref().map_or(mask, |wanted| core::ptr::from_ref(wanted).addr());
    // SAFETY: the program's own arguments, passed on, or a live mask in the place of one.
    let made = unsafe { sys::by_number(libc::SYS_signalfd4, [file, mask, size, flags, 0, 0]) };
    made.map_or_else(|error| returned(Err(error)).into(), |file| file as c_long)
}

unsafe extern "C" fn of_sigaltstack(new: usize, old: usize) -> c_long {
    // SAFETY: the program's own arguments, passed on.
    let by_kernel = |new| unsafe { sys::by_number(libc::SYS_sigaltstack, [new, old, 0, 0, 0, 0]) };
    // First, for the program may pass one structure for both.
    let wanted = read::<stack_t>(new);
    if wanted.is_none() && new != 0 || !is_hidden() {
        return returned(by_kernel(new).map(drop)).into();
    }
    // SAFETY: all zeros is no stack.
    let mut before: stack_t = unsafe { core::mem::zeroed() };
    let wanted = wanted.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: null or a live local; a live local.
    if unsafe { sigaltstack(wanted, &raw mut before) } != 0 {
        return -1;
    }
    if old != 0 {
        if let Err(error) = by_kernel(0) {
            return returned(Err(error)).into();
        }
        // SAFETY: the kernel has answered there.
        unsafe { answer(old, before) };
    }
    0
}

unsafe extern "C" fn execve(path: usize, argv: usize, envp: usize) -> c_long {
    let call = |envp| (libc::SYS_execve, [path, argv, envp, 0, 0, 0]);
    // SAFETY: the program's own arguments.
    unsafe { execute(path, envp, call, |path| File::at(path)) }
}

unsafe extern "C" fn execveat(
    folder: usize,
    path: usize,
    argv: usize,
    envp: usize,
    flags: usize,
) -> c_long {
    let call = |envp| (libc::SYS_execveat, [folder, path, argv, envp, flags, 0]);
    // SAFETY: the program's own arguments.
    unsafe { execute(path, envp, call, |path| File::below(folder as c_int, path)) }
}

/// Makes a call that executes `path` with an environment.
///
/// # Safety
/// The path and the environment must be the program's, and what the call asks for.
unsafe fn execute<'f>(
    path: usize,
    envp: usize,
    call: impl Fn(usize) -> (c_long, [usize; 6]),
    file: impl FnOnce(*const c_char) -> Option<File<'f>>,
) -> c_long {
    let make = |envp| {
        let (number, arguments) = call(envp);
        // SAFETY: by contract.
        returned(unsafe { sys::by_number(number, arguments) }.map(drop))
    };
    let environment: real::Strings = core::ptr::with_exposed_provenance(envp);
    let path = core::ptr::with_exposed_provenance(path);
    let start = if Start::can_look(path, environment) {
        // SAFETY: by contract.
        unsafe { Start::with(environment, file(path)) }
    } else {
        Start::unseen()
    };
    replacing(start, |new| make(new.map_or(envp, |new| new.expose_provenance()))).into()
}
