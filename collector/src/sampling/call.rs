//! Samples without a signal: a call that the program makes ends a period of a synchronous source,
//! and the thread that makes it takes the sample, before the call is passed on or behind it.
//!
//! What is about to hand work over to other threads is not sampled, but has its context found in
//! the same way.
//!
//! Called by wrappers, at any place where the program may call: in its handlers, on any stack, with
//! locks held. So what is done here is what handlers may do. The first frame of the sample is the
//! wrapper's caller, as it goes on when the call returns; csprof is in no path.
//!
//! Stack. As for a signal, the sample is taken on the thread's [handler stack](handler_stack): the
//! one that the program stands on may be a coroutine's of 4 KiB, and a sample needs twice as much.
//!
//! One reference. All signals are blocked while the thread's state is used, so no handler uses it.
//! Handlers and setup code, which use it at other times, call nobody but the kernel meanwhile, so
//! they never come here. While the thread forks, when its return addresses must stay as they are,
//! and should it be in a handler of the collector's after all, the sample is lost as
//! [`CollectorBusy`](LossReason::CollectorBusy). Another process or thread that has this one's
//! thread-local storage (vfork, clone(2) by hand) has another id, and takes no sample.

#![expect(unsafe_code, reason = "thread state")]

use core::sync::atomic::Ordering;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::arena::BlockRecord;
use csprof_format::launch::Until;
use csprof_format::loss::LossReason;

use crate::arch;
use crate::arch::unwind::registers::Registers;
use crate::control;
use crate::modules::Reading;
use crate::process;
use crate::sampler::blocks::Claim;
use crate::sampler::{Sample, Shared};
use crate::sealed::{SAMPLES_OF_CALLS, sealed};
use crate::sources::{metric_of, requests};
use crate::sys::{self, Mask};
use crate::thread::{self, handler_stack};
use crate::unwind::validate::StackBounds;

/// Counts a call for the source of this metric: `amount` in its unit, 1 where it counts calls.
/// Samples it if a period ends with it. `registers` are those of the caller, behind the call.
///
/// Async-signal-safe. `errno` stays as it is; system calls are made only for a sample.
#[inline]
pub fn on_call(metric: usize, amount: u64, registers: impl FnOnce() -> Registers) {
    // What is counted in a pause is dropped where a period ends: nobody pays for that at each call.
    count(metric, amount, registers, || !control::is_paused());
}

/// The same for so many nanoseconds of [the run](control::running_ns) that a call took. Of a call
/// that ends in a pause they are those before, so they are no pause's.
#[inline]
pub fn on_time(metric: usize, time_ns: u64, registers: impl FnOnce() -> Registers) {
    count(metric, time_ns, registers, || true);
}

#[inline]
fn count(
    metric: usize,
    amount: u64,
    registers: impl FnOnce() -> Registers,
    is_sampled: impl FnOnce() -> bool,
) {
    let Some(shared) = Shared::here() else { return };
    let weight = shared.counter(metric).map_or(0, |counter| counter.add(amount));
    if weight > 0 && is_sampled() {
        let registers = registers();
        let block = None;
        sample(&mut DueSample { shared: &shared, metric, weight, registers, block, reading: None });
    }
}

/// Samples requests of the program to its allocator, the last of which was granted at `address`:
/// they [exceed a stretch](requests::is_exceeded). `registers` as above.
///
/// Async-signal-safe, as above.
#[cold]
#[inline(never)]
pub fn on_requests(address: u64, registers: Registers) {
    let Some(shared) = Shared::here() else { return requests::stop() };
    let counted = (!sealed()).then(|| SAMPLES_OF_CALLS.enter());
    if sealed() {
        requests::stop();
    } else if is_of_this_thread(thread::current()) {
        let mask = sys::set_mask(Mask::ALL);
        let mut reading = Reading::begin();
        // Here, too, what ends in a pause is dropped.
        let is_sampled = !control::is_paused();
        let ended = requests::settle(&shared, metric_of).into_iter().flatten();
        for (kind, metric, weight) in ended.filter(|_| is_sampled) {
            let followed = kind.properties().followed;
            let block = followed.map(|until| (address, until == Until::PhaseEnds));
            let mut due = DueSample { shared: &shared, metric, weight, registers, block, reading };
            handler_stack::call(take, &mut due);
            reading = due.reading;
        }
        drop(reading);
        sys::set_mask(mask);
    }
    drop(counted);
}

/// The key of a handover by the caller, whose registers these are, to other threads: `None` if the
/// thread is not sampled, or its callers cannot be found.
///
/// Async-signal-safe, as above. Where the same activation hands over again, nothing is walked.
pub fn handover(registers: Registers) -> Option<FrameKey> {
    let last = Shared::here()?.last_context(registers.ip, registers.sp());
    last.map_or_else(|| found_handover(registers), FrameKey::from_bits)
}

#[cold]
#[inline(never)]
fn found_handover(registers: Registers) -> Option<FrameKey> {
    /// What is asked for, and the answer.
    struct Asked(Registers, Option<Reading>, Option<FrameKey>);
    extern "C" fn find(asked: &mut Asked) {
        let (Asked(registers, Some(reading), key), thread) = (asked, thread::current()) else {
            return;
        };
        if thread.is_null() {
            // In the child of a fork by a handler, which is not sampled.
            return;
        }
        // SAFETY: this thread's state, as was found out before. All signals are blocked, and no
        // setup code uses it meanwhile (see above), so this is the only reference.
        let thread = unsafe { &mut *thread };
        let in_handler = &thread.sampler.shared().in_handler;
        if thread.is_paused() || in_handler.swap(true, Ordering::Relaxed) {
            return;
        }
        let sample = call_at(*registers, thread.stack.bounds);
        let before = thread.sources.usage_before();
        let mut node = None;
        arch::as_in_handler(|| node = thread.sampler.context(reading.map(), &sample));
        thread.sources.leave_out_since(before);
        let index = thread.sampler.arena.index();
        *key = node.and_then(|(node, _)| FrameKey::handover(index, node));
        if let (Some(key), Some((_, true))) = (*key, node) {
            thread.sampler.shared().keep_context(registers.ip, registers.sp(), key.to_bits());
        }
        in_handler.store(false, Ordering::Relaxed);
    }
    let counted = (!sealed()).then(|| SAMPLES_OF_CALLS.enter());
    let mut asked = Asked(registers, None, None);
    if !sealed() && is_of_this_thread(thread::current()) {
        let mask = sys::set_mask(Mask::ALL);
        asked.1 = Reading::begin();
        handler_stack::call(find, &mut asked);
        asked.1 = None;
        sys::set_mask(mask);
    }
    drop(counted);
    asked.2
}

/// A call at these registers that stands for nothing yet.
fn call_at(registers: Registers, stack: StackBounds) -> Sample<'static> {
    Sample {
        registers,
        kind: FrameKind::Call,
        stack,
        metric: 0,
        weight: 0,
        time_ns: None,
        waited_in: None,
        inside: &[],
        arms: false,
    }
}

/// A sample that is due.
struct DueSample<'a> {
    /// That of the thread which the call was counted for.
    shared: &'a Shared,
    metric: usize,
    weight: u64,
    registers: Registers,
    /// The block that is to be followed, and whether to the end of its phase.
    block: Option<(u64, bool)>,
    reading: Option<Reading>,
}

#[cold]
fn sample(due: &mut DueSample<'_>) {
    // Nobody waits for those that come later.
    let counted = (!sealed()).then(|| SAMPLES_OF_CALLS.enter());
    if sealed() {
        lose(due, LossReason::Sealed);
    } else if is_of_this_thread(thread::current()) {
        // Not on the stack that is changed, which may be another thread's.
        let mask = sys::set_mask(Mask::ALL);
        // Held only while no signal comes: a handler of the program may leave for elsewhere.
        due.reading = Reading::begin();
        handler_stack::call(take, due);
        due.reading = None;
        sys::set_mask(mask);
    }
    drop(counted);
}

/// Whether there is a state, and it is that of the thread that runs.
fn is_of_this_thread(thread: *const thread::Thread) -> bool {
    // SAFETY: live as long as its thread is, whose id never changes.
    !thread.is_null() && unsafe { (&raw const (*thread).tid).read() } == sys::tid()
}

/// Takes it, with all signals blocked.
extern "C" fn take(due: &mut DueSample<'_>) {
    let thread = thread::current();
    if thread.is_null() {
        // In the child of a fork by a handler, which is not sampled.
        return;
    }
    let in_handler = &due.shared.in_handler;
    if in_handler.swap(true, Ordering::Relaxed) {
        return lose(due, LossReason::CollectorBusy);
    }
    // SAFETY: this thread's state, as was found out before. All signals are blocked, and no setup
    // code uses it meanwhile (see above), so this is the only reference.
    let thread = unsafe { &mut *thread };
    // Else a handler of the program has forked since the call was counted: it is the parent's.
    if core::ptr::eq(thread.sampler.shared(), due.shared) {
        if thread.is_paused() {
            let record = thread.sampler.arena.record_mut();
            record.count_delivered(due.metric, due.weight);
            record.count_loss(LossReason::CollectorBusy, due.weight);
        } else {
            arch::as_in_handler(|| add(thread, due));
        }
    }
    in_handler.store(false, Ordering::Relaxed);
}

fn lose(due: &DueSample<'_>, reason: LossReason) {
    if let Some(process) = process::current() {
        process.arena.count_loss(reason, due.weight);
    }
}

fn add(thread: &mut thread::Thread, due: &DueSample<'_>) {
    let claim = due.block.map(|(block, is_of_phase)| {
        let has_room = !is_of_phase || due.weight >> BlockRecord::PHASE_SHIFT == 0;
        let claim = has_room.then(|| Claim::of(thread.sampler.arena.process(), block)).flatten();
        (block, is_of_phase, claim)
    });
    if let Some((.., None)) = claim {
        let record = thread.sampler.arena.record_mut();
        record.count_delivered(due.metric, due.weight);
        record.count_loss(LossReason::NotFollowed, due.weight);
        return;
    }
    let (metric, weight, arms) = (due.metric, due.weight, due.block.is_none());
    let sample = Sample { metric, weight, arms, ..call_at(due.registers, thread.stack.bounds) };
    let before = thread.sources.usage_before();
    let node = thread.sampler.sample(due.reading.as_ref().map(Reading::map), &sample);
    thread.sources.leave_out_since(before);
    if let Some((block, is_of_phase, Some(claim))) = claim {
        let index = thread.sampler.arena.index();
        match node {
            Some(node) if is_of_phase => claim.follow_in_phase(block, due.weight, index, node),
            Some(node) => claim.follow(block, due.weight, index, node),
            None => claim.leave(),
        }
    }
    let delivered = thread.sampler.arena.own_delivered();
    // The name may be set late, and the thread may be killed at any time.
    if delivered.is_power_of_two() || delivered.is_multiple_of(64) {
        thread.note_progress();
    }
}
