//! Files of others, looked at and closed: what /proc says, links, the beginnings of programs.
//!
//! The file is open for the moment only, under whatever number is free.

use alloc::format;
use alloc::vec::Vec;
use core::ffi::CStr;

use super::Errno;
use super::call::call;

/// A file that is open for reading until this is dropped.
struct Opened(usize);

impl Opened {
    fn at(path: &CStr, flags: i32) -> Result<Self, Errno> {
        let flags = (flags | libc::O_CLOEXEC) as usize;
        // SAFETY: `path` is a live C string.
        let number = unsafe {
            call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr().addr(), flags, 0, 0, 0])
        };
        number.map(Self)
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

/// Where a symbolic link leads, up to 4095 bytes. Setup side.
#[must_use]
pub fn read_link(path: &CStr) -> Option<Vec<u8>> {
    let mut name = [0_u8; 4096];
    // SAFETY: a live C string; the kernel writes at most as much as the live array holds.
    let length = unsafe {
        let at = libc::AT_FDCWD as usize;
        let name = name.as_mut_ptr().addr();
        call(libc::SYS_readlinkat, [at, path.as_ptr().addr(), name, 4096, 0, 0])
    }
    .ok()?;
    (length < name.len()).then(|| name[..length].to_vec())
}

/// The absolute path of a file, without links, as the kernel has it; where /proc is not there, with its
/// links, from the working folder. `None` if it cannot be opened. Setup side.
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
