//! What the records of the kernel's say, as arenas: processes, their threads, load maps and trees.

use std::collections::HashMap;

use csprof_format::address::FrameKey;
use csprof_format::arena::{
    ARENA_MAGIC, ARENA_VERSION, ArenaHeader, FLAG_EXECED, FLAG_TIMES, LEFT_OUT_NAME,
    LEFT_OUT_SLOTS, LogRecord, REASON_SLOTS, ShareRecord, SourceRecord, ThreadRecord, TimeRecord,
};
use csprof_format::launch::{MAX_SOURCES, SampleSources};
use csprof_format::loss::LossReason;

use super::mappings::{CodeMapping, code_mappings};
use super::memory::Memory;
use super::modules::{Modules, Unread};
use super::process::{self, Process};
use super::records::{Callers, Mapped, Record, Sample, Stamped};
use super::space::{Log, Space};
use super::tree::Tree;
use super::walk::{End, frames_of_chain, walk};
use crate::launch::arena_read::{Arena, ArenaThread};

/// The processes that are sampled, and what was met in them.
#[derive(Debug)]
pub(super) struct Session {
    sources: SampleSources,
    /// Bytes of the stack that a sample has at most.
    stack_bytes: u32,
    /// Bytes of times that are kept of each process, if they are.
    times: Option<u64>,
    pub(super) modules: Modules,
    /// In the order in which they began; an exec begins another one.
    tracked: Vec<Tracked>,
    /// The place of the last one with each id.
    current: HashMap<u32, usize>,
    /// Records for which a ring had no room.
    pub(super) lost: u64,
    /// Records that cannot be read, and samples of no known event.
    unreadable: u64,
    /// Whether all processes were looked at in this batch of records.
    has_looked: bool,
    pub(super) memory: Memory,
    /// Processes that were asked for: the first ones.
    asked: usize,
    /// How often the kernel has held an event up.
    pub(super) throttled: u64,
    path: Vec<FrameKey>,
}

#[derive(Debug)]
struct Tracked {
    pid: u32,
    parent: u32,
    is_forked: bool,
    is_execed: bool,
    start_ns: u64,
    end_ns: u64,
    log: Log,
    space: Space,
    threads: Vec<Thread>,
    place_of: HashMap<u32, usize>,
    /// Threads that have not ended.
    running: usize,
    losses: [u64; REASON_SLOTS],
    unsampled: u64,
    /// Whether nothing is kept of it.
    is_forgotten: bool,
    /// Bytes that may still be kept of times.
    times: u64,
}

fn add(losses: &mut [u64; REASON_SLOTS], more: &[u64; REASON_SLOTS]) {
    losses.iter_mut().zip(more).for_each(|(loss, more)| *loss += more);
}

#[derive(Debug)]
struct Thread {
    record: ThreadRecord,
    tree: Tree,
    times: Vec<TimeRecord>,
    /// What it had used when sampling began, or before it executed this program, in nanoseconds.
    used_ns: u64,
}

impl Session {
    pub(super) fn new(sources: SampleSources, stack_bytes: u32, times: Option<u64>) -> Self {
        Self {
            sources,
            stack_bytes,
            times,
            modules: Modules::default(),
            tracked: Vec::new(),
            current: HashMap::new(),
            lost: 0,
            unreadable: 0,
            has_looked: false,
            memory: Memory::new(),
            asked: 0,
            throttled: 0,
            path: Vec::new(),
        }
    }

    /// Begins with a process that runs, and with these of its threads; `unsampled` are not.
    ///
    /// # Errors
    ///
    /// When what it has mapped may not be read.
    pub(super) fn add(
        &mut self,
        process: &Process,
        threads: &[u32],
        unsampled: u64,
        time_ns: u64,
    ) -> anyhow::Result<()> {
        let maps = process::maps(process.pid)?;
        let place = self.begin(process.pid, process.parent, false, time_ns);
        self.asked = self.tracked.len();
        let tracked = &mut self.tracked[place];
        tracked.log.push((time_ns, LogRecord::Command(process::command(process.pid))));
        tracked.space.begin(time_ns, &mut tracked.log);
        tracked.unsampled = unsampled;
        for mapping in code_mappings(&maps) {
            let Tracked { space, log, pid, .. } = tracked;
            space.enter(*pid, mapping, time_ns, &mut self.modules, log);
        }
        for &thread in threads {
            let name = process::name(process.pid, thread);
            let used_ns = process::cpu_ns(process.pid, thread).unwrap_or(0);
            tracked.begin_thread(thread, name, time_ns).used_ns = used_ns;
        }
        Ok(())
    }

    fn begin(&mut self, pid: u32, parent: u32, is_forked: bool, start_ns: u64) -> usize {
        self.tracked.push(Tracked {
            pid,
            parent,
            is_forked,
            is_execed: false,
            start_ns,
            end_ns: 0,
            log: Log::new(),
            space: Space::default(),
            threads: Vec::new(),
            place_of: HashMap::new(),
            running: 0,
            losses: [0; REASON_SLOTS],
            unsampled: 0,
            is_forgotten: false,
            times: self.times.unwrap_or(0),
        });
        let place = self.tracked.len() - 1;
        self.current.insert(pid, place);
        place
    }

    /// The process with this id. One that nobody has told of, for which there was no room, is
    /// looked at as it is now.
    fn place(&mut self, pid: u32, time_ns: u64) -> usize {
        if let Some(&place) = self.current.get(&pid) {
            return place;
        }
        let place = self.begin(pid, 0, true, time_ns);
        let tracked = &mut self.tracked[place];
        tracked.space.begin(time_ns, &mut tracked.log);
        self.look_again(place, time_ns);
        place
    }

    /// Enters what a process has mapped now.
    fn look_again(&mut self, place: usize, time_ns: u64) {
        let Tracked { space, log, pid, .. } = &mut self.tracked[place];
        let maps = process::maps(*pid).unwrap_or_else(|error| {
            self.modules.note_unread(Unread::Mappings(*pid), error.to_string());
            Vec::new()
        });
        for mapping in code_mappings(&maps) {
            space.enter(*pid, mapping, time_ns, &mut self.modules, log);
        }
    }

    /// Tells that the records that come next were read at once.
    pub(super) fn begin_batch(&mut self) {
        self.has_looked = false;
        let forgotten = self.tracked.iter().filter(|tracked| tracked.is_forgotten).count();
        if forgotten > self.tracked.len() / 2 {
            let places: Vec<usize> = self
                .tracked
                .iter()
                .scan(0, |next, tracked| {
                    let place = *next;
                    *next += usize::from(!tracked.is_forgotten);
                    Some(place)
                })
                .collect();
            self.tracked.retain(|tracked| !tracked.is_forgotten);
            self.current.values_mut().for_each(|place| *place = places[*place]);
        }
    }

    /// Keeps what a process that has ended left; or forgets it, if that is nothing. Whether it was
    /// kept.
    fn keep(&mut self, place: usize) -> bool {
        /// Of a record of a log, about: a path, and a place in a table.
        const RECORD_BYTES: usize = 256;
        let tracked = &mut self.tracked[place];
        let samples = tracked.threads.iter().map(|thread| thread.record.recorded).sum();
        let bytes = size_of::<Tracked>() + RECORD_BYTES * tracked.log.len();
        if place < self.asked.max(1) || self.memory.keep(samples, bytes) {
            return true;
        }
        let mut losses = tracked.losses;
        tracked.threads.iter().for_each(|thread| add(&mut losses, &thread.record.losses));
        (tracked.log, tracked.threads, tracked.place_of) = Default::default();
        tracked.is_forgotten = true;
        if self.current.get(&tracked.pid) == Some(&place) {
            self.current.remove(&tracked.pid);
        }
        add(&mut self.tracked[0].losses, &losses);
        false
    }

    /// Takes a record; records come in the order of their times. `source_of` is the number of the
    /// source of an event.
    pub(super) fn take(&mut self, stamped: &Stamped<'_>, source_of: impl Fn(u64) -> Option<usize>) {
        let &Stamped { process, thread, time_ns, record } = stamped;
        match record {
            Record::Sample(sample) => match source_of(sample.event) {
                Some(source) => self.sample(process, thread, time_ns, &sample, source),
                None => self.unreadable += 1,
            },
            Record::Mapped(Mapped { start, length, offset, device, inode, path }) => {
                let end = start.saturating_add(length);
                let mapping =
                    CodeMapping { start, end, offset, device, inode, path: path.to_vec() };
                let place = self.place(process, time_ns);
                let Tracked { space, log, .. } = &mut self.tracked[place];
                space.enter(process, mapping, time_ns, &mut self.modules, log);
            }
            Record::Named { is_exec: true, name } => self.exec(process, name, time_ns),
            Record::Named { is_exec: false, name } => {
                let place = self.place(process, time_ns);
                self.tracked[place].thread(thread, time_ns).record.name = process::padded(name);
            }
            Record::Begun { parent_process, parent } => {
                let place = self.place(parent_process, time_ns);
                let before = &mut self.tracked[place];
                let name = before.thread(parent, time_ns).record.name;
                if process == parent_process {
                    before.begin_thread(thread, name, time_ns);
                    return;
                }
                let space = before.space.forked();
                let place = self.begin(process, parent_process, true, time_ns);
                let forked = &mut self.tracked[place];
                forked.space = space;
                forked.space.begin(time_ns, &mut forked.log);
                forked.begin_thread(thread, name, time_ns);
            }
            Record::Ended => {
                if let Some(&place) = self.current.get(&process)
                    && self.tracked[place].end_thread(thread, time_ns, &mut self.memory)
                    && !self.keep(place)
                {
                    self.memory.processes += 1;
                }
            }
            Record::Lost(records) => {
                self.lost += records;
                // What was mapped meanwhile may be among them; what is found now is as late as the
                // last record of the batch.
                if !std::mem::replace(&mut self.has_looked, true) {
                    let mut places: Vec<usize> = self.current.values().copied().collect();
                    places.retain(|&place| self.tracked[place].end_ns == 0);
                    places.into_iter().for_each(|place| self.look_again(place, time_ns));
                }
            }
            Record::Unreadable => self.unreadable += 1,
            Record::Throttled => self.throttled += 1,
            Record::Other => {}
        }
    }

    /// A process executes another program: its story goes on in another arena.
    fn exec(&mut self, pid: u32, name: &[u8], time_ns: u64) {
        let place = self.place(pid, time_ns);
        let before = &mut self.tracked[place];
        let parent = before.parent;
        let used_ns = before.used_before_exec(&self.sources);
        before.is_execed = true;
        before.end(time_ns);
        // Where nothing is left of it, its story begins here.
        let was_forked = before.is_forked;
        let is_forked = !self.keep(place) && was_forked;
        let place = self.begin(pid, parent, is_forked, time_ns);
        let tracked = &mut self.tracked[place];
        // By now it may be yet another one's, or nobody's.
        let command = match process::command(pid) {
            command if command.is_empty() => vec![name.to_vec()],
            command => command,
        };
        tracked.log.push((time_ns, LogRecord::Command(command)));
        tracked.space.begin(time_ns, &mut tracked.log);
        tracked.begin_thread(pid, process::padded(name), time_ns).used_ns = used_ns;
    }

    fn sample(
        &mut self,
        process: u32,
        thread: u32,
        time_ns: u64,
        sample: &Sample<'_>,
        source: usize,
    ) {
        /// What the kernel gives for the id of one that is just leaving.
        const NOBODY: u32 = u32::MAX;
        if [process, thread].contains(&NOBODY) {
            if let Some(first) = self.tracked.first_mut() {
                first.losses[LossReason::NoThreadState as usize] += 1;
            }
            return;
        }
        let place = self.place(process, time_ns);
        let tracked = &mut self.tracked[place];
        if tracked.end_ns > 0 && !tracked.place_of.contains_key(&thread) {
            // It goes on in a thread that nobody has told of.
            tracked.end_ns = 0;
            self.look_again(place, time_ns);
        }
        let tracked = &mut self.tracked[place];
        let place = tracked.place_of_thread(thread, time_ns);
        let (space, path) = (&mut tracked.space, &mut self.path);
        path.clear();
        let end = match sample.callers {
            Callers::None => None,
            Callers::Chain(words) => Some(frames_of_chain(words, space, path)),
            Callers::Stack { registers, bytes } => {
                Some(walk(registers, bytes, self.stack_bytes, space, path))
            }
        };
        let epoch = space.epoch;
        let Thread { record, tree, times, .. } = &mut tracked.threads[place];
        record.count_signal(source);
        record.count_delivered(source, 1);
        let Some(end) = end else { return record.count_loss(LossReason::NoThreadState, 1) };
        let Some(node) = tree.add(epoch, path, end, source, &mut self.memory.nodes_left) else {
            return record.count_loss(LossReason::ArenaFull, 1);
        };
        record.count_recorded(source, 1);
        record.frames_unwound += path.len() as u64;
        record.max_depth = record.max_depth.max(path.len() as u32);
        if let End::Partial(reason) = end {
            record.count_partial(source, reason, 1);
        }
        const TIME: u64 = size_of::<TimeRecord>() as u64;
        if let Some(left) = tracked.times.checked_sub(TIME) {
            tracked.times = left;
            times.push(TimeRecord { time_ns, node, samples: 1 });
        }
    }

    /// Asks the kernel what the threads have used that run. When sampling ends, for they go on: the
    /// last records are yet to be followed then.
    pub(super) fn note_cpu(&mut self) {
        self.tracked.iter_mut().for_each(Tracked::note_cpu);
    }

    /// What all processes left. `cpu_ns` is the CPU time of all of them while they were sampled, if
    /// that was counted.
    pub(super) fn into_arenas(mut self) -> (Vec<Arena>, Modules) {
        if let Some(first) = self.tracked.first_mut() {
            first.losses[LossReason::RingFull as usize] += self.lost;
            first.losses[LossReason::Unreadable as usize] += self.unreadable;
        }
        let (sources, has_times) = (self.sources, self.times.is_some());
        let mut arenas: Vec<Arena> = Vec::new();
        // As a collector's, the CPU time of a program holds that before its exec.
        let mut before_exec: HashMap<u32, u64> = HashMap::new();
        for tracked in self.tracked.into_iter().filter(|tracked| !tracked.is_forgotten) {
            let mut arena = tracked.into_arena(&sources, has_times);
            let header = &mut arena.header;
            let before_ns = before_exec.remove(&header.pid).filter(|_| header.forked == 0);
            header.cpu_ns += before_ns.unwrap_or(0);
            if header.flags & FLAG_EXECED != 0 {
                before_exec.insert(header.pid, header.cpu_ns);
            }
            arenas.push(arena);
        }
        (arenas, self.modules)
    }
}

impl Tracked {
    fn begin_thread(&mut self, tid: u32, name: [u8; 16], start_ns: u64) -> &mut Thread {
        let index = self.threads.len();
        self.place_of.insert(tid, index);
        self.running += 1;
        let record = ThreadRecord {
            tid,
            index: 0,
            name,
            start_ns,
            end_ns: 0,
            cpu_ns: 0,
            node_count: 0,
            max_depth: 0,
            signals: 0,
            delivered: 0,
            recorded: 0,
            returns: 0,
            lost_returns: 0,
            frames_unwound: 0,
            reused_paths: 0,
            losses: [0; REASON_SLOTS],
            partial: [0; REASON_SLOTS],
            cpu_before_ns: 0,
            earlier: 0,
            apart_ns: 0,
            late: 0,
            further: [ShareRecord::default(); MAX_SOURCES - 1],
        };
        self.threads.push(Thread { record, tree: Tree::new(), times: Vec::new(), used_ns: 0 });
        &mut self.threads[index]
    }

    fn place_of_thread(&mut self, tid: u32, time_ns: u64) -> usize {
        if let Some(&place) = self.place_of.get(&tid) {
            return place;
        }
        self.begin_thread(tid, process::name(self.pid, tid), time_ns);
        self.threads.len() - 1
    }

    /// Forgets a thread that has ended without a sample.
    fn forget_thread(&mut self, place: usize) {
        let gone = self.threads.swap_remove(place).record;
        add(&mut self.losses, &gone.losses);
        self.place_of.remove(&gone.tid);
        if let Some(moved) = self.threads.get(place)
            && let Some(known) = self.place_of.get_mut(&moved.record.tid)
            && *known == self.threads.len()
        {
            *known = place;
        }
    }

    fn thread(&mut self, tid: u32, time_ns: u64) -> &mut Thread {
        let place = self.place_of_thread(tid, time_ns);
        &mut self.threads[place]
    }

    /// Whether the process has ended with it.
    fn end_thread(&mut self, tid: u32, time_ns: u64, memory: &mut Memory) -> bool {
        let Some(&place) = self.place_of.get(&tid) else { return false };
        let record = &mut self.threads[place].record;
        if record.end_ns == 0 {
            record.end_ns = time_ns;
            self.running -= 1;
            if !memory.keep(record.recorded, size_of::<Thread>()) {
                memory.threads += 1;
                self.forget_thread(place);
            }
        }
        // Of threads that are not sampled nobody tells whether they run.
        let has_ended = self.running == 0 && self.unsampled == 0;
        if has_ended {
            self.end(time_ns);
        }
        has_ended
    }

    /// Nothing runs in it any more, so where its code was matters no longer.
    fn end(&mut self, time_ns: u64) {
        self.end_ns = time_ns;
        self.space.clear();
        let running = self.threads.iter_mut().filter(|thread| thread.record.end_ns == 0);
        running.for_each(|thread| thread.record.end_ns = time_ns);
    }

    /// CPU time of the thread that executes another program, up to then, in nanoseconds. The
    /// samples tell it, for by now the thread has gone on; where CPU time is not sampled, the
    /// kernel.
    fn used_before_exec(&self, sources: &SampleSources) -> u64 {
        let mut running = self.threads.iter().filter(|thread| thread.record.end_ns == 0);
        match running.next() {
            Some(thread) if sources.iter().any(|source| super::events::is_cpu_time(&source)) => {
                thread.used_ns.saturating_add(thread.sampled_ns(sources))
            }
            _ => process::cpu_ns(self.pid, self.pid).unwrap_or(0),
        }
    }

    fn note_cpu(&mut self) {
        for thread in self.threads.iter_mut().filter(|thread| thread.record.end_ns == 0) {
            let used = process::cpu_ns(self.pid, thread.record.tid);
            thread.record.cpu_ns = used.map_or(0, |used| used.saturating_sub(thread.used_ns));
        }
    }

    fn into_arena(mut self, sources: &SampleSources, has_times: bool) -> Arena {
        for thread in &mut self.threads {
            // Of a thread that has ended, or that only the last records have told of, its samples
            // tell.
            let noted = if thread.record.end_ns == 0 { thread.record.cpu_ns } else { 0 };
            thread.record.cpu_ns = noted.max(thread.sampled_ns(sources));
        }
        let mut in_use = [SourceRecord::NONE; MAX_SOURCES];
        in_use.iter_mut().zip(sources.iter()).for_each(|(to, of)| *to = SourceRecord::of(of));
        let execed = if self.is_execed { FLAG_EXECED } else { 0 };
        let header = ArenaHeader {
            magic: ARENA_MAGIC,
            version: ARENA_VERSION,
            pid: self.pid,
            parent_pid: self.parent,
            forked: self.is_forked.into(),
            source_count: sources.iter().count() as u32,
            flags: execed | if has_times { FLAG_TIMES } else { 0 },
            start_unix_ns: 0,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            used: 0,
            threads: self.threads.len() as u32,
            rank_plus_one: 0,
            losses: self.losses,
            foreign_signals: 0,
            left_out: [0; LEFT_OUT_SLOTS],
            left_out_names: [[0; LEFT_OUT_NAME]; LEFT_OUT_SLOTS],
            cpu_before_ns: 0,
            cpu_ns: self.threads.iter().map(|thread| thread.record.cpu_ns).sum(),
            unsampled_threads: self.unsampled,
            table_bytes: 0,
            private_bytes: 0,
            returned: 0,
            sources: in_use,
            ranks: 0,
            local_ranks: 0,
        };
        let threads = self.threads.into_iter().enumerate();
        let threads = threads.map(|(index, Thread { mut record, tree, times, .. })| {
            record.index = index as u32;
            let nodes = tree.into_nodes();
            record.node_count = nodes.len() as u32;
            ArenaThread { record, bytes: 0, nodes, times }
        });
        let threads = threads.collect();
        let (blocks, entries, damage) = (Vec::new(), Vec::new(), Vec::new());
        Arena { header, log: self.log, threads, blocks, entries, damage }
    }
}

impl Thread {
    /// CPU time that its samples stand for, in nanoseconds; 0 where that is not sampled.
    fn sampled_ns(&self, sources: &SampleSources) -> u64 {
        let record = &self.record;
        let place = sources.iter().position(|source| super::events::is_cpu_time(&source));
        let Some(place) = place else { return 0 };
        let samples = match place.checked_sub(1) {
            Some(further) => record.further[further].delivered,
            None => {
                let further: u64 = record.further.iter().map(|share| share.delivered).sum();
                record.delivered - further
            }
        };
        samples.saturating_mul(sources.get(place).map_or(0, |of| of.period))
    }
}

#[cfg(test)]
mod tests {
    use csprof_format::launch::{SampleSource, SourceKind};

    use super::*;

    /// Ids that no process has.
    const PID: u32 = u32::MAX - 1;
    const EVENT: u64 = 7;

    fn stamped(thread: u32, time_ns: u64, record: Record<'_>) -> Stamped<'_> {
        Stamped { process: PID, thread, time_ns, record }
    }

    fn session(records: &[Stamped<'_>]) -> Session {
        let source = SampleSource::of(SourceKind::TaskClock).every(1000);
        let mut session = Session::new(SampleSources::one(source), 16, None);
        for record in records {
            session.take(record, |event| (event == EVENT).then_some(0));
        }
        session
    }

    fn sample(event: u64) -> Record<'static> {
        Record::Sample(Sample { event, callers: Callers::Chain(&[1, 0, 0, 0, 0, 0, 0, 0]) })
    }

    #[test]
    fn what_cannot_be_read_is_lost_and_counted() {
        let records = [
            stamped(PID, 1, sample(EVENT)),
            stamped(PID, 2, sample(EVENT + 1)),
            stamped(PID, 3, Record::Unreadable),
        ];
        let (arenas, _) = session(&records).into_arenas();
        assert_eq!(arenas[0].header.losses[LossReason::Unreadable as usize], 2);
        assert_eq!(arenas[0].threads[0].record.recorded, 1);
    }

    #[test]
    fn a_sample_without_room_for_its_node_is_lost() {
        let mut session = session(&[]);
        session.memory.nodes_left = 0;
        session.take(&stamped(PID, 1, sample(EVENT)), |_| Some(0));
        let (arenas, _) = session.into_arenas();
        let record = &arenas[0].threads[0].record;
        assert_eq!((record.delivered, record.recorded), (1, 0));
        assert_eq!(record.losses[LossReason::ArenaFull as usize], 1);
    }

    #[test]
    fn of_threads_and_processes_that_end_without_a_sample_not_all_are_kept() {
        const MOST: u64 = 3000;
        let mut session = session(&[stamped(PID, 1, sample(EVENT))]);
        let mut take = |process, thread, record| {
            let stamped = Stamped { process, thread, time_ns: 2, record };
            session.take(&stamped, |_| Some(0));
        };
        let begun = Record::Begun { parent_process: PID, parent: PID };
        let of_thread = |id| PID - 1 - id;
        for id in (0..MOST as u32).map(of_thread) {
            // The last thread and the last process have a sample.
            let is_last = id == of_thread(MOST as u32 - 1);
            take(PID, id, begun);
            if is_last {
                take(PID, id, sample(EVENT));
            }
            take(PID, id, Record::Ended);
        }
        for id in (0..MOST as u32).map(of_thread) {
            take(id, id, begun);
            take(id, id, Record::Named { is_exec: true, name: b"other" });
            // Of no program, as of one that is ending.
            let callers = Callers::None;
            take(id, id, Record::Sample(Sample { event: EVENT, callers }));
            take(id, id, Record::Ended);
        }
        take(1, 1, begun);
        take(1, 1, sample(EVENT));
        take(1, 1, Record::Ended);
        let (threads, processes) = (session.memory.threads, session.memory.processes);
        session.begin_batch();
        assert!(session.tracked.len() < 2000, "{}", session.tracked.len());
        let (arenas, _) = session.into_arenas();
        let records = || arenas.iter().flat_map(|arena| &arena.threads);
        let recorded: u64 = records().map(|thread| thread.record.recorded).sum();
        assert_eq!(recorded, 3);
        // Of each process both programs; and what was lost is counted.
        assert!(threads >= MOST - 1000 && processes == MOST);
        assert!(records().count() < 1100 && arenas.len() < 1100);
        let lost = |losses: &[u64; REASON_SLOTS]| losses[LossReason::NoThreadState as usize];
        let in_arenas: u64 = arenas.iter().map(|arena| lost(&arena.header.losses)).sum();
        let in_threads: u64 = records().map(|thread| lost(&thread.record.losses)).sum();
        assert_eq!(in_arenas + in_threads, MOST);
        let last = arenas.last().unwrap();
        assert_eq!((last.header.pid, last.header.forked), (1, 1));
    }

    #[test]
    fn cpu_time_after_an_exec_begins_with_it() {
        let exec = Record::Named { is_exec: true, name: b"other" };
        let records = [
            stamped(PID, 1, sample(EVENT)),
            stamped(PID, 2, sample(EVENT)),
            stamped(PID, 3, exec),
            stamped(PID, 4, sample(EVENT)),
        ];
        let session = session(&records);
        assert_eq!(session.tracked[1].threads[0].used_ns, 2000);
        let (arenas, _) = session.into_arenas();
        let used: Vec<u64> = arenas.iter().map(|arena| arena.header.cpu_ns).collect();
        // Cumulative, as gathering takes it.
        assert_eq!(used, [2000, 3000]);
    }

    #[test]
    fn cpu_time_ends_with_the_sampling() {
        let (process, thread) = (std::process::id(), nix::unistd::gettid().as_raw() as u32);
        let used = || process::cpu_ns(process, thread).unwrap();
        let mut session = session(&[]);
        let record = sample(EVENT);
        session.take(&Stamped { process, thread, time_ns: 1, record }, |_| Some(0));
        let before_ns = used();
        session.note_cpu();
        let noted_ns = used();
        while used() < noted_ns + 1_000_000 {}
        let (arenas, _) = session.into_arenas();
        let thread_ns = arenas[0].threads[0].record.cpu_ns;
        let possible_ns = before_ns..=noted_ns;
        assert!(possible_ns.contains(&thread_ns), "{thread_ns} of {possible_ns:?}");
    }

    #[test]
    fn a_process_goes_on_in_a_thread_that_nobody_has_told_of() {
        let begun = [stamped(PID, 1, sample(EVENT)), stamped(PID, 2, Record::Ended)];
        let mut session = session(&begun);
        assert_eq!(session.tracked[0].end_ns, 2);
        session.take(&stamped(PID - 1, 3, sample(EVENT)), |_| Some(0));
        assert_eq!(session.tracked[0].end_ns, 0);
    }
}
