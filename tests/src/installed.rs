//! Tools that are not on every machine. A test that needs one that is missing says so and is
//! skipped.

use std::path::PathBuf;
use std::process::Command;

use crate::notes::skip;

/// Whether all of `tools` are in `PATH`; otherwise the test is [skipped](skip).
#[must_use]
pub fn are_installed(test: &str, tools: &[&str]) -> bool {
    let missing: Vec<&str> = tools.iter().copied().filter(|tool| find(tool).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    skip(test, &format!("{} not installed", missing.join(", ")));
    false
}

/// Whether strace is here, and may trace: yama or a container's seccomp may forbid it. Otherwise
/// the test is [skipped](skip).
#[must_use]
pub fn can_trace(test: &str) -> bool {
    if !are_installed(test, &["strace"]) {
        return false;
    }
    let probe = Command::new("strace").args(["-o", "/dev/null", "true"]).output().unwrap();
    if !probe.status.success() {
        skip(test, String::from_utf8_lossy(&probe.stderr).trim());
    }
    probe.status.success()
}

/// The path of a tool in `PATH`.
#[must_use]
pub fn find(tool: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(tool)).find(|path| path.is_file())
}
