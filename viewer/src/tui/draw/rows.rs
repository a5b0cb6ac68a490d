//! The table of rows: a tree on the left, columns of numbers on the right.

use super::super::canvas::Canvas;
use super::super::columns::{Columns, Placed, sort_key, text};
use super::super::model::Model;
use super::super::name::{cut_start, head, shorten, width};
use super::super::table::Rows;
use super::super::theme::Theme;
use crate::profile::FrameKind;
use crate::views::columns::{Basis, Cell, Column, Unit};
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
    for offset in 0..height {
        let at = rows.scroll() + offset;
        let Some(line) = rows.line(at) else { break };
        let y = top + offset;
        let sign = view.sign(at, model.theme.glyphs);
        path(canvas, model, (rows, line, sign), columns.path_width, y);
        canvas.text(columns.path_width, y, model.theme.glyphs.vertical, 1, model.theme.faint());
        numbers(canvas, model.theme, &basis, rows.row(line), &columns, y);
        if at == rows.selected() {
            canvas.style(0, y, canvas.width(), model.theme.selected());
        }
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
    let line = glyphs.horizontal.repeat(canvas.width());
    canvas.text(0, y, &line, canvas.width(), theme.faint());
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

/// Guides, marker, name, and where the code is, if there is room.
fn path(
    canvas: &mut Canvas<'_>,
    model: &Model,
    (rows, line, sign): (&dyn Rows, Line, Option<&str>),
    cells: usize,
    y: usize,
) {
    let theme = model.theme;
    let glyphs = theme.glyphs;
    let row = rows.row(line);
    let depth = line.depth as usize;
    // Guides take at most a third of the room; a number stands for those that do not fit.
    let most = most_guides(cells);
    let mut x = if rows.is_hot(line) {
        canvas.text(0, y, glyphs.hot, 1, theme.error());
        1
    } else {
        1
    };
    if depth <= most {
        x = canvas.text(x, y, &glyphs.guide.repeat(depth), depth, theme.faint());
    } else {
        let skipped = depth - most;
        let number = format!("{skipped}{}", glyphs.ellipsis);
        x = canvas.text(x, y, &number, most, theme.faint());
        let rest = (1 + most).saturating_sub(x);
        x = canvas.text(x, y, &glyphs.guide.repeat(rest), rest, theme.faint());
    }
    let marker = match (row.has_children && model.sheet().opens, rows.is_open(line)) {
        (false, _) => glyphs.leaf,
        (true, true) => glyphs.open,
        (true, false) => glyphs.closed,
    };
    x = canvas.text(x, y, sign.unwrap_or(marker), 1, theme.text()) + 1;

    let room = cells.saturating_sub(x + 1);
    let name = model.row_name(row);
    let style = match row.kind {
        FrameKind::Call | FrameKind::Context => theme.text(),
        FrameKind::Inline | FrameKind::Tail | FrameKind::Loop => theme.text().italic(),
        FrameKind::Unknown | FrameKind::Root => theme.faint(),
        FrameKind::Partial => theme.warning(),
    };
    let shown = match row.kind {
        FrameKind::Context => cut_start(name, room, glyphs.ellipsis),
        _ => shorten(name, room, glyphs.ellipsis),
    };
    let end = canvas.text(x, y, &shown, room, style);
    if let Some(place) = model.search.as_ref().and_then(|search| search.place_in(&shown)) {
        let before = width(&shown[..place.start]);
        canvas.style(x + before, y, width(&shown[place]), theme.found());
    }
    where_it_is(canvas, model, row, end, cells, y);
}

fn most_guides(cells: usize) -> usize {
    cells / 3
}

/// The cell of the sign that opens and closes a row at this depth, where paths have so many cells.
pub(in crate::tui) fn marker_at(depth: u32, cells: usize) -> usize {
    1 + (depth as usize).min(most_guides(cells))
}

/// Source line or module, right-aligned in what the name leaves.
fn where_it_is(
    canvas: &mut Canvas<'_>,
    model: &Model,
    row: &Row,
    from: usize,
    end: usize,
    y: usize,
) {
    let Some(function) = model.of_rows().functions.get(row.function.index()) else { return };
    // Its name says it already.
    if row.kind == FrameKind::Context {
        return;
    }
    let base = |path: &str| head(path.rsplit('/').next().unwrap_or_default()).to_owned();
    let mut text = match (function.file, function.module) {
        (Some(file), _) if function.line > 0 => {
            format!("{}:{}", base(model.profile.string(file)), function.line)
        }
        (Some(file), _) => base(model.profile.string(file)),
        (None, Some(module)) => base(model.profile.module_path(module)),
        (None, None) => String::new(),
    };
    // Lines and loops have it in their names.
    if function.name.ends_with(&text) {
        text.clear();
    }
    match row.kind {
        FrameKind::Inline => text = format!("inlined {text}"),
        FrameKind::Tail => text = format!("tail call {text}"),
        _ => {}
    }
    let text = text.trim_end();
    let needed = width(text);
    if needed > 0 && from + 2 + needed < end {
        canvas.text_right(end - 1, y, text, needed, model.theme.faint());
    }
}

fn numbers(
    canvas: &mut Canvas<'_>,
    theme: Theme,
    basis: &Basis<'_>,
    row: &Row,
    columns: &Columns,
    y: usize,
) {
    for &placed in &columns.numbers {
        let Placed { column, start, width: cells } = placed;
        match column.value(basis, row) {
            Cell::Share { part, whole } if column.definition().unit == Unit::Bar => {
                let bar = bar(part, whole, cells, theme.glyphs.bars);
                canvas.text(start, y, &bar, cells, theme.heat(part, whole));
            }
            value => {
                let (text, style) = text(theme, basis, placed, &value);
                canvas.text_right(start + cells, y, &text, cells, style);
            }
        }
    }
}

/// A bar of at most `cells` cells; the last cell is one of the partial bars.
fn bar(part: u64, whole: u64, cells: usize, bars: &[&str]) -> String {
    let Some(steps) = bars.len().checked_sub(1).filter(|_| whole > 0) else {
        return String::new();
    };
    let all = (cells * steps) as u128;
    let filled = (u128::from(part.min(whole)) * all).div_ceil(u128::from(whole));
    // At most cells × steps, which came from a usize.
    let filled = usize::try_from(filled).unwrap_or(cells * steps);
    let mut text = bars[steps].repeat(filled / steps);
    if filled % steps > 0 {
        text.push_str(bars[filled % steps]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::theme::{ASCII, UNICODE};
    use super::bar;

    #[test]
    fn bars_fill_by_share() {
        for (part, whole, expected) in
            [(0, 10, ""), (10, 10, "████"), (5, 10, "██"), (1, 1000, "▏"), (1, 0, "")]
        {
            assert_eq!(bar(part, whole, 4, UNICODE.bars), expected);
        }
        assert_eq!(bar(5, 10, 4, ASCII.bars), "##");
    }
}
