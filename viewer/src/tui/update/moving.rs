//! Moving about in lists and pages, and opening and ordering rows.

use super::super::columns::sort_key;
use super::super::message::{Edge, Notice, ViewId};
use super::super::model::{HOT_SHARE, Model, Over};
use super::super::name::width;
use super::super::table::{OPEN_LIMIT, Rows};
use crate::refine::Refined;
use crate::views::columns::Column;
use crate::views::difference::Difference;
use crate::views::hot_path;
use crate::views::number::counted;
use crate::views::{Cost, Sort};

/// A screen of lines, with one line in common.
pub(super) fn page(model: &Model) -> isize {
    isize::try_from(model.body_height().saturating_sub(1).max(1)).unwrap_or(1)
}

/// Moves in whatever list has the focus.
pub(super) fn move_by(model: &mut Model, lines: isize) {
    let stages = model.stages.0.len();
    let items = model.menu_items().count();
    let choices = match model.over.last() {
        Some(Over::Columns(_)) => model.column_choices().len(),
        _ => 0,
    };
    let moved = |at: usize, len: usize| at.saturating_add_signed(lines).min(len.saturating_sub(1));
    let has_rows = model.sheet().has_rows;
    match model.over.last_mut() {
        Some(Over::Page(page)) => page.scroll_by(lines),
        Some(Over::Menu(selected)) => *selected = moved(*selected, items),
        Some(Over::Stages(selected)) => *selected = moved(*selected, stages),
        Some(Over::Columns(selected)) => *selected = moved(*selected, choices),
        Some(Over::Prompt(_)) => {}
        Some(Over::View(_)) | None if has_rows => {
            change_rows(model, |rows, _| rows.select(rows.selected().saturating_add_signed(lines)));
        }
        Some(Over::View(_)) | None => model.view_mut().scroll(lines),
    }
}

/// Moves the window so that the selected line is there.
pub(super) fn put(model: &mut Model, edge: Edge) {
    let above = match edge {
        Edge::Top => 0,
        Edge::Middle => model.body_height() / 2,
        Edge::Bottom => model.body_height().saturating_sub(1),
    };
    if let Some((rows, _)) = model.rows_mut() {
        rows.put(above);
    } else {
        let line = model.view().line();
        model.view_mut().put(line, above);
    }
}

/// Keeps the selection and the end of pages on the screen. Costs what is on the screen.
pub(super) fn keep_in_view(model: &mut Model) {
    let height = model.body_height();
    let width = usize::from(model.size.0);
    let is_picture = model.sheet().is_picture;
    let barred = model.columns().barred;
    match model.rows_mut() {
        Some((rows, refined)) if !is_picture => {
            rows.keep_in_view(height);
            rows.measure(refined, barred);
            let first = rows.scroll();
            rows.fill_strips(refined, first..first + height);
        }
        _ => model.lay_out(width, height),
    }
    if let Some(page) = model.page_mut() {
        page.keep_in_view(width, height);
    }
}

pub(super) fn change_rows(model: &mut Model, change: impl FnOnce(&mut dyn Rows, &Refined)) {
    if let Some((rows, refined)) = model.rows_mut() {
        change(rows, refined);
    }
}

pub(super) fn open_subtree(model: &mut Model) {
    let Some((rows, refined)) = model.rows_mut() else { return };
    if !rows.open_subtree(refined) {
        model.notice = Some(Notice::Said(format!(
            "opened as much as fits {OPEN_LIMIT} rows; e on a row further down opens more"
        )));
    }
}

pub(super) fn follow_hot_path(model: &mut Model) {
    let Some((rows, refined)) = model.rows_mut() else { return };
    let steps = rows.follow_hot_path(refined, HOT_SHARE);
    let of = if model.comparison().is_some() { "difference" } else { "cost" };
    let said = match steps {
        0 if model.selected().is_some_and(|selected| !selected.row.has_children) => {
            "the hot path ends here: nothing is below this row".to_owned()
        }
        0 => format!("the hot path ends here: no child has {HOT_SHARE} % of this row's {of}"),
        hot_path::MOST_ROWS => format!("{steps} further along the hot path; H follows it on"),
        _ => format!("{steps} further along the hot path"),
    };
    model.notice = Some(Notice::Said(said));
}

/// Folds chains of rows, or shows them all.
pub(super) fn toggle_folds(model: &mut Model) {
    let Some((rows, refined)) = model.rows_mut() else { return };
    let said = match rows.toggle_folds(refined) {
        Some(true) => "start-up code and chains without cost of their own are folded",
        Some(false) => "all rows are shown; . folds start-up code and chains again",
        None => "only the call tree has folded rows; 1 shows it",
    };
    model.notice = Some(Notice::Said(said.to_owned()));
}

/// Dims rows that differ by no more than noise, and says how many they are and what they differ by
/// together, each sample once.
pub(super) fn toggle_noise(model: &mut Model) {
    let said = if model.comparison().is_none() {
        "only a comparison has rows within noise: csprof view BASE OTHER".to_owned()
    } else {
        model.scene.dims_noise = !model.scene.dims_noise;
        match (model.dims_noise, within_noise(model)) {
            (false, _) => "rows within noise look like the others".to_owned(),
            (true, None) => "rows within noise are dimmed".to_owned(),
            (true, _) if model.sheet().is_picture => {
                "rows within noise are dimmed; boxes within noise have no color".to_owned()
            }
            (true, Some((rows, sum))) => {
                let rows = counted(rows, "row", model.form());
                // Inclusive costs of functions that call each other have the same samples.
                let adds_up = model.sheet().cost == Cost::Exclusive || model.seen() == ViewId::HOME;
                let sum = if adds_up { format!("; in all {sum}") } else { String::new() };
                format!("{rows} here within noise, dimmed{sum}")
            }
        }
    };
    model.notice = Some(Notice::Said(said));
}

/// The rows that have a line and are within noise, and by how much the outermost of them differ
/// together. `None` where the view has no rows. O(lines).
fn within_noise(model: &Model) -> Option<(u64, String)> {
    let (rows, comparison) = (model.rows()?, model.comparison()?);
    let cost = model.sheet().cost;
    let (mut found, mut sums, mut above) = (0, [0_u64; 2], None);
    for line in (0..rows.len()).filter_map(|at| rows.line(at)) {
        above = above.filter(|depth| line.depth > *depth);
        let row = rows.row(line);
        if Difference::new(comparison, cost.of_runs(row)).is_significant() {
            continue;
        }
        found += 1;
        if above.is_none() {
            above = Some(line.depth);
            let of = cost.of_sides(row);
            sums = [sums[0].saturating_add(of[0]), sums[1].saturating_add(of[1])];
        }
    }
    Some((found, Difference::new(comparison, sums).delta(model.form())))
}

/// Scrolls names by some cells, as far as there are any.
pub(super) fn sideways(model: &mut Model, right: bool) {
    const CELLS: isize = 10;
    let cells = if right { CELLS } else { -CELLS };
    model.sideways = model.sideways.saturating_add_signed(cells).min(widest_in_window(model));
}

/// How far names of the window can be scrolled, so that something of the widest is still seen.
fn widest_in_window(model: &Model) -> usize {
    const LEFT: usize = 8;
    let Some(rows) = model.rows() else { return 0 };
    let lines = (rows.scroll()..rows.scroll() + model.body_height()).filter_map(|at| rows.line(at));
    let widths = lines.map(|line| width(model.row_name(rows.row(line))));
    widths.max().unwrap_or(0).saturating_sub(LEFT)
}

pub(super) fn sort_next(model: &mut Model) {
    if !model.sheet().has_rows {
        let seen = model.seen();
        model.views[seen.0].sort_by_next(&model.scene);
        return;
    }
    let mut keys: Vec<Column> = Vec::new();
    let columns = model.columns();
    for key in columns.numbers.iter().filter_map(|place| sort_key(place.column)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.push(Column::NAME);
    change_sort(model, |sort| {
        let place = keys.iter().position(|key| *key == sort.key).map_or(0, |at| at + 1);
        Sort { key: keys[place % keys.len()], reversed: false }
    });
}

pub(super) fn reverse_order(model: &mut Model) {
    if !model.sheet().has_rows {
        let seen = model.seen();
        model.views[seen.0].reverse_order(&model.scene);
        return;
    }
    change_sort(model, |sort| Sort { reversed: !sort.reversed, ..sort });
}

pub(super) fn change_sort(model: &mut Model, change: impl FnOnce(Sort) -> Sort) {
    change_rows(model, |rows, refined| rows.set_sort(refined, change(rows.sort())));
}
