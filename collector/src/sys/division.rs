//! Files that take or give a part of what a call asks for when a signal comes, however little that
//! is: sockets and terminals.
//!
//! The kernel is asked each time, for a number may be another file by now. What it was last time is
//! asked first, so that one call of the kernel's answers for all files but sockets.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, Ordering};

use super::call::call;

/// What a call does with the bytes of its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It reads or writes at a place of the file, which neither sockets nor terminals have.
    AtPlace,
}

/// Kinds of files. Each is recognized by a request that fails for all others.
const KINDS: [fn(i32, Way) -> Option<bool>; 4] = [seekable, pipe, socket, terminal];

/// By file number, the kind that it was last.
static LAST: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];

/// Whether a call for few bytes may come back with a part of them, or with `EINTR`, because a signal
/// came whose handler asks for restarts.
#[must_use]
pub fn is_divided(number: i32, way: Way) -> bool {
    if way == Way::AtPlace {
        return false;
    }
    let last = usize::try_from(number).ok().and_then(|number| LAST.get(number));
    // Relaxed: who sees an old one asks more.
    let first = last.map_or(0, |last| usize::from(last.load(Ordering::Relaxed)));
    let mut kinds = KINDS.iter().zip(0..).cycle().skip(first).take(KINDS.len());
    let answer = kinds.find_map(|(asks, kind)| Some((asks(number, way)?, kind)));
    // Others give what they have, or wait for it.
    let (is_divided, kind) = answer.unwrap_or((false, 0));
    if usize::from(kind) != first
        && let Some(last) = last
    {
        last.store(kind, Ordering::Relaxed);
    }
    is_divided
}

fn asks(number: i32, request: i64, [one, two, three, four]: [usize; 4]) -> bool {
    // SAFETY: the caller passes numbers, or addresses of live locals that are large enough.
    unsafe { call(request, [number as usize, one, two, three, four, 0]) }.is_ok()
}

/// Has a place: lseek(2).
fn seekable(number: i32, _: Way) -> Option<bool> {
    asks(number, libc::SYS_lseek, [0, libc::SEEK_CUR as usize, 0, 0]).then_some(false)
}

/// Moves up to PIPE_BUF bytes at once (pipe(7)), or gives what it has.
fn pipe(number: i32, _: Way) -> Option<bool> {
    asks(number, libc::SYS_fcntl, [libc::F_GETPIPE_SZ as usize, 0, 0, 0]).then_some(false)
}

/// Takes what it has room for. Gives what it has, and goes on waiting for the first byte, unless it
/// has a time limit or waits for several (socket(7)).
fn socket(number: i32, way: Way) -> Option<bool> {
    // SO_RCVTIMEO answers with seconds and microseconds, the others with an `int`.
    let option = |option: i32| {
        let mut words = [0_u64; 2];
        let mut bytes = size_of_val(&words) as u32;
        let (to, length) = ((&raw mut words).addr(), (&raw mut bytes).addr());
        let known = [libc::SOL_SOCKET as usize, option as usize, to, length];
        asks(number, libc::SYS_getsockopt, known).then_some(words)
    };
    if way == Way::Write {
        return option(libc::SO_TYPE).map(|_| true);
    }
    let has_limit = option(libc::SO_RCVTIMEO)? != [0, 0];
    Some(has_limit || option(libc::SO_RCVLOWAT).is_none_or(|[least, _]| least != 1))
}

/// Looks for signals after each part that it takes. Gives a line, or what it has, unless it waits
/// for several bytes (`VMIN`, termios(3)).
fn terminal(number: i32, way: Way) -> Option<bool> {
    /// The kernel's `struct termios` (include/uapi/asm-generic/termbits.h).
    #[repr(C)]
    struct Settings {
        modes: [u32; 4],
        line: u8,
        characters: [u8; 19],
    }
    const _: () = assert!(size_of::<Settings>() == 36 && offset_of!(Settings, characters) == 17);
    let mut settings = Settings { modes: [0; 4], line: 0, characters: [0; 19] };
    let to = (&raw mut settings).addr();
    if !asks(number, libc::SYS_ioctl, [libc::TCGETS as usize, to, 0, 0]) {
        return None;
    }
    let Settings { modes: [.., local], characters, .. } = settings;
    let waits_for_several = local & libc::ICANON == 0 && characters[libc::VMIN] > 1;
    Some(way == Way::Write || waits_for_several)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    /// Of the same file again and again, for the first question differs.
    fn both(file: &impl AsRawFd) -> [bool; 2] {
        let number = file.as_raw_fd();
        let ways = || [Way::Read, Way::Write].map(|way| is_divided(number, way));
        assert_eq!(ways(), ways());
        assert!(!is_divided(number, Way::AtPlace));
        ways()
    }

    #[test]
    fn a_number_is_asked_again_each_time() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let file = File::open("/proc/self/maps").unwrap();
        let number = here.as_raw_fd();
        assert_eq!(both(&here), [false, true]);
        // SAFETY: two numbers of this test's own.
        assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), number) }, number);
        assert_eq!(both(&here), [false, false]);
        there.write_all(b"nobody reads").unwrap_err();
    }

    #[test]
    fn a_socket_gives_a_part_where_it_has_a_time_limit_or_waits_for_several_bytes() {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(both(&here), [true, true]);
        let least = 100_i32;
        // SAFETY: a live local.
        let result = unsafe {
            libc::setsockopt(
                there.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVLOWAT,
                (&raw const least).cast(),
                4,
            )
        };
        assert_eq!((result, both(&there)), (0, [true, true]));
    }

    #[test]
    fn a_terminal_gives_a_part_where_it_waits_for_several_bytes() {
        let (mut master, mut slave) = (0, 0);
        let none = core::ptr::null_mut();
        // SAFETY: live locals; no name and no settings.
        let opened = unsafe {
            libc::openpty(&raw mut master, &raw mut slave, none.cast(), none.cast(), none.cast())
        };
        assert_eq!(opened, 0);
        // SAFETY: opened just now.
        let [_master, slave] = [master, slave].map(|file| unsafe { OwnedFd::from_raw_fd(file) });
        assert_eq!(both(&slave), [false, true]);
        // SAFETY: plain data, which the call fills.
        let mut settings: libc::termios = unsafe { core::mem::zeroed() };
        // SAFETY: a live local.
        unsafe { libc::tcgetattr(slave.as_raw_fd(), &raw mut settings) };
        // SAFETY: as above.
        unsafe { libc::cfmakeraw(&raw mut settings) };
        for (least, gives_a_part) in [(1, false), (2, true)] {
            settings.c_cc[libc::VMIN] = least;
            // SAFETY: as above.
            unsafe { libc::tcsetattr(slave.as_raw_fd(), libc::TCSANOW, &raw const settings) };
            assert_eq!(both(&slave), [gives_a_part, true]);
        }
    }

    #[test]
    fn other_files_give_and_take_all() {
        let mut ends = [0; 2];
        // SAFETY: a live local.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: opened just now.
        let ends = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        for end in &ends {
            assert_eq!(both(end), [false, false]);
        }
        assert_eq!(both(&File::open("/dev/zero").unwrap()), [false, false]);
    }
}
