//! The payload of each kind of block, as it is written: versions 1 and 2, frozen.
//!
//! Small tables are rows: the values of [`profile`](crate::profile) themselves, so the order of
//! their fields is part of the format. Large tables are columns, which encode and compress
//! better. Three things that could contradict each other are written so that they cannot: the
//! first node of a tree (only the counts are), the parent of a node (how far the path ascends
//! before it), and the zeros of a metric (left out).
//!
//! Version 2 is that of a profile of several metrics. It is version 1 and behind it what further
//! metrics have, in each row of threads and in each block of nodes: so a prefix of a file never has
//! samples of which it does not say whose they are.
//!
//! Time and size per node are in `FORMAT.md`; `benches/container.rs` measures them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::address::FrameKind;
use crate::error::{ErrorKind, Layout};
use crate::ids::{EpochId, FrameId, FunctionId, ModuleId, StringId, ThreadId};
use crate::integers::Integers;
use crate::profile::{Frame, Function, FurtherMetric, Nodes, Profile, SampleTime, Sites, Tree};

/// Elements of a column that go into one block: half a megabyte of nodes.
pub(crate) const COLUMN_ELEMENTS: usize = 1 << 16;
/// Rows of [`Sites`] after which a block of them ends.
pub(crate) const SITE_ROWS: usize = 1 << 17;

/// An id that may be absent: its number plus one, or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Maybe(u32);

impl Maybe {
    /// Saturates at `u32::MAX`, which no table reaches, so validation refuses it.
    fn from_id(id: Option<u32>) -> Self {
        Self(id.map_or(0, |number| number.saturating_add(1)))
    }

    fn id<I: From<u32>>(self) -> Option<I> {
        self.0.checked_sub(1).map(I::from)
    }
}

/// Text in one piece, and how it divides.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StringColumns<'a> {
    /// Bytes of each string.
    length: Vec<u32>,
    /// All strings, without separators.
    text: &'a str,
}

/// See [`Frame`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FrameColumns {
    kind: Vec<FrameKind>,
    module: Vec<Maybe>,
    offset: Vec<u64>,
}

/// See [`Function`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FunctionColumns {
    name: Vec<StringId>,
    module: Vec<ModuleId>,
    file: Vec<Maybe>,
    line: Vec<u32>,
}

/// See [`Sites`]: `rows` has one entry for each frame, the other columns one for each row.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SiteColumns {
    rows: Vec<u32>,
    function: Vec<FunctionId>,
    file: Vec<Maybe>,
    line: Vec<u32>,
}

/// See [`Tree`]; each begins where the one before it ends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TreeColumns {
    thread: Vec<ThreadId>,
    epoch: Vec<EpochId>,
    nodes: Vec<u32>,
}

/// See [`Nodes`].
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeColumns {
    /// How many levels to go up from the node before, to reach the parent; 0 for a root.
    up: Vec<u32>,
    frame: Vec<FrameId>,
    samples: Sparse,
    edges: Sparse,
}

/// A column without its zeros.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sparse {
    /// Zeros before each value.
    gap: Vec<u32>,
    /// Values, none of them zero.
    value: Vec<u64>,
}

/// See [`SampleTime`]: `tree` and `rows` have one entry for each tree, the other columns one for
/// each row.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TimeColumns {
    /// Trees that have rows in the block, in order.
    tree: Vec<u32>,
    /// How many rows each of them has; at least one.
    rows: Vec<u32>,
    /// Microseconds since the row before; since the start of the run for the first of each tree.
    after: Vec<u64>,
    /// Number of the node in its tree.
    node: Vec<u32>,
    metric: Sparse,
    /// Samples but the first.
    more: Sparse,
}

/// The last block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    /// Blocks before this one.
    pub(crate) blocks: u32,
    /// Nodes of all trees.
    pub(crate) nodes: u64,
    /// Samples of all nodes.
    pub(crate) samples: u64,
}

impl Sparse {
    fn from_column(column: &[u64]) -> Self {
        let mut sparse = Self::default();
        let mut gap = 0;
        for &value in column {
            if value == 0 {
                gap += 1;
            } else {
                sparse.gap.push(gap);
                sparse.value.push(value);
                gap = 0;
            }
        }
        sparse
    }

    /// Reads what comes next in a payload in the place of what there is. `None` if it is not as it
    /// is written.
    pub(crate) fn read(&mut self, payload: &mut Integers<'_>) -> Option<()> {
        payload.read(&mut self.gap)?;
        payload.read(&mut self.value)
    }

    /// Bytes of memory that its vectors take, used or not.
    pub(crate) fn memory(&self) -> usize {
        self.gap.capacity() * size_of::<u32>() + self.value.capacity() * size_of::<u64>()
    }

    /// Appends the column with its zeros, `length` entries, to `column`.
    fn extend(&self, column: &mut Vec<u64>, length: usize) -> Option<()> {
        let start = column.len();
        column.resize(start + length, 0);
        let mut rest = column.get_mut(start..)?;
        if self.gap.len() != self.value.len() {
            return None;
        }
        for (&gap, &value) in self.gap.iter().zip(&self.value) {
            let (entry, after) = rest.get_mut(gap as usize..)?.split_first_mut()?;
            if value == 0 {
                return None;
            }
            *entry = value;
            rest = after;
        }
        Some(())
    }

    /// Positions and values that are not zero, in a column of `length` entries.
    fn entries(&self, length: usize) -> Option<Vec<(usize, u64)>> {
        if self.gap.len() != self.value.len() {
            return None;
        }
        let mut next = 0_usize;
        let entry = |(&gap, &value)| {
            let place = next.checked_add(gap as usize)?;
            next = place + 1;
            (place < length && value > 0).then_some((place, value))
        };
        self.gap.iter().zip(&self.value).map(entry).collect()
    }
}

/// What further metrics have of the samples of nodes `range`: a column of the first one for all
/// these nodes, then one of the second, and so on, as one.
pub(crate) fn shares(further: &[FurtherMetric], range: core::ops::Range<usize>) -> Sparse {
    let mut sparse = Sparse::default();
    let mut next = 0;
    for (number, metric) in further.iter().enumerate() {
        let first = metric.samples.partition_point(|&(node, _)| (node as usize) < range.start);
        let samples = metric.samples.iter().skip(first);
        for &(node, value) in samples.take_while(|&&(node, _)| (node as usize) < range.end) {
            let place = number * range.len() + node as usize - range.start;
            // A block has few nodes, and a profile few metrics.
            sparse.gap.push((place - next) as u32);
            sparse.value.push(value);
            next = place + 1;
        }
    }
    sparse
}

/// Appends [`shares`] of the `count` nodes from `start` on.
pub(crate) fn append_shares(
    shares: &Sparse,
    further: &mut [FurtherMetric],
    start: usize,
    count: usize,
) -> Result<(), ErrorKind> {
    let entries = shares.entries(count.saturating_mul(further.len()));
    let odd = ErrorKind::Layout(Layout::Sparse { column: "shares" });
    for (place, samples) in entries.ok_or(odd)? {
        // Nodes have numbers of this size.
        let node = (start + place % count) as u32;
        further[place / count].samples.push((node, samples));
    }
    Ok(())
}

fn columns(column: &'static str, length: usize, expected: usize) -> Result<(), ErrorKind> {
    if length == expected { Ok(()) } else { Err(ErrorKind::Layout(Layout::Columns { column })) }
}

impl<'a> StringColumns<'a> {
    /// The columns of `strings`, whose text is gathered in `buffer`.
    pub(crate) fn new(strings: &[Arc<str>], buffer: &'a mut String) -> Self {
        buffer.clear();
        strings.iter().for_each(|string| buffer.push_str(string));
        // A block's text is at most 16 MiB, or it is refused before it is written.
        let length =
            strings.iter().map(|string| u32::try_from(string.len()).unwrap_or(u32::MAX)).collect();
        Self { length, text: buffer }
    }

    pub(crate) fn append(self, strings: &mut Vec<Arc<str>>) -> Result<usize, ErrorKind> {
        let mut rest = self.text;
        for &length in &self.length {
            // A cut inside a character is none.
            let Some((string, after)) = rest.split_at_checked(length as usize) else {
                return Err(ErrorKind::Layout(Layout::Lengths));
            };
            strings.push(string.into());
            rest = after;
        }
        if rest.is_empty() {
            Ok(self.length.len())
        } else {
            Err(ErrorKind::Layout(Layout::Lengths))
        }
    }
}

impl FrameColumns {
    pub(crate) fn new(frames: &[Frame]) -> Self {
        Self {
            kind: frames.iter().map(|frame| frame.kind).collect(),
            module: frames
                .iter()
                .map(|frame| Maybe::from_id(frame.module.map(|id| id.0)))
                .collect(),
            offset: frames.iter().map(|frame| frame.offset).collect(),
        }
    }

    pub(crate) fn append(self, frames: &mut Vec<Frame>) -> Result<usize, ErrorKind> {
        let count = self.kind.len();
        columns("module", self.module.len(), count)?;
        columns("offset", self.offset.len(), count)?;
        let rest = self.module.into_iter().zip(self.offset);
        frames.extend(self.kind.into_iter().zip(rest).map(|(kind, (module, offset))| Frame {
            kind,
            module: module.id(),
            offset,
        }));
        Ok(count)
    }
}

impl FunctionColumns {
    pub(crate) fn new(functions: &[Function]) -> Self {
        Self {
            name: functions.iter().map(|function| function.name).collect(),
            module: functions.iter().map(|function| function.module).collect(),
            file: functions.iter().map(|f| Maybe::from_id(f.file.map(|id| id.0))).collect(),
            line: functions.iter().map(|function| function.line).collect(),
        }
    }

    pub(crate) fn append(self, functions: &mut Vec<Function>) -> Result<usize, ErrorKind> {
        let count = self.name.len();
        columns("module", self.module.len(), count)?;
        columns("file", self.file.len(), count)?;
        columns("line", self.line.len(), count)?;
        let source = self.file.into_iter().zip(self.line);
        functions.extend(self.name.into_iter().zip(self.module).zip(source).map(
            |((name, module), (file, line))| Function { name, module, file: file.id(), line },
        ));
        Ok(count)
    }
}

impl SiteColumns {
    /// The sites of frames `frames`, whose entries in `first` exist.
    pub(crate) fn new(sites: &Sites, frames: core::ops::Range<usize>) -> Self {
        let bounds = sites.first.get(frames.start..=frames.end).unwrap_or_default();
        let rows = match (bounds.first(), bounds.last()) {
            (Some(&first), Some(&end)) => first as usize..end as usize,
            _ => 0..0,
        };
        let file = sites.file.get(rows.clone()).unwrap_or_default();
        Self {
            rows: bounds.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect(),
            function: sites.function.get(rows.clone()).unwrap_or_default().to_vec(),
            file: file.iter().map(|file| Maybe::from_id(file.map(|id| id.0))).collect(),
            line: sites.line.get(rows).unwrap_or_default().to_vec(),
        }
    }

    /// How many frames from `start` on make one block.
    pub(crate) fn frames_of_block(sites: &Sites, start: usize) -> usize {
        let bounds = sites.first.get(start..).unwrap_or_default();
        let first = bounds.first().map_or(0, |&row| row as usize);
        let most = bounds.len().saturating_sub(1).min(COLUMN_ELEMENTS);
        // One frame at least, whatever its rows, so that there is an end.
        let fitting = bounds
            .iter()
            .skip(1)
            .take(most)
            .take_while(|&&end| (end as usize).saturating_sub(first) <= SITE_ROWS)
            .count();
        fitting.max(most.min(1))
    }

    pub(crate) fn append(self, sites: &mut Sites) -> Result<usize, ErrorKind> {
        let count = self.function.len();
        columns("file", self.file.len(), count)?;
        columns("line", self.line.len(), count)?;
        if sites.first.is_empty() {
            sites.first.push(0);
        }
        let mut end = sites.function.len() as u64;
        for &rows in &self.rows {
            end += u64::from(rows);
            // Larger than any count of rows, so the comparison below fails.
            sites.first.push(u32::try_from(end).unwrap_or(u32::MAX));
        }
        columns("rows", (end as usize).wrapping_sub(sites.function.len()), count)?;
        sites.function.extend(self.function);
        sites.file.extend(self.file.into_iter().map(Maybe::id));
        sites.line.extend(self.line);
        Ok(self.rows.len())
    }
}

impl TimeColumns {
    /// The columns of some rows, which are those of trees in order.
    pub(crate) fn new(times: &[SampleTime], trees: &[Tree]) -> Self {
        let mut columns = Self::default();
        let mut before = (u32::MAX, 0, 0);
        for row in times {
            let after = trees.partition_point(|tree| tree.first_node <= row.node);
            // Validated, so there is one.
            let number = after.saturating_sub(1) as u32;
            if number == before.0 {
                columns.rows.last_mut().into_iter().for_each(|rows| *rows += 1);
            } else {
                let first = trees.get(number as usize).map_or(0, |tree| tree.first_node);
                before = (number, first, 0);
                columns.tree.push(number);
                columns.rows.push(1);
            }
            columns.after.push(row.time_us.saturating_sub(before.2));
            columns.node.push(row.node.saturating_sub(before.1));
            before.2 = row.time_us;
        }
        let metric: Vec<u64> = times.iter().map(|row| row.metric.into()).collect();
        let more = times.iter().map(|row| u64::from(row.samples.saturating_sub(1)));
        columns.metric = Sparse::from_column(&metric);
        columns.more = Sparse::from_column(&more.collect::<Vec<_>>());
        columns
    }

    pub(crate) fn append(
        self,
        times: &mut Vec<SampleTime>,
        trees: &[Tree],
    ) -> Result<usize, ErrorKind> {
        let Self { tree, rows, after, node, metric, more } = self;
        let count = after.len();
        columns("rows", rows.len(), tree.len())?;
        columns("node", node.len(), count)?;
        let sparse = |column| ErrorKind::Layout(Layout::Sparse { column });
        let [metric, more] = [(metric, "metric"), (more, "samples")].map(|(column, name)| {
            let mut values = Vec::new();
            let whole = column.extend(&mut values, count).ok_or(sparse(name));
            whole.map(|()| values)
        });
        let (metric, more) = (metric?, more?);
        let odd = |column| ErrorKind::Layout(Layout::Columns { column });
        let mut row = 0;
        let mut before = None;
        for (number, rows) in tree.into_iter().zip(rows) {
            let tree = trees.get(number as usize).filter(|_| before < Some(number) && rows > 0);
            let tree = tree.ok_or(odd("tree"))?;
            before = Some(number);
            let mut time_us = 0_u64;
            for _ in 0..rows {
                let (Some(&after), Some(&node)) = (after.get(row), node.get(row)) else {
                    return Err(odd("rows"));
                };
                let (metric, samples) = (u8::try_from(metric[row]), u32::try_from(more[row]));
                let samples = samples.ok().and_then(|more| more.checked_add(1));
                time_us = time_us.checked_add(after).ok_or(odd("after"))?;
                times.push(SampleTime {
                    time_us,
                    node: Some(node)
                        .filter(|&node| node < tree.node_count)
                        .and_then(|node| tree.first_node.checked_add(node))
                        .ok_or(odd("node"))?,
                    metric: metric.map_err(|_| odd("metric"))?,
                    samples: samples.ok_or(odd("samples"))?,
                });
                row += 1;
            }
        }
        columns("rows", row, count)?;
        Ok(count)
    }
}

impl TreeColumns {
    pub(crate) fn new(trees: &[Tree]) -> Self {
        Self {
            thread: trees.iter().map(|tree| tree.thread).collect(),
            epoch: trees.iter().map(|tree| tree.epoch).collect(),
            nodes: trees.iter().map(|tree| tree.node_count).collect(),
        }
    }

    pub(crate) fn append(self, trees: &mut Vec<Tree>) -> Result<usize, ErrorKind> {
        let count = self.thread.len();
        columns("epoch", self.epoch.len(), count)?;
        columns("nodes", self.nodes.len(), count)?;
        let mut end =
            trees.last().map_or(0, |tree| tree.first_node.saturating_add(tree.node_count));
        for ((thread, epoch), node_count) in self.thread.into_iter().zip(self.epoch).zip(self.nodes)
        {
            trees.push(Tree { thread, epoch, first_node: end, node_count });
            end = end.saturating_add(node_count);
        }
        Ok(count)
    }
}

impl NodeColumns {
    /// The columns of nodes `range`, which are in pre-order.
    pub(crate) fn new(nodes: &Nodes, range: core::ops::Range<usize>) -> Self {
        Self {
            up: range.clone().map(|node| ascent(&nodes.parent, node)).collect(),
            frame: nodes.frame.get(range.clone()).unwrap_or_default().to_vec(),
            samples: Sparse::from_column(nodes.samples.get(range.clone()).unwrap_or_default()),
            edges: Sparse::from_column(nodes.edges.get(range).unwrap_or_default()),
        }
    }

    /// Reads what comes next in a payload in the place of what there is. `None` if it is not as it
    /// is written.
    pub(crate) fn read(&mut self, payload: &mut Integers<'_>) -> Option<()> {
        payload.read(&mut self.up)?;
        payload.read(&mut self.frame)?;
        self.samples.read(payload)?;
        self.edges.read(payload)
    }

    /// Bytes of memory that its vectors take, used or not.
    pub(crate) fn memory(&self) -> usize {
        self.up.capacity() * size_of::<u32>()
            + self.frame.capacity() * size_of::<FrameId>()
            + self.samples.memory()
            + self.edges.memory()
    }

    /// Samples and returns of all these nodes, or the greatest number.
    pub(crate) fn sums(&self) -> [u64; 2] {
        [&self.samples, &self.edges]
            .map(|column| column.value.iter().fold(0_u64, |sum, &value| sum.saturating_add(value)))
    }

    /// Appends the nodes to those of `profile`, whose trees are known. `path` is that of the last
    /// node, from the root of its tree; empty before the first one.
    pub(crate) fn append(
        &self,
        profile: &mut Profile,
        path: &mut Vec<u32>,
    ) -> Result<usize, ErrorKind> {
        let Profile { trees, nodes, .. } = profile;
        let count = self.up.len();
        columns("frame", self.frame.len(), count)?;
        let start = nodes.len();
        let tree = trees.partition_point(|tree| (tree.first_node as usize) < start);
        let mut roots = trees[tree..].iter().map(|tree| tree.first_node as usize).peekable();
        nodes.parent.reserve(count);
        for (node, &up) in (start..).zip(&self.up) {
            let number = node as u32;
            let parent = if roots.next_if_eq(&node).is_some() {
                path.clear();
                (up == 0).then_some(number)
            } else {
                let levels = path.len().saturating_sub(up as usize);
                path.truncate(levels);
                path.last().copied()
            };
            let Some(parent) = parent else {
                return Err(ErrorKind::Layout(Layout::Ascent { node: node as u64 }));
            };
            nodes.parent.push(parent);
            path.push(number);
        }
        nodes.frame.extend_from_slice(&self.frame);
        let sparse = |column| ErrorKind::Layout(Layout::Sparse { column });
        self.samples.extend(&mut nodes.samples, count).ok_or(sparse("samples"))?;
        self.edges.extend(&mut nodes.edges, count).ok_or(sparse("edges"))?;
        Ok(count)
    }
}

/// Levels from the node before `node` up to the parent of `node`.
///
/// Over a whole tree in pre-order this takes one step for each node: a level that was left is
/// never visited again.
fn ascent(parent: &[u32], node: usize) -> u32 {
    let Some(&target) = parent.get(node).filter(|&&target| (target as usize) < node) else {
        return 0;
    };
    let mut up = 0;
    let mut level = node as u32 - 1;
    while level > target {
        level = parent.get(level as usize).copied().unwrap_or(target);
        up += 1;
    }
    up
}
