//! A profile opens where it was left.

use super::super::message::{Notice, ViewId};
use super::super::model::Model;
use super::super::saved_screen::SavedScreen;
use super::ask::Effects;
use super::view;
use crate::views::columns::Choice;
use crate::views::number::counted;

/// Shows a screen of before, whose stages are applied already, as far as it is still there.
pub(super) fn resume(model: &mut Model, saved: &SavedScreen) -> Effects {
    let mut gone = Vec::new();
    if let Some(source) = &saved.metric {
        match model.profile.metric_named(source) {
            Ok(metric) => model.look_at(metric),
            Err(_) => gone.push(format!("the metric {source}")),
        }
    }
    let sources = saved.sources(&model.sources);
    model.look_in(&sources);
    model.percent_of = saved.percent_of();
    let there: Vec<Choice> = model.basis().choices();
    (model.choices, model.path_width) = saved.columns(&there, &model.profile);
    let home = ViewId::HOME;
    let memories = saved.memories(&model.profile);
    let recall = |model: &mut Model, view: ViewId| {
        model.views[view.0].recall(&memories[view.0], &model.scene.refined);
    };
    recall(model, home);
    let mut effects = Effects::new();
    match saved.place_of_view() {
        Some(place) if memories[place].looks.iter().any(Option::is_some) => {
            model.view = ViewId(place);
        }
        // A view that has not kept what it is about is about what is selected in the first one.
        Some(place) => {
            effects = view::show(model, ViewId(place));
            let (view, shown) = (&mut model.views[place], &model.scene.refined);
            if let Some(path) = saved.selected() {
                view.entered(None, Some(path), shown);
            }
            if let Some((function, line)) = saved.function() {
                view.return_to(&function, line, shown);
            }
        }
        None => {}
    }
    (1..memories.len()).for_each(|place| recall(model, ViewId(place)));
    let now = model.views[home.0].memory(&model.scene.refined);
    if let (Some(Some(was)), Some(Some(is))) = (memories[home.0].looks.first(), now.looks.first()) {
        let rows = was.open_rows().saturating_sub(is.open_rows());
        if rows > 0 {
            gone.push(counted(rows as u64, "open row", model.form()));
        } else if was.selected() != is.selected() {
            gone.push("the selected row".to_owned());
        }
    }
    if !gone.is_empty() && model.notice.is_none() {
        let said = format!("opened as it was left; not there any more: {}", gone.join(", "));
        model.notice = Some(Notice::Said(said));
    }
    effects
}
