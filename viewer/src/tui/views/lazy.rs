//! Rows that are made when they are looked at.

use super::super::table::{Look, Rows, Table};
use crate::refine::Refined;
use crate::views::path::Path;
use crate::views::tree::{Direction, RowTree};
use crate::views::{Cost, Sort};

/// A table that may not be made yet, and what it is to look like when it is.
#[derive(Clone, Debug)]
pub(super) struct LazyTable<D: Direction> {
    pub(super) table: Option<Table<D>>,
    look: Option<Look>,
    /// The row to select when it is made.
    selected: Option<Path>,
}

impl<D: Direction> Default for LazyTable<D> {
    fn default() -> Self {
        Self::MISSING
    }
}

impl<D: Direction> LazyTable<D> {
    pub(super) const MISSING: Self = Self { table: None, look: None, selected: None };

    /// The table is there; returns whether it looks like one that was there before.
    pub(super) fn take(&mut self, mut table: Table<D>, refined: &Refined) -> bool {
        let look = self.look.take();
        if let Some(look) = &look {
            table.look_like(refined, look);
        }
        if let Some(selected) = self.selected.take() {
            table.reveal_path(refined, &selected);
        }
        self.table = Some(table);
        look.is_some()
    }

    /// Forgets the table, but not what it looks like.
    pub(super) fn forget(&mut self, refined: &Refined) {
        self.look = self.look(refined);
        self.table = None;
    }

    /// What it looks like, or is to look like.
    pub(super) fn look(&mut self, refined: &Refined) -> Option<Look> {
        match &mut self.table {
            Some(table) => Some(table.look(refined)),
            None => self.look.clone(),
        }
    }

    /// Looks like this at once, or when the table is there.
    pub(super) fn look_like(&mut self, refined: &Refined, look: Option<&Look>) {
        match (&mut self.table, look) {
            (Some(table), Some(look)) => table.look_like(refined, look),
            (Some(_), None) => {}
            (None, look) => self.look = look.cloned(),
        }
    }

    /// Selects the row at a path, at once or when the table is there.
    pub(super) fn reveal_path(&mut self, refined: &Refined, path: Option<Path>) {
        match (&mut self.table, path) {
            (Some(table), Some(path)) => table.reveal_path(refined, &path),
            (_, path) => self.selected = path,
        }
    }

    pub(super) fn forget_hot_paths(&mut self) {
        if let Some(table) = &mut self.table {
            table.forget_hot_paths();
        }
    }
}

/// A table of a tree, in the order in which a view begins.
pub(super) fn first_table<D: Direction>(
    mut tree: RowTree<D>,
    refined: &Refined,
    cost: Cost,
) -> Table<D> {
    tree.set_sort(Sort::usual(cost, &refined.profile));
    Table::new(tree, refined)
}
