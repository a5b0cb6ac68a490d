//! Finds the collector, or unpacks the one inside csprof.
//!
//! Looked for in this order: `$CSPROF_COLLECTOR`; beside the csprof executable; in `../lib/csprof/`
//! (an installed package), if it is the very one that is embedded (cargo leaves debug builds and
//! older ones there); else the embedded bytes are unpacked once, under a name that contains
//! their hash, so that several versions and several runs at the same moment do not disturb each
//! other.
//!
//! The dynamic loader takes the path from `LD_PRELOAD`, where space and colon separate entries and
//! `$` begins a token (ld.so(8)), so a path with one of them cannot be used; nor can one on a file
//! system mounted `noexec`.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::Uid;

use super::run_dir::RunDir;

/// File name of the collector.
pub const COLLECTOR: &str = "libcsprof_collector.so";
/// Environment variable that names another collector.
pub const COLLECTOR_VARIABLE: &str = "CSPROF_COLLECTOR";

/// The collector that was built with this csprof.
static EMBEDDED: &[u8] = include_bytes!(env!("CSPROF_EMBEDDED_COLLECTOR"));

/// The path of the collector to preload.
///
/// # Errors
///
/// When `$CSPROF_COLLECTOR` names no usable file, or there is no place to unpack to.
pub fn find(run_dir: &RunDir) -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(COLLECTOR_VARIABLE).filter(|value| !value.is_empty()) {
        let path = std::path::absolute(&named)?;
        File::open(&path).with_context(|| {
            format!("{COLLECTOR_VARIABLE}={}: cannot be opened", named.display())
        })?;
        if !is_preloadable_path(&path) {
            bail!(
                "{COLLECTOR_VARIABLE}={}: a path with a space, a colon or a dollar sign cannot be \
                 preloaded (ld.so(8))",
                named.display()
            );
        }
        return Ok(path);
    }
    let executable = std::env::current_exe().ok();
    if let Some(installed) = executable.as_deref().and_then(installed_beside) {
        return Ok(installed);
    }
    unpack(&unpack_folders(run_dir), EMBEDDED)
}

fn installed_beside(executable: &Path) -> Option<PathBuf> {
    let folder = executable.parent()?;
    let packaged = folder.parent().map(|prefix| prefix.join("lib/csprof"));
    [Some(folder.to_path_buf()), packaged]
        .into_iter()
        .flatten()
        .map(|folder| folder.join(COLLECTOR))
        .find(|path| {
            is_preloadable_path(path) && fs::read(path).is_ok_and(|bytes| bytes == EMBEDDED)
        })
}

/// Folders to unpack to, best first. Processes that root starts may drop their privileges and then
/// exec; they could not read root's own cache, so for root a folder that all can read comes first.
fn unpack_folders(run_dir: &RunDir) -> Vec<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let cache = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))
        .filter(|path| path.is_absolute())
        .map(|path| path.join("csprof"));
    let user = Uid::effective();
    let shared = PathBuf::from(format!("/var/tmp/csprof-{user}"));
    let temporary = std::env::temp_dir().join(format!("csprof-{user}"));
    let run = run_dir.path().to_path_buf();
    let mut folders = vec![shared, temporary, run];
    folders.splice(if user.is_root() { 3..3 } else { 0..0 }, cache);
    folders
}

fn unpack(folders: &[PathBuf], bytes: &[u8]) -> Result<PathBuf> {
    let name = format!("libcsprof_collector-{:016x}.so", content_hash(bytes));
    let mut refusals = Vec::new();
    for folder in folders {
        match unpack_in(folder, &name, bytes) {
            Ok(path) => return Ok(path),
            Err(error) => refusals.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(anyhow!(
        "no folder to unpack the collector to; {COLLECTOR_VARIABLE} can name a copy of it ({})",
        refusals.join("; ")
    ))
}

fn unpack_in(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    if !is_preloadable_path(folder) {
        return Err(io::Error::other("the path has a space, a colon or a dollar sign"));
    }
    DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    // Among temporary files somebody else may have been first, and could exchange the library.
    let metadata = fs::symlink_metadata(folder)?;
    if metadata.uid() != Uid::effective().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("the folder can be changed by somebody else"));
    }
    // Whatever umask it was made under: a program that root starts may become another user's, and
    // then exec.
    if Uid::effective().is_root() && metadata.is_dir() && metadata.mode() & 0o055 != 0o055 {
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    if statvfs(folder)?.flags().contains(FsFlags::ST_NOEXEC) {
        return Err(io::Error::other("the file system is mounted noexec"));
    }
    let path = folder.join(name);
    if fs::read(&path).is_ok_and(|present| present == bytes) {
        return Ok(path);
    }
    // A temporary name and a rename: another csprof may be loading the file at this moment.
    let temporary = folder.join(format!("{name}.{}", std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(0o755))?;
        fs::rename(&temporary, &path)
    });
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(path)
}

/// Whether the dynamic loader can take this path from `LD_PRELOAD`.
fn is_preloadable_path(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| b" :$\t\n".contains(byte))
}

/// A name for the content, not a protection: the bytes are compared as well. FNV-1a by words, since
/// by bytes it would be a quarter of all that csprof does to record a short program.
fn content_hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words
        .chain(rest.iter().map(|byte| u64::from(*byte)))
        .fold(0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64, |hash, word| {
            (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> tempfile::TempDir {
        tempfile::Builder::new().prefix(name).tempdir().unwrap()
    }

    #[test]
    fn the_collector_is_unpacked_once_and_repaired_when_damaged() {
        let cache = folder("cache");
        let path = unpack(&[cache.path().join("csprof")], b"ELF").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ELF");
        fs::write(&path, b"EL").unwrap();
        assert_eq!(unpack(&[cache.path().join("csprof")], b"ELF").unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"ELF");
        assert_eq!(fs::read_dir(cache.path().join("csprof")).unwrap().count(), 1);
    }

    /// As a umask of 077 makes it.
    #[test]
    fn programs_that_root_starts_can_load_it_as_another_user() {
        let place = folder("umask");
        let closed = place.path().join("csprof-0");
        DirBuilder::new().mode(0o700).create(&closed).unwrap();
        let path = unpack(std::slice::from_ref(&closed), b"ELF").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        let expected = if Uid::effective().is_root() { 0o755 } else { 0o700 };
        assert_eq!((mode(&closed), mode(&path)), (expected, 0o755));
    }

    #[test]
    fn a_folder_that_the_loader_cannot_name_is_passed_over() {
        let (spaced, plain) = (folder("John Doe"), folder("plain"));
        let path = unpack(&[spaced.path().into(), plain.path().into()], b"ELF").unwrap();
        assert_eq!(path.parent(), Some(plain.path()));
    }

    #[test]
    fn without_any_folder_the_error_names_each_and_the_remedy() {
        let error = unpack(&["/proc/no/such".into()], b"ELF").unwrap_err().to_string();
        assert!(error.contains("/proc/no/such: "), "{error}");
        assert!(error.contains("CSPROF_COLLECTOR"), "{error}");
    }
}
