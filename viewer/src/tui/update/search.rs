//! Searching: it goes to rows, it hides none.
//!
//! In the trees of calls and of places it finds rows whether they are open or not, and opens the way
//! to them. In other views it goes over the rows that have a line.

use std::collections::BTreeSet;

use super::super::message::View;
use super::super::model::{Model, Notice};
use super::super::table::{Place, Rows};
use crate::views::search::{NamePattern, Search, Way};
use crate::views::tree::RowId;

/// Goes to the next row that the search finds, or the previous one.
pub(super) fn step(model: &mut Model<'_>, forward: bool) {
    if model.search.is_none() {
        model.notice = Some(Notice::Said("nothing is searched for; / searches".to_owned()));
        return;
    }
    go(model, Some(forward));
}

/// Searches for the name of the selected row.
pub(super) fn for_selected(model: &mut Model<'_>) {
    let Some(selected) = model.selected() else { return };
    let pattern = NamePattern::new(model.row_name(selected.row));
    model.search_for(pattern);
    step(model, true);
}

/// While typing: goes to the first row found at or after the place where the search began;
/// returns how many names there are, `None` if nothing was typed.
pub(super) fn typed(model: &mut Model<'_>, text: &str, from: Option<Place>) -> Option<usize> {
    if let (Some((rows, _)), Some(place)) = (model.rows_mut(), from) {
        rows.return_to(place);
    }
    model.search_for(NamePattern::new(text));
    if text.is_empty() {
        return None;
    }
    Some(if go(model, None) { names_found(model) } else { 0 })
}

/// How many names of the view have the text in them.
fn names_found(model: &Model<'_>) -> usize {
    let (Some(pattern), Some(rows)) = (&model.search, model.rows()) else { return 0 };
    if let Some(search) = model.found.as_ref().filter(|_| is_searched_whole(model)) {
        return search.functions_found();
    }
    let lines = (0..rows.len()).filter_map(|at| rows.line(at));
    let functions: BTreeSet<_> = lines.map(|line| rows.row(line).function).collect();
    functions.into_iter().filter(|function| pattern.is_in(model.name(*function))).count()
}

/// Whether rows are found that have no line yet.
fn is_searched_whole(model: &Model<'_>) -> bool {
    model.view == View::Tree || model.has_places()
}

/// Goes from the selected row to a row found: the next, the previous, or (`None`) this one or the
/// next.
fn go(model: &mut Model<'_>, way: Option<bool>) -> bool {
    let found = if is_searched_whole(model) { in_tree(model, way) } else { in_lines(model, way) };
    model.notice = match found {
        Some(true) => Some(Notice::Said("went round the end".to_owned())),
        Some(false) => None,
        None => Some(Notice::Failed("no row has this in its name".to_owned())),
    };
    found.is_some()
}

/// Returns whether it went round, if something was found.
fn in_tree(model: &mut Model<'_>, way: Option<bool>) -> Option<bool> {
    if model.found.is_none() {
        // O(nodes), once for each pattern and refinement.
        model.found = Some(Search::new(model.of_rows(), model.search.as_ref()?));
    }
    let search = model.found.as_ref()?;
    let (table, refined) = match &mut model.places {
        Some(places) if model.view == View::Flat => (&mut places.rows, &places.forest),
        _ if model.view == View::Tree => (&mut model.tree, &model.refined),
        _ => return None,
    };
    let start = table.line(table.selected()).map_or(RowId::ROOT, |line| line.row);
    let tree = table.tree_mut();
    let found = match way {
        None => search.at_or_after(tree, refined, RowId::ROOT, start),
        Some(true) => search.step(tree, refined, RowId::ROOT, start, Way::Forward),
        Some(false) => search.step(tree, refined, RowId::ROOT, start, Way::Backward),
    }?;
    table.reveal(refined, found.row);
    Some(found.wrapped)
}

fn in_lines(model: &mut Model<'_>, way: Option<bool>) -> Option<bool> {
    let pattern = model.search.as_ref()?;
    let functions = &model.refined.functions;
    let wanted: Vec<bool> = functions.iter().map(|f| pattern.is_in(&f.name)).collect();
    let (rows, _) = model.rows_mut()?;
    let (at, wrapped) = rows.find(&wanted, rows.selected(), way)?;
    rows.select(at);
    Some(wrapped)
}
