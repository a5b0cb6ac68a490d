//! For tests: what they do not have in hand.

use std::io;
use std::os::unix::fs::chown;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Whether it comes true, within a minute. As that a lock which was dropped is free: a program that
/// another test starts has all open files, and so the lock, until it runs.
pub(crate) fn comes_true(mut is_true: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !is_true() {
        if begin.elapsed() > Duration::from_secs(60) {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Makes a change; again, for a minute, while it is refused because another program holds the lock,
/// as several do in turns on a slow disk.
pub(crate) fn insist<T>(change: impl Fn() -> io::Result<T>) {
    let is_made = || match change() {
        Err(error) if error.to_string().contains("another program holds") => false,
        made => made.map(|_| true).unwrap(),
    };
    assert!(comes_true(is_made));
}

/// Gives a file to another user. Says so where even root may not: in a user namespace without that
/// user, or on some file systems.
pub(super) fn is_given_away(path: &Path, user: u32) -> bool {
    let given = chown(path, Some(user), None);
    if let Err(refused) = &given {
        println!("skipped: {} cannot be given to user {user} ({refused})", path.display());
    }
    given.is_ok()
}
