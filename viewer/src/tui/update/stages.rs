//! The list of stages: what is done with the selected one.

use super::super::language;
use super::super::message::{Notice, PromptKind};
use super::super::model::{Model, Over};
use super::ask::Effects;
use super::{prompt, refinement};
use crate::set_files::SetFile;

/// The place of the selected stage in the list of stages, if it is open and not empty.
fn selected_stage(model: &Model) -> Option<usize> {
    match model.over.last() {
        Some(Over::Stages(at)) if *at < model.stages.0.len() => Some(*at),
        _ => None,
    }
}

pub(super) fn move_by(model: &mut Model, by: isize) -> Effects {
    let Some(at) = selected_stage(model) else { return Vec::new() };
    let mut stages = model.stages.clone();
    let Some(to) = at.checked_add_signed(by).filter(|to| *to < stages.0.len()) else {
        return Vec::new();
    };
    stages.0.swap(at, to);
    if let Some(Over::Stages(selected)) = model.over.last_mut() {
        *selected = to;
    }
    refinement::change(model, stages)
}

pub(super) fn delete(model: &mut Model) -> Effects {
    let Some(at) = selected_stage(model) else { return Vec::new() };
    let mut stages = model.stages.clone();
    stages.0.remove(at);
    if let Some(Over::Stages(selected)) = model.over.last_mut() {
        *selected = at.min(stages.0.len().saturating_sub(1));
    }
    refinement::change(model, stages)
}

pub(super) fn toggle(model: &mut Model) -> Effects {
    let Some(at) = selected_stage(model) else { return Vec::new() };
    let mut stages = model.stages.clone();
    stages.0[at].on = !stages.0[at].on;
    refinement::change(model, stages)
}

pub(super) fn edit(model: &mut Model) -> Effects {
    selected_stage(model).map_or_else(Vec::new, |at| prompt::open(model, PromptKind::Stage(at)))
}

/// Opens a prompt for the name of a set with the selected stage's frames.
pub(super) fn save(model: &mut Model, file: SetFile) {
    let Some(at) = selected_stage(model) else { return };
    match language::frames_of_stage(&model.stages.0[at].text, &model.sets) {
        Some(frames) => {
            prompt::open_with(model, PromptKind::Set(file), &format!("@ = {frames}"), 1);
        }
        None => {
            let cause = "a set holds frames, and this stage is about more than one frame pattern";
            model.notice = Some(Notice::Failed(cause.to_owned()));
        }
    }
}
