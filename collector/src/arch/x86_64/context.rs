//! What the kernel hands to a handler: the interrupted registers, and the frame that they are saved
//! in (include/uapi/asm/sigcontext.h, `get_sigframe` in arch/x86/kernel/signal.c).

use core::ops::Range;

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

/// A number that tells the registers of the interrupted code from others.
pub(crate) fn fingerprint(context: &ucontext_t) -> u64 {
    // Of the flags, RF says how the code was interrupted.
    const RESUME: i64 = 1 << 16;
    let registers = context.uc_mcontext.gregs;
    let general = registers.get(..libc::REG_EFL as usize).unwrap_or_default();
    let flags = registers[libc::REG_EFL as usize] & !RESUME;
    general.iter().fold(flags.cast_unsigned(), |sum, register| {
        sum.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ register.cast_unsigned()
    })
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

/// Where a frame has the segments of a program of 32 bits: the kernel writes zeros there at each
/// signal, and reads nothing there when the handler returns (arch/x86/kernel/signal_64.c).
const SEGMENTS: usize = libc::REG_CSGSFS as usize;
const MARKED: i64 = 0xc5f0_5a3c_0000;
const ALL_MARKS: i64 = 0xffff_ffff_0000;

/// Marks a frame, until its handler returns.
pub(crate) fn mark_frame(context: &mut ucontext_t) {
    let word = &mut context.uc_mcontext.gregs[SEGMENTS];
    *word = *word & !ALL_MARKS | MARKED;
}

/// Whether it was [marked](mark_frame).
pub(crate) fn is_marked_frame(context: &ucontext_t) -> bool {
    context.uc_mcontext.gregs[SEGMENTS] & ALL_MARKS == MARKED
}

/// The contexts in frames of handlers that lie in a part of a stack, the innermost one first; and
/// what is left of frames in places to which nothing was written since.
///
/// # Safety
/// The stack is the thread's, and the part is mapped.
pub(crate) unsafe fn handler_frames(part: Range<u64>) -> impl Iterator<Item = *mut ucontext_t> {
    /// Of a program of 64 bits: what `uc_flags` has, but for one bit, and the segment of its code
    /// (asm/ucontext.h, asm/segment.h).
    const FLAGS: u64 = 6;
    const CODE_SEGMENT: i64 = 0x33;
    /// The return address lies below.
    const ALIGNMENT: u64 = 16;
    /// How far above the context the vector registers are, behind what else is in the frame: those
    /// of a copy that the program has made are elsewhere.
    const VECTORS: Range<u64> = 432..512;
    let last = part.end.saturating_sub(size_of::<ucontext_t>() as u64);
    let places = (part.start.next_multiple_of(ALIGNMENT)..last).step_by(ALIGNMENT as usize);
    places.filter_map(move |place| {
        let context = core::ptr::with_exposed_provenance_mut::<ucontext_t>(place as usize);
        // SAFETY: within the part, and plain data whatever it is.
        let flags = unsafe { (&raw const (*context).uc_flags).read_volatile() };
        if flags & !1 != FLAGS {
            return None;
        }
        // SAFETY: as above.
        let saved = unsafe { (&raw const (*context).uc_mcontext).read_volatile() };
        let sp = saved.gregs[libc::REG_RSP as usize].cast_unsigned();
        let vectors = saved.fpregs.addr() as u64;
        let is_frame = saved.gregs[SEGMENTS] & 0xffff == CODE_SEGMENT
            && (place..=part.end).contains(&sp)
            && VECTORS.contains(&vectors.wrapping_sub(place));
        is_frame.then_some(context)
    })
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
