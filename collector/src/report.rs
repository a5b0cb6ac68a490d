//! Messages for the user: kept in the arena's log, printed by `csprof record` at the end.
//!
//! Setup side. The program's own standard error stays its own, except when the collector cannot
//! work at all: then one line is all the user ever gets.

use crate::sys;
use alloc::borrow::ToOwned;
use alloc::format;
use core::sync::atomic::{AtomicU64, Ordering};

use csprof_format::arena::LogRecord;

static WARNED: AtomicU64 = AtomicU64::new(0);

/// Notes `text` once for each `id` (0..64) in this process.
pub fn warn_once(id: u32, text: &str) {
    let bit = 1 << (id & 63);
    if WARNED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        note(text);
    }
}

/// Notes `text` in the arena's log.
pub fn note(text: &str) {
    crate::process::log(&LogRecord::Message(text.to_owned()));
}

/// Says on standard error that the collector cannot work here.
pub fn inert(why: &str) {
    let line = format!("csprof: not profiling process {}: {why}\n", sys::pid());
    sys::write_message(line.as_bytes());
}
