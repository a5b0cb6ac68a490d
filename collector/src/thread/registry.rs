//! The sources of all threads: what one thread may do to the others.

#![expect(unsafe_code, reason = "writes the CPU time of other threads")]

use super::ended::{Beginning, Ended};
use super::spare::Spare;
use crate::allocator;
use crate::arena::{CpuCell, EndedThread};
use crate::messages;
use crate::phases;
use crate::process;
use crate::setup_lock::{SetupGuard, SetupLock};
use crate::sources::loan;
use crate::sources::{Handle, Sources, pace};
use crate::sys::{self, File};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::ptr::NonNull;

/// Sources of all threads, for [`stop_all`] and [`restart_all`]. To join and to leave takes the
/// same time however many there are.
pub struct Registry {
    /// By place; `None` where a thread has left.
    threads: Vec<Option<Registered>>,
    /// Places to be taken again.
    free: Vec<RegistryIndex>,
    /// The place that [`Registry::look_for_dead`] looks at next.
    next: usize,
    /// Calls of [`stop_all`] that no [`restart_all`] has followed: new threads stay stopped too.
    stops: u32,
    spare: Vec<Spare>,
    ended: Ended<EndedThread>,
}

/// A thread's place in the registry.
pub(super) type RegistryIndex = u32;

/// Threads of which the memory is kept, 52 KB each and what was touched of a handler stack: as many
/// as end and begin side by side.
const MOST_SPARE: usize = 16;

/// A thread in the registry.
struct Registered {
    tid: u32,
    handles: Vec<Handle>,
    cpu: CpuCell,
    owner: Owner,
}

/// The state of a thread, which is that thread's alone as long as it is there.
pub(super) struct Owner(pub(super) NonNull<c_void>);

// SAFETY: used by nobody but the thread, or when it is not there any more by who has taken it from
// the registry.
unsafe impl Send for Owner {}

impl Registry {
    fn threads(&self) -> impl Iterator<Item = &Registered> {
        self.threads.iter().flatten()
    }

    fn handles(&self) -> impl Iterator<Item = &Handle> {
        self.threads().flat_map(|thread| &thread.handles)
    }

    /// Starts the events of all threads again, by the signal that samples come by now.
    fn restart_events(&self) {
        if self.stops == 0 {
            let events = self.handles().filter(|handle| handle.is_event());
            events.for_each(|handle| handle.start());
        }
    }

    /// Closes the sources of a thread that ended by a system call of its own, if the next one
    /// looked at has: a timer stays when its thread goes. Each new thread looks at two, so as many
    /// places are taken at most as there were threads at a time, and half as many again. Returns
    /// whose state is to be released.
    fn look_for_dead(&mut self) -> [Option<Owner>; 2] {
        [(); 2].map(|()| {
            let place = self.next.checked_rem(self.threads.len()).unwrap_or(0);
            self.next = place + 1;
            let entry = self.threads.get_mut(place)?;
            let dead = entry.take_if(|thread| !sys::thread_exists(thread.tid))?;
            self.free.push(place as RegistryIndex);
            dead.handles.iter().for_each(Handle::close);
            Some(dead.owner)
        })
    }
}

static REGISTRY: SetupLock<Registry> = SetupLock::new(Registry {
    threads: Vec::new(),
    free: Vec::new(),
    next: 0,
    stops: 0,
    spare: Vec::new(),
    ended: Ended::new(),
});

/// Locks the registry, for a fork.
pub fn lock_registry() -> SetupGuard<'static, Registry> {
    REGISTRY.lock()
}

/// Adds the calling thread, and opens its sources by `open`, stopped if all are. All signals are
/// blocked.
///
/// Sources are opened here, so that a fork, which has the lock, meets no file that is on its way,
/// and the end of a loan none that it does not know. Returns the state of threads, too, that were
/// found dead and taken out.
pub(super) fn join(
    tid: u32,
    cpu: CpuCell,
    owner: Owner,
    open: impl FnOnce() -> Sources,
) -> (Sources, RegistryIndex, [Option<Owner>; 2]) {
    let mut registry = REGISTRY.lock_blocked();
    let dead = registry.look_for_dead();
    let was_on_loan = loan::on_loan();
    let sources = open();
    let is_stopped = registry.stops > 0;
    if was_on_loan && !loan::on_loan() {
        // The kernel refused an event, which ended the loan for all threads.
        registry.restart_events();
    }
    if is_stopped {
        sources.handles().for_each(|handle| handle.stop());
    }
    let handles = sources.handles().collect();
    let thread = Some(Registered { tid, handles, cpu, owner });
    let place = match registry.free.pop() {
        Some(place) => {
            registry.threads[place as usize] = thread;
            place
        }
        None => {
            registry.threads.push(thread);
            (registry.threads.len() - 1) as RegistryIndex
        }
    };
    (sources, place, dead)
}

/// Removes a thread, and closes its sources: [`stop_all`] in another thread must not meet a timer
/// that is deleted, and perhaps is somebody else's by then. All signals are blocked.
pub(super) fn leave(place: RegistryIndex) {
    let mut registry = REGISTRY.lock_blocked();
    let Some(thread) = registry.threads.get_mut(place as usize).and_then(Option::take) else {
        return;
    };
    registry.free.push(place);
    thread.handles.iter().for_each(Handle::close);
}

/// What a thread has left. All signals are blocked.
pub(super) fn take_spare() -> Option<Spare> {
    REGISTRY.lock_blocked().spare.pop()
}

/// Keeps the memory of a thread that ends for the next one, if there are few. All signals are
/// blocked.
pub(super) fn leave_spare(spare: Spare) {
    let mut registry = REGISTRY.lock_blocked();
    if registry.spare.len() < MOST_SPARE && spare.buffers.are_small() {
        registry.spare.push(spare);
    } else {
        drop(registry);
        spare.release();
    }
}

/// What a thread that begins so is to go on in, if another one has left it. All signals are
/// blocked.
pub(super) fn take_ended(beginning: &Beginning) -> Option<EndedThread> {
    REGISTRY.lock_blocked().ended.take(beginning)
}

/// Puts back what was taken, and could not be used. All signals are blocked.
pub(super) fn put_ended_back(beginning: &Beginning, ended: EndedThread) {
    REGISTRY.lock_blocked().ended.put_back(beginning, ended);
}

/// Keeps what a thread has left in the arena for the next that begins so, once there are many. All
/// signals are blocked.
pub(super) fn leave_ended(beginning: Option<&Beginning>, ended: EndedThread) {
    let may_keep = || !allocator::is_low();
    let is_mixed = REGISTRY.lock_blocked().ended.add(beginning, ended, may_keep);
    if is_mixed {
        messages::note(
            "threads that began alike took different names when some of them went on in the \
             records of others: such a record has the name that they began with",
        );
    }
}

/// Removes all, in the child of a fork, where the other threads are not.
pub(super) fn forget_all() {
    let mut registry = REGISTRY.lock();
    registry.stops = 0;
    pace::begin_anew();
    registry.free.clear();
    registry.handles().for_each(Handle::forget);
    registry.threads.clear();
    registry.ended.forget();
}

/// Notes the CPU time of all threads.
pub(super) fn note_cpu_times() {
    for thread in REGISTRY.lock().threads() {
        // 0 of one that ended by a system call of its own.
        let cpu_ns = sys::thread_cpu_ns(thread.tid);
        if cpu_ns > 0 {
            // SAFETY: a thread leaves the registry before it releases its arena.
            unsafe { thread.cpu.note(cpu_ns) };
        }
    }
}

/// The numbers of all files that belong to the collector, ascending.
pub fn file_numbers() -> Vec<i32> {
    let process = process::current();
    let files = process.map(|process| [process.arena.file(), process.folder.file()]);
    // The program may have taken a number by a system call of its own.
    let files = files.into_iter().flatten().filter(|file| file.is_open()).map(File::number);
    let registry = REGISTRY.lock();
    let mut numbers: Vec<i32> =
        registry.handles().filter_map(Handle::file_number).chain(files).collect();
    numbers.sort_unstable();
    numbers
}

/// Has sources of the calling thread [go on](Sources::go_on) in another way, unless somebody is
/// changing those of all threads: the next sample asks again. Signal side.
#[cold]
#[inline(never)]
pub fn go_on(sources: &mut Sources) {
    if let Some(registry) = REGISTRY.try_lock_blocked()
        && registry.stops == 0
    {
        sources.go_on();
    }
}

/// Does `work` with the sources of the calling thread, while nobody else changes them; without, if
/// somebody is changing those of all threads. Signal side.
#[cold]
pub(super) fn with_held(sources: &mut Sources, work: impl FnOnce(Option<&mut Sources>)) {
    let held = REGISTRY.try_lock_blocked().filter(|registry| registry.stops == 0);
    work(held.as_ref().map(|_| sources));
}

/// Ends what tells the calling thread of functions' entries, unless somebody is changing the
/// sources of all threads: the next entry asks again. Signal side.
#[cold]
#[inline(never)]
pub fn end_entries(sources: &Sources) {
    if let Some(_registry) = REGISTRY.try_lock_blocked() {
        sources.end_entries();
    }
}

/// Has all threads told of the entries of functions where these are loaded now.
pub fn follow_phase_functions() {
    if !phases::functions::take_change() {
        return;
    }
    let registry = REGISTRY.lock();
    if registry.stops == 0 {
        let entries = registry.handles().filter(|handle| handle.is_of_entries());
        entries.for_each(|handle| handle.start());
    }
}

/// Stops the sources of all threads.
pub fn stop_all() {
    let mut registry = REGISTRY.lock();
    registry.stops += 1;
    registry.handles().for_each(Handle::stop);
}

/// Restarts the sources of all threads.
pub fn restart_all() {
    let mut registry = REGISTRY.lock();
    registry.stops = registry.stops.saturating_sub(1);
    if registry.stops == 0 {
        registry.handles().for_each(Handle::start);
        pace::restarted();
    }
}

/// Gives SIGTRAP back to the program: from now on the samples of all threads come by another
/// signal. Says `why`. Async-signal-safe but for the message, which is not the first thing said.
pub fn give_trap_back(why: &str) {
    let registry = REGISTRY.lock();
    if !loan::give_back() {
        return;
    }
    registry.restart_events();
    drop(registry);
    messages::note_asynchronous(why);
}
