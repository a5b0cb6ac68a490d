//! From the saved profile to columns: machine frames become source-level frames.
//!
//! A machine node whose address lies in inlined code becomes a chain of nodes, the function whose
//! code it is first, then what was inlined into it. The edge count stays on the first, which is
//! the one that was called and returns; samples go to the last, which was executing. Roots of the
//! saved trees become node 0. Frames of csprof's own that only pass a call on are left out
//! ([`passage`](super::passage)).

use std::iter::Peekable;
use std::vec::IntoIter;

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::ids::{FrameId, FunctionId, ModuleId, StringId};
use csprof_format::loss::PartialReason;
use csprof_format::profile as saved;

use super::intern::Interner;
use super::passage::{Passages, is_behind};
use super::{Counts, Frame, FrameKind, FrameRef, Function, Nodes, Profile, Stream};

/// Inlined frames kept for one address. Compilers stop far below (GCC's
/// `max-inline-recursive-depth` is 8, LLVM inlines chains of a few dozen); the limit keeps a
/// made-up file from growing in memory.
const MAX_FRAMES_PER_ADDRESS: usize = 512;

/// Calls of the collector's, one below the other, that are left out. It has a few; what hangs below
/// more of them has them come back each time, and a made-up file could have that take for ever.
const MAX_PASSED: u8 = 16;

impl Profile {
    /// Loads a saved profile.
    ///
    /// Takes what the reader has validated: parents before children, ids within their tables.
    #[must_use]
    pub fn from_saved(mut saved: saved::Profile) -> Self {
        let trees = std::mem::take(&mut saved.trees);
        let machine = std::mem::take(&mut saved.nodes);
        let passages = Passages::of(&saved);
        let further = saved.further.iter_mut();
        let further = further.map(|metric| std::mem::take(&mut metric.samples).into_iter());
        let further = further.map(Iterator::peekable).collect();
        let mut forest = Forest::new(machine, further, passages, Expansion::of(&mut saved));
        let mut streams = Vec::with_capacity(trees.len());
        for tree in &trees {
            let first = node_count(&forest.nodes);
            let range = tree.first_node as usize
                ..(tree.first_node as usize + tree.node_count as usize).min(forest.machine.len());
            range.for_each(|node| forest.add(node));
            streams.push(Stream {
                process: saved
                    .threads
                    .get(tree.thread.index())
                    .map_or_else(Default::default, |thread| thread.process),
                thread: tree.thread,
                epoch: tree.epoch,
                nodes: first..node_count(&forest.nodes),
            });
        }
        let Forest { nodes, interner, .. } = forest;
        Self {
            info: saved,
            functions: interner.functions,
            frames: interner.frames,
            nodes,
            streams,
            comparison: None,
        }
    }
}

/// The source-level nodes, while they are made of the machine's.
struct Forest {
    machine: saved::Nodes,
    /// Samples of each further metric on the machine nodes that are still to be added.
    further: Vec<Peekable<IntoIter<(u32, u64)>>>,
    passages: Passages,
    interner: Interner,
    frames: FrameLists,
    nodes: Nodes,
    /// The node under which the children of each machine node hang.
    innermost: Vec<u32>,
    /// How many machine nodes, up to this one, only pass a call on; at most [`MAX_PASSED`].
    passed: Vec<u8>,
}

impl Forest {
    fn new(
        machine: saved::Nodes,
        further: Vec<Peekable<IntoIter<(u32, u64)>>>,
        passages: Passages,
        expansion: Expansion,
    ) -> Self {
        let mut nodes = Nodes::default();
        nodes.further.resize(further.len(), Counts::default());
        nodes.push(0, FrameRef::ROOT, 0, 0);
        Self {
            further,
            innermost: vec![0; machine.len()],
            passed: vec![0; machine.len()],
            machine,
            passages,
            interner: expansion.interner,
            frames: expansion.frames,
            nodes,
        }
    }

    /// Adds what a machine node stands for. Its parent was added before.
    fn add(&mut self, node: usize) {
        let machine = &self.machine;
        let (parent, samples) = (machine.parent[node] as usize, machine.samples[node]);
        let (frame, mut edges) = (machine.frame[node], machine.edges[node]);
        if parent == node {
            if samples > 0 {
                let frame = self.interner.named("[no path]".into(), None, FrameKind::Partial);
                let at = self.nodes.push(0, frame, samples, 0);
                self.share(node, at);
            }
            return;
        }
        let mut above = self.innermost[parent];
        let passed = self.passed[parent];
        if self.passages.may_be(frame) && passed < MAX_PASSED && (edges, samples) == (0, 0) {
            (self.innermost[node], self.passed[node]) = (above, passed + 1);
            return;
        }
        if passed > 0 {
            above = self.work_behind(parent, frame, above);
        }
        for &frame in self.frames.of(frame) {
            above = self.nodes.push(above, frame, 0, edges);
            edges = 0;
        }
        self.nodes.samples.set(above as usize, samples);
        self.share(node, above);
        self.innermost[node] = above;
    }

    /// Gives a node that has the samples of a machine node what further metrics have of them.
    fn share(&mut self, machine: usize, node: u32) {
        // Of a made-up file, some of the node's samples may have been left out.
        let mut rest = self.nodes.samples.at(node as usize);
        for (left, column) in self.further.iter_mut().zip(&mut self.nodes.further) {
            if let Some((_, samples)) = left.next_if(|&(at, _)| at as usize == machine) {
                let samples = samples.min(rest);
                column.set(node as usize, samples);
                rest -= samples;
            }
        }
    }

    /// Where a frame hangs that was called through machine nodes that were left out, down to
    /// `parent`: below `above`, if they passed its call on. Else it is work of the collector's own,
    /// and they come back for it.
    fn work_behind(&mut self, parent: usize, frame: FrameId, mut above: u32) -> u32 {
        let mut chain = vec![parent];
        let mut node = parent;
        while self.passed[node] > 1 {
            node = self.machine.parent[node] as usize;
            chain.push(node);
        }
        let (outermost, called) = (self.machine.frame[node], self.frames.of(frame)[0]);
        let wrapper = self.interner.name(self.frames.of(outermost)[0]);
        if !self.passages.is_own(frame) && is_behind(wrapper, self.interner.name(called)) {
            return above;
        }
        for node in chain.into_iter().rev() {
            for &frame in self.frames.of(self.machine.frame[node]) {
                above = self.nodes.push(above, frame, 0, 0);
            }
        }
        above
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
        let nameless: Vec<bool> = functions.iter().map(|f| is_nameless(saved, f)).collect();
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
                let kind = match row == outermost {
                    true if nameless[function as usize] => FrameKind::Unknown,
                    true => FrameKind::Call,
                    false => FrameKind::Inline,
                };
                frames.push(interner.frame(Frame {
                    function: numbers[function as usize],
                    kind,
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

/// Whether a function is called by its place in its module, `libfoo.so.1+0x4a30`: the symbols of
/// stripped files say where functions begin, and nothing more.
fn is_nameless(saved: &saved::Profile, function: &saved::Function) -> bool {
    let place = text(saved, function.name)
        .strip_prefix(module_name(saved, function.module))
        .and_then(|rest| rest.strip_prefix("+0x"));
    place.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Last component of a module's path.
fn module_name(saved: &saved::Profile, module: ModuleId) -> &str {
    let path = saved.modules.get(module.index()).map_or("", |module| text(saved, module.path));
    path.rsplit('/').next().unwrap_or(path)
}

fn text(saved: &saved::Profile, id: StringId) -> &str {
    saved.strings.get(id.index()).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use csprof_format::ids::{EpochId, ProcessId, ThreadId};

    use super::super::{FunctionRef, to_outline};
    use super::*;

    /// A saved profile with the functions `main`, `solve` and `dot` in `/opt/app`.
    fn saved() -> saved::Profile {
        let strings = ["/opt/app", "main", "solve", "dot", "app.c"].map(str::to_owned).to_vec();
        let function = |name, line| saved::Function {
            name: StringId(name),
            module: ModuleId(0),
            file: Some(StringId(4)),
            line,
        };
        let mut profile = saved::Profile {
            strings,
            processes: vec![saved::Process::default()],
            threads: vec![saved::Thread {
                process: ProcessId(0),
                tid: 7,
                ..saved::Thread::default()
            }],
            epochs: vec![saved::Epoch::default()],
            modules: vec![saved::Module { path: StringId(0), ..saved::Module::default() }],
            functions: vec![function(1, 10), function(2, 20), function(3, 30)],
            ..saved::Profile::default()
        };
        profile.sites.first.push(0);
        profile
    }

    /// Adds a frame in `/opt/app` with the functions and lines it stands for, outermost first.
    fn add_frame(profile: &mut saved::Profile, offset: u64, rows: &[(u32, u32)]) -> FrameId {
        profile.frames.push(saved::Frame {
            kind: SavedKind::Call,
            module: Some(ModuleId(0)),
            offset,
        });
        for &(function, line) in rows {
            profile.sites.function.push(FunctionId(function));
            profile.sites.file.push(Some(StringId(4)));
            profile.sites.line.push(line);
        }
        profile.sites.first.push(u32::try_from(profile.sites.function.len()).unwrap());
        FrameId::from_index(profile.frames.len() - 1)
    }

    fn add_other(profile: &mut saved::Profile, kind: SavedKind, offset: u64) -> FrameId {
        profile.frames.push(saved::Frame { kind, module: None, offset });
        profile.sites.first.push(u32::try_from(profile.sites.function.len()).unwrap());
        FrameId::from_index(profile.frames.len() - 1)
    }

    fn add_tree(profile: &mut saved::Profile, first_node: u32) {
        let count = u32::try_from(profile.nodes.len()).unwrap() - first_node;
        let (thread, epoch) = (ThreadId(0), EpochId(0));
        profile.trees.push(saved::Tree { thread, epoch, first_node, node_count: count });
    }

    #[test]
    fn an_address_in_inlined_code_becomes_a_chain() {
        let mut profile = saved();
        let root = add_other(&mut profile, SavedKind::Root, 0);
        let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
        // solve, with dot inlined into it; solve itself; dot on its own, below the first.
        let inlined = add_frame(&mut profile, 0x20, &[(1, 21), (2, 31)]);
        let plain = add_frame(&mut profile, 0x28, &[(1, 22)]);
        let called = add_frame(&mut profile, 0x30, &[(2, 32)]);
        profile.nodes.push(0, root, 0, 0);
        profile.nodes.push(0, main, 1, 0);
        profile.nodes.push(1, inlined, 4, 3);
        profile.nodes.push(2, called, 2, 5);
        profile.nodes.push(1, plain, 8, 2);
        add_tree(&mut profile, 0);
        let loaded = Profile::from_saved(profile);
        assert_eq!(
            to_outline(&loaded),
            "\
# thread=7 epoch=0
main 1 module:/opt/app at:app.c:11
  solve e=3 module:/opt/app at:app.c:21
    dot 4 inline module:/opt/app at:app.c:31
      dot 2 e=5 module:/opt/app at:app.c:32
  solve 8 e=2 module:/opt/app at:app.c:22
"
        );
        assert_eq!(loaded.function_of(2), loaded.function_of(5), "solve is one function");
        assert_eq!(loaded.functions[loaded.function_of(2).index()].line, 20);
        assert_eq!(loaded.function_of(0), FunctionRef::ROOT);
        assert_eq!(loaded.total(), 15);
        assert_eq!(loaded.nodes.inclusive(), [15, 15, 6, 6, 2, 8]);
        assert!(loaded.info.nodes.is_empty() && loaded.info.trees.is_empty());
    }

    #[test]
    fn what_has_no_name_says_where_it_is() {
        let mut profile = saved();
        let root = add_other(&mut profile, SavedKind::Root, 0);
        let partial = add_other(&mut profile, SavedKind::Partial, 1);
        let strange = add_other(&mut profile, SavedKind::Partial, 99);
        let unnamed = add_frame(&mut profile, 0x1234, &[]);
        let outside = add_other(&mut profile, SavedKind::Leaf, 0x7f00);
        profile.nodes.push(0, root, 6, 0);
        profile.nodes.push(0, partial, 0, 0);
        profile.nodes.push(1, unnamed, 1, 2);
        profile.nodes.push(0, strange, 0, 0);
        profile.nodes.push(3, outside, 3, 0);
        add_tree(&mut profile, 0);
        assert_eq!(
            to_outline(&Profile::from_saved(profile)),
            "\
# thread=7 epoch=0
\"[no path]\" 6 partial
\"[partial: no-cfi]\" partial
  app+0x1234 1 e=2 unknown module:/opt/app
\"[partial: unknown reason]\" partial
  0x7f00 3 unknown
"
        );
    }

    /// main calls dlopen: csprof's, which calls the C library's, and afterwards looks what is new.
    #[test]
    fn what_only_passes_a_call_on_is_left_out() {
        let mut profile = saved();
        let names = ["/run/libcsprof_collector-1f.so", "dlopen", "look", "dl_iterate_phdr"];
        profile.strings.extend(names.map(str::to_owned));
        profile.modules.push(saved::Module { path: StringId(5), ..saved::Module::default() });
        let function = |name, module| saved::Function {
            name: StringId(name),
            module: ModuleId(module),
            ..saved::Function::default()
        };
        let (own, of_libc) = (1, 0);
        let (wrapper, real, look, visit) = (3, 4, 5, 6);
        profile.functions.extend([
            function(6, own),
            function(6, of_libc),
            function(7, own),
            function(8, of_libc),
        ]);
        let root = add_other(&mut profile, SavedKind::Root, 0);
        let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
        let mut add = |kind, function, module| {
            let frame = add_frame(&mut profile, 0x40, &[(function, 0)]);
            profile.frames[frame.index()].kind = kind;
            profile.frames[frame.index()].module = Some(ModuleId(module));
            frame
        };
        let wrapper_call = add(SavedKind::Call, wrapper, own);
        let wrapper_leaf = add(SavedKind::Leaf, wrapper, own);
        let real_call = add(SavedKind::Call, real, of_libc);
        let look_call = add(SavedKind::Call, look, own);
        let visit_leaf = add(SavedKind::Leaf, visit, of_libc);
        let nodes = [
            (0, root, 0, 0),
            (0, main, 0, 0),
            (1, wrapper_call, 0, 0),
            (2, real_call, 0, 2),
            (3, visit_leaf, 5, 0),
            (2, look_call, 0, 0),
            (5, visit_leaf, 3, 0),
            (1, wrapper_leaf, 1, 0),
        ];
        for (parent, frame, samples, edges) in nodes {
            profile.nodes.push(parent, frame, samples, edges);
        }
        add_tree(&mut profile, 0);
        let outline = to_outline(&Profile::from_saved(profile));
        let bare: Vec<&str> =
            outline.lines().map(|line| line.split(" module:").next().unwrap()).collect();
        assert_eq!(
            bare,
            [
                "# thread=7 epoch=0",
                "main",
                "  dlopen e=2",
                "    dl_iterate_phdr 5",
                "  dlopen",
                "    look",
                "      dl_iterate_phdr 3",
                "  dlopen 1",
            ]
        );
    }

    #[test]
    fn a_made_up_tower_of_calls_that_pass_on_does_not_come_back_for_each_node() {
        let mut profile = saved();
        profile.strings.push("/run/libcsprof_collector-1f.so".into());
        profile.modules.push(saved::Module { path: StringId(5), ..saved::Module::default() });
        let root = add_other(&mut profile, SavedKind::Root, 0);
        let own = add_frame(&mut profile, 0x10, &[(0, 0)]);
        profile.frames[own.index()].module = Some(ModuleId(1));
        let main = add_frame(&mut profile, 0x20, &[(0, 0)]);
        let (tower, leaves) = (1000_u32, 1000_u32);
        profile.nodes.push(0, root, 0, 0);
        for above in 0..tower {
            profile.nodes.push(above, own, 0, 0);
        }
        for _ in 0..leaves {
            profile.nodes.push(tower, main, 1, 0);
        }
        add_tree(&mut profile, 0);
        let loaded = Profile::from_saved(profile);
        assert_eq!(loaded.total(), u64::from(leaves));
        let (tower, leaves) = (tower as usize, leaves as usize);
        assert!(loaded.nodes.len() <= 2 * tower + leaves * (1 + usize::from(MAX_PASSED)));
    }

    #[test]
    fn trees_become_consecutive_streams() {
        let mut profile = saved();
        let root = add_other(&mut profile, SavedKind::Root, 0);
        let main = add_frame(&mut profile, 0x10, &[(0, 11)]);
        for first in [0, 2] {
            profile.nodes.push(first, root, 0, 0);
            profile.nodes.push(first, main, 1, 0);
            add_tree(&mut profile, first);
        }
        profile.nodes.push(4, root, 0, 0);
        add_tree(&mut profile, 4);
        let loaded = Profile::from_saved(profile);
        let ranges: Vec<_> = loaded.streams.iter().map(|stream| stream.nodes.clone()).collect();
        assert_eq!(ranges, [1..2, 2..3, 3..3]);
        assert_eq!(loaded.nodes.parent, [0, 0, 0]);
    }

    #[test]
    fn endless_inlining_is_cut_in_the_middle() {
        let mut profile = saved();
        let root = add_other(&mut profile, SavedKind::Root, 0);
        let rows: Vec<(u32, u32)> = (0..2000).map(|line| (line % 3, line)).collect();
        let deep = add_frame(&mut profile, 0x10, &rows);
        profile.nodes.push(0, root, 0, 0);
        profile.nodes.push(0, deep, 5, 1);
        add_tree(&mut profile, 0);
        let loaded = Profile::from_saved(profile);
        assert_eq!(loaded.nodes.len(), 1 + 1 + MAX_FRAMES_PER_ADDRESS);
        let line = |node: usize| loaded.frames[loaded.nodes.frame[node].index()].line;
        assert_eq!((line(1), line(2), line(loaded.nodes.len() - 1)), (0, 1488, 1999));
        assert_eq!((loaded.nodes.edges.at(1), loaded.nodes.samples.iter().last()), (1, Some(5)));
    }
}
