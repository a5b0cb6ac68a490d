//! What triggers samples, and how much each one stands for.
//!
//! What tells one source from another is data: its
//! [`Properties`](csprof_format::launch::Properties). There is one file here for each [`Trigger`].
//! What is done with the kernel's objects behind them is the trait [`Object`].
//!
//! A source belongs to one thread, which has one for each metric of the run. A source of calls
//! [counts](calls), and its wrapper samples. The others send the thread [`SIGNAL`], or
//! [SIGTRAP](loan), which says whose it is by a cookie or an event's file. A source says how many
//! periods a signal stands for, never simply "one": timers stop at the kernel's tick and report the
//! rest as overruns, and signals coalesce while they are blocked. So blocked time is carried
//! forward, Σ weights × period is the time that passed, and threads shorter than a period have
//! their chance of a sample.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

mod calls;
mod due;
pub mod loan;
mod object;
mod pace;
mod posix_timer;
pub mod signal_info;
mod task_clock;

use csprof_format::launch::{SampleSource, SourceKind, Trigger, Unit};

use crate::control::{self, Setting};
use crate::messages::{self, Warning};
use crate::process::Process;
use crate::sys::{self, Clock};

pub use calls::{RESOURCES_COUNT, YIELDS_COUNT, metric_of, metric_of_resource};
use object::Object;
pub use pace::Pace;
use posix_timer::PosixTimer;
pub use posix_timer::TimerHandle;
pub use signal_info::{SIGNAL, SignalInfo, cookie, is_by_own_timer};
pub use task_clock::EventHandle;
use task_clock::TaskClock;

/// A source of a thread, and what it was last told.
#[derive(Debug)]
struct Opened {
    /// Number of its metric.
    metric: usize,
    source: Source,
    /// Nanoseconds of a period, where it samples CPU time.
    cpu_period_ns: Option<u64>,
    setting: Setting,
    /// Periods that no sample has stood for so far: fewer than are to be between two samples.
    pending: u64,
}

/// The sources of one thread. As many as it has, however many there could be: the handler looks for
/// the one that sent the signal.
#[derive(Debug)]
pub struct Sources {
    opened: Vec<Opened>,
    /// Those of them that sample time.
    timed: u64,
}

impl Sources {
    /// Those of a thread that has none yet, or any more.
    pub const NONE: Self = Self { opened: Vec::new(), timed: 0 };

    /// Opens the process's sources for the calling thread; those of CPU time are started. `cookie`,
    /// a multiple of a power of two that is not below
    /// [`MAX_SOURCES`](csprof_format::launch::MAX_SOURCES), is what their cookies begin with. Setup
    /// side.
    pub fn open(process: &Process, tid: u32, cookie: usize) -> Self {
        let mut sources = Self::NONE;
        for (number, source) in process.sources() {
            let setting = Setting::of(number);
            if let Some(opened) = Source::open(process, number, tid, cookie + number) {
                let properties = source.kind.properties();
                let is_time = properties.unit == Unit::Nanoseconds;
                sources.timed += u64::from(is_time);
                sources.opened.push(Opened {
                    metric: number,
                    source: opened,
                    cpu_period_ns: (is_time && !properties.counts_waits).then_some(source.period),
                    setting,
                    // As with a period: the first sample comes after a part chosen at random.
                    pending: due::random_below(setting.every),
                });
            }
        }
        sources
    }

    /// Whether the thread is not sampled.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.opened.is_empty()
    }

    /// How many of them sample time: each a share of the thread's.
    #[must_use]
    #[inline]
    pub const fn timed(&self) -> u64 {
        self.timed
    }

    /// The kernel objects, in the order of their metrics.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        self.opened.iter().filter_map(|opened| opened.source.handle())
    }

    /// Periods that passed without a sample since the program took each source away, with the
    /// number of its metric. Setup side.
    pub fn lost(&mut self) -> impl Iterator<Item = (usize, u64)> {
        self.opened.iter_mut().map(|opened| (opened.metric, opened.source.lost()))
    }

    /// Which source sent the signal, and how many periods it stands for, 0 if it came too early or
    /// in a pause; `None` if it is none of these. Signal side.
    #[inline]
    pub fn weight(&mut self, signal: &SignalInfo) -> Option<(usize, u64)> {
        let opened = self.opened.iter_mut().find(|opened| opened.source.has_sent(signal))?;
        Some((opened.metric, opened.weight(signal)))
    }
}

impl Opened {
    #[inline]
    fn weight(&mut self, signal: &SignalInfo) -> u64 {
        let now = Setting::of(self.metric);
        let before = core::mem::replace(&mut self.setting, now);
        let passed = self.source.weight(signal, before, now);
        let passed = if now.is_steady_since(before) { passed } else { self.behind(passed, now) };
        self.pending = self.pending.saturating_add(passed);
        if self.pending < now.every { 0 } else { core::mem::take(&mut self.pending) }
    }

    /// What of `passed` periods is no pause's, where there was one. That a thread's time passes in
    /// one is decided when the time has passed: as long as it ran, periods end by chance before
    /// and after.
    #[cold]
    fn behind(&self, passed: u64, now: Setting) -> u64 {
        if now.is_paused {
            return 0;
        }
        let Some(period_ns) = self.cpu_period_ns else { return passed };
        // Of many at once, no more than there was time for since then.
        let since_ns = control::unchanged_for_ns(sys::now_ns(Clock::Monotonic));
        passed.min(1 + since_ns.checked_div(period_ns).unwrap_or(0))
    }
}

/// One source of one thread.
#[derive(Debug)]
enum Source {
    Timer(PosixTimer),
    Event(TaskClock),
    Call,
}

impl Source {
    /// Opens the process's source with this number for the calling thread. `cookie` comes back in
    /// the signals of timers, and in SIGTRAP. Falls back where the kernel refuses, with a message.
    fn open(process: &Process, number: usize, tid: u32, cookie: usize) -> Option<Self> {
        let source = process.source(number)?;
        let timer = |source| PosixTimer::open(source, number, tid, cookie).map(Self::Timer);
        let opened = match source.kind.properties().trigger {
            Trigger::Timer => timer(source),
            Trigger::Event => match TaskClock::open(source, tid, cookie) {
                Ok(event) => Ok(Self::Event(event)),
                Err(refused) => {
                    let instead = process.fall_back(number);
                    warn_of_refusal(source, instead.is_some(), refused.0.0);
                    loan::give_back();
                    timer(instead?)
                }
            },
            Trigger::Call => {
                calls::begin(source, number);
                Ok(Self::Call)
            }
        };
        opened
            .inspect_err(|errno| {
                // With one source, it is clear which.
                let by = match process.sources().count() {
                    1 => String::new(),
                    _ => format!(" by {}", source.name()),
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

    fn handle(&self) -> Option<Handle> {
        match self {
            Self::Timer(timer) => Some(Handle::Timer(timer.handle())),
            Self::Event(event) => Some(Handle::Event(event.handle())),
            Self::Call => None,
        }
    }

    fn lost(&mut self) -> u64 {
        match self {
            Self::Timer(_) | Self::Call => 0,
            Self::Event(event) => event.lost(),
        }
    }

    fn has_sent(&self, signal: &SignalInfo) -> bool {
        match self {
            Self::Timer(timer) => timer.has_sent(signal),
            Self::Event(event) => event.has_sent(signal),
            Self::Call => false,
        }
    }

    /// How many periods its signal stands for, if none of them was a pause's.
    #[inline]
    fn weight(&mut self, signal: &SignalInfo, before: Setting, now: Setting) -> u64 {
        match self {
            Self::Timer(timer) => timer.weight(signal, before, now),
            Self::Event(event) => event.weight(),
            Self::Call => 0,
        }
    }
}

fn warn_of_refusal(refused: SampleSource, is_replaced: bool, error: i32) {
    let instead = refused.kind.properties().instead.map_or("nothing", SourceKind::name);
    let how = if is_replaced { "instead" } else { "only" };
    messages::warn_once(
        Warning::EventRefused,
        &format!(
            "{} was refused by perf_event_open (error {error}; see \
             /proc/sys/kernel/perf_event_paranoid): sampling {instead} {how}, which the kernel \
             delivers at its tick at most",
            refused.kind.name()
        ),
    );
}

/// The kernel object behind a source, enough to stop and restart it from another thread.
#[derive(Clone, Debug)]
pub enum Handle {
    /// A timer.
    Timer(TimerHandle),
    /// An event.
    Event(EventHandle),
}

impl Handle {
    fn object(&self) -> &dyn Object {
        match self {
            Self::Timer(timer) => timer,
            Self::Event(event) => event,
        }
    }

    /// Starts the source, or has it begin again.
    pub fn start(&self, pace: Pace) {
        self.object().start(pace);
    }

    /// Stops the source.
    pub fn stop(&self) {
        self.object().stop();
    }

    /// Stops the source and gives the kernel object back.
    pub fn close(&self) {
        self.object().close();
    }

    /// In a forked child: lets go of what is the parent's.
    pub fn forget(&self) {
        self.object().forget();
    }

    /// The file number, where the object is one.
    #[must_use]
    pub fn file_number(&self) -> Option<i32> {
        self.object().file_number()
    }

    /// The period in nanoseconds, where the source interrupts threads at a [`Pace`].
    #[must_use]
    pub fn paced_period_ns(&self) -> Option<u64> {
        self.object().paced_period_ns()
    }

    /// Whether the source may come by SIGTRAP.
    #[must_use]
    pub const fn is_event(&self) -> bool {
        matches!(self, Self::Event(_))
    }
}
