//! The handler: whose is the signal, and how many periods does it stand for?
//!
//! Called by [`pass_on`](super::pass_on) on [`SIGNAL`](crate::sources::SIGNAL) or
//! [SIGTRAP](crate::sources::loan), with all signals blocked until it returns; of a
//! [sealed](crate::sealed) process, those that the program asked for.

#![expect(unsafe_code, reason = "signal context, thread state")]

use core::mem::replace;
use core::sync::atomic::Ordering;

use csprof_format::address::FrameKind;
use csprof_format::arena::LATE_NS;
use csprof_format::launch::Unit;
use csprof_format::loss::LossReason;

use super::restart::decide_for_next_signal;
use super::waited::{switched_in, waited_in};
use crate::arch;
use crate::control::Setting;
use crate::modules::Reading;
use crate::process;
use crate::sampler::{Sample, worth_ns};
use crate::sealed::sealed;
use crate::sources::loan::TRAP;
use crate::sources::{SignalInfo, is_by_own_timer, pace};
use crate::sys::{self, Clock};
use crate::thread;

/// A sample, or the program's own signal. Returns whether the signal was a sample, or may have been
/// one.
///
/// # Safety
/// To be called with the arguments of the kernel, by what the [`entry`](super::entry) asks.
pub(super) unsafe fn on_signal(info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) -> bool {
    // SAFETY: the kernel passes live structures; siginfo_t is at least as large as SignalInfo.
    let (info, context) = unsafe { (&*info.cast::<SignalInfo>(), &mut *context) };
    // Held to the end: who seals the process waits for handlers that began before.
    let reading = Reading::begin();
    let may_be_sample = count(info, context, reading.as_ref());
    // An event's SIGTRAP ends a wait whatever it is.
    if (may_be_sample || info.signo == TRAP) && !sealed() {
        decide_for_next_signal(context);
    }
    may_be_sample
}

/// Counts a sample. Returns as [`on_signal`].
fn count(info: &SignalInfo, context: &libc::ucontext_t, reading: Option<&Reading>) -> bool {
    let thread = thread::current();
    if thread.is_null() || sealed() {
        let Some(process) = process::current().filter(|_| is_by_own_timer(info)) else {
            return false;
        };
        let weight = 1 + u64::from(info.overrun.unsigned_abs());
        let sealed = sealed();
        let why = if sealed { LossReason::Sealed } else { LossReason::NoThreadState };
        process.arena.count_loss(why, weight);
        return true;
    }
    // SAFETY: this thread's state. The signal is blocked while the handler runs, and while setup
    // code uses the state, so this is the only reference.
    let thread = unsafe { &mut *thread };
    thread.sources.begin_sample();
    let before = thread.sources.usage_before();
    let entry = thread.sources.take_entry(info);
    if entry == Some(false) {
        thread::registry::end_entries(&thread.sources);
    }
    let is_entry = entry.is_some();
    // Not in the child of a fork by hand, which has no pages of its parent's events.
    let is_sampled = !is_entry && process::current().is_some();
    if is_sampled {
        thread.sources.look();
    }
    let mut due = if is_entry { None } else { thread.sources.weight(info) };
    thread.sources.go_by_clock(info);
    let is_ours = is_entry || due.is_some();
    if is_ours && !is_entry {
        thread.sources.note_progress(info, || arch::fingerprint(context));
    }
    while let Some((metric, weight)) = due {
        let interval = thread.sources.interval(metric);
        let cpu_ns = interval.map(|_| sys::now_ns(Clock::ThreadCpu));
        // Of weight 0 it came too early, or in a pause.
        if weight > 0 {
            take(thread, (metric, weight), cpu_ns, context, reading);
        }
        if let (Some((interval, is_slower)), Some(before_ns)) = (interval, cpu_ns) {
            let took_ns = sys::now_ns(Clock::ThreadCpu).saturating_sub(before_ns);
            let took_ns = took_ns.max(thread.sources.stopped_ns());
            if pace::pay(interval, took_ns) && is_slower && weight > 0 {
                thread.sampler.arena.process().set_paced();
            }
        }
        due = thread.sources.take_due();
    }
    thread.sources.leave_out_since(before);
    if !is_ours {
        // An event's SIGTRAP never comes from elsewhere, but perhaps from before an exec or a fork.
        return false;
    }
    if !is_entry {
        thread.sources.look_for_next(info);
        if thread.sources.end_sample(info) {
            thread.sampler.arena.process().set_stopped();
        }
    }
    if is_sampled && thread.sources.is_to_go_on() {
        thread::registry::go_on(&mut thread.sources);
    }
    true
}

/// Takes a sample. Where it is of elapsed time, `cpu_ns` is the thread's CPU time at present.
// Not inlined: the registers would be copied twice, once for all samples of a signal.
#[inline(never)]
fn take(
    thread: &mut thread::Thread,
    (metric, weight): (usize, u64),
    cpu_ns: Option<u64>,
    context: &libc::ucontext_t,
    reading: Option<&Reading>,
) {
    let in_handler = &thread.sampler.shared().in_handler;
    in_handler.store(true, Ordering::Relaxed);
    let Arrived { waited_in, time_ns } = arrived(thread, (metric, weight), cpu_ns, context);
    let sample = Sample {
        registers: arch::registers(context),
        kind: FrameKind::Leaf,
        waited_in,
        inside: thread.sources.inside(metric),
        stack: thread.stack.bounds,
        metric,
        weight,
        arms: true,
        time_ns,
    };
    thread.sampler.sample(reading.map(Reading::map), &sample);
    if thread.sources.leave_inside(metric) {
        thread.sampler.arena.process().set_placeless();
    }
    // The name may be set late, and the thread may be killed at any time.
    let signals = thread.sampler.arena.own_signals();
    if signals.is_power_of_two() || signals.is_multiple_of(64) {
        thread.note_progress();
    }
    in_handler.store(false, Ordering::Relaxed);
}

/// What is known of a sample before its stack is walked.
struct Arrived {
    /// See [`Sample::waited_in`].
    waited_in: Option<u32>,
    /// See [`Sample::time_ns`].
    time_ns: Option<u64>,
}

/// Counts its signal.
// Not inlined: the walk, which comes after, would have room for all this below it.
#[inline(never)]
fn arrived(
    thread: &mut thread::Thread,
    (metric, weight): (usize, u64),
    cpu_ns: Option<u64>,
    context: &libc::ucontext_t,
) -> Arrived {
    let record = thread.sampler.arena.record_mut();
    record.count_signal(metric);
    let source = process::current().and_then(|process| process.kind_and_period(metric));
    let time_ns = |samples: u64| match source {
        Some((kind, period)) if kind.properties().unit == Unit::Nanoseconds => {
            Some(samples.saturating_mul(period))
        }
        _ => None,
    };
    let counts_waits = source.is_some_and(|(kind, _)| kind.properties().counts_waits);
    if source.is_some() && !counts_waits && !thread.sources.is_stopped() {
        // Where waits count, it is the wait that a sample stands for, and the thread has been
        // there. And where a tracer stops the thread at its samples, it is said why they are far
        // apart.
        let every = Setting::of(metric).every;
        let is_late = time_ns(weight.saturating_sub(every)).is_some_and(|ns| ns >= LATE_NS);
        record.late += if is_late { weight } else { 0 };
    }
    let sampled_ns = time_ns(weight).unwrap_or(0);
    let waited_in = if counts_waits {
        waited_in(context, sampled_ns, &mut thread.at_last_wait)
    } else if process::current().is_some_and(|process| process.samples_switches(metric)) {
        switched_in(context, &mut thread.at_last_switch)
    } else {
        None
    };
    let time_ns = match cpu_ns {
        Some(now_ns) => {
            let ran_ns = now_ns.saturating_sub(replace(&mut thread.cpu_at_last_wait_ns, now_ns));
            time_ns(weight).map(|ns| worth_ns(ns, ran_ns))
        }
        None => time_ns(weight),
    };
    // The sources of a thread that sample time sample the same.
    let time_ns = time_ns.map(|ns| ns / thread.sources.timed().max(1));
    Arrived { waited_in, time_ns }
}
