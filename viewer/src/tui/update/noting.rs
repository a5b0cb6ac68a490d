//! The prompts for a note on a call path, and for what fixing it would give.

use super::super::message::PromptKind;
use super::super::model::Model;
use super::ask::Effects;
use super::{notes, prompt};
use crate::views::notes::State;
use crate::views::path::Path;

/// Opens the prompt for a note on the selected row, or for what fixing it would give.
pub(super) fn open(model: &mut Model, kind: PromptKind) -> Effects {
    match notes::path(model) {
        Some(path) => edit(model, kind, path),
        None => Vec::new(),
    }
}

/// The same for a path.
pub(super) fn edit(model: &mut Model, kind: PromptKind, path: Path) -> Effects {
    let note = model.notes.on(&path);
    let text = match kind {
        PromptKind::Fix => note.and_then(|note| {
            let entry = note.entry.as_ref().filter(|entry| entry.state == State::ToFix)?;
            Some(entry.estimate.to_string())
        }),
        _ => note.map(|note| note.text.clone()),
    };
    let text = text.unwrap_or_default();
    model.noting = path;
    prompt::open_with(model, kind, &text, text.len());
    Vec::new()
}
