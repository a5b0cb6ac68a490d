//! The tables: the current path and what it costs, made longer by each function. Hall's way of
//! refining, one function at a time.
//!
//! The path is a chain of frames in the refinement language, so that it can become a stage. What it
//! was before each step is kept, for going back.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::canvas::Canvas;
use super::super::comparison;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, Notice};
use super::super::mode::{Binding, COLUMNS, FRAME, Group, Keys, LIST, Mode, STEPS, bind};
use super::super::name::{cut, cut_start, width};
use super::super::scene::Scene;
use super::super::table::{Rows, Table};
use super::super::view::{
    Memory, NO_PATH_LEFT, OF_ROWS, Outcome, Repro, RowsMut, Sheet, Subject, View, ViewEntry,
};
use crate::profile::short_name;
use crate::refine::{Chain, FramePattern, Link, Predicate, Refined, Stage};
use crate::views::columns::About;
use crate::views::hall::{HallTable, Listed, ListedRows, Reach, Way, relation};
use crate::views::number::{amount, percent};
use crate::views::pattern::function_pattern;
use crate::views::tree::RowId;
use crate::views::{Row, Sort};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Tables",
    command: "tables",
    key: "5",
    help: "tables of a path: its cost, longer by each function",
    modes: &[&MODE],
    new: |scene| Box::new(Tables::new(Sort::usual(SHEET.cost, &scene.profile))),
};

static MODE: Mode = Mode {
    title: "the tables",
    keys: &[LIST, &[Keys::Of(STEPS)], COLUMNS, &[Keys::Of(OWN)], FRAME],
};

const EXTEND: Action = Action("longer path");
const SHORTEN: Action = Action("shorter path");
const REACH: Action = Action("direct calls or any");
const WAY: Action = Action("callees or callers");
const REFINE_BY_PATH: Action = Action("refine by path");

static OWN: &[Binding] = &[
    bind(Group::Find, "<enter> l", Message::Own(EXTEND), "make the path longer by this row"),
    bind(Group::Find, "<backspace> h", Message::Own(SHORTEN), "one step back"),
    bind(Group::Find, "i", Message::Own(REACH), "direct calls, or at any distance"),
    bind(Group::Find, "w", Message::Own(WAY), "what it calls, or what calls it"),
    bind(Group::Refine, "T", Message::Own(REFINE_BY_PATH), "only paths through the current path"),
    bind(Group::Views, "<space>", Message::OpenMenu, "what can be done with this row"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("?", "help"),
        ("q", "tree"),
        ("enter", "longer path"),
        ("bksp", "back"),
        ("u", "undo"),
        ("i", "direct/any"),
        ("w", "callees/callers"),
        ("T", "refine by path"),
        ("=", "explain"),
        ("s", "sort"),
    ],
    // They are of the path; the paths with a match on them may not be.
    has_cost_of_found: false,
    is_of_whole_rows: false,
    double_click: || Message::Own(EXTEND),
    root: Some("(no caller)"),
    about: About {
        exclusive: "samples whose path ends where the longer path ends",
        ..OF_ROWS.about
    },
    ..OF_ROWS
};

/// The same where the path is not empty.
static SHEET_OF_PATH: Sheet = Sheet {
    about: About {
        inclusive: "all samples whose path goes through the current path made longer by this \
                    function; a sample counts once, however often the path fits",
        ..SHEET.about
    },
    ..SHEET
};

/// The path, the kind of its table, and the table once it is made.
#[derive(Clone, Debug, Default)]
struct Tables {
    /// The path; `None` is the empty one.
    path: Option<Chain>,
    /// By what it is made longer.
    way: Way,
    /// How near that must be.
    reach: Reach,
    /// The rows.
    list: Option<Table<Listed>>,
    /// What the path itself costs, once the rows are there.
    cost: Option<Row>,
    /// Why there is no table.
    refused: Option<String>,
    /// What the path was before, the last one at the end, with the row that was chosen then.
    before: Vec<(Option<Chain>, Arc<str>)>,
    /// Name of the function to select when the table is there.
    follow: Option<Arc<str>>,
    sort: Sort,
}

/// Which table there is, and which row is selected in it.
#[derive(Clone, Debug)]
struct Told {
    path: Option<Chain>,
    way: Way,
    reach: Reach,
    sort: Sort,
    before: Vec<(Option<Chain>, Arc<str>)>,
    selected: Option<Arc<str>>,
}

impl Tables {
    /// The empty path, its rows in this order.
    fn new(sort: Sort) -> Self {
        Self { sort, ..Self::default() }
    }

    fn told(&self, refined: &Refined) -> Told {
        Told {
            path: self.path.clone(),
            way: self.way,
            reach: self.reach,
            sort: self.list.as_ref().map_or(self.sort, Rows::sort),
            before: self.before.clone(),
            selected: self.selected_name(refined),
        }
    }

    /// Looks like this again; the rows must be asked for, if it is another table.
    fn look_like(&mut self, refined: &Refined, told: &Told) {
        let Told { path, way, reach, sort, before, selected } = told.clone();
        let same = (&self.path, self.way, self.reach) == (&path, way, reach);
        (self.path, self.way, self.reach, self.before) = (path, way, reach, before);
        match &mut self.list {
            Some(list) if same => {
                list.set_sort(refined, sort);
                select(list, refined, selected.as_deref());
            }
            _ => {
                self.forget_list(None);
                (self.sort, self.follow) = (sort, selected);
            }
        }
    }

    /// Name of the selected row's function, to find it again.
    fn selected_name(&self, refined: &Refined) -> Option<Arc<str>> {
        let list = self.list.as_ref()?;
        let row = list.row(list.line(list.selected())?);
        Some(refined.functions.get(row.function.index())?.name.clone())
    }

    /// Forgets the table: the path, its kind or what is shown has changed. The row of this name
    /// is selected when the new one is there.
    fn forget_list(&mut self, follow: Option<Arc<str>>) {
        if let Some(list) = self.list.take() {
            self.sort = list.sort();
            self.follow = follow;
        }
        self.cost = None;
        self.refused = None;
    }

    /// Takes the table that was asked for.
    fn take_list(&mut self, refined: &Refined, mut rows: ListedRows) {
        self.cost = Some(rows.row(RowId::ROOT).clone());
        rows.set_sort(self.sort);
        let mut list = Table::new(rows, refined);
        select(&mut list, refined, self.follow.take().as_deref());
        self.list = Some(list);
    }

    /// Makes the path longer by the selected row; a sentence for people if that cannot be.
    fn extend(&mut self, refined: &Refined) -> Result<(), String> {
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
        self.forget_list(None);
        Ok(())
    }

    /// Makes the path what it was before the last step; `false` if there was none.
    fn shorten(&mut self) -> bool {
        let Some((path, chosen)) = self.before.pop() else { return false };
        self.path = path;
        self.forget_list(None);
        self.follow = Some(chosen);
        true
    }

    /// The path for people, in at most `cells` cells: the end of a long one says most.
    fn shown_path(&self, cells: usize, ellipsis: &str) -> String {
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

    fn toggle_reach(&mut self, refined: &Refined) -> Outcome {
        let (reach, said) = match self.reach {
            Reach::Immediate => (Reach::Extended, "with any number of calls between"),
            Reach::Extended => (Reach::Immediate, "direct calls only"),
        };
        self.reach = reach;
        self.changed(refined, said)
    }

    fn toggle_way(&mut self, refined: &Refined) -> Outcome {
        let (way, said) = match self.way {
            Way::Down => (Way::Up, "what calls the path"),
            Way::Up => (Way::Down, "what the path calls"),
        };
        self.way = way;
        self.changed(refined, said)
    }

    fn changed(&mut self, refined: &Refined, said: &str) -> Outcome {
        let selected = self.selected_name(refined);
        self.forget_list(selected);
        match self.path {
            Some(_) => Outcome::said(said),
            None => Outcome::said(&format!("{said}; for the empty path that is all the same")),
        }
    }

    /// Makes the path a stage.
    fn stage(&self) -> Outcome {
        let Some(path) = &self.path else {
            return Outcome::failed("the path is empty: enter adds a row to it");
        };
        let stage = Stage::Where(Predicate::Through(path.clone())).to_string();
        Outcome { stage: Some(stage), ..Outcome::default() }
    }
}

/// Paints a line with a path, shortened to the room that there is, and what it costs.
pub(super) fn draw_path(
    canvas: &mut Canvas<'_>,
    scene: &Scene,
    y: usize,
    (what, row): (&str, Option<&Row>),
    path: impl FnOnce(usize) -> String,
) {
    let theme = scene.theme;
    let mut cost = String::new();
    if let Some(row) = row {
        cost = match scene.comparison() {
            Some(comparison) => comparison::path_cost(scene, comparison, row),
            None => {
                let inclusive = row.of(scene.refined.metric).inclusive;
                let time = amount(inclusive, scene.metric(), scene.form());
                format!("{time}  {} %", percent(inclusive, scene.whole_of(None)))
            }
        };
    }
    let end = canvas.width().saturating_sub(1);
    canvas.text_right(end, y, &cost, width(&cost), theme.strong());
    let start = canvas.text(1, y, what, width(what), theme.faint());
    let room = end.saturating_sub(start + width(&cost) + 2);
    let path = theme.plain(&path(room)).into_owned();
    canvas.text(start, y, &path, room, theme.stage());
}

/// Which table it is: of which path, and of which kind.
fn kind(path: Option<&Chain>, way: Way, reach: Reach) -> String {
    let path = path.map(ToString::to_string).unwrap_or_default();
    format!("{way:?} {reach:?} {path}")
}

/// The table of a path.
pub(in crate::tui) fn table_wanted(path: Option<Chain>, way: Way, reach: Reach) -> Wanted {
    Wanted::new("table", kind(path.as_ref(), way, reach), move |refined, watch| {
        let table = HallTable::new(refined, path.as_ref(), way, reach, watch)?;
        Ok(Made::default().with(ListedRows::of(refined, &table, Sort::default())))
    })
}

impl View for Tables {
    fn sheet(&self) -> &'static Sheet {
        if self.path.is_some() { &SHEET_OF_PATH } else { &SHEET }
    }

    fn rows(&self) -> Option<&dyn Rows> {
        self.list.as_ref().map(|list| list as _)
    }

    fn rows_mut<'v>(&'v mut self, shown: &'v Refined) -> Option<RowsMut<'v>> {
        Some((self.list.as_mut()?, shown))
    }

    fn heading(&self) -> Cow<'static, str> {
        relation(self.path.is_some(), self.way, self.reach).into()
    }

    fn instead_of_rows(&self) -> Cow<'static, str> {
        match &self.refused {
            Some(cause) => format!("{cause}; backspace makes the path shorter").into(),
            None => "counting…".into(),
        }
    }

    fn if_empty(&self, shown: &Refined) -> &'static str {
        match shown.shown {
            0 => NO_PATH_LEFT,
            _ => "nothing makes this path longer here: i, w, or backspace",
        }
    }

    fn lines_above(&self) -> usize {
        1
    }

    /// The path and what it costs.
    fn draw_above(&self, canvas: &mut Canvas<'_>, scene: &Scene, y: usize) {
        let path = |room| self.shown_path(room, scene.theme.glyphs.ellipsis);
        draw_path(canvas, scene, y, ("path ", self.cost.as_ref()), path);
    }

    fn wanted(&self) -> Option<Wanted> {
        if self.list.is_some() || self.refused.is_some() {
            return None;
        }
        Some(table_wanted(self.path.clone(), self.way, self.reach))
    }

    fn take(&mut self, made: &mut Made, shown: &Refined) {
        if let Some(rows) = made.take() {
            self.take_list(shown, rows);
        }
    }

    fn refused(&mut self, cause: String) -> Option<Notice> {
        self.refused = Some(cause);
        None
    }

    fn forget(&mut self, shown: &Refined) {
        let selected = self.selected_name(shown);
        self.forget_list(selected);
    }

    fn act(&mut self, action: Action, shown: &Refined) -> Outcome {
        match action {
            EXTEND => self.extend(shown).map_or_else(Outcome::failed, |()| Outcome::default()),
            SHORTEN if self.shorten() => Outcome::default(),
            SHORTEN => Outcome::said("the path is empty"),
            REACH => self.toggle_reach(shown),
            WAY => self.toggle_way(shown),
            REFINE_BY_PATH => self.stage(),
            _ => Outcome::default(),
        }
    }

    fn memory(&mut self, shown: &Refined) -> Memory {
        let told = self.told(shown);
        let sort = Some(told.sort);
        let text = kind(self.path.as_ref(), self.way, self.reach);
        let what = "the path of the table";
        Memory { subject: Some(Subject { what, text, own: Arc::new(told) }), sort, looks: vec![] }
    }

    fn turn_to(&mut self, subject: &Subject, shown: &Refined) {
        if let Some(told) = subject.own.downcast_ref() {
            self.look_like(shown, told);
        }
    }

    fn recall(&mut self, memory: &Memory, shown: &Refined) {
        if let Some(subject) = &memory.subject {
            self.turn_to(subject, shown);
        }
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        let mut words = ["--view", "tables"].map(str::to_owned).to_vec();
        if let Some(path) = &self.path {
            words.extend(["--path".to_owned(), path.to_string()]);
        }
        if self.reach == Reach::Extended {
            words.push("--extended".to_owned());
        }
        if self.way == Way::Up {
            words.push("--upward".to_owned());
        }
        Repro::OfRows(words)
    }
}

/// Selects the row of a function, by name; the first one if there is none.
fn select(list: &mut Table<Listed>, refined: &Refined, name: Option<&str>) {
    let Some(name) = name else { return };
    let is_it = |at: &usize| {
        let line = list.line(*at);
        line.is_some_and(|line| *refined.functions[list.row(line).function.index()].name == *name)
    };
    let at = (0..list.len()).find(is_it);
    list.select(at.unwrap_or(0));
}
