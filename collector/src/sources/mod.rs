//! What triggers samples, and how much each one stands for.
//!
//! A source belongs to one thread and sends it [`SIGNAL`](crate::sampling::SIGNAL), or
//! [SIGTRAP](crate::sampling::trap). A thread has one for each metric of the run; a signal says whose it is
//! by a cookie or an event's file. It says how
//! many periods a signal stands for, never simply "one": timers stop at the kernel's tick and
//! report the rest as overruns, and signals coalesce while they are blocked. So blocked time is
//! carried forward, Σ weights × period is the time that passed, and threads shorter than a period
//! have their chance of a sample.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

mod due;
mod pace;
mod posix_timer;
mod task_clock;

use csprof_format::launch::{MAX_SOURCES, SampleSource, SourceKind};

use crate::process::Process;
use crate::report;
use crate::sampling::trap;
use crate::sys::{self, Clock, PerfTaskClock, Timer};

pub use pace::Pace;
use posix_timer::PosixTimer;
use task_clock::TaskClock;

/// The sources of one thread, by number of their metric.
#[derive(Debug)]
pub struct Sources([Option<Source>; MAX_SOURCES]);

impl Sources {
    /// Those of a thread that has none yet, or any more.
    pub const NONE: Self = Self([const { None }; MAX_SOURCES]);

    /// Opens the process's sources for the calling thread; those of CPU time are started. `cookie`, a multiple of a power of
    /// two that is not below [`MAX_SOURCES`], is what their cookies begin with. Setup side.
    pub fn open(process: &Process, tid: u32, cookie: usize) -> Self {
        let mut all = Self::NONE;
        for (number, place) in all.0.iter_mut().enumerate() {
            *place = Source::open(process, number, tid, cookie + number);
        }
        all
    }

    /// The kernel objects, by number of their metric.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        self.0.iter().flatten().map(Source::handle)
    }

    /// Periods that passed without a sample since the program took each source away. Setup side.
    pub fn lost(&mut self) -> [u64; MAX_SOURCES] {
        self.0.each_mut().map(|source| source.as_mut().map_or(0, Source::lost))
    }

    /// Which source sent the signal, and how many periods it stands for; `None` if it is none of these.
    /// Signal side.
    #[inline]
    pub fn weight(&mut self, signal: &SignalInfo) -> Option<(usize, u64)> {
        let mut all = self.0.iter_mut().enumerate();
        all.find_map(|(number, source)| Some((number, source.as_mut()?.weight(signal)?)))
    }
}

/// One source of one thread.
#[derive(Debug)]
enum Source {
    /// A POSIX timer on the thread's CPU time or on elapsed time.
    Timer(PosixTimer),
    /// The kernel's task-clock event.
    TaskClock(TaskClock),
}

/// The kernel object behind a source, enough to stop and restart it from another thread.
#[derive(Clone, Debug)]
pub enum Handle {
    /// A timer of CPU time and its period in nanoseconds.
    Timer(Timer, u64),
    /// A timer of elapsed time and its period in nanoseconds.
    Elapsed(Timer, u64),
    /// An event and its cookie.
    TaskClock(Arc<PerfTaskClock>, u64),
}

impl Source {
    /// Opens the process's source with this number for the calling thread. `cookie` comes back
    /// in the signals of timers, and in SIGTRAP. Falls back from task-clock to CPU time, with a message.
    fn open(process: &Process, number: usize, tid: u32, cookie: usize) -> Option<Self> {
        let SampleSource { kind, period_ns } = process.source(number)?;
        let timer = |clock| {
            PosixTimer::open(clock, period_ns, tid, cookie)
                .inspect(|timer| timer.handle().start(Pace::EACH_PERIOD))
                .map(Self::Timer)
        };
        let opened = match kind {
            SourceKind::CpuTime => timer(Clock::ThreadCpu),
            SourceKind::Realtime => timer(Clock::Monotonic),
            SourceKind::TaskClock => match TaskClock::open(period_ns, tid, cookie) {
                Ok(event) => Ok(Self::TaskClock(event)),
                Err(refused) => {
                    let instead = process.fall_back(number, SourceKind::CpuTime);
                    let goes_on = match instead {
                        Some(_) => "sampling cputime instead",
                        None => "sampling cputime only",
                    };
                    report::warn_once(
                        0,
                        &format!(
                            "task-clock was refused by perf_event_open (error {}; see \
                             /proc/sys/kernel/perf_event_paranoid): {goes_on}, which the kernel \
                             delivers at its tick at most",
                            refused.0.0
                        ),
                    );
                    trap::give_back();
                    instead?;
                    timer(Clock::ThreadCpu)
                }
            },
        };
        opened
            .inspect_err(|errno| {
                // With one source, it is clear which.
                let by = match process.sources().count() {
                    1 => String::new(),
                    _ => format!(" by {}", kind.name()),
                };
                report::warn_once(
                    1,
                    &format!(
                        "a thread is not sampled{by}: its timer was refused (error {}; see \
                         `ulimit -i`)",
                        errno.0
                    ),
                );
            })
            .ok()
    }

    fn handle(&self) -> Handle {
        match self {
            Self::Timer(timer) => timer.handle(),
            Self::TaskClock(event) => event.handle(),
        }
    }

    fn lost(&mut self) -> u64 {
        match self {
            Self::Timer(_) => 0,
            Self::TaskClock(event) => event.lost(),
        }
    }

    #[inline]
    fn weight(&mut self, signal: &SignalInfo) -> Option<u64> {
        match self {
            Self::Timer(timer) => timer.weight(signal),
            Self::TaskClock(event) => event.weight(signal),
        }
    }
}

impl Handle {
    /// Starts the source, or has it begin again.
    pub fn start(&self, pace: Pace) {
        match self {
            Self::Elapsed(timer, period_ns) => {
                let interval_ns = period_ns.saturating_mul(pace.periods());
                let _ = timer.set(random_below(interval_ns) + 1, interval_ns);
            }
            Self::Timer(timer, period_ns) => {
                // The first sample comes after a part of a period chosen at random. With a whole
                // one, each thread would lose its unfinished period, and a run of many short
                // processes most of its samples. What passes between the kernel's last tick and a
                // thread's end is still not seen.
                let _ = timer.set(random_below(*period_ns) + 1, *period_ns);
            }
            Self::TaskClock(event, cookie) => {
                event.close();
                if let Err(refused) = task_clock::start(event, *cookie) {
                    report::warn_once(
                        9,
                        &format!("a thread is not sampled any more: error {}", refused.0.0),
                    );
                }
            }
        }
    }

    /// Stops the source.
    pub fn stop(&self) {
        match self {
            Self::Timer(timer, _) | Self::Elapsed(timer, _) => {
                let _ = timer.set(0, 0);
            }
            Self::TaskClock(event, _) => event.close(),
        }
    }

    /// Whether the source may come by SIGTRAP.
    #[must_use]
    pub const fn is_event(&self) -> bool {
        matches!(self, Self::TaskClock(..))
    }

    /// The period of a timer of elapsed time, in nanoseconds.
    #[must_use]
    pub const fn elapsed_period_ns(&self) -> Option<u64> {
        match self {
            Self::Elapsed(_, period_ns) => Some(*period_ns),
            Self::Timer(..) | Self::TaskClock(..) => None,
        }
    }

    /// The file number, where the object is one.
    #[must_use]
    pub fn file_number(&self) -> Option<i32> {
        match self {
            Self::Timer(..) | Self::Elapsed(..) => None,
            Self::TaskClock(event, _) => event.file_number(),
        }
    }

    /// Stops the source and gives the kernel object back.
    pub fn close(&self) {
        match self {
            Self::Timer(timer, _) | Self::Elapsed(timer, _) => timer.delete(),
            Self::TaskClock(event, _) => event.close(),
        }
    }

    /// In a forked child: lets go of what is the parent's. Timers are not inherited, nor are mappings of events;
    /// files are.
    pub fn forget(&self) {
        if let Self::TaskClock(event, _) = self {
            match event.file_number() {
                Some(_) => event.close(),
                None => event.forget(),
            }
        }
    }
}

/// A number below `limit`, which must not be 0, different in each thread and process: splitmix64
/// (Steele, Lea and Flood, OOPSLA 2014) of the time and the place of the thread's stack.
fn random_below(limit: u64) -> u64 {
    let place = (&raw const limit).addr() as u64;
    let seed = sys::now_ns(Clock::Monotonic) ^ place.rotate_left(28);
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % limit.max(1)
}

/// What every cookie begins with, in the two bytes that are 0 in an address: no program gives a timer
/// of its own such a value.
const COOKIE_TAG: u64 = 0xc5f0 << 48;

/// The cookie of what is at `address`.
#[must_use]
pub const fn cookie(address: usize) -> usize {
    address | COOKIE_TAG as usize
}

/// Whether a timer of csprof's has sent the signal, whatever has become of it meanwhile.
#[must_use]
pub fn is_by_own_timer(signal: &SignalInfo) -> bool {
    signal.code == libc::SI_TIMER && signal.value & (0xffff << 48) == COOKIE_TAG
}

/// The parts of `siginfo_t` that sources use (include/uapi/asm-generic/siginfo.h, 64 bit).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SignalInfo {
    /// Signal number.
    pub signo: i32,
    errno: i32,
    /// Where the signal comes from: `SI_TIMER`, `POLL_IN`, …
    pub code: i32,
    pad: i32,
    /// Timers: the kernel's number of the timer. Events: low half of the band, or of an address.
    pub timer: i32,
    /// Timers: periods that passed beyond the one that sent the signal.
    pub overrun: i32,
    /// Timers, and events by SIGTRAP: the cookie. Other events: the file number, in the low half.
    pub value: u64,
}
