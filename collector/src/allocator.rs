//! The collector's own heap, so that the program's heap is the program's alone.
//!
//! Setup side only: tables of modules, log records. A program that counts its allocations, that
//! replaces malloc, or that forks while another thread allocates must not notice the collector.
//! Blocks are powers of two from 16 bytes; freed ones go onto a lock-free list of their size
//! (a stack whose head carries a tag against ABA), so a fork at any moment leaves it usable.
//! From 64 KiB on, each block is a mapping of its own.
//!
//! Rust ends the process where memory is refused, and a program under a limit (RLIMIT_AS) must not
//! end because of csprof. So there is a reserve, for what is small; and whoever needs much asks
//! [`has_room`] first, and whoever can do without asks [`is_low`].
//!
//! Invariant: never entered from a signal handler. Debug builds abort if it is.

#![expect(unsafe_code, reason = "a global allocator hands out raw memory")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};
#[cfg(debug_assertions)]
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::arch::PAGE_SIZE;
use crate::sys;

const SMALLEST: usize = 16;
const CLASSES: usize = 13;
/// Blocks of this size and more are mapped one by one.
const LARGE: usize = SMALLEST << (CLASSES - 1);
const CHUNK: usize = 1 << 20;
const ADDRESS_BITS: u32 = 48;

/// The allocator.
pub struct OwnHeap {
    /// Heads of the free lists: address in the low 48 bits, tag above.
    free: [AtomicU64; CLASSES],
    /// Next free byte of the current chunk, and its end.
    next: AtomicUsize,
    end: AtomicUsize,
}

#[global_allocator]
static HEAP: OwnHeap = OwnHeap {
    free: [const { AtomicU64::new(0) }; CLASSES],
    next: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
};

const fn class_of(size: usize) -> usize {
    let blocks = size.div_ceil(SMALLEST);
    if blocks <= 1 { 0 } else { blocks.next_power_of_two().trailing_zeros() as usize }
}

/// Bytes of the reserve: more than a fork, a thread's start and a look at the loader's list take in
/// all.
const RESERVE: usize = 1 << 19;

/// Memory that is there when the kernel refuses more. Its pages cost nothing until they are
/// touched.
#[repr(align(4096))]
struct Reserve {
    bytes: UnsafeCell<[u8; RESERVE]>,
    used: AtomicUsize,
}

// SAFETY: each part is handed out once, to one owner.
unsafe impl Sync for Reserve {}

static RESERVED: Reserve =
    Reserve { bytes: UnsafeCell::new([0; RESERVE]), used: AtomicUsize::new(0) };

impl Reserve {
    /// Takes zeroed memory for good; null if there is not enough.
    fn take(&self, size: usize, align: usize) -> *mut u8 {
        let place = |used: usize| used.next_multiple_of(align);
        // Relaxed: a part belongs to whoever moved the mark past it.
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let end = place(used).checked_add(size)?;
            (end <= RESERVE).then_some(end)
        });
        // SAFETY: inside the reserve, as was just checked.
        taken.map_or(null_mut(), |used| unsafe { self.bytes.get().cast::<u8>().add(place(used)) })
    }

    fn holds(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.bytes.get().addr()) < RESERVE
    }
}

/// Says whether the calling thread is in its handler: a `fn() -> bool`, null until it is known.
#[cfg(debug_assertions)]
static IS_IN_HANDLER: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Has debug builds end the process where memory is asked for in a handler.
#[cfg(debug_assertions)]
pub fn abort_where(is_in_handler: fn() -> bool) {
    // Relaxed: set before the first handler is.
    IS_IN_HANDLER.store(is_in_handler as *mut (), Ordering::Relaxed);
}

#[cfg(debug_assertions)]
fn abort_in_handler() {
    let question = IS_IN_HANDLER.load(Ordering::Relaxed);
    // SAFETY: stored by `abort_where` from this type.
    if !question.is_null() && unsafe { core::mem::transmute::<*mut (), fn() -> bool>(question) }() {
        // The defined way to say that an invariant is broken.
        sys::abort();
    }
}

/// Whether so many bytes could be had now.
#[must_use]
pub fn has_room(bytes: usize) -> bool {
    let Ok(block) = sys::map_anonymous(bytes) else { return false };
    // SAFETY: just mapped, and not used.
    unsafe { sys::unmap_anonymous(block, bytes) };
    true
}

/// Whether the reserve is in use and there is still no other memory: time to do without.
#[must_use]
pub fn is_low() -> bool {
    RESERVED.used.load(Ordering::Relaxed) > 0 && !has_room(CHUNK)
}

/// Bytes of private memory in use: all that is mapped, but for the part of the heap that was never
/// handed out and has no pages yet. Either side.
#[must_use]
pub fn bytes_in_use() -> u64 {
    // Relaxed: a number for people.
    let (next, end) = (HEAP.next.load(Ordering::Relaxed), HEAP.end.load(Ordering::Relaxed));
    let untouched = end.checked_sub(next).filter(|rest| *rest <= CHUNK).unwrap_or(0);
    sys::private_bytes().saturating_sub(untouched) as u64
}

impl OwnHeap {
    fn pop(&self, class: usize) -> Option<NonNull<u8>> {
        let head = &self.free[class];
        // Acquire: pairs with the release in `push`, so that the block's link is visible.
        let mut seen = head.load(Ordering::Acquire);
        loop {
            let address = seen & ((1 << ADDRESS_BITS) - 1);
            let block =
                NonNull::new(core::ptr::with_exposed_provenance_mut::<u8>(address as usize))?;
            // SAFETY: blocks are never unmapped, so a stale block is still readable; the tag
            // makes the exchange below fail if it was taken meanwhile.
            let link = unsafe { AtomicU64::from_ptr(block.as_ptr().cast()) };
            let next = link.load(Ordering::Relaxed) & ((1 << ADDRESS_BITS) - 1);
            let tag = (seen >> ADDRESS_BITS).wrapping_add(1) << ADDRESS_BITS;
            match head.compare_exchange_weak(seen, next | tag, Ordering::Acquire, Ordering::Acquire)
            {
                Ok(_) => return Some(block),
                Err(now) => seen = now,
            }
        }
    }

    fn push(&self, class: usize, block: *mut u8) {
        let head = &self.free[class];
        // SAFETY: the block was handed out from here, has at least 16 bytes, 16-aligned, and
        // its owner gave it back.
        let link = unsafe { AtomicU64::from_ptr(block.cast()) };
        let mut seen = head.load(Ordering::Relaxed);
        loop {
            link.store(seen & ((1 << ADDRESS_BITS) - 1), Ordering::Relaxed);
            let tag = (seen >> ADDRESS_BITS).wrapping_add(1) << ADDRESS_BITS;
            let new = block.expose_provenance() as u64 | tag;
            // Release: publishes the link to `pop`.
            match head.compare_exchange_weak(seen, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    fn carve(&self, size: usize) -> *mut u8 {
        loop {
            let end = self.end.load(Ordering::Acquire);
            let start = self.next.load(Ordering::Relaxed);
            if start != 0 && start + size <= end && end - start <= CHUNK {
                let taken = self.next.compare_exchange(
                    start,
                    start + size,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if taken.is_ok() {
                    return core::ptr::with_exposed_provenance_mut(start);
                }
                continue;
            }
            let Ok(chunk) = sys::map_anonymous(CHUNK) else {
                return RESERVED.take(size, SMALLEST);
            };
            let address = chunk.as_ptr().expose_provenance();
            // Two threads may both map a chunk; the later store wins and the other chunk's rest
            // is wasted. `next` beyond `end` or far below it sends `carve` around the loop.
            self.next.store(address, Ordering::Relaxed);
            // Release: pairs with the acquire above; a thread that sees the end sees the start.
            self.end.store(address + CHUNK, Ordering::Release);
        }
    }
}

// SAFETY: blocks are disjoint, at least as large and as aligned as asked (size classes are powers
// of two carved from page-aligned chunks in multiples of 16; alignments above 16 are served by
// whole pages), and stay valid until given back.
unsafe impl GlobalAlloc for OwnHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        #[cfg(debug_assertions)]
        abort_in_handler();
        if layout.size() >= LARGE || layout.align() > SMALLEST {
            let size = layout.size().max(1).next_multiple_of(PAGE_SIZE);
            let mapped = sys::map_anonymous(size).map(NonNull::as_ptr);
            let block = mapped.unwrap_or_else(|_| RESERVED.take(size, PAGE_SIZE));
            block.expose_provenance();
            return block;
        }
        let class = class_of(layout.size());
        self.pop(class).map_or_else(|| self.carve(SMALLEST << class), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= LARGE || layout.align() > SMALLEST {
            let size = layout.size().max(1).next_multiple_of(PAGE_SIZE);
            if let Some(block) = NonNull::new(block)
                && !RESERVED.holds(block.as_ptr())
            {
                // SAFETY: `alloc` mapped exactly this range for this layout.
                unsafe { sys::unmap_anonymous(block, size) };
            }
            return;
        }
        self.push(class_of(layout.size()), block);
    }

    /// What is mapped, or reserved, is zero.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.alloc(layout) };
        if layout.size() < LARGE && !block.is_null() {
            // SAFETY: just allocated, with so many bytes.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    /// A table that grows reaches megabytes: its pages are moved, not copied.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let whole_pages = |size: usize| size.max(1).next_multiple_of(PAGE_SIZE);
        let is_mapped = layout.size() >= LARGE && !RESERVED.holds(block);
        if is_mapped && size >= LARGE && layout.align() <= PAGE_SIZE {
            let Some(block) = NonNull::new(block) else { return null_mut() };
            // SAFETY: `alloc` mapped exactly this range for this layout, and the owner gives its
            // old pointer up.
            let moved = unsafe { sys::remap(block, whole_pages(layout.size()), whole_pages(size)) };
            return moved.map_or(null_mut(), |block| {
                block.as_ptr().expose_provenance();
                block.as_ptr()
            });
        }
        // SAFETY: as GlobalAlloc's own: a new block, a copy of what both have room for, and the
        // old block given back.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::rust_2024::*;

    use core::cell::UnsafeCell;
    use core::sync::atomic::AtomicUsize;

    use super::{RESERVE, Reserve, class_of};

    #[test]
    fn the_reserve_is_handed_out_once() {
        let reserve =
            Box::new(Reserve { bytes: UnsafeCell::new([0; RESERVE]), used: AtomicUsize::new(0) });
        let start = reserve.bytes.get().addr();
        let place = |block: *mut u8| block.addr().checked_sub(start);
        assert_eq!(place(reserve.take(48, 16)), Some(0));
        assert_eq!(place(reserve.take(100, 4096)), Some(4096));
        assert_eq!(place(reserve.take(16, 16)), Some(4208));
        assert!(reserve.take(RESERVE, 16).is_null());
        assert!(reserve.take(usize::MAX, 16).is_null());
        assert_eq!(place(reserve.take(16, 16)), Some(4224));
    }

    #[test]
    fn classes_double() {
        assert_eq!([1, 16, 17, 32, 33, 64, 65].map(class_of), [0, 0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_growing_block_keeps_its_contents() {
        let mut block = Vec::new();
        for value in 0..2_000_000_u32 {
            block.push(value);
        }
        block.shrink_to(1_000_000);
        assert!(block.iter().enumerate().all(|(index, &value)| index == value as usize));
        block.truncate(100);
        block.shrink_to_fit();
        assert_eq!(block.last(), Some(&99));
    }

    #[test]
    fn many_sizes_survive_many_threads() {
        let work = || {
            let mut kept: Vec<Vec<u8>> = Vec::new();
            for round in 0..2_000_usize {
                let size = (round * 37) % 5_000 + 1;
                kept.push(vec![(size % 251) as u8; size]);
                if round % 3 == 0 {
                    kept.swap_remove(round % kept.len());
                }
            }
            kept.iter().for_each(|block| {
                assert!(block.iter().all(|&byte| byte == (block.len() % 251) as u8));
            });
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    }
}
