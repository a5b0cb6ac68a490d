//! Code of load modules that a process maps a second time: V8 does so with its built-in functions,
//! to have them near the code that it generates. The loader knows nothing of such a copy, and it is
//! gone when the process ends, so it is looked for in /proc while the process lives. What is found
//! is named as the module is.

use std::collections::HashMap;
use std::fs;

use csprof_format::arena::{ARENA_SUFFIX, FLAG_EXECED, LoadRecord, LogRecord};

use crate::launch::arena_read::Arena;
use crate::launch::run_dir::RunDir;

/// A process is looked at no more often than this.
const MOST_LOOKS: u32 = 50;
/// Processes at most that are looked at.
const MOST_PROCESSES: usize = 64;

/// What was found, by process: its id and when it began.
#[derive(Debug, Default)]
pub struct Copies(HashMap<(u32, u64), Looks>);

/// What was found in one process.
#[derive(Debug, Default)]
struct Looks {
    count: u32,
    /// Its executable mappings of files, once two of them are of the same code.
    mappings: Vec<Mapping>,
}

/// An executable mapping of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    /// Byte of the file at `start`.
    offset: u64,
    /// Device and inode.
    file: String,
}

impl Mapping {
    /// Whether `other` begins with code that is in this one, too.
    fn holds(&self, other: &Self) -> bool {
        let at = other.offset.checked_sub(self.offset);
        self.file == other.file && at.is_some_and(|at| at < self.end.saturating_sub(self.start))
    }

    /// A line of maps: `start-end perms offset device inode path` (proc_pid_maps(5)).
    fn parse(line: &str) -> Option<Self> {
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (words, path) = line.split_once('/')?;
        let mut words = words.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        words.next().filter(|permissions| permissions.contains('x'))?;
        let (start, end, offset) = (number(start)?, number(end)?, number(words.next()?)?);
        let file = format!("{} {} {path}", words.next()?, words.next()?);
        Some(Self { start, end, offset, file })
    }
}

impl Copies {
    /// Looks at the processes of a run that live.
    pub fn look(&mut self, run_dir: &RunDir) {
        let headers = run_dir.begun_arenas().map(|(header, _)| header);
        let alive = headers.filter(|header| header.end_ns == 0 && header.flags & FLAG_EXECED == 0);
        for header in alive.take(MOST_PROCESSES) {
            let looks = self.0.entry((header.pid, header.start_ns)).or_default();
            if looks.count == MOST_LOOKS || !looks.mappings.is_empty() {
                continue;
            }
            looks.count += 1;
            let maps = fs::read(format!("/proc/{}/maps", header.pid)).unwrap_or_default();
            let maps = String::from_utf8_lossy(&maps);
            // Ids of processes in containers are others' here.
            let arena = format!("/{}-{}{ARENA_SUFFIX}", header.pid, header.start_ns);
            if maps.contains(&arena) {
                looks.mappings = with_copies(&maps);
            }
        }
    }

    /// Enters what was found into the log of a process, as modules of all its epochs.
    pub fn enter(&self, arena: &mut Arena) {
        let process = (arena.header.pid, arena.header.start_ns);
        let Some(looks) = self.0.get(&process) else { return };
        let records = copies(&looks.mappings, &arena.log);
        let is_epoch = |(_, record): &(u64, LogRecord)| matches!(record, LogRecord::Epoch { .. });
        let Some(first) = arena.log.iter().position(is_epoch) else { return };
        let time_ns = arena.log[first].0;
        let records = records.into_iter().map(|record| (time_ns, LogRecord::Load(record)));
        arena.log.splice(first + 1..first + 1, records);
    }
}

/// The executable mappings of files, if some code is mapped twice.
fn with_copies(maps: &str) -> Vec<Mapping> {
    let mappings: Vec<_> = maps.lines().filter_map(Mapping::parse).collect();
    let is_twice = (1..mappings.len()).any(|at| {
        let (before, rest) = mappings.split_at(at);
        before.iter().any(|mapping| mapping.holds(&rest[0]) || rest[0].holds(mapping))
    });
    if is_twice { mappings } else { Vec::new() }
}

/// The mappings that are none of the loader's, as loads of the modules whose code they are.
fn copies(mappings: &[Mapping], log: &[(u64, LogRecord)]) -> Vec<LoadRecord> {
    let loads = || {
        log.iter().filter_map(|(_, record)| match record {
            LogRecord::Load(load) => Some(load),
            _ => None,
        })
    };
    let of_loader = |mapping: &Mapping| {
        loads().find(|load| {
            let overlaps = |&(start, end): &(u64, u64)| start < mapping.end && mapping.start < end;
            load.segments.iter().any(overlaps)
        })
    };
    let copy = |(number, mapping): (u32, &Mapping)| {
        if of_loader(mapping).is_some() {
            return None;
        }
        let mut originals = mappings.iter().filter(|original| original.holds(mapping));
        let (original, load) = originals.find_map(|one| Some((one, of_loader(one)?)))?;
        // How far each byte of the file is from where the loader has it.
        let place = |mapping: &Mapping| mapping.start.wrapping_sub(mapping.offset);
        Some(LoadRecord {
            number: u32::MAX - number,
            bias: load.bias.wrapping_add(place(mapping)).wrapping_sub(place(original)),
            segments: vec![(mapping.start, mapping.end)],
            ..load.clone()
        })
    };
    (0..).zip(mappings).filter_map(copy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_is_mapped_again_is_the_modules() {
        let maps = "\
00b6f000-00b71000 r-xp 0076f000 fe:00 247584                             /usr/bin/node
00b72000-025fe000 r-xp 00772000 fe:00 247584                             /usr/bin/node
7ff1b4003000-7ff1b403f000 rwxp 00000000 00:00 0
7ff1d3e40000-7ff1d3fd2000 r-xp 014c4000 fe:00 247584                     /usr/bin/node
7ff1d4000000-7ff1d4001000 r--p 014c4000 fe:00 247584                     /usr/bin/node
7ff1d5000000-7ff1d5001000 r-xp 014c4000 fe:00 247585                     /usr/bin/nodes
";
        let load = LoadRecord {
            number: 0,
            path: b"/usr/bin/node".to_vec(),
            build_id: vec![1],
            bias: 0,
            segments: vec![(0xb6f000, 0xb70e90), (0xb72000, 0x25fdca0)],
            ..LoadRecord::default()
        };
        let log = [(1, LogRecord::Load(load.clone()))];
        let found = copies(&with_copies(maps), &log);
        let [copy] = &found[..] else { panic!("{found:?}") };
        assert_eq!(copy.segments, [(0x7ff1_d3e4_0000, 0x7ff1_d3fd_2000)]);
        // The byte at 0x14c4000 of the file is at 0x18c4000 in the module.
        assert_eq!(0x7ff1_d3e4_0000_u64.wrapping_sub(copy.bias), 0x18c_4000);
        assert_eq!((&copy.path, &copy.build_id), (&load.path, &load.build_id));
        assert_eq!(with_copies(&maps.replace("014c4000", "f14c4000")), []);
        assert_eq!(with_copies("garbage\n/\n1-2 x / \nz-2 r-xp 0 0 0 /x\n"), []);
    }
}
