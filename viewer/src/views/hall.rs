//! Hall's tables: what the current path costs when it is made longer by one function.
//!
//! A path is a list of frames, each called by the one before it, directly or at any depth; it may
//! begin anywhere on the stack. Its table has a row for each function g: *downward*, the path with
//! g below its end; *upward*, with g above its beginning; *immediate*, where g is called (or calls)
//! directly, or *extended*, where any number of calls may lie between. The user begins with the
//! empty path, reads the table, chooses a row, and so refines path and table step by step
//! (R. J. Hall, "Call path refinement profiles", IEEE TSE 21(6), 1995). For the empty path all four
//! tables are the flat view.
//!
//! A row counts every sample once: only that of nodes at which no match of the same row is further
//! out. The lock is on the label, so recursion adds nothing, whatever else lies between. Exclusive
//! cost and edge counts are those of all nodes at which the longer path ends, as in the flat view.
//! Hence the law that tests hold against brute force: the inclusive cost of row g is what
//! `through path > g` shows (`>>`, `g > path`, `g >> path`).
//!
//! Downward, a table is a flat view of the nodes below the path; upward, of the nodes at which the
//! path ends, each for its callers (`upward`).

mod upward;

use super::flat::by_function;
use super::row::Row;
use super::sort::Sort;
use super::tally::{self, Tally};
use super::tree::{Direction, Opened, RowTree};
use crate::profile::{FrameKind, FrameRef, FunctionRef};
use crate::refine::{Cancelled, Chain, Link, Refined, Stopped, Watch, in_width};

/// Which way a path is made longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// By what its last function calls.
    #[default]
    Down,
    /// By what calls its first function.
    Up,
}

/// How near the new function must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// A direct call.
    #[default]
    Immediate,
    /// Any number of calls.
    Extended,
}

impl Reach {
    /// The link that the new function has to the path.
    #[must_use]
    pub const fn link(self) -> Link {
        match self {
            Self::Immediate => Link::Direct,
            Self::Extended => Link::Below,
        }
    }
}

/// The table of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HallTable {
    /// What the path itself costs: all that is shown, for the empty path.
    pub path: Row,
    /// A row for each function by which the path can be made longer, in no order. Where a path
    /// begins at the outermost frame, the immediate upward table has a row of the root.
    pub rows: Vec<Row>,
}

impl HallTable {
    /// The table of a path; `None` is the empty path. O(nodes).
    ///
    /// # Errors
    /// A frame of the path matches nothing that is shown, or the watch ended it.
    pub fn new(
        refined: &Refined,
        path: Option<&Chain>,
        way: Way,
        reach: Reach,
        watch: &Watch<'_>,
    ) -> Result<Self, Stopped> {
        let (mut rows, path) = match (path, way) {
            (None, _) => {
                let rows = by_function(refined, watch).map_err(|Cancelled| Stopped::Cancelled)?;
                (rows, Row::of_everything(refined))
            }
            (Some(path), Way::Down) => downward(refined, path, reach.link(), watch)?,
            (Some(path), Way::Up) => upward::rows(refined, path, reach.link(), watch)?,
        };
        // Rows of a table have nothing below them.
        rows.iter_mut().for_each(|row| row.has_children = false);
        Ok(Self { path, rows })
    }
}

/// The rows downward, and that of the path: a node counts if the path ends at the one above it, or
/// above that.
fn downward(
    refined: &Refined,
    path: &Chain,
    link: Link,
    watch: &Watch<'_>,
) -> Result<(Vec<Row>, Row), Stopped> {
    watch.begin(0, 1, 1 + tally::passes(refined), refined.node_count());
    let ends = refined.ends_of(path, watch)?;
    let (parent, frame) = (&refined.parent[..], &refined.frame[..]);
    let tallied = in_width!(&refined.costs, costs => tally::rows(refined, costs, |added| {
        let added = added.of_path(refined, path);
        Tally::by_frame(refined, added, watch, |tally, node, at| {
            let counts = match link {
                Link::Direct => ends.contains(parent[node] as usize),
                Link::Below => at < tally.end_of_path(),
            };
            if ends.contains(node) {
                tally.add_to_path(node, at);
            }
            counts.then(|| frame[node])
        })
    }));
    let tallied = tallied.map_err(|Cancelled| Stopped::Cancelled)?;
    watch.end();
    Ok(tallied)
}

/// The function with which the matches of a path end; `None` where they end with several. O(nodes).
///
/// # Errors
/// A frame of the path matches nothing that is shown, or the watch ended it.
pub fn end_of(
    refined: &Refined,
    path: &Chain,
    watch: &Watch<'_>,
) -> Result<Option<FunctionRef>, Stopped> {
    let ends = refined.ends_of(path, watch)?;
    let nodes = (0..refined.node_count()).filter(|node| ends.contains(*node));
    let mut functions = nodes.map(|node| refined.frames[refined.frame[node].index()].function);
    let Some(first) = functions.next() else { return Ok(None) };
    let key = refined.key(first);
    let is_it = |function| function == first || refined.is_function(function, &key);
    Ok(functions.all(is_it).then_some(first))
}

/// What the rows of a table are, in words: `called directly by: main > solve`.
#[must_use]
pub fn title(path: Option<&Chain>, way: Way, reach: Reach) -> String {
    let relation = relation(path.is_some(), way, reach);
    path.map_or_else(|| relation.to_owned(), |path| format!("{relation}: {path}"))
}

/// The same without the path.
#[must_use]
pub const fn relation(has_path: bool, way: Way, reach: Reach) -> &'static str {
    match (way, reach) {
        _ if !has_path => "Function",
        (Way::Down, Reach::Immediate) => "Called directly",
        (Way::Down, Reach::Extended) => "Called at any depth",
        (Way::Up, Reach::Immediate) => "Direct callers",
        (Way::Up, Reach::Extended) => "Callers at any distance",
    }
}

/// A list of rows without anything below them, as a tree of one level.
#[derive(Clone, Debug)]
pub struct Listed;

/// The rows of a table in order.
pub type ListedRows = RowTree<Listed>;

impl ListedRows {
    /// The rows of a table.
    #[must_use]
    pub fn of(refined: &Refined, table: &HallTable, sort: Sort) -> Self {
        let root = Row { has_children: !table.rows.is_empty(), ..table.path.clone() };
        let mut tree = Self::with_root(Listed, refined, root, Vec::new());
        tree.set_sort(sort);
        tree.set_root_children(refined, table.rows.clone());
        tree
    }
}

/// The direct callers of a path, what it costs itself, and what it calls directly.
#[derive(Clone, Debug)]
pub struct ButterflyTables {
    /// A row for each: callers, those last that come first in other tables; the path; callees.
    pub rows: ListedRows,
    /// How many callers there are, and so the place of the path.
    pub callers: usize,
}

impl ButterflyTables {
    /// That of a path, whose row is called like this function. O(nodes), for both tables.
    ///
    /// # Errors
    /// As for [`HallTable::new`].
    pub fn new(
        refined: &Refined,
        path: &Chain,
        function: FunctionRef,
        watch: &Watch<'_>,
    ) -> Result<Self, Stopped> {
        let table = |way| HallTable::new(refined, Some(path), way, Reach::Immediate, watch);
        let (above, below) = (table(Way::Up)?, table(Way::Down)?);
        let callers = above.rows.len();
        let row = Row { function, kind: FrameKind::Call, ..above.path.clone() };
        let root = Row { has_children: true, ..above.path };
        let mut rows = ListedRows::with_root(Listed, refined, root, Vec::new());
        // What counts most is nearest to the path, on either side.
        rows.set_sections(vec![(callers, true), (1, false)]);
        rows.set_root_children(refined, [above.rows, vec![row], below.rows].concat());
        Ok(Self { rows, callers })
    }
}

impl Direction for Listed {
    type Member = u32;

    const KEEPS_MEMBERS: bool = true;

    const IS_NESTED: bool = false;

    fn step(&self, _: &Refined, _: Opened<'_, u32>, _: &mut Vec<u32>) {}

    fn frame(&self, refined: &Refined, node: u32) -> FrameRef {
        refined.frame[node as usize]
    }

    fn node(&self, node: u32) -> u32 {
        node
    }

    fn places(&self, _: u32) -> core::ops::Range<u32> {
        0..0
    }

    fn leads_on(&self, _: &Refined, _: u32) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
