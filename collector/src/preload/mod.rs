//! What the program sees of the collector: the constructor, and the exported names.
//!
//! Setup side. The library is preloaded, so the dynamic linker binds the program's calls of the
//! names of these wrappers to them: ICS'05 section 2.5.2. Each keeps one promise: *the program
//! behaves as it would alone*. Where nothing is sampled (not launched by csprof, or the child of a
//! vfork) a wrapper hands the call on unchanged.
//!
//! | file | why |
//! |---|---|
//! | [`signals`], one file for each kind of call | the signals of samples stay csprof's, and the program sees none of them; what waits, reads or writes is not ended or cut short by samples; the C library's own profiler does not take the signal |
//! | [`exec`] | a pending sample must not kill the new program |
//! | [`reach`] | what cannot be followed is counted, and finds no dead path |
//! | [`fork`] | the child has an arena of its own; that of vfork borrows the parent's memory, and nothing may be done in it |
//! | [`threads`] | new threads are sampled |
//! | [`dl`] | the load map follows; the caller's address is kept |
//! | [`exceptions`] | unwinders see real return addresses; where an exception goes on |
//! | [`jumps`] | frames that are left do not return |
//! | [`files`] | the files of sample sources stay open |
//! | [`places`] | the run's folder stays in reach of children |
//! | [`locked_memory`] | memory of the collector does not count against the program's limit |
//! | [`sandbox`] | seccomp would make the collector's system calls deadly; threads that cannot be sampled are counted |
//! | [`alloc`], [`mappings`], [`calls`], [`io`], [`locks`] | what sources of calls count |
//! | [`streams`], [`mpi`], [`regions`] | the same, and parallel regions, where no name is exported: by tables of the C library, and by [`imports`], places where modules have addresses of functions |
//! | [`ompt`] | parallel regions of an OpenMP that tells when they begin |
//! | [`words`] | what the program says by `csprof.h` |
//! | [`aliases`] | second names of the above |
//!
//! Which names a file has is in it alone: each is an entry of [`stub::wrappers`] or
//! [`stub::waits`], with its manual page, or a function of that name.
//!
//! Not here, on purpose: `exit`, `_exit`, `quick_exit`, `abort` (the arena is shared memory and
//! needs no farewell), `pthread_exit` (see [`threads`]).
//!
//! Invariant: the dynamic symbol table holds the names of wrappers and no others;
//! `tests/preload.rs` compares it with the [real functions](real) that wrappers declare. Calls made
//! inside the C library do not come here, so a function that uses another one internally needs a
//! wrapper of its own.

#![expect(unsafe_code, reason = "entries of .init_array and .fini_array")]

use crate::c_library;
use crate::lifecycle;
use crate::modules;
mod aliases;
mod alloc;
mod calls;
mod counted;
mod dl;
mod exceptions;
mod exec;
mod files;
mod filter;
mod fork;
mod imports;
mod io;
mod jumps;
mod locked_memory;
mod locks;
mod mappings;
mod mpi;
mod ompt;
mod places;
mod program;
mod reach;
mod readable;
mod real;
mod regions;
mod sandbox;
mod signals;
mod streams;
mod stub;
mod threads;
mod under_way;
mod view;
mod words;

use core::ffi::{c_char, c_int};

use crate::process;

/// Run by the dynamic linker before all other constructors (`-z initfirst`), so that theirs are
/// sampled: those of C++ libraries may take long. Another library that asks for the same takes
/// precedence if it is loaded later; calls that come before this one find their own real functions.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = construct;

/// Run by exit(3), after the program's own destructors and exit handlers.
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destruct;

extern "C" fn construct(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if c_library::environment().is_null() {
        // SAFETY: the kernel's vector. The C library's constructor comes later and assigns the
        // same.
        unsafe { c_library::set_environment(environment) };
    }
    real::find_all();
    modules::remember_own();
    real::find_unwinder();
    signals::action::remember_inherited();
    reach::remember();
    reach::take_back();
    signals::action::pass_on();
    signals::inherit::remember_mask();
    lifecycle::start(signals::trap::by_default as *mut _);
    if !process::active() {
        signals::inherit::leave_mask();
        return;
    }
    stub::engage();
    alloc::begin();
    mappings::begin();
    signals::relatives::find();
    io::watch();
    streams::count();
    mpi::count();
    regions::follow();
    threads::begin();
    locks::leave_watched();
    threads::create_key();
    threads::watch_end();
    if !fork::register() {
        crate::messages::note("children made by fork are not sampled: pthread_atfork failed");
    }
}

extern "C" fn destruct() {
    if process::active() {
        crate::modules::after_note();
        lifecycle::at_exit();
    }
}
