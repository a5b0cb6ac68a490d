//! Lines that are shown even when all tests pass: what was skipped, what was measured but not
//! judged. They are written past the test runner, which would keep them to itself.

use std::io::{self, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Says that a test, or a part of one, is skipped, and why. The lines are numbered, so that the
/// last one tells how many there were.
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

/// From now on shows at once why a test fails, in short. The test runner tells all of it when every
/// test has ended, where a record of the end alone, or of the lines around a failure, has lost it.
pub fn show_failures() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let said = info.to_string();
            let short: String = said.chars().take(1000).collect();
            note(&format!("{}: {short}", thread::current().name().unwrap_or("a thread")));
            usual(info);
        }));
    });
}
