//! For tests: waits, locks, owners of files and times, which depend on the machine.

use std::io;
use std::os::unix::fs::chown;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use nix::unistd::Uid;

#[path = "../../tests/src/notes.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod notes;

pub(crate) use notes::skip;

/// Whether it comes true, within a minute. As that a lock which was dropped is free: a program that
/// another test starts has all open files, and so the lock, until it runs.
pub(crate) fn comes_true(mut is_true: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !is_true() {
        if begin.elapsed() > Duration::from_secs(60) {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Makes a change; again, for a minute, while it is refused because another program holds the lock,
/// as several do in turns on a slow disk.
pub(crate) fn insist<T>(change: impl Fn() -> io::Result<T>) {
    let is_made = || match change() {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => false,
        made => made.map(|_| true).unwrap(),
    };
    assert!(comes_true(is_made));
}

/// CPU time of this thread.
pub(crate) fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

/// Gives a file to another user, as root can. Says so where even root may not: in a user namespace
/// without that user, or on some file systems.
pub(crate) fn is_given_away(path: &Path, user: u32) -> bool {
    let given = match Uid::effective().is_root() {
        true => chown(path, Some(user), None),
        false => Err(io::Error::other("only root can")),
    };
    if let Err(refused) = &given {
        let reason = format!("{} cannot be given to user {user} ({refused})", path.display());
        skip("files of another user", &reason);
    }
    given.is_ok()
}
