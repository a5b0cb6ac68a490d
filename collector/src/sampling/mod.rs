//! Where samples come from: signals of the kernel's, and calls that are counted.
//!
//! Everything in this folder runs in a handler, or as one would with all signals blocked, on a
//! [stack of its own](crate::thread::handler_stack). It may have interrupted anything: malloc, the
//! loader, a lock's holder. So: no libc, no heap, no locks, no panics, no recursion; memory it
//! needs comes from system calls.

pub mod call;
pub mod entry;
mod handler;
pub mod pass_on;
pub mod restart;
mod waited;
