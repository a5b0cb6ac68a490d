//! Names of code that sampled processes generated: their perf maps, as they see `/tmp`.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use csprof_format::arena::{ArenaHeader, LogRecord};
use nix::fcntl::OFlag;
use nix::unistd::Uid;

use super::process::status_field;
use crate::launch;
use crate::launch::generated::{Content, NameFile, NameFiles};

/// Most bytes that are read of one file.
const MOST_BYTES: u64 = 256 << 20;

/// Perf maps of processes that run, or have just ended.
#[derive(Debug)]
pub(super) struct ProcessFiles;

impl NameFiles for ProcessFiles {
    fn of(
        &mut self,
        process: &ArenaHeader,
        _: &[(u64, LogRecord)],
    ) -> (Arc<[NameFile]>, Vec<String>) {
        let found: Vec<NameFile> = perf_map(process).into_iter().collect();
        (found.into(), Vec::new())
    }
}

/// The file of a process that runs. One that has ended may have had another `/tmp`, and its id may
/// be another's by now.
fn perf_map(process: &ArenaHeader) -> Option<NameFile> {
    if process.end_ns > 0 {
        return None;
    }
    // Its id where it is.
    let own = status_field(process.pid, "NSpid")?;
    let name = format!("/tmp/perf-{own}.map");
    let place = PathBuf::from(format!("/proc/{}/root{name}", process.pid));
    let user = launch::process::user(process.pid)?;
    let file = open(&place)?;
    let owner = file.metadata().ok().filter(fs::Metadata::is_file)?.uid();
    // Anybody may write to `/tmp`.
    if ![0, user, Uid::effective().as_raw()].contains(&owner) {
        return None;
    }
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    // What it is about to write is no entry.
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    text.truncate(end);
    Some(NameFile { path: name, content: Content::PerfMap(text) })
}

fn open(place: &PathBuf) -> Option<File> {
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits();
    OpenOptions::new().read(true).custom_flags(flags).open(place).ok()
}
