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

pub mod calls;
mod due;
mod entries;
mod event_handle;
pub mod flag;
mod kernel_event;
pub mod loan;
mod object;
pub mod pace;
mod posix_timer;
mod progress;
pub mod requests;
pub mod signal_info;
pub mod stops;
mod task_clock;

use csprof_format::launch::{
    Detail, MAX_SOURCES, MOST_PHASE_FUNCTIONS, SampleSource, SourceKind, Trigger, Unit,
};

use crate::control::{self, Setting};
use crate::messages::{self, Warning};
use crate::process::Process;
use crate::sampler::KernelPlace;
use crate::sys::{self, Clock, PausedTimer, PerfError, Usage, usage};

pub use calls::{metric_of, metric_of_resource};
use entries::Entries;
pub use event_handle::EventHandle;
pub use kernel_event::CounterHandle;
use kernel_event::ThreadEvent;
use object::Object;
use posix_timer::PosixTimer;
pub use posix_timer::TimerHandle;
pub use signal_info::{SIGNAL, SignalInfo, is_by_own_timer, may_be_own};
use signal_info::{cookie, entry_cookie};
use stops::Stops;
use task_clock::TaskClock;

/// Cookies of a thread, by which the signals of its sources are told apart; and so are those of
/// entries, which have another tag.
pub const COOKIES: usize =
    if MAX_SOURCES > MOST_PHASE_FUNCTIONS { MAX_SOURCES } else { MOST_PHASE_FUNCTIONS };

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
    /// Those of them that sample time by signals.
    timed: u64,
    /// Those of them that are events with a count.
    counted: u32,
    /// Whether of one it is known what the collector itself causes.
    counts_own: bool,
    /// What tells of entries that begin phases: no sources, but stopped and started like them.
    entries: Entries,
    /// Of its sources of CPU time, the shortest period in nanoseconds; `u64::MAX` if it has none.
    least_period_ns: u64,
    /// Whether the thread is stopped at its samples.
    stops: Stops,
}

impl Sources {
    /// Those of a thread that has none yet, or any more.
    pub const NONE: Self = Self {
        opened: Vec::new(),
        timed: 0,
        counted: 0,
        counts_own: false,
        entries: Entries::NONE,
        least_period_ns: u64::MAX,
        stops: Stops::NONE,
    };

    /// Opens the process's sources for the calling thread; and starts them.
    /// `address`, which is the thread's and a multiple of a power of two that is not below
    /// [`COOKIES`], is what their cookies are made of. Setup side.
    pub fn open(process: &Process, tid: u32, address: usize) -> Self {
        let entries = Entries::open(process, tid, entry_cookie(address));
        let mut sources = Self { entries, stops: Stops::new(), ..Self::NONE };
        let cookie = cookie(address);
        for (number, source) in process.sources() {
            let setting = Setting::of(number);
            if let Some(opened) = Source::open(process, number, tid, cookie + number) {
                if let Source::Counted(event) = &opened {
                    sources.counted += 1;
                    sources.counts_own |= event.counts_own();
                }
                let properties = source.kind.properties();
                let is_time = properties.unit == Unit::Nanoseconds;
                sources.timed += u64::from(is_time && properties.trigger != Trigger::Call);
                if is_time && !properties.counts_waits {
                    sources.least_period_ns = sources.least_period_ns.min(source.period);
                }
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

    /// How many of them sample time by signals: each a share of the thread's.
    #[must_use]
    #[inline]
    pub const fn timed(&self) -> u64 {
        self.timed
    }

    /// The kernel objects, in the order of their metrics.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        let sources = self.opened.iter().filter_map(|opened| opened.source.handle());
        sources.chain(self.entries.handles().cloned().map(Handle::Event))
    }

    /// If the signal tells of a function's entry, begins its phase: `Some(false)` if there were too
    /// many, so that they are to [end](Self::end_entries). Signal side.
    #[must_use]
    #[inline]
    pub fn take_entry(&self, signal: &SignalInfo) -> Option<bool> {
        self.entries.take(signal)
    }

    /// No entry of a function is told of any more. Signal side. One thread at a time, while no
    /// other forks.
    pub fn end_entries(&self) {
        self.entries.handles().for_each(EventHandle::end);
    }

    /// Periods that passed without a sample since the program took each source away, but for those
    /// of pauses, with the number of its metric. Setup side.
    pub fn lost(&mut self) -> impl Iterator<Item = (usize, u64)> {
        self.opened.iter_mut().map(|opened| (opened.metric, opened.lost()))
    }

    // This and the next ones are no part of their caller, on whose stack all that a sample needs
    // comes on top.
    /// Which source sent the signal, and how many periods it stands for, 0 if it came too early or
    /// in a pause; `None` if it is none of these. Signal side.
    #[inline(never)]
    pub fn weight(&mut self, signal: &SignalInfo) -> Option<(usize, u64)> {
        let mut early = None;
        for opened in &mut self.opened {
            match opened.weight(signal) {
                None => {}
                // Two events may have had the same file number.
                Some(0) => early = early.or(Some((opened.metric, 0))),
                Some(weight) => return Some((opened.metric, weight)),
            }
        }
        early
    }

    /// After a sample of a thread that is [stopped](stops) at them: the timer that has sent it goes
    /// by the clock from here on. Signal side.
    #[inline]
    pub fn go_by_clock(&mut self, signal: &SignalInfo) {
        if self.stops.is_stopped() {
            self.timer_goes_by_clock(signal);
        }
    }

    #[cold]
    #[inline(never)]
    fn timer_goes_by_clock(&mut self, signal: &SignalInfo) {
        for opened in &mut self.opened {
            if let Source::Timer(timer) = &mut opened.source
                && timer.has_sent(signal)
            {
                timer.go_by_clock();
                // Perhaps not yet, if it had not sent any.
                timer.hold(self.stops.interval_ns());
            }
        }
    }

    /// Looks at how far events have counted, before anything that the handler does is counted, too.
    /// Signal side.
    #[inline]
    pub fn look(&mut self) {
        if self.counted > 0 {
            self.events().for_each(|(_, event)| event.look());
        }
    }

    /// An event of which periods have passed, and how many, whatever signal was to tell of them:
    /// the kernel keeps one SIGTRAP for those of several events. Signal side.
    #[inline(never)]
    pub fn take_due(&mut self) -> Option<(usize, u64)> {
        if self.counted == 0 {
            return None;
        }
        let mut due = self.opened.iter_mut().map(|opened| (opened.metric, opened.take_due()));
        due.find(|&(_, due)| due > 0)
    }

    /// Where in the kernel the periods of a metric ended for which the next sample stands, as far
    /// as that is known. Signal side.
    #[must_use]
    #[inline]
    pub fn inside(&self, metric: usize) -> &[KernelPlace] {
        if self.counted == 0 {
            return &[];
        }
        let of_metric = self.opened.iter().find(|opened| opened.metric == metric);
        match of_metric.map(|opened| &opened.source) {
            Some(Source::Counted(event)) => event.inside(),
            _ => &[],
        }
    }

    /// They had their sample. Returns whether there were others, of which nobody knows. Signal
    /// side.
    #[inline]
    pub fn leave_inside(&mut self, metric: usize) -> bool {
        if self.counted == 0 {
            return false;
        }
        let of_metric = self.events().find(|(number, _)| *number == metric);
        of_metric.is_some_and(|(_, event)| event.leave_inside())
    }

    /// What the thread has met so far, where that tells what it meets because of csprof: to be
    /// given to [`Sources::leave_out_since`]. Either side.
    #[must_use]
    #[inline]
    pub fn usage_before(&self) -> Option<Usage> {
        self.counts_own.then(usage)
    }

    /// What the thread has met since was not the program's. Either side.
    #[inline(never)]
    pub fn leave_out_since(&mut self, before: Option<Usage>) {
        let Some(before) = before else { return };
        let after = usage();
        self.events().for_each(|(_, event)| event.leave_out(&before, &after));
    }

    /// Of the source of a metric, if it is of elapsed time, the periods from one of its signals to
    /// the next, and whether these are more than was asked for. Signal side.
    #[must_use]
    #[inline]
    pub fn interval(&self, metric: usize) -> Option<(u64, bool)> {
        let opened = self.opened.iter().find(|opened| opened.metric == metric)?;
        match &opened.source {
            Source::Timer(timer) => timer.interval(),
            Source::Event(_) | Source::Counted(_) | Source::Call => None,
        }
    }

    /// Whether a source is to [go on](Self::go_on) in another way. Signal side.
    #[must_use]
    #[inline]
    pub fn is_to_go_on(&self) -> bool {
        self.opened.iter().any(|opened| match &opened.source {
            Source::Timer(timer) => timer.is_out_of_pace(),
            Source::Counted(event) => event.ended_first_period(),
            Source::Event(event) => event.is_out_of_pace(),
            Source::Call => false,
        })
    }

    /// Notes the registers that a signal has found, as a number that tells them apart, for the
    /// source that has sent it: where the thread does not go on between its samples, there are to
    /// be fewer. Signal side.
    #[inline]
    pub fn note_progress(&mut self, signal: &SignalInfo, registers: impl Fn() -> u64) {
        // Else it is known why.
        if self.stops.is_stopped() {
            return;
        }
        for opened in &mut self.opened {
            if let Source::Event(event) = &mut opened.source
                && event.has_sent(signal)
            {
                event.note_progress(registers());
            }
        }
    }

    /// The handler begins. Signal side.
    #[inline]
    pub fn begin_sample(&mut self) {
        if self.timed > 0 {
            self.stops.begin();
        }
    }

    /// What the present sample has taken because the thread is [stopped](stops) at its samples, in
    /// nanoseconds of elapsed time; 0 if it is not. Signal side.
    #[inline]
    #[must_use]
    pub fn stopped_ns(&self) -> u64 {
        self.stops.taken_ns()
    }

    /// Whether the thread is known to be [stopped](stops) at its samples: they may be far apart,
    /// and their handlers long. Signal side.
    #[inline]
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        self.stops.is_stopped()
    }

    /// It ends, and was that of a sample by this signal. Returns whether the thread is sampled less
    /// often than was asked for, because it is [stopped](stops) at its samples. Signal side.
    #[inline]
    pub fn end_sample(&mut self, signal: &SignalInfo) -> bool {
        if self.timed == 0 {
            return false;
        }
        let is_held_back = !self.stops.is_stopped() || self.is_of_cpu_time(signal);
        if !self.stops.end(is_held_back.then_some(self.least_period_ns)) {
            return false;
        }
        self.hold();
        self.stops.interval_ns() > 0
    }

    /// Whether a source of CPU time has sent the signal.
    #[cold]
    #[inline(never)]
    fn is_of_cpu_time(&self, signal: &SignalInfo) -> bool {
        let mut of_cpu_time = self.opened.iter().filter(|opened| opened.cpu_period_ns.is_some());
        of_cpu_time.any(|opened| opened.source.has_sent(signal))
    }

    #[cold]
    #[inline(never)]
    fn hold(&mut self) {
        let interval_ns = self.stops.interval_ns();
        for opened in &mut self.opened {
            match &mut opened.source {
                Source::Timer(timer) => timer.hold(interval_ns),
                Source::Event(event) => event.hold(interval_ns),
                Source::Counted(_) | Source::Call => {}
            }
        }
    }

    /// At the end of the handler: looks whether the next sample waits already, where that is to be
    /// known. Signal side.
    #[inline]
    pub fn look_for_next(&mut self, signal: &SignalInfo) {
        // As above.
        if self.stops.is_stopped() {
            return;
        }
        for opened in &mut self.opened {
            if let Source::Event(event) = &mut opened.source
                && event.has_sent(signal)
            {
                event.look_for_next(signal.signo);
            }
        }
    }

    /// Has events with a count whose first period has ended go on with whole ones, timers at the
    /// present [pace], and events of CPU time with the interval that their thread [can
    /// keep](progress). Signal side. One thread at a time, while no other forks.
    pub fn go_on(&mut self) {
        let mut refused: Option<u64> = None;
        for opened in &mut self.opened {
            if let Some(interval_ns) = opened.source.go_on() {
                refused = Some(refused.map_or(interval_ns, |least| least.min(interval_ns)));
            }
        }
        // All sources are held to the least of those that stay.
        if let Some(interval_ns) = refused {
            self.stops.stay_at(interval_ns, self.least_period_ns);
            self.hold();
        }
    }

    /// Does `work` while none of the timers comes due; they go on where they were. Signal side. One
    /// thread at a time, while no other forks.
    pub fn without_timers(&self, work: impl FnOnce()) {
        let mut paused = [None; MAX_SOURCES];
        for (paused, opened) in paused.iter_mut().zip(&self.opened) {
            if let Source::Timer(timer) = &opened.source {
                *paused = timer.handle().pause();
            }
        }
        work();
        paused.into_iter().flatten().for_each(PausedTimer::go_on);
    }

    /// Keeps samples out of a wait for the profiling signal that is about to begin: those that wait
    /// already, and those that would come by [timers of CPU time](PosixTimer::put_off). Signal
    /// side. One thread at a time, while no other forks.
    pub fn keep_out(&mut self) {
        // First: a signal that waits for a timer that is set anew stands for nothing.
        sys::drop_samples(SIGNAL, |taken| {
            let signal = SignalInfo::of(taken);
            let sender = self.timers_mut().find(|timer| timer.has_sent(signal));
            sender.into_iter().for_each(|timer| timer.take_off(signal));
            may_be_own(taken)
        });
        self.timers_mut().for_each(PosixTimer::put_off);
    }

    fn timers_mut(&mut self) -> impl Iterator<Item = &mut PosixTimer> {
        self.opened.iter_mut().filter_map(|opened| match &mut opened.source {
            Source::Timer(timer) => Some(timer),
            Source::Event(_) | Source::Counted(_) | Source::Call => None,
        })
    }

    /// Of each event, the number of its metric, and the times since this was called last for which
    /// the thread had it and for which it was counted, in nanoseconds. Either side.
    pub fn times_ns(&mut self) -> impl Iterator<Item = (usize, [u64; 2])> {
        self.events().map(|(metric, event)| (metric, event.take_times_ns()))
    }

    /// Says what is to be said of a thread's sources at its end. Setup side.
    pub fn tell(&mut self) {
        let refused = self.opened.iter().find_map(|opened| match &opened.source {
            Source::Counted(event) => event.refused(),
            Source::Event(event) => event.refused(),
            Source::Timer(_) | Source::Call => None,
        });
        if let Some(refused) = refused {
            messages::warn_once(Warning::EventNotRestarted, &kernel_event::not_any_more(refused));
        }
        let was_stuck = |opened: &Opened| match &opened.source {
            Source::Event(event) => event.was_stuck(),
            Source::Timer(_) | Source::Counted(_) | Source::Call => false,
        };
        if self.opened.iter().any(was_stuck) {
            messages::warn_once(
                Warning::SlowSignals,
                "the kernel took longer than a period of task-clock to deliver a signal, as it does \
                 where many others wait: a thread was sampled less often meanwhile, and each sample \
                 stands for several periods",
            );
        }
        if self.events().any(|(_, event)| event.is_throttled()) {
            messages::warn_once(
                Warning::Throttled,
                "the kernel held an event up, for its samples were too many: a processor's event \
                 is not counted meanwhile; a longer period (EVENT@N) is",
            );
        }
    }

    fn events(&mut self) -> impl Iterator<Item = (usize, &mut ThreadEvent)> {
        self.opened.iter_mut().filter_map(|opened| match &mut opened.source {
            Source::Counted(event) => Some((opened.metric, event)),
            Source::Timer(_) | Source::Event(_) | Source::Call => None,
        })
    }
}

impl Opened {
    #[inline]
    fn weight(&mut self, signal: &SignalInfo) -> Option<u64> {
        if !self.source.has_sent(signal) {
            return None;
        }
        let now = Setting::of(self.metric);
        let passed = self.source.weight(signal, self.setting, now);
        Some(self.admit(passed, now))
    }

    /// Periods of an event, whatever signal was to tell of them.
    #[inline]
    fn take_due(&mut self) -> u64 {
        let Source::Counted(event) = &mut self.source else { return 0 };
        match event.take_due() {
            0 => 0,
            passed => self.admit(passed, Setting::of(self.metric)),
        }
    }

    /// Periods that passed without a sample since the program took the source away, but for those
    /// of a pause.
    fn lost(&mut self) -> u64 {
        match self.source.lost() {
            0 => 0,
            passed => self.admit(passed, Setting::of(self.metric)),
        }
    }

    /// How many periods a sample is to stand for when so many have passed: none in a pause, nor
    /// before as many have passed as are to be between two samples.
    #[inline]
    fn admit(&mut self, passed: u64, now: Setting) -> u64 {
        let before = core::mem::replace(&mut self.setting, now);
        let passed = if now.is_steady_since(before) {
            passed
        } else {
            // Which of these places were a pause's is not known.
            if let Source::Counted(event) = &mut self.source {
                event.leave_inside();
            }
            self.behind(passed, now)
        };
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
        let Some(period_ns) = self.cpu_period_ns else {
            // Nobody knows when the others of several events were.
            return if matches!(self.source, Source::Counted(_)) { passed.min(1) } else { passed };
        };
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
    Counted(ThreadEvent),
    Call,
}

impl Source {
    /// See [`Sources::go_on`]. Returns the CPU time from one sample to the next, in nanoseconds, if
    /// there was to be more, and that was refused.
    // Not inlined: within a loop, the kinds would be told apart by a table whose address is kept in
    // a register, as those of functions are.
    #[inline(never)]
    fn go_on(&mut self) -> Option<u64> {
        match self {
            Self::Timer(timer) if timer.is_out_of_pace() => timer.keep_pace(),
            Self::Counted(event) if event.ended_first_period() => event.go_on(),
            Self::Event(event) if event.is_out_of_pace() => return event.go_on(),
            Self::Timer(_) | Self::Counted(_) | Self::Event(_) | Self::Call => {}
        }
        None
    }

    /// Opens the process's source with this number for the calling thread. `cookie` comes back in
    /// the signals of timers, and in SIGTRAP. Falls back where the kernel refuses, with a message.
    fn open(process: &Process, number: usize, tid: u32, cookie: usize) -> Option<Self> {
        let source = process.source(number)?;
        let timer = |source| PosixTimer::open(source, number, tid, cookie).map(Self::Timer);
        let opened = match source.kind.properties().trigger {
            Trigger::Timer => timer(source),
            Trigger::Event if let Detail::Event(event) = source.detail => {
                match ThreadEvent::open((number, source), &event, tid, cookie) {
                    Ok(event) => Ok(Self::Counted(event)),
                    Err(refused) => {
                        warn_of_missing(source, refused);
                        return None;
                    }
                }
            }
            Trigger::Event => match TaskClock::open((number, source), tid, cookie) {
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
            Self::Counted(event) => Some(Handle::Counter(event.handle())),
            Self::Call => None,
        }
    }

    fn lost(&mut self) -> u64 {
        match self {
            // An event with a count has no file.
            Self::Timer(_) | Self::Counted(_) | Self::Call => 0,
            Self::Event(event) => event.lost(),
        }
    }

    fn has_sent(&self, signal: &SignalInfo) -> bool {
        match self {
            Self::Timer(timer) => timer.has_sent(signal),
            Self::Event(event) => event.has_sent(signal),
            Self::Counted(event) => event.has_sent(signal),
            Self::Call => false,
        }
    }

    /// How many periods its signal stands for, if none of them was a pause's; of an event 0 if it
    /// came too early, or is perhaps another event's.
    // Not inlined: as `go_on`.
    #[inline(never)]
    fn weight(&mut self, signal: &SignalInfo, before: Setting, now: Setting) -> u64 {
        match self {
            Self::Timer(timer) => timer.weight(signal, before, now),
            Self::Event(event) => event.weight(),
            Self::Counted(event) => event.take_due(),
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

fn warn_of_missing(refused: SampleSource, PerfError(error): PerfError) {
    let why = match error.0 {
        libc::EINTR => "it may come by SIGTRAP alone, which is not to be had here",
        libc::EPERM => {
            "the kernel refused it, or to lock memory for it; see `ulimit -l` and \
             kernel.perf_event_mlock_kb"
        }
        libc::ENOMEM => "there is no memory for it; see memory.max of the cgroup",
        libc::EMFILE => "no file number is free; see `ulimit -n`",
        _ => "the kernel refused it",
    };
    messages::warn_once(
        Warning::SourceRefused,
        &format!("a thread is not sampled by {}: {why} (error {})", refused.name(), error.0),
    );
}

/// The kernel object behind a source, enough to stop and restart it from another thread.
#[derive(Clone, Debug)]
pub enum Handle {
    /// A timer.
    Timer(TimerHandle),
    /// An event.
    Event(EventHandle),
    /// An event with a count.
    Counter(CounterHandle),
}

impl Handle {
    fn object(&self) -> &dyn Object {
        match self {
            Self::Timer(timer) => timer,
            Self::Event(event) => event,
            Self::Counter(counter) => counter,
        }
    }

    /// Starts the source, or has it begin again.
    pub fn start(&self) {
        self.object().start();
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

    /// Whether the source may come by SIGTRAP.
    #[must_use]
    pub const fn is_event(&self) -> bool {
        matches!(self, Self::Event(_) | Self::Counter(_))
    }

    /// Whether it tells of a function's entries.
    #[must_use]
    pub fn is_of_entries(&self) -> bool {
        matches!(self, Self::Event(event) if event.is_of_code())
    }
}
