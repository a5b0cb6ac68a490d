//! What the C library's streams (stdio) read and write.
//!
//! Those are calls inside the C library, which no wrapper sees: by printf(3) when its buffer is
//! full, or by exit(3). But it makes them by tables of functions, `_IO_file_jumps` and others
//! around it, which are found by exported names. In these tables the functions that read and
//! write are replaced by stubs that call them. The C library checks where a table lies, not what
//! is in it. Only where reads and writes are counted; and only a word that is the address of such a
//! function is replaced.

#![expect(unsafe_code, reason = "reads and writes tables of the C library")]

use core::ops::Range;

use super::io::{_IO_file_read, _IO_file_write, IO_COUNTS, stream_read, stream_write};
use super::real::Real;
use crate::c_library;
use crate::messages;
use crate::sys;

/// Bytes of a table: 21 words (libio/libioP.h, `struct _IO_jump_t`).
const TABLE: u64 = 21 * 8;

/// The tables of two kinds of streams, between which those of others lie.
const TABLES: [&core::ffi::CStr; 2] = [c"_IO_file_jumps", c"_IO_wfile_jumps"];

/// Tables lie in a section of their own, of this many bytes at most. Farther apart, they do not lie
/// in one.
const MOST: u64 = 8 << 10;

/// Has them counted, if they are sampled. Setup side.
pub(super) fn count() {
    if !IO_COUNTS.is_set() {
        return;
    }
    let mut replaced = [false; 2];
    for words in tables() {
        for at in words.step_by(size_of::<u64>()) {
            for (function, replaced) in functions().into_iter().zip(&mut replaced) {
                *replaced |= replace(at, function);
            }
        }
    }
    if replaced != [true; 2] {
        messages::note(
            "what the C library's streams (printf, fread) read and write is not counted: their \
             table of functions cannot be changed",
        );
    }
}

/// Where words may be that are replaced.
fn tables() -> impl Iterator<Item = Range<u64>> {
    let [one, other] = TABLES.map(|name| c_library::next(name).expose_provenance() as u64);
    let (first, last) = (one.min(other), one.max(other));
    let table = |start| start..start + TABLE;
    let ranges = match last - first {
        _ if first == 0 => [0..0, 0..0],
        0..MOST => [first..last + TABLE, 0..0],
        _ => [table(first), table(last)],
    };
    ranges.into_iter().filter(|range| range.start % 8 == 0)
}

/// The functions that are replaced, with what stands for them.
fn functions() -> [(&'static Real, u64); 2] {
    let address = |stub: unsafe extern "C" fn()| (stub as *const ()).expose_provenance() as u64;
    [(&_IO_file_read::REAL, address(stream_read)), (&_IO_file_write::REAL, address(stream_write))]
}

/// Replaces the word at `at`, if it is the address of this function; whether it was.
fn replace(at: u64, (real, stub): (&Real, u64)) -> bool {
    let function = real.address().expose_provenance() as u64;
    // SAFETY: the stub does what the function does, so whoever reads either calls what it needs.
    function != 0 && sys::probe(at) == Some(function) && unsafe { sys::write_constant(at, stub) }
}
