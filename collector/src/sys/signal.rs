//! The disposition of the profiling signal, set without libc: rt_sigaction(2).
//!
//! libc's `sigaction` may be any preloaded library's, this one included.

use super::Errno;
use super::call::call;
use super::process::{Mask, pid, tid, uid, unblock};
use crate::arch;

/// A handler as the kernel calls it: signal number, `siginfo_t`, `ucontext_t`.
pub type Handler = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);

/// What is done with a signal.
#[derive(Clone, Copy, Debug)]
pub enum Disposition {
    /// The default action.
    Default,
    /// Nothing; also discards a pending signal (signal(7)).
    Ignore,
    /// A handler, with interrupted system calls restarted where the kernel can, on the thread's
    /// alternate stack, if it has one. With every signal blocked until it returns: a handler of the
    /// program, or a cancellation, that came in between could leave by longjmp or by unwinding, and
    /// the collector's handler would never finish.
    Handle(Handler),
}
/// `struct sigaction` of the kernel, where that has a restorer.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct KernelAction {
    /// SIG_DFL, SIG_IGN or a handler's address.
    pub handler: usize,
    /// `SA_…` flags.
    pub flags: u64,
    /// Where a handler returns to, if the flags have SA_RESTORER.
    pub restorer: usize,
    /// The signals that are blocked while a handler runs.
    pub mask: u64,
}

/// rt_sigaction(2) with an action that somebody else answers for.
///
/// # Safety
/// `new` and `old` must be addresses as the system call takes them: 0, or of an action and of room
/// for one, and the handler one that may be called.
pub unsafe fn rt_sigaction(
    signal: usize,
    new: usize,
    old: usize,
    size: usize,
) -> Result<(), Errno> {
    // SAFETY: by contract.
    unsafe { call(libc::SYS_rt_sigaction, [signal, new, old, size, 0, 0]) }.map(drop)
}

/// Sets what is done with `signal` in this process.
pub fn set_disposition(signal: i32, disposition: Disposition) -> Result<(), Errno> {
    let action = match disposition {
        Disposition::Default => {
            KernelAction { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 }
        }
        Disposition::Ignore => {
            KernelAction { handler: libc::SIG_IGN, flags: 0, restorer: 0, mask: 0 }
        }
        Disposition::Handle(handler) => KernelAction {
            handler: (handler as *const ()).expose_provenance(),
            flags: (libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK) as u64
                | arch::SA_RESTORER,
            restorer: arch::signal_return(),
            mask: u64::MAX,
        },
    };
    // SAFETY: the action is live; the handler, if any, lives as long as the process, since the
    // library is never unloaded (`-z nodelete`).
    unsafe { rt_sigaction(signal as usize, (&raw const action).addr(), 0, size_of::<u64>()) }
}

/// Gives the kernel another action for `signal`; returns the one that it had.
///
/// # Safety
/// The handler and the way back must be ones that may be called.
pub unsafe fn exchange_action(signal: i32, new: &KernelAction) -> Result<KernelAction, Errno> {
    let mut old = KernelAction { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
    let (new, room) = (core::ptr::from_ref(new).addr(), (&raw mut old).addr());
    // SAFETY: live structures; of the action by contract.
    unsafe { rt_sigaction(signal as usize, new, room, size_of::<u64>()) }.map(|()| old)
}

/// Who sends a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Process id.
    pub process: u32,
    /// Thread id.
    pub thread: u32,
    /// Real user id.
    pub user: u32,
}

impl Sender {
    /// The calling thread.
    #[must_use]
    pub fn here() -> Self {
        Self { process: pid(), thread: tid(), user: uid() }
    }
}

/// What comes with a signal that was sent by tgkill(2), or rt_tgsigqueueinfo(2) with a value, as
/// `code` says (sigaction(2)).
#[must_use]
pub fn sent_by(sender: Sender, signal: i32, code: i32, value: u64) -> libc::siginfo_t {
    // As the C library lays it out (bits/types/siginfo_t.h): signal, error, code, and after a word
    // of nothing who sent it, and the value.
    const LENGTH: usize = size_of::<libc::siginfo_t>() / size_of::<u32>();
    let mut words = [0_u32; LENGTH];
    words[0] = signal.cast_unsigned();
    words[2] = code.cast_unsigned();
    words[4] = sender.process;
    words[5] = sender.user;
    words[6] = value as u32;
    words[7] = (value >> 32) as u32;
    // SAFETY: plain data of this size.
    unsafe { core::mem::transmute::<[u32; LENGTH], libc::siginfo_t>(words) }
}

/// Sends the calling thread a signal: rt_tgsigqueueinfo(2) with a value, tgkill(2) without.
pub fn send_here(sender: Sender, signal: i32, value: Option<u64>) -> Result<(), Errno> {
    let info = value.map(|value| sent_by(sender, signal, libc::SI_QUEUE, value));
    let [process, thread, number] = [sender.process, sender.thread, signal.cast_unsigned()];
    let [process, thread, number] = [process as usize, thread as usize, number as usize];
    // SAFETY: the structure, if any, is live.
    let sent = unsafe {
        match &info {
            Some(info) => {
                let info = core::ptr::from_ref(info).addr();
                call(libc::SYS_rt_tgsigqueueinfo, [process, thread, number, info, 0, 0])
            }
            None => call(libc::SYS_tgkill, [process, thread, number, 0, 0, 0]),
        }
    };
    sent.map(drop)
}

/// Sends the calling thread, or its process, the same signal once more: rt_tgsigqueueinfo(2). It
/// comes when it is not blocked, with the same `siginfo_t`, as if it had not come yet.
pub fn send_again(info: &libc::siginfo_t, to_process: bool) {
    let (pid, tid) = (pid() as usize, tid() as usize);
    let (signal, info) = (info.si_signo as usize, core::ptr::from_ref(info).addr());
    // SAFETY: the structure is live; any code may be sent to oneself.
    let _ = unsafe {
        if to_process {
            // Only the first thread may send the process what looks like kill(2)'s or the kernel's.
            call(libc::SYS_rt_sigqueueinfo, [pid, signal, info, 0, 0, 0])
                .or_else(|_| call(libc::SYS_kill, [pid, signal, 0, 0, 0, 0]))
        } else {
            call(libc::SYS_rt_tgsigqueueinfo, [pid, tid, signal, info, 0, 0])
        }
    };
}

/// Signals of one number that may wait for a thread. Each source may have one. Of the program's
/// there is one that was sent to the thread, and one to the process.
const MOST_PENDING: usize = csprof_format::launch::MAX_SOURCES + 2;

/// Takes one of this signal, which is blocked, off what waits for the calling thread, or else for
/// its process: rt_sigtimedwait(2).
#[must_use]
fn take_pending(signal: i32) -> Option<libc::siginfo_t> {
    let (set, now) = (1_u64 << (signal - 1), [0_i64; 2]);
    let mut info = core::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let (set, now) = ((&raw const set).addr(), now.as_ptr().addr());
    // SAFETY: the kernel reads a live mask and a live time, and writes a live structure.
    let taken =
        unsafe { call(libc::SYS_rt_sigtimedwait, [set, info.as_mut_ptr().addr(), now, 8, 0, 0]) };
    // SAFETY: plain data, zeroed before.
    taken.is_ok().then(|| unsafe { info.assume_init() })
}

/// Takes samples by a signal that is blocked off what waits for the calling thread: a standard
/// signal that is sent to a thread while one waits there is merged with it (signal(7)), and who
/// waits for it would be given them.
pub fn drop_samples(signal: i32, is_sample: impl FnMut(&libc::siginfo_t) -> bool) {
    drop_samples_and(signal, is_sample, || {});
}

/// Takes samples by a signal that is blocked off what waits for the calling thread alone, as long
/// as `waits` says that something does.
pub fn drop_samples_here(
    signal: i32,
    waits: impl Fn() -> bool,
    is_sample: impl Fn(&libc::siginfo_t) -> bool,
) {
    let mut others = [None; 4];
    let taken = (0..MOST_PENDING).map_while(|_| waits().then(|| take_pending(signal)).flatten());
    let taken = taken.filter(|taken| !is_sample(taken));
    others.iter_mut().zip(taken).for_each(|(other, taken)| *other = Some(taken));
    for (place, other) in others.iter().flatten().enumerate() {
        // A second one would be merged with the first.
        send_again(other, place > 0);
    }
}

/// The same, with `work` done while none waits.
pub fn drop_samples_and(
    signal: i32,
    mut is_sample: impl FnMut(&libc::siginfo_t) -> bool,
    work: impl FnOnce(),
) {
    let mut others = [None; 2];
    let taken =
        (0..MOST_PENDING).map_while(|_| take_pending(signal)).filter(|taken| !is_sample(taken));
    others.iter_mut().zip(taken).for_each(|(other, taken)| *other = Some(taken));
    work();
    for other in others.iter().flatten() {
        send_again(other, other.si_code != libc::SI_TKILL);
    }
}

/// The signals that wait for the calling thread to unblock them, as a mask.
#[must_use]
pub fn pending() -> u64 {
    let mut set = 0_u64;
    // SAFETY: the kernel fills the live word.
    let _ = unsafe { call(libc::SYS_rt_sigpending, [(&raw mut set).addr(), 8, 0, 0, 0, 0]) };
    set
}

/// Whether `signal` has a handler after which system calls fail with EINTR.
#[must_use]
pub fn interrupts(signal: i32) -> bool {
    let action = action_of(signal);
    let handled = action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN;
    handled && action.flags & libc::SA_RESTART as u64 == 0
}

/// The address of what handles `signal` in this process: SIG_DFL, SIG_IGN or a handler's.
#[must_use]
pub fn handler_of(signal: i32) -> usize {
    action_of(signal).handler
}

/// What the kernel does with `signal`.
#[must_use]
pub fn action_of(signal: i32) -> KernelAction {
    let mut action = KernelAction { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
    // SAFETY: the action is live; the kernel fills it, and changes nothing.
    let _ = unsafe { rt_sigaction(signal as usize, 0, (&raw mut action).addr(), size_of::<u64>()) };
    action
}

/// Ends the process as abort(3) does: by SIGABRT, to which the program's handler may answer first.
pub fn abort() -> ! {
    let raise = || {
        unblock(Mask(1 << (libc::SIGABRT - 1)));
        let (pid, tid) = (pid() as usize, tid() as usize);
        // SAFETY: takes numbers.
        let _ = unsafe { call(libc::SYS_tgkill, [pid, tid, libc::SIGABRT as usize, 0, 0, 0]) };
    };
    raise();
    let _ = set_disposition(libc::SIGABRT, Disposition::Default);
    loop {
        raise();
    }
}
