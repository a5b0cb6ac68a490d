//! Libraries that come and go while the program runs.
//!
//! The loader looks at the return address of dlopen to find the calling module, and searches that
//! module's `RUNPATH`; dlsym does the same for `RTLD_NEXT`. A plain wrapper would make the
//! collector the caller. Yet the load map must learn of a new module soon, and its recipes cannot
//! be built in the handler, so code has to run *after* dlopen. What was weighed:
//!
//! - *Replace the return address* by a continuation of ours: the loader would see ours.
//! - *Return through a `ret` in the caller's module*, pushed in front of our continuation: the
//!   loader sees the right module, but constructors run inside dlopen, and an unwinder that crosses
//!   the borrowed `ret` applies the rules of a function that was never called; hardware
//!   shadow stacks refuse the return.
//! - *LD_AUDIT*: calls through the PLT become 68 times slower.
//! - *Only jump, and learn at the next sample*: until something calls the setup side, every path
//!   through the new module is partial.
//!
//! So: glibc needs the caller for a name without a slash (search path), for one with a `$`
//! (`$ORIGIN` is the caller's), and to load into the caller's namespace (`dl_open_worker_begin` in
//! elf/dl-open.c). Code in another namespace has a C library of its own and does not come here.
//! A *path*, which is how interpreters and plug-in systems load, is therefore opened by a call, and
//! new modules are learned when it returns. For any other name the stub jumps on, with the caller's
//! return address in place, and the thread remembers that it has not looked: its next dlopen,
//! dlsym or dlclose does. A program that loads a library nearly always asks it for a symbol next.
//! dlsym, asked by a handle that says which library, does not look at the caller, and is called:
//! what it finds in the C library may be what csprof has a function for.
//! Constructors of a new library run before anyone could look; a sample in one asks the loader for
//! that module ([`modules::foreign`]), and leaves a note that makes the next call look.
//!
//! The frame that a call needs carries unwind information and no Rust code: a constructor may
//! throw through it to the program's handler around dlopen.

#![expect(unsafe_code, reason = "stubs, and strings from the program")]

use core::ffi::{CStr, c_char};

use super::real::{self, Real};
use super::stub::{self, wrappers};
use super::view::Belief;
use super::{mpi, regions};
use crate::arch::{Call, Route};
use crate::sealed::sealed;
use crate::thread::registry;
use crate::{c_library, modules, process};

/// Whether the loader would open the same file whoever asks.
///
/// # Safety
/// `file` is null or a C string.
unsafe fn same_for_every_caller(file: *const c_char) -> bool {
    // The program itself.
    if file.is_null() {
        return true;
    }
    // SAFETY: not null, so the caller vouches for a C string.
    let name = unsafe { CStr::from_ptr(file) }.to_bytes();
    name.contains(&b'/') && !name.contains(&b'$')
}

/// Looks for modules that the thread loaded unseen, or that a sample has met.
fn look_for_new_modules() {
    look_after_note();
    if Belief::LoadUnseen.get() && process::active() {
        let errno = real::errno();
        modules::outwait_fork();
        let is_known = modules::after_change();
        look_for_functions();
        registry::follow_phase_functions();
        let is_done = [mpi::count(), regions::follow(), is_known];
        Belief::LoadUnseen.set(is_done.contains(&false));
        real::set_errno(errno);
    }
}

/// Has functions of libraries that come and go looked for where these are now. Who closes one does
/// so, and who opens one, for another thread may have closed it just before.
fn look_for_functions() {
    let libraries = mpi::functions().chain(regions::functions());
    real::look_again(real::of_unwinder().iter().chain(libraries));
}

/// Looks if a sample has met a module that is not in the load map.
pub(super) fn look_after_note() {
    let errno = real::errno();
    modules::after_note();
    registry::follow_phase_functions();
    real::set_errno(errno);
}

unsafe fn route_open(file: usize, real: &Real) -> Route {
    let target = stub::target(real);
    if !process::active() {
        return Route { target, calls: 0 };
    }
    look_for_new_modules();
    // SAFETY: the program's own argument.
    let calls = unsafe { same_for_every_caller(core::ptr::with_exposed_provenance(file)) };
    if !calls {
        Belief::LoadUnseen.set(true);
    }
    Route { target, calls: usize::from(calls) }
}

unsafe extern "C" fn before_dlopen(call: &mut Call, real: &Real) -> Route {
    // SAFETY: the program's own argument.
    unsafe { route_open(call.arguments[0], real) }
}

unsafe extern "C" fn before_dlmopen(call: &mut Call, real: &Real) -> Route {
    // SAFETY: the program's own argument.
    unsafe { route_open(call.arguments[1], real) }
}

extern "C" fn after_open(call: &mut Call) {
    let handle = call.result;
    if handle != 0 {
        Belief::LoadUnseen.set(true);
        look_for_new_modules();
    }
}

extern "C" fn before_dlclose(_: &mut Call, real: &Real) -> Route {
    let target = stub::target(real);
    if !process::active() {
        return Route { target, calls: 0 };
    }
    look_for_new_modules();
    Route { target, calls: 1 }
}

extern "C" fn after_dlclose(_: &mut Call) {
    let errno = real::errno();
    modules::outwait_fork();
    if !modules::after_change() {
        Belief::LoadUnseen.set(true);
    }
    look_for_functions();
    registry::follow_phase_functions();
    real::set_errno(errno);
}

/// The loader looks at the caller for those handles that are none, of which the one finds what
/// csprof offers and the other is for what stands before the C library.
extern "C" fn before_dlsym(call: &mut Call, real: &Real) -> Route {
    look_for_new_modules();
    let is_by_caller = [libc::RTLD_DEFAULT, libc::RTLD_NEXT]
        .iter()
        .any(|handle| handle.addr() == call.arguments[0]);
    let calls = !is_by_caller && process::active() && !sealed();
    Route { target: stub::target(real), calls: usize::from(calls) }
}

/// A library's own handle leads past csprof: foreign function interfaces ask the C library's for
/// `sigaction`. What csprof's function of that name would go on to is answered with csprof's.
extern "C" fn after_dlsym(call: &mut Call) {
    let found = call.result;
    if found == 0 {
        return;
    }
    let errno = real::errno();
    let name = core::ptr::with_exposed_provenance::<c_char>(call.arguments[1]);
    // SAFETY: the loader has found something by this name.
    let name = unsafe { CStr::from_ptr(name) };
    if let Some(own) = modules::function_of_own(name)
        && own != found as u64
        && c_library::next(name).addr() == found
    {
        call.result = own as usize;
    }
    real::set_errno(errno);
}

wrappers! {
    /// dlopen(3).
    call dlopen: before_dlopen, after_open;
    /// dlmopen(3).
    call dlmopen: before_dlmopen, after_open;
    /// dlclose(3).
    call dlclose: before_dlclose, after_dlclose;
    /// dlsym(3).
    call dlsym: before_dlsym, after_dlsym;
}
