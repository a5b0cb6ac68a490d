//! The prompts for a note on a call path, and for what fixing it would save.

use super::super::message::{Notice, PromptKind};
use super::super::model::{Model, Noting};
use super::ask::Effects;
use super::{notes, prompt};
use crate::views::notes::{State, Then};
use crate::views::path::Path;

/// Opens the prompt for a note on the selected row, or for what fixing it would save.
pub(super) fn open(model: &mut Model, kind: PromptKind) -> Effects {
    match notes::path(model) {
        Some(path) => edit(model, kind, path),
        None => Vec::new(),
    }
}

/// The same for a path.
pub(super) fn edit(model: &mut Model, kind: PromptKind, path: Path) -> Effects {
    let then = match kind {
        PromptKind::Fix => match notes::then(model, &path) {
            Ok(then) => then,
            Err(cause) => {
                model.notice = Some(Notice::Failed(cause));
                return Vec::new();
            }
        },
        _ => Then::default(),
    };
    let note = model.notes.on(&path).cloned();
    let (entered, text) = match &note {
        Some(note) => (note.entered(), note.text.clone()),
        None => (None, String::new()),
    };
    let line = match kind {
        PromptKind::Fix => {
            let entry = note.and_then(|note| note.entry);
            let entry = entry.filter(|entry| entry.state == State::ToFix);
            // An amount of another metric says nothing about this one.
            let estimate = entry.and_then(|entry| entry.estimate_in(model.metric()));
            estimate.map_or_else(String::new, |estimate| estimate.text(&model.metric().unit))
        }
        _ => text.clone(),
    };
    model.noting = Noting { path, text, entered, then };
    prompt::open_with(model, kind, &line, line.len());
    Vec::new()
}
