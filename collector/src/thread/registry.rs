//! The sources of all threads: what one thread may do to the others.

#![expect(unsafe_code, reason = "writes the CPU time of other threads")]

use super::buffers::Buffers;
use crate::arena::CpuCell;
use crate::process;
use crate::sampling::trap;
use crate::setup_lock::{SetupGuard, SetupLock};
use crate::sources::Handle;
use crate::sys;
use alloc::vec::Vec;

/// Sources of all threads, for [`stop_all`] and [`restart_all`].
pub struct Registry {
    sources: Vec<Registered>,
    /// Calls of [`stop_all`] that no [`restart_all`] has followed: new threads stay stopped too.
    stops: u32,
    spare: Vec<Buffers>,
}

/// Threads of which the buffers are kept, 52 KB each: as many as end and begin side by side.
const MOST_SPARE: usize = 16;

/// A source of a thread in the registry.
struct Registered {
    tid: u32,
    handle: Handle,
    cpu: CpuCell,
}

impl Registry {
    fn apply_to_all(&self, change: impl Fn(Handle)) {
        self.sources.iter().for_each(|thread| change(thread.handle));
    }
}

static REGISTRY: SetupLock<Registry> =
    SetupLock::new(Registry { sources: Vec::new(), stops: 0, spare: Vec::new() });

/// Locks the registry, for a fork.
pub fn lock_registry() -> SetupGuard<'static, Registry> {
    REGISTRY.lock()
}

/// Adds a source of the calling thread, and starts it unless all are stopped. It was opened for SIGTRAP if
/// `by_trap`. All signals are blocked.
pub(super) fn join(tid: u32, handle: Handle, cpu: CpuCell, by_trap: bool) {
    let mut registry = REGISTRY.lock_blocked();
    // The loan ended meanwhile, when this thread was not in the list yet.
    if by_trap && !trap::on_loan() {
        let _ = handle.leave_trap(tid);
    }
    registry.sources.push(Registered { tid, handle, cpu });
    if registry.stops == 0 {
        handle.start();
    }
}

/// Removes a source: [`stop_all`] in another thread must not meet a number that is closed, and perhaps
/// means something else by then. All signals are blocked.
pub(super) fn leave(handle: Handle) {
    REGISTRY.lock_blocked().sources.retain(|other| other.handle != handle);
}

/// Buffers that a thread has left. All signals are blocked.
pub(super) fn take_buffers() -> Option<Buffers> {
    REGISTRY.lock_blocked().spare.pop()
}

/// Keeps the buffers of a thread that ends for the next one, if there are few. All signals are blocked.
pub(super) fn leave_buffers(buffers: Buffers) {
    let mut registry = REGISTRY.lock_blocked();
    if registry.spare.len() < MOST_SPARE && buffers.are_small() {
        registry.spare.push(buffers);
    } else {
        drop(registry);
        buffers.release();
    }
}

/// Removes all, in the child of a fork, where the other threads are not.
pub(super) fn forget_all(close: impl Fn(Handle)) {
    let mut registry = REGISTRY.lock();
    registry.stops = 0;
    let inherited = core::mem::take(&mut registry.sources);
    drop(registry);
    inherited.into_iter().for_each(|thread| close(thread.handle));
}

/// Notes the CPU time of all threads.
pub(super) fn note_cpu_times() {
    for thread in &REGISTRY.lock().sources {
        // SAFETY: a thread leaves the registry before it releases its arena.
        unsafe { thread.cpu.note(sys::thread_cpu_ns(thread.tid)) };
    }
}

/// The numbers of all files that belong to the collector, ascending.
pub fn file_numbers() -> Vec<i32> {
    let process = process::current();
    let arena = process.map(|process| process.arena.file_number());
    let folder = process.and_then(|process| process.folder.number());
    let mut numbers: Vec<i32> = REGISTRY
        .lock()
        .sources
        .iter()
        .filter_map(|thread| thread.handle.file_number())
        .chain(arena)
        .chain(folder)
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Stops the sources of all threads.
pub fn stop_all() {
    let mut registry = REGISTRY.lock();
    registry.stops += 1;
    registry.apply_to_all(Handle::stop);
}

/// Restarts the sources of all threads.
pub fn restart_all() {
    let mut registry = REGISTRY.lock();
    registry.stops = registry.stops.saturating_sub(1);
    if registry.stops == 0 {
        registry.apply_to_all(Handle::start);
    }
}

/// Gives SIGTRAP back to the program: from now on the samples of all threads come by another signal.
/// Says `why`. Async-signal-safe but for the message, which is not the first thing said.
pub fn give_trap_back(why: &str) {
    let registry = REGISTRY.lock();
    if !trap::give_back() {
        return;
    }
    for thread in &registry.sources {
        if thread.handle.leave_trap(thread.tid) && registry.stops == 0 {
            thread.handle.start();
        }
    }
    drop(registry);
    process::note_asynchronous(why);
}
