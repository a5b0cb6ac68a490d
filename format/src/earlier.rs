//! Threads that one thread of a profile stands for.

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;

/// A thread of a profile that stands for several, which ran one after the other: each went on with
/// the counts of the one before. It has the start of the first of them, thread id, name and end of
/// the last, and counts and CPU time of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierThreads {
    /// The thread.
    pub thread: ThreadId,
    /// How many threads there were before the last; at least 1.
    pub count: u64,
    /// Time between its start and its end in which none of them ran, in nanoseconds: from the end
    /// of one to the start of the next.
    pub apart_ns: u64,
}
