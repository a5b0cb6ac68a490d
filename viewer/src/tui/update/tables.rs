//! The tables of the current path: making it longer and shorter, and its table when it is there.

use super::super::effect::{Effect, Purpose};
use super::super::message::View;
use super::super::model::{Model, Notice};
use super::{Effects, ask, refinement};
use crate::refine::{Predicate, Stage};
use crate::views::hall::{ListedRows, Reach, Way};

/// Asks the shell for the table, if it is looked at and missing.
pub(super) fn table_if_looked_at(model: &mut Model<'_>) -> Option<Effect> {
    let is_looked_at = model.view == View::Tables && model.pending.is_none();
    if !is_looked_at || !model.tables.is_missing() {
        return None;
    }
    model.ticket += 1;
    model.tables.asked = Some(model.ticket);
    let (path, way, reach) = (model.tables.path.clone(), model.tables.way, model.tables.reach);
    Some(ask(model, Purpose::Table { path, way, reach }, model.shown_stages.clone()))
}

/// The shell has made the table.
pub(super) fn arrived(model: &mut Model<'_>, ticket: u64, list: ListedRows) {
    if model.tables.asked == Some(ticket) {
        model.tables.take(&model.refined, list);
    }
}

pub(super) fn extend(model: &mut Model<'_>) {
    if let Err(cause) = model.tables.extend(&model.refined) {
        model.notice = Some(Notice::Failed(cause));
    }
}

pub(super) fn shorten(model: &mut Model<'_>) {
    if !model.tables.shorten() {
        model.notice = Some(Notice::Said("the path is empty".to_owned()));
    }
}

pub(super) fn toggle_reach(model: &mut Model<'_>) {
    let (reach, said) = match model.tables.reach {
        Reach::Immediate => (Reach::Extended, "with any number of calls between"),
        Reach::Extended => (Reach::Immediate, "direct calls only"),
    };
    model.tables.reach = reach;
    change(model, said);
}

pub(super) fn toggle_way(model: &mut Model<'_>) {
    let (way, said) = match model.tables.way {
        Way::Down => (Way::Up, "what calls the path"),
        Way::Up => (Way::Down, "what the path calls"),
    };
    model.tables.way = way;
    change(model, said);
}

fn change(model: &mut Model<'_>, said: &str) {
    let selected = model.tables.selected_name(&model.refined);
    model.tables.forget(selected);
    model.notice = Some(Notice::Said(match model.tables.path {
        Some(_) => said.to_owned(),
        None => format!("{said}; for the empty path that is all the same"),
    }));
}

/// Makes the path a stage.
pub(super) fn refine(model: &mut Model<'_>) -> Effects {
    let Some(path) = &model.tables.path else {
        model.notice = Some(Notice::Failed("the path is empty: enter adds a row to it".to_owned()));
        return Vec::new();
    };
    let text = Stage::Where(Predicate::Through(path.clone())).to_string();
    refinement::add(model, text)
}
