//! Tools that are not on every machine. A test that needs one that is missing says so and is
//! skipped.

use std::path::PathBuf;

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

/// The path of a tool in `PATH`.
#[must_use]
pub fn find(tool: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(tool)).find(|path| path.is_file())
}
