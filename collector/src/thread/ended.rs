//! Which threads go on in the records of others: what bounds the memory of a program that starts
//! threads for ever, one for each request for example.
//!
//! Once [`MOST_OWN`] threads have ended, one that ends leaves its record and its tree to the next
//! that begins alike. So there are as many records as that, and as many more as threads ran side by
//! side. Threads that do different work stay apart, as far as anybody can tell when they begin: by
//! their start routine, and by the name that they have of their creator. Where threads that begin
//! alike take names of their own that differ in more than numbers, each keeps its own record.

use alloc::vec::Vec;

use crate::arena::{EndedThread, is_same_role};

/// Ended threads that keep records of their own.
pub(super) const MOST_OWN: usize = 1000;

/// Kinds of threads that are told apart: a program that makes start routines while it runs must not
/// have the table grow without bound. Threads of others keep their records.
const MOST_KINDS: usize = 64;

/// How a thread begins.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Address of its start routine.
    pub routine: usize,
    /// Its name, which is that of its creator.
    pub name: [u8; 16],
}

impl Beginning {
    fn is_like(&self, other: &Self) -> bool {
        self.routine == other.routine && is_same_role(&self.name, &other.name)
    }
}

/// What a thread has left.
pub(super) trait Left {
    /// What the thread was called in the end.
    fn name(&self) -> &[u8; 16];
    /// Whether others that had the record before were called otherwise.
    fn is_mixed(&self) -> bool;
}

impl Left for EndedThread {
    fn name(&self) -> &[u8; 16] {
        &self.name
    }

    fn is_mixed(&self) -> bool {
        self.is_mixed
    }
}

/// The threads of a process that have ended.
#[derive(Debug)]
pub(super) struct Ended<L> {
    number: usize,
    kinds: Vec<Kind<L>>,
}

/// Threads that begin alike.
#[derive(Debug)]
struct Kind<L> {
    beginning: Beginning,
    /// What the first that ended was called.
    name: [u8; 16],
    /// Whether one was called otherwise, but for numbers.
    is_mixed: bool,
    /// Whether it was said that threads of different names have had one record.
    is_told: bool,
    /// What the next may take.
    left: Vec<L>,
}

impl<L: Left> Ended<L> {
    /// None have.
    pub(super) const fn new() -> Self {
        Self { number: 0, kinds: Vec::new() }
    }

    /// In the child of a fork: what has ended was its parent's.
    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }

    /// What a thread that begins so is to go on in; `None` if it gets a record of its own.
    pub(super) fn take(&mut self, beginning: &Beginning) -> Option<L> {
        self.kinds.iter_mut().find(|kind| kind.beginning.is_like(beginning))?.left.pop()
    }

    /// Puts back what was taken, and could not be used.
    pub(super) fn put_back(&mut self, beginning: &Beginning, left: L) {
        let mut kinds = self.kinds.iter_mut();
        let kind = kinds.find(|kind| kind.beginning.is_like(beginning) && !kind.is_mixed);
        if let Some(kind) = kind {
            kind.left.push(left);
        }
    }

    /// A thread has ended that began so, or in another way than by a start routine. `may_keep` says
    /// whether there is memory to remember what it has left. Returns whether threads of different
    /// names have had one record for the first time.
    pub(super) fn add(
        &mut self,
        beginning: Option<&Beginning>,
        left: L,
        may_keep: impl FnOnce() -> bool,
    ) -> bool {
        self.number = self.number.saturating_add(1);
        let Some(beginning) = beginning else { return false };
        let known = self.kinds.iter().position(|kind| kind.beginning.is_like(beginning));
        let place = match known {
            Some(place) => place,
            None if self.kinds.len() >= MOST_KINDS || !may_keep() => return false,
            None => {
                let (beginning, name) = (*beginning, *left.name());
                let (is_mixed, is_told, left_to_next) = (false, false, Vec::new());
                self.kinds.push(Kind { beginning, name, is_mixed, is_told, left: left_to_next });
                return self.leave(self.kinds.len() - 1, left, || true);
            }
        };
        self.leave(place, left, may_keep)
    }

    fn leave(&mut self, place: usize, left: L, may_keep: impl FnOnce() -> bool) -> bool {
        let is_over = self.number > MOST_OWN;
        let Some(kind) = self.kinds.get_mut(place) else { return false };
        if kind.is_mixed || left.is_mixed() || !is_same_role(&kind.name, left.name()) {
            kind.is_mixed = true;
            kind.left = Vec::new();
            // Often the kind is known to be mixed by one that had a record of its own, before one
            // ends that had another's.
            let is_news = left.is_mixed() && !kind.is_told;
            kind.is_told |= is_news;
            return is_news;
        }
        // Also where the list has room: what is left has memory of its own.
        if is_over && may_keep() {
            kind.left.push(left);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Record(u32, [u8; 16], bool);

    impl Left for Record {
        fn name(&self) -> &[u8; 16] {
            &self.1
        }

        fn is_mixed(&self) -> bool {
            self.2
        }
    }

    fn name(text: &str) -> [u8; 16] {
        let mut name = [0; 16];
        name[..text.len()].copy_from_slice(text.as_bytes());
        name
    }

    fn beginning(routine: usize, text: &str) -> Beginning {
        Beginning { routine, name: name(text) }
    }

    fn record(number: u32, text: &str) -> Record {
        Record(number, name(text), false)
    }

    /// Threads that all ended without leaving anything to others.
    fn ended(number: usize) -> Ended<Record> {
        let mut ended = Ended::new();
        for _ in 0..number {
            assert!(!ended.add(None, record(0, "main"), || true));
        }
        ended
    }

    #[test]
    fn once_so_many_have_ended_records_are_left_to_the_next() {
        let (mut ended, server) = (ended(MOST_OWN - 1), beginning(1, "server"));
        // The last that keeps its own, and the first that does not.
        ended.add(Some(&server), record(7, "server"), || true);
        assert_eq!(ended.take(&server), None);
        ended.add(Some(&server), record(8, "server"), || true);
        assert_eq!(ended.take(&server), Some(record(8, "server")));
        assert_eq!(ended.take(&server), None);
        ended.put_back(&server, record(8, "server"));
        assert_eq!(ended.take(&server), Some(record(8, "server")));
        ended.forget();
        ended.add(Some(&server), record(9, "server"), || true);
        assert_eq!(ended.take(&server), None, "the child of a fork begins anew");
    }

    #[test]
    fn threads_that_begin_otherwise_have_others() {
        let mut ended = ended(MOST_OWN);
        ended.add(Some(&beginning(1, "server-1")), record(1, "request-7"), || true);
        assert_eq!(ended.take(&beginning(2, "server-1")), None);
        assert_eq!(ended.take(&beginning(1, "client-1")), None);
        // But for numbers.
        let alike = beginning(1, "server-12");
        assert_eq!(ended.take(&alike), Some(record(1, "request-7")));
        ended.add(Some(&alike), record(1, "request-81"), || true);
        assert!(ended.take(&beginning(1, "server-3")).is_some());
    }

    #[test]
    fn threads_that_take_different_names_keep_their_records() {
        let (mut ended, server) = (ended(MOST_OWN), beginning(1, "server"));
        ended.add(Some(&server), record(1, "read"), || true);
        assert!(!ended.add(Some(&server), record(2, "write"), || true));
        assert_eq!(ended.take(&server), None);
        ended.add(Some(&server), record(3, "read"), || true);
        assert_eq!(ended.take(&server), None);
        ended.put_back(&server, record(1, "read"));
        assert_eq!(ended.take(&server), None);
    }

    /// Where the first to be called otherwise has taken one: that is said once.
    #[test]
    fn what_was_mixed_is_left_to_nobody() {
        let (mut ended, server) = (ended(MOST_OWN), beginning(1, "server"));
        ended.add(Some(&server), record(1, "read"), || true);
        assert!(ended.take(&server).is_some());
        assert!(ended.add(Some(&server), Record(1, name("write"), true), || true));
        assert!(!ended.add(Some(&server), Record(2, name("write"), true), || true));
        assert_eq!(ended.take(&server), None);
    }

    /// Where one with a record of its own was called otherwise before: it is said all the same.
    #[test]
    fn what_is_mixed_is_said_once_whoever_ends_first() {
        let (mut ended, server) = (ended(MOST_OWN), beginning(1, "server"));
        ended.add(Some(&server), record(1, "read"), || true);
        assert!(ended.take(&server).is_some());
        assert!(!ended.add(Some(&server), record(2, "write"), || true));
        assert!(ended.add(Some(&server), Record(1, name("write"), true), || true));
        assert!(!ended.add(Some(&server), Record(3, name("write"), true), || true));
        assert_eq!(ended.take(&server), None);
    }

    #[test]
    fn tables_are_bounded() {
        let mut ended = ended(MOST_OWN);
        for routine in 0..MOST_KINDS + 9 {
            ended.add(Some(&beginning(routine, "a")), record(routine as u32, "a"), || true);
        }
        assert!(ended.take(&beginning(MOST_KINDS - 1, "a")).is_some());
        assert_eq!(ended.take(&beginning(MOST_KINDS, "a")), None);
        // Nor is anything kept where memory is refused, even if the list has room.
        let first = beginning(0, "a");
        let kept = ended.kinds[0].left.len();
        assert!(kept < ended.kinds[0].left.capacity());
        ended.add(Some(&first), record(1, "a"), || false);
        assert_eq!(ended.kinds[0].left.len(), kept);
        // What many threads at a time have left goes when they are taken.
        while ended.take(&first).is_some() {}
        assert!(ended.kinds[0].left.is_empty());
    }
}
