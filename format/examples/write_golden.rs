//! Writes the golden files: `cargo run -p csprof-format --example write_golden -- FOLDER`.
//!
//! Refuses to touch a file that is there: what one version wrote stays as it is.

use std::path::Path;
use std::process::ExitCode;

use csprof_format::write;

#[path = "../tests/sample.rs"]
mod sample;

#[expect(clippy::print_stderr, reason = "a program for the command line")]
fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: write_golden FOLDER");
        return ExitCode::from(2);
    };
    let mut status = ExitCode::SUCCESS;
    let profiles = [
        ("small.csprof", sample::profile()),
        ("metrics.csprof", sample::of_two_metrics()),
        ("loops.csprof", sample::of_loops()),
        ("files.csprof", sample::of_files()),
        ("stages.csprof", sample::of_stages()),
        ("sources.csprof", sample::of_sources()),
        ("times.csprof", sample::of_times()),
        ("phases.csprof", sample::of_phases()),
        ("outside.csprof", sample::of_outside()),
        ("sums.csprof", sample::of_sums()),
        ("earlier.csprof", sample::of_earlier()),
    ];
    for (name, profile) in profiles {
        if let Err(error) = write::save_new(&profile, &Path::new(&folder).join(name)) {
            eprintln!("write_golden: {error}");
            status = ExitCode::FAILURE;
        }
    }
    status
}
