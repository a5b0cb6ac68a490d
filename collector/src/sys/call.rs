//! A call of the kernel, and its answer.

use super::Errno;
use crate::arch;

/// Calls the kernel with six arguments; unused ones are 0.
///
/// # Safety
/// The arguments must be valid for call `number`, as its manual page says: pointers to live
/// memory of the right size, and no effect that breaks what Rust relies on.
#[inline]
pub(super) unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: by contract.
    let result = unsafe { arch::system_call(number, arguments) };
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// Makes a call of the program's.
///
/// # Safety
/// As the program's caller promised the manual page of call `number`; unused arguments are 0.
pub unsafe fn by_number(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: by contract.
    unsafe { call(number, arguments) }
}
