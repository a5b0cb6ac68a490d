//! Modules in namespaces of their own: what dlmopen(3) and LD_AUDIT load.
//!
//! Setup side. dl_iterate_phdr(3) tells of the caller's namespace only. For debuggers glibc (since
//! 2.35) keeps a list of all of them (link.h, `struct r_debug_extended`), with a list of link maps
//! each; where a link map's program headers are, `_dl_find_object` knows, for it looks at all
//! namespaces.
//!
//! Code there has a C library of its own, whose jumps, forks and exceptions csprof is not told of.
//! It has names and recipes, and no return address is replaced while it is on the stack.

#![expect(unsafe_code, reason = "reads the loader's lists for debuggers")]

use crate::c_library;
use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::foreign::{Foreign, LinkMap};

/// `struct r_debug_extended` of link.h.
#[repr(C)]
struct Namespace {
    /// In the first one: 2 or more where there can be others.
    version: c_int,
    /// The first of its modules.
    modules: *const LinkMap,
    notify: u64,
    state: c_int,
    loader: u64,
    /// Not there in version 1.
    next: *const Namespace,
}

/// That of the program; null where the loader has none.
static FIRST: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Finds the loader's list.
pub(super) fn start() {
    // Behind this library: a program that names the symbol has a copy, as short as the old one.
    let found = c_library::next(c"_r_debug");
    // Relaxed: an address of data that was mapped before this library.
    FIRST.store(found, Ordering::Relaxed);
}

/// Calls `visit` with each module outside the program's namespace, as dl_iterate_phdr(3) would.
/// `false` if there is one that the loader has not made known yet.
///
/// # Safety
/// To be called in a callback of dl_iterate_phdr, which holds the lock without which no list
/// changes.
pub(super) unsafe fn visit(mut visit: impl FnMut(&libc::dl_phdr_info)) -> bool {
    // SAFETY: null, or the loader's own structure, which stays where it is.
    let first = unsafe { FIRST.load(Ordering::Relaxed).cast::<Namespace>().as_ref() };
    let mut all_known = true;
    let others = first.filter(|first| first.version >= 2).map(|first| first.next);
    let mut namespace = others.unwrap_or(null());
    // SAFETY: an element of a list that only grows.
    while let Some(Namespace { modules, next, .. }) = unsafe { namespace.as_ref() } {
        namespace = *next;
        let mut link_map = *modules;
        // SAFETY: an element of a list that does not change meanwhile.
        while let Some(LinkMap { name, dynamic, next, .. }) = unsafe { link_map.as_ref() } {
            let known = Foreign::with_owner(dynamic.addr() as u64);
            all_known &= known.is_some();
            // The loader itself is in every namespace's list, and in the program's for itself.
            let here = known.filter(|(owner, _)| *owner == link_map.addr() as u64);
            if let Some((_, Some(module))) = here {
                visit(&module.described(*name));
            }
            link_map = *next;
        }
    }
    all_known
}
