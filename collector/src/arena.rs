//! This process's arena: the shared-memory file that `csprof record` turns into a profile.
//!
//! In the life of a sample this is where counts come to rest. The layout is
//! [`csprof_format::arena`]; this module makes the file, hands out extents of it and gives the
//! calling context tree its nodes. Extents are allocated on the signal side too, when a tree
//! grows, so everything here is system calls and atomics: no heap, no locks.
//!
//! Invariant: memory is backed by `fallocate` before it is mapped, so a store never faults.

mod log;
mod process;
mod room;
mod thread;

pub use log::LogExtent;
pub use process::Arena;
pub use room::Room;
pub use thread::{CpuCell, EndedThread, ThreadArena, is_same_role};
