//! Files of others, looked at and closed: what /proc says, links, the beginnings of programs.
//!
//! Most are open for the moment only, under whatever number is free.

use alloc::ffi::CString;
use alloc::format;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::ops::Range;

use csprof_format::file_identity::FileIdentity;

use super::Errno;
use super::call::call;
use super::file::File;
use crate::arch::PAGE_SIZE;

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

    fn read(&self, offset: u64, to: &mut [u8]) -> usize {
        // SAFETY: the kernel writes at most as much as the live slice holds.
        let read = unsafe {
            let (start, size) = (to.as_mut_ptr().addr(), to.len());
            call(libc::SYS_pread64, [self.0, start, size, offset as usize, 0, 0])
        };
        read.unwrap_or(0)
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
    loop {
        // Not on the stack, here and below: the program may end on one of a few kilobytes.
        let done = content.len();
        content.resize(done + 4096, 0_u8);
        let piece = content.get_mut(done..)?;
        // SAFETY: the kernel writes at most as much as the live slice holds.
        let read = unsafe {
            call(libc::SYS_read, [file.0, piece.as_mut_ptr().addr(), piece.len(), 0, 0, 0])
        };
        content.truncate(done + read.unwrap_or(0));
        match read {
            Ok(0) => return Some(content),
            Ok(_) | Err(Errno(libc::EINTR)) => {}
            Err(_) => return None,
        }
    }
}

/// The file that is mapped at an address.
#[derive(Debug)]
pub struct MappedFile {
    /// As the kernel has it; with ` (deleted)` behind it if it is gone.
    pub path: Vec<u8>,
    /// Of the file system, which may be another than that of the path (overlayfs).
    pub device: u64,
    /// Its inode.
    pub inode: u64,
}

/// The file that is mapped at an address (proc_pid_maps(5)). Setup side.
#[must_use]
pub fn mapped_file(address: u64) -> Option<MappedFile> {
    let maps = read_file(c"/proc/self/maps")?;
    maps.split(|byte| *byte == b'\n').find_map(|line| {
        let text = core::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
        let (start, end) = text.split_once('-')?;
        let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        let (words, path) = line.split_at_checked(line.iter().position(|byte| *byte == b'/')?)?;
        let mut words = core::str::from_utf8(words).ok()?.split_ascii_whitespace().skip(3);
        let (major, minor) = words.next().filter(|_| range.contains(&address))?.split_once(':')?;
        let number = |text| u32::from_str_radix(text, 16).ok();
        let device = libc::makedev(number(major)?, number(minor)?);
        Some(MappedFile { path: path.to_vec(), device, inode: words.next()?.parse().ok()? })
    })
}

/// The pages that a mapping of these addresses has.
#[must_use]
pub fn pages_of(range: &Range<u64>) -> Range<u64> {
    let page = PAGE_SIZE as u64;
    range.start & !(page - 1)..range.end.next_multiple_of(page)
}

/// The link by which the kernel tells what file is mapped at these pages, if they are one mapping
/// (proc_pid_map_files(5)).
#[must_use]
pub fn link_of_mapping(pages: &Range<u64>) -> Option<CString> {
    CString::new(format!("/proc/self/map_files/{:x}-{:x}", pages.start, pages.end)).ok()
}

/// By which the kernel leads to the file of the program (proc_pid_exe(5)).
pub const PROGRAM: &CStr = c"/proc/self/exe";

/// What the kernel calls the file that is mapped at a segment. Setup side.
#[must_use]
pub fn mapped_path(segment: &Range<u64>) -> Option<Vec<u8>> {
    let link = link_of_mapping(&pages_of(segment))?;
    // Where somebody has changed the rights of pages, a segment is more than one mapping.
    read_link(&link).or_else(|| mapped_file(segment.start).map(|file| file.path))
}

/// The regular file that a path leads to, as seen from here. Setup side.
#[must_use]
pub fn file_at(path: &CStr) -> Option<FileIdentity> {
    let status = status_of(libc::AT_FDCWD, path, 0).filter(is_regular)?;
    Some(identity(&status))
}

fn identity(status: &libc::stat) -> FileIdentity {
    FileIdentity {
        device: status.st_dev,
        inode: status.st_ino,
        size: status.st_size.cast_unsigned(),
        modified_ns: FileIdentity::nanoseconds(status.st_mtime, status.st_mtime_nsec),
        changed_ns: FileIdentity::nanoseconds(status.st_ctime, status.st_ctime_nsec),
    }
}

/// What stat(2) says of a path, of a link itself; with an empty path, of the open file `at`.
fn status(at: i32, path: &CStr) -> Option<libc::stat> {
    status_of(at, path, libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH)
}

fn status_of(at: i32, path: &CStr, flags: i32) -> Option<libc::stat> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a live C string; the kernel fills the whole structure when it succeeds.
    unsafe {
        let (at, status_at, flags) = (at as usize, status.as_mut_ptr().addr(), flags as usize);
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

/// A regular file of this user or root, which others may have put where it is; or the program's.
/// Out of the program's way, and asked whether it is the same before each use: it may be read for
/// long.
#[derive(Debug)]
pub struct OwnFile {
    opened: File,
    /// What it is.
    pub identity: FileIdentity,
}

impl OwnFile {
    /// Opens the file at `path` if it is no link and was written since `start_unix_ns`. Setup side.
    #[must_use]
    pub fn open(path: &CStr, start_unix_ns: u64) -> Option<Self> {
        let (own, status) = Self::opened(path, libc::O_NOFOLLOW)?;
        // SAFETY: no pointers are passed.
        let user = unsafe { call(libc::SYS_geteuid, [0; 6]) }.ok()?;
        let identity = own.identity;
        // The kernel notes the time of its last tick, of which there are at least 100 in a second.
        let is_fresh = identity.modified_ns.saturating_add(10_000_000) >= start_unix_ns;
        let is_own = status.st_uid == 0 || status.st_uid as usize == user;
        (is_fresh && is_own).then_some(own)
    }

    /// Opens the file of the program, whatever became of its name. Setup side.
    #[must_use]
    pub fn program() -> Option<Self> {
        Self::opened(PROGRAM, 0).map(|(own, _)| own)
    }

    fn opened(path: &CStr, flags: i32) -> Option<(Self, libc::stat)> {
        let opened = File::open_to_read(path, flags | libc::O_NONBLOCK | libc::O_NOCTTY).ok()?;
        let status = status(opened.number(), c"");
        let own = Self { opened, identity: status.as_ref().map(identity).unwrap_or_default() };
        status.filter(is_regular).map(|status| (own, status))
    }

    /// Reads from `offset` on; returns how many bytes there were.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> usize {
        self.opened.read(offset, to).unwrap_or(0)
    }

    /// Appends up to `most` bytes of it to another file; how many, if there was no error.
    #[must_use]
    pub fn append_to(&self, file: &File, most: u64) -> Option<u64> {
        let mut piece = alloc::vec![0_u8; 1 << 16];
        let mut done = 0;
        while done < most {
            let wanted = (most - done).min(piece.len() as u64) as usize;
            let read = match self.opened.read(done, piece.get_mut(..wanted)?) {
                Ok(0) => break,
                Ok(read) => read,
                Err(Errno(libc::EINTR)) => continue,
                Err(_) => return None,
            };
            if !file.append(piece.get(..read)?) {
                return None;
            }
            done += read as u64;
        }
        Some(done)
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        self.opened.close();
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
        self.0.read(offset, to)
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
    read_link_to(path, &mut alloc::vec![0; 4096]).map(<[u8]>::to_vec)
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
    let mut folder = alloc::vec![0_u8; 4096];
    // SAFETY: the kernel writes at most as much as the live vector holds.
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
