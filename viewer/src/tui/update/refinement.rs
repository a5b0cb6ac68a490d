//! Other stages: adding one, undo, and what the shell answers.
//!
//! What is wanted is in the model at once, and the shell is asked to refine; until it answers, the
//! old rows stay on the screen. A change that is refused is forgotten again, it alone: one that was
//! made before it and is not shown yet is asked for again.

use std::sync::Arc;

use super::super::effect::{Effect, Purpose};
use super::super::forest::{Forest, Refusal};
use super::super::history::Moment;
use super::super::language;
use super::super::message::{Notice, RowStage, ViewId};
use super::super::model::{Model, Over, Pending};
use super::super::sets;
use super::super::stages::Stages;
use super::ask::{Effects, ask};
use crate::refine::Sets;
use crate::views::number::{count, counted};
use crate::views::sets::SetRow;

/// Has the profile refined by other stages.
pub(super) fn change(model: &mut Model, stages: Stages) -> Effects {
    if stages == model.stages {
        return Vec::new();
    }
    model.stages = stages;
    request(model, true, None)
}

/// Asks the shell for the stages that are wanted. Switching off what is off already, or editing
/// what is off, asks for nothing new, but the list has changed all the same.
fn request(model: &mut Model, is_change: bool, look: Option<Box<Moment>>) -> Effects {
    model.ticket += 1;
    model.pending = Some(Pending { ticket: model.ticket, is_change, look });
    // The worker ends what was being made of the rows there were.
    model.asked.clear();
    vec![ask(model, Purpose::Show, model.stages.clone())]
}

/// Ends what is being made: the stages are again those that are shown, and a view that is not there
/// is left for the tree.
pub(super) fn end(model: &mut Model) -> Effects {
    if let Some(pending) = model.pending.take() {
        forget(model, pending);
    } else {
        model.asked.clear();
        model.view = ViewId::HOME;
    }
    model.notice = Some(Notice::Said("ended; nothing has changed".to_owned()));
    vec![Effect::Cancel(None)]
}

/// Adds the stage that one key makes of the selected row.
pub(super) fn by_row(model: &mut Model, action: RowStage) -> Effects {
    let (Some(rows), Some(selected)) = (model.rows(), model.selected()) else { return Vec::new() };
    let path: Vec<_> = rows.rows_to(selected.line);
    match language::row_stage(action, model.of_rows(), &path) {
        Ok(text) => add(model, text),
        Err(cause) => {
            model.notice = Some(Notice::Failed(cause));
            Vec::new()
        }
    }
}

/// Adds a stage at the end.
pub(super) fn add(model: &mut Model, text: String) -> Effects {
    let mut stages = model.stages.clone();
    stages.push(text);
    change(model, stages)
}

/// Adds a stage at the end, or removes it where it is on.
pub(super) fn toggle(model: &mut Model, text: &str) -> Effects {
    let mut stages = model.stages.clone();
    let before = stages.0.len();
    stages.0.retain(|stage| !stage.on || stage.text != text);
    if stages.0.len() == before {
        stages.push(text.to_owned());
    }
    change(model, stages)
}

/// Adds the stages that were saved under a name, with or without `@`.
pub(super) fn apply_saved(model: &mut Model, name: &str) -> Result<Effects, String> {
    let name = name.strip_prefix('@').unwrap_or(name);
    let saved = model.sets.refinements();
    if saved.iter().all(|saved| saved.name != name) {
        let mut names: Vec<_> = saved.iter().map(|saved| format!("@{}", saved.name)).collect();
        let rest = names.split_off(names.len().min(MOST_NAMED)).len();
        return Err(match names.len() {
            _ if model.sets.names().any(|set| set == name) => {
                format!("@{name} is a set of frames; f through @{name}, f hide @{name}")
            }
            0 => "no refinement is saved yet; :save-refinement NAME saves the stages".to_owned(),
            _ if rest > 0 => format!("no refinement @{name}; {} and {rest} more", names.join(", ")),
            _ => format!("no refinement @{name}; there are {}", names.join(", ")),
        });
    }
    let mut stages = model.stages.clone();
    let new = language::stages(&format!("@{name}"), &model.sets).map_err(|(_, cause)| cause)?;
    new.into_iter().for_each(|text| stages.push(text));
    Ok(change(model, stages))
}

/// Refinements that a message names.
const MOST_NAMED: usize = 5;

/// Has the stages that are shown saved under a name; `name!` or `! name` replaces what it has.
pub(super) fn save(model: &mut Model, name: &str) -> Result<Effects, String> {
    let name = name.trim();
    let plain = name.strip_prefix('!').or_else(|| name.strip_suffix('!')).unwrap_or(name);
    let replaces = plain != name;
    let name = model.sets.free_name(plain, replaces)?.to_owned();
    let refinement = model.shown_stages.to_string();
    if refinement.is_empty() {
        return Err("there are no stages to save: f adds one".to_owned());
    }
    Ok(vec![Effect::SaveRefinement { name, refinement, replaces }])
}

pub(super) fn clear(model: &mut Model) -> Effects {
    change(model, Stages::default())
}

/// Takes the last step back, or makes it again.
pub(super) fn go(model: &mut Model, forward: bool) -> Effects {
    let present = model.moment();
    let word = if forward { "redo" } else { "undo" };
    let Some(moment) = model.history.go(forward, present.clone()) else {
        model.notice = Some(Notice::Said(format!("nothing to {word}")));
        return Vec::new();
    };
    if let Some(what) = moment.differs_by(&present) {
        model.notice = Some(Notice::Said(format!("{word}: {what}")));
    }
    go_to(model, &moment);
    if moment.stages != model.shown_stages {
        model.stages = moment.stages.clone();
        return request(model, false, Some(Box::new(moment)));
    }
    model.stages = moment.stages.clone();
    model.look_like(&moment);
    model.history.settle();
    model.pending.take().map(|_| Effect::Cancel(None)).into_iter().collect()
}

/// Goes to the view of a moment; its rows may not be there yet.
fn go_to(model: &mut Model, moment: &Moment) {
    model.view = moment.view;
    model.forget_found();
    for (view, memory) in model.views.iter_mut().zip(&moment.views) {
        if let Some(subject) = &memory.subject {
            view.turn_to(subject, &model.scene.refined);
        }
    }
    model.look_at(moment.metric);
    model.percent_of = moment.percent_of;
    if model.search != moment.search {
        model.search_for(moment.search.clone());
    }
}

/// What was wanted will not be shown: what is shown is wanted again.
fn forget(model: &mut Model, pending: Pending) {
    let shown = model.history.back_to_settled(pending.is_change);
    model.stages = model.shown_stages.clone();
    if let Some(moment) = shown.filter(|_| pending.look.is_some()) {
        go_to(model, &moment);
    }
}

/// Opens the page of sets; what they mean here is counted by the shell.
pub(super) fn list_sets(model: &mut Model) -> Effects {
    model.over.push(Over::Page(sets::page(model, None)));
    model.ticket += 1;
    model.listing = Some(model.ticket);
    vec![ask(model, Purpose::Sets, model.shown_stages.clone())]
}

/// The shell has counted what the sets mean.
pub(super) fn sets_counted(model: &mut Model, ticket: u64, rows: &[SetRow]) {
    if model.listing.take_if(|asked| *asked == ticket).is_none() {
        return;
    }
    let new = sets::page(model, Some(rows));
    if let Some(Over::Page(page)) = model.over.last_mut()
        && page.title == new.title
    {
        page.items = new.items;
    }
}

/// There are other sets now. What is shown is made again if it names one.
pub(super) fn sets_loaded(model: &mut Model, sets: Arc<Sets>, notice: Notice) -> Effects {
    model.sets = sets;
    model.notice = Some(notice);
    if model.stages.active().any(|text| text.contains('@')) {
        return request_again(model);
    }
    Vec::new()
}

/// Asks the shell once more for the stages that are wanted.
fn request_again(model: &mut Model) -> Effects {
    let (is_change, look) =
        model.pending.take().map_or((false, None), |pending| (pending.is_change, pending.look));
    request(model, is_change, look)
}

/// Has the file read again, and refined by the stages that are wanted.
pub(super) fn reload(model: &mut Model) -> Effects {
    model.notice = Some(Notice::Said("reading the file again…".to_owned()));
    let of_file = |effect| match effect {
        Effect::Refine(request) => Effect::Reload(request),
        other => other,
    };
    request_again(model).into_iter().map(of_file).collect()
}

/// The shell has read the file again; whether what it read is shown now.
pub(super) fn reloaded(model: &mut Model, ticket: u64, forest: Forest) -> bool {
    let Some(pending) = model.pending.take_if(|pending| pending.ticket == ticket) else {
        let cause = "not read again: something else was asked for meanwhile";
        model.notice = Some(Notice::Failed(cause.to_owned()));
        return false;
    };
    let form = model.form();
    let before = count(model.profile.total(), form);
    let is_alike = model.reload(forest);
    if let Some(moment) = pending.look.filter(|_| is_alike) {
        model.look_like(&moment);
    }
    model.history.settle();
    let anew = if is_alike { "" } else { "; its metrics are others, so the views begin anew" };
    let now = counted(model.profile.total(), "sample", form);
    model.notice = Some(Notice::Said(format!("read again: {now}, {before} before{anew}")));
    true
}

/// The shell has refined the profile; whether that is shown now.
pub(super) fn arrived(model: &mut Model, ticket: u64, forest: Forest) -> bool {
    let Some(pending) = model.pending.take_if(|pending| pending.ticket == ticket) else {
        return false;
    };
    let stages = model.stages.clone();
    // Another one may have been chosen meanwhile.
    model.show(forest.looking_at(model.refined.metric), stages);
    if let Some(moment) = pending.look {
        model.look_like(&moment);
    }
    model.history.settle();
    true
}

/// The shell could not refine the profile.
pub(super) fn refused(model: &mut Model, ticket: u64, refusal: Refusal) -> Effects {
    if let Some(pending) = model.pending.take_if(|pending| pending.ticket == ticket) {
        model.notice = Some(Notice::Failed(refusal.cause));
        if pending.is_change {
            return take_back(model);
        }
        forget(model, pending);
    }
    Vec::new()
}

/// The stages that are wanted were refused: those before the last change are wanted again.
fn take_back(model: &mut Model) -> Effects {
    let before = model.history.without_change(&model.stages);
    model.stages = before.unwrap_or_else(|| model.shown_stages.clone());
    if model.stages == model.shown_stages {
        model.history.settle();
        return Vec::new();
    }
    request(model, true, None)
}
