//! Unwinders that the program starts must find real return addresses.
//!
//! An exception, a forced unwind or a backtrace walks the stack, and the trampoline is in one of
//! its slots. Each entry of the unwinder that is reachable by name puts the real address back and
//! jumps on: the unwinder looks at its own return address and at the registers of its caller, so
//! the stub leaves both as they were. ICS'05 section 2.5.3 does the same with two functions.
//!
//! What unwinds without going through these names (the C library on thread cancellation, programs
//! linked with -static-libgcc or with an unwinder of their own) asks the loader where the call
//! frame information of its first frame is, before it reads any return address but its own; so the
//! two functions that tell put the real address back, too, but for libgcc's shared library, which
//! goes on by the trampoline's own unwind information. An unwinder that remembers answers across
//! calls does so as well.
//!
//! Where an exception goes on, in a handler or a cleanup, the frame's personality routine says by
//! `_Unwind_SetIP`. That is the moment in which the frames inside are left: they are counted as
//! lost returns, and the trampoline takes the innermost frame that remains.
//!
//! The collector has no unwinder. The program's may come late, go with the one library to which it
//! is visible (a C program that opens a plug-in), and come again at another place: it is the first
//! in the loader's list behind this library, and looked for [anew](real::look_again) when it has
//! gone. That list has a lock of its own, which is held for moments: another thread that waits
//! in a constructor for the one that throws, with the loader's lock in hand, does no harm.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_void};

use super::real::{self, Real, behind};
use super::signals::interruption;
use super::stub::{self, ENGAGED, wrappers};
use crate::arch::{self, Call};
use crate::modules::rules;
use crate::thread;
use crate::trampoline::Suspended;

/// Where a function of the unwinder is; null where none is loaded. Where nothing is sampled, nobody
/// hears of a library that goes: what came late is looked for each time.
fn address_of(real: &Real) -> *mut c_void {
    if stub::engaged() { real.address() } else { real.look() }
}

/// Makes the stack true and returns where to jump.
extern "C" fn prepare(_: &mut Call, real: &Real) -> *mut c_void {
    let errno = real::errno();
    let is = |slot: *const Real| core::ptr::eq(real, slot);
    thread::unarmed::disarm_here(if is(&raw const _Unwind_Resume_or_Rethrow::REAL) {
        // libgcc's calls _Unwind_RaiseException, by name.
        Suspended::Outer
    } else if is(&raw const _Unwind_Backtrace::REAL)
        || is(&raw const backtrace::REAL)
        || is(&raw const __backtrace::REAL)
    {
        Suspended::No
    } else {
        Suspended::Yes
    });
    let target = address_of(real);
    real::set_errno(errno);
    if !target.is_null() {
        target
    } else if is(&raw const _Unwind_Resume::REAL) {
        // It cannot return: no code was written to return to.
        cannot_resume as *mut c_void
    } else {
        no_unwinder as *mut c_void
    }
}

extern "C" fn cannot_resume() -> ! {
    crate::sys::abort()
}

/// What an unwinder answers on a stack without a handler. The C++ ABI asks callers to terminate
/// then; a caller of `_Unwind_Backtrace` sees no frames.
extern "C" fn no_unwinder() -> c_int {
    const URC_END_OF_STACK: c_int = 5;
    URC_END_OF_STACK
}

/// Defines exported functions in front of those of an unwinder.
macro_rules! of_unwinder {
    ($($(#[$attribute:meta])* $name:ident: $hook:path;)*) => {$(
        behind!(unwinder $name);
        arch::stub! {
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            {} jump $name = $name::REAL, ENGAGED, $hook
        }
    )*};
}

of_unwinder! {
    /// Begins to throw: Itanium C++ ABI, Exception Handling, 1.3.
    _Unwind_RaiseException: prepare;
    /// Goes on after a cleanup.
    _Unwind_Resume: prepare;
    /// Goes on, or throws again.
    _Unwind_Resume_or_Rethrow: prepare;
    /// Unwinds without an exception.
    _Unwind_ForcedUnwind: prepare;
    /// Reports each frame.
    _Unwind_Backtrace: prepare;
}

wrappers! {
    /// backtrace(3).
    jump backtrace: prepare;
    /// backtrace(3) under its [second name](super::aliases).
    jump __backtrace: prepare;
}

/// Makes the stack true for who looks the function at `pc` up and may be an unwinder.
extern "C" fn prepare_lookup(call: &mut Call, real: &Real) -> *mut c_void {
    disarm_for_lookup(call.caller, call.arguments[0] as u64, real)
}

fn disarm_for_lookup(caller: u64, pc: u64, real: &Real) -> *mut c_void {
    let errno = real::errno();
    thread::unarmed::disarm_for_lookup(caller, pc);
    let target = stub::target(real);
    real::set_errno(errno);
    target
}

/// The same for all functions at once. The collector itself asks so, too.
extern "C" fn prepare_visit(call: &mut Call, real: &Real) -> *mut c_void {
    if rules::is_own_code(call.caller) {
        stub::target(real)
    } else {
        disarm_for_lookup(call.caller, 0, real)
    }
}

wrappers! {
    /// Finds the call frame information of an address: glibc manual, "Dynamic Linker
    /// Introspection".
    jump _dl_find_object: prepare_lookup;
}

wrappers! {
    /// Visits the program headers of all modules, with which unwinders begin where there is no
    /// faster way.
    jump dl_iterate_phdr: prepare_visit;
}

/// The frame of `context` will go on: all inside it is left.
extern "C" fn prepare_landing(call: &mut Call, real: &Real) -> *mut c_void {
    let errno = real::errno();
    let context = core::ptr::with_exposed_provenance_mut(call.arguments[0]);
    type GetCfa = unsafe extern "C" fn(*mut c_void) -> usize;
    let get_cfa = address_of(&_Unwind_GetCFA::REAL);
    if !get_cfa.is_null() {
        // SAFETY: the function of this name, whose signature this is (Itanium C++ ABI).
        let get_cfa = unsafe { core::mem::transmute::<*mut c_void, GetCfa>(get_cfa) };
        // SAFETY: the context that a personality routine was given. The canonical frame address of
        // an unwinder's context is the stack pointer at the call in the frame.
        let target = unsafe { get_cfa(context) } as u64;
        thread::unarmed::left_to(target);
        interruption::leave_to(target);
    }
    let target = address_of(real);
    real::set_errno(errno);
    if target.is_null() { stub::target(real) } else { target }
}

// Not wrapped.
behind!(unwinder _Unwind_GetCFA);

of_unwinder! {
    /// Sets where a frame goes on: Itanium C++ ABI, Exception Handling, 1.4.
    _Unwind_SetIP: prepare_landing;
}
