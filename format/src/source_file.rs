//! Lines of a source file that a profile keeps.

use serde::{Deserialize, Serialize};

use crate::ids::{ModuleId, StringId};

/// A source file, or some of its lines, as it was when they were kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path, as functions and sites name it.
    pub path: StringId,
    /// How many lines the whole file has.
    pub lines: u32,
    /// [`digest`] of the bytes of the whole file.
    pub digest: u64,
    /// What speaks against it being what was compiled.
    pub doubt: SourceDoubt,
    /// Whether it was kept when the run ended, on the machine of the run, and not added later.
    pub is_of_run: bool,
    /// The modules that it was kept for, in ascending order, none twice; at least one.
    pub modules: Vec<ModuleId>,
    /// Which of its lines are kept, in ascending order, with lines between them that are not.
    pub stretches: Vec<Stretch>,
    /// These lines, one after the other, each with a line feed at its end.
    pub text: String,
}

/// Lines that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The number of the first one, from 1.
    pub first: u32,
    /// How many there are; at least one.
    pub count: u32,
}

/// What was known against a file being what was compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SourceDoubt {
    /// Nothing.
    #[default]
    None,
    /// It was written to after a module that it was compiled into.
    NewerThanModule,
    /// It was written to after the run had begun.
    ChangedAfterRun,
}

impl Stretch {
    /// One past the number of its last line; saturates.
    #[must_use]
    pub const fn end(self) -> u32 {
        self.first.saturating_add(self.count)
    }
}

impl SourceFile {
    /// How many of its lines are kept.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.stretches.iter().map(|stretch| u64::from(stretch.count)).sum()
    }

    /// Whether all of its lines are.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.kept() == u64::from(self.lines)
    }

    /// Whether both are the same file in the same version.
    #[must_use]
    pub fn is_same_text(&self, other: &Self) -> bool {
        (self.lines, self.digest) == (other.lines, other.digest)
    }

    /// The kept lines with their numbers, without line feeds.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &str)> {
        let numbers = self.stretches.iter().flat_map(|stretch| stretch.first..stretch.end());
        numbers.zip(self.text.split_terminator('\n'))
    }

    /// Takes lines and modules of another, which is the same file in the same version. What speaks
    /// against either speaks against both, and it is of the run only if both are.
    pub fn join(&mut self, other: &Self) {
        self.doubt = self.doubt.max(other.doubt);
        self.is_of_run &= other.is_of_run;
        self.modules.extend(&other.modules);
        self.modules.sort_unstable();
        self.modules.dedup();
        if self.stretches == other.stretches || self.is_whole() {
            return;
        }
        let mut joined = Self::default();
        let mut lines = self.numbered().peekable();
        for (number, line) in other.numbered() {
            while let Some((before, line)) = lines.next_if(|(before, _)| *before < number) {
                joined.push(before, line);
            }
            let own = lines.next_if(|(before, _)| *before == number);
            joined.push(number, own.map_or(line, |(_, line)| line));
        }
        lines.for_each(|(number, line)| joined.push(number, line));
        (self.stretches, self.text) = (joined.stretches, joined.text);
    }

    /// Adds a line behind those that are there; `line` has no line feed.
    pub fn push(&mut self, number: u32, line: &str) {
        match self.stretches.last_mut() {
            Some(last) if last.end() == number => last.count += 1,
            _ => self.stretches.push(Stretch { first: number, count: 1 }),
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Whether its modules, stretches and text are as they must be.
    pub(crate) fn is_sound(&self) -> bool {
        let is_ascending = self.modules.is_sorted_by(|one, next| one < next);
        let mut end = 0;
        for stretch in &self.stretches {
            let Some(after) = stretch.first.checked_add(stretch.count) else { return false };
            if stretch.first <= end || stretch.count == 0 || after - 1 > self.lines {
                return false;
            }
            end = after;
        }
        let feeds = self.text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        let is_ended = self.text.is_empty() || self.text.ends_with('\n');
        is_ascending && !self.modules.is_empty() && feeds == self.kept() && is_ended
    }
}

/// What tells one version of a file from another: the low half of the 128-bit FNV-1a hash of its
/// bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> u64 {
    crate::fnv_1a(bytes.iter().copied()) as u64
}
