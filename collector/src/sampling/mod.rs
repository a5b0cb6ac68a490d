//! The signal side: from the profiling signal to a counted node.
//!
//! Everything in this folder runs in the handler, on a [stack of its own](crate::thread::handler_stack). It may have
//! interrupted anything: malloc, the loader, a lock's holder. So: no libc, no heap, no locks, no
//! panics, no recursion; memory it needs comes from system calls.

mod effort;
pub mod entry;
mod handler;
pub mod pass_on;
mod path;
pub mod restart;
mod stack;
mod suspect;
pub mod trap;
mod walked;

pub use effort::Effort;
use handler::on_signal;
pub use path::Path;
pub use suspect::Suspect;
pub use walked::Walked;

/// The profiling signal. [`trap`] may be a second one.
pub const SIGNAL: i32 = libc::SIGPROF;

/// Longest path, in frames: 40 MB of cached path.
pub const MAX_DEPTH: usize = 1 << 20;

/// Frames that are recorded of a path that was not followed to its end because that would have been too much:
/// the innermost ones. Each sample of such a stack ends elsewhere, and has nodes of its own.
const CUT_DEPTH: usize = 128;

/// Ends the process if the collector's heap is used inside the handler. Debug builds only.
#[cfg(debug_assertions)]
#[expect(unsafe_code, reason = "looks at the handler's own flag")]
pub fn abort_in_handler() {
    let thread = crate::thread::current();
    // SAFETY: null or this thread's live state, of which the handler has an exclusive reference: one word is read.
    if !thread.is_null() && unsafe { (&raw const (*thread).in_handler).read_volatile() } {
        // The defined way to say that an invariant is broken.
        crate::sys::abort();
    }
}
