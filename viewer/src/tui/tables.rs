//! The current path and its table: Hall's way of refining, one function at a time.
//!
//! The path is a chain of frames in the refinement language, so that it can become a stage. What it
//! was before each step is kept, for going back.

use super::language::function_pattern;
use super::name::{cut, cut_start};
use super::table::{Rows, Table};
use crate::profile::short_name;
use crate::refine::{Chain, FramePattern, Link, Refined};
use crate::views::hall::{Listed, ListedRows, Reach, Way};
use crate::views::tree::RowId;
use crate::views::{Row, Sort};

/// The path, the kind of its table, and the table once it is made.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// The path; `None` is the empty one.
    pub path: Option<Chain>,
    /// By what it is made longer.
    pub way: Way,
    /// How near that must be.
    pub reach: Reach,
    /// The rows.
    pub list: Option<Table<Listed>>,
    /// What the path itself costs, once the rows are there.
    pub cost: Option<Row>,
    /// Number under which the table was asked for.
    pub asked: Option<u64>,
    /// Why there is no table.
    pub refused: Option<String>,
    /// What the path was before, the last one at the end, with the row that was chosen then.
    before: Vec<(Option<Chain>, String)>,
    /// Name of the function to select when the table is there.
    follow: Option<String>,
    sort: Sort,
}

/// Which table there is, and what it looks like.
#[derive(Clone, Debug)]
pub struct TableLook {
    path: Option<Chain>,
    way: Way,
    reach: Reach,
    sort: Sort,
    before: Vec<(Option<Chain>, String)>,
    selected: Option<String>,
}

impl TableLook {
    /// Whether it is a table of the same path and kind.
    #[must_use]
    pub fn is_same_table(&self, other: &Self) -> bool {
        (&self.path, self.way, self.reach) == (&other.path, other.way, other.reach)
    }

    /// The order of rows.
    #[must_use]
    pub fn sort(&self) -> Sort {
        self.sort
    }
}

impl Tables {
    /// The empty path, its rows in this order.
    pub(super) fn new(sort: Sort) -> Self {
        Self { sort, ..Self::default() }
    }

    /// Which table there is, and what it looks like.
    pub(super) fn look(&self, refined: &Refined<'_>) -> TableLook {
        TableLook {
            path: self.path.clone(),
            way: self.way,
            reach: self.reach,
            sort: self.list.as_ref().map_or(self.sort, Rows::sort),
            before: self.before.clone(),
            selected: self.selected_name(refined),
        }
    }

    /// Looks like this again; the rows must be asked for, if it is another table.
    pub(super) fn look_like(&mut self, refined: &Refined<'_>, look: &TableLook) {
        let same = self.look(refined).is_same_table(look);
        let TableLook { path, way, reach, sort, before, selected } = look.clone();
        (self.path, self.way, self.reach, self.before) = (path, way, reach, before);
        match &mut self.list {
            Some(list) if same => {
                list.set_sort(refined, sort);
                select(list, refined, selected.as_deref());
            }
            _ => {
                self.forget(None);
                (self.sort, self.follow) = (sort, selected);
            }
        }
    }

    /// Name of the selected row's function, to find it again.
    pub(super) fn selected_name(&self, refined: &Refined<'_>) -> Option<String> {
        let list = self.list.as_ref()?;
        let row = list.row(list.line(list.selected())?);
        Some(refined.functions.get(row.function.index())?.name.clone())
    }

    /// Forgets the table: the path, its kind or what is shown has changed. The row of this name
    /// is selected when the new one is there.
    pub(super) fn forget(&mut self, follow: Option<String>) {
        if let Some(list) = self.list.take() {
            self.sort = list.sort();
            self.follow = follow;
        }
        self.cost = None;
        self.asked = None;
        self.refused = None;
    }

    /// Whether a table must be asked for.
    pub(super) fn is_missing(&self) -> bool {
        self.list.is_none() && self.asked.is_none() && self.refused.is_none()
    }

    /// Takes the table that was asked for.
    pub(super) fn take(&mut self, refined: &Refined<'_>, mut rows: ListedRows) {
        rows.look_at(refined.metric);
        self.cost = Some(rows.row(RowId::ROOT).clone());
        rows.set_sort(self.sort);
        let mut list = Table::new(rows, refined);
        select(&mut list, refined, self.follow.take().as_deref());
        self.list = Some(list);
        self.asked = None;
    }

    /// Makes the path longer by the selected row; a sentence for people if that cannot be.
    pub(super) fn extend(&mut self, refined: &Refined<'_>) -> Result<(), String> {
        let list = self.list.as_ref().ok_or("the table is not there yet")?;
        let line = list.line(list.selected()).ok_or("there is no row")?;
        let function = list.row(line).function;
        if function.index() == 0 {
            return Err("nothing calls the path here, so it cannot be made longer".to_owned());
        }
        if self.path.as_ref().is_some_and(|path| path.length() == Chain::MAX_LENGTH) {
            return Err(format!("a path can have {} functions at most", Chain::MAX_LENGTH));
        }
        let name = refined.functions[function.index()].name.clone();
        let pattern = function_pattern(refined, &refined.functions[function.index()]);
        let link = self.reach.link();
        let longer = match (&self.path, self.way) {
            (None, _) => Chain::of(pattern),
            (Some(path), Way::Down) => {
                let mut longer = path.clone();
                longer.rest.push((link, pattern));
                longer
            }
            (Some(path), Way::Up) => {
                let mut longer = Chain::of(pattern);
                longer.rest.push((link, path.first.clone()));
                longer.rest.extend(path.rest.iter().cloned());
                longer
            }
        };
        self.before.push((self.path.replace(longer), name));
        self.forget(None);
        Ok(())
    }

    /// Makes the path what it was before the last step; `false` if there was none.
    pub(super) fn shorten(&mut self) -> bool {
        let Some((path, chosen)) = self.before.pop() else { return false };
        self.path = path;
        self.forget(None);
        self.follow = Some(chosen);
        true
    }

    /// The path for people, in at most `cells` cells: the end of a long one says most.
    #[must_use]
    pub fn shown_path(&self, cells: usize, ellipsis: &str) -> String {
        let Some(path) = &self.path else { return cut("(empty)", cells, ellipsis).into_owned() };
        let name = |pattern: &FramePattern| match pattern {
            FramePattern::Exact(name) => short_name(name).into_owned(),
            other => other.to_string(),
        };
        let mut text = name(&path.first);
        for (link, pattern) in &path.rest {
            text.push_str(if *link == Link::Direct { " > " } else { " >> " });
            text.push_str(&name(pattern));
        }
        cut_start(&text, cells, ellipsis).into_owned()
    }
}

/// Selects the row of a function, by name; the first one if there is none.
fn select(list: &mut Table<Listed>, refined: &Refined<'_>, name: Option<&str>) {
    let Some(name) = name else { return };
    let is_it = |at: &usize| {
        let line = list.line(*at);
        line.is_some_and(|line| refined.functions[list.row(line).function.index()].name == name)
    };
    let at = (0..list.len()).find(is_it);
    list.select(at.unwrap_or(0));
}
