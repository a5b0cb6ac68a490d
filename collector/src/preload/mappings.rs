//! What the program maps that is no file: `mmap`.
//!
//! Counted are mmap(2), and by what mremap(2) lets a mapping grow, by name: what the C library maps
//! itself, for malloc(3) and for stacks of threads, goes by no name. What another allocator maps
//! for its malloc is not counted either, so that memory which the program asked malloc for is that
//! of `alloc` alone. Nor are addresses that are set aside without access.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use csprof_format::launch::SourceKind;

use super::alloc::malloc;
use super::counted;
use super::io::read;
use super::real::Real;
use super::stub::{self, wrappers};
use super::view::sampled;
use crate::arch::{Call, PAGE_SIZE, Route};
use crate::modules::foreign::range_of;
use crate::sources::flag::flag;

flag! {
    /// Whether what the program maps is counted.
    MAPPINGS_COUNT: Mmap
}

/// Where the code of the allocator is; 0 to 0 where it is the C library's, or the program's own.
static ALLOCATOR: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Looks whose malloc(3) it is. Setup side.
pub(super) fn begin() {
    if !MAPPINGS_COUNT.is_set() {
        return;
    }
    let [malloc, library] = [malloc::REAL.address(), read::REAL.address()];
    let range = |address: *mut c_void| range_of(address.addr() as u64);
    let of_allocator = range(malloc).filter(|of| range(library).as_ref() != Some(of));
    if let Some(of) = of_allocator {
        // Relaxed: what is mapped before is nobody's.
        ALLOCATOR[0].store(of.start, Ordering::Relaxed);
        ALLOCATOR[1].store(of.end, Ordering::Relaxed);
    }
}

/// Calls the real function if it is counted afterwards.
extern "C" fn before(_: &mut Call, real: &Real) -> Route {
    let counts = MAPPINGS_COUNT.is_set() && sampled();
    Route { target: stub::target(real), calls: usize::from(counts) }
}

/// Whether the allocator has called.
fn is_of_allocator(call: &Call) -> bool {
    let [start, end] =
        [0, 1].map(|at: usize| ALLOCATOR.get(at).map_or(0, |bound| bound.load(Ordering::Relaxed)));
    (start..end).contains(&call.caller)
}

fn count(call: &Call, bytes: usize) {
    // MAP_FAILED.
    if call.result != usize::MAX && !is_of_allocator(call) {
        counted::add(call, SourceKind::Mmap, bytes as u64);
    }
}

/// Whole pages.
fn pages(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(PAGE_SIZE).unwrap_or(0)
}

extern "C" fn after_mmap(call: &mut Call) {
    let [_, bytes, access, flags, ..] = call.arguments;
    let has_access = access as c_int != libc::PROT_NONE;
    if has_access && flags as c_int & libc::MAP_ANONYMOUS != 0 {
        count(call, pages(bytes));
    }
}

extern "C" fn after_mremap(call: &mut Call) {
    let [_, before, bytes, ..] = call.arguments;
    count(call, pages(bytes).saturating_sub(pages(before)));
}

wrappers! {
    /// mmap(2).
    call mmap where MAPPINGS_COUNT: before, after_mmap;
    /// The same under its other name.
    call mmap64 where MAPPINGS_COUNT: before, after_mmap;
    /// mremap(2).
    call mremap where MAPPINGS_COUNT: before, after_mremap;
}
