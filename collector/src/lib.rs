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
//! | [`process`], [`thread`] | setup: start, fork, exec, end | yes | yes | no |
//! | [`sources`] | setup: open; signal: weight of a sample | open only | no | no |
//! | [`sampling`] | signal: the handler | no | no | no, its signal is blocked |
//! | [`trampoline`] | the program's own returns; signal: arming | no | no | no |
//! | [`modules`] | setup: load map, epochs; signal: [`modules::Reading`] | setup only | setup only | no |
//! | [`unwind`] | setup: tables ([`unwind::cfi`]); signal: the walk | tables only | no | yes, pure |
//! | [`cct`] | signal: find or add a node | no | no | no, one tree per thread |
//! | [`arena`] | both: extents of the shared file | no | no | yes, atomics |
//! | [`c_library`] | setup: the C library's functions, by name | by the C library | by the loader | yes |
//! | [`sys`] | both: system calls | no | no | yes |
//! | [`allocator`], [`setup_lock`], [`config`], [`report`] | setup | – | – | no |

#![no_std]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;
// Tests and benchmarks link the standard library. The preloaded one does not: its functions call
// those of the C library by names that the program may define (see `c_library`).
#[cfg(not(panic = "abort"))]
#[cfg_attr(test, macro_use)]
extern crate std;

pub mod allocator;
pub mod arena;
pub mod c_library;
pub mod cct;
pub mod config;
pub mod modules;
#[cfg(panic = "abort")]
mod panic;
mod preload;
pub mod process;
pub mod report;
pub mod sampling;
pub mod setup_lock;
pub mod sources;
pub mod sys;
pub mod thread;
pub mod trampoline;
pub mod unwind;
