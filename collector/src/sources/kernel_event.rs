//! Any event that the kernel or the processor counts, by perf_event_open(2): page faults, context
//! switches, cycles, tracepoints.
//!
//! A signal says nothing about what it stands for: several overflows may be one, also of several
//! events, for SIGTRAP is not queued. So each signal has all events of the thread looked at. The
//! weight is how many periods end by the [count](PerfCounter::last) that an event had at its last
//! overflow, and what is left of a period goes on to the next sample. The first period has begun
//! at random before, as those of all sources. The kernel cannot be told so of an event that is to
//! go on with whole ones, so its first overflow comes after a part of a period, and then the event
//! is opened anew.
//!
//! What a handler of the collector's causes itself is not the program's: page faults and context
//! switches of the thread while it runs are subtracted. Of other events they are not known.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use csprof_format::launch::{KernelEvent, SampleSource};

use super::due::random_below;
use super::loan;
use super::object::Object;
use super::signal_info::{SIGNAL, SignalInfo, apart};
use crate::messages::{self, Warning};
use crate::sampler::KernelPlace;
use crate::sys::{Counted, Delivery, Errno, PerfCounter, PerfError, Usage};

/// An event of the calling thread.
#[derive(Debug)]
pub(super) struct ThreadEvent {
    handle: CounterHandle,
    /// What of the thread's usage it counts.
    own: Usage,
    opening: Opening,
    /// Periods that have passed and that no sample stands for yet.
    due: u64,
    /// Times that the arena does not have yet, in nanoseconds: enabled and running.
    unnoted_ns: [u64; 2],
    throttled: bool,
    /// Why it could not [go on](Self::go_on).
    refused: Option<PerfError>,
    /// Where in the kernel the periods ended that no sample stands for yet, as far as it is known;
    /// `None` where nobody asked.
    inside: Option<Box<Inside>>,
}

/// Places in the kernel.
#[derive(Debug)]
struct Inside {
    places: [KernelPlace; MOST_PLACES],
    used: usize,
    /// Whether there were others, of which nobody knows.
    are_more: bool,
}

/// Different places in the kernel that are kept for one sample: as many records of overflows as a
/// page has room for.
const MOST_PLACES: usize = 64;

impl Inside {
    const NONE: Self = {
        let places = [KernelPlace { address: 0, weight: 0 }; MOST_PLACES];
        Self { places, used: 0, are_more: false }
    };

    /// Periods have ended here. Beyond what there is room for, they stay without a place.
    fn add(&mut self, address: u64, weight: u64) {
        let used = self.used;
        let known = self.places.iter_mut().take(used).find(|place| place.address == address);
        if let Some(place) = known {
            place.weight = place.weight.saturating_add(weight);
        } else if let Some(place) = self.places.get_mut(used) {
            *place = KernelPlace { address, weight };
            self.used += 1;
        } else {
            self.are_more = true;
        }
    }
}

/// What a thread knows of the present opening of its event.
#[derive(Debug, Default)]
struct Opening {
    number: u32,
    /// Events that had passed of a period when it began.
    carried: u64,
    /// Events at the last overflow.
    events: u64,
    /// Bytes of records that were looked at, where they say where in the kernel they came.
    seen: u64,
    /// Of those since, the collector's own.
    own: u64,
    /// Periods accounted for.
    accounted: u64,
    /// Times at the last overflow, in nanoseconds.
    times_ns: [u64; 2],
}

/// An event and what comes back in its SIGTRAP.
#[derive(Clone, Debug)]
pub struct CounterHandle {
    shared: Arc<SharedCounter>,
    cookie: u64,
    period: u64,
    /// Whether it may come by SIGTRAP alone.
    needs_trap: bool,
    /// Whether a counter of the processor's has it, which stops where the kernel holds it up.
    is_of_processor: bool,
}

#[derive(Debug)]
struct SharedCounter {
    counter: PerfCounter,
    /// How often it was opened, and with what.
    openings: AtomicU32,
    carried: AtomicU64,
    /// Events from one overflow to the next.
    interval: AtomicU64,
}

/// `type` of software events and of tracepoints, and some software events (perf_event_open(2)).
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const PAGE_FAULTS: u64 = 2;
const CONTEXT_SWITCHES: u64 = 3;
const MIGRATIONS: u64 = 4;
const MINOR_FAULTS: u64 = 5;
const MAJOR_FAULTS: u64 = 6;

/// Whether a signal from the interrupt would bring about the next event: it ends the wait of which
/// the beginning is one.
const fn needs_trap(event: &KernelEvent) -> bool {
    let begins_waits = matches!(event.config[0], CONTEXT_SWITCHES | MIGRATIONS);
    event.pmu == TRACEPOINT || event.pmu == SOFTWARE && begins_waits
}

/// What of a thread's usage an event counts: 1 where it does.
const fn own(event: &KernelEvent) -> Usage {
    let (minor_faults, major_faults, switches) = match (event.pmu, event.config[0]) {
        (SOFTWARE, PAGE_FAULTS) => (1, 1, 0),
        (SOFTWARE, MINOR_FAULTS) => (1, 0, 0),
        (SOFTWARE, MAJOR_FAULTS) => (0, 1, 0),
        (SOFTWARE, CONTEXT_SWITCHES) => (0, 0, 1),
        _ => (0, 0, 0),
    };
    Usage { minor_faults, major_faults, switches }
}

impl CounterHandle {
    /// Opens the event, of which so many have passed of a period, by SIGTRAP if that is on loan.
    /// The next sample is due after `interval`. One thread at a time, while no other forks.
    fn open(&self, carried: u64, interval: u64) -> Result<(), PerfError> {
        let shared = &*self.shared;
        // Its thread may be reading: first nothing, then what it is, then the counter.
        shared.counter.close();
        shared.carried.store(carried, Ordering::Relaxed);
        shared.interval.store(interval, Ordering::Relaxed);
        // Release: pairs with the acquire of who reads.
        shared.openings.fetch_add(1, Ordering::Release);
        let delivery = match loan::on_loan() {
            true => Delivery::Synchronous(self.cookie),
            false if self.needs_trap => return Err(PerfError(Errno(libc::EINTR))),
            false => Delivery::Asynchronous,
        };
        shared.counter.open(interval, delivery)
    }

    /// Opens it with a first period that has begun before.
    fn open_at_random(&self) -> Result<(), PerfError> {
        let carried = random_below(self.period);
        self.open(carried, self.period - carried)
    }
}

impl SharedCounter {
    /// The present opening. One thread at a time, while no other forks.
    fn opening(&self) -> Opening {
        let number = self.openings.load(Ordering::Relaxed);
        let carried = self.carried.load(Ordering::Relaxed);
        Opening { number, carried, ..Opening::default() }
    }
}

impl ThreadEvent {
    /// Opens the event of the source with this number, and starts it.
    pub(super) fn open(
        (number, source): (usize, SampleSource),
        event: &KernelEvent,
        tid: u32,
        cookie: usize,
    ) -> Result<Self, PerfError> {
        let counted = Counted {
            pmu: event.pmu,
            config: event.config,
            kernel: event.kernel,
            shows_kernel: event.shows_kernel,
            precise: event.precise,
        };
        let counter = PerfCounter::new(counted, SIGNAL, tid, apart(number)).map_err(PerfError)?;
        let shared = SharedCounter {
            counter,
            openings: AtomicU32::new(0),
            carried: AtomicU64::new(0),
            interval: AtomicU64::new(0),
        };
        let handle = CounterHandle {
            shared: Arc::new(shared),
            cookie: cookie as u64,
            period: source.period,
            needs_trap: needs_trap(event),
            is_of_processor: !matches!(event.pmu, SOFTWARE | TRACEPOINT),
        };
        handle.open_at_random()?;
        let opening = handle.shared.opening();
        let own = own(event);
        let (due, unnoted_ns, throttled, refused) = (0, [0; 2], false, None);
        let inside = event.shows_kernel.then(|| Box::new(Inside::NONE));
        Ok(Self { handle, own, opening, due, unnoted_ns, throttled, refused, inside })
    }

    pub(super) fn handle(&self) -> CounterHandle {
        self.handle.clone()
    }

    /// Whether it has sent the signal, or perhaps another event of the same file number.
    pub(super) fn has_sent(&self, signal: &SignalInfo) -> bool {
        if signal.signo == loan::TRAP {
            signal.code == loan::TRAP_PERF && signal.value == self.handle.cookie
        } else {
            // F_SETSIG fills si_code with the band's POLL_ code and si_fd with the file (fcntl(2)).
            signal.code > 0 && signal.value as i32 == self.handle.shared.counter.number()
        }
    }

    /// Looks at how far it has counted.
    pub(super) fn look(&mut self) {
        self.due = self.due.saturating_add(self.passed());
    }

    /// Periods that no sample stands for yet: from now on one does.
    pub(super) const fn take_due(&mut self) -> u64 {
        core::mem::replace(&mut self.due, 0)
    }

    /// Periods that have passed since the last sample.
    fn passed(&mut self) -> u64 {
        let shared = &*self.handle.shared;
        // Acquire, here and below: another thread may be opening it anew.
        let number = shared.openings.load(Ordering::Acquire);
        let (carried, reading) = (shared.carried.load(Ordering::Relaxed), shared.counter.last());
        let Some(reading) = reading else { return 0 };
        core::sync::atomic::fence(Ordering::Acquire);
        if shared.openings.load(Ordering::Relaxed) != number {
            return 0;
        }
        if self.opening.number != number {
            self.opening = Opening { number, carried, ..Opening::default() };
        }
        let times_ns = [reading.enabled_ns, reading.running_ns];
        for ((unnoted_ns, now_ns), before_ns) in
            self.unnoted_ns.iter_mut().zip(times_ns).zip(self.opening.times_ns)
        {
            *unnoted_ns = unnoted_ns.saturating_add(now_ns.saturating_sub(before_ns));
        }
        self.opening.times_ns = times_ns;
        self.throttled |= reading.throttled && self.handle.is_of_processor;
        let period = self.handle.period;
        let due_before = self
            .inside
            .as_deref_mut()
            .map_or(0, |inside| self.opening.look_inside(inside, &shared.counter, period));
        // There may be one more since, or those of another opening.
        self.opening.events = self.opening.events.max(reading.events);
        due_before.saturating_add(self.opening.take(period))
    }

    /// Where in the kernel the periods of the sample ended that is about to be taken, as far as it
    /// is known.
    pub(super) fn inside(&self) -> &[KernelPlace] {
        self.inside.as_deref().map_or(&[], |inside| inside.places.get(..inside.used).unwrap_or(&[]))
    }

    /// They were those of a sample, or of none. Returns whether there were others, of which nobody
    /// knows.
    pub(super) fn leave_inside(&mut self) -> bool {
        self.inside.as_mut().is_some_and(|inside| {
            inside.used = 0;
            core::mem::replace(&mut inside.are_more, false)
        })
    }

    /// The collector itself has caused events from `before` to `after`.
    pub(super) fn leave_out(&mut self, before: &Usage, after: &Usage) {
        let own = after.of(&self.own).saturating_sub(before.of(&self.own));
        self.opening.own = self.opening.own.saturating_add(own);
    }

    /// Whether what the collector itself causes is known.
    pub(super) fn counts_own(&self) -> bool {
        self.own != Usage::default()
    }

    /// Whether it has had its first overflow, and has to be opened anew.
    pub(super) fn ended_first_period(&self) -> bool {
        let interval = self.handle.shared.interval.load(Ordering::Relaxed);
        interval != self.handle.period && self.opening.events > 0
    }

    /// Opens it anew with whole periods. One thread at a time, while no other forks.
    pub(super) fn go_on(&mut self) {
        let (rest, period) = (self.opening.rest(self.handle.period), self.handle.period);
        // What came too early, for the collector had events of its own, waits for what is missing.
        let interval = if self.opening.accounted > 0 { period } else { period - rest };
        // The kernel has just had it; but the program may have no file number left.
        self.refused = self.handle.open(rest, interval).err();
        self.opening = self.handle.shared.opening();
    }

    /// Times for which the thread had the event, and for which it was counted, in nanoseconds.
    pub(super) fn take_times_ns(&mut self) -> [u64; 2] {
        core::mem::take(&mut self.unnoted_ns)
    }

    /// Why it could not go on, if it could not.
    pub(super) const fn refused(&self) -> Option<&PerfError> {
        self.refused.as_ref()
    }

    /// Whether the kernel has held it up.
    pub(super) const fn is_throttled(&self) -> bool {
        self.throttled
    }
}

impl Opening {
    /// Accounts for what has passed at each overflow, and notes where in the kernel that was. What
    /// those stand for that were written over is accounted for without a place.
    fn look_inside(&mut self, inside: &mut Inside, counter: &PerfCounter, period: u64) -> u64 {
        let mut due = 0u64;
        let opening = &mut *self;
        opening.seen = counter.overflows(opening.seen, |overflow, follows| {
            if !follows {
                // All but its own period may be theirs.
                opening.events = overflow.events.saturating_sub(period);
                let weight = opening.take(period);
                due = due.saturating_add(weight);
                inside.are_more |= weight > 0;
            }
            opening.events = overflow.events;
            let weight = opening.take(period);
            due = due.saturating_add(weight);
            if let Some(address) = overflow.kernel.filter(|_| weight > 0) {
                inside.add(address, weight);
            }
        });
        due
    }

    /// Accounts for what has passed.
    fn take(&mut self, period: u64) -> u64 {
        let passed = self.net().checked_div(period).unwrap_or(0);
        let due = passed.saturating_sub(self.accounted);
        self.accounted += due;
        due
    }

    /// What is left of a period.
    fn rest(&self, period: u64) -> u64 {
        let accounted = self.accounted.saturating_mul(period);
        self.net().saturating_sub(accounted).min(period.saturating_sub(1))
    }

    /// The program's events.
    fn net(&self) -> u64 {
        self.carried.saturating_add(self.events.saturating_sub(self.own))
    }
}

impl Object for CounterHandle {
    fn start(&self) {
        let Err(refused) = self.open_at_random() else { return };
        let why = if self.needs_trap && !loan::on_loan() {
            "an event that begins waits needs SIGTRAP, which the program uses: it is not sampled \
             from there on"
        } else {
            return messages::warn_once(Warning::EventNotRestarted, &not_any_more(&refused));
        };
        messages::warn_once(Warning::EventNotRestarted, why);
    }

    fn stop(&self) {
        self.shared.counter.close();
    }

    fn close(&self) {
        self.shared.counter.close();
    }

    fn forget(&self) {
        self.shared.counter.forget();
    }
}

/// What is said of an event that is not to be had again.
pub(super) fn not_any_more(refused: &PerfError) -> String {
    format!("a thread is not sampled any more: error {}", refused.0.0)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Weights of samples at these counts, each with the collector's own events until then.
    fn weights(carried: u64, period: u64, counts: &[(u64, u64)]) -> Vec<u64> {
        let mut opening = Opening { carried, ..Opening::default() };
        let weight = |&(events, own): &(u64, u64)| {
            (opening.events, opening.own) = (events, own);
            opening.take(period)
        };
        counts.iter().map(weight).collect()
    }

    #[test]
    fn each_period_is_counted_once() {
        assert_eq!(weights(3, 10, &[(7, 0), (17, 0), (17, 0), (48, 0)]), [1, 1, 0, 3]);
        assert_eq!(weights(0, 1, &[(1, 0), (3, 0)]), [1, 2]);
    }

    #[test]
    fn what_the_collector_causes_is_left_out() {
        assert_eq!(weights(0, 10, &[(10, 2), (20, 2), (30, 2), (42, 2)]), [0, 1, 1, 2]);
        assert_eq!(weights(9, 10, &[(1, 5), (20, 5)]), [0, 2]);
    }

    #[test]
    fn what_is_left_of_a_period_goes_on() {
        let mut opening = Opening { carried: 4, events: 27, own: 1, ..Opening::default() };
        assert_eq!((opening.take(10), opening.rest(10)), (3, 0));
        opening.events = 36;
        assert_eq!((opening.rest(10), opening.take(10)), (9, 0));
    }
}
