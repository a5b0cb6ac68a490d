//! The rows that are open, as one flat list: what a screen scrolls over.
//!
//! A window is a slice of the list, whatever the number of rows. Opening and closing splice the
//! list, which moves 8 bytes for each row below; that is well under a millisecond at a million.
//! A row that is closed remembers what was open below it.

use super::path::{Path, Step};
use super::tree::{Direction, RowId, RowTree};
use crate::refine::Refined;

/// A row on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The row.
    pub row: RowId,
    /// How far it is indented, from 0.
    pub depth: u32,
}

/// The open rows of one tree.
#[derive(Clone, Debug)]
pub struct Visible {
    top: RowId,
    lines: Vec<Line>,
    open: OpenRows,
}

/// Which rows of a tree are open, in words that the tree of every refinement understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenPaths {
    top: Path,
    /// Each open row below the number of the one that it is in: 0 is the top, 1 the first of these.
    rows: Vec<(u32, Step)>,
}

impl OpenPaths {
    /// Open rows below a top one, each with the number of the one that it is in: 0 is the top, 1
    /// the first of these. `None` if one is said to be in itself or in a later one.
    #[must_use]
    pub fn new(top: Path, rows: Vec<(u32, Step)>) -> Option<Self> {
        let is_behind = |(place, (above, _)): (usize, &(u32, Step))| *above as usize <= place;
        let are_behind = rows.iter().enumerate().all(is_behind);
        are_behind.then_some(Self { top, rows })
    }

    /// The top, and the open rows below it.
    #[must_use]
    pub fn parts(&self) -> (&Path, &[(u32, Step)]) {
        (&self.top, &self.rows)
    }

    /// How many rows it names.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.top.0.len() + self.rows.len()
    }
}

/// A set of rows, one bool for each row id up to the greatest one in it. Row ids are dense, and
/// making the list asks once for every line.
#[derive(Clone, Debug, Default)]
struct OpenRows(Vec<bool>);

impl OpenRows {
    fn of(rows: impl IntoIterator<Item = RowId>) -> Self {
        let mut open = Self::default();
        for row in rows {
            open.insert(row);
        }
        open
    }

    fn contains(&self, row: RowId) -> bool {
        self.0.get(row.index()).is_some_and(|&open| open)
    }

    /// Whether the row was not in the set before.
    fn insert(&mut self, row: RowId) -> bool {
        if self.0.len() <= row.index() {
            self.0.resize(row.index() + 1, false);
        }
        !core::mem::replace(&mut self.0[row.index()], true)
    }

    /// Whether the row was in the set.
    fn remove(&mut self, row: RowId) -> bool {
        self.0.get_mut(row.index()).is_some_and(core::mem::take)
    }
}

impl Visible {
    /// The rows below `top`, all closed. `top` itself is the first line, and open, unless it is
    /// the root of everything, whose children say the same.
    pub fn new<D: Direction>(tree: &mut RowTree<D>, refined: &Refined, top: RowId) -> Self {
        let mut visible = Self { top, lines: Vec::new(), open: OpenRows::of([top]) };
        visible.rebuild(tree, refined);
        visible
    }

    /// All lines; a window is a slice of them.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Whether a row is open. It may itself be below a closed one.
    #[must_use]
    pub fn is_open(&self, row: RowId) -> bool {
        self.open.contains(row)
    }

    /// The line of a row, if it is not below a closed one. Looks through the list.
    #[must_use]
    pub fn position(&self, row: RowId) -> Option<usize> {
        self.lines.iter().position(|line| line.row == row)
    }

    /// Opens the row of a line; nothing happens if it is open or has no children.
    pub fn open<D: Direction>(&mut self, tree: &mut RowTree<D>, refined: &Refined, at: usize) {
        let Some(&Line { row, depth }) = self.lines.get(at) else { return };
        if !tree.row(row).has_children || !self.open.insert(row) {
            return;
        }
        let mut below = Vec::new();
        self.flatten(tree, refined, row, depth + 1, &mut below);
        self.lines.splice(at + 1..at + 1, below);
    }

    /// Opens the row of a line, and with it rows below it.
    pub fn open_with<D: Direction>(
        &mut self,
        tree: &mut RowTree<D>,
        refined: &Refined,
        at: usize,
        below: &[RowId],
    ) {
        if self.lines.get(at).is_some_and(|line| !self.open.contains(line.row)) {
            for &row in below {
                self.open.insert(row);
            }
        }
        self.open(tree, refined, at);
    }

    /// Closes the row of a line. What is open below it stays open for the next time.
    pub fn close(&mut self, at: usize) {
        let Some(&Line { row, .. }) = self.lines.get(at) else { return };
        if self.open.remove(row) {
            self.lines.drain(at + 1..self.end_of_subtree(at));
        }
    }

    /// One past the last line at or below the row of a line.
    #[must_use]
    pub fn end_of_subtree(&self, at: usize) -> usize {
        let depth = self.lines[at].depth;
        let below = self.lines[at + 1..].iter().take_while(|line| line.depth > depth);
        at + 1 + below.count()
    }

    /// Opens everything below a line, outer rows first, until `limit` lines are shown there.
    /// Returns whether all of it fitted.
    pub fn open_subtree<D: Direction>(
        &mut self,
        tree: &mut RowTree<D>,
        refined: &Refined,
        at: usize,
        limit: usize,
    ) -> bool {
        let Some(&Line { row: start, .. }) = self.lines.get(at) else { return true };
        let mut level = vec![start];
        let mut shown = 0;
        let mut complete = true;
        while !level.is_empty() && complete {
            let mut next = Vec::new();
            for row in level {
                if !tree.row(row).has_children {
                    continue;
                }
                let children = tree.children(refined, row);
                if shown + children.len() > limit {
                    complete = false;
                    break;
                }
                shown += children.len();
                next.extend_from_slice(children);
                self.open.insert(row);
            }
            level = next;
        }
        self.rebuild(tree, refined);
        complete
    }

    /// Opens every row above `row`, so that it has a line, and returns that line. `None` if the
    /// row is not below [`Visible::top`].
    pub fn reveal<D: Direction>(
        &mut self,
        tree: &mut RowTree<D>,
        refined: &Refined,
        row: RowId,
    ) -> Option<usize> {
        let mut path = vec![row];
        let mut at = row;
        while at != self.top {
            at = tree.parent(at)?;
            path.push(at);
        }
        // Each row is below the one before it, so one walk through the list finds them all.
        let mut line = 0;
        for (place, &on_path) in path.iter().enumerate().rev() {
            if on_path == self.top && self.lines.get(line).is_none_or(|first| first.row != on_path)
            {
                continue;
            }
            line += self.lines[line..].iter().position(|line| line.row == on_path)?;
            if place > 0 && !self.open.contains(on_path) {
                self.open(tree, refined, line);
            }
        }
        Some(line)
    }

    /// Makes the list again: after the order of children changed.
    pub fn rebuild<D: Direction>(&mut self, tree: &mut RowTree<D>, refined: &Refined) {
        let mut lines = core::mem::take(&mut self.lines);
        lines.clear();
        let shown = self.top != RowId::ROOT;
        if shown {
            lines.push(Line { row: self.top, depth: 0 });
        }
        self.flatten(tree, refined, self.top, u32::from(shown), &mut lines);
        self.lines = lines;
    }

    /// Which rows are open, for another tree. Costs what is in the list.
    pub fn open_paths<D: Direction>(&self, tree: &RowTree<D>, refined: &Refined) -> OpenPaths {
        let top = u32::from(self.top != RowId::ROOT);
        let mut rows = Vec::new();
        // For each level, the number of the open row that the present line is below.
        let mut above: Vec<u32> = vec![0];
        for line in &self.lines {
            if line.row == self.top || !self.open.contains(line.row) {
                continue;
            }
            let level = (line.depth - top) as usize;
            above.truncate(level + 1);
            rows.push((above[level], Step::of(refined, tree.row(line.row))));
            // Rows are numbered in 32 bits.
            above.push(rows.len() as u32);
        }
        OpenPaths { top: tree.path(refined, self.top), rows }
    }

    /// The rows of a tree with those open that were open elsewhere and are there. Rows that are
    /// gone hand what was open below them to the row above, and loops that have come between are
    /// open.
    pub fn with_open<D: Direction>(
        tree: &mut RowTree<D>,
        refined: &Refined,
        paths: &OpenPaths,
    ) -> Self {
        let (top, _) = tree.locate(refined, &paths.top);
        let mut open = OpenRows::of([RowId::ROOT, top]);
        let mut found = vec![top];
        for (above, step) in &paths.rows {
            let above = found[*above as usize];
            let row = tree.child_or_in_loop(refined, above, step);
            let up_to_it = std::iter::successors(row, |at| tree.parent(*at));
            up_to_it.take_while(|at| *at != above).for_each(|at| {
                open.insert(at);
            });
            found.push(row.unwrap_or(above));
        }
        let mut visible = Self { top, lines: Vec::new(), open };
        visible.rebuild(tree, refined);
        visible
    }

    /// Appends the children of `row` and whatever is open below them.
    fn flatten<D: Direction>(
        &self,
        tree: &mut RowTree<D>,
        refined: &Refined,
        row: RowId,
        depth: u32,
        lines: &mut Vec<Line>,
    ) {
        let children = |tree: &mut RowTree<D>, row, depth, pending: &mut Vec<Line>| {
            let children = tree.children(refined, row).iter().rev();
            pending.extend(children.map(|&row| Line { row, depth }));
        };
        let mut pending = Vec::new();
        children(tree, row, depth, &mut pending);
        while let Some(line) = pending.pop() {
            lines.push(line);
            if self.open.contains(line.row) {
                children(tree, line.row, line.depth + 1, &mut pending);
            }
        }
    }
}
