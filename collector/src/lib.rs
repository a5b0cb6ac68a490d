//! The collector: preloaded into a program, it samples the program's call paths.
//!
//! Inert unless [`csprof_format::launch::RUN_DIR`] is in the environment. The code has two sides.
//! The *setup side* runs when the program starts, creates a thread, forks, loads a library: it may
//! allocate (from the collector's own heap) and wait for a lock. The *signal side* runs in the
//! handler of the profiling signal, on top of anything: it may do neither.
//!
//! | module | side | may allocate | may lock | re-entered |
//! |---|---|---|---|---|
//! | `preload` | setup: constructor, wrappers of libc functions | yes | yes | per call |
//! | [`lifecycle`] | setup: start, fork, exec, seal, end | yes | yes | no |
//! | [`sampling`] | signal: the handlers, samples of calls | no | no | no, their signals are blocked |
//! | [`thread`] | setup: start and end of each thread; signal: its state | setup only | setup only | no |
//! | [`sources`] | setup: open; signal: weight of a sample | open only | no | no |
//! | [`sampler`] | signal: from registers to a counted node | no | no | no, one per thread |
//! | [`trampoline`] | the program's own returns; signal: arming | no | no | no |
//! | [`modules`] | setup: load map, epochs; signal: [`modules::Reading`] | setup only | setup only | no |
//! | [`phases`] | setup: begin one; both: the present one | setup only | setup only | yes |
//! | [`generated`] | setup: files that name generated code | yes | yes | no |
//! | [`process`] | both: whether this process is sampled, and by what | setup only | setup only | yes, atomics |
//! | [`arena`] | both: extents of the shared file | no | no | yes, atomics |
//! | [`unwind`] | setup: tables ([`unwind::cfi`]); signal: the walk | tables only | no | yes, pure |
//! | [`cct`] | signal: find or add a node | no | no | no, one tree per thread |
//! | [`c_library`] | setup: the C library's functions, by name | by the C library | by the loader | yes |
//! | [`sealed`] | both: whether system calls are allowed | no | no | yes |
//! | [`occupancy`] | both: who is inside code that another waits for | no | no | yes, atomics |
//! | [`control`] | both: what the run is told while it goes on | no | no | yes, atomics |
//! | [`try_lock`] | both: what one at a time may use | no | no, nobody waits | no |
//! | [`messages`], [`allocator`], [`setup_lock`], [`config`] | setup | – | – | no |
//! | [`sys`] | both: system calls | no | no | yes |
//! | [`gathered`] | both: statics that the linker gathers | no | no | yes |
//! | [`arch`], [`eh_frame`] | both: what the processor decides; entries of `.eh_frame` | no | no | yes |
//!
//! Which may name which is in `ARCHITECTURE.md`.

#![no_std]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;
// Tests and benchmarks link the standard library. The preloaded one does not: its functions call
// those of the C library by names that the program may define (see `c_library`).
#[cfg(not(panic = "abort"))]
#[cfg_attr(test, macro_use)]
extern crate std;

pub mod allocator;
pub mod arch;
pub mod arena;
pub mod c_library;
pub mod cct;
pub mod config;
pub mod control;
pub mod eh_frame;
pub mod gathered;
pub mod generated;
pub mod lifecycle;
pub mod messages;
pub mod modules;
pub mod occupancy;
#[cfg(panic = "abort")]
mod panic;
pub mod phases;
mod preload;
pub mod process;
pub mod sampler;
pub mod sampling;
pub mod sealed;
pub mod setup_lock;
pub mod sources;
pub mod sys;
pub mod thread;
pub mod trampoline;
pub mod try_lock;
pub mod unwind;
