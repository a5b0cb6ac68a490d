//! The callers view: functions, and below each its callers.

use std::borrow::Cow;

use super::super::made::{Made, Wanted};
use super::super::message::Message;
use super::super::mode::{COLUMNS, FRAME, Keys, MENU, Mode, STEPS, TREE};
use super::super::table::{Rows, Table};
use super::super::view::{Memory, OF_ROWS, Repro, RowsMut, Sheet, View, ViewEntry};
use super::lazy::{LazyTable, first_table};
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::Refined;
use crate::views::Cost;
use crate::views::callers::{Callers, Upward};
use crate::views::columns::About;
use crate::views::path::Path;
use crate::views::strips::Strips;

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Callers",
    command: "callers",
    key: "2",
    help: "callers of each function",
    modes: &[&MODE],
    new: |_| Box::new(CallersView::default()),
};

static MODE: Mode = Mode {
    title: "the callers view",
    keys: &[TREE, &[Keys::Of(STEPS)], COLUMNS, &[Keys::Of(MENU)], FRAME],
};

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("?", "help"),
        ("q", "tree"),
        ("u", "undo"),
        ("=", "explain"),
        ("l h", "open"),
        ("s", "sort"),
        ("/", "search"),
        ("f", "refine"),
        ("enter", "menu"),
        ("t", "through"),
        ("x", "exclude"),
        ("d", "hide"),
    ],
    opens: true,
    leads_to_callers: true,
    double_click: || Message::Toggle,
    cost: Cost::Exclusive,
    root: Some("(no caller)"),
    about: About {
        inclusive: "samples of the function, when called along this path; recursion once",
        exclusive: "samples in its own code, when called along this path",
        ..OF_ROWS.about
    },
    ..OF_ROWS
};

/// Functions and their callers, for the view of them, whether with strips, if there are peers, and
/// what they were made from, if that is not what is shown.
#[derive(Clone, Debug)]
struct WithCallers(Table<Upward>, bool, Option<Refined>);

/// The same as a list: its first level, in an order of its own.
#[derive(Clone, Debug)]
pub(in crate::tui) struct Functions(pub(in crate::tui) Table<Upward>, pub(super) bool);

/// Both of them, made of one tree. Costs two orders of all functions, too. Loops (`by loop`) are no
/// functions: what they cost is their functions', and nothing calls them.
pub(in crate::tui) fn wanted(has_spread: bool) -> Wanted {
    let detail = if has_spread { "spread" } else { "" };
    Wanted::new("callers", detail.to_owned(), move |refined, watch| {
        let whole = match refined.has_loops() {
            true => Some(refined.without_loops(watch)?),
            false => None,
        };
        let of = whole.as_ref().unwrap_or(refined);
        let strips = has_spread.then(|| Strips::of(of)).flatten();
        let tree = Callers::with_strips(of, strips, watch)?;
        let table = |tree| first_table(tree, of, Cost::Exclusive);
        let functions = Functions(table(tree.clone()), has_spread);
        let callers = WithCallers(table(tree), has_spread, whole.clone());
        Ok(Made::default().with(callers).with(functions))
    })
}

#[derive(Clone, Debug, Default)]
struct CallersView {
    rows: LazyTable<Upward>,
    /// What they were made from, if that is not what is shown.
    forest: Option<Refined>,
    /// The function to select when the rows are there.
    follow: Option<FunctionKey>,
    /// Whether rows have strips, or will have.
    has_spread: bool,
}

impl CallersView {
    /// Selects the function to be selected, if there is one and the rows are there.
    fn go_to_followed(&mut self, shown: &Refined) {
        if let Some(table) = &mut self.rows.table
            && let Some(key) = self.follow.take()
        {
            table.select_function(self.forest.as_ref().unwrap_or(shown), &key);
        }
    }
}

impl View for CallersView {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn rows(&self) -> Option<&dyn Rows> {
        self.rows.table.as_ref().map(|table| table as _)
    }

    fn rows_mut<'v>(&'v mut self, shown: &'v Refined) -> Option<RowsMut<'v>> {
        Some((self.rows.table.as_mut()?, self.forest.as_ref().unwrap_or(shown)))
    }

    fn forest<'v>(&'v self, shown: &'v Refined) -> &'v Refined {
        self.forest.as_ref().unwrap_or(shown)
    }

    fn lacks_loops(&self) -> bool {
        self.forest.is_some()
    }

    fn heading(&self) -> Cow<'static, str> {
        Cow::Borrowed("Function, then its callers")
    }

    /// The view is about the function that was selected.
    fn entered(&mut self, function: Option<FunctionKey>, _path: Option<Path>, shown: &Refined) {
        self.follow = function;
        self.go_to_followed(shown);
    }

    /// Rows that were opened have forgotten what they are made of, so all are made anew.
    fn show_spread(&mut self, is_shown: bool, shown: &Refined) {
        if is_shown && !self.has_spread {
            self.has_spread = true;
            self.forget(shown);
        }
    }

    fn wanted(&self) -> Option<Wanted> {
        self.rows.table.is_none().then(|| wanted(self.has_spread))
    }

    fn take(&mut self, made: &mut Made, shown: &Refined) {
        let Some(WithCallers(table, has_spread, forest)) = made.take() else { return };
        // Another view may have wanted it; what is there keeps its order and its open rows.
        if self.rows.table.is_some() {
            if self.has_spread || !has_spread {
                return;
            }
            self.forget(shown);
        }
        self.has_spread = has_spread;
        self.forest = forest.map(|forest| forest.looking_at(shown.metric));
        self.rows.take(table, self.forest.as_ref().unwrap_or(shown));
        self.go_to_followed(shown);
    }

    fn forget(&mut self, shown: &Refined) {
        self.rows.forget(self.forest.as_ref().unwrap_or(shown));
        self.forest = None;
    }

    fn look_at(&mut self, metric: MetricRef) {
        self.forest = self.forest.take().map(|forest| forest.looking_at(metric));
        self.rows.forget_hot_paths();
    }

    fn memory(&mut self, shown: &Refined) -> Memory {
        Memory {
            looks: vec![self.rows.look(self.forest.as_ref().unwrap_or(shown))],
            ..Memory::default()
        }
    }

    fn recall(&mut self, memory: &Memory, shown: &Refined) {
        let forest = self.forest.as_ref().unwrap_or(shown);
        self.rows.look_like(forest, memory.looks.first().and_then(Option::as_ref));
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        Repro::OfRows(["--view", "callers"].map(str::to_owned).to_vec())
    }
}
