//! Checks, before anything runs, whether a program can be started and profiled, so that the answer
//! is one clear line.
//!
//! Preloading is done by the dynamic loader of glibc on x86-64. A program that does not start with
//! it ([`Obstacle`](csprof_format::program::Obstacle)) or that makes it ignore `LD_PRELOAD`
//! (set-user-id, see "secure-execution mode" in ld.so(8)) runs, but is not profiled. Scripts are
//! followed to their interpreter as execve(2) does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use csprof_format::launch::{LEAST_ADDRESS_SPACE, LEAST_DATA};
use csprof_format::program::{HEAD_BYTES, MAX_INTERPRETERS, Program, look};
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{AccessFlags, Gid, Uid, eaccess};

/// Why a program cannot be started. Each is one sentence about one file.
#[derive(Debug)]
pub enum CannotStart {
    /// No file of this name in `PATH`, or no such file.
    NotFound(OsString),
    /// The file at this path cannot be executed or read; the text says why.
    NotExecutable(PathBuf, String),
}

impl fmt::Display for CannotStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(name) if name.as_bytes().contains(&b'/') => {
                write!(f, "{}: there is no such file", name.display())
            }
            Self::NotFound(name) => {
                write!(f, "{}: not found in any folder of PATH", name.display())
            }
            Self::NotExecutable(path, why) => {
                write!(f, "{}: cannot be executed: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for CannotStart {}

/// A program that can be started.
#[derive(Debug)]
pub struct Startable {
    /// The path to execute.
    pub path: PathBuf,
    /// What the kernel executes for it: of a script, its interpreter.
    pub executable: PathBuf,
    /// Why it will not be profiled, if so.
    pub unprofiled: Option<Unprofiled>,
}

/// A file that runs, but without the collector.
#[derive(Debug)]
pub struct Unprofiled {
    /// The program, or the interpreter of a script.
    pub file: PathBuf,
    /// A clause about it.
    pub why: String,
    /// Whether preloading does nothing there, so that the programs that it starts can be profiled.
    pub ignores_preloading: bool,
}

impl fmt::Display for Unprofiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let started = if self.ignores_preloading { "; programs that it starts are" } else { "" };
        write!(f, "{} is not profiled: {}{started}", self.file.display(), self.why)
    }
}

/// Finds `program` as execvp(3) does and checks whether the collector can be preloaded into it.
///
/// # Errors
///
/// [`CannotStart`], with the reason.
pub fn check(program: &OsStr) -> Result<Startable, CannotStart> {
    let search_path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let path = find(program, &search_path)?;
    let (executable, unprofiled) = check_file(&path)?;
    Ok(Startable { path, executable, unprofiled })
}

/// The first executable file of this name in the folders of `search_path`. A name with a slash is
/// a path.
fn find(program: &OsStr, search_path: &OsStr) -> Result<PathBuf, CannotStart> {
    if program.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(program));
    }
    let mut refused = None;
    for folder in env::split_paths(search_path) {
        // An empty entry means the current folder.
        let path = Path::new(if folder.as_os_str().is_empty() { ".".as_ref() } else { &*folder })
            .join(program);
        if path.is_file() {
            if eaccess(&path, AccessFlags::X_OK).is_ok() {
                return Ok(path);
            }
            refused = Some(path);
        }
    }
    Err(match refused {
        Some(path) => CannotStart::NotExecutable(path, "permission denied".into()),
        None => CannotStart::NotFound(program.to_owned()),
    })
}

fn check_file(path: &Path) -> Result<(PathBuf, Option<Unprofiled>), CannotStart> {
    let mut path = path.to_path_buf();
    for _ in 0..=MAX_INTERPRETERS {
        let not_executable =
            |why: &dyn fmt::Display| CannotStart::NotExecutable(path.clone(), why.to_string());
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CannotStart::NotFound(path.into()));
            }
            Err(error) => return Err(not_executable(&error)),
        };
        if metadata.is_dir() {
            return Err(not_executable(&"it is a folder"));
        }
        if eaccess(&path, AccessFlags::X_OK).is_err() {
            return Err(not_executable(&"permission denied"));
        }
        let mut head = [0; HEAD_BYTES];
        let file = File::open(&path);
        let (file, length) = match file.and_then(|file| Ok((file.read_at(&mut head, 0)?, file))) {
            Ok((length, file)) => (file, length),
            // Executable but not readable: the loader decides, nothing can be said beforehand.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok((path, None));
            }
            Err(error) => return Err(not_executable(&error)),
        };
        let head = &head[..length];
        let more = |offset, to: &mut [u8]| file.read_at(to, offset).unwrap_or(0);
        match look(path.as_os_str().as_bytes(), head, more) {
            Program::Script(interpreter) => path = OsStr::from_bytes(interpreter).into(),
            Program::Closed(obstacle) => {
                let why = obstacle.explanation().into();
                let ignores_preloading = obstacle.ignores_preloading();
                let file = path.clone();
                return Ok((path, Some(Unprofiled { file, why, ignores_preloading })));
            }
            Program::Open if head.starts_with(b"#!") => {
                return Err(not_executable(&"its first line names no interpreter"));
            }
            Program::Open if head.starts_with(b"\x7fELF") => {
                let why = privileges(&metadata).or_else(limits);
                let file = path.clone();
                let unprofiled = why.map(|why| Unprofiled { file, why, ignores_preloading: false });
                return Ok((path, unprofiled));
            }
            // execvp gives a file that the kernel does not know to the shell.
            Program::Open => path = PathBuf::from("/bin/sh"),
        }
    }
    Err(CannotStart::NotExecutable(path, "too many interpreters of interpreters".into()))
}

/// What csprof is limited to, the program is, too; the collector might take what it needs.
fn limits() -> Option<String> {
    for (resource, least, what, option) in [
        (Resource::RLIMIT_AS, LEAST_ADDRESS_SPACE, "address space", "-v"),
        (Resource::RLIMIT_DATA, LEAST_DATA, "memory for data", "-d"),
    ] {
        if let Ok((limit, _)) = getrlimit(resource)
            && limit < least
        {
            return Some(format!(
                "its {what} is limited to {} KiB (ulimit {option}), and the collector may need more \
                 than that leaves; from {} KiB on it is profiled",
                limit >> 10,
                least >> 10
            ));
        }
    }
    None
}

/// In secure-execution mode the loader ignores libraries that are not in its own folders: says so
/// where it is.
fn privileges(metadata: &Metadata) -> Option<String> {
    const SET_USER_ID: u32 = 0o4000;
    const SET_GROUP_ID: u32 = 0o2000;
    const GROUP_EXECUTE: u32 = 0o0010;
    let (mode, user, group) = (metadata.mode(), metadata.uid(), metadata.gid());
    if mode & SET_USER_ID != 0 && user != Uid::current().as_raw() {
        return Some(format!("it is set-user-id (runs as user {user}), so LD_PRELOAD is ignored"));
    }
    // Without group execute permission the bit means mandatory locking, not privileges.
    let is_set_group_id = mode & SET_GROUP_ID != 0 && mode & GROUP_EXECUTE != 0;
    if is_set_group_id && group != Gid::current().as_raw() {
        return Some(format!(
            "it is set-group-id (runs as group {group}), so LD_PRELOAD is ignored"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::surroundings::is_given_away;

    /// A file of this content and mode, and what the check says about it.
    fn verdict(content: &[u8], mode: u32) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let verdict = match check(path.as_os_str()) {
            Ok(startable) => startable.unprofiled.map_or("ok".into(), |why| why.to_string()),
            Err(error) => error.to_string(),
        };
        verdict.replace(folder.path().to_str().unwrap(), "DIR")
    }

    /// An ELF file with one program header of type `program_header`, whose content is `loader`.
    fn elf(class: u8, machine: u16, program_header: u32, loader: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..4].copy_from_slice(b"\x7fELF");
        file[4] = class;
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&1u16.to_le_bytes());
        file[64..68].copy_from_slice(&program_header.to_le_bytes());
        file[72..80].copy_from_slice(&120u64.to_le_bytes());
        file[96..104].copy_from_slice(&(loader.len() as u64).to_le_bytes());
        file.extend_from_slice(loader);
        file
    }

    #[test]
    fn programs_are_judged_by_their_elf_headers() {
        const GLIBC: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
        const MUSL: &[u8] = b"/lib/ld-musl-x86_64.so.1\0";
        for (file, expected) in [
            (elf(2, 62, 3, GLIBC), "ok"),
            (
                elf(2, 62, 1, b""),
                "DIR/prog is not profiled: it is statically linked, so no dynamic loader runs; \
                 programs that it starts are",
            ),
            (
                elf(2, 62, 3, MUSL),
                "DIR/prog is not profiled: it uses the C library musl, and csprof's collector needs \
                 glibc",
            ),
            (
                elf(1, 3, 3, GLIBC),
                "DIR/prog is not profiled: it is built for 32-bit x86, and csprof profiles x86-64",
            ),
            (
                elf(2, 183, 3, GLIBC),
                "DIR/prog is not profiled: it is built for AArch64, and csprof profiles x86-64",
            ),
            // The kernel decides.
            (elf(2, 62, 3, GLIBC)[..40].to_vec(), "ok"),
        ] {
            assert_eq!(verdict(&file, 0o755), expected);
        }
    }

    #[test]
    fn scripts_are_followed_to_their_interpreter() {
        assert_eq!(verdict(b"#!/bin/sh\nexit 0\n", 0o755), "ok");
        assert_eq!(verdict(b"#! /usr/bin/env python3\n", 0o755), "ok");
        assert_eq!(verdict(b"echo a script without a first line\n", 0o755), "ok");
        assert_eq!(
            verdict(b"#!/no/such/interpreter -x\n", 0o755),
            "/no/such/interpreter: there is no such file"
        );
        assert_eq!(
            verdict(b"#!\n", 0o755),
            "DIR/prog: cannot be executed: its first line names no interpreter"
        );
    }

    #[test]
    fn files_that_cannot_be_executed_are_named() {
        assert_eq!(verdict(b"", 0o644), "DIR/prog: cannot be executed: permission denied");
        let folder = check("/etc".as_ref()).unwrap_err().to_string();
        assert_eq!(folder, "/etc: cannot be executed: it is a folder");
        let missing = check("no-such-program-anywhere".as_ref()).unwrap_err().to_string();
        assert_eq!(missing, "no-such-program-anywhere: not found in any folder of PATH");
    }

    #[test]
    fn a_program_with_the_rights_of_another_user_is_not_profiled() {
        let (mode, someone_else) = (0o104_755, Uid::current().as_raw() + 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        fs::write(&path, elf(2, 62, 3, b"/lib64/ld-linux-x86-64.so.2\0")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        if !is_given_away(&path, someone_else) {
            return;
        }
        // Changing the owner clears the bit.
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let verdict = check(path.as_os_str()).unwrap().unprofiled.unwrap().to_string();
        assert!(verdict.ends_with("so LD_PRELOAD is ignored"), "{verdict}");
    }
}
