//! The load map: which module's code lies where, and how to unwind through it.
//!
//! Setup side: after the program loaded or unloaded something, the loader's list is compared with
//! what is known ([`discovery`]), recipes of new modules are found where they are or copied
//! ([`frames`]), the log is told, and a new [`LoadMap`] is published ([`reading`]). Signal
//! side: [`LoadMap::find`], a binary search in an array that never changes.
//!
//! **Epochs** (ICS'05 section 2.5.1). Loading at fresh addresses only extends the load map. A new
//! epoch begins when a module takes addresses that another one had in the present epoch, or at
//! every load where that was asked for.
//!
//! Invariants: a published map is not changed, and not freed while a handler could read it; recipes
//! are read in place only in modules that the program was started with, which the loader never
//! unloads; any other module's are copied once and kept, so a library that is loaded a thousand
//! times costs one copy; one that comes back to its old place within an epoch costs no word of the
//! log.
//!
//! **Locks.** The loader's own lock may be held by the program while it calls us: it forks or
//! creates a thread in a callback of dl_iterate_phdr(3). So it comes first: a look is made inside
//! such a callback, takes [`LOOKING`] and [`KNOWN`] there, and nobody who has one of these waits
//! for the loader. Whoever looks waits for whoever looks already, however long that one is kept
//! from the processor. Without the loader's lock, another thread could also unload a module while
//! its recipes are copied. A fork takes both locks without the loader's, and holds them: a look
//! that meets it is left to the next call, for the child would find the loader's lock taken for
//! good.
//!
//! Between the moment when the loader has mapped a module and the moment when the setup side looks,
//! the module is *foreign*: its code unwinds by [`foreign`], without a table, and the sample
//! that met it leaves a note for [`after_note`].

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
mod code;
mod copies;
mod discovery;
mod elf;
pub mod foreign;
mod frames;
mod gone;
pub mod load_map;
mod loader_lock;
mod namespaces;
mod reading;
pub mod rules;
pub mod runtimes;
pub mod split_stack;

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use csprof_format::arena::{LoadRecord, LogRecord, epoch_reason};
use csprof_format::launch::ModuleKey;

use crate::messages::{self, Warning};
use crate::occupancy::Occupancy;
use crate::setup_lock::{SetupGuard, SetupLock};
use crate::sys::{self, Clock, Mask};
use crate::{allocator, generated, phases, process};

use code::Codes;
pub use code::{Code, Stretch};
pub use discovery::{
    each_behind, each_loaded, each_of_c_library, function_before, function_behind, function_of_own,
    has_thread_sanitizer, remember_own,
};
pub use elf::{Identity, LoaderModule};
pub use load_map::LoadMap;
pub use reading::{Reading, outwait_readers};
use reading::{Replaced, wait_for_readers};
use runtimes::{Extent, Runtime};

/// See [`asks_kernel_for_stacks`].
static ASKS_KERNEL: AtomicBool = AtomicBool::new(false);

/// See [`executes_unseen`].
static EXECUTES_UNSEEN: AtomicBool = AtomicBool::new(false);

/// A module that is loaded, or was in the present epoch.
struct Loaded {
    number: u32,
    module: Arc<LoaderModule>,
    code: &'static Code,
    /// Whether it was copied because its file is gone, or could not be.
    is_kept: bool,
}

/// Everything the setup side knows.
pub struct Known {
    loaded: Vec<Loaded>,
    /// Unloaded in the present epoch: their addresses still mean them, and the log is not told yet.
    retired: Vec<Loaded>,
    codes: Codes,
    /// Those that the log was told of.
    runtimes: Vec<&'static Runtime>,
    next_number: u32,
    epoch: u32,
    generation: u32,
    /// Replaced maps that a handler might still have been reading.
    limbo: Vec<Replaced>,
    /// The loader's counts of loads and unloads at the last look.
    counts: discovery::Counts,
    /// Whether the last look was the parent's, of a forked child.
    inherited: bool,
}

static KNOWN: SetupLock<Known> = SetupLock::new(Known {
    loaded: Vec::new(),
    retired: Vec::new(),
    codes: Vec::new(),
    runtimes: Vec::new(),
    next_number: 0,
    epoch: 0,
    generation: 0,
    limbo: Vec::new(),
    counts: discovery::Counts::NONE,
    inherited: false,
});

/// Whether the program asks the kernel for its alternate stacks, and not the C library. Go does: it
/// gives every thread one, or adopts the one that it finds, and demands that handlers use it
/// (package os/signal, "Go programs that use cgo"). The sanitizers do, and unmap what they find
/// there when a thread ends (compiler-rt, sanitizer_posix_libcdep.cpp); each has the function that
/// is looked for.
#[must_use]
pub fn asks_kernel_for_stacks() -> bool {
    ASKS_KERNEL.load(Ordering::Relaxed)
}

/// Whether the program executes others by instructions of its own, as Go does (`syscall.Exec`): no
/// sample may come due within the call, since the signal would meet the next program.
#[must_use]
pub fn executes_unseen() -> bool {
    EXECUTES_UNSEEN.load(Ordering::Relaxed)
}

/// Held by the one thread that looks at the loader's list, in a callback of the loader's, and over
/// forks.
static LOOKING: SetupLock<()> = SetupLock::new(());
/// Threads that look, or are about to.
static LOOKERS: Occupancy = Occupancy::new();
/// The thread that has a fork under way, or 0: who would look turns back before it asks for the
/// loader's lock.
static FORKER: AtomicU32 = AtomicU32::new(0);
/// The same, if its fork was waited for in vain, or 0: nobody waits for that again.
static SLOW_FORKER: AtomicU32 = AtomicU32::new(0);
/// How long [`outwait_fork`] waits at most.
const LONGEST_FORK_NS: u64 = 100_000_000;

/// The tables, held over a fork.
pub struct HeldTables {
    _known: SetupGuard<'static, Known>,
    _looking: SetupGuard<'static, ()>,
}

/// Locks the tables, for a fork. The child would find the loader's lock taken for good, so looks
/// that have begun come to their end first, and those that wait or begin later turn back.
pub fn hold() -> HeldTables {
    let looking = LOOKING.lock();
    SLOW_FORKER.store(0, Ordering::Relaxed);
    // Sequentially consistent, as are counts of occupants: who enters sees it, or is waited for.
    FORKER.store(sys::tid(), Ordering::SeqCst);
    LOOKERS.outwait();
    HeldTables { _known: KNOWN.lock(), _looking: looking }
}

impl HeldTables {
    /// To be called in the child, before it lets go.
    pub fn in_child(&self) {
        LOOKERS.forget();
    }
}

impl Drop for HeldTables {
    fn drop(&mut self) {
        FORKER.store(0, Ordering::SeqCst);
    }
}

/// Reads the load map for the first time.
pub fn start() {
    foreign::start(function_behind(c"_dl_find_object"));
    namespaces::start();
    loader_lock::start(|in_callback| {
        let _ = discovery::in_loader(in_callback);
    });
    process::log(&LogRecord::Epoch { number: 0, reason: epoch_reason::START });
    look();
}

/// Tells a forked child's log what it inherited, as its epoch 0.
pub fn start_again() {
    foreign::start_again();
    let mut known = KNOWN.lock();
    if reading::forget_readers() {
        // One of them may be this thread, in a handler of the program that has forked.
        known.limbo.drain(..).chain(reading::take()).for_each(core::mem::forget);
    }
    known.epoch = 0;
    known.inherited = true;
    known.retired.clear();
    process::log(&LogRecord::Epoch { number: 0, reason: epoch_reason::START });
    for loaded in &known.loaded {
        process::log(&LogRecord::Load(loaded.record()));
    }
    for runtime in known.runtimes.clone() {
        note_runtime(runtime, true);
    }
    known.publish();
}

/// Says what is not armed for the runtime's sake.
fn note_runtime(runtime: &Runtime, at_start: bool) {
    let place = match runtime.extent {
        Extent::Module => "by them",
        Extent::Process if at_start => "in this process",
        Extent::Process => "in this process from there on",
    };
    messages::note(&format!("{}: no returns are counted {place}", runtime.does));
    if let (Some(process), Extent::Process, true) = (process::current(), runtime.extent, at_start) {
        process.arena.set_without_edges();
    }
}

/// To be called after the program may have loaded or unloaded something; whether there was a look.
pub fn after_change() -> bool {
    !process::active() || look()
}

/// To be called wherever the setup side comes by: looks if a sample met code that is not in the
/// load map.
pub fn after_note() {
    if foreign::was_seen() && process::active() && !look() {
        foreign::see_again();
    }
}

/// Learns what has changed in the loader's list. `false` if it has to be done later.
fn look() -> bool {
    if allocator::is_low() {
        messages::warn_once(
            Warning::MemoryLow,
            "memory was refused: libraries loaded from there on have no names",
        );
        return true;
    }
    let has_looked = alone_in_loader(|| {
        let known = KNOWN.lock();
        if discovery::counts() != known.counts {
            let codes = known.codes.clone();
            let of_loaded = |loaded: &Loaded| (loaded.module.clone(), loaded.code);
            let loaded: Vec<_> = known.loaded.iter().map(of_loaded).collect();
            let before = known.counts;
            drop(known);
            let seen = discovery::loaded_modules(&codes, &loaded, before);
            KNOWN.lock().refresh(seen);
        }
        true
    });
    // Where the loader cannot be asked, nothing is ever new.
    has_looked.unwrap_or(true)
}

/// Calls `work` with the loader's lock, while nobody else looks and no module comes or goes;
/// `false` if a fork has the tables, perhaps this thread's, or somebody else that lock for too
/// long. `None` where the loader cannot be asked.
fn alone_in_loader(work: impl FnOnce() -> bool) -> Option<bool> {
    let result = look_in_loader(|| match LOOKING.lock_within(0) {
        Some(_looking) => work(),
        None => false,
    });
    if result == Some(Some(true)) {
        let mask = sys::set_mask(Mask::ALL);
        free_replaced();
        sys::set_mask(mask);
    }
    result.map(|is_done| is_done.unwrap_or(false))
}

/// Calls `work` with the loader's lock, which no fork leaves to its child: inside, `None` if one is
/// under way, perhaps this thread's, or somebody else has that lock for too long. `None` where the
/// loader cannot be asked.
fn look_in_loader<T>(work: impl FnOnce() -> T) -> Option<Option<T>> {
    // Before the loader's lock is taken, which a handler of the program must not leave behind.
    let mask = sys::set_mask(Mask::ALL);
    let looker = LOOKERS.enter();
    let result = match loader_lock::take(|| FORKER.load(Ordering::SeqCst) != 0) {
        None => Some(None),
        Some(_held) => discovery::in_loader(work).map(Some),
    };
    drop(looker);
    sys::set_mask(mask);
    result
}

/// How many modules the loader has loaded so far. To be asked [with the loader](with_loader).
pub fn loads() -> u64 {
    discovery::counts().loads()
}

/// How many modules the loader has unloaded so far. To be asked [with the loader](with_loader).
pub fn unloads() -> u64 {
    discovery::counts().unloads()
}

/// Calls `work`, which may ask the loader, while no module comes or goes; `false` if that was not
/// done: a fork is under way, perhaps this thread's, or somebody else has the loader's lock for too
/// long, or the loader cannot be asked.
pub fn with_loader(work: impl FnOnce()) -> bool {
    look_in_loader(work).flatten().is_some()
}

/// Waits a little for the fork of another thread, once in vain, for that may wait for this one:
/// what is asked of the loader meanwhile is not answered.
pub fn outwait_fork() {
    let forker = FORKER.load(Ordering::SeqCst);
    // Relaxed, here and below: it only says how long to wait.
    if [0, sys::tid(), SLOW_FORKER.load(Ordering::Relaxed)].contains(&forker) {
        return;
    }
    let is_under_way = || FORKER.load(Ordering::SeqCst) == forker;
    let end = sys::now_ns(Clock::Monotonic).saturating_add(LONGEST_FORK_NS);
    while is_under_way() && sys::now_ns(Clock::Monotonic) < end {
        sys::sleep_ns(1_000_000);
    }
    if is_under_way() {
        SLOW_FORKER.store(forker, Ordering::Relaxed);
    }
}

/// Frees the maps that no handler can be reading any more. A moment without any reader after a map
/// was replaced proves that nobody holds it. Samples take microseconds; a busy machine may postpone
/// the release to a later call.
fn free_replaced() {
    let replaced = core::mem::take(&mut KNOWN.lock().limbo);
    if !replaced.is_empty() && !wait_for_readers() {
        KNOWN.lock().limbo.extend(replaced);
    }
}

/// Which modules go with the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// All: the process ends, or is sealed.
    All,
    /// All, but in a place where the loader may not be waited for: those alone that are never
    /// unloaded.
    Staying,
}

/// To be called before modules go with the process: keeps copies of those whose files are gone
/// already, each once.
pub fn before_leaving(leaving: Leaving) {
    let Some(process) = process::current() else { return };
    let known = KNOWN.lock();
    let counts = known.counts;
    // Another thread may have held the loader's lock when the process was forked.
    let may_wait = leaving == Leaving::All && !known.inherited;
    let is_file = |loaded: &&Loaded| loaded.module.identity.path.first() == Some(&b'/');
    let is_meant = |loaded: &&Loaded| !loaded.is_kept && (may_wait || loaded.code.stays());
    let loaded = known.loaded.iter().filter(is_file).filter(is_meant);
    let mut gone: Vec<_> =
        loaded.map(|loaded| (loaded.code.stays(), loaded.module.clone())).collect();
    drop(known);
    // A file system that does not answer keeps nobody else waiting.
    gone.retain(|(_, module)| module.is_gone());
    for (stays, module) in gone {
        // What copying takes for a moment; without it, the process would end.
        if !allocator::has_room(1 << 20) {
            return;
        }
        // Asked once it is copied: where nothing was unloaded, nothing else lies there.
        let is_there = || {
            let is_same = || discovery::counts().has_same_unloads(counts);
            stays || alone_in_loader(is_same) == Some(true)
        };
        if let Err(why) = copies::keep(&module, process.arena, &is_there) {
            let path = String::from_utf8_lossy(&module.identity.path);
            messages::note(&format!(
                "{path}: was unlinked or replaced while it was in use, and {why}: its functions may \
                 have no names"
            ));
        }
        let mut known = KNOWN.lock();
        let is_it = |loaded: &&mut Loaded| loaded.module.is_same_load(&module);
        known.loaded.iter_mut().filter(is_it).for_each(|loaded| loaded.is_kept = true);
    }
}

impl Loaded {
    fn record(&self) -> LoadRecord {
        LoadRecord {
            number: self.number,
            path: self.module.identity.path.clone(),
            build_id: self.module.identity.build_id.clone(),
            file: self.module.identity.file,
            bias: self.module.bias,
            segments: self.module.code.iter().map(|range| (range.start, range.end)).collect(),
        }
    }

    fn overlaps(&self, module: &LoaderModule) -> bool {
        self.module
            .code
            .iter()
            .any(|old| module.code.iter().any(|new| old.start < new.end && new.start < old.end))
    }
}

/// Descriptions of modules, by the places of the descriptions: a module that stays loaded keeps its
/// own. With thousands loaded, each load compares all that were known with all that there are, and
/// nearly all have stayed.
struct Same(Vec<*const LoaderModule>);

impl Same {
    fn of<'m>(modules: impl Iterator<Item = &'m Arc<LoaderModule>>) -> Self {
        let mut places: Vec<_> = modules.map(Arc::as_ptr).collect();
        places.sort_unstable();
        Self(places)
    }

    fn has(&self, module: &Arc<LoaderModule>) -> bool {
        self.0.binary_search(&Arc::as_ptr(module)).is_ok()
    }
}

impl Known {
    /// Compares the loader's list with what is known, logs the difference and publishes it.
    fn refresh(&mut self, seen: discovery::Seen) {
        self.counts = seen.counts;
        self.inherited = false;
        self.codes.extend(seen.built);
        let present = seen.modules;
        let same = Same::of(present.iter().map(|(module, _)| module));
        let mut index = 0;
        while let Some(loaded) = self.loaded.get(index) {
            if same.has(&loaded.module)
                || present.iter().any(|(module, _)| module.is_same_load(&loaded.module))
            {
                index += 1;
            } else {
                self.retired.push(self.loaded.swap_remove(index));
            }
        }
        let same = Same::of(self.loaded.iter().map(|loaded| &loaded.module));
        let is_new = |(module, _): &discovery::WithCode| {
            !same.has(module) && !self.loaded.iter().any(|known| module.is_same_load(&known.module))
        };
        let displaces = |(module, _): &discovery::WithCode| {
            let displaced =
                |old: &Loaded| old.overlaps(module) && !module.is_same_load(&old.module);
            self.retired.iter().any(displaced)
        };
        let (displacing, fresh): (Vec<_>, Vec<_>) =
            present.into_iter().filter(is_new).partition(displaces);
        let per_load = process::current().is_some_and(|process| process.config.epoch_per_load);
        let first = self.loaded.is_empty();
        let any_new = !fresh.is_empty() || !displacing.is_empty();
        // What lies at fresh addresses belongs to the epoch that ends, too: its constructors have
        // run, and nobody could have counted them elsewhere.
        self.add(fresh);
        if !displacing.is_empty() || foreign::awaits_epoch_after(self.epoch) {
            self.next_epoch(epoch_reason::ADDRESS_REUSE);
        } else if per_load && any_new && !first {
            self.next_epoch(epoch_reason::LOAD);
        }
        self.add(displacing);
        self.publish();
        phases::functions::find(|function| {
            let has = |loaded: &&Loaded| match &function.module {
                ModuleKey::BuildId(id) => loaded.module.identity.build_id == *id,
                ModuleKey::File(file) => loaded.module.identity.file.as_ref() == Some(file),
            };
            let loaded = self.loaded.iter().find(has)?;
            Some(loaded.module.bias.wrapping_add(function.address))
        });
    }

    /// Logs modules that appeared in the present epoch.
    fn add(&mut self, new: Vec<discovery::WithCode>) {
        for (module, code) in new {
            // Relaxed: the setup side sets it under its lock and reads it in the same thread.
            if module.is_go || module.address_of(c"__sanitizer_print_stack_trace").is_some() {
                ASKS_KERNEL.store(true, Ordering::Relaxed);
            }
            if module.is_go {
                EXECUTES_UNSEEN.store(true, Ordering::Relaxed);
            }
            // Back at its old place within the epoch: its addresses mean what they meant.
            let back = self.retired.iter().position(|old| module.is_same_load(&old.module));
            if let Some(back) = back {
                self.loaded.push(self.retired.swap_remove(back));
                continue;
            }
            let is_known = |runtime: &&Runtime| {
                self.runtimes.iter().any(|known| core::ptr::eq(*known, *runtime))
            };
            if let Some(runtime) = code.rules.runtime.filter(|runtime| !is_known(runtime)) {
                self.runtimes.push(runtime);
                note_runtime(runtime, self.generation == 0);
            }
            let loaded = Loaded { number: self.next_number, module, code, is_kept: false };
            self.next_number += 1;
            process::log(&LogRecord::Load(loaded.record()));
            self.loaded.push(loaded);
        }
    }

    fn next_epoch(&mut self, reason: u32) {
        generated::at_epoch();
        self.epoch += 1;
        for gone in self.retired.drain(..) {
            process::log(&LogRecord::Unload { number: gone.number });
        }
        process::log(&LogRecord::Epoch { number: self.epoch, reason });
    }

    fn publish(&mut self) {
        self.generation = self.generation.wrapping_add(1).max(1);
        let mut stretches: Vec<_> = self
            .loaded
            .iter()
            .flat_map(|loaded| {
                let base = loaded.module.text().start;
                let code = loaded.code;
                let stretch = move |range: &Range<u64>| Stretch {
                    start: range.start,
                    end: range.end,
                    readable_end: loaded.module.readable_end(range),
                    base,
                    code,
                };
                loaded.module.code.iter().map(stretch)
            })
            .collect();
        stretches.sort_unstable_by_key(|stretch| stretch.start);
        let static_unwinder = self.loaded.iter().any(|loaded| loaded.code.has_static_unwinder());
        let runtimes = self.loaded.iter().filter_map(|loaded| loaded.code.rules.runtime);
        let unarmed = runtimes.into_iter().any(|runtime| runtime.extent == Extent::Process);
        let retired = self.retired.iter().map(|retired| retired.module.clone()).collect();
        if let Some(process) = process::current() {
            let codes = self.codes.iter().map(|code| code.1.bytes()).sum::<usize>();
            process.arena.set_table_bytes((codes + size_of_val(&*stretches)) as u64);
        }
        let (generation, epoch) = (self.generation, self.epoch);
        let map = LoadMap { generation, epoch, static_unwinder, unarmed, stretches, retired };
        self.limbo.extend(reading::publish(map));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::prelude::rust_2024::*;

    use super::*;

    /// Held by tests that look, or keep others from it.
    pub(crate) static LOOKS: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// What is loaded. That takes the loader's lock, for which looks wait a while only.
    pub(super) fn loaded_modules() -> Vec<discovery::WithCode> {
        let _alone = LOOKS.lock();
        discovery::loaded_modules(&Vec::new(), &[], discovery::Counts::NONE).modules
    }

    /// One that looks may be kept from the processor for as long as others like.
    #[test]
    fn who_looks_waits_for_who_looks_already() {
        let _alone = LOOKS.lock();
        start();
        let look_at_once = || {
            let mut known = KNOWN.lock();
            // So that there is something to do.
            known.counts = discovery::Counts::NONE;
            std::thread::scope(|scope| {
                let looks = [(); 3].map(|()| scope.spawn(look));
                std::thread::sleep(std::time::Duration::from_millis(20));
                drop(known);
                looks.map(|look| look.join().unwrap())
            })
        };
        // A look gives up after 100 ms, which pass where others have the processors.
        assert!((0..5).any(|_| look_at_once() == [true; 3]));
        // One that meets a fork is left to the next.
        let held = hold();
        assert!(!std::thread::scope(|scope| scope.spawn(look).join().unwrap()));
        drop(held);
        assert!(look());
    }

    #[test]
    fn who_asks_the_loader_waits_for_the_fork_of_another_thread_alone() {
        let _alone = LOOKS.lock();
        start();
        let beside_fork = || {
            let held = hold();
            std::thread::scope(|scope| {
                let asks = scope.spawn(|| {
                    outwait_fork();
                    with_loader(|| ())
                });
                std::thread::sleep(std::time::Duration::from_millis(10));
                outwait_fork();
                assert!(!with_loader(|| ()), "in a handler of its own fork");
                drop(held);
                asks.join().unwrap()
            })
        };
        // It gives up after 100 ms, which pass where others have the processors.
        assert!((0..5).any(|_| beside_fork()));
    }

    /// One of its handlers may wait for a thread that asks the loader a hundred times.
    #[test]
    fn a_fork_is_waited_for_in_vain_once() {
        let _alone = LOOKS.lock();
        start();
        let clock = || sys::now_ns(Clock::Monotonic);
        let waits = || {
            let held = hold();
            let waits = std::thread::scope(|scope| {
                let asks = scope.spawn(|| {
                    let start = clock();
                    outwait_fork();
                    let first = clock() - start;
                    (0..100).for_each(|_| outwait_fork());
                    (first, clock() - start - first)
                });
                asks.join().unwrap()
            });
            drop(held);
            waits
        };
        // The next fork of the same thread is another one.
        for (first, others) in [waits(), waits()] {
            assert!(first >= LONGEST_FORK_NS && others < 50 * LONGEST_FORK_NS, "{first} {others}");
        }
    }

    /// A child of fork has none of the threads that were reading, nor what their handlers were to
    /// say.
    #[test]
    fn a_child_waits_for_no_reader_of_its_parent() {
        let _alone = LOOKS.lock();
        start();
        let here = a_child_waits_for_no_reader_of_its_parent as *const () as u64;
        let of_parent = Reading::begin().unwrap();
        start_again();
        assert!(wait_for_readers());
        assert!(of_parent.map().find(here).is_some(), "not freed: it may be this thread's");
        drop(of_parent);
        assert!(wait_for_readers());
        assert!(Reading::begin().unwrap().map().find(here).is_some());
    }
}
