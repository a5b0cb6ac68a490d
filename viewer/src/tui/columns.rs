//! Which columns fit, and where they are.
//!
//! The call path takes what the columns leave. Columns are dropped from the right until the call
//! path has room; the cost column is never dropped.

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

    /// The heading; of a metric that is no time, if not `is_time`.
    #[must_use]
    pub const fn heading(self, is_time: bool) -> &'static str {
        match self {
            Self::Inclusive if !is_time => "cost",
            Self::PerEdge if !is_time => "cost/edge",
            Self::Exclusive if !is_time => "excl cost",
            Self::Inclusive => "time",
            Self::Percent => "%",
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

    /// Cells for its numbers.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Inclusive => 9,
            Self::Exclusive => 10,
            Self::Percent => 5,
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

    /// The order that this column stands for, where comparisons are about this cost.
    #[must_use]
    pub const fn sort_key(self, cost: Cost) -> SortKey {
        match self {
            Self::Compared(Compared::Base) => SortKey::Base(cost),
            Self::Compared(Compared::Other) => SortKey::Other(cost),
            Self::Compared(Compared::Delta | Compared::Noise) => SortKey::Delta(cost),
            Self::Compared(Compared::Growth) => SortKey::Growth(cost),
            Self::Compared(Compared::Edges) => SortKey::Edges,
            Self::Inclusive | Self::Percent | Self::Samples | Self::Bar => SortKey::Inclusive,
            Self::Exclusive | Self::ExclusivePercent => SortKey::Exclusive,
            Self::Edges => SortKey::Edges,
            Self::PerEdge => SortKey::PerEdge,
        }
    }
}

/// The columns of a screen and the room for the call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Cells for the call path, from the left edge.
    pub path_width: usize,
    /// Columns with the cell at which each begins.
    pub numbers: Vec<(Column, usize)>,
    /// What the columns of a comparison are about.
    pub cost: Cost,
}

/// Cells that the call path should have before a column is given room.
const PATH_ROOM: usize = 28;

/// Share of the screen that the call path should have before a column is given room that only
/// repeats another one in other units: paths of real programs are deep, and C++ names long.
const PATH_SHARE_PERCENT: usize = 45;

impl Columns {
    /// The columns for a screen of this width.
    #[must_use]
    pub fn fit(width: usize) -> Self {
        Self::fitting(width, &Column::ALL, Cost::Inclusive)
    }

    /// The columns of a comparison for a screen of this width. Where not even the difference has
    /// room beside both costs, it stands without them.
    #[must_use]
    pub fn of_comparison(width: usize, cost: Cost) -> Self {
        let [_, _, difference, growth, ..] = Column::OF_COMPARISON;
        let all = Self::fitting(width, &Column::OF_COMPARISON, cost);
        if all.numbers.iter().any(|(column, _)| *column == difference) {
            return all;
        }
        Self::fitting(width, &[difference, growth], cost)
    }

    /// As many of these columns as fit, the first one always.
    fn fitting(width: usize, all: &[Column], cost: Cost) -> Self {
        // One cell of space or line before each column.
        let mut used = all[0].width() + 1;
        let mut count = 1;
        for column in &all[1..] {
            let room = if column.repeats() { width * PATH_SHARE_PERCENT / 100 } else { PATH_ROOM };
            if used + column.width() + 1 + room.max(PATH_ROOM) > width {
                break;
            }
            used += column.width() + 1;
            count += 1;
        }
        let path_width = width.saturating_sub(used);
        let mut at = path_width;
        let numbers = all[..count].iter().map(|&column| {
            let start = at + 1;
            at = start + column.width();
            (column, start)
        });
        Self { numbers: numbers.collect(), path_width, cost }
    }

    /// The order that a click at this cell of the headings asks for.
    #[must_use]
    pub fn sort_key_at(&self, x: usize) -> SortKey {
        let hit = self.numbers.iter().find(|(c, start)| (*start..start + c.width()).contains(&x));
        hit.map_or(SortKey::Name, |(column, _)| column.sort_key(self.cost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_from_the_right_and_the_cost_stays() {
        let shown = |width| {
            let headings = Columns::fit(width).numbers.into_iter().map(|(c, _)| c.heading(true));
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
            let headings = columns.numbers.into_iter().map(|(column, _)| column.heading(true));
            headings.collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(shown(100), "base | other | delta | % | noise | edges");
        assert_eq!(shown(60), "base | other | delta");
        assert_eq!(shown(50), "delta | %");
        assert_eq!(shown(40), "delta");
    }

    #[test]
    fn columns_end_at_the_edge() {
        for width in [40, 80, 100, 120, 200] {
            let columns = Columns::fit(width);
            let (last, start) = *columns.numbers.last().unwrap();
            assert_eq!(start + last.width(), width);
            assert_eq!(columns.sort_key_at(columns.path_width + 1), SortKey::Inclusive);
            assert_eq!(columns.sort_key_at(3), SortKey::Name);
        }
    }
}
