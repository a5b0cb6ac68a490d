//! Opening a saved profile: hostile until proven otherwise.
//!
//! Bytes are checked from the outside in (magic, version, checksums, lengths) and values from the
//! first definition to the last node, so that no step trusts what an earlier one has not checked.
//! No input makes this panic, recurse deeply, or use more memory than its
//! [`budget`](crate::budget).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::ahead::{self, Ahead};
use crate::block::Block;
use crate::budget::{Budget, source_node_of};
use crate::codec;
use crate::error::{Action, BlockPlace, Error, ErrorKind, Foreign, Layout, Readable};
use crate::header::{FILE_HEADER, FileHeader, MAGIC};
use crate::kind::BlockKind;
use crate::profile::{FurtherMetric, Metric, Profile, Structure, Thread, ThreadShare};
use crate::sections::{
    End, FrameColumns, FunctionColumns, SiteColumns, StringColumns, TimeColumns, TreeColumns,
    append_shares,
};
use crate::sum::SpreadColumns;
use crate::validate::validate_read;

/// Bytes of a file from which on two threads read it.
const LARGE: usize = if cfg!(test) { 1 << 10 } else { 8 << 20 };

/// Largest file that is read: 4 GiB.
pub const MAX_FILE: u64 = 4 << 30;

/// Reads a saved profile.
///
/// # Errors
///
/// What is wrong, and in which block, if `bytes` are not exactly what [`write`](crate::write)
/// makes of a valid profile.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let scan = scan(bytes)?;
    let of = scan.blocks.len() as u32 + u32::from(scan.stop.is_some());
    let damaged = |blocks: usize, error: Error| {
        if error.is_damage() {
            error.with_readable(Readable { blocks: blocks as u32, of })
        } else {
            error
        }
    };
    let mut reader = Reader::new(scan.header, bytes.len());
    thread::scope(|scope| {
        let mut ahead = Ahead::start(scope, &scan.blocks);
        for (index, block) in scan.blocks.iter().enumerate() {
            let applied = reader.apply(block, &mut ahead);
            applied.map_err(|kind| damaged(index, scan.error_in(index, kind)))?;
        }
        Ok(())
    })?;
    if let Some(stop) = scan.stop {
        return Err(damaged(scan.blocks.len(), stop));
    }
    let budget = reader.budget();
    let most = reader.sums.iter().copied().max().unwrap_or(0);
    let profile = reader.finish(None).map_err(Error::new)?;
    let node = source_node_of(most, profile.further.len());
    validate_read(&profile).and_then(|()| budget.admits(&profile, node)).map_err(|violation| {
        let index = scan.block_of(violation.table, violation.element);
        let kind = ErrorKind::Invalid(violation);
        match index {
            Some(index) => damaged(index, scan.error_in(index, kind)),
            None => Error::new(kind),
        }
    })?;
    Ok(profile)
}

/// Opens a saved profile.
///
/// # Errors
///
/// Those of [`read`], and of the operating system; all of them name the file.
pub fn open(path: &Path) -> Result<Profile, Error> {
    load(path).and_then(|bytes| read(&bytes)).map_err(|error| error.in_file(path))
}

/// The run that a saved profile is of, as its first bytes say, without reading the rest:
/// [`RunInfo::id`](crate::profile::RunInfo::id). `None` if they say none.
#[must_use]
pub fn run_id(path: &Path) -> Option<u128> {
    let mut header = [0; FILE_HEADER];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    let is_profile = header.starts_with(&MAGIC);
    FileHeader::from_bytes(&header).ok().filter(|_| is_profile).map(|header| header.run_id)
}

/// The bytes of a file that is not too large to be a profile.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, Error> {
    let mut file = File::open(path).map_err(|error| Error::io(Action::Open, error))?;
    let refused = |error| Error::io(Action::Read, error);
    let about = file.metadata().map_err(refused)?;
    if about.is_dir() {
        return Err(Error::new(ErrorKind::Folder));
    }
    // Devices and pipes have no length to check beforehand.
    let length = about.len().min(MAX_FILE) as usize;
    let mut bytes = in_halves(&file, length).unwrap_or_default();
    if !bytes.is_empty() {
        file.seek(SeekFrom::Start(bytes.len() as u64)).map_err(refused)?;
    }
    // One byte more, to see the end. Where there is no room, reading says so.
    let _room = bytes.try_reserve_exact(length - bytes.len() + 1);
    let most = MAX_FILE + 1 - bytes.len() as u64;
    file.take(most).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::new(ErrorKind::TooMuch { limit: MAX_FILE }));
    }
    Ok(bytes)
}

/// So many bytes of a file, both halves read at once: to copy them into new memory takes a tenth of
/// the time in which a large profile is opened. `None` if that is not worth it, or goes wrong.
fn in_halves(file: &File, length: usize) -> Option<Vec<u8>> {
    if length < LARGE {
        return None;
    }
    let mut bytes = Vec::new();
    // Memory that is new is clear; where there is none, reading says so.
    bytes.try_reserve_exact(length + 1).ok()?;
    drop(bytes);
    bytes = vec![0; length + 1];
    bytes.truncate(length);
    let (first, second) = bytes.split_at_mut(length / 2);
    let read = thread::scope(|scope| {
        let start = first.len() as u64;
        let other = thread::Builder::new()
            .spawn_scoped(scope, move || file.read_exact_at(second, start))
            .ok()?;
        let own = file.read_exact_at(first, 0);
        own.ok().and(other.join().ok()?.ok())
    });
    read.map(|()| bytes)
}

/// The blocks of a file, found but not looked into.
pub(crate) struct Scan<'a> {
    pub(crate) header: FileHeader,
    pub(crate) blocks: Vec<Block<'a>>,
    /// Why no more blocks could be found, other than that the file ends as it should.
    pub(crate) stop: Option<Error>,
}

/// Finds the blocks of a file.
///
/// # Errors
///
/// If the file is no profile, or none of this version.
pub(crate) fn scan(file: &[u8]) -> Result<Scan<'_>, Error> {
    if file.is_empty() {
        return Err(Error::new(ErrorKind::Empty));
    }
    let known = file.len().min(MAGIC.len());
    if file[..known] != MAGIC[..known] {
        return Err(Error::new(ErrorKind::Foreign(Foreign::recognize(file))));
    }
    let header = FileHeader::from_bytes(file).map_err(Error::new)?;
    let mut scan = Scan { header, blocks: Vec::new(), stop: None };
    let mut offset = FILE_HEADER;
    loop {
        let (block, after) = match Block::at(file, offset, header.run_id as u32) {
            Ok(found) => found,
            Err(kind) => {
                let number = scan.blocks.len() as u32;
                let place = BlockPlace { number, kind: None, offset: offset as u64 };
                scan.stop = Some(Error::new(kind).in_block(place));
                return Ok(scan);
            }
        };
        scan.blocks.push(block);
        offset = after;
        if block.header.kind == BlockKind::End as u16 {
            if let count @ 1.. = (file.len() - after) as u64 {
                scan.stop = Some(Error::new(ErrorKind::Layout(Layout::AfterEnd { count })));
            }
            return Ok(scan);
        }
    }
}

impl Scan<'_> {
    /// An error in block `index`.
    pub(crate) fn error_in(&self, index: usize, kind: ErrorKind) -> Error {
        let error = Error::new(kind);
        match self.blocks.get(index) {
            Some(Block { header, offset, .. }) => error.in_block(BlockPlace {
                number: index as u32,
                kind: Some(header.kind),
                offset: *offset,
            }),
            None => error,
        }
    }

    /// The block that holds an element of a table.
    fn block_of(&self, table: BlockKind, element: usize) -> Option<usize> {
        self.blocks.iter().position(|Block { header, .. }| {
            // A block that was passed over may claim any place.
            let end = header.first.saturating_add(u64::from(header.count).max(1));
            let elements = header.first..end;
            header.kind == table as u16 && elements.contains(&(element as u64))
        })
    }
}

/// Puts a profile together, block by block.
pub(crate) struct Reader {
    header: FileHeader,
    profile: Profile,
    /// Blocks seen.
    number: u32,
    /// Kind of the last block that was understood.
    last: Option<BlockKind>,
    /// Whether blocks of a later version were passed over: what refers to them goes as well.
    passed: bool,
    end: Option<End>,
    budget: Budget,
    buffer: Vec<u8>,
    /// The path of the last node, from the root of its tree, which the budget allows for. Of no use
    /// after nodes were [cut](Self::cut), after which none are added.
    path: Vec<u32>,
    /// Samples and returns of all nodes, or the greatest number.
    sums: [u64; 2],
}

impl Reader {
    /// Of a file of so many bytes.
    pub(crate) fn new(header: FileHeader, bytes: usize) -> Self {
        Self {
            header,
            profile: Profile::default(),
            number: 0,
            last: None,
            passed: false,
            end: None,
            budget: Budget::of_file(bytes),
            buffer: Vec::new(),
            path: Vec::new(),
            sums: [0; 2],
        }
    }

    /// Adds what a block holds. After an error the profile may hold a part of it.
    pub(crate) fn apply(&mut self, block: &Block<'_>, ahead: &mut Ahead) -> Result<(), ErrorKind> {
        let header = block.header;
        let number = self.number;
        self.number += 1;
        if header.number != number {
            return Err(ErrorKind::Layout(Layout::Number { found: header.number }));
        }
        let kind = match BlockKind::from_u16(header.kind) {
            Some(kind) if kind.is_known(header.version) => kind,
            _ if !header.is_critical() => {
                self.passed = true;
                return Ok(());
            }
            _ => {
                let (kind, version) = (header.kind, header.version);
                return Err(ErrorKind::UnknownBlock { kind, version });
            }
        };
        let missing = match (kind, self.last) {
            (BlockKind::Run, _) => None,
            (_, None) => Some(BlockKind::Run),
            (BlockKind::Metrics, _) => None,
            (_, Some(BlockKind::Run)) => Some(BlockKind::Metrics),
            _ => None,
        };
        if let Some(missing) = missing {
            return Err(ErrorKind::Layout(Layout::Missing(missing)));
        }
        let several = !self.profile.further.is_empty();
        if kind != BlockKind::Metrics && header.version != kind.version(several) {
            return Err(ErrorKind::Layout(Layout::Version { version: header.version }));
        }
        let single = matches!(kind, BlockKind::Run | BlockKind::Metrics | BlockKind::End);
        if self.last.is_some_and(|last| last > kind || (last == kind && single)) {
            return Err(ErrorKind::Layout(Layout::Order));
        }
        self.last = Some(kind);
        let expected = self.length(kind) as u64;
        if header.first != expected {
            return Err(ErrorKind::Layout(Layout::Gap { first: header.first, expected }));
        }
        self.budget.block(kind, header.count, block.decoded(), several)?;
        let mut buffer = core::mem::take(&mut self.buffer);
        let applied = match ahead.nodes(block) {
            Some(decoded) => decoded.and_then(|decoded| {
                let added = self.nodes(&decoded);
                ahead.give_back(decoded);
                added
            }),
            None => block.payload(&mut buffer).and_then(|payload| match header.version {
                1 => self.payload(kind, payload),
                _ => self.payload_of_several(kind, payload),
            }),
        };
        self.buffer = buffer;
        let found = applied?;
        if found == header.count as usize {
            Ok(())
        } else {
            Err(ErrorKind::Layout(Layout::Count { declared: header.count, found }))
        }
    }

    /// The memory that is still allowed.
    pub(crate) fn budget(&self) -> Budget {
        self.budget.clone()
    }

    /// Passes over a block.
    pub(crate) fn skip(&mut self) {
        self.number += 1;
    }

    /// Lengths of the tables that salvage cuts.
    pub(crate) fn strings_and_nodes(&self) -> (usize, usize) {
        (self.profile.strings.len(), self.profile.nodes.len())
    }

    /// Removes strings and nodes that a damaged block left behind.
    pub(crate) fn cut(&mut self, strings: usize, nodes: usize) {
        self.profile.strings.truncate(strings);
        self.profile.nodes.truncate(nodes);
    }

    /// Adds the elements in a payload, and says how many there are.
    fn payload(&mut self, kind: BlockKind, payload: &[u8]) -> Result<usize, ErrorKind> {
        let profile = &mut self.profile;
        match kind {
            BlockKind::Run => {
                profile.run = decode(payload)?;
                let FileHeader { run_id, start_unix_ns, .. } = self.header;
                if profile.run.id() != run_id || profile.run.start_unix_ns != start_unix_ns {
                    return Err(ErrorKind::Layout(Layout::RunHeader));
                }
                Ok(1)
            }
            BlockKind::Metrics => {
                profile.metric = decode(payload)?;
                Ok(1)
            }
            BlockKind::Strings => {
                decode::<StringColumns<'_>>(payload)?.append(&mut profile.strings)
            }
            BlockKind::Modules => rows(payload, &mut profile.modules),
            BlockKind::Processes => rows(payload, &mut profile.processes),
            BlockKind::Threads => rows(payload, &mut profile.threads),
            BlockKind::Epochs => rows(payload, &mut profile.epochs),
            BlockKind::Frames => decode::<FrameColumns>(payload)?.append(&mut profile.frames),
            BlockKind::Functions => {
                decode::<FunctionColumns>(payload)?.append(&mut profile.functions)
            }
            BlockKind::Sites => decode::<SiteColumns>(payload)?.append(&mut profile.sites),
            BlockKind::Trees => decode::<TreeColumns>(payload)?.append(&mut profile.trees),
            BlockKind::Nodes => {
                self.nodes(&ahead::decode_payload(payload, false, Default::default())?)
            }
            BlockKind::Runs => rows(payload, &mut profile.runs),
            BlockKind::Accounts => rows(payload, &mut profile.accounts),
            BlockKind::Loops => rows(payload, &mut profile.structure.loops),
            BlockKind::InLoops => rows(payload, &mut profile.structure.in_loops),
            BlockKind::TailCalls => rows(payload, &mut profile.structure.tail_calls),
            BlockKind::Files => rows(payload, &mut profile.files),
            BlockKind::Stages => rows(payload, &mut profile.stages),
            BlockKind::Sources => rows(payload, &mut profile.sources),
            BlockKind::Times => {
                decode::<TimeColumns>(payload)?.append(&mut profile.times, &profile.trees)
            }
            BlockKind::Phases => rows(payload, &mut profile.phases),
            BlockKind::SummedRuns => rows(payload, &mut profile.summed),
            BlockKind::Spreads => decode::<SpreadColumns>(payload)?.append(&mut profile.spreads),
            BlockKind::Earlier => rows(payload, &mut profile.earlier),
            BlockKind::JobSizes => rows(payload, &mut profile.job_sizes),
            BlockKind::End => {
                self.end = Some(decode(payload)?);
                Ok(1)
            }
        }
    }

    /// The same of a profile of several metrics, for the kinds that have then another payload.
    fn payload_of_several(&mut self, kind: BlockKind, payload: &[u8]) -> Result<usize, ErrorKind> {
        let profile = &mut self.profile;
        match kind {
            BlockKind::Metrics => {
                let mut metrics = decode::<Vec<Metric>>(payload)?.into_iter();
                let count = metrics.len();
                if count < 2 {
                    return Err(ErrorKind::Layout(Layout::Version { version: 2 }));
                }
                profile.metric = metrics.next().unwrap_or_default();
                let further = |metric| FurtherMetric { metric, ..FurtherMetric::default() };
                profile.further = metrics.map(further).collect();
                Ok(count)
            }
            BlockKind::Threads => {
                let rows: Vec<(Thread, Vec<ThreadShare>)> = decode(payload)?;
                let count = rows.len();
                if rows.iter().any(|(_, shares)| shares.len() != profile.further.len()) {
                    return Err(ErrorKind::Layout(Layout::Columns { column: "shares" }));
                }
                for (thread, shares) in rows {
                    profile.threads.push(thread);
                    for (further, share) in profile.further.iter_mut().zip(shares) {
                        further.threads.push(share);
                    }
                }
                Ok(count)
            }
            _ => self.nodes(&ahead::decode_payload(payload, true, Default::default())?),
        }
    }

    /// Adds a block of nodes, and says how many there are.
    fn nodes(&mut self, (columns, shares): &ahead::Decoded) -> Result<usize, ErrorKind> {
        let start = self.profile.nodes.len();
        let count = columns.append(&mut self.profile, &mut self.path)?;
        append_shares(shares, &mut self.profile.further, start, count)?;
        for (sum, of_block) in self.sums.iter_mut().zip(columns.sums()) {
            *sum = sum.saturating_add(of_block);
        }
        Ok(count)
    }

    /// Elements that the table of a kind has so far.
    fn length(&self, kind: BlockKind) -> usize {
        let profile = &self.profile;
        match kind {
            BlockKind::Run | BlockKind::Metrics | BlockKind::End => 0,
            BlockKind::Strings => profile.strings.len(),
            BlockKind::Modules => profile.modules.len(),
            BlockKind::Processes => profile.processes.len(),
            BlockKind::Threads => profile.threads.len(),
            BlockKind::Epochs => profile.epochs.len(),
            BlockKind::Frames => profile.frames.len(),
            BlockKind::Functions => profile.functions.len(),
            BlockKind::Sites => profile.sites.first.len().saturating_sub(1),
            BlockKind::Trees => profile.trees.len(),
            BlockKind::Nodes => profile.nodes.len(),
            BlockKind::Runs => profile.runs.len(),
            BlockKind::Accounts => profile.accounts.len(),
            BlockKind::Loops => profile.structure.loops.len(),
            BlockKind::InLoops => profile.structure.in_loops.len(),
            BlockKind::TailCalls => profile.structure.tail_calls.len(),
            BlockKind::Files => profile.files.len(),
            BlockKind::Stages => profile.stages.len(),
            BlockKind::Sources => profile.sources.len(),
            BlockKind::Times => profile.times.len(),
            BlockKind::Phases => profile.phases.len(),
            BlockKind::SummedRuns => profile.summed.len(),
            BlockKind::Spreads => profile.spreads.len(),
            BlockKind::Earlier => profile.earlier.len(),
            BlockKind::JobSizes => profile.job_sizes.len(),
        }
    }

    /// The profile, when all blocks were applied, or those before `stop`.
    pub(crate) fn finish(self, stop: Option<&Error>) -> Result<Profile, ErrorKind> {
        let Self { mut profile, passed, end, last, number, sums: [samples, _], .. } = self;
        if passed && profile.structure != Structure::default() {
            profile.structure = Structure::default();
            profile.run.warnings.push(
                "the file has blocks of a later version of csprof, which were passed over, and \
                 its loops and tail calls with them"
                    .to_owned(),
            );
        }
        if last.is_none_or(|last| last < BlockKind::Metrics) {
            let missing = if last.is_none() { BlockKind::Run } else { BlockKind::Metrics };
            return Err(ErrorKind::Layout(Layout::Missing(missing)));
        }
        let totals =
            End { blocks: number.saturating_sub(1), nodes: profile.nodes.len() as u64, samples };
        match end {
            _ if stop.is_some() => Ok(profile),
            Some(end) if end == totals => Ok(profile),
            Some(_) => Err(ErrorKind::Layout(Layout::Totals)),
            None => Err(ErrorKind::Layout(Layout::Missing(BlockKind::End))),
        }
    }
}

fn decode<'de, T: Deserialize<'de> + Serialize>(payload: &'de [u8]) -> Result<T, ErrorKind> {
    codec::decode(payload).map_err(ErrorKind::Malformed)
}

fn rows<T>(payload: &[u8], table: &mut Vec<T>) -> Result<usize, ErrorKind>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    let mut rows: Vec<T> = decode(payload)?;
    let count = rows.len();
    table.append(&mut rows);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn halves_of_a_file_are_the_file() {
        for length in [0, 1, LARGE - 1, LARGE, 5 * LARGE + 1] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&bytes).unwrap();
            let read = in_halves(file.as_file(), length);
            assert_eq!(read, (length >= LARGE).then(|| bytes.clone()));
            assert_eq!(load(file.path()).unwrap(), bytes);
            // Of a file that has become shorter.
            assert_eq!(in_halves(file.as_file(), length.max(LARGE) + 1), None);
        }
    }
}
