//! A program that takes away the kernel's code in the process (vdso(7)), by which [`counted`] reads
//! the time.
//!
//! What unmaps memory, moves it, puts something in its place or changes its rights is looked at as
//! long as that code is in use, and from such a call on the kernel is asked for the time. The
//! functions are not exported, but [found](super::imports) in the modules that call them: registers
//! of pinned memory (UCX, Open MPI) write jumps over the first instructions of the C library's, and
//! must find those, which the C library calls itself.
//!
//! [`counted`]: super::counted

use core::ffi::c_long;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use csprof_format::launch::SourceKind;

use super::imports::{self, Imports};
use super::real::Real;
use super::stub;
use crate::arch::{Call, Route};
use crate::sealed::{SAMPLES_OF_CALLS, sealed};
use crate::sources::metric_of;
use crate::sys;

/// Whether calls are looked at.
static LOOKED_AT: AtomicBool = AtomicBool::new(false);

/// The system calls of these functions.
pub(super) const CALLS: [c_long; 5] = [
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_pkey_mprotect,
];

/// Before a call of one of these, by a function or by syscall(2). Async-signal-safe.
pub(super) fn before_call(number: c_long, arguments: &[usize; 6]) {
    let &[start, size, third, flags, fifth, _] = arguments;
    let range = |start: usize, size: usize| -> Range<u64> {
        start as u64..start.saturating_add(size) as u64
    };
    let has = |flag: i32| flags & flag.cast_unsigned() as usize != 0;
    let memory = match number {
        libc::SYS_mmap if !has(libc::MAP_FIXED) => return,
        libc::SYS_mremap if has(libc::MREMAP_FIXED) => [range(start, size), range(fifth, third)],
        _ => [range(start, size), 0..0],
    };
    if memory.iter().any(sys::is_needed_to_read) {
        leave();
    }
}

/// From here on the kernel is asked for the time.
#[cold]
fn leave() {
    LOOKED_AT.store(false, Ordering::Relaxed);
    sys::read_elapsed_by_call();
    // Other threads may be in that code. A sealed process reads no time.
    if !sealed() {
        SAMPLES_OF_CALLS.outwait();
    }
}

extern "C" fn before<const NUMBER: c_long>(call: &mut Call, real: &Real) -> Route {
    before_call(NUMBER, &call.arguments);
    Route { target: stub::target(real), calls: 0 }
}

macro_rules! functions {
    ($($name:ident: $number:ident;)*) => {
        $(imports::function! {
            $name: crate::preload::clock_code::LOOKED_AT,
            crate::preload::clock_code::before::<{ libc::$number }>
        })*

        /// All of them.
        const FUNCTIONS: &[imports::Function] = &[$($name::FUNCTION,)*];
    };
}

functions! {
    munmap: SYS_munmap;
    mremap: SYS_mremap;
    mmap: SYS_mmap;
    mmap64: SYS_mmap;
    mprotect: SYS_mprotect;
    pkey_mprotect: SYS_pkey_mprotect;
}

static IMPORTS: Imports = Imports::new(
    FUNCTIONS,
    &[b"munmap", b"mremap", b"mmap", b"mprotect", b"pkey_mprotect"],
    c"munmap",
    |word| word.at == word.real || word.is_unbound && word.libraries == 1,
    // What cannot be seen may happen.
    leave,
);

/// Has calls looked at, if need be: the sources are known. Setup side.
pub(super) fn watch() {
    let kinds = [SourceKind::Lock, SourceKind::IoTime, SourceKind::Mpi];
    let is_timed = kinds.into_iter().any(|kind| metric_of(kind).is_some());
    LOOKED_AT.store(is_timed && sys::is_read_without_call(), Ordering::Relaxed);
    follow();
}

/// Has those calls looked at that are made by modules which are loaded now. `false` if it has to be
/// done later. Setup side.
pub(super) fn follow() -> bool {
    !LOOKED_AT.load(Ordering::Relaxed) || IMPORTS.follow()
}

/// All of them, where they are.
pub(super) fn functions() -> impl Iterator<Item = &'static Real> {
    IMPORTS.reals()
}
