//! What threads waited for: frames in a [pseudo module](WAITS), by the number of a system call.

use csprof_format::address::WAITS_FOR_PAGE;
use csprof_format::profile::{Frame, Profile, WAITS};
use syscalls::x86_64::Sysno;

/// Whether a frame is what a thread waited for.
pub(super) fn is_wait(profile: &Profile, frame: &Frame) -> bool {
    let path = |id| profile.modules.get(usize::try_from(id).ok()?).map(|module| module.path);
    let path = frame.module.and_then(|module| path(module.0));
    path.is_some_and(|path| profile.strings.get(path.index()).is_some_and(|text| **text == *WAITS))
}

/// What waits in the system call with this number, of x86-64, are called.
pub(super) fn name(number: u64) -> String {
    if number == u64::from(WAITS_FOR_PAGE) {
        return "[waits: page fault]".to_owned();
    }
    let call = usize::try_from(number).ok().and_then(Sysno::new);
    match call {
        Some(call) => format!("[waits: {}]", call.name()),
        None => format!("[waits: system call {number}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_manual_pages() {
        assert_eq!(name(0), "[waits: read]");
        assert_eq!(name(202), "[waits: futex]");
        assert_eq!(name(281), "[waits: epoll_pwait]");
        assert_eq!(name(u64::from(WAITS_FOR_PAGE)), "[waits: page fault]");
        assert_eq!(name(u64::MAX), format!("[waits: system call {}]", u64::MAX));
    }
}
