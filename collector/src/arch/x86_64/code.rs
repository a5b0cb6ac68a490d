//! What a few instructions look like. Those that a frame's unwinding depends on are decoded in
//! [`unwind`](super::unwind).

/// Bytes in which [`is_plt_jump`] looks.
pub(crate) const LONGEST_STUB: u64 = 16;

/// Whether the code is a jump through memory relative to rip, as the stubs of linkage tables are.
pub(crate) fn is_plt_jump(code: &[u8; LONGEST_STUB as usize]) -> bool {
    let after_endbr =
        if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { &code[4..] } else { &code[..] };
    let after_bnd =
        if after_endbr.first() == Some(&0xf2) { &after_endbr[1..] } else { after_endbr };
    after_bnd.starts_with(&[0xff, 0x25])
}

/// `mov %rax, %fs:0x70`: sets the field of the thread control block that libgcc has for the end of
/// a stack that is split (libgcc/config/i386/morestack.S).
pub(crate) const SET_SPLIT_STACK_END: [u8; 9] = [0x64, 0x48, 0x89, 0x04, 0x25, 0x70, 0, 0, 0];

/// Ends the process by a fault, as far as its SIGSEGV has the default action.
pub(crate) fn fault() {
    // SAFETY: a fault is what is wanted.
    unsafe { core::arch::asm!("mov byte ptr [0], 0", options(nostack)) };
}

/// Defines a hidden function that is named by code that never runs. Must not be called.
#[cfg(panic = "abort")]
macro_rules! dead_end {
    ($symbol:literal) => {
        core::arch::global_asm!(
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ", @function"),
            concat!($symbol, ":"),
            "ud2",
            concat!(".size ", $symbol, ", . - ", $symbol),
        );
    };
}

/// Hides symbols that the linker defines: they are no names of the library's.
macro_rules! hide_symbols {
    ($($symbol:literal),+) => {
        core::arch::global_asm!($(concat!(".hidden ", $symbol)),+);
    };
}

#[cfg(panic = "abort")]
pub(crate) use dead_end;
pub(crate) use hide_symbols;
