//! Searching: it goes to rows, it hides none.
//!
//! In the tree it finds rows whether they are open or not, and opens the way to them. In the
//! callers and flat views it goes over the rows that have a line.

use super::super::model::{Model, Notice};
use super::super::table::Rows;
use crate::views::search::{NamePattern, Search, Way};
use crate::views::tree::RowId;

/// Goes to the next row that the search finds, or the previous one.
pub(super) fn step(model: &mut Model<'_>, forward: bool) {
    let Some(pattern) = model.search.clone() else {
        model.notice = Some(Notice::Said("nothing is searched for; / searches".to_owned()));
        return;
    };
    let at = model.rows().map_or(0, Rows::selected);
    go(model, &pattern, at, Some(forward));
}

/// Searches for the name of the selected row.
pub(super) fn for_selected(model: &mut Model<'_>) {
    let Some(selected) = model.selected() else { return };
    let name = model.row_name(selected.row).to_owned();
    model.search = NamePattern::new(&name);
    step(model, true);
}

/// While typing: goes to the first row found at or after the line where the search began.
pub(super) fn typed(model: &mut Model<'_>, text: &str, from: usize) -> bool {
    model.search = NamePattern::new(text);
    match model.search.clone() {
        Some(pattern) => go(model, &pattern, from, None),
        None => {
            if let Some((rows, _)) = model.rows_mut() {
                rows.select(from);
            }
            true
        }
    }
}

/// Goes from a line to a row found: the next, the previous, or (`None`) this one or the next.
fn go(model: &mut Model<'_>, pattern: &NamePattern, from: usize, way: Option<bool>) -> bool {
    let found = match model.view {
        super::View::Tree => in_tree(model, pattern, from, way),
        _ => in_lines(model, pattern, from, way),
    };
    match found {
        Some(wrapped) => {
            if wrapped {
                model.notice = Some(Notice::Said("went round the end".to_owned()));
            }
        }
        None => model.notice = Some(Notice::Failed("no row has this in its name".to_owned())),
    }
    found.is_some()
}

/// Returns whether it went round, if something was found.
fn in_tree(
    model: &mut Model<'_>,
    pattern: &NamePattern,
    from: usize,
    way: Option<bool>,
) -> Option<bool> {
    let search = Search::new(&model.refined, pattern);
    let start = model.tree.line(from).map_or(RowId::ROOT, |line| line.row);
    let (tree, refined) = (model.tree.tree_mut(), &model.refined);
    let found = match way {
        None => search.at_or_after(tree, refined, RowId::ROOT, start),
        Some(true) => search.step(tree, refined, RowId::ROOT, start, Way::Forward),
        Some(false) => search.step(tree, refined, RowId::ROOT, start, Way::Backward),
    }?;
    model.tree.reveal(&model.refined, found.row);
    Some(found.wrapped)
}

fn in_lines(
    model: &mut Model<'_>,
    pattern: &NamePattern,
    from: usize,
    way: Option<bool>,
) -> Option<bool> {
    let functions = &model.refined.functions;
    let wanted: Vec<bool> = functions.iter().map(|f| pattern.is_in(&f.name)).collect();
    let (rows, _) = model.rows_mut()?;
    let (at, wrapped) = rows.find(&wanted, from, way)?;
    rows.select(at);
    Some(wrapped)
}
