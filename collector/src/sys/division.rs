//! Files that take or give a part of what a call asks for when a signal comes, however little that
//! is: sockets and terminals.
//!
//! The kernel is asked, for a number may be another file by now. What it was last time is asked
//! first, so that one call answers for all files. A socket is taken for one a few times more: who
//! takes another file for a socket has its samples wait, and does no harm.

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
const SOCKET: u8 = 2;

/// By file number, the kind that it was last. Above that, of a socket, how many more calls take it
/// for one.
static LAST: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];
const KIND: u8 = 3;
const ONE_CALL: u8 = KIND + 1;
const MOST_CALLS: u8 = !KIND;

/// Whether a call for few bytes may come back with a part of them, or with `EINTR`, because a
/// signal came whose handler asks for restarts.
#[must_use]
pub fn is_divided(number: i32, way: Way) -> bool {
    if way == Way::AtPlace {
        return false;
    }
    let last = usize::try_from(number).ok().and_then(|number| LAST.get(number));
    // Relaxed: who sees an old one asks more.
    let known = last.map_or(0, |last| last.load(Ordering::Relaxed));
    if let (Some(last), Some(fewer)) = (last, known.checked_sub(ONE_CALL)) {
        last.store(fewer, Ordering::Relaxed);
        return true;
    }
    let mut kinds = KINDS.iter().zip(0..).cycle().skip(known.into()).take(KINDS.len());
    let answer = kinds.find_map(|(asks, kind)| Some((asks(number, way)?, kind)));
    // Others give what they have, or wait for it.
    let (is_divided, kind) = answer.unwrap_or((false, 0));
    let now = if kind == SOCKET { kind | MOST_CALLS } else { kind };
    if now != known
        && let Some(last) = last
    {
        last.store(now, Ordering::Relaxed);
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

/// Takes what it has room for, and gives a part where it waits for several bytes; with a time limit
/// it ends with `EINTR` (SO_RCVLOWAT, SO_RCVTIMEO, socket(7)). One without these is no other here:
/// a signal of the program's that is to end its wait comes with no sample's.
fn socket(number: i32, _: Way) -> Option<bool> {
    let (mut kind, mut bytes) = (0_i32, size_of::<i32>() as u32);
    let (kind, bytes) = ((&raw mut kind).addr(), (&raw mut bytes).addr());
    let option = [libc::SOL_SOCKET as usize, libc::SO_TYPE as usize, kind, bytes];
    asks(number, libc::SYS_getsockopt, option).then_some(true)
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
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;

    /// Of the same file again and again, for the first question differs; and not of the socket that
    /// had its number in another test.
    fn both(file: &impl AsRawFd) -> [bool; 2] {
        let number = file.as_raw_fd();
        for _ in 0..=MOST_CALLS / ONE_CALL {
            let _ = is_divided(number, Way::Read);
        }
        let ways = || [Way::Read, Way::Write].map(|way| is_divided(number, way));
        assert_eq!(ways(), ways());
        assert!(!is_divided(number, Way::AtPlace));
        ways()
    }

    #[test]
    fn a_number_is_asked_again() {
        let (here, there) = UnixStream::pair().unwrap();
        let file = File::open("/proc/self/maps").unwrap();
        let number = there.as_raw_fd();
        assert_eq!([both(&here), both(&there)], [[true, true]; 2]);
        // SAFETY: two numbers of this test's own.
        assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), number) }, number);
        let asks = (0..=u8::MAX).filter(|_| !is_divided(number, Way::Read)).count();
        assert!((190..250).contains(&asks), "{asks}");
        assert_eq!(both(&there), [false, false]);
        // SAFETY: as above.
        assert_eq!(unsafe { libc::dup2(here.as_raw_fd(), number) }, number);
        assert_eq!(both(&there), [true, true]);
    }

    #[test]
    fn a_terminal_gives_a_part_where_it_waits_for_several_bytes() {
        let (mut master, mut slave) = (0, 0);
        let name = core::ptr::null_mut();
        // SAFETY: live locals; no name and no settings.
        let opened = unsafe {
            libc::openpty(
                &raw mut master,
                &raw mut slave,
                name,
                core::ptr::null_mut(),
                core::ptr::null_mut(),
            )
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
