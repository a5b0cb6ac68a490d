//! Checks, before anything runs, that a program can be profiled, so that the answer is one clear
//! line instead of a run without samples.
//!
//! Preloading is done by the dynamic loader of glibc on x86-64. A program that does not start with
//! it (statically linked, another architecture, another C library) or that makes it ignore
//! `LD_PRELOAD` (set-user-id, see "secure-execution mode" in ld.so(8)) cannot be profiled. Scripts
//! are followed to their interpreter as execve(2) does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, Gid, Uid, eaccess};

/// Why a program cannot be profiled. Each is one sentence about one file.
#[derive(Debug)]
pub enum CannotProfile {
    /// No file of this name in `PATH`, or no such file.
    NotFound(OsString),
    /// The file at this path cannot be executed or read; the text says why.
    NotExecutable(PathBuf, String),
    /// The file at this path runs, but without the collector; the text says why.
    CannotPreload(PathBuf, String),
}

impl fmt::Display for CannotProfile {
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
            Self::CannotPreload(path, why) => {
                write!(f, "{}: cannot be preloaded: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for CannotProfile {}

/// Finds `program` as execvp(3) does and checks that the collector can be preloaded into it.
/// Returns the path to execute.
///
/// # Errors
///
/// [`CannotProfile`], with the reason.
pub fn check(program: &OsStr) -> Result<PathBuf, CannotProfile> {
    let search_path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let path = find(program, &search_path)?;
    check_file(&path)?;
    Ok(path)
}

/// The first executable file of this name in the folders of `search_path`. A name with a slash is
/// a path.
fn find(program: &OsStr, search_path: &OsStr) -> Result<PathBuf, CannotProfile> {
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
        Some(path) => CannotProfile::NotExecutable(path, "permission denied".into()),
        None => CannotProfile::NotFound(program.to_owned()),
    })
}

/// How many interpreters execve(2) follows.
const MAX_INTERPRETERS: usize = 5;

fn check_file(path: &Path) -> Result<(), CannotProfile> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_INTERPRETERS {
        let not_executable =
            |why: &dyn fmt::Display| CannotProfile::NotExecutable(path.clone(), why.to_string());
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CannotProfile::NotFound(path.into()));
            }
            Err(error) => return Err(not_executable(&error)),
        };
        if metadata.is_dir() {
            return Err(not_executable(&"it is a folder"));
        }
        if eaccess(&path, AccessFlags::X_OK).is_err() {
            return Err(not_executable(&"permission denied"));
        }
        let mut start = Vec::new();
        let file = File::open(&path);
        match file.and_then(|file| file.take(4096).read_to_end(&mut start)) {
            Ok(_) => {}
            // Executable but not readable: the loader decides, nothing can be said beforehand.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            Err(error) => return Err(not_executable(&error)),
        }
        if let Some(rest) = start.strip_prefix(b"#!") {
            path = interpreter(rest)
                .ok_or_else(|| not_executable(&"its first line names no interpreter"))?;
            continue;
        }
        if !start.starts_with(b"\x7fELF") {
            // execvp gives a file that the kernel does not know to the shell.
            path = PathBuf::from("/bin/sh");
            continue;
        }
        let cannot_preload = |why: String| CannotProfile::CannotPreload(path.clone(), why);
        check_elf(&path, &start).map_err(cannot_preload)?;
        return check_privileges(&metadata).map_err(cannot_preload);
    }
    Err(CannotProfile::NotExecutable(path, "too many interpreters of interpreters".into()))
}

/// The interpreter in the first line of a script, `#!` already removed.
fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|&byte| byte == b'\n').next()?.trim_ascii_start();
    let word = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).next()?;
    (!word.is_empty()).then(|| OsString::from_vec(word.to_vec()).into())
}

/// Checks class, machine and loader of an executable. Offsets from elf(5), `Elf64_Ehdr` and
/// `Elf64_Phdr`.
fn check_elf(path: &Path, start: &[u8]) -> Result<(), String> {
    const CLASS_64: u8 = 2;
    const MACHINE_X86_64: u16 = 62;
    const MACHINES: [(u16, &str); 5] =
        [(3, "32-bit x86"), (40, "32-bit ARM"), (183, "AArch64"), (21, "PowerPC"), (243, "RISC-V")];
    const PT_INTERP: u32 = 3;

    let u16_at = |at| number::<2>(start, at).map(u16::from_le_bytes);
    let cut_off = || "its ELF header is cut off".to_owned();
    let machine = u16_at(18).ok_or_else(cut_off)?;
    if machine != MACHINE_X86_64 {
        let name = MACHINES.iter().find(|(number, _)| *number == machine);
        return Err(match name {
            Some((_, name)) => format!("it is built for {name}, and csprof profiles x86-64"),
            None => format!("it is built for ELF machine {machine}, and csprof profiles x86-64"),
        });
    }
    if start.get(4) != Some(&CLASS_64) {
        return Err("it is an x32 program (32-bit pointers), and csprof profiles 64-bit".into());
    }
    let table = number::<8>(start, 32).map(u64::from_le_bytes).ok_or_else(cut_off)?;
    let (size, count) = (u16_at(54).ok_or_else(cut_off)?, u16_at(56).ok_or_else(cut_off)?);
    if size < 56 {
        return Err("its program headers cannot be read".into());
    }
    let headers = read_range(path, table, usize::from(size) * usize::from(count))
        .map_err(|error| format!("its program headers cannot be read: {error}"))?;
    let loader = headers
        .chunks_exact(usize::from(size))
        .find(|header| number(header, 0).map(u32::from_le_bytes) == Some(PT_INTERP));
    let Some(loader) = loader else {
        // The dynamic loader itself has no loader, and preloads for the program it is given.
        let name = path.file_name().unwrap_or_default().as_bytes();
        return if name.starts_with(b"ld-linux") {
            Ok(())
        } else {
            Err("it is statically linked, so no dynamic loader runs".into())
        };
    };
    let field = |at| number::<8>(loader, at).map_or(0, u64::from_le_bytes);
    let name = read_range(path, field(8), usize::try_from(field(32)).unwrap_or(0).min(4096))
        .map_err(|error| format!("the name of its loader cannot be read: {error}"))?;
    if name.windows(7).any(|part| part == b"ld-musl") {
        return Err("it uses the C library musl, and csprof's collector needs glibc".into());
    }
    Ok(())
}

/// In secure-execution mode the loader ignores libraries that are not in its own folders.
fn check_privileges(metadata: &Metadata) -> Result<(), String> {
    const SET_USER_ID: u32 = 0o4000;
    const SET_GROUP_ID: u32 = 0o2000;
    const GROUP_EXECUTE: u32 = 0o0010;
    let (mode, user, group) = (metadata.mode(), metadata.uid(), metadata.gid());
    if mode & SET_USER_ID != 0 && user != Uid::current().as_raw() {
        return Err(format!("it is set-user-id (runs as user {user}), so LD_PRELOAD is ignored"));
    }
    // Without group execute permission the bit means mandatory locking, not privileges.
    let is_set_group_id = mode & SET_GROUP_ID != 0 && mode & GROUP_EXECUTE != 0;
    if is_set_group_id && group != Gid::current().as_raw() {
        return Err(format!(
            "it is set-group-id (runs as group {group}), so LD_PRELOAD is ignored"
        ));
    }
    Ok(())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn read_range(path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A file of this content and mode, and what the check says about it.
    fn verdict(content: &[u8], mode: u32) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        match check(path.as_os_str()) {
            Ok(_) => "ok".into(),
            Err(error) => error.to_string().replace(folder.path().to_str().unwrap(), "DIR"),
        }
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
                "DIR/prog: cannot be preloaded: it is statically linked, so no dynamic loader runs",
            ),
            (
                elf(2, 62, 3, MUSL),
                "DIR/prog: cannot be preloaded: it uses the C library musl, and csprof's collector \
                 needs glibc",
            ),
            (
                elf(1, 3, 3, GLIBC),
                "DIR/prog: cannot be preloaded: it is built for 32-bit x86, and csprof profiles \
                 x86-64",
            ),
            (
                elf(2, 183, 3, GLIBC),
                "DIR/prog: cannot be preloaded: it is built for AArch64, and csprof profiles x86-64",
            ),
            (
                elf(2, 62, 3, GLIBC)[..40].to_vec(),
                "DIR/prog: cannot be preloaded: its ELF header is cut off",
            ),
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
    fn a_program_with_the_rights_of_another_user_cannot_be_preloaded() {
        let (mode, someone_else) = (0o104_755, Uid::current().as_raw() + 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        fs::write(&path, elf(2, 62, 3, b"/lib64/ld-linux-x86-64.so.2\0")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        if std::os::unix::fs::chown(&path, Some(someone_else), None).is_err() {
            println!("skipped: only root can give a file to another user");
            return;
        }
        // Changing the owner clears the bit.
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = check(path.as_os_str()).unwrap_err().to_string();
        assert!(error.ends_with("so LD_PRELOAD is ignored"), "{error}");
    }
}
