//! Searching: it goes to rows, the heaviest first, and hides none.
//!
//! In the trees of calls and of places it finds rows whether they are open or not, and opens the
//! way to them. In other views it goes over the rows that have a line, and in pages and lists over
//! their lines.

use std::borrow::Cow;

use super::super::columns;
use super::super::effect::Purpose;
use super::super::message::Notice;
use super::super::model::{Model, Over};
use super::super::name::shorten;
use super::super::prompt::{Prompt, Trial};
use super::super::table::TablePlace;
use super::super::view::Finds;
use super::ask::{Effects, ask};
use crate::refine::unwatched;
use crate::views::number::count;
use crate::views::search::{IS_GONE, IS_NEW, NamePattern, Search};

/// Goes to the next row or line that the search finds, or the previous one.
pub(super) fn step(model: &mut Model, forward: bool) -> Effects {
    if pattern(model).is_none() {
        model.notice = Some(Notice::Said("nothing is searched for; / searches".to_owned()));
        return Vec::new();
    }
    go(model, Some(forward))
}

/// Searches for the name of the selected row.
pub(super) fn for_selected(model: &mut Model) -> Effects {
    let Some(selected) = model.selected() else { return Vec::new() };
    let (name, row) = (NamePattern::new(model.row_name(selected.row)), selected.line.row);
    model.search_for(name);
    let effects = step(model, true);
    // It may be the heaviest itself.
    match model.selected().is_some_and(|selected| selected.line.row == row) {
        true if effects.is_empty() => step(model, true),
        _ => effects,
    }
}

/// Goes to the next path that one side of a comparison lacks.
pub(super) fn for_one_sided(model: &mut Model, new: bool) -> Effects {
    if model.comparison().is_none() {
        let said = "only a comparison has paths that are new or gone: csprof view BASE OTHER";
        model.notice = Some(Notice::Said(said.to_owned()));
        return Vec::new();
    }
    // Elsewhere it would be text to search for.
    if model.page().is_some() || !model.sheet().finds_one_sided {
        let said = "paths that are new or gone are found in views of rows and in lists of paths";
        model.notice = Some(Notice::Said(said.to_owned()));
        return Vec::new();
    }
    let text = if new { IS_NEW } else { IS_GONE };
    if model.search.as_ref().is_none_or(|search| search.text() != text) {
        model.search_for(NamePattern::new(text));
    }
    step(model, true)
}

/// What is searched for: in the page of text that is seen, or else in the views.
fn pattern(model: &Model) -> Option<&NamePattern> {
    model.page().map_or(model.search.as_ref(), |page| page.search.as_ref())
}

/// Searches for something else, or for nothing.
fn search_for(model: &mut Model, pattern: Option<NamePattern>) {
    match model.page_mut() {
        Some(page) => (page.search, page.hit) = (pattern, None),
        None => model.search_for(pattern),
    }
}

/// The line at which a page or a view without rows is.
pub(super) fn line(model: &Model) -> usize {
    model.page().map_or_else(|| model.view().line(), |page| page.scroll)
}

/// Goes back to where a search began.
pub(super) fn return_to(model: &mut Model, place: Option<TablePlace>, line: usize) {
    if let Some(page) = model.page_mut() {
        page.scroll = line;
    } else if let (Some((rows, _)), Some(place)) = (model.rows_mut(), place) {
        rows.return_to(place);
    } else {
        model.view_mut().select_line(line);
    }
}

/// Ends a search that was not accepted.
pub(super) fn give_up(model: &mut Model, prompt: Prompt) {
    search_for(model, None);
    return_to(model, prompt.from, prompt.from_line);
}

/// While typing: goes to the heaviest of what is found. The prompt is told how much that is, once
/// it is known.
pub(super) fn typed(model: &mut Model, prompt: &mut Prompt, text: &str) -> Effects {
    return_to(model, prompt.from.clone(), prompt.from_line);
    search_for(model, NamePattern::new(text));
    prompt.trial = Trial::Nothing;
    if text.is_empty() {
        return Vec::new();
    }
    let effects = go(model, None);
    prompt.trial = match model.searching {
        Some((ticket, _)) => Trial::Waiting(ticket),
        None => trial(model),
    };
    effects
}

/// What the prompt says of what was found.
fn trial(model: &Model) -> Trial {
    match found(model) {
        // A view may have no rows yet.
        None => Trial::Nothing,
        Some(Found { rows: 0, .. }) => Trial::NotFound,
        Some(found) => Trial::Found(found.text(model)),
    }
}

/// The search was accepted: says where among what was found the present place is.
pub(super) fn accepted(model: &mut Model) {
    if pattern(model).is_some() && model.searching.is_none() {
        say(model, false);
    }
}

/// The shell has marked what there is to find.
pub(super) fn arrived(model: &mut Model, ticket: u64, search: Search) {
    let Some((_, way)) = model.searching.take_if(|(asked, _)| *asked == ticket) else { return };
    if !model.sheet().has_rows || has_own_forest(model) {
        return;
    }
    model.found = Some(search);
    // What is known needs no shell.
    go(model, way);
    let trial = trial(model);
    if let Some(Over::Prompt(prompt)) = model.over.last_mut()
        && prompt.trial == Trial::Waiting(ticket)
    {
        prompt.trial = trial;
    } else if way.is_none() {
        accepted(model);
    }
}

/// Whether the rows were made from a forest that the shell does not know.
fn has_own_forest(model: &Model) -> bool {
    let is_own = !std::ptr::eq(model.of_rows(), &raw const model.scene.refined);
    is_own && !model.view().lacks_loops()
}

/// Goes to what is found: the next, the previous, or (`None`) the first. Where the profile is
/// large, the shell is asked before what there is to find.
fn go(model: &mut Model, way: Option<bool>) -> Effects {
    let has_rows = model.page().is_none() && model.sheet().has_rows;
    if has_rows && model.found.is_none() {
        let Some(pattern) = model.search.clone() else { return Vec::new() };
        if !has_own_forest(model) && model.refined.node_count() > model.search_at_once {
            model.ticket += 1;
            model.searching = Some((model.ticket, way));
            let without_loops = model.view().lacks_loops();
            let purpose = Purpose::Search { pattern, without_loops };
            return vec![ask(model, purpose, model.shown_stages.clone())];
        }
        // O(nodes), once for each pattern and refinement.
        model.found = Some(unwatched(|watch| Search::new(model.of_rows(), &pattern, watch)));
    }
    if model.page().is_none() && !has_rows {
        model.finds = finds(model).map(Cow::into_owned);
    }
    let before = hit(model);
    let all = found(model).map_or(0, |found| found.hits);
    let next = match (way, before) {
        _ if all == 0 => None,
        (None, _) | (Some(true), None) => Some(0),
        (Some(true), Some(at)) => Some((at + 1) % all),
        (Some(false), at) => Some((at.unwrap_or(0) + all - 1) % all),
    };
    if let Some(hit) = next {
        go_to(model, hit);
    }
    // The prompt says what was found, and stands where the notice would.
    if way.is_some() {
        let is_round = next.zip(before).is_some_and(|(next, before)| match way {
            Some(false) => next >= before,
            _ => next <= before,
        });
        say(model, is_round);
    }
    Vec::new()
}

/// Which of what was found was gone to last.
fn hit(model: &Model) -> Option<usize> {
    match model.page() {
        Some(page) => {
            let lines = page.find(page.search.as_ref()?);
            lines.iter().position(|line| Some(*line) == page.hit)
        }
        None => model.hit,
    }
}

/// Goes to one of what was found, in the order of their cost.
fn go_to(model: &mut Model, hit: usize) {
    let above = model.body_height() / 2;
    if let Some(page) = model.page_mut() {
        let lines = page.search.as_ref().map_or_else(Vec::new, |search| page.find(search));
        if let Some(&line) = lines.get(hit) {
            page.put(line, above);
        }
        return;
    }
    model.hit = Some(hit);
    if !model.sheet().has_rows {
        let line = finds(model).and_then(|finds| finds.lines.get(hit).copied());
        if let Some(line) = line {
            model.view_mut().put(line, above);
        }
        return;
    }
    if model.sheet().is_searched_whole {
        let view = &mut model.views[model.view.0];
        if let Some((table, refined)) = view.tree_mut(&model.scene.refined)
            && let Some(row) =
                model.found.as_ref().and_then(|search| search.row(table.tree_mut(), refined, hit))
        {
            table.reveal(refined, row);
        }
    } else if let Some(&line) = lines_found(model).get(hit)
        && let Some((rows, _)) = model.rows_mut()
    {
        rows.select(line);
    }
    if let Some((rows, _)) = model.rows_mut() {
        rows.put(above);
    }
}

/// What is found in a view without rows, as far as what it shows is there.
fn finds(model: &Model) -> Option<Cow<'_, Finds>> {
    let known = model.finds.as_ref().map(Cow::Borrowed);
    known.or_else(|| Some(Cow::Owned(model.view().find(model.search.as_ref()?, model)?)))
}

/// The lines found where rows have lines.
fn lines_found(model: &Model) -> Vec<usize> {
    let (Some(search), Some(rows)) = (&model.found, model.rows()) else { return Vec::new() };
    rows.find(search.functions(), model.of_rows(), model.sheet().cost)
}

/// What a search found.
struct Found {
    /// How many rows or lines.
    rows: u64,
    /// How many of them can be gone to, the heaviest.
    hits: usize,
    /// What is counted.
    noun: &'static str,
    /// What all of them cost together, if that is known.
    cost: Option<String>,
}

impl Found {
    /// `2 of 5 rows, in all 0.35 35.0%`.
    fn text(&self, model: &Model) -> String {
        let at = hit(model).map_or(0, |at| at + 1);
        let ending = if self.rows == 1 { "" } else { "s" };
        let rows = count(self.rows, model.form());
        let text = format!("{at} of {rows} {}{ending}", self.noun);
        match &self.cost {
            Some(cost) => format!("{text}, in all {cost}"),
            None => text,
        }
    }
}

/// What the search has found; `None` while the view has no rows.
fn found(model: &Model) -> Option<Found> {
    let of_lines = |lines: Vec<usize>, noun| Found {
        rows: lines.len() as u64,
        hits: lines.len(),
        noun,
        cost: None,
    };
    let Some(pattern) = pattern(model) else { return Some(of_lines(Vec::new(), "row")) };
    if let Some(page) = model.page() {
        return Some(of_lines(page.find(pattern), "place"));
    }
    let sheet = model.sheet();
    if !sheet.has_rows {
        let Finds { lines, cost } = finds(model)?.into_owned();
        let noun = if cost.is_some() { "row" } else { "place" };
        return Some(Found { cost, ..of_lines(lines, noun) });
    }
    model.rows()?;
    let search = model.found.as_ref()?;
    let cost = search.cost().filter(|_| sheet.has_cost_of_found);
    let cost = cost.map(|cost| columns::cost_text(model, model.of_rows(), cost));
    if sheet.is_searched_whole {
        return Some(Found { rows: search.rows(), hits: search.hits(), noun: "row", cost });
    }
    Some(Found { cost, ..of_lines(lines_found(model), "row") })
}

/// Says where among what was found the present place is.
fn say(model: &mut Model, is_round: bool) {
    /// Cells of the text that is searched for.
    const LONG_TEXT: usize = 30;
    let text = pattern(model).map_or("", NamePattern::text);
    let text = shorten(text, LONG_TEXT, model.theme.glyphs.ellipsis);
    let text = model.theme.plain(&text).into_owned();
    model.notice = Some(match found(model) {
        Some(found) if found.rows > 0 => {
            let round = if is_round { ", round the end" } else { "" };
            Notice::Said(format!("{}{round}: “{text}”", found.text(model)))
        }
        Some(Found { noun, .. }) => Notice::Failed(format!("no {noun} matches “{text}”")),
        None => return,
    });
}
