//! A large profile that is made up, always the same.

use csprof_format::address::FrameKind;
use csprof_format::ids::{EpochId, FrameId, FunctionId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;

/// Its functions.
pub(crate) const FUNCTIONS: u32 = 165_000;
const THREADS: u32 = 4;

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(limit)).unwrap_or(0)
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

/// A profile of so many nodes, inlined frames included: two hundred thousand frames of functions with
/// C++ names, four threads, stacks of up to sixty frames with recursion.
pub(crate) fn large_profile(nodes: u32) -> saved::Profile {
    let mut numbers = Numbers(7);
    let mut profile = saved::Profile {
        processes: vec![saved::Process::default()],
        epochs: vec![saved::Epoch::default()],
        ..saved::Profile::default()
    };
    for module in 0..50 {
        profile.strings.push(format!("/usr/lib/libpart{module}.so"));
        profile.modules.push(saved::Module { path: StringId(module), ..saved::Module::default() });
    }
    profile.sites.first.push(0);
    for function in 0..FUNCTIONS {
        let module = ModuleId(function % 50);
        profile.strings.push(name(function));
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
            profile.sites.function.push(FunctionId((function + row * 7) % FUNCTIONS));
            profile.sites.file.push(None);
            profile.sites.line.push(function);
        }
        let rows = u32::try_from(profile.sites.function.len()).unwrap_or(u32::MAX);
        profile.sites.first.push(rows);
    }
    let root = FrameId(FUNCTIONS);
    profile.frames.push(saved::Frame { kind: FrameKind::Root, module: None, offset: 0 });
    profile.sites.first.push(profile.sites.first[FUNCTIONS as usize]);
    for thread in 0..THREADS {
        profile.threads.push(saved::Thread {
            process: ProcessId(0),
            tid: thread,
            ..Default::default()
        });
        let first = profile.nodes.push(u32::try_from(profile.nodes.len()).unwrap_or(0), root, 0, 0);
        let mut path = vec![first];
        let mut made = 0;
        while made < nodes / THREADS {
            // Deeper by one, or back up by some, as depth-first order has it.
            for _ in 0..numbers.below(5).saturating_sub(2) {
                if path.len() > 1 {
                    path.pop();
                }
            }
            path.truncate(60);
            let parent = path[path.len() - 1];
            // Few functions call most of the others.
            let limit = 1 + numbers.below(FUNCTIONS);
            let frame = FrameId(numbers.below(limit));
            let samples = u64::from(numbers.below(4));
            path.push(profile.nodes.push(parent, frame, samples, samples / 2));
            let first = &profile.sites.first[frame.index()..];
            made += first[1] - first[0];
        }
        let end = u32::try_from(profile.nodes.len()).unwrap_or(u32::MAX);
        profile.trees.push(saved::Tree {
            thread: ThreadId(thread),
            epoch: EpochId(0),
            first_node: first,
            node_count: end - first,
        });
    }
    profile
}
