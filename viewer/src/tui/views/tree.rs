//! The call tree: calling contexts from the root.

use std::borrow::Cow;

use super::super::made::{Made, Wanted};
use super::super::message::{Message, RowStage};
use super::super::mode::{
    Binding, COLUMNS, FRAME, Group, Keys, MENU, Mode, NOTES, STEPS, TREE, bind,
};
use super::super::table::{Rows, Table};
use super::super::view::{Memory, OF_ROWS, Repro, RowsMut, Sheet, View, ViewEntry};
use super::lazy::{LazyTable, first_table};
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::Refined;
use crate::views::columns::About;
use crate::views::path::Path;
use crate::views::strips::{SharedStrips, Strips};
use crate::views::top_down::{Downward, TopDown};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Tree",
    command: "tree",
    key: "1",
    help: "call tree",
    modes: &[&MODE],
    new: |_| Box::new(Tree { rows: LazyTable::MISSING, strips: StripState::default() }),
};

static MODE: Mode = Mode {
    title: "the call tree",
    keys: &[
        TREE,
        &[Keys::Of(OWN), Keys::Of(NOTES), Keys::Of(STEPS)],
        COLUMNS,
        &[Keys::Of(MENU)],
        FRAME,
    ],
};

static OWN: &[Binding] = &[
    bind(Group::Move, ".", Message::ToggleFolds, "show folded rows (start-up, chains), or fold"),
    bind(
        Group::Refine,
        "T",
        Message::Refine(RowStage::ThroughPath),
        "only paths that begin as this row's",
    ),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    // First of all: what is all this, how to leave, how to go back, what is this number.
    hints: &[
        ("?", "help"),
        ("q", "quit"),
        ("u", "undo"),
        ("=", "explain"),
        ("l h", "open"),
        ("H", "hot path"),
        (".", "unfold"),
        ("/", "search"),
        ("f", "refine"),
        ("enter", "menu"),
        ("t", "through"),
        ("x", "exclude"),
        ("d", "hide"),
        ("Z", "root"),
        ("F", "stages"),
        ("tab", "next view"),
    ],
    opens: true,
    is_searched_whole: true,
    searched: "names of rows, open or closed",
    double_click: || Message::Toggle,
    arrow: " > ",
    about: About { inclusive: "all samples whose path begins as this row's does", ..OF_ROWS.about },
    ..OF_ROWS
};

#[derive(Clone, Debug)]
struct Tree {
    rows: LazyTable<Downward>,
    strips: StripState,
}

/// Whether rows have strips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StripState {
    /// Nobody looks at them.
    #[default]
    Hidden,
    /// They are to be made.
    Missing,
    /// They are made, if there are peers.
    Made,
}

/// What makes the strips of rows, if there are peers.
#[derive(Clone, Debug)]
struct OfTree(Option<SharedStrips>);

impl View for Tree {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn rows(&self) -> Option<&dyn Rows> {
        self.rows.table.as_ref().map(|table| table as _)
    }

    fn rows_mut<'v>(&'v mut self, shown: &'v Refined) -> Option<RowsMut<'v>> {
        Some((self.rows.table.as_mut()?, shown))
    }

    fn tree_mut<'v>(
        &'v mut self,
        shown: &'v Refined,
    ) -> Option<(&'v mut Table<Downward>, &'v Refined)> {
        Some((self.rows.table.as_mut()?, shown))
    }

    fn heading(&self) -> Cow<'static, str> {
        Cow::Borrowed("Call path")
    }

    /// The tree comes with each refinement. In the first one, the rows along which there is hardly
    /// any choice are open: start-up code, `main`.
    fn take(&mut self, made: &mut Made, shown: &Refined) {
        const NEARLY_ALL: u32 = 95;
        if let (Some(OfTree(strips)), Some(table)) = (made.take(), &mut self.rows.table) {
            table.tree_mut().set_strips(strips);
            self.strips = StripState::Made;
        }
        let Some(tree) = made.take::<TopDown>() else { return };
        self.strips = StripState::Hidden;
        let table = first_table(tree, shown, SHEET.cost).folding(shown);
        if self.rows.take(table, shown) {
            return;
        }
        if let Some(table) = &mut self.rows.table {
            table.follow_hot_path(shown, NEARLY_ALL);
            table.toggle(shown);
            table.begin(shown);
        }
    }

    fn selected_path(&self, shown: &Refined) -> Option<Path> {
        let table = self.rows.table.as_ref()?;
        Some(table.path(shown, table.line(table.selected())?))
    }

    fn entered(&mut self, _function: Option<FunctionKey>, path: Option<Path>, shown: &Refined) {
        self.rows.reveal_path(shown, path);
    }

    fn show_spread(&mut self, is_shown: bool, _shown: &Refined) {
        self.strips = match (is_shown, self.strips) {
            (true, StripState::Hidden) => StripState::Missing,
            (false, StripState::Missing) => StripState::Hidden,
            (_, spread) => spread,
        };
    }

    fn wanted(&self) -> Option<Wanted> {
        (self.strips == StripState::Missing).then(|| {
            Wanted::new("spread", String::new(), |refined, _| {
                Ok(Made::default().with(OfTree(Strips::of(refined))))
            })
        })
    }

    fn forget(&mut self, shown: &Refined) {
        self.rows.forget(shown);
    }

    fn look_at(&mut self, _metric: MetricRef) {
        self.rows.forget_hot_paths();
    }

    fn memory(&mut self, shown: &Refined) -> Memory {
        Memory { looks: vec![self.rows.look(shown)], ..Memory::default() }
    }

    fn recall(&mut self, memory: &Memory, shown: &Refined) {
        self.rows.look_like(shown, memory.looks.first().and_then(Option::as_ref));
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        Repro::OfRows(Vec::new())
    }
}
