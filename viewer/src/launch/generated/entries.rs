//! Entries of one file, and which of them names an address in an epoch.

use std::collections::BTreeMap;
use std::ops::Range;

/// Most entries that are kept of a file: of those that are about a sampled address.
pub(super) const MOST_ENTRIES: usize = 1 << 22;

/// Longest name, in bytes.
pub(super) const MOST_NAME: usize = 16 << 10;

/// What a file says of some sampled addresses.
///
/// Addresses are numbered in ascending order, and an entry is kept as the numbers that it covers:
/// however large it claims to be, it costs as much as any other, and one that covers no sampled
/// address costs nothing.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    /// Distinct addresses in ascending order.
    addresses: &'a [u64],
    kept: Vec<Entry>,
    /// Whether moments tell epochs apart.
    pub(super) has_moments: bool,
    /// Entries that could be read.
    pub(super) read: u64,
    /// What could not be read.
    pub(super) unread: Vec<Unread>,
}

/// One of them.
#[derive(Clone, Debug)]
struct Entry {
    /// Numbers of the addresses that it covers; not empty.
    covered: Range<u32>,
    /// Where it stands in the file, or the time of its record.
    moment: u64,
    meaning: Meaning,
}

/// What an entry says, as places in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Meaning {
    /// Bytes of the name.
    pub(super) name: Range<usize>,
    /// Bytes of the record of lines; empty if there is none.
    pub(super) lines: Range<usize>,
    /// How much further the code lies than that record says. Wraps.
    pub(super) shift: u64,
}

/// Something in a file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    /// A part of a sentence: `lines that are no entry`.
    pub(super) what: &'static str,
    /// How many there are.
    pub(super) count: u64,
    /// The first place: `line 7`, `byte 0x40`.
    pub(super) first: String,
}

impl Unread {
    /// For people.
    pub(super) fn told(&self, path: &str) -> String {
        format!("{path}: {} {}, the first at {}", self.count, self.what, self.first)
    }
}

/// What is at an address.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) address: u64,
    /// What was there last.
    pub(super) meaning: Meaning,
    /// Something of another name that was there before, in the same epoch.
    pub(super) before: Option<Meaning>,
}

impl<'a> Entries<'a> {
    /// Without any; these addresses are asked for.
    pub(super) fn new(addresses: &'a [u64]) -> Self {
        Self { addresses, kept: Vec::new(), has_moments: true, read: 0, unread: Vec::new() }
    }

    /// Notes something that cannot be read.
    pub(super) fn refuse(&mut self, what: &'static str, place: impl FnOnce() -> String) {
        match self.unread.iter_mut().find(|unread| unread.what == what) {
            Some(unread) => unread.count += 1,
            None => self.unread.push(Unread { what, count: 1, first: place() }),
        }
    }

    /// Adds what lies at these addresses from `moment` on.
    pub(super) fn add(
        &mut self,
        code: Range<u64>,
        moment: u64,
        meaning: Meaning,
        place: impl FnOnce() -> String,
    ) {
        if meaning.name.len() > MOST_NAME {
            self.refuse("names that are too long", place);
            return;
        }
        self.read += 1;
        let number = |address| self.addresses.partition_point(|&one| one < address) as u32;
        let covered = number(code.start)..number(code.end);
        if covered.is_empty() {
            return;
        }
        if self.kept.len() == MOST_ENTRIES {
            self.refuse("entries more than csprof keeps", place);
            return;
        }
        self.kept.push(Entry { covered, moment, meaning });
    }

    /// The names of addresses in epochs: for each, its number, the moment of its end and the
    /// addresses. What was said last by then counts; where nothing was, with `later` what was said
    /// first. A file that is not the process's `own` is its parent's.
    pub(super) fn resolve(
        mut self,
        epochs: &[(u32, u64, Vec<u64>)],
        bytes: &[u8],
        is_own: bool,
        later: bool,
    ) -> Vec<(u32, Vec<Answer>)> {
        // A file in which times do not ascend is as good as any other.
        self.kept.sort_by_key(|entry| entry.moment);
        let first = if later { self.first_of_each() } else { Vec::new() };
        let name = |entry: usize| bytes.get(self.kept[entry].meaning.name.clone());
        let mut by_end: Vec<_> = epochs.iter().collect();
        by_end.sort_by_key(|(_, end, _)| *end);
        let mut present = Present::default();
        let mut rest = self.kept.iter().enumerate().peekable();
        let mut answers = Vec::new();
        for (epoch, end, asked) in by_end {
            if self.has_moments {
                present.begin_epoch();
            }
            while let Some((number, entry)) = rest.next_if(|(_, entry)| entry.moment <= *end) {
                present.add(entry.covered.clone(), number, |one, other| name(one) == name(other));
            }
            let found = asked.iter().filter_map(|&address| {
                let at = self.addresses.binary_search(&address).ok()?;
                let first = || first.get(at).copied().flatten().map(|entry| (entry, None));
                let (entry, before) = present.at(at as u32).or_else(first)?;
                // What a child of fork has of its parent is what was there at that moment.
                let before = before.filter(|_| is_own);
                let meaning = |entry: usize| self.kept[entry].meaning.clone();
                Some(Answer { address, meaning: meaning(entry), before: before.map(meaning) })
            });
            answers.push((*epoch, found.collect()));
        }
        answers
    }

    /// The first entry that covers each address.
    fn first_of_each(&self) -> Vec<Option<usize>> {
        let mut first = vec![None; self.addresses.len()];
        // The next address, from each on, that has none: a path that is shortened as it is walked.
        let mut next: Vec<u32> = (0..=self.addresses.len() as u32).collect();
        let free = |next: &mut Vec<u32>, mut at: u32| {
            while next[at as usize] != at {
                next[at as usize] = next[next[at as usize] as usize];
                at = next[at as usize];
            }
            at
        };
        for (number, entry) in self.kept.iter().enumerate() {
            let mut at = free(&mut next, entry.covered.start);
            while at < entry.covered.end {
                first[at as usize] = Some(number);
                next[at as usize] = at + 1;
                at = free(&mut next, at);
            }
        }
        first
    }
}

/// Which entry covers which addresses at a moment: stretches without overlaps, by their start.
#[derive(Debug, Default)]
struct Present {
    stretches: BTreeMap<u32, Stretch>,
    /// Number of the present epoch in the order of their ends.
    epoch: u32,
    /// Stretches that were replaced.
    replaced: usize,
}

/// Addresses that one entry covers.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    end: u32,
    entry: usize,
    /// The epoch that the entry is of.
    epoch: u32,
    /// An entry of another name that it has replaced in this epoch.
    before: Option<usize>,
}

/// Replaced stretches of which it is kept that they were; there are that many in no honest file.
const MOST_REPLACED: usize = 1 << 22;

impl Present {
    fn begin_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Adds an entry, which takes what others had.
    fn add(&mut self, covered: Range<u32>, entry: usize, is_same: impl Fn(usize, usize) -> bool) {
        let Range { start, end } = covered;
        let epoch = self.epoch;
        self.cut(start);
        self.cut(end);
        // What follows the last piece, with what it has replaced.
        let mut pieces: Vec<(u32, Option<usize>)> = vec![(start, None)];
        let mut add = |at: u32, before: Option<usize>| match pieces.last_mut() {
            Some((_, last)) if *last == before => {}
            Some((last_at, last)) if *last_at == at => *last = before,
            _ => pieces.push((at, before)),
        };
        while let Some((&at, &old)) = self.stretches.range(start..end).next() {
            self.stretches.remove(&at);
            self.replaced += 1;
            if old.epoch == epoch && self.replaced < MOST_REPLACED {
                let before = if is_same(old.entry, entry) { old.before } else { Some(old.entry) };
                add(at, before);
                add(old.end, None);
            }
        }
        for (number, &(at, before)) in pieces.iter().enumerate() {
            let end = pieces.get(number + 1).map_or(end, |(next, _)| *next);
            if at < end {
                self.stretches.insert(at, Stretch { end, entry, epoch, before });
            }
        }
    }

    /// Has a stretch begin at `at`, if one goes beyond it.
    fn cut(&mut self, at: u32) {
        if let Some((_, stretch)) = self.stretches.range_mut(..at).next_back()
            && stretch.end > at
        {
            let rest = *stretch;
            stretch.end = at;
            self.stretches.insert(at, rest);
        }
    }

    /// The entry that covers an address, and one of another name that did so earlier in the epoch.
    fn at(&self, address: u32) -> Option<(usize, Option<usize>)> {
        let (_, stretch) = self.stretches.range(..=address).next_back()?;
        let before = stretch.before.filter(|_| stretch.epoch == self.epoch);
        (address < stretch.end).then_some((stretch.entry, before))
    }
}
