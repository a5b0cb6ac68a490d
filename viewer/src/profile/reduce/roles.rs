//! Whose samples are summed: processes of one program, and in them threads of one role.

use csprof_format::profile::{Exit, Process, Thread, ThreadShare};
use csprof_format::role::numberless;

use super::super::program;
use crate::left_out;

/// Messages of processes that a sum repeats.
const MOST_MESSAGES: usize = 8;

/// Processes that are summed: those of one program that have a rank, or those that have none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// File name of the program.
    pub(super) program: Vec<u8>,
    /// Whether its processes have ranks.
    pub(super) is_ranked: bool,
}

impl Group {
    /// That of a process.
    pub(super) fn of(process: &Process, is_ranked: bool) -> Self {
        Self { program: program(process).into_owned().into_bytes(), is_ranked }
    }
}

/// The counters of threads of one role. Moments are in nanoseconds since 1970.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadSums {
    name: Vec<u8>,
    tid: u32,
    /// Threads that those which were summed stand for besides.
    pub(super) earlier: u64,
    losses: Vec<u64>,
    returns: u64,
    lost_returns: u64,
    cpu_ns: u64,
    start_ns: u64,
    /// The last one, 0 if one of them is not known.
    end_ns: u64,
    /// Of each metric.
    shares: Vec<ThreadShare>,
}

impl ThreadSums {
    /// Those of a thread with so many `earlier` ones, whose profile began at this moment.
    pub(super) fn of(
        thread: &Thread,
        earlier: u64,
        shares: Vec<ThreadShare>,
        began_ns: u64,
    ) -> Self {
        let end_ns = if thread.end_ns == 0 { 0 } else { began_ns.saturating_add(thread.end_ns) };
        Self {
            name: thread.name.clone(),
            tid: thread.tid,
            earlier,
            losses: thread.losses.clone(),
            returns: thread.returns,
            lost_returns: thread.lost_returns,
            cpu_ns: thread.cpu_ns,
            start_ns: began_ns.saturating_add(thread.start_ns),
            end_ns,
            shares,
        }
    }

    /// Those of no thread of a role.
    pub(super) fn none(name: &[u8], metrics: usize) -> Self {
        let shares = vec![ThreadShare::default(); metrics];
        Self { name: name.to_vec(), shares, ..Self::default() }
    }

    /// Whether nothing at all is known of a thread, as where all threads of a role are kept apart.
    /// Such threads are not summed.
    pub(super) fn is_blank(thread: &Thread) -> bool {
        let Thread { process, tid, ref name, .. } = *thread;
        *thread == Thread { process, tid, name: name.clone(), ..Thread::default() }
    }

    /// Adds those of other threads.
    pub(super) fn add(&mut self, other: &Self) {
        if self.name != other.name {
            self.name = numberless(&self.name).collect();
        }
        self.tid = self.tid.min(other.tid);
        self.earlier = self.earlier.saturating_add(other.earlier);
        add_losses(&mut self.losses, &other.losses);
        self.returns = self.returns.saturating_add(other.returns);
        self.lost_returns = self.lost_returns.saturating_add(other.lost_returns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.start_ns = self.start_ns.min(other.start_ns);
        let is_known = self.end_ns > 0 && other.end_ns > 0;
        self.end_ns = if is_known { self.end_ns.max(other.end_ns) } else { 0 };
        for (sum, of) in self.shares.iter_mut().zip(&other.shares) {
            sum.signals = sum.signals.saturating_add(of.signals);
            sum.delivered = sum.delivered.saturating_add(of.delivered);
            sum.recorded = sum.recorded.saturating_add(of.recorded);
            sum.partial = sum.partial.saturating_add(of.partial);
        }
    }

    /// The thread that stands for them, and what of its counts each metric has, in this order.
    /// `number` is its number among the threads of a process that many were summed into.
    pub(super) fn thread(
        &self,
        number: Option<u32>,
        began_ns: u64,
        metrics: &[usize],
    ) -> (Thread, Vec<ThreadShare>) {
        let sum =
            |of: fn(&ThreadShare) -> u64| self.shares.iter().map(of).fold(0, u64::saturating_add);
        let lost = self.losses.iter().copied().fold(0, u64::saturating_add);
        let recorded = sum(|share| share.recorded);
        let thread = Thread {
            tid: number.unwrap_or(self.tid),
            name: self.name.clone(),
            signals: sum(|share| share.signals),
            delivered: recorded.saturating_add(lost),
            recorded,
            partial: sum(|share| share.partial),
            losses: self.losses.clone(),
            returns: self.returns,
            lost_returns: self.lost_returns,
            cpu_ns: self.cpu_ns,
            start_ns: self.start_ns.saturating_sub(began_ns),
            end_ns: self.end_ns.saturating_sub(began_ns),
            ..Thread::default()
        };
        (thread, metrics.iter().map(|&metric| self.shares[metric]).collect())
    }
}

/// Adds losses, reason by reason.
pub(super) fn add_losses(losses: &mut Vec<u64>, other: &[u64]) {
    losses.resize(losses.len().max(other.len()), 0);
    for (sum, &lost) in losses.iter_mut().zip(other) {
        *sum = sum.saturating_add(lost);
    }
}

/// The process that stands for some of a group, each with the moment in nanoseconds since 1970 at
/// which its times begin; for a rank that is kept apart, or for many. Depends on which processes
/// they are, not on their order.
pub(super) fn process_of(
    group: &Group,
    rank: Option<u32>,
    parts: &[(&Process, u64)],
    began_ns: u64,
) -> Process {
    let moment = |at: u64, began: u64| began.saturating_add(at).saturating_sub(began_ns);
    let start =
        |&(process, began): &(&Process, u64)| (moment(process.start_ns, began), process.pid);
    let first = parts.iter().min_by_key(|part| start(part));
    let mut process = first.map_or_else(Process::default, |(process, _)| (*process).clone());
    process.rank = rank;
    process.start_ns = first.map_or(0, |first| start(first).0);
    let is_known = parts.iter().all(|(process, _)| process.end_ns > 0);
    let ends = parts.iter().map(|&(process, began)| moment(process.end_ns, began));
    process.end_ns = if is_known { ends.max().unwrap_or(0) } else { 0 };
    if parts.iter().any(|(of, _)| of.exit != process.exit) {
        process.exit = Exit::Unknown;
    }
    if parts.is_empty() || parts.iter().any(|(of, _)| of.command != process.command) {
        process.command = vec![group.program.clone()];
    }
    process.losses.clear();
    let mut messages: Vec<&str> = Vec::new();
    for (of, _) in parts {
        add_losses(&mut process.losses, &of.losses);
        messages.extend(of.messages.iter().map(|message| &**message));
    }
    let mut said: Vec<String> =
        left_out::summed(messages).into_iter().map(|(message, _)| message).collect();
    said.sort_unstable();
    let more = said.len().saturating_sub(MOST_MESSAGES);
    said.truncate(MOST_MESSAGES);
    said.extend((more > 0).then(|| format!("and {more} more messages of summed processes")));
    process.messages = said;
    if rank.is_none() {
        (process.pid, process.parent_pid) = (0, 0);
    }
    process
}
