//! Jobs that are made up, always the same: as many ranks as wanted, of which it is known what each
//! costs on each path.
//!
//! ```text
//! main
//!   step_0                  16 kernels below each step
//!     kernel_0              common paths; a late rank has LATE more on one of them
//!     …
//!   report                  what only this rank does
//!     report_3_0
//!   MPI_Barrier             for as long as the rank with most was busy longer
//! ```
//!
//! Functions are sampled at several [addresses](Job::addresses) if that is wanted, and every other
//! kernel is called from two call sites, as those of real programs are: so each is many nodes. A
//! worker thread of each rank has samples in `pool`, too. The tests, a benchmark and the unit
//! tests of the sum of a job have this file in common.

use std::collections::HashMap;

use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile::{
    Epoch, Exit, Frame, Function, Metric, Module, Process, Profile, RunInfo, Thread, Tree,
};

/// Samples that a late rank has more than others on its path.
pub const LATE: u64 = 5000;
/// Kernels below one step.
const KERNELS: u32 = 16;
/// Samples of the worker thread.
const POOL: u64 = 40;

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    /// How many ranks.
    pub ranks: u32,
    /// How many paths all of them have.
    pub common: u32,
    /// How many paths each has that no other one has.
    pub private: u32,
    /// Ranks that are late, each with the path on which it is.
    pub late: Vec<(u32, u32)>,
    /// At how many addresses a function is sampled. With 1 there is one address for each function
    /// in all, which also calls others.
    pub addresses: u32,
}

impl Job {
    /// Samples of a rank on a common path.
    #[must_use]
    pub fn kernel(&self, rank: u32, path: u32) -> u64 {
        let noise = rank.wrapping_mul(2_654_435_761).wrapping_add(path.wrapping_mul(40_503)) >> 9;
        let late = if self.late.contains(&(rank, path)) { LATE } else { 0 };
        50 + u64::from(noise % 5) + late
    }

    /// Samples of a rank on each of its private paths.
    #[must_use]
    pub fn report(&self, rank: u32) -> u64 {
        1 + u64::from(rank % 3)
    }

    /// Samples of a rank in which it does not wait.
    #[must_use]
    pub fn busy(&self, rank: u32) -> u64 {
        let kernels: u64 = (0..self.common).map(|path| self.kernel(rank, path)).sum();
        kernels + u64::from(self.private) * self.report(rank)
    }

    /// Samples of a rank in `MPI_Barrier`, if the busiest one has so many.
    #[must_use]
    pub fn wait(&self, rank: u32, busiest: u64) -> u64 {
        busiest - self.busy(rank)
    }

    /// Samples of the busiest rank.
    #[must_use]
    pub fn busiest(&self) -> u64 {
        (0..self.ranks).map(|rank| self.busy(rank)).max().unwrap_or(0)
    }

    /// The profile of a rank, recorded for itself.
    #[must_use]
    pub fn rank(&self, rank: u32, busiest: u64) -> Profile {
        // Not in the order of the ranks.
        let mut made = Made::new(u64::from(rank.wrapping_mul(7919) % 1009));
        self.add_rank(&mut made, rank, busiest);
        made.profile
    }

    /// The profile of all ranks, recorded together.
    #[must_use]
    pub fn together(&self) -> Profile {
        let busiest = self.busiest();
        let mut made = Made::new(0);
        (0..self.ranks).for_each(|rank| self.add_rank(&mut made, rank, busiest));
        made.profile
    }

    fn add_rank(&self, made: &mut Made, rank: u32, busiest: u64) {
        made.begin_rank(rank);
        let root = made.begin_thread();
        if self.addresses > 1 {
            self.add_sites(made, root, rank, busiest);
            return;
        }
        let main = made.node(root, 0x1000, "main", 0);
        let mut step = main;
        for path in 0..self.common {
            if path % KERNELS == 0 {
                let number = u64::from(path / KERNELS);
                step = made.node(main, 0x2000 + number, &format!("step_{number}"), 0);
            }
            let offset = 0x10_0000 + u64::from(path);
            made.node(step, offset, &format!("kernel_{path}"), self.kernel(rank, path));
        }
        let report = made.node(main, 0x1001, "report", 0);
        for number in 0..self.private {
            let offset = 0x1000_0000 + u64::from(rank) * 0x1_0000 + u64::from(number);
            made.node(report, offset, &format!("report_{rank}_{number}"), self.report(rank));
        }
        made.node(main, 0x1002, "MPI_Barrier", self.wait(rank, busiest));
        made.end_thread(1000 + rank, "solver");
        let root = made.begin_thread();
        made.node(root, 0x1003, "pool", POOL);
        made.end_thread(100_000 + rank, &format!("worker-{rank}"));
    }

    /// The same with several addresses for each function.
    fn add_sites(&self, made: &mut Made, root: u32, rank: u32, busiest: u64) {
        // Functions are a page apart; calls are behind the addresses that are sampled.
        let site = |function: u64, number: u64| (function << 12) + 0x800 + number;
        let leaves = |made: &mut Made, above: u32, function: u64, name: &str, samples: u64| {
            for (number, part) in (0..).zip(parts(samples, self.addresses, rank ^ above)) {
                if part > 0 {
                    made.node(above, (function << 12) + number, name, part);
                }
            }
        };
        for step in 0..self.common.div_ceil(KERNELS) {
            let call = made.node(root, site(1, step.into()), "main", 0);
            let name = format!("step_{step}");
            for path in step * KERNELS..self.common.min((step + 1) * KERNELS) {
                let halves = parts(self.kernel(rank, path), 1 + path % 2, rank);
                for (half, samples) in (0..).zip(halves) {
                    let site = site(0x10 + u64::from(step), u64::from(path % KERNELS) * 2 + half);
                    let call = made.node(call, site, &name, 0);
                    let kernel = 0x1000 + u64::from(path);
                    leaves(made, call, kernel, &format!("kernel_{path}"), samples);
                }
            }
        }
        let call = made.node(root, site(1, 0x100), "main", 0);
        for number in 0..self.private {
            let call = made.node(call, site(2, number.into()), "report", 0);
            let function = 0x10_0000 + u64::from(rank) * 0x100 + u64::from(number);
            leaves(made, call, function, &format!("report_{rank}_{number}"), self.report(rank));
        }
        let call = made.node(root, site(1, 0x101), "main", 0);
        leaves(made, call, 3, "MPI_Barrier", self.wait(rank, busiest));
        made.end_thread(1000 + rank, "solver");
        let root = made.begin_thread();
        leaves(made, root, 4, "pool", POOL);
        made.end_thread(100_000 + rank, &format!("worker-{rank}"));
    }
}

/// Samples in so many parts, which differ by chance.
fn parts(samples: u64, count: u32, seed: u32) -> Vec<u64> {
    let mut rest = samples;
    let part = |number: u32| {
        let left = u64::from(count - number);
        let noise = seed.wrapping_mul(2_654_435_761).wrapping_add(number.wrapping_mul(40_503)) >> 9;
        let part = match left {
            1 => rest,
            _ => (rest * (80 + u64::from(noise % 41)) / (100 * left)).min(rest),
        };
        rest -= part;
        part
    };
    (0..count).map(part).collect()
}

/// The profile of some ranks while it is made.
struct Made {
    profile: Profile,
    /// The first node of the present thread.
    first: u32,
    /// The frame of each address.
    frames: HashMap<u64, FrameId>,
    functions: HashMap<String, FunctionId>,
}

impl Made {
    fn new(start_ns: u64) -> Self {
        let mut profile = Profile {
            run: RunInfo {
                command: vec![b"./solver".to_vec()],
                start_unix_ns: 1_700_000_000_000_000_000 + start_ns,
                duration_ns: 2_000_000_000,
                cpu_ns: 1_000_000_000,
                exit: Exit::Status(0),
                trampoline: true,
                csprof_version: "0.1.0".into(),
                ..RunInfo::default()
            },
            metric: Metric { source: "cputime".into(), unit: "ns".into(), period: 1_000_000 },
            strings: vec!["/opt/solver".into()],
            modules: vec![Module { build_id: vec![7; 20], ..Module::default() }],
            frames: vec![Frame { kind: FrameKind::Root, module: None, offset: 0 }],
            ..Profile::default()
        };
        profile.sites.first = vec![0, 0];
        Self { profile, first: 0, frames: HashMap::new(), functions: HashMap::new() }
    }

    fn begin_rank(&mut self, rank: u32) {
        let profile = &mut self.profile;
        let process = ProcessId::from_index(profile.processes.len());
        if process.index() == 0 {
            profile.run.host = format!("node{}", rank / 4);
        }
        profile.processes.push(Process {
            pid: 1000 + rank,
            rank: Some(rank),
            command: profile.run.command.clone(),
            exit: Exit::Status(0),
            start_ns: 1,
            end_ns: 1_900_000_000,
            ..Process::default()
        });
        profile.epochs.push(Epoch { process, ..Epoch::default() });
    }

    /// Begins a thread of the last rank, and returns the root of its tree.
    fn begin_thread(&mut self) -> u32 {
        self.first = self.profile.nodes.len() as u32;
        self.profile.nodes.push(self.first, FrameId(0), 0, 0)
    }

    /// Adds a node, whose function may be new.
    fn node(&mut self, parent: u32, offset: u64, name: &str, samples: u64) -> u32 {
        let Profile { strings, functions, sites, frames, nodes, .. } = &mut self.profile;
        let frame = *self.frames.entry(offset).or_insert_with(|| {
            let function = *self.functions.entry(name.to_owned()).or_insert_with(|| {
                let name_id = StringId::from_index(strings.len());
                strings.push(name.into());
                let function = Function { name: name_id, module: ModuleId(0), file: None, line: 0 };
                functions.push(function);
                FunctionId::from_index(functions.len() - 1)
            });
            sites.function.push(function);
            sites.file.push(None);
            sites.line.push(0);
            sites.first.push(sites.function.len() as u32);
            frames.push(Frame { kind: FrameKind::Call, module: Some(ModuleId(0)), offset });
            FrameId::from_index(frames.len() - 1)
        });
        nodes.push(parent, frame, samples, samples / 2)
    }

    /// Ends a thread, which has the nodes since it began.
    fn end_thread(&mut self, tid: u32, name: &str) {
        let Self { profile, first, .. } = self;
        let nodes = &profile.nodes;
        let recorded = nodes.samples[*first as usize..].iter().sum();
        let thread = ThreadId::from_index(profile.threads.len());
        profile.threads.push(Thread {
            process: ProcessId::from_index(profile.processes.len() - 1),
            tid,
            name: name.into(),
            signals: recorded,
            delivered: recorded + 1,
            recorded,
            losses: vec![1],
            start_ns: 2,
            end_ns: 1_800_000_000,
            ..Thread::default()
        });
        let node_count = nodes.len() as u32 - *first;
        let epoch = EpochId::from_index(profile.epochs.len() - 1);
        profile.trees.push(Tree { thread, epoch, first_node: *first, node_count });
    }
}
