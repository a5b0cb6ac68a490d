//! The collector as a library of its own, as programs find it preloaded.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The library as it is shipped: built with its own profile, which does not unwind.
pub(crate) fn collector() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        const TARGET: &str = "x86_64-unknown-linux-gnu";
        let folder = scratch().parent().unwrap().join("collector-build");
        let mut cargo = Command::new(env!("CARGO"));
        // Nothing of what the outer build set up for itself, and no profiler.
        cargo.env_clear();
        for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            cargo.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let built = cargo
            .args(["build", "-q", "--package", "csprof-collector", "--lib"])
            .args(["--profile", "collector", "--target", TARGET, "--target-dir"])
            .arg(&folder)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        folder.join(TARGET).join("collector/libcsprof_collector.so")
    })
}

/// Where tests may put what they make.
pub(crate) fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}
