//! What the process says of code that it generates: its perf map and its jitdump file.
//!
//! Setup side. `csprof record` reads both, after the process has ended; here is noted what it
//! cannot know by then: how long the map was when an epoch ended, where the jitdump file is, and
//! the map itself, which may be in another `/tmp` than the reader's, or be removed. Without a map,
//! all of it costs two system calls for each epoch, and five for each fork and at the start. At
//! the end of a process, nothing is done unless a sample met code outside all load modules.

use alloc::ffi::CString;
use alloc::format;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use csprof_format::arena::{LogRecord, PERF_MAP_SUFFIX, TAIL};

use crate::process::{self, Process};
use crate::sys;

/// Largest map that is copied, in bytes: the copy is in memory.
const MOST_COPIED: u64 = 64 << 20;

fn map_of(pid: u32) -> Option<CString> {
    CString::new(format!("/tmp/perf-{pid}.map")).ok()
}

/// How long the present process's map is; `None` if it has none.
fn length() -> Option<u64> {
    map_of(sys::pid()).and_then(|path| sys::file_size(&path))
}

/// To be called at the start, before the first epoch. A forked child's parent, or the program that
/// was executed before, may have another map.
pub fn at_start() {
    let tail = map_of(sys::pid()).and_then(|path| tail_of(&path));
    note_temporary(tail.unwrap_or_default());
}

/// Where the process has its `/tmp`, and the end of a map that was there.
fn note_temporary((tail, length): (Vec<u8>, u64)) {
    if let Some((device, inode)) = sys::folder_identity(c"/tmp") {
        process::log(&LogRecord::Temporary { device, inode, tail, length });
    }
}

/// The last bytes of a file, and where they end. Whoever owns the path may put anything there.
fn tail_of(path: &CStr) -> Option<(Vec<u8>, u64)> {
    let file = sys::OwnFile::open(path, 0)?;
    let mut tail = [0; TAIL];
    let start = file.identity.size.saturating_sub(TAIL as u64);
    let read = file.read(start, &mut tail);
    Some((tail.get(..read)?.to_vec(), start + read as u64))
}

/// To be called when an epoch ends.
pub fn at_epoch() {
    if let Some(length) = length() {
        process::log(&LogRecord::PerfMap { pid: sys::pid(), length });
    }
}

/// Length of the map at the fork that is under way; [`NO_MAP`] if there is none.
static AT_FORK: AtomicU64 = AtomicU64::new(NO_MAP);
const NO_MAP: u64 = u64::MAX;

/// To be called before a fork, by the parent: it may go on writing before its child looks.
pub fn before_fork() {
    // Relaxed, here and below: locks are held over a fork, and the child has one thread.
    AT_FORK.store(length().unwrap_or(NO_MAP), Ordering::Relaxed);
}

/// To be called in the child of a fork, which goes on with its parent's code.
pub fn after_fork() {
    COPIED.store(NOT_YET, Ordering::Relaxed);
    let length = AT_FORK.load(Ordering::Relaxed);
    if length != NO_MAP {
        process::log(&LogRecord::PerfMap { pid: sys::parent_pid(), length });
    }
    at_start();
}

/// How long the map was when it was copied; [`NO_MAP`] if there was none.
static COPIED: AtomicU64 = AtomicU64::new(NOT_YET);
const NOT_YET: u64 = NO_MAP - 1;

/// To be called before an exec, and at the end. `has_generated` is whether a sample met generated
/// code.
pub fn at_end(process: &Process, has_generated: bool) {
    if !has_generated {
        return;
    }
    let pid = sys::pid();
    // A program may try to execute another one again and again.
    let length = length().unwrap_or(NO_MAP);
    if COPIED.swap(length, Ordering::Relaxed) == length {
        return;
    }
    note_temporary((Vec::new(), 0));
    if let Some(map) = map_of(pid) {
        process.arena.copy_beside(&map, PERF_MAP_SUFFIX, MOST_COPIED);
    }
    note_jitdumps(pid);
}

/// Notes which mapped files are the process's jitdumps: writers map a page of theirs, executable,
/// so that profilers see where they are.
fn note_jitdumps(pid: u32) {
    let name = format!("/jit-{pid}.dump");
    let maps = sys::read_file(c"/proc/self/maps").unwrap_or_default();
    let mut noted: Vec<&[u8]> = Vec::new();
    for line in maps.split(|byte| *byte == b'\n').filter(|line| line.ends_with(name.as_bytes())) {
        let path = line.iter().position(|byte| *byte == b'/').and_then(|at| line.get(at..));
        let Some(path) = path.filter(|path| !noted.contains(path)) else { continue };
        noted.push(path);
        process::log(&LogRecord::Jitdump(path.to_vec()));
    }
}
