//! Files: the arena's, reached by number and checked before each use.

use alloc::ffi::CString;
use core::ffi::CStr;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use super::Errno;
use super::call::call;
use super::locked::leave_unlocked;

/// An open file whose number the program might close or give to something else behind our back.
///
/// The number is moved out of the way of programs that count on low ones (see [`FileNumber`]),
/// and its device and inode are compared before each use.
#[derive(Debug)]
pub struct File {
    fd: AtomicI32,
    device: u64,
    inode: u64,
}

/// File numbers at or above this are used where they must be within the limit.
pub(super) const HIGH_FD: usize = 900;
/// The same where the limit is lower than that.
pub(super) const LOW_FD: usize = 128;
/// Up to this limit, numbers above it are used. The kernel's table reaches to the largest number,
/// and fork copies it: 32 KiB here.
const LARGEST_LIMIT: u64 = 1 << 12;
/// How many numbers above the limit are asked for: one is the arena's.
const ROOM: u64 = 1 << 6;

/// What a new file's number may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileNumber {
    /// *Above* the program's soft limit, where the program cannot reach, count or run out of it.
    /// RLIMIT_NOFILE bounds new numbers only (getrlimit(2)), so it is raised for the moment of
    /// opening, and only while the process has no other thread: a program that posix_spawn or vfork
    /// starts at that moment would keep the raised limit, and getrlimit would show it.
    AboveLimit,
    /// As high as the limit allows.
    BelowLimit,
}

/// Opens a file and moves it out of the program's way, to a number that `place` allows. Above the
/// limit means below it where the hard limit is no higher.
///
/// `open` returns a number; that, or the one it was moved to, is the answer.
fn out_of_the_way(
    place: FileNumber,
    open: impl FnOnce() -> Result<i32, Errno>,
) -> Result<i32, Errno> {
    let mut before = [0; 2];
    let may_be_raised = place == FileNumber::AboveLimit
        && limit(core::ptr::null(), &raw mut before).is_ok()
        && before[0] <= LARGEST_LIMIT
        && before[1] > before[0];
    let raised = [before[1].min(before[0] + ROOM), before[1]];
    if !may_be_raised || limit(&raw const raised, core::ptr::null_mut()).is_err() {
        return Ok(moved(open()?, &[HIGH_FD, LOW_FD]));
    }
    let number = open().map(|low| moved(low, &[before[0] as usize, HIGH_FD, LOW_FD]));
    let _ = limit(&raw const before, core::ptr::null_mut());
    number
}

/// RLIMIT_NOFILE, soft and hard.
fn limit(new: *const [u64; 2], old: *mut [u64; 2]) -> Result<(), Errno> {
    // SAFETY: each is null or a live rlimit.
    unsafe {
        call(libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE as usize, new.addr(), old.addr(), 0, 0])
    }
    .map(drop)
}

/// Duplicates a file to the first free number from the first of `from` on that there is, and closes
/// the old one. Keeps the old one where there is no room.
pub(super) fn moved(low: i32, from: &[usize]) -> i32 {
    let duplicate = |&from: &usize| {
        // SAFETY: duplicating a file number touches no memory.
        unsafe {
            call(libc::SYS_fcntl, [low as usize, libc::F_DUPFD_CLOEXEC as usize, from, 0, 0, 0])
        }
        .ok()
    };
    let number = match from.iter().find_map(duplicate) {
        Some(high) => {
            close_number(low);
            high as i32
        }
        None => low,
    };
    note_own(number, true);
    number
}

/// Numbers below this are told apart by [`is_own`]: more than are ever used.
pub(super) const TOLD_APART: usize = 1 << 13;
const _: () = assert!(LARGEST_LIMIT + ROOM < TOLD_APART as u64);

/// Which numbers are the collector's, one bit each.
static OWN: [AtomicU64; TOLD_APART / 64] = [const { AtomicU64::new(0) }; TOLD_APART / 64];

/// At most the smallest of them, for wrappers that are called often.
pub static SMALLEST_OWN: AtomicU32 = AtomicU32::new(u32::MAX);

fn bit(number: i32) -> Option<(&'static AtomicU64, u64)> {
    let number = usize::try_from(number).ok()?;
    Some((OWN.get(number / 64)?, 1 << (number % 64)))
}

fn note_own(number: i32, own: bool) {
    // Relaxed, here and in `is_own`: the kernel decides what a number means; a program that closes
    // a number which another thread is just opening cannot count on either.
    let Some((word, bit)) = bit(number) else { return };
    if own {
        word.fetch_or(bit, Ordering::Relaxed);
        SMALLEST_OWN.fetch_min(number.cast_unsigned(), Ordering::Relaxed);
    } else {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// Whether this is the number of a file of the collector's. Either side.
#[must_use]
pub fn is_own(number: i32) -> bool {
    bit(number).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
}

/// To be called when the program takes a number for a file of its own. What the collector had there
/// is gone; it opens it again, or counts what it loses.
pub fn give_up(number: i32) {
    note_own(number, false);
}

/// A folder, reached by its path, or by a number once the process may get another root, or other
/// mounts.
#[derive(Debug)]
pub struct Folder {
    /// [`NONE`] until it is held.
    file: File,
    path: CString,
}

/// The number of a file that is not open.
const NONE: i32 = -1;

impl Folder {
    /// The folder at `path`, which is not opened.
    #[must_use]
    pub fn at(path: CString) -> Self {
        let (device, inode) = identity_at(&path).unwrap_or_default();
        Self { file: File { fd: AtomicI32::new(NONE), device, inode }, path }
    }

    /// Opens it, so that it stays in reach whatever becomes of its path. Where that fails, or all
    /// numbers are low ones, with which the program counts, its path has to do. Either side.
    pub fn hold(&self) {
        let before = self.file.number();
        if self.file.is_open() {
            return;
        }
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        let opened = open(FileNumber::BelowLimit, libc::AT_FDCWD, &self.path, flags);
        let Ok(number) = opened else { return };
        let is_same = identity(number) == Ok((self.file.device, self.file.inode));
        let is_low = (number as usize) < LOW_FD;
        // Relaxed: as everywhere, the number is looked at before it is used.
        let (fd, relaxed) = (&self.file.fd, Ordering::Relaxed);
        if !is_same || is_low || fd.compare_exchange(before, number, relaxed, relaxed).is_err() {
            // Or another thread was faster.
            close_number(number);
        } else if before != NONE {
            give_up(before);
        }
    }

    /// Opens the file that was in it at `path`. Either side.
    fn open_file(&self, place: FileNumber, path: &CStr, flags: i32) -> Result<i32, Errno> {
        match self.file.is_open() {
            true => open(place, self.file.number(), name_of(path), flags),
            // Not held, or the program has closed the number.
            false => open(place, libc::AT_FDCWD, path, flags),
        }
    }

    /// Removes the file that was in it at `path`.
    pub fn remove(&self, path: &CStr) {
        let (at, path) = self.place(path);
        // SAFETY: `path` is a live C string.
        let _ = unsafe { call(libc::SYS_unlinkat, [at, path.as_ptr().addr(), 0, 0, 0, 0]) };
    }

    /// Gives the file that was in it at `from` the path `to`, also in place of another one:
    /// rename(2).
    pub fn rename(&self, from: &CStr, to: &CStr) -> Result<(), Errno> {
        let ((at, from), (_, to)) = (self.place(from), self.place(to));
        // SAFETY: live C strings.
        unsafe {
            call(libc::SYS_renameat2, [at, from.as_ptr().addr(), at, to.as_ptr().addr(), 0, 0])
        }
        .map(drop)
    }

    /// Whether there is something in it at `path`.
    #[must_use]
    pub fn has(&self, path: &CStr) -> bool {
        let (at, path) = self.place(path);
        // SAFETY: a live C string.
        unsafe { call(libc::SYS_faccessat, [at, path.as_ptr().addr(), 0, 0, 0, 0]) }.is_ok()
    }

    /// From where to reach what was in it at `path`, and by which name.
    fn place<'a>(&self, path: &'a CStr) -> (usize, &'a CStr) {
        match self.file.is_open() {
            true => (self.file.number() as usize, name_of(path)),
            false => (libc::AT_FDCWD as usize, path),
        }
    }

    /// Where it was at first.
    #[must_use]
    pub fn path(&self) -> &CStr {
        &self.path
    }

    /// What holds it.
    pub const fn file(&self) -> &File {
        &self.file
    }
}

/// The last part of a path.
fn name_of(path: &CStr) -> &CStr {
    let bytes = path.to_bytes_with_nul();
    let name = bytes.rsplit(|&byte| byte == b'/').next().unwrap_or(bytes);
    CStr::from_bytes_with_nul(name).unwrap_or(path)
}

/// Whether there is something at this path, as seen from here.
#[must_use]
pub fn exists(path: &CStr) -> bool {
    identity_at(path).is_ok()
}

/// Device and inode of what is at this path, as seen from here.
fn identity_at(path: &CStr) -> Result<(u64, u64), Errno> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    let (at, status_at) = (libc::AT_FDCWD as usize, status.as_mut_ptr().addr());
    // SAFETY: `path` is a live C string; the kernel fills the whole structure when it succeeds.
    let status = unsafe {
        call(libc::SYS_newfstatat, [at, path.as_ptr().addr(), status_at, 0, 0, 0])?;
        status.assume_init()
    };
    Ok((status.st_dev, status.st_ino))
}

/// Whether a dynamic linker with the rights of this thread could load the library at this path:
/// whether it is there, and may be read (file modes, landlock(7)) and executed (`noexec`). Where no
/// file number or memory is left just now, or a signal interrupts the call (a file system in user
/// space), whether it is there. Either side.
#[must_use]
pub fn can_be_loaded(path: &CStr) -> bool {
    const PAGE: usize = 4096;
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: `path` is a live C string.
    let opened = unsafe {
        call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr().addr(), flags, 0, 0, 0])
    };
    let is_there = |error: Errno| {
        let passes = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EINTR];
        passes.contains(&error.0) && exists(path)
    };
    let number = match opened {
        Ok(number) => number,
        Err(error) => return is_there(error),
    };
    let code = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    // SAFETY: a new mapping where the kernel finds room, which nobody reads.
    let mapped =
        unsafe { call(libc::SYS_mmap, [0, PAGE, code, libc::MAP_PRIVATE as usize, number, 0]) };
    // SAFETY: the file that was just opened. In a child of vfork numbers are the child's own.
    let _ = unsafe { call(libc::SYS_close, [number, 0, 0, 0, 0, 0]) };
    match mapped {
        Ok(start) => {
            // SAFETY: the mapping that was just made.
            let _ = unsafe { call(libc::SYS_munmap, [start, PAGE, 0, 0, 0, 0]) };
            true
        }
        Err(error) => is_there(error) || error.0 == libc::EAGAIN,
    }
}

impl File {
    /// Creates the file, which must not exist, readable and writable by its owner only.
    pub fn create_new(folder: &Folder, place: FileNumber, path: &CStr) -> Result<Self, Errno> {
        Self::of(folder.open_file(place, path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?)
    }

    /// Opens a file for reading, as high as the limit allows.
    pub(super) fn open_to_read(path: &CStr, flags: i32) -> Result<Self, Errno> {
        let flags = (flags | libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let at = libc::AT_FDCWD as usize;
        let number = out_of_the_way(FileNumber::BelowLimit, || {
            // SAFETY: `path` is a live C string.
            unsafe { call(libc::SYS_openat, [at, path.as_ptr().addr(), flags, 0, 0, 0]) }
                .map(|number| number as i32)
        });
        Self::of(number?)
    }

    /// Reads from `offset` on; how many bytes there were.
    pub(super) fn read(&self, offset: u64, to: &mut [u8]) -> Result<usize, Errno> {
        if !self.is_open() {
            return Err(Errno(libc::EBADF));
        }
        // SAFETY: the kernel writes at most as much as the live slice holds.
        unsafe {
            let (start, size) = (to.as_mut_ptr().addr(), to.len());
            call(libc::SYS_pread64, [self.number() as usize, start, size, offset as usize, 0, 0])
        }
    }

    /// The file with this number, which was just opened; closed if it is none.
    fn of(fd: i32) -> Result<Self, Errno> {
        let (device, inode) = identity(fd).inspect_err(|_| close_number(fd))?;
        Ok(Self { fd: AtomicI32::new(fd), device, inode })
    }

    /// Whether the number still means this file, in this thread.
    pub fn is_open(&self) -> bool {
        // Relaxed, here and below: the number is only ever replaced by an equivalent one.
        identity(self.fd.load(Ordering::Relaxed)) == Ok((self.device, self.inode))
    }

    /// Makes sure that the number still means this file, opening it again if it does not.
    pub fn ensure(&self, folder: &Folder, path: &CStr) -> Result<(), Errno> {
        if self.is_open() {
            return Ok(());
        }
        let fd = folder.open_file(FileNumber::BelowLimit, path, libc::O_RDWR)?;
        if identity(fd) != Ok((self.device, self.inode)) {
            close_number(fd);
            return Err(Errno(libc::ENOENT));
        }
        let before = self.fd.swap(fd, Ordering::Relaxed);
        if before != fd {
            give_up(before);
        }
        Ok(())
    }

    /// The number.
    pub fn number(&self) -> i32 {
        self.fd.load(Ordering::Relaxed)
    }

    /// Closes the file, unless its number means something else by now.
    pub fn close(&self) {
        if self.is_open() {
            close_number(self.number());
        }
    }

    /// Locks the file, which nobody else has open, until no process has it open or mapped any more:
    /// flock(2).
    pub fn lock(&self) -> Result<(), Errno> {
        let how = (libc::LOCK_EX | libc::LOCK_NB) as usize;
        // SAFETY: no pointers are passed.
        unsafe { call(libc::SYS_flock, [self.number() as usize, how, 0, 0, 0, 0]) }.map(drop)
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

    /// Appends to what was written before; whether all of it.
    pub fn append(&self, bytes: &[u8]) -> bool {
        let start = bytes.as_ptr().addr() as u64;
        self.append_memory(&(start..start + bytes.len() as u64))
    }

    /// The same with whatever is in memory at these addresses; not all if some cannot be read.
    pub fn append_memory(&self, range: &Range<u64>) -> bool {
        let mut next = range.start;
        while next < range.end {
            if !self.is_open() {
                return false;
            }
            let size = (range.end - next) as usize;
            let array = [self.number() as usize, next as usize, size, 0, 0, 0];
            // SAFETY: the kernel reads memory, and refuses what is not there.
            match unsafe { call(libc::SYS_write, array) } {
                Ok(0) => return false,
                Ok(written) => next += written as u64,
                Err(Errno(libc::EINTR)) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Makes it end at `size`: ftruncate(2).
    pub fn truncate(&self, size: u64) -> Result<(), Errno> {
        // SAFETY: no pointers are passed.
        unsafe { call(libc::SYS_ftruncate, [self.number() as usize, size as usize, 0, 0, 0, 0]) }
            .map(drop)
    }

    /// Bytes that its file system has free for everybody: fstatfs(2). `None` if it does not say.
    pub fn free_bytes(&self) -> Option<u64> {
        let mut status = core::mem::MaybeUninit::<libc::statfs>::uninit();
        let number = self.fd.load(Ordering::Relaxed) as usize;
        // SAFETY: the kernel fills the whole structure when it succeeds.
        let status = unsafe {
            call(libc::SYS_fstatfs, [number, status.as_mut_ptr().addr(), 0, 0, 0, 0]).ok()?;
            status.assume_init()
        };
        // One without a limit says 0 of 0.
        (status.f_blocks > 0)
            .then(|| status.f_bavail.saturating_mul(status.f_bsize.cast_unsigned()))
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
        leave_unlocked(address, size);
        NonNull::new(core::ptr::with_exposed_provenance_mut(address)).ok_or(Errno(libc::ENOMEM))
    }
}

/// Maps the first `size` bytes of the file that was in a folder at `path`, shared, to be read.
/// `None` if it is not there, or shorter: what is behind its end cannot be read. Nothing of it but
/// the mapping stays open. The process has no other thread yet.
#[must_use]
pub fn map_to_read(folder: &Folder, path: &CStr, size: usize) -> Option<NonNull<u8>> {
    let number = folder.open_file(FileNumber::BelowLimit, path, libc::O_RDONLY).ok()?;
    let (read, shared) = (libc::PROT_READ as usize, libc::MAP_SHARED as usize);
    let is_long = status(number).is_ok_and(|status| status.st_size.cast_unsigned() >= size as u64);
    let mapped = is_long.then(|| {
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps no Rust object.
        unsafe { call(libc::SYS_mmap, [0, size, read, shared, number as usize, 0]) }.ok()
    });
    close_number(number);
    let address = mapped??;
    leave_unlocked(address, size);
    NonNull::new(core::ptr::with_exposed_provenance_mut(address))
}

fn open(place: FileNumber, at: i32, path: &CStr, flags: i32) -> Result<i32, Errno> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    out_of_the_way(place, || {
        // SAFETY: `path` is a live C string.
        unsafe {
            call(libc::SYS_openat, [at as usize, path.as_ptr().addr(), flags as usize, 0o600, 0, 0])
        }
        .map(|number| number as i32)
    })
}

pub(super) fn close_number(fd: i32) {
    note_own(fd, false);
    // SAFETY: the number was opened here and is in no other owner's hands.
    let _ = unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

fn identity(fd: i32) -> Result<(u64, u64), Errno> {
    status(fd).map(|status| (status.st_dev, status.st_ino))
}

fn status(fd: i32) -> Result<libc::stat, Errno> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the whole structure when it succeeds.
    unsafe {
        call(libc::SYS_fstat, [fd as usize, status.as_mut_ptr().addr(), 0, 0, 0, 0])?;
        Ok(status.assume_init())
    }
}
