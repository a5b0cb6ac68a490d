//! Large memory in huge pages, as far as the kernel has any.
//!
//! A profile of ten million nodes takes half a gigabyte, nearly all of it in a dozen columns. In
//! pages of 4 KiB, the kernel hands these out one by one, which took a fifth of the time until the
//! first screen. Where huge pages are given to those who ask (`madvise` in
//! `/sys/kernel/mm/transparent_hugepage/enabled`, the usual setting), this asks, for each
//! allocation that is worth it.

#![expect(unsafe_code, reason = "an allocator, and advice to the kernel about its memory")]

use std::alloc::{GlobalAlloc, Layout, System};

use nix::libc::{MADV_HUGEPAGE, madvise};

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Bytes from which on memory is asked for in huge pages: a few of these, which have 2 MiB.
const LARGE: usize = 4 << 20;

/// Bytes of a small page.
const PAGE: usize = 4096;

/// The system's allocator, with advice about large memory.
struct HugePages;

// SAFETY: it is the system's allocator; advice changes neither where memory is nor what is in it.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Memory of so many bytes, for which the kernel is asked for huge pages if it is large.
fn advised(memory: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= LARGE && !memory.is_null() {
        let page = memory.map_addr(|address| address & !(PAGE - 1));
        // SAFETY: these pages hold the allocation, and MADV_HUGEPAGE changes no contents
        // (madvise(2)). A kernel without huge pages refuses, and nothing is lost.
        let _advice = unsafe { madvise(page.cast(), bytes, MADV_HUGEPAGE) };
    }
    memory
}

#[cfg(test)]
mod tests {
    use std::fs;

    /// The flags of the mapping that an address is in (proc_pid_smaps(5)).
    fn flags(address: usize) -> String {
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_in = false;
        for line in smaps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let ends = range.and_then(|(start, end)| {
                let number = |text| usize::from_str_radix(text, 16).ok();
                Some(number(start)?..number(end)?)
            });
            is_in = ends.map_or(is_in, |ends| ends.contains(&address));
            if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| is_in) {
                return flags.to_owned();
            }
        }
        String::new()
    }

    #[test]
    fn large_memory_asks_for_huge_pages() {
        if !fs::exists("/sys/kernel/mm/transparent_hugepage").unwrap() {
            eprintln!("skipped: the kernel has no huge pages");
            return;
        }
        let large = vec![1_u8; 64 << 20];
        assert!(flags(large.as_ptr().addr() + (32 << 20)).contains(" hg"));
    }
}
