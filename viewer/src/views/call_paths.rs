//! Call paths as numbers: the rows of the whole top-down tree, made in one pass.

use rustc_hash::FxHashMap;

use super::path::{Path, Step};
use super::row::Row;
use crate::profile::{FrameKind, FunctionRef};
use crate::refine::{Cancelled, Refined, Watch, depth_first};

/// What stands for no path: the root of everything.
const ROOT: u32 = 0;

/// A call path, the last of whose functions this is.
#[derive(Clone, Copy, Debug)]
struct Last {
    above: u32,
    function: FunctionRef,
    kind: FrameKind,
}

/// All call paths with samples. Their numbers ascend from callers to what these call; 0 is the
/// empty one.
#[derive(Clone, Debug)]
pub(super) struct CallPaths {
    paths: Vec<Last>,
    /// Path and node, in order.
    nodes: Vec<(u32, u32)>,
    /// Where the nodes of each path begin, and where the last end.
    first: Vec<u32>,
}

impl CallPaths {
    /// Those of a forest. O(nodes × log nodes).
    pub(super) fn of(refined: &Refined, watch: &Watch<'_>) -> Result<Self, Cancelled> {
        let root = refined.frames[refined.frame[0].index()];
        let mut paths = vec![Last { above: ROOT, function: root.function, kind: root.kind }];
        let mut numbers: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut of_node = vec![ROOT; refined.node_count()];
        let mut nodes = Vec::new();
        depth_first(refined, watch, |node| {
            let frame = refined.frames[refined.frame[node].index()];
            let (above, function, kind) =
                (of_node[refined.parent[node] as usize], frame.function, frame.kind);
            let number = *numbers.entry((above, frame.row_key())).or_insert_with(|| {
                paths.push(Last { above, function, kind });
                (paths.len() - 1) as u32
            });
            of_node[node] = number;
            nodes.push((number, node as u32));
        })?;
        nodes.sort_unstable();
        let first = (0..=paths.len() as u32).map(|path| nodes.partition_point(|of| of.0 < path));
        let first = first.map(|place| place as u32).collect();
        Ok(Self { paths, nodes, first })
    }

    /// The numbers of all but the empty one.
    pub(super) fn numbers(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        1..self.paths.len() as u32
    }

    pub(super) fn above(&self, path: u32) -> u32 {
        self.paths[path as usize].above
    }

    pub(super) fn function(&self, path: u32) -> FunctionRef {
        self.paths[path as usize].function
    }

    pub(super) fn kind(&self, path: u32) -> FrameKind {
        self.paths[path as usize].kind
    }

    /// The nodes of a path, of which none is below another.
    pub(super) fn nodes(&self, path: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let range = self.first[path as usize] as usize..self.first[path as usize + 1] as usize;
        self.nodes[range].iter().map(|&(_, node)| node)
    }

    /// Its rows, outermost first, without weights.
    pub(super) fn rows(&self, path: u32) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut at = path;
        while at != ROOT {
            let Last { above, function, kind } = self.paths[at as usize];
            rows.push(Row::empty(function, kind));
            at = above;
        }
        rows.reverse();
        rows
    }

    /// Where it is in the tree.
    pub(super) fn path(&self, refined: &Refined, path: u32) -> Path {
        Path(self.rows(path).iter().map(|row| Step::of(refined, row)).collect())
    }
}
