//! The flame view: the call tree as a picture, callees below their callers, as wide as their cost.
//!
//! Its selection is a row of a tree like that of the tree view, so what can be done with a row can
//! be done with a box. Moving opens rows, which nobody sees here: only what the picture begins
//! with is kept for undo.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use super::super::canvas::Canvas;
use super::super::caption::{LEAST_NAME, Namesakes};
use super::super::columns;
use super::super::comparison;
use super::super::language::row_stage;
use super::super::made::{Made, Wanted};
use super::super::message::{Action, Message, RowStage};
use super::super::mode::{
    Binding, COPY, FIND, FRAME, Group, Keys, Mode, NOTES, NUMBERS, REFINE, REFINE_BY_ROW, SEARCH,
    STEPS, bind,
};
use super::super::name::{shorten, width};
use super::super::scene::Scene;
use super::super::table::{Rows, Table};
use super::super::theme::Fill;
use super::super::view::{
    Memory, OF_ROWS, Outcome, Repro, RowsMut, Sheet, Subject, View, ViewEntry,
};
use super::lazy::{LazyTable, first_table};
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::Refined;
use crate::views::columns::{About, Column};
use crate::views::difference::{Change, Difference};
use crate::views::flame::{Extent, FlameBox, Side, beside, boxes, callees, first_callee};
use crate::views::number::percent;
use crate::views::path::Path;
use crate::views::top_down::{Downward, TopDown};
use crate::views::tree::RowId;
use crate::views::{Cost, Row};

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Flame",
    command: "flame",
    key: "6",
    help: "flame: the call tree as a picture",
    modes: &[&MODE],
    new: |_| Box::new(Flame::default()),
};

static MODE: Mode = Mode {
    title: "the flame view",
    keys: &[
        &[
            Keys::Of(OWN),
            Keys::Of(FIND),
            Keys::Of(SEARCH),
            Keys::Of(REFINE),
            Keys::Of(REFINE_BY_ROW),
        ],
        &[Keys::Of(NOTES), Keys::Of(STEPS), Keys::Of(NUMBERS), Keys::Of(COPY)],
        FRAME,
    ],
};

const CALLEE: Action = Action("callee");
const CALLER: Action = Action("caller");
const WIDER: Action = Action("wider");
const NARROWER: Action = Action("narrower");
const FIRST: Action = Action("first box");
const ZOOM: Action = Action("zoom");
const OUT: Action = Action("zoom out");
const FILLS: Action = Action("colors");

static OWN: &[Binding] = &[
    bind(Group::Move, "j <down>", Message::Own(CALLEE), "to the callee that costs most"),
    bind(Group::Move, "k <up>", Message::Own(CALLER), "to the caller"),
    bind(Group::Move, "l <right>", Message::Own(NARROWER), "to the next box, also a narrow one"),
    bind(Group::Move, "h <left>", Message::Own(WIDER), "to the box before"),
    bind(Group::Move, "g <home>", Message::Own(FIRST), "to the first box"),
    bind(Group::Find, "H", Message::HotPath, "follow the hot path; again: further"),
    bind(Group::Find, "<enter>", Message::Own(ZOOM), "zoom: the box takes all of the width"),
    bind(Group::Find, "<backspace>", Message::Own(OUT), "zoom out, one box"),
    bind(Group::Numbers, "v", Message::Own(FILLS), "colors tell load modules, or kinds of calls"),
    bind(
        Group::Refine,
        "T",
        Message::Refine(RowStage::ThroughPath),
        "only paths that begin as this box's",
    ),
    bind(Group::Views, "<space>", Message::OpenMenu, "what can be done with this box"),
];

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("?", "help"),
        ("q", "tree"),
        ("hjkl", "move"),
        ("enter", "zoom"),
        ("bksp", "out"),
        ("u", "undo"),
        ("/", "search"),
        ("C", "callers"),
        ("t", "through"),
        ("x", "exclude"),
        ("v", "colors"),
        ("=", "explain"),
    ],
    is_picture: true,
    is_searched_whole: true,
    searched: "names of rows, open or closed",
    double_click: || Message::Own(ZOOM),
    arrow: " > ",
    about: About { inclusive: "all samples whose path begins as this row's does", ..OF_ROWS.about },
    ..OF_ROWS
};

/// How wide and deep the picture is whose rows are opened beforehand.
const OPENED: Extent = Extent { width: 256, least: 1, levels: 64 };

/// What colors tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fills {
    /// Load modules.
    #[default]
    Modules,
    /// Calls, inlined functions, tail calls, loops.
    Kinds,
}

#[derive(Clone, Debug, Default)]
struct Flame {
    rows: LazyTable<Downward>,
    /// The row to begin with, as long as the selected one is below it.
    zoom: Arc<Path>,
    /// The same in the tree there is.
    zoomed: RowId,
    fills: Fills,
    /// The row that the picture begins with.
    root: RowId,
    /// The boxes of the picture, line by line, once it is laid out.
    lines: Vec<Vec<FlameBox>>,
    /// What these were made for.
    laid_out: Option<Layout>,
    /// The selected row when it was, and its box, or the nearest one that stands for it.
    selected: Option<(RowId, Option<FlameBox>)>,
    /// The first line that is seen.
    scroll: usize,
    /// How many are.
    height: usize,
}

/// What the boxes depend on, in one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    root: RowId,
    extent: Extent,
    metric: MetricRef,
}

/// The tree of the picture.
#[derive(Clone, Debug)]
struct Picture(TopDown);

impl Flame {
    fn selected(&self) -> Option<RowId> {
        let table = self.rows.table.as_ref()?;
        Some(table.line(table.selected())?.row)
    }

    /// Lets the picture begin with another row.
    fn zoom_to(&mut self, shown: &Refined, row: RowId) {
        let Some(table) = &self.rows.table else { return };
        self.zoom = Arc::new(table.tree().path(shown, row));
        self.zoomed = row;
    }

    /// Lets it begin with the row above.
    fn zoom_out(&mut self, shown: &Refined) -> Outcome {
        let parent = self.rows.table.as_ref().and_then(|table| table.tree().parent(self.root));
        self.zoom_to(shown, parent.unwrap_or_default());
        match parent {
            Some(_) => Outcome::default(),
            None => Outcome::said("this is all of the picture"),
        }
    }

    /// Finds the row to begin with in another tree.
    fn find_zoomed(&mut self, shown: &Refined) {
        let Some(table) = &mut self.rows.table else { return };
        let (row, is_whole) = table.tree_mut().locate(shown, &self.zoom);
        self.zoomed = if is_whole { row } else { RowId::ROOT };
    }

    /// The row that a key leads to from the selected one.
    fn next(&mut self, action: Action, shown: &Refined) -> Option<RowId> {
        let selected = self.selected()?;
        let table = self.rows.table.as_mut()?;
        let tree = table.tree_mut();
        let parent = tree.parent(selected).unwrap_or(RowId::ROOT);
        match action {
            CALLEE => first_callee(tree, shown, selected),
            CALLER => (parent != RowId::ROOT).then_some(parent),
            WIDER => beside(tree, shown, selected, Side::Wider),
            NARROWER => beside(tree, shown, selected, Side::Narrower),
            _ => match self.root {
                RowId::ROOT => first_callee(tree, shown, RowId::ROOT),
                root => Some(root),
            },
        }
    }

    /// The box of a row, or the one that stands for it and its siblings, with its line.
    fn box_of(&self, tree: &TopDown, row: RowId) -> Option<(usize, &FlameBox)> {
        let line = tree.depth(row).checked_sub(tree.depth(self.root))? as usize;
        let boxes = self.lines.get(line)?;
        let of_row = boxes.iter().find(|of| of.row == Some(row));
        let parent = tree.parent(row);
        let rest = || boxes.iter().find(|of| of.row.is_none() && Some(of.above) == parent);
        of_row.or_else(rest).map(|of| (line, of))
    }

    fn box_at(&self, x: usize, line: usize) -> Option<&FlameBox> {
        let boxes = self.lines.get(self.scroll + line)?;
        boxes.iter().find(|of| (of.start..of.start + of.width).contains(&x))
    }

    fn draw_box<'v>(
        &'v self,
        canvas: &mut Canvas<'_>,
        scene: &Scene,
        namesakes: &mut Namesakes<'v>,
        of: FlameBox,
        y: usize,
    ) {
        let theme = scene.theme;
        let refined = &scene.refined;
        let Some(table) = &self.rows.table else { return };
        let side = theme.glyphs.box_side;
        let is_selected = self.selected.is_some_and(|(_, nearest)| nearest == Some(of));
        let Some(id) = of.row else {
            let style = if is_selected { theme.selected() } else { theme.faint() };
            let text = theme.glyphs.ellipsis.repeat(of.width);
            canvas.text(of.start, y, &text, of.width, style);
            return;
        };
        let row = table.tree().row(id);
        let name = match (row.kind, id) {
            (_, RowId::ROOT) => "all call paths",
            _ => refined.functions.get(row.function.index()).map_or("", |of| &*of.name),
        };
        let (mark, fill) = self.fill(scene, row, id);
        let style = if is_selected { theme.selected() } else { theme.fill(fill) };
        let room = of.width.saturating_sub(width(side) + width(mark));
        let tree = table.tree();
        let above = tree.parent(id).filter(|_| room > LEAST_NAME);
        let telling = above.map_or_else(String::new, |above| {
            namesakes.telling(row, above, || tree.first_below(above))
        });
        let text = match room.checked_sub(width(&telling) + 1) {
            Some(left) if !telling.is_empty() && left >= LEAST_NAME => {
                format!("{side}{mark}{} {telling}", shorten(name, left, theme.glyphs.ellipsis))
            }
            _ => format!("{side}{mark}{}", shorten(name, room, theme.glyphs.ellipsis)),
        };
        canvas.text(of.start, y, &" ".repeat(of.width), of.width, style);
        canvas.text(of.start, y, &text, of.width, style);
        let found = scene.search.as_ref().is_some_and(|search| search.finds(row, refined));
        if found && id != RowId::ROOT {
            canvas.style(of.start, y, of.width, style.patch(theme.found_box()));
        }
    }

    /// The mark of a box, and what its color tells.
    fn fill(&self, scene: &Scene, row: &Row, id: RowId) -> (&'static str, Fill) {
        if let Some(compared) = scene.comparison() {
            let difference = Difference::new(compared, Cost::Inclusive.of_runs(row));
            let (_, mark) = comparison::change(scene.theme, &difference);
            let fill = match difference.change() {
                _ if mark.is_empty() => Fill::Nothing,
                Change::New | Change::More => Fill::More,
                Change::Gone | Change::Less | Change::Same => Fill::Less,
            };
            return (mark, fill);
        }
        if id == RowId::ROOT || !row.kind.is_of_program() {
            return ("", Fill::Nothing);
        }
        let number = match self.fills {
            Fills::Kinds => row.kind as usize,
            Fills::Modules => {
                let function = scene.refined.functions.get(row.function.index());
                let module = function.and_then(|function| function.module);
                module.map_or(0, |module| module.index() + 1)
            }
        };
        ("", Fill::Kind(number))
    }

    /// What is selected, and what it costs.
    fn heading(&self, scene: &Scene, cells: usize) -> String {
        let refined = &scene.refined;
        let Some((table, id)) = self.rows.table.as_ref().zip(self.selected()) else {
            return String::new();
        };
        let row = table.tree().row(id);
        let basis = columns::basis(scene, refined);
        let cost = match scene.comparison() {
            Some(compared) => {
                let of = Difference::new(compared, Cost::Inclusive.of_runs(row));
                of.delta(scene.form())
            }
            None => {
                let column = Column::INCLUSIVE;
                let text = column.text(&basis, &column.value(&basis, row));
                let parent = table.tree().parent(id).map(|parent| table.tree().row(parent));
                let whole = scene.whole_of(parent);
                let share = percent(row.of(refined.metric).inclusive, whole);
                format!("{text} {share}%")
            }
        };
        let kind = row.kind.shown_label();
        let space = if kind.is_empty() { "" } else { " " };
        let cost = format!("  {kind}{space}{cost} ");
        let name = refined.functions.get(row.function.index()).map_or("", |of| &*of.name);
        let room = cells.saturating_sub(width(&cost) + 1);
        format!(" {}{cost}", shorten(name, room, scene.theme.glyphs.ellipsis))
    }
}

impl View for Flame {
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

    /// The line above the picture says what is selected; ends with what it begins with.
    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let theme = scene.theme;
        let (cells, top) = (canvas.width(), lines.start);
        canvas.rule(top - 1);
        if self.rows.table.as_ref().is_none_or(Rows::is_empty) {
            let (text, style) = match self.rows.table {
                None => (self.instead_of_rows(), theme.faint()),
                Some(_) => (Cow::Borrowed(self.if_empty(&scene.refined)), theme.warning()),
            };
            canvas.text(1, top, &theme.plain(&text), cells.saturating_sub(2), style);
            return;
        }
        let heading = self.heading(scene, cells.saturating_sub(2));
        let end = canvas.text(1, top - 1, &heading, cells, theme.strong());
        if self.root != RowId::ROOT
            && let Some(table) = &self.rows.table
        {
            let above = table.tree().depth(self.root) - 1;
            let zoomed = format!(" {above} above ");
            let room = cells.saturating_sub(end + 2);
            if above > 0 && width(&zoomed) <= room {
                canvas.text_right(cells - 1, top - 1, &zoomed, room, theme.faint());
            }
        }
        let mut namesakes = Namesakes::new(self, scene);
        for (y, line) in lines.zip(self.lines.iter().skip(self.scroll)) {
            for of in line {
                self.draw_box(canvas, scene, &mut namesakes, *of, y);
            }
        }
    }

    fn select_at(&mut self, x: usize, line: usize, shown: &Refined) -> bool {
        let Some(of) = self.box_at(x, line).copied() else { return false };
        let Some(table) = &mut self.rows.table else { return false };
        // Of those without boxes the first one costs most.
        let row = of.row.or_else(|| {
            let boxed: Vec<_> =
                self.lines.iter().flatten().filter(|other| other.above == of.above).collect();
            let rows = callees(table.tree_mut(), shown, of.above);
            rows.into_iter().find(|row| boxed.iter().all(|of| of.row != Some(*row)))
        });
        if let Some(row) = row.filter(|row| *row != RowId::ROOT) {
            table.reveal(shown, row);
        }
        row.is_some()
    }

    fn lay_out(&mut self, shown: &Refined, width: usize, height: usize) {
        let selected = self.selected();
        let Some((selected, table)) = selected.zip(self.rows.table.as_mut()) else {
            self.lines.clear();
            (self.laid_out, self.selected) = (None, None);
            return;
        };
        let tree = table.tree_mut();
        let before = (self.root, self.height);
        let mut above = std::iter::successors(Some(selected), |at| tree.parent(*at));
        // A search, a hot path or another view may have led out of it.
        self.root = if above.any(|at| at == self.zoomed) { self.zoomed } else { RowId::ROOT };
        self.height = height;
        let line = (tree.depth(selected) - tree.depth(self.root)) as usize;
        // Whole screens, so that few moves ask for more.
        let levels = (line.max(self.scroll) / height.max(1) + 2) * height.max(1);
        let extent = Extent { width, least: 1, levels };
        let layout = Layout { root: self.root, extent, metric: shown.metric };
        if self.laid_out.replace(layout) != Some(layout) {
            self.lines = boxes(tree, shown, self.root, extent);
        }
        let Some(table) = &self.rows.table else { return };
        let tree = table.tree();
        let mut above = std::iter::successors(Some(selected), |at| tree.parent(*at));
        let nearest = above.find_map(|row| self.box_of(tree, row));
        let (line, nearest) = nearest.map_or((0, None), |(line, of)| (line, Some(*of)));
        // In another picture the same line is another place.
        let has_moved = before != (self.root, height)
            || self.selected.is_none_or(|(before, _)| before != selected);
        self.selected = Some((selected, nearest));
        if has_moved {
            // The callees of what is selected are seen, too.
            let last_top = (line + 2).saturating_sub(height);
            self.scroll = self.scroll.clamp(last_top, line.max(last_top));
        }
        self.scroll = self.scroll.min(self.lines.len().saturating_sub(height));
    }

    /// The selection may leave the screen, until it moves or the picture is another one.
    fn scroll(&mut self, lines: isize) {
        self.scroll = self.scroll.saturating_add_signed(lines);
    }

    fn selected_path(&self, shown: &Refined) -> Option<Path> {
        Some(self.rows.table.as_ref()?.tree().path(shown, self.selected()?))
    }

    fn entered(&mut self, _function: Option<FunctionKey>, path: Option<Path>, shown: &Refined) {
        self.rows.reveal_path(shown, path);
    }

    fn wanted(&self) -> Option<Wanted> {
        self.rows.table.is_none().then(|| {
            Wanted::new("flame", String::new(), |refined, watch| {
                let mut tree = TopDown::new(refined, watch)?;
                // Rows that are opened here are not opened while somebody waits for a key.
                boxes(&mut tree, refined, RowId::ROOT, OPENED);
                Ok(Made::default().with(Picture(tree)))
            })
        })
    }

    fn take(&mut self, made: &mut Made, shown: &Refined) {
        let Some(Picture(tree)) = made.take() else { return };
        self.rows.take(first_table(tree, shown, SHEET.cost), shown);
        self.find_zoomed(shown);
        (self.laid_out, self.selected) = (None, None);
    }

    fn forget(&mut self, shown: &Refined) {
        self.rows.forget(shown);
        self.lines.clear();
        (self.laid_out, self.selected) = (None, None);
    }

    fn look_at(&mut self, _metric: MetricRef) {
        self.rows.forget_hot_paths();
    }

    fn act(&mut self, action: Action, shown: &Refined) -> Outcome {
        match action {
            ZOOM => match self.selected() {
                Some(row) if row != self.root => self.zoom_to(shown, row),
                Some(_) => return Outcome::said("this box has all of the width already"),
                None => {}
            },
            OUT => return self.zoom_out(shown),
            FILLS => {
                let (fills, said) = match self.fills {
                    Fills::Modules => (Fills::Kinds, "colors tell calls, inlined functions, loops"),
                    Fills::Kinds => (Fills::Modules, "colors tell load modules"),
                };
                self.fills = fills;
                return Outcome::said(said);
            }
            _ => {
                let next = self.next(action, shown);
                if action == CALLER && self.selected() == Some(self.root) {
                    self.zoom_out(shown);
                }
                if let (Some(row), Some(table)) = (next, &mut self.rows.table) {
                    table.reveal(shown, row);
                }
            }
        }
        Outcome::default()
    }

    fn memory(&mut self, _shown: &Refined) -> Memory {
        let mut hasher = DefaultHasher::new();
        self.zoom.0.hash(&mut hasher);
        // Rows of one name beside each other are told apart.
        self.zoom.numbers().for_each(|number| number.hash(&mut hasher));
        let subject = Subject {
            what: "what the picture begins with",
            text: format!("{} {:x}", self.zoom.0.len(), hasher.finish()),
            own: self.zoom.clone(),
        };
        Memory { subject: Some(subject), ..Memory::default() }
    }

    fn turn_to(&mut self, subject: &Subject, shown: &Refined) {
        let Ok(zoom) = subject.own.clone().downcast::<Path>() else { return };
        if self.zoom == zoom && self.zoom.numbers().eq(zoom.numbers()) {
            return;
        }
        self.zoom = zoom;
        self.find_zoomed(shown);
        if self.zoomed != RowId::ROOT
            && let Some(table) = &mut self.rows.table
        {
            table.reveal(shown, self.zoomed);
        }
    }

    fn repro(&self, shown: &Refined) -> Repro {
        let Some(tree) = self.rows.table.as_ref().map(Table::tree) else {
            return Repro::OfPicture(None);
        };
        let above = std::iter::successors(Some(self.root), |at| tree.parent(*at));
        let mut rows: Vec<_> =
            above.filter(|at| *at != RowId::ROOT).map(|at| tree.row(at)).collect();
        rows.reverse();
        if rows.is_empty() {
            return Repro::OfPicture(None);
        }
        match row_stage(RowStage::ThroughPath, shown, &rows) {
            Ok(stage) => Repro::OfPicture(Some(stage)),
            Err(_) => Repro::None("the picture begins with a row that is no function: zoom out"),
        }
    }
}
