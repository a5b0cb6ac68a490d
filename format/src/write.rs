//! Saving a profile.
//!
//! The last step of recording: everything gathered from the arenas becomes one file. A profile
//! is validated before its first byte is written, and a file appears under its name only when it
//! is complete: it is written under a temporary name in the same folder, forced to disk, and
//! renamed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::address::FrameKind;
use crate::block::{self, NewBlock, TARGET_DECODED};
use crate::budget::{Budget, source_node};
use crate::codec;
use crate::error::{Action, Error, ErrorKind};
use crate::header::FileHeader;
use crate::kind::BlockKind;
use crate::loss::{LossReason, PartialReason};
use crate::profile::{Frame, Metric, Profile, SampleTime, Structure, Thread, ThreadShare};
use crate::read::MAX_FILE;
use crate::sections::{
    COLUMN_ELEMENTS, End, FrameColumns, FunctionColumns, NodeColumns, SiteColumns, StringColumns,
    TimeColumns, TreeColumns, shares,
};
use crate::sum::SpreadColumns;
use crate::validate::validate;
use crate::version::{
    MAJOR, MINOR_OF_EARLIER, MINOR_OF_FILES, MINOR_OF_METRICS, MINOR_OF_OUTSIDE, MINOR_OF_PHASES,
    MINOR_OF_RUNS, MINOR_OF_SAMPLES, MINOR_OF_SOURCES, MINOR_OF_STRUCTURE, MINOR_OF_SUMS,
    MINOR_OF_TIMES,
};
use crate::whole_file::Temporary;

/// Writes `profile` as a file to `out`, which gets a few large pieces and needs no buffer.
///
/// # Errors
///
/// [`ErrorKind::Unwritable`] if the profile contradicts itself, and then nothing is written;
/// [`ErrorKind::TooLarge`] if one string or row exceeds 16 MiB; [`ErrorKind::TooMuch`] or
/// [`Fault::Memory`](crate::validate::Fault::Memory) if no reader would take it; [`ErrorKind::Io`]
/// from `out`.
pub fn write(profile: &Profile, out: &mut impl Write) -> Result<(), Error> {
    validate(profile).map_err(|violation| Error::new(ErrorKind::Unwritable(violation)))?;
    let run_id = profile.run.id();
    let several = !profile.further.is_empty();
    let mut budget = Budget::largest();
    let fits = |violation| Error::new(ErrorKind::Invalid(violation));
    budget.expansion(profile, source_node(profile)).map_err(fits)?;
    let run = run_id as u32;
    let bytes = Vec::new();
    let mut blocks = Blocks { out, bytes, written: 0, number: 0, run, several, budget };
    // The least version that has all there is to write, so that older readers need not wonder.
    let minor = match profile.runs.is_empty() && profile.accounts.is_empty() {
        _ if !profile.earlier.is_empty() => MINOR_OF_EARLIER,
        _ if profile.is_sum() => MINOR_OF_SUMS,
        _ if has_reasons_of_outside(profile) => MINOR_OF_OUTSIDE,
        _ if !profile.phases.is_empty() => MINOR_OF_PHASES,
        _ if !profile.times.is_empty() => MINOR_OF_TIMES,
        _ if !profile.sources.is_empty() => MINOR_OF_SOURCES,
        _ if !profile.files.is_empty() || !profile.stages.is_empty() => MINOR_OF_FILES,
        _ if profile.structure != Structure::default() => MINOR_OF_STRUCTURE,
        _ if several => MINOR_OF_METRICS,
        true => MINOR_OF_SAMPLES,
        false => MINOR_OF_RUNS,
    };
    let header =
        FileHeader { major: MAJOR, minor, run_id, start_unix_ns: profile.run.start_unix_ns };
    blocks.bytes.extend_from_slice(&header.to_bytes());
    blocks.put(BlockKind::Run, 0, 1, &profile.run)?;
    blocks.metrics(profile)?;
    blocks.strings(&profile.strings)?;
    blocks.rows(BlockKind::Modules, &profile.modules)?;
    blocks.rows(BlockKind::Processes, &profile.processes)?;
    blocks.threads(profile)?;
    blocks.rows(BlockKind::Epochs, &profile.epochs)?;
    blocks.columns(BlockKind::Frames, &profile.frames, FrameColumns::new)?;
    blocks.columns(BlockKind::Functions, &profile.functions, FunctionColumns::new)?;
    blocks.sites(profile)?;
    blocks.columns(BlockKind::Trees, &profile.trees, TreeColumns::new)?;
    blocks.nodes(profile)?;
    blocks.rows(BlockKind::Runs, &profile.runs)?;
    blocks.rows(BlockKind::Accounts, &profile.accounts)?;
    blocks.rows(BlockKind::Loops, &profile.structure.loops)?;
    blocks.rows(BlockKind::InLoops, &profile.structure.in_loops)?;
    blocks.rows(BlockKind::TailCalls, &profile.structure.tail_calls)?;
    blocks.rows(BlockKind::Files, &profile.files)?;
    blocks.rows(BlockKind::Stages, &profile.stages)?;
    blocks.rows(BlockKind::Sources, &profile.sources)?;
    let times = |rows: &[SampleTime]| TimeColumns::new(rows, &profile.trees);
    blocks.columns(BlockKind::Times, &profile.times, times)?;
    blocks.rows(BlockKind::Phases, &profile.phases)?;
    blocks.rows(BlockKind::SummedRuns, &profile.summed)?;
    blocks.columns(BlockKind::Spreads, &profile.spreads, SpreadColumns::new)?;
    blocks.rows(BlockKind::Earlier, &profile.earlier)?;
    blocks.rows(BlockKind::JobSizes, &profile.job_sizes)?;
    let end = End {
        blocks: blocks.number,
        nodes: profile.nodes.len() as u64,
        samples: profile.nodes.total_samples(),
    };
    blocks.put(BlockKind::End, 0, 1, &end)?;
    blocks.budget.fits(blocks.written).map_err(Error::new)?;
    if blocks.written > MAX_FILE {
        return Err(Error::new(ErrorKind::TooMuch { limit: MAX_FILE }));
    }
    Ok(())
}

/// Whether samples were lost, or paths are partial, for reasons that only processes have that are
/// sampled from outside.
fn has_reasons_of_outside(profile: &Profile) -> bool {
    let lost = profile.threads.iter().map(|thread| &thread.losses);
    let mut lost = lost.chain(profile.processes.iter().map(|process| &process.losses));
    let is_partial = |frame: &Frame| {
        frame.kind == FrameKind::Partial && frame.offset == PartialReason::StackCopy as u64
    };
    lost.any(|losses| losses.get(LossReason::RingFull as usize).is_some_and(|lost| *lost > 0))
        || profile.frames.iter().any(is_partial)
}

/// Saves `profile` as `path`, replacing a file of that name.
///
/// Where `path` is a symbolic link, the file it leads to is replaced; where it is a device or a
/// pipe, the profile is written to it. A file that is replaced keeps its permissions, but a profile
/// with source files can be read by its owner alone.
///
/// # Errors
///
/// Those of [`write()`], and of the operating system. No file is left behind then, and a file that
/// was there before is unchanged.
pub fn save(profile: &Profile, path: &Path) -> Result<(), Error> {
    let stream = fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
    let saved = if stream {
        // Renaming would replace the device itself, which root may do.
        let file = OpenOptions::new().write(true).open(path);
        file.map_err(|error| Error::io(Action::Write, error))
            .and_then(|mut file| write(profile, &mut file))
    } else {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        save_beside(profile, &target, |temporary| temporary.replace(&target))
    };
    saved.map_err(|error| error.in_file(path))
}

/// Saves `profile` as `path`, unless there is a file of that name.
///
/// Two programs that save under one name at the same time cannot overwrite each other: one of
/// them gets [`ErrorKind::Exists`].
///
/// # Errors
///
/// Those of [`save`], and [`ErrorKind::Exists`].
pub fn save_new(profile: &Profile, path: &Path) -> Result<(), Error> {
    // Asked first, too: a profile is not written for a name that is taken long since.
    let saved = match path.symlink_metadata() {
        Ok(_) => Err(Error::new(ErrorKind::Exists)),
        Err(_) => save_beside(profile, path, |temporary| temporary.create(path)),
    };
    saved.map_err(|error| error.in_file(path))
}

/// Writes a temporary file in the folder of `path`, and lets `name` give it its name.
fn save_beside(
    profile: &Profile,
    path: &Path,
    name: impl FnOnce(Temporary) -> io::Result<()>,
) -> Result<(), Error> {
    let refused = |error| Error::io(Action::Create, error);
    let mut temporary = Temporary::beside(path).map_err(refused)?;
    let mut permissions = fs::metadata(path).ok().map(|before| before.permissions());
    if !profile.sources.is_empty() {
        permissions = Some(fs::Permissions::from_mode(0o600));
    }
    if let Some(permissions) = permissions {
        temporary.file.set_permissions(permissions).map_err(refused)?;
    }
    write(profile, &mut temporary.file)?;
    temporary.file.sync_data().map_err(|error| Error::io(Action::Write, error))?;
    name(temporary).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::new(ErrorKind::Exists),
        _ => Error::io(Action::Rename, error),
    })
}

/// Turns tables into blocks, and hands each on when it is complete.
struct Blocks<'a, W> {
    out: &'a mut W,
    /// Not handed on yet.
    bytes: Vec<u8>,
    /// Bytes handed on.
    written: u64,
    number: u32,
    run: u32,
    /// Whether the profile has several metrics.
    several: bool,
    /// What a reader will allow.
    budget: Budget,
}

impl<W: Write> Blocks<'_, W> {
    fn put<T: Serialize>(
        &mut self,
        kind: BlockKind,
        first: usize,
        count: usize,
        value: &T,
    ) -> Result<(), Error> {
        let place = NewBlock {
            kind,
            version: kind.version(self.several),
            number: self.number,
            first: first as u64,
            // Blocks are cut at far fewer elements.
            count: count as u32,
            run: self.run,
        };
        let before = self.written + self.bytes.len() as u64;
        let compress = |decoded| {
            self.budget.block(kind, place.count, decoded, self.several)?;
            // What a reader allows grows with the file, and nodes that are much alike compress to
            // less than they need.
            Ok(self.budget.fits(before).is_ok())
        };
        block::put(&mut self.bytes, place, value, compress).map_err(Error::new)?;
        self.number += 1;
        self.out.write_all(&self.bytes).map_err(|error| Error::io(Action::Write, error))?;
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }

    /// Blocks of whole rows, each block about as large as the target.
    fn rows<T: Serialize>(&mut self, kind: BlockKind, rows: &[T]) -> Result<(), Error> {
        self.divided(
            rows,
            |row| codec::encoded_len(row).unwrap_or(0),
            |this, first, rows| this.put(kind, first, rows.len(), &rows),
        )
    }

    fn metrics(&mut self, profile: &Profile) -> Result<(), Error> {
        if !self.several {
            return self.put(BlockKind::Metrics, 0, 1, &profile.metric);
        }
        let metrics: Vec<&Metric> = profile.metrics().collect();
        self.put(BlockKind::Metrics, 0, metrics.len(), &metrics)
    }

    fn threads(&mut self, profile: &Profile) -> Result<(), Error> {
        if !self.several {
            return self.rows(BlockKind::Threads, &profile.threads);
        }
        let shares = |thread: usize| -> Vec<ThreadShare> {
            profile.further.iter().map(|further| further.threads[thread]).collect()
        };
        let threads = profile.threads.iter().enumerate();
        let rows: Vec<(&Thread, _)> =
            threads.map(|(number, thread)| (thread, shares(number))).collect();
        self.rows(BlockKind::Threads, &rows)
    }

    fn strings(&mut self, strings: &[Arc<str>]) -> Result<(), Error> {
        let mut text = String::new();
        let size = |string: &Arc<str>| string.len() + 1;
        self.divided(strings, size, |this, first, strings| {
            let columns = StringColumns::new(strings, &mut text);
            this.put(BlockKind::Strings, first, strings.len(), &columns)
        })
    }

    /// Calls `put` with stretches of `rows` that together take about the target size.
    fn divided<T>(
        &mut self,
        rows: &[T],
        size: impl Fn(&T) -> usize,
        mut put: impl FnMut(&mut Self, usize, &[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut first = 0;
        let mut bytes = 0;
        for (index, row) in rows.iter().enumerate() {
            let row = size(row);
            if bytes + row > TARGET_DECODED && first < index {
                put(self, first, &rows[first..index])?;
                first = index;
                bytes = 0;
            }
            bytes += row;
        }
        if first < rows.len() { put(self, first, &rows[first..]) } else { Ok(()) }
    }

    fn columns<T, C: Serialize>(
        &mut self,
        kind: BlockKind,
        table: &[T],
        columns: impl Fn(&[T]) -> C,
    ) -> Result<(), Error> {
        for (index, chunk) in table.chunks(COLUMN_ELEMENTS).enumerate() {
            self.put(kind, index * COLUMN_ELEMENTS, chunk.len(), &columns(chunk))?;
        }
        Ok(())
    }

    fn sites(&mut self, profile: &Profile) -> Result<(), Error> {
        let sites = &profile.sites;
        if sites.first.is_empty() {
            return Ok(());
        }
        let mut start = 0;
        loop {
            let count = SiteColumns::frames_of_block(sites, start);
            let columns = SiteColumns::new(sites, start..start + count);
            self.put(BlockKind::Sites, start, count, &columns)?;
            start += count;
            // A profile without frames still says that they were resolved.
            if start >= profile.frames.len() {
                return Ok(());
            }
        }
    }

    fn nodes(&mut self, profile: &Profile) -> Result<(), Error> {
        let nodes = &profile.nodes;
        for start in (0..nodes.len()).step_by(COLUMN_ELEMENTS) {
            let range = start..nodes.len().min(start + COLUMN_ELEMENTS);
            let (count, columns) = (range.len(), NodeColumns::new(nodes, range.clone()));
            if self.several {
                let columns = (columns, shares(&profile.further, range));
                self.put(BlockKind::Nodes, start, count, &columns)?;
            } else {
                self.put(BlockKind::Nodes, start, count, &columns)?;
            }
        }
        Ok(())
    }
}
