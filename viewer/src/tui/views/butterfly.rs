//! The butterfly of one function: its callers above, what it costs, its callees below.
//!
//! It lies over another view, whose selected function it is about. Its rows are those of two
//! tables: direct callers and direct callees, in which recursion counts once.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::canvas::Canvas;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, Notice};
use super::super::mode::{Binding, COLUMNS, FRAME, Group, Keys, LIST, Mode, STEPS, bind};
use super::super::name::shorten;
use super::super::scene::Scene;
use super::super::table::{Rows, Table};
use super::super::theme::Glyphs;
use super::super::view::{
    Memory, OF_ROWS, Outcome, Repro, RowsMut, Sheet, Subject, View, ViewEntry,
};
use super::tables::draw_path;
use crate::profile::{FrameKind, FunctionKey, FunctionRef};
use crate::refine::{Chain, Refined};
use crate::views::Sort;
use crate::views::columns::About;
use crate::views::hall::{ButterflyTables, Listed};
use crate::views::path::Path;
use crate::views::pattern::function_pattern;

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Butterfly",
    command: "butterfly",
    key: "B",
    help: "callers and callees of this row's function",
    modes: &[&MODE],
    new: |scene| {
        Box::new(Butterfly {
            sort: Sort::usual(SHEET.cost, &scene.profile),
            ..Butterfly::default()
        })
    },
};

static MODE: Mode = Mode {
    title: "the butterfly",
    keys: &[LIST, &[Keys::Of(STEPS)], COLUMNS, &[Keys::Of(OWN)], FRAME],
};

const MOVE_TO: Action = Action("to function");
const MOVE_BACK: Action = Action("function before");

static OWN: &[Binding] = &[
    bind(Group::Find, "<enter> l", Message::Own(MOVE_TO), "callers and callees of this function"),
    bind(Group::Find, "<backspace> h", Message::Own(MOVE_BACK), "back to the function before"),
    bind(Group::Views, "<space>", Message::OpenMenu, "what can be done with this row"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    is_of_whole_rows: false,
    hints: &[
        ("?", "help"),
        ("q", "back"),
        ("enter", "move to"),
        ("bksp", "before"),
        ("s", "sort"),
        ("=", "explain"),
        ("/", "search"),
        ("t", "through"),
        ("x", "exclude"),
    ],
    double_click: || Message::Own(MOVE_TO),
    root: Some("(no caller)"),
    about: About {
        inclusive: "samples on whose path this caller calls the function directly, or the \
                    function this callee; a sample counts once, however often",
        exclusive: "samples whose path ends in the function, when this caller calls it, or in \
                    this callee",
        ..OF_ROWS.about
    },
    ..OF_ROWS
};

/// Lines of which the function has some above it and some below it when there are more.
const AROUND: usize = 12;

#[derive(Clone, Debug, Default)]
struct Butterfly {
    about: Option<Arc<Whose>>,
    list: Option<Table<Listed>>,
    /// The place of the function among the rows.
    place: usize,
    /// Why there are no rows.
    refused: Option<String>,
    /// What it was about before, the last at the end.
    before: Vec<Arc<Whose>>,
    sort: Sort,
}

/// The function that it is about.
#[derive(Clone, Debug)]
struct Whose {
    key: FunctionKey,
    name: Arc<str>,
    path: Chain,
}

impl Whose {
    fn of(refined: &Refined, function: FunctionRef) -> Option<Arc<Self>> {
        let key = refined.key(function);
        let function = refined.functions.get(function.index())?;
        let (name, path) = (function.name.clone(), Chain::of(function_pattern(refined, function)));
        Some(Arc::new(Self { key, name, path }))
    }

    fn text(&self) -> String {
        self.path.to_string()
    }
}

impl Butterfly {
    /// Lets it be about another function.
    fn turn(&mut self, about: Option<Arc<Whose>>) {
        self.forget_list();
        self.about = about;
    }

    fn forget_list(&mut self) {
        if let Some(list) = self.list.take() {
            self.sort = list.sort();
        }
        self.refused = None;
    }

    /// Lets it be about the selected row's function.
    fn move_to(&mut self, shown: &Refined) -> Outcome {
        let Some(list) = &self.list else { return Outcome::default() };
        let Some(line) = list.line(list.selected()) else { return Outcome::default() };
        let row = list.row(line);
        if row.kind == FrameKind::Root {
            return Outcome::said("nothing calls the function here");
        }
        let next = Whose::of(shown, row.function);
        let is_same =
            |next: &Arc<Whose>| self.about.as_ref().is_some_and(|about| about.key == next.key);
        if next.as_ref().is_some_and(is_same) {
            return Outcome::said("these are its callers and callees");
        }
        let before = self.about.take();
        self.before.extend(before);
        self.turn(next);
        Outcome::default()
    }
}

impl View for Butterfly {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn rows(&self) -> Option<&dyn Rows> {
        self.list.as_ref().map(|list| list as _)
    }

    fn rows_mut<'v>(&'v mut self, shown: &'v Refined) -> Option<RowsMut<'v>> {
        Some((self.list.as_mut()?, shown))
    }

    fn heading(&self) -> Cow<'static, str> {
        Cow::Borrowed("Callers, function, callees")
    }

    fn instead_of_rows(&self) -> Cow<'static, str> {
        match (&self.about, &self.refused) {
            (None, _) => "no function is selected; q goes back".into(),
            (_, Some(cause)) => format!("{cause}; backspace, or u").into(),
            _ => "counting\u{2026}".into(),
        }
    }

    fn sign(&self, line: usize, glyphs: &Glyphs) -> Option<&'static str> {
        Some(match line.cmp(&self.place) {
            std::cmp::Ordering::Less => glyphs.ascending,
            std::cmp::Ordering::Equal => glyphs.hot,
            std::cmp::Ordering::Greater => glyphs.descending,
        })
    }

    fn lines_above(&self) -> usize {
        1
    }

    fn draw_above(&self, canvas: &mut Canvas<'_>, scene: &Scene, y: usize) {
        let row = self.list.as_ref().and_then(|list| Some(list.row(list.line(self.place)?)));
        let name = self.about.as_ref().map_or("", |about| &*about.name);
        let path = |room| shorten(name, room, scene.theme.glyphs.ellipsis).into_owned();
        draw_path(canvas, scene, y, ("of ", row), path);
    }

    fn line_at(&self, line: usize, _height: usize) -> Option<usize> {
        let list = self.list.as_ref()?;
        Some(list.scroll() + line).filter(|line| *line < list.len())
    }

    fn select_line(&mut self, line: usize) {
        if let Some(list) = &mut self.list {
            list.select(line);
        }
    }

    /// It is about the function that was selected.
    fn entered(&mut self, key: Option<FunctionKey>, _path: Option<Path>, shown: &Refined) {
        let about = key.and_then(|key| Whose::of(shown, shown.function_of(&key)?));
        let same = self.about.as_ref().map(|about| &about.key) == about.as_ref().map(|of| &of.key);
        if !same {
            self.before.clear();
            self.turn(about);
        }
    }

    fn wanted(&self) -> Option<Wanted> {
        let about =
            self.about.as_ref().filter(|_| self.list.is_none() && self.refused.is_none())?;
        let (about, text) = (Arc::clone(about), about.text());
        Some(Wanted::new("butterfly", text, move |refined, watch| {
            let function = refined.function_of(&about.key).unwrap_or(FunctionRef(0));
            Ok(Made::default().with(ButterflyTables::new(refined, &about.path, function, watch)?))
        }))
    }

    fn take(&mut self, made: &mut Made, shown: &Refined) {
        let Some(ButterflyTables { mut rows, callers }) = made.take() else { return };
        rows.set_sort(self.sort);
        let mut list = Table::new(rows, shown);
        list.select(callers);
        if callers >= AROUND {
            list.put(AROUND / 2);
        }
        (self.list, self.place) = (Some(list), callers);
    }

    fn refused(&mut self, cause: String) -> Option<Notice> {
        self.refused = Some(cause);
        None
    }

    fn forget(&mut self, _shown: &Refined) {
        self.forget_list();
    }

    fn act(&mut self, action: Action, shown: &Refined) -> Outcome {
        match (action, self.before.pop()) {
            (MOVE_BACK, Some(before)) => {
                self.turn(Some(before));
                Outcome::default()
            }
            (MOVE_BACK, None) => Outcome::said("this is the first function; q goes back"),
            (_, before) => {
                self.before.extend(before);
                self.move_to(shown)
            }
        }
    }

    fn memory(&mut self, _shown: &Refined) -> Memory {
        let subject = self.about.as_ref().map(|about| Subject {
            what: "the function between its callers and callees",
            text: about.text(),
            own: about.clone(),
        });
        let sort = self.list.as_ref().map_or(self.sort, Rows::sort);
        Memory { subject, sort: Some(sort), ..Memory::default() }
    }

    fn turn_to(&mut self, subject: &Subject, _shown: &Refined) {
        let Ok(about) = subject.own.clone().downcast::<Whose>() else { return };
        if self.about.as_ref().is_none_or(|now| now.key != about.key) {
            self.turn(Some(about));
        }
    }

    fn recall(&mut self, memory: &Memory, shown: &Refined) {
        let sort = memory.sort.unwrap_or(self.sort);
        match &mut self.list {
            Some(list) => list.set_sort(shown, sort),
            None => self.sort = sort,
        }
    }

    fn repro(&self, shown: &Refined) -> Repro {
        match &self.about {
            _ if shown.profile.comparison.is_some() => Repro::None(
                "two tables: csprof diff --view tables --path FUNCTION, and again with --upward",
            ),
            None => Repro::None("no function is selected"),
            Some(about) => {
                let words = ["--view", "butterfly", "--path"].map(str::to_owned).into_iter();
                Repro::OfRows(words.chain([about.text()]).collect())
            }
        }
    }
}
