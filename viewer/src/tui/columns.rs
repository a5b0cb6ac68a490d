//! Which columns fit, and where they are.
//!
//! The call path takes what the columns leave. Columns are dropped, what matters least first, until
//! the call path has room; mostly that is from the right. The cost column is never dropped.

use super::message::Message;
use super::name::width as cells_of;
use crate::profile::MetricRef;
use crate::refine::Refined;
use crate::views::{Cost, SortKey};

/// A column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// Inclusive cost.
    Inclusive,
    /// Inclusive cost as a share.
    Percent,
    /// Exclusive cost as a share.
    ExclusivePercent,
    /// Edge count.
    Edges,
    /// Cost per edge and its verdict.
    PerEdge,
    /// Exclusive cost.
    Exclusive,
    /// Inclusive samples.
    Samples,
    /// Inclusive cost as a bar.
    Bar,
    /// Inclusive cost of another metric than the one that is looked at.
    Metric(MetricRef),
    /// The same as a share.
    MetricPercent(MetricRef),
    /// One of a comparison.
    Compared(Compared),
}

/// A column of a comparison. What it is about, inclusive or exclusive cost, depends on the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compared {
    /// Cost in BASE.
    Base,
    /// Cost in OTHER.
    Other,
    /// OTHER minus BASE.
    Delta,
    /// OTHER minus BASE as a share of BASE.
    Growth,
    /// Two standard deviations of the difference by sampling.
    Noise,
    /// Edge counts of both.
    Edges,
}

impl Column {
    /// All columns from left to right.
    pub const ALL: [Self; 8] = [
        Self::Inclusive,
        Self::Percent,
        Self::ExclusivePercent,
        Self::Edges,
        Self::PerEdge,
        Self::Exclusive,
        Self::Samples,
        Self::Bar,
    ];

    /// The heading, where it is not the name of a metric; of one that is no time, if not `is_time`.
    #[must_use]
    pub const fn heading(self, is_time: bool) -> &'static str {
        match self {
            Self::Inclusive if !is_time => "cost",
            Self::PerEdge if !is_time => "cost/edge",
            Self::Exclusive if !is_time => "excl cost",
            Self::Inclusive => "time",
            Self::Percent | Self::MetricPercent(_) => "%",
            Self::Metric(_) => "",
            Self::ExclusivePercent => "excl%",
            Self::Edges => "edges",
            Self::PerEdge => "time/edge",
            Self::Exclusive => "excl time",
            Self::Samples => "samples",
            Self::Bar => "",
            Self::Compared(column) => match column {
                Compared::Base => "base",
                Compared::Other => "other",
                Compared::Delta => "delta",
                Compared::Growth => "%",
                Compared::Noise => "noise",
                Compared::Edges => "edges",
            },
        }
    }

    /// Cells for its numbers, where its heading is not the name of a metric.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Inclusive | Self::Metric(_) => 9,
            Self::Exclusive => 10,
            Self::Percent | Self::MetricPercent(_) => 5,
            Self::ExclusivePercent => 6,
            Self::Edges => 9,
            Self::PerEdge => 13,
            Self::Samples => 11,
            Self::Bar => 10,
            Self::Compared(column) => match column {
                Compared::Base | Compared::Other | Compared::Delta | Compared::Noise => 9,
                Compared::Growth => 6,
                Compared::Edges => 13,
            },
        }
    }

    /// Whether the columns to the left of it say the same in other units.
    const fn repeats(self) -> bool {
        matches!(self, Self::Exclusive | Self::Samples | Self::Bar)
    }

    /// The columns of a comparison from left to right.
    pub const OF_COMPARISON: [Self; 6] = [
        Self::Compared(Compared::Base),
        Self::Compared(Compared::Other),
        Self::Compared(Compared::Delta),
        Self::Compared(Compared::Growth),
        Self::Compared(Compared::Noise),
        Self::Compared(Compared::Edges),
    ];

    /// Which columns stand together, from left to right: cost of the metric that is looked at, of
    /// each other one, and all the rest.
    const fn group(self) -> usize {
        match self {
            Self::Inclusive | Self::Percent | Self::ExclusivePercent => 0,
            Self::Metric(metric) | Self::MetricPercent(metric) => 1 + metric.index(),
            _ => usize::MAX,
        }
    }

    /// The order that this column stands for, where comparisons are about this cost; `None` for
    /// other metrics, by which rows are ordered when they are looked at.
    #[must_use]
    pub const fn sort_key(self, cost: Cost) -> Option<SortKey> {
        Some(match self {
            Self::Metric(_) | Self::MetricPercent(_) => return None,
            Self::Compared(Compared::Base) => SortKey::Base(cost),
            Self::Compared(Compared::Other) => SortKey::Other(cost),
            Self::Compared(Compared::Delta | Compared::Noise) => SortKey::Delta(cost),
            Self::Compared(Compared::Growth) => SortKey::Growth(cost),
            Self::Compared(Compared::Edges) => SortKey::Edges,
            Self::Inclusive | Self::Percent | Self::Samples | Self::Bar => SortKey::Inclusive,
            Self::Exclusive | Self::ExclusivePercent => SortKey::Exclusive,
            Self::Edges => SortKey::Edges,
            Self::PerEdge => SortKey::PerEdge,
        })
    }
}

/// A column and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The column.
    pub column: Column,
    /// The cell at which it begins.
    pub start: usize,
    /// Its cells.
    pub width: usize,
}

/// The columns of a screen and the room for the call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Cells for the call path, from the left edge.
    pub path_width: usize,
    /// Columns from left to right.
    pub numbers: Vec<Placed>,
    /// What the columns of a comparison are about.
    pub cost: Cost,
}

/// Cells that the call path should have before a column is given room.
const PATH_ROOM: usize = 28;

/// Share of the screen that the call path should have before a column is given room that only
/// repeats another one in other units: paths of real programs are deep, and C++ names long.
const PATH_SHARE_PERCENT: usize = 45;

/// Most cells for the name of a metric; longer ones are cut.
const LONGEST_NAME: usize = 16;

impl Columns {
    /// The columns for a screen of this width.
    #[must_use]
    pub fn fit(width: usize) -> Self {
        Self::fitting(width, &of_usual_width(&Column::ALL), Cost::Inclusive)
    }

    /// The columns for a screen of this width where a profile has several metrics. What each other
    /// one has comes before edge counts, its share after them.
    #[must_use]
    pub fn of_metrics(width: usize, refined: &Refined<'_>) -> Self {
        let looked_at = refined.metric;
        let all = || refined.profile.metrics().map(|(metric, _)| metric);
        let others = || all().filter(|metric| *metric != looked_at);
        // Room for the name and what stands around it.
        let named = |column: Column, metric: MetricRef, around: usize| {
            let name = cells_of(&refined.source_of(metric).source).min(LONGEST_NAME);
            (column, column.width().max(name + around))
        };
        let [_, percent, exclusive, edges, per_edge, rest @ ..] = Column::ALL;
        let mut wanted = vec![named(Column::Inclusive, looked_at, " ".len() + " v".len())];
        wanted.extend(of_usual_width(&[percent, exclusive]));
        wanted.extend(others().map(|metric| named(Column::Metric(metric), metric, " ".len())));
        wanted.extend(of_usual_width(&[edges, per_edge]));
        wanted.extend(others().map(Column::MetricPercent).map(|share| (share, share.width())));
        wanted.extend(of_usual_width(&rest));
        Self::fitting(width, &wanted, Cost::Inclusive)
    }

    /// The columns of a comparison for a screen of this width. Where not even the difference has
    /// room beside both costs, it stands without them.
    #[must_use]
    pub fn of_comparison(width: usize, cost: Cost) -> Self {
        let [_, _, difference, growth, ..] = Column::OF_COMPARISON;
        let all = Self::fitting(width, &of_usual_width(&Column::OF_COMPARISON), cost);
        if all.numbers.iter().any(|placed| placed.column == difference) {
            return all;
        }
        Self::fitting(width, &of_usual_width(&[difference, growth]), cost)
    }

    /// As many of these columns, with their cells, as fit, the first one always. What matters most
    /// comes first.
    fn fitting(width: usize, wanted: &[(Column, usize)], cost: Cost) -> Self {
        // One cell of space or line before each column.
        let mut used = wanted[0].1 + 1;
        let mut count = 1;
        for (column, cells) in &wanted[1..] {
            let room = if column.repeats() { width * PATH_SHARE_PERCENT / 100 } else { PATH_ROOM };
            if used + cells + 1 + room.max(PATH_ROOM) > width {
                break;
            }
            used += cells + 1;
            count += 1;
        }
        let path_width = width.saturating_sub(used);
        let mut shown = wanted[..count].to_vec();
        // Stable: within a group they stay as they were.
        shown.sort_by_key(|(column, _)| column.group());
        let mut at = path_width;
        let numbers = shown.into_iter().map(|(column, width)| {
            let start = at + 1;
            at = start + width;
            Placed { column, start, width }
        });
        Self { numbers: numbers.collect(), path_width, cost }
    }

    /// What a click at this cell of the headings asks for.
    #[must_use]
    pub fn message_at(&self, x: usize) -> Message<'static> {
        let is_hit = |placed: &&Placed| (placed.start..placed.start + placed.width).contains(&x);
        match self.numbers.iter().find(is_hit).map(|placed| placed.column) {
            Some(Column::Metric(metric) | Column::MetricPercent(metric)) => Message::LookAt(metric),
            hit => {
                let key = hit.and_then(|column| column.sort_key(self.cost));
                Message::SortBy(key.unwrap_or(SortKey::Name))
            }
        }
    }
}

fn of_usual_width(columns: &[Column]) -> Vec<(Column, usize)> {
    columns.iter().map(|&column| (column, column.width())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn columns_go_from_the_right_and_the_cost_stays() {
        let shown = |width| {
            let columns = Columns::fit(width).numbers.into_iter();
            let headings = columns.map(|placed| placed.column.heading(true));
            headings.collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(shown(200), "time | % | excl% | edges | time/edge | excl time | samples | ");
        assert_eq!(shown(80), "time | % | excl% | edges | time/edge");
        assert_eq!(shown(65), "time | % | excl% | edges");
        assert_eq!(shown(40), "time");
        assert_eq!(shown(8), "time");
    }

    #[test]
    fn the_difference_is_the_last_to_go() {
        let shown = |width| {
            let columns = Columns::of_comparison(width, Cost::Inclusive);
            let headings = columns.numbers.iter().map(|placed| placed.column.heading(true));
            headings.collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(shown(100), "base | other | delta | % | noise | edges");
        assert_eq!(shown(60), "base | other | delta");
        assert_eq!(shown(50), "delta | %");
        assert_eq!(shown(40), "delta");
    }

    #[test]
    fn other_metrics_come_before_edges_and_their_shares_after() {
        let profile = from_outline("main 9 realtime:3 task-clock:4\n").unwrap();
        let shown = |width, looked_at| {
            let refined = Refined::base(&profile).looking_at(MetricRef(looked_at));
            let columns = Columns::of_metrics(width, &refined);
            let name = |metric| refined.source_of(metric).source.as_str();
            let headings = columns.numbers.iter().map(|placed| match placed.column {
                Column::Inclusive => name(MetricRef(looked_at)),
                Column::Metric(metric) => name(metric),
                column => column.heading(true),
            });
            headings.collect::<Vec<_>>().join(" | ")
        };
        let all = "realtime | % | task-clock | % | edges | time/edge | excl time | samples | ";
        assert_eq!(shown(220, 0), format!("cputime | % | excl% | {all}"));
        assert_eq!(
            shown(115, 0),
            "cputime | % | excl% | realtime | % | task-clock | % | edges | time/edge"
        );
        assert_eq!(
            shown(100, 2),
            "task-clock | % | excl% | cputime | realtime | edges | time/edge"
        );
        assert_eq!(shown(80, 0), "cputime | % | excl% | realtime | task-clock");
        assert_eq!(shown(80, 1), "realtime | % | excl% | cputime | task-clock");
        assert_eq!(shown(65, 0), "cputime | % | excl% | realtime");
        assert_eq!(shown(40, 2), "task-clock");
    }

    #[test]
    fn columns_end_at_the_edge() {
        let profile = from_outline("main 9 realtime:3\n").unwrap();
        for width in [40, 80, 100, 120, 200] {
            let refined = Refined::base(&profile).looking_at(MetricRef(1));
            let several = Columns::of_metrics(width, &refined);
            for columns in [Columns::fit(width), several] {
                let last = *columns.numbers.last().unwrap();
                assert_eq!(last.start + last.width, width);
                let asks = |x| match columns.message_at(x) {
                    Message::SortBy(key) => Some(key),
                    Message::LookAt(MetricRef(0)) => None,
                    other => panic!("{other:?}"),
                };
                assert_eq!(asks(columns.path_width + 1), Some(SortKey::Inclusive));
                assert_eq!(asks(3), Some(SortKey::Name));
                let other = |placed: &&Placed| placed.column == Column::Metric(MetricRef(0));
                if let Some(other) = columns.numbers.iter().find(other) {
                    assert_eq!(asks(other.start), None);
                }
            }
        }
    }
}
