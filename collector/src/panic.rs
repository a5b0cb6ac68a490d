//! What the standard library would bring: a panic ends the process by SIGABRT, with one line that
//! says where. Nothing is formatted on a heap.

#![expect(unsafe_code, reason = "a symbol in assembly")]

use core::fmt::Write;

use crate::sys;

/// Standard error.
struct Message;

impl Write for Message {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        sys::write_message(text.as_bytes());
        Ok(())
    }
}

#[panic_handler]
fn ended_by_panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Message, "csprof: {panic}");
    sys::abort()
}

// Frames of the standard library's that were compiled for unwinding name it. Nothing unwinds here.
crate::arch::dead_end!("rust_eh_personality");
