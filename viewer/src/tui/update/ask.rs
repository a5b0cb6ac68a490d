//! Asking the shell.

use std::sync::Arc;

use super::super::effect::{Effect, Purpose, Request};
use super::super::model::Model;
use super::super::stages::Stages;

/// What messages may ask for.
pub(super) type Effects = Vec<Effect>;

/// What asks the shell under the last number, about the metric that is looked at.
pub(super) fn ask(model: &Model, purpose: Purpose, stages: Stages) -> Effect {
    let (ticket, metric) = (model.ticket, model.refined.metric);
    Effect::Refine(Request { ticket, purpose, stages, sets: Arc::clone(&model.sets), metric })
}
