//! Large profiles that are made up, always the same.

use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;

/// What the call paths of a profile are like.
pub(crate) struct Shape {
    /// Functions; one in five has another one inlined.
    pub(crate) functions: u32,
    pub(crate) threads: u32,
    /// Frames of the deepest paths.
    pub(crate) depth: usize,
    /// One in so many nodes hangs below the second node of its thread; 0: none.
    pub(crate) fan: u32,
    /// Whether all threads go nearly the same ways.
    pub(crate) alike: bool,
    /// Metrics among which the samples are shared out, three at most.
    pub(crate) metrics: usize,
}

/// Sources of the metrics.
const SOURCES: [&str; 3] = ["cputime", "realtime", "task-clock"];

/// Two hundred thousand frames of functions with C++ names, four threads, stacks of up to sixty
/// frames with recursion.
pub(crate) const MIXED: Shape =
    Shape { functions: 165_000, threads: 4, depth: 60, fan: 0, alike: false, metrics: 1 };

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(limit)).unwrap_or(0)
    }
}

impl Shape {
    /// A profile of about so many nodes, inlined frames included.
    pub(crate) fn profile(&self, nodes: u32) -> saved::Profile {
        let mut profile = saved::Profile {
            processes: vec![saved::Process::default()],
            epochs: vec![saved::Epoch::default()],
            ..saved::Profile::default()
        };
        self.add_frames(&mut profile);
        let mut numbers = Numbers(7);
        for thread in 0..self.threads {
            profile.threads.push(saved::Thread {
                process: ProcessId(0),
                tid: thread,
                ..Default::default()
            });
            if self.alike {
                numbers = Numbers(7);
            }
            let first = profile.nodes.len();
            self.add_paths(&mut profile, nodes / self.threads, &mut numbers);
            let number = |node| u32::try_from(node).unwrap_or(u32::MAX);
            profile.trees.push(saved::Tree {
                thread: ThreadId(thread),
                epoch: EpochId(0),
                first_node: number(first),
                node_count: number(profile.nodes.len() - first),
            });
        }
        let metric = |number: usize| saved::Metric {
            source: SOURCES[number].to_owned(),
            unit: "ns".to_owned(),
            period: 5_000_000,
        };
        profile.metric = metric(0);
        profile.further = (1..self.metrics)
            .map(|number| saved::FurtherMetric {
                metric: metric(number),
                threads: vec![saved::ThreadShare::default(); profile.threads.len()],
                samples: self.share(&profile.nodes.samples, number),
            })
            .collect();
        profile
    }

    /// What a further metric has of the samples of each node: all, none, or its part.
    fn share(&self, samples: &[u64], metric: usize) -> Vec<(u32, u64)> {
        let of_node = |(node, &samples): (usize, &u64)| {
            let share = match node % (self.metrics + 1) {
                one if one == metric => samples,
                one if one < self.metrics => 0,
                _ => samples / self.metrics as u64,
            };
            (u32::try_from(node).unwrap_or(u32::MAX), share)
        };
        samples.iter().enumerate().map(of_node).filter(|&(_, share)| share > 0).collect()
    }

    fn add_frames(&self, profile: &mut saved::Profile) {
        for module in 0..50 {
            profile.strings.push(format!("/usr/lib/libpart{module}.so").into());
            let path = StringId(module);
            profile.modules.push(saved::Module { path, ..saved::Module::default() });
        }
        profile.sites.first.push(0);
        for function in 0..self.functions {
            let module = ModuleId(function % 50);
            profile.strings.push(name(function).into());
            profile.functions.push(saved::Function {
                name: StringId(50 + function),
                module,
                file: None,
                line: 0,
            });
            profile.frames.push(saved::Frame {
                kind: FrameKind::Call,
                module: Some(module),
                offset: u64::from(function) * 64,
            });
            // One address in five lies in inlined code.
            for row in 0..=u32::from(function % 5 == 0) {
                profile.sites.function.push(FunctionId((function + row * 7) % self.functions));
                profile.sites.file.push(None);
                profile.sites.line.push(function);
            }
            let rows = u32::try_from(profile.sites.function.len()).unwrap_or(u32::MAX);
            profile.sites.first.push(rows);
        }
        profile.frames.push(saved::Frame { kind: FrameKind::Root, module: None, offset: 0 });
        profile.sites.first.push(profile.sites.first[self.functions as usize]);
    }

    /// The tree of a thread.
    fn add_paths(&self, profile: &mut saved::Profile, nodes: u32, numbers: &mut Numbers) {
        let root = FrameId(self.functions);
        let first = u32::try_from(profile.nodes.len()).unwrap_or(u32::MAX);
        let mut path = vec![profile.nodes.push(first, root, 0, 0)];
        let thread = u32::try_from(profile.threads.len()).unwrap_or(0);
        let mut made = 0;
        while made < nodes {
            // Deeper by one, or back up by some, as depth-first order has it.
            for _ in 0..numbers.below(5).saturating_sub(2) {
                if path.len() > 1 {
                    path.pop();
                }
            }
            path.truncate(self.depth);
            if self.fan > 0 && numbers.below(self.fan) == 0 {
                path.truncate(2);
            }
            let parent = path[path.len() - 1];
            // Few functions call most of the others.
            let limit = 1 + numbers.below(self.functions);
            let mut function = numbers.below(limit);
            if path.len() == 1 {
                // What all threads begin with.
                function = 2;
            } else if self.alike && numbers.below(50) == 0 {
                function = (function + thread) % self.functions;
            }
            let frame = FrameId(function);
            let samples = u64::from(numbers.below(4));
            path.push(profile.nodes.push(parent, frame, samples, samples / 2));
            let first = &profile.sites.first[frame.index()..];
            made += first[1] - first[0];
        }
    }
}

fn name(function: u32) -> String {
    match function % 100 {
        0 => format!("MPI_Function_{function}"),
        1 => format!("memcpy_variant_{function}"),
        2..40 => format!(
            "void app::part{}::Solver<double, {function}>::step_{function}(app::Mesh<double> const&, unsigned long) const",
            function % 37
        ),
        40..60 => format!(
            "std::vector<app::Cell<{function}>, std::allocator<app::Cell<{function}> > >::operator[](unsigned long)"
        ),
        60..80 => format!("<alloc::vec::Vec<cell::Cell{function}> as core::ops::Drop>::drop"),
        _ => format!("plain_c_function_{function}"),
    }
}
