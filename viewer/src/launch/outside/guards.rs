//! What keeps the events of a thread its own.
//!
//! Where a thread and one that it has begun have the same inherited events, the kernel exchanges
//! them when one of the two runs after the other on a processor, as it then has nothing to
//! reprogram (`context_equiv` of the kernel's `events/core.c`). What the one that goes on had
//! counted since its last sample ends with the other. They are no longer the same where the one
//! that begins others has an event that is not inherited: its guard, which counts nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use nix::libc;

use super::records::{Record, Stamped};
use crate::launch::count;
use crate::launch::perf_event::{Attributes, flag};

/// The guards of all threads that begin others.
#[derive(Debug)]
pub(super) struct Guards {
    /// One of each unit that counts: before Linux 6.2 a thread's events of each kind of unit were
    /// exchanged by themselves.
    attributes: Vec<Attributes>,
    /// Guards have smaller numbers as files.
    most_files: RawFd,
    /// By thread.
    opened: HashMap<u32, Vec<OwnedFd>>,
    /// Threads that have begun others since guards were last opened, and have none.
    wanted: HashSet<u32>,
    /// Threads that could not be given one, and the kernel's errors.
    refused: HashMap<u32, io::Error>,
}

impl Guards {
    /// For threads with these events.
    pub(super) fn of(events: &[Attributes], most_files: RawFd) -> Self {
        let mut attributes: Vec<Attributes> = Vec::new();
        for event in events {
            if attributes.iter().all(|known| known.unit != event.unit) {
                let flags =
                    flag::DISABLED | event.flags & (flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
                let (unit, config) = (event.unit, event.config);
                attributes.push(Attributes { unit, config, flags, ..Attributes::default() });
            }
        }
        let (opened, wanted, refused) = <(HashMap<_, _>, HashSet<_>, HashMap<_, _>)>::default();
        Self { attributes, most_files, opened, wanted, refused }
    }

    /// Gives a thread its guard.
    ///
    /// # Errors
    ///
    /// The kernel's; ESRCH where it has ended.
    pub(super) fn open(&mut self, thread: u32) -> io::Result<()> {
        /// Whatever processor it runs on.
        const ANY: i32 = -1;
        let open = |attributes: &Attributes| {
            let event = attributes.open(thread, ANY)?;
            match event.as_raw_fd() < self.most_files {
                true => Ok(event),
                false => Err(io::Error::from_raw_os_error(libc::EMFILE)),
            }
        };
        let opened = self.attributes.iter().map(open).collect::<io::Result<_>>()?;
        self.opened.insert(thread, opened);
        Ok(())
    }

    /// Takes the guard of a thread away.
    pub(super) fn close(&mut self, thread: u32) {
        self.opened.remove(&thread);
    }

    /// Notes who begins others, and who ends.
    pub(super) fn note(&mut self, stamped: &Stamped<'_>) {
        match stamped.record {
            Record::Begun { parent, .. } => {
                // With an id that another one had.
                self.forget(stamped.thread);
                if !self.opened.contains_key(&parent) {
                    self.wanted.insert(parent);
                }
            }
            Record::Ended => self.forget(stamped.thread),
            _ => {}
        }
    }

    fn forget(&mut self, thread: u32) {
        self.close(thread);
        self.wanted.remove(&thread);
    }

    /// Gives guards to those that were noted and have not ended.
    pub(super) fn open_wanted(&mut self) {
        for thread in std::mem::take(&mut self.wanted) {
            if let Err(error) = self.open(thread)
                && error.raw_os_error() != Some(libc::ESRCH)
            {
                self.refused.insert(thread, error);
            }
        }
    }

    /// Why there are threads that have none, and how many, one sentence for each cause.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut threads_by_cause: BTreeMap<String, usize> = BTreeMap::new();
        for error in self.refused.values() {
            *threads_by_cause.entry(why_refused(error)).or_default() += 1;
        }
        let told = |(cause, threads): (String, usize)| {
            let threads = count(threads, "thread that begins others", "threads that begin others");
            format!("samples may be missing of {threads}: {cause}")
        };
        threads_by_cause.into_iter().map(told).collect()
    }
}

/// Why the kernel has refused the events of threads: which limit was met.
pub(super) fn why_refused(error: &io::Error) -> String {
    let cause = match error.raw_os_error() {
        Some(libc::EMFILE) => "csprof may not open as many files (ulimit -Hn)",
        Some(libc::ENFILE) => "the machine may not open as many files (sysctl fs.file-max)",
        Some(libc::ENOMEM) => {
            "the machine, or the cgroup of csprof (memory.max), has no memory for their events"
        }
        Some(libc::EACCES | libc::EPERM) => {
            "csprof has no right to have them sampled: they, or kernel.perf_event_paranoid, have \
             changed"
        }
        _ => return format!("the kernel refuses their events: {error}"),
    };
    cause.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(thread: u32, record: Record<'static>) -> Stamped<'static> {
        Stamped { process: 1, thread, time_ns: 0, record }
    }

    #[test]
    fn who_begins_others_and_has_not_ended_is_to_have_a_guard() {
        let begun = |thread, parent| stamped(thread, Record::Begun { parent_process: 1, parent });
        let mut guards = Guards::of(&[], RawFd::MAX);
        guards.opened.insert(1, Vec::new());
        for record in [begun(2, 1), begun(3, 2), begun(4, 3), stamped(3, Record::Ended)] {
            guards.note(&record);
        }
        assert_eq!(guards.wanted, HashSet::from([2]));
        // Another thread has the id of one that had a guard.
        guards.note(&begun(1, 2));
        assert!(guards.opened.is_empty());
    }

    #[test]
    fn who_has_no_guard_is_told_with_the_limit_that_was_met() {
        let mut guards = Guards::of(&[], RawFd::MAX);
        for (thread, error) in [(1, libc::EMFILE), (2, libc::EMFILE), (3, libc::ENOMEM)] {
            guards.refused.insert(thread, io::Error::from_raw_os_error(error));
        }
        let expected = [
            "samples may be missing of 2 threads that begin others: csprof may not open as many \
             files (ulimit -Hn)",
            "samples may be missing of 1 thread that begins others: the machine, or the cgroup of \
             csprof (memory.max), has no memory for their events",
        ];
        assert_eq!(guards.warnings(), expected);
    }

    #[test]
    fn each_unit_has_a_guard_that_is_not_inherited() {
        let event = |unit, flags| Attributes { unit, period: 1000, flags, ..Attributes::default() };
        let counters = [event(1, flag::INHERIT | flag::EXCLUDE_HV), event(4, 0), event(1, 0)];
        let guards = Guards::of(&counters, RawFd::MAX);
        let of_guards: Vec<_> =
            guards.attributes.iter().map(|of| (of.unit, of.flags, of.period)).collect();
        let expected = [(1, flag::DISABLED | flag::EXCLUDE_HV, 0), (4, flag::DISABLED, 0)];
        assert_eq!(of_guards, expected);
    }
}
