//! Writes the golden file: `cargo run -p csprof-format --example write_golden -- FILE`.
//!
//! Refuses to touch a file that is there: what one version wrote stays as it is.

use std::path::Path;
use std::process::ExitCode;

#[path = "../tests/sample.rs"]
mod sample;

#[expect(clippy::print_stderr, reason = "a program for the command line")]
fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: write_golden FILE");
        return ExitCode::from(2);
    };
    match csprof_format::write::save_new(&sample::profile(), Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("write_golden: {error}");
            ExitCode::FAILURE
        }
    }
}
