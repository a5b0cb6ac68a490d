//! `record --phase-at FUNCTION`: which functions are meant, in the program and the libraries that
//! it needs. Nothing of the program runs for that.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use csprof_format::launch::{MOST_PHASE_FUNCTIONS, PHASE_FUNCTION_NAME, PhaseFunction};

use crate::launch::check;
use crate::profile::short_name;
use crate::refine::{Glob, NameGlob, NameTable, nearest};
use crate::symbols::files::DiskFiles;
use crate::symbols::functions::{FileFunctions, NamedFunction, functions_of};

/// What somebody asked for: `solve`, `libsolver.so*:solve`, `./plugin.so:solve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AskedFunction {
    /// Which modules it may be in.
    module: Option<String>,
    /// A glob over names.
    name: String,
}

/// Reads one.
///
/// # Errors
/// What it looks like.
pub(super) fn parse(text: &str) -> Result<AskedFunction, String> {
    let is_one = |&(at, _): &(usize, &str)| {
        let bytes = text.as_bytes();
        at > 0 && bytes.get(at - 1) != Some(&b':') && bytes.get(at + 1) != Some(&b':')
    };
    let colon = text.match_indices(':').find(is_one);
    let (module, name) = match colon {
        Some((at, _)) => (Some(text[..at].to_owned()), &text[at + 1..]),
        None => (None, text),
    };
    match name.trim_matches(':').is_empty() {
        true => Err("say which function: FUNCTION or MODULE:FUNCTION".to_owned()),
        false => Ok(AskedFunction { module, name: name.to_owned() }),
    }
}

/// A file in which functions are looked for.
struct SearchedFile {
    path: PathBuf,
    found: FileFunctions,
}

/// Finds the functions that are meant.
///
/// # Errors
///
/// When one is not there, or more are meant than there are breakpoints.
pub(super) fn find(asked: &[AskedFunction], program: &OsStr) -> Result<Vec<PhaseFunction>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let executable = check::check(program)?.executable;
    let files = DiskFiles::from_environment(&[]);
    let read = |path: &Path| {
        let found =
            functions_of(path, &files).map_err(|why| anyhow!("{}: {why}", path.display()))?;
        Ok::<_, anyhow::Error>(SearchedFile { path: path.to_path_buf(), found })
    };
    let program = read(&executable).context("--phase-at")?;
    let needed = needed_by(&program);
    let mut libraries = Vec::new();
    // What cannot be read has no function that is found.
    libraries.extend(needed.iter().filter_map(|path| read(path).ok()));
    let mut wanted: Vec<PhaseFunction> = Vec::new();
    for asked in asked {
        let own;
        let searched: Vec<&SearchedFile> = match &asked.module {
            // A file that is loaded later.
            Some(module) if module.contains('/') => {
                let path = std::fs::canonicalize(module);
                let path = path.with_context(|| format!("--phase-at {module}"))?;
                own = read(&path).context("--phase-at")?;
                vec![&own]
            }
            Some(module) => {
                let glob = Glob::new(module);
                let all = std::iter::once(&program).chain(&libraries);
                all.filter(|file| glob.matches_path(&file.path.to_string_lossy())).collect()
            }
            None => std::iter::once(&program).chain(&libraries).collect(),
        };
        for function in meant(asked, &searched)? {
            if !wanted.contains(&function) {
                wanted.push(function);
            }
        }
    }
    if wanted.len() > MOST_PHASE_FUNCTIONS {
        let names: Vec<_> = wanted.iter().map(|function| &*function.name).take(8).collect();
        bail!(
            "--phase-at: {} functions are meant ({}), and a processor has {MOST_PHASE_FUNCTIONS} \
             breakpoints; name fewer",
            wanted.len(),
            names.join(", ")
        );
    }
    Ok(wanted)
}

/// The functions that are meant, of the first of these files that has one.
fn meant(asked: &AskedFunction, searched: &[&SearchedFile]) -> Result<Vec<PhaseFunction>> {
    let AskedFunction { module, name } = asked;
    let glob = NameGlob::new(name);
    for file in searched {
        let functions = &file.found.functions;
        let names = functions.iter().map(|function| &*function.name);
        let table = NameTable::of(names);
        let is_meant = |&(number, function): &(usize, &NamedFunction)| {
            table.matches(number, &function.name, &glob, || false)
        };
        let of_file = functions.iter().enumerate().filter(is_meant).map(|(_, function)| function);
        let (indirect, mut meant): (Vec<&NamedFunction>, Vec<_>) =
            of_file.partition(|function| function.is_indirect);
        // Of several names of one function, the one that is asked for word by word.
        meant.sort_by_key(|function| (function.address, function.name != *name));
        meant.dedup_by_key(|function| function.address);
        if let (Some(indirect), true) = (indirect.first(), meant.is_empty()) {
            bail!(
                "--phase-at {name}: {} of {} only chooses one of several functions when the program \
                 starts; name one of these",
                indirect.name,
                file.path.display()
            );
        }
        if !meant.is_empty() {
            let module = &file.found.module;
            return Ok(meant.into_iter().map(|function| wanted(function, module)).collect());
        }
    }
    let all = searched.iter().flat_map(|file| &file.found.functions);
    let near = match nearest(name, all.map(|function| &*function.name)).as_slice() {
        [] => String::new(),
        near => format!("; near: {}", near.join(", ")),
    };
    let place = match (module, searched) {
        (Some(module), []) => {
            bail!(
                "--phase-at {module}:{name}: the program needs no such library; a path leads to others"
            )
        }
        (_, [only]) => only.path.display().to_string(),
        (_, [program, libraries @ ..]) => {
            format!(
                "{} and the {} libraries that it needs",
                program.path.display(),
                libraries.len()
            )
        }
        (None, []) => "the program".to_owned(),
    };
    bail!(
        "--phase-at {name}: no function of this name in {place}{near}; one that is inlined everywhere \
         has no entry, and one of a library that is loaded later is named with its file, \
         ./libx.so:{name}"
    )
}

fn wanted(function: &NamedFunction, module: &csprof_format::launch::ModuleKey) -> PhaseFunction {
    let short = short_name(&function.name);
    let clean = short.replace(|letter: char| letter.is_control(), " ");
    let mut end = clean.len().min(PHASE_FUNCTION_NAME);
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    let name = clean[..end].to_owned();
    PhaseFunction { address: function.address, module: module.clone(), name }
}

/// The libraries that the program's own loader finds for it, in the order of loading. None where
/// that does not say.
fn needed_by(program: &SearchedFile) -> Vec<PathBuf> {
    let Some(loader) = &program.found.loader else { return Vec::new() };
    let listed = Command::new(loader).arg("--list").arg(&program.path).output();
    let Ok(listed) = listed else { return Vec::new() };
    listed_paths(&String::from_utf8_lossy(&listed.stdout))
}

/// The paths in what `ld.so --list` prints: `libm.so.6 => /lib/libm.so.6 (0x00007f…)`.
fn listed_paths(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let path = line.split_once(" => ").map_or(line, |(_, path)| path);
        let path = path.rsplit_once(" (")?.0.trim();
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_functions_are_told_apart() {
        for (text, module, name) in [
            ("solve", None, "solve"),
            ("ns::solve*", None, "ns::solve*"),
            ("libm.so.6:cos", Some("libm.so.6"), "cos"),
            ("./plugin.so:ns::step", Some("./plugin.so"), "ns::step"),
        ] {
            let module = module.map(str::to_owned);
            assert_eq!(parse(text), Ok(AskedFunction { module, name: name.to_owned() }));
        }
        for wrong in ["", ":", "libm.so.6:", "::"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn paths_are_read_from_the_loaders_list() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibm.so.6 => /lib/my libs/libm.so.6 (0x7f)\n\
                    \tlibx.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/my libs/libm.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(listed_paths(text), expected.map(PathBuf::from));
    }

    #[test]
    fn functions_are_found_and_others_refused_with_what_is_near() {
        let program = std::env::current_exe().unwrap();
        let find = |text: &str| find(&[parse(text).unwrap()], program.as_os_str());
        let own = "functions_are_found_and_others_refused_with_what_is_near";
        let found = find(own).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].name.ends_with(own));
        // Of the C library, which the program needs.
        assert_eq!(find("libc.so*:getenv").unwrap()[0].name, "getenv");
        let error = |text: &str| find(text).unwrap_err().to_string();
        let unknown = error("functions_are_fuond_and_others_refused_with_what_is_near");
        assert!(
            unknown.contains(&format!("near: csprof::cli::phase_at::tests::{own}")),
            "{unknown}"
        );
        assert!(error("no-such-library.so:f").contains("needs no such library"));
        assert!(error("csprof::*").contains("breakpoints; name fewer"));
        assert!(error("libc.so*:strlen").contains("only chooses"));
    }
}
