//! One thread's sampling state: from its start to its end.
//!
//! Setup side, except [`current`], which the handler uses to find the state of the thread it
//! interrupted, the [handler stack](handler_stack), [`without_timers`], and what notes a sample.
//! The pointer lives in initial-exec thread-local storage, which a library that is loaded at
//! start-up may use: one load, never `__tls_get_addr`, which may allocate.
//!
//! Invariant: the state is used by its own thread only, by the handler or, with all signals
//! blocked, by the functions here: a handler of the program that came in between could fork, throw
//! or leave by longjmp, and find or leave half a change. So at any time there is one exclusive
//! reference to a [`Thread`] at most. What is used with no signal blocked is not in it but in
//! [`Shared`], to which there are shared references only. Other threads see
//! the [`registry`] only.

#![expect(unsafe_code, reason = "thread-local pointer, state shared with the signal handler")]

use alloc::boxed::Box;
use alloc::format;
mod ended;
pub mod handler_stack;
pub mod own_stack;
pub mod pause;
pub mod registry;
mod spare;
pub mod unarmed;

use core::ptr::NonNull;

use csprof_format::loss::LossReason;

pub use ended::Beginning;
use own_stack::{OwnStack, thread_stack_in_use};
use spare::Spare;

use handler_stack::HandlerStack;

use crate::allocator;
use crate::arch;
use crate::arena::ThreadArena;
use crate::messages::{self, Warning};
use crate::modules;
use crate::process::{self, Process};
use crate::sampler::{Buffers, Sampler, Shared};
use crate::sealed::sealed;
use crate::sources::{self, SIGNAL, Sources, loan, may_be_own};
use crate::sys::{self, Clock, Mask, Spent, Switches};
use crate::trampoline;

arch::thread_word! {
    /// The state of each thread.
    ThreadOfHere: *mut Thread = "csprof_thread"
}

/// Everything that belongs to one thread. Aligned so that its address has room for the number of a
/// source.
#[repr(align(16))]
pub struct Thread {
    /// Turns its stacks into counted nodes.
    pub sampler: Sampler,
    /// Kernel's thread id.
    pub tid: u32,
    /// What triggers its samples.
    pub sources: Sources,
    /// How it began; `None` of the main thread, and of the one that goes on in the child of a fork:
    /// their records are no others'.
    beginning: Option<Beginning>,
    /// Where the registry has it.
    place: registry::RegistryIndex,
    /// The stack that the thread was given.
    pub stack: OwnStack,
    /// Top of the stack on which its handlers run.
    handlers: u64,
    /// Signal mask to return to after [`pause::pause_here`].
    paused_mask: Option<Mask>,
    /// What it had spent at its last sample of a source that counts waits.
    pub at_last_wait: Spent,
    /// The CPU time by then, exactly: what is above may be a tick old.
    pub cpu_at_last_wait_ns: u64,
    /// How it had been switched at its last sample of context switches, if there are any.
    pub at_last_switch: Switches,
}

/// The state of the calling thread. Either side; the caller must be the handler or have the
/// profiling signal blocked if it changes anything.
#[inline]
pub fn current() -> *mut Thread {
    ThreadOfHere::get()
}

/// Does `work` while no timer of the calling thread comes due, where that can be had. Either side,
/// with all signals blocked.
pub fn without_timers(work: impl FnOnce()) {
    with_sources(|sources| match sources {
        Some(sources) => sources.without_timers(work),
        None => work(),
    });
}

/// Keeps samples of the calling thread [out of a wait](Sources::keep_out) for the profiling signal
/// that is about to begin; where its timers cannot be had, those that wait already. As above.
pub fn keep_samples_out() {
    with_sources(|sources| match sources {
        Some(sources) => sources.keep_out(),
        None => sys::drop_samples(SIGNAL, may_be_own),
    });
}

/// Does `work` with what samples the calling thread, where it can be had.
#[cold]
fn with_sources(work: impl FnOnce(Option<&mut Sources>)) {
    let thread = if process::active() { current() } else { core::ptr::null_mut() };
    // SAFETY: this thread's state, if it has one; all signals are blocked, and its handler is not
    // at a sample.
    match unsafe { thread.as_mut() } {
        Some(thread) => registry::with_held(&mut thread.sources, work),
        None => work(None),
    }
}

fn set_current(thread: *mut Thread) {
    ThreadOfHere::set(thread);
}

/// Begins sampling the calling thread, on the stack that it was given. Called at the start of each
/// thread, in it. `routine` is the address of its start routine; `None` for the main thread.
pub fn started(stack: OwnStack, routine: Option<usize>) {
    // A child that shares its parent's memory is not sampled, nor are its threads: the parent would
    // find none of this id, and take it for dead.
    let (Some(process), true) = (process::current(), process::active()) else { return };
    if !current().is_null() {
        return;
    }
    let mask = sys::set_mask(Mask::ALL);
    begin(process, stack, routine, None);
    // The program may have blocked every signal around pthread_create: this one is ours.
    sys::set_mask(Mask(mask.0 & !loan::signals().0));
}

/// All signals are blocked here. `routine` is the address of the thread's start routine; `None` for
/// the main thread, and for the one that goes on in the child of a fork. `place` is where the
/// thread's [`Shared`] was before, of which nobody else has a reference; it stays there, for the
/// trampoline may have looked at it already.
fn begin(
    process: &'static Process,
    stack: OwnStack,
    routine: Option<usize>,
    place: Option<NonNull<Shared>>,
) {
    let refused = |what: &str| {
        process.arena.count_unsampled_thread();
        messages::warn_once(
            Warning::ThreadRefused,
            &format!("a thread is not sampled: {what} for it was refused"),
        );
    };
    if allocator::is_low() {
        return refused("memory");
    }
    let Some(mut spare) = registry::take_spare().or_else(Spare::new) else {
        return refused("memory");
    };
    // A child of fork has its parent's.
    if handler_stack::top() == 0 {
        let Some(stack) = spare.handlers.take().or_else(HandlerStack::new) else {
            registry::leave_spare(spare);
            return refused("memory");
        };
        stack.engage(!modules::asks_kernel_for_stacks());
    }
    let refused_spare =
        handler_stack::with_room(|| begin_with(spare, process, stack, routine, place));
    if let Some(spare) = refused_spare {
        if let Some(stack) = HandlerStack::disengage() {
            stack.release();
        }
        registry::leave_spare(spare);
        refused("shared memory");
    }
}

/// The same with its memory, which is given back if there is none for a record. Needs some 16 KiB
/// of stack.
fn begin_with(
    spare: Spare,
    process: &'static Process,
    stack: OwnStack,
    routine: Option<usize>,
    place: Option<NonNull<Shared>>,
) -> Option<Spare> {
    let tid = sys::tid();
    let name = sys::thread_name();
    let beginning = routine.map(|routine| Beginning { routine, name });
    let Some(arena) = record(process, beginning.as_ref(), tid, name) else {
        return Some(spare);
    };
    let Spare { buffers, handlers } = spare;
    if let Some(stack) = handlers {
        stack.release();
    }
    // SAFETY: what the thread was before the fork has left the place to it.
    let sampler = unsafe { Sampler::new(arena, buffers, stack.bounds, process.trampoline, place) };
    // SAFETY: stays until the thread ends; the child of a fork uses its place again, or leaves it
    // for good.
    unsafe { trampoline::set_current((&raw const *sampler.shared()).cast()) };
    let thread = Box::into_raw(Box::new(Thread {
        sampler,
        tid,
        sources: Sources::NONE,
        beginning,
        place: registry::RegistryIndex::MAX,
        stack,
        handlers: handler_stack::top(),
        paused_mask: None,
        at_last_wait: Spent::default(),
        cpu_at_last_wait_ns: 0,
        at_last_switch: match process.samples_any_switches() {
            true => sys::switches(),
            false => Switches::default(),
        },
    }));
    set_current(thread);
    // SAFETY: just made, and the signal is blocked.
    let thread = unsafe { &mut *thread };
    thread.open_sources(process);
    None
}

/// A record of its own, or that in which another thread has ended; `None` if memory is refused.
fn record(
    process: &'static Process,
    beginning: Option<&Beginning>,
    tid: u32,
    name: [u8; 16],
) -> Option<ThreadArena> {
    if let Some(beginning) = beginning
        && let Some(ended) = registry::take_ended(beginning)
    {
        match ThreadArena::go_on(process.arena, ended, tid, name) {
            Ok(arena) => return Some(arena),
            // There may be room for a new tree where there is none for the whole of an old one.
            Err(ended) => registry::put_ended_back(beginning, ended),
        }
    }
    ThreadArena::create(process.arena, tid, name).ok()
}

impl Thread {
    fn open_sources(&mut self, process: &Process) {
        const { assert!(sources::COOKIES <= align_of::<Self>()) };
        let address = (&raw const *self).expose_provenance();
        let cpu_ns = sys::now_ns(Clock::ThreadCpu);
        self.sampler.arena.note_cpu_before(cpu_ns);
        let cpu = self.sampler.arena.cpu_cell();
        if self.sampler.arena.went_on() {
            // One that ends by a system call of its own may note nothing else: without this, what
            // it used before would be taken from what others used in the same record.
            // SAFETY: this thread's own arena, which it has not released.
            unsafe { cpu.note(cpu_ns) };
        }
        let tid = self.tid;
        let open = || Sources::open(process, tid, address);
        let owner = registry::Owner(NonNull::from(&mut *self).cast());
        let (sources, place, dead) = registry::join(tid, cpu, owner, open);
        for registry::Owner(thread) in dead.into_iter().flatten() {
            // SAFETY: found dead just now, and taken from the registry.
            unsafe { release_dead(thread.cast()) };
        }
        (self.sources, self.place) = (sources, place);
        if self.sources.is_empty() {
            process.arena.count_unsampled_thread();
        }
    }

    /// Notes name and CPU time so far.
    pub fn note_progress(&mut self) {
        self.sampler.arena.record_mut().name = sys::thread_name();
        let cpu_ns = sys::now_ns(Clock::ThreadCpu);
        // SAFETY: this thread's own arena, which it has not released.
        unsafe { self.sampler.arena.cpu_cell().note(cpu_ns) };
        self.sampler.arena.process().note_progress();
        self.note_event_times();
    }

    fn note_event_times(&mut self) {
        let arena = self.sampler.arena.process();
        self.sources.times_ns().for_each(|(metric, times)| arena.add_event_times(metric, times));
    }

    /// Whether it is [about to fork](pause::pause_here).
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.paused_mask.is_some()
    }

    /// Gives the memory of the calling thread back, or leaves it to the next thread. Nobody finds
    /// it any more. All signals are blocked.
    // Not a part of who calls it: that takes its own place on the stack for the end of what is in
    // use, and words that were left lie where it would have room for this.
    #[inline(never)]
    fn let_go(self: Box<Self>) {
        let buffers = handler_stack::with_room(|| self.end());
        registry::leave_spare(Spare { buffers, handlers: HandlerStack::disengage() });
    }

    /// Leaves its record to the next thread that begins as it has.
    fn end(self: Box<Self>) -> Buffers {
        // SAFETY: it is not the thread's current one.
        let (ended, buffers) = unsafe { self.sampler.end() };
        registry::leave_ended(self.beginning.as_ref(), ended);
        buffers
    }

    /// Counts what the program has taken from sources by closing their files.
    fn note_lost(&mut self) {
        let record = self.sampler.arena.record_mut();
        for (metric, lost) in self.sources.lost() {
            record.count_delivered(metric, lost);
            record.count_loss(LossReason::SourceClosed, lost);
        }
        self.sources.tell();
        self.note_event_times();
    }
}

/// Ends sampling of the calling thread. Called when it ends, in it.
pub fn ended() {
    let thread = current();
    // The child of a fork by hand has its parent's.
    if thread.is_null() || sealed() || process::current().is_none() {
        return;
    }
    let mask = block_after_pending();
    // SAFETY: this thread's state, with the signal blocked; nothing finds it after set_current.
    let mut thread = unsafe { Box::from_raw(thread) };
    handler_stack::with_room(|| thread.note_lost());
    registry::leave(thread.place);
    thread.sources = Sources::NONE;
    let live = thread_stack_in_use(thread.stack.bounds);
    // pthread_exit leaves all that the start routine called.
    thread.sampler.disarm_at_end(live);
    set_current(core::ptr::null_mut());
    // SAFETY: null. From here on an entry of the trampoline finds no record, and goes on to where
    // it returns.
    unsafe { trampoline::set_current(core::ptr::null()) };
    thread.note_progress();
    thread.sampler.arena.record_mut().end_ns = sys::now_ns(Clock::Monotonic);
    thread.let_go();
    sys::set_mask(mask);
}

/// Gives back what a thread had that ended by a system call of its own. All signals are blocked.
///
/// # Safety
/// The thread is not there any more, and nobody has done this before.
unsafe fn release_dead(thread: NonNull<Thread>) {
    // SAFETY: made by `begin`, and only its own thread would use it.
    let thread = unsafe { Box::from_raw(thread.as_ptr()) };
    let handlers = HandlerStack::with_top(thread.handlers);
    registry::leave_spare(Spare { buffers: thread.end(), handlers });
}

/// Blocks all signals, and returns the mask before. If the profiling signal was blocked already, by
/// a system call that csprof did not see, what has come since is delivered first: the time that it
/// stands for is counted late and at the wrong place, but not lost.
fn block_after_pending() -> Mask {
    let mask = sys::set_mask(Mask::ALL);
    let signals = loan::signals().0;
    if mask.0 & signals != 0 {
        sys::set_mask(Mask(Mask::ALL.0 & !signals));
        sys::set_mask(Mask::ALL);
    }
    mask
}

/// Notes what all threads have used so far, at an orderly exit of the process and before an exec.
pub fn note_end() {
    let thread = current();
    if !thread.is_null() && !sealed() {
        let mask = block_after_pending();
        // SAFETY: this thread's state, with the signal blocked.
        let thread = unsafe { &mut *thread };
        handler_stack::with_room(|| thread.note_lost());
        thread.note_progress();
        thread.sampler.arena.process().note_totals();
        sys::set_mask(mask);
        registry::note_cpu_times();
    }
}
