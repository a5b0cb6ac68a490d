//! Bookmarks, notes and entries of the ledger: saying something of a call path.

use std::sync::Arc;

use super::super::effect::Effect;
use super::super::message::Notice;
use super::super::model::Model;
use super::ask::Effects;
use crate::views::notes::{Change, Entry, Estimate, Notes, State, Then, What};
use crate::views::path::Path;
use crate::views::since::lost;

/// The path of the selected row, where rows are paths.
pub(super) fn path(model: &mut Model) -> Option<Path> {
    let path = model.view().selected_path(&model.refined).filter(|path| !path.0.is_empty());
    if path.is_none() {
        let failed =
            "rows of the call tree (1) and of the flame view (6) are paths to take notes of";
        model.notice = Some(Notice::Failed(failed.to_owned()));
    }
    path
}

fn change(path: Path, what: What) -> Effects {
    vec![Effect::Note(Box::new(Change { path, what }))]
}

/// Sets a bookmark, or removes it if nothing else was said of the path.
pub(super) fn bookmark(model: &mut Model) -> Effects {
    let Some(path) = path(model) else { return Vec::new() };
    let what = match model.notes.on(&path) {
        Some(note) if !note.text.is_empty() || note.entry.is_some() => {
            let said = "there is a note on this path already; d in the list of notes deletes it";
            model.notice = Some(Notice::Said(said.to_owned()));
            return Vec::new();
        }
        Some(_) => What::Removed,
        None => What::Bookmark,
    };
    change(path, what)
}

/// Enters the path as understood, or takes that back.
pub(super) fn understood(model: &mut Model) -> Effects {
    let Some(path) = path(model) else { return Vec::new() };
    let before = model.notes.on(&path).and_then(|note| note.entry.as_ref());
    let entry = match before {
        Some(entry) if entry.state == State::Understood => None,
        _ => match entry(model, State::Understood, Estimate::Nothing) {
            Ok(entry) => Some(entry),
            Err(failed) => {
                model.notice = Some(Notice::Failed(failed));
                return Vec::new();
            }
        },
    };
    change(path, What::Entry(entry))
}

/// An entry about the selected row, with what it costs now.
fn entry(model: &Model, state: State, estimate: Estimate) -> Result<Entry, String> {
    if model.comparison().is_some() {
        return Err("the ledger is of one profile; open the one that it is to be about".to_owned());
    }
    let selected = model.selected().ok_or("no row is selected")?;
    let metric = model.metric();
    let run = &model.profile.info.run;
    let then = Then {
        run: format!("{:032x}", run.id()),
        command: run
            .command
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect(),
        source: metric.source.clone(),
        unit: metric.unit.clone(),
        period: metric.period,
        samples: selected.row.of(model.refined.metric).inclusive,
        stages: model.shown_stages.to_string(),
        runs: model.profile.info.runs.len(),
        start_unix_ns: run.start_unix_ns,
        exit: run.exit,
        lost: lost(&model.profile),
    };
    Ok(Entry { state, estimate, then })
}

/// What was typed at the prompt for a note is to be said of the path.
pub(super) fn typed(model: &mut Model, text: &str) -> Effects {
    let path = std::mem::take(&mut model.noting);
    change(path, What::Text(text.to_owned()))
}

/// What is wrong with an estimate that is being typed.
pub(super) fn estimate(text: &str) -> Result<Option<Estimate>, String> {
    match text.trim() {
        "none" => Ok(None),
        text => Estimate::parse(text).map(Some),
    }
}

/// What fixing the path would give was typed.
pub(super) fn to_fix(model: &mut Model, estimate: Option<Estimate>) -> Effects {
    let path = std::mem::take(&mut model.noting);
    let entry = estimate.map(|estimate| entry(model, State::ToFix, estimate)).transpose();
    match entry {
        Ok(entry) => change(path, What::Entry(entry)),
        Err(failed) => {
            model.notice = Some(Notice::Failed(failed));
            Vec::new()
        }
    }
}

/// There are other notes now, or there could not be.
pub(super) fn noted(model: &mut Model, notes: Result<Arc<Notes>, String>, said: &str) {
    match notes {
        Ok(notes) => {
            model.take_notes(notes);
            model.notice = Some(Notice::Said(said.to_owned()));
        }
        Err(cause) => model.notice = Some(Notice::Failed(format!("not kept: {cause}"))),
    }
}
