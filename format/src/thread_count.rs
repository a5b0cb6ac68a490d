//! How many threads there were.

use crate::earlier::EarlierThreads;
use crate::ids::ThreadId;
use crate::profile::Profile;

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
