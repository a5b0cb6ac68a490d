//! From the saved profile to columns: machine frames become source-level frames.
//!
//! A machine node whose address lies in inlined code becomes a chain of nodes, the function whose
//! code it is first, then what was inlined into it. The edge count stays on the first, which is
//! the one that was called and returns; samples go to the last, which was executing. Roots of the
//! saved trees become node 0. Functions that left by a tail call stand between the frame that
//! called them and the one that they jumped to. Frames of csprof's own that only pass a call on are
//! left out ([`passage`](super::passage)), and below a handover those from which the thread was
//! started: what comes then was called by the code above.

use std::collections::HashMap;
use std::hint::black_box;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::vec::IntoIter;

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::budget::MAX_INLINED;
use csprof_format::ids::{FrameId, FunctionId, StringId};
use csprof_format::loss::PartialReason;
use csprof_format::profile as saved;

use super::intern::Interner;
use super::model::{address, module_name, text};
use super::passage::{Passages, Starts, is_behind};
use super::shared::Shared;
use super::spreads::SpreadsOfMachine;
use super::{Frame, FrameKind, FrameRef, Function, NodesBuilder, Profile, Stream, Times, pseudo};

/// Most calls of the collector's, one below the other, that are left out. Real paths have a few.
const MAX_PASSED: u8 = 16;

/// Nodes whose frames are fetched together, because each may be anywhere in memory.
const TOGETHER: usize = 32;

/// Nodes from which on a thread is worth what it costs.
pub(crate) const MANY_NODES: usize = 1 << 19;

/// Most left-out calls that are put back for work of the collector's own, besides one for each
/// machine node. In a made-up file, each child of a chain of calls would have the whole chain put
/// back, which the [budget](csprof_format::budget) does not count. Beyond this number, the work
/// hangs under the caller.
const MOST_BACK: usize = 1 << 16;

impl Profile {
    /// Loads a saved profile.
    ///
    /// Relies on the reader's validation: parents before children, ids within their tables.
    #[must_use]
    pub fn from_saved(mut saved: saved::Profile) -> Self {
        let trees = std::mem::take(&mut saved.trees);
        let machine = std::mem::take(&mut saved.nodes);
        let times = std::mem::take(&mut saved.times);
        let mut structure = std::mem::take(&mut saved.structure);
        let passages = Passages::of(&saved);
        let starts = Starts::of(&saved, &machine, &passages);
        let spreads = SpreadsOfMachine::taken(&mut saved, &trees, &machine);
        let further = saved.further.iter_mut();
        let further = further.map(|metric| std::mem::take(&mut metric.samples).into_iter());
        let further = further.map(Iterator::peekable).collect();
        let expansion = Expansion::of(&mut saved, &structure);
        let mut forest = Forest::new(machine, further, (passages, starts), &structure, expansion);
        forest.spreads = spreads;
        forest.holders.resize(if times.is_empty() { 0 } else { forest.machine.len() }, 0);
        let mut streams = Vec::with_capacity(trees.len());
        for tree in &trees {
            let first = node_count(&forest.nodes);
            let range = tree.first_node as usize
                ..(tree.first_node as usize + tree.node_count as usize).min(forest.machine.len());
            forest.add_all(range);
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
        let Forest { nodes, interner, holders, spreads, machine, .. } = forest;
        // The kernel takes long to take much memory back, for which nobody is to wait. Without a
        // thread, it is taken back here.
        if machine.len() >= MANY_NODES {
            let _taken_back = thread::Builder::new().spawn(move || drop(machine));
        }
        let holder = |node: u32| holders.get(node as usize).copied().unwrap_or(0);
        let times = Times::loaded(&saved, &times, holder);
        // Tail calls are nodes now, and the table of functions that they name is empty.
        structure.tail_calls.clear();
        saved.structure = structure;
        Self {
            info: saved.into(),
            functions: interner.functions.into(),
            frames: interner.frames.into(),
            nodes: nodes.finish(),
            streams: streams.into(),
            times: times.into(),
            spreads: spreads.map(SpreadsOfMachine::finish).unwrap_or_default().into(),
            comparison: None,
            derived: Shared::default(),
        }
    }
}

/// The source-level nodes, while they are made of the machine's.
struct Forest<'a> {
    /// The machine's nodes. Once a node is added, its parent is overwritten by the node under which
    /// its children hang; a table of its own would cost the time of new memory.
    machine: saved::Nodes,
    /// Samples of each further metric on machine nodes that are not added yet.
    further: Vec<Peekable<IntoIter<(u32, u64)>>>,
    passages: Passages,
    starts: Starts,
    structure: &'a saved::Structure,
    interner: Interner,
    frames: FrameLists,
    /// The frame of each function that left by a tail call.
    left: HashMap<FunctionId, FrameRef>,
    is_tail_callee: Vec<bool>,
    nodes: NodesBuilder,
    /// The node that has the samples of each machine node; empty if it is not needed.
    holders: Vec<u32>,
    /// How costs are spread over ranks, in sums.
    spreads: Option<SpreadsOfMachine>,
    /// How many machine nodes in a row, this one the last, only pass a call on; at most
    /// [`MAX_PASSED`].
    passed: Vec<u8>,
    /// The parents of these machine nodes.
    parent_of_passed: HashMap<usize, usize>,
    /// How many nodes may still be put back.
    back: usize,
    /// The frame of samples without a path, once it is needed.
    no_path: Option<FrameRef>,
}

impl<'a> Forest<'a> {
    fn new(
        machine: saved::Nodes,
        further: Vec<Peekable<IntoIter<(u32, u64)>>>,
        (passages, starts): (Passages, Starts),
        structure: &'a saved::Structure,
        expansion: Expansion,
    ) -> Self {
        // Each machine node becomes one node or more.
        let mut nodes = NodesBuilder::new(further.len());
        nodes.reserve(machine.len());
        Self {
            is_tail_callee: structure.tail_callees(expansion.frames.machine_frames()),
            further,
            holders: Vec::new(),
            spreads: None,
            passed: vec![0; machine.len()],
            parent_of_passed: HashMap::new(),
            back: machine.len() + MOST_BACK,
            no_path: None,
            machine,
            passages,
            starts,
            structure,
            interner: expansion.interner,
            frames: expansion.frames,
            left: expansion.left,
            nodes,
        }
    }

    /// Adds the source-level nodes of a tree's machine nodes.
    fn add_all(&mut self, mut nodes: Range<usize>) {
        while !nodes.is_empty() {
            let end = nodes.end.min(nodes.start + TOGETHER);
            let together = nodes.start..end;
            self.frames.fetch(&self.machine.frame[together.clone()]);
            for node in together {
                self.add(node);
                self.spread(node);
            }
            nodes.start = end;
        }
    }

    /// Notes how the cost of a machine node's source-level nodes is spread. The node for samples
    /// without a path, directly below the root, has none: the root's spread is of all that is
    /// below.
    fn spread(&mut self, node: usize) {
        let Some(spreads) = &mut self.spreads else { return };
        let end = self.nodes.len();
        if self.machine.parent[node] == 0 { spreads.skip(end) } else { spreads.add(node, end) }
    }

    /// Adds the source-level nodes of a machine node, whose parent was added before.
    fn add(&mut self, node: usize) {
        let machine = &self.machine;
        let (parent, samples) = (machine.parent[node] as usize, machine.samples[node]);
        let (frame, mut edges) = (machine.frame[node], machine.edges[node]);
        if parent == node {
            self.machine.parent[node] = 0;
            if samples > 0 {
                let interner = &mut self.interner;
                let frame = *self.no_path.get_or_insert_with(|| {
                    let function = interner.function(Function::named("[no path]"));
                    interner.frame(Frame::made_up(function, FrameKind::Partial))
                });
                let at = self.nodes.push(0, frame, samples, 0);
                self.share(node, at);
            }
            return;
        }
        let mut above = self.machine.parent[parent];
        let passed = self.passed[parent];
        // In a sum, of all trees that have the path.
        let counts = self.spreads.as_ref().is_some_and(|spreads| spreads.counts(node));
        let is_passage = samples == 0 && !counts;
        if is_passage && self.starts.has(node) {
            self.machine.parent[node] = above;
            return;
        }
        if self.passages.may_be(frame) && passed < MAX_PASSED && is_passage {
            (self.machine.parent[node], self.passed[node]) = (above, passed + 1);
            self.parent_of_passed.insert(node, parent);
            return;
        }
        if passed > 0 {
            above = self.work_behind(parent, frame, above);
        }
        if self.is_tail_callee[frame.index()] {
            let caller = self.machine.frame[parent];
            for function in self.structure.tail_calls_between(caller, frame) {
                above = self.nodes.push(above, self.left[function], 0, 0);
            }
        }
        for &frame in self.frames.of(frame) {
            above = self.nodes.push(above, frame, 0, edges);
            edges = 0;
        }
        self.nodes.samples.set(above as usize, samples);
        self.share(node, above);
        self.machine.parent[node] = above;
    }

    /// Gives the node with the samples of a machine node the further metrics' shares of them.
    fn share(&mut self, machine: usize, node: u32) {
        if let Some(holder) = self.holders.get_mut(machine) {
            *holder = node;
        }
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

    /// The node under which to hang a frame that was called through left-out machine nodes, the
    /// last of which is `parent`: `above` if they passed a call of the program's on. Otherwise it
    /// is work of the collector's own, and they are put back.
    fn work_behind(&mut self, parent: usize, frame: FrameId, mut above: u32) -> u32 {
        let mut chain = vec![parent];
        let mut node = parent;
        while self.passed[node] > 1 {
            node = self.parent_of_passed[&node];
            chain.push(node);
        }
        let (outermost, called) = (self.machine.frame[node], self.frames.of(frame)[0]);
        let wrapper = self.interner.name(self.frames.of(outermost)[0]);
        if !self.passages.is_own(frame) && is_behind(wrapper, self.interner.name(called)) {
            return above;
        }
        let frames = |node: &usize| self.frames.of(self.machine.frame[*node]);
        let count = chain.iter().map(|node| frames(node).len()).sum();
        let Some(rest) = self.back.checked_sub(count) else { return above };
        self.back = rest;
        for &node in chain.iter().rev() {
            // Once: other work of the same call comes back below frames of its own.
            let mut edges = std::mem::take(&mut self.machine.edges[node]);
            for &frame in self.frames.of(self.machine.frame[node]) {
                above = self.nodes.push(above, frame, 0, edges);
                edges = 0;
            }
        }
        above
    }
}

fn node_count(nodes: &NodesBuilder) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}

/// The source-level frames of all machine frames.
struct Expansion {
    interner: Interner,
    frames: FrameLists,
    /// The frame of each function that left by a tail call.
    left: HashMap<FunctionId, FrameRef>,
}

/// The source-level frames of each machine frame, outermost first; at least one each.
struct FrameLists {
    first: Vec<u32>,
    frames: Vec<FrameRef>,
}

impl FrameLists {
    fn machine_frames(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    fn of(&self, frame: FrameId) -> &[FrameRef] {
        let index = frame.index();
        &self.frames[self.first[index] as usize..self.first[index + 1] as usize]
    }

    /// Loads the first frames of some machine frames into the cache, all at once.
    fn fetch(&self, frames: &[FrameId]) {
        let first = |frame: &FrameId| self.frames[self.first[frame.index()] as usize].0;
        black_box(frames.iter().map(first).fold(0, |touched, frame| touched | frame));
    }
}

impl Expansion {
    /// Takes the tables of functions and sites out of `saved`.
    fn of(saved: &mut saved::Profile, structure: &saved::Structure) -> Self {
        let functions = std::mem::take(&mut saved.functions);
        let sites = std::mem::take(&mut saved.sites);
        let machine = &saved.frames;
        let mut interner = Interner::new();
        let numbers: Vec<_> = functions
            .iter()
            .map(|function| {
                interner.function(Function {
                    name: name(saved, function.name),
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
            let id = FrameId::from_index(index);
            let rows = sites.rows(id);
            let is_code = !matches!(frame.kind, SavedKind::Root | SavedKind::Partial);
            let site = is_code.then_some(id);
            if rows.is_empty() {
                let (name, kind) = unnamed(saved, frame);
                let module = frame.module;
                let function = interner.function(Function { module, ..Function::named(name) });
                frames.push(interner.frame(Frame { site, ..Frame::made_up(function, kind) }));
                continue;
            }
            let outermost = rows.start;
            // Beyond the limit the middle is left out: the caller and the innermost frames stay.
            let inner = (outermost + 1).max(rows.end.saturating_sub(MAX_INLINED));
            for row in std::iter::once(outermost).chain(inner..rows.end) {
                let number = u32::try_from(row - outermost).unwrap_or(u32::MAX);
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
                    site,
                    row: number,
                }));
            }
        }
        first.push(u32::try_from(frames.len()).unwrap_or(u32::MAX));
        let mut left = HashMap::new();
        for &function in structure.tail_calls.iter().flat_map(|call| &call.via) {
            left.entry(function).or_insert_with(|| {
                interner.frame(Frame::made_up(numbers[function.index()], FrameKind::Tail))
            });
        }
        Self { interner, frames: FrameLists { first, frames }, left }
    }
}

/// Name and kind of a frame for which there is no symbol.
fn unnamed(saved: &saved::Profile, frame: &saved::Frame) -> (String, FrameKind) {
    match frame.kind {
        SavedKind::Partial => {
            let reason = usize::try_from(frame.offset).ok().and_then(PartialReason::from_index);
            let key = reason.map_or("unknown reason", PartialReason::key);
            (format!("[partial: {key}]"), FrameKind::Partial)
        }
        _ => pseudo::name_and_kind(saved, frame)
            .unwrap_or_else(|| (address(saved, frame), FrameKind::Unknown)),
    }
}

/// A name, which the profile's strings share.
fn name(saved: &saved::Profile, id: StringId) -> Arc<str> {
    saved.strings.get(id.index()).map_or_else(|| "".into(), Arc::clone)
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

#[cfg(test)]
mod tests;
