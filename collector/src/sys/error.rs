//! What the kernel answers where a call fails.

/// An error number of the kernel, see errno(3). Always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);
