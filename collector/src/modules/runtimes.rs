//! Runtimes that do more with a return address than return to it.
//!
//! One table, as data. To copy a stack is harmless, for an entry says by itself where it returns
//! to. What is listed here looks return addresses up in tables of its own, compares them, shows
//! them, or puts stacks over each other, so that the place of an activation does not say which one
//! it is. Where one of them is loaded, less is armed, and a note in `csprof info` says so.
//! Recognized is what survives strip(1): exported and imported names, and names of files.
//!
//! Not listed are runtimes whose own code lies in no file (HotSpot, V8, Mono, SBCL, Chez Scheme,
//! Racket, Erlang): while any of it is on the stack nothing is armed anyway, nor where code without
//! call frame information would be returned to (Go); and GHC, whose stacks are no thread's own.

use core::ffi::CStr;

use super::elf::LoaderModule;
use crate::arch::LIBUNWIND_STEP;

/// By what a runtime is recognized in a module.
#[derive(Clone, Copy, Debug)]
enum Sign {
    /// It exports this name.
    Defines(&'static CStr),
    /// It imports this name, or brings it itself; the C library does not count, which has all of
    /// them.
    Uses(&'static CStr),
    /// The name of its file begins so.
    Named(&'static str),
}

/// How much is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Nothing is armed in the process.
    Process,
    /// No activation of the module's functions is armed.
    Module,
}

/// A runtime.
#[derive(Debug)]
pub struct Runtime {
    /// What people call it, and what it does, for the note.
    pub does: &'static str,
    /// How much is left alone.
    pub extent: Extent,
    /// Any of them is enough.
    signs: &'static [Sign],
}

const fn process(does: &'static str, signs: &'static [Sign]) -> Runtime {
    Runtime { does, extent: Extent::Process, signs }
}

use Sign::{Defines, Named, Uses};

/// All of them.
static RUNTIMES: [Runtime; 13] = [
    process(
        "OCaml's garbage collector looks return addresses up",
        &[Defines(c"caml_frametable"), Defines(c"caml_init_frame_descriptors")],
    ),
    process("greenlets put stacks over each other", &[Named("_greenlet."), Named("greenlet.")]),
    process("Ruby's continuations put stacks over each other", &[Named("continuation.so")]),
    process("Guile's continuations put stacks over each other", &[Named("libguile")]),
    process("PyPy's continulets put stacks over each other", &[Named("libpypy")]),
    process("CHICKEN leaves its stack by jumps only", &[Named("libchicken")]),
    process("libunwind shows return addresses as it reads them", &[Defines(LIBUNWIND_STEP)]),
    process("unw_step shows return addresses as it reads them", &[Uses(c"unw_step")]),
    process(
        "AddressSanitizer shows return addresses as it reads them",
        &[Defines(c"__asan_init"), Named("libasan.so")],
    ),
    process(
        "ThreadSanitizer compares return addresses",
        &[Defines(c"__tsan_init"), Named("libtsan.so")],
    ),
    process(
        "LeakSanitizer shows return addresses as it reads them",
        &[Defines(c"__lsan_do_leak_check"), Named("liblsan.so"), Defines(c"__hwasan_init")],
    ),
    process(
        "gperftools shows return addresses as it reads them",
        &[Named("libprofiler.so"), Named("libtcmalloc.so"), Named("libtcmalloc_and_profiler.so")],
    ),
    Runtime {
        does: "functions compiled with -finstrument-functions show their return addresses",
        extent: Extent::Module,
        signs: &[Uses(c"__cyg_profile_func_exit")],
    },
];

/// The runtime that a module is, or is part of; that of the greatest extent.
#[must_use]
pub fn of(module: &LoaderModule) -> Option<&'static Runtime> {
    let path = &module.identity.path;
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let is_c_library = name.starts_with(b"libc.so") || name.starts_with(b"libc-2.");
    let has = |sign: &Sign| match *sign {
        Named(begin) => name.starts_with(begin.as_bytes()),
        Defines(symbol) => module.address_of(symbol).is_some(),
        Uses(symbol) => {
            !is_c_library && (module.address_of(symbol).is_some() || module.imports(symbol))
        }
    };
    RUNTIMES.iter().find(|runtime| runtime.signs.iter().any(has))
}
