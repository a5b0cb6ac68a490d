//! The source view: the file of a function, with what each of its lines costs beside it.
//!
//! A line with calls or inlined code opens: what is below it is a row of its own, which leads to
//! its source. Files are read by the worker, whatever the size of the profile.

mod draw;
mod item;
mod made;
mod text;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use self::item::{SourceItem, items_of, items_of_lines};
use self::made::{CodeOf, FileOf, MadeCode, Shown, disassemble, read, shown_function};
use super::super::canvas::Canvas;
use super::super::columns::{self, Columns};
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, PromptKind};
use super::super::mode::{
    Binding, EXPORT, FIND, FRAME, Group, Keys, MOVE, Mode, NUMBERS, REFINE, STEPS, bind,
};
use super::super::scene::Scene;
use super::super::view::{Finds, Memory, OF_ROWS, Outcome, Repro, Sheet, Subject, View, ViewEntry};
use crate::export::table::Table;
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::{Refined, Watch};
use crate::sources::{Kept, Source, Sources};
use crate::views::columns::{About, Explanation};
use crate::views::path::Path;
use crate::views::search::NamePattern;
use crate::views::source::callees;
use crate::views::{Cost, Row};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Source",
    command: "source",
    key: "7",
    help: "source of the function, with the cost of each line",
    modes: &[&MODE],
    new: |scene| Box::new(SourceView { sources: scene.sources.clone(), ..SourceView::default() }),
};

static MODE: Mode = Mode {
    title: "the source view",
    keys: &[
        &[Keys::Of(MOVE), Keys::Of(FIND), Keys::Of(OWN), Keys::Of(REFINE)],
        &[Keys::Of(STEPS), Keys::Of(NUMBERS), Keys::Of(EXPORT)],
        FRAME,
    ],
};

const HOTTEST: Action = Action("hottest line");
const NEXT: Action = Action("next hot line");
const PREVIOUS: Action = Action("hotter line");
const OPEN: Action = Action("calls of line");
const BACK: Action = Action("source before");
const LEFT: Action = Action("text left");
const RIGHT: Action = Action("text right");
const EDIT: Action = Action("edit");
const CODE: Action = Action("instructions");

static OWN: &[Binding] = &[
    bind(Group::Move, "h <left>", Message::Own(LEFT), "the beginnings of long lines"),
    bind(Group::Move, "l <right>", Message::Own(RIGHT), "the ends of long lines"),
    bind(Group::Find, "H", Message::Own(HOTTEST), "to the line with most of its own cost"),
    bind(Group::Find, ">", Message::Own(NEXT), "to the next hottest one"),
    bind(Group::Find, "<lt>", Message::Own(PREVIOUS), "to the hotter one before"),
    bind(
        Group::Find,
        "<enter> <space>",
        Message::Own(OPEN),
        "what the line calls (▸) and what is inlined into it (i); there: its source",
    ),
    bind(Group::Find, "<backspace>", Message::Own(BACK), "the function before"),
    bind(
        Group::Numbers,
        "%",
        Message::TogglePercent,
        "percent of all measured, or of what is shown",
    ),
    bind(Group::Views, "a", Message::Own(CODE), "the function's instructions, or its lines again"),
    bind(Group::Views, "v", Message::Own(EDIT), "open the line in $VISUAL or $EDITOR"),
    bind(
        Group::Views,
        "p",
        Message::OpenPrompt(PromptKind::Folder),
        "type a folder below which source files are",
    ),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("?", "help"),
        ("q", "tree"),
        ("j k", "move"),
        ("H >", "hottest"),
        ("enter", "calls"),
        ("/", "search"),
        ("a", "instructions"),
        ("bksp", "back"),
        ("v", "editor"),
        ("=", "explain"),
        ("p", "folder"),
    ],
    has_rows: false,
    searched: "lines, what is open below them, and instructions",
    finds_one_sided: false,
    is_picture: true,
    double_click: || Message::Own(OPEN),
    about: About {
        inclusive: "all samples whose path comes through it, each once, however often",
        exclusive: "samples whose path ends in it",
        no_edges: "none: no activation was here whose return is watched",
        ..OF_ROWS.about
    },
    ..OF_ROWS
};

/// Cells that a key moves long lines by.
const SIDEWAYS: usize = 16;

/// What was shown before each step to a callee, and the line that was selected.
type Before = Vec<(Shown, u32)>;

/// What is shown, to go back to it.
#[derive(Clone, Debug)]
struct SourcePlace {
    shown: Shown,
    line: Option<u32>,
    before: Before,
}

/// What a line calls.
#[derive(Clone, Debug)]
struct Below {
    line: u32,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default)]
struct SourceView {
    sources: Sources,
    shown: Option<Shown>,
    before: Before,
    file: Option<Arc<FileOf>>,
    /// Whether its instructions are shown.
    shows_code: bool,
    code: Option<MadeCode>,
    /// What is open, each line once it is counted.
    open: BTreeMap<u32, Option<Vec<Row>>>,
    items: Vec<SourceItem>,
    selected: usize,
    scroll: usize,
    /// Lines of notes above them.
    above: usize,
    /// Cells of each line that are left out at its beginning.
    shift: usize,
    /// The line to select when the file is there.
    follow: Option<u32>,
}

impl SourceView {
    fn item(&self) -> Option<SourceItem> {
        self.items.get(self.selected).copied()
    }

    /// The line that is selected, or that has what is selected.
    fn selected_line(&self) -> Option<u32> {
        match self.item()? {
            SourceItem::Line(line) | SourceItem::Callee(line, _) | SourceItem::Gap(line, _) => {
                Some(line)
            }
            SourceItem::Code(at) | SourceItem::LineOf(at) => {
                let (path, line) = self.code()?.code.get(at)?.line.clone()?;
                (path == self.file.as_ref()?.path).then_some(line)
            }
        }
    }

    /// The instructions, if they are shown.
    fn code(&self) -> Option<&Arc<CodeOf>> {
        self.code.as_ref().filter(|_| self.shows_code)?.as_ref().ok()
    }

    fn show(&mut self, shown: Shown, line: Option<u32>) {
        if self.shown.as_ref() == Some(&shown) {
            return;
        }
        *self = Self {
            sources: self.sources.clone(),
            shown: Some(shown),
            shows_code: self.shows_code,
            before: std::mem::take(&mut self.before),
            follow: line,
            ..Self::default()
        };
    }

    /// Makes the lines of the screen anew; what was selected stays so.
    fn list(&mut self) {
        let Some(file) = &self.file else { return };
        let selected = self.item();
        if self.shows_code {
            self.items = self.code().map_or_else(Vec::new, |code| items_of(&code.code));
            return;
        }
        let text = file.found.as_ref().ok().map(|source| &source.text);
        let sampled = file.lines.lines.iter().map(|line| line.number);
        let below = |line| self.open.get(&line)?.as_ref().map(Vec::len);
        self.items = items_of_lines(text, sampled, &below);
        if let Some(item) = selected {
            self.select(item);
        }
    }

    fn select(&mut self, item: SourceItem) {
        let at = self.items.partition_point(|other| other.place() < item.place());
        self.selected = at.min(self.items.len().saturating_sub(1));
    }

    /// Goes to the hottest line, or to the one so many places behind the selected one.
    fn go_to_hot(&mut self, by: Option<isize>, shown: &Refined) -> Outcome {
        let Some(file) = &self.file else { return Outcome::default() };
        let (hottest, selected): (Vec<SourceItem>, _) = match self.code() {
            Some(code) => {
                let hottest = code.costs.hottest(shown).into_iter();
                (hottest.map(SourceItem::Code).collect(), self.item())
            }
            None if self.shows_code => return Outcome::default(),
            None => {
                let hottest = file.lines.hottest(shown).into_iter();
                (
                    hottest.map(SourceItem::Line).collect(),
                    self.selected_line().map(SourceItem::Line),
                )
            }
        };
        let what = if self.shows_code { "instruction" } else { "line" };
        let at = hottest.iter().position(|hot| Some(*hot) == selected);
        let next = match (by, at) {
            (None, _) | (_, None) => Some(0),
            (Some(by), Some(at)) => at.checked_add_signed(by),
        };
        match next.and_then(|next| Some((next, *hottest.get(next)?))) {
            Some((next, item)) => {
                self.select(item);
                Outcome::said(&format!("{} of {} {what}s with cost", next + 1, hottest.len()))
            }
            None if hottest.is_empty() => Outcome::said(&format!("no {what} here has samples")),
            None if by == Some(-1) => Outcome::said(&format!("this is the hottest {what}")),
            None => Outcome::said(&format!("no other {what} here has samples")),
        }
    }

    /// Opens or closes a line; of what a line calls, shows the source.
    fn enter(&mut self, shown: &Refined) -> Outcome {
        let Some(file) = &self.file else { return Outcome::default() };
        match self.item() {
            Some(SourceItem::Line(line)) => {
                if self.open.remove(&line).is_some() {
                    self.list();
                    return Outcome::default();
                }
                if !file.lines.line(line).is_some_and(|line| line.calls || line.inlines) {
                    return Outcome::said("nothing that was sampled is called from this line");
                }
                self.open.insert(line, None);
                Outcome::default()
            }
            Some(SourceItem::Callee(line, at)) => {
                let Some(Some(rows)) = self.open.get(&line) else { return Outcome::default() };
                let callee = shown_function(shown, &rows[at]);
                if let Some(before) = self.shown.clone() {
                    self.before.push((before, line));
                }
                self.show(callee, None);
                Outcome::default()
            }
            Some(SourceItem::Code(_) | SourceItem::LineOf(_)) => self.toggle_code(shown),
            Some(SourceItem::Gap(..)) => Outcome::said("the profile does not keep these lines"),
            None => Outcome::default(),
        }
    }

    /// Shows instructions in place of lines, or lines again.
    fn toggle_code(&mut self, shown: &Refined) -> Outcome {
        let line = self.selected_line();
        self.shows_code = !self.shows_code;
        (self.scroll, self.selected) = (0, 0);
        self.list();
        if self.shows_code {
            self.follow = line;
            self.go_to_code(shown);
        } else if let Some(line) = line.or_else(|| Some(self.file.as_ref()?.first)) {
            self.select(SourceItem::Line(line));
        }
        Outcome::default()
    }

    /// Selects the instruction that costs most of the line to go to, or of all.
    fn go_to_code(&mut self, shown: &Refined) {
        let Some((file, code)) = self.file.as_ref().zip(self.code()) else { return };
        let is_of_line = |at: &usize| {
            let line = code.code[*at].line.as_ref();
            line.is_some_and(|(path, line)| *path == file.path && Some(*line) == self.follow)
        };
        let hottest = code.costs.hottest(shown);
        let of_line = hottest.iter().copied().find(is_of_line);
        let first = || (0..code.code.len()).find(is_of_line);
        if let Some(at) = of_line.or_else(first).or_else(|| hottest.first().copied()) {
            self.select(SourceItem::Code(at));
        }
        self.follow = None;
    }

    fn edit(&self) -> Outcome {
        let Some(file) = &self.file else { return Outcome::default() };
        match (&file.found, self.selected_line()) {
            (Ok(Source { kept: Kept::Shown { is_other_here, .. }, .. }), _) => {
                let here = if *is_other_here { "here is another version" } else { "is not here" };
                Outcome::failed(format!(
                    "kept in the profile: the file {here}; p asks for its folder"
                ))
            }
            (Ok(source), Some(line)) => {
                Outcome { edit: Some((source.path.clone(), line)), ..Outcome::default() }
            }
            _ => Outcome::failed("there is no file to open"),
        }
    }
}

impl View for SourceView {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let cells = canvas.width();
        let top = lines.start;
        let beside = match &self.file {
            Some(file) => Columns::beside_lines(cells, &columns::basis(scene, self.forest(file))),
            None => Vec::new(),
        };
        let notes = self.notes_height(cells, lines.len());
        self.notes(cells, lines.len()).draw(canvas, scene.theme, top..top + notes);
        self.draw_heading(canvas, scene, &beside, top - 1);
        let Some(file) = &self.file else { return };
        for (place, y) in (top + notes..lines.end).enumerate() {
            let at = self.scroll + place;
            let Some(&item) = self.items.get(at) else { break };
            self.draw_item(canvas, scene, file, &beside, (item, y));
            if at == self.selected {
                canvas.style(0, y, cells, scene.theme.selected());
            }
        }
    }

    fn scroll(&mut self, lines: isize) {
        let last = self.items.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(lines).min(last);
    }

    fn lay_out(&mut self, _shown: &Refined, width: usize, height: usize) {
        self.above = self.notes_height(width, height);
        let height = height.saturating_sub(self.above).max(1);
        let last_top = (self.selected + 1).saturating_sub(height);
        if self.scroll < last_top.saturating_sub(height) || self.scroll > self.selected + height {
            // Far away: in the middle, with what is around it.
            self.scroll = self.selected.saturating_sub(height / 2);
        }
        self.scroll = self.scroll.clamp(last_top, self.selected.max(last_top));
        self.scroll = self.scroll.min(self.items.len().saturating_sub(height));
    }

    fn find(&self, pattern: &NamePattern, scene: &Scene) -> Option<Finds> {
        self.found(pattern, scene)
    }

    fn table(&self, scene: &Scene) -> Option<Table> {
        self.whole_table(scene)
    }

    fn line(&self) -> usize {
        self.selected
    }

    fn select_line(&mut self, line: usize) {
        self.selected = line.min(self.items.len().saturating_sub(1));
    }

    fn put(&mut self, line: usize, above: usize) {
        self.select_line(line);
        self.scroll = self.selected.saturating_sub(above.saturating_sub(self.above));
    }

    fn select_at(&mut self, _x: usize, line: usize, _shown: &Refined) -> bool {
        let at = line.checked_sub(self.above).map(|line| self.scroll + line);
        let at = at.filter(|at| *at < self.items.len());
        self.selected = at.unwrap_or(self.selected);
        at.is_some()
    }

    fn explained(&self, scene: &Scene) -> Option<(String, Explanation)> {
        let file = self.file.as_ref()?;
        let (forest, row, name) = match self.item()? {
            SourceItem::Line(line) => {
                let row = file.lines.line(line).map(|line| &line.row);
                (&file.lines.forest, row, format!("{}:{line}", file.path))
            }
            SourceItem::Callee(line, at) => {
                let row = self.open.get(&line)?.as_ref()?.get(at)?;
                let name = scene.refined.functions.get(row.function.index())?.name.to_string();
                let name = format!("{name}, called or inlined at {}:{line}", file.path);
                (&scene.refined, Some(row), name)
            }
            SourceItem::Gap(..) => return None,
            SourceItem::Code(at) | SourceItem::LineOf(at) => {
                let code = self.code()?;
                let name =
                    format!("{} at {:#x}", self.shown.as_ref()?.name, code.code[at].listed.address);
                (&code.costs.forest, code.costs.rows.get(&at), name)
            }
        };
        let Some(row) = row else {
            let none = "no path that is shown comes through it".to_owned();
            return Some((name, vec![("samples".to_owned(), none)]));
        };
        let basis = columns::basis(scene, forest);
        let [_, costs, edges] = basis.explained(Cost::Inclusive);
        let columns = costs.into_iter().chain(edges);
        let texts = columns.flat_map(|column| column.explain(&basis, row, SHEET.about));
        Some((name, texts.collect()))
    }

    /// The view is about the function that was selected, if one was.
    fn entered(&mut self, function: Option<FunctionKey>, _path: Option<Path>, shown: &Refined) {
        if let Some(key) = function {
            self.return_to(&key, None, shown);
        }
    }

    fn about_function(&self) -> Option<(FunctionKey, Option<u32>)> {
        Some((self.shown.as_ref()?.key.clone(), self.selected_line().or(self.follow)))
    }

    fn return_to(&mut self, key: &FunctionKey, line: Option<u32>, shown: &Refined) {
        if let Some(function) = shown.function_of(key) {
            let name = shown.functions[function.index()].name.clone();
            self.before.clear();
            self.show(Shown { key: shown.key(function), name }, line);
        }
    }

    fn wanted(&self) -> Option<Wanted> {
        let shown = self.shown.clone()?;
        let Some(file) = &self.file else {
            let sources = self.sources.clone();
            let detail = format!("{} {sources:?}", shown.text());
            let make = move |refined: &Refined, watch: &Watch<'_>| {
                Ok(Made::default().with(Arc::new(read(refined, &shown, &sources, watch)?)))
            };
            return Some(Wanted::new("source", detail, make).reading_files());
        };
        if self.shows_code && self.code.is_none() {
            let sources = self.sources.clone();
            let detail = format!("{} {sources:?}", shown.text());
            let make = move |refined: &Refined, watch: &Watch<'_>| {
                Ok(Made::default().with(disassemble(refined, &shown, &sources, watch)?))
            };
            return Some(Wanted::new("instructions", detail, make).reading_files());
        }
        let (&line, _) = self.open.iter().find(|(_, rows)| rows.is_none())?;
        let path = Arc::clone(&file.path);
        let make = move |refined: &Refined, watch: &Watch<'_>| {
            let rows = callees(refined, &path, line, watch)?;
            Ok(Made::default().with(Below { line, rows }))
        };
        Some(Wanted::new("callees of a line", format!("{}:{line}", file.path), make))
    }

    fn take(&mut self, made: &mut Made, shown: &Refined) {
        if let Some(file) = made.take::<Arc<FileOf>>() {
            let line = self.follow.unwrap_or(file.first);
            self.file = Some(file);
            self.list();
            if !self.shows_code {
                self.follow = None;
                self.select(SourceItem::Line(line));
            }
        }
        if let Some(code) = made.take::<MadeCode>() {
            self.code = Some(code);
            self.list();
            self.go_to_code(shown);
        }
        if let Some(Below { line, rows }) = made.take() {
            self.open.insert(line, Some(rows));
            self.list();
        }
    }

    /// The line stays, and what was open is open again.
    fn forget(&mut self, _shown: &Refined) {
        self.follow = self.selected_line().or(self.follow);
        (self.file, self.code) = (None, None);
        self.items.clear();
        self.open.values_mut().for_each(|rows| *rows = None);
    }

    fn look_at(&mut self, metric: MetricRef) {
        if let Some(file) = &mut self.file {
            let file = Arc::make_mut(file);
            file.lines.forest = file.lines.forest.clone().looking_at(metric);
        }
        if let Some(Ok(code)) = &mut self.code {
            let code = Arc::make_mut(code);
            code.costs.forest = code.costs.forest.clone().looking_at(metric);
        }
    }

    fn look_in(&mut self, sources: &Sources) {
        self.sources = sources.clone();
        self.follow = self.selected_line().or(self.follow);
        (self.file, self.code) = (None, None);
        self.items.clear();
    }

    fn act(&mut self, action: Action, shown: &Refined) -> Outcome {
        match action {
            HOTTEST => return self.go_to_hot(None, shown),
            NEXT => return self.go_to_hot(Some(1), shown),
            PREVIOUS => return self.go_to_hot(Some(-1), shown),
            OPEN => return self.enter(shown),
            EDIT => return self.edit(),
            CODE => return self.toggle_code(shown),
            BACK => match self.before.pop() {
                Some((before, line)) => self.show(before, Some(line)),
                None => {
                    return Outcome::said("this is the function that was chosen in another view");
                }
            },
            LEFT => self.shift = self.shift.saturating_sub(SIDEWAYS),
            _ => self.shift += SIDEWAYS,
        }
        Outcome::default()
    }

    fn memory(&mut self, _shown: &Refined) -> Memory {
        let line = self.selected_line();
        let subject = self.shown.clone().map(|shown| Subject {
            what: "the function whose source is shown",
            text: shown.text(),
            own: Arc::new(SourcePlace { shown, line, before: self.before.clone() }),
        });
        Memory { subject, ..Memory::default() }
    }

    fn turn_to(&mut self, subject: &Subject, _shown: &Refined) {
        if let Some(SourcePlace { shown, line, before }) = subject.own.downcast_ref() {
            self.show(shown.clone(), *line);
            self.before.clone_from(before);
        }
    }

    fn repro(&self, shown: &Refined) -> Repro {
        match &self.shown {
            _ if shown.profile.comparison.is_some() => {
                Repro::None("csprof diff has no source; csprof report of each has")
            }
            _ if self.shows_code => Repro::None("instructions have no command line; a shows lines"),
            None => Repro::None("no function is shown"),
            Some(shown) => {
                let words = ["--source".to_owned(), shown.name.to_string()].into_iter();
                Repro::OfText(words.chain(self.sources.options()).collect())
            }
        }
    }
}
