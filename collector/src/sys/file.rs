//! Files: the arena's, reached by number and checked before each use.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, Ordering};

use super::Errno;
use super::call::call;

/// An open file whose number the program might close or give to something else behind our back.
///
/// The number is moved high, out of the way of programs that count on low ones, and its device
/// and inode are compared before each use.
#[derive(Debug)]
pub struct File {
    fd: AtomicI32,
    device: u64,
    inode: u64,
}

/// File numbers at or above this are used where the limit allows.
const HIGH_FD: usize = 900;

impl File {
    /// Creates the file, which must not exist, readable and writable by its owner only.
    pub fn create_new(path: &CStr) -> Result<Self, Errno> {
        let fd = open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
        let (device, inode) = identity(fd).inspect_err(|_| close_number(fd))?;
        Ok(Self { fd: AtomicI32::new(fd), device, inode })
    }

    /// Makes sure that the number still means this file, opening `path` again if it does not.
    pub fn ensure(&self, path: &CStr) -> Result<(), Errno> {
        // Relaxed, here and below: the number is only ever replaced by an equivalent one.
        if identity(self.fd.load(Ordering::Relaxed)) == Ok((self.device, self.inode)) {
            return Ok(());
        }
        let fd = open(path, libc::O_RDWR)?;
        if identity(fd) != Ok((self.device, self.inode)) {
            close_number(fd);
            return Err(Errno(libc::ENOENT));
        }
        self.fd.store(fd, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the file, unless its number means something else by now.
    pub fn close(&self) {
        let fd = self.fd.load(Ordering::Relaxed);
        if identity(fd) == Ok((self.device, self.inode)) {
            close_number(fd);
        }
    }

    /// Backs the range with real storage, so that later stores cannot fail: fallocate(2).
    ///
    /// A range beyond RLIMIT_FSIZE is refused here, because asking the kernel would raise
    /// SIGXFSZ in the program.
    pub fn allocate(&self, offset: u64, size: u64) -> Result<(), Errno> {
        let mut limit = [u64::MAX; 2];
        // SAFETY: `limit` is a live rlimit (soft, hard), which the kernel fills.
        let asked = unsafe {
            call(
                libc::SYS_prlimit64,
                [0, libc::RLIMIT_FSIZE as usize, 0, (&raw mut limit).addr(), 0, 0],
            )
        };
        if asked.is_ok() && offset.saturating_add(size) > limit[0] {
            return Err(Errno(libc::EFBIG));
        }
        // SAFETY: no pointers are passed.
        unsafe {
            call(
                libc::SYS_fallocate,
                [self.fd.load(Ordering::Relaxed) as usize, 0, offset as usize, size as usize, 0, 0],
            )
        }
        .map(drop)
    }

    /// Maps a range of the file, shared, readable and writable.
    pub fn map(&self, offset: u64, size: usize) -> Result<NonNull<u8>, Errno> {
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps no Rust object.
        let address = unsafe {
            call(
                libc::SYS_mmap,
                [
                    0,
                    size,
                    (libc::PROT_READ | libc::PROT_WRITE) as usize,
                    libc::MAP_SHARED as usize,
                    self.fd.load(Ordering::Relaxed) as usize,
                    offset as usize,
                ],
            )
        }?;
        NonNull::new(core::ptr::with_exposed_provenance_mut(address)).ok_or(Errno(libc::ENOMEM))
    }
}

fn open(path: &CStr, flags: i32) -> Result<i32, Errno> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: `path` is a live C string.
    let low = unsafe {
        call(
            libc::SYS_openat,
            [libc::AT_FDCWD as usize, path.as_ptr().addr(), flags as usize, 0o600, 0, 0],
        )
    }? as i32;
    let duplicate = |from: usize| {
        // SAFETY: duplicating a file number touches no memory.
        unsafe {
            call(libc::SYS_fcntl, [low as usize, libc::F_DUPFD_CLOEXEC as usize, from, 0, 0, 0])
        }
    };
    match duplicate(HIGH_FD).or_else(|_| duplicate(128)) {
        Ok(high) => {
            close_number(low);
            Ok(high as i32)
        }
        Err(_) => Ok(low),
    }
}

fn close_number(fd: i32) {
    // SAFETY: the number was opened here and is in no other owner's hands.
    let _ = unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

fn identity(fd: i32) -> Result<(u64, u64), Errno> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the whole structure when it succeeds.
    unsafe {
        call(libc::SYS_fstat, [fd as usize, status.as_mut_ptr().addr(), 0, 0, 0, 0])?;
        let status = status.assume_init();
        Ok((status.st_dev, status.st_ino))
    }
}
