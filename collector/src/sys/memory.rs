//! Memory: anonymous mappings, and looks at memory that may not be there.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Errno;
use super::call::call;
use super::locked::leave_unlocked;
use crate::arch::PAGE_SIZE;

/// Bytes of private memory mapped at present.
static PRIVATE: AtomicUsize = AtomicUsize::new(0);

/// Bytes of private memory that the collector has mapped at present. Either side.
#[must_use]
pub fn private_bytes() -> usize {
    // Relaxed: a number for people.
    PRIVATE.load(Ordering::Relaxed)
}

/// Maps `size` bytes of zeroed private memory.
pub fn map_anonymous(size: usize) -> Result<NonNull<u8>, Errno> {
    // SAFETY: a fresh mapping at an address of the kernel's choice overlaps no Rust object.
    let address = unsafe {
        call(
            libc::SYS_mmap,
            [
                0,
                size,
                (libc::PROT_READ | libc::PROT_WRITE) as usize,
                (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize,
                usize::MAX,
                0,
            ],
        )
    }?;
    leave_unlocked(address, size);
    PRIVATE.fetch_add(size, Ordering::Relaxed);
    NonNull::new(core::ptr::with_exposed_provenance_mut(address)).ok_or(Errno(libc::ENOMEM))
}

/// Makes a mapping larger or smaller, moving it if need be: mremap(2). Nothing is copied.
///
/// # Safety
/// `start` and `size` must be a whole mapping made by [`map_anonymous`], to which no reference is
/// left; on success it is gone, and the returned one stands in its place.
pub unsafe fn remap(
    start: NonNull<u8>,
    size: usize,
    new_size: usize,
) -> Result<NonNull<u8>, Errno> {
    // SAFETY: the caller gives up the mapping; the kernel picks the new place.
    let address = unsafe {
        call(
            libc::SYS_mremap,
            [start.as_ptr().addr(), size, new_size, libc::MREMAP_MAYMOVE as usize, 0, 0],
        )
    }?;
    PRIVATE.fetch_add(new_size.wrapping_sub(size), Ordering::Relaxed);
    NonNull::new(core::ptr::with_exposed_provenance_mut(address)).ok_or(Errno(libc::ENOMEM))
}

/// Gives private memory back.
///
/// # Safety
/// `start` and `size` must be a whole mapping made by [`map_anonymous`], to which no reference is
/// left.
pub unsafe fn unmap_anonymous(start: NonNull<u8>, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { unmap(start, size) };
    PRIVATE.fetch_sub(size, Ordering::Relaxed);
}

/// Gives a mapping back.
///
/// # Safety
/// `start` and `size` must be a whole mapping made by [`File::map`](super::File::map), to which no
/// reference is left.
pub unsafe fn unmap(start: NonNull<u8>, size: usize) {
    // SAFETY: the caller gives up the mapping. The result is ignored: munmap fails only for
    // arguments that are no mapping.
    let _ = unsafe { call(libc::SYS_munmap, [start.as_ptr().addr(), size, 0, 0, 0, 0]) };
}

/// Gives the storage behind a piece of a shared mapping back: it reads as zeros. Says whether the
/// file system can do that.
///
/// # Safety
/// Whole pages of a mapping made by [`File::map`](super::File::map), for whose content zeros are as
/// good.
pub unsafe fn give_back(start: NonNull<u8>, size: usize) -> bool {
    let advice = libc::MADV_REMOVE as usize;
    // SAFETY: the caller vouches for the range.
    unsafe { call(libc::SYS_madvise, [start.as_ptr().addr(), size, advice, 0, 0, 0]) }.is_ok()
}

/// Has the child of a fork find zeros in the place of a page of private memory. Without effect
/// before Linux 4.14: what is there stays as it was.
pub fn wipe_on_fork<T>(page: &'static T) {
    const { assert!(size_of::<T>() == PAGE_SIZE && align_of::<T>() == PAGE_SIZE) };
    let advice = libc::MADV_WIPEONFORK as usize;
    // SAFETY: nothing changes in this process; its children see zeros, of which the caller makes
    // what it likes.
    let _ = unsafe {
        call(libc::SYS_madvise, [core::ptr::from_ref(page).addr(), PAGE_SIZE, advice, 0, 0, 0])
    };
}

/// Puts private zeros in the place of a mapping. Without effect if the kernel refuses.
///
/// # Safety
/// `start` and `size` must be a whole mapping made here or by [`File::map`](super::File::map), for
/// whose content zeros are as good.
pub unsafe fn replace_by_zeros(start: NonNull<u8>, size: usize) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the caller vouches for the range.
    let replaced = unsafe {
        call(
            libc::SYS_mmap,
            [start.as_ptr().addr(), size, protection as usize, flags as usize, usize::MAX, 0],
        )
    };
    if let Ok(address) = replaced {
        leave_unlocked(address, size);
    }
}

/// The word at `address`, if it can be read. For addresses outside the thread's own stack.
#[must_use]
pub fn probe(address: u64) -> Option<u64> {
    probe_bytes(address).map(u64::from_ne_bytes)
}

/// The bytes at `address`, if all of them can be read.
#[must_use]
pub fn probe_bytes<const N: usize>(address: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    probe_into(address, &mut bytes).then_some(bytes)
}

/// Copies what is at `address`; whether all of it can be read.
#[must_use]
pub fn probe_into(address: u64, to: &mut [u8]) -> bool {
    copy_readable(address, to) == to.len()
}

/// Copies what is at `address`, as far as it can be read, but all of what lies behind the first
/// page or nothing: how many bytes.
///
/// The kernel does the reading (process_vm_readv(2)), so an unmapped address is an answer and
/// not a fault. About 300 ns.
#[must_use]
pub fn copy_readable(address: u64, to: &mut [u8]) -> usize {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let piece = |at: usize, iov_len: usize| libc::iovec {
        iov_base: core::ptr::with_exposed_provenance_mut(at),
        iov_len,
    };
    let start = address as usize;
    let on_page = to.len().min(PAGE_SIZE - start % PAGE_SIZE);
    // A transfer may end between two pieces, and not within one.
    let remote = [piece(start, on_page), piece(start.wrapping_add(on_page), to.len() - on_page)];
    let pieces = if on_page < to.len() { 2 } else { 1 };
    // SAFETY: all vectors are live; the kernel writes `to` only, and checks `remote` itself.
    let read = unsafe {
        call(
            libc::SYS_process_vm_readv,
            [
                super::pid() as usize,
                (&raw const local).addr(),
                1,
                remote.as_ptr().addr(),
                pieces,
                0,
            ],
        )
    };
    read.unwrap_or(0)
}

/// Whether the kernel copies nothing at all: a filter of system calls may forbid it. Any thread.
#[must_use]
pub fn is_probing_forbidden() -> bool {
    static READABLE: u64 = 0;
    probe((&raw const READABLE).addr() as u64).is_none()
}

/// Whether the aligned word of 4 bytes that `address` lies in can be read now. Any thread.
///
/// The kernel reads it as a futex of which none are woken and none requeued (FUTEX_CMP_REQUEUE,
/// futex(2)). Filters of system calls let that pass, as they may not process_vm_readv, and nothing
/// changes by it, not even which signals are blocked.
#[must_use]
pub fn is_readable(address: u64) -> bool {
    let word = address as usize & !3;
    let operation = (libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the kernel reads the word, if it is there, and changes nothing.
    let answer = unsafe { call(libc::SYS_futex, [word, operation, 0, 0, word, 0]) };
    answer != Err(Errno(libc::EFAULT))
}

/// Whether the page that `address` is on is in memory, so that reading it brings nothing there from
/// anywhere: no file, no other process (mincore(2)). `None` if nothing is mapped there. Of files
/// that this process may neither write nor owns, the kernel says that they are.
#[must_use]
pub fn is_resident(address: u64) -> Option<bool> {
    let mut page = 0_u8;
    let start = address as usize & !(PAGE_SIZE - 1);
    // SAFETY: the kernel writes one byte, for one page.
    match unsafe { call(libc::SYS_mincore, [start, 1, (&raw mut page).addr(), 0, 0, 0]) } {
        Ok(_) => Some(page & 1 == 1),
        Err(Errno(libc::ENOMEM)) => None,
        Err(_) => Some(false),
    }
}

/// Writes a word into memory that may only be read, as debuggers do (/proc/self/mem); whether it
/// is there now.
///
/// # Safety
/// `address` must be 8-aligned. What reads the word may find either value, and works with both.
pub unsafe fn write_constant(address: u64, word: u64) -> bool {
    let at = libc::AT_FDCWD as usize;
    let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
    // SAFETY: the path is a live C string.
    let opened =
        unsafe { call(libc::SYS_openat, [at, c"/proc/self/mem".as_ptr().addr(), flags, 0, 0, 0]) };
    let Ok(file) = opened else { return false };
    let size = size_of::<u64>();
    // SAFETY: the kernel reads a live word, and refuses an address where nothing is mapped; the
    // caller vouches for what is there.
    let written = unsafe {
        call(libc::SYS_pwrite64, [file, (&raw const word).addr(), size, address as usize, 0, 0])
    };
    // SAFETY: the number of the file that was just opened.
    let _ = unsafe { call(libc::SYS_close, [file, 0, 0, 0, 0, 0]) };
    written == Ok(size)
}

/// Replaces the word at `address` by `new` if it is `old`; whether it was.
///
/// # Safety
/// `address` must be mapped, writable and 8-aligned, and a stack slot or dead stack memory: the
/// word holds a return address that csprof put there.
pub unsafe fn swap_word(address: u64, old: u64, new: u64) -> bool {
    // SAFETY: the caller vouches for the address; the access is atomic because a coroutine's
    // stack may have moved to another thread.
    let word =
        unsafe { AtomicU64::from_ptr(core::ptr::with_exposed_provenance_mut(address as usize)) };
    word.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_can_be_read_is_known_and_stays_as_it_is() {
        let page = map_anonymous(2 * PAGE_SIZE).expect("two pages");
        let start = page.as_ptr() as u64;
        // Equal to what the kernel compares the first word with, and another one beside it.
        // SAFETY: mapped above, writable and aligned.
        unsafe { page.cast::<u32>().write(start as u32) };
        assert!(is_readable(start) && is_readable(start + 5));
        // SAFETY: as above.
        assert_eq!(unsafe { page.cast::<u32>().read() }, start as u32);
        // SAFETY: the second of the pages mapped above.
        let hidden = unsafe { page.add(PAGE_SIZE) };
        // SAFETY: nothing else uses that page.
        assert_eq!(unsafe { libc::mprotect(hidden.as_ptr().cast(), PAGE_SIZE, 0) }, 0);
        assert!(!is_readable(start + PAGE_SIZE as u64));
        assert!(!is_readable(0) && !is_readable(u64::MAX - 7));
        // SAFETY: mapped above, and nothing refers to it.
        unsafe { unmap_anonymous(page, 2 * PAGE_SIZE) };
        let is_gone = || {
            let page = map_anonymous(PAGE_SIZE).expect("a page");
            let start = page.as_ptr() as u64;
            assert!(is_readable(start));
            // SAFETY: mapped above, and nothing refers to it.
            unsafe { unmap_anonymous(page, PAGE_SIZE) };
            !is_readable(start)
        };
        // Another thread may map something in its place at once.
        assert!((0..100).any(|_| is_gone()));
    }

    #[test]
    fn behind_the_end_of_a_mapped_file_nothing_can_be_read() {
        let path = std::env::temp_dir().join(format!("csprof-shortened-{}", std::process::id()));
        let mut file = std::fs::File::create_new(&path).expect("a file");
        std::fs::remove_file(&path).expect("its name is not needed");
        file.write_all(b"of 12 bytes.").expect("room");
        let (read, shared, file) = (libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: a mapping of its own.
        let mapped =
            unsafe { libc::mmap(core::ptr::null_mut(), 2 * PAGE_SIZE, read, shared, file, 0) };
        assert_ne!(mapped, libc::MAP_FAILED);
        let start = mapped as u64;
        assert!(is_readable(start) && is_readable(start + 8));
        assert!(!is_readable(start + PAGE_SIZE as u64));
        // SAFETY: mapped above, of that size.
        assert_eq!(unsafe { libc::munmap(mapped, 2 * PAGE_SIZE) }, 0);
    }
}
