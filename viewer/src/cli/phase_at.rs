//! `record --phase-at FUNCTION`: which functions are meant, in the program and the libraries that
//! it needs. Nothing of the program runs for that.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use csprof_format::launch::{MOST_PHASE_FUNCTIONS, ModuleKey, PHASE_FUNCTION_NAME, PhaseFunction};

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

/// A function that is meant.
#[derive(Clone, Debug)]
struct Wanted {
    address: u64,
    module: ModuleKey,
    /// With arguments and template arguments.
    name: String,
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
    let mut wanted: Vec<Wanted> = Vec::new();
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
            let is_same = |known: &Wanted| {
                known.address == function.address && known.module == function.module
            };
            if !wanted.iter().any(is_same) {
                wanted.push(function);
            }
        }
    }
    if wanted.len() > MOST_PHASE_FUNCTIONS {
        let names: Vec<_> = wanted.iter().map(|function| short_name(&function.name)).collect();
        let names = names.get(..8).unwrap_or(&names);
        bail!(
            "--phase-at: {} functions are meant ({}), and a processor has {MOST_PHASE_FUNCTIONS} \
             breakpoints; name fewer",
            wanted.len(),
            names.join(", ")
        );
    }
    let names = names(&wanted);
    let named = |(Wanted { address, module, .. }, name)| PhaseFunction { address, module, name };
    Ok(wanted.into_iter().zip(names).map(named).collect())
}

/// The functions that are meant, of the first of these files that has one.
fn meant(asked: &AskedFunction, searched: &[&SearchedFile]) -> Result<Vec<Wanted>> {
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
            let wanted = |function: &NamedFunction| Wanted {
                address: function.address,
                module: file.found.module.clone(),
                name: function.name.clone(),
            };
            return Ok(meant.into_iter().map(wanted).collect());
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

/// What the phases of these functions are called, before their numbers: each another name, for
/// phases of one name are one phase. Short ones where they are enough, else with arguments and
/// template arguments; and with the address where that is not enough either, as of static
/// functions.
fn names(functions: &[Wanted]) -> Vec<String> {
    let mut names: Vec<String> =
        functions.iter().map(|function| line(&short_name(&function.name), "")).collect();
    let full: Vec<String> = functions.iter().map(|function| line(&function.name, "")).collect();
    replace_equal(&mut names, &full);
    let at = |number: usize, function: &Wanted| {
        // Of two modules, functions may have one address.
        let before = functions.iter().take(number);
        let equal = before.filter(|before| before.address == function.address).count();
        let module = if equal > 0 { format!(".{equal}") } else { String::new() };
        line(&function.name, &format!(" at {:#x}{module}", function.address))
    };
    let placed: Vec<String> =
        functions.iter().enumerate().map(|(number, function)| at(number, function)).collect();
    replace_equal(&mut names, &placed);
    names
}

/// Names that are there more than once get longer ones.
fn replace_equal(names: &mut [String], longer: &[String]) {
    let before = names.to_vec();
    for (name, longer) in names.iter_mut().zip(longer) {
        if before.iter().filter(|other| *other == name).count() > 1 {
            name.clone_from(longer);
        }
    }
}

/// A name in one line, as long as may be, with this behind it.
fn line(name: &str, behind: &str) -> String {
    let clean = name.replace(|letter: char| letter.is_control(), " ");
    let mut end = clean.len().min(PHASE_FUNCTION_NAME.saturating_sub(behind.len()));
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{behind}", &clean[..end])
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
    fn phases_of_several_functions_have_names_of_their_own() {
        let names = |functions: &[(&str, u64)]| {
            let wanted = |&(name, address): &(&str, u64)| {
                let module = ModuleKey::BuildId(vec![1]);
                Wanted { address, module, name: name.to_owned() }
            };
            names(&functions.iter().map(wanted).collect::<Vec<_>>())
        };
        let overloads = [("ns::solve(int)", 1), ("ns::solve(double)", 2), ("ns::step(int)", 3)];
        assert_eq!(names(&overloads), ["ns::solve(int)", "ns::solve(double)", "ns::step"]);
        let statics = [("solve", 0x10), ("solve", 0x20), ("solve", 0x20)];
        assert_eq!(names(&statics), ["solve at 0x10", "solve at 0x20", "solve at 0x20.1"]);
        let long = "f".repeat(2 * PHASE_FUNCTION_NAME);
        let names = names(&[(&long, 0x10), (&long, 0x20)]);
        assert!(names[1].ends_with("f at 0x20") && names[1].len() == PHASE_FUNCTION_NAME);
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
        // One that chooses among others, which have names where there is debug information.
        let chosen = error("libc.so*:strlen");
        let is_told = chosen.contains("only chooses") || chosen.contains("name fewer");
        assert!(is_told, "{chosen}");
    }
}
