//! The calling process and thread.

use core::sync::atomic::AtomicU32;

use super::Errno;
use super::call::call;
use super::clock::{Clock, now_ns};

/// Process id, from the kernel: right in a vfork child too.
#[must_use]
pub fn pid() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// Parent's process id.
#[must_use]
pub fn parent_pid() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_getppid, [0; 6]) }.unwrap_or(0) as u32
}

/// Thread id.
#[must_use]
pub fn tid() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// Real user id.
#[must_use]
pub(super) fn uid() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_getuid, [0; 6]) }.unwrap_or(0) as u32
}

/// Lets others run, while waiting for a lock on the setup side.
pub fn yield_now() {
    // SAFETY: takes nothing, changes nothing.
    let _ = unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

/// Processors that this thread may run on: sched_getaffinity(2); 1 if nobody says.
#[must_use]
pub fn processors() -> u64 {
    let mut set = [0_u64; 128];
    // SAFETY: the kernel fills the live array as far as it needs.
    let filled = unsafe {
        call(libc::SYS_sched_getaffinity, [0, size_of_val(&set), set.as_mut_ptr().addr(), 0, 0, 0])
    };
    let words = filled.unwrap_or(0) / size_of::<u64>();
    let count = set.iter().take(words).map(|word| u64::from(word.count_ones())).sum::<u64>();
    count.max(1)
}

/// Whether a thread of this process has this id: one that ended by a system call of its own has
/// not.
#[must_use]
pub fn thread_exists(tid: u32) -> bool {
    // SAFETY: signal 0 is only looked for.
    let found = unsafe { call(libc::SYS_tgkill, [pid() as usize, tid as usize, 0, 0, 0, 0]) };
    found != Err(Errno(libc::ESRCH))
}

/// Takes a futex with priority inheritance, waiting for its holder until a time of the monotonic
/// clock: FUTEX_LOCK_PI2 (Linux 5.14), or FUTEX_LOCK_PI, which knows wall-clock time only.
pub fn lock_pi(word: &AtomicU32, until_ns: u64) -> Result<(), Errno> {
    const LOCK_PI2: i32 = 13;
    let wait = |operation: i32, until_ns: u64| {
        let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
        let until = libc::timespec {
            tv_sec: (until_ns / 1_000_000_000) as i64,
            tv_nsec: (until_ns % 1_000_000_000) as i64,
        };
        let until = (&raw const until).addr();
        // SAFETY: a live word of a lock, and a live time.
        unsafe { call(libc::SYS_futex, [word.as_ptr().addr(), operation, 0, until, 0, 0]) }
    };
    let locked = match wait(LOCK_PI2, until_ns) {
        Err(Errno(libc::ENOSYS)) => {
            let left_ns = until_ns.saturating_sub(now_ns(Clock::Monotonic));
            wait(libc::FUTEX_LOCK_PI, now_ns(Clock::Realtime).saturating_add(left_ns))
        }
        answer => answer,
    };
    locked.map(drop)
}

/// Frees such a futex, which this thread holds, and wakes who waits for it.
pub fn unlock_pi(word: &AtomicU32) -> Result<(), Errno> {
    let operation = (libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: a live word of a lock.
    unsafe { call(libc::SYS_futex, [word.as_ptr().addr(), operation, 0, 0, 0, 0]) }.map(drop)
}

/// Gives the processor away for so long, less than a second, or until a signal.
pub fn sleep_ns(ns: u32) {
    let time = [0_i64, i64::from(ns)];
    // SAFETY: the kernel reads two words of the live array, and writes nothing.
    let _ = unsafe { call(libc::SYS_nanosleep, [time.as_ptr().addr(), 0, 0, 0, 0, 0]) };
}

/// What the calling thread has met so far: getrusage(2), RUSAGE_THREAD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
    /// Times that it gave a processor up or lost it.
    pub switches: u64,
}

/// How the calling thread has spent its time so far: getrusage(2), RUSAGE_THREAD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Times that it waited.
    pub waits: u64,
    /// CPU time in nanoseconds, of whole microseconds.
    pub cpu_ns: u64,
    /// Page faults that needed neither a disk nor anybody's answer. One that a signal has broken
    /// off is in neither count.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
}

/// How often the calling thread gave the processor away so far: getrusage(2), RUSAGE_THREAD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Since it waited.
    pub voluntary: u64,
    /// Since another one was to have it.
    pub involuntary: u64,
    /// Page faults for which something had to be read, or somebody asked.
    pub major_faults: u64,
}

impl Usage {
    /// The sum of the events that are 1 in `which`.
    #[must_use]
    pub const fn of(&self, which: &Self) -> u64 {
        (self.minor_faults.wrapping_mul(which.minor_faults))
            .wrapping_add(self.major_faults.wrapping_mul(which.major_faults))
            .wrapping_add(self.switches.wrapping_mul(which.switches))
    }
}

/// `struct rusage` of the calling thread as words; zeros where the kernel refuses. Either side.
fn resources() -> [u64; 18] {
    const RUSAGE_THREAD: usize = 1;
    let mut words = [0u64; 18];
    const _: () = assert!(size_of::<libc::rusage>() == 18 * size_of::<u64>());
    // SAFETY: the kernel fills the live array, which has the size of a `struct rusage`.
    let _ = unsafe {
        call(libc::SYS_getrusage, [RUSAGE_THREAD, words.as_mut_ptr().addr(), 0, 0, 0, 0])
    };
    words
}

/// See [`Usage`]. Either side.
// Not in handlers, which would have room for the array at each sample.
#[must_use]
#[inline(never)]
pub fn usage() -> Usage {
    // `ru_minflt`, `ru_majflt`, `ru_nvcsw` and `ru_nivcsw`.
    let words = resources();
    Usage {
        minor_faults: words[8],
        major_faults: words[9],
        switches: words[16].saturating_add(words[17]),
    }
}

/// See [`Spent`]. Either side.
#[must_use]
#[inline(never)]
pub fn spent() -> Spent {
    // `ru_utime` and `ru_stime` in seconds and microseconds, `ru_minflt`, `ru_majflt`, `ru_nvcsw`.
    let words = resources();
    let seconds = words[0].wrapping_add(words[2]);
    let microseconds = words[1].wrapping_add(words[3]);
    let cpu_ns = seconds.wrapping_mul(1_000_000_000).wrapping_add(microseconds.wrapping_mul(1000));
    Spent { waits: words[16], cpu_ns, minor_faults: words[8], major_faults: words[9] }
}

/// See [`Switches`]. Either side.
// As above.
#[must_use]
#[inline(never)]
pub fn switches() -> Switches {
    // `ru_majflt`, `ru_nvcsw` and `ru_nivcsw`.
    let words = resources();
    Switches { voluntary: words[16], involuntary: words[17], major_faults: words[9] }
}

/// The calling thread's name, padded with zeros: prctl(2), PR_GET_NAME.
#[must_use]
pub fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the kernel writes 16 bytes into the live array.
    let _ = unsafe {
        call(libc::SYS_prctl, [libc::PR_GET_NAME as usize, name.as_mut_ptr().addr(), 0, 0, 0, 0])
    };
    name
}

/// Writes to standard error. What cannot be written is not worth a failure.
pub fn write_message(text: &[u8]) {
    let number = libc::STDERR_FILENO as usize;
    // SAFETY: the kernel reads the live slice.
    let _ = unsafe { call(libc::SYS_write, [number, text.as_ptr().addr(), text.len(), 0, 0, 0]) };
}

/// A signal mask as the kernel holds it: bit `n − 1` for signal `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(pub u64);

impl Mask {
    /// Every signal. The kernel never blocks SIGKILL and SIGSTOP.
    pub const ALL: Self = Self(u64::MAX);
}

/// Sets the calling thread's mask and returns the old one.
pub fn set_mask(mask: Mask) -> Mask {
    rt_sigprocmask(libc::SIG_SETMASK, mask)
}

/// Blocks these signals in the calling thread; returns the old mask.
pub fn block(signals: Mask) -> Mask {
    rt_sigprocmask(libc::SIG_BLOCK, signals)
}

/// Unblocks these signals in the calling thread; returns the old mask.
pub fn unblock(signals: Mask) -> Mask {
    rt_sigprocmask(libc::SIG_UNBLOCK, signals)
}

fn rt_sigprocmask(how: i32, mask: Mask) -> Mask {
    let mut old = Mask(0);
    // SAFETY: both masks are live words of the size passed last.
    let _ = unsafe {
        call(
            libc::SYS_rt_sigprocmask,
            [how as usize, (&raw const mask.0).addr(), (&raw mut old.0).addr(), 8, 0, 0],
        )
    };
    old
}

/// Major and minor number of the kernel, from uname(2); zeros if it does not say.
#[must_use]
pub fn kernel_release() -> (u32, u32) {
    let mut name = core::mem::MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the kernel fills the live structure.
    let _ = unsafe { call(libc::SYS_uname, [name.as_mut_ptr().addr(), 0, 0, 0, 0, 0]) };
    // SAFETY: plain bytes, zeros where the kernel wrote none.
    let release = unsafe { name.assume_init() }.release;
    let mut numbers = release.split(|byte| !(*byte as u8).is_ascii_digit()).map(|digits| {
        digits.iter().fold(0_u32, |n, digit| n.wrapping_mul(10) + (*digit as u8 - b'0') as u32)
    });
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Who may come between the kernel's signals and the program: `/proc/thread-self/status`, proc(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalStatus {
    /// A debugger or a tracer of system calls has the calling thread (`TracerPid`).
    pub traced: bool,
    /// The signals that have a handler as far as the kernel knows (`SigCgt`). Where programs run in
    /// another one, as under valgrind, it differs from what sigaction(2) says.
    pub caught: Mask,
    /// The signals that wait for the calling thread alone (`SigPnd`), if they can be read.
    pub pending: Option<Mask>,
}

impl SignalStatus {
    /// The present state; nobody and none if it cannot be read.
    #[must_use]
    pub fn read() -> Self {
        let text = super::read_file(c"/proc/thread-self/status").unwrap_or_default();
        let text = core::str::from_utf8(&text).unwrap_or_default();
        let value = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let mask = |name| value(name).and_then(|word| u64::from_str_radix(word, 16).ok());
        let traced = value("TracerPid:").is_some_and(|pid| pid != "0");
        let caught = Mask(mask("SigCgt:").unwrap_or(0));
        Self { traced, caught, pending: mask("SigPnd:").map(Mask) }
    }
}

/// Sets the calling thread's alternate stack for handlers; returns what it was: sigaltstack(2).
pub fn set_alternate_stack(stack: &libc::stack_t) -> Result<libc::stack_t, Errno> {
    alternate(core::ptr::from_ref(stack))
}

/// The calling thread's alternate stack for handlers, as the kernel has it.
pub fn alternate_stack() -> Result<libc::stack_t, Errno> {
    alternate(core::ptr::null())
}

fn alternate(new: *const libc::stack_t) -> Result<libc::stack_t, Errno> {
    let mut old =
        libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: null or a live structure, and one for the answer. The kernel checks the values;
    // memory that is given is stack of handlers from then on, by the callers' leave.
    unsafe {
        call(libc::SYS_sigaltstack, [new.addr(), (&raw mut old).addr(), 0, 0, 0, 0])?;
    }
    Ok(old)
}

/// How many bytes the main thread's stack may grow to now (RLIMIT_STACK); 0 if nobody says.
#[must_use]
pub fn stack_limit() -> u64 {
    soft_limit(libc::RLIMIT_STACK).unwrap_or(0)
}

/// Whether limits of memory let a program that this process executes map so many bytes in all
/// (RLIMIT_AS), and so many that only it can write to (RLIMIT_DATA). Either side.
#[must_use]
pub fn may_map(address_space: u64, data: u64) -> bool {
    let allows = |kind, least| soft_limit(kind).is_none_or(|limit| limit >= least);
    allows(libc::RLIMIT_AS, address_space) && allows(libc::RLIMIT_DATA, data)
}

/// A limit of this process; `None` if the kernel does not say.
fn soft_limit(kind: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a live structure for the answer; nothing is changed.
    let got =
        unsafe { call(libc::SYS_prlimit64, [0, kind as usize, 0, (&raw mut limit).addr(), 0, 0]) };
    got.is_ok().then_some(limit.rlim_cur)
}
