//! The flat view: functions, or the tree of what is in load modules, files or functions.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::forest::Forest;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message};
use super::super::mode::{
    Binding, COLUMNS, FRAME, Group, Keys, LIST, MENU, Mode, STEPS, TREE, bind,
};
use super::super::table::{Rows, Table};
use super::super::view::{
    Memory, OF_ROWS, Outcome, Repro, RowsMut, Sheet, Subject, View, ViewEntry,
};
use super::callers::{self, Functions};
use super::lazy::{LazyTable, first_table};
use crate::profile::MetricRef;
use crate::refine::{Grain, Refined};
use crate::views::callers::Upward;
use crate::views::columns::About;
use crate::views::path::{Path, Step};
use crate::views::places::kind_of_function;
use crate::views::top_down::Downward;
use crate::views::{Cost, Row};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Flat",
    command: "flat",
    key: "3",
    help: "functions",
    modes: &[&MODE, &MODE_OF_PLACES],
    new: |_| Box::new(Flat::functions()),
};

static MODE: Mode = Mode {
    title: "the flat view",
    keys: &[LIST, &[Keys::Of(STEPS), Keys::Of(OWN)], COLUMNS, &[Keys::Of(MENU)], FRAME],
};

static MODE_OF_PLACES: Mode = Mode {
    title: "the tree of places",
    keys: &[TREE, &[Keys::Of(STEPS), Keys::Of(OWN)], COLUMNS, &[Keys::Of(MENU)], FRAME],
};

const COARSER: Action = Action("coarser");
const FINER: Action = Action("finer");

static OWN: &[Binding] = &[
    bind(
        Group::Numbers,
        "<lt>",
        Message::Own(COARSER),
        "functions in their files, in load modules",
    ),
    bind(Group::Numbers, ">", Message::Own(FINER), "back to functions, then their lines"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("?", "help"),
        ("q", "tree"),
        ("u", "undo"),
        ("=", "explain"),
        ("<", "files modules"),
        (">", "lines"),
        ("s", "sort"),
        ("/", "search"),
        ("f", "refine"),
        ("enter", "menu"),
        ("t", "through"),
        ("x", "exclude"),
    ],
    cost: Cost::Exclusive,
    ..OF_ROWS
};

static SHEET_OF_PLACES: Sheet = Sheet {
    mode: &MODE_OF_PLACES,
    hints: &[
        ("?", "help"),
        ("q", "tree"),
        ("u", "undo"),
        ("=", "explain"),
        ("l h", "open"),
        ("< >", "coarser finer"),
        ("/", "search"),
        ("enter", "menu"),
        ("t", "through"),
        ("x", "exclude"),
        ("d", "hide"),
    ],
    opens: true,
    is_searched_whole: true,
    searched: "names of rows, open or closed",
    double_click: || Message::Toggle,
    about: About {
        context: "a place: all code that lies in it",
        inclusive: "all samples whose path comes through this place, each once, however often; so \
                    places of one level do not add up to what holds them",
        no_edges: "none: what returns is an activation of a function; > and the other views count \
                   them",
        ..OF_ROWS.about
    },
    ..OF_ROWS
};

/// From the finest to the coarsest.
const GRAINS: [Grain; 4] = [Grain::Line, Grain::Function, Grain::File, Grain::Module];

#[derive(Clone, Debug)]
struct Flat {
    /// What the rows are: functions in a list, or the outermost places of a tree.
    grain: Grain,
    functions: LazyTable<Upward>,
    /// What the rows of the tree are made from, once it was made.
    forest: Option<Refined>,
    places: LazyTable<Downward>,
    /// Whether functions have strips, or will have.
    has_spread: bool,
}

impl Flat {
    fn functions() -> Self {
        let (functions, places) = (LazyTable::MISSING, LazyTable::MISSING);
        Self { grain: Grain::Function, functions, forest: None, places, has_spread: false }
    }

    fn has_places(&self) -> bool {
        self.grain != Grain::Function
    }

    /// Lets the rows be others.
    fn regrain(&mut self, grain: Grain) {
        self.grain = grain;
        (self.forest, self.places) = (None, LazyTable::MISSING);
    }
}

/// The places of a refined profile, the outermost of this grain.
pub(in crate::tui) fn places_wanted(outermost: Grain) -> Wanted {
    Wanted::new("places", format!("{outermost:?}"), move |refined, watch| {
        Ok(Made::of_forest(Forest::of_places(refined, outermost, watch)?))
    })
}

impl View for Flat {
    fn sheet(&self) -> &'static Sheet {
        if self.has_places() { &SHEET_OF_PLACES } else { &SHEET }
    }

    fn rows(&self) -> Option<&dyn Rows> {
        match self.has_places() {
            true => self.places.table.as_ref().map(|table| table as _),
            false => self.functions.table.as_ref().map(|table| table as _),
        }
    }

    fn rows_mut<'v>(&'v mut self, shown: &'v Refined) -> Option<RowsMut<'v>> {
        Some(match self.has_places() {
            true => (self.places.table.as_mut()?, self.forest.as_ref()?),
            false => (self.functions.table.as_mut()?, shown),
        })
    }

    fn forest<'v>(&'v self, shown: &'v Refined) -> &'v Refined {
        self.forest.as_ref().unwrap_or(shown)
    }

    fn tree_mut<'v>(
        &'v mut self,
        _shown: &'v Refined,
    ) -> Option<(&'v mut Table<Downward>, &'v Refined)> {
        Some((self.places.table.as_mut()?, self.forest.as_ref()?))
    }

    fn heading(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self.grain {
            Grain::Module => "Modules, files, functions",
            Grain::File => "Files, functions, lines",
            Grain::Line => "Functions, lines",
            Grain::Function | Grain::Address | Grain::Loop => "Function",
        })
    }

    fn show_spread(&mut self, is_shown: bool, shown: &Refined) {
        if is_shown && !self.has_spread {
            self.has_spread = true;
            self.functions.forget(shown);
        }
    }

    fn wanted(&self) -> Option<Wanted> {
        match self.has_places() {
            true => self.forest.is_none().then(|| places_wanted(self.grain)),
            false => self.functions.table.is_none().then(|| callers::wanted(self.has_spread)),
        }
    }

    fn take(&mut self, made: &mut Made, shown: &Refined) {
        // Another view may have wanted it; what is there keeps its order and its selection.
        if let Some(Functions(table, has_spread)) = made.take()
            && (self.functions.table.is_none() || has_spread && !self.has_spread)
        {
            if self.functions.table.is_some() {
                self.functions.forget(shown);
            }
            self.has_spread = has_spread;
            self.functions.take(table, shown);
        }
        if let Some(forest) = made.forest.take() {
            let Forest { refined, top_down } = forest.looking_at(shown.metric);
            let table = first_table(top_down, &refined, SHEET_OF_PLACES.cost);
            self.places.take(table, &refined);
            self.forest = Some(refined);
        }
    }

    fn forget(&mut self, shown: &Refined) {
        self.functions.forget(shown);
        let forest = self.forest.take();
        self.places.forget(forest.as_ref().unwrap_or(shown));
    }

    fn look_at(&mut self, metric: MetricRef) {
        self.functions.forget_hot_paths();
        self.places.forget_hot_paths();
        self.forest = self.forest.take().map(|forest| forest.looking_at(metric));
    }

    fn act(&mut self, action: Action, shown: &Refined) -> Outcome {
        let at = GRAINS.iter().position(|grain| *grain == self.grain).unwrap_or(1);
        let next = if action == COARSER { at + 1 } else { at.wrapping_sub(1) };
        let Some(&grain) = GRAINS.get(next) else {
            return Outcome::said(match action {
                COARSER => "load modules are the coarsest",
                _ => "lines are the finest",
            });
        };
        // A function stays selected where functions are the outermost rows, too.
        let functions = self.functions.table.as_ref().filter(|_| grain == Grain::Line);
        let selected = functions.and_then(|table| table.line(table.selected()));
        let path = functions.zip(selected).map(|(table, line)| {
            let Row { function, kind, .. } = *table.row(line);
            Path(vec![Step::new(shown.key(function), kind_of_function(kind), function)])
        });
        self.regrain(grain);
        self.places.reveal_path(shown, path);
        Outcome::said(match grain {
            Grain::Module => "load modules, and in them files, functions, lines",
            Grain::File => "files, and in them functions, lines",
            Grain::Function | Grain::Address | Grain::Loop => "functions",
            Grain::Line => "functions, and in them lines",
        })
    }

    fn memory(&mut self, shown: &Refined) -> Memory {
        let subject = Subject {
            what: "what the rows are",
            text: format!("{:?}", self.grain),
            own: Arc::new(self.grain),
        };
        let forest = self.forest.as_ref().unwrap_or(shown);
        let looks = vec![self.functions.look(shown), self.places.look(forest)];
        Memory { subject: Some(subject), looks, sort: None }
    }

    fn turn_to(&mut self, subject: &Subject, _shown: &Refined) {
        if let Some(&grain) = subject.own.downcast_ref()
            && self.grain != grain
        {
            self.regrain(grain);
        }
    }

    fn recall(&mut self, memory: &Memory, shown: &Refined) {
        let [functions, places] = &memory.looks[..] else { return };
        self.functions.look_like(shown, functions.as_ref());
        self.places.look_like(self.forest.as_ref().unwrap_or(shown), places.as_ref());
    }

    fn repro(&self, shown: &Refined) -> Repro {
        let compared = shown.profile.comparison.is_some();
        let words: &[&str] = match (self.grain, compared) {
            (Grain::Function | Grain::Address | Grain::Loop, _) => &["--view", "flat"],
            (Grain::Module, true) => &["--view", "modules"],
            (Grain::File, true) => &["--view", "files"],
            (Grain::Line, true) => &["--view", "lines"],
            (Grain::Module, false) => &["--view", "flat", "--by", "module"],
            (Grain::File, false) => &["--view", "flat", "--by", "file"],
            (Grain::Line, false) => &["--view", "flat", "--by", "function"],
        };
        Repro::OfRows(words.iter().map(ToString::to_string).collect())
    }
}
