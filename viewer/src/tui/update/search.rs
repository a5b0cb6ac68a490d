//! Searching: it goes to rows, it hides none.
//!
//! In the trees of calls and of places it finds rows whether they are open or not, and opens the
//! way to them: typing goes to where most of what is found costs, then keys go up and down the
//! screen. In other views it goes over the rows that have a line.

use std::collections::BTreeSet;

use super::super::effect::Purpose;
use super::super::message::Notice;
use super::super::model::{Model, Over};
use super::super::name::shorten;
use super::super::prompt::{Prompt, Trial};
use super::super::table::{Place, Rows};
use super::ask::{Effects, ask};
use crate::refine::unwatched;
use crate::views::search::{Hit, NamePattern, Search, Way};
use crate::views::tree::RowId;

/// Rows found that are counted at most: each has to be made.
const MOST_HITS: usize = 1000;

/// Goes to the next row that the search finds, or the previous one.
pub(super) fn step(model: &mut Model, forward: bool) -> Effects {
    if model.search.is_none() {
        model.notice = Some(Notice::Said("nothing is searched for; / searches".to_owned()));
        return Vec::new();
    }
    go(model, Some(forward))
}

/// Searches for the name of the selected row.
pub(super) fn for_selected(model: &mut Model) -> Effects {
    let Some(selected) = model.selected() else { return Vec::new() };
    let pattern = NamePattern::new(model.row_name(selected.row));
    model.search_for(pattern);
    step(model, true)
}

/// While typing: goes to where most of what is found costs, in a list to the first row at or after
/// the place where the search began. The prompt is told how many names there are, once that is
/// known.
pub(super) fn typed(
    model: &mut Model,
    prompt: &mut Prompt,
    text: &str,
    from: Option<Place>,
) -> Effects {
    if let (Some((rows, _)), Some(place)) = (model.rows_mut(), from) {
        rows.return_to(place);
    }
    model.search_for(NamePattern::new(text));
    prompt.trial = Trial::Found(None);
    if text.is_empty() {
        return Vec::new();
    }
    let effects = go(model, None);
    prompt.trial = match model.searching {
        Some((ticket, _)) => Trial::Waiting(ticket),
        // A view may have no rows yet.
        None => Trial::Found(model.rows().is_some().then(|| names_found(model))),
    };
    effects
}

/// The search was accepted: says where among the rows found the selected one is.
pub(super) fn accepted(model: &mut Model) {
    if model.search.is_some() && model.searching.is_none() {
        let is_found = names_found(model) > 0;
        model.notice = Some(said(model, is_found.then_some(false)));
    }
}

/// The shell has marked what there is to find.
pub(super) fn arrived(model: &mut Model, ticket: u64, search: Search) {
    let Some((_, way)) = model.searching.take_if(|(asked, _)| *asked == ticket) else { return };
    if !is_searched_whole(model) || has_own_forest(model) {
        return;
    }
    model.found = Some(search);
    // What is known needs no shell.
    go(model, way);
    let names = names_found(model);
    if let Some(Over::Prompt(prompt)) = model.over.last_mut()
        && prompt.trial == Trial::Waiting(ticket)
    {
        prompt.trial = Trial::Found(Some(names));
    } else if way.is_none() {
        accepted(model);
    }
}

/// How many names of the view have the text in them.
fn names_found(model: &Model) -> usize {
    let (Some(pattern), Some(rows)) = (&model.search, model.rows()) else { return 0 };
    if let Some(search) = model.found.as_ref().filter(|_| is_searched_whole(model)) {
        return search.functions_found();
    }
    let lines = (0..rows.len()).filter_map(|at| rows.line(at));
    let functions: BTreeSet<_> = lines.map(|line| rows.row(line).function).collect();
    functions.into_iter().filter(|function| pattern.is_in(model.name(*function))).count()
}

/// Whether rows are found that have no line yet.
fn is_searched_whole(model: &Model) -> bool {
    model.sheet().is_searched_whole
}

/// Whether the rows were made from another forest than that which is shown, so that the shell does
/// not know them.
fn has_own_forest(model: &Model) -> bool {
    !std::ptr::eq(model.of_rows(), &raw const model.scene.refined)
}

/// Goes from the selected row to a row found: the next, the previous, or (`None`) the one that
/// typing goes to. Where the tree is large, the shell is asked first what there is to find.
fn go(model: &mut Model, way: Option<bool>) -> Effects {
    let in_tree = is_searched_whole(model);
    if in_tree && model.found.is_none() {
        let Some(pattern) = model.search.clone() else { return Vec::new() };
        if !has_own_forest(model) && model.refined.node_count() > model.search_at_once {
            model.ticket += 1;
            model.searching = Some((model.ticket, way));
            return vec![ask(model, Purpose::Search(pattern), model.shown_stages.clone())];
        }
        // O(nodes), once for each pattern and refinement.
        model.found = Some(unwatched(|watch| Search::new(model.of_rows(), &pattern, watch)));
    }
    let found = if in_tree { to_row(model, way) } else { in_lines(model, way) };
    let height = model.body_height();
    if let Some((rows, _)) = model.rows_mut() {
        rows.show_around(height);
    }
    // The prompt says how many names there are, and stands where the notice would.
    if way.is_some() {
        model.notice = Some(said(model, found));
    }
    Vec::new()
}

/// Where the selected row is among those found; `wrapped` is `None` where none was.
fn said(model: &mut Model, wrapped: Option<bool>) -> Notice {
    let text = model.search.as_ref().map_or("", NamePattern::text);
    let text = shorten(text, LONG_TEXT, model.theme.glyphs.ellipsis);
    let text = model.theme.plain(&text).into_owned();
    let Some(wrapped) = wrapped else {
        return Notice::Failed(format!("no row matches “{text}”"));
    };
    let (at, hits, is_all) = hits(model);
    let all = if is_all { "" } else { "more than " };
    let at = at.map_or("one".to_owned(), |at| (at + 1).to_string());
    let round = if wrapped { ", round the end" } else { "" };
    Notice::Said(format!("{at} of {all}{hits} with “{text}”{round}"))
}

/// Cells of the text that is searched for, in a notice.
const LONG_TEXT: usize = 30;

/// The place of the selected row among those found, how many were counted, and whether these are
/// all.
fn hits(model: &mut Model) -> (Option<usize>, usize, bool) {
    if is_searched_whole(model)
        && let Some(search) = &model.found
    {
        let view = &mut model.views[model.view.0];
        let Some((table, refined)) = view.tree_mut(&model.scene.refined) else {
            return (None, 0, true);
        };
        let selected = table.line(table.selected()).map(|line| line.row);
        let (rows, is_all) = search.rows(table.tree_mut(), refined, MOST_HITS);
        return (rows.iter().position(|row| Some(*row) == selected), rows.len(), is_all);
    }
    let (Some(pattern), Some(rows)) = (&model.search, model.rows()) else { return (None, 0, true) };
    let is_hit = |at: &usize| {
        rows.line(*at).is_some_and(|line| pattern.is_in(model.name(rows.row(line).function)))
    };
    let found: Vec<usize> = (0..rows.len()).filter(is_hit).collect();
    (found.iter().position(|at| *at == rows.selected()), found.len(), true)
}

/// Returns whether it went round, if something was found.
fn to_row(model: &mut Model, way: Option<bool>) -> Option<bool> {
    let search = model.found.as_ref()?;
    let view = &mut model.views[model.view.0];
    let (table, refined) = view.tree_mut(&model.scene.refined)?;
    let start = table.line(table.selected()).map_or(RowId::ROOT, |line| line.row);
    let tree = table.tree_mut();
    let found = match way {
        None => {
            let row = search.heaviest(tree, refined)?;
            Hit { row, wrapped: false }
        }
        Some(true) => search.step(tree, refined, RowId::ROOT, start, Way::Forward)?,
        Some(false) => search.step(tree, refined, RowId::ROOT, start, Way::Backward)?,
    };
    table.reveal(refined, found.row);
    Some(found.wrapped)
}

fn in_lines(model: &mut Model, way: Option<bool>) -> Option<bool> {
    let pattern = model.search.as_ref()?;
    let functions = &model.refined.functions;
    let wanted: Vec<bool> = functions.iter().map(|f| pattern.is_in(&f.name)).collect();
    let (rows, _) = model.rows_mut()?;
    let (at, wrapped) = rows.find(&wanted, rows.selected(), way)?;
    rows.select(at);
    Some(wrapped)
}
