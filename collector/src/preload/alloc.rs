//! What the program asks its allocator for: `alloc`, `alloc-calls` and `leak`.
//!
//! The stubs of malloc(3) and calloc(3) [subtract](requests) and jump on, and so do all where no
//! such source is in use, after a look at a flag. A request that ends a period is counted after the
//! real function has granted it, for what was refused is nobody's memory: a large one, and one of
//! the rarer functions, is always looked at then.
//!
//! Counted are calls by name: those of the program, of its libraries and of the C library, which
//! calls its own allocator by name as well. C++'s `operator new` is one of those that call malloc,
//! and Rust's allocator is. Not seen is an allocator that the program brings along under other
//! names, or one whose functions come before these.
//!
//! Of a block that is resized, what it grows by is counted: beyond what the allocator says that it
//! has room for.

#![expect(unsafe_code, reason = "stubs in front of C functions")]

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

use csprof_format::loss::LossReason;

use super::real::{Real, functions};
use super::stub::{self, wrappers};
use super::view::sampled;
use crate::arch::{Call, Route};
use crate::sampler::blocks::{self, FACTOR, FILTER, Resized};
use crate::sampling::call::on_requests;
use crate::sources::requests::{self, BLOCKS_FOLLOWED, MOST_AHEAD, REQUESTS_COUNT};
use crate::{c_library, messages, modules, process};

/// Whether the allocator is the one that says what its blocks have room for.
static KNOWS_SIZES: AtomicBool = AtomicBool::new(false);

/// Looks whose allocator it is. Says so if its functions come before these. Setup side.
pub(super) fn begin() {
    if !REQUESTS_COUNT.is_set() {
        return;
    }
    let (malloc, size) = (malloc::REAL.address(), malloc_usable_size::REAL.address());
    let is_one = base_of(malloc).is_some_and(|base| base_of(size) == Some(base));
    KNOWS_SIZES.store(is_one, Ordering::Relaxed);
    if !modules::function_before(c"malloc").is_null() {
        messages::note(
            "the program has its own malloc, which comes before csprof's: alloc, alloc-calls, \
             leak and phase-leak do not see what is asked of it",
        );
    }
}

/// Where the module that has this address begins.
fn base_of(address: *mut c_void) -> Option<usize> {
    if address.is_null() {
        return None;
    }
    // SAFETY: zeros are a valid structure of pointers.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: fills a local structure.
    let is_found = unsafe { c_library::dladdr(address, &raw mut info) } != 0;
    is_found.then(|| info.dli_fbase.addr())
}

/// Where to go on for a real function. One that is looked for while it is being looked for grants
/// nothing: dlsym(3) of an old C library asks for memory, and can do without.
fn target(real: &Real) -> *mut c_void {
    static LOOKING: AtomicBool = AtomicBool::new(false);
    if real.is_found() {
        return stub::target(real);
    }
    // Relaxed: before the constructor, when there is one thread.
    if LOOKING.swap(true, Ordering::Relaxed) {
        return refuse as *mut c_void;
    }
    let address = real.address();
    LOOKING.store(false, Ordering::Relaxed);
    if address.is_null() { refuse as *mut c_void } else { address }
}

extern "C" fn refuse() -> *mut c_void {
    core::ptr::null_mut()
}

/// Calls the real function if the request may be counted afterwards.
extern "C" fn request(_: &mut Call, real: &Real) -> Route {
    Route { target: target(real), calls: usize::from(REQUESTS_COUNT.is_set()) }
}

/// What a request was for, whether its stub has subtracted it, and where it was granted; null if it
/// was not.
#[derive(Clone, Copy)]
struct Request {
    bytes: usize,
    is_subtracted: bool,
    granted: usize,
}

/// Counts a request that was granted. Samples those that end a period.
fn count(call: &Call, Request { bytes, is_subtracted, granted }: Request) {
    let bytes = bytes as u64;
    match (is_subtracted, granted) {
        (true, 0) => requests::take_back(bytes),
        (false, 1..) => requests::count(bytes),
        _ => {}
    }
    if granted != 0 && requests::is_exceeded() && sampled() {
        on_requests(granted as u64, call.caller_registers());
    }
}

/// Of a stub that subtracts; `None` is more than there is a number for.
fn ahead(call: &Call, bytes: Option<usize>) {
    let Some(bytes) = bytes else { return };
    let is_subtracted = bytes as u64 <= MOST_AHEAD;
    count(call, Request { bytes, is_subtracted, granted: call.result });
}

/// Of any other.
fn behind(call: &Call, bytes: usize, granted: usize) {
    count(call, Request { bytes, is_subtracted: false, granted });
}

extern "C" fn after_malloc(call: &mut Call) {
    ahead(call, Some(call.arguments[0]));
}

extern "C" fn after_calloc(call: &mut Call) {
    ahead(call, call.arguments[0].checked_mul(call.arguments[1]));
}

/// Of those that take the size first.
extern "C" fn after_first(call: &mut Call) {
    behind(call, call.arguments[0], call.result);
}

/// Of those that take the size second, behind an alignment.
extern "C" fn after_second(call: &mut Call) {
    behind(call, call.arguments[1], call.result);
}

/// Of posix_memalign(3), which returns an error number and stores the address.
extern "C" fn after_posix_memalign(call: &mut Call) {
    // `int`: the upper half is not the function's.
    if call.result as u32 == 0 {
        let place: *const usize = core::ptr::with_exposed_provenance(call.arguments[0]);
        // SAFETY: the program's argument, to which the function has written.
        behind(call, call.arguments[2], unsafe { place.read() });
    }
}

/// Words of the room.
const ROOM_BEFORE: usize = 0;
const IS_FOLLOWED: usize = 1;

functions! {
    fn malloc_usable_size(block: *mut c_void) -> usize, else 0;
}

/// Notes what the block has room for, and that it may be given back.
extern "C" fn resize(call: &mut Call, real: &Real) -> Route {
    if !REQUESTS_COUNT.is_set() {
        return Route { target: target(real), calls: 0 };
    }
    let block = call.arguments[0];
    let asks = block != 0 && KNOWS_SIZES.load(Ordering::Relaxed);
    let pointer = core::ptr::with_exposed_provenance_mut(block);
    // SAFETY: the program's block, of the allocator of which this function is, and in use until
    // the real function is called.
    let room = asks.then(|| unsafe { malloc_usable_size::real(pointer) });
    call.room[ROOM_BEFORE] = room.unwrap_or(0) as u64;
    let follows = blocks::may_be_followed(block as u64) && process::current().is_some();
    let resized = follows.then(|| Resized::begin(block as u64, number(call))).flatten();
    call.room[IS_FOLLOWED] = u64::from(resized.is_some());
    Route { target: target(real), calls: 1 }
}

/// Tells calls of realloc(3) apart that are under way at the same time: each is on its own stack.
fn number(call: &Call) -> u64 {
    (&raw const *call).addr() as u64 >> 4 & 0xffff
}

/// Counts what the block has grown by.
extern "C" fn resized(call: &mut Call) {
    let (bytes, granted) = (call.arguments[1], call.result);
    if call.room[IS_FOLLOWED] != 0 {
        let block = Resized::again(call.arguments[0] as u64, number(call));
        match (granted, bytes) {
            (0, 0) => block.is_gone(),
            (0, _) => block.failed(),
            _ => {
                if let Some(process) = process::current() {
                    let lost = block.moved(process.arena, granted as u64);
                    if lost > 0 {
                        process.arena.count_loss(LossReason::NotFollowed, lost);
                    }
                }
            }
        }
    }
    let room = call.room[ROOM_BEFORE] as usize;
    behind(call, bytes.saturating_sub(room), granted);
}

/// A block that may be followed is given back. Returns where to jump.
pub(super) extern "C" fn give_back(call: &mut Call, real: &Real) -> *mut c_void {
    // In the child of a fork by hand the table is the parent's.
    if BLOCKS_FOLLOWED.is_set() && process::current().is_some() {
        blocks::given_back(call.arguments[0] as u64);
    }
    target(real)
}

wrappers! {
    /// malloc(3).
    call {subtracts argument 0 from "csprof_stretch" at most MOST_AHEAD} malloc where REQUESTS_COUNT:
        request, after_malloc;
    /// calloc(3).
    call {subtracts product from "csprof_stretch" at most MOST_AHEAD} calloc where REQUESTS_COUNT:
        request, after_calloc;
    /// realloc(3). The C library's reallocarray(3) calls it.
    call realloc where REQUESTS_COUNT: resize, resized;
    /// posix_memalign(3).
    call posix_memalign where REQUESTS_COUNT: request, after_posix_memalign;
    /// aligned_alloc(3).
    call aligned_alloc where REQUESTS_COUNT: request, after_second;
    /// memalign(3).
    call memalign where REQUESTS_COUNT: request, after_second;
    /// valloc(3).
    call valloc where REQUESTS_COUNT: request, after_first;
    /// pvalloc(3).
    call pvalloc where REQUESTS_COUNT: request, after_first;
    /// free(3).
    jump {argument 0 times FACTOR, in FILTER} free where BLOCKS_FOLLOWED: give_back;
}
