//! What every architecture's folder must do.

#![expect(unsafe_code, reason = "functions of C")]

use core::ffi::{c_int, c_void};

unsafe extern "C" {
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
    fn bcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
    fn memcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
    fn strlen(text: *const core::ffi::c_char) -> usize;
}

/// In both directions, over itself, beside itself, and nothing.
#[test]
fn overlapping_bytes_are_moved_as_if_they_were_apart() {
    let line: [u8; 40] = core::array::from_fn(|at| at as u8);
    for (from, to, length) in (0..20)
        .flat_map(|from| (0..20).flat_map(move |to| [0, 1, 7, 20].map(|length| (from, to, length))))
    {
        let (mut moved, mut expected) = (line, line);
        expected[to..to + length].copy_from_slice(&line[from..from + length]);
        let start = moved.as_mut_ptr();
        // SAFETY: both ranges lie in the array.
        let said = unsafe { memmove(start.add(to).cast(), start.add(from).cast(), length) };
        assert_eq!(said.addr(), start.addr() + to);
        assert_eq!(moved, expected, "{length} bytes from {from} to {to}");
    }
}

#[test]
fn bytes_are_set_and_compared() {
    let mut set = [1_u8; 9];
    // SAFETY: inside the array; the byte is the lowest of the number.
    let said = unsafe { memset(set[2..].as_mut_ptr().cast(), 0x1_05, 5) };
    assert_eq!(said.addr(), set[2..].as_ptr().addr());
    assert_eq!(set, [1, 1, 5, 5, 5, 5, 5, 1, 1]);
    let compare = |one: &[u8], other: &[u8]| {
        // SAFETY: both have as many bytes as the shorter one.
        unsafe { bcmp(one.as_ptr().cast(), other.as_ptr().cast(), one.len().min(other.len())) }
    };
    assert_eq!(compare(b"abc", b"abc"), 0);
    assert_eq!(compare(b"", b"abc"), 0);
    assert_ne!(compare(b"abd", b"abc"), 0);
    assert_ne!(compare(b"bbc", b"abc"), 0);
    let order = |one: &[u8], other: &[u8]| {
        // SAFETY: both have as many bytes as the shorter one.
        unsafe { memcmp(one.as_ptr().cast(), other.as_ptr().cast(), one.len().min(other.len())) }
    };
    for (one, other) in
        [(&b"abc"[..], &b"abd"[..]), (b"a\x01z", b"a\xffa"), (b"", b"x"), (b"q", b"q")]
    {
        let length = one.len().min(other.len());
        assert_eq!(order(one, other).signum(), one[..length].cmp(&other[..length]) as c_int);
        assert_eq!(order(other, one).signum(), other[..length].cmp(&one[..length]) as c_int);
    }
    for text in [c"", c"a", c"some words"] {
        // SAFETY: a C string.
        assert_eq!(unsafe { strlen(text.as_ptr()) }, text.to_bytes().len());
    }
}
