//! The `syscall` instruction.

use core::arch::asm;

use super::Errno;

/// Calls the kernel with six arguments; unused ones are 0.
///
/// # Safety
/// The arguments must be valid for call `number`, as its manual page says: pointers to live
/// memory of the right size, and no effect that breaks what Rust relies on.
pub(super) unsafe fn call(number: i64, a: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 only and writes no memory but what the arguments
    // point to, for which the caller vouches.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0],
            in("rsi") a[1],
            in("rdx") a[2],
            in("r10") a[3],
            in("r8") a[4],
            in("r9") a[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}
