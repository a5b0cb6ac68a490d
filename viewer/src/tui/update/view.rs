//! Views: going from one to another, and what they want made.

use super::super::effect::{Effect, Purpose};
use super::super::made::Made;
use super::super::message::{Action, ViewId};
use super::super::model::{Model, Over};
use super::super::view::Outcome;
use super::super::views::TABS;
use super::ask::{Effects, ask};
use super::{note_prompt, notes, refinement};
use crate::profile::{FrameKind, FunctionRef, short_name};
use crate::views::distribution::RowSubject;
use crate::views::path::{Path, Step};

/// Shows a view. It may be about the function that was selected.
pub(super) fn show(model: &mut Model, view: ViewId) -> Effects {
    let selected =
        |model: &Model| model.selected().map(|selected| model.of_rows().key(selected.row.function));
    let (function, row) = (selected(model), row(model));
    let is_refused = model.rows().is_some() && !model.sheet().is_of_whole_rows;
    let ended = leave_over(model, Some(view));
    let function = function.or_else(|| selected(model));
    if view.0 >= TABS {
        // Not the row of the view below, either.
        let row = row.or_else(|| self::row(model).filter(|_| !is_refused));
        model.views[view.0].entered(function, None, &model.scene.refined);
        model.views[view.0].entered_row(row, &model.scene.refined);
        model.over.push(Over::View(view));
        // It is of the view below.
        model.hit = None;
        model.notice = model.view().told(model);
        return ended;
    }
    let came_from = std::mem::replace(&mut model.view, view);
    model.forget_found();
    if came_from != view {
        model.sideways = 0;
        // A view without paths, such as the flat one, hands on that of the view before it.
        if let Some(path) = model.views[came_from.0].selected_path(&model.scene.refined) {
            model.selected_path = Some((came_from, path));
        }
        // In the view that the path is of, it may be hidden in a fold that is selected.
        let of_other = model.selected_path.as_ref().filter(|(of, _)| *of != view);
        let path = of_other.map(|(_, path)| path.clone());
        model.views[view.0].entered(function, path, &model.scene.refined);
    }
    ended
}

/// The row that is selected, for a view about it, and what people call it.
fn row(model: &Model) -> Option<(RowSubject, String)> {
    let (view, of_rows) = (model.view(), model.of_rows());
    // Deep recursion has millions of rows, and a name may be as long.
    let named = |steps: &[Step], arrow: &str| {
        let functions = steps.iter().filter_map(|step| step.function(of_rows));
        let name = |of: FunctionRef| {
            let name = short_name(&of_rows.functions[of.index()].name);
            name.chars().take(LONGEST_NAME).collect::<String>()
        };
        functions.map(name).collect::<Vec<_>>().join(arrow)
    };
    if let Some(path) = view.selected_path(&model.scene.refined) {
        let first = path.0.len().saturating_sub(MOST_NAMES);
        let name = named(&path.0[first..], " > ");
        return Some((RowSubject::Path(path), name));
    }
    let Some(rows) = model.rows() else {
        if let Some((key, _)) = view.about_function() {
            let step = Step::new(key, FrameKind::Call, FunctionRef(0));
            if step.function(of_rows).is_some() {
                let name = named(std::slice::from_ref(&step), "");
                let name = format!("{name}, the whole function");
                return Some((RowSubject::Callers(Path(vec![step])), name));
            }
        }
        // Of processes and other pages: what all of them are about.
        return Some((RowSubject::Path(Path::default()), "all that is shown".to_owned()));
    };
    let selected = model.selected()?;
    if !model.sheet().is_of_whole_rows {
        return None;
    }
    let path = match model.sheet().leads_to_callers {
        true => rows.path(of_rows, selected.line),
        false => Path(vec![Step::of(of_rows, selected.row)]),
    };
    let name = named(&path.0[..path.0.len().min(MOST_NAMES)], " < ");
    Some((RowSubject::Callers(path), name))
}

/// Most frames of a path that are named.
const MOST_NAMES: usize = 64;

/// Most characters of such a name.
const LONGEST_NAME: usize = 200;

/// Leaves the views that lie over another one, for one that may be among them.
fn leave_over(model: &mut Model, next: Option<ViewId>) -> Effects {
    let views = model.over.extract_if(.., |over| matches!(over, Over::View(_)));
    let views: Vec<_> = views.collect();
    let left = views.into_iter().filter_map(|over| match over {
        Over::View(view) if Some(view) != next => Some(view),
        _ => None,
    });
    left.flat_map(|view| left_alone(model, view)).collect()
}

/// Ends what a view over another one waits for, which has been left, and forgets what was gone to
/// in it.
pub(super) fn left_alone(model: &mut Model, view: ViewId) -> Effects {
    model.hit = None;
    let wanted = model.views[view.0].wanted();
    let ended = model.asked.extract_if(.., |(_, asked)| Some(&*asked) == wanted.as_ref());
    ended.map(|(ticket, _)| Effect::Cancel(Some(ticket))).collect()
}

/// Shows the view so many places on, going round.
pub(super) fn show_neighbor(model: &mut Model, places: usize) -> Effects {
    let at = (model.view.0 + places) % TABS;
    show(model, ViewId(at))
}

/// Does what a key of the view alone asks for.
pub(super) fn act(model: &mut Model, action: Action) -> Effects {
    let seen = model.seen();
    let Outcome { notice, stage, edit, path, note, ask } =
        model.views[seen.0].act(action, &model.scene.refined);
    let mut effects = match stage.is_some() || path.is_some() {
        true => leave_over(model, None),
        false => Vec::new(),
    };
    if path.is_some() {
        model.view = ViewId::HOME;
        model.views[ViewId::HOME.0].entered(None, path, &model.scene.refined);
    }
    model.forget_found();
    model.notice = notice;
    effects.extend(edit.map(|(path, line)| Effect::Edit { path, line }));
    effects.extend(note.map(|change| notes::change(model, change)).unwrap_or_default());
    if let Some((kind, path)) = ask {
        effects.extend(note_prompt::edit(model, kind, path));
    }
    effects.extend(stage.into_iter().flat_map(|stage| refinement::add(model, stage)));
    effects
}

/// Asks the shell for what the view lacks, if that is not under way.
pub(super) fn look_at(model: &mut Model) -> Option<Effect> {
    if model.pending.is_some() {
        return None;
    }
    let (seen, is_shown) = (model.seen(), model.shows_spread());
    model.views[seen.0].show_spread(is_shown, &model.scene.refined);
    let wanted = model.view().wanted()?;
    if model.asked.iter().any(|(_, asked)| *asked == wanted) {
        return None;
    }
    model.ticket += 1;
    model.asked.retain(|(_, asked)| asked.kind != wanted.kind);
    model.asked.push((model.ticket, wanted.clone()));
    Some(ask(model, Purpose::View(wanted), model.shown_stages.clone()))
}

/// The shell has made what a view wanted, which may be about something else by now.
pub(super) fn made(model: &mut Model, ticket: u64, made: Made) {
    let Some(at) = model.asked.iter().position(|(asked, _)| *asked == ticket) else { return };
    let (_, wanted) = model.asked.swap_remove(at);
    if model.views.iter().any(|view| view.wanted().as_ref() == Some(&wanted)) {
        let is_seen = model.view().wanted().as_ref() == Some(&wanted);
        if is_seen {
            // It was made for the rows before.
            model.forget_found();
        }
        model.hand_out(made);
        if is_seen && model.notice.is_none() {
            model.notice = model.view().told(model);
        }
    }
}

/// Whether what the view shows is there, as far as it was made.
pub(super) fn is_there(model: &Model) -> bool {
    match model.sheet().has_rows {
        true => model.rows().is_some(),
        false => model.view().wanted().is_none(),
    }
}

/// What a view wanted cannot be made; returns whether a view had asked for it.
pub(super) fn refused(model: &mut Model, ticket: u64, cause: &str) -> bool {
    let Some(at) = model.asked.iter().position(|(asked, _)| *asked == ticket) else { return false };
    let (_, wanted) = model.asked.swap_remove(at);
    for view in model.views.iter_mut().filter(|view| view.wanted().as_ref() == Some(&wanted)) {
        if let Some(notice) = view.refused(cause.to_owned()) {
            model.notice = Some(notice);
        }
    }
    if model.view().wanted().as_ref() == Some(&wanted) {
        // It would ask for the same again, without end. It waits for nothing now.
        let _ended = show(model, ViewId::HOME);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::super::super::forest::Forest;
    use super::super::super::message::Message;
    use super::super::super::stages::Stages;
    use super::super::super::table::Rows;
    use super::super::super::theme::Theme;
    use super::super::super::views::callers::Functions;
    use super::super::super::worker::perform;
    use super::super::update;
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{Refined, Sets};

    /// Of a large profile they take tens of MB.
    #[test]
    fn rows_that_were_made_are_not_copied() {
        let base = Refined::base(&from_outline("a 1\n  b 2\n").unwrap());
        let forest = Forest::made_of(&base, &Stages::default(), &Sets::default()).unwrap();
        let mut model = Model::new(forest, "p", Theme::new(false, false), (80, 24));
        let effects = update(&mut model, Message::Show(ViewId(2)));
        let Some(Effect::Refine(request)) = effects.into_iter().next() else { panic!() };
        let answer = perform(&base, request);
        let Message::Made { made, .. } = &answer else { panic!() };
        let first = |rows: &dyn Rows| ptr::from_ref(rows.row(rows.line(0).unwrap()));
        let before = first(&made.part::<Functions>().unwrap().0);
        update(&mut model, answer);
        assert_eq!(first(model.rows().unwrap()), before);
    }
}
