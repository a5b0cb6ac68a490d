//! `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp` and `strlen`, bound inside the collector.
//!
//! The compiler calls them for what is larger than a few words, on the signal side, too. Another library's
//! would be functions of the program: ThreadSanitizer puts some there that watch the collector's memory
//! and know nothing of its locks. The symbols are hidden, so the program keeps its own.
//!
//! String instructions: short, and nothing that is large is copied here (a table that grows is moved by
//! the kernel). The psABI has the direction flag clear at every call; so has the kernel in a handler.

core::arch::global_asm!(
    ".macro csprof_bytes name",
    ".globl \\name",
    ".hidden \\name",
    ".type \\name, @function",
    "\\name:",
    ".cfi_startproc",
    ".endm",
    ".macro csprof_end name",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    ".pushsection .text.csprof_bytes, \"ax\", @progbits",
    "csprof_bytes memcpy",
    "mov rax, rdi",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    "csprof_end memcpy",
    // Backwards, where the destination begins inside the source.
    "csprof_bytes memmove",
    "mov rax, rdi",
    "mov rcx, rdx",
    "sub rdi, rsi",
    "cmp rdi, rdx",
    "mov rdi, rax",
    "jb 2f",
    "rep movsb",
    "ret",
    "2:",
    "lea rdi, [rdi + rdx - 1]",
    "lea rsi, [rsi + rdx - 1]",
    "std",
    "rep movsb",
    "cld",
    "ret",
    "csprof_end memmove",
    "csprof_bytes memset",
    "mov r8, rdi",
    "mov eax, esi",
    "mov rcx, rdx",
    "rep stosb",
    "mov rax, r8",
    "ret",
    "csprof_end memset",
    // 0 if they are equal, as no bytes are: then the flags are those of `xor`.
    "csprof_bytes bcmp",
    "mov rcx, rdx",
    "xor eax, eax",
    "repe cmpsb",
    "setne al",
    "ret",
    "csprof_end bcmp",
    // The difference of the first bytes that differ, 0 if none do: then rcx has run out, too.
    "csprof_bytes memcmp",
    "mov rcx, rdx",
    "xor eax, eax",
    "xor edx, edx",
    "repe cmpsb",
    "je 3f",
    "movzx eax, byte ptr [rdi - 1]",
    "movzx edx, byte ptr [rsi - 1]",
    // rdi is the first argument: (first - second).
    "sub eax, edx",
    "3:",
    "ret",
    "csprof_end memcmp",
    "csprof_bytes strlen",
    "mov rcx, -1",
    "xor eax, eax",
    "repne scasb",
    "not rcx",
    "lea rax, [rcx - 1]",
    "ret",
    "csprof_end strlen",
    ".popsection",
    ".purgem csprof_bytes",
    ".purgem csprof_end",
);

#[cfg(test)]
mod tests {
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
        for (from, to, length) in (0..20).flat_map(|from| {
            (0..20).flat_map(move |to| [0, 1, 7, 20].map(|length| (from, to, length)))
        }) {
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
            unsafe {
                memcmp(one.as_ptr().cast(), other.as_ptr().cast(), one.len().min(other.len()))
            }
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
}
