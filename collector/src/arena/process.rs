//! The file of a process: its first page, and extents of it.

#![expect(unsafe_code, reason = "typed access to the mapped arena file")]

use alloc::ffi::CString;
use alloc::format;
use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use csprof_format::arena::{
    ARENA_MAGIC, ARENA_SUFFIX, ARENA_VERSION, ArenaHeader, EXTENT_ALIGN, EXTENT_MAGIC,
    ExtentHeader, ExtentKind, FLAG_LOCKED, FLAG_PACED, FLAG_PLACELESS, FLAG_STOPPED, FLAG_TIMES,
    FLAG_TRAMPOLINE, LEFT_OUT_NAME, LeftOut, SourceRecord,
};
use csprof_format::launch::{MAX_SOURCES, SampleSources, SourceKind};
use csprof_format::loss::LossReason;

use super::log::LogExtent;
use super::room::Room;
use crate::sys::{self, Clock, Errno, File, FileNumber, Folder};
use crate::{allocator, config};

/// Number of a page of the file.
pub(super) type PageNumber = u32;

/// The arena file of this process.
pub struct Arena {
    file: File,
    folder: &'static Folder,
    path: CString,
    header: NonNull<ArenaHeader>,
    room: Room,
    /// Bytes that extents of times have taken.
    times: AtomicU64,
    /// When totals may be noted again, by the monotonic clock.
    note_again_ns: AtomicU64,
}

// SAFETY: shared fields of the header are reached through atomics only; the file number is
// atomic; the path never changes.
unsafe impl Sync for Arena {}
// SAFETY: nothing in it belongs to one thread.
unsafe impl Send for Arena {}

/// Bytes that a process takes at least: header, log, and the first thread's nodes.
const LEAST: u64 = 48 << 10;

/// Of the time that passes, this part may go to notes of totals: for the CPU time of a process the
/// kernel asks each of its threads, of which thousands may begin and end at once.
const SHARE_OF_NOTES: u64 = 64;

/// The longest time between two notes that somebody asks for, in nanoseconds: the first may have
/// taken as long as it did because the thread was stopped.
const LONGEST_WITHOUT_NOTE_NS: u64 = 100_000_000;

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
        Ok(Self {
            file,
            folder,
            path,
            header,
            room,
            times: AtomicU64::new(0),
            note_again_ns: AtomicU64::new(0),
        })
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
        self.placed_extent(kind, owner, segment, size).map(|(start, _)| start)
    }

    /// The same. Says at which page of the file the extent begins, too.
    pub(super) fn placed_extent(
        &self,
        kind: ExtentKind,
        owner: u32,
        segment: u32,
        size: usize,
    ) -> Result<(NonNull<u8>, PageNumber), Errno> {
        let size = (size as u64).next_multiple_of(EXTENT_ALIGN);
        self.file.ensure(self.folder, &self.path)?;
        // The log is not limited: without it, nothing that was sampled has a meaning.
        if kind != ExtentKind::Log {
            self.has_room(size)?;
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
        Ok((start, (offset / EXTENT_ALIGN) as PageNumber))
    }

    /// Whether `size` bytes more may be taken.
    fn has_room(&self, size: u64) -> Result<(), Errno> {
        let taken = self.used().load(Ordering::Relaxed);
        let kept = taken.saturating_sub(self.returned().load(Ordering::Relaxed));
        if kept.saturating_add(size) > self.room.most {
            return Err(Errno(libc::ENOSPC));
        }
        self.room.has(&self.file, size)
    }

    /// Backs `size` bytes again, from a page on, that were [given back](Self::returned). Setup
    /// side.
    pub(super) fn take_back(&self, page: PageNumber, size: u64) -> Result<(), Errno> {
        self.file.ensure(self.folder, &self.path)?;
        self.has_room(size)?;
        self.file.allocate(u64::from(page) * EXTENT_ALIGN, size)?;
        self.returned().fetch_sub(size, Ordering::Relaxed);
        Ok(())
    }

    /// Maps `size` bytes of extents of which nothing is mapped here, from a page on. Setup side.
    pub(super) fn map_again(&self, page: PageNumber, size: usize) -> Result<NonNull<u8>, Errno> {
        self.file.ensure(self.folder, &self.path)?;
        self.file.map(u64::from(page) * EXTENT_ALIGN, size)
    }

    /// Whether the times of samples are kept.
    #[must_use]
    pub const fn keeps_times(&self) -> bool {
        self.room.times > 0
    }

    /// An extent for times of a thread's samples, if there is room: for all that is left of it,
    /// nodes come first. Signal side.
    pub(super) fn times_extent(
        &self,
        owner: u32,
        number: u32,
        size: u64,
    ) -> Result<(NonNull<u8>, PageNumber), Errno> {
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
        let start = self.placed_extent(ExtentKind::Times, owner, number, size as usize);
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

    /// Bytes of extents that were given back.
    pub(super) fn returned(&self) -> &AtomicU64 {
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

    /// [Notes](Self::note_totals) what has been used so far, unless that was done just before and
    /// took long. Either side.
    pub fn note_progress(&self) {
        let begun_ns = sys::now_ns(Clock::Monotonic);
        // Relaxed: who sees it late notes once more.
        if begun_ns >= self.note_again_ns.load(Ordering::Relaxed) {
            self.note_totals();
            let took_ns = sys::now_ns(Clock::Monotonic).saturating_sub(begun_ns);
            let wait_ns = took_ns.saturating_mul(SHARE_OF_NOTES).min(LONGEST_WITHOUT_NOTE_NS);
            self.note_again_ns.store(begun_ns.saturating_add(wait_ns), Ordering::Relaxed);
        }
    }

    /// Notes the process's CPU time so far, and the collector's memory. Either side.
    pub fn note_totals(&self) {
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
        self.note_totals();
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

    /// Says that threads were sampled less often than they were to be, because they are stopped at
    /// their samples.
    pub fn set_stopped(&self) {
        self.flags().fetch_or(FLAG_STOPPED, Ordering::Relaxed);
    }

    /// Notes that samples do not say where in the kernel their event was counted, though they were
    /// to. Signal side.
    pub fn set_placeless(&self) {
        self.flags().fetch_or(FLAG_PLACELESS, Ordering::Relaxed);
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

    /// The arena's file.
    pub const fn file(&self) -> &File {
        &self.file
    }
}
