//! In which loops the addresses of a module lie, and where their sources are.
//!
//! A loop belongs to the innermost source-level function that all instructions with which it begins
//! and ends (those of its header and of the blocks that lead back to it) have in common: the
//! function that it is written in, though its condition may be inlined from elsewhere. Its line is
//! the least of theirs in that function. Lines of one file count, that of the header, and of these
//! none before the loop around it and none up to the function's name: compilers give such to what
//! they load again in a loop. So do they with what they have moved, or made of several loops: a
//! line that the code before the loop has too counts only if one of the jumps that repeat or leave
//! the loop has it, as that of a `for` or `while` does.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use crate::structure::Structure;

use super::machine::Machine;
use super::sites::{LoopPlace, ModuleLoops, SiteRow};

/// Instructions that are looked at of each block where a loop begins or ends.
const MOST_ADDRESSES: usize = 64;

/// Blocks that lead back to a header and are looked at.
const MOST_LATCHES: usize = 8;

/// Blocks before a loop that are looked at.
const MOST_BEFORE: usize = 8;

/// How much of one module is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Instructions of which lines are asked.
    pub(super) lines: usize,
    /// Addresses, each counted as often as it lies in a loop.
    pub(super) around: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: 1 << 22, around: 1 << 22 }
    }
}

/// What lines say of addresses.
pub(super) trait Lines {
    /// The rows of an address, outermost first; functions and files are numbers.
    fn rows(&mut self, address: u64) -> Vec<SiteRow>;
    /// Where a function is declared.
    fn declared(&self, function: u32) -> (Option<u32>, u32);
}

/// Finds the loops of a module's addresses.
pub(super) struct Loops<'l, 'm, 'data> {
    machine: &'l Machine<'m, 'data>,
    /// Numbers of loops in [`found`](Self::found), and what they lie in, by address of the header
    /// and of the function's first block.
    known: HashMap<(u64, u64), Known>,
    found: ModuleLoops,
    /// What may still be looked at.
    left: Limits,
    is_exhausted: bool,
}

/// A loop that was looked up.
#[derive(Clone)]
struct Known {
    number: u32,
    /// The source-level frames it lies in, outermost first, the last with its own line.
    scope: Rc<[SiteRow]>,
}

impl<'l, 'm, 'data> Loops<'l, 'm, 'data> {
    pub(super) fn new(machine: &'l Machine<'m, 'data>, limits: Limits) -> Self {
        Self {
            machine,
            known: HashMap::new(),
            found: ModuleLoops::default(),
            left: limits,
            is_exhausted: false,
        }
    }

    /// Whether loops, or lines of loops, were left out because there is a limit for a whole module.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Adds the loops of the next address, which has these rows.
    pub(super) fn add(&mut self, address: u64, rows: &[SiteRow], lines: &mut dyn Lines) {
        let structure = self.machine.structure_at(address);
        let loops = structure.as_ref().map(|found| found.loops_at(address)).unwrap_or_default();
        let left = self.left.around.checked_sub(loops.len());
        self.is_exhausted |= left.is_none();
        // All of an address or none: part of a nest would be another one.
        if let Some((structure, left)) = structure.zip(left) {
            self.left.around = left;
            let mut least = 0;
            let mut around = None;
            for number in loops {
                let known = self.look_up(&structure, number, around.as_deref(), lines);
                let row = common(rows, &known.scope).saturating_sub(1);
                // Optimizers leave instructions of a loop with the lines of what is around it.
                least = row.max(least);
                self.found.around.push((u32::try_from(least).unwrap_or(0), known.number));
                around = Some(known.scope);
            }
        }
        self.found.end_address();
    }

    /// All that was added.
    pub(super) fn finish(self) -> ModuleLoops {
        self.found
    }

    fn look_up(
        &mut self,
        structure: &Arc<Structure>,
        number: usize,
        around: Option<&[SiteRow]>,
        lines: &mut dyn Lines,
    ) -> Known {
        let header = structure.header(number);
        let first = structure.blocks().next().map_or(0, |(block, _)| block.start);
        let found = &mut self.found;
        let entry = match self.known.entry((header.start, first)) {
            Entry::Occupied(known) => return known.get().clone(),
            Entry::Vacant(entry) => entry,
        };
        let addresses_of = |block| structure.addresses(block, MOST_ADDRESSES);
        let (left, is_exhausted) = (&mut self.left.lines, &mut self.is_exhausted);
        let mut charge = |addresses: &mut Vec<u64>| {
            *is_exhausted |= addresses.len() > *left;
            addresses.truncate(*left);
            *left -= addresses.len();
        };
        let mut addresses = addresses_of(header.clone());
        let mut jumps = Vec::new();
        jumps.extend(addresses.last().filter(|_| structure.header_leaves(number)));
        for latch in structure.latches(number).take(MOST_LATCHES) {
            let in_latch = addresses_of(latch.clone());
            jumps.extend(in_latch.last());
            if latch != header {
                addresses.extend(in_latch);
            }
        }
        charge(&mut addresses);
        charge(&mut jumps);
        let addresses = addresses.into_iter();
        let rows: Vec<Vec<SiteRow>> =
            addresses.map(|address| lines.rows(address)).filter(|rows| !rows.is_empty()).collect();
        let mut scope = rows.first().cloned().unwrap_or_default();
        for rows in &rows {
            let shared = common(&scope, rows);
            scope.truncate(shared);
        }
        let mut place = LoopPlace {
            offset: header.start,
            file: None,
            line: 0,
            irreducible: structure.loops()[number].irreducible,
        };
        let depth = scope.len();
        if let Some(own) = scope.last_mut() {
            let told = || rows.iter().map(|rows| rows[depth - 1]).filter(|row| row.line != 0);
            own.file = told().find_map(|row| row.file);
            let in_file = told().filter(|row| row.file == own.file).map(|row| row.line);
            let mut in_file: Vec<u32> = in_file.collect();
            in_file.sort_unstable();
            let (file, declared) = lines.declared(own.function);
            let declared = if file == own.file { declared } else { 0 };
            let outer = around.filter(|outer| outer.len() == depth).and_then(<[_]>::last);
            let outer =
                outer.filter(|outer| (outer.function, outer.file) == (own.function, own.file));
            let first = outer.map_or(declared + 1, |outer| outer.line);
            in_file.dedup();
            let own_lines = |addresses: &[u64], lines: &mut dyn Lines| -> Vec<u32> {
                let rows = addresses.iter().map(|&address| lines.rows(address));
                let rows = rows.filter_map(|rows| rows.get(depth - 1).copied());
                let is_own = |row: &SiteRow| (row.function, row.file) == (own.function, own.file);
                rows.filter(is_own).map(|row| row.line).collect()
            };
            let jumps = own_lines(&jumps, lines);
            let least = in_file.iter().position(|&line| line >= first).unwrap_or(0);
            let candidates = &in_file[least..];
            let mut before = None;
            let mut is_before = |line| {
                let before = before.get_or_insert_with(|| {
                    let blocks = structure.before(number, MOST_BEFORE);
                    let mut addresses: Vec<u64> =
                        blocks.into_iter().flat_map(addresses_of).collect();
                    charge(&mut addresses);
                    own_lines(&addresses, lines)
                });
                before.contains(&line)
            };
            let line = candidates.iter().find(|line| jumps.contains(line) || !is_before(**line));
            own.line = line.or(candidates.first()).copied().unwrap_or(0);
            (place.file, place.line) = (own.file, own.line);
        }
        let known = Known { number: found.add(place), scope: scope.into() };
        entry.insert(known).clone()
    }
}

/// How many rows of two addresses, from the outermost, are the same inlined functions: those
/// before the last of them call the next one from the same line.
fn common(left: &[SiteRow], right: &[SiteRow]) -> usize {
    let mut count = 0;
    for (at, (a, b)) in left.iter().zip(right).enumerate() {
        let calls_alike = at.checked_sub(1).is_none_or(|before| left[before] == right[before]);
        if a.function != b.function || !calls_alike {
            break;
        }
        count = at + 1;
    }
    count
}
