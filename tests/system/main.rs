//! csprof on programs whose answers are known in advance. Each program is small, in
//! `tests/workloads`, and says at its top what it does.

#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed, and says where")]

// What samples say.

/// Bytes that are read and written, and time that threads wait for each other.
mod amounts;
/// Calls that are counted.
mod calls;
/// fork, exec and all that is made of them.
mod children;
/// What is told to a run while it goes on.
mod control;
/// Counted returns against programs that count themselves.
mod edges;
/// The program of Figure 1 in the paper that this profiler follows.
mod figure1;
/// Names of code that is generated while a program runs.
mod generated_code;
/// Files that are gone while their code runs, or are others by then.
mod gone_files;
/// Libraries that come and go at one address.
mod kept_sources;
/// Events of the kernel's and the processor's.
mod kernel_events;
mod libraries;
/// What is late, seldom or never sampled.
mod losses;
/// What is asked of the allocator, and not given back.
mod memory;
/// Phases that begin where functions are entered.
mod phase_at;
/// Parallel regions of OpenMP.
mod regions;
/// Threads without end, which share records.
mod short_threads;
/// Phases by elapsed time.
mod slices;
/// Several sample sources in one run.
mod sources;
/// Stacks that are deep, left by jumps, or replaced by tail calls.
mod stacks;
/// Who worked: threads, with what they block.
mod threads;
/// When samples were taken.
mod times;

// How programs end, and what else they own.

/// Every way to end; the samples stay.
mod endings;
/// Random hazards, a few of them.
mod generated;
/// What profilers stumble over: one program for each, in several variants.
mod hazards;
/// Signals that csprof uses and the program, too.
mod signals;

// As people use it.

/// What cannot be read, run or saved: one clear line each.
mod bad_input;
/// Two profiles compared, and several as one.
mod diff;
/// Ranks of jobs, and how these end.
mod jobs;
/// Programs that are looked at while they run.
mod live;
/// Reports and exports of several metrics.
mod metrics;
/// Programs that were started without csprof.
mod outside;
/// Python, a compiler, compressors, perl, sqlite, MPI.
mod programs;
/// Ranks that wait for one that is late.
mod ranks;
/// Refinements of what was recorded.
mod refinements;
/// Several runs compared with several, and runs on more threads.
mod runs;
/// Merges that several processes do together.
mod shares;
/// Jobs of many ranks as one profile.
mod sums;
/// Names that come after the run.
mod symbolize;
/// The viewer on a terminal, and what happens without one.
mod viewer;
/// What threads waited for.
mod waits;
mod words;

// The sources and documents themselves.

/// Examples of the documents.
mod documents;
/// Rules of the architecture that no compiler checks.
mod tidy;
