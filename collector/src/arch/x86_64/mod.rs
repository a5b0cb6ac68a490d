//! x86-64: System V psABI, glibc, Linux.

#![expect(unsafe_code, reason = "instructions, and what the kernel has written")]

mod bytes;
pub(crate) mod call;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod entry;
pub(crate) mod processor;
pub(crate) mod signal_return;
pub(crate) mod stubs;
pub(crate) mod thread_local;
pub(crate) mod trampoline;
pub mod unwind;
