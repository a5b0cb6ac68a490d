//! Bookmarks, notes and entries of the ledger: saying something of a call path.

use std::sync::Arc;

use super::super::effect::Effect;
use super::super::message::{Notice, ViewId, not_kept};
use super::super::model::{Model, Noting};
use super::ask::Effects;
use crate::views::notes::{Change, Entry, Estimate, Note, Notes, State, Then, What, samples_of};
use crate::views::path::Path;

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

/// Changes what is said. That is shown at once, so that the next key sees it, and is kept beside
/// the screen.
pub(super) fn change(model: &mut Model, change: Box<Change>) -> Effects {
    let mut notes = Notes::clone(&model.notes);
    // What cannot be changed is refused by whoever keeps it.
    if notes.change(&change).is_ok() {
        model.show_notes(Arc::new(notes));
    }
    model.notes_under_way.push_back(Change::clone(&change));
    vec![Effect::Note(change)]
}

fn say(model: &mut Model, path: Path, what: What) -> Effects {
    change(model, Box::new(Change { path, what }))
}

/// Sets a bookmark, or removes it. Nothing else that was said of the path is removed.
pub(super) fn bookmark(model: &mut Model) -> Effects {
    let Some(path) = path(model) else { return Vec::new() };
    let is_set = model.notes.on(&path).is_some_and(|note| note.is_bookmarked);
    say(model, path, What::Bookmark(!is_set))
}

/// Enters the path as understood, or takes that back.
pub(super) fn understood(model: &mut Model) -> Effects {
    let Some(path) = path(model) else { return Vec::new() };
    let before = model.notes.on(&path).and_then(Note::entered);
    let entry = match before {
        Some((State::Understood, _)) => None,
        _ => match then(model, &path) {
            Ok(then) => Some(Entry { state: State::Understood, estimate: Estimate::Nothing, then }),
            Err(failed) => {
                model.notice = Some(Notice::Failed(failed));
                return Vec::new();
            }
        },
    };
    say(model, path, What::Entry { before, entry })
}

/// What a path costs now.
pub(super) fn then(model: &mut Model, path: &Path) -> Result<Then, String> {
    if model.comparison().is_some() {
        return Err("the ledger is of one profile; open the one that it is to be about".to_owned());
    }
    let shown = &model.scene.refined;
    let tree = model.views[ViewId::HOME.0].tree_mut(shown);
    let (table, refined) = tree.ok_or("the call tree is not there yet")?;
    let samples = samples_of(path, refined, table.tree_mut());
    let metric = model.metric();
    let run = &model.profile.info.run;
    Ok(Then {
        run: format!("{:032x}", run.id()),
        command: run
            .command
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect(),
        source: metric.source.clone(),
        unit: metric.unit.clone(),
        period: metric.period,
        samples,
        stages: model.shown_stages.to_string(),
        runs: model.profile.info.runs.len(),
        start_unix_ns: run.start_unix_ns,
        exit: run.exit,
        lost: model.profile.lost(),
        is_whole: true,
    })
}

/// What was typed at the prompt for a note is to be said of the path.
pub(super) fn typed(model: &mut Model, text: &str) -> Effects {
    let Noting { path, text: before, .. } = std::mem::take(&mut model.noting);
    say(model, path, What::Text { before, text: text.to_owned() })
}

/// Reads an estimate that is being typed, or says what is wrong with it.
pub(super) fn estimate(model: &Model, text: &str) -> Result<Option<Estimate>, String> {
    match text.trim() {
        "none" => Ok(None),
        text => Estimate::parse(text, &model.noting.then.unit).map(Some),
    }
}

/// What fixing the path would save was typed.
pub(super) fn to_fix(model: &mut Model, estimate: Option<Estimate>) -> Effects {
    let Noting { path, entered, then, .. } = std::mem::take(&mut model.noting);
    let entry = estimate.map(|estimate| Entry { state: State::ToFix, estimate, then });
    say(model, path, What::Entry { before: entered, entry })
}

/// There are other notes now, or there could not be.
pub(super) fn noted(model: &mut Model, notes: Option<Arc<Notes>>, said: Result<&str, String>) {
    if let Some(change) = model.notes_under_way.pop_front() {
        model.views.iter_mut().for_each(|view| view.answered(&change, said.is_ok()));
    }
    model.kept_notes = notes.unwrap_or_else(|| Arc::clone(&model.kept_notes));
    // Changes that were asked for since are not in it yet.
    if model.notes_under_way.is_empty() && model.notes != model.kept_notes {
        model.show_notes(Arc::clone(&model.kept_notes));
    }
    match said {
        // A refusal is told until a key after it.
        Ok(_) if matches!(model.notice, Some(Notice::Failed(_))) => {}
        Ok(said) => model.notice = Some(Notice::Said(said.to_owned())),
        Err(cause) => model.notice = Some(Notice::Failed(not_kept(&cause))),
    }
}
