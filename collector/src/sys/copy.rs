//! `memcpy`, bound inside the collector.
//!
//! The compiler calls it for what is larger than a few words, on the signal side, too. Another library's
//! would be a function of the program: ThreadSanitizer puts one there that watches the collector's memory
//! and knows nothing of its locks. The symbol is hidden, so the program keeps its own.

core::arch::global_asm!(
    ".pushsection .text.memcpy, \"ax\", @progbits",
    ".globl memcpy",
    ".hidden memcpy",
    ".type memcpy, @function",
    "memcpy:",
    ".cfi_startproc",
    "mov rax, rdi",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    ".cfi_endproc",
    ".size memcpy, . - memcpy",
    ".popsection",
);
