//! Threads that one thread of a profile stands for.

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;
use crate::profile::Profile;

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

impl Profile {
    /// What one of the profile stands for besides the last of them; `None` for most.
    #[must_use]
    pub fn earlier_of(&self, thread: ThreadId) -> Option<&EarlierThreads> {
        let found = self.earlier.binary_search_by_key(&thread, |row| row.thread);
        found.ok().and_then(|place| self.earlier.get(place))
    }

    /// How many threads one of the profile stands for besides the last of them; 0 for most.
    #[must_use]
    pub fn earlier_threads(&self, thread: ThreadId) -> u64 {
        self.earlier_of(thread).map_or(0, |row| row.count)
    }

    /// How many threads there were in all processes; `u64::MAX` if there were more.
    #[must_use]
    pub fn thread_count(&self) -> u64 {
        let counts = self.earlier.iter().map(|row| row.count);
        counts.fold(self.threads.len() as u64, u64::saturating_add)
    }
}
