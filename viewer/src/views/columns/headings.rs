//! What people read above columns.

use std::borrow::Cow;

use super::column::{Heading, Medium};
use crate::profile::comparison::Scale;
use crate::views::measure::Measure;
use crate::views::printable::printable;
use crate::views::row::Cost;

impl<'r> Heading<'r> {
    fn looked_at(&self) -> &'r csprof_format::profile::Metric {
        self.basis.refined.looked_at()
    }

    /// Whether costs are times.
    pub(super) fn is_time(&self) -> bool {
        self.looked_at().is_time()
    }

    /// Whether it must say that shares are compared: a screen says so elsewhere.
    pub(super) fn is_share_on_page(&self) -> bool {
        let comparison = self.basis.refined.profile.comparison.as_ref();
        let is_share = comparison.is_some_and(|comparison| comparison.scale == Scale::Share);
        self.basis.medium == Medium::Page && is_share
    }

    /// What a column over ranks is called, with the metric where that is not looked at.
    pub(super) fn over_ranks(&self, name: &'static str) -> Cow<'r, str> {
        match self.column.metric {
            Some(metric) => {
                let source = printable(&self.basis.refined.source_of(metric).source);
                format!("{source} {name}").into()
            }
            None => name.into(),
        }
    }

    /// What a derived metric is called.
    pub(super) fn of_derived(&self, cost: Cost) -> Cow<'r, str> {
        let derived = self.basis.refined.profile.derived.get(self.column.derived.index());
        let name = derived.map_or(Cow::Borrowed("derived"), |derived| printable(&derived.name));
        match cost {
            Cost::Inclusive => name,
            Cost::Exclusive => format!("excl {name}").into(),
        }
    }

    /// What a derived metric of one side, or the difference, is called.
    pub(super) fn of_derived_side(&self, side: &'static str) -> Cow<'r, str> {
        let is_on_page = self.basis.medium == Medium::Page;
        let cost = if is_on_page { self.column.cost } else { Cost::Inclusive };
        format!("{side} {}", self.of_derived(cost)).into()
    }

    /// What the cost of one side is called.
    pub(super) fn of_side(&self, side: &'static str) -> Cow<'static, str> {
        let is_exclusive = self.column.cost == Cost::Exclusive;
        let is_exclusive = is_exclusive && self.basis.medium == Medium::Page;
        match (is_exclusive, self.is_share_on_page()) {
            (false, false) => side.into(),
            (false, true) => format!("{side} %").into(),
            (true, false) => format!("excl {side}").into(),
            (true, true) => format!("excl {side} %").into(),
        }
    }
}

/// Metrics are told by their names; where there is one, its unit is told.
pub(super) fn heading_of_cost<'r>(of: &Heading<'r>) -> Cow<'r, str> {
    let basis = of.basis;
    let source = match (of.column.metric, basis.has_several_metrics()) {
        (Some(metric), _) => Some(&*basis.refined.source_of(metric).source),
        (None, true) => Some(&*of.looked_at().source),
        (None, false) => None,
    };
    let is_time = of.is_time();
    match (basis.medium, basis.measure, source) {
        (Medium::Screen, _, Some(source)) => source.into(),
        (Medium::Screen, ..) if is_time => "time".into(),
        (Medium::Screen, ..) => "cost".into(),
        (Medium::Page, _, Some(source)) if of.column.metric.is_some() => printable(source),
        (Medium::Page, Measure::Samples, Some(source)) => {
            format!("incl {} samples", printable(source)).into()
        }
        (Medium::Page, Measure::Samples, None) => "incl samples".into(),
        (Medium::Page, Measure::Source, Some(source)) if is_time => {
            format!("incl {}", printable(source)).into()
        }
        (Medium::Page, Measure::Source, None) if is_time => "incl time".into(),
        (Medium::Page, Measure::Source, _) => {
            format!("incl {}", printable(&of.looked_at().unit)).into()
        }
    }
}

/// The same of a process or a thread, all of whose cost is inclusive.
pub(super) fn heading_of_part<'r>(of: &Heading<'r>) -> Cow<'r, str> {
    let basis = of.basis;
    let metric = of.column.metric.or(basis.has_several_metrics().then_some(basis.refined.metric));
    match metric {
        Some(metric) => printable(&basis.refined.source_of(metric).source),
        None if basis.measure == Measure::Samples => "samples".into(),
        None if of.is_time() => "time".into(),
        None => printable(&of.looked_at().unit),
    }
}
