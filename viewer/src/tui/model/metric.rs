//! Looking at another metric, where a profile has several.

use super::Model;
use crate::profile::MetricRef;

impl Model {
    /// Looks at another metric. The rows of the views, what is open and selected too, stay; they
    /// get other numbers, and so another order, when they are [looked at](Self::count_rows).
    pub(in crate::tui) fn look_at(&mut self, metric: MetricRef) {
        if metric == self.refined.metric {
            return;
        }
        self.refined = self.refined.clone().looking_at(metric);
        // Other rows are the heaviest.
        self.forget_found();
        for view in &mut self.views {
            view.look_at(metric);
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
