//! Calls that read and write: how many, how many bytes, and how long they take.
//!
//! Counted is what a call returns. Bytes that the kernel copies from one file to another are read
//! and written. Calls by name from the program and its libraries are seen, and [those of
//! streams](super::streams).
//!
//! The wrappers of those that a sample would [cut short](transfers) hold it back.

#![expect(unsafe_code, reason = "reads the results in arrays of messages")]

use core::sync::atomic::{AtomicBool, Ordering};

use csprof_format::launch::SourceKind;

use super::counted;
use super::real::{Real, behind};
use super::signals::interruption::samples_may_meet_waits;
use super::signals::transfers::{hold_all, hold_bytes};
use super::stub::{self, UNBLOCKS, waits};
use super::view::sampled;
use crate::arch::{self, Call, Route};
use crate::sources::flag::flag;
use crate::sys::Way;

flag! {
    /// Whether calls that read and write are counted, what they move, or the time of it.
    pub(super) IO_COUNTS: IoRead, IoWrite, IoTime, IoCalls
}

/// Whether calls are looked at: they are counted, or samples may cut them short.
static LOOKED_AT: AtomicBool = AtomicBool::new(false);

/// Has them looked at, if need be. Setup side.
pub(super) fn watch() {
    let looks = IO_COUNTS.is_set() || samples_may_meet_waits();
    LOOKED_AT.store(looks, Ordering::Relaxed);
}

/// Whether the call is counted: its wrapper then calls the real function and asks one of those
/// below.
pub(in crate::preload) fn begin(call: &mut Call) -> bool {
    let counts = IO_COUNTS.is_set() && sampled();
    if counts {
        counted::begin(call, SourceKind::IoTime);
    } else {
        counted::leave_out(call);
    }
    counts
}

extern "C" fn before(call: &mut Call, real: &Real) -> Route {
    let calls = usize::from(begin(call));
    Route { target: stub::target(real), calls }
}

/// Before a call with a file, a buffer that is to be filled and how many bytes it has.
extern "C" fn before_read(call: &mut Call, real: &Real) -> Route {
    counted::counting(hold_bytes(call, real, Way::Read), begin(call))
}

/// Before one with a buffer that is to be written.
extern "C" fn before_write(call: &mut Call, real: &Real) -> Route {
    counted::counting(hold_bytes(call, real, Way::Write), begin(call))
}

/// Before one at a place of the file.
extern "C" fn before_placed(call: &mut Call, real: &Real) -> Route {
    counted::counting(hold_bytes(call, real, Way::AtPlace), begin(call))
}

/// Before another call that moves bytes.
extern "C" fn before_parts(call: &mut Call, real: &Real) -> Route {
    counted::counting(hold_all(call, real), begin(call))
}

/// After a call that returns how many bytes it has read.
pub(in crate::preload) extern "C" fn after_read(call: &mut Call) {
    after(call, &[SourceKind::IoRead], bytes);
}

/// After a call that returns how many bytes it has written.
pub(in crate::preload) extern "C" fn after_write(call: &mut Call) {
    after(call, &[SourceKind::IoWrite], bytes);
}

/// After a call that returns how many bytes have gone from one file to another.
extern "C" fn after_copy(call: &mut Call) {
    after(call, &[SourceKind::IoRead, SourceKind::IoWrite], bytes);
}

/// After recvmmsg(2).
pub(in crate::preload) extern "C" fn after_messages_read(call: &mut Call) {
    after(call, &[SourceKind::IoRead], bytes_of_messages);
}

/// After sendmmsg(2).
pub(in crate::preload) extern "C" fn after_messages_written(call: &mut Call) {
    after(call, &[SourceKind::IoWrite], bytes_of_messages);
}

/// After a call that moves no bytes that it tells of.
extern "C" fn after_sync(call: &mut Call) {
    after(call, &[], bytes);
}

fn after(call: &Call, kinds: &[SourceKind], amount: fn(&Call) -> u64) {
    if counted::end(call, SourceKind::IoTime) {
        counted::add(call, SourceKind::IoCalls, 1);
        for kind in kinds {
            counted::add(call, *kind, amount(call));
        }
    }
}

/// What the call has returned; 0 if it failed.
fn bytes(call: &Call) -> u64 {
    u64::try_from(call.result.cast_signed()).unwrap_or(0)
}

/// The lengths in the first messages of the second argument, of which the call, with the result of
/// an `int`, has returned how many there are.
fn bytes_of_messages(call: &Call) -> u64 {
    let count = usize::try_from(call.result as i32).unwrap_or(0);
    let first = core::ptr::with_exposed_provenance::<libc::mmsghdr>(call.arguments[1]);
    // SAFETY: the call has just filled in so many.
    let length = |at| unsafe { (&raw const (*first.add(at)).msg_len).read() };
    (0..count).map(|at| u64::from(length(at))).sum()
}

/// Defines what stands for a function of the C library's streams.
macro_rules! stream {
    ($($(#[$attribute:meta])* $name:ident = $real:ident: $after:path;)*) => {$(
        behind!($real);
        arch::stub! {
            $(#[$attribute])*
            #[unsafe(link_section = "csprof_waits")]
            {} call $name = $real::REAL, IO_COUNTS, before, $after
        }
    )*};
}

stream! {
    /// read(2) for a stream.
    stream_read = _IO_file_read: after_read;
    /// write(2) for a stream.
    stream_write = _IO_file_write: after_write;
}

waits! {
    /// read(2).
    hold read where LOOKED_AT: before_read, UNBLOCKS, after_read;
    /// read(2) as programs built with `_FORTIFY_SOURCE` call it; and so the next ones.
    hold __read_chk where LOOKED_AT: before_read, UNBLOCKS, after_read;
    /// pread(2).
    hold pread where LOOKED_AT: before_placed, UNBLOCKS, after_read;
    /// pread(2) where files are large; and so the next ones.
    hold pread64 where LOOKED_AT: before_placed, UNBLOCKS, after_read;
    /// pread(2), checked.
    hold __pread_chk where LOOKED_AT: before_placed, UNBLOCKS, after_read;
    /// pread(2), checked, where files are large.
    hold __pread64_chk where LOOKED_AT: before_placed, UNBLOCKS, after_read;
    /// readv(2).
    hold readv where LOOKED_AT: before_parts, UNBLOCKS, after_read;
    /// preadv(2).
    hold preadv where LOOKED_AT: before_parts, UNBLOCKS, after_read;
    /// preadv(2) where files are large.
    hold preadv64 where LOOKED_AT: before_parts, UNBLOCKS, after_read;
    /// preadv2(2).
    hold preadv2 where LOOKED_AT: before_parts, UNBLOCKS, after_read;
    /// preadv2(2) where files are large.
    hold preadv64v2 where LOOKED_AT: before_parts, UNBLOCKS, after_read;
    /// write(2).
    hold write where LOOKED_AT: before_write, UNBLOCKS, after_write;
    /// pwrite(2).
    hold pwrite where LOOKED_AT: before_placed, UNBLOCKS, after_write;
    /// pwrite(2) where files are large.
    hold pwrite64 where LOOKED_AT: before_placed, UNBLOCKS, after_write;
    /// writev(2).
    hold writev where LOOKED_AT: before_parts, UNBLOCKS, after_write;
    /// pwritev(2).
    hold pwritev where LOOKED_AT: before_parts, UNBLOCKS, after_write;
    /// pwritev(2) where files are large.
    hold pwritev64 where LOOKED_AT: before_parts, UNBLOCKS, after_write;
    /// pwritev2(2).
    hold pwritev2 where LOOKED_AT: before_parts, UNBLOCKS, after_write;
    /// pwritev2(2) where files are large.
    hold pwritev64v2 where LOOKED_AT: before_parts, UNBLOCKS, after_write;
    /// sendfile(2).
    hold sendfile where LOOKED_AT: before_parts, UNBLOCKS, after_copy;
    /// sendfile(2) where files are large.
    hold sendfile64 where LOOKED_AT: before_parts, UNBLOCKS, after_copy;
    /// splice(2).
    hold splice where LOOKED_AT: before_parts, UNBLOCKS, after_copy;
    /// copy_file_range(2).
    hold copy_file_range where LOOKED_AT: before_parts, UNBLOCKS, after_copy;
    /// fsync(2).
    call fsync where IO_COUNTS: before, after_sync;
    /// fdatasync(2).
    call fdatasync where IO_COUNTS: before, after_sync;
    /// sync_file_range(2).
    call sync_file_range where IO_COUNTS: before, after_sync;
    /// msync(2).
    call msync where IO_COUNTS: before, after_sync;
    /// sync(2).
    call sync where IO_COUNTS: before, after_sync;
    /// syncfs(2).
    call syncfs where IO_COUNTS: before, after_sync;
}
