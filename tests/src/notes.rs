//! Lines that are shown even when all tests pass: what was skipped, what was measured but not
//! judged. They are written past the test runner, which would keep them to itself. Tests of the
//! viewer and the collector have this file, too.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says that a test, or a part of one, is skipped, and why. The lines of one test program are
/// numbered, so that the last one tells how often that was said.
pub fn skip(test: &str, reason: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    // A counter on its own; it orders nothing.
    let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    note(&format!("skipped ({number}): {test}: {reason}"));
}

/// Shows a line.
pub fn note(line: &str) {
    // One write, so that lines of tests that run side by side do not mix; if nobody reads them,
    // the tests go on.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
