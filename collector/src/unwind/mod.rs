//! The unwinder: from the registers of an interrupted thread to the path of its callers.
//!
//! In the life of a sample it comes between signal and calling context tree. It is pure.
//! It performs no system call, knows no thread and reads memory only through a
//! [`Target`](target::Target), which its caller bounds; so every rule here is tested on literal
//! registers and stack words.
//!
//! | part | side | allocates | what it does |
//! |---|---|---|---|
//! | [`cfi`] | SETUP | yes | `.eh_frame` of a load module → [`table::RecipeTable`] |
//! | [`cfi::direct`] | SIGNAL, but for what it notes | no | `.eh_frame`, or a copy → the one recipe at an address |
//! | [`inference`](crate::arch::unwind::inference) | SIGNAL | no | code that has no `.eh_frame` → the recipe at an address |
//! | [`landing`](crate::arch::unwind::landing) | SIGNAL | no | an unwinder's frame → the handler that it goes to |
//! | [`switch`](crate::arch::unwind::switch) | SIGNAL | no | longjmp and its kin → the frame that they go to |
//! | [`table`] | both | no | offset → [`Recipe`](crate::arch::unwind::recipe::Recipe) |
//! | [`cache`] | SIGNAL | no | lookup address → recipe, per thread |
//! | [`known_ways`] | SIGNAL | no | what was read off code without `.eh_frame`, by any thread |
//! | [`piece`] | SIGNAL | no | a copy of code that may be replaced |
//! | [`window`] | SIGNAL | no | copies of a module's code, as it is followed |
//! | [`step`](crate::arch::unwind::step) | SIGNAL | no | registers + recipe → the caller's registers |
//! | [`validate`] | SIGNAL | no | whether a caller's frame is believed |
//! | [`walk`] | SIGNAL | no | the loop over all of them, frame by frame |
//!
//! What depends on the architecture is in [`arch::unwind`](crate::arch::unwind).
//!
//! Invariants: a walk ends, because CFAs grow within a stack, signal frames are counted, and the
//! visitor stops what takes too long or is too deep: a jump, or a return through a register, may
//! keep the stack pointer. It reads nothing but what [`Target::read`](walk::Target::read),
//! [`Target::copy`](walk::Target::copy) and [`Target::copy_text`](walk::Target::copy_text) admit;
//! it never panics; and where it cannot go on it says why, so that no path is cut silently.

#![forbid(unsafe_code)]

pub mod cache;
pub mod cfi;
pub mod known_ways;
pub mod piece;
pub mod table;
pub mod target;
pub mod validate;
pub mod walk;
pub mod window;
