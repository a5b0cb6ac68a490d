//! The table of rows: a tree on the left, columns of numbers on the right.

use std::ops::Range;

use ratatui::style::Style;

use super::super::canvas::Canvas;
use super::super::caption::{self, Namesakes};
use super::super::columns::{Columns, Placed, sort_key, text};
use super::super::comparison::change;
use super::super::help;
use super::super::model::Model;
use super::super::name::{cells_from, cut, cut_start, shorten, width};
use super::super::table::Rows;
use super::super::theme::Theme;
use crate::profile::{FrameKind, Look};
use crate::views::columns::{Basis, Column, Id, Unit};
use crate::views::difference::{Change, Difference};
use crate::views::visible::Line;
use crate::views::{Cost, Row};

/// Paints the headings on the line above `top`, and `height` rows from `top` on.
pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model, top: usize, height: usize) {
    let view = model.view();
    view.draw_above(canvas, model, top - 1 - view.lines_above());
    let room = canvas.width().saturating_sub(2);
    let Some(rows) = view.rows() else {
        let text = model.theme.plain(&view.instead_of_rows()).into_owned();
        canvas.text(1, top, &text, room, model.theme.faint());
        return;
    };
    let columns = model.columns();
    let basis = model.basis();
    headings(canvas, model, &columns, rows, top - 1);
    let has_bars =
        columns.numbers.iter().any(|placed| placed.column.definition().unit == Unit::Bar);
    let longest = if has_bars { rows.longest(basis.refined, columns.barred) } else { 0.0 };
    let mut namesakes = Namesakes::new(view, model);
    for offset in 0..height {
        let at = rows.scroll() + offset;
        if at >= rows.len() {
            break;
        }
        let y = top + offset;
        let sign = view.sign(at, model.theme.glyphs);
        let found = path(canvas, model, (rows, at, sign), &mut namesakes, &columns, y);
        canvas.text(columns.path_width, y, model.theme.glyphs.vertical, 1, model.theme.faint());
        numbers(canvas, model.theme, (&basis, longest), rows, at, &columns, y);
        if model.dims_noise && is_within_noise(model, rows, at, columns.cost) {
            canvas.restyle(0, y, canvas.width(), model.theme.faint());
        }
        if at == rows.selected() {
            canvas.restyle(0, y, canvas.width(), model.theme.selected());
        }
        if let Some((x, cells)) = found {
            canvas.style(x, y, cells, model.theme.found());
        }
    }
    let shown = rows.len().saturating_sub(rows.scroll());
    if model.is_new && shown < height {
        legend(canvas, model, top + shown..top + height);
    }
    if rows.is_empty() {
        canvas.text(1, top, view.if_empty(&model.refined), room, model.theme.warning());
    }
}

fn headings(canvas: &mut Canvas<'_>, model: &Model, columns: &Columns, rows: &dyn Rows, y: usize) {
    let theme = model.theme;
    let glyphs = theme.glyphs;
    let sort = rows.sort();
    let basis = model.basis();
    canvas.rule(y);
    let mark = |key: Column| match (sort.key == key, sort.reversed) {
        (true, false) => glyphs.descending,
        (true, true) => glyphs.ascending,
        (false, _) => "",
    };
    let mut path_heading = format!(" {} ", model.view().heading());
    if model.comparison().is_some() && columns.cost == Cost::Exclusive {
        path_heading.push_str("(exclusive cost) ");
    }
    if sort.key == Column::NAME {
        // Names ascend when numbers descend.
        let mark = if sort.reversed { glyphs.descending } else { glyphs.ascending };
        path_heading.push_str(&format!("{mark} "));
    }
    canvas.text(1, y, &path_heading, columns.path_width.saturating_sub(2), theme.strong());
    canvas.text(columns.path_width, y, glyphs.tee, 1, theme.faint());
    let mut marked = false;
    for &Placed { column, start, width: cells } in &columns.numbers {
        // Several columns may stand for one order; the first carries the mark.
        let is_first = Some(sort.key) == sort_key(column) && !marked;
        marked |= is_first;
        let mark = if is_first { mark(sort.key) } else { "" };
        let heading = column.heading(&basis);
        if heading.is_empty() {
            continue;
        }
        let spaced = format!(" {heading} {mark}");
        let text = match mark {
            "" => format!(" {heading}"),
            _ if width(&spaced) <= cells => spaced,
            _ => format!("{heading}{mark}"),
        };
        let style = match column {
            _ if is_first => theme.current(),
            _ if column.metric.is_some() => theme.text(),
            _ => theme.strong(),
        };
        canvas.text_right(start + cells, y, &text, cells, style);
    }
}

/// Whether the row on a line differs by no more than noise.
fn is_within_noise(model: &Model, rows: &dyn Rows, at: usize, cost: Cost) -> bool {
    let (Some(comparison), Some(line)) = (model.comparison(), rows.line(at)) else { return false };
    !Difference::new(comparison, cost.of_runs(rows.row(line))).is_significant()
}

/// `new` or `gone` for what one side lacks, where no column says so.
fn one_sided(model: &Model, columns: &Columns, row: &Row) -> Option<&'static str> {
    let comparison = model.comparison().filter(|comparison| comparison.moments.is_none())?;
    if columns.numbers.iter().any(|placed| placed.column.id == Id::Growth) {
        return None;
    }
    match Difference::new(comparison, columns.cost.of_sides(row)).change() {
        change @ (Change::New | Change::Gone) => Some(change.word()),
        _ => None,
    }
}

/// Guides, marker, name, and where the code is, if there is room. Returns where in the line a
/// search found something, and how many cells of it.
fn path<'m>(
    canvas: &mut Canvas<'_>,
    model: &'m Model,
    (rows, at, sign): (&'m dyn Rows, usize, Option<&str>),
    namesakes: &mut Namesakes<'m>,
    columns: &Columns,
    y: usize,
) -> Option<(usize, usize)> {
    let cells = columns.path_width;
    let theme = model.theme;
    let glyphs = theme.glyphs;
    let line = rows.line(at)?;
    let row = rows.row(line);
    if model.note(rows, line).is_some() {
        canvas.text(0, y, glyphs.note, 1, theme.strong());
    } else if rows.is_hot(line) {
        canvas.text(0, y, glyphs.hot, 1, theme.error());
    }
    let marker_at = marker_at(rows, line, cells);
    match number_of_guides(line, cells) {
        Some(guides) => canvas.text(1, y, &glyphs.guide.repeat(guides), guides, theme.faint()),
        None => canvas.text(1, y, &rows.frames(line).to_string(), marker_at - 1, theme.faint()),
    };
    let folded = rows.folded(at);
    let is_open = rows.is_open(line) && folded.is_none();
    let marker = match (row.has_children && model.sheet().opens, is_open) {
        (false, _) => glyphs.leaf,
        (true, true) => glyphs.open,
        (true, false) => glyphs.closed,
    };
    let x = canvas.text(marker_at, y, sign.unwrap_or(marker), 1, theme.text()) + 1;

    let room = cells.saturating_sub(x + 1);
    if let Some(folded) = folded {
        let names: Vec<_> = folded.iter().map(|row| model.row_name(row)).collect();
        let text = caption::of_fold(&names, room + model.sideways, glyphs.ellipsis);
        let text = cells_from(&text, model.sideways);
        canvas.text(x, y, &cut(&text, room, glyphs.ellipsis), room, theme.faint());
        return None;
    }
    let name = model.row_name(row);
    let above = rows.above(line);
    let telling = above.map_or_else(String::new, |above| {
        namesakes.telling(row, above, || rows.first_below(above).into_iter())
    });
    let told = width(&telling) + usize::from(!telling.is_empty());
    // Of the name there is to be something, too.
    let has_telling = told > 0 && told + caption::LEAST_NAME <= room;
    let all = room;
    let taken = if has_telling { told } else { 0 };
    let room = room - taken;
    let style = match row.kind.definition().look {
        Look::Plain => theme.text(),
        Look::Slanted => theme.text().italic(),
        Look::Faint => theme.faint(),
        Look::Warning => theme.warning(),
    };
    let shown = match row.kind {
        _ if model.sideways > 0 => {
            let rest = cells_from(name, model.sideways);
            cut(&rest, room, glyphs.ellipsis).into_owned().into()
        }
        FrameKind::Context => cut_start(name, room, glyphs.ellipsis),
        _ => shorten(name, room, glyphs.ellipsis),
    };
    let mut end = canvas.text(x, y, &shown, room, style);
    if let Some(word) = one_sided(model, columns, row)
        && end + 1 + word.len() + taken < cells
    {
        end = canvas.text(end + 1, y, word, word.len(), theme.faint());
    }
    // The place is the first to go where there is little room.
    let place = caption::where_it_is(model.view(), model, row);
    let needed = width(&place);
    if needed > 0 && end + 2 + needed < cells {
        canvas.text_right(cells - 1, y, &place, needed, theme.faint());
    } else if has_telling {
        canvas.text_right(x + all, y, &telling, told - 1, theme.faint());
    }
    let found = model.search.as_ref().and_then(|search| search.place_in(&shown))?;
    Some((x + width(&shown[..found.start]), width(&shown[found])))
}

/// One guide for each level, as long as they take at most a third of the room; `None` beyond, where
/// the number of frames stands for them.
fn number_of_guides(line: Line, cells: usize) -> Option<usize> {
    let depth = line.depth as usize;
    (depth <= cells / 3).then_some(depth)
}

/// The cell of the sign that opens and closes a row, where paths have so many cells.
pub(in crate::tui) fn marker_at(rows: &dyn Rows, line: Line, cells: usize) -> usize {
    let number = || rows.frames(line).to_string().len() + 1;
    1 + number_of_guides(line, cells).unwrap_or_else(number)
}

fn numbers(
    canvas: &mut Canvas<'_>,
    theme: Theme,
    (basis, longest): (&Basis<'_>, f64),
    rows: &dyn Rows,
    at: usize,
    columns: &Columns,
    y: usize,
) {
    let Some(line) = rows.line(at) else { return };
    let row = rows.row(line);
    let is_fold = rows.folded(at).is_some();
    let parent = rows.parent(line);
    for &placed in &columns.numbers {
        let Placed { column, start, width: cells } = placed;
        let unit = column.definition().unit;
        // What the rows of a fold do not have in common is told by none of them.
        let is_common = unit.is_of_metric() || column.id == Id::Samples;
        if is_fold && !is_common && !matches!(unit, Unit::Bar | Unit::Compared | Unit::Strip) {
            continue;
        }
        if unit == Unit::Bar {
            let barred = columns.barred;
            let is_known = !is_fold || !barred.definition().unit.is_of_edges();
            let length = barred.value(basis, row).length().filter(|_| is_known);
            let part = length.unwrap_or(0.0) / longest;
            let bar = theme.glyphs.bar(part, cells);
            canvas.text(start, y, &bar, cells, bar_style(theme, basis, row, columns.cost));
            continue;
        }
        let (text, style) = text(theme, basis, placed, &column.value(basis, (row, parent)));
        canvas.text_right(start + cells, y, &text, cells, style);
    }
}

/// Color is for what can be acted on: cost of a row's own, or what became of it.
fn bar_style(theme: Theme, basis: &Basis<'_>, row: &Row, cost: Cost) -> Style {
    if let Some(comparison) = basis.refined.profile.comparison.as_deref() {
        return change(theme, &Difference::new(comparison, cost.of_runs(row))).0;
    }
    let metric = basis.refined.metric;
    theme.heat(row.of(metric).exclusive, basis.whole(metric))
}

/// Fewer lines of the legend tell too little.
const LEAST_LEGEND: usize = 5;

/// What the columns mean and what to press first, in lines that no row needs: until a key is
/// pressed. Its last lines go where there is too little room: the line of hints has those keys.
/// Nothing, if there is room for a few lines only.
fn legend(canvas: &mut Canvas<'_>, model: &Model, lines: Range<usize>) {
    let columns: Vec<_> = model.columns().numbers.iter().map(|placed| placed.column).collect();
    let page = help::legend(&model.keymap, model.mode(), &columns, &model.basis());
    // Its title has a line of its own.
    let page = page.shortened(canvas.width(), lines.len().saturating_sub(1));
    let height = page.height(canvas.width());
    if height >= LEAST_LEGEND {
        page.draw(canvas, model.theme, lines.end - height..lines.end);
    }
}
