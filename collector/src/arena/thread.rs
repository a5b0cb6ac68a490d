//! What a thread has in the arena: its record, its nodes, and the times of its samples.
//!
//! One thread after the other may go on in the same: programs start threads by the hundred
//! thousand, and each that had its own for ever would take a page at least.

#![expect(unsafe_code, reason = "typed access to mapped extents")]

use alloc::vec::Vec;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use csprof_format::arena::{
    EXTENT_ALIGN, ExtentHeader, ExtentKind, FIRST_SEGMENT_NODES, FIRST_TIMES_EXTENT, MAX_SEGMENTS,
    MAX_TIMES_EXTENT, ThreadRecord, TimeRecord, locate, segment_nodes,
};
use csprof_format::role;

use super::process::{Arena, PageNumber};
use crate::cct::{Node, NodeStore};
use crate::sys::{self, Clock, Errno};

/// Where a thread's CPU time is noted.
#[derive(Clone, Copy, Debug)]
pub struct CpuCell {
    cell: NonNull<u64>,
    /// Of the threads before it in the record, in nanoseconds.
    before_ns: u64,
}

// SAFETY: reached through an atomic only.
unsafe impl Send for CpuCell {}

impl CpuCell {
    /// Notes it.
    ///
    /// # Safety
    /// The thread must not have [left](ThreadArena::end) its arena.
    pub unsafe fn note(self, cpu_ns: u64) {
        let sum = self.before_ns.saturating_add(cpu_ns);
        // SAFETY: mapped, by the caller's promise.
        unsafe { AtomicU64::from_ptr(self.cell.as_ptr()) }.store(sum, Ordering::Relaxed);
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
    /// Where the extents of these begin in the file.
    pages: [PageNumber; MAX_SEGMENTS],
    next_node: u32,
    /// Refusals in a row, and nodes to refuse before the kernel is asked again: on a full file
    /// system it backs most of an extent before it gives up, which costs a sample far more than its
    /// loss.
    refusals: u32,
    wait: u32,
    /// Where the times of samples go; `None` if they are not kept, or there is no room for more.
    times: Option<Times>,
    /// What the threads before it have left in the record.
    before: Before,
}

/// What threads have left in a record in which another one goes on.
#[derive(Clone, Copy, Default)]
struct Before {
    signals: u64,
    delivered: u64,
    cpu_ns: u64,
    /// The last name that was noted of them, and what this thread was called when it began;
    /// `None` if none had the record before.
    names: Option<[[u8; 16]; 2]>,
}

/// What a thread that has ended leaves in the file, of which nothing is mapped any more: another
/// one may go on there.
#[derive(Debug)]
pub struct EndedThread {
    index: u32,
    /// Where the extents of the segments begin in the file, as many as there are.
    pages: Vec<PageNumber>,
    next_node: u32,
    /// Bytes of the last segment's extent that were given back, at its end.
    returned: usize,
    times: Option<EndedTimes>,
    /// What the thread was called in the end.
    pub name: [u8; 16],
    /// Whether the one before it in the record was called otherwise, but for numbers: then the
    /// record is called what threads are at their beginning.
    pub is_mixed: bool,
}

/// The last extent of the times of its samples.
#[derive(Debug)]
struct EndedTimes {
    /// Where it begins in the file, and its size in bytes; `None` if there was none.
    extent: Option<(PageNumber, usize)>,
    number: u32,
    used: usize,
}

/// The extent that takes the times of a thread's samples.
struct Times {
    /// The extent, if there is one yet, its size in bytes, and where it begins in the file.
    extent: Option<(NonNull<u8>, usize, PageNumber)>,
    /// Extents before it.
    number: u32,
    /// Bytes of the extent that are used, the header included.
    used: usize,
}

impl Times {
    /// Unmaps the extent; the file keeps it.
    fn unmap(&mut self) {
        if let Some((start, size, _)) = self.extent.take() {
            // SAFETY: the whole mapping of one extent, to which nobody else has a pointer.
            unsafe { sys::unmap(start, size) };
        }
    }

    /// Adds a record; `None` if there is no room for it.
    fn add(&mut self, arena: &Arena, owner: u32, record: TimeRecord) -> Option<()> {
        let room = self.extent.map_or(0, |(_, size, _)| size - self.used);
        if room < size_of::<TimeRecord>() {
            let size = match self.extent {
                Some((_, size, _)) => (size as u64 * 2).min(MAX_TIMES_EXTENT),
                None => FIRST_TIMES_EXTENT,
            };
            let number = self.number + u32::from(self.extent.is_some());
            let (start, page) = arena.times_extent(owner, number, size).ok()?;
            self.unmap();
            self.extent = Some((start, size as usize, page));
            self.number = number;
            self.used = size_of::<ExtentHeader>();
        }
        let (start, _, _) = self.extent?;
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
    /// Takes an extent for a thread of this name: its record and the first segment of nodes.
    pub fn create(arena: &'static Arena, tid: u32, name: [u8; 16]) -> Result<Self, Errno> {
        let index = arena.next_thread_index();
        let size = HEAD + FIRST_SEGMENT_NODES as usize * size_of::<Node>();
        let (start, page) = arena.placed_extent(ExtentKind::Thread, index, 0, size)?;
        let times = Times { extent: None, number: 0, used: 0 };
        let times = arena.keeps_times().then_some(times);
        let mut this = Self::of(arena, index, start, times);
        this.pages[0] = page;
        let record = this.record_mut();
        record.tid = tid;
        record.index = index;
        record.name = name;
        record.start_ns = sys::now_ns(Clock::Monotonic);
        record.node_count = 1;
        Ok(this)
    }

    /// That of a thread in which another one has ended: its counts go on. The record keeps its name
    /// until one is [noted](Self::record_mut): `name`, with which the thread begins, is mostly that
    /// of its creator, which none is called. What has ended stays what it was if memory is refused.
    pub fn go_on(
        arena: &'static Arena,
        mut ended: EndedThread,
        tid: u32,
        name: [u8; 16],
    ) -> Result<Self, EndedThread> {
        let Ok(mut this) = Self::map(arena, &mut ended) else { return Err(ended) };
        this.next_node = ended.next_node;
        let record = this.record_mut();
        let before = Before {
            signals: record.signals,
            delivered: record.delivered,
            // One that ended by a system call of its own may have noted what it used before alone.
            cpu_ns: record.cpu_ns.max(record.cpu_before_ns),
            names: Some([record.name, name]),
        };
        let now_ns = sys::now_ns(Clock::Monotonic);
        let end_ns = if record.end_ns == 0 { now_ns } else { record.end_ns };
        record.apart_ns += now_ns.saturating_sub(end_ns);
        record.end_ns = 0;
        record.earlier += 1;
        record.tid = tid;
        this.before = before;
        Ok(this)
    }

    /// Maps what a thread has left, and backs what was given back of it.
    fn map(arena: &'static Arena, ended: &mut EndedThread) -> Result<Self, Errno> {
        let last = ended.pages.len().saturating_sub(1);
        if let (1.., Some(page)) = (ended.returned, ended.pages.last()) {
            let kept = extent_size(last as u32) - ended.returned;
            let from = page + (kept / EXTENT_ALIGN as usize) as PageNumber;
            arena.take_back(from, ended.returned as u64)?;
            ended.returned = 0;
        }
        let mut pages = (0..).zip(&ended.pages);
        let Some((_, &first)) = pages.next() else { return Err(Errno(libc::EINVAL)) };
        let start = arena.map_again(first, extent_size(0))?;
        let mut this = Self::of(arena, ended.index, start, None);
        this.pages[0] = first;
        for (segment, &page) in pages {
            let mapped = arena.map_again(page, extent_size(segment));
            let start = mapped.inspect_err(|_| this.unmap())?;
            this.enter(segment, start, page);
        }
        if let Some(EndedTimes { extent, number, used }) = ended.times {
            let map = |(page, size)| Ok((arena.map_again(page, size)?, size, page));
            let extent = extent.map(map).transpose().inspect_err(|_| this.unmap())?;
            this.times = Some(Times { extent, number, used });
        }
        Ok(this)
    }

    /// That of an extent which was mapped at `start`.
    fn of(arena: &'static Arena, index: u32, start: NonNull<u8>, times: Option<Times>) -> Self {
        let mut segments = [core::ptr::null(); MAX_SEGMENTS];
        // SAFETY: inside the extent; header and record are multiples of eight bytes long
        // (asserted below), so record and nodes are aligned.
        let record = unsafe { start.add(size_of::<ExtentHeader>()) }.cast::<ThreadRecord>();
        // SAFETY: as above.
        segments[0] = unsafe { start.add(HEAD) }.cast::<Node>().as_ptr();
        let (pages, before) = ([0; MAX_SEGMENTS], Before::default());
        let (next_node, refusals, wait) = (1, 0, 0);
        Self { arena, record, index, segments, pages, next_node, refusals, wait, times, before }
    }

    /// Enters a further segment, whose extent was mapped at `start`.
    fn enter(&mut self, segment: u32, start: NonNull<u8>, page: PageNumber) {
        let slot = segment as usize;
        if let (Some(first), Some(place)) = (self.segments.get_mut(slot), self.pages.get_mut(slot))
        {
            // SAFETY: inside the extent just mapped; a header is 32 bytes, so nodes are aligned.
            *first = unsafe { start.add(size_of::<ExtentHeader>()) }.cast::<Node>().as_ptr();
            *place = page;
        }
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

    /// Signals of this thread alone.
    pub fn own_signals(&mut self) -> u64 {
        let all = self.record_mut().signals;
        all.saturating_sub(self.before.signals)
    }

    /// Samples that were delivered to this thread alone.
    pub fn own_delivered(&mut self) -> u64 {
        let all = self.record_mut().delivered;
        all.saturating_sub(self.before.delivered)
    }

    /// Notes the thread's CPU time when sampling began, in nanoseconds.
    pub fn note_cpu_before(&mut self, cpu_ns: u64) {
        let record = self.record_mut();
        record.cpu_before_ns = record.cpu_before_ns.saturating_add(cpu_ns);
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
        let cell = unsafe { NonNull::new_unchecked(&raw mut (*self.record.as_ptr()).cpu_ns) };
        CpuCell { cell, before_ns: self.before.cpu_ns }
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
        self.unmap();
    }

    /// Unmaps record and nodes, which nobody uses any more.
    fn unmap(&mut self) {
        for (segment, first) in (0..).zip(&mut self.segments) {
            let first = core::mem::replace(first, core::ptr::null());
            if let Some((start, size)) = extent_of(segment, first) {
                // SAFETY: the whole mapping of one extent, of which the caller says that nobody
                // uses it.
                unsafe { sys::unmap(start, size) };
            }
        }
    }

    /// Whether it goes on in the record of a thread that has ended.
    pub fn went_on(&self) -> bool {
        self.before.names.is_some()
    }

    /// The thread has ended: unmaps everything. The file keeps it, but for whole pages of nodes
    /// that were never taken, if it is the first that had the record. Those of one that went on
    /// stay: to free them and have them back for each further thread takes time for each byte. Its
    /// trampoline is disarmed, and its handler can no longer find this.
    pub fn end(mut self) -> EndedThread {
        let (last, place) = locate(self.next_node - 1);
        let mut returned = 0;
        if let Some(&first) = self.segments.get(last as usize)
            && let Some((start, size)) = extent_of(last, first)
        {
            let nodes = (place as usize + 1) * size_of::<Node>();
            let used =
                (first.addr() - start.addr().get() + nodes).next_multiple_of(EXTENT_ALIGN as usize);
            if !self.went_on()
                && used < size
                // SAFETY: inside the mapping of one extent, behind the last node of this tree.
                && unsafe { sys::give_back(start.add(used), size - used) }
            {
                returned = size - used;
                self.arena.returned().fetch_add(returned as u64, Ordering::Relaxed);
            }
        }
        let times = self.times.take().map(|mut times| {
            let extent = times.extent.map(|(_, size, page)| (page, size));
            times.unmap();
            EndedTimes { extent, number: times.number, used: times.used }
        });
        let pages = self.pages.iter().zip(&self.segments);
        let pages = pages.take_while(|(_, first)| !first.is_null()).map(|(page, _)| *page);
        let (pages, name) = (pages.collect(), self.record_mut().name);
        let mut is_mixed = false;
        if let Some([before, began]) = self.before.names
            && !is_same_role(&before, &name)
        {
            is_mixed = true;
            self.record_mut().name = began;
        }
        self.unmap();
        let Self { index, next_node, .. } = self;
        EndedThread { index, pages, next_node, returned, times, name, is_mixed }
    }
}

/// Whether threads of these names are called the same but for numbers.
pub fn is_same_role(a: &[u8; 16], b: &[u8; 16]) -> bool {
    let text = |name: &[u8; 16]| name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    role::numberless(&a[..text(a)]).eq(role::numberless(&b[..text(b)]))
}

/// The extent in which a segment's first node lies, and its size; `None` if there is no such
/// segment.
fn extent_of(segment: u32, first: *const Node) -> Option<(NonNull<u8>, usize)> {
    let start = NonNull::new(first.cast_mut().cast::<u8>().wrapping_sub(head(segment)))?;
    (!first.is_null()).then_some((start, extent_size(segment)))
}

/// What comes before the nodes in the extent of a segment.
const fn head(segment: u32) -> usize {
    if segment == 0 { HEAD } else { size_of::<ExtentHeader>() }
}

/// Bytes of the extent of a segment.
const fn extent_size(segment: u32) -> usize {
    let size = head(segment) + segment_nodes(segment) as usize * size_of::<Node>();
    size.next_multiple_of(EXTENT_ALIGN as usize)
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
            let asked = self.arena.placed_extent(ExtentKind::Nodes, self.index, segment, size);
            let Ok((start, page)) = asked else {
                self.refusals = (self.refusals + 1).min(MOST_REFUSALS);
                self.wait = 1 << self.refusals;
                return None;
            };
            self.refusals = 0;
            self.enter(segment, start, page);
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
