//! Columns of processes and threads.

use std::borrow::Cow;

use csprof_format::ids::ProcessId;
use csprof_format::profile::{Process, Profile as Saved};

use crate::views::columns::cell::Cell;
use crate::views::columns::column::{
    About, At, COLUMN, Definition, Explanation, Heading, Lines, Tone, Unit, Zero,
};
use crate::views::columns::explain::{cost, heading, pair};
use crate::views::columns::lists::Id;
use crate::views::measure::Measure;
use crate::views::number::{count, counted};
use crate::views::printable::printable;

/// All of them.
pub(super) const COLUMNS: &[Definition] =
    &[CONTEXT_KIND, NAME, RANK, HOST, PID, TID, THREADS, STAGE, PART, IMBALANCE, PEER];

/// What columns of processes and threads have alike.
const CONTEXT: Definition = Definition { lines: Lines::Contexts, ..COLUMN };

/// What tells one process or thread from another.
const fn fact(
    id: Id,
    key: &'static str,
    help: &'static str,
    value: for<'r> fn(&At<'r>) -> Cell<'r>,
) -> Definition {
    Definition { id, key, help, value, ..CONTEXT }
}

const CONTEXT_KIND: Definition =
    fact(Id::ContextKind, "kind", "Whether it is a process or a thread", |at| {
        Cell::of_text(at.context.map(|of| if of.thread.is_some() { "thread" } else { "process" }))
    });

const NAME: Definition =
    fact(Id::Name, "name", "Command line of a process, name of a thread", |at| {
        Cell::of_text(at.context.map(|context| &*context.name))
    });

const RANK: Definition = fact(Id::Rank, "rank", "Rank of the process", |at| {
    number(process(at).and_then(|process| process.rank))
});

const HOST: Definition = fact(Id::Host, "host", "Host that the process ran on", |at| {
    Cell::of_text(at.context.and_then(|context| context.host.as_deref()))
});

const PID: Definition = fact(Id::Pid, "pid", "Number of the process", |at| {
    number(process(at).map(|process| process.pid))
});

const TID: Definition = fact(Id::Tid, "tid", "Number of the thread", |at| {
    let thread = at.context.and_then(|context| context.thread);
    number(thread.map(|thread| at.basis.refined.profile.info.threads[thread.index()].tid))
});

const THREADS: Definition = fact(
    Id::Threads,
    "threads",
    "Threads that a process had, or that a thread stands for: itself, and those that ran before it, \
     one after the other, and are counted with it",
    |at| {
        let info = &at.basis.refined.profile.info;
        // Of a sum, a thread stands for those of many ranks.
        let context = at.context.filter(|_| !info.is_sum());
        context.map_or(Cell::Nothing, |of| match of.thread {
            Some(thread) => Cell::Count(info.earlier_threads(thread).saturating_add(1)),
            None => Cell::Count(threads_of(info, of.process)),
        })
    },
);

/// How many threads a process had.
fn threads_of(info: &Saved, process: ProcessId) -> u64 {
    let threads = &info.threads;
    let first = threads.partition_point(|thread| thread.process < process);
    let end = threads.partition_point(|thread| thread.process <= process);
    let rows = |place: usize| info.earlier.partition_point(|row| row.thread.index() < place);
    let earlier = info.earlier[rows(first)..rows(end)].iter().map(|row| row.count);
    earlier.fold((end - first) as u64, u64::saturating_add)
}

const STAGE: Definition = fact(Id::Stage, "stage", "The refinement to it", |at| {
    Cell::of_text(at.context.map(|context| &*context.stage))
});

const PART: Definition = Definition {
    id: Id::Part,
    key: "inclusive",
    heading: heading_of_part,
    unit: Unit::Cost,
    value: |at| at.cost(at.weight().inclusive),
    zero: Zero::DotOnScreen,
    help: "What of all that is shown it had",
    explain: part,
    tone: Tone::Size,
    ..CONTEXT
};

/// As that of a cost, all of which is inclusive here.
fn heading_of_part<'r>(of: &Heading<'r>) -> Cow<'r, str> {
    let basis = of.basis;
    let metric = of.column.metric.or(basis.has_several_metrics().then_some(basis.refined.metric));
    match metric {
        Some(metric) => printable(&basis.refined.source_of(metric).source),
        None if basis.measure == Measure::Samples => "samples".into(),
        None if of.is_time() => "time".into(),
        None => printable(&of.looked_at().unit),
    }
}

fn part(at: &At<'_>, _: About) -> Explanation {
    let is_thread = at.context.is_some_and(|context| context.thread.is_some());
    let whose = if is_thread { "thread" } else { "process" };
    vec![
        pair(&heading(at), cost_of_part(at, at.weight().inclusive)),
        pair("", format!("all samples of this {whose} that are shown")),
    ]
}

/// As [`cost`]; two runs may have different periods, and only samples are then of one kind.
fn cost_of_part(at: &At<'_>, samples: u64) -> String {
    match at.basis.measure {
        Measure::Samples => counted(samples, "sample", at.basis.form),
        Measure::Source => cost(at, samples),
    }
}

const IMBALANCE: Definition = Definition {
    id: Id::Imbalance,
    key: "imbalance",
    unit: Unit::Cost,
    value: |at| {
        let balance = at.context.and_then(|context| context.balance(at.number()));
        balance.map_or(Cell::Nothing, |balance| at.cost(balance.imbalance()))
    },
    zero: Zero::Blank,
    help: "What its threads together wait for the one with most, if they wait for each other",
    explain: imbalance,
    ..CONTEXT
};

fn imbalance(at: &At<'_>, _: About) -> Explanation {
    let balance = at.context.and_then(|context| context.balance(at.number()));
    let Some(balance) = balance.filter(|balance| balance.peers > 1) else { return Vec::new() };
    let [most, sum] = [balance.most, balance.sum].map(|samples| count(samples, at.basis.form));
    let text = format!(
        "most of a thread × number of threads - all of them: {most} × {} - {sum}; what the \
         threads that do the same work would wait together for the one with most, if they \
         wait for each other",
        balance.peers
    );
    vec![pair("imbalance", cost_of_part(at, balance.imbalance())), pair("", text)]
}

const PEER: Definition = fact(Id::Peer, "peer", "Whether an imbalance is of it and others", |at| {
    at.context.map_or(Cell::Nothing, |context| Cell::Truth(context.is_peer))
});

fn number(number: Option<u32>) -> Cell<'static> {
    number.map_or(Cell::Nothing, |number| Cell::Count(number.into()))
}

fn process<'r>(at: &At<'r>) -> Option<&'r Process> {
    at.context.map(|context| &at.basis.refined.profile.info.processes[context.process.index()])
}
