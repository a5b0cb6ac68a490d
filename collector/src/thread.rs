//! One thread's sampling state: from its start to its end.
//!
//! Setup side, except [`current`], which the handler uses to find the state of the thread it
//! interrupted. The pointer lives in initial-exec thread-local storage, which a library that is
//! loaded at start-up may use: one load, never `__tls_get_addr`, which may allocate.
//!
//! Invariant: the state is used by its own thread only, by the handler or, with all signals
//! blocked, by the functions here: a handler of the program that came in between could fork, throw
//! or leave by longjmp, and find or leave half a change. Other threads see [`Registry`] only.

#![expect(unsafe_code, reason = "thread-local pointer, state shared with the signal handler")]

use core::arch::{asm, global_asm};
use core::ops::Range;

use csprof_format::loss::{LossReason, PartialReason};

use crate::arena::{CpuCell, ThreadArena};
use crate::modules::Reading;
use crate::process::{self, Process};
use crate::sampling::{Path, Room, Suspect, Walked, trap};
use crate::setup_lock::{SetupGuard, SetupLock};
use crate::sources::{Handle, Source};
use crate::sys::{self, Clock, Mask};
use crate::trampoline::{Record, Suspended, Trampoline, is_trampoline_code, thread_pointer};
use crate::unwind::cache::RecipeCache;
use crate::unwind::validate::StackBounds;
use crate::{allocator, report};

global_asm!(
    ".pushsection .tbss.csprof_thread,\"awT\",@nobits",
    ".balign 8",
    ".globl csprof_thread",
    ".hidden csprof_thread",
    ".type csprof_thread,@object",
    ".size csprof_thread,8",
    "csprof_thread:",
    ".zero 8",
    ".popsection",
);

/// Everything that belongs to one thread.
pub struct Thread {
    /// Counters and nodes, in shared memory.
    pub arena: ThreadArena,
    /// Kernel's thread id.
    pub tid: u32,
    /// What triggers its samples.
    pub source: Option<Source>,
    /// The stack that the thread was given.
    pub stack: StackBounds,
    /// How much of it is left.
    pub room: Room,
    /// The epoch of `root`; `None` before the first sample.
    pub epoch: Option<u32>,
    /// Root node of the present epoch.
    pub root: u32,
    /// Roots of partial paths in the present epoch; 0 where there is none yet.
    pub partial_roots: [u32; PartialReason::COUNT],
    /// The cached path.
    pub path: Path,
    /// The epoch to which the nodes of the cached path belong.
    pub path_epoch: Option<u32>,
    /// The frames of the present sample.
    pub walked: Walked,
    /// The trampoline, where there is one.
    pub trampoline: Option<Trampoline>,
    /// Recipes used last.
    pub cache: Box<RecipeCache>,
    /// What may be an unwinder, and at work.
    pub suspect: Suspect,
    /// Signal mask to return to after [`pause_here`].
    paused_mask: Option<Mask>,
    /// Set while the handler runs.
    pub in_handler: bool,
}

/// The state of the calling thread. Either side; the caller must be the handler or have the
/// profiling signal blocked if it changes anything.
#[inline]
pub fn current() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: reads the thread-local word defined above; the linker fills the offset in.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + csprof_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) thread,
            options(nostack, readonly, preserves_flags),
        );
    }
    thread
}

fn set_current(thread: *mut Thread) {
    // SAFETY: writes the thread-local word defined above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + csprof_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}

/// Sources of all threads, for [`stop_all`] and [`restart_all`].
pub struct Registry {
    sources: Vec<Registered>,
    /// Calls of [`stop_all`] that no [`restart_all`] has followed: new threads stay stopped too.
    stops: u32,
}

/// A thread in the registry.
struct Registered {
    tid: u32,
    handle: Handle,
    cpu: CpuCell,
}

static REGISTRY: SetupLock<Registry> = SetupLock::new(Registry { sources: Vec::new(), stops: 0 });

/// Locks the registry, for a fork.
pub fn lock_registry() -> SetupGuard<'static, Registry> {
    REGISTRY.lock()
}

/// Begins sampling the calling thread. Called at the start of each thread, in it.
pub fn started() {
    let (Some(process), true) = (process::current(), process::active()) else { return };
    if !current().is_null() {
        return;
    }
    let mask = sys::set_mask(Mask::ALL);
    begin(process);
    // The program may have blocked every signal around pthread_create: this one is ours.
    sys::set_mask(Mask(mask.0 & !trap::signals().0));
}

/// The signal is blocked here.
fn begin(process: &'static Process) {
    static EMPTY_CACHE: RecipeCache = RecipeCache::new();
    let tid = sys::tid();
    // For the recipe cache and what else is small.
    if allocator::is_low() || !allocator::has_room(1 << 18) {
        process.arena.count_unsampled_thread();
        report::warn_once(2, "a thread is not sampled: memory for it was refused");
        return;
    }
    let Ok(arena) = ThreadArena::create(process.arena, tid) else {
        process.arena.count_unsampled_thread();
        report::warn_once(2, "a thread is not sampled: shared memory for it was refused");
        return;
    };
    let (Some(path), Some(walked)) = (Path::new(), Walked::new()) else {
        process.arena.count_unsampled_thread();
        report::warn_once(2, "a thread is not sampled: memory for it was refused");
        return;
    };
    let mut cache = Box::<RecipeCache>::new_uninit();
    // SAFETY: plain data, copied from one static instance: a cache built on the stack would be
    // larger than the smallest thread stacks.
    let cache = unsafe {
        cache.as_mut_ptr().copy_from_nonoverlapping(&raw const EMPTY_CACHE, 1);
        cache.assume_init()
    };
    let trampoline = if process.trampoline {
        let claimed = Trampoline::claim(arena.returns_cell());
        if claimed.is_none() {
            report::warn_once(3, "more than 2048 threads at a time: the rest has no edge counts");
        }
        claimed
    } else {
        None
    };
    let is_main = sys::tid() == sys::pid();
    let (stack, room) = if is_main {
        (main_stack(), Room::growing(main_stack_top()))
    } else {
        let stack = thread_stack();
        (stack, Room::given(stack.low))
    };
    let thread = Box::into_raw(Box::new(Thread {
        arena,
        tid,
        source: None,
        stack,
        room,
        epoch: None,
        root: 0,
        partial_roots: [0; PartialReason::COUNT],
        path,
        path_epoch: None,
        walked,
        trampoline,
        cache,
        suspect: Suspect::NONE,
        paused_mask: None,
        in_handler: false,
    }));
    set_current(thread);
    // SAFETY: just made, and the signal is blocked.
    let thread = unsafe { &mut *thread };
    thread.open_source(process);
}

impl Thread {
    fn open_source(&mut self, process: &Process) {
        let cookie = (&raw const *self).expose_provenance();
        let by_trap = trap::on_loan();
        self.source = Source::open(process, self.tid, cookie);
        self.arena.record_mut().cpu_before_ns = sys::now_ns(Clock::ThreadCpu);
        let Some(source) = &self.source else {
            process.arena.count_unsampled_thread();
            return;
        };
        let (tid, handle, cpu) = (self.tid, source.handle(), self.arena.cpu_cell());
        let mut registry = REGISTRY.lock();
        // The loan ended meanwhile, when this thread was not in the list yet.
        if by_trap && !trap::on_loan() {
            handle.leave_trap(tid);
        }
        registry.sources.push(Registered { tid, handle, cpu });
        if registry.stops == 0 {
            handle.start();
        }
    }

    /// Notes name and CPU time so far.
    pub fn note_progress(&mut self) {
        self.arena.record_mut().name = sys::thread_name();
        let cpu_ns = sys::now_ns(Clock::ThreadCpu);
        // SAFETY: this thread's own arena, which it has not released.
        unsafe { self.arena.cpu_cell().note(cpu_ns) };
        self.arena.process().note_progress();
    }

    /// Counts what the program has taken from the source by closing its file.
    fn note_lost(&mut self) {
        let lost = self.source.as_mut().map_or(0, Source::lost);
        let record = self.arena.record_mut();
        record.delivered += lost;
        record.losses[LossReason::SourceClosed as usize] += lost;
    }

    /// Whether the nodes of the cached path are those of the present epoch.
    #[must_use]
    pub fn knows_path(&self) -> bool {
        self.path_epoch == self.epoch
    }
}

/// The part of the thread's own stack that is certainly mapped: from this call's frame up. None of
/// it if the thread stands on another stack.
fn thread_stack_in_use(stack: StackBounds) -> Range<u64> {
    let here = 0_u64;
    let low = (&raw const here).addr() as u64;
    if (stack.low..stack.high).contains(&low) { low..stack.high } else { 0..0 }
}

/// Puts the real return address back in the calling thread, for code that is about to look at the
/// stack or to leave it by other means than returning. Async-signal-safe, and no system call if the
/// thread is on its own stack: exceptions come here for each cleanup.
///
/// Says `how` it is suspended; with [`Suspended::No`], nobody will tell where the code has led.
pub fn disarm_here(how: Suspended) {
    with_trampoline(|record, live, _| {
        record.suspend(live, how);
        0
    });
}

/// Puts the real return address back, for an unwinder in which `caller` asks for the function at `pc`
/// before it reads the return addresses outside; or for code that may be one. As [`disarm_here`].
///
/// Its own return address it has read before it asks for anything. If that was the replaced one, it
/// asks for the trampoline, and finds the slot as the trampoline's call frame information has it. Where
/// it does not say what it asks for (libgcc before version 12, `pc` is 0), the slot stays as it is.
pub fn disarm_for_lookup(caller: u64, pc: u64) {
    // SAFETY: null or this thread's state; a sample that comes in between reads a whole word.
    let Some(thread) = (unsafe { current().as_mut() }) else { return };
    if !is_known_unwinder(caller) {
        thread.suspect = Suspect::new(caller);
    } else if pc == 0 {
        return;
    }
    // A return address is looked up in the call before it.
    let is_trampoline = is_trampoline_code(pc) || is_trampoline_code(pc.wrapping_add(1));
    with_trampoline(|record, live, _| {
        if is_trampoline {
            record.arm_again(live);
        } else if record.armed_slot != 0 {
            // What is suspended already stays so.
            record.disarm(live);
        }
        0
    });
}

fn is_known_unwinder(pc: u64) -> bool {
    Reading::begin()
        .is_some_and(|reading| reading.map().find(pc).is_some_and(|code| code.unwinds(pc)))
}

/// The calling thread is about to go on at the stack pointer `sp` without returning there: what was
/// called from there is left. Async-signal-safe; a system call only if the thread stands on another
/// stack.
pub fn left_to(sp: u64) {
    with_trampoline(|record, live, thread_stack| {
        // A jump to another stack leaves nothing, and nobody jumps inwards.
        let outwards = thread_stack.contains_word(sp) && (live.is_empty() || live.contains(&sp));
        if outwards { record.cut(sp, live) } else { 0 }
    });
}
/// Calls `change` with the record of the calling thread's trampoline, the part of its own stack that
/// is in use, and all of it; counts the lost returns that it returns. No signal is blocked:
/// see [`Record::cut`].
fn with_trampoline(change: impl FnOnce(&mut Record, Range<u64>, StackBounds) -> u64) {
    let thread = current();
    if thread.is_null() {
        return;
    }
    // SAFETY: this thread's state. A sample that comes in between reads of it only what is changed
    // one word at a time, and changes what is not used here.
    let thread = unsafe { &mut *thread };
    let live = thread_stack_in_use(thread.stack);
    let Some(trampoline) = &mut thread.trampoline else { return };
    let record = trampoline.record();
    // Nothing is cached; or the armed slot must be asked for, and no system call is allowed any
    // more, but no sample comes either.
    if record.inner.is_null()
        || process::sealed() && record.armed_slot != 0 && !live.contains(&record.armed_slot)
    {
        return;
    }
    let lost = change(record, live, thread.stack);
    if lost > 0 {
        thread.arena.record_mut().lost_returns += lost;
    }
}

/// Ends sampling of the calling thread. Called when it ends, in it.
pub fn ended() {
    let thread = current();
    if thread.is_null() || process::sealed() {
        return;
    }
    let mask = block_after_pending();
    // SAFETY: this thread's state, with the signal blocked; nothing finds it after set_current.
    let mut thread = unsafe { Box::from_raw(thread) };
    thread.note_lost();
    if let Some(source) = thread.source.take() {
        let handle = source.handle();
        // Out of the list first: `stop_all` in another thread must not meet a number that is
        // closed, and perhaps means something else by then.
        REGISTRY.lock().sources.retain(|other| other.handle != handle);
        handle.stop();
        handle.close();
    }
    let live = thread_stack_in_use(thread.stack);
    if let Some(trampoline) = &mut thread.trampoline {
        let record = trampoline.record();
        record.disarm(live.clone());
        // pthread_exit leaves all that the start routine called.
        let left = record.left_at_end(live);
        thread.arena.record_mut().lost_returns += left;
    }
    set_current(core::ptr::null_mut());
    thread.note_progress();
    thread.arena.record_mut().end_ns = sys::now_ns(Clock::Monotonic);
    if let Some(trampoline) = thread.trampoline.take() {
        trampoline.release();
    }
    thread.arena.release();
    thread.path.release();
    thread.walked.release();
    drop(thread);
    sys::set_mask(mask);
}

/// Blocks all signals, and returns the mask before. If the profiling signal was blocked already, by a
/// system call that csprof did not see, what has come since is delivered first: the time that it
/// stands for is counted late and at the wrong place, but not lost.
fn block_after_pending() -> Mask {
    let mask = sys::set_mask(Mask::ALL);
    let signals = trap::signals().0;
    if mask.0 & signals != 0 {
        sys::set_mask(Mask(Mask::ALL.0 & !signals));
        sys::set_mask(Mask::ALL);
    }
    mask
}

/// Notes what all threads have used so far, at an orderly exit of the process and before an exec.
pub fn note_end() {
    let thread = current();
    if !thread.is_null() && !process::sealed() {
        let mask = block_after_pending();
        // SAFETY: this thread's state, with the signal blocked.
        let thread = unsafe { &mut *thread };
        thread.note_lost();
        thread.note_progress();
        sys::set_mask(mask);
        for other in &REGISTRY.lock().sources {
            // SAFETY: a thread leaves the registry before it releases its arena.
            unsafe { other.cpu.note(sys::thread_cpu_ns(other.tid)) };
        }
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
    registry.sources.iter().for_each(|thread| thread.handle.stop());
}

/// Restarts the sources of all threads.
pub fn restart_all() {
    let mut registry = REGISTRY.lock();
    registry.stops = registry.stops.saturating_sub(1);
    if registry.stops == 0 {
        registry.sources.iter().for_each(|thread| thread.handle.start());
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
        thread.handle.leave_trap(thread.tid);
        if registry.stops == 0 {
            thread.handle.start();
        }
    }
    drop(registry);
    process::note_asynchronous(why);
}

/// Before a fork: the calling thread must not be sampled, nor have a replaced return address,
/// until both processes know who they are.
pub fn pause_here() {
    let thread = current();
    if thread.is_null() {
        return;
    }
    let mask = sys::set_mask(Mask::ALL);
    // SAFETY: this thread's state, with the signal blocked.
    let thread = unsafe { &mut *thread };
    let live = thread_stack_in_use(thread.stack);
    if let Some(trampoline) = &mut thread.trampoline {
        trampoline.record().suspend(live, Suspended::Yes);
    }
    thread.paused_mask = Some(mask);
}

/// After a fork, in the parent.
pub fn resume_here() {
    let thread = current();
    if thread.is_null() {
        return;
    }
    // SAFETY: this thread's state; the signal is still blocked from `pause_here`.
    let thread = unsafe { &mut *thread };
    if let Some(trampoline) = &mut thread.trampoline {
        trampoline.record().resume();
    }
    if let Some(mask) = thread.paused_mask.take() {
        sys::set_mask(mask);
    }
}

/// After a fork, in the child: only this thread exists, and its tree begins anew.
pub fn restart_after_fork() {
    let (old, mask) = take_after_fork();
    // What remains of the parent's state is a few pages: a forked child keeps them rather than risk
    // touching what other threads were using, and the trampoline may be busy with them.
    core::mem::forget(old);
    if let Some(process) = process::current() {
        begin(process);
    }
    if let Some(mask) = mask {
        sys::set_mask(mask);
    }
}

/// After a fork, in a child that cannot be profiled.
pub fn drop_after_fork() {
    let (old, mask) = take_after_fork();
    core::mem::forget(old);
    if let Some(mask) = mask {
        sys::set_mask(mask);
    }
}

fn take_after_fork() -> (Option<Box<Thread>>, Option<Mask>) {
    let mut registry = REGISTRY.lock();
    registry.stops = 0;
    let inherited = core::mem::take(&mut registry.sources);
    drop(registry);
    for thread in inherited {
        // POSIX timers are not inherited; files are.
        if let Handle::TaskClock(event, _) = thread.handle {
            event.close();
        }
    }
    let thread = current();
    if thread.is_null() {
        return (None, None);
    }
    set_current(core::ptr::null_mut());
    // SAFETY: this thread's state, now found by nobody else; `pause_here` blocked the signal and
    // disarmed the trampoline.
    let mut thread = unsafe { Box::from_raw(thread) };
    if let Some(trampoline) = thread.trampoline.take() {
        trampoline.abandon();
    }
    thread.arena.detach();
    let mask = thread.paused_mask.take();
    (Some(thread), mask)
}

/// The main thread's stack grows on demand below `__libc_stack_end`; the kernel keeps at least
/// 128 MB clear below it, or RLIMIT_STACK if that is more (mm/util.c, mmap_base).
fn main_stack() -> StackBounds {
    const CLEAR: u64 = 128 << 20;
    const MOST: u64 = 16 << 30;
    unsafe extern "C" {
        static __libc_stack_end: *const u8;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a live structure; the loader sets the pointer before any constructor runs.
    let end = unsafe {
        libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit);
        __libc_stack_end.addr() as u64
    };
    let size = limit.rlim_cur.clamp(CLEAR, MOST);
    StackBounds { low: end.saturating_sub(size), high: end + StackBounds::ABOVE_ENTRY }
}

/// Where the kernel began the main thread's stack: behind the name of the program, the last but one
/// word (binfmt_elf.c), at the end of a page.
fn main_stack_top() -> u64 {
    // SAFETY: takes a number; the answer is 0, or a C string of the kernel's.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) };
    let length = if name == 0 {
        0
    } else {
        // SAFETY: as above.
        unsafe { libc::strlen(core::ptr::with_exposed_provenance(name as usize)) as u64 }
    };
    (name + length + 9).next_multiple_of(4096)
}

/// The stack that pthread_create gave the thread.
fn thread_stack() -> StackBounds {
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut low: *mut libc::c_void = core::ptr::null_mut();
    let mut size = 0_usize;
    // SAFETY: the attributes are initialized by the first call and destroyed by the last.
    let known = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            let got = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            got == 0
        } else {
            false
        }
    };
    if known {
        return StackBounds { low: low.addr() as u64, high: low.addr() as u64 + size as u64 };
    }
    // The thread control block lies at the top of the stack.
    let high = thread_pointer();
    StackBounds { low: high.saturating_sub(64 << 10), high }
}
