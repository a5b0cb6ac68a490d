//! The [`FileSource`] of this machine: its file system, and the vdso of its kernel.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use csprof_format::file_identity::FileIdentity;

use super::cache::Cache;
use super::request::{FileBytes, FileRequest, FileSource};

/// Where distributions install separate debug files.
const SYSTEM_DEBUG_FOLDER: &str = "/usr/lib/debug";

/// Largest vdso that is believed, in bytes; real ones have one to four pages.
const VDSO_LIMIT: u64 = 1 << 20;

/// The files of this machine.
#[derive(Debug, Default)]
pub struct DiskFiles {
    debug_folders: Vec<PathBuf>,
    debuginfod_caches: Vec<PathBuf>,
    /// By name.
    copies: HashMap<String, File>,
    cache: Option<Cache>,
}

impl DiskFiles {
    /// The files of this machine, with debug files looked for in `extra`, then in the folders that
    /// `$CSPROF_DEBUG_PATH` names (separated by colons), then in `/usr/lib/debug`, and in the cache
    /// of debuginfod-find(1). Names are remembered in the user's [cache](Cache::from_environment),
    /// if there is one.
    #[must_use]
    pub fn from_environment(extra: &[PathBuf]) -> Self {
        let mut debug_folders = extra.to_vec();
        if let Some(path) = std::env::var_os("CSPROF_DEBUG_PATH") {
            debug_folders
                .extend(std::env::split_paths(&path).filter(|p| !p.as_os_str().is_empty()));
        }
        debug_folders.push(PathBuf::from(SYSTEM_DEBUG_FOLDER));
        let debuginfod_caches = debuginfod_caches(|name| std::env::var_os(name));
        let cache = Cache::from_environment().ok().flatten();
        Self { debug_folders, debuginfod_caches, copies: HashMap::new(), cache }
    }

    /// The same with the copies of modules that processes of a run have left, by their names.
    #[must_use]
    pub fn and_copies(self, copies: HashMap<String, File>) -> Self {
        Self { copies, ..self }
    }

    /// Replaces the copies of modules.
    pub fn set_copies(&mut self, copies: HashMap<String, File>) {
        self.copies = copies;
    }

    /// The files of this machine, with debug files looked for in these folders only.
    #[must_use]
    pub fn with_debug_folders(debug_folders: Vec<PathBuf>) -> Self {
        Self { debug_folders, ..Self::default() }
    }

    /// Stores what was learned of the files in the cache. Once a profile is saved: it may need the
    /// room.
    pub fn remember(&self) {
        // Without it the next run takes as long as this one.
        let _ = self.cache.as_ref().map(Cache::store);
    }

    /// The same files, with names remembered in this cache.
    #[must_use]
    pub fn with_cache(self, cache: Cache) -> Self {
        Self { cache: Some(cache), ..self }
    }
}

/// The places of the client's cache, as debuginfod-find(1) lists them.
fn debuginfod_caches(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(cache) = set("DEBUGINFOD_CACHE_PATH") {
        return vec![cache];
    }
    let mut caches = Vec::new();
    if let Some(cache) = set("XDG_CACHE_HOME") {
        caches.push(cache.join("debuginfod_client"));
    }
    if let Some(home) = set("HOME") {
        caches.push(home.join(".cache/debuginfod_client"));
        caches.push(home.join(".debuginfod_client_cache"));
    }
    caches
}

impl FileSource for DiskFiles {
    fn open(&self, request: &FileRequest) -> io::Result<FileBytes> {
        match request {
            FileRequest::Path(path) => {
                // Asked before opening: opening a pipe would wait for a writer.
                if !fs::metadata(path)?.is_file() {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
                }
                FileBytes::of_file(File::open(path)?)
            }
            FileRequest::Vdso => Ok(FileBytes::of_memory(read_vdso()?)),
            FileRequest::Copy(name) => {
                let copy = self.copies.get(name).ok_or(io::ErrorKind::NotFound)?;
                // Each has a place of its own where it reads.
                FileBytes::of_file(File::open(format!("/proc/self/fd/{}", copy.as_raw_fd()))?)
            }
        }
    }

    fn identity(&self, request: &FileRequest) -> Option<FileIdentity> {
        let FileRequest::Path(path) = request else { return None };
        Some((&fs::metadata(path).ok()?).into())
    }

    fn debug_folders(&self) -> Vec<PathBuf> {
        self.debug_folders.clone()
    }

    fn debuginfod_caches(&self) -> Vec<PathBuf> {
        self.debuginfod_caches.clone()
    }

    fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }
}

/// Copies the vdso out of this process's memory, where the kernel has mapped it.
fn read_vdso() -> io::Result<Vec<u8>> {
    let (start, end) = vdso_range(&fs::read_to_string("/proc/self/maps")?)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "this kernel maps no vdso"))?;
    let mut memory = File::open("/proc/self/mem")?;
    memory.seek(SeekFrom::Start(start))?;
    let mut image = Vec::new();
    memory.take((end - start).min(VDSO_LIMIT)).read_to_end(&mut image)?;
    Ok(image)
}

/// Finds the vdso's addresses in a `/proc/PID/maps` text; see `proc_pid_maps(5)`.
fn vdso_range(maps: &str) -> Option<(u64, u64)> {
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let range = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    (range.0 < range.1).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::skip;

    #[test]
    fn the_vdso_is_found_in_maps() {
        let maps = "7ffe68be5000-7ffe68c06000 rw-p 00000000 00:00 0                          [stack]\n\
                    7ffe68d2b000-7ffe68d2d000 r-xp 00000000 00:00 0                          [vdso]\n";
        assert_eq!(vdso_range(maps), Some((0x7ffe_68d2_b000, 0x7ffe_68d2_d000)));
        assert_eq!(vdso_range("00400000-00401000 r--p 00000000 08:01 42 /bin/true\n"), None);
    }

    #[test]
    fn the_running_vdso_is_an_elf_image() {
        let Ok(image) = read_vdso() else {
            return skip("the vdso", "this kernel maps none");
        };
        assert_eq!(&image[..4], b"\x7fELF");
    }

    #[test]
    fn a_folder_is_no_file() {
        let error = DiskFiles::default().open(&FileRequest::Path("/".into())).err().unwrap();
        assert_eq!(error.to_string(), "not a regular file");
    }

    #[test]
    fn an_explicit_debuginfod_cache_replaces_the_others() {
        let caches = |pairs: &'static [(&str, &str)]| {
            debuginfod_caches(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
            })
        };
        assert_eq!(
            caches(&[("DEBUGINFOD_CACHE_PATH", "/c"), ("HOME", "/h")]),
            [PathBuf::from("/c")]
        );
        assert_eq!(
            caches(&[("HOME", "/h"), ("XDG_CACHE_HOME", "")]),
            [
                PathBuf::from("/h/.cache/debuginfod_client"),
                PathBuf::from("/h/.debuginfod_client_cache")
            ]
        );
    }
}
