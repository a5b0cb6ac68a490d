//! This process's arena: the shared-memory file that `csprof record` turns into a profile.
//!
//! In the life of a sample this is where counts come to rest. The layout is
//! [`csprof_format::arena`]; this module makes the file, hands out extents of it and gives the
//! calling context tree its nodes. Extents are allocated on the signal side too, when a tree
//! grows, so everything here is system calls and atomics: no heap, no locks.
//!
//! Invariant: memory is backed by `fallocate` before it is mapped, so a store never faults.

#![expect(unsafe_code, reason = "typed access to the mapped arena file")]

use alloc::ffi::CString;
use alloc::format;
use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use csprof_format::arena::{
    ARENA_MAGIC, ARENA_SUFFIX, ARENA_VERSION, ArenaHeader, EXTENT_ALIGN, EXTENT_MAGIC,
    ExtentHeader, ExtentKind, FIRST_SEGMENT_NODES, FIRST_TIMES_EXTENT, FLAG_LOCKED, FLAG_PACED,
    FLAG_TIMES, FLAG_TRAMPOLINE, LEFT_OUT_NAME, LeftOut, MAX_SEGMENTS, MAX_TIMES_EXTENT,
    SourceRecord, ThreadRecord, TimeRecord, locate, segment_nodes,
};
use csprof_format::launch::{MAX_SOURCES, SampleSources, SourceKind};
use csprof_format::loss::LossReason;

use crate::cct::{Node, NodeStore};
use crate::sys::{self, Clock, Errno, File, FileNumber, Folder};
use crate::{allocator, config};

mod log;
mod room;

pub use log::LogExtent;
pub use room::Room;

/// The arena file of this process.
pub struct Arena {
    file: File,
    folder: &'static Folder,
    path: CString,
    header: NonNull<ArenaHeader>,
    room: Room,
    /// Bytes that extents of times have taken.
    times: AtomicU64,
}

// SAFETY: shared fields of the header are reached through atomics only; the file number is
// atomic; the path never changes.
unsafe impl Sync for Arena {}
// SAFETY: nothing in it belongs to one thread.
unsafe impl Send for Arena {}

/// Bytes that a process takes at least: header, log, and the first thread's nodes.
const LEAST: u64 = 48 << 10;

impl Arena {
    /// Makes the file in the run's folder. The process has no other thread.
    pub fn create(
        folder: &'static Folder,
        sources: SampleSources,
        trampoline: bool,
        forked: bool,
        room: Room,
    ) -> Result<Self, Errno> {
        let pid = sys::pid();
        let start_ns = sys::now_ns(Clock::Monotonic);
        let mut path = folder.path().to_bytes().to_vec();
        path.extend_from_slice(format!("/{pid}-{start_ns}{ARENA_SUFFIX}").as_bytes());
        let path = CString::new(path).map_err(|_| Errno(libc::EINVAL))?;
        let file = File::create_new(folder, FileNumber::AboveLimit, &path)?;
        // Locked before its first page is there: who finds the page can rely on the lock.
        let is_locked = file.lock().is_ok();
        let map = || {
            // With what the first thread needs.
            room.has(&file, LEAST)?;
            file.allocate(0, EXTENT_ALIGN)?;
            file.map(0, EXTENT_ALIGN as usize)
        };
        let header = map().inspect_err(|_| {
            file.close();
            // There is another folder to try. For a forked child its parent speaks; an executed
            // program leaves the empty file.
            if forked || !room.is_last {
                folder.remove(&path);
            }
        });
        let header = header?.cast::<ArenaHeader>();
        let place = config::place();
        let value = ArenaHeader {
            magic: [0; 8],
            version: ARENA_VERSION,
            pid,
            parent_pid: sys::parent_pid(),
            forked: u32::from(forked),
            source_count: sources.iter().count() as u32,
            flags: if trampoline { FLAG_TRAMPOLINE } else { 0 }
                | if room.times > 0 { FLAG_TIMES } else { 0 }
                | if is_locked { FLAG_LOCKED } else { 0 },
            start_unix_ns: sys::now_ns(Clock::Realtime),
            start_ns,
            end_ns: 0,
            used: EXTENT_ALIGN,
            threads: 0,
            rank_plus_one: place.map_or(0, |place| place.rank.saturating_add(1)),
            losses: [0; csprof_format::arena::REASON_SLOTS],
            foreign_signals: 0,
            left_out: [0; csprof_format::arena::LEFT_OUT_SLOTS],
            left_out_names: [[0; LEFT_OUT_NAME]; csprof_format::arena::LEFT_OUT_SLOTS],
            cpu_before_ns: 0,
            cpu_ns: 0,
            unsampled_threads: 0,
            table_bytes: 0,
            private_bytes: 0,
            returned: 0,
            sources: core::array::from_fn(|number| {
                sources.get(number).map_or(SourceRecord::NONE, SourceRecord::of)
            }),
            ranks: place.and_then(|place| place.ranks).unwrap_or(0),
            local_ranks: place.and_then(|place| place.local_ranks).unwrap_or(0),
        };
        // SAFETY: a fresh page, large enough (asserted in format) and page-aligned, that nobody
        // else looks at before the magic is there.
        unsafe {
            header.write(value);
            (&raw mut (*header.as_ptr()).magic).write_volatile(ARENA_MAGIC);
        }
        Ok(Self { file, folder, path, header, room, times: AtomicU64::new(0) })
    }

    /// Backs and maps a new extent of at least `size` bytes and writes its header.
    ///
    /// Signal side. The memory behind the header is zero.
    pub fn extent(
        &self,
        kind: ExtentKind,
        owner: u32,
        segment: u32,
        size: usize,
    ) -> Result<NonNull<u8>, Errno> {
        let size = (size as u64).next_multiple_of(EXTENT_ALIGN);
        self.file.ensure(self.folder, &self.path)?;
        // The log is not limited: without it, nothing that was sampled has a meaning.
        let taken = self.used().load(Ordering::Relaxed);
        let kept = taken.saturating_sub(self.returned().load(Ordering::Relaxed));
        if kind != ExtentKind::Log {
            if kept.saturating_add(size) > self.room.most {
                return Err(Errno(libc::ENOSPC));
            }
            self.room.has(&self.file, size)?;
        }
        // Relaxed: the range is made visible to readers by the extent's magic.
        let offset = self.used().fetch_add(size, Ordering::Relaxed);
        let mapped =
            self.file.allocate(offset, size).and_then(|()| self.file.map(offset, size as usize));
        let start = mapped.inspect_err(|_| {
            // Nothing is there: the next extent may have the place, unless there is one behind it.
            let _ = self.used().compare_exchange(
                offset + size,
                offset,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        })?;
        let header = start.cast::<ExtentHeader>();
        // SAFETY: the mapping is page-aligned, larger than a header, and ours alone until the
        // magic is written.
        unsafe {
            header.write(ExtentHeader {
                magic: 0,
                kind: kind as u32,
                size,
                owner,
                segment,
                committed: 0,
            });
            (&raw mut (*header.as_ptr()).magic).write_volatile(EXTENT_MAGIC);
        }
        Ok(start)
    }

    /// Whether the times of samples are kept.
    #[must_use]
    pub const fn keeps_times(&self) -> bool {
        self.room.times > 0
    }

    /// An extent for times of a thread's samples, if there is room: for all that is left of it,
    /// nodes come first. Signal side.
    fn times_extent(&self, owner: u32, number: u32, size: u64) -> Result<NonNull<u8>, Errno> {
        let free = self.file.free_bytes();
        let more = |taken: u64| {
            let has = self.room.has_for_times(taken, size, free);
            has.then(|| taken.saturating_add(size))
        };
        // Relaxed: a sum that nothing else depends on. What is refused is not in it: there may be
        // room for a smaller one.
        self.times
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map_err(|_| Errno(libc::ENOSPC))?;
        let start = self.extent(ExtentKind::Times, owner, number, size as usize);
        start.inspect_err(|_| {
            self.times.fetch_sub(size, Ordering::Relaxed);
        })
    }

    /// A thread index of its own.
    pub fn next_thread_index(&self) -> u32 {
        // SAFETY: the header is mapped as long as the arena lives; the field is atomic for all.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header.as_ptr()).threads) }
            .fetch_add(1, Ordering::Relaxed)
    }

    fn returned(&self) -> &AtomicU64 {
        // SAFETY: the header is mapped as long as the arena lives; the field is atomic for all.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).returned) }
    }

    fn used(&self) -> &AtomicU64 {
        // SAFETY: the header is mapped as long as the arena lives; the field is atomic for all.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).used) }
    }

    /// Counts samples that no thread could own. Signal side.
    pub fn count_loss(&self, reason: LossReason, weight: u64) {
        // SAFETY: as above; every reason has a slot (asserted in format).
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).losses[reason as usize]) }
            .fetch_add(weight, Ordering::Relaxed);
    }

    /// Counts a thread that cannot be sampled. Setup side.
    pub fn count_unsampled_thread(&self) {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).unsampled_threads) }
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Notes the process's CPU time so far, and the collector's memory. Either side.
    pub fn note_progress(&self) {
        let (cpu_ns, bytes) = (sys::now_ns(Clock::ProcessCpu), allocator::bytes_in_use());
        // SAFETY: as above.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).cpu_ns)
                .store(cpu_ns, Ordering::Relaxed);
            AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).private_bytes)
                .store(bytes, Ordering::Relaxed);
        }
    }

    /// Notes that sampling begins. Setup side.
    pub fn note_start(&self) {
        // SAFETY: as above; nothing else writes this field.
        unsafe {
            (&raw mut (*self.header.as_ptr()).cpu_before_ns)
                .write_volatile(sys::now_ns(Clock::ProcessCpu));
        }
        self.note_progress();
    }

    /// Says how much memory tables take. Setup side.
    pub fn set_table_bytes(&self, bytes: u64) {
        // SAFETY: as above; only the setup side's lock holder writes this field.
        unsafe { (&raw mut (*self.header.as_ptr()).table_bytes).write_volatile(bytes) };
    }

    /// Counts a profiling signal that is not ours. Signal side.
    pub fn count_foreign_signal(&self) {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).foreign_signals) }
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Counts processes that this one started and that are not sampled; -1 takes one back. Any
    /// process that has the arena mapped may.
    pub fn count_left_out(&self, reason: LeftOut, number: i32) {
        // SAFETY: as above; every reason has a slot.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header.as_ptr()).left_out[reason as usize]) }
            .fetch_add(number.cast_unsigned(), Ordering::Relaxed);
    }

    /// Notes what a program is called that is counted for this reason, if it is the first.
    pub fn name_left_out(&self, reason: LeftOut, name: &[u8]) {
        // SAFETY: as above.
        let names = unsafe { &raw mut (*self.header.as_ptr()).left_out_names };
        // SAFETY: every reason has a slot. Bytes that two processes write at once are a name that
        // is partly the one's and partly the other's.
        let slot =
            unsafe { &*(&raw const (*names)[reason as usize]).cast::<[AtomicU8; LEFT_OUT_NAME]>() };
        if slot[0].load(Ordering::Relaxed) == 0 {
            for (byte, letter) in slot.iter().zip(name) {
                byte.store(*letter, Ordering::Relaxed);
            }
        }
    }

    /// Says which source is used, after a fallback; `None` if none is. Setup side.
    pub fn set_source(&self, number: usize, kind: Option<SourceKind>) {
        // SAFETY: as above.
        let sources = unsafe { &raw mut (*self.header.as_ptr()).sources };
        // SAFETY: there is one with this number; atomic for threads that find out at the same time.
        unsafe {
            let source = &raw mut (*sources)[number];
            match kind {
                Some(kind) => AtomicU32::from_ptr(&raw mut (*source).kind)
                    .store(kind as u32, Ordering::Relaxed),
                None => {
                    AtomicU32::from_ptr(&raw mut (*source).dropped).store(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Adds the times for which a thread had an event, and for which it was counted, in
    /// nanoseconds. Either side.
    pub fn add_event_times(&self, number: usize, [enabled_ns, running_ns]: [u64; 2]) {
        if number >= MAX_SOURCES || enabled_ns == 0 {
            return;
        }
        // SAFETY: as above.
        let sources = unsafe { &raw mut (*self.header.as_ptr()).sources };
        // SAFETY: there is room for one with this number; both fields are atomic for all.
        let (enabled, running) = unsafe {
            let source = &raw mut (*sources)[number];
            (
                AtomicU64::from_ptr(&raw mut (*source).enabled_ns),
                AtomicU64::from_ptr(&raw mut (*source).running_ns),
            )
        };
        enabled.fetch_add(enabled_ns, Ordering::Relaxed);
        running.fetch_add(running_ns, Ordering::Relaxed);
    }

    /// Marks the end, 0 for "still running", and sets or clears a flag. Setup side.
    pub fn set_end(&self, end_ns: u64, flag: u32, on: bool) {
        // SAFETY: as above.
        let end = unsafe { AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).end_ns) };
        end.store(end_ns, Ordering::Relaxed);
        if on {
            self.flags().fetch_or(flag, Ordering::Relaxed);
        } else {
            self.flags().fetch_and(!flag, Ordering::Relaxed);
        }
    }

    fn flags(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header.as_ptr()).flags) }
    }

    /// Says that no return is counted in the process. Setup side.
    pub fn set_without_edges(&self) {
        self.flags().fetch_and(!FLAG_TRAMPOLINE, Ordering::Relaxed);
    }

    /// Says that threads are interrupted by elapsed time less often than they were to be.
    pub fn set_paced(&self) {
        self.flags().fetch_or(FLAG_PACED, Ordering::Relaxed);
    }

    /// Lets the file's number go; mappings stay. For a forked child, which makes its own arena.
    pub fn forget_file(&self) {
        self.file.close();
    }

    /// Unmaps the header. For a forked child that has its own arena: nothing may be counted here
    /// any more.
    pub fn leave(&self) {
        // SAFETY: the mapping that `create` made, of which the caller says that nobody uses it.
        unsafe { sys::unmap(self.header.cast(), EXTENT_ALIGN as usize) };
    }

    /// Copies the file at `from`, which this process has written, beside the arena, under the
    /// arena's name with another `ending`; whether it has. There is no copy of a file that is empty
    /// or larger than `most`.
    pub fn copy_beside(&self, from: &CStr, ending: &str, most: u64) -> bool {
        // SAFETY: the header is mapped as long as the arena lives; the field never changes.
        let start_unix_ns =
            unsafe { (&raw const (*self.header.as_ptr()).start_unix_ns).read_volatile() };
        let Some(from) = sys::OwnFile::open(from, start_unix_ns) else { return false };
        let size = from.identity.size;
        if !(1..=most).contains(&size) {
            return false;
        }
        let path = self.path.to_bytes();
        let own = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let name = [own.strip_suffix(ARENA_SUFFIX.as_bytes()).unwrap_or(own), ending.as_bytes()];
        // In place of one that is left from before an exec that failed.
        self.write_beside(&name.concat(), size, |file| from.append_to(file, size)).is_ok()
    }

    /// Removes the file's name: nobody is to read it. The memory stays.
    pub fn discard(&self) {
        self.folder.remove(&self.path);
    }

    /// The path of a file of this name beside the arena.
    fn beside(&self, name: &[u8]) -> Result<CString, Errno> {
        let path = self.path.to_bytes();
        let folder = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let folder = path.get(..folder).unwrap_or_default();
        CString::new([folder, name].concat()).map_err(|_| Errno(libc::EINVAL))
    }

    /// Whether there is a file of this name beside the arena.
    pub fn has_beside(&self, name: &[u8]) -> bool {
        self.beside(name).is_ok_and(|path| self.folder.has(&path))
    }

    /// Makes a file of this name beside the arena, which `fill` writes: up to `size` bytes, and
    /// returns how many. It has the name once it is whole, in place of another one. None is left if
    /// that fails, or the file takes more than a part of the room that is left: that is for
    /// samples.
    ///
    /// # Errors
    /// Those of the kernel; `EIO` if `fill` wrote nothing.
    pub fn write_beside(
        &self,
        name: &[u8],
        size: u64,
        fill: impl FnOnce(&File) -> Option<u64>,
    ) -> Result<u64, Errno> {
        /// One part of so many.
        const PART: u64 = 16;
        static UNFINISHED: AtomicU32 = AtomicU32::new(0);
        let whole = self.beside(name)?;
        // Relaxed: only to tell them apart.
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let unfinished = [self.path.to_bytes(), format!(".{number}").as_bytes()].concat();
        let path = CString::new(unfinished).map_err(|_| Errno(libc::EINVAL))?;
        let file = File::create_new(self.folder, FileNumber::BelowLimit, &path)?;
        let room = self.room.has(&file, size.saturating_mul(PART));
        let written = room.and_then(|()| file.allocate(0, size)).and_then(|()| {
            let written = fill(&file).filter(|written| *written > 0).ok_or(Errno(libc::EIO))?;
            file.truncate(written)?;
            self.folder.rename(&path, &whole).map(|()| written)
        });
        if written.is_err() {
            self.folder.remove(&path);
        }
        file.close();
        written
    }

    /// An extent of the log with room for `size` bytes of records or more. Setup side.
    pub fn log_extent(&self, size: usize) -> Result<LogExtent, Errno> {
        let size = (size + size_of::<ExtentHeader>()).max(16 << 10);
        Ok(LogExtent::new(self.extent(ExtentKind::Log, 0, 0, size)?, size))
    }

    /// The arena file's number.
    pub fn file_number(&self) -> i32 {
        self.file.number()
    }
}

/// Where a thread's CPU time is noted.
#[derive(Clone, Copy, Debug)]
pub struct CpuCell(NonNull<u64>);

// SAFETY: reached through an atomic only.
unsafe impl Send for CpuCell {}

impl CpuCell {
    /// Notes it.
    ///
    /// # Safety
    /// The thread must not have [released](ThreadArena::release) its arena.
    pub unsafe fn note(self, cpu_ns: u64) {
        // SAFETY: mapped, by the caller's promise.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr()) }.store(cpu_ns, Ordering::Relaxed);
    }
}

/// The kernel is asked again after at most 2 to this power refused nodes.
const MOST_REFUSALS: u32 = 12;

/// One thread's record and nodes.
///
/// Owned by its thread: the methods with `&mut self` are called by that thread's handler, or by
/// the thread itself while the profiling signal is blocked.
pub struct ThreadArena {
    arena: &'static Arena,
    record: NonNull<ThreadRecord>,
    index: u32,
    /// First node of each segment; null where there is none yet.
    segments: [*const Node; MAX_SEGMENTS],
    next_node: u32,
    /// Refusals in a row, and nodes to refuse before the kernel is asked again: on a full file
    /// system it backs most of an extent before it gives up, which costs a sample far more than its
    /// loss.
    refusals: u32,
    wait: u32,
    /// Where the times of samples go; `None` if they are not kept, or there is no room for more.
    times: Option<Times>,
}

/// The extent that takes the times of a thread's samples.
struct Times {
    /// The extent, if there is one yet, and its size in bytes.
    extent: Option<(NonNull<u8>, usize)>,
    /// Extents before it.
    number: u32,
    /// Bytes of the extent that are used, the header included.
    used: usize,
}

impl Times {
    /// Unmaps the extent; the file keeps it.
    fn unmap(&mut self) {
        if let Some((start, size)) = self.extent.take() {
            // SAFETY: the whole mapping of one extent, to which nobody else has a pointer.
            unsafe { sys::unmap(start, size) };
        }
    }

    /// Adds a record; `None` if there is no room for it.
    fn add(&mut self, arena: &Arena, owner: u32, record: TimeRecord) -> Option<()> {
        let room = self.extent.map_or(0, |(_, size)| size - self.used);
        if room < size_of::<TimeRecord>() {
            let size = match self.extent {
                Some((_, size)) => (size as u64 * 2).min(MAX_TIMES_EXTENT),
                None => FIRST_TIMES_EXTENT,
            };
            let number = self.number + u32::from(self.extent.is_some());
            let start = arena.times_extent(owner, number, size).ok()?;
            self.unmap();
            self.extent = Some((start, size as usize));
            self.number = number;
            self.used = size_of::<ExtentHeader>();
        }
        let (start, _) = self.extent?;
        // SAFETY: inside the mapped extent, behind what is used; header and records are multiples
        // of eight bytes long, so it is aligned.
        unsafe { start.add(self.used).cast::<TimeRecord>().write(record) };
        self.used += size_of::<TimeRecord>();
        let committed = (self.used - size_of::<ExtentHeader>()) as u64;
        let header = start.cast::<ExtentHeader>();
        // SAFETY: the extent begins with its header. Release: publishes the record to a reader of
        // the growing file.
        unsafe { AtomicU64::from_ptr(&raw mut (*header.as_ptr()).committed) }
            .store(committed, Ordering::Release);
        Some(())
    }
}

impl ThreadArena {
    /// Takes the thread's extent: its record and the first segment of nodes.
    pub fn create(arena: &'static Arena, tid: u32) -> Result<Self, Errno> {
        let index = arena.next_thread_index();
        let size = HEAD + FIRST_SEGMENT_NODES as usize * size_of::<Node>();
        let start = arena.extent(ExtentKind::Thread, index, 0, size)?;
        let mut segments = [core::ptr::null(); MAX_SEGMENTS];
        // SAFETY: inside the extent; header and record are multiples of eight bytes long
        // (asserted below), so record and nodes are aligned.
        let record = unsafe { start.add(size_of::<ExtentHeader>()) }.cast::<ThreadRecord>();
        // SAFETY: as above.
        segments[0] = unsafe { start.add(HEAD) }.cast::<Node>().as_ptr();
        let times = Times { extent: None, number: 0, used: 0 };
        let times = arena.keeps_times().then_some(times);
        let (next_node, refusals, wait) = (1, 0, 0);
        let mut this = Self { arena, record, index, segments, next_node, refusals, wait, times };
        let record = this.record_mut();
        record.tid = tid;
        record.index = index;
        record.name = sys::thread_name();
        record.start_ns = sys::now_ns(Clock::Monotonic);
        record.node_count = 1;
        Ok(this)
    }

    /// Index of the thread in its process.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// The thread's counters.
    pub fn record_mut(&mut self) -> &mut ThreadRecord {
        // SAFETY: mapped as long as `self` lives, zero-initialized, written by this thread only;
        // other processes may read stale counts, which are still true ones.
        unsafe { self.record.as_mut() }
    }

    /// Notes when samples are added to a node, which gets them next. Signal side.
    #[inline]
    pub fn note_time(&mut self, node: u32, samples: u64) {
        if self.times.is_some() {
            self.add_time(node, samples);
        }
    }

    #[cold]
    fn add_time(&mut self, node: u32, samples: u64) {
        // By a system call: a program may have forbidden itself the instruction by which the vdso
        // tells the time (PR_SET_TSC), and one that restricts its system calls is not sampled.
        let time_ns = sys::now_ns(Clock::Monotonic);
        if time_ns == 0 {
            // The kernel refused: better no time than a wrong one.
            return;
        }
        let samples = samples.min(u32::MAX.into()) as u32;
        let record = TimeRecord { time_ns, node, samples };
        let Some(times) = &mut self.times else { return };
        if times.add(self.arena, self.index, record).is_none() {
            self.forget_times();
        }
    }

    /// No further times are kept; those that are in the file stay.
    fn forget_times(&mut self) {
        if let Some(mut times) = self.times.take() {
            times.unmap();
        }
    }

    /// The process's arena.
    #[must_use]
    pub const fn process(&self) -> &'static Arena {
        self.arena
    }

    /// The thread's CPU time, which other threads may note, too.
    #[must_use]
    pub fn cpu_cell(&self) -> CpuCell {
        // SAFETY: stays inside the record.
        CpuCell(unsafe { NonNull::new_unchecked(&raw mut (*self.record.as_ptr()).cpu_ns) })
    }

    /// Address of the counter of returns, for the trampoline.
    #[must_use]
    pub fn returns_cell(&self) -> *mut u64 {
        // SAFETY: stays inside the record.
        unsafe { &raw mut (*self.record.as_ptr()).returns }
    }

    /// Address of the count of lost returns, for activations whose end cannot be seen.
    #[must_use]
    pub fn lost_returns_cell(&self) -> *mut u64 {
        // SAFETY: stays inside the record.
        unsafe { &raw mut (*self.record.as_ptr()).lost_returns }
    }

    /// Address of a node's edge count, for the trampoline; null if there is no such node.
    #[must_use]
    pub fn edge_cell(&self, number: u32) -> *mut u64 {
        self.node(number).map_or(core::ptr::null_mut(), |node| node.edges.as_ptr())
    }

    /// After a fork, in the child: what is still counted here is not the parent's any more.
    pub fn detach(&mut self) {
        self.forget_times();
        for (segment, first) in (0..).zip(self.segments) {
            if let Some((start, size)) = extent_of(segment, first) {
                // SAFETY: the whole mapping of one extent. Zeros are a valid record and valid
                // nodes.
                unsafe { sys::replace_by_zeros(start, size) };
            }
        }
    }

    /// Unmaps everything, in the child of a fork where nobody counts here any more.
    pub fn leave(&mut self) {
        self.forget_times();
        for (segment, first) in (0..).zip(&mut self.segments) {
            let first = core::mem::replace(first, core::ptr::null());
            if let Some((start, size)) = extent_of(segment, first) {
                // SAFETY: the whole mapping of one extent, of which the caller says that nobody
                // uses it.
                unsafe { sys::unmap(start, size) };
            }
        }
    }

    /// Unmaps everything; the file keeps it, but for whole pages of nodes that were never taken:
    /// programs start threads by the hundred thousand.
    pub fn release(&mut self) {
        self.forget_times();
        let (last, place) = locate(self.next_node - 1);
        for (segment, first) in (0..).zip(&mut self.segments) {
            let first = core::mem::replace(first, core::ptr::null());
            if let Some((start, size)) = extent_of(segment, first) {
                let nodes = (place as usize + 1) * size_of::<Node>();
                let used = (first.addr() - start.addr().get() + nodes)
                    .next_multiple_of(EXTENT_ALIGN as usize);
                if segment == last
                    && used < size
                    // SAFETY: inside the mapping of one extent, behind the last node of this tree.
                    && unsafe { sys::give_back(start.add(used), size - used) }
                {
                    self.arena.returned().fetch_add((size - used) as u64, Ordering::Relaxed);
                }
                // SAFETY: the whole mapping of one extent. The thread is ending, its trampoline is
                // disarmed and its handler can no longer find this state.
                unsafe { sys::unmap(start, size) };
            }
        }
    }
}

/// The extent in which a segment's first node lies, and its size; `None` if there is no such
/// segment.
fn extent_of(segment: u32, first: *const Node) -> Option<(NonNull<u8>, usize)> {
    let head = if segment == 0 { HEAD } else { size_of::<ExtentHeader>() };
    let size = head + segment_nodes(segment) as usize * size_of::<Node>();
    let start = NonNull::new(first.cast_mut().cast::<u8>().wrapping_sub(head))?;
    (!first.is_null()).then_some((start, size.next_multiple_of(EXTENT_ALIGN as usize)))
}

/// What comes before the nodes in a thread's first extent.
const HEAD: usize = size_of::<ExtentHeader>() + size_of::<ThreadRecord>();

const _: () = assert!(HEAD.is_multiple_of(align_of::<Node>()));

impl NodeStore for ThreadArena {
    #[inline]
    fn node(&self, number: u32) -> Option<&Node> {
        let (segment, place) = locate(number);
        let first = *self.segments.get(segment as usize)?;
        if first.is_null() {
            return None;
        }
        // SAFETY: a segment maps as many nodes as `segment_nodes` says, `locate` stays below that,
        // and zeroed memory is a valid node. Nodes are made of atomics, so sharing is fine.
        Some(unsafe { &*first.add(place as usize) })
    }

    fn take(&mut self) -> Option<u32> {
        let number = self.next_node;
        let (segment, place) = locate(number);
        let slot = segment as usize;
        if place == 0 && slot > 0 {
            if slot >= MAX_SEGMENTS {
                return None;
            }
            let nodes = segment_nodes(segment) as usize;
            let size = size_of::<ExtentHeader>() + nodes * size_of::<Node>();
            if let Some(left) = self.wait.checked_sub(1) {
                self.wait = left;
                return None;
            }
            let asked = self.arena.extent(ExtentKind::Nodes, self.index, segment, size);
            let Ok(start) = asked else {
                self.refusals = (self.refusals + 1).min(MOST_REFUSALS);
                self.wait = 1 << self.refusals;
                return None;
            };
            self.refusals = 0;
            // SAFETY: inside the extent just mapped; a header is 32 bytes, so nodes are aligned.
            let first = unsafe { start.add(size_of::<ExtentHeader>()) };
            self.segments[slot] = first.cast::<Node>().as_ptr();
        }
        self.next_node = number + 1;
        Some(number)
    }

    fn publish(&self, number: u32) {
        // SAFETY: the record is mapped as long as `self` lives. Release: a reader that sees the
        // count sees the node's key and parent.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.record.as_ptr()).node_count) }
            .store(number + 1, Ordering::Release);
    }
}
