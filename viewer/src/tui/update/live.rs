//! A program that runs: when it is read again, and what becomes of a reading.

use super::super::effect::{Effect, Purpose};
use super::super::forest::Forest;
use super::super::live::{INTERVAL, Since, elapsed_ns};
use super::super::message::Notice;
use super::super::model::{Model, Over};
use super::super::reading::Refreshed;
use super::ask::{Effects, ask};
use crate::refine::Refined;
use crate::views::Sort;
use crate::views::number::duration;

/// The time for the next reading has come, if this is the wait that was asked for last.
pub(super) fn tick(model: &mut Model, wait: u64) -> Effects {
    match model.live.as_ref().is_some_and(|live| live.wait == wait) {
        true => look(model),
        false => Vec::new(),
    }
}

/// Asks for a reading, or waits on if none can be shown now.
fn look(model: &mut Model) -> Effects {
    let is_idle = model.is_idle();
    let Some(live) = &mut model.live else { return Vec::new() };
    if live.is_over || live.is_frozen || live.asked.is_some() {
        return Vec::new();
    }
    if !is_idle {
        return wait(model, INTERVAL);
    }
    model.ticket += 1;
    let (ticket, stages) = (model.ticket, model.shown_stages.clone());
    let mut view = model.view().boxed();
    view.forget(&model.scene.refined);
    let wanted = view.wanted();
    if let Some(live) = &mut model.live {
        live.asked = Some((ticket, stages.clone()));
    }
    match ask(model, Purpose::Show, stages) {
        Effect::Refine(request) => vec![Effect::Refresh { request, wanted }],
        other => vec![other],
    }
}

fn wait(model: &mut Model, pause: core::time::Duration) -> Effects {
    let Some(live) = model.live.as_mut().filter(|live| !live.is_over) else { return Vec::new() };
    live.wait += 1;
    vec![Effect::Wait { pause, wait: live.wait }]
}

/// Whether a reading is to be shown.
fn is_shown(model: &Model, ticket: u64) -> bool {
    model.live.as_ref().is_some_and(|live| {
        let is_asked = |(asked, stages): &(u64, _)| {
            *asked == ticket && *stages == model.shown_stages && model.is_idle()
        };
        !live.is_frozen && live.asked.as_ref().is_some_and(is_asked)
    })
}

impl Model {
    /// Whether nothing is under way that is about what is shown, so that something else may be
    /// shown in its place.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.pending.is_none()
            && self.asked.is_empty()
            && self.searching.is_none()
            && self.listing.is_none()
            && !self.dragged
            && self.begun.is_empty()
            && self.over.iter().all(|over| matches!(over, Over::View(_)))
    }

    /// Whether this reading of a program that runs will be shown.
    #[must_use]
    pub fn takes(&self, refreshed: &Refreshed) -> bool {
        refreshed.outcome.is_ok() && is_shown(self, refreshed.ticket)
    }
}

/// The shell has read the program again.
pub(super) fn refreshed(model: &mut Model, refreshed: Refreshed) -> Effects {
    let is_shown = is_shown(model, refreshed.ticket);
    let form = model.form();
    let Some(live) = &mut model.live else { return Vec::new() };
    live.asked.take_if(|(asked, _)| *asked == refreshed.ticket);
    match refreshed.outcome {
        Ok(shown) if is_shown => {
            live.take(&shown.reading);
            if live.is_over {
                let elapsed = duration(elapsed_ns(&shown.reading.profile) as f64, form);
                let said = format!("the program has ended; this is its state after {elapsed}");
                model.notice = Some(Notice::Said(said));
            }
            show(model, shown.forest);
            if let Some((wanted, made)) = shown.made
                && model.view().wanted().as_ref() == Some(&wanted)
            {
                model.hand_out(made);
            }
            model.history.settle();
        }
        Ok(_) => {}
        Err(refusal) => {
            live.is_stale = true;
            model.notice = Some(Notice::Failed(refusal.cause));
        }
    }
    wait(model, refreshed.pause)
}

/// Shows another state. Where it is compared with one before, and the one that is shown is not, or
/// the other way round, rows have other columns and stay open.
fn show(model: &mut Model, forest: Forest) {
    let is_compared = |refined: &Refined| refined.profile.comparison.is_some();
    let before = (is_compared(&forest.refined) != is_compared(&model.scene.refined))
        .then(|| (model.moment(), model.search.clone()));
    model.reload(forest);
    let Some((mut moment, search)) = before else { return };
    for (memory, view) in moment.views.iter_mut().zip(&model.views) {
        let sort = Sort::usual(view.sheet().cost, &model.scene.profile);
        memory.sort = memory.sort.map(|_| sort);
        memory.looks.iter_mut().flatten().for_each(|look| look.sort = sort);
    }
    model.look_like(&moment);
    model.search_for(search);
}

/// Lets the screen stand still, or go on.
pub(super) fn freeze(model: &mut Model) -> Effects {
    let Some(live) = model.live.as_mut().filter(|live| !live.is_over) else {
        return not_live(model);
    };
    live.is_frozen = !live.is_frozen;
    match live.is_frozen {
        true => {
            model.notice = Some(Notice::Said("it stands still; space goes on".to_owned()));
            Vec::new()
        }
        false => look(model),
    }
}

/// Shows what comes from now on beside all there is, or all alone again.
pub(super) fn mark(model: &mut Model) -> Effects {
    let form = model.form();
    let Some(live) = model.live.as_mut().filter(|live| !live.is_over) else {
        return not_live(model);
    };
    let when = if live.is_frozen { "once space lets it go on, " } else { "" };
    let said = match (&live.since, live.now().cloned()) {
        (Since::Start, Some(now)) => {
            let elapsed = duration(elapsed_ns(&now.profile) as f64, form);
            live.since = Since::Mark(now);
            format!("{when}what came since {elapsed} is shown beside all; W ends that")
        }
        _ => {
            live.since = Since::Start;
            format!("{when}all is shown that was sampled; W marks a moment")
        }
    };
    model.notice = Some(Notice::Said(said));
    // What is under way is of the other kind.
    live.asked = None;
    look(model)
}

fn not_live(model: &mut Model) -> Effects {
    let cause = match model.live.is_some() {
        true => "the program has ended",
        false => "nothing moves here; csprof view --live looks at a program that runs",
    };
    model.notice = Some(Notice::Failed(cause.to_owned()));
    Vec::new()
}
