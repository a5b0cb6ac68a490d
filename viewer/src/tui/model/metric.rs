//! The metric that is looked at, where a profile has several.

use csprof_format::profile as saved;

use super::{Inverted, Model, Over, PercentOf, Places};
use crate::profile::MetricRef;
use crate::tui::table::Rows;
use crate::views::contexts::contexts;

impl<'p> Model<'p> {
    /// The metric that is looked at.
    #[must_use]
    pub fn metric(&self) -> &'p saved::Metric {
        self.refined.looked_at()
    }

    /// Whether there are others.
    #[must_use]
    pub fn has_several_metrics(&self) -> bool {
        !self.profile.info.further.is_empty()
    }

    /// What numbers are of, where they could be of another metric: ` of cputime`.
    #[must_use]
    pub fn of_metric(&self) -> String {
        match self.has_several_metrics() {
            true => format!(" of {}", self.metric().source),
            false => String::new(),
        }
    }

    /// The others, in their order.
    pub fn other_metrics(&self) -> impl Iterator<Item = (MetricRef, &'p saved::Metric)> + use<'p> {
        let looked_at = self.refined.metric;
        self.profile.metrics().filter(move |(metric, _)| *metric != looked_at)
    }

    /// The metric so many places after the one that is looked at, going round; `None` if that is the
    /// one that is looked at.
    #[must_use]
    pub fn metric_after(&self, places: usize) -> Option<(MetricRef, &'p saved::Metric)> {
        let count = self.profile.metrics().count();
        let found = self.profile.metrics().nth((self.refined.metric.index() + places) % count);
        found.filter(|(metric, _)| *metric != self.refined.metric)
    }

    /// What percentages of a metric are of, in samples of it.
    #[must_use]
    pub fn whole_of(&self, metric: MetricRef) -> u64 {
        let (measured, shown) = self.refined.account_of(metric);
        match self.percent_of {
            PercentOf::Base => measured,
            PercentOf::View => shown,
        }
    }

    /// Looks at another metric. The rows of the views, what is open and selected too, stay; they get
    /// other numbers, and so another order, when they are [looked at](Self::count_rows).
    pub(in crate::tui) fn look_at(&mut self, metric: MetricRef) {
        if metric == self.refined.metric {
            return;
        }
        self.refined = self.refined.clone().looking_at(metric);
        // They were those of the other metric.
        self.tree.forget_hot_paths();
        if let Some(Inverted { callers, .. }) = &mut self.inverted {
            callers.forget_hot_paths();
        }
        if let Some(Places { forest, rows }) = &mut self.places {
            *forest = forest.clone().looking_at(metric);
            rows.forget_hot_paths();
        }
        if let Some(row) = &mut self.tables.cost {
            row.look_at(metric);
        }
        if let Some(Over::Contexts(list, selected)) = self.over.last_mut() {
            let stage = list.get(*selected).map(|context| context.stage.clone());
            *list = contexts(&self.refined).0;
            let place = list.iter().position(|context| Some(&context.stage) == stage.as_ref());
            *selected = place.unwrap_or(0);
        }
    }

    /// Lets the rows of the view be of the metric that is looked at, if they are not yet. Costs the
    /// rows that were made, and their order.
    pub(in crate::tui) fn count_rows(&mut self) {
        if let Some((rows, refined)) = self.rows_mut() {
            rows.look_at_metric(refined);
        }
    }
}
