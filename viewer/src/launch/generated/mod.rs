//! Names of code that a process generated while it ran: a JIT compiler's, an interpreter's.
//!
//! Such code is in no load module. Two files can tell what it is, both written by the process
//! itself: a perf map, which is text (`/tmp/perf-PID.map`), and a jitdump file, which has times and
//! lines (`jit-PID.dump`). Both are gone, or another process's, some time after the run, so this is
//! asked when arenas are gathered and not when symbols are looked up.
//!
//! ```text
//! files      which files a process may have written, and where they are
//! perf_map   lines → entries           jitdump   records → entries
//! entries    which entry names an address in an epoch
//! copies     code of modules that a process maps a second time
//! symbol     py::name:/path/file.py → function, file, line
//! ```
//!
//! Invariants: of files, up to 1 GiB are in memory; of what they say, only what is about addresses
//! that were sampled, up to [`entries::MOST_ENTRIES`]; an epoch is named by what the files said at
//! its end, and only an address of which neither they nor a parent's said anything by then, by what
//! they said of it first;
//! an address that had two names within an epoch is called by both.

pub mod copies;
mod entries;
pub mod files;
mod jitdump;
mod perf_map;
mod symbol;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use csprof_format::arena::{ArenaHeader, LogRecord};

use self::entries::{Answer, Entries};
pub(super) use self::symbol::Symbol;
use super::arena_read::Arena;

/// Most bytes of lines that are looked at for the addresses of one file.
const MOST_LINES: u64 = 1 << 30;

/// File and line of code.
type Line = (Arc<str>, u32);

/// A file in which a process says what code it generated.
#[derive(Clone, Debug)]
pub struct NameFile {
    /// What people are told that it is.
    pub path: String,
    /// What is in it.
    pub content: Content,
}

/// What is in a [`NameFile`].
#[derive(Clone, Debug)]
pub enum Content {
    /// Lines of text.
    PerfMap(Vec<u8>),
    /// Records with times.
    Jitdump(Vec<u8>),
}

/// Who has the files of a process.
pub trait NameFiles {
    /// Those of a process, the ones that know most first; and what is worth telling.
    fn of(
        &mut self,
        process: &ArenaHeader,
        log: &[(u64, LogRecord)],
    ) -> (Arc<[NameFile]>, Vec<String>);
}

/// Nobody has any.
#[derive(Debug)]
pub struct NoFiles;

impl NameFiles for NoFiles {
    fn of(&mut self, _: &ArenaHeader, _: &[(u64, LogRecord)]) -> (Arc<[NameFile]>, Vec<String>) {
        (Vec::new().into(), Vec::new())
    }
}

/// What the generated code of one process is called.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By epoch and address.
    found: HashMap<(u32, u64), (usize, Option<Line>)>,
    /// Symbols, once each.
    symbols: Vec<Symbol>,
    /// Files of lines, once each.
    files: HashSet<Arc<str>>,
    /// Files that were read, for people: `/tmp/perf-4711.map: 812 symbols`.
    pub(super) sources: Vec<String>,
    /// What is worth telling.
    pub(super) warnings: Vec<String>,
}

impl Names {
    /// Symbol at an address that was asked for.
    pub(super) fn at(&self, epoch: u32, address: u64) -> Option<(&Symbol, Option<&Line>)> {
        let (symbol, line) = self.found.get(&(epoch, address))?;
        Some((&self.symbols[*symbol], line.as_ref()))
    }

    /// Finds the names of addresses, by epoch, of a process and of those that it was forked from:
    /// `family` is itself first, then its parent, and so on.
    pub(super) fn find(
        mut addresses: BTreeMap<u32, BTreeSet<u64>>,
        family: &[&Arena],
        files: &mut dyn NameFiles,
    ) -> Self {
        let mut names = Self::default();
        let mut known: HashMap<Symbol, usize> = HashMap::new();
        let mut own = None;
        for (generation, arena) in family.iter().enumerate() {
            addresses.retain(|_, open| !open.is_empty());
            if addresses.is_empty() {
                break;
            }
            let (files, warnings) = files.of(&arena.header, &arena.log);
            names.warnings.extend(warnings);
            let child = generation.checked_sub(1).map(|child| family[child]);
            let ends = child.map_or_else(|| Ends::of_epochs(arena), Ends::at_fork);
            for file in files.iter() {
                names.read(file, &ends, false, &mut addresses, &mut known);
            }
            if generation == 0 {
                own = Some((files, ends));
            }
        }
        // What is said later is asked last, for the parent may have said it in time.
        addresses.retain(|_, open| !open.is_empty());
        if let Some((files, ends)) = own.filter(|_| !addresses.is_empty()) {
            for file in files.iter() {
                names.read(file, &ends, true, &mut addresses, &mut known);
            }
        }
        names
    }

    /// Names what a file can name, and takes it out of `addresses`; `later` is whether by what was
    /// written after an epoch.
    fn read(
        &mut self,
        file: &NameFile,
        ends: &Ends,
        later: bool,
        addresses: &mut BTreeMap<u32, BTreeSet<u64>>,
        known: &mut HashMap<Symbol, usize>,
    ) {
        let asked: BTreeSet<u64> = addresses.values().flatten().copied().collect();
        let asked: Vec<u64> = asked.into_iter().collect();
        let mut entries = Entries::new(&asked);
        let (bytes, ends_of) = match &file.content {
            Content::PerfMap(text) => {
                perf_map::read(text, &mut entries);
                (text, &ends.length)
            }
            Content::Jitdump(bytes) => {
                jitdump::read(bytes, &mut entries);
                (bytes, &ends.time_ns)
            }
        };
        let symbols = if entries.read == 1 { "symbol" } else { "symbols" };
        if !later {
            self.sources.push(format!("{} ({} {symbols})", file.path, entries.read));
            self.warnings.extend(entries.unread.iter().map(|unread| unread.told(&file.path)));
        }
        let epochs: Vec<(u32, u64, Vec<u64>)> = addresses
            .iter()
            .map(|(&epoch, open)| (epoch, ends_of.of(epoch), open.iter().copied().collect()))
            .collect();
        let mut steps = MOST_LINES;
        for (epoch, answers) in entries.resolve(&epochs, bytes, ends.is_own, later) {
            let Some(open) = addresses.get_mut(&epoch) else { continue };
            for Answer { address, meaning, before } in answers {
                open.remove(&address);
                let mut line = jitdump::line_at(bytes, &meaning, address, &mut steps);
                let mut symbol = Symbol::parse(&bytes[meaning.name]);
                let before = before.map(|before| Symbol::parse(&bytes[before.name]));
                if let Some(before) = before.filter(|before| *before != symbol) {
                    // Which of them a sample met, nothing says.
                    symbol = symbol.or(&before);
                    line = None;
                }
                let number = *known.entry(symbol).or_insert_with_key(|symbol| {
                    self.symbols.push(symbol.clone());
                    self.symbols.len() - 1
                });
                let line = line.map(|(file, line)| (self.file(file), line));
                self.found.insert((epoch, address), (number, line));
            }
        }
        if steps == 0 {
            let text = format!("{}: has more lines than csprof reads; some are missing", file.path);
            self.warnings.push(text);
        }
    }

    fn file(&mut self, bytes: &[u8]) -> Arc<str> {
        let text = String::from_utf8_lossy(bytes);
        if let Some(known) = self.files.get(&*text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.files.insert(Arc::clone(&text));
        text
    }
}

/// Up to where the files of a process count.
#[derive(Debug, Default)]
struct Ends {
    /// Bytes of a perf map.
    length: End,
    /// `CLOCK_MONOTONIC`.
    time_ns: End,
    /// Whether the file is of the process itself, and not of one it was forked from.
    is_own: bool,
}

/// An end for each epoch, and for all that have none.
#[derive(Debug, Default)]
struct End {
    of_epochs: HashMap<u32, u64>,
    of_others: Option<u64>,
}

impl End {
    fn of(&self, epoch: u32) -> u64 {
        let end = self.of_epochs.get(&epoch).copied().or(self.of_others);
        end.unwrap_or(u64::MAX)
    }
}

impl Ends {
    /// For the epochs of the process itself. The last epoch has no end.
    fn of_epochs(arena: &Arena) -> Self {
        let mut ends = Self { is_own: true, ..Self::default() };
        let (mut present, mut length) = (None, None);
        for (time_ns, record) in &arena.log {
            match *record {
                LogRecord::PerfMap { pid, length: now } if pid == arena.header.pid => {
                    length = Some(now);
                }
                LogRecord::Epoch { number, .. } => {
                    if let Some(ended) = present.replace(number) {
                        ends.time_ns.of_epochs.insert(ended, *time_ns);
                        // Without a map there was nothing in it.
                        ends.length.of_epochs.insert(ended, length.take().unwrap_or(0));
                    }
                }
                _ => {}
            }
        }
        ends
    }

    /// For a process that was forked from the one whose files they are.
    fn at_fork(child: &Arena) -> Self {
        let length = child.log.iter().find_map(|(_, record)| match record {
            LogRecord::PerfMap { pid, length } if *pid == child.header.parent_pid => Some(*length),
            _ => None,
        });
        let end = |of_others| End { of_others: Some(of_others), ..End::default() };
        Self {
            length: end(length.unwrap_or(0)),
            time_ns: end(child.header.start_ns),
            is_own: false,
        }
    }
}
