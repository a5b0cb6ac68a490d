//! Typing at a prompt.
//!
//! A refinement is read at every key: what is wrong is pointed at while it is wrong, what is right
//! is tried out by the shell, and the share that it would show stands under the line.

use super::super::effect::{Effect, Purpose};
use super::super::export;
use super::super::forest::Refusal;
use super::super::language;
use super::super::line::Line;
use super::super::message::{Completion, Notice, PromptKind};
use super::super::model::{Model, Over};
use super::super::prompt::{Prompt, Trial};
use super::super::stages::{Stage, Stages};
use super::super::table::Rows;
use super::super::{commands, offers};
use super::ask::{Effects, ask};
use super::{notes, refinement, search};
use crate::refine::{SavedRefinement, contexts, is_definition};
use crate::set_files::SetFile;
use crate::views::number::amount;

/// Lines that can be recalled.
const MOST_TYPED: usize = 200;

/// Opens a prompt, unless there is nothing it could be about. A stage is whole already, so what it
/// shows is found out at once.
pub(super) fn open(model: &mut Model, kind: PromptKind) -> Effects {
    let text = match kind {
        PromptKind::Stage(at) => model.stages.0.get(at).map(|stage| stage.text.clone()),
        PromptKind::Group => match model.selected() {
            Some(selected) => match language::group_beginning(model.of_rows(), selected.row) {
                Ok(text) => Some(text),
                Err(cause) => {
                    model.notice = Some(Notice::Failed(cause));
                    None
                }
            },
            None => None,
        },
        PromptKind::Context(axis) => match contexts(&model.profile, axis, false)[..] {
            [] => {
                let cause = format!("nothing in this profile has a known {}", axis.name());
                model.notice = Some(Notice::Failed(cause));
                None
            }
            _ => Some(format!("{} = ", axis.name())),
        },
        PromptKind::Set(_) | PromptKind::Apply => Some("@".to_owned()),
        _ => Some(String::new()),
    };
    let Some(text) = text else { return Vec::new() };
    open_with(model, kind, &text, text.len());
    match kind {
        PromptKind::Stage(_) => edit(model, |_| ()),
        _ => Vec::new(),
    }
}

/// Opens a prompt with a line and a cursor in it.
pub(super) fn open_with(model: &mut Model, kind: PromptKind, text: &str, cursor: usize) {
    let from = model.rows().map(Rows::place);
    let mut prompt = Prompt::new(kind, text, from);
    prompt.from_line = search::line(model);
    prompt.began = (kind == PromptKind::Search).then(|| Box::new(model.moment()));
    prompt.line.move_to(cursor);
    offer(model, &mut prompt);
    model.over.push(Over::Prompt(prompt));
}

/// Finds out once more about a line that is being typed: what was said of it was true of the rows
/// before, and what it waits for has ended with them.
pub(super) fn judge_again(model: &mut Model) -> Effects {
    let place = model.rows().map(Rows::place);
    let Some(Over::Prompt(prompt)) = model.over.last_mut() else { return Vec::new() };
    // Where a search begins is a place in rows.
    prompt.from = place;
    // One that has not begun leaves the search before as it is.
    if prompt.kind == PromptKind::Search && prompt.line.text().is_empty() {
        return Vec::new();
    }
    if prompt.taken.is_none() {
        return edit(model, |_| ());
    }
    // The completions that it was taken from stay: the next one is still the next.
    let Some(Over::Prompt(mut prompt)) = model.over.pop() else { return Vec::new() };
    let effects = try_out(model, &mut prompt);
    model.over.push(Over::Prompt(prompt));
    effects
}

/// Changes the line, then finds out about it.
pub(super) fn edit(model: &mut Model, change: impl FnOnce(&mut Line)) -> Effects {
    let is_prompt = |over: &mut Over| matches!(over, Over::Prompt(_));
    let Some(Over::Prompt(mut prompt)) = model.over.pop_if(is_prompt) else { return Vec::new() };
    change(&mut prompt.line);
    prompt.taken = None;
    offer(model, &mut prompt);
    let mut effects = try_out(model, &mut prompt);
    effects.extend(ask_for_names(model, &mut prompt));
    model.over.push(Over::Prompt(prompt));
    effects
}

/// Puts an accepted line in place of the one being typed.
pub(super) fn recall(model: &mut Model, older: bool) -> Effects {
    let Some(Over::Prompt(prompt)) = model.over.last() else { return Vec::new() };
    let recalled = prompt.recalled.as_deref().cloned();
    let (back, own) = recalled.unwrap_or_else(|| (0, prompt.line.text().to_owned()));
    let back = if older { back + 1 } else { back.saturating_sub(1) };
    let label = prompt.label();
    let mut lines = model.typed.iter().rev().filter(|(before, _)| *before == label);
    let line = match back.checked_sub(1) {
        Some(newer) => lines.nth(newer).map(|(_, line)| line.clone()),
        None => Some(own.clone()),
    };
    let Some(text) = line else { return Vec::new() };
    if let Some(Over::Prompt(prompt)) = model.over.last_mut() {
        prompt.recalled = Some(Box::new((back, own)));
    }
    edit(model, |line| *line = Line::new(&text))
}

/// Takes a completion. The offer stays, so that the next key takes another.
pub(super) fn complete(model: &mut Model, forward: bool) -> Effects {
    let Some(Over::Prompt(mut prompt)) = model.over.pop() else { return Vec::new() };
    prompt.complete(forward);
    let effects = try_out(model, &mut prompt);
    model.over.push(Over::Prompt(prompt));
    effects
}

/// With more functions than this, their names are looked through by the shell.
const NAMES_AT_ONCE: usize = 10_000;

/// Asks the shell for names that the word could become, where there are very many.
fn ask_for_names(model: &mut Model, prompt: &mut Prompt) -> Effects {
    let is_refinement = !matches!(
        prompt.kind,
        PromptKind::Search
            | PromptKind::Command
            | PromptKind::Export
            | PromptKind::Folder
            | PromptKind::Note
            | PromptKind::Fix
            | PromptKind::Apply
            | PromptKind::SaveRefinement
    );
    if !is_refinement || model.profile.functions.len() <= NAMES_AT_ONCE {
        return Vec::new();
    }
    model.ticket += 1;
    prompt.completing = Some(model.ticket);
    let (text, cursor) = (prompt.line.text().to_owned(), prompt.line.cursor());
    vec![ask(model, Purpose::Complete { text, cursor }, Stages::default())]
}

/// The shell has found names. They are of no use if a completion was taken meanwhile.
pub(super) fn completed(model: &mut Model, ticket: u64, word: usize, found: Vec<Completion>) {
    if let Some(Over::Prompt(prompt)) = model.over.last_mut()
        && prompt.completing.take_if(|asked| *asked == ticket).is_some()
        && prompt.taken.is_none()
    {
        (prompt.word, prompt.completions) = (word, found);
    }
}

/// Finds what the word before the cursor could become.
fn offer(model: &Model, prompt: &mut Prompt) {
    prompt.completing = None;
    (prompt.word, prompt.completions) = match prompt.kind {
        PromptKind::Refine
        | PromptKind::Group
        | PromptKind::Context(_)
        | PromptKind::Stage(_)
        | PromptKind::Set(_) => {
            let (text, cursor) = (prompt.line.text(), prompt.line.cursor());
            let with_names = model.profile.functions.len() <= NAMES_AT_ONCE;
            language::complete(&model.refined, &model.sets, text, cursor, with_names)
        }
        PromptKind::Command => {
            let text = prompt.line.before();
            let offered = offers::offered(&model.keymap, model.sheet().mode, text);
            let offered = offers::completions(offered);
            // A metric is chosen once it is clear that it is to be, if there is a choice.
            let wanted = model.has_several_metrics() && !text.is_empty();
            let metrics = model.profile.metrics().filter(|_| wanted).map(|(number, metric)| {
                let (measured, _) = model.refined.account_of(number);
                let note = format!("{} measured", amount(measured, metric, model.form()));
                Completion { text: commands::to_look_at(&metric.source), note }
            });
            let saved = model.sets.refinements().iter().filter(|_| !text.is_empty());
            let saved = saved.map(|saved| Completion {
                text: commands::to_apply(&saved.name),
                note: saved.refinement.to_string(),
            });
            let others = metrics.chain(saved).filter(|command| command.text.starts_with(text));
            (0, offered.into_iter().chain(others).collect())
        }
        PromptKind::Apply => {
            let typed = prompt.line.before();
            let saved = model.sets.refinements().iter();
            let completion = |saved: &SavedRefinement| Completion {
                text: format!("@{}", saved.name),
                note: saved.refinement.to_string(),
            };
            (0, saved.map(completion).filter(|one| one.text.starts_with(typed)).collect())
        }
        PromptKind::Export => {
            let forms = super::export::forms(model, &prompt.is_table);
            (0, export::completions(&model.path, prompt.line.before(), &forms))
        }
        PromptKind::Search
        | PromptKind::Folder
        | PromptKind::Note
        | PromptKind::Fix
        | PromptKind::SaveRefinement => (0, Vec::new()),
    };
}

/// Finds out what the line would do.
fn try_out(model: &mut Model, prompt: &mut Prompt) -> Effects {
    let text = prompt.line.text().to_owned();
    match meant(prompt) {
        PromptKind::Search => search::typed(model, prompt, &text),
        PromptKind::Refine
        | PromptKind::Group
        | PromptKind::Context(_)
        | PromptKind::Apply
        | PromptKind::Stage(_) => {
            let text = typed_stages(prompt.kind, &text);
            let stages = match stages_with(model, prompt.kind, &text) {
                Ok(stages) => stages,
                Err((at, cause)) => {
                    prompt.trial = Trial::Wrong { at, cause };
                    return Vec::new();
                }
            };
            if text.trim().is_empty() {
                prompt.trial = Trial::Nothing;
                return Vec::new();
            }
            try_stages(model, prompt, stages)
        }
        PromptKind::Set(_) => match language::definition(&text, &model.sets) {
            // What the set means is told by the paths through it.
            Ok((_, _, through)) => {
                let mut stages = model.stages.clone();
                stages.push(through);
                try_stages(model, prompt, stages)
            }
            Err((at, cause)) => {
                prompt.trial = Trial::Wrong { at, cause };
                Vec::new()
            }
        },
        PromptKind::Export => {
            prompt.trial = match export::parse(&text) {
                Err((at, cause)) if !text.trim().is_empty() && prompt.completions.is_empty() => {
                    Trial::Wrong { at, cause }
                }
                _ => Trial::Nothing,
            };
            Vec::new()
        }
        PromptKind::Fix => {
            prompt.trial = match notes::estimate(model, &text) {
                Err(cause) => Trial::Wrong { at: 0, cause },
                Ok(_) => Trial::Nothing,
            };
            Vec::new()
        }
        PromptKind::Command
        | PromptKind::Folder
        | PromptKind::Note
        | PromptKind::SaveRefinement => Vec::new(),
    }
}

/// The stages that a line means. `@` alone, with which the prompt for a saved refinement begins,
/// means none.
fn typed_stages(kind: PromptKind, text: &str) -> String {
    match kind {
        PromptKind::Apply if text.trim() == "@" => String::new(),
        _ => text.to_owned(),
    }
}

/// What the line is for: at the prompt for refinements, sets can be defined too.
fn meant(prompt: &Prompt) -> PromptKind {
    match prompt.kind {
        PromptKind::Refine if is_definition(prompt.line.text()) => PromptKind::Set(SetFile::User),
        kind => kind,
    }
}

fn try_stages(model: &mut Model, prompt: &mut Prompt, stages: Stages) -> Effects {
    model.ticket += 1;
    prompt.trial = Trial::Waiting(model.ticket);
    vec![ask(model, Purpose::Try, stages)]
}

/// The stages as they would be with this line. An empty line adds nothing, and removes the stage
/// that was being edited.
///
/// The error is a byte of the line and what is wrong there.
fn stages_with(model: &Model, kind: PromptKind, text: &str) -> Result<Stages, (usize, String)> {
    let new = language::stages(text, &model.sets)?;
    let mut stages = model.stages.clone();
    match kind {
        PromptKind::Stage(at) if at < stages.0.len() => {
            let on = stages.0[at].on;
            let new = new.into_iter().map(|text| Stage { text, on });
            stages.0.splice(at..=at, new);
        }
        _ => new.into_iter().for_each(|text| stages.push(text)),
    }
    Ok(stages)
}

/// What accepting a line led to.
pub(super) enum Accepted {
    /// It is done.
    Done(Effects),
    /// A command is to be run.
    Command(String),
}

/// Accepts the line.
pub(super) fn accept(model: &mut Model) -> Accepted {
    let Some(Over::Prompt(mut prompt)) = model.over.pop() else {
        return Accepted::Done(Vec::new());
    };
    let text = prompt.line.text().to_owned();
    remember(model, prompt.label(), &text);
    let effects = match meant(&prompt) {
        PromptKind::Search => {
            search::accepted(model);
            Ok(Vec::new())
        }
        PromptKind::Command => return Accepted::Command(text),
        PromptKind::Note => Ok(notes::typed(model, &text)),
        PromptKind::Fix => notes::estimate(model, &text)
            .map(|estimate| notes::to_fix(model, estimate))
            .map_err(|cause| (0, cause)),
        PromptKind::Export if text.trim().is_empty() => Ok(Vec::new()),
        PromptKind::Export => super::export::to(model, &text),
        PromptKind::Folder => {
            let mut sources = model.sources.clone();
            sources.add_folder(text.trim());
            model.look_in(&sources);
            Ok(Vec::new())
        }
        // A set that matches nothing here may do so in another profile.
        PromptKind::Set(file) => language::definition(&text, &model.sets)
            .map(|(name, pattern, _)| vec![Effect::SaveSet { file, name, pattern }]),
        PromptKind::SaveRefinement => refinement::save(model, &text).map_err(|cause| (0, cause)),
        PromptKind::Refine
        | PromptKind::Group
        | PromptKind::Context(_)
        | PromptKind::Apply
        | PromptKind::Stage(_) => match &prompt.trial {
            // What is known to be wrong stays on the screen with its mark.
            Trial::Wrong { at, cause } => Err((*at, cause.clone())),
            _ => stages_with(model, prompt.kind, &typed_stages(prompt.kind, &text))
                .map(|stages| refinement::change(model, stages)),
        },
    };
    Accepted::Done(effects.unwrap_or_else(|(at, cause)| {
        prompt.trial = Trial::Wrong { at, cause };
        model.over.push(Over::Prompt(prompt));
        Vec::new()
    }))
}

/// Keeps a line, so that it can be recalled.
fn remember(model: &mut Model, label: &'static str, text: &str) {
    let line = (label, text.to_owned());
    if text.trim().is_empty() || model.typed.last() == Some(&line) {
        return;
    }
    if model.typed.len() == MOST_TYPED {
        model.typed.remove(0);
    }
    model.typed.push(line);
}

/// The shell has tried a line out.
pub(super) fn tried(model: &mut Model, ticket: u64, counted: Trial) {
    if let Some(Over::Prompt(prompt)) = model.over.last_mut()
        && prompt.trial == Trial::Waiting(ticket)
    {
        prompt.trial = counted;
    }
}

/// The shell could not try a line out; returns whether a prompt was waiting for it.
pub(super) fn refused(model: &mut Model, ticket: u64, refusal: &Refusal) -> bool {
    match model.over.last_mut() {
        Some(Over::Prompt(prompt)) if prompt.trial == Trial::Waiting(ticket) => {
            let at = refusal.part.as_ref().and_then(|part| prompt.line.text().find(part.as_str()));
            let cause = refusal.cause.clone();
            prompt.trial = Trial::Wrong { at: at.unwrap_or(0), cause };
            true
        }
        _ => false,
    }
}
