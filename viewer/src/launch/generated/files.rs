//! Finds the files in which processes of a run said what code they generated.
//!
//! A perf map is `/tmp/perf-PID.map`, by the process's own id and in its own `/tmp`. The collector
//! leaves a copy beside the arena when the process ends, for its `/tmp` may be another one, or
//! somebody may remove the file. What the process writes after that is in the file alone, which
//! counts where it goes on from the copy. A jitdump file can be anywhere; the collector says where,
//! and of a process that was killed it is looked for where runtimes have it.
//!
//! Ids are used again, and anybody may write to `/tmp`. A file counts if the process's `/tmp` is
//! the one here, by device and inode; if it was written since the process began and no later than
//! [`LATEST_NS`] after it ended, and no later process of the run had its id; and if it belongs to
//! this user, to root or to whom the arena belongs.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csprof_format::arena::{ARENA_SUFFIX, ArenaHeader, FLAG_EXECED, LogRecord, PERF_MAP_SUFFIX};
use nix::unistd::Uid;

use super::super::foreign_file::open_to_read;
use super::{Content, NameFile, NameFiles};
use crate::launch::run_dir::RunDir;

/// Most bytes that are read of one file.
const MOST_BYTES: u64 = 256 << 20;
/// Most bytes that are read of all files of a run: they are in memory until it is gathered.
const MOST_BYTES_OF_RUN: u64 = 1 << 30;
/// How far the time at which a file was written may lie before the present: the kernel notes the
/// time of its last tick, of which there are at least 100 in a second.
const TICK_NS: u64 = 10_000_000;
/// How long a process may go on writing after the collector's last step in it.
const LATEST_NS: u64 = 10_000_000_000;

/// The files of a run on this machine.
#[derive(Debug)]
pub struct RunFiles<'r> {
    run_dir: &'r RunDir,
    /// Where the program was started.
    directory: PathBuf,
    /// Bytes that may still be read.
    left: u64,
    /// Device and inode of `/tmp` here.
    temporary: Option<(u64, u64)>,
    /// When the last process with an id began.
    latest: HashMap<u32, u64>,
    /// What was read, by process: its id and when it began.
    known: HashMap<(u32, u64), Arc<[NameFile]>>,
}

impl<'r> RunFiles<'r> {
    /// Those of a run that was started in `directory`.
    #[must_use]
    pub fn new(run_dir: &'r RunDir, directory: PathBuf) -> Self {
        let temporary = fs::metadata("/tmp").ok().map(|folder| (folder.dev(), folder.ino()));
        let mut latest = HashMap::new();
        for (header, _) in run_dir.begun_arenas() {
            let start_ns: &mut u64 = latest.entry(header.pid).or_default();
            *start_ns = header.start_ns.max(*start_ns);
        }
        let left = MOST_BYTES_OF_RUN;
        Self { run_dir, directory, left, temporary, latest, known: HashMap::new() }
    }

    /// Whether paths of the process are paths here, and its id has remained its own.
    fn is_here(&self, process: &ArenaHeader, log: &[(u64, LogRecord)]) -> bool {
        let mut folders = log.iter().filter_map(|(_, record)| match record {
            LogRecord::Temporary { device, inode, .. } => Some((*device, *inode)),
            _ => None,
        });
        let is_last = self.latest.get(&process.pid).is_none_or(|last| *last <= process.start_ns);
        is_last
            && self.temporary.is_some_and(|here| {
                folders.next() == Some(here) && folders.all(|folder| folder == here)
            })
    }

    /// The file beside the arena of a process that has this ending.
    fn beside(&self, process: &ArenaHeader, ending: &str) -> Option<File> {
        let name = format!("{}-{}{ending}", process.pid, process.start_ns);
        self.run_dir.all_arenas().find_map(|folder| open_to_read(&folder.join(&name)).ok())
    }

    /// Whether a file belongs to somebody who may say what the process did.
    fn is_trusted(&self, process: &ArenaHeader, user: u32) -> bool {
        let owner = || self.beside(process, ARENA_SUFFIX)?.metadata().ok();
        [0, Uid::effective().as_raw()].contains(&user)
            || owner().is_some_and(|owner| owner.uid() == user)
    }

    fn perf_map(
        &mut self,
        process: &ArenaHeader,
        log: &[(u64, LogRecord)],
        told: &mut Vec<String>,
    ) -> Option<NameFile> {
        let name = format!("/tmp/perf-{}.map", process.pid);
        let copy = self.beside(process, PERF_MAP_SUFFIX);
        let copy = copy
            .filter(|copy| copy.metadata().is_ok_and(|copy| self.is_trusted(process, copy.uid())));
        let copy = copy.and_then(|copy| self.read(copy, &name, told));
        let (copy, is_copy_cut) =
            copy.map_or((None, false), |copy| (Some(copy.bytes), copy.is_cut));
        // After an exec it is the next program's.
        let is_execed = process.flags & FLAG_EXECED != 0;
        let own = (!is_execed && self.is_here(process, log))
            .then(|| self.open_own(Path::new(&name), process, told))
            .flatten()
            .and_then(|own| self.read(own, &name, told));
        // Of one that was killed, nobody knows when it ended: by now its id may be another's.
        let is_long =
            |own: &Bytes| own.is_cut || own.bytes.len() as u64 >= length_told(process.pid, log);
        let own = own.filter(|own| process.end_ns != 0 || is_long(own));
        let is_same = |own: &Bytes| copy.as_ref().is_none_or(|copy| own.bytes.starts_with(copy));
        let own = own.filter(is_same);
        // What the process was about to write is no entry.
        let is_whole = own.is_some() && process.end_ns != 0;
        let (mut text, is_cut) = match own {
            Some(own) => (own.bytes, own.is_cut),
            None => (copy?, is_copy_cut),
        };
        if !is_whole || is_cut {
            let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
            text.truncate(end);
        }
        blank_earlier(&mut text, log, is_cut);
        Some(NameFile { path: name, content: Content::PerfMap(text) })
    }

    fn jitdumps(
        &mut self,
        process: &ArenaHeader,
        log: &[(u64, LogRecord)],
        told: &mut Vec<String>,
    ) -> Vec<NameFile> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for (_, record) in log {
            if let LogRecord::Jitdump(path) = record {
                paths.push(Path::new(std::ffi::OsStr::from_bytes(path)).to_owned());
            }
        }
        if !self.is_here(process, log) {
            if !paths.is_empty() {
                told.push(format!("jit-{}.dump: in another /tmp, and was not read", process.pid));
            }
            return Vec::new();
        }
        if paths.is_empty() && process.flags & FLAG_EXECED == 0 {
            let name = format!("jit-{}.dump", process.pid);
            paths = vec![self.directory.join(&name), Path::new("/tmp").join(&name)];
            // Where LLVM, Mono and the agent for Java of perf have it.
            let home = std::env::var_os("JITDUMPDIR").or_else(|| std::env::var_os("HOME"));
            let folder = home.map(|home| Path::new(&home).join(".debug/jit"));
            let sessions = folder.and_then(|folder| fs::read_dir(folder).ok());
            let sessions = sessions.into_iter().flatten().filter_map(Result::ok);
            paths.extend(sessions.map(|session| session.path().join(&name)));
        }
        paths.sort();
        paths.dedup();
        let mut found = Vec::new();
        for path in paths {
            let Some(file) = self.open_own(&path, process, told) else { continue };
            let path = path.display().to_string();
            let Some(Bytes { bytes, .. }) = self.read(file, &path, told) else { continue };
            // Of another process, with the same id in another namespace.
            let pid = bytes.get(20..24).and_then(|pid| pid.first_chunk());
            if pid.is_some_and(|pid| u32::from_le_bytes(*pid) != process.pid) {
                told.push(format!("{path}: is of another process and was not read"));
                continue;
            }
            found.push(NameFile { path, content: Content::Jitdump(bytes) });
        }
        found
    }

    fn read(&mut self, file: File, path: &str, told: &mut Vec<String>) -> Option<Bytes> {
        let most = MOST_BYTES.min(self.left);
        let mut bytes = Vec::new();
        if let Err(error) = file.take(most + 1).read_to_end(&mut bytes) {
            told.push(format!("{path}: cannot be read: {error}"));
            return None;
        }
        let is_cut = bytes.len() as u64 > most;
        bytes.truncate(most as usize);
        self.left -= bytes.len() as u64;
        if is_cut {
            told.push(format!("{path}: only the first {most} bytes were read"));
        }
        Some(Bytes { bytes, is_cut })
    }

    /// Opens a regular file, if it can be the process's.
    fn open_own(&self, path: &Path, process: &ArenaHeader, told: &mut Vec<String>) -> Option<File> {
        let file = open_to_read(path).ok()?;
        let metadata = file.metadata().ok()?;
        let seconds = u64::try_from(metadata.mtime()).ok()?;
        let nanoseconds = u64::try_from(metadata.mtime_nsec()).ok()?;
        let written_ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
        let end_ns = process.end_ns.checked_sub(process.start_ns);
        let is_later = end_ns.is_some_and(|lived_ns| {
            let end_ns = process.start_unix_ns.saturating_add(lived_ns);
            written_ns > end_ns.saturating_add(LATEST_NS)
        });
        // Of a process that had the same id before, or has it now.
        if written_ns.saturating_add(TICK_NS) < process.start_unix_ns || is_later {
            return None;
        }
        if !self.is_trusted(process, metadata.uid()) {
            let text = format!("{}: belongs to somebody else and was not read", path.display());
            if !told.contains(&text) {
                told.push(text);
            }
            return None;
        }
        Some(file)
    }
}

/// What was read of a file.
struct Bytes {
    bytes: Vec<u8>,
    /// Whether there is more.
    is_cut: bool,
}

/// How long the process's map was when the collector told of it last. One that is shorter is
/// another process's.
fn length_told(process: u32, log: &[(u64, LogRecord)]) -> u64 {
    let mut lengths = log.iter().filter_map(|(_, record)| match record {
        LogRecord::PerfMap { pid, length } if *pid == process => Some(*length),
        _ => None,
    });
    lengths.next_back().unwrap_or(0)
}

/// Makes blank what an earlier process with the same id has left in a map that was appended to. One
/// that was written anew has other bytes in that place: addresses are random. Of one that is cut
/// off before that place, nothing counts.
fn blank_earlier(text: &mut [u8], log: &[(u64, LogRecord)], is_cut: bool) {
    let earlier = log.iter().find_map(|(_, record)| match record {
        LogRecord::Temporary { tail, length, .. } if !tail.is_empty() => Some((tail, *length)),
        _ => None,
    });
    let Some((tail, length)) = earlier else { return };
    let end = usize::try_from(length).unwrap_or(usize::MAX);
    let is_before = is_cut && end > text.len();
    let end = if is_before { text.len() } else { end };
    let earlier = text.get_mut(..end);
    if let Some(earlier) = earlier.filter(|earlier| is_before || earlier.ends_with(tail)) {
        // Lines keep their numbers.
        earlier.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
}

impl NameFiles for RunFiles<'_> {
    fn of(
        &mut self,
        process: &ArenaHeader,
        log: &[(u64, LogRecord)],
    ) -> (Arc<[NameFile]>, Vec<String>) {
        let mut told = Vec::new();
        let key = (process.pid, process.start_ns);
        if let Some(files) = self.known.get(&key) {
            return (Arc::clone(files), told);
        }
        let mut files = self.jitdumps(process, log, &mut told);
        files.extend(self.perf_map(process, log, &mut told));
        let files: Arc<[NameFile]> = files.into();
        self.known.insert(key, Arc::clone(&files));
        (files, told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_process_has_left_in_a_map_is_no_entry() {
        let log = |tail: &[u8], length| {
            [(1, LogRecord::Temporary { device: 1, inode: 2, tail: tail.to_vec(), length })]
        };
        let blanked_of = |tail: &[u8], length, is_cut| {
            let mut text = b"10 1 a\n20 1 b\n".to_vec();
            blank_earlier(&mut text, &log(tail, length), is_cut);
            String::from_utf8(text).unwrap()
        };
        let blanked = |tail: &[u8], length| blanked_of(tail, length, false);
        assert_eq!(blanked(b"1 a\n", 7), "      \n20 1 b\n");
        // Written anew; shorter by now; none before.
        assert_eq!(blanked(b"1 x\n", 7), "10 1 a\n20 1 b\n");
        assert_eq!(blanked(b"1 b\n", 700), "10 1 a\n20 1 b\n");
        assert_eq!(blanked(b"", 7), "10 1 a\n20 1 b\n");
        // Cut off before where the earlier process's part ends, and behind.
        assert_eq!(blanked_of(b"1 b\n", 700, true), "      \n      \n");
        assert_eq!(blanked_of(b"1 a\n", 7, true), "      \n20 1 b\n");
    }
}
