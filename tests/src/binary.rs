//! The csprof under test: the binary that `cargo build` makes of this workspace, in the profile in
//! which the tests themselves were built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// The path of csprof. Cargo tells a test only of binaries in its own package, so it is asked
/// again, once per run. It is asked for the whole workspace and one of its tests, for which it
/// chooses the features of dependencies as `cargo test --workspace` does: where that has just built
/// csprof, there is nothing left to do. With features of its own, csprof would be built a second
/// time. (For a benchmark the test is built in vain.)
#[must_use]
pub fn csprof() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = profile_folder();
        // The folder of the profile `dev` has an older name.
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let built = Command::new(env!("CARGO"))
            .args(["build", "--workspace", "--bin", "csprof", "--test", "system"])
            .args(["--profile", profile])
            .args(["--quiet", "--message-format", "json-render-diagnostics"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        String::from_utf8(built.stdout)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|message| message["target"]["name"] == "csprof")
            .find_map(|message| message["executable"].as_str().map(PathBuf::from))
            .expect("cargo names the executable")
    })
}

/// `target/debug`, where this very test is `target/debug/deps/system-…`.
pub(crate) fn profile_folder() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_path_buf()
}
