//! Looking at another metric.

use csprof_format::profile::Metric;

use super::super::message::Notice;
use super::super::model::Model;
use crate::profile::MetricRef;
use crate::views::number::{amount, counted};

/// Looks at the next metric or the previous one, going round.
pub(super) fn step(model: &mut Model, forward: bool) {
    let places = if forward { 1 } else { model.profile.info.further.len() };
    match model.metric_after(places) {
        Some((metric, _)) => look_at(model, metric),
        None => model.notice = Some(Notice::Said(why_only_one(model))),
    }
}

/// What to do for others, where there is one metric.
fn why_only_one(model: &Model) -> String {
    let name = &model.metric().source;
    match model.comparison() {
        Some(_) => format!(
            "this comparison is of {name}; csprof view --metric NAME BASE OTHER is of another"
        ),
        None => {
            let other = if name == "realtime" { "cputime" } else { "realtime" };
            format!("{name} alone was recorded; csprof record -e {name} -e {other} records both")
        }
    }
}

/// Looks at a metric, and says what of it is shown.
pub(super) fn look_at(model: &mut Model, metric: MetricRef) {
    model.look_at(metric);
    let (of, form, shown) = (model.metric(), model.form(), model.refined.shown);
    let samples = counted(shown, "sample", form);
    let said = format!("{}: {samples} shown, {}", of.source, amount(shown, of, form));
    model.notice = Some(Notice::Said(said));
}

/// Looks at the metric of this name, or the first one whose name begins so.
pub(super) fn look_at_named(model: &mut Model, name: &str) {
    let begins_so = |metric: &Metric| metric.source.starts_with(name);
    let beginning = model.profile.metrics().find(|(_, metric)| begins_so(metric));
    match model.profile.metric_named(name).or_else(|cause| Ok(beginning.ok_or(cause)?.0)) {
        Ok(metric) if model.has_several_metrics() => look_at(model, metric),
        Ok(_) => model.notice = Some(Notice::Said(why_only_one(model))),
        Err(cause) => model.notice = Some(Notice::Failed(cause)),
    }
}
