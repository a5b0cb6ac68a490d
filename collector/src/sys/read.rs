//! Files of others, looked at and closed: what /proc says, links, the beginnings of programs.
//!
//! The file is open for the moment only, under whatever number is free.

use alloc::format;
use alloc::vec::Vec;
use core::ffi::CStr;

use super::Errno;
use super::call::call;
use super::file::File;

/// A file that is open for reading until this is dropped.
#[derive(Debug)]
struct Opened(usize);

impl Opened {
    fn at(path: &CStr, flags: i32) -> Result<Self, Errno> {
        Self::from(libc::AT_FDCWD, path, flags)
    }

    fn from(folder: i32, path: &CStr, flags: i32) -> Result<Self, Errno> {
        let flags = (flags | libc::O_CLOEXEC) as usize;
        // SAFETY: `path` is a live C string.
        unsafe { call(libc::SYS_openat, [folder as usize, path.as_ptr().addr(), flags, 0, 0, 0]) }
            .map(Self)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the number was opened here.
        let _ = unsafe { call(libc::SYS_close, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// The content of a file. Setup side.
#[must_use]
pub fn read_file(path: &CStr) -> Option<Vec<u8>> {
    let file = Opened::at(path, libc::O_RDONLY).ok()?;
    let mut content = Vec::new();
    let mut piece = [0_u8; 4096];
    loop {
        // SAFETY: the kernel writes at most as much as the live array holds.
        let read = unsafe {
            call(libc::SYS_read, [file.0, piece.as_mut_ptr().addr(), piece.len(), 0, 0, 0])
        };
        match read {
            Ok(0) => return Some(content),
            Ok(bytes) => content.extend_from_slice(piece.get(..bytes)?),
            Err(Errno(libc::EINTR)) => {}
            Err(_) => return None,
        }
    }
}

/// The path of the file that is mapped at an address (proc_pid_maps(5)). Setup side.
#[must_use]
pub fn mapped_file(address: u64) -> Option<Vec<u8>> {
    let maps = read_file(c"/proc/self/maps")?;
    maps.split(|byte| *byte == b'\n').find_map(|line| {
        let text = core::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
        let (start, end) = text.split_once('-')?;
        let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        let path = line.get(line.iter().position(|byte| *byte == b'/')?..)?;
        range.contains(&address).then(|| path.to_vec())
    })
}

/// What stat(2) says of a path, of a link itself; with an empty path, of the open file `at`.
fn status(at: i32, path: &CStr) -> Option<libc::stat> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    let flags = (libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) as usize;
    // SAFETY: a live C string; the kernel fills the whole structure when it succeeds.
    unsafe {
        let (at, status_at) = (at as usize, status.as_mut_ptr().addr());
        call(libc::SYS_newfstatat, [at, path.as_ptr().addr(), status_at, flags, 0, 0]).ok()?;
        Some(status.assume_init())
    }
}

fn is_regular(status: &libc::stat) -> bool {
    status.st_mode & libc::S_IFMT == libc::S_IFREG
}

/// Bytes of a regular file, as seen from here; `None` if there is none, or it is a link. Setup
/// side.
#[must_use]
pub fn file_size(path: &CStr) -> Option<u64> {
    let status = status(libc::AT_FDCWD, path).filter(is_regular)?;
    Some(status.st_size.cast_unsigned())
}

/// Device and inode of a folder, as seen from here. Setup side.
#[must_use]
pub fn folder_identity(path: &CStr) -> Option<(u64, u64)> {
    let status = status(libc::AT_FDCWD, path)?;
    (status.st_mode & libc::S_IFMT == libc::S_IFDIR).then_some((status.st_dev, status.st_ino))
}

/// A regular file of this user or root, which others may have put where it is.
#[derive(Debug)]
pub struct OwnFile {
    opened: Opened,
    /// In bytes.
    pub size: u64,
}

impl OwnFile {
    /// Opens the file at `path` if it is no link and was written since `start_unix_ns`. Setup side.
    #[must_use]
    pub fn open(path: &CStr, start_unix_ns: u64) -> Option<Self> {
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let opened = Opened::at(path, flags).ok()?;
        let status = status(opened.0 as i32, c"").filter(is_regular)?;
        // SAFETY: no pointers are passed.
        let user = unsafe { call(libc::SYS_geteuid, [0; 6]) }.ok()?;
        let seconds = status.st_mtime.max(0).cast_unsigned();
        let nanoseconds = status.st_mtime_nsec.max(0).cast_unsigned();
        let written_ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
        // The kernel notes the time of its last tick, of which there are at least 100 in a second.
        let is_fresh = written_ns.saturating_add(10_000_000) >= start_unix_ns;
        let is_own = status.st_uid == 0 || status.st_uid as usize == user;
        let size = status.st_size.cast_unsigned();
        (is_fresh && is_own).then_some(Self { opened, size })
    }

    /// Appends up to `most` bytes of it to another file; how many, if there was no error.
    #[must_use]
    pub fn append_to(&self, file: &File, most: u64) -> Option<u64> {
        let mut piece = [0_u8; 4096];
        let mut done = 0;
        while done < most {
            let wanted = (most - done).min(piece.len() as u64) as usize;
            let array = [self.opened.0, piece.as_mut_ptr().addr(), wanted, 0, 0, 0];
            // SAFETY: the kernel writes at most as much as the live array holds.
            let read = match unsafe { call(libc::SYS_read, array) } {
                Ok(0) => break,
                Ok(read) => read,
                Err(Errno(libc::EINTR)) => continue,
                Err(_) => return None,
            };
            let mut rest = piece.get(..read)?;
            while !rest.is_empty() {
                let number = file.number() as usize;
                let array = [number, rest.as_ptr().addr(), rest.len(), 0, 0, 0];
                // SAFETY: the kernel reads the live slice.
                match unsafe { call(libc::SYS_write, array) } {
                    Ok(0) => return None,
                    Ok(written) => rest = rest.get(written..)?,
                    Err(Errno(libc::EINTR)) => {}
                    Err(_) => return None,
                }
            }
            done += read as u64;
        }
        Some(done)
    }
}

/// A regular file whose beginning is looked at. Either side: no heap.
#[derive(Debug)]
pub struct Peeked(Opened);

impl Peeked {
    /// Opens the file at `path`, taken from the folder that is open as `folder` (`AT_FDCWD`: the
    /// current one). `None` if it cannot be read, or is no regular file: opening a device could do
    /// something.
    #[must_use]
    pub fn open(folder: i32, path: &CStr) -> Option<Self> {
        let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: a live C string; the kernel fills the whole structure when it succeeds.
        let mode = unsafe {
            let (at, status_at) = (folder as usize, status.as_mut_ptr().addr());
            call(libc::SYS_newfstatat, [at, path.as_ptr().addr(), status_at, 0, 0, 0]).ok()?;
            status.assume_init().st_mode
        };
        if mode & libc::S_IFMT != libc::S_IFREG {
            return None;
        }
        Opened::from(folder, path, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY)
            .ok()
            .map(Self)
    }

    /// Reads from `offset` on; returns how many bytes there were.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> usize {
        // SAFETY: the kernel writes at most as much as the live slice holds.
        let read = unsafe {
            let (start, size) = (to.as_mut_ptr().addr(), to.len());
            call(libc::SYS_pread64, [self.0.0, start, size, offset as usize, 0, 0])
        };
        read.unwrap_or(0)
    }
}

/// Whether the process may execute the file at this path. Either side.
#[must_use]
pub fn is_executable(path: &CStr) -> bool {
    let at = libc::AT_FDCWD as usize;
    // SAFETY: a live C string.
    unsafe {
        let path = path.as_ptr().addr();
        call(libc::SYS_faccessat, [at, path, libc::X_OK as usize, 0, 0, 0])
    }
    .is_ok()
}

/// Where a symbolic link leads, up to 4095 bytes. Setup side.
#[must_use]
pub fn read_link(path: &CStr) -> Option<Vec<u8>> {
    read_link_to(path, &mut [0; 4096]).map(<[u8]>::to_vec)
}

/// Where a symbolic link leads; `None` if that takes all of `room` or more. Either side.
pub fn read_link_to<'a>(path: &CStr, room: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: a live C string; the kernel writes at most as much as the live slice holds.
    let length = unsafe {
        let (at, path) = (libc::AT_FDCWD as usize, path.as_ptr().addr());
        call(libc::SYS_readlinkat, [at, path, room.as_mut_ptr().addr(), room.len(), 0, 0])
    }
    .ok()?;
    (length < room.len()).then_some(&room[..length])
}

/// The absolute path of a file, without links, as the kernel has it; where /proc is not there, with
/// its links, from the working folder. `None` if it cannot be opened. Setup side.
#[must_use]
pub fn absolute(path: &CStr) -> Option<Vec<u8>> {
    let file = Opened::at(path, libc::O_PATH).ok()?;
    let mut link = format!("/proc/self/fd/{}", file.0).into_bytes();
    link.push(0);
    read_link(CStr::from_bytes_with_nul(&link).ok()?).or_else(|| from_working_folder(path))
}

fn from_working_folder(path: &CStr) -> Option<Vec<u8>> {
    let mut folder = [0_u8; 4096];
    // SAFETY: the kernel writes at most as much as the live array holds.
    let length = unsafe {
        let array = [folder.as_mut_ptr().addr(), folder.len(), 0, 0, 0, 0];
        call(libc::SYS_getcwd, array)
    };
    // The length is that with the final zero.
    let mut whole = folder.get(..length.ok()?.checked_sub(1)?)?.to_vec();
    let name = path.to_bytes();
    // Outside of the root folder there is no absolute path.
    if name.starts_with(b"/") || !whole.starts_with(b"/") {
        return None;
    }
    for part in name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")) {
        whole.push(b'/');
        whole.extend_from_slice(part);
    }
    Some(whole)
}
