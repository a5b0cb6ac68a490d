//! What the processor, the kernel and the C library have on x86-64.

use core::ffi::CStr;

use super::call::system_call;

/// Bytes of a page.
pub(crate) const PAGE_SIZE: usize = 4096;

/// What an ELF file for it says in `e_machine`.
pub(crate) const ELF_MACHINE: u16 = 62;

/// Just below the end of user space with four-level paging.
pub(crate) const USER_END: u64 = 0x7fff_ffff_f000;

/// The oldest version of the C library's symbols: every glibc has them in it, if only as old ones.
pub(crate) const FIRST_GLIBC: &CStr = c"GLIBC_2.2.5";

/// Kinds of relocations by which the loader writes the address of a function that a module calls:
/// R_X86_64_GLOB_DAT and R_X86_64_JUMP_SLOT.
pub(crate) const IMPORTS: [u32; 2] = [6, 7];

/// The function by which libunwind goes from frame to frame.
pub(crate) const LIBUNWIND_STEP: &CStr = c"_ULx86_64_step";

/// Whether this thread has a hardware shadow stack, where a replaced return address is a fault:
/// arch_prctl(2), ARCH_SHSTK_STATUS (Linux 6.6).
#[must_use]
pub(crate) fn has_shadow_stack() -> bool {
    const ARCH_SHSTK_STATUS: usize = 0x5005;
    const ARCH_SHSTK_SHSTK: u64 = 1;
    let mut features = 0_u64;
    // SAFETY: the kernel writes one word.
    let answer = unsafe {
        system_call(
            libc::SYS_arch_prctl,
            [ARCH_SHSTK_STATUS, (&raw mut features).addr(), 0, 0, 0, 0],
        )
    };
    answer >= 0 && features & ARCH_SHSTK_SHSTK != 0
}

/// Whether the processor has protection keys and the kernel lets programs use them: pkeys(7).
pub(super) fn has_protection_keys() -> bool {
    /// CPUID.(EAX=7, ECX=0):ECX.OSPKE.
    const OSPKE: u32 = 1 << 4;
    // Every x86-64 processor has the instruction.
    let highest = core::arch::x86_64::__cpuid(0).eax;
    highest >= 7 && core::arch::x86_64::__cpuid_count(7, 0).ecx & OSPKE != 0
}
