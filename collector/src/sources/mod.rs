//! What triggers samples, and how much each one stands for.
//!
//! A source belongs to one thread and sends it [`SIGNAL`], or
//! [SIGTRAP](loan). A thread has one for each metric of the run; a signal says whose it is
//! by a cookie or an event's file. It says how
//! many periods a signal stands for, never simply "one": timers stop at the kernel's tick and
//! report the rest as overruns, and signals coalesce while they are blocked. So blocked time is
//! carried forward, Σ weights × period is the time that passed, and threads shorter than a period
//! have their chance of a sample.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

mod due;
pub mod loan;
mod pace;
mod posix_timer;
pub mod signal_info;
mod task_clock;

use csprof_format::launch::{MAX_SOURCES, SampleSource, SourceKind};

use crate::messages::{self, Warning};
use crate::process::Process;
use crate::sys::{Clock, PerfTaskClock, Timer};

use due::random_below;
pub use pace::Pace;
use posix_timer::PosixTimer;
pub use signal_info::{SIGNAL, SignalInfo, cookie, is_by_own_timer};
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
                .map(Self::Timer)
                .inspect(|timer| timer.handle().start(Pace::EACH_PERIOD))
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
                    messages::warn_once(
                        Warning::TaskClockRefused,
                        &format!(
                            "task-clock was refused by perf_event_open (error {}; see \
                             /proc/sys/kernel/perf_event_paranoid): {goes_on}, which the kernel \
                             delivers at its tick at most",
                            refused.0.0
                        ),
                    );
                    loan::give_back();
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
                messages::warn_once(
                    Warning::SourceRefused,
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
            Self::Timer(timer) if timer.is_of_elapsed_time() => {
                Handle::Elapsed(timer.timer, timer.period_ns)
            }
            Self::Timer(timer) => Handle::Timer(timer.timer, timer.period_ns),
            Self::TaskClock(event) => Handle::TaskClock(Arc::clone(&event.event), event.cookie),
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
                    messages::warn_once(
                        Warning::EventNotRestarted,
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
