//! From the saved profile to columns: machine frames become source-level frames.
//!
//! A machine node whose address lies in inlined code becomes a chain of nodes, the function whose
//! code it is first, then what was inlined into it. The edge count stays on the first, which is
//! the one that was called and returns; samples go to the last, which was executing. Roots of the
//! saved trees become node 0.

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::ids::{FrameId, FunctionId, ModuleId, StringId};
use csprof_format::loss::PartialReason;
use csprof_format::profile as saved;

use super::intern::Interner;
use super::{Frame, FrameKind, FrameRef, Function, Nodes, Profile, Stream};

/// Inlined frames kept for one address. Compilers stop far below (GCC's `max-inline-recursive-depth`
/// is 8, LLVM inlines chains of a few dozen); the limit keeps a made-up file from growing in memory.
const MAX_FRAMES_PER_ADDRESS: usize = 512;

impl Profile {
    /// Loads a saved profile.
    ///
    /// Takes what the reader has validated: parents before children, ids within their tables.
    #[must_use]
    pub fn from_saved(mut saved: saved::Profile) -> Self {
        let trees = std::mem::take(&mut saved.trees);
        let machine = std::mem::take(&mut saved.nodes);
        let expansion = Expansion::of(&mut saved);

        let mut nodes = Nodes::default();
        nodes.push(0, FrameRef::ROOT, 0, 0);
        let mut interner = expansion.interner;
        // The node under which the children of each machine node hang.
        let mut innermost = vec![0_u32; machine.len()];
        let mut streams = Vec::with_capacity(trees.len());
        for tree in &trees {
            let first = node_count(&nodes);
            let range = tree.first_node as usize
                ..(tree.first_node as usize + tree.node_count as usize).min(machine.len());
            for node in range {
                let parent = machine.parent[node] as usize;
                if parent == node {
                    if machine.samples[node] > 0 {
                        let frame = interner.named("[no path]".into(), None, FrameKind::Partial);
                        nodes.push(0, frame, machine.samples[node], 0);
                    }
                    continue;
                }
                let mut above = innermost[parent];
                let mut edges = machine.edges[node];
                let frames = expansion.frames.of(machine.frame[node]);
                for &frame in frames {
                    above = nodes.push(above, frame, 0, edges);
                    edges = 0;
                }
                nodes.samples[above as usize] = machine.samples[node];
                innermost[node] = above;
            }
            streams.push(Stream {
                process: saved
                    .threads
                    .get(tree.thread.index())
                    .map_or_else(Default::default, |thread| thread.process),
                thread: tree.thread,
                epoch: tree.epoch,
                nodes: first..node_count(&nodes),
            });
        }
        Self { info: saved, functions: interner.functions, frames: interner.frames, nodes, streams }
    }
}

fn node_count(nodes: &Nodes) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}

/// What every machine frame stands for.
struct Expansion {
    interner: Interner,
    frames: FrameLists,
}

/// The source-level frames of each machine frame, outermost first; at least one each.
struct FrameLists {
    first: Vec<u32>,
    frames: Vec<FrameRef>,
}

impl FrameLists {
    fn of(&self, frame: FrameId) -> &[FrameRef] {
        let index = frame.index();
        &self.frames[self.first[index] as usize..self.first[index + 1] as usize]
    }
}

impl Expansion {
    /// Takes the frame, function and site tables out of `saved`.
    fn of(saved: &mut saved::Profile) -> Self {
        let machine = std::mem::take(&mut saved.frames);
        let functions = std::mem::take(&mut saved.functions);
        let sites = std::mem::take(&mut saved.sites);
        let mut interner = Interner::new();
        let numbers: Vec<_> = functions
            .iter()
            .map(|function| {
                interner.function(Function {
                    name: text(saved, function.name).to_owned(),
                    module: Some(function.module),
                    file: function.file,
                    line: function.line,
                })
            })
            .collect();
        let mut first = Vec::with_capacity(machine.len() + 1);
        let mut frames = Vec::with_capacity(machine.len());
        for (index, frame) in machine.iter().enumerate() {
            first.push(u32::try_from(frames.len()).unwrap_or(u32::MAX));
            let rows = sites.rows(FrameId::from_index(index));
            if rows.is_empty() {
                let (name, kind) = unnamed(saved, frame);
                frames.push(interner.named(name, frame.module, kind));
                continue;
            }
            let outermost = rows.start;
            // Beyond the limit the middle is left out: the caller and the innermost frames stay.
            let inner = (outermost + 1).max(rows.end.saturating_sub(MAX_FRAMES_PER_ADDRESS));
            for row in std::iter::once(outermost).chain(inner..rows.end) {
                let FunctionId(function) = sites.function[row];
                frames.push(interner.frame(Frame {
                    function: numbers[function as usize],
                    kind: if row == outermost { FrameKind::Call } else { FrameKind::Inline },
                    file: sites.file[row],
                    line: sites.line[row],
                }));
            }
        }
        first.push(u32::try_from(frames.len()).unwrap_or(u32::MAX));
        Self { interner, frames: FrameLists { first, frames } }
    }
}

/// What stands for a frame without a name.
fn unnamed(saved: &saved::Profile, frame: &saved::Frame) -> (String, FrameKind) {
    match (frame.kind, frame.module) {
        (SavedKind::Partial, _) => {
            let reason = usize::try_from(frame.offset).ok().and_then(PartialReason::from_index);
            let key = reason.map_or("unknown reason", PartialReason::key);
            (format!("[partial: {key}]"), FrameKind::Partial)
        }
        (_, Some(module)) => {
            (format!("{}+{:#x}", module_name(saved, module), frame.offset), FrameKind::Unknown)
        }
        (_, None) => (format!("{:#x}", frame.offset), FrameKind::Unknown),
    }
}

/// Last component of a module's path.
fn module_name(saved: &saved::Profile, module: ModuleId) -> &str {
    let path = saved.modules.get(module.index()).map_or("", |module| text(saved, module.path));
    path.rsplit('/').next().unwrap_or(path)
}

fn text(saved: &saved::Profile, id: StringId) -> &str {
    saved.strings.get(id.index()).map_or("", String::as_str)
}
