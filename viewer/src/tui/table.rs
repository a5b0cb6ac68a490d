//! A tree of rows on the screen: which are open, which one is selected, where the window is.
//!
//! The selection is a row, not a line number: it stays on its row when rows above open, close or
//! are sorted, and goes with its call path into the tree of another refinement.

use core::cmp::Reverse;
use core::mem;
use core::ops::Range;
use std::collections::HashSet;
use std::sync::Arc;

use crate::profile::{FunctionKey, MetricRef};
use crate::refine::Refined;
use crate::views::columns::{Basis, Column};
use crate::views::folds::{Folds, chain_below};
use crate::views::hot_path::{Heat, USUAL_SHARE, hot_path};
use crate::views::path::Path;
use crate::views::tree::{Direction, RowId, RowTree};
use crate::views::visible::{Line, OpenPaths, Visible};
use crate::views::{Cost, Row, Sort};

/// Most rows that one key opens.
pub const OPEN_LIMIT: usize = 1000;

/// A tree of rows with its state on the screen.
#[derive(Clone, Debug)]
pub struct Table<D: Direction> {
    tree: RowTree<D>,
    /// The metric in whose order the lines are.
    metric: MetricRef,
    visible: Visible,
    /// What is seen of it, where chains are folded.
    folds: Option<Box<Folds>>,
    /// Line of the selected row; 0 if there are no lines.
    selected: usize,
    /// First line of the window.
    scroll: usize,
    /// The lengths of the longest bars of columns that were asked for since the lines became
    /// others. In another order they are the same.
    longest: Vec<(Column, MetricRef, f64)>,
    /// Rows that hot paths went through, and the last ones of these paths.
    hot: HashSet<RowId>,
    hot_ends: Vec<RowId>,
    /// Where the hot paths end, if that was asked for since it changed.
    hot_paths: Option<Arc<Vec<Path>>>,
    /// Which rows are open, if that was asked for since it changed.
    open: Option<Arc<OpenPaths>>,
    /// Which chains are not folded, if that was asked for since it changed.
    unfolded: Option<Arc<Unfolded>>,
}

/// Which chains are not folded: all, or those that begin with these rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unfolded {
    pub(super) is_all: bool,
    pub(super) first: Vec<Path>,
}

/// What a table looks like, for the time when its tree is another one. As large as what is open.
#[derive(Clone, Debug)]
pub struct Look {
    pub(super) sort: Sort,
    pub(super) open: Arc<OpenPaths>,
    pub(super) unfolded: Option<Arc<Unfolded>>,
    pub(super) hot: Arc<Vec<Path>>,
    pub(super) selected: Path,
    /// Lines between the first one of the window and the selected one.
    pub(super) above: usize,
}

impl Look {
    /// The order of rows.
    #[must_use]
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// The selected row.
    pub(super) fn selected(&self) -> &Path {
        &self.selected
    }

    /// How many rows are open.
    pub(super) fn open_rows(&self) -> usize {
        self.open.rows()
    }

    /// Whether the same rows are open. Mostly it is the same list.
    #[must_use]
    pub fn has_same_open(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.open, &other.open) || self.open == other.open)
            && self.unfolded == other.unfolded
    }

    /// How many rows it names that `other` does not name by the same list.
    pub(super) fn rows_besides(&self, other: Option<&Self>) -> usize {
        let has_same_open = other.is_some_and(|other| Arc::ptr_eq(&self.open, &other.open));
        let has_same_hot = other.is_some_and(|other| Arc::ptr_eq(&self.hot, &other.hot));
        let open = if has_same_open { 0 } else { self.open.rows() };
        let hot = self.hot.iter().map(|path| path.0.len()).sum();
        let unfolded = match (&self.unfolded, other.and_then(|other| other.unfolded.as_ref())) {
            (Some(one), Some(other)) if Arc::ptr_eq(one, other) => 0,
            (one, _) => one.iter().flat_map(|of| &of.first).map(|path| path.0.len()).sum(),
        };
        open + unfolded + if has_same_hot { 0 } else { hot } + self.selected.0.len()
    }
}

/// What is open and selected in a table, and where its window is.
#[derive(Clone, Debug)]
pub struct TablePlace {
    visible: Visible,
    folds: Option<Box<Folds>>,
    selected: usize,
    scroll: usize,
}

/// What a table does whichever way its rows lead.
pub trait Rows {
    /// Number of lines.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A line, if there is one of this number.
    fn line(&self, at: usize) -> Option<Line>;
    /// The row of a line.
    fn row(&self, line: Line) -> &Row;
    /// The row above that of a line.
    fn parent(&self, line: Line) -> Option<&Row>;
    /// The row above that of a line, by its number.
    fn above(&self, line: Line) -> Option<RowId>;
    /// The rows below one: of many, the first ones.
    fn first_below(&self, above: RowId) -> Vec<&Row>;
    /// How many frames deep the row of a line is, from 1.
    fn frames(&self, line: Line) -> u32;
    /// The rows that the line of this number stands for, where it is a fold.
    fn folded(&self, at: usize) -> Option<Vec<&Row>>;
    /// Folds chains of rows, or shows them all; returns whether they are folded now. `None` where
    /// rows are never folded.
    fn toggle_folds(&mut self, refined: &Refined) -> Option<bool>;
    /// The length of the longest bar of a column ([`Cell::length`](crate::views::columns::Cell)).
    /// Costs what is open, unless it was [measured](Rows::measure) since that changed.
    fn longest(&self, refined: &Refined, column: Column) -> f64;
    /// Finds out how long the longest bar of a column is.
    fn measure(&mut self, refined: &Refined, column: Column);
    /// Makes the strips of the rows of some lines, where they are wanted. Costs what these rows
    /// are made of, once.
    fn fill_strips(&mut self, refined: &Refined, lines: Range<usize>);
    /// Whether the row of a line is open.
    fn is_open(&self, line: Line) -> bool;
    /// Whether the hot path went through the row of a line.
    fn is_hot(&self, line: Line) -> bool;
    /// What is open and selected, and where the window is.
    fn place(&self) -> TablePlace;
    /// Goes back to a place in this table.
    fn return_to(&mut self, place: TablePlace);
    /// What it looks like.
    fn look(&mut self, refined: &Refined) -> Look;
    /// Looks like this again, as far as the rows are there.
    fn look_like(&mut self, refined: &Refined, look: &Look);
    /// The number of the selected line.
    fn selected(&self) -> usize;
    /// The first line of the window.
    fn scroll(&self) -> usize;
    /// Selects a line; the last one if there are fewer.
    fn select(&mut self, at: usize);
    /// Moves the window so that the selected line is in it.
    fn keep_in_view(&mut self, height: usize);
    /// Moves the window so that so many lines are seen above the selected one.
    fn put(&mut self, above: usize);
    /// Moves the window by lines, and the selection with it where it would leave the window.
    fn scroll_by(&mut self, lines: isize, height: usize);
    /// Opens the selected row; if it is open, selects its first child.
    fn open_or_enter(&mut self, refined: &Refined);
    /// Closes the selected row; if it is closed or a fold, selects its parent.
    fn close_or_leave(&mut self, refined: &Refined);
    /// Opens or closes the selected row; shows the rows of a fold.
    fn toggle(&mut self, refined: &Refined);
    /// Opens what is below the selected row; returns whether all of it fitted the limit.
    fn open_subtree(&mut self, refined: &Refined) -> bool;
    /// Closes all rows.
    fn close_all(&mut self, refined: &Refined);
    /// Opens and selects along the hot path from the selected row; returns its length.
    fn follow_hot_path(&mut self, refined: &Refined, share: u32) -> usize;
    /// The order of rows.
    fn sort(&self) -> Sort;
    /// Changes the order of rows.
    fn set_sort(&mut self, refined: &Refined, sort: Sort);
    /// Lets rows be of the metric that is looked at. What is open stays so, and the selection stays
    /// on its row.
    fn look_at_metric(&mut self, refined: &Refined);
    /// Forgets which rows the hot path went through.
    fn forget_hot_paths(&mut self);
    /// Where the open rows are, but for those above other open rows: each place among the
    /// siblings, from 1, outermost first.
    fn open_places(&self) -> Vec<Vec<usize>>;
    /// The functions from the root to a line's row.
    fn path(&self, refined: &Refined, line: Line) -> Path;
    /// How many rows that path has.
    fn depth(&self, line: Line) -> usize;
    /// The rows from the root's child to a line's row.
    fn rows_to(&self, line: Line) -> Vec<&Row>;
    /// The lines whose row's function is wanted, those that cost most first.
    fn find(&self, wanted: &[bool], refined: &Refined, cost: Cost) -> Vec<usize>;
}

impl<D: Direction> Table<D> {
    /// A table with all rows closed.
    #[must_use]
    pub fn new(mut tree: RowTree<D>, refined: &Refined) -> Self {
        let visible = Visible::new(&mut tree, refined, RowId::ROOT);
        let (hot, hot_ends) = (HashSet::new(), Vec::new());
        let (hot_paths, open, unfolded) = (None, None, None);
        let metric = refined.metric;
        let (folds, longest) = (None, Vec::new());
        let (selected, scroll) = (0, 0);
        Self {
            tree,
            metric,
            visible,
            folds,
            selected,
            scroll,
            longest,
            hot,
            hot_ends,
            hot_paths,
            open,
            unfolded,
        }
    }

    /// The same, with chains folded.
    #[must_use]
    pub fn folding(mut self, refined: &Refined) -> Self {
        self.folds = Some(Box::default());
        self.changed(refined);
        self
    }

    /// Folds what was shown for the sake of what is below it, and selects the first row.
    pub fn begin(&mut self, refined: &Refined) {
        if let Some(folds) = &mut self.folds {
            folds.fold_but([]);
        }
        self.changed(refined);
        self.selected = usize::from(self.folded(0).is_some());
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &RowTree<D> {
        &self.tree
    }

    /// The tree, to open rows that have no line yet.
    pub fn tree_mut(&mut self) -> &mut RowTree<D> {
        &mut self.tree
    }

    /// Puts the tree of another refinement in the place of this one's. What was open and selected
    /// stays so as far as it is still there.
    pub fn replace(&mut self, from: &Refined, tree: RowTree<D>, refined: &Refined) {
        let look = self.look(from);
        *self = Self::new(tree, refined);
        self.look_like(refined, &look);
    }

    /// Selects the outermost row of a function, if there is one.
    pub fn select_function(&mut self, refined: &Refined, key: &FunctionKey) {
        let function = |line: &Line| self.tree.row(line.row).function;
        let is_it = |(_, line): &(usize, &Line)| {
            line.depth == 0 && refined.is_function(function(line), key)
        };
        // Of equal ones the first.
        let named = self.lines().iter().enumerate().rev().filter(is_it);
        let found = named.max_by_key(|(_, line)| refined.is_meant(function(line), key));
        self.selected = found.map_or(self.selected, |(at, _)| at);
    }

    /// Selects a row, opening what is above it and the fold that it is in.
    pub fn reveal(&mut self, refined: &Refined, row: RowId) {
        self.show_row(refined, row);
        if self.folded(self.selected).is_some() {
            self.unfold(refined);
            self.show_row(refined, row);
        }
    }

    /// Selects the row at a path or the nearest there is, opening what is above it. What begins a
    /// fold stands for it.
    pub fn reveal_path(&mut self, refined: &Refined, path: &Path) {
        let (row, _) = self.tree.locate(refined, path);
        self.show_row(refined, row);
        if self.line(self.selected).is_none_or(|line| line.row != row) {
            self.reveal(refined, row);
        }
    }

    /// Selects the line of a row or of its fold, opening what is above it.
    fn show_row(&mut self, refined: &Refined, row: RowId) {
        let lines = self.visible.lines().len();
        let place = self.visible.reveal(&mut self.tree, refined, row);
        if self.visible.lines().len() != lines {
            self.changed(refined);
        }
        self.selected = self.line_of(place.unwrap_or(0));
    }

    /// Shows the rows of the selected fold, the first one selected.
    fn unfold(&mut self, refined: &Refined) {
        let line = self.line(self.selected);
        if let Some((folds, line)) = self.folds.as_mut().zip(line) {
            folds.unfold(line.row);
        }
        self.changed(refined);
    }

    /// What is seen.
    fn lines(&self) -> &[Line] {
        self.folds.as_ref().map_or(self.visible.lines(), |folds| folds.lines())
    }

    /// The place of a line among those that are open.
    fn place_of(&self, at: usize) -> usize {
        self.folds.as_ref().map_or(at, |folds| folds.place(at))
    }

    /// The line that has, or covers, the open line at this place.
    fn line_of(&self, place: usize) -> usize {
        self.folds.as_ref().map_or(place, |folds| folds.line_of(place))
    }

    /// Selects the line of a row that is open, or the first one.
    fn select_row(&mut self, row: Option<RowId>) {
        let place = row.and_then(|row| self.visible.position(row)).unwrap_or(0);
        self.selected = self.line_of(place);
    }

    /// Other rows are open, or in another order, or folded.
    fn changed(&mut self, refined: &Refined) {
        if let Some(folds) = &mut self.folds {
            folds.rebuild(&self.tree, refined, &self.visible);
        }
        (self.open, self.unfolded) = (None, None);
        self.longest.clear();
    }
}

impl<D: Direction> Rows for Table<D> {
    fn len(&self) -> usize {
        self.lines().len()
    }

    fn line(&self, at: usize) -> Option<Line> {
        self.lines().get(at).copied()
    }

    fn row(&self, line: Line) -> &Row {
        self.tree.row(line.row)
    }

    fn parent(&self, line: Line) -> Option<&Row> {
        Some(self.tree.row(self.above(line)?))
    }

    fn above(&self, line: Line) -> Option<RowId> {
        self.tree.parent(line.row)
    }

    fn first_below(&self, above: RowId) -> Vec<&Row> {
        self.tree.first_below(above).collect()
    }

    fn frames(&self, line: Line) -> u32 {
        self.tree.depth(line.row)
    }

    fn folded(&self, at: usize) -> Option<Vec<&Row>> {
        let folds = self.folds.as_ref().filter(|folds| folds.rows(at) > 1)?;
        let rows = self.visible.lines()[folds.place(at)..].iter().take(folds.rows(at));
        Some(rows.map(|line| self.tree.row(line.row)).collect())
    }

    fn toggle_folds(&mut self, refined: &Refined) -> Option<bool> {
        let selected = self.line(self.selected).map(|line| line.row);
        let above = self.selected.saturating_sub(self.scroll);
        let folds = self.folds.as_mut()?;
        let is_on = !folds.is_on;
        folds.is_on = is_on;
        // What was shown one by one is folded with the others.
        folds.fold_but([]);
        self.changed(refined);
        self.select_row(selected);
        self.scroll = self.selected.saturating_sub(above);
        Some(is_on)
    }

    fn longest(&self, refined: &Refined, column: Column) -> f64 {
        let wanted = (column, refined.metric);
        let known = self.longest.iter().find(|&&(of, metric, _)| (of, metric) == wanted);
        if let Some(&(.., longest)) = known {
            return longest;
        }
        let begins_with_longest = self.tree.begins_with_most(refined, column);
        let mut above = None;
        let may_be_longest = |line: &&Line| {
            let is_first = above.is_none_or(|above| line.depth > above);
            above = Some(line.depth);
            is_first || !begins_with_longest
        };
        let lines = self.lines().iter().filter(may_be_longest);
        let mut rows: Vec<RowId> = lines.map(|line| line.row).collect();
        // As they lie in memory: they are large, and may be many.
        rows.sort_unstable();
        let basis = Basis::new(refined);
        let length = |row: RowId| column.value(&basis, self.tree.row(row)).length();
        rows.into_iter().filter_map(length).fold(0.0, f64::max)
    }

    fn measure(&mut self, refined: &Refined, column: Column) {
        let longest = self.longest(refined, column);
        self.longest.retain(|&(of, metric, _)| (of, metric) != (column, refined.metric));
        self.longest.push((column, refined.metric, longest));
    }

    fn fill_strips(&mut self, refined: &Refined, lines: Range<usize>) {
        let end = lines.end.min(self.len());
        for at in lines.start..end {
            if let Some(line) = self.line(at) {
                self.tree.fill_strip(refined, line.row);
            }
        }
    }

    fn is_open(&self, line: Line) -> bool {
        self.visible.is_open(line.row)
    }

    fn is_hot(&self, line: Line) -> bool {
        self.hot.contains(&line.row)
    }

    fn place(&self) -> TablePlace {
        let Self { visible, folds, selected, scroll, .. } = self;
        let (visible, folds) = (visible.clone(), folds.clone());
        TablePlace { visible, folds, selected: *selected, scroll: *scroll }
    }

    fn return_to(&mut self, place: TablePlace) {
        let TablePlace { visible, folds, selected, scroll } = place;
        (self.visible, self.folds, self.selected, self.scroll) = (visible, folds, selected, scroll);
        (self.open, self.unfolded) = (None, None);
        self.longest.clear();
    }

    fn look(&mut self, refined: &Refined) -> Look {
        let Self { tree, visible, folds, open, unfolded, hot_ends, hot_paths, .. } = self;
        let open = open.get_or_insert_with(|| Arc::new(visible.open_paths(tree, refined)));
        let open = Arc::clone(open);
        let unfolded = folds.as_ref().map(|folds| {
            let first =
                || folds.unfolded().into_iter().map(|row| tree.path(refined, row)).collect();
            let made = || Arc::new(Unfolded { is_all: !folds.is_on, first: first() });
            Arc::clone(unfolded.get_or_insert_with(made))
        });
        let hot = || Arc::new(hot_ends.iter().map(|&end| tree.path(refined, end)).collect());
        let hot = Arc::clone(hot_paths.get_or_insert_with(hot));
        let line = self.line(self.selected);
        let selected = line.map_or_else(Path::default, |line| self.tree.path(refined, line.row));
        let above = self.selected.saturating_sub(self.scroll);
        Look { sort: self.tree.sort(), open, unfolded, hot, selected, above }
    }

    fn look_like(&mut self, refined: &Refined, look: &Look) {
        self.metric = refined.metric;
        self.tree.set_sort(look.sort);
        self.visible = Visible::with_open(&mut self.tree, refined, &look.open);
        if let (Some(folds), Some(unfolded)) = (&mut self.folds, &look.unfolded) {
            folds.is_on = !unfolded.is_all;
            let found = unfolded.first.iter().map(|path| self.tree.locate(refined, path));
            let found: Vec<_> = found.filter(|(_, is_whole)| *is_whole).collect();
            folds.fold_but(found.into_iter().map(|(row, _)| row));
        }
        self.changed(refined);
        self.forget_hot_paths();
        for path in look.hot.iter() {
            if let (end, true) = self.tree.locate(refined, path) {
                self.mark_hot(end);
            }
        }
        self.reveal_path(refined, &look.selected);
        self.scroll = self.selected.saturating_sub(look.above);
    }

    fn selected(&self) -> usize {
        self.selected
    }

    fn scroll(&self) -> usize {
        self.scroll
    }

    fn select(&mut self, at: usize) {
        self.selected = at.min(self.len().saturating_sub(1));
    }

    fn keep_in_view(&mut self, height: usize) {
        let last_top = self.selected.saturating_sub(height.saturating_sub(1));
        self.scroll = self.scroll.clamp(last_top, self.selected.max(last_top));
        // No empty lines at the end while there are rows above.
        self.scroll = self.scroll.min(self.len().saturating_sub(height));
    }

    fn put(&mut self, above: usize) {
        self.scroll = self.selected.saturating_sub(above);
    }

    fn scroll_by(&mut self, lines: isize, height: usize) {
        let most = self.len().saturating_sub(height);
        self.scroll = self.scroll.saturating_add_signed(lines).min(most);
        let end = (self.scroll + height.max(1)).min(self.len());
        self.select(self.selected.clamp(self.scroll, end.saturating_sub(1).max(self.scroll)));
    }

    fn open_or_enter(&mut self, refined: &Refined) {
        let Some(line) = self.line(self.selected) else { return };
        if !self.row(line).has_children {
            return;
        }
        if self.is_open(line) && self.folded(self.selected).is_none() {
            self.select(self.selected + 1);
        } else {
            self.toggle(refined);
        }
    }

    fn close_or_leave(&mut self, refined: &Refined) {
        let Some(line) = self.line(self.selected) else { return };
        if self.is_open(line) && self.folded(self.selected).is_none() {
            self.visible.close(self.place_of(self.selected));
            self.changed(refined);
            return;
        }
        let above = self.lines()[..self.selected].iter();
        if let Some(parent) = above.enumerate().rev().find(|(_, other)| other.depth < line.depth) {
            self.selected = parent.0;
        }
    }

    fn toggle(&mut self, refined: &Refined) {
        let Some(line) = self.line(self.selected) else { return };
        let place = self.place_of(self.selected);
        if self.folded(self.selected).is_some() {
            return self.unfold(refined);
        }
        if self.is_open(line) {
            self.visible.close(place);
        } else {
            // What would be folded is opened with it.
            let folds = self.folds.as_ref().is_some_and(|folds| folds.is_on);
            let below = match folds && self.row(line).has_children {
                true => chain_below(&mut self.tree, refined, line.row),
                false => Vec::new(),
            };
            self.visible.open_with(&mut self.tree, refined, place, &below);
        }
        self.changed(refined);
        self.select_row(Some(line.row));
        // Who opens a row wants to see it, also where it makes a chain whole.
        if self.folded(self.selected).is_some() {
            self.reveal(refined, line.row);
        }
    }

    fn open_subtree(&mut self, refined: &Refined) -> bool {
        let place = self.place_of(self.selected);
        let row = self.line(self.selected).map(|line| line.row);
        let is_all = self.visible.open_subtree(&mut self.tree, refined, place, OPEN_LIMIT);
        self.changed(refined);
        self.select_row(row);
        // As in `toggle`: keys act on the row that was selected.
        if let Some(row) = row.filter(|_| self.folded(self.selected).is_some()) {
            self.reveal(refined, row);
        }
        is_all
    }

    fn close_all(&mut self, refined: &Refined) {
        // The selection goes to the outermost row of its path.
        let outermost =
            self.line(self.selected).and_then(|line| self.lineage(line.row).last().copied());
        self.visible = Visible::new(&mut self.tree, refined, RowId::ROOT);
        self.changed(refined);
        self.select_row(outermost);
    }

    fn follow_hot_path(&mut self, refined: &Refined, share: u32) -> usize {
        let from = self.line(self.selected).map_or(RowId::ROOT, |line| line.row);
        // What a comparison opens at first is what costs most; a person asks where it differs.
        let heat = if share == USUAL_SHARE { Heat::Difference } else { Heat::Cost };
        let path = hot_path(&mut self.tree, refined, from, share, heat);
        if share == USUAL_SHARE {
            self.mark_hot(path.last().copied().unwrap_or(from));
        }
        if let Some(&end) = path.last() {
            self.reveal(refined, end);
        }
        path.len()
    }

    fn sort(&self) -> Sort {
        self.tree.sort()
    }

    fn set_sort(&mut self, refined: &Refined, sort: Sort) {
        // Who has not moved yet wants to see what comes first now.
        let row = self.line(self.selected).filter(|_| self.selected > 0).map(|line| line.row);
        self.tree.set_sort(sort);
        self.visible.rebuild(&mut self.tree, refined);
        let longest = mem::take(&mut self.longest);
        self.changed(refined);
        self.longest = longest;
        self.select_row(row);
    }

    fn look_at_metric(&mut self, refined: &Refined) {
        if self.metric == refined.metric {
            return;
        }
        self.metric = refined.metric;
        let row = self.line(self.selected).map(|line| line.row);
        let above = self.selected.saturating_sub(self.scroll);
        self.visible.rebuild(&mut self.tree, refined);
        self.changed(refined);
        self.select_row(row);
        self.scroll = self.selected.saturating_sub(above);
    }

    fn forget_hot_paths(&mut self) {
        self.hot.clear();
        self.hot_ends.clear();
        self.hot_paths = None;
    }

    fn path(&self, refined: &Refined, line: Line) -> Path {
        self.tree.path(refined, line.row)
    }

    fn depth(&self, line: Line) -> usize {
        self.tree.depth(line.row) as usize
    }

    fn open_places(&self) -> Vec<Vec<usize>> {
        let mut places: Vec<Vec<usize>> = Vec::new();
        let mut place: Vec<usize> = Vec::new();
        // The levels of the open row that the present line is below, or 0. What is above an open
        // row is open without being named.
        let mut open = 0;
        for line in self.visible.lines() {
            let depth = line.depth as usize;
            let number = place.get(depth).map_or(1, |before| before + 1);
            if depth < open {
                places.push(place[..open].to_vec());
                open = 0;
            }
            place.truncate(depth);
            place.push(number);
            if self.visible.is_open(line.row) && self.tree.row(line.row).has_children {
                open = place.len();
            }
        }
        if open > 0 {
            places.push(place[..open].to_vec());
        }
        places
    }

    fn rows_to(&self, line: Line) -> Vec<&Row> {
        self.lineage(line.row).into_iter().rev().map(|row| self.tree.row(row)).collect()
    }

    fn find(&self, wanted: &[bool], refined: &Refined, cost: Cost) -> Vec<usize> {
        let row = |at: usize| self.row(self.lines()[at]);
        let is_wanted = |at: &usize| wanted.get(row(*at).function.index()).is_some_and(|is| *is);
        let mut found: Vec<usize> = (0..self.len()).filter(is_wanted).collect();
        // Stable: among equals the first one on the screen.
        found.sort_by_key(|at| Reverse(cost.of(row(*at).of(refined.metric))));
        found
    }
}

impl<D: Direction> Table<D> {
    /// Marks a row and the rows above it as a hot path.
    fn mark_hot(&mut self, end: RowId) {
        let path = self.lineage(end);
        // A path that goes on has one end.
        self.hot_ends.retain(|other| !path.contains(other));
        self.hot_ends.push(end);
        self.hot_paths = None;
        self.hot.extend(path);
    }

    /// A row and the rows above it, without the root, innermost first.
    fn lineage(&self, row: RowId) -> Vec<RowId> {
        let mut rows = Vec::new();
        let mut at = row;
        while let Some(parent) = self.tree.parent(at) {
            rows.push(at);
            at = parent;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::unwatched;
    use crate::views::top_down::TopDown;

    /// In whichever order, with rows that are open, closed and folded.
    #[test]
    fn the_longest_bar_is_that_of_all_lines() {
        let outline = "m 1\n  a\n    b\n      c\n        d\n          e 3\n  f 2\n    g 9\n    \
                       h 4\nn 5\n  k 6\n";
        let refined = Refined::base(&from_outline(outline).unwrap());
        let columns = [Column::INCLUSIVE, Column::EXCLUSIVE];
        let tree = unwatched(|watch| TopDown::new(&refined, watch));
        let mut table = Table::new(tree, &refined).folding(&refined);
        for open in 0..4 {
            table.select(open);
            table.open_subtree(&refined);
            for key in [Column::INCLUSIVE, Column::EXCLUSIVE, Column::NAME] {
                for reversed in [false, true] {
                    table.set_sort(&refined, Sort { key, reversed });
                    for column in columns {
                        let length = |line: &Line| {
                            let row = table.row(*line);
                            column.value(&Basis::new(&refined), row).length()
                        };
                        let longest = table.lines().iter().filter_map(length).fold(0.0, f64::max);
                        // What was measured in one order holds in the others.
                        assert_eq!(table.longest(&refined, column), longest, "{key:?} {reversed}");
                        table.measure(&refined, column);
                    }
                }
            }
        }
    }
}
