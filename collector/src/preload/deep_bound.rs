//! Libraries that are opened with `RTLD_DEEPBIND`: the loader binds their calls to what they were
//! linked with, past csprof.
//!
//! Where it has written the address of a function that csprof has one for, csprof's goes in its
//! place, as if the library had been opened without. So it is only with what csprof's would go on
//! to: another function of the name, in a library of its own, is what the program wants. Left out
//! are requests of memory: what the library's constructors have got was not seen.
//!
//! Constructors run before this, and what is called by an address from dlvsym(3) goes past it.

#![expect(unsafe_code, reason = "writes addresses of csprof's functions")]

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::modules;
use crate::sys;

/// Whether such a library was opened since the last look.
static IS_OPENED: AtomicBool = AtomicBool::new(false);

/// A word by which a module calls a function.
struct Call {
    place: u64,
    at: u64,
    /// Whether it is not bound yet: it leads to where the module asks the loader.
    is_unbound: bool,
}

/// A function that csprof has, and the calls of it.
struct Called {
    name: CString,
    own: u64,
    calls: Vec<Call>,
}

/// To be called before a library is opened with these flags.
pub(super) fn note(flags: usize) {
    if flags & libc::RTLD_DEEPBIND as usize != 0 {
        // Relaxed: looked at by this thread, or by another one early or late.
        IS_OPENED.store(true, Ordering::Relaxed);
    }
}

/// Has calls by libraries that were opened so come to csprof. `false` if it has to be done later.
/// Setup side.
pub(super) fn follow() -> bool {
    if !IS_OPENED.swap(false, Ordering::Relaxed) {
        return true;
    }
    // A module that goes takes its words with it.
    let is_done = modules::with_loader(|| calls().iter().for_each(lead));
    if !is_done {
        IS_OPENED.store(true, Ordering::Relaxed);
    }
    is_done
}

fn is_request(name: &[u8]) -> bool {
    let names: [&[u8]; 10] = [
        b"malloc",
        b"calloc",
        b"realloc",
        b"posix_memalign",
        b"aligned_alloc",
        b"memalign",
        b"valloc",
        b"pvalloc",
        b"free",
        b"cfree",
    ];
    names.contains(&name)
}

/// Calls that do not come to csprof's functions.
fn calls() -> Vec<Called> {
    let mut all: Vec<Called> = Vec::new();
    modules::each_loaded(|module| {
        let is_home = |at| module.code.iter().any(|code| code.contains(&at));
        module.each_import(|name, place| {
            if is_request(name) || !place.is_multiple_of(8) {
                return;
            }
            let known = all.iter().position(|called| called.name.as_bytes() == name);
            let called = known.or_else(|| {
                let name = CString::new(name).ok()?;
                let own = modules::function_of_own(&name)?;
                all.push(Called { name, own, calls: Vec::new() });
                Some(all.len() - 1)
            });
            let called = called.and_then(|at| all.get_mut(at));
            let Some((called, at)) = called.zip(sys::probe(place)) else { return };
            if at != 0 && at != called.own {
                called.calls.push(Call { place, at, is_unbound: is_home(at) });
            }
        });
    });
    all
}

/// Leads calls of a function to csprof's, where they lead to what that goes on to, or will.
fn lead(called: &Called) {
    let Called { name, own, calls } = called;
    if calls.is_empty() {
        return;
    }
    let real = modules::function_behind(name).addr() as u64;
    // The program's own function, or that of a library, may be what is called.
    let is_only_one = has_one_library(name) && modules::function_before(name).is_null();
    for call in calls {
        if real != 0 && (call.at == real || call.is_unbound && is_only_one) {
            // SAFETY: the loader's word for a function, or for its answer, which csprof's calls.
            unsafe { sys::write_constant(call.place, *own) };
        }
    }
}

fn has_one_library(name: &CStr) -> bool {
    let mut libraries = 0;
    modules::each_behind(|module| libraries += usize::from(module.address_of(name).is_some()));
    libraries == 1
}
