//! What csprof says of the addresses of a file, to be compared with addr2line(1) and the like.
//!
//! `cargo run -p csprof --example addresses -- FILE < ADDRESSES` reads one hexadecimal ELF virtual
//! address in each line, and writes for each the functions there, innermost first, each with the
//! line being executed on a line of its own, and then an empty line.

use std::io::{self, BufRead as _, Write as _};
use std::ops::ControlFlow;

use csprof::symbols::files::DiskFiles;
use csprof::symbols::resolve;
use csprof_format::address::FrameKind;
use csprof_format::ids::{FrameId, ModuleId, StringId};
use csprof_format::profile::{Frame, Module, Profile, RunInfo, SymbolSource};
use object::Object as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: addresses FILE < ADDRESSES")?;
    let path = std::fs::canonicalize(path)?.to_string_lossy().into_owned();
    let bytes = std::fs::read(&path)?;
    let build_id = object::File::parse(&*bytes)?.build_id()?.unwrap_or_default().to_vec();
    let mut frames = Vec::new();
    for line in io::stdin().lock().lines() {
        let offset = u64::from_str_radix(line?.trim().trim_start_matches("0x"), 16)?;
        frames.push(Frame { kind: FrameKind::Leaf, module: Some(ModuleId(0)), offset });
    }
    let run = RunInfo { directory: b"/".to_vec(), start_unix_ns: u64::MAX, ..RunInfo::default() };
    let mut profile = Profile {
        run,
        strings: vec![path.into()],
        modules: vec![Module { path: StringId(0), build_id, symbols: SymbolSource::NotAsked }],
        frames,
        ..Profile::default()
    };
    let files = DiskFiles::from_environment(&[]);
    for warning in resolve(&mut profile, &files, |_, _| ControlFlow::Continue(())) {
        writeln!(io::stderr(), "{warning}")?;
    }
    let text = |id: StringId| &*profile.strings[id.index()];
    let mut out = io::BufWriter::new(io::stdout().lock());
    for frame in 0..profile.frames.len() {
        for row in profile.sites.rows(FrameId::from_index(frame)).rev() {
            let function = &profile.functions[profile.sites.function[row].index()];
            let file = profile.sites.file[row].map_or("??", text);
            writeln!(out, "{}\n{file}:{}", text(function.name), profile.sites.line[row])?;
        }
        writeln!(out)?;
    }
    Ok(())
}
