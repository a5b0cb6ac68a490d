//! What the kernel hands to a handler: the interrupted registers, and the frame that they are saved
//! in (include/uapi/asm/sigcontext.h, `get_sigframe` in arch/x86/kernel/signal.c).

use libc::ucontext_t;

use super::unwind::registers::Registers;

/// The registers of the interrupted code.
#[inline]
pub(crate) fn registers(context: &ucontext_t) -> Registers {
    Registers::from_gregs(&context.uc_mcontext.gregs)
}

/// The interrupted instruction's address.
pub(crate) fn pc(context: &ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RIP as usize].cast_unsigned()
}

/// The stack pointer of the interrupted code.
pub(crate) fn sp(context: &ucontext_t) -> u64 {
    context.uc_mcontext.gregs[libc::REG_RSP as usize].cast_unsigned()
}

/// Bytes below the stack pointer that belong to the interrupted function (psABI, 3.2.2).
pub(crate) const RED_ZONE: u64 = 128;

/// The alignment of a frame's end, from which it is laid out downwards: that of the vector
/// registers.
pub(crate) const FRAME_ALIGNMENT: u64 = 64;

/// Where the frame of a handler ends, which begins with the return address, `ucontext_t` and
/// `siginfo_t`: behind the vector registers.
///
/// # Safety
/// `context` lies in such a frame of the kernel's.
pub(crate) unsafe fn frame_end(context: &ucontext_t) -> u64 {
    let registers = context.uc_mcontext.fpregs;
    // SAFETY: the frame's own pointer.
    registers.addr() as u64 + unsafe { bytes_of(registers.cast()) }
}

/// Puts the addresses right that a frame has of itself, when it was copied `down` bytes further
/// down.
pub(crate) fn frame_moved(context: &mut ucontext_t, down: u64) {
    let registers = &mut context.uc_mcontext.fpregs;
    *registers = registers.wrapping_byte_sub(down as usize);
}

/// Bytes of the saved vector registers, with what marks their end (`struct _fpx_sw_bytes`).
///
/// # Safety
/// `registers` is null or what the kernel has saved.
unsafe fn bytes_of(registers: *const u8) -> u64 {
    const LEGACY: u64 = 512;
    const AT_MAGIC: usize = 464;
    const MAGIC: u32 = 0x4650_5853;
    if registers.is_null() {
        return 0;
    }
    // SAFETY: the kernel's frame has at least the legacy part.
    let (magic, extended) = unsafe {
        let words = registers.add(AT_MAGIC).cast::<u32>();
        (words.read(), words.add(1).read())
    };
    if magic == MAGIC { u64::from(extended) } else { LEGACY }
}
