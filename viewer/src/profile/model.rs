//! What a loaded profile is made of: functions, frames, and nodes in columns.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use csprof_format::beside::MANY_NODES;
use csprof_format::ids::{EpochId, FrameId, ModuleId, ProcessId, StringId, ThreadId};
use csprof_format::profile as saved;
use memchr::memmem;

use super::column::Column;
use super::counts::{Count, Counts};
use super::derived::Derived;
use super::frame_kind::FrameKind;
use super::hosts::Hosts;
use super::in_parts::{divided, of_each, processors, split};
use super::metric::MetricRef;
use super::name::is_same_name;
use super::shared::Shared;
use super::sides::Comparison;
use super::spreads::Spreads;
use super::times::Times;

/// A profile, loaded and expanded. Clones share all tables and columns: a clone costs a few
/// pointers and what is said of the sides of a comparison, and what holds one needs no other owner.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Everything that is not a tree: run, processes, threads, epochs, modules, strings. Its tables
    /// of trees, nodes, functions, sites and tail calls are emptied by loading; that of frames
    /// stays, for [`Frame::site`], and that of loops.
    pub info: Shared<saved::Profile>,
    /// Functions and what stands for one: groups, unknown code, partial roots.
    pub functions: Shared<Vec<Function>>,
    /// Source-level frames: what nodes name.
    pub frames: Shared<Vec<Frame>>,
    /// The nodes.
    pub nodes: Nodes,
    /// One for each thread and epoch, ordered by first node; together they cover all nodes but 0.
    pub streams: Shared<Vec<Stream>>,
    /// When samples were taken, where that was kept.
    pub times: Shared<Times>,
    /// How costs are spread over ranks, if the profile is a sum over them.
    pub spreads: Shared<Spreads>,
    /// What is compared with what, where two profiles were loaded to be compared; see there.
    pub comparison: Option<Box<Comparison>>,
    /// Formulas over the metrics, in the order of their columns. None is saved.
    pub derived: Shared<Vec<Derived>>,
}

impl Profile {
    /// On which host each process ran.
    #[must_use]
    pub fn hosts(&self) -> Cow<'_, Hosts> {
        match &self.comparison {
            Some(comparison) => Cow::Borrowed(&comparison.hosts),
            None => Cow::Owned(Hosts::of(&self.info)),
        }
    }

    /// Samples of the whole profile.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.nodes.samples.iter().sum()
    }

    /// Samples that were lost, of processes and threads.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let of_processes = self.info.processes.iter().flat_map(|process| &process.losses);
        let of_threads = self.info.threads.iter().flat_map(|thread| &thread.losses);
        of_processes.chain(of_threads).fold(0, |sum, &lost| sum.saturating_add(lost))
    }

    /// All metrics, the first one first; at least one.
    pub fn metrics(&self) -> impl Iterator<Item = (MetricRef, &saved::Metric)> {
        (0..).map(MetricRef).zip(self.info.metrics())
    }

    /// The metrics that formulas may name: all; of a comparison, as BASE has them, the one that is
    /// compared, and those that it has beside.
    pub fn metrics_of_formulas(&self) -> impl Iterator<Item = (MetricRef, &saved::Metric)> {
        let further = self.comparison.iter().flat_map(|comparison| &comparison.further);
        let metrics = self.info.metrics().chain(further.map(|[base, _]| base));
        (0..).map(MetricRef).zip(metrics)
    }

    /// The metric of a sample source.
    ///
    /// # Errors
    /// A sentence that lists the metrics there are.
    pub fn metric_named(&self, source: &str) -> Result<MetricRef, String> {
        self.metric_of(source).ok_or_else(|| {
            format!("no metric `{source}` in this profile; it has {}", self.sources())
        })
    }

    /// The function that a node stands for.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn function_of(&self, node: u32) -> FunctionRef {
        self.frames[self.nodes.frame[node as usize].index()].function
    }

    /// Path of a load module, as the loader knew it; empty if it has none.
    #[must_use]
    pub fn module_path(&self, module: ModuleId) -> &str {
        self.info.modules.get(module.index()).map_or("", |module| self.string(module.path))
    }

    /// Where a loop is, by its number: `mm.c:12`, or without a line its address, `mm+0x4a30`.
    #[must_use]
    pub(crate) fn place_of_loop(&self, number: usize) -> String {
        let found = self.info.structure.loops[number];
        match found.file {
            Some(file) if found.line > 0 => {
                format!("{}:{}", name_of_file(self.string(file)), found.line)
            }
            _ => format!("{}+{:#x}", name_of_file(self.module_path(found.module)), found.offset),
        }
    }

    /// An address in a load module, `libfoo.so.1+0x4a30`; `0x7f00` outside of all.
    #[must_use]
    pub fn address(&self, frame: &saved::Frame) -> String {
        address(&self.info, frame)
    }

    /// Interned text; empty if there is none of this number.
    #[must_use]
    pub fn string(&self, id: StringId) -> &str {
        text(&self.info, id)
    }
}

/// The file name of the program that a process ran: `cc1plus` for `/usr/libexec/gcc/cc1plus`. Empty
/// if its command is not known.
#[must_use]
pub fn program(process: &saved::Process) -> Cow<'_, str> {
    let program = process.command.first().map_or(&[][..], Vec::as_slice);
    let program = match &process.command[..] {
        [title] => of_title(title),
        _ => program,
    };
    let file = program.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    String::from_utf8_lossy(file)
}

/// What the only word of a command line says of the program, where it would be cut at a slash. A
/// program that wrote its own title there may have left one string of it all, such as
/// `/usr/bin/browser --type=renderer` or `sshd: me@pts/0`.
fn of_title(title: &[u8]) -> &[u8] {
    if !title.contains(&b'/') {
        return title;
    }
    let is_option = |&at: &usize| title.get(at + 2).is_some_and(|byte| !byte.is_ascii_whitespace());
    let options = memmem::find_iter(title, b" -").find(is_option);
    let program = options.map_or(title, |options| &title[..options]);
    match memmem::find(program, b": ") {
        Some(colon) if !program[..colon].contains(&b'/') => &program[..colon],
        _ => program,
    }
}

/// An address: `libfoo.so.1+0x4a30`, or `0x7f00` outside all load modules.
pub(super) fn address(saved: &saved::Profile, frame: &saved::Frame) -> String {
    let module =
        frame.module.map_or_else(String::new, |module| format!("{}+", module_name(saved, module)));
    format!("{module}{:#x}", frame.offset)
}

/// Interned text; empty if there is none of this number.
pub(super) fn text(saved: &saved::Profile, id: StringId) -> &str {
    saved.strings.get(id.index()).map_or("", |text| text)
}

/// Last component of a path.
#[must_use]
pub fn name_of_file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// That of a module's path.
pub(super) fn module_name(saved: &saved::Profile, module: ModuleId) -> &str {
    name_of_file(saved.modules.get(module.index()).map_or("", |module| text(saved, module.path)))
}

/// Index into [`Profile::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionRef(pub u32);

impl FunctionRef {
    /// The root of everything.
    pub const ROOT: Self = Self(0);

    /// Position in the table of functions.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Profile::frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameRef(pub u32);

impl FrameRef {
    /// The root of everything.
    pub const ROOT: Self = Self(0);

    /// Position in the table of frames.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What stands before its place in the name of a loop.
pub const LOOP: &str = "loop at ";

/// A function, or what a row shows in place of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Demangled name; `module+0xoffset` where there is none.
    pub name: Arc<str>,
    /// Its load module, where there is one.
    pub module: Option<ModuleId>,
    /// File of the definition.
    pub file: Option<StringId>,
    /// Line of the definition, 0 if unknown.
    pub line: u32,
}

impl Function {
    /// Where a loop begins, as its row is called: `mm.c:12`, or `libfoo.so+0x4a30` where its line
    /// is not known.
    #[must_use]
    pub fn place_of_loop(&self) -> Option<&str> {
        self.name.split_once(LOOP).map(|(_, place)| place)
    }

    /// What is known by its name alone.
    #[must_use]
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), module: None, file: None, line: 0 }
    }
}

/// What a function is called in all profiles of its program; its number is of one of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionKey {
    name: Arc<str>,
    /// Path of its load module.
    module: Option<Arc<str>>,
    /// File and line of its definition, where it is known: of several functions of the name the one
    /// that is meant. It moves when the program is changed.
    definition: Option<(Arc<str>, u32)>,
}

impl FunctionKey {
    /// The key of a function, or of what stands for one, of a profile or made of it.
    #[must_use]
    pub fn of(profile: &Profile, function: &Function) -> Self {
        let path = |module: ModuleId| {
            let path = profile.info.modules.get(module.index())?.path;
            profile.info.strings.get(path.index()).filter(|path| !path.is_empty()).map(Arc::clone)
        };
        let file = function.file.and_then(|file| profile.info.strings.get(file.index()));
        Self {
            name: Arc::clone(&function.name),
            module: function.module.and_then(path),
            definition: file.map(|file| (Arc::clone(file), function.line)),
        }
    }

    /// The key of a function of this name in the load module of this path.
    #[must_use]
    pub fn named(name: &str, module: Option<&str>) -> Self {
        Self { name: name.into(), module: module.map(Into::into), definition: None }
    }

    /// The same of the one of its functions that is defined in this file and line.
    #[must_use]
    pub fn defined_at(self, definition: Option<(&str, u32)>) -> Self {
        Self { definition: definition.map(|(file, line)| (file.into(), line)), ..self }
    }

    /// File and line of its definition, where it is known.
    #[must_use]
    pub fn definition(&self) -> Option<(&str, u32)> {
        self.definition.as_ref().map(|(file, line)| (&**file, *line))
    }

    /// Name of the function.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Path of its load module.
    #[must_use]
    pub fn module(&self) -> Option<&str> {
        self.module.as_deref()
    }

    /// Whether it is that of a function, in whichever profile, or of another one of its name; what
    /// a profile tells of its other names does not count.
    #[must_use]
    pub fn is(&self, profile: &Profile, function: &Function) -> bool {
        let has_name =
            Arc::ptr_eq(&self.name, &function.name) || is_same_name(&self.name, &function.name);
        let module = || function.module.map(|module| profile.module_path(module));
        has_name && self.module.as_deref() == module().filter(|path| !path.is_empty())
    }

    /// Whether a function [of this key](Self::is) is known to be defined where the one that is
    /// meant is.
    #[must_use]
    pub fn is_defined_as(&self, profile: &Profile, function: &Function) -> bool {
        let file = function.file.and_then(|file| profile.info.strings.get(file.index()));
        let there = file.map(|file| (&**file, function.line));
        self.definition().is_some_and(|own| Some(own) == there)
    }
}

/// A source-level frame: a function and the line it was executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function.
    pub function: FunctionRef,
    /// Kind.
    pub kind: FrameKind,
    /// File of the line, if known.
    pub file: Option<StringId>,
    /// The line, 0 if unknown.
    pub line: u32,
    /// The address whose code it is, among the frames of [`Profile::info`]; inlined frames have
    /// that of the code that they were inlined into. `None` for what is no code, and where stages
    /// made it.
    pub site: Option<FrameId>,
    /// Which of the rows of its address it is, 0 the outermost.
    pub row: u32,
}

impl Frame {
    /// A frame of which nothing is known but what it stands for.
    #[must_use]
    pub const fn made_up(function: FunctionRef, kind: FrameKind) -> Self {
        Self { function, kind, file: None, line: 0, site: None, row: 0 }
    }

    /// Function and kind in one number: equal for frames that are one row below one parent. It has
    /// room for 2^28 functions, whose names would not fit into memory.
    #[inline]
    pub(crate) fn row_key(&self) -> u32 {
        Self::row_key_of(self.function, self.kind)
    }

    /// The [key](Self::row_key) of frames of this function and kind.
    #[inline]
    pub(crate) fn row_key_of(function: FunctionRef, kind: FrameKind) -> u32 {
        function.0 << FrameKind::BITS | kind as u32
    }

    /// One past the greatest [key](Self::row_key) of frames of so many functions.
    pub(crate) fn row_keys(functions: usize) -> usize {
        functions << FrameKind::BITS
    }

    /// The function and the kind of a [key](Self::row_key).
    #[inline]
    pub(crate) fn of_row_key(key: u32) -> (FunctionRef, FrameKind) {
        let kind = key & ((1 << FrameKind::BITS) - 1);
        (FunctionRef(key >> FrameKind::BITS), FrameKind::ALL[kind as usize])
    }
}

/// Columns of the nodes; all have one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Parent of each node; 0 for node 0.
    pub parent: Column<u32>,
    /// Frame of each node.
    pub frame: Column<FrameRef>,
    /// Exclusive samples, of all metrics together.
    pub samples: Counts,
    /// What of them each further metric has, in the order of [`saved::Profile::further`]; the rest
    /// is the first metric's. Together at most `samples`, for every node.
    pub further: Vec<Counts>,
    /// Returns of sampled activations; 0 for inlined frames, which have none.
    pub edges: Counts,
}

impl Nodes {
    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Exclusive samples of a node that are of one metric; the first has what no further one has.
    ///
    /// # Panics
    /// If there is no such node or metric.
    #[must_use]
    pub fn of_metric(&self, node: usize, metric: MetricRef) -> u64 {
        let rest = |rest: u64, further: &Counts| rest.saturating_sub(further.at(node));
        match metric.index().checked_sub(1) {
            Some(further) => self.further[further].at(node),
            None => self.further.iter().fold(self.samples.at(node), rest),
        }
    }

    /// Inclusive samples of every node: its own and those of all nodes below it.
    #[must_use]
    pub fn inclusive(&self) -> Vec<u64> {
        let mut sums: Vec<u64> = self.samples.iter().collect();
        add_up(&self.parent, &mut sums, 1..self.len());
        sums
    }

    /// Memory of the columns, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.parent[..])
            + size_of_val(&self.frame[..])
            + self.samples.bytes()
            + self.further.iter().map(Counts::bytes).sum::<usize>()
            + self.edges.bytes()
    }
}

/// Adds some nodes to their parents, the last first. So inclusive values of a forest in which
/// `parent[n] < n` for every node but 0 are added up, if these are all but 0 and `sums` has the
/// exclusive ones at first: when a node is added to its parent, all its own children have been
/// added.
pub fn add_up<C: Count>(parent: &[u32], sums: &mut [C], nodes: Range<usize>) {
    for node in nodes.rev() {
        let value = sums[node];
        sums[parent[node] as usize] += value;
    }
}

/// Inclusive values of such a forest, from exclusive ones. The nodes are divided into `parts`,
/// which threads share out; if a node's parent is in another part than the node, and not node 0,
/// they are not divided.
pub(crate) fn inclusive<C: Count>(
    parent: &[u32],
    exclusive: &[C],
    parts: &[Range<usize>],
) -> Vec<C> {
    let mut sums = vec![C::default(); exclusive.len()];
    let of_parts = of_each(split(&mut sums, parts), |(nodes, sums)| {
        sums.copy_from_slice(&exclusive[nodes.clone()]);
        let mut of_root = C::default();
        for node in nodes.clone().rev().take_while(|&node| node > 0) {
            let value = sums[node - nodes.start];
            match parent[node] as usize {
                0 => of_root += value,
                above => *sums.get_mut(above.wrapping_sub(nodes.start))? += value,
            }
        }
        Some(of_root)
    });
    match of_parts.into_iter().collect::<Option<Vec<_>>>() {
        Some(of_parts) => of_parts.into_iter().for_each(|of_part| sums[0] += of_part),
        None => {
            sums.copy_from_slice(exclusive);
            add_up(parent, &mut sums, 1..parent.len());
        }
    }
    sums
}

/// Divides the nodes of a forest into parts that threads share out: some consecutive streams each.
/// One part, if there are few nodes.
pub(crate) fn parts_of(streams: &[Stream], nodes: usize) -> Vec<Range<usize>> {
    let starts: Vec<_> = streams.iter().map(|stream| stream.nodes.start as usize).collect();
    let parts = if nodes >= MANY_NODES && starts.is_sorted() { processors() } else { 1 };
    divided(&starts, nodes, parts)
}

/// The nodes of one thread in one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The process.
    pub process: ProcessId,
    /// The thread.
    pub thread: ThreadId,
    /// The epoch.
    pub epoch: EpochId,
    /// Its nodes.
    pub nodes: core::ops::Range<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_name_of_its_file_also_under_a_title() {
        let named = |words: &[&str]| {
            let command = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            program(&saved::Process { command, ..saved::Process::default() }).into_owned()
        };
        for (words, name) in [
            (&["/usr/libexec/gcc/cc1plus", "-o", "a/b: c"][..], "cc1plus"),
            (&["/usr/lib/chromium/chromium --type=zygote --data=/tmp/u --first-run"], "chromium"),
            (&["sshd: root@pts/0"], "sshd"),
            (&["nginx: master process /usr/sbin/nginx -g daemon off;"], "nginx"),
            (&["postgres: checkpointer "], "postgres: checkpointer "),
            (&["./a: b", "c"], "a: b"),
            // As it is in a sum of several.
            (&["a: b"], "a: b"),
            (&["./busy - 2"], "busy - 2"),
            (&["/opt/My Tools/tool"], "tool"),
            (&["/opt/My: Tools/tool"], "tool"),
            (&["-bash"], "-bash"),
            (&[" -"], " -"),
            (&["/ --"], ""),
            (&[], ""),
        ] {
            assert_eq!(named(words), name, "{words:?}");
        }
    }

    #[test]
    fn row_keys_tell_all_functions_and_kinds_apart() {
        for function in [0, 1, 2, (1 << 28) - 1].map(FunctionRef) {
            for kind in FrameKind::ALL {
                let key = Frame::made_up(function, kind).row_key();
                assert_eq!(Frame::of_row_key(key), (function, kind));
                assert!((key as usize) < Frame::row_keys(function.index() + 1));
            }
        }
    }
    /// Two trees; and the same where a node of the second hangs below one of the first.
    #[test]
    fn sums_are_the_same_in_parts() {
        for parent in [[0, 0, 1, 1, 3, 0, 5, 6, 5], [0, 0, 1, 1, 3, 0, 5, 2, 5]] {
            let exclusive = [0_u32, 1, 2, 3, 4, 5, 6, 7, 8];
            let mut whole = exclusive;
            add_up(&parent, &mut whole, 1..9);
            for parts in [vec![0..5, 5..9], vec![0..1, 1..5, 5..9], vec![0..7, 7..9]] {
                assert_eq!(inclusive(&parent, &exclusive, &parts), whole, "{parts:?}");
            }
        }
    }

    #[test]
    fn forests_are_divided_between_streams_that_ascend() {
        let stream = |start: u32| Stream {
            process: ProcessId(0),
            thread: ThreadId(0),
            epoch: EpochId(0),
            nodes: start..start,
        };
        let count = 4 * MANY_NODES;
        let streams = [1, 2 * MANY_NODES + 9].map(|start| stream(start as u32));
        let parts = parts_of(&streams, count);
        assert_eq!(parts.len(), processors().min(2));
        assert_eq!(parts.last().unwrap().end, count);
        let [first, second] = streams;
        assert_eq!(parts_of(&[second, first], count).len(), 1);
    }
}
