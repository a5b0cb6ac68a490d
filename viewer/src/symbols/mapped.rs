//! Files mapped into memory, from which others may take pages away.
//!
//! Who reads a page behind the end of a file that was cut off meanwhile (`strip`, `cp` and some
//! linkers rewrite a file in place), or one that a disk cannot give, gets SIGBUS (mmap(2)). csprof
//! may be the only one who still has the samples then, so it must not die of it. Leases (fcntl(2))
//! would hold up the other program, and of a file on a network nothing can be known in advance. So
//! the signal is handled: the rest of the mapping is replaced by zeros, and whoever has the mapping
//! is told, and believes nothing of what was read.
//!
//! The signal is the reading thread's own and is delivered at once. The handler makes system calls
//! and touches atomic words, nothing else.

#![expect(unsafe_code, reason = "memory of files, and a handler for what may be missing of it")]

use std::fs::File;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memmap2::Mmap;
use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

/// Files mapped at a time; of more, [`Mapped::new`] maps none. A slot has 16 bytes.
const MOST_MAPPED: usize = 1024;

/// Bytes of a page of x86-64.
const PAGE: u64 = 4096;

/// Low bits of [`Slot::pages`]: mappings have less than 2^28 pages, which is 1 TiB. Addresses of
/// programs have 47 bits, so the number of a page has 35.
const COUNT_BITS: u32 = 28;

/// One mapping, as the handler sees it.
struct Slot {
    /// Number of its first page and count of its pages, in one word so that they always belong
    /// together; 0 if there is none.
    pages: AtomicU64,
    /// Some pages could not be read.
    is_damaged: AtomicBool,
}

static SLOTS: [Slot; MOST_MAPPED] =
    [const { Slot { pages: AtomicU64::new(0), is_damaged: AtomicBool::new(false) } }; MOST_MAPPED];

/// What was to be done about SIGBUS before: Rust's runtime looks for overflows of the stack.
static BEFORE: OnceLock<Option<SigAction>> = OnceLock::new();

/// A file in memory. Its bytes may change while they are read, or turn to zeros.
pub(super) struct Mapped {
    map: Mmap,
    slot: &'static Slot,
}

impl Mapped {
    /// Maps a regular file; `None` if that is not possible, also because it is empty.
    pub(super) fn new(file: &File) -> Option<Self> {
        BEFORE.get_or_init(handle).as_ref()?;
        // A thread inherits what is blocked. A signal of this kind that is blocked kills.
        let mut own = SigSet::empty();
        own.add(Signal::SIGBUS);
        own.thread_unblock().ok()?;
        // SAFETY: nobody here writes to it. Others may: what reads it expects a damaged file at any
        // time, as all do that read files of others, and pages that are gone are replaced. A `str`
        // of these bytes may cease to be UTF-8: nothing is read behind its end that is not mapped,
        // and what was made of it is dropped, since the file was changed.
        let map = unsafe { Mmap::map(file) }.ok().filter(|map| !map.is_empty())?;
        let first = map.as_ptr().addr() as u64 / PAGE;
        let count = (map.len() as u64).div_ceil(PAGE);
        if count >> COUNT_BITS != 0 || first >> (64 - COUNT_BITS) != 0 {
            return None;
        }
        let pages = first << COUNT_BITS | count;
        // Nobody else reads these pages, so nothing is to be ordered with the handler, which runs
        // on a thread that has the mapping. Acquire: after `drop` has set the flag back.
        let slot = SLOTS.iter().find(|slot| {
            slot.pages.compare_exchange(0, pages, Ordering::Acquire, Ordering::Relaxed).is_ok()
        })?;
        Some(Self { map, slot })
    }

    /// Whether a part could not be read and is zeros now.
    pub(super) fn is_damaged(&self) -> bool {
        self.slot.is_damaged.load(Ordering::Relaxed)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.slot.is_damaged.store(false, Ordering::Relaxed);
        // Release: pairs with the exchange in `new`. The pages are unmapped after this.
        self.slot.pages.store(0, Ordering::Release);
    }
}

/// Installs the handler; what was there before, or `None` if that fails.
fn handle() -> Option<SigAction> {
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK;
    let action = SigAction::new(SigHandler::SigAction(on_sigbus), flags, SigSet::empty());
    // SAFETY: the handler is async-signal-safe.
    unsafe { sigaction(Signal::SIGBUS, &action) }.ok()
}

/// Replaces what is missing of a mapping.
extern "C" fn on_sigbus(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let error = Errno::last_raw();
    // SAFETY: the kernel passes a valid one.
    let code = unsafe { (*info).si_code };
    // SAFETY: as above. What a process sent (kill(2)) has no address, but other numbers in its
    // place.
    let page = unsafe { (*info).si_addr() }.addr() as u64 / PAGE;
    let mut is_ours = false;
    for slot in SLOTS.iter().filter(|_| code > 0) {
        let pages = slot.pages.load(Ordering::Relaxed);
        let (first, count) = (pages >> COUNT_BITS, pages & ((1 << COUNT_BITS) - 1));
        if page >= first && page - first < count {
            slot.is_damaged.store(true, Ordering::Relaxed);
            is_ours = put_zeros(page, first + count - page);
        }
    }
    Errno::set_raw(error);
    match is_ours {
        true => {}
        false => {
            pass_on(number, info, context, code > 0);
            // Of what was sent no instruction is tried again. It comes when this handler has
            // returned.
            if code <= 0 && is_default() {
                let _ = raise(Signal::SIGBUS);
            }
        }
    }
}

/// Replaces pages by zeros. All that follow a missing one: they are behind the end of the file, or
/// not worth having any more, and one by one they might be more than a process may map.
fn put_zeros(page: u64, count: u64) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let at = std::ptr::with_exposed_provenance_mut((page * PAGE) as usize);
    // SAFETY: the pages are a mapping of this module, which the faulting thread has and so is not
    // being dropped; they stay readable.
    let put = unsafe { libc::mmap(at, (count * PAGE) as usize, libc::PROT_READ, flags, -1, 0) };
    put != libc::MAP_FAILED
}

/// Does what would have been done without this module, of a fault or of what was sent.
fn pass_on(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
    is_fault: bool,
) {
    match BEFORE.get().and_then(|before| before.as_ref()).map(SigAction::handler) {
        Some(SigHandler::SigAction(before)) => before(number, info, context),
        Some(SigHandler::Handler(before)) => before(number),
        Some(SigHandler::SigIgn) if !is_fault => {}
        // The instruction is tried again, and ends the process.
        _ => default_action(),
    }
}

/// Whether it ends the process now: also the handler of Rust's runtime sets that.
fn is_default() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed; the C library fills the live structure.
    let asked = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: plain words, zeros where nothing was written.
    asked == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
}

fn default_action() {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler is installed.
    let _ = unsafe { sigaction(Signal::SIGBUS, &default) };
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(size: usize) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'x'; size]).unwrap();
        file
    }

    #[test]
    fn what_is_cut_off_turns_to_zeros() {
        let file = file(10 * PAGE as usize + 5);
        let mapped = Mapped::new(&file).unwrap();
        assert_eq!((mapped.len(), mapped[0], mapped[10 * PAGE as usize]), (40_965, b'x', b'x'));
        assert!(!mapped.is_damaged());

        file.set_len(2 * PAGE).unwrap();
        assert_eq!(mapped[2 * PAGE as usize - 1], b'x');
        assert!(!mapped.is_damaged(), "what was read is there");
        assert!(mapped[2 * PAGE as usize..].iter().all(|&byte| byte == 0));
        assert!(mapped.is_damaged());
        drop(mapped);
        assert!(!Mapped::new(&file).unwrap().is_damaged(), "the slot is used again");
    }

    /// What is sent has no address, and nothing is tried again.
    #[test]
    fn a_signal_that_is_sent_ends_the_process() {
        use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

        const SENDS: &str = "CSPROF_TEST_SENDS_SIGBUS";
        if std::env::var_os(SENDS).is_some() {
            let mapped = Mapped::new(&file(PAGE as usize)).unwrap();
            raise(Signal::SIGBUS).unwrap();
            unreachable!("{}", mapped.len());
        }
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .arg0("csprof")
            .args(["--exact", "symbols::mapped::tests::a_signal_that_is_sent_ends_the_process"]);
        let output = again.env(SENDS, "").output().unwrap();
        assert_eq!(output.status.signal(), Some(Signal::SIGBUS as i32), "{output:?}");
    }

    /// A thread that inherited a blocked signal would be killed by it.
    #[test]
    fn a_blocked_signal_does_not_kill() {
        std::thread::spawn(|| {
            let mut set = SigSet::empty();
            set.add(Signal::SIGBUS);
            set.thread_block().unwrap();
            let file = file(PAGE as usize);
            let mapped = Mapped::new(&file).unwrap();
            file.set_len(0).unwrap();
            assert_eq!(mapped[7], 0);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn many_threads_lose_their_files_at_once() {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for pages in 1..200 {
                        let kept = file(PAGE as usize);
                        let cut = file(pages * PAGE as usize);
                        let (kept, mapped) =
                            (Mapped::new(&kept).unwrap(), Mapped::new(&cut).unwrap());
                        cut.set_len(0).unwrap();
                        assert!(mapped.iter().rev().step_by(512).all(|&byte| byte == 0));
                        assert!(mapped.is_damaged() && !kept.is_damaged());
                        assert!(kept.iter().all(|&byte| byte == b'x'));
                    }
                });
            }
        });
    }

    #[test]
    fn what_cannot_be_mapped_is_not() {
        assert!(Mapped::new(&file(0)).is_none());
        assert!(Mapped::new(&File::open("/proc/self/maps").unwrap()).is_none());
        assert!(Mapped::new(&File::open("/").unwrap()).is_none());
    }
}
