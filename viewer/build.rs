//! Builds the collector and hands its path to `include_bytes!`, so that one `csprof` file is
//! complete by itself.
//!
//! The collector is a shared library with a profile of its own (no unwinding, whole-program
//! optimization), whatever profile the viewer is built in. Cargo cannot express that as a
//! dependency, so a second `cargo build` runs here, in a target folder of its own. It must not see
//! what the outer build set up for itself: wrappers (clippy is one), flags
//! (`-C instrument-coverage` would put a runtime into other people's programs), the job server.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, exit};

/// What the nested build reads; a change in any of it rebuilds the collector.
const SOURCES: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "collector/Cargo.toml",
    "collector/build.rs",
    "collector/src",
    "format/Cargo.toml",
    "format/src",
];

fn main() {
    let manifest_dir = PathBuf::from(required("CARGO_MANIFEST_DIR"));
    let Some(workspace) = manifest_dir.parent() else {
        fail("viewer/ has no parent folder, so the collector's sources cannot be found beside it");
    };
    // Only paths that exist: cargo runs this script every time if one is missing. Relative ones, so
    // that a copy of checkout and build folder does not watch the original.
    for source in SOURCES.iter().filter(|source| workspace.join(source).exists()) {
        println!("cargo::rerun-if-changed=../{source}");
    }
    println!("cargo::rerun-if-changed=build.rs");

    let collector = build_collector(workspace);
    println!("cargo::rustc-env=CSPROF_EMBEDDED_COLLECTOR={}", collector.display());
}

fn build_collector(workspace: &Path) -> PathBuf {
    let target = required("TARGET");
    let out_dir = PathBuf::from(required("OUT_DIR"));
    let target_dir = collector_target_dir(&out_dir);

    // The outer build has downloaded what both need, so the network is asked only where that is
    // not so (a collector dependency that the viewer does without).
    let mut output = cargo(workspace, &target, &target_dir, true);
    if !output.status.success() {
        output = cargo(workspace, &target, &target_dir, false);
    }
    if !output.status.success() {
        fail(&format!(
            "the collector did not build ({}):\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }

    // A copy, because another build of the viewer may renew the original while this one reads it;
    // left alone if it is right, so that nothing is compiled again for its sake.
    let library = target_dir.join(target).join("collector").join("libcsprof_collector.so");
    let copy = out_dir.join("libcsprof_collector.so");
    let bytes = fs::read(&library)
        .unwrap_or_else(|error| fail(&format!("cannot read {}: {error}", library.display())));
    if !fs::read(&copy).is_ok_and(|present| present == bytes) {
        // A file of its own: a copied build folder may share the old one by a hard link.
        let _ = fs::remove_file(&copy);
        if let Err(error) = fs::write(&copy, bytes) {
            fail(&format!("cannot write {}: {error}", copy.display()));
        }
    }
    copy
}

/// Cargo puts `OUT_DIR` at `<target>/<profile>/build/<package>/out`. One folder beside the profiles
/// serves check, test and release builds alike; cargo locks it while it is in use. Where the layout
/// is another, a folder in `OUT_DIR` does.
fn collector_target_dir(out_dir: &Path) -> PathBuf {
    match (out_dir.ancestors().nth(2), out_dir.ancestors().nth(4)) {
        (Some(build), Some(target)) if build.ends_with("build") => target.join("collector-build"),
        _ => out_dir.join("collector-build"),
    }
}

/// Runs the nested build. `--target` is always given, so that the place of the result does not
/// depend on a `build.target` in somebody's cargo configuration.
fn cargo(workspace: &Path, target: &OsString, target_dir: &Path, offline: bool) -> Output {
    let mut command = Command::new(required("CARGO"));
    command
        .current_dir(workspace)
        .args(["build", "--package", "csprof-collector", "--lib", "--profile", "collector"])
        .arg("--target")
        .arg(target)
        .arg("--target-dir")
        .arg(target_dir);
    if workspace.join("Cargo.lock").is_file() {
        command.arg("--locked");
    }
    if offline {
        command.arg("--offline");
    }
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(belongs_to_outer_build) {
            command.env_remove(&name);
        }
    }
    match command.output() {
        Ok(output) => output,
        Err(error) => fail(&format!("cannot run cargo for the collector: {error}")),
    }
}

/// Whether an environment variable was set for the outer build alone. What describes the machine
/// stays: `CARGO_HOME`, network and registry settings, the linker for a target.
fn belongs_to_outer_build(name: &str) -> bool {
    const KEPT: [&str; 7] = [
        "CARGO_HOME",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTRIES_",
        "CARGO_REGISTRY_",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    const DROPPED: [&str; 9] = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "MAKEFLAGS",
        "MFLAGS",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
        "LLVM_PROFILE_FILE",
    ];
    let is_linker = name.starts_with("CARGO_TARGET_") && name.ends_with("_LINKER");
    let is_kept = is_linker || KEPT.iter().any(|kept| name.starts_with(kept));
    (name.starts_with("CARGO_") && !is_kept) || DROPPED.contains(&name)
}

fn required(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| fail(&format!("cargo did not set {name}")))
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    exit(1)
}
